"""Draws a scene as vector graphics: lanes side by side, time downwards.

In:  a `Scene`.
Out: SVG files (`step_svg`, `ladder_svg`); lengths in pixels.

Identical lane contents are drawn once and reused, so that the graphics of a long trace stay small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from isrcheck.traces.drawing.lane_drawing import GLYPH, PAD, Box, Fragment, changed_boxes, draw_lane, removed_boxes
from isrcheck.traces.drawing.markup import Element, as_svg, element, group
from isrcheck.traces.drawing.theme import stylesheet
from isrcheck.traces.lanes.scene import LOST, Arrow, Lane, Mark, Moment, Scene
from isrcheck.traces.lanes.table import lines_of

LABEL_CHARACTERS = 30
"""The width of the column of step names, in characters."""

LABEL_LEFT = 38.0
LABEL_WIDTH = LABEL_CHARACTERS * GLYPH + PAD + LABEL_LEFT
EVENT_HEIGHT = 26.0
LINE_HEIGHT = 17.0
TITLE_HEIGHT = 30.0
LANE_GAP = 14.0


@dataclass(frozen=True)
class Column:
    """The position of a lane."""

    left: float
    width: float

    @property
    def center(self) -> float:
        """The horizontal position of the lane's lifeline."""
        return self.left + self.width / 2


class Drawing:
    """The layout of a scene: the fragments that occur in it, and the position of every element."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._fragments: dict[Lane, Fragment] = {}
        for moment in scene.moments:
            for lane in moment.lanes:
                if lane not in self._fragments:
                    self._fragments[lane] = draw_lane(lane)
        self._names = {lane: f"lane-{number}" for number, lane in enumerate(self._fragments)}

    @cached_property
    def columns(self) -> list[Column]:
        """One column per lane, as wide as the widest fragment in it."""
        found = []
        left = LABEL_WIDTH
        for position, title in enumerate(self.scene.lanes):
            widths = [self._fragments[moment.lanes[position]].width for moment in self.scene.moments]
            width = max(*widths, len(title) * GLYPH + 2 * PAD)
            found.append(Column(left, width))
            left += width + LANE_GAP
        return found

    @property
    def width(self) -> float:
        """The width of the whole drawing."""
        return self.columns[-1].left + self.columns[-1].width + PAD if self.columns else LABEL_WIDTH

    def fragment(self, position: int, lane: int) -> Fragment:
        """The fragment that a lane shows after a step."""
        return self._fragments[self.scene.moments[position].lanes[lane]]

    def name(self, position: int, lane: int) -> str:
        """The identifier, in the drawing, of the fragment that a lane shows after a step."""
        return self._names[self.scene.moments[position].lanes[lane]]

    # -------------------------------------------------------------------------------------------- elements of a drawing

    def definitions(self, positions: Iterable[int] | None = None) -> Element:
        """The SVG definitions of the fragments at these positions (None: at all positions), each once."""
        chosen = range(len(self.scene.moments)) if positions is None else positions
        lanes = dict.fromkeys(lane for position in chosen for lane in self.scene.moments[position].lanes)
        return element("defs", *(self._fragments[lane].drawn(self._names[lane]) for lane in lanes))

    def titles(self, top: float) -> Element:
        """The titles of the lanes."""
        return group(
            element("text", title, x=column.center, y=top + 19, class_="title", text_anchor="middle")
            for title, column in zip(self.scene.lanes, self.columns, strict=True)
        )

    def events(self, position: int) -> Element:
        """The arrows and marks of a step, one below the other, drawn from vertical position 0 downwards."""
        moment = self.scene.moments[position]
        lines: Sequence[Arrow | Mark] = (*moment.arrows, *moment.marks)
        return group(self._event(one, (line + 0.75) * EVENT_HEIGHT) for line, one in enumerate(lines))

    def events_height(self, position: int) -> float:
        """The height of the arrows and marks of a step."""
        moment = self.scene.moments[position]
        return (len(moment.arrows) + len(moment.marks)) * EVENT_HEIGHT + (4 if moment.arrows or moment.marks else 0)

    def changes(self, position: int) -> Element:
        """Outlines around everything that a step changed, and crosses where it removed an entry, for lanes whose top
        edges are at vertical position 0."""
        if position == 0:
            return group([])
        found = []
        for lane in self.changed_lanes(position):
            left = self.left(position, lane)
            before, after = self.fragment(position - 1, lane), self.fragment(position, lane)
            found += [_outline(left, box) for box in changed_boxes(before, after)]
            found += [_cross(left, box) for box in removed_boxes(before, after)]
        return group(found)

    def changed_lanes(self, position: int) -> list[int]:
        """The lanes whose contents a step changed; at position 0, all lanes."""
        now = self.scene.moments[position].lanes
        if position == 0:
            return list(range(len(now)))
        before = self.scene.moments[position - 1].lanes
        return [lane for lane in range(len(now)) if now[lane] != before[lane]]

    def lanes(self, position: int, chosen: Iterable[int], top: float) -> Element:
        """The chosen lanes after a step, side by side."""
        return group(
            element("use", href=f"#{self.name(position, lane)}", x=self.left(position, lane), y=top) for lane in chosen
        )

    def left(self, position: int, lane: int) -> float:
        """The left edge of a lane's fragment."""
        column = self.columns[lane]
        return column.left + (column.width - self.fragment(position, lane).width) / 2

    def lifelines(self, top: float, bottom: float) -> Element:
        """A vertical line for each lane."""
        return group(
            element("line", x1=column.center, x2=column.center, y1=top, y2=bottom, class_="life")
            for column in self.columns
        )

    def label(self, position: int, top: float) -> Element:
        """The number of a step, its words, and its name, in the first column."""
        number = element(
            "text", str(position), x=LABEL_LEFT - 8, y=top + LINE_HEIGHT, class_="number", text_anchor="end"
        )
        rest = (
            element("text", line, x=LABEL_LEFT, y=top + LINE_HEIGHT * (1 + row), class_=kind)
            for row, (kind, line) in enumerate(_label(self.scene.moments[position]))
        )
        return group([number, *rest])

    def label_height(self, position: int) -> float:
        """The height of a step's label."""
        return LINE_HEIGHT * len(_label(self.scene.moments[position])) + 6

    def lanes_height(self, position: int, chosen: Iterable[int]) -> float:
        """The height of the highest of the chosen lanes after a step."""
        return max((self.fragment(position, lane).height for lane in chosen), default=0.0)

    # -------------------------------------------------------------------------------------------------------- one event

    def _event(self, one: Arrow | Mark, y: float) -> Element:
        return self._arrow(one, y) if isinstance(one, Arrow) else self._mark(one, y)

    def _arrow(self, arrow: Arrow, y: float) -> Element:
        start, end = self.columns[arrow.source].center, self.columns[arrow.target].center
        sign = 1.0 if end >= start else -1.0
        tip = start + (end - start) * 0.7 if arrow.kind == LOST else end
        parts = [element("line", x1=start, x2=tip - 6 * sign, y1=y, y2=y)]
        if arrow.kind == LOST:
            parts += [element("path", d=f"M{tip - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10", class_="cross")]
        else:
            parts.append(element("path", d=f"M{tip:.1f} {y:.1f}l{-8 * sign:.0f} -4v8z", class_="head"))
        middle = self._within((start + end) / 2, len(arrow.text))
        parts.append(element("text", arrow.text, x=middle, y=y - 6, text_anchor="middle"))
        return element("g", *parts, class_=f"arrow {arrow.kind}")

    def _mark(self, mark: Mark, y: float) -> Element:
        middle = self._within(self.columns[mark.lane].center, len(mark.text) + 2)
        width = len(mark.text) * GLYPH + 12
        box = element("rect", x=middle - width / 2, y=y - 14, width=width, height=20.0, rx=9)
        return element(
            "g", box, element("text", mark.text, x=middle, y=y, text_anchor="middle"), class_=f"mark {mark.kind}"
        )

    def _within(self, middle: float, characters: int) -> float:
        """The horizontal position of a text of this length near `middle` at which the text stays inside the drawing."""
        half = characters * GLYPH / 2 + 2
        return (
            max(LABEL_WIDTH + half, min(middle, self.width - half)) if self.width > LABEL_WIDTH + 2 * half else middle
        )

    # ------------------------------------------------------------------------------------------------------- the ladder

    def rows(self) -> list[tuple[float, float]]:
        """The top and height of each step in the ladder."""
        found = []
        top = TITLE_HEIGHT
        for position in range(len(self.scene.moments)):
            chosen = self.changed_lanes(position)
            height = max(
                self.events_height(position) + self.lanes_height(position, chosen), self.label_height(position)
            )
            found.append((top, height + 12))
            top += height + 12
        return found

    def ladder(self) -> Element:
        """All steps, one below the other; each row is a group with its own identifier."""
        rows = self.rows()
        bottom = rows[-1][0] + rows[-1][1]
        parts = [self.titles(0.0), self.lifelines(TITLE_HEIGHT, bottom)]
        for position, (top, height) in enumerate(rows):
            chosen = self.changed_lanes(position)
            below = self.events_height(position)
            parts.append(
                element(
                    "g",
                    element("rect", x=0, y=0, width=self.width, height=height, class_="row"),
                    element("g", self.label(position, 2.0), id=f"label-{position}"),
                    element("g", self.events(position), id=f"events-{position}"),
                    self.lanes(position, chosen, below + 4),
                    element(
                        "g",
                        element("g", self.changes(position), id=f"changes-{position}"),
                        transform=f"translate(0 {below + 4:.1f})",
                    ),
                    class_="moment",
                    id=f"row-{position}",
                    transform=f"translate(0 {top:.1f})",
                )
            )
        return group([*parts, *self._loop(rows)])

    def _loop(self, rows: Sequence[tuple[float, float]]) -> list[Element]:
        """For a lasso, an arrow in the margin from the last step back to the step with the same state; round the last
        step alone, if the behaviour stays there."""
        loop = self.scene.loop
        if loop is None:
            return []
        last, first = rows[-1][0] + LINE_HEIGHT, rows[loop][0] + LINE_HEIGHT
        if loop == len(rows) - 1:
            last += LINE_HEIGHT
        way = element("path", d=f"M8 {last:.1f}H3V{first - 4:.1f}H4", fill="none", stroke="currentColor")
        head = element("path", d=f"M10 {first - 4:.1f}l-6 -4v8z", class_="head")
        return [element("g", way, head, class_="arrow loop")]

    @property
    def ladder_height(self) -> float:
        """The height of the ladder."""
        top, height = self.rows()[-1]
        return top + height


def _label(moment: Moment) -> list[tuple[str, str]]:
    """The lines of a step's label, each with its class: its words, and the name of its action with the arguments."""
    words = lines_of(moment.words, LABEL_CHARACTERS)
    name = [] if moment.words == moment.step else _name(moment.step)
    return [*(("words", line) for line in words), *(("step", line) for line in name)] or [("step", "")]


def _name(step: str) -> list[str]:
    """The lines of a step's name. An action's name that is too long for a line is broken after an underscore."""
    action, space, arguments = step.partition(" ")
    end = action.rfind("_", 0, LABEL_CHARACTERS) + 1 if len(action) > LABEL_CHARACTERS else 0
    broken = f"{action[:end]} {action[end:]}" if end else action
    return lines_of(f"{broken}{space}{arguments}", LABEL_CHARACTERS)


def _outline(left: float, box: Box) -> Element:
    return element("rect", x=left + box.left, y=box.top, width=box.width, height=box.height, rx=3, class_="changed")


HEADLINE_LINE, CAPTION_LINE = 24.0, 18.0
HEADLINE_GLYPH = 10.3
"""The heights of the lines above a drawing, and the width of a character of the headline."""


def _heading(drawing: Drawing, caption: str) -> tuple[Element, float]:
    """The headline and the caption above a drawing, and their height."""
    room = drawing.width - 2 * PAD
    lines = [
        *((line, "headline") for line in lines_of(drawing.scene.title, int(room / HEADLINE_GLYPH))),
        *((line, "caption") for line in lines_of(caption, int(room / GLYPH))),
    ]
    parts, y = [], PAD
    for line, kind in lines:
        y += HEADLINE_LINE if kind == "headline" else CAPTION_LINE
        parts.append(element("text", line, x=PAD, y=y - 6, class_=kind))
    return group(parts), y + PAD


def _cross(left: float, box: Box) -> Element:
    """A cross where an entry was removed."""
    x, y, width, height = left + box.left + 2, box.top + 2, box.width - 4, box.height - 4
    way = f"M{x:.1f} {y:.1f}l{width:.1f} {height:.1f}m0 -{height:.1f}l-{width:.1f} {height:.1f}"
    return element("path", d=way, class_="gone")


def _document(drawing: Drawing, height: float, *parts: Element, positions: Iterable[int]) -> str:
    """The file of a drawing. Its title and its description are read to those who do not see it."""
    scene, positions = drawing.scene, [*positions]
    caption = ", ".join(one for one in (scene.caption, scene.subtitle) if one)
    heading, top = _heading(drawing, caption)
    steps = "; ".join(f"{position}: {scene.moments[position].words}" for position in positions)
    drawn = element(
        "svg",
        element("title", scene.title, id="title"),
        element("desc", f"{caption}. {steps}", id="description"),
        element("style", stylesheet("light")),
        element("rect", x=0, y=0, width=drawing.width, height=height + top, class_="paper"),
        heading,
        element("g", *parts, transform=f"translate(0 {top:.1f})"),
        xmlns="http://www.w3.org/2000/svg",
        width=drawing.width,
        height=height + top,
        viewBox=f"0 0 {drawing.width:.1f} {height + top:.1f}",
        role="img",
        aria_labelledby="title description",
    )
    return as_svg(drawn)


def ladder_svg(scene: Scene) -> str:
    """Return the whole trace as an SVG file, with the steps one below the other."""
    drawing = Drawing(scene)
    parts = (drawing.definitions(), drawing.ladder())
    return _document(drawing, drawing.ladder_height + PAD, *parts, positions=range(len(scene.moments)))


def step_svg(scene: Scene, position: int) -> str:
    """Return an SVG file of one step, and of all lanes after it."""
    drawing = Drawing(scene)
    everything = range(len(scene.lanes))
    below = TITLE_HEIGHT + max(drawing.events_height(position), drawing.label_height(position)) + 4
    height = below + drawing.lanes_height(position, everything) + PAD
    return _document(
        drawing,
        height,
        drawing.definitions([position]),
        drawing.titles(0.0),
        drawing.lifelines(TITLE_HEIGHT, height),
        drawing.label(position, TITLE_HEIGHT),
        element("g", drawing.events(position), transform=f"translate(0 {TITLE_HEIGHT:.1f})"),
        drawing.lanes(position, everything, below),
        element("g", drawing.changes(position), transform=f"translate(0 {below:.1f})"),
        positions=[position],
    )
