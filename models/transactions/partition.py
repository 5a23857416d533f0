"""The partitions: each appends records and markers to its log, and its high watermark follows.

Replication loses nothing here: one log stands for all replicas, and its high watermark may lag. The model `kafka` has
the rest. Kafka: UnifiedLog.analyzeAndValidateProducerState, ProducerAppendInfo.
"""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.transactions.log import (
    begin_write,
    holds,
    holds_offsets,
    is_idle,
    is_open,
    is_over,
    is_prepared,
    record_of,
)
from isrcheck.models.transactions.state import Partition, Transaction
from isrcheck.models.transactions.values import TransactionState, Verification


def append(s, p, entry):
    for offset in range(s.log_size):
        if offset == s.log_end_offset[p]:
            s.log_record[p][offset] = entry
    s.log_end_offset[p] += 1


def is_in_flight(s, p, transaction):
    """The record of `transaction` was sent to `p`, and is not in the log of `p` yet, so it may arrive at any time.

    A copy of the record is answered as a duplicate. Left out: the leader of `__consumer_offsets` appends a copy again.
    """
    return s.was_sent[p][transaction] and not holds(s, p, transaction)


def precedes(s, p, earlier, transaction):
    """The record of `earlier` was sent to `p` before the record of `transaction`, and with the same epoch."""
    return (
        earlier < transaction
        and s.was_sent[p][earlier]
        and s.begun_with_epoch[earlier] == s.begun_with_epoch[transaction]
    )


def last_batch(s, p, transaction):
    """Return the transaction of the last record with the epoch of `transaction` that `p` still knows, or NONE."""
    for back in range(s.log_size):
        for other in range(s.transactions):
            if (
                s.forgotten_below[p] <= s.log_size - 1 - back
                and s.log_record[p][s.log_size - 1 - back] == record_of(s, other)
                and s.begun_with_epoch[other] == s.begun_with_epoch[transaction]
            ):
                return other
    return NONE


def has_expected_sequence(s, p, transaction):
    """The record has the sequence number that `p` expects. A record that was given up has used its number, too.

    Kafka: ProducerAppendInfo.checkSequence. A partition without state of the producer expects 0, and since 2.5 accepts
    any number. A partition that knows the epoch only from a marker expects 0. Committed offsets have no sequence
    number: the group coordinator appends them (AppendOrigin.COORDINATOR).
    """
    if holds_offsets(s, p):
        return True
    if s.known_epoch[p] == NONE:
        return s.UNKNOWN_PID_ACCEPTED or not any(
            precedes(s, p, earlier, transaction) for earlier in range(s.transactions)
        )
    last = last_batch(s, p, transaction)
    return last < transaction and not any(
        last < earlier and precedes(s, p, earlier, transaction) for earlier in range(s.transactions)
    )


def asks_before_appending(s, p, transaction):
    """The leader must ask the coordinator before it appends this record: it is the first of its transaction (KIP-890).

    In 3.6, the leader asks only about records that a producer sends itself, and not about offsets, which come from the
    group coordinator (KAFKA-15449). Up to 3.9, if the producer has an open transaction in the partition, a record of
    any epoch counts as part of this transaction, so the leader does not ask.
    """
    return (
        s.TXN_VERIFY != Verification.OFF
        and (s.OFFSET_COMMITS_VERIFIED or not holds_offsets(s, p))
        and not (is_open(s, p) and (not s.ONGOING_PER_EPOCH or s.known_epoch[p] == s.begun_with_epoch[transaction]))
    )


@action(shows="{transaction} at {partition}")
def leader_adds_partition(s, partition: Partition, transaction: Transaction):
    """With TV2, the leader asks the coordinator to add the partition to the transaction of a record that came."""
    require(s.TXN_VERIFY == Verification.TV2)
    require(is_in_flight(s, partition, transaction))
    require(asks_before_appending(s, partition, transaction))
    require(s.begun_with_epoch[transaction] == s.producer_epoch)
    require(is_idle(s) and not is_prepared(s))
    require(is_over(s) or not s.in_transaction[partition])
    begin_write(s, TransactionState.ONGOING, s.producer_epoch)
    s.pending_partition = partition


@action(shows="{transaction} at {partition}")
def leader_verifies_transaction(s, partition: Partition, transaction: Transaction):
    """The coordinator confirms that the transaction with the record's epoch is ongoing and contains the partition.

    The leader may append the record unless a marker or another record comes first (VerificationGuard).
    """
    require(is_in_flight(s, partition, transaction))
    require(asks_before_appending(s, partition, transaction))
    require(s.verified[partition] != transaction)
    require(s.begun_with_epoch[transaction] == s.producer_epoch)
    require(is_idle(s) and s.transaction_state == TransactionState.ONGOING)
    require(s.in_transaction[partition])
    s.verified[partition] = transaction


@action(shows="{transaction} at {partition}")
def leader_appends_record(s, partition: Partition, transaction: Transaction):
    """The leader appends a record, perhaps a late one: it knows only the epochs that it has seen in this partition.

    Kafka's errors for other records: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE.
    """
    require(is_in_flight(s, partition, transaction))
    require(s.begun_with_epoch[transaction] >= s.known_epoch[partition])
    require(has_expected_sequence(s, partition, transaction))
    require(not asks_before_appending(s, partition, transaction) or s.verified[partition] == transaction)
    append(s, partition, record_of(s, transaction))
    s.known_epoch[partition] = s.begun_with_epoch[transaction]
    s.verified[partition] = NONE


@action(shows="{partition}")
def followers_fetch(s, partition: Partition):
    """The followers have fetched everything: the high watermark reaches the log end offset."""
    require(s.high_watermark[partition] < s.log_end_offset[partition])
    s.high_watermark[partition] = s.log_end_offset[partition]


@action(shows="{partition}")
def producer_state_expires(s, partition: Partition):
    """The partition forgets the producer and the coordinator's epoch, although the producer's last marker is recent.

    KAFKA-9144: only the timestamps of records kept this state alive. Since the repair, the state lives for at least a
    day after a marker.
    """
    require(s.PRODUCER_STATE_EXPIRES_EARLY)
    require(s.expirations_left > 0)
    require(s.known_epoch[partition] != NONE and not is_open(s, partition))
    s.expirations_left -= 1
    s.forgotten_below[partition] = s.log_end_offset[partition]
    s.known_epoch[partition] = NONE
    s.known_coordinator_epoch[partition] = NONE
    s.verified[partition] = NONE
