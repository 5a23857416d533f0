"""Kafka's coordinator runtime: state in memory, records in an internal topic, and acknowledgements.

A generation is data: values of switches. docs/coordinator.md explains each switch, and why these generations.
"""

from isrcheck.models.coordinator import events, promises, state
from isrcheck.models.language.model import assemble

GENERATION_4_0 = {"LISTENS_AS_FOLLOWER": True}
GENERATION_4_2 = GENERATION_4_0 | {"FLUSHES_EMPTY_BATCH": True}
GENERATION_4_4 = GENERATION_4_2 | {"LISTENS_AS_FOLLOWER": False, "FLUSHES_EMPTY_BATCH": False}

STAND_INS = {"4.1": "4.0 stands for it", "4.3": "4.2 stands for it", "4.5": "4.4 stands for it"}
"""Which generation stands for a release that has none of its own. Patches change these rules: docs/coordinator.md."""

MODEL = assemble(
    "coordinator",
    [state, events, promises],
    {"4.0": (None, GENERATION_4_0), "4.2": (None, GENERATION_4_2), "4.4": (None, GENERATION_4_4)},
    STAND_INS,
)
