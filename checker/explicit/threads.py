"""Runs a search on several threads, with the same counts and paths as on one thread.

The visited set is divided into shards, one per thread; a state's hash decides in which shard it is. A level is divided
into chunks of consecutive states. In each round, every thread expands one chunk and sorts its successors by shard; then
every thread inserts the successors of its shard, chunk by chunk, in order. Threads wait for each other between these
two phases, and share no data within them.

A state's number is its place in breadth-first order, as in a single visited set. The states of a level are numbered
when the level is complete: within a shard, states are in the order of their first predecessors, so one merge of the
shards yields the order of all states. The shard of each state is stored in one byte.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, takewhile
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile import hash_table
from isrcheck.checker.compile.machine_code import addresses, as_machine_code
from isrcheck.checker.explicit.carrier import CHUNK, Carrier, KernelRunner, SearchContext
from isrcheck.checker.explicit.visited_set import MOST_STATES, Batch, RecentStates, VisitedSet, reserve
from isrcheck.checker.results.kernel_results import KernelResults

T = TypeVar("T")


@dataclass
class Lane:
    """The working memory for one chunk: its states, which a thread expands, and their successors.

    `routed` has the same successors as `batch`, but `kept` and `hashes` are sorted by shard: those of shard s are at
    bounds[s]..bounds[s+1]-1.
    """

    chunk: NDArray[np.uint64]
    batch: Batch
    recent: RecentStates
    routed: Batch
    bounds: NDArray[np.int64]

    @classmethod
    def of(cls, words: int, room: int, chunk: int, shards: int) -> Lane:
        """Working memory with room for a chunk of `chunk` states and `room` successors."""
        batch = Batch.of(room, words)
        routed = replace(batch, kept=np.empty(room, np.uint32), hashes=np.empty(room, np.uint64))
        bounds = np.zeros(shards + 1, np.int64)
        return cls(np.empty(chunk * words, np.uint64), batch, RecentStates(words), routed, bounds)

    def sort(self, size: int) -> None:
        """From the first `size` successors, remove repetitions of recent successors; sort the rest by shard."""
        kept = self.recent.sift(self.batch, size)
        sifted, routed = self.batch.at, self.routed.at
        shards, bounds = len(self.bounds) - 1, self.bounds.ctypes.data
        route = as_machine_code(hash_table.route)
        route(sifted.kept, sifted.hashes, kept, shards, routed.kept, routed.hashes, bounds)


class Shards:
    """The visited states in shards, within a memory limit in bytes. The states of a level are numbered together.

    In shard s, the states of the newest complete level have the positions opened[s]..closed[s]-1.
    """

    def __init__(self, words: int, steps: int, memory: int, shards: int) -> None:
        self.words = words
        self.stores = [VisitedSet(words, steps, memory // shards) for _ in range(shards)]
        for store in self.stores:
            store.bytes_of_state += 1  # the shard of the state
        self.owners: NDArray[np.uint8] = reserve(min(MOST_STATES, sum(store.room for store in self.stores)), np.uint8)
        self.numbered = 0
        self.opened = [0] * shards
        self.closed = [0] * shards

    @property
    def count(self) -> int:
        """The number of states, including those of the newest level, which may not be numbered yet."""
        return sum(store.count for store in self.stores)

    @property
    def bytes_used(self) -> int:
        """The memory in use, in bytes."""
        return sum(store.bytes_used for store in self.stores)

    def close_level(self) -> None:
        """End a level: the states inserted since the last call. `number_level` gives them their numbers later."""
        self.opened, self.closed = self.closed, [store.count for store in self.stores]

    def number_level(self) -> None:
        """Number the states of the newest level."""
        keys = [
            (store.parents[opened:closed].astype(np.uint64) << np.uint64(32)) | store.steps[opened:closed]
            for store, opened, closed in zip(self.stores, self.opened, self.closed, strict=True)
        ]
        bounds = np.cumsum([0, *map(len, keys)], dtype=np.int64)
        sorted_keys, heads, count = np.concatenate(keys), bounds.copy(), int(bounds[-1])
        arrays, owners = addresses(sorted_keys, heads, bounds[1:]), self.owners[self.numbered :]
        as_machine_code(hash_table.interleave)(*arrays, len(self.stores), owners.ctypes.data, count)
        self.numbered += count

    def locals_at(self, number: int, earlier: int, locals_there: Sequence[int]) -> list[int]:
        """Count each shard's states with numbers below `number`; `locals_there` has these counts for `earlier`."""
        owners = self.owners[earlier:number]
        return [int(np.count_nonzero(owners == shard)) + before for shard, before in enumerate(locals_there)]

    def gather(self, chunk: NDArray[np.uint64], first: int, last: int, locals_there: Sequence[int]) -> None:
        """Copy states first..last-1 into a chunk; in shard s, these states begin at position locals_there[s]."""
        pick, owners, into = as_machine_code(hash_table.pick), self.owners.ctypes.data, chunk.ctypes.data
        for shard, store in enumerate(self.stores):
            pick(store.states.ctypes.data, self.words, locals_there[shard], owners, first, last, shard, into)

    def number_of(self, shard: int, local: int) -> int:
        """Return the number of a state of the newest level: the state at position `local` of the shard."""
        return self._number_since(sum(self.opened), shard, local - self.opened[shard])

    def numbers_of(self, shard: int) -> NDArray[np.int64]:
        """The numbers of the states of a shard, in order."""
        return np.flatnonzero(self.owners[: self.numbered] == shard)

    def _number_since(self, first: int, shard: int, local: int) -> int:
        """Return the number of the state at index `local` in the list of a shard's states numbered from `first` on."""
        return first + int(np.flatnonzero(self.owners[first : self.numbered] == shard)[local])

    def found_by(self, first: int, steps: int) -> NDArray[np.int64]:
        """For each step number, how many states that step discovered, not counting the first `first` states."""
        counts: NDArray[np.int64] = np.sum([store.found_by(0, steps) for store in self.stores], axis=0)
        counts[:1] -= min(first, self.count)  # a model may have no step at all
        return counts

    def states_at(self, numbers: Iterable[int]) -> Iterator[NDArray[np.uint64]]:
        """The packed words of the states with these numbers, which must be ascending."""
        earlier, locals_there = 0, [0] * len(self.stores)
        for number in numbers:
            locals_there = self.locals_at(number, earlier, locals_there)
            earlier, shard = number, int(self.owners[number])
            yield self.stores[shard].state(locals_there[shard])

    def first_where(self, is_match: Callable[[NDArray[np.uint64]], NDArray[np.bool_]]) -> int | None:
        """The number of the first state that matches; `is_match` gets packed states as rows."""
        locals_of_first = [(shard, store.first_where(is_match)) for shard, store in enumerate(self.stores)]
        numbers = (self._number_since(0, shard, local) for shard, local in locals_of_first if local is not None)
        return min(numbers, default=None)

    def path(self, number: int) -> tuple[int, list[int]]:
        """The path to a state: the number of its initial state, and the numbers of its steps."""
        steps: list[int] = []
        while True:
            shard = int(self.owners[number])
            store, local = self.stores[shard], int(np.count_nonzero(self.owners[:number] == shard))
            parent = int(store.parents[local])
            if parent == number:
                return number, steps[::-1]
            steps.append(int(store.steps[local]))
            number = parent


LANE_BYTES = 1 << 21
"""The size in bytes of a buffer for the successors of a chunk."""

LANES_A_THREAD = 4
"""Chunks per thread in a round: a thread that is done takes the next chunk, so that no thread waits for long."""

FIRST_CHUNK = 64
MOST_CHUNK = 1 << 14


@dataclass
class Task:
    """A chunk of consecutive states that a thread expands, and how many of the chunk's states are expanded."""

    lane: int
    """The working memory in which it is expanded."""
    first: int
    size: int
    locals_there: Sequence[int]
    """The positions in the shards at which the chunk starts."""
    done: int = 0
    """The number of the chunk's states that are expanded."""
    generated: int = 0
    """The number of successors in the working memory."""
    has_successors: bool = False
    """Whether the working memory holds successors that are not inserted."""

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
        self.runner = KernelRunner(kernel, instance)
        self.visited = Shards(words, steps, context.limits.memory, threads)
        self.lane_room = max(4 * steps, LANE_BYTES // (8 * words + 16))
        self.lanes = [Lane.of(words, self.lane_room, MOST_CHUNK, threads) for _ in range(LANES_A_THREAD * threads)]
        self.all_fired = np.zeros((len(self.lanes), len(context.fired)), np.int64)
        self.all_results = [KernelResults(len(context.properties)) for _ in self.lanes]
        self.pool = ThreadPoolExecutor(threads)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.pool.shutdown()

    def _each(self, work: Callable[[T], None], items: Iterable[T]) -> None:
        """Run `work` for every item, in parallel; when all calls have ended, raise the first error, if any."""
        # A kernel that is compiled in one of the threads keeps the limit of this one.
        futures = [self.pool.submit(copy_context().run, work, item) for item in items]
        wait(futures)
        for future in futures:
            future.result()

    # ------------------------------------------------------------------------------------------------------ levels

    @property
    def stores(self) -> Sequence[VisitedSet]:
        """The shards of the visited set."""
        return self.visited.stores

    def start(self) -> int:
        """Insert the states that the search starts from; the predecessor of each is the state itself."""
        lane = self.lanes[0]
        for low in range(0, len(self.context.starts), self.lane_room):
            size = self.put_starts(lane.batch, low, self.lane_room)
            lane.sort(size)
            self._merge([lane])
        self.visited.close_level()
        return 0

    def _merge(self, lanes: Sequence[Lane]) -> None:

        def take(shard: int) -> None:
            for lane in lanes:
                self.visited.stores[shard].insert(lane.routed, int(lane.bounds[shard]), int(lane.bounds[shard + 1]))

        self._each(take, range(self.threads))

    def check(self, first: int, last: int) -> None:
        """Evaluate the properties in states first..last-1, the newest level, shard by shard, and number the states."""
        context = self.context
        begins, ends = self.visited.opened, self.visited.closed
        assert (first, last) == (sum(begins), sum(ends)), "only the newest level is judged"
        pieces = [
            (shard, low, min(low + CHUNK, end))
            for shard, (begin, end) in enumerate(zip(begins, ends, strict=True))
            for low in range(begin, end, CHUNK)
        ]
        results = [KernelResults(len(context.properties)) for _ in pieces]

        def judge(number: int) -> None:
            if number < 0:
                self.visited.number_level()  # in parallel with the checks, which do not need the numbers yet
                return
            shard, low, high = pieces[number]
            states = self.visited.stores[shard].states.ctypes.data
            self.runner.check(states, low, high, context.active, results[number])

        self._each(judge, range(-1, len(pieces)))
        for (shard, _, _), of_piece in zip(pieces, results, strict=True):
            context.results.add(of_piece, partial(self.visited.number_of, shard))
        self.is_out_of_time()

    def expand(self, first: int, last: int) -> None:
        """Insert the successors of states first..last-1, in rounds; a thread expands a chunk at a time. Raises Full."""
        context, locals_there = self.context, list(self.visited.opened)
        at, free, tasks = first, deque(range(len(self.lanes))), deque[Task]()
        generated, size = 0, min(FIRST_CHUNK, MOST_CHUNK)
        while at < last or tasks:
            while free and at < last:
                end = min(at + size, last)
                tasks.append(Task(free.popleft(), at, end - at, locals_there))
                locals_there = self.visited.locals_at(end, at, locals_there)
                at = end
            waiting = [task for task in tasks if not task.has_successors]
            self._each(self._expand_chunk, waiting)
            of_round = sum(task.generated for task in waiting)
            generated += of_round
            context.result.generated += of_round
            context.fired[:] = self.all_fired.sum(axis=0)
            self._take_in(tasks, free)
            if self.is_out_of_time():
                return
            self.runner.optimize_for(context.expanded, context.deadline)
            # A size for which the successors of a chunk nearly always fit in its lane.
            size = max(1, min(MOST_CHUNK, self.lane_room * (context.expanded - first) // max(1, 2 * generated)))
        self.visited.close_level()

    def _expand_chunk(self, task: Task) -> None:
        """Write successors of a chunk's remaining states to the chunk's lane (its memory) while the lane has room."""
        lane = self.lanes[task.lane]
        results = self.all_results[task.lane]
        results.clear()
        if task.done == 0:
            self.visited.gather(lane.chunk, task.first, task.first + task.size, task.locals_there)
        states, counts = lane.chunk.ctypes.data, (self.all_fired[task.lane], self.context.active, results)
        task.done, task.generated = self.runner.expand(states, task.done, task.size, lane.batch, *counts)
        task.has_successors = True
        lane.batch.parents[: task.generated] += np.uint32(task.first)
        lane.sort(task.generated)

    def _take_in(self, tasks: deque[Task], free: deque[int]) -> None:
        """Insert the successors of the chunks, in order, up to and including the first incomplete chunk. The lanes of
        complete chunks become `free`."""
        complete = list(takewhile(lambda task: task.is_complete, tasks))
        ready = [*complete, *islice(tasks, len(complete), len(complete) + 1)]
        self._merge([self.lanes[task.lane] for task in ready])
        for task in ready:
            self.context.results.add(self.all_results[task.lane], partial(operator.add, task.first))
            self.context.expanded = task.first + task.done
            task.has_successors = False
            if task.is_complete:
                free.append(task.lane)
                tasks.popleft()
