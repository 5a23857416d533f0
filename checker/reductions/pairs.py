"""Folds over unordered pairs: `all(... for a in range(n) for b in range(n) if a < b ...)`.

In:  the generator of a call of `all` or `any`.
Out: the comparisons `a < b` that only spare the second look at each pair, because the rest of the generator is the same
     with both names exchanged. A reduced kernel evaluates them as `a != b`.

The rest is compared in a normal form: helpers that are one expression are put in place of their calls, and the operands
of `and`, `or`, `==` and `!=` are sorted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isrcheck.models.language.syntax import Function

MOST_NODES = 20_000
"""The most nodes of a normal form; a larger one is not compared."""


class _TooLargeError(Exception):
    """The normal form has too many nodes."""


def symmetric_orders(generator: ast.GeneratorExp, function: Function) -> Iterator[ast.Compare]:
    """The comparisons of two variables of this generator that may be evaluated as `!=`."""
    variables = [part.target.id for part in generator.generators if isinstance(part.target, ast.Name)]
    if len(set(variables)) < len(generator.generators):
        return
    spelled = {
        part.target.id: ast.dump(part.iter) for part in generator.generators if isinstance(part.target, ast.Name)
    }
    for part in generator.generators:
        for test in part.ifs:
            if not _is_order(test, variables):
                continue
            assert isinstance(test, ast.Compare) and isinstance(test.left, ast.Name)
            other = test.comparators[0]
            assert isinstance(other, ast.Name)
            if spelled[test.left.id] != spelled[other.id]:
                continue
            first, second = (
                _rest(generator, test, function, {test.left.id: left, other.id: right})
                for left, right in (("first", "second"), ("second", "first"))
            )
            if first is not None and first == second:
                yield test


def _is_order(test: ast.expr, variables: list[str]) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Lt | ast.Gt):
        return False
    sides = (test.left, test.comparators[0])
    names = {side.id for side in sides if isinstance(side, ast.Name) and side.id in variables}
    return len(names) == 2


def _rest(generator: ast.GeneratorExp, order: ast.Compare, function: Function, names: Mapping[str, Any]) -> Any:
    """The normal form of a generator without one comparison; None if it is too large."""
    budget = [MOST_NODES]
    try:
        tests = [test for part in generator.generators for test in part.ifs if test is not order]
        conjunction = _operands(ast.And(), tests, function, names, budget)
        ranges = [_form(part.iter, function, names, budget) for part in generator.generators]
        return sorted(conjunction, key=repr), ranges, _form(generator.elt, function, names, budget)
    except _TooLargeError:
        return None


def _form(node: Any, function: Function, names: Mapping[str, Any], budget: list[int]) -> Any:
    budget[0] -= 1
    if budget[0] < 0:
        raise _TooLargeError
    if isinstance(node, ast.Name):
        return names.get(node.id, (id(function) if node.id in function.constants else "", node.id))
    if isinstance(node, ast.BoolOp):
        return type(node.op).__name__, *sorted(_operands(node.op, node.values, function, names, budget), key=repr)
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        sides = [node.left, *node.comparators]
        links: list[ast.expr] = [
            ast.Compare(left, [sign], [right])
            for left, sign, right in zip(sides[:-1], node.ops, sides[1:], strict=True)
        ]
        return _form(ast.BoolOp(ast.And(), links), function, names, budget)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
        both = (_form(side, function, names, budget) for side in (node.left, node.comparators[0]))
        return type(node.ops[0]).__name__, *sorted(both, key=repr)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in function.functions:
        callee = function.functions[node.func.id]
        arguments = [_form(argument, function, names, budget) for argument in node.args]
        inner = {parameter.name: form for parameter, form in zip(callee.parameters, arguments, strict=True)}
        if len(callee.body) == 1 and isinstance(callee.body[0], ast.Return):
            return _form(callee.body[0].value, callee, inner, budget)
        return "call", id(callee), *arguments
    if isinstance(node, ast.AST):
        parts = (getattr(node, name, None) for name in node._fields if name != "ctx")
        return type(node).__name__, *(_form(part, function, names, budget) for part in parts)
    if isinstance(node, list):
        return tuple(_form(one, function, names, budget) for one in node)
    return node


def _operands(
    operator: ast.boolop, values: Iterable[ast.expr], function: Function, names: Mapping[str, Any], budget: list[int]
) -> Iterator[Any]:
    """The normal forms of operands; those of the same operator are flattened, also where a helper is put in place."""
    name = type(operator).__name__
    for value in values:
        form = _form(value, function, names, budget)
        if isinstance(form, tuple) and form and form[0] == name:
            yield from form[1:]
        else:
            yield form
