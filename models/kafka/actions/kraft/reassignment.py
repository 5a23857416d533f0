"""Reassignment: an operator asks for other replicas, and the controller takes them in steps (KIP-455).

A request adds what is new to the replicas, and marks what is to leave. The change that makes the ISR complete, the
request itself or one of the leader, ends the reassignment: replicas that leave are removed in a new leader epoch, and
delete their logs. A request can be cancelled; what it added is removed then. Not modelled: a change while the leader is
fenced, because it has restarted before that was noticed (it would be replaced), and one after which nobody of the ISR
is active.
"""

from isrcheck.models.kafka.state.broker.assignment import (
    end_reassignment,
    is_complete_at_once,
    is_complete_with_request,
    remove_replicas,
    removes_by_request,
    request_replicas,
    will_be_adding,
    will_be_removing,
)
from isrcheck.models.kafka.state.broker.min_isr import controllers_min_insync_replicas
from isrcheck.models.kafka.state.broker.proposals import clear_request
from isrcheck.models.kafka.state.broker.record import (
    announce_record,
    is_active,
    keep_eligible_below,
    keep_members_out_of_elr,
    may_change_leader,
    may_change_record,
    members_without,
)
from isrcheck.models.kafka.state.broker.registration import is_out_of_service, last_known_leader_waits
from isrcheck.models.kafka.state.broker.requests import may_be_granted, take_requested_isr
from isrcheck.models.kafka.state.fields import AlteringReplica, KraftReplica, ReplicaSet
from isrcheck.models.language import NONE, action, require


def leads_in_order(s):
    """The leader, if there is one, stays when the record changes."""
    return all(is_active(s, r) for r in range(s.replicas) if s.controller_leader == r)


def is_removed_at_once(s, target: ReplicaSet, r):
    return is_complete_at_once(s, target) and will_be_removing(s, target, r)


def leader_stays(s, target: ReplicaSet):
    return not any(is_removed_at_once(s, target, r) for r in range(s.replicas) if s.controller_leader == r)


def removes_at_once(s, target: ReplicaSet):
    return any(is_removed_at_once(s, target, r) for r in range(s.replicas))


def meets_an_eligible_stranger(s, target: ReplicaSet):
    """A broker that is no replica, but in the ELR and active, is asked for while nobody leads: the controller looks up
    its directory, which it does not have yet, and refuses the request (UNKNOWN_SERVER_ERROR). Kafka: LeaderAcceptor.
    """
    return (
        s.ELR
        and s.controller_leader == NONE
        and members_without(s, NONE) == 0
        and any(
            target[r] and not s.is_assigned[r] and s.eligible_leader_replicas[r] and is_active(s, r)
            for r in range(s.replicas)
        )
    )


def is_request(s, target: ReplicaSet):
    """It asks for at least one replica, for registered brokers only, and changes something (the order is left out)."""
    return (
        any(target[r] for r in range(s.replicas))
        and not any(target[r] and is_out_of_service(s, r) for r in range(s.replicas))
        and (
            is_complete_at_once(s, target)
            or any(
                (target[r] and not s.is_assigned[r])
                or will_be_adding(s, target, r) != s.is_adding[r]
                or will_be_removing(s, target, r) != s.is_removing[r]
                for r in range(s.replicas)
            )
        )
    )


def reassign(s, target: ReplicaSet):
    """Make the change, up to the election."""
    is_ended = is_complete_at_once(s, target)
    minimum = controllers_min_insync_replicas(s)
    s.reassignments_left -= 1
    request_replicas(s, target)
    keep_eligible_below(
        s, minimum, sum(1 for r in range(s.replicas) if s.controller_isr[r] and not (is_ended and s.is_removing[r]))
    )
    if is_ended:
        remove_replicas(s)
    keep_members_out_of_elr(s)


@action(shows="to {target}")
def controller_begins_reassignment(s, target: ReplicaSet):
    """An operator asks for these replicas; the leader stays. If the ISR needs no new member for it, the change is
    complete at once. Kafka: ReplicationControlManager.changePartitionReassignment.
    """
    require(s.reassignments > 0)
    require(s.reassignments_left > 0)
    require(is_request(s, target))
    require(leads_in_order(s))
    require(leader_stays(s, target))
    require(not meets_an_eligible_stranger(s, target))
    require(may_change_leader(s) if removes_at_once(s, target) or last_known_leader_waits(s) else may_change_record(s))
    elected = s.last_known_leader if last_known_leader_waits(s) else s.controller_leader
    if removes_at_once(s, target):
        s.controller_epoch += 1
    reassign(s, target)
    announce_record(s, elected, False)


@action(shows="to {target} and elects {elected}")
def controller_reassigns_without_leader(s, target: ReplicaSet, elected: KraftReplica):
    """A request that is complete at once removes the leader: another member of the ISR is elected."""
    require(s.reassignments > 0)
    require(s.reassignments_left > 0)
    require(is_request(s, target))
    require(s.controller_leader != NONE)
    require(not leader_stays(s, target))
    require(s.controller_isr[elected])
    require(is_active(s, elected))
    require(not will_be_removing(s, target, elected))
    require(may_change_leader(s))
    reassign(s, target)
    announce_record(s, elected, False)


def is_added_member(s, r):
    return s.controller_isr[r] and s.is_adding[r]


def may_cancel(s):
    """A reassignment is in progress, and without what it adds the ISR has a member left: otherwise, cancelling is an
    unclean election, and refused. Kafka: PartitionReassignmentRevert.
    """
    return any(s.is_adding[r] or s.is_removing[r] for r in range(s.replicas)) and any(
        s.controller_isr[r] and not s.is_adding[r] for r in range(s.replicas)
    )


def cancel(s):
    """Take back what was added, up to the election."""
    minimum = controllers_min_insync_replicas(s)
    s.reassignments_left -= 1
    keep_eligible_below(s, minimum, sum(1 for r in range(s.replicas) if s.controller_isr[r] and not s.is_adding[r]))
    for r in range(s.replicas):
        if s.is_adding[r]:
            s.controller_isr[r] = False
            s.is_assigned[r] = False
    end_reassignment(s)
    keep_members_out_of_elr(s)


@action
def controller_cancels_reassignment(s):
    """An operator cancels the reassignment; the leader stays. Kafka:
    ReplicationControlManager.cancelPartitionReassignment.
    """
    require(s.reassignments > 0)
    require(s.reassignments_left > 0)
    require(may_cancel(s))
    require(leads_in_order(s))
    require(not any(s.is_adding[r] for r in range(s.replicas) if s.controller_leader == r))
    require(may_change_leader(s) if any(s.is_adding[r] for r in range(s.replicas)) else may_change_record(s))
    if any(s.is_adding[r] for r in range(s.replicas)):
        s.controller_epoch += 1
    cancel(s)
    announce_record(s, s.controller_leader, False)


@action(shows="and elects {elected}")
def controller_cancels_without_leader(s, elected: KraftReplica):
    """The leader was added by the reassignment that is cancelled: another member of the ISR is elected."""
    require(s.reassignments > 0)
    require(s.reassignments_left > 0)
    require(may_cancel(s))
    require(any(s.is_adding[r] for r in range(s.replicas) if s.controller_leader == r))
    require(s.controller_isr[elected])
    require(is_active(s, elected))
    require(not s.is_adding[elected])
    require(may_change_leader(s))
    cancel(s)
    announce_record(s, elected, False)


@action(shows="of {leader} and elects {elected}")
def controller_completes_reassignment(s, leader: AlteringReplica, elected: KraftReplica):
    """The ISR that the leader asks for makes the reassignment complete, and removes the leader itself: another member
    is elected, and the leader hears NEW_LEADER_ELECTED. Kafka: ReplicationControlManager.alterPartition.
    """
    require(s.reassignments > 0)
    require(may_be_granted(s, leader))
    require(is_complete_with_request(s, leader))
    require(removes_by_request(s, leader, leader))
    require(s.requested_isr[leader][elected])
    require(is_active(s, elected))
    require(not s.is_removing[elected])
    require(may_change_leader(s))
    take_requested_isr(s, leader)
    clear_request(s, leader)
    announce_record(s, elected, False)
