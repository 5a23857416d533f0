"""The actions of the application and its producer, of the leaders of the partitions, and faults."""

from isrcheck.models.client_settings import Acks, Truth
from isrcheck.models.exactly_once.state import (
    Batch,
    BatchState,
    FreedBatch,
    OverlappingBlock,
    Partition,
    Partitioner,
    Record,
    Request,
    Resend,
    UnknownProducer,
    after_error,
    can_be_overdue,
    fail_overdue,
    follows_last,
    forget_numbers,
    has_old_id,
    has_unfinished,
    has_waiting,
    in_flight,
    is_delivered,
    is_duplicate,
    is_first_unfinished,
    is_idempotent,
    is_of_same_queue,
    is_pending,
    is_unfinished,
    last_offset_of,
    leave_behind,
    leave_gap,
    leaves_gap,
    number_from_zero,
    travels,
    was_sent_to,
)
from isrcheck.models.language import NONE, action, require

# ------------------------------------------------------------------------------------- the application and its producer
#
# The actions of the application and its producer: send, retry, receive answers, give up, restart.


def has_stale_epoch(s, partition):
    """The producer's epoch was bumped because of another partition; this partition still has an older epoch."""
    return s.partition_epoch[partition] != s.producer_epoch


def accepts_new_batch(s, partition):
    """A new batch may be sent to `partition`: no batch waits there for a retry, no unfinished batch has an older epoch,
    and no sequence is unresolved after a time-out. Kafka: RecordAccumulator.shouldStopDrainBatchesForPartition."""
    return (
        s.next_batch < s.batches
        and in_flight(s, partition) < s.max_in_flight_requests_per_connection
        and not has_waiting(s, partition)
        and s.unresolved_sequence[partition] == NONE
        and not (has_stale_epoch(s, partition) and has_unfinished(s, partition))
    )


def is_chosen(s, partition):
    """The partitioner can choose this partition for a new record."""
    return s.partitioner != Partitioner.ROUND_ROBIN or partition == s.next_partition


def transmit(s, batch):
    """Send the request of a batch; with acks=0 there is no answer, and the batch counts as delivered."""
    s.request[batch] = Request.ON_ITS_WAY
    s.request_epoch[batch] = s.batch_epoch[batch]
    s.request_sequence[batch] = s.batch_sequence[batch]
    s.batch_state[batch] = BatchState.DELIVERED if s.acks == Acks.ZERO else BatchState.IN_FLIGHT


def send_batch(s, record, partition):
    """Carry out a call of send(): transmit `record` in a new batch, with the next sequence number of `partition`."""
    batch = s.next_batch
    if has_stale_epoch(s, partition):
        s.partition_epoch[partition] = s.producer_epoch
        number_from_zero(s, partition)
    s.next_batch += 1
    if s.partitioner == Partitioner.ROUND_ROBIN:
        s.next_partition = 0 if s.next_partition + 1 == s.partitions else s.next_partition + 1
    s.batch_record[batch] = record
    s.batch_session[batch] = s.session
    s.batch_partition[batch] = partition
    if is_idempotent(s):
        s.batch_producer_id[batch] = s.producer_id
        s.batch_epoch[batch] = s.producer_epoch
        s.batch_sequence[batch] = s.next_sequence[partition]
        s.next_sequence[partition] += 1
    transmit(s, batch)


@action(shows="{record} to {partition}")
def producer_sends(s, record: Record, partition: Partition):
    """The application sends its next record. The partitioner chooses the partition: KafkaProducer.doSend."""
    require(record == s.next_record)
    require(is_chosen(s, partition))
    require(accepts_new_batch(s, partition))
    s.next_record += 1
    send_batch(s, record, partition)


@action(shows="{record} to {partition}")
def application_resends(s, record: Record, partition: Partition):
    """The application, which does not know if a record was delivered, resends it: to the producer, it is a new record.

    The partitioner chooses again: another partition is possible, unless the record's key decides.
    """
    require(s.application_resends == Resend.UNKNOWN)
    require(record < s.next_record)
    require(not is_delivered(s, record))
    require(not is_pending(s, record))
    require(is_chosen(s, partition))
    require(s.partitioner != Partitioner.BY_KEY or was_sent_to(s, record, partition))
    require(accepts_new_batch(s, partition))
    send_batch(s, record, partition)


@action(shows="batch {batch}")
def producer_retries(s, batch: Batch):
    """The producer sends a batch again, to the same partition and with the same numbers.

    The producer waits until no later batch is in flight: on one connection, requests arrive in order. An idempotent
    producer sends the earliest batch first (RecordAccumulator.insertInSequenceOrder). A late request of this batch
    (left on a closed connection) is lost, and so are late requests of the partition's later batches.
    """
    require(s.batch_state[batch] == BatchState.WAITING)
    require(in_flight(s, s.batch_partition[batch]) < s.max_in_flight_requests_per_connection)
    require(not is_idempotent(s) or is_first_unfinished(s, batch))
    require(
        not any(
            s.batch_state[later] == BatchState.IN_FLIGHT and s.batch_partition[later] == s.batch_partition[batch]
            for later in range(s.batches)
            if later > batch
        )
    )
    for later in range(s.batches):
        if later > batch and s.request[later] == Request.LATE and is_of_same_queue(s, later, batch):
            s.request[later] = Request.NONE
    transmit(s, batch)


def receives(s, batch, answer):
    """The next answer on the connection is `answer`, to this batch: answers arrive in the order of the requests."""
    return s.request[batch] == answer and not any(
        s.batch_state[earlier] == BatchState.IN_FLIGHT and is_of_same_queue(s, earlier, batch)
        for earlier in range(s.batches)
        if earlier < batch
    )


@action(shows="batch {batch}")
def producer_receives_success(s, batch: Batch):
    """The producer receives success, and reports it by the callback. Kafka: TransactionManager.handleCompletedBatch."""
    require(receives(s, batch, Request.SUCCESS))
    partition = s.batch_partition[batch]
    s.request[batch] = Request.NONE
    s.batch_state[batch] = BatchState.DELIVERED
    if is_idempotent(s) and not has_old_id(s, batch):
        s.last_acked_sequence[partition] = max(s.last_acked_sequence[partition], s.batch_sequence[batch])


@action(shows="batch {batch}")
def producer_receives_error(s, batch: Batch):
    """The broker rejected the request: the producer retries the batch, or it is FAILED or REFUSED (`after_error`)."""
    require(receives(s, batch, Request.NOT_LEADER))
    s.request[batch] = Request.NONE
    s.batch_state[batch] = after_error(s, batch)


def is_next(s, batch):
    """The batch follows the last acknowledged batch of its partition. Kafka: TransactionManager.isNextSequence."""
    return s.batch_sequence[batch] == s.last_acked_sequence[s.batch_partition[batch]] + 1


def was_renumbered(s, batch):
    """The batch got a new epoch or sequence number after its request. Kafka: ProducerBatch.sequenceHasBeenReset."""
    return s.request_epoch[batch] != s.batch_epoch[batch] or s.request_sequence[batch] != s.batch_sequence[batch]


def waits_for_others(s, batch):
    """After OUT_OF_ORDER_SEQUENCE_NUMBER, the producer waits for an earlier batch to close the gap. Up to 2.4, it never
    waits while a sequence number of the partition is unresolved. Kafka: TransactionManager.canRetry."""
    partition = s.batch_partition[batch]
    if s.unresolved_sequence[partition] == NONE:
        return was_renumbered(s, batch) or not is_next(s, batch)
    return s.EPOCH_BUMP and s.batch_sequence[batch] != s.unresolved_sequence[partition]


@action(shows="batch {batch}")
def producer_receives_out_of_order(s, batch: Batch):
    """The producer receives OUT_OF_ORDER_SEQUENCE_NUMBER: an earlier batch can still close the gap, or nothing can.

    If an earlier batch can, this batch waits to be sent again. Otherwise, since 2.5 (KIP-360), the producer renumbers
    the partition's unfinished batches in a new epoch and sends them again, even if they may be in the log. Up to 2.4,
    the batch is refused, and the producer takes a new id. Kafka: TransactionManager.canRetry, handleFailedBatch.
    """
    require(receives(s, batch, Request.OUT_OF_ORDER_SEQUENCE))
    require(has_old_id(s, batch) or waits_for_others(s, batch) or s.epoch_bumps_left > 0)
    s.request[batch] = Request.NONE
    if has_old_id(s, batch):
        s.batch_state[batch] = BatchState.REFUSED
    elif waits_for_others(s, batch):
        s.batch_state[batch] = BatchState.WAITING
    else:
        s.batch_state[batch] = BatchState.WAITING if s.EPOCH_BUMP else BatchState.REFUSED
        leave_gap(s, s.batch_partition[batch])


@action(shows="batch {batch}")
def producer_receives_unknown_producer_id(s, batch: Batch):
    """A producer that the partition does not know gets UNKNOWN_PRODUCER_ID for a sequence number above 0 (1.0 to 2.4).

    If the log start is above the last acknowledged offset, records were deleted: the producer numbers its batches from
    0 again. Otherwise data was lost: the batch is refused, and the producer takes a new id.
    """
    require(receives(s, batch, Request.UNKNOWN_PRODUCER_ID))
    partition = s.batch_partition[batch]
    was_deleted = s.forgotten_before[partition] > 0 or s.last_acked_sequence[partition] == NONE
    require(has_old_id(s, batch) or was_renumbered(s, batch) or was_deleted or s.epoch_bumps_left > 0)
    s.request[batch] = Request.NONE
    if has_old_id(s, batch):
        s.batch_state[batch] = BatchState.REFUSED
    elif was_renumbered(s, batch):
        s.batch_state[batch] = BatchState.WAITING
    elif was_deleted:
        s.batch_state[batch] = BatchState.WAITING
        number_from_zero(s, partition)
    else:
        s.batch_state[batch] = BatchState.REFUSED
        leave_gap(s, partition)


@action(shows="batch {batch}")
def producer_receives_error_past_deadline(s, batch: Batch):
    """An error is handled after delivery.timeout.ms (since 2.1): the callback reports the error, not a time-out.

    Kafka: Sender.canRetry checks the deadline before it looks at the error.
    """
    is_sequence_error = receives(s, batch, Request.OUT_OF_ORDER_SEQUENCE) or receives(
        s, batch, Request.UNKNOWN_PRODUCER_ID
    )
    require(is_sequence_error or receives(s, batch, Request.NOT_LEADER))
    require(can_be_overdue(s, batch))
    require(not leaves_gap(s, batch, is_sequence_error) or s.epoch_bumps_left > 0)
    s.request[batch] = Request.NONE
    fail_overdue(s, batch, is_sequence_error)


@action(shows="batch {batch}")
def producer_gives_up(s, batch: Batch):
    """The producer gives up a batch that waits for a retry: after delivery.timeout.ms, the callback reports a time-out.

    Up to 2.0, request.timeout.ms limits this wait (ProducerBatch.maybeExpire). The batch is the earliest unfinished
    batch of its partition, because later batches have later deadlines. Whether the batch is in the log is unknown, so
    its sequence number becomes unresolved (TransactionManager.markSequenceUnresolved).
    """
    require(s.delivery_timeouts_left > 0)
    require(s.batch_state[batch] == BatchState.WAITING)
    require(is_first_unfinished(s, batch))
    partition = s.batch_partition[batch]
    s.delivery_timeouts_left -= 1
    s.batch_state[batch] = BatchState.FAILED
    if is_idempotent(s) and not has_old_id(s, batch):
        s.unresolved_sequence[partition] = max(s.unresolved_sequence[partition], s.batch_sequence[batch] + 1)


@action(shows="batch {batch}")
def producer_gives_up_in_flight(s, batch: FreedBatch):
    """delivery.timeout.ms is over while the request is being sent, and the callback reports a time-out.

    The request goes on, but its answer is ignored. The sequence number is not marked as unresolved, unlike that of a
    batch that waits to be sent again. Kafka: Sender.getExpiredInflightBatches, sendProducerData.
    """
    require(s.deadlines_in_flight_left[0] > 0)
    require(s.batch_state[batch] == BatchState.IN_FLIGHT)
    require(s.request[batch] == Request.ON_ITS_WAY)
    require(is_first_unfinished(s, batch))
    s.deadlines_in_flight_left[0] -= 1
    s.batch_state[batch] = BatchState.FAILED
    s.is_freed[batch] = s.BUFFER_FREED_IN_FLIGHT


@action(shows="of batch {batch} for batch {later}")
def producer_reuses_buffer(s, batch: FreedBatch, later: Batch):
    """The producer writes `later` into the buffer from which the request of `batch` is still being sent (KAFKA-19012).

    Since 2.8, a request is sent from the pool's buffer itself. The checksum covers the records, and not the partition
    to which they go.
    """
    require(s.is_freed[batch])
    require(s.request[batch] == Request.ON_ITS_WAY)
    require(batch < later and later + 1 == s.next_batch)
    s.is_freed[batch] = False
    s.overwritten_by[batch] = later


@action(shows="of {partition}")
def producer_resolves_sequence(s, partition: Partition):
    """The producer resolves the sequence number of a batch that timed out, once no batch of the partition is
    unfinished. If a later batch was acknowledged, there is no gap; otherwise the producer takes a new epoch (up to 2.4:
    a new id). Kafka: TransactionManager.maybeResolveSequences."""
    require(s.unresolved_sequence[partition] != NONE)
    require(not has_unfinished(s, partition))
    is_resolved = s.next_sequence[partition] == s.last_acked_sequence[partition] + 1
    require(is_resolved or s.epoch_bumps_left > 0)
    if is_resolved:
        s.unresolved_sequence[partition] = NONE
    else:
        leave_gap(s, partition)


@action
def producer_restarts(s):
    """The producer restarts: it begins a session with a new producer id, and forgets its unfinished batches. Requests
    of these batches may still arrive."""
    require(s.session < s.restarts)
    s.producer_id += 1
    begin_session(s)


@action
def producer_restarts_with_the_same_id(s, block: OverlappingBlock):
    """A new session gets the former session's id: the broker's new block of ids begins with the former block's last id.

    Up to 4.2, a broker accepts this block (KAFKA-20031): it refuses only blocks that begin below the former last id. No
    controller is known to send such an overlapping block. Kafka: RPCProducerIdManager.sanityCheckResponse.
    """
    require(s.OVERLAPPING_BLOCK_TAKEN)
    require(s.overlapping_blocks_left[block] > 0)
    require(s.session < s.restarts)
    s.overlapping_blocks_left[block] -= 1
    begin_session(s)


def begin_session(s):
    s.session += 1
    s.producer_epoch = 0
    s.next_partition = 0
    forget_numbers(s)
    for b in range(s.batches):
        if is_unfinished(s, b):
            s.batch_state[b] = BatchState.FAILED
        leave_behind(s, b)


# ------------------------------------------------------------------------------------------------------------- requests
#
# The actions of the leaders of the partitions: a request is appended, recognised as a duplicate, or refused.


def arrives(s, batch):
    """The request of this batch arrives next on its connection, whose requests are handled in their order."""
    return travels(s, batch) and not any(
        s.request[b] == s.request[batch] and is_of_same_queue(s, b, batch) for b in range(s.batches) if b < batch
    )


def answer(s, batch, with_what):
    """The leader sends the answer `with_what`, unless the producer awaits none (acks=0) or has given up the batch."""
    s.request[batch] = with_what if s.batch_state[batch] == BatchState.IN_FLIGHT else Request.NONE


def sent_content(s, batch):
    """The batch whose records and numbers the request of `batch` carries: `batch` itself, or a batch that was written
    into the buffer of `batch` while the request was being sent."""
    if s.deadlines_in_flight > 0 and s.overwritten_by[batch] != NONE:
        return s.overwritten_by[batch]
    return batch


def sent_epoch(s, batch):
    content = sent_content(s, batch)
    return s.request_epoch[batch] if content == batch else s.batch_epoch[content]


def sent_sequence(s, batch):
    content = sent_content(s, batch)
    return s.request_sequence[batch] if content == batch else s.batch_sequence[content]


def is_known_duplicate(s, batch):
    return is_idempotent(s) and is_duplicate(
        s,
        s.batch_partition[batch],
        s.batch_producer_id[sent_content(s, batch)],
        sent_epoch(s, batch),
        sent_sequence(s, batch),
    )


def accepts_from_unknown(s, partition, sequence):
    """The leader of `partition` accepts `sequence` as the first sequence number of a producer that it does not know."""
    return (
        sequence == 0
        or s.UNKNOWN_PID_POLICY == UnknownProducer.ACCEPT
        or (s.UNKNOWN_PID_POLICY == UnknownProducer.ACCEPT_UNLESS_EMPTY and s.log_end_offset[partition] > 0)
    )


def last_known(s, batch):
    """The offset of the last remembered batch with the producer id that the request of `batch` carries, or NONE."""
    return last_offset_of(s, s.batch_partition[batch], s.batch_producer_id[sent_content(s, batch)])


def is_in_sequence(s, batch, last):
    """The sequence number of `batch` is acceptable: it follows the batch at offset `last` or, if `last` equals NONE,
    the leader accepts it from an unknown producer. Kafka: ProducerAppendInfo.checkProducerEpoch, checkSequence."""
    partition = s.batch_partition[batch]
    if last == NONE:
        return accepts_from_unknown(s, partition, sent_sequence(s, batch))
    return follows_last(s, partition, last, sent_epoch(s, batch), sent_sequence(s, batch))


@action(shows="batch {batch}")
def broker_appends(s, batch: Batch):
    """The leader appends the batch. With acks=all, it answers once the in-sync replicas have the batch; a record that
    is lost before then is modelled as a lost request."""
    require(arrives(s, batch))
    require(not is_known_duplicate(s, batch))
    require(not is_idempotent(s) or is_in_sequence(s, batch, last_known(s, batch)))
    partition = s.batch_partition[batch]
    require(s.log_end_offset[partition] < s.log_size)
    offset = s.log_end_offset[partition]
    content = sent_content(s, batch)
    s.log_record[partition][offset] = s.batch_record[content]
    s.log_batch[partition][offset] = content
    if is_idempotent(s):
        s.log_producer_id[partition][offset] = s.batch_producer_id[content]
        s.log_epoch[partition][offset] = sent_epoch(s, batch)
        s.log_sequence[partition][offset] = sent_sequence(s, batch)
    s.log_end_offset[partition] += 1
    answer(s, batch, Request.SUCCESS)


@action(shows="batch {batch}")
def broker_recognises_duplicate(s, batch: Batch):
    """The leader remembers the batch: it appends nothing, and answers with success."""
    require(arrives(s, batch))
    require(is_known_duplicate(s, batch))
    answer(s, batch, Request.SUCCESS)


@action(shows="batch {batch}")
def broker_refuses_sequence(s, batch: Batch):
    """The sequence number is not the next one, or the epoch is an older one: the leader answers with an error."""
    require(is_idempotent(s))
    require(arrives(s, batch))
    require(not is_known_duplicate(s, batch))
    last = last_known(s, batch)
    require(not is_in_sequence(s, batch, last))
    answer(
        s,
        batch,
        Request.UNKNOWN_PRODUCER_ID
        if last == NONE and s.UNKNOWN_PID_POLICY == UnknownProducer.REJECT
        else Request.OUT_OF_ORDER_SEQUENCE,
    )


@action(shows="batch {batch}")
def broker_rejects(s, batch: Batch):
    """The broker does not lead the partition yet, or too few replicas are in sync: nothing is appended."""
    require(s.rejections_left > 0)
    require(arrives(s, batch))
    require(s.batch_state[batch] == BatchState.IN_FLIGHT)
    s.rejections_left -= 1
    answer(s, batch, Request.NOT_LEADER)


# ------------------------ faults: a connection breaks, a partition loses its last record, or what it knows of producers


def is_on_connection(s, batch, partition):
    """The request of `batch`, or the answer to it, is on the producer's connection to the leader of `partition`."""
    return (
        s.batch_partition[batch] == partition and s.request[batch] != Request.NONE and s.request[batch] != Request.LATE
    )


def lose_connection(s, partition):
    """Answers on the connection are lost, and requests are late, or lost; the producer retries their batches."""
    s.lost_connections_left -= 1
    for b in range(s.batches):
        if is_on_connection(s, b, partition):
            leave_behind(s, b)
            if s.batch_state[b] == BatchState.IN_FLIGHT:
                s.batch_state[b] = after_error(s, b)


@action(shows="to {partition}")
def connection_is_lost(s, partition: Partition):
    """A connection breaks, or request.timeout.ms is over."""
    require(s.lost_connections_left > 0)
    require(any(is_on_connection(s, b, partition) for b in range(s.batches)))
    lose_connection(s, partition)


@action(shows="batch {batch}")
def connection_is_lost_past_deadline(s, batch: Batch):
    """The producer handles the loss of a connection when delivery.timeout.ms is over for the earliest batch on it.

    The other batches on the connection still have time.
    """
    require(s.lost_connections_left > 0)
    require(s.batch_state[batch] == BatchState.IN_FLIGHT)
    require(can_be_overdue(s, batch))
    require(not leaves_gap(s, batch, False) or s.epoch_bumps_left > 0)
    lose_connection(s, s.batch_partition[batch])
    fail_overdue(s, batch, False)


@action(shows="of {partition}")
def last_record_is_lost(s, partition: Partition):
    """A replica that lacks the last record becomes the leader: with acks=0 or 1, or in an unclean election.

    The new leader knows only those batches of producers that are in its log.
    """
    require(s.lossy_failovers_left > 0)
    require(s.acks != Acks.ALL or s.unclean_leader_election_enable == Truth.TRUE)
    require(s.log_end_offset[partition] > 0)
    s.lossy_failovers_left -= 1
    s.log_end_offset[partition] -= 1
    offset = s.log_end_offset[partition]
    s.log_record[partition][offset] = NONE
    s.log_batch[partition][offset] = NONE
    s.log_producer_id[partition][offset] = NONE
    s.log_epoch[partition][offset] = NONE
    s.log_sequence[partition][offset] = NONE
    s.forgotten_before[partition] = min(s.forgotten_before[partition], s.log_end_offset[partition])
    s.reloaded_before[partition] = min(s.reloaded_before[partition], s.log_end_offset[partition])


@action(shows="of {partition}")
def producers_are_forgotten(s, partition: Partition):
    """The leader forgets all producers, after producer.id.expiration.ms or because retention deleted their records.

    Retention does this up to 2.4 (KAFKA-7190). Deleted records stay in the model's log: a reader may have read them.
    """
    require(s.forgotten_producers_left > 0)
    require(s.forgotten_before[partition] < s.log_end_offset[partition])
    s.forgotten_producers_left -= 1
    s.forgotten_before[partition] = s.log_end_offset[partition]


@action(shows="of {partition}")
def producers_are_reloaded(s, partition: Partition):
    """A restarted broker leads the partition: from its snapshot, it knows only the last batch of each producer."""
    require(s.reloaded_producers_left > 0)
    require(s.reloaded_before[partition] < s.log_end_offset[partition])
    s.reloaded_producers_left -= 1
    s.reloaded_before[partition] = s.log_end_offset[partition]
