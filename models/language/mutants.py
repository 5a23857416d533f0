"""The mutants of an action: the action without one of its guards, or without one conjunct of a guard.

In:  a `Function` that is an action.
Out: its mutants, each a Function that every engine reads like the action itself.

A mutant has every step of the action, with the same effect, and possibly more steps. So a property that fails in the
model fails in the mutant at the same depth or earlier, and reachable states stay reachable.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from isrcheck.models.language.core.containers import original_places
from isrcheck.models.language.syntax import Function
from isrcheck.models.language.reading.spelling import as_written


@dataclass(frozen=True, eq=False)
class Mutant:
    """An action without a guard, or without one conjunct of a guard; `dropped` is the removed condition.

    If the conjunct stands in a helper function, `within` names it, after the helpers through which the guard calls it.
    """

    function: Function
    line: int
    guard: ast.expr
    dropped: ast.expr
    within: tuple[str, ...]


def mutants(action: Function) -> Iterator[Mutant]:
    """Every mutant of an action, in the order of the removed conditions in the text."""
    both = zip(_guards(action, action.body), _guards(action, action.written), strict=True)
    for (statement, require, guard), (as_it_stands, _, _) in both:
        for weaker in _weaker(action, guard):
            kept: list[ast.stmt] = []
            kept_as_written: list[ast.stmt] = []
            if weaker.rest is not None:
                kept = [_required(require, weaker.rest, statement)]
                kept_as_written = [_required(require, as_written(weaker.rest), statement)]
            body = _with(action.body, statement, kept)
            written = _with(action.written, as_it_stands, kept_as_written)
            function = _function(action, body, written, weaker.functions)
            yield Mutant(function, statement.lineno, guard, weaker.dropped, weaker.within)


def _required(require: ast.Name, condition: ast.expr, statement: ast.stmt) -> ast.stmt:
    """Return a guard that stands for `statement`."""
    guard = ast.Expr(ast.Call(require, [condition], []))
    original_places(guard, statement)
    return guard


def _guards(action: Function, body: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.Name, ast.expr]]:
    """Each guard in these statements of an action, at any depth: the statement, the name `require`, the condition."""
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Name() as name, args=[condition])) if name.id not in action.functions:
                yield statement, name, condition
            case ast.If(body=then, orelse=otherwise):
                yield from _guards(action, [*then, *otherwise])
            case ast.For(body=repeated):
                yield from _guards(action, repeated)


def _with(body: Sequence[ast.stmt], old: ast.stmt, new: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the statements `body` with `old`, at any depth, replaced by `new`."""
    statements: list[ast.stmt] = []
    for statement in body:
        if statement is old:
            statements += new
        elif isinstance(statement, ast.If):
            parts = _with(statement.body, old, new), _with(statement.orelse, old, new)
            statements.append(ast.copy_location(ast.If(statement.test, *parts), statement))
        elif isinstance(statement, ast.For):
            repeated = _with(statement.body, old, new)
            statements.append(ast.copy_location(ast.For(statement.target, statement.iter, repeated, []), statement))
        else:
            statements.append(statement)
    return statements or ([ast.copy_location(ast.Pass(), old)] if body else [])


# ----------------------------------------------------------------------------------------------------------- conditions


@dataclass(frozen=True)
class _Weaker:
    """A condition without one of its conjuncts (None: nothing remains), and the helpers that it calls."""

    rest: ast.expr | None
    dropped: ast.expr
    within: tuple[str, ...] = ()
    functions: Mapping[str, Function] = field(default_factory=dict)


def _weaker(function: Function, condition: ast.expr) -> list[_Weaker]:
    """The conditions that result from omitting one conjunct each; a condition without `and` is its only conjunct, also
    if its form in the core has one."""
    if hasattr(condition, "origin"):
        return [_Weaker(None, condition)]
    match condition:
        case ast.BoolOp(op=ast.And(), values=values):
            return _without_one(function, values)
        case ast.Compare(left=left, ops=[_, _, *_] as operators, comparators=comparators):
            sides = pairwise([left, *comparators])
            links = [ast.Compare(a, [op], [b]) for (a, b), op in zip(sides, operators, strict=True)]
            return _without_one(function, [ast.copy_location(link, condition) for link in links])
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in function.functions:
            calls = _weaker_calls(function.functions[name], name, arguments)
            if calls:
                return calls
    return [_Weaker(None, condition)]


def _without_one(function: Function, conjuncts: Sequence[ast.expr]) -> list[_Weaker]:
    found = []
    for position, conjunct in enumerate(conjuncts):
        for weaker in _weaker(function, conjunct):
            rest = list(conjuncts)
            rest[position : position + 1] = [] if weaker.rest is None else [weaker.rest]
            found.append(replace(weaker, rest=rest[0] if len(rest) == 1 else ast.BoolOp(ast.And(), rest)))
    return found


def _weaker_calls(helper: Function, name: str, arguments: Sequence[ast.expr]) -> list[_Weaker]:
    """The calls of weaker copies of a helper that only returns a conjunction; each copy omits one conjunct."""
    match helper.body:
        case [ast.Return(value=ast.expr() as condition)]:
            weaker_conditions = _weaker(helper, condition)
        case _:
            return []
    own_name = f"{name}'"  # a name that no model can contain
    found = []
    for weaker in weaker_conditions:
        if weaker.rest is None:
            return []
        returned = ast.Return(weaker.rest), ast.Return(as_written(weaker.rest))
        for one in returned:
            original_places(one, helper.body[0])
        copy = _function(helper, [returned[0]], [returned[1]], weaker.functions)
        call = ast.Call(ast.Name(own_name, ast.Load()), list(arguments), [])
        found.append(_Weaker(call, weaker.dropped, (helper.name, *weaker.within), {own_name: copy}))
    return found


# ------------------------------------------------------------------------------------------------------------ functions


def _function(
    origin: Function, body: list[ast.stmt], written: list[ast.stmt], functions: Mapping[str, Function]
) -> Function:
    """Return a function like `origin` with another body, which may call additional functions. CPython runs the body as
    it is `written`, since its states have sets and queues instead of the cells of the core."""
    python = _python(origin, written, functions)
    return replace(origin, python=python, body=body, written=written, functions={**origin.functions, **functions})


def _python(origin: Function, body: list[ast.stmt], functions: Mapping[str, Function]) -> Callable[..., Any]:
    """Return the function that plain CPython calls; nothing is executed. Its text and names come from the model."""
    parameters = [ast.arg(parameter.name) for parameter in origin.parameters]
    signature = ast.arguments(posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[])
    definition = ast.FunctionDef(origin.name, signature, body, [], lineno=origin.line, end_lineno=origin.line)
    module = ast.fix_missing_locations(ast.Module([definition], []))
    compiled = compile(module, origin.path, "exec", dont_inherit=True)
    code = next(constant for constant in compiled.co_consts if isinstance(constant, types.CodeType))
    names = {name: function.python for name, function in functions.items()}
    return types.FunctionType(code, {**origin.python.__globals__, **names}, origin.name)
