"""A replica's log: its offsets, and its leader epoch cache. Kafka: UnifiedLog, LeaderEpochFileCache."""

from isrcheck.models.language import NONE


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
