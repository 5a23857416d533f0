"""The elements of a written page, for tests of what it contains and what it loads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

ADDRESSES = ("src", "href", "action", "data")
"""The attributes that name what a page loads or leads to."""


@dataclass
class Part:
    """An element of a page: its name, its attributes, and the pieces of text in it."""

    name: str
    attributes: Mapping[str, str | None]
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of the text in it."""
        return "".join(self.pieces)

    @property
    def words(self) -> str:
        """The text in it, with a space between pieces."""
        return " ".join(self.pieces).strip()

    def is_of(self, kind: str) -> bool:
        """Whether the element has this class."""
        return kind in (self.attributes.get("class") or "").split()


@dataclass
class Parts(HTMLParser):
    """The elements of a page, in the order in which they begin."""

    page: str
    found: list[Part] = field(default_factory=list)
    EMPTY = ("input", "meta", "link", "br", "img")

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[Part] = []
        self.feed(self.page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(Part(tag, dict(attrs)))
        if tag not in self.EMPTY:
            self._open.append(self.found[-1])

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().name == tag

    def handle_data(self, data: str) -> None:
        for part in self._open:
            part.pieces.append(data)

    def named(self, name: str, kind: str = "") -> list[Part]:
        """The elements with this name, and this class if one is given."""
        return [one for one in self.found if one.name == name and (not kind or one.is_of(kind))]

    def one(self, identifier: str) -> Part:
        """The element with this identifier."""
        (found,) = [one for one in self.found if one.attributes.get("id") == identifier]
        return found

    def data(self, identifier: str) -> Any:
        """The data for the page's script."""
        return json.loads(self.one(identifier).text)

    @property
    def tags(self) -> list[str]:
        """The names of all elements."""
        return [one.name for one in self.found]

    @property
    def addresses(self) -> list[str]:
        """Everything that the page loads or leads to."""
        return [address for one in self.found for name in ADDRESSES if (address := one.attributes.get(name))]

    @property
    def policy(self) -> str:
        """The content security policy."""
        (found,) = [one.attributes["content"] for one in self.named("meta") if "http-equiv" in one.attributes]
        assert found is not None
        return found

    @property
    def rows(self) -> list[list[str]]:
        """The words of the cells of each row of the tables."""
        rows: list[list[str]] = []
        for one in self.found:
            if one.name == "tr":
                rows.append([])
            elif one.name in ("td", "th"):
                rows[-1].append(one.words)
        return rows
