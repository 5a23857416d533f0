"""Messages to the user: exceptions with one-line messages, hints about unknown names, and text for terminals."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UsageError(Exception):
    """Raised for bad input, such as an unknown name, an impossible bound or a damaged file. It ends a command with exit
    code 2."""


class LanguageError(UsageError):
    """Raised for a function that is not in the modelling language. The message begins with FILE:LINE and ends with
    advice on how to correct the function."""


class ModelError(UsageError):
    """Raised if a model breaks its own declarations: a value or an index is out of range, or an initial state is
    invalid."""


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a hint about an unknown name: the most similar known name, or all known names if none is similar."""
    names = list(names)
    close = difflib.get_close_matches(name, names, n=1)
    # Names that differ only in their digits (2.0 and 3.0) are different names, not misspellings.
    if close and _without_digits(close[0]) != _without_digits(name):
        return f"did you mean {close[0]}?"
    return f"there are: {', '.join(names)}"


def _without_digits(name: str) -> str:
    return "".join(letter for letter in name if not letter.isdigit())


def escaped(text: str) -> str:
    r"""Return the text with each unprintable character, such as a control character, as its code: `\x1b`, `\u202e`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in text)


def escaped_lines(text: str) -> str:
    """Return the text with unprintable characters as in `escaped`, but with its line breaks."""
    return "\n".join(map(escaped, text.split("\n")))
