"""A trace of any model as a table: one column per element of the most frequent index domain, one for all other fields.

In:  a trace.
Out: titles and rows for table.py; for --full, every field of a state.

The first row shows every field, each later row only the fields that changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from isrcheck.models.language.declarations import Domain
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout, spell_element
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import Trace, spell_part
from isrcheck.traces.lanes.table import StepRow

MOST_STACKED = 0
"""The table has one layout."""


def lane_domain(instance: Instance) -> type[Domain] | None:
    """Return the domain whose elements get columns: the first index of most fields; on a tie, the first declared."""
    first = Counter(layout.field.own[0] for layout in instance.layouts.values() if layout.field.own)
    return first.most_common(1)[0][0] if first else None


def titles(instance: Instance) -> list[str]:
    """Return the titles of the columns after the step."""
    domain = lane_domain(instance)
    shared = ["global"] if _shared(instance, domain) else []
    if domain is None:
        return shared
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", domain.__name__).lower()  # ResourceManager becomes `resource manager`
    return [*(f"{words} {name}" for name in _elements(instance, domain)), *shared]


def _elements(instance: Instance, domain: type[Domain]) -> list[str]:
    size = next(
        layout.sizes[0] for layout in instance.layouts.values() if layout.field.own and layout.field.own[0] is domain
    )
    return [spell_element(element) if domain.letters else str(element) for element in range(size)]


def _in_lanes(instance: Instance, domain: type[Domain] | None) -> list[FieldLayout]:
    return [layout for layout in instance.layouts.values() if layout.field.own and layout.field.own[0] is domain]


def _shared(instance: Instance, domain: type[Domain] | None) -> list[FieldLayout]:
    lanes = _in_lanes(instance, domain)
    return [layout for layout in instance.layouts.values() if layout not in lanes]


def rows(trace: Trace, _stacked: int = 0) -> list[StepRow]:
    """Return one row per state; unchanged columns are empty."""
    instance = trace.instance
    domain = lane_domain(instance)
    lanes, shared = _in_lanes(instance, domain), _shared(instance, domain)
    width = 0 if domain is None else len(_elements(instance, domain))
    found = []
    before: Cells | None = None
    for position, cells in enumerate(trace.states):
        columns = [
            tuple(
                f"{layout.name} {part}"
                for layout in lanes
                if (part := _news(instance, layout, before, cells, (element,)))
            )
            for element in range(width)
        ]
        if shared:
            columns.append(tuple(line for layout in shared for line in _shared_news(instance, layout, before, cells)))
        step = trace.spell_row(position)
        found.append(StepRow(position, step, tuple(columns)))
        before = cells
    return found


def legend(_trace: Trace) -> list[str]:
    """Return the meanings of signs; these lanes have none."""
    return []


def whole_lanes(trace: Trace) -> list[tuple[tuple[str, ...], ...]]:
    """Return, for each state and each of its columns, one line of text for every field in that column."""
    instance = trace.instance
    domain = lane_domain(instance)
    lanes, shared = _in_lanes(instance, domain), _shared(instance, domain)
    width = 0 if domain is None else len(_elements(instance, domain))
    found = []
    for cells in trace.states:
        columns = [
            tuple(f"{layout.name} {spell_part(instance, layout, cells, (element,))}" for layout in lanes)
            for element in range(width)
        ]
        if shared:
            columns.append(tuple(f"{layout.name} {spell_part(instance, layout, cells)}" for layout in shared))
        found.append(tuple(columns))
    return found


def _news(
    instance: Instance, layout: FieldLayout, before: Cells | None, cells: Cells, index: tuple[int, ...]
) -> str | None:
    """The text of a field, or of its element at `index`; None if it is the same in the state `before`."""
    part = spell_part(instance, layout, cells, index)
    return None if before is not None and spell_part(instance, layout, before, index) == part else part


def _shared_news(instance: Instance, layout: FieldLayout, before: Cells | None, cells: Cells) -> list[str]:
    """The changes of a field that belongs to no lane. The first row, a single cell and a set are shown as a whole; of
    other fields, only the changed elements are shown."""
    if before is None or is_one_value(layout):
        part = _news(instance, layout, before, cells, ())
        return [] if part is None else [f"{layout.name} {part}"]
    letters = layout.field.over[0].letters
    return [
        f"{layout.name}[{spell_element(element) if letters else element}] {part}"
        for element in range(layout.sizes[0])
        if (part := _news(instance, layout, before, cells, (element,)))
    ]


def is_one_value(layout: FieldLayout) -> bool:
    """Whether a field is printed as one value: a single cell, a set, or a row of truth values."""
    return not layout.field.own or (len(layout.sizes) == 1 and layout.field.values.is_flag)


def full_state(instance: Instance, cells: Cells, layouts: Iterable[FieldLayout] | None = None) -> list[str]:
    """Return these fields of a state (None: all), one per line."""
    shown = instance.layouts.values() if layouts is None else layouts
    told = [(layout.name, spell_part(instance, layout, cells)) for layout in shown]
    width = max(len(name) for name, _ in told)
    return [f"{name:<{width}}  {text}" for name, text in told]
