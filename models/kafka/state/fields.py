"""Kafka's replication of one partition: the state, and the domains of its fields.

One partition on N brokers, a controller, a producer, transactions, and readers: the records that any reader could have
read, and consumers with a position. Not modelled: segments, batches of more than one record, time (a timer can expire
in any state), failures of the controller, and throttling.
"""

from isrcheck.models.kafka.state.configuration import (
    Configuration,
    alters_partitions,
    has_kraft,
)
from isrcheck.models.kafka.state.values import (
    AlterPartition,
    BrokerEpoch,
    Fetch,
    HighWatermarkWait,
    Stop,
    TransactionState,
)
from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    Subset,
    between,
    field,
    optional,
)


def up_to_budget(name):
    """The values of a budget's remaining amount. Budgets up to three share a state layout, and thus a kernel."""
    return between(0, lambda configuration: max(3, getattr(configuration, name)))


def up_to_kraft_budget(name):
    """The same for what only a KRaft controller knows."""
    return between(0, lambda configuration: max(3, getattr(configuration, name)) if has_kraft(configuration) else 0)


class Replica(Domain, size="replicas"):
    pass


class AlteringReplica(Domain, size=lambda configuration: configuration.replicas * alters_partitions(configuration)):
    """A replica whose changes of the ISR are requests to the controller."""


class KraftReplica(Domain, size=lambda configuration: configuration.replicas * has_kraft(configuration)):
    """A replica in a cluster with a KRaft controller."""


class ReplicaSet(Subset, of=Replica):
    pass


class Offset(Domain, size="log_size"):
    pass


class EndOffset(Domain, size=lambda configuration: configuration.log_size + 1):
    pass


class Record(Domain, size="records", letters=True):
    pass


class Transaction(Domain, size="transactions"):
    pass


class Entry(Domain, size=lambda configuration: configuration.records + configuration.transactions, letters=True):
    """The values of a log cell: a record, or the marker that ends a transaction (numbered after the records)."""


class CommittedRecord(Domain, size=lambda c: c.records if c.transactions else 0, letters=True):
    """A record as read_committed readers see it; without transactions, both isolation levels see the same records."""


class WaitReplica(Domain, size=lambda c: c.replicas * (c.HW_WAIT == HighWatermarkWait.CAUGHT_UP)):
    """A leader that knows who has caught up."""


class FlushedReplica(Domain, size=lambda c: c.replicas * (has_kraft(c) or c.flush_interval_messages > 0)):
    """A replica whose flushed records are told apart from the others."""


def reassigns(configuration: Configuration):
    """The assignment of the partition can change."""
    return has_kraft(configuration) and configuration.reassignments > 0


class AssignedReplica(Domain, size=lambda configuration: configuration.replicas * reassigns(configuration)):
    """A broker to which the partition can be assigned, and from which it can be removed."""


class MinIsrChange(Domain, size=lambda c: c.min_isr_changes * has_kraft(c)):
    """A change of min.insync.replicas."""


class MinIsrReader(Domain, size=lambda c: c.replicas * (has_kraft(c) and c.min_isr_changes > 0)):
    """A broker that reads changes of min.insync.replicas."""


class RegisteredReplica(Domain, size=lambda c: c.replicas * (has_kraft(c) and c.unregistrations > 0)):
    """A broker that can be unregistered."""


MIN_ISR = between(0, "replicas")
"""A value of min.insync.replicas; 0 stands for no value."""


class MinInsyncReplicas(Domain, size=lambda c: (c.replicas + 1) * (has_kraft(c) and c.min_isr_changes > 0)):
    """A value of min.insync.replicas."""


class ReassignedAnnouncement(Domain, size=lambda c: (c.partition_changes + 1) * reassigns(c)):
    """A metadata record with an assignment."""


class SplitReplica(Domain, size=lambda c: c.replicas * (has_kraft(c) and c.FETCH_IS_SPLIT)):
    """A leader that checks and counts fetches in two steps."""


class HoldingReplica(Domain, size=lambda c: c.replicas * (has_kraft(c) and c.DIVERGING_ANSWER_IS_SPLIT)):
    """A follower that checks and applies diverging answers in two steps."""


class LateReplica(Domain, size=lambda c: c.replicas * (has_kraft(c) and c.late_fetches > 0)):
    """A replica in a cluster in which fetches can be late."""


class Consumer(Domain, size="consumers"):
    """A consumer of the partition."""


class RackAwareConsumer(Domain, size=lambda c: c.consumers if c.follower_fetching else 0):
    """A consumer that may read from followers."""


class NumberedRecord(Domain, size=lambda c: c.records if c.enable_idempotence else 0, letters=True):
    """A record of an idempotent producer."""


class NumberedReplica(Domain, size=lambda c: c.replicas if c.enable_idempotence else 0):
    """A replica that holds records of an idempotent producer."""


class SnapshotReplica(Domain, size=lambda c: c.replicas if c.enable_idempotence and c.producer_snapshots else 0):
    """A replica that can take snapshots of its producer state."""


class DeletingReplica(Domain, size=lambda c: c.replicas if c.enable_idempotence and c.delete_records else 0):
    """A replica that can delete records of an idempotent producer."""


class FormerNumbering(Domain, size=lambda c: (c.producer_epochs - 1) * (c.enable_idempotence and c.delete_records > 0)):
    """An earlier numbering of an idempotent producer, in the same producer epoch as the present one."""


class LeaderEpoch(Domain, size=lambda configuration: configuration.elections + 1):
    pass


class PartitionEpoch(Domain, size=lambda configuration: configuration.partition_changes + 1):
    """The number of changes of the partition's record, before 2.8 always 0."""


class Announcement(Domain, size=lambda c: (c.partition_changes if has_kraft(c) else c.elections) + 1):
    """What the controller announces: metadata records by partition epoch (KRaft), elections by leader epoch."""


class KraftAnnouncement(Domain, size=lambda c: (c.partition_changes + 1) * has_kraft(c)):
    """A metadata record."""


class AlterIsrAnnouncement(Domain, size=lambda c: (c.elections + 1) * (alters_partitions(c) and not has_kraft(c))):
    """An election in a cluster with ZooKeeper, since 2.8."""


LOG_START_OFFSETS = between(0, lambda configuration: configuration.log_size if configuration.delete_records else 0)
ANSWERED_DELETIONS = between(0, lambda c: c.log_size if c.delete_records and c.DELETION_IS_ANSWERED else 0)
"""The values of a log start offset, which stays 0 unless a client deletes records."""


PRODUCER_EPOCHS = between(0, lambda configuration: configuration.producer_epochs - 1)
"""The epochs of the idempotent producer; 0 in cells without a record of it."""


ACKNOWLEDGED_OFFSETS = between(0, lambda c: c.log_size if c.enable_idempotence and c.delete_records else 0)
"""The offsets behind a record that an idempotent producer knows to be written."""


HEARD_LEADER_EPOCHS = between(0, lambda configuration: configuration.elections * configuration.enable_idempotence)
"""The leader epochs that an idempotent producer has heard of."""


class State:
    # The controller: its leader, leader epoch and ISR; and each election as it was announced (LeaderAndIsr), or each
    # record (KRaft), while a running broker has yet to hear of it.
    controller_leader = field(values=optional(Replica), initially=0)
    controller_epoch = field(values=LeaderEpoch)
    controller_isr = field(Replica, values=Flag)
    metadata_leader = field(Announcement, values=optional(Replica), initially=NONE)
    metadata_isr = field(Announcement, Replica, values=Flag)

    # Since 2.8 the partition epoch counts the changes of the record: the controller's, and that of each announcement.
    controller_partition_epoch = field(values=PartitionEpoch)
    metadata_partition_epoch = field(AlterIsrAnnouncement, values=PartitionEpoch)

    # A KRaft controller knows which brokers are fenced or shutting down, and, since 4.1, who may lead besides the ISR.
    metadata_leader_epoch = field(KraftAnnouncement, values=LeaderEpoch)
    # The replicas, and which of them are being added or removed; with each announcement, and as a leader knows them.
    is_assigned = field(AssignedReplica, values=Flag, initially=True)
    is_adding = field(AssignedReplica, values=Flag)
    is_removing = field(AssignedReplica, values=Flag)
    metadata_assigned = field(ReassignedAnnouncement, AssignedReplica, values=Flag)
    metadata_adding = field(ReassignedAnnouncement, AssignedReplica, values=Flag)
    knows_assigned = field(AssignedReplica, AssignedReplica, values=Flag)
    knows_adding = field(AssignedReplica, AssignedReplica, values=Flag)
    # Changes of min.insync.replicas: their values (0: not made yet), after which partition epoch the metadata log has
    # them, whether they end with a ClearElrRecord, which is the next partition epoch, and how many of them a broker has
    # read; and which brokers are unregistered.
    changed_min_isr = field(MinIsrChange, values=MIN_ISR)
    min_isr_position = field(MinIsrChange, values=PartitionEpoch)
    erases_elr = field(MinIsrChange, values=Flag)
    min_isr_changes_read = field(MinIsrReader, values=between(0, "min_isr_changes"))
    is_unregistered = field(RegisteredReplica, values=Flag)
    is_fenced = field(KraftReplica, values=Flag)
    is_shutting_down = field(KraftReplica, values=Flag)
    eligible_leader_replicas = field(KraftReplica, values=Flag)
    last_known_leader = field(values=optional(KraftReplica), initially=NONE)

    # Each broker: its log; what it believes of leader, epoch and, as a leader, of ISR and followers.
    # The cache of leader epochs says at which offset each epoch that the broker knows of starts in its log.
    is_up = field(Replica, values=Flag, initially=True)
    log_record = field(Replica, Offset, values=optional(Entry), initially=NONE)
    log_epoch = field(Replica, Offset, values=optional(LeaderEpoch), initially=NONE)
    epoch_cache = field(Replica, LeaderEpoch, values=optional(EndOffset), initially=NONE)
    log_start_offset = field(Replica, values=LOG_START_OFFSETS)
    log_end_offset = field(Replica, values=EndOffset)
    high_watermark = field(Replica, values=EndOffset)
    leader_epoch = field(Replica, values=LeaderEpoch)
    leader = field(Replica, values=optional(Replica), initially=0)
    is_truncating = field(Replica, values=Flag)
    isr = field(Replica, Replica, values=Flag)
    epoch_start_offset = field(Replica, values=EndOffset)
    remote_log_end_offset = field(Replica, Replica, values=optional(EndOffset), initially=NONE)

    # Since 2.8: the partition epoch that each broker knows; as a leader, the ISR that it proposes while a change is
    # pending (which contains the leader, otherwise nothing), and its request to the controller, if there is one.
    partition_epoch = field(AlteringReplica, values=PartitionEpoch)
    proposed_isr = field(AlteringReplica, Replica, values=Flag)
    alter_partition = field(AlteringReplica, values=AlterPartition)
    requested_leader_epoch = field(AlteringReplica, values=LeaderEpoch)
    requested_partition_epoch = field(AlteringReplica, values=PartitionEpoch)
    requested_isr = field(AlteringReplica, Replica, values=Flag)

    # With KRaft: how far a broker has applied the metadata log; while it is down, how it has stopped; while it
    # shuts down, which partition epoch the others have to reach before it may stop; and which process
    # of a follower a leader has heard of, and names in its request.
    metadata_position = field(KraftReplica, values=PartitionEpoch)
    stopped_by = field(KraftReplica, values=Stop)
    shutdown_partition_epoch = field(KraftReplica, values=PartitionEpoch)
    remote_broker_epoch = field(KraftReplica, Replica, values=BrokerEpoch)
    requested_broker_epoch = field(KraftReplica, Replica, values=BrokerEpoch)

    # Between a follower and a leader, in this order of indices: the one fetch that can be outstanding.
    fetch = field(Replica, Replica, values=Fetch)
    fetch_offset = field(Replica, Replica, values=EndOffset)
    response_record = field(Replica, Replica, Offset, values=optional(Entry), initially=NONE)
    response_epoch = field(Replica, Replica, Offset, values=optional(LeaderEpoch), initially=NONE)
    response_high_watermark = field(Replica, Replica, values=EndOffset)
    response_log_start_offset = field(Replica, Replica, values=LOG_START_OFFSETS)
    # With HW_WAIT: whether a follower counts as caught up, and how long the leader's log was at its last fetch; up
    # to where a log is flushed; and a fetch that outlives its process.
    is_caught_up = field(WaitReplica, Replica, values=Flag)
    log_end_offset_at_fetch = field(WaitReplica, Replica, values=optional(EndOffset), initially=NONE)
    flushed_offset = field(FlushedReplica, values=EndOffset)
    late_fetch_offset = field(LateReplica, Replica, values=optional(EndOffset), initially=NONE)
    # Where fetches are split: the offset of one that the leader has checked, and not counted yet, and whether it
    # belongs to what the leader knew of the follower before; and a diverging answer that a follower has checked.
    admitted_offset = field(SplitReplica, Replica, values=optional(EndOffset), initially=NONE)
    is_of_former_state = field(SplitReplica, Replica, values=Flag)
    held_epoch = field(HoldingReplica, values=optional(LeaderEpoch), initially=NONE)
    held_end_offset = field(HoldingReplica, values=EndOffset)
    diverging_epoch = field(AlteringReplica, Replica, values=LeaderEpoch)
    diverging_end_offset = field(AlteringReplica, Replica, values=EndOffset)

    # Clients: the next record to send; the leader at which an acks=all request waits; which records were acknowledged;
    # the transaction of each record; the first entry that readers of either isolation level could see at each offset;
    # the offset up to which clients deleted records.
    next_record = field(values=between(0, "records"))
    pending = field(Record, values=optional(Replica), initially=NONE)
    acknowledged = field(Record, values=Flag)
    transaction_of = field(Record, values=optional(Transaction), initially=NONE)
    transaction_state = field(Transaction, values=TransactionState)
    exposed_record = field(Offset, values=optional(Entry), initially=NONE)
    read_committed_record = field(Offset, values=optional(CommittedRecord), initially=NONE)
    deleted_before = field(values=LOG_START_OFFSETS)
    answered_deletion = field(values=ANSWERED_DELETIONS)

    # An idempotent producer: its epoch; the latest leader epoch that it has heard of; which records it has numbered in
    # its epoch (a sequence number counts the earlier ones); the producer epoch of each record in a log or response; up
    # to where a log's producer state was saved, and from where it was replayed; and the records that a log has deleted,
    # and its broker remembers. From 1.0 to 2.4: the offset behind the last record that was acknowledged; and which
    # records were numbered before the producer began from 0 again in the same epoch.
    producer_epoch = field(values=between(0, lambda c: c.producer_epochs - 1 if c.enable_idempotence else 0))
    heard_leader_epoch = field(values=HEARD_LEADER_EPOCHS)
    has_sequence = field(NumberedRecord, values=Flag)
    log_producer_epoch = field(NumberedReplica, Offset, values=PRODUCER_EPOCHS)
    response_producer_epoch = field(NumberedReplica, Replica, Offset, values=PRODUCER_EPOCHS)
    snapshot_offset = field(SnapshotReplica, values=EndOffset)
    replayed_from = field(SnapshotReplica, values=EndOffset)
    deleted_record = field(DeletingReplica, Offset, values=optional(Record), initially=NONE)
    acknowledged_before = field(values=ACKNOWLEDGED_OFFSETS)
    had_sequence = field(FormerNumbering, NumberedRecord, values=Flag)

    # Each consumer: the follower from which it reads, if any; its position; the readable end of the log, by the
    # response to its last fetch; the leader epoch that it knows, and that of the last record that it read; what it has
    # read at each offset; and whether it has skipped records, because auto.offset.reset is latest.
    preferred_read_replica = field(RackAwareConsumer, values=optional(Replica), initially=NONE)
    position = field(Consumer, values=EndOffset)
    known_end_offset = field(Consumer, values=EndOffset)
    consumer_leader_epoch = field(Consumer, values=LeaderEpoch)
    consumed_epoch = field(Consumer, values=optional(LeaderEpoch), initially=NONE)
    consumed_record = field(Consumer, Offset, values=optional(Record), initially=NONE)
    has_skipped = field(Consumer, values=Flag)

    # The remaining budgets for faults and for elections that need one.
    bounces_left = field(values=up_to_budget("bounces"))
    crashes_left = field(values=up_to_budget("crashes"))
    preferred_elections_left = field(values=up_to_budget("preferred_elections"))
    unclean_elections_left = field(values=up_to_budget("unclean_elections"))
    power_losses_left = field(values=up_to_budget("power_losses"))
    disk_losses_left = field(values=up_to_budget("disk_losses"))
    fencings_left = field(values=up_to_kraft_budget("fencings"))
    reassignments_left = field(values=between(0, "reassignments"))
    min_isr_changes_left = field(values=between(0, "min_isr_changes"))
    unregistrations_left = field(values=between(0, "unregistrations"))
    folder_deletions_left = field(values=between(0, "folder_deletions"))
    directory_reports_left = field(values=between(0, "directory_reports"))
    dropped_metadata_left = field(values=between(0, "dropped_metadata"))
    late_fetches_left = field(values=between(0, "late_fetches"))
    shutdowns_left = field(values=up_to_kraft_budget("shutdowns"))
    retries_left = field(values=up_to_budget("retries"))
    delete_records_left = field(values=between(0, "delete_records"))
    producer_snapshots_left = field(values=between(0, "producer_snapshots"))


BUDGETS = (
    "bounces",
    "crashes",
    "preferred_elections",
    "unclean_elections",
    "power_losses",
    "disk_losses",
    "fencings",
    "reassignments",
    "min_isr_changes",
    "unregistrations",
    "folder_deletions",
    "directory_reports",
    "dropped_metadata",
    "late_fetches",
    "shutdowns",
    "retries",
    "delete_records",
    "producer_snapshots",
)
