"""The actions of consumers: they read from a leader or a follower, follow a new leader, and reset their position.

A consumer begins at offset 0 and reads one entry at a time; it skips control records and aborted records. Not modelled:
groups and committed offsets, and fetches with more than one entry. A group that starts anew is another consumer.
"""

from isrcheck.models.kafka.actions.clients.positions import (
    can_reset,
    has_common_prefix,
    is_in_range,
    is_truncated,
    reset_position,
    return_to_common_prefix,
)
from isrcheck.models.kafka.state.broker.roles import presumes_leadership
from isrcheck.models.kafka.state.broker.serving import is_not_fenced, reads_from
from isrcheck.models.kafka.state.clients.readers import is_read, is_record, readable_end_offset
from isrcheck.models.kafka.state.fields import Consumer, RackAwareConsumer, Replica
from isrcheck.models.kafka.state.values import AutoOffsetReset, PositionCheck
from isrcheck.models.language import NONE, action, require
from isrcheck.models.log import has_entry


@action(shows="{consumer} by {leader} to {follower}")
def consumer_is_sent_to_follower(s, consumer: RackAwareConsumer, leader: Replica, follower: Replica):
    """The leader names a follower that, as far as it knows, has the consumer's position.

    The consumer stays with it until it learns of another leader or epoch, the follower refuses it, or
    metadata.max.age.ms is over. Kafka: ReplicaManager.findPreferredReadReplica, RackAwareReplicaSelector (KIP-392).
    """
    require(is_not_fenced(s, consumer, leader))
    require(presumes_leadership(s, leader))
    require(s.preferred_read_replica[consumer] == NONE)
    require(follower != leader)
    require(s.remote_log_end_offset[leader][follower] >= s.position[consumer])
    require(s.log_start_offset[follower] <= s.position[consumer])
    require(not s.READ_REPLICA_IN_ISR or s.isr[leader][follower])
    s.preferred_read_replica[consumer] = follower


@action(shows="{consumer}")
def consumer_returns_to_leader(s, consumer: RackAwareConsumer):
    """The consumer gives up the follower: it was refused there, or it is time to ask the leader again."""
    require(s.preferred_read_replica[consumer] != NONE)
    s.preferred_read_replica[consumer] = NONE


@action(shows="{consumer} at {broker}")
def consumer_fetches(s, consumer: Consumer, broker: Replica):
    """The consumer reads the next entry from a leader or, since 2.4 (KIP-392), from a follower.

    Either shows what is below its own high watermark, or its own last stable offset. Kafka: UnifiedLog.read,
    SubscriptionState.partitionLag.
    """
    require(is_not_fenced(s, consumer, broker))
    require(reads_from(s, consumer, broker))
    require(s.position[consumer] < readable_end_offset(s, broker))
    require(has_entry(s, broker, s.position[consumer]))
    offset = s.position[consumer]
    if is_record(s, s.log_record[broker][offset]) and is_read(s, broker, offset):
        s.consumed_record[consumer][offset] = s.log_record[broker][offset]
    s.consumed_epoch[consumer] = s.log_epoch[broker][offset]
    s.known_end_offset[consumer] = readable_end_offset(s, broker)
    s.position[consumer] += 1


@action(shows="{consumer} at {broker}")
def consumer_finds_nothing(s, consumer: Consumer, broker: Replica):
    """The consumer's position is in the broker's log, and the broker shows nothing from there on.

    It may even show less than the consumer has read, if its high watermark lags: on a follower, and after an election.
    Then the lag is negative. Kafka: UnifiedLog.read, SubscriptionState.updateHighWatermark, partitionLag.
    """
    require(is_not_fenced(s, consumer, broker))
    require(reads_from(s, consumer, broker))
    require(is_in_range(s, consumer, broker))
    require(readable_end_offset(s, broker) <= s.position[consumer])
    require(s.known_end_offset[consumer] != readable_end_offset(s, broker))
    s.known_end_offset[consumer] = readable_end_offset(s, broker)


@action(shows="{consumer} of {leader}")
def consumer_follows_new_leader(s, consumer: Consumer, leader: Replica):
    """The consumer learns of a new leader epoch, and asks the leader where the epoch of its last record ends.

    If the leader's log ends before its position, records that it has read are lost: it returns to the common prefix, or
    resets its position. It reads from the leader again, if it was sent to a follower. Kafka:
    OffsetsForLeaderEpochClient, SubscriptionState.maybeValidatePosition (KIP-320).
    """
    require(s.POSITION_CHECK != PositionCheck.NONE)
    require(presumes_leadership(s, leader))
    require(s.leader_epoch[leader] > s.consumer_leader_epoch[consumer])
    require(not is_truncated(s, consumer, leader) or s.auto_offset_reset != AutoOffsetReset.NOTHING)
    require(not is_truncated(s, consumer, leader) or has_common_prefix(s, consumer, leader) or can_reset(s, leader))
    if is_truncated(s, consumer, leader):
        return_to_common_prefix(s, consumer, leader)
    s.consumer_leader_epoch[consumer] = s.leader_epoch[leader]
    if s.follower_fetching:
        s.preferred_read_replica[consumer] = NONE


@action(shows="{consumer} at {leader}")
def consumer_is_out_of_range(s, consumer: Consumer, leader: Replica):
    """OFFSET_OUT_OF_RANGE: the position is outside the leader's log; auto.offset.reset says where to continue.

    A consumer that gets this answer from a follower asks the leader instead. With auto.offset.reset=none, it stops.
    """
    require(is_not_fenced(s, consumer, leader))
    require(presumes_leadership(s, leader) and reads_from(s, consumer, leader))
    require(not is_in_range(s, consumer, leader))
    require(can_reset(s, leader))
    reset_position(s, consumer, leader)
