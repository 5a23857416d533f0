"""What a KRaft controller and its brokers tell each other: the metadata log, and heartbeats.

In:  nothing.
Out: payloads for `Network.send`.

A broker epoch is the number of the broker's process, which every message carries. Source: fact sheet, sections 4.8 and
4.9; Kafka: PartitionRecord, BrokerRegistration, BrokerHeartbeatRequest.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PartitionRegistration:
    """The partition's record: the assigned replicas in order; the leader, its epoch, the ISR; the number of changes;
    with KIP-966, who may lead besides the ISR, and who led last; and the replicas that a reassignment adds and
    removes, all of them assigned while it lasts. Kafka: PartitionRegistration.
    """

    replicas: tuple[int, ...]
    leader: int | None
    leader_epoch: int
    isr: frozenset[int]
    partition_epoch: int = 0
    elr: frozenset[int] = frozenset()
    last_known_leader: int | None = None
    adding: frozenset[int] = frozenset()
    removing: frozenset[int] = frozenset()

    @property
    def is_reassigned(self) -> bool:
        """Whether a reassignment is in progress. Kafka: PartitionReassignmentReplicas.isReassignmentInProgress."""
        return bool(self.adding or self.removing)


@dataclass(frozen=True)
class BrokerRegistration:
    """A registered process of a broker; `UNREGISTERED`: none is. Kafka: BrokerRegistration."""

    broker_epoch: int
    is_fenced: bool = False
    in_controlled_shutdown: bool = False

    @property
    def is_registered(self) -> bool:
        """Whether a process of the broker is registered."""
        return self != UNREGISTERED

    @property
    def is_active(self) -> bool:
        """Whether the broker may lead, and join an ISR. Kafka: ClusterControlManager.isActive."""
        return not self.is_fenced and not self.in_controlled_shutdown


UNREGISTERED = BrokerRegistration(0, is_fenced=True)


@dataclass(frozen=True)
class MetadataImage:
    """The metadata up to the record at this offset of the metadata log. A broker that receives it has read everything
    up to there; it applies what has changed since the image that it had, however many records that are.

    Brokers are in order of their numbers. `min_insync_replicas` is the value of min.insync.replicas that holds for the
    topic. Kafka: MetadataImage, MetadataDelta.
    """

    offset: int
    partition: PartitionRegistration
    brokers: tuple[BrokerRegistration, ...]
    min_insync_replicas: int


@dataclass(frozen=True)
class BrokerHeartbeatRequest:
    """A broker lives, and has read the metadata log up to this offset."""

    metadata_offset: int
    wants_to_shut_down: bool


@dataclass(frozen=True)
class BrokerHeartbeatResponse:
    """Whether the broker is fenced, and whether it may stop now."""

    is_fenced: bool
    should_shut_down: bool


@dataclass(frozen=True)
class AssignReplicasToDirsRequest:
    """A broker tells in which of its log directories it has put its replica, which is not the one that the controller
    knows. KIP-858.
    """


MetadataMessage = MetadataImage | BrokerHeartbeatRequest | BrokerHeartbeatResponse | AssignReplicasToDirsRequest
