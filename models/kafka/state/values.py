"""The named values of entries and fields: client settings, protocol switches, and stages of messages."""

from enum import IntEnum

from isrcheck.models.client_settings import Spelled


class Start(IntEnum):
    """The initial clusters of the model: `--start`."""

    ELECTED = 0
    ANY = 1


class IsolationLevel(Spelled):
    """Which records a consumer receives: `isolation.level`."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class AutoOffsetReset(IntEnum):
    """Where a consumer continues if its position does not exist (`auto.offset.reset`); with `none`, it stops."""

    LATEST = 0
    EARLIEST = 1
    NOTHING = 2

    @property
    def spelling(self):
        return "none" if self is AutoOffsetReset.NOTHING else self.name.lower()


class PositionCheck(IntEnum):
    """POSITION_CHECK: how a consumer detects, at a new leader, that records which it has read are lost (KIP-320).

    Kafka compares the consumer's position with the end of the epoch of its last record. This misses the loss if the new
    log is as long, with records of an earlier epoch; END_OFFSET_AND_EPOCH detects it by the epoch in the answer.
    """

    NONE = 0
    END_OFFSET = 1
    END_OFFSET_AND_EPOCH = 2


class Truncation(IntEnum):
    """TRUNC: how a follower finds the common prefix of its log and its leader's (ReplicaFetcherThread)."""

    HW = 0
    KIP101 = 1
    KIP279 = 2
    KIP320 = 3
    ON_FETCH = 4


class Controller(IntEnum):
    """CONTROLLER: who decides on leaders, and how brokers learn of it (LeaderAndIsr, or a log of metadata records)."""

    ZOOKEEPER = 0
    KRAFT = 1


class IsrChannel(IntEnum):
    """ISR_CHANNEL: how a leader changes the controller's ISR: by a conditional write, or by a request to the controller
    (KIP-497).
    """

    ZK = 0
    ALTER_PARTITION = 1


class MaximalIsr(IntEnum):
    """MAXIMAL_ISR: which replicas count while a change of the ISR is pending (Partition.PartitionState.maximalIsr).

    Kafka counts every member of the committed or the proposed ISR; the other values are mistakes that KIP-497 avoids.
    """

    COMMITTED_AND_PROPOSED = 0
    COMMITTED = 1
    PROPOSED = 2


class BrokerStateCheck(IntEnum):
    """BROKER_STATE_CHECK: which brokers the controller keeps out of the ISR (KIP-841, KIP-903)."""

    NONE = 0
    FENCED = 1
    BROKER_EPOCH = 2


class HighWatermarkWait(IntEnum):
    """HW_WAIT: whether the high watermark waits for replicas that are caught up, but outside the ISR.

    With OFF it never waits for them, because the model has no time: any of these replicas may be slow at any time.
    """

    OFF = 0
    CAUGHT_UP = 1


class Failure(IntEnum):
    """What counts as a failure that KIP-966 promises to tolerate: only a loss of data, or any unclean shutdown."""

    LOSS = 0
    UNCLEAN_SHUTDOWN = 1


class ErasedByMinIsr(IntEnum):
    """CHANGED_MIN_ISR_ERASES: what the controller forgets when min.insync.replicas changes (ClearElrRecord).

    Kafka forgets the ELR and the last known leader (ReplicationControlManager.replay). The other values are repairs: to
    forget nothing while the partition has no leader (unsafe if the minimum is lowered), or to forget only the ELR.
    """

    ELR_AND_LAST_KNOWN_LEADER = 0
    NOTHING_WHILE_LEADERLESS = 1
    ELR = 2


class LeaderChoice(IntEnum):
    """LEADER_CHOICE: which of the valid brokers is elected; Kafka takes the first one in assignment order."""

    ANY = 0
    ASSIGNMENT_ORDER = 1


class FollowerSkip(IntEnum):
    """FOLLOWER_SKIP: when a broker takes no action on becoming a follower (Partition.makeFollower)."""

    SAME_LEADER = 0
    SAME_LEADER_NEXT_EPOCH = 1
    SAME_LEADER_AND_EPOCH = 2


class EpochCacheAssign(IntEnum):
    """EPOCH_CACHE_ASSIGN: what is dropped if a new cache entry contradicts older ones (LeaderEpochFileCache.assign)."""

    APPEND_ONLY = 0
    REPLACE_CONFLICTING = 1


class EpochBelowFirstEntry(IntEnum):
    """EPOCH_BELOW_FIRST_ENTRY: the leader's answer for an epoch older than all epochs in its cache."""

    UNDEFINED = 0
    FIRST_START_OFFSET = 1


class ShrinkRule(IntEnum):
    """SHRINK_RULE: which followers a leader may consider out of sync (Partition.getOutOfSyncReplicas)."""

    LAST_CAUGHT_UP = 0
    EXEMPT_AT_LOG_END = 1
    LAG_MESSAGES = 2


class UnknownProducer(IntEnum):
    """UNKNOWN_PID_POLICY: the sequence number with which a producer may begin at a leader that does not know it.

    SEQUENCE_ZERO: only 0; other numbers get UNKNOWN_PRODUCER_ID (1.0 to 2.4, KAFKA-5793). ZERO_OR_OUT_OF_ORDER: only 0;
    other numbers get OUT_OF_ORDER_SEQUENCE_NUMBER, like any gap (0.11). ANY_SEQUENCE: any number (since 2.5, KIP-360).
    ANY_UNLESS_EMPTY: any number, but only 0 while the log has never held a record (KAFKA-15591).
    """

    SEQUENCE_ZERO = 0
    ANY_SEQUENCE = 1
    ANY_UNLESS_EMPTY = 2
    ZERO_OR_OUT_OF_ORDER = 3


class Fetch(IntEnum):
    """The stage of a follower's fetch: none in flight, parked at the leader, or answered with the response in
    flight.
    """

    NONE = 0
    PARKED = 1
    ANSWERED = 2
    DIVERGING = 3


class AlterPartition(IntEnum):
    """The stage of a leader's request to change the ISR: none, on its way, or answered with the answer on its way."""

    NONE = 0
    REQUESTED = 1
    ACCEPTED = 2
    INELIGIBLE = 3


class BrokerEpoch(IntEnum):
    """Which process of a broker sent a fetch: unknown, the process that is now registered, or an earlier process."""

    UNKNOWN = 0
    REGISTERED = 1
    EARLIER = 2


class Stop(IntEnum):
    """How a broker that is down has stopped: it crashed, it was shut down, or it lost a part of its log."""

    CRASH = 0
    SHUTDOWN = 1
    LOSS = 2


class TransactionState(IntEnum):
    """The decision of the transaction coordinator; the marker in the log follows it."""

    OPEN = 0
    COMMITTED = 1
    ABORTED = 2
