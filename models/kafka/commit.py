"""How a record becomes committed, visible to readers, and acknowledged."""

from models.kafka.roles import isr_size
from models.kafka.state import Acks
from models.language import NONE
from models.log import has_entry


def has_enough_replicas(s, leader):
    """The leader's ISR has at least min.insync.replicas members (the raw number, before 3.7)."""
    return isr_size(s, leader) >= s.min_insync_replicas


def expose(s, leader):
    """Readers can see what lies below the leader's high watermark; the first sight at each offset is remembered."""
    for offset in range(s.log_size):
        if offset < s.high_watermark[leader] and has_entry(s, leader, offset) and s.exposed_record[offset] == NONE:
            s.exposed_record[offset] = s.log_record[leader][offset]


def answer_producers(s, leader):
    """Produce requests below the high watermark are answered: written, or NOT_ENOUGH_REPLICAS_AFTER_APPEND."""
    for offset in range(s.log_size):
        if offset < s.high_watermark[leader] and has_entry(s, leader, offset):
            record = s.log_record[leader][offset]
            if s.pending[record] == leader:
                s.pending[record] = NONE
                if has_enough_replicas(s, leader):
                    s.acknowledged[record] = True


def advance_high_watermark(s, leader):
    """The high watermark rises to what every member of the leader's ISR is known to hold, and never falls here.

    Kafka: Partition.maybeIncrementLeaderHW. That caught-up replicas outside the ISR hold it back too (HW_WAIT) only
    delays, and is left out. An unknown offset (-1) keeps it where it is.
    """
    held_by_all = s.log_end_offset[leader]
    for r in range(s.replicas):
        if s.isr[leader][r] and r != leader:
            held_by_all = min(held_by_all, s.remote_log_end_offset[leader][r])
    if held_by_all > s.high_watermark[leader]:
        s.high_watermark[leader] = held_by_all
        expose(s, leader)
        answer_producers(s, leader)


def note_append(s, leader, record):
    """What the producer is told at once: acks=all waits for the high watermark, the others for nothing more."""
    if s.acks == Acks.ALL:
        s.pending[record] = leader
    else:
        s.acknowledged[record] = True
