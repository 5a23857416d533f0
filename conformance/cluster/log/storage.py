"""A broker's disk, which survives the end of the process: its interface, and an implementation in memory.

In:  records, truncations, checkpoints and flushes of the log.
Out: `Stored`, for the next process; its content depends on how the last process ended.

A process crash keeps everything that was written (the page cache belongs to the operating system); a power loss keeps
flushed records; a disk loss keeps nothing. Checkpoint files, epoch entries and the snapshot of producers are forced to
disk when written; only the last snapshot is kept (in Kafka, some older ones as well). A truncation is final at once (in
Kafka a truncated tail can come back after a power loss). Source: fact sheet, section 1.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from isrcheck.conformance.cluster.configuration.settings import Start
from isrcheck.conformance.cluster.log.epoch_cache import EpochEntry
from isrcheck.conformance.cluster.log.producer_snapshot import ProducerSnapshot
from isrcheck.conformance.cluster.network.records import ProducerStamp, Record


class StorageError(Exception):
    """The disk cannot be written or read; the message is one line: what, where, the cure."""


@dataclass(frozen=True)
class Stored:
    """The content of the disk. `base_offset` is the offset of the first stored record, or of the next one if there is
    none.
    """

    base_offset: int = 0
    records: tuple[Record, ...] = ()
    log_start_offset: int = 0
    high_watermark: int = 0
    epoch_entries: tuple[EpochEntry, ...] = ()


class Storage(Protocol):
    """One partition on one disk. Every method raises `StorageError` if the disk fails."""

    @property
    def checkpointed_high_watermark(self) -> int:
        """The value in replication-offset-checkpoint; 0 if there is none."""

    @property
    def recovery_point(self) -> int:
        """The offset below which every record is flushed."""

    def append(self, record: Record) -> None:
        """Write one record after the last one, into the page cache."""

    def truncate(self, offset: int) -> None:
        """Remove every record at or above an offset."""

    def start_anew(self, offset: int) -> None:
        """Remove every record; the next one gets this offset."""

    def write_epochs(self, entries: Sequence[EpochEntry]) -> None:
        """Replace the content of leader-epoch-checkpoint with these entries."""

    def write_producers(self, snapshot: ProducerSnapshot | None) -> None:
        """Replace the snapshot of the state of producers; None: remove it."""

    def load_producers(self) -> ProducerSnapshot | None:
        """The snapshot of the state of producers; None if there is none."""

    def checkpoint_high_watermark(self, offset: int) -> None:
        """Write this offset to replication-offset-checkpoint."""

    def checkpoint_log_start(self, offset: int) -> None:
        """Write this offset to log-start-offset-checkpoint."""

    def flush(self) -> None:
        """Force every record to the disk."""

    def lose_power(self, written: int = 0) -> None:
        """Lose every record that was not flushed, except those below `written`."""

    def lose_disk(self) -> None:
        """Empty the disk."""

    def load(self) -> Stored:
        """The current content of the disk."""


class MemoryStorage:
    """A disk made of Python lists. See `Storage` for each method."""

    def __init__(self) -> None:
        self._base_offset = 0
        self._records: list[Record] = []
        self._epochs: tuple[EpochEntry, ...] = ()
        self._producers: ProducerSnapshot | None = None
        self._high_watermark = 0
        self._log_start_offset = 0
        self._recovery_point = 0

    @property
    def checkpointed_high_watermark(self) -> int:
        """The value in replication-offset-checkpoint; 0 if there is none."""
        return self._high_watermark

    @property
    def recovery_point(self) -> int:
        """The offset below which every record is flushed."""
        return self._recovery_point

    def append(self, record: Record) -> None:
        """Write one record after the last one."""
        self._records.append(record)

    def truncate(self, offset: int) -> None:
        """Remove every record at or above an offset."""
        del self._records[max(0, offset - self._base_offset) :]
        self._recovery_point = min(self._recovery_point, offset)

    def start_anew(self, offset: int) -> None:
        """Remove every record; the next one gets this offset."""
        self._records.clear()
        self._base_offset = self._recovery_point = offset

    def write_epochs(self, entries: Sequence[EpochEntry]) -> None:
        """Replace the content of leader-epoch-checkpoint with these entries."""
        self._epochs = tuple(entries)

    def write_producers(self, snapshot: ProducerSnapshot | None) -> None:
        """Replace the snapshot of the state of producers; None: remove it."""
        self._producers = snapshot

    def load_producers(self) -> ProducerSnapshot | None:
        """The snapshot of the state of producers; None if there is none."""
        return self._producers

    def checkpoint_high_watermark(self, offset: int) -> None:
        """Write this offset to replication-offset-checkpoint."""
        self._high_watermark = offset

    def checkpoint_log_start(self, offset: int) -> None:
        """Write this offset to log-start-offset-checkpoint."""
        self._log_start_offset = offset

    def flush(self) -> None:
        """Force every record to the disk."""
        self._recovery_point = self._base_offset + len(self._records)

    def lose_power(self, written: int = 0) -> None:
        """Lose every record that was not flushed, except those below `written`."""
        del self._records[max(self._recovery_point, written) - self._base_offset :]

    def lose_disk(self) -> None:
        """Empty the disk."""
        vars(self).update(vars(MemoryStorage()))  # an empty disk is a new one

    def load(self) -> Stored:
        """The current content of the disk."""
        start = max(self._base_offset, self._log_start_offset)
        return Stored(self._base_offset, tuple(self._records), start, self._high_watermark, self._epochs)


def lay_out(storage: Storage, start: Start, number: int, producer: int | None = None) -> None:
    """Write a broker's initial log and checkpoints to its disk. `producer`: the id of the idempotent producer that sent
    the records.
    """
    end = start.log_end_offset_of(number)
    for offset, payload in enumerate(start.log[:end]):
        storage.append(Record(offset, 0, payload, None if producer is None else ProducerStamp(producer, 0, offset)))
    if end:
        storage.write_epochs([EpochEntry(0, 0)])
    storage.checkpoint_high_watermark(end)
