"""The controller's record of the partition since 2.8, and how a request or a reassignment changes it."""

from isrcheck.models.kafka.state.broker import controllers_min_insync_replicas, forget_heard_metadata
from isrcheck.models.kafka.state.fields import ReplicaSet
from isrcheck.models.kafka.state.values import AlterPartition, BrokerEpoch, BrokerStateCheck, Controller, LeaderChoice
from isrcheck.models.language import NONE

# ----------------------------------------------------------------------------------------------------------- the record
#
# The partition's record at the controller since 2.8, and how it changes (PartitionChangeBuilder.build).
#
# The controller never compares logs. It keeps a valid leader; a broker is valid if it is active and in the ISR, or in
# the ELR while the ISR is empty.


def is_active(s, r):
    """The broker is registered, not fenced, and not shutting down."""
    return not s.is_fenced[r] and not s.is_shutting_down[r]


def is_assigned(s, r):
    """The partition is assigned to this broker; without reassignments, it is assigned to every broker."""
    return s.reassignments == 0 or s.is_assigned[r]


def may_change_record(s):
    return s.controller_partition_epoch < s.partition_changes


def may_change_leader(s):
    return may_change_record(s) and s.controller_epoch < s.elections


def may_lose_member(s):
    """The budgets allow a smaller ISR, which needs a new partition epoch, and before metadata version 3.6 also a new
    leader epoch."""
    return may_change_leader(s) if s.EPOCH_BUMP_ON_SHRINK else may_change_record(s)


def members_without(s, leaving):
    return sum(1 for r in range(s.replicas) if s.controller_isr[r] and r != leaving)


def leaves_isr(s, leaving):
    """The controller's ISR becomes smaller when `leaving` leaves; without ELR, the last member does not leave."""
    return s.controller_isr[leaving] and (s.ELR or members_without(s, leaving) > 0)


def starts_epoch_of_nobody(s, leaving):
    """Up to 3.5: a new leader epoch without a leader starts when `leaving`, the last member of the ISR, is fenced (or
    fenced again) while nobody leads. This member stays in the ISR.

    Kafka: PartitionChangeBuilder.triggerLeaderEpochBumpIfNeeded compares the old ISR with the requested ISR; since 3.6,
    with the ISR of the new record.
    """
    return (
        s.EPOCH_BUMP_ON_SHRINK
        and s.controller_leader == NONE
        and s.controller_isr[leaving]
        and not leaves_isr(s, leaving)
    )


def changes_record(s, leaving):
    """The controller's record of the partition changes when this broker is fenced or shuts down."""
    return leaves_isr(s, leaving) or starts_epoch_of_nobody(s, leaving)


def may_go_on_without(s, leaving):
    return not changes_record(s, leaving) or may_lose_member(s)


def is_replaced_without(s, leader, leaving):
    """`leader` leads, and is replaced when `leaving` leaves the ISR: it is `leaving` itself; or it is not active,
    because it restarted before it was fenced (RESTART_BEFORE_FENCING). Kafka: PartitionChangeBuilder.electAnyLeader."""
    is_invalid = leaves_isr(s, leaving) and not is_active(s, leader)
    return s.controller_leader == leader and (leader == leaving or is_invalid)


def replaces_leader(s, leaving):
    """The leader is replaced when `leaving` leaves the ISR."""
    return any(is_replaced_without(s, r, leaving) for r in range(s.replicas))


def is_valid_without(s, r, leaving):
    """The broker `r` may lead once `leaving` has left. A member of the ELR to which the partition is not assigned may
    not lead (Kafka looks for a leader among the assigned replicas)."""
    return (
        r != leaving
        and is_active(s, r)
        and is_assigned(s, r)
        and (s.controller_isr[r] or (s.eligible_leader_replicas[r] and members_without(s, leaving) == 0))
    )


def may_be_elected(s, elected, leaving):
    """The broker may lead once `leaving` has left; with LEADER_CHOICE=ASSIGNMENT_ORDER, it is the first such broker."""
    return is_valid_without(s, elected, leaving) and (
        s.LEADER_CHOICE == LeaderChoice.ANY
        or not any(is_valid_without(s, r, leaving) for r in range(s.replicas) if r < elected)
    )


def nobody_is_valid(s, leaving):
    return not any(is_valid_without(s, r, leaving) for r in range(s.replicas))


def keep_eligible(s, members):
    """Update the ELR before the ISR changes to `members` members: if these are fewer than min.insync.replicas, the old
    ISR joins the ELR; otherwise the ELR becomes empty. Kafka: PartitionChangeBuilder.maybePopulateTargetElr."""
    keep_eligible_below(s, controllers_min_insync_replicas(s), members)


def keep_eligible_below(s, minimum, members):
    """Do as `keep_eligible`, with `minimum` as min.insync.replicas: its value before the assigned replicas changed."""
    if s.ELR:
        for r in range(s.replicas):
            s.eligible_leader_replicas[r] = members < minimum and (s.eligible_leader_replicas[r] or s.controller_isr[r])


def keep_members_out_of_elr(s):
    """Remove members of the ISR from the ELR; with ELR_WITHIN_REPLICAS (not in Kafka), unassigned brokers as well."""
    if s.ELR:
        for r in range(s.replicas):
            if s.controller_isr[r] or (s.ELR_WITHIN_REPLICAS and not is_assigned(s, r)):
                s.eligible_leader_replicas[r] = False


def drop_from_isr(s, leaving):
    if leaves_isr(s, leaving):
        keep_eligible(s, members_without(s, leaving))
        s.controller_isr[leaving] = False
        keep_members_out_of_elr(s)


def go_on_without(s, leaving):
    """Take `leaving` out of the ISR (without ELR, the last member stays), and write any change with the same leader."""
    if changes_record(s, leaving):
        drop_from_isr(s, leaving)
        announce_record(s, s.controller_leader, True)


def announce_record(s, leader, is_smaller):
    """Write a new record with this leader; the leader epoch rises if the leader changes (EPOCH_BUMP_ON_SHRINK: also if
    the ISR `is_smaller`).

    A leader from the ELR becomes the only member of the ISR. The last leader is remembered only while nobody leads.
    Kafka: PartitionChangeBuilder.tryElection, maybeUpdateLastKnownLeader.
    """
    if leader != s.controller_leader or (s.EPOCH_BUMP_ON_SHRINK and is_smaller):
        s.controller_epoch += 1
    if s.ELR and leader != NONE and not s.controller_isr[leader]:
        s.controller_isr[leader] = True
        s.eligible_leader_replicas[leader] = False
    if s.ELR and leader != NONE:
        s.last_known_leader = NONE
    s.controller_leader = leader
    s.controller_partition_epoch += 1
    if s.CONTROLLER == Controller.KRAFT:
        s.metadata_leader[s.controller_partition_epoch] = leader
        s.metadata_leader_epoch[s.controller_partition_epoch] = s.controller_epoch
        for r in range(s.replicas):
            s.metadata_isr[s.controller_partition_epoch][r] = s.controller_isr[r]
        if s.reassignments > 0:
            for r in range(s.replicas):
                s.metadata_assigned[s.controller_partition_epoch][r] = s.is_assigned[r]
                s.metadata_adding[s.controller_partition_epoch][r] = s.is_adding[r]
        forget_heard_metadata(s)


# ------------------------------------------------------------------------------------------------------------- replicas
#
# The replicas of the partition at the controller, and reassignments in progress (PartitionReassignmentReplicas).


def has_new_replica(s, target: ReplicaSet):
    return any(target[r] and not s.is_assigned[r] for r in range(s.replicas))


def has_leaving_replica(s, target: ReplicaSet):
    return any(s.is_assigned[r] and not target[r] for r in range(s.replicas))


def will_be_adding(s, target: ReplicaSet, r):
    """After a request for `target`, the broker is on the list of adding replicas. A request without a new replica
    leaves this list unchanged."""
    return (target[r] and not s.is_assigned[r]) if has_new_replica(s, target) else s.is_adding[r]


def will_be_removing(s, target: ReplicaSet, r):
    """After a request for `target`, the broker is on the list of removing replicas. A request that removes no replica
    leaves this list unchanged, even if `target` contains a broker on the list."""
    return (s.is_assigned[r] and not target[r]) if has_leaving_replica(s, target) else s.is_removing[r]


def is_complete(s, adding, removing, staying, lacking, lacking_added):
    """Whether a reassignment is complete, given five numbers: replicas to add, replicas to remove, members of the ISR
    that stay, staying replicas that are not in the ISR (`lacking`), and added replicas that are not in the ISR.

    Up to 3.7, the ISR has to contain the added replicas; from 3.8 to 4.2, all staying replicas (KAFKA-15665); since
    4.3, only the added replicas, but all staying replicas if more are removed than added (KAFKA-19975). Kafka:
    PartitionReassignmentReplicas.maybeCompleteReassignment.
    """
    return (
        (adding > 0 or removing > 0)
        and (removing == 0 or staying > 0)
        and (lacking_added == 0 or not needs_added(s))
        and (lacking == 0 or may_lack_others(s, adding, removing))
    )


def needs_added(s):
    return s.REASSIGNED_WITHOUT_THE_OTHERS or s.REASSIGNED_ONCE_ADDED


def may_lack_others(s, adding, removing):
    return s.REASSIGNED_WITHOUT_THE_OTHERS or (s.REASSIGNED_ONCE_ADDED and adding >= removing)


def is_complete_at_once(s, target: ReplicaSet):
    """A reassignment to these replicas is complete at once: it needs no further member of the ISR."""
    return is_complete(
        s,
        sum(1 for r in range(s.replicas) if will_be_adding(s, target, r)),
        sum(1 for r in range(s.replicas) if will_be_removing(s, target, r)),
        sum(1 for r in range(s.replicas) if s.controller_isr[r] and not will_be_removing(s, target, r)),
        sum(
            1
            for r in range(s.replicas)
            if (s.is_assigned[r] or target[r]) and not will_be_removing(s, target, r) and not s.controller_isr[r]
        ),
        sum(
            1
            for r in range(s.replicas)
            if will_be_adding(s, target, r) and (will_be_removing(s, target, r) or not s.controller_isr[r])
        ),
    )


def is_complete_with_request(s, leader):
    """With the ISR that this leader requests, the reassignment in progress is complete."""
    return s.reassignments > 0 and is_complete(
        s,
        sum(1 for r in range(s.replicas) if s.is_adding[r]),
        sum(1 for r in range(s.replicas) if s.is_removing[r]),
        sum(1 for r in range(s.replicas) if s.requested_isr[leader][r] and not s.is_removing[r]),
        sum(
            1 for r in range(s.replicas) if s.is_assigned[r] and not s.is_removing[r] and not s.requested_isr[leader][r]
        ),
        sum(1 for r in range(s.replicas) if s.is_adding[r] and (s.is_removing[r] or not s.requested_isr[leader][r])),
    )


def removes_by_request(s, leader, r):
    """The change that this leader requests removes the broker from the partition."""
    return is_complete_with_request(s, leader) and s.is_removing[r]


def request_replicas(s, target: ReplicaSet):
    """Apply a request for these replicas: new replicas are added at once, leaving replicas are marked. Kafka:
    ReplicationControlManager.changePartitionReassignment."""
    has_new = has_new_replica(s, target)
    has_leaving = has_leaving_replica(s, target)
    for r in range(s.replicas):
        if has_new:
            s.is_adding[r] = target[r] and not s.is_assigned[r]
        if has_leaving:
            s.is_removing[r] = s.is_assigned[r] and not target[r]
    for r in range(s.replicas):
        s.is_assigned[r] = s.is_assigned[r] or target[r]


def end_reassignment(s):
    """End the reassignment: empty the lists of replicas to add and to remove."""
    for r in range(s.replicas):
        s.is_adding[r] = False
        s.is_removing[r] = False


def remove_replicas(s):
    """Replicas that a reassignment removes leave the ISR and the assigned replicas; the ELR keeps them, unless
    ELR_WITHIN_REPLICAS is on. Kafka: PartitionChangeBuilder.completeReassignmentIfNeeded."""
    for r in range(s.replicas):
        if s.is_removing[r]:
            s.controller_isr[r] = False
            s.is_assigned[r] = False
    end_reassignment(s)


def is_overdue(s):
    """The ISR makes the reassignment complete, but no record has ended it: a leader from the ELR became the only
    member of the ISR after the controller had checked for completion. The next change of the record ends it."""
    return s.reassignments > 0 and is_complete(
        s,
        sum(1 for r in range(s.replicas) if s.is_adding[r]),
        sum(1 for r in range(s.replicas) if s.is_removing[r]),
        sum(1 for r in range(s.replicas) if s.controller_isr[r] and not s.is_removing[r]),
        sum(1 for r in range(s.replicas) if s.is_assigned[r] and not s.is_removing[r] and not s.controller_isr[r]),
        sum(1 for r in range(s.replicas) if s.is_adding[r] and (s.is_removing[r] or not s.controller_isr[r])),
    )


def is_removed_overdue(s, r):
    """A reassignment is overdue: the next change of the record ends it, and removes the broker from the partition."""
    return is_overdue(s) and s.is_removing[r]


def removes_overdue(s):
    return any(is_removed_overdue(s, r) for r in range(s.replicas))


def end_overdue(s, elected):
    """End an overdue reassignment in a record with the leader `elected`; a leader that stays gets a new leader epoch if
    replicas are removed."""
    if removes_overdue(s) and elected == s.controller_leader:
        s.controller_epoch += 1
    if is_overdue(s):
        remove_replicas(s)


# ---------------------------------------------------------------------------------------------------------------- trust
# Whom the controller still trusts when a broker registers again, or is unregistered: ELR and last known leader.


def is_out_of_service(s, broker):
    """The broker is unregistered, so it does not come back."""
    return s.unregistrations > 0 and s.is_unregistered[broker]


def may_be_last_known_leader(s, r, leaving):
    """The broker is the last known leader, and may lead: it is active or, in 4.0, down or registering (KAFKA-19522)."""
    return s.last_known_leader == r and ((is_active(s, r) and r != leaving) or not s.LAST_KNOWN_LEADER_IS_ACTIVE)


def last_known_leader_is_next(s, leaving):
    """Nobody leads, and the last known leader is elected once `leaving` (NONE: every member) has left the ELR."""
    return (
        s.controller_leader == NONE
        and members_without(s, leaving) == 0
        and (leaving == NONE or not any(s.eligible_leader_replicas[r] for r in range(s.replicas) if r != leaving))
        and any(may_be_last_known_leader(s, r, leaving) for r in range(s.replicas))
    )


def last_known_leader_waits(s):
    """The last known leader is elected when the controller next looks at the partition: the ELR was emptied without an
    election, by a report of a log directory or, in 4.0, by the registration of a leader that was elected while down."""
    return (
        (s.directory_reports > 0 or not s.LAST_KNOWN_LEADER_IS_ACTIVE)
        and not any(s.eligible_leader_replicas[r] for r in range(s.replicas))
        and last_known_leader_is_next(s, NONE)
    )


def has_active_leader(s):
    """The leader stays when the record changes. (Not modelled: 4.0 would replace a leader elected while down.)"""
    return s.LAST_KNOWN_LEADER_IS_ACTIVE or all(is_active(s, r) for r in range(s.replicas) if s.controller_leader == r)


def may_leave_elr(s, broker):
    return (
        has_active_leader(s)
        and may_change_record(s)
        and (not (last_known_leader_is_next(s, broker) or removes_overdue(s)) or may_change_leader(s))
    )


def leave_elr(s, broker):
    """The broker leaves the ELR, and the last known leader may be elected. As in every change, the ELR becomes empty if
    the ISR has min.insync.replicas members.
    """
    elected = s.last_known_leader if last_known_leader_is_next(s, broker) else s.controller_leader
    s.eligible_leader_replicas[broker] = False
    renew_record(s, elected)


def renew_record(s, elected):
    """Write a record with the leader `elected` and the present ISR. As in every change, the ELR is updated, and an
    overdue reassignment ends."""
    minimum = controllers_min_insync_replicas(s)
    end_overdue(s, elected)
    keep_eligible_below(s, minimum, members_without(s, NONE))
    keep_members_out_of_elr(s)
    announce_record(s, elected, False)


# ------------------------------------------------------------------------------------------------------------- requests
#
# A request to change the ISR at the controller: whether it is refused, and what it changes (AlterPartition).


def is_made_already(s, leader):
    """A ZooKeeper controller already has the requested ISR: the request is repeated, because its answer was lost.

    This controller compares the ISRs before it compares partition epochs. Within a leader epoch, only the leader
    changes the ISR, so an equal ISR comes from an earlier copy of this request. Kafka: KafkaController.processAlterIsr,
    LeaderAndIsr.equalsIgnoreZk.
    """
    return (
        s.CONTROLLER == Controller.ZOOKEEPER
        and s.controller_leader == leader
        and s.requested_leader_epoch[leader] == s.controller_epoch
        and all(s.controller_isr[r] == s.requested_isr[leader][r] for r in range(s.replicas))
    )


def is_refused(s, leader):
    """The sender is not the controller's leader, or has not seen the last change (FENCED_LEADER_EPOCH,
    INVALID_UPDATE_VERSION), or names a broker to which the partition is not assigned."""
    return not is_made_already(s, leader) and (
        s.controller_leader != leader
        or s.requested_leader_epoch[leader] < s.controller_epoch
        or s.requested_partition_epoch[leader] < s.controller_partition_epoch
        or names_no_replica(s, leader)
    )


def names_no_replica(s, leader):
    """The requested ISR has a member to which the partition is not assigned (INVALID_REQUEST)."""
    return s.reassignments > 0 and any(s.requested_isr[leader][r] and not s.is_assigned[r] for r in range(s.replicas))


def is_ineligible(s, leader, r):
    """A proposed member is fenced or shutting down (KIP-841), or its process has started since it fetched (KIP-903)."""
    return s.requested_isr[leader][r] and (
        (s.BROKER_STATE_CHECK >= BrokerStateCheck.FENCED and not is_active(s, r))
        or (
            s.BROKER_STATE_CHECK == BrokerStateCheck.BROKER_EPOCH
            and s.requested_broker_epoch[leader][r] == BrokerEpoch.EARLIER
        )
    )


def has_ineligible_member(s, leader):
    return s.CONTROLLER == Controller.KRAFT and any(is_ineligible(s, leader, r) for r in range(s.replicas))


def drops_a_member(s, leader):
    return any(s.controller_isr[r] and not s.requested_isr[leader][r] for r in range(s.replicas))


def removes_a_replica(s, leader):
    """The change completes a reassignment that removes replicas: a new leader epoch begins."""
    return s.reassignments > 0 and any(removes_by_request(s, leader, r) for r in range(s.replicas))


def bumps_leader_epoch(s, leader):
    return (s.EPOCH_BUMP_ON_SHRINK and drops_a_member(s, leader)) or removes_a_replica(s, leader)


def is_answered_at_once(s, leader):
    """The leader's request leaves the record unchanged: it is repeated or refused, or has an ineligible member."""
    return is_made_already(s, leader) or is_refused(s, leader) or has_ineligible_member(s, leader)


def may_be_granted(s, leader):
    return s.alter_partition[leader] == AlterPartition.REQUESTED and not is_answered_at_once(s, leader)


def take_requested_isr(s, leader):
    """The ISR becomes the requested one, without replicas that a completed reassignment removes. Kafka:
    PartitionChangeBuilder.build."""
    is_ended = is_complete_with_request(s, leader)
    members = sum(1 for r in range(s.replicas) if s.requested_isr[leader][r] and not removes_by_request(s, leader, r))
    keep_eligible(s, members)
    for r in range(s.replicas):
        s.controller_isr[r] = s.requested_isr[leader][r]
    if is_ended:
        remove_replicas(s)
    keep_members_out_of_elr(s)
