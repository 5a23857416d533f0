"""Draws the content of one lane: role, log cells by offset, pointers into the log, notes.

In:  a `Lane`.
Out: a `Fragment`: its elements, whose upper left corner is at 0, its size, and the position of each item.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from isrcheck.traces.drawing.markup import Element, element, group
from isrcheck.traces.drawing.theme import EPOCHS
from isrcheck.traces.lanes.scene import Cell, Lane
from isrcheck.traces.lanes.table import lines_of

FONT_SIZE = 13.0
GLYPH = 7.9
"""The size of the text of a drawing, and the width of a character; all text has a fixed-width font."""

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
    """A rectangle in a fragment."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Fragment:
    """The drawn content of a lane. `things` maps each item to its position and its content."""

    parts: tuple[Element, ...]
    width: float
    height: float
    things: Mapping[str, tuple[Box, object]]

    def drawn(self, name: str) -> Element:
        """Return the whole fragment as an element with this name."""
        return element("g", *self.parts, id=name)


def changed_boxes(before: Fragment, after: Fragment) -> list[Box]:
    """The boxes of the items of `after` that `before` lacks or contains with other content, without removed entries."""
    old = {key: content for key, (_, content) in before.things.items()}
    return [
        box
        for key, (box, content) in after.things.items()
        if old.get(key) != content and not _is_removed(old.get(key), content)
    ]


def removed_boxes(before: Fragment, after: Fragment) -> list[Box]:
    """The boxes of the offsets at which `before` has an entry and `after` has none, though nobody deleted it."""
    old = {key: content for key, (_, content) in before.things.items()}
    return [box for key, (box, content) in after.things.items() if _is_removed(old.get(key), content)]


def _is_removed(before: object, after: object) -> bool:
    return (
        isinstance(before, Cell)
        and isinstance(after, Cell)
        and bool(before.text)
        and not after.text
        and after.kind != "deleted"
    )


SHORT = 1000
"""The longest note, in characters, that identifies its lines by its text; a longer one does so by its hash."""


def draw_lane(lane: Lane) -> Fragment:
    """Draw the content of a lane."""
    if lane == Lane(role=lane.role, characters=lane.characters):
        return Fragment((), LEAST_WIDTH, 0.0, {})
    notes = [
        (line, kind, f"note {mark}: {number}")
        for kind, told in (("note", lane.notes), ("note alarm", lane.alarms))
        for note, mark in zip(told, map(_mark, told), strict=True)
        for number, line in enumerate(lines_of(f"✗ {note}" if "alarm" in kind else note, lane.characters, " "))
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
    """The text that identifies a note in the names of its lines: the note, or the hash of a long note."""
    return note if len(note) <= SHORT else hashlib.sha256(note.encode(errors="surrogatepass")).hexdigest()[:16]


def _log(lane: Lane, left: float, top: float, cell_width: float, things: dict[str, tuple[Box, object]]) -> Element:
    parts = []
    below = top + OFFSET_LINE
    for offset, cell in enumerate(lane.cells):
        x = left + offset * cell_width
        parts.append(
            element("text", str(offset), x=x + cell_width / 2, y=top + 11, class_="offset", text_anchor="middle")
        )
        parts.append(
            element("rect", x=x + 1, y=below, width=cell_width - 2, height=CELL_HEIGHT, rx=2, class_=_class(cell))
        )
        if cell.text:
            parts.append(
                element("text", cell.text, x=x + cell_width / 2, y=below + 18, class_="entry", text_anchor="middle")
            )
        things[f"offset {offset}"] = Box(x, below - 1, cell_width, CELL_HEIGHT + 2), cell
    high_watermark = dict(lane.pointers).get("HW")
    if high_watermark is not None:
        x = left + high_watermark * cell_width
        parts.append(element("line", x1=x, x2=x, y1=below - 3, y2=below + CELL_HEIGHT + 4, class_="hw"))
    return group(parts)


def _class(cell: Cell) -> str:
    epoch = "" if cell.epoch is None else f" e{cell.epoch % EPOCHS}"
    return f"cell {cell.kind}{epoch}"


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
