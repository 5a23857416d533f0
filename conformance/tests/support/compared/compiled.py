"""A compiled kernel for single states; a search passes thousands of states at once.

In:  an `Instance`.
Out: the enabled steps of a state, its successors, and the values of the properties.
"""

from __future__ import annotations

import numpy as np

from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.results.kernel_results import EntryKind, KernelResults
from isrcheck.conformance.replay.walks import Enabled
from isrcheck.models.language.model import Instance
from isrcheck.models.run import Cells

Seen = tuple[tuple[int, int, int], tuple[int, int, int]]
"""The findings on one property: (count, state, step) of failures or reached goals, and of permitted failures."""

NOTHING = (0, 0, 0)


class Compiled:
    """A kernel for single states; its results are None where the model leaves a declared range."""

    def __init__(self, instance: Instance, kernel: Kernel) -> None:
        self.instance = instance
        self.kernel = kernel
        steps, properties = instance.first_steps[-1], len(instance.model.properties)
        self.room = steps + 1
        self.words = np.zeros(self.room * kernel.layout.words, np.uint64)
        self.parents = np.zeros(self.room, np.uint32)
        self.steps = np.zeros(self.room, np.uint32)
        self.fired = np.zeros(len(instance.model.actions), np.int64)
        self.active = np.zeros(properties + 1, np.int8)
        for number, prop in enumerate(instance.model.properties):
            self.active[number] = prop in instance.properties
        self.results = KernelResults(properties)
        self.plain = kernel.layout.buffer(instance)
        self.before, self.after = self.plain.copy(), self.plain.copy()

    def _start_anew(self) -> None:
        self.before[:] = self.after[:] = self.plain
        self.results.clear()
        self.fired[:] = 0

    def _seen(self, of_steps: bool) -> dict[str, Seen]:
        return {
            prop.name: (self._entry(number, EntryKind.FOUND), self._entry(number, EntryKind.PERMITTED))
            for number, prop in enumerate(self.instance.model.properties)
            if prop in self.instance.properties and prop.of_steps == of_steps
        }

    def _entry(self, number: int, kind: EntryKind) -> tuple[int, int, int]:
        entry = self.results.entry(number, kind)
        return entry.count, entry.state, entry.step

    def enabled(self, cells: Cells) -> set[int]:
        """The numbers of the enabled steps. Raises AssertionError if the model leaves a declared range."""
        count = self._expand(cells)
        assert count is not None, f"the model leaves a declared range after {cells}"
        return {int(number) for number in self.steps[:count]}

    def successors(self, cells: Cells) -> tuple[list[tuple[int, Cells]], dict[str, Seen], list[int]] | None:
        """The enabled steps with their successors; the values of step properties; and how often each action fired."""
        count = self._expand(cells)
        if count is None:
            return None
        size = self.kernel.layout.words
        found = [
            (
                int(self.steps[i]),
                self.kernel.layout.unpack([int(word) for word in self.words[i * size : (i + 1) * size]]),
            )
            for i in range(count)
        ]
        return found, self._seen(of_steps=True), [int(fired) for fired in self.fired]

    def _expand(self, cells: Cells) -> int | None:
        """Expand a state into `words` and `steps`; return the number of successors."""
        self._start_anew()
        store = self.kernel.layout.pack(cells)
        count: int = self.kernel.expand(
            store.ctypes.data,
            0,
            1,
            self.before.ctypes.data,
            self.after.ctypes.data,
            self.words.ctypes.data,
            self.parents.ctypes.data,
            self.steps.ctypes.data,
            self.room,
            self.fired.ctypes.data,
            self.active.ctypes.data,
            self.results.address,
        )
        if self.results.has_failed:
            return None
        assert self.results.words[-3:-1] == (1, count)  # the next state, and the successors
        assert not self.parents[:count].any()
        return count

    def properties(self, cells: Cells) -> dict[str, Seen] | None:
        """The values of the state properties in this state."""
        self._start_anew()
        store = self.kernel.layout.pack(cells)
        stopped_at = self.kernel.check(
            store.ctypes.data, 0, 1, self.before.ctypes.data, self.active.ctypes.data, self.results.address
        )
        return self._seen(of_steps=False) if stopped_at == 1 else None


def enabled_steps(instance: Instance) -> Enabled:
    """A function that returns the numbers of the steps that the compiled kernel finds enabled in a state."""
    return Compiled(instance, kernel_of(instance)).enabled
