"""Curves as text: a row for each, a column for each place of the axis.

In:  `Curves`.
Out: lines. A flag is a bar where it is true; of another value each change is written.
"""

from __future__ import annotations

from isrcheck.traces.plotting.curves import Curve, Curves

BAR, NONE = "#", "."


def lines_of(curves: Curves) -> list[str]:
    """Return the plot as lines; of several states at one place, the last one counts."""
    last = dict(zip(curves.places, range(len(curves.places)), strict=True))
    width = max((len(_text(one, state)) for one in curves.curves for state in last.values()), default=1)
    names = max(len(curves.across), *(len(one.name) for one in curves.curves))
    head = "".join(_mark(place).ljust(width) for place in sorted(last))
    lines = [f"{curves.across:>{names}}  {head}".rstrip()]
    for one in curves.curves:
        cells = (_text(one, last[place]).ljust(width, _fill(one, last[place])) for place in sorted(last))
        lines.append(f"{one.name:>{names}}  {''.join(cells)}".rstrip())
    return lines


def _mark(place: int) -> str:
    """Every fifth place has its number."""
    return str(place) if place % 5 == 0 else ""


def _text(curve: Curve, state: int) -> str:
    value = curve.values[state]
    if curve.is_flag:
        return BAR if value else NONE
    return str(value)


def _fill(curve: Curve, state: int) -> str:
    return (BAR if curve.values[state] else NONE) if curve.is_flag else " "
