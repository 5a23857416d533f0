"""The life of a broker with KRaft: it shuts down in order, and registers anew when it restarts."""

from isrcheck.models.kafka.actions.kraft.controller import leave_leaderless
from isrcheck.models.kafka.actions.kraft.metadata import delete_replica
from isrcheck.models.kafka.state.broker.assignment import end_overdue, removes_overdue
from isrcheck.models.kafka.state.broker.lifecycle import register_new_process, start_broker, stop_broker
from isrcheck.models.kafka.state.broker.log import note_flush
from isrcheck.models.kafka.state.broker.record import (
    announce_record,
    drop_from_isr,
    go_on_without,
    is_active,
    is_assigned,
    may_be_elected,
    may_change_leader,
    may_change_record,
    may_go_on_without,
    nobody_is_valid,
    replaces_leader,
)
from isrcheck.models.kafka.state.broker.registration import (
    has_active_leader,
    is_out_of_service,
    leave_elr,
    may_leave_elr,
)
from isrcheck.models.kafka.state.fields import EndOffset, KraftReplica, Replica
from isrcheck.models.kafka.state.values import Stop
from isrcheck.models.language import action, require


def may_ask_to_shut_down(s, broker):
    return s.is_up[broker] and is_active(s, broker)


def begin_shutdown(s, broker):
    s.shutdowns_left -= 1
    s.is_shutting_down[broker] = True


@action(shows="{broker}")
def broker_asks_to_shut_down(s, broker: KraftReplica):
    """A broker that leads other partitions announces its shutdown, and leaves the ISR, unless it is its last member;
    the leader stays. Kafka: ReplicationControlManager.handleBrokerInControlledShutdown.
    """
    require(s.shutdowns_left > 0)
    require(may_ask_to_shut_down(s, broker))
    require(not replaces_leader(s, broker))
    require(may_go_on_without(s, broker))
    begin_shutdown(s, broker)
    go_on_without(s, broker)
    s.shutdown_partition_epoch[broker] = s.controller_partition_epoch


@action(shows="{broker} and the controller elects {elected}")
def leader_asks_to_shut_down(s, broker: KraftReplica, elected: KraftReplica):
    """The leader announces its shutdown: leadership moves, and it leaves the ISR.

    It also moves if another broker announces its shutdown, and the leader is fenced (RESTART_BEFORE_FENCING). Kafka:
    ReplicationControlManager.handleBrokerInControlledShutdown.
    """
    require(s.shutdowns_left > 0)
    require(may_ask_to_shut_down(s, broker))
    require(replaces_leader(s, broker))
    require(may_be_elected(s, elected, broker))
    require(may_change_leader(s))
    begin_shutdown(s, broker)
    drop_from_isr(s, broker)
    announce_record(s, elected, True)
    s.shutdown_partition_epoch[broker] = s.controller_partition_epoch


@action(shows="{broker}")
def last_leader_asks_to_shut_down(s, broker: KraftReplica):
    """The leader announces its shutdown, and nobody can be elected: the partition has no leader."""
    require(s.shutdowns_left > 0)
    require(may_ask_to_shut_down(s, broker))
    require(replaces_leader(s, broker))
    require(nobody_is_valid(s, broker))
    require(may_change_leader(s))
    begin_shutdown(s, broker)
    leave_leaderless(s, broker)
    s.shutdown_partition_epoch[broker] = s.controller_partition_epoch


@action(shows="{broker}")
def broker_shuts_down(s, broker: KraftReplica):
    """A broker that shuts down stops, once all active brokers have read the change that it caused; it is fenced.

    A broker that leads no partition, or is fenced, stops at once, and has announced nothing. Everything is flushed, and
    the restart counts as clean. Kafka: BrokerHeartbeatManager.calculateNextBrokerState, SHUTDOWN_NOW, with
    handleBrokerFenced.
    """
    require(s.is_up[broker])
    require(s.is_shutting_down[broker] or s.shutdowns_left > 0)
    require(not replaces_leader(s, broker))
    require(
        all(
            s.metadata_position[r] >= s.shutdown_partition_epoch[broker]
            for r in range(s.replicas)
            if is_active(s, r) and s.is_up[r]
        )
    )
    require(may_go_on_without(s, broker))
    if not s.is_shutting_down[broker]:
        s.shutdowns_left -= 1
    go_on_without(s, broker)
    stop_broker(s, broker)
    note_flush(s, broker)
    s.stopped_by[broker] = Stop.SHUTDOWN
    s.is_shutting_down[broker] = False
    s.is_fenced[broker] = True
    s.shutdown_partition_epoch[broker] = 0


def is_unclean(s, broker):
    """KIP-966: a broker that did not shut down in order is not trusted to hold what it held."""
    return s.ELR and s.stopped_by[broker] != Stop.SHUTDOWN


def loses_eligibility(s, broker):
    return is_unclean(s, broker) and (s.controller_isr[broker] or s.eligible_leader_replicas[broker])


def leads_while_fenced(s, broker):
    """4.0 elected it as the last known leader while it was down; when it registers it is fenced once more, and does not
    lead any longer. Up to 3.9, a leader that restarts keeps its leadership."""
    return s.controller_leader == broker and s.is_fenced[broker] and not s.RESTART_BEFORE_FENCING


@action(shows="{broker} checkpoint {checkpoint}")
def broker_restarts(s, broker: Replica, checkpoint: EndOffset):
    """A broker restarts under a new broker epoch, once it is fenced; with ELR, after an unclean shutdown, it leaves ISR
    and ELR. A replica that was removed meanwhile is deleted. A shutdown in order has saved the high watermark (Kafka:
    ReplicaManager.shutdown).

    Up to 3.9, a broker can register between the end of its session and its fencing, and then keeps its place in the ISR
    and its leadership (RESTART_BEFORE_FENCING). Kafka: ClusterControlManager.registerBroker.
    """
    require(not s.is_up[broker])
    require(sum(1 for r in range(s.replicas) if not s.is_up[r]) > s.brokers_down)
    require(checkpoint <= s.high_watermark[broker])
    require(s.stopped_by[broker] != Stop.SHUTDOWN or checkpoint == s.high_watermark[broker])
    require(s.is_fenced[broker] or s.RESTART_BEFORE_FENCING)
    require(not is_out_of_service(s, broker))
    require(not leads_while_fenced(s, broker) or may_change_leader(s))
    require(leads_while_fenced(s, broker) or not loses_eligibility(s, broker) or may_leave_elr(s, broker))
    register_new_process(s, broker)
    if leads_while_fenced(s, broker):
        leave_leaderless(s, broker)
        if is_unclean(s, broker):
            s.eligible_leader_replicas[broker] = False
    elif loses_eligibility(s, broker):
        leave_elr(s, broker)
    s.is_fenced[broker] = True
    start_broker(s, broker, checkpoint)
    if s.reassignments > 0 and not s.is_assigned[broker]:
        delete_replica(s, broker)


@action(shows="{broker}")
def broker_reports_directory(s, broker: KraftReplica):
    """A broker with several log directories says in which of them its replica is (AssignReplicasToDirs); it may be
    fenced. Up to 4.2 the change is built as if ELR were off, which empties the ELR. Kafka:
    ReplicationControlManager.handleAssignReplicasToDirs.
    """
    require(s.directory_reports > 0)
    require(s.directory_reports_left > 0)
    require(s.ASSIGNED_DIRECTORY_ERASES_ELR)
    require(s.is_up[broker])
    require(is_assigned(s, broker))
    require(has_active_leader(s))
    require(may_change_leader(s) if removes_overdue(s) else may_change_record(s))
    s.directory_reports_left -= 1
    end_overdue(s, s.controller_leader)
    for r in range(s.replicas):
        s.eligible_leader_replicas[r] = False
    announce_record(s, s.controller_leader, False)
