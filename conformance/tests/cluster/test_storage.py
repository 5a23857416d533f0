"""The disk after a crash, a power loss and a disk loss, in memory and in files; full disks and damaged files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from isrcheck.conformance.cluster.acts import append, bounce, fetch, learn, payloads, reconcile, restart, view_of
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import Settings, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.log.epoch_cache import EpochEntry
from isrcheck.conformance.cluster.log.storage import StorageError
from isrcheck.conformance.cluster.network.records import Control, ProducerStamp
from isrcheck.conformance.cluster.observe import ProducerStateView
from isrcheck.conformance.cluster.scheduler import Chances, Scheduler

SETTINGS = Settings(min_insync_replicas=1, replica_fetch_backoff_ms=0, segment_records=2)
PAIR = Start(replicas=2)
FULL = Path("/dev/full")


@pytest.fixture(params=["memory", "files"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    return Cluster("2.1", PAIR, SETTINGS, directory=tmp_path / "disks" if request.param == "files" else None)


def three_of_which_two_are_flushed(cluster: Cluster) -> None:
    for payload in "ab":
        append(cluster, payload, leader=0)
    cluster.fire(0, TimerKind.LOG_FLUSH)
    cluster.fire(0, TimerKind.HIGH_WATERMARK_CHECKPOINT)
    append(cluster, "c", leader=0)


@pytest.mark.parametrize(
    ("end", "left"),
    [(Cluster.crash, ("a", "b", "c")), (Cluster.lose_power, ("a", "b")), (Cluster.lose_disk, ())],
    ids=["crash", "power loss", "disk loss"],
)
def test_the_remaining_records_after_each_fault(
    cluster: Cluster, end: Callable[[Cluster, int], None], left: tuple[str, ...]
) -> None:
    three_of_which_two_are_flushed(cluster)
    end(cluster, 0)
    assert payloads(cluster, 0) == left
    restart(cluster, 0)
    view = view_of(cluster, 0)
    assert tuple(each.payload for each in view.log) == left
    assert view.epoch_entries == (EpochEntry(0, 0),)
    assert (view.recovery_point, view.is_up) == (2 if left else 0, True)


def test_the_high_watermark_is_restored_from_its_checkpoint(cluster: Cluster) -> None:
    append(cluster, "a", leader=0)
    for _ in range(2):
        fetch(cluster, 1, 0)
    cluster.fire(0, TimerKind.HIGH_WATERMARK_CHECKPOINT)
    append(cluster, "b", leader=0)
    assert (view_of(cluster, 0).high_watermark, view_of(cluster, 0).checkpointed_high_watermark) == (1, 1)
    cluster.crash(0)
    assert view_of(cluster, 0).high_watermark is None
    cluster.restart(0)
    assert view_of(cluster, 0).high_watermark == 1
    bounce(cluster, 1)
    assert view_of(cluster, 1).high_watermark == 0  # it never checkpointed


def test_truncation_survives_a_restart(cluster: Cluster) -> None:
    for payload in "abcde":
        append(cluster, payload, leader=0)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1, 0)
    append(cluster, "x", leader=1)
    reconcile(cluster, 0)
    fetch(cluster, 0, 1)
    bounce(cluster, 0)
    assert payloads(cluster, 0) == ("x",)
    assert view_of(cluster, 0).epoch_entries == (EpochEntry(1, 0),)


def test_the_log_start_is_restored_from_its_checkpoint(cluster: Cluster) -> None:
    append(cluster, "a", leader=0)
    cluster.advance(10_001)
    cluster.fire(0, TimerKind.ISR_SHRINK_CHECK)
    append(cluster, "b", leader=0)
    for offset in (1, 2):
        cluster.delete_records(0, offset)
        cluster.deliver(cluster.messages()[-1].number)
        assert view_of(cluster, 0).log_start_offset == offset
        if offset == 1:
            cluster.fire(0, TimerKind.LOG_START_OFFSET_CHECKPOINT)
    bounce(cluster, 0)
    assert (payloads(cluster, 0), view_of(cluster, 0).log_start_offset) == (("b",), 1)


def test_transactions_and_sequences_are_restored_from_the_log(tmp_path: Path) -> None:
    settings = Settings(min_insync_replicas=1, idempotent=True)
    cluster = Cluster("2.1", Start(replicas=1), settings, directory=tmp_path / "disks")
    cluster.begin_transaction()
    send = append(cluster, "a", leader=0)
    bounce(cluster, 0)
    assert view_of(cluster, 0).last_stable_offset == 0
    cluster.resend(send, 0)
    cluster.deliver(cluster.messages()[-1].number)
    assert payloads(cluster, 0) == ("a",)
    cluster.end_transaction(Control.COMMIT)
    cluster.write_marker(0)
    cluster.deliver(cluster.messages()[-1].number)
    bounce(cluster, 0)
    assert (payloads(cluster, 0), view_of(cluster, 0).last_stable_offset) == (("a", "COMMIT"), 2)


@pytest.mark.sampled
@pytest.mark.parametrize("protocol", ["0.10", "0.11", "2.0", "2.1"])
def test_storage_in_files_and_in_memory_gives_the_same_cluster(protocol: str, tmp_path: Path) -> None:
    """For the same seed, with faults; views of brokers that are down are read from the files."""
    chances = Chances(
        crash_interval=4_000,
        power_loss_interval=9_000,
        disk_loss_interval=30_000,
        election_interval=4_000,
        delete_interval=3_000,
        elections=tuple(Election),
    )
    runs = []
    for directory in (None, tmp_path / "disks"):
        cluster = Cluster(protocol, None, SETTINGS, directory=directory)
        runs.append((Scheduler(cluster, 11, chances).run(2_500), cluster.observe()))
    assert runs[0] == runs[1]
    assert [line for line in runs[0][0] if "lose power" in line]


def test_the_files_have_kafkas_names_and_formats(tmp_path: Path) -> None:
    cluster = Cluster("2.1", PAIR, SETTINGS, directory=tmp_path)
    three_of_which_two_are_flushed(cluster)
    disk = tmp_path / "broker-0"
    assert sorted(each.name for each in disk.iterdir()) == [
        "00000000000000000000.log",
        "00000000000000000002.log",
        "leader-epoch-checkpoint",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    ]
    assert (disk / "leader-epoch-checkpoint").read_text() == "0\n1\n0 0\n"
    assert (disk / "recovery-point-offset-checkpoint").read_text() == "0\n1\ntopic 0 2\n"
    assert (disk / "00000000000000000002.log").read_text() == '1cda7dae [2,0,"c",null,null,0,0,0]\n'


def files_of_a_crashed_broker(tmp_path: Path) -> tuple[Cluster, Path]:
    cluster = Cluster("2.1", PAIR, SETTINGS, directory=tmp_path)
    three_of_which_two_are_flushed(cluster)
    cluster.crash(0)
    return cluster, tmp_path / "broker-0"


def test_a_cut_last_line_is_ignored_and_overwritten(tmp_path: Path) -> None:
    cluster, disk = files_of_a_crashed_broker(tmp_path)
    last = disk / "00000000000000000002.log"
    last.write_bytes(last.read_bytes()[:-3])
    restart(cluster, 0)
    assert payloads(cluster, 0) == ("a", "b")
    append(cluster, "d", leader=0)
    bounce(cluster, 0)
    assert payloads(cluster, 0) == ("a", "b", "d")


DAMAGED = "the file is damaged, or its format has another version; restore it"


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("00000000000000000000.log", "a", "z", "the record at offset 0 is damaged; restore the file, or call"),
        ("leader-epoch-checkpoint", "0\n1", "0\n2", DAMAGED),
        ("leader-epoch-checkpoint", "0 0", "0 x", DAMAGED),
        ("replication-offset-checkpoint", "0\n1", "7\n1", DAMAGED),
    ],
)
def test_a_damaged_file_is_reported_in_one_line(tmp_path: Path, name: str, old: str, new: str, said: str) -> None:
    cluster, disk = files_of_a_crashed_broker(tmp_path)
    (disk / name).write_text((disk / name).read_text().replace(f'"{old}"' if len(old) == 1 else old, new, 1))
    with pytest.raises(StorageError) as error:
        cluster.restart(0)
    assert str(error.value).startswith(f"{disk / name}: {said}")
    assert "\n" not in str(error.value)
    cluster.lose_disk(0)
    restart(cluster, 0)
    assert payloads(cluster, 0) == ()


def test_a_missing_segment_is_reported_in_one_line(tmp_path: Path) -> None:
    cluster, disk = files_of_a_crashed_broker(tmp_path)
    (disk / "00000000000000000002.log").rename(disk / "00000000000000000003.log")
    with pytest.raises(StorageError, match=r"0003\.log: the segment begins at offset 3, not 2; restore"):
        cluster.restart(0)
    for each in disk.glob("*.log"):
        each.unlink()
    with pytest.raises(StorageError, match="no segment in the directory; restore the files, or call lose_disk"):
        cluster.restart(0)


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_full_disk_halts_the_broker_and_is_reported_in_one_line(tmp_path: Path) -> None:
    cluster = Cluster("2.1", PAIR, SETTINGS, directory=tmp_path)
    (tmp_path / "broker-0" / "00000000000000000000.log").unlink()
    (tmp_path / "broker-0" / "00000000000000000000.log").symlink_to(FULL)
    with pytest.raises(
        StorageError, match=r"0\.log: no space left on the device; free some, or use another directory$"
    ):
        append(cluster, "a", leader=0)
    assert cluster.timers(0) == ()


def test_a_directory_with_files_in_it_is_refused(tmp_path: Path) -> None:
    Cluster("2.1", PAIR, SETTINGS, directory=tmp_path)
    with pytest.raises(StorageError, match="broker-0: the directory is not empty; give an empty or new directory"):
        Cluster("2.1", PAIR, SETTINGS, directory=tmp_path)


@pytest.mark.parametrize("where", ["memory", "files"])
def test_a_snapshot_of_producers_survives_what_the_log_survives(tmp_path: Path, where: str) -> None:
    """A restart loads the last snapshot; one from beyond the log's end is removed, and an empty disk has none."""
    settings = replace(SETTINGS, idempotent=True)
    cluster = Cluster("2.4", PAIR, settings, directory=tmp_path / "disks" if where == "files" else None)
    for payload in "ab":
        append(cluster, payload, leader=0)
    cluster.fire(0, TimerKind.LOG_FLUSH)
    cluster.roll_segment(0)
    append(cluster, "c", leader=0)
    assert len(view_of(cluster, 0).producers.remembered) == 3
    cluster.crash(0)
    restart(cluster, 0)
    after_crash = ((ProducerStamp(1, 0, 1), 1), (ProducerStamp(1, 0, 2), 2))
    assert view_of(cluster, 0).producers == ProducerStateView(2, 2, after_crash)
    cluster.roll_segment(0)
    cluster.lose_power(0)
    restart(cluster, 0)
    after_power_loss = ((ProducerStamp(1, 0, 0), 0), (ProducerStamp(1, 0, 1), 1))
    assert view_of(cluster, 0).producers == ProducerStateView(0, 0, after_power_loss)
    cluster.roll_segment(0)
    cluster.lose_disk(0)
    assert view_of(cluster, 0).producers == ProducerStateView(0)
