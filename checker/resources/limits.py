"""The limits that the user sets for a search.

In:  options of the command line.
Out: `Limits`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

MOST_THREADS_FOR_A_CLUSTER = 8
"""The most threads for a cluster if the command line does not say how many: one for each core, and at most so many."""

SECONDS_FOR_A_CLUSTER = 60.0
"""The time limit of a command for a cluster, if the command line gives none."""


@dataclass(frozen=True)
class Limits:
    """Limits of a search: `depth` in transitions, `memory` in bytes, `seconds` (None: no limit), and `threads`.

    Results do not depend on `threads` unless a limit stops the search. Without `deadlock`, states without a step are
    not reported.
    """

    depth: int | None = None
    memory: int = 4 << 30
    seconds: float | None = None
    threads: int = 1
    deadlock: bool = True

    def after(self, seconds: float) -> Limits:
        """What is left of these limits after so many seconds."""
        return self if self.seconds is None else replace(self, seconds=max(0.0, self.seconds - seconds))
