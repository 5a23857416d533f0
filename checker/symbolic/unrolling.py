"""Unrolls the transition relation (checker/symbolic/transition_relation.py): paths of a given length as one formula.

In:  a `TransitionRelation`.
Out: an `Unrolling`: for each depth the literals of the properties, and the path of a satisfying assignment.

State d+1 is the symbolic image of state d; only the step selectors are variables. Therefore the values of initial
states, and steps that cannot be enabled yet, are propagated as constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isrcheck.checker.results.exploration import StepPath
from isrcheck.checker.symbolic.and_inverter_graph import FALSE
from isrcheck.checker.symbolic.initial_choice import InitialChoice, initial_choice
from isrcheck.checker.symbolic.symbolic_state import Value
from isrcheck.checker.symbolic.transition_relation import TransitionRelation
from isrcheck.models.language.model import Property


@dataclass(frozen=True)
class UnrolledLevel:
    """One depth: the state, the step selectors, the constraints on the taken step, and the literals of properties."""

    state: Sequence[Value]
    taken: Sequence[int]
    one_step: int
    error: int
    stays: int
    asked: dict[str, tuple[int, int, int]]


class Unrolling:
    """Paths that start in an initial state, or with `free` in any state."""

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
        self._extend(relation.before if self.initial is None else self.initial.cells)

    def _roots(self) -> list[int]:
        relation = self.relation
        roots = [relation.one_step, relation.error, relation.stays]
        for asked in relation.properties.values():
            roots += [asked.holds, asked.permitted, asked.error]
        for value in relation.after:
            roots += relation.literals(value)
        return roots

    def begin(self) -> list[int]:
        """Constraints on every path: it starts in exactly one state."""
        return [self.relation.one_value if self.initial is None else self.initial.condition]

    @property
    def depth(self) -> int:
        """The depth of the last state."""
        return len(self.levels) - 1

    def extend(self) -> None:
        """Add the next state. Queries about it must require `one_step` of the level before."""
        level = self.levels[-1]
        images = self._images(level.state, level.taken)
        self._extend([self.relation.replaced(value, images) for value in self.relation.after])

    def _images(self, state: Sequence[Value], taken: Sequence[int]) -> Callable[[int], int]:
        variables = [one.taken for one in self.relation.transitions]
        found = self.circuit.replaced(self.cone, self.relation.ports(state) | dict(zip(variables, taken, strict=True)))
        return lambda literal: found[literal] if literal > 0 else -found[-literal]

    def _extend(self, state: Sequence[Value]) -> None:
        relation = self.relation
        known = self.circuit.replaced(self.guards, relation.ports(state))
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
            UnrolledLevel(state, taken, image(relation.one_step), image(relation.error), image(relation.stays), asked)
        )

    def at(self, prop: Property, depth: int) -> tuple[int, int, int]:
        """A property at a depth: (holds, its failure is permitted, its evaluation leaves a declared range).

        A property of transitions is evaluated on the transition that ends at this depth.
        """
        return self.levels[depth - prop.of_steps].asked[prop.name]

    def differ(self, one: int, other: int) -> int:
        """Whether the states at two depths are different."""
        same = self.relation.evaluator.compare
        cells = zip(self.levels[one].state, self.levels[other].state, strict=True)
        return -self.circuit.all(same("==", a, b) for a, b in cells)

    def path(self, depth: int, holds: Callable[[int], bool]) -> StepPath:
        """The path of a satisfying assignment, in which `holds` gives the value of a literal."""
        initial = 0 if self.initial is None else self.initial.number(holds)
        steps = []
        for level in self.levels[:depth]:
            step = next(
                one.step.number
                for one, literal in zip(self.relation.transitions, level.taken, strict=True)
                if holds(literal)
            )
            steps.append(step)
        return StepPath(initial, tuple(steps))
