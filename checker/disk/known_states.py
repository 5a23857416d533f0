"""The states that a search on disk remembers in memory: those found recently, and all that no file holds yet.

In:  batches of packed successors; the number of states that fit in memory.
Out: the states that are new to this memory, in order of discovery.

States are known for certain up to the index `first`. Those from `first` on are candidates: new to the memory, but
perhaps equal to a state that only files hold. A state with a mark needs not be written: a file holds it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.machine_code import as_machine_code
from isrcheck.checker.disk import sorted_table
from isrcheck.checker.explicit.visited_set import Batch, reserve

FULLNESS = 0.7
FIRST_SLOTS = 1 << 14
GROWTH = 4
FREE_SLOTS = 64
"""Slots behind the table that stay free (checker/disk/sorted_table.py)."""

SPARE_SLOTS = 1 << 13
"""Slots for the last cluster of the table."""

ALL = (0, 1 << 32)
"""The upper 32 bits of all hashes."""

DRAINED = 1 << 15
"""The states that are written at once; a cluster has fewer."""

REGION_BITS = 20
"""Hashes are divided into 2^REGION_BITS regions, to see which parts of a file can hold a candidate."""


def bytes_of_state(words: int) -> float:
    """The memory for one state: its words, its mark, and its share of the table."""
    return 8 * words + 1 + 8 / FULLNESS


class KnownStates:
    """At most `room` states of `words` words each."""

    def __init__(self, words: int, room: int) -> None:
        self.words = words
        self.room = room
        self.first = 0
        self._range = ALL
        self.store: NDArray[np.uint64] = reserve(room * words, np.uint64)
        self.marks: NDArray[np.uint8] = reserve(room, np.uint8)
        self._count = ctypes.c_int64(0)
        self._most_slots = int(room / FULLNESS) + 1
        self._make_table(min(FIRST_SLOTS, self._most_slots))
        self._nothing: NDArray[np.uint32] = np.zeros(1, np.uint32)
        self._drained: NDArray[np.uint64] = np.empty(DRAINED * words, np.uint64)
        self._numbers: NDArray[np.uint32] = np.empty(DRAINED, np.uint32)
        self._hashes: NDArray[np.uint64] = np.empty(DRAINED, np.uint64)

    @property
    def count(self) -> int:
        """The number of states."""
        return self._count.value

    @property
    def bytes_used(self) -> int:
        """The memory in use, in bytes."""
        return self.count * (8 * self.words + 1) + int(self.table.nbytes)

    def _make_table(self, slots: int) -> None:
        self.slots = slots
        self.table: NDArray[np.uint64] = reserve(slots + SPARE_SLOTS + FREE_SLOTS, np.uint64)
        self.table.fill(0)  # memory that is read before it is written is allocated twice

    @property
    def _end(self) -> int:
        return self.slots + SPARE_SLOTS

    @property
    def _table(self) -> tuple[int, int, int, int]:
        """The parameters of the table: address, base, scale, end."""
        low, high = self._range
        return self.table.ctypes.data, low, (self.slots << 32) // (high - low), self._end

    def states(self, first: int, last: int) -> NDArray[np.uint64]:
        """The words of the states first..last-1, side by side."""
        return self.store[first * self.words : last * self.words]

    def hashes(self, batch: Batch, size: int) -> None:
        """Write the hashes of the first `size` successors that are kept in a batch."""
        hash_all = as_machine_code(sorted_table.hash_all)
        hash_all(batch.at.states, self.words, batch.at.kept, size, batch.at.hashes)

    def absorb(
        self, batch: Batch, first: int, last: int, most: int, offset: int, parents: int, steps: int, index: int
    ) -> int:
        """Append the new ones of the successors kept[first..last-1], whose hashes are known, up to `most` states in
        all; returns the next position, which is `first` if there is no room.

        From the state with index `index` on, the predecessors (plus `offset`) and the steps go to the arrays of 32-bit
        numbers at the addresses `parents` and `steps`.
        """
        absorb, at = as_machine_code(sorted_table.absorb), batch.at
        done = first
        while True:
            room = min(most, self.room, int(FULLNESS * self.slots))
            done = absorb(
                *self._table,
                *(self.store.ctypes.data, self.words, ctypes.addressof(self._count), room),
                *(at.states, at.parents, at.steps, offset, at.kept, at.hashes, done, last),
                *(parents - 4 * index, steps - 4 * index),
            )
            if done == last or self.count >= min(most, self.room) or self.slots >= self._most_slots:
                return done
            self._make_table(min(GROWTH * self.slots, self._most_slots))
            self._enter_all()

    def _enter_all(self) -> None:
        entered = as_machine_code(sorted_table.enter)(*(*self._table, self.store.ctypes.data, self.words, self.count))
        assert entered == self.count, "no cluster is as long as the spare slots"

    def keep_newest(self, count: int) -> None:
        """Forget all states but the newest `count`, at most half of them; the candidates must be among them."""
        gone = self.count - count
        assert 0 <= gone <= self.first
        assert gone >= count, "the states that move must not overlap their new places"
        self.states(0, count)[:] = self.states(gone, self.count)
        self.marks[:count] = self.marks[gone : self.count]
        self.marks[count : self.count] = 0
        self.first -= gone
        self._count.value = count
        self.table.fill(0)
        self._enter_all()

    def forget_all(self, low: int = 0, high: int = 1 << 64) -> None:
        """Forget all states; from now on only those with hashes low..high-1 may be absorbed."""
        self._range = low >> 32, max((low >> 32) + 1, -(-high >> 32))
        self.marks[: self.count] = 0
        self.first = self._count.value = 0
        self.table.fill(0)

    def drain(self, low: int, high: int) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint64]]]:
        """Mark the states low..high-1 that have no mark, and yield them in the order of their hashes.

        Yields some of them at a time: states, numbers counted from `low`, hashes. The arrays are used again.
        """
        drain, counted = as_machine_code(sorted_table.drain), ctypes.c_int64(0)
        slot = 0
        while slot < self._end:
            slot = drain(
                *(self.table.ctypes.data, self._end, slot, self.store.ctypes.data, self.words, low, high),
                *(self.marks.ctypes.data, self._drained.ctypes.data, self._numbers.ctypes.data),
                *(self._hashes.ctypes.data, DRAINED, ctypes.addressof(counted)),
            )
            size = counted.value
            if size:
                yield self._drained[: size * self.words], self._numbers[:size], self._hashes[:size]

    def strike(self, states: NDArray[np.uint64]) -> int:
        """Mark the candidates that equal one of these states; returns how many got a mark."""
        return as_machine_code(sorted_table.strike)(
            *(*self._table, self.store.ctypes.data, self.words, self.first),
            *(self.marks.ctypes.data, states.ctypes.data, len(states) // self.words),
        )

    def regions(self) -> NDArray[np.uint8]:
        """A byte for each region of hashes: 1 if a candidate lies in it."""
        found: NDArray[np.uint8] = np.zeros(1 << REGION_BITS, np.uint8)
        as_machine_code(sorted_table.cover)(
            *(self.states(self.first, self.count).ctypes.data, self.words, self.count - self.first),
            *(found.ctypes.data, 64 - REGION_BITS),
        )
        return found


def hashes_of(states: NDArray[np.uint64], words: int) -> NDArray[np.uint64]:
    """The hashes of these states, which lie side by side."""
    count = len(states) // words
    kept, hashes = np.arange(count, dtype=np.uint32), np.empty(count, np.uint64)
    as_machine_code(sorted_table.hash_all)(states.ctypes.data, words, kept.ctypes.data, count, hashes.ctypes.data)
    return hashes
