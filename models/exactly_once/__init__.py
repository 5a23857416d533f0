"""Delivery semantics: at most once, at least once, exactly once. docs/exactly_once.md explains the model.

A generation of Kafka versions is data: the client's defaults, and what brokers and clients do about sequence numbers.
"""

from isrcheck.models.client_settings import Acks, Truth
from isrcheck.models.exactly_once import actions, promises, state
from isrcheck.models.exactly_once.state import Retries, UnknownProducer
from isrcheck.models.language.model import assemble

GENERATION_0_11 = {
    "acks": Acks.ONE,
    "retries": Retries.NONE,
    "enable_idempotence": Truth.FALSE,
    "UNKNOWN_PID_POLICY": UnknownProducer.OUT_OF_ORDER,
    "OVERDUE_ERROR_RENUMBERS": False,
    "EPOCH_BUMP": False,
    "idempotent_cache": 1,
}
GENERATION_1_0 = GENERATION_0_11 | {"UNKNOWN_PID_POLICY": UnknownProducer.REJECT, "idempotent_cache": 2}
GENERATION_2_1 = GENERATION_1_0 | {"retries": Retries.MOST, "OVERDUE_ERROR_RENUMBERS": True}
GENERATION_2_5 = GENERATION_2_1 | {"UNKNOWN_PID_POLICY": UnknownProducer.ACCEPT, "EPOCH_BUMP": True}
GENERATION_3_0 = GENERATION_2_5 | {
    "acks": Acks.ALL,
    "enable_idempotence": Truth.TRUE,
    "OVERLAPPING_BLOCK_TAKEN": True,
    "BUFFER_FREED_IN_FLIGHT": True,
}
GENERATION_4_2 = GENERATION_3_0 | {"BUFFER_FREED_IN_FLIGHT": False}
GENERATION_4_3 = GENERATION_4_2 | {"OVERLAPPING_BLOCK_TAKEN": False}
GENERATION_4_5 = GENERATION_4_3 | {"UNKNOWN_PID_POLICY": UnknownProducer.ACCEPT_UNLESS_EMPTY}

STAND_INS = {
    "1.1": "1.0 stands for it",
    "2.0": "1.0 stands for it",
    **dict.fromkeys(("2.2", "2.3", "2.4"), "2.1 stands for it"),
    **dict.fromkeys(("2.6", "2.7", "2.8"), "2.5 stands for it"),
    **dict.fromkeys(("3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9"), "3.0 stands for it"),
    **dict.fromkeys(("4.0", "4.0.0", "4.0.1", "4.1"), "3.0 stands for it"),
    "4.4": "4.3 stands for it",
}
"""For each release without a generation of its own, the generation that stands for it. The defaults of `3.0` are those
of 3.0.1."""

MODEL = assemble(
    "exactly_once",
    [state, actions, promises],
    {
        "0.11": (None, GENERATION_0_11),
        "1.0": (None, GENERATION_1_0),
        "2.1": (None, GENERATION_2_1),
        "2.5": (None, GENERATION_2_5),
        "3.0": (None, GENERATION_3_0),
        "4.2": (None, GENERATION_4_2),
        "4.3": (None, GENERATION_4_3),
        "4.5": (None, GENERATION_4_5),
    },
    STAND_INS,
)
