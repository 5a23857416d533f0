"""Uploads, and what they allow: local deletion. Kafka: RemoteLogManager.RLMCopyTask, RLMFollowerTask."""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.tier.fields import Replica, Segment
from isrcheck.models.tier.log import (
    end_of,
    first_known_offset,
    has_epoch,
    increment_log_start_offset,
    is_covered,
    segment_of,
)


def is_remote(s, segment):
    return s.remote_epochs_from[segment] != NONE


def has_some_epoch(s, replica, segment):
    """The epoch cache has an epoch of this remote segment: listRemoteLogSegments(epoch) finds it."""
    return any(
        has_epoch(s, replica, s.committed_epoch[offset])
        for offset in range(s.log_size)
        if segment_of(s, offset) == segment and s.committed_epoch[offset] != NONE
    )


def highest_remote_offset(s, replica):
    """RemoteLogManager.findHighestRemoteOffset: NONE, which is -1, if no remote segment has an epoch of the cache."""
    return max(
        (
            offset
            for offset in range(s.log_size)
            if is_remote(s, segment_of(s, offset))
            and s.epoch_cache[replica][offset] != NONE
            and s.epoch_cache[replica][offset] == s.committed_epoch[offset]
        ),
        default=NONE,
    )


def found_log_start_offset(s, replica):
    """RemoteLogManager.findLogStartOffset: the start of the first remote segment that has an epoch of the cache; if
    there is none, the local log start offset."""
    return min(
        (
            segment * s.segment_size
            for segment in Segment
            if is_remote(s, segment) and has_some_epoch(s, replica, segment)
        ),
        default=s.local_log_start_offset[replica],
    )


@action
def leader_begins_to_copy(s):
    """The first run of a new leader's copy task derives its log start offset and what is uploaded from its epochs.

    Kafka: RLMCopyTask.maybeUpdateLogStartOffsetOnBecomingLeader, maybeUpdateCopiedOffset. A log start beyond the high
    watermark throws, and the task tries again.
    """
    require(not s.copy_task_has_begun)
    require(found_log_start_offset(s, s.leader) <= s.high_watermark[s.leader])
    s.copy_task_has_begun = True
    s.highest_offset_in_remote_storage[s.leader] = max(
        s.highest_offset_in_remote_storage[s.leader], highest_remote_offset(s, s.leader)
    )
    if not s.LOG_START_NEEDS_EPOCHS or is_covered(s, s.leader):
        increment_log_start_offset(s, s.leader, found_log_start_offset(s, s.leader))


def next_segment(s):
    """The first local segment that is not uploaded (RLMCopyTask.candidateLogSegments)."""
    return segment_of(s, max(s.highest_offset_in_remote_storage[s.leader] + 1, s.local_log_start_offset[s.leader]))


@action
def leader_uploads_segment(s):
    """The segment is closed and committed. Its index of epochs is the leader's epoch cache up to its end.

    Kafka: RLMCopyTask.copyLogSegment.
    """
    require(s.copy_task_has_begun)
    require(end_of(s, next_segment(s)) <= s.high_watermark[s.leader])
    segment = next_segment(s)
    s.remote_epochs_from[segment] = first_known_offset(s, s.leader)
    s.remote_producer_state_from[segment] = s.producer_state_from[s.leader]
    s.highest_offset_in_remote_storage[s.leader] = end_of(s, segment) - 1


@action(shows="{follower}")
def follower_learns_remote_end(s, follower: Replica):
    """RLMFollowerTask, every remote.log.manager.task.interval.ms (30 s)."""
    require(follower != s.leader)
    require(highest_remote_offset(s, follower) > s.highest_offset_in_remote_storage[follower])
    s.highest_offset_in_remote_storage[follower] = highest_remote_offset(s, follower)


@action(shows="{replica}")
def replica_deletes_local_segment(s, replica: Replica):
    """Local retention (local.retention.ms, local.retention.bytes) deletes what the replica knows to be uploaded.

    Kafka: UnifiedLog.deletableSegments, incrementStartOffset.
    """
    require(s.local_log_start_offset[replica] + s.segment_size <= s.high_watermark[replica])
    require(s.local_log_start_offset[replica] + s.segment_size - 1 <= s.highest_offset_in_remote_storage[replica])
    s.local_log_start_offset[replica] += s.segment_size
