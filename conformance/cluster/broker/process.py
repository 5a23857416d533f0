"""The parts of one process of a broker, and how they are connected.

In:  the broker's log; what the process may send; the controller.
Out: `Process`: everything that a crash loses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isrcheck.conformance.cluster.broker.consumer_requests import ConsumerRequests
from isrcheck.conformance.cluster.broker.delete_records import DeleteRecordsPurgatory
from isrcheck.conformance.cluster.broker.fetcher import Ask, FetcherManager
from isrcheck.conformance.cluster.broker.isr_managers import AlterIsrManager, ZkIsrManager
from isrcheck.conformance.cluster.broker.kraft_partition import KraftPartition, MetadataCache
from isrcheck.conformance.cluster.broker.kraft_replica_manager import KraftReplicaManager
from isrcheck.conformance.cluster.broker.partition import Partition
from isrcheck.conformance.cluster.broker.replica_manager import ReplicaManager, Reply
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.conformance.cluster.configuration.switches import Switches
from isrcheck.conformance.cluster.controller.controller import Controller
from isrcheck.conformance.cluster.controller.kraft.quorum_controller import QuorumController
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.cluster.network.alter_isr_messages import AlterIsrRequest
from isrcheck.conformance.cluster.network.clock import Clock

AskController = Callable[[AlterIsrRequest], int]
"""Sends a request to the controller, and returns the number of the message."""


@dataclass(frozen=True)
class Sends:
    """What a process may send: requests to brokers and to the controller, and responses."""

    ask: Ask
    ask_controller: AskController
    reply: Reply


@dataclass(frozen=True)
class Process:
    """The state that a crash loses."""

    log: Log
    partition: Partition
    fetchers: FetcherManager
    replica_manager: ReplicaManager
    alter_isr: AlterIsrManager
    delete_records: DeleteRecordsPurgatory
    consumer_requests: ConsumerRequests

    @property
    def known_leader(self) -> tuple[int | None, int]:
        """The leader and its epoch, as this process tells them to clients."""
        manager = self.replica_manager
        if isinstance(manager, KraftReplicaManager):
            return manager.known_leader
        return self.partition.leader, self.partition.leader_epoch

    @classmethod
    def of(
        cls,
        broker: int,
        replicas: frozenset[int],
        log: Log,
        controller: Controller | QuorumController,
        halt: Callable[[], None],
        sends: Sends,
        clock: Clock,
        settings: Settings,
        switches: Switches,
        bug: Bug | None,
    ) -> Process:
        """A process that has just started. `halt` ends it."""
        given = (clock, settings, switches, bug)
        fetchers = FetcherManager(broker, log, sends.ask, halt, *given)
        alter_isr = AlterIsrManager(sends.ask_controller, bug)
        partition: Partition
        requests: ReplicaManager
        if isinstance(controller, QuorumController):
            metadata = MetadataCache()
            kraft = KraftPartition(broker, replicas, log, alter_isr, metadata, *given)
            partition, requests = kraft, KraftReplicaManager(kraft, metadata, fetchers, sends.reply, *given)
        else:
            manager = alter_isr if switches.asks_controller else ZkIsrManager(broker, controller)
            partition = Partition(broker, replicas, log, manager, *given)
            requests = ReplicaManager(partition, fetchers, sends.reply, *given)
        deletes = DeleteRecordsPurgatory(partition, sends.reply, controller.live_brokers)
        consumers = ConsumerRequests(partition, sends.reply, settings, switches, bug)
        return cls(log, partition, fetchers, requests, alter_isr, deletes, consumers)
