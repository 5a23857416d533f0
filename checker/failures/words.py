"""Facts about a searched failure in words, for the terminal and for pages.

In:  a failure, what was searched of it, what its history needs.
Out: short texts.
"""

from __future__ import annotations

from collections.abc import Mapping

from isrcheck.checker.failures.found import Ended, Searched
from isrcheck.checker.outcome.verdict import Word
from isrcheck.checker.session.formatting import counted

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


def history_of(one: Searched) -> str:
    """Return the verdict on the failure's property."""
    if one.failure.history is None:
        return "not expressed"
    if one.verdict is None or one.trace is None:
        return Word.UNDECIDED.value if one.is_undecided else "not found"
    return f"{one.failure.history.property_name} {one.trace.verdict} at step {one.trace.length}"


def outcome(ended: Ended) -> str:
    """Return the verdict of a search with a change, and how far it reaches."""
    states = counted(ended.run.explored.distinct, "state")
    return f"{ended.verdict.text} ({states}{'' if ended.run.explored.exhausted else ', not exhausted'})"


def events(happens: Mapping[str, int]) -> str:
    """Return what a history needs, in words."""
    return (
        ", ".join(f"{count} {_event(name, count)}" for name, count in happens.items())
        or "no fault, and nothing late or lost"
    )


def _event(name: str, count: int) -> str:
    several = name.replace("_", " ")
    return EVENTS.get(name, (several.removesuffix("s"), several))[count != 1]
