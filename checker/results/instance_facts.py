"""Facts about an instance that results show: its title, configuration, faults, disabled actions and command.

Out: lines of text, objects for `--json`, commands with only the options that differ from the defaults, and the
     positions of the actions that the configuration disables in every state, found without a search.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from isrcheck.commands import settings
from isrcheck.models.language.declarations import WHOLE, Kind
from isrcheck.models.language.interpreter import Interpreter
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import variables, visit
from isrcheck.models.language.model import DEADLOCK, Instance, Property, spell
from isrcheck.models.messages import ModelError, UsageError, escaped
from isrcheck.models.run import Cells


def spaced(name: str) -> str:
    """Return the name of a configuration entry as words, with spaces in place of underscores."""
    return name.replace("_", " ")


def label_of(prop: Property) -> str:
    """Return the name by which results call a property: `sometimes NAME` for a `sometimes` property, else its name."""
    return f"sometimes {prop.name}" if prop.kind is Kind.SOMETIMES else prop.name


def actions_of(instance: Instance) -> list[tuple[int, str]]:
    """Return the position in the model, and the name, of each action that the instance's protocol has."""
    return [
        (slot, action.name)
        for slot, action in enumerate(instance.model.actions)
        if instance.alternatives[slot] is not None
    ]


def title(instance: Instance, *, with_protocol: bool = True) -> str:
    """Return the model, the protocol, and the actions swapped with those of another protocol, as one line."""
    words = [instance.model.name]
    if instance.protocol.name and with_protocol:
        words.append(f"protocol {instance.protocol.name}")
    words += [f"{action} of {protocol}" for action, protocol in instance.swaps.items()]
    return ", ".join(words)


def introduction(instance: Instance) -> str:
    """Return the title of an instance, and the first line of its model's documentation."""
    documentation = instance.model.documentation.splitlines()
    return f"{title(instance)}: {documentation[0] if documentation else ''}"


def identity_of(instance: Instance) -> dict[str, Any]:
    """Return the first fields of an object for `--json`: the model, its digest, the protocol, the swapped actions."""
    return {
        "model": instance.model.name,
        "protocol": instance.protocol.name or None,
        "swaps": dict(instance.swaps),
        "digest": instance.model.digest,
    }


def configuration_of(instance: Instance) -> dict[str, str]:
    """Return every configuration entry with its value as written on the command line."""
    entries = instance.model.entries
    return {name: spell(entries[name], value) for name, value in instance.configuration.items()}


def configuration_line(instance: Instance) -> str:
    """Return the whole configuration as one line."""
    entries = [f"{name}={value}" for name, value in configuration_of(instance).items()]
    return ", ".join(entries) or "nothing to configure"


def faults_of(instance: Instance) -> dict[str, int]:
    """Return the budgets of faults and rare events, by name."""
    values = dict(instance.configuration.items())
    return {name: values[name] for name, entry in instance.model.entries.items() if entry.is_budget}


def faults_line(*instances: Instance) -> str:
    """Return one line: the faults that instances of one model have, with budgets; then the other possible faults."""
    budgets = [faults_of(instance) for instance in instances]
    if not budgets[0]:
        return "the model declares none"
    faults = {name: sorted({budget[name] for budget in budgets}) for name in budgets[0]}
    considered = [f"{spaced(name)} {' or '.join(map(str, counts))}" for name, counts in faults.items() if any(counts)]

    def can_have(instance: Instance, fault: str) -> bool:
        """Whether the instance could have a budget above 0 for this fault; some protocols refuse the fault."""
        values = dict(instance.configuration.items()) | {fault: 1}
        with suppress(UsageError):
            return bool(instance.model.instance(instance.protocol.name, values))
        return False

    absent = [name for name, counts in faults.items() if not any(counts)]
    left_out = [spaced(name) for name in absent if any(can_have(instance, name) for instance in instances)]
    text = ", ".join(considered) or "none"
    return f"{text}; not considered: {', '.join(left_out)}" if left_out else text


def command_to_show(target: str, instance: Instance, prop: Property, depth: int | None) -> str:
    """Return the command that repeats a search as far as is needed to show that `prop` fails at `depth`.

    The search normally goes to `depth`. To show a deadlock, it goes one step further, because states at the last depth
    are not expanded. To show stuck states or loops, it has no bound, because only a complete search finds them.
    """
    if prop is DEADLOCK and depth is not None:
        depth += 1
    return command_of(target, instance, None if prop.kind in WHOLE else depth)


def command_of(target: str, instance: Instance, bound: int | None, *, deadlock: bool = True) -> str:
    """Return the command that repeats a search to `bound`, with only the options that differ from the defaults."""
    options = [*([] if bound is None else ["--bound", str(bound)]), *([] if deadlock else ["--no-deadlock"])]
    words = ["check", *settings.words_of_name(target, instance), *options, *settings.words_of_values(instance)]
    return escaped(shlex.join(words))


# ---------------------------------------------------------------------------------------------------- disabled actions


def disabled_actions(instance: Instance) -> frozenset[int]:
    """Return the positions in the model of those actions that this configuration disables in every state.

    An action is disabled if one of its parameters has no values, or if one of its guards is false in every initial
    state and reads only fields that no enabled action writes, such as a fault budget of 0, a setting or a switch.
    """
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
    """Yield each guard of an action that reads no argument of the action and is false in every initial state."""
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
    """Yield the first initial state, then one initial state for each combination of these fields' initial values."""
    states = instance.initial_states
    yield states[0]
    places = [instance.layouts[name] for name in sorted(fields & instance.layouts.keys())]
    columns = [place.offset + cell for place in places for cell in range(place.count)]
    first: dict[tuple[int, ...], int] = {}
    for number, row in enumerate(zip(*map(states.column, columns), strict=True)):
        first.setdefault(row, number)
    yield from map(states.__getitem__, first.values())


def _reads(guard: ir.Expression) -> frozenset[str]:
    nodes = list(visit([guard]))
    called = (node.routine.reads for node in nodes if isinstance(node, ir.Call))
    return frozenset(node.field for node in nodes if isinstance(node, ir.Cell)).union(*called)
