"""The log of the partition on one broker: records, offsets, truncation, high watermark.

Every change is written to the storage before it is made in memory.

log start offset <= last stable offset <= high watermark <= log end offset. Before 2.4 (HW_CLAMPED_AT_TRUNCATION off),
the high watermark can be outside the log in two cases. First, a truncation does not change the high watermark, which
until the next fetch response can be above the log end, or below the start of a log that was emptied (KAFKA-9491).
Second, a leader that has deleted fewer records than the follower can send a high watermark below the follower's log
start. Source: fact sheet, section 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from isrcheck.conformance.cluster.configuration.bugs import AnyBug, Bug
from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.log.epoch_cache import EpochEndOffset, EpochEntry, LeaderEpochFileCache
from isrcheck.conformance.cluster.log.producer_state import ProducerStateManager
from isrcheck.conformance.cluster.log.storage import Storage
from isrcheck.conformance.cluster.network.messages import AbortedTransaction
from isrcheck.conformance.cluster.network.records import UNDEFINED_OFFSET, Control, ProducerStamp, Record


class Log:
    """One replica's log, loaded from its storage. Kafka: Log; before 2.4, the class Replica had the offsets."""

    def __init__(self, storage: Storage, switches: Switches, bug: AnyBug | None) -> None:
        """Load the log; the high watermark is the checkpointed value, limited to the log. Kafka: loadLog."""
        stored = storage.load()
        self._storage = storage
        self._switches = switches
        self._bug = bug
        self._base_offset = stored.base_offset
        self._records = list(stored.records)
        self.log_start_offset = min(stored.log_start_offset, self.log_end_offset)
        """The smallest readable offset."""
        self.high_watermark = min(stored.high_watermark, self.log_end_offset)
        """The offset below which records are committed, as far as this replica knows."""
        if switches.HW_CLAMPED_AT_TRUNCATION:  # in the 2.1 tree it may lie below the log start (Partition.getReplica)
            self.high_watermark = max(self.log_start_offset, self.high_watermark)
        self._epochs = LeaderEpochFileCache(stored.epoch_entries, switches, bug)
        self._epochs.truncate_from_end(self.log_end_offset)
        if self._epochs.starts_below(self.log_start_offset):  # the checkpoint of epochs is older than the log start
            self._epochs.truncate_from_start(self.log_start_offset)
        self.producers = ProducerStateManager(switches, bug)
        """The state of producers in this log."""
        self.high_watermark_listeners: list[Callable[[int], None]] = []
        self._rebuild_producers()

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        return self._base_offset + len(self._records)

    @property
    def last_stable_offset(self) -> int:
        """The offset below which a read_committed consumer may read. Kafka: Log.lastStableOffset."""
        unstable = self.producers.first_unstable_offset
        if unstable is None or self._bug is Bug.OPEN_TRANSACTION_READ:
            return self.high_watermark
        return min(max(unstable, self.log_start_offset), self.high_watermark)

    @property
    def latest_epoch(self) -> int:
        """The last epoch in the leader-epoch cache; -1 if the cache is empty."""
        return self._epochs.latest_epoch

    @property
    def epoch_entries(self) -> tuple[EpochEntry, ...]:
        """The leader-epoch cache, oldest first."""
        return self._epochs.entries

    @property
    def records(self) -> tuple[Record, ...]:
        """Every record from the log start on."""
        return self.read(self.log_start_offset, self.log_end_offset)

    def read(self, start: int, end: int) -> tuple[Record, ...]:
        """The records of the log with start <= offset < end; records below the log start are left out."""
        first = max(start, self.log_start_offset) - self._base_offset
        return tuple(self._records[first : max(first, end - self._base_offset)])

    def aborted_transactions(self, start: int, end: int) -> tuple[AbortedTransaction, ...]:
        """The aborted transactions that overlap [`start`, `end`). Fact sheet 6.4; Kafka: collectAbortedTxns."""
        return tuple(each for each in self.producers.aborted if each.last_offset >= start and each.first_offset < end)

    def end_offset_for(self, leader_epoch: int) -> EpochEndOffset:
        """The end of an epoch in this log. Kafka: LeaderEpochFileCache.endOffsetFor."""
        return self._epochs.end_offset_for(leader_epoch, self.log_end_offset)

    def offset_truncation_state(self, leader_epoch: int, end_offset: int) -> tuple[int, bool]:
        """Return the offset to which a follower truncates this log, and whether the log then agrees with the leader's
        log, in which `leader_epoch` ends at `end_offset`. Kafka: AbstractFetcherThread.getOffsetTruncationState; fact
        sheet 3.4, G2."""
        own = self.end_offset_for(leader_epoch)
        if own.end_offset == UNDEFINED_OFFSET:
            return end_offset, True
        if own.leader_epoch != leader_epoch:
            return own.end_offset, False
        return min(own.end_offset, end_offset), True

    def append_as_leader(
        self,
        payload: str,
        leader_epoch: int,
        stamp: ProducerStamp | None = None,
        control: Control | None = None,
        records: int = 1,
        timestamp: int = 0,
        coordinator_epoch: int = 0,
    ) -> Record:
        """Append a client's batch in the leader's epoch; return the batch's first record. Kafka: appendAsLeader."""
        first = Record(self.log_end_offset, leader_epoch, payload, stamp, control, 0, timestamp, coordinator_epoch)
        self._append(first)
        for position in range(1, records):
            self._append(replace(first, offset=first.offset + position, payload="", position=position))
        return first

    def append_as_follower(self, records: Sequence[Record]) -> None:
        """Append records from the leader unchanged; the first has to be at this log's end. Kafka: appendAsFollower."""
        for record in records:
            if record.offset != self.log_end_offset:
                raise AssertionError(
                    f"a follower at {self.log_end_offset} received {record}: this is a defect of the cluster"
                )
            self._append(record, learns_producers=self._bug is not Bug.PRODUCERS_NOT_REPLICATED)

    def assign_epoch(self, leader_epoch: int) -> None:
        """Record that an epoch begins at the log's end. Kafka: Partition.makeLeader since KAFKA-7415."""
        if self._epochs.assign(leader_epoch, self.log_end_offset):
            self._storage.write_epochs(self._epochs.entries)

    def truncate_to(self, offset: int) -> None:
        """Remove every record at or above an offset. Kafka: Log.truncateTo; fact sheet 1.3."""
        if offset >= self.log_end_offset:
            if self._switches.EPOCH_ENTRY_AT_END_DROPPED:
                self._drop_epochs(self.log_end_offset)
            return
        if offset < self._base_offset:
            self.truncate_fully_and_start_at(offset)
            return
        self._storage.truncate(offset)
        del self._records[offset - self._base_offset :]
        self.log_start_offset = min(self.log_start_offset, offset)
        if self._bug is not Bug.EPOCH_CACHE_NOT_TRUNCATED:
            self._drop_epochs(offset)
        if self._switches.HW_CLAMPED_AT_TRUNCATION:
            self.high_watermark = min(self.high_watermark, offset)
        self._rebuild_producers()

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Empty the log and let it begin at an offset. Kafka: Log.truncateFullyAndStartAt; fact sheet 1.3."""
        self._storage.start_anew(offset)
        self._storage.write_producers(None)
        self._records.clear()
        self._base_offset = self.log_start_offset = offset
        self._storage.checkpoint_log_start(offset)
        self._epochs.clear()
        self._storage.write_epochs(())
        if self._switches.HW_CLAMPED_AT_TRUNCATION:  # the reset was missing before (KAFKA-9491)
            self.high_watermark = offset
        self._rebuild_producers()

    def increment_high_watermark(self, offset: int) -> bool:
        """On the leader: advance the high watermark; return whether it moved. Kafka: maybeIncrementHighWatermark."""
        if offset <= self.high_watermark:
            return False
        self._set_high_watermark(offset)
        return True

    def update_high_watermark(self, offset: int) -> None:
        """On a follower: adopt the leader's high watermark, up or down, limited by the log end. Fact sheet 1.2.

        In Kafka 2.1 the result can lie below the log start (ReplicaFetcherThread.processPartitionData).
        """
        self._set_high_watermark(min(offset, self.log_end_offset))
        self._keep_high_watermark_above_log_start()

    def bring_high_watermark_inside(self) -> None:
        """If the high watermark is outside the log, set it to the log start."""
        if not self.log_start_offset <= self.high_watermark <= self.log_end_offset:
            self._set_high_watermark(self.log_start_offset)

    def increment_log_start(self, offset: int) -> bool:
        """Move the log start up; return whether it moved. Kafka: maybeIncrementLogStartOffset; fact sheet 1.2.

        The caller ensures that the offset is not above the high watermark.
        """
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self._epochs.truncate_from_start(offset)
        self._storage.write_epochs(self._epochs.entries)
        self.producers.log_start_moved(offset)
        self._keep_high_watermark_above_log_start()
        return True

    def checkpoint_high_watermark(self) -> None:
        """Write the high watermark to replication-offset-checkpoint. Kafka: checkpointHighWatermarks."""
        ahead = self._bug is Bug.CHECKPOINT_AHEAD
        self._storage.checkpoint_high_watermark(self.log_end_offset if ahead else self.high_watermark)

    def checkpoint_log_start(self) -> None:
        """Write the log start to log-start-offset-checkpoint. Kafka: checkpointLogStartOffsets."""
        self._storage.checkpoint_log_start(self.log_start_offset)

    def save_producers(self) -> None:
        """Write a snapshot of the state of producers. Kafka: takeSnapshot, at a roll or a clean shutdown."""
        self._storage.write_producers(self.producers.snapshot(self.log_end_offset))

    def flush(self) -> None:
        """Force the records to disk. Kafka: Log.flush."""
        self._storage.flush()

    def _append(self, record: Record, *, learns_producers: bool = True) -> None:
        self._storage.append(record)
        self._records.append(record)
        if self._epochs.assign(record.leader_epoch, record.offset):
            self._storage.write_epochs(self._epochs.entries)
        if learns_producers:
            self.producers.appended(record)

    def _rebuild_producers(self) -> None:
        """Rebuild the state of producers from the log, and from the last snapshot if its offset is above the log start
        and at most the log end; otherwise remove the snapshot. Kafka: ProducerStateManager.truncateAndReload.
        """
        snapshot = self._storage.load_producers()
        is_outside = snapshot is not None and not self.log_start_offset < snapshot.offset <= self.log_end_offset
        if is_outside and self._bug is not Bug.SNAPSHOT_NOT_TRUNCATED:
            snapshot = None
            self._storage.write_producers(None)
        self.producers.rebuild(self._records, self.log_start_offset, self.high_watermark, snapshot)

    def _drop_epochs(self, offset: int) -> None:
        self._epochs.truncate_from_end(offset)
        self._storage.write_epochs(self._epochs.entries)

    def _keep_high_watermark_above_log_start(self) -> None:
        """Since 2.4, raise a high watermark that is below the log start."""
        if self._switches.HW_CLAMPED_AT_TRUNCATION and self.high_watermark < self.log_start_offset:
            self._set_high_watermark(self.log_start_offset)

    def _set_high_watermark(self, offset: int) -> None:
        """Move the high watermark, and notify the listeners if it goes up. (Kafka notifies them in other cases too,
        without effect.) Kafka: updateHighWatermarkMetadata, LogOffsetsListener.
        """
        goes_up, self.high_watermark = offset > self.high_watermark, offset
        self.producers.high_watermark_moved(offset)
        for listener in self.high_watermark_listeners if goes_up else ():
            listener(offset)
