"""Finds all states, or all steps, that violate a property, not only the first one.

In:  a kernel, the visited set of a search, a property.
Out: the numbers of the states, or of the steps from a state, that violate the property; and of those whose failure is
     permitted.

The kernel counts failures in a range of states. A range with failures is halved until the states are found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.kernel_runner import KernelRunner
from isrcheck.checker.explicit.visited_set import Batch
from isrcheck.checker.outcome.kernel_results import EntryKind, KernelResults
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Property, Step
from isrcheck.models.messages import ModelError
from isrcheck.models.run import Cells


class ViolatingStates:
    """Judges one property in the states of one visited set (checker/explicit/visited_set.py)."""

    def __init__(self, instance: Instance, kernel: Kernel, visited: Any, prop: Property) -> None:
        count = len(instance.model.properties)
        self.instance = instance
        self.kernel = kernel
        self.runner = KernelRunner(kernel)
        self.visited = visited
        self.prop = prop
        self.number = instance.model.properties.index(prop)
        self.active: NDArray[np.int8] = np.zeros(count + 1, np.int8)
        self.active[self.number] = 1
        self.results = KernelResults(count)
        self.fired: NDArray[np.int64] = np.zeros(len(instance.model.actions), np.int64)
        self.buffer = kernel.layout.buffer(instance)
        self.after = kernel.layout.buffer(instance)
        self.batch = Batch.of(2 * instance.first_steps[-1] + 1, kernel.layout.words)

    def states(self, first: int, last: int) -> tuple[list[int], list[int]]:
        """The states among first..last-1 that violate the property, and those whose failure is permitted."""
        found: tuple[list[int], list[int]] = ([], [])
        waiting = [(first, last)]
        while waiting:
            low, high = waiting.pop()
            if low >= high:
                continue
            broken, permitted = self._count(low, high)
            if broken == high - low or permitted == high - low:
                found[permitted > 0].extend(range(low, high))
            elif broken or permitted:
                middle = (low + high) // 2
                waiting += [(middle, high), (low, middle)]  # the lower half is processed first
        return found

    def steps(self, state: int) -> tuple[list[int], list[int]]:
        """The steps from a state that violate the property, and those whose failure is permitted."""
        found: tuple[list[int], list[int]] = ([], [])
        self.results.clear()
        _, count = self.runner.expand(
            self.visited.states.ctypes.data,
            state,
            state + 1,
            self.buffer,
            self.after,
            self.batch,
            len(self.batch.parents),
            self.fired,
            self.active,
            self.results,
        )
        if not any(self._counts()):
            return found  # the kernel only counts, and names the first one
        before = tuple(self.kernel.layout.unpack([int(word) for word in self.visited.state(state)]))
        numbers: Iterable[int] = map(int, self.batch.steps[:count])
        if self.instance.model.constraints:  # the kernel has also judged steps whose successor it does not keep
            numbers = range(self.instance.first_steps[-1])
        for number in numbers:
            step = self.instance.step(number)
            after = _successor(self.instance, before, step)
            if after is None:
                continue
            said = _fails(self.instance, self.prop, before, step, after)
            if said is not None:
                found[said].append(number)
        return found

    def _count(self, first: int, last: int) -> tuple[int, int]:
        self.results.clear()
        self.runner.check(self.visited.states.ctypes.data, first, last, self.buffer, self.active, self.results)
        return self._counts()

    def _counts(self) -> tuple[int, int]:
        return self.results.count(self.number), self.results.count(self.number, EntryKind.PERMITTED)


def _successor(instance: Instance, before: Cells, step: Step) -> Cells | None:
    try:
        return run.take(instance, before, step)
    except ModelError:
        return None


def _fails(instance: Instance, prop: Property, before: Cells, step: Step, after: Cells) -> bool | None:
    """Whether the failure on this step is permitted; None if the property holds, or cannot be evaluated."""
    try:
        if run.holds_step(instance, prop, before, step, after):
            return None
        return run.is_permitted(instance, prop, after)
    except ModelError:
        return None
