"""Markers: a coordinator tells the partitions of a transaction how it ended, and learns that they know.

In:  decisions; the answers of the partitions' leaders, broken connections.
Out: WriteTxnMarkers requests; the transactions all of whose partitions have answered.

A partition that refuses its marker cancels the markers of that transaction that are not sent yet, and the transaction
stays as it is: only another coordinator sends them again. Source: fact sheet, sections 6.2, 8.23; Kafka:
TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from isrcheck.conformance.cluster.configuration.bugs import TransactionBug
from isrcheck.conformance.cluster.network.messages import Errors
from isrcheck.conformance.cluster.network.records import NO_SEQUENCE, Control, ProducerStamp
from isrcheck.conformance.cluster.transactions.metadata import TransactionMetadata

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
    """The markers of one coordinator: queued, sent, and answered."""

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
        """The markers whose partitions have not answered, by the number of the request."""
        return dict(self._sent)

    @property
    def cancelled(self) -> frozenset[str]:
        """The decided transactions that wait for no partition any more, because one has refused its marker."""
        return frozenset(self._answered.keys() - self._unanswered.keys())

    @property
    def given_up(self) -> frozenset[str]:
        """The prepared transactions that nobody completes, because an answer of an earlier epoch has removed them."""
        return frozenset(self._given_up)

    def answered(self, transactional_id: str) -> frozenset[str]:
        """The partitions that have the marker of the transaction that is being ended."""
        return frozenset(self._answered.get(transactional_id, ()))

    def add(self, transactional_id: str, metadata: TransactionMetadata, coordinator_epoch: int) -> None:
        """Queue the markers of a decided transaction. Kafka: addTxnMarkersToSend."""
        assert metadata.decision is not None
        stamp = ProducerStamp(metadata.producer_id, metadata.producer_epoch, NO_SEQUENCE, is_transactional=True)
        self._unanswered[transactional_id], self._answered[transactional_id] = set(metadata.partitions), set()
        for partition in sorted(metadata.partitions):
            given = (stamp, metadata.decision, coordinator_epoch)
            self._queued.append(TxnMarker(transactional_id, partition, *given))

    def send_queued(self, partition: str, send: Callable[[TxnMarker], int]) -> None:
        """Send what is queued for a partition's leader. `send` returns the number of the request.

        Kafka: generateRequests.
        """
        due = [each for each in self._queued if each.partition == partition]
        for each in due:
            self._queued.remove(each)
            self._sent[send(each)] = each

    def receive(self, request: int, error: Errors) -> None:
        """A partition has answered. Every other error than a refusal has the marker sent again."""
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
        """A partition answers a marker of an earlier coordinator epoch, and that transaction is given up: up to 3.7 by
        its id, whatever its epoch (KAFKA-16352). Kafka: removeMarkersForTxnId.
        """
        if not self._checks_epoch and self._unanswered.get(transactional_id):
            self._given_up.add(transactional_id)

    def disconnected(self, request: int) -> None:
        """The answer to a marker does not come: the marker is queued again."""
        marker = self._sent.pop(request)
        if self._bug is not TransactionBug.MARKER_LOST_WITH_ANSWER:
            self._queued.append(marker)

    def next_complete(self) -> str | None:
        """A transaction all of whose partitions have answered, and which is then forgotten. Kafka:
        maybeWriteTxnCompletion.
        """
        for transactional_id, unanswered in self._unanswered.items():
            is_enough = self._bug is TransactionBug.COMPLETE_AFTER_FIRST_MARKER and self._answered[transactional_id]
            if transactional_id not in self._given_up and (not unanswered or is_enough):
                del self._unanswered[transactional_id]
                return transactional_id
        return None

    def forget(self, transactional_id: str) -> None:
        """The transaction is complete."""
        self._answered.pop(transactional_id, None)
