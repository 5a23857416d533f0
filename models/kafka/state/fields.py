"""Kafka's replication of one partition: the state, and the domains of its fields.

One partition on N brokers, a controller, a producer, transactions, and readers: the records that any reader could have
read, and consumers with a position. Not modelled: segments, batches of more than one record, time (a timer can expire
in any state), failures of the controller, and throttling.
"""

import itertools

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state.values import (
    AlterPartition,
    AutoOffsetReset,
    BrokerEpoch,
    BrokerStateCheck,
    Controller,
    EpochBelowFirstEntry,
    EpochCacheAssign,
    ErasedByMinIsr,
    Failure,
    Fetch,
    FollowerSkip,
    HighWatermarkWait,
    IsolationLevel,
    IsrChannel,
    LeaderChoice,
    MaximalIsr,
    PositionCheck,
    ShrinkRule,
    Start,
    Stop,
    TransactionState,
    Truncation,
    UnknownProducer,
)
from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    Subset,
    between,
    bound,
    budget,
    contradiction,
    field,
    initial,
    optional,
    setting,
    switch,
    terminal,
)

# -------------------------------------------------------------------------------------------------------- configuration
#
# What can be set of a cluster: bounds, budgets, settings, and a switch for each rule that a release changed.


class Configuration:
    replicas = bound(3, "brokers that hold the partition (replication.factor)", least=1, most=7, option="--replicas")
    records = bound(2, "records that producers send", least=1, option="--records", is_open=True)
    log_size = bound(2, "records that a log can hold", least=1, option="--log-size", is_open=True)
    elections = budget(2, "leader epochs after the first", shapes=True, option="--elections")
    partition_changes = budget(0, "partition epochs after the first", shapes=True, option="--partition-changes")
    bounces = budget(1, "restarts too short for the controller to notice", option="--bounces")
    crashes = budget(1, "process crashes (what was written stays written)", option="--crashes")
    preferred_elections = budget(0, "elections that leave a living leader", option="--preferred-elections")
    unclean_elections = budget(0, "elections from outside the ISR", option="--unclean-elections")
    power_losses = budget(0, "crashes that lose unflushed records", option="--power-losses")
    disk_losses = budget(0, "crashes that lose the whole log", option="--disk-losses")
    fencings = budget(0, "living brokers whose session expires", option="--fencings")
    shutdowns = budget(0, "controlled shutdowns", option="--shutdowns")
    reassignments = budget(
        0, "reassignments of the partition that begin or are cancelled", shapes=True, option="--reassignments"
    )
    min_isr_changes = budget(0, "changes of min.insync.replicas", shapes=True, option="--min-isr-changes")
    unregistrations = budget(0, "brokers that are unregistered for good", shapes=True)
    folder_deletions = budget(0, "replicas whose folder is deleted while their broker is shut down", shapes=True)
    directory_reports = budget(0, "brokers that report in which directory a replica is", shapes=True)
    dropped_metadata = budget(0, "metadata records that a broker fails to apply, and passes over", shapes=True)
    late_fetches = budget(0, "fetches that outlive the process that sent them", shapes=True, option="--late-fetches")
    retries = budget(0, "requests that a producer sends again", option="--retries")
    delete_records = budget(0, "DeleteRecords requests", shapes=True, option="--delete-records")
    producer_snapshots = budget(0, "snapshots of a log's producer state, at a roll of a segment", shapes=True)
    transactions = budget(0, "transactions, each from a producer of its own", shapes=True, option="--transactions")
    acks = setting(Acks.ALL, "when a producer regards a record as written", values=Acks, option="--acks")
    min_insync_replicas = setting(2, "min.insync.replicas", least=1, option="--min-insync-replicas")
    enable_idempotence = setting(False, "enable.idempotence", values=bool, shapes=True, option="--enable-idempotence")
    producer_epochs = bound(2, "epochs that an idempotent producer can have", least=1)
    max_in_flight_requests = setting(5, "max.in.flight.requests.per.connection", least=1)
    remembered_batches = setting(5, "batches that a leader remembers of an idempotent producer", least=1)
    flush_interval_messages = bound(
        0, "log.flush.interval.messages: 1 flushes every record; 0: no flush is forced", most=1
    )
    claimed_failures = setting(Failure.LOSS, "what counts as a failure in KIP-966's claim", values=Failure)
    replica_lag_max_messages = setting(1, "0.8: messages that a follower may lag behind, and stay in the ISR")
    isolation_level = setting(IsolationLevel.READ_UNCOMMITTED, "how far consumers read", values=IsolationLevel)
    consumers = bound(0, "consumers, each with a position", option="--consumers")
    auto_offset_reset = setting(
        AutoOffsetReset.LATEST, "where a consumer continues if its position does not exist", values=AutoOffsetReset
    )
    follower_fetching = setting(
        False, "consumers may read from followers (replica.selector.class)", values=bool, shapes=True
    )
    start = setting(Start.ELECTED, "the initial clusters", values=Start, option="--start")
    start_isr = setting(0, "start=elected: the ISR, bit r set for replica r; 0: every allowed ISR")
    start_assignment = setting(0, "the brokers to which the partition is assigned at first, as bits; 0: all of them")
    replicas_of_partition_0 = setting(
        0, "how many replicas partition 0 of the topic has; 0: this is partition 0", shapes=True
    )
    common_records = setting(0, "start=elected: committed records that every replica holds")
    brokers_down = setting(0, "start=elected: brokers that stay down, every choice of them")
    CONTROLLER = switch(Controller.ZOOKEEPER, "who elects leaders, and how brokers hear of it", shapes=True)
    ISR_CHANNEL = switch(IsrChannel.ZK, "how a leader changes the ISR", shapes=True)
    TRUNC = switch(Truncation.HW, "how a follower finds the common prefix with its leader")
    BROKER_STATE_CHECK = switch(BrokerStateCheck.NONE, "which brokers may not join the ISR")
    DIVERGING_RESP_UPDATES_STATE = switch(False, "a fetch from a log that diverges counts as progress (KAFKA-13141)")
    ELR = switch(False, "the controller keeps eligible leaders outside the ISR (KIP-966)")
    ELR_WITHIN_REPLICAS = switch(False, "a broker that is no replica leaves the ELR (no release)", shapes=True)
    ASSIGNED_DIRECTORY_ERASES_ELR = switch(False, "a broker that reports a directory empties the ELR")
    CHANGED_MIN_ISR_ERASES = switch(
        ErasedByMinIsr.ELR_AND_LAST_KNOWN_LEADER, "what a change of min.insync.replicas makes forgotten", shapes=True
    )
    CONFIGURATION_BEFORE_TOPICS = switch(False, "a broker reads configurations before topics (no release)", shapes=True)
    RAISED_MIN_ISR_AWAITS_BROKERS = switch(
        False, "the controller counts a raised minimum once brokers have read it (no release)", shapes=True
    )
    MIN_ISR_OF_OWN_REPLICAS = switch(
        False, "the controller's minimum follows the partition's own replicas (no release)", shapes=True
    )
    UNREGISTERED_LEAVES_ELR = switch(False, "a broker that is unregistered leaves the ELR (no release)", shapes=True)
    DELETED_FOLDER_IS_UNCLEAN = switch(False, "a restart without the replica's folder is unclean", shapes=True)
    LAST_KNOWN_LEADER_IS_ACTIVE = switch(True, "the last known leader has to be active (KAFKA-19522)")
    REASSIGNED_WITHOUT_THE_OTHERS = switch(
        False, "a reassignment is complete with the added replicas in the ISR (up to 3.7, KAFKA-15665)"
    )
    REASSIGNED_ONCE_ADDED = switch(False, "the same, if not more are removed than added (since 4.3, KAFKA-19975)")
    EPOCH_AT_BECOME_LEADER = switch(False, "a leader adds its epoch to its cache when it is elected")
    EPOCH_CACHE_ASSIGN = switch(EpochCacheAssign.APPEND_ONLY, "which entry is dropped if a new one contradicts it")
    EPOCH_BELOW_FIRST_ENTRY = switch(EpochBelowFirstEntry.UNDEFINED, "the answer for an epoch older than the cache")
    EPOCH_ENTRY_AT_END_DROPPED = switch(False, "truncation at the log end forgets an epoch that starts there")
    EPOCH_BUMP_ON_SHRINK = switch(False, "a smaller ISR starts a new leader epoch")
    EQUAL_PARTITION_EPOCH_REPLACES = switch(False, "metadata that the leader already has drops its pending ISR change")
    EQUAL_PARTITION_EPOCH_ASSIGNS = switch(
        False, "such metadata brings the replicas all the same, if it does not replace", shapes=True
    )
    EXPAND_EPOCH_START = switch(False, "joining the ISR needs all records before the leader's epoch")
    EXPAND_LOG_START = switch(False, "joining the ISR needs the leader's log start (no release)", shapes=True)
    FETCH_IS_SPLIT = switch(False, "a leader checks a fetch in one step, and counts it in another", shapes=True)
    FETCH_COUNTED_IN_ITS_EPOCH = switch(
        False, "a fetch that was checked counts only in the same leader epoch (no release)", shapes=True
    )
    DELETION_IS_ANSWERED = switch(
        False, "DeleteRecords is answered once every live replica has deleted the records", shapes=True
    )
    DELETION_AWAITS_ELIGIBLE = switch(
        False, "DeleteRecords waits for the ISR and the ELR as well (no release)", shapes=True
    )
    DIVERGING_ANSWER_IS_SPLIT = switch(
        False, "a follower checks a diverging answer in one step, and truncates in another", shapes=True
    )
    FOLLOWER_SKIP = switch(FollowerSkip.SAME_LEADER, "when a broker that becomes a follower takes no action")
    HW_CLAMPED_AT_TRUNCATION = switch(False, "truncation keeps the high watermark within the log")
    HW_FROM_DIVERGING_RESP = switch(False, "a follower takes the high watermark of a diverging response (KAFKA-14704)")
    HW_WAIT = switch(HighWatermarkWait.OFF, "which replicas outside the ISR hold the high watermark back", shapes=True)
    HW_MINISR_GATE = switch(False, "the high watermark waits for min.insync.replicas")
    LATE_FETCH_COUNTS = switch(False, "a fetch from before a restart can bring a broker into the ISR (KAFKA-15221)")
    LEADER_CHOICE = switch(LeaderChoice.ANY, "which of the valid brokers is elected")
    MAXIMAL_ISR = switch(MaximalIsr.COMMITTED_AND_PROPOSED, "who counts while a change of the ISR is pending")
    OUT_OF_RANGE_HALTS = switch(True, "a follower beyond its leader's log halts if unclean election is off")
    REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER = switch(True, "an undemoted leader keeps followers' offsets")
    RESPONSE_EPOCH_MATCHED = switch(False, "a response is applied only in the epoch that asked for it (KAFKA-18991)")
    RESTART_BEFORE_FENCING = switch(False, "a broker may return before its expired session is noticed (KAFKA-18106)")
    SHRINK_RULE = switch(ShrinkRule.LAST_CAUGHT_UP, "which replicas may be dropped from the ISR")
    UNKNOWN_PID_POLICY = switch(UnknownProducer.SEQUENCE_ZERO, "with what an unknown idempotent producer may begin")
    CLIENT_BUMPS_EPOCH = switch(False, "an idempotent producer numbers its requests anew after an error (KIP-360)")
    STALE_METADATA_IGNORED = switch(False, "a producer that knows a leader epoch ignores earlier leaders (KAFKA-7738)")
    POSITION_CHECK = switch(PositionCheck.NONE, "how a consumer checks its position at a new leader (KIP-320)")
    LATEST_OFFSET_AWAITS_EPOCH_START = switch(False, "a new leader tells no end before it knows what is committed")
    READ_REPLICA_IN_ISR = switch(False, "a leader sends consumers only to followers in the ISR (KAFKA-14372)")
    PRODUCER_STATE_KEPT = switch(False, "a producer is remembered when its records are deleted (KAFKA-7190)")


def alters_partitions(configuration):
    """Changes of the ISR are requests to the controller."""
    return configuration.ISR_CHANNEL == IsrChannel.ALTER_PARTITION


def has_kraft(configuration):
    """The controller is a KRaft quorum."""
    return configuration.CONTROLLER == Controller.KRAFT


def numbers_from_zero(s):
    """The rule of 1.0 to 2.4 holds: after UNKNOWN_PRODUCER_ID, a producer can begin from 0 again in the same epoch."""
    return (
        s.enable_idempotence
        and s.delete_records > 0
        and s.UNKNOWN_PID_POLICY == UnknownProducer.SEQUENCE_ZERO
        and not s.CLIENT_BUMPS_EPOCH
    )


# ---------------------------------------------------------------------------------------------------------------- state


def up_to_budget(name):
    """The range of what is left of the budget `name`: at least 0..3, so budgets up to 3 share one compiled search."""
    return between(0, lambda configuration: max(3, getattr(configuration, name)))


def up_to_kraft_budget(name):
    """The possible remaining amounts of the budget `name`, which matters only with a KRaft controller."""
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
    """A replica in a model in which leaders remember which followers have caught up (HW_WAIT=CAUGHT_UP)."""


class FlushedReplica(Domain, size=lambda c: c.replicas * (has_kraft(c) or c.flush_interval_messages > 0)):
    """A replica for which the model has the offset up to which its log is flushed."""


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
    """A value to which min.insync.replicas is changed."""


class ReassignedAnnouncement(Domain, size=lambda c: (c.partition_changes + 1) * reassigns(c)):
    """A metadata record, in a cluster in which the assignment of the partition can change."""


class SplitReplica(Domain, size=lambda c: c.replicas * (has_kraft(c) and c.FETCH_IS_SPLIT)):
    """A leader that checks and counts fetches in two steps."""


class HoldingReplica(Domain, size=lambda c: c.replicas * (has_kraft(c) and c.DIVERGING_ANSWER_IS_SPLIT)):
    """A follower that checks and applies diverging answers in two steps."""


class LateReplica(Domain, size=lambda c: c.replicas * (has_kraft(c) and c.late_fetches > 0)):
    """A replica in a cluster in which a fetch can outlive the process that sent it."""


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
    """A metadata record, numbered by partition epoch (KRaft), or an election, numbered by leader epoch (ZooKeeper)."""


class KraftAnnouncement(Domain, size=lambda c: (c.partition_changes + 1) * has_kraft(c)):
    """A metadata record of a KRaft controller, by its partition epoch."""


class AlterIsrAnnouncement(Domain, size=lambda c: (c.elections + 1) * (alters_partitions(c) and not has_kraft(c))):
    """An announcement of an election by a ZooKeeper controller since 2.8, when leaders began to send AlterIsr."""


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

    # A KRaft controller knows which brokers are fenced or shutting down, and, since 4.1, who may lead from outside the
    # ISR.
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


BUDGETS = [name.removesuffix("_left") for name in vars(State) if name.endswith("_left")]


# ----------------------------------------------------------------------------------------------------- initial clusters
#
# The clusters that a history starts from, and the configurations that are impossible.


def _subsets_with(leader, replicas, at_least):
    """Yield each ISR that contains the leader and has at least `at_least` members, as a list of truth values by
    replica. The order is that of binary numbers in which bit r stands for replica r."""
    for number in range(1 << replicas):
        isr = [bool(number >> r & 1) for r in range(replicas)]
        if isr[leader] and sum(isr) >= at_least:
            yield isr


def _cluster(configuration, leader, isr, lengths, absent=()):
    """Return a quiescent cluster at epoch 0, in which broker r holds the first lengths[r] records, all of them
    acknowledged.

    A broker in `absent`, or without the partition, knows no leader and no followers, as after a crash.
    """
    replicas, log_size, elections = configuration.replicas, configuration.log_size, configuration.elections
    committed = lengths[leader]
    lengths = [length if is_assigned_at_first(configuration, r) else 0 for r, length in enumerate(lengths)]
    down = (*absent, *(r for r in range(replicas) if not is_assigned_at_first(configuration, r)))
    leads = [r == leader and r not in down for r in range(replicas)]
    following = [
        [f != leader and leads[r] and is_assigned_at_first(configuration, f) for f in range(replicas)]
        for r in range(replicas)
    ]
    has_epoch = [
        configuration.TRUNC != Truncation.HW
        and (length > 0 or (leads[r] and bool(configuration.EPOCH_AT_BECOME_LEADER)))
        for r, length in enumerate(lengths)
    ]
    return {
        "controller_leader": leader,
        "controller_isr": isr,
        **_assignment(configuration, leads),
        "is_up": [r not in absent for r in range(replicas)],
        "log_record": [[o if o < length else NONE for o in range(log_size)] for length in lengths],
        "log_epoch": [[0 if o < length else NONE for o in range(log_size)] for length in lengths],
        "epoch_cache": [[0 if has_epoch[r] else NONE] + [NONE] * elections for r in range(replicas)],
        "log_end_offset": lengths,
        "high_watermark": lengths,
        "leader": [NONE if r in down else leader for r in range(replicas)],
        "isr": [isr if leads[r] else [False] * replicas for r in range(replicas)],
        "remote_log_end_offset": [
            [lengths[f] if following[r][f] else NONE for f in range(replicas)] for r in range(replicas)
        ],
        "next_record": committed,
        "acknowledged": [record < committed for record in range(configuration.records)],
        "has_sequence": [
            record < committed for record in range(configuration.records * configuration.enable_idempotence)
        ],
        "acknowledged_before": committed if numbers_from_zero(configuration) else 0,
        "exposed_record": [o if o < committed else NONE for o in range(log_size)],
        "read_committed_record": [o if configuration.transactions and o < committed else NONE for o in range(log_size)],
        "remote_broker_epoch": [
            [int(following[r][f]) for f in range(replicas)] for r in range(replicas * has_kraft(configuration))
        ],
        "is_caught_up": [
            [isr[f] and following[r][f] for f in range(replicas)] if leads[r] else [False] * replicas
            for r in range(replicas * (configuration.HW_WAIT == HighWatermarkWait.CAUGHT_UP))
        ],
        "flushed_offset": lengths if has_kraft(configuration) or configuration.flush_interval_messages else [],
        **{f"{budget}_left": getattr(configuration, budget) for budget in BUDGETS},
    }


def _assignment(configuration, leads):
    if not configuration.reassignments:
        return {}
    assigned = [is_assigned_at_first(configuration, r) for r in range(configuration.replicas)]
    nobody = [False] * configuration.replicas
    return {
        "is_assigned": assigned,
        "knows_assigned": [assigned if leads[r] else nobody for r in range(configuration.replicas)],
    }


def is_assigned_at_first(configuration, r):
    return configuration.start_assignment == 0 or bool(configuration.start_assignment >> r & 1)


@initial
def quiescent_clusters(configuration):
    """Yield stable clusters: leader 0, equal logs, any ISR with the leader and at least min.insync.replicas members.

    With `start=any`: any leader, any ISR with it, any log of the ISR, and any prefix of this log on other replicas.
    """
    if configuration.start == Start.ANY:
        yield from _any_clusters(configuration)
        return
    replicas = configuration.replicas
    lengths = [configuration.common_records] * replicas
    for down in itertools.combinations(range(replicas), configuration.brokers_down):
        for isr in _elected_isrs(configuration):
            yield _cluster(configuration, 0, isr, lengths, down)


def _elected_isrs(configuration):
    replicas = configuration.replicas
    if configuration.start_isr:
        return [[bool(configuration.start_isr >> r & 1) for r in range(replicas)]]
    if configuration.start_assignment:
        assigned = [is_assigned_at_first(configuration, r) for r in range(replicas)]
        least = min(configuration.min_insync_replicas, sum(assigned))
        isrs = _subsets_with(0, replicas, least)
        return [isr for isr in isrs if all(assigned[r] or not isr[r] for r in range(replicas))]
    if configuration.brokers_down:
        return [[True] * replicas]  # they fail all at once, in a cluster that was complete
    # More replicas than exist cannot be in sync; such a cluster starts complete, and refuses acks=all.
    return _subsets_with(0, replicas, min(configuration.min_insync_replicas, replicas))


def _any_clusters(configuration):
    replicas = configuration.replicas
    for leader in range(replicas):
        for isr in _subsets_with(leader, replicas, 1):
            for committed in range(min(configuration.log_size, configuration.records) + 1):
                lengths = [[committed] if isr[r] else range(committed + 1) for r in range(replicas)]
                for chosen in itertools.product(*lengths):
                    yield _cluster(configuration, leader, isr, list(chosen))


@terminal
def cluster_is_idle(s):
    """Accept every state without events as an intended end: the numbers of records, elections and faults are bounded.
    Even an end without a leader is no deadlock; separate properties forbid states that must not last."""
    return True


# ---------------------------------------------- configurations that are impossible, and what to choose instead of them


@contradiction
def start_isr_lacks_the_leader(configuration):
    """start_isr is a number whose bit r means that replica r is in the ISR: it has to contain replica 0, the leader,
    and no replica that does not exist."""
    return configuration.start_isr and not (
        configuration.start_isr & 1 and configuration.start_isr < 1 << configuration.replicas
    )


@contradiction
def more_common_records_than_there_are(configuration):
    """common_records is above the number of records or the log size; raise those, or lower common_records."""
    return configuration.common_records > min(configuration.records, configuration.log_size)


@contradiction
def more_brokers_down_than_there_are(configuration):
    """brokers_down is above the number of replicas; lower brokers_down."""
    return configuration.brokers_down > configuration.replicas


@contradiction
def transactions_before_0_11(configuration):
    """Transactions and DeleteRecords came with the record format of 0.11, but TRUNC=HW is older; choose a newer
    --protocol, or set --transactions and --delete-records to 0."""
    return configuration.TRUNC == Truncation.HW and (configuration.transactions or configuration.delete_records)


@contradiction
def transactions_without_acks_all(configuration):
    """A transactional producer is idempotent, and Kafka refuses to start one without acks=all; set acks=all."""
    return configuration.transactions and configuration.acks != Acks.ALL


@contradiction
def idempotence_before_0_11(configuration):
    """Idempotent producers came with the record format of 0.11, but TRUNC=HW is older; choose a newer --protocol, or
    set --enable-idempotence off."""
    return configuration.TRUNC == Truncation.HW and configuration.enable_idempotence


@contradiction
def idempotence_without_acks_all(configuration):
    """Kafka refuses to start an idempotent producer without acks=all; set --acks all, or --enable-idempotence off."""
    return configuration.enable_idempotence and configuration.acks != Acks.ALL


@contradiction
def more_in_flight_than_remembered(configuration):
    """An idempotent producer has at most as many requests in flight as leaders remember batches (1 in 0.11, 5 since
    1.0); set max_in_flight_requests to remembered_batches or less, or --enable-idempotence off."""
    return configuration.enable_idempotence and configuration.max_in_flight_requests > configuration.remembered_batches


@contradiction
def snapshots_without_idempotence(configuration):
    """producer_snapshots is about the state of an idempotent producer; set --enable-idempotence on, or
    producer_snapshots to 0."""
    return configuration.producer_snapshots and not configuration.enable_idempotence


@contradiction
def followers_are_read_before_2_4(configuration):
    """Consumers read from followers since 2.4 (KIP-392); set follower_fetching=off, or choose a newer --protocol."""
    return configuration.follower_fetching and not configuration.HW_CLAMPED_AT_TRUNCATION


@contradiction
def partition_changes_before_2_8(configuration):
    """Before 2.8 the leader writes the ISR itself, and nothing counts partition epochs; set --partition-changes
    to 0, or choose --protocol 2.8 or newer."""
    return configuration.partition_changes and not alters_partitions(configuration)


@contradiction
def bounces_since_2_8(configuration):
    """Since 2.8 a restart that the controller does not notice is not modelled: brokers register anew; set --bounces
    to 0 and give --crashes, or choose --protocol 2.4 or older."""
    return configuration.bounces and alters_partitions(configuration)


@contradiction
def kraft_budgets_with_zookeeper(configuration):
    """--fencings, --shutdowns, --reassignments, --min-isr-changes, unregistrations, folder_deletions,
    directory_reports, dropped_metadata and --late-fetches are about brokers of a KRaft cluster; choose --protocol 3.3
    or newer, or set them to 0."""
    budgets = ("fencings", "shutdowns", "reassignments", "min_isr_changes", "unregistrations", "folder_deletions")
    budgets += ("directory_reports", "dropped_metadata", "late_fetches")
    return not has_kraft(configuration) and any(getattr(configuration, budget) for budget in budgets)


@contradiction
def start_assignment_lacks_the_leader(configuration):
    """start_assignment is a number whose bit r means that the partition is assigned to broker r: it needs
    --reassignments, has to contain broker 0 (the leader) and all brokers of start_isr, and only existing brokers."""
    return configuration.start_assignment and (
        not configuration.reassignments
        or not configuration.start_assignment & 1
        or configuration.start_isr & ~configuration.start_assignment
        or configuration.start_assignment >= 1 << configuration.replicas
    )


@contradiction
def replicas_of_another_partition_do_not_exist(configuration):
    """replicas_of_partition_0 is above the number of replicas; lower it."""
    return configuration.replicas_of_partition_0 > configuration.replicas


@contradiction
def min_isr_changes_before_the_gate(configuration):
    """--min-isr-changes are modelled since the high watermark waits for min.insync.replicas (3.7); set
    HW_MINISR_GATE=on, or --min-isr-changes to 0."""
    return configuration.min_isr_changes and not configuration.HW_MINISR_GATE


@contradiction
def kraft_without_alter_partition(configuration):
    """A KRaft controller changes the ISR by AlterPartition requests; set ISR_CHANNEL=ALTER_PARTITION."""
    return has_kraft(configuration) and not alters_partitions(configuration)


@contradiction
def truncation_on_fetch_before_2_8(configuration):
    """Truncation on fetch (TRUNC=ON_FETCH) came in 2.8, together with AlterPartition; no other truncation is modelled
    since then. Leave TRUNC out, or choose a --protocol that has it."""
    return (configuration.TRUNC == Truncation.ON_FETCH) != alters_partitions(configuration)


@contradiction
def diverging_responses_before_2_8(configuration):
    """DIVERGING_RESP_UPDATES_STATE, HW_FROM_DIVERGING_RESP and RESPONSE_EPOCH_MATCHED are about truncation on fetch;
    choose --protocol 2.8 or newer, or leave them out."""
    return configuration.TRUNC != Truncation.ON_FETCH and (
        configuration.DIVERGING_RESP_UPDATES_STATE
        or configuration.HW_FROM_DIVERGING_RESP
        or configuration.RESPONSE_EPOCH_MATCHED
    )


@contradiction
def maximal_isr_before_2_8(configuration):
    """MAXIMAL_ISR says who counts while AlterPartition is pending; choose --protocol 2.8 or newer, or leave it out."""
    return configuration.MAXIMAL_ISR != MaximalIsr.COMMITTED_AND_PROPOSED and not alters_partitions(configuration)


@contradiction
def kraft_switches_with_zookeeper(configuration):
    """BROKER_STATE_CHECK, ELR, EPOCH_BUMP_ON_SHRINK, EQUAL_PARTITION_EPOCH_REPLACES, LATE_FETCH_COUNTS,
    LEADER_CHOICE and RESTART_BEFORE_FENCING are about a KRaft controller; choose --protocol 3.3 or newer."""
    return not has_kraft(configuration) and (
        configuration.BROKER_STATE_CHECK != BrokerStateCheck.NONE
        or configuration.ELR
        or configuration.EPOCH_BUMP_ON_SHRINK
        or configuration.EQUAL_PARTITION_EPOCH_REPLACES
        or configuration.LEADER_CHOICE != LeaderChoice.ANY
        or configuration.LATE_FETCH_COUNTS
        or configuration.RESTART_BEFORE_FENCING
    )


@contradiction
def elr_without_the_gate(configuration):
    """ELR rests on a high watermark that waits for min.insync.replicas (KIP-966); set HW_MINISR_GATE=on, or ELR=off."""
    return configuration.ELR and not configuration.HW_MINISR_GATE


@contradiction
def elr_with_restarts_before_fencing(configuration):
    """With ELR, a broker that registers again leaves the ISR (KAFKA-18106): set RESTART_BEFORE_FENCING=off or
    ELR=off."""
    return configuration.ELR and configuration.RESTART_BEFORE_FENCING
