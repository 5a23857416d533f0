"""The guards of an action, each to be evaluated in the outermost loop over arguments that binds what it reads.

In:  an action, or a generator of initial states; the ranges of its arguments.
Out: conditions, and the place of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from isrcheck.checker.compile.lowering.ranges import Limits, Ranges
from isrcheck.models.language.ir.nodes import (
    Among,
    And,
    Call,
    Chain,
    Compare,
    Expression,
    Local,
    Node,
    Or,
    Return,
    Role,
    Routine,
    Variable,
)
from isrcheck.models.language.ir.walking import is_same, rewrite, variables
from isrcheck.models.language.model import ArgumentRange


def argument_limits(routine: Routine, choices: Sequence[ArgumentRange]) -> Limits:
    """The numbers of elements of the domains of an action's parameters."""
    pairs = zip(routine.arguments, choices, strict=True)
    return {parameter: choice.elements for parameter, choice in pairs if not choice.is_subset}


def placed(
    ranges: Ranges, conditions: Iterable[Expression], unbound: set[Variable], limits: Limits
) -> tuple[list[Expression], list[Expression]]:
    """Of the conditions that must be true, those to be evaluated where some variables are `unbound`, and those that
    wait.

    A condition in which an index may leave its range is evaluated exactly if all those before it are true, as in the
    reference semantics. Others are evaluated as soon as the loops bind what they read.
    """
    ready: list[Expression] = []
    waiting: list[Expression] = []
    may_one_fail = False  # of those that wait
    for condition in conditions:
        may_fail = ranges.may_fail([condition], limits)
        if variables(condition) & unbound or (may_fail and waiting) or may_one_fail:
            waiting.append(condition)
            may_one_fail = may_one_fail or may_fail
        else:
            ready.append(condition)
    return ready, waiting


def conjuncts(routine: Routine) -> list[Expression]:
    """The conditions that are joined by `and` in the guards of a routine, and in the helpers that they call. Of equal
    ones the first is enough: a condition that was true stays true until the step is taken."""
    different: list[Expression] = []
    for guard in routine.guards:
        for condition in _conjuncts(guard.condition):
            if not any(is_same(condition, other) for other in different):
                different.append(condition)
    return different


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    match condition:
        case And(parts):
            for part in parts:
                yield from _conjuncts(part)
        case Call(
            Routine(parameters=parameters, body=(Return(And() | Or() | Compare() | Chain() | Among() as value),)),
            arguments,
        ) if all(isinstance(one, Local) and one.variable.role is not Role.SUBSET for one in arguments):
            passed = [one.variable for one in arguments if isinstance(one, Local)]
            yield from _conjuncts(_inside(value, dict(zip(parameters, passed, strict=True))))
        case _:
            yield condition


def _inside(value: Expression, passed: Mapping[Variable, Variable]) -> Expression:
    """What a helper returns, with the variables that are passed to it in place of its parameters."""

    def change(node: Node) -> Node:
        changes: dict[str, Any] = {
            name: passed[one] for name, one in vars(node).items() if isinstance(one, Variable) and one in passed
        }
        return replace(node, **changes) if changes else node

    changed = rewrite(value, change)
    assert isinstance(changed, Expression)
    return changed
