"""The limits that the user sets for a search.

In:  options of the command line.
Out: `Limits`.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_THREADS = 64
"""More threads than this are refused."""


@dataclass(frozen=True)
class Limits:
    """Limits of a search: `depth` in transitions, `memory` in bytes, `seconds` (None: no limit), and `threads`.

    Results do not depend on `threads` unless a limit stops the search.
    """

    depth: int | None = None
    memory: int = 4 << 30
    seconds: float | None = None
    threads: int = 1
