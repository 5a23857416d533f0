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

from isrcheck.models.language.ir.nodes import (
    And,
    Call,
    Chain,
    Compare,
    Constant,
    Expression,
    Fold,
    Local,
    Node,
    Or,
    Return,
    Sign,
    Span,
    Variable,
)
from isrcheck.models.language.ir.walking import is_same

MOST_NODES = 20_000
"""The most nodes of a normal form; a larger one is not compared."""

FIRST, SECOND = ("pair", 1), ("pair", 2)
"""The normal forms of the variables whose order is in question."""

Forms = Mapping[Variable, Any]
"""The normal forms of variables; another variable is its own."""


class _TooLargeError(Exception):
    """The normal form has too many nodes."""


def symmetric_orders(fold: Fold) -> Iterator[Compare]:
    """The comparisons of two variables of this fold that may be evaluated as `!=`."""
    ranges = {generator.variable: generator.range for generator in fold.generators}
    for generator in fold.generators:
        for test in generator.conditions:
            match test:
                case Compare(Local(one), Sign.LESS | Sign.GREATER, Local(other)) if (
                    one is not other and one in ranges and other in ranges and is_same(ranges[one], ranges[other])
                ):
                    form = _form_without(fold, test, {one: FIRST, other: SECOND})
                    if form is not None and form == _form_without(fold, test, {one: SECOND, other: FIRST}):
                        yield test


def _form_without(fold: Fold, order: Compare, pair: Forms) -> Any:
    """The normal form of a fold without one comparison, whose sides are `pair`; None if it is too large."""
    try:
        return _Normalization(order, pair).fold(fold, {}, 0)
    except _TooLargeError:
        return None


class _Normalization:
    """Makes the normal form of a fold without one comparison."""

    def __init__(self, order: Compare, pair: Forms) -> None:
        self.order = order
        self.pair = pair
        self.left = MOST_NODES

    def fold(self, fold: Fold, forms: Forms, depth: int) -> Any:
        """The normal form of a fold inside `depth` variables of other folds."""
        forms, ranges, tests = dict(forms), [], list[Any]()
        for generator in fold.generators:
            ranges.append(self.form(generator.range, forms, depth))
            forms[generator.variable] = self.pair.get(generator.variable, ("variable", depth))
            depth += 1
            conditions = [one for one in generator.conditions if one is not self.order]
            tests += self.operands(And, conditions, forms, depth)
        body, default = self.form(fold.body, forms, depth), self.part(fold.default, forms, depth)
        return fold.gathering, ranges, sorted(tests, key=repr), body, default

    def form(self, node: Node, forms: Forms, depth: int) -> Any:
        """The normal form of a node inside `depth` variables of folds."""
        self.left -= 1
        if self.left < 0:
            raise _TooLargeError
        match node:
            case Local(variable):
                return self.part(variable, forms, depth)
            case Constant(number):
                return "number", int(number)
            case Fold():
                return self.fold(node, forms, depth)
            case And(operands) | Or(operands):
                return type(node).__name__, *sorted(self.operands(type(node), operands, forms, depth), key=repr)
            case Compare(left, sign, right):
                return _compared(self.form(left, forms, depth), sign, self.form(right, forms, depth))
            case Chain(first, links):
                sides = [self.form(side, forms, depth) for side in (first, *(link.right for link in links))]
                compared = map(_compared, sides, (link.sign for link in links), sides[1:])
                return And.__name__, *sorted(compared, key=repr)
            case Call(routine, arguments):
                passed = [self.form(argument, forms, depth) for argument in arguments]
                match routine.body:
                    case [Return(value)]:
                        return self.form(value, dict(zip(routine.parameters, passed, strict=True)), depth)
                return "call", id(routine), *passed
        return type(node).__name__, *(self.part(one, forms, depth) for one in vars(node).values())

    def part(self, part: Any, forms: Forms, depth: int) -> Any:
        """The normal form of a part of a node; where it is written does not count."""
        match part:
            case Node():
                return self.form(part, forms, depth)
            case tuple():
                return tuple(self.part(one, forms, depth) for one in part)
            case Variable():
                return forms.get(part, ("outer", id(part)))
            case type():
                return "class", id(part)
            case Span():
                return None
        return part

    def operands(
        self, kind: type[And] | type[Or], operands: Iterable[Expression], forms: Forms, depth: int
    ) -> Iterator[Any]:
        """The normal forms of operands; those of the same operator are flattened, also where a helper is put in
        place."""
        for operand in operands:
            form = self.form(operand, forms, depth)
            if isinstance(form, tuple) and form and form[0] == kind.__name__:
                yield from form[1:]
            else:
                yield form


def _compared(left: Any, sign: Sign, right: Any) -> Any:
    """The normal form of a comparison of two numbers, given theirs."""
    sides = [left, right]
    return sign, *(sorted(sides, key=repr) if sign in (Sign.EQUAL, Sign.NOT_EQUAL) else sides)
