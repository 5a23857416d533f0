"""Removes the steps of a failing path that the failure does not need.

In:  an instance, an initial state, and the steps of a path that ends where a property fails.
Out: those of the steps that still lead from the initial state to the same failure; none of them can be removed.

Removing a step also removes the steps that only it made possible: without a crash there is no restart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from isrcheck.models import run
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.messages import ModelError
from isrcheck.models.run import Cells

Judge = Callable[[list[Cells], list[Step]], bool]
"""Decides whether a shorter path, given as its states and the steps between them, ends in the same failure."""


def needed_steps(instance: Instance, initial: Cells, steps: Sequence[Step], is_it: Judge) -> list[Step]:
    """Return the steps that the failure needs; `is_it` decides whether a path still ends in it. The last step is tried
    first, so that the consequences of a step are tried before the step itself."""
    kept = list(steps)
    position = len(kept) - 1
    while position >= 0:
        states, fewer = take_steps(instance, initial, kept[:position] + kept[position + 1 :])
        if is_it(states, fewer):
            kept = fewer
            position = len(kept)
        position -= 1
    return kept


def take_steps(instance: Instance, initial: Cells, steps: Sequence[Step]) -> tuple[list[Cells], list[Step]]:
    """Take the steps that are possible; return the states along the path, the initial one first, and these steps."""
    states, taken = [initial], []
    for step in steps:
        try:
            after = run.take(instance, states[-1], step)
        except ModelError:  # a step that causes an error has no successor
            after = None
        if after is not None:
            states.append(after)
            taken.append(step)
    return states, taken
