"""The reference semantics: plain CPython calls a model's functions on one state at a time.

In:  an `Instance`, the cells of a state, a step.
Out: successors and truth values. Every engine has to agree with this file, which certifies every trace.

It is slow and obviously right: a state is a list of whole numbers behind an object that checks every index and every
written value, so that nothing wraps around and no value leaves its declared range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from isrcheck.models.language.declare import Disabled
from isrcheck.models.language.model import FieldLayout, Instance, Property, Step
from isrcheck.models.language.syntax import Function
from isrcheck.models.messages.errors import ModelError

Cells = tuple[int, ...]
"""One state: the cells of all fields, in order of declaration."""


class State:
    """The state that a model's functions see: fields and configuration entries as attributes, arrays by index.

    Raises ModelError for an index outside a field, and for a written value outside the field's range.
    """

    __slots__ = ("_cells", "_instance")
    _cells: list[int]
    _instance: Instance

    def __init__(self, instance: Instance, cells: Sequence[int]) -> None:
        object.__setattr__(self, "_instance", instance)
        object.__setattr__(self, "_cells", list(cells))

    def __getattr__(self, name: str) -> Any:
        layout = self._instance.layouts.get(name)
        if layout is None:
            value = getattr(self._instance.configuration, name)
            return bool(value) if self._instance.model.entries[name].values is bool else value
        if layout.sizes:
            return _ArrayView(self._cells, layout, layout.offset, 0)
        return _load(self._cells, layout, layout.offset)

    def __setattr__(self, name: str, value: int) -> None:
        layout = self._instance.layouts[name]
        _store(self._cells, layout, layout.offset, value)

    @property
    def cells(self) -> Cells:
        """The cells of the state, as numbers."""
        return tuple(self._cells)


class _ArrayView:
    """An array field, or one of its rows, that still needs an index."""

    __slots__ = ("_cells", "_depth", "_layout", "_offset")

    def __init__(self, cells: list[int], layout: FieldLayout, offset: int, depth: int) -> None:
        self._cells = cells
        self._layout = layout
        self._offset = offset
        self._depth = depth

    def _at(self, index: int) -> int:
        sizes = self._layout.sizes
        if not 0 <= index < sizes[self._depth]:
            raise ModelError(
                f"index {int(index)} of {self._layout.name} is outside 0..{sizes[self._depth] - 1};"
                " test the index before it is used"
            )
        offset = int(index)
        for size in sizes[self._depth + 1 :]:
            offset *= size
        return self._offset + offset

    def __getitem__(self, index: int) -> Any:
        offset = self._at(index)
        if self._depth + 1 < len(self._layout.sizes):
            return _ArrayView(self._cells, self._layout, offset, self._depth + 1)
        return _load(self._cells, self._layout, offset)

    def __setitem__(self, index: int, value: int) -> None:
        _store(self._cells, self._layout, self._at(index), value)


def _load(cells: list[int], layout: FieldLayout, offset: int) -> int | bool:
    value = cells[offset]
    return bool(value) if layout.field.values.is_flag else value


def _store(cells: list[int], layout: FieldLayout, offset: int, value: int) -> None:
    if not layout.low <= value <= layout.high:
        raise ModelError(
            f"{int(value)} is written to {layout.name}, whose values are {layout.low}..{layout.high};"
            " guard the step, or widen the field"
        )
    cells[offset] = int(value)


def take(instance: Instance, cells: Cells, step: Step) -> Cells | None:
    """Return the state after `step`, or None if a guard is false or the protocol lacks the action.

    Raises ModelError, with the step and the state, if a value or an index leaves its declared range.
    """
    function = instance.function(step.action_index)
    if function is None:
        return None
    state = State(instance, cells)
    ranges = instance.argument_ranges[step.action_index]
    arguments = [one.argument(ordinal) for one, ordinal in zip(ranges, step.ordinals, strict=True)]
    try:
        instance.python(function)(state, *arguments)
    except Disabled:
        return None
    except ModelError as error:
        raise ModelError(f"{function.path}:{function.line}: {instance.spell_step(step)}: {error}") from None
    return state.cells


def successors(instance: Instance, cells: Cells) -> Iterator[tuple[Step, Cells]]:
    """Every enabled step in this state with its successor state, in the order of the steps."""
    for step in instance.steps:
        after = take(instance, cells, step)
        if after is not None:
            yield step, after


def holds(instance: Instance, prop: Property, cells: Cells) -> bool:
    """Whether a property of states is true in this state. Raises ModelError if it cannot be evaluated there."""
    return _ask(instance, prop, State(instance, cells))


def holds_step(instance: Instance, prop: Property, before: Cells, step: Step, after: Cells) -> bool:
    """Whether a property of transitions is true of this transition. Raises ModelError if it cannot be evaluated."""
    arguments: list[Any] = [State(instance, before), State(instance, after)]
    if len(prop.function.parameters) == 3:
        arguments.append(Taken(instance, step))
    return _ask(instance, prop, *arguments)


class Taken:
    """The action of a step; it equals the action's name in a model."""

    def __init__(self, instance: Instance, step: Step) -> None:
        self._action = instance.model.actions[step.action_index].name

    def __eq__(self, other: object) -> bool:
        return other == self._action

    __hash__ = None  # type: ignore[assignment]


def is_permitted(instance: Instance, prop: Property, cells: Cells) -> bool:
    """Whether the configuration permits the property to fail in this state."""
    return prop.permitted is not None and _ask(instance, prop, State(instance, cells), function=prop.permitted)


def asks(instance: Instance, prop: Property, premise: Function, cells: Cells) -> bool:
    """Whether the premise of a `leads_to` property is true in this state. Raises ModelError."""
    return _ask(instance, prop, State(instance, cells), function=premise)


def _ask(instance: Instance, prop: Property, *arguments: Any, function: Function | None = None) -> bool:
    asked = function or prop.function
    try:
        return bool(instance.python(asked)(*arguments))
    except ModelError as error:
        raise ModelError(f"{asked.path}:{asked.line}: {prop.name}: {error}") from None
