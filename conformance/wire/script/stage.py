"""The brokers' side of a played trace: requests of clients wait until the trace reaches their step.

There are two transaction coordinators. A separate coordinator (`Stage.transactions`) answers the real producers; the
cluster's own coordinator holds the trace's transactions, and decides them in the steps of the trace.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

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
"""How many seconds a client may take for what the trace needs."""

POLL_SECONDS = 0.002


async def comes(is_there: Callable[[], bool]) -> bool:
    """Wait until `is_there` is true, at most SECONDS; returns whether it became true."""
    for _ in range(int(SECONDS / POLL_SECONDS)):
        if is_there():
            return True
        await asyncio.sleep(POLL_SECONDS)
    return False


@dataclass(frozen=True)
class Arrival:
    """A producer's request that waits at a broker for its `answer`; None as answer breaks the connection."""

    broker: int
    value: str
    stamp: ProducerStamp | None
    answer: asyncio.Future[ProduceResponse | None]


@dataclass(frozen=True)
class Waiting:
    """A consumer's fetch that waits at a broker for its `answer`; None as answer breaks the connection."""

    broker: int
    client: str
    request: ConsumerFetchRequest
    answer: asyncio.Future[ConsumerFetchResponse | None]


Answer = TypeVar("Answer", ProduceResponse, ConsumerFetchResponse)
Held = TypeVar("Held", Arrival, Waiting)


class Still:
    """A replacement for `Pump` (pump.py) that does nothing: between the steps of a trace, the cluster stands still."""

    def run(self) -> None:
        """Do nothing."""


class Stage(Backend):
    """The cluster while a trace is played: produce requests and fetches wait here until the trace reaches their step.

    `expected` is the broker at which the next request of a producer must arrive; None allows any broker. `leaders` maps
    the name of each consumer in the trace to the leader and the leader epoch that this consumer knows in the trace.
    """

    def __init__(self, cluster: Cluster, topic: str, tell: Tell) -> None:
        super().__init__(cluster, Still(), topic, tell)
        self.expected: int | None = None
        self.arrivals: list[Arrival] = []
        self.leaders: dict[str, tuple[int, int]] = {}
        self.fetches: list[Waiting] = []
        self.transactions = Transactions(Network(), Clock(), itertools.count(1).__next__, Switches())
        """The coordinator of the real producers, which writes no markers."""

    def leader_told_by(self, broker: int, client: str) -> tuple[int, int]:
        """The leader and the leader epoch that the trace presents to the client: a client's metadata can be old.

        Producers get NO_EPOCH. With epochs, librdkafka never returns to the leader of an older epoch; the model's
        producer may.
        """
        if client in self.leaders:
            return self.leaders[client]
        return super().leader_told_by(broker, client) if self.expected is None else (self.expected, NO_EPOCH)

    async def append(self, broker: int, batch: Batch, acks: Acks) -> ProduceResponse | None:
        """Hold the produce request with `batch` until the trace has a step for it; return the answer, None with acks=0.

        A broker other than `expected` refuses the request or, if it takes itself for the leader, breaks the connection.
        """
        if self.expected is not None and broker != self.expected:
            if self.cluster.leader_known_to(broker)[0] == broker:
                raise Disconnected
            return ProduceResponse(-1, Errors.NOT_LEADER_OR_FOLLOWER)
        arrival = Arrival(broker, batch.values[0], batch.stamp, asyncio.get_running_loop().create_future())
        self.arrivals.append(arrival)
        return None if acks is Acks.NONE else await _answer_of(arrival.answer, arrival, self.arrivals)

    async def ask(self, broker: int, request: ConsumerRequest, client: str) -> Payload:
        """Hold the fetch of a trace's consumer until the trace has a step for it; answer other requests at once."""
        if client not in self.leaders:
            return await super().ask(broker, request, client)
        if self.leaders[client][1] == NO_EPOCH:
            request = replace(request, current_leader_epoch=None)  # librdkafka sends 0 if it knows none
        if not isinstance(request, ConsumerFetchRequest):
            return self.answer_to(broker, request)
        waiting = Waiting(broker, client, request, asyncio.get_running_loop().create_future())
        self.fetches.append(waiting)
        return await _answer_of(waiting.answer, waiting, self.fetches)

    def answer_to(self, broker: int, request: ConsumerRequest) -> Payload:
        """Deliver a consumer's request to the broker now, and return the answer. Raises Disconnected."""
        answers: list[Payload | None] = []
        self.cluster.outside.ask(broker, request, answers.append)
        number = self.cluster.messages()[-1].number
        self.cluster.deliver(number)
        for message in self.cluster.messages():
            if message.in_reply_to == number:
                self.cluster.deliver(message.number)
        if not answers or answers[0] is None:
            raise Disconnected
        return answers[0]


async def _answer_of(coming: asyncio.Future[Answer | None], held: Held, others: list[Held]) -> Answer:
    """Wait for `coming`, the answer to the request `held`; take `held` out of `others`, and return the answer. Raises
    Disconnected if the answer is None."""
    try:
        answer = await coming
    finally:
        if held in others:
            others.remove(held)
    if answer is None:
        raise Disconnected
    return answer
