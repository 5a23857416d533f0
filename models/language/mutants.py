"""The mutants of an action: the action without one of its guards, or without one conjunct of a guard.

Every engine reads a mutant like the action itself. CPython cannot run a mutant, which has no Python text; in place of
CPython, models/language/interpreter.py evaluates the mutant's routine.

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
    """A copy of an action, but without one of the action's guards, or without one conjunct of a guard."""

    function: Function
    line: int
    guard: str
    dropped: str
    """The text of the removed condition."""
    within: tuple[str, ...]
    """The names of the helpers that lead from the guard to the removed condition, each called by the helper before it;
    empty if the condition is written in the guard itself."""


def mutants(action: Function) -> Iterator[Mutant]:
    """Yield every mutant of an action, in the order in which the removed conditions stand in the text."""
    for guard in visit(action.routine.written):
        if isinstance(guard, ir.Require):
            for weaker in _weaker(guard.condition):
                rest = weaker.rest or ir.Constant(True, span=guard.span)
                routine = _with(action.routine, guard, replace(guard, condition=rest))
                function = replace(action, routine=routine, python=interpreted(routine), functions={}, domains={})
                yield Mutant(function, guard.span.line, guard.condition.span.text, weaker.dropped, weaker.within)


def _with(routine: ir.Routine, old: ir.Node, new: ir.Node) -> ir.Routine:
    written = tuple(rewrite(statement, lambda node: new if node is old else node) for statement in routine.written)
    body = lowered(routine.parameters, written)
    return replace(routine, written=written, body=body, assignments=assignments(body))


@dataclass(frozen=True)
class _Weaker:
    """A condition without one of its conjuncts (`dropped`): `rest` is what remains, None if nothing remains."""

    rest: ir.Expression | None
    dropped: str
    within: tuple[str, ...] = ()


def _weaker(condition: ir.Expression) -> list[_Weaker]:
    """Return, for each conjunct of a condition, the condition without this conjunct. A condition that the model's text
    writes without `and` has one conjunct, the condition itself, even if its form in the core has an `and`."""
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
    weaker_conditions = []
    for position, conjunct in enumerate(conjuncts):
        for weaker in _weaker(conjunct):
            kept = list(conjuncts)
            kept[position : position + 1] = [] if weaker.rest is None else [weaker.rest]
            weaker_conditions.append(
                replace(weaker, rest=kept[0] if len(kept) == 1 else ir.And(tuple(kept), span=condition.span))
            )
    return weaker_conditions
