"""The set of states that a model can be in, given what was seen of a run so far.

In:  an instance of a model; events, one after the other (reading.py).
Out: whether there is a state left; or that there are too many, or too little time, to go on.

A state is kept if the steps that were named lead to it and nothing that was seen contradicts it. What follows from an
empty set is certain only because nothing is ever left out of it: where a limit is reached, an exception ends it.
Every step is taken by models/run.py, which is the meaning of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from isrcheck.conformance.follow.format.variables import Seen, agrees
from isrcheck.conformance.follow.runs.watch import Watch
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.run import Cells


class TooManyError(Exception):
    """More states are possible than may be carried along."""


class StateSet:
    """The states that are possible after each event. `largest` is how many there ever were at one time.

    Everything here raises TooManyError, and TimeOverError when the watch says so; then the states are as they were.
    """

    def __init__(self, instance: Instance, seen: Seen, most: int, watch: Watch) -> None:
        """Every start that agrees with what was seen of it."""
        self._instance = instance
        self._most = most
        self._watch = watch
        self.largest = 0
        self.states = self._collect(cells for cells in instance.initial_states if agrees(cells, seen))

    def skip(self, events: int) -> None:
        """Events are missing: as many steps, whichever."""
        states = self.states
        for _ in range(events):
            if not states:
                break
            states = self._collect(self._successors(states))
        self.states = states

    def take(self, steps: Sequence[Step], seen: Seen) -> bool:
        """One of these steps was taken, and this was seen afterwards; whether that is possible.

        The states stay as they are where it is not possible, for whoever asks why.
        """
        states = self._collect(self._after(steps, seen))
        if states:
            self.states = states
        return bool(states)

    def _successors(self, states: Sequence[Cells]) -> Iterator[Cells]:
        for state in states:
            self._watch.look()
            for _, cells in run.successors(self._instance, state):
                yield cells

    def _after(self, steps: Sequence[Step], seen: Seen) -> Iterator[Cells]:
        for state in self.states:
            self._watch.look()
            for step in steps:
                cells = run.take(self._instance, state, step)
                if cells is not None and agrees(cells, seen):
                    yield cells

    def _collect(self, found: Iterable[Cells]) -> tuple[Cells, ...]:
        """Each state once, in the order in which they were found."""
        states: dict[Cells, None] = {}
        for cells in found:
            states[cells] = None
            if len(states) > self._most:
                raise TooManyError
        self.largest = max(self.largest, len(states))
        return tuple(states)
