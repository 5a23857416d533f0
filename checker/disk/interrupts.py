"""Ctrl-C while a search writes files: it takes effect at the next point where everything is consistent.

In:  SIGINT.
Out: an `Interrupts` whose `look` raises KeyboardInterrupt.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Whether Ctrl-C was pressed. A second Ctrl-C takes effect at once (`is_at_once`), in the middle of anything."""

    def __init__(self) -> None:
        self.is_pending = False
        self.is_at_once = False
        self._handler: object = None

    def look(self) -> None:
        """Let the earlier handler see a pending Ctrl-C; it raises KeyboardInterrupt."""
        if self.is_pending:
            self._pass_on(signal.SIGINT, None)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        if callable(self._handler):
            self._handler(number, frame)
        raise KeyboardInterrupt

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Within this context, the first Ctrl-C only becomes pending. Signals reach only the main thread."""

        def note(number: int, frame: FrameType | None) -> None:
            if self.is_pending:
                self.is_at_once = True
                self._pass_on(number, frame)
            self.is_pending = True

        try:
            self._handler = signal.signal(signal.SIGINT, note)
        except ValueError:  # not the main thread
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, self._handler)
