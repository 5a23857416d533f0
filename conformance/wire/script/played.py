"""The results and reads of the clients while a trace was played, and the error for a client that deviates from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from isrcheck.conformance.replay.compare import Divergence
from isrcheck.models.messages import UsageError


@dataclass(frozen=True)
class Told:
    """The result in a producer's callback for its record: an error, or the offset, which is unknown with acks=0."""

    error: str | None
    offset: int | None

    def __str__(self) -> str:
        if self.error is not None:
            return f"not delivered: {self.error}"
        return "delivered" if self.offset is None else f"delivered at offset {self.offset}"


@dataclass(frozen=True)
class Reading:
    """What a new consumer has read: (offset, value) of each record; where the partition starts and ends."""

    records: tuple[tuple[int, str], ...]
    start_offset: int
    end_offset: int

    @property
    def values(self) -> list[str]:
        """The values of the records, in the order of reading."""
        return [value for _, value in self.records]


class ClientError(UsageError):
    """A client did not do what the trace needs, or not in time."""


def otherwise(position: int) -> str:
    """The beginning of the error message about a client that deviates from the trace at step `position`."""
    return f"the client did something else at step {position}"


@dataclass
class Played:
    """The results and reads of the clients while a trace was played, and the cluster's divergence from the trace."""

    told: dict[str, tuple[int, Told]] = field(default_factory=dict)
    """By record: the step in which its producer had a result, and the result."""
    ended: dict[int, int] = field(default_factory=dict)
    """By transaction: the step in which its producer learned that it is committed or aborted."""
    reading: Reading | None = None
    """What a new consumer reads afterwards."""
    committed: Reading | None = None
    """What a new consumer with read_committed reads afterwards, if the trace has transactions."""
    is_leaderless: bool = False
    """Whether the partition had no leader when the new consumer read."""
    consumed: list[list[tuple[int, str]]] = field(default_factory=list)
    """For each consumer with a position: the offset and the value of every record that it has read, in order."""
    divergence: Divergence | None = None
