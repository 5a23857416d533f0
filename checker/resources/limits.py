"""What a person allows a search to use.

In:  options of the command line.
Out: `Limits`.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_THREADS = 64
"""More threads than this are refused."""


@dataclass(frozen=True)
class Limits:
    """What a search may use: transitions from an initial state, bytes, seconds (None: no limit); threads.

    What it finds does not hang on the number of threads, unless memory or time end it.
    """

    depth: int | None = None
    memory: int = 4 << 30
    seconds: float | None = None
    threads: int = 1
