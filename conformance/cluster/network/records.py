"""The records of a log.

In:  nothing.
Out: `Record` for logs, messages and views.

A batch holds one record here, so batch and record boundaries are the same (fact sheet, section 1.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1
NO_SEQUENCE = -1


class Control(Enum):
    """The decision in a transaction marker. Fact sheet, section 6.2."""

    COMMIT = "COMMIT"
    ABORT = "ABORT"


@dataclass(frozen=True)
class ProducerStamp:
    """The stamp of an idempotent or transactional producer on a batch. KIP-98.

    `sequence` counts the batches of one producer on this partition from 0; a marker has `NO_SEQUENCE`.
    """

    producer_id: int
    producer_epoch: int
    sequence: int
    is_transactional: bool = False


@dataclass(frozen=True)
class Record:
    """One entry of a log: its offset, the leader epoch in which it was appended, and the client's payload."""

    offset: int
    leader_epoch: int
    payload: str
    stamp: ProducerStamp | None = None
    control: Control | None = None

    def __str__(self) -> str:
        return f"{self.payload}@{self.offset}/e{self.leader_epoch}"
