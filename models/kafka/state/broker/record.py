"""The partition's record at the controller since 2.8, and how it changes (PartitionChangeBuilder.build).

The controller never compares logs. It keeps a valid leader; a broker is valid if it is active and in the ISR, or in the
ELR while the ISR is empty.
"""

from isrcheck.models.kafka.state.broker.min_isr import controllers_min_insync_replicas
from isrcheck.models.kafka.state.broker.roles import forget_heard_metadata
from isrcheck.models.kafka.state.values import Controller, LeaderChoice
from isrcheck.models.language import NONE


def is_active(s, r):
    """Registered, not fenced, and not shutting down."""
    return not s.is_fenced[r] and not s.is_shutting_down[r]


def is_assigned(s, r):
    """The partition is assigned to this broker, as to all where no reassignments are made."""
    return s.reassignments == 0 or s.is_assigned[r]


def may_change_record(s):
    return s.controller_partition_epoch < s.partition_changes


def may_change_leader(s):
    return may_change_record(s) and s.controller_epoch < s.elections


def may_lose_member(s):
    """A smaller ISR is a new partition epoch, and before metadata version 3.6 a new leader epoch as well."""
    return may_change_leader(s) if s.EPOCH_BUMP_ON_SHRINK else may_change_record(s)


def members_without(s, leaving):
    return sum(1 for r in range(s.replicas) if s.controller_isr[r] and r != leaving)


def leaves_isr(s, leaving):
    """Whether the ISR of record becomes smaller; without ELR its last member stays."""
    return s.controller_isr[leaving] and (s.ELR or members_without(s, leaving) > 0)


def starts_epoch_of_nobody(s, leaving):
    """Up to 3.5: nobody leads, and the last member of the ISR is fenced, or fenced once more. The ISR keeps it, and a
    leader epoch starts in which nobody leads either.

    Kafka: PartitionChangeBuilder.triggerLeaderEpochBumpIfNeeded compares the ISR that was asked for, since 3.6 the one
    that is written.
    """
    return (
        s.EPOCH_BUMP_ON_SHRINK
        and s.controller_leader == NONE
        and s.controller_isr[leaving]
        and not leaves_isr(s, leaving)
    )


def changes_record(s, leaving):
    """The record changes when this broker is fenced or shuts down."""
    return leaves_isr(s, leaving) or starts_epoch_of_nobody(s, leaving)


def may_go_on_without(s, leaving):
    return not changes_record(s, leaving) or may_lose_member(s)


def is_replaced_without(s, leader, leaving):
    """The leader leaves the ISR itself; or another member leaves, and the leader is not active, because it has
    restarted before it was fenced (RESTART_BEFORE_FENCING). Kafka: PartitionChangeBuilder.electAnyLeader.
    """
    is_invalid = leaves_isr(s, leaving) and not is_active(s, leader)
    return s.controller_leader == leader and (leader == leaving or is_invalid)


def replaces_leader(s, leaving):
    """Without this broker in the ISR, the leader does not lead any longer."""
    return any(is_replaced_without(s, r, leaving) for r in range(s.replicas))


def is_valid_without(s, r, leaving):
    """The broker may lead once `leaving` has left. A member of the ELR that is no replica may not (Kafka looks for a
    leader among the replicas)."""
    return (
        r != leaving
        and is_active(s, r)
        and is_assigned(s, r)
        and (s.controller_isr[r] or (s.eligible_leader_replicas[r] and members_without(s, leaving) == 0))
    )


def may_be_elected(s, elected, leaving):
    """The broker is valid once `leaving` has left; with LEADER_CHOICE=ASSIGNMENT_ORDER it is the first such broker."""
    return is_valid_without(s, elected, leaving) and (
        s.LEADER_CHOICE == LeaderChoice.ANY
        or not any(is_valid_without(s, r, leaving) for r in range(s.replicas) if r < elected)
    )


def nobody_is_valid(s, leaving):
    return not any(is_valid_without(s, r, leaving) for r in range(s.replicas))


def keep_eligible(s, members):
    """The ELR before a change of the ISR to so many members: whoever was in either stays eligible until the ISR has
    min.insync.replicas members. Kafka: PartitionChangeBuilder.maybePopulateTargetElr.
    """
    keep_eligible_below(s, controllers_min_insync_replicas(s), members)


def keep_eligible_below(s, minimum, members):
    """The same for a minimum that was taken before the replicas changed."""
    if s.ELR:
        for r in range(s.replicas):
            s.eligible_leader_replicas[r] = members < minimum and (s.eligible_leader_replicas[r] or s.controller_isr[r])


def keep_members_out_of_elr(s):
    """A member of the ISR is not in the ELR. A broker that is no replica can be: Kafka does not look at that."""
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
    """The broker leaves the ISR, if it is not its last member, and the leader stays."""
    if changes_record(s, leaving):
        drop_from_isr(s, leaving)
        announce_record(s, s.controller_leader, True)


def announce_record(s, leader, is_smaller):
    """Write a new record with this leader; the leader epoch rises if the leader changes (EPOCH_BUMP_ON_SHRINK: also if
    the ISR `is_smaller`).

    A leader from the ELR becomes the only member of the ISR. Who led last is remembered only while nobody leads. Kafka:
    PartitionChangeBuilder.tryElection, maybeUpdateLastKnownLeader.
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
