"""Rows of text in columns, as narrow as their contents.

In:  titles, and rows whose cells are lists of lines.
Out: lines. Columns are two spaces apart; nothing trails at the end of a line.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

UNCHANGED = "·"
GAP = "  "

WIDTH = 120
"""Columns of the terminal that everything is written for."""

Cells = list[tuple[str, ...]]
"""One row: for each column its lines."""


@dataclass(frozen=True)
class Row:
    """One step: its number, what was done, and for each column the lines to show (none: unchanged)."""

    number: int
    step: str
    cells: tuple[tuple[str, ...], ...]


def lay_out(titles: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """The table, its first line the titles."""
    heading: Cells = [("#",), ("step",), *((title,) for title in titles)]
    texts: list[Cells] = [
        [(str(row.number),), (row.step,), *(cell or (UNCHANGED,) for cell in row.cells)] for row in rows
    ]
    widths = [max(len(line) for row in (heading, *texts) for line in row[column]) for column in range(len(heading))]
    found = []
    for row in (heading, *texts):
        for parts in zip_longest(*row, fillvalue=""):
            number, *others = (part.ljust(width) for part, width in zip(parts, widths, strict=True))
            found.append((GAP + GAP.join([number.strip().rjust(widths[0]), *others])).rstrip())
    return found


def wrapped(text: str, indent: str = "") -> list[str]:
    """A long line as several, the later ones further in."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
