"""The state of one transactional id, and the requests that its coordinator accepts in each state.

In:  a producer's requests: InitProducerId, AddPartitionsToTxn, EndTxn; the time; the outcome of writing the markers.
Out: the answers; the decisions.

Every transition is durable at once: the log of the coordinator, its replication, and the short time in which a
transition is pending are left out, and so are the expiry of unused ids (Dead), KIP-360 (2.5) and KIP-890 (3.6, 4.0).
Source: fact sheet, section 6.1; Kafka: TransactionMetadata, TransactionCoordinator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from isrcheck.conformance.cluster.network.messages import Errors
from isrcheck.conformance.cluster.network.records import Control

LAST_EPOCH = (1 << 15) - 2
"""The epoch after which a transactional id gets a new producer id: Short.MAX_VALUE - 1."""


class TransactionState(Enum):
    """The states of a transactional id."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


PREPARED = {Control.COMMIT: TransactionState.PREPARE_COMMIT, Control.ABORT: TransactionState.PREPARE_ABORT}
COMPLETED = {Control.COMMIT: TransactionState.COMPLETE_COMMIT, Control.ABORT: TransactionState.COMPLETE_ABORT}


@dataclass
class TransactionMetadata:
    """One transactional id. Times in ms; `partitions` are the names of what the transaction has touched."""

    producer_id: int
    timeout: int
    producer_epoch: int = 0
    state: TransactionState = TransactionState.EMPTY
    started: int = 0
    partitions: set[str] = field(default_factory=set)

    @property
    def decision(self) -> Control | None:
        """The decision whose markers are being written; None if there is none."""
        return next((control for control, state in PREPARED.items() if state is self.state), None)

    def init_producer_id(self, timeout: int) -> Errors:
        """A new instance of the producer: fence the old one by the next epoch, and abort its transaction.

        After such an abort the producer has to ask again (CONCURRENT_TRANSACTIONS).
        """
        if self.decision is not None:
            return Errors.CONCURRENT_TRANSACTIONS
        if self.state is TransactionState.ONGOING:
            self._fence()
            return Errors.CONCURRENT_TRANSACTIONS
        self.producer_epoch += 1
        self.timeout, self.state = timeout, TransactionState.EMPTY
        return Errors.NONE

    def add_partition(self, producer_id: int, producer_epoch: int, partition: str, now: int) -> Errors:
        """Make a partition part of the transaction, and begin one if there is none."""
        error = self._error_for(producer_id, producer_epoch)
        if error is Errors.NONE and self.decision is not None:
            error = Errors.CONCURRENT_TRANSACTIONS
        if error is not Errors.NONE:
            return error
        if self.state is not TransactionState.ONGOING:
            self.state, self.started = TransactionState.ONGOING, now
        self.partitions.add(partition)
        return Errors.NONE

    def end(self, producer_id: int, producer_epoch: int, control: Control) -> Errors:
        """Decide to commit or abort. Repeating a request that was carried out is no error."""
        error = self._error_for(producer_id, producer_epoch)
        if error is not Errors.NONE:
            return error
        if self.state is TransactionState.ONGOING:
            self.state = PREPARED[control]
            return Errors.NONE
        if self.state is PREPARED[control]:
            return Errors.CONCURRENT_TRANSACTIONS
        return Errors.NONE if self.state is COMPLETED[control] else Errors.INVALID_TXN_STATE

    def expire(self, now: int) -> None:
        """Abort a transaction that is open for longer than transaction.timeout.ms; its producer is fenced."""
        if self.state is TransactionState.ONGOING and now - self.started > self.timeout:
            self._fence()

    def complete(self) -> None:
        """The markers are written."""
        assert self.decision is not None
        self.state = COMPLETED[self.decision]
        self.partitions.clear()

    def _fence(self) -> None:
        self.producer_epoch += 1
        self.state = TransactionState.PREPARE_ABORT

    def _error_for(self, producer_id: int, producer_epoch: int) -> Errors:
        if producer_id != self.producer_id:
            return Errors.INVALID_PRODUCER_ID_MAPPING
        return Errors.NONE if producer_epoch == self.producer_epoch else Errors.INVALID_PRODUCER_EPOCH
