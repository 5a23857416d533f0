"""Which states keep all promises of the model.

In:  packed states, one row each.
Out: for each of them whether every promise about single states is true, or its failure permitted.

A kernel counts the failures in a range of states, and names the first; so small ranges are judged, and the rest of a
range again after each failure. Promises about transitions are not judged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.results.kernel_results import KernelResults
from isrcheck.models.language.declarations.declare import Kind
from isrcheck.models.language.model import Instance

RANGE = 32
"""The number of states that are judged together."""


class Keeping:
    """Judges the promises of an instance, or only the one of this name."""

    def __init__(self, instance: Instance, kernel: Kernel, only: str | None = None) -> None:
        self.kernel = kernel
        promises = {
            prop.name
            for prop in instance.properties
            if prop.kind is Kind.ALWAYS and not prop.of_steps and only in (None, prop.name)
        }
        self.numbers = np.array([at for at, prop in enumerate(instance.model.properties) if prop.name in promises])
        self.active = np.zeros(len(instance.model.properties) + 1, np.int8)
        self.active[self.numbers] = 1
        self.buffer = kernel.layout.buffer(instance)
        self.results = KernelResults(len(instance.model.properties))

    def keep(self, states: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """For each of these states, whether it keeps all promises."""
        states = np.ascontiguousarray(states)
        kept: NDArray[np.bool_] = np.ones(len(states), bool)
        for first in range(0, len(states), RANGE):
            last = min(first + RANGE, len(states))
            failing = self._first_failing(states, first, last)
            while failing is not None:
                kept[failing] = False
                failing = self._first_failing(states, failing + 1, last)
        return kept

    def _first_failing(self, states: NDArray[np.uint64], first: int, last: int) -> int | None:
        """The first state of a range that breaks a promise without permission."""
        self.results.clear()
        self.kernel.check(
            *(states.ctypes.data, first, last, self.buffer.ctypes.data),
            *(self.active.ctypes.data, self.results.address),
        )
        return self.results.first_found(self.numbers)
