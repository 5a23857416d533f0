"""Prints a trace of another tool: one row per step, with the variables that changed.

In:  a ForeignTrace.
Out: lines for a terminal or a pipe.
"""

from __future__ import annotations

import textwrap
from itertools import zip_longest

from isrcheck.models.messages import UsageError
from isrcheck.traces.lanes.table import GAP, UNCHANGED, WIDTH
from isrcheck.traces.lanes.wrapping import lines_of
from isrcheck.traces.other_tools.reading import ForeignTrace

NARROWEST = 10
"""The narrowest cell, in characters."""

MOST_STEP = 40
"""The width of the step's column; longer texts continue on the next line."""


def view(foreign: ForeignTrace, full: bool = False, step: int | None = None, width: int = WIDTH) -> list[str]:
    """Return the steps with their changes; `full`: every variable of every state; `step`: the variables of one state.

    Raises UsageError if there is no such step.
    """
    last = len(foreign.states) - 1
    if step is not None and not -last - 1 <= step <= last:
        raise UsageError(f"--step {step}: the trace has the steps 0..{last}")
    heading = textwrap.wrap(f"{foreign.source}, {last} steps", max(width, NARROWEST))
    if step is not None:
        body = _state(foreign, step % (last + 1), width)
    elif full:
        body = [line for position in range(last + 1) for line in _state(foreign, position, width)]
    else:
        body = _table(foreign, width)
    return [*heading, "", *body, *_loop(foreign)]


def _table(foreign: ForeignTrace, width: int) -> list[str]:
    """The table: numbers, steps and changes in three columns; every cell may continue on the next line."""
    positions = range(len(foreign.states))
    digits = len(str(len(foreign.states) - 1))
    steps = [_lines(step_of(foreign, position), min(MOST_STEP, width // 3)) for position in positions]
    column = max(len(line) for step in steps for line in step)
    room = width - digits - column - 3 * len(GAP)
    changes = [
        [line for name in changed(foreign, position) for line in _lines(_value(foreign, position, name), room)]
        for position in positions
    ]
    table = [(["#"], ["step"], ["changes"])]
    table += [([str(i)], steps[i], changes[i] or [UNCHANGED]) for i in positions]
    return [
        f"{GAP}{number:>{digits}}{GAP}{step:<{column}}{GAP}{change}".rstrip()
        for row in table
        for number, step, change in zip_longest(*row, fillvalue="")
    ]


def step_of(foreign: ForeignTrace, position: int) -> str:
    """Return the name of the step that led to a state, as far as it is known."""
    return foreign.actions[position] or ("a step" if position else "initially")


def changed(foreign: ForeignTrace, position: int) -> list[str]:
    """Return the variables that a step changed; all of them in the first state."""
    before = foreign.states[position - 1] if position else {}
    now = foreign.states[position]
    return [name for name in foreign.variables if now.get(name) != before.get(name)]


def _value(foreign: ForeignTrace, position: int, name: str) -> str:
    return f"{name} = {foreign.states[position].get(name, '(no value)')}"


def _state(foreign: ForeignTrace, position: int, width: int) -> list[str]:
    """The lines of one state: every variable, with its previous value if the step changed it."""
    found = _lines(f"{position}  {step_of(foreign, position)}", width - len(GAP))
    news = changed(foreign, position) if position else []
    for name in foreign.variables:
        was = f"  (was {foreign.states[position - 1].get(name, 'without a value')})" if name in news else ""
        found += [f"   {line}" for line in _lines(_value(foreign, position, name) + was, width - len(GAP) - 3)]
    return [f"{GAP}{line}" for line in found]


def _loop(foreign: ForeignTrace) -> list[str]:
    if foreign.loop is None:
        return []
    by = f" by {foreign.back}" if foreign.back else ""
    return ["", f"loop: after step {len(foreign.states) - 1} it continues with state {foreign.loop}{by}"]


def _lines(text: str, width: int) -> list[str]:
    return lines_of(text, max(width, NARROWEST), "  ", break_on_hyphens=False) or [""]
