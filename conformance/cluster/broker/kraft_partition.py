"""The partition on a broker of a KRaft cluster: what it does otherwise than with ZooKeeper. Kafka: Partition.

In:  what the broker has read in the metadata log.
Out: as for `Partition`.

Source: fact sheet, sections 3.1, 4.2 and 4.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isrcheck.conformance.cluster.broker.isr_managers import IsrManager, IsrState
from isrcheck.conformance.cluster.broker.partition import NO_EPOCH, Partition, Role
from isrcheck.conformance.cluster.broker.replica import ReplicaState
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.conformance.cluster.configuration.switches import BrokerStateCheck, Switches
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.cluster.network.clock import Clock
from isrcheck.conformance.cluster.network.messages import LeaderAndIsr
from isrcheck.conformance.cluster.network.metadata_messages import MetadataImage, PartitionRegistration
from isrcheck.conformance.cluster.network.records import UNDEFINED_OFFSET


@dataclass
class MetadataCache:
    """The metadata up to where a broker has read the log; None before it has read anything."""

    image: MetadataImage | None = None

    @property
    def offset(self) -> int:
        """The offset of the last record that was read; -1 before the first."""
        return -1 if self.image is None else self.image.offset


class KraftPartition(Partition):
    """One replica of the partition, in the role of the record that its broker has read last."""

    def __init__(
        self,
        broker: int,
        replicas: frozenset[int],
        log: Log,
        isr_manager: IsrManager,
        metadata: MetadataCache,
        clock: Clock,
        settings: Settings,
        switches: Switches,
        bug: Bug | None,
    ) -> None:
        super().__init__(broker, replicas, log, isr_manager, clock, settings, switches, bug)
        self._metadata = metadata

    def is_news(self, told: LeaderAndIsr) -> bool:
        """Whether a record is newer than what this broker knows, perhaps from an answer to AlterPartition; one that is
        equally old replaces the leader's state in every release so far (EQUAL_PARTITION_EPOCH_REPLACES, section 8.25).
        """
        if self._leader_epoch == NO_EPOCH or self._bug is Bug.OLD_RECORD_APPLIED:
            return True
        if told.partition_epoch == self._partition_epoch:
            return self._switches.EQUAL_PARTITION_EPOCH_REPLACES
        return told.partition_epoch > self._partition_epoch

    def take_assignment(self, record: PartitionRegistration) -> None:
        """Take the assigned replicas of a record that is not older than what this broker knows, also if it does not
        replace the ISR. A leader forgets the followers that are removed, and knows nothing of the added ones. Kafka:
        updateAssignmentAndIsr.
        """
        if record.partition_epoch < self._partition_epoch and self._bug is not Bug.OLD_RECORD_APPLIED:
            return
        self._replicas = frozenset(record.replicas)
        if self.is_leader:
            followers = sorted(self._replicas - {self._broker})
            self._remote = {each: self._remote.get(each, ReplicaState()) for each in followers}

    def take_min_insync_replicas(self, least: int) -> None:
        """Take the topic's value of min.insync.replicas. The high watermark does not move by that."""
        self._min_insync_replicas = least

    def adopt_record(self, told: LeaderAndIsr) -> None:
        """Take a record of the same leader epoch: a leader adopts the ISR, and drops a change that is pending."""
        self._partition_epoch = told.partition_epoch
        if self.is_leader:
            self._isr_state = IsrState(told.isr)
            self.maybe_increment_leader_high_watermark()

    def be_removed(self, partition_epoch: int) -> None:
        """The partition is no longer assigned to this broker, which deletes its log. Kafka: Partition.delete."""
        self._role, self._leader, self._leader_epoch = Role.NONE, None, NO_EPOCH
        self._partition_epoch, self._isr_state, self._remote = partition_epoch, IsrState(), {}
        self._replicas, self._leader_epoch_start_offset = frozenset(), UNDEFINED_OFFSET
        if self._bug is not Bug.REMOVED_REPLICA_KEEPS_LOG:
            self._log.truncate_fully_and_start_at(0)
            self._log.checkpoint_high_watermark()

    def knows_follower(self, follower: int) -> bool:
        """Whether a broker is one of the assigned followers, as far as this leader has read."""
        if self._bug is Bug.STRANGER_COUNTED:
            self._remote.setdefault(follower, ReplicaState())
        return follower in self._remote

    def is_fetch_of_earlier_process(self, follower: int, broker_epoch: int) -> bool:
        """Whether the leader has read that a newer process of the follower is registered (since 3.5, KIP-903)."""
        if self._switches.BROKER_STATE_CHECK < BrokerStateCheck.BROKER_EPOCH or self._metadata.image is None:
            return False
        return broker_epoch < self._metadata.image.brokers[follower].broker_epoch

    def update_as_two_threads(
        self, follower: int, late: tuple[int, int, int], between: Callable[[], tuple[int, int, int]]
    ) -> None:
        """Handle a fetch that finds that the follower may join the ISR; before the leader names the follower's process
        in its request, another fetch takes effect. Up to 3.6 it names the process of the other fetch; since 3.7 it
        compares the processes (KAFKA-15221).
        """
        self._note_fetch(follower, *late)
        may_join = self._may_join_isr(follower)
        self._note_fetch(follower, *between())
        is_same = late[2] == self._remote[follower].broker_epoch
        if may_join and (is_same or self._switches.LATE_FETCH_COUNTS):
            self._propose(self._isr_state.isr | {follower})
        self.maybe_increment_leader_high_watermark()

    def _effective_min_isr(self) -> int:
        """At most the number of assigned replicas, those included that are being added or removed."""
        if self._bug is Bug.MIN_ISR_OF_ALL_BROKERS:
            return self._min_insync_replicas
        return super()._effective_min_isr()

    def _may_join_isr(self, follower: int) -> bool:
        return super()._may_join_isr(follower) and self._is_eligible(follower)

    def _is_eligible(self, follower: int) -> bool:
        """Whether the follower is active, and has fetched as the process that is registered, as far as this broker has
        read the metadata log. Kafka: isReplicaIsrEligible.
        """
        check, image = self._switches.BROKER_STATE_CHECK, self._metadata.image
        if check is BrokerStateCheck.NONE or image is None:
            return True
        registered = image.brokers[follower]
        is_registered = self._remote[follower].broker_epoch == registered.broker_epoch
        return registered.is_active and (is_registered or check < BrokerStateCheck.BROKER_EPOCH)
