"""Breaks a text of any length into lines of a given width.

In:  a text, a width.
Out: lines.

`textwrap` copies the rest of a word for every line that it takes from the word. A value of another tool can be one word
of several megabytes, so a long text is wrapped in pieces.
"""

from __future__ import annotations

import textwrap

PIECE = 10_000
"""The length of a piece, in characters; lines about the built-in models are shorter."""


def lines_of(text: str, width: int, indent: str = "", *, break_on_hyphens: bool = True) -> list[str]:
    """Return the lines of a text, all but the first indented; an empty list for white space."""
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
