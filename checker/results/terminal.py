"""Text for a terminal: tables, counts, sizes, wrapped lines, and the progress of a task.

Out: lines of text; and on stderr the progress: on a terminal one line that is overwritten, otherwise a line every ten
     seconds.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Sequence
from typing import TypeVar

from isrcheck.checker.results.exploration import Progress
from isrcheck.models.messages import escaped
from isrcheck.traces.lanes.table import WIDTH

Column = TypeVar("Column", bound=Sequence[str])
Key = TypeVar("Key")
Value = TypeVar("Value")


def table(rows: Sequence[Sequence[str]], indent: str = "", right: frozenset[int] = frozenset()) -> list[str]:
    """Return rows as lines with aligned columns; the columns in `right` are aligned to the right."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    justify = [str.rjust if column in right else str.ljust for column in range(len(widths))]
    return [
        (indent + "  ".join(side(cell, width) for side, cell, width in zip(justify, row, widths, strict=True))).rstrip()
        for row in rows
    ]


def tables(rows: Sequence[Sequence[str]], widest: int, absent: str) -> list[str]:
    """Return a table as lines of at most `widest` characters, if possible; a wider table is split into several tables.

    An empty line separates two tables. Each table has the first column of `rows` and some of the other columns; it
    omits the rows whose text is `absent` in all of these other columns.
    """
    names, *columns = zip(*rows, strict=True)
    lines: list[str] = []
    for part in side_by_side(columns, widest - max(map(len, names)) - 2):
        shown = [cells for cells in zip(names, *part, strict=True) if any(cell != absent for cell in cells[1:])]
        lines += [*([""] if lines else []), *table(shown)]
    return lines


def side_by_side(columns: Sequence[Column], room: int) -> list[list[Column]]:
    """Divide columns into groups that each fit into `room` characters, if possible, with two spaces between columns."""
    groups: list[list[Column]] = []
    left = 0
    for column in columns:
        width = max(map(len, column)) + 2
        if not groups or width > left:
            groups.append([])
            left = room + 2
        groups[-1].append(column)
        left -= width
    return groups


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return, for each key of the pairs, the list of its values; keys and values keep their order."""
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: 1 level, 2 levels, 2 searches."""
    ending = "es" if noun.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{count:,} {noun}{ending * (count != 1)}"


def human_bytes(count: float) -> str:
    """Return a number of bytes with a unit, such as 1.5 MiB."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1024
    raise AssertionError


def wrapped(text: str, width: int, indent: str = "", later: str = "    ") -> list[str]:
    """Return a paragraph as lines of at most `width` characters; all lines after the first begin with `later`."""
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )


def width_of_output() -> int:
    """Return the width of the terminal to which stdout goes, or WIDTH if stdout is no terminal."""
    return max(1, shutil.get_terminal_size((WIDTH, 1)).columns if sys.stdout.isatty() else WIDTH)


# ------------------------------------------------------------------------------------------------------------ progress

SECONDS_BETWEEN_LINES = 10


class ProgressLine:
    """The progress of `subject` on stderr: one overwritten line on a terminal, otherwise a line every ten seconds."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.is_terminal = sys.stderr.isatty()
        self.said = time.monotonic()

    def announce(self, message: str) -> None:
        """Print `message` and "...", to announce that a long task begins."""
        print(f"{escaped(message)} ...", file=sys.stderr, flush=True)

    def report(self, progress: Progress) -> None:
        """Print the counts of a running search as its progress."""
        rate = progress.generated / max(progress.seconds, 1e-9)
        text = (
            f"depth {progress.depth}, {progress.distinct:,} distinct, {progress.generated:,} generated ({rate:,.0f}/s),"
            f" {progress.frontier:,} to expand, {human_bytes(progress.bytes_used)}"
        )
        if progress.forecast is not None:
            text += f", next level about {progress.forecast:,}"
        if progress.bytes_on_disk is not None:
            text += f", {progress.candidates:,} candidates, {human_bytes(progress.bytes_on_disk)} on disk"
        self.tell(text, progress.seconds)

    def tell(self, text: str, seconds: float) -> None:
        """Print `text` as the progress of a task that has run for `seconds`."""
        now = time.monotonic()
        if not self.is_terminal and min(seconds, now - self.said) < SECONDS_BETWEEN_LINES:
            return
        self.said = now
        line = escaped(f"{self.subject}: {seconds:.0f} s, {text}")
        if self.is_terminal:
            # A wrapped line could not be overwritten.
            line = line[: shutil.get_terminal_size().columns - 1]
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Erase the progress line on a terminal, before other output."""
        if self.is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
