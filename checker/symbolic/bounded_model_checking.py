"""Bounded model checking: for each depth, is there a path of exactly this length that violates a property?

Out: a `BmcResult`: a shortest path for each violated or reached property, and the depth to which everything was
     checked. For a violation, the path is the first of the shortest paths, by initial state and then by steps.

At each depth, as in checker/explicit/explore.py, a property of states is checked in the last state of the paths, and a
property of transitions on the last step. Two adjacent steps are independent if neither writes a cell that the other
reads or writes. If adjacent steps are independent, only paths with these steps in the order of their numbers are
searched; the first path is among these paths.

A step that leaves a declared range violates `in_range`, and no path continues after this step. The formulas exclude
such steps only after the search has found one, so a model without such steps needs no additional formulas. As in the
explicit search, states at the depth limit are not expanded, and a state there never violates `deadlock`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isrcheck.checker.resources.limits import FormulaBudget, Limits, UndecidedError
from isrcheck.checker.results.exploration import BmcResult, Finding, Findings, StepPath
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, AndInverterGraph
from isrcheck.checker.symbolic.evaluator import Value
from isrcheck.checker.symbolic.finite_integers import OneHotInteger
from isrcheck.checker.symbolic.solver import Solver, Values, once, telling_interrupts
from isrcheck.checker.symbolic.transition_relation import TransitionRelation, Unrolling
from isrcheck.models.language.declarations import WHOLE, Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance, Property
from isrcheck.traces.format.trace import error_in_step, path_of, possible_steps

WALKS = 5
"""How many random walks look for a path of the next length, before Z3 does."""


Errors = tuple[int, Values | None]
"""Range errors of properties at a depth: a literal that is true if one occurs, and an assignment with one."""


@dataclass(frozen=True)
class Goal:
    """What a query looks for: a state in which `prop` is violated, or (`is_permitted`) fails where the model permits
    it, or, for `@sometimes`, is true."""

    prop: Property
    is_permitted: bool

    def literal(self, circuit: AndInverterGraph, said: tuple[int, int, int]) -> int:
        """Return a literal that is true if the goal is met. `said` has three literals: whether the goal's property
        holds, whether its failure is permitted, and whether its evaluation leaves a declared range."""
        holds, permitted, error = said
        if self.prop.kind in WHOLE:
            return FALSE  # a path of one length cannot show that no other path exists, or that it continues for ever
        if self.prop.kind is Kind.SOMETIMES:
            return circuit.both(holds, -error)
        return circuit.all([-holds, permitted if self.is_permitted else -permitted, -error])


def ask_to_depth(
    instance: Instance,
    limits: Limits,
    *,
    only: Sequence[str] = (),
    report: Callable[[int, float, int], None] = lambda depth, seconds, nodes: None,
) -> BmcResult:
    """Check every depth up to `limits.depth`, which must not be None, and return the result. `only` names the
    properties to check (empty: all)."""
    assert limits.depth is not None, "bounded model checking needs a depth limit"
    asking = _BoundedModelChecker(instance, limits, only, report)
    try:
        with telling_interrupts():
            asking.build()
            asking.levels(limits.depth)
    except UndecidedError as undecided:
        asking.result.stopped = undecided.why.value
    except KeyboardInterrupt:
        asking.result.stopped = "interrupt"
    asking.result.seconds = time.monotonic() - asking.started
    asking.result.nodes = asking.nodes
    return asking.result


class _BoundedModelChecker:
    def __init__(
        self, instance: Instance, limits: Limits, only: Sequence[str], report: Callable[[int, float, int], None]
    ) -> None:
        self.started = time.monotonic()
        self.deadline = float("inf") if limits.seconds is None else self.started + limits.seconds
        self.instance = instance
        self.report = report
        self.result = BmcResult(instance, limits)
        self.watched = [prop for prop in instance.properties if not only or prop.name in only]
        self.result.findings = {prop.name: Findings() for prop in self.watched}
        for prop in self.watched:
            if prop.kind in WHOLE:
                self.result.findings[prop.name].unjudged = f"Z3 does not judge {prop.kind.value}; use --engine local"
        self.budget = FormulaBudget(self.deadline)
        self.added = 0
        self.open = [Goal(prop, False) for prop in self.watched]
        self.open += [Goal(prop, True) for prop in self.watched if prop.permitted is not None]
        self.end = [Goal(DEADLOCK, False)] if limits.deadlock and (not only or DEADLOCK.name in only) else []
        self.nodes = 0

    def build(self) -> None:
        """Build the formulas of one step, and of the initial states."""
        properties = [*self.watched, *(goal.prop for goal in self.end)]
        self.relation = TransitionRelation(self.instance, properties, self.budget)
        self.circuit = self.relation.circuit
        self.unrolling = Unrolling(self.relation)
        self.order = Order(self.relation, with_errors=False)
        self.errs = False
        # Constraints on every path to the last depth; and those on the order of its last two steps.
        self.behaviour = [self.unrolling.begins]
        self.last_order: list[int] = []
        self.solver = Solver(self.circuit, self.deadline)
        self.nodes = len(self.circuit.left)

    def levels(self, bound: int) -> None:
        for depth in range(bound + 1):
            began = time.monotonic()
            self.budget.look()
            if depth:
                self._extend()
                if not self._goes_on(depth):
                    self.result.exhausted = True
                    return
            self.nodes = len(self.circuit.left)
            self.report(depth, began - self.started, self.nodes)
            self._ask(depth, expands=depth < bound)
            self.nodes = len(self.circuit.left)
            self.result.judged = depth
            self.result.times.append(time.monotonic() - began)
            if not self._is_open():
                self.result.stopped = "decided" if depth < bound else None
                return

    def _extend(self) -> None:
        unrolling = self.unrolling
        unrolling.extend()
        depth = unrolling.depth
        level = unrolling.levels[depth - 1]
        arithmetic = self.relation.arithmetic
        self.behaviour += [level.one_step, *self.last_order, *([level.stays] if self.errs else [])]
        # Redundant, but it lets Z3 propagate earlier what a step excludes.
        self.behaviour += [
            arithmetic.has_one_value(cell) for cell in unrolling.levels[depth].state if isinstance(cell, OneHotInteger)
        ]
        self.last_order = []
        if depth > 1:
            self.last_order = self.order.of(self.circuit, unrolling.levels[depth - 2].taken, level.taken)

    def _goes_on(self, depth: int) -> bool:
        chance = random.Random(depth)  # noqa: S311 - any path will do, and always the same one
        for _ in range(WALKS):
            cells = chance.choice(self.instance.initial_states)
            for _ in range(depth):
                self.budget.look()
                after = [after for _, after in possible_steps(self.instance, cells)]
                if not after:
                    break
                cells = chance.choice(after)
            else:
                return True
        return self._easy(*self.last_order) is not None

    def _is_open(self) -> bool:
        return bool(self.open) or not self.watched

    def _ask(self, depth: int, *, expands: bool) -> None:
        """Look at this depth for every goal that was not found before, and for properties whose evaluation leaves a
        declared range. If `expands` is true, look also for deadlocks and for steps that leave a declared range."""
        is_asked = expands and not self.errs
        error = self.circuit.both(self.unrolling.levels[depth].error, self.circuit.all(self.last_order))
        promises = [goal for goal in self.open if goal.prop.kind is not Kind.SOMETIMES]
        sought = [goal for goal in self.open if goal.prop.kind is Kind.SOMETIMES]
        leaving_range = error if is_asked else FALSE
        answers = [self._find(depth, promises, self._hard, leaving_range), self._find(depth, sought, self._easy)]
        self._find_least_error(depth, [errors for errors, _ in answers])
        decided = {goal.prop for goal in self.open if self._finding(goal.prop, False).path is not None}
        self.open = [goal for goal in self.open if goal.prop not in decided]
        leaving = answers[0][1]
        # As in the explorer, no step is taken once everything is decided.
        if expands and self._is_open():
            self._find_deadlock(depth)
            if leaving is not None:
                self._find_least_step(depth, error, leaving)

    def _find_deadlock(self, depth: int) -> None:
        if not self.end:
            return
        findings = self.result.findings.setdefault(DEADLOCK.name, Findings())
        errors, _ = self._find(depth, self.end, self._hard)
        self._find_least_error(depth, [errors])
        if findings.found.path is not None:
            self.end = []
        elif findings.erred.path is None:
            del self.result.findings[DEADLOCK.name]

    def _find(
        self, depth: int, goals: list[Goal], solve: Callable[[int], Values | None], leaving: int = FALSE
    ) -> tuple[Errors, Values | None]:
        """Look at this depth for every goal, and for range errors: evaluations of properties that leave a declared
        range. Return the `Errors`: a literal that is true on a path with a range error, and an assignment for a path
        with a range error of a property that had none before (or None). Return also an assignment for a path on which
        `leaving` is true (or None); each query asks for all of these, as a query for `leaving` alone takes as long."""
        said = {goal: self._said(goal.prop, depth) for goal in goals}
        errors = {goal.prop: said[goal][2] for goal in goals if said[goal][2] != FALSE}
        in_order = self.circuit.all(self.last_order)
        # A property of transitions depends on the last step, which cannot be reordered.
        erring = self.circuit.any(
            literal if prop.of_steps else self.circuit.both(literal, in_order) for prop, literal in errors.items()
        )
        errors = {prop: literal for prop, literal in errors.items() if self._erred(prop).path is None}
        sought = {goal: goal.literal(self.circuit, said[goal]) for goal in goals}
        path = example = None
        while True:
            literals = [*((goal.prop, literal) for goal, literal in sought.items()), *errors.items()]
            of_states = self.circuit.any(literal for prop, literal in literals if not prop.of_steps)
            of_steps = self.circuit.any(literal for prop, literal in literals if prop.of_steps)
            values = solve(self.circuit.any([self.circuit.both(of_states, in_order), of_steps, leaving]))
            if values is None:
                return (erring, example), path
            reached = [goal for goal, literal in sought.items() if values.holds(literal)]
            erred = [prop for prop, literal in errors.items() if values.holds(literal)]
            assert reached or erred or values.holds(leaving), "the values that Z3 found satisfy no part of the query"
            if values.holds(leaving):
                path, leaving = values, FALSE
            for prop in erred:
                example = example or values
                errors.pop(prop)
                self._note_error(prop, self.unrolling.path(depth, values.holds))
            for goal in reached:
                # This path counts even if there is no time left to find a lesser one.
                self._note(goal, self.unrolling.path(depth, values.holds))
                least = self._least(goal, sought.pop(goal), depth, values)
                self._finding(goal.prop, goal.is_permitted).path = least

    # -------------------------------------------------------------------------------------------------- declared ranges

    def _erred(self, prop: Property) -> Finding:
        return self.result.findings[prop.name].erred

    def _note_error(self, prop: Property, path: StepPath) -> None:
        erred = self._erred(prop)
        erred.count, erred.path = 1, path
        self._note_broken_range(path)

    def _note_broken_range(self, path: StepPath) -> None:
        """Keep a path that leaves a declared range, unless the kept path is less in the order of StepPath."""
        finding = self.result.findings.setdefault(IN_RANGE.name, Findings()).found
        if finding.path is None or path.order < finding.path.order:
            finding.count, finding.path = 1, path

    def _find_least_error(self, depth: int, range_errors: Sequence[Errors]) -> None:
        """Find the first path of this depth with a property's range error, and keep it if it precedes the kept path
        that leaves a declared range. Do nothing if the kept path is shorter. `range_errors` comes from `_find`."""
        for literal, example in range_errors:
            broken = self.result.findings[IN_RANGE.name].found.path if example is not None else None
            if example is not None and broken is not None and broken.depth == depth:
                self._note_broken_range(self._least_path([literal], depth, example))

    def _find_least_step(self, depth: int, error: int, values: Values) -> None:
        """Exclude steps that leave a declared range from all longer paths. If no path that leaves a declared range has
        been kept, find the first path with such a step, by initial state and then by steps, and keep it."""
        self.errs = True
        self.order = Order(self.relation, with_errors=True)
        if IN_RANGE.name in self.result.findings:
            return
        for path in (self.unrolling.path(depth, values.holds), None):
            # The first path counts even if there is no time left to find a lesser one.
            path = path or self._least_path([error], depth, values)
            self._note_broken_range(StepPath(path.initial, (*path.steps, self._erring_step(path))))

    def _erring_step(self, path: StepPath) -> int:
        cells = path_of(self.instance, path.initial, path.steps).states[-1]
        erring = (step.number for step in self.instance.steps if error_in_step(self.instance, cells, step) is not None)
        number = next(erring, None)
        assert number is not None, "Z3 found a step that leaves a declared range, and the reference found none"
        return number

    # ------------------------------------------------------------------------------------------------------------ paths

    def _said(self, prop: Property, depth: int) -> tuple[int, int, int]:
        if prop.of_steps and depth == 0:
            # There is no step yet, so nothing is violated or reached.
            return (FALSE if prop.kind is Kind.SOMETIMES else -FALSE), FALSE, FALSE
        return self.unrolling.at(prop, depth)

    def _finding(self, prop: Property, is_permitted: bool) -> Finding:
        findings = self.result.findings[prop.name]
        return findings.permitted if is_permitted else findings.found

    def _note(self, goal: Goal, path: StepPath) -> None:
        finding = self._finding(goal.prop, goal.is_permitted)
        finding.count, finding.path = 1, path
        if goal in self.open:
            self.open.remove(goal)

    def _hard(self, demanded: int) -> Values | None:
        """Return an assignment for a path on which the literal is true, or None if no such path exists. Each query gets
        a new solver, which suits hard queries (solver.py, `once`). Raises UndecidedError if a limit is reached."""
        answer, values = once(self.circuit, [*self.behaviour, demanded], self.deadline)
        return values if answer.is_yes else None

    def _easy(self, *demanded: int) -> Values | None:
        """Return an assignment for a path on which all literals are true, or None if no such path exists. All queries
        use one solver, which suits easy queries (solver.py, `Solver`). Raises UndecidedError if a limit is reached."""
        self.solver.add(*self.behaviour[self.added :])
        self.added = len(self.behaviour)
        return self.solver.values() if self.solver.check(*demanded).is_yes else None

    def _least(self, goal: Goal, literal: int, depth: int, values: Values) -> StepPath:
        """Return the least path to a goal: the first possible initial state, then each time the first possible step.
        For a `@sometimes` property, return the path that `values` describes."""
        if goal.prop.kind is Kind.SOMETIMES:
            return self.unrolling.path(depth, values.holds)
        return self._least_path([literal, *([] if goal.prop.of_steps else self.last_order)], depth, values)

    def _least_path(self, demanded: list[int], depth: int, values: Values) -> StepPath:
        """Return the first path, by initial state and then by steps, on which all literals in `demanded` are true.
        `values` is an assignment for one such path."""
        assert self.unrolling.initial is not None
        places = [*self.unrolling.initial.places, *(level.taken for level in self.unrolling.levels[:depth])]
        # Usually this path is already the least one; one query confirms it.
        less = FALSE
        for options in reversed(places):
            chosen = next(i for i, option in enumerate(options) if values.holds(option))
            same = self.circuit.both(options[chosen], less)
            less = self.circuit.either(self.circuit.any(options[:chosen]), same)
        better = self._hard(self.circuit.all([*demanded, less]))
        if better is None:
            return self.unrolling.path(depth, values.holds)
        values = better
        for options in places:
            chosen = next(i for i, option in enumerate(options) if values.holds(option))
            while (earlier := self.circuit.any(options[:chosen])) != FALSE:
                better = self._easy(*demanded, earlier)
                if better is None:
                    break
                values = better
                chosen = next(i for i, option in enumerate(options) if values.holds(option))
            demanded.append(options[chosen])
        return self.unrolling.path(depth, values.holds)


class Order:
    """Finds the independent pairs of steps: neither step writes a cell that the other step reads or writes. If
    `with_errors` is true, the cells that decide whether a step leaves a declared range count as read by the step."""

    def __init__(self, relation: TransitionRelation, *, with_errors: bool) -> None:
        owner = {
            abs(literal): 1 << cell
            for cell, value in enumerate(relation.before)
            for literal in relation.literals(value)
        }
        touched = [
            _touched(relation, [one.enabled, *([one.error] if with_errors else [])], one.after, owner)
            for one in relation.transitions
        ]
        self.earlier: list[list[int]] = []
        for position, (own_reads, own_writes) in enumerate(touched):
            relation.circuit.budget.look()
            self.earlier.append(
                [
                    other
                    for other, (reads, writes) in enumerate(touched[:position])
                    if not own_writes & (reads | writes) and not own_reads & writes
                ]
            )

    def of(self, circuit: AndInverterGraph, first: Sequence[int], second: Sequence[int]) -> list[int]:
        """Return literals that together require two consecutive independent steps to be in the order of their numbers.
        `first` and `second` have the literals that select each step at the earlier and at the later depth."""
        demanded = []
        for taken, earlier in zip(first, self.earlier, strict=True):
            if taken != FALSE and earlier:
                demanded.append(circuit.either(-taken, -circuit.any(second[other] for other in earlier)))
        return demanded


def _touched(
    relation: TransitionRelation, decisive: Sequence[int], after: Sequence[Value], owner: dict[int, int]
) -> tuple[int, int]:
    """Return the set of cells that a step reads and the set that it writes; bit i stands for cell i. A written cell
    that the step may also leave unchanged counts as read."""
    relation.circuit.budget.look()
    reads, writes, roots = 0, 0, [*decisive]
    for cell, (old, new) in enumerate(zip(relation.before, after, strict=True)):
        if new is not old:
            writes |= 1 << cell
            roots += relation.literals(new)
    for node in relation.circuit.cone(roots):
        reads |= owner.get(node, 0)
    return reads, writes
