"""How a broker reads the metadata log: each record of the partition in order, or several as one change."""

from isrcheck.models.kafka.state.commit import advance_high_watermark, begin_to_lead
from isrcheck.models.kafka.state.fields import Announcement, KraftReplica
from isrcheck.models.kafka.state.log import begin_to_follow
from isrcheck.models.kafka.state.roles import (
    drop_parked_fetches,
    forget_followers,
    forget_heard_metadata,
    forget_late_fetches,
    forget_proposal,
    presumes_leadership,
    stop_fetching,
    stop_leading,
)
from isrcheck.models.language import action, require


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


@action(shows="{broker} of partition epoch {partition_epoch}")
def broker_applies_metadata(s, broker: KraftReplica, partition_epoch: Announcement):
    """A broker applies a later record, and may skip those before it: they reach it as one change.

    In a new leader epoch it begins to lead or to follow; in the same one, a leader adopts the ISR, and a follower goes
    on. Kafka: TopicDelta.localChanges, Partition.makeLeader, makeFollower.
    """
    require(s.is_up[broker])
    require(s.metadata_position[broker] < partition_epoch)
    require(partition_epoch <= s.controller_partition_epoch)
    if is_news(s, broker, partition_epoch):
        s.partition_epoch[broker] = partition_epoch
        if s.metadata_leader_epoch[partition_epoch] == s.leader_epoch[broker]:
            if presumes_leadership(s, broker):
                adopt_isr(s, broker, partition_epoch)
                advance_high_watermark(s, broker)
        elif s.metadata_leader[partition_epoch] == broker:
            if not presumes_leadership(s, broker) or not s.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER:
                forget_followers(s, broker)
            stop_fetching(s, broker)
            s.is_truncating[broker] = False
            forget_late_fetches(s, broker)
            drop_parked_fetches(s, broker)
            s.leader[broker] = broker
            s.leader_epoch[broker] = s.metadata_leader_epoch[partition_epoch]
            adopt_isr(s, broker, partition_epoch)
            begin_to_lead(s, broker)
        else:
            stop_leading(s, broker)
            stop_fetching(s, broker)
            s.is_truncating[broker] = False
            begin_to_follow(s, broker)
            s.leader[broker] = s.metadata_leader[partition_epoch]
            s.leader_epoch[broker] = s.metadata_leader_epoch[partition_epoch]
    s.metadata_position[broker] = partition_epoch
    forget_heard_metadata(s)
