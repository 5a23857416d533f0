"""Finds the cause of a failure, which tells whether two traces show the same failure; counts rare events.

The more faults, elections, and late or lost messages a trace has, the rarer it is. Each of these events is counted,
and no probability is estimated; an event that does not occur is left out.

A cause names no brokers or records, so two traces that differ only in the numbers of brokers have the same cause. For
a loss in Kafka's model, `happened` has the action by which a broker lost its copy of the record (or joined the ISR
without a copy), and the action that lost the record; for any other failure, it has all actions of the trace.

A fault is an event that a budget of the model counts. An election is a change of the leader epoch at the controller.
Only actions that lose one message, such as `response_is_lost`, count as lost messages; losses in a crash do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.run import Cells
from isrcheck.traces.explaining.presentation import room_of
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.format.why_false import Reason, why_broken
from isrcheck.traces.kafka.failures import Loss, find_loss


@dataclass(frozen=True)
class Cause:
    """What caused a failure: false expressions, faults and actions. Traces with equal causes show the same failure."""

    broken: tuple[str, ...]
    """The expressions that make the property false, from the outermost to the innermost."""
    faults: tuple[tuple[str, int], ...]
    """The spent budgets, with their amounts."""
    happened: tuple[str, ...]
    """The actions that lost the record, or all actions of the trace."""

    def is_part_of(self, other: Cause) -> bool:
        """Whether the other cause has the same false expressions, and includes the faults and actions of this one."""
        faults = dict(other.faults)
        return (
            self.broken == other.broken
            and all(count <= faults.get(name, 0) for name, count in self.faults)
            and set(self.happened) <= set(other.happened)
        )

    @property
    def fault_count(self) -> int:
        """The number of faults that occurred."""
        return sum(count for _, count in self.faults)


def cause_of(trace: Trace) -> Cause:
    """Return the cause of the failure at the end of a trace."""
    loss = find_loss(trace)
    # Without a loss, the actions that occur in the trace, in the order of the model.
    steps = sorted(trace.steps, key=lambda step: step.action_index)
    happened = tuple(dict.fromkeys(step.action for step in steps)) if loss is None else _lost(trace, loss)
    return Cause(broken_part(trace), tuple(faults_in(trace.instance, trace.states[-1]).items()), happened)


def broken_part(trace: Trace) -> tuple[str, ...]:
    """Return the expressions that make the property false, without the values of their variables."""
    return tuple(_sources(why_broken(trace)))[1:]


def _sources(reason: Reason) -> Iterator[str]:
    yield reason.source
    for condition in reason.conditions:
        yield f"given {condition}"
    for deeper in reason.deeper:
        yield from _sources(deeper)


def _lost(trace: Trace, loss: Loss) -> tuple[str, ...]:
    if loss.removed is not None:
        happened = [f"removed by {trace.steps[loss.removed - 1].action}"]
    elif loss.admitted is not None:
        happened = [f"never there: let into the ISR by {trace.steps[loss.admitted - 1].action}"]
    else:
        happened = ["never there"]
    if loss.uncounted is not None:
        dropped = loss.uncounted.dropped
        how = "not counted" if dropped is None else f"dropped by {trace.steps[dropped - 1].action}"
        happened.append(f"pending change {how}")
    lost = f"{loss.outcome} by {trace.steps[loss.lost - 1].action}" if loss.lost else f"{loss.outcome} at once"
    return (*happened, lost)


def budget_fields(instance: Instance) -> Mapping[str, FieldLayout]:
    """Return, for each budget, the field with its remaining amount: for `crashes`, the field `crashes_left`."""
    return {
        name: layout
        for name, entry in instance.model.entries.items()
        if entry.is_budget and (layout := instance.layouts.get(f"{name}_left")) is not None and layout.count == 1
    }


def faults_in(instance: Instance, cells: Cells) -> dict[str, int]:
    """Return how much of each budget of faults was spent on the path to a state; unspent budgets are left out."""
    values = dict(instance.configuration.items())
    spent = {name: values[name] - cells[layout.offset] for name, layout in budget_fields(instance).items()}
    return {name: count for name, count in spent.items() if count}


def rarity(trace: Trace) -> Mapping[str, int]:
    """Return how many faults of each kind, elections, late messages and lost messages a trace has, without zeros."""
    counts = faults_in(trace.instance, trace.states[-1])
    if (actions := room_of(trace.instance).actions) is not None:
        counts |= actions.rare_events(trace)
        lossy = {action for action, view in actions.ACTIONS.items() if view.loses_message}
        counts["lost messages"] = sum(step.action in lossy for step in trace.steps)
    return {name: count for name, count in counts.items() if count}
