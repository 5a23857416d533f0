"""The observable state of a cluster: immutable views of brokers, network, controller and clients.

In:  the parts of a cluster.
Out: `ClusterView`. Observing changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from isrcheck.conformance.cluster.broker.broker import Broker
from isrcheck.conformance.cluster.broker.fetcher import FetcherThread, Mode
from isrcheck.conformance.cluster.broker.kraft import KraftReplicaManager
from isrcheck.conformance.cluster.broker.partition import Partition
from isrcheck.conformance.cluster.broker.replica_manager import ReplicaManager
from isrcheck.conformance.cluster.clients.consumer import Consumer
from isrcheck.conformance.cluster.clients.producer import Identity, Producer, Sent
from isrcheck.conformance.cluster.clients.transactions import Marker, Transactions
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
from isrcheck.conformance.cluster.network.network import Message, Network, Node
from isrcheck.conformance.cluster.network.records import UNDEFINED_OFFSET, Control, ProducerStamp, Record


@dataclass(frozen=True)
class FetcherView:
    """One fetcher; `mode` is None if it does not have the partition; `outstanding` is the number of a request, or None;
    `diverging` is a response according to which the fetcher still has to truncate the log, or None.
    """

    source: int
    mode: Mode | None
    outstanding: int | None
    not_before: int
    diverging: FetchResponse | None


@dataclass(frozen=True)
class LeadershipView:
    """What a broker that presumes leadership knows of the followers and of waiting requests. Unknown offsets are None.

    `proposed_isr` is the ISR that it has proposed while it awaits the answer, otherwise None.
    `delayed_produces` are (client, request number, offset that the high watermark has to reach, deadline in ms);
    `parked_fetches` are (follower, fetch offset, deadline in ms); `broker_epochs` the processes of the followers that
    have fetched, 0 if none has.
    """

    isr: frozenset[int]
    proposed_isr: frozenset[int] | None
    leader_epoch_start_offset: int
    remote_log_end_offsets: tuple[tuple[int, int | None], ...]
    last_caught_up_times: tuple[tuple[int, int], ...]
    delayed_produces: tuple[tuple[Node, int, int, int], ...]
    parked_fetches: tuple[tuple[int, int, int], ...]
    broker_epochs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class ProducerStateView:
    """What a broker knows of producers: the offset of the snapshot on its disk, 0 if there is none; the offset from
    which its process has replayed the log; and the batches that the process remembers, each with its last offset.
    """

    snapshot_offset: int
    replayed_from: int | None = None
    remembered: tuple[tuple[ProducerStamp, int], ...] = ()


@dataclass(frozen=True)
class BrokerView:
    """One broker. While no process runs, the log is the one on its disk, and everything that only a process knows is
    None.

    `leader` is the leader that the broker knows, None if it knows none; `leader_epoch` is then -1. With KRaft: how far
    the process has read the metadata log, and whether the last process has ended by a controlled shutdown.
    """

    number: int
    is_up: bool
    is_frozen: bool
    process: int
    log: tuple[Record, ...]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int | None
    last_stable_offset: int | None
    checkpointed_high_watermark: int
    recovery_point: int
    producers: ProducerStateView
    epoch_entries: tuple[EpochEntry, ...]
    leader: int | None
    leader_epoch: int
    partition_epoch: int
    fetchers: tuple[FetcherView, ...]
    leadership: LeadershipView | None
    metadata_offset: int = -1
    has_stopped_cleanly: bool = False

    @property
    def is_truncating(self) -> bool:
        """Whether the broker follows a leader and has not reconciled its log yet."""
        return any(each.mode is Mode.TRUNCATING for each in self.fetchers)

    @property
    def follows(self) -> int | None:
        """The source of the fetcher that has the partition; None if it follows no leader."""
        return next((each.source for each in self.fetchers if each.mode is not None), None)

    def mistakes(self, request: Sent) -> bool:
        """Whether the broker mistakes a request for that of another record in its log with the same stamp."""
        offsets = [offset for stamp, offset in self.producers.remembered if stamp == request.stamp]
        return any(one.offset == offsets[0] and one.payload != request.payload for one in self.log if offsets)


@dataclass(frozen=True)
class ControllerView:
    """The controller's record of the partition, and its announcements that brokers have not received yet. With KRaft:
    the metadata after each record of its log, and where the log ended when a broker began to shut down, -1 for others.
    """

    leader: int | None
    leader_epoch: int
    partition_epoch: int
    isr: frozenset[int]
    announcements: tuple[Message, ...]
    isr_writes: tuple[IsrWrite, ...]
    log: tuple[MetadataImage, ...] = ()
    shutdown_offsets: tuple[int, ...] = ()


@dataclass(frozen=True)
class ProducerView:
    """One producer: the id and epoch of each numbering, the present one last; its numbered records, with the stamp that
    each had in a numbering; the latest leader epoch that it has heard of; and the highest acknowledged offset, or -1.
    """

    name: str
    identities: tuple[Identity, ...]
    numbered: tuple[tuple[str, tuple[tuple[int, ProducerStamp], ...]], ...]
    leader_epoch: int
    last_acknowledged_offset: int


@dataclass(frozen=True)
class ConsumerView:
    """One consumer: its position, the records that it has read, and the error in its last response; the readable end of
    the log that it knows, the leader epochs that it knows, whether it was reset to the end of the log, and the broker
    to which a leader has sent it.
    """

    name: str
    position: int
    read: tuple[Record, ...]
    error: Errors
    known_end_offset: int
    leader_epoch: int
    consumed_epoch: int | None
    has_skipped: bool
    preferred_read_replica: int | None


@dataclass(frozen=True)
class ClusterView:
    """A whole cluster; times in ms. `decided` are producers, each with the outcome of its last ended transaction."""

    now: int
    brokers: tuple[BrokerView, ...]
    network: tuple[Message, ...]
    controller: ControllerView
    sent: tuple[tuple[str, tuple[Sent, ...]], ...]
    producers: tuple[ProducerView, ...]
    decided: tuple[tuple[str, Control], ...]
    markers: tuple[Marker, ...]
    deletes: tuple[DeleteRecordsResponse | None, ...]
    consumers: tuple[ConsumerView, ...]

    @property
    def acknowledged(self) -> tuple[Sent, ...]:
        """Every acknowledged request, by producer and then in order of sending."""
        return tuple(each for _, sent in self.sent for each in sent if each.is_acknowledged)


def observe_broker(number: int, broker: Broker) -> BrokerView:
    """The view of one broker. Errors: `StorageError` if it is down and its disk cannot be read."""
    process, storage = broker.running, broker.storage
    if process is None:
        stored = storage.load()
        start, end = stored.log_start_offset, stored.base_offset + len(stored.records)
        log = stored.records[max(0, start - stored.base_offset) :]
        offsets = (start, end, None, None, storage.checkpointed_high_watermark, storage.recovery_point)
        saved = ProducerStateView(_snapshot_offset(storage))
        given = (number, False, False, 0, log, *offsets, saved, stored.epoch_entries, None, -1, 0, (), None)
        return BrokerView(*given, has_stopped_cleanly=broker.has_stopped_cleanly)
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
        leadership=_leadership(partition, process.replica_manager) if partition.is_leader else None,
        metadata_offset=manager.metadata_offset if isinstance(manager, KraftReplicaManager) else -1,
    )


def _snapshot_offset(storage: Storage) -> int:
    saved = storage.load_producers()
    return saved.offset if saved else 0


def _fetchers(threads: Mapping[int, FetcherThread]) -> tuple[FetcherView, ...]:
    return tuple(
        FetcherView(source, each.mode, each.outstanding, each.not_before, each.diverging)
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
        parked_fetches=tuple((follower, each.fetch_offset, each.deadline) for follower, each in parked),
        broker_epochs=tuple((number, each.broker_epoch) for number, each in remote),
    )


def consumer_views(consumers: Mapping[str, Consumer]) -> tuple[ConsumerView, ...]:
    """The views of all consumers."""
    return tuple(
        ConsumerView(
            *(name, each.position, each.read, each.error),
            *(each.known_end_offset, each.leader_epoch, each.consumed_epoch, each.has_skipped),
            each.preferred_read_replica,
        )
        for name, each in consumers.items()
    )


def observe(
    now: int,
    brokers: Mapping[int, Broker],
    network: Network,
    controller: Controller | QuorumController,
    producers: Mapping[str, Producer],
    consumers: Mapping[str, Consumer],
    coordinator: Transactions,
    deletes: Iterable[DeleteRecordsResponse | None],
) -> ClusterView:
    """The view of a whole cluster."""
    in_flight = network.in_flight
    told = tuple(each for each in in_flight if isinstance(each.payload, LeaderAndIsr | MetadataImage))
    return ClusterView(
        now=now,
        brokers=tuple(observe_broker(number, each) for number, each in sorted(brokers.items())),
        network=in_flight,
        controller=ControllerView(
            *(controller.leader, controller.leader_epoch, controller.partition_epoch, controller.isr),
            *(told, () if isinstance(controller, QuorumController) else controller.isr_writes),
            *((controller.log, _shutdown_offsets(controller)) if isinstance(controller, QuorumController) else ()),
        ),
        sent=tuple((name, each.sent) for name, each in producers.items()),
        producers=tuple(
            ProducerView(name, each.identities, each.numbered, each.leader_epoch, each.last_acknowledged_offset)
            for name, each in producers.items()
        ),
        decided=coordinator.decided,
        markers=coordinator.markers,
        deletes=tuple(deletes),
        consumers=consumer_views(consumers),
    )


def _shutdown_offsets(controller: QuorumController) -> tuple[int, ...]:
    return tuple(state.shutdown_offset for _, state in sorted(controller.broker_states.items()))
