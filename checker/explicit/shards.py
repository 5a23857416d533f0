"""The visited set of a search on several threads: one shard per thread, each with its share of the hashes.

In:  batches of packed successors, sifted and routed by hash.
Out: the numbers that a single visited set would give: a state's number is its place in breadth-first order.

A level is numbered when it is complete: within a shard, states are in the order of their first predecessors, so that
one merge of the shards yields the order of all. The shard of each state is stored in one byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile import hash_table
from isrcheck.checker.compile.machine_code import as_machine_code
from isrcheck.checker.explicit.visited_set import MOST_STATES, Batch, RecentStates, VisitedSet, reserve


@dataclass
class Lane:
    """The working memory of one thread: a chunk of states to expand, and their successors.

    `routed` has the same successors as `batch`; those that are kept are sorted by shard, those of shard s at
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
        """Remove recent duplicates from the first `size` successors of the batch; sort the others by shard."""
        rest = self.recent.sift(self.batch, size)
        sifted, routed = self.batch.at, self.routed.at
        as_machine_code(hash_table.route)(
            *(sifted.kept, sifted.hashes, rest, len(self.bounds) - 1),
            *(routed.kept, routed.hashes, self.bounds.ctypes.data),
        )


class Shards:
    """The visited states in shards, within a memory limit in bytes. The states of a level are numbered together.

    In each shard, the newest level has the positions `opened` to `closed` - 1.
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
        """The number of states, including those without a number."""
        return sum(store.count for store in self.stores)

    @property
    def bytes_used(self) -> int:
        """The memory in use, in bytes."""
        return sum(store.bytes_used for store in self.stores)

    def close_level(self) -> None:
        """Make the new states a level; `number_level` numbers them."""
        self.opened, self.closed = self.closed, [store.count for store in self.stores]

    def number_level(self) -> None:
        """Number the states of the newest level."""
        new = [
            (store, slice(opened, closed))
            for store, opened, closed in zip(self.stores, self.opened, self.closed, strict=True)
        ]
        keys = [(store.parents[part].astype(np.uint64) << np.uint64(32)) | store.steps[part] for store, part in new]
        bounds = np.cumsum([0, *map(len, keys)], dtype=np.int64)
        sorted_keys, heads, count = np.concatenate(keys), bounds.copy(), int(bounds[-1])
        as_machine_code(hash_table.interleave)(
            *(sorted_keys.ctypes.data, heads.ctypes.data, bounds[1:].ctypes.data, len(self.stores)),
            *(self.owners[self.numbered :].ctypes.data, count),
        )
        self.numbered += count

    def locals_at(self, number: int, known: int, locals_there: Sequence[int]) -> list[int]:
        """The count of states below `number` in each shard; `locals_there` has these counts for `known`."""
        owners = self.owners[known:number]
        return [int(np.count_nonzero(owners == shard)) + before for shard, before in enumerate(locals_there)]

    def gather(self, chunk: NDArray[np.uint64], first: int, last: int, locals_there: Sequence[int]) -> None:
        """Copy the states first..last-1, which begin at these positions in the shards, into a chunk."""
        for shard, store in enumerate(self.stores):
            as_machine_code(hash_table.pick)(
                *(store.states.ctypes.data, self.words, locals_there[shard]),
                *(self.owners.ctypes.data, first, last, shard, chunk.ctypes.data),
            )

    def number_of(self, shard: int, local: int) -> int:
        """The number of the state at position `local` of a shard, in the newest level."""
        return self._number_since(sum(self.opened), shard, local - self.opened[shard])

    def numbers_of(self, shard: int) -> NDArray[np.int64]:
        """The numbers of the states of a shard, in order."""
        return np.flatnonzero(self.owners[: self.numbered] == shard)

    def number_at(self, shard: int, local: int) -> int:
        """The number of the state at position `local` of a shard, in any level."""
        return self._number_since(0, shard, local)

    def _number_since(self, first: int, shard: int, local: int) -> int:
        """The number of a shard's state: of those with numbers from `first` on, the one at position `local`."""
        return first + int(np.flatnonzero(self.owners[first : self.numbered] == shard)[local])

    def found_by(self, first: int, steps: int) -> NDArray[np.int64]:
        """For each step, how many states it discovered; the `first` initial states do not count."""
        found = sum(store.found_by(0, steps) for store in self.stores)
        assert not isinstance(found, int)
        found[:1] -= min(first, self.count)  # a model may have no step at all
        return found

    def states_at(self, numbers: Iterable[int]) -> Iterator[NDArray[np.uint64]]:
        """The packed words of each of these states, whose numbers must be ascending."""
        known, locals_there = 0, [0] * len(self.stores)
        for number in numbers:
            locals_there = self.locals_at(number, known, locals_there)
            known, shard = number, int(self.owners[number])
            local = locals_there[shard]
            yield self.stores[shard].states[local * self.words : (local + 1) * self.words]

    def first_where(self, is_match: Callable[[NDArray[np.uint64]], NDArray[np.bool_]]) -> int | None:
        """The number of the first state that matches; `is_match` gets packed states as rows."""
        found = [(shard, store.first_where(is_match)) for shard, store in enumerate(self.stores)]
        return min((self.number_at(shard, local) for shard, local in found if local is not None), default=None)

    def state(self, number: int) -> NDArray[np.uint64]:
        """The packed words of a state."""
        store, local = self._place(number)
        return store.states[local * self.words : (local + 1) * self.words]

    def _place(self, number: int) -> tuple[VisitedSet, int]:
        shard = int(self.owners[number])
        return self.stores[shard], int(np.count_nonzero(self.owners[:number] == shard))

    def path(self, number: int) -> tuple[int, list[int]]:
        """The path to a state: the number of its initial state, and the numbers of its steps."""
        steps: list[int] = []
        while True:
            store, local = self._place(number)
            parent = int(store.parents[local])
            if parent == number:
                return number, steps[::-1]
            steps.append(int(store.steps[local]))
            number = parent
