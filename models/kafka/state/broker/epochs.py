"""The cache of leader epochs that every broker keeps beside its log, since 0.11 (LeaderEpochFileCache).

`epoch_cache[r][epoch]` is the offset at which this epoch starts in the log of r, as far as r knows, or NONE. Entries
are ordered by epoch; their offsets never decrease.
"""

from isrcheck.models.kafka.state.values import EpochBelowFirstEntry, EpochCacheAssign, Truncation
from isrcheck.models.language import NONE


def latest_epoch(s, r):
    """The epoch of the last entry, or NONE."""
    latest = NONE
    for epoch in range(s.elections + 1):
        if s.epoch_cache[r][epoch] != NONE:
            latest = epoch
    return latest


def _latest_start_offset(s, r):
    start_offset = NONE
    for epoch in range(s.elections + 1):
        if s.epoch_cache[r][epoch] != NONE:
            start_offset = s.epoch_cache[r][epoch]
    return start_offset


def first_start_offset_above(s, r, epoch):
    """The start offset of the first entry of a later epoch, or NONE."""
    for later in range(s.elections + 1):
        if later > epoch and s.epoch_cache[r][later] != NONE:
            return s.epoch_cache[r][later]
    return NONE


def largest_epoch_up_to(s, r, epoch):
    """The largest cached epoch that is not later than `epoch`, or NONE."""
    largest = NONE
    for earlier in range(s.elections + 1):
        if earlier <= epoch and s.epoch_cache[r][earlier] != NONE:
            largest = earlier
    return largest


def is_answered(s, r, epoch):
    """Whether r can answer where `epoch` ends in its log. Kafka: LeaderEpochFileCache.endOffsetFor.

    NONE has no end; but up to 1.1 it was compared with the latest epoch first, so a leader whose cache is empty answers
    a follower whose cache is empty with its log end.
    """
    if epoch == NONE:
        return s.TRUNC == Truncation.KIP101 and latest_epoch(s, r) == NONE
    return epoch == latest_epoch(s, r) or (
        first_start_offset_above(s, r, epoch) != NONE
        and (
            largest_epoch_up_to(s, r, epoch) != NONE
            or s.EPOCH_BELOW_FIRST_ENTRY == EpochBelowFirstEntry.FIRST_START_OFFSET
        )
    )


def end_offset_for(s, r, epoch):
    """Where the largest epoch up to `epoch` ends in the log of r; defined only if `is_answered`."""
    # An answer is an offset, never NONE; proofs for every length cannot derive that from the caches.
    return s.log_end_offset[r] if epoch == latest_epoch(s, r) else max(0, first_start_offset_above(s, r, epoch))


def epoch_for(s, r, epoch):
    """The epoch that the answer names: the largest one up to `epoch`, or `epoch` itself below the first entry."""
    largest = largest_epoch_up_to(s, r, epoch)
    return epoch if largest == NONE else largest


def assign_epoch(s, r, epoch, start_offset):
    """Enter an epoch at its start offset. Kafka: LeaderEpochFileCache.assign (before record format 2: no effect).

    The newer version drops entries that contradict the new one; the older version drops the new entry (KAFKA-7415).
    """
    if s.TRUNC != Truncation.HW:
        latest = latest_epoch(s, r)
        latest_start_offset = _latest_start_offset(s, r)
        if s.EPOCH_CACHE_ASSIGN == EpochCacheAssign.APPEND_ONLY:
            if epoch > latest and start_offset >= latest_start_offset:
                s.epoch_cache[r][epoch] = start_offset
        elif epoch != latest or start_offset < latest_start_offset:
            for other in range(s.elections + 1):
                if other >= epoch or s.epoch_cache[r][other] >= start_offset:
                    s.epoch_cache[r][other] = NONE
            s.epoch_cache[r][epoch] = start_offset


def drop_epochs_from(s, r, end_offset):
    """Forget epochs that start at `end_offset` or later. Kafka: truncateFromEnd."""
    for epoch in range(s.elections + 1):
        if s.epoch_cache[r][epoch] >= end_offset:
            s.epoch_cache[r][epoch] = NONE


def raise_epochs_to(s, r, log_start_offset):
    """Forget epochs up to `log_start_offset`, but let the last of them start there. Kafka: truncateFromStart."""
    last_dropped = NONE
    for epoch in range(s.elections + 1):
        if s.epoch_cache[r][epoch] != NONE and s.epoch_cache[r][epoch] <= log_start_offset:
            last_dropped = epoch
            s.epoch_cache[r][epoch] = NONE
    if last_dropped != NONE:
        s.epoch_cache[r][last_dropped] = log_start_offset
