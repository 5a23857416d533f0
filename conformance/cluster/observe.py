"""The observable state of a cluster: immutable views of brokers, network, controller and clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TypeVar

from isrcheck.conformance.cluster.broker.broker import Broker
from isrcheck.conformance.cluster.broker.fetcher import FetcherThread, Mode
from isrcheck.conformance.cluster.broker.partition import Partition
from isrcheck.conformance.cluster.broker.replica_manager import ReplicaManager
from isrcheck.conformance.cluster.clients.consumer import Consumer
from isrcheck.conformance.cluster.clients.producer import Identity, Producer, Sent
from isrcheck.conformance.cluster.clients.transactions import Marker
from isrcheck.conformance.cluster.controller.controller import Controller
from isrcheck.conformance.cluster.controller.kraft.quorum_controller import QuorumController
from isrcheck.conformance.cluster.log.epoch_cache import EpochEntry
from isrcheck.conformance.cluster.log.storage import Storage
from isrcheck.conformance.cluster.network.messages import (
    DeleteRecordsResponse,
    Errors,
    FetchResponse,
    IsrWrite,
    LeaderAndIsr,
    MetadataImage,
)
from isrcheck.conformance.cluster.network.network import Message, Node
from isrcheck.conformance.cluster.network.records import UNDEFINED_OFFSET, Control, ProducerStamp, Record


@dataclass(frozen=True)
class FetcherView:
    """One fetcher of a broker. `mode`: None if the fetcher does not have the partition; `outstanding`: the number of
    the request that awaits a response, or None; `not_before`: the end of a back-off, in ms; `diverging`: the response
    that tells the broker where to truncate its log, until the log is truncated; otherwise None."""

    source: int
    mode: Mode | None
    outstanding: int | None
    not_before: int
    diverging: FetchResponse | None


@dataclass(frozen=True)
class LeadershipView:
    """What a broker that believes it leads knows of its followers and of waiting requests. Unknown offsets are None."""

    isr: frozenset[int]
    proposed_isr: frozenset[int] | None
    """The ISR that the leader has proposed while it awaits the answer; None if it awaits no answer."""
    leader_epoch_start_offset: int
    """The log end offset of the leader when it accepted the epoch."""
    remote_log_end_offsets: tuple[tuple[int, int | None], ...]
    """(follower, offset)"""
    last_caught_up_times: tuple[tuple[int, int], ...]
    """(follower, time in ms)"""
    delayed_produces: tuple[tuple[Node, int, int, int], ...]
    """(client, request number, offset that the high watermark has to reach, deadline in ms)"""
    parked_fetches: tuple[tuple[int, int, int], ...]
    """(follower, fetch offset, deadline in ms)"""
    broker_epochs: tuple[tuple[int, int], ...]
    """(follower, number of its process that has fetched, or 0)"""


@dataclass(frozen=True)
class ProducerStateView:
    """What a broker knows of producers: the offset of the snapshot on its disk (0: no snapshot); the offset from
    which its process has replayed the log; and the batches that the process remembers, each with its last offset.
    """

    snapshot_offset: int
    replayed_from: int | None = None
    remembered: tuple[tuple[ProducerStamp, int], ...] = ()


@dataclass(frozen=True)
class BrokerView:
    """What can be observed of one broker. While no process runs, `log` is the log on the disk, and the fields that only
    a process knows are empty: None, 0, -1 or an empty tuple."""

    number: int
    is_up: bool
    is_frozen: bool
    process: int
    """The number of the running process, from 1; 0 if none runs."""
    log: tuple[Record, ...]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int | None
    last_stable_offset: int | None
    checkpointed_high_watermark: int
    """What the checkpoint file on the disk says."""
    recovery_point: int
    """The offset below which every record is flushed."""
    producers: ProducerStateView
    epoch_entries: tuple[EpochEntry, ...]
    """The leader epoch cache."""
    leader: int | None
    """The leader that the broker knows; None if it knows none."""
    leader_epoch: int
    """The epoch of the leader that the broker knows; -1 if it knows none."""
    partition_epoch: int
    """The partition epoch of the record that the broker knows."""
    fetchers: tuple[FetcherView, ...]
    leadership: LeadershipView | None
    """What the broker knows as a leader; None unless it believes that it leads."""
    metadata_offset: int = -1
    """How far the process has read the metadata log; -1 without KRaft."""
    has_stopped_cleanly: bool = False
    """Whether the last process has ended by a controlled shutdown."""

    @property
    def is_truncating(self) -> bool:
        """Whether the broker follows a leader and has not reconciled its log yet."""
        return any(each.mode is Mode.TRUNCATING for each in self.fetchers)

    @property
    def follows(self) -> int | None:
        """The leader from which this broker fetches; None if it follows no leader."""
        return next((each.source for each in self.fetchers if each.mode is not None), None)

    def mistakes(self, request: Sent) -> bool:
        """Whether the broker wrongly takes a request for a duplicate: the record in its log that has the stamp of the
        request has a different payload."""
        offsets = [offset for stamp, offset in self.producers.remembered if stamp == request.stamp]
        return any(record.offset == offsets[0] and record.payload != request.payload for record in self.log if offsets)


@dataclass(frozen=True)
class ControllerView:
    """What can be observed of the controller: its record of the partition, its announcements, and its metadata log."""

    leader: int | None
    leader_epoch: int
    partition_epoch: int
    """The number of changes of the record."""
    isr: frozenset[int]
    announcements: tuple[Message, ...]
    """The announcements that brokers have not received yet."""
    isr_writes: tuple[IsrWrite, ...]
    """Every write of the ISR in ZooKeeper that a leader tried."""
    log: tuple[MetadataImage, ...] = ()
    """With KRaft, the metadata after each record of its log."""
    shutdown_offsets: tuple[int, ...] = ()
    """With KRaft, for each broker, where the log ended when it began to shut down; -1 if it does not."""


@dataclass(frozen=True)
class ProducerView:
    """One producer: its identities (id, epoch), the present identity last; its records that have sequence numbers, each
    with all its stamps; the latest leader epoch that the producer knows; the highest acknowledged offset (-1: none).
    """

    name: str
    identities: tuple[Identity, ...]
    numbered: tuple[tuple[str, tuple[tuple[int, ProducerStamp], ...]], ...]
    leader_epoch: int
    last_acknowledged_offset: int


@dataclass(frozen=True)
class ConsumerView:
    """What can be observed of one consumer."""

    name: str
    position: int
    read: tuple[Record, ...]
    """The records that the consumer has read."""
    error: Errors
    """The error in the last response to the consumer."""
    known_end_offset: int
    """The readable end of the log, as far as the consumer knows."""
    leader_epoch: int
    """The epoch of the leader that the consumer knows."""
    consumed_epoch: int | None
    """The leader epoch of the last record that the consumer has read; None if unknown."""
    has_skipped: bool
    """Whether the position was reset to the end of the log."""
    preferred_read_replica: int | None
    """The broker to which a leader has sent the consumer; None: the leader."""


View = TypeVar("View", ProducerView, ConsumerView)


@dataclass(frozen=True)
class ClusterView:
    """What can be observed of a whole cluster."""

    now: int
    """The time in ms."""
    brokers: tuple[BrokerView, ...]
    network: tuple[Message, ...]
    """The messages in flight, in order of sending."""
    controller: ControllerView
    sent: tuple[tuple[str, tuple[Sent, ...]], ...]
    """The requests of each producer."""
    producers: tuple[ProducerView, ...]
    decided: tuple[tuple[str, Control], ...]
    """Producers, each with the outcome of its last ended transaction."""
    markers: tuple[Marker, ...]
    """Every attempt to write a marker."""
    deletes: tuple[DeleteRecordsResponse | None, ...]
    """The response to each DeleteRecords request; None if it was not delivered."""
    consumers: tuple[ConsumerView, ...]

    @property
    def acknowledged(self) -> tuple[Sent, ...]:
        """Every acknowledged request, by producer and then in order of sending."""
        return tuple(each for _, sent in self.sent for each in sent if each.is_acknowledged)


def observe_broker(number: int, broker: Broker) -> BrokerView:
    """The view of one broker. Errors: `StorageError` if the broker is down and its disk cannot be read."""
    process, storage = broker.running, broker.storage
    if process is None:
        stored = storage.load()
        start, end = stored.log_start_offset, stored.base_offset + len(stored.records)
        log = stored.records[max(0, start - stored.base_offset) :]
        offsets = (start, end, None, None, storage.checkpointed_high_watermark, storage.recovery_point)
        saved = ProducerStateView(_snapshot_offset(storage))
        stored_values = (number, False, False, 0, log, *offsets, saved, stored.epoch_entries, None, -1, 0, (), None)
        return BrokerView(*stored_values, has_stopped_cleanly=broker.has_stopped_cleanly)
    log_, partition = process.log, process.partition
    manager = process.replica_manager
    return BrokerView(
        number=number,
        is_up=True,
        is_frozen=broker.is_frozen,
        process=broker.process,
        log=log_.records,
        log_start_offset=log_.log_start_offset,
        log_end_offset=log_.log_end_offset,
        high_watermark=log_.high_watermark,
        last_stable_offset=log_.last_stable_offset,
        checkpointed_high_watermark=storage.checkpointed_high_watermark,
        recovery_point=storage.recovery_point,
        producers=ProducerStateView(_snapshot_offset(storage), log_.producers.replayed_from, log_.producers.remembered),
        epoch_entries=log_.epoch_entries,
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        fetchers=_fetchers(process.fetchers.threads),
        leadership=_leadership(partition, manager) if partition.is_leader else None,
        metadata_offset=manager.metadata_offset,
    )


def _snapshot_offset(storage: Storage) -> int:
    saved = storage.load_producers()
    return saved.offset if saved else 0


def _fetchers(threads: Mapping[int, FetcherThread]) -> tuple[FetcherView, ...]:
    return tuple(
        FetcherView(source, each.state.mode, each.outstanding, each.state.not_before, each.state.diverging)
        if each.state
        else FetcherView(source, None, each.outstanding, 0, None)
        for source, each in sorted(threads.items())
    )


def _leadership(partition: Partition, manager: ReplicaManager) -> LeadershipView:
    remote = sorted(partition.remote.items())
    ends = ((number, each.log_end_offset) for number, each in remote)
    parked = sorted(manager.parked_fetches.items())
    return LeadershipView(
        isr=partition.isr_state.isr,
        proposed_isr=partition.isr_state.proposed,
        leader_epoch_start_offset=partition.leader_epoch_start_offset,
        remote_log_end_offsets=tuple((number, None if end == UNDEFINED_OFFSET else end) for number, end in ends),
        last_caught_up_times=tuple((number, each.last_caught_up_time) for number, each in remote),
        delayed_produces=tuple(
            (each.request.source, each.send, each.required_offset, each.deadline) for each in manager.delayed_produces
        ),
        parked_fetches=tuple((follower, each.asked.fetch_offset, each.deadline) for follower, each in parked),
        broker_epochs=tuple((number, each.broker_epoch) for number, each in remote),
    )


def client_view(kind: type[View], client: Consumer | Producer) -> View:
    """The view of a client: each field has the value of the client's attribute of the same name."""
    return kind(**{each.name: getattr(client, each.name) for each in fields(kind)})


def controller_view(controller: Controller | QuorumController, in_flight: tuple[Message, ...]) -> ControllerView:
    """The view of the controller; its announcements are the messages of `in_flight` that carry metadata."""
    record = controller.metadata
    return ControllerView(
        leader=record.leader,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        isr=record.isr,
        announcements=tuple(each for each in in_flight if isinstance(each.payload, LeaderAndIsr | MetadataImage)),
        isr_writes=() if isinstance(controller, QuorumController) else controller.isr_writes,
        log=controller.log if isinstance(controller, QuorumController) else (),
        shutdown_offsets=controller.shutdown_offsets if isinstance(controller, QuorumController) else (),
    )
