"""One operation on a cluster, as a run tells it.

In:  nothing.
Out: `Act`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Act:
    """An operation on the cluster: its time (ms), its name, and its arguments."""

    at: int
    name: str
    arguments: tuple[object, ...]

    def __str__(self) -> str:
        return " ".join([f"{self.at:>9}", self.name, *map(str, self.arguments)])
