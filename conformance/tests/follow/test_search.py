"""How the search is cut: its order, the requests of leaders, folded batches, and promises that are kept first."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.tests.support.observations import (
    KILL,
    START,
    acked,
    disk,
    fault,
    header,
    metadata,
    read,
    record,
    write,
)
from conformance.tests.support.places import RECORDINGS
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.resources.limits import Limits
from isrcheck.conformance.follow.recorded.lines import Disk
from isrcheck.conformance.follow.recorded.recording import Recording, folded, read_recording
from isrcheck.conformance.follow.report.tell import tell
from isrcheck.conformance.follow.search.explain import Explained, Rejected, follow_recording, hint
from isrcheck.conformance.follow.search.script import Script
from isrcheck.conformance.follow.search.search import Manner, ObservationSearch
from isrcheck.conformance.follow.search.size import instance_for, size_of
from isrcheck.conformance.follow.wire.convert import observations_of
from isrcheck.models.messages import UsageError


def search(recording: Recording, protocol: str, most_broad: int, *, keeps_promises: bool = False) -> ObservationSearch:
    instance = instance_for(size_of(recording), protocol, {}, {}, 1)
    manner = Manner(keeps_promises=keeps_promises, most_broad=most_broad)
    found = ObservationSearch(Script(recording, instance), kernel_of(instance), True, Limits(), manner=manner)
    found.run()
    return found


# ---------------------------------------------------------------------------------------------------- order of nodes


UP = (metadata(1, 1, 2), acked("x", 0), disk(1, "x"), disk(2, "x", checkpoint=1), acked("y", 1))
DOWN = (fault(KILL, 2), acked("z"), fault(START, 2))
WRITTEN = (*UP, *DOWN, disk(2, "x", "y", checkpoint=1), metadata(1, 1, 2), read("x", "y"))


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


@pytest.mark.exhaustive
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


def request(leader: int, *isr: int, partition_epoch: int) -> dict[str, Any]:
    keys = {"leader": leader, "isr": list(isr), "leader_epoch": 0, "partition_epoch": partition_epoch}
    return {"kind": "alter_partition", **keys}


def smaller_and_larger(*left_out: int) -> Iterator[dict[str, Any]]:
    """The ISR loses broker 2, and it joins again."""
    lines = (
        metadata(1, 1, 2, epoch=0),
        disk(1, "x"),
        request(1, 1, partition_epoch=0),
        record(1, 1, epoch=0, change=1),
        request(1, 1, 2, partition_epoch=1),
        record(1, 1, 2, epoch=0, change=2),
    )
    return (line for number, line in enumerate(lines) if number not in left_out)


@pytest.mark.parametrize(("left_out", "rejected_at"), [((), None), ((2,), 4), ((4,), 6)])
def test_a_leader_sends_only_the_requests_that_have_lines(
    tmp_path: Path, left_out: tuple[int, ...], rejected_at: int | None
) -> None:
    for has_all in (True, False):
        begin = {**header(1, 1, 2), "all_requests": has_all}
        outcome = follow_recording(write(tmp_path / "one", begin, *smaller_and_larger(*left_out)), "3.7")
        if has_all and rejected_at is not None:
            assert isinstance(outcome, Rejected)
            assert outcome.line.number == rejected_at
        else:
            assert isinstance(outcome, Explained)


def test_the_controller_does_not_decide_before_the_line_of_a_request(tmp_path: Path) -> None:
    lines = list(smaller_and_larger())
    lines[2], lines[3] = lines[3], lines[2]
    begin = {**header(1, 1, 2), "all_requests": True}
    outcome = follow_recording(write(tmp_path / "one", begin, *lines), "3.7")
    assert isinstance(outcome, Rejected)
    assert outcome.line.number == 4
    assert "the next request of broker 1 has its line only later" in " ".join(tell(outcome))


# --------------------------------------------------------------------------------------------------- folded batches

BATCH = tuple(f"b{number}" for number in range(6))


def batch(path: Path, *more: dict[str, Any]) -> Recording | None:
    lines = (
        acked("x", 0),
        disk(1, "x"),
        *(acked(value) for value in BATCH),
        disk(1, "x", *BATCH),
        disk(2, "x", *BATCH, checkpoint=7),
    )
    return folded(read_recording(write(path / "one", header(2, 1, 2), *lines, *more)))


def test_records_that_are_always_shown_together_become_one(tmp_path: Path) -> None:
    short = batch(tmp_path, read("x", *BATCH))
    assert short is not None
    assert short.values == ("x", "b0 to b5")
    told = [(type(line).__name__, getattr(line, "log", None) or getattr(line, "value", None)) for line in short.lines]
    disk_of_all = ("Disk", ("x", "b0 to b5"))
    assert told == [("Acked", "x"), ("Disk", ("x",)), ("Acked", "b0 to b5"), disk_of_all, disk_of_all, ("Read", None)]
    assert isinstance(short.lines[4], Disk)
    assert short.lines[4].checkpoint == 2


def test_records_that_a_line_tells_apart_are_not_folded(tmp_path: Path) -> None:
    for more in (disk(2, "x", *BATCH[:3]), disk(1, "x", *BATCH, checkpoint=4), read("x", *BATCH[:2])):
        assert batch(tmp_path, more) is None


@pytest.mark.exhaustive
def test_a_batch_of_28_records_is_followed() -> None:
    path = RECORDINGS / "wire" / "idempotent_leader_killed" / "wire.ndjson"
    outcome = follow_recording(path, "3.7", objects=observations_of(path))
    assert isinstance(outcome, Explained)
    assert (outcome.trace.length, outcome.failures, outcome.recording.values[-1]) == (86, (), "m12 to m39")
    assert sum(outcome.effort.states) < 60_000
    assert "Records that the recording always shows together are one record of the trace." in " ".join(
        " ".join(tell(outcome)).split()
    )


# ------------------------------------------------------------------------------------------------- promises are kept


def test_a_path_that_keeps_all_promises_is_preferred() -> None:
    """The shortest path has 47 steps, and violates `isr_is_complete`, which the real cluster kept."""
    path = RECORDINGS / "wire" / "below_min_isr" / "wire.ndjson"
    outcome = follow_recording(path, "3.7", objects=observations_of(path))
    assert isinstance(outcome, Explained)
    assert (outcome.trace.length, outcome.failures, outcome.exit_code) == (50, (), 0)
    assert not outcome.is_shortest
    assert search(outcome.recording, "3.7", 1 << 40).depth >= 47


def test_it_is_said_if_every_path_violates_a_promise() -> None:
    path = RECORDINGS / "wire" / "stale_record" / "wire.ndjson"
    outcome = follow_recording(path, "3.7", objects=observations_of(path))
    assert isinstance(outcome, Explained)
    assert (outcome.exit_code, outcome.fail_all, outcome.is_shortest) == (12, True, False)
    assert "Every path that explains the recording violates a promise" in " ".join(tell(outcome))


# ----------------------------------------------------------------------------------------- what no line has said


def hint_of(tmp_path: Path, *lines: dict[str, Any]) -> tuple[str, ObservationSearch]:
    found = search(read_recording(write(tmp_path / "lines.ndjson", *lines)), "2.1", 10**9)
    return hint(found), found


def test_the_line_before_which_most_states_wait_is_named(tmp_path: Path) -> None:
    text, found = hint_of(tmp_path, *WRITTEN)
    told = re.fullmatch(
        r"([\d,]+) of ([\d,]+) states wait before line (\d+)\."
        r" They differ most in .+ \(\d+ values\); .+ would say it\.",
        text,
    )
    assert told is not None
    passed = found.monitor.passed.read(found.nodes.monitors())
    waiting = np.bincount(passed)[: found.lines]
    assert int(told[1].replace(",", "")) == waiting.max()
    assert int(told[2].replace(",", "")) == len(passed)
    assert int(told[3]) == found.script.recording.lines[int(waiting.argmax())].number
