"""Parts that pages have in common: tables, lists of meanings, verdicts, and the index of several pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isrcheck.traces.pages.markup import Content, Element, element
from isrcheck.traces.pages.shell import Page, text_page


def table(
    columns: Iterable[Content], rows: Iterable[Iterable[Content]], caption: str = "", **attributes: str | float | None
) -> Element:
    """Make a table with the given headings, if there are any, and rows of cells. A cell that already is a `th` or `td`
    element stays as it is. The attributes are given to the table's body, which a script may fill."""
    headings = [_cell("th", cell, scope="col") for cell in columns]
    return element(
        "table",
        element("caption", caption) if caption else None,
        element("thead", element("tr", *headings)) if headings else None,
        element("tbody", *(element("tr", *(_cell("td", cell) for cell in row)) for row in rows), **attributes),
    )


def row_heading(*content: Content, **attributes: str | float | None) -> Element:
    """Make the cell that names a row of a table."""
    return element("th", *content, scope="row", **attributes)


def _cell(tag: str, content: Content, **attributes: str) -> Element:
    is_cell = isinstance(content, Element) and content.tag in ("th", "td")
    return content if is_cell else element(tag, content, **attributes)  # type: ignore[return-value]


def meanings(pairs: Iterable[tuple[Content, Content]], **attributes: str | None) -> Element:
    """Make a list of terms or signs, each with its meaning."""
    parts = (part for term, meaning in pairs for part in (element("dt", term), element("dd", meaning)))
    return element("dl", *parts, **attributes)


def verdict_sign(word: str) -> Element | None:
    """Make the coloured sign of a verdict; return None if the word is empty, because there is no verdict."""
    return element("span", word, class_=f"verdict {word.replace(' ', '-')}") if word else None


# --------------------------------------------------------------------------------------------------------------- index


@dataclass(frozen=True)
class Entry:
    """The entry of a page in an index."""

    title: str

    address: str | None
    """None: the entry is not a link."""

    verdict: str = ""

    mark: str = ""
    """A short mark before the title, such as a number."""

    facts: Sequence[str] = ()
    """Facts in a few words; empty ones are left out."""


def index_of(title: str, about: Sequence[Content], entries: Sequence[Entry]) -> Page:
    """Make the index of the given pages; `about` is shown above them."""
    return text_page(title, [*about, element("ul", *map(_entry, entries), class_="entries")])


def _entry(entry: Entry) -> Element:
    title = entry.title if entry.address is None else element("a", entry.title, href=entry.address)
    return element(
        "li",
        element("span", entry.mark, class_="mark"),
        element("h2", title),
        element("span") if not entry.verdict else verdict_sign(entry.verdict),
        element("p", *(element("span", fact) for fact in entry.facts if fact), class_="facts"),
    )
