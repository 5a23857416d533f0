"""Proves properties for every depth: by induction, with the lemmas that a model declares, and by k-induction.

In:  an `Instance` whose initial states are enumerated, and the names of properties that a search found to fail.
Out: for each property a `Proof`, or a failed `Attempt`: which claim a step violates, and from which state.

A set of claims (properties and lemmas) is inductive if all of them are true initially, and no step from a state in
which all are true violates one. The greatest inductive subset of the claims is found by dropping violated claims until
no claim is violated (Houdini: Flanagan, Leino 2001). A query that Z3 does not decide counts neither as a proof nor as a
counterexample.

Plain Python evaluates a claim in each initial state, if the model lists its initial states. Generators (`@initial`) can
make millions of states: then Z3 looks for an initial state in which the claim is false, and Python checks this state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from isrcheck.checker.proofs.induction import (
    MOST_NODES,
    AbstractSystem,
    BoundedSystem,
    Candidate,
    InductionSystem,
    candidates,
)
from isrcheck.checker.proofs.unbounded_abstraction import UnsupportedError
from isrcheck.checker.resources.limits import Answer, FormulaBudget, UndecidedError
from isrcheck.checker.results.proofs import FALSE_INITIALLY, Attempt, CounterexampleToInduction, Phase, Proof, Proofs
from isrcheck.checker.symbolic.and_inverter_graph import AndInverterGraph
from isrcheck.checker.symbolic.evaluator import Evaluator
from isrcheck.checker.symbolic.finite_integers import FiniteArithmetic
from isrcheck.checker.symbolic.solver import Solver, once, telling_interrupts
from isrcheck.checker.symbolic.transition_relation import InitialChoice, TransitionRelation, Unrolling, initial_choice
from isrcheck.models import run
from isrcheck.models.language.declarations import INDUCTIVE, Kind
from isrcheck.models.language.model import IN_RANGE, Instance, Property
from isrcheck.models.messages import ModelError, UsageError
from isrcheck.models.run import Cells


class BaseCase:
    """The base case of inductions: finds out whether properties are true in all initial states of an instance."""

    def __init__(self, instance: Instance, budget: FormulaBudget, deadline: float) -> None:
        self.instance = instance
        self.budget = budget
        self.deadline = deadline

    @cached_property
    def _symbolic(self) -> tuple[Evaluator, InitialChoice]:
        circuit = AndInverterGraph(self.budget)
        evaluator = Evaluator(self.instance, circuit, FiniteArithmetic(circuit))
        return evaluator, initial_choice(self.instance, evaluator)

    def holds(self, prop: Property) -> bool:
        """Whether a property of states is true in every initial state. Raises ModelError if `prop` cannot be evaluated
        in some initial state, and UndecidedError if Z3 gives no answer."""
        if self.instance.model.generators:
            return self._holds_symbolically(prop)

        def holds_in(cells: Cells) -> bool:
            self.budget.look()
            return run.holds(self.instance, prop, cells)

        return all(map(holds_in, self.instance.initial_states))

    def _holds_symbolically(self, prop: Property) -> bool:
        evaluator, choice = self._symbolic
        holds, _, error = evaluator.property(prop, [choice.cells])
        circuit = evaluator.circuit
        answer, values = once(circuit, [choice.condition, -circuit.both(holds, -error)], self.deadline)
        if not answer.is_yes:
            return True
        assert values is not None
        cells = self.instance.initial_states[choice.number(values.holds)]
        assert not run.holds(self.instance, prop, cells), f"Z3 and plain Python differ on {prop.name} in {cells}"
        return False


SOME = 1000
"""The initial states that are sampled when lemmas are proposed; Z3 handles the rest."""

MOST_STEPS = 3
"""The largest k of k-induction."""


Report = Callable[[str], None]


@dataclass
class Induction:
    """The result of `induct` for each claim, by name: every step preserves it, a step violates it, or no answer."""

    kept: dict[str, frozenset[str]] = field(default_factory=dict)
    """The claims that every step preserves, each with the properties and lemmas that its proof uses."""
    broken: dict[str, CounterexampleToInduction] = field(default_factory=dict)
    """The claims that a step violates, each with a counterexample to induction."""
    unknown: dict[str, Answer] = field(default_factory=dict)
    """The claims that Z3 did not decide, each with the reason."""

    def note(self, claim: str, result: frozenset[str] | CounterexampleToInduction | Answer) -> None:
        """Store the result that `preserved` returns for a claim."""
        match result:
            case frozenset():
                self.kept[claim] = result
            case CounterexampleToInduction():
                self.broken[claim] = result
            case Answer():
                self.unknown[claim] = result


def induct(
    system: InductionSystem,
    claims: Sequence[str],
    goals: Sequence[str],
    deadline: float,
    report: Report,
    known: Sequence[str] = (),
) -> Induction:
    """Find the greatest inductive subset of `claims`, and the `goals` that every step preserves if this subset holds.

    `claims`, `goals` and `known` are names of properties and lemmas. All `known` hold in every reachable state, so they
    are assumed; goals are never assumed. Raises UndecidedError.
    """
    induction, left = Induction(), list(claims)
    while True:
        induction.kept = {}
        for claim in left:
            induction.note(claim, preserved(system, claim, [*known, *left], deadline, report))
        for answer in induction.unknown.values():  # dropping the claim would weaken the others without a reason
            raise UndecidedError(answer)
        if len(induction.kept) == len(left):
            break
        left = list(induction.kept)
    for goal in goals:
        induction.note(goal, preserved(system, goal, [*known, *left], deadline, report))
    return induction


def preserved(
    system: InductionSystem, claim: str, assumed: Sequence[str], deadline: float, report: Report
) -> frozenset[str] | CounterexampleToInduction | Answer:
    """Find out whether every step preserves `claim`, if all claims `assumed` hold before the step. If so, return the
    assumed claims that the proof uses; otherwise a counterexample to induction, or the reason why Z3 did not decide."""
    report(f"proving {claim}")
    hypotheses = {system.hypothesis(name): name for name in assumed}
    used: set[str] = set()
    try:
        for question in system.questions(claim):
            decision = system.decide(question, list(hypotheses), deadline)
            if decision.counterexample is not None:
                return decision.counterexample
            if decision.answer is not Answer.NO:
                return decision.answer
            used |= {hypotheses[literal] for literal in decision.used if literal in hypotheses}
    except UndecidedError as undecided:
        return undecided.why
    return frozenset(used - {claim})


def _initially_true(system: BoundedSystem, proposed: Sequence[Candidate], deadline: float) -> list[Candidate]:
    """The proposed lemmas that hold in all initial states; in the first SOME of them, all proposed lemmas hold."""
    if not proposed or len(system.instance.initial_states) <= SOME:
        return list(proposed)
    relation, circuit = system.relation, system.circuit
    choice = initial_choice(system.instance, relation.evaluator)
    images = circuit.replaced(circuit.cone([one.literal for one in proposed]), relation.ports(choice.cells))
    first = [(one, images[abs(one.literal)] * (1 if one.literal > 0 else -1)) for one in proposed]
    solver = Solver(circuit, deadline)
    solver.add(choice.condition)
    return _true_together(circuit, solver, first, are_assumed=False)


def _inductive(
    system: BoundedSystem, proposed: Sequence[Candidate], kept: Sequence[str], deadline: float
) -> list[Candidate]:
    """The greatest subset of the proposed lemmas that every step preserves, if the claims `kept` hold in all states."""
    hypotheses = [system.hypothesis(name) for name in kept]
    after = [(one, system.after(one.literal)) for one in proposed]
    solver = Solver(system.circuit, deadline)
    solver.add(system.relation.one_value, system.relation.one_step, system.relation.stays, *hypotheses)
    return _true_together(system.circuit, solver, after, are_assumed=True)


def _true_together(
    circuit: AndInverterGraph, solver: Solver, claimed: Sequence[tuple[Candidate, int]], *, are_assumed: bool
) -> list[Candidate]:
    """Return the greatest set of proposed lemmas that the solver can prove together. Raises UndecidedError.

    Each lemma comes with a literal that is true if the lemma holds in the examined state. With `are_assumed`, that is
    the state after a step, and all lemmas of the set are assumed to hold before the step. When the solver finds a state
    in which lemmas are false, all these lemmas are dropped together.
    """
    left = list(claimed)
    while left:
        broken = circuit.any(-literal for _, literal in left)
        if not solver.check(*(one.literal for one, _ in left if are_assumed), broken).is_yes:
            break
        values = solver.values()
        left = [(one, literal) for one, literal in left if values.holds(literal)]
    return [one for one, _ in left]


def _rests_on(kept: Mapping[str, frozenset[str]], name: str) -> tuple[str, ...]:
    """All claims that the proof of `name` needs, directly or through other claims, in the order of `kept`."""
    needed, new = set[str](), {name}
    while new:
        needed |= new
        new = set[str]().union(*(kept[claim] for claim in new)) - needed
    return tuple(claim for claim in kept if claim in needed and claim != name)


def prove(
    instance: Instance,
    properties: Sequence[Property],
    phase: Phase,
    *,
    failing: Sequence[str] = (),
    known: Proofs | None = None,
    sample: Sequence[Cells] = (),
    seconds: float | None = None,
    report: Report = lambda message: None,
) -> Proofs:
    """Prove as many of these properties as possible in one phase, given the proofs `known` from earlier phases.

    Properties that a search found to fail (`failing`) are tried only in the phase EVERY_LENGTH, as a check: a proof
    would contradict the search. The phase WITH_MORE also proposes lemmas, which are true in a `sample` of reachable
    states. `seconds` limits the time (None: no limit).
    """
    started = time.monotonic()
    deadline = float("inf") if seconds is None else started + seconds
    proving = _Proving(instance, properties, failing, known or Proofs(), deadline, report)
    proofs = proving.found
    try:
        with telling_interrupts():
            if phase is Phase.EVERY_LENGTH:
                if not instance.model.constraints:  # the abstraction does not know them
                    proving.every_length()
            elif phase is Phase.WITHIN_BOUNDS:
                proving.within_bounds()
            else:
                proving.with_candidates(sample)
                proving.with_more_steps()
    except KeyboardInterrupt:
        proofs.stopped = "interrupt"
    except UndecidedError as undecided:
        proofs.stopped = undecided.why.value
    except UsageError as error:
        proving.refuse(error, every_length=phase is Phase.EVERY_LENGTH)
    proofs.seconds = time.monotonic() - started
    return proofs


class _Proving:
    def __init__(
        self,
        instance: Instance,
        properties: Sequence[Property],
        failing: Sequence[str],
        known: Proofs,
        deadline: float,
        report: Report,
    ) -> None:
        self.instance = instance
        self.failing = frozenset(failing)
        self.settled = frozenset([*failing, *known.proofs])
        names = {name for proof in known.proofs.values() for name in (proof.prop.name, *proof.lemmas)}
        claims = (*instance.properties, *instance.lemmas)
        self.invariants = [claim for claim in claims if claim.name in names and not claim.of_steps]
        self.properties = [prop for prop in properties if prop.kind in INDUCTIVE and prop is not IN_RANGE]
        self.deadline = deadline
        self.budget = FormulaBudget(deadline)
        self.base = BaseCase(instance, self.budget, deadline)
        self.report = report
        self.found = Proofs()
        self.initially: dict[str, str | None] = {}

    @property
    def open(self) -> list[Property]:
        """The properties still to prove: there is no proof of them, and no search found that they fail."""
        return [p for p in self.properties if p.name not in self.found.proofs and p.name not in self.settled]

    @property
    def premises(self) -> list[Property]:
        """The property `in_range`, on which every proof rests, in a list; an empty list once it is proved or fails."""
        is_open = IN_RANGE.name not in self.found.proofs and IN_RANGE.name not in self.settled
        return [IN_RANGE] if is_open else []

    def _claims(self, candidates: Iterable[Property], *, every_length: bool) -> list[Property]:
        """The candidates that are true in every initial state; for the others, a failed attempt is stored."""
        true_claims = []
        for claim in candidates:
            if claim.name not in self.initially:
                self.initially[claim.name] = self._why_not_initially(claim)
            why = self.initially[claim.name]
            if why is None:
                true_claims.append(claim)
            else:
                self._lose(Attempt(claim, every_length, why))
        return true_claims

    def _why_not_initially(self, claim: Property) -> str | None:
        if claim.of_steps:
            return None  # it does not apply to an initial state
        try:
            return None if self.base.holds(claim) else FALSE_INITIALLY
        except ModelError as error:
            return str(error)

    def _lose(self, attempt: Attempt) -> None:
        if attempt.prop.kind is Kind.LEMMA:
            self.found.lost[attempt.prop.name] = attempt
        else:
            self.found.attempts.append(attempt)

    def every_length(self) -> None:
        promises = [prop for prop in self.properties if prop.every_length]
        if not promises:
            return
        started = time.monotonic()
        lemmas = [lemma for lemma in self.instance.lemmas if lemma.every_length]
        claims = self._claims([*(p for p in promises if not p.of_steps), *lemmas], every_length=True)
        goals = [prop for prop in promises if prop.of_steps]
        self.report("building the unbounded abstraction")
        try:
            system = AbstractSystem(self.instance, [*claims, *goals, IN_RANGE], self.budget)
        except UnsupportedError as error:
            for prop in promises:
                self._lose(Attempt(prop, True, f"the unbounded abstraction cannot be built: {error}"))
            return
        claims, goals = self._asked_of(system, claims), [*self._asked_of(system, goals), IN_RANGE]
        induction = induct(
            system, [claim.name for claim in claims], [goal.name for goal in goals], self.deadline, self.report
        )
        # Without a proof of `in_range` for the abstraction, all proofs fall: the abstraction excludes steps that leave
        # a range or an index of fixed size.
        if induction.kept.pop(IN_RANGE.name, None) is None:
            why = f"its proof rests on {IN_RANGE.name} for every length, which is not proved"
            for prop in self.properties:
                if induction.kept.pop(prop.name, None) is not None:
                    self._lose(Attempt(prop, True, why))
        self._conclude(induction, [*claims, *goals], started, every_length=True)

    def _asked_of(self, system: AbstractSystem, claims: Sequence[Property]) -> list[Property]:
        """The claims that the abstraction can evaluate; for the others, a failed attempt is stored."""
        readable = []
        for claim in claims:
            try:
                system.read(claim.name)
                readable.append(claim)
            except UnsupportedError as error:
                self._lose(Attempt(claim, True, f"the unbounded abstraction cannot evaluate it: {error}"))
        return readable

    def refuse(self, error: UsageError, *, every_length: bool) -> None:
        """Store a failed attempt for every open property: Z3 cannot check the model, for the reason `error`."""
        for prop in self.open:
            if prop.every_length or not every_length:
                self._lose(Attempt(prop, every_length, f"Z3 cannot check this model: {error}"))

    def within_bounds(self) -> None:
        if not self.open:
            return
        started = time.monotonic()
        states = [prop for prop in self.properties if not prop.of_steps and prop.name not in self.failing]
        claims = self._claims([*states, *self.instance.lemmas], every_length=False)
        goals = [prop for prop in self.open if prop.of_steps]
        premises = self.premises
        asked_about = [*claims, *goals, *premises]
        self.report("building the transition relation")
        system = BoundedSystem(self.instance, asked_about, self.budget)
        induction = Induction()
        # In layers, in the order of the lemma files, so that claims do not rest on unnecessary lemmas.
        layers = list(dict.fromkeys(claim.function.path for claim in claims if claim.kind is Kind.LEMMA))
        for position in range(len(layers) + 1):
            names = [
                claim.name
                for claim in claims
                if claim.name not in induction.kept
                and (claim.kind is not Kind.LEMMA or claim.function.path in layers[:position])
            ]
            is_last = position == len(layers)
            # The premise is checked in every layer, so that proofs remain valid if a later layer is cut short.
            aims = [premise.name for premise in premises if premise.name not in induction.kept]
            aims += [goal.name for goal in goals] if is_last else []
            assumed = [name for name in induction.kept if name != IN_RANGE.name]
            try:
                layer = induct(system, names, aims, self.deadline, self.report, assumed)
            except (UndecidedError, KeyboardInterrupt):
                # The results of earlier layers remain valid.
                self._conclude(Induction(induction.kept), asked_about, started, every_length=False)
                raise
            induction = Induction(induction.kept | layer.kept, layer.broken, layer.unknown)
        self._conclude(induction, asked_about, started, every_length=False)

    def _conclude(
        self, induction: Induction, claims: Sequence[Property], started: float, *, every_length: bool
    ) -> None:
        by_name = {claim.name: claim for claim in claims}
        for name in induction.kept:
            prop = by_name[name]
            # A proof of a property that is known to fail is kept, too: it shows that one of the two is wrong.
            is_wanted = name not in self.settled or (every_length and name in self.failing)
            if prop.kind is not Kind.LEMMA and name not in self.found.proofs and is_wanted:
                lemmas = _rests_on(induction.kept, name)
                self.found.proofs[name] = Proof(prop, lemmas, every_length, 1, time.monotonic() - started)
        for name, counterexample in induction.broken.items():
            if name not in self.found.proofs and (every_length or name not in self.settled):
                self._lose(Attempt(by_name[name], every_length, "a step violates it", counterexample))
        for name, answer in induction.unknown.items():
            if name not in self.found.proofs:
                self._lose(Attempt(by_name[name], every_length, f"Z3 did not answer ({answer.value})"))
                self.found.stopped = answer.value

    def _is_anything_asked(self, goals: Sequence[Property]) -> bool:
        """Whether a proof attempt is worthwhile: some goal is not `in_range`, or earlier proofs rest on `in_range`."""
        return any(prop is not IN_RANGE for prop in goals) or bool(goals and self.settled - self.failing)

    def with_candidates(self, sample: Sequence[Cells]) -> None:
        """Propose lemmas that hold in the sample, keep the inductive lemmas, and prove open properties by induction
        with these lemmas and with everything that is already proved."""
        promises = self._claims(self.open, every_length=False)
        aims = [*promises, *self.premises]
        if not self._is_anything_asked(aims) or not sample:
            return
        started = time.monotonic()
        self.report("proposing lemmas")
        system = BoundedSystem(self.instance, [*self.invariants, *aims], self.budget)
        kept = [claim.name for claim in self.invariants]
        if len(system.circuit.left) > MOST_NODES:
            return  # such a large model needs declared lemmas
        states = [*self.instance.initial_states[:SOME], *sample]
        proposed = _initially_true(system, candidates(system, states), self.deadline)
        left = _inductive(system, proposed, kept, self.deadline)
        system.extra = {one.name: one.literal for one in left}
        goals = [prop.name for prop in aims if prop.of_steps or prop is IN_RANGE]
        claims = [prop.name for prop in promises if not prop.of_steps]
        induction = induct(system, claims, goals, self.deadline, self.report, [*kept, *system.extra])
        for prop in aims:
            if prop.name in induction.kept:
                unproved = dict.fromkeys([*kept, *system.extra], frozenset[str]())
                lemmas = _rests_on(unproved | induction.kept, prop.name)
                self.found.proofs[prop.name] = Proof(prop, lemmas, False, 1, time.monotonic() - started)

    def with_more_steps(self) -> None:
        """Prove open properties by k-induction over paths that visit no state twice, assuming all that is proved."""
        aims = [*self.open, *self.premises]
        if not self._is_anything_asked(aims):
            return
        relation = TransitionRelation(self.instance, [*self.invariants, *aims], self.budget)
        start, anywhere = Unrolling(relation), Unrolling(relation, free=True)
        solvers = [Solver(relation.circuit, self.deadline) for _ in range(2)]
        for unrolling, solver in zip((start, anywhere), solvers, strict=True):
            solver.add(unrolling.begins)
        fails = {prop.name for prop in aims if self._fails_at(prop, start, solvers[0], 0)}
        for steps in range(1, MOST_STEPS + 1):
            started = time.monotonic()
            for unrolling, solver in zip((start, anywhere), solvers, strict=True):
                unrolling.extend()
                level = unrolling.levels[steps - 1]
                solver.add(level.one_step, level.stays)
            assumed = [level.asked[claim.name][0] for level in anywhere.levels for claim in self.invariants]
            solvers[1].add(*assumed, *(anywhere.differ(steps - 1, earlier) for earlier in range(steps - 1)))
            is_new = [anywhere.differ(steps, earlier) for earlier in range(steps)]
            for prop in aims:
                if prop.name in self.found.proofs or prop.name in fails:
                    continue
                self.report(f"proving {prop.name} by {steps}-induction")
                held = [self._stands(prop, anywhere, depth) for depth in range(int(prop.of_steps), steps)]
                # The step that violates a property of transitions may lead back to an earlier state of the path.
                simple = [] if prop.of_steps else is_new
                if not solvers[1].check(*held, *simple, -self._stands(prop, anywhere, steps)).is_yes:
                    lemmas = tuple(claim.name for claim in self.invariants)
                    seconds = time.monotonic() - started
                    self.found.proofs[prop.name] = Proof(prop, lemmas, False, steps, seconds)
                elif self._fails_at(prop, start, solvers[0], steps):
                    fails.add(prop.name)

    def _fails_at(self, prop: Property, start: Unrolling, solver: Solver, depth: int) -> bool:
        return depth >= prop.of_steps and solver.check(-self._stands(prop, start, depth)).is_yes

    def _stands(self, prop: Property, unrolling: Unrolling, depth: int) -> int:
        """The literal that is true if, after `depth` steps, `prop` holds and its evaluation stays in range."""
        holds, _, error = unrolling.at(prop, depth)
        return unrolling.circuit.both(holds, -error)
