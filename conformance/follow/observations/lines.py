"""One line of a recording: what was seen, or what befell a broker.

In:  made by reading.py. Out: what the rest of this package works on.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from isrcheck.models.kafka.state.fields import Acks


@dataclass(frozen=True)
class Line:
    """What all lines have: where they stand in the file, and their own number `n`."""

    number: int
    n: int


@dataclass(frozen=True)
class Remark(Line):
    """A line that claims nothing."""


@dataclass(frozen=True)
class Acked(Line):
    """A producer was told that its record is written, at this offset (None where it is not told)."""

    value: str
    offset: int | None
    acks: Acks | None


@dataclass(frozen=True)
class Sent(Line):
    """A producer sends a record, for the first time."""

    value: str
    acks: Acks | None


@dataclass(frozen=True)
class Disk(Line):
    """What lies on a broker's disk: its log, and where they are recorded epochs and the checkpointed high watermark."""

    broker: int
    log: tuple[str, ...]
    batch_epochs: tuple[int, ...] | None
    epoch_cache: tuple[tuple[int, int], ...] | None
    checkpoint: int | None


@dataclass(frozen=True)
class Metadata(Line):
    """Leader (None: there is none that runs) and ISR as the cluster tells them."""

    leader: int | None
    isr: frozenset[int]
    leader_epoch: int | None
    brokers: frozenset[int]


@dataclass(frozen=True)
class Read(Line):
    """A consumer read these records, from offset 0 on."""

    records: tuple[str, ...]


class FaultKind(Enum):
    """What befalls a broker."""

    KILL = "kill -9"
    FREEZE = "freeze"
    THAW = "thaw"
    START = "start"
    STOP = "stop (controlled shutdown)"


@dataclass(frozen=True)
class Fault(Line):
    """What befalls this broker at this line."""

    what: FaultKind
    broker: int


@dataclass(frozen=True)
class Header(Line):
    """How the cluster is configured; None: not told here."""

    min_insync_replicas: int | None
    unclean_election: bool | None
    replicas: frozenset[int]
