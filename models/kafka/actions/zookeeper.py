"""The controller of a cluster with ZooKeeper: it elects leaders, and brokers hear of elections late or never."""

from isrcheck.models.kafka.state.broker import (
    begin_to_lead,
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
from isrcheck.models.kafka.state.log import begin_to_follow
from isrcheck.models.kafka.state.values import FollowerSkip, IsrChannel
from isrcheck.models.language import NONE, action, require

# ----------------------------------------------------------------------------------------------------------- controller
#
# It removes failed brokers and elects leaders, and never compares logs. Each election starts a new leader epoch, and is
# announced to the brokers one by one. If the last member of the ISR fails, no leader is elected: the failed broker
# stays the leader of record.


def may_elect(s):
    """The budgets allow another leader epoch and, since 2.8, another partition epoch."""
    return s.controller_epoch < s.elections and (
        s.ISR_CHANNEL == IsrChannel.ZK or s.controller_partition_epoch < s.partition_changes
    )


def announce_leader(s, leader):
    """Start a new epoch with this leader and the current ISR, and announce it."""
    s.controller_leader = leader
    s.controller_epoch += 1
    if s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION:
        s.controller_partition_epoch += 1
        s.metadata_partition_epoch[s.controller_epoch] = s.controller_partition_epoch
    s.metadata_leader[s.controller_epoch] = leader
    for r in range(s.replicas):
        s.metadata_isr[s.controller_epoch][r] = s.controller_isr[r]


@action(shows="to {elected}")
def controller_fails_over(s, elected: Replica):
    """The controller stops trusting the leader, dead or not, and elects a running member of the ISR.

    Kafka: PartitionStateMachine, OfflinePartitionLeaderSelector. The old leader does not learn of it in this step.
    """
    require(may_elect(s))
    require(elected != s.controller_leader)
    require(s.controller_isr[elected])
    require(s.is_up[elected])
    s.controller_isr[s.controller_leader] = False
    announce_leader(s, elected)


@action
def controller_removes_dead_follower(s, follower: Replica):
    """A follower that is down leaves the ISR; the leader stays, in a new epoch. Kafka: removeReplicaFromIsr.

    Not modelled: the removal of a follower that runs, but whose session expired; the leader can drop it instead.
    """
    require(may_elect(s))
    require(follower != s.controller_leader)
    require(s.controller_isr[follower])
    require(not s.is_up[follower])
    s.controller_isr[follower] = False
    announce_leader(s, s.controller_leader)


@action
def controller_elects_preferred(s, elected: Replica):
    """Leadership moves to another member of the ISR while the leader lives; the ISR does not change.

    Kafka: PreferredReplicaPartitionLeaderSelector.
    """
    require(s.preferred_elections_left > 0)
    require(may_elect(s))
    require(s.is_up[s.controller_leader])
    require(elected != s.controller_leader)
    require(s.controller_isr[elected])
    require(s.is_up[elected])
    s.preferred_elections_left -= 1
    announce_leader(s, elected)


@action
def controller_elects_unclean(s, elected: Replica):
    """No member of the ISR runs: a broker outside the ISR is elected, and records that it lacks are lost.

    Kafka: unclean.leader.election.enable.
    """
    require(s.unclean_elections_left > 0)
    require(may_elect(s))
    require(s.is_up[elected])
    require(not any(s.controller_isr[r] and s.is_up[r] for r in range(s.replicas)))
    s.unclean_elections_left -= 1
    for r in range(s.replicas):
        s.controller_isr[r] = r == elected
    announce_leader(s, elected)


# -------------------------------------------------------------------------------------------------------------- brokers
#
# How a broker reacts to the announcement of an election, which may arrive late or not at all (LeaderAndIsr).


def adopt_partition_epoch(s, broker, epoch):
    """Since 2.8, the broker learns the partition epoch from LeaderAndIsr, and names it in its own requests."""
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
    """The broker goes on fetching in the new epoch: up to 2.0, it does so if its leader stays the same (KAFKA-7164).

    In 2.0.1 it does so only if it also missed no epoch in between; since 2.1 it never does (FOLLOWER_SKIP).
    """
    return follows(s, broker, s.metadata_leader[epoch]) and (
        s.FOLLOWER_SKIP == FollowerSkip.SAME_LEADER
        or (s.FOLLOWER_SKIP == FollowerSkip.SAME_LEADER_NEXT_EPOCH and epoch == s.leader_epoch[broker] + 1)
    )


@action(shows="{broker} in epoch {epoch}")
def broker_becomes_follower(s, broker: Replica, epoch: LeaderEpoch):
    """A broker learns that another broker leads; before it fetches, it has to reconcile its log with the leader's
    (reconciliation.py).

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
