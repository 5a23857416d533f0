"""Records with equal values, and with null: each has a name of its own, and the recording is followed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.observations import sent
from conformance.tests.support.places import RECORDINGS
from isrcheck.conformance.follow.recorded.lines import Acked, Sent
from isrcheck.conformance.follow.recorded.recording import read_recording
from isrcheck.conformance.follow.search.explain import Explained, Outcome, Rejected, follow_recording
from isrcheck.conformance.follow.wire.convert import observations_of, wire_observations
from isrcheck.conformance.follow.wire.exchanges import Produced
from isrcheck.models.messages import UsageError

STEADY = RECORDINGS / "wire" / "steady"

META: dict[str, Any] = {"kind": "metadata", "leader": 1, "leader_epoch": 0, "isr": [1, 2]}


def acked(value: str | None, offset: int | None = None) -> dict[str, Any]:
    return {"kind": "acked", "value": value, "acks": "all"} | ({} if offset is None else {"offset": offset})


def disk(*values: str | None, epochs: list[int] | None = None) -> dict[str, Any]:
    log = [[offset, value] for offset, value in enumerate(values)]
    return {"kind": "disk", "broker": 2, "log": log} | ({} if epochs is None else {"batch_epochs": epochs})


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps({"n": n} | line) + "\n" for n, line in enumerate((META, *lines))))
    return path


def names(path: Path, *lines: dict[str, Any]) -> list[str]:
    """The name of the record in each line that sends or acknowledges one."""
    found = read_recording(written(path / "seen.ndjson", *lines))
    return [line.value for line in found.lines if isinstance(line, Sent | Acked)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((sent("x"), disk("x"), acked("x")), ["x", "x"]),  # one record
        ((sent("x"), acked("x"), disk("x", "x")), ["x", "x"]),  # one record, and perhaps a copy
        ((sent("x"), acked("x"), sent("x"), acked("x"), disk("x", "x")), ["x@0", "x@0", "x@1", "x@1"]),
        ((sent("x"), sent("x"), acked("x", 1), acked("x"), disk("x", "x")), ["x@0", "x@1", "x@1", "x@0"]),
        ((sent("x"), sent("x"), acked("x", 0)), ["x@0", "x#2", "x@0"]),  # the second one may have arrived nowhere
        ((sent("x"), sent("y"), sent("x"), disk("x", "y", "x")), ["x@0", "y", "x@2"]),
        ((sent("x"), acked("x", 0), acked("x", 0), disk("x")), ["x@0", "x@0"]),
        ((sent("x"), disk("x", "x"), sent("x")), ["x@0"]),  # it was sent before
        ((sent("x"), sent("x"), disk("y", "x", epochs=[0, 0]), disk("x", "x", epochs=[1, 1])), ["x@1", "x@0"]),
        ((sent("x"), sent("x"), sent("x@0"), disk("x", "x", "x@0")), ["x@0'", "x@1", "x@0"]),
        ((sent(None), sent(None), acked(None), disk(None, None)), ["(null)@0", "(null)@1", "(null)@0"]),
    ],
)
def test_each_record_has_a_name(tmp_path: Path, lines: tuple[dict[str, Any], ...], expected: list[str]) -> None:
    assert names(tmp_path, *lines) == expected


def follow(path: Path, *lines: dict[str, Any]) -> Outcome:
    return follow_recording(written(path / "seen.ndjson", *lines), "2.1", {})


def test_equal_records_are_followed(tmp_path: Path) -> None:
    lines = (sent(None), acked(None, 0), sent(None), acked(None, 1), sent("x"), disk(None, None, "x"))
    assert isinstance(follow(tmp_path, *lines), Explained)


def test_of_equal_records_each_has_its_own_offset(tmp_path: Path) -> None:
    outcome = follow(tmp_path, sent("x"), acked("x", 0), disk("x"), sent("x"), acked("x", 0), acked("x", 2))
    assert isinstance(outcome, Rejected)
    assert outcome.line.number == 7
    assert outcome.unmet[0].claim == "x@2 is acknowledged"


def changed(folder: Path, **values: str | None) -> Path:
    """The recording `steady` in which these values are others; without the disks."""
    text = (STEADY / "wire.ndjson").read_text()
    for old, new in values.items():
        text = text.replace(json.dumps(old), json.dumps(new))
    (folder / "wire.ndjson").write_text(text)
    return folder / "wire.ndjson"


def test_a_wire_recording_with_equal_and_null_values_is_followed(tmp_path: Path) -> None:
    path = changed(tmp_path, m3="m1", m7="m1", m4=None, m6=None)
    outcome = follow_recording(path, "3.7", {}, objects=wire_observations(path))
    assert isinstance(outcome, Explained)
    assert outcome.recording.values[:8] == ("m0", "m1@1", "m2", "m1@3", "(null)@4", "m5", "(null)@6", "m1@7")


def test_online_equal_values_are_refused(tmp_path: Path) -> None:
    path = changed(tmp_path, m3="m1")
    with pytest.raises(
        UsageError, match=r"wire\.ndjson:\d+: there is another record 'm1'; .*: follow it with --history"
    ):
        list(observations_of(path, is_online=True))


def test_a_request_that_is_sent_again_brings_no_other_record() -> None:
    found = Produced()
    assert found.sends([("x", None), ("x", None)]) == ["x", "x"]
    assert found.sends([("x", None), ("x", None)]) == []  # neither is acknowledged
    assert found.acks("x", 0) and found.acks("x", 1) and not found.acks("x", 1)
    assert found.sends([("x", None)]) == ["x"]
    numbered = Produced()
    assert numbered.sends([("x", (7, 0, 0)), ("x", (7, 0, 1))]) == ["x", "x"]
    assert numbered.acks("x", 0) and numbered.acks("x", 1)
    assert numbered.sends([("x", (7, 0, 1)), ("x", (7, 0, 2))]) == ["x"]
    assert numbered.sends([("x", (7, 1, 0))]) == []  # the last one, with a new producer epoch
