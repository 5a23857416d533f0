"""Two kinds of plot as SVG: a line over levels, and labelled bars.

In:  numbers and their names. Out: `svg` elements for a page, which defines their colours (style.py).

Every mark has its value as a tooltip, and every plot has a text that describes it. Colours and strokes are attributes,
so that a plot is readable even if a server removes the style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from isrcheck.traces.drawing.markup import Content, Element, element

WIDTH, HEIGHT = 520, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 12, 40
TICKS = 5
"""The approximate number of ticks on an axis."""

BARS, BAR, LABELS = 860, 18, 330
"""The width of a bar plot, the height of a bar with its gap, and the maximum width of the names."""

LETTER = 7.3
"""The width of a letter in a plot, with a margin. A name that does not fit is cut; its tooltip is the whole name."""


@dataclass(frozen=True)
class Bar:
    """A bar: its name, its value, the part of the value that is drawn darker, the text after the bar, its CSS class."""

    name: str
    value: float
    part: float
    says: str
    kind: str = "bar"


def ticks(most: float) -> list[float]:
    """Return round numbers from 0 to the first one that is at least `most`."""
    if most <= 0:
        return [0.0, 1.0]
    rough = most / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    count = math.ceil(most / step * (1 - 1e-9))
    return [round(step * number, 10) for number in range(count + 1)]


def log_ticks(most: float) -> list[float]:
    """Return powers of ten from 1 to the first one that is at least `most`."""
    return [10.0**power for power in range(max(1, math.ceil(math.log10(max(most, 1)) * (1 - 1e-9))) + 1)]


def short(value: float) -> str:
    """Return a number in few characters, such as 950, 1.5k or 20M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def line(says: str, values: Sequence[float], *, across: str, first: int = 0, is_log: bool = False) -> Element:
    """Draw values over levels from `first` on, without 0 if logarithmic; `across` is the axis, `says` a description."""
    marks = log_ticks(max(values, default=1)) if is_log else ticks(max(values, default=1))
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    last = max(len(values) - 1, 1)

    def x(position: float) -> float:
        return round(LEFT + width * position / last, 1)

    def y(value: float) -> float:
        share = math.log10(value) / math.log10(marks[-1]) if is_log else value / marks[-1]
        return round(TOP + height * (1 - share), 1)

    body: list[Content] = []
    for mark in marks[:: max(1, math.ceil(len(marks) / 8))]:
        body.append(_rule(LEFT, y(mark), WIDTH - RIGHT, y(mark)))
        body.append(_text(short(mark), LEFT - 8, y(mark) + 4, "end"))
    for mark in dict.fromkeys(round(one) for one in ticks(last) if one <= last):
        body.append(_rule(x(mark), HEIGHT - BOTTOM, x(mark), HEIGHT - BOTTOM + 5, "axis"))
        body.append(_text(f"{first + mark}", x(mark), HEIGHT - BOTTOM + 18, "middle"))
    body.append(_rule(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "axis"))
    body.append(_text(across, LEFT + width / 2, HEIGHT - 5, "middle"))
    points = [(position, value) for position, value in enumerate(values) if value > 0 or not is_log]
    path = " ".join(f"{x(position)},{y(value)}" for position, value in points)
    body.append(element("polyline", points=path, fill="none", stroke="currentColor", stroke_width=2, class_="line"))
    for position, value in points:
        name = f"{across} {first + position}: {value:,.10g}"
        dot = element("circle", element("title", name), cx=x(position), cy=y(value), r=3, class_="dot")
        body.append(dot)
    return _svg(says, WIDTH, HEIGHT, body)


def bars(says: str, rows: Sequence[Bar]) -> Element:
    """Draw horizontal bars, each with its name on the left and its text on the right; `says` describes the plot."""
    most = max((row.value for row in rows), default=0) or 1
    left = min(LABELS, max((len(row.name) for row in rows), default=1) * LETTER + 12)
    room = max(BARS - left - max((len(row.says) for row in rows), default=1) * LETTER - 12, BAR)
    body: list[Content] = []
    for position, row in enumerate(rows):
        top = TOP + position * BAR
        length, part = (round(room * value / most, 1) for value in (row.value, row.part))
        tooltip = element("title", f"{row.name}: {row.says}")
        shown = row.name if len(row.name) * LETTER <= left else row.name[: int(left / LETTER) - 2] + "\u2026"
        parts = [
            tooltip,
            _text(shown, left - 8, top + 12, "end"),
            _bar(left, top, max(length, 1), 0.4),
            _bar(left, top, part, 1),
            _text(row.says, left + max(length, 1) + 6, top + 12, "start"),
        ]
        body.append(element("g", *parts, class_=row.kind))
    return _svg(says, BARS, TOP * 2 + BAR * len(rows), body)


def _svg(says: str, width: float, height: float, body: Sequence[Content]) -> Element:
    drawn = element("svg", *body, role="img", width=width, height=height, aria_label=says, class_="plot")
    drawn.set("viewBox", f"0 0 {width} {height}")
    return drawn


def _bar(left: float, top: float, length: float, opacity: float) -> Element:
    height = BAR - 6
    return element(
        "rect",
        x=left,
        y=top + 2,
        width=length,
        height=height,
        fill="currentColor",
        fill_opacity=opacity,
        class_="length",
    )


def _rule(x1: float, y1: float, x2: float, y2: float, kind: str = "rule") -> Element:
    opacity = 0.15 if kind == "rule" else 0.6
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke="currentColor", stroke_opacity=opacity, class_=kind)


def _text(text: str, x: float, y: float, anchor: str) -> Element:
    return element("text", text, x=round(x, 1), y=round(y, 1), text_anchor=anchor, fill="currentColor", font_size=12)
