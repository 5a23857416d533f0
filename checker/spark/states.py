"""The visited states of a search on Spark, stored in Spark's partitions, and queries about them.

In:  levels, in order.
Out: the number of states, and the paths to states, which are fetched from Spark.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.spark.level import Link, predecessors
from isrcheck.checker.spark.partitioning import Pairs
from isrcheck.checker.spark.runtime.session import Session
from isrcheck.checker.spark.runtime.task_statistics import run_job


@dataclass
class StoredLevel:
    """A level: its states in order, by chunk; the size of each chunk; the number of states that each step
    discovered."""

    ordered: Pairs
    chunks: tuple[int, ...]
    by_steps: dict[int, int]

    @property
    def offsets(self) -> tuple[int, ...]:
        """The number of the first state of each chunk, then the size of the level."""
        return (0, *accumulate(self.chunks))

    @property
    def size(self) -> int:
        """The number of states."""
        return sum(self.chunks)


class PartitionedStates:
    """The visited states in Spark's partitions, stored twice: by level, in order; and by shard, in no order.

    The number of a state is its position in breadth-first order.
    """

    def __init__(self, session: Session, words: int) -> None:
        self.session = session
        self.words = words
        self.levels: list[StoredLevel] = []
        self.by_shard: list[Pairs] = []
        self.paths: dict[int, tuple[int, list[int]]] = {}
        self.firsts = [0]

    def append(self, level: StoredLevel, by_shard: Iterable[Pairs]) -> None:
        """Add a level, and RDDs, by shard, with the states that `self.by_shard` lacks."""
        self.levels.append(level)
        self.by_shard += by_shard
        self.firsts.append(self.firsts[-1] + level.size)

    @property
    def count(self) -> int:
        """The number of states."""
        return self.firsts[-1]

    @property
    def bytes_used(self) -> int:
        """The memory in use, in bytes: each state is stored twice, each time with predecessor and step."""
        return self.count * (16 * self.words + 16)

    def found_by(self, first: int, steps: int) -> NDArray[np.int64]:
        """For each step, the number of states that it discovered; the `first` start states do not count."""
        assert not self.levels or first == self.levels[0].size, "the search starts from a level"
        found = np.zeros(steps, np.int64)
        for level in self.levels[1:]:
            for step, count in level.by_steps.items():
                found[step] += count
        return found

    def find_paths(self, numbers: Iterable[int]) -> None:
        """Fetch the paths to these states and keep them, in case Spark is lost later.

        Raises SparkLostError.
        """
        steps: dict[int, list[int]] = {}
        wanted: dict[int, dict[int, int]] = {}
        for number in set(numbers) - self.paths.keys():
            depth = self._depth(number)
            steps[number] = []
            wanted.setdefault(depth, {})[number] = number - self.firsts[depth]
        at: dict[int, int] = {}
        for depth in range(max(wanted, default=0), 0, -1):
            at |= wanted.get(depth, {})
            links = self._links(depth, at.values())
            for number, place in at.items():
                at[number], step, _ = links[place]
                steps[number].append(step)
        at |= wanted.get(0, {})
        self.paths |= {number: (start, steps[number][::-1]) for number, start in at.items()}

    def path(self, number: int) -> tuple[int, list[int]]:
        """The position of the initial state, and the numbers of the steps, of the path to a state."""
        self.find_paths([number])
        return self.paths[number]

    def state(self, number: int) -> NDArray[np.uint64]:
        """The packed 64-bit words of a state. Raises SparkLostError."""
        depth = self._depth(number)
        place = number - self.firsts[depth]
        return np.frombuffer(self._links(depth, [place])[place][2], np.uint64)

    def _depth(self, number: int) -> int:
        return bisect_right(self.firsts, number) - 1

    def _links(self, depth: int, places: Iterable[int]) -> dict[int, Link]:
        level = self.levels[depth]
        wanted: dict[int, list[int]] = {}
        for place in sorted(set(places)):
            chunk = bisect_right(level.offsets, place) - 1
            wanted.setdefault(chunk, []).append(place - level.offsets[chunk])

        def ask() -> list[list[tuple[int, Link]]]:
            found = level.ordered.mapPartitionsWithIndex(partial(predecessors, wanted))
            return [list(self.session.context.runJob(found, list, [chunk])) for chunk in wanted]

        # In another thread: after Ctrl-C has interrupted a call to Java, a thread cannot call Java again.
        answers = run_job(self.session, ask, lambda: None)
        links: dict[int, Link] = {}
        for chunk, answer in zip(wanted, answers, strict=True):
            for place, link in answer:
                links[place + level.offsets[chunk]] = link
        return links
