"""A trace of any model as a table: one column for each element of a domain, such as each broker, and one for the rest.

The domain is the one by which most fields are indexed first. The first row shows every field, later rows only changes.
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
    """Return the titles of the columns to the right of the steps."""
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


def _shared(instance: Instance, domain: type[Domain] | None) -> list[FieldLayout]:
    return [layout for layout in instance.layouts.values() if not (layout.field.own and layout.field.own[0] is domain)]


def _columns(instance: Instance) -> list[list[tuple[FieldLayout, tuple[int, ...]]]]:
    """The fields of each column, each with the index of the column's element; in the last column, with the index ()."""
    domain = lane_domain(instance)
    shared = _shared(instance, domain)
    lanes = [layout for layout in instance.layouts.values() if layout not in shared]
    elements = range(0 if domain is None else len(_elements(instance, domain)))
    columns: list[list[tuple[FieldLayout, tuple[int, ...]]]]
    columns = [[(layout, (element,)) for layout in lanes] for element in elements]
    return [*columns, [(layout, ()) for layout in shared]] if shared else columns


def rows(trace: Trace, _stacked: int = 0) -> list[StepRow]:
    """Return one row per state; unchanged columns are empty."""
    columns, states = _columns(trace.instance), trace.states
    step_rows = []
    for position, (before, cells) in enumerate(zip((None, *states), states, strict=False)):
        news = (
            tuple(line for layout, index in column for line in _news(trace.instance, layout, index, before, cells))
            for column in columns
        )
        step_rows.append(StepRow(position, trace.spell_row(position), tuple(news)))
    return step_rows


def legend(_trace: Trace) -> list[str]:
    """Return the meanings of signs; these lanes have none."""
    return []


def whole_lanes(trace: Trace) -> list[tuple[tuple[str, ...], ...]]:
    """Return, for each state and each of its columns, one line of text for every field in that column."""
    instance, columns = trace.instance, _columns(trace.instance)
    return [
        tuple(
            tuple(f"{layout.name} {spell_part(instance, layout, cells, index)}" for layout, index in column)
            for column in columns
        )
        for cells in trace.states
    ]


def _news(
    instance: Instance, layout: FieldLayout, index: tuple[int, ...], before: Cells | None, cells: Cells
) -> list[str]:
    """The lines for a field, or for its element at `index`, if it has changed or the row is the first. A whole field
    with several elements gets one line per changed element, but in the first row a single line."""
    name, indices = layout.name, {layout.name: index}
    if before is not None and not index and not is_one_value(layout):
        letters = layout.field.over[0].letters
        numbers = range(layout.sizes[0])
        indices = {f"{name}[{spell_element(number) if letters else number}]": (number,) for number in numbers}
    texts = {name: spell_part(instance, layout, cells, place) for name, place in indices.items()}
    return [
        f"{name} {text}"
        for name, text in texts.items()
        if before is None or spell_part(instance, layout, before, indices[name]) != text
    ]


def is_one_value(layout: FieldLayout) -> bool:
    """Whether a field is printed as one value: a single cell, a set, or a row of truth values."""
    return not layout.field.own or (len(layout.sizes) == 1 and layout.field.values.is_flag)


def full_state(instance: Instance, cells: Cells, layouts: Iterable[FieldLayout]) -> list[str]:
    """Return the given fields of a state, one per line."""
    texts = [(layout.name, spell_part(instance, layout, cells)) for layout in layouts]
    width = max(len(name) for name, _ in texts)
    return [f"{name:<{width}}  {text}" for name, text in texts]
