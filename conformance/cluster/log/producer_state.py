"""The state of idempotent and transactional producers in one log. Kafka: ProducerStateManager, BatchMetadata.

The state is a function of the log: truncation rebuilds it from the remaining records, and from the last snapshot,
which holds only one batch of each producer. IDEMPOTENT_CACHE is the number of remembered batches; UNKNOWN_PID_POLICY
says how a producer without state may begin; without PRODUCER_STATE_KEPT, a producer is forgotten when its records are
deleted. Source: fact sheet, sections 1.1, 5.3, 6.3, 6.5, 8.22; KIP-98, KAFKA-5494, KIP-360, KAFKA-7190, KIP-890.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from isrcheck.conformance.cluster.configuration.bugs import AnyBug, Bug, TransactionBug
from isrcheck.conformance.cluster.configuration.protocol import Switches, UnknownProducer
from isrcheck.conformance.cluster.network.messages import AbortedTransaction, Errors
from isrcheck.conformance.cluster.network.records import LAST_EPOCH, Control, ProducerStamp, Record


class VerificationGuards:
    """The guards by which a leader decides whether it may append a transaction's first record: only if the coordinator
    has confirmed that the transaction contains the partition (KIP-890).

    A guard is a number that ties the coordinator's answer to the request. It ends when a transactional record or marker
    of the producer is appended, so an answer that comes after the marker admits no record. Left out: in Kafka, a guard
    also has the lowest sequence that was tried (KAFKA-14920). Kafka: VerificationGuard, VerificationStateEntry.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._guards: dict[int, int] = {}

    def start(self, producer_id: int) -> int:
        """Return the producer's guard, or a new guard if the producer has none, for a record that is about to be
        verified. Kafka: maybeStartTransactionVerification."""
        return self._guards.setdefault(producer_id, next(self._numbers))

    def allows(self, producer_id: int, guard: int | None) -> bool:
        """Whether `guard` is the producer's present guard. Kafka: batchMissingRequiredVerification."""
        return guard is not None and self._guards.get(producer_id) == guard

    def clear(self, producer_id: int) -> None:
        """End the producer's guard, because a record or marker was appended: answers to earlier requests no longer
        count. Kafka: clearVerificationStateEntry."""
        self._guards.pop(producer_id, None)


SEQUENCES = 1 << 31
"""The sequence after the largest one is 0."""


@dataclass(frozen=True)
class BatchMetadata:
    """One batch of a producer that the leader remembers: the sequence numbers of its first and its last record, and
    the offset of its last record."""

    first_sequence: int
    last_sequence: int
    last_offset: int

    @property
    def first_offset(self) -> int:
        """The offset of the batch's first record."""
        return self.last_offset - (self.last_sequence - self.first_sequence) % SEQUENCES

    def with_record(self, record: Record) -> BatchMetadata:
        """The batch with one more record at its end."""
        return BatchMetadata(self.first_sequence, (self.last_sequence + 1) % SEQUENCES, record.offset)


@dataclass(frozen=True)
class ProducerSnapshot:
    """The state of all producers at an offset, as (producer id, epoch, last batch); earlier batches are left out."""

    offset: int
    producers: tuple[tuple[int, int, BatchMetadata], ...] = ()


@dataclass
class ProducerStateEntry:
    """The state of one producer id. `batches`: the remembered batches, oldest first. `coordinator_epoch`: the epoch in
    the coordinator's last marker, -1 before the first. `last_timestamp` in ms.
    """

    producer_epoch: int
    batches: list[BatchMetadata] = field(default_factory=list)
    transaction_first_offset: int | None = None
    coordinator_epoch: int = -1
    last_timestamp: int = 0


@dataclass(frozen=True)
class CompletedTransaction:
    """A transaction whose marker is in the log, but not below the high watermark yet."""

    first_offset: int
    marker_offset: int


class ProducerStateManager:
    """A log's state of producers: sequence numbers; transactions that are ongoing, not replicated yet, or aborted."""

    def __init__(self, switches: Switches, bug: AnyBug | None) -> None:
        self._switches = switches
        self._bug = bug
        self.replayed_from = 0
        """The offset of the snapshot that the state was rebuilt from; 0 without a snapshot."""
        self._entries: dict[int, ProducerStateEntry] = {}
        self._unreplicated: list[CompletedTransaction] = []
        self._aborted: list[AbortedTransaction] = []
        self.guards = VerificationGuards()

    @property
    def known(self) -> Mapping[int, tuple[int, int]]:
        """For each producer id: its epoch, and the coordinator epoch in its last marker (-1 if it has no marker)."""
        return {
            producer_id: (entry.producer_epoch, entry.coordinator_epoch) for producer_id, entry in self._entries.items()
        }

    @property
    def remembered(self) -> tuple[tuple[ProducerStamp, int], ...]:
        """The remembered batches: the stamp and the last offset of each."""
        return tuple(
            (ProducerStamp(producer_id, entry.producer_epoch, batch.first_sequence), batch.last_offset)
            for producer_id, entry in sorted(self._entries.items())
            for batch in entry.batches
        )

    @property
    def aborted(self) -> tuple[AbortedTransaction, ...]:
        """The transaction index: every aborted transaction in this log."""
        return tuple(self._aborted)

    @property
    def first_unstable_offset(self) -> int | None:
        """The start of the earliest transaction that is open, or whose marker is not below the high watermark; None if
        every transaction has ended below the high watermark.
        """
        ongoing = [each.transaction_first_offset for each in self._entries.values()]
        firsts = [each for each in ongoing if each is not None] + [each.first_offset for each in self._unreplicated]
        return min(firsts, default=None)

    def duplicate_of(self, stamp: ProducerStamp, records: int = 1) -> int | None:
        """The first offset of the remembered batch with this stamp and number of records; None if no batch has them.
        Kafka: findDuplicateBatch.
        """
        entry = self._entries.get(stamp.producer_id)
        if entry is None or entry.producer_epoch != stamp.producer_epoch:
            return None
        sequences = (stamp.sequence, (stamp.sequence + records - 1) % SEQUENCES)
        batches = entry.batches[-1:] if self._bug is Bug.DUPLICATE_WINDOW_OF_ONE else entry.batches
        return next(
            (batch.first_offset for batch in batches if sequences == (batch.first_sequence, batch.last_sequence)), None
        )

    def refusal_of(self, stamp: ProducerStamp, is_from_client: bool = True) -> Errors:
        """The error for a batch that is not a duplicate; NONE if it may be appended. A batch from a client is
        checked for epoch and sequence number, a batch from a coordinator for its epoch only. Kafka: ProducerAppendInfo,
        checkProducerEpoch, checkSequence."""
        entry = self._entries.get(stamp.producer_id)
        if entry is None and not is_from_client:
            return Errors.NONE
        if entry is None:
            is_accepted = stamp.sequence == 0 or self._switches.UNKNOWN_PID_POLICY is UnknownProducer.ANY_SEQUENCE
            is_accepted |= self._bug is Bug.OUT_OF_ORDER_ACCEPTED
            if is_accepted:
                return Errors.NONE
            has_no_error = self._switches.UNKNOWN_PID_POLICY is UnknownProducer.ZERO_OR_OUT_OF_ORDER
            return Errors.OUT_OF_ORDER_SEQUENCE_NUMBER if has_no_error else Errors.UNKNOWN_PRODUCER_ID
        if stamp.producer_epoch < entry.producer_epoch:
            return Errors.NONE if self._bug is Bug.ZOMBIE_NOT_FENCED else Errors.INVALID_PRODUCER_EPOCH
        if not is_from_client or (self._bug is Bug.DUPLICATE_APPENDED and self.duplicate_of(stamp) is not None):
            return Errors.NONE
        same_epoch = stamp.producer_epoch == entry.producer_epoch
        expected = (entry.batches[-1].last_sequence + 1) % SEQUENCES if same_epoch and entry.batches else 0
        if stamp.sequence != expected and self._bug is not Bug.OUT_OF_ORDER_ACCEPTED:
            return Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
        if entry.transaction_first_offset is not None and not stamp.is_transactional:
            return Errors.INVALID_TXN_STATE
        return Errors.NONE

    def refusal_of_marker(self, stamp: ProducerStamp, coordinator_epoch: int = 0) -> Errors:
        """The error for a transaction marker; NONE if it may be appended. Kafka: appendEndTxnMarker.

        A marker is refused if its producer epoch or its coordinator epoch is below the epoch in the log. With KIP-1228,
        an equal producer epoch is refused as well, except for a repeated marker, which is appended again (since
        KAFKA-19999), and for the marker of a producer in the highest epoch (since KAFKA-20090). Fact sheet 6.2, 8.23.
        """
        entry = self._entries.get(stamp.producer_id)
        if entry is None:
            return Errors.NONE
        is_open = entry.transaction_first_offset is not None
        is_highest = entry.producer_epoch > LAST_EPOCH
        accepts_equal = not self._switches.MARKER_EPOCH_STRICT or (self._switches.FENCE_TAKES_NEXT_ID and is_highest)
        accepts_equal |= (
            self._switches.EQUAL_MARKER_EPOCH_IS_RETRY
            and not is_open
            and self._bug is not TransactionBug.RETRIED_MARKER_REFUSED
        )
        if stamp.producer_epoch < entry.producer_epoch + (0 if accepts_equal else 1):
            return Errors.INVALID_PRODUCER_EPOCH
        if coordinator_epoch < entry.coordinator_epoch and self._bug is not TransactionBug.OLD_COORDINATOR_NOT_FENCED:
            return Errors.TRANSACTION_COORDINATOR_FENCED
        return Errors.NONE

    def is_ongoing(self, stamp: ProducerStamp) -> bool:
        """Whether the producer of this stamp has an open transaction in the log; since KAFKA-18575, only a transaction
        with the epoch of the stamp counts. Kafka: ProducerStateManager's hasOngoingTransaction.
        """
        entry = self._entries.get(stamp.producer_id)
        if entry is None or entry.transaction_first_offset is None:
            return False
        is_per_epoch = self._switches.ONGOING_PER_EPOCH and self._bug is not TransactionBug.ONGOING_OF_ANY_EPOCH
        return not is_per_epoch or entry.producer_epoch == stamp.producer_epoch

    def remove_expired(self, now: int, expiration_ms: int) -> None:
        """Forget producers idle for `expiration_ms` that have no open transaction. Kafka: removeExpiredProducers."""
        for producer_id, entry in list(self._entries.items()):
            if entry.transaction_first_offset is None and now - entry.last_timestamp >= expiration_ms:
                del self._entries[producer_id]
                self.guards.clear(producer_id)

    def appended(self, record: Record) -> None:
        """Update the state after a record was appended to the log. The record is not checked here."""
        stamp = record.stamp
        if stamp is None:
            return
        entry = self._entries.setdefault(stamp.producer_id, ProducerStateEntry(stamp.producer_epoch))
        if stamp.is_transactional and not (record.control and self._bug is TransactionBug.GUARD_SURVIVES_MARKER):
            self.guards.clear(stamp.producer_id)
        if record.control is not None:
            self._completed(entry, record, stamp)
            return
        entry.last_timestamp = record.timestamp
        if stamp.producer_epoch != entry.producer_epoch:
            entry.producer_epoch, entry.batches = stamp.producer_epoch, []
        if record.position and entry.batches:
            entry.batches[-1] = entry.batches[-1].with_record(record)
        else:
            batch = BatchMetadata(stamp.sequence, stamp.sequence, record.offset)
            entry.batches = [*entry.batches, batch][-self._switches.IDEMPOTENT_CACHE :]
        if stamp.is_transactional and entry.transaction_first_offset is None:
            entry.transaction_first_offset = record.offset

    def _completed(self, entry: ProducerStateEntry, marker: Record, stamp: ProducerStamp) -> None:
        if stamp.producer_epoch != entry.producer_epoch:
            entry.producer_epoch, entry.batches = stamp.producer_epoch, []
        entry.coordinator_epoch = marker.coordinator_epoch
        if not self._switches.PRODUCER_STATE_EXPIRES_EARLY and self._bug is not TransactionBug.MARKER_KEEPS_NO_STATE:
            entry.last_timestamp = marker.timestamp
        first = entry.transaction_first_offset
        if first is None:
            return
        entry.transaction_first_offset = None
        self._unreplicated.append(CompletedTransaction(first, marker.offset))
        if marker.control is Control.ABORT and self._bug is not Bug.ABORT_NOT_INDEXED:
            self._aborted.append(AbortedTransaction(stamp.producer_id, first, marker.offset))

    def high_watermark_moved(self, high_watermark: int) -> None:
        """Forget the transactions whose marker is below the high watermark. Kafka: onHighWatermarkUpdated."""
        self._let_go_of_markers_below(high_watermark)

    def log_start_moved(self, log_start_offset: int) -> None:
        """Forget producers without a batch at or above the log start, with their transactions. Kafka: truncateHead.

        With PRODUCER_STATE_KEPT, no producer is forgotten; an open transaction then begins at the log start or above.
        Kafka: onLogStartOffsetIncremented, UnifiedLog.maybeIncrementFirstUnstableOffset.
        """
        for producer_id, entry in list(self._entries.items()):
            if self._switches.PRODUCER_STATE_KEPT:
                first = entry.transaction_first_offset
                entry.transaction_first_offset = None if first is None else max(first, log_start_offset)
                continue
            entry.batches = [batch for batch in entry.batches if batch.last_offset >= log_start_offset]
            if not entry.batches:
                del self._entries[producer_id]
        self._let_go_of_markers_below(log_start_offset)

    def _let_go_of_markers_below(self, offset: int) -> None:
        self._unreplicated = [each for each in self._unreplicated if each.marker_offset >= offset]

    def snapshot(self, offset: int) -> ProducerSnapshot:
        """The state as it is written to a file when the log ends at this offset. Kafka: takeSnapshot."""
        entries = sorted(self._entries.items())
        return ProducerSnapshot(
            offset,
            tuple(
                (producer_id, entry.producer_epoch, entry.batches[-1])
                for producer_id, entry in entries
                if entry.batches
            ),
        )

    def rebuild(
        self,
        records: Iterable[Record],
        log_start_offset: int,
        high_watermark: int,
        snapshot: ProducerSnapshot | None = None,
    ) -> None:
        """Rebuild the state from the last snapshot and the records after it. Kafka: truncateAndReload.

        Transactions are rebuilt from the whole log, because the snapshot does not hold the aborted transactions. (Kafka
        keeps an index of these in a file.)
        """
        self._entries, self._unreplicated, self._aborted = {}, [], []
        self.replayed_from = snapshot.offset if snapshot else 0
        for record in records:
            if record.offset >= log_start_offset or not self._switches.PRODUCER_STATE_KEPT:
                self.appended(record)
        for producer_id, producer_epoch, batch in snapshot.producers if snapshot else ():
            entry = self._entries.setdefault(producer_id, ProducerStateEntry(producer_epoch))
            if entry.producer_epoch == producer_epoch:
                later = [batch for batch in entry.batches if batch.last_offset >= self.replayed_from]
                entry.batches = [batch, *later][-self._switches.IDEMPOTENT_CACHE :]
        self.log_start_moved(log_start_offset)
        self.high_watermark_moved(high_watermark)
