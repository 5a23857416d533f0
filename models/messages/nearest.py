"""The cure for an unknown name.

In:  a name that a user typed, and the known names.
Out: the most similar one, or all of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the cure for an unknown name: the most similar known name, or all known names if none is similar."""
    names = list(names)
    close = difflib.get_close_matches(name, names, n=1)
    # Names that differ only in their digits (2.0 and 3.0) are different names, not misspellings.
    if close and _without_digits(close[0]) != _without_digits(name):
        return f"did you mean {close[0]}?"
    return f"there are: {', '.join(names)}"


def _without_digits(name: str) -> str:
    return "".join(letter for letter in name if not letter.isdigit())
