"""Bugs that take one name for another, which the programs whose names collide have to find.

In:  nothing.
Out: `CAPTURES`; `planted` puts one into a method of this process.

In the representation a name is an object, so these bugs cannot be made by a slip of text. They are what an author of an
engine could still write: a dictionary whose keys are names, an environment that a helper shares with its caller, a
memory whose keys are texts. Each replaces one method by a wrong one, which is made from the correct one.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, wraps
from typing import Any

from isrcheck.models.language.interpreter import Evaluation
from isrcheck.models.language.ir.nodes import Call, Constant, Fold, Loop, Node, Role, Routine, Variable, rewrite

Method = Callable[..., Any]


@dataclass(frozen=True)
class Capture:
    """A bug in one method."""

    name: str
    """The name of the bug."""
    says: str
    """What the method does wrong."""
    method: str
    """The method, as `module:Class.method`."""
    wrong: Callable[[Method], Method]
    """Makes the method with the bug from the correct one."""
    of_symmetry: bool = False
    """Whether the bug shows in permuted states, rather than in the engines."""
    of_sets: bool = False
    """Whether the programs of programs.py find the bug, and not those whose names collide."""

    @property
    def place(self) -> tuple[Any, str]:
        """The class, and the name of the method in it."""
        module, _, path = self.method.partition(":")
        holder, name = path.split(".")
        return getattr(importlib.import_module(f"isrcheck.{module.replace('/', '.')}"), holder), name


@contextlib.contextmanager
def planted(capture: Capture) -> Iterator[None]:
    """Plant a bug in this process inside this context."""
    holder, name = capture.place
    correct = vars(holder)[name]
    setattr(holder, name, wraps(correct)(capture.wrong(correct)))
    try:
        yield
    finally:
        setattr(holder, name, correct)


# ------------------------------------------------------------------------------------------- variables by their names


def with_variables(
    node: Any, of: Callable[[Variable], Variable], called: Callable[[Routine], Routine] = lambda routine: routine
) -> Any:
    """The node with its variables replaced by `of`, and the routines that it calls by `called`."""

    def changed(node: Node) -> Node:
        changes: dict[str, Any] = {name: of(one) for name, one in vars(node).items() if isinstance(one, Variable)}
        if isinstance(node, Call):
            changes["routine"] = called(node.routine)
        return replace(node, **changes) if changes else node

    return rewrite(node, changed)


@cache
def with_one_variable_for_each_name(routine: Routine) -> Routine:
    """The routine, and all that it calls, in which all variables of a routine that have one name are one variable."""
    chosen = {one.name: one for one in routine.parameters}

    def named(variable: Variable) -> Variable:
        return chosen.setdefault(variable.name, variable)

    body = tuple(with_variables(statement, named, with_one_variable_for_each_name) for statement in routine.body)
    counts = dict.fromkeys(chosen.values(), 0)
    for variable, count in routine.assignments.items():
        counts[chosen[variable.name]] += count
    return replace(routine, body=body, assignments={one: count for one, count in counts.items() if count})


def by_name(correct: Method) -> Method:
    """A method of an engine that looks variables up by their names."""

    def wrong(self: Any, routine: Routine, *arguments: Any) -> Any:
        return correct(self, with_one_variable_for_each_name(routine), *arguments)

    return wrong


def helpers_by_name(correct: Method) -> Method:
    """A method of an engine that looks routines up by their names."""

    def wrong(self: Any, routine: Routine, *arguments: Any) -> Any:
        routines = vars(self).setdefault("routines by name", {})
        known = routines.setdefault(routine.name, routine)
        return correct(self, known if len(known.parameters) == len(routine.parameters) else routine, *arguments)

    return wrong


def with_shared_environment(correct: Method) -> Method:
    """`Interpreter.call`, where a helper that assigns a variable changes that of its caller with the same name."""

    def wrong(self: Any, routine: Routine, arguments: Iterable[Any]) -> Any:
        environments = vars(self).setdefault("environments", [])
        evaluation = Evaluation(self, dict(zip(routine.parameters, arguments, strict=True)))
        environments.append(evaluation.values)
        try:
            return evaluation.block(routine.body)
        finally:
            environments.pop()
            if environments:
                own = {one.name: value for one, value in evaluation.values.items() if one.role is Role.NUMBER}
                outer = environments[-1]
                outer.update({one: own[one.name] for one in outer if one.role is Role.NUMBER and one.name in own})

    return wrong


def generator_stays(correct: Method) -> Method:
    """`Evaluator.fold`, after which a variable of a generator keeps its last number for all variables of its name."""

    def wrong(self: Any, fold: Fold) -> Any:
        result, values = correct(self, fold), self.frame.values
        first = fold.generators[0]
        numbers = [number for number, _ in self.range(first.range)]
        changes = {one: numbers[-1] for one in values if numbers and one.name == first.variable.name}
        values.update({one: number for one, number in changes.items() if one.role is Role.NUMBER})
        return result

    return wrong


def loop_variable_is_new(correct: Method) -> Method:
    """`Evaluator.loop`, after which the variable of the loop, which may be a parameter, is what it was before."""

    def wrong(self: Any, loop: Loop) -> None:
        before = self.frame.values.get(loop.variable)
        correct(self, loop)
        if before is not None:
            self.frame.values[loop.variable] = before

    return wrong


def parameters_stay(correct: Method) -> Method:
    """The constructor of a reading, after which each parameter counts as one that no loop reuses."""

    def wrong(self: Any, *arguments: Any) -> None:
        correct(self, *arguments)
        self.names = {one: what for one, what in self.names.items() if what is not None}

    return wrong


# -------------------------------------------------------------------------------------------------- names of a module


def domains_by_name(correct: Method) -> Method:
    """The normal form of a part of a node, where domains of one name in two modules are one."""

    def wrong(self: Any, part: Any, *around: Any) -> Any:
        return ("class", part.__name__) if isinstance(part, type) else correct(self, part, *around)

    return wrong


def constants_by_text(correct: Method) -> Method:
    """The normal form of a node, where constants that are written alike are one, whatever their modules."""

    def wrong(self: Any, node: Node, *around: Any, **context: Any) -> Any:
        return ("constant", node.span.text) if isinstance(node, Constant) else correct(self, node, *around, **context)

    return wrong


# -------------------------------------------------------------------------------------------- the reader, and the core


def generator_is_the_local(correct: Method) -> Method:
    """The reading of a fold, the variables of which are those of the function with the same names, if there are any."""

    def wrong(self: Any, *arguments: Any) -> Any:
        outer, read = self.own, correct(self, *arguments)
        return with_variables(read, lambda one: outer.get(one.name, one) if one.role is Role.NUMBER else one)

    return wrong


def helper_is_a_builtin(correct: Method) -> Method:
    """Whether a name means a function of Python's: a helper that is called max does."""

    def wrong(self: Any, name: str) -> Any:
        return correct(self, name) or (name in ("max", "min") and name not in self.own)

    return wrong


def parameter_is_new(correct: Method) -> Method:
    """The constructor of a lowering, where the variable of a loop over a set is new, although it is a parameter."""

    def wrong(self: Any, parameters: Any, written: Any) -> None:
        parameters = tuple(parameters)
        correct(self, parameters, written)
        self.assignments.subtract(parameters)

    return wrong


def fresh_is_shared(correct: Method) -> Method:
    """The fresh variables of a lowering, where all that are made for one word are one."""

    def wrong(self: Any, word: str) -> Any:
        shared = vars(self).setdefault("shared", {})
        if word not in shared:
            shared[word] = correct(self, word)
        return shared[word]

    return wrong


INTERPRETER, EVALUATOR = "models/language/interpreter:Interpreter", "checker/symbolic/evaluator:Evaluator"
SORTS, PAIRS = "checker/reductions/sorts:Sorts", "checker/reductions/pairs:_Normalization"
READER, LOWERING = "models/language/reading/reader:FunctionReader", "models/language/ir/lowering:_Lowering"

CAPTURES = (
    Capture(
        "generator_is_the_local",
        "the variable of a generator is the function's",
        f"{READER}._fold",
        generator_is_the_local,
    ),
    Capture(
        "helper_is_a_builtin",
        "a helper that is called max is Python's own",
        f"{READER}.is_builtin",
        helper_is_a_builtin,
    ),
    Capture(
        "parameter_is_new",
        "the variable of a loop over a set is new, although it is a parameter",
        f"{LOWERING}.__init__",
        parameter_is_new,
    ),
    Capture(
        "fresh_is_shared",
        "two operations of sets or queues share a variable",
        f"{LOWERING}.fresh",
        fresh_is_shared,
        of_sets=True,
    ),
    Capture("variables_by_name", "the interpreter looks variables up by name", f"{INTERPRETER}.call", by_name),
    Capture(
        "shared_environment", "a helper changes its caller's variables", f"{INTERPRETER}.call", with_shared_environment
    ),
    Capture(
        "generator_stays", "the variable of a generator stays bound after it", f"{EVALUATOR}.fold", generator_stays
    ),
    Capture(
        "loop_variable_is_new",
        "a loop leaves the parameter that it reuses as it was",
        f"{EVALUATOR}.loop",
        loop_variable_is_new,
    ),
    Capture("helpers_by_name", "formulas look helpers up by name", f"{EVALUATOR}._call", helpers_by_name),
    Capture(
        "symmetric_variables_by_name",
        "symmetries look variables up by name",
        f"{SORTS}.routine",
        by_name,
        of_symmetry=True,
    ),
    Capture(
        "parameters_stay",
        "a parameter keeps its value although a loop reuses it",
        "checker/reductions/reads:_Reading.__init__",
        parameters_stay,
        of_symmetry=True,
    ),
    Capture(
        "domains_by_name",
        "domains of one name in two modules are one",
        f"{PAIRS}.part",
        domains_by_name,
        of_symmetry=True,
    ),
    Capture(
        "constants_by_text",
        "constants that are written alike in two modules are one",
        f"{PAIRS}.form",
        constants_by_text,
        of_symmetry=True,
    ),
)
"""Each is found by the programs of seed 1."""
