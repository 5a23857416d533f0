"""The transaction coordinator: the requests of producers and leaders, time-outs, the end of a transaction, fail-over.

In:  requests, each with a function that takes the answer; the time; answers to markers.
Out: answers, at once or when a transition is durable; markers (markers.py).

`Cluster` and `TransactionalCluster` have the same coordinator. Left out: a failed append to its log without a
fail-over. Source: fact sheet, sections 6.1, 6.5; Kafka: TransactionCoordinator; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from isrcheck.conformance.cluster.configuration.bugs import TransactionBug
from isrcheck.conformance.cluster.configuration.switches import Switches, Verification
from isrcheck.conformance.cluster.network.messages import Errors
from isrcheck.conformance.cluster.network.records import LAST_EPOCH, Control
from isrcheck.conformance.cluster.network.transaction_messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from isrcheck.conformance.cluster.transactions.markers import TransactionMarkerChannelManager
from isrcheck.conformance.cluster.transactions.metadata import (
    COMPLETED,
    NO_ID,
    PREPARED,
    TransactionMetadata,
    TransactionState,
)
from isrcheck.conformance.cluster.transactions.state_manager import TransactionLog, TransactionStateManager


class TransactionCoordinator:
    """The coordinator of all transactional ids, as one process of one broker. Times in ms."""

    def __init__(
        self,
        log: TransactionLog,
        coordinator_epoch: int,
        new_producer_id: Callable[[], int],
        switches: Switches,
        bug: TransactionBug | None = None,
        *,
        first_epoch: int = 0,
    ) -> None:
        """Take over the log; the markers of what is prepared there are sent again. The first producer has
        `first_epoch`, as after so many transactions. Kafka: onElection.
        """
        self._first_epoch = first_epoch
        self._fence_takes_next_id = switches.FENCE_TAKES_NEXT_ID
        self._new_producer_id = new_producer_id
        self._raises_epoch = switches.TXN_VERIFY is Verification.TV2
        self._fence_raises_twice = switches.FENCE_RAISES_EPOCH_TWICE
        self._bug = bug
        given = (log, coordinator_epoch, bug)
        self.states = TransactionStateManager(*given, logs_other_ids=switches.NEXT_ID_IS_LOGGED)
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
        found = self.states.states.get(transactional_id)
        if transactional_id in self.states.pending or (found and found.decision is not None):
            respond(InitProducerIdResponse(Errors.CONCURRENT_TRANSACTIONS))
            return
        if found and request.producer_id not in (-1, found.producer_id):
            respond(InitProducerIdResponse(Errors.PRODUCER_FENCED))
            return
        if found and found.state is TransactionState.ONGOING:
            if not self._can_fence(found):
                respond(InitProducerIdResponse(Errors.UNKNOWN_SERVER_ERROR))
                return
            self._fence(transactional_id, lambda: respond(InitProducerIdResponse(Errors.CONCURRENT_TRANSACTIONS)))
            return
        if found is None:
            initialised: TransactionMetadata | Errors = TransactionMetadata(
                self._new_producer_id(), timeout, self._first_epoch
            )
        elif found.is_exhausted:
            initialised = found.with_new_id(self._new_producer_id(), timeout)
        else:
            initialised = found.initialised(timeout, request.producer_epoch)
        if isinstance(initialised, Errors):
            respond(InitProducerIdResponse(initialised))
            return
        answer = InitProducerIdResponse(Errors.NONE, initialised.producer_id, initialised.producer_epoch)
        self.states.append(transactional_id, initialised, lambda: respond(answer))

    def handle_add_partitions(
        self, request: AddPartitionsToTxnRequest, now: int, respond: Callable[[AddPartitionsToTxnResponse], None]
    ) -> None:
        """Add a partition to the transaction, which begins if there is none; or, for a leader, tell whether it is in
        it. Kafka: handleAddPartitionsToTransaction, handleVerifyPartitionsInTransaction.
        """
        transactional_id, partition = request.transactional_id, request.partition
        found = self.states.states.get(transactional_id)
        error = self._error_for(found, request.producer_id, request.producer_epoch)
        if found and found.decision is not None and error is Errors.NONE:
            error = Errors.CONCURRENT_TRANSACTIONS
        elif request.verify_only and error is Errors.NONE:  # a pending transition does not count
            is_in = found is not None and partition in found.partitions
            error = Errors.NONE if is_in else Errors.TRANSACTION_ABORTABLE
        elif transactional_id in self.states.pending and error is Errors.NONE:
            error = Errors.CONCURRENT_TRANSACTIONS
        elif found and error is Errors.NONE and partition not in found.partitions:
            answer = AddPartitionsToTxnResponse(Errors.NONE, partition)
            self.states.append(transactional_id, found.with_partition(partition, now), lambda: respond(answer))
            return
        respond(AddPartitionsToTxnResponse(error, partition))

    def handle_end_transaction(self, request: EndTxnRequest, respond: Callable[[EndTxnResponse], None]) -> None:
        """Commit or abort: answered once the decision is durable, before any marker is sent. Kafka: endTransaction."""
        transactional_id = request.transactional_id
        found = self.states.states.get(transactional_id)
        if found is None:
            respond(EndTxnResponse(Errors.INVALID_PRODUCER_ID_MAPPING))
            return
        answer = self._answer_to_end(found, request)
        if answer is not None:
            is_done = answer is Errors.NONE
            respond(
                EndTxnResponse(answer, found.producer_id, found.producer_epoch) if is_done else EndTxnResponse(answer)
            )
            return
        raises_epoch = self._raises_epoch and self._bug is not TransactionBug.EPOCH_NOT_RAISED_AT_END
        next_id = self._next_id_of(found) if raises_epoch else NO_ID
        ended = found.ended(request.control, raises_epoch=raises_epoch, next_id=next_id)
        decided = EndTxnResponse(Errors.NONE, ended.producer_id, ended.producer_epoch)
        if next_id != NO_ID:
            decided = EndTxnResponse(Errors.NONE, next_id, 0)
        self._decide(transactional_id, ended, lambda: respond(decided))

    def abort_timed_out_transactions(self, now: int) -> None:
        """Abort the transactions that are open for too long, and fence their producers. Kafka:
        abortTimedOutTransactions.
        """
        for transactional_id, each in self.states.states.items():
            is_due = each.state is TransactionState.ONGOING and now - each.started > each.timeout
            if is_due and transactional_id not in self.states.pending and self._can_fence(each):
                self._fence(transactional_id, lambda: None)

    def write_completions(self) -> None:
        """Append the end of every transaction all of whose partitions have their marker. Kafka: writeTxnCompletion,
        which the thread that sends markers repeats until it succeeds.
        """
        while (transactional_id := self.markers.next_complete()) is not None:
            completed = self.states.states[transactional_id].completed()
            self.states.append(transactional_id, completed, partial(self.markers.forget, transactional_id))

    def _fence(self, transactional_id: str, answer: Callable[[], None]) -> None:
        found = self.states.states[transactional_id]
        next_id = self._next_id_of(found) if self._fence_takes_next_id else NO_ID
        fenced = found.fenced(raises_epoch=self._fence_raises_twice, next_id=next_id, bug=self._bug)
        self._decide(transactional_id, fenced, answer)

    def _can_fence(self, found: TransactionMetadata) -> bool:
        """Whether there is an epoch for the fence, or it may keep the highest one (KAFKA-20090); otherwise the
        coordinator throws an exception. Kafka: prepareFenceProducerEpoch, prepareAbortOrCommit.
        """
        raised = found.producer_epoch + (2 if self._fence_raises_twice else 1)
        return self._fence_takes_next_id or raised <= LAST_EPOCH + 1

    def _next_id_of(self, found: TransactionMetadata) -> int:
        return self._new_producer_id() if found.is_exhausted else NO_ID

    def _decide(self, transactional_id: str, decided: TransactionMetadata, answer: Callable[[], None]) -> None:
        def durable() -> None:
            answer()
            self.markers.add(transactional_id, decided, self.states.coordinator_epoch)

        self.states.append(transactional_id, decided, durable)

    def _error_for(self, found: TransactionMetadata | None, producer_id: int, producer_epoch: int) -> Errors:
        if found is None or producer_id != found.producer_id:
            return Errors.INVALID_PRODUCER_ID_MAPPING
        return Errors.NONE if producer_epoch == found.producer_epoch else Errors.PRODUCER_FENCED

    def _answer_to_end(self, found: TransactionMetadata, request: EndTxnRequest) -> Errors | None:
        """The answer to an EndTxn that decides nothing; None if it decides.

        Before TV2, the state tells whether it was carried out before; with TV2, the epoch does, and an abort is
        accepted even if the transaction has no partition.
        """
        control, state = request.control, found.state
        is_raised = (request.producer_id, request.producer_epoch + 1) == (found.producer_id, found.producer_epoch)
        is_of_previous_id = (request.producer_id, request.producer_epoch, found.producer_epoch) == (
            *(found.previous_producer_id, LAST_EPOCH, 0),
        )
        is_raised |= is_of_previous_id
        is_retry = self._raises_epoch and is_raised and state in {*PREPARED.values(), *COMPLETED.values()}
        error = self._error_for(found, request.producer_id, request.producer_epoch)
        if error is not Errors.NONE and not is_retry:
            return error
        if request.transactional_id in self.states.pending:
            return Errors.CONCURRENT_TRANSACTIONS
        if self._raises_epoch and found.has_highest_epoch and not is_retry:  # the next epoch overflows
            can_abort = self._fence_takes_next_id and control is Control.ABORT
            if not can_abort:
                return Errors.UNKNOWN_SERVER_ERROR
        if state is TransactionState.ONGOING:
            return None
        if self._raises_epoch and not is_retry:
            if found.decision is not None:
                return Errors.PRODUCER_FENCED
            return None if control is Control.ABORT else Errors.INVALID_TXN_STATE
        if state is PREPARED[control]:
            return Errors.CONCURRENT_TRANSACTIONS
        return Errors.NONE if state is COMPLETED[control] else Errors.INVALID_TXN_STATE
