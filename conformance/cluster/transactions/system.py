"""A separate system for transactions: a coordinator with its log, partitions, instances of a producer, a network.

Nothing happens by itself. Each partition has one log, and so has the coordinator. A log stands for all replicas, so
nothing acknowledged is lost. All instances of the producer share one transactional.id. Source: fact sheet, section 6.
"""

from __future__ import annotations

import itertools

from isrcheck.conformance.cluster.configuration.bugs import TransactionBug
from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.cluster.log.storage import MemoryStorage
from isrcheck.conformance.cluster.network.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
    ProduceResponse,
    TransactionResponse,
    WriteTxnMarkersRequest,
)
from isrcheck.conformance.cluster.network.network import Clock, Message, Network
from isrcheck.conformance.cluster.transactions.coordinator import TransactionCoordinator, TxnMarker
from isrcheck.conformance.cluster.transactions.leader import PRODUCER_ID_EXPIRATION, TransactionLeader
from isrcheck.conformance.cluster.transactions.producer import OF_INPUT, TIMEOUT, TransactionalProducer

TRANSACTIONAL_ID = "application"
COORDINATOR = "coordinator"
FIRST_PRODUCER_ID = 1


class TransactionalCluster:
    """A system with partitions 0, 1, ... that transactions write to; the last partition is `__consumer_offsets`.

    The application writes records with timestamps that are older than transactional.id.expiration.ms, so only markers
    keep a producer's state in a partition from expiring (KAFKA-9144).
    """

    def __init__(self, switches: Switches, partitions: int, bug: str | None = None, *, first_epoch: int = 0) -> None:
        self._switches = switches
        self._first_epoch = first_epoch
        self._bug = None if bug is None else TransactionBug[bug.upper()]
        self._network = Network()
        self._clock = Clock()
        self._clock.advance(2 * PRODUCER_ID_EXPIRATION)
        self._producer_ids = itertools.count(FIRST_PRODUCER_ID)
        self._log = Log(MemoryStorage(), switches, None)
        self.coordinator = self._elected(0)
        shared = (COORDINATOR, self._network, self._clock, switches, self._bug)
        self.leaders = [TransactionLeader(number, number == partitions - 1, *shared) for number in range(partitions)]
        self.producers: list[TransactionalProducer] = []

    @property
    def messages(self) -> tuple[Message, ...]:
        """Every message in flight, in order of sending."""
        return self._network.in_flight

    def start_producer(self) -> None:
        """Start the next instance of the producer."""
        name = f"producer {len(self.producers)}"
        shared = (TRANSACTIONAL_ID, COORDINATOR, self._network, self._committed_offset, self._switches)
        self.producers.append(TransactionalProducer(name, *shared))

    def send(self, producer: int, partition: int) -> None:
        """A producer sends the record of its transaction to a partition."""
        self.producers[producer].send(partition, timestamp=0)

    def deliver(self, number: int) -> None:
        """Deliver a message. Errors: `ClusterError` if it is not in flight."""
        message = self._network.take(number)
        destination, content = message.destination, message.payload
        if destination == COORDINATOR:
            self._arrives_at_coordinator(message)
        elif isinstance(destination, int):
            self._arrives_at_leader(self.leaders[destination], message)
        else:
            for producer in self.producers:
                if producer.name == destination and isinstance(content, ProduceResponse | TransactionResponse):
                    producer.receive(message)

    def drop(self, number: int) -> None:
        """Lose a message; the asking process gets no answer. Errors: `ClusterError` if the message is not in flight."""
        message = self._network.take(number)
        request = number if message.in_reply_to is None else message.in_reply_to
        for leader in self.leaders:
            if request in leader.asked:
                leader.disconnected(request)
        self.disconnect(request)

    def disconnect(self, request: int) -> None:
        """If the message `request` is an unanswered marker, break its connection: the marker is queued again."""
        if request in self.coordinator.markers.sent:
            self.coordinator.markers.disconnected(request)

    def replicate(self, partition: int) -> None:
        """Let the followers of a partition fetch everything."""
        self.leaders[partition].replicate()

    def replicate_transaction_log(self) -> None:
        """The followers of the coordinator's log fetch everything: pending transitions become durable."""
        self._log.increment_high_watermark(self._log.log_end_offset)
        self.coordinator.states.replicated()

    def fail_over(self) -> None:
        """Another replica of the coordinator's log takes over: transitions that are not replicated are lost, and the
        partitions' leaders give up their unanswered questions. Messages of the old coordinator stay in flight.
        """
        for leader in self.leaders:
            for question in leader.asked:
                leader.disconnected(question)
        self._log.truncate_to(self._log.high_watermark)
        same = self._bug is TransactionBug.COORDINATOR_EPOCH_KEPT
        self.coordinator = self._elected(self.coordinator.states.coordinator_epoch + (0 if same else 1))

    def send_markers(self, partition: int) -> None:
        """The coordinator's thread sends the markers that are queued for the leader of a partition."""

        def send(marker: TxnMarker) -> int:
            request = WriteTxnMarkersRequest(0, marker.stamp, marker.control, marker.coordinator_epoch)
            return self._network.send(COORDINATOR, partition, request)

        self.coordinator.markers.send_queued(self.leaders[partition].name, send)

    def answer_earlier_marker(self) -> None:
        """Deliver a late answer to a marker that the coordinator's broker sent in an earlier coordinator epoch."""
        self.coordinator.markers.receive_of_earlier_epoch(TRANSACTIONAL_ID)

    def write_completions(self) -> None:
        """The coordinator's thread writes the ends of transactions whose markers are all written."""
        self.coordinator.write_completions()

    def time_out_transactions(self) -> None:
        """transaction.timeout.ms passes, and the coordinator aborts transactions that are open for longer."""
        self._clock.advance(TIMEOUT + 1)
        self.coordinator.abort_timed_out_transactions(self._clock.now)

    def expire_producers(self, partition: int) -> None:
        """Let a partition forget the producers that have appended nothing for PRODUCER_ID_EXPIRATION."""
        self.leaders[partition].expire_producers()

    def _arrives_at_coordinator(self, message: Message) -> None:
        content, coordinator = message.payload, self.coordinator

        def respond(answer: TransactionResponse) -> None:
            self._network.reply(message, answer, 0)

        if isinstance(content, InitProducerIdRequest):
            coordinator.handle_init_producer_id(content, respond)
        elif isinstance(content, AddPartitionsToTxnRequest):
            coordinator.handle_add_partitions(content, self._clock.now, respond)
        elif isinstance(content, EndTxnRequest):
            coordinator.handle_end_transaction(content, respond)
        elif isinstance(content, ProduceResponse):
            request = message.in_reply_to
            if request is not None and request in coordinator.markers.sent:
                coordinator.markers.receive(request, content.error)

    @staticmethod
    def _arrives_at_leader(leader: TransactionLeader, message: Message) -> None:
        content = message.payload
        if isinstance(content, ProduceRequest):
            leader.handle_produce(message, content)
        elif isinstance(content, WriteTxnMarkersRequest):
            leader.handle_write_marker(message, content)
        elif isinstance(content, AddPartitionsToTxnResponse):
            leader.receive(message, content)
        else:
            raise ClusterError(f"a partition's leader does not understand {message}")

    def _elected(self, epoch: int) -> TransactionCoordinator:
        shared = (self._log, epoch, lambda: next(self._producer_ids), self._switches, self._bug)
        return TransactionCoordinator(*shared, first_epoch=self._first_epoch)

    def _committed_offset(self) -> int:
        """The offset from which the application reads on: one above the last input that a transaction has committed."""
        committed = self.leaders[-1].committed
        return int(committed[-1].payload.partition(OF_INPUT)[2]) + 1 if committed else 0
