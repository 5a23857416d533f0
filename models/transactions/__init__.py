"""Kafka's transactions: a coordinator, a producer's instances, and the partitions that they write to: `MODEL`.

generations.py builds the model, when it is first named: whoever needs only the values of its switches does without it.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # typing takes a while to import
if TYPE_CHECKING:
    from typing import Any

BUILT = ("MODEL", "STAND_INS")


def __getattr__(name: str) -> Any:
    if name not in BUILT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.generations"), name)
