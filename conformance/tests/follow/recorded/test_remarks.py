"""Remarks that count: what is not modelled, what is not used, copies of records, requests of an administrator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.follow import expect
from conformance.tests.support.observations import said, write
from isrcheck.conformance.follow.format.ndjson import objects_of
from isrcheck.conformance.follow.online.follow import OnlineOutcome, RejectedOnline, UndecidedOnline, follow_online
from isrcheck.conformance.follow.recorded.recording import read_recording
from isrcheck.conformance.follow.report.tell import tell
from isrcheck.conformance.follow.search.explain import Explained, Rejected, Undecided, follow_recording
from isrcheck.conformance.follow.wire.exchanges import Produced

BEGIN = "header 1: 1 2; metadata 1: 1 2 epoch=0; "
FALSE = "metadata 2: 1 2 epoch=0"
"""Another leader of the same epoch: no path has it."""

MOVED = {"kind": "note", "unmodelled": "a reassignment of replicas"}
UNUSED = [{"kind": "note", "unused": "5 lines at the end"}, {"kind": "note", "unused": "2 notes about no fault"}]


def recording(folder: Path, *parts: str | dict[str, Any], begin: str = BEGIN) -> Path:
    """A recording of these lines, or texts of lines, after the beginning."""
    lines = [line for part in (begin, *parts) for line in (said(part) if isinstance(part, str) else [part])]
    return write(folder / "seen.ndjson", *lines)


def online(path: Path, protocol: str) -> OnlineOutcome:
    return follow_online(path, lambda: objects_of(path), protocol)


def test_after_what_is_not_modelled_nothing_is_rejected(tmp_path: Path) -> None:
    outcome = expect(Undecided, follow_recording(recording(tmp_path, MOVED, FALSE), "2.1"))
    assert outcome.why == "a reassignment of replicas (line 3) is not modelled"
    assert (outcome.line.number, outcome.exit_code) == (4, 3)
    assert "UNDECIDED: a reassignment of replicas (line 3) is not modelled" in tell(outcome)[0]


def test_before_it_everything_is_judged(tmp_path: Path) -> None:
    outcome = expect(Rejected, follow_recording(recording(tmp_path, FALSE, MOVED), "2.1"))
    assert outcome.line.number == 3


def test_what_is_explained_stays_explained(tmp_path: Path) -> None:
    assert isinstance(follow_recording(recording(tmp_path, MOVED, "disk 1:"), "2.1"), Explained)


@pytest.mark.parametrize(("lines", "verdict"), [((MOVED, FALSE), UndecidedOnline), ((FALSE, MOVED), RejectedOnline)])
def test_online_it_is_the_same(tmp_path: Path, lines: tuple[Any, ...], verdict: type) -> None:
    outcome = expect(verdict, online(recording(tmp_path, *lines, UNUSED[0]), "2.1"))
    assert outcome.unused == "5 lines at the end"


def test_the_report_names_what_is_not_used(tmp_path: Path) -> None:
    for last in ("disk 1:", FALSE):
        outcome = follow_recording(recording(tmp_path, last, *UNUSED), "2.1")
        assert "Not used: 5 lines at the end; 2 notes about no fault." in tell(outcome)


COPIES = {"kind": "note", "copies": 2}


@pytest.mark.parametrize(
    ("lines", "copies"),
    [
        (["disk 1: a b"], 0),
        (["disk 1: a a"], 1),
        (["disk 1: a a; disk 2: a b a b"], 2),
        (["disk 1: a", COPIES], 0),
        (["disk 1: a a", COPIES], 2),
        (["disk 1: a; end 2 2"], 0),
        (["disk 1: a; end 2 2", COPIES], 2),
    ],
)
def test_copies_are_counted_where_a_line_shows_one(tmp_path: Path, lines: list[Any], copies: int) -> None:
    assert read_recording(recording(tmp_path, *lines)).copies == copies


def test_a_request_that_was_refused_before_it_was_appended_is_no_copy() -> None:
    produced = Produced()
    for _ in range(3):
        produced.sends([("x", None)])
    for _ in range(2):
        produced.sends([("y", (1, 0, 0))])
    assert produced.copies == 2
    produced.refused([("x", None)])
    assert produced.copies == 1


def test_a_recording_until_a_line_has_only_its_records(tmp_path: Path) -> None:
    whole = read_recording(recording(tmp_path, "disk 1: a; freeze 2; disk 1: a b"))
    before = whole.until(whole.lines[-1].n)
    assert (before.values, [line.number for line in before.lines]) == (("a",), [2, 3, 4])
    assert whole.values == ("a", "b")


# -------------------------- from an administrator's request on there may be an unclean election, whatever the setting


ALONE = "metadata 1: 1 2 epoch=0; kill 2; metadata 1: 1 epoch=0; disk 1: a; kill 1; start 2; "
"""Leader 1 is alone in its ISR, appends a, and is killed, so that epoch 1 has no leader; 2 starts again."""

OFF, ON = f"header 1: 1 2 all_requests; {ALONE}", f"header 1: 1 2 all_requests unclean; {ALONE}"
ASKED, ELECTED = "elect unclean", "metadata 2: 2 epoch=2"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("begin", "lines", "verdict"),
    [
        (OFF, (ASKED, ELECTED), Explained),
        (OFF, (ELECTED, ASKED), Rejected),
        (OFF, (ELECTED,), Rejected),
        # The setting permits it at any time.
        (ON, (ASKED, ELECTED), Explained),
        (ON, (ELECTED, ASKED), Explained),
        (ON, (ELECTED,), Explained),
    ],
)
def test_an_unclean_election_needs_its_request(tmp_path: Path, begin: str, lines: Any, verdict: type) -> None:
    assert isinstance(follow_recording(recording(tmp_path, *lines, begin=begin), "3.7"), verdict)


def test_online_it_is_not_modelled(tmp_path: Path) -> None:
    outcome = expect(UndecidedOnline, online(recording(tmp_path, ASKED, ELECTED, begin=OFF), "3.7"))
    assert outcome.why == "a request for an unclean election (line 8) is not modelled"
