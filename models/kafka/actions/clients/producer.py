"""The actions of the producer: it sends its records in order to a broker that presumes leadership, and may retry them.

Several requests can be in flight; a request that is not answered in time is given up, or sent again. Without
idempotence, a broker cannot recognise a request that was sent again; with it, see idempotent_producer.py.
"""

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state.broker.commit import advance_high_watermark, has_enough_replicas, note_append
from isrcheck.models.kafka.state.broker.log import append_to_log
from isrcheck.models.kafka.state.broker.roles import presumes_leadership
from isrcheck.models.kafka.state.clients.sequences import (
    hear_of_leader,
    is_in_sequence,
    is_mistaken,
    may_know_leader,
    number,
    requests_in_flight,
)
from isrcheck.models.kafka.state.fields import Record, Replica
from isrcheck.models.language import NONE, action, require


def append_record(s, leader, record):
    append_to_log(s, leader, record, s.leader_epoch[leader])
    note_append(s, leader, record)
    advance_high_watermark(s, leader)


def append_numbered(s, leader, record):
    """Append a record of the idempotent producer, in its current epoch."""
    hear_of_leader(s, leader)
    s.log_producer_epoch[leader][s.log_end_offset[leader]] = s.producer_epoch
    append_record(s, leader, record)


def may_send(s, leader):
    """A producer without idempotence never waits; an idempotent one has few requests in flight, and the leader checks
    the sequence number of the next one."""
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
    """NOT_ENOUGH_REPLICAS: nothing is appended, and the producer receives the error. An idempotent one retries."""
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
