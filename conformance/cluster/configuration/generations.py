"""The implemented releases by name, each with the values of its switches.

In:  nothing.
Out: `GENERATIONS`, `generation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from isrcheck.conformance.cluster.configuration.switches import (
    BrokerStateCheck,
    ControllerKind,
    EpochBelowFirstEntry,
    EpochCacheAssign,
    FollowerSkip,
    IsrChannel,
    PositionCheck,
    ShrinkRule,
    SwitchError,
    Switches,
    Truncation,
    UnknownProducer,
)

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
"""The release that is taken if none is given: the newest of which every command knows all."""


def generation(name: str) -> Switches:
    """The switches of a named generation.

    Errors: `SwitchError` for an unknown name; the message lists the known ones.
    """
    if name not in GENERATIONS:
        raise SwitchError(f"there is no generation {name}; the generations are: {', '.join(GENERATIONS)}")
    return GENERATIONS[name]
