"""Remembered batches of a producer, and the snapshot of all producers of a log. Kafka: BatchMetadata, *.snapshot files.

In:  sequences and offsets.
Out: `BatchMetadata`, `ProducerSnapshot`. Source: fact sheet, section 5.3.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.conformance.cluster.network.records import Record

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


@dataclass(frozen=True)
class ProducerSnapshot:
    """The state of all producers at an offset: of each, by its id, the epoch and only the last batch."""

    offset: int
    producers: tuple[tuple[int, int, BatchMetadata], ...] = ()
