"""Lines of a given width out of a text of any length.

In:  a text, a width. Out: lines.

`textwrap` copies what is left of a word for every line that it takes from it. A value of another tool can be one word
of megabytes, so a long text is wrapped piece by piece.
"""

from __future__ import annotations

import textwrap

PIECE = 10_000
"""Characters that are wrapped at a time; what a model of ours prints is shorter."""


def lines_of(text: str, width: int, indent: str = "", *, break_on_hyphens: bool = True) -> list[str]:
    """The lines of a text; all but the first are indented. None for a text of white space."""
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
