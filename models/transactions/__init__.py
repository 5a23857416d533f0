"""Kafka's transactions: a coordinator, a producer's instances, and the partitions that they write to.

A generation is data: values of switches. docs/transactions.md explains each switch, and why these generations.
"""

from isrcheck.models.language.model import assemble
from isrcheck.models.transactions import (
    coordinator,
    fields,
    goals,
    markers,
    partition,
    producer,
    promises,
    start,
)
from isrcheck.models.transactions.values import Verification

ACTIONS = [producer, coordinator, markers, partition]

GENERATION_2_5 = {
    "UNKNOWN_PID_ACCEPTED": True,
    "EPOCH_BUMP_BY_PRODUCER": True,
    "PRODUCER_STATE_EXPIRES_EARLY": False,
}
GENERATION_3_6 = GENERATION_2_5 | {"TXN_VERIFY": Verification.PART_1}
GENERATION_4_0 = GENERATION_3_6 | {"TXN_VERIFY": Verification.TV2, "ONGOING_PER_EPOCH": True}
GENERATION_4_2 = GENERATION_4_0 | {"MARKER_EPOCH_STRICT": True}

MODEL = assemble(
    "transactions",
    [fields, start, promises, goals],
    {
        "0.11": (ACTIONS, {}),
        "2.5": (ACTIONS, GENERATION_2_5),
        "3.6": (ACTIONS, GENERATION_3_6),
        "4.0": (ACTIONS, GENERATION_4_0),
        "4.2": (ACTIONS, GENERATION_4_2),
    },
)
