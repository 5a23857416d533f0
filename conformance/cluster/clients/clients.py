"""All clients of the brokers: producers, consumers, the transaction coordinator, an administrator.

In:  the driver's calls; responses, as messages.
Out: requests in the network.

A client is created when it is first named, and lives as long as the cluster.
"""

from __future__ import annotations

from isrcheck.conformance.cluster.clients.consumer import Consumer
from isrcheck.conformance.cluster.clients.producer import Producer
from isrcheck.conformance.cluster.clients.transactions import COORDINATOR, TransactionCoordinator
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings
from isrcheck.conformance.cluster.network.messages import (
    ConsumerFetchResponse,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    Isolation,
    ProduceResponse,
)
from isrcheck.conformance.cluster.network.network import CONTROLLER, Message, Network

ADMINISTRATOR = "administrator"


class Clients:
    """All clients of one cluster, by name."""

    def __init__(self, network: Network, settings: Settings) -> None:
        self._network = network
        self._settings = settings
        self.producers: dict[str, Producer] = {}
        self.consumers: dict[str, Consumer] = {}
        self.coordinator = TransactionCoordinator(network)
        self._deletes: list[DeleteRecordsResponse | None] = []

    @property
    def deletes(self) -> tuple[DeleteRecordsResponse | None, ...]:
        """The response to each DeleteRecords request; None if it was not delivered."""
        return tuple(self._deletes)

    def producer(self, name: str) -> Producer:
        """The producer of that name. Errors: `ClusterError` if another kind of client has the name."""
        if name not in self.producers:
            self._must_be_free(name)
            self.producers[name] = Producer(name, len(self.producers) + 1, self._network, self._settings)
        return self.producers[name]

    def consumer(self, name: str, isolation: Isolation) -> Consumer:
        """The consumer of that name. Errors: `ClusterError` if the name is taken, or its isolation level differs."""
        if name not in self.consumers:
            self._must_be_free(name)
            self.consumers[name] = Consumer(name, isolation, self._network)
        consumer = self.consumers[name]
        if consumer.isolation is not isolation:
            raise ClusterError(f"consumer {name} has isolation {consumer.isolation.value}; use another name")
        return consumer

    def delete_records(self, broker: int, before_offset: int) -> int:
        """Ask a broker to move the log start up; returns the number of the request."""
        number = len(self._deletes)
        self._network.send(ADMINISTRATOR, broker, DeleteRecordsRequest(number, before_offset))
        self._deletes.append(None)
        return number

    def receive(self, message: Message) -> None:
        """Handle a response that was delivered to a client."""
        payload = message.payload
        if isinstance(payload, DeleteRecordsResponse):
            self._deletes[payload.send] = payload
        elif isinstance(payload, ConsumerFetchResponse):
            self.consumers[str(message.destination)].receive(payload)
        elif isinstance(payload, ProduceResponse) and message.destination == COORDINATOR:
            self.coordinator.receive(payload)
        elif isinstance(payload, ProduceResponse):
            self.producers[str(message.destination)].receive(payload)

    def _must_be_free(self, name: str) -> None:
        if name in {*self.producers, *self.consumers, CONTROLLER, COORDINATOR, ADMINISTRATOR}:
            raise ClusterError(f"{name} is a client of another kind; use another name")
