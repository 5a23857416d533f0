"""Finds several counterexamples of one property with distinct causes, those with the fewest faults first.

In:  an instance, a property that fails, the number of counterexamples wanted, limits.
Out: `DistinctCauses`: a certified trace for each cause that was found, and what is known about further causes.

Every path on which the property fails for the first time is a candidate (checker/causes/first_violations.py). Steps
that the violation does not need are removed (traces/explaining/slicing.py), so that irrelevant faults do not count. The
remaining steps determine the cause (traces/explaining/cause.py). There is one trace for each cause, except for causes
that contain another cause.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from isrcheck.checker.causes.first_violations import End, FirstViolations
from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.carrier import SearchContext, SearchRequest
from isrcheck.checker.explicit.search import Search
from isrcheck.checker.outcome.causes import MOST_ALIKE, Counterexample, DistinctCauses
from isrcheck.checker.outcome.exploration import Progress, StepPath
from isrcheck.checker.outcome.verdict import Word
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.model import Instance, Property, Step
from isrcheck.models.run import Cells
from isrcheck.traces.explaining.cause import Cause, broken_part, budget_fields, cause_of
from isrcheck.traces.explaining.slicing import needed_steps, take_steps
from isrcheck.traces.format.certify import from_steps, judgements
from isrcheck.traces.format.trace import Trace

SEARCH_SHARE = 0.5
"""The share of the seconds that the search may take; the rest is for examining its paths."""

PATIENCE = 5.0
"""Seconds for examining the results of an interrupted search."""


@dataclass
class _CauseSearch:
    """How far the search for the causes of one property's failures has come."""

    instance: Instance
    prop: Property
    word: Word
    command: str
    deadline: float
    looked_at: int = 0
    stopped: str | None = None
    found: dict[Cause, Trace] = field(default_factory=dict)


def distinct_causes(
    instance: Instance,
    prop: Property,
    word: Word,
    asked: int,
    limits: Limits,
    kernel: Kernel,
    command: str,
    report: Callable[[Progress], None],
    tell: Callable[[str, float], None],
) -> DistinctCauses:
    """Find at most `asked` counterexamples with distinct causes, in which `prop` fails with the verdict `word`;
    `command` is the command that reproduces them."""
    share = None if limits.seconds is None else limits.seconds * SEARCH_SHARE
    request = SearchRequest(watched=(prop,), count_all=True)
    context = SearchContext(instance, replace(limits, seconds=share), kernel, request, report)
    first = FirstViolations(context, prop, permitted=word is Word.PERMITTED)
    search = Search(context, first)
    exploration = search.run()
    began = time.monotonic()
    left = float("inf") if limits.seconds is None else limits.seconds - exploration.seconds
    left = min(left, PATIENCE) if exploration.stopped == "interrupt" else left
    state = _CauseSearch(instance, prop, word, command, began + left, stopped=exploration.stopped)
    try:
        for path in _candidates(search, first.ends):
            if len(state.found) == asked:
                break
            if time.monotonic() > state.deadline:
                state.stopped = state.stopped or "seconds"
                break
            _look_at(state, path)
            tell(f"{state.looked_at:,} of {len(first.ends):,} paths examined", time.monotonic() - began)
    except KeyboardInterrupt:
        state.stopped = "interrupt"
    stopped = None if len(state.found) == asked and state.stopped != "interrupt" else state.stopped
    found = sorted(state.found.items(), key=lambda one: (one[0].fault_count, one[1].length))
    examples = tuple(Counterexample(trace, cause) for cause, trace in found)
    return DistinctCauses(prop, word, asked, exploration, len(first.ends), state.looked_at, stopped, examples)


def _candidates(search: Search, ends: Sequence[End]) -> Iterator[StepPath]:
    """The paths to be examined: by the number of faults, then by length and in the order of discovery."""
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


def _look_at(state: _CauseSearch, path: StepPath) -> None:
    state.looked_at += 1
    instance, name = state.instance, state.prop.name
    candidate = from_steps(instance, path.initial, path.steps, name, state.command, state.word.value)
    steps = _needed(candidate)
    states, _ = take_steps(instance, candidate.states[0], steps)
    verdict = judgements(instance, state.prop, states, steps)[-1]
    if verdict != state.word.value:
        return  # without irrelevant steps, a violation can become a permitted failure, or the reverse
    trace = from_steps(instance, path.initial, [step.number for step in steps], name, state.command, verdict)
    cause = cause_of(trace)
    is_shorter = cause in state.found and trace.length < state.found[cause].length
    if is_shorter or not any(other.is_part_of(cause) for other in state.found):
        state.found = {other: there for other, there in state.found.items() if not cause.is_part_of(other)}
        state.found[cause] = trace


def _needed(trace: Trace) -> list[Step]:
    """The steps of a trace without which the same part of the property would not fail."""
    instance, prop, part = trace.instance, trace.prop, broken_part(trace)
    assert prop is not None

    def fails_alike(states: Sequence[Cells], steps: Sequence[Step]) -> bool:
        said = judgements(instance, prop, states, steps)
        if said[-1] is None or said[-1] in said[:-1]:
            return False
        return broken_part(replace(trace, states=tuple(states), steps=tuple(steps), verdict=said[-1])) == part

    return needed_steps(instance, trace.states[0], trace.steps, fails_alike)
