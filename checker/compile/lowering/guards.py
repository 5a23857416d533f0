"""The guards of an action, each to be evaluated in the outermost loop over arguments that binds what it reads.

In:  an action, or a generator of initial states; the ranges of its arguments.
Out: conditions, and the place of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from isrcheck.checker.compile.lowering.ranges import Limits, Ranges
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import is_same, rewrite, variables
from isrcheck.models.language.model import ArgumentRange

INSIDE = ir.And | ir.Or | ir.Compare | ir.Chain | ir.Among
"""What a helper returns if its condition is read like one of the guard itself."""


def argument_limits(routine: ir.Routine, choices: Sequence[ArgumentRange]) -> Limits:
    """The numbers of elements of the domains of an action's parameters."""
    pairs = zip(routine.arguments, choices, strict=True)
    return {parameter: choice.elements for parameter, choice in pairs if not choice.is_subset}


def placed(
    ranges: Ranges, conditions: Iterable[ir.Expression], unbound: set[ir.Variable], limits: Limits
) -> tuple[list[ir.Expression], list[ir.Expression]]:
    """Of the conditions that must be true, those to be evaluated where some variables are `unbound`, and those that
    wait.

    A condition in which an index may leave its range is evaluated exactly if all those before it are true, as in the
    reference semantics. Others are evaluated as soon as the loops bind what they read.
    """
    ready: list[ir.Expression] = []
    waiting: list[ir.Expression] = []
    may_one_fail = False  # of those that wait
    for condition in conditions:
        may_fail = ranges.may_fail([condition], limits)
        if variables(condition) & unbound or (may_fail and waiting) or may_one_fail:
            waiting.append(condition)
            may_one_fail = may_one_fail or may_fail
        else:
            ready.append(condition)
    return ready, waiting


def conjuncts(routine: ir.Routine) -> list[ir.Expression]:
    """The conditions that are joined by `and` in the guards of a routine, and in the helpers that they call. Of equal
    ones the first is enough: a condition that was true stays true until the step is taken."""
    different: list[ir.Expression] = []
    for guard in routine.guards:
        for condition in _conjuncts(guard.condition):
            if not any(is_same(condition, other) for other in different):
                different.append(condition)
    return different


def _conjuncts(condition: ir.Expression) -> Iterator[ir.Expression]:
    match condition:
        case ir.And(parts):
            for part in parts:
                yield from _conjuncts(part)
        case ir.Call(ir.Routine(body=(ir.Return(value),)) as helper, arguments) if isinstance(value, INSIDE) and all(
            isinstance(one, ir.Local) and one.variable.role is not ir.Role.SUBSET for one in arguments
        ):
            passed = [one.variable for one in arguments if isinstance(one, ir.Local)]
            yield from _conjuncts(_inside(value, dict(zip(helper.parameters, passed, strict=True))))
        case _:
            yield condition


def _inside(value: ir.Expression, passed: Mapping[ir.Variable, ir.Variable]) -> ir.Expression:
    """What a helper returns, with the variables that are passed to it in place of its parameters."""

    def change(node: ir.Node) -> ir.Node:
        changes: dict[str, Any] = {
            name: passed[one] for name, one in vars(node).items() if isinstance(one, ir.Variable) and one in passed
        }
        return replace(node, **changes) if changes else node

    return rewrite(value, change)
