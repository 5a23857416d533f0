"""Describes an instance for reports: its title, its configuration, its fault budgets.

In:  instances of models.
Out: lines of text, and objects for `--json`.
"""

from __future__ import annotations

from isrcheck.models.language.model import Instance, spell
from isrcheck.models.messages import UsageError


def title(instance: Instance) -> str:
    """Return the model, the protocol and the swapped actions as one line."""
    words = [instance.model.name]
    if instance.protocol.name:
        words.append(f"protocol {instance.protocol.name}")
    words += [f"{action} of {protocol}" for action, protocol in instance.swaps.items()]
    return ", ".join(words)


def configuration_of(instance: Instance) -> dict[str, str]:
    """Return every configuration entry with its value as written on the command line."""
    entries = instance.model.entries
    return {name: spell(entries[name], value) for name, value in instance.configuration.items()}


def faults_of(instance: Instance) -> dict[str, int]:
    """Return the budgets of faults and rare events, by name."""
    values = dict(instance.configuration.items())
    return {name: values[name] for name, entry in instance.model.entries.items() if entry.is_budget}


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _can_have(instance: Instance, fault: str) -> bool:
    """Whether the configuration allows a budget for this fault; the model may refuse it with this protocol."""
    try:
        instance.model.instance(instance.protocol.name, {**dict(instance.configuration.items()), fault: 1})
    except UsageError:
        return False
    return True


def faults_line(*instances: Instance) -> str:
    """Return the faults that instances of one model consider, with their budgets, and those that they could consider,
    with budget 0."""
    budgets = [faults_of(instance) for instance in instances]
    if not budgets[0]:
        return "the model declares none"
    faults = {name: sorted({one[name] for one in budgets}) for name in budgets[0]}
    considered = [f"{_spaced(name)} {' or '.join(map(str, counts))}" for name, counts in faults.items() if any(counts)]
    left_out = [
        _spaced(name)
        for name, counts in faults.items()
        if not any(counts) and any(_can_have(instance, name) for instance in instances)
    ]
    text = ", ".join(considered) or "none"
    return f"{text}; not considered: {', '.join(left_out)}" if left_out else text
