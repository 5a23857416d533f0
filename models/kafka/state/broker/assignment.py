"""The replicas of the partition at the controller, and reassignments in progress (PartitionReassignmentReplicas)."""

from isrcheck.models.kafka.state.fields import ReplicaSet


def has_new_replica(s, target: ReplicaSet):
    return any(target[r] and not s.is_assigned[r] for r in range(s.replicas))


def has_leaving_replica(s, target: ReplicaSet):
    return any(s.is_assigned[r] and not target[r] for r in range(s.replicas))


def will_be_adding(s, target: ReplicaSet, r):
    """After a request for these replicas. One that adds nothing leaves the list of what is being added as it was."""
    return (target[r] and not s.is_assigned[r]) if has_new_replica(s, target) else s.is_adding[r]


def will_be_removing(s, target: ReplicaSet, r):
    """After a request for these replicas. One that removes nothing leaves the list of what is being removed as it was,
    even if it names a broker on it."""
    return (s.is_assigned[r] and not target[r]) if has_leaving_replica(s, target) else s.is_removing[r]


def is_complete(s, adding, removing, staying, lacking, lacking_added):
    """Whether a reassignment is complete: `adding` and `removing` brokers are on its lists, `staying` members of the
    ISR are not removed, and the ISR lacks so many of the replicas that stay, and of those that are added.

    Up to 3.7 it needs those that are added in the ISR, from 3.8 to 4.2 all that stay (KAFKA-15665), since 4.3 those
    that are added again, and all if more are removed than added (KAFKA-19975). Kafka:
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
    """A request for these replicas needs no further member of the ISR."""
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
    """With the ISR that this leader asks for, the reassignment in progress is complete."""
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
    """The change that this leader asks for removes the broker from the partition."""
    return is_complete_with_request(s, leader) and s.is_removing[r]


def request_replicas(s, target: ReplicaSet):
    """Take a request for these replicas: what is new joins them, and what leaves is marked. Kafka:
    ReplicationControlManager.changePartitionReassignment.
    """
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
    """The reassignment is over: the lists are empty."""
    for r in range(s.replicas):
        s.is_adding[r] = False
        s.is_removing[r] = False


def remove_replicas(s):
    """Those that are on their way out are removed from ISR and replicas; the ELR keeps them, unless
    ELR_WITHIN_REPLICAS is on. Kafka: PartitionChangeBuilder.completeReassignmentIfNeeded.
    """
    for r in range(s.replicas):
        if s.is_removing[r]:
            s.controller_isr[r] = False
            s.is_assigned[r] = False
    end_reassignment(s)


def is_overdue(s):
    """The ISR makes the reassignment complete, but no change has done it: a leader from the ELR became the only member
    of the ISR when this was looked at already. The next change of the record completes it.
    """
    return s.reassignments > 0 and is_complete(
        s,
        sum(1 for r in range(s.replicas) if s.is_adding[r]),
        sum(1 for r in range(s.replicas) if s.is_removing[r]),
        sum(1 for r in range(s.replicas) if s.controller_isr[r] and not s.is_removing[r]),
        sum(1 for r in range(s.replicas) if s.is_assigned[r] and not s.is_removing[r] and not s.controller_isr[r]),
        sum(1 for r in range(s.replicas) if s.is_adding[r] and (s.is_removing[r] or not s.controller_isr[r])),
    )


def is_removed_overdue(s, r):
    """The next change of the record removes the broker from the partition."""
    return is_overdue(s) and s.is_removing[r]


def removes_overdue(s):
    return any(is_removed_overdue(s, r) for r in range(s.replicas))


def end_overdue(s, elected):
    """Complete an overdue reassignment in a record with this leader; one that stays enters a new epoch if replicas are
    removed."""
    if removes_overdue(s) and elected == s.controller_leader:
        s.controller_epoch += 1
    if is_overdue(s):
        remove_replicas(s)
