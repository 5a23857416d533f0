"""What a history needs, in words.

In:  the number of each kind of event (traces/explaining/rarity.py).
Out: a short text.
"""

from __future__ import annotations

from collections.abc import Mapping

EVENTS = {
    "bounces": ("restart", "restarts"),
    "crashes": ("crash", "crashes"),
    "delete_records": ("DeleteRecords", "DeleteRecords"),
    "disk_losses": ("disk loss", "disk losses"),
    "fencings": ("expired session", "expired sessions"),
    "late_fetches": ("late fetch", "late fetches"),
    "power_losses": ("power loss", "power losses"),
    "retries": ("retry", "retries"),
}
"""One event, and several, where the name of the budget does not say it."""


def events(happens: Mapping[str, int]) -> str:
    """Return what a history needs, in words."""
    return (
        ", ".join(f"{count} {_event(name, count)}" for name, count in happens.items())
        or "no fault, and nothing late or lost"
    )


def _event(name: str, count: int) -> str:
    several = name.replace("_", " ")
    return EVENTS.get(name, (several.removesuffix("s"), several))[count != 1]
