"""The set of states that the model can be in, given the observations of a run so far.

In:  an instance of a model; events in order (reading.py).
Out: whether a state remains; or an exception, if there are too many states or the time is over.

A state is kept if the recorded steps lead to it and no observation contradicts it. An empty set proves that the run is
no behaviour, because no possible state is ever dropped: an exception is raised if a limit is reached. Every step is
taken by models/run.py, the reference semantics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from isrcheck.conformance.follow.format.variables import Seen, agrees
from isrcheck.conformance.follow.runs.watch import Watch
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.run import Cells


class TooManyError(Exception):
    """More states are possible than the limit allows."""


class StateSet:
    """The possible states after each event. `largest` is the largest number of states so far.

    All methods raise TooManyError, and TimeOverError when the watch does; the states are then unchanged.
    """

    def __init__(self, instance: Instance, seen: Seen, most: int, watch: Watch) -> None:
        """The initial states that agree with the observation."""
        self._instance = instance
        self._most = most
        self._watch = watch
        self.largest = 0
        starts = instance.enumerated(lambda count, size: watch.look())
        self.states = self._collect(cells for cells in starts if agrees(cells, seen))

    def skip(self, events: int) -> None:
        """Take this number of arbitrary steps, in place of missing events."""
        states = self.states
        for _ in range(events):
            if not states:
                break
            states = self._collect(self._successors(states))
        self.states = states

    def take(self, steps: Sequence[Step], seen: Seen) -> bool:
        """Take one of these steps, followed by this observation; return whether that is possible.

        If it is not possible, the states stay unchanged, so that the reason can be found.
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
        """These states in the order of discovery, each only once."""
        states: dict[Cells, None] = {}
        for cells in found:
            states[cells] = None
            if len(states) > self._most:
                raise TooManyError
        self.largest = max(self.largest, len(states))
        return tuple(states)
