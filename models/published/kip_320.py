"""KIP-320 (Kafka 2.1): a follower's actions take effect only while the follower has its leader's epoch. Kip320.tla."""

from isrcheck.models.language import action, require
from isrcheck.models.log import has_entry
from isrcheck.models.published.kip_279 import matching_end_offset
from isrcheck.models.published.kip_320_first_try import has_committed_in_own_epoch
from isrcheck.models.published.replication import (
    LeaderEpoch,
    Replica,
    become_follower_at,
    follows,
    is_true_leader,
    leader_writes_isr,
    may_become_follower,
    names_leader,
    presumes_leadership,
    replicate_entry,
)


def follows_epoch(s, follower, leader):
    """`leader` believes that it leads, and `follower` follows it and has the same leader epoch."""
    return (
        presumes_leadership(s, leader)
        and follows(s, follower, leader)
        and s.leader_epoch[follower] == s.leader_epoch[leader]
    )


@action
def become_follower(s, request: LeaderEpoch, r: Replica):
    """The follower adopts `request`, and truncates its log to the end of the part that it shares with the leader's log.
    The leader is the replica that `request` names, which must be in exactly the epoch of `request`."""
    require(names_leader(s, request))
    require(presumes_leadership(s, s.request_leader[request]))
    require(s.leader_epoch[s.request_leader[request]] == request)
    require(may_become_follower(s, request, r))
    become_follower_at(s, request, r, matching_end_offset(s, s.request_leader[request], r))


@action
def follower_replicates(s, leader: Replica, follower: Replica):
    require(leader != follower)
    require(follows_epoch(s, follower, leader))
    require(has_entry(s, leader, s.log_end_offset[follower]))
    replicate_entry(s, leader, follower)


@action
def leader_raises_high_watermark(s, leader: Replica):
    require(presumes_leadership(s, leader))
    require(has_entry(s, leader, s.high_watermark[leader]))
    require(
        all(
            follows_epoch(s, member, leader) and has_entry(s, member, s.high_watermark[leader])
            for member in range(s.replicas)
            if s.isr[leader][member]
        )
    )
    s.high_watermark[leader] += 1


@action
def leader_shrinks_isr(s, leader: Replica, r: Replica):
    require(is_true_leader(s, leader))
    require(leader != r)
    require(s.isr[leader][r])
    require(not follows_epoch(s, r, leader) or s.log_end_offset[r] < s.log_end_offset[leader])
    leader_writes_isr(s, leader, r, False)


@action
def leader_expands_isr(s, leader: Replica, r: Replica):
    require(is_true_leader(s, leader))
    require(not s.isr[leader][r])
    require(follows_epoch(s, r, leader))
    require(s.high_watermark[leader] == 0 or has_entry(s, r, s.high_watermark[leader] - 1))
    require(has_committed_in_own_epoch(s, leader))
    leader_writes_isr(s, leader, r, True)
