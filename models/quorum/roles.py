"""Vocabulary: who leads, who hears whom, which log is newer, what a majority is; and the changes of a role."""

from isrcheck.models.language import NONE
from isrcheck.models.log import append_entry
from isrcheck.models.quorum.fields import Voter
from isrcheck.models.quorum.values import Role, VoteRule


def is_leader(s, r):
    return s.role[r] == Role.LEADER


def is_voter(s, r):
    return r in Voter


def can_reach(s, a, b):
    """Messages pass between the two replicas, in both directions."""
    return not s.is_cut[min(a, b)][max(a, b)]


def is_majority(s, count):
    """More than half of the voters. Kafka: VoterSet, half of the size plus one."""
    return 2 * count > len(Voter)


def follows(s, follower, leader):
    """It has heard of the leader in this epoch; the leader, of itself. Whether messages pass is another question."""
    return s.leader[follower] == leader and s.epoch[follower] == s.epoch[leader]


def hears_from_leader(s, r):
    """Some leader reaches the replica, and is not outdated: its heartbeats come, or its answers to fetches."""
    return any(
        is_leader(s, other) and other != r and s.epoch[other] >= s.epoch[r] and can_reach(s, other, r)
        for other in Voter
    )


def is_answered_by_majority(s, leader):
    """A majority of the voters, the leader among them, is reached and has not gone on to a later epoch."""
    return is_majority(
        s, sum(1 for v in Voter if v == leader or (can_reach(s, leader, v) and s.epoch[v] <= s.epoch[leader]))
    )


# ----------------------------------------------------------------------------------------------------------------- logs


def last_epoch(s, r):
    """The epoch of the last entry; NONE, which is less than any, if the log is empty."""
    return s.log_epoch[r][s.log_end_offset[r] - 1] if s.log_end_offset[r] > 0 else NONE


def may_get_vote_of(s, candidate, voter):
    """The log of the candidate is good enough for the voter (thesis 3.6.1; Kafka: canGrantVote)."""
    if s.VOTE_RULE == VoteRule.ANY_LOG:
        return True
    if s.VOTE_RULE == VoteRule.LONGEST_LOG:
        return s.log_end_offset[candidate] >= s.log_end_offset[voter]
    return last_epoch(s, candidate) > last_epoch(s, voter) or (
        last_epoch(s, candidate) == last_epoch(s, voter) and s.log_end_offset[candidate] >= s.log_end_offset[voter]
    )


def holds_record(s, r, record):
    return any(offset < s.log_end_offset[r] and s.log_record[r][offset] == record for offset in range(s.log_size))


# ---------------------------------------------------------------------------------------------------- changes of a role


def forget_role(s, r):
    """What a candidate or leader keeps in memory goes with the role, so that equal followers are equal states."""
    if r in Voter:
        s.votes[r].clear()
        for other in range(s.replicas):
            s.match_offset[r][other] = 0


def become_follower(s, r, epoch, leader):
    """Follow this leader, or nobody (NONE), in this epoch, which is its own or a later one."""
    if epoch > s.epoch[r]:
        s.voted_for[r] = NONE
    s.epoch[r] = epoch
    s.role[r] = Role.FOLLOWER
    s.leader[r] = leader
    forget_role(s, r)


def become_candidate(s, r):
    """Begin the next epoch, with a vote for itself."""
    s.epoch[r] += 1
    s.role[r] = Role.CANDIDATE
    s.leader[r] = NONE
    s.voted_for[r] = r
    s.votes[r] = {r}


def become_leader(s, r):
    """Nothing is known of the others' logs; its own entry at the start of the epoch comes first, if it has one."""
    s.role[r] = Role.LEADER
    s.leader[r] = r
    s.votes[r].clear()
    if s.LEADER_CHANGE_RECORD:
        append_entry(s, r, s.records, s.epoch[r])


# -------------------------------------------------------------------------------------------------------------- commits


def has_copy(s, leader, r, end_offset):
    """As far as the leader knows, the replica holds its entries below this offset."""
    return s.log_end_offset[leader] >= end_offset if r == leader else s.match_offset[leader][r] >= end_offset


def is_on_majority(s, leader, end_offset):
    """A leader knows of enough copies of its entries below this offset."""
    return is_majority(
        s,
        sum(1 for r in range(s.replicas) if (r in Voter or s.OBSERVERS_COUNT) and has_copy(s, leader, r, end_offset)),
    )


def may_commit(s, leader, end_offset):
    """The copies of the last entry below this offset count: in Raft, if it is of the leader's own epoch (thesis 3.6.2).

    Kafka: LeaderState.maybeUpdateHighWatermark, which waits for the end of the leader's own first entry.
    """
    return is_on_majority(s, leader, end_offset) and (
        not s.OWN_EPOCH_COMMITS or s.log_epoch[leader][end_offset - 1] == s.epoch[leader]
    )


def committed_end_offset(s, leader):
    """The offset up to which the leader can commit now, its high watermark at least."""
    return max(
        s.high_watermark[leader],
        max(
            (
                offset + 1
                for offset in range(s.log_size)
                if offset < s.log_end_offset[leader] and may_commit(s, leader, offset + 1)
            ),
            default=0,
        ),
    )


def commit(s, leader, end_offset):
    """Raise the leader's high watermark; with that, clients are told of their records.

    Whoever wrote to an earlier leader gets no answer from this one; but it may find its record, and so it counts.
    """
    for offset in range(s.log_size):
        if s.high_watermark[leader] <= offset < end_offset and s.log_record[leader][offset] < s.records:
            s.acknowledged[s.log_record[leader][offset]] = True
    s.high_watermark[leader] = end_offset
