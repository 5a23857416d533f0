"""Turns a trace into a scene: with the lanes of Kafka for Kafka's models, with lanes of text for any other model.

In:  a trace; or a trace of Apalache, Quint or TLC, read by other_tools/reading.py.
Out: a `Scene` for graphics.py, page.py and sequence.py. Lanes of text mark what a step changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.run import Cells
from isrcheck.traces.explaining.presentation import headline, is_transactions, steps_in_words
from isrcheck.traces.format.trace import Trace, back, heading, spell_part
from isrcheck.traces.kafka import scene as kafka_scene
from isrcheck.traces.kafka.lanes import is_kafka, shown_fields
from isrcheck.traces.lanes import generic_lanes
from isrcheck.traces.lanes.scene import Lane, Moment, Scene
from isrcheck.traces.other_tools.foreign import ForeignTrace

FOREIGN_CHARACTERS = 76
"""The maximum length in characters of a line with the value of another tool's variable."""


def scene_of(trace: Trace | ForeignTrace) -> Scene:
    """Return the scene of a trace."""
    if isinstance(trace, ForeignTrace):
        return _foreign_scene(trace)
    instance = trace.instance
    fields = shown_fields(instance)
    lane_titles, moments_of = _lanes_of(instance)
    words = steps_in_words(trace)
    moments = tuple(
        replace(moment, variables=tuple(variable_parts(instance, field, cells) for field in fields), words=step_words)
        for moment, cells, step_words in zip(moments_of(trace), trace.states, words, strict=False)
    )
    if trace.erring is not None:
        # An erring step has no successor: the state before the step is shown again.
        moments += (replace(moments[-1], step=trace.spell_row(trace.length), words=words[-1], arrows=(), marks=()),)
    if trace.loop is not None:
        last = moments[-1]
        end = replace(last, step=f"{last.step}, {back(trace)}", words=f"{last.words} ({back(trace)})")
        moments = (*moments[:-1], end)
    names = tuple(field.name for field in fields)
    return Scene(headline(trace), _caption(trace), heading(instance), lane_titles(trace), names, moments, trace.loop)


def _lanes_of(
    instance: Instance,
) -> tuple[Callable[[Trace], tuple[str, ...]], Callable[[Trace], tuple[Moment, ...]]]:
    """Return the functions that make the titles of the lanes and the moments of a trace of this model."""
    if is_transactions(instance):
        from isrcheck.traces.transactions import lanes as scene

        return scene.lane_titles, scene.moments
    if is_kafka(instance):
        return kafka_scene.lane_titles, kafka_scene.moments
    return lambda trace: tuple(generic_lanes.titles(trace.instance)), _moments


def _moments(trace: Trace) -> tuple[Moment, ...]:
    """One moment per state, in lanes of text."""
    return tuple(
        Moment(trace.spell_row(position), tuple(Lane(notes=notes) for notes in lanes))
        for position, lanes in enumerate(generic_lanes.whole_lanes(trace))
    )


def _caption(trace: Trace) -> str:
    """The property, and how many steps break it or show it."""
    steps = f"{trace.length} step{'s' * (trace.length != 1)}"
    return steps if trace.property_name is None else f"{trace.property_name}, {steps}"


def variable_parts(instance: Instance, layout: FieldLayout, cells: Cells) -> tuple[str, ...]:
    """A field as text: one line for the whole field, or one per element of its first index."""
    if generic_lanes.is_one_value(layout):
        return (spell_part(instance, layout, cells),)
    return tuple(spell_part(instance, layout, cells, (element,)) for element in range(layout.sizes[0]))


def _foreign_scene(foreign: ForeignTrace) -> Scene:
    """The scene of another tool's trace: one lane that lists every variable."""
    moments = []
    for position, (action, state) in enumerate(zip(foreign.actions, foreign.states, strict=True)):
        step = action or ("initially" if position == 0 else "(no action named)")
        notes = tuple(f"{name} = {state[name]}" for name in foreign.variables if name in state)
        lane = Lane(notes=notes, characters=FOREIGN_CHARACTERS)
        values = tuple((state.get(name, ""),) for name in foreign.variables)
        moments.append(Moment(step, (lane,), variables=values, words=step))
    last = len(moments) - 1
    subtitle = foreign.source
    if foreign.loop is not None:
        by = f" by {foreign.back}" if foreign.back else ""
        subtitle += f"; after state {last} it continues with state {foreign.loop}{by}"
    title = f"A trace of {last} step{'s' * (last != 1)}"
    return Scene(title, "", subtitle, ("state",), foreign.variables, tuple(moments))
