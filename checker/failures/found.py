"""What the search of a known failure found, and whether it is as the library says.

In:  nothing.
Out: `Searched`, which text.py and pages.py show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isrcheck.checker.outcome.verdict import Verdict, Word
from isrcheck.checker.session.text import Run
from isrcheck.models.kafka.failures.catalogue import Change, Failure
from isrcheck.traces.format.trace import Trace


@dataclass(frozen=True)
class Ended:
    """A search with a change that ends the failure."""

    change: Change
    run: Run
    verdict: Verdict
    is_permitted: bool

    @property
    def fails(self) -> bool:
        """Whether the property still fails in the same way."""
        return self.verdict.word is Word.VIOLATED or (self.is_permitted and self.verdict.word is Word.PERMITTED)

    @property
    def is_complete(self) -> bool:
        """Whether the search went as far as the library says."""
        explored = self.run.explored
        return explored.exhausted if self.change.explored is None else explored.is_complete


@dataclass(frozen=True)
class Searched:
    """A failure that was searched; `trace` is its shortest history, and `happens` counts what the history needs.

    The members are empty if no model expresses the failure, or if a limit ended its search.
    """

    failure: Failure
    run: Run | None = None
    verdict: Verdict | None = None
    trace: Trace | None = None
    happens: Mapping[str, int] | None = None
    ended: Sequence[Ended] = ()

    @property
    def runs(self) -> list[Run]:
        """All searches that were made."""
        return [*(() if self.run is None else (self.run,)), *(one.run for one in self.ended)]

    @property
    def differs(self) -> list[str]:
        """What is not as the library says, in words; empty if everything is, or if nothing was searched."""
        history = self.failure.history
        if history is None or self.verdict is None or self.run is None:
            return []
        found, recorded = [], f"{history.verdict} at step {history.depth}"
        if self.trace is None and self.run.explored.is_complete:
            found.append(f"{history.property_name} does not fail; the library says {recorded}")
        elif self.trace is not None and (self.trace.verdict, self.trace.length) != (history.verdict, history.depth):
            here = f"{self.trace.verdict} at step {self.trace.length}"
            found.append(f"{history.property_name} is {here}; the library says {recorded}")
        found += [f"{history.property_name} still fails with {one.change.change}" for one in self.ended if one.fails]
        return found

    @property
    def is_undecided(self) -> bool:
        """Whether a limit or the user ended a search."""
        if self.failure.history is None:
            return False
        if self.run is None or (self.trace is None and not self.run.explored.is_complete):
            return True
        missing = len(self.failure.changes) - len(self.ended)
        return bool(missing) or any(not one.is_complete and not one.fails for one in self.ended)
