"""Executes the model's steps that only a cluster with KRaft takes: a part of the driver (driver.py).

In:  the steps of a trace, one by one.
Out: messages that are delivered, sessions that end, requests of an administrator.
"""

from __future__ import annotations

from typing import Any

from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.network.messages import BrokerHeartbeatResponse, FetchRequest, MetadataImage
from isrcheck.conformance.cluster.network.network import Message


class KraftSteps:
    """The steps of KRaft. The cluster's clock does not decide when a session ends: the trace does."""

    cluster: Cluster
    configuration: Any
    assignment: tuple[int, ...]

    def read_metadata(self, broker: int, offset: int, *, is_dropped: bool = False) -> None:
        """A broker reads the metadata log up to an offset, and tells the controller; `is_dropped`: it fails to apply
        what it has read. Raises ClusterError.
        """
        told = [one for one in self.cluster.messages() if one.destination == broker and _offset_of(one) is not None]
        found = [one for one in told if _offset_of(one) == offset]
        if not found:
            raise ClusterError(f"no record of the metadata log at offset {offset} is on its way to broker {broker}")
        for one in told:
            if one.number < found[0].number:
                self.cluster.drop(one.number)
        (self.cluster.fail_to_apply if is_dropped else self.cluster.deliver)(found[0].number)
        if self.cluster.metadata_log()[-1].brokers[broker].is_active:
            self._beat(broker)

    def _beat(self, broker: int) -> None:
        """A heartbeat of a broker reaches the controller, and the answer reaches the broker."""
        self.cluster.fire(broker, TimerKind.HEARTBEAT)
        beat = self.cluster.messages()[-1].number
        self.cluster.deliver(beat)
        for message in self.cluster.messages():
            if message.in_reply_to == beat and isinstance(message.payload, BrokerHeartbeatResponse):
                self.cluster.deliver(message.number)

    def register(self, broker: int) -> None:
        """A broker restarts once the session of its earlier process is over, and reads the metadata log to its end."""
        self.cluster.end_session(broker)
        self.cluster.restart(broker)
        told = [one for one in self.cluster.messages() if one.destination == broker and _offset_of(one) is not None]
        for one in told[:-1]:
            self.cluster.drop(one.number)
        self.cluster.deliver(told[-1].number)

    def _broker_applies_metadata(self, broker: int, partition_epoch: int) -> None:
        """The broker has read the log before the step (timing.py)."""

    _broker_drops_metadata = _broker_applies_metadata

    def _controller_fences_broker(self, broker: int) -> None:
        self.cluster.end_session(broker)
        self.cluster.fence(broker)

    def _controller_fences_leader(self, broker: int, elected: int) -> None:
        self._controller_fences_broker(broker)

    _controller_fences_last_leader = _controller_fences_broker

    def _controller_unfences_broker(self, broker: int) -> None:
        self._beat(broker)

    def _broker_asks_to_shut_down(self, broker: int) -> None:
        self.cluster.begin_shutdown(broker, leads_others=True)
        self._beat(broker)

    def _leader_asks_to_shut_down(self, broker: int, elected: int) -> None:
        self._broker_asks_to_shut_down(broker)

    _last_leader_asks_to_shut_down = _broker_asks_to_shut_down

    def _broker_shuts_down(self, broker: int) -> None:
        self.cluster.begin_shutdown(broker)  # unless it has begun before
        self._beat(broker)

    def _controller_begins_reassignment(self, target: int) -> None:
        self.cluster.begin_reassignment(tuple(r for r in self.assignment if target >> r & 1))

    def _controller_reassigns_without_leader(self, target: int, elected: int) -> None:
        self._controller_begins_reassignment(target)

    def _controller_cancels_reassignment(self) -> None:
        self.cluster.cancel_reassignment()

    def _controller_cancels_without_leader(self, elected: int) -> None:
        self.cluster.cancel_reassignment()

    def _controller_unregisters_broker(self, broker: int) -> None:
        self.cluster.unregister(broker)

    def _operator_deletes_replica_folder(self, broker: int) -> None:
        self.cluster.delete_replica(broker)

    def _broker_reports_directory(self, broker: int) -> None:
        self.cluster.report_directory(broker)
        self.cluster.deliver(self.cluster.messages()[-1].number)

    def _operator_changes_min_insync_replicas(self, minimum: int) -> None:
        if self.cluster.metadata_log()[-1].min_insync_replicas == minimum:
            self.cluster.write_cluster_min_insync_replicas()
        else:
            self.cluster.change_min_insync_replicas(minimum)

    def _broker_reads_configuration(self, broker: int) -> None:
        """The broker has read the log before the step (timing.py)."""

    def _broker_crashes_while_it_fetches(self, follower: int, leader: int) -> None:
        self.cluster.fire(follower, TimerKind.FETCHER_DO_WORK, leader)
        self.cluster.crash(follower)

    def _broker_loses_disk_while_it_fetches(self, follower: int, leader: int) -> None:
        self.cluster.fire(follower, TimerKind.FETCHER_DO_WORK, leader)
        self.cluster.lose_disk(follower)

    def _leader_handles_late_fetch(self, leader: int, follower: int) -> None:
        """The fetch of the new process takes effect in the middle; its response does not matter."""
        (late,) = self.late_fetches(follower, leader)
        self.cluster.fire(follower, TimerKind.FETCHER_DO_WORK, leader)
        self.cluster.deliver_together(late.number, self.cluster.messages()[-1].number)
        self.cluster.drop(self.cluster.messages()[-1].number)

    def _late_fetch_is_lost(self, leader: int, follower: int) -> None:
        for late in self.late_fetches(follower, leader):
            self.cluster.drop(late.number)

    def late_fetches(self, follower: int, leader: int) -> list[Message]:
        """The fetches that earlier processes of a follower have sent to a leader, and that are on their way."""
        process = self.cluster.process_of(follower)
        return [
            one
            for one in self.cluster.messages()
            if (one.source, one.destination) == (follower, leader) and isinstance(one.payload, FetchRequest)
            if one.source_process != process
        ]


def _offset_of(message: Message) -> int | None:
    return message.payload.offset if isinstance(message.payload, MetadataImage) else None
