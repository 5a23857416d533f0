"""A history of any model, or of another tool's, as a scene: lanes of text, with what is new in each.

In:  a trace; or a file of Apalache, Quint or TLC that foreign.py has read.
Out: lane titles and moments, as kafka_scene.py gives them for Kafka.
"""

from __future__ import annotations

from models.language.model import Instance, Place
from models.run import Cells
from traces import generic_lanes
from traces.generic_lanes import spell_part
from traces.scene import Lane, Moment
from traces.trace import Trace


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


def variable_parts(instance: Instance, place: Place, cells: Cells) -> tuple[str, ...]:
    """A field as text: whole, or element by element of what it ranges over first."""
    if not place.sizes or (len(place.sizes) == 1 and place.field.values.is_flag):
        return (spell_part(instance, place, cells),)
    return tuple(spell_part(instance, place, cells, (element,)) for element in range(place.sizes[0]))
