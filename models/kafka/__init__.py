"""Kafka's replication of one partition, in several generations.

A generation is data: values of switches, and the actions that it replaces. docs/kafka_model.md explains each switch.
`2.0` is 2.0.0; `2.1` is 2.1.1, in which a follower drops an answer from another epoch (KAFKA-7786).
"""

from isrcheck.models.kafka.actions import controller, faults, follower, leader, metadata, producer, transactions
from isrcheck.models.kafka.properties import lemmas, lemmas_commit, lemmas_log, lemmas_offsets, promises
from isrcheck.models.kafka.state import fields
from isrcheck.models.kafka.state.fields import (
    EpochBelowFirstEntry,
    EpochCacheAssign,
    FollowerSkip,
    ShrinkRule,
    Truncation,
)
from isrcheck.models.language.model import assemble

MODEL = assemble(
    "kafka",
    [
        *(fields, producer, transactions, leader, follower, controller, metadata, faults, promises),
        *(lemmas_offsets, lemmas, lemmas_log, lemmas_commit),
    ],
    {
        "0.10": (None, {"TRUNC": Truncation.HW}),
        "0.11": (None, {"TRUNC": Truncation.KIP101}),
        "2.0": (None, {"TRUNC": Truncation.KIP279}),
        "2.1": (
            None,
            {
                "TRUNC": Truncation.KIP320,
                "EPOCH_AT_BECOME_LEADER": True,
                "EPOCH_CACHE_ASSIGN": EpochCacheAssign.REPLACE_CONFLICTING,
                "EPOCH_BELOW_FIRST_ENTRY": EpochBelowFirstEntry.FIRST_START_OFFSET,
                "EXPAND_EPOCH_START": True,
                "FOLLOWER_SKIP": FollowerSkip.SAME_LEADER_AND_EPOCH,
                "OUT_OF_RANGE_HALTS": False,
                "SHRINK_RULE": ShrinkRule.EXEMPT_AT_LOG_END,
            },
        ),
    },
)
