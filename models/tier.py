"""One partition with tiered storage (KIP-405): two or three replicas, and what they have moved to a remote store.

Segments hold `segment_size` records each and end at the same offsets everywhere. The active segment may be closed at
any time, as `UnifiedLog.deletableSegments` closes it when local retention has passed. Uploads and deletions succeed or
do not happen. The remote log metadata is known to all brokers at once.

A replica's *leader epoch cache* tells which epoch wrote which offset, also for offsets that only the remote store has:
without it a remote segment is not found (`RemoteLogManager.read`). Here it is `epoch_cache[replica]`: for each offset
the epoch, or NONE where the cache does not reach. Elections are clean: a committed offset has one epoch everywhere.

Fetches, changes of the ISR and elections take effect at once; the model `kafka` divides them into steps. Left out:
retention by time, DeleteRecords within a segment, unclean elections, compaction, transactions (the last stable offset
is the high watermark), a lagging topic of remote log metadata, future logs, remote.log.copy.disable, failures of
uploads and of deletions, and several leaders at a time.
"""

import sys
from enum import IntEnum

from isrcheck.models.client_settings import Truth
from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    action,
    always,
    always_possible,
    between,
    bound,
    budget,
    contradiction,
    field,
    optional,
    require,
    setting,
    sometimes,
    switch,
    terminal,
)
from isrcheck.models.language.model import assemble

# --------------------------------------------------------------------------------------------------------------- values


class Seeding(IntEnum):
    """SEEDING: when retention reads highestOffsetInRemoteStorage from the remote log metadata, before it adds up sizes.

    NEVER: it uses the value that the leader has, which is -1 in a log that was just loaded. IF_UNKNOWN: it reads the
    value if the leader has -1 (KAFKA-20732). ALWAYS: it reads the value each time, so that no old value is used.
    """

    NEVER = 0
    IF_UNKNOWN = 1
    ALWAYS = 2


# ---------------------------------------------------------------------------------------------- configuration and state


class Configuration:
    brokers = bound(2, "replicas of the partition", least=2, most=3, option="--brokers")
    log_size = bound(4, "records that the partition can hold", least=1, most=8, option="--log-size")
    segment_size = bound(2, "records of a segment", least=1, most=4, option="--segment-size")
    elections = budget(1, "how often another replica is elected", most=3, shapes=True, option="--elections")
    restarts = budget(1, "clean restarts of brokers", most=3, shapes=True, option="--restarts")
    remote_failures = budget(1, "requests of followers that the remote store fails", most=3, option="--remote-failures")
    crashes = budget(0, "crashes of followers while they build their state", most=3, option="--crashes")
    deleted_records = budget(0, "calls of DeleteRecords, each up to the end of a segment", most=3)
    min_insync_replicas = setting(1, "min.insync.replicas", least=1, most=3, option="--min-insync-replicas")
    retention_size = setting(4, "retention.bytes, in records", least=1, most=8, option="--retention-size")
    follower_fetch_last_tiered_offset_enable = setting(
        Truth.FALSE, "an empty follower skips what is uploaded (KIP-1023)", values=Truth
    )
    SEEDING = switch(Seeding.NEVER, "what retention does about highestOffsetInRemoteStorage before it counts")
    LAST_UPLOAD_COUNTS_AS_LOCAL = switch(
        True, "a segment that begins at highestOffsetInRemoteStorage counts as only local (KAFKA-20977)"
    )
    EXPIRED_SEGMENTS_COUNT = switch(
        True, "remote segments below the log start offset count as size, but deleting them does not lower the excess"
    )
    FETCH_BEFORE_TRUNCATING = switch(False, "a repair: state is fetched into memory, and then the log is truncated")
    BUILD_UNTIL_COVERED = switch(
        False, "a repair: a follower restores its epochs last, and builds again while they do not reach its log start"
    )
    DELETE_ONLY_BELOW_LOG_START = switch(
        False, "a repair: unreferenced remote segments are deleted only below the log start offset"
    )
    LOG_START_NEEDS_EPOCHS = switch(
        False, "a repair: a new leader derives its log start offset only from epochs that reach the one it has"
    )


def epochs(configuration):
    """The number of leader epochs: each election begins a new epoch, and each restart of a leader may begin one."""
    return configuration.elections + configuration.restarts + 1


class Replica(Domain, size="brokers"):
    pass


class Offset(Domain, size="log_size"):
    pass


class EndOffset(Domain, size=lambda configuration: configuration.log_size + 1):
    pass


class LeaderEpoch(Domain, size=epochs):
    pass


class Segment(Domain, size=lambda c: (c.log_size + c.segment_size - 1) // c.segment_size):
    """A segment of the log. If the log ends before the last segment is full, that segment is never uploaded."""


def up_to_budget(name):
    """The range from 0 to the budget `name`, but at least to 3: so small budgets share one compiled kernel."""
    return between(0, lambda configuration: max(3, getattr(configuration, name)))


class State:
    # Each replica: its log (the records from the local log start to the log end), and what it knows about the remote
    # store.
    log_start_offset = field(Replica, values=between(0, "log_size"))
    local_log_start_offset = field(Replica, values=between(0, "log_size"))
    log_end_offset = field(Replica, values=between(0, "log_size"))
    high_watermark = field(Replica, values=between(0, "log_size"))
    epoch_cache = field(Replica, Offset, values=optional(LeaderEpoch), initially=NONE)
    producer_state_from = field(Replica, values=EndOffset)  # it knows the producers of the records from here on
    highest_offset_in_remote_storage = field(Replica, values=optional(Offset), initially=NONE)
    retry_offset = field(Replica, values=optional(EndOffset), initially=NONE)  # where it fetches again after a failure

    # The remote store: from which offset a segment's index of epochs is complete (NONE: there is no segment), and from
    # which offset its producer snapshot is.
    remote_epochs_from = field(Segment, values=optional(Offset), initially=NONE)
    remote_producer_state_from = field(Segment, values=EndOffset)

    # The leader, as the controller and everybody else knows it, and its tasks.
    leader = field(values=Replica)
    leader_epoch = field(values=LeaderEpoch)
    isr = field(Replica, values=Flag, initially=True)
    copy_task_has_begun = field(values=Flag)

    # What was acknowledged: the epoch of each record below the high watermark; the greatest length that a leader's log
    # has had; and the offset before which a client has deleted the records.
    committed_epoch = field(Offset, values=optional(LeaderEpoch), initially=NONE)
    most_appended = field(values=between(0, "log_size"))
    deleted_before = field(values=between(0, "log_size"))

    elections_so_far = field(values=between(0, "elections"))
    restarts_so_far = field(values=between(0, "restarts"))
    remote_failures_so_far = field(values=up_to_budget("remote_failures"))
    crashes_so_far = field(values=up_to_budget("crashes"))
    deleted_records_so_far = field(values=up_to_budget("deleted_records"))


# ---------------------------------------------------------------------------------------------------------------- start
#
# The beginning: empty logs, and replica 0 leads. Configurations that make no sense, and where behaviours may end.


@terminal
def bounds_are_used_up(s):
    """Records, elections and faults are limited in number, so a behaviour may end in every state."""
    return True


@contradiction
def no_segment_is_ever_full(configuration):
    """No segment is ever full, and so nothing is uploaded: raise --log-size to --segment-size or more."""
    return configuration.log_size < configuration.segment_size


@contradiction
def too_few_replicas(configuration):
    """min.insync.replicas is larger than the number of replicas, and so nothing is committed: raise --brokers."""
    return configuration.min_insync_replicas > configuration.brokers


# -------------------- a replica's log: its offsets, and its leader epoch cache. Kafka: UnifiedLog, LeaderEpochFileCache


def segment_of(s, offset):
    return offset // s.segment_size


def end_of(s, segment):
    """The offset after the last record of the segment."""
    return (segment + 1) * s.segment_size


def first_known_offset(s, replica):
    """The start offset of the earliest entry of the epoch cache, or the log end offset if the cache has none."""
    return min(
        (offset for offset in range(s.log_size) if s.epoch_cache[replica][offset] != NONE),
        default=s.log_end_offset[replica],
    )


def is_covered(s, replica):
    """The epoch cache reaches the log start offset."""
    return first_known_offset(s, replica) <= s.log_start_offset[replica]


def has_epoch(s, replica, epoch):
    """The epoch cache has an entry of this epoch."""
    return any(s.epoch_cache[replica][offset] == epoch for offset in range(s.log_size))


def first_difference(s, replica, leader):
    """The offset to which `replica`, a follower, has to truncate its log: the log end offset if the logs agree.

    Kafka needs several rounds if several epochs differ (KIP-595); here one is enough.
    """
    return min(
        (
            offset
            for offset in range(s.log_size)
            if offset < s.log_end_offset[replica]
            and (
                offset >= s.log_end_offset[leader]
                or (
                    s.epoch_cache[replica][offset] != NONE
                    and s.epoch_cache[leader][offset] != NONE
                    and s.epoch_cache[replica][offset] != s.epoch_cache[leader][offset]
                )
            )
        ),
        default=s.log_end_offset[replica],
    )


def truncate_to(s, replica, offset):
    """Cut the replica's log at this offset, as UnifiedLog.truncateTo does."""
    for later in range(s.log_size):
        if later >= offset:
            s.epoch_cache[replica][later] = NONE
    s.log_end_offset[replica] = offset
    s.local_log_start_offset[replica] = min(s.local_log_start_offset[replica], offset)
    s.log_start_offset[replica] = min(s.log_start_offset[replica], offset)
    s.producer_state_from[replica] = min(s.producer_state_from[replica], offset)
    s.high_watermark[replica] = min(s.high_watermark[replica], offset)


def truncate_fully_and_start_at(s, replica, offset, log_start_offset):
    """Empty the replica's log, epoch cache and producer state, as UnifiedLog.truncateFullyAndStartAt does."""
    for any_offset in range(s.log_size):
        s.epoch_cache[replica][any_offset] = NONE
    s.log_start_offset[replica] = log_start_offset
    s.local_log_start_offset[replica] = offset
    s.log_end_offset[replica] = offset
    s.high_watermark[replica] = offset
    s.producer_state_from[replica] = offset


def increment_log_start_offset(s, replica, offset):
    """Raise the log start and drop earlier entries of the epoch cache: UnifiedLog.maybeIncrementLogStartOffset."""
    if offset > s.log_start_offset[replica]:
        s.log_start_offset[replica] = offset
        s.local_log_start_offset[replica] = max(s.local_log_start_offset[replica], offset)
        s.producer_state_from[replica] = max(s.producer_state_from[replica], offset)
        for earlier in range(s.log_size):
            if earlier < offset:
                s.epoch_cache[replica][earlier] = NONE


# ----------------------------------- records go from the producer to the leader and to the followers, and are committed


@action
def producer_appends(s):
    """The leader appends a record. Kafka: UnifiedLog.appendAsLeader."""
    require(s.log_end_offset[s.leader] < s.log_size)
    s.epoch_cache[s.leader][s.log_end_offset[s.leader]] = s.leader_epoch
    s.log_end_offset[s.leader] += 1
    s.most_appended = max(s.most_appended, s.log_end_offset[s.leader])


def fetch_offset(s, follower):
    """The offset from which the follower fetches: its log end, or the offset at which it failed to build its state."""
    return s.retry_offset[follower] if s.retry_offset[follower] != NONE else s.log_end_offset[follower]


def has_to_build(s, follower):
    """The follower must build its state: the leader answers OFFSET_MOVED_TO_TIERED_STORAGE (ReplicaManager
    .handleOffsetOutOfRangeError), or, with BUILD_UNTIL_COVERED, the follower knows that its epochs are not complete."""
    offset = fetch_offset(s, follower)
    return (s.log_start_offset[s.leader] <= offset and offset < s.local_log_start_offset[s.leader]) or (
        s.BUILD_UNTIL_COVERED
        and first_known_offset(s, follower) > max(s.log_start_offset[follower], s.log_start_offset[s.leader])
    )


@action(shows="{follower}")
def follower_fetches(s, follower: Replica):
    """The follower truncates its log where the log differs from the leader's; or, if the log ends before the leader's
    log start, begins anew there; or appends the leader's records and learns the high watermark and the log start.

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
    """The leader commits all entries that every member of the ISR holds, and acknowledges them (acks=all).

    Kafka: Partition.maybeIncrementLeaderHW; the leader learns how far a follower is from the follower's next fetch.
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
    """The leader removes from the ISR a follower that is too slow (replica.lag.time.max.ms) or whose broker is down."""
    require(follower != s.leader)
    require(s.isr[follower])
    s.isr[follower] = False


def epoch_start_offset(s):
    """The offset at which the leader's epoch begins in its log."""
    return min(
        (offset for offset in range(s.log_size) if s.epoch_cache[s.leader][offset] == s.leader_epoch),
        default=s.log_end_offset[s.leader],
    )


@action(shows="{follower}")
def leader_expands_isr(s, follower: Replica):
    """The leader adds to the ISR a follower that has learned the log start from a response to its fetch. No condition
    requires the follower's epochs and producer state to be complete.

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


# ------------------------------------------------------------------------------------------------------------- building
#
# A follower whose next record the leader has only remotely builds its state from the remote store.
#
# It asks the leader for its local log start offset, finds the remote segment before it, truncates its own log fully,
# fetches the epochs of the segment, and then its producer snapshot (TierStateMachine.buildRemoteLogAuxState). Its
# fetcher holds the lock of its partitions meanwhile, so nothing comes between unless a request fails or the broker
# crashes. If a request fails, the fetcher tries again where it fetched before, as long as its fetch state lives: a new
# leader epoch or a restart begins at the log end offset (AbstractFetcherThread.handleOffsetsMovedToTieredStorage).


def fetch_start_offset(s, follower):
    """The offset at which the follower continues in the leader's log: the leader's local log start; but if the
    follower's log is empty and follower.fetch.last.tiered.offset.enable is set, the first offset that is not uploaded
    (ReplicaFetcherThread.shouldFetchFromLastTieredOffset, UnifiedLog.fetchEarliestPendingUploadOffset)."""
    if s.follower_fetch_last_tiered_offset_enable == Truth.TRUE and s.log_end_offset[follower] == 0:
        return max(s.local_log_start_offset[s.leader], s.highest_offset_in_remote_storage[s.leader] + 1)
    return s.local_log_start_offset[s.leader]


def can_build(s, follower):
    """The follower has to build its state, and it can: the remote store has the segment before `fetch_start_offset`."""
    return (
        follower != s.leader
        and has_to_build(s, follower)
        and fetch_start_offset(s, follower) > 0
        and s.remote_epochs_from[segment_of(s, fetch_start_offset(s, follower) - 1)] != NONE
    )


def truncate_for_remote_state(s, follower, start_offset):
    truncate_fully_and_start_at(s, follower, start_offset, s.log_start_offset[s.leader])


def restore_epochs(s, follower, segment, start_offset):
    """Restore the epoch cache below `start_offset` from the segment's index. Kafka: LeaderEpochFileCache.assign."""
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
    """Reset what a restart of `follower` forgets: the offset of a failed fetch, and the highest remote offset."""
    s.retry_offset[follower] = NONE
    s.highest_offset_in_remote_storage[follower] = NONE


@action(shows="{follower}")
def follower_crashes_before_epochs(s, follower: Replica):
    """The broker crashes after the truncation, and restarts without epochs. Its high watermark is from after the
    truncation: with an earlier high watermark, the follower would fetch from that offset, and build its state again."""
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
    """A follower that failed to build its state tries again, but retention has moved the leader's log start beyond the
    follower's fetch offset: OFFSET_OUT_OF_RANGE. The follower continues at its own log end or at the leader's log
    start, whichever is greater.

    Kafka: AbstractFetcherThread.fetchOffsetAndTruncate, offsetToFetch = max(leaderStartOffset, replicaEndOffset).
    """
    require(s.retry_offset[follower] != NONE)
    require(s.retry_offset[follower] < s.log_start_offset[s.leader])
    s.retry_offset[follower] = NONE
    if s.log_end_offset[follower] < s.log_start_offset[s.leader]:
        truncate_fully_and_start_at(s, follower, s.log_start_offset[s.leader], s.log_start_offset[s.leader])


# ------------------- uploads, and what they allow: local deletion. Kafka: RemoteLogManager.RLMCopyTask, RLMFollowerTask


def is_remote(s, segment):
    return s.remote_epochs_from[segment] != NONE


def has_some_epoch(s, replica, segment):
    """The replica's epoch cache has an epoch of `segment`, so listRemoteLogSegments(epoch) finds the segment."""
    return any(
        has_epoch(s, replica, s.committed_epoch[offset])
        for offset in range(s.log_size)
        if segment_of(s, offset) == segment and s.committed_epoch[offset] != NONE
    )


def highest_remote_offset(s, replica):
    """RemoteLogManager.findHighestRemoteOffset: the highest offset in a remote segment at which the epoch cache has the
    committed epoch; NONE, which is -1, if there is no such offset."""
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
    """RemoteLogManager.findLogStartOffset: the start of the first remote segment that has an epoch of the replica's
    epoch cache; the local log start offset if there is no such segment."""
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
    """The first run of a new leader's copy task derives log start and highest remote offset from the leader's epochs.

    Kafka: RLMCopyTask.maybeUpdateLogStartOffsetOnBecomingLeader, maybeUpdateCopiedOffset. If the log start is above the
    high watermark, Kafka throws an exception, and the task tries again.
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
    """The leader uploads a closed, committed segment, with an index of epochs: its epoch cache up to the segment's end.

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
    """A follower sets its highest remote offset from the remote log metadata. RLMFollowerTask does this every
    remote.log.manager.task.interval.ms (30 s)."""
    require(follower != s.leader)
    require(highest_remote_offset(s, follower) > s.highest_offset_in_remote_storage[follower])
    s.highest_offset_in_remote_storage[follower] = highest_remote_offset(s, follower)


@action(shows="{replica}")
def replica_deletes_local_segment(s, replica: Replica):
    """Local retention (local.retention.ms, local.retention.bytes) deletes a segment up to the highest remote offset.

    Kafka: UnifiedLog.deletableSegments, incrementStartOffset.
    """
    require(s.local_log_start_offset[replica] + s.segment_size <= s.high_watermark[replica])
    require(s.local_log_start_offset[replica] + s.segment_size - 1 <= s.highest_offset_in_remote_storage[replica])
    s.local_log_start_offset[replica] += s.segment_size


# ----------------------------------------------------------------------------------------------------------- expiration
#
# The leader deletes remote segments that retention has passed, and those that nobody refers to.
#
# Kafka: RemoteLogManager.RLMExpirationTask.cleanupExpiredRemoteLogSegments.


def seeded_offset(s):
    """The highest remote offset that retention uses (RLMExpirationTask.maybeSeedHighestOffsetInRemoteStorage)."""
    if s.SEEDING == Seeding.ALWAYS or (
        s.SEEDING == Seeding.IF_UNKNOWN and s.highest_offset_in_remote_storage[s.leader] == NONE
    ):
        return max(s.highest_offset_in_remote_storage[s.leader], highest_remote_offset(s, s.leader))
    return s.highest_offset_in_remote_storage[s.leader]


def is_only_local(s, base_offset, highest_offset):
    return base_offset > highest_offset or (s.LAST_UPLOAD_COUNTS_AS_LOCAL and base_offset == highest_offset)


def only_local_size(s, highest_offset):
    """UnifiedLog.onlyLocalLogSegmentsSize: the size, in records, of the local segments after `highest_offset`."""
    return sum(
        1
        for offset in range(s.log_size)
        if s.local_log_start_offset[s.leader] <= offset
        and offset < s.log_end_offset[s.leader]
        and is_only_local(s, segment_of(s, offset) * s.segment_size, highest_offset)
    )


def is_in_lineage(s, segment):
    """`segment` is remote, ends within the leader's log, and its last epoch is in the leader's epoch cache
    (RemoteLogManager.isRemoteSegmentWithinLeaderEpochs)."""
    return (
        is_remote(s, segment)
        and end_of(s, segment) <= s.log_end_offset[s.leader]
        and has_epoch(s, s.leader, s.committed_epoch[end_of(s, segment) - 1])
    )


def earliest_epoch_from(s, first_offset):
    """The earliest epoch in the leader's epoch cache from `first_offset` on; the leader's own epoch if it has none."""
    return min(
        (
            s.epoch_cache[s.leader][offset]
            for offset in range(s.log_size)
            if offset >= first_offset and s.epoch_cache[s.leader][offset] != NONE
        ),
        default=s.leader_epoch,
    )


def is_below_log_start(s, segment):
    """The segment is below the log start offset: RemoteLogRetentionHandler.isSegmentBreachByLogStartOffset."""
    return (
        is_remote(s, segment)
        and has_some_epoch(s, s.leader, segment)
        and s.committed_epoch[end_of(s, segment) - 1] <= earliest_epoch_from(s, 0)
        and end_of(s, segment) <= s.log_start_offset[s.leader]
    )


def remote_size(s):
    """The size, in records, of the remote segments in the leader's lineage; with EXPIRED_SEGMENTS_COUNT, segments below
    the log start count, too (RLMExpirationTask.buildRetentionSizeData)."""
    return s.segment_size * sum(
        1
        for segment in Segment
        if is_in_lineage(s, segment) and (s.EXPIRED_SEGMENTS_COUNT or not is_below_log_start(s, segment))
    )


def size_breaching_segments(s):
    """The number of segments that retention by size deletes: as many as possible while retention.bytes remain."""
    return max(0, only_local_size(s, seeded_offset(s)) + remote_size(s) - s.retention_size) // s.segment_size


def breaches_size(s, segment):
    """RemoteLogRetentionHandler.isSegmentBreachedByRetentionSize: `segment` is to be deleted, being one of the first
    `size_breaching_segments` segments in the leader's lineage that are not below the log start."""
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
    """The log start offset after retention by size has deleted segments."""
    return max(
        (end_of(s, segment) for segment in Segment if breaches_size(s, segment)),
        default=s.log_start_offset[s.leader],
    )


def is_unreferenced(s, segment, new_log_start_offset):
    """All epochs of `segment` are before the first epoch that the leader's epoch cache has from `new_log_start_offset`
    on. Kafka: RemoteLogRetentionHandler.deleteLogSegmentsDueToLeaderEpochCacheTruncation."""
    return (
        is_remote(s, segment)
        and s.committed_epoch[end_of(s, segment) - 1] < earliest_epoch_from(s, new_log_start_offset)
        and (not s.DELETE_ONLY_BELOW_LOG_START or end_of(s, segment) <= new_log_start_offset)
    )


@action
def leader_expires_segments(s):
    """The leader deletes the remote segments that retention no longer keeps. If the new log start is above the high
    watermark, Kafka throws an exception, and the task tries again."""
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


# ------------------------------------- clean elections and clean restarts, each of which ends fetch states of followers


def begin_epoch(s):
    """Begin an epoch: followers fetch from the log end. ReplicaManager.applyLocalFollowersDelta, initialFetchOffset."""
    s.leader_epoch += 1
    for replica in range(s.brokers):
        s.retry_offset[replica] = NONE


@action(shows="{replica}")
def controller_elects(s, replica: Replica):
    """The leader's session is over, or the leader shuts down: a member of the ISR is elected.

    The tasks of the new leader begin at once, in thread pools of their own (RemoteLogManager.doHandleLeaderPartition).
    """
    require(s.elections_so_far < s.elections)
    require(replica != s.leader)
    require(s.isr[replica])
    s.isr[s.leader] = False
    s.leader = replica
    s.copy_task_has_begun = False
    s.elections_so_far += 1
    begin_epoch(s)


@action(shows="{replica}")
def broker_restarts(s, replica: Replica):
    """A follower restarts cleanly, and leaves the ISR; or a leader alone in the ISR restarts, and is elected again.

    The log and the high watermark stay; the highest remote offset, which is only in memory, is lost.
    """
    require(s.restarts_so_far < s.restarts)
    require(replica != s.leader or all(other == replica or not s.isr[other] for other in range(s.brokers)))
    s.restarts_so_far += 1
    begin_anew(s, replica)
    if replica == s.leader:
        s.copy_task_has_begun = False
        begin_epoch(s)
    else:
        s.isr[replica] = False


# ------------------------------------------------------------------------------------------------------------- promises
#
# What tiered storage promises about records that were acknowledged and that retention has not passed.


def is_retained(s, offset):
    """The record is acknowledged, no client has deleted it, and retention.bytes keeps it: in the longest log that a
    leader has had, less than retention.bytes follows the record's segment."""
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
    """The leader can answer a fetch at `offset` from its log, or from a remote segment found by the offset's epoch.

    Otherwise, the consumer gets OFFSET_OUT_OF_RANGE: from UnifiedLog.read below the log start offset; from
    RemoteLogManager.read if LeaderEpochFileCache.epochForOffset has no epoch, or no remote segment has this epoch.
    """
    return s.log_start_offset[s.leader] <= offset and (
        is_stored_by(s, s.leader, offset)
        or (is_remote(s, segment_of(s, offset)) and s.epoch_cache[s.leader][offset] == s.committed_epoch[offset])
    )


@always
def tiered_record_is_readable(s):
    """The leader can serve every record that is acknowledged and inside retention to a consumer."""
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
    """From every state, a state can be reached in which all replicas are in the ISR."""
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
    """The leader deletes a remote segment of which retention keeps no record."""
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
    """The leader never had the partition's first records in its log, but its epoch cache has their epochs."""
    return (
        s.restarts_so_far == 0
        and s.log_start_offset[s.leader] == 0
        and s.local_log_start_offset[s.leader] > 0
        and s.highest_offset_in_remote_storage[s.leader] == NONE
        and is_covered(s, s.leader)
    )


@sometimes(applies=lambda c: c.elections > 0)
def a_later_leader_uploads(s):
    """A remote segment has a record of an epoch later than the first epoch."""
    return any(is_remote(s, segment_of(s, offset)) and s.committed_epoch[offset] > 0 for offset in range(s.log_size))


# ---------------------------------------------------------------------------------------------------------- generations


GENERATION_3_9 = {"SEEDING": Seeding.NEVER, "LAST_UPLOAD_COUNTS_AS_LOCAL": True}
GENERATION_4_4 = GENERATION_3_9 | {"SEEDING": Seeding.IF_UNKNOWN}
GENERATION_4_5 = GENERATION_4_4 | {"LAST_UPLOAD_COUNTS_AS_LOCAL": False}

STAND_INS = {
    **dict.fromkeys(("3.7", "3.8", "4.0", "4.1", "4.2"), "3.9 stands for it"),
    "4.3": "3.9 stands for 4.3.0 and 4.3.1, and 4.4 for 4.3.2",
}
"""The generation that represents a release without its own generation."""

MODEL = assemble(
    "tier",
    sys.modules[__name__],
    {"3.9": (None, GENERATION_3_9), "4.4": (None, GENERATION_4_4), "4.5": (None, GENERATION_4_5)},
    STAND_INS,
)
"""A generation is data: what retention counts. docs/tiered_storage.md explains the model."""
