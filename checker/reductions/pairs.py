"""Folds over unordered pairs: `all(... for a in range(n) for b in range(n) if a < b ...)`.

In:  the generator of a call of `all` or `any`, in a function, and the locals in the scope around it.
Out: the comparisons `a < b` that only spare the second look at each pair, because the rest of the generator is the same
     with both names exchanged. A reduced kernel evaluates them as `a != b`.

The rest is compared in a normal form, in which no name stands for itself: a variable is its binding, a constant its
number, a domain the domain itself, and a helper that is one expression is put in place of its call. The operands of
`and`, `or`, `==` and `!=` are sorted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isrcheck.models.language.syntax import SIZE, TAKEN, Function

MOST_NODES = 20_000
"""The most nodes of a normal form; a larger one is not compared."""


class _TooLargeError(Exception):
    """The normal form has too many nodes."""


def symmetric_orders(
    generator: ast.GeneratorExp, function: Function, around: Mapping[str, Any]
) -> Iterator[ast.Compare]:
    """The comparisons of two variables of this generator that may be evaluated as `!=`; `around` are the bindings of
    the locals in its scope."""
    iterated = {
        part.target.id: ast.dump(part.iter) for part in generator.generators if isinstance(part.target, ast.Name)
    }
    if len(iterated) < len(generator.generators):
        return
    scope = {name: ("outer", name) for name in (*(one.name for one in function.parameters), *around)}
    for part in generator.generators:
        for test in part.ifs:
            sides = _order(test, iterated.keys())
            if sides is None or iterated[sides[0]] != iterated[sides[1]]:
                continue
            first, second = (
                _Forms().rest(generator, test, function, scope, dict(zip(sides, images, strict=True)))
                for images in ((FIRST, SECOND), (SECOND, FIRST))
            )
            if first is not None and first == second:
                assert isinstance(test, ast.Compare)
                yield test


def _order(test: ast.expr, variables: Iterable[str]) -> tuple[str, str] | None:
    """The names in a condition that orders two of these variables."""
    match test:
        case ast.Compare(left=ast.Name(id=one), ops=[ast.Lt() | ast.Gt()], comparators=[ast.Name(id=other)]):
            return (one, other) if one != other and {one, other} <= set(variables) else None
    return None


Names = Mapping[str, Any]
"""For each name that hides a global one its normal form."""

FIRST, SECOND = ("pair", 1), ("pair", 2)
"""The normal forms of the variables whose order is in question."""


class _Forms:
    """Makes normal forms of expressions. A variable of a generator is the number of the generators' variables around
    it, so that two generators that differ only in names have one form."""

    def __init__(self) -> None:
        self.left = MOST_NODES

    def rest(self, generator: ast.GeneratorExp, order: ast.expr, function: Function, scope: Names, pair: Names) -> Any:
        """The normal form of a generator without one comparison, whose sides are `pair`; None if it is too large."""
        try:
            return self._generator(generator, function, scope, 0, pair, order)
        except _TooLargeError:
            return None

    def _generator(
        self,
        generator: ast.GeneratorExp,
        function: Function,
        scope: Names,
        depth: int,
        pair: Names | None = None,
        order: ast.expr | None = None,
    ) -> Any:
        names, ranges, tests = dict(scope), [], list[Any]()
        for part in generator.generators:
            assert isinstance(part.target, ast.Name)
            ranges.append(self.form(part.iter, function, names, depth))
            names[part.target.id] = (pair or {}).get(part.target.id, ("variable", depth))
            depth += 1
            tests += self._operands(ast.And(), (one for one in part.ifs if one is not order), function, names, depth)
        return "generator", ranges, sorted(tests, key=repr), self.form(generator.elt, function, names, depth)

    def form(self, node: Any, function: Function, names: Names, depth: int) -> Any:
        """The normal form of a node of a function, inside `depth` variables of generators."""
        self.left -= 1
        if self.left < 0:
            raise _TooLargeError
        match node:
            case ast.Name(id=name):
                if name in names:
                    return names[name]
                return "number", int(function.constants[name])
            case ast.Constant(value=int(number)):
                return "number", int(number)
            case ast.Attribute() if (member := function.member(node)) is not None:
                return "number", int(member)
            case ast.GeneratorExp():
                return self._generator(node, function, names, depth)
            case ast.BoolOp(op=operator, values=values):
                operands = self._operands(operator, values, function, names, depth)
                return type(operator).__name__, *sorted(operands, key=repr)
            case ast.Compare(left=ast.Name(id=name), ops=[sign], comparators=[ast.Name(id=action)]) if name == TAKEN:
                return type(sign).__name__, TAKEN, function.actions[action]
            case ast.Compare(left=left, ops=[_, _, *_] as signs, comparators=others):
                sides = [left, *others]
                links: list[ast.expr] = [
                    ast.Compare(one, [sign], [other])
                    for one, sign, other in zip(sides[:-1], signs, sides[1:], strict=True)
                ]
                return self.form(ast.BoolOp(ast.And(), links), function, names, depth)
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as sign], comparators=[right]):
                both = (self.form(side, function, names, depth) for side in (left, right))
                return type(sign).__name__, *sorted(both, key=repr)
            case ast.Call(args=arguments) if (callee := function.callee(node)) is not None:
                forms = [self.form(argument, function, names, depth) for argument in arguments]
                inner = {parameter.name: form for parameter, form in zip(callee.parameters, forms, strict=True)}
                match callee.body:
                    case [ast.Return(value=returned)]:
                        return self.form(returned, callee, inner, depth)
                return "call", id(callee), *forms
            case ast.Call() if function.builtin(node) == SIZE:
                return SIZE, id(function.domain(node))
            case ast.Call(args=arguments, keywords=keywords):
                values = [*arguments, *(keyword.value for keyword in keywords)]
                return function.builtin(node), *(self.form(value, function, names, depth) for value in values)
            case ast.AST():
                parts = (getattr(node, name, None) for name in node._fields if name != "ctx")
                return type(node).__name__, *(self.form(part, function, names, depth) for part in parts)
            case list():
                return tuple(self.form(one, function, names, depth) for one in node)
        return node

    def _operands(
        self, operator: ast.boolop, values: Iterable[ast.expr], function: Function, names: Names, depth: int
    ) -> Iterator[Any]:
        """The normal forms of operands; those of the same operator are flattened, also where a helper is put in
        place."""
        name = type(operator).__name__
        for value in values:
            form = self.form(value, function, names, depth)
            if isinstance(form, tuple) and form and form[0] == name:
                yield from form[1:]
            else:
                yield form
