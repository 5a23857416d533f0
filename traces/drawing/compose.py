"""Turns a trace into a scene: with the lanes of Kafka for Kafka's model, with generic lanes for any other model.

In:  a trace.
Out: a `Scene` for drawing.py, page.py and sequence.py.
"""

from __future__ import annotations

from dataclasses import replace

from isrcheck.traces.drawing import generic_scene
from isrcheck.traces.format.lasso import back
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.kafka import scene
from isrcheck.traces.kafka.model import is_kafka, shown_fields
from isrcheck.traces.lanes.scene import Scene
from isrcheck.traces.terminal.show import heading


def scene_of(trace: Trace) -> Scene:
    """Return the scene of a trace."""
    instance = trace.instance
    fields = shown_fields(instance)
    teller = scene if is_kafka(instance) else generic_scene
    moments = tuple(
        replace(
            moment,
            variables=tuple(generic_scene.variable_parts(instance, place, cells) for place in fields),
        )
        for moment, cells in zip(teller.moments(trace), trace.states, strict=True)
    )
    if trace.erring is not None:
        # An erring step has no successor: the state before the step is shown again.
        moments += (replace(moments[-1], step=trace.spell_row(trace.length), arrows=(), marks=()),)
    if trace.loop is not None:
        moments = (*moments[:-1], replace(moments[-1], step=f"{moments[-1].step}, {back(trace)}"))
    names = tuple(one.name for one in fields)
    return Scene(_title(trace), heading(trace.instance), teller.lane_titles(trace), names, moments, trace.loop)


def _title(trace: Trace) -> str:
    name = trace.property_name or "a behaviour"
    return f"{name}, {trace.length} step{'s' * (trace.length != 1)}"
