"""The transitions of a finished search, also those to states outside the model's constraint.

In:  the context and the visited set of a finished search.
Out: batches of transitions. The states outside are appended to the visited set of the search, after all others.

The search drops such states. A kernel of the same model without its constraint makes them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit.carrier import CHUNK, EVERY_STATE, SearchContext, SingleThread
from isrcheck.checker.explicit.visited_set import Batch, VisitedSet
from isrcheck.models import run
from isrcheck.models.messages import ModelError

Numbers = NDArray[np.int64]


class Transitions:
    """The transitions from the expanded states of a search; `kept` is the number of states within the constraint, which
    come first in the visited set. Raises Full if the states outside do not fit in memory."""

    def __init__(self, context: SearchContext, visited: VisitedSet) -> None:
        self.instance, kernel = context.instance, context.kernel
        self.visited, self.expanded, self.kept = visited, context.expanded, visited.count
        free = self.instance
        if self.instance.model.constraints:
            free = replace(self.instance, model=replace(self.instance.model, constraints=()))
            kernel = kernel_of(free)
        request = replace(EVERY_STATE, starts=context.starts)
        self.carrier = SingleThread(SearchContext(free, context.limits, kernel, request), self.visited)
        if self.instance.model.constraints:
            self._append_outside()

    def __iter__(self) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Yield the transitions in batches (source states, steps, target states), in the order of the source states."""
        batch = self.carrier.batch
        for size, targets in self._batches():
            known = np.flatnonzero(targets >= 0)
            yield (
                batch.parents[:size][known].astype(np.int64),
                batch.steps[:size][known].astype(np.int64),
                targets[known],
            )

    def _batches(self) -> Iterator[tuple[int, Numbers]]:
        """Yield the number of successors in the batch, and the number of each (-1: the state is unknown)."""
        at = 0
        while at < self.expanded:
            at, size = self.carrier.attempt(at, min(at + CHUNK, self.expanded))
            targets = self.visited.places_of(self.carrier.batch.states[: size * self.visited.words])
            is_known = size == 0 or targets.min() >= 0
            assert is_known or self.instance.model.constraints, "every successor of an expanded state was seen"
            yield size, targets

    def _append_outside(self) -> None:
        """Append the unknown successors, except those of which a constraint cannot tell whether they are within."""
        batch, words = self.carrier.batch, self.visited.words
        for size, targets in self._batches():
            rows = batch.states[: size * words].reshape(size, words)
            chosen = [number for number in np.flatnonzero(targets < 0) if self._is_outside(rows[number])]
            if chosen:
                found = Batch.of(len(chosen), words)
                found.states[:] = rows[chosen].reshape(-1)
                found.parents[:], found.steps[:] = batch.parents[chosen], batch.steps[chosen]
                self.visited.add(found, len(chosen))

    def _is_outside(self, words: NDArray[np.uint64]) -> bool:
        try:
            within = run.is_within(
                self.instance, self.carrier.context.kernel.layout.unpack([int(one) for one in words])
            )
        except ModelError:
            return False  # the step leaves a declared range, and has no successor
        assert not within, "every successor within the constraint was seen"
        return True
