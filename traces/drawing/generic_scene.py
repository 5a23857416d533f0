"""A history of any model, or of another tool's, as a scene: lanes of text, with what is new in each.

In:  a trace; or a file of Apalache, Quint or TLC that foreign.py has read.
Out: lane titles and moments, as kafka_scene.py gives them for Kafka; of another tool's, the whole scene.
"""

from __future__ import annotations

from collections.abc import Mapping

from isrcheck.models.language.model import FieldLayout, Instance
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.lanes import generic_lanes
from isrcheck.traces.lanes.generic_lanes import spell_part
from isrcheck.traces.lanes.scene import Lane, Moment, Scene
from isrcheck.traces.other_tools.reading import Foreign

FOREIGN_CHARACTERS = 76
"""In a line of what another tool's variables hold."""


def lane_titles(trace: Trace) -> tuple[str, ...]:
    """One column for each element of the domain that most fields range over, one for what there is once."""
    return tuple(generic_lanes.titles(trace.instance))


def moments(trace: Trace) -> tuple[Moment, ...]:
    """One moment for every state, without its variables."""
    contents = generic_lanes.whole_lanes(trace)
    return tuple(
        Moment(trace.spell_row(position), tuple(Lane(notes=notes) for notes in lanes))
        for position, lanes in enumerate(contents)
    )


def foreign_scene(foreign: Foreign) -> Scene:
    """The scene of a trace of another tool: one lane, in which every variable has its lines."""
    moments = tuple(
        Moment(
            action or ("initially" if position == 0 else "(no action named)"),
            (_foreign_lane(foreign, state),),
            variables=tuple((state.get(name, ""),) for name in foreign.variables),
        )
        for position, (action, state) in enumerate(zip(foreign.actions, foreign.states, strict=True))
    )
    last = len(moments) - 1
    subtitle = foreign.source
    if foreign.loop is not None:
        by = f" by {foreign.back}" if foreign.back else ""
        subtitle += f"; after state {last} it goes on with state {foreign.loop}{by}"
    return Scene(f"a trace of {last} step{'s' * (last != 1)}", subtitle, ("state",), foreign.variables, moments)


def _foreign_lane(foreign: Foreign, state: Mapping[str, str]) -> Lane:
    notes = tuple(f"{name} = {state[name]}" for name in foreign.variables if name in state)
    return Lane(notes=notes, characters=FOREIGN_CHARACTERS)


def variable_parts(instance: Instance, layout: FieldLayout, cells: Cells) -> tuple[str, ...]:
    """A field as text: whole, or element by element of what it ranges over first."""
    if not layout.sizes or (len(layout.sizes) == 1 and layout.field.values.is_flag):
        return (spell_part(instance, layout, cells),)
    return tuple(spell_part(instance, layout, cells, (element,)) for element in range(layout.sizes[0]))
