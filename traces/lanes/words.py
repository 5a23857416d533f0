"""Steps in plain words: picks the words of an action from tables, and joins lists.

In:  a step, the state before it, and the tables of a model.
Out: a clause; None if the tables lack the action, or know it with other parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from string import Formatter

from isrcheck.models.language.model import Instance, Step
from isrcheck.models.run import State
from isrcheck.traces.format.trace import arguments_of

ByState = Callable[..., str]
"""Takes the state before a step, and the arguments of the step by their names."""


def words_for(
    plain: Mapping[str, str], by_state: Mapping[str, ByState], instance: Instance, step: Step, s: State
) -> str | None:
    """Return the words of a step: a text of `plain` with the arguments inserted, or what a function of `by_state`
    returns."""
    ranges = instance.argument_ranges[step.action_index]
    spelled = {one.parameter.name: one.spell(ordinal) for one, ordinal in zip(ranges, step.ordinals, strict=True)}
    if (text := plain.get(step.action)) is not None:
        return text.format(**spelled) if _placeholders(text) <= spelled.keys() else None
    if (function := by_state.get(step.action)) is not None and _parameters(function) == spelled.keys():
        return function(s, **arguments_of(instance, step))
    return None


@cache
def _placeholders(text: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in Formatter().parse(text) if name is not None)


@cache
def _parameters(function: ByState) -> frozenset[str]:
    return frozenset([*inspect.signature(function).parameters][1:])


def listed(items: Iterable[str]) -> str:
    """Return items as a part of a sentence: `a`, `a and b`, `a, b and c`; `nothing` if there are none."""
    *others, last = [*items] or ["nothing"]
    return f"{', '.join(others)} and {last}" if others else last
