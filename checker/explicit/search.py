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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.explicit.attempts import Attempts
from isrcheck.checker.explicit.starts import Start, Starts
from isrcheck.checker.explicit.visited_set import Batch, Full, Store
from isrcheck.checker.outcome import result_words
from isrcheck.models.language.in_range import IN_RANGE
from isrcheck.models.language.model import Instance
from isrcheck.models.messages.errors import UsageError
from isrcheck.models.run import Cells

CHUNK = 1 << 16
"""States that are expanded or looked at between two chances to stop, report progress or be interrupted."""

BATCH_BYTES = 1 << 18
"""Size of the successors on their way to the store: small enough for the second-level cache."""


@dataclass(frozen=True)
class Limits:
    """What a search may use: transitions from an initial state, bytes, seconds (None: no limit); threads.

    What it finds does not hang on the number of threads, unless memory or time end it.
    """

    depth: int | None = None
    memory: int = 4 << 30
    seconds: float | None = None
    threads: int = 1


@dataclass(frozen=True)
class Witness:
    """A path: the position of its initial state, and the numbers of its steps."""

    initial: int
    steps: tuple[int, ...]

    @property
    def depth(self) -> int:
        """Transitions from the initial state."""
        return len(self.steps)

    @property
    def order(self) -> tuple[int, int, tuple[int, ...]]:
        """What paths are ordered by: the shortest first, and among those the least."""
        return self.depth, self.initial, self.steps


@dataclass
class Finding:
    """What a search found about one property: how many states or transitions, and the first of them."""

    count: int = 0
    witness: Witness | None = None


@dataclass
class Findings:
    """For `always`: failures that break a promise, and failures that are permitted. For `sometimes`: `found`.

    `erred` is where asking the property leaves the declaration, so that it is not judged; of `in_range`, the steps that
    do so.
    Counts are of the whole search with `count_all`, otherwise of the levels up to the one that decided the property.
    """

    found: Finding = field(default_factory=Finding)
    permitted: Finding = field(default_factory=Finding)
    erred: Finding = field(default_factory=Finding)


@dataclass
class Exploration:
    """What a search did and found.

    `stopped` says why it ended early: memory, seconds, interrupt, decided (no property is open), or None.
    `judged` is the depth to which every state was seen and looked at, `frontier` counts states that were not expanded.
    `findings` has an entry for the implicit property `in_range` only where it is broken; it counts steps that err, and
    states and transitions at which a property does.
    """

    instance: Instance
    limits: Limits
    levels: list[int] = field(default_factory=list)
    generated: int = 0
    frontier: int = 0
    depth: int = 0
    judged: int = 0
    stopped: str | None = None
    seconds: float = 0.0
    bytes_used: int = 0
    fired: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    findings: dict[str, Findings] = field(default_factory=dict)
    reached: Reached | None = None

    @property
    def distinct(self) -> int:
        """Different states reached."""
        return sum(self.levels)

    @classmethod
    def without_beginning(
        cls, instance: Instance, limits: Limits, stopped: str, only: Sequence[str] = ()
    ) -> Exploration:
        """Nothing was searched: a limit was met before the initial states were known."""
        none = [0] * len(instance.model.slots)
        findings = {prop.name: Findings() for prop in instance.properties if not only or prop.name in only}
        return cls(instance, limits, judged=-1, stopped=stopped, fired=none, new=none, findings=findings)

    @property
    def has_begun(self) -> bool:
        """Whether a state was searched."""
        return bool(self.levels)

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to explore: every reachable state was seen and looked at."""
        return self.stopped is None and self.frontier == 0

    @property
    def is_complete(self) -> bool:
        """Whether the search did all that was asked of it: to its depth, or to the end."""
        return self.stopped in (None, "decided")


class Reached:
    """The states that a search has seen, to be asked about."""

    def __init__(self, kernel: Kernel, store: Any, levels: Sequence[int], starts: Sequence[Start]) -> None:
        self.kernel = kernel
        self.store = store
        self.levels = levels
        self.starts = starts

    def sample(self, most: int) -> list[Cells]:
        """So many of the states, spread evenly over the search."""
        count = self.store.count
        return self._unpacked(range(0, count, max(1, count // most)))

    def first_of_levels(self, most: int) -> Iterator[list[Cells]]:
        """So many states of each level, the first ones."""
        for first, last in pairwise(accumulate(self.levels, initial=0)):
            yield self._unpacked(range(first, min(first + most, last)))

    def _unpacked(self, numbers: Iterable[int]) -> list[Cells]:
        return [self.kernel.layout.unpack([int(word) for word in one]) for one in self.store.states_at(numbers)]

    def find(self, cells: Sequence[int | None]) -> Witness | None:
        """The path to the first state that has these cells, whatever it has where they are None."""
        number = self.store.first_where(lambda states: self._matching(states, cells))
        if number is None:
            return None
        position, steps = self.store.path(number)
        return Witness(self.starts[position].number, tuple(steps))

    def _matching(self, states: NDArray[np.uint64], cells: Sequence[int | None]) -> NDArray[np.bool_]:
        """Which of the packed states have these cells."""
        matching = np.ones(len(states), bool)
        for position, value in enumerate(cells):
            if value is not None and matching.any():
                matching &= self.kernel.layout.column(states, position) == value
        return matching


@dataclass(frozen=True)
class Progress:
    """What is told while a search runs."""

    seconds: float
    depth: int
    distinct: int
    generated: int
    frontier: int
    bytes_used: int


def explore(
    instance: Instance,
    limits: Limits,
    *,
    count_all: bool = False,
    only: Sequence[str] = (),
    want_permitted: bool = False,
    initial: int | None = None,
    keep_states: bool = False,
    patience: Mapping[str, float] = MappingProxyType({}),
    kernel: Kernel | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
    announce: Callable[[str], None] = lambda message: None,
) -> Exploration:
    """Search an instance within limits.

    With `count_all` every violating state is counted; without it a property is looked at up to its first violation,
    and the search ends once no property is open. `only` names the properties to look at (none: all that apply). With
    `want_permitted` a property is looked at up to its first permitted failure instead: a violation may lie further on.
    `initial` is the position of the one initial state to search from (None: all). `keep_states` keeps the states that
    were seen, to be asked about. Once a property in `patience` is
    broken, the search goes on for so many seconds at most.
    """
    if initial is not None and not 0 <= initial < len(instance.initial_states):
        raise UsageError(f"there is no initial state {initial}; they are 0..{len(instance.initial_states) - 1}")
    search = _search_of(limits)(instance, limits, kernel or kernel_of(instance, announce), report)
    search.count_all = count_all
    search.decisive = result_words.PERMITTED if want_permitted else result_words.FOUND
    if initial is not None:
        search.starts = search.starts[initial : initial + 1]
    search.patience = patience
    if only:
        search.watched = [prop for prop in search.watched if prop.name in only]
    result = search.run()
    if keep_states:
        result.reached = Reached(search.kernel, search.store, result.levels, search.starts)
    return result


def _search_of(limits: Limits) -> type[Search]:
    if limits.threads == 1:
        return Search
    from isrcheck.checker.explicit.threads import ThreadedSearch  # here, for it is made of what stands here

    return ThreadedSearch


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
        self.decisive = result_words.FOUND
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
        self.results = result_words.new(len(self.properties))
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
            self.errors = self._count_errors() or None
        for number, prop in self.properties:
            if (
                self.active[number]
                and prop.of_steps == of_steps
                and self.results[result_words.place(number, self.decisive)]
            ):
                self.active[number] = 0
                if prop.name in self.patience and self.results[result_words.place(number)]:
                    self.deadline = min(self.deadline, time.monotonic() + self.patience[prop.name])

    def _add_results(self, results: NDArray[np.int64], number_of: Callable[[int], int]) -> None:
        """Add what one of several hands found; the first find of a property is the one with the least number."""
        for at in range(0, result_words.status(len(self.properties)), result_words.ENTRY):
            if results[at]:
                number = number_of(int(results[at + 1]))
                if not self.results[at] or number < self.results[at + 1]:
                    self.results[at + 1], self.results[at + 2] = number, results[at + 2]
                self.results[at] += results[at]

    def _count_errors(self) -> int:
        """How often the model has left its declaration."""
        return int(self.results[result_words.errors(len(self.properties))].sum())

    def _collect(self) -> None:
        for number, prop in self.properties:
            if prop in self.watched:
                entries = (result_words.FOUND, result_words.PERMITTED, result_words.ERRED)
                self.result.findings[prop.name] = Findings(
                    *(self._finding(result_words.place(number, entry)) for entry in entries)
                )
        if self.result.stopped is None and not self.is_open() and self.result.frontier:
            self.result.stopped = "decided"
        self._collect_errors()

    def _collect_errors(self) -> None:
        found = self.found_errors()
        if found is not None:
            steps = self._finding(result_words.of_steps(len(self.properties)))
            self.result.findings[IN_RANGE.name] = Findings(found, erred=steps)

    def found_errors(self) -> Finding | None:
        """How often the model has left its declaration, and the least of the shortest paths to that."""
        found = [self._finding(at) for at in result_words.errors(len(self.properties))]
        paths = [one.witness for one in found if one.witness is not None]
        if not paths:
            return None
        count = self._count_errors() if self.errors is None else self.errors
        return Finding(count, min(paths, key=lambda path: path.order))

    def _finding(self, at: int) -> Finding:
        count, state, step = (int(number) for number in self.results[at : at + 3])
        if not count:
            return Finding()
        position, steps = self.store.path(state)
        return Finding(count, Witness(self.starts[position].number, (*steps, step) if step >= 0 else tuple(steps)))
