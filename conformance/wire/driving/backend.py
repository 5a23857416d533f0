"""What the requests of clients are answered from: the cluster, and what the brokers tell of each other.

In:  a cluster and its pump; the addresses of the brokers.
Out: the cluster's answers, when they come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from isrcheck.conformance.cluster.clients.clients import Answered, ConsumerRequest
from isrcheck.conformance.cluster.clients.transactions import Transactions
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    Errors,
    Payload,
    ProduceResponse,
)
from isrcheck.conformance.wire.driving.events import Tell
from isrcheck.conformance.wire.format.batches import Batch

MOST_STORED = 256 << 20
"""Bytes of batches that a server takes before it takes no more."""

NO_LEADER = -1


class Disconnected(Exception):
    """The broker does not answer: the client's connection breaks."""


class Moves(Protocol):
    """What brings the cluster up to date (pump.py)."""

    def run(self) -> None:
        """Bring the cluster up to date."""


class Backend:
    """The cluster, as the brokers' listeners see it."""

    def __init__(self, cluster: Cluster, pump: Moves, topic: str, tell: Tell) -> None:
        self.cluster = cluster
        self.pump = pump
        self.topic = topic
        self.tell = tell
        self.addresses: Mapping[int, tuple[str, int]] = {}
        self._stored = 0

    def live(self) -> list[int]:
        """The brokers that run, in order."""
        return [each for each in self.cluster.brokers if self.cluster.is_running(each)]

    @property
    def transactions(self) -> Transactions:
        """The coordinator of the clients' transactions."""
        return self.cluster.coordinator

    def leader_told_by(self, broker: int, client: str) -> tuple[int, int]:
        """The leader and its epoch, as far as a broker knows; NO_LEADER if it knows none that runs."""
        leader, epoch = self.cluster.leader_known_to(broker)
        return (leader if leader is not None and self.cluster.is_running(leader) else NO_LEADER, epoch)

    def in_sync(self) -> list[int]:
        """The ISR that the controller has recorded."""
        return sorted(self.cluster.controller_metadata().isr)

    def coordinator(self) -> int:
        """The broker on which the coordinators of groups and transactions run: the first that runs."""
        return next(iter(self.live()), self.cluster.brokers[0])

    async def append(self, broker: int, batch: Batch, acks: Acks) -> ProduceResponse | None:
        """Send a batch to a broker, and wait for the answer; None with acks=0. Raises Disconnected."""
        if self._stored + len(batch.payload) > MOST_STORED:
            self.tell(f"the server holds {MOST_STORED >> 20} MiB of records and takes no more; start it anew")
            return ProduceResponse(-1, Errors.KAFKA_STORAGE_ERROR)
        self._stored += len(batch.payload)
        if acks is Acks.NONE:
            self.cluster.outside.produce(broker, batch.payload, acks, batch.stamp, batch.records, _ignore)
            self.pump.run()
            return None

        def send(answered: Answered) -> None:
            self.cluster.outside.produce(broker, batch.payload, acks, batch.stamp, batch.records, answered)

        answer = await self._answer(send)
        assert isinstance(answer, ProduceResponse)
        return answer

    async def ask(self, broker: int, request: ConsumerRequest, client: str) -> Payload:
        """Send a consumer's request to a broker, and wait for the answer. Raises Disconnected."""
        return await self._answer(lambda answered: self.cluster.outside.ask(broker, request, answered))

    async def _answer(self, send: Callable[[Answered], None]) -> Payload:
        answer: asyncio.Future[Payload | None] = asyncio.get_running_loop().create_future()

        def settle(payload: Payload | None) -> None:
            if not answer.done():  # the client may have gone
                answer.set_result(payload)

        send(settle)
        self.pump.run()
        found = await answer
        if found is None:
            raise Disconnected
        return found


def _ignore(payload: Payload | None) -> None:
    """With acks=0 there is no response to take."""
