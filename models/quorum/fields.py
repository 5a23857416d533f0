"""Replication by majority: replicas elect a leader among themselves, and a majority of them commits a record.

Raft (Ongaro and Ousterhout 2014; Ongaro's thesis, 2014) and KRaft (KIP-595), without snapshots and without changes of
the set of voters (KIP-630, KIP-853). An *epoch* is what Raft calls a term, the *high watermark* its commit index, the
*log end offset* one more than its last index.
"""

from isrcheck.models.language import NONE, Domain, Flag, Set, between, bound, budget, field, optional, switch
from isrcheck.models.quorum.values import Role, VoteRule


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
    """A replica that votes, and counts for majorities: the first ones."""


class Offset(Domain, size="log_size"):
    pass


class Record(Domain, size=lambda configuration: configuration.records + 1, letters=True):
    """What an entry holds: a client's record, or, as the last one, the leader's own record at the start of an epoch."""


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
