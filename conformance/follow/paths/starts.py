"""The states in which a recording can begin: initial states whose logs are empty, and whose ISR has replicas only.

In:  an `Instance` with start=any.
Out: the same instance, which has only these initial states.

The model's initial states are far more: with start=any their number grows with the third power of the records, because
logs may hold any of them. Enumerating them to choose a dozen took minutes and gigabytes for a hundred records. While
all logs are empty, no offset differs from another, and no record from another. So the states are those of the same
configuration with one record and one offset, whose cells stand for all records and offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from isrcheck.models.language.model import Configuration, Instance
from isrcheck.models.language.states import Cells, Enumeration, FieldLayout
from isrcheck.models.run import State

ONE_OF_EACH = {"records": 1, "log_size": 1}


def begin_empty(instance: Instance) -> Instance:
    """Keep only the initial states with empty logs, in the model's order, and return the instance."""
    if not instance.is_enumerated:
        enumeration = Enumeration(instance.model.place_of_start, instance.layouts)
        instance.start_from(enumeration.cells_of(_empty_clusters(instance), lambda count, size: None))
    return instance


def _empty_clusters(instance: Instance) -> Iterator[Cells]:
    small = replace(instance, configuration=Configuration(dict(instance.configuration.items()) | ONE_OF_EACH))
    places = [place for name, layout in instance.layouts.items() for place in _places(layout, small.layouts[name])]
    for cells in small.initial_states:
        s = State(small, cells)
        has_stranger = s.reassignments > 0 and any(s.controller_isr[r] > s.is_assigned[r] for r in range(s.replicas))
        if not has_stranger and not any(s.log_end_offset[r] for r in range(s.replicas)):
            yield tuple(cells[place] for place in places)


def _places(layout: FieldLayout, small: FieldLayout) -> Iterator[int]:
    """For each cell of a field, the cell of the small instance that stands for it."""
    for index in layout.indices():
        yield small.position([min(one, size - 1) for one, size in zip(index, small.sizes, strict=True)])
