"""What a log says, and what a read_committed reader of it receives.

The markers of one transactional.id end one transaction after the other: the records since the previous marker belong to
the transaction, for this log, that the next marker ends.
"""

from isrcheck.models.transactions.values import Entry


def record_of(s, transaction):
    """The log entry with the record of this transaction."""
    return Entry.A + transaction


def holds(s, p, transaction):
    return any(s.log_record[p][offset] == record_of(s, transaction) for offset in range(s.log_size))


def is_record(s, p, offset):
    return s.log_record[p][offset] >= Entry.A


def is_marker(s, p, offset):
    return s.log_record[p][offset] == Entry.COMMIT or s.log_record[p][offset] == Entry.ABORT


def is_open(s, p):
    """The log ends with records that no marker has ended: the partition has an ongoing transaction."""
    return any(offset + 1 == s.log_end_offset[p] and is_record(s, p, offset) for offset in range(s.log_size))


def is_ended_by(s, p, offset, marker):
    """The first marker after this offset is this one."""
    return any(
        s.log_record[p][later] == marker
        and not any(is_marker(s, p, between) for between in range(s.log_size) if offset < between < later)
        for later in range(s.log_size)
        if offset < later
    )


def is_unstable(s, p, offset):
    """The entry is a record whose marker is not yet below the high watermark: it is undecided here, or unreplicated.

    Kafka: ProducerStateManager.firstUnstableOffset.
    """
    return is_record(s, p, offset) and not any(
        is_marker(s, p, later) for later in range(s.log_size) if offset < later < s.high_watermark[p]
    )


def last_stable_offset(s, p):
    """min(first unstable offset, high watermark). Kafka: UnifiedLog.lastStableOffset."""
    for offset in range(s.log_size):
        if offset < s.high_watermark[p] and is_unstable(s, p, offset):
            return offset
    return s.high_watermark[p]


def is_visible_at(s, p, offset):
    """A read_committed reader receives the record at this offset."""
    return offset < last_stable_offset(s, p) and is_record(s, p, offset) and is_ended_by(s, p, offset, Entry.COMMIT)


def is_visible(s, p, transaction):
    return any(
        s.log_record[p][offset] == record_of(s, transaction) and is_visible_at(s, p, offset)
        for offset in range(s.log_size)
    )


def is_aborted(s, p, transaction):
    return any(
        s.log_record[p][offset] == record_of(s, transaction) and is_ended_by(s, p, offset, Entry.ABORT)
        for offset in range(s.log_size)
    )


def holds_offsets(s, p):
    """The partition is the one of `__consumer_offsets`: the last."""
    return p == s.partitions - 1


def committed_offset(s):
    """The next input, by the last offset that is committed in `__consumer_offsets`, the last partition."""
    for back in range(s.log_size):
        for transaction in range(s.transactions):
            if s.log_record[s.partitions - 1][s.log_size - 1 - back] == record_of(s, transaction) and is_visible_at(
                s, s.partitions - 1, s.log_size - 1 - back
            ):
                return s.processed_input[transaction] + 1
    return 0


def is_appended_and_replicated(s, p, transaction):
    """The record was acknowledged (acks=all): it is below the high watermark."""
    return any(
        s.log_record[p][offset] == record_of(s, transaction) and offset < s.high_watermark[p]
        for offset in range(s.log_size)
    )


def nothing_is_held_back(s, p):
    """Readers of both isolation levels receive everything."""
    return last_stable_offset(s, p) == s.log_end_offset[p]
