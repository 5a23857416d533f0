"""Reads the project's documents: their fenced blocks, headings and links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.tests.support.places import PROJECT

DOCUMENTS = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
PAGES = [
    *DOCUMENTS,
    *(PROJECT / "models").rglob("*.md"),
    *(PROJECT / "checker").rglob("*.md"),
    *(PROJECT / "conformance").rglob("*.md"),
]
"""The documents, and the pages that stand beside the code."""

ELISION = "..."
"""A line of a document that stands for any number of lines of output."""


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after the fence, and the lines within."""

    document: Path
    line: int
    info: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def file(self) -> str | None:
        """The file that a reader is asked to write: ```python file=NAME."""
        return next((word.removeprefix("file=") for word in self.info if word.startswith("file=")), None)


@dataclass(frozen=True)
class Exchange:
    """A command of a console block, and the output that the document shows, which begins in the line `output`."""

    line: int
    command: str
    output: int
    shown: tuple[str, ...]


def blocks(path: Path) -> Iterator[Block]:
    """The fenced blocks of a document."""
    lines = path.read_text(encoding="utf-8").splitlines()
    begun: int | None = None
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if begun is None:
            begun = number
        else:
            info = lines[begun].removeprefix("```").split()
            yield Block(path, begun + 1, tuple(info), tuple(lines[begun + 1 : number]))
            begun = None
    assert begun is None, f"{path.name}:{begun}: the block has no end"


def exchanges(block: Block) -> list[Exchange]:
    """The commands of a console block: a line after `$ `, which a backslash continues, and its output."""
    found: list[Exchange] = []
    lines = list(enumerate(block.lines, block.line + 1))
    while lines:
        number, line = lines.pop(0)
        if line.startswith("$ "):
            command = line.removeprefix("$ ")
            while command.endswith("\\"):
                command = command.removesuffix("\\") + lines.pop(0)[1].strip()
            output = lines[0][0] if lines else block.line + len(block.lines) + 1
            found.append(Exchange(number, command, output, ()))
        else:
            assert found, f"{block.document.name}:{number}: output before the first command"
            found[-1] = replace(found[-1], shown=(*found[-1].shown, line))
    return found


def prose(path: Path) -> str:
    """The text of a document, with empty lines in place of its fenced blocks."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)


def links(path: Path) -> list[str]:
    """The targets of a document's links, pictures included."""
    return re.findall(r"\]\(([^)\s]+)\)", prose(path))


def anchors(path: Path) -> set[str]:
    """GitHub's link anchors of the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", prose(path), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}
