"""The clients of the brokers: producers, consumers, transaction coordinator, administrator, clients outside the
cluster.

In:  the driver's calls; requests of real clients outside, each with a callback; responses.
Out: requests in the network; calls of the callbacks, with the response, or with None if the connection broke.

A client is created when it is first named, and lives as long as the cluster.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from isrcheck.conformance.cluster.clients.consumer import Consumer
from isrcheck.conformance.cluster.clients.producer import Producer
from isrcheck.conformance.cluster.clients.transactions import COORDINATOR, Transactions
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    ConsumerListOffsetsRequest,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    Isolation,
    ListOffsetsResponse,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
    Payload,
    ProduceRequest,
    ProduceResponse,
)
from isrcheck.conformance.cluster.network.network import CONTROLLER, Clock, Message, Network
from isrcheck.conformance.cluster.network.records import ProducerStamp

OUTSIDE = "outside"
"""The address of all these clients in the network."""

ConsumerRequest = ConsumerFetchRequest | ConsumerListOffsetsRequest | OffsetsForLeaderEpochRequest

Answered = Callable[[Payload | None], None]
"""A function that takes the response to a request, or None if the connection of the request broke."""


class OutsideClients:
    """The requests that clients outside of the cluster have sent, and that have no response yet."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._numbers = itertools.count()
        self._awaited: dict[int, tuple[int, Answered]] = {}

    def outstanding(self) -> Iterator[tuple[int, int]]:
        """The requests that have no response yet, as pairs: number of the message, number of the broker."""
        return ((request, broker) for request, (broker, _) in list(self._awaited.items()))

    def ask(self, broker: int, request: ConsumerRequest, answered: Answered) -> None:
        """Send a consumer's request to a broker; `answered` is called with the response."""
        self._awaited[self._network.send(OUTSIDE, broker, request)] = broker, answered

    def produce(
        self,
        broker: int,
        payload: str,
        acks: Acks,
        stamp: ProducerStamp | None,
        records: int,
        answered: Answered,
    ) -> None:
        """Send a producer's batch to a broker; with acks=0 there is no response, and `answered` is never called."""
        sent = self._network.send(OUTSIDE, broker, ProduceRequest(next(self._numbers), payload, acks, stamp, records))
        if acks is not Acks.NONE:
            self._awaited[sent] = broker, answered

    def receive(self, message: Message) -> None:
        """Hand a response to the function that waits for it; drop it if no function waits."""
        self._settle(message.in_reply_to, message.payload)

    def disconnected(self, request: int) -> None:
        """Pass None to the function that waits for the response to `request`: the request's connection broke."""
        self._settle(request, None)

    def _settle(self, request: int | None, payload: Payload | None) -> None:
        if request is not None and request in self._awaited:
            _, answered = self._awaited.pop(request)
            answered(payload)


ADMINISTRATOR = "administrator"


class Clients:
    """All clients of one cluster, by name."""

    def __init__(self, network: Network, settings: Settings, clock: Clock, switches: Switches, bug: Bug | None) -> None:
        self._network = network
        self._settings = settings
        self._switches = switches
        self._bug = bug
        self.producers: dict[str, Producer] = {}
        self.consumers: dict[str, Consumer] = {}
        self._producer_ids = itertools.count(1)
        self.coordinator = Transactions(network, clock, self._new_producer_id, switches)
        self.outside = OutsideClients(network)
        self._deletes: list[DeleteRecordsResponse | None] = []

    @property
    def deletes(self) -> tuple[DeleteRecordsResponse | None, ...]:
        """The response to each DeleteRecords request; None for a request without a delivered response."""
        return tuple(self._deletes)

    def producer(self, name: str) -> Producer:
        """The producer `name`, made on first use. Errors: `ClusterError` if another kind of client has the name."""
        if name not in self.producers:
            self._must_be_free(name)
            conditions = (self._network, self._settings, self._switches, self._bug)
            self.producers[name] = Producer(name, self._new_producer_id, *conditions)
        return self.producers[name]

    def consumer(self, name: str, isolation: Isolation) -> Consumer:
        """The consumer `name`, made on first use. Errors: `ClusterError` if another kind of client has the name, or if
        the consumer has a different isolation level."""
        if name not in self.consumers:
            self._must_be_free(name)
            self.consumers[name] = Consumer(name, isolation, self._network, self._settings, self._switches, self._bug)
        consumer = self.consumers[name]
        if consumer.isolation is not isolation:
            raise ClusterError(
                f"consumer {name} exists already, with isolation {consumer.isolation.value}; use another name"
            )
        return consumer

    def delete_records(self, broker: int, before_offset: int) -> int:
        """Ask a broker to delete the records below an offset (DeleteRecords); returns the number of the request."""
        number = len(self._deletes)
        self._network.send(ADMINISTRATOR, broker, DeleteRecordsRequest(number, before_offset))
        self._deletes.append(None)
        return number

    def receive(self, message: Message) -> None:
        """Handle a response that was delivered to a client."""
        payload = message.payload
        if message.destination == OUTSIDE:
            self.outside.receive(message)
        elif isinstance(payload, DeleteRecordsResponse):
            self._deletes[payload.send] = payload
        elif isinstance(payload, ConsumerFetchResponse):
            self.consumers[str(message.destination)].receive(message.source, payload)
        elif isinstance(payload, OffsetsForLeaderEpochResponse | ListOffsetsResponse):
            self.consumers[str(message.destination)].receive_offset(message.in_reply_to, payload)
        elif isinstance(payload, ProduceResponse) and message.destination == COORDINATOR:
            self.coordinator.receive(message.in_reply_to, payload)
        elif isinstance(payload, ProduceResponse):
            self.producers[str(message.destination)].receive(payload)

    def outstanding(self) -> Iterator[tuple[str, int, int]]:
        """The requests whose client awaits a response: (client, number of the message, broker)."""
        for name, producer in self.producers.items():
            yield from ((name, sent.request, sent.broker) for sent in producer.sent if sent.is_in_flight)
        yield from ((COORDINATOR, *each) for each in self.coordinator.outstanding())
        yield from ((OUTSIDE, *each) for each in self.outside.outstanding())

    def disconnected(self, client: str, request: int) -> None:
        """Tell a client that the connection of its message `request` broke."""
        if client in self.producers:
            self.producers[client].disconnected(request)
        elif client == COORDINATOR:
            self.coordinator.disconnected(request)
        elif client == OUTSIDE:
            self.outside.disconnected(request)

    def _new_producer_id(self) -> int:
        return next(self._producer_ids)

    def _must_be_free(self, name: str) -> None:
        if name in {*self.producers, *self.consumers, CONTROLLER, COORDINATOR, ADMINISTRATOR, OUTSIDE}:
            raise ClusterError(f"the name {name} belongs to a client of another kind; use another name")
