"""Makes text safe for the terminal: a name in a file or a model can contain any character.

In:  text from any source.
Out: the same text, with every character that is not printable escaped.
"""

from __future__ import annotations


def escaped(text: str) -> str:
    r"""The text, with control characters as `\x1b` and characters that change the writing direction as `\u202e`."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape", "replace").decode() for one in text)


def escaped_lines(text: str) -> str:
    """The same for text of several lines, whose line breaks stay."""
    return "\n".join(map(escaped, text.split("\n")))
