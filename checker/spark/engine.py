"""Runs a search on Spark: a separate search of each part (checker/spark/parts.py), or one search by all executors.

A search by all executors has the same counts and paths as a search in one process. The states stay in Spark's
partitions, level by level, and tasks do the work of a level (checker/spark/level.py). The driver gets only counts, and
the paths to the states that violate or reach a property.
"""

from __future__ import annotations

import operator
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark import StorageLevel

from isrcheck.checker.compile.instance_specification import InstanceSpecification
from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.explicit.carrier import Carrier, SearchContext, SearchRequest
from isrcheck.checker.explicit.explore import Search
from isrcheck.checker.explicit.reduced_search import concluded
from isrcheck.checker.explicit.visited_set import Full
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration, Progress
from isrcheck.checker.results.kernel_results import KernelResults
from isrcheck.checker.spark.checkpoint import Checkpoints
from isrcheck.checker.spark.faults import SparkLostError
from isrcheck.checker.spark.level import Expanded, LevelTask, Link, Ordered, expand, merge, order, predecessors, scatter
from isrcheck.checker.spark.parts import explore_parts
from isrcheck.checker.spark.request import Mode, SparkRequest
from isrcheck.checker.spark.session import Session
from isrcheck.checker.spark.shuffle import PARENT, STEP, Pairs, ShuffleWriter, partitioned
from isrcheck.checker.spark.summary import SparkSummary
from isrcheck.checker.spark.tasks import require_same, run_job, source_digest, task_memory, task_statistics, values_of
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance


@dataclass
class StoredLevel:
    """A level of the search: `ordered` has its states in breadth-first order, as Arrow batches by chunk; `chunks` the
    size of each chunk; `by_steps`, for each step's number, how many states of the level the step discovered."""

    ordered: Pairs
    chunks: tuple[int, ...]
    by_steps: dict[int, int]

    @property
    def offsets(self) -> tuple[int, ...]:
        """The position of each chunk's first state within the level; the last entry is the size of the level."""
        return (0, *accumulate(self.chunks))

    @property
    def size(self) -> int:
        """The number of states in the level."""
        return sum(self.chunks)


class PartitionedStates:
    """The visited states in Spark's partitions. Each state is stored twice: in its level, in breadth-first order, and
    in the shard that its hash selects, in no order. The number of a state is its position in breadth-first order."""

    def __init__(self, session: Session, words: int) -> None:
        self.session = session
        self.words = words
        self.levels: list[StoredLevel] = []
        self.by_shard: list[Pairs] = []
        self.paths: dict[int, tuple[int, list[int]]] = {}
        self.firsts = [0]

    def append(self, level: StoredLevel, by_shard: Iterable[Pairs]) -> None:
        """Add a level, and append `by_shard` (its states, as RDDs with one partition per shard) to `self.by_shard`."""
        self.levels.append(level)
        self.by_shard += by_shard
        self.firsts.append(self.firsts[-1] + level.size)

    @property
    def count(self) -> int:
        """The number of visited states."""
        return self.firsts[-1]

    @property
    def bytes_used(self) -> int:
        """The memory in use, in bytes: each state is stored twice, each time with predecessor and step."""
        return self.count * (16 * self.words + 16)

    def found_by(self, first: int, steps: int) -> NDArray[np.int64]:
        """Return how many states each step discovered, by step number, without the start states (`first` states)."""
        assert not self.levels or first == self.levels[0].size, "the states to start from are not stored yet"
        counts = np.zeros(steps, np.int64)
        for level in self.levels[1:]:
            counts[list(level.by_steps)] += list(level.by_steps.values())
        return counts

    def find_paths(self, numbers: Iterable[int]) -> None:
        """Fetch and keep the paths to the states with these numbers now, because Spark may be lost later. Raises
        SparkLostError."""
        steps: dict[int, list[int]] = {number: [] for number in set(numbers) - self.paths.keys()}
        wanted: dict[int, dict[int, int]] = defaultdict(dict)
        for number in steps:
            depth = bisect_right(self.firsts, number) - 1
            wanted[depth][number] = number - self.firsts[depth]
        at: dict[int, int] = {}
        for depth in range(max(wanted, default=0), 0, -1):
            at |= wanted[depth]
            links = self._links(depth, at.values())
            for number, place in at.items():
                at[number], step = links[place]
                steps[number].append(step)
        at |= wanted[0]
        self.paths |= {number: (start, steps[number][::-1]) for number, start in at.items()}

    def path(self, number: int) -> tuple[int, list[int]]:
        """Return the path to a state: the number of the start state, and the numbers of the path's steps."""
        self.find_paths([number])
        return self.paths[number]

    def _links(self, depth: int, places: Iterable[int]) -> dict[int, Link]:
        level = self.levels[depth]
        wanted: dict[int, list[int]] = defaultdict(list)
        for place in sorted(set(places)):
            chunk = bisect_right(level.offsets, place) - 1
            wanted[chunk].append(place - level.offsets[chunk])

        def fetch() -> dict[int, Link]:
            links = level.ordered.mapPartitionsWithIndex(partial(predecessors, wanted))
            run = self.session.context.runJob
            return {place + level.offsets[chunk]: link for chunk in wanted for place, link in run(links, list, [chunk])}

        # In another thread: after Ctrl-C has interrupted a call to Java, a thread cannot call Java again.
        return run_job(self.session, fetch, lambda: None)


KEPT = StorageLevel.MEMORY_AND_DISK
MOST_OF_LEVEL = (1 << 32) - 1
"""The most states in a level: predecessors are stored as 32-bit numbers within their level."""

LEVELS_BETWEEN_CHECKPOINTS = 8
SECONDS_BETWEEN_CHECKPOINTS = 60.0


class OutOfTime(Exception):
    """The time limit of the search was reached during a Spark job."""


class SparkCarrier(Carrier):
    """Does the work of a search (store, expand and check states) with all executors of Spark."""

    visited: PartitionedStates

    def __init__(self, context: SearchContext, session: Session, checkpoint: str | None = None) -> None:
        super().__init__(context)
        self.session = session
        self.spark = session.context
        self.shards = self.spark.defaultParallelism
        self.task_memory = task_memory(session, context.limits.memory)
        self.lost = ""
        self.subject = InstanceSpecification.of(context.instance, context.kernel.reduction)
        self.checkpoint = checkpoint
        self.checkpoints: Checkpoints | None = None
        self.taken_up: int | None = None
        self.kept = self.portions = 0
        self.kept_at = time.monotonic()
        self.chunks: list[Ordered] = []
        self.shuffled = 0
        self.visited = PartitionedStates(session, context.kernel.layout.words)
        context.result.judged = -1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        """If Spark has failed, end the search without an exception: the result covers the search until the failure."""
        if isinstance(error, SparkLostError):
            self.context.result.stopped, self.lost = "lost", str(error)
            return True
        return False

    # ------------------------------------------------------------------------------------------------------ levels

    def finish(self) -> None:
        """Fetch the paths to all states that the search reports. If Spark is lost, drop states without a path."""
        results = self.context.results
        try:
            if not self.lost:
                self.visited.find_paths(results.first_states())
        except SparkLostError as error:
            self.lost = str(error)
            if self.context.result.stopped != "interrupt":
                self.context.result.stopped = "lost"
        if self.lost:
            # The search is undecided; a finding without a path does not count.
            results.forget(lambda state: state not in self.visited.paths)

    def _find_paths(self) -> None:
        """Fetch the paths to the violations so far, because Spark may fail later."""
        reached = [number for number, prop in self.context.properties if prop.kind is Kind.SOMETIMES]
        self.visited.find_paths(self.context.results.first_states(without_found=reached))

    def _level(self, depth: int, offsets: Sequence[int]) -> LevelTask:
        active = tuple(self.context.active.tolist())
        return LevelTask(self.subject, self.shards, self.task_memory, depth, tuple(offsets), active)

    def start(self) -> int:
        """Store the states that the search starts from as the first level, each as its own predecessor, and return 0.
        If an earlier run has left checkpoints within the depth limit, continue from the newest one, and return how many
        states are already expanded."""
        if self.checkpoint is not None:
            # The digest covers the packing of states and the numbering of steps.
            question = {"isrcheck": source_digest(), **self.context.question()}
            self.checkpoints = Checkpoints(self.session, self.checkpoint, question)
            statistics = self.checkpoints.newest(self.context.limits.depth)
            if statistics is not None:
                self._restore(self.checkpoints, statistics)
                for last in self.checkpoints.written:
                    chunks = {depth: self.visited.levels[depth].chunks for depth in range(self.kept, last + 1)}
                    whole = partial(self.checkpoints.require_whole, last, chunks)
                    run_job(self.session, whole, self.is_out_of_time)
                    self._take_up(self.checkpoints, last)
                return self.context.expanded
        words, count = self.context.kernel.layout.words, len(self.context.starts)
        outbox = ShuffleWriter(words, self.shards, count, depth=0)
        self.put_starts(outbox.batch, 0, count)
        columns = {PARENT: outbox.batch.parents, STEP: outbox.batch.steps}
        pairs = [*outbox.send(count, columns), *outbox.rest()]
        by_shard = partitioned(self.spark.parallelize(pairs, self.shards), self.shards).persist(KEPT)
        self._finish(self._level(-1, (0, count)), by_shard)
        return 0

    def expand(self, first: int, last: int) -> None:
        """Expand the states `first` to `last` - 1, the newest level, in one Spark job. Raises Full if a shard's memory
        is full, or if the next level is too large."""
        context = self.context
        newest = self.visited.levels[-1]
        level = self._level(len(self.visited.levels) - 1, newest.offsets)
        expanded, merged = task_statistics(self.spark), task_statistics(self.spark)
        successors = newest.ordered.mapPartitionsWithIndex(partial(expand, level, expanded))
        # Successors and visited states of a shard are in the same partition, so the union moves nothing.
        arriving = self.spark.union([partitioned(successors, self.shards), *self.visited.by_shard])
        assert arriving.getNumPartitions() == self.shards, "Spark has one partition for each shard"
        new = arriving.mapPartitionsWithIndex(partial(merge, level, merged), preservesPartitioning=True)
        if not self._finish(level, new.persist(KEPT)):
            return
        self.shuffled += sum(shard.bytes for shard in values_of(merged).values())
        chunks: Iterable[Expanded] = values_of(expanded).values()
        for chunk in chunks:
            context.result.generated += chunk.generated
            context.fired += np.array(chunk.fired)
            results = KernelResults.of(len(context.properties), chunk.results)
            context.results.add(results, partial(operator.add, first))
        # The results of the steps count even if there is no room for their successors.
        if any(shard.is_full for shard in values_of(merged).values()):
            raise Full
        context.expanded = last
        self._find_paths()

    def _finish(self, level: LevelTask, by_shard: Pairs) -> bool:
        """Sort the states in `by_shard`, which the tasks of `level` have discovered, and store them as the next level.
        Return True, or False if the time limit is reached first. Raises Full if the next level is too large."""
        statistics = task_statistics(self.spark)
        scattered = partitioned(by_shard.mapPartitions(partial(scatter, level)), self.shards)
        ordered = scattered.mapPartitionsWithIndex(partial(order, level, statistics), preservesPartitioning=True)
        ordered = ordered.persist(KEPT)
        try:
            run_job(self.session, ordered.count, self._look_at_the_clock)
        except OutOfTime:
            return False
        self.chunks = [chunk for _, chunk in sorted(values_of(statistics).items())]
        by_steps: Counter[int] = Counter()
        for chunk in self.chunks:
            by_steps.update(chunk.by_steps)
        stored = StoredLevel(ordered, tuple(chunk.states for chunk in self.chunks), dict(by_steps))
        if stored.size > MOST_OF_LEVEL:
            raise Full
        if stored.size:
            self.visited.append(stored, [by_shard])
        return True

    def _look_at_the_clock(self) -> None:
        if self.is_out_of_time():
            raise OutOfTime

    def check(self, first: int, last: int) -> None:
        """Add the violated and reached properties of the newest level (states `first` to `last` - 1) to the results of
        the search. Tasks checked these states when they sorted the level."""
        if not self.visited.levels:  # time was over before the first level was complete
            return
        offsets = self.visited.levels[-1].offsets
        assert last - first == offsets[-1], "only the newest level is judged"
        for offset, chunk in zip(offsets, self.chunks, strict=False):
            results = KernelResults.of(len(self.context.properties), chunk.results)
            self.context.results.add(results, partial(operator.add, first + offset))
        self._find_paths()

    # ------------------------------------------------------------------------------------------------- checkpoints

    def close_level(self) -> None:
        """If the last checkpoint is 8 levels or 60 s old, write a new one. From then on, the levels in the new
        checkpoint are read from the checkpoint folder."""
        levels = self.visited.levels
        since = len(levels) - self.kept
        is_late = time.monotonic() - self.kept_at > SECONDS_BETWEEN_CHECKPOINTS
        if self.checkpoints is None or not since or (since < LEVELS_BETWEEN_CHECKPOINTS and not is_late):
            return
        new = {depth: levels[depth].ordered for depth in range(self.kept, len(levels))}
        statistics = {
            "shards": self.shards,
            "levels": [[level.chunks, sorted(level.by_steps.items())] for level in levels],
            **self.context.counts(),
            "shuffled": self.shuffled,
            "chunks": [[chunk.states, chunk.results] for chunk in self.chunks],
            "paths": [[number, *path] for number, path in self.visited.paths.items()],
        }
        checkpoints = self.checkpoints
        chunks = {depth: levels[depth].chunks for depth in new}
        run_job(self.session, lambda: checkpoints.write(new, chunks, statistics), self.is_out_of_time)
        for pairs in (*new.values(), *self.visited.by_shard[self.portions :]):
            pairs.unpersist()
        del self.visited.by_shard[self.portions :]
        self._take_up(checkpoints, len(levels) - 1)
        for depth in new:
            levels[depth].ordered = checkpoints.ordered(depth, self.shards)

    def _take_up(self, checkpoints: Checkpoints, last: int) -> None:
        """Load the states in the checkpoint at depth `last` (levels since the previous checkpoint) into the shards."""
        self.visited.by_shard.append(checkpoints.by_shard(last, self.shards).persist(KEPT))
        self.portions, self.kept, self.kept_at = len(self.visited.by_shard), last + 1, time.monotonic()

    def _restore(self, checkpoints: Checkpoints, statistics: Mapping[str, Any]) -> None:
        """Restore the levels and results of an earlier run; `check` later adds the results of the newest level."""
        self.shards, self.taken_up = statistics["shards"], checkpoints.written[-1]
        for depth, (chunks, by_steps) in enumerate(statistics["levels"]):
            stored = StoredLevel(checkpoints.ordered(depth, self.shards), tuple(chunks), dict(by_steps))
            self.visited.append(stored, [])
        self.context.restore(statistics)
        self.shuffled = statistics["shuffled"]
        self.chunks = [Ordered(states, {}, tuple(results)) for states, results in statistics["chunks"]]
        self.visited.paths = {number: (start, steps) for number, start, steps in statistics["paths"]}
        self.context.expanded = self.visited.firsts[-2]


def explore_on_spark(
    session: Session,
    options: SparkRequest,
    instance: Instance,
    limits: Limits,
    kernel: Kernel,
    *,
    count_all: bool,
    report: Callable[[Progress], None],
) -> tuple[Exploration, SparkSummary]:
    """Search an instance within limits, and return the result and how Spark divided the work. The time limit does not
    include the start of Spark. If Spark fails during the search, the result covers the search until the failure. Raises
    UsageError, for example if an executor has other code than the driver."""
    require_same(session)
    request, spread = SearchRequest(count_all=count_all), None

    def search_with(kernel: Kernel, limits: Limits) -> Exploration:
        nonlocal spread
        if options.mode is Mode.SEARCH:
            context = SearchContext(instance, limits, kernel, request, report)
            carrier = SparkCarrier(context, session, options.checkpoint)
            exploration = Search(context, carrier).run()
            division = Mode.SEARCH, session.master, carrier.spark.defaultParallelism, carrier.shards
            spread = SparkSummary(*division, shuffled=carrier.shuffled, taken_up=carrier.taken_up, lost=carrier.lost)
            return exploration

        def prepared(limits: Limits, enough: int | None) -> SearchContext:
            return SearchContext(instance, limits, kernel, replace(request, enough=enough))

        exploration, spread = explore_parts(session, prepared, limits, options.split_depth, report)
        return exploration

    exploration = concluded(search_with, kernel, limits)
    assert spread is not None
    return exploration, replace(spread, start_seconds=session.start_seconds)
