"""An instance of a transactional producer, and the loop of its application: consume an input, produce the output.

A transaction processes one input and writes one record to each partition. The last partition is `__consumer_offsets`:
its record commits the offset after the input. After a start or an abort, the application continues at the committed
offset. The producer can repeat an unanswered request to the coordinator. Source: fact sheet, sections 5.3, 6.1, 6.5;
Kafka: TransactionManager, KafkaProducer; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from isrcheck.conformance.cluster.configuration.protocol import Switches, Verification
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    Errors,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
    TransactionRequest,
)
from isrcheck.conformance.cluster.network.network import Message, Network
from isrcheck.conformance.cluster.network.records import Control, ProducerStamp

TIMEOUT = 60_000
"""transaction.timeout.ms"""


OF_INPUT = " of input "
"""Separates a record's name from the input that it was made from, whose offset it commits in the last partition."""


class Phase(Enum):
    """The phases of the application: what it does, or what it waits for."""

    INITIALISING = "initialising"
    READY = "ready"
    IN_TRANSACTION = "in transaction"
    COMMITTING = "committing"
    ABORTING = "aborting"
    STOPPED = "stopped"


ENDING = {Control.COMMIT: Phase.COMMITTING, Control.ABORT: Phase.ABORTING}


@dataclass
class Batch:
    """The record of a transaction for one partition. `request` is the message whose answer the producer awaits."""

    request: int
    message: ProduceRequest
    is_acknowledged: bool = False


@dataclass
class Transaction:
    """A transaction that the application has begun."""

    payload: str
    """The payload of the transaction's records."""
    producer_id: int
    producer_epoch: int
    position: int
    """The position of the transaction's input."""
    is_commit_requested: bool = False
    added: set[int] = field(default_factory=set)
    """The partitions that the coordinator has confirmed."""
    batches: dict[int, Batch] = field(default_factory=dict)
    """The record for each partition."""


@dataclass(eq=False)
class TransactionalProducer:
    """One instance of the producer. `committed_offset` reads the offset that is committed in `__consumer_offsets`."""

    name: str
    _transactional_id: str
    _coordinator: str
    _network: Network
    _committed_offset: Callable[[], int]
    _switches: Switches

    def __post_init__(self) -> None:
        self.phase = Phase.INITIALISING
        self.position = 0
        self.producer_id = -1
        self.producer_epoch = -1
        self.transactions: list[Transaction] = []
        self._sequences: Counter[int] = Counter()
        self.awaited: TransactionRequest | None = None
        """The request to the coordinator that has no answer yet, or an answer after which the request is sent again."""
        self.request: int | None = None
        self._ask(InitProducerIdRequest(self._transactional_id, TIMEOUT))

    @property
    def may_raise_epoch(self) -> bool:
        """Whether the producer has given up a record in its present epoch, and may ask for a new epoch. With TV2 there
        is no need to ask: every transaction ends with a new epoch."""
        return self._switches.EPOCH_BUMP_BY_PRODUCER and any(
            transaction.producer_epoch == self.producer_epoch
            and not all(each.is_acknowledged for each in transaction.batches.values())
            for transaction in self.transactions[-1:]
        )

    def begin_transaction(self, payload: str) -> None:
        """Begin to process the input at the application's position; the output's payload begins with `payload`."""
        self._must_be(Phase.READY)
        text = f"{payload}{OF_INPUT}{self.position}"
        self.transactions.append(Transaction(text, self.producer_id, self.producer_epoch, self.position))
        self.phase = Phase.IN_TRANSACTION

    def add_partition(self, partition: int, name: str) -> None:
        """Send AddPartitionsToTxn, or AddOffsetsToTxn for the partition of the offsets."""
        self._must_be(Phase.IN_TRANSACTION)
        self._ask(AddPartitionsToTxnRequest(self._transactional_id, self.producer_id, self.producer_epoch, name))
        self._adding = partition

    def send(self, partition: int, timestamp: int) -> None:
        """Send the record for a partition, with Produce or TxnOffsetCommit. With TV2, the leader adds the partition to
        the transaction."""
        self._must_be(Phase.IN_TRANSACTION)
        transaction = self.transactions[-1]
        if partition not in transaction.added and self._switches.TXN_VERIFY is not Verification.TV2:
            raise ClusterError(f"{self.name}: partition {partition} is not in its transaction; add the partition first")
        sequence = self._sequences[partition]
        self._sequences[partition] += 1
        stamp = ProducerStamp(self.producer_id, self.producer_epoch, sequence, is_transactional=True)
        number = len(self.transactions) - 1
        fields = (number, transaction.payload, Acks.ALL, stamp, 1, self._transactional_id, timestamp)
        request = ProduceRequest(*fields)
        transaction.batches[partition] = Batch(self._network.send(self.name, partition, request), request)

    def resend(self, partition: int) -> None:
        """Send the last record for a partition again, because its answer does not come in time."""
        batch = self.transactions[-1].batches[partition]
        batch.request = self._network.send(self.name, partition, batch.message)

    def end_transaction(self, control: Control) -> None:
        """Send EndTxn. An abort gives up the unacknowledged records. Errors: `ClusterError` outside a transaction, and
        for a commit while a record is not acknowledged."""
        self._must_be(Phase.IN_TRANSACTION)
        transaction = self.transactions[-1]
        if control is Control.COMMIT:
            if not all(each.is_acknowledged for each in transaction.batches.values()):
                raise ClusterError(f"{self.name}: a record is not acknowledged; deliver its answer before the commit")
            transaction.is_commit_requested = True
        self.phase = ENDING[control]
        self._ask(EndTxnRequest(self._transactional_id, self.producer_id, self.producer_epoch, control))

    def raise_epoch(self) -> None:
        """Ask for a new epoch after an abort that gave up a record. Kafka: bumpIdempotentEpochAndResetIdIfNeeded."""
        self._must_be(Phase.READY)
        if not self.may_raise_epoch:
            raise ClusterError(
                f"{self.name} cannot raise its epoch: it has given up no record, or EPOCH_BUMP_BY_PRODUCER is off"
            )
        self.phase = Phase.INITIALISING
        self._ask(InitProducerIdRequest(self._transactional_id, TIMEOUT, self.producer_id, self.producer_epoch))

    def ask_again(self) -> None:
        """Send the last coordinator request again, after CONCURRENT_TRANSACTIONS or without an answer in time."""
        if self.awaited is None:
            raise ClusterError(f"{self.name} has no request to send again; begin or end a transaction first")
        self._ask(self.awaited)

    def stop(self) -> None:
        """End the application and this instance of the producer."""
        self.phase, self.position = Phase.STOPPED, 0
        self.awaited = self.request = None

    def receive(self, message: Message) -> None:
        """Take an answer; drop an answer whose request was sent again in the meantime."""
        answer = message.payload
        if isinstance(answer, ProduceResponse):
            batches = self.transactions[answer.send].batches.values()
            for batch in [each for each in batches if each.request == message.in_reply_to]:
                batch.is_acknowledged |= answer.error is Errors.NONE
        elif message.in_reply_to == self.request and self.request is not None:
            self._answered(answer)

    def _answered(self, answer: object) -> None:
        request, self.request = self.awaited, None
        if isinstance(answer, AddPartitionsToTxnResponse) and answer.error is Errors.NONE:
            self.transactions[-1].added.add(self._adding)
        elif isinstance(answer, InitProducerIdResponse) and answer.error is Errors.NONE:
            self.position = self._committed_offset()
            self._take_epoch(answer.producer_id, answer.producer_epoch)
        elif isinstance(answer, EndTxnResponse) and answer.error is Errors.NONE and isinstance(request, EndTxnRequest):
            if request.control is Control.COMMIT:
                self.position += 1
            else:
                self.position = self._committed_offset()
            self._take_epoch(answer.producer_id, answer.producer_epoch)
        elif getattr(answer, "error", None) is Errors.CONCURRENT_TRANSACTIONS:
            return
        self.awaited = None

    def _take_epoch(self, producer_id: int, producer_epoch: int) -> None:
        """Continue with this id and epoch; a new epoch begins with sequence 0."""
        if (producer_id, producer_epoch) != (self.producer_id, self.producer_epoch):
            self._sequences.clear()
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self.phase = Phase.READY

    def _ask(self, request: TransactionRequest) -> None:
        self.awaited = request
        self.request = self._network.send(self.name, self._coordinator, request)

    def _must_be(self, phase: Phase) -> None:
        if self.phase is not phase:
            raise ClusterError(f"{self.name}: the phase is '{self.phase.value}'; this operation needs '{phase.value}'")
