"""What can be done to a cluster with a KRaft controller, and to no other: the part of `Cluster` that concerns it.

In:  operations of a driver.
Out: fenced brokers, controlled shutdowns, an administrator's requests, and two fetches at the same time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from isrcheck.conformance.cluster.broker.broker import Broker
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.controller.controller import Controller
from isrcheck.conformance.cluster.controller.kraft.quorum_controller import QuorumController
from isrcheck.conformance.cluster.network.metadata_messages import MetadataImage
from isrcheck.conformance.cluster.network.network import Network


class KraftOperations(ABC):
    """The operations on sessions of brokers, and on what the controller alone decides."""

    _controller: Controller | QuorumController
    _network: Network

    @abstractmethod
    def _broker(self, number: int) -> Broker:
        """The broker with this number. Errors: `ClusterError` if there is none."""

    @property
    def has_kraft(self) -> bool:
        """Whether the controller is a KRaft quorum."""
        return isinstance(self._controller, QuorumController)

    def metadata_log(self) -> tuple[MetadataImage, ...]:
        """The metadata after each record of the metadata log, by offset. Errors: `ClusterError` without KRaft."""
        return self._quorum().log

    def may_be_fenced(self, broker: int) -> bool:
        """Whether the session of a broker has ended, and the controller has not noticed it. Errors: `ClusterError`."""
        return not self._quorum().has_session(broker) and not self._quorum().image.brokers[broker].is_fenced

    def may_register(self, broker: int) -> bool:
        """Whether the controller would accept a new process of a broker, and need not fence the earlier one by that
        (which it does with ELR, KAFKA-18106). Errors: `ClusterError` without KRaft.
        """
        quorum = self._quorum()
        is_fenced = quorum.image.brokers[broker].is_fenced
        return not quorum.has_session(broker) and (is_fenced or not quorum.fences_at_registration)

    def end_session(self, broker: int) -> None:
        """The heartbeats of a broker fail to arrive in time. Errors: `ClusterError`."""
        self._broker(broker)
        self._quorum().end_session(broker)

    def fence(self, broker: int) -> None:
        """The controller finds that the session of a broker has ended. Errors: `ClusterError` if it has not."""
        self._broker(broker)
        self._quorum().fence(broker)

    def begin_shutdown(self, broker: int, *, leads_others: bool = False) -> None:
        """An operator shuts a broker down: its heartbeats ask for it from now on. One that leads no partition, neither
        this nor others, stops with the first; otherwise its leaderships move first. Errors: `ClusterError`.
        """
        self._broker(broker).kraft.begin_shutdown()
        self._quorum().give_other_leaderships(broker, leads=leads_others)

    def begin_reassignment(self, replicas: tuple[int, ...]) -> None:
        """An administrator assigns the partition to these replicas, in this order. Errors: `ClusterError`."""
        self._quorum().replication.begin_reassignment(replicas)

    def cancel_reassignment(self) -> None:
        """An administrator cancels the reassignment. Errors: `ClusterError`."""
        self._quorum().replication.cancel_reassignment()

    def change_min_insync_replicas(self, least: int) -> None:
        """An administrator sets the topic's min.insync.replicas. Errors: `ClusterError` without KRaft."""
        self._quorum().replication.change_min_insync_replicas(least)

    def write_cluster_min_insync_replicas(self) -> None:
        """An administrator sets the cluster's min.insync.replicas; the topic keeps its own. Errors: `ClusterError`."""
        self._quorum().replication.write_cluster_min_insync_replicas()

    def unregister(self, broker: int) -> None:
        """An administrator unregisters a broker. Errors: `ClusterError`."""
        self._broker(broker)
        self._quorum().unregister(broker)

    def fail_over_controller(self) -> None:
        """Another controller of the quorum becomes active. Errors: `ClusterError` without KRaft."""
        self._quorum().fail_over()

    def delete_replica(self, broker: int) -> None:
        """An operator deletes the folder of the replica of a broker that does not run. Errors: `ClusterError`."""
        self._broker(broker).delete_replica()

    def report_directory(self, broker: int) -> None:
        """A broker sends the controller the directory in which it has put its replica. Errors: `ClusterError`."""
        self._quorum()
        self._broker(broker).report_directory()

    def fail_to_apply(self, number: int) -> None:
        """A record of the metadata log reaches a broker, where an exception ends the change of the partition, such as
        too many open files. Nothing repeats it. Errors: `ClusterError` if it is not in flight, or no process runs.
        """
        message = self._network.take(number)
        assert isinstance(message.payload, MetadataImage)
        self._broker(int(message.destination)).kraft.apply_metadata(message.payload, is_dropped=True)

    def deliver_together(self, late: int, other: int) -> None:
        """Two fetches of one follower reach its leader, which handles them in two threads: the late one finds that the
        follower may join the ISR, and the other one takes effect before the leader asks the controller.

        Errors: `ClusterError` if one of them is not in flight, or the leader does not run.
        """
        broker = self._broker(int(self._network.look(late).destination))
        broker.kraft.handle_two_fetches(self._network.take(late), self._network.take(other))

    def _quorum(self) -> QuorumController:
        if not isinstance(self._controller, QuorumController):
            raise ClusterError("this cluster has no KRaft controller; take the protocol 3.3 or newer")
        return self._controller
