"""How a broker reacts to the announcement of an election, which may arrive late or not at all (LeaderAndIsr)."""

from isrcheck.models.kafka.state.broker.commit import begin_to_lead
from isrcheck.models.kafka.state.broker.log import begin_to_follow
from isrcheck.models.kafka.state.broker.roles import (
    drop_parked_fetches,
    follows,
    forget_followers,
    forget_heard_metadata,
    forget_proposal,
    presumes_leadership,
    stop_fetching,
    stop_leading,
)
from isrcheck.models.kafka.state.fields import LeaderEpoch, Replica
from isrcheck.models.kafka.state.values import FollowerSkip, IsrChannel
from isrcheck.models.language import NONE, action, require


def adopt_partition_epoch(s, broker, epoch):
    """Since 2.8, LeaderAndIsr tells the broker the partition epoch, from which its own requests start."""
    if s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION:
        s.partition_epoch[broker] = s.metadata_partition_epoch[epoch]


@action(shows="{broker} in epoch {epoch}")
def broker_becomes_leader(s, broker: Replica, epoch: LeaderEpoch):
    """A broker learns that it was elected. Its log stays: a leader never truncates its own log.

    The high watermark moves only after every member of the ISR has fetched. A broker that leads already, because it
    missed its demotion, keeps its knowledge of its followers. Kafka: Partition.makeLeader.
    """
    require(s.is_up[broker])
    require(epoch > s.leader_epoch[broker])
    require(s.metadata_leader[epoch] == broker)
    if not presumes_leadership(s, broker) or not s.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER:
        forget_followers(s, broker)
    stop_fetching(s, broker)
    drop_parked_fetches(s, broker)
    s.is_truncating[broker] = False
    s.leader[broker] = broker
    s.leader_epoch[broker] = epoch
    for r in range(s.replicas):
        s.isr[broker][r] = s.metadata_isr[epoch][r]
    forget_proposal(s, broker)
    adopt_partition_epoch(s, broker, epoch)
    begin_to_lead(s, broker)
    forget_heard_metadata(s)


def keeps_fetching(s, broker, epoch):
    """FOLLOWER_SKIP: up to 2.0 a broker whose leader stays the same continues without any change (KAFKA-7164).

    In 2.0.1 it does so only if it missed no epoch in between; since 2.1 it never does: each new epoch is a new start.
    """
    return follows(s, broker, s.metadata_leader[epoch]) and (
        s.FOLLOWER_SKIP == FollowerSkip.SAME_LEADER
        or (s.FOLLOWER_SKIP == FollowerSkip.SAME_LEADER_NEXT_EPOCH and epoch == s.leader_epoch[broker] + 1)
    )


@action(shows="{broker} in epoch {epoch}")
def broker_becomes_follower(s, broker: Replica, epoch: LeaderEpoch):
    """A broker learns that another broker leads; before it fetches, it has to reconcile its log with the leader's
    (log.py).

    Responses from brokers other than the new leader are dropped. Kafka: ReplicaManager.makeFollowers.
    """
    require(s.is_up[broker])
    require(epoch > s.leader_epoch[broker])
    require(s.metadata_leader[epoch] != NONE)
    require(s.metadata_leader[epoch] != broker)
    if not keeps_fetching(s, broker, epoch):
        stop_leading(s, broker)
        stop_fetching(s, broker)
        s.is_truncating[broker] = False
        begin_to_follow(s, broker)
        s.leader[broker] = s.metadata_leader[epoch]
    s.leader_epoch[broker] = epoch
    adopt_partition_epoch(s, broker, epoch)
    forget_heard_metadata(s)
