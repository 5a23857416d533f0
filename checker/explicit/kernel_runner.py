"""Runs a kernel, and switches to the careful kernel when the model leaves a declared range.

In:  a `Kernel`, and the arrays that it reads and writes.
Out: successors, and counts (checker/outcome/kernel_results.py).

A kernel stops when an index or a value leaves its declared range. The results of that call are discarded; the careful
kernel for the same layout repeats the call and runs all later calls.
"""

from __future__ import annotations

import threading
import time

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.compiling import OutOfTimeError, compiling_within
from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.compile.layout import ERROR_BYTES
from isrcheck.checker.explicit.visited_set import Batch
from isrcheck.checker.outcome.kernel_results import KernelResults

Buffer = NDArray[np.int8]
Counts = NDArray[np.int64]


MANY_STATES = 500_000
"""After this many states a search goes on with optimized code: about so many it would expand while LLVM optimizes."""

SHORT, LONG = 10.0, 600.0
"""If fewer seconds are left than the first number, a search goes on as it is; LLVM gets at most the second."""


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

    def optimize(self, expanded: int, deadline: float) -> None:
        """Go on with optimized code if the search has expanded many states, and has time. No thread may run the kernel.

        Another process compiles: it can be ended, which LLVM cannot.
        """
        kernel = self.careful or self.kernel
        left = deadline - time.monotonic()
        if kernel.optimize is None or expanded < MANY_STATES or left < SHORT:
            return
        try:
            with compiling_within(min(left, LONG)):
                kernel.optimize()
        except OutOfTimeError:
            kernel.optimize = None

    def _be_careful(self) -> Kernel:
        with self.lock:
            if self.careful is None:
                self.careful = self.kernel.careful()
            return self.careful
