"""Replication by majority: replicas elect a leader among themselves, and a majority of them commits a record.

Raft (Ongaro and Ousterhout 2014; Ongaro's thesis, 2014) and KRaft (KIP-595), without snapshots and without changes of
the set of voters (KIP-630, KIP-853). An *epoch* is what Raft calls a term, the *high watermark* its commit index, the
*log end offset* one more than its last index.
"""

from enum import IntEnum

from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    Set,
    between,
    bound,
    budget,
    contradiction,
    field,
    initial,
    optional,
    switch,
    terminal,
)
from isrcheck.models.log import append_entry

# --------------------------------------------------------------------------------------------------------------- values


class Role(IntEnum):
    """The role of a replica in its epoch. A FOLLOWER without a leader is Unattached, Voted or Resigned in KRaft.

    PROSPECTIVE: it asks whether it would win an election, before it begins one (pre-vote; KRaft's Prospective).
    """

    FOLLOWER = 0
    PROSPECTIVE = 1
    CANDIDATE = 2
    LEADER = 3


class VoteRule(IntEnum):
    """VOTE_RULE: which candidates a voter votes for.

    NEWEST_LOG (Raft): those whose last entry has a later epoch than the voter's, or the same and no smaller offset.
    LONGEST_LOG: those whose log is no shorter than the voter's. ANY_LOG: all. These two are mistakes that lose records.
    """

    NEWEST_LOG = 0
    LONGEST_LOG = 1
    ANY_LOG = 2


# ---------------------------------------------------------------------------------------------- configuration and state


class Configuration:
    replicas = bound(3, "replicas of the log, observers included", least=1, most=7, option="--replicas")
    observers = bound(0, "replicas that fetch but do not vote: the last ones", most=6, option="--observers")
    records = bound(2, "records that clients can write", most=4, option="--records")
    log_size = bound(2, "entries that a log can hold", least=1, most=8, option="--log-size")
    elections = budget(3, "epochs that candidates can begin", most=6, shapes=True, option="--elections")
    restarts = budget(1, "restarts of replicas: what is not on disk is lost", most=6, option="--restarts")
    cuts = budget(0, "links between two replicas that break", most=6, option="--cuts")
    VOTE_RULE = switch(VoteRule.NEWEST_LOG, "which candidates a voter votes for")
    OWN_EPOCH_COMMITS = switch(True, "a leader counts copies only of entries of its own epoch; older ones follow")
    VOTE_IS_DURABLE = switch(True, "a restarted voter knows whom it has voted for")
    OBSERVERS_COUNT = switch(False, "a mistake: the copies of observers count for the majority that commits")
    LEADER_CHANGE_RECORD = switch(False, "a new leader begins its epoch with an entry of its own (KIP-595, a no-op)")
    PRE_VOTE = switch(False, "a replica begins an epoch only if it would win (thesis 9.6, KIP-996)")
    CHECK_QUORUM = switch(False, "a leader that no majority answers resigns (thesis 6.2, KAFKA-15489)")
    TIMEOUTS_NEED_SILENCE = switch(False, "time-outs come only to who hears nothing; off: at any time")


class Replica(Domain, size="replicas"):
    pass


class Voter(Domain, size=lambda configuration: max(1, configuration.replicas - configuration.observers)):
    """A replica that votes and counts for majorities. The first replicas are voters, the last are observers."""


class Offset(Domain, size="log_size"):
    pass


class Record(Domain, size=lambda configuration: configuration.records + 1, letters=True):
    """The content of an entry: a client's record, or (the last value) the record of a leader's election."""


class LeaderEpoch(Domain, size=lambda configuration: configuration.elections + 1):
    pass


class State:
    # On disk: the log, the epoch, the vote.
    log_record = field(Replica, Offset, values=optional(Record), initially=NONE)
    log_epoch = field(Replica, Offset, values=optional(LeaderEpoch), initially=NONE)
    log_end_offset = field(Replica, values=between(0, "log_size"))
    epoch = field(Replica, values=LeaderEpoch)
    voted_for = field(Replica, values=optional(Voter), initially=NONE)

    # In memory: the role, the leader that it follows, who has voted for it, how far a leader knows each log to agree
    # with its own (Raft's matchIndex; 0 if it knows nothing), and what it knows to be committed.
    role = field(Replica, values=Role)
    leader = field(Replica, values=optional(Voter), initially=0)
    votes = field(Voter, values=Set(of=Voter))
    match_offset = field(Voter, Replica, values=between(0, "log_size"))
    high_watermark = field(Replica, values=between(0, "log_size"))

    # The network: between a and b, if a < b.
    is_cut = field(Replica, Replica, values=Flag)

    next_record = field(values=between(0, "records"))
    acknowledged = field(Record, values=Flag)
    # Budgets up to three share one layout.
    restarts_so_far = field(values=between(0, lambda configuration: max(3, configuration.restarts)))
    cuts_so_far = field(values=between(0, lambda configuration: max(3, configuration.cuts)))


# --------------------------- the initial state: empty logs, and replica 0 leads epoch 0; every other replica follows it


@initial
def a_leader_is_elected(configuration):
    """Replica 0 leads, and all logs are empty. With LEADER_CHANGE_RECORD, too, they lack the record of its election."""
    yield {"role": [Role.LEADER] + [Role.FOLLOWER] * (configuration.replicas - 1)}


@terminal
def bounds_are_used_up(s):
    """Epochs, records and faults are limited in number, so a behaviour may end in every state."""
    return True


@contradiction
def nobody_votes(configuration):
    """--observers leaves no replica that votes; lower --observers, or raise --replicas."""
    return configuration.observers >= configuration.replicas


@contradiction
def no_room_for_leaders_records(configuration):
    """With LEADER_CHANGE_RECORD, a log needs room for an entry of each epoch and for a record; raise --log-size to more
    than --elections, or lower --elections."""
    return configuration.LEADER_CHANGE_RECORD and configuration.log_size < configuration.elections + min(
        1, configuration.records
    )


# ------------- vocabulary: who leads, who hears whom, which log is newer, what a majority is; and the changes of a role


def is_leader(s, r):
    return s.role[r] == Role.LEADER


def is_voter(s, r):
    return r in Voter


def can_reach(s, a, b):
    """Messages pass between the two replicas, in both directions."""
    return not s.is_cut[min(a, b)][max(a, b)]


def is_majority(s, count):
    """`count` is more than half of the voters. Kafka: VoterSet, half of the size plus one."""
    return 2 * count > len(Voter)


def follows(s, follower, leader):
    """`follower` has `leader` as its leader, in the same epoch; a leader follows itself. Their link may be cut."""
    return s.leader[follower] == leader and s.epoch[follower] == s.epoch[leader]


def hears_from_leader(s, r):
    """Replica `r` receives heartbeats or fetch responses from a leader whose epoch is not before the epoch of `r`."""
    return any(
        is_leader(s, other) and other != r and s.epoch[other] >= s.epoch[r] and can_reach(s, other, r)
        for other in Voter
    )


def is_answered_by_majority(s, leader):
    """A majority of the voters, `leader` included, can exchange messages with it and is in no later epoch."""
    return is_majority(
        s, sum(1 for v in Voter if v == leader or (can_reach(s, leader, v) and s.epoch[v] <= s.epoch[leader]))
    )


# ----------------------------------------------------------------------------------------------------------------- logs


def last_epoch(s, r):
    """The epoch of the last entry; if the log is empty, NONE, which is less than any epoch."""
    return s.log_epoch[r][s.log_end_offset[r] - 1] if s.log_end_offset[r] > 0 else NONE


def may_get_vote_of(s, candidate, voter):
    """The voter's rule (VOTE_RULE) allows a vote for the candidate's log (thesis 3.6.1; Kafka: canGrantVote)."""
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
    """Clear what only a candidate or leader keeps in memory, so that equal followers have equal states."""
    if r in Voter:
        s.votes[r].clear()
        for other in range(s.replicas):
            s.match_offset[r][other] = 0


def become_follower(s, r, epoch, leader):
    """Follow this leader, or nobody (NONE), in this epoch, which is the replica's own or a later one."""
    if epoch > s.epoch[r]:
        s.voted_for[r] = NONE
    s.epoch[r] = epoch
    s.role[r] = Role.FOLLOWER
    s.leader[r] = leader
    forget_role(s, r)


def become_candidate(s, r):
    """The replica begins the next epoch, and votes for itself."""
    s.epoch[r] += 1
    s.role[r] = Role.CANDIDATE
    s.leader[r] = NONE
    s.voted_for[r] = r
    s.votes[r] = {r}


def become_leader(s, r):
    """`r` leads, assumes nothing about the other logs and, with LEADER_CHANGE_RECORD, appends an entry of its epoch."""
    s.role[r] = Role.LEADER
    s.leader[r] = r
    s.votes[r].clear()
    if s.LEADER_CHANGE_RECORD:
        append_entry(s, r, s.records, s.epoch[r])


# -------------------------------------------------------------------------------------------------------------- commits


def has_copy(s, leader, r, end_offset):
    """As far as the leader knows, the replica holds the leader's entries below this offset."""
    return s.log_end_offset[leader] >= end_offset if r == leader else s.match_offset[leader][r] >= end_offset


def is_on_majority(s, leader, end_offset):
    """As far as the leader knows, a majority holds the leader's entries below this offset."""
    return is_majority(
        s,
        sum(1 for r in range(s.replicas) if (r in Voter or s.OBSERVERS_COUNT) and has_copy(s, leader, r, end_offset)),
    )


def may_commit(s, leader, end_offset):
    """A majority holds the entries below `end_offset`; with OWN_EPOCH_COMMITS, the last is of the leader's epoch, too.

    Thesis 3.6.2. Kafka: LeaderState.maybeUpdateHighWatermark, which waits for the end of the leader's own first entry.
    """
    return is_on_majority(s, leader, end_offset) and (
        not s.OWN_EPOCH_COMMITS or s.log_epoch[leader][end_offset - 1] == s.epoch[leader]
    )


def committed_end_offset(s, leader):
    """The offset up to which the leader can commit now: at least its high watermark."""
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
    """Raise the leader's high watermark to `end_offset`: the clients' records below it count as acknowledged.

    A client that wrote to an earlier leader gets no answer from this leader; but the client may find the record in the
    log, so the record counts as acknowledged.
    """
    for offset in range(s.log_size):
        if s.high_watermark[leader] <= offset < end_offset and s.log_record[leader][offset] < s.records:
            s.acknowledged[s.log_record[leader][offset]] = True
    s.high_watermark[leader] = end_offset
