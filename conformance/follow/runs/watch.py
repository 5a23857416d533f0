"""How far the following of a log has come; and its end, where the time is over.

In:  how many seconds there are, and whom to tell.
Out: `Progress` for a person, twice a second; TimeOverError once it is too late.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

SECONDS_BETWEEN_REPORTS = 0.5


class TimeOverError(Exception):
    """There were only so many seconds."""


@dataclass(frozen=True)
class Progress:
    """Where a log is followed: the line that is looked at, and how many states were possible before it."""

    seconds: float
    line: int
    possible: int


class Watch:
    """One clock for a whole log. `line` and `possible` are what is told (`Progress`)."""

    def __init__(
        self, seconds: float | None = None, report: Callable[[Progress], None] = lambda progress: None
    ) -> None:
        self.line = self.possible = 0
        self._report = report
        self._began = self._reported = time.monotonic()
        self._end = float("inf") if seconds is None else self._began + seconds

    def look(self) -> None:
        """Look at the clock; to be called at least for every state. Raises TimeOverError."""
        now = time.monotonic()
        if now > self._end:
            raise TimeOverError
        if now - self._reported >= SECONDS_BETWEEN_REPORTS:
            self._reported = now
            self._report(Progress(now - self._began, self.line, self.possible))
