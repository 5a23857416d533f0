"""Raft: the leader pushes entries to its followers, and learns from each answer how far both logs agree.

AppendEntries with one entry, and its answer, are one step; actions.py explains why this leaves out no behaviour.
"""

from isrcheck.models.language import action, require
from isrcheck.models.log import append_entry, cut_log, same_entry
from isrcheck.models.quorum.state import Replica, Voter, can_reach, commit, committed_end_offset, follows, is_leader


def common_end_offset(s, a, b):
    """The first offset at which logs `a` and `b` differ or one ends, which a leader finds step by step (nextIndex)."""
    for offset in range(s.log_size):
        if not same_entry(s, a, b, offset):
            return offset
    return s.log_size


@action(shows="{leader} to {follower}")
def leader_replicates(s, leader: Voter, follower: Replica):
    """The follower drops the entries that differ from the leader's log, and appends the leader's next entry."""
    require(is_leader(s, leader) and leader != follower)
    require(can_reach(s, leader, follower))
    require(follows(s, follower, leader))
    replicate_entry(s, leader, follower, common_end_offset(s, leader, follower))


def replicate_entry(s, leader, follower, end_offset):
    known = end_offset
    if end_offset < s.log_end_offset[leader]:
        cut_log(s, follower, end_offset)
        append_entry(s, follower, s.log_record[leader][end_offset], s.log_epoch[leader][end_offset])
        known = end_offset + 1
    s.match_offset[leader][follower] = known
    s.high_watermark[follower] = max(s.high_watermark[follower], min(s.high_watermark[leader], known))


@action
def leader_commits(s, leader: Voter):
    """The leader commits an entry that, by the answers of the followers, a majority has, and all entries before it."""
    require(is_leader(s, leader))
    require(committed_end_offset(s, leader) > s.high_watermark[leader])
    commit(s, leader, committed_end_offset(s, leader))
