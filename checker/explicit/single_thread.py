"""The carrier that does the work of a search on one thread.

In:  a `SearchContext`.
Out: states in the visited set, in breadth-first order; counts in the context.
"""

from __future__ import annotations

from collections.abc import Callable

from isrcheck.checker.explicit.carrier import Carrier, SearchContext
from isrcheck.checker.explicit.kernel_runner import KernelRunner
from isrcheck.checker.explicit.visited_set import Batch, VisitedSet

CHUNK = 1 << 16
"""States that are expanded or judged between two chances to stop, report progress or be interrupted."""

BATCH_BYTES = 1 << 18
"""Size of the successors on their way to the visited set: small enough for the second-level cache."""


class SingleThread(Carrier):
    """Does all work on the calling thread.

    `keep` may remove successors from a batch before they are inserted; it is told how many there are, and returns how
    many are left. `visited` replaces the visited set.
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

    def start(self) -> int:
        """Each of the states that the search starts from is its own predecessor."""
        for low in range(0, len(self.context.starts), self.room):
            self.visited.add(self.batch, self.put_starts(self.batch, low, self.room))
        return 0

    def check(self, first: int, last: int) -> None:
        """Judge the properties of states, chunk by chunk."""
        context = self.context
        for low in range(first, last, CHUNK):
            states = self.visited.states.ctypes.data
            self.runner.check(*(states, low, min(low + CHUNK, last)), self.before, context.active, context.results)
            if self.is_out_of_time():
                return

    def expand(self, first: int, last: int) -> None:
        """Take every step, chunk by chunk."""
        at = first
        while at < last:
            at, generated = self.attempt(at, min(at + CHUNK, last))
            # Counted before the visited set can be full, so that it equals what the actions have fired.
            self.context.result.generated += generated
            self.visited.add(self.batch, self.keep(generated))
            self.context.expanded = at
            if self.is_out_of_time():
                return

    def attempt(self, first: int, last: int) -> tuple[int, int]:
        """Take every step from some states; returns the next state, and how many successors the batch has now."""
        context = self.context
        return self.runner.expand(
            *(self.visited.states.ctypes.data, first, last, self.before, self.after, self.batch, self.room),
            *(context.fired, context.active, context.results),
        )
