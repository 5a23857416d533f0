"""Whom the controller still trusts when a broker registers anew, or is unregistered: ELR and last known leader."""

from isrcheck.models.kafka.state.broker.assignment import end_overdue, removes_overdue
from isrcheck.models.kafka.state.broker.record import (
    announce_record,
    controllers_min_insync_replicas,
    is_active,
    keep_eligible_below,
    keep_members_out_of_elr,
    may_change_leader,
    may_change_record,
    members_without,
)
from isrcheck.models.language import NONE


def is_out_of_service(s, broker):
    """The broker is unregistered, and does not come back."""
    return s.unregistrations > 0 and s.is_unregistered[broker]


def may_be_last_known_leader(s, r, leaving):
    """4.0 elects the last known leader also if it is down, or registers at this moment (KAFKA-19522)."""
    return s.last_known_leader == r and ((is_active(s, r) and r != leaving) or not s.LAST_KNOWN_LEADER_IS_ACTIVE)


def last_known_leader_is_next(s, leaving):
    """Once this broker has left the ELR, or with NONE everybody, only the last known leader is left; it is active."""
    return (
        s.controller_leader == NONE
        and members_without(s, leaving) == 0
        and (leaving == NONE or not any(s.eligible_leader_replicas[r] for r in range(s.replicas) if r != leaving))
        and any(may_be_last_known_leader(s, r, leaving) for r in range(s.replicas))
    )


def last_known_leader_waits(s):
    """A report of a directory, or in 4.0 the registration of a leader that was elected while it was down, has emptied
    the ELR, and elected nobody: the last known leader is elected when the controller looks at the partition again."""
    return (
        (s.directory_reports > 0 or not s.LAST_KNOWN_LEADER_IS_ACTIVE)
        and not any(s.eligible_leader_replicas[r] for r in range(s.replicas))
        and last_known_leader_is_next(s, NONE)
    )


def has_active_leader(s):
    """The leader stays when the record changes. One that 4.0 elected while it was away would not (not modelled)."""
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
    """Write a record with this leader, and the ISR as it is: what has changed meanwhile counts for the ELR, and for a
    reassignment."""
    minimum = controllers_min_insync_replicas(s)
    end_overdue(s, elected)
    keep_eligible_below(s, minimum, members_without(s, NONE))
    keep_members_out_of_elr(s)
    announce_record(s, elected, False)
