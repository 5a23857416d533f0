"""Kafka's additions to the vocabulary of a log: a log start that can move, and truncation with its side effects."""

from isrcheck.models.kafka.state.broker.epochs import assign_epoch, drop_epochs_from, latest_epoch, raise_epochs_to
from isrcheck.models.kafka.state.clients.sequences import cut_producer_state, delete_producer_records
from isrcheck.models.kafka.state.values import Controller, Truncation
from isrcheck.models.language import NONE
from isrcheck.models.log import append_entry, cut_log


def has_flushed_point(s):
    return s.CONTROLLER == Controller.KRAFT or s.flush_interval_messages > 0


def note_flush(s, r):
    """Everything in the log is on disk: after a clean shutdown, and at once if every record is flushed."""
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
    """Keep the high watermark within the log. Up to 2.1 nothing does: it is stored apart from the log.

    Kafka: Log.updateHighWatermark (2.4); for a log that restarts, since 2.6 (KAFKA-9491); the model does not
    distinguish the two.
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
    """Before it fetches, a follower has to reconcile its log with the leader's.

    Up to 0.10 it truncates to its own high watermark at once; because its high watermark lags, the removed records may
    be committed. From 0.11 on it is Truncating until its leader has answered (reconciliation.py). Since 2.7 it fetches
    at once, and the leader says where their logs diverge; only a log without any epoch is truncated here.
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
