"""The actions of the leaders of the partitions: a request is appended, recognised as a duplicate, or refused."""

from isrcheck.models.exactly_once.batches import is_idempotent, is_of_same_queue, travels
from isrcheck.models.exactly_once.producers import follows_last, is_duplicate, last_offset_of
from isrcheck.models.exactly_once.state import Batch
from isrcheck.models.exactly_once.values import BatchState, Request, UnknownProducer
from isrcheck.models.language import NONE, action, require


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
