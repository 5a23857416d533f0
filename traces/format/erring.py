"""Explains violations of the implicit property `in_range`, by the reference semantics.

In:  a path: an initial state and steps. The path may end in an error: a step that writes a value or uses an index out
     of range, or a property whose evaluation in the last state or transition does so.
Out: an `Error`: the step or the property that causes the error, and the message of models/run.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from isrcheck.models import run
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import DEADLOCK, Instance, Property, Step
from isrcheck.models.messages import ModelError, escaped
from isrcheck.models.run import Cells


class NoErrorError(AssertionError):
    """An engine reports an error of the model, but plain Python (models/run.py) finds none."""


@dataclass(frozen=True)
class Error:
    """The source of an error: the step after the last state, or otherwise the property that cannot be evaluated."""

    step: Step | None
    property_name: str | None
    message: str


@dataclass(frozen=True)
class Path:
    """The states along a path, and the steps between them; `erring` is a last step that causes an error, or None."""

    states: tuple[Cells, ...]
    steps: tuple[Step, ...]
    erring: Step | None


def path_of(instance: Instance, initial: int, numbers: Sequence[int]) -> Path:
    """Return the path from initial state number `initial`, computed in plain Python. Raises NoErrorError if a step is
    not enabled, or causes an error before the last step."""
    states, steps = [instance.initial_states[initial]], [instance.step(number) for number in numbers]
    for position, step in enumerate(steps, 1):
        try:
            after = run.take(instance, states[-1], step)
        except ModelError as error:
            if position == len(steps):
                return Path(tuple(states), tuple(steps[:-1]), step)
            raise NoErrorError(f"step {position} of {len(steps)} already causes an error: {error}") from None
        if after is None:
            raise NoErrorError(f"step {position} ({instance.spell_step(step)}) is not enabled")
        states.append(after)
    return Path(tuple(states), tuple(steps), None)


def error_of(instance: Instance, initial: int, numbers: Sequence[int]) -> Error:
    """Return the error at the end of a path, given as for `path_of`. Raises NoErrorError if there is none."""
    path = path_of(instance, initial, numbers)
    found = error_at_end(instance, path.states, path.steps, path.erring)
    if found is None:
        raise NoErrorError("the engine reports a value or an index out of range, but plain Python finds no error")
    return found


def error_at_end(
    instance: Instance, states: Sequence[Cells], steps: Sequence[Step], erring: Step | None
) -> Error | None:
    """Return the error of the step `erring`, or, without such a step, the first error of a property that occurs at the
    end of the path and not before. None if there is no such error."""
    if erring is None:
        return next(errors_in_properties(instance, states, steps), None)
    message = error_in_step(instance, states[-1], erring)
    return None if message is None else Error(erring, None, escaped(message))


def without_folders(instance: Instance, message: str) -> str:
    """Return an error message of models/run.py with the name of the model's file in place of its path."""
    for source in map(escaped, instance.model.sources):
        if message.startswith(f"{source}:"):
            return f"{PurePath(source).name}{message[len(source) :]}"
    return message


def error_in_step(instance: Instance, cells: Cells, step: Step) -> str | None:
    """Return the error that occurs when a step is taken, or None."""
    try:
        run.take(instance, cells, step)
    except ModelError as error:
        return str(error)
    return None


def possible_steps(instance: Instance, cells: Cells) -> Iterator[tuple[Step, Cells]]:
    """Return every enabled step with its successor state, in order, except steps that cause an error."""
    for step in instance.steps:
        try:
            after = run.take(instance, cells, step)
        except ModelError:
            continue
        if after is not None:
            yield step, after


def errors_in_properties(instance: Instance, states: Sequence[Cells], steps: Sequence[Step]) -> Iterator[Error]:
    """Return the properties that cannot be evaluated at the end of a path, but could at every earlier position.

    Properties of transitions come first, as in a search.
    """
    last = len(states) - 1
    for prop in sorted((*instance.properties, DEADLOCK), key=lambda prop: not prop.of_steps):
        message = error_in(instance, prop, states, steps, last)
        if message is not None and not any(error_in(instance, prop, states, steps, i) for i in range(last)):
            yield Error(None, prop.name, escaped(message))


def error_in(
    instance: Instance, prop: Property, states: Sequence[Cells], steps: Sequence[Step], position: int
) -> str | None:
    """Return the error that occurs when a property is evaluated in a state or on the step to the state; or None."""
    try:
        if not prop.of_steps:
            truth = run.holds(instance, prop, states[position])
        elif position:
            truth = run.holds_step(instance, prop, states[position - 1], steps[position - 1], states[position])
        else:
            return None
        if not truth and prop.kind is not Kind.SOMETIMES:
            run.is_permitted(instance, prop, states[position])
            if prop.premise is not None:
                run.asks(instance, prop, prop.premise, states[position])
    except ModelError as error:
        return str(error)
    return None
