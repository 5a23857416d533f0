"""Transactions on the partition: the transaction coordinator for clients outside of the cluster, and the markers.

Clients outside of the cluster use the coordinator of transactions/coordinator.py. Its log is not replicated here: every
transition is durable at once. `send_markers` sends the markers of their transactions. The cluster's own producers do
not use that coordinator: `decide` records whether a producer commits or aborts, and `write_marker` sends the marker.
Source: fact sheet, 6.1, 6.2.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.cluster.log.storage import MemoryStorage
from isrcheck.conformance.cluster.network.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    Errors,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceResponse,
    WriteTxnMarkersRequest,
)
from isrcheck.conformance.cluster.network.network import Clock, Network
from isrcheck.conformance.cluster.network.records import Control, ProducerStamp
from isrcheck.conformance.cluster.transactions.coordinator import TransactionCoordinator, TransactionMetadata, TxnMarker

COORDINATOR = "coordinator"


@dataclass(frozen=True)
class Marker:
    """One attempt to write a marker; it has an `outcome` once a response was delivered, or the connection broke."""

    number: int
    producer: str
    broker: int
    control: Control
    outcome: Errors | None = None


class Transactions:
    """Holds the coordinator for the clients outside of the cluster, the decision on each producer's last transaction,
    and all attempts to write markers."""

    def __init__(self, network: Network, clock: Clock, new_producer_id: Callable[[], int], switches: Switches) -> None:
        self._network = network
        self._clock = clock
        self._new_producer_id = new_producer_id
        self._log = Log(MemoryStorage(), switches, None)
        self._coordinator = TransactionCoordinator(self._log, 0, new_producer_id, switches)
        self._decided: dict[str, tuple[ProducerStamp, Control]] = {}
        self._markers: list[Marker] = []
        self._unanswered: dict[int, int] = {}
        self._needless = itertools.count(-1, -1)

    @property
    def markers(self) -> tuple[Marker, ...]:
        """Every attempt to write a marker, in order of sending."""
        return tuple(self._markers)

    @property
    def decided(self) -> tuple[tuple[str, Control], ...]:
        """The producers with a decided transaction, each with the decision on its last transaction."""
        return tuple((producer, control) for producer, (_, control) in self._decided.items())

    def decide(self, producer: str, stamp: ProducerStamp, control: Control) -> None:
        """Decide to commit or abort the producer's transaction. Kafka: TransactionCoordinator.endTransaction."""
        self._decided[producer] = (stamp, control)

    def write_marker(self, producer: str, broker: int) -> int:
        """Ask a broker to write the marker of the producer's last decision; may be repeated. Returns the number of the
        attempt. Errors: `ClusterError` if no transaction of that producer is committed or aborted."""
        if producer not in self._decided:
            raise ClusterError(
                f"coordinator: no transaction of producer {producer} is committed or aborted; end its transaction first"
            )
        stamp, control = self._decided[producer]
        return self._unanswered[self._send(producer, broker, stamp, control)]

    def receive(self, request: int | None, response: ProduceResponse) -> None:
        """Note the response to an attempt to write a marker."""
        self._markers[response.send] = replace(self._markers[response.send], outcome=response.error)
        if request in self._unanswered:
            del self._unanswered[request]
            if request in self._coordinator.markers.sent:
                self._coordinator.markers.receive(request, response.error)
                self._go_on()

    def outstanding(self) -> tuple[tuple[int, int], ...]:
        """The attempts without an outcome: (number of the message, broker)."""
        return tuple((request, self._markers[number].broker) for request, number in self._unanswered.items())

    def disconnected(self, request: int) -> None:
        """Note that the connection of an attempt to write a marker broke."""
        if request in self._unanswered:
            number = self._unanswered.pop(request)
            self._markers[number] = replace(self._markers[number], outcome=Errors.NETWORK_EXCEPTION)
            if request in self._coordinator.markers.sent:
                self._coordinator.markers.disconnected(request)

    # Clients outside of the cluster

    @property
    def transactions(self) -> tuple[tuple[str, TransactionMetadata], ...]:
        """For each transactional id of a client outside of the cluster, its present state in the coordinator."""
        return tuple(self._coordinator.states.states.items())

    def init_producer_id(self, transactional_id: str | None, timeout: int) -> InitProducerIdResponse:
        """Give a new producer id if `transactional_id` is None; otherwise give the producer id of the transactional id,
        with the next epoch. Returns the coordinator's answer."""
        if transactional_id is None:
            return InitProducerIdResponse(Errors.NONE, self._new_producer_id(), 0)
        answers: list[InitProducerIdResponse] = []
        self._coordinator.handle_init_producer_id(InitProducerIdRequest(transactional_id, timeout), answers.append)
        self._go_on()
        return answers[0]

    def add_partition(self, transactional_id: str, producer_id: int, producer_epoch: int, partition: str) -> Errors:
        """Make a partition part of the producer's transaction; returns NONE, or the coordinator's error."""
        answers: list[AddPartitionsToTxnResponse] = []
        request = AddPartitionsToTxnRequest(transactional_id, producer_id, producer_epoch, partition)
        self._coordinator.handle_add_partitions(request, self._clock.now, answers.append)
        self._go_on()
        return _as_before_2_7(answers[0].error)

    def end_transaction(self, transactional_id: str, producer_id: int, producer_epoch: int, control: Control) -> Errors:
        """Decide to commit or abort the producer's transaction; returns NONE, or the coordinator's error."""
        answers: list[EndTxnResponse] = []
        request = EndTxnRequest(transactional_id, producer_id, producer_epoch, control)
        self._coordinator.handle_end_transaction(request, answers.append)
        self._go_on()
        return _as_before_2_7(answers[0].error)

    def expire_transactions(self) -> None:
        """Abort the transactions that have been open for longer than their timeout."""
        self._coordinator.abort_timed_out_transactions(self._clock.now)
        self._go_on()

    def send_markers(self, broker: int, partition: str) -> None:
        """Send the queued markers of decided transactions to this broker, the partition's leader.

        A transaction may also have partitions outside of the cluster, such as a group's offsets: these get no marker.
        """

        def send(marker: TxnMarker) -> int:
            if marker.partition != partition:
                return next(self._needless)
            self.decide(marker.transactional_id, marker.stamp, marker.control)
            return self._send(marker.transactional_id, broker, marker.stamp, marker.control)

        markers = self._coordinator.markers
        for each in {marker.partition for marker in markers.queued}:
            markers.send_queued(each, send)
        for request in [request for request in markers.sent if request < 0]:
            markers.receive(request, Errors.NONE)
        self._go_on()

    def _send(self, producer: str, broker: int, stamp: ProducerStamp, control: Control) -> int:
        number = len(self._markers)
        request = self._network.send(COORDINATOR, broker, WriteTxnMarkersRequest(number, stamp, control))
        self._markers.append(Marker(number, producer, broker, control))
        self._unanswered[request] = number
        return request

    def _go_on(self) -> None:
        """Replicate the coordinator's log, and write the completion of the transactions whose markers are written."""
        self._replicate()
        self._coordinator.write_completions()
        self._replicate()

    def _replicate(self) -> None:
        self._log.increment_high_watermark(self._log.log_end_offset)
        self._coordinator.states.replicated()


def _as_before_2_7(error: Errors) -> Errors:
    """Translate an error for releases before KIP-588, which have a different error for a fenced producer."""
    return Errors.INVALID_PRODUCER_EPOCH if error is Errors.PRODUCER_FENCED else error
