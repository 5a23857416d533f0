"""Compares the encodings for bounded model checking on one instance; times are ratios to the encoding in use.

    python -m benchmarks.encodings [MODEL] [PROTOCOL] [DEPTH]

At every depth, each encoding decides whether a path of exactly this many steps can violate one of the properties that
hold, which is the hard part of bounded model checking. Times are processor times, since machines are shared; the limit
loop of benchmarks/limit_loop.py, timed in the same run, shows the speed of the machine.

Measured on 2 shared cores (limit loop 1.89 s, so about half of the usual speed):
published/kip_101 to depth 8: 7.30 s; unordered 1.36 times as long; untold 1.68; guessing 1.30; incremental 3.23;
bit-vectors 10.79. kafka 2.1 to depth 6: 6.91 s; unordered 1.23; untold 1.28; guessing 1.29; incremental 2.18.

- cases: numbers with one literal for each value; state d+1 is a function of state d; new clauses for Z3's `sat` tactic
  at each depth. Independent steps are taken only in the model's order, and clauses state that each cell has one value.
- cases, unordered: the same, with independent steps in any order.
- cases, untold: the same, without the clauses that each cell has one value.
- cases, guessing: the same, with Z3's default strategy instead of isrcheck.checker.symbolic.solver.STRATEGY.
- cases, incremental: the same clauses in one incremental solver (QF_FD).
- bit-vectors: numbers of 8 bits, with new variables for every state (QF_BV, incremental).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence

import z3

from benchmarks.limit_loop import limit_loop
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Answer, Limits
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, AndInverterGraph
from isrcheck.checker.symbolic.bounded_model_checking import Order
from isrcheck.checker.symbolic.evaluator import Evaluator, Value, plain_state
from isrcheck.checker.symbolic.finite_integers import OneHotInteger
from isrcheck.checker.symbolic.linear_integers import LinearArithmetic, LinearInteger
from isrcheck.checker.symbolic.solver import STRATEGY, Solver, once
from isrcheck.checker.symbolic.transition_relation import TransitionRelation, Unrolling, new_state
from isrcheck.models import registry
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance, Property

WIDTH = 8
"""The bits of a number, and of a cell."""


def promises(instance: Instance, depth: int) -> list[Property]:
    """The properties of states that the explorer finds true to this depth."""
    findings = explore(instance, Limits(depth=depth)).findings
    return [
        prop
        for prop in instance.properties
        if prop.kind is Kind.ALWAYS and not findings[prop.name].found.count and not findings[prop.name].permitted.count
    ]


def by_cases(
    instance: Instance, asked: Sequence[Property], depth: int, *, ordered: bool, told: bool, incremental: bool
) -> Iterator[Answer]:
    """The answer at each depth, with one-hot integers: whether a property can be violated."""
    relation = TransitionRelation(instance, asked)
    unrolling, order = Unrolling(relation), Order(relation)
    demanded = [unrolling.begins]
    solver = Solver(relation.circuit)
    for at in range(depth + 1):
        if at:
            unrolling.extend()
            demanded.append(unrolling.levels[at - 1].one_step)
            if told:
                state = unrolling.levels[at].state
                demanded += [
                    relation.arithmetic.has_one_value(cell) for cell in state if isinstance(cell, OneHotInteger)
                ]
            if ordered and at > 1:
                demanded += order.of(relation.circuit, unrolling.levels[at - 2].taken, unrolling.levels[at - 1].taken)
        broken = relation.circuit.any(-unrolling.levels[at].asked[prop.name][0] for prop in asked)
        if incremental:
            solver.add(*demanded)
            demanded = []
            yield solver.check(broken)
        else:
            yield once(relation.circuit, [*demanded, broken])[0]


def guessing(answers: Iterator[Answer]) -> Iterator[Answer]:
    """The same answers, with Z3's default strategy."""
    said = dict(STRATEGY)
    STRATEGY.clear()
    try:
        yield from answers
    finally:
        STRATEGY.update(said)


class BitVectors(LinearArithmetic):
    """The arithmetic of checker/symbolic/linear_integers.py on bit-vectors."""

    def number(self, low: int | None, high: int | None) -> int | LinearInteger:
        """A new number, as a bit-vector."""
        found = super().number(low, high)
        if isinstance(found, LinearInteger):
            self.names[found.terms[0][0]] = z3.BitVec(f"v{len(self.names)}", WIDTH)
        return found


def by_bit_vectors(instance: Instance, asked: Sequence[Property], depth: int) -> Iterator[Answer]:
    """The answer at each depth, with bit-vectors and new variables for each state."""
    circuit = AndInverterGraph()
    arithmetic = BitVectors(circuit)
    evaluator = Evaluator(instance, circuit, arithmetic)
    solver = Solver(circuit, arithmetic=arithmetic)
    solver.solver = z3.SolverFor("QF_BV")
    solver.context = solver.solver.ctx.ref()
    state = new_state(instance, arithmetic)
    starts = [
        circuit.all(evaluator.compare("==", one, other) for one, other in zip(state, plain, strict=True))
        for plain in (plain_state(instance, cells) for cells in instance.initial_states)
    ]
    solver.add(circuit.any(starts))
    for at in range(depth + 1):
        if at:
            following = new_state(instance, arithmetic)
            solver.add(step(instance, evaluator, state, following))
            state = following
        broken = circuit.any(-evaluator.ask(prop.function, [state])[0] for prop in asked)
        yield solver.check(broken)


def step(instance: Instance, evaluator: Evaluator, before: list[Value], after: list[Value]) -> int:
    """The literal: exactly one step is taken, is enabled, and leads from `before` to `after`."""
    circuit = evaluator.circuit
    taken, demanded = [], []
    writers: list[list[tuple[int, Value]]] = [[] for _ in before]
    for one in instance.steps:
        enabled, _, cells = evaluator.take(before, one)
        if enabled == FALSE:
            continue
        variable = circuit.variable()
        taken.append(variable)
        demanded.append(circuit.either(-variable, enabled))
        for cell, (old, new) in enumerate(zip(before, cells, strict=True)):
            if new is not old:
                writers[cell].append((variable, new))
    for cell, (old, new) in enumerate(zip(before, after, strict=True)):
        written = circuit.any(variable for variable, _ in writers[cell])
        demanded.append(circuit.either(written, evaluator.compare("==", new, old)))
        for variable, value in writers[cell]:
            demanded.append(circuit.either(-variable, evaluator.compare("==", new, value)))
    return circuit.both(circuit.exactly_one(taken), circuit.all(demanded))


ENCODINGS: dict[str, Callable[[Instance, Sequence[Property], int], Iterator[Answer]]] = {
    "cases": lambda i, p, d: by_cases(i, p, d, ordered=True, told=True, incremental=False),
    "cases, unordered": lambda i, p, d: by_cases(i, p, d, ordered=False, told=True, incremental=False),
    "cases, untold": lambda i, p, d: by_cases(i, p, d, ordered=True, told=False, incremental=False),
    "cases, guessing": lambda i, p, d: guessing(by_cases(i, p, d, ordered=True, told=True, incremental=False)),
    "cases, incremental": lambda i, p, d: by_cases(i, p, d, ordered=True, told=True, incremental=True),
    "bit-vectors": by_bit_vectors,
}


def main() -> None:
    """Measure, and print a table."""
    words = [*sys.argv[1:], *("published/kip_101", "", "8")[len(sys.argv) - 1 :]]
    model, named = registry.load(words[0])
    instance = model.instance(named or words[1] or None)
    depth = int(words[2])
    print(f"{words[0]} {words[1]} to depth {depth}; limit loop {limit_loop():.2f} s")
    asked = promises(instance, depth)
    first = 0.0
    for name, encoding in ENCODINGS.items():
        started = time.process_time()
        answers = set(encoding(instance, asked, depth))
        seconds = time.process_time() - started
        first = first or seconds
        assert answers == {Answer.NO}, f"{name} finds what the explorer does not: {answers}"
        print(f"{name:20} {seconds:7.2f} s  {seconds / first:5.2f}", flush=True)


if __name__ == "__main__":
    main()
