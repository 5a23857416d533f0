"""Reports progress on stderr.

In:  the name of a task, and its progress.
Out: on a terminal one line that is overwritten; otherwise a line every ten seconds.
"""

from __future__ import annotations

import shutil
import sys
import time

from isrcheck.checker.outcome.exploration import Progress
from isrcheck.checker.session.formatting import human_bytes
from isrcheck.models.messages import escaped

SECONDS_BETWEEN_LINES = 10


class ProgressLine:
    """The progress of `subject` on stderr: one overwritten line on a terminal, otherwise a line every ten seconds."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.is_terminal = sys.stderr.isatty()
        self.said = time.monotonic()

    def announce(self, message: str) -> None:
        """Report that a long task has begun."""
        print(f"{escaped(message)} ...", file=sys.stderr, flush=True)

    def report(self, progress: Progress) -> None:
        """Report the progress of a search."""
        rate = progress.generated / max(progress.seconds, 1e-9)
        more = ""
        if progress.forecast is not None:
            more += f", next level about {progress.forecast:,}"
        if progress.bytes_on_disk is not None:
            more += f", {progress.candidates:,} candidates, {human_bytes(progress.bytes_on_disk)} on disk"
        self.tell(
            f"depth {progress.depth}, {progress.distinct:,} distinct,"
            f" {progress.generated:,} generated ({rate:,.0f}/s), {progress.frontier:,} to expand,"
            f" {human_bytes(progress.bytes_used)}{more}",
            progress.seconds,
        )

    def tell(self, what: str, seconds: float) -> None:
        """Report the progress `what` of a task that has run for `seconds`."""
        now = time.monotonic()
        if not self.is_terminal and min(seconds, now - self.said) < SECONDS_BETWEEN_LINES:
            return
        self.said = now
        line = escaped(f"{self.subject}: {seconds:.0f} s, {what}")
        if self.is_terminal:
            # A wrapped line could not be overwritten.
            line = line[: shutil.get_terminal_size().columns - 1]
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Erase the progress line on a terminal, before other output."""
        if self.is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
