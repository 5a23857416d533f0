"""The actions of clients: producers, with and without idempotence, transactions, and consumers."""

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state.broker import (
    advance_high_watermark,
    answer_producers,
    has_enough_replicas,
    is_not_fenced,
    note_append,
    presumes_leadership,
    reads_from,
)
from isrcheck.models.kafka.state.clients import (
    begin_numbering,
    expected_sequence,
    hear_of_leader,
    is_first_in_flight,
    is_in_sequence,
    is_mistaken,
    is_next,
    is_read,
    is_record,
    is_refused,
    marker_of,
    may_be_sent,
    may_know_leader,
    number,
    numbered_record,
    readable_end_offset,
    recognised_offset,
    requests_in_flight,
    send,
    takes_records_for_deleted,
    takes_records_for_lost,
)
from isrcheck.models.kafka.state.fields import (
    Consumer,
    DeletingReplica,
    NumberedRecord,
    NumberedReplica,
    RackAwareConsumer,
    Record,
    Replica,
    SnapshotReplica,
    Transaction,
)
from isrcheck.models.kafka.state.log import append_to_log, end_offset_for, epoch_for, holds_record, is_answered
from isrcheck.models.kafka.state.values import AutoOffsetReset, PositionCheck, TransactionState
from isrcheck.models.language import NONE, action, require
from isrcheck.models.log import has_entry

# ------------------------------------------------------------------------------------------------------------- producer
#
# The actions of the producer: it sends its records in order to a broker that presumes leadership, and may retry them.
#
# Several requests can be in flight; a request that is not answered in time is given up, or sent again. Without
# idempotence, a broker cannot recognise a request that was sent again; with it, it does.


def append_record(s, leader, record):
    append_to_log(s, leader, record, s.leader_epoch[leader])
    note_append(s, leader, record)
    advance_high_watermark(s, leader)


def append_numbered(s, leader, record):
    """Append a record of the idempotent producer, in the producer's current epoch."""
    hear_of_leader(s, leader)
    s.log_producer_epoch[leader][s.log_end_offset[leader]] = s.producer_epoch
    append_record(s, leader, record)


def may_send(s, leader):
    """The producer may send its next record, and the leader does not refuse the sequence number. A producer without
    idempotence may always send; an idempotent producer, only while it has few enough requests in flight."""
    return not s.enable_idempotence or (
        requests_in_flight(s) < s.max_in_flight_requests
        and may_know_leader(s, leader)
        and is_in_sequence(s, leader, s.next_record)
        and not is_mistaken(s, leader, s.next_record)
    )


@action(shows="at {leader}")
def producer_appends(s, leader: Replica):
    """A leader, zombie or not, appends the next record. Kafka: Partition.appendRecordsToLeader.

    min.insync.replicas is checked only with acks=all. A leader that is alone in its ISR commits at once.
    """
    require(presumes_leadership(s, leader))
    require(s.next_record < s.records)
    require(s.log_end_offset[leader] < s.log_size)
    require(s.acks != Acks.ALL or has_enough_replicas(s, leader))
    require(may_send(s, leader))
    if s.enable_idempotence:
        number(s, s.next_record)
        append_numbered(s, leader, s.next_record)
    else:
        append_record(s, leader, s.next_record)
    s.next_record += 1


@action(shows="at {leader}")
def producer_is_refused(s, leader: Replica):
    """The leader refuses a record with NOT_ENOUGH_REPLICAS: nothing is appended, and the producer receives the error.
    An idempotent producer retries."""
    require(presumes_leadership(s, leader))
    require(s.next_record < s.records)
    require(s.acks == Acks.ALL)
    require(not has_enough_replicas(s, leader))
    require(not s.enable_idempotence or requests_in_flight(s) < s.max_in_flight_requests)
    if s.enable_idempotence:
        number(s, s.next_record)
    s.next_record += 1


@action
def send_is_lost(s):
    """With acks=0 the producer regards a record as written once it is sent; this record never reaches a leader."""
    require(s.acks == Acks.ZERO)
    require(s.next_record < s.records)
    s.acknowledged[s.next_record] = True
    s.next_record += 1


@action(shows="at {leader}")
def answer_is_lost(s, leader: Replica):
    """With acks=1 the leader appends the next record, and its response is lost; the record may be sent again."""
    require(s.acks == Acks.ONE)
    require(s.retries_left > 0)
    require(presumes_leadership(s, leader))
    require(s.next_record < s.records)
    require(s.log_end_offset[leader] < s.log_size)
    append_to_log(s, leader, s.next_record, s.leader_epoch[leader])
    s.next_record += 1
    advance_high_watermark(s, leader)


@action(shows="{record} at {leader}")
def producer_retries(s, record: Record, leader: Replica):
    """The response was missing or an error: the producer sends the request again, and the leader appends it again.

    The leader died, was demoted or did not answer in time, or there were not enough replicas, before or after the
    append. A record can be sent again while fewer than max.in.flight.requests.per.connection were sent after it; later,
    the producer has given it up. Transactional producers are idempotent, and do not do this. Kafka: Sender.canRetry.
    """
    require(not s.enable_idempotence)
    require(s.retries_left > 0)
    require(s.acks != Acks.ZERO)
    require(presumes_leadership(s, leader))
    require(record < s.next_record)
    require(s.next_record - record <= s.max_in_flight_requests)
    require(not s.acknowledged[record])
    require(s.transaction_of[record] == NONE)
    require(s.log_end_offset[leader] < s.log_size)
    require(s.acks != Acks.ALL or has_enough_replicas(s, leader))
    s.retries_left -= 1
    append_record(s, leader, record)


# -------------------------------------------------------------------------------------------------- idempotent producer
#
# The actions of an idempotent producer: it numbers its records, sends them again in order, and handles refusals.
#
# A leader appends a record only if its sequence number follows the last one that the log holds, and recognises a
# request that it has appended before. Since 0.11; `acks` is all. Not modelled: requests that arrive after the producer
# has given up their connection, or its producer id (up to 2.4); answers that are lost after the record is committed;
# records that expire (delivery.timeout.ms); and errors after which a record is not sent again.
#
# Requests that are sent one after the other can wait at one leader together. A broker reads the next request of a
# connection only after it has answered the one before, so there it takes a time-out, or a connection that is lost.


def checks_sequences(s, leader):
    """A request of the producer reaches the leader, which has enough replicas and so checks the sequence number."""
    return presumes_leadership(s, leader) and may_know_leader(s, leader) and has_enough_replicas(s, leader)


@action(shows="of {record}")
def request_fails(s, record: NumberedRecord):
    """The next record is sent, but not appended: the request is lost, or refused with an error after which the producer
    sends it again (NOT_LEADER_OR_FOLLOWER, OUT_OF_ORDER_SEQUENCE_NUMBER). Later requests can be in flight already.

    The same happens after UNKNOWN_PRODUCER_ID if nothing was acknowledged: renumbering then changes no number.
    """
    require(is_next(s, record))
    send(s, record)


@action(shows="{record} at {leader}")
def producer_resends(s, record: NumberedRecord, leader: NumberedReplica):
    """The producer sends the request again. A leader that remembers the request appends nothing, and answers with
    success once the record is below its high watermark; any other leader appends the record if its sequence number is
    the next.

    Kafka: Sender.canRetry, ProducerStateEntry.findDuplicateBatch, UnifiedLog.analyzeAndValidateProducerState.
    """
    require(s.retries_left > 0)
    require(checks_sequences(s, leader))
    require(is_first_in_flight(s, record))
    offset = recognised_offset(s, leader, record)
    require(offset == NONE or numbered_record(s, leader, offset) == record)
    require(offset != NONE or is_in_sequence(s, leader, record))
    require(offset != NONE or s.log_end_offset[leader] < s.log_size)
    s.retries_left -= 1
    if offset != NONE:
        hear_of_leader(s, leader)
        s.pending[record] = leader
        answer_producers(s, leader)
    else:
        append_numbered(s, leader, record)


@action(shows="after the answer of {leader} to {record}")
def producer_begins_new_epoch(s, leader: NumberedReplica, record: NumberedRecord):
    """A leader refuses a record, which was sent for the first time or again, and the producer concludes that earlier
    records are lost. Other requests can still wait for an answer.

    Since 2.5 the producer raises its epoch, and renumbers every request in flight from 0 (KIP-360). Before 2.5, it
    takes a new producer id, and gives up the requests in flight. Kafka: TransactionManager.canRetry,
    bumpIdempotentProducerEpoch; before 2.5 handleFailedBatch, resetProducerId.
    """
    require(s.producer_epoch + 1 < s.producer_epochs)
    require(checks_sequences(s, leader))
    require(may_be_sent(s, record))
    require(is_refused(s, leader, record))
    require(takes_records_for_lost(s, leader, record))
    send(s, record)
    hear_of_leader(s, leader)
    s.pending[record] = NONE  # its earlier requests were given up
    begin_numbering(s, False, s.CLIENT_BUMPS_EPOCH)


@action(shows="after the answer of {leader} to {record}")
def producer_begins_from_zero(s, leader: DeletingReplica, record: NumberedRecord):
    """From 1.0 to 2.4: a leader has deleted all records of the producer, and with them its knowledge of the producer.
    It answers UNKNOWN_PRODUCER_ID; the producer sees that the log starts above all that was acknowledged, and renumbers
    the requests in flight from 0, in the same epoch, also those that still wait for an answer.

    A broker that has not deleted the records yet cannot tell the new numbers from the old. That is why 2.5 takes a
    new epoch (KIP-360). Kafka: TransactionManager.canRetry, startSequencesAtBeginning (KAFKA-5793).
    """
    require(s.producer_epoch + 1 < s.producer_epochs)
    require(checks_sequences(s, leader))
    require(may_be_sent(s, record))
    require(is_refused(s, leader, record))
    require(takes_records_for_deleted(s, leader))
    require(expected_sequence(s) > 0)  # otherwise the numbers stay as they are
    send(s, record)
    hear_of_leader(s, leader)
    s.pending[record] = NONE  # its earlier requests were given up
    begin_numbering(s, True, True)


@action(shows="{record} at {leader}")
def leader_mistakes_request(s, record: NumberedRecord, leader: DeletingReplica):
    """The leader takes `record` for an earlier record with the same sequence number, because the producer began from 0
    again. The leader appends nothing, and answers with success, because the earlier record is below its high watermark.

    Not modelled: the earlier record is not yet below the high watermark, and the answer waits until it is.
    """
    require(checks_sequences(s, leader))
    require(may_be_sent(s, record))
    offset = recognised_offset(s, leader, record)
    require(offset != NONE and numbered_record(s, leader, offset) != record)
    require(offset < s.high_watermark[leader])
    send(s, record)
    hear_of_leader(s, leader)
    s.pending[record] = NONE
    s.acknowledged[record] = True
    s.acknowledged_before = max(s.acknowledged_before, offset + 1)


@action(shows="at {broker}")
def broker_saves_producer_state(s, broker: SnapshotReplica):
    """The log rolls its segment, or its broker shuts down: a snapshot keeps only the last batch of each producer.
    Kafka: ProducerStateManager.takeSnapshot."""
    require(s.producer_snapshots_left > 0)
    require(s.is_up[broker])
    require(s.snapshot_offset[broker] < s.log_end_offset[broker])
    require(s.log_start_offset[broker] < s.log_end_offset[broker])
    s.producer_snapshots_left -= 1
    s.snapshot_offset[broker] = s.log_end_offset[broker]


# --------------------------------------------------------------------------------------------------------- transactions
#
# Transactions as one partition sees them: records of a transaction, its markers, and what readers receive.
#
# Each transaction has a producer of its own. The coordinator is not modelled: a transaction is open, committed or
# aborted; once it is decided, a leader may append its marker, which is a log entry like a record. Since 0.11. Not
# modelled: a second marker after a lost response (it changes nothing), and late requests that reopen a transaction.


def continues_sequence(s, leader, transaction):
    """The leader has every record of the transaction that was sent so far."""
    return all(
        holds_record(s, leader, record) for record in range(s.records) if s.transaction_of[record] == transaction
    )


@action(shows="at {leader} in {transaction}")
def producer_appends_in_transaction(s, leader: Replica, transaction: Transaction):
    """A leader appends the producer's next record, which is part of an open transaction.

    The producer is idempotent: a leader without the previous record refuses this one (UNKNOWN_PRODUCER_ID,
    OUT_OF_ORDER_SEQUENCE_NUMBER; ProducerAppendInfo.checkSequence).
    """
    require(presumes_leadership(s, leader))
    require(s.transaction_state[transaction] == TransactionState.OPEN)
    require(s.log_end_offset[leader] < s.log_size)
    require(s.next_record < s.records)
    require(has_enough_replicas(s, leader))
    require(continues_sequence(s, leader, transaction))
    s.transaction_of[s.next_record] = transaction
    append_record(s, leader, s.next_record)
    s.next_record += 1


def was_begun(s, transaction):
    return any(s.transaction_of[record] == transaction for record in range(s.records))


@action(shows="{transaction}")
def coordinator_commits(s, transaction: Transaction):
    """The coordinator decides to commit, in its own replicated log; the marker follows. Kafka: PrepareCommit."""
    require(s.transaction_state[transaction] == TransactionState.OPEN)
    require(was_begun(s, transaction))
    s.transaction_state[transaction] = TransactionState.COMMITTED


@action(shows="{transaction}")
def coordinator_aborts(s, transaction: Transaction):
    """The coordinator decides to abort, at the producer's request or after a timeout. Kafka: PrepareAbort."""
    require(s.transaction_state[transaction] == TransactionState.OPEN)
    require(was_begun(s, transaction))
    s.transaction_state[transaction] = TransactionState.ABORTED


@action(shows="of {transaction} at {leader}")
def leader_appends_marker(s, leader: Replica, transaction: Transaction):
    """A leader appends the coordinator's marker, with acks=all. Kafka: KafkaApis.handleWriteTxnMarkersRequest."""
    require(presumes_leadership(s, leader))
    require(s.transaction_state[transaction] != TransactionState.OPEN)
    require(s.log_end_offset[leader] < s.log_size)
    require(has_enough_replicas(s, leader))
    require(not any(s.log_record[leader][offset] == marker_of(s, transaction) for offset in range(s.log_size)))
    append_to_log(s, leader, marker_of(s, transaction), s.leader_epoch[leader])
    advance_high_watermark(s, leader)


# --------------------- positions of consumers: whether a leader has them, and where a consumer continues if it does not


def is_in_range(s, consumer, r):
    return s.log_start_offset[r] <= s.position[consumer] <= s.log_end_offset[r]


def can_reset(s, leader):
    """The leader can tell a consumer where to continue according to auto.offset.reset; false if that is `none`.

    Since 2.2 a new leader does not report the end of its log before its high watermark has reached the start of its
    epoch: until then it does not know which records are committed (OFFSET_NOT_AVAILABLE, KAFKA-2334). Kafka:
    Partition.fetchOffsetForTimestamp.
    """
    return s.auto_offset_reset == AutoOffsetReset.EARLIEST or (
        s.auto_offset_reset == AutoOffsetReset.LATEST
        and (not s.LATEST_OFFSET_AWAITS_EPOCH_START or s.high_watermark[leader] >= s.epoch_start_offset[leader])
    )


def reset_position(s, consumer, leader):
    """Continue at the beginning or at the end, as auto.offset.reset says. Kafka: OffsetFetcher, ListOffsets.

    The leader epoch at the new position counts as unknown until the next record, although ListOffsets has it. The end
    of the log, from which the lag is computed, stays that of the last fetch until the next fetch.
    """
    if s.auto_offset_reset == AutoOffsetReset.EARLIEST:
        s.position[consumer] = s.log_start_offset[leader]
    else:
        s.position[consumer] = readable_end_offset(s, leader)
        s.has_skipped[consumer] = True
    s.consumed_epoch[consumer] = NONE


def is_truncated(s, consumer, leader):
    """According to the leader's answer, the leader's log lacks the last record that the consumer has read."""
    epoch = s.consumed_epoch[consumer]
    return epoch != NONE and (
        has_common_prefix(s, consumer, leader)
        or not is_answered(s, leader, epoch)
        or is_of_earlier_epoch(s, leader, epoch)
    )


def has_common_prefix(s, consumer, leader):
    """According to the leader's answer, the epoch of the consumer's last record ends before the consumer's position."""
    epoch = s.consumed_epoch[consumer]
    return epoch != NONE and is_answered(s, leader, epoch) and end_offset_for(s, leader, epoch) < s.position[consumer]


def is_of_earlier_epoch(s, leader, epoch):
    """The leader does not know `epoch`, and answers for an earlier epoch; false without END_OFFSET_AND_EPOCH."""
    return s.POSITION_CHECK == PositionCheck.END_OFFSET_AND_EPOCH and epoch_for(s, leader, epoch) != epoch


def return_to_common_prefix(s, consumer, leader):
    """Continue where the epoch of the consumer's last record ends in the leader's log; if this end is unknown, or not
    below the consumer's position, reset the position.

    Kafka: SubscriptionState.maybeCompleteValidation.
    """
    epoch = s.consumed_epoch[consumer]
    if has_common_prefix(s, consumer, leader):
        s.position[consumer] = end_offset_for(s, leader, epoch)
        s.consumed_epoch[consumer] = epoch_for(s, leader, epoch)
    else:
        reset_position(s, consumer, leader)


# ------------------------------------------------------------------------------------------------------------- consumer
#
# The actions of consumers: they read from a leader or a follower, follow a new leader, and reset their position.
#
# A consumer begins at offset 0 and reads one entry at a time; it skips control records and aborted records. Not
# modelled: groups and committed offsets, and fetches with more than one entry. A group that starts anew is another
# consumer.


@action(shows="{consumer} by {leader} to {follower}")
def consumer_is_sent_to_follower(s, consumer: RackAwareConsumer, leader: Replica, follower: Replica):
    """The leader names a follower whose log, as far as the leader knows, has the consumer's position.

    The consumer reads from this follower until it learns of another leader or epoch, the follower refuses it, or
    metadata.max.age.ms is over. Kafka: ReplicaManager.findPreferredReadReplica, RackAwareReplicaSelector (KIP-392).
    """
    require(is_not_fenced(s, consumer, leader))
    require(presumes_leadership(s, leader))
    require(s.preferred_read_replica[consumer] == NONE)
    require(follower != leader)
    require(s.remote_log_end_offset[leader][follower] >= s.position[consumer])
    require(s.log_start_offset[follower] <= s.position[consumer])
    require(not s.READ_REPLICA_IN_ISR or s.isr[leader][follower])
    s.preferred_read_replica[consumer] = follower


@action(shows="{consumer}")
def consumer_returns_to_leader(s, consumer: RackAwareConsumer):
    """The consumer no longer reads from the follower: the follower refused it, or metadata.max.age.ms is over."""
    require(s.preferred_read_replica[consumer] != NONE)
    s.preferred_read_replica[consumer] = NONE


@action(shows="{consumer} at {broker}")
def consumer_fetches(s, consumer: Consumer, broker: Replica):
    """The consumer reads the next entry from a leader or, since 2.4 (KIP-392), from a follower.

    Either broker shows the entries below its own high watermark, or its own last stable offset. Kafka: UnifiedLog.read,
    SubscriptionState.partitionLag.
    """
    require(is_not_fenced(s, consumer, broker))
    require(reads_from(s, consumer, broker))
    require(s.position[consumer] < readable_end_offset(s, broker))
    require(has_entry(s, broker, s.position[consumer]))
    offset = s.position[consumer]
    if is_record(s, s.log_record[broker][offset]) and is_read(s, broker, offset):
        s.consumed_record[consumer][offset] = s.log_record[broker][offset]
    s.consumed_epoch[consumer] = s.log_epoch[broker][offset]
    s.known_end_offset[consumer] = readable_end_offset(s, broker)
    s.position[consumer] += 1


@action(shows="{consumer} at {broker}")
def consumer_finds_nothing(s, consumer: Consumer, broker: Replica):
    """The consumer's position is in the broker's log, but the broker shows no entry from there on.

    The broker may show even less than the consumer has read, because the high watermark of a follower or of a new
    leader can lag. Then the consumer's lag is negative. Kafka: UnifiedLog.read, SubscriptionState.updateHighWatermark,
    partitionLag.
    """
    require(is_not_fenced(s, consumer, broker))
    require(reads_from(s, consumer, broker))
    require(is_in_range(s, consumer, broker))
    require(readable_end_offset(s, broker) <= s.position[consumer])
    require(s.known_end_offset[consumer] != readable_end_offset(s, broker))
    s.known_end_offset[consumer] = readable_end_offset(s, broker)


@action(shows="{consumer} of {leader}")
def consumer_follows_new_leader(s, consumer: Consumer, leader: Replica):
    """The consumer learns of a new leader epoch, and asks the leader where the epoch of its last record ends.

    If this end is below the consumer's position, records that the consumer has read are lost: the consumer returns to
    the common prefix, or resets its position. A consumer that was sent to a follower reads from the leader again.
    Kafka: OffsetsForLeaderEpochClient, SubscriptionState.maybeValidatePosition (KIP-320).
    """
    require(s.POSITION_CHECK != PositionCheck.NONE)
    require(presumes_leadership(s, leader))
    require(s.leader_epoch[leader] > s.consumer_leader_epoch[consumer])
    require(not is_truncated(s, consumer, leader) or s.auto_offset_reset != AutoOffsetReset.NOTHING)
    require(not is_truncated(s, consumer, leader) or has_common_prefix(s, consumer, leader) or can_reset(s, leader))
    if is_truncated(s, consumer, leader):
        return_to_common_prefix(s, consumer, leader)
    s.consumer_leader_epoch[consumer] = s.leader_epoch[leader]
    if s.follower_fetching:
        s.preferred_read_replica[consumer] = NONE


@action(shows="{consumer} at {leader}")
def consumer_is_out_of_range(s, consumer: Consumer, leader: Replica):
    """The consumer gets OFFSET_OUT_OF_RANGE, because its position is outside the leader's log; auto.offset.reset says
    where to continue.

    A consumer that gets this answer from a follower asks the leader instead. With auto.offset.reset=none, it stops.
    """
    require(is_not_fenced(s, consumer, leader))
    require(presumes_leadership(s, leader) and reads_from(s, consumer, leader))
    require(not is_in_range(s, consumer, leader))
    require(can_reset(s, leader))
    reset_position(s, consumer, leader)
