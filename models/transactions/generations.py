"""Kafka's transactions: a coordinator, a producer's instances, and the partitions that they write to.

A generation of Kafka versions is data: values of switches. docs/transactions.md explains each switch and generation.
"""

from isrcheck.models.language.model import assemble
from isrcheck.models.transactions import coordinator, partition, producer, promises, state
from isrcheck.models.transactions.values import Verification

ACTIONS = [producer, coordinator, partition]

GENERATION_2_5 = {
    "UNKNOWN_PID_ACCEPTED": True,
    "EPOCH_BUMP_BY_PRODUCER": True,
    "PRODUCER_STATE_EXPIRES_EARLY": False,
}
GENERATION_3_6 = GENERATION_2_5 | {"TXN_VERIFY": Verification.PART_1}
GENERATION_3_7 = GENERATION_3_6 | {"OFFSET_COMMITS_VERIFIED": True}
GENERATION_3_8 = GENERATION_3_7 | {"MARKER_ANSWERS_CHECK_EPOCH": True}
GENERATION_4_1 = GENERATION_3_8 | {"TXN_VERIFY": Verification.TV2, "ONGOING_PER_EPOCH": True}
GENERATION_4_0 = GENERATION_4_1 | {"FENCE_RAISES_EPOCH_TWICE": True}
GENERATION_4_2 = GENERATION_4_1 | {"MARKER_EPOCH_STRICT": True, "EQUAL_MARKER_EPOCH_IS_RETRY": True}
GENERATION_4_3 = GENERATION_4_2 | {"FENCE_TAKES_NEXT_ID": True}
GENERATION_4_4 = GENERATION_4_3 | {"NEXT_ID_IS_LOGGED": True}

STAND_INS = {
    **dict.fromkeys(("1.0", "1.1", "2.0", "2.1", "2.2", "2.3", "2.4"), "0.11 stands for it"),
    **dict.fromkeys(("2.6", "2.7", "2.8", "3.0", "3.1", "3.2", "3.3", "3.4", "3.5"), "2.5 stands for it"),
    "3.9": "3.8 stands for it",
    "4.0.0": "4.0 stands for it",
    "4.0.1": "4.1 stands for it",
    "4.5": "4.4 stands for it",
}
"""For each release without a generation of its own, the generation that stands for it."""

MODEL = assemble(
    "transactions",
    [state, promises],
    {
        "0.11": (ACTIONS, {}),
        "2.5": (ACTIONS, GENERATION_2_5),
        "3.6": (ACTIONS, GENERATION_3_6),
        "3.7": (ACTIONS, GENERATION_3_7),
        "3.8": (ACTIONS, GENERATION_3_8),
        "4.0": (ACTIONS, GENERATION_4_0),
        "4.1": (ACTIONS, GENERATION_4_1),
        "4.2": (ACTIONS, GENERATION_4_2),
        "4.3": (ACTIONS, GENERATION_4_3),
        "4.4": (ACTIONS, GENERATION_4_4),
    },
    STAND_INS,
)
