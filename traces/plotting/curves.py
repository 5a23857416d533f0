"""The values of fields over the steps of a trace, or over a clock.

In:  a trace, the names of fields, and perhaps the action that is the clock.
Out: `Curves`: a `Curve` for each cell of a field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isrcheck.models.language.declarations import Flag
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.messages import UsageError, nearest
from isrcheck.traces.format.trace import Trace

MOST = 60
"""More curves are not drawn: a plot is to be read."""


@dataclass(frozen=True)
class Curve:
    """One cell: its name, its value in each state, and its range. A flag is either true or false."""

    name: str
    values: tuple[int, ...]
    low: int
    high: int
    is_flag: bool


@dataclass(frozen=True)
class Curves:
    """Curves over the same axis: `places` has the place of each state, `across` says what the axis counts."""

    curves: tuple[Curve, ...]
    places: tuple[int, ...]
    across: str


def curves_of(trace: Trace, fields: Sequence[str], clock: str | None = None) -> Curves:
    """Return the curves of these fields, over steps, or over how often the action `clock` was taken. Without names,
    those of all fields about the ISR. Raises UsageError for an unknown name, and if there is nothing to draw."""
    layouts = trace.instance.layouts
    for name in fields:
        if name not in layouts:
            raise UsageError(f"the model has no field {name}; {nearest(name, list(layouts))}")
    wanted = fields or [name for name in layouts if "isr" in name.split("_")]
    found = [curve for name in wanted for curve in _of_field(trace, layouts[name])]
    if not found:
        raise UsageError("the model has no field about the ISR; name the fields to plot")
    if len(found) > MOST:
        raise UsageError(f"{len(found)} curves are more than the {MOST} that can be read; name fewer fields")
    return Curves(tuple(found), *_axis(trace, clock))


def _of_field(trace: Trace, layout: FieldLayout) -> list[Curve]:
    is_flag = layout.field.values is Flag or layout.field.contents is not None
    return [
        Curve(
            " ".join([layout.name, *map(str, index)]),
            tuple(state[layout.position(index)] for state in trace.states),
            *(layout.low, layout.high, is_flag),
        )
        for index in layout.indices()
    ]


def _axis(trace: Trace, clock: str | None) -> tuple[tuple[int, ...], str]:
    if clock is None:
        return tuple(range(len(trace.states))), "step"
    actions = [one.name for one in trace.instance.model.actions]
    if clock not in actions:
        raise UsageError(f"the model has no action {clock}; {nearest(clock, actions)}")
    places = [0]
    for step in trace.steps:
        places.append(places[-1] + (step.action == clock))
    return tuple(places), clock
