"""The systems on which induction works: the bounded transition system, or its unbounded abstraction.

In:  an `Instance`, and claims: properties and lemmas, by name.
Out: a system: for each claim the literal that assumes it before a step, and queries whether a step can violate it.

Both systems have the same interface, so that checker/proofs/prove.py works with either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from isrcheck.checker.outcome.proof_results import CounterexampleToInduction
from isrcheck.checker.proofs.abstract_evaluator import OPEN
from isrcheck.checker.proofs.unbounded_abstraction import AbstractStep, UnboundedAbstraction
from isrcheck.checker.resources.formula_budget import Answer, FormulaBudget, UndecidedError
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph, Truth
from isrcheck.checker.symbolic.solver import Solver, Values, once
from isrcheck.checker.symbolic.symbolic_state import Value
from isrcheck.checker.symbolic.transition_relation import TransitionRelation
from isrcheck.models.language.model import IN_RANGE, Instance, Property

MOST_NODES = 20_000
"""For formulas of at most this many nodes, a second query finds the hypotheses that an answer needs."""


FEW = 12
"""Cores of at most this many hypotheses are always minimised."""


@dataclass(frozen=True)
class InductionQuery:
    """Asks whether a step can violate a property or lemma: whether `demanded` and `broken` are satisfiable."""

    claim: str
    demanded: tuple[int, ...]
    broken: int
    step: AbstractStep | None = None


@dataclass(frozen=True)
class Decision:
    """The answer to a query. `used` are the hypotheses that NO needs; `counterexample` shows why the answer is YES."""

    answer: Answer
    used: frozenset[int] = frozenset()
    counterexample: CounterexampleToInduction | None = None


class InductionSystem(Protocol):
    """The interface of the two systems on which induction works. A claim is the name of a property or lemma."""

    instance: Instance
    circuit: AndInverterGraph

    def hypothesis(self, claim: str) -> int:
        """The literal that a property or lemma holds before a step."""

    def questions(self, claim: str) -> Iterator[InductionQuery]:
        """The queries whose answers are all NO if every step preserves a property or lemma."""

    def decide(self, question: InductionQuery, hypotheses: Sequence[int], deadline: float) -> Decision:
        """Answer a query, given the literals `hypotheses`, before the deadline (in the time of time.monotonic)."""


class BoundedSystem:
    """The transition system within its bounds. A step that leaves a declared range has no successor; that there is no
    such step is a separate property (`in_range`)."""

    def __init__(self, instance: Instance, claims: Sequence[Property], budget: FormulaBudget | None = None) -> None:
        self.instance = instance
        self.relation = TransitionRelation(instance, claims, budget)
        self.circuit = self.relation.circuit
        self.claims = {claim.name: claim for claim in claims}
        self.images = self.relation.ports(self.relation.after)
        self.extra: dict[str, int] = {}
        self._solver = Solver(self.circuit)
        self._solver.add(self.relation.one_value)

    def hypothesis(self, claim: str) -> int:
        """The literal that a property or lemma holds before the step, and that its evaluation stays in range."""
        if claim in self.extra:
            return self.extra[claim]
        asked = self.relation.properties[claim]
        return self.circuit.both(asked.holds, -asked.error)

    def after(self, literal: int) -> int:
        """The literal that says about the state after a step what `literal` says about the state before it."""
        found = self.circuit.replaced(self.circuit.cone([literal]), self.images)
        return found[literal] if literal > 0 else -found[-literal]

    def questions(self, claim: str) -> Iterator[InductionQuery]:
        """One query about all steps at once. For `in_range`, the query is about the state before a step."""
        holds = self.hypothesis(claim)
        if claim == IN_RANGE.name:
            yield InductionQuery(claim, (), -holds)
            return
        if claim in self.extra or not self.claims[claim].of_steps:
            holds = self.after(holds)
        yield InductionQuery(claim, (self.relation.one_step, self.relation.stays), -holds)

    def decide(self, question: InductionQuery, hypotheses: Sequence[int], deadline: float) -> Decision:
        """Pass all hypotheses to Z3 at once; a second query finds those that the answer NO needs."""
        demanded = [self.relation.one_value, *question.demanded, question.broken]
        answer, values = once(self.circuit, [*demanded, *hypotheses], deadline)
        if values is not None:
            return Decision(answer, counterexample=self._counterexample(question, values))
        return Decision(answer, self._used(question, hypotheses, deadline) if answer is Answer.NO else frozenset())

    def _used(self, question: InductionQuery, hypotheses: Sequence[int], deadline: float) -> frozenset[int]:
        """The hypotheses that the answer NO needs; all hypotheses if minimising would take long."""
        if len(self.circuit.left) > MOST_NODES and len(hypotheses) > FEW:
            return frozenset(hypotheses)
        self._solver.deadline = deadline
        answer = self._solver.check(*question.demanded, *hypotheses, question.broken)
        return frozenset(self._solver.core()) if answer is Answer.NO else frozenset(hypotheses)

    def _counterexample(self, question: InductionQuery, values: Values) -> CounterexampleToInduction:
        """The counterexample to induction in a satisfying assignment: a state, a step, and the state after it."""
        before = self._cells(self.relation.before, values)
        if question.claim == IN_RANGE.name:  # no step is required, so there may be no state after it
            return self._out_of_range(before, values)
        step = next(one.step for one in self.relation.transitions if values.holds(one.taken))
        after = self._cells(self.relation.after, values)
        return CounterexampleToInduction(question.claim, before, step, self.instance.spell_step(step), after)

    def _cells(self, state: Sequence[Value], values: Values) -> tuple[int, ...]:
        return tuple(self.relation.number(value, values.holds) for value in state)

    def _out_of_range(self, before: tuple[int, ...], values: Values) -> CounterexampleToInduction:
        """The counterexample to `in_range`: a state, and the step or property that leaves a declared range there."""
        for one in self.relation.transitions:
            if values.holds(one.error):
                says = self.instance.spell_step(one.step)
                return CounterexampleToInduction(IN_RANGE.name, before, one.step, says, before)
        prop = next(asked.prop for asked in self.relation.asking if values.holds(asked.error))
        return CounterexampleToInduction(IN_RANGE.name, before, None, f"evaluating {prop.name}", before)


class AbstractSystem:
    """Induction on the unbounded abstraction. Each step has its own query, unless it changes nothing that matters."""

    def __init__(self, instance: Instance, claims: Sequence[Property], budget: FormulaBudget | None = None) -> None:
        self.instance = instance
        self.abstraction = UnboundedAbstraction(instance, budget)
        self.circuit = self.abstraction.circuit
        self.claims = {claim.name: claim for claim in claims}
        self._hypotheses: dict[str, int] = {}
        self._questions: dict[str, list[InductionQuery]] = {}
        self._solvers: dict[int, Solver] = {}

    def hypothesis(self, claim: str) -> int:
        """The literal that a property or lemma holds before the step."""
        if claim not in self._hypotheses:
            self._hypotheses[claim] = self.circuit.both(
                *self.abstraction.ask(self.claims[claim], [self.abstraction.before])
            )
        return self._hypotheses[claim]

    def read(self, claim: str) -> None:
        """Evaluate a property or lemma before and after every step. Raises UnsupportedError if that cannot be done."""
        if not self.claims[claim].of_steps and claim != IN_RANGE.name:
            self.hypothesis(claim)
        self.questions(claim)

    def questions(self, claim: str) -> Iterator[InductionQuery]:
        """One query for each step that may write what the property or lemma reads."""
        if claim not in self._questions:
            self._questions[claim] = list(self._asked(self.claims[claim]))
        return iter(self._questions[claim])

    def _asked(self, claim: Property) -> Iterator[InductionQuery]:
        if claim is IN_RANGE:
            yield from (
                InductionQuery(claim.name, (), step.error, step)
                for step in self.abstraction.steps
                if step.error != FALSE
            )
            return
        places = [self.abstraction.layouts[name] for name in claim.function.reads]
        cells = [
            cell
            for place in places
            if OPEN not in place.sizes
            for cell in range(place.offset, place.offset + place.count)
        ]
        for step in self.abstraction.steps:
            if not claim.of_steps and not self._writes_open(step, claim) and self._leaves(step, cells):
                continue
            states = [self.abstraction.before, step.after] if claim.of_steps else [step.after]
            holds, within = self.abstraction.ask(claim, states, step.taken)
            kept = self.circuit.both(holds, within)
            if kept != TRUE:
                yield InductionQuery(claim.name, (step.enabled,), -kept, step)

    def _leaves(self, step: AbstractStep, cells: Iterable[int]) -> bool:
        return all(step.after[cell] is self.abstraction.before[cell] for cell in cells)

    def _writes_open(self, step: AbstractStep, claim: Property) -> bool:
        """Whether the step may write to an array over an unbounded domain that the property `claim` reads."""
        functions = [self.instance.function(slot) for slot in step.taken]
        written = {name for function in functions if function is not None for name in function.writes}
        return any(OPEN in self.abstraction.layouts[name].sizes for name in written & claim.function.reads)

    def decide(self, question: InductionQuery, hypotheses: Sequence[int], deadline: float) -> Decision:
        """Answer a query with the solver of its step, which does not know the other steps."""
        solver = self._solvers.setdefault(id(question.step), self.abstraction.solver())
        solver.deadline = deadline
        answer = solver.check(*question.demanded, *hypotheses, question.broken)
        if answer is Answer.YES:
            return Decision(answer, counterexample=self._counterexample(question, solver))
        return Decision(answer, frozenset(solver.core()) if answer is Answer.NO else frozenset())

    def _counterexample(self, question: InductionQuery, solver: Solver) -> CounterexampleToInduction:
        """A state of the abstraction, a step, and the state after it, with small numbers if possible."""
        step = question.step
        assert step is not None
        self._prefer_small(solver)
        values, model = solver.values(), solver.solver.model()

        def cells(state: Sequence[Value]) -> tuple[int | None, ...]:
            found: dict[str, list[int]] = {}
            for name in self.abstraction.kept:
                place = self.abstraction.layouts[name]
                found[name] = [
                    int(values.holds(value.literal))
                    if isinstance(value, Truth)
                    else int(value)
                    if isinstance(value, int)
                    else self.abstraction.arithmetic.value(model, value)
                    for value in state[place.offset : place.offset + place.count]
                ]
            return tuple(
                cell
                for name, place in self.instance.layouts.items()
                for cell in (found[name] if name in found else [None] * place.count)
            )

        arguments = " ".join("?" if one is None else str(one) for one in step.arguments)
        says = f"{step.action} {arguments}".rstrip()
        chosen = {
            name: self.abstraction.arithmetic.value(model, value)
            for name, value in self.abstraction.evaluator.entries.items()
            if not isinstance(value, Truth) and self.instance.model.entries[name].is_bound
        }
        if chosen:
            says += f" with {', '.join(f'{name}={value}' for name, value in chosen.items())}"
        return CounterexampleToInduction(question.claim, cells(self.abstraction.before), None, says, cells(step.after))

    def _prefer_small(self, solver: Solver) -> None:
        """Look for an answer with numbers within the bounds; if there is none, restore the first answer."""
        arithmetic = self.abstraction.arithmetic
        small = [
            arithmetic.compare("<=", cell, self.instance.layouts[name].high)
            for name in self.abstraction.kept
            for cell in self.abstraction.before[
                self.abstraction.layouts[name].offset : self.abstraction.layouts[name].offset
                + self.abstraction.layouts[name].count
            ]
            if not isinstance(cell, bool | Truth)
        ]
        assumed = solver.assumed
        if solver.check(*assumed, *small) is not Answer.YES:
            answer = solver.check(*assumed)
            if answer is not Answer.YES:  # it was YES before; now there is no time left
                raise UndecidedError(answer)
