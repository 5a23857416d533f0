"""Draws a trace (a scene) as SVG: lanes side by side, time downwards; or as PNG, for tickets and slides.

A lane shows the role of a broker or client, its log by offset, pointers into the log, and notes. A content that several
lanes have is drawn once and used again, so that the file of a long trace stays small. Lengths are pixels; the file has
its own colours.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from isrcheck.models.messages import UsageError
from isrcheck.traces.lanes.scene import LOST, Arrow, Cell, Lane, Mark, Moment, Scene
from isrcheck.traces.lanes.table import lines_of
from isrcheck.traces.pages.markup import Element, as_svg, element, group
from isrcheck.traces.pages.shell import COLOURS

FONT = 'font-family:ui-monospace,"DejaVu Sans Mono","Liberation Mono",Menlo,Consolas,monospace'
"""The fixed-width font of all drawings; its character width determines the width of a lane."""

DRAWING = (
    f"text{{{FONT}}}"
    + """
text{font-size:13px;fill:var(--ink)}
.paper{fill:var(--paper)}
.headline{font-size:17px;font-weight:bold}.caption{fill:var(--faint)}.title{font-weight:bold}
.words{font-weight:bold}.step{font-size:12px;fill:var(--faint)}.number{fill:var(--faint)}
.life{stroke:var(--line);stroke-width:1}
.lane{fill:var(--panel);stroke:var(--line);stroke-width:1}
.lane.leader{stroke:var(--accent);stroke-width:2}
.lane.elected{stroke:var(--accent);stroke-width:2;stroke-dasharray:2 3}
.lane.zombie{stroke:var(--warn);stroke-width:2;stroke-dasharray:5 3}
.lane.truncating{stroke:var(--warn);stroke-dasharray:2 2}
.lane.down{fill:var(--badpaper);stroke:var(--bad);stroke-dasharray:4 3}
.role{font-weight:bold}.note{fill:var(--ink)}.note.alarm{fill:var(--bad);font-weight:bold}
.offset,.pointer{font-size:12px;fill:var(--faint)}
.cell{fill:none;stroke:var(--line);stroke-width:1}
.cell.record,.cell.marker{stroke:var(--ink);fill:var(--paper)}
.cell.marker{stroke-dasharray:3 2}
.cell.deleted{fill:var(--line)}
.cell.missing{fill:var(--badpaper);stroke:var(--bad)}
.hw{stroke:var(--accent);stroke-width:3}.tick{stroke:var(--faint);stroke-width:1}
.arrow line{stroke:var(--ink);stroke-width:1.3}.arrow .head{fill:var(--ink)}
.arrow.response line{stroke-dasharray:5 3;stroke:var(--faint)}.arrow.response .head{fill:var(--faint)}
.arrow.lost line,.arrow .cross{stroke:var(--bad);stroke-width:1.6;fill:none}
.arrow text{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
.mark rect{fill:var(--panel);stroke:var(--line)}
.mark.fault rect{fill:var(--badpaper);stroke:var(--bad)}.mark.fault text{fill:var(--bad);font-weight:bold}
.mark.election rect{fill:var(--warnpaper);stroke:var(--warn)}.mark.election text{fill:var(--warn);font-weight:bold}
.changed{fill:none;stroke:var(--changed);stroke-width:2}
.gone{fill:none;stroke:var(--bad);stroke-width:2;stroke-dasharray:4 2}
.row{fill:none;fill-opacity:.6}
"""
)
EPOCHS = 8
"""The number of colours of leader epochs; the ninth epoch has the first colour again."""

CELLS = "".join(f".cell.e{epoch}{{fill:var(--e{epoch})}}\n" for epoch in range(EPOCHS))

STYLE = re.sub(r"var\(--(\w+)\)", lambda match: COLOURS[match[1]][0], DRAWING + CELLS)
"""The style of a file: light, with colours in place of their names."""


# ------------------------------------------------------------------------------------------------ the content of a lane

GLYPH = 7.9
"""The width of a character; all text has a fixed-width font."""

PAD = 8.0
SMALL_GLYPH = 7.3
TITLE_LINE, NOTE_LINE, POINTER_LINE = 22.0, 17.0, 14.0
CELL_HEIGHT, OFFSET_LINE = 26.0, 15.0
LEAST_CELL_WIDTH = 36.0
SIDE = 22.0
"""The space to the left and right of a log, for the labels below its ends."""

LEAST_WIDTH = 104.0


@dataclass(frozen=True)
class Box:
    """A rectangle in the drawing of a lane (a `Fragment`)."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Fragment:
    """The drawing of a lane after a step. `things` maps the name of each item in it to the item's box and content."""

    parts: tuple[Element, ...]
    width: float
    height: float
    things: Mapping[str, tuple[Box, object]]


def changes(before: Fragment, after: Fragment) -> Iterator[tuple[Box, bool]]:
    """Yield the box of each item of `after` that is new or has changed, and whether a truncation or a loss (not a
    deletion by a client) removed the log entry there."""
    for name, (box, content) in after.things.items():
        _, old = before.things.get(name, (box, None))
        if old != content:
            had_entry = isinstance(old, Cell) and bool(old.text)
            yield box, had_entry and isinstance(content, Cell) and not content.text and content.kind != "deleted"


SHORT = 1000
"""Notes of at most this many characters identify their lines by their text, longer notes by a hash."""


def draw_lane(lane: Lane) -> Fragment:
    """Return the drawing of a lane's content."""
    if lane == Lane(role=lane.role, characters=lane.characters):
        return Fragment((), LEAST_WIDTH, 0.0, {})
    texts = [*(("note", note, "") for note in lane.notes), *(("note alarm", note, "✗ ") for note in lane.alarms)]
    notes = [
        (line, kind, f"note {_mark(note)}: {number}")
        for kind, note, sign in texts
        for number, line in enumerate(lines_of(f"{sign}{note}", lane.characters, " "))
    ]
    cell_width = max([LEAST_CELL_WIDTH, *(len(cell.text) * GLYPH + 10 for cell in lane.cells)])
    log_width = len(lane.cells) * cell_width
    width = max(
        LEAST_WIDTH,
        len(lane.title) * GLYPH + 2 * PAD,
        log_width + 2 * SIDE,
        *(len(line) * GLYPH + 2 * PAD for line, *_ in notes),
    )
    things: dict[str, tuple[Box, object]] = {}
    parts: list[Element] = []
    y = 4.0
    if lane.title:
        parts.append(element("text", lane.title, x=width / 2, y=y + 15, class_="role", text_anchor="middle"))
        things["title"] = Box(PAD / 2, y, width - PAD, TITLE_LINE - 2), lane.title
        y += TITLE_LINE
    if lane.cells:
        left = (width - log_width) / 2
        parts.append(_log(lane, left, y, cell_width, things))
        y += OFFSET_LINE + CELL_HEIGHT + 4
        labels, lines = _pointers(lane, left, y, cell_width, things)
        parts.append(labels)
        y += POINTER_LINE * lines + 4
    for line, kind, name in notes:
        parts.append(element("text", line, x=PAD, y=y + 13, class_=kind))
        things[name] = Box(PAD / 2, y, width - PAD, NOTE_LINE), line
        y += NOTE_LINE
    height = y + 4
    frame = element("rect", x=0, y=0, width=width, height=height, rx=5, class_=f"lane {lane.role}".strip())
    return Fragment((frame, *parts), width, height, things)


def _mark(note: str) -> str:
    """Return the prefix for the names of a note's lines in `Fragment.things`: the note, or the hash of a long note."""
    return note if len(note) <= SHORT else hashlib.sha256(note.encode(errors="surrogatepass")).hexdigest()[:16]


def _log(lane: Lane, left: float, top: float, cell_width: float, things: dict[str, tuple[Box, object]]) -> Element:
    parts = []
    below = top + OFFSET_LINE
    for offset, cell in enumerate(lane.cells):
        x = left + offset * cell_width
        middle, kind = x + cell_width / 2, cell.kind if cell.epoch is None else f"{cell.kind} e{cell.epoch % EPOCHS}"
        box = {"x": x + 1, "y": below, "width": cell_width - 2, "height": CELL_HEIGHT}
        parts.append(element("text", str(offset), x=middle, y=top + 11, class_="offset", text_anchor="middle"))
        parts.append(element("rect", **box, rx=2, class_=f"cell {kind}"))
        if cell.text:
            parts.append(element("text", cell.text, x=middle, y=below + 18, class_="entry", text_anchor="middle"))
        things[f"offset {offset}"] = Box(x, below - 1, cell_width, CELL_HEIGHT + 2), cell
    high_watermark = dict(lane.pointers).get("HW")
    if high_watermark is not None:
        x = left + high_watermark * cell_width
        parts.append(element("line", x1=x, x2=x, y1=below - 3, y2=below + CELL_HEIGHT + 4, class_="hw"))
    return group(parts)


def _pointers(
    lane: Lane, left: float, top: float, cell_width: float, things: dict[str, tuple[Box, object]]
) -> tuple[Element, int]:
    """Draw each named offset (LEO, HW, ...) below the boundary of log cells to which it points. Return the drawing and
    its height in lines, and add the names to `things`."""
    by_offset: dict[int, list[str]] = {}
    for name, offset in lane.pointers:
        by_offset.setdefault(offset, []).append(name)
    parts = []
    for offset, names in by_offset.items():
        x = left + offset * cell_width
        parts.append(element("line", x1=x, x2=x, y1=top - 4, y2=top - 1, class_="tick"))
        for line, name in enumerate(names):
            y = top + POINTER_LINE * line
            parts.append(element("text", name, x=x, y=y + 11, class_="pointer", text_anchor="middle"))
            width = len(name) * SMALL_GLYPH + 4
            things[name] = Box(x - width / 2, y, width, POINTER_LINE), offset
    return group(parts), max(map(len, by_offset.values()), default=0)


# -------------------------------------------------------------------------------------------------------- a whole trace

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
    """The horizontal position and the width of a lane in a drawing."""

    left: float
    width: float

    @property
    def center(self) -> float:
        """The horizontal position of the lane's lifeline."""
        return self.left + self.width / 2


class Drawing:
    """The layout of a scene: the drawing (`Fragment`) of each lane after each step, and where every element is."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        lanes = dict.fromkeys(lane for moment in scene.moments for lane in moment.lanes)
        self._fragments = {lane: draw_lane(lane) for lane in lanes}
        self._names = {lane: f"lane-{number}" for number, lane in enumerate(lanes)}

    @cached_property
    def columns(self) -> list[Column]:
        """One column per lane, as wide as the lane's widest drawing."""
        columns = []
        left = LABEL_WIDTH
        for lane, title in enumerate(self.scene.lanes):
            widths = [self._fragments[moment.lanes[lane]].width for moment in self.scene.moments]
            columns.append(Column(left, max(*widths, len(title) * GLYPH + 2 * PAD)))
            left = columns[-1].left + columns[-1].width + LANE_GAP
        return columns

    @property
    def width(self) -> float:
        """The width of the whole drawing."""
        return self.columns[-1].left + self.columns[-1].width + PAD if self.columns else LABEL_WIDTH

    def fragment(self, position: int, lane: int) -> Fragment:
        """The drawing of a lane after a step."""
        return self._fragments[self.scene.moments[position].lanes[lane]]

    # -------------------------------------------------------------------------------------------- elements of a drawing

    def definitions(self, positions: Iterable[int]) -> Element:
        """The SVG definitions of all lane drawings that occur at these positions; each drawing is defined only once."""
        lanes = dict.fromkeys(lane for position in positions for lane in self.scene.moments[position].lanes)
        return element("defs", *(element("g", *self._fragments[lane].parts, id=self._names[lane]) for lane in lanes))

    def titles(self, top: float) -> Element:
        """The titles of the lanes."""
        return group(
            element("text", title, x=column.center, y=top + 19, class_="title", text_anchor="middle")
            for title, column in zip(self.scene.lanes, self.columns, strict=True)
        )

    def events(self, position: int) -> tuple[Element, float]:
        """The arrows and marks of a step, one below the other from vertical position 0 downwards; and their height."""
        moment = self.scene.moments[position]
        drawn = [self._arrow(arrow, line) for line, arrow in enumerate(moment.arrows)]
        drawn += [self._mark(mark, line) for line, mark in enumerate(moment.marks, len(drawn))]
        return group(drawn), len(drawn) * EVENT_HEIGHT + (4 if drawn else 0)

    def changes(self, position: int) -> Element:
        """Outlines around everything that a step changed, and crosses where the step removed an entry, for lanes whose
        top edges are at vertical position 0."""
        if position == 0:
            return group([])
        return group(
            (_cross if is_removed else _outline)(self._left(position, lane), box)
            for lane in self.changed_lanes(position)
            for box, is_removed in sorted(
                changes(self.fragment(position - 1, lane), self.fragment(position, lane)), key=itemgetter(1)
            )
        )

    def changed_lanes(self, position: int) -> list[int]:
        """The lanes whose contents a step changed; at position 0, all lanes."""
        now = self.scene.moments[position].lanes
        if position == 0:
            return list(range(len(now)))
        before = self.scene.moments[position - 1].lanes
        return [lane for lane in range(len(now)) if now[lane] != before[lane]]

    def lanes(self, position: int, chosen: Iterable[int], top: float) -> Element:
        """The chosen lanes after a step, side by side."""
        names = [self._names[lane] for lane in self.scene.moments[position].lanes]
        return group(element("use", href=f"#{names[lane]}", x=self._left(position, lane), y=top) for lane in chosen)

    def _left(self, position: int, lane: int) -> float:
        """The left edge of a lane's drawing; the drawing is in the middle of the lane's column."""
        column = self.columns[lane]
        return column.left + (column.width - self.fragment(position, lane).width) / 2

    def lifelines(self, top: float, bottom: float) -> Element:
        """A vertical line for each lane."""
        return group(
            element("line", x1=column.center, x2=column.center, y1=top, y2=bottom, class_="life")
            for column in self.columns
        )

    def label(self, position: int, top: float) -> tuple[Element, float]:
        """The label of a step in the first column: its number, its words and its name; and the height of the label."""
        lines, y = _label(self.scene.moments[position]), top + LINE_HEIGHT
        number = element("text", str(position), x=LABEL_LEFT - 8, y=y, class_="number", text_anchor="end")
        texts = (
            element("text", line, x=LABEL_LEFT, y=y + LINE_HEIGHT * row, class_=kind)
            for row, (kind, line) in enumerate(lines)
        )
        return group([number, *texts]), LINE_HEIGHT * len(lines) + 6

    def lanes_height(self, position: int, chosen: Iterable[int]) -> float:
        """The height of the highest of the chosen lanes after a step."""
        return max((self.fragment(position, lane).height for lane in chosen), default=0.0)

    # -------------------------------------------------------------------------------------------------------- one event

    def _arrow(self, arrow: Arrow, line: int) -> Element:
        y = (line + 0.75) * EVENT_HEIGHT
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

    def _mark(self, mark: Mark, line: int) -> Element:
        y, width = (line + 0.75) * EVENT_HEIGHT, len(mark.text) * GLYPH + 12
        middle = self._within(self.columns[mark.lane].center, len(mark.text) + 2)
        box = element("rect", x=middle - width / 2, y=y - 14, width=width, height=20.0, rx=9)
        text = element("text", mark.text, x=middle, y=y, text_anchor="middle")
        return element("g", box, text, class_=f"mark {mark.kind}")

    def _within(self, middle: float, characters: int) -> float:
        """The position nearest to `middle` at which a text of this many characters stays inside the drawing."""
        half = characters * GLYPH / 2 + 2
        fits = self.width > LABEL_WIDTH + 2 * half
        return max(LABEL_WIDTH + half, min(middle, self.width - half)) if fits else middle

    # ------------------------------------------------------------------------------------------------------- the ladder

    def ladder(self) -> tuple[Element, float]:
        """The drawing of all steps, one below the other, each as a group with its own identifier; and its height."""
        rows, tops, top = [], [], TITLE_HEIGHT
        for position in range(len(self.scene.moments)):
            chosen = self.changed_lanes(position)
            (events, below), (label, label_height) = self.events(position), self.label(position, 2.0)
            height = max(below + self.lanes_height(position, chosen), label_height) + 12
            outlines = element("g", self.changes(position), id=f"changes-{position}")
            rows.append(
                element(
                    "g",
                    element("rect", x=0, y=0, width=self.width, height=height, class_="row"),
                    element("g", label, id=f"label-{position}"),
                    element("g", events, id=f"events-{position}"),
                    self.lanes(position, chosen, below + 4),
                    element("g", outlines, transform=f"translate(0 {below + 4:.1f})"),
                    class_="moment",
                    id=f"row-{position}",
                    transform=f"translate(0 {top:.1f})",
                )
            )
            tops.append(top)
            top += height
        return group([self.titles(0.0), self.lifelines(TITLE_HEIGHT, top), *rows, *self._loop(tops)]), top

    def _loop(self, tops: Sequence[float]) -> list[Element]:
        """For a lasso, an arrow in the margin from the last step back to the step with the same state; if the behaviour
        stays in its last state, the arrow begins and ends at the last step. Nothing for other traces."""
        loop = self.scene.loop
        if loop is None:
            return []
        last, first = tops[-1] + LINE_HEIGHT, tops[loop] + LINE_HEIGHT
        if loop == len(tops) - 1:
            last += LINE_HEIGHT
        way = element("path", d=f"M8 {last:.1f}H3V{first - 4:.1f}H4", fill="none", stroke="currentColor")
        head = element("path", d=f"M10 {first - 4:.1f}l-6 -4v8z", class_="head")
        return [element("g", way, head, class_="arrow loop")]


def _label(moment: Moment) -> list[tuple[str, str]]:
    """The lines of a step's label, each with its style class: the step in words, and its action with the arguments."""
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
    x, y, width, height = left + box.left + 2, box.top + 2, box.width - 4, box.height - 4
    way = f"M{x:.1f} {y:.1f}l{width:.1f} {height:.1f}m0 -{height:.1f}l-{width:.1f} {height:.1f}"
    return element("path", d=way, class_="gone")


def _document(drawing: Drawing, height: float, *parts: Element, positions: Iterable[int]) -> str:
    """Return the SVG file of a drawing, with a title and a description for screen readers."""
    scene, positions = drawing.scene, [*positions]
    caption = ", ".join(part for part in (scene.caption, scene.subtitle) if part)
    heading, top = _heading(drawing, caption)
    steps = "; ".join(f"{position}: {scene.moments[position].words}" for position in positions)
    drawn = element(
        "svg",
        element("title", scene.title, id="title"),
        element("desc", f"{caption}. {steps}", id="description"),
        element("style", STYLE),
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
    drawing, positions = Drawing(scene), range(len(scene.moments))
    ladder, height = drawing.ladder()
    return _document(drawing, height + PAD, drawing.definitions(positions), ladder, positions=positions)


def step_svg(scene: Scene, position: int) -> str:
    """Return an SVG file of one step, and of all lanes after it."""
    drawing, everything = Drawing(scene), range(len(scene.lanes))
    (events, events_height), (label, label_height) = drawing.events(position), drawing.label(position, TITLE_HEIGHT)
    below = TITLE_HEIGHT + max(events_height, label_height) + 4
    height = below + drawing.lanes_height(position, everything) + PAD
    return _document(
        drawing,
        height,
        drawing.definitions([position]),
        drawing.titles(0.0),
        drawing.lifelines(TITLE_HEIGHT, height),
        label,
        element("g", events, transform=f"translate(0 {TITLE_HEIGHT:.1f})"),
        drawing.lanes(position, everything, below),
        element("g", drawing.changes(position), transform=f"translate(0 {below:.1f})"),
        positions=[position],
    )


# --------------------------------------------------------------------------------------------------------------- pixels

ZOOM = 2
"""The pixels of a PNG per unit of the drawing: enough for print."""


def png(svg: str) -> bytes:
    """Return the picture as PNG. Raises UsageError if the package resvg-py or a font is missing."""
    try:
        import resvg_py
    except ImportError:
        raise UsageError(
            "--png needs the package resvg-py; get it with: pip install 'isrcheck[viewer]', or use --svg"
        ) from None

    def drawn(text: str) -> bytes:
        return bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=ZOOM))

    # Without a font the text would be missing without any error.
    if drawn(_probe("")) == drawn(_probe("M")):
        raise UsageError("--png finds no font on this machine; get one, such as fonts-dejavu-core, or use --svg")
    return drawn(svg)


def _probe(text: str) -> str:
    written = element("text", text, x=2, y=15, style=FONT)
    return as_svg(element("svg", written, xmlns="http://www.w3.org/2000/svg", width=20, height=20))
