"""The questions that an operator asks about a case.

In:  nothing.
Out: `Question`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Topic(StrEnum):
    """What a question is about.

    LOSS: could these settings lose an acknowledged record, if all known defects of the release were repaired? Faults:
    what Kafka does by default (preferred elections, expired sessions) and what brokers do by themselves (they crash
    and restart). POWER, DISK: what the loss of power, or of a disk, of one broker can do; POWER_OF_ALL: what a loss
    of power of all brokers can do. DUPLICATES, ORDER: what resends of a producer can do. TRANSACTIONS: what is
    promised about transactions over several partitions. WRITES, READS: whether a write is acknowledged, and a
    committed record read, with `number` brokers down, after all replicas were in sync. SURVIVES: whether a committed
    record can still be read whichever `number` brokers are lost for good while the ISR is the smallest one that
    acknowledges a record. DEFECT: is the case exposed to the known failure `name` (models/kafka/failures)?
    """

    LOSS = "loss"
    POWER = "power"
    POWER_OF_ALL = "power-of-all"
    DISK = "disk"
    DUPLICATES = "duplicates"
    ORDER = "order"
    TRANSACTIONS = "transactions"
    WRITES = "writes"
    READS = "reads"
    SURVIVES = "survives"
    DEFECT = "defect"


@dataclass(frozen=True, order=True)
class Question:
    """One question. `number` counts the brokers that are down (WRITES, READS) or lost (SURVIVES); `name` is a known
    failure (DEFECT)."""

    topic: Topic
    number: int = 0
    name: str = ""

    @property
    def text(self) -> str:
        """The question in one word, as in a file: loss, writes 1, defect missed_demotion."""
        return " ".join([self.topic.value, *([str(self.number)] if self.number else []), *filter(None, [self.name])])
