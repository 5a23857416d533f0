"""The carrier for one thread: does the work of a search on the calling thread.

In:  a `SearchContext`.
Out: states in the visited set, in breadth-first order; counts in the context.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.explicit.carrier import Carrier, SearchContext
from isrcheck.checker.explicit.kernel_runner import KernelRunner
from isrcheck.checker.explicit.visited_set import Batch, VisitedSet

CHUNK = 1 << 16
"""The most states that are processed before the search looks at the clock, reports progress or can be interrupted."""

BATCH_BYTES = 1 << 18
"""The size in bytes of the buffer for successors: small enough for the second-level cache."""


class SingleThread(Carrier):
    """Does all work of a search on the calling thread.

    `keep` gets the number of successors in the batch, may remove some before they are inserted, and returns how many
    are left. `visited` is the visited set to use (None: a new one).
    """

    visited: VisitedSet

    def __init__(
        self,
        context: SearchContext,
        visited: VisitedSet | None = None,
        keep: Callable[[int], int] = lambda generated: generated,
    ) -> None:
        super().__init__(context)
        layout, steps = context.kernel.layout, context.instance.first_steps[-1]
        self.keep = keep
        self.runner = KernelRunner(context.kernel)
        self.room = max(4 * steps, BATCH_BYTES // (8 * layout.words + 16))
        self.batch = Batch.of(self.room, layout.words)
        self.visited = VisitedSet(layout.words, steps, context.limits.memory) if visited is None else visited
        self.before = layout.buffer(context.instance)
        self.after = layout.buffer(context.instance)

    @property
    def stores(self) -> Sequence[VisitedSet]:
        """The visited set."""
        return (self.visited,)

    def numbers_of(self, shard: int) -> NDArray[np.int64]:
        """The number of a state is its position in the only visited set."""
        assert shard == 0
        return np.arange(self.visited.count)

    def start(self) -> int:
        """Insert the states that the search starts from, each as its own predecessor."""
        for low in range(0, len(self.context.starts), self.room):
            self.visited.add(self.batch, self.put_starts(self.batch, low, self.room))
        return 0

    def check(self, first: int, last: int) -> None:
        """Judge the properties in states first..last-1, chunk by chunk."""
        context = self.context
        for low in range(first, last, CHUNK):
            states = self.visited.states.ctypes.data
            self.runner.check(*(states, low, min(low + CHUNK, last)), self.before, context.active, context.results)
            if self.is_out_of_time():
                return

    def expand(self, first: int, last: int) -> None:
        """Expand states first..last-1, chunk by chunk. Raises Full."""
        at = first
        while at < last:
            at, generated = self.attempt(at, min(at + CHUNK, last))
            # Counted before the visited set can be full, so that it equals what the actions have fired.
            self.context.result.generated += generated
            self.visited.add(self.batch, self.keep(generated))
            self.context.expanded = at
            if self.is_out_of_time():
                return
            self.runner.optimize_for(at, self.context.deadline)

    def attempt(self, first: int, last: int) -> tuple[int, int]:
        """Expand states first..last-1 while the batch has room; return the next state, and the number of successors."""
        context = self.context
        return self.runner.expand(
            *(self.visited.states.ctypes.data, first, last, self.before, self.after, self.batch, self.room),
            *(context.fired, context.active, context.results),
        )
