"""KRaft (KIP-595): followers and observers fetch from the leader, which learns from each fetch how far a log reaches.

A fetch and its response, with at most one entry, are one step. If the response is lost, the step changes only what the
leader knows. These two kinds of steps leave out no behaviour: a follower has one fetch in flight, drops the response if
its epoch has changed meanwhile, and does nothing else with its log.
"""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.log import append_entry, cut_log
from isrcheck.models.quorum.state import (
    Replica,
    Role,
    Voter,
    become_follower,
    can_reach,
    commit,
    committed_end_offset,
    follows,
    is_leader,
    last_epoch,
)


def end_offset_for_epoch(s, r, epoch):
    """The offset after the last entry of `epoch` or an earlier epoch. Kafka: LeaderEpochFileCache.endOffsetFor."""
    return sum(1 for offset in range(s.log_size) if offset < s.log_end_offset[r] and s.log_epoch[r][offset] <= epoch)


def epoch_before(s, r, end_offset):
    """The epoch of the entry just below `end_offset`; NONE if `end_offset` is 0."""
    return s.log_epoch[r][end_offset - 1] if end_offset > 0 else NONE


def is_diverging(s, leader, follower):
    """The follower's last fetched epoch and its fetch offset do not match the leader's log: the logs diverge.

    The leader's log lacks this epoch, or ends this epoch before this offset. Kafka: validateFetchOffsetAndEpoch.
    """
    return (
        epoch_before(s, leader, end_offset_for_epoch(s, leader, last_epoch(s, follower))) != last_epoch(s, follower)
        or end_offset_for_epoch(s, leader, last_epoch(s, follower)) < s.log_end_offset[follower]
    )


def can_fetch(s, follower, leader):
    return (
        is_leader(s, leader) and leader != follower and can_reach(s, leader, follower) and follows(s, follower, leader)
    )


def leader_learns_of_fetch(s, leader, follower):
    """The leader learns that the follower has the entries below the fetch offset. Kafka: updateReplicaState."""
    s.match_offset[leader][follower] = s.log_end_offset[follower]
    commit(s, leader, committed_end_offset(s, leader))


@action
def only_voter_commits(s, leader: Voter):
    """A leader that is the only voter commits its whole log, since it alone is a majority. With more voters, only
    fetches raise the high watermark.

    Kafka: LeaderState.updateLocalState.
    """
    require(len(Voter) == 1)
    require(is_leader(s, leader))
    require(s.high_watermark[leader] < s.log_end_offset[leader])
    commit(s, leader, committed_end_offset(s, leader))


@action(shows="{follower} from {leader}")
def follower_fetches(s, follower: Replica, leader: Voter):
    require(can_fetch(s, follower, leader))
    require(not is_diverging(s, leader, follower))
    leader_learns_of_fetch(s, leader, follower)
    follower_applies_response(s, leader, follower)


def follower_applies_response(s, leader, follower):
    """The follower appends the next entry, if any, and adopts the leader's high watermark up to its own log end."""
    offset = s.log_end_offset[follower]
    if offset < s.log_end_offset[leader]:
        append_entry(s, follower, s.log_record[leader][offset], s.log_epoch[leader][offset])
    s.high_watermark[follower] = max(
        s.high_watermark[follower], min(s.high_watermark[leader], s.log_end_offset[follower])
    )


@action(shows="{follower} from {leader}")
def follower_fetches_and_response_is_lost(s, follower: Replica, leader: Voter):
    require(can_fetch(s, follower, leader))
    require(not is_diverging(s, leader, follower))
    require(s.match_offset[leader][follower] != s.log_end_offset[follower])
    leader_learns_of_fetch(s, leader, follower)


@action(shows="{follower} from {leader}")
def follower_truncates(s, follower: Replica, leader: Voter):
    """The response has a diverging epoch and its end offset: the follower cuts its log there, and fetches again.

    Kafka: ReplicatedLog.truncateToEndOffset. This may take several rounds, one for each epoch that the leader lacks.
    """
    require(can_fetch(s, follower, leader))
    require(is_diverging(s, leader, follower))
    truncate_to(
        s,
        follower,
        end_offset_for_epoch(s, leader, last_epoch(s, follower)),
        epoch_before(s, leader, end_offset_for_epoch(s, leader, last_epoch(s, follower))),
    )


def truncate_to(s, follower, end_offset, epoch):
    """Keep the entries of epochs before `epoch`, and those of `epoch`, the diverging epoch, below `end_offset`."""
    if epoch_before(s, follower, end_offset_for_epoch(s, follower, epoch)) == epoch:
        cut_log(s, follower, min(end_offset, end_offset_for_epoch(s, follower, epoch)))
    else:
        cut_log(s, follower, end_offset_for_epoch(s, follower, epoch))


@action(shows="{sender} from {other}")
def sender_learns_of_epoch(s, sender: Voter, other: Replica):
    """A voter that asks for votes learns of a later epoch from an answer, and becomes a follower in that epoch.

    A leader asks nobody: it learns only from requests, and is a zombie leader until then (KIP-595, Leader Progress
    Timeout). Left out: answers to BeginQuorumEpoch, which since KIP-853 is repeated to voters that do not fetch.
    """
    require(s.role[sender] == Role.CANDIDATE or s.role[sender] == Role.PROSPECTIVE)
    require(can_reach(s, sender, other))
    require(s.epoch[other] > s.epoch[sender])
    become_follower(s, sender, s.epoch[other], NONE)
