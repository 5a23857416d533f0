"""A history of a finding, taken again in plain Python: how the failure comes about, and what it needs.

In:  a `History`, from a search or from the atlas.
Out: a certified `Trace`; `Told`: a sentence, and the faults, elections and late messages of the history.

To load a model takes a second. So what was told of a history is kept in the cache, under a digest of the history and of
all that it was told with: the models, and the words for their traces.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING

from isrcheck.checker.failures.searched import events
from isrcheck.checker.questions.finding import History
from isrcheck.checker.resources.cache import cache_folder, can_keep, hashed_modules, keep, kept

if TYPE_CHECKING:
    from isrcheck.traces.format.trace import Trace

KIND = "histories"
"""The folder in the cache."""

TOLD_WITH = {"isrcheck.models": True, "isrcheck.traces": True}
"""The packages on which the words about a history depend (True: with subpackages)."""


@dataclass(frozen=True)
class Told:
    """What is said of a history: how the failure comes about, without a full stop, and the counted events."""

    how: str
    counts: Mapping[str, int]

    @property
    def needs(self) -> str:
        """What the history needs, in words: "1 crash, 1 election"."""
        return events(self.counts)


@cache
def told(history: History) -> Told:
    """Return what is said of a history, from the cache if it was told before. Raises UsageError as `trace_of`."""
    text = json.dumps(asdict(history), sort_keys=True)
    path = cache_folder() / KIND / hashlib.sha256(f"{_digest()}\0{text}".encode()).hexdigest()
    content = kept(path)
    if content is not None:
        return Told(**json.loads(content))
    from isrcheck.traces.explaining.cause import rarity
    from isrcheck.traces.explaining.presentation import headline

    trace = trace_of(history)
    found = Told(headline(trace), dict(rarity(trace)))
    if can_keep(path):
        keep(path, json.dumps(asdict(found)).encode())
    return found


@cache
def _digest() -> str:
    return hashed_modules(TOLD_WITH)


@cache
def trace_of(history: History) -> Trace:
    """Return the certified trace of a history. Raises UsageError if the model does not confirm it."""
    from isrcheck.checker.questions.history import trace_of as replayed

    return replayed(history)
