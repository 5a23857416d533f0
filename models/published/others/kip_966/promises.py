"""KIP-966, how it starts, and the safety properties of its model file, with their names there."""

from isrcheck.models.language import NONE, always, initial, sometimes, terminal
from isrcheck.models.published.others.kip_966.state import (
    Broker,
    Offset,
    Role,
    Status,
    Value,
    has_value,
    is_current_leader,
    isr_size,
    leader_of,
    waits_for_the_controller,
)


def starts_in_isr(s, b):
    return b < s.initial_isr


@initial
def broker_0_leads(s):
    """A partition that works. Replicas outside the initial ISR are fenced, and have not learned that they left it."""
    stale = 1
    current = 1 if s.initial_isr == s.brokers else 2
    s.partition_epoch = current
    s.record_leader[stale] = 0
    s.record_leader_epoch[stale] = 1
    s.record_leader[current] = 0
    s.record_leader_epoch[current] = 1
    s.role[0] = Role.LEADER
    s.epoch_start[0] = 0
    for b in Broker:
        s.record_isr[stale][b] = True
    for b in Broker:
        s.record_isr[current][b] = starts_in_isr(s, b)
        s.is_unfenced[b] = starts_in_isr(s, b)
        s.known_epoch[b] = current if starts_in_isr(s, b) else stale
        s.position[b] = current if starts_in_isr(s, b) else current - 1
        for member in Broker:
            s.maximal_isr[b][member] = starts_in_isr(s, member) or not starts_in_isr(s, b)
        if b != 0:
            s.role[b] = Role.FOLLOWER
            s.is_added[b][0] = True


@terminal
def faults_are_used_up(s):
    """Only then can it be that no step is left (TLC ran with -deadlock)."""
    return (
        s.lossless_shutdowns_so_far == s.lossless_shutdowns
        and s.lossy_shutdowns_so_far == s.lossy_shutdowns
        and s.fencings_so_far == s.fencings
    )


@always
def leader_completeness(s):
    """LeaderCompletenessProperty: a leader that runs has every record that was committed or acknowledged."""
    return (
        s.true_high_watermark == 0
        or leader_of(s) == NONE
        or s.status[leader_of(s)] != Status.RUNNING
        or (
            s.log_end[leader_of(s)] >= s.true_high_watermark
            and all(not s.is_acknowledged[value] or has_value(s, leader_of(s), value) for value in Value)
        )
    )


@always
def leader_candidate_completeness(s):
    """LeaderCandidateCompletenessProperty: so has every member of the ISR and the ELR that runs."""
    return not any(
        s.log_end[b] < s.true_high_watermark
        and s.status[b] == Status.RUNNING
        and (s.record_isr[s.partition_epoch][b] or s.record_elr[s.partition_epoch][b])
        for b in Broker
    )


def has_superset(s, b):
    return all(
        s.maximal_isr[b][member]
        for member in Broker
        if s.record_isr[s.partition_epoch][member] or s.record_elr[s.partition_epoch][member]
    )


@always
def replication_quorum_superset(s):
    """ReplicationQuorumSupersetProperty: the leader waits for everyone who can be elected."""
    return all(
        not is_current_leader(s, b)
        or (
            (
                waits_for_the_controller(s, b)
                or all(s.maximal_isr[b][member] == s.record_isr[s.known_epoch[b]][member] for member in Broker)
            )
            and (isr_size(s, s.known_epoch[b]) < s.min_isr or has_superset(s, b))
        )
        for b in Broker
    )


@always
def log_matching(s):
    """LogMatchingProperty: below both high watermarks, logs are equal."""
    return not any(
        s.log_end[a] > offset
        and s.log_end[b] > offset
        and s.high_watermark[a] > offset
        and s.high_watermark[b] > offset
        and s.log_value[a][offset] != s.log_value[b][offset]
        for offset in Offset
        for a in Broker
        for b in Broker
    )


@always
def consistent_read(s):
    """ConsistentReadProperty: what a consumer has read is in the log of every leader that is not stale."""
    return all(
        s.log_epoch[b][offset] == s.consumed_epoch[offset] and s.log_value[b][offset] == s.consumed_value[offset]
        for b in Broker
        if is_current_leader(s, b)
        for offset in Offset
        if offset < s.true_high_watermark
    )


@always
def min_isr_recovery_quorum(s):
    """MinIsrRecoveryQuorum: without ISR and ELR, as many replicas as the minimum are the last hope."""
    return (
        any(s.record_isr[s.partition_epoch][b] or s.record_elr[s.partition_epoch][b] for b in Broker)
        or sum(1 for b in Broker if s.record_last_known_elr[s.partition_epoch][b]) == s.min_isr
    )


@always
def no_committed_record_lost_globally(s):
    """NoCommittedRecordLostGlobally: some replica has each acknowledged record; not with min_isr lossy shutdowns."""
    return all(not s.is_acknowledged[value] or any(has_value(s, b, value) for b in Broker) for value in Value)


@sometimes
def a_record_is_acknowledged(s):
    return any(s.is_acknowledged[value] for value in Value)


@sometimes
def an_eligible_replica_exists(s):
    return any(s.record_elr[s.partition_epoch][b] for b in Broker)
