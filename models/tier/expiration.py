"""The leader deletes remote segments that retention has passed, and those that nobody refers to.

Kafka: RemoteLogManager.RLMExpirationTask.cleanupExpiredRemoteLogSegments.
"""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.tier.fields import Segment
from isrcheck.models.tier.log import end_of, has_epoch, increment_log_start_offset, segment_of
from isrcheck.models.tier.remote_storage import has_some_epoch, highest_remote_offset, is_remote
from isrcheck.models.tier.values import Seeding


def seeded_offset(s):
    """highestOffsetInRemoteStorage, as retention uses it (RLMExpirationTask.maybeSeedHighestOffsetInRemoteStorage)."""
    if s.SEEDING == Seeding.ALWAYS or (
        s.SEEDING == Seeding.IF_UNKNOWN and s.highest_offset_in_remote_storage[s.leader] == NONE
    ):
        return max(s.highest_offset_in_remote_storage[s.leader], highest_remote_offset(s, s.leader))
    return s.highest_offset_in_remote_storage[s.leader]


def is_only_local(s, base_offset, highest_offset):
    return base_offset > highest_offset or (s.LAST_UPLOAD_COUNTS_AS_LOCAL and base_offset == highest_offset)


def only_local_size(s, highest_offset):
    """UnifiedLog.onlyLocalLogSegmentsSize: the local segments that begin after the highest uploaded offset."""
    return sum(
        1
        for offset in range(s.log_size)
        if s.local_log_start_offset[s.leader] <= offset
        and offset < s.log_end_offset[s.leader]
        and is_only_local(s, segment_of(s, offset) * s.segment_size, highest_offset)
    )


def is_in_lineage(s, segment):
    """The leader knows its last epoch (RemoteLogManager.isRemoteSegmentWithinLeaderEpochs, if elections are clean)."""
    return (
        is_remote(s, segment)
        and end_of(s, segment) <= s.log_end_offset[s.leader]
        and has_epoch(s, s.leader, s.committed_epoch[end_of(s, segment) - 1])
    )


def earliest_epoch_from(s, first_offset):
    """The earliest entry of the leader's epoch cache, cut at this offset: its own epoch, if there is no other."""
    return min(
        (
            s.epoch_cache[s.leader][offset]
            for offset in range(s.log_size)
            if offset >= first_offset and s.epoch_cache[s.leader][offset] != NONE
        ),
        default=s.leader_epoch,
    )


def is_below_log_start(s, segment):
    """RemoteLogRetentionHandler.isSegmentBreachByLogStartOffset."""
    return (
        is_remote(s, segment)
        and has_some_epoch(s, s.leader, segment)
        and s.committed_epoch[end_of(s, segment) - 1] <= earliest_epoch_from(s, 0)
        and end_of(s, segment) <= s.log_start_offset[s.leader]
    )


def remote_size(s):
    """RLMExpirationTask.buildRetentionSizeData counts all valid segments, also those that are below the log start."""
    return s.segment_size * sum(
        1
        for segment in Segment
        if is_in_lineage(s, segment) and (s.EXPIRED_SEGMENTS_COUNT or not is_below_log_start(s, segment))
    )


def size_breaching_segments(s):
    """How many segments retention by size has to delete: as many as leave retention.bytes or more."""
    return max(0, only_local_size(s, seeded_offset(s)) + remote_size(s) - s.retention_size) // s.segment_size


def breaches_size(s, segment):
    """RemoteLogRetentionHandler.isSegmentBreachedByRetentionSize: the oldest segments that are valid."""
    return (
        is_in_lineage(s, segment)
        and not is_below_log_start(s, segment)
        and sum(
            1
            for earlier in Segment
            if earlier < segment and is_in_lineage(s, earlier) and not is_below_log_start(s, earlier)
        )
        < size_breaching_segments(s)
    )


def retained_from(s):
    """The log start offset that retention by size leaves."""
    return max(
        (end_of(s, segment) for segment in Segment if breaches_size(s, segment)),
        default=s.log_start_offset[s.leader],
    )


def is_unreferenced(s, segment, new_log_start_offset):
    """RemoteLogRetentionHandler.deleteLogSegmentsDueToLeaderEpochCacheTruncation: all epochs of the segment are before
    the first one that the leader knows."""
    return (
        is_remote(s, segment)
        and s.committed_epoch[end_of(s, segment) - 1] < earliest_epoch_from(s, new_log_start_offset)
        and (not s.DELETE_ONLY_BELOW_LOG_START or end_of(s, segment) <= new_log_start_offset)
    )


@action
def leader_expires_segments(s):
    """A log start beyond the high watermark throws, and the task tries again."""
    require(any(is_remote(s, segment) for segment in Segment))
    require(retained_from(s) <= s.high_watermark[s.leader])
    new_log_start_offset = max(retained_from(s), s.log_start_offset[s.leader])
    s.highest_offset_in_remote_storage[s.leader] = seeded_offset(s)
    for segment in Segment:
        if (
            is_below_log_start(s, segment)
            or (is_in_lineage(s, segment) and end_of(s, segment) <= new_log_start_offset)
            or is_unreferenced(s, segment, new_log_start_offset)
        ):
            s.remote_epochs_from[segment] = NONE
            s.remote_producer_state_from[segment] = 0
    increment_log_start_offset(s, s.leader, new_log_start_offset)


@action(shows="{segment}")
def leader_deletes_records(s, segment: Segment):
    """A client deletes all records up to the end of a segment. Kafka: UnifiedLog.deleteRecords."""
    require(s.deleted_records_so_far < s.deleted_records)
    require(end_of(s, segment) > s.log_start_offset[s.leader])
    require(end_of(s, segment) <= s.high_watermark[s.leader])
    increment_log_start_offset(s, s.leader, end_of(s, segment))
    s.deleted_before = max(s.deleted_before, end_of(s, segment))
    s.deleted_records_so_far += 1
