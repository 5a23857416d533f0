"""Curves as vector graphics: below each other, over one axis.

In:  `Curves`, and a title.
Out: the text of an SVG file.
"""

from __future__ import annotations

from isrcheck.traces.drawing.markup import Content, Element, as_svg, element
from isrcheck.traces.drawing.theme import stylesheet
from isrcheck.traces.plotting.curves import Curve, Curves

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
    body.append(element("style", stylesheet("light")))
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
