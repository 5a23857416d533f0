"""The leaders of the partitions: a request is appended, recognised as a duplicate, or refused; and faults."""

from isrcheck.models.client_settings import Acks
from isrcheck.models.exactly_once.state import (
    Batch,
    BatchState,
    Partition,
    Request,
    Truth,
    UnknownProducer,
    after_error,
    can_be_overdue,
    fail_overdue,
    follows_last,
    is_duplicate,
    is_idempotent,
    is_of_same_queue,
    last_offset_of,
    leave_behind,
    leaves_gap,
    travels,
)
from isrcheck.models.language import NONE, action, require

# ------------------------------------------------------------------------------------------------------------- requests
#
# The actions of the leaders of the partitions: a request is appended, recognised as a duplicate, or refused.


def arrives(s, batch):
    """The request is the next one on its connection: requests of one connection are handled in their order."""
    return travels(s, batch) and not any(
        s.request[b] == s.request[batch] and is_of_same_queue(s, b, batch) for b in range(s.batches) if b < batch
    )


def answer(s, batch, with_what):
    """The leader answers, if the producer still waits: with acks=0 or after it has given up it does not."""
    s.request[batch] = with_what if s.batch_state[batch] == BatchState.IN_FLIGHT else Request.NONE


def sent_content(s, batch):
    """The batch whose records and numbers the request carries: its own, or the one that was written into its buffer."""
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
    """A producer that the leader does not know may begin with this sequence number."""
    return (
        sequence == 0
        or s.UNKNOWN_PID_POLICY == UnknownProducer.ACCEPT
        or (s.UNKNOWN_PID_POLICY == UnknownProducer.ACCEPT_UNLESS_EMPTY and s.log_end_offset[partition] > 0)
    )


def last_known(s, batch):
    """The offset of the last batch that the leader knows of this producer id, or NONE."""
    return last_offset_of(s, s.batch_partition[batch], s.batch_producer_id[sent_content(s, batch)])


def is_in_sequence(s, batch, last):
    """The sequence number is acceptable after the batch at offset `last`, or from a producer that the leader does not
    know. Kafka: ProducerAppendInfo.checkProducerEpoch, checkSequence."""
    partition = s.batch_partition[batch]
    if last == NONE:
        return accepts_from_unknown(s, partition, sent_sequence(s, batch))
    return follows_last(s, partition, last, sent_epoch(s, batch), sent_sequence(s, batch))


@action(shows="batch {batch}")
def broker_appends(s, batch: Batch):
    """The leader appends the batch. With acks=all it answers once the in-sync replicas have it: until then, a loss of
    the record is the same as the loss of the request.
    """
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
    """The sequence number is not the next one, or the epoch is an older one: nothing is appended."""
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
    """A request or an answer of this batch is on the producer's connection to the leader."""
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
    """The producer handles the loss of a connection after delivery.timeout.ms of the earliest batch on it.

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
    """A fail-over to a replica that lacks the last record: of acks=0 or 1, or an unclean election.

    What the new leader knows of producers follows from its log.
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
    """producer.id.expiration.ms is over. Up to 2.4, also: retention has deleted the records (KAFKA-7190).

    Deleted records stay in the model's log: a reader may have read them.
    """
    require(s.forgotten_producers_left > 0)
    require(s.forgotten_before[partition] < s.log_end_offset[partition])
    s.forgotten_producers_left -= 1
    s.forgotten_before[partition] = s.log_end_offset[partition]


@action(shows="of {partition}")
def producers_are_reloaded(s, partition: Partition):
    """The partition is led by a broker that has restarted: its snapshot has only the last batch of each producer."""
    require(s.reloaded_producers_left > 0)
    require(s.reloaded_before[partition] < s.log_end_offset[partition])
    s.reloaded_producers_left -= 1
    s.reloaded_before[partition] = s.log_end_offset[partition]
