r"""The blocks of which a report consists; each is shown on a page, and in an issue in the markup of JIRA.

In the texts of blocks that are not code, `backticks` enclose names of code. On a page, texts are never markup. In an
issue, a sign that JIRA reads as markup gets a backslash. Inside {code} JIRA knows no escapes: there a text that
would end the block gets a space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from isrcheck.traces.pages.markup import Content, Element, clean, element
from isrcheck.traces.pages.parts import table

CODE = re.compile(r"`([^`]+)`")
MARKUP = re.compile(r"[\\{}\[\]|*!^~]")
Shown = TypeVar("Shown")


@dataclass(frozen=True)
class Part:
    """A part of a report, with a title. Parts and blocks have methods: `element` for a page, `lines` for an issue."""

    title: str
    blocks: Sequence[Text | Items | Rows | Listing | Files]

    def element(self) -> Element:
        return element("details", element("summary", self.title), *(block.element() for block in self.blocks))

    def lines(self) -> Iterator[str]:
        yield f"h3. {_escaped(self.title)}"
        for block in self.blocks:
            yield from (*block.lines(), "")


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str

    def element(self) -> Element:
        return element("p", *in_page(self.text))

    def lines(self) -> Iterator[str]:
        yield in_issue(self.text)


@dataclass(frozen=True)
class Items:
    """A list of short texts."""

    items: Sequence[str]

    def element(self) -> Element:
        return element("ul", *(element("li", *in_page(item)) for item in self.items))

    def lines(self) -> Iterator[str]:
        yield from (f"* {in_issue(item)}" for item in self.items)


@dataclass(frozen=True)
class Rows:
    """A table: the cells of its head, and rows with the same number of cells."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def element(self) -> Element:
        headings = [element("th", *in_page(cell), scope="col") for cell in self.head]
        return table(headings, ([element("td", *in_page(cell)) for cell in row] for row in self.rows))

    def lines(self) -> Iterator[str]:
        yield f"||{'||'.join(in_issue(cell) or ' ' for cell in self.head)}||"
        yield from (f"|{'|'.join(in_issue(cell) or ' ' for cell in row)}|" for row in self.rows)


@dataclass(frozen=True)
class Listing:
    """Lines of code in a language (`scala`, `java` or `bash`), shown as they are."""

    text: str
    language: str

    def element(self) -> Element:
        return element("pre", element("code", self.text))

    def lines(self) -> Iterator[str]:
        yield from (f"{{code:{self.language}}}", clean(self.text).replace("{code", "{ code"), "{code}")


@dataclass(frozen=True)
class Files:
    """Files of the report's folder by name, each with a description. The files are attached to the issue."""

    files: Mapping[str, str]

    def element(self) -> Element:
        links: list[Content] = []
        for name, description in self.files.items():
            links += ["; " if links else None, element("a", name, href=name), ": ", *in_page(description)]
        return element("p", *links)

    def lines(self) -> Iterator[str]:
        files = (f"{_code(name)}, {in_issue(description)}" for name, description in self.files.items())
        yield f"Attached: {'; '.join(files)}"


def in_page(text: str) -> list[Content]:
    """Return a text for a page, with `code` between backticks as code elements."""
    return _split(text, lambda piece: piece, lambda piece: element("code", piece))


def in_issue(text: str) -> str:
    """Return a text for an issue in JIRA's markup, with `code` between backticks as {{code}}."""
    return "".join(_split(text, _escaped, _code))


def _split(text: str, plain: Callable[[str], Shown], code: Callable[[str], Shown]) -> list[Shown]:
    """Split a text at the backticks: return the result of `code` for pieces in backticks, of `plain` for the rest."""
    return [(code if number % 2 else plain)(piece) for number, piece in enumerate(CODE.split(text)) if piece]


def _code(text: str) -> str:
    return f"{{{{{_escaped(text)}}}}}"


def _escaped(text: str) -> str:
    return MARKUP.sub(lambda sign: f"\\{sign[0]}", clean(text)).replace("\n", " ")
