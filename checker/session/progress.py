"""Progress on stderr while something takes long.

In:  what is done, and how far it is.
Out: one line that is overwritten on a terminal, one line every ten seconds elsewhere.
"""

from __future__ import annotations

import shutil
import sys
import time

from isrcheck.checker.outcome.exploration import Progress
from isrcheck.checker.session.formatting import human_bytes
from isrcheck.models.messages.printable import escaped

SECONDS_BETWEEN_LINES = 10


class ProgressLine:
    """Progress on stderr: one line that is overwritten on a terminal, one line every ten seconds elsewhere."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.is_terminal = sys.stderr.isatty()
        self.said = time.monotonic()

    def announce(self, message: str) -> None:
        """Something that takes a while has begun."""
        print(f"{escaped(message)} ...", file=sys.stderr, flush=True)

    def report(self, progress: Progress) -> None:
        """Where a search stands."""
        rate = progress.generated / max(progress.seconds, 1e-9)
        self.tell(
            f"depth {progress.depth}, {progress.distinct:,} distinct,"
            f" {progress.generated:,} generated ({rate:,.0f}/s), {progress.frontier:,} to expand,"
            f" {human_bytes(progress.bytes_used)}",
            progress.seconds,
        )

    def tell(self, what: str, seconds: float) -> None:
        """What is being done, after so many seconds."""
        now = time.monotonic()
        if not self.is_terminal and min(seconds, now - self.said) < SECONDS_BETWEEN_LINES:
            return
        self.said = now
        line = escaped(f"{self.subject}: {seconds:.0f} s, {what}")
        if self.is_terminal:
            # A line that wraps around could not be overwritten.
            line = line[: shutil.get_terminal_size().columns - 1]
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line off a terminal before something else is printed."""
        if self.is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
