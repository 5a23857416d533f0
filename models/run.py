"""The reference semantics: plain CPython calls a model's functions on one state at a time.

Every engine must agree with this file, which certifies every trace. This file is slow and obviously right: a state is a
list of whole numbers in a `State`, which checks every index and every written value, so that no number overflows and no
value leaves its declared range.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isrcheck.models.language.declarations import Disabled
from isrcheck.models.language.model import DEADLOCK, Instance, Property, Step
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.language.states import Cells, State
from isrcheck.models.messages import ModelError

__all__ = [
    "Cells",
    "State",
    "Taken",
    "asks",
    "has_step",
    "holds",
    "holds_step",
    "is_permitted",
    "is_terminal",
    "is_within",
    "successors",
    "take",
]


is_within = Instance.is_within
"""Whether every constraint of the model is true in a state of the instance. Raises ModelError."""


def take(instance: Instance, cells: Cells, step: Step) -> Cells | None:
    """Return the state after `step`, or None if a guard is false, the protocol lacks the action, or a constraint of the
    model is false in the state before the step. Raises ModelError, with the step, if the step writes a value or uses an
    index outside its declared range, or if a constraint cannot be evaluated in the state after the step."""
    function = instance.function(step.action_index)
    if function is None or not instance.is_within(cells):
        return None
    state = State(instance, cells)
    ranges = instance.argument_ranges[step.action_index]
    arguments = [each.argument(ordinal) for each, ordinal in zip(ranges, step.ordinals, strict=True)]
    try:
        instance.python(function)(state, *arguments)
        instance.is_within(state.cells)
    except Disabled:
        return None
    except ModelError as error:
        raise ModelError(f"{function.path}:{function.line}: {instance.spell_step(step)}: {error}") from None
    return state.cells


def successors(instance: Instance, cells: Cells) -> Iterator[tuple[Step, Cells]]:
    """Yield every step that is enabled in this state, with its successor state, in the order of the steps."""
    for step in instance.steps:
        after = take(instance, cells, step)
        if after is not None:
            yield step, after


def has_step(instance: Instance, cells: Cells) -> bool:
    """Whether this state has a step. A step to the same state, and a step that leaves a declared range, count."""
    for step in instance.steps:
        try:
            if take(instance, cells, step) is not None:
                return True
        except ModelError:
            return True
    return False


def is_terminal(instance: Instance, cells: Cells) -> bool:
    """Whether a `@terminal` predicate of the model is true in this state: a behaviour may end in it. Raises ModelError
    if a predicate cannot be evaluated."""
    for terminal in instance.model.terminals:
        try:
            if instance.python(terminal)(State(instance, cells)):
                return True
        except ModelError as error:
            raise ModelError(f"{terminal.path}:{terminal.line}: {terminal.name}: {error}") from None
    return False


def holds(instance: Instance, prop: Property, cells: Cells) -> bool:
    """Whether a property of states is true in this state. Raises ModelError if the property cannot be evaluated."""
    if prop is DEADLOCK:
        return not instance.is_within(cells) or has_step(instance, cells) or is_terminal(instance, cells)
    return _ask(instance, prop, State(instance, cells))


def holds_step(instance: Instance, prop: Property, before: Cells, step: Step, after: Cells) -> bool:
    """Whether a property of transitions is true of `step`. Raises ModelError if the property cannot be evaluated."""
    arguments: list[Any] = [State(instance, before), State(instance, after)]
    if len(prop.function.parameters) == 3:
        arguments.append(Taken(instance, step))
    return _ask(instance, prop, *arguments)


class Taken:
    """The step that a property of transitions gets as its argument `taken`; it equals the name of the step's action."""

    def __init__(self, instance: Instance, step: Step) -> None:
        self._action = instance.model.actions[step.action_index].name

    def __eq__(self, other: object) -> bool:
        return other == self._action


def is_permitted(instance: Instance, prop: Property, cells: Cells) -> bool:
    """Whether the configuration permits the property to fail in this state."""
    return prop.permitted is not None and _ask(instance, prop, State(instance, cells), function=prop.permitted)


def asks(instance: Instance, prop: Property, premise: Function, cells: Cells) -> bool:
    """Whether a `leads_to` property's premise is true in a state. Raises ModelError if the premise has no value."""
    return _ask(instance, prop, State(instance, cells), function=premise)


def _ask(instance: Instance, prop: Property, *arguments: Any, function: Function | None = None) -> bool:
    predicate = function or prop.function
    try:
        return bool(instance.python(predicate)(*arguments))
    except ModelError as error:
        raise ModelError(f"{predicate.path}:{predicate.line}: {prop.name}: {error}") from None
