"""Compares the symbolic semantics of a model with the reference semantics in many states at once.

In:  an `Instance` and states of it.
Out: an AssertionError if the two differ, and otherwise the numbers of comparisons.
"""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from conformance.tests.checker.compile.test_kernel import random_state, spelled
from isrcheck.checker.symbolic.and_inverter_graph import AndInverterGraph, Truth
from isrcheck.checker.symbolic.evaluator import Value, plain_state
from isrcheck.checker.symbolic.finite_integers import BinaryInteger, OneHotInteger, signed
from isrcheck.checker.symbolic.transition_relation import (
    PropertyLiterals,
    Transition,
    TransitionRelation,
)
from isrcheck.models import run
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.messages import ModelError
from isrcheck.models.run import Cells


class Table:
    """The values of all nodes of a circuit under many assignments: bit k of a word is the value under assignment k."""

    def __init__(self, circuit: AndInverterGraph, assignments: Sequence[Mapping[int, int]]) -> None:
        everywhere = (1 << len(assignments)) - 1
        given: dict[int, int] = {}
        for number, assignment in enumerate(assignments):
            for variable, literal in assignment.items():
                given[variable] = given.get(variable, 0) | ((literal == 1) << number)
        left, right = circuit.left, circuit.right
        # A negative index counts from the end: there the negations stand.
        words = [0] * (2 * len(left))
        words[1], words[-1] = everywhere, 0
        for node in range(2, len(left)):
            side = left[node]
            word = words[side] & words[right[node]] if side else given.get(node, 0)
            words[node], words[-node] = word, everywhere ^ word
        self.words = words

    def holds(self, literal: int, number: int) -> bool:
        """Whether a literal is true under an assignment."""
        return bool(self.words[literal] >> number & 1)

    def value(self, value: Value, number: int) -> int:
        """The number for a value under an assignment, under which exactly one of its cases has to be true."""
        if isinstance(value, Truth):
            return int(self.holds(value.literal, number))
        if isinstance(value, BinaryInteger):
            return signed([self.holds(bit, number) for bit in value.bits])
        if isinstance(value, OneHotInteger):
            (found,) = (case for case, literal in value.of.items() if self.holds(literal, number))
            return found
        return int(value)


@dataclass
class Compared:
    """The numbers of comparisons: of steps and properties in a state, of successor states, and of failures."""

    answers: int = 0
    successors: int = 0
    failures: int = 0

    def __iadd__(self, other: Compared) -> Compared:
        self.answers += other.answers
        self.successors += other.successors
        self.failures += other.failures
        return self


def compare_all(instance: Instance, states: Iterable[Cells]) -> Compared:
    """Compare the transition relation and the properties with the reference in these states."""
    comparison = Comparison(instance, list(states))
    comparison.steps()
    comparison.properties_of_states()
    comparison.merged_steps()
    comparison.no_other_steps()
    return comparison.compared


class Comparison:
    """A transition relation, and the states in which it is compared with the reference."""

    def __init__(self, instance: Instance, states: Sequence[Cells]) -> None:
        self.instance = instance
        self.states = states
        self.relation = TransitionRelation(instance, [*instance.properties, *instance.lemmas])
        self.known = [self.relation.ports(plain_state(instance, cells)) for cells in states]
        self.table = Table(self.relation.circuit, self.known)
        self.taken: list[tuple[int, Transition, Cells]] = []
        self.compared = Compared()

    def steps(self) -> None:
        """Compare the enabled steps, their successors, and the steps that leave a declared range."""
        transitions = {one.step.number: one for one in self.relation.transitions}
        for number, cells in enumerate(self.states):
            assert self.table.holds(self.relation.one_value, number)
            fails = False
            for step in self.instance.steps:
                fails |= self._step(number, cells, step, transitions.get(step.number))
            assert self.table.holds(self.relation.error, number) == fails

    def _step(self, number: int, cells: Cells, step: Step, one: Transition | None) -> bool:
        self.compared.answers += 1
        try:
            after = run.take(self.instance, cells, step)
        except ModelError:
            assert one is not None, self._where(cells, "never fails, nor is taken", step)
            assert self.table.holds(one.error, number), self._where(cells, "does not fail", step)
            self.compared.failures += 1
            return True
        if one is None:
            assert after is None, self._where(cells, "never taken", step)
            return False
        assert not self.table.holds(one.error, number), self._where(cells, "fails", step)
        assert self.table.holds(one.enabled, number) == (after is not None), self._where(cells, "enabled or not", step)
        if after is not None:
            assert self._cells(self.table, one.after, number) == after, self._where(cells, "leads elsewhere", step)
            self.taken.append((number, one, after))
            self.compared.successors += 1
        return False

    def _where(self, cells: Cells, *what: object) -> str:
        return f"{what}: {spelled(self.instance, cells)}"

    def _cells(self, table: Table, values: Sequence[Value], number: int) -> Cells:
        return tuple(table.value(value, number) for value in values)

    def properties_of_states(self) -> None:
        """Compare the values of the state properties."""
        for asked in self.relation.properties.values():
            for number, cells in enumerate(self.states):
                if not asked.prop.of_steps:
                    self._property(self.table, number, asked, [cells])

    def merged_steps(self) -> None:
        """Check the relation of all steps together: it allows each enabled step, with its successor and its number."""
        relation = self.relation
        table = Table(relation.circuit, [self.known[number] | {one.taken: 1} for number, one, _ in self.taken])
        for column, (number, one, after) in enumerate(self.taken):
            cells = self.states[number]
            assert table.holds(relation.one_step, column), self._where(cells, "not one step", one.step)
            assert self._cells(table, relation.after, column) == after, self._where(cells, "leads elsewhere", one.step)
            for asked in relation.properties.values():
                if asked.prop.of_steps:
                    self._property(table, column, asked, [cells, after], one.step)

    def no_other_steps(self) -> None:
        """Check that the relation refuses three things: no step at all, a disabled step, and two steps at once."""
        wrong: list[dict[int, int]] = []
        for number, known in enumerate(self.known):
            is_enabled = [self.table.holds(one.enabled, number) for one in self.relation.transitions]
            own = list(itertools.compress(self.relation.transitions, is_enabled))
            others = list(itertools.compress(self.relation.transitions, map(operator.not_, is_enabled)))
            wrong += [known, *(known | {one.taken: 1} for one in others[number % 50 :: 50])]
            wrong += [known | {one.taken: 1, other.taken: 1} for one, other in itertools.pairwise(own[:3])]
        table = Table(self.relation.circuit, wrong)
        assert not table.words[self.relation.one_step]

    def _property(
        self, table: Table, number: int, asked: PropertyLiterals, states: Sequence[Cells], step: Step | None = None
    ) -> None:
        self.compared.answers += 1
        permitted = False
        try:
            if step is None:
                holds = run.holds(self.instance, asked.prop, states[0])
            else:
                holds = run.holds_step(self.instance, asked.prop, states[0], step, states[1])
            if not holds:
                permitted = run.is_permitted(self.instance, asked.prop, states[-1])
        except ModelError:
            assert table.holds(asked.error, number), self._where(states[0], "does not fail", asked.prop.name, step)
            self.compared.failures += 1
            return
        assert not table.holds(asked.error, number), self._where(states[0], "fails", asked.prop.name, step)
        assert table.holds(asked.holds, number) == holds, self._where(states[0], "holds or not", asked.prop.name, step)
        if not holds:
            assert table.holds(asked.permitted, number) == permitted, self._where(
                states[0], "permitted or not", asked.prop.name, step
            )


def states_of(instance: Instance, chance: random.Random, walked: int, anywhere: int) -> list[Cells]:
    """The states of a random walk, and random states within the ranges of the fields, reachable or not."""
    found = []
    here = chance.choice(instance.initial_states)
    for _ in range(walked):
        found.append(here)
        following = [after for _, after in run.successors(instance, here)]
        here = chance.choice(following or instance.initial_states)
    return found + [random_state(instance, chance) for _ in range(anywhere)]
