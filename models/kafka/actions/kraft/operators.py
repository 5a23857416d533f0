"""What operators do to a cluster with KRaft while it runs: they reassign replicas, change min.insync.replicas,
unregister brokers, and delete the folder of a partition.
"""

from isrcheck.models.kafka.state.broker import clear_request, controllers_min_insync_replicas
from isrcheck.models.kafka.state.controller import (
    announce_record,
    end_reassignment,
    is_active,
    is_complete_at_once,
    is_complete_with_request,
    is_out_of_service,
    is_overdue,
    keep_eligible_below,
    keep_members_out_of_elr,
    last_known_leader_is_next,
    last_known_leader_waits,
    leave_elr,
    may_be_granted,
    may_change_leader,
    may_change_record,
    may_leave_elr,
    members_without,
    remove_replicas,
    removes_by_request,
    removes_overdue,
    renew_record,
    request_replicas,
    take_requested_isr,
    will_be_adding,
    will_be_removing,
)
from isrcheck.models.kafka.state.fields import AlteringReplica, KraftReplica, MinInsyncReplicas, ReplicaSet
from isrcheck.models.kafka.state.log import start_log_at
from isrcheck.models.kafka.state.values import ErasedByMinIsr, Stop
from isrcheck.models.language import NONE, action, require

# --------------------------------------------------------------------------------------------------------- reassignment
#
# Reassignment: an operator asks for other replicas, and the controller takes them in steps (KIP-455).
#
# A request adds what is new to the replicas, and marks what is to leave. The change that makes the ISR complete, the
# request itself or one of the leader, ends the reassignment: replicas that leave are removed in a new leader epoch, and
# delete their logs. A request can be cancelled; what it added is removed then. Not modelled: a change while the leader
# is fenced, because it has restarted before that was noticed (it would be replaced), and one after which nobody of the
# ISR is active.


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


# -------------------------------------------------------------------------------------------------------- other changes
#
# What operators do to a cluster while it runs: they change min.insync.replicas, unregister brokers, and delete the
# folder of a replica so that it is copied anew.
#
# min.insync.replicas is a record of the metadata log. The controller counts it at once, each broker when it reads it.
# With ELR, a change of it empties the ELR, because whoever is in it was judged by another minimum (KAFKA-16540).


def has_eligible_replicas(s):
    return s.ELR and any(s.eligible_leader_replicas[r] for r in range(s.replicas))


def forgets_eligible_replicas(s):
    return has_eligible_replicas(s) and (
        s.CHANGED_MIN_ISR_ERASES != ErasedByMinIsr.NOTHING_WHILE_LEADERLESS or s.controller_leader != NONE
    )


def forgets_last_known_leader(s):
    return (
        s.ELR and s.last_known_leader != NONE and s.CHANGED_MIN_ISR_ERASES == ErasedByMinIsr.ELR_AND_LAST_KNOWN_LEADER
    )


def elects_last_known_leader(s):
    """Without the ELR, only the last known leader is left. Kafka elects nobody here, and forgets that one too."""
    return forgets_eligible_replicas(s) and not forgets_last_known_leader(s) and last_known_leader_is_next(s, NONE)


@action(shows="to {minimum}")
def operator_changes_min_insync_replicas(s, minimum: MinInsyncReplicas):
    """The value of the topic or of the cluster changes; at the cluster level also to the value that it has. Kafka:
    ConfigurationControlManager.incrementalAlterConfigs, ReplicationControlManager.replay of ClearElrRecord.
    """
    require(s.min_isr_changes > 0)
    require(s.min_isr_changes_left > 0)
    require(0 < minimum <= s.replicas)
    require(not (forgets_eligible_replicas(s) or forgets_last_known_leader(s)) or may_change_record(s))
    require(not elects_last_known_leader(s) or may_change_leader(s))
    for change in range(s.min_isr_changes):
        if change == s.min_isr_changes - s.min_isr_changes_left:
            s.changed_min_isr[change] = minimum
            s.min_isr_position[change] = s.controller_partition_epoch
            s.erases_elr[change] = forgets_eligible_replicas(s) or forgets_last_known_leader(s)
    s.min_isr_changes_left -= 1
    if forgets_eligible_replicas(s) or forgets_last_known_leader(s):
        elected = s.last_known_leader if elects_last_known_leader(s) else s.controller_leader
        if forgets_last_known_leader(s):
            s.last_known_leader = NONE
        if forgets_eligible_replicas(s):
            for r in range(s.replicas):
                s.eligible_leader_replicas[r] = False
        announce_record(s, elected, False)


def has_unread_configuration(s, broker):
    """The next change that the broker has not read is not behind a record of the partition that it has not read. One
    that empties the ELR is read with the record that says so: both are in one batch.
    """
    return any(
        change == s.min_isr_changes_read[broker]
        and s.changed_min_isr[change] > 0
        and not s.erases_elr[change]
        and s.min_isr_position[change] <= s.metadata_position[broker]
        for change in range(s.min_isr_changes)
    )


@action(shows="{broker}")
def broker_reads_configuration(s, broker: KraftReplica):
    """The broker reads the next change of min.insync.replicas, and no record of the partition with it."""
    require(s.min_isr_changes > 0)
    require(s.is_up[broker])
    require(has_unread_configuration(s, broker))
    s.min_isr_changes_read[broker] += 1


def leaves_elr_unregistered(s, broker):
    return s.UNREGISTERED_LEAVES_ELR and s.ELR and s.eligible_leader_replicas[broker]


def changes_record_unregistered(s, broker):
    """The controller looks at the partitions that have the broker in their ELR, and finds that a reassignment is
    complete, or that the ISR has min.insync.replicas members, as it can after a reassignment: the ELR is emptied."""
    return (
        s.ELR
        and s.eligible_leader_replicas[broker]
        and (is_overdue(s) or members_without(s, NONE) >= controllers_min_insync_replicas(s))
    )


@action(shows="{broker}")
def controller_unregisters_broker(s, broker: KraftReplica):
    """An operator says that a broker that is down will not come back. It has left the ISR when it was fenced; the ELR
    keeps it, although Kafka's comment says otherwise. Kafka: ReplicationControlManager.handleBrokerUnregistered.
    """
    require(s.unregistrations > 0)
    require(s.unregistrations_left > 0)
    require(not s.is_up[broker])
    require(s.is_fenced[broker])
    require(not s.is_unregistered[broker])
    require(not leaves_elr_unregistered(s, broker) or may_leave_elr(s, broker))
    require(not changes_record_unregistered(s, broker) or may_change_record(s))
    require(not changes_record_unregistered(s, broker) or not removes_overdue(s) or may_change_leader(s))
    s.unregistrations_left -= 1
    s.is_unregistered[broker] = True
    if leaves_elr_unregistered(s, broker):
        leave_elr(s, broker)
    elif changes_record_unregistered(s, broker):
        renew_record(s, s.controller_leader)


@action(shows="of {broker}")
def operator_deletes_replica_folder(s, broker: KraftReplica):
    """The usual cure of a bad replica: its broker is stopped in order, the folder of the partition is deleted, and the
    broker is started again, to copy everything from the leader. The shutdown counts as clean all the same: the file
    that says so names no logs. Kafka: CleanShutdownFileHandler, LogManager.
    """
    require(s.folder_deletions > 0)
    require(s.folder_deletions_left > 0)
    require(not s.is_up[broker])
    require(s.stopped_by[broker] == Stop.SHUTDOWN)
    require(s.controller_leader != NONE)
    require(s.log_end_offset[broker] > 0)
    s.folder_deletions_left -= 1
    start_log_at(s, broker, 0)
    s.high_watermark[broker] = 0
    if s.DELETED_FOLDER_IS_UNCLEAN:
        s.stopped_by[broker] = Stop.LOSS
