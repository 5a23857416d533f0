"""A follower whose next record the leader has only remotely builds its state from the remote store.

It asks the leader for its local log start offset, finds the remote segment before it, truncates its own log fully,
fetches the epochs of the segment, and then its producer snapshot (TierStateMachine.buildRemoteLogAuxState). Its fetcher
holds the lock of its partitions meanwhile, so nothing comes between unless a request fails or the broker crashes. If a
request fails, the fetcher tries again where it fetched before, as long as its fetch state lives: a new leader epoch or
a restart begins at the log end offset (AbstractFetcherThread.handleOffsetsMovedToTieredStorage).
"""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.tier.fields import Replica
from isrcheck.models.tier.log import segment_of, truncate_fully_and_start_at
from isrcheck.models.tier.replication import fetch_offset, has_to_build
from isrcheck.models.tier.values import Truth


def fetch_start_offset(s, follower):
    """Where the follower is to continue in the leader's log: at the local log start, or, if it is empty and
    follower.fetch.last.tiered.offset.enable is set, at what is not uploaded (ReplicaFetcherThread
    .shouldFetchFromLastTieredOffset, UnifiedLog.fetchEarliestPendingUploadOffset)."""
    if s.follower_fetch_last_tiered_offset_enable == Truth.TRUE and s.log_end_offset[follower] == 0:
        return max(s.local_log_start_offset[s.leader], s.highest_offset_in_remote_storage[s.leader] + 1)
    return s.local_log_start_offset[s.leader]


def can_build(s, follower):
    """The follower has to, and the remote store has the segment before the offset where it is to continue."""
    return (
        follower != s.leader
        and has_to_build(s, follower)
        and fetch_start_offset(s, follower) > 0
        and s.remote_epochs_from[segment_of(s, fetch_start_offset(s, follower) - 1)] != NONE
    )


def truncate_for_remote_state(s, follower, start_offset):
    truncate_fully_and_start_at(s, follower, start_offset, s.log_start_offset[s.leader])


def restore_epochs(s, follower, segment, start_offset):
    """LeaderEpochFileCache.assign: the segment's index has the epochs that its uploader knew."""
    for offset in range(s.log_size):
        if offset < start_offset and offset >= s.remote_epochs_from[segment] and offset >= s.log_start_offset[follower]:
            s.epoch_cache[follower][offset] = s.committed_epoch[offset]


@action(shows="{follower}")
def follower_builds_state(s, follower: Replica):
    require(can_build(s, follower))
    start_offset = fetch_start_offset(s, follower)
    segment = segment_of(s, start_offset - 1)
    truncate_for_remote_state(s, follower, start_offset)
    restore_epochs(s, follower, segment, start_offset)
    s.producer_state_from[follower] = max(s.remote_producer_state_from[segment], s.log_start_offset[follower])
    s.retry_offset[follower] = NONE


@action(shows="{follower}")
def follower_fails_to_fetch_epochs(s, follower: Replica):
    """RemoteStorageManager.fetchIndex(LEADER_EPOCH) fails after the log was truncated. With FETCH_BEFORE_TRUNCATING
    such a failure changes nothing."""
    require(not s.FETCH_BEFORE_TRUNCATING)
    require(s.remote_failures_so_far < s.remote_failures)
    require(can_build(s, follower))
    failed_offset = fetch_offset(s, follower)
    truncate_for_remote_state(s, follower, fetch_start_offset(s, follower))
    if not s.BUILD_UNTIL_COVERED:  # otherwise the epochs tell it to build again
        s.retry_offset[follower] = failed_offset
    s.remote_failures_so_far += 1


@action(shows="{follower}")
def follower_fails_to_fetch_producer_snapshot(s, follower: Replica):
    """fetchIndex(PRODUCER_SNAPSHOT) fails after the epochs were restored."""
    require(not s.FETCH_BEFORE_TRUNCATING and not s.BUILD_UNTIL_COVERED)
    require(s.remote_failures_so_far < s.remote_failures)
    require(can_build(s, follower))
    failed_offset = fetch_offset(s, follower)
    start_offset = fetch_start_offset(s, follower)
    truncate_for_remote_state(s, follower, start_offset)
    restore_epochs(s, follower, segment_of(s, start_offset - 1), start_offset)
    s.retry_offset[follower] = failed_offset
    s.remote_failures_so_far += 1


def begin_anew(s, follower):
    """What a restart forgets."""
    s.retry_offset[follower] = NONE
    s.highest_offset_in_remote_storage[follower] = NONE


@action(shows="{follower}")
def follower_crashes_before_epochs(s, follower: Replica):
    """It restarts with the truncated log, and with the high watermark that it wrote to disk after the truncation; with
    an earlier one it would begin there, and build its state again."""
    require(s.crashes_so_far < s.crashes)
    require(can_build(s, follower))
    truncate_for_remote_state(s, follower, fetch_start_offset(s, follower))
    begin_anew(s, follower)
    s.crashes_so_far += 1


@action(shows="{follower}")
def follower_crashes_before_producer_snapshot(s, follower: Replica):
    require(not s.BUILD_UNTIL_COVERED)
    require(s.crashes_so_far < s.crashes)
    require(can_build(s, follower))
    start_offset = fetch_start_offset(s, follower)
    truncate_for_remote_state(s, follower, start_offset)
    restore_epochs(s, follower, segment_of(s, start_offset - 1), start_offset)
    begin_anew(s, follower)
    s.crashes_so_far += 1


@action(shows="{follower}")
def follower_resumes_out_of_range(s, follower: Replica):
    """Before a failed follower has tried again, retention has moved the leader's log start beyond its fetch offset:
    OFFSET_OUT_OF_RANGE. It continues at its log end, if that is not before the leader's log start.

    Kafka: AbstractFetcherThread.fetchOffsetAndTruncate, offsetToFetch = max(leaderStartOffset, replicaEndOffset).
    """
    require(s.retry_offset[follower] != NONE)
    require(s.retry_offset[follower] < s.log_start_offset[s.leader])
    s.retry_offset[follower] = NONE
    if s.log_end_offset[follower] < s.log_start_offset[s.leader]:
        truncate_fully_and_start_at(s, follower, s.log_start_offset[s.leader], s.log_start_offset[s.leader])
