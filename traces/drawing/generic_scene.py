"""A trace of any model, or of another tool, as a scene: lanes of text in which changes are marked.

In:  a trace; or a file of Apalache, Quint or TLC, read by other_tools/foreign.py.
Out: lane titles and moments, as in kafka/scene.py; for a trace of another tool, the whole scene.
"""

from __future__ import annotations

from collections.abc import Mapping

from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import Trace, spell_part
from isrcheck.traces.lanes import generic_lanes
from isrcheck.traces.lanes.scene import Lane, Moment, Scene
from isrcheck.traces.other_tools.foreign import ForeignTrace

FOREIGN_CHARACTERS = 76
"""The maximum length in characters of a line with the value of another tool's variable."""


def lane_titles(trace: Trace) -> tuple[str, ...]:
    """The titles: one lane per element of the most frequent index domain, and one lane for all other fields."""
    return tuple(generic_lanes.titles(trace.instance))


def moments(trace: Trace) -> tuple[Moment, ...]:
    """One moment per state, without the values of the variables."""
    contents = generic_lanes.whole_lanes(trace)
    return tuple(
        Moment(trace.spell_row(position), tuple(Lane(notes=notes) for notes in lanes))
        for position, lanes in enumerate(contents)
    )


def foreign_scene(foreign: ForeignTrace) -> Scene:
    """The scene of another tool's trace: one lane that lists every variable."""
    moments = tuple(
        Moment(
            step := action or ("initially" if position == 0 else "(no action named)"),
            (_foreign_lane(foreign, state),),
            variables=tuple((state.get(name, ""),) for name in foreign.variables),
            words=step,
        )
        for position, (action, state) in enumerate(zip(foreign.actions, foreign.states, strict=True))
    )
    last = len(moments) - 1
    subtitle = foreign.source
    if foreign.loop is not None:
        by = f" by {foreign.back}" if foreign.back else ""
        subtitle += f"; after state {last} it continues with state {foreign.loop}{by}"
    title = f"A trace of {last} step{'s' * (last != 1)}"
    return Scene(title, "", subtitle, ("state",), foreign.variables, moments)


def _foreign_lane(foreign: ForeignTrace, state: Mapping[str, str]) -> Lane:
    notes = tuple(f"{name} = {state[name]}" for name in foreign.variables if name in state)
    return Lane(notes=notes, characters=FOREIGN_CHARACTERS)


def variable_parts(instance: Instance, layout: FieldLayout, cells: Cells) -> tuple[str, ...]:
    """A field as text: one line for the whole field, or one per element of its first index."""
    if generic_lanes.is_one_value(layout):
        return (spell_part(instance, layout, cells),)
    return tuple(spell_part(instance, layout, cells, (element,)) for element in range(layout.sizes[0]))
