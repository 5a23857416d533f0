"""How a broker reads the metadata log: each record of the partition in order, or several as one change."""

from isrcheck.models.kafka.state.broker.commit import advance_high_watermark, begin_to_lead
from isrcheck.models.kafka.state.broker.log import begin_to_follow, start_log_at
from isrcheck.models.kafka.state.broker.roles import (
    drop_parked_fetches,
    forget_admitted_fetches,
    forget_followers,
    forget_heard_metadata,
    forget_late_fetches,
    forget_own_fetches,
    forget_proposal,
    presumes_leadership,
    stop_fetching,
    stop_leading,
)
from isrcheck.models.kafka.state.fields import Announcement, KraftReplica
from isrcheck.models.kafka.state.values import BrokerEpoch
from isrcheck.models.language import NONE, action, require


def adopt_isr(s, broker, partition_epoch):
    """The ISR of the record is committed, and a pending change is dropped."""
    for r in range(s.replicas):
        s.isr[broker][r] = s.metadata_isr[partition_epoch][r]
    forget_proposal(s, broker)


def is_news(s, broker, partition_epoch):
    """The record is not older than what the broker knows from an answer to AlterPartition; one that is equally old
    counts where EQUAL_PARTITION_EPOCH_REPLACES is on.
    """
    return partition_epoch > s.partition_epoch[broker] or (
        partition_epoch == s.partition_epoch[broker] and s.EQUAL_PARTITION_EPOCH_REPLACES
    )


def assigns_at_equal_epoch(s, broker, partition_epoch):
    """The repair of 8.25 that keeps a pending change of the ISR, and takes the replicas, which no answer to
    AlterPartition brings."""
    return (
        s.EQUAL_PARTITION_EPOCH_ASSIGNS
        and partition_epoch == s.partition_epoch[broker]
        and presumes_leadership(s, broker)
        and s.metadata_leader_epoch[partition_epoch] == s.leader_epoch[broker]
    )


def read_configurations_before(s, broker, partition_epoch):
    """Changes of min.insync.replicas that the log has before a record reach the broker at the latest with it, in one
    delta, of which it applies the topics first. Kafka: BrokerMetadataPublisher.onMetadataUpdate.
    """
    if s.min_isr_changes > 0:
        for change in range(s.min_isr_changes):
            if s.changed_min_isr[change] > 0 and s.min_isr_position[change] < partition_epoch:
                s.min_isr_changes_read[broker] = max(s.min_isr_changes_read[broker], change + 1)


def delete_replica(s, broker):
    """The broker no longer holds the partition: it deletes its log. Kafka: ReplicaManager.stopPartitions."""
    stop_leading(s, broker)
    forget_own_fetches(s, broker)
    s.is_truncating[broker] = False
    start_log_at(s, broker, 0)
    s.high_watermark[broker] = 0
    s.leader[broker] = NONE
    s.leader_epoch[broker] = 0


def adopt_replicas(s, leader, partition_epoch):
    """A leader learns its replicas, and forgets those that are no longer assigned; it never hears of one that is
    removed and added in one change. Kafka: Partition.updateAssignmentAndIsr.
    """
    if s.reassignments > 0:
        for r in range(s.replicas):
            s.knows_assigned[leader][r] = s.metadata_assigned[partition_epoch][r]
            s.knows_adding[leader][r] = s.metadata_adding[partition_epoch][r]
            if not s.metadata_assigned[partition_epoch][r]:
                s.remote_log_end_offset[leader][r] = NONE
                s.remote_broker_epoch[leader][r] = BrokerEpoch.UNKNOWN
                if s.FETCH_IS_SPLIT:
                    s.is_of_former_state[leader][r] = s.admitted_offset[leader][r] != NONE


def is_new_replica(s, broker):
    """The broker does not hold the partition yet, or knows of no leader."""
    return s.reassignments > 0 and s.leader[broker] == NONE


def is_unread(s, broker, partition_epoch):
    """The metadata log has this record, and the broker, which runs, has not read as far."""
    return s.is_up[broker] and s.metadata_position[broker] < partition_epoch <= s.controller_partition_epoch


@action(shows="{broker} of partition epoch {partition_epoch}")
def broker_applies_metadata(s, broker: KraftReplica, partition_epoch: Announcement):
    """A broker applies a later record, and may skip those before it: they reach it as one change.

    In a new leader epoch it begins to lead or to follow; in the same one, a leader adopts the ISR, and a follower goes
    on. Kafka: TopicDelta.localChanges, Partition.makeLeader, makeFollower.
    """
    require(is_unread(s, broker, partition_epoch))
    if s.CONFIGURATION_BEFORE_TOPICS:
        read_configurations_before(s, broker, partition_epoch)
    if s.reassignments > 0 and not s.metadata_assigned[partition_epoch][broker]:
        delete_replica(s, broker)
        s.partition_epoch[broker] = partition_epoch
    elif is_news(s, broker, partition_epoch):
        s.partition_epoch[broker] = partition_epoch
        if s.metadata_leader_epoch[partition_epoch] == s.leader_epoch[broker] and not is_new_replica(s, broker):
            if presumes_leadership(s, broker):
                adopt_replicas(s, broker, partition_epoch)
                adopt_isr(s, broker, partition_epoch)
                advance_high_watermark(s, broker)
        elif s.metadata_leader[partition_epoch] == broker:
            if s.FETCH_COUNTED_IN_ITS_EPOCH:
                forget_admitted_fetches(s, broker)
            if not presumes_leadership(s, broker) or not s.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER:
                forget_followers(s, broker)
            adopt_replicas(s, broker, partition_epoch)
            stop_fetching(s, broker)
            s.is_truncating[broker] = False
            forget_late_fetches(s, broker)
            drop_parked_fetches(s, broker)
            s.leader[broker] = broker
            s.leader_epoch[broker] = s.metadata_leader_epoch[partition_epoch]
            adopt_isr(s, broker, partition_epoch)
            begin_to_lead(s, broker)
        else:
            if s.FETCH_COUNTED_IN_ITS_EPOCH:
                forget_admitted_fetches(s, broker)
            stop_leading(s, broker)
            stop_fetching(s, broker)
            s.is_truncating[broker] = False
            begin_to_follow(s, broker)
            s.leader[broker] = s.metadata_leader[partition_epoch]
            s.leader_epoch[broker] = s.metadata_leader_epoch[partition_epoch]
    elif assigns_at_equal_epoch(s, broker, partition_epoch):
        adopt_replicas(s, broker, partition_epoch)
    if not s.CONFIGURATION_BEFORE_TOPICS:
        read_configurations_before(s, broker, partition_epoch)
    s.metadata_position[broker] = partition_epoch
    forget_heard_metadata(s)


@action(shows="{broker} of partition epoch {partition_epoch}")
def broker_drops_metadata(s, broker: KraftReplica, partition_epoch: Announcement):
    """An exception ends the change that the broker is applying, such as too many open files when it creates a log. The
    broker logs it, goes on with the next change, and never applies this one; nothing asks it to.

    Kafka: ReplicaManager.applyDelta, BrokerMetadataPublisher.onMetadataUpdate.
    """
    require(s.dropped_metadata > 0)
    require(s.dropped_metadata_left > 0)
    require(is_unread(s, broker, partition_epoch))
    s.dropped_metadata_left -= 1
    read_configurations_before(s, broker, partition_epoch)
    s.metadata_position[broker] = partition_epoch
    forget_heard_metadata(s)
