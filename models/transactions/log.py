"""The content of logs: those of the partitions and their read_committed readers, and the coordinator's own."""

from isrcheck.models.language import NONE
from isrcheck.models.transactions.values import Entry, Marker, Outcome, Phase, Request, TransactionState

# -------------------------------------------------------------------------------------------------------------- readers
#
# What a log says, and what a read_committed reader of it receives.
#
# The markers of one transactional.id end one transaction after the other: the records since the previous marker belong
# to the transaction, for this log, that the next marker ends.


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
    """The log of partition `p` ends with a record, not with a marker: the partition has an ongoing transaction."""
    return any(offset + 1 == s.log_end_offset[p] and is_record(s, p, offset) for offset in range(s.log_size))


def is_ended_by(s, p, offset, marker):
    """The first marker after this offset in the partition's log is `marker`."""
    return any(
        s.log_record[p][later] == marker
        and not any(is_marker(s, p, between) for between in range(s.log_size) if offset < between < later)
        for later in range(s.log_size)
        if offset < later
    )


def is_unstable(s, p, offset):
    """The entry is a record whose marker is missing in this log, or not yet below the high watermark.

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
    """The partition belongs to `__consumer_offsets`: it is the last one."""
    return p == s.partitions - 1


def committed_offset(s):
    """The number of the next input: the last committed offset in `__consumer_offsets`, the last partition; else 0."""
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
    """The last stable offset is the log end: readers of both isolation levels receive all records."""
    return last_stable_offset(s, p) == s.log_end_offset[p]


# ------------------------------------------------------------------------------------------------ the coordinator's log
#
# The coordinator's own log: every transition is appended to it, and takes effect once the append is replicated.
#
# `__transaction_state` is replicated like every partition (the model `kafka`); here, an append succeeds in one step, or
# the coordinator moves before. While one is pending, other requests are answered with CONCURRENT_TRANSACTIONS.


def is_idle(s):
    """The coordinator is not appending a transition to its log."""
    return s.pending_state == TransactionState.NOTHING


def is_prepared(s):
    """The outcome of the transaction is decided, and the partitions have not yet got all of their markers."""
    return (
        s.transaction_state == TransactionState.PREPARE_COMMIT or s.transaction_state == TransactionState.PREPARE_ABORT
    )


def decided_request(s):
    """The outcome that a marker of the prepared transaction carries."""
    return Request.COMMIT if s.transaction_state == TransactionState.PREPARE_COMMIT else Request.ABORT


def is_over(s):
    """No transaction is in progress: a new one, or a new instance of the producer, can begin."""
    return (
        s.transaction_state == TransactionState.EMPTY
        or s.transaction_state == TransactionState.COMPLETE_COMMIT
        or s.transaction_state == TransactionState.COMPLETE_ABORT
    )


def is_exhausted(s, epoch):
    """After `epoch`, the producer id has no epoch left for a producer. Kafka: TransactionMetadata.isEpochExhausted."""
    return s.producer_epochs > 0 and s.producer_epochs - 1 <= epoch and epoch <= s.producer_epochs


def is_highest(s, epoch):
    """`epoch` is the highest epoch of the first producer id (Short.MAX_VALUE), which is reserved for a fence."""
    return s.producer_epochs > 0 and epoch == s.producer_epochs


def first_epoch_of_next_id(s):
    """Epoch 0 of the next producer id, numbered after the highest epoch of the first producer id."""
    return s.producer_epochs + 1


def epoch_at_end(s):
    """The producer's epoch once the prepared transaction is complete. Kafka: TransactionMetadata.prepareComplete."""
    if s.producer_epochs > 0 and is_prepared(s) and s.knows_other_id[0]:
        return first_epoch_of_next_id(s)
    return s.producer_epoch


def forget_next_id(s):
    """After a fail-over, forget the other producer id, unless the log contains it (only since 4.4; KAFKA-20310)."""
    if s.producer_epochs > 0:
        s.knows_other_id[0] = s.knows_other_id[0] and s.NEXT_ID_IS_LOGGED and changes_id(s)


def changes_id(s):
    """The end of the prepared transaction takes the next producer id, or the end of the last transaction took it."""
    return (is_prepared(s) and is_highest(s, s.producer_epoch)) or (
        (
            s.transaction_state == TransactionState.COMPLETE_COMMIT
            or s.transaction_state == TransactionState.COMPLETE_ABORT
        )
        and s.producer_epoch == first_epoch_of_next_id(s)
    )


def begin_write(s, state, epoch):
    s.pending_state = state
    s.pending_epoch = epoch


def last_begun_with(s, epoch):
    """The last transaction that was begun with this epoch, or NONE."""
    for back in range(s.transactions):
        if s.begun_with_epoch[s.transactions - 1 - back] == epoch:
            return s.transactions - 1 - back
    return NONE


def decide(s, decided):
    """Note `decided` as the outcome of the transaction that is ongoing at the coordinator."""
    ongoing = last_begun_with(s, s.producer_epoch)
    for transaction in range(s.transactions):
        if transaction == ongoing:
            s.outcome[transaction] = decided


def forget_pending(s):
    s.pending_state = TransactionState.NOTHING
    s.pending_epoch = 0
    s.pending_partition = NONE
    s.pending_producer = NONE


def apply_pending(s):
    """The pending transition becomes the coordinator's state."""
    if s.pending_state == TransactionState.PREPARE_COMMIT:
        decide(s, Outcome.COMMITTED)
    if s.pending_state == TransactionState.PREPARE_ABORT:
        decide(s, Outcome.ABORTED)
    for p in range(s.partitions):
        if s.pending_state == TransactionState.ONGOING:
            s.in_transaction[p] = s.in_transaction[p] or p == s.pending_partition
        if s.pending_state == TransactionState.COMPLETE_COMMIT or s.pending_state == TransactionState.COMPLETE_ABORT:
            s.in_transaction[p] = False
            s.marker[p] = Marker.NOT_SENT
    s.transaction_state = s.pending_state
    s.producer_epoch = s.pending_epoch
    if s.producer_epochs > 0:
        s.knows_other_id[0] = s.knows_other_id[0] and changes_id(s)


def answer_new_producer(s):
    """InitProducerId is answered: the instance has its epoch, and goes on from the committed offset.

    A transition that InitProducerId did not request names no producer, so nothing changes.
    """
    for i in range(s.producers):
        if i == s.pending_producer and s.phase[i] == Phase.INITIALISING:
            s.epoch[i] = s.pending_epoch
            s.phase[i] = Phase.READY
            s.position[i] = committed_offset(s)
