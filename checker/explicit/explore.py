"""Breadth-first search over a compiled model: exact, level by level, always in the same order.

The result is the same for any number of threads unless a limit stops the search: the number of states in each level,
how often each action fired, and for each property the path to the first state (or transition) that violates or reaches
it; on request, `Reached`, which answers queries about the visited states.

A step that leaves a declared range has no successor, and a property whose evaluation leaves a declared range is not
judged in that state. Both violate the implicit property `in_range`, and the search goes on. A state without a step
violates the implicit property `deadlock` when it is expanded, unless the model declares that it may end there; a search
that ends because every declared property is decided does not expand the remaining states.

States are expanded in the order of their discovery, and the steps of a state in the order of the model. Therefore the
path found for a state is, of its shortest paths, the first in the order of initial states and steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.compile.machine_code import OutOfTimeError, compiling_within
from isrcheck.checker.explicit.carrier import (
    EVERY_STATE,
    Carrier,
    SearchContext,
    SearchRequest,
    SingleThread,
    Starts,
)
from isrcheck.checker.explicit.liveness import judge_whole, why_unjudged
from isrcheck.checker.explicit.reduced_search import concluded
from isrcheck.checker.explicit.threads import Threads
from isrcheck.checker.explicit.visited_set import Full
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration, Finding, Findings, Progress, StepPath
from isrcheck.checker.results.kernel_results import Entry, EntryKind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance, Property
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells


class Search:
    """A breadth-first search: `run` runs it; afterwards `visited` still holds the visited states."""

    def __init__(self, context: SearchContext, carrier: Carrier | None = None) -> None:
        self.context = context
        self.carrier = carrier or SingleThread(context)
        self.result = context.result

    @property
    def visited(self) -> Any:
        """The visited set."""
        return self.carrier.visited

    def run(self) -> Exploration:
        """Run the search and return its result; if a limit or Ctrl-C ends the search early, the result so far."""
        context, result = self.context, self.result
        try:
            # If the model leaves a declared range, the search compiles a careful kernel.
            with compiling_within(context.limits.seconds), self.carrier:
                self._levels()
                result.frontier = self.visited.count - context.expanded
                judge_whole(self.carrier, self.path)
        except KeyboardInterrupt:
            result.stopped = "interrupt"
        except Full:
            result.stopped = "memory"
        except OutOfTimeError:
            result.stopped = "seconds"
        result.frontier = self.visited.count - context.expanded
        if sum(result.levels) < self.visited.count:
            result.levels.append(self.visited.count - sum(result.levels))
        result.seconds = time.monotonic() - context.started
        result.bytes_used = self.visited.bytes_used
        result.fired = [int(count) for count in context.fired]
        result.outside = context.results.outside
        result.generated += result.outside  # the carrier counts those that it keeps
        bounds = context.instance.first_steps
        new = self.visited.found_by(len(context.starts), bounds[-1])
        result.new = [int(new[low:high].sum()) for low, high in pairwise(bounds)]
        self.carrier.finish()
        self._collect()
        return result

    def _levels(self) -> None:
        result, request = self.result, self.context.request
        first = self.carrier.start()
        while True:
            last = self.visited.count
            result.levels.append(last - first)
            result.depth = len(result.levels) - 1
            if result.depth or not request.starts_are_judged:
                self.carrier.check(first, last)
                if not result.stopped:
                    self._settle(of_steps=False)
            if not result.stopped:
                result.judged = result.depth
            if first == last or result.stopped or not self.is_open():
                break
            if self.context.limits.depth is not None and result.depth >= self.context.limits.depth:
                break
            if request.enough is not None and last - first >= request.enough:
                break
            self.carrier.expand(first, last)
            if result.stopped:
                break
            self._settle(of_steps=True)
            self.carrier.close_level()
            if self.visited.count == last:
                break
            first = last

    def is_open(self) -> bool:
        """Whether the search must go on: some property is undecided, or all violations or states are to be counted."""
        context = self.context
        return context.request.count_all or bool(context.active[:-1].any()) or not context.watched

    def _settle(self, of_steps: bool) -> None:
        """Stop evaluating the decided properties of steps (`of_steps`) or states, unless all violations are counted."""
        context, request = self.context, self.context.request
        if request.count_all:
            return
        deadlock = len(context.properties)
        if of_steps and context.errors is None:
            # Only the end of a shorter path was judged while steps were taken.
            context.errors = context.results.count(deadlock, EntryKind.ERRED) or None
        if not of_steps and context.errors is None:
            # On a path of this length, properties of states are the last that can leave a declared range.
            context.errors = context.results.error_count or None
        if context.results.count(deadlock):
            context.active[-1] = 0
        for number, prop in context.properties:
            is_judged = context.active[number] and prop.of_steps == of_steps
            if is_judged and context.results.count(number, request.decisive):
                context.active[number] = 0
                if prop.name in request.patience and context.results.count(number):
                    context.deadline = min(context.deadline, time.monotonic() + request.patience[prop.name])

    def _collect(self) -> None:
        result, context = self.result, self.context
        for number, prop in context.properties:
            if prop in context.watched:
                result.findings[prop.name] = self.findings(number, prop)
        ends, _, erred = (self.counted(len(context.properties), kind) for kind in EntryKind)
        if ends.count or erred.count:
            result.findings[DEADLOCK.name] = Findings(ends, erred=erred)
        if result.stopped is None and not self.is_open() and result.frontier:
            result.stopped = "decided"
        count = context.results.error_count if context.errors is None else context.errors
        errors = self.total(context.results.errors)
        if errors.path is not None:
            steps = self.finding(context.results.erring_steps)
            result.findings[IN_RANGE.name] = Findings(Finding(count, errors.path), erred=steps)

    def findings(self, number: int, prop: Property) -> Findings:
        """Return the results of a property so far: counts with paths, and the reason why it has no verdict (or "")."""
        reached, permitted, erred = (self.counted(number, kind) for kind in EntryKind)
        whole = self.context.judged.get(prop.name, Findings(reached, permitted))
        return Findings(whole.found, whole.permitted, erred, why_unjudged(self.carrier, prop))

    def counted(self, number: int, kind: EntryKind) -> Finding:
        """Return the number of results of one kind of a property, in and outside the constraint, and the first path."""
        return self.total(self.context.results.entries(number, kind))

    def total(self, entries: Iterable[Entry]) -> Finding:
        """The sum of several counts of the kernel, with the path that the search found first."""
        findings = list(map(self.finding, entries))
        paths = [finding.path for finding in findings if finding.path is not None]
        count = sum(finding.count for finding in findings)
        return Finding(count, min(paths, key=lambda path: path.order, default=None))

    def finding(self, entry: Entry) -> Finding:
        """One count of the kernel, with the path to the first state or step that was counted."""
        return Finding(entry.count, self.path(entry.state, entry.step)) if entry.count else Finding()

    def path(self, state: int, step: int = -1) -> StepPath:
        """The path to a state, followed by one more step if `step` is given."""
        position, steps = self.visited.path(state)
        last = (step,) if step >= 0 else ()
        return StepPath(self.context.starts.numbers[position], (*steps, *last))


FIRST_LEVELS, MANY_OF_A_LEVEL = 40, 1000
"""`first_states` stops after FIRST_LEVELS levels, or at the first with at least MANY_OF_A_LEVEL states."""


def first_states(instance: Instance, limits: Limits, kernel: Kernel) -> NDArray[np.int64]:
    """The cells of the first states of a search, one state per row. The search ends after FIRST_LEVELS levels, or after
    the first level with MANY_OF_A_LEVEL states. Of the limits, only time and memory apply."""
    request = replace(EVERY_STATE, enough=MANY_OF_A_LEVEL)
    search = Search(SearchContext(instance, replace(limits, depth=FIRST_LEVELS, threads=1), kernel, request))
    search.run()
    store = search.visited
    packed = store.states[: store.count * store.words].reshape(-1, store.words)
    return kernel.layout.unpack_rows(packed).astype(np.int64)


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
    """Search the states of an instance within limits, and return the results.

    With `count_all`, every violation is counted. Otherwise a property is evaluated up to its first violation (with
    `want_permitted`: its first permitted failure), and the search ends once every property is decided. `only` names the
    properties to evaluate (empty: all that apply). `initial` is the position of the only initial state to start from
    (None: all); raises UsageError if there is no such state. With `keep_states`, the result answers queries about the
    visited states, unless the search was repeated and the repetition cut short (checker/explicit/reduced_search.py).
    `patience` maps the name of a property to the most seconds for which the search goes on after its violation.
    """
    if initial is not None and not 0 <= initial < len(instance.initial_states):
        last = len(instance.initial_states) - 1
        raise UsageError(f"there is no initial state {initial}; the initial states are 0..{last}")
    request = SearchRequest(
        watched=tuple(prop for prop in instance.properties if not only or prop.name in only),
        deadlock=not only or DEADLOCK.name in only,
        count_all=count_all,
        decisive=EntryKind.PERMITTED if want_permitted else EntryKind.FOUND,
        starts=None if initial is None else Starts.initial(instance)[initial : initial + 1],
        patience=patience,
    )
    kernel = kernel or kernel_of(instance, announce)

    search: Search | None = None

    def search_with(kernel: Kernel, limits: Limits) -> Exploration:
        nonlocal search
        context = SearchContext(instance, limits, kernel, request, report)
        search = Search(context, SingleThread(context) if limits.threads == 1 else Threads(context))
        return search.run()

    result = concluded(search_with, kernel, limits, announce)
    assert search is not None
    if keep_states and search.result is result:
        context = search.context
        result.reached = Reached(context.kernel, search.visited, result.levels, context.starts)
    return result


class Reached:
    """Answers queries about the states that a search has visited."""

    def __init__(self, kernel: Kernel, visited: Any, levels: Sequence[int], starts: Starts) -> None:
        self.kernel = kernel
        self.visited = visited
        self.levels = levels
        self.starts = starts

    def sample(self, most: int) -> list[Cells]:
        """About `most` of the visited states, at equal distances in the order of discovery."""
        count = self.visited.count
        return self._unpacked(range(0, count, max(1, count // most)))

    def first_of_levels(self, most: int) -> Iterator[list[Cells]]:
        """The first states of each level, at most `most` each."""
        for first, last in pairwise(accumulate(self.levels, initial=0)):
            yield self._unpacked(range(first, min(first + most, last)))

    def _unpacked(self, numbers: Iterable[int]) -> list[Cells]:
        return list(map(self.kernel.layout.unpack, self.visited.states_at(numbers)))

    def find(self, cells: Sequence[int | None]) -> StepPath | None:
        """The path to the first state whose cells have these values, where None stands for any value. Returns None if
        the search visited no such state."""
        number = self.visited.first_where(lambda states: self._matching(states, cells))
        if number is None:
            return None
        position, steps = self.visited.path(number)
        return StepPath(self.starts.numbers[position], tuple(steps))

    def _matching(self, states: NDArray[np.uint64], cells: Sequence[int | None]) -> NDArray[np.bool_]:
        """For each packed state, one per row, whether its cells have these values, where None stands for any value."""
        matching = np.ones(len(states), bool)
        for position, value in enumerate(cells):
            if value is not None and matching.any():
                matching &= self.kernel.layout.column(states, position) == value
        return matching
