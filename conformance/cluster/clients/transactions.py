"""The transaction coordinator, for one partition: its decisions, and the markers that record them.

In:  requests of transactional producers; requests to write a marker; responses, as messages.
Out: answers; WriteTxnMarkers requests in the network.

A decision is durable at once; the coordinator's log is not modelled. The cluster's own producers report the decision
(`decide`), and a driver has the markers written. Transactional ids of clients outside of the cluster go through all
states (transaction_state.py), and `send_markers` writes their markers. Source: fact sheet, 6.1, 6.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from isrcheck.conformance.cluster.clients.transaction_state import LAST_EPOCH, TransactionMetadata
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.network.clock import Clock
from isrcheck.conformance.cluster.network.messages import Errors, ProduceResponse, WriteTxnMarkersRequest
from isrcheck.conformance.cluster.network.network import Network
from isrcheck.conformance.cluster.network.records import NO_SEQUENCE, Control, ProducerStamp

COORDINATOR = "coordinator"


@dataclass(frozen=True)
class Marker:
    """One attempt to write a marker; `outcome` is None until a response was delivered, or the connection broke."""

    number: int
    producer: str
    broker: int
    control: Control
    outcome: Errors | None = None


@dataclass(frozen=True)
class InitializedProducer:
    """The answer to InitProducerId."""

    error: Errors
    producer_id: int = -1
    producer_epoch: int = -1


class TransactionCoordinator:
    """The decisions on the last transaction of each producer."""

    def __init__(self, network: Network, clock: Clock, new_producer_id: Callable[[], int]) -> None:
        self._network = network
        self._clock = clock
        self._new_producer_id = new_producer_id
        self._transactions: dict[str, TransactionMetadata] = {}
        self._decided: dict[str, tuple[ProducerStamp, Control]] = {}
        self._markers: list[Marker] = []
        self._unanswered: dict[int, int] = {}

    @property
    def markers(self) -> tuple[Marker, ...]:
        """Every attempt to write a marker, in order of sending."""
        return tuple(self._markers)

    @property
    def decided(self) -> tuple[tuple[str, Control], ...]:
        """Maps each producer with a decided transaction to the decision on its last one."""
        return tuple((producer, control) for producer, (_, control) in self._decided.items())

    def decide(self, producer: str, stamp: ProducerStamp, control: Control) -> None:
        """Decide to commit or abort the producer's transaction. Kafka: TransactionCoordinator.endTransaction."""
        self._decided[producer] = (stamp, control)

    def write_marker(self, producer: str, broker: int) -> int:
        """Ask a broker to write the marker; may be repeated. Returns the number of the attempt.

        Errors: `ClusterError` if nothing is decided for that producer.
        """
        if producer not in self._decided:
            raise ClusterError(f"coordinator: nothing is decided for producer {producer}; end its transaction first")
        stamp, control = self._decided[producer]
        number = len(self._markers)
        request = self._network.send(COORDINATOR, broker, WriteTxnMarkersRequest(number, stamp, control))
        self._markers.append(Marker(number, producer, broker, control))
        self._unanswered[request] = number
        return number

    def receive(self, request: int | None, response: ProduceResponse) -> None:
        """Note the outcome of an attempt to write a marker. A partition that refuses the epoch needs no marker."""
        if request in self._unanswered:
            del self._unanswered[request]
        self._markers[response.send] = attempt = replace(self._markers[response.send], outcome=response.error)
        found = self._transactions.get(attempt.producer)
        if found and found.decision and response.error in (Errors.NONE, Errors.INVALID_PRODUCER_EPOCH):
            found.complete()

    def outstanding(self) -> tuple[tuple[int, int], ...]:
        """The attempts without an outcome: (number of the message, broker)."""
        return tuple((request, self._markers[number].broker) for request, number in self._unanswered.items())

    def disconnected(self, request: int) -> None:
        """The connection of an attempt broke."""
        if request in self._unanswered:
            number = self._unanswered.pop(request)
            self._markers[number] = replace(self._markers[number], outcome=Errors.NETWORK_EXCEPTION)

    # Clients outside of the cluster

    @property
    def transactions(self) -> tuple[tuple[str, TransactionMetadata], ...]:
        """The transactional ids of clients outside of the cluster, as they are now."""
        items = self._transactions.items()
        return tuple((name, replace(each, partitions=set(each.partitions))) for name, each in items)

    def init_producer_id(self, transactional_id: str | None, timeout: int) -> InitializedProducer:
        """Give an idempotent producer a new id; give a transactional one its id and the next epoch.

        Kafka: TransactionCoordinator.handleInitProducerId.
        """
        if transactional_id is None:
            return InitializedProducer(Errors.NONE, self._new_producer_id(), 0)
        found = self._transactions.get(transactional_id)
        if found is None:
            found = self._transactions[transactional_id] = TransactionMetadata(self._new_producer_id(), timeout)
            return InitializedProducer(Errors.NONE, found.producer_id, found.producer_epoch)
        error = found.init_producer_id(timeout)
        if error is not Errors.NONE:
            return InitializedProducer(error)
        if found.producer_epoch > LAST_EPOCH:
            found.producer_id, found.producer_epoch = self._new_producer_id(), 0
        return InitializedProducer(error, found.producer_id, found.producer_epoch)

    def add_partition(self, transactional_id: str, producer_id: int, producer_epoch: int, partition: str) -> Errors:
        """Make a partition part of the producer's transaction. Kafka: handleAddPartitionsToTransaction."""
        found = self._transactions.get(transactional_id)
        if found is None:
            return Errors.INVALID_PRODUCER_ID_MAPPING
        return found.add_partition(producer_id, producer_epoch, partition, self._clock.now)

    def end_transaction(self, transactional_id: str, producer_id: int, producer_epoch: int, control: Control) -> Errors:
        """Decide to commit or abort the producer's transaction. Kafka: handleEndTransaction."""
        found = self._transactions.get(transactional_id)
        return found.end(producer_id, producer_epoch, control) if found else Errors.INVALID_PRODUCER_ID_MAPPING

    def expire_transactions(self) -> None:
        """Abort the transactions that are open for too long. Kafka: abortTimedOutTransactions."""
        for each in self._transactions.values():
            each.expire(self._clock.now)

    def send_markers(self, broker: int, partition: str) -> None:
        """Send the marker of each decided transaction to the partition's leader, if none is on its way.

        A transaction without the partition needs none.
        """
        waiting = {self._markers[number].producer for number in self._unanswered.values()}
        for transactional_id, each in self._transactions.items():
            if each.decision is None or transactional_id in waiting:
                continue
            if partition not in each.partitions:
                each.complete()
                continue
            stamp = ProducerStamp(each.producer_id, each.producer_epoch, NO_SEQUENCE, is_transactional=True)
            self.decide(transactional_id, stamp, each.decision)
            self.write_marker(transactional_id, broker)
