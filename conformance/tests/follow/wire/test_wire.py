"""Wire recordings of Kafka 3.9: what they show, and which generations explain it."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from conformance.tests.support.follow import expect, table
from conformance.tests.support.places import RECORDINGS
from isrcheck.commands.exit_codes import DIVERGED
from isrcheck.conformance.follow.recorded.lines import Metadata
from isrcheck.conformance.follow.report.tell import tell
from isrcheck.conformance.follow.search.explain import Explained, Outcome, Rejected, follow_recording
from isrcheck.conformance.follow.wire.convert import observations_of, wire_observations
from isrcheck.conformance.follow.wire.messages import is_wire
from isrcheck.traces.format.certify import certify
from isrcheck.traces.format.trace import VIOLATED

pytestmark = pytest.mark.sampled

WIRE = RECORDINGS / "wire"


def followed(name: str, protocol: str, **values: int) -> Outcome:
    path = WIRE / name / "wire.ndjson"
    return follow_recording(path, protocol, values, objects=wire_observations(path))


def shown(name: str) -> list[tuple[int, dict]]:
    return list(observations_of(WIRE / name / "wire.ndjson"))


def test_what_a_leader_alone_in_its_isr_shows() -> None:
    """The whole of one recording, without the records in logs: sends, fetches, AlterPartition, reads, disks."""
    found = []
    for number, said in shown("below_min_isr"):
        keys = {key: value for key, value in said.items() if key not in ("n", "t", "log", "batch_epochs", "label")}
        told = [str(value) for key, value in keys.items() if key not in ("kind", "records", "acks")]
        found.append(
            " ".join([str(number), keys["kind"], *told, *(["of", str(len(said["log"]))] if "log" in said else [])])
        )
    assert found == EXPECTED.splitlines()


EXPECTED = """\
1 header True [1, 2, 3]
1 note producers with acks=1 and all; followed as acks=1
11 metadata 2 0 [2, 3, 1]
13 high_watermark 1 0
15 high_watermark 2 0
18 high_watermark 3 0
23 high_watermark 2 0
29 fault send m0
30 holds 2
31 holds 2
32 disk 3 of 1
33 disk 1 of 1
34 acked m0
36 fault send m1
37 holds 2
38 disk 1 of 2
38 high_watermark 1 1
39 holds 2
40 disk 3 of 2
40 high_watermark 3 1
41 acked m1
43 fault kill -9 1
44 fault kill -9 3
53 fault send refused
54 alter_partition 2 [2] 0 0
55 metadata 2 0 [2] 1
59 fault send acks1-below-min-isr
60 acked acks1-below-min-isr 3
69 holds 2
69 client_read
69 high_watermark 2 2
81 client_read
82 fault start 1
83 fault start 3
143 holds 2
143 high_watermark 2 2
146 disk 1 of 4
146 high_watermark 1 2
150 holds 2
150 high_watermark 2 2
152 applied 2 1
153 disk 3 of 4
153 high_watermark 3 2
154 high_watermark 2 2
156 alter_partition 2 [2, 1] 0 1
157 metadata 2 0 [2, 1] 2
167 high_watermark 3 4
168 alter_partition 2 [2, 1, 3] 0 2
169 metadata 2 0 [2, 1, 3] 3
171 high_watermark 1 4
176 fault send after
178 disk 3 of 5
179 holds 2
180 disk 1 of 5
181 acked after
184 high_watermark 3 5
186 high_watermark 1 5
187 high_watermark 2 5
202 holds 2
202 client_read
202 high_watermark 2 5
232 client_read
236 disk 1 5 broker1 of 5
236 disk 2 5 broker2 of 5
236 disk 3 5 broker3 of 5
236 note counted 5 lines from line 237 on, after all brokers begin to shut down; \
4 messages about neither logs nor leaders nor ISR
"""


KINDS = """\
below_min_isr
  acked:4 alter_partition:3 applied:1 client_read:4 disk:11 fault:9 header:1 high_watermark:18 holds:9 metadata:4
  note:2
follower_frozen
  acked:8 alter_partition:2 applied:1 client_read:2 disk:18 fault:10 header:1 high_watermark:20 holds:11 metadata:3
  note:1
idempotent_leader_killed
  acked:40 alter_partition:1 client_read:2 disk:25 fault:42 header:1 high_watermark:30 holds:22 metadata:3 note:1
leader_killed
  acked:10 alter_partition:1 client_read:2 disk:21 fault:12 header:1 high_watermark:27 holds:16 metadata:3 note:1
missed_demotion
  acked:5 alter_partition:3 client_read:2 disk:30 fault:15 header:1 high_watermark:24 holds:6 log_end:1 metadata:7
  note:1
missed_demotion_control
  acked:5 alter_partition:3 client_read:2 disk:37 fault:15 header:1 high_watermark:27 holds:7 metadata:7 note:1
missed_demotion_frozen
  acked:4 alter_partition:3 client_read:2 disk:21 fault:16 header:1 high_watermark:18 holds:2 log_end:1 metadata:7
  note:1
stale_record
  acked:5 alter_partition:3 applied:1 client_read:2 disk:27 fault:10 header:1 high_watermark:20 holds:7 metadata:5
  note:1
stale_record_control
  acked:4 alter_partition:4 applied:1 client_read:2 disk:27 fault:10 header:1 high_watermark:22 holds:8 metadata:5
  note:1
stale_record_three_controllers
  acked:5 alter_partition:3 applied:1 client_read:2 disk:27 fault:10 header:1 high_watermark:21 holds:9 metadata:5
  note:1
steady | acked:12 client_read:2 disk:27 fault:12 header:1 high_watermark:29 holds:25 metadata:1 note:1
transactions | acked:6 client_read:13 disk:17 fault:7 header:1 high_watermark:27 holds:22 metadata:1 note:4
"""
"""How many observations of each kind a recording gives."""


@pytest.mark.parametrize(("name", "kinds"), [(name, kinds) for (name,), kinds in table(KINDS)])
def test_the_kinds_of_observations(name: str, kinds: str) -> None:
    counted = Counter(said["kind"] for _, said in shown(name))
    assert " ".join(f"{kind}:{count}" for kind, count in sorted(counted.items())) == kinds


@pytest.mark.parametrize(
    ("name", "protocol", "length"),
    [
        ("steady", "2.4", 88),
        ("steady", "3.7", 88),
        ("follower_frozen", "2.4", 56),
        ("leader_killed", "2.4", 75),
        ("leader_killed", "3.7", 75),
        ("stale_record_control", "3.7", 58),
        ("transactions", "3.7", 57),
        ("below_min_isr", "3.7", 50),
    ],
)
def test_the_right_generation_explains(name: str, protocol: str, length: int) -> None:
    outcome = expect(Explained, followed(name, protocol))
    certify(outcome.trace)
    assert outcome.trace.length == length
    assert outcome.passed[-1] == len(outcome.recording.lines)
    assert outcome.failures == ()


FEW = 5_672
"""The number of states that the partition epochs leave."""


def test_partition_epochs_bound_the_changes_before_them() -> None:
    """Before the last metadata line, leader and ISR change at most twice, which leaves few states."""
    outcome = expect(Explained, followed("leader_killed", "3.7"))
    assert sum(outcome.effort.states) == FEW
    assert [line.partition_epoch for _, line in outcome.recording.claims(Metadata)] == [None, None, 2]


@pytest.mark.parametrize(
    ("name", "protocol", "values", "line", "claim"),
    [
        ("below_min_isr", "2.4", {}, 69, "the high watermark of broker 2 is 2"),
        ("stale_record", "2.4", {}, 36, "the log of broker 3 is m0 m1 m2"),
        ("stale_record_three_controllers", "2.4", {}, 34, "the log of broker 3 is m0 m1 m2"),
        ("follower_frozen", "0.8", {}, 74, "the leader is broker 2"),
        ("follower_frozen", "3.5", {}, 74, "the leader is broker 2"),
        ("below_min_isr", "3.5", {}, 55, "the leader is broker 2"),
        ("below_min_isr", "3.7", {"HW_MINISR_GATE": 0}, 154, "the high watermark of broker 2 is 2"),
        ("below_min_isr", "3.5", {"EPOCH_BUMP_ON_SHRINK": 0}, 154, "the high watermark of broker 2 is 2"),
    ],
)
def test_a_wrong_generation_rejects(name: str, protocol: str, values: dict[str, int], line: int, claim: str) -> None:
    outcome = expect(Rejected, followed(name, protocol, **values))
    assert outcome.line.number == line
    assert outcome.unmet[0].claim == claim


@pytest.mark.parametrize(
    ("name", "protocol", "values", "lengths", "line"),
    [
        ("stale_record", "3.7", {"EQUAL_PARTITION_EPOCH_REPLACES": 0}, (58, 36), 36),
        ("stale_record_three_controllers", "3.7", {"EQUAL_PARTITION_EPOCH_REPLACES": 0}, (58, 36), 34),
        ("missed_demotion", "2.4", {"REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER": 0}, (67, 48), 40),
    ],
)
def test_a_loss_needs_its_cause(
    name: str, protocol: str, values: dict[str, int], lengths: tuple[int, int], line: int
) -> None:
    """The rule is on: the recording is explained, and a record is lost. It is off: no path explains the recording."""
    outcome = expect(Explained, followed(name, protocol))
    certify(outcome.trace)
    lost = next(one for one in outcome.failures if one.name == "acked_not_lost")
    assert (outcome.trace.length, lost.step, lost.verdict) == (*lengths, VIOLATED)
    outcome = expect(Rejected, followed(name, protocol, **values))
    assert outcome.line.number == line


def test_a_rejection_names_the_gate_of_the_high_watermark_where_it_is_off() -> None:
    named = "rule: HW_MINISR_GATE is off, so a high watermark also rises while the leader's ISR has fewer than"
    told = " ".join(tell(followed("below_min_isr", "2.4")))
    assert named in told
    told = " ".join(tell(followed("stale_record", "2.4")))
    assert named not in told


@pytest.mark.recorded
def test_a_folder_is_followed_as_its_converted_file_is(conform, tmp_path: Path) -> None:
    out = tmp_path / "steady.ndjson"
    code, said, _ = conform("convert", WIRE / "steady", "-o", out)
    counts = "29 high_watermark, 27 disk, 25 holds, 12 fault, 12 acked, 2 client_read, 1 metadata, 1 note"
    assert (code, said.splitlines()[0]) == (0, f"written: {out}: {counts}")
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert lines == [said for _, said in shown("steady")]
    assert not is_wire(out)
    ends = []
    for path in (out, WIRE / "steady", WIRE / "steady" / "wire.ndjson"):
        code, said, _ = conform("follow", path)
        assert code == 0
        ends.append(said.splitlines()[-1].split(" successors")[0])
    assert ends == ["2,380 states, 14,742"] * 3


def test_several_recordings_get_one_line_each(conform, tmp_path: Path) -> None:
    shutil.copy(WIRE / "below_min_isr" / "wire.ndjson", tmp_path / "one.ndjson")
    code, said, _ = conform("follow", tmp_path / "one.ndjson", WIRE / "steady" / "wire.ndjson")
    assert code == DIVERGED
    assert said.splitlines()[0] == f"REJECTED   {tmp_path / 'one.ndjson'}:69: broker 2 has the high watermark 2"
    assert said.splitlines()[1].startswith("EXPLAINED ")


def test_what_is_written_is_not_overwritten(conform, tmp_path: Path) -> None:
    out = tmp_path / "there.ndjson"
    out.write_text("mine")
    code, _, complaint = conform("convert", WIRE / "steady", "-o", out)
    assert (code, complaint) == (
        2,
        f"conform: {out}: it exists already and is not overwritten; give another -o FILE.ndjson\n",
    )
    assert out.read_text() == "mine"
    code, _, complaint = conform("convert", RECORDINGS / "kafka-3.9-missed_demotion.ndjson", "-o", tmp_path / "new")
    assert code == 2
    assert "its lines are no requests and responses; give a recording of the wire" in complaint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there.ndjson"]
