"""The limits of time and memory hold in everything that `conform follow` does, and what was found so far is said."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.observations import KILL, acked, disk, fault, header, metadata, record, sent, write
from isrcheck.conformance.follow.online.follow import UndecidedOnline, follow_online
from isrcheck.conformance.follow.report.tell import tell, tell_online
from isrcheck.conformance.follow.runs import StateSet, TimeOverError, Watch
from isrcheck.conformance.follow.search.explain import Undecided, follow_recording
from isrcheck.conformance.follow.search.size import begin_empty
from isrcheck.models import registry
from isrcheck.traces.format.trace import Trace

# A limit can be reached in the callback of the garbage collector that Hypothesis installs in this process. Python drops
# what is raised there and warns; the timer then looks again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SLACK = 5
"""The seconds after the limit that an answer may take, on a slow machine."""


def many_sent(count: int, told: int, batch: int = 16) -> Iterator[dict[str, Any]]:
    """Many records are sent, some are acknowledged, and then all brokers are killed."""
    yield {**header(2, 1, 2, 3), "all_requests": True}
    yield record(1, 1, 2, 3, epoch=0)
    for first in range(0, count, batch):
        values = [f"r{number}" for number in range(first, min(count, first + batch))]
        yield from (sent(value, acks="all") for value in values)
        yield from (acked(value) for value in values if first < told)
    yield from (fault(KILL, broker) for broker in (1, 2, 3))


def endless(seen: list[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    for n in itertools.count():
        seen.append(n)
        yield n + 1, {"kind": "note", "n": n, "what": "nothing"}


@pytest.mark.sampled
@pytest.mark.parametrize(("limits", "why"), [({"seconds": 4.0}, "seconds"), ({"memory": 256 << 20}, "memory")])
def test_a_limit_holds_where_the_model_has_many_initial_states(
    tmp_path: Path, limits: dict[str, Any], why: str
) -> None:
    """With 96 records the model has 955,056 initial states; they alone took minutes and gigabytes."""
    path = write(tmp_path / "many", *many_sent(300, 96))
    began = time.monotonic()
    outcome = follow_recording(path, "4.1", **limits)
    if why == "seconds":
        assert time.monotonic() - began < limits["seconds"] + SLACK
    assert isinstance(outcome, Undecided)
    assert (outcome.exit_code, outcome.why) == (3, why)
    assert outcome.line is not None
    if why == "memory":
        assert outcome.line.number > 2, "some lines after the header and the first metadata"
    assert f"explanations only of the lines before {path}:{outcome.line.number}" in tell(outcome)[0]


@pytest.mark.sampled
def test_a_limit_holds_while_a_recording_is_read(tmp_path: Path) -> None:
    path, seen, began = tmp_path / "endless", list[int](), time.monotonic()
    outcome = follow_recording(path, "2.1", seconds=1, objects=endless(seen))
    assert time.monotonic() - began < 1 + SLACK
    assert isinstance(outcome, Undecided)
    assert (outcome.exit_code, outcome.why, outcome.recording) == (3, "seconds", None)
    assert tell(outcome)[0].endswith(f"; {path} was not read to its end")
    assert seen
    online = follow_online(path, lambda: endless(seen), "2.1", seconds=1)
    assert time.monotonic() - began < 2 + 2 * SLACK
    assert isinstance(online, UndecidedOnline)
    assert (online.exit_code, online.why, online.line) == (3, "seconds", None)
    assert "UNDECIDED: the time limit was reached; give more with --seconds; 0 lines are followed" in tell_online(
        online
    )


@pytest.mark.sampled
def test_a_path_that_was_not_judged_in_time_is_no_answer(tmp_path: Path) -> None:
    """Whether the cluster takes the path, and whether it keeps all promises, is asked after the search."""

    def endlessly(trace: Trace) -> str:
        while trace:
            pass
        return ""

    path = write(tmp_path / "one", header(1, 1, 2), metadata(1, 1, 2), acked("x", 0), disk(2, "x"))
    began = time.monotonic()
    outcome = follow_recording(path, "2.1", seconds=4, why_not_taken=endlessly)
    assert time.monotonic() - began < 4 + SLACK
    assert isinstance(outcome, Undecided)
    assert (outcome.exit_code, outcome.why, outcome.line) == (3, "seconds", None)
    assert "a path explains every line, but it is not decided whether it keeps the model's promises" in tell(outcome)[0]
    assert sum(outcome.effort.states) > 0


def test_a_limit_holds_for_the_initial_states_of_a_run() -> None:
    instance = registry.load("kafka")[0].instance("4.1", {"start": 1, "records": 60, "log_size": 60})
    began = time.monotonic()
    with pytest.raises(TimeOverError):
        StateSet(instance, {}, 10, Watch(seconds=0.1))
    assert time.monotonic() - began < SLACK


STARTS = 12
"""Three leaders, each alone in the ISR, with one of the two others, or with both."""


@pytest.mark.parametrize("protocol", ["0.8", "0.10", "2.0", "2.4", "2.8", "3.5", "4.1"])
def test_a_recording_begins_in_the_initial_states_with_empty_logs(protocol: str) -> None:
    model = registry.load("kafka")[0]
    for records, log_size in ((1, 1), (2, 3), (3, 3)):
        values = {"start": 1, "records": records, "log_size": log_size, "elections": 2, "crashes": 4}
        every = model.instance(protocol, values)
        ends = every.layouts["log_end_offset"]
        empty = [cells for cells in every.initial_states if not any(cells[ends.offset : ends.offset + ends.count])]
        assert list(begin_empty(model.instance(protocol, values)).initial_states) == empty
        assert len(empty) == STARTS
