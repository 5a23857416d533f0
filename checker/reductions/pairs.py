"""Folds over unordered pairs: `all(... for a in range(n) for b in range(n) if a < b ...)`.

Out: the comparisons `a < b` that serve only to visit each pair once: the rest of the fold is the same when `a` and `b`
     are exchanged. A kernel compiled for a reduced search evaluates `a != b` instead, which does not order elements.

"The same" means that the normal forms are equal. A normal form replaces a call of a helper that is one expression by
that expression; sorts the operands of `==` and `!=`; sorts the operands of `and` and `or` where only the truth of the
result counts (`2 and 3` is 3, but `3 and 2` is 2); and names the variables of the fold by numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import is_same

MOST_NODES = 20_000
"""The most nodes of a normal form; a larger one is not compared."""

FIRST, SECOND = ("pair", 1), ("pair", 2)
"""The normal forms of the variables whose order is in question."""

Forms = Mapping[ir.Variable, Any]
"""The normal forms of variables; another variable is its own."""


class _TooLargeError(Exception):
    """The normal form has too many nodes."""


def symmetric_orders(fold: ir.Fold) -> Iterator[ir.Compare]:
    """The comparisons `a < b` or `a > b` of two variables of this fold that serve only to visit each pair once."""
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
    """The normal form of a fold without the comparison `order`; `pair` are the forms of the two compared variables.
    None if the normal form has too many nodes."""
    try:
        return _Normalization(order).form(fold, pair)
    except _TooLargeError:
        return None


class _Normalization:
    def __init__(self, order: ir.Compare) -> None:
        self.order = order
        self.depth = 0
        """The number of fold variables that are bound around the current node."""
        self.left = MOST_NODES

    def form(self, node: ir.Node, forms: Forms, *, as_truth: bool = False) -> Any:
        """The normal form of a node; with `as_truth`, the form need only keep whether the value is true."""
        self.left -= 1
        if self.left < 0:
            raise _TooLargeError
        match node:
            case ir.Local(variable):
                return self.part(variable, forms)
            case ir.Constant(number):
                return "number", int(number)
            case ir.Fold():
                return self.fold(node, dict(forms))
            case ir.And(parts) | ir.Or(parts):
                return self.several(type(node), parts, forms, as_truth=as_truth)
            case ir.Not(operand):
                return ir.Not.__name__, self.form(operand, forms, as_truth=True)
            case ir.Compare(left, sign, right):
                return None if node is self.order else _compared(self.form(left, forms), sign, self.form(right, forms))
            case ir.Chain(first, links):
                sides = [self.form(side, forms) for side in (first, *(link.right for link in links))]
                compared = map(_compared, sides, (link.sign for link in links), sides[1:])
                return ir.And.__name__, *sorted(compared, key=repr)
            case ir.Call(routine, arguments):
                passed = [self.form(argument, forms) for argument in arguments]
                match routine.body:
                    case [ir.Return(value)]:
                        return self.form(value, dict(zip(routine.parameters, passed, strict=True)), as_truth=as_truth)
                return "call", id(routine), *passed
        return type(node).__name__, *(self.part(one, forms) for one in vars(node).values())

    def part(self, part: Any, forms: Forms) -> Any:
        """The normal form of a part of a node; the same for equal parts at different places of the text."""
        match part:
            case ir.Node():
                return self.form(part, forms)
            case tuple():
                return tuple(self.part(one, forms) for one in part)
            case ir.Variable():
                return forms.get(part, ("outer", id(part)))
            case type():
                return "class", id(part)
            case ir.Span():
                return None
        return part

    def fold(self, fold: ir.Fold, forms: dict[ir.Variable, Any]) -> Any:
        """The normal form of a fold, whose variables are added to `forms`."""
        ranges, depth = [], self.depth
        for generator in fold.generators:
            ranges.append(self.form(generator.range, forms))
            forms.setdefault(generator.variable, ("variable", self.depth))
            self.depth += 1
        tests = [condition for part in fold.generators for condition in part.conditions]
        conditions = self.several(ir.And, tests, forms, as_truth=True)
        is_truth = fold.gathering in (ir.Gathering.ALL, ir.Gathering.ANY)
        result = self.form(fold.body, forms, as_truth=is_truth), self.part(fold.default, forms)
        self.depth = depth
        return fold.gathering, ranges, conditions, result

    def several(
        self, kind: type[ir.Node], parts: Iterable[ir.Expression], forms: Forms, *, as_truth: bool
    ) -> tuple[Any, ...]:
        """Return the normal form of `parts`, joined by `and` or `or` (`kind`). A part that uses the same operator, or
        calls a helper whose body does, is replaced by the operands of that operator. With `as_truth`, only the truth of
        the result counts, so all operands are sorted."""
        operands: list[Any] = []
        for part in parts:
            form = self.form(part, forms, as_truth=as_truth)
            operands += form[1:] if isinstance(form, tuple) and form and form[0] == kind.__name__ else [form]
        return kind.__name__, *(sorted(operands, key=repr) if as_truth else operands)


def _compared(left: Any, sign: ir.Sign, right: Any) -> Any:
    sides = [left, right]
    return sign, *(sorted(sides, key=repr) if sign in (ir.Sign.EQUAL, ir.Sign.NOT_EQUAL) else sides)
