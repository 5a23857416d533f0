"""Whom DeleteRecords waits for, and when a follower's log start is good enough for the ISR.

DeleteRecords is answered once the low watermark, the least log start of the replicas that count, has reached its
offset. Kafka counts the brokers that are not fenced (Partition.lowWatermarkIfLeader), and lets a replica join the ISR
whatever its log start is.
"""

from isrcheck.models.kafka.state.broker.commit import is_in_maximal_isr
from isrcheck.models.kafka.state.values import Controller


def is_live(s, r):
    """The replica runs and, with KRaft, is not fenced: the low watermark waits for it."""
    return s.is_up[r] and (s.CONTROLLER == Controller.ZOOKEEPER or not s.is_fenced[r])


def is_eligible(s, r):
    """The replica is in the ELR of record. Not modelled: that the leader may hear of that later."""
    return s.CONTROLLER == Controller.KRAFT and s.eligible_leader_replicas[r]


def delays_deletion(s, leader, r):
    """The leader does not answer DeleteRecords before the replica has deleted the records."""
    return is_live(s, r) or (s.DELETION_AWAITS_ELIGIBLE and (is_in_maximal_isr(s, leader, r) or is_eligible(s, r)))


def has_deleted_enough(s, leader, follower):
    """The follower's log start does not keep it out of the ISR."""
    return not s.EXPAND_LOG_START or s.log_start_offset[follower] >= s.log_start_offset[leader]
