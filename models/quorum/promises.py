"""What a quorum promises, with the published names of the properties.

Raft: the properties of figure 3.2 of Ongaro's thesis. KRaft: the invariants of Vanlightly's KRaft.tla (raft-tlaplus),
written from Kafka's implementation. NoIllegalState of KRaft.tla says that no replica is asked to follow a second leader
in its epoch, which is `one_leader_per_epoch` here. Raft's Leader Append-Only holds here by construction.
"""

from isrcheck.models.language import NONE, always, always_step, sometimes
from isrcheck.models.log import has_entry, logs_match, same_entry
from isrcheck.models.quorum.actions import replica_restarts
from isrcheck.models.quorum.state import Role, Voter, can_reach, follows, holds_record, is_leader, is_majority


@always
def one_leader_per_epoch(s):
    """No two replicas follow, or are, different leaders in one epoch.

    Raft: Election Safety. KRaft.tla: NeverTwoLeadersInSameEpoch.
    """
    return not any(
        s.leader[a] != NONE and s.leader[b] != NONE and s.leader[a] != s.leader[b] and s.epoch[a] == s.epoch[b]
        for a in range(s.replicas)
        for b in range(s.replicas)
        if a < b
    )


def is_newest_leader(s, leader):
    return is_leader(s, leader) and not any(s.epoch[r] > s.epoch[leader] for r in range(s.replicas))


@always
def acked_not_lost(s):
    """The leader of the newest epoch holds every acknowledged record.

    Raft: Leader Completeness. KRaft.tla: LeaderHasAllAckedValues.
    """
    return all(
        not s.acknowledged[record] or holds_record(s, leader, record)
        for leader in Voter
        if is_newest_leader(s, leader)
        for record in range(s.records)
    )


@always
def committed_agrees(s):
    """No two logs differ below both high watermarks. Raft: State Machine Safety. KRaft.tla: NoLogDivergence."""
    return all(
        same_entry(s, a, b, offset)
        for a in range(s.replicas)
        for b in range(s.replicas)
        if a < b
        for offset in range(s.log_size)
        if offset < min(s.high_watermark[a], s.high_watermark[b])
    )


@always
def committed_is_on_majority(s):
    """What a leader has committed is on a majority of the voters. KRaft.tla: CommittedEntriesReachMajority."""
    return all(
        is_majority(s, sum(1 for voter in Voter if same_entry(s, leader, voter, offset)))
        for leader in Voter
        if is_leader(s, leader)
        for offset in range(s.log_size)
        if offset < s.high_watermark[leader]
    )


@always
def log_matching(s):
    """Replicas with the same epoch at an offset have the same entries up to there. Raft: Log Matching."""
    return logs_match(s)


@always_step
def committed_is_not_truncated(before, after):
    """No replica removes an entry below its high watermark. Kafka refuses to truncate there."""
    return all(
        offset >= before.high_watermark[r]
        or (
            has_entry(after, r, offset)
            and before.log_record[r][offset] == after.log_record[r][offset]
            and before.log_epoch[r][offset] == after.log_epoch[r][offset]
        )
        for r in range(before.replicas)
        for offset in range(before.log_size)
    )


@always
def roles_match(s):
    """Observers only follow, and a leader follows itself. KRaft.tla of KIP-996: StatesMatchRoles, ValidVotesRecv."""
    return all(
        (r in Voter or s.role[r] == Role.FOLLOWER)
        and (s.role[r] != Role.LEADER or s.leader[r] == r)
        and (s.role[r] == Role.FOLLOWER or s.role[r] == Role.LEADER or s.leader[r] == NONE)
        for r in range(s.replicas)
    ) and all(s.role[v] == Role.CANDIDATE or len(s.votes[v]) == 0 for v in Voter)


def is_kept_by(s, leader, r):
    """Replica `r` is `leader`, or follows it and can exchange messages with it."""
    return r == leader or (follows(s, r, leader) and can_reach(s, leader, r))


def is_healthy(s, leader):
    """`leader` leads, and a majority of the voters, itself included, follow it and can exchange messages with it."""
    return is_leader(s, leader) and is_majority(s, sum(1 for v in Voter if is_kept_by(s, leader, v)))


@always_step(applies=lambda configuration: configuration.TIMEOUTS_NEED_SILENCE)
def healthy_leader_is_kept(before, after, taken):
    """While a majority follows a leader that it can reach, the leader goes on, and these followers stay in its epoch.

    If voters may time out at any time, the property is always violated. Steps in which a replica restarts are exempt.
    """
    return taken == replica_restarts or all(
        after.epoch[r] == before.epoch[r] and (r != leader or is_leader(after, r))
        for leader in Voter
        if is_healthy(before, leader)
        for r in range(before.replicas)
        if is_kept_by(before, leader, r)
    )


# ---------------------------------------------------------------------------------------------------------------- goals
#
# States that must be reachable, to show that the model is not vacuous.
#
# Where time-outs need a reason, elections need faults that a configuration may not have: there, nothing must be.


def has_elections(configuration):
    """Voters may time out at any time, and a candidate can get the vote of a second voter. With pre-vote and two
    voters, the second voter is the leader, which votes only after it has resigned or restarted."""
    return (
        configuration.elections > 0
        and configuration.replicas - configuration.observers > 1
        and not configuration.TIMEOUTS_NEED_SILENCE
        and (
            not configuration.PRE_VOTE
            or configuration.replicas - configuration.observers > 2
            or configuration.CHECK_QUORUM
            or configuration.restarts > 0
        )
    )


def has_minorities(configuration):
    """An election can succeed without one of the voters."""
    return has_elections(configuration) and configuration.replicas - configuration.observers > 2


def has_conflicts(configuration):
    """Two leaders can append conflicting records. With two voters, they cannot: the voter with the older log loses."""
    return has_minorities(configuration) and configuration.records > (0 if configuration.LEADER_CHANGE_RECORD else 1)


@sometimes(applies=lambda configuration: configuration.records > 0)
def a_record_is_acknowledged_and_everywhere(s):
    return any(
        s.acknowledged[record] and all(holds_record(s, r, record) for r in range(s.replicas))
        for record in range(s.records)
    )


@sometimes(applies=lambda configuration: has_elections(configuration) and configuration.records > 0)
def a_later_leader_has_committed(s):
    """A leader's high watermark is above a record of an epoch before the leader's own."""
    return any(
        is_leader(s, leader) and offset < s.high_watermark[leader] and s.log_epoch[leader][offset] < s.epoch[leader]
        for leader in Voter
        for offset in range(s.log_size)
        if has_entry(s, leader, offset)
    )


@sometimes(applies=has_conflicts)
def a_log_is_truncated(before, after):
    """A log is truncated: a record that was not committed leaves it."""
    return any(
        before.log_record[r][offset] < before.records and before.log_record[r][offset] != after.log_record[r][offset]
        for r in range(before.replicas)
        for offset in range(before.log_size)
        if has_entry(before, r, offset)
    )


@sometimes(applies=has_minorities)
def two_replicas_presume_leadership(s):
    """Two replicas presume leadership, in different epochs: the earlier leader has not heard of the later one."""
    return any(is_leader(s, a) and is_leader(s, b) for a in Voter for b in Voter if a < b)


def has_two_candidates(configuration):
    """Two voters can be candidates of the same epoch. With only two voters, this can take two elections, because one of
    them leads at first; with pre-vote, it takes three voters."""
    return configuration.elections > 1 and (
        has_minorities(configuration) if configuration.PRE_VOTE else has_elections(configuration)
    )


@sometimes(applies=has_two_candidates)
def votes_are_split(s):
    """Two voters are candidates of the same epoch, each with its own vote."""
    return any(
        s.role[a] == Role.CANDIDATE and s.role[b] == Role.CANDIDATE and s.epoch[a] == s.epoch[b]
        for a in Voter
        for b in Voter
        if a < b
    )
