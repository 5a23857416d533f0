"""KIP-320, first attempt: every fetch compares the epoch of the last entry, but not the leader epoch itself.

Kip320FirstTry.tla, a negative example: a fetch from an older epoch can still be accepted.
"""

from isrcheck.models.language import action, require
from isrcheck.models.log import cut_log, has_entry
from isrcheck.models.published.kip_279 import matching_end_offset
from isrcheck.models.published.replication import (
    LeaderEpoch,
    Replica,
    adopt_request,
    follows,
    is_true_leader,
    leader_writes_isr,
    may_become_follower,
    names_leader,
    presumes_leadership,
    replicate_entry,
)


def is_caught_up_in_epoch(s, leader, follower, end_offset):
    """Whether `follower` follows `leader` and, unless `end_offset` is 0, they have the same epoch just below it."""
    return (
        presumes_leadership(s, leader)
        and follows(s, follower, leader)
        and (
            end_offset == 0
            or (
                has_entry(s, leader, end_offset - 1)
                and has_entry(s, follower, end_offset - 1)
                and s.log_epoch[leader][end_offset - 1] == s.log_epoch[follower][end_offset - 1]
            )
        )
    )


def has_committed_in_own_epoch(s, leader):
    """The leader's high watermark is the end of its log, or the offset of an entry of its present leader epoch."""
    return s.high_watermark[leader] == s.log_end_offset[leader] or (
        has_entry(s, leader, s.high_watermark[leader])
        and s.log_epoch[leader][s.high_watermark[leader]] == s.leader_epoch[leader]
    )


@action
def become_follower(s, request: LeaderEpoch, r: Replica):
    """The follower adopts `request`. It truncates nothing in this step: truncation waits for the leader's answer."""
    require(names_leader(s, request))
    require(may_become_follower(s, request, r))
    adopt_request(s, r, request)


@action
def follower_truncates(s, leader: Replica, follower: Replica):
    require(presumes_leadership(s, leader))
    require(leader != follower)
    require(follows(s, follower, leader))
    require(s.log_end_offset[follower] > 0)
    require(
        s.log_end_offset[follower] > s.log_end_offset[leader]
        or s.log_epoch[leader][s.log_end_offset[follower] - 1] != s.log_epoch[follower][s.log_end_offset[follower] - 1]
    )
    end_offset = matching_end_offset(s, leader, follower)
    cut_log(s, follower, end_offset)
    s.high_watermark[follower] = min(s.high_watermark[follower], end_offset)


@action
def follower_replicates(s, leader: Replica, follower: Replica):
    require(leader != follower)
    require(is_caught_up_in_epoch(s, leader, follower, s.log_end_offset[follower]))
    require(has_entry(s, leader, s.log_end_offset[follower]))
    replicate_entry(s, leader, follower)


@action
def leader_raises_high_watermark(s, leader: Replica):
    require(presumes_leadership(s, leader))
    require(has_entry(s, leader, s.high_watermark[leader]))
    require(
        all(
            is_caught_up_in_epoch(s, leader, member, s.high_watermark[leader] + 1)
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
    require(not is_caught_up_in_epoch(s, leader, r, s.log_end_offset[leader]))
    leader_writes_isr(s, leader, r, False)


@action
def leader_expands_isr(s, leader: Replica, r: Replica):
    require(is_true_leader(s, leader))
    require(not s.isr[leader][r])
    require(is_caught_up_in_epoch(s, leader, r, s.high_watermark[leader]))
    require(has_committed_in_own_epoch(s, leader))
    leader_writes_isr(s, leader, r, True)
