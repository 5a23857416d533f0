"""Reassignment: a replica is removed from the partition, and may be added again, with an empty log.

Not modelled: a leader that is removed (it is moved before), a removal while the partition has no leader, a change while
the leader is fenced, because it has restarted before that was noticed (it would be replaced), and an effective
min.insync.replicas that follows the number of assigned replicas.
"""

from isrcheck.models.kafka.state.broker.record import (
    announce_record,
    drop_from_isr,
    is_active,
    leaves_isr,
    may_change_leader,
    may_change_record,
)
from isrcheck.models.kafka.state.fields import KraftReplica
from isrcheck.models.language import NONE, action, require


def leads_in_order(s):
    """The leader, if there is one, stays when the record changes."""
    return all(is_active(s, r) for r in range(s.replicas) if s.controller_leader == r)


@action(shows="{replica}")
def controller_removes_replica(s, replica: KraftReplica):
    """A replica that does not lead is removed from assignment, ISR and ELR, in a new leader epoch. Kafka:
    PartitionChangeBuilder.triggerLeaderEpochBumpForReplicaReassignmentIfNeeded.
    """
    require(s.reassignments > 0)
    require(s.reassignments_left > 0)
    require(s.is_assigned[replica])
    require(s.controller_leader != NONE)
    require(replica != s.controller_leader)
    require(leads_in_order(s))
    require(leaves_isr(s, replica) or not s.controller_isr[replica])
    require(may_change_leader(s))
    s.reassignments_left -= 1
    drop_from_isr(s, replica)
    s.eligible_leader_replicas[replica] = False
    s.is_assigned[replica] = False
    s.controller_epoch += 1
    announce_record(s, s.controller_leader, False)


@action(shows="{replica}")
def controller_adds_replica(s, replica: KraftReplica):
    """A replica is added to the assignment; it is not in the ISR."""
    require(s.reassignments > 0)
    require(s.reassignments_left > 0)
    require(not s.is_assigned[replica])
    require(leads_in_order(s))
    require(may_change_record(s))
    s.reassignments_left -= 1
    s.is_assigned[replica] = True
    announce_record(s, s.controller_leader, False)
