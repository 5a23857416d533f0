"""The states of a search that is spread over executors: where its levels are, and what can be asked about them.

In:  levels, one after the other. Out: counts, and the paths that lead to states, which only Spark has.
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
class Stored:
    """A level: its states in order, chunk by chunk, how many each chunk has, and how many each step gave."""

    ordered: Pairs
    chunks: tuple[int, ...]
    by_steps: dict[int, int]

    @property
    def offsets(self) -> tuple[int, ...]:
        """At which number in the level each chunk begins, and where the last one ends."""
        return (0, *accumulate(self.chunks))

    @property
    def size(self) -> int:
        """How many states it has."""
        return sum(self.chunks)


class SpreadStates:
    """The states of a search in Spark's partitions, level by level; and again by shard, in no order.

    A state's number is its place in the search.
    """

    def __init__(self, session: Session, words: int) -> None:
        self.session = session
        self.words = words
        self.levels: list[Stored] = []
        self.by_shard: list[Pairs] = []
        self.paths: dict[int, tuple[int, list[int]]] = {}
        self.firsts = [0]

    def append(self, level: Stored, by_shard: Iterable[Pairs]) -> None:
        """One more level; and by shard, what is not there by shard yet."""
        self.levels.append(level)
        self.by_shard += by_shard
        self.firsts.append(self.firsts[-1] + level.size)

    @property
    def count(self) -> int:
        """How many states there are."""
        return self.firsts[-1]

    @property
    def bytes_used(self) -> int:
        """What is kept of them: each stands in order and by shard, with its predecessor and step."""
        return self.count * (16 * self.words + 16)

    def found_by(self, first: int, steps: int) -> NDArray[np.int64]:
        """How many states each of so many steps has found; the `first` ones are there from the start."""
        assert not self.levels or first == self.levels[0].size, "the search starts from a level"
        found = np.zeros(steps, np.int64)
        for level in self.levels[1:]:
            for step, count in level.by_steps.items():
                found[step] += count
        return found

    def find_paths(self, numbers: Iterable[int]) -> None:
        """Ask for the paths to these states, all together; Spark may be lost by the time that they are needed.

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
        """The initial state (its number) and the numbers of the steps that lead from it to a state."""
        self.find_paths([number])
        return self.paths[number]

    def state(self, number: int) -> NDArray[np.uint64]:
        """The words of a state."""
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

        # In a thread of its own: one that Ctrl-C has torn out of a talk with Java cannot talk to it any more.
        answers = run_job(self.session, ask, lambda: None)
        links: dict[int, Link] = {}
        for chunk, answer in zip(wanted, answers, strict=True):
            for place, link in answer:
                links[place + level.offsets[chunk]] = link
        return links
