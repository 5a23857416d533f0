"""The transition relation of an instance as Boolean formulas: one state, every step from it, and all properties.

In:  an `Instance`.
Out: a `TransitionRelation` over the variables of one state and of the choice of a step. It is built once, and then
     either instantiated for every depth (checker/symbolic/unrolling.py) or queried about a single transition
     (checker/proofs/induction.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.resources.formula_budget import FormulaBudget
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph, Truth
from isrcheck.checker.symbolic.binary_integers import FiniteArithmetic
from isrcheck.checker.symbolic.evaluator import Evaluator
from isrcheck.checker.symbolic.symbolic_state import Value, as_truth
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance, Property, Step


@dataclass(frozen=True)
class Transition:
    """One step: the variable that selects it, when it is enabled, when it leaves a declared range, and the cells
    after it."""

    step: Step
    taken: int
    enabled: int
    error: int
    after: Sequence[Value]


@dataclass(frozen=True)
class PropertyLiterals:
    """The literals of a property: it holds; its failure is permitted; its evaluation leaves a declared range."""

    prop: Property
    holds: int
    permitted: int
    error: int


class TransitionRelation:
    """The transition relation. `before` are the cells of a state, `after` those after the step that is taken.

    No step is enabled in a state outside the model's constraint, in which `within` is false. If it is `unknown` whether
    a state is within the constraint, evaluating that leaves a declared range, and so do all its steps.

    `one_value` says that every cell of `before` has a value, `one_step` that exactly one step is taken and that it is
    enabled, `error` that some step leaves a declared range, `stays` that the taken step does not. A property of
    states refers to `before`, a property of transitions to both.
    """

    def __init__(
        self, instance: Instance, properties: Sequence[Property] | None = None, budget: FormulaBudget | None = None
    ) -> None:
        self.instance = instance
        self.circuit = circuit = AndInverterGraph(budget)
        self.arithmetic = FiniteArithmetic(circuit)
        self.evaluator = Evaluator(instance, circuit, self.arithmetic)
        self.before = new_state(instance, self.arithmetic)
        self.one_value = circuit.all(self.arithmetic.has_one_value(cell) for cell in self.before if _is_number(cell))
        self.within, self.unknown = self._within(self.before)
        self.transitions = [found for step in instance.steps if (found := self._transition(step)) is not None]
        self.one_step = circuit.both(
            circuit.exactly_one(one.taken for one in self.transitions),
            circuit.all(circuit.either(-one.taken, one.enabled) for one in self.transitions),
        )
        self.error = circuit.any(one.error for one in self.transitions)
        self.stays = -circuit.any(circuit.both(one.taken, one.error) for one in self.transitions)
        self.taken = self._taken()
        self.after = [self._after(cell) for cell in range(instance.cells)]
        self.asking: list[PropertyLiterals] = []
        asked = instance.properties if properties is None else properties
        self.properties = {prop.name: self._ask(prop) for prop in asked if prop not in (IN_RANGE, DEADLOCK)}
        if DEADLOCK in asked:
            self.properties[DEADLOCK.name] = self._deadlock()
        if IN_RANGE in asked:
            self.properties[IN_RANGE.name] = self._in_range()

    def _transition(self, step: Step) -> Transition | None:
        enabled, error, after = self.evaluator.take(self.before, step)
        if self.instance.model.constraints:
            both, (_, unknown) = self.circuit.both, self._within(after)
            error = both(self.within, self.circuit.either(error, both(enabled, unknown)))
            error = self.circuit.either(self.unknown, error)
            enabled = both(self.within, enabled)
        if enabled == error == FALSE:
            return None
        return Transition(step, self.circuit.variable(), enabled, error, after)

    def _within(self, state: Sequence[Value]) -> tuple[int, int]:
        """Whether the constraints of the model are true in a state, and whether evaluating them leaves a range."""
        constraints = self.instance.model.constraints
        return self.evaluator.conjunction(self.evaluator.ask(one, [state]) for one in constraints)

    def _taken(self) -> Mapping[int, int]:
        taken: dict[int, int] = {}
        for one in self.transitions:
            taken[one.step.action_index] = self.circuit.either(taken.get(one.step.action_index, FALSE), one.taken)
        return taken

    def _after(self, cell: int) -> Value:
        """The symbolic value of a cell after the taken step; steps that write the same value share a case."""
        writers: dict[Value, int] = {}
        unwritten = TRUE
        for one in self.transitions:
            self.circuit.budget.step()
            value = one.after[cell]
            if value is not self.before[cell]:
                writers[value] = self.circuit.either(writers.get(value, FALSE), one.taken)
                unwritten = self.circuit.both(unwritten, -one.taken)
        sides = [(unwritten, self.before[cell]), *((taken, value) for value, taken in writers.items())]
        return self.evaluator.one_of(sides)

    def ports(self, values: Sequence[Value]) -> dict[int, int]:
        """The substitution of variables that turns the cells of `before` into `values`."""
        images: dict[int, int] = {}
        for old, new in zip(self.before, values, strict=True):
            if isinstance(old, Truth):
                images[old.literal] = new.literal if isinstance(new, Truth) else TRUE if new else FALSE
            elif not isinstance(old, bool):
                images.update(self.arithmetic.images(old, new))
        return images

    def replaced(self, value: Value, image: Callable[[int], int]) -> Value:
        """A value with each literal replaced by its image."""
        if isinstance(value, Truth):
            return as_truth(image(value.literal))
        return value if isinstance(value, bool) else self.arithmetic.replaced(value, image)

    def literals(self, value: Value) -> Iterable[int]:
        """The literals of a value."""
        if isinstance(value, Truth):
            return [value.literal]
        return self.arithmetic.literals(self.evaluator.number(value))

    def number(self, value: Value, holds: Callable[[int], bool]) -> int:
        """The number of a cell's value in an assignment, in which `holds` gives the value of a literal."""
        return int(holds(value.literal)) if isinstance(value, Truth) else self.arithmetic.value(value, holds)

    def _ask(self, prop: Property) -> PropertyLiterals:
        states = [self.before, self.after] if prop.of_steps else [self.before]
        return PropertyLiterals(prop, *self.evaluator.property(prop, states, self.taken))

    def _deadlock(self) -> PropertyLiterals:
        """The literals of `deadlock`: a step is enabled, or leaves a declared range, or a `@terminal` is true, or the
        state is outside the constraint."""
        circuit = self.circuit
        has_step = circuit.any([-self.within, *(circuit.either(one.enabled, one.error) for one in self.transitions)])
        ends, error = FALSE, FALSE
        for terminal in self.instance.model.terminals:
            is_true, fails = self.evaluator.ask(terminal, [self.before])
            error = circuit.either(error, circuit.both(-ends, fails))
            ends = circuit.either(ends, circuit.both(is_true, -error))
        return PropertyLiterals(DEADLOCK, circuit.either(has_step, ends), FALSE, circuit.both(-has_step, error))

    def _in_range(self) -> PropertyLiterals:
        """The literals of `in_range`: no step from this state leaves a declared range, nor does the evaluation of a
        property of the state or of the taken step.

        Sets `asking` to the properties whose evaluation can leave a declared range.
        """
        circuit, known = self.circuit, self.properties
        every = [known[prop.name] if prop.name in known else self._ask(prop) for prop in self.instance.properties]
        self.asking = [asked for asked in (*every, self._deadlock()) if asked.error != FALSE]
        of_states = circuit.any(asked.error for asked in self.asking if not asked.prop.of_steps)
        of_steps = circuit.any(asked.error for asked in self.asking if asked.prop.of_steps)
        taken = circuit.all([of_steps, self.one_step, self.stays])
        return PropertyLiterals(IN_RANGE, -circuit.any([self.error, of_states, taken]), FALSE, FALSE)


def _is_number(cell: Value) -> bool:
    return not isinstance(cell, bool | Truth)


def new_state(instance: Instance, arithmetic: Any) -> list[Value]:
    """A symbolic state whose cells may have any value of their ranges."""
    cells: list[Value] = []
    for place in instance.layouts.values():
        for _ in range(place.count):
            if place.field.values.is_flag:
                cells.append(Truth(arithmetic.circuit.variable()))
            else:
                cells.append(arithmetic.number(place.low, place.high))
    return cells
