"""One search that is spread over executors, level by level: the same counts and paths as in one process.

In:  an instance, limits, a Spark context. Out: an `Exploration`.

It is the search of checker/explore.py with other hands: what a level takes, checker/spark/level.py does in tasks, and
the states stay in Spark's partitions. The driver sees statistics, and at the end the paths that it asks for.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark import RDD, StorageLevel

from checker.explore import Limits, Progress, Search
from checker.kernel import Kernel
from checker.shards import Lane
from checker.spark.faults import SparkLostError, explained
from checker.spark.level import Expanded, Level, Link, Ordered, expand, merge, order, predecessors, routed, scatter
from checker.spark.outbox import Outbox
from checker.spark.session import Session
from checker.spark.subject import Subject
from checker.spark.told import run_job, told_by, values_of
from checker.spread import Mode, Spread
from checker.store import Full
from models.language.declare import Kind
from models.language.model import Instance

Pairs = RDD[tuple[int, bytes]]
KEPT = StorageLevel.MEMORY_AND_DISK
MOST_OF_LEVEL = (1 << 32) - 1
"""Predecessors are known by their numbers in their level, in 32 bits."""


@dataclass
class Stored:
    """A level: its states in order, chunk by chunk, and where each chunk begins; and again by shard."""

    ordered: Pairs
    by_shard: Pairs
    offsets: tuple[int, ...]
    by_steps: NDArray[np.int64]

    @property
    def size(self) -> int:
        """How many states it has."""
        return self.offsets[-1]


class SpreadStates:
    """The states of a search, level by level, in Spark's partitions; a state's number is its place in the search."""

    def __init__(self, session: Session, words: int) -> None:
        self.session = session
        self.words = words
        self.levels: list[Stored] = []
        self.paths: dict[int, tuple[int, list[int]]] = {}
        self.firsts = [0]

    def append(self, level: Stored) -> None:
        """One more level."""
        self.levels.append(level)
        self.firsts.append(self.firsts[-1] + level.size)

    @property
    def count(self) -> int:
        """How many states there are."""
        return self.firsts[-1]

    @property
    def bytes_used(self) -> int:
        """What is kept of them: each stands once in order, with its predecessor and step, and once by shard."""
        return self.count * (16 * self.words + 16)

    def found_by(self, first: int, steps: int) -> NDArray[np.int64]:
        """How many states each of so many steps has found; the `first` ones are there from the start."""
        assert first == self.levels[0].size, "the search starts from a level"
        found = np.zeros(steps, np.int64)
        for level in self.levels[1:]:
            found += level.by_steps
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
        found = level.ordered.mapPartitionsWithIndex(partial(predecessors, wanted))
        links: dict[int, Link] = {}
        for chunk in wanted:
            with explained(self.session.evidence):
                for place, link in self.session.context.runJob(found, list, [chunk]):
                    links[place + level.offsets[chunk]] = link
        return links


class OutOfTime(Exception):
    """The seconds that a search was given are over, in the middle of a job."""


class SpreadSearch(Search):
    """One search over all executors."""

    store: SpreadStates

    def __init__(
        self,
        instance: Instance,
        limits: Limits,
        kernel: Kernel,
        report: Callable[[Progress], None],
        session: Session,
    ) -> None:
        self.session = session
        self.context = session.context
        self.shards = self.context.defaultParallelism
        self.lost = ""
        self.subject = Subject.of(instance)
        self.steps = instance.first_steps[-1]
        self.chunks: list[Ordered] = []
        self.shuffled = 0
        super().__init__(instance, limits, kernel, report)

    def new_store(self, words: int, steps: int, memory: int) -> Any:
        """The states are kept by Spark, which has its own idea of memory."""
        del steps, memory
        return SpreadStates(self.session, words)

    def spread(self) -> Spread:
        """How the search was divided."""
        return Spread(
            Mode.SEARCH, self.session.master, self.shards, self.shards, shuffled=self.shuffled, lost=self.lost
        )

    # ------------------------------------------------------------------------------------------------------ levels

    def _levels(self) -> None:
        try:
            super()._levels()
        except SparkLostError as error:
            self.result.stopped, self.lost = "lost", str(error)

    def _settle(self, of_steps: bool) -> None:
        """Also asks for the paths to what broke a promise, or would have, as long as Spark has them."""
        self.store.find_paths(
            int(self.results[at + 1])
            for number, prop in self.properties
            for at in (6 * number, 6 * number + 3)
            if self.results[at] and prop.kind is not Kind.SOMETIMES
        )
        super()._settle(of_steps)

    def _collect(self) -> None:
        try:
            self.store.find_paths(int(self.results[at + 1]) for at in self._found())
        except SparkLostError as error:
            self.result.stopped, self.lost = "lost", self.lost or str(error)
            # What there is no path to counts as not found, in a search that is undecided.
            for at in self._found():
                if int(self.results[at + 1]) not in self.store.paths:
                    self.results[at] = 0
        super()._collect()

    def _found(self) -> list[int]:
        """Where in the results something stands."""
        return [at for at in range(0, 6 * len(self.properties), 3) if self.results[at]]

    def _level(self, depth: int, offsets: Sequence[int]) -> Level:
        active = tuple(int(one) for one in self.active[:-1])
        return Level(self.subject, self.shards, self.limits.memory // self.shards, depth, tuple(offsets), active)

    def _start(self) -> None:
        """The states that the search starts from are a level of their own, each its own predecessor."""
        words, count = self.kernel.layout.words, len(self.starts)
        lane, outbox = Lane.of(words, count, 0, self.shards), Outbox(words, self.shards, depth=0)
        self._put(lane.batch, 0, count)
        pairs = [*routed(lane, outbox, words, count, self.shards), *outbox.rest()]
        by_shard = self._carried(self.context.parallelize(pairs, self.shards)).persist(KEPT)
        self._finish(self._level(-1, (0, count)), by_shard)

    def _expand(self, first: int, last: int) -> None:
        known = self.store.levels
        level = self._level(len(known) - 1, known[-1].offsets)
        expanded, merged = told_by(self.context), told_by(self.context)
        successors = known[-1].ordered.mapPartitionsWithIndex(partial(expand, level, expanded))
        # What arrives at a shard, and what it has seen, stand in the same partition: nothing of it moves.
        arriving = self.context.union([self._carried(successors), *(one.by_shard for one in known)])
        assert arriving.getNumPartitions() == self.shards, "a shard is a partition"
        new = arriving.mapPartitionsWithIndex(partial(merge, level, merged), preservesPartitioning=True)
        if not self._finish(level, new.persist(KEPT)):
            return
        if any(shard.is_full for shard in values_of(merged).values()):
            raise Full
        self.shuffled += sum(shard.bytes for shard in values_of(merged).values())
        chunks: list[Expanded] = list(values_of(expanded).values())
        failed = [chunk.failed for chunk in chunks if chunk.failed is not None]
        if failed:
            self._explain_failure(first + min(failed))
        self.result.generated += sum(chunk.generated for chunk in chunks)
        for chunk in chunks:
            self.fired += np.array(chunk.fired)
            self._add_results(np.array(chunk.results), partial(operator.add, first))
        self.expanded = last
        self._settle(of_steps=True)

    def _carried(self, pairs: Pairs) -> Pairs:
        """Each blob to the partition that is named beside it."""
        return pairs.partitionBy(self.shards, _itself)

    def _finish(self, level: Level, by_shard: Pairs) -> bool:
        """Put the new states in order, and keep them; False where time is over before that is done."""
        told = told_by(self.context)
        scattered = self._carried(by_shard.mapPartitions(partial(scatter, level)))
        ordered = scattered.mapPartitionsWithIndex(partial(order, level, told), preservesPartitioning=True)
        ordered = ordered.persist(KEPT)
        try:
            run_job(self.session, ordered.count, self._look_at_the_clock)
        except OutOfTime:
            return False
        chunks: dict[int, Ordered] = dict(values_of(told))
        self.chunks = [chunks[number] for number in range(self.shards)]
        offsets = tuple(int(one) for one in np.cumsum([0, *(chunk.states for chunk in self.chunks)]))
        if offsets[-1] > MOST_OF_LEVEL:
            raise Full
        if offsets[-1]:
            self.store.append(Stored(ordered, by_shard, offsets, _sum_by_steps(self.chunks, self.steps)))
        return True

    def _look_at_the_clock(self) -> None:
        if self._out_of_time():
            raise OutOfTime

    def _look(self, first: int, last: int) -> None:
        offsets = self.store.levels[-1].offsets
        assert last - first == offsets[-1], "only the newest level is looked at"
        failed = [
            offset + chunk.failed
            for offset, chunk in zip(offsets, self.chunks, strict=False)
            if chunk.failed is not None
        ]
        if failed:
            self._explain_failure(first + min(failed))
        for offset, chunk in zip(offsets, self.chunks, strict=False):
            self._add_results(np.array(chunk.results), partial(operator.add, first + offset))
        self._settle(of_steps=False)


def _sum_by_steps(chunks: Sequence[Ordered], steps: int) -> NDArray[np.int64]:
    total = np.zeros(steps, np.int64)
    for chunk in chunks:
        for step, count in chunk.by_steps.items():
            total[step] += count
    return total


def _itself(number: int) -> int:
    return number
