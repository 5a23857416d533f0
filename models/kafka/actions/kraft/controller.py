"""The actions of a KRaft controller: it fences brokers, and elects leaders among those that are active.

A broker that is down can be elected, as long as its session has not expired. Each change of the record is a new
partition epoch, which brokers read in order of the metadata log (brokers.py).
"""

from isrcheck.models.kafka.state.controller import (
    announce_record,
    drop_from_isr,
    end_overdue,
    go_on_without,
    is_active,
    is_assigned,
    is_overdue,
    is_removed_overdue,
    last_known_leader_waits,
    may_be_elected,
    may_change_leader,
    may_go_on_without,
    members_without,
    nobody_is_valid,
    renew_record,
    replaces_leader,
)
from isrcheck.models.kafka.state.fields import KraftReplica, Replica
from isrcheck.models.language import NONE, action, require


def session_may_expire(s, broker):
    """A broker that is down stops its heartbeats; a living one does so where the budget allows it."""
    return not s.is_fenced[broker] and (not s.is_up[broker] or s.fencings_left > 0)


def fence(s, broker):
    """A broker that shuts down goes on to do so, and waits for nobody any more. Kafka: BrokerHeartbeatManager.touch.
    (Up to 3.5 it waits all the same; that it need not only adds behaviours.)
    """
    if s.is_up[broker]:
        s.fencings_left -= 1
    else:
        s.is_shutting_down[broker] = False  # whatever the process wanted that has ended
    s.is_fenced[broker] = True
    s.shutdown_partition_epoch[broker] = 0


@action(shows="{broker}")
def controller_fences_broker(s, broker: KraftReplica):
    """The session of a broker expires: it leaves the ISR, unless it is its last member, and the leader stays.

    Kafka: ReplicationControlManager.handleBrokerFenced. A broker that lives goes on as before until it hears of it.
    """
    require(session_may_expire(s, broker))
    require(not replaces_leader(s, broker))
    require(may_go_on_without(s, broker))
    fence(s, broker)
    go_on_without(s, broker)


@action(shows="{broker} and elects {elected}")
def controller_fences_leader(s, broker: KraftReplica, elected: KraftReplica):
    """The session of the leader expires: another member of the ISR is elected or, if it is empty, one of the ELR.

    A leader that is itself fenced, but was not when it restarted, is replaced when any member of the ISR is fenced.
    Kafka: ReplicationControlManager.handleBrokerFenced, PartitionChangeBuilder.electAnyLeader.
    """
    require(session_may_expire(s, broker))
    require(replaces_leader(s, broker))
    require(may_be_elected(s, elected, broker))
    require(may_change_leader(s))
    fence(s, broker)
    drop_from_isr(s, broker)
    announce_record(s, elected, True)


def leave_leaderless(s, broker):
    """Nobody can be elected. Without ELR the ISR keeps its last member; with ELR it becomes empty, and the controller
    remembers the last leader.
    """
    drop_from_isr(s, broker)
    if s.ELR:
        s.last_known_leader = s.controller_leader
    announce_record(s, NONE, s.ELR)


@action(shows="{broker}")
def controller_fences_last_leader(s, broker: KraftReplica):
    """The session of the leader expires, and nobody can be elected: the partition has no leader.

    Kafka: ReplicationControlManager.handleBrokerFenced.
    """
    require(session_may_expire(s, broker))
    require(replaces_leader(s, broker))
    require(nobody_is_valid(s, broker))
    require(may_change_leader(s))
    fence(s, broker)
    leave_leaderless(s, broker)


def is_last_known_leader(s, broker):
    """Nobody is left in ISR and ELR, and this broker led last: it is elected, whatever its log has become."""
    return (
        s.ELR
        and s.last_known_leader == broker
        and not any(s.controller_isr[r] or s.eligible_leader_replicas[r] for r in range(s.replicas))
    )


def can_lead_alone(s, broker):
    """The partition has no leader, and this broker becomes valid once it is active."""
    return s.controller_leader == NONE and (
        s.controller_isr[broker]
        or (s.eligible_leader_replicas[broker] and members_without(s, NONE) == 0 and is_assigned(s, broker))
        or is_last_known_leader(s, broker)
    )


def changes_leaderless_record(s, broker):
    """The controller looks at a partition without a leader when this broker is unfenced, and finds something to do."""
    return s.controller_leader == NONE and (can_lead_alone(s, broker) or last_known_leader_waits(s) or is_overdue(s))


@action(shows="{broker}")
def controller_unfences_broker(s, broker: KraftReplica):
    """The broker has caught up with its registration; a partition without a leader gets it as its leader, if it is
    valid. Kafka: ReplicationControlManager.handleBrokerUnfenced.
    """
    require(s.is_up[broker])
    require(s.is_fenced[broker])
    require(not s.is_shutting_down[broker])
    require(not changes_leaderless_record(s, broker) or may_change_leader(s))
    s.is_fenced[broker] = False
    if can_lead_alone(s, broker):
        renew_record(s, broker)
    elif last_known_leader_waits(s):
        renew_record(s, s.last_known_leader)
    elif changes_leaderless_record(s, broker):
        renew_record(s, NONE)


@action
def controller_elects_preferred(s, elected: Replica):
    """Leadership moves to another active member of the ISR; the ISR stays. Kafka: PartitionChangeBuilder, PREFERRED."""
    require(s.preferred_elections_left > 0)
    require(s.controller_leader != NONE)
    require(elected != s.controller_leader)
    require(s.controller_isr[elected])
    require(is_active(s, elected))
    require(not is_removed_overdue(s, elected))
    require(may_change_leader(s))
    s.preferred_elections_left -= 1
    renew_record(s, elected)


@action
def controller_elects_unclean(s, elected: Replica):
    """No valid broker is there: an active replica outside ISR and ELR is elected, and records that it lacks are lost.

    Kafka: PartitionChangeBuilder.electAnyLeader, which looks at the assigned replicas only.
    """
    require(s.unclean_elections_left > 0)
    require(s.controller_leader == NONE)
    require(is_assigned(s, elected))
    require(is_active(s, elected))
    require(not is_removed_overdue(s, elected))
    require(nobody_is_valid(s, NONE))
    require(not last_known_leader_waits(s) or elected == s.last_known_leader)
    require(may_change_leader(s))
    s.unclean_elections_left -= 1
    end_overdue(s, elected)
    for r in range(s.replicas):
        s.controller_isr[r] = r == elected
        s.eligible_leader_replicas[r] = False
    announce_record(s, elected, False)
