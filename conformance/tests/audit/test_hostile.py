"""Log folders that are damaged, foreign or hostile: one clear line for each, or a finding; never a traceback."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.tests.audit.building import batch, batches, broker, crc, snapshot
from conformance.tests.audit.running import audit, lines_of
from conformance.tests.support.places import RECORDINGS
from isrcheck.commands.exit_codes import DONE, UNDECIDED, USAGE, VIOLATED
from isrcheck.conformance.audit.copies import copies_in
from isrcheck.conformance.audit.report import audit_partition
from isrcheck.conformance.kafka_format import log_folder as files

REAL = RECORDINGS / "wire" / "stale_record"
SEGMENT = f"{0:020}.log"
CODES = {DONE, UNDECIDED, USAGE, VIOLATED}


@pytest.fixture
def real(tmp_path):
    """A copy of the folders of a recording."""
    return [shutil.copytree(REAL / f"broker{number}", tmp_path / f"broker{number}") for number in (1, 2, 3)]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name",
    [
        "replication-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "t-0/leader-epoch-checkpoint",
        "t-0/00000000000000000003.snapshot",
        f"t-0/{SEGMENT}",
    ],
)
def test_a_file_cut_at_every_byte_is_told_in_one_line(capsys, real, name):
    """But for a checkpoint that is empty or has its version alone: Kafka creates such files, and reads them as files
    without entries (CheckpointFile.read)."""
    empty = {
        "replication-offset-checkpoint": UNDECIDED,  # what is committed is not known then
        "recovery-point-offset-checkpoint": DONE,
        "log-start-offset-checkpoint": DONE,
        "t-0/leader-epoch-checkpoint": VIOLATED,  # the log has an epoch that it lacks
    }
    whole = (real[0] / name).read_bytes()
    for length in range(len(whole)):
        (real[0] / name).write_bytes(whole[:length])
        told = audit(capsys, real[0])
        lines = told.errors.splitlines()
        if name.endswith(".log") and length in (0, 70, 140, 210):  # between two batches: a log that is too short
            assert (told.code, lines) == (VIOLATED, [])
        elif whole[:length].strip() in (b"", b"0") and name in empty:
            assert (told.code, lines) == (empty[name], [])
        elif name.endswith("checkpoint") and length == len(whole) - 1:  # only the last line break is missing
            assert (told.code, lines) == (DONE, [])
        else:
            assert told.code in (USAGE, VIOLATED)
            assert len(lines) == 1, length
            assert lines[0].startswith(f"conform: {real[0] / name}: "), length


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["leader-epoch-checkpoint", "00000000000000000004.snapshot", SEGMENT])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32))
def test_a_file_with_other_bytes_in_it(capsys, real, name, seed):
    """Whatever a file holds: an exit code of the command, and no line that is not its own."""
    chance = random.Random(seed)
    data = bytearray((REAL / "broker1" / "t-0" / name).read_bytes())
    for _ in range(chance.randint(1, 4)):
        first = chance.randrange(len(data) + 1)
        data[first : first + chance.choice((0, 1, 1, 8, 60))] = chance.randbytes(chance.choice((0, 1, 1, 4, 61)))
    (real[0] / "t-0" / name).write_bytes(data)
    told = audit(capsys, *real)
    assert told.code in CODES
    assert all(line.startswith("conform: ") for line in told.errors.splitlines())


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        (
            "replication-offset-checkpoint",
            "1\n0\n",
            "it does not begin with 0, the version of a checkpoint, but with '1'; copy it again",
        ),
        ("replication-offset-checkpoint", "0\n2\nt 0 4\n", "it should have 2 entries, and has 1; copy it again"),
        ("replication-offset-checkpoint", "0\n1\nt 0\n", "the line 't 0' does not have 3 words; copy it again"),
        ("replication-offset-checkpoint", "0\n1\nt 0 -4\n", "'-4' is not a number from 0 to 9223372036854775807"),
        ("replication-offset-checkpoint", "0\n1\nt 0 " + "9" * 19 + "\n", "'9999999999999999999' is not a number from"),
        ("replication-offset-checkpoint", "0\n1\nt 0 " + "9" * 900 + "\n", "'99999999999999999999999999"),
        ("replication-offset-checkpoint", "0\n2\nt 0 4\nt 0 4\n", "t-0 occurs twice; copy it again"),
        ("replication-offset-checkpoint", "0\n1\nt 0 4" + " " * 2000 + "\n", "a line of more than 1000 bytes"),
        ("replication-offset-checkpoint", "0\n1\nt\xff 0 4\n", "not text; copy it again"),
        ("t-0/leader-epoch-checkpoint", "0\n1\n0 0 0\n", "the line '0 0 0' does not have 2 words; copy it again"),
        ("t-0/partition.metadata", "\xff", "not text; copy it again"),
    ],
)
def test_a_checkpoint_that_is_none(capsys, real, name, content, line):
    (real[0] / name).write_bytes(content.encode("latin-1"))
    told = audit(capsys, *real)
    (error,) = told.errors.splitlines()
    assert error.startswith(f"conform: {real[0] / name}: byte ")
    assert line in error
    assert told.code == USAGE


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", "byte 0: it has 0 bytes, and a snapshot has at least 10; copy it again"),
        (b"\0\2" + snapshot()[2:], "byte 0: a snapshot of version 2; only version 1 can be read"),
        (snapshot()[:-1] + b"\1", "byte 2: its header says CRC 48674bc7, but its bytes have ba0cc8c4; copy it again"),
        (snapshot((1, 0, 0, 0, -1))[:-1], "byte 2: its header says CRC "),
    ],
)
def test_a_snapshot_that_is_none(capsys, tmp_path, data, line):
    told = audit(capsys, broker(tmp_path / "broker1", batches(0), snapshots={1: data}))
    (error,) = lines_of(told.errors, tmp_path / "broker1" / "t-0")
    assert error.startswith(f"conform: 00000000000000000001.snapshot: {line}")
    assert told.code == USAGE


def test_a_snapshot_of_fewer_entries_than_it_says(capsys, tmp_path):
    data = snapshot((1, 0, 0, 0, -1))
    rest = (1000).to_bytes(4, "big") + data[10:]
    told = audit(
        capsys, broker(tmp_path / "broker1", batches(0), snapshots={1: data[:2] + crc(rest).to_bytes(4, "big") + rest})
    )
    (error,) = lines_of(told.errors, tmp_path / "broker1" / "t-0")
    assert (
        error == "conform: 00000000000000000001.snapshot: byte 6: its 56 bytes do not fit 1000 entries; copy it again"
    )


# ------------------------------------------------------------------------------------- what stands where a file should


def a_folder(path):
    path.unlink()
    path.mkdir()


def a_link(path):
    path.rename(path.parent / "elsewhere")
    path.symlink_to(path.parent / "elsewhere")


def a_link_to_zeros(path):
    path.unlink()
    path.symlink_to("/dev/zero")


def a_pipe(path):
    path.unlink()
    os.mkfifo(path)


def a_circle(path):
    path.unlink()
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("put", "statement"),
    [
        (a_folder, "not a regular file; copy the log folder again"),
        (a_link, "a symbolic link; put the file itself there"),
        (a_link_to_zeros, "a symbolic link; put the file itself there"),
        (a_pipe, "not a regular file; copy the log folder again"),
        (a_circle, "a symbolic link; put the file itself there"),
    ],
)
@pytest.mark.parametrize(
    "name",
    [
        "replication-offset-checkpoint",
        "t-0/leader-epoch-checkpoint",
        "t-0/00000000000000000004.snapshot",
        f"t-0/{SEGMENT}",
    ],
)
def test_something_else_stands_where_a_file_should(capsys, real, put, statement, name):
    put(real[0] / name)
    told = audit(capsys, *real)
    assert told.errors == f"conform: {real[0] / name}: {statement}\n"
    assert told.code == USAGE


def test_a_partition_that_is_a_link(capsys, real):
    (real[0] / "t-0").rename(real[0] / "elsewhere")
    (real[0] / "t-0").symlink_to("elsewhere")
    told = audit(capsys, *real)
    assert told.errors == f"conform: {real[0]}/t-0: a symbolic link; put the folder itself there\n"
    assert told.code == USAGE


def test_a_link_to_a_log_folder_is_followed_for_its_owner_gave_it(capsys, real, tmp_path):
    (tmp_path / "link").symlink_to(real[0])
    assert audit(capsys, tmp_path / "link", *real[1:]).code == DONE
    (tmp_path / "circle").symlink_to("circle")
    told = audit(capsys, tmp_path / "circle", *real[1:])
    assert (told.code, len(told.errors.splitlines())) == (USAGE, 1)
    assert told.errors.startswith(f"conform: {tmp_path}/circle: Too many levels of symbolic links")


def test_names_that_are_not_utf_8(capsys, real):
    raw = os.fsencode(real[0])
    for name in (b"/\xff-0", b"/caf\xc3\xa9-0", b"/t-0/\xff.log"):
        Path(os.fsdecode(raw + name)).mkdir()
    assert audit(capsys, *real).code == DONE
    renamed = real[0].rename(os.fsdecode(raw + b"\xff\n\x1b"))
    told = audit(capsys, renamed, *real[1:])
    assert told.code == DONE
    assert r"  broker1\udcff\n\x1b" in told.out
    told = audit(capsys, renamed, *real[1:], "--json")
    assert told.json["brokers"][0] == "broker1\udcff\n\x1b"


def test_values_cannot_write_to_the_terminal(capsys, tmp_path):
    for number, value in enumerate(["\x1b[2J", "\u202eb"], 1):
        broker(tmp_path / f"broker{number}", [batch(0, [value])], high_watermark=1)
    told = audit(capsys, tmp_path / "broker1", tmp_path / "broker2")
    assert r": \x1b[2J against \u202eb: " in told.out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nowhere"], "nowhere: No such file or directory; give the log folder of a broker"),
        (["broker1", "broker1"], "broker1 is given twice; give each broker's folder once"),
        (["broker1", "broker1/t-0"], "broker1/t-0 is given twice; give each broker's folder once"),
        (["broker1", "link"], "broker1 is given twice; give each broker's folder once"),
        (
            ["empty"],
            "empty: no folder of a partition (TOPIC-N) in it; give the log folder of a broker (log.dirs), or the",
        ),
        (["file"], "file: Not a directory; give the log folder of a broker"),
        (["nul\0"], "nul\\x00: embedded null byte; give another path"),
        (["broker1", "--partition", "t-1"], "--partition t-1: no log folder has this partition; name it as TOPIC-N"),
        (["broker1", "--isr", "broker9"], "--isr broker9: 'broker9' is no broker; the brokers are: broker1"),
        (["broker1", "--isr", "u-0=broker1"], "u-0=broker1: no log folder has the partition u-0"),
        (["broker1", "--acked", "nowhere"], "nowhere: No such file or directory; copy the log folder again"),
        (["broker1", "--most-bytes", "much"], "--most-bytes much: not a number of bytes; write it as 512M or 2G"),
        (["broker1", "--most-bytes", "0"], "--most-bytes 0: not a number of bytes; write it as 512M or 2G"),
        ([], "the following arguments are required: DIR; see conform audit --help"),
    ],
)
def test_words_that_make_no_sense(capsys, tmp_path, monkeypatch, words, line):
    monkeypatch.chdir(tmp_path)
    broker(tmp_path / "broker1", batches(0), high_watermark=1)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("broker1")
    told = audit(capsys, *words)
    assert (told.code, told.out) == (USAGE, "")
    assert told.errors.startswith(f"conform: {line}")
    assert len(told.errors.splitlines()) == 1


def test_a_folder_without_a_segment(capsys, real):
    (real[0] / "t-0" / SEGMENT).unlink()
    told = audit(capsys, *real)
    assert told.errors == f"conform: {real[0]}/t-0: no segment (*.log) in it; copy the folder again\n"
    assert (told.code, "note: t-0: broker1 has no copy" in told.out) == (USAGE, True)


def test_an_offset_that_no_log_can_have(capsys, real):
    (real[0] / "t-0" / f"{'9' * 20}.log").write_bytes(b"")
    told = audit(capsys, *real)
    assert told.errors.endswith(
        f"/{'9' * 20}.log: its name is no offset below 9223372036854775808; copy the folder again\n"
    )


def test_folders_and_files_are_bounded(capsys, real, monkeypatch):
    monkeypatch.setattr(files, "MOST_ENTRIES", 5)
    for number in range(3):
        (real[0] / "t-0" / f"more{number}").write_bytes(b"")
    assert audit(capsys, *real).errors.splitlines()[0] == (
        f"conform: {real[0]}/t-0: it has more than 5 entries; give a folder with fewer"
    )
    monkeypatch.undo()
    monkeypatch.setattr(files, "MOST_BYTES_OF_A_SMALL_FILE", 20)
    (real[0] / "replication-offset-checkpoint").write_text("0\n1\nt 0 4\n" + " " * 11)
    told = audit(capsys, *real)
    assert lines_of(told.errors, real[0])[0] == (
        "conform: replication-offset-checkpoint: larger than 20 bytes, too large for a checkpoint or snapshot;"
        " copy it again"
    )


def test_nothing_is_written(capsys, real):
    before = {path: path.read_bytes() for folder in real for path in folder.rglob("*") if path.is_file()}
    audit(capsys, *real, "--acked", REAL / "acked.txt", "--json")
    assert {path: path.read_bytes() for folder in real for path in folder.rglob("*") if path.is_file()} == before


# ------------------------------------------------------------------------------------------------------ two witnesses


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_random_logs_are_compared_as_by_plain_lists(tmp_path_factory, data):
    """Logs of random batches: the audit finds the first differing offset that two lists of records have."""
    draw = data.draw
    common = draw(st.lists(st.integers(1, 3), max_size=5))
    lists, folder = [], tmp_path_factory.mktemp("brokers")
    for number in (1, 2):
        log, records, offset = [], [], 0
        for size in [*common, *draw(st.lists(st.integers(1, 3), max_size=3))]:
            values = [f"v{offset + each}" for each in range(size)]
            if draw(st.integers(0, 5)) == 0:
                values[draw(st.integers(0, size - 1))] = f"other{number}"
            log.append(batch(offset, values))
            records += values
            offset += size
        lists.append(records)
        broker(folder / f"broker{number}", log, high_watermark=0)
    found = copies_in([folder / "broker1", folder / "broker2"])
    report = audit_partition("t-0", found.copies["t-0"], found.brokers, 1 << 20)
    told = {
        offset
        for finding in report.findings
        if finding.check == "matching" and finding.first is not None and finding.last is not None
        for offset in range(finding.first, finding.last + 1)
    }
    both = min(map(len, lists))
    assert told == {offset for offset in range(both) if lists[0][offset] != lists[1][offset]}


def test_the_object_has_the_documented_keys(capsys, real):
    told = json.loads(audit(capsys, *real, "--acked", REAL / "acked.txt", "--json").out)
    assert list(told) == ["brokers", "partitions", "unreadable", "remarks", "verdict"]
    (partition,) = told["partitions"]
    assert partition["copies"][2] == {
        "broker": "broker3",
        "log_start_offset": 0,
        "log_end_offset": 4,
        "is_whole": True,
        "high_watermark": 4,
        "recovery_point": 4,
        "last_epoch": 1,
        "leader_epochs": [[0, 0], [1, 3]],
        "batches": 4,
        "records": 4,
        "compressed_batches": {},
        "torn": None,
    }
    assert partition["findings"][0]["grade"] == "BROKEN"
    assert (partition["producer_snapshots"], partition["acknowledged"]) == (5, {"asked": 5, "on_every_copy": 4})
    assert told["verdict"] == "BROKEN"
