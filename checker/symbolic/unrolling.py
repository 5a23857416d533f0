"""Behaviours of a given length as one formula: the relation of checker/symbolic/transition_relation.py, once for every
depth.

In:  a `Relation`.
Out: an `Unrolling`: what is asked at each depth as literals of one circuit, and the path that an answer stands for.

State d+1 is not a set of new variables but what the step makes of state d: what is known of the initial states, and of
the steps that cannot be enabled yet, is worked out on the way. Only the choices are variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from isrcheck.checker.outcome.exploration import Witness
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE
from isrcheck.checker.symbolic.one_hot_integers import Cases, Truth
from isrcheck.checker.symbolic.symbolic_state import Value
from isrcheck.checker.symbolic.transition_relation import Relation, plain_state, ports, replaced
from isrcheck.models.language.model import Property


@dataclass(frozen=True)
class Level:
    """What is known of one depth: the state, and of the step from there which is taken and what has to be demanded."""

    state: Sequence[Value]
    taken: Sequence[int]
    one_step: int
    error: int
    stays: int
    asked: dict[str, tuple[int, int, int]]


class Unrolling:
    """Behaviours from the initial states on, or from any state with `free`."""

    def __init__(self, relation: Relation, *, free: bool = False) -> None:
        self.relation = relation
        self.circuit = relation.circuit
        self.initial: list[int] = []
        self.levels: list[Level] = []
        self.roots = self._roots()
        self.cone = self.circuit.cone(self.roots)
        enabled = [one.enabled for one in relation.transitions]
        self.guards = self.circuit.cone(enabled)
        self._extend(self._any_state() if free else self._initial_states())

    def _roots(self) -> list[int]:
        relation = self.relation
        roots = [relation.one_step, relation.error, relation.stays]
        for asked in relation.properties.values():
            roots += [asked.holds, asked.permitted, asked.error]
        for value in relation.after:
            roots += literals(value)
        return roots

    def _any_state(self) -> Sequence[Value]:
        return self.relation.before

    def _initial_states(self) -> Sequence[Value]:
        """One of the initial states, which it is says a variable each."""
        relation = self.relation
        states = [plain_state(relation.instance, cells) for cells in relation.instance.initial_states]
        if len(states) == 1:
            self.initial = [TRUE]
            return states[0]
        self.initial = [self.circuit.variable() for _ in states]
        cells = []
        for column in zip(*states, strict=True):
            sides: dict[tuple[type, Value], int] = {}
            for literal, value in zip(self.initial, column, strict=True):
                self.circuit.budget.step()
                key = type(value), value
                sides[key] = self.circuit.either(sides.get(key, FALSE), literal)
            cells.append(relation.one_of([(literal, value) for (_, value), literal in sides.items()]))
        return cells

    def begin(self) -> list[int]:
        """What has to be true of every behaviour: it begins in one state."""
        if self.initial:
            return [self.circuit.exactly_one(self.initial)]
        return [self.relation.one_value]

    @property
    def depth(self) -> int:
        """The depth of the last state."""
        return len(self.levels) - 1

    def extend(self) -> None:
        """Add the state after the last one. Whoever asks about it has to demand `one_step` of the level before."""
        level = self.levels[-1]
        images = self._images(level.state, level.taken)
        known = self.relation.arithmetic.known
        self._extend([replaced(value, images, known) for value in self.relation.after])

    def _images(self, state: Sequence[Value], taken: Sequence[int]) -> Callable[[int], int]:
        variables = [one.taken for one in self.relation.transitions]
        found = self.circuit.replaced(
            self.cone, ports(self.relation.before, state) | dict(zip(variables, taken, strict=True))
        )
        return lambda literal: found[literal] if literal > 0 else -found[-literal]

    def _extend(self, state: Sequence[Value]) -> None:
        relation = self.relation
        known = self.circuit.replaced(self.guards, ports(relation.before, state))
        taken = []
        for one in relation.transitions:
            enabled = known[one.enabled] if one.enabled > 0 else -known[-one.enabled]
            taken.append(FALSE if enabled == FALSE else self.circuit.variable())
        image = self._images(state, taken)
        asked = {
            name: (image(one.holds), image(one.permitted), image(one.error))
            for name, one in relation.properties.items()
        }
        self.levels.append(
            Level(state, taken, image(relation.one_step), image(relation.error), image(relation.stays), asked)
        )

    def at(self, prop: Property, depth: int) -> tuple[int, int, int]:
        """What a property says at a depth: (holds, a failure is permitted, asking leaves the declaration).

        A property of transitions is asked of the one that ends there.
        """
        return self.levels[depth - prop.of_steps].asked[prop.name]

    def differ(self, one: int, other: int) -> int:
        """Whether the states at two depths are different."""
        same = self.relation.evaluator.compare
        cells = zip(self.levels[one].state, self.levels[other].state, strict=True)
        return -self.circuit.all(same("==", a, b) for a, b in cells)

    def witness(self, depth: int, holds: Callable[[int], bool]) -> Witness:
        """The path that an answer stands for."""
        initial = next((i for i, literal in enumerate(self.initial) if holds(literal)), 0)
        steps = []
        for level in self.levels[:depth]:
            step = next(
                one.step.number
                for one, literal in zip(self.relation.transitions, level.taken, strict=True)
                if holds(literal)
            )
            steps.append(step)
        return Witness(initial, tuple(steps))


def literals(value: Value) -> Iterable[int]:
    """The literals that a value is made of."""
    if isinstance(value, Truth):
        return [value.literal]
    return list(value.of.values()) if isinstance(value, Cases) else []
