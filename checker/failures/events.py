"""What a history needs, in words.

In:  the number of each kind of event (traces/explaining/cause.py).
Out: a short text.
"""

from __future__ import annotations

from collections.abc import Mapping

EVENTS = {
    "bounces": ("restart", "restarts"),
    "crashes": ("crash", "crashes"),
    "delete_records": ("DeleteRecords", "DeleteRecords"),
    "deadlines_in_flight": ("deadline in flight", "deadlines in flight"),
    "disk_losses": ("disk loss", "disk losses"),
    "fencings": ("expired session", "expired sessions"),
    "late_fetches": ("late fetch", "late fetches"),
    "power_losses": ("power loss", "power losses"),
    "retries": ("retry", "retries"),
}
"""One event, and several, where the name of the budget does not say it."""


ELECTIONS = "elections"

KINDS = {"preferred_elections": "preferred", "unclean_elections": "unclean"}
"""Budgets of elections of a kind, which are counted among all elections, too."""


def events(happens: Mapping[str, int]) -> str:
    """Return what a history needs, in words: "1 crash, 3 elections (1 preferred)"."""
    kinds = ", ".join(f"{happens[name]} {kind}" for name, kind in KINDS.items() if name in happens)
    texts = {name: f"{count} {_event(name, count)}" for name, count in happens.items()}
    if kinds and ELECTIONS in texts:
        texts = {name: text for name, text in texts.items() if name not in KINDS}
        texts[ELECTIONS] += f" ({kinds})"
    return ", ".join(texts.values()) or "no fault, and nothing late or lost"


def _event(name: str, count: int) -> str:
    several = name.replace("_", " ")
    return EVENTS.get(name, (several.removesuffix("s"), several))[count != 1]
