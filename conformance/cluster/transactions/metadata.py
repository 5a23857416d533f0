"""The state of one transactional id, and its transitions.

In:  what a request asks for.
Out: the next state, or the error with which the request is refused; its text in the coordinator's log.

A state is a value: the coordinator takes a transition by replacing it. Left out: the expiry of unused ids (Dead), and
PrepareEpochFence, which is never in the log. Source: fact sheet, section 6.1; Kafka: TransactionMetadata.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from enum import Enum

from isrcheck.conformance.cluster.configuration.bugs import TransactionBug
from isrcheck.conformance.cluster.network.messages import Errors
from isrcheck.conformance.cluster.network.records import LAST_EPOCH, Control

NO_EPOCH = -1
NO_ID = -1


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


@dataclass(frozen=True)
class TransactionMetadata:
    """One transactional id. Times in ms; `partitions` are the names of what the transaction has touched.

    `last_producer_epoch` is the epoch before the present one, if the same instance of the producer had it;
    `next_producer_id` the id with which what is prepared will be complete; `previous_producer_id` the one before.
    """

    producer_id: int
    timeout: int
    producer_epoch: int = 0
    last_producer_epoch: int = NO_EPOCH
    state: TransactionState = TransactionState.EMPTY
    started: int = 0
    partitions: frozenset[str] = frozenset()
    next_producer_id: int = NO_ID
    previous_producer_id: int = NO_ID

    @property
    def decision(self) -> Control | None:
        """The decision whose markers are being written; None if there is none."""
        return next((control for control, state in PREPARED.items() if state is self.state), None)

    @property
    def is_exhausted(self) -> bool:
        """Whether the producer id has no further epoch."""
        return self.producer_epoch >= LAST_EPOCH

    @property
    def has_highest_epoch(self) -> bool:
        """Whether the epoch is the one that is left to fence the last one of a producer: Short.MAX_VALUE."""
        return self.producer_epoch > LAST_EPOCH

    def initialised(self, timeout: int, expected_epoch: int = NO_EPOCH) -> TransactionMetadata | Errors:
        """InitProducerId without a transaction: the next epoch. With the epoch before, which is a request whose answer
        was lost: this one (KIP-360). Kafka: prepareIncrementProducerEpoch.
        """
        if expected_epoch not in (NO_EPOCH, self.producer_epoch):
            is_retry = expected_epoch == self.last_producer_epoch
            return self._empty(timeout, self.producer_epoch, expected_epoch) if is_retry else Errors.PRODUCER_FENCED
        return self._empty(timeout, self.producer_epoch + 1, expected_epoch)

    def with_new_id(self, producer_id: int, timeout: int) -> TransactionMetadata:
        """InitProducerId when the epochs are used up. Kafka: prepareProducerIdRotation."""
        return replace(
            self._empty(timeout, 0, NO_EPOCH), producer_id=producer_id, previous_producer_id=self.producer_id
        )

    def with_partition(self, partition: str, now: int) -> TransactionMetadata:
        """The partition is part of the transaction, which begins if there is none. Kafka: prepareAddPartitions."""
        started = self.started if self.state is TransactionState.ONGOING else now
        added = self.partitions | {partition}
        return replace(self, state=TransactionState.ONGOING, started=started, partitions=added)

    def ended(self, control: Control, *, raises_epoch: bool, next_id: int = NO_ID) -> TransactionMetadata:
        """The decision; with TV2, the transaction ends with the next epoch. Kafka: prepareAbortOrCommit."""
        found = replace(self, state=PREPARED[control], next_producer_id=next_id)
        return found._raised(self.producer_epoch) if raises_epoch and not self.has_highest_epoch else found

    def fenced(
        self, *, raises_epoch: bool, next_id: int = NO_ID, bug: TransactionBug | None = None
    ) -> TransactionMetadata:
        """The transaction is aborted with the epoch after that of its instance; with `raises_epoch`, ending it raises
        the epoch once more (KAFKA-19367). Kafka: prepareFenceProducerEpoch, then prepareAbortOrCommit.
        """
        is_kept = self.has_highest_epoch or bug is TransactionBug.FENCE_WITHOUT_NEW_EPOCH
        fenced = self if is_kept else self._raised(NO_EPOCH)
        return fenced.ended(Control.ABORT, raises_epoch=raises_epoch, next_id=next_id)

    def completed(self) -> TransactionMetadata:
        """Every partition has its marker. Kafka: prepareComplete."""
        assert self.decision is not None
        found = replace(self, state=COMPLETED[self.decision], partitions=frozenset(), next_producer_id=NO_ID)
        if self.next_producer_id == NO_ID:
            return found
        return replace(
            found, producer_id=self.next_producer_id, producer_epoch=0, previous_producer_id=self.producer_id
        )

    def text(self, *, has_other_ids: bool = True) -> str:
        """The value of a record in the coordinator's log; up to 4.3 without the next and the previous producer id
        (KAFKA-20310). Kafka: TransactionLog.valueToBytes.
        """
        value = asdict(self) | {"state": self.state.value, "partitions": sorted(self.partitions)}
        if not has_other_ids:
            value |= {"next_producer_id": NO_ID, "previous_producer_id": NO_ID}
        return json.dumps(value)

    @classmethod
    def of(cls, text: str) -> TransactionMetadata:
        """Read such a value."""
        given = json.loads(text)
        state, partitions = TransactionState(given.pop("state")), frozenset(given.pop("partitions"))
        return cls(state=state, partitions=partitions, **given)

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
