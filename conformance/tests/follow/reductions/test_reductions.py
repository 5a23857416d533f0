"""What makes a search smaller changes no answer: it agrees with the search of everything on random recordings."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.tests.support.follow import expect
from conformance.tests.support.observations import (
    FREEZE,
    THAW,
    acked,
    disk,
    fault,
    flat,
    header,
    high_watermark,
    log_end,
    read,
    record,
    said,
    sent,
    wander,
    write,
)
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.resources.limits import Limits
from isrcheck.conformance.follow.recorded.lines import Passing
from isrcheck.conformance.follow.recorded.recording import read_recording
from isrcheck.conformance.follow.search import search as searching
from isrcheck.conformance.follow.search.explain import Explained, RejectedAfter, follow_recording
from isrcheck.conformance.follow.search.pruning import Foreseen, Unread
from isrcheck.conformance.follow.search.script import NEVER, SHUTDOWNS, Script
from isrcheck.conformance.follow.search.search import Manner, ObservationSearch
from isrcheck.conformance.follow.search.size import instance_for, size_of
from isrcheck.models import registry
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells, State, take
from isrcheck.traces.format.certify import certify

pytestmark = pytest.mark.sampled

BROKERS = (1, 2)
VALUES = ("x", "y")
SEEDS = range(40)

REPLICATION = ("follower_applies", "leader_answers", "producer_appends")
RARE = ("controller_fences_leader", "broker_applies", "leader_handles_fetch", *REPLICATION)


BEGIN = "header 1: 1 2 3; record 1: 1 2 3 epoch=0; acked x 0"
ELECTED = "kill 1; record 1: 1 2 3 epoch=0; record 2: 2 3 epoch=1"

BY_HAND = {
    "a new leader serves what it has known to be committed": f"{BEGIN}; freeze 3; {ELECTED}; read x;"
    " record 2: 2 3 epoch=1",
    "so does one that hears of its office when another leads": f"{BEGIN}; freeze 2; freeze 3; {ELECTED};"
    " record 3: 3 epoch=2; thaw 2; read x; record 3: 3 epoch=2",
    "a leader that was removed comes back": "header 1: 1 2; record 1: 1 2 epoch=0; acked x 0; reassign 2;"
    " record 2: 2 epoch=1; read x; reassign 1 2; end 1 1; end 1 0; end 1 1; record 2: 1 2 epoch=1 change=3",
}


class Everything(Foreseen):
    """A search without any reduction."""

    def contradicts(self, states: np.ndarray, monitors: np.ndarray) -> np.ndarray:
        return np.zeros(len(states), bool)


def run_of(chance: random.Random, protocol: str) -> list[dict[str, Any]]:
    """Observations of a random run of two brokers: a leader may lose its office, and go on without knowing it."""
    instance = registry.load("kafka")[0].instance(
        protocol,
        {"replicas": 2, "records": 2, "log_size": 2, "elections": 1, "crashes": 1, "partition_changes": 2}
        | {"fencings": 2, "min_insync_replicas": 1, "acks": chance.choice([-1, 1]), "start": 1},
    )
    ends = instance.layouts["log_end_offset"]
    starts = [cells for cells in instance.initial_states if not any(cells[ends.offset : ends.offset + ends.count])]
    cells, told = chance.choice(starts), set[int]()

    def seen(cells: Cells) -> list[dict[str, Any]]:
        return observed(chance, instance, cells, told)

    lines = [header(1, *BROKERS), record_of(instance, cells), fault(FREEZE, 2), fault(THAW, 2)]
    manner = {"most": chance.randrange(10, 40), "freezing": 0.1, "never": (*NEVER, *SHUTDOWNS), "rare": RARE}
    ran, cells = wander(chance, instance, cells, BROKERS, seen, **manner)
    lines += ran
    if chance.random() < 0.7:
        s = State(instance, cells)
        marks = [(BROKERS[r], s.high_watermark[r]) for r in (0, 1) if s.is_up[r]]
        lines.append(record_of(instance, cells))
        lines += [high_watermark(broker, mark) for broker, mark in marks]
    if chance.random() < 0.5:
        spoil(chance, lines)
    return lines


def record_of(instance: Instance, cells: Cells) -> dict[str, Any]:
    s = State(instance, cells)
    leader = s.controller_leader
    return {
        "kind": "metadata",
        "leader": -1 if leader < 0 else BROKERS[leader],
        "isr": [BROKERS[r] for r in (0, 1) if s.controller_isr[r]],
        "leader_epoch": s.controller_epoch,
        "partition_epoch": s.controller_partition_epoch,
    }


def observed(chance: random.Random, instance: Instance, cells: Cells, told: set[int]) -> list[dict[str, Any]]:
    s = State(instance, cells)
    found = [record_of(instance, cells)] if chance.random() < 0.15 else []
    for r in (0, 1):
        if chance.random() < 0.12:
            found.append(log_end(BROKERS[r], s.log_end_offset[r]))
        if chance.random() < 0.12 and s.is_up[r]:
            found.append(high_watermark(BROKERS[r], s.high_watermark[r]))
        if chance.random() < 0.06:
            log = [[offset, VALUES[s.log_record[r][offset]]] for offset in range(s.log_end_offset[r])]
            found.append({"kind": "disk", "broker": BROKERS[r], "log": log})
        served = s.high_watermark[r] if s.leader[r] == r else 0
        if served and chance.random() < 0.15:
            records = [[offset, VALUES[s.log_record[r][offset]]] for offset in range(served)]
            found.append({"kind": "client_read", "records": records})
    for number in range(2):
        if s.acknowledged[number] and number not in told and chance.random() < 0.7:
            told.add(number)
            places = {o for r in (0, 1) for o in range(s.log_end_offset[r]) if s.log_record[r][o] == number}
            acks = "1" if instance.configuration.acks == 1 else "all"
            found.append({**acked(VALUES[number], chance.choice([*places, None])), "acks": acks})
    return found


def spoil(chance: random.Random, lines: list[dict[str, Any]]) -> None:
    """Let one line say something else."""
    line = chance.choice([line for line in lines[2:] if line["kind"] != "fault"] or [lines[1]])
    if line["kind"] == "metadata":
        line["isr"] = chance.choice([[1], [2], [1, 2]])
    for key in ("offset", "log_end_offset", "high_watermark"):
        if line.get(key) is not None:
            line[key] = chance.randrange(3)
    if line["kind"] in ("disk", "client_read"):
        key = "log" if line["kind"] == "disk" else "records"
        line[key] = [[0, chance.choice(VALUES)]]


def searched(
    path: Path, protocol: str, *, is_whole: bool = False, finds_line: bool = True, memory: int = 1 << 28
) -> ObservationSearch | None:
    """The search of a recording, and no search of one that is refused."""
    try:
        recording = read_recording(path)
        instance = instance_for(size_of(recording), protocol, {}, 1)
        script = Script(recording, instance)
    except UsageError:
        return None
    manner = Manner(clears=not is_whole, finds_line=finds_line)
    found = ObservationSearch(script, kernel_of(instance), True, Limits(memory=memory), manner=manner)
    if is_whole:
        found.checks.foreseen = Everything(script, found.cells, found.monitor)
    found.run()
    assert found.stopped is None
    return found


def answer(search: ObservationSearch) -> tuple[str, int]:
    return ("rejected" if search.last is None else "explained"), search.furthest


@cache
def recordings(folder: Path, protocol: str) -> tuple[tuple[Path, tuple[str, int], int], ...]:
    """Random recordings and those by hand, each with the answer and the number of states of a search of everything."""
    found = []
    runs = {str(seed): run_of(random.Random(seed), protocol) for seed in SEEDS}
    for name, lines in {**runs, **{name: said(text) for name, text in BY_HAND.items()}}.items():
        path = write(folder / f"{protocol}-{name}", *lines)
        whole = searched(path, protocol, is_whole=True)
        if whole is not None:
            found.append((path, answer(whole), whole.nodes.store.count))
    return tuple(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recordings")


def differing(folder: Path, protocol: str) -> list[Path]:
    """The recordings for which a reduced search gives another answer, or a path that is not a path of the model."""
    return [
        path
        for path, expected, _ in recordings(folder, protocol)
        if (found := searched(path, protocol)) is None
        or answer(found) != expected
        or found.is_exhausted != (found.last is None)
        or not is_of_model(found)
    ]


def is_of_model(search: ObservationSearch) -> bool:
    """Whether the path that was found is one of the model in which its lines are true, if one was found.

    The states are those of the reference semantics, in which nothing is cleared; the monitors are those of the search.
    """
    if search.last is None:
        return True
    path, (nodes, _) = search.path(), search.nodes.trail(search.last)
    cells, before = search.instance.initial_states[path.initial], 0
    _, monitors = search.nodes.of(np.array(nodes[::-1]))
    for number, (passed, step) in enumerate(zip(path.passed, (None, *path.steps), strict=True)):
        after = cells if step is None else take(search.instance, cells, search.instance.step(step))
        if after is None:
            return False
        cells = restored(search, after)
        packed = np.array([search.cells.layout.pack(cells)], np.uint64)
        for stage in range(before, passed):
            is_fault = search.script.stages[stage].line.passing == Passing.BY_A_STEP
            if not is_fault and not search.claims.hold(stage, packed, monitors[number : number + 1]).all():
                return False
        before = passed
    return True


def restored(search: ObservationSearch, cells: Cells) -> Cells:
    """The state with all budgets, as the search has it after every step."""
    after = list(cells)
    for name, layout in search.instance.layouts.items():
        if name.endswith("_left") and name != "retries_left":
            after[layout.offset] = getattr(search.instance.configuration, name.removesuffix("_left"))
    return tuple(after)


@pytest.mark.parametrize("protocol", ["3.5", "4.1"])
def test_a_reduced_search_gives_the_same_answers(folder: Path, protocol: str) -> None:
    every = recordings(folder, protocol)
    verdicts = [verdict for _, (verdict, _), _ in every]
    assert len(every) > len(SEEDS)
    assert min(verdicts.count("rejected"), verdicts.count("explained")) > 8
    assert differing(folder, protocol) == []


WRONG: dict[str, tuple[type[Unread] | type[Foreseen], Callable[[Any], object]]] = {
    "a broker that has yet to hear of a leader never follows it": (
        Unread,
        lambda unread: setattr(unread, "announcements", range(0)),
    ),
    "there are no further elections": (Unread, lambda unread: unread.may_be_elected.fill(False)),
    "lines about high watermarks, and restarts, are forgotten": (
        Unread,
        lambda unread: unread.has_high_watermark.fill(False),
    ),
    "what a line shows of a partition epoch is true in the one before": (
        Foreseen,
        lambda foreseen: setattr(foreseen, "records", np.roll(foreseen.records, -1, axis=1)),
    ),
    "a record was not acknowledged where its line says": (
        Foreseen,
        lambda foreseen: setattr(
            foreseen.monitor, "elsewhere", dict.fromkeys(foreseen.monitor.elsewhere, foreseen.monitor.passed)
        ),
    ),
}
"""Wrong assumptions of a reduction, and the change that makes one."""


@pytest.mark.parametrize("assumption", WRONG)
def test_a_wrong_reduction_is_caught(folder: Path, assumption: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, spoil_reduction = WRONG[assumption]

    def wrong(*arguments: Any) -> Unread | Foreseen:
        reduction = kind(*arguments)
        spoil_reduction(reduction)
        return reduction

    recordings(folder, "4.1")
    monkeypatch.setattr(searching, kind.__name__, wrong)
    assert differing(folder, "4.1") != []


# --------------------------------------------------------------------- a leader that was replaced, and does not know it

MEMORY, SECONDS = 1 << 30, 120


def written(*values: str, at: int) -> Iterator[dict[str, Any]]:
    for offset, value in enumerate(values, at):
        yield sent(value, acks="1")
        yield {"kind": "acked", "value": value, "offset": offset, "acks": "1"}


def zombie(before: int, meanwhile: int, after: int, *, shows_uncommitted: bool = False) -> Iterator[dict[str, Any]]:
    """Broker 1 leads, and freezes; broker 2 is elected; broker 1 goes on while 2 and 3 are frozen; then all go on.

    With `shows_uncommitted`, a consumer reads a record that only broker 1 holds.
    """
    old, late, new = (
        [f"{name}{n}" for n in range(size)] for name, size in zip("azn", (before, meanwhile, after), strict=True)
    )
    yield header(1, 1, 2, 3)
    yield record(1, 1, 2, 3, epoch=0, change=0)
    yield from written(*old, at=0)
    yield from (log_end(broker, before) for broker in (2, 3))
    yield high_watermark(1, before)
    yield from (fault(FREEZE, 1), record(2, 2, 3, epoch=1, change=1))
    yield from (fault(FREEZE, 2), fault(FREEZE, 3), fault(THAW, 1))
    for number, value in enumerate(late):
        yield from written(value, at=before + number)
        if number % 2 == 0:
            yield read(*old)
    if shows_uncommitted:
        yield read(*old, late[0])
    yield from (fault(THAW, 2), fault(THAW, 3))
    yield from written(*new, at=before)
    yield read(*old, new[0])
    yield log_end(3, before + after)
    yield record(2, 1, 2, 3, epoch=1, change=2)
    for broker in (1, 2, 3):
        yield disk(broker, *old, *new)


STATES_OF_ZOMBIE = 45_651
"""Measured: how far the reductions bring the search."""


def test_a_zombie_is_explained(tmp_path: Path) -> None:
    path = write(tmp_path / "zombie", *zombie(4, 8, 4), {"kind": "note", "what": "the end"})
    outcome = expect(Explained, follow_recording(path, "4.1", memory=MEMORY, seconds=SECONDS))
    certify(outcome.trace)
    assert (outcome.exit_code, outcome.passed[-1]) == (0, 53)
    assert sum(outcome.effort.states) == STATES_OF_ZOMBIE
    assert outcome.effort.bytes_used < 16 << 20


def test_a_zombie_that_shows_what_is_not_committed_is_rejected(tmp_path: Path) -> None:
    path = write(tmp_path / "zombie", *zombie(1, 8, 4, shows_uncommitted=True))
    found = searched(path, "4.1", finds_line=False, memory=MEMORY)
    assert (found.is_exhausted, found.last) == (True, None)
    assert (found.nodes.store.count, found.script.recording.lines[found.furthest].number) == (127_279, 33)


@pytest.mark.recorded
def test_it_is_rejected_although_a_limit_ends_the_search_for_the_line(tmp_path: Path) -> None:
    path = write(tmp_path / "zombie", *zombie(2, 8, 4, shows_uncommitted=True))
    outcome = expect(RejectedAfter, follow_recording(path, "4.1", memory=256 << 20))
    assert (outcome.exit_code, outcome.why, outcome.line.number) == (20, "memory", 35)
    report = flat(outcome)
    assert report.startswith(
        f"REJECTED: no behaviour of 4.1 explains {path}. All were tried that agree with the partit"
    )
    assert f"The lines before {path}:35 have an explanation." in report
