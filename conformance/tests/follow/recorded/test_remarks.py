"""Remarks that count: what is not modelled, what is not used, copies of records, requests of an administrator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.observations import FREEZE, KILL, START, disk, fault, header, log_end, metadata, write
from isrcheck.conformance.follow.format.ndjson import objects_of
from isrcheck.conformance.follow.online.follow import RejectedOnline, UndecidedOnline, follow_online
from isrcheck.conformance.follow.recorded.recording import read_recording
from isrcheck.conformance.follow.report.tell import tell
from isrcheck.conformance.follow.search.explain import Explained, Rejected, Undecided, follow_recording
from isrcheck.conformance.follow.wire.exchanges import Produced

BEGINS = [header(1, 1, 2), metadata(1, 1, 2, epoch=0)]
FALSE = metadata(2, 1, 2, epoch=0)
"""Another leader of the same epoch: no path has it."""

MOVED = {"kind": "note", "unmodelled": "a reassignment of replicas"}


def test_after_what_is_not_modelled_nothing_is_rejected(tmp_path: Path) -> None:
    outcome = follow_recording(write(tmp_path / "seen.ndjson", *BEGINS, MOVED, FALSE), "2.1")
    assert isinstance(outcome, Undecided)
    assert outcome.why == "a reassignment of replicas (line 3) is not modelled"
    assert (outcome.line.number, outcome.exit_code) == (4, 3)
    assert "UNDECIDED: a reassignment of replicas (line 3) is not modelled" in tell(outcome)[0]


def test_before_it_everything_is_judged(tmp_path: Path) -> None:
    outcome = follow_recording(write(tmp_path / "seen.ndjson", *BEGINS, FALSE, MOVED), "2.1")
    assert isinstance(outcome, Rejected)
    assert outcome.line.number == 3


def test_what_is_explained_stays_explained(tmp_path: Path) -> None:
    assert isinstance(follow_recording(write(tmp_path / "seen.ndjson", *BEGINS, MOVED, disk(1)), "2.1"), Explained)


@pytest.mark.parametrize(("lines", "outcome"), [((MOVED, FALSE), UndecidedOnline), ((FALSE, MOVED), RejectedOnline)])
def test_online_it_is_the_same(tmp_path: Path, lines: tuple[Any, ...], outcome: type) -> None:
    path = write(tmp_path / "seen.ndjson", *BEGINS, *lines, {"kind": "note", "unused": "5 lines at the end"})
    found = follow_online(path, lambda: objects_of(path), "2.1")
    assert isinstance(found, outcome)
    assert found.unused == "5 lines at the end"


def test_what_is_not_used_is_told(tmp_path: Path) -> None:
    unused = [{"kind": "note", "unused": "5 lines at the end"}, {"kind": "note", "unused": "2 notes about no fault"}]
    for last in (disk(1), FALSE):
        outcome = follow_recording(write(tmp_path / "seen.ndjson", *BEGINS, last, *unused), "2.1")
        assert "Not used: 5 lines at the end; 2 notes about no fault." in tell(outcome)


@pytest.mark.parametrize(
    ("lines", "copies"),
    [
        ([disk(1, "a", "b")], 0),
        ([disk(1, "a", "a")], 1),
        ([disk(1, "a", "a"), disk(2, "a", "b", "a", "b")], 2),
        ([disk(1, "a"), {"kind": "note", "copies": 2}], 0),
        ([disk(1, "a", "a"), {"kind": "note", "copies": 2}], 2),
        ([disk(1, "a"), log_end(2, 2)], 0),
        ([disk(1, "a"), log_end(2, 2), {"kind": "note", "copies": 2}], 2),
    ],
)
def test_copies_are_counted_where_a_line_shows_one(tmp_path: Path, lines: list[dict[str, Any]], copies: int) -> None:
    assert read_recording(write(tmp_path / "seen.ndjson", *BEGINS, *lines)).copies == copies


def test_a_request_that_was_refused_before_it_was_appended_is_no_copy() -> None:
    found = Produced()
    for number in (None, None, None):
        found.sends([("x", number)])
    found.sends([("y", (1, 0, 0))])
    found.sends([("y", (1, 0, 0))])
    assert found.copies == 2
    found.refused([("x", None)])
    assert found.copies == 1


def test_a_recording_until_a_line_has_only_its_records(tmp_path: Path) -> None:
    recording = read_recording(
        write(tmp_path / "seen.ndjson", *BEGINS, disk(1, "a"), fault(FREEZE, 2), disk(1, "a", "b"))
    )
    before = recording.until(recording.lines[-1].n)
    assert (before.values, [line.number for line in before.lines]) == (("a",), [2, 3, 4])
    assert json.dumps(recording.values) == '["a", "b"]'


# ----------------------- from an administrator's request on there may be an unclean election, whatever the setting says


ASKED = {"kind": "fault", "what": "elect unclean"}
ALONE: list[dict[str, Any]] = [
    header(1, 1, 2) | {"all_requests": True},
    metadata(1, 1, 2, epoch=0),
    fault(KILL, 2),
    metadata(1, 1, epoch=0),
    disk(1, "a"),
    fault(KILL, 1),
    fault(START, 2),
]
"""Leader 1 is alone in its ISR, appends a, and is killed, so that epoch 1 has no leader; 2 starts again."""

ELECTED = metadata(2, 2, epoch=2)


@pytest.mark.parametrize(
    ("lines", "outcome"), [((ASKED, ELECTED), Explained), ((ELECTED, ASKED), Rejected), ((ELECTED,), Rejected)]
)
def test_an_unclean_election_needs_its_request(tmp_path: Path, lines: Any, outcome: type) -> None:
    found = follow_recording(write(tmp_path / "seen.ndjson", *ALONE, *lines), "3.7")
    assert isinstance(found, outcome)


@pytest.mark.parametrize("lines", [(ASKED, ELECTED), (ELECTED, ASKED), (ELECTED,)])
def test_the_setting_permits_it_at_any_time(tmp_path: Path, lines: Any) -> None:
    begins = [header(1, 1, 2, unclean=True) | {"all_requests": True}, *ALONE[1:]]
    assert isinstance(follow_recording(write(tmp_path / "seen.ndjson", *begins, *lines), "3.7"), Explained)


def test_online_it_is_not_modelled(tmp_path: Path) -> None:
    path = write(tmp_path / "seen.ndjson", *ALONE, ASKED, ELECTED)
    found = follow_online(path, lambda: objects_of(path), "3.7")
    assert isinstance(found, UndecidedOnline)
    assert found.why == "a request for an unclean election (line 8) is not modelled"
