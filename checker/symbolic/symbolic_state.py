"""Symbolic execution without the nodes of functions: values, stack frames, and the cells of symbolic states.

In:  an `Instance`, an and-inverter graph, and an arithmetic (checker/symbolic/one_hot_integers.py or
     checker/symbolic/linear_integers.py).
Out: the operations on values and cells that checker/symbolic/evaluator.py uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph, Truth
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.run import Cells

Value = Any
"""A plain number or truth value, a `Truth`, or a number of the arithmetic in use."""


@dataclass(slots=True, eq=False)
class SymbolicState:
    """A state whose cells are symbolic values; branches replace the list of cells as a whole."""

    cells: list[Value]


@dataclass(slots=True, eq=False)
class Frame:
    """A stack frame: the name of the function, the path condition of its call (`entry`) and within it (`branch`), its
    `result`, and the condition (`returned`) that it has returned.

    The value of a variable can also be a state, a subset, or for each action, by position, whether it was taken.
    """

    name: str
    entry: int
    values: dict[ir.Variable, Value]
    states: Sequence[SymbolicState]
    branch: int = TRUE
    returned: int = FALSE
    result: Value = None


class SymbolicExecution:
    """Values and cells, and the path condition at each point of a function.

    `alive` is the conjunction of the guards so far; `error` is the condition under which a declared range was left.
    """

    def __init__(self, instance: Instance, circuit: AndInverterGraph, arithmetic: Any) -> None:
        self.instance = instance
        self.circuit = circuit
        self.arithmetic = arithmetic
        self.layouts = instance.layouts
        self.frame = Frame("", TRUE, {}, ())
        self.alive = TRUE
        self.error = FALSE

    def _here(self) -> int:
        """The path condition of the current point."""
        frame = self.frame
        return self.circuit.both(self.alive, self.circuit.both(frame.entry, frame.branch))

    def _demand(self, literal: int) -> None:
        """Add the case that a required literal is false at this point to `error`."""
        if literal != TRUE:
            self.error = self.circuit.either(self.error, self.circuit.both(self._here(), -literal))

    def _under(self, condition: int, question: Callable[[], Value]) -> Value:
        """Call `question` under a further path condition."""
        branch = self.frame.branch
        self.frame.branch = self.circuit.both(branch, condition)
        value = question()
        self.frame.branch = branch
        return value

    def truth(self, value: Value) -> int:
        """The literal that a value is true; a number is true if it is not 0, as in Python."""
        if isinstance(value, bool | int):
            return TRUE if value else FALSE
        if isinstance(value, Truth):
            return value.literal
        literal: int = self.arithmetic.compare("!=", value, 0)
        return literal

    def number(self, value: Value) -> Value:
        """A value as a number: a truth value is 0 or 1."""
        if isinstance(value, Truth):
            return self.arithmetic.of_truth(value.literal)
        return int(value) if isinstance(value, bool) else value

    def choose(self, condition: int, yes: Value, no: Value) -> Value:
        """One of two values, depending on a condition."""
        if condition == TRUE or yes is no:
            return yes
        if condition == FALSE:
            return no
        if isinstance(yes, bool | Truth) and isinstance(no, bool | Truth):
            return as_truth(self.circuit.choose(condition, self.truth(yes), self.truth(no)))
        if yes is None or no is None:  # one side has no value, and is never read
            return no if yes is None else yes
        return self.arithmetic.choose(condition, self.number(yes), self.number(no))

    def one_of(self, sides: Sequence[tuple[int, Value]]) -> Value:
        """The value whose literal is true, for pairs of which exactly one literal is true."""
        if len(sides) == 1:
            return sides[0][1]
        if all(isinstance(value, bool | Truth) for _, value in sides):
            both = self.circuit.both
            return as_truth(self.circuit.any(both(chosen, self.truth(value)) for chosen, value in sides))
        return self.arithmetic.one_of([(chosen, self.number(value)) for chosen, value in sides])

    def conjunction(self, asked: Iterable[tuple[int, int]]) -> tuple[int, int]:
        """Whether all of these are true, and whether evaluating them up to the first false one leaves a range; each is
        such a pair itself."""
        holds, error = TRUE, FALSE
        for is_true, fails in asked:
            error = self.circuit.either(error, self.circuit.both(holds, fails))
            holds = self.circuit.all([holds, is_true, -error])
        return holds, error

    def compare(self, sign: str, left: Value, right: Value) -> int:
        """The literal of a comparison such as left < right; `sign` is the operator."""
        if sign in ("==", "!=") and isinstance(left, bool | Truth) and isinstance(right, bool | Truth):
            same = self.circuit.same(self.truth(left), self.truth(right))
            return same if sign == "==" else -same
        literal: int = self.arithmetic.compare(sign, self.number(left), self.number(right))
        return literal

    def entry(self, name: str) -> Value:
        """The value of a configuration entry."""
        value = getattr(self.instance.configuration, name)
        return bool(value) if self.instance.model.entries[name].values is bool else value

    def elements(self, index: Value, size: int) -> list[tuple[int, int]]:
        """The elements of a domain that an index can be, each with its condition."""
        index = self.number(index)
        if isinstance(index, int):
            self._demand(TRUE if 0 <= index < size else FALSE)
            return [(index, TRUE)] if 0 <= index < size else []
        inside, index = self.arithmetic.within(index, 0, size - 1)
        self._demand(inside)
        found = [(element, self.arithmetic.is_element(index, element)) for element in range(size)]
        return [(element, literal) for element, literal in found if literal != FALSE]

    def targets(self, place: FieldLayout, indices: Sequence[Value]) -> list[tuple[int, int]]:
        """The cells that indices can select, each with its condition."""
        found = [(0, TRUE)]
        for index, size in zip(indices, place.sizes, strict=True):
            elements = self.elements(index, size)
            found = [
                (offset * size + element, self.circuit.both(condition, literal))
                for offset, condition in found
                for element, literal in elements
            ]
        return [(place.offset + offset, condition) for offset, condition in found if condition != FALSE]

    def load(self, state: SymbolicState, place: FieldLayout, indices: Sequence[Value]) -> Value:
        """The value of a cell."""
        targets = self.targets(place, indices)
        if not targets:  # the index is always out of range, which was noted
            return False if place.field.values.is_flag else place.low
        value = state.cells[targets[-1][0]]
        for cell, condition in targets[-2::-1]:
            value = self.choose(condition, state.cells[cell], value)
        return value

    def store(self, state: SymbolicState, place: FieldLayout, indices: Sequence[Value], value: Value) -> None:
        """Write to a cell; a value outside the cell's range is added to `error`."""
        targets = self.targets(place, indices)
        if place.field.values.is_flag and isinstance(value, bool | Truth):
            written = value
        else:
            inside, written = self.arithmetic.within(self.number(value), place.low, place.high)
            self._demand(inside)
            if place.field.values.is_flag:
                written = as_truth(self.truth(written))
        for cell, condition in targets:
            state.cells[cell] = self.choose(condition, written, state.cells[cell])


def as_truth(literal: int) -> Value:
    """The truth value of a literal: True or False if it is constant."""
    return literal == TRUE if literal in (TRUE, FALSE) else Truth(literal)


def plain_state(instance: Instance, cells: Cells) -> list[Value]:
    """The cells of a concrete state as values for the evaluator: flags become truth values."""
    values: list[Value] = []
    for place in instance.layouts.values():
        own = cells[place.offset : place.offset + place.count]
        values += map(bool, own) if place.field.values.is_flag else own
    return values
