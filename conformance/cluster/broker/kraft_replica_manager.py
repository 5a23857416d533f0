"""A broker of a KRaft cluster: how it applies the metadata log, and when it stops.

In:  metadata images; answers to heartbeats.
Out: changes of the partition's role; heartbeats, as the broker sends them.

Source: fact sheet, sections 3.1, 3.2 and 4.8; Kafka: ReplicaManager.applyDelta, BrokerLifecycleManager.
"""

from __future__ import annotations

from isrcheck.conformance.cluster.broker.fetcher import FetcherManager
from isrcheck.conformance.cluster.broker.kraft_partition import KraftPartition, MetadataCache
from isrcheck.conformance.cluster.broker.replica_manager import ReplicaManager, Reply
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.conformance.cluster.configuration.switches import Switches
from isrcheck.conformance.cluster.network.clock import Clock
from isrcheck.conformance.cluster.network.messages import Errors, FetchRequest, FetchResponse, LeaderAndIsr
from isrcheck.conformance.cluster.network.metadata_messages import (
    BrokerHeartbeatRequest,
    MetadataImage,
    PartitionRegistration,
)
from isrcheck.conformance.cluster.network.network import Message


class KraftReplicaManager(ReplicaManager):
    """The requests that one broker process answers, and the metadata that it has read."""

    def __init__(
        self,
        partition: KraftPartition,
        metadata: MetadataCache,
        fetchers: FetcherManager,
        reply: Reply,
        clock: Clock,
        settings: Settings,
        switches: Switches,
        bug: Bug | None,
    ) -> None:
        super().__init__(partition, fetchers, reply, clock, settings, switches, bug)
        self._kraft_partition = partition
        self._metadata = metadata
        self._wants_to_shut_down = False

    @property
    def metadata_offset(self) -> int:
        """How far this process has read the metadata log; -1 if it has read nothing."""
        return self._metadata.offset

    @property
    def known_leader(self) -> tuple[int | None, int]:
        """What this process tells clients, also as no replica of the partition. Kafka: KRaftMetadataCache."""
        image = self._metadata.image
        return (None, -1) if image is None else (image.partition.leader, image.partition.leader_epoch)

    def begin_shutdown(self) -> None:
        """From now on heartbeats ask for a controlled shutdown."""
        self._wants_to_shut_down = True

    def heartbeat(self) -> BrokerHeartbeatRequest:
        """The heartbeat that this process sends now."""
        return BrokerHeartbeatRequest(self._metadata.offset, self._wants_to_shut_down)

    def apply_metadata(self, image: MetadataImage, *, is_dropped: bool = False) -> None:
        """Read the metadata log up to this record; what has changed for the partition is applied as one change, and
        after that a change of min.insync.replicas. Kafka: BrokerMetadataPublisher.onMetadataUpdate.

        An image that this process has passed is ignored. `is_dropped`: an exception ends the change of the partition;
        the broker goes on all the same, and does not try again.
        """
        before, partition = self._metadata.image, self._kraft_partition
        if before is not None and image.offset <= before.offset:
            return
        self._metadata.image = image
        had_log = before is not None and self._fetchers.broker in before.partition.replicas
        if not had_log or self._switches.CONFIGURATION_BEFORE_TOPICS:
            partition.take_min_insync_replicas(image.min_insync_replicas)  # a new log begins with what holds now
        if not is_dropped and (before is None or before.partition != image.partition):
            self._apply_record(image.partition)
        if self._bug is not Bug.NEW_MINIMUM_NOT_READ:
            partition.take_min_insync_replicas(image.min_insync_replicas)

    def _apply_record(self, record: PartitionRegistration) -> None:
        partition = self._kraft_partition
        if self._fetchers.broker not in record.replicas:
            self._fetchers.remove_fetcher()
            partition.be_removed(record.partition_epoch)
            self._give_up_what_waits()
            return
        told = LeaderAndIsr(record.leader, record.leader_epoch, record.isr, record.partition_epoch)
        is_news = partition.is_news(told)
        if is_news or self._switches.EQUAL_PARTITION_EPOCH_ASSIGNS:
            partition.take_assignment(record)
        if not is_news:
            return
        if told.leader_epoch == partition.leader_epoch:
            partition.adopt_record(told)
            self.complete_delayed_produces()
        else:
            self._enter_epoch(told)

    def handle_fetch(self, message: Message, request: FetchRequest) -> None:
        """Handle a follower's fetch, unless a newer process of the follower is known, or the broker is no follower as
        far as this leader has read: then it retries. Kafka: followerReplicaOrThrow.
        """
        partition, follower = self._kraft_partition, self._follower(message)
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
        """Two threads handle fetches of one follower: the late one finds that the follower may join the ISR, and the
        other one takes effect before the leader asks the controller. KAFKA-15221.
        """
        assert isinstance(late.payload, FetchRequest)
        assert isinstance(other.payload, FetchRequest)
        follower, asked = self._follower(late), other.payload
        if self._read(late.payload).error is Errors.NONE and self._read(asked).error is Errors.NONE:
            self._kraft_partition.update_as_two_threads(
                follower,
                (late.payload.fetch_offset, late.payload.log_start_offset, late.source_process),
                lambda: (asked.fetch_offset, asked.log_start_offset, other.source_process),
            )
            self.complete_delayed_produces()
        self._reply(other, self._read(asked))
