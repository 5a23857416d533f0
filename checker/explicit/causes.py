"""Finds several counterexamples of one property with distinct causes, those with the fewest faults first.

Every path on which the property fails for the first time is a candidate. The search takes no steps after a violation,
because it would mostly find the same violation again, with irrelevant steps added. As in every breadth-first search,
each state has one path: of its shortest paths, the first in the order of initial states and steps.

Steps that the violation does not need are removed (traces/explaining/slicing.py), so that irrelevant faults do not
count. The remaining steps determine the cause (traces/explaining/cause.py). There is one trace for each cause, except
for causes that contain another cause.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.carrier import KernelRunner, SearchContext, SearchRequest, SingleThread
from isrcheck.checker.explicit.explore import Search
from isrcheck.checker.explicit.visited_set import Batch
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.causes import MOST_ALIKE, Counterexample, DistinctCauses
from isrcheck.checker.results.exploration import Progress, StepPath
from isrcheck.checker.results.kernel_results import EntryKind, KernelResults
from isrcheck.checker.results.verdict import Word
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Property, Step
from isrcheck.models.messages import ModelError
from isrcheck.models.run import Cells
from isrcheck.traces.explaining.cause import Cause, broken_part, budget_fields, cause_of
from isrcheck.traces.explaining.slicing import needed_steps, take_steps
from isrcheck.traces.format.certify import from_steps, judgements
from isrcheck.traces.format.trace import Trace


class ViolatingStates:
    """Finds all states, or all steps, that violate a property, in one visited set (checker/explicit/visited_set.py).

    The kernel only counts the failures among consecutive states. If some of these states fail, but not all, each half
    is counted, and so on, until the failing states are found.
    """

    def __init__(self, instance: Instance, kernel: Kernel, visited: Any, prop: Property) -> None:
        count = len(instance.model.properties)
        self.instance = instance
        self.kernel = kernel
        self.runner = KernelRunner(kernel, instance)
        self.visited = visited
        self.prop = prop
        self.number = instance.model.properties.index(prop)
        self.active: NDArray[np.int8] = np.zeros(count + 1, np.int8)
        self.active[self.number] = 1
        self.results = KernelResults(count)
        self.fired: NDArray[np.int64] = np.zeros(len(instance.model.actions), np.int64)
        self.batch = Batch.of(2 * instance.first_steps[-1] + 1, kernel.layout.words)

    def states(self, first: int, last: int) -> tuple[list[int], list[int]]:
        """Return the states first..last-1 that violate the property, and those in which its failure is permitted."""
        failing: tuple[list[int], list[int]] = ([], [])
        waiting = [(first, last)]
        while waiting:
            low, high = waiting.pop()
            if low >= high:
                continue
            self.results.clear()
            self.runner.check(self.visited.states.ctypes.data, low, high, self.active, self.results)
            broken, permitted = self._counts()
            if broken == high - low or permitted == high - low:
                failing[permitted > 0].extend(range(low, high))
            elif broken or permitted:
                middle = (low + high) // 2
                waiting += [(middle, high), (low, middle)]  # the lower half is processed first
        return failing

    def steps(self, state: int) -> tuple[list[int], list[int]]:
        """The steps from a state that violate the property, and the steps on which its failure is permitted."""
        failing: tuple[list[int], list[int]] = ([], [])
        self.results.clear()
        states, counts = self.visited.states.ctypes.data, (self.fired, self.active, self.results)
        _, count = self.runner.expand(states, state, state + 1, self.batch, *counts)
        if not any(self._counts()):
            return failing  # the kernel only counts, and names the first step
        before = self.kernel.layout.unpack(self.visited.state(state))
        numbers: Iterable[int] = map(int, self.batch.steps[:count])
        if self.instance.model.constraints:  # the kernel has also judged steps whose successor it does not keep
            numbers = range(self.instance.first_steps[-1])
        for number in numbers:
            is_permitted = _fails(self.instance, self.prop, before, self.instance.step(number))
            if is_permitted is not None:
                failing[is_permitted].append(number)
        return failing

    def _counts(self) -> tuple[int, int]:
        return self.results.count(self.number), self.results.count(self.number, EntryKind.PERMITTED)


def _fails(instance: Instance, prop: Property, before: Cells, step: Step) -> bool | None:
    """True if a property fails on a step and the failure is permitted, False if the failure is not permitted. None if
    the step is not possible, the property holds, or the step or the property cannot be evaluated."""
    try:
        after = run.take(instance, before, step)
        if after is None or run.holds_step(instance, prop, before, step, after):
            return None
        return run.is_permitted(instance, prop, after)
    except ModelError:
        return None


@dataclass(frozen=True)
class End:
    """The end of a path to a violation: a state's number, the number of the violating step from it (-1: the state
    itself violates), and the packed words of the path's last state."""

    state: int
    step: int
    words: NDArray[np.uint64]


class FirstViolations(SingleThread):
    """A search that takes no steps after a failure of `prop`, and collects these failures in `ends`. With `permitted`,
    only permitted failures count, otherwise only violations."""

    def __init__(self, context: SearchContext, prop: Property, *, permitted: bool) -> None:
        super().__init__(context)
        self.prop = prop
        self.permitted = permitted
        self.number = context.instance.model.properties.index(prop)
        self.kind = EntryKind.PERMITTED if permitted else EntryKind.FOUND
        self.ends: list[End] = []
        self.failing = ViolatingStates(context.instance, context.kernel, self.visited, prop)
        self.counted = 0

    def check(self, first: int, last: int) -> None:
        """Evaluate the properties in states first..last-1, and append the states in which `prop` fails to `ends`."""
        super().check(first, last)
        if not self.prop.of_steps and self.context.result.stopped is None:
            failing = self.failing.states(first, last)[self.permitted]
            self.ends += [End(state, -1, self.visited.state(state)) for state in failing]

    def expand(self, first: int, last: int) -> None:
        """Insert the successors of the states first..last-1, but not of the states in which `prop` fails."""
        ended = [end.state for end in self.ends if end.state >= first] if not self.prop.of_steps else []
        for before, after in pairwise([first - 1, *ended, last]):
            if before + 1 < after:
                super().expand(before + 1, after)
            if self.context.result.stopped:
                return
        self.context.expanded = last  # the states in which a path ends have no successors in this search

    def keep(self, generated: int) -> int:
        """Move the steps on which `prop` fails from the batch to `ends`; return how many successors are left."""
        count = self.context.results.count(self.number, self.kind)
        if not self.prop.of_steps or count == self.counted:
            return generated
        self.counted = count
        parents, steps = self.batch.parents[:generated], self.batch.steps[:generated]
        states = self.batch.states.reshape(-1, self.context.kernel.layout.words)
        staying = np.ones(generated, bool)
        for state in np.unique(parents):
            failing = self.failing.steps(int(state))[self.permitted]
            for place in np.flatnonzero((parents == state) & np.isin(steps, failing)):
                staying[place] = False
                self.ends.append(End(int(state), int(steps[place]), states[place].copy()))
        left = int(staying.sum())
        states[:left] = states[:generated][staying]
        parents[:left], steps[:left] = parents[staying], steps[staying]
        return left


SEARCH_SHARE = 0.5
"""The share of the time limit that the search may take; the rest of the time is for examining its paths."""

PATIENCE = 5.0
"""Seconds for examining the results of an interrupted search."""


def distinct_causes(
    instance: Instance,
    prop: Property,
    word: Word,
    most: int,
    limits: Limits,
    kernel: Kernel,
    command: str,
    report: Callable[[Progress], None],
    tell: Callable[[str, float], None],
) -> DistinctCauses:
    """Find at most `most` counterexamples with distinct causes, in which `prop` fails with the verdict `word`. Each
    trace names `command` as the command that reproduces it. `tell` gets a progress text and the elapsed seconds."""
    share = None if limits.seconds is None else limits.seconds * SEARCH_SHARE
    request = SearchRequest(watched=(prop,), count_all=True)
    context = SearchContext(instance, replace(limits, seconds=share), kernel, request, report)
    carrier = FirstViolations(context, prop, permitted=word is Word.PERMITTED)
    search = Search(context, carrier)
    exploration = search.run()
    began = time.monotonic()
    left = float("inf") if limits.seconds is None else limits.seconds - exploration.seconds
    left = min(left, PATIENCE) if exploration.stopped == "interrupt" else left
    causes: dict[Cause, Trace] = {}
    examined, stopped = 0, exploration.stopped
    try:
        for path in _candidates(search, carrier.ends):
            if len(causes) == most:
                break
            if time.monotonic() > began + left:
                stopped = stopped or "seconds"
                break
            examined += 1
            trace = _without_needless(instance, prop, word, path, command)
            if trace is not None:
                _add(causes, trace)
            tell(f"{examined:,} of {len(carrier.ends):,} paths examined", time.monotonic() - began)
    except KeyboardInterrupt:
        stopped = "interrupt"
    stopped = None if len(causes) == most and stopped != "interrupt" else stopped
    examples = [Counterexample(trace, cause) for cause, trace in causes.items()]
    examples.sort(key=lambda example: (example.cause.fault_count, example.trace.length))
    return DistinctCauses(prop, word, most, exploration, len(carrier.ends), examined, stopped, tuple(examples))


def _candidates(search: Search, ends: Sequence[End]) -> Iterator[StepPath]:
    """Yield the paths to `ends`, those with the fewest faults first, then by length, then in the order of discovery. Of
    the paths with the same faults and the same actions in the same order, only the first MOST_ALIKE are yielded."""
    if not ends:
        return
    context = search.context
    states = np.array([end.words for end in ends])
    values = dict(context.instance.configuration.items())
    columns = [
        values[name] - context.kernel.layout.column(states, place.offset)
        for name, place in budget_fields(context.instance).items()
    ]
    spent = np.array(columns).reshape(len(columns), len(states)).T
    alike: Counter[Any] = Counter()
    for number in np.argsort(spent.sum(axis=1), kind="stable"):
        path = search.path(ends[number].state, ends[number].step)
        shape = spent[number].tobytes(), tuple(context.instance.step(step).action_index for step in path.steps)
        alike[shape] += 1
        if alike[shape] <= MOST_ALIKE:
            yield path


def _without_needless(instance: Instance, prop: Property, word: Word, path: StepPath, command: str) -> Trace | None:
    """The path to a failure, without the steps that the failure does not need. None if the verdict on the shortened
    path is not `word`: a violation can become a permitted failure, or the reverse."""
    candidate = from_steps(instance, path.initial, path.steps, prop.name, command, word.value)
    steps = _needed(candidate)
    states, _ = take_steps(instance, candidate.states[0], steps)
    if judgements(instance, prop, states, steps)[-1] != word.value:
        return None
    return from_steps(instance, path.initial, [step.number for step in steps], prop.name, command, word.value)


def _add(causes: dict[Cause, Trace], trace: Trace) -> None:
    """Add a trace under its cause, and remove the causes that contain this cause. Do nothing if `causes` has a smaller
    cause that this cause contains, or a trace with the same cause that is at most as long."""
    cause = cause_of(trace)
    is_shorter = cause in causes and trace.length < causes[cause].length
    if is_shorter or not any(other.is_part_of(cause) for other in causes):
        for other in [other for other in causes if cause.is_part_of(other)]:
            del causes[other]
        causes[cause] = trace


def _needed(trace: Trace) -> list[Step]:
    """The steps that suffice for a failure in which the same expressions of the property are false as in `trace`."""
    instance, prop, part = trace.instance, trace.prop, broken_part(trace)
    assert prop is not None

    def fails_alike(states: Sequence[Cells], steps: Sequence[Step]) -> bool:
        *earlier, last = judgements(instance, prop, states, steps)
        if last is None or last in earlier:
            return False
        return broken_part(replace(trace, states=tuple(states), steps=tuple(steps), verdict=last)) == part

    return needed_steps(instance, trace.states[0], trace.steps, fails_alike)
