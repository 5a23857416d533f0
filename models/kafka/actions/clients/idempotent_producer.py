"""The actions of an idempotent producer: it numbers its records, sends them again in order, and handles refusals.

A leader appends a record only if its sequence number follows the last one that the log holds, and recognises a request
that it has appended before. Since 0.11; `acks` is all. Not modelled: requests that arrive after the producer has given
up their connection, or its producer id (up to 2.4); answers that are lost after the record is committed; records that
expire (delivery.timeout.ms); and errors after which a record is not sent again.

Requests that are sent one after the other can wait at one leader together. A broker reads the next request of a
connection only after it has answered the one before, so there it takes a time-out, or a connection that is lost.
"""

from isrcheck.models.kafka.actions.clients.producer import append_numbered
from isrcheck.models.kafka.state.broker.commit import answer_producers, has_enough_replicas
from isrcheck.models.kafka.state.broker.roles import presumes_leadership
from isrcheck.models.kafka.state.clients.sequences import (
    begin_numbering,
    expected_sequence,
    hear_of_leader,
    is_first_in_flight,
    is_in_sequence,
    is_next,
    is_refused,
    may_be_sent,
    may_know_leader,
    numbered_record,
    recognised_offset,
    send,
    takes_records_for_deleted,
    takes_records_for_lost,
)
from isrcheck.models.kafka.state.fields import DeletingReplica, NumberedRecord, NumberedReplica, SnapshotReplica
from isrcheck.models.language import NONE, action, require


def checks_sequences(s, leader):
    """A request of the producer can reach the leader, which then looks at its sequence number."""
    return presumes_leadership(s, leader) and may_know_leader(s, leader) and has_enough_replicas(s, leader)


@action(shows="of {record}")
def request_fails(s, record: NumberedRecord):
    """The next record is sent, and not appended: the request is lost, or refused with an error after which it is sent
    again (NOT_LEADER_OR_FOLLOWER, OUT_OF_ORDER_SEQUENCE_NUMBER). Requests behind it can be in flight already.

    So it is after UNKNOWN_PRODUCER_ID if nothing was acknowledged: numbered anew, everything keeps its number.
    """
    require(is_next(s, record))
    send(s, record)


@action(shows="{record} at {leader}")
def producer_resends(s, record: NumberedRecord, leader: NumberedReplica):
    """The producer sends the request again. A leader that remembers it appends nothing, and answers with success once
    the record is below its high watermark; another leader appends it if its sequence number is the next one.

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
    """A leader refuses a record, which was sent for the first time or again, and the producer takes records before it
    to be lost. Other requests can still wait for an answer.

    Since 2.5 the producer raises its epoch, and numbers every request in flight anew, from 0 (KIP-360). Before, it
    takes a new producer id, and gives up what is in flight. Kafka: TransactionManager.canRetry,
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
    """From 1.0 to 2.4: a leader has deleted all records of the producer, and with them what it knew of it. It answers
    UNKNOWN_PRODUCER_ID; the producer sees that the log starts above all that was acknowledged, and numbers the requests
    in flight anew from 0, in the same epoch, also those that still wait for an answer.

    A broker that has not deleted yet cannot tell these numbers from those before. That is why 2.5 takes a new epoch
    (KIP-360). Kafka: TransactionManager.canRetry, startSequencesAtBeginning (KAFKA-5793).
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
    """The leader remembers another record with the number of this one, from before the producer began from 0. It
    appends nothing, and answers with success, because the other one is below its high watermark.

    An answer that waits for the high watermark is left out: then the request comes later.
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
    """The log rolls its segment, or its broker shuts down: a snapshot keeps the last batch of each producer, and no
    other. Kafka: ProducerStateManager.takeSnapshot.
    """
    require(s.producer_snapshots_left > 0)
    require(s.is_up[broker])
    require(s.snapshot_offset[broker] < s.log_end_offset[broker])
    require(s.log_start_offset[broker] < s.log_end_offset[broker])
    s.producer_snapshots_left -= 1
    s.snapshot_offset[broker] = s.log_end_offset[broker]
