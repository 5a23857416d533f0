"""What can be set of a cluster: bounds, budgets, settings, and a switch for each rule that a release changed."""

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state.values import (
    AutoOffsetReset,
    BrokerStateCheck,
    Controller,
    EpochBelowFirstEntry,
    EpochCacheAssign,
    ErasedByMinIsr,
    Failure,
    FollowerSkip,
    HighWatermarkWait,
    IsolationLevel,
    IsrChannel,
    LeaderChoice,
    MaximalIsr,
    PositionCheck,
    ShrinkRule,
    Start,
    Truncation,
    UnknownProducer,
)
from isrcheck.models.language import (
    bound,
    budget,
    setting,
    switch,
)


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
    """The rule of 1.0 to 2.4: after UNKNOWN_PRODUCER_ID, a producer can begin from 0 again in the same epoch."""
    return (
        s.enable_idempotence
        and s.delete_records > 0
        and s.UNKNOWN_PID_POLICY == UnknownProducer.SEQUENCE_ZERO
        and not s.CLIENT_BUMPS_EPOCH
    )
