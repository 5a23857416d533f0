"""What happened in a play.

In:  nothing.
Out: `Played`; `ClientError`, and how its messages begin.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from isrcheck.conformance.replay.compare import Divergence
from isrcheck.conformance.wire.script.real_consumer import Reading
from isrcheck.conformance.wire.script.real_producer import Told
from isrcheck.models.messages import UsageError


class ClientError(UsageError):
    """A client did not do, or not in time, what the trace needs."""


def otherwise(position: int) -> str:
    """What a client's deviation from the trace is called: the beginning of a message."""
    return f"the client did something else at step {position}"


@dataclass
class Played:
    """What happened.

    `told` maps each record to what its producer was told, and after which step; `ended` maps each transaction whose
    producer was told that it is committed or aborted to that step. `reading` and `committed` are what new consumers
    read afterwards, with read_uncommitted and, if the trace has transactions, with read_committed; `is_leaderless`: the
    partition had no leader then. `consumed` has, for each consumer with a position, the offset and the value of every
    record that it has read, in order.
    """

    told: dict[str, tuple[int, Told]] = field(default_factory=dict)
    ended: dict[int, int] = field(default_factory=dict)
    reading: Reading | None = None
    committed: Reading | None = None
    is_leaderless: bool = False
    consumed: list[list[tuple[int, str]]] = field(default_factory=list)
    divergence: Divergence | None = None
