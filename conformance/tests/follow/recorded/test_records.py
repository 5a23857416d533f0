"""Records: which are lost, which are equal, and which line says of which."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.follow import expect
from conformance.tests.support.observations import acked, disk, flat, said, sent, write
from conformance.tests.support.places import RECORDINGS
from isrcheck.conformance.follow.recorded.lines import Acked, Sent
from isrcheck.conformance.follow.recorded.recording import read_recording
from isrcheck.conformance.follow.search.explain import Explained, Outcome, Rejected, Undecided, follow_recording
from isrcheck.conformance.follow.wire.convert import observations_of, wire_observations
from isrcheck.conformance.follow.wire.exchanges import Produced
from isrcheck.models.messages import UsageError

pytestmark = pytest.mark.sampled

# ------------------------------------------------------------------------ records that may have reached a leader or not


STEADY = RECORDINGS / "wire" / "steady" / "wire.ndjson"
STEPS_OF_STEADY = 88
"""The length of the path that explains the recording itself (test_wire.py)."""

BEGIN = "header 1: 1 2; metadata 1: 1 2 epoch=0; "


def follow(path: Path, text: str, *lines: dict[str, Any]) -> Outcome:
    return follow_recording(write(path / "seen.ndjson", *said(BEGIN + text), *lines), "2.1", {})


@pytest.mark.parametrize(
    ("lines", "lost"),
    [
        ("send x; send y; disk 2: y", ["x"]),
        ("send x; end 2 1; send y; holds 2 1 y", []),
        ("send x; send y; send z; holds 2 1 z", ["x"]),  # or y: either of them
        ("send x; send y", ["x", "y"]),
    ],
)
def test_a_record_that_is_never_shown_binds_nothing(tmp_path: Path, lines: str, lost: list[str]) -> None:
    outcome = expect(Explained, follow(tmp_path, lines))
    assert [line.value for line in outcome.recording.lost] == lost
    assert ("reached nobody: no line shows them after they were sent" in flat(outcome)) == bool(lost)


def test_what_no_way_explains_is_rejected(tmp_path: Path) -> None:
    outcome = expect(Rejected, follow(tmp_path, "send x; send y; send z; holds 2 3 z"))
    assert outcome.line.number == 6


def test_too_many_ways_are_not_decided(tmp_path: Path) -> None:
    outcome = expect(Undecided, follow(tmp_path, "send x0; send x1; send x2; send x3; send x4; end 2 6"))
    assert (outcome.why, outcome.exit_code) == ("sends", 3)
    assert "record of some whether they are acknowledged" in flat(outcome)


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
    outcome = expect(Explained, follow_recording(path, "3.7", {}, objects=wire_observations(path)))
    assert outcome.trace.length == STEPS_OF_STEADY
    assert [line.value for line in outcome.recording.lost] == ["lost0", "lost1"]
    assert {line.number for line in outcome.recording.lost} == {at + 1}


# ----------------------------------------------------------------------------------------------- equal values, and null


NULLS = [sent(None), sent(None), acked(None), disk(2, None, None)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("send x; disk 2: x; acked x", "x x"),  # one record
        ("send x; acked x; disk 2: x x", "x x"),  # one record, and perhaps a copy
        ("send x; acked x; send x; acked x; disk 2: x x", "x@0 x@0 x@1 x@1"),
        ("send x; send x; acked x 1; acked x; disk 2: x x", "x@0 x@1 x@1 x@0"),
        ("send x; send x; acked x 0", "x@0 x#2 x@0"),  # the second record may have arrived nowhere
        ("send x; send y; send x; disk 2: x y x", "x@0 y x@2"),
        ("send x; acked x 0; acked x 0; disk 2: x", "x@0 x@0"),
        ("send x; disk 2: x x; send x", "x@0"),  # it was sent before
        ("send x; send x; disk 2: y x epochs=0,0; disk 2: x x epochs=1,1", "x@1 x@0"),
        ("send x; send x; send x@0; disk 2: x x x@0", "x@0' x@1 x@0"),
        (NULLS, "(null)@0 (null)@1 (null)@0"),
    ],
)
def test_each_record_has_a_name(tmp_path: Path, lines: str | list[dict[str, Any]], expected: str) -> None:
    """The name of the record in each line that sends or acknowledges one."""
    lines = said(lines) if isinstance(lines, str) else lines
    recording = read_recording(write(tmp_path / "seen.ndjson", *said("metadata 1: 1 2 epoch=0"), *lines))
    assert [line.value for line in recording.lines if isinstance(line, Sent | Acked)] == expected.split()


def test_equal_records_are_followed(tmp_path: Path) -> None:
    lines = (sent(None), acked(None, 0), sent(None), acked(None, 1), sent("x"), disk(2, None, None, "x"))
    assert isinstance(follow(tmp_path, "", *lines), Explained)


def test_of_equal_records_each_has_its_own_offset(tmp_path: Path) -> None:
    outcome = expect(Rejected, follow(tmp_path, "send x; acked x 0; disk 2: x; send x; acked x 0; acked x 2"))
    assert (outcome.line.number, outcome.unmet[0].claim) == (8, "x@2 is acknowledged")


def changed(folder: Path, **values: str | None) -> Path:
    """The recording `steady` in which these values are others; without the disks."""
    text = STEADY.read_text()
    for old, new in values.items():
        text = text.replace(json.dumps(old), json.dumps(new))
    (folder / "wire.ndjson").write_text(text)
    return folder / "wire.ndjson"


def test_a_wire_recording_with_equal_and_null_values_is_followed(tmp_path: Path) -> None:
    path = changed(tmp_path, m3="m1", m7="m1", m4=None, m6=None)
    outcome = expect(Explained, follow_recording(path, "3.7", {}, objects=wire_observations(path)))
    assert outcome.recording.values[:8] == ("m0", "m1@1", "m2", "m1@3", "(null)@4", "m5", "(null)@6", "m1@7")


def test_online_equal_values_are_refused(tmp_path: Path) -> None:
    path = changed(tmp_path, m3="m1")
    with pytest.raises(UsageError, match=r"wire\.ndjson:\d+: the value 'm1' is repeated; .*: follow it with --history"):
        list(observations_of(path, is_online=True))


def test_a_request_that_is_sent_again_brings_no_other_record() -> None:
    produced = Produced()
    assert produced.sends([("x", None), ("x", None)]) == ["x", "x"]
    assert produced.sends([("x", None), ("x", None)]) == []  # neither is acknowledged
    assert produced.acks("x", 0) and produced.acks("x", 1) and not produced.acks("x", 1)
    assert produced.sends([("x", None)]) == ["x"]
    numbered = Produced()
    assert numbered.sends([("x", (7, 0, 0)), ("x", (7, 0, 1))]) == ["x", "x"]
    assert numbered.acks("x", 0) and numbered.acks("x", 1)
    assert numbered.sends([("x", (7, 0, 1)), ("x", (7, 0, 2))]) == ["x"]
    assert numbered.sends([("x", (7, 1, 0))]) == []  # the last one, with a new producer epoch
