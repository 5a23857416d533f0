"""What operators do to a cluster while it runs: they change min.insync.replicas, unregister brokers, and delete the
folder of a replica so that it is copied anew.

min.insync.replicas is a record of the metadata log. The controller counts it at once, each broker when it reads it.
With ELR, a change of it empties the ELR, because whoever is in it was judged by another minimum (KAFKA-16540).
"""

from isrcheck.models.kafka.state.broker.assignment import is_overdue, removes_overdue
from isrcheck.models.kafka.state.broker.log import start_log_at
from isrcheck.models.kafka.state.broker.record import (
    announce_record,
    controllers_min_insync_replicas,
    may_change_leader,
    may_change_record,
    members_without,
)
from isrcheck.models.kafka.state.broker.registration import (
    last_known_leader_is_next,
    leave_elr,
    may_leave_elr,
    renew_record,
)
from isrcheck.models.kafka.state.fields import KraftReplica, MinInsyncReplicas
from isrcheck.models.kafka.state.values import ErasedByMinIsr, Stop
from isrcheck.models.language import NONE, action, require


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
