"""Folds over unordered pairs: `all(... for a in range(n) for b in range(n) if a < b ...)`.

In:  a fold of a routine.
Out: the comparisons `a < b` that only spare the second look at each pair, because the rest of the fold is the same with
     both variables exchanged. A reduced kernel evaluates them as `a != b`.

The rest is compared in a normal form. A helper that is one expression is put in place of its call; the operands of
`and`, `or`, `==` and `!=` are sorted; a variable of the fold is its number in it, so that two folds that differ only in
the names of their variables have one form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.walking import is_same

MOST_NODES = 20_000
"""The most nodes of a normal form; a larger one is not compared."""

FIRST, SECOND = ("pair", 1), ("pair", 2)
"""The normal forms of the variables whose order is in question."""

Forms = Mapping[ir.Variable, Any]
"""The normal forms of variables; another variable is its own."""


class _TooLargeError(Exception):
    """The normal form has too many nodes."""


def symmetric_orders(fold: ir.Fold) -> Iterator[ir.Compare]:
    """The comparisons of two variables of this fold that may be evaluated as `!=`."""
    ranges = {generator.variable: generator.range for generator in fold.generators}
    for generator in fold.generators:
        for test in generator.conditions:
            match test:
                case ir.Compare(ir.Local(one), ir.Sign.LESS | ir.Sign.GREATER, ir.Local(other)) if (
                    one is not other and one in ranges and other in ranges and is_same(ranges[one], ranges[other])
                ):
                    form = _form_without(fold, test, {one: FIRST, other: SECOND})
                    if form is not None and form == _form_without(fold, test, {one: SECOND, other: FIRST}):
                        yield test


def _form_without(fold: ir.Fold, order: ir.Compare, pair: Forms) -> Any:
    """The normal form of a fold without one comparison, whose sides are `pair`; None if it is too large."""
    try:
        return _Normalization(order, pair).fold(fold, {}, 0)
    except _TooLargeError:
        return None


class _Normalization:
    """Makes the normal form of a fold without one comparison."""

    def __init__(self, order: ir.Compare, pair: Forms) -> None:
        self.order = order
        self.pair = pair
        self.left = MOST_NODES

    def fold(self, fold: ir.Fold, forms: Forms, depth: int) -> Any:
        """The normal form of a fold inside `depth` variables of other folds."""
        forms, ranges, tests = dict(forms), [], list[Any]()
        for generator in fold.generators:
            ranges.append(self.form(generator.range, forms, depth))
            forms[generator.variable] = self.pair.get(generator.variable, ("variable", depth))
            depth += 1
            conditions = [one for one in generator.conditions if one is not self.order]
            tests += self.operands(ir.And, conditions, forms, depth)
        body, default = self.form(fold.body, forms, depth), self.part(fold.default, forms, depth)
        return fold.gathering, ranges, sorted(tests, key=repr), body, default

    def form(self, node: ir.Node, forms: Forms, depth: int) -> Any:
        """The normal form of a node inside `depth` variables of folds."""
        self.left -= 1
        if self.left < 0:
            raise _TooLargeError
        match node:
            case ir.Local(variable):
                return self.part(variable, forms, depth)
            case ir.Constant(number):
                return "number", int(number)
            case ir.Fold():
                return self.fold(node, forms, depth)
            case ir.And(operands) | ir.Or(operands):
                return type(node).__name__, *sorted(self.operands(type(node), operands, forms, depth), key=repr)
            case ir.Compare(left, sign, right):
                return _compared(self.form(left, forms, depth), sign, self.form(right, forms, depth))
            case ir.Chain(first, links):
                sides = [self.form(side, forms, depth) for side in (first, *(link.right for link in links))]
                compared = map(_compared, sides, (link.sign for link in links), sides[1:])
                return ir.And.__name__, *sorted(compared, key=repr)
            case ir.Call(routine, arguments):
                passed = [self.form(argument, forms, depth) for argument in arguments]
                match routine.body:
                    case [ir.Return(value)]:
                        return self.form(value, dict(zip(routine.parameters, passed, strict=True)), depth)
                return "call", id(routine), *passed
        return type(node).__name__, *(self.part(one, forms, depth) for one in vars(node).values())

    def part(self, part: Any, forms: Forms, depth: int) -> Any:
        """The normal form of a part of a node; where it is written does not count."""
        match part:
            case ir.Node():
                return self.form(part, forms, depth)
            case tuple():
                return tuple(self.part(one, forms, depth) for one in part)
            case ir.Variable():
                return forms.get(part, ("outer", id(part)))
            case type():
                return "class", id(part)
            case ir.Span():
                return None
        return part

    def operands(
        self, kind: type[ir.And] | type[ir.Or], operands: Iterable[ir.Expression], forms: Forms, depth: int
    ) -> Iterator[Any]:
        """The normal forms of operands; those of the same operator are flattened, also where a helper is put in
        place."""
        for operand in operands:
            form = self.form(operand, forms, depth)
            if isinstance(form, tuple) and form and form[0] == kind.__name__:
                yield from form[1:]
            else:
                yield form


def _compared(left: Any, sign: ir.Sign, right: Any) -> Any:
    """The normal form of a comparison of two numbers, given theirs."""
    sides = [left, right]
    return sign, *(sorted(sides, key=repr) if sign in (ir.Sign.EQUAL, ir.Sign.NOT_EQUAL) else sides)
