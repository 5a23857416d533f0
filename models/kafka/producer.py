"""What producers do: send each record once, to a broker that takes itself for the leader."""

from models.kafka.commit import advance_high_watermark, has_enough_replicas, note_append
from models.kafka.roles import presumes_leadership
from models.kafka.state import Acks, Replica
from models.language import action, require
from models.log import append_entry


@action(shows="at {leader}")
def producer_appends(s, leader: Replica):
    """A leader, zombie or not, appends the next record. Kafka: Partition.appendRecordsToLeader.

    min.insync.replicas is asked for with acks=all only. A leader that is alone in its ISR commits at once.
    """
    require(presumes_leadership(s, leader))
    require(s.next_record < s.records)
    require(s.log_end_offset[leader] < s.log_size)
    require(s.acks != Acks.ALL or has_enough_replicas(s, leader))
    record = s.next_record
    append_entry(s, leader, record, s.leader_epoch[leader])
    s.next_record += 1
    note_append(s, leader, record)
    advance_high_watermark(s, leader)


@action(shows="at {leader}")
def producer_is_refused(s, leader: Replica):
    """NOT_ENOUGH_REPLICAS: nothing is appended, and the producer is told so."""
    require(presumes_leadership(s, leader))
    require(s.next_record < s.records)
    require(s.acks == Acks.ALL)
    require(not has_enough_replicas(s, leader))
    s.next_record += 1


@action
def send_is_lost(s):
    """With acks=0 the producer takes a record for written once it is sent; this one never reaches a leader."""
    require(s.acks == Acks.ZERO)
    require(s.next_record < s.records)
    s.acknowledged[s.next_record] = True
    s.next_record += 1
