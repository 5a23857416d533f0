"""What tiered storage promises about records that were acknowledged and that retention has not passed."""

from isrcheck.models.language import NONE, always, always_possible
from isrcheck.models.tier.log import end_of, is_covered, segment_of
from isrcheck.models.tier.remote_storage import is_remote


def is_retained(s, offset):
    """The record is acknowledged, no client has deleted it, and retention.bytes keeps it: without its segment, less
    than that would be left of the longest log that a leader has had."""
    return (
        s.committed_epoch[offset] != NONE
        and offset >= s.deleted_before
        and s.most_appended - end_of(s, segment_of(s, offset)) < s.retention_size
    )


def is_stored_by(s, replica, offset):
    return s.local_log_start_offset[replica] <= offset and s.epoch_cache[replica][offset] == s.committed_epoch[offset]


@always
def tiered_record_is_kept(s):
    """Every record that is acknowledged and inside retention is in a log or in the remote store."""
    return all(
        is_remote(s, segment_of(s, offset)) or any(is_stored_by(s, replica, offset) for replica in range(s.brokers))
        for offset in range(s.log_size)
        if is_retained(s, offset)
    )


def leader_serves(s, offset):
    """A consumer's fetch is answered from the log, or from a remote segment that is found by the offset's epoch.

    Otherwise OFFSET_OUT_OF_RANGE: UnifiedLog.read below the log start offset; RemoteLogManager.read where
    LeaderEpochFileCache.epochForOffset has no epoch, or no segment has it.
    """
    return s.log_start_offset[s.leader] <= offset and (
        is_stored_by(s, s.leader, offset)
        or (is_remote(s, segment_of(s, offset)) and s.epoch_cache[s.leader][offset] == s.committed_epoch[offset])
    )


@always
def tiered_record_is_readable(s):
    """The leader serves every record that is acknowledged and inside retention."""
    return all(leader_serves(s, offset) for offset in range(s.log_size) if is_retained(s, offset))


@always
def epoch_cache_covers_the_log(s):
    """Every member of the ISR, and so every leader, knows the epochs of its log from its log start on."""
    return all(is_covered(s, replica) for replica in range(s.brokers) if s.isr[replica])


@always
def producer_state_covers_the_log(s):
    """Every member of the ISR knows the producers of the records from its log start on: it recognises their retries."""
    return all(
        s.producer_state_from[replica] <= s.log_start_offset[replica] for replica in range(s.brokers) if s.isr[replica]
    )


@always_possible
def every_replica_can_return(s):
    """All replicas can be in the ISR again."""
    return all(s.isr[replica] for replica in range(s.brokers))
