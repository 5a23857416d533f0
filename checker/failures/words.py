"""Facts about a searched failure in words, for the terminal and for pages.

In:  a failure, and what was searched of it.
Out: short texts.
"""

from __future__ import annotations

from isrcheck.checker.failures.found import Ended, Searched
from isrcheck.checker.outcome.verdict import Word
from isrcheck.checker.session.formatting import counted


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
