"""Seeded bugs, switched on one at a time to test whether a checker of the cluster notices them.

In:  nothing.
Out: `Bug`, `TransactionBug`, or `CoordinatorBug`, for the branch in the code that contains the mistake.
"""

from __future__ import annotations

from enum import Enum


class Bug(Enum):
    """A seeded bug; its value describes the mistake and its location."""

    HW_OFF_BY_ONE = "the leader's high watermark is one record above what its whole ISR has (Partition)"
    ACK_BEFORE_ISR = "a request with acks=all is answered when its record is appended (ReplicaManager)"
    TRUNCATION_TO_WRONG_EPOCH_END = "the end of an epoch is looked up one epoch too late (LeaderEpochFileCache)"
    REMOTE_OFFSET_IS_MAXIMUM = "a follower that has truncated still counts with its former, longer log (Partition)"
    EXPANSION_WITHOUT_EPOCH_START = "a follower may join the ISR below the epoch's start (Partition)"
    EXPANSION_WITHOUT_HIGH_WATERMARK = "a follower may join the ISR below the high watermark (Partition)"
    RESPONSE_HW_AFTER_FETCH = "a fetch response carries the high watermark that the fetch advanced (ReplicaManager)"
    EPOCH_CACHE_NOT_TRUNCATED = "truncation keeps the epoch entries of the removed records (Log)"
    STALE_FETCHES_COUNTED = "a fetch of an older leader epoch is not refused (ReplicaManager)"
    HW_NOT_RECOMPUTED_AFTER_SHRINK = "the high watermark is not recomputed after a shrink of the ISR (Partition)"
    MIN_ISR_NOT_CHECKED = "acks=all ignores min.insync.replicas (Partition)"
    FETCHER_NOT_CLEARED = "the fetcher for the former leader continues (FetcherManager)"
    CHECKPOINT_AHEAD = "the log end offset is checkpointed in place of the high watermark (Broker)"
    LEADER_TRUNCATES_ON_ELECTION = "an elected leader truncates to its high watermark (Partition)"
    REMOTE_OFFSETS_NOT_RESET = "a new leader keeps the follower offsets of its earlier leadership (Partition)"
    PARKED_FETCH_UPDATES = "a parked fetch that completes counts the records that it sends as fetched (ReplicaManager)"
    DUPLICATE_APPENDED = "the retried batch of an idempotent producer is appended twice (ProducerStateManager)"
    DUPLICATE_WINDOW_OF_ONE = "only a producer's last batch is recognised when it is retried (ProducerStateManager)"
    OUT_OF_ORDER_ACCEPTED = "a batch is appended whatever its sequence number (ProducerStateManager)"
    SNAPSHOT_NOT_TRUNCATED = "truncation keeps a snapshot of producers from beyond the log's end (Log)"
    EPOCH_NOT_RENUMBERED = "a producer that raises its epoch keeps the old sequence numbers (Producer)"
    FOLLOWER_SHOWS_LOG_END = "a follower shows consumers its whole log (ConsumerRequests)"
    LAG_BY_HIGH_WATERMARK = "the lag of a read_committed consumer counts up to the high watermark (Consumer)"
    POSITION_NOT_VALIDATED = "a consumer keeps its position at a new leader without asking it (Consumer)"
    ISR_WRITE_UNCONDITIONAL = "the controller accepts an ISR from a leader of an older epoch (Controller)"
    STALE_METADATA_APPLIED = "a LeaderAndIsr of an older leader epoch is applied (ReplicaManager)"
    STALE_EPOCH_ANSWER_APPLIED = "an OffsetsForLeaderEpoch answer of an older epoch is applied (FetcherThread)"
    OPEN_TRANSACTION_READ = "the last stable offset ignores open transactions (Log)"
    ZOMBIE_NOT_FENCED = "a batch of an older producer epoch is not refused (ProducerStateManager)"
    ABORT_NOT_INDEXED = "an aborted transaction is missing in the transaction index (ProducerStateManager)"
    PRODUCERS_NOT_REPLICATED = "a follower does not learn the state of producers from the records (Log)"
    ISR_KEEPS_DEAD_FOLLOWER = "a follower that lags is never removed from the ISR (Partition)"
    ISR_NOT_MAXIMAL = "the high watermark ignores a follower that is about to join the ISR (Partition)"
    STALE_ALTER_ISR_ANSWER_APPLIED = "an answer about the ISR is applied after its change was dropped (Partition)"
    SECOND_ALTER_ISR_SENT = "a change of the ISR is proposed while an earlier request is unanswered (AlterIsrManager)"
    DIVERGING_FETCH_COUNTS = "a fetch from a log that diverges counts as progress (ReplicaManager)"
    DIVERGENCE_NOT_SEEN = "a fetch response never says that the logs diverge (ReplicaManager)"
    FENCED_BROKER_ELIGIBLE = "the controller lets fenced brokers join the ISR (QuorumController)"
    BROKER_EPOCH_NOT_COMPARED = "the controller does not compare broker epochs, KIP-903 (QuorumController)"
    PARTITION_EPOCH_NOT_COMPARED = "the controller accepts an ISR for an older partition epoch (QuorumController)"
    INELIGIBLE_CHANGE_KEPT = "a change of the ISR stays pending although a member is not eligible (Partition)"
    HIGH_WATERMARK_GATE_MISSING = "the high watermark advances while the ISR is too small, KAFKA-15583 (Partition)"
    UNCLEAN_BROKER_KEEPS_ELIGIBILITY = "a broker that did not shut down in order stays in the ELR (PartitionChange)"
    LAST_KNOWN_LEADER_TOO_EARLY = "the last known leader is elected while others are eligible (PartitionChange)"
    REMOVAL_KEEPS_LEADER_EPOCH = "the removal of a replica starts no leader epoch (PartitionChange)"
    OLD_RECORD_APPLIED = "a record older than an answer to AlterPartition is applied (KraftPartition)"
    MIN_ISR_OF_ALL_BROKERS = "a leader takes min.insync.replicas of more replicas than it has (KraftPartition)"
    NEW_MINIMUM_KEEPS_ELR = "a change of min.insync.replicas leaves the ELR as it is (ReplicationControl)"
    NEW_MINIMUM_NOT_READ = "a broker keeps the min.insync.replicas that it started with (KraftReplicaManager)"
    REASSIGNMENT_COMPLETES_EARLY = "a reassignment waits for no replica to be in sync (Reassignment)"
    CANCEL_KEEPS_ISR = "a cancelled reassignment leaves the replicas that it added in the ISR (ReplicationControl)"
    STRANGER_ELECTED = "a request that adds a replica also elects it from the ELR (ReplicationControl)"
    REMOVED_REPLICA_KEEPS_LOG = "a replica that is removed keeps its log (KraftPartition)"
    STRANGER_COUNTED = "a leader counts fetches of a broker that is no replica as far as it knows (KraftPartition)"
    TRUNCATES_TO_ANSWERED_OFFSET = "a follower truncates without looking up the epoch in its own log (FetcherThread)"


class TransactionBug(Enum):
    """A seeded bug of transactions; its value describes the mistake and its location."""

    COPY_APPENDED = "a record that comes again is appended again (TransactionLeader)"
    OLD_COORDINATOR_NOT_FENCED = "a marker of an older coordinator epoch is appended (ProducerStateManager)"
    GUARD_SURVIVES_MARKER = "an answer about a transaction counts after its marker (ProducerStateManager)"
    RECORD_NOT_VERIFIED = "a transaction's first record is appended without asking the coordinator (TransactionLeader)"
    ONGOING_OF_ANY_EPOCH = "a record joins an open transaction of another epoch, KAFKA-18575 (ProducerStateManager)"
    MARKER_KEEPS_NO_STATE = "a marker does not keep the producer's state alive, KAFKA-9144 (ProducerStateManager)"
    RETRIED_MARKER_REFUSED = "a marker that was already appended is refused, KAFKA-19999 (ProducerStateManager)"
    PENDING_TAKEN_FOR_DURABLE = "a transition takes effect before it is replicated (TransactionStateManager)"
    MARKERS_NOT_RESUMED = "a new coordinator does not send the markers of Prepare* again (TransactionCoordinator)"
    COORDINATOR_EPOCH_KEPT = "a new coordinator has the epoch of the old one (TransactionCoordinator)"
    FENCE_WITHOUT_NEW_EPOCH = "the transaction of a fenced producer is aborted with its own epoch (TransactionMetadata)"
    EPOCH_NOT_RAISED_AT_END = "a transaction ends with the epoch that it began with (TransactionMetadata)"
    COMPLETE_AFTER_FIRST_MARKER = "one written marker completes the transaction (TransactionMarkerChannelManager)"
    REFUSED_MARKER_COUNTS = "a marker that a partition refuses counts as written (TransactionMarkerChannelManager)"
    MARKER_LOST_WITH_ANSWER = "a marker is not sent again if its answer is lost (TransactionMarkerChannelManager)"


class CoordinatorBug(Enum):
    """A seeded bug of the group coordinator; its value describes the mistake and its location."""

    WRITTEN_TAKEN_FOR_COMMITTED = "a write is answered when its record is written (CoordinatorContext)"
    ANSWERED_ONE_RECORD_EARLY = "a write is answered one record below the offset that it awaits (CoordinatorContext)"
    BEYOND_WRITTEN_ACCEPTED = "a high watermark above what was written completes writes (CoordinatorContext)"
    FAILED_FLUSH_KEEPS_STATE = "the state keeps the records of a batch that was refused (CoordinatorContext)"
    OUT_OF_SYNC_NOT_NOTICED = "the offset of an append is not compared with the expected one (CoordinatorContext)"
    UNLOADING_FORGETS_WRITES = "writes that wait when a coordinator is unloaded get no answer (CoordinatorContext)"
    LOADED_TO_HIGH_WATERMARK = "a coordinator loads its log up to the high watermark only (CoordinatorContext)"
    LOADED_WITHOUT_LISTENER = "a coordinator that was loaded does not hear the high watermark (CoordinatorContext)"
    FOLLOWER_NOT_UNLOADED = "a coordinator is not unloaded when its broker follows (CoordinatorRuntime)"
    EPOCH_KEPT_BY_ACTIVE = "an active coordinator keeps its epoch when its broker leads again (CoordinatorRuntime)"


AnyBug = Bug | TransactionBug | CoordinatorBug
