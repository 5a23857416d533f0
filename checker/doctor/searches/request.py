"""What a process is asked to search.

In:  the description of a search, and its limits.
Out: a `Request`, which crosses the pipe between two processes.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.checker.questions.answering import Asked
from isrcheck.checker.resources.limits import Limits


@dataclass(frozen=True)
class Request:
    """A search, and its limits; `left` are the seconds that the command has left, which bound a compilation as well."""

    asked: Asked
    limits: Limits
    left: float | None
