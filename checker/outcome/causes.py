"""Several counterexamples of one property that differ in cause, as plain values.

In:  nothing; the search for causes fills them.
Out: `Different`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.verdict import WHY_STOPPED, Word
from isrcheck.models.language.model import Property
from isrcheck.traces.explaining.cause import Cause
from isrcheck.traces.format.trace import Trace


@dataclass(frozen=True)
class Counterexample:
    """A history, its cause, and the file that it was written to, once it is."""

    trace: Trace
    cause: Cause
    path: Path | None = None


@dataclass(frozen=True)
class Different:
    """What was found about the failures of one property: those that break a promise, or those that are permitted.

    `candidates` histories were there to be looked at, and `looked_at` were. `stopped` says what ended it early.
    """

    prop: Property
    word: Word
    asked: int
    exploration: Exploration
    candidates: int = 0
    looked_at: int = 0
    stopped: str | None = None
    found: tuple[Counterexample, ...] = ()

    @property
    def reach(self) -> str:
        """What is known of further causes."""
        if self.stopped is not None:
            return f"UNDECIDED whether there are more: {WHY_STOPPED[self.stopped]}"
        if len(self.found) == self.asked:
            if self.exploration.stopped is not None:
                why = WHY_STOPPED[self.exploration.stopped]
                return f"as many as were asked for; there may be more, and some with fewer faults: {why}"
            return "as many as were asked for; there may be more"
        exploration = self.exploration
        far = "in the whole state space" if exploration.exhausted else f"to depth {exploration.judged}"
        states = f"a shortest history to each of {self.candidates:,} first failures"
        alike = self.candidates - self.looked_at
        if alike:
            states += f", of which {alike:,} are the same actions in the same order as {MOST_ALIKE} that were looked at"
        return f"no other was found {far}: {states}"


MOST_ALIKE = 4
"""Of candidates that take the same actions in the same order, with the same faults, so many are looked at."""
