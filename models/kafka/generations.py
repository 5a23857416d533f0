"""Kafka's replication of one partition, in several generations.

A generation is data: the modules that hold its actions, and the values of its switches and bounds. docs/kafka_model.md
explains each switch. `2.0` is 2.0.0; `2.1` is 2.1.1, in which followers drop answers of another epoch (KAFKA-7786).
"""

from isrcheck.models.kafka import lemmas, promises
from isrcheck.models.kafka.actions import (
    alter_partition,
    bounces,
    clients,
    faults,
    follower,
    kraft,
    leader,
    reconciliation,
    zookeeper,
)
from isrcheck.models.kafka.state import fields
from isrcheck.models.kafka.state.values import (
    BrokerStateCheck,
    Controller,
    EpochBelowFirstEntry,
    EpochCacheAssign,
    FollowerSkip,
    IsrChannel,
    PositionCheck,
    ShrinkRule,
    Truncation,
    UnknownProducer,
)
from isrcheck.models.language.model import assemble

PARTITION = [clients, leader]
CONDITIONAL_WRITE = [*PARTITION, reconciliation, follower, zookeeper, bounces, faults]
"""The actions up to 2.4, where the leader itself writes the ISR to ZooKeeper."""

ALTER_ISR = [*PARTITION, follower, zookeeper, faults, alter_partition]
"""The actions of 2.8 with ZooKeeper, where the leader asks the controller to change the ISR, and followers truncate on
fetch."""

KRAFT = [*PARTITION, follower, faults, alter_partition, kraft]
"""The actions since 3.3, where brokers are fenced, read a log of metadata records, and restart differently from
`faults`."""

GENERATION_0_11 = {
    "TRUNC": Truncation.KIP101,
    "UNKNOWN_PID_POLICY": UnknownProducer.ZERO_OR_OUT_OF_ORDER,
    "remembered_batches": 1,
}
GENERATION_2_1 = {
    "TRUNC": Truncation.KIP320,
    "EPOCH_AT_BECOME_LEADER": True,
    "EPOCH_CACHE_ASSIGN": EpochCacheAssign.REPLACE_CONFLICTING,
    "EPOCH_BELOW_FIRST_ENTRY": EpochBelowFirstEntry.FIRST_START_OFFSET,
    "EXPAND_EPOCH_START": True,
    "FOLLOWER_SKIP": FollowerSkip.SAME_LEADER_AND_EPOCH,
    "OUT_OF_RANGE_HALTS": False,
    "SHRINK_RULE": ShrinkRule.EXEMPT_AT_LOG_END,
}
GENERATION_2_4 = GENERATION_2_1 | {
    "HW_CLAMPED_AT_TRUNCATION": True,
    "STALE_METADATA_IGNORED": True,
    "POSITION_CHECK": PositionCheck.END_OFFSET,
    "LATEST_OFFSET_AWAITS_EPOCH_START": True,
}
GENERATION_2_8 = GENERATION_2_4 | {
    "TRUNC": Truncation.ON_FETCH,
    "ISR_CHANNEL": IsrChannel.ALTER_PARTITION,
    "EPOCH_ENTRY_AT_END_DROPPED": True,
    "HW_FROM_DIVERGING_RESP": True,
    "UNKNOWN_PID_POLICY": UnknownProducer.ANY_SEQUENCE,
    "CLIENT_BUMPS_EPOCH": True,
    "PRODUCER_STATE_KEPT": True,
    "records": 1,
    "log_size": 1,
    "bounces": 0,
    "partition_changes": 3,
}
GENERATION_3_3 = GENERATION_2_8 | {
    "CONTROLLER": Controller.KRAFT,
    "BROKER_STATE_CHECK": BrokerStateCheck.FENCED,
    "EPOCH_BUMP_ON_SHRINK": True,
    "EQUAL_PARTITION_EPOCH_REPLACES": True,
    "LATE_FETCH_COUNTS": True,
    "RESTART_BEFORE_FENCING": True,
    "REASSIGNED_WITHOUT_THE_OTHERS": True,
    "elections": 1,
}
GENERATION_3_5 = GENERATION_3_3 | {
    "BROKER_STATE_CHECK": BrokerStateCheck.BROKER_EPOCH,
    "HW_FROM_DIVERGING_RESP": False,
    "READ_REPLICA_IN_ISR": True,
}
GENERATION_3_7 = GENERATION_3_5 | {"HW_MINISR_GATE": True, "EPOCH_BUMP_ON_SHRINK": False, "LATE_FETCH_COUNTS": False}
GENERATION_4_0 = GENERATION_3_7 | {
    "RESPONSE_EPOCH_MATCHED": True,
    "RESTART_BEFORE_FENCING": False,
    "REASSIGNED_WITHOUT_THE_OTHERS": False,
    "ASSIGNED_DIRECTORY_ERASES_ELR": True,
    "LAST_KNOWN_LEADER_IS_ACTIVE": False,
}
GENERATION_4_1 = GENERATION_4_0 | {"ELR": True, "LAST_KNOWN_LEADER_IS_ACTIVE": True}
GENERATION_4_3 = GENERATION_4_1 | {"ASSIGNED_DIRECTORY_ERASES_ELR": False, "REASSIGNED_ONCE_ADDED": True}

STAND_INS = {
    "0.9": "0.10 stands for it",
    **dict.fromkeys(("1.0", "1.1"), "0.11 stands for it"),
    **dict.fromkeys(("2.2", "2.3"), "2.1 stands for it"),
    **dict.fromkeys(("2.5", "2.6"), "2.4 stands for it"),
    "2.7": "2.8 stands for it (before inter.broker.protocol.version 2.7: 2.4)",
    **dict.fromkeys(("3.0", "3.1", "3.2", "3.4"), "2.8 stands for it with ZooKeeper, 3.3 with KRaft"),
    "3.6": "2.8 stands for it with ZooKeeper, 3.5 with KRaft",
    **dict.fromkeys(("3.8", "3.9"), "2.8 stands for it with ZooKeeper, 3.7 with KRaft"),
    "4.2": "4.1 stands for it",
    **dict.fromkeys(("4.4", "4.5"), "4.3 stands for it"),
}
"""For each release without a generation of its own, the generation that stands for it. `check --config` knows patch
releases as well."""

GENERATIONS = {
    "0.8": (CONDITIONAL_WRITE, {"TRUNC": Truncation.HW, "SHRINK_RULE": ShrinkRule.LAG_MESSAGES}),
    "0.10": (CONDITIONAL_WRITE, {"TRUNC": Truncation.HW}),
    "0.11": (CONDITIONAL_WRITE, GENERATION_0_11),
    "2.0": (CONDITIONAL_WRITE, {"TRUNC": Truncation.KIP279}),
    "2.1": (CONDITIONAL_WRITE, GENERATION_2_1),
    "2.4": (CONDITIONAL_WRITE, GENERATION_2_4),
    "2.8": (ALTER_ISR, GENERATION_2_8),
    "3.3": (KRAFT, GENERATION_3_3),
    "3.5": (KRAFT, GENERATION_3_5),
    "3.7": (KRAFT, GENERATION_3_7),
    "4.0": (KRAFT, GENERATION_4_0),
    "4.1": (KRAFT, GENERATION_4_1),
    "4.3": (KRAFT, GENERATION_4_3),
}
"""Each generation: the modules with its actions, and the values of its switches and bounds."""

MODEL = assemble("kafka", [fields, promises, lemmas], GENERATIONS, STAND_INS)
