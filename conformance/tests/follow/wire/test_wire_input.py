"""Wire recordings and folders of brokers that are damaged, foreign or absurd: one line with the place, exit code 2."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.audit.building import GZIP, batch
from conformance.tests.support.follow import produce
from conformance.tests.support.places import RECORDINGS
from isrcheck.commands.exit_codes import VIOLATED
from isrcheck.conformance.follow.search.explain import Explained, follow_recording
from isrcheck.conformance.follow.wire import beside as disks
from isrcheck.conformance.follow.wire import convert, messages
from isrcheck.conformance.follow.wire.convert import observations_of
from isrcheck.models.messages import UsageError

STEADY = RECORDINGS / "wire" / "steady"
STEPS_OF_STEADY = 88
"""The length of the path that explains the recording itself (test_wire.py)."""
LINES = (STEADY / "wire.ndjson").read_text().splitlines()
FIRST = '{"n":0,"t":0,"kind":"request","client":"x","broker":1,"api":"Metadata","correlation":0,"body":{}}'


def message(api: str, body: Any, *, kind: str = "response", **more: Any) -> str:
    line = {"n": 1, "t": 0, "kind": kind, "client": "x", "broker": 1, "api": api, "correlation": 0, "body": body}
    return json.dumps(line | more)


def topic(**more: Any) -> dict[str, Any]:
    partition = {"partition_index": 0, "leader_id": 1, "leader_epoch": 0, "isr_nodes": [1], "replica_nodes": [1]}
    return {"topics": [{"name": "t", "topic_id": "id", "partitions": [partition | more]}]}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"n":1,', "2: not JSON: Expecting property name enclosed in double quotes at column 8; "),
        ('{"a":1}', '2: "kind" is missing; '),
        ('{"kind":"produce","n":1,"t":0}', "2: unknown kind 'produce'; a recording of the wire has: request, response"),
        ('{"kind":"fault","n":1,"t":0}', '2: "what" is missing; '),
        ('{"kind":"fault","n":"1","t":0}', '2: "n" is a text; it has to be a whole number'),
        ('{"kind":"fault","n":1,"t":"0"}', '2: "t" has to be the seconds since the start; '),
        ('{"kind":"fault","n":0,"t":0,"what":"x"}', "2: n is 0 after 0; put the lines in the order of n"),
        ('{"kind":"fault","n":1,"t":0,"what":"wipe","broker":1}', "2: unknown fault 'wipe' of broker 1; there are: "),
        ('{"kind":"fault","n":1,"t":0,"what":"client_read","records":[1]}', '2: "records" has to be a list of '),
        (message("Fetch", 1), '2: "body" has to be an object; '),
        (message("Fetch", {}, broker=None), '2: "broker" has to be the number of a broker, or name a controller; '),
        (message("Fetch", {}, broker=-1), '2: "broker" has to be the number of a broker, or name a controller; '),
        (message("Fetch", {}, correlation=True), '2: "correlation" is true or false; it has to be a whole number'),
        (message("Metadata", {"topics": 1}), '2: "topics" has to be a list of objects; '),
        (message("Metadata", topic(replica_nodes=["1"])), '2: "replica_nodes" has to be a list of numbers; '),
        (message("Metadata", topic(isr_nodes=[1.5])), '2: "isr_nodes" has to be a list of numbers; '),
        (message("Produce", {"acks": 5, "topic_data": []}, kind="request"), "2: acks is 5; it has to be -1, 0 or 1"),
        ('{"kind":"fault","n":1,"t":-2,"what":"x"}', "2: t is -2 after 0: the lines are out of order, or of"),
    ],
)
def test_a_defect_is_one_line(tmp_path: Path, conform: Any, line: str, complaint: str) -> None:
    path = tmp_path / "wire.ndjson"
    path.write_text(f"{FIRST}\n{line}\n" + message("Metadata", topic(), n=2) + "\n")
    for words in (f"convert {tmp_path} -o out.ndjson", f"follow {tmp_path}"):
        code, _, complained = conform(words)
        assert code == 2
        assert complained.startswith(f"conform: {path}:{complaint}")
        assert complained.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["wire.ndjson"]


def written_to(tmp_path: Path, *partitions: tuple[str, int]) -> Path:
    """A recording with Metadata of two partitions of each of the topics t and u, and requests to write to some."""
    one = topic()["topics"][0]
    parts = [one["partitions"][0] | {"partition_index": index} for index in (0, 1)]
    topics = [one | {"name": name, "topic_id": name, "partitions": parts} for name in ("t", "u")]
    lines = [FIRST, message("Metadata", {"topics": topics})]
    for n, (name, index) in enumerate(partitions, 2):
        lines.append(json.dumps(produce(n, f"{name}{index}", index, name=name)))
    path = tmp_path / "wire.ndjson"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_partition_is_the_only_one_that_is_written_to(tmp_path: Path) -> None:
    found = [said for _, said in observations_of(written_to(tmp_path, ("u", 1)))]
    assert [said.get("value") for said in found if said["kind"] == "fault"] == ["u1"]
    for partitions, complaint in (
        ((), "4 partitions occur (t-0, t-1, u-0, u-1); a recording has to be about one partition: leave the messages"),
        ((("t", 0), ("u", 1)), "2 partitions are written to (t-0, u-1); a recording has to be about one partition: "),
    ):
        path = written_to(tmp_path, *partitions)
        with pytest.raises(UsageError) as caught:
            list(observations_of(path))
        assert str(caught.value).startswith(f"{path}: {complaint}")


def acknowledged(tmp_path: Path, *records: tuple[str, int]) -> Path:
    """A recording in which each of these records is sent, and acknowledged at this offset."""
    path = tmp_path / "wire.ndjson"
    lines = [FIRST, message("Metadata", topic())]
    for n, (value, offset) in enumerate(records, 1):
        lines.append(json.dumps(produce(2 * n, value, name="t")))
        answer = [{"name": "t", "partition_responses": [{"index": 0, "error_code": "none", "base_offset": offset}]}]
        lines.append(message("Produce", {"responses": answer}, n=2 * n + 1, client="p", correlation=2 * n))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_records_with_the_same_value_are_acknowledged_each_at_its_offset(tmp_path: Path) -> None:
    found = [said for _, said in observations_of(acknowledged(tmp_path, ("x", 0), ("x", 0), ("x", 1)))]
    assert [said["offset"] for said in found if said["kind"] == "acked"] == [0, 1]


def test_a_folder_without_segments_is_refused(tmp_path: Path) -> None:
    path = acknowledged(tmp_path)
    (tmp_path / "broker1" / "t-0").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"broker1/t-0: no segment \(\*\.log\) in it; copy the folder again"):
        list(observations_of(path))


@pytest.mark.sampled
def test_a_recording_may_begin_later_than_its_partition(tmp_path: Path) -> None:
    """Every offset is five higher, also on the disks: what a follower fetches first is the beginning."""
    raised = {"fetch_offset", "high_watermark", "base_offset", "offset"}

    def up(said: dict[str, Any]) -> dict[str, Any]:
        return {
            key: value + 5 if key in raised and isinstance(value, int) and value >= 0 else value
            for key, value in said.items()
        }

    path = tmp_path / "wire.ndjson"
    lines = [json.loads(line, object_hook=up) for line in LINES]
    path.write_text("".join(json.dumps(said) + "\n" for said in lines if said.get("what") != "client_read"))
    found = [said for _, said in observations_of(path)]
    assert found[0]["first_offset"] == 5
    disk = next(said for said in found if said["kind"] == "disk")
    assert disk["log"] == [[5, "m0"]]
    outcome = follow_recording(path, "3.7", {}, objects=observations_of(path))
    assert isinstance(outcome, Explained)
    assert outcome.recording.header.first_offset == 5
    assert outcome.trace.length == STEPS_OF_STEADY


def test_a_recording_without_the_topic_of_a_client_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wire.ndjson"
    path.write_text(FIRST + "\n")
    with pytest.raises(UsageError, match="no message names a partition of a topic of clients; record Metadata, "):
        list(observations_of(path))


def test_absurd_sizes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = STEADY / "wire.ndjson"
    for module, name, complaint in (
        (messages, "MOST_LINES", r":11: more than 10 lines; give a shorter recording"),
        (convert, "MOST_OBSERVATIONS", r":30: too many observations up to here; give a shorter recording"),
        (convert, "MOST_RECORDS", r":41: too many observations up to here; give a shorter recording"),
        (disks, "MOST_BYTES", r"00000000\.log: larger than 0 MiB; give a shorter recording"),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(module, name, 10)
            with pytest.raises(UsageError, match=complaint):
                list(observations_of(path))


SEGMENT = "t-0/00000000000000000000.log"


@pytest.mark.parametrize(
    ("name", "at", "data", "complaint"),
    [
        (SEGMENT, 16, b"\x01", "00.log: no record batch of format 2 is at byte 0; "),
        (SEGMENT, 22, b"\x01", "the batch at byte 0 is compressed: gzip, and damaged; "),
        (SEGMENT, 22, b"\x04", "the batch at byte 0 is compressed: zstd; record with gzip, lz4 or none"),
        (SEGMENT, 57, b"\x00\x00\x00\x09", "00.log: no record batch of format 2 is at byte 0; "),
        (SEGMENT, 61, b"\xff", "00.log: a record of the batch at byte 0 is damaged; "),
        (SEGMENT, 7, b"\x01", "t-0: the record at position 0 has offset 1; only logs that begin"),
        ("replication-offset-checkpoint", 4, b"t 0 x", "checkpoint: byte 4: 'x"),
    ],
)
def test_a_damaged_disk_is_named(tmp_path: Path, name: str, at: int, data: bytes, complaint: str) -> None:
    shutil.copytree(STEADY, tmp_path / "steady")
    path = tmp_path / "steady" / "broker2" / name
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        list(observations_of(tmp_path / "steady" / "wire.ndjson"))
    assert complaint in str(caught.value)


def test_a_compressed_segment_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "broker1" / "t-0"
    folder.mkdir(parents=True)
    (folder / "0.log").write_bytes(batch(0, ["a", None], attributes=GZIP) + batch(2, ["b"], epoch=1))
    assert next(disks.disks_in(tmp_path, "t")).log == (("a", 0), ("(null)", 0), ("b", 1))


def test_records_that_were_not_decoded_are_refused(tmp_path: Path) -> None:
    path = acknowledged(tmp_path, ("x", 0))
    text = path.read_text()
    path.write_text(text.replace('"control": false', '"control": false, "undecoded": "compressed: zstd"'))
    with pytest.raises(UsageError) as caught:
        list(observations_of(path))
    assert str(caught.value) == (
        f"{path}:3: the records of a batch are not decoded (compressed: zstd);"
        " record again with compression.type=gzip, lz4 or none"
    )


def test_every_cut_of_a_segment_is_read_or_refused(tmp_path: Path) -> None:
    """A batch that is cut is not in the log: the broker was killed while it wrote."""
    folder = tmp_path / "broker1" / "t-0"
    folder.mkdir(parents=True)
    data = (STEADY / "broker1" / "t-0" / "00000000000000000000.log").read_bytes()
    lengths = []
    for end in range(0, len(data) + 1, 7):
        (folder / "0.log").write_bytes(data[:end])
        lengths.append(len(next(disks.disks_in(tmp_path, "t")).log))
    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[-1]) == (0, 11)


# ------------------------------- observations.ndjson beside a recording: what it adds, and what contradicts the traffic


STALE = RECORDINGS / "wire" / "stale_record"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(STALE, tmp_path / "stale"))


def change(folder: Path, number: int, **keys: Any) -> None:
    path = folder / "observations.ndjson"
    lines = path.read_text().splitlines()
    lines[number - 1] = json.dumps(json.loads(lines[number - 1]) | keys)
    path.write_text("\n".join(lines) + "\n")


def test_only_what_the_traffic_does_not_show_is_added() -> None:
    """Its faults, acknowledgements, reads and metadata are in the traffic, and a shutdown ends what is followed."""
    added = [(number, said["kind"]) for number, said in observations_of(STALE / "wire.ndjson") if "from" in said]
    disks = [*range(10, 13), *range(34, 37), *range(47, 50), *range(54, 57)]
    assert added == [*((number, "disk") for number in disks), *((640, "disk") for _ in range(3))]


@pytest.mark.exhaustive
def test_a_folder_of_both_is_one_recording(folder: Path, conform: Any) -> None:
    code, said, _ = conform("follow", folder, "--protocol", "3.7")
    assert code == VIOLATED
    flat = " ".join(said.split())
    assert f"EXPLAINED: {folder}/wire.ndjson is a behaviour of 3.7, in 58 steps" in flat
    assert "observations.ndjson:36: broker 3 has m0 m1 m2 on disk, checkpointed high watermark 3" in flat
    assert "broker2/: broker 2 has m0 m1 m2 after on disk, checkpointed high watermark 4" in flat
    assert (
        "record PRECIOUS was acknowledged (line 331), and is no longer in the log (observations.ndjson:48):"
        " acked_not_lost is violated at step 36; before that: stop (controlled shutdown) broker 1 (line 338);"
        " not permitted: acks=all promises it"
    ) in flat


@pytest.mark.parametrize(
    ("number", "keys", "complaint"),
    [
        (33, {"offset": 2}, "33: PRECIOUS is acknowledged at offset 2, but at 3 in wire.ndjson; correct one of them"),
        (53, {"records": [[0, "x"]]}, "53: line 640 of wire.ndjson says that the consumer reads other records; "),
        (10, {"kind": "disc"}, '10: unknown kind "disc"; there are: header, '),
        (10, {"t": "now"}, '10: "t" has to be the seconds since the start; give it'),
        (10, {"t": None}, '10: "t" has to be the seconds since the start; give it'),
        (10, {"log": [[0, "a"], [2, "b"]]}, "10: log has offset 2 at position 1; offsets have to be 0, 1, 2, ..."),
    ],
)
def test_a_contradiction_is_one_line(folder: Path, number: int, keys: dict[str, Any], complaint: str) -> None:
    change(folder, number, **keys)
    with pytest.raises(UsageError) as caught:
        list(observations_of(folder / "wire.ndjson"))
    assert str(caught.value).startswith(f"{folder}/observations.ndjson:{complaint}")


def test_a_disk_that_may_be_older_than_its_line_is_left_out(folder: Path) -> None:
    """Broker 2 fetches behind PRECIOUS at 14.7068 s; a disk that is noted 5 ms later may have been read before that."""
    change(folder, 35, t=14.7118, log=[[0, "m0"], [1, "m1"], [2, "m2"]], batch_epochs=[0, 0, 0])
    change(folder, 34, t=14.7117)
    change(folder, 33, t=14.7116)
    change(folder, 32, t=14.7115)
    shown = {number: said for number, said in observations_of(folder / "wire.ndjson") if "from" in said}
    assert shown[35]["what"] == "the disk of broker 2 may have been read before its last fetch"
    assert shown[34]["kind"] == "disk"
