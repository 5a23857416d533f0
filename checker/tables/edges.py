"""A sample of the steps between states: all steps from the first states of each level.

In:  the results of a search.
Out: edges in the order of the search, which is the same for every engine.

Most engines do not keep the states of the levels, so the sampled levels are searched again; plain Python takes steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.carrier import EVERY_STATE, SearchContext
from isrcheck.checker.explicit.explore import Reached, Search
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.model import Step
from isrcheck.models.run import Cells
from isrcheck.traces.format.erring import possible_steps

MOST_STATES = 100_000
"""Only the first levels, with at most this many states in total, are sampled."""

MOST_OF_A_LEVEL = 20
"""The most states that are sampled from a level."""


@dataclass(frozen=True)
class Edge:
    """A step from a state at `depth`, with the cells before and after the step."""

    depth: int
    before: Cells
    step: Step
    after: Cells


def sampled_edges(exploration: Exploration, kernel: Kernel) -> Iterator[Edge]:
    """Yield every step from the first states of each expanded level. Raises KeyboardInterrupt."""
    totals = list(accumulate(exploration.levels))
    within = sum(total <= MOST_STATES for total in totals)
    # All states of these levels were expanded; a step that leaves a declared range has no next state, so is no edge.
    expanded = exploration.judged + exploration.exhausted
    levels = min(within, expanded)
    if levels <= 0:
        return
    context = SearchContext(exploration.instance, Limits(depth=levels - 1), kernel, EVERY_STATE)
    search = Search(context)
    found = search.run()
    if found.stopped == "interrupt":
        raise KeyboardInterrupt
    assert found.stopped is None, "these levels fitted into the limits before"
    reached = Reached(kernel, search.visited, found.levels, context.starts)
    for depth, states in enumerate(reached.first_of_levels(MOST_OF_A_LEVEL)):
        for before in states:
            for step, after in possible_steps(exploration.instance, before):
                yield Edge(depth, before, step, after)
