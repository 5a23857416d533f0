"""The transaction coordinator: the requests of producers and leaders, time-outs, the end of a transaction, fail-over.

In:  requests, each with a function that takes the answer; the time; answers to markers; the log of the
     preceding coordinator.
Out: answers, at once or when a transition is durable; WriteTxnMarkers requests; transitions in the coordinator's log.

The state of a transactional id is a value: the coordinator takes a transition by replacing this value. A transition is
appended to the log, and takes effect once the append is replicated; until then, requests for another transition of the
same id are refused (CONCURRENT_TRANSACTIONS). If a partition refuses a marker, the unsent markers of the transaction
are cancelled, and the transaction stays prepared until a later coordinator sends the markers again.

`Cluster` and `TransactionalCluster` use the same coordinator. Left out: a failed append to the coordinator's log
without a fail-over; the expiry of unused ids (Dead); PrepareEpochFence, which is never in the log. Source: fact sheet,
sections 6.1, 6.2, 6.5, 8.23; KIP-98, KIP-360, KIP-890; Kafka: TransactionCoordinator, TransactionMetadata,
TransactionStateManager, TransactionLog, TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import Enum
from functools import partial

from isrcheck.conformance.cluster.configuration.bugs import TransactionBug
from isrcheck.conformance.cluster.configuration.protocol import Switches, Verification
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.cluster.network.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    Errors,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from isrcheck.conformance.cluster.network.records import LAST_EPOCH, NO_SEQUENCE, Control, ProducerStamp

NO_EPOCH = -1
NO_ID = -1


class TransactionState(Enum):
    """The states of a transactional id in the transaction coordinator."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


PREPARED = {Control.COMMIT: TransactionState.PREPARE_COMMIT, Control.ABORT: TransactionState.PREPARE_ABORT}
COMPLETED = {Control.COMMIT: TransactionState.COMPLETE_COMMIT, Control.ABORT: TransactionState.COMPLETE_ABORT}


@dataclass(frozen=True)
class TransactionMetadata:
    """What the coordinator stores for one transactional id. Times in ms."""

    producer_id: int
    timeout: int
    """transaction.timeout.ms"""
    producer_epoch: int = 0
    last_producer_epoch: int = NO_EPOCH
    """The epoch before the present one, if the same instance of the producer had it."""
    state: TransactionState = TransactionState.EMPTY
    started: int = 0
    """When the transaction began."""
    partitions: frozenset[str] = frozenset()
    """The names of the partitions of the transaction."""
    next_producer_id: int = NO_ID
    """The id after the prepared transaction is complete."""
    previous_producer_id: int = NO_ID
    """The id before."""

    @property
    def decision(self) -> Control | None:
        """The decision whose markers are being written; None if no markers are being written."""
        return next((control for control, state in PREPARED.items() if state is self.state), None)

    @property
    def is_exhausted(self) -> bool:
        """Whether the producer id has no further epoch."""
        return self.producer_epoch >= LAST_EPOCH

    @property
    def has_highest_epoch(self) -> bool:
        """Whether the epoch is Short.MAX_VALUE, which is reserved to fence the last epoch of a producer."""
        return self.producer_epoch > LAST_EPOCH

    def initialised(self, timeout: int, expected_epoch: int = NO_EPOCH) -> TransactionMetadata | Errors:
        """The state after an InitProducerId while no transaction is open, or PRODUCER_FENCED. `expected_epoch` is the
        epoch in the request. If it is the present epoch or NO_EPOCH, the state has the next epoch. If it is the
        instance's preceding epoch, an earlier answer was lost, and the state keeps the present epoch (KIP-360). With
        any other epoch, the request is fenced. Kafka: prepareIncrementProducerEpoch."""
        if expected_epoch not in (NO_EPOCH, self.producer_epoch):
            is_retry = expected_epoch == self.last_producer_epoch
            return self._empty(timeout, self.producer_epoch, expected_epoch) if is_retry else Errors.PRODUCER_FENCED
        return self._empty(timeout, self.producer_epoch + 1, expected_epoch)

    def with_new_id(self, producer_id: int, timeout: int) -> TransactionMetadata:
        """The state after an InitProducerId when the epochs of the producer id are used up: a new id. Kafka:
        prepareProducerIdRotation."""
        return replace(
            self._empty(timeout, 0, NO_EPOCH), producer_id=producer_id, previous_producer_id=self.producer_id
        )

    def with_partition(self, partition: str, now: int) -> TransactionMetadata:
        """The state after the partition is added to the transaction, which begins now if no transaction is open. Kafka:
        prepareAddPartitions."""
        started = self.started if self.state is TransactionState.ONGOING else now
        added = self.partitions | {partition}
        return replace(self, state=TransactionState.ONGOING, started=started, partitions=added)

    def ended(self, control: Control, *, raises_epoch: bool, next_id: int = NO_ID) -> TransactionMetadata:
        """The state after the decision to commit or abort. With `raises_epoch` (TV2), it has the next epoch, if any.
        `next_id`: the producer id after the transaction, if the id changes. Kafka: prepareAbortOrCommit."""
        ended = replace(self, state=PREPARED[control], next_producer_id=next_id)
        return ended._raised(self.producer_epoch) if raises_epoch and not self.has_highest_epoch else ended

    def fenced(
        self, *, raises_epoch: bool, next_id: int = NO_ID, bug: TransactionBug | None = None
    ) -> TransactionMetadata:
        """The state after the decision to abort a transaction and fence its producer instance by the next epoch; with
        `raises_epoch`, the end of the transaction raises the epoch once more (KAFKA-19367). Kafka:
        prepareFenceProducerEpoch, then prepareAbortOrCommit.
        """
        is_kept = self.has_highest_epoch or bug is TransactionBug.FENCE_WITHOUT_NEW_EPOCH
        fenced = self if is_kept else self._raised(NO_EPOCH)
        return fenced.ended(Control.ABORT, raises_epoch=raises_epoch, next_id=next_id)

    def completed(self) -> TransactionMetadata:
        """The state after every partition has its marker. Kafka: prepareComplete."""
        assert self.decision is not None
        completed = replace(self, state=COMPLETED[self.decision], partitions=frozenset(), next_producer_id=NO_ID)
        if self.next_producer_id == NO_ID:
            return completed
        return replace(
            completed, producer_id=self.next_producer_id, producer_epoch=0, previous_producer_id=self.producer_id
        )

    def text(self, *, has_other_ids: bool = True) -> str:
        """The value of a record in the coordinator's log. `has_other_ids`: include the next and the previous producer
        id, which Kafka leaves out up to 4.3 (KAFKA-20310). Kafka: TransactionLog.valueToBytes."""
        value = asdict(self) | {"state": self.state.value, "partitions": sorted(self.partitions)}
        if not has_other_ids:
            value |= {"next_producer_id": NO_ID, "previous_producer_id": NO_ID}
        return json.dumps(value)

    @classmethod
    def of(cls, text: str) -> TransactionMetadata:
        """Read the value of a record in the coordinator's log."""
        values = json.loads(text)
        state, partitions = TransactionState(values.pop("state")), frozenset(values.pop("partitions"))
        return cls(state=state, partitions=partitions, **values)

    def _empty(self, timeout: int, producer_epoch: int, last_producer_epoch: int) -> TransactionMetadata:
        return TransactionMetadata(
            self.producer_id,
            timeout,
            producer_epoch,
            last_producer_epoch,
            previous_producer_id=self.previous_producer_id,
        )

    def _raised(self, last_producer_epoch: int) -> TransactionMetadata:
        return replace(self, producer_epoch=self.producer_epoch + 1, last_producer_epoch=last_producer_epoch)


Durable = Callable[[], None]
"""A function that is called when a transition has taken effect."""


@dataclass(frozen=True)
class PendingTransition:
    """A transition that is in the log and not replicated yet; `offset` is the offset of its record."""

    offset: int
    metadata: TransactionMetadata
    durable: Durable


class TransactionStateManager:
    """The transactional ids of one coordinator, loaded from its log."""

    def __init__(
        self,
        log: Log,
        coordinator_epoch: int,
        bug: TransactionBug | None = None,
        *,
        logs_other_ids: bool = True,
    ) -> None:
        """Load the log. Kafka: loadTransactionMetadata."""
        self._logs_other_ids = logs_other_ids
        self._log = log
        self._bug = bug
        self.coordinator_epoch = coordinator_epoch
        """The leader epoch of the log's partition."""
        self._pending: dict[str, PendingTransition] = {}
        self._states: dict[str, TransactionMetadata] = {}
        for record in log.records:
            transactional_id, text = json.loads(record.payload)
            self._states[transactional_id] = TransactionMetadata.of(text)

    @property
    def states(self) -> Mapping[str, TransactionMetadata]:
        """The durable state of each transactional id."""
        return dict(self._states)

    @property
    def pending(self) -> Mapping[str, PendingTransition]:
        """The pending transition of each transactional id that has one."""
        return dict(self._pending)

    def append(self, transactional_id: str, metadata: TransactionMetadata, durable: Durable) -> None:
        """Append a transition to the log; call `durable` once it takes effect. Kafka: appendTransactionToLog."""
        assert transactional_id not in self._pending, "one transition at a time: this is a defect of the cluster"
        text = json.dumps([transactional_id, metadata.text(has_other_ids=self._logs_other_ids)])
        record = self._log.append_as_leader(text, self.coordinator_epoch)
        self._pending[transactional_id] = PendingTransition(record.offset, metadata, durable)
        self.replicated()

    def replicated(self) -> None:
        """Let the transitions below the high watermark of the log take effect. Kafka: updateCacheCallback."""
        for transactional_id, each in list(self._pending.items()):
            if each.offset < self._log.high_watermark or self._bug is TransactionBug.PENDING_TAKEN_FOR_DURABLE:
                del self._pending[transactional_id]
                self._states[transactional_id] = each.metadata
                each.durable()


REFUSALS = (Errors.INVALID_PRODUCER_EPOCH, Errors.TRANSACTION_COORDINATOR_FENCED)
"""The errors after which a marker is not sent again."""


@dataclass(frozen=True)
class TxnMarker:
    """The marker of a transaction for one of its partitions."""

    transactional_id: str
    partition: str
    stamp: ProducerStamp
    control: Control
    coordinator_epoch: int


class TransactionMarkerChannelManager:
    """Keeps the markers of one coordinator: those that are queued, sent, or answered."""

    def __init__(self, bug: TransactionBug | None = None, *, checks_epoch: bool = True) -> None:
        self._bug = bug
        self._checks_epoch = checks_epoch
        self._given_up: set[str] = set()
        self._queued: list[TxnMarker] = []
        self._sent: dict[int, TxnMarker] = {}
        self._unanswered: dict[str, set[str]] = {}
        self._answered: dict[str, set[str]] = {}

    @property
    def queued(self) -> tuple[TxnMarker, ...]:
        """The markers that wait to be sent."""
        return tuple(self._queued)

    @property
    def sent(self) -> Mapping[int, TxnMarker]:
        """The markers whose partitions have not answered, by the number of the message with the marker."""
        return dict(self._sent)

    @property
    def cancelled(self) -> frozenset[str]:
        """The transactional ids whose decided transaction waits for no answer: a partition has refused its marker, or
        all partitions have answered and the end of the transaction is not durable yet."""
        return frozenset(self._answered.keys() - self._unanswered.keys())

    @property
    def given_up(self) -> frozenset[str]:
        """The transactional ids whose prepared transaction is never completed (see `receive_of_earlier_epoch`)."""
        return frozenset(self._given_up)

    def answered(self, transactional_id: str) -> frozenset[str]:
        """The partitions that have confirmed the marker of the decided transaction of `transactional_id`."""
        return frozenset(self._answered.get(transactional_id, ()))

    def add(self, transactional_id: str, metadata: TransactionMetadata, coordinator_epoch: int) -> None:
        """Queue the markers of a decided transaction. Kafka: addTxnMarkersToSend."""
        assert metadata.decision is not None
        stamp = ProducerStamp(metadata.producer_id, metadata.producer_epoch, NO_SEQUENCE, is_transactional=True)
        self._unanswered[transactional_id], self._answered[transactional_id] = set(metadata.partitions), set()
        for partition in sorted(metadata.partitions):
            fields = (stamp, metadata.decision, coordinator_epoch)
            self._queued.append(TxnMarker(transactional_id, partition, *fields))

    def send_queued(self, partition: str, send: Callable[[TxnMarker], int]) -> None:
        """Send the markers that are queued for a partition's leader. `send` returns the number of the request. Kafka:
        generateRequests."""
        due = [each for each in self._queued if each.partition == partition]
        for each in due:
            self._queued.remove(each)
            self._sent[send(each)] = each

    def receive(self, request: int, error: Errors) -> None:
        """Take a partition's answer to a marker. A refusal cancels all unsent markers of the transaction; after any
        other error, the marker is queued again."""
        marker = self._sent.pop(request)
        transactional_id = marker.transactional_id
        if error is Errors.NONE or (error in REFUSALS and self._bug is TransactionBug.REFUSED_MARKER_COUNTS):
            self._answered.get(transactional_id, set()).add(marker.partition)
            self._unanswered.get(transactional_id, set()).discard(marker.partition)
        elif error in REFUSALS:
            self._queued = [each for each in self._queued if each.transactional_id != transactional_id]
            self._unanswered.pop(transactional_id, None)
        else:
            self._queued.append(marker)

    def receive_of_earlier_epoch(self, transactional_id: str) -> None:
        """Take a partition's answer to a marker of an earlier coordinator epoch. Up to 3.7, the coordinator then gives
        up the id's present transaction if it waits for answers (KAFKA-16352). Kafka: removeMarkersForTxnId.
        """
        if not self._checks_epoch and self._unanswered.get(transactional_id):
            self._given_up.add(transactional_id)

    def disconnected(self, request: int) -> None:
        """Queue the marker of this request again, because the answer does not come."""
        marker = self._sent.pop(request)
        if self._bug is not TransactionBug.MARKER_LOST_WITH_ANSWER:
            self._queued.append(marker)

    def next_complete(self) -> str | None:
        """Return the transactional id of a transaction whose partitions have all answered, and stop waiting for them;
        None if there is no such transaction. Kafka: maybeWriteTxnCompletion."""
        for transactional_id, unanswered in self._unanswered.items():
            is_enough = self._bug is TransactionBug.COMPLETE_AFTER_FIRST_MARKER and self._answered[transactional_id]
            if transactional_id not in self._given_up and (not unanswered or is_enough):
                del self._unanswered[transactional_id]
                return transactional_id
        return None

    def forget(self, transactional_id: str) -> None:
        """Forget which partitions have the marker, because the transaction is complete."""
        self._answered.pop(transactional_id, None)


class TransactionCoordinator:
    """The coordinator of all transactional ids, from one election to the next fail-over. Times in ms."""

    def __init__(
        self,
        log: Log,
        coordinator_epoch: int,
        new_producer_id: Callable[[], int],
        switches: Switches,
        bug: TransactionBug | None = None,
        *,
        first_epoch: int = 0,
    ) -> None:
        """Take over the log, and queue the markers of the transactions that are prepared in the log. The epochs of a
        new transactional id begin at `first_epoch`, as if its producer id had used all lower epochs. Kafka: onElection.
        """
        self._first_epoch = first_epoch
        self._fence_takes_next_id = switches.FENCE_TAKES_NEXT_ID
        self._new_producer_id = new_producer_id
        self._raises_epoch = switches.TXN_VERIFY is Verification.TV2
        self._fence_raises_twice = switches.FENCE_RAISES_EPOCH_TWICE
        self._bug = bug
        shared = (log, coordinator_epoch, bug)
        self.states = TransactionStateManager(*shared, logs_other_ids=switches.NEXT_ID_IS_LOGGED)
        self.markers = TransactionMarkerChannelManager(bug, checks_epoch=switches.MARKER_ANSWERS_CHECK_EPOCH)
        for transactional_id, each in self.states.states.items():
            if each.decision is not None and bug is not TransactionBug.MARKERS_NOT_RESUMED:
                self.markers.add(transactional_id, each, coordinator_epoch)

    def handle_init_producer_id(
        self, request: InitProducerIdRequest, respond: Callable[[InitProducerIdResponse], None]
    ) -> None:
        """Give an instance of a producer its id, and an epoch that fences every older instance.

        An ongoing transaction is aborted first, and the instance has to ask again. Kafka: handleInitProducerId.
        """
        transactional_id, timeout = request.transactional_id, request.timeout
        metadata = self.states.states.get(transactional_id)
        if transactional_id in self.states.pending or (metadata and metadata.decision is not None):
            respond(InitProducerIdResponse(Errors.CONCURRENT_TRANSACTIONS))
            return
        if metadata and request.producer_id not in (-1, metadata.producer_id):
            respond(InitProducerIdResponse(Errors.PRODUCER_FENCED))
            return
        if metadata and metadata.state is TransactionState.ONGOING:
            if not self._can_fence(metadata):
                respond(InitProducerIdResponse(Errors.UNKNOWN_SERVER_ERROR))
                return
            self._fence(transactional_id, lambda: respond(InitProducerIdResponse(Errors.CONCURRENT_TRANSACTIONS)))
            return
        if metadata is None:
            initialised: TransactionMetadata | Errors = TransactionMetadata(
                self._new_producer_id(), timeout, self._first_epoch
            )
        elif metadata.is_exhausted:
            initialised = metadata.with_new_id(self._new_producer_id(), timeout)
        else:
            initialised = metadata.initialised(timeout, request.producer_epoch)
        if isinstance(initialised, Errors):
            respond(InitProducerIdResponse(initialised))
            return
        answer = InitProducerIdResponse(Errors.NONE, initialised.producer_id, initialised.producer_epoch)
        self.states.append(transactional_id, initialised, lambda: respond(answer))

    def handle_add_partitions(
        self, request: AddPartitionsToTxnRequest, now: int, respond: Callable[[AddPartitionsToTxnResponse], None]
    ) -> None:
        """Add a partition to the transaction, which begins if none is open; or answer a leader whether the transaction
        contains the partition. Kafka: handleAddPartitionsToTransaction, handleVerifyPartitionsInTransaction.
        """
        transactional_id, partition = request.transactional_id, request.partition
        metadata = self.states.states.get(transactional_id)
        error = self._error_for(metadata, request.producer_id, request.producer_epoch)
        if metadata and metadata.decision is not None and error is Errors.NONE:
            error = Errors.CONCURRENT_TRANSACTIONS
        elif request.verify_only and error is Errors.NONE:  # a pending transition does not count
            is_in = metadata is not None and partition in metadata.partitions
            error = Errors.NONE if is_in else Errors.TRANSACTION_ABORTABLE
        elif transactional_id in self.states.pending and error is Errors.NONE:
            error = Errors.CONCURRENT_TRANSACTIONS
        elif metadata and error is Errors.NONE and partition not in metadata.partitions:
            answer = AddPartitionsToTxnResponse(Errors.NONE, partition)
            self.states.append(transactional_id, metadata.with_partition(partition, now), lambda: respond(answer))
            return
        respond(AddPartitionsToTxnResponse(error, partition))

    def handle_end_transaction(self, request: EndTxnRequest, respond: Callable[[EndTxnResponse], None]) -> None:
        """Commit or abort a transaction; the request is answered once the decision is durable, before any marker is
        sent. Kafka: endTransaction."""
        transactional_id = request.transactional_id
        metadata = self.states.states.get(transactional_id)
        if metadata is None:
            respond(EndTxnResponse(Errors.INVALID_PRODUCER_ID_MAPPING))
            return
        answer = self._answer_to_end(metadata, request)
        if answer is not None:
            identity = (metadata.producer_id, metadata.producer_epoch) if answer is Errors.NONE else ()
            respond(EndTxnResponse(answer, *identity))
            return
        raises_epoch = self._raises_epoch and self._bug is not TransactionBug.EPOCH_NOT_RAISED_AT_END
        next_id = self._next_id_of(metadata) if raises_epoch else NO_ID
        ended = metadata.ended(request.control, raises_epoch=raises_epoch, next_id=next_id)
        decided = EndTxnResponse(Errors.NONE, ended.producer_id, ended.producer_epoch)
        if next_id != NO_ID:
            decided = EndTxnResponse(Errors.NONE, next_id, 0)
        self._decide(transactional_id, ended, lambda: respond(decided))

    def abort_timed_out_transactions(self, now: int) -> None:
        """Abort transactions that are open for longer than their timeout; fence their producers. Kafka:
        abortTimedOutTransactions."""
        for transactional_id, each in self.states.states.items():
            is_due = each.state is TransactionState.ONGOING and now - each.started > each.timeout
            if is_due and transactional_id not in self.states.pending and self._can_fence(each):
                self._fence(transactional_id, lambda: None)

    def write_completions(self) -> None:
        """Append the end of every transaction whose partitions all have their marker. Kafka: writeTxnCompletion, which
        the thread that sends markers repeats until it succeeds.
        """
        while (transactional_id := self.markers.next_complete()) is not None:
            completed = self.states.states[transactional_id].completed()
            self.states.append(transactional_id, completed, partial(self.markers.forget, transactional_id))

    def _fence(self, transactional_id: str, answer: Callable[[], None]) -> None:
        metadata = self.states.states[transactional_id]
        next_id = self._next_id_of(metadata) if self._fence_takes_next_id else NO_ID
        fenced = metadata.fenced(raises_epoch=self._fence_raises_twice, next_id=next_id, bug=self._bug)
        self._decide(transactional_id, fenced, answer)

    def _can_fence(self, metadata: TransactionMetadata) -> bool:
        """Whether the producer can be fenced: a higher epoch is left, or the fence may keep the highest epoch
        (KAFKA-20090). If not, Kafka throws an exception. Kafka: prepareFenceProducerEpoch, prepareAbortOrCommit.
        """
        raised = metadata.producer_epoch + (2 if self._fence_raises_twice else 1)
        return self._fence_takes_next_id or raised <= LAST_EPOCH + 1

    def _next_id_of(self, metadata: TransactionMetadata) -> int:
        return self._new_producer_id() if metadata.is_exhausted else NO_ID

    def _decide(self, transactional_id: str, decided: TransactionMetadata, answer: Callable[[], None]) -> None:
        def durable() -> None:
            answer()
            self.markers.add(transactional_id, decided, self.states.coordinator_epoch)

        self.states.append(transactional_id, decided, durable)

    def _error_for(self, metadata: TransactionMetadata | None, producer_id: int, producer_epoch: int) -> Errors:
        if metadata is None or producer_id != metadata.producer_id:
            return Errors.INVALID_PRODUCER_ID_MAPPING
        return Errors.NONE if producer_epoch == metadata.producer_epoch else Errors.PRODUCER_FENCED

    def _answer_to_end(self, metadata: TransactionMetadata, request: EndTxnRequest) -> Errors | None:
        """The answer to an EndTxn that repeats a request or is refused; None if the EndTxn decides a transaction now.

        Before TV2, the state shows whether an equal request was carried out before. With TV2, the epoch shows this, and
        an abort is accepted even if the transaction has no partition.
        """
        control, state = request.control, metadata.state
        named = (request.producer_id, request.producer_epoch)
        is_raised = named == (metadata.producer_id, metadata.producer_epoch - 1)
        is_raised |= named == (metadata.previous_producer_id, LAST_EPOCH) and metadata.producer_epoch == 0
        is_retry = self._raises_epoch and is_raised and state in {*PREPARED.values(), *COMPLETED.values()}
        error = self._error_for(metadata, request.producer_id, request.producer_epoch)
        if error is not Errors.NONE and not is_retry:
            return error
        if request.transactional_id in self.states.pending:
            return Errors.CONCURRENT_TRANSACTIONS
        if self._raises_epoch and metadata.has_highest_epoch and not is_retry:  # the next epoch overflows
            can_abort = self._fence_takes_next_id and control is Control.ABORT
            if not can_abort:
                return Errors.UNKNOWN_SERVER_ERROR
        if state is TransactionState.ONGOING:
            return None
        if self._raises_epoch and not is_retry:
            if metadata.decision is not None:
                return Errors.PRODUCER_FENCED
            return None if control is Control.ABORT else Errors.INVALID_TXN_STATE
        if state is PREPARED[control]:
            return Errors.CONCURRENT_TRANSACTIONS
        return Errors.NONE if state is COMPLETED[control] else Errors.INVALID_TXN_STATE
