"""The records of a log.

In:  nothing.
Out: `Record` for logs, messages and views.

A batch of the cluster's own producers holds one record. A batch that comes over the wire may hold several, each with
an offset of its own; the first record has the payload of the whole batch, the others have none. Truncation inside such
a batch leaves its first records; Kafka removes the whole batch, and a gap remains (fact sheet, section 1.3).
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
    record, a marker `NO_SEQUENCE`.
    """

    producer_id: int
    producer_epoch: int
    sequence: int
    is_transactional: bool = False


@dataclass(frozen=True)
class Record:
    """One entry of a log: its offset, the leader epoch in which it was appended, and the client's payload.

    `position` is its place in its batch; the first record of a batch has 0. `timestamp` is in ms; a transaction marker
    holds the epoch of the coordinator that sent it.
    """

    offset: int
    leader_epoch: int
    payload: str
    stamp: ProducerStamp | None = None
    control: Control | None = None
    position: int = 0
    timestamp: int = 0
    coordinator_epoch: int = 0

    def __str__(self) -> str:
        return f"{self.payload}@{self.offset}/e{self.leader_epoch}"
