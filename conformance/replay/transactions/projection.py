"""Computes each variable of the model `transactions` from what can be observed of the executable system.

A marker before which no transaction is open has an offset in the logs of Kafka and of the system, but not in the
model's log; so such markers are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from isrcheck.conformance.cluster.network.messages import EndTxnRequest, WriteTxnMarkersRequest
from isrcheck.conformance.cluster.network.records import LAST_EPOCH, Control, ProducerStamp, Record
from isrcheck.conformance.cluster.transactions import producer as of_producer
from isrcheck.conformance.cluster.transactions.coordinator import (
    COMPLETED,
    NO_ID,
    PendingTransition,
    TransactionMetadata,
)
from isrcheck.conformance.cluster.transactions.leader import TransactionLeader
from isrcheck.conformance.cluster.transactions.producer import Transaction
from isrcheck.conformance.cluster.transactions.system import FIRST_PRODUCER_ID, TRANSACTIONAL_ID, TransactionalCluster
from isrcheck.models.language import NONE
from isrcheck.models.transactions.values import (
    Entry,
    LateAnswer,
    Marker,
    Outcome,
    Phase,
    Request,
    TransactionState,
    Verification,
)

OUTCOMES = {Control.COMMIT: Outcome.COMMITTED, Control.ABORT: Outcome.ABORTED}


def name_of(transaction: int) -> str:
    """The name of the model's transaction with this number, and of the transaction's records: a letter."""
    return chr(ord("a") + transaction)


def number_of(payload: str) -> int:
    """The number of the transaction that a record belongs to."""
    return ord(payload[0]) - ord("a")


@dataclass
class Observations:
    """What the driver has observed of a system so far. Partitions are given by their numbers."""

    late_markers: dict[int, int] = field(default_factory=dict)
    """By partition: the message of a late marker."""
    late_end_txn: int | None = None
    """The message of a late EndTxn; None if none is late."""
    initialising: int = NONE
    """The producer that asks for an id; NONE if none asks."""
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    """By transaction: the decision to commit or abort it."""
    forgotten_below: dict[int, int] = field(default_factory=dict)
    """By partition: the offset at which it has forgotten the producer."""
    known: set[int] = field(default_factory=set)
    """The partitions that know the producer."""
    confirmed: dict[int, int] = field(default_factory=dict)
    """By partition: the transaction that the coordinator last confirmed to its leader."""
    progress: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By partition: what was appended and verified there at that time."""
    durable: TransactionMetadata | None = None
    """The durable state of the transactional id."""
    is_answer_late: bool = False
    """Whether an answer to a marker of an earlier coordinator is on its way."""
    first_epoch: int = 0
    """The epoch of the first instance of the producer."""
    taken_at_end: set[int] = field(default_factory=set)
    """The producer ids that were taken at the end of a transaction."""

    def number_of(self, producer_id: int, producer_epoch: int) -> int:
        """The model's number for an epoch of a producer id. The model numbers the epochs of all ids in one row: the
        numbers of a new id follow directly on those of the first id if the new id was taken at the end of a
        transaction, and skip one number if the new id was taken by InitProducerId."""
        if producer_id <= FIRST_PRODUCER_ID:
            return producer_epoch - (self.first_epoch if producer_epoch >= 0 else 0)
        return producer_epoch + LAST_EPOCH + 2 - self.first_epoch + (producer_id not in self.taken_at_end)

    def note(self, system: TransactionalCluster) -> None:
        """Add an observation of the system. A decision to commit or abort that has become durable since the previous
        observation is noted for the last transaction with the producer id and epoch that the coordinator had then."""
        states = system.coordinator.states
        durable, pending = states.states[TRANSACTIONAL_ID], states.pending.get(TRANSACTIONAL_ID)
        self.taken_at_end |= {
            metadata.next_producer_id for metadata in (durable, *([pending.metadata] if pending else []))
        }
        before = self.durable
        if before is not None and durable.decision is not None and before.decision is None:
            stamp = before.producer_id, before.producer_epoch
            begun = [
                number
                for number, (_, transaction) in begun_in(system)
                if (transaction.producer_id, transaction.producer_epoch) == stamp
            ]
            if begun:
                self.outcomes[max(begun)] = OUTCOMES[durable.decision]
        self.durable = durable
        knowing = {leader.number for leader in system.leaders if leader.log.producers.known}
        for partition in self.known - knowing:
            self.forgotten_below[partition] = len(entries_of(system.leaders[partition]))
        for leader in system.leaders:
            self._note_what_is_verified(leader, is_forgotten=leader.number in self.known - knowing)
        self.known = knowing

    def _note_what_is_verified(self, leader: TransactionLeader, *, is_forgotten: bool) -> None:
        """Note which transaction the coordinator last confirmed to a partition's leader. The transaction stays
        confirmed, also if its record is refused, until the leader appends an entry or forgets the producer
        (`is_forgotten`). A confirmation for a copy of a record that is already in the log does not count."""
        at, held = leader.number, {record.payload for record in leader.log.records}
        verified = [payload for payload in leader.verified if payload not in held]
        appended, count = self.progress.get(at, (0, 0))
        self.progress[at] = len(leader.log.records), len(verified)
        if is_forgotten or len(leader.log.records) != appended:
            self.confirmed.pop(at, None)
            count = 0
        if len(verified) > count:
            self.confirmed[at] = number_of(verified[-1])


def begun_in(system: TransactionalCluster) -> Iterator[tuple[int, tuple[int, Transaction]]]:
    """Every transaction that was begun: its number, its producer, and what the producer knows of the transaction."""
    for number, producer in enumerate(system.producers):
        for transaction in producer.transactions:
            yield number_of(transaction.payload), (number, transaction)


def entries_of(leader: TransactionLeader) -> list[Record]:
    """The entries of a partition's log, except the markers before which no transaction is open."""
    entries: list[Record] = []
    for record in leader.log.records:
        if record.control is None or (entries and entries[-1].control is None):
            entries.append(record)
    return entries


def replicated_entries_of(leader: TransactionLeader) -> int:
    """The number of entries below the high watermark, counted as in `entries_of`."""
    return sum(record.offset < leader.log.high_watermark for record in entries_of(leader))


def project(system: TransactionalCluster, observations: Observations, sizes: Any) -> dict[str, Any]:
    """The values of the model's variables, except the budgets. `sizes` is the configuration of the model."""
    return {
        **_coordinator(system, observations, sizes),
        **_markers(system, observations, sizes),
        **_partitions(system, observations, sizes),
        **_producers(system, observations, sizes),
        **_transactions(system, observations, sizes),
    }


def _coordinator(system: TransactionalCluster, observations: Observations, sizes: Any) -> dict[str, Any]:
    states = system.coordinator.states
    durable, pending = states.states[TRANSACTIONAL_ID], states.pending.get(TRANSACTIONAL_ID)
    values: dict[str, Any] = {
        "coordinator_epoch": states.coordinator_epoch,
        "transaction_state": TransactionState[durable.state.name],
        "producer_epoch": observations.number_of(durable.producer_id, durable.producer_epoch),
        "knows_other_id": [],
        "in_transaction": [leader.name in durable.partitions for leader in system.leaders],
        "pending_state": TransactionState.NOTHING,
        "pending_epoch": 0,
        "pending_partition": NONE,
        "pending_producer": NONE,
    }
    if pending is not None:
        state = TransactionState[pending.metadata.state.name]
        added = pending.metadata.partitions - durable.partitions
        values |= {
            "pending_state": state,
            "pending_epoch": observations.number_of(pending.metadata.producer_id, pending.metadata.producer_epoch),
            "pending_partition": next((leader.number for leader in system.leaders if leader.name in added), NONE),
            "pending_producer": observations.initialising if state == TransactionState.EMPTY else NONE,
        }
    if sizes.producer_epochs:
        values["knows_other_id"] = [sizes.TXN_VERIFY == Verification.TV2 and _knows_other_id(durable, pending)]
    return values


def _knows_other_id(durable: TransactionMetadata, pending: PendingTransition | None) -> bool:
    has_next = durable.next_producer_id != NO_ID or (pending and pending.metadata.next_producer_id != NO_ID)
    has_changed = durable.previous_producer_id != NO_ID and durable.producer_epoch == 0
    return bool(has_next or (has_changed and durable.state in COMPLETED.values()))


def _markers(system: TransactionalCluster, observations: Observations, sizes: Any) -> dict[str, Any]:
    late: dict[int, WriteTxnMarkersRequest] = {}
    for message in system.messages:
        for partition, number in observations.late_markers.items():
            if message.number == number and isinstance(message.payload, WriteTxnMarkersRequest):
                late[partition] = message.payload
    partitions = range(len(system.leaders))
    answer = LateAnswer.UNDER_WAY if observations.is_answer_late else LateAnswer.NONE
    if TRANSACTIONAL_ID in system.coordinator.markers.given_up:
        answer = LateAnswer.REMOVED_ENTRY
    return {
        "late_answer": [answer] * (sizes.late_answers > 0),
        "marker": [_stage(system, leader) for leader in system.leaders],
        "late_marker": [Request[late[p].control.value] if p in late else Request.NOTHING for p in partitions],
        "late_marker_epoch": [_number(observations, late[p].stamp) if p in late else 0 for p in partitions],
        "late_marker_coordinator_epoch": [late[p].coordinator_epoch if p in late else 0 for p in partitions],
    }


def _number(observations: Observations, stamp: ProducerStamp) -> int:
    return observations.number_of(stamp.producer_id, stamp.producer_epoch)


def _stage(system: TransactionalCluster, leader: TransactionLeader) -> Marker:
    markers, in_flight = system.coordinator.markers, {message.number for message in system.messages}
    for request, marker in markers.sent.items():
        if marker.partition == leader.name:
            return Marker.SENT if request in in_flight else Marker.APPENDED
    if leader.name in markers.answered(TRANSACTIONAL_ID):
        return Marker.ANSWERED
    is_pending = TRANSACTIONAL_ID in system.coordinator.states.pending
    is_cancelled = TRANSACTIONAL_ID in markers.cancelled and not is_pending
    return Marker.DROPPED if is_cancelled else Marker.NOT_SENT


def _partitions(system: TransactionalCluster, observations: Observations, sizes: Any) -> dict[str, Any]:
    values: dict[str, list[Any]] = {}
    for leader in system.leaders:
        entries = entries_of(leader)
        cells = [_entry(record) for record in entries] + [Entry.EMPTY] * (sizes.log_size - len(entries))
        epochs = leader.log.producers.known
        epoch = max(
            (observations.number_of(producer_id, epoch) for producer_id, (epoch, _) in epochs.items()), default=NONE
        )
        coordinator_epoch = max((of_coordinator for _, of_coordinator in epochs.values()), default=NONE)
        for name, value in {
            "log_record": cells,
            "log_end_offset": len(entries),
            "high_watermark": replicated_entries_of(leader),
            "forgotten_below": observations.forgotten_below.get(leader.number, 0),
            "known_epoch": epoch,
            "known_coordinator_epoch": coordinator_epoch,
            "verified": observations.confirmed.get(leader.number, NONE),
        }.items():
            values.setdefault(name, []).append(value)
    return values


def _entry(record: Record) -> int:
    if record.control is not None:
        return Entry[record.control.value]
    return Entry.A + number_of(record.payload)


def _producers(system: TransactionalCluster, observations: Observations, sizes: Any) -> dict[str, Any]:
    is_over = any(producer.phase is of_producer.Phase.STOPPED for producer in system.producers)
    missing = sizes.producers - len(system.producers)
    late = next((message.payload for message in system.messages if message.number == observations.late_end_txn), None)
    return {
        "phase": [Phase[producer.phase.name] for producer in system.producers]
        + [Phase.STOPPED if is_over else Phase.NOT_STARTED] * missing,
        "epoch": [
            observations.number_of(producer.producer_id, producer.producer_epoch) for producer in system.producers
        ]
        + [NONE] * missing,
        "position": [producer.position for producer in system.producers] + [0] * missing,
        "late_end_txn": Request[late.control.value] if isinstance(late, EndTxnRequest) else Request.NOTHING,
        "late_end_txn_epoch": observations.number_of(late.producer_id, late.producer_epoch)
        if isinstance(late, EndTxnRequest)
        else 0,
    }


def _transactions(system: TransactionalCluster, observations: Observations, sizes: Any) -> dict[str, Any]:
    begun = dict(begun_in(system))
    numbers = range(sizes.transactions)
    return {
        "next_transaction": len(begun),
        "begun_by": [begun[number][0] if number in begun else NONE for number in numbers],
        "begun_with_epoch": [
            observations.number_of(begun[number][1].producer_id, begun[number][1].producer_epoch)
            if number in begun
            else NONE
            for number in numbers
        ],
        "processed_input": [begun[number][1].position if number in begun else 0 for number in numbers],
        "commit_requested": [number in begun and begun[number][1].is_commit_requested for number in numbers],
        "outcome": [observations.outcomes.get(number, Outcome.OPEN) for number in numbers],
        "was_sent": [
            [number in begun and leader.number in begun[number][1].batches for number in numbers]
            for leader in system.leaders
        ],
    }
