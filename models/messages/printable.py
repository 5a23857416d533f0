"""Text that a terminal shows and never obeys: what a file or a model names can hold any character.

In:  text from anywhere. Out: the same, with everything that is not printable spelled out.
"""

from __future__ import annotations


def escaped(text: str) -> str:
    r"""The text, a control character in it as `\x1b`, and one that turns the direction of writing as `\u202e`."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape", "replace").decode() for one in text)


def escaped_lines(text: str) -> str:
    """The same for text of several lines, which stay lines."""
    return "\n".join(map(escaped, text.split("\n")))
