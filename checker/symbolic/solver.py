"""Z3, asked whether literals of a circuit can be true together.

In:  a `Circuit`, and literals that have to be true.
Out: an `Answer`, and the values of literals where it is yes.

Two ways of asking, chosen by measurement (benchmarks/encodings.py): `once` hands over the whole formula as clauses, and
Z3 simplifies it before it searches, which pays for the hard questions of bounded model checking; `Solver` keeps what it
was told and what it has learned, which pays for many easy questions about one step.
"""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import z3

from isrcheck.checker.resources.formula_budget import STEPS_BETWEEN_LOOKS, Answer, Memory, UndecidedError
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, Circuit
from isrcheck.checker.symbolic.linear_integers import IntegerArithmetic

MOST_MILLISECONDS = (1 << 32) - 2
VERSION = z3.get_version_string()


class Values:
    """The values of literals in an answer YES; a variable that Z3 never heard of is false there."""

    def __init__(self, circuit: Circuit, variables: Callable[[int], bool]) -> None:
        self.circuit = circuit
        self.variables = variables
        self.truth = {1: True}

    def holds(self, literal: int) -> bool:
        """Whether a literal is true."""
        self.circuit.truths([literal], self.truth, self.variables)
        return self.truth[abs(literal)] == (literal > 0)


SECONDS_BETWEEN_LOOKS = 0.05
PATIENCE = 0.5
"""So much later than asked for, Z3 is stopped from outside."""


@contextmanager
def telling_interrupts() -> Iterator[None]:
    """Ctrl-C while an argument for Z3 is converted comes out as an error of that argument; and where there is no memory
    left, Python and Z3 say so each in its own way."""
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


def listen(interrupts: Sequence[int]) -> None:
    """Where it is noted, from now on, that Ctrl-C was pressed: Python can drop the exception that says so."""
    _Interrupts.seen = interrupts


class _Interrupts:
    """What `listen` was told."""

    seen: Sequence[int] = ()


@contextmanager
def _watched(solver: z3.Solver, deadline: float) -> Iterator[threading.Event]:
    """Interrupt a solver that takes too much memory, which the event says then, or that does not see the deadline."""
    is_over, is_full = threading.Event(), threading.Event()

    def watch() -> None:
        while not is_over.wait(SECONDS_BETWEEN_LOOKS):
            if Memory.is_full():
                is_full.set()
                solver.interrupt()
            elif time.monotonic() > deadline + PATIENCE:
                solver.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    # What Python finds unused in another thread must not be given back to Z3 while it works.
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
    """Put a question to a solver, until the deadline (in the time of time.monotonic).

    Ctrl-C raises KeyboardInterrupt, whatever the question was for. Z3 takes it for itself, and can lose it where it is
    about to answer; of a quick question Python is told instead, as soon as it is answered.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        return Answer.SECONDS
    # Always set: what Z3 was told for the question before would go on counting.
    solver.set("timeout", int(min(left * 1000 + 1, MOST_MILLISECONDS)))
    solver.set(ctrl_c=not is_quick)
    if Memory.is_full():
        return Answer.MEMORY
    try:
        with _watched(solver, deadline) as is_full:
            found = question()
        if _Interrupts.seen:
            raise KeyboardInterrupt
    except z3.Z3Exception as error:
        if is_full.is_set() or "memory" in str(error):
            return Answer.MEMORY
        if time.monotonic() > deadline:
            return Answer.SECONDS
        if "canceled" in str(error) or "interrupt" in str(error):
            raise KeyboardInterrupt from None
        raise
    if found == z3.sat:
        return Answer.YES
    if found == z3.unsat:
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
"""For so many seconds a question about unbounded numbers may be quick."""

STRATEGY = {"phase": "always_false", "restart": "geometric"}
"""Most variables say that a step is taken, or that a number is this one: false is the better guess. Measured in
benchmarks/encodings.py."""


CLAUSES_AT_ONCE = 50_000
"""Z3 reads them in about half a second."""


def once(circuit: Circuit, demanded: Iterable[int], deadline: float = float("inf")) -> tuple[Answer, Values | None]:
    """Whether all demanded literals can be true together."""
    literals = [literal for literal in dict.fromkeys(demanded) if literal != TRUE]
    if FALSE in literals:
        return Answer.NO, None
    clauses = circuit.clauses(literals)
    nodes = sorted({abs(literal) for clause in clauses for literal in clause})
    names = {node: number for number, node in enumerate(nodes, 1)}
    names |= {-node: -number for node, number in names.items()}
    try:
        # A context of its own: Z3's tables grow with all that a context has ever held, and each question pays for that.
        context = z3.Context()
        solver = z3.Tactic("sat", ctx=context).solver()
        for name, value in STRATEGY.items():
            solver.set(name, value)
        # Part by part, for Z3 cannot be interrupted while it reads.
        for first in range(0, len(clauses), CLAUSES_AT_ONCE):
            circuit.budget.look()
            part = clauses[first : first + CLAUSES_AT_ONCE]
            lines = [" ".join([*(str(names[literal]) for literal in clause), "0"]) for clause in part]
            solver.from_string("\n".join([f"p cnf {len(nodes)} {len(part)}", *lines, ""]))
        found = ask(solver.check, solver, deadline)
    except z3.Z3Exception as error:
        if "memory" in str(error):
            return Answer.MEMORY, None
        raise
    if found is not Answer.YES:
        return found, None
    model = solver.model()

    def of(node: int) -> bool:
        return node in names and z3.is_true(model.eval(z3.Bool(names[node], context), model_completion=True))

    return found, Values(circuit, of)


@cache
def _named(node: int) -> tuple[z3.Ast, z3.Ast]:
    """What Z3 calls a node and its negation, in every solver: a name is never given back."""
    context = z3.main_ctx().ref()
    symbol = z3.Z3_mk_string_symbol(context, f"n{node}")
    name = z3.Z3_mk_const(context, symbol, z3.Z3_mk_bool_sort(context))
    z3.Z3_inc_ref(context, name)
    opposite = z3.Z3_mk_not(context, name)
    z3.Z3_inc_ref(context, opposite)
    return name, opposite


class Solver:
    """One incremental question after the other about one circuit.

    `arithmetic` says which variables stand for formulas about integers; without it there are none.
    """

    def __init__(
        self,
        circuit: Circuit,
        deadline: float = float("inf"),
        arithmetic: IntegerArithmetic | None = None,
    ) -> None:
        self.circuit = circuit
        self.deadline = deadline
        self.arithmetic = arithmetic
        self.solver = z3.SolverFor("QF_FD") if arithmetic is None else z3.SimpleSolver()
        self.solver.set("core.minimize", True)
        self.context = self.solver.ctx.ref()
        # What Z3 calls each literal.
        self.sides: dict[int, z3.Ast] = {}
        self.told: set[int] = set()
        self.assumed: tuple[int, ...] = ()

    def _define(self, literals: Iterable[int]) -> None:
        left, right, sides, arithmetic = self.circuit.left, self.circuit.right, self.sides, self.arithmetic
        following: list[int] = []
        for node in self.circuit.cone(literals, self.told):
            self.told.add(node)
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
        # Straight to Z3's own functions: their wrappers take ten times as long, and there are 100,000 clauses.
        sides = [self.sides[literal] for literal in literals]
        clause = z3.Z3_mk_or(self.context, len(sides), (z3.Ast * len(sides))(*sides)) if len(sides) > 1 else sides[0]
        z3.Z3_solver_assert(self.context, self.solver.solver, clause)

    def add(self, *literals: int) -> None:
        """These literals are true from now on."""
        self._define(literals)
        for literal in literals:
            self._clause(literal)

    def check(self, *assumed: int) -> Answer:
        """Whether everything that was added can be true together with what is assumed."""
        self.assumed = assumed
        self._define(assumed)
        sides = [z3.BoolRef(self.sides[literal]) for literal in assumed]

        def question() -> z3.CheckSatResult:
            return self.solver.check(*sides)

        if self.arithmetic is not None:  # thousands of questions, most of them answered at once
            quick = min(self.deadline, time.monotonic() + QUICK)
            answer = ask(question, self.solver, quick, is_quick=True)
            if answer is not Answer.SECONDS:
                return answer
        return ask(question, self.solver, self.deadline)

    def core(self) -> set[int]:
        """Those of the assumed literals that made the last answer NO."""
        names = {z3.Z3_get_ast_id(self.context, self.sides[literal]): literal for literal in self.assumed}
        return {names[side.get_id()] for side in self.solver.unsat_core()}

    def values(self) -> Values:
        """The values in the last answer, which was YES."""
        model = self.solver.model()

        def of(node: int) -> bool:
            return node in self.told and z3.is_true(model.eval(z3.BoolRef(self.sides[node]), model_completion=True))

        return Values(self.circuit, of)
