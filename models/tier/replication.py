"""Records go from the producer to the leader and to the followers, and are committed."""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.tier.fields import Replica
from isrcheck.models.tier.log import (
    first_difference,
    first_known_offset,
    increment_log_start_offset,
    truncate_fully_and_start_at,
    truncate_to,
)


@action
def producer_appends(s):
    """The leader appends a record. Kafka: UnifiedLog.appendAsLeader."""
    require(s.log_end_offset[s.leader] < s.log_size)
    s.epoch_cache[s.leader][s.log_end_offset[s.leader]] = s.leader_epoch
    s.log_end_offset[s.leader] += 1
    s.most_appended = max(s.most_appended, s.log_end_offset[s.leader])


def fetch_offset(s, follower):
    """Where the follower fetches: at its log end, or where it fetched before it failed to build its state."""
    return s.retry_offset[follower] if s.retry_offset[follower] != NONE else s.log_end_offset[follower]


def has_to_build(s, follower):
    """The leader answers OFFSET_MOVED_TO_TIERED_STORAGE (ReplicaManager.handleOffsetOutOfRangeError), or, with
    BUILD_UNTIL_COVERED, the follower knows that its state is not complete."""
    offset = fetch_offset(s, follower)
    return (s.log_start_offset[s.leader] <= offset and offset < s.local_log_start_offset[s.leader]) or (
        s.BUILD_UNTIL_COVERED
        and first_known_offset(s, follower) > max(s.log_start_offset[follower], s.log_start_offset[s.leader])
    )


@action(shows="{follower}")
def follower_fetches(s, follower: Replica):
    """It truncates where its log differs from the leader's, or begins at the leader's log start if it ends before it,
    or appends what the leader has, and learns the high watermark and the log start.

    Kafka: AbstractFetcherThread.processFetchRequest, fetchOffsetAndTruncate, ReplicaFetcherThread.processPartitionData.
    """
    require(follower != s.leader)
    require(s.retry_offset[follower] == NONE)
    require(not has_to_build(s, follower))
    difference = first_difference(s, follower, s.leader)
    if difference < s.log_end_offset[follower]:
        truncate_to(s, follower, difference)
    elif s.log_end_offset[follower] < s.log_start_offset[s.leader]:
        truncate_fully_and_start_at(s, follower, s.log_start_offset[s.leader], s.log_start_offset[s.leader])
    else:
        for offset in range(s.log_size):
            if s.log_end_offset[follower] <= offset and offset < s.log_end_offset[s.leader]:
                s.epoch_cache[follower][offset] = s.epoch_cache[s.leader][offset]
        s.log_end_offset[follower] = s.log_end_offset[s.leader]
        s.high_watermark[follower] = s.high_watermark[s.leader]
        increment_log_start_offset(s, follower, s.log_start_offset[s.leader])


def least_isr_end_offset(s):
    return min(
        (first_difference(s, replica, s.leader) for replica in range(s.brokers) if s.isr[replica]),
        default=s.log_end_offset[s.leader],
    )


@action
def leader_advances_high_watermark(s):
    """Everything that the whole ISR has is committed, and acknowledged (acks=all).

    Kafka: Partition.maybeIncrementLeaderHW; the leader hears of a follower's progress with its next fetch.
    """
    require(sum(1 for replica in range(s.brokers) if s.isr[replica]) >= s.min_insync_replicas)
    require(least_isr_end_offset(s) > s.high_watermark[s.leader])
    new_high_watermark = least_isr_end_offset(s)
    s.high_watermark[s.leader] = new_high_watermark
    for offset in range(s.log_size):
        if offset < new_high_watermark and s.committed_epoch[offset] == NONE:
            s.committed_epoch[offset] = s.epoch_cache[s.leader][offset]


@action(shows="{follower}")
def leader_shrinks_isr(s, follower: Replica):
    """The follower was too late (replica.lag.time.max.ms), or its broker is away."""
    require(follower != s.leader)
    require(s.isr[follower])
    s.isr[follower] = False


def epoch_start_offset(s):
    """Where the leader's epoch begins in its log."""
    return min(
        (offset for offset in range(s.log_size) if s.epoch_cache[s.leader][offset] == s.leader_epoch),
        default=s.log_end_offset[s.leader],
    )


@action(shows="{follower}")
def leader_expands_isr(s, follower: Replica):
    """Nobody asks whether the follower's epochs and producer state are complete. The answer to the fetch, with the log
    start, has arrived.

    Kafka: Partition.maybeExpandIsr, isFollowerInSync: a fetch at the high watermark and in the leader's epoch or later.
    """
    require(not s.isr[follower])
    require(s.retry_offset[follower] == NONE)
    require(not has_to_build(s, follower))
    require(s.log_start_offset[follower] >= s.log_start_offset[s.leader])
    require(s.log_end_offset[follower] >= s.high_watermark[s.leader])
    require(s.log_end_offset[follower] >= epoch_start_offset(s))
    require(first_difference(s, follower, s.leader) == s.log_end_offset[follower])
    s.isr[follower] = True
