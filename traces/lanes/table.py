"""Prints rows of text in columns that are as narrow as their contents.

In:  titles, and rows whose cells are lists of lines.
Out: lines. Columns are two spaces apart; lines have no trailing spaces.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

UNCHANGED = "·"
GAP = "  "

WIDTH = 120
"""The default width, in characters, of output that does not go to a terminal."""

TITLE = 32
"""The widest title, in characters; the values below an expression are usually shorter."""

LEAST_STEP = 12
"""The narrowest column of a step, in characters."""

Cells = list[tuple[str, ...]]
"""One row: the lines of text in each column."""


@dataclass(frozen=True)
class StepRow:
    """One step: its number, its action, and the lines of text in each column (empty: unchanged). A row that is no step
    has the number ""."""

    number: int | str
    step: str
    cells: tuple[tuple[str, ...], ...]


Paint = Callable[[str], str]
"""Colours text that is already laid out."""


def lay_out(titles: Sequence[str], rows: Sequence[StepRow], paint: Paint = str, narrower: int = 0) -> list[str]:
    """Return the table, with the titles in its first line; `paint` colours the columns after the step.

    `narrower` is the number of characters to save by breaking steps and titles into lines, as far as possible.
    """
    numbers = max((len(str(row.number)) for row in rows), default=1)
    steps = max([LEAST_STEP, *(len(row.step) - narrower for row in rows)])
    titled = TITLE // 2 if narrower else TITLE
    heading: Cells = [("#".rjust(numbers),), ("step",), *(_title(title, titled) for title in titles)]
    texts: list[Cells] = [
        [(str(row.number).rjust(numbers),), _step(row.step, steps), *(cell or (UNCHANGED,) for cell in row.cells)]
        for row in rows
    ]
    return grid([heading, *texts], [str, str, *(paint for _ in titles)])


def _title(text: str, width: int) -> tuple[str, ...]:
    return tuple(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))


def _step(text: str, width: int) -> tuple[str, ...]:
    """The lines of a step, broken between words, including the words of the action's name."""
    lines = [""]
    for word in re.split(r"(?<=[_ ])", text):
        if lines != [""] and len(f"{lines[-1]}{word}".rstrip()) > width:
            lines.append(GAP)
        lines[-1] += word
    return tuple(line.rstrip() for line in lines)


def grid(rows: Sequence[Cells], paints: Sequence[Paint] = ()) -> list[str]:
    """Return rows in columns; `paints` colours each column, except in the first row, the heading."""
    widths = [max(len(line) for row in rows for line in row[column]) for column in range(len(rows[0]))]
    found = []
    for position, row in enumerate(rows):
        used = paints if paints and position else [str] * len(widths)
        for parts in zip_longest(*row, fillvalue=""):
            padded = [part.ljust(width) for part, width in zip(parts, widths, strict=True)]
            # There are no trailing spaces, and colours do not widen a column.
            while padded and not padded[-1].strip():
                padded.pop()
            if padded:
                padded[-1] = padded[-1].rstrip()
            painted = [
                paint(text.rstrip()) + " " * (len(text) - len(text.rstrip()))
                for paint, text in zip(used, padded, strict=False)
            ]
            found.append((GAP + GAP.join(painted)) if painted else "")
    return found


def blocks(titles: Sequence[str], rows: Sequence[StepRow], width: int, paint: Paint = str) -> list[str]:
    """Return the content of `lay_out` for a terminal that is too narrow for a table: each step, then a line per changed
    column."""
    found = []
    for row in rows:
        found += wrapped(f"{row.number}  {row.step}", GAP, width)
        for title, cell in zip(titles, row.cells, strict=True):
            for position, line in enumerate(cell):
                # Lines after the first follow the title of their column without repeating the title.
                lead = f"{title}: " if position == 0 else GAP
                first, *others = wrapped(f"{lead}{line.strip()}", GAP * 2, width) or [""]
                start = min(len(first), len(first) - len(first.lstrip()) + len(lead))
                found.append(first[:start] + paint(first[start:]))
                found += map(paint, others)
    return found


def widest(lines: Sequence[str]) -> int:
    """Return the width of the widest line."""
    return max(map(len, lines), default=0)


def wrapped(text: str, indent: str = "", width: int = WIDTH) -> list[str]:
    """Break a long line into several, the later ones indented further; words break only if the width is too small."""
    inner = max(width, 1) // 2
    lines = textwrap.wrap(
        text,
        max(width, 1),
        initial_indent=indent[:inner],
        subsequent_indent=f"{indent}    "[:inner],
        break_long_words=width < WIDTH,
        break_on_hyphens=False,
    )
    return [line.rstrip() for line in lines]


def fitted(lines: Iterable[str], width: int = WIDTH) -> list[str]:
    """Break lines of any length to fit the width, each with its own indentation."""
    found = []
    for line in lines:
        text = line.lstrip(" ")
        found += wrapped(text, line[: len(line) - len(text)], width) or [""]
    return found
