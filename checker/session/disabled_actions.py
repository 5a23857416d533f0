"""Finds the actions that a configuration disables in every state, without a search.

In:  an `Instance`.
Out: the positions of the disabled actions.

An action is disabled if one of its parameters has no values, or if one of its guards is false in every initial state
and reads only fields that no enabled action writes, such as a fault budget of 0, a setting or a switch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from isrcheck.models import run
from isrcheck.models.language.model import Instance
from isrcheck.models.language.syntax import STATE_NAMES, Function, stored
from isrcheck.models.messages.errors import ModelError


def disabled_actions(instance: Instance) -> frozenset[int]:
    """Return the positions in the model of the protocol's disabled actions."""
    chosen = {slot: instance.function(slot) for slot in range(len(instance.model.actions))}
    actions = {slot: function for slot, function in chosen.items() if function is not None}
    never = {slot for slot in actions if any(choice.count == 0 for choice in instance.argument_ranges[slot])}
    shut = {slot: [_reads(f, guard) for guard in _false_from_the_start(instance, f)] for slot, f in actions.items()}
    off = never | {slot for slot, guards in shut.items() if guards}
    while True:
        written = {name for slot, function in actions.items() if slot not in off for name in function.writes}
        left = {slot for slot in off if slot in never or any(not reads & written for reads in shut[slot])}
        if left == off:
            return frozenset(off)
        off = left


def _false_from_the_start(instance: Instance, function: Function) -> Iterator[ast.expr]:
    """Yield the guards that read only the state and are false in every initial state."""
    own = {parameter.name for parameter in function.arguments} | {one for line in function.body for one in stored(line)}
    for statement in function.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id in function.functions:
            continue
        (guard,) = call.args
        if not own & {node.id for node in ast.walk(guard) if isinstance(node, ast.Name)}:
            code = compile(ast.Expression(guard), function.path, "eval")
            names = instance.python(function).__globals__
            try:
                states = _starts(instance, _reads(function, guard))
                if not any(eval(code, {**names, "s": state}) for state in states):  # noqa: S307 - the model's own text
                    yield guard
            except ModelError:  # an index out of range, which the search will report
                continue


def _starts(instance: Instance, fields: frozenset[str]) -> Iterator[run.State]:
    """Yield the first initial state, then one initial state for each combination of values of these fields."""
    states = instance.initial_states
    yield run.State(instance, states[0])
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
        yield run.State(instance, states[number])


def _reads(function: Function, guard: ast.expr) -> frozenset[str]:
    """Return the fields that a guard reads, directly or through helper functions."""
    names: set[str] = set()
    for node in ast.walk(guard):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in STATE_NAMES:
            names.add(node.attr)
        elif isinstance(node, ast.Name) and node.id in function.functions:
            names |= function.functions[node.id].reads
    return frozenset(names)
