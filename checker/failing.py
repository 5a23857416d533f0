"""In which states, or on which steps, does a property fail? All of them, not only the first.

In:  a kernel, the store of a search, a property.
Out: the numbers of the states in which it is broken, and of those in which the failure is permitted; or the steps from
     a state that break it.

The kernel counts failures in a range of states. A range in which it counts none is done with; another one is halved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from checker.kernel import Kernel
from checker.store import Batch
from models import run
from models.language.model import Instance, Property


class Failing:
    """Asks about one property, in the states of one store (checker/store.py)."""

    def __init__(self, instance: Instance, kernel: Kernel, store: Any, prop: Property) -> None:
        count = len(instance.model.properties)
        self.instance = instance
        self.kernel = kernel
        self.store = store
        self.prop = prop
        self.at = 6 * instance.model.properties.index(prop)
        self.active: NDArray[np.int8] = np.zeros(count + 1, np.int8)
        self.active[self.at // 6] = 1
        self.results: NDArray[np.int64] = np.zeros(6 * count + 3, np.int64)
        self.fired: NDArray[np.int64] = np.zeros(len(instance.model.slots), np.int64)
        self.buffer = kernel.layout.buffer(instance)
        self.after = kernel.layout.buffer(instance)
        self.batch = Batch.of(2 * instance.first_steps[-1] + 1, kernel.layout.words)

    def states(self, first: int, last: int) -> tuple[list[int], list[int]]:
        """Of the states first..last-1: those in which it is broken, and those in which that is permitted."""
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
                waiting += [(middle, high), (low, middle)]  # the lower half is taken up first
        return found

    def steps(self, state: int) -> tuple[list[int], list[int]]:
        """Of the steps from a state: those that break it, and those of which that is permitted."""
        found: tuple[list[int], list[int]] = ([], [])
        self.results[:] = 0
        arrays = (self.buffer, self.after, self.batch.states, self.batch.parents, self.batch.steps)
        results = (self.fired, self.active, self.results)
        count = self.kernel.expand(
            *(self.store.states.ctypes.data, state, state + 1),
            *(array.ctypes.data for array in arrays),
            len(self.batch.parents),
            *(array.ctypes.data for array in results),
        )
        if not (self.results[self.at] or self.results[self.at + 3]):
            return found  # the kernel counts only, and names the first
        before = tuple(self.kernel.layout.unpack([int(word) for word in self.store.state(state)]))
        for number in map(int, self.batch.steps[:count]):
            step = self.instance.step(number)
            after = run.take(self.instance, before, step)
            assert after is not None, "the kernel took this step"
            if not run.holds_step(self.instance, self.prop, before, step, after):
                found[run.is_permitted(self.instance, self.prop, after)].append(number)
        return found

    def _count(self, first: int, last: int) -> tuple[int, int]:
        self.results[:] = 0
        arrays = (self.buffer, self.active, self.results)
        end = self.kernel.check(self.store.states.ctypes.data, first, last, *(array.ctypes.data for array in arrays))
        assert end == last, "these states were looked at before"
        return int(self.results[self.at]), int(self.results[self.at + 3])
