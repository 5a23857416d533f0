"""The carrier for several threads: does the work of a search, with the same counts and paths as on one thread.

In:  a `SearchContext`, whose limits name the number of threads.
Out: states in the shards of the visited set, in breadth-first order; counts in the context.

A level is divided into chunks of consecutive states. In each round, every thread expands one chunk and sorts its
successors by shard; then every thread inserts the successors of its shard, chunk by chunk, in order. Threads wait for
each other between these phases and share nothing within them.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.explicit.carrier import Carrier, SearchContext
from isrcheck.checker.explicit.kernel_runner import KernelRunner
from isrcheck.checker.explicit.shards import Lane, Shards
from isrcheck.checker.explicit.single_thread import CHUNK
from isrcheck.checker.explicit.visited_set import VisitedSet
from isrcheck.checker.results.kernel_results import KernelResults

LANE_BYTES = 1 << 21
"""The size in bytes of a buffer for the successors of a chunk."""

LANES_A_THREAD = 4
"""Chunks per thread in a round: a thread that is done takes the next chunk, so that no thread waits for long."""

FIRST_CHUNK = 64
MOST_CHUNK = 1 << 14


@dataclass
class Task:
    """A chunk of consecutive states that a thread expands in its working memory (`lane`), and the progress on it.

    `locals_there` are the positions in the shards at which the chunk starts. `has_successors` is true while the working
    memory holds successors that are not inserted.
    """

    lane: int
    first: int
    size: int
    locals_there: Sequence[int]
    done: int = 0
    generated: int = 0
    has_successors: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether all states of the chunk are expanded."""
        return self.done == self.size


class Threads(Carrier):
    """Shares the work of a search among as many threads as the limits allow."""

    visited: Shards

    def __init__(self, context: SearchContext) -> None:
        super().__init__(context)
        kernel, instance = context.kernel, context.instance
        words, steps = kernel.layout.words, instance.first_steps[-1]
        self.threads = threads = context.limits.threads
        self.runner = KernelRunner(kernel)
        self.visited = Shards(words, steps, context.limits.memory, threads)
        self.lane_room = max(4 * steps, LANE_BYTES // (8 * words + 16))
        self.lanes = [Lane.of(words, self.lane_room, MOST_CHUNK, threads) for _ in range(LANES_A_THREAD * threads)]
        self.buffers = [(kernel.layout.buffer(instance), kernel.layout.buffer(instance)) for _ in self.lanes]
        self.all_fired = np.zeros((len(self.lanes), len(context.fired)), np.int64)
        self.all_results = [KernelResults(len(context.properties)) for _ in self.lanes]
        self.pool = ThreadPoolExecutor(threads)

    def __enter__(self) -> Self:
        self.pool.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.pool.shutdown()

    def _each(self, work: Callable[[int], None], numbers: Iterable[int]) -> None:
        """Run `work` once per number, in parallel; the first error is raised when all are done."""
        # A kernel that is compiled in one of the threads keeps the limit of this one.
        futures = [self.pool.submit(copy_context().run, work, number) for number in numbers]
        errors = [error for future in futures if (error := future.exception()) is not None]
        if errors:
            raise errors[0]

    # ------------------------------------------------------------------------------------------------------ levels

    @property
    def stores(self) -> Sequence[VisitedSet]:
        """The shards of the visited set."""
        return self.visited.stores

    def numbers_of(self, shard: int) -> NDArray[np.int64]:
        """The numbers of the states of a shard, in order."""
        return self.visited.numbers_of(shard)

    def start(self) -> int:
        """Insert the states that the search starts from, each as its own predecessor."""
        lane = self.lanes[0]
        for low in range(0, len(self.context.starts), self.lane_room):
            size = self.put_starts(lane.batch, low, self.lane_room)
            lane.sort(size)
            self._merge([lane])
        self.visited.close_level()
        return 0

    def _merge(self, lanes: Sequence[Lane]) -> None:
        """Insert the successors in these working memories, each shard on its own thread."""

        def take(shard: int) -> None:
            for lane in lanes:
                self.visited.stores[shard].insert(lane.routed, int(lane.bounds[shard]), int(lane.bounds[shard + 1]))

        self._each(take, range(self.threads))

    def check(self, first: int, last: int) -> None:
        """Judge the properties in the states first..last-1, each shard in pieces."""
        context = self.context
        begins, ends = self.visited.opened, self.visited.closed
        assert (first, last) == (sum(begins), sum(ends)), "only the newest level is judged"
        pieces = [
            (shard, low, min(low + CHUNK, ends[shard]))
            for shard in range(self.threads)
            for low in range(begins[shard], ends[shard], CHUNK)
        ]
        results = [KernelResults(len(context.properties)) for _ in pieces]

        def judge(number: int) -> None:
            if number < 0:
                self.visited.number_level()  # in parallel with the checks, which do not need the numbers yet
                return
            shard, low, high = pieces[number]
            states = self.visited.stores[shard].states.ctypes.data
            self.runner.check(
                states, low, high, context.kernel.layout.buffer(context.instance), context.active, results[number]
            )

        self._each(judge, range(-1, len(pieces)))
        for (shard, _, _), found in zip(pieces, results, strict=True):
            context.results.add(found, partial(self.visited.number_of, shard))
        self.is_out_of_time()

    def expand(self, first: int, last: int) -> None:
        """Expand the states first..last-1, in rounds of chunks. Raises Full."""
        locals_there: Sequence[int] = self.visited.opened
        at, free, tasks = first, deque(range(len(self.lanes))), deque[Task]()
        generated, size = 0, min(FIRST_CHUNK, MOST_CHUNK)
        while at < last or tasks:
            while free and at < last:
                end = min(at + size, last)
                tasks.append(Task(free.popleft(), at, end - at, locals_there))
                locals_there = self.visited.locals_at(end, at, locals_there)
                at = end
            generated += self._expand_chunks([task for task in tasks if not task.has_successors])
            self._take_in(tasks, free)
            if self.is_out_of_time():
                return
            self.runner.optimize_for(self.context.expanded, self.context.deadline)
            # A size for which the successors of a chunk nearly always fit in its lane.
            size = max(1, min(MOST_CHUNK, self.lane_room * (self.context.expanded - first) // max(1, 2 * generated)))
        self.visited.close_level()

    def _expand_chunks(self, tasks: Sequence[Task]) -> int:
        """Expand the rest of these chunks, as far as working memory has room; returns the number of successors."""
        self._each(lambda number: self._expand_chunk(tasks[number]), range(len(tasks)))
        generated = sum(task.generated for task in tasks)
        self.context.result.generated += generated
        self.context.fired[:] = self.all_fired.sum(axis=0)
        return generated

    def _expand_chunk(self, task: Task) -> None:
        lane = self.lanes[task.lane]
        results = self.all_results[task.lane]
        results.clear()
        if task.done == 0:
            self.visited.gather(lane.chunk, task.first, task.first + task.size, task.locals_there)
        task.done, task.generated = self.runner.expand(
            *(lane.chunk.ctypes.data, task.done, task.size, *self.buffers[task.lane], lane.batch, self.lane_room),
            *(self.all_fired[task.lane], self.context.active, results),
        )
        task.has_successors = True
        lane.batch.parents[: task.generated] += np.uint32(task.first)
        lane.sort(task.generated)

    def _take_in(self, tasks: deque[Task], free: deque[int]) -> None:
        """Insert successors in the order of the chunks, up to the first incomplete chunk; add idle lanes to `free`."""
        ready: list[Task] = []
        for task in tasks:
            ready.append(task)
            if not task.is_complete:
                break
        self._merge([self.lanes[task.lane] for task in ready])
        for task in ready:
            self.context.results.add(self.all_results[task.lane], partial(operator.add, task.first))
            self.context.expanded = task.first + task.done
            task.has_successors = False
            if task.is_complete:
                free.append(task.lane)
                tasks.popleft()
