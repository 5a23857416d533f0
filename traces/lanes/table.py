"""Text for a terminal: rows in columns that are as narrow as their contents, lines of a given width, and colours.

Columns are two spaces apart; lines have no trailing spaces. Leaders, the epochs of entries, unchanged cells and
verdicts have colours, which are added after the layout, so that they do not count in any width.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from isrcheck.traces.format.trace import HOLDS, NOT_INDUCTIVE, PERMITTED, REACHED, VIOLATED

UNCHANGED = "·"
GAP = "  "

WIDTH = 120
"""The default width, in characters, of output that does not go to a terminal."""

TITLE = 32
"""The widest title, in characters; the values below an expression are usually shorter."""

LEAST_STEP = 12
"""The narrowest column of a step, in characters."""

Row = list[tuple[str, ...]]
"""One row: the lines of text in each column."""


@dataclass(frozen=True)
class StepRow:
    """One step: its number, its action, and the lines of text in each column (empty: unchanged). A row that is not a
    step has the number ""."""

    number: int | str
    step: str
    cells: tuple[tuple[str, ...], ...]


Paint = Callable[[str], str]
"""Colours text that is already laid out."""


def lay_out(titles: Sequence[str], rows: Sequence[StepRow], paint: Paint = str, narrower: int = 0) -> list[str]:
    """Return the table, with the titles in its first line; `paint` colours the columns to the right of the steps.

    `narrower` is the number of characters to save by breaking steps and titles into lines, as far as possible.
    """
    numbers = max((len(str(row.number)) for row in rows), default=1)
    steps = max([LEAST_STEP, *(len(row.step) - narrower for row in rows)])
    titled = TITLE // 2 if narrower else TITLE
    wraps = (textwrap.wrap(title, titled, break_long_words=False, break_on_hyphens=False) for title in titles)
    heading: Row = [("#".rjust(numbers),), ("step",), *map(tuple, wraps)]
    texts: list[Row] = [
        [(str(row.number).rjust(numbers),), _step(row.step, steps), *(cell or (UNCHANGED,) for cell in row.cells)]
        for row in rows
    ]
    return grid([heading, *texts], [str, str, *(paint for _ in titles)])


def _step(text: str, width: int) -> tuple[str, ...]:
    """Break the text of a step into lines: between words, or after an underscore of the action's name."""
    lines = [""]
    for word in re.split(r"(?<=[_ ])", text):
        if lines != [""] and len(f"{lines[-1]}{word}".rstrip()) > width:
            lines.append(GAP)
        lines[-1] += word
    return tuple(line.rstrip() for line in lines)


def grid(rows: Sequence[Row], paints: Sequence[Paint] = ()) -> list[str]:
    """Return rows in columns; `paints` colours each column, except in the first row, the heading."""
    widths = [max(len(line) for row in rows for line in row[column]) for column in range(len(rows[0]))]
    lines = []
    for position, row in enumerate(rows):
        used = paints if paints and position else [str] * len(widths)
        for parts in zip_longest(*row, fillvalue=""):
            texts = [part.rstrip() for part in parts]
            while texts and not texts[-1]:
                texts.pop()
            # Spaces are not coloured, and none follow the last column, so colours do not widen a column.
            columns = zip(used, texts, widths, strict=False)
            line = "".join(GAP + paint(text) + " " * (width - len(text)) for paint, text, width in columns)
            lines.append(line.rstrip(" "))
    return lines


def blocks(titles: Sequence[str], rows: Sequence[StepRow], width: int, paint: Paint = str) -> list[str]:
    """Return a table for a terminal too narrow for columns: each step, and below the step a line per changed column."""
    lines = []
    for row in rows:
        lines += wrapped(f"{row.number}  {row.step}", GAP, width)
        for title, cell in zip(titles, row.cells, strict=True):
            for position, line in enumerate(cell):
                # Lines after the first follow the title of their column without repeating the title.
                lead = f"{title}: " if position == 0 else GAP
                first, *others = wrapped(f"{lead}{line.strip()}", GAP * 2, width) or [""]
                start = min(len(first), len(first) - len(first.lstrip()) + len(lead))
                lines += [first[:start] + paint(first[start:]), *map(paint, others)]
    return lines


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
    """Break lines that are longer than the width; each line keeps its indentation."""
    broken = []
    for line in lines:
        text = line.lstrip(" ")
        broken += wrapped(text, line[: len(line) - len(text)], width) or [""]
    return broken


PIECE = 10_000
"""The length of a piece, in characters; lines about the built-in models are shorter.

`textwrap` copies the rest of a word for every line that it takes from the word. A value of another tool can be one word
of several megabytes, so a long text is wrapped in pieces.
"""


def lines_of(text: str, width: int, indent: str = "", *, break_on_hyphens: bool = True) -> list[str]:
    """Break a text into lines, all but the first indented; a text of white space only has no lines."""
    return [
        line
        for at in range(0, len(text), PIECE)
        for line in textwrap.wrap(
            text[at : at + PIECE],
            width,
            initial_indent=indent if at else "",
            subsequent_indent=indent,
            break_on_hyphens=break_on_hyphens,
        )
    ]


# -------------------------------------------------------------------------------------------------------------- colours

AUTO, ALWAYS, NEVER = "auto", "always", "never"
WHEN = (AUTO, ALWAYS, NEVER)

BOLD, FAINT = 1, 2
RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN = range(31, 37)
EPOCHS = (CYAN, MAGENTA, YELLOW, GREEN, BLUE, RED)
"""The colours of leader epochs 0, 1, 2, ..., repeated from the start after the last."""

VERDICTS = {VIOLATED: RED, PERMITTED: YELLOW, NOT_INDUCTIVE: YELLOW, REACHED: GREEN, HOLDS: GREEN}

OF_AN_EPOCH = re.compile(r"(?<![\w.])([a-zL]|\d*[AC])(\d+)(?!\w)")
"""The words in a Kafka lane that end with a leader epoch: an entry, a role, the controller."""


def is_wanted(when: str, is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Whether to use colours: `auto` reads NO_COLOR, FORCE_COLOR and TERM, in this order, then requires a terminal."""
    if when != AUTO:
        return when == ALWAYS
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return is_terminal and environment.get("TERM") != "dumb"


@dataclass(frozen=True)
class Ink:
    """Colours text for a terminal; if not `is_coloured`, every method returns the text unchanged."""

    is_coloured: bool = False

    def paint(self, text: str, *codes: int) -> str:
        """Return text in the given colours."""
        if not self.is_coloured or not text:
            return text
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m"

    def changed(self, text: str) -> str:
        """Return the text of a changed cell in bold; the sign that stands for an unchanged cell is dimmed."""
        return self.paint(text, FAINT) if text == UNCHANGED else self.paint(text, BOLD)

    def lane(self, text: str) -> str:
        """Return the text of a Kafka lane with each epoch in its colour, and leaders in bold."""
        return self.paint(text, FAINT) if text == UNCHANGED else OF_AN_EPOCH.sub(self._of_an_epoch, text)

    def _of_an_epoch(self, word: re.Match[str]) -> str:
        colour = EPOCHS[int(word[2]) % len(EPOCHS)]
        return self.paint(word[0], BOLD, colour) if word[1] == "L" else self.paint(word[0], colour)

    def verdict(self, verdict: str, text: str) -> str:
        """Return text in the colour of a verdict: red for a failure, yellow for a permitted failure."""
        return self.paint(text, BOLD, VERDICTS[verdict])


@dataclass(frozen=True)
class Look:
    """How a text is printed: its width, its colours, and whether a table has to fit the width (`fits`)."""

    width: int = WIDTH
    ink: Ink = Ink()
    fits: bool = False
    """Whether the width is that of a terminal, so nothing may be wider. Otherwise a table may be wider."""


PLAIN = Look()
"""The look of output that does not go to a terminal."""
