"""Every recording has teeth: a single value that is changed is rejected at its line, with what differs and why.

Each row changes one value of one line. The recording is explained as it is (test_wire.py), so a rejection is due to the
change alone.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support.places import RECORDINGS
from isrcheck.conformance.follow.report.tell import tell
from isrcheck.conformance.follow.search.explain import Rejected, follow_recording
from isrcheck.conformance.follow.wire.convert import wire_observations

WIRE = RECORDINGS / "wire"

P = "body.topics.0.partitions.0."
R = "body.responses.0.partitions.0."
A = "body.responses.0.partition_responses.0."

QUICK = ("steady",)
"""The recordings whose rows run in `make test`."""

NEXT_REQUEST = "no alter_partition line from here on has this request as the next one"
LARGE = ("idempotent_leader_killed",)
"""The model of 40 records takes seconds to compile."""

GUARDS = "no step brings any of these states nearer to the line"
OFFSET = "a leader acknowledges a record at the offset at which it has appended it"
LEADING = "its guard `presumes_leadership(s, leader)`"
LAW = "leader, leader epoch and ISR change only"

CHANGES = [
    ("steady", "3.7", "line 20", f"{P}leader_id", 2, "the leader of epoch 0 is broker 2", GUARDS),
    (
        "steady",
        "3.7",
        "line 11",
        f"{P}leader_epoch",
        1,
        "the leader epoch is 1",
        "its guard `elected != s.controller_leader`",
    ),
    ("steady", "3.7", "line 53", f"{R}records.0.leader_epoch", 1, "the epochs of these records are 1", GUARDS),
    ("steady", "3.7", "line 26", f"{P}fetch_offset", 2, "the log of broker 3 ends at 2", LEADING),
    ("steady", "3.7", "line 52", f"{R}records.0.records.0.value", "other", "broker 1 has other at 4", GUARDS),
    ("steady", "3.7", "line 91", f"{A}base_offset", 10, "m9 is acknowledged", OFFSET),
    (
        "steady",
        "3.7",
        "line 156",
        f"{P}isr_nodes",
        [1, 2],
        "the ISR is 1 2",
        "its guard `s.preferred_elections_left > 0`",
    ),
    (
        "leader_killed",
        "3.7",
        "line 78",
        f"{P}leader_epoch",
        1,
        "the leader epoch is 1",
        "its guard `session_may_expire(s, broker)`",
    ),
    (
        "leader_killed",
        "3.7",
        "line 80",
        f"{P}isr_nodes",
        [3, 1],
        "the ISR is 1 3",
        "its guard `session_may_expire(s, broker)`",
    ),
    ("leader_killed", "3.7", "line 59", f"{A}base_offset", 4, "m3 is acknowledged", OFFSET),
    ("leader_killed", "3.7", "line 195", f"{P}leader_id", 2, "the leader of epoch 1 is broker 2", GUARDS),
    ("leader_killed", "3.7", "line 176", f"{R}high_watermark", 9, "the high watermark of broker 1 is 9", GUARDS),
    ("leader_killed", "3.7", "line 112", f"{R}records.0.records.0.value", "other", "broker 1 has other at 5", GUARDS),
    (
        "leader_killed",
        "3.7",
        "line 190",
        f"{P}leader_epoch",
        2,
        "broker 1 asks for the ISR 1 2 3 after partition epoch 1 in epoch 2",
        NEXT_REQUEST,
    ),
    ("transactions", "3.7", "line 72", f"{A}base_offset", 1, "a0 is acknowledged", OFFSET),
    ("transactions", "3.7", "line 179", f"{P}fetch_offset", 7, "the log of broker 3 ends at 7", LEADING),
    (
        "transactions",
        "3.7",
        "line 110",
        f"{P}isr_nodes",
        [1, 2],
        "the ISR is 1 2",
        "its guard `s.preferred_elections_left > 0`",
    ),
    (
        "transactions",
        "3.7",
        "line 257",
        f"{R}records.0.leader_epoch",
        1,
        "the epochs of these records are 1 1 0 0 0 0 0",
        GUARDS,
    ),
    (
        "transactions",
        "3.7",
        "line 175",
        f"{P}leader_epoch",
        1,
        "the leader epoch is 1",
        "its guard `session_may_expire(s, broker)`",
    ),
    ("transactions", "3.7", "line 440", f"{P}leader_id", 2, "the leader of epoch 0 is broker 2", GUARDS),
    (
        "transactions",
        "3.7",
        "line 496",
        "records.0.1",
        "other",
        "a running leader can return other a1 b0 b1 plain0 c0 at 0 1 3 4 6 7",
        GUARDS,
    ),
    ("stale_record", "3.7", "line 156", f"{P}fetch_offset", 2, "the log of broker 3 ends at 2", LEADING),
    (
        "stale_record",
        "3.7",
        "line 301",
        f"{P}partition_epoch",
        1,
        "broker 1 asks for the ISR 1 2 after partition epoch 1 in epoch 0",
        NEXT_REQUEST,
    ),
    ("stale_record", "3.7", "line 160", f"{R}records.0.records.0.value", "other", "broker 1 has other at 1", GUARDS),
    ("stale_record", "3.7", "line 525", f"{P}leader_id", 1, "the leader of epoch 1 is broker 1", "last true after"),
    ("stale_record", "3.7", "line 525", f"{P}leader_epoch", 2, "the leader of epoch 2 is broker 3", ""),
    (
        "stale_record",
        "3.7",
        "line 400",
        f"{P}isr_nodes",
        [2],
        "the leader of epoch 1 is broker 3",
        "its guard `not replaces_leader(s, broker)`",
    ),
    (
        "stale_record",
        "3.7",
        "line 504",
        f"{P}leader_epoch",
        2,
        "broker 3 asks for the ISR 1 2 3 after partition epoch 3 in epoch 2",
        NEXT_REQUEST,
    ),
    (
        "stale_record_three_controllers",
        "3.7",
        "line 342",
        f"{P}fetch_offset",
        2,
        "the log of broker 3 ends at 2",
        LEADING,
    ),
    (
        "stale_record_three_controllers",
        "3.7",
        "line 346",
        f"{R}records.0.records.0.value",
        "other",
        "broker 1 has other at 1",
        GUARDS,
    ),
    (
        "stale_record_three_controllers",
        "3.7",
        "line 755",
        f"{P}isr_nodes",
        [2],
        "the leader of epoch 1 is broker 3",
        "its guard `not replaces_leader(s, broker)`",
    ),
    (
        "stale_record_three_controllers",
        "3.7",
        "line 990",
        f"{P}leader_epoch",
        2,
        "the leader of epoch 2 is broker 3",
        "",
    ),
    (
        "stale_record_three_controllers",
        "3.7",
        "line 990",
        f"{P}leader_id",
        1,
        "the leader of epoch 1 is broker 1",
        "last true after",
    ),
    ("stale_record_control", "3.7", "line 164", f"{P}fetch_offset", 2, "the log of broker 3 ends at 2", LEADING),
    ("stale_record_control", "3.7", "line 452", f"{P}leader_epoch", 2, "the leader of epoch 2 is broker 3", ""),
    (
        "stale_record_control",
        "3.7",
        "line 452",
        f"{P}isr_nodes",
        [2],
        "the leader of epoch 1 is broker 3",
        "its guard `not replaces_leader(s, broker)`",
    ),
    (
        "stale_record_control",
        "3.7",
        "line 157",
        f"{P}leader_epoch",
        1,
        "the leader epoch is 1",
        LAW,
    ),
    (
        "stale_record_control",
        "3.7",
        "line 574",
        f"{P}partition_epoch",
        4,
        "broker 3 asks for the ISR 1 2 3 after partition epoch 4 in epoch 1",
        NEXT_REQUEST,
    ),
    ("stale_record_control", "3.7", "line 575", f"{P}partition_epoch", 5, "the partition epoch is 5", LAW),
    (
        "stale_record_control",
        "3.7",
        "observations.ndjson:10",
        "batch_epochs.0",
        1,
        "the epochs of its records are 1 0 0",
        GUARDS,
    ),
    ("missed_demotion", "2.4", "line 348", f"{P}fetch_offset", 2, "the log of broker 3 ends at 2", LEADING),
    (
        "missed_demotion",
        "2.4",
        "line 703",
        f"{P}leader_epoch",
        4,
        "the leader epoch is 4",
        "its guard `s.controller_isr[follower]`",
    ),
    (
        "missed_demotion",
        "2.4",
        "line 703",
        f"{P}isr_nodes",
        [1],
        "the ISR is 1",
        "its guard `is_controllers_leader(s, leader)`",
    ),
    ("missed_demotion", "2.4", "line 1035", f"{R}high_watermark", 5, "the high watermark of broker 3 is 5", GUARDS),
    (
        "missed_demotion",
        "2.4",
        "observations.ndjson:30",
        "batch_epochs.0",
        1,
        "the epochs of its records are 1 1 1",
        GUARDS,
    ),
    ("missed_demotion", "2.4", "line 925", f"{P}leader_id", 1, "the leader of epoch 4 is broker 1", GUARDS),
    (
        "missed_demotion",
        "2.4",
        "observations.ndjson:52",
        "log.0.1",
        "other",
        "the log of broker 1 is other m1 m2 after",
        GUARDS,
    ),
    ("missed_demotion_frozen", "2.4", "line 471", f"{P}leader_id", 2, "the leader of epoch 1 is broker 2", GUARDS),
    (
        "missed_demotion_frozen",
        "2.4",
        "line 471",
        f"{P}leader_epoch",
        2,
        "the leader epoch is 2",
        "its guard `elected != s.controller_leader`",
    ),
    ("missed_demotion_frozen", "2.4", "line 471", f"{P}isr_nodes", [1, 3], "the ISR is 1 3", "last true after"),
    ("missed_demotion_frozen", "2.4", "line 313", f"{P}fetch_offset", 2, "the log of broker 1 ends at 2", LEADING),
    (
        "missed_demotion_frozen",
        "2.4",
        "line 787",
        f"{R}records.0.leader_epoch",
        1,
        "the epochs of these records are 1 1 4",
        GUARDS,
    ),
    ("missed_demotion_control", "2.4", "line 317", f"{P}leader_id", 2, "the leader of epoch 1 is broker 2", GUARDS),
    ("missed_demotion_control", "2.4", "line 330", f"{P}fetch_offset", 4, "the log of broker 3 ends at 4", LEADING),
    (
        "missed_demotion_control",
        "2.4",
        "line 535",
        f"{P}isr_nodes",
        [1, 3],
        "the ISR is 1 3",
        "its guard `is_controllers_leader(s, leader)`",
    ),
    (
        "missed_demotion_control",
        "2.4",
        "line 841",
        f"{R}high_watermark",
        6,
        "the high watermark of broker 3 is 6",
        GUARDS,
    ),
    (
        "missed_demotion_control",
        "2.4",
        "line 754",
        f"{P}leader_epoch",
        5,
        "the leader epoch is 5",
        "its guard `elected != s.controller_leader`",
    ),
    (
        "missed_demotion_control",
        "2.4",
        "line 505",
        f"{R}records.0.records.0.value",
        "other",
        "broker 2 has other at 3",
        "",
    ),
    ("follower_frozen", "3.7", "line 32", f"{P}leader_id", 3, "the leader of epoch 0 is broker 3", GUARDS),
    (
        "follower_frozen",
        "3.7",
        "line 11",
        f"{P}leader_epoch",
        1,
        "the leader epoch is 1",
        "its guard `s.shutdowns_left > 0`",
    ),
    ("follower_frozen", "3.7", "line 36", f"{P}fetch_offset", 2, "the log of broker 3 ends at 2", LEADING),
    (
        "follower_frozen",
        "3.7",
        "line 95",
        f"{P}isr_nodes",
        [2],
        "the ISR is 2",
        "its guard `replaces_leader(s, broker)`",
    ),
    ("follower_frozen", "3.7", "line 74", f"{P}isr", [2], "the ISR is 2", LAW),
    ("follower_frozen", "3.7", "line 45", f"{A}base_offset", 2, "m1 is acknowledged", OFFSET),
    ("follower_frozen", "3.7", "line 113", f"{A}base_offset", 8, "m7 is acknowledged", OFFSET),
    (
        "follower_frozen",
        "3.7",
        "line 89",
        f"{R}high_watermark",
        5,
        "the high watermark of broker 2 is 5",
        "a leader's high watermark is the smallest log end",
    ),
    ("below_min_isr", "3.7", "line 32", f"{P}fetch_offset", 2, "the log of broker 3 ends at 2", LEADING),
    ("below_min_isr", "3.7", "line 58", f"{P}leader_id", 3, "the leader of epoch 0 is broker 3", GUARDS),
    (
        "below_min_isr",
        "3.7",
        "line 127",
        f"{P}isr_nodes",
        [],
        "the ISR is empty",
        "its guard `s.preferred_elections_left > 0`",
    ),
    ("below_min_isr", "3.7", "line 41", f"{A}base_offset", 2, "m1 is acknowledged", OFFSET),
    ("below_min_isr", "3.7", "line 60", f"{A}base_offset", 4, "acks1-below-min-isr is acknowledged", OFFSET),
    (
        "below_min_isr",
        "3.7",
        "line 156",
        f"{P}partition_epoch",
        2,
        "broker 2 asks for the ISR 1 2 after partition epoch 2 in epoch 0",
        "its guard `may_propose(s, leader)`",
    ),
    ("below_min_isr", "3.7", "line 157", f"{P}partition_epoch", 3, "the partition epoch is 3", LAW),
    (
        "idempotent_leader_killed",
        "3.7",
        "line 44",
        f"{P}fetch_offset",
        4,
        "the log of broker 2 ends at 4",
        LEADING,
    ),
    ("idempotent_leader_killed", "3.7", "line 52", f"{A}base_offset", 2, "m3 is acknowledged", OFFSET),
    (
        "idempotent_leader_killed",
        "3.7",
        "line 60",
        f"{R}records.0.records.0.value",
        "other",
        "broker 1 has other at 5",
        GUARDS,
    ),
    ("idempotent_leader_killed", "3.7", "line 94", f"{A}base_offset", 11, "m10 is acknowledged", OFFSET),
    (
        "idempotent_leader_killed",
        "3.7",
        "line 133",
        f"{P}leader_epoch",
        2,
        "the leader epoch is 2",
        "its guard `session_may_expire(s, broker)`",
    ),
    (
        "idempotent_leader_killed",
        "3.7",
        "line 133",
        f"{P}isr_nodes",
        [2],
        "the ISR is 2",
        "its guard `session_may_expire(s, broker)`",
    ),
]
"""Recording, generation, changed line, key, new value; a claim that the report names, and words of its reason."""


def changed(folder: Path, name: str, spot: str, key: str, value: Any) -> Path:
    """A copy of a recording in which one value of one line is another."""
    shutil.copytree(WIRE / name, folder / name)
    file, number = ("wire.ndjson", spot[5:]) if spot.startswith("line ") else spot.split(":")
    path = folder / name / file
    lines = path.read_text().splitlines()
    said = json.loads(lines[int(number) - 1])
    *steps, last = (int(word) if word.isdecimal() else word for word in key.split("."))
    at: Any = said
    for step in steps:
        at = at[step]
    assert at[last] != value
    at[last] = value
    lines[int(number) - 1] = json.dumps(said)
    path.write_text("\n".join(lines) + "\n")
    return folder / name / "wire.ndjson"


FIRST_OF_EACH = list({one[0]: one for one in reversed(CHANGES)}.values())
"""One row of each recording; the others run with `make verify`."""


@pytest.mark.parametrize(
    ("name", "protocol", "spot", "key", "value", "claim", "why"),
    sampled(CHANGES, lambda one: one[0] in QUICK, last=lambda one: one not in FIRST_OF_EACH or one[0] in LARGE),
)
def test_a_changed_value_is_rejected_at_its_line(
    tmp_path: Path, name: str, protocol: str, spot: str, key: str, value: Any, claim: str, why: str
) -> None:
    path = changed(tmp_path, name, spot, key, value)
    outcome = follow_recording(path, protocol, {}, objects=wire_observations(path))
    assert isinstance(outcome, Rejected)
    assert outcome.line.spot == spot
    said = " ".join(" ".join(tell(outcome)).split())
    assert claim in [unmet.claim for unmet in outcome.unmet]
    assert f"{claim}: true in " in said
    assert why in said


def test_every_recording_has_at_least_five_changes() -> None:
    counted = Counter(name for name, *_ in CHANGES)
    assert min(counted.values()) >= 5
    assert {path.name for path in WIRE.iterdir()} == {*counted}
