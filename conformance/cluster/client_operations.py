"""What the clients of a cluster can do: the part of `Cluster` that concerns them.

In:  operations of a driver.
Out: requests in the network.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from isrcheck.conformance.cluster.broker.broker import Broker
from isrcheck.conformance.cluster.clients.clients import Clients
from isrcheck.conformance.cluster.clients.consumer import Consumer
from isrcheck.conformance.cluster.clients.outside import OutsideClients
from isrcheck.conformance.cluster.clients.transactions import Transactions
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.network.messages import Acks, Isolation
from isrcheck.conformance.cluster.network.records import Control

PRODUCER = "producer"
CONSUMER = "consumer"


class ClientOperations(ABC):
    """The operations of producers, consumers, an administrator, and clients outside of the cluster."""

    _clients: Clients

    @abstractmethod
    def leader_known_to(self, broker: int) -> tuple[int | None, int]:
        """The leader that a broker's process knows, and its epoch; (None, -1) if it knows none, or none runs."""

    @abstractmethod
    def _broker(self, number: int) -> Broker:
        """The broker with this number. Errors: `ClusterError` if there is none."""

    @property
    def coordinator(self) -> Transactions:
        """The transaction coordinator, as its clients see it."""
        return self._clients.coordinator

    @property
    def outside(self) -> OutsideClients:
        """The clients that are not part of the cluster."""
        return self._clients.outside

    def refresh_metadata(self, broker: int, producer: str = PRODUCER) -> None:
        """A producer learns from a broker, which presumes to lead, that it does. Errors: `ClusterError` if the producer
        ignores this because it knows a later leader epoch, or the broker does not run.
        """
        self._clients.producer(producer).learns_of_leader(self.leader_known_to(broker)[1])

    def produce(self, payload: str, broker: int, acks: Acks = Acks.ALL, producer: str = PRODUCER) -> int:
        """A producer sends one record to a broker; returns the number of the request. Errors: `ClusterError`."""
        self._broker(broker)
        return self._clients.producer(producer).send(payload, broker, acks)

    def resend(self, number: int, broker: int, producer: str = PRODUCER) -> int:
        """A producer retries one of its requests; returns the number of the new request. Errors: `ClusterError`."""
        self._broker(broker)
        return self._clients.producer(producer).resend(number, broker)

    def disconnect(self, number: int, producer: str = PRODUCER) -> None:
        """Break the connection of a producer's request, so that the producer gets no response."""
        self._clients.producer(producer).gives_up(number)

    def init_producer_id(self, producer: str = PRODUCER) -> None:
        """A new instance of a producer, with a higher epoch; an open transaction of the old instance is aborted."""
        named = self._clients.producer(producer)
        was_open = named.in_transaction
        named.bump_epoch()
        if was_open:
            self._clients.coordinator.decide(producer, named.stamp, Control.ABORT)

    def begin_transaction(self, producer: str = PRODUCER) -> None:
        """From now on the producer's records are transactional. Errors: `ClusterError`."""
        self._clients.producer(producer).begin_transaction()

    def end_transaction(self, control: Control, producer: str = PRODUCER) -> None:
        """The coordinator decides to commit or abort. This writes no marker. Errors: `ClusterError`."""
        named = self._clients.producer(producer)
        named.end_transaction()
        self._clients.coordinator.decide(producer, named.stamp, control)

    def write_marker(self, broker: int, producer: str = PRODUCER) -> int:
        """The coordinator sends its decision to a broker; may be repeated. Returns the number of the attempt."""
        self._broker(broker)
        return self._clients.coordinator.write_marker(producer, broker)

    def delete_records(self, broker: int, before_offset: int) -> int:
        """An administrator asks a broker to delete below an offset (-1: the high watermark); returns the request's
        number.
        """
        self._broker(broker)
        return self._clients.delete_records(broker, before_offset)

    def check_low_watermark(self, broker: int) -> None:
        """A leader looks again whether it can answer DeleteRecords, as it does at every fetch of a follower."""
        running = self._broker(broker).running
        if running is not None:
            running.delete_records.try_complete()

    def consume(
        self,
        broker: int,
        consumer: str = CONSUMER,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        most: int | None = None,
        rack: int | None = None,
    ) -> int:
        """A consumer in the rack of a broker, or of none, asks a broker for the next records, at most so many; returns
        the number of the message. Errors: `ClusterError`.
        """
        self._broker(broker)
        return self._clients.consumer(consumer, isolation).fetch(broker, most, rack)

    def expire_preferred_read_replica(self, consumer: str = CONSUMER) -> None:
        """A consumer returns to the leader, because metadata.max.age.ms is over. Errors: as for `seek`."""
        self._consumer(consumer).expire_preferred_read_replica()

    def tell_consumer(
        self, broker: int, consumer: str = CONSUMER, isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> None:
        """A consumer learns from a broker, which presumes to lead, that it does; then it may ask it about offsets."""
        self._clients.consumer(consumer, isolation).learns_of_leader(broker, self.leader_known_to(broker)[1])

    def seek(self, position: int, consumer: str = CONSUMER) -> None:
        """A consumer moves to another position. Errors: `ClusterError` if there is no consumer of that name."""
        self._consumer(consumer).seek(position)

    def _consumer(self, name: str) -> Consumer:
        if name not in self._clients.consumers:
            raise ClusterError(f"there is no consumer {name}; create it with consume")
        return self._clients.consumers[name]
