"""Turns a trace into a scene, the data for drawings: messages, and the content of each lane (column) in each state.

Kafka's models have lanes with roles, logs and messages. Any other model has lanes of text, and drawings mark what a
step changes in them. The scene of a trace of Apalache, Quint or TLC (other_tools/foreign.py) has one lane.
"""

from __future__ import annotations

from dataclasses import replace

from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.run import Cells
from isrcheck.traces.explaining.presentation import headline, room_of, steps_in_words
from isrcheck.traces.format.trace import Trace, back, heading, spell_part
from isrcheck.traces.kafka import lanes as kafka_lanes
from isrcheck.traces.kafka import scene as kafka_scene
from isrcheck.traces.kafka.lanes import shown_fields
from isrcheck.traces.lanes import generic_lanes
from isrcheck.traces.lanes.scene import Lane, Moment, Scene
from isrcheck.traces.other_tools.foreign import ForeignTrace

FOREIGN_CHARACTERS = 76
"""The maximum length in characters of a line with the value of another tool's variable."""


def scene_of(trace: Trace | ForeignTrace) -> Scene:
    """Return the scene of a trace: its lanes, messages and states as data for drawings."""
    if isinstance(trace, ForeignTrace):
        return _foreign_scene(trace)
    instance = trace.instance
    fields = shown_fields(instance)
    titles, moments = _lanes_of(trace)
    words = steps_in_words(trace)
    moments = tuple(
        replace(moment, variables=tuple(variable_parts(instance, field, cells) for field in fields), words=step_words)
        for moment, cells, step_words in zip(moments, trace.states, words, strict=False)
    )
    if trace.erring is not None:
        # An erring step has no successor: the state before the step is shown again.
        moments += (replace(moments[-1], step=trace.spell_row(trace.length), words=words[-1], arrows=(), marks=()),)
    if trace.loop is not None:
        last = moments[-1]
        end = replace(last, step=f"{last.step}, {back(trace)}", words=f"{last.words} ({back(trace)})")
        moments = (*moments[:-1], end)
    names = tuple(field.name for field in fields)
    steps = f"{trace.length} step{'s' * (trace.length != 1)}"
    caption = steps if trace.property_name is None else f"{trace.property_name}, {steps}"
    return Scene(headline(trace), caption, heading(instance), titles, names, moments, trace.loop)


def _lanes_of(trace: Trace) -> tuple[tuple[str, ...], tuple[Moment, ...]]:
    """The titles of the lanes, and for each state a `Moment` (step and state), without the values of the variables."""
    lanes = room_of(trace.instance).lanes
    if lanes is generic_lanes:
        moments = (
            Moment(trace.spell_row(position), tuple(Lane(notes=notes) for notes in columns))
            for position, columns in enumerate(generic_lanes.whole_lanes(trace))
        )
        return tuple(lanes.titles(trace.instance)), tuple(moments)
    if lanes is kafka_lanes:
        return kafka_scene.lanes_of(trace.instance).titles, kafka_scene.moments(trace)
    from isrcheck.traces.transactions import lanes as transaction_lanes  # here, because other models do not need it

    return transaction_lanes.lanes_of(trace.instance).titles, transaction_lanes.moments(trace)


def variable_parts(instance: Instance, layout: FieldLayout, cells: Cells) -> tuple[str, ...]:
    """A field as text: one line if it is printed as one value, otherwise one line per element of its first index."""
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
