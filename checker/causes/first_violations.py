"""The carrier that finds all first violations of one property: the search does not go beyond a violation.

In:  a `SearchContext`, a property, and which of its failures are wanted: violations, or permitted failures.
Out: the ends of the paths on which the property fails for the first time, in the order of discovery.

Beyond a violation, the search would mostly find the same violation again, with irrelevant steps added. As in every
breadth-first search, each state has one path: of its shortest paths, the first by initial state and steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.explicit.carrier import Carrier, SearchContext
from isrcheck.checker.explicit.single_thread import SingleThread
from isrcheck.checker.explicit.violating_states import ViolatingStates
from isrcheck.checker.results.kernel_results import EntryKind
from isrcheck.models.language.model import Property


@dataclass(frozen=True)
class End:
    """The end of a path: a state, the violating step from there (-1: none), and the packed words of the last state."""

    state: int
    step: int
    words: NDArray[np.uint64]


class FirstViolations(Carrier):
    """Works on one thread, and expands no state in which the property fails. `ends` are the ends of the paths found."""

    def __init__(self, context: SearchContext, prop: Property, *, permitted: bool) -> None:
        super().__init__(context)
        self.inner = SingleThread(context, keep=self._without_ends)
        self.visited = self.inner.visited
        self.prop = prop
        self.permitted = permitted
        self.number = context.instance.model.properties.index(prop)
        self.kind = EntryKind.PERMITTED if permitted else EntryKind.FOUND
        self.ends: list[End] = []
        self.failing = ViolatingStates(context.instance, context.kernel, self.visited, prop)
        self.known = 0

    def start(self) -> int:
        """Insert the states that the search starts from."""
        return self.inner.start()

    def check(self, first: int, last: int) -> None:
        """Judge the properties in states first..last-1, and note the states in which the wanted property fails."""
        self.inner.check(first, last)
        if not self.prop.of_steps and self.context.result.stopped is None:
            found = self.failing.states(first, last)[self.permitted]
            self.ends += [End(state, -1, self.visited.state(state)) for state in found]

    def expand(self, first: int, last: int) -> None:
        """Expand those of states first..last-1 in which the wanted property does not fail."""
        ended = [end.state for end in self.ends if end.state >= first] if not self.prop.of_steps else []
        for before, after in pairwise([first - 1, *ended, last]):
            if before + 1 < after:
                self.inner.expand(before + 1, after)
            if self.context.result.stopped:
                return
        self.context.expanded = last  # the states in which a path ends have no successors in this search

    def _without_ends(self, generated: int) -> int:
        """Remove the transitions that violate the property from the batch; return how many transitions are left."""
        count = self.context.results.count(self.number, self.kind)
        if not self.prop.of_steps or count == self.known:
            return generated
        self.known = count
        batch = self.inner.batch
        parents, steps = batch.parents[:generated], batch.steps[:generated]
        states = batch.states.reshape(-1, self.context.kernel.layout.words)
        staying = np.ones(generated, bool)
        for state in np.unique(parents):
            failing = self.failing.steps(int(state))[self.permitted]
            for place in np.flatnonzero((parents == state) & np.isin(steps, failing)):
                staying[place] = False
                self.ends.append(End(int(state), int(steps[place]), states[place].copy()))
        left = int(staying.sum())
        states[:left] = states[:generated][staying]
        parents[:left], steps[:left] = parents[staying], steps[staying]
        return left
