"""How a search was spread over Spark's executors: what a report says of it beside what was found.

In:  figures of checker/spark. Out: a `Spread`. Nothing here needs Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    """How the work is divided: each part of the initial states for itself, or one search by all."""

    PARTS = "parts"
    SEARCH = "search"


@dataclass(frozen=True)
class Overlap:
    """Which parts found the same states: for each set of parts, as bits, how many states these and no others found.

    States that were found before the parts began, and by no part, are those of the empty set.
    """

    parts: int
    states_by_parts: Mapping[int, int]

    @property
    def by_one(self) -> int:
        """States that one part alone found."""
        return sum(count for parts, count in self.states_by_parts.items() if parts.bit_count() == 1)

    @property
    def by_several(self) -> int:
        """States that more than one part found."""
        return sum(count for parts, count in self.states_by_parts.items() if parts.bit_count() > 1)

    @property
    def found(self) -> int:
        """States, each as often as parts found it."""
        return sum(count * parts.bit_count() for parts, count in self.states_by_parts.items())

    def between(self, one: int, other: int) -> int:
        """States that both of two parts found."""
        both = 1 << one | 1 << other
        return sum(count for parts, count in self.states_by_parts.items() if parts & both == both)


@dataclass(frozen=True)
class Spread:
    """One search on Spark: how it was divided, on how many cores, how long Spark took to start.

    In mode PARTS: the number of starts, the depth at which they stand, the parts that they were divided into and how
    many of these ended; the overlap is known where all did. In mode SEARCH `parts` counts the shards, and `shuffled` the bytes of
    successors that went from one to another. `lost` says what Spark lost, if it did.
    """

    mode: Mode
    master: str
    cores: int
    parts: int
    starts: int = 0
    split_depth: int = 0
    ended: int = 0
    overlap: Overlap | None = None
    shuffled: int = 0
    start_seconds: float = 0.0
    lost: str = ""
