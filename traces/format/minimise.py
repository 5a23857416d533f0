"""Which steps of a failing history does the failure need? The others are left out.

In:  an instance, an initial state, the steps of a history that ends where a property fails.
Out: those of its steps that still lead from there to the same failure, and none of which can be left out.

A step that is left out takes with it what it alone made possible: without a crash there is no restart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from isrcheck.models import run
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.messages.errors import ModelError
from isrcheck.models.run import Cells

Judge = Callable[[list[Cells], list[Step]], bool]
"""Whether states and the steps between them end in the failure that is meant."""


def needed_steps(instance: Instance, initial: Cells, steps: Sequence[Step], is_it: Judge) -> list[Step]:
    """The steps that are needed, each tried in turn, the last first: what it leads to is tried before it."""
    kept = list(steps)
    position = len(kept) - 1
    while position >= 0:
        states, fewer = follow(instance, initial, kept[:position] + kept[position + 1 :])
        if is_it(states, fewer):
            kept = fewer
            position = len(kept)
        position -= 1
    return kept


def follow(instance: Instance, initial: Cells, steps: Sequence[Step]) -> tuple[list[Cells], list[Step]]:
    """The states that steps lead through, the initial one first, and those of the steps that could be taken."""
    states, taken = [initial], []
    for step in steps:
        try:
            after = run.take(instance, states[-1], step)
        except ModelError:  # a step that leaves the declaration leads nowhere
            after = None
        if after is not None:
            states.append(after)
            taken.append(step)
    return states, taken
