"""Virtual time, shared by all nodes; it moves only when the driver advances it.

In:  `advance`.
Out: `now`, in milliseconds since the start of the run.
"""

from __future__ import annotations


class Clock:
    """Milliseconds since the start of the run."""

    def __init__(self) -> None:
        self._now = 0

    @property
    def now(self) -> int:
        """The time in milliseconds."""
        return self._now

    def advance(self, milliseconds: int) -> None:
        """Advance the time. Errors: ValueError for a negative amount."""
        if milliseconds < 0:
            raise ValueError(f"time cannot be advanced by {milliseconds} ms; give 0 or more")
        self._now += milliseconds
