"""The parts of which a report consists, in a form that page.py and issue.py show.

In:  nothing.
Out: `Part` and its blocks. In a `Text` and in the cells of `Rows`, `backticks` enclose names of code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

CODE = re.compile(r"`([^`]+)`")
Shown = TypeVar("Shown")


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list of short texts."""

    items: Sequence[str]


@dataclass(frozen=True)
class Rows:
    """A table: its head, and rows of as many cells."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Listing:
    """Lines of code in a language (`scala`, `java` or `bash`), shown as they are."""

    text: str
    language: str


@dataclass(frozen=True)
class Files:
    """Files of the report's folder, each with what it is. An issue has them attached."""

    files: Sequence[tuple[str, str]]


Block = Text | Items | Rows | Listing | Files


@dataclass(frozen=True)
class Part:
    """A part of a report, with a title."""

    title: str
    blocks: Sequence[Block]


def split(text: str, plain: Callable[[str], Shown], code: Callable[[str], Shown]) -> list[Shown]:
    """Return the pieces of a text, those between backticks shown by `code`, the others by `plain`."""
    return [(code if number % 2 else plain)(piece) for number, piece in enumerate(CODE.split(text)) if piece]
