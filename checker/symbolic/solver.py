"""Z3 as a satisfiability solver for literals of an and-inverter graph.

There are two ways to ask Z3, chosen by measurement (benchmarks/encodings.py). `once` passes the whole formula as
clauses, which Z3 simplifies first: this is faster for the hard queries of bounded model checking. `Solver` keeps what
Z3 has learned for the next query: this is faster for many easy queries about one step.
"""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache

import z3

from isrcheck.checker.resources.limits import STEPS_BETWEEN_LOOKS, Answer, Interrupts, Memory, UndecidedError
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph
from isrcheck.checker.symbolic.linear_integers import LinearArithmetic

MOST_MILLISECONDS = (1 << 32) - 2


class Values:
    """A satisfying assignment, which gives each literal a value. Variables that were not in the query are false."""

    def __init__(self, circuit: AndInverterGraph, variables: Callable[[int], bool]) -> None:
        self.circuit = circuit
        self.variables = variables
        self.truth = {1: True}

    def holds(self, literal: int) -> bool:
        """Whether a literal is true in the assignment."""
        self.circuit.truths([literal], self.truth, self.variables)
        return self.truth[abs(literal)] == (literal > 0)


SECONDS_BETWEEN_LOOKS = 0.05
PATIENCE = 0.5
"""If Z3 exceeds the deadline by this many seconds, it is interrupted from outside."""


@contextmanager
def telling_interrupts() -> Iterator[None]:
    """Translate errors of Z3's Python bindings in the block: into KeyboardInterrupt if Ctrl-C caused the error, and
    into UndecidedError if memory ran out."""
    try:
        yield
    except ctypes.ArgumentError as error:
        if "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None
        raise
    except MemoryError:
        raise UndecidedError(Answer.MEMORY) from None
    except z3.Z3Exception as error:
        if "memory" in str(error):
            raise UndecidedError(Answer.MEMORY) from None
        raise


@contextmanager
def _watched(solver: z3.Solver, deadline: float) -> Iterator[threading.Event]:
    """During the block, interrupt the solver if it misses the deadline or if the memory limit is exceeded. Yield an
    event, which is set if memory was the reason."""
    is_over, is_full = threading.Event(), threading.Event()

    def watch() -> None:
        while not is_over.wait(SECONDS_BETWEEN_LOOKS):
            if Memory.is_full():
                is_full.set()
                solver.interrupt()
            elif time.monotonic() > deadline + PATIENCE:
                solver.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    # Python must not release Z3's objects from another thread while Z3 works.
    was_collecting = gc.isenabled()
    gc.disable()
    watcher.start()
    try:
        yield is_full
    finally:
        is_over.set()
        watcher.join()
        if was_collecting:
            gc.enable()


def ask(
    question: Callable[[], z3.CheckSatResult], solver: z3.Solver, deadline: float, *, is_quick: bool = False
) -> Answer:
    """Return Z3's answer to a query, or the reason why it gave no answer. `deadline` is a time of time.monotonic.
    Ctrl-C raises KeyboardInterrupt. Z3 handles this signal itself, but can lose a signal that arrives just before its
    answer. Therefore Python handles the signal of a quick query (`is_quick`), after the answer."""
    left = deadline - time.monotonic()
    if left <= 0:
        return Answer.SECONDS
    # Always set, because the timeout of the previous query would still apply.
    solver.set("timeout", int(min(left * 1000 + 1, MOST_MILLISECONDS)))
    solver.set(ctrl_c=not is_quick)
    if Memory.is_full():
        return Answer.MEMORY
    try:
        with _watched(solver, deadline) as is_full:
            result = question()
        if Interrupts.seen:
            raise KeyboardInterrupt
    except z3.Z3Exception as error:
        if is_full.is_set() or "memory" in str(error):
            return Answer.MEMORY
        if time.monotonic() > deadline:
            return Answer.SECONDS
        if "canceled" in str(error) or "interrupt" in str(error):
            raise KeyboardInterrupt from None
        raise
    if result == z3.sat:
        return Answer.YES
    if result == z3.unsat:
        return Answer.NO
    reason = solver.reason_unknown()
    if is_full.is_set() or "memory" in reason:
        return Answer.MEMORY
    if "interrupt" in reason and time.monotonic() <= deadline + PATIENCE:
        raise KeyboardInterrupt
    if reason in ("timeout", "canceled") or "interrupt" in reason:
        if time.monotonic() < deadline - 0.05:
            raise KeyboardInterrupt
        return Answer.SECONDS
    return Answer.UNKNOWN


QUICK = 0.2
"""A query about unbounded integers counts as quick for this many seconds."""

STRATEGY = {"phase": "always_false", "restart": "geometric"}
"""Most variables select a step or a value, so false is the better guess. Measured in benchmarks/encodings.py."""


CLAUSES_AT_ONCE = 50_000
"""The number of clauses that Z3 reads in one call, which takes about half a second."""


def once(
    circuit: AndInverterGraph, demanded: Iterable[int], deadline: float = float("inf")
) -> tuple[Answer, Values | None]:
    """Return the answer to the query whether all demanded literals can be true together, and a satisfying assignment
    (None unless the answer is YES)."""
    literals = [literal for literal in dict.fromkeys(demanded) if literal != TRUE]
    if FALSE in literals:
        return Answer.NO, None
    clauses = circuit.clauses(literals)
    nodes = sorted({abs(literal) for clause in clauses for literal in clause})
    names = {node: number for number, node in enumerate(nodes, 1)}
    names |= {-node: -number for node, number in names.items()}
    try:
        # A separate context: Z3's tables grow with all that a context has ever held, which slows down each query.
        context = z3.Context()
        solver = z3.Tactic("sat", ctx=context).solver()
        for name, value in STRATEGY.items():
            solver.set(name, value)
        # In parts, because Z3 cannot be interrupted while it reads.
        for first in range(0, len(clauses), CLAUSES_AT_ONCE):
            circuit.budget.look()
            part = clauses[first : first + CLAUSES_AT_ONCE]
            lines = [" ".join([*(str(names[literal]) for literal in clause), "0"]) for clause in part]
            solver.from_string("\n".join([f"p cnf {len(nodes)} {len(part)}", *lines, ""]))
        answer = ask(solver.check, solver, deadline)
    except z3.Z3Exception as error:
        if "memory" in str(error):
            return Answer.MEMORY, None
        raise
    if answer is not Answer.YES:
        return answer, None
    model = solver.model()

    def of(node: int) -> bool:
        return node in names and z3.is_true(model.eval(z3.Bool(names[node], context), model_completion=True))

    return answer, Values(circuit, of)


@cache
def _named(node: int) -> tuple[z3.Ast, z3.Ast]:
    """Return Z3's expressions for a node and for its negation, which all solvers share and which are never released."""
    context = z3.main_ctx().ref()
    symbol = z3.Z3_mk_string_symbol(context, f"n{node}")
    name = z3.Z3_mk_const(context, symbol, z3.Z3_mk_bool_sort(context))
    z3.Z3_inc_ref(context, name)
    opposite = z3.Z3_mk_not(context, name)
    z3.Z3_inc_ref(context, opposite)
    return name, opposite


class Solver:
    """A Z3 solver for many queries about one and-inverter graph, which keeps what Z3 learns between queries.
    `arithmetic` has the formulas of the graph's variables that compare integers; None: there are no such variables."""

    def __init__(
        self, circuit: AndInverterGraph, deadline: float = float("inf"), arithmetic: LinearArithmetic | None = None
    ) -> None:
        self.circuit = circuit
        self.deadline = deadline
        self.arithmetic = arithmetic
        self.solver = z3.SolverFor("QF_FD") if arithmetic is None else z3.SimpleSolver()
        self.solver.set("core.minimize", True)
        self.context = self.solver.ctx.ref()
        # Z3's name for each literal.
        self.sides: dict[int, z3.Ast] = {}
        self.defined: set[int] = set()
        self.assumed: tuple[int, ...] = ()

    def _define(self, literals: Iterable[int]) -> None:
        left, right, sides, arithmetic = self.circuit.left, self.circuit.right, self.sides, self.arithmetic
        following: list[int] = []
        for node in self.circuit.cone(literals, self.defined):
            self.defined.add(node)
            formula = None if arithmetic is None else arithmetic.formula(node)
            if formula is None:
                sides[node], sides[-node] = _named(node)
            else:
                sides[node], sides[-node] = (side.as_ast() for side in formula)
            if arithmetic is not None and not left[node]:
                following += arithmetic.defining(node)
            if not node % STEPS_BETWEEN_LOOKS:
                self.circuit.budget.look()
            if node == TRUE:
                self._clause(TRUE)
            elif left[node]:
                a, b = left[node], right[node]
                self._clause(-node, a)
                self._clause(-node, b)
                self._clause(node, -a, -b)
        if following:
            self.add(*dict.fromkeys(following))

    def _clause(self, *literals: int) -> None:
        # Z3's C functions directly: the wrappers take ten times as long, and there are 100,000 clauses.
        sides = [self.sides[literal] for literal in literals]
        clause = z3.Z3_mk_or(self.context, len(sides), (z3.Ast * len(sides))(*sides)) if len(sides) > 1 else sides[0]
        z3.Z3_solver_assert(self.context, self.solver.solver, clause)

    def add(self, *literals: int) -> None:
        """Require the literals in all later queries."""
        self._define(literals)
        for literal in literals:
            self._clause(literal)

    def check(self, *assumed: int) -> Answer:
        """Return the answer to the query whether all added and all assumed literals can be true together."""
        self.assumed = assumed
        self._define(assumed)
        sides = [z3.BoolRef(self.sides[literal]) for literal in assumed]

        def question() -> z3.CheckSatResult:
            return self.solver.check(*sides)

        if self.arithmetic is not None:  # thousands of queries, most of them answered immediately
            quick = min(self.deadline, time.monotonic() + QUICK)
            answer = ask(question, self.solver, quick, is_quick=True)
            if answer is not Answer.SECONDS:
                return answer
        return ask(question, self.solver, self.deadline)

    def core(self) -> set[int]:
        """Return the unsatisfiable core: those assumed literals that made the last answer NO."""
        names = {z3.Z3_get_ast_id(self.context, self.sides[literal]): literal for literal in self.assumed}
        return {names[side.get_id()] for side in self.solver.unsat_core()}

    def values(self) -> Values:
        """Return the satisfying assignment of the last query, whose answer must have been YES."""
        model = self.solver.model()

        def of(node: int) -> bool:
            return node in self.defined and z3.is_true(model.eval(z3.BoolRef(self.sides[node]), model_completion=True))

        return Values(self.circuit, of)
