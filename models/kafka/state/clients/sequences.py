"""Sequence numbers: what a log tells its broker of an idempotent producer, and what the producer has numbered.

Kafka keeps this state for each log (ProducerStateManager, ProducerStateEntry) and computes it from the log's records;
here it is computed wherever it is needed. There is one producer, whose batches are single records, besides the
transactional ones (transactions.py). A new producer id counts as a new epoch: brokers know neither.
"""

from isrcheck.models.kafka.state.values import UnknownProducer
from isrcheck.models.language import NONE

# ------------------------------------------------------------------------------------------------------------ producer


def number(s, record):
    """The producer gives the record the next sequence number of its epoch."""
    s.has_sequence[record] = True


def sequence(s, record):
    """The sequence number of the record in the producer's epoch: how many records were numbered before it."""
    return sum(1 for earlier in range(s.records) if earlier < record and s.has_sequence[earlier])


def is_in_flight(s, record):
    """The producer waits for an answer, or will send the record again. What it has given up is not numbered anew."""
    return s.has_sequence[record] and not s.acknowledged[record]


def requests_in_flight(s):
    return sum(1 for record in range(s.records) if is_in_flight(s, record))


def is_first_in_flight(s, record):
    """Requests are sent again in order, each after the one before it was answered (RecordAccumulator.drain)."""
    return is_in_flight(s, record) and not any(
        is_in_flight(s, earlier) for earlier in range(s.records) if earlier < record
    )


def is_next_expected(s, record):
    """No later record of the epoch was acknowledged (TransactionManager.isNextSequence)."""
    return not any(s.acknowledged[later] and s.has_sequence[later] for later in range(s.records) if later > record)


def may_know_leader(s, leader):
    """The producer may take the broker for the leader. Since 2.2 it ignores metadata of an earlier leader epoch than it
    has heard of (KAFKA-7738)."""
    return not s.STALE_METADATA_IGNORED or s.leader_epoch[leader] >= s.heard_leader_epoch


def hear_of_leader(s, leader):
    """The producer is taken to know the leader's epoch; its metadata could still be of an earlier one, in which the
    same broker led."""
    if s.STALE_METADATA_IGNORED:
        s.heard_leader_epoch = s.leader_epoch[leader]


# -------------------------------------------------------------------------------------------------------------- broker


def numbered_record(s, r, offset):
    """The record of the idempotent producer that the broker knows of at this offset, or NONE."""
    entry = s.log_record[r][offset]
    if 0 <= entry < s.records and (s.transactions == 0 or s.transaction_of[entry] == NONE):
        return entry
    return s.deleted_record[r][offset] if s.delete_records > 0 else NONE


def last_numbered(s, r):
    """The offset of the last record of the producer that the broker knows of, or NONE."""
    last = NONE
    for offset in range(s.log_size):
        if numbered_record(s, r, offset) != NONE:
            last = offset
    return last


def may_begin_with(s, r, first):
    """A broker that does not know the producer accepts this sequence number."""
    return (
        first == 0
        or s.UNKNOWN_PID_POLICY == UnknownProducer.ANY_SEQUENCE
        or (s.UNKNOWN_PID_POLICY == UnknownProducer.ANY_UNLESS_EMPTY and s.log_end_offset[r] > 0)
    )


def continues(s, r, record):
    """The record has the next sequence number, or begins a new epoch; a new producer id is unknown to the broker.

    Kafka: ProducerAppendInfo.checkSequence.
    """
    last = last_numbered(s, r)
    if last == NONE:
        return may_begin_with(s, r, sequence(s, record))
    if s.log_producer_epoch[r][last] != s.producer_epoch:
        return sequence(s, record) == 0 or (not s.CLIENT_BUMPS_EPOCH and may_begin_with(s, r, sequence(s, record)))
    return sequence(s, record) == sequence(s, numbered_record(s, r, last)) + 1


def is_among_last_batches(s, r, offset):
    """The batch has not been displaced by as many later ones as are remembered. Those of the producer's epoch are never
    displaced by a later epoch, because there is none."""
    return s.remembered_batches > sum(
        1 for later in range(s.log_size) if later > offset and numbered_record(s, r, later) != NONE
    )


def is_kept_by_snapshot(s, r, offset):
    """The batch was appended, or replayed from the log, since a snapshot was loaded, or is the last one before that:
    a snapshot has no other."""
    return (
        s.producer_snapshots == 0
        or offset >= s.replayed_from[r]
        or not any(
            numbered_record(s, r, later) != NONE for later in range(s.log_size) if offset < later < s.replayed_from[r]
        )
    )


def is_remembered(s, r, record):
    """The broker recognises the request as one that it has appended. Kafka: ProducerStateEntry.findDuplicateBatch."""
    return any(
        numbered_record(s, r, offset) == record
        and s.log_producer_epoch[r][offset] == s.producer_epoch
        and is_among_last_batches(s, r, offset)
        and is_kept_by_snapshot(s, r, offset)
        for offset in range(s.log_size)
    )


# ----------------------------------------------------------------------------------------------------------------- log


def cut_producer_state(s, r, end_offset):
    """The log is cut at `end_offset`, or loaded: the state is built anew, from the last snapshot and the log behind it.

    A snapshot from beyond the log end, or not from above the log start, is dropped: what was deleted is forgotten.
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
    """Records below `log_start_offset` are about to be deleted; since 2.5 their producer is remembered (KAFKA-7190).

    A snapshot that does not lie above the log start will never be loaded.
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
