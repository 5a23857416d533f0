"""Draws a scene as vector graphics: lanes side by side, time downwards.

In:  a `Scene`.
Out: SVG, as whole files (`step_svg`, `ladder_svg`) or as elements that page.py combines; lengths in pixels.

Identical lane contents are drawn once and reused, so that the graphics of a long trace stay small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from isrcheck.traces.drawing.lane_drawing import GLYPH, PAD, Box, Fragment, changed_boxes, draw_lane
from isrcheck.traces.drawing.markup import Element, as_svg, element, group
from isrcheck.traces.drawing.theme import stylesheet
from isrcheck.traces.lanes.scene import LOST, Arrow, Lane, Mark, Scene
from isrcheck.traces.lanes.wrapping import lines_of

LABEL_CHARACTERS = 30
"""The width of the column of step names, in characters."""

LABEL_WIDTH = LABEL_CHARACTERS * GLYPH + 2 * PAD + 24
EVENT_HEIGHT = 22.0
LINE_HEIGHT = 14.0
TITLE_HEIGHT = 26.0
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
            element("text", title, x=column.center, y=top + 16, class_="title", text_anchor="middle")
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
        """Outlines around everything that a step changed, for lanes whose top edges are at vertical position 0."""
        if position == 0:
            return group([])
        found = []
        for lane in self.changed_lanes(position):
            left = self.left(position, lane)
            before, after = self.fragment(position - 1, lane), self.fragment(position, lane)
            found += [_outline(left, box) for box in changed_boxes(before, after)]
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
        """The number and name of a step, in the first column."""
        lines = _label(self.scene.moments[position].step)
        number = element("text", str(position), x=22.0, y=top + LINE_HEIGHT, class_="number", text_anchor="end")
        rest = (
            element("text", line, x=30.0, y=top + LINE_HEIGHT * (1 + row), class_="step")
            for row, line in enumerate(lines)
        )
        return group([number, *rest])

    def label_height(self, position: int) -> float:
        """The height of a step's label."""
        return LINE_HEIGHT * len(_label(self.scene.moments[position].step)) + 6

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
        parts.append(element("text", arrow.text, x=middle, y=y - 4, text_anchor="middle"))
        return element("g", *parts, class_=f"arrow {arrow.kind}")

    def _mark(self, mark: Mark, y: float) -> Element:
        middle = self._within(self.columns[mark.lane].center, len(mark.text) + 2)
        width = len(mark.text) * GLYPH + 12
        box = element("rect", x=middle - width / 2, y=y - 12, width=width, height=17.0, rx=8)
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

    # --------------------------------------------------------------------------------------------------------- one step

    @property
    def stage_top(self) -> float:
        """The top of the lanes in the drawing of one step; the events of every step fit above it."""
        return TITLE_HEIGHT + max(self.events_height(position) for position in range(len(self.scene.moments))) + 4

    def stage(self) -> Element:
        """The drawing of one step; a script fills it by giving its `use` elements targets in the ladder."""
        height = self.stage_height
        lanes = (element("use", class_="stage-lane", y=self.stage_top) for _ in self.scene.lanes)
        return group(
            [
                self.titles(0.0),
                self.lifelines(TITLE_HEIGHT, height),
                element("use", id="stage-label", y=TITLE_HEIGHT),
                element("use", id="stage-events", y=TITLE_HEIGHT),
                *lanes,
                element("use", id="stage-changes", y=self.stage_top),
            ]
        )

    def frames(self) -> list[list[tuple[str, float]]]:
        """For each position and lane: the name of the lane's fragment, and its distance from the left edge."""
        return [
            [(self.name(position, lane), round(self.left(position, lane), 1)) for lane in range(len(self.scene.lanes))]
            for position in range(len(self.scene.moments))
        ]

    @property
    def stage_height(self) -> float:
        """The height of the drawing of one step."""
        everything = range(len(self.scene.lanes))
        return self.stage_top + max(
            self.lanes_height(position, everything) for position in range(len(self.scene.moments))
        )


def _label(step: str) -> list[str]:
    """The lines of a step's name. An action's name that is too long for a line is broken after an underscore."""
    action, space, arguments = step.partition(" ")
    end = action.rfind("_", 0, LABEL_CHARACTERS) + 1 if len(action) > LABEL_CHARACTERS else 0
    broken = f"{action[:end]} {action[end:]}" if end else action
    return lines_of(f"{broken}{space}{arguments}", LABEL_CHARACTERS) or [""]


def _outline(left: float, box: Box) -> Element:
    return element("rect", x=left + box.left, y=box.top, width=box.width, height=box.height, rx=3, class_="changed")


def _document(drawing: Drawing, height: float, *parts: Element, title: str) -> str:
    style = element("style", stylesheet("light"))
    background = element("rect", x=0, y=0, width=drawing.width, height=height, class_="paper")
    drawn = element(
        "svg",
        element("title", title),
        style,
        background,
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        width=drawing.width,
        height=height,
        viewBox=f"0 0 {drawing.width:.1f} {height:.1f}",
    )
    return as_svg(drawn)


def ladder_svg(scene: Scene) -> str:
    """Return the whole trace as an SVG file, with the steps one below the other."""
    drawing = Drawing(scene)
    parts = (drawing.definitions(), drawing.ladder())
    return _document(drawing, drawing.ladder_height + PAD, *parts, title=scene.title)


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
        title=f"{scene.title}, step {position}: {scene.moments[position].step}",
    )
