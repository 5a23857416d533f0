"""The observable state of a cluster: immutable views of brokers, network, controller and clients.

In:  the parts of a cluster.
Out: `ClusterView`. Observing changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from isrcheck.conformance.cluster.broker.broker import Broker
from isrcheck.conformance.cluster.broker.fetcher import FetcherThread
from isrcheck.conformance.cluster.broker.kraft_replica_manager import KraftReplicaManager
from isrcheck.conformance.cluster.broker.partition import Partition
from isrcheck.conformance.cluster.broker.replica_manager import ReplicaManager
from isrcheck.conformance.cluster.clients.consumer import Consumer
from isrcheck.conformance.cluster.clients.producer import Producer
from isrcheck.conformance.cluster.clients.transactions import Transactions
from isrcheck.conformance.cluster.controller.controller import Controller
from isrcheck.conformance.cluster.controller.kraft.quorum_controller import QuorumController
from isrcheck.conformance.cluster.log.storage import Storage
from isrcheck.conformance.cluster.network.messages import (
    DeleteRecordsResponse,
    LeaderAndIsr,
)
from isrcheck.conformance.cluster.network.metadata_messages import MetadataImage
from isrcheck.conformance.cluster.network.network import Network
from isrcheck.conformance.cluster.network.records import UNDEFINED_OFFSET
from isrcheck.conformance.cluster.views import (
    BrokerView,
    ClusterView,
    ConsumerView,
    ControllerView,
    FetcherView,
    LeadershipView,
    ProducerStateView,
    ProducerView,
)


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
