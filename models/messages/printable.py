"""Makes text safe for the terminal: a name in a file or a model can contain any character.

In:  text from any source.
Out: the same text, with every character that is not printable escaped.
"""

from __future__ import annotations


def escaped(text: str) -> str:
    r"""Return the text with control characters as `\x1b`, and marks that change the writing direction as `\u202e`."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape", "replace").decode() for one in text)


def escaped_lines(text: str) -> str:
    """Return the text with escaped characters as in `escaped`, but keep its line breaks."""
    return "\n".join(map(escaped, text.split("\n")))
