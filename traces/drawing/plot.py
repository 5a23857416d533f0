"""Plots fields, as text and as SVG, over the steps of a trace or over the number of times that an action was taken.

The text has a row for each element of a field, such as `leader_epoch 1`, and a column for each number on the axis. The
SVG file has one curve for each element; the curves are below each other, and share one axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

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
    """The curve of one element of a field: its name, its value in each state, its range, and whether it is a flag."""

    name: str
    values: tuple[int, ...]
    low: int
    high: int
    is_flag: bool


@dataclass(frozen=True)
class Curves:
    """Curves over the same axis: `places` has each state's number on the axis, `across` names what the axis counts."""

    curves: tuple[Curve, ...]
    places: tuple[int, ...]
    across: str


def curves_of(trace: Trace, fields: Sequence[str], clock: str | None = None) -> Curves:
    """Return the curves of these fields (if `fields` is empty: of all fields about the ISR) over the steps, or over the
    number of times that the action `clock` was taken. Raises UsageError for an unknown name, no curves or too many."""
    layouts = trace.instance.layouts
    for name in fields:
        if name not in layouts:
            raise UsageError(f"the model has no field {name}; {nearest(name, list(layouts))}")
    names = fields or [name for name in layouts if "isr" in name.split("_")]
    curves = tuple(_curve(trace, layouts[name], index) for name in names for index in layouts[name].indices())
    if not curves:
        raise UsageError("the model has no field about the ISR; name the fields to plot")
    if len(curves) > MOST:
        raise UsageError(f"{len(curves)} curves are more than the {MOST} that can be read; name fewer fields")
    return Curves(curves, *_axis(trace, clock))


def _curve(trace: Trace, layout: FieldLayout, index: tuple[int, ...]) -> Curve:
    values = tuple(state[layout.position(index)] for state in trace.states)
    is_flag = layout.field.values is Flag or layout.field.contents is not None
    return Curve(" ".join([layout.name, *map(str, index)]), values, layout.low, layout.high, is_flag)


def _axis(trace: Trace, clock: str | None) -> tuple[tuple[int, ...], str]:
    if clock is None:
        return tuple(range(len(trace.states))), "step"
    actions = [action.name for action in trace.instance.model.actions]
    if clock not in actions:
        raise UsageError(f"the model has no action {clock}; {nearest(clock, actions)}")
    return tuple(accumulate((step.action == clock for step in trace.steps), initial=0)), clock


# ----------------------------------------------------------------------------------------------------------------- text

BAR, NONE = "#", "."


def lines_of(curves: Curves) -> list[str]:
    """Return the plot as lines of text. If several states have the same number on the axis, the last one is shown."""
    last = {place: state for state, place in enumerate(curves.places)}
    width = max(len(_text(curve, state)) for curve in curves.curves for state in last.values())
    names = max(len(curves.across), *(len(curve.name) for curve in curves.curves))
    head = "".join((str(place) if place % 5 == 0 else "").ljust(width) for place in last)
    lines = [f"{curves.across:>{names}}  {head}".rstrip()]
    for curve in curves.curves:
        texts = (_text(curve, state) for state in last.values())
        cells = "".join(text.ljust(width, text if curve.is_flag else " ") for text in texts)
        lines.append(f"{curve.name:>{names}}  {cells}".rstrip())
    return lines


def _text(curve: Curve, state: int) -> str:
    return (BAR if curve.values[state] else NONE) if curve.is_flag else str(curve.values[state])


# ------------------------------------------------------------------------------------------------------------- graphics

LETTER, ROW, TALL, GAP, TOP, WIDTH, MARGIN = 8.0, 18.0, 54.0, 8.0, 56.0, 720.0, 16.0
"""Sizes in units of the drawing: a letter, the row of a flag, the row of a number, the gap below each row, the room for
the title, the axis, and the margin."""

TICKS = 12
"""The most numbers on the axis."""


def svg_of(curves: Curves, title: str) -> str:
    """Return the plot as SVG."""
    left = MARGIN + max(len(curve.name) for curve in curves.curves) * LETTER + LETTER
    most = max(curves.places)
    unit = WIDTH / (most + 1)
    top = TOP
    rows: list[Content] = []
    for curve in curves.curves:
        rows.append(_row(curve, curves.places, left, top, unit))
        top += (ROW if curve.is_flag else TALL) + GAP
    for place in range(0, most + 1, max(1, -(-most // TICKS))):
        x = left + place * unit
        rows.append(element("line", x1=x, y1=TOP - GAP, x2=x, y2=top, class_="life"))
        rows.append(element("text", str(place), x=x, y=top + ROW, text_anchor="middle", class_="number"))
    width, height = left + WIDTH + 2 * MARGIN, top + 2 * ROW + MARGIN
    drawn = element(
        "svg",
        element("title", title),
        element("desc", f"Values over {curves.across}."),
        element("style", STYLE),
        element("rect", width=width, height=height, class_="paper"),
        element("text", title, x=MARGIN, y=28, class_="headline"),
        *rows,
        element("text", curves.across, x=left + WIDTH / 2, y=top + 2 * ROW, text_anchor="middle", class_="step"),
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        role="img",
        viewBox=f"0 0 {width:g} {height:g}",
    )
    return as_svg(drawn)


def _row(curve: Curve, places: tuple[int, ...], left: float, top: float, unit: float) -> Element:
    """Draw one curve: a flag as a bar wherever it is true, a number as a line that goes up and down in steps."""
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
