"""Finds the actions that a configuration disables in every state, without a search.

In:  an `Instance`.
Out: the positions of the disabled actions.

An action is disabled if one of its parameters has no values, or if one of its guards is false in every initial state
and reads only fields that no enabled action writes, such as a fault budget of 0, a setting or a switch.
"""

from __future__ import annotations

from collections.abc import Iterator

from isrcheck.models.language.interpreter import Interpreter
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import variables, visit
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import ModelError
from isrcheck.models.run import Cells


def disabled_actions(instance: Instance) -> frozenset[int]:
    """Return the positions in the model of the protocol's disabled actions."""
    chosen = {slot: instance.function(slot) for slot in range(len(instance.model.actions))}
    actions = {slot: function.routine for slot, function in chosen.items() if function is not None}
    never = {slot for slot in actions if any(choice.count == 0 for choice in instance.argument_ranges[slot])}
    shut = {
        slot: [_reads(guard) for guard in _false_from_the_start(instance, routine)] for slot, routine in actions.items()
    }
    off = never | {slot for slot, guards in shut.items() if guards}
    while True:
        written = {name for slot, routine in actions.items() if slot not in off for name in routine.writes}
        left = {slot for slot in off if slot in never or any(not reads & written for reads in shut[slot])}
        if left == off:
            return frozenset(off)
        off = left


def _false_from_the_start(instance: Instance, routine: ir.Routine) -> Iterator[ir.Expression]:
    """Yield the guards that read only the state and are false in every initial state."""
    (state,) = routine.states
    for statement in routine.body:
        if not isinstance(statement, ir.Require) or variables(statement.condition) - {state}:
            continue
        guard = statement.condition
        try:
            starts = _starts(instance, _reads(guard))
            if not any(Interpreter(instance).value(guard, {state: list(cells)}) for cells in starts):
                yield guard
        except ModelError:  # an index out of range, which the search will report
            continue


def _starts(instance: Instance, fields: frozenset[str]) -> Iterator[Cells]:
    """Yield the first initial state, then one initial state for each combination of values of these fields."""
    states = instance.initial_states
    yield states[0]
    columns = [
        instance.layouts[name].offset + cell
        for name in sorted(fields & instance.layouts.keys())
        for cell in range(instance.layouts[name].count)
    ]
    rows = zip(*map(states.column, columns), strict=True)
    first: dict[tuple[int, ...], int] = {}
    for number, row in enumerate(rows):
        first.setdefault(row, number)
    for number in first.values():
        yield states[number]


def _reads(guard: ir.Expression) -> frozenset[str]:
    """Return the fields that a guard reads, directly or through helper functions."""
    nodes = list(visit([guard]))
    called = (node.routine.reads for node in nodes if isinstance(node, ir.Call))
    return frozenset(node.field for node in nodes if isinstance(node, ir.Cell)).union(*called)
