"""The state of idempotent and transactional producers in one log. Kafka: ProducerStateManager.

In:  every record that is appended to the log, and the high watermark.
Out: whether a batch is a duplicate or out of sequence; the first unstable offset; the aborted transactions.

The state is a function of the log: truncation rebuilds it from the remaining records. As in 1.0 - 2.4, five batches are
remembered, and a producer without state has to begin with sequence 0 (0.11 remembered one batch). Source: fact sheet,
sections 1.1, 5.3, 6.3; KIP-98, KAFKA-5494.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.network.messages import AbortedTransaction, Errors
from isrcheck.conformance.cluster.network.records import Control, ProducerStamp, Record

BATCHES_REMEMBERED = 5
SEQUENCES = 1 << 31
"""The sequence after the largest one is 0."""


@dataclass(frozen=True)
class BatchMetadata:
    """One remembered batch: the sequences of its first and its last record, and the offset of its last record."""

    first_sequence: int
    last_sequence: int
    last_offset: int

    @property
    def first_offset(self) -> int:
        """The offset of its first record."""
        return self.last_offset - (self.last_sequence - self.first_sequence) % SEQUENCES

    def with_record(self, record: Record) -> BatchMetadata:
        """The batch with one more record at its end."""
        return BatchMetadata(self.first_sequence, (self.last_sequence + 1) % SEQUENCES, record.offset)


@dataclass
class ProducerStateEntry:
    """The state of one producer id. `batches` are the remembered ones, oldest first."""

    producer_epoch: int
    batches: list[BatchMetadata] = field(default_factory=list)
    transaction_first_offset: int | None = None


@dataclass(frozen=True)
class CompletedTransaction:
    """A transaction whose marker is in the log, but not below the high watermark yet."""

    first_offset: int
    marker_offset: int


class ProducerStateManager:
    """Sequence numbers, ongoing and unreplicated transactions, and the index of aborted transactions."""

    def __init__(self, bug: Bug | None) -> None:
        self._bug = bug
        self._entries: dict[int, ProducerStateEntry] = {}
        self._unreplicated: list[CompletedTransaction] = []
        self._aborted: list[AbortedTransaction] = []

    @property
    def aborted(self) -> tuple[AbortedTransaction, ...]:
        """The transaction index: every aborted transaction in this log."""
        return tuple(self._aborted)

    @property
    def first_unstable_offset(self) -> int | None:
        """The start of the earliest transaction without a marker below the high watermark; None if there is none."""
        ongoing = [each.transaction_first_offset for each in self._entries.values()]
        firsts = [each for each in ongoing if each is not None] + [each.first_offset for each in self._unreplicated]
        return min(firsts, default=None)

    def duplicate_of(self, stamp: ProducerStamp, records: int = 1) -> int | None:
        """The first offset of the earlier batch with this stamp and so many records, or None. Kafka:
        findDuplicateBatch.
        """
        entry = self._entries.get(stamp.producer_id)
        if entry is None or entry.producer_epoch != stamp.producer_epoch:
            return None
        sequences = (stamp.sequence, (stamp.sequence + records - 1) % SEQUENCES)
        return next(
            (one.first_offset for one in entry.batches if sequences == (one.first_sequence, one.last_sequence)), None
        )

    def refusal_of(self, stamp: ProducerStamp) -> Errors:
        """The error for a client's batch that is not a duplicate; NONE if it may be appended. Kafka:
        ProducerAppendInfo.checkSequence.
        """
        entry = self._entries.get(stamp.producer_id)
        if entry is None:
            return Errors.NONE if stamp.sequence == 0 else Errors.UNKNOWN_PRODUCER_ID
        if stamp.producer_epoch < entry.producer_epoch:
            return Errors.NONE if self._bug is Bug.ZOMBIE_NOT_FENCED else Errors.INVALID_PRODUCER_EPOCH
        if self._bug is Bug.DUPLICATE_APPENDED and self.duplicate_of(stamp) is not None:
            return Errors.NONE
        same_epoch = stamp.producer_epoch == entry.producer_epoch
        expected = (entry.batches[-1].last_sequence + 1) % SEQUENCES if same_epoch and entry.batches else 0
        if stamp.sequence != expected:
            return Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
        if entry.transaction_first_offset is not None and not stamp.is_transactional:
            return Errors.INVALID_TXN_STATE
        return Errors.NONE

    def refusal_of_marker(self, stamp: ProducerStamp) -> Errors:
        """The error for a transaction marker; NONE if it may be appended. Kafka: appendEndTxnMarker."""
        entry = self._entries.get(stamp.producer_id)
        if entry is not None and stamp.producer_epoch < entry.producer_epoch:
            return Errors.INVALID_PRODUCER_EPOCH
        return Errors.NONE

    def appended(self, record: Record) -> None:
        """Update the state for a record that was appended to the log. Every record is accepted here."""
        stamp = record.stamp
        if stamp is None:
            return
        entry = self._entries.setdefault(stamp.producer_id, ProducerStateEntry(stamp.producer_epoch))
        if record.control is not None:
            self._completed(entry, record, stamp)
            return
        if stamp.producer_epoch != entry.producer_epoch:
            entry.producer_epoch, entry.batches = stamp.producer_epoch, []
        if record.position and entry.batches:
            entry.batches[-1] = entry.batches[-1].with_record(record)
        else:
            batch = BatchMetadata(stamp.sequence, stamp.sequence, record.offset)
            entry.batches = [*entry.batches, batch][-BATCHES_REMEMBERED:]
        if stamp.is_transactional and entry.transaction_first_offset is None:
            entry.transaction_first_offset = record.offset

    def _completed(self, entry: ProducerStateEntry, marker: Record, stamp: ProducerStamp) -> None:
        if stamp.producer_epoch != entry.producer_epoch:
            entry.producer_epoch, entry.batches = stamp.producer_epoch, []
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
        """Forget everything below the log start, open transactions included. Kafka: truncateHead."""
        for producer_id, entry in list(self._entries.items()):
            entry.batches = [one for one in entry.batches if one.last_offset >= log_start_offset]
            if not entry.batches:
                del self._entries[producer_id]
        self._let_go_of_markers_below(log_start_offset)

    def _let_go_of_markers_below(self, offset: int) -> None:
        self._unreplicated = [each for each in self._unreplicated if each.marker_offset >= offset]

    def rebuild(self, records: Iterable[Record], log_start_offset: int, high_watermark: int) -> None:
        """Rebuild the state from the log. Kafka: ProducerStateManager.truncateAndReload."""
        self._entries, self._unreplicated, self._aborted = {}, [], []
        for record in records:
            self.appended(record)
        self.log_start_moved(log_start_offset)
        self.high_watermark_moved(high_watermark)
