"""The lines of a recording: an observation, or a fault of a broker.

In:  built by reading.py.
Out: the values that the rest of this package uses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from isrcheck.conformance.follow.recorded.faults import FaultKind
from isrcheck.models.client_settings import Acks

MARKER = "(marker "
"""The names of markers of transactions begin so; no producer sends them."""


NULL = "(null)"
"""The name of a record whose value is null."""


@dataclass(frozen=True)
class Line:
    """The fields of every line: `number` is its position in the file, `n` the number that the line itself gives.

    `source` is the file or folder beside the recording from which the line comes; None: the recording itself.
    """

    number: int
    n: int
    source: str | None = field(default=None, kw_only=True)

    @property
    def spot(self) -> str:
        """The position of the line, for people who know the recording."""
        if self.source is None:
            return f"line {self.number}"
        return f"{self.source}:{self.number}" if self.source.endswith(".ndjson") else f"{self.source}/"


@dataclass(frozen=True)
class Remark(Line):
    """A line that says nothing about the state of the cluster.

    `unused` names what the recording holds beside its lines. `unmodelled` says what happens here that no path of the
    model has; empty: nothing. `copies` is the number of copies of records that leaders may have appended, as far as the
    traffic shows the requests.
    """

    unused: str = ""
    unmodelled: str = ""
    copies: int = 0

    @property
    def says_something(self) -> bool:
        """Whether it says something about the recording."""
        return bool(self.unused or self.unmodelled or self.copies)


@dataclass(frozen=True)
class Acked(Line):
    """A producer learned that its record was written, at this offset (None: not recorded)."""

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
    """The content of a broker's disk: its log, and, if recorded, its epochs and its checkpointed high watermark."""

    broker: int
    log: tuple[str, ...]
    batch_epochs: tuple[int, ...] | None
    epoch_cache: tuple[tuple[int, int], ...] | None
    checkpoint: int | None


@dataclass(frozen=True)
class Metadata(Line):
    """The leader (None: no running leader) and the ISR that the cluster reports, as the broker `seen_by` knows them.

    `replicas` are those of the partition, also those that leave it, in a recording with reassignments.
    """

    leader: int | None
    isr: frozenset[int]
    leader_epoch: int | None
    brokers: frozenset[int]
    partition_epoch: int | None = None
    seen_by: int | None = None
    replicas: frozenset[int] | None = None


@dataclass(frozen=True)
class View(Line):
    """A broker, or the controller (None), shows this leader of this epoch, maybe later than others.

    `isr` is None if it may lag; with a partition epoch it is the ISR of that epoch.
    """

    broker: int | None
    leader: int | None
    leader_epoch: int
    isr: frozenset[int] | None
    partition_epoch: int | None = None


@dataclass(frozen=True)
class Read(Line):
    """A consumer read these records, at these ascending offsets; it does not see markers and aborted records."""

    records: tuple[str, ...]
    offsets: tuple[int, ...]


@dataclass(frozen=True)
class HighWatermark(Line):
    """The high watermark that a broker has in memory, as it answered to a fetch."""

    broker: int
    high_watermark: int


@dataclass(frozen=True)
class LogEnd(Line):
    """The log end offset of a follower, as its fetch shows it, and the leader epoch of its last record, if known."""

    broker: int
    log_end_offset: int
    last_epoch: int | None


@dataclass(frozen=True)
class Holds(Line):
    """A broker has these records at these offsets, as it has answered to a fetch; with their leader epochs, if known.

    Nothing is said about its other records.
    """

    broker: int
    records: tuple[str, ...]
    offsets: tuple[int, ...]
    batch_epochs: tuple[int, ...] | None


@dataclass(frozen=True)
class Applied(Line):
    """A broker has applied the metadata log at least up to this partition epoch, with KRaft."""

    broker: int
    partition_epoch: int


@dataclass(frozen=True)
class AlterRequest(Line):
    """A leader's request to change the ISR is on its way to the controller, with the epochs that the leader knows."""

    leader: int
    isr: frozenset[int]
    leader_epoch: int
    partition_epoch: int


@dataclass(frozen=True)
class ElectRequest(Line):
    """An administrator asks for a preferred election, or for an unclean one.

    `is_unasked`: nobody asks, and from here on the controller may elect the preferred leader by itself
    (`auto.leader.rebalance.enable`).
    """

    is_unclean: bool = False
    is_unasked: bool = False


@dataclass(frozen=True)
class Reassignment(Line):
    """An operator asks for these replicas, or cancels the reassignment (None): from here on, up to the answer, the
    controller may take the request.

    `is_unseen`: no line shows the request; later ones show replicas that it explains.
    """

    replicas: frozenset[int] | None
    is_unseen: bool = False


@dataclass(frozen=True)
class Reassigned(Line):
    """The controller answers such a request: it has taken it, or has refused it."""

    replicas: frozenset[int] | None
    is_refused: bool = False


@dataclass(frozen=True)
class Fault(Line):
    """A line that records an intervention on a broker: it was killed, frozen, thawed, started or stopped."""

    what: FaultKind
    broker: int


@dataclass(frozen=True)
class Header(Line):
    """The configuration of the cluster; None: not recorded.

    `replicas` are those of the partition at the beginning. `has_all_requests`: every request to change the ISR and
    every preferred election has a line. `first_offset` and `first_partition_epoch`: where offsets and partition epochs
    begin.
    """

    min_insync_replicas: int | None
    unclean_election: bool | None
    replicas: frozenset[int]
    has_all_requests: bool = False
    first_offset: int = 0
    first_partition_epoch: int = 0
