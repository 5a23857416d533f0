"""Tiered storage (KIP-405): what followers build from the remote store, and what leaders delete from it.

docs/tiered_storage.md explains the model. A generation is data: what retention counts.
"""

from isrcheck.models.language.model import assemble
from isrcheck.models.tier import actions, promises, state
from isrcheck.models.tier.state import Seeding

GENERATION_3_9 = {"SEEDING": Seeding.NEVER, "LAST_UPLOAD_COUNTS_AS_LOCAL": True}
GENERATION_4_4 = GENERATION_3_9 | {"SEEDING": Seeding.IF_UNKNOWN}
GENERATION_4_5 = GENERATION_4_4 | {"LAST_UPLOAD_COUNTS_AS_LOCAL": False}

STAND_INS = {
    **dict.fromkeys(("3.7", "3.8", "4.0", "4.1", "4.2"), "3.9 stands for it"),
    "4.3": "3.9 stands for 4.3.0 and 4.3.1, and 4.4 for 4.3.2",
}
"""Which generation stands for a release that has none of its own."""

MODEL = assemble(
    "tier",
    [state, actions, promises],
    {"3.9": (None, GENERATION_3_9), "4.4": (None, GENERATION_4_4), "4.5": (None, GENERATION_4_5)},
    STAND_INS,
)
