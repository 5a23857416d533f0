"""The common part of the five published replication models: state, vocabulary, actions and properties.

A translation of the public TLA+ specification `hachikuji/kafka-specification` (KafkaReplication.tla), written by Kafka
committers. One partition; a quorum (the controller) that never fails; LeaderAndIsr requests that are never lost, can
reach each replica at any time, and can be skipped. As in the original, not modelled: messages of a fetch (a follower
copies one entry in one step), crashes, clients, acknowledgements. Each other module here is one protocol generation.
"""

from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    action,
    always,
    between,
    bound,
    field,
    optional,
    require,
    terminal,
)
from isrcheck.models.log import append_entry, cut_log, has_entry, logs_match, same_entry


class Configuration:
    replicas = bound(3, "replicas of the partition", least=1, option="--replicas")
    log_size = bound(2, "entries that a log can hold", least=1, option="--log-size")
    records = bound(2, "records that can be written", least=1, option="--records")
    max_epoch = bound(2, "largest leader epoch", least=0, option="--max-epoch")


class Replica(Domain, size="replicas"):
    pass


class Offset(Domain, size="log_size"):
    pass


class Record(Domain, size="records", letters=True):
    pass


class LeaderEpoch(Domain, size=lambda configuration: configuration.max_epoch + 1):
    pass


class State:
    log_record = field(Replica, Offset, values=optional(Record), initially=NONE)
    log_epoch = field(Replica, Offset, values=optional(LeaderEpoch), initially=NONE)
    log_end_offset = field(Replica, values=between(0, "log_size"))
    high_watermark = field(Replica, values=between(0, "log_size"))
    leader_epoch = field(Replica, values=optional(LeaderEpoch), initially=NONE)
    leader = field(Replica, values=optional(Replica), initially=NONE)
    isr = field(Replica, Replica, values=Flag)
    quorum_leader = field(values=optional(Replica), initially=NONE)
    quorum_epoch = field(values=optional(LeaderEpoch), initially=NONE)
    quorum_isr = field(Replica, values=Flag, initially=True)
    next_record = field(values=between(0, "records"))
    next_epoch = field(values=between(0, lambda configuration: configuration.max_epoch + 1))
    request_leader = field(LeaderEpoch, values=optional(Replica), initially=NONE)
    request_isr = field(LeaderEpoch, Replica, values=Flag)


def presumes_leadership(s, r):
    return s.leader[r] == r


def follows(s, follower, leader):
    return s.leader[follower] == leader


def is_true_leader(s, r):
    """Replica `r` presumes leadership, and for the quorum, too, `r` is the leader, in the same epoch."""
    return presumes_leadership(s, r) and s.quorum_leader == r and s.quorum_epoch == s.leader_epoch[r]


def is_caught_up_to(s, leader, follower, end_offset):
    """`follower` follows `leader`, and both have an entry (equal or not) just below `end_offset`, unless it is 0."""
    return follows(s, follower, leader) and (
        end_offset == 0 or (has_entry(s, leader, end_offset - 1) and has_entry(s, follower, end_offset - 1))
    )


def quorum_writes_leader(s, leader):
    """The quorum starts a new epoch with this leader and the current ISR, and sends a request to the replicas."""
    s.quorum_leader = leader
    s.quorum_epoch = s.next_epoch
    s.request_leader[s.next_epoch] = leader
    for r in range(s.replicas):
        s.request_isr[s.next_epoch][r] = s.quorum_isr[r]
    s.next_epoch += 1


def adopt_request(s, r, epoch):
    s.leader_epoch[r] = epoch
    s.leader[r] = s.request_leader[epoch]
    for member in range(s.replicas):
        s.isr[r][member] = s.request_isr[epoch][member]


@action
def controller_shrinks_isr(s, r: Replica):
    """The controller removes a replica from the ISR. The last member stays, but the partition then has no leader."""
    require(s.next_epoch <= s.max_epoch)
    require(s.quorum_leader == r or s.quorum_isr[r])
    if s.quorum_leader != r:
        s.quorum_isr[r] = False
        quorum_writes_leader(s, s.quorum_leader)
    else:
        if any(s.quorum_isr[other] for other in range(s.replicas) if other != r):
            s.quorum_isr[r] = False
        quorum_writes_leader(s, NONE)


@action
def controller_elects_leader(s, r: Replica):
    require(s.next_epoch <= s.max_epoch)
    require(s.quorum_isr[r])
    require(s.quorum_leader != r)
    quorum_writes_leader(s, r)


@action
def become_leader(s, request: LeaderEpoch):
    """A replica learns that it is the leader; its log and its high watermark stay unchanged."""
    require(names_leader(s, request))
    require(request > s.leader_epoch[s.request_leader[request]])
    adopt_request(s, s.request_leader[request], request)


@action
def leader_writes(s, leader: Replica):
    require(presumes_leadership(s, leader))
    require(s.next_record < s.records)
    require(s.log_end_offset[leader] < s.log_size)
    append_entry(s, leader, s.next_record, s.leader_epoch[leader])
    s.next_record += 1


def leader_writes_isr(s, leader, r, is_member):
    """The leader and the quorum add replica `r` to the ISR or remove it; the leader epoch stays."""
    s.isr[leader][r] = is_member
    for member in range(s.replicas):
        s.quorum_isr[member] = s.isr[leader][member]


@action
def leader_shrinks_isr(s, leader: Replica, r: Replica):
    require(is_true_leader(s, leader))
    require(leader != r)
    require(s.isr[leader][r])
    require(not is_caught_up_to(s, leader, r, s.log_end_offset[leader]))
    leader_writes_isr(s, leader, r, False)


@action
def leader_expands_isr(s, leader: Replica, r: Replica):
    require(is_true_leader(s, leader))
    require(not s.isr[leader][r])
    require(is_caught_up_to(s, leader, r, s.high_watermark[leader]))
    leader_writes_isr(s, leader, r, True)


@action
def leader_raises_high_watermark(s, leader: Replica):
    """One more entry is committed once each member of the leader's own view of the ISR holds an entry at its offset."""
    require(presumes_leadership(s, leader))
    require(s.high_watermark[leader] < s.log_size)
    require(
        all(
            follows(s, member, leader) and has_entry(s, member, s.high_watermark[leader])
            for member in range(s.replicas)
            if s.isr[leader][member]
        )
    )
    s.high_watermark[leader] += 1


def names_leader(s, request):
    """The request was sent, and it names a leader: a request that names none makes no replica a follower."""
    return s.request_leader[request] != NONE


def may_become_follower(s, request, r):
    return s.request_leader[request] != r and request > s.leader_epoch[r]


def become_follower_at(s, request, r, end_offset):
    cut_log(s, r, end_offset)
    s.high_watermark[r] = min(s.high_watermark[r], end_offset)
    adopt_request(s, r, request)


def replicate_entry(s, leader, follower):
    """Copy the next entry, and adopt the leader's high watermark as far as the follower's log reaches."""
    offset = s.log_end_offset[follower]
    append_entry(s, follower, s.log_record[leader][offset], s.log_epoch[leader][offset])
    s.high_watermark[follower] = min(s.high_watermark[leader], s.log_end_offset[follower])


@action
def follower_replicates(s, leader: Replica, follower: Replica):
    require(presumes_leadership(s, leader))
    require(leader != follower)
    require(follows(s, follower, leader))
    require(has_entry(s, leader, s.log_end_offset[follower]))
    replicate_entry(s, leader, follower)


@terminal
def epochs_are_used_up(s):
    """The quorum can start no further epoch; every other state has a step (TLC ran with -deadlock)."""
    return s.next_epoch > s.max_epoch


@always
def weak_isr(s):
    """Every member of a presumed leader's view of the ISR holds everything that this leader has exposed."""
    return all(
        same_entry(s, a, b, offset)
        for a in range(s.replicas)
        if presumes_leadership(s, a)
        for b in range(s.replicas)
        if s.isr[a][b]
        for offset in range(s.log_size)
        if offset < s.high_watermark[a]
    )


@always
def strong_isr(s):
    """Every member of the quorum's ISR holds all entries below the high watermark of any presumed leader."""
    return all(
        same_entry(s, a, b, offset)
        for a in range(s.replicas)
        if presumes_leadership(s, a)
        for b in range(s.replicas)
        if s.quorum_isr[b]
        for offset in range(s.log_size)
        if offset < s.high_watermark[a]
    )


@always
def leader_in_isr(s):
    """The quorum's leader is in the quorum's ISR. The property is false initially, when there is no leader."""
    return any(s.quorum_isr[r] for r in range(s.replicas) if s.quorum_leader == r)


@always
def log_matching(s):
    """Replicas with the same epoch at an offset have the same entries up to that offset."""
    return logs_match(s)


@always
def epoch_monotone(s):
    """Epochs never decrease along a log."""
    return all(
        s.log_epoch[r][offset - 1] <= s.log_epoch[r][offset]
        for r in range(s.replicas)
        for offset in range(1, s.log_size)
        if has_entry(s, r, offset)
    )
