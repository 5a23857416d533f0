"""The transition system of an instance as Boolean formulas: one state, every step from it, and what is asked of both.

In:  an `Instance`.
Out: a `Relation` over the variables of one state and of the choice of a step, made once and then copied for every depth
     (checker/symbolic/unrolling.py) or asked about one transition at a time (checker/proofs/induction.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.resources.formula_budget import FormulaBudget
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, Circuit
from isrcheck.checker.symbolic.evaluator import Evaluator
from isrcheck.checker.symbolic.one_hot_integers import Cases, FiniteArithmetic, Truth
from isrcheck.checker.symbolic.symbolic_state import Value, as_truth
from isrcheck.models.language.in_range import IN_RANGE
from isrcheck.models.language.model import Instance, Property, Step
from isrcheck.models.run import Cells


@dataclass(frozen=True)
class Transition:
    """One step: the variable that says that it is taken, when it is enabled, and where it leaves the declaration."""

    step: Step
    taken: int
    enabled: int
    error: int
    after: Sequence[Value]


@dataclass(frozen=True)
class Asked:
    """A property: whether it holds, whether a failure is permitted, and where asking leaves the declaration."""

    prop: Property
    holds: int
    permitted: int
    error: int


class Relation:
    """The step relation. `before` are the cells of a state, `after` those after whichever step is taken.

    `one_value` says that every cell of `before` has a value, `one_step` that one step is taken and enabled, `error`
    that the model leaves its declaration in some step, `stays` that it does not do so in the one that is taken. A
    property of states speaks of `before`, one of transitions of both.
    """

    def __init__(
        self, instance: Instance, properties: Sequence[Property] | None = None, budget: FormulaBudget | None = None
    ) -> None:
        self.instance = instance
        self.circuit = circuit = Circuit(budget)
        self.arithmetic = FiniteArithmetic(circuit)
        self.evaluator = Evaluator(instance, circuit, self.arithmetic)
        self.before = new_state(instance, self.arithmetic)
        self.one_value = circuit.all(self.arithmetic.has_one_value(cell) for cell in self.before if _is_number(cell))
        self.transitions = [found for step in instance.steps if (found := self._transition(step)) is not None]
        self.one_step = circuit.both(
            circuit.exactly_one(one.taken for one in self.transitions),
            circuit.all(circuit.either(-one.taken, one.enabled) for one in self.transitions),
        )
        self.error = circuit.any(one.error for one in self.transitions)
        self.stays = -circuit.any(circuit.both(one.taken, one.error) for one in self.transitions)
        self.taken = self._taken()
        self.after = [self._after(cell) for cell in range(instance.cells)]
        self.asking: list[Asked] = []
        asked = instance.properties if properties is None else properties
        self.properties = {prop.name: self._ask(prop) for prop in asked if prop is not IN_RANGE}
        if IN_RANGE in asked:
            self.properties[IN_RANGE.name] = self._in_range()

    def _transition(self, step: Step) -> Transition | None:
        enabled, error, after = self.evaluator.take(self.before, step)
        if enabled == error == FALSE:
            return None
        return Transition(step, self.circuit.variable(), enabled, error, after)

    def _taken(self) -> Mapping[int, int]:
        taken: dict[int, int] = {}
        for one in self.transitions:
            taken[one.step.slot] = self.circuit.either(taken.get(one.step.slot, FALSE), one.taken)
        return taken

    def _after(self, cell: int) -> Value:
        """A cell after the step that is taken; steps that write the same share a case."""
        writers: dict[Value, int] = {}
        unwritten = TRUE
        for one in self.transitions:
            self.circuit.budget.step()
            value = one.after[cell]
            if value is not self.before[cell]:
                writers[value] = self.circuit.either(writers.get(value, FALSE), one.taken)
                unwritten = self.circuit.both(unwritten, -one.taken)
        sides = [(unwritten, self.before[cell]), *((taken, value) for value, taken in writers.items())]
        return self.one_of(sides)

    def one_of(self, sides: Sequence[tuple[int, Value]]) -> Value:
        """The value whose literal is true, of which exactly one is."""
        if len(sides) == 1:
            return sides[0][1]
        both, either = self.circuit.both, self.circuit.either
        if all(isinstance(value, bool | Truth) for _, value in sides):
            return as_truth(self.circuit.any(both(taken, self.evaluator.truth(value)) for taken, value in sides))
        cases: dict[int, int] = {}
        for taken, value in sides:
            for number, literal in {value: TRUE}.items() if isinstance(value, int) else value.of.items():
                cases[number] = either(cases.get(number, FALSE), both(taken, literal))
        return self.arithmetic.known(cases)

    def _ask(self, prop: Property) -> Asked:
        states = [self.before, self.after] if prop.of_steps else [self.before]
        return Asked(prop, *self.evaluator.property(prop, states, self.taken))

    def _in_range(self) -> Asked:
        """That nothing errs here: no step from this state, no property of it, and no property of a step that is taken.

        `asking` are the properties that can.
        """
        circuit, known = self.circuit, self.properties
        every = [known[prop.name] if prop.name in known else self._ask(prop) for prop in self.instance.properties]
        self.asking = [asked for asked in every if asked.error != FALSE]
        of_states = circuit.any(asked.error for asked in self.asking if not asked.prop.of_steps)
        of_steps = circuit.any(asked.error for asked in self.asking if asked.prop.of_steps)
        taken = circuit.all([of_steps, self.one_step, self.stays])
        return Asked(IN_RANGE, -circuit.any([self.error, of_states, taken]), FALSE, FALSE)


def _is_number(cell: Value) -> bool:
    return not isinstance(cell, bool | Truth)


def new_state(instance: Instance, arithmetic: Any) -> list[Value]:
    """A state of which nothing is known but the ranges of its cells."""
    cells: list[Value] = []
    for place in instance.places.values():
        for _ in range(place.count):
            if place.field.values.is_flag:
                cells.append(Truth(arithmetic.circuit.variable()))
            else:
                cells.append(arithmetic.number(place.low, place.high))
    return cells


def plain_state(instance: Instance, cells: Cells) -> list[Value]:
    """A state that is known, as the evaluator takes it: flags as truth values."""
    values: list[Value] = []
    for place in instance.places.values():
        own = cells[place.offset : place.offset + place.count]
        values += map(bool, own) if place.field.values.is_flag else own
    return values


def ports(before: Sequence[Value], values: Sequence[Value]) -> dict[int, int]:
    """What the variables of `before` are replaced by, so that its cells become `values`."""
    images: dict[int, int] = {}
    for old, new in zip(before, values, strict=True):
        if isinstance(old, Truth):
            images[old.literal] = new.literal if isinstance(new, Truth) else TRUE if new else FALSE
        elif isinstance(old, Cases):
            cases = {new: TRUE} if isinstance(new, int) else new.of
            for number, literal in old.of.items():
                if literal > 0:
                    images[literal] = cases.get(number, FALSE)
    return images


def replaced(value: Value, image: Callable[[int], int], known: Callable[[dict[int, int]], Value]) -> Value:
    """A value whose literals are replaced."""
    if isinstance(value, Truth):
        return as_truth(image(value.literal))
    if isinstance(value, Cases):
        return known({number: image(literal) for number, literal in value.of.items()})
    return value
