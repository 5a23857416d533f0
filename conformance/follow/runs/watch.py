"""Reports the progress of following a log, and enforces the time limit.

In:  the number of seconds, and a callback.
Out: `Progress` for the user, twice a second; TimeOverError when the time is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

SECONDS_BETWEEN_REPORTS = 0.5


class TimeOverError(Exception):
    """The time limit was reached."""


@dataclass(frozen=True)
class Progress:
    """The position in a log: the current line, and the number of possible states before it."""

    seconds: float
    line: int
    possible: int


class Watch:
    """The clock for a whole log. The follower sets `line` and `possible`, which `Progress` reports."""

    def __init__(
        self, seconds: float | None = None, report: Callable[[Progress], None] = lambda progress: None
    ) -> None:
        self.line = self.possible = 0
        self._report = report
        self._began = self._reported = time.monotonic()
        self._end = float("inf") if seconds is None else self._began + seconds

    def look(self) -> None:
        """Check the clock; called at least once per state. Raises TimeOverError."""
        now = time.monotonic()
        if now > self._end:
            raise TimeOverError
        if now - self._reported >= SECONDS_BETWEEN_REPORTS:
            self._reported = now
            self._report(Progress(now - self._began, self.line, self.possible))
