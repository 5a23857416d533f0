"""One partition with tiered storage (KIP-405): two or three replicas, and what they have moved to a remote store.

Segments hold `segment_size` records each and end at the same offsets everywhere. The active segment may be closed at
any time, as `UnifiedLog.deletableSegments` closes it when local retention has passed. Uploads and deletions succeed or
do not happen. The remote log metadata is known to all brokers at once.

A replica's *leader epoch cache* tells which epoch wrote which offset, also for offsets that only the remote store has:
without it a remote segment is not found (`RemoteLogManager.read`). Here it is `epoch_cache[replica]`: for each offset
the epoch, or NONE where the cache does not reach. Elections are clean: a committed offset has one epoch everywhere.

Fetches, changes of the ISR and elections take effect at once: `kafka` models what can go wrong between them. Left out:
retention by time, DeleteRecords within a segment, unclean elections, compaction, transactions (the last stable offset
is the high watermark), a lagging topic of remote log metadata, future logs, remote.log.copy.disable, failures of
uploads and of deletions, and several leaders at a time.
"""

from enum import IntEnum

from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    between,
    bound,
    budget,
    contradiction,
    field,
    optional,
    setting,
    switch,
    terminal,
)

# --------------------------------------------------------------------------------------------------------------- values


class Truth(IntEnum):
    """A Boolean key of Kafka's."""

    FALSE = 0
    TRUE = 1

    @property
    def spelling(self):
        return self.name.lower()


class Seeding(IntEnum):
    """SEEDING: what the leader's retention does about highestOffsetInRemoteStorage before it counts.

    NEVER: it takes the value as it is, -1 in a log that was just loaded. IF_UNKNOWN: it asks the remote log metadata
    if the value is -1 (KAFKA-20732). ALWAYS: it asks each time, so that an old value cannot be used.
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
    """Each election begins one, and each restart of a leader may."""
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
    """The last one may have no room for all its records, and so is never uploaded."""


def up_to_budget(name):
    """The values of a budget's used amount. Budgets up to three share a state layout, and thus a kernel."""
    return between(0, lambda configuration: max(3, getattr(configuration, name)))


class State:
    # Each replica: its log, the records from the local log start to the log end, and what it knows of the rest.
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

    # What was acknowledged: the epoch of each record below the high watermark; how long a leader's log ever was; and
    # before which offset a client has deleted the records.
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
    """Records, elections and faults are numbered, so that a behaviour may end anywhere."""
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
    """The offset after the last record of a segment."""
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
    """The offset to which a follower has to truncate: its log end offset if the logs agree.

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
    """UnifiedLog.truncateTo."""
    for later in range(s.log_size):
        if later >= offset:
            s.epoch_cache[replica][later] = NONE
    s.log_end_offset[replica] = offset
    s.local_log_start_offset[replica] = min(s.local_log_start_offset[replica], offset)
    s.log_start_offset[replica] = min(s.log_start_offset[replica], offset)
    s.producer_state_from[replica] = min(s.producer_state_from[replica], offset)
    s.high_watermark[replica] = min(s.high_watermark[replica], offset)


def truncate_fully_and_start_at(s, replica, offset, log_start_offset):
    """UnifiedLog.truncateFullyAndStartAt: the log is empty, and so are the epoch cache and the producer state."""
    for any_offset in range(s.log_size):
        s.epoch_cache[replica][any_offset] = NONE
    s.log_start_offset[replica] = log_start_offset
    s.local_log_start_offset[replica] = offset
    s.log_end_offset[replica] = offset
    s.high_watermark[replica] = offset
    s.producer_state_from[replica] = offset


def increment_log_start_offset(s, replica, offset):
    """UnifiedLog.maybeIncrementLogStartOffset, which also cuts the epoch cache."""
    if offset > s.log_start_offset[replica]:
        s.log_start_offset[replica] = offset
        s.local_log_start_offset[replica] = max(s.local_log_start_offset[replica], offset)
        s.producer_state_from[replica] = max(s.producer_state_from[replica], offset)
        for earlier in range(s.log_size):
            if earlier < offset:
                s.epoch_cache[replica][earlier] = NONE
