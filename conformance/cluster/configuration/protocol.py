"""The protocol of the brokers: one switch per change of Kafka's replication, and the implemented releases by name.

Section 0.2 of the fact sheet explains the switches and their values; its HW_WAIT is not implemented. The formal models
describe the switches under the same names; they do not have FAIL_OVER_GIVES_FENCED_SESSIONS (up to 4.0). This list adds
sources, and the first release in which a switch is on ("up to": the last such release):

- LATEST_OFFSET_AWAITS_EPOCH_START (KAFKA-2334, 2.2) concerns only what clients receive.
- Fact sheet 4.3 (MAXIMAL_ISR), 5.3, 7 and 8.22 describe the effect of CONTROLLER, LATE_FETCH_COUNTS (KAFKA-15221),
  RESTART_BEFORE_FENCING (KAFKA-18106), CLIENT_BUMPS_EPOCH, PRODUCER_STATE_KEPT (KAFKA-7190), STALE_METADATA_IGNORED
  (KAFKA-7738) and READ_REPLICA_IN_ISR (KAFKA-14372, 3.4).
- Switches of KRaft: REASSIGNED_WITHOUT_THE_OTHERS (up to 3.7, KAFKA-15665); since 4.0, ASSIGNED_DIRECTORY_ERASES_ELR
  (up to 4.2), LAST_KNOWN_LEADER_IS_ACTIVE (KAFKA-19522, 4.1), REASSIGNED_ONCE_ADDED (KAFKA-19975, 4.3); repairs that no
  release has: CONFIGURATION_BEFORE_TOPICS, DELETED_FOLDER_IS_UNCLEAN, ELR_WITHIN_REPLICAS,
  EQUAL_PARTITION_EPOCH_ASSIGNS (fact sheet 8.25), MIN_ISR_OF_OWN_REPLICAS, UNREGISTERED_LEAVES_ELR.
- Switches of transactions (fact sheet 6.1, 6.2, 6.5, 8.23), read by transactions/ and the state of producers:
  EPOCH_BUMP_BY_PRODUCER (KIP-360), EQUAL_MARKER_EPOCH_IS_RETRY (KAFKA-19999), FENCE_RAISES_EPOCH_TWICE (KAFKA-19367),
  MARKER_EPOCH_STRICT (KIP-1228), OFFSET_COMMITS_VERIFIED (KAFKA-15449), ONGOING_PER_EPOCH (KAFKA-18575),
  PRODUCER_STATE_EXPIRES_EARLY (KAFKA-9144), TXN_VERIFY (KIP-890).
- Switches of the group coordinator, read by coordinator/: LISTENS_AS_FOLLOWER (KAFKA-20634), FLUSHES_EMPTY_BATCH
  (KAFKA-20845) and APPENDS_IN_ITS_EPOCH, a repair that no release has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any

MOST_BATCHES = 5
"""The batches of a producer that a leader remembers since 1.0."""


class Truncation(IntEnum):
    """How a follower reconciles its log with its leader's; each value includes all earlier ones. Fact sheet 3.3 to 3.5.

    ON_FETCH: the follower does not ask where its epochs end; the response to its fetch says where the logs diverge.
    """

    HW = 0
    KIP101 = 1
    KIP279 = 2
    KIP320 = 3
    ON_FETCH = 4


class IsrChannel(Enum):
    """How a leader changes the ISR: a write in ZooKeeper, or a request to the controller. Sheet 4.3, 4.4; KIP-497."""

    ZK = "ZK"
    ALTER_PARTITION = "ALTER_PARTITION"


class ControllerKind(Enum):
    """The controller, and how it announces leaders: by LeaderAndIsr, or a log of metadata records. Fact sheet 4.8."""

    ZOOKEEPER = "ZOOKEEPER"
    KRAFT = "KRAFT"


class BrokerStateCheck(IntEnum):
    """Which brokers the controller keeps out of the ISR. Fact sheet 4.5, KIP-841 and KIP-903."""

    NONE = 0
    FENCED = 1
    BROKER_EPOCH = 2


class MaximalIsr(Enum):
    """Which ISR the high watermark waits for during a pending ISR change: in Kafka, old and new ISR. Fact sheet 4.3."""

    COMMITTED_AND_PROPOSED = "COMMITTED_AND_PROPOSED"
    COMMITTED = "COMMITTED"
    PROPOSED = "PROPOSED"


class EpochCacheAssign(Enum):
    """How the leader-epoch cache adds an entry that conflicts with the last entries. Fact sheet 1.4, KAFKA-7415."""

    APPEND_ONLY = "APPEND_ONLY"
    REPLACE_CONFLICTING = "REPLACE_CONFLICTING"


class EpochBelowFirstEntry(Enum):
    """The answer to a request for the end of an epoch that is older than every cached epoch. Fact sheet 1.4."""

    UNDEFINED = "UNDEFINED"
    FIRST_START_OFFSET = "FIRST_START_OFFSET"


class FollowerSkip(Enum):
    """Which announcements of a leader leave a follower's fetcher unchanged. Fact sheet 0.2, KAFKA-7164."""

    SAME_LEADER = "SAME_LEADER"
    SAME_LEADER_NEXT_EPOCH = "SAME_LEADER_NEXT_EPOCH"
    SAME_LEADER_AND_EPOCH = "SAME_LEADER_AND_EPOCH"


class ShrinkRule(Enum):
    """The rule by which a leader regards a follower as out of sync. Fact sheet 4.1, KAFKA-1546 and KAFKA-7152."""

    LAG_MESSAGES = "LAG_MESSAGES"
    LAST_CAUGHT_UP = "LAST_CAUGHT_UP"
    EXEMPT_AT_LOG_END = "EXEMPT_AT_LOG_END"


class PositionCheck(Enum):
    """The fields of an OffsetsForLeaderEpoch response by which a consumer checks its position. Fact sheet 7, KIP-320.

    Kafka checks the end offset only; no release has END_OFFSET_AND_EPOCH.
    """

    NONE = "NONE"
    END_OFFSET = "END_OFFSET"
    END_OFFSET_AND_EPOCH = "END_OFFSET_AND_EPOCH"


class UnknownProducer(Enum):
    """Which sequence numbers a leader accepts from an unknown producer. Fact sheet 0.2, UNKNOWN_PID_POLICY; KIP-360.

    ZERO_OR_OUT_OF_ORDER (0.11, without UNKNOWN_PRODUCER_ID, KAFKA-5793) refuses with OUT_OF_ORDER_SEQUENCE_NUMBER.
    """

    SEQUENCE_ZERO = "SEQUENCE_ZERO"
    ZERO_OR_OUT_OF_ORDER = "ZERO_OR_OUT_OF_ORDER"
    ANY_SEQUENCE = "ANY_SEQUENCE"


class Verification(IntEnum):
    """What a leader asks the transaction coordinator before the first append of a transaction. Fact sheet 6.5, KIP-890.

    PART_1: the leader asks whether the transaction contains the partition. TV2: the leader asks the coordinator to add
    the partition; and every transaction ends with a new epoch of the producer.
    """

    OFF = 0
    PART_1 = 1
    TV2 = 2


class SwitchError(ValueError):
    """An unknown switch or generation, or a value that the switch does not have."""


@dataclass(frozen=True)
class Switches:
    """The rules of one Kafka release, one field per switch. The defaults are those of 0.10. Fact sheet 0.2."""

    TRUNC: Truncation = Truncation.HW
    APPENDS_IN_ITS_EPOCH: bool = False
    ASSIGNED_DIRECTORY_ERASES_ELR: bool = False
    BROKER_STATE_CHECK: BrokerStateCheck = BrokerStateCheck.NONE
    CONFIGURATION_BEFORE_TOPICS: bool = False
    CONTROLLER: ControllerKind = ControllerKind.ZOOKEEPER
    DELETED_FOLDER_IS_UNCLEAN: bool = False
    ELR: bool = False
    ELR_WITHIN_REPLICAS: bool = False
    EPOCH_AT_BECOME_LEADER: bool = False
    EPOCH_CACHE_ASSIGN: EpochCacheAssign = EpochCacheAssign.APPEND_ONLY
    EPOCH_BELOW_FIRST_ENTRY: EpochBelowFirstEntry = EpochBelowFirstEntry.UNDEFINED
    EPOCH_ENTRY_AT_END_DROPPED: bool = False
    CLIENT_BUMPS_EPOCH: bool = False
    DIVERGING_RESP_UPDATES_STATE: bool = False
    EPOCH_BUMP_BY_PRODUCER: bool = False
    EPOCH_BUMP_ON_SHRINK: bool = False
    EQUAL_PARTITION_EPOCH_ASSIGNS: bool = False
    EQUAL_PARTITION_EPOCH_REPLACES: bool = False
    EQUAL_MARKER_EPOCH_IS_RETRY: bool = False
    EXPAND_EPOCH_START: bool = False
    FAIL_OVER_GIVES_FENCED_SESSIONS: bool = True
    FENCE_RAISES_EPOCH_TWICE: bool = False
    FENCE_TAKES_NEXT_ID: bool = False
    FLUSHES_EMPTY_BATCH: bool = False
    FOLLOWER_SKIP: FollowerSkip = FollowerSkip.SAME_LEADER
    HW_CLAMPED_AT_TRUNCATION: bool = False
    HW_FROM_DIVERGING_RESP: bool = False
    HW_MINISR_GATE: bool = False
    IDEMPOTENT_CACHE: int = 5
    ISR_CHANNEL: IsrChannel = IsrChannel.ZK
    LAST_KNOWN_LEADER_IS_ACTIVE: bool = True
    LATEST_OFFSET_AWAITS_EPOCH_START: bool = False
    LATE_FETCH_COUNTS: bool = False
    LISTENS_AS_FOLLOWER: bool = False
    MARKER_ANSWERS_CHECK_EPOCH: bool = False
    MARKER_EPOCH_STRICT: bool = False
    MAXIMAL_ISR: MaximalIsr = MaximalIsr.COMMITTED_AND_PROPOSED
    MIN_ISR_OF_OWN_REPLICAS: bool = False
    NEXT_ID_IS_LOGGED: bool = False
    OFFSET_COMMITS_VERIFIED: bool = False
    ONGOING_PER_EPOCH: bool = False
    OUT_OF_RANGE_HALTS: bool = True
    POSITION_CHECK: PositionCheck = PositionCheck.NONE
    PRODUCER_STATE_EXPIRES_EARLY: bool = True
    PRODUCER_STATE_KEPT: bool = False
    READ_REPLICA_IN_ISR: bool = False
    REASSIGNED_ONCE_ADDED: bool = False
    REASSIGNED_WITHOUT_THE_OTHERS: bool = False
    REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER: bool = True
    RESPONSE_EPOCH_MATCHED: bool = False
    RESTART_BEFORE_FENCING: bool = False
    SHRINK_RULE: ShrinkRule = ShrinkRule.LAST_CAUGHT_UP
    STALE_METADATA_IGNORED: bool = False
    TXN_VERIFY: Verification = Verification.OFF
    UNKNOWN_PID_POLICY: UnknownProducer = UnknownProducer.SEQUENCE_ZERO
    UNREGISTERED_LEAVES_ELR: bool = False

    def with_switch(self, name: str, value: str) -> Switches:
        """A copy of the rules with one switch changed to `on`, `off`, or the name of a value. Errors: `SwitchError` for
        an unknown name or value; the message lists the known names or values."""
        names = {each.name for each in fields(self)}
        if name not in names:
            raise SwitchError(f"there is no switch {name}; the switches are: {', '.join(sorted(names))}")
        now: bool | int | Enum = getattr(self, name)
        values = _values_of(now)
        if value not in values:
            raise SwitchError(f"{name} cannot be {value}; its values are: {', '.join(values)}")
        new: dict[str, Any] = {name: values[value]}  # the value has the switch's type
        return replace(self, **new)

    @property
    def fences_epochs(self) -> bool:
        """Whether requests carry the sender's leader epoch, and leaders of other epochs refuse them. KIP-320."""
        return self.TRUNC >= Truncation.KIP320

    @property
    def asks_controller(self) -> bool:
        """Whether a leader asks the controller to change the ISR (AlterIsr). KIP-497."""
        return self.ISR_CHANNEL is IsrChannel.ALTER_PARTITION

    @property
    def has_kraft(self) -> bool:
        """Whether brokers are registered by a KRaft controller, and read its metadata log."""
        return self.CONTROLLER is ControllerKind.KRAFT


def _values_of(value: bool | int | Enum) -> Mapping[str, bool | int | Enum]:
    if isinstance(value, Enum):
        return {each.name: each for each in type(value)}
    if isinstance(value, bool):
        return {"on": True, "off": False}
    return {str(number): number for number in range(1, MOST_BATCHES + 1)}


_GENERATION_2_1 = Switches(
    TRUNC=Truncation.KIP320,
    EPOCH_AT_BECOME_LEADER=True,
    EPOCH_CACHE_ASSIGN=EpochCacheAssign.REPLACE_CONFLICTING,
    EPOCH_BELOW_FIRST_ENTRY=EpochBelowFirstEntry.FIRST_START_OFFSET,
    EXPAND_EPOCH_START=True,
    FOLLOWER_SKIP=FollowerSkip.SAME_LEADER_AND_EPOCH,
    OUT_OF_RANGE_HALTS=False,
    SHRINK_RULE=ShrinkRule.EXEMPT_AT_LOG_END,
)

_GENERATION_2_4 = replace(
    _GENERATION_2_1,
    HW_CLAMPED_AT_TRUNCATION=True,
    LATEST_OFFSET_AWAITS_EPOCH_START=True,
    POSITION_CHECK=PositionCheck.END_OFFSET,
    STALE_METADATA_IGNORED=True,
)

_GENERATION_2_8 = replace(
    _GENERATION_2_4,
    TRUNC=Truncation.ON_FETCH,
    ISR_CHANNEL=IsrChannel.ALTER_PARTITION,
    CLIENT_BUMPS_EPOCH=True,
    EPOCH_ENTRY_AT_END_DROPPED=True,
    HW_FROM_DIVERGING_RESP=True,
    PRODUCER_STATE_KEPT=True,
    UNKNOWN_PID_POLICY=UnknownProducer.ANY_SEQUENCE,
)

_GENERATION_3_3 = replace(
    _GENERATION_2_8,
    BROKER_STATE_CHECK=BrokerStateCheck.FENCED,
    CONTROLLER=ControllerKind.KRAFT,
    EPOCH_BUMP_ON_SHRINK=True,
    EQUAL_PARTITION_EPOCH_REPLACES=True,
    LATE_FETCH_COUNTS=True,
    REASSIGNED_WITHOUT_THE_OTHERS=True,
    RESTART_BEFORE_FENCING=True,
)

_GENERATION_3_5 = replace(
    _GENERATION_3_3,
    BROKER_STATE_CHECK=BrokerStateCheck.BROKER_EPOCH,
    HW_FROM_DIVERGING_RESP=False,
    READ_REPLICA_IN_ISR=True,
)

_GENERATION_3_7 = replace(_GENERATION_3_5, EPOCH_BUMP_ON_SHRINK=False, HW_MINISR_GATE=True, LATE_FETCH_COUNTS=False)

_GENERATION_4_0 = replace(
    _GENERATION_3_7,
    ASSIGNED_DIRECTORY_ERASES_ELR=True,
    LAST_KNOWN_LEADER_IS_ACTIVE=False,
    REASSIGNED_WITHOUT_THE_OTHERS=False,
    RESPONSE_EPOCH_MATCHED=True,
    RESTART_BEFORE_FENCING=False,
)

_GENERATION_4_1 = replace(
    _GENERATION_4_0, ELR=True, FAIL_OVER_GIVES_FENCED_SESSIONS=False, LAST_KNOWN_LEADER_IS_ACTIVE=True
)

_GENERATION_4_3 = replace(
    _GENERATION_4_1,
    ASSIGNED_DIRECTORY_ERASES_ELR=False,
    REASSIGNED_ONCE_ADDED=True,
)

GENERATIONS: Mapping[str, Switches] = MappingProxyType(
    {
        "0.8": Switches(SHRINK_RULE=ShrinkRule.LAG_MESSAGES),
        "0.10": Switches(),
        "0.11": Switches(
            TRUNC=Truncation.KIP101, IDEMPOTENT_CACHE=1, UNKNOWN_PID_POLICY=UnknownProducer.ZERO_OR_OUT_OF_ORDER
        ),
        "2.0": Switches(TRUNC=Truncation.KIP279),
        "2.1": _GENERATION_2_1,
        "2.4": _GENERATION_2_4,
        "2.8": _GENERATION_2_8,
        "3.3": _GENERATION_3_3,
        "3.5": _GENERATION_3_5,
        "3.7": _GENERATION_3_7,
        "4.0": _GENERATION_4_0,
        "4.1": _GENERATION_4_1,
        "4.3": _GENERATION_4_3,
    }
)
"""The implemented releases by name, oldest first; "2.1" is 2.1.1, which has KAFKA-7786, and "2.8" is
2.8.1, which has the repair of KAFKA-13141. "4.0" is 4.0.1, which has KAFKA-18991, with the feature level that a new
cluster has: without eligible leader replicas, which ELR=on adds. "4.1" stands for 4.2 as well, and "4.3" for 4.4 and
4.5.
"""

USUAL = "2.4"
"""The default release: the newest that every command knows completely."""


def generation(name: str) -> Switches:
    """The switches of a generation (the rules of a Kafka release), such as 2.4. Errors: `SwitchError` for an unknown
    name; the message lists the known names."""
    if name not in GENERATIONS:
        raise SwitchError(f"there is no generation {name}; the generations are: {', '.join(GENERATIONS)}")
    return GENERATIONS[name]
