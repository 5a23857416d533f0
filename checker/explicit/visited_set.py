"""The visited set: the states that a search has seen, packed, in order of discovery, each once.

New states are appended, so that the index of a state is its place in breadth-first order.

An open-addressing hash table (checker/compile/hash_table.py) holds each state's index and 32 bits of its hash. A match
of these 32 bits is only a candidate: the full states are compared, so that no state is ever mistaken for another. The
slot is given by the top bits of the hash. This keeps the table sorted enough to double it in one pass from left to
right.

Memory is reserved once and allocated by the system as it is touched, so that a search grows without copying states.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile import hash_table
from isrcheck.checker.compile.machine_code import addresses, as_machine_code

RECENT_BITS = 12
"""2^RECENT_BITS recent successors are remembered to find repetitions: few enough for the second-level cache."""

PART = 1 << 16
"""The number of steps that are counted at once: a copy of these steps as words fits in the cache."""

MOST_STATES = (1 << 32) - 2
FIRST_TABLE_BITS = 16
FULLNESS = 0.7

SPARE = 8
"""A full table grows fourfold if the new one takes at most 1/SPARE of the memory; otherwise it doubles."""


def reserve(count: int, kind: Any, *, at_once: bool = False) -> NDArray[Any]:
    """An array of zeros, whose pages are allocated when they are used, or `at_once` where possible. Raises MemoryError.

    Pages have the ordinary size: with large pages the search took 0.9 times as long if the system had them ready, and
    1.2 times if it had to create them.
    """
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(count, kind)
    size = max(1, count * np.dtype(kind).itemsize)
    populate = getattr(mmap, "MAP_POPULATE", 0) if at_once else 0
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | populate)
    except OSError as error:
        raise MemoryError(error.strerror) from None
    return np.frombuffer(memory, kind, count)


def empty_table(bits: int) -> NDArray[np.uint64]:
    """A hash table of 2^bits free slots.

    Its memory is allocated here: memory that is read before it is written is allocated twice, and the second allocation
    stops all threads of the process. With two threads, that took longer than everything else.
    """
    table = reserve(1 << bits, np.uint64, at_once=True)
    if not hasattr(mmap, "MAP_POPULATE"):
        table.fill(0)
    return table


class Full(Exception):
    """The memory limit of the search is reached."""


class BatchAddresses(NamedTuple):
    """The addresses of the arrays of a `Batch`, in the order of its fields."""

    states: int
    parents: int
    steps: int
    kept: int
    hashes: int


@dataclass(frozen=True)
class Batch:
    """Successors that a kernel has written: packed states, predecessors, and numbers of steps. `kept` has the positions
    of the successors to insert into the visited set, `hashes` has the hashes of these successors."""

    states: NDArray[np.uint64]
    parents: NDArray[np.uint32]
    steps: NDArray[np.uint32]
    kept: NDArray[np.uint32]
    hashes: NDArray[np.uint64]

    @classmethod
    def of(cls, room: int, words: int) -> Batch:
        """An empty batch with room for `room` successors of `words` words each."""
        parents, steps, kept = (np.empty(room, np.uint32) for _ in range(3))
        return cls(np.empty(room * words, np.uint64), parents, steps, kept, np.empty(room, np.uint64))

    @cached_property
    def at(self) -> BatchAddresses:
        """The addresses of the batch's arrays, as arguments for machine code."""
        return BatchAddresses(*addresses(self.states, self.parents, self.steps, self.kept, self.hashes))


class RecentStates:
    """A small table of states that were generated recently, with which `sift` finds repeated successors."""

    def __init__(self, words: int) -> None:
        self.words = words
        self.mask = (1 << RECENT_BITS) - 1
        self._entries: NDArray[np.uint64] = np.zeros((words + 1) << RECENT_BITS, np.uint64)
        self._address = self._entries.ctypes.data

    def sift(self, batch: Batch, size: int) -> int:
        """Of the first `size` successors, list in `batch.kept` those that repeat no recent state; returns how many."""
        at = batch.at
        sift = as_machine_code(hash_table.sift)
        return sift(at.states, self.words, size, self._address, self.mask, at.kept, at.hashes)


class VisitedSet:
    """The visited states in order of discovery, each with its predecessor and step; `memory` is the limit in bytes."""

    def __init__(self, words: int, steps: int, memory: int) -> None:
        self.words = words
        self.memory = memory
        step_type = np.uint16 if steps <= 1 << 16 else np.uint32
        self.bytes_of_state = 8 * words + 4 + np.dtype(step_type).itemsize
        self.room = max(1, min(MOST_STATES, memory // self.bytes_of_state))
        self.states: NDArray[np.uint64] = reserve(self.room * words, np.uint64)
        self.parents: NDArray[np.uint32] = reserve(self.room, np.uint32)
        self.steps: NDArray[Any] = reserve(self.room, step_type)
        self.bits = FIRST_TABLE_BITS
        self.table = empty_table(self.bits)
        self.recent = RecentStates(words)
        self._count = ctypes.c_int64(0)
        self._addresses = list(addresses(self.states, self.parents, self.steps))
        self._table_address = self.table.ctypes.data

    @property
    def count(self) -> int:
        """The number of states."""
        return self._count.value

    @property
    def bytes_used(self) -> int:
        """The memory in use, in bytes: states, predecessors, steps and the table."""
        return self.count * self.bytes_of_state + self.table.nbytes

    def add(self, batch: Batch, size: int) -> None:
        """Insert the new states of a batch of `size` successors. Raises Full at the memory limit; states
        that were inserted before the error stay in the set."""
        self.insert(batch, 0, self.recent.sift(batch, size))

    def insert(self, batch: Batch, first: int, last: int) -> None:
        """Insert the new states among the successors kept[first..last-1] of a batch. Raises Full, as `add` does."""
        merge = as_machine_code(hash_table.merge)
        states, parents, steps = self._addresses
        while first < last:
            # The memory of the table is not available for states.
            left = (self.memory - self.table.nbytes) // self.bytes_of_state
            room = min(self.room, int(FULLNESS * len(self.table)), max(1, left))
            store = self._table_address, self.bits, states, self.words, ctypes.addressof(self._count)
            first = merge(*store, parents, steps, self.steps.itemsize, *batch.at, first, last, room)
            if first < last:
                self._grow()

    def _grow(self) -> None:
        used = self.count * self.bytes_of_state
        added = 2 if self.bits <= 30 and 4 * self.table.nbytes <= self.memory // SPARE else 1
        # Both tables exist while entries are moved.
        needed = used + (1 + (1 << added)) * self.table.nbytes
        if self.count >= self.room or self.bits == 32 or needed > self.memory:
            raise Full
        table = empty_table(self.bits + added)
        address = table.ctypes.data
        as_machine_code(hash_table.move)(self._table_address, len(self.table), address, self.bits + added)
        self.table, self._table_address = table, address
        self.bits += added

    def places_of(self, states: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return each state's index, or -1 if it was not visited; `states` has the words of one state after another."""
        states = np.ascontiguousarray(states)
        places = np.empty(len(states) // self.words, np.int64)
        hashes = np.empty(hash_table.AHEAD, np.uint64)
        store = self._table_address, self.bits, self._addresses[0], self.words
        locate = as_machine_code(hash_table.locate)
        locate(*store, states.ctypes.data, len(places), *addresses(hashes, places))
        return places

    def numbers_of(self, shard: int) -> NDArray[np.int64]:
        """The numbers of all states: 0, 1, 2, ...; `shard`, a parameter of `Shards.numbers_of`, must be 0."""
        assert shard == 0
        return np.arange(self.count)

    def states_at(self, numbers: Iterable[int]) -> Iterator[NDArray[np.uint64]]:
        """The packed words of each of the states with these indices."""
        return map(self.state, numbers)

    def first_where(self, is_match: Callable[[NDArray[np.uint64]], NDArray[np.bool_]]) -> int | None:
        """The index of the first state that matches; `is_match` gets packed states as rows."""
        matching = is_match(self.states[: self.count * self.words].reshape(-1, self.words))
        return int(np.argmax(matching)) if matching.any() else None

    def state(self, index: int) -> NDArray[np.uint64]:
        """The packed words of the state with this index."""
        return self.states[index * self.words : (index + 1) * self.words]

    def found_by(self, first: int, steps: int) -> NDArray[np.int64]:
        """For each step number, how many of the states from index `first` on were discovered by that step."""
        counts = np.zeros(steps, np.int64)
        for low in range(first, self.count, PART):
            counts += np.bincount(self.steps[low : min(low + PART, self.count)], minlength=steps)
        return counts

    def path(self, index: int) -> tuple[int, list[int]]:
        """The path to a state: the index of its initial state, and the numbers of its steps."""
        steps = []
        while int(self.parents[index]) != index:
            steps.append(int(self.steps[index]))
            index = int(self.parents[index])
        return index, steps[::-1]
