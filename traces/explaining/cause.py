"""What brings a failure about, without the names of those to whom it happens: what tells one failure from another.

In:  a certified trace that ends where a property fails.
Out: a `Cause`: which part of the property is false, which faults it took, and what happened.

Brokers, records and other elements of domains do not occur in it, so that a history and the same one with brokers
renamed have one cause. What happened is, of a loss in Kafka's model, which action removed the copy that mattered and
which made the record gone; of any other failure, which actions took part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from isrcheck.models.language.model import FieldLayout, Instance
from isrcheck.models.run import Cells
from isrcheck.traces.explaining.attribution import Loss, find_loss
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.format.why_false import Reason, why_broken


@dataclass(frozen=True)
class Cause:
    """`broken` are the expressions of the property that decide it, from the outside to the inside; `faults` the budgets
    that were spent, with how much of each; `happened` is text."""

    broken: tuple[str, ...]
    faults: tuple[tuple[str, int], ...]
    happened: tuple[str, ...]

    def is_part_of(self, other: Cause) -> bool:
        """Whether the other one is this one with something added: the same part fails, and it took no fewer faults and
        actions."""
        faults = dict(other.faults)
        return (
            self.broken == other.broken
            and all(count <= faults.get(name, 0) for name, count in self.faults)
            and set(self.happened) <= set(other.happened)
        )

    @property
    def fault_count(self) -> int:
        """How many faults there were."""
        return sum(count for _, count in self.faults)


def cause_of(trace: Trace) -> Cause:
    """The cause of the failure that a trace ends with."""
    loss = find_loss(trace)
    happened = _took_part(trace) if loss is None else _lost(trace, loss)
    return Cause(broken_part(trace), tuple(faults_in(trace.instance, trace.states[-1]).items()), happened)


def broken_part(trace: Trace) -> tuple[str, ...]:
    """The expressions that decide that the property is false, without what their names stand for."""
    return tuple(_sources(why_broken(trace)))[1:]


def _sources(reason: Reason) -> Iterator[str]:
    yield reason.source
    for condition in reason.conditions:
        yield f"given {condition}"
    for deeper in reason.deeper:
        yield from _sources(deeper)


def _took_part(trace: Trace) -> tuple[str, ...]:
    """The actions in the order of the model."""
    return tuple(dict.fromkeys(step.action for step in sorted(trace.steps, key=lambda step: step.action_index)))


def _lost(trace: Trace, loss: Loss) -> tuple[str, ...]:
    if loss.removed is not None:
        found = f"removed by {trace.steps[loss.removed - 1].action}"
    elif loss.admitted is not None:
        found = f"never there: let into the ISR by {trace.steps[loss.admitted - 1].action}"
    else:
        found = "never there"
    return found, f"{loss.outcome} by {trace.steps[loss.lost - 1].action}" if loss.lost else f"{loss.outcome} at once"


def budget_fields(instance: Instance) -> Mapping[str, FieldLayout]:
    """For each budget of the configuration the field that says what is left of it: `crashes_left` of `crashes`."""
    found = {}
    for name, entry in instance.model.entries.items():
        layout = instance.layouts.get(f"{name}_left")
        if entry.is_budget and layout is not None and not layout.sizes:
            found[name] = layout
    return found


def faults_in(instance: Instance, cells: Cells) -> dict[str, int]:
    """Which budgets were spent when a state was reached, and how much of each."""
    values = dict(instance.configuration.items())
    spent = {name: values[name] - cells[layout.offset] for name, layout in budget_fields(instance).items()}
    return {name: count for name, count in spent.items() if count}
