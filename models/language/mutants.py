"""The mutants of an action: the action without one of its guards, or without one conjunct of a guard.

In:  a `Function` that is an action.
Out: its mutants, each a Function that every engine reads like the action itself. A mutant has no text that CPython
     could compile; in place of plain Python, its routine is interpreted (models/language/interpreter.py).

A mutant has every step of the action, with the same effect, and possibly more steps. So a property that fails in the
model fails in the mutant at the same depth or earlier, and reachable states stay reachable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from isrcheck.models.language.interpreter import interpreted
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.lowering import lowered
from isrcheck.models.language.ir.nodes import assignments, rewrite, visit
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.language.reading.source import respelled


@dataclass(frozen=True, eq=False)
class Mutant:
    """An action without a guard, or without one conjunct of a guard; `dropped` is the removed condition.

    If the conjunct is in a helper function, `within` names it, after the helpers through which the guard calls it.
    """

    function: Function
    line: int
    guard: str
    dropped: str
    within: tuple[str, ...]


def mutants(action: Function) -> Iterator[Mutant]:
    """Every mutant of an action, in the order of the removed conditions in the text."""
    for guard in visit(action.routine.written):
        if isinstance(guard, ir.Require):
            for weaker in _weaker(guard.condition):
                rest = weaker.rest or ir.Constant(True, span=guard.span)
                routine = _with(action.routine, guard, replace(guard, condition=rest))
                function = replace(action, routine=routine, python=interpreted(routine), functions={}, domains={})
                yield Mutant(function, guard.span.line, guard.condition.span.text, weaker.dropped, weaker.within)


def _with(routine: ir.Routine, old: ir.Node, new: ir.Node) -> ir.Routine:
    """A copy of a routine with one of its nodes replaced."""
    written = tuple(rewrite(statement, lambda node: new if node is old else node) for statement in routine.written)
    body = lowered(routine.parameters, written)
    return replace(routine, written=written, body=body, assignments=assignments(body))


@dataclass(frozen=True)
class _Weaker:
    """A condition without one of its conjuncts (None: nothing remains)."""

    rest: ir.Expression | None
    dropped: str
    within: tuple[str, ...] = ()


def _weaker(condition: ir.Expression) -> list[_Weaker]:
    """The conditions that result from omitting one conjunct each; a condition without `and` is its only conjunct, also
    if its form in the core has one."""
    match condition:
        case ir.And(parts):
            return _without_one(condition, parts)
        case ir.Chain(first, links):
            lefts = [first, *(rewrite(link.right, replace) for link in links[:-1])]  # each node is at one place
            compared = [
                ir.Compare(left, link.sign, link.right, span=condition.span)
                for left, link in zip(lefts, links, strict=True)
            ]
            return _without_one(condition, compared)
        case ir.Compare(left, sign, right):  # a link of a chain has no text of its own
            return [_Weaker(None, respelled(f"({left.span.text}) {sign.value} ({right.span.text})"))]
        case ir.Call(ir.Routine(written=(ir.Return(value) as returned,)) as helper):
            calls = [
                _Weaker(
                    replace(condition, routine=_with(helper, returned, replace(returned, value=weaker.rest))),
                    weaker.dropped,
                    (helper.name, *weaker.within),
                )
                for weaker in _weaker(value)
                if weaker.rest is not None
            ]
            if calls:
                return calls
    return [_Weaker(None, condition.span.text)]


def _without_one(condition: ir.Expression, conjuncts: Sequence[ir.Expression]) -> list[_Weaker]:
    found = []
    for position, conjunct in enumerate(conjuncts):
        for weaker in _weaker(conjunct):
            rest = list(conjuncts)
            rest[position : position + 1] = [] if weaker.rest is None else [weaker.rest]
            found.append(replace(weaker, rest=rest[0] if len(rest) == 1 else ir.And(tuple(rest), span=condition.span)))
    return found
