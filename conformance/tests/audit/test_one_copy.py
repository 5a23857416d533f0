"""A copy held against its own checkpoints, leader epochs and producer snapshots: each check, and its limits."""

from __future__ import annotations

import shutil

import pytest

from conformance.tests.audit.building import (
    CONTROL,
    TRANSACTIONAL,
    batch,
    batches,
    broker,
    snapshot,
)
from conformance.tests.audit.running import audit, lines_of
from isrcheck.commands.exit_codes import DONE, UNDECIDED, USAGE, VIOLATED

ALONE = "note: t-0: only broker1 has a copy: there is nothing to compare it with"


def findings(capsys, folder):
    """The exit code, and the findings about a single broker but that it is alone."""
    told = audit(capsys, folder)
    assert told.errors == ""
    return told.code, [line.partition(": t-0: ")[2] for line in told.findings if line != ALONE]


def test_a_copy_that_agrees_with_itself(capsys, tmp_path):
    log = batches(0, 0, 2, 2)
    folder = broker(tmp_path / "broker1", log, high_watermark=4, recovery_point=4, epochs=[(0, 0), (1, 2), (2, 2)])
    assert findings(capsys, folder) == (DONE, [])


@pytest.mark.parametrize(
    ("values", "statement"),
    [
        (
            {"high_watermark": 5},
            "the high watermark 5 of broker1 (replication-offset-checkpoint) is beyond its log end offset 3: broker1"
            " has lost what was committed below 5",
        ),
        (
            {"recovery_point": 4},
            "the recovery point 4 of broker1 (recovery-point-offset-checkpoint) is beyond its log end offset 3: broker1"
            " has lost what was on its disk below 4",
        ),
        (
            {"log_start": 4, "high_watermark": 4},
            "the log start offset 4 of broker1 (log-start-offset-checkpoint) is beyond its log end offset 3: broker1"
            " has lost what was there below 4",
        ),
    ],
)
def test_a_checkpoint_beyond_the_log_end(capsys, tmp_path, values, statement):
    code, found = findings(capsys, broker(tmp_path / "broker1", batches(0, 0, 0), **values))
    assert (code, statement in found) == (VIOLATED, True)


def test_a_high_watermark_below_the_log_start_may_lag(capsys, tmp_path):
    folder = broker(tmp_path / "broker1", batches(0, 0, 0), log_start=2, high_watermark=1)
    assert findings(capsys, folder) == (
        DONE,
        ["the high watermark 1 of broker1 is below its log start offset 2: the checkpoint lags, and Kafka raises it"],
    )


@pytest.mark.parametrize(
    ("values", "statement"),
    [
        (
            {"high_watermark": None},
            "broker1 has no entry in replication-offset-checkpoint: which of its records are committed is not known",
        ),
        (
            {"epochs": None},
            "broker1 has no readable leader-epoch-checkpoint: the leader epochs of its batches are not checked",
        ),
    ],
)
def test_what_is_absent_is_not_decided(capsys, tmp_path, values, statement):
    assert findings(capsys, broker(tmp_path / "broker1", batches(0, 0), **values)) == (UNDECIDED, [statement])


@pytest.mark.parametrize(
    ("epochs", "statement"),
    [
        (
            [(0, 0), (1, 1)],
            "offset 1 of broker1 is of epoch 0, and the leader-epoch-checkpoint of broker1 begins epoch 1 at offset 1",
        ),
        (
            [(0, 0), (1, 3)],
            "offset 2 of broker1 is of epoch 1, and the leader-epoch-checkpoint of broker1 begins epoch 0 at offset 0",
        ),
        (
            [(0, 0)],
            "offset 2 of broker1 is of epoch 1, and the leader-epoch-checkpoint of broker1 begins epoch 0 at offset 0",
        ),
        ([], "offset 0 of broker1 is of epoch 0, and the leader-epoch-checkpoint of broker1 has no entry for it"),
        (
            [(0, 0), (1, 2), (3, 5)],
            "the leader-epoch-checkpoint of broker1 begins epoch 3 at offset 5, beyond the log end offset 4",
        ),
        (
            [(1, 2), (0, 0)],
            "the leader-epoch-checkpoint of broker1 goes back, from epoch 1 at offset 2 to epoch 0 at offset 0",
        ),
        (
            [(1, 0), (0, 2)],
            "the leader-epoch-checkpoint of broker1 goes back, from epoch 1 at offset 0 to epoch 0 at offset 2",
        ),
        (
            [(0, 2), (1, 0)],
            "the leader-epoch-checkpoint of broker1 goes back, from epoch 0 at offset 2 to epoch 1 at offset 0",
        ),
    ],
)
def test_leader_epochs_that_disagree_with_the_log(capsys, tmp_path, epochs, statement):
    assert findings(capsys, broker(tmp_path / "broker1", batches(0, 0, 1, 1), epochs=epochs)) == (VIOLATED, [statement])


@pytest.mark.parametrize("name", ["recovery-point", "cleaner", "log-start"])
@pytest.mark.parametrize("content", ["", "0\n", "0\n0\n"])
def test_a_checkpoint_that_kafka_has_created_and_not_written_has_no_entries(capsys, tmp_path, name, content):
    """CheckpointFile creates the file, and reads one without the number of its entries as an empty one."""
    folder = broker(tmp_path / "broker1", batches(0, 0))
    (folder / f"{name}-offset-checkpoint").write_text(content)
    told = audit(capsys, folder)
    assert (told.code, told.errors) == (DONE, "")


def test_what_else_a_log_folder_holds_is_no_partition(capsys, tmp_path):
    """As a broker leaves its folder after a clean shutdown: one partition is being deleted, and two move."""
    folder = broker(tmp_path / "broker1", batches(0, 0))
    for name in (".kafka_cleanshutdown", ".lock", "meta.properties", "bootstrap.checkpoint"):
        (folder / name).write_text("")
    for name in ("delete", "future", "stray"):
        shutil.copytree(folder / "t-0", folder / f"u-0.{'0' * 32}-{name}")
    told = audit(capsys, folder)
    assert (told.code, told.errors) == (DONE, "")
    assert "broker1: 3 folders of partitions that are being deleted or moved: not read" in told.out
    assert "read: 1 partition, 1 copy" in told.out


def test_leader_epochs_that_begin_above_the_log_start(capsys, tmp_path):
    """DeleteRecords has moved the log start, and kill -9 came before its checkpoint."""
    statement = (
        "the leader-epoch-checkpoint of broker1 begins at offset 1, above the log start offset 0: the checkpoint of the"
        " log start offset lags"
    )
    log = batches(0, 0, 1)
    assert findings(capsys, broker(tmp_path / "broker1", log, epochs=[(0, 1), (1, 2)])) == (DONE, [statement])
    code, found = findings(capsys, broker(tmp_path / "whole_epoch" / "broker1", log, epochs=[(1, 2)]))
    assert (code, found) == (DONE, [statement.replace("offset 1", "offset 2")])
    code, found = findings(capsys, broker(tmp_path / "wrong" / "broker1", log, epochs=[(1, 1)]))
    assert (code, len(found)) == (VIOLATED, 2)


def test_leader_epochs_below_the_log_start_are_gone(capsys, tmp_path):
    log = batches(0, 1, 2, 2)
    folder = broker(tmp_path / "broker1", log, log_start=2, high_watermark=4, epochs=[(2, 2)])
    assert findings(capsys, folder) == (DONE, [])


def test_an_empty_log_needs_no_checkpoints(capsys, tmp_path):
    assert findings(capsys, broker(tmp_path / "broker1", [], high_watermark=None, epochs=None)) == (DONE, [])


def test_the_high_watermark_of_the_metadata_log_is_not_on_disk(capsys, tmp_path):
    folder = broker(tmp_path / "broker1", batches(0), name="__cluster_metadata-0", high_watermark=None)
    told = audit(capsys, folder)
    assert "note: __cluster_metadata-0: broker1 has no entry in replication-offset-checkpoint: which of its" in told.out
    assert told.code == DONE


def test_leader_epochs_without_records_are_right(capsys, tmp_path):
    epochs = [(0, 0), (1, 2), (4, 4)]
    assert findings(capsys, broker(tmp_path / "broker1", batches(0, 0, 1, 1), epochs=epochs)) == (DONE, [])


def test_leader_epochs_of_the_log_that_go_back(capsys, tmp_path):
    code, found = findings(capsys, broker(tmp_path / "broker1", batches(0, 2, 1, 0), epochs=[(0, 0), (2, 1)]))
    where = tmp_path / "broker1" / "t-0" / "00000000000000000000.log"
    assert found[0] == f"broker1: leader epochs go back at offset 2, from 2 to 1 ({where}: byte 140)"
    assert (code, len([line for line in found if "go back" in line])) == (VIOLATED, 1)


# ------------------------------------------------------------------------------------------------- the end of a log


@pytest.mark.parametrize(
    ("rest", "statement"),
    [
        (b"\0\0\0", "the file has only 3 bytes of this batch, which needs at least 61"),
        (batch(2, ["lost"])[:-1], "the file has only 71 of the 72 bytes of this batch"),
        (bytes(4096), "only zeros from here to the end, 4096 bytes"),
        (batch(2, ["lost"])[:-2] + b"\0\0", "the batch says CRC b00dc861, but its bytes have "),
    ],
)
def test_a_torn_end_is_what_a_loss_of_power_leaves(capsys, tmp_path, rest, statement):
    folder = broker(tmp_path / "broker1", [*batches(0, 0), rest], high_watermark=2, recovery_point=2)
    code, (found,) = findings(capsys, folder)
    where = folder / "t-0" / "00000000000000000000.log"
    assert found.startswith(f"{where}: byte 140: {statement}")
    assert found.endswith(": the log is torn at its end, as a loss of power leaves it; Kafka cuts it at offset 2")
    assert code == DONE


def test_a_torn_end_below_the_recovery_point_is_damage(capsys, tmp_path):
    log = [*batches(0, 0), batch(2, ["lost"])[:-1]]
    folder = broker(tmp_path / "broker1", log, high_watermark=3, recovery_point=3)
    told = audit(capsys, folder)
    assert lines_of(told.errors, tmp_path) == [
        "conform: broker1/t-0/00000000000000000000.log: byte 140: the file has only 71 of the 72 bytes of this batch"
        " (at offset 2, below the recovery point); what follows is not read; copy the file again,"
        " or let this broker replicate the partition anew"
    ]
    assert told.code == USAGE
    assert "  broker1          0  at least 2               3               3           0" in told.out
    assert told.out.endswith("\nUNREADABLE: 1 file or folder in 1 partition\n")


def test_a_torn_segment_that_is_not_the_last_is_damage(capsys, tmp_path):
    segments = {0: [*batches(0, 0), b"\0" * 70], 2: batches(0, start=2)}
    told = audit(capsys, broker(tmp_path / "broker1", [], segments=segments))
    assert lines_of(told.errors, tmp_path / "broker1" / "t-0")[0].startswith(
        "conform: 00000000000000000000.log: byte 140: only zeros from here to the end, 70 bytes (at offset 2)"
    )
    assert told.code == USAGE


def test_several_segments_are_one_log(capsys, tmp_path):
    segments = {0: batches(0, 0), 2: batches(0, 1, start=2), 4: []}
    folder = broker(tmp_path / "broker1", [], segments=segments, high_watermark=4, epochs=[(0, 0), (1, 3)])
    told = audit(capsys, folder)
    assert (told.code, told.findings) == (DONE, [ALONE])
    assert "\nread: 1 partition, 1 copy, 3 segments, 4 records, 0 producer snapshots;" in told.out


@pytest.mark.parametrize(
    ("segments", "statement"),
    [
        (
            {0: [*batches(0, 0), *batches(0, start=1)]},
            "00000000000000000000.log: byte 140: the batch begins at offset 1, and offset 2 is due",
        ),
        (
            {5: batches(0, 0)},
            "00000000000000000005.log: byte 0: the batch begins at offset 0, and offset 5 is due",
        ),
        (
            {0: batches(0, 0, 0), 2: batches(0, start=3)},
            "00000000000000000002.log: it is named after offset 2, and the segment before it ends at 3",
        ),
        (
            {0: [batch(0, ["a"], magic=1)]},
            "00000000000000000000.log: byte 0: a batch of message format 1, from before Kafka 0.11",
        ),
    ],
)
def test_segments_that_are_reordered_foreign_or_old(capsys, tmp_path, segments, statement):
    told = audit(capsys, broker(tmp_path / "broker1", [], segments=segments))
    (line,) = lines_of(told.errors, tmp_path / "broker1" / "t-0")
    assert line.startswith(f"conform: {statement}")
    assert told.code == USAGE


def test_the_limit_on_bytes_leaves_the_rest_undecided(capsys, tmp_path):
    folder = broker(tmp_path / "broker1", [batch(offset, ["x" * 1000]) for offset in range(3)], high_watermark=3)
    told = audit(capsys, folder, "--most-bytes", "2K")
    where = folder / "t-0" / "00000000000000000000.log"
    assert told.findings[0] == (
        f"UNDECIDED: t-0: {where}: byte 1070: only 2048 bytes of a file are read; 2140 bytes from offset 1 on are not"
        " checked; raise --most-bytes"
    )
    assert "  broker1          0  at least 1               3               0           0" in told.out
    assert (told.code, told.errors) == (UNDECIDED, "")


# ------------------------------------------------------------------------------------------------ producer snapshots

TRANSACTION = [
    batch(0, ["a", "b"], producer=(7, 0, 0), attributes=TRANSACTIONAL),
    batch(2, ["c"], producer=(7, 0, 2), attributes=TRANSACTIONAL),
    batch(3, [None], producer=(7, 1, -1), attributes=TRANSACTIONAL | CONTROL),
    batch(4, ["d"], producer=(7, 1, 0), attributes=TRANSACTIONAL),
]
RIGHT = {
    2: snapshot((7, 0, 1, 1, 0)),
    3: snapshot((7, 0, 2, 2, 0)),
    4: snapshot((7, 1, -1, -1, -1)),
    5: snapshot((7, 1, 0, 4, 4)),
}


def test_snapshots_that_agree_with_the_log(capsys, tmp_path):
    folder = broker(tmp_path / "broker1", TRANSACTION, snapshots=RIGHT)
    told = audit(capsys, folder, "--json")
    assert (told.code, told.json["partitions"][0]["producer_snapshots"]) == (DONE, 4)


@pytest.mark.parametrize(
    ("offset", "said", "statement"),
    [
        (3, (7, 1, 2, 2, 0), "epoch 1; the log says 0"),
        (3, (7, 0, 2, 1, 0), "last offset 1; the log says 2"),
        (3, (7, 0, 3, 2, 0), "last sequence 3; the log says 2"),
        (3, (7, 0, 2, 2, -1), "first offset of the open transaction -1; the log says 0"),
        (4, (7, 1, -1, -1, 0), "first offset of the open transaction 0; the log says -1"),
        (5, (7, 1, 0, 4, 0), "first offset of the open transaction 0; the log says 4"),
    ],
)
def test_a_snapshot_that_disagrees_with_the_log(capsys, tmp_path, offset, said, statement):
    folder = broker(tmp_path / "broker1", TRANSACTION, snapshots={offset: snapshot(said)})
    assert findings(capsys, folder) == (
        VIOLATED,
        [f"{offset:020}.snapshot of broker1 says of producer 7: {statement}"],
    )


def test_a_snapshot_of_a_producer_that_the_log_lacks(capsys, tmp_path):
    folder = broker(tmp_path / "broker1", TRANSACTION, snapshots={4: snapshot((8, 0, 3, 3, -1))})
    statement = (
        "00000000000000000004.snapshot of broker1 says that producer 8 wrote offset 3,"
        " but the log has no batch of that producer"
    )
    assert findings(capsys, folder) == (VIOLATED, [statement])


def test_a_snapshot_beyond_the_log_end(capsys, tmp_path):
    folder = broker(tmp_path / "broker1", TRANSACTION, snapshots={6: snapshot()})
    statement = "broker1 has 00000000000000000006.snapshot, beyond its log end offset 5: the log was longer once"
    assert findings(capsys, folder) == (VIOLATED, [statement])


def test_what_a_snapshot_remembers_of_deleted_segments_is_not_compared(capsys, tmp_path):
    segments = {2: TRANSACTION[1:]}
    said = {3: snapshot((7, 0, 2, 2, 0), (9, 0, 5, 1, -1))}
    folder = broker(tmp_path / "broker1", [], segments=segments, snapshots=said, epochs=[(0, 2)])
    assert findings(capsys, folder)[0] == DONE


def test_sequence_numbers_wrap_around(capsys, tmp_path):
    log = [batch(0, ["a", "b", "c"], producer=(7, 0, (1 << 31) - 2))]
    folder = broker(tmp_path / "broker1", log, snapshots={3: snapshot((7, 0, 0, 2, -1))})
    assert findings(capsys, folder) == (DONE, [])
