"""Commits and acknowledgements of records."""

from isrcheck.models.kafka.state.fields import Acks
from isrcheck.models.kafka.state.readers import expose
from isrcheck.models.kafka.state.roles import enter_epoch, isr_size
from isrcheck.models.language import NONE


def has_enough_replicas(s, leader):
    """The leader's ISR has at least min.insync.replicas members (the configured number itself, as before 3.7)."""
    return isr_size(s, leader) >= s.min_insync_replicas


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
            if has_enough_replicas(s, leader):
                s.acknowledged[record] = True


def advance_high_watermark(s, leader):
    """The high watermark rises to the largest offset that every member of the leader's ISR is known to have reached; it
    never falls.

    Kafka: Partition.maybeIncrementLeaderHW. Not modelled: caught-up replicas outside the ISR also hold it back
    (HW_WAIT), which only delays it. An unknown offset (-1) stops it.
    """
    held_by_all = s.log_end_offset[leader]
    for r in range(s.replicas):
        if s.isr[leader][r] and r != leader:
            held_by_all = min(held_by_all, s.remote_log_end_offset[leader][r])
    if held_by_all > s.high_watermark[leader]:
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
    expose(s, leader)
    advance_high_watermark(s, leader)


def note_append(s, leader, record):
    """Record what the producer waits for after an append: with acks=all the high watermark, otherwise nothing."""
    if s.acks == Acks.ALL:
        s.pending[record] = leader
    else:
        s.acknowledged[record] = True
