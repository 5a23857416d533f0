"""Files of a metadata log as they are found on disks: segments, copies, damage; and other files."""

from __future__ import annotations

import json

import pytest

from conformance.tests.metadata_log.building import (
    METADATA_TOPIC,
    REAL,
    SEGMENT,
    batches,
    change,
    folder,
    metadata,
    partition,
    real,
    records,
    topic,
)
from conformance.tests.metadata_log.test_history import UNCLEAN
from isrcheck.commands.exit_codes import DONE, NOTHING, USAGE

RECORDS = records(topic("t"), partition("t", 0, 1, 2), *(change("t", 0, leader=one) for one in (2, 1, 2, 1)))
WORDS = "give the folder __cluster_metadata-0 (metadata.log.dir), or the folder of server.log"


@pytest.fixture(scope="module")
def unclean():
    return real("unclean")


def test_a_folder_its_parent_and_a_segment_tell_the_same(capsys, tmp_path, unclean):
    place = folder(tmp_path, unclean)
    for path in (tmp_path, place, place / SEGMENT):
        told = metadata(capsys, path, "--topic", "t", "--json")
        assert (told.code, told.errors, told.states) == (DONE, "", UNCLEAN)
    first, *_ = told.json["partitions"][0]["states"]
    assert (first["time"], first["source"]) == ("2026-09-21 14:13:20.007", str(place / SEGMENT))


def test_a_log_in_several_segments(capsys, tmp_path, unclean):
    place = folder(tmp_path, unclean[:100])
    (place / f"{100:020}.log").write_bytes(b"".join(batches(unclean[100:])))
    (place / "leader-epoch-checkpoint").write_text("0\n0\n")
    assert metadata(capsys, place, "--topic", "t", "--json").states == UNCLEAN


def test_a_segment_is_read_up_to_the_damage(capsys, tmp_path, unclean):
    place = folder(tmp_path, unclean)
    path = place / SEGMENT
    data = bytearray(path.read_bytes())
    at = sum(map(len, batches([one for one in unclean if one.offset < 140])))
    data[at + 70] ^= 1
    path.write_bytes(data)
    told = metadata(capsys, place, "--topic", "t", "--json")
    assert (told.code, told.json["verdict"], told.states) == (USAGE, "UNREADABLE", UNCLEAN[:5])
    assert told.errors.startswith(f"conform: {path}: byte {at}: the batch says CRC ")
    assert told.json["unreadable"] == [told.errors.removeprefix("conform: ").rstrip("\n")]


def test_what_one_copy_lacks_another_has(capsys, tmp_path, unclean):
    torn, whole = folder(tmp_path / "torn", unclean), folder(tmp_path / "whole", unclean)
    path = torn / SEGMENT
    path.write_bytes(path.read_bytes()[:3000])
    told = metadata(capsys, torn, whole, "--topic", "t", "--json")
    assert (told.code, told.states, told.json["contradictions"]) == (USAGE, UNCLEAN, [])
    assert "of the" in told.errors
    assert told.errors.count("\n") == 1


def test_a_record_that_cannot_be_read_is_left_out(capsys, tmp_path):
    kept = [one._replace(value=b"\1\5\x63") if one.offset == 3 else one for one in RECORDS]
    place = folder(tmp_path, kept)
    told = metadata(capsys, place, "--json")
    defect = "the record at offset 3: PartitionChangeRecord of version 99; the versions 0 to 2 are known"
    assert (told.code, told.errors) == (USAGE, f"conform: {place / SEGMENT}: byte 0: {defect}\n")
    assert [state[:3] for state in told.states] == [(1, 1, 0), (2, 2, 1), (4, 2, None), (5, 1, None)]


def test_the_segment_of_another_topic_is_no_metadata_log(capsys):
    path = REAL / "unclean" / "broker2" / "t-0" / SEGMENT
    told = metadata(capsys, path)
    first, *others = told.errors.splitlines()
    defect = "the record at offset 0: not a record of the metadata log: its frame version is 109, not 1"
    assert (told.code, first, len(others)) == (USAGE, f"conform: {path}: byte 0: {defect}", 4)


def test_many_records_that_cannot_be_read_are_counted(capsys, tmp_path):
    place = folder(tmp_path, records(*[b"m0"] * 1007))
    told = metadata(capsys, place)
    *_, last = told.errors.splitlines()
    assert (told.code, last) == (USAGE, f"conform: {place / SEGMENT}: 1,002 more records that cannot be read")


def test_a_file_cut_at_any_byte_is_told_in_one_line(capsys, tmp_path):
    place = folder(tmp_path, RECORDS)
    path = place / SEGMENT
    data = path.read_bytes()
    for end in range(1, len(data), 7):
        path.write_bytes(data[:end])
        told = metadata(capsys, place)
        assert (told.code, told.errors.count("\n")) == (USAGE, 1)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda path: path.mkdir(), f"no metadata log in it; {WORDS}"),
        (lambda path: None, "No such file or directory; copy the log folder again"),
        (lambda path: path.symlink_to("/dev/zero"), "a symbolic link; put the file itself there"),
    ],
)
def test_a_path_with_nothing_to_read(capsys, tmp_path, make, error):
    path = tmp_path / "given"
    make(path)
    told = metadata(capsys, path)
    assert (told.code, told.out, told.errors) == (USAGE, "", f"conform: {path}: {error}\n")


def test_a_snapshot_has_to_have_its_name(capsys, tmp_path):
    path = tmp_path / "latest.checkpoint"
    path.write_bytes(b"".join(batches(RECORDS)))
    told = metadata(capsys, path)
    wish = "a snapshot is named OFFSET-EPOCH.checkpoint, with 20 and 10 digits; give it its name"
    assert (told.code, told.errors) == (USAGE, f"conform: {path}: {wish}\n")


def test_a_file_that_is_neither_text_nor_a_log(capsys, tmp_path):
    path = tmp_path / "core"
    path.write_bytes(b"ELF\0\1\2")
    told = metadata(capsys, path)
    wish = "neither text nor a file of a metadata log; give the right file"
    assert (told.code, told.errors) == (USAGE, f"conform: {path}:1: {wish}\n")


@pytest.mark.parametrize(
    "records",
    [7, [7], [{"leader_epoch": 1, "control": False, "records": [{}]}], [{"control": False, "records": [{"value": 7}]}]],
)
def test_a_damaged_recording_of_the_wire(capsys, tmp_path, records):
    path = tmp_path / "wire.ndjson"
    fetched = [{"topic_id": METADATA_TOPIC, "partitions": [{"records": records}]}]
    path.write_text(json.dumps({"kind": "response", "api": "Fetch", "body": {"responses": fetched}}) + "\n")
    told = metadata(capsys, path)
    assert (told.code, told.errors.count("\n")) == (USAGE, 1)
    assert told.errors.startswith(f"conform: {path}:1: not records of the metadata log: ")


def test_an_empty_segment_has_no_state(capsys, tmp_path):
    place = folder(tmp_path, RECORDS)
    (place / SEGMENT).write_bytes(b"")
    told = metadata(capsys, place)
    assert (told.code, told.out.splitlines()[-1]) == (NOTHING, "NOTHING: the files have no state of a partition")
