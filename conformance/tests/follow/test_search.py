"""How the search is cut: its order, the requests of leaders, folded batches, and promises that are kept first."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.tests.support.follow import expect
from conformance.tests.support.observations import disk, flat, header, read, said, write
from conformance.tests.support.places import RECORDINGS
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.resources.limits import Limits
from isrcheck.conformance.follow.recorded.recording import Recording, folded, read_recording
from isrcheck.conformance.follow.search.explain import Explained, Rejected, follow_recording, hint
from isrcheck.conformance.follow.search.script import Script
from isrcheck.conformance.follow.search.search import Manner, ObservationSearch
from isrcheck.conformance.follow.search.size import instance_for, size_of
from isrcheck.conformance.follow.wire.convert import observations_of
from isrcheck.models.messages import UsageError


def search(recording: Recording, protocol: str, most_broad: int) -> ObservationSearch:
    instance = instance_for(size_of(recording), protocol, {}, 1)
    manner = Manner(most_broad=most_broad)
    found = ObservationSearch(Script(recording, instance), kernel_of(instance), True, Limits(), manner=manner)
    found.run()
    return found


# ---------------------------------------------------------------------------------------------------- order of nodes


WRITTEN = said(
    "metadata 1: 1 2; acked x 0; disk 1: x; disk 2: x hw=1; acked y 1; kill 2; acked z; start 2; disk 2: x y hw=1;"
    " metadata 1: 1 2; read x y"
)


def mutated(chance: random.Random) -> list[dict[str, Any]]:
    """These lines with one change: a line is left out, swapped with the next, or says otherwise."""
    lines = [dict(line) for line in WRITTEN]
    at = chance.randrange(len(lines) - 1)
    line, how = lines[at], chance.randrange(3)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines[at], lines[at + 1] = lines[at + 1], line
    elif line["kind"] == "disk":
        line["high_watermark_checkpoint"] = chance.randrange(4)
    elif line["kind"] == "acked":
        line["offset"] = chance.randrange(4)
    elif line["kind"] == "metadata":
        line["isr"] = chance.sample([1, 2], chance.randrange(1, 3))
    return lines


@pytest.mark.recorded
def test_the_order_of_nodes_changes_no_verdict(tmp_path: Path) -> None:
    """Both searches pass the same lines; if none passes them all, both have found the same states before each line."""
    chance, verdicts = random.Random(7), []
    for number in range(20):
        path = write(tmp_path / str(number), header(1, 1, 2), *mutated(chance))
        try:
            recording = read_recording(path)
        except UsageError:
            continue
        broad, narrow = (search(recording, "2.1", most) for most in (1 << 40, 0))
        assert (broad.last is None, broad.furthest) == (narrow.last is None, narrow.furthest)
        if broad.last is None:
            assert broad.counts() == narrow.counts()
        else:
            assert len(narrow.path().steps) >= len(broad.path().steps)
        verdicts.append(broad.last is None)
    assert (len(verdicts), sum(verdicts)) == (18, 5)


# ---------------------------------------------------------------------------------------------- requests of leaders


LINES = (
    "metadata 1: 1 2 epoch=0; disk 1: x; requests 1: 1 epoch=0 change=0; record 1: 1 epoch=0 change=1;"
    " requests 1: 1 2 epoch=0 change=1; record 1: 1 2 epoch=0 change=2"
)
"""The ISR loses broker 2, and it joins again."""

TOO_EARLY = "the next request of broker 1 has its line only later"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("order", "rejected_at", "why"),
    [
        ((0, 1, 2, 3, 4, 5), None, ""),
        ((0, 1, 3, 4, 5), 4, ""),  # without the request for the smaller ISR
        ((0, 1, 2, 3, 5), 6, ""),  # without the request for the larger ISR
        ((0, 1, 3, 2, 4, 5), 4, TOO_EARLY),  # the controller decides before the request has its line
    ],
)
def test_a_leader_sends_only_the_requests_that_have_lines(
    tmp_path: Path, order: tuple[int, ...], rejected_at: int | None, why: str
) -> None:
    lines = [said(LINES)[number] for number in order]
    outcome = follow_recording(write(tmp_path / "one", *said("header 1: 1 2 all_requests"), *lines), "3.7")
    if rejected_at is None:
        assert isinstance(outcome, Explained)
    else:
        assert isinstance(outcome, Rejected)
        assert outcome.line.number == rejected_at
        assert why in flat(outcome)
    if not why:  # a recording that need not have all requests
        outcome = expect(Explained, follow_recording(write(tmp_path / "one", *said("header 1: 1 2"), *lines), "3.7"))


# --------------------------------------------------------------------------------------------------- folded batches

BATCH = tuple(f"b{number}" for number in range(6))


def batch(path: Path, *last: dict[str, Any]) -> Recording | None:
    acknowledged, on_disk = "; ".join(f"acked {value}" for value in BATCH), " ".join(BATCH)
    text = f"header 2: 1 2; acked x 0; disk 1: x; {acknowledged}; disk 1: x {on_disk}; disk 2: x {on_disk} hw=7"
    return folded(read_recording(write(path / "one", *said(text), *last)))


def test_records_that_are_always_shown_together_become_one(tmp_path: Path) -> None:
    short = batch(tmp_path, read("x", *BATCH))
    assert short is not None
    assert short.values == ("x", "b0 to b5")
    shown = [(type(line).__name__, getattr(line, "log", None) or getattr(line, "value", None)) for line in short.lines]
    disk_of_all = ("Disk", ("x", "b0 to b5"))
    assert shown == [("Acked", "x"), ("Disk", ("x",)), ("Acked", "b0 to b5"), disk_of_all, disk_of_all, ("Read", None)]
    assert short.lines[4].checkpoint == 2


def test_records_that_a_line_tells_apart_are_not_folded(tmp_path: Path) -> None:
    for line in (disk(2, "x", *BATCH[:3]), disk(1, "x", *BATCH, checkpoint=4), read("x", *BATCH[:2])):
        assert batch(tmp_path, line) is None


MOST_STATES = 60_000
"""An upper bound for a search in which the batch is one record."""


@pytest.mark.exhaustive
def test_a_batch_of_28_records_is_followed() -> None:
    path = RECORDINGS / "wire" / "idempotent_leader_killed" / "wire.ndjson"
    outcome = expect(Explained, follow_recording(path, "3.7", objects=observations_of(path)))
    assert (outcome.trace.length, outcome.failures, outcome.recording.values[-1]) == (86, (), "m12 to m39")
    assert sum(outcome.effort.states) < MOST_STATES
    assert "Records that the recording always shows together are one record of the trace." in flat(outcome)


# ------------------------------------------------------------------------------------------------- promises are kept


SHORTEST = 47


@pytest.mark.sampled
def test_a_path_that_keeps_all_promises_is_preferred() -> None:
    """The shortest path has `SHORTEST` steps, and violates `isr_is_complete`, which the real cluster kept."""
    path = RECORDINGS / "wire" / "below_min_isr" / "wire.ndjson"
    outcome = expect(Explained, follow_recording(path, "3.7", objects=observations_of(path)))
    assert (outcome.trace.length, outcome.failures, outcome.exit_code) == (50, (), 0)
    assert not outcome.is_shortest
    assert search(outcome.recording, "3.7", 1 << 40).depth >= SHORTEST


@pytest.mark.sampled
def test_it_is_said_if_every_path_violates_a_promise() -> None:
    path = RECORDINGS / "wire" / "stale_record" / "wire.ndjson"
    outcome = expect(Explained, follow_recording(path, "3.7", objects=observations_of(path)))
    assert (outcome.exit_code, outcome.fail_all, outcome.is_shortest) == (12, True, False)
    assert "Every path that explains the recording violates a promise" in flat(outcome)


# ----------------------------------------------------------------------------------------- what no line has said


def test_the_line_before_which_most_states_wait_is_named(tmp_path: Path) -> None:
    searched = search(read_recording(write(tmp_path / "lines.ndjson", *WRITTEN)), "2.1", 10**9)
    sentence = re.fullmatch(
        r"([\d,]+) of ([\d,]+) states wait before line (\d+)\."
        r" They differ most in .+ \(\d+ values\); .+ would tell them apart\.",
        hint(searched),
    )
    assert sentence is not None
    passed = searched.monitor.passed.read(searched.nodes.monitors())
    waiting = np.bincount(passed)[: searched.lines]
    numbers = [int(number.replace(",", "")) for number in sentence.groups()]
    line = searched.script.recording.lines[int(waiting.argmax())]
    assert numbers == [waiting.max(), len(passed), line.number]
