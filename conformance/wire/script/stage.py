"""The brokers' side of a play: requests of producers wait until the trace comes to them.

In:  requests of real producers.
Out: `Arrival`, for the player, which answers each of them when the cluster does.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from isrcheck.conformance.cluster.broker.partition import NO_EPOCH
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.network.messages import Acks, Errors, ProduceResponse
from isrcheck.conformance.wire.driving.backend import Backend, Disconnected
from isrcheck.conformance.wire.driving.events import Tell
from isrcheck.conformance.wire.format.batches import Batch


@dataclass(frozen=True)
class Arrival:
    """A producer's request at a broker; its answer, or None if its connection is to break."""

    broker: int
    value: str
    answer: asyncio.Future[ProduceResponse | None]


class Still:
    """Time stands still between the steps of a trace, and nothing moves by itself."""

    def run(self) -> None:
        """Do nothing."""


class Stage(Backend):
    """The cluster during a trace. `expected` is the broker to which the next request of a producer has to come."""

    def __init__(self, cluster: Cluster, topic: str, tell: Tell) -> None:
        super().__init__(cluster, Still(), topic, tell)
        self.expected: int | None = None
        self.arrivals: list[Arrival] = []

    def leader_told_by(self, broker: int) -> tuple[int, int]:
        """The broker that the trace lets the producer write to: a client's metadata can be old.

        No epoch is told. With epochs, librdkafka never returns to the leader of an older one; the model's producer may.
        """
        return super().leader_told_by(broker) if self.expected is None else (self.expected, NO_EPOCH)

    async def append(self, broker: int, batch: Batch, acks: Acks) -> ProduceResponse | None:
        """Hold the request until the trace has a step for it.

        A request to another broker than the expected one is refused if that one does not lead; otherwise it is lost.
        """
        if self.expected is not None and broker != self.expected:
            if self.cluster.leader_known_to(broker)[0] == broker:
                raise Disconnected
            return ProduceResponse(-1, Errors.NOT_LEADER_OR_FOLLOWER)
        answer: asyncio.Future[ProduceResponse | None] = asyncio.get_running_loop().create_future()
        arrival = Arrival(broker, batch.values[0], answer)
        self.arrivals.append(arrival)
        if acks is Acks.NONE:
            return None
        try:
            found = await answer
        finally:
            if arrival in self.arrivals:
                self.arrivals.remove(arrival)
        if found is None:
            raise Disconnected
        return found
