"""XML and HTML text in which nothing that comes from a model or a file can become markup.

In:  names of elements, attributes, and children: plain text, which is escaped, or markup that was made here.
Out: markup.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def text(content: str) -> Markup:
    """Plain text; characters that XML cannot hold, such as control characters, become a sign."""
    return Markup(escape("".join(c if c in "\n\t" or (c >= " " and c not in "\x7f￾￿") else "�" for c in content)))


def element(name: str, *children: str, **attributes: object) -> Markup:
    """An element. Of attributes, `class_` is `class`, other underscores are hyphens; None leaves one out."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(_spelled(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(child if isinstance(child, Markup) else text(child) for child in children)
    return Markup(f"<{name}{told}>{inner}</{name}>")


def joined(parts: Iterable[Markup]) -> Markup:
    """Several pieces of markup one behind the other."""
    return Markup("".join(parts))


def _spelled(value: object) -> str:
    """Coordinates are written with one digit behind the point, which is finer than a screen is."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
