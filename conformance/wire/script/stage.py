"""The brokers' side of a play: requests of clients wait until the trace reaches their step.

In:  requests of real producers and consumers.
Out: `Arrival` and `Waiting`, for the player, which answers each of them when the cluster does.

A separate coordinator answers the real producers' requests to the transaction coordinator. The cluster's coordinator
has the trace's transactions, and takes their decisions step by step.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

from isrcheck.conformance.cluster.broker.partition import NO_EPOCH
from isrcheck.conformance.cluster.clients.clients import ConsumerRequest
from isrcheck.conformance.cluster.clients.transactions import Transactions
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    Errors,
    Payload,
    ProduceResponse,
)
from isrcheck.conformance.cluster.network.network import Clock, Network
from isrcheck.conformance.cluster.network.records import ProducerStamp
from isrcheck.conformance.wire.driving.backend import Backend, Disconnected
from isrcheck.conformance.wire.driving.events import Tell
from isrcheck.conformance.wire.format.batches import Batch

SECONDS = 10.0
"""How long a client may take for what the trace needs."""

POLL_SECONDS = 0.002


async def comes(found: Callable[[], bool]) -> bool:
    """Wait until something is found; returns whether it came in time."""
    for _ in range(int(SECONDS / POLL_SECONDS)):
        if found():
            return True
        await asyncio.sleep(POLL_SECONDS)
    return False


@dataclass(frozen=True)
class Arrival:
    """A producer's request at a broker; its answer, or None if its connection is to break."""

    broker: int
    value: str
    stamp: ProducerStamp | None
    answer: asyncio.Future[ProduceResponse | None]


@dataclass(frozen=True)
class Waiting:
    """A fetch of a consumer with a position at a broker; its answer, or None if its connection is to break."""

    broker: int
    client: str
    request: ConsumerFetchRequest
    answer: asyncio.Future[ConsumerFetchResponse | None]


class Still:
    """Time stands still between the steps of a trace, and nothing moves by itself."""

    def run(self) -> None:
        """Do nothing."""


class Stage(Backend):
    """The cluster during a trace.

    `expected` is the broker to which the next request of a producer has to come. `leaders` has, by the name of each
    consumer with a position, the leader and the leader epoch that the trace lets it know.
    """

    def __init__(self, cluster: Cluster, topic: str, tell: Tell) -> None:
        super().__init__(cluster, Still(), topic, tell)
        self.expected: int | None = None
        self.arrivals: list[Arrival] = []
        self.leaders: dict[str, tuple[int, int]] = {}
        self.fetches: list[Waiting] = []
        self._transactions = Transactions(Network(), Clock(), itertools.count(1).__next__, Switches())

    @property
    def transactions(self) -> Transactions:
        """The coordinator of the real producers, which writes no markers."""
        return self._transactions

    def leader_told_by(self, broker: int, client: str) -> tuple[int, int]:
        """The broker that the trace presents to the client as the leader: a client's metadata can be old.

        Producers get no epoch. With epochs, librdkafka never returns to the leader of an older epoch; the model's
        producer may.
        """
        if client in self.leaders:
            return self.leaders[client]
        return super().leader_told_by(broker, client) if self.expected is None else (self.expected, NO_EPOCH)

    async def append(self, broker: int, batch: Batch, acks: Acks) -> ProduceResponse | None:
        """Hold the request until the trace has a step for it.

        A request to an unexpected broker is refused if that broker does not lead; otherwise it is lost.
        """
        if self.expected is not None and broker != self.expected:
            if self.cluster.leader_known_to(broker)[0] == broker:
                raise Disconnected
            return ProduceResponse(-1, Errors.NOT_LEADER_OR_FOLLOWER)
        answer: asyncio.Future[ProduceResponse | None] = asyncio.get_running_loop().create_future()
        arrival = Arrival(broker, batch.values[0], batch.stamp, answer)
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

    async def ask(self, broker: int, request: ConsumerRequest, client: str) -> Payload:
        """Hold a fetch of a consumer with a position until the trace has a step for it; answer its questions about
        offsets at once.
        """
        if client not in self.leaders:
            return await super().ask(broker, request, client)
        if self.leaders[client][1] == NO_EPOCH:
            request = replace(request, current_leader_epoch=None)  # librdkafka sends 0 if it knows none
        if not isinstance(request, ConsumerFetchRequest):
            return self.answer_to(broker, request)
        answer: asyncio.Future[ConsumerFetchResponse | None] = asyncio.get_running_loop().create_future()
        waiting = Waiting(broker, client, request, answer)
        self.fetches.append(waiting)
        try:
            found = await answer
        finally:
            self.fetches.remove(waiting)
        if found is None:
            raise Disconnected
        return found

    def answer_to(self, broker: int, request: ConsumerRequest) -> Payload:
        """The broker's answer to a consumer's request, which it receives now. Raises Disconnected."""
        found: list[Payload | None] = []
        self.cluster.outside.ask(broker, request, found.append)
        number = self.cluster.messages()[-1].number
        self.cluster.deliver(number)
        for message in self.cluster.messages():
            if message.in_reply_to == number:
                self.cluster.deliver(message.number)
        if not found or found[0] is None:
            raise Disconnected
        return found[0]
