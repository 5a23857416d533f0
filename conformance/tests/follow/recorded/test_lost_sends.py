"""Records that are sent and never shown again: they may have reached a leader or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.observations import disk, header, log_end, metadata, sent, write
from conformance.tests.support.places import RECORDINGS
from isrcheck.conformance.follow.report.tell import tell
from isrcheck.conformance.follow.search.explain import Explained, Outcome, Rejected, Undecided, follow_recording
from isrcheck.conformance.follow.wire.convert import wire_observations

STEADY = RECORDINGS / "wire" / "steady" / "wire.ndjson"

BEGIN = (header(1, 1, 2), metadata(1, 1, 2, epoch=0))


def holds(offset: int, value: str) -> dict[str, Any]:
    return {"kind": "holds", "broker": 2, "records": [[offset, value]]}


def follow(path: Path, *lines: dict[str, Any]) -> Outcome:
    return follow_recording(write(path / "seen.ndjson", *BEGIN, *lines), "2.1", {})


@pytest.mark.parametrize(
    ("lines", "lost"),
    [
        ((sent("x"), sent("y"), disk(2, "y")), ["x"]),
        ((sent("x"), log_end(2, 1), sent("y"), holds(1, "y")), []),
        ((sent("x"), sent("y"), sent("z"), holds(1, "z")), ["x"]),  # or y: either of them
        ((sent("x"), sent("y")), ["x", "y"]),
    ],
)
def test_a_record_that_is_never_shown_binds_nothing(
    tmp_path: Path, lines: tuple[dict[str, Any], ...], lost: list[str]
) -> None:
    outcome = follow(tmp_path, *lines)
    assert isinstance(outcome, Explained)
    assert [line.value for line in outcome.recording.lost] == lost
    told = " ".join(tell(outcome))
    assert ("reached nobody: no line shows them after they were sent" in told) == bool(lost)


def test_what_no_way_explains_is_rejected(tmp_path: Path) -> None:
    outcome = follow(tmp_path, sent("x"), sent("y"), sent("z"), holds(3, "z"))
    assert isinstance(outcome, Rejected)
    assert outcome.line.number == 6


def test_too_many_ways_are_not_decided(tmp_path: Path) -> None:
    outcome = follow(tmp_path, *(sent(f"x{number}") for number in range(5)), log_end(2, 6))
    assert isinstance(outcome, Undecided)
    assert (outcome.why, outcome.exit_code) == ("sends", 3)
    assert "say of some whether they are acknowledged" in " ".join(" ".join(tell(outcome)).split())


def test_a_lost_request_of_a_wire_recording_is_followed(tmp_path: Path) -> None:
    """Two records in one request, which gets no response; the producer goes on with others."""
    lines = [json.loads(line) for line in STEADY.read_text().splitlines()]
    at = next(at for at, line in enumerate(lines) if line.get("api") == "Produce" and line["kind"] == "request")
    lost = json.loads(json.dumps(lines[at]))
    batch = lost["body"]["topic_data"][0]["partition_data"][0]["records"][0]
    batch["records"] = [batch["records"][0] | {"offset": n, "value": f"lost{n}"} for n in range(2)]
    lines.insert(at, lost | {"client": "another", "correlation": 1})
    path = tmp_path / "wire.ndjson"
    path.write_text("".join(json.dumps(line | {"n": n}) + "\n" for n, line in enumerate(lines)))
    outcome = follow_recording(path, "3.7", {}, objects=wire_observations(path))
    assert isinstance(outcome, Explained)
    assert outcome.trace.length == 88
    assert [line.value for line in outcome.recording.lost] == ["lost0", "lost1"]
    assert {line.number for line in outcome.recording.lost} == {at + 1}
