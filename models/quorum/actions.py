"""The actions that `raft` and `kraft` have in common: elections, records of clients, and faults."""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.log import append_entry
from isrcheck.models.quorum.state import (
    LeaderEpoch,
    Replica,
    Role,
    Voter,
    become_candidate,
    become_follower,
    become_leader,
    can_reach,
    follows,
    hears_from_leader,
    is_answered_by_majority,
    is_leader,
    is_majority,
    may_get_vote_of,
)

# ------------------------------------------------------------------------------------------------------------ elections
#
# Elections, in `raft` and `kraft`: time-outs, votes, and the news of a leader and of an epoch.
#
# A request and its answer are one step. That leaves nothing out but late requests for votes, which only bind a voter to
# somebody who has gone on: an answer that comes late is a later step of the one who waits for it, and a request of a
# leader says what was true in the leader's epoch, whose entries stay where they are.


@action
def voter_times_out(s, voter: Voter):
    """The voter has heard no leader, or won no election, for the election timeout: it begins the next epoch.

    With PRE_VOTE, the voter first asks whether it would be elected. Kafka: quorum.fetch.timeout.ms,
    quorum.election.timeout.ms.
    """
    require(s.role[voter] == Role.FOLLOWER or s.role[voter] == Role.CANDIDATE)
    require(s.epoch[voter] + 1 in LeaderEpoch)
    require(not s.TIMEOUTS_NEED_SILENCE or not hears_from_leader(s, voter))
    if s.PRE_VOTE:
        become_follower(s, voter, s.epoch[voter], NONE)
        s.role[voter] = Role.PROSPECTIVE
    else:
        become_candidate(s, voter)


def would_vote_for(s, voter, prospective):
    """`voter` would vote for `prospective`: it follows no leader, is in no later epoch, and has no newer log (KIP-996).

    A prospective candidate votes for itself. Not modelled: in Kafka, a voter that receives a later epoch adopts it, and
    a follower that has not fetched from its leader yet would vote as well.
    """
    return voter == prospective or (
        can_reach(s, voter, prospective)
        and s.leader[voter] == NONE
        and s.epoch[voter] <= s.epoch[prospective]
        and may_get_vote_of(s, prospective, voter)
    )


@action
def prospective_becomes_candidate(s, voter: Voter):
    """A majority would vote for `voter`, so `voter` becomes a candidate. All voters answer in this same step."""
    require(s.role[voter] == Role.PROSPECTIVE)
    require(s.epoch[voter] + 1 in LeaderEpoch)
    require(is_majority(s, sum(1 for other in Voter if would_vote_for(s, other, voter))))
    become_candidate(s, voter)


def asks_for_vote(s, candidate, voter):
    return candidate != voter and s.role[candidate] == Role.CANDIDATE and can_reach(s, candidate, voter)


@action(shows="{voter} for {candidate}")
def voter_grants_vote(s, voter: Voter, candidate: Voter):
    """A voter gives `candidate` its only vote of the epoch. Kafka: KafkaRaftClient.handleVoteRequest."""
    require(asks_for_vote(s, candidate, voter))
    require(
        s.epoch[candidate] > s.epoch[voter]
        or (s.epoch[candidate] == s.epoch[voter] and s.leader[voter] == NONE and s.voted_for[voter] == NONE)
    )
    require(may_get_vote_of(s, candidate, voter))
    become_follower(s, voter, s.epoch[candidate], NONE)
    s.voted_for[voter] = candidate
    s.votes[candidate].add(voter)


@action(shows="{voter} for {candidate}")
def voter_refuses_vote(s, voter: Voter, candidate: Voter):
    """VOTE_RULE forbids a vote for the candidate, but the voter adopts its epoch, even if the voter is a leader."""
    require(asks_for_vote(s, candidate, voter))
    require(s.epoch[candidate] > s.epoch[voter])
    require(not may_get_vote_of(s, candidate, voter))
    become_follower(s, voter, s.epoch[candidate], NONE)


@action
def candidate_becomes_leader(s, candidate: Voter):
    require(s.role[candidate] == Role.CANDIDATE)
    require(is_majority(s, len(s.votes[candidate])))
    become_leader(s, candidate)


@action(shows="{leader} to {follower}")
def leader_announces_itself(s, leader: Voter, follower: Replica):
    """A replica hears of the leader by a heartbeat in `raft`; in `kraft` by BeginQuorumEpoch, or, as an observer, by
    the answer of any replica to a fetch."""
    require(is_leader(s, leader) and leader != follower)
    require(can_reach(s, leader, follower))
    require(s.epoch[leader] >= s.epoch[follower] and not is_leader_of(s, follower, s.epoch[leader]))
    require(not follows(s, follower, leader))
    become_follower(s, follower, s.epoch[leader], leader)


def is_leader_of(s, r, epoch):
    """Replica `r` itself leads `epoch`. There must not be two leaders of an epoch; if there are, neither steps down."""
    return is_leader(s, r) and s.epoch[r] == epoch


@action(shows="{sender} from {other}")
def sender_learns_of_epoch(s, sender: Voter, other: Replica):
    """A candidate or leader in an earlier epoch learns of a later epoch from an answer, and steps down. In `raft` a
    leader sends requests all the time."""
    require(s.role[sender] != Role.FOLLOWER)
    require(can_reach(s, sender, other))
    require(s.epoch[other] > s.epoch[sender])
    become_follower(s, sender, s.epoch[other], NONE)


@action
def leader_resigns(s, leader: Voter):
    """Check quorum: the leader resigns, because no majority has answered it, or fetched from it, for a while.

    Left out: EndQuorumEpoch, with which a leader that shuts down asks for an immediate election, and KRaft's first
    version of check quorum, in which a leader without a majority began a new epoch.
    """
    require(s.CHECK_QUORUM)
    require(is_leader(s, leader))
    require(not s.TIMEOUTS_NEED_SILENCE or not is_answered_by_majority(s, leader))
    become_follower(s, leader, s.epoch[leader], NONE)


# --------------------------------------------------------------------------------------------------- clients and faults
#
# What comes from outside: records of clients; and faults, each with a budget: replicas restart, links break.
#
# A disk keeps what it has.


@action
def leader_appends(s, leader: Voter):
    """The leader appends a record. With LEADER_CHANGE_RECORD, it leaves room in the log for an entry of each later
    leader, so that a full log never prevents an election."""
    require(is_leader(s, leader))
    require(s.next_record < s.records)
    require(s.log_end_offset[leader] + (s.elections - s.epoch[leader] if s.LEADER_CHANGE_RECORD else 0) < s.log_size)
    append_entry(s, leader, s.next_record, s.epoch[leader])
    s.next_record += 1


@action
def replica_restarts(s, replica: Replica):
    """A replica crashes and restarts in one step. Its downtime is not modelled: any replica may pause for a time."""
    require(s.restarts_so_far < s.restarts)
    become_follower(s, replica, s.epoch[replica], NONE)
    s.high_watermark[replica] = 0
    if not s.VOTE_IS_DURABLE:
        s.voted_for[replica] = NONE
    s.restarts_so_far += 1


@action(shows="between {one} and {other}")
def link_breaks(s, one: Replica, other: Replica):
    require(one < other)
    require(not s.is_cut[one][other])
    require(s.cuts_so_far < s.cuts)
    s.is_cut[one][other] = True
    s.cuts_so_far += 1


@action(shows="between {one} and {other}")
def link_is_repaired(s, one: Replica, other: Replica):
    require(one < other)
    require(s.is_cut[one][other])
    s.is_cut[one][other] = False
