"""Commits and acknowledgements of records."""

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state.broker.caught_up import begin_to_wait, holds_back
from isrcheck.models.kafka.state.broker.min_isr import effective_min_insync_replicas
from isrcheck.models.kafka.state.broker.roles import enter_epoch, isr_size
from isrcheck.models.kafka.state.clients.readers import expose
from isrcheck.models.kafka.state.clients.sequences import hear_of_offset
from isrcheck.models.kafka.state.values import IsrChannel, MaximalIsr
from isrcheck.models.language import NONE


def has_enough_replicas(s, leader):
    """The leader's committed ISR has at least min.insync.replicas members."""
    return isr_size(s, leader) >= effective_min_insync_replicas(s, leader)


def has_proposed(s, leader):
    """A change of the ISR is pending."""
    return s.ISR_CHANNEL == IsrChannel.ALTER_PARTITION and any(s.proposed_isr[leader][r] for r in range(s.replicas))


def is_in_maximal_isr(s, leader, r):
    """The replica is in the committed ISR or, while a change is pending, in the proposed one: it may be elected."""
    if s.ISR_CHANNEL == IsrChannel.ZK or s.MAXIMAL_ISR == MaximalIsr.COMMITTED:
        return s.isr[leader][r]
    if s.MAXIMAL_ISR == MaximalIsr.PROPOSED and has_proposed(s, leader):
        return s.proposed_isr[leader][r]
    return s.isr[leader][r] or s.proposed_isr[leader][r]


def has_enough_counted_replicas(s, leader):
    """The maximal ISR has at least min.insync.replicas members."""
    return sum(1 for r in range(s.replicas) if is_in_maximal_isr(s, leader, r)) >= effective_min_insync_replicas(
        s, leader
    )


def waits_for_more(s, leader, record):
    """The record, or a copy of it that was sent again, is not yet below the leader's high watermark."""
    return any(
        s.log_record[leader][offset] == record for offset in range(s.log_size) if offset >= s.high_watermark[leader]
    )


def answer_producers(s, leader):
    """The leader answers produce requests below the high watermark: success, or NOT_ENOUGH_REPLICAS_AFTER_APPEND."""
    for record in range(s.records):
        if s.pending[record] == leader and not waits_for_more(s, leader, record):
            s.pending[record] = NONE
            if has_enough_counted_replicas(s, leader):
                s.acknowledged[record] = True
                hear_of_offset(s, leader, record)


def advance_high_watermark(s, leader):
    """The high watermark rises to the offset that every member of the leader's maximal ISR is known to have reached; it
    never falls.

    Since 3.7 it waits until the committed ISR has min.insync.replicas members. Kafka: Partition.maybeIncrementLeaderHW.
    With HW_WAIT, caught-up replicas outside the ISR also hold it back; without it, any of them may be slow, and they do
    not. An unknown offset (-1) stops it.
    """
    held_by_all = s.log_end_offset[leader]
    for r in range(s.replicas):
        if r != leader and (is_in_maximal_isr(s, leader, r) or holds_back(s, leader, r)):
            held_by_all = min(held_by_all, s.remote_log_end_offset[leader][r])
    if held_by_all > s.high_watermark[leader] and (not s.HW_MINISR_GATE or has_enough_replicas(s, leader)):
        s.high_watermark[leader] = held_by_all
        expose(s, leader)
        answer_producers(s, leader)


def begin_to_lead(s, leader):
    """A leader enters its epoch with its own high watermark, if that lies within its log.

    Otherwise, a broker that did not lead before starts from its log start offset. Records below the high watermark can
    be read; the high watermark advances at once if the leader is alone in the ISR. Kafka: Partition.makeLeader,
    Replica.convertHWToLocalOffsetMetadata.
    """
    if not s.log_start_offset[leader] <= s.high_watermark[leader] <= s.log_end_offset[leader]:
        s.high_watermark[leader] = s.log_start_offset[leader]
    enter_epoch(s, leader)
    begin_to_wait(s, leader)
    expose(s, leader)
    advance_high_watermark(s, leader)


def note_append(s, leader, record):
    """Record what the producer waits for after an append: with acks=all the high watermark, otherwise nothing."""
    if s.acks == Acks.ALL:
        s.pending[record] = leader
    else:
        s.acknowledged[record] = True
