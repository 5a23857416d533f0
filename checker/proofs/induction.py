"""Builds the formulas that a proof by induction needs from a model, and proposes lemmas.

In:  an `Instance`; claims (properties and lemmas); states that the explorer has reached.
Out: a system: for each claim, a literal (a node of a formula) that is true if the claim holds before a step, and
     queries whether a step can violate the claim. Also candidates for lemmas, which hold in all states of the input;
     checker/proofs/prove.py finds out which candidates are inductive.

There are two systems with the same interface: the transition system within its bounds, and its unbounded abstraction.

A candidate relates two fields with the same indices, or a field and a single cell: `a == x implies b == y`, `not both a
== x and b == y`, or `a <= b`. Further candidates are `always a == x` and `never a == x`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.proofs.unbounded_abstraction import OPEN, AbstractStep, UnboundedAbstraction
from isrcheck.checker.resources.limits import Answer, FormulaBudget, UndecidedError
from isrcheck.checker.results.proofs import CounterexampleToInduction
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph, Truth
from isrcheck.checker.symbolic.evaluator import Value
from isrcheck.checker.symbolic.solver import Solver, Values, once
from isrcheck.checker.symbolic.transition_relation import TransitionRelation, numbers_of
from isrcheck.models.language.model import IN_RANGE, Instance, Property
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.run import Cells

MOST_NODES = 20_000
"""For formulas of at most this many nodes, a second query finds the hypotheses that an answer needs."""


FEW = 12
"""If an answer needs at most this many hypotheses, they are always reduced to a minimal set."""


@dataclass(frozen=True)
class InductionQuery:
    """A query: can a step violate `claim`? It can if all literals in `demanded`, and `broken`, can be true together."""

    claim: str
    demanded: tuple[int, ...]
    broken: int
    step: AbstractStep | None = None


@dataclass(frozen=True)
class Decision:
    """The answer to a query: NO with the hypotheses that were `used`, YES with a counterexample, or undecided."""

    answer: Answer
    used: frozenset[int] = frozenset()
    counterexample: CounterexampleToInduction | None = None


class BoundedSystem:
    """The transition system within its bounds. A step that leaves a declared range has no successor; the implicit
    property `in_range` says that there is no such step."""

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
        """The literal that is true if, before a step, `claim` holds and its evaluation leaves no declared range."""
        if claim in self.extra:
            return self.extra[claim]
        literals = self.relation.properties[claim]
        return self.circuit.both(literals.holds, -literals.error)

    def after(self, literal: int) -> int:
        """Returns the literal for the state after a step that corresponds to `literal` for the state before it."""
        literals = self.circuit.replaced(self.circuit.cone([literal]), self.images)
        return literals[literal] if literal > 0 else -literals[-literal]

    def questions(self, claim: str) -> Iterator[InductionQuery]:
        """Yield one query: can any step violate `claim`? For the claim `in_range`, the query is whether in any state a
        step, or the evaluation of a property, leaves a declared range."""
        holds = self.hypothesis(claim)
        if claim == IN_RANGE.name:
            yield InductionQuery(claim, (), -holds)
            return
        if claim in self.extra or not self.claims[claim].of_steps:
            holds = self.after(holds)
        yield InductionQuery(claim, (self.relation.one_step, self.relation.stays), -holds)

    def decide(self, question: InductionQuery, hypotheses: Sequence[int], deadline: float) -> Decision:
        """Answer a query, assuming the literals `hypotheses`, before the deadline (a value of time.monotonic).

        Z3 gets all hypotheses at once. After the answer NO, a second query finds the hypotheses that NO needs.
        """
        demanded = [self.relation.one_value, *question.demanded, question.broken]
        answer, values = once(self.circuit, [*demanded, *hypotheses], deadline)
        if values is not None:
            return Decision(answer, counterexample=self._counterexample(question, values))
        return Decision(answer, self._used(question, hypotheses, deadline) if answer is Answer.NO else frozenset())

    def _used(self, question: InductionQuery, hypotheses: Sequence[int], deadline: float) -> frozenset[int]:
        """The hypotheses that the answer NO needs; all `hypotheses` if it takes too long to find the needed ones."""
        if len(self.circuit.left) > MOST_NODES and len(hypotheses) > FEW:
            return frozenset(hypotheses)
        self._solver.deadline = deadline
        answer = self._solver.check(*question.demanded, *hypotheses, question.broken)
        return frozenset(self._solver.core()) if answer is Answer.NO else frozenset(hypotheses)

    def _counterexample(self, question: InductionQuery, values: Values) -> CounterexampleToInduction:
        """The counterexample to induction that these values of literals describe: a state, a step, the state after."""
        before = numbers_of(self.relation.before, self.relation.arithmetic, values.holds)
        if question.claim == IN_RANGE.name:  # no step is required, so there may be no state after it
            return self._out_of_range(before, values)
        step = next(one.step for one in self.relation.transitions if values.holds(one.taken))
        after = numbers_of(self.relation.after, self.relation.arithmetic, values.holds)
        return CounterexampleToInduction(question.claim, before, step, self.instance.spell_step(step), after)

    def _out_of_range(self, before: tuple[int, ...], values: Values) -> CounterexampleToInduction:
        """The counterexample to `in_range`: a state, and the step or property that leaves a declared range there."""
        for transition in self.relation.transitions:
            if values.holds(transition.error):
                says = self.instance.spell_step(transition.step)
                return CounterexampleToInduction(IN_RANGE.name, before, transition.step, says, before)
        prop = next(asked.prop for asked in self.relation.asking if values.holds(asked.error))
        return CounterexampleToInduction(IN_RANGE.name, before, None, f"evaluating {prop.name}", before)


class AbstractSystem:
    """The unbounded abstraction. A step has its own query, unless the step changes no field that the claim reads."""

    def __init__(self, instance: Instance, claims: Sequence[Property], budget: FormulaBudget | None = None) -> None:
        self.instance = instance
        self.abstraction = UnboundedAbstraction(instance, budget)
        self.circuit = self.abstraction.circuit
        self.claims = {claim.name: claim for claim in claims}
        self._hypotheses: dict[str, int] = {}
        self._questions: dict[str, list[InductionQuery]] = {}
        self._solvers: dict[int, Solver] = {}

    def hypothesis(self, claim: str) -> int:
        """The literal that is true if, before a step, `claim` holds and its evaluation leaves no declared range."""
        if claim not in self._hypotheses:
            literals = self.abstraction.ask(self.claims[claim], [self.abstraction.before])
            self._hypotheses[claim] = self.circuit.both(*literals)
        return self._hypotheses[claim]

    def read(self, claim: str) -> None:
        """Prepare all queries of a claim. Raises UnsupportedError if the abstraction cannot evaluate the claim."""
        if not self.claims[claim].of_steps and claim != IN_RANGE.name:
            self.hypothesis(claim)
        self.questions(claim)

    def questions(self, claim: str) -> Iterator[InductionQuery]:
        """One query for each step that may write a field that the claim reads: can the step violate the claim?"""
        if claim not in self._questions:
            self._questions[claim] = list(self._asked(self.claims[claim]))
        return iter(self._questions[claim])

    def _asked(self, claim: Property) -> Iterator[InductionQuery]:
        steps = self.abstraction.steps
        if claim is IN_RANGE:
            yield from (InductionQuery(claim.name, (), step.error, step) for step in steps if step.error != FALSE)
            return
        read = [self.abstraction.layouts[name] for name in claim.function.routine.reads]
        places = [place for place in read if OPEN not in place.sizes]
        cells = [cell for place in places for cell in range(place.offset, place.offset + place.count)]
        for step in steps:
            is_left = all(step.after[cell] is self.abstraction.before[cell] for cell in cells)
            if is_left and not claim.of_steps and not self._writes_open(step, claim):
                continue
            states = [self.abstraction.before, step.after] if claim.of_steps else [step.after]
            holds, within = self.abstraction.ask(claim, states, step.taken)
            kept = self.circuit.both(holds, within)
            if kept != TRUE:
                yield InductionQuery(claim.name, (step.enabled,), -kept, step)

    def _writes_open(self, step: AbstractStep, claim: Property) -> bool:
        """Whether the step may write to an array that `claim` reads and whose domain is unbounded."""
        functions = [self.instance.function(slot) for slot in step.taken]
        written = {name for function in functions if function is not None for name in function.routine.writes}
        return any(OPEN in self.abstraction.layouts[name].sizes for name in written & claim.function.routine.reads)

    def decide(self, question: InductionQuery, hypotheses: Sequence[int], deadline: float) -> Decision:
        """Answer a query with the solver of its step, before the deadline, and assuming the literals `hypotheses`."""
        solver = self._solvers.setdefault(id(question.step), self.abstraction.solver())
        solver.deadline = deadline
        answer = solver.check(*question.demanded, *hypotheses, question.broken)
        if answer is Answer.YES:
            return Decision(answer, counterexample=self._counterexample(question, solver))
        return Decision(answer, frozenset(solver.core()) if answer is Answer.NO else frozenset())

    def _counterexample(self, question: InductionQuery, solver: Solver) -> CounterexampleToInduction:
        """The counterexample to induction that the solver found, with small numbers if possible."""
        step = question.step
        assert step is not None
        self._prefer_small(solver)
        values, model = solver.values(), solver.solver.model()

        def number(value: Value) -> int:
            if isinstance(value, Truth):
                return int(values.holds(value.literal))
            return self.abstraction.arithmetic.value(model, int(value) if isinstance(value, bool) else value)

        def cells(state: Sequence[Value]) -> tuple[int | None, ...]:
            numbers: list[int | None] = []
            for name, place in self.instance.layouts.items():
                own = self.abstraction.layouts[name]
                is_kept = OPEN not in own.sizes
                kept = map(number, state[own.offset : own.offset + own.count] if is_kept else ())
                numbers += kept if is_kept else [None] * place.count
            return tuple(numbers)

        arguments = " ".join("?" if argument is None else str(argument) for argument in step.arguments)
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
        """Ask the solver for a counterexample within the bounds, and, if it finds none, for any counterexample."""
        compare = self.abstraction.arithmetic.compare
        places = [self.abstraction.layouts[name] for name in self.abstraction.kept]
        small = [
            compare("<=", cell, self.instance.layouts[place.name].high)
            for place in places
            for cell in self.abstraction.before[place.offset : place.offset + place.count]
            if not isinstance(cell, bool | Truth)
        ]
        assumed = solver.assumed
        if solver.check(*assumed, *small) is not Answer.YES:
            answer = solver.check(*assumed)
            if answer is not Answer.YES:  # it was YES before; now there is no time left
                raise UndecidedError(answer)


InductionSystem = BoundedSystem | AbstractSystem
"""The two systems on which induction works, with one interface. A claim is the name of a property or lemma."""

MOST_VALUES = 5
"""Fields with more values than this are compared only by `<=`."""

MOST_CANDIDATES = 6000
"""With more candidates than this, no lemma is proposed: such a large model needs declared lemmas."""

Truths = NDArray[np.bool_]
"""For each sampled state and each index, whether an atom (`_Atom`) is true."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A proposed lemma: its text, and the literal that is true if the lemma holds before a step."""

    name: str
    literal: int


@dataclass(frozen=True, eq=False)
class _Atom:
    """A comparison `field == value`: its text, a literal for each index, and in which sampled states it is true."""

    text: str
    place: FieldLayout
    literals: Sequence[int]
    truths: Truths


def candidates(system: BoundedSystem, sample: Sequence[Cells]) -> list[Candidate]:
    """All candidates for lemmas that hold in every state of the sample; none if there are more than MOST_CANDIDATES."""
    if not sample:
        return []
    states = np.array(sample, np.int64)
    atoms = list(_atoms(system, states))
    proposals = [*_constants(system, atoms)]
    for first, second in itertools.permutations(atoms, 2):
        over, others = first.place.field.over, second.place.field.over
        if first.place is second.place or not (over == others or over == () or others == ()):
            continue
        proposals += _implications(system.circuit, first, second)
        if len(proposals) > MOST_CANDIDATES:
            return []
    proposals += _orders(system, states)
    return proposals if len(proposals) <= MOST_CANDIDATES else []


def _atoms(system: BoundedSystem, states: NDArray[np.int64]) -> Iterator[_Atom]:
    arithmetic, evaluator = system.relation.arithmetic, system.relation.evaluator
    for place in system.instance.layouts.values():
        if place.high - place.low >= MOST_VALUES or not place.count:
            continue
        cells = slice(place.offset, place.offset + place.count)
        before: list[Value] = system.relation.before[cells]
        if place.field.values.is_flag:
            yield _Atom(place.name, place, [evaluator.truth(cell) for cell in before], states[:, cells] == 1)
            continue
        for value in range(place.low, place.high + 1):
            literals = [arithmetic.is_element(cell, value) for cell in before]
            yield _Atom(f"{place.name} == {place.spell(value)}", place, literals, states[:, cells] == value)


def _constants(system: BoundedSystem, atoms: Sequence[_Atom]) -> Iterator[Candidate]:
    for atom in atoms:
        if atom.truths.all():
            yield Candidate(f"always {atom.text}", system.circuit.all(atom.literals))
        elif not atom.truths.any():
            yield Candidate(f"never {atom.text}", system.circuit.all(-literal for literal in atom.literals))


def _implications(circuit: AndInverterGraph, one: _Atom, other: _Atom) -> Iterator[Candidate]:
    if one.truths.all() or not one.truths.any() or other.truths.all() or not other.truths.any():
        return  # constants are candidates already
    # A single cell is paired with every cell of the other field.
    count = max(one.place.count, other.place.count)
    mine, theirs = (list(atom.literals) * (count // atom.place.count) for atom in (one, other))
    pairs = list(zip(mine, theirs, strict=True))
    if not (one.truths & ~other.truths).any():
        text = f"{one.text} implies {other.text}"
        yield Candidate(text, circuit.all(circuit.either(-a, b) for a, b in pairs))
    if not (one.truths & other.truths).any() and (one.place.name, one.text) < (other.place.name, other.text):
        yield Candidate(f"not both {one.text} and {other.text}", circuit.all(circuit.either(-a, -b) for a, b in pairs))


def _orders(system: BoundedSystem, states: NDArray[np.int64]) -> Iterator[Candidate]:
    places = [p for p in system.instance.layouts.values() if not p.field.values.is_flag and not p.field.values.names]
    for one, other in itertools.permutations(places, 2):
        if one.field.over != other.field.over or not one.count:
            continue
        mine, theirs = (states[:, p.offset : p.offset + p.count] for p in (one, other))
        if (mine <= theirs).all():
            before, compare = system.relation.before, system.relation.evaluator.compare
            pairs = [(before[one.offset + at], before[other.offset + at]) for at in range(one.count)]
            literals = [compare("<=", small, large) for small, large in pairs]
            yield Candidate(f"{one.name} <= {other.name}", system.circuit.all(literals))
