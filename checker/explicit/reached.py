"""Queries about the states that a search has visited.

In:  the kernel and the visited set of a search.
Out: samples of its states, and paths to states whose cells have given values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.starts import Start
from isrcheck.checker.results.exploration import StepPath
from isrcheck.models.run import Cells


class Reached:
    """Answers queries about the states that a search has visited."""

    def __init__(self, kernel: Kernel, visited: Any, levels: Sequence[int], starts: Sequence[Start]) -> None:
        self.kernel = kernel
        self.visited = visited
        self.levels = levels
        self.starts = starts

    def sample(self, most: int) -> list[Cells]:
        """About `most` of the states, at equal distances in the order of discovery."""
        count = self.visited.count
        return self._unpacked(range(0, count, max(1, count // most)))

    def first_of_levels(self, most: int) -> Iterator[list[Cells]]:
        """The first states of each level, at most `most` each."""
        for first, last in pairwise(accumulate(self.levels, initial=0)):
            yield self._unpacked(range(first, min(first + most, last)))

    def _unpacked(self, numbers: Iterable[int]) -> list[Cells]:
        return [self.kernel.layout.unpack([int(word) for word in one]) for one in self.visited.states_at(numbers)]

    def find(self, cells: Sequence[int | None]) -> StepPath | None:
        """The path to the first state with these values of cells (None: any value); None if there is no such state."""
        number = self.visited.first_where(lambda states: self._matching(states, cells))
        if number is None:
            return None
        position, steps = self.visited.path(number)
        return StepPath(self.starts[position].number, tuple(steps))

    def _matching(self, states: NDArray[np.uint64], cells: Sequence[int | None]) -> NDArray[np.bool_]:
        """Which of the packed states have these values of their cells (None: any value)."""
        matching = np.ones(len(states), bool)
        for position, value in enumerate(cells):
            if value is not None and matching.any():
                matching &= self.kernel.layout.column(states, position) == value
        return matching
