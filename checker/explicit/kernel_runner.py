"""Runs a kernel, and switches to the careful kernel when the model leaves a declared range.

In:  a `Kernel`, and the arrays that it reads and writes.
Out: successors, and counts (checker/results/kernel_results.py).

A kernel stops when an index or a value leaves its declared range. The results of that call are discarded; the careful
kernel for the same layout repeats the call and runs all later calls.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.compile.layout import ERROR_BYTES
from isrcheck.checker.explicit.visited_set import Batch
from isrcheck.checker.results.kernel_results import KernelResults

Buffer = NDArray[np.int8]
Counts = NDArray[np.int64]


class KernelRunner:
    """Runs a kernel, from any number of threads."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.careful: Kernel | None = None
        self.lock = threading.Lock()

    def check(self, states: int, first: int, last: int, before: Buffer, active: Buffer, results: KernelResults) -> None:
        """Judge the properties in states first..last-1 of the packed states at the address `states`."""
        arrays = (before.ctypes.data, active.ctypes.data, results.address)
        known = results.copy()
        kernel = self.careful or self.kernel
        if kernel.check(states, first, last, *arrays) != last:
            results.restore(known)
            before[:ERROR_BYTES] = 0
            self._be_careful().check(states, first, last, *arrays)

    def expand(
        self,
        states: int,
        first: int,
        last: int,
        before: Buffer,
        after: Buffer,
        batch: Batch,
        room: int,
        fired: Counts,
        active: Buffer,
        results: KernelResults,
    ) -> tuple[int, int]:
        """Expand states first..last-1 while the batch has room; return the next state to expand and the successor
        count."""
        arguments = (
            *(states, first, last, before.ctypes.data, after.ctypes.data),
            *(batch.at.states, batch.at.parents, batch.at.steps),
            *(room, fired.ctypes.data, active.ctypes.data, results.address),
        )
        known = fired.copy(), results.copy()
        kernel = self.careful or self.kernel
        count = kernel.expand(*arguments)
        if results.has_failed:
            fired[:] = known[0]
            results.restore(known[1])
            before[:ERROR_BYTES] = after[:ERROR_BYTES] = 0
            count = self._be_careful().expand(*arguments)
        return results.next_state, count

    def optimize_for(self, expanded: int, deadline: float) -> None:
        """Optimize the kernel if that is worth the time (Kernel.optimize_for). No thread may run it meanwhile."""
        (self.careful or self.kernel).optimize_for(expanded, deadline)

    def _be_careful(self) -> Kernel:
        with self.lock:
            if self.careful is None:
                self.careful = self.kernel.careful()
            return self.careful
