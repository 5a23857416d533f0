"""A report as a page of one screen: the facts, and the parts, which the reader opens.

In:  a title, facts and parts (parts.py).
Out: the text of an HTML file, which loads nothing and sends nothing. Texts are text everywhere, never markup.
"""

from __future__ import annotations

from collections.abc import Sequence

from isrcheck.conformance.report.parts import Block, Files, Items, Listing, Part, Text, split
from isrcheck.traces.pages.markup import Content, Element, beside, element
from isrcheck.traces.pages.parts import meanings, table
from isrcheck.traces.pages.shell import Page, text_page


def page_of(title: str, facts: Sequence[tuple[str, str]], parts: Sequence[Part], files: Files) -> Page:
    """Make the page; `files` are linked below the parts."""
    told = meanings(((word, element("span", *_inline(text))) for word, text in facts), class_="facts")
    content = (told, *map(_part, parts), element("p", *_links(files)))
    return text_page(title, content, "report", [beside(__package__, "page.css")])


def _part(part: Part) -> Element:
    return element("details", element("summary", part.title), *map(_block, part.blocks))


def _block(block: Block) -> Element:
    if isinstance(block, Text):
        return element("p", *_inline(block.text))
    if isinstance(block, Items):
        return element("ul", *(element("li", *_inline(item)) for item in block.items))
    if isinstance(block, Listing):
        return element("pre", element("code", block.text))
    if isinstance(block, Files):
        return element("p", *_links(block))
    rows = ([element("td", *_inline(cell)) for cell in row] for row in block.rows)
    return table([element("th", *_inline(cell), scope="col") for cell in block.head], rows)


def _inline(text: str) -> list[Content]:
    return split(text, lambda piece: piece, lambda piece: element("code", piece))


def _links(files: Files) -> list[Content]:
    found: list[Content] = []
    for name, what in files.files:
        found += ["; "] if found else []
        found += [element("a", name, href=name), ": ", *_inline(what)]
    return found
