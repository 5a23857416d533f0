"""Recordings in the format of observations have teeth, too: a changed value is rejected at its line, and says why.

A rejection rests on the lines up to the changed one and on what the whole recording has room for. Of `FROZEN` only
these lines are followed: the whole recording has millions of states before its first disk.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support.observations import put_at
from conformance.tests.support.places import RECORDINGS
from isrcheck.conformance.follow.report.tell import tell
from isrcheck.conformance.follow.search.explain import Rejected, follow_recording

OFFSET = (
    "a leader acknowledges a record at the offset at which it has appended it; in these states, {} has the offset {}"
)
GUARDS = "no step brings any of these states nearer to the line"
HAS_HAD = "it has had the high watermark 4, not before the last observed checkpoint"
CHECKPOINT = "a broker's checkpoint is a high watermark that it has had"
TOGETHER = "each of these is true in some state, but they are not all true in the same one"

LOSS, HELD = "kafka-0.10.2-kip101_loss", "kafka-3.9-missed_demotion"
CONTROL, FROZEN = "kafka-3.9-missed_demotion_control", "kafka-3.9-missed_demotion_frozen"
PROTOCOLS = {LOSS: "0.10", HELD: "2.1", CONTROL: "2.1", FROZEN: "2.1"}

CHANGES = [
    (LOSS, 2, "offset", 2, "it was acknowledged at offset 2, if at all", OFFSET.format("m1", 1)),
    (LOSS, 5, "log.1.1", "m0", "the log of broker 2 is m0 m0 m2", GUARDS),
    (LOSS, 8, "offset", 0, "it was acknowledged at offset 0, if at all", OFFSET.format("PRECIOUS", 3)),
    (LOSS, 11, "log.3.1", "m1", "the log of broker 2 is m0 m1 m2 m1", GUARDS),
    (LOSS, 25, "records.0.1", "m1", "a running leader can return m1 m1 m2", GUARDS),
    *[
        row
        for name in (HELD, CONTROL)
        for row in (
            (name, 10, "offset", 2, "it was acknowledged at offset 2, if at all", OFFSET.format("m1", 1)),
            (name, 13, "batch_epochs.1", 0, "the epochs of its records are 0 0 1", GUARDS),
            (name, 14, "leader_epoch_checkpoint.1.1", 2, "its leader epoch checkpoint is 0@0 1@2", GUARDS),
            (name, 14, "high_watermark_checkpoint", 4, HAS_HAD, CHECKPOINT),
            (name, 17, "log.3.1", "m1", "the log of broker 1 is m0 m1 m2 m1", GUARDS),
        )
    ],
    (FROZEN, 5, "offset", 1, "it was acknowledged at offset 1, if at all", OFFSET.format("m0", 0)),
    (FROZEN, 10, "offset", 0, "it was acknowledged at offset 0, if at all", OFFSET.format("m1", 1)),
    (FROZEN, 13, "batch_epochs.1", 0, "the epochs of its records are 0 0 1", TOGETHER),
    (FROZEN, 13, "log.1.1", "m0", "the log of broker 1 is m0 m0 PRECIOUS", GUARDS),
    (FROZEN, 14, "leader_epoch_checkpoint.1.1", 0, "its leader epoch checkpoint is 0@0 1@0", GUARDS),
]
"""Recording, changed line, key, new value; a claim that the report names, and words of its reason."""


def changed(folder: Path, name: str, number: int, key: str, value: Any) -> Path:
    """A copy of a recording in which one value of one line is another; `FROZEN` ends there."""
    lines = [json.loads(line) for line in (RECORDINGS / f"{name}.ndjson").read_text().splitlines()]
    put_at(lines[number - 1], key, value)
    path = folder / "changed.ndjson"
    if name == FROZEN:  # the lines that name all brokers may come later
        lines = [{"kind": "header", "replicas": [1, 2, 3], "min.insync.replicas": 2}, *lines[:number]]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("name", "number", "key", "value", "claim", "why"),
    sampled(CHANGES, lambda one: one[0] == FROZEN and one[1] == 10, last=lambda one: True),
)
def test_a_changed_value_is_rejected_at_its_line(
    tmp_path: Path, name: str, number: int, key: str, value: Any, claim: str, why: str
) -> None:
    outcome = follow_recording(changed(tmp_path, name, number, key, value), PROTOCOLS[name], {})
    assert isinstance(outcome, Rejected)
    assert outcome.line.n == number - 1
    assert claim in [unmet.claim for unmet in outcome.unmet]
    said = " ".join(" ".join(tell(outcome)).split())
    assert f"{claim}: true in " in said
    assert why in said


def test_every_recording_has_at_least_five_changes() -> None:
    counted = Counter(name for name, *_ in CHANGES)
    assert {path.stem for path in RECORDINGS.glob("*.ndjson")} == {*counted}
    assert min(counted.values()) >= 5
