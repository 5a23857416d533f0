"""The partition below the coordinator: elections, replication, and the high watermark that the coordinator hears.

Simplified where `kafka` is exact: every replica stays in the ISR. Kafka: ReplicaManager.applyDelta,
Partition.makeLeader and makeFollower, PartitionListener.
"""

from isrcheck.models.coordinator.state import Replica
from isrcheck.models.language import NONE, action, require


@action
def controller_elects(s, elected: Replica):
    """Leadership moves to another member of the ISR, such as the preferred leader."""
    require(s.leader_epoch < s.elections)
    require(elected != s.leader)
    s.leader = elected
    s.leader_epoch += 1


@action
def broker_applies_leadership(s, broker: Replica):
    """The broker applies the controller's last record, and skips those before it.

    A coordinator of a broker that becomes follower gets an event that unloads it; since KAFKA-20634, it does not hear
    the high watermark from here on. Kafka: BrokerMetadataPublisher, GroupCoordinatorService.onResignation;
    CoordinatorPartitionWriter.ListenerAdapter.
    """
    require(s.known_epoch[broker] < s.leader_epoch)
    s.known_epoch[broker] = s.leader_epoch
    s.leads[broker] = s.leader == broker
    if s.is_active[broker] and s.leader != broker:
        s.unload_is_queued[broker] = True
        if not s.LISTENS_AS_FOLLOWER:
            s.is_listening[broker] = False


def follows_the_leader(s, follower):
    """Both brokers have applied the last record of the controller."""
    return (
        follower != s.leader and s.known_epoch[follower] == s.leader_epoch and s.known_epoch[s.leader] == s.leader_epoch
    )


def diverges(s, follower, offset):
    """At this offset, the follower has a record that the leader does not have there."""
    return s.log[follower][offset] != NONE and s.log[follower][offset] != s.log[s.leader][offset]


@action
def follower_truncates(s, follower: Replica):
    """The follower cuts its log to what it shares with the leader's. The high watermark goes down with it, silently."""
    require(follows_the_leader(s, follower))
    require(any(diverges(s, follower, offset) for offset in range(s.writes)))
    for offset in range(s.writes):
        if s.log_end_offset[follower] > offset and diverges(s, follower, offset):
            s.log_end_offset[follower] = offset
    for offset in range(s.writes):
        if offset >= s.log_end_offset[follower]:
            s.log[follower][offset] = NONE
    s.high_watermark[follower] = min(s.high_watermark[follower], s.log_end_offset[follower])


def tell_high_watermark(s, broker):
    """The coordinator, if it listens, notes the high watermark; it replaces what was noted and not handled.

    Kafka: CoordinatorRuntime.HighWatermarkListener.onHighWatermarkUpdated.
    """
    if s.is_active[broker] and s.is_listening[broker]:
        s.heard_high_watermark[broker] = s.high_watermark[broker]


@action
def follower_fetches(s, follower: Replica):
    """The follower appends the next record, and takes over the leader's high watermark as far as its log goes."""
    require(follows_the_leader(s, follower))
    require(not any(diverges(s, follower, offset) for offset in range(s.writes)))
    require(
        s.log_end_offset[follower] < s.log_end_offset[s.leader]
        or s.high_watermark[follower] < s.high_watermark[s.leader]
    )
    if s.log_end_offset[follower] < s.log_end_offset[s.leader]:
        s.log[follower][s.log_end_offset[follower]] = s.log[s.leader][s.log_end_offset[follower]]
        s.log_end_offset[follower] += 1
    if s.high_watermark[follower] < min(s.high_watermark[s.leader], s.log_end_offset[follower]):
        s.high_watermark[follower] = min(s.high_watermark[s.leader], s.log_end_offset[follower])
        tell_high_watermark(s, follower)


@action
def leader_advances_high_watermark(s):
    """Every replica follows this leader and has the next record. A stale leader has lost its followers."""
    require(s.high_watermark[s.leader] < s.log_end_offset[s.leader])
    require(
        all(
            s.known_epoch[replica] == s.leader_epoch
            and s.log[replica][s.high_watermark[s.leader]] == s.log[s.leader][s.high_watermark[s.leader]]
            for replica in range(s.replicas)
        )
    )
    s.high_watermark[s.leader] += 1
    tell_high_watermark(s, s.leader)
