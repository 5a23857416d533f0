"""A broker of a KRaft cluster: how it applies the metadata log to its partition, and when it stops.

Source: fact sheet, sections 3.1, 3.2, 4.2, 4.3 and 4.8; Kafka: Partition, ReplicaManager.applyDelta,
BrokerLifecycleManager.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isrcheck.conformance.cluster.broker.partition import NO_EPOCH, IsrState, Partition, ReplicaState, Role
from isrcheck.conformance.cluster.broker.replica_manager import ReplicaManager
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import BrokerStateCheck
from isrcheck.conformance.cluster.network.messages import (
    BrokerHeartbeatRequest,
    Errors,
    FetchRequest,
    FetchResponse,
    LeaderAndIsr,
    MetadataImage,
    PartitionRegistration,
)
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.network.records import UNDEFINED_OFFSET

AskController = Callable[[BrokerHeartbeatRequest], int]
"""Sends a request to the controller, and returns the number of the message."""


@dataclass
class MetadataCache:
    """The metadata as of the last metadata record that a broker has read; `image` is None before the first record."""

    image: MetadataImage | None = None


@dataclass(eq=False)
class KraftPartition(Partition):
    """One replica of the partition; the last metadata record that its broker has read determines its role."""

    _metadata: MetadataCache

    def is_news(self, announced: LeaderAndIsr) -> bool:
        """Whether a record replaces the broker's state: the record's partition epoch must be higher than the state's.
        (If the answer to an AlterPartition came first, the state's may be higher.) In every release so far, an equal
        epoch is enough (switch EQUAL_PARTITION_EPOCH_REPLACES, fact sheet 8.25)."""
        if self.leader_epoch == NO_EPOCH or self._bug is Bug.OLD_RECORD_APPLIED:
            return True
        if announced.partition_epoch == self.partition_epoch:
            return self._switches.EQUAL_PARTITION_EPOCH_REPLACES
        return announced.partition_epoch > self.partition_epoch

    def take_assignment(self, record: PartitionRegistration) -> None:
        """Take the assigned replicas from a record, unless the record's partition epoch is below this broker's. A
        leader forgets the followers that were removed, and begins with unknown offsets for those that were added.
        Kafka: updateAssignmentAndIsr."""
        if record.partition_epoch < self.partition_epoch and self._bug is not Bug.OLD_RECORD_APPLIED:
            return
        self._replicas = frozenset(record.replicas)
        if self.is_leader:
            followers = sorted(self._replicas - {self._broker})
            self._remote = {each: self._remote.get(each, ReplicaState()) for each in followers}

    def take_min_insync_replicas(self, least: int) -> None:
        """Adopt a new value of the topic's min.insync.replicas, without moving the high watermark."""
        self._min_insync_replicas = least

    def adopt_record(self, announced: LeaderAndIsr) -> None:
        """Take a record whose leader epoch is not new: a leader adopts the ISR in it, and drops a pending proposal."""
        self.partition_epoch = announced.partition_epoch
        if self.is_leader:
            self.isr_state = IsrState(announced.isr)
            self.maybe_increment_leader_high_watermark()

    def be_removed(self, partition_epoch: int) -> None:
        """Delete the log: from `partition_epoch` on, this broker is no replica. Kafka: Partition.delete."""
        self._role, self.leader, self.leader_epoch = Role.NONE, None, NO_EPOCH
        self.partition_epoch, self.isr_state, self._remote = partition_epoch, IsrState(), {}
        self._replicas, self.leader_epoch_start_offset = frozenset(), UNDEFINED_OFFSET
        if self._bug is not Bug.REMOVED_REPLICA_KEEPS_LOG:
            self.log.truncate_fully_and_start_at(0)
            self.log.checkpoint_high_watermark()

    def knows_follower(self, follower: int) -> bool:
        """Whether a broker is one of the assigned followers, as far as this leader has read the metadata log."""
        if self._bug is Bug.STRANGER_COUNTED:
            self._remote.setdefault(follower, ReplicaState())
        return follower in self._remote

    def is_fetch_of_earlier_process(self, follower: int, broker_epoch: int) -> bool:
        """Whether an earlier process of the follower sent the fetch: as far as this leader has read the metadata log,
        the follower is registered with a broker epoch above `broker_epoch`. Always False before 3.5 (KIP-903)."""
        if self._switches.BROKER_STATE_CHECK < BrokerStateCheck.BROKER_EPOCH or self._metadata.image is None:
            return False
        return broker_epoch < self._metadata.image.brokers[follower].broker_epoch

    def update_as_two_threads(
        self, follower: int, late: tuple[int, int, int], between: Callable[[], tuple[int, int, int]]
    ) -> None:
        """Handle two fetches of a follower in two threads: the fetch `late` finds that the follower may join the ISR;
        then the fetch `between` takes effect; then the leader builds its AlterPartition request. Each fetch is a tuple:
        fetch offset, log start, number of the sender's process. Up to 3.6 the request names the process that sent
        `between`; since 3.7 the leader sends no request if different processes of the follower sent the two fetches
        (KAFKA-15221)."""
        self._note_fetch(follower, *late)
        may_join = self._may_join_isr(follower)
        self._note_fetch(follower, *between())
        is_same = late[2] == self._remote[follower].broker_epoch
        if may_join and (is_same or self._switches.LATE_FETCH_COUNTS):
            self._propose(self.isr_state.isr | {follower})
        self.maybe_increment_leader_high_watermark()

    def _effective_min_isr(self) -> int:
        """min.insync.replicas; since 3.7 at most the number of replicas, including those being added or removed."""
        if self._bug is Bug.MIN_ISR_OF_ALL_BROKERS:
            return self._min_insync_replicas
        return super()._effective_min_isr()

    def _may_join_isr(self, follower: int) -> bool:
        return super()._may_join_isr(follower) and self._is_eligible(follower)

    def _is_eligible(self, follower: int) -> bool:
        """Whether the follower is active and (since 3.5) its last fetch came from its registered process, as far as
        this broker has read the metadata log; always True in a release that checks neither. Kafka:
        isReplicaIsrEligible."""
        check, image = self._switches.BROKER_STATE_CHECK, self._metadata.image
        if check is BrokerStateCheck.NONE or image is None:
            return True
        registered = image.brokers[follower]
        is_registered = self._remote[follower].broker_epoch == registered.broker_epoch
        return registered.is_active and (is_registered or check < BrokerStateCheck.BROKER_EPOCH)


@dataclass(eq=False)
class KraftReplicaManager(ReplicaManager):
    """Answers the requests to one broker process, and applies the metadata records that the process reads."""

    _partition: KraftPartition
    _metadata: MetadataCache

    def __post_init__(self) -> None:
        super().__post_init__()
        self._wants_to_shut_down = False
        self._heartbeat_in_flight: int | None = None

    @property
    def metadata_offset(self) -> int:
        """The offset of the last metadata record that the broker has applied; -1 before the first."""
        image = self._metadata.image
        return -1 if image is None else image.offset

    @property
    def known_leader(self) -> tuple[int | None, int]:
        """The leader and its epoch according to the metadata that this broker has read, even if the broker has no
        replica; (None, -1) before the first metadata. Kafka: KRaftMetadataCache."""
        image = self._metadata.image
        return (None, -1) if image is None else (image.partition.leader, image.partition.leader_epoch)

    def begin_shutdown(self) -> None:
        """Ask for a controlled shutdown in every heartbeat from now on."""
        self._wants_to_shut_down = True

    def send_heartbeat(self, ask_controller: AskController) -> bool:
        """Send a heartbeat, unless the last heartbeat awaits its answer, so that heartbeats of a process never overtake
        each other; returns whether a heartbeat was sent. Kafka: BrokerLifecycleManager, communicationInFlight.
        """
        if self._heartbeat_in_flight is not None:
            return False
        self._heartbeat_in_flight = ask_controller(
            BrokerHeartbeatRequest(self.metadata_offset, self._wants_to_shut_down)
        )
        return True

    def end_heartbeat(self, request: int | None) -> None:
        """Allow the next heartbeat if the heartbeat in flight is message `request`, which was answered or lost its
        connection. Kafka: BrokerLifecycleManager.BrokerHeartbeatResponseEvent."""
        if request == self._heartbeat_in_flight:
            self._heartbeat_in_flight = None

    def apply_metadata(self, image: MetadataImage, *, is_dropped: bool = False) -> None:
        """Read the metadata log up to this image: apply all changes of the partition as one change, and then a change
        of min.insync.replicas. Kafka: BrokerMetadataPublisher.onMetadataUpdate.

        If this process has read further already, nothing happens. With `is_dropped`, an exception prevents the change
        of the partition; the broker continues nevertheless, and does not try again.
        """
        before, partition = self._metadata.image, self._partition
        if before is not None and image.offset <= before.offset:
            return
        self._metadata.image = image
        had_log = before is not None and self._fetchers.broker in before.partition.replicas
        if not had_log or self._switches.CONFIGURATION_BEFORE_TOPICS:
            partition.take_min_insync_replicas(image.min_insync_replicas)  # a new log begins with the present value
        if not is_dropped and (before is None or before.partition != image.partition):
            self._apply_record(image.partition)
        if self._bug is not Bug.NEW_MINIMUM_NOT_READ:
            partition.take_min_insync_replicas(image.min_insync_replicas)

    def _apply_record(self, record: PartitionRegistration) -> None:
        partition = self._partition
        if self._fetchers.broker not in record.replicas:
            self._fetchers.remove_fetcher()
            partition.be_removed(record.partition_epoch)
            self._give_up_what_waits()
            return
        announced = LeaderAndIsr(record.leader, record.leader_epoch, record.isr, record.partition_epoch)
        is_news = partition.is_news(announced)
        if is_news or self._switches.EQUAL_PARTITION_EPOCH_ASSIGNS:
            partition.take_assignment(record)
        if not is_news:
            return
        if announced.leader_epoch == partition.leader_epoch:
            partition.adopt_record(announced)
            self.complete_delayed_produces()
        else:
            self._enter_epoch(announced)

    def handle_fetch(self, message: Message, request: FetchRequest) -> None:
        """Handle a follower's fetch. The leader looks up the sender in the metadata that it has read: if the sender is
        not a follower, or an earlier process of the sender sent the fetch, the leader refuses the fetch, and the sender
        retries. Kafka: followerReplicaOrThrow."""
        partition, follower = self._partition, self._follower(message)
        error = partition.error_for_epoch(request.current_leader_epoch)
        if partition.is_fetch_of_earlier_process(follower, message.source_process):
            error = Errors.NOT_LEADER_OR_FOLLOWER
        elif error is Errors.NONE and not partition.knows_follower(follower):
            error = Errors.UNKNOWN_LEADER_EPOCH
        else:
            super().handle_fetch(message, request)
            return
        self._reply(message, FetchResponse(error, request.fetch_offset))

    def handle_two_fetches(self, late: Message, other: Message) -> None:
        """Handle two fetches of one follower in two threads: the fetch `late` finds that the follower may join the ISR,
        and the fetch `other` takes effect before the leader proposes the new ISR. Only `other` is answered.
        KAFKA-15221."""
        assert isinstance(late.payload, FetchRequest)
        assert isinstance(other.payload, FetchRequest)
        follower, request = self._follower(late), other.payload
        if self._read(late.payload).error is Errors.NONE and self._read(request).error is Errors.NONE:
            self._partition.update_as_two_threads(
                follower,
                (late.payload.fetch_offset, late.payload.log_start_offset, late.source_process),
                lambda: (request.fetch_offset, request.log_start_offset, other.source_process),
            )
            self.complete_delayed_produces()
        self._reply(other, self._read(request))
