"""What a broker keeps on its disk: its log, and beside it the cache of leader epochs.

Kafka's logs add to models/log.py a log start offset that can move, and truncation with side effects. The cache of
leader epochs exists since 0.11 (LeaderEpochFileCache): `epoch_cache[r][epoch]` is the offset at which this epoch starts
in the log of r, as far as r knows, or NONE. Entries are ordered by epoch; their offsets never decrease.
"""

from isrcheck.models.kafka.state.clients import cut_producer_state, delete_producer_records
from isrcheck.models.kafka.state.values import Controller, EpochBelowFirstEntry, EpochCacheAssign, Truncation
from isrcheck.models.language import NONE
from isrcheck.models.log import append_entry, cut_log


def latest_epoch(s, r):
    """The latest epoch in the cache of r, or NONE."""
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
    """The start offset of the first epoch in the cache that is later than `epoch`, or NONE."""
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

    No end is known for the epoch NONE, which a follower with an empty cache asks for. An exception up to 1.1: a leader
    whose cache is empty as well takes NONE for its latest epoch, and answers with its log end.
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
    """The epoch in r's answer about `epoch`: the largest cached epoch up to `epoch`; `epoch` itself if
    r caches no such epoch."""
    largest = largest_epoch_up_to(s, r, epoch)
    return epoch if largest == NONE else largest


def assign_epoch(s, r, epoch, start_offset):
    """Enter an epoch at its start offset. Kafka: LeaderEpochFileCache.assign (before record format 2: no effect).

    If entries contradict the new one, newer versions drop these entries; older ones drop the new entry (KAFKA-7415).
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
    """Of epochs that start up to `log_start_offset`, keep the last, and start it there. Kafka: truncateFromStart."""
    last_dropped = NONE
    for epoch in range(s.elections + 1):
        if s.epoch_cache[r][epoch] != NONE and s.epoch_cache[r][epoch] <= log_start_offset:
            last_dropped = epoch
            s.epoch_cache[r][epoch] = NONE
    if last_dropped != NONE:
        s.epoch_cache[r][last_dropped] = log_start_offset


# ------------------------------------------------------------------------------------------------------------------ log
#
# Kafka's additions to the vocabulary of a log: a log start that can move, and truncation with its side effects.


def has_flushed_point(s):
    return s.CONTROLLER == Controller.KRAFT or s.flush_interval_messages > 0


def note_flush(s, r):
    """Note that the whole log is on disk: after a clean shutdown, or after an append if each record is flushed."""
    if has_flushed_point(s):
        s.flushed_offset[r] = s.log_end_offset[r]


def holds_record(s, r, record):
    return any(s.log_record[r][offset] == record for offset in range(s.log_size))


def append_to_log(s, r, record, epoch):
    """Append one entry, as a leader or as a follower. Kafka: Log.append."""
    assign_epoch(s, r, epoch, s.log_end_offset[r])
    append_entry(s, r, record, epoch)
    if s.flush_interval_messages > 0:
        note_flush(s, r)


def clamp_high_watermark(s, r):
    """Keep the high watermark within the log. Up to 2.1 nothing does this: the high watermark is stored apart.

    Kafka: Log.updateHighWatermark, since 2.4 for a truncated log, since 2.6 for a log that restarts (KAFKA-9491). One
    switch of the model covers both cases.
    """
    if s.HW_CLAMPED_AT_TRUNCATION:
        s.high_watermark[r] = max(s.log_start_offset[r], min(s.high_watermark[r], s.log_end_offset[r]))


def truncate_log(s, r, end_offset):
    """Cut a log at `end_offset`. Kafka: Log.truncateTo; up to 2.1 the high watermark stays unchanged.

    If nothing is cut, an epoch that starts at the log end is forgotten only since 2.7 (KAFKA-10706).
    """
    if end_offset < s.log_end_offset[r] or s.EPOCH_ENTRY_AT_END_DROPPED:
        drop_epochs_from(s, r, min(end_offset, s.log_end_offset[r]))
    if end_offset < s.log_end_offset[r]:
        cut_producer_state(s, r, end_offset)
    cut_log(s, r, end_offset)
    s.log_start_offset[r] = min(s.log_start_offset[r], s.log_end_offset[r])
    if has_flushed_point(s):
        s.flushed_offset[r] = min(s.flushed_offset[r], s.log_end_offset[r])
    clamp_high_watermark(s, r)


def begin_to_follow(s, r):
    """Start to reconcile a new follower's log with its leader's log, before the follower fetches.

    Up to 0.10 the follower truncates to its own high watermark at once; because this high watermark lags, the removed
    records may be committed. From 0.11 on it is Truncating until its leader has answered (reconciliation.py). Since 2.7
    it fetches at once, and the leader says where the logs diverge; only a log without any epoch is truncated here.
    """
    if s.TRUNC == Truncation.HW or (s.TRUNC == Truncation.ON_FETCH and latest_epoch(s, r) == NONE):
        truncate_log(s, r, s.high_watermark[r])
    elif s.TRUNC != Truncation.ON_FETCH:
        s.is_truncating[r] = True


def start_log_at(s, r, offset):
    """Drop the whole log and restart it at `offset`. Kafka: Log.truncateFullyAndStartAt.

    Up to 2.1 the high watermark stays below the new log start, until the next response.
    """
    cut_producer_state(s, r, 0)
    cut_log(s, r, 0)
    drop_epochs_from(s, r, 0)
    s.log_start_offset[r] = offset
    s.log_end_offset[r] = offset
    note_flush(s, r)
    clamp_high_watermark(s, r)


def raise_log_start(s, r, log_start_offset):
    """Delete records below `log_start_offset`. Kafka: Log.maybeIncrementLogStartOffset."""
    if log_start_offset > s.log_start_offset[r]:
        delete_producer_records(s, r, log_start_offset)
        for offset in range(s.log_size):
            if offset < log_start_offset:
                s.log_record[r][offset] = NONE
                s.log_epoch[r][offset] = NONE
        s.log_start_offset[r] = log_start_offset
        raise_epochs_to(s, r, log_start_offset)
