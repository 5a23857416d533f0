"""Every recording has teeth: a single value that is changed is rejected at its line, with what differs and why.

Each row changes one value of one line. The recording is explained as it is (test_wire.py, test_observations.py), so a
rejection is due to the change alone. A rejection rests on the lines up to the changed one and on what the whole
recording has room for. Of `FROZEN` only these lines are followed: the whole recording has millions of states before its
first disk.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support.observations import flat, put_at
from conformance.tests.support.places import RECORDINGS
from isrcheck.conformance.follow.search.explain import Rejected, follow_recording
from isrcheck.conformance.follow.wire.convert import wire_observations

WIRE = RECORDINGS / "wire"

KEYS = {
    "P.": "body.topics.0.partitions.0.",
    "R.": "body.responses.0.partitions.0.",
    "A.": "body.responses.0.partition_responses.0.",
}
"""Short for where a message has what it says of the partition."""

FROZEN = "kafka-3.9-missed_demotion_frozen"

QUICK = (("steady", None), (FROZEN, "line 10"))
"""The recordings whose rows run in `make test`, or the one row."""

LARGE = ("idempotent_leader_killed",)
"""The model of 40 records takes seconds to compile."""

REASONS = {
    "NEXT_REQUEST": "no alter_partition line from here on has this request as the next one",
    "GUARDS": "no step brings any of these states nearer to the line",
    "OFFSET": "a leader acknowledges a record at the offset at which it has appended it",
    "LEADING": "its guard `presumes_leadership(s, leader)`",
    "LAW": "leader, leader epoch and ISR change only",
    "SMALLEST": "a leader's high watermark is the smallest log end",
    "PROPOSES": "its guard `may_propose(s, leader)`",
    "HAS_HAD_4": "it has had the high watermark 4, not before the last observed checkpoint",
    "CHECKPOINT": "a broker's checkpoint is a high watermark that it has had",
    "TOGETHER": "each of these is true in some state, but they are not all true in the same one",
}

CHANGED = """\
steady 3.7
  line 20 | P.leader_id = 2 | the leader of epoch 0 is broker 2 | GUARDS
  line 11 | P.leader_epoch = 1 | the leader epoch is 1 | its guard `elected != s.controller_leader`
  line 53 | R.records.0.leader_epoch = 1 | the epochs of these records are 1 | GUARDS
  line 26 | P.fetch_offset = 2 | the log of broker 3 ends at 2 | LEADING
  line 52 | R.records.0.records.0.value = "other" | broker 1 has other at 4 | GUARDS
  line 91 | A.base_offset = 10 | m9 is acknowledged | OFFSET
  line 156 | P.isr_nodes = [1, 2] | the ISR is 1 2 | its guard `s.preferred_elections_left > 0`
leader_killed 3.7
  line 78 | P.leader_epoch = 1 | the leader epoch is 1 | its guard `session_may_expire(s, broker)`
  line 80 | P.isr_nodes = [3, 1] | the ISR is 1 3 | its guard `session_may_expire(s, broker)`
  line 59 | A.base_offset = 4 | m3 is acknowledged | OFFSET
  line 195 | P.leader_id = 2 | the leader of epoch 1 is broker 2 | GUARDS
  line 176 | R.high_watermark = 9 | the high watermark of broker 1 is 9 | GUARDS
  line 112 | R.records.0.records.0.value = "other" | broker 1 has other at 5 | GUARDS
  line 190 | P.leader_epoch = 2 | broker 1 asks for the ISR 1 2 3 after partition epoch 1 in epoch 2 | NEXT_REQUEST
transactions 3.7
  line 72 | A.base_offset = 1 | a0 is acknowledged | OFFSET
  line 179 | P.fetch_offset = 7 | the log of broker 3 ends at 7 | LEADING
  line 110 | P.isr_nodes = [1, 2] | the ISR is 1 2 | its guard `s.preferred_elections_left > 0`
  line 257 | R.records.0.leader_epoch = 1 | the epochs of these records are 1 1 0 0 0 0 0 | GUARDS
  line 175 | P.leader_epoch = 1 | the leader epoch is 1 | its guard `session_may_expire(s, broker)`
  line 440 | P.leader_id = 2 | the leader of epoch 0 is broker 2 | GUARDS
  line 496 | records.0.1 = "other" | a running leader can return other a1 b0 b1 plain0 c0 at 0 1 3 4 6 7 | GUARDS
stale_record 3.7
  line 156 | P.fetch_offset = 2 | the log of broker 3 ends at 2 | LEADING
  line 301 | P.partition_epoch = 1 | broker 1 asks for the ISR 1 2 after partition epoch 1 in epoch 0 | NEXT_REQUEST
  line 160 | R.records.0.records.0.value = "other" | broker 1 has other at 1 | GUARDS
  line 525 | P.leader_id = 1 | the leader of epoch 1 is broker 1 | last true after
  line 525 | P.leader_epoch = 2 | the leader of epoch 2 is broker 3 |
  line 400 | P.isr_nodes = [2] | the leader of epoch 1 is broker 3 | its guard `not replaces_leader(s, broker)`
  line 504 | P.leader_epoch = 2 | broker 3 asks for the ISR 1 2 3 after partition epoch 3 in epoch 2 | NEXT_REQUEST
stale_record_three_controllers 3.7
  line 342 | P.fetch_offset = 2 | the log of broker 3 ends at 2 | LEADING
  line 346 | R.records.0.records.0.value = "other" | broker 1 has other at 1 | GUARDS
  line 755 | P.isr_nodes = [2] | the leader of epoch 1 is broker 3 | its guard `not replaces_leader(s, broker)`
  line 990 | P.leader_epoch = 2 | the leader of epoch 2 is broker 3 |
  line 990 | P.leader_id = 1 | the leader of epoch 1 is broker 1 | last true after
stale_record_control 3.7
  line 164 | P.fetch_offset = 2 | the log of broker 3 ends at 2 | LEADING
  line 452 | P.leader_epoch = 2 | the leader of epoch 2 is broker 3 |
  line 452 | P.isr_nodes = [2] | the leader of epoch 1 is broker 3 | its guard `not replaces_leader(s, broker)`
  line 157 | P.leader_epoch = 1 | the leader epoch is 1 | LAW
  line 574 | P.partition_epoch = 4 | broker 3 asks for the ISR 1 2 3 after partition epoch 4 in epoch 1 | NEXT_REQUEST
  line 575 | P.partition_epoch = 5 | the partition epoch is 5 | LAW
  observations.ndjson:10 | batch_epochs.0 = 1 | the epochs of its records are 1 0 0 | GUARDS
missed_demotion 2.4
  line 348 | P.fetch_offset = 2 | the log of broker 3 ends at 2 | LEADING
  line 703 | P.leader_epoch = 4 | the leader epoch is 4 | its guard `s.controller_isr[follower]`
  line 703 | P.isr_nodes = [1] | the ISR is 1 | its guard `is_controllers_leader(s, leader)`
  line 1035 | R.high_watermark = 5 | the high watermark of broker 3 is 5 | GUARDS
  observations.ndjson:30 | batch_epochs.0 = 1 | the epochs of its records are 1 1 1 | GUARDS
  line 925 | P.leader_id = 1 | the leader of epoch 4 is broker 1 | GUARDS
  observations.ndjson:52 | log.0.1 = "other" | the log of broker 1 is other m1 m2 after | GUARDS
missed_demotion_frozen 2.4
  line 471 | P.leader_id = 2 | the leader of epoch 1 is broker 2 | GUARDS
  line 471 | P.leader_epoch = 2 | the leader epoch is 2 | its guard `elected != s.controller_leader`
  line 471 | P.isr_nodes = [1, 3] | the ISR is 1 3 | last true after
  line 313 | P.fetch_offset = 2 | the log of broker 1 ends at 2 | LEADING
  line 787 | R.records.0.leader_epoch = 1 | the epochs of these records are 1 1 4 | GUARDS
missed_demotion_control 2.4
  line 317 | P.leader_id = 2 | the leader of epoch 1 is broker 2 | GUARDS
  line 330 | P.fetch_offset = 4 | the log of broker 3 ends at 4 | LEADING
  line 535 | P.isr_nodes = [1, 3] | the ISR is 1 3 | its guard `is_controllers_leader(s, leader)`
  line 841 | R.high_watermark = 6 | the high watermark of broker 3 is 6 | GUARDS
  line 754 | P.leader_epoch = 5 | the leader epoch is 5 | its guard `elected != s.controller_leader`
  line 505 | R.records.0.records.0.value = "other" | broker 2 has other at 3 |
follower_frozen 3.7
  line 32 | P.leader_id = 3 | the leader of epoch 0 is broker 3 | GUARDS
  line 11 | P.leader_epoch = 1 | the leader epoch is 1 | its guard `s.shutdowns_left > 0`
  line 36 | P.fetch_offset = 2 | the log of broker 3 ends at 2 | LEADING
  line 95 | P.isr_nodes = [2] | the ISR is 2 | its guard `replaces_leader(s, broker)`
  line 74 | P.isr = [2] | the ISR is 2 | LAW
  line 45 | A.base_offset = 2 | m1 is acknowledged | OFFSET
  line 113 | A.base_offset = 8 | m7 is acknowledged | OFFSET
  line 89 | R.high_watermark = 5 | the high watermark of broker 2 is 5 | SMALLEST
below_min_isr 3.7
  line 32 | P.fetch_offset = 2 | the log of broker 3 ends at 2 | LEADING
  line 58 | P.leader_id = 3 | the leader of epoch 0 is broker 3 | GUARDS
  line 127 | P.isr_nodes = [] | the ISR is empty | its guard `s.preferred_elections_left > 0`
  line 41 | A.base_offset = 2 | m1 is acknowledged | OFFSET
  line 60 | A.base_offset = 4 | acks1-below-min-isr is acknowledged | OFFSET
  line 156 | P.partition_epoch = 2 | broker 2 asks for the ISR 1 2 after partition epoch 2 in epoch 0 | PROPOSES
  line 157 | P.partition_epoch = 3 | the partition epoch is 3 | LAW
idempotent_leader_killed 3.7
  line 44 | P.fetch_offset = 4 | the log of broker 2 ends at 4 | LEADING
  line 52 | A.base_offset = 2 | m3 is acknowledged | OFFSET
  line 60 | R.records.0.records.0.value = "other" | broker 1 has other at 5 | GUARDS
  line 94 | A.base_offset = 11 | m10 is acknowledged | OFFSET
  line 133 | P.leader_epoch = 2 | the leader epoch is 2 | its guard `session_may_expire(s, broker)`
  line 133 | P.isr_nodes = [2] | the ISR is 2 | its guard `session_may_expire(s, broker)`
kafka-0.10.2-kip101_loss 0.10
  line 2 | offset = 2 | it was acknowledged at offset 2, if at all | OFFSET; in these states, m1 has the offset 1
  line 5 | log.1.1 = "m0" | the log of broker 2 is m0 m0 m2 | GUARDS
  line 8 | offset = 0 | it was acknowledged at offset 0, if at all | OFFSET; in these states, PRECIOUS has the offset 3
  line 11 | log.3.1 = "m1" | the log of broker 2 is m0 m1 m2 m1 | GUARDS
  line 25 | records.0.1 = "m1" | a running leader can return m1 m1 m2 | GUARDS
  line 4 | high_watermark_checkpoint = 4 | HAS_HAD_4 |
  line 5 | log = [[0, "m1"], [1, "m0"], [2, "m2"]] | the log of broker 2 is m1 m0 m2 |
  line 7 | isr = [] | the ISR is empty |
  line 12 | log = [[0, "m0"]] | the log of broker 3 is m0 |
  line 19 | isr = [2] | the ISR is 2 |
  line 22 | high_watermark_checkpoint = 1 | it has had the high watermark 1, not before the last observed checkpoint |
  line 23 | high_watermark_checkpoint = 1 | its checkpointed high watermark is 1 |
  line 24 | isr = [1, 2] | the ISR is 1 2 |
  line 25 | records = [[0, "m0"], [1, "m1"], [2, "PRECIOUS"]] | a running leader can return m0 m1 PRECIOUS |
kafka-3.9-missed_demotion 2.1
  line 10 | offset = 2 | it was acknowledged at offset 2, if at all | OFFSET; in these states, m1 has the offset 1
  line 13 | batch_epochs.1 = 0 | the epochs of its records are 0 0 1 | GUARDS
  line 14 | leader_epoch_checkpoint.1.1 = 2 | its leader epoch checkpoint is 0@0 1@2 | GUARDS
  line 14 | high_watermark_checkpoint = 4 | HAS_HAD_4 | CHECKPOINT
  line 17 | log.3.1 = "m1" | the log of broker 1 is m0 m1 m2 m1 | GUARDS
kafka-3.9-missed_demotion_control 2.1
  line 10 | offset = 2 | it was acknowledged at offset 2, if at all | OFFSET; in these states, m1 has the offset 1
  line 13 | batch_epochs.1 = 0 | the epochs of its records are 0 0 1 | GUARDS
  line 14 | leader_epoch_checkpoint.1.1 = 2 | its leader epoch checkpoint is 0@0 1@2 | GUARDS
  line 14 | high_watermark_checkpoint = 4 | HAS_HAD_4 | CHECKPOINT
  line 17 | log.3.1 = "m1" | the log of broker 1 is m0 m1 m2 m1 | GUARDS
kafka-3.9-missed_demotion_frozen 2.1
  line 5 | offset = 1 | it was acknowledged at offset 1, if at all | OFFSET; in these states, m0 has the offset 0
  line 10 | offset = 0 | it was acknowledged at offset 0, if at all | OFFSET; in these states, m1 has the offset 1
  line 13 | batch_epochs.1 = 0 | the epochs of its records are 0 0 1 | TOGETHER
  line 13 | log.1.1 = "m0" | the log of broker 1 is m0 m0 PRECIOUS | GUARDS
  line 14 | leader_epoch_checkpoint.1.1 = 0 | its leader epoch checkpoint is 0@0 1@0 | GUARDS
"""
"""By recording and generation: changed line, key and new value; a claim that the report names; words of its reason."""


def rows() -> Iterator[tuple[str, str, str, str, Any, str, str]]:
    name = protocol = ""
    for line in CHANGED.splitlines():
        if not line.startswith(" "):
            name, protocol = line.split()
            continue
        spot, change, claim, why = (cell.strip() for cell in line.split("|"))
        key, _, value = change.partition(" = ")
        word, semicolon, rest = why.partition(";")
        reason = f"{REASONS.get(word, word)}{semicolon}{rest}"
        path = KEYS.get(key[:2], key[:2]) + key[2:]
        yield name, protocol, spot, path, json.loads(value), REASONS.get(claim, claim), reason


CHANGES = list(rows())


def changed(folder: Path, name: str, spot: str, key: str, value: Any) -> Path:
    """A copy of a recording in which one value of one line is different; `FROZEN` ends there."""
    file, number = ("", int(spot[5:])) if spot.startswith("line ") else (spot.split(":")[0], int(spot.split(":")[1]))
    if (WIRE / name).is_dir():
        path = Path(shutil.copytree(WIRE / name, folder / name)) / (file or "wire.ndjson")
    else:
        path = Path(shutil.copy(RECORDINGS / f"{name}.ndjson", folder))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    put_at(lines[number - 1], key, value)
    if name == FROZEN:  # the lines that name all brokers may come later
        lines = [{"kind": "header", "replicas": [1, 2, 3], "min.insync.replicas": 2}, *lines[:number]]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path.with_name("wire.ndjson") if file else path


FIRST_OF_EACH = list({row[0]: row for row in reversed(CHANGES)}.values())
"""One row of each recording; the others run with `make verify`."""


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "protocol", "spot", "key", "value", "claim", "why"),
    sampled(
        CHANGES,
        lambda row: (row[0], None) in QUICK or (row[0], row[2]) in QUICK,
        last=lambda row: row not in FIRST_OF_EACH or row[0] in LARGE,
    ),
)
def test_a_changed_value_is_rejected_at_its_line(
    tmp_path: Path, name: str, protocol: str, spot: str, key: str, value: Any, claim: str, why: str
) -> None:
    path = changed(tmp_path, name, spot, key, value)
    outcome = follow_recording(path, protocol, {}, objects=wire_observations(path))
    assert isinstance(outcome, Rejected)
    assert outcome.line.spot == (f"line {int(spot[5:]) + 1}" if name == FROZEN else spot)
    report = flat(outcome)
    assert claim in [unmet.claim for unmet in outcome.unmet]
    assert f"{claim}: true in " in report
    assert why in report


def test_every_recording_has_at_least_five_changes() -> None:
    counted = Counter(name for name, *_ in CHANGES)
    assert min(counted.values()) >= 5
    assert {path.stem for path in [*WIRE.iterdir(), *RECORDINGS.glob("*.ndjson")]} == {*counted}
