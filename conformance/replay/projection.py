"""Projects a cluster onto the model: computes each variable of the model from the observable state of the cluster.

The model clears state that nobody will read again: metadata that every running broker has received, and fetches that
their follower has given up. So this module clears the same state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from isrcheck.conformance.cluster.broker.fetcher import Mode
from isrcheck.conformance.cluster.cluster import PRODUCER
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    AlterIsrRequest,
    AlterIsrResponse,
    Errors,
    FetchRequest,
    FetchResponse,
    Isolation,
    PartitionRegistration,
)
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.network.records import Control, ProducerStamp, Record
from isrcheck.conformance.cluster.observe import BrokerView, ClusterView
from isrcheck.models.kafka.state import fields as configuration
from isrcheck.models.kafka.state.fields import BUDGETS
from isrcheck.models.kafka.state.values import AlterPartition, BrokerEpoch, Fetch, Stop, TransactionState, Truncation
from isrcheck.models.language import NONE
from isrcheck.models.language.model import Instance

has_kraft: Callable[[Any], bool] = configuration.has_kraft

Cells = tuple[int | None, ...]

Proposals = Mapping[int, AlterIsrRequest]
"""Requests to change the ISR, by the numbers of their messages."""

NO_REQUEST = AlterIsrRequest(0, 0, frozenset())


class KraftProjection:
    """Computes the variables that exist only with KRaft, or whose values are computed in another way with ZooKeeper."""

    def __init__(self, configuration: Any, view: ClusterView, has_lost: Collection[int], proposals: Proposals) -> None:
        """`has_lost`: the brokers that are down and have lost records; `proposals`: the requests to change the ISR."""
        self.configuration = configuration
        self.view = view
        self.has_lost = has_lost
        self.proposals = proposals
        self.log = view.controller.log
        self.now = self.log[-1]
        self.replicas = range(configuration.replicas)
        self.positions = {
            b.number: self.log[b.metadata_offset].partition.partition_epoch if b.is_up else 0 for b in view.brokers
        }

    def all(self) -> dict[str, Cells]:
        """The values of the variables of this class, as flat lists, by name."""
        return {**self._controller(), **self._brokers(), **self._alter_partition(), **self._late_fetches()}

    def _controller(self) -> dict[str, Cells]:
        record = self.now.partition
        awaited = [self._awaited(epoch) for epoch in range(self.configuration.partition_changes + 1)]
        reassigned, reassigned_later = ([record], awaited) if self.configuration.reassignments else ([], [])
        registered = self.now.brokers if self.configuration.unregistrations else ()
        last = NONE if record.last_known_leader is None else record.last_known_leader
        return {
            "controller_leader": (_broker(record.leader),),
            "controller_epoch": (record.leader_epoch,),
            "controller_isr": self._members(record.isr),
            "controller_partition_epoch": (record.partition_epoch,),
            "metadata_partition_epoch": (),
            "metadata_leader": tuple(_broker(change.leader) for change in awaited),
            "metadata_leader_epoch": tuple(change.leader_epoch for change in awaited),
            "metadata_isr": self._members(*(change.isr for change in awaited)),
            "is_assigned": self._members(*(change.replicas for change in reassigned)),
            "metadata_assigned": self._members(*(change.replicas for change in reassigned_later)),
            "is_adding": self._members(*(change.adding for change in reassigned)),
            "is_removing": self._members(*(change.removing for change in reassigned)),
            "metadata_adding": self._members(*(change.adding for change in reassigned_later)),
            "is_unregistered": tuple(int(not broker.is_registered) for broker in registered),
            "is_fenced": tuple(int(broker.is_fenced) for broker in self.now.brokers),
            "is_shutting_down": tuple(int(self._shuts_down(b)) for b in self.view.brokers),
            "eligible_leader_replicas": self._members(record.elr),
            "last_known_leader": (last,),
        }

    def _shuts_down(self, broker: BrokerView) -> bool:
        """Whether a broker counts as shutting down in the model: after its process has ended, only until the broker is
        fenced. (Its registration in Kafka keeps the flag until the next process registers.)"""
        registered = self.now.brokers[broker.number]
        return registered.in_controlled_shutdown and (broker.is_up or not registered.is_fenced)

    def _awaited(self, epoch: int) -> PartitionRegistration:
        """The record of a partition epoch, if a running broker has not read the record yet; else an empty record."""
        is_awaited = any(b.is_up and self.positions[b.number] < epoch for b in self.view.brokers)
        records = [image.partition for image in self.log if is_awaited and image.partition.partition_epoch == epoch]
        return records[0] if records else PartitionRegistration((), None, 0, frozenset())

    def _brokers(self) -> dict[str, Cells]:
        brokers, offsets = self.view.brokers, self.view.controller.shutdown_offsets
        epochs = [dict(b.leadership.broker_epochs) if b.leadership else {} for b in brokers]
        return {
            "metadata_position": tuple(self.positions.values()),
            "stopped_by": tuple(self._stop(b) for b in brokers),
            "shutdown_partition_epoch": tuple(
                self.log[offset].partition.partition_epoch if offset >= 0 else 0 for offset in offsets
            ),
            "remote_broker_epoch": tuple(self._process(of.get(r, 0), r) for of in epochs for r in self.replicas),
            "flushed_offset": tuple(b.recovery_point for b in brokers),
        }

    def _stop(self, broker: BrokerView) -> int:
        if broker.is_up:
            return Stop.CRASH
        if broker.has_stopped_cleanly:
            return Stop.SHUTDOWN
        return Stop.LOSS if broker.number in self.has_lost else Stop.CRASH

    def _process(self, number: int, broker: int) -> int:
        """The model's value for the broker epoch `number`: UNKNOWN for 0, REGISTERED for the broker's last registered
        process, EARLIER for an earlier process."""
        if not number:
            return BrokerEpoch.UNKNOWN
        last = max(image.brokers[broker].broker_epoch for image in self.log)  # if unregistered: its last process
        return BrokerEpoch.REGISTERED if number == last else BrokerEpoch.EARLIER

    def _alter_partition(self) -> dict[str, Cells]:
        requests = requests_of(self.view, self.proposals)
        return {
            **proposals_of(self.view.brokers, requests, self.replicas),
            "requested_broker_epoch": tuple(
                self._process(request.broker_epoch_of(r) or 0, r) for _, request in requests for r in self.replicas
            ),
        }

    def _late_fetches(self) -> dict[str, Cells]:
        if not self.configuration.late_fetches:
            return {}
        late = {
            (message.destination, message.source): message.payload.fetch_offset
            for message in self.view.network
            if isinstance(message.payload, FetchRequest) and isinstance(message.source, int)
            if message.source_process != self.view.brokers[message.source].process
        }
        return {"late_fetch_offset": tuple(late.get((r, f), NONE) for r in self.replicas for f in self.replicas)}

    def _members(self, *sets: Collection[int]) -> Cells:
        return tuple(int(r in members) for members in sets for r in self.replicas)


Request = tuple[int, AlterIsrRequest]
"""The stage of a broker's request to the controller, and the request."""


def requests_of(view: ClusterView, proposals: Proposals) -> list[Request]:
    """By broker: the stage of its request to change the ISR, and the request (NO_REQUEST if the broker has none)."""
    return [_request_of(broker.number, view.network, proposals) for broker in view.brokers]


def _request_of(broker: int, network: Iterable[Message], proposals: Proposals) -> Request:
    for message in network:
        content = message.payload
        if message.source == broker and isinstance(content, AlterIsrRequest):
            return AlterPartition.REQUESTED, content
        if message.destination == broker and isinstance(content, AlterIsrResponse) and message.in_reply_to is not None:
            is_good = content.error is Errors.NONE
            return AlterPartition.ACCEPTED if is_good else AlterPartition.INELIGIBLE, proposals[message.in_reply_to]
    return AlterPartition.NONE, NO_REQUEST


def proposals_of(brokers: Iterable[BrokerView], requests: Iterable[Request], replicas: range) -> dict[str, Cells]:
    """The variables of the releases with AlterIsr: the ISR that each leader has proposed, and each broker's request."""
    proposed = [(b.leadership and b.leadership.proposed_isr) or () for b in brokers]
    return {
        "partition_epoch": tuple(b.partition_epoch for b in brokers),
        "proposed_isr": tuple(int(r in isr) for isr in proposed for r in replicas),
        "alter_partition": tuple(stage for stage, _ in requests),
        "requested_leader_epoch": tuple(request.leader_epoch for _, request in requests),
        "requested_partition_epoch": tuple(request.partition_epoch for _, request in requests),
        "requested_isr": tuple(int(r in request.isr) for _, request in requests for r in replicas),
    }


def _broker(number: int | None) -> int:
    return NONE if number is None else number


LEFT_OUT = frozenset(f"{name}_left" for name in BUDGETS)
"""Variables of the model that a cluster does not have: budgets."""

alters_partitions: Callable[[Any], bool] = configuration.alters_partitions
numbers_from_zero: Callable[[Any], bool] = configuration.numbers_from_zero

TRANSACTIONAL = "transaction "

Projected = dict[str, tuple[int | None, ...]]
"""The cells of variables; None: what cannot be observed."""

Reads = Mapping[int, Mapping[Isolation, Iterable[Record]]]
"""For each leader: the records that it returned to a consumer of each isolation level that read its whole log."""


def payload_of(record: int) -> str:
    """The payload of the record with a given number: a letter."""
    return chr(ord("a") + record)


def record_of(payload: str) -> int:
    """The number of the record with this payload."""
    return ord(payload) - ord("a")


def producer_of(transaction: int) -> str:
    """The name of the producer of a transaction; each transaction has a producer of its own."""
    return f"{TRANSACTIONAL}{transaction}"


def reader_of(consumer: int) -> str:
    """The name of the consumer with a given number in the model."""
    return f"reader {consumer}"


@dataclass
class Observations:
    """Facts that the model needs, and that only earlier states of a running cluster have shown. Brokers are given by
    their numbers."""

    common: int = 0
    """The number of records that it started with, all of them acknowledged."""
    elections: list[tuple[int | None, frozenset[int], int]] = field(default_factory=list)
    """The leader, the ISR and the partition epoch of every announced epoch."""
    heard: int = 0
    """The number of epochs that were announced while a broker was up."""
    exposed: dict[int, Record] = field(default_factory=dict)
    """By offset: the record that readers could read there first."""
    committed: dict[int, Record] = field(default_factory=dict)
    """By offset: the record that readers with read_committed could read there first."""
    log_start_offset: int = 0
    """The offset up to which records were deleted."""
    last_high_watermark: dict[int, int] = field(default_factory=dict)
    """This field and the next three hold, by broker, what the broker had in memory when it last ran."""
    last_epochs: dict[int, dict[int, int]] = field(default_factory=dict)
    last_log_end_offset: dict[int, int] = field(default_factory=dict)
    last_replayed_from: dict[int, int] = field(default_factory=dict)
    has_lost: set[int] = field(default_factory=set)
    """The brokers that are down and have lost a part of their logs."""
    proposals: dict[int, AlterIsrRequest] = field(default_factory=dict)
    """The requests to change the ISR, by the numbers of their messages."""
    number_of: Callable[[str], int] = record_of
    """A function that gives the number of a record by its payload, or NONE."""

    def note(self, view: ClusterView, reads: Reads | None = None) -> None:
        """Take `view` as an observation. `reads`: what consumers received; if None, this is computed from the logs."""
        aborted = {_producer_id(view, name) for name, control in view.decided if control is Control.ABORT}
        controller = view.controller
        self.note_proposals(view.network)
        if len(self.elections) <= controller.leader_epoch:
            self.elections.append((controller.leader, controller.isr, controller.partition_epoch))
        if any(broker.is_up for broker in view.brokers):
            self.heard = len(self.elections)
        for broker in view.brokers:
            number, end = broker.number, broker.log_end_offset
            epochs = {entry.leader_epoch: entry.start_offset for entry in broker.epoch_entries}
            if broker.high_watermark is not None:
                self.last_high_watermark[number], self.last_epochs[number] = broker.high_watermark, epochs
                self.has_lost.discard(number)
            else:  # a machine that loses data also loses its memory
                last = self.last_high_watermark.get(number, broker.checkpointed_high_watermark)
                # If the broker is down from the start, an epoch at the log end is not loaded.
                is_new = number not in self.last_epochs
                is_cut = end < self.last_log_end_offset.get(number, end)
                self.last_high_watermark[number] = min(last, end) if is_cut else last
                self.last_epochs[number] = {
                    epoch: start
                    for epoch, start in self.last_epochs.get(number, epochs).items()
                    if epoch in epochs and not (start >= end and (is_cut or is_new))
                }
                if is_cut:
                    self.has_lost.add(number)
                    self.last_replayed_from[number] = _snapshot_offset(broker)
            if broker.producers.replayed_from is not None:
                self.last_replayed_from[number] = broker.producers.replayed_from
            self.last_log_end_offset[number] = end
            self.log_start_offset = max(self.log_start_offset, broker.log_start_offset)
            if broker.leadership is not None and reads is not None:
                self._was_read(broker, reads[number])
            elif broker.leadership is not None:
                self._could_read(broker, aborted)

    def note_proposals(self, messages: Iterable[Message]) -> None:
        """Remember the requests to change the ISR that are in flight."""
        sent = {message.number: message.payload for message in messages}
        self.proposals |= {number: request for number, request in sent.items() if isinstance(request, AlterIsrRequest)}

    def _was_read(self, leader: BrokerView, reads: Mapping[Isolation, Iterable[Record]]) -> None:
        """Note the records that consumers received from `leader`, and transaction markers below its high watermark."""
        assert leader.high_watermark is not None
        markers = [
            record for record in leader.log if record.control is not None and record.offset < leader.high_watermark
        ]
        for record in (*reads[Isolation.READ_UNCOMMITTED], *markers):
            self.exposed.setdefault(record.offset, record)
        for record in reads[Isolation.READ_COMMITTED]:
            self.committed.setdefault(record.offset, record)

    def _could_read(self, leader: BrokerView, aborted: set[int]) -> None:
        """Note the records that consumers of this leader would receive at each isolation level, judging by its log."""
        assert leader.high_watermark is not None
        assert leader.last_stable_offset is not None
        for record in leader.log:
            if record.offset < leader.high_watermark:
                self.exposed.setdefault(record.offset, record)
            is_aborted = record.stamp is not None and record.stamp.producer_id in aborted
            if record.offset < leader.last_stable_offset and record.control is None and not is_aborted:
                self.committed.setdefault(record.offset, record)


def _producer_id(view: ClusterView, name: str) -> int:
    """The first id of the producer with that name; a transactional producer keeps this id."""
    return next(producer.identities[0].producer_id for producer in view.producers if producer.name == name)


def _snapshot_offset(broker: BrokerView) -> int:
    """The offset of a broker's snapshot of producers; 0 if it lies outside the log: a restart would not load it."""
    saved = broker.producers.snapshot_offset
    return saved if broker.log_start_offset < saved <= broker.log_end_offset else 0


def project(instance: Instance, view: ClusterView, observations: Observations) -> Projected:
    """The values of every variable of the model except those in LEFT_OUT, as flat lists in the model's order."""
    return _Projection(instance, view, observations).all()


class _Projection:
    """Computes the model's variables from one observed state of a cluster."""

    def __init__(self, instance: Instance, view: ClusterView, seen: Observations) -> None:
        self.configuration = instance.configuration
        self.view = view
        self.seen = seen
        self.brokers = view.brokers
        self.replicas = range(self.configuration.replicas)
        self.offsets = range(self.configuration.log_size)
        self.epochs = range(self.configuration.elections + 1)
        self.records = range(self.configuration.records)
        self.transactions = range(self.configuration.transactions)
        self.producer = next((producer for producer in view.producers if producer.name == PRODUCER), None)

    def all(self) -> Projected:
        return {
            **self._of_controller(),
            **self._logs(),
            **self._roles(),
            **self._fetches(),
            **self._clients(),
            **self._producer(),
            **self._consumers(),
        }

    def _of_controller(self) -> Projected:
        if has_kraft(self.configuration):
            return KraftProjection(self.configuration, self.view, self.seen.has_lost, self.seen.proposals).all()
        is_flushed = self.configuration.flush_interval_messages > 0  # then every record is flushed; it is not observed
        unseen = (None,) * (len(self.replicas) if is_flushed else 0)
        return {**self._controller(), **self._alter_isr(), "last_known_leader": (NONE,), "flushed_offset": unseen}

    def _controller(self) -> Projected:
        controller = self.view.controller
        elections = [self._announced(epoch) for epoch in self.epochs]
        return {
            "controller_leader": (NONE if controller.leader is None else controller.leader,),
            "controller_epoch": (controller.leader_epoch,),
            "controller_isr": tuple(self._members(controller.isr)),
            "metadata_leader": tuple(NONE if leader is None else leader for leader, _, _ in elections),
            "metadata_isr": tuple(cell for _, isr, _ in elections for cell in self._members(isr)),
        }

    def _announced(self, epoch: int) -> tuple[int | None, frozenset[int], int]:
        """The leader, ISR and partition epoch of the election of `epoch`, if a running broker has not received the
        election, or if no broker was up when it was announced; otherwise NONE, an empty ISR, and 0."""
        is_awaited = epoch >= self.seen.heard or any(b.is_up and _epoch(b) < epoch for b in self.brokers)
        return self.seen.elections[epoch] if is_awaited and epoch < len(self.seen.elections) else (NONE, frozenset(), 0)

    def _alter_isr(self) -> Projected:
        """The variables of releases with AlterIsr; for older releases only the partition epoch, None (not compared)."""
        if not alters_partitions(self.configuration):
            return {"controller_partition_epoch": (None,)}
        return {
            "controller_partition_epoch": (self.view.controller.partition_epoch,),
            "metadata_partition_epoch": tuple(self._announced(epoch)[2] for epoch in self.epochs),
            **proposals_of(self.brokers, requests_of(self.view, self.seen.proposals), self.replicas),
        }

    def _logs(self) -> Projected:
        records, epochs, caches = [], [], []
        for broker in self.brokers:
            held = {record.offset: record for record in broker.log}
            records += [self._entry(held.get(o)) for o in self.offsets]
            epochs += [held[o].leader_epoch if o in held else NONE for o in self.offsets]
            # 0.10 keeps no epochs that are ever read.
            cache = {} if self.configuration.TRUNC == Truncation.HW else self.seen.last_epochs[broker.number]
            caches += [cache.get(epoch, NONE) for epoch in self.epochs]
        return {
            "log_record": tuple(records),
            "log_epoch": tuple(epochs),
            "epoch_cache": tuple(caches),
            "log_start_offset": tuple(b.log_start_offset for b in self.brokers),
            "log_end_offset": tuple(b.log_end_offset for b in self.brokers),
            "high_watermark": tuple(self.seen.last_high_watermark[b.number] for b in self.brokers),
        }

    def _roles(self) -> Projected:
        isr, remote, starts, has = [], [], [], self.configuration
        is_needed = bool(has.EXPAND_EPOCH_START or (has.consumers and has.LATEST_OFFSET_AWAITS_EPOCH_START))
        for broker in self.brokers:
            leads = broker.leadership
            isr += self._members(leads.isr if leads else ())
            ends = dict(leads.remote_log_end_offsets) if leads else {}
            remote += [NONE if (end := ends.get(r)) is None else end for r in self.replicas]
            starts.append(leads.leader_epoch_start_offset if leads is not None and is_needed else 0)
        return {
            "is_up": tuple(int(b.is_up) for b in self.brokers),
            "leader_epoch": tuple(_epoch(b) for b in self.brokers),
            "leader": tuple(NONE if b.leader is None else b.leader for b in self.brokers),
            "is_truncating": tuple(int(b.is_truncating) for b in self.brokers),
            "isr": tuple(isr),
            "epoch_start_offset": tuple(starts),
            "remote_log_end_offset": tuple(remote),
        }

    def _fetches(self) -> Projected:
        columns: defaultdict[str, list[int]] = defaultdict(list)
        for follower in self.brokers:
            for leader in self.brokers:
                stage, offset, response = self._fetch(follower, leader)
                held = {record.offset: record for record in response.records} if response else {}
                columns["fetch"].append(stage)
                columns["fetch_offset"].append(offset)
                columns["response_record"] += [self._entry(held.get(o)) for o in self.offsets]
                columns["response_epoch"] += [held[o].leader_epoch if o in held else NONE for o in self.offsets]
                divergence = response.diverging_epoch if response else None
                columns["response_high_watermark"].append(self._told_high_watermark(response, follower))
                columns["response_log_start_offset"].append(
                    response.log_start_offset if response and not divergence else 0
                )
                if alters_partitions(self.configuration):
                    columns["diverging_epoch"].append(divergence.leader_epoch if divergence else 0)
                    columns["diverging_end_offset"].append(divergence.end_offset if divergence else 0)
        return {name: tuple(cells) for name, cells in columns.items()}

    def _told_high_watermark(self, response: FetchResponse | None, follower: BrokerView) -> int:
        """The high watermark that a follower will take from this response; 0 if it will take none."""
        if response is None:
            return 0
        is_taken = any(fetcher.diverging is response for fetcher in follower.fetchers)
        is_ignored = response.diverging_epoch is not None and not self.configuration.HW_FROM_DIVERGING_RESP
        return 0 if is_taken or is_ignored else response.high_watermark

    def _fetch(self, follower: BrokerView, leader: BrokerView) -> tuple[int, int, FetchResponse | None]:
        """Return the stage and the offset of the follower's fetch, and the response, or None. The response is returned
        while it is in flight, and while the follower still has to truncate because of it.

        With truncation on fetch, a broker that stops following this leader keeps its fetch, and applies the response if
        it follows the leader again.
        """
        thread = next((fetcher for fetcher in follower.fetchers if fetcher.source == leader.number), None)
        if thread is not None and thread.diverging is not None:
            return Fetch.DIVERGING, thread.diverging.fetch_offset, thread.diverging
        is_kept = self.configuration.TRUNC == Truncation.ON_FETCH
        if thread is None or thread.outstanding is None or not (is_kept or thread.mode is Mode.FETCHING):
            return Fetch.NONE, 0, None
        for message in self.view.network:
            answer = message.payload
            if message.number == thread.outstanding:
                # The leader has not received it; a parked fetch there is from an earlier process.
                return Fetch.NONE, 0, None
            if message.in_reply_to == thread.outstanding and isinstance(answer, FetchResponse):
                stage = Fetch.ANSWERED if answer.diverging_epoch is None else Fetch.DIVERGING
                is_good = answer.error is Errors.NONE
                return (stage, answer.fetch_offset, answer) if is_good else (Fetch.NONE, 0, None)
        parked = leader.leadership.parked_fetches if leader.leadership else ()
        offsets = [offset for number, offset, _ in parked if number == follower.number]
        return (Fetch.PARKED, offsets[0], None) if offsets else (Fetch.NONE, 0, None)

    def _clients(self) -> Projected:
        sent = [attempt for _, all_sent in self.view.sent for attempt in all_sent]
        acknowledged = {
            self.seen.number_of(attempt.payload)
            for attempt in sent
            if attempt.is_acknowledged or attempt.acks is Acks.NONE
        }
        acknowledged |= set(range(self.seen.common))
        transaction_of = {self.seen.number_of(attempt.payload): self._transaction(attempt.stamp) for attempt in sent}
        return {
            "next_record": (self.seen.common + sum(1 for attempt in sent if attempt.retry_of is None),),
            "pending": self._pending(),
            "acknowledged": tuple(int(record in acknowledged) for record in self.records),
            "transaction_of": tuple(transaction_of.get(record, NONE) for record in self.records),
            "transaction_state": self._transaction_states(),
            "exposed_record": tuple(self._entry(self.seen.exposed.get(o)) for o in self.offsets),
            "read_committed_record": tuple(
                self._entry(self.seen.committed.get(o)) if self.transactions else NONE for o in self.offsets
            ),
            "deleted_before": (self.seen.log_start_offset,),
            "answered_deletion": (self._answered_deletion(),),
        }

    def _answered_deletion(self) -> int:
        """The offset below which clients know that records are deleted; 0 if no step of the model tells them."""
        answered = [
            answer.low_watermark for answer in self.view.deletes if answer is not None and answer.error is Errors.NONE
        ]
        return max(answered, default=0) if self.configuration.DELETION_IS_ANSWERED else 0

    def _producer(self) -> Projected:
        """The variables of an idempotent producer; if there is no such producer, only three of them, with value 0."""
        if not self.configuration.enable_idempotence:
            return {"producer_epoch": (0,), "heard_leader_epoch": (0,), "acknowledged_before": (0,)}
        numbered = dict(self.producer.numbered) if self.producer else {}
        latest = len(self.producer.identities) - 1 if self.producer else 0
        stamps = {self.seen.number_of(payload): dict(all_of_it) for payload, all_of_it in numbered.items()}
        return {
            "producer_epoch": (latest,),
            "heard_leader_epoch": (self.producer.leader_epoch if self.producer else 0,),
            "has_sequence": tuple(int(latest in stamps.get(record, ())) for record in self.records),
            "log_producer_epoch": tuple(cell for broker in self.brokers for cell in self._log_producer_epochs(broker)),
            "response_producer_epoch": tuple(
                self._numbering(held.get(offset))
                for follower in self.brokers
                for leader in self.brokers
                for held in [self._response_records(follower, leader)]
                for offset in self.offsets
            ),
            **self._saved(),
            **self._deleted(),
            **self._numbered_before(stamps, latest),
        }

    def _consumers(self) -> Projected:
        names = [reader_of(consumer) for consumer in range(self.configuration.consumers)]
        consumers = [consumer for name in names for consumer in self.view.consumers if consumer.name == name]
        read = [{record.offset: record for record in consumer.read} for consumer in consumers]
        chosen = (
            [consumer.preferred_read_replica for consumer in consumers] if self.configuration.follower_fetching else []
        )
        return {
            "preferred_read_replica": tuple(NONE if replica is None else replica for replica in chosen),
            "position": tuple(consumer.position for consumer in consumers),
            "known_end_offset": tuple(consumer.known_end_offset for consumer in consumers),
            "consumer_leader_epoch": tuple(consumer.leader_epoch for consumer in consumers),
            "consumed_epoch": tuple(
                NONE if consumer.consumed_epoch is None else consumer.consumed_epoch for consumer in consumers
            ),
            "consumed_record": tuple(self._entry(each.get(offset)) for each in read for offset in self.offsets),
            "has_skipped": tuple(int(consumer.has_skipped) for consumer in consumers),
        }

    def _saved(self) -> Projected:
        if not self.configuration.producer_snapshots:
            return {}
        return {
            "snapshot_offset": tuple(_snapshot_offset(broker) for broker in self.brokers),
            "replayed_from": tuple(self.seen.last_replayed_from.get(b.number, 0) for b in self.brokers),
        }

    def _deleted(self) -> Projected:
        """For each broker and offset: the deleted record that the broker remembers in its producer state, or NONE if no
        record is deleted there. A deleted record that the broker does not remember has the value None (not compared):
        the model also keeps deleted records of brokers that are down, and records that later records have displaced."""
        if not self.configuration.delete_records:
            return {}
        cells: list[int | None] = []
        for broker in self.brokers:
            stamps = {offset: stamp for stamp, offset in broker.producers.remembered}
            for offset in self.offsets:
                is_deleted = offset < broker.log_start_offset and bool(self.configuration.PRODUCER_STATE_KEPT)
                deleted = stamps.get(offset) if is_deleted else None
                cells.append(self._record_with(deleted) if deleted else None if is_deleted else NONE)
        return {"deleted_record": tuple(cells)}

    def _numbered_before(self, stamps: Mapping[int, Mapping[int, ProducerStamp]], latest: int) -> Projected:
        """The variables on earlier numberings: in 1.0 to 2.4, a producer restarts at 0 if its records are deleted."""
        is_kept = self.producer is not None and numbers_from_zero(self.configuration)
        identities = self.producer.identities if self.producer else ()
        former = range(self.configuration.producer_epochs - 1 if self.configuration.delete_records else 0)
        same = [is_kept and epoch < latest and identities[epoch] == identities[-1] for epoch in former]
        return {
            "acknowledged_before": (self.producer.last_acknowledged_offset + 1 if self.producer and is_kept else 0,),
            "had_sequence": tuple(
                int(same[epoch] and epoch in stamps.get(record, ())) for epoch in former for record in self.records
            ),
        }

    def _record_with(self, stamp: ProducerStamp) -> int | None:
        """The number of the idempotent producer's record with this stamp; None if the producer has no such record."""
        for payload, stamps in self.producer.numbered if self.producer else ():
            if stamp in dict(stamps).values():
                return self.seen.number_of(payload)
        return None

    def _log_producer_epochs(self, broker: BrokerView) -> list[int | None]:
        held = {record.offset: record for record in broker.log}
        stamps = {offset: stamp for stamp, offset in broker.producers.remembered}
        cells: list[int | None] = []
        for offset in self.offsets:
            is_deleted = offset < broker.log_start_offset and bool(self.configuration.PRODUCER_STATE_KEPT)
            if is_deleted:
                cells.append(self._numbering_with(stamps[offset]) if offset in stamps else None)
            else:
                cells.append(self._numbering(held.get(offset)))
        return cells

    def _numbering(self, record: Record | None) -> int:
        """The model's number of the epoch in which the idempotent producer stamped `record`; 0 if it did not."""
        return 0 if record is None or record.stamp is None else self._numbering_with(record.stamp, record.payload)

    def _numbering_with(self, stamp: ProducerStamp, payload: str | None = None) -> int:
        """The model's number for the producer epoch of a stamp; `payload` tells apart two records with that stamp."""
        for other, stamps in self.producer.numbered if self.producer else ():
            for numbering, each in stamps:
                if each == stamp and payload in (None, other):
                    return numbering
        return 0

    def _response_records(self, follower: BrokerView, leader: BrokerView) -> dict[int, Record]:
        response = self._fetch(follower, leader)[2]
        return {record.offset: record for record in response.records} if response else {}

    def _pending(self) -> tuple[int, ...]:
        """For each record, the broker at which its last produce request waits for the high watermark, or NONE."""
        pending = [NONE] * len(self.records)
        sent = dict(self.view.sent)
        for broker in self.brokers:
            for client, number, _, _ in broker.leadership.delayed_produces if broker.leadership else ():
                if client in sent and sent[str(client)][number].is_in_flight:
                    pending[self.seen.number_of(sent[str(client)][number].payload)] = broker.number
        return tuple(pending)

    def _transaction_states(self) -> tuple[int, ...]:
        decided = dict(self.view.decided)
        outcomes = [decided.get(producer_of(transaction)) for transaction in self.transactions]
        meant = {None: TransactionState.OPEN, Control.COMMIT: TransactionState.COMMITTED}
        return tuple(meant.get(outcome, TransactionState.ABORTED) for outcome in outcomes)

    def _transaction(self, stamp: ProducerStamp | None) -> int:
        """The number of the transaction of a batch with this stamp, or NONE. Each producer has one transaction."""
        if stamp is None:
            return NONE
        name = next(
            producer.name
            for producer in self.view.producers
            for was in producer.identities
            if was.producer_id == stamp.producer_id
        )
        return int(name.removeprefix(TRANSACTIONAL)) if name.startswith(TRANSACTIONAL) else NONE

    def _entry(self, record: Record | None) -> int:
        """The model's number for an entry of a log (markers are numbered after all records); NONE for no entry."""
        if record is None:
            return NONE
        if record.control is None:
            return self.seen.number_of(record.payload)
        return len(self.records) + self._transaction(record.stamp)

    def _members(self, members: Iterable[int]) -> list[int]:
        numbers = set(members)
        return [int(r in numbers) for r in self.replicas]


def _epoch(broker: BrokerView) -> int:
    return max(broker.leader_epoch, 0)
