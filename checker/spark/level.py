"""The tasks of one level of a search on Spark: expand, merge, scatter and order.

The visited states are divided by hash into shards, and each level into chunks of consecutive states, one chunk per
shard. A task *expands* a chunk, and sends each successor to the shard that the successor's hash selects. A shard
*merges* the successors: it removes visited states. It *scatters* the new states to the chunks of the next level; the
number of a state's predecessor selects the chunk. Each new chunk is *ordered* by predecessor and step. So each state is
reached by the same path as in a search in one process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.instance_specification import InstanceSpecification
from isrcheck.checker.explicit.carrier import KernelRunner
from isrcheck.checker.explicit.visited_set import Full, VisitedSet
from isrcheck.checker.results.kernel_results import KernelResults
from isrcheck.checker.spark.shuffle import PARENT, STEP, Blob, ShardIntake, ShuffleWriter, pack, unpack
from isrcheck.checker.spark.tasks import TaskStatistics

EXPANDED = 1 << 12
"""The most states that one call of the kernel expands."""

LANE_BYTES = 1 << 22
BLOB_STATES = 1 << 16
"""The most states in an Arrow batch of a sorted chunk."""

Blobs = Iterable[tuple[int, bytes]]
"""Pairs: the number of a chunk or shard, and an Arrow batch of its states."""

Link = tuple[int, int]
"""How a state was reached: the number of its predecessor in the previous level, and the step."""


@dataclass(frozen=True)
class LevelTask:
    """The input of the tasks of a level: the instance, the number of shards, the chunks, the undecided properties.

    `memory` limits each task, in bytes. `depth` is the depth of the states to expand. `offsets` has the number of each
    chunk's first state, then the size of the level. `active` has a 1 for each undecided property and a 0 for each
    decided property; the last entry is the implicit property `deadlock`.
    """

    subject: InstanceSpecification
    shards: int
    memory: int
    depth: int
    offsets: tuple[int, ...]
    active: tuple[int, ...]


@dataclass(frozen=True)
class Expanded:
    """The report of a task that has expanded a chunk: the number of successors (`generated`), how often each action was
    taken (`fired`), and the results of properties (`KernelResults.words`, with states numbered within the level)."""

    generated: int
    fired: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class Merged:
    """The report of a task that has merged a shard: the bytes of received successors; whether its memory was full."""

    bytes: int
    is_full: bool


@dataclass(frozen=True)
class Ordered:
    """The report of a task that has sorted a chunk: the number of states, how many states each step discovered, and the
    results of properties (`KernelResults.words`, with states numbered within the chunk)."""

    states: int
    by_steps: Mapping[int, int]
    results: tuple[int, ...]


class _Work:
    def __init__(self, level: LevelTask) -> None:
        self.instance, kernel = level.subject.instance(), level.subject.kernel()
        self.words = kernel.layout.words
        self.runner = KernelRunner(kernel, self.instance)
        self.active = np.array(level.active, np.int8)
        self.results = KernelResults(len(level.active) - 1)
        self.fired: NDArray[np.int64] = np.zeros(len(self.instance.model.actions), np.int64)


def expand(level: LevelTask, statistics: TaskStatistics, chunk: int, ordered: Blobs) -> Iterator[tuple[int, bytes]]:
    """Expand every state of a chunk, and yield the successors, with predecessor and step, as Arrow batches by shard."""
    work = _Work(level)
    words, steps = work.words, work.instance.first_steps[-1]
    room = max(4 * steps, LANE_BYTES // (8 * words + 16))
    outbox = ShuffleWriter(words, level.shards, room, origin=chunk, depth=level.depth + 1)
    batch = outbox.batch
    generated, first = 0, level.offsets[chunk]
    for _, packed in ordered:
        blob = unpack(packed)
        # A virtual origin of the whole level, so that states are addressed by their numbers in it.
        origin = blob.states.ctypes.data - 8 * words * first
        at, last = first, first + blob.size
        while at < last:
            end, counts = min(at + EXPANDED, last), (work.fired, work.active, work.results)
            at, count = work.runner.expand(origin, at, end, batch, *counts)
            generated += count
            yield from outbox.send(count, {PARENT: batch.parents, STEP: batch.steps})
        first = last
    yield from outbox.rest()
    statistics.add({chunk: Expanded(generated, tuple(work.fired.tolist()), work.results.words)})


def merge(level: LevelTask, statistics: TaskStatistics, shard: int, arriving: Blobs) -> Iterator[tuple[int, bytes]]:
    """Yield the successors that a shard has not visited before, in the order of their predecessors. `arriving` has
    first all successors, then the states that the shard has visited."""
    instance, kernel = level.subject.instance(), level.subject.kernel()
    words = kernel.layout.words
    visited = VisitedSet(words, instance.first_steps[-1], level.memory)
    waiting: list[Blob] = []
    is_known: NDArray[np.bool_] | None = None
    size = 0
    try:
        for _, packed in arriving:
            blob = unpack(packed)
            if blob.about["depth"] > level.depth:
                assert is_known is None, "successors come before the visited states"
                waiting.append(blob)
                size += len(packed)
                continue
            if is_known is None:
                is_known = _take_in_order(visited, waiting)
            places = visited.places_of(blob.states)
            is_known[places[places >= 0]] = True
        if is_known is None:
            is_known = _take_in_order(visited, waiting)
    except Full:
        statistics.add({shard: Merged(size, is_full=True)})
        return
    new = np.flatnonzero(~is_known)
    statistics.add({shard: Merged(size, is_full=False)})
    rows = visited.states[: visited.count * words].reshape(-1, words)
    for low in range(0, len(new), BLOB_STATES):
        part = new[low : low + BLOB_STATES]
        columns = {PARENT: visited.parents[part], STEP: visited.steps[part]}
        yield shard, pack(words, rows[part].reshape(-1), columns, depth=level.depth + 1)


def _take_in_order(visited: VisitedSet, waiting: list[Blob]) -> NDArray[np.bool_]:
    """Insert the successors into an empty visited set, in the order of their predecessors. Return an array with a False
    for each distinct successor; `merge` changes it to True if the shard has visited the state before."""
    arrivals = ShardIntake(visited)
    for blob in sorted(waiting, key=lambda blob: (blob.about["origin"], blob.about["number"])):
        arrivals.take(blob)
    waiting.clear()
    return np.zeros(visited.count, bool)


def scatter(level: LevelTask, new: Blobs) -> Iterator[tuple[int, bytes]]:
    """Yield a shard's new states by chunk of the next level; the number of a state's predecessor selects the chunk."""
    total = level.offsets[-1]
    cuts = np.array([-(-chunk * total // level.shards) for chunk in range(level.shards + 1)])
    for _, packed in new:
        blob = unpack(packed)
        bounds = np.searchsorted(blob.columns[PARENT], cuts)
        rows = blob.states.reshape(-1, blob.words)
        for chunk in range(level.shards):
            part = slice(int(bounds[chunk]), int(bounds[chunk + 1]))
            if part.start < part.stop:
                columns = {name: column[part] for name, column in blob.columns.items()}
                yield chunk, pack(blob.words, rows[part].reshape(-1), columns)


def order(level: LevelTask, statistics: TaskStatistics, chunk: int, arriving: Blobs) -> Iterator[tuple[int, bytes]]:
    """Sort a new chunk by predecessor and step, check properties in its states, and yield it as Arrow batches."""
    work, blobs = _Work(level), [unpack(packed) for _, packed in arriving]
    words = work.words
    if not blobs:
        statistics.add({chunk: Ordered(0, {}, work.results.words)})
        return
    parents, steps = (np.concatenate([blob.columns[name] for blob in blobs]) for name in (PARENT, STEP))
    sorting = np.argsort(parents.astype(np.uint64) << np.uint64(32) | steps, kind="stable")
    states = np.concatenate([blob.states for blob in blobs]).reshape(-1, words)[sorting].reshape(-1)
    parents, steps = parents[sorting], steps[sorting]
    work.runner.check(states.ctypes.data, 0, len(sorting), work.active, work.results)
    counts = np.bincount(steps)
    by_steps = {int(step): int(counts[step]) for step in np.flatnonzero(counts)}
    statistics.add({chunk: Ordered(len(sorting), by_steps, work.results.words)})
    for low in range(0, len(sorting), BLOB_STATES):
        part = slice(low, low + BLOB_STATES)
        columns = {PARENT: parents[part], STEP: steps[part]}
        yield chunk, pack(words, states[low * words : (low + BLOB_STATES) * words], columns, first=low)


def predecessors(wanted: Mapping[int, Sequence[int]], chunk: int, ordered: Blobs) -> Iterator[tuple[int, Link]]:
    """Yield the position and the `Link` (predecessor and step) of each wanted state of a chunk. `wanted` has, for each
    chunk, the positions of the wanted states. The function reads all input, because Spark does not reuse a Python
    process that has left input unread."""
    for _, packed in ordered:
        blob = unpack(packed)
        for place in wanted[chunk]:
            at = place - blob.about["first"]
            if 0 <= at < blob.size:
                yield place, (int(blob.columns[PARENT][at]), int(blob.columns[STEP][at]))
