"""What tiered storage promises about records that were acknowledged and that retention has not passed."""

from isrcheck.models.language import NONE, always, always_possible, sometimes
from isrcheck.models.tier.actions import follower_builds_state, is_remote, leader_expires_segments
from isrcheck.models.tier.state import end_of, is_covered, segment_of


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


# --------------------------------------- states and steps that must be reachable, to show that the model is not vacuous


@sometimes
def a_record_is_only_remote(s):
    """Every replica has deleted its copy of an uploaded segment."""
    return is_remote(s, 0) and all(
        s.log_start_offset[r] == 0 and s.local_log_start_offset[r] > 0 for r in range(s.brokers)
    )


@sometimes(applies=lambda c: c.retention_size < c.log_size)
def retention_deletes_a_segment(before, after, taken):
    """Nothing of it is inside retention."""
    return (
        taken == leader_expires_segments
        and after.log_start_offset[after.leader] > before.log_start_offset[before.leader]
        and not is_retained(before, after.log_start_offset[after.leader] - 1)
    )


@sometimes
def a_follower_builds_its_state(before, after, taken):
    return taken == follower_builds_state


@sometimes(applies=lambda c: c.elections > 0)
def a_built_follower_leads(s):
    """The leader never had its first records in its log, and yet knows their epochs."""
    return (
        s.restarts_so_far == 0
        and s.log_start_offset[s.leader] == 0
        and s.local_log_start_offset[s.leader] > 0
        and s.highest_offset_in_remote_storage[s.leader] == NONE
        and is_covered(s, s.leader)
    )


@sometimes(applies=lambda c: c.elections > 0)
def a_later_leader_uploads(s):
    """A remote segment has a record of a later epoch."""
    return any(is_remote(s, segment_of(s, offset)) and s.committed_epoch[offset] > 0 for offset in range(s.log_size))
