"""How a search was divided among Spark's executors, for reports. This module does not import Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from isrcheck.checker.results.run import Part, Run
from isrcheck.checker.spark.request import Mode


@dataclass(frozen=True)
class Overlap:
    """How many states the parts of a search have in common: for each set of parts, the number of states that exactly
    these parts found. Bit i of a set stands for part i. The empty set has the states found before the parts started."""

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
        """The sum, over all parts, of the number of states that the part found."""
        return sum(count * parts.bit_count() for parts, count in self.states_by_parts.items())


FEW_STATES = 100_000_000
"""With fewer states, one process is faster if its memory is sufficient: measured in README.md, On Spark."""


@dataclass(frozen=True)
class SparkSummary(Part):
    """How one search on Spark was divided, on how many cores, and how long Spark took to start."""

    key: ClassVar[str] = "spark"
    engine: ClassVar[str] = "spark"
    how: ClassVar[str] = "breadth first on Spark"

    mode: Mode
    master: str
    cores: int
    parts: int
    """The number of parts; in mode SEARCH, of shards."""
    starts: int = 0
    """The number of states that were divided into the parts."""
    split_depth: int = 0
    """The depth of the states that were divided into the parts."""
    ended: int = 0
    """The number of parts that were searched to their end."""
    overlap: Overlap | None = None
    """Which parts found the same states; None unless all parts were searched to their end."""
    shuffled: int = 0
    """In mode SEARCH, the bytes of successors that moved between the shards."""
    start_seconds: float = 0.0
    taken_up: int | None = None
    """In mode SEARCH, the depth of the checkpoint from which the search continued."""
    lost: str = ""
    """The message about a failure of Spark, if there was one."""

    @property
    def counts_once(self) -> bool:
        """Whether no state is counted twice. A search by parts counts a state once for each part that found it."""
        return self.mode is Mode.SEARCH or self.parts <= 1

    def lines(self, run: Run, /) -> list[str]:
        """The lines about Spark in the detailed results of a search."""
        small = [
            "with so few states, one process is faster if its memory is sufficient: see README.md, section On Spark"
        ]
        return self._division() + (small if run.explored.distinct < FEW_STATES else [])

    def _division(self) -> list[str]:
        where = f"Spark at {self.master}, {self.cores} cores, started in {self.start_seconds:.1f} s"
        if self.mode is Mode.SEARCH:
            lines = [f"{where}; one search in {self.parts} shards, {self.shuffled / (1 << 20):,.1f} MiB shuffled"]
            if self.taken_up is not None:
                lines.append(f"continued from its checkpoint at depth {self.taken_up}; counts cover the whole search")
            return lines
        if not self.parts:
            return [f"{where}; no state was left to divide at depth {self.split_depth}"]
        starts = "initial states" if self.split_depth == 0 else f"states at depth {self.split_depth}"
        lines = [f"{where}; {self.starts:,} {starts} in {self.parts} parts, {self.ended} of them searched to their end"]
        if self.ended < self.parts:
            lines.append("a part that was cut short may contain a shorter counterexample than those that were found")
        overlap = self.overlap
        if overlap is None:
            return [*lines, "overlap unknown: states, successors and actions are counted once per part that found them"]
        distinct = overlap.by_one + overlap.by_several
        share = overlap.by_several / max(1, distinct)
        return [
            *lines,
            f"overlap {share:.0%}: the parts found {overlap.found:,} states, {distinct:,} different ones,"
            f" {overlap.by_several:,} of them more than once; successors and actions are counted once per part",
        ]

    def as_object(self, _run: Run, /) -> dict[str, Any]:
        """The object under `spark` in the output of `--json`."""
        overlap = self.overlap
        return {
            "mode": self.mode.value,
            "master": self.master,
            "cores": self.cores,
            "start_seconds": round(self.start_seconds, 3),
            "parts": self.parts,
            "parts_ended": self.ended,
            "starts": self.starts,
            "split_depth": self.split_depth,
            "shuffled_bytes": self.shuffled,
            "taken_up_at_depth": self.taken_up,
            "lost": self.lost or None,
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
