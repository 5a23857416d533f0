"""The choice of an initial state, as formulas.

In:  an instance whose initial states are enumerated, and an evaluator.
Out: an `InitialChoice`: the cells of the chosen state, the condition that exactly one is chosen, and its number.

A state that the model yields has a variable of its own. The functions that make initial states of the default state
(generators) are read by the evaluator instead, each of their parameters as one symbolic value. So the formula is as
large for a million such states as for one. The enumeration has found that no generator leaves a declared range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph, Truth
from isrcheck.checker.symbolic.binary_integers import BinaryInteger
from isrcheck.checker.symbolic.evaluator import Evaluator
from isrcheck.checker.symbolic.symbolic_state import Value, plain_state
from isrcheck.models.language.model import ArgumentRange, Instance
from isrcheck.models.language.states import Enumeration

Holds = Callable[[int], bool]
"""Whether a literal is true in an assignment."""

Options = Sequence[int]
"""Literals of which exactly one is true."""


@dataclass(frozen=True)
class InitialChoice:
    """The chosen initial state: its cells, and the condition that exactly one state is chosen.

    `places` are decisions, one after the other: of two states, the one with the smaller number is that with the smaller
    option at the first place at which they differ. `number` gives the number of the state in an assignment.
    """

    cells: Sequence[Value]
    condition: int
    places: Sequence[Options]
    number: Callable[[Holds], int]


def initial_choice(instance: Instance, evaluator: Evaluator) -> InitialChoice:
    """The choice among all initial states. Raises ModelError, as their enumeration does."""
    states = instance.initial_states
    if instance.model.generators and len(states) > 1:
        return _Generated(instance, evaluator).choice()
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


class _Generated:
    """The states that generators make: which one, and its arguments."""

    def __init__(self, instance: Instance, evaluator: Evaluator) -> None:
        self.instance = instance
        self.evaluator = evaluator
        self.circuit: AndInverterGraph = evaluator.circuit
        self.default = plain_state(instance, Enumeration(instance.model.place_of, instance.layouts).default())

    def choice(self) -> InitialChoice:
        instance, circuit, evaluator = self.instance, self.circuit, self.evaluator
        both, either = circuit.both, circuit.either
        # Without an element for a parameter there is no combination of arguments.
        used = [
            (function, ranges)
            for function, ranges in zip(instance.model.generators, instance.generator_ranges, strict=True)
            if all(one.count for one in ranges)
        ]
        chosen = [circuit.variable() for _ in used] if len(used) > 1 else [TRUE]
        condition, made, places = circuit.exactly_one(chosen), [], []
        for selected, (function, ranges) in zip(chosen, used, strict=True):
            arguments = [self._argument(one) for one in ranges]
            enabled, error, cells = evaluator.act(self.default, function, [value for value, _, _ in arguments])
            conditions = [condition, *(one for _, one, _ in arguments), either(-selected, both(enabled, -error))]
            condition = circuit.all(conditions)
            made.append((selected, cells))
            places.append([options for _, _, decisions in arguments for options in decisions])
        state = [evaluator.one_of([(one, cells[at]) for one, cells in made]) for at in range(instance.cells)]
        within, _ = evaluator.conjunction(evaluator.ask(one, [state]) for one in instance.model.constraints)
        decisions = [chosen, *self._together(chosen, places)]
        return InitialChoice(state, both(condition, within), decisions, lambda holds: self._number(state, holds))

    def _argument(self, choices: ArgumentRange) -> tuple[Value, int, list[Options]]:
        """A symbolic argument, the condition that it has one value, and the decisions that order its values."""
        circuit, arithmetic = self.circuit, self.evaluator.arithmetic
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

    def _together(self, chosen: Options, places: Sequence[Sequence[Options]]) -> Iterator[Options]:
        """The decisions of all generators as one sequence; a generator with fewer of them takes the first option."""
        circuit = self.circuit
        for column in zip_longest(*places, fillvalue=(TRUE,)):
            yield [
                circuit.any(circuit.both(one, option) for one, option in zip(chosen, row, strict=True))
                for row in zip_longest(*column, fillvalue=FALSE)
            ]

    def _number(self, state: Sequence[Value], holds: Holds) -> int:
        """The number of the state with these cells in an assignment."""
        arithmetic = self.evaluator.arithmetic
        cells = [
            holds(value.literal) if isinstance(value, Truth) else arithmetic.value(value, holds) for value in state
        ]
        return self.instance.initial_states.index(tuple(map(int, cells)))
