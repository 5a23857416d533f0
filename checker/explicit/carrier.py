"""The request and the counts of a search, the base class of carriers, and the carrier that runs on one thread.

A search runs level by level, that is by the number of steps from an initial state. A carrier is the part of a search
that does the work within a level; there are carriers for one thread, several threads, files on disk, and Spark.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.compile.layout import ERROR_BYTES, KINDS, Layout
from isrcheck.checker.compile.machine_code import addresses
from isrcheck.checker.explicit.visited_set import Batch, VisitedSet
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration, Findings, Progress, forecast
from isrcheck.checker.results.kernel_results import EntryKind, KernelResults
from isrcheck.models.language.declarations import WHOLE
from isrcheck.models.language.model import Instance, Property


@dataclass(frozen=True)
class Starts:
    """The states that a search starts from."""

    numbers: Sequence[int]
    """For each state a number that identifies it in paths, such as the position of an initial state."""
    cells: NDArray[np.signedinteger[Any]]
    """The cells, one state per row."""

    @classmethod
    def initial(cls, instance: Instance) -> Starts:
        """The initial states of an instance."""
        states = instance.initial_states
        cells = np.frombuffer(states.packed, KINDS[states.size]).reshape(len(states), instance.cells)
        return cls(range(len(states)), cells)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, part: slice) -> Starts:
        return Starts(self.numbers[part], self.cells[part])


Buffer = NDArray[np.int8]
Counts = NDArray[np.int64]


class ThreadBuffers(threading.local):
    """The working buffers of a thread: for a state, and for the state after a step."""

    def __init__(self, layout: Layout, instance: Instance) -> None:
        self.before, self.after = layout.buffer(instance), layout.buffer(instance)


class KernelRunner:
    """Runs a kernel for any number of threads, and replaces it when the model leaves a declared range.

    A kernel stops when an index or a value leaves its declared range. The results of that call are discarded. The
    careful kernel, which counts such errors, repeats the call and takes all later calls.
    """

    def __init__(self, kernel: Kernel, instance: Instance) -> None:
        self.kernel = kernel
        self.careful: Kernel | None = None
        self.lock = threading.Lock()
        self.buffers = ThreadBuffers(kernel.layout, instance)

    def check(self, states: int, first: int, last: int, active: Buffer, results: KernelResults) -> None:
        """Evaluate the properties marked in `active` in states first..last-1 of the array at address `states`."""
        before = self.buffers.before
        arrays = (before.ctypes.data, active.ctypes.data, results.address)
        results_before = results.copy()
        kernel = self.careful or self.kernel
        if kernel.check(states, first, last, *arrays) != last:
            results.restore(results_before)
            before[:ERROR_BYTES] = 0
            self._be_careful().check(states, first, last, *arrays)

    def expand(
        self, states: int, first: int, last: int, batch: Batch, fired: Counts, active: Buffer, results: KernelResults
    ) -> tuple[int, int]:
        """Write the successors of states first..last-1 into `batch`, while the batch has room. Returns the number of
        the next state to expand, and how many successors were written."""
        before, after = self.buffers.before, self.buffers.after
        buffers_at, counts_at = addresses(before, after), addresses(fired, active)
        arguments = (states, first, last, *buffers_at, *batch.at[:3], len(batch.parents), *counts_at, results.address)
        fired_before, results_before = fired.copy(), results.copy()
        kernel = self.careful or self.kernel
        count = kernel.expand(*arguments)
        if results.has_failed:
            fired[:] = fired_before
            results.restore(results_before)
            before[:ERROR_BYTES] = after[:ERROR_BYTES] = 0
            count = self._be_careful().expand(*arguments)
        return results.next_state, count

    def conditions(self, states: int, batch: Batch, count: int, active: Buffer) -> NDArray[np.uint64] | None:
        """Evaluate the conditions of the model's fairness that are marked in `active` before the first `count` steps of
        `batch`, which `expand` wrote from `states`. Returns a number for each step, in which bit k says whether
        condition k is true; None if a condition has no value there."""
        before = self.buffers.before
        met: NDArray[np.uint64] = np.zeros(count, np.uint64)
        judged = self.kernel.conditions(states, *batch.at[1:3], count, *addresses(before, active, met))
        before[:ERROR_BYTES] = 0
        return met if judged == count else None

    def optimize_for(self, expanded: int, deadline: float) -> None:
        """Call `Kernel.optimize_for` on the kernel in use, which may optimize it; meanwhile no thread may run it."""
        (self.careful or self.kernel).optimize_for(expanded, deadline)

    def _be_careful(self) -> Kernel:
        with self.lock:
            if self.careful is None:
                self.careful = self.kernel.careful()
            return self.careful


SECONDS_BETWEEN_REPORTS = 0.5


@dataclass(frozen=True)
class SearchRequest:
    """What a search looks for, where it starts, and when it ends."""

    watched: tuple[Property, ...] | None = None
    """The properties to judge (None: all that apply; empty: none, and the search visits every state)."""
    count_all: bool = False
    """Whether every violation is counted; otherwise a property is judged up to the level that decides it."""
    decisive: EntryKind = EntryKind.FOUND
    """The kind of result that decides a property."""
    starts: Starts | None = None
    """The states to start from (None: the initial states)."""
    starts_are_judged: bool = False
    """Whether the properties were judged in these states before."""
    patience: Mapping[str, float] = field(default_factory=dict)
    """Once one of these properties is violated, the search goes on for at most that many seconds."""
    enough: int | None = None
    """The number of states of a level at which the search ends (None: no such end)."""
    deadlock: bool = True
    """Whether the implicit property `deadlock` is judged as well."""


EVERY_STATE = SearchRequest(watched=(), deadlock=False)
"""A request to visit every state and to judge no property."""


NO_REDUCTION = "every state"


class SearchContext:
    """The input of a search, and its counts so far."""

    def __init__(
        self,
        instance: Instance,
        limits: Limits,
        kernel: Kernel,
        request: SearchRequest = SearchRequest(),
        report: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self.instance = instance
        self.limits = limits
        self.kernel = kernel
        self.request = request
        self.report = report
        self.properties = list(enumerate(instance.model.properties))
        self.watched = instance.properties if request.watched is None else request.watched
        self.whole = [
            (number, prop)
            for number, prop in self.properties
            if prop in self.watched and prop.kind in WHOLE and not request.starts_are_judged
        ]
        """The properties that are judged after a complete search."""
        self.judged: dict[str, Findings] = {}
        """The findings of the properties in `whole`, by name, after a complete search."""
        starts = Starts.initial(instance) if request.starts is None else request.starts
        self.starts = kept_in_place_of(starts, kernel, instance)
        self.result = Exploration(instance, limits)
        watched = [prop in self.watched for _, prop in self.properties]
        self.active: NDArray[np.int8] = np.array([*watched, limits.deadlock and request.deadlock], np.int8)
        """A 1 for each property that is still judged; the last one is the implicit property `deadlock`."""
        self.results = KernelResults(len(self.properties))
        self.errors: int | None = None
        """How often the model left a declared range, up to the end of the first level where it did."""
        self.fired: NDArray[np.int64] = np.zeros(len(instance.model.actions), np.int64)
        self.expanded = 0
        """The number of states whose successors are known."""
        self.started = time.monotonic()
        self.deadline = float("inf") if limits.seconds is None else self.started + limits.seconds
        self.reported = self.started

    def question(self) -> dict[str, Any]:
        """What identifies the search (model, configuration, ...); a checkpoint of the same search has equal entries."""
        instance, request, layout = self.instance, self.request, self.kernel.layout
        reduction = self.kernel.reduction
        return {
            "model": [instance.model.name, instance.model.digest],
            "protocol": [instance.protocol.name],
            "swapped actions": dict(instance.swaps),
            "configuration": dict(instance.configuration.items()),
            "instance": instance.digest,
            "layout": [layout.words, [[bits.word, bits.shift, bits.width, bits.low] for bits in layout.bits]],
            "properties": [[prop.name for prop in self.watched], request.count_all, int(request.decisive)],
            "deadlock": ["judged" if self.limits.deadlock and request.deadlock else "left out"],
            # in words, and what it clears
            "reduction": [NO_REDUCTION, []]
            if reduction is None
            else [reduction.says, list(map(list, reduction.clears))],
            "number of initial states": len(self.starts),
        }

    def counts(self, results: KernelResults | None = None) -> dict[str, Any]:
        """The counts so far, for a checkpoint, with the kernel's results `results` (None: `self.results`)."""
        result, results = self.result, results or self.results
        return {
            "result": [result.levels, result.generated, result.depth, result.judged],
            "arrays": [results.words, self.fired.tolist(), self.active.tolist()],
            "errors": self.errors,
        }

    def restore(self, counts: Mapping[str, Any]) -> None:
        """Set the counts to those of a checkpoint."""
        result = self.result
        result.levels, result.generated, result.depth, result.judged = counts["result"]
        words, self.fired[:], self.active[:] = counts["arrays"]
        self.results = KernelResults.of(len(self.properties), words)
        self.errors = counts["errors"]


def kept_in_place_of(starts: Starts, kernel: Kernel, instance: Instance) -> Starts:
    """Replace each state of `starts` by the state that the kernel's reduction keeps for it; return the distinct
    results. If several states are replaced by the same state, that state gets the number of the first of them."""
    if kernel.reduction is None or not len(starts):
        return starts
    words = kernel.reduced(kernel.layout.pack_rows(starts.cells), instance)
    _, firsts = np.unique(words, axis=0, return_index=True)
    firsts.sort()
    rows = kernel.layout.unpack_rows(words[firsts]).astype(starts.cells.dtype)
    return Starts([starts.numbers[first] for first in firsts], rows)


class Carrier(ABC):
    """The part of a search that does the work within a level: it expands states and evaluates properties in them.

    It is a context manager, which holds threads or other resources while the search runs. A carrier without `stores`
    (visited sets in this machine's memory) cannot judge properties that need every reachable state; its message
    `without_stores` says what to do instead.
    """

    visited: Any
    without_stores = "Spark does not judge {}; use --engine local"

    def __init__(self, context: SearchContext) -> None:
        self.context = context

    @property
    def stores(self) -> Sequence[VisitedSet] | None:
        """The visited sets in this machine's memory; None if they do not hold all states."""
        return None

    @abstractmethod
    def start(self) -> int:
        """Insert the states that the search starts from. Returns the number of the first state to check."""

    @abstractmethod
    def check(self, first: int, last: int) -> None:
        """Evaluate the properties in all states of a level: states first..last-1."""

    @abstractmethod
    def expand(self, first: int, last: int) -> None:
        """Take every step from every state of a level: states first..last-1. Raises Full."""

    def close_level(self) -> None:  # noqa: B027 - most carriers have nothing to do here
        """Do nothing: subclasses override this for work at the end of a level, after its results are counted."""

    def finish(self) -> None:  # noqa: B027 - most carriers have nothing to do here
        """Do nothing: subclasses override this for work after the search, before its paths are read."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool | None:
        return None

    def is_out_of_time(self) -> bool:
        """Report progress every 0.5 s; return whether the time limit is reached."""
        context, now = self.context, time.monotonic()
        if now - context.reported >= SECONDS_BETWEEN_REPORTS:
            context.reported = now
            context.report(self.progress(now - context.started))
        if now > context.deadline:
            context.result.stopped = "seconds"
        return now > context.deadline

    def progress(self, seconds: float) -> Progress:
        """A report of the counts so far, `seconds` after the start of the search."""
        context, result, states = self.context, self.context.result, self.visited.count
        frontier, used = states - context.expanded, self.visited.bytes_used
        return Progress(seconds, result.depth, states, result.generated, frontier, used, forecast(result.levels))

    def put_starts(self, batch: Batch, first: int, most: int) -> int:
        """Put up to `most` of the search's starting states, from number `first` on, into `batch`; return how many."""
        part = self.context.starts[first : first + most]
        words, count = self.context.kernel.layout.pack_rows(part.cells), len(part)
        batch.states[: words.size] = words.ravel()
        batch.parents[:count] = range(first, first + count)
        batch.steps[:count] = 0
        return count


CHUNK = 1 << 16
"""The most states that are processed before the search looks at the clock, reports progress or can be interrupted."""

BATCH_BYTES = 1 << 18
"""The size in bytes of the buffer for successors: small enough for the second-level cache."""


class SingleThread(Carrier):
    """Does all work of a search on the calling thread. `visited` is the visited set to use (None: a new one)."""

    visited: VisitedSet

    def __init__(self, context: SearchContext, visited: VisitedSet | None = None) -> None:
        super().__init__(context)
        layout, steps = context.kernel.layout, context.instance.first_steps[-1]
        self.runner = KernelRunner(context.kernel, context.instance)
        self.room = max(4 * steps, BATCH_BYTES // (8 * layout.words + 16))
        self.batch = Batch.of(self.room, layout.words)
        self.visited = VisitedSet(layout.words, steps, context.limits.memory) if visited is None else visited

    @property
    def stores(self) -> Sequence[VisitedSet]:
        """The visited set."""
        return (self.visited,)

    def start(self) -> int:
        """Insert the states that the search starts from; the predecessor of each is the state itself."""
        for low in range(0, len(self.context.starts), self.room):
            self.visited.add(self.batch, self.put_starts(self.batch, low, self.room))
        return 0

    def check(self, first: int, last: int) -> None:
        """Evaluate the properties in states first..last-1, in chunks of at most CHUNK states."""
        context = self.context
        for low in range(first, last, CHUNK):
            states, high = self.visited.states.ctypes.data, min(low + CHUNK, last)
            self.runner.check(states, low, high, context.active, context.results)
            if self.is_out_of_time():
                return

    def expand(self, first: int, last: int) -> None:
        """Insert the successors of states first..last-1, in chunks of at most CHUNK states. Raises Full."""
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

    def keep(self, generated: int) -> int:
        """The number of successors to insert, out of `generated` in the batch: here all; a subclass can remove some."""
        return generated

    def attempt(self, first: int, last: int) -> tuple[int, int]:
        """Call `KernelRunner.expand` on states first..last-1 with the search's batch and counts; return the result."""
        context, states = self.context, self.visited.states.ctypes.data
        return self.runner.expand(states, first, last, self.batch, context.fired, context.active, context.results)
