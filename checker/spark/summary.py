"""How a search was divided among Spark's executors, for reports.

In:  settings and counts of a search on Spark.
Out: a `SparkSummary`, its lines in a report, and its JSON object. Nothing here needs Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Mode(StrEnum):
    """How the work is divided: each part of the initial states on its own, or one search by all executors."""

    PARTS = "parts"
    SEARCH = "search"


@dataclass(frozen=True)
class Overlap:
    """Which parts found the same states: for each set of parts, as bits, how many states exactly this set found.

    States that were found before the parts started, and by no part, belong to the empty set.
    """

    parts: int
    states_by_parts: Mapping[int, int]

    @property
    def by_one(self) -> int:
        """The number of states that exactly one part found."""
        return sum(count for parts, count in self.states_by_parts.items() if parts.bit_count() == 1)

    @property
    def by_several(self) -> int:
        """The number of states that more than one part found."""
        return sum(count for parts, count in self.states_by_parts.items() if parts.bit_count() > 1)

    @property
    def found(self) -> int:
        """The number of states, counted once for each part that found them."""
        return sum(count * parts.bit_count() for parts, count in self.states_by_parts.items())

    def between(self, one: int, other: int) -> int:
        """The number of states that the two parts `one` and `other` both found."""
        both = 1 << one | 1 << other
        return sum(count for parts, count in self.states_by_parts.items() if parts & both == both)


@dataclass(frozen=True)
class SparkSummary:
    """One search on Spark: how it was divided, on how many cores, and how long Spark took to start.

    In mode PARTS, the `starts` states at `split_depth` were divided into `parts` parts, of which `ended` were searched
    to their end; `overlap` is known if all were. In mode SEARCH, `parts` counts the shards, `shuffled` the bytes of
    successors that moved between them, and `taken_up` is the depth of the checkpoint from which the search continued.
    `lost` is the message about a failure of Spark, if there was one.
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
    taken_up: int | None = None
    lost: str = ""

    @property
    def parts_overlap(self) -> bool:
        """Whether counts may include a state several times, once for each part."""
        return self.mode is Mode.PARTS and self.parts > 1


FEW_STATES = 100_000_000
"""With fewer states, one process is faster if its memory is sufficient: measured in README.md, On Spark."""


def spread_lines(spread: SparkSummary, states: int) -> list[str]:
    """The lines about Spark in the report of a search that found `states` distinct states."""
    small = ["with so few states, one process is faster if its memory is sufficient: see README.md, section On Spark"]
    return _spread_lines(spread) + (small if states < FEW_STATES else [])


def _spread_lines(spread: SparkSummary) -> list[str]:
    where = f"Spark at {spread.master}, {spread.cores} cores, started in {spread.start_seconds:.1f} s"
    if spread.mode is Mode.SEARCH:
        lines = [f"{where}; one search in {spread.parts} shards, {spread.shuffled / (1 << 20):,.1f} MiB shuffled"]
        if spread.taken_up is not None:
            lines.append(f"continued from its checkpoint at depth {spread.taken_up}; counts cover the whole search")
        return lines
    if not spread.parts:
        return [f"{where}; nothing was left to divide at depth {spread.split_depth}"]
    what = "initial states" if spread.split_depth == 0 else f"states at depth {spread.split_depth}"
    lines = [f"{where}; {spread.starts:,} {what} in {spread.parts} parts, {spread.ended} of them searched to their end"]
    if spread.ended < spread.parts:
        lines.append("a part that was cut short may contain a shorter counterexample than those that were found")
    overlap = spread.overlap
    if overlap is None:
        return [*lines, "overlap unknown: states, successors and actions are counted once per part that found them"]
    distinct = overlap.by_one + overlap.by_several
    share = overlap.by_several / max(1, distinct)
    return [
        *lines,
        f"overlap {share:.0%}: the parts found {overlap.found:,} states, {distinct:,} different ones,"
        f" {overlap.by_several:,} of them more than once; successors and actions are counted once per part",
    ]


def spread_object(spread: SparkSummary) -> dict[str, Any]:
    """The object under `spark` in the output of `--json`."""
    overlap = spread.overlap
    return {
        "mode": spread.mode.value,
        "master": spread.master,
        "cores": spread.cores,
        "start_seconds": round(spread.start_seconds, 3),
        "parts": spread.parts,
        "parts_ended": spread.ended,
        "starts": spread.starts,
        "split_depth": spread.split_depth,
        "shuffled_bytes": spread.shuffled,
        "taken_up_at_depth": spread.taken_up,
        "lost": spread.lost or None,
        "overlap": None
        if overlap is None
        else {
            "found": overlap.found,
            "distinct": overlap.by_one + overlap.by_several,
            "by_several": overlap.by_several,
            "states_by_parts": [
                {"parts": [part for part in range(overlap.parts) if parts >> part & 1], "states": count}
                for parts, count in overlap.states_by_parts.items()
            ],
        },
    }
