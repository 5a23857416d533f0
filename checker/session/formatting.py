"""Formats tables, counts and sizes as text.

In:  numbers and words.
Out: lines of text.
"""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]], indent: str = "", right: frozenset[int] = frozenset()) -> list[str]:
    """Return rows as lines with aligned columns; the columns in `right` are aligned to the right."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return lines


def tables(rows: Sequence[Sequence[str]], widest: int, absent: str) -> list[str]:
    """Return rows as lines of at most `widest` characters, where possible: as several tables, one below the other.

    Every table begins with the first column of `rows`. A table lacks the rows in which all its other cells are
    `absent`. An empty line separates two tables.
    """
    widths = [max(len(row[column]) for row in rows) + 2 for column in range(len(rows[0]))]
    parts: list[list[int]] = []
    for column in range(1, len(widths)):
        if not parts or sum(widths[one] for one in (0, *parts[-1], column)) - 2 > widest:
            parts.append([])
        parts[-1].append(column)
    lines: list[str] = []
    for part in parts:
        shown = [row for row in rows if any(row[column] != absent for column in part)]
        lines += [*([""] if lines else []), *table([[row[column] for column in (0, *part)] for row in shown])]
    return lines


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
