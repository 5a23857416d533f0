"""Kafka's coordinator runtime, of the group coordinator and the share coordinator since 4.0: `MODEL`.

generations.py builds the model, when it is first named.
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
