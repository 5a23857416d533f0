"""The life of a broker with KRaft: it reads the metadata log, shuts down in order, and registers anew at a restart."""

from isrcheck.models.kafka.actions.kraft.controller import leave_leaderless
from isrcheck.models.kafka.state.broker import (
    advance_high_watermark,
    begin_to_lead,
    drop_parked_fetches,
    forget_admitted_fetches,
    forget_followers,
    forget_heard_metadata,
    forget_late_fetches,
    forget_own_fetches,
    forget_proposal,
    presumes_leadership,
    register_new_process,
    start_broker,
    stop_broker,
    stop_fetching,
    stop_leading,
)
from isrcheck.models.kafka.state.controller import (
    announce_record,
    drop_from_isr,
    end_overdue,
    go_on_without,
    has_active_leader,
    is_active,
    is_assigned,
    is_out_of_service,
    leave_elr,
    may_be_elected,
    may_change_leader,
    may_change_record,
    may_go_on_without,
    may_leave_elr,
    nobody_is_valid,
    removes_overdue,
    replaces_leader,
)
from isrcheck.models.kafka.state.fields import Announcement, EndOffset, KraftReplica, Replica
from isrcheck.models.kafka.state.log import begin_to_follow, note_flush, start_log_at
from isrcheck.models.kafka.state.values import BrokerEpoch, Stop
from isrcheck.models.language import NONE, action, require

# ----------------- how a broker reads the metadata log: each record of the partition in order, or several as one change


def adopt_isr(s, broker, partition_epoch):
    """The ISR of the record is committed, and a pending change is dropped."""
    for r in range(s.replicas):
        s.isr[broker][r] = s.metadata_isr[partition_epoch][r]
    forget_proposal(s, broker)


def is_news(s, broker, partition_epoch):
    """The record is not older than what the broker knows from an answer to AlterPartition; one that is equally old
    counts where EQUAL_PARTITION_EPOCH_REPLACES is on.
    """
    return partition_epoch > s.partition_epoch[broker] or (
        partition_epoch == s.partition_epoch[broker] and s.EQUAL_PARTITION_EPOCH_REPLACES
    )


def assigns_at_equal_epoch(s, broker, partition_epoch):
    """The repair of 8.25 that keeps a pending change of the ISR, and takes the replicas, which no answer to
    AlterPartition brings."""
    return (
        s.EQUAL_PARTITION_EPOCH_ASSIGNS
        and partition_epoch == s.partition_epoch[broker]
        and presumes_leadership(s, broker)
        and s.metadata_leader_epoch[partition_epoch] == s.leader_epoch[broker]
    )


def read_configurations_before(s, broker, partition_epoch):
    """Changes of min.insync.replicas that the log has before a record reach the broker at the latest with it, in one
    delta, of which it applies the topics first. Kafka: BrokerMetadataPublisher.onMetadataUpdate.
    """
    if s.min_isr_changes > 0:
        for change in range(s.min_isr_changes):
            if s.changed_min_isr[change] > 0 and s.min_isr_position[change] < partition_epoch:
                s.min_isr_changes_read[broker] = max(s.min_isr_changes_read[broker], change + 1)


def delete_replica(s, broker):
    """The broker no longer holds the partition: it deletes its log. Kafka: ReplicaManager.stopPartitions."""
    stop_leading(s, broker)
    forget_own_fetches(s, broker)
    s.is_truncating[broker] = False
    start_log_at(s, broker, 0)
    s.high_watermark[broker] = 0
    s.leader[broker] = NONE
    s.leader_epoch[broker] = 0


def adopt_replicas(s, leader, partition_epoch):
    """A leader learns its replicas, and forgets those that are no longer assigned; it never hears of one that is
    removed and added in one change. Kafka: Partition.updateAssignmentAndIsr.
    """
    if s.reassignments > 0:
        for r in range(s.replicas):
            s.knows_assigned[leader][r] = s.metadata_assigned[partition_epoch][r]
            s.knows_adding[leader][r] = s.metadata_adding[partition_epoch][r]
            if not s.metadata_assigned[partition_epoch][r]:
                s.remote_log_end_offset[leader][r] = NONE
                s.remote_broker_epoch[leader][r] = BrokerEpoch.UNKNOWN
                if s.FETCH_IS_SPLIT:
                    s.is_of_former_state[leader][r] = s.admitted_offset[leader][r] != NONE


def is_new_replica(s, broker):
    """The broker does not hold the partition yet, or knows of no leader."""
    return s.reassignments > 0 and s.leader[broker] == NONE


def is_unread(s, broker, partition_epoch):
    """The metadata log has this record, and the broker, which runs, has not read as far."""
    return s.is_up[broker] and s.metadata_position[broker] < partition_epoch <= s.controller_partition_epoch


@action(shows="{broker} of partition epoch {partition_epoch}")
def broker_applies_metadata(s, broker: KraftReplica, partition_epoch: Announcement):
    """A broker applies a later record, and may skip those before it: they reach it as one change.

    In a new leader epoch it begins to lead or to follow; in the same one, a leader adopts the ISR, and a follower goes
    on. Kafka: TopicDelta.localChanges, Partition.makeLeader, makeFollower.
    """
    require(is_unread(s, broker, partition_epoch))
    if s.CONFIGURATION_BEFORE_TOPICS:
        read_configurations_before(s, broker, partition_epoch)
    if s.reassignments > 0 and not s.metadata_assigned[partition_epoch][broker]:
        delete_replica(s, broker)
        s.partition_epoch[broker] = partition_epoch
    elif is_news(s, broker, partition_epoch):
        s.partition_epoch[broker] = partition_epoch
        if s.metadata_leader_epoch[partition_epoch] == s.leader_epoch[broker] and not is_new_replica(s, broker):
            if presumes_leadership(s, broker):
                adopt_replicas(s, broker, partition_epoch)
                adopt_isr(s, broker, partition_epoch)
                advance_high_watermark(s, broker)
        elif s.metadata_leader[partition_epoch] == broker:
            if s.FETCH_COUNTED_IN_ITS_EPOCH:
                forget_admitted_fetches(s, broker)
            if not presumes_leadership(s, broker) or not s.REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER:
                forget_followers(s, broker)
            adopt_replicas(s, broker, partition_epoch)
            stop_fetching(s, broker)
            s.is_truncating[broker] = False
            forget_late_fetches(s, broker)
            drop_parked_fetches(s, broker)
            s.leader[broker] = broker
            s.leader_epoch[broker] = s.metadata_leader_epoch[partition_epoch]
            adopt_isr(s, broker, partition_epoch)
            begin_to_lead(s, broker)
        else:
            if s.FETCH_COUNTED_IN_ITS_EPOCH:
                forget_admitted_fetches(s, broker)
            stop_leading(s, broker)
            stop_fetching(s, broker)
            s.is_truncating[broker] = False
            begin_to_follow(s, broker)
            s.leader[broker] = s.metadata_leader[partition_epoch]
            s.leader_epoch[broker] = s.metadata_leader_epoch[partition_epoch]
    elif assigns_at_equal_epoch(s, broker, partition_epoch):
        adopt_replicas(s, broker, partition_epoch)
    if not s.CONFIGURATION_BEFORE_TOPICS:
        read_configurations_before(s, broker, partition_epoch)
    s.metadata_position[broker] = partition_epoch
    forget_heard_metadata(s)


@action(shows="{broker} of partition epoch {partition_epoch}")
def broker_drops_metadata(s, broker: KraftReplica, partition_epoch: Announcement):
    """An exception ends the change that the broker is applying, such as too many open files when it creates a log. The
    broker logs it, goes on with the next change, and never applies this one; nothing asks it to.

    Kafka: ReplicaManager.applyDelta, BrokerMetadataPublisher.onMetadataUpdate.
    """
    require(s.dropped_metadata > 0)
    require(s.dropped_metadata_left > 0)
    require(is_unread(s, broker, partition_epoch))
    s.dropped_metadata_left -= 1
    read_configurations_before(s, broker, partition_epoch)
    s.metadata_position[broker] = partition_epoch
    forget_heard_metadata(s)


# -------------------------------------------------------------------------------------------- shutdown and registration


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
