"""What a cut of the network takes away: which reads miss earlier records, and which clients still get answers.

One partition on a few brokers, a controller, and two clients, which write and read. A cut puts every broker and client
on the controller's side or on the other side; nothing passes between the sides until the network heals. A leader that
is cut off from the controller does not know that it was replaced: it still commits entries that its whole ISR has.

A read returns a log from its start to the high watermark: the leader's log or, with FOLLOWER_READS (KIP-392), a
follower's. Where such a read returns fewer records than before, a real consumer, which keeps its position, would wait.
A read is one step, so it is linearizable if it has every record that was acknowledged before, and every record that
anybody has read before. Kafka: ReplicaManager.appendRecords and fetchMessages, Partition.maybeIncrementLeaderHW,
PartitionStateMachine, KIP-392.

Left out: messages in flight, which the other models have; here a follower fetches an entry and confirms it to its
leader in one step, and the controller tells everybody on its side at once. Brokers do not fail.
"""

from enum import IntEnum

from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    Subset,
    action,
    always,
    between,
    bound,
    budget,
    contradiction,
    field,
    initial,
    leads_to,
    optional,
    require,
    setting,
    sometimes,
    switch,
    terminal,
)
from isrcheck.models.log import append_entry, cut_log, has_entry, same_entry


class Acks(IntEnum):
    ZERO = 0
    ONE = 1
    ALL = 2


class Configuration:
    replicas = bound(3, "brokers, each with a replica", least=2, most=5, option="--replicas")
    records = bound(2, "records that are written", least=1, most=3, option="--records")
    log_size = bound(2, "entries that a log can hold", least=1, most=3)
    acks = setting(Acks.ALL, "acks of the producers", values=Acks, option="--acks")
    min_insync_replicas = setting(2, "min.insync.replicas", least=1, most=5, option="--min-insync-replicas")
    unclean_elections = budget(
        0, "elections of a replica outside the ISR", shapes=True, most=3, option="--unclean-elections"
    )
    cuts = budget(1, "cuts of the network", shapes=True, most=3, option="--cuts")
    elections = budget(1, "elections", shapes=True, most=3, option="--elections")
    HW_MINISR_GATE = switch(True, "nothing is committed while the ISR is too small (3.7)")
    FOLLOWER_READS = switch(False, "clients read from followers as well (KIP-392)")


class Replica(Domain, size="replicas"):
    pass


class Offset(Domain, size="log_size"):
    pass


class Record(Domain, size="records", letters=True):
    pass


class Client(Domain, size=2):
    pass


class Brokers(Subset, of=Replica):
    pass


class Clients(Subset, of=Client):
    pass


class State:
    log_record = field(Replica, Offset, values=optional(Record), initially=NONE)
    log_epoch = field(Replica, Offset, values=between(-1, "elections"), initially=NONE)
    log_end_offset = field(Replica, values=between(0, "log_size"))
    high_watermark = field(Replica, values=between(0, "log_size"))
    leads = field(Replica, values=Flag)  # the broker believes that it is the leader
    leader_epoch = field(Replica, values=between(0, "elections"))
    isr = field(Replica, Replica, values=Flag)  # in the view of a broker that leads
    controller_leader = field(values=Replica)
    controller_epoch = field(values=between(0, "elections"))
    controller_isr = field(Replica, values=Flag, initially=True)
    is_cut = field(values=Flag)
    is_away = field(Replica, values=Flag)  # on the other side than the controller
    client_is_away = field(Client, values=Flag)
    written_to = field(Record, values=optional(Replica), initially=NONE)  # the leader that has to answer
    writer = field(Record, values=optional(Client), initially=NONE)
    is_acknowledged = field(Record, values=Flag)
    has_seen = field(Client, Record, values=Flag)
    next_record = field(values=between(0, "records"))
    cuts_so_far = field(values=between(0, "cuts"))
    unclean_so_far = field(values=between(0, "unclean_elections"))
    misses_acknowledged = field(values=Flag)  # the last read had not every acknowledged record
    misses_seen = field(values=Flag)  # nor every record that somebody has read
    misses_own = field(values=Flag)  # nor every acknowledged record of its reader
    goes_back = field(values=Flag)  # nor every record that its reader has read


@contradiction
def more_in_sync_than_replicas(c):
    """min_insync_replicas is above the number of replicas; give a smaller number, or more replicas."""
    return c.min_insync_replicas > c.replicas


@initial
def leader_with_all_replicas_in_sync(s, leader: Replica):
    """Initially, replica 0 leads, and all replicas are in its ISR; 0 stands for any replica, since all are alike."""
    require(leader == 0)
    s.leads[leader] = True
    for member in range(s.replicas):
        s.isr[leader][member] = True


# ---------------------------------------------------------------------------------------------------------- vocabulary


def are_together(s, a, b):
    return s.is_away[a] == s.is_away[b]


def reaches(s, client, broker):
    return s.client_is_away[client] == s.is_away[broker]


def hears(s, r, leader):
    """The client that wrote record `r` is on the same side of the cut as `leader`, so it gets the leader's answer."""
    return s.writer[r] != NONE and reaches(s, s.writer[r], leader)


def isr_size(s, leader):
    return sum(1 for member in range(s.replicas) if s.isr[leader][member])


def is_shown(s, broker, record):
    """The log of `broker` has `record` below the broker's high watermark, where clients can read it."""
    return any(
        offset < s.high_watermark[broker] and s.log_record[broker][offset] == record for offset in range(s.log_size)
    )


def follows(s, follower, leader):
    """`follower` does not lead, is in the epoch of `leader`, and is on the same side of the cut as `leader`."""
    return (
        follower != leader
        and s.leads[leader]
        and not s.leads[follower]
        and s.leader_epoch[follower] == s.leader_epoch[leader]
        and are_together(s, leader, follower)
    )


def common_end(s, a, b):
    """The first offset at which the logs of brokers `a` and `b` differ, or at which one of them ends."""
    return sum(
        1
        for offset in range(s.log_size)
        if all(same_entry(s, a, b, below) for below in range(s.log_size) if below <= offset)
    )


def write_isr(s, leader, member, is_in):
    s.isr[leader][member] = is_in
    s.controller_isr[member] = is_in


# ---------------------------------------------------------------------------------------------------------- the network


@action
def network_is_cut(s, away: Brokers, clients_away: Clients):
    """A cut begins: `away` and `clients_away` are the brokers and clients that it separates from the controller."""
    require(not s.is_cut)
    require(s.cuts_so_far < s.cuts)
    require(any(away[broker] for broker in range(s.replicas)))
    s.cuts_so_far += 1
    s.is_cut = True
    for broker in range(s.replicas):
        s.is_away[broker] = away[broker]
    for client in range(2):
        s.client_is_away[client] = clients_away[client]


@action
def network_heals(s):
    require(s.is_cut)
    s.is_cut = False
    for broker in range(s.replicas):
        s.is_away[broker] = False
    for client in range(2):
        s.client_is_away[client] = False


# ----------------------------------------------------------------------------------------------------------- the writer


@action
def client_writes(s, client: Client, broker: Replica):
    """A client sends the next record to a broker that believes it is the leader, and the broker appends the record."""
    require(s.next_record < s.records)
    require(reaches(s, client, broker))
    require(s.leads[broker])
    require(s.log_end_offset[broker] < s.log_size)
    require(s.acks != Acks.ALL or isr_size(s, broker) >= s.min_insync_replicas)
    s.written_to[s.next_record] = broker
    s.writer[s.next_record] = client
    s.is_acknowledged[s.next_record] = s.acks != Acks.ALL
    append_entry(s, broker, s.next_record, s.leader_epoch[broker])
    s.next_record += 1


@action
def client_writes_in_vain(s, client: Client, broker: Replica):
    """With acks=0, a client cut off from the leader sends a record, which is lost but counts as written."""
    require(s.acks == Acks.ZERO)
    require(s.next_record < s.records)
    require(s.controller_leader == broker)
    require(not reaches(s, client, broker))
    s.writer[s.next_record] = client
    s.is_acknowledged[s.next_record] = True
    s.next_record += 1


# ----------------------------------------------------------------------------------------------------------- the leader


@action(fair="follower")
def follower_fetches(s, leader: Replica, follower: Replica):
    """The follower cuts its log where the leader's differs, appends the next entry, and takes the high watermark."""
    require(follows(s, follower, leader))
    require(
        common_end(s, leader, follower) < s.log_end_offset[leader]
        or s.log_end_offset[follower] > s.log_end_offset[leader]
        or s.high_watermark[follower] < s.high_watermark[leader]
    )
    cut_log(s, follower, common_end(s, leader, follower))
    if s.log_end_offset[follower] < s.log_end_offset[leader]:
        offset = s.log_end_offset[follower]
        append_entry(s, follower, s.log_record[leader][offset], s.log_epoch[leader][offset])
    s.high_watermark[follower] = min(s.high_watermark[leader], s.log_end_offset[follower])


@action(fair=True)
def leader_commits_entry(s, leader: Replica):
    """The leader raises the high watermark over an entry that every member of the ISR has. Clients now see the entry,
    and its producer gets an answer, which is an error if the ISR has become too small."""
    require(s.leads[leader])
    require(has_entry(s, leader, s.high_watermark[leader]))
    require(not s.HW_MINISR_GATE or isr_size(s, leader) >= s.min_insync_replicas)
    require(
        all(
            follows(s, member, leader) and same_entry(s, leader, member, s.high_watermark[leader])
            for member in range(s.replicas)
            if s.isr[leader][member] and member != leader
        )
    )
    record = s.log_record[leader][s.high_watermark[leader]]
    s.high_watermark[leader] += 1
    if s.written_to[record] == leader:
        s.written_to[record] = NONE
        if isr_size(s, leader) >= s.min_insync_replicas and hears(s, record, leader):
            s.is_acknowledged[record] = True


@action
def leader_shrinks_isr(s, leader: Replica, follower: Replica):
    """The leader removes from the ISR a follower that has fallen behind. The controller accepts this only from the
    present leader, in the present epoch."""
    require(s.leads[leader] and not s.is_away[leader])
    require(s.controller_leader == leader and s.controller_epoch == s.leader_epoch[leader])
    require(follower != leader and s.isr[leader][follower])
    require(not follows(s, follower, leader) or s.log_end_offset[follower] < s.log_end_offset[leader])
    write_isr(s, leader, follower, False)


def epoch_start(s, leader):
    """The end offset that the leader's log had when the leader was elected."""
    return sum(
        1
        for offset in range(s.log_size)
        if has_entry(s, leader, offset) and s.log_epoch[leader][offset] < s.leader_epoch[leader]
    )


@action
def leader_expands_isr(s, leader: Replica, follower: Replica):
    """The leader adds to the ISR a follower that has all committed entries, and all entries that the leader had when it
    was elected; the follower may lack later entries."""
    require(s.leads[leader] and not s.is_away[leader])
    require(s.controller_leader == leader and s.controller_epoch == s.leader_epoch[leader])
    require(not s.isr[leader][follower])
    require(follows(s, follower, leader))
    require(common_end(s, leader, follower) >= max(s.high_watermark[leader], epoch_start(s, leader)))
    write_isr(s, leader, follower, True)


# ------------------------------------------------------------------------------------------------------- the controller


def controller_appoints(s, leader):
    """The controller makes `leader` the leader of a new epoch; every broker on the controller's side learns this."""
    s.controller_leader = leader
    s.controller_epoch += 1
    for broker in range(s.replicas):
        if not s.is_away[broker]:
            learn_leader(s, broker)


def learn_leader(s, broker):
    """The broker learns of the new leader; a producer that waits at the broker gets an error (DelayedProduce)."""
    for r in range(s.records):
        if s.written_to[r] == broker:
            s.written_to[r] = NONE
    s.leader_epoch[broker] = s.controller_epoch
    s.leads[broker] = s.controller_leader == broker
    for member in range(s.replicas):
        s.isr[broker][member] = s.leads[broker] and s.controller_isr[member]


@action
def controller_elects(s, elected: Replica):
    """The cut separates the leader from the controller, which elects an ISR member on the controller's own side."""
    require(s.controller_epoch < s.elections)
    require(s.is_away[s.controller_leader])
    require(s.controller_isr[elected] and not s.is_away[elected])
    s.controller_isr[s.controller_leader] = False
    controller_appoints(s, elected)


@action
def controller_elects_uncleanly(s, elected: Replica):
    """No member of the ISR is on the controller's side: the controller elects a broker outside the ISR."""
    require(s.controller_epoch < s.elections)
    require(s.unclean_so_far < s.unclean_elections)
    require(all(s.is_away[member] for member in range(s.replicas) if s.controller_isr[member]))
    require(not s.is_away[elected])
    s.unclean_so_far += 1
    for member in range(s.replicas):
        s.controller_isr[member] = member == elected
    controller_appoints(s, elected)


@action(fair="broker")
def broker_learns_leader(s, broker: Replica):
    """A broker that the cut no longer separates from the controller learns which leader the controller has elected."""
    require(not s.is_away[broker])
    require(s.leader_epoch[broker] < s.controller_epoch)
    learn_leader(s, broker)


# ---------------------------------------------------------------------------------------------------------- the readers


@action
def client_reads(s, client: Client, broker: Replica):
    """A client reads the records below a broker's high watermark: a leader's or, with FOLLOWER_READS, any broker's."""
    require(reaches(s, client, broker))
    require(s.leads[broker] or s.FOLLOWER_READS)
    s.misses_acknowledged = any(s.is_acknowledged[r] and not is_shown(s, broker, r) for r in range(s.records))
    s.misses_seen = any(
        s.has_seen[other][r] and not is_shown(s, broker, r) for other in range(2) for r in range(s.records)
    )
    s.misses_own = any(
        s.is_acknowledged[r] and s.writer[r] == client and not is_shown(s, broker, r) for r in range(s.records)
    )
    s.goes_back = any(s.has_seen[client][r] and not is_shown(s, broker, r) for r in range(s.records))
    for r in range(s.records):
        if is_shown(s, broker, r):
            s.has_seen[client][r] = True


@terminal
def everything_is_written(s):
    """Writes, cuts and elections are limited in number, so a behaviour may end in every state."""
    return True


# ----------------------------------------------------------------------------------------------------------- properties


def promises_nothing(s):
    return s.acks != Acks.ALL or s.unclean_so_far > 0


@always(permitted=promises_nothing)
def acked_not_lost(s):
    """The broker that the controller regards as the leader has every acknowledged record in its log."""
    return all(
        not s.is_acknowledged[r] or any(s.log_record[s.controller_leader][offset] == r for offset in range(s.log_size))
        for r in range(s.records)
    )


@always
def linearizable_read(s):
    """A read has every record that was acknowledged before it, and every record that anybody has read before it."""
    return not s.misses_acknowledged and not s.misses_seen


@always
def read_your_writes(s):
    """A client that reads gets all its own records that were acknowledged."""
    return not s.misses_own


@always
def monotonic_reads(s):
    """A client that reads gets every record that it has read before."""
    return not s.goes_back


def waits(s, r):
    """Record `r` awaits its acknowledgement; no cut separates the leader from the client or from an ISR member."""
    return (
        s.acks == Acks.ALL
        and s.written_to[r] != NONE
        and s.leads[s.written_to[r]]
        and isr_size(s, s.written_to[r]) >= s.min_insync_replicas
        and hears(s, r, s.written_to[r])
        and any(s.log_record[s.written_to[r]][offset] == r for offset in range(s.log_size))
        and all(
            member == s.written_to[r] or follows(s, member, s.written_to[r])
            for member in range(s.replicas)
            if s.isr[s.written_to[r]][member]
        )
    )


def some_request_waits(s):
    return any(waits(s, r) for r in range(s.records))


@leads_to(when=some_request_waits)
def requests_are_answered(s):
    """A client's write is eventually answered if no cut separates the leader from its ISR or from the client."""
    return not some_request_waits(s)


def is_answered(before, after, is_away):
    return before.is_cut and any(
        after.is_acknowledged[r]
        and not before.is_acknowledged[r]
        and max(before.written_to[r], after.written_to[r]) != NONE
        and before.is_away[max(before.written_to[r], after.written_to[r])] == is_away
        for r in range(before.records)
    )


@sometimes(applies=lambda c: c.cuts > 0)
def a_write_is_acknowledged_beside_the_controller(before, after):
    """During the cut, a leader on the controller's side acknowledges a write."""
    return is_answered(before, after, False)


@sometimes(applies=lambda c: c.cuts > 0)
def a_write_is_acknowledged_away_from_the_controller(before, after):
    """During the cut, a leader on the side without the controller acknowledges a write."""
    return is_answered(before, after, True)
