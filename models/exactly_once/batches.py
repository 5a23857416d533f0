"""What the producer knows of its batches, and how it numbers them."""

from isrcheck.models.exactly_once.values import BatchState, Request, Resend, Retries, Truth
from isrcheck.models.language import NONE


def is_idempotent(s):
    return s.enable_idempotence == Truth.TRUE


def is_unfinished(s, batch):
    """The producer has not reported the batch to the application yet."""
    return s.batch_state[batch] == BatchState.IN_FLIGHT or s.batch_state[batch] == BatchState.WAITING


def has_unfinished(s, partition):
    """The producer keeps an unfinished batch of this partition, one with its current producer id."""
    return any(
        is_unfinished(s, b) and not has_old_id(s, b) and s.batch_partition[b] == partition for b in range(s.batches)
    )


def has_waiting(s, partition):
    return any(s.batch_state[b] == BatchState.WAITING and s.batch_partition[b] == partition for b in range(s.batches))


def in_flight(s, partition):
    """How many requests are in flight on the connection to the leader of this partition."""
    return sum(
        1 for b in range(s.batches) if s.batch_state[b] == BatchState.IN_FLIGHT and s.batch_partition[b] == partition
    )


def travels(s, batch):
    """The request of a batch may still reach the broker."""
    return s.request[batch] == Request.ON_ITS_WAY or s.request[batch] == Request.LATE


def is_of_same_queue(s, one, other):
    """Two batches of one session go to the same partition."""
    return s.batch_partition[one] == s.batch_partition[other] and s.batch_session[one] == s.batch_session[other]


def leave_behind(s, batch):
    """The connection is closed: a request that is on its way is late, and an answer is lost."""
    s.request[batch] = Request.LATE if travels(s, batch) else Request.NONE


def has_old_id(s, batch):
    """The producer has taken a new id since it numbered the batch. Nothing is known of such batches any more."""
    return is_idempotent(s) and s.batch_producer_id[batch] != s.producer_id


def after_error(s, batch):
    """A batch is retried after an error, if `retries` allows it and the producer still has the batch's producer id;
    otherwise, the callback reports OutOfOrderSequenceException. Kafka: Sender.canRetry, completeBatch."""
    if s.retries == Retries.NONE:
        return BatchState.FAILED
    return BatchState.REFUSED if has_old_id(s, batch) else BatchState.WAITING


def is_first_unfinished(s, batch):
    """No earlier batch of this partition is unfinished."""
    return not any(
        is_unfinished(s, b) and s.batch_partition[b] == s.batch_partition[batch] for b in range(s.batches) if b < batch
    )


def was_sent_to(s, record, partition):
    return any(s.batch_record[b] == record and s.batch_partition[b] == partition for b in range(s.batches))


def is_delivered(s, record):
    """The application was told that the record is delivered."""
    return any(s.batch_record[b] == record and s.batch_state[b] == BatchState.DELIVERED for b in range(s.batches))


def is_pending(s, record):
    """The producer has not reported a batch of this record yet."""
    return any(s.batch_record[b] == record and is_unfinished(s, b) for b in range(s.batches))


def is_left_alone(s, record):
    """The application does nothing more about a record that it has sent."""
    return (
        record < s.next_record
        and not is_pending(s, record)
        and (is_delivered(s, record) or s.application_resends == Resend.NEVER)
    )


def number_from_zero(s, partition):
    """Number the unfinished batches of a partition from 0. Kafka: TransactionManager.startSequencesAtBeginning."""
    s.next_sequence[partition] = 0
    s.last_acked_sequence[partition] = NONE
    for b in range(s.batches):
        if is_unfinished(s, b) and s.batch_partition[b] == partition and not has_old_id(s, b):
            s.batch_epoch[b] = s.producer_epoch
            s.batch_sequence[b] = s.next_sequence[partition]
            s.next_sequence[partition] += 1


def forget_numbers(s):
    """A new producer id: nothing is known of any partition."""
    for partition in range(s.partitions):
        s.partition_epoch[partition] = 0
        s.next_sequence[partition] = 0
        s.last_acked_sequence[partition] = NONE
        s.unresolved_sequence[partition] = NONE


def leave_gap(s, partition):
    """There is a gap in the sequence that nothing can fill: a new epoch (KIP-360), or up to 2.4 a new producer id.

    The new epoch renumbers the unfinished batches of this partition; those of the other partitions keep theirs. A new
    producer id renumbers nothing. Kafka: bumpIdempotentProducerEpoch, resetProducerId.
    """
    s.epoch_bumps_left -= 1
    if s.EPOCH_BUMP:
        s.producer_epoch += 1
        s.partition_epoch[partition] = s.producer_epoch
        s.unresolved_sequence[partition] = NONE
        number_from_zero(s, partition)
    else:
        s.producer_id += 1
        forget_numbers(s)


def close_up(s, batch):
    """The sequence number of a batch is free again, in the same epoch: the next batch gets it, and those in flight move
    down by one. Kafka up to 2.4: TransactionManager.adjustSequencesDueToFailedBatch.
    """
    partition = s.batch_partition[batch]
    s.next_sequence[partition] -= 1
    for b in range(s.batches):
        if (
            is_unfinished(s, b)
            and s.batch_partition[b] == partition
            and not has_old_id(s, b)
            and s.batch_sequence[b] > s.batch_sequence[batch]
        ):
            s.batch_sequence[b] -= 1


def can_be_overdue(s, batch):
    """delivery.timeout.ms may be over for this batch when its error is handled, and the producer numbers anew.

    It is the earliest one of its partition: the time of later ones began later. Without idempotence, and with
    KAFKA-14397 repaired, this is the same as `producer_gives_up` after the error.
    """
    return (
        s.OVERDUE_ERROR_RENUMBERS
        and s.delivery_timeouts_left > 0
        and is_idempotent(s)
        and is_first_unfinished(s, batch)
    )


def leaves_gap(s, batch, is_sequence_error):
    """After this error of an overdue batch, the producer takes a new epoch (up to 2.4, after a sequence error: id)."""
    return not has_old_id(s, batch) and (s.EPOCH_BUMP or is_sequence_error)


def fail_overdue(s, batch, is_sequence_error):
    """The producer handles an error, or a disconnect, after delivery.timeout.ms: the batch fails with that error.

    Retries are left, so that the client takes the batch for one that no leader has written, which it does not know
    (KAFKA-14397): it does not mark the sequence number as unresolved, and the other unfinished batches of the partition
    get new numbers, since 2.5 in a new epoch. Kafka: Sender.canRetry, completeBatch, handleFailedBatch.
    """
    s.delivery_timeouts_left -= 1
    s.batch_state[batch] = BatchState.REFUSED if is_sequence_error else BatchState.FAILED
    if leaves_gap(s, batch, is_sequence_error):
        leave_gap(s, s.batch_partition[batch])
    elif not has_old_id(s, batch):
        close_up(s, batch)
