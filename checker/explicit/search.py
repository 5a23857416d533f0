"""Breadth-first search over a compiled model: exact, level by level, always in the same order.

In:  an `Instance`, and limits: depth, memory, seconds.
Out: an `Exploration`: how many states were reached in which level, how often each action fired, and for each property
     the first state (or transition) that decides it, from which traces/ makes a trace.

A step that leaves the model's declaration leads nowhere, and a property that does so is not judged there. Either breaks
the implicit property `in_range`, and the search goes on.

States are expanded in the order of their discovery, and the steps of a state in the order of the model. The first path
to a state is therefore the least of the shortest ones, by initial state and then by step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.attempts import Attempts
from isrcheck.checker.explicit.starts import Starts
from isrcheck.checker.explicit.visited_set import Batch, Full, Store
from isrcheck.checker.outcome.exploration import Exploration, Finding, Findings, Progress, Witness
from isrcheck.checker.outcome.kernel_results import Entry, EntryKind, KernelResults
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.in_range import IN_RANGE
from isrcheck.models.language.model import Instance

CHUNK = 1 << 16
"""States that are expanded or looked at between two chances to stop, report progress or be interrupted."""

BATCH_BYTES = 1 << 18
"""Size of the successors on their way to the store: small enough for the second-level cache."""


class Search:
    """One search: the states that it has seen stay in `store` when it is done.

    It goes no deeper than a level of `enough` states, where that is said.
    """

    def __init__(
        self,
        instance: Instance,
        limits: Limits,
        kernel: Kernel,
        report: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self.instance = instance
        self.limits = limits
        self.count_all = False
        self.decisive = EntryKind.FOUND
        self.enough: int | None = None
        self.starts = Starts.initial(instance)
        self.patience: Mapping[str, float] = {}
        self.watched = list(instance.properties)
        self.kernel = kernel
        self.attempts = Attempts(kernel)
        self.report = report
        self.properties = list(enumerate(instance.model.properties))
        self.result = Exploration(instance, limits)
        layout = kernel.layout
        steps = instance.first_steps[-1]
        room = max(4 * steps, BATCH_BYTES // (8 * layout.words + 16))
        self.batch = Batch.of(room, layout.words)
        self.room = room
        self.store = self.new_store(layout.words, steps, limits.memory)
        self.before = layout.buffer(instance)
        self.after = layout.buffer(instance)
        self.active: NDArray[np.int8] = np.zeros(len(self.properties) + 1, np.int8)
        self.results = KernelResults(len(self.properties))
        self.errors: int | None = None
        self.fired: NDArray[np.int64] = np.zeros(len(instance.model.slots), np.int64)
        self.started = time.monotonic()
        self.deadline = float("inf") if limits.seconds is None else self.started + limits.seconds
        self.reported = self.started

    def new_store(self, words: int, steps: int, memory: int) -> Any:
        """Where the states are kept."""
        return Store(words, steps, memory)

    def run(self) -> Exploration:
        """Search, and say what was found, also where a limit or a person ends it."""
        result = self.result
        for number, prop in self.properties:
            self.active[number] = prop in self.watched
        try:
            self._levels()
        except KeyboardInterrupt:
            result.stopped = "interrupt"
        except Full:
            result.stopped = "memory"
        result.frontier = self.store.count - self.expanded
        if sum(result.levels) < self.store.count:
            result.levels.append(self.store.count - sum(result.levels))
        result.seconds = time.monotonic() - self.started
        result.bytes_used = self.store.bytes_used
        result.fired = [int(count) for count in self.fired]
        first = len(self.starts)
        new = self.store.found_by(first, self.instance.first_steps[-1])
        bounds = self.instance.first_steps
        result.new = [int(new[low:high].sum()) for low, high in pairwise(bounds)]
        self._collect()
        return result

    def _levels(self) -> None:
        self.expanded = 0
        first = self._start()
        while True:
            last = self.store.count
            self.result.levels.append(last - first)
            self.result.depth = len(self.result.levels) - 1
            self._look(first, last)
            if not self.result.stopped:
                self.result.judged = self.result.depth
            if first == last or self.result.stopped or not self.is_open():
                break
            if self.limits.depth is not None and self.result.depth >= self.limits.depth:
                break
            if self.enough is not None and last - first >= self.enough:
                break
            self._expand(first, last)
            if self.result.stopped:
                break
            if self.store.count == last:
                break
            first = last

    def _start(self) -> int:
        """The states that the search starts from are the first states, each its own predecessor.

        Gives the number of the first state that is to be looked at.
        """
        for low in range(0, len(self.starts), self.room):
            self.store.add(self.batch, self._put(self.batch, low, self.room))
        return 0

    def _put(self, batch: Batch, first: int, most: int) -> int:
        """States to start from, so many at most, into a batch; how many they are."""
        part = self.starts[first : first + most]
        words, count = self.kernel.layout.pack_rows(part.cells), len(part)
        batch.states[: words.size] = words.ravel()
        batch.parents[:count] = range(first, first + count)
        batch.steps[:count] = 0
        return count

    def is_open(self) -> bool:
        """Whether going on can change a verdict or a count."""
        return self.count_all or bool(self.active.any()) or not self.watched

    def _look(self, first: int, last: int) -> None:
        """Judge the properties of states on a whole level."""
        for low in range(first, last, CHUNK):
            high = min(low + CHUNK, last)
            self.attempts.check(self.store.states.ctypes.data, low, high, self.before, self.active, self.results)
            if self._out_of_time():
                return
        self._settle(of_steps=False)

    def _expand(self, first: int, last: int) -> None:
        """Take every step from every state of a level."""
        at = first
        while at < last:
            at, generated = self._attempt(at, min(at + CHUNK, last))
            # Before the store can be full, so that it equals what the actions have fired.
            self.result.generated += generated
            self._take_in_batch(generated)
            self.expanded = at
            if self._out_of_time():
                return
        self._settle(of_steps=True)

    def _take_in_batch(self, generated: int) -> None:
        """Put so many successors, which the kernel has just made, into the store."""
        self.store.add(self.batch, generated)

    def _attempt(self, first: int, last: int) -> tuple[int, int]:
        """Take every step from some states; the next state, and how many successors the batch has now."""
        return self.attempts.expand(
            *(self.store.states.ctypes.data, first, last, self.before, self.after, self.batch, self.room),
            *(self.fired, self.active, self.results),
        )

    def _out_of_time(self) -> bool:
        now = time.monotonic()
        if now - self.reported >= 0.5:
            self.reported = now
            result = self.result
            self.report(
                Progress(
                    *(now - self.started, result.depth, self.store.count, result.generated),
                    *(self.store.count - self.expanded, self.store.bytes_used),
                )
            )
        if now > self.deadline:
            self.result.stopped = "seconds"
            return True
        return False

    def _settle(self, of_steps: bool) -> None:
        """A property that is decided need not be looked at any more, unless everything is to be counted."""
        if self.count_all:
            return
        if not of_steps and self.errors is None:
            # Properties of states are asked last of what a history of this length can err in.
            self.errors = self.results.error_count or None
        for number, prop in self.properties:
            is_decided = self.results.count(number, self.decisive)
            if self.active[number] and prop.of_steps == of_steps and is_decided:
                self.active[number] = 0
                if prop.name in self.patience and self.results.count(number):
                    self.deadline = min(self.deadline, time.monotonic() + self.patience[prop.name])

    def _collect(self) -> None:
        for number, prop in self.properties:
            if prop in self.watched:
                found = (self._finding(self.results.entry(number, kind)) for kind in EntryKind)
                self.result.findings[prop.name] = Findings(*found)
        if self.result.stopped is None and not self.is_open() and self.result.frontier:
            self.result.stopped = "decided"
        self._collect_errors()

    def _collect_errors(self) -> None:
        found = self.found_errors()
        if found is not None:
            steps = self._finding(self.results.erring_steps)
            self.result.findings[IN_RANGE.name] = Findings(found, erred=steps)

    def found_errors(self) -> Finding | None:
        """How often the model has left its declaration, and the least of the shortest paths to that."""
        found = [self._finding(entry) for entry in self.results.errors]
        paths = [one.witness for one in found if one.witness is not None]
        if not paths:
            return None
        count = self.results.error_count if self.errors is None else self.errors
        return Finding(count, min(paths, key=lambda path: path.order))

    def _finding(self, entry: Entry) -> Finding:
        if not entry.count:
            return Finding()
        position, steps = self.store.path(entry.state)
        last = (entry.step,) if entry.step >= 0 else ()
        return Finding(entry.count, Witness(self.starts[position].number, (*steps, *last)))
