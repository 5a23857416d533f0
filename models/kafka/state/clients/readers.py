"""What readers of a partition can see and have seen: high watermark, last stable offset, aborted records."""

from isrcheck.models.kafka.state.values import IsolationLevel, TransactionState
from isrcheck.models.language import NONE
from isrcheck.models.log import has_entry


def is_record(s, entry):
    """The entry is a record: it is neither NONE nor the marker of a transaction."""
    return 0 <= entry < s.records


def is_in_transaction(s, entry):
    return is_record(s, entry) and s.transaction_of[entry] != NONE


def marker_of(s, transaction):
    """The marker that ends this transaction in a log."""
    return s.records + transaction


def is_unstable(s, r, offset):
    """The entry is a record of a transaction whose marker is not yet below this replica's high watermark.

    Kafka: ProducerStateManager.firstUnstableOffset, over ongoing and unreplicated transactions.
    """
    return is_in_transaction(s, s.log_record[r][offset]) and not any(
        s.log_record[r][later] == marker_of(s, s.transaction_of[s.log_record[r][offset]])
        for later in range(s.log_size)
        if offset < later < s.high_watermark[r]
    )


def last_stable_offset(s, r):
    """min(first unstable offset, high watermark), of this replica's own log. Kafka: Log.lastStableOffset."""
    for offset in range(s.log_size):
        if s.log_start_offset[r] <= offset < s.high_watermark[r] and is_unstable(s, r, offset):
            return offset
    return s.high_watermark[r]


def readable_end_offset(s, r):
    """A consumer of the configured isolation level reads below this offset: the last stable offset, or the high
    watermark, of the broker that serves it."""
    return last_stable_offset(s, r) if s.isolation_level == IsolationLevel.READ_COMMITTED else s.high_watermark[r]


def is_exposed(s, leader, offset):
    """A read_uncommitted reader of this leader receives the entry."""
    return offset < s.high_watermark[leader] and has_entry(s, leader, offset)


def is_exposed_as_committed(s, leader, offset):
    """A read_committed reader of this leader receives the record: it is stable, and its transaction was not aborted."""
    return (
        offset < last_stable_offset(s, leader)
        and is_record(s, s.log_record[leader][offset])
        and (
            s.transaction_of[s.log_record[leader][offset]] == NONE
            or s.transaction_state[s.transaction_of[s.log_record[leader][offset]]] == TransactionState.COMMITTED
        )
    )


def is_read(s, leader, offset):
    """A reader of the configured isolation level receives the leader's entry at `offset`."""
    if s.isolation_level == IsolationLevel.READ_COMMITTED and s.transactions > 0:
        return is_exposed_as_committed(s, leader, offset)
    return is_exposed(s, leader, offset)


def first_read(s, offset):
    """The first record that a reader of the configured isolation level could read at `offset`, or NONE."""
    if s.isolation_level == IsolationLevel.READ_COMMITTED and s.transactions > 0:
        return s.read_committed_record[offset]
    return s.exposed_record[offset]


def expose(s, leader):
    """Entries below the leader's high watermark become readable; the first readable entry at each offset is
    recorded.
    """
    for offset in range(s.log_size):
        if is_exposed(s, leader, offset) and s.exposed_record[offset] == NONE:
            s.exposed_record[offset] = s.log_record[leader][offset]
    if s.transactions > 0:
        for offset in range(s.log_size):
            if is_exposed_as_committed(s, leader, offset) and s.read_committed_record[offset] == NONE:
                s.read_committed_record[offset] = s.log_record[leader][offset]
