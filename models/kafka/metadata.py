"""What a broker does when it hears of an election, late and perhaps not of every one (LeaderAndIsr)."""

from models.kafka.commit import advance_high_watermark, expose
from models.kafka.log import truncate_log
from models.kafka.roles import (
    drop_parked_fetches,
    follows,
    forget_followers,
    forget_heard_metadata,
    forget_own_fetches,
    presumes_leadership,
    stop_leading,
)
from models.kafka.state import FollowerSkip, LeaderEpoch, Replica
from models.language import NONE, action, require


@action(shows="{broker} in epoch {epoch}")
def broker_becomes_leader(s, broker: Replica, epoch: LeaderEpoch):
    """A broker learns that it was elected. Its log and its high watermark stay: a leader never truncates itself.

    It waits for every member of the ISR to fetch before the high watermark moves. One that leads already, because it
    missed its demotion, keeps what it knew of its followers. Kafka: Partition.makeLeader.
    """
    require(s.is_up[broker])
    require(epoch > s.leader_epoch[broker])
    require(s.metadata_leader[epoch] == broker)
    if not presumes_leadership(s, broker) or not s.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER:
        forget_followers(s, broker)
    forget_own_fetches(s, broker)
    drop_parked_fetches(s, broker)
    s.leader[broker] = broker
    s.leader_epoch[broker] = epoch
    for r in range(s.replicas):
        s.isr[broker][r] = s.metadata_isr[epoch][r]
    expose(s, broker)
    advance_high_watermark(s, broker)
    forget_heard_metadata(s)


def keeps_fetching(s, broker, epoch):
    """FOLLOWER_SKIP: up to 2.0 a broker whose leader stays the same goes on as if nothing had happened."""
    return s.FOLLOWER_SKIP == FollowerSkip.SAME_LEADER and follows(s, broker, s.metadata_leader[epoch])


@action(shows="{broker} in epoch {epoch}")
def broker_becomes_follower(s, broker: Replica, epoch: LeaderEpoch):
    """A broker learns that another one leads, and truncates to its own high watermark before it fetches.

    Kafka up to 0.10: ReplicaManager.makeFollowers. What it cuts may be committed: its high watermark lags.
    """
    require(s.is_up[broker])
    require(epoch > s.leader_epoch[broker])
    require(s.metadata_leader[epoch] != NONE)
    require(s.metadata_leader[epoch] != broker)
    if not keeps_fetching(s, broker, epoch):
        stop_leading(s, broker)
        forget_own_fetches(s, broker)
        truncate_log(s, broker, s.high_watermark[broker])
        s.leader[broker] = s.metadata_leader[epoch]
    s.leader_epoch[broker] = epoch
    forget_heard_metadata(s)
