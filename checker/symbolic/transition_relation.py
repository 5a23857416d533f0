"""The transition relation of an instance as Boolean formulas: one state, every step from it, and all properties.

In:  an `Instance` whose initial states are enumerated.
Out: a `TransitionRelation`, formulas over the variables of one state and the selectors of its steps. The relation is
     built once. `Unrolling` repeats the relation for every depth, and gives the literals of the properties at each
     depth and the path of a satisfying assignment; a proof uses the relation for a single transition
     (checker/proofs/induction.py). `InitialChoice` is the choice of an initial state.

State d+1 of an unrolling consists of formulas over state d; only the selectors of steps are variables. Therefore the
values of initial states, and steps that cannot be enabled yet, are propagated as constants.

Each initial state that an `@initial` function yields has its own variable. `@initial` functions in the language
(generators) are evaluated symbolically, with one symbolic value for each parameter, so the formula for a million
initial states is as large as for one. The enumeration has shown before that no generator leaves a declared range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from isrcheck.checker.resources.limits import FormulaBudget
from isrcheck.checker.results.exploration import StepPath
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph, Truth
from isrcheck.checker.symbolic.evaluator import Evaluator, Value, as_truth, plain_state
from isrcheck.checker.symbolic.finite_integers import BinaryInteger, FiniteArithmetic, Holds
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, ArgumentRange, Instance, Property, Step
from isrcheck.models.language.states import Enumeration
from isrcheck.models.run import Cells


@dataclass(frozen=True)
class Transition:
    """A step as formulas: the variable that selects the step (`taken`); a literal that is true if the step is enabled;
    a literal that is true if the step leaves a declared range (`error`); and the cells after the step."""

    step: Step
    taken: int
    enabled: int
    error: int
    after: Sequence[Value]


@dataclass(frozen=True)
class PropertyLiterals:
    """Three literals of a property: it holds; its failure is permitted; its evaluation leaves a declared range."""

    prop: Property
    holds: int
    permitted: int
    error: int


class TransitionRelation:
    """The transition relation as formulas over the cells of a state (`before`) and the selectors of the steps. `after`
    has the cells after the selected step.

    The literal `within` is true if the model's constraints are true in the state; otherwise no step is enabled. The
    literal `unknown` is true if a constraint cannot be evaluated; then all steps of the state leave a declared range.

    Other literals: `one_value` is true if every cell of `before` has exactly one value; `one_step`, if exactly one step
    is selected and this step is enabled; `error`, if some step leaves a declared range; `stays`, if the selected step
    does not. Properties of states use `before`; properties of transitions use `before` and `after`.
    """

    def __init__(
        self, instance: Instance, properties: Sequence[Property] | None = None, budget: FormulaBudget | None = None
    ) -> None:
        self.instance = instance
        self.circuit = circuit = AndInverterGraph(budget)
        self.arithmetic = FiniteArithmetic(circuit)
        self.evaluator = Evaluator(instance, circuit, self.arithmetic)
        self.before = new_state(instance, self.arithmetic)
        numbers = [cell for cell in self.before if not isinstance(cell, bool | Truth)]
        self.one_value = circuit.all(map(self.arithmetic.has_one_value, numbers))
        self.within, self.unknown = self._within(self.before)
        self.transitions = [found for step in instance.steps if (found := self.transition(step)) is not None]
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

    def transition(self, step: Step) -> Transition | None:
        """Return a step as formulas; None if the step is never enabled and never leaves a declared range."""
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
        """Return two literals: the model's constraints are true in a state; their evaluation leaves a range."""
        constraints = self.instance.model.constraints
        return self.evaluator.conjunction(self.evaluator.ask(one, [state]) for one in constraints)

    def _taken(self) -> Mapping[int, int]:
        taken: dict[int, int] = {}
        for one in self.transitions:
            taken[one.step.action_index] = self.circuit.either(taken.get(one.step.action_index, FALSE), one.taken)
        return taken

    def _after(self, cell: int) -> Value:
        """Return the value of a cell after the selected step, as a choice with one case per value that steps write."""
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
        """Return the replacement {variable: literal} that turns the cells of `before` into `values`."""
        images: dict[int, int] = {}
        for old, new in zip(self.before, values, strict=True):
            if isinstance(old, Truth):
                images[old.literal] = new.literal if isinstance(new, Truth) else TRUE if new else FALSE
            elif not isinstance(old, bool):
                images.update(self.arithmetic.images(old, new))
        return images

    def replaced(self, value: Value, image: Callable[[int], int]) -> Value:
        """Return a value in which each literal is replaced by its image."""
        if isinstance(value, Truth):
            return as_truth(image(value.literal))
        return value if isinstance(value, bool) else self.arithmetic.replaced(value, image)

    def literals(self, value: Value) -> Iterable[int]:
        """Return the literals of which a value consists."""
        if isinstance(value, Truth):
            return [value.literal]
        return self.arithmetic.literals(self.evaluator.number(value))

    def _ask(self, prop: Property) -> PropertyLiterals:
        states = [self.before, self.after] if prop.of_steps else [self.before]
        return PropertyLiterals(prop, *self.evaluator.property(prop, states, self.taken))

    def _deadlock(self) -> PropertyLiterals:
        """Return the literals of `deadlock`, the property that a state is no deadlock: a step is enabled or leaves a
        declared range, a `@terminal` predicate is true, or a constraint of the model is false."""
        circuit = self.circuit
        has_step = circuit.any([-self.within, *(circuit.either(one.enabled, one.error) for one in self.transitions)])
        ends, error = FALSE, FALSE
        for terminal in self.instance.model.terminals:
            is_true, fails = self.evaluator.ask(terminal, [self.before])
            error = circuit.either(error, circuit.both(-ends, fails))
            ends = circuit.either(ends, circuit.both(is_true, -error))
        return PropertyLiterals(DEADLOCK, circuit.either(has_step, ends), FALSE, circuit.both(-has_step, error))

    def _in_range(self) -> PropertyLiterals:
        """Return the literals of the property `in_range`: no step from the state leaves a declared range, and no
        evaluation of a property in the state or on the selected step does. Also set `asking` to the literals of the
        properties whose evaluation can leave a declared range."""
        circuit, judged = self.circuit, self.properties
        every = [judged[prop.name] if prop.name in judged else self._ask(prop) for prop in self.instance.properties]
        self.asking = [asked for asked in (*every, self._deadlock()) if asked.error != FALSE]
        of_states = circuit.any(asked.error for asked in self.asking if not asked.prop.of_steps)
        of_steps = circuit.any(asked.error for asked in self.asking if asked.prop.of_steps)
        taken = circuit.all([of_steps, self.one_step, self.stays])
        return PropertyLiterals(IN_RANGE, -circuit.any([self.error, of_states, taken]), FALSE, FALSE)


def new_state(instance: Instance, arithmetic: Any) -> list[Value]:
    """Return a symbolic state in which each cell can have every value of its range."""
    cells: list[Value] = []
    for place in instance.layouts.values():
        for _ in range(place.count):
            if place.field.values.is_flag:
                cells.append(Truth(arithmetic.circuit.variable()))
            else:
                cells.append(arithmetic.number(place.low, place.high))
    return cells


Options = Sequence[int]
"""Literals of which exactly one is true."""


def numbers_of(state: Sequence[Value], arithmetic: Any, holds: Holds) -> Cells:
    """Return the values of a symbolic state's cells in an assignment, as a concrete state."""
    return tuple(int(holds(one.literal)) if isinstance(one, Truth) else arithmetic.value(one, holds) for one in state)


@dataclass(frozen=True)
class InitialChoice:
    """The choice of an initial state, as formulas: the cells of the chosen state, and the condition that exactly one
    state is chosen.

    Each of `places` is a decision: a list of literals (options), of which one is true. At the first decision where two
    states differ, the earlier option gives the smaller number. `number` returns the chosen state's number.
    """

    cells: Sequence[Value]
    condition: int
    places: Sequence[Options]
    number: Callable[[Holds], int]


def initial_choice(instance: Instance, evaluator: Evaluator) -> InitialChoice:
    """Return the choice among all initial states. Raises ModelError if a state is invalid or no state exists."""
    states = instance.initial_states
    if instance.model.generators and len(states) > 1:
        return _generated(instance, evaluator)
    if len(states) == 1:
        return InitialChoice(plain_state(instance, states[0]), TRUE, [[TRUE]], lambda holds: 0)
    return _yielded(instance, evaluator)


def _yielded(instance: Instance, evaluator: Evaluator) -> InitialChoice:
    circuit = evaluator.circuit
    states = [plain_state(instance, cells) for cells in instance.initial_states]
    chosen = [circuit.variable() for _ in states]
    cells = []
    for column in zip(*states, strict=True):
        sides: dict[tuple[type, Value], int] = {}
        for literal, value in zip(chosen, column, strict=True):
            circuit.budget.step()
            key = type(value), value
            sides[key] = circuit.either(sides.get(key, FALSE), literal)
        cells.append(evaluator.one_of([(literal, value) for (_, value), literal in sides.items()]))
    return InitialChoice(
        cells,
        circuit.exactly_one(chosen),
        [chosen],
        lambda holds: next(i for i, one in enumerate(chosen) if holds(one)),
    )


def _generated(instance: Instance, evaluator: Evaluator) -> InitialChoice:
    circuit = evaluator.circuit
    default = plain_state(instance, Enumeration(instance.model.place_of, instance.layouts).default())
    # Without an element for a parameter there is no combination of arguments.
    used = [
        (function, ranges)
        for function, ranges in zip(instance.model.generators, instance.generator_ranges, strict=True)
        if all(one.count for one in ranges)
    ]
    chosen = [circuit.variable() for _ in used] if len(used) > 1 else [TRUE]
    condition, made, places = circuit.exactly_one(chosen), [], []
    for selected, (function, ranges) in zip(chosen, used, strict=True):
        arguments = [_argument(evaluator, one) for one in ranges]
        enabled, error, cells = evaluator.act(default, function, [value for value, _, _ in arguments])
        is_made = circuit.either(-selected, circuit.both(enabled, -error))
        condition = circuit.all([condition, *(one for _, one, _ in arguments), is_made])
        made.append((selected, cells))
        places.append([options for _, _, decisions in arguments for options in decisions])
    state = [evaluator.one_of([(one, cells[at]) for one, cells in made]) for at in range(instance.cells)]
    within, _ = evaluator.conjunction(evaluator.ask(one, [state]) for one in instance.model.constraints)
    return InitialChoice(
        state,
        circuit.both(condition, within),
        [chosen, *_together(circuit, chosen, places)],
        lambda holds: instance.initial_states.index(numbers_of(state, evaluator.arithmetic, holds)),
    )


def _argument(evaluator: Evaluator, choices: ArgumentRange) -> tuple[Value, int, list[Options]]:
    """Return a symbolic argument, a literal that is true if the argument has exactly one value, and the decisions (see
    InitialChoice) that order the argument's values."""
    circuit, arithmetic = evaluator.circuit, evaluator.arithmetic
    if choices.is_subset:
        members = [circuit.variable() for _ in range(choices.elements)]
        return tuple(map(Truth, members)), TRUE, [[-one, one] for one in reversed(members)]
    number = arithmetic.number(0, choices.count - 1)
    if isinstance(number, int):
        return number, TRUE, []
    if isinstance(number, BinaryInteger):
        return number, arithmetic.has_one_value(number), [[-bit, bit] for bit in number.bits[-2::-1]]
    options = [arithmetic.is_element(number, element) for element in range(choices.count)]
    return number, arithmetic.has_one_value(number), [options]


def _together(circuit: AndInverterGraph, chosen: Options, places: Sequence[Sequence[Options]]) -> Iterator[Options]:
    """Yield the decisions of the generator that `chosen` selects, as formulas over the decisions of all generators. If
    the selected generator has fewer decisions than others, the first option of each further decision is true."""
    for column in zip_longest(*places, fillvalue=(TRUE,)):
        yield [
            circuit.any(circuit.both(one, option) for one, option in zip(chosen, row, strict=True))
            for row in zip_longest(*column, fillvalue=FALSE)
        ]


@dataclass(frozen=True)
class UnrolledLevel:
    """One depth of an unrolling: the state, the selectors of steps (`taken`), the literals about the selected step, and
    the literals of each property by name (`asked`)."""

    state: Sequence[Value]
    taken: Sequence[int]
    one_step: int
    error: int
    stays: int
    asked: dict[str, tuple[int, int, int]]


class Unrolling:
    """All paths up to a depth as formulas; they start in an initial state or, if `free` is true, in any state. The
    literal `begins` is true if the cells of the first state describe exactly one such state."""

    def __init__(self, relation: TransitionRelation, *, free: bool = False) -> None:
        self.relation = relation
        self.circuit = relation.circuit
        self.initial: InitialChoice | None = None
        self.levels: list[UnrolledLevel] = []
        self.roots = self._roots()
        self.cone = self.circuit.cone(self.roots)
        enabled = [one.enabled for one in relation.transitions]
        self.guards = self.circuit.cone(enabled)
        if not free:
            self.initial = initial_choice(relation.instance, relation.evaluator)
        self.begins = relation.one_value if self.initial is None else self.initial.condition
        self._extend(relation.before if self.initial is None else self.initial.cells)

    def _roots(self) -> list[int]:
        relation = self.relation
        roots = [relation.one_step, relation.error, relation.stays]
        for literals in relation.properties.values():
            roots += [literals.holds, literals.permitted, literals.error]
        for value in relation.after:
            roots += relation.literals(value)
        return roots

    @property
    def depth(self) -> int:
        """The depth of the last state."""
        return len(self.levels) - 1

    def extend(self) -> None:
        """Add the next state. Queries about this state must require `one_step` of the previous level."""
        level = self.levels[-1]
        images = self._images(level.state, level.taken)
        self._extend([self.relation.replaced(value, images) for value in self.relation.after])

    def _images(self, state: Sequence[Value], taken: Sequence[int]) -> Callable[[int], int]:
        steps = [transition.taken for transition in self.relation.transitions]
        literals = self.circuit.replaced(self.cone, self.relation.ports(state) | dict(zip(steps, taken, strict=True)))
        return lambda literal: literals[literal] if literal > 0 else -literals[-literal]

    def _extend(self, state: Sequence[Value]) -> None:
        relation = self.relation
        enabled_now = self.circuit.replaced(self.guards, relation.ports(state))
        taken = []
        for one in relation.transitions:
            enabled = enabled_now[one.enabled] if one.enabled > 0 else -enabled_now[-one.enabled]
            taken.append(FALSE if enabled == FALSE else self.circuit.variable())
        image = self._images(state, taken)
        asked = {
            name: (image(literals.holds), image(literals.permitted), image(literals.error))
            for name, literals in relation.properties.items()
        }
        step = image(relation.one_step), image(relation.error), image(relation.stays)
        self.levels.append(UnrolledLevel(state, taken, *step, asked))

    def at(self, prop: Property, depth: int) -> tuple[int, int, int]:
        """Return the literals of a property at a depth: it holds; its failure is permitted; its evaluation leaves a
        range. A property of transitions is evaluated on the transition that ends at this depth."""
        return self.levels[depth - prop.of_steps].asked[prop.name]

    def differ(self, one: int, other: int) -> int:
        """Return a literal that is true if the states at two depths are different."""
        same = self.relation.evaluator.compare
        cells = zip(self.levels[one].state, self.levels[other].state, strict=True)
        return -self.circuit.all(same("==", a, b) for a, b in cells)

    def path(self, depth: int, holds: Holds) -> StepPath:
        """Return the path of `depth` steps that a satisfying assignment describes."""
        initial = 0 if self.initial is None else self.initial.number(holds)
        taken = (next(number for number, one in enumerate(level.taken) if holds(one)) for level in self.levels[:depth])
        return StepPath(initial, tuple(self.relation.transitions[number].step.number for number in taken))
