"""Plots of fields over the steps of a trace, or over a clock: as text, and as vector graphics.

In:  a trace, the names of fields, and perhaps the action that is the clock.
Out: `Curves`, a `Curve` for each cell of a field; lines with a row for each curve and a column for each place of the
     axis; the text of an SVG file, with the curves below each other over one axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isrcheck.models.language.declarations import Flag
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.messages import UsageError, nearest
from isrcheck.traces.drawing.graphics import STYLE
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.pages.markup import Content, Element, as_svg, element

MOST = 60
"""The most curves that are drawn, so that a plot is readable."""


@dataclass(frozen=True)
class Curve:
    """One cell: its name, its value in each state, and its range. A flag is either true or false."""

    name: str
    values: tuple[int, ...]
    low: int
    high: int
    is_flag: bool


@dataclass(frozen=True)
class Curves:
    """Curves over the same axis: `places` has the place of each state, `across` says what the axis counts."""

    curves: tuple[Curve, ...]
    places: tuple[int, ...]
    across: str


def curves_of(trace: Trace, fields: Sequence[str], clock: str | None = None) -> Curves:
    """Return the curves of these fields, over steps, or over how often the action `clock` was taken. Without names,
    those of all fields about the ISR. Raises UsageError for an unknown name, and if there is nothing to draw."""
    layouts = trace.instance.layouts
    for name in fields:
        if name not in layouts:
            raise UsageError(f"the model has no field {name}; {nearest(name, list(layouts))}")
    wanted = fields or [name for name in layouts if "isr" in name.split("_")]
    found = [curve for name in wanted for curve in _of_field(trace, layouts[name])]
    if not found:
        raise UsageError("the model has no field about the ISR; name the fields to plot")
    if len(found) > MOST:
        raise UsageError(f"{len(found)} curves are more than the {MOST} that can be read; name fewer fields")
    return Curves(tuple(found), *_axis(trace, clock))


def _of_field(trace: Trace, layout: FieldLayout) -> list[Curve]:
    is_flag = layout.field.values is Flag or layout.field.contents is not None
    return [
        Curve(
            " ".join([layout.name, *map(str, index)]),
            tuple(state[layout.position(index)] for state in trace.states),
            layout.low,
            layout.high,
            is_flag,
        )
        for index in layout.indices()
    ]


def _axis(trace: Trace, clock: str | None) -> tuple[tuple[int, ...], str]:
    if clock is None:
        return tuple(range(len(trace.states))), "step"
    actions = [one.name for one in trace.instance.model.actions]
    if clock not in actions:
        raise UsageError(f"the model has no action {clock}; {nearest(clock, actions)}")
    places = [0]
    for step in trace.steps:
        places.append(places[-1] + (step.action == clock))
    return tuple(places), clock


# ----------------------------------------------------------------------------------------------------------------- text

BAR, NONE = "#", "."


def lines_of(curves: Curves) -> list[str]:
    """Return the plot as lines; of several states at one place, the last state counts."""
    last = dict(zip(curves.places, range(len(curves.places)), strict=True))
    width = max((len(_text(one, state)) for one in curves.curves for state in last.values()), default=1)
    names = max(len(curves.across), *(len(one.name) for one in curves.curves))
    head = "".join((str(place) if place % 5 == 0 else "").ljust(width) for place in sorted(last))
    lines = [f"{curves.across:>{names}}  {head}".rstrip()]
    for one in curves.curves:
        texts = (_text(one, last[place]) for place in sorted(last))
        cells = "".join(text.ljust(width, text if one.is_flag else " ") for text in texts)
        lines.append(f"{one.name:>{names}}  {cells}".rstrip())
    return lines


def _text(curve: Curve, state: int) -> str:
    value = curve.values[state]
    if curve.is_flag:
        return BAR if value else NONE
    return str(value)


# ------------------------------------------------------------------------------------------------------------- graphics

LETTER, ROW, TALL, GAP, TOP, WIDTH, MARGIN = 8.0, 18.0, 54.0, 8.0, 56.0, 720.0, 16.0
"""Sizes in units of the drawing: a letter, a row of a flag, one of a number, the gap below each, the room for the
title, the axis, and the margin."""

TICKS = 12
"""The most numbers on the axis."""


def svg_of(curves: Curves, title: str) -> str:
    """Return the plot as SVG."""
    left = MARGIN + max(len(one.name) for one in curves.curves) * LETTER + LETTER
    most = max(curves.places)
    unit = WIDTH / (most + 1)
    body: list[Content] = [element("title", title), element("desc", f"Values over {curves.across}.")]
    body.append(element("style", STYLE))
    top = TOP
    rows: list[Content] = []
    for curve in curves.curves:
        height = ROW if curve.is_flag else TALL
        rows.append(_row(curve, curves.places, left, top, unit))
        top += height + GAP
    step = max(1, -(-most // TICKS))
    for place in range(0, most + 1, step):
        x = left + place * unit
        rows.append(element("line", x1=x, y1=TOP - GAP, x2=x, y2=top, class_="life"))
        rows.append(element("text", str(place), x=x, y=top + ROW, text_anchor="middle", class_="number"))
    width, height = left + WIDTH + 2 * MARGIN, top + 2 * ROW + MARGIN
    body.append(element("rect", width=width, height=height, class_="paper"))
    body.append(element("text", title, x=MARGIN, y=28, class_="headline"))
    body += rows
    body.append(
        element("text", curves.across, x=left + WIDTH / 2, y=top + 2 * ROW, text_anchor="middle", class_="step")
    )
    drawn = element("svg", *body, xmlns="http://www.w3.org/2000/svg", width=width, height=height, role="img")
    drawn.set("viewBox", f"0 0 {width:g} {height:g}")
    return as_svg(drawn)


def _row(curve: Curve, places: tuple[int, ...], left: float, top: float, unit: float) -> Element:
    """A flag as bars where it is true, a number as a line that goes up and down in steps."""
    name = element("text", curve.name, x=left - LETTER, y=top + ROW - 5, text_anchor="end")
    ends = [*places[1:], places[-1] + 1]
    if curve.is_flag:
        bars = [
            element("rect", x=left + begin * unit, y=top, width=(end - begin) * unit, height=ROW, class_="cell e2")
            for begin, end, value in zip(places, ends, curve.values, strict=True)
            if value and end > begin
        ]
        return element("g", name, *bars)
    span = curve.high - curve.low or 1
    points = [
        f"{left + x * unit:.1f},{top + TALL - (value - curve.low) * TALL / span:.1f}"
        for begin, end, value in zip(places, ends, curve.values, strict=True)
        for x in (begin, end)
    ]
    line = element("polyline", points=" ".join(points), fill="none", class_="hw")
    ranges = [
        element("text", str(curve.high), x=left + WIDTH + 4, y=top + 10, class_="number"),
        element("text", str(curve.low), x=left + WIDTH + 4, y=top + TALL, class_="number"),
    ]
    return element("g", name, line, *ranges)
