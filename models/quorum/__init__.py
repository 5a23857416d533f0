"""Replication by majority: Raft (`raft`) and Kafka's own dialect of it, KRaft (`kraft`): `MODEL`.

variants.py builds the model, when it is first named; liveness.py has what must happen at last, and schemes.py a smaller
model of one write that compares majorities with Kafka's ISR.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # typing takes a while to import
if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    if name != "MODEL":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.variants"), name)
