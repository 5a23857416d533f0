"""Explains violations of the implicit property `in_range`, by the reference semantics.

In:  a path: an initial state and steps. Its last step may be one that the model cannot take because it leaves the
     declaration, or a property may not be evaluable in its last state or transition.
Out: an `Error`: the step or the property that errs, and the message of models/run.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from isrcheck.models import run
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.model import Instance, Property, Step
from isrcheck.models.messages.errors import ModelError
from isrcheck.models.messages.printable import escaped
from isrcheck.models.run import Cells


class NoErrorError(AssertionError):
    """An engine reports that the model leaves its declaration, and the reference finds no error."""


@dataclass(frozen=True)
class Error:
    """What leaves the declaration: the step after the last state, or otherwise a property that is evaluated there."""

    step: Step | None
    property_name: str | None
    message: str


@dataclass(frozen=True)
class Path:
    """The states along a path, the steps between them, and the erring step after the last state, if there is one."""

    states: tuple[Cells, ...]
    steps: tuple[Step, ...]
    erring: Step | None


def path_of(instance: Instance, initial: int, numbers: Sequence[int]) -> Path:
    """A path, run by the reference. Raises NoErrorError if a step before the last is not possible."""
    states, steps = [instance.initial_states[initial]], [instance.step(number) for number in numbers]
    for position, step in enumerate(steps, 1):
        try:
            after = run.take(instance, states[-1], step)
        except ModelError as error:
            if position == len(steps):
                return Path(tuple(states), tuple(steps[:-1]), step)
            raise NoErrorError(f"step {position} of {len(steps)} errs earlier: {error}") from None
        if after is None:
            raise NoErrorError(f"step {position} ({instance.spell_step(step)}) is not enabled")
        states.append(after)
    return Path(tuple(states), tuple(steps), None)


def error_of(instance: Instance, initial: int, numbers: Sequence[int]) -> Error:
    """The error at the end of a path. Raises NoErrorError if there is none."""
    path = path_of(instance, initial, numbers)
    found = error_at_end(instance, path.states, path.steps, path.erring)
    if found is None:
        raise NoErrorError("the engine reports that the model leaves its declaration, but the reference finds no error")
    return found


def error_at_end(
    instance: Instance, states: Sequence[Cells], steps: Sequence[Step], erring: Step | None
) -> Error | None:
    """The error that occurs at the end of a path and nowhere before: in the erring step, or otherwise in a property."""
    if erring is None:
        return next(errors_in_properties(instance, states, steps), None)
    message = error_in_step(instance, states[-1], erring)
    return None if message is None else Error(erring, None, escaped(message))


def without_folders(instance: Instance, message: str) -> str:
    """An error message of the reference with file names in place of paths."""
    for source in map(escaped, instance.model.sources):
        if message.startswith(f"{source}:"):
            return f"{PurePath(source).name}{message[len(source) :]}"
    return message


def error_in_step(instance: Instance, cells: Cells, step: Step) -> str | None:
    """The error that occurs when a step is taken, or None."""
    try:
        run.take(instance, cells, step)
    except ModelError as error:
        return str(error)
    return None


def possible_steps(instance: Instance, cells: Cells) -> Iterator[tuple[Step, Cells]]:
    """Every enabled step with its successor state, in order; steps that err have no successor."""
    for step in instance.steps:
        try:
            after = run.take(instance, cells, step)
        except ModelError:
            continue
        if after is not None:
            yield step, after


def errors_in_properties(instance: Instance, states: Sequence[Cells], steps: Sequence[Step]) -> Iterator[Error]:
    """The properties that cannot be evaluated at the end of a path, but can be evaluated at every earlier position.

    Properties of transitions come first, as in a search.
    """
    last = len(states) - 1
    for prop in sorted(instance.properties, key=lambda prop: not prop.of_steps):
        message = error_in(instance, prop, states, steps, last)
        if message is not None and not any(error_in(instance, prop, states, steps, i) for i in range(last)):
            yield Error(None, prop.name, escaped(message))


def error_in(
    instance: Instance, prop: Property, states: Sequence[Cells], steps: Sequence[Step], position: int
) -> str | None:
    """The error that occurs when a property is evaluated in a state or on the step that led there; or None."""
    try:
        if not prop.of_steps:
            truth = run.holds(instance, prop, states[position])
        elif position:
            truth = run.holds_step(instance, prop, states[position - 1], steps[position - 1], states[position])
        else:
            return None
        if not truth and prop.kind is not Kind.SOMETIMES:
            run.is_permitted(instance, prop, states[position])
    except ModelError as error:
        return str(error)
    return None
