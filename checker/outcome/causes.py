"""Several counterexamples of one property with distinct causes, as plain values.

In:  nothing; the search for causes fills the fields.
Out: `DistinctCauses`.
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
    """A counterexample, its cause, and the file to which it was written (None: not written)."""

    trace: Trace
    cause: Cause
    path: Path | None = None


@dataclass(frozen=True)
class DistinctCauses:
    """The distinct causes of the violations of one property, or of its permitted failures.

    Of `candidates` paths, `looked_at` were examined to find `asked` causes; `stopped` says why the examination ended
    early.
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
        """What is known about further causes, as a line of a report."""
        if self.stopped is not None:
            return f"UNDECIDED whether there are more: {WHY_STOPPED[self.stopped]}"
        if len(self.found) == self.asked:
            if self.exploration.stopped is not None:
                why = WHY_STOPPED[self.exploration.stopped]
                return f"as many as requested; there may be more, some with fewer faults: {why}"
            return "as many as requested; there may be more"
        exploration = self.exploration
        far = "in the whole state space" if exploration.exhausted else f"to depth {exploration.judged}"
        states = f"a shortest path to each of {self.candidates:,} first failures"
        alike = self.candidates - self.looked_at
        if alike:
            states += f", of which {alike:,} take the same actions in the same order as {MOST_ALIKE} that were examined"
        return f"no other cause was found {far} in {states}"


MOST_ALIKE = 4
"""At most this many candidates with the same actions in the same order and the same faults are examined."""
