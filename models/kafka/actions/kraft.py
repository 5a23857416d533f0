"""The actions of a cluster with a KRaft controller, whose brokers register, are fenced, and read a log of metadata
records.
"""

from isrcheck.models.kafka.actions.alter_partition import diverges, holds_log_start
from isrcheck.models.kafka.actions.faults import lose_disk
from isrcheck.models.kafka.state.broker import (
    advance_high_watermark,
    begin_to_lead,
    can_ask,
    clear_fetch,
    clear_request,
    controllers_min_insync_replicas,
    drop_parked_fetches,
    follows,
    forget_admitted_fetches,
    forget_followers,
    forget_heard_metadata,
    forget_late_fetches,
    forget_own_fetches,
    forget_proposal,
    is_known_replica,
    may_fetch,
    may_propose,
    presumes_leadership,
    propose_expansion,
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
    end_reassignment,
    go_on_without,
    has_active_leader,
    is_active,
    is_assigned,
    is_complete_at_once,
    is_complete_with_request,
    is_out_of_service,
    is_overdue,
    is_removed_overdue,
    keep_eligible_below,
    keep_members_out_of_elr,
    last_known_leader_is_next,
    last_known_leader_waits,
    leave_elr,
    may_be_elected,
    may_be_granted,
    may_change_leader,
    may_change_record,
    may_go_on_without,
    may_leave_elr,
    members_without,
    nobody_is_valid,
    remove_replicas,
    removes_by_request,
    removes_overdue,
    renew_record,
    replaces_leader,
    request_replicas,
    take_requested_isr,
    will_be_adding,
    will_be_removing,
)
from isrcheck.models.kafka.state.fields import (
    AlteringReplica,
    Announcement,
    EndOffset,
    KraftReplica,
    MinInsyncReplicas,
    Replica,
    ReplicaSet,
)
from isrcheck.models.kafka.state.log import (
    begin_to_follow,
    end_offset_for,
    epoch_for,
    is_answered,
    latest_epoch,
    note_flush,
    start_log_at,
    truncate_log,
)
from isrcheck.models.kafka.state.values import BrokerEpoch, ErasedByMinIsr, Fetch, Stop
from isrcheck.models.language import NONE, action, require

# ------------------------------------------------------------------------------------------------------- the controller
#
# The actions of a KRaft controller: it fences brokers, and elects leaders among those that are active.
#
# A broker that is down can be elected, as long as its session has not expired. Each change of the record is a new
# partition epoch, which brokers read in order of the metadata log (brokers.py).


def session_may_expire(s, broker):
    """The broker's session may expire: a broker that is down sends no heartbeats, and a running broker may stop sending
    heartbeats while the budget `fencings` is not spent."""
    return not s.is_fenced[broker] and (not s.is_up[broker] or s.fencings_left > 0)


def fence(s, broker):
    """Fence a broker. If it is shutting down, its shutdown goes on without waiting for other brokers. Kafka:
    BrokerHeartbeatManager.touch. (Up to 3.5 the broker still waits; not waiting only adds behaviours.)"""
    if s.is_up[broker]:
        s.fencings_left -= 1
    else:
        s.is_shutting_down[broker] = False  # the intention of a process that has ended
    s.is_fenced[broker] = True
    s.shutdown_partition_epoch[broker] = 0


@action(shows="{broker}")
def controller_fences_broker(s, broker: KraftReplica):
    """The session of a broker expires: the broker leaves the ISR, unless it is the last member, and the leader stays.

    Kafka: ReplicationControlManager.handleBrokerFenced. A broker that still runs goes on until it reads of its fencing.
    """
    require(session_may_expire(s, broker))
    require(not replaces_leader(s, broker))
    require(may_go_on_without(s, broker))
    fence(s, broker)
    go_on_without(s, broker)


@action(shows="{broker} and elects {elected}")
def controller_fences_leader(s, broker: KraftReplica, elected: KraftReplica):
    """The session of the leader expires: another member of the ISR is elected or, if the ISR is empty, one of the ELR.

    A leader that is fenced already (RESTART_BEFORE_FENCING) is replaced when any member of the ISR is fenced. Kafka:
    ReplicationControlManager.handleBrokerFenced, PartitionChangeBuilder.electAnyLeader.
    """
    require(session_may_expire(s, broker))
    require(replaces_leader(s, broker))
    require(may_be_elected(s, elected, broker))
    require(may_change_leader(s))
    fence(s, broker)
    drop_from_isr(s, broker)
    announce_record(s, elected, True)


def leave_leaderless(s, broker):
    """The broker leaves the ISR, and the partition has no leader, because nobody can be elected. Without ELR the last
    member stays in the ISR; with ELR the ISR becomes empty, and the controller remembers the last leader."""
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
    """ISR and ELR are empty, and this broker led last, so it may be elected, whatever its log contains."""
    return (
        s.ELR
        and s.last_known_leader == broker
        and not any(s.controller_isr[r] or s.eligible_leader_replicas[r] for r in range(s.replicas))
    )


def can_lead_alone(s, broker):
    """The partition has no leader, and this broker may be elected as soon as it is active."""
    return s.controller_leader == NONE and (
        s.controller_isr[broker]
        or (s.eligible_leader_replicas[broker] and members_without(s, NONE) == 0 and is_assigned(s, broker))
        or is_last_known_leader(s, broker)
    )


def changes_leaderless_record(s, broker):
    """The partition has no leader, and the controller changes the partition's record when this broker is unfenced."""
    return s.controller_leader == NONE and (can_lead_alone(s, broker) or last_known_leader_waits(s) or is_overdue(s))


@action(shows="{broker}")
def controller_unfences_broker(s, broker: KraftReplica):
    """The broker has read its own registration, and is unfenced; if nobody leads and the broker may be elected, it
    becomes the leader. Kafka: ReplicationControlManager.handleBrokerUnfenced."""
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
    """No clean election is possible: an active replica outside ISR and ELR is elected; records that it lacks are lost.

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


# ----------------- how a broker reads the metadata log: each record of the partition in order, or several as one change


def adopt_isr(s, broker, partition_epoch):
    """A broker adopts the ISR of the record `partition_epoch` as committed, and drops its own pending change."""
    for r in range(s.replicas):
        s.isr[broker][r] = s.metadata_isr[partition_epoch][r]
    forget_proposal(s, broker)


def is_news(s, broker, partition_epoch):
    """The record `partition_epoch` is newer than what the broker knows from records and from answers to AlterPartition.
    With EQUAL_PARTITION_EPOCH_REPLACES, a record with the partition epoch that the broker knows counts as newer."""
    return partition_epoch > s.partition_epoch[broker] or (
        partition_epoch == s.partition_epoch[broker] and s.EQUAL_PARTITION_EPOCH_REPLACES
    )


def assigns_at_equal_epoch(s, broker, partition_epoch):
    """With the repair of failure 8.25, a leader takes the replicas from a record with the partition epoch that it knows
    from an answer to AlterPartition, which has no replicas. Its pending change of the ISR stays."""
    return (
        s.EQUAL_PARTITION_EPOCH_ASSIGNS
        and partition_epoch == s.partition_epoch[broker]
        and presumes_leadership(s, broker)
        and s.metadata_leader_epoch[partition_epoch] == s.leader_epoch[broker]
    )


def read_configurations_before(s, broker, partition_epoch):
    """Read all changes of min.insync.replicas that precede a partition record in the metadata log. If one delta has
    both, Kafka applies the partition record first. Kafka: BrokerMetadataPublisher.onMetadataUpdate."""
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
    """A leader learns its replicas, and forgets those that are no longer assigned. It does not notice that a replica
    was removed and added again within one delta. Kafka: Partition.updateAssignmentAndIsr."""
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
    """The metadata log has a record `partition_epoch`, and the broker runs and has not read this record yet."""
    return s.is_up[broker] and s.metadata_position[broker] < partition_epoch <= s.controller_partition_epoch


@action(shows="{broker} of partition epoch {partition_epoch}")
def broker_applies_metadata(s, broker: KraftReplica, partition_epoch: Announcement):
    """A broker applies an unread record; if it skips unread records before this one, it gets all of them as one change.

    In a new leader epoch the broker begins to lead or to follow; in the same epoch, a leader adopts the ISR, and a
    follower goes on. Kafka: TopicDelta.localChanges, Partition.makeLeader, makeFollower.
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
    """A broker drops a change of the metadata, because an exception, such as too many open files when it creates a log,
    ends the change. The broker logs the exception, goes on with the next change, and never applies the dropped change.

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
    """A broker that leads other partitions announces its shutdown, and leaves the ISR, unless it is the last member;
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
    """The leader announces its shutdown: another broker is elected, and the leader leaves the ISR.

    If the leader is fenced (RESTART_BEFORE_FENCING), the shutdown of any other member moves leadership, too. Kafka:
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
    """A broker that shuts down stops, and is fenced, once all active brokers have read the record of its announcement.

    A broker that leads no partition, or is fenced, stops at once, without an announcement. Everything is flushed, and
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
    """With ELR, a broker that did not shut down in order is not trusted to have kept its log (KIP-966)."""
    return s.ELR and s.stopped_by[broker] != Stop.SHUTDOWN


def loses_eligibility(s, broker):
    return is_unclean(s, broker) and (s.controller_isr[broker] or s.eligible_leader_replicas[broker])


def leads_while_fenced(s, broker):
    """The broker leads although it is down: 4.0 elected it as the last known leader. When it registers, it is fenced
    once more, and no longer leads. Up to 3.9, a leader that restarts keeps its leadership."""
    return s.controller_leader == broker and s.is_fenced[broker] and not s.RESTART_BEFORE_FENCING


@action(shows="{broker} checkpoint {checkpoint}")
def broker_restarts(s, broker: Replica, checkpoint: EndOffset):
    """A fenced broker restarts under a new broker epoch; with ELR, after an unclean shutdown, it leaves ISR and ELR. It
    deletes its replica if the replica was removed meanwhile. After a shutdown in order, the checkpoint is the last high
    watermark (Kafka: ReplicaManager.shutdown).

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
    """A broker with several log directories, fenced or not, reports which of them holds its replica
    (AssignReplicasToDirs). Up to 4.2 the controller changes the partition's record as if ELR were off, which empties
    the ELR. Kafka: ReplicationControlManager.handleAssignReplicasToDirs."""
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
    """The partition has no leader, or its leader is active, and so keeps leading when the record changes."""
    return all(is_active(s, r) for r in range(s.replicas) if s.controller_leader == r)


def is_removed_at_once(s, target: ReplicaSet, r):
    return is_complete_at_once(s, target) and will_be_removing(s, target, r)


def leader_stays(s, target: ReplicaSet):
    return not any(is_removed_at_once(s, target, r) for r in range(s.replicas) if s.controller_leader == r)


def removes_at_once(s, target: ReplicaSet):
    return any(is_removed_at_once(s, target, r) for r in range(s.replicas))


def meets_an_eligible_stranger(s, target: ReplicaSet):
    """Nobody leads, the ISR is empty, and `target` has a broker that is active and in the ELR, but not assigned. The
    controller finds no log directory of this broker, and refuses (UNKNOWN_SERVER_ERROR). Kafka: LeaderAcceptor."""
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
    """A reassignment to `target` has replicas, all of them registered, and changes more than their order."""
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
    """Make the change that a reassignment to `target` requires, except for the election of a leader."""
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
    """An operator reassigns the partition to the replicas `target`; the leader stays. A reassignment that needs no
    further member of the ISR is complete at once. Kafka: ReplicationControlManager.changePartitionReassignment.
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
    """A reassignment that is complete at once removes the leader: another member of the ISR is elected."""
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
    """A reassignment is in progress, and the ISR has a member that the reassignment did not add. Without such a member,
    Kafka refuses to cancel, because that would need an unclean election. Kafka: PartitionReassignmentRevert."""
    return any(s.is_adding[r] or s.is_removing[r] for r in range(s.replicas)) and any(
        s.controller_isr[r] and not s.is_adding[r] for r in range(s.replicas)
    )


def cancel(s):
    """Cancel the reassignment: take back the replicas that it added, without an election."""
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
    """The requested ISR completes the reassignment, which removes the requesting leader: another member is elected, and
    the leader hears NEW_LEADER_ELECTED. Kafka: ReplicationControlManager.alterPartition."""
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
    """A change of min.insync.replicas elects the last known leader, because a repair lets the change empty only the
    ELR. Kafka itself also forgets the last known leader, and elects nobody."""
    return forgets_eligible_replicas(s) and not forgets_last_known_leader(s) and last_known_leader_is_next(s, NONE)


@action(shows="to {minimum}")
def operator_changes_min_insync_replicas(s, minimum: MinInsyncReplicas):
    """An operator changes min.insync.replicas of the topic, or sets it for the cluster, perhaps to its present value.
    Kafka: ConfigurationControlManager.incrementalAlterConfigs, ReplicationControlManager.replay of ClearElrRecord."""
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
    """The next unread change of min.insync.replicas comes before all unread records of the partition. A change that
    empties the ELR does not count: it is in one batch with the record of the empty ELR, and read with that record."""
    return any(
        change == s.min_isr_changes_read[broker]
        and s.changed_min_isr[change] > 0
        and not s.erases_elr[change]
        and s.min_isr_position[change] <= s.metadata_position[broker]
        for change in range(s.min_isr_changes)
    )


@action(shows="{broker}")
def broker_reads_configuration(s, broker: KraftReplica):
    """The broker reads the next change of min.insync.replicas, and no record of the partition."""
    require(s.min_isr_changes > 0)
    require(s.is_up[broker])
    require(has_unread_configuration(s, broker))
    s.min_isr_changes_read[broker] += 1


def leaves_elr_unregistered(s, broker):
    return s.UNREGISTERED_LEAVES_ELR and s.ELR and s.eligible_leader_replicas[broker]


def changes_record_unregistered(s, broker):
    """The controller changes the partition's record when a broker in the ELR is unregistered: a reassignment that is
    complete ends, or the ELR becomes empty, because after a reassignment the ISR has min.insync.replicas members."""
    return (
        s.ELR
        and s.eligible_leader_replicas[broker]
        and (is_overdue(s) or members_without(s, NONE) >= controllers_min_insync_replicas(s))
    )


@action(shows="{broker}")
def controller_unregisters_broker(s, broker: KraftReplica):
    """An operator unregisters a broker that is down for good. The broker left the ISR when it was fenced, but stays in
    the ELR, despite a comment in Kafka's code. Kafka: ReplicationControlManager.handleBrokerUnregistered."""
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
    """An operator deletes the partition's folder on a broker that was shut down in order. This is the usual cure of a
    bad replica: after the restart, the broker copies everything from the leader. The shutdown still counts as clean,
    because the file that marks it names no logs. Kafka: CleanShutdownFileHandler, LogManager."""
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


# ---------------------------------------------------------------------------------------- fetches of an earlier process
#
# A fetch of a process that has ended reaches the leader after the broker has registered anew (KAFKA-15221).
#
# The fetch was sent just before the end of the process, and says how long its log was then. Up to 3.6, the leader may
# decide on it that the follower joins the ISR, and then name the broker epoch of the new process, whose first fetch has
# arrived in between. Since 3.7 it compares the broker epochs.


def may_leave_fetch(s, follower, leader):
    return may_fetch(s, follower, leader) and s.log_end_offset[follower] <= s.log_end_offset[leader]


def stop_with_fetch_on_its_way(s, follower, leader):
    s.late_fetches_left -= 1
    s.late_fetch_offset[leader][follower] = s.log_end_offset[follower]
    stop_broker(s, follower)


@action(shows="{follower} from {leader}")
def broker_crashes_while_it_fetches(s, follower: KraftReplica, leader: KraftReplica):
    """The follower's process dies while its last fetch is on its way. Its log keeps what was written."""
    require(s.crashes_left > 0)
    require(s.late_fetches_left > 0)
    require(may_leave_fetch(s, follower, leader))
    s.crashes_left -= 1
    stop_with_fetch_on_its_way(s, follower, leader)


@action(shows="{follower} from {leader}")
def broker_loses_disk_while_it_fetches(s, follower: KraftReplica, leader: KraftReplica):
    """The machine dies, and restarts with an empty disk; its last fetch is still on its way."""
    require(s.disk_losses_left > 0)
    require(s.late_fetches_left > 0)
    require(s.log_end_offset[follower] > 0)
    require(may_leave_fetch(s, follower, leader))
    s.disk_losses_left -= 1
    stop_with_fetch_on_its_way(s, follower, leader)
    lose_disk(s, follower)


@action(shows="of {follower} at {leader}")
def leader_handles_late_fetch(s, leader: KraftReplica, follower: KraftReplica):
    """After a late fetch of the follower's earlier process, the leader proposes the follower for the ISR; the request
    names the new process, which fetches meanwhile. Kafka: Partition.maybeExpandIsr, addBrokerEpochToIsr."""
    require(s.LATE_FETCH_COUNTS)
    require(s.late_fetches > 0)
    require(s.late_fetch_offset[leader][follower] != NONE)
    require(can_ask(s, follower, leader))
    require(may_propose(s, leader))
    require(not s.isr[leader][follower])
    require(s.late_fetch_offset[leader][follower] >= s.high_watermark[leader])
    require(not s.EXPAND_EPOCH_START or s.late_fetch_offset[leader][follower] >= s.epoch_start_offset[leader])
    require(holds_log_start(s, leader, follower))
    s.late_fetch_offset[leader][follower] = NONE
    s.remote_log_end_offset[leader][follower] = s.log_end_offset[follower]
    s.remote_broker_epoch[leader][follower] = BrokerEpoch.REGISTERED
    propose_expansion(s, leader, follower)
    advance_high_watermark(s, leader)


@action(shows="of {follower} at {leader}")
def late_fetch_is_lost(s, leader: KraftReplica, follower: KraftReplica):
    """The late fetch never arrives, or the leader refuses it."""
    require(s.late_fetches > 0)
    require(s.late_fetch_offset[leader][follower] != NONE)
    s.late_fetch_offset[leader][follower] = NONE


# ------------------------------------------------------------------------------------------------- fetches in two steps
#
# A fetch, and a diverging answer, in two steps each: what was checked can be out of date when it is applied.
#
# Kafka checks a fetch against the leader epoch under a read lock, gives the lock up, and takes it again to note how far
# the follower is: a change of leadership fits between the two (Partition.fetchRecords, updateFollowerFetchState). In
# the same way, a follower checks the epoch of a diverging answer under one lock, and truncates under another
# (AbstractFetcherThread.processFetchRequest, truncateOnFetchResponse). Both are switches that are off in every
# generation: then each is one step. The response to a fetch that counts late is left out: it is as if it were lost.


@action(shows="{leader} from {follower}")
def leader_admits_fetch(s, leader: KraftReplica, follower: KraftReplica):
    """The leader checks the epoch of a fetch, and reads the records; it does not note yet how far the follower is.

    Kafka: Partition.fetchRecords.
    """
    require(s.FETCH_IS_SPLIT)
    require(s.admitted_offset[leader][follower] == NONE)
    require(may_fetch(s, follower, leader))
    require(s.log_start_offset[leader] <= s.log_end_offset[follower] <= s.log_end_offset[leader])
    epoch = latest_epoch(s, follower)
    require(epoch == NONE or is_answered(s, leader, epoch))
    require(not diverges(s, leader, follower, epoch))
    s.admitted_offset[leader][follower] = s.log_end_offset[follower]


def may_join_by_former_state(s, leader, follower):
    """The follower may join the ISR by the offset of a fetch that was checked earlier, and by the broker epoch in the
    leader's `Replica` object, which may be newer. Kafka: Partition.maybeExpandIsr, isReplicaIsrEligible."""
    return (
        may_propose(s, leader)
        and is_known_replica(s, leader, follower)
        and not s.isr[leader][follower]
        and s.remote_broker_epoch[leader][follower] == BrokerEpoch.REGISTERED
        and s.admitted_offset[leader][follower] >= s.high_watermark[leader]
        and (not s.EXPAND_EPOCH_START or s.admitted_offset[leader][follower] >= s.epoch_start_offset[leader])
        and holds_log_start(s, leader, follower)
    )


@action(shows="{leader} from {follower}")
def leader_counts_fetch(s, leader: KraftReplica, follower: KraftReplica):
    """The leader notes the offset of a fetch that it has checked, even if the leader's epoch or role has changed since.

    Kafka: Partition.updateFollowerFetchState, maybeExpandIsr.
    """
    require(s.FETCH_IS_SPLIT)
    require(s.admitted_offset[leader][follower] != NONE)
    if presumes_leadership(s, leader) and s.is_of_former_state[leader][follower]:
        if may_join_by_former_state(s, leader, follower):
            propose_expansion(s, leader, follower)
            advance_high_watermark(s, leader)
    elif presumes_leadership(s, leader):
        s.remote_log_end_offset[leader][follower] = s.admitted_offset[leader][follower]
        s.remote_broker_epoch[leader][follower] = BrokerEpoch.REGISTERED
        if may_join_by_former_state(s, leader, follower):
            propose_expansion(s, leader, follower)
        advance_high_watermark(s, leader)
    s.admitted_offset[leader][follower] = NONE
    s.is_of_former_state[leader][follower] = False


@action(shows="{follower} from {leader}")
def follower_checks_diverging_answer(s, follower: KraftReplica, leader: KraftReplica):
    """The follower finds that a diverging response is of its leader epoch, and notes where to truncate.

    Kafka: AbstractFetcherThread.processFetchRequest.
    """
    require(s.DIVERGING_ANSWER_IS_SPLIT)
    require(s.held_epoch[follower] == NONE)
    require(follows(s, follower, leader))
    require(s.fetch[follower][leader] == Fetch.DIVERGING)
    require(s.fetch_offset[follower][leader] == s.log_end_offset[follower])
    s.held_epoch[follower] = s.diverging_epoch[follower][leader]
    s.held_end_offset[follower] = s.diverging_end_offset[follower][leader]
    s.is_truncating[follower] = True
    clear_fetch(s, follower, leader)


def held_shared_end_offset(s, follower):
    """The offset where the common beginning of both logs ends, by the diverging response that was noted."""
    epoch = s.held_epoch[follower]
    end_offset = s.held_end_offset[follower]
    if not is_answered(s, follower, epoch):
        return end_offset
    if epoch_for(s, follower, epoch) != epoch:
        return end_offset_for(s, follower, epoch)
    return min(end_offset, end_offset_for(s, follower, epoch))


@action(shows="{follower}")
def follower_truncates_as_noted(s, follower: KraftReplica):
    """The follower truncates as noted, if it follows a leader, still or again; its leader epoch is not checked again.

    Not modelled is that the thread that fetches from a leader sends this leader no fetch between check and truncation.
    Kafka: AbstractFetcherThread.truncateOnFetchResponse.
    """
    require(s.DIVERGING_ANSWER_IS_SPLIT)
    require(s.held_epoch[follower] != NONE)
    if s.leader[follower] != NONE and not presumes_leadership(s, follower):
        truncate_log(s, follower, held_shared_end_offset(s, follower))
        s.is_truncating[follower] = False
    s.held_epoch[follower] = NONE
    s.held_end_offset[follower] = 0
