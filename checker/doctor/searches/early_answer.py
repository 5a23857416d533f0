"""Says of a search that runs how far nothing was found.

In:  the progress of a search.
Out: a line on stderr.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isrcheck.checker.results.terminal import ProgressLine

if TYPE_CHECKING:
    from isrcheck.checker.results.exploration import Progress


class EarlyAnswer(ProgressLine):
    """The progress line of a search whose result is part of an answer."""

    def report(self, progress: Progress) -> None:
        """Report the progress of a search."""
        judged = max(progress.depth - 1, 0)
        self.tell(f"so far: nothing to depth {judged}, {progress.distinct:,} states", progress.seconds)
