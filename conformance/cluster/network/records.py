"""The records of a log.

A batch of the cluster's own producers holds one record. A batch that comes over the wire may hold several records, each
with its own offset; the first record has the payload of the whole batch, the other records are empty. Truncation inside
a batch keeps its first records; Kafka removes the whole batch, and a gap remains (fact sheet, section 1.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1
LAST_EPOCH = (1 << 15) - 2
"""The last epoch of a producer; then its transactional id gets another producer id: Short.MAX_VALUE - 1."""

NO_SEQUENCE = -1


class Control(Enum):
    """The decision in a transaction marker. Fact sheet, section 6.2."""

    COMMIT = "COMMIT"
    ABORT = "ABORT"


@dataclass(frozen=True)
class ProducerStamp:
    """The stamp of an idempotent or transactional producer on a batch. KIP-98.

    `sequence` counts the records of one producer on this partition from 0; a batch has the sequence of its first
    record, and a marker has `NO_SEQUENCE`.
    """

    producer_id: int
    producer_epoch: int
    sequence: int
    is_transactional: bool = False


@dataclass(frozen=True)
class Record:
    """One entry of a log."""

    offset: int
    leader_epoch: int
    """The leader epoch in which the record was appended."""
    payload: str
    """The client's."""
    stamp: ProducerStamp | None = None
    """The producer's numbering; None without idempotence."""
    control: Control | None = None
    """The decision in a transaction marker; None for a record."""
    position: int = 0
    """The place of the record in its batch, from 0."""
    timestamp: int = 0
    """In ms."""
    coordinator_epoch: int = 0
    """In a transaction marker: the epoch of the coordinator that sent it."""

    def __str__(self) -> str:
        return f"{self.payload}@{self.offset}/e{self.leader_epoch}"
