"""What brokers know of clients: which records readers have seen, and which requests of a producer are recognised."""

from isrcheck.models.kafka.state.fields import numbers_from_zero
from isrcheck.models.kafka.state.values import IsolationLevel, TransactionState, UnknownProducer
from isrcheck.models.language import NONE
from isrcheck.models.log import has_entry

# --------------- what readers of a partition can see and have seen: high watermark, last stable offset, aborted records


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
    """The smaller of this replica's first unstable offset and its high watermark. Kafka: Log.lastStableOffset."""
    for offset in range(s.log_size):
        if s.log_start_offset[r] <= offset < s.high_watermark[r] and is_unstable(s, r, offset):
            return offset
    return s.high_watermark[r]


def readable_end_offset(s, r):
    """The offset below which this broker serves a consumer of the configured isolation level: the last stable offset
    for read_committed, otherwise the high watermark."""
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


# ----------------------------------------------------------------------------------------------------- sequence numbers
#
# What a log tells its broker of an idempotent producer, and what the producer has numbered.
#
# Kafka keeps this state for each log (ProducerStateManager, ProducerStateEntry) and computes it from the log's records;
# here it is computed wherever it is needed. There is one producer, whose batches are single records, apart from the
# transactional ones. A new producer id counts as a new epoch: brokers know neither. So does, from 1.0
# to 2.4, a new numbering in the same epoch; but its numbers are compared with those of the numbering before it.


# ------------------------------------------------------------------------------------------------------------ producer


def number(s, record):
    """The producer gives the record the next sequence number of the producer's epoch."""
    s.has_sequence[record] = True


def sequence(s, record):
    """The sequence number of the record in the producer's epoch: the number of records that were numbered before it."""
    return sum(1 for earlier in range(s.records) if earlier < record and s.has_sequence[earlier])


def is_in_flight(s, record):
    """The record has a sequence number but no acknowledgement: the producer waits for an answer or will resend it."""
    return s.has_sequence[record] and not s.acknowledged[record]


def requests_in_flight(s):
    return sum(1 for record in range(s.records) if is_in_flight(s, record))


def is_first_in_flight(s, record):
    """No earlier request of the producer is in flight: requests are sent again in order (RecordAccumulator.drain)."""
    return is_in_flight(s, record) and not any(
        is_in_flight(s, earlier) for earlier in range(s.records) if earlier < record
    )


def is_next(s, record):
    """The record is the next to be sent, and the limit of requests in flight allows it now."""
    return record == s.next_record and requests_in_flight(s) < s.max_in_flight_requests


def may_be_sent(s, record):
    return is_next(s, record) or is_first_in_flight(s, record)


def send(s, record):
    """A request with the record is sent, for the first time or again."""
    if record == s.next_record:
        number(s, record)
        s.next_record += 1


def expected_sequence(s):
    """The sequence number that follows the epoch's last acknowledged one, or 0 (TransactionManager.isNextSequence)."""
    expected = 0
    for record in range(s.records):
        if s.has_sequence[record] and s.acknowledged[record]:
            expected = sequence(s, record) + 1
    return expected


def may_know_leader(s, leader):
    """The producer may regard the broker as the leader. Since 2.2 the producer ignores metadata of a leader epoch that
    is earlier than an epoch of which it has heard (KAFKA-7738)."""
    return not s.STALE_METADATA_IGNORED or s.leader_epoch[leader] >= s.heard_leader_epoch


def hear_of_leader(s, leader):
    """Note that the producer knows the leader's epoch. (A simplification: in Kafka, the producer could still have
    metadata of an earlier epoch, in which the same broker led.)"""
    if s.STALE_METADATA_IGNORED:
        s.heard_leader_epoch = s.leader_epoch[leader]


def hear_of_offset(s, leader, record):
    """Note at which offset the leader has acknowledged the record, unless it was sent under a former producer id.

    Kafka: TransactionManager.handleCompletedBatch (2.3; up to 2.2 without this exception: more requests are given up).
    """
    if numbers_from_zero(s) and s.has_sequence[record]:
        for offset in range(s.log_size):
            if numbered_record(s, leader, offset) == record:
                s.acknowledged_before = max(s.acknowledged_before, offset + 1)


def begin_numbering(s, keeps_epoch, keeps_requests):
    """The producer numbers records from 0 again. With `keeps_epoch`, producer id and epoch stay; with `keeps_requests`,
    the requests in flight get new numbers, otherwise they are given up."""
    if numbers_from_zero(s):
        for record in range(s.records):
            for numbering in range(s.producer_epochs - 1):
                if not keeps_epoch:
                    s.had_sequence[numbering][record] = False
                elif numbering == s.producer_epoch:
                    s.had_sequence[numbering][record] = s.has_sequence[record]
        if not keeps_epoch:
            s.acknowledged_before = 0
    for record in range(s.records):
        s.has_sequence[record] = keeps_requests and is_in_flight(s, record)
    s.producer_epoch += 1


# -------------------------------------------------------------------------------------------------------------- broker


def numbered_record(s, r, offset):
    """The idempotent producer's record at this offset, if the broker has it or remembers it after deletion; or NONE."""
    entry = s.log_record[r][offset]
    if 0 <= entry < s.records and (s.transactions == 0 or s.transaction_of[entry] == NONE):
        return entry
    return s.deleted_record[r][offset] if s.delete_records > 0 else NONE


def last_numbered(s, r):
    """The offset of the producer's last record that the broker has or remembers, or NONE."""
    last = NONE
    for offset in range(s.log_size):
        if numbered_record(s, r, offset) != NONE:
            last = offset
    return last


def is_of_epoch(s, numbering):
    """The numbering (a count of records from 0) is the present one, or an earlier one in the same producer epoch."""
    return numbering == s.producer_epoch or (
        s.delete_records > 0
        and any(
            s.had_sequence[former][record]
            for former in range(s.producer_epochs - 1)
            if former == numbering
            for record in range(s.records)
        )
    )


def former_sequence(s, numbering, record):
    """The sequence number that the record had in an earlier numbering, before the producer began from 0 again."""
    return sum(
        1
        for former in range(s.producer_epochs - 1)
        if former == numbering
        for earlier in range(s.records)
        if earlier < record and s.had_sequence[former][earlier]
    )


def appended_sequence(s, r, offset):
    """The sequence number with which the producer's record at this offset was appended, in the present epoch."""
    if s.log_producer_epoch[r][offset] == s.producer_epoch:
        return sequence(s, numbered_record(s, r, offset))
    return former_sequence(s, s.log_producer_epoch[r][offset], numbered_record(s, r, offset))


def may_begin_with(s, r, first):
    """A broker that does not know the producer accepts `first` as the sequence number of its first record."""
    return (
        first == 0
        or s.UNKNOWN_PID_POLICY == UnknownProducer.ANY_SEQUENCE
        or (s.UNKNOWN_PID_POLICY == UnknownProducer.ANY_UNLESS_EMPTY and s.log_end_offset[r] > 0)
    )


def is_in_sequence(s, r, record):
    """The record has the next sequence number, or a number that the broker accepts from a new epoch or producer id.

    Kafka: ProducerAppendInfo.checkSequence.
    """
    last = last_numbered(s, r)
    if last == NONE:
        return may_begin_with(s, r, sequence(s, record))
    if not is_of_epoch(s, s.log_producer_epoch[r][last]):
        return sequence(s, record) == 0 or (not s.CLIENT_BUMPS_EPOCH and may_begin_with(s, r, sequence(s, record)))
    return sequence(s, record) == appended_sequence(s, r, last) + 1


def is_unknown(s, leader):
    """The leader does not know the producer id, and refuses sequence numbers above 0 with UNKNOWN_PRODUCER_ID."""
    last = last_numbered(s, leader)
    return s.UNKNOWN_PID_POLICY == UnknownProducer.SEQUENCE_ZERO and (
        last == NONE or not (s.CLIENT_BUMPS_EPOCH or is_of_epoch(s, s.log_producer_epoch[leader][last]))
    )


def takes_records_for_deleted(s, leader):
    """The producer concludes from UNKNOWN_PRODUCER_ID that its acknowledged records were deleted (1.0 to 2.4): the
    leader's log starts above all of these records, or no record is acknowledged. Kafka: TransactionManager.canRetry
    (lastAckedOffset, logStartOffset)."""
    if s.CLIENT_BUMPS_EPOCH or not is_unknown(s, leader):
        return False
    if s.delete_records == 0:
        return expected_sequence(s) == 0
    return s.acknowledged_before <= s.log_start_offset[leader]


def takes_records_for_lost(s, leader, record):
    """After the leader has refused `record`, the producer concludes that earlier records are lost.

    After OUT_OF_ORDER_SEQUENCE_NUMBER, it concludes this only if `record` directly follows the last acknowledged one;
    after UNKNOWN_PRODUCER_ID, unless it concludes that its records were deleted. Kafka: TransactionManager.canRetry.
    """
    if is_unknown(s, leader):
        return not takes_records_for_deleted(s, leader)
    return sequence(s, record) == expected_sequence(s)


def is_among_last_batches(s, r, offset):
    """The broker still remembers the batch at `offset`: fewer than `remembered_batches` batches of the producer follow
    it. (The batch is of the producer's latest epoch, so no batch of a later epoch has displaced it.)"""
    return s.remembered_batches > sum(
        1 for later in range(s.log_size) if later > offset and numbered_record(s, r, later) != NONE
    )


def is_kept_by_snapshot(s, r, offset):
    """The batch at `offset` comes after the snapshot that the broker loaded: it was appended or replayed from the log.
    Or it is the last batch up to the snapshot, the only batch that the snapshot keeps."""
    return (
        s.producer_snapshots == 0
        or offset >= s.replayed_from[r]
        or not any(
            numbered_record(s, r, later) != NONE for later in range(s.log_size) if offset < later < s.replayed_from[r]
        )
    )


def recognised_offset(s, r, record):
    """The offset of the first batch in the broker's memory with the epoch and sequence number of the request, or NONE.

    Kafka: ProducerStateEntry.findDuplicateBatch.
    """
    found = NONE
    for offset in range(s.log_size):
        if (
            found == NONE
            and numbered_record(s, r, offset) != NONE
            and is_of_epoch(s, s.log_producer_epoch[r][offset])
            and appended_sequence(s, r, offset) == sequence(s, record)
            and is_among_last_batches(s, r, offset)
            and is_kept_by_snapshot(s, r, offset)
        ):
            found = offset
    return found


def is_remembered(s, r, record):
    """The broker recognises the request as one that it has appended."""
    return recognised_offset(s, r, record) != NONE


def is_refused(s, r, record):
    """The broker does not recognise the record as one that it has appended, and does not append it, now or later."""
    return not is_remembered(s, r, record) and not is_in_sequence(s, r, record)


def is_mistaken(s, r, record):
    """The broker mistakes the request for an earlier one: another record had this sequence number before the producer
    began from 0 again in the same epoch."""
    offset = recognised_offset(s, r, record)
    return offset != NONE and numbered_record(s, r, offset) != record


# ----------------------------------------------------------------------------------------------------------------- log


def cut_producer_state(s, r, end_offset):
    """Rebuild the producer state of a log that is cut at `end_offset`, or loaded, from the last snapshot and the log.

    A snapshot is dropped if it is beyond the log end, or not above the log start. Deleted records are forgotten.
    Kafka: ProducerStateManager.truncateAndReload. Not modelled: older snapshots than the last, and a deleted record
    that a snapshot keeps because only records of transactions follow it.
    """
    if s.enable_idempotence:
        if s.producer_snapshots > 0:
            if not s.log_start_offset[r] < s.snapshot_offset[r] <= end_offset:
                s.snapshot_offset[r] = 0
            s.replayed_from[r] = s.snapshot_offset[r]
        for offset in range(s.log_size):
            if s.delete_records > 0:
                s.deleted_record[r][offset] = NONE
            if not s.log_start_offset[r] <= offset < end_offset:
                s.log_producer_epoch[r][offset] = 0


def delete_producer_records(s, r, log_start_offset):
    """Update the producer's state before records below `log_start_offset` are deleted; since 2.5 a broker still knows
    their producer (KAFKA-7190). A snapshot that is not above the log start will never be loaded.
    """
    if s.enable_idempotence:
        if s.producer_snapshots > 0 and s.snapshot_offset[r] <= log_start_offset:
            s.snapshot_offset[r] = 0
        for offset in range(s.log_size):
            if offset < log_start_offset:
                if s.PRODUCER_STATE_KEPT:
                    s.deleted_record[r][offset] = numbered_record(s, r, offset)
                else:
                    s.log_producer_epoch[r][offset] = 0
