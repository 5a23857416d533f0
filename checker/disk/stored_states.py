"""The visited states of a search on disk, and the removal of duplicates when a level is complete.

A level has the states at the same distance (in steps) from the initial states: each state once, in the order of
discovery, with its predecessor and the step that leads from the predecessor to it.

A successor is looked up in memory first (`KnownStates`). If it is not there, it is a candidate for a new state, and is
written to the draft of the next level. When the draft is complete, the sorted runs (files of visited states in the
order of their hashes) are read once, and the candidates in a run are removed from the draft. States are compared in
full, not only by their hashes.

When the memory is full, the visited states that are in no run are written as a new run, and the older half of the
states in memory is forgotten. If more than half of the states in memory are candidates, they are written as a sorted
group with their positions in the draft. Then, at the end of the level, the groups are compared with each other and with
the runs, one range of hashes after the other. Of equal candidates, the first stays.

As the hash table of the states in memory has the same order as a run, all lookups are in neighbouring slots. The first
hash of each block of a run is kept in memory, so that blocks in which no candidate can be are not read.

A predecessor is given by its position in the level before. The states of a level are deleted once they are expanded and
are in a run; predecessors and steps stay, for paths.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.machine_code import addresses, as_machine_code
from isrcheck.checker.disk import sorted_table
from isrcheck.checker.disk.files import PIECE_BYTES, Column, Folder
from isrcheck.checker.explicit.visited_set import Batch, Full, reserve

FULLNESS = 0.7
FIRST_SLOTS = 1 << 14
GROWTH = 4
FREE_SLOTS = 64
"""Slots after the table that stay free (checker/disk/sorted_table.py)."""

SPARE_SLOTS = 1 << 13
"""Slots for the last cluster of the table."""

ALL = (0, 1 << 32)
"""The upper 32 bits of all hashes."""

DRAINED = 1 << 15
"""The number of states that are written at once; a cluster of the table has fewer."""

REGION_BITS = 20
"""Hashes are divided into 2^REGION_BITS regions, to see which parts of a file can hold a candidate."""


def bytes_of_state(words: int) -> float:
    """The bytes of memory for one state: its words, its mark, and its share of the hash table."""
    return 8 * words + 1 + 8 / FULLNESS


class KnownStates:
    """The states that a search on disk keeps in memory: those found recently, and all that are in no file yet.

    There are at most `room` states of `words` words each. The states below the index `first` have certainly been
    visited. The states from `first` on are candidates: new to the memory, but perhaps equal to a state in a file. A
    state with a mark is in a file, and need not be written.
    """

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
        self.slots, self._end = slots, slots + SPARE_SLOTS
        self.table: NDArray[np.uint64] = reserve(self._end + FREE_SLOTS, np.uint64)
        self.table.fill(0)  # memory that is read before it is written is allocated twice

    @property
    def _table(self) -> tuple[int, int, int, int]:
        """The parameters of the table: address, base, scale, end."""
        low, high = self._range
        return self.table.ctypes.data, low, (self.slots << 32) // (high - low), self._end

    def states(self, first: int, last: int) -> NDArray[np.uint64]:
        """The words of the states first..last-1, side by side."""
        return self.store[first * self.words : last * self.words]

    def absorb(
        self, batch: Batch, first: int, last: int, most: int, offset: int, parents: int, steps: int, index: int
    ) -> int:
        """Append the successors at kept[first..last-1] of a batch that are not in memory, up to `most` states in all.
        Their hashes are already computed. Returns the position in `kept` after the last successor that was looked up.
        The predecessors (plus `offset`) and the steps of the appended states go to the arrays of 32-bit numbers at the
        addresses `parents` and `steps`, whose first entries belong to the state with the index `index`."""
        absorb, at = as_machine_code(sorted_table.absorb), batch.at
        done = first
        while True:
            room = min(most, self.room, int(FULLNESS * self.slots))
            store = *self._table, self.store.ctypes.data, self.words, ctypes.addressof(self._count), room
            successors = at.states, at.parents, at.steps, offset, at.kept, at.hashes, done, last
            done = absorb(*store, *successors, parents - 4 * index, steps - 4 * index)
            if done == last or self.count >= min(most, self.room) or self.slots >= self._most_slots:
                return done
            self._make_table(min(GROWTH * self.slots, self._most_slots))
            self._enter_all()

    def _enter_all(self) -> None:
        enter = as_machine_code(sorted_table.enter)
        entered = enter(*self._table, self.store.ctypes.data, self.words, self.count)
        assert entered == self.count, "no cluster is as long as the spare slots"

    def keep_newest(self, count: int) -> None:
        """Forget all states but the newest `count`, which are at most half of all and include all candidates."""
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
        """Forget all states; after that only states with hashes low..high-1 may be absorbed."""
        self._range = low >> 32, max((low >> 32) + 1, -(-high >> 32))
        self.marks[: self.count] = 0
        self.first = self._count.value = 0
        self.table.fill(0)

    def drain(self, low: int, high: int) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint64]]]:
        """Mark the unmarked states of low..high-1 (those in no file), and yield them in the order of their hashes, in
        batches of three arrays, which are reused: the states, their indices minus `low`, and their hashes."""
        drain, counted = as_machine_code(sorted_table.drain), ctypes.c_int64(0)
        slot = 0
        while slot < self._end:
            store = self.table.ctypes.data, self._end, slot, self.store.ctypes.data, self.words
            written = addresses(self.marks, self._drained, self._numbers, self._hashes)
            slot = drain(*store, low, high, *written, DRAINED, ctypes.addressof(counted))
            size = counted.value
            if size:
                yield self._drained[: size * self.words], self._numbers[:size], self._hashes[:size]

    def strike(self, states: NDArray[np.uint64]) -> int:
        """Mark the candidates (the states from `first` on) that equal one of these states; return how many."""
        strike, size = as_machine_code(sorted_table.strike), len(states) // self.words
        store = *self._table, self.store.ctypes.data, self.words
        return strike(*store, self.first, *addresses(self.marks, states), size)

    def regions(self) -> NDArray[np.uint8]:
        """A byte for each region of hashes: 1 if a candidate (a state from index `first` on) lies in it."""
        regions: NDArray[np.uint8] = np.zeros(1 << REGION_BITS, np.uint8)
        candidates, count = self.states(self.first, self.count), self.count - self.first
        cover = as_machine_code(sorted_table.cover)
        cover(candidates.ctypes.data, self.words, count, regions.ctypes.data, 64 - REGION_BITS)
        return regions


def hashes_of(states: NDArray[np.uint64], words: int) -> NDArray[np.uint64]:
    """Return the hashes of states whose words lie side by side in one array."""
    count = len(states) // words
    kept, hashes = np.arange(count, dtype=np.uint32), np.empty(count, np.uint64)
    as_machine_code(sorted_table.hash_all)(states.ctypes.data, words, kept.ctypes.data, count, hashes.ctypes.data)
    return hashes


BLOCK = 1 << 12
"""The states in a block."""

REGION_SHIFT = np.uint64(64 - REGION_BITS)


class SortedRun:
    """A file of states in the order of their hashes. `firsts` has the first hash of every block; `places`, if given, is
    a column with the position of each state in the draft of the next level."""

    def __init__(self, words: int, column: Column, places: Column | None = None) -> None:
        self.words = words
        self.column = column
        self.places = places
        self._firsts: list[NDArray[np.uint64]] = []
        if column.count:
            starts = range(0, column.count, BLOCK * words)
            heads: NDArray[np.uint64] = np.empty((len(starts), words), np.uint64)
            for head, start in zip(heads, starts, strict=True):
                column.read(start, head)
            self._firsts.append(hashes_of(heads.ravel(), words))

    @property
    def count(self) -> int:
        """The number of states."""
        return self.column.count // self.words

    @property
    def columns(self) -> Sequence[Column]:
        """The files of the run."""
        return [self.column, *([] if self.places is None else [self.places])]

    @property
    def firsts(self) -> NDArray[np.uint64]:
        """The first hash of each block."""
        if len(self._firsts) != 1:
            self._firsts = [np.concatenate([np.zeros(0, np.uint64), *self._firsts])]
        return self._firsts[0]

    def append(self, states: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> None:
        """Append states, whose hashes must be greater than the hashes of all earlier states."""
        self._firsts.append(hashes[-self.count % BLOCK :: BLOCK].copy())
        self.column.append(states)

    def blocks_between(self, low: int, high: int) -> tuple[int, int]:
        """The blocks that can hold states with hashes low..high-1: the first block, and one more than the last."""
        first = int(np.searchsorted(self.firsts, np.uint64(low), "left")) - 1
        last = len(self.firsts) if high >= 1 << 64 else int(np.searchsorted(self.firsts, np.uint64(high), "left"))
        return max(0, first), last

    def blocks_in(self, regions: NDArray[np.uint8]) -> Iterator[tuple[int, int]]:
        """Yield sequences of blocks that can hold states in marked regions of hashes, each as first and last + 1."""
        heads = (self.firsts >> REGION_SHIFT).astype(np.int64)
        ends = np.append(heads[1:], (1 << REGION_BITS) - 1)
        below = np.concatenate([[0], np.cumsum(regions, dtype=np.int32)])
        is_read = np.concatenate([[False], below[ends + 1] > below[heads], [False]])
        for first, last in np.flatnonzero(is_read[1:] != is_read[:-1]).reshape(-1, 2):
            yield int(first), int(last)

    def pieces(self, first: int, last: int) -> Iterator[tuple[int, NDArray[np.uint64]]]:
        """Yield the states in the blocks first..last-1 in batches: (first position, states). The array is reused."""
        end = min(self.count, last * BLOCK)
        most = max(BLOCK, PIECE_BYTES // (8 * self.words))
        buffer: NDArray[np.uint64] = np.empty(most * self.words, np.uint64)
        for at in range(first * BLOCK, end, most):
            states = buffer[: (min(at + most, end) - at) * self.words]
            self.column.read(at * self.words, states)
            yield at, states

    def strike(
        self, known: KnownStates, blocks: Iterator[tuple[int, int]], is_stopped: Callable[[], bool]
    ) -> int | None:
        """Mark the states of `known` that are also in these blocks; return how many (None: the search is stopped)."""
        struck = 0
        for first, last in blocks:
            for _, states in self.pieces(first, last):
                struck += known.strike(states)
                if is_stopped():
                    return None
        return struck


MOST_OF_LEVEL = (1 << 32) - 1
"""The most candidates in a level: positions are stored as 32-bit numbers."""

PIECE = 1 << 16
"""The number of states that are read at once."""


@dataclass
class Level:
    """The columns of a level: states, predecessors and steps. `states` is None once the column of states is deleted;
    the other columns stay longer, for paths."""

    words: int
    states: Column | None
    parents: Column
    steps: Column

    @classmethod
    def new(cls, folder: Folder, words: int, step_kind: Any) -> Level:
        """Make an empty level."""
        states, parents = folder.column("states", np.uint64), folder.column("parents", np.uint32)
        return cls(words, states, parents, folder.column("steps", step_kind))

    @property
    def count(self) -> int:
        """The number of states."""
        return self.parents.count

    def append(self, states: NDArray[np.uint64], parents: NDArray[Any], steps: NDArray[Any]) -> None:
        """Append states with their predecessors and steps. Raises DiskError; all columns are then equally long."""
        assert self.states is not None
        self.states.append(states)
        self.steps.append(steps)
        self.parents.append(parents)

    def pieces(self, first: int = 0) -> Iterator[tuple[int, NDArray[np.uint64]]]:
        """Yield the states from position `first` on in batches: (first position, states). The array is reused."""
        assert self.states is not None
        buffer: NDArray[np.uint64] = np.empty(min(PIECE, self.count) * self.words, np.uint64)
        for at in range(first, self.count, PIECE):
            states = buffer[: (min(at + PIECE, self.count) - at) * self.words]
            self.states.read(at * self.words, states)
            yield at, states

    def without(self, folder: Folder, is_gone: Callable[[int, int], NDArray[np.bool_]]) -> Level:
        """Return a copy of the level without some states; is_gone(i, j) says which of the states i..j-1 to omit."""
        kept = Level.new(folder, self.words, self.steps.kind)
        for at, states in self.pieces():
            size = len(states) // self.words
            stays = ~is_gone(at, at + size)
            parents, steps = self.parents.part(at, size)[stays], self.steps.part(at, size)[stays]
            kept.append(states.reshape(-1, self.words)[stays].ravel(), parents, steps)
        return kept

    def by_steps(self, steps: int) -> NDArray[np.int64]:
        """How many states of the level each step discovered; the position in the array is the number of the step."""
        counts: NDArray[np.int64] = np.zeros(steps, np.int64)
        for at in range(0, self.count, PIECE):
            counts += np.bincount(self.steps.part(at, min(PIECE, self.count - at)), minlength=steps)
        return counts

    def described(self) -> dict[str, Any]:
        """Return what a checkpoint records about the columns of the level."""
        return {
            "states": None if self.states is None else self.states.described(),
            "parents": self.parents.described(),
            "steps": self.steps.described(),
        }

    def drop(self, folder: Folder) -> None:
        """Delete all columns."""
        self.drop_states(folder)
        folder.drop(self.parents)
        folder.drop(self.steps)

    def drop_states(self, folder: Folder) -> None:
        """Delete the states, and keep predecessors and steps."""
        if self.states is not None:
            folder.drop(self.states)
            self.states = None


FLUSHED = 1 << 17
"""The number of candidates that are written to the draft at once; at least PIECE."""

SHARE_OF_RANGE = 0.7
"""The part of the memory that candidates of one range fill; the rest is for their positions."""

ALL_HASHES = 1 << 64


class StoredStates:
    """The visited states of a search, in a folder: complete `levels` with `count` states, and the next level, `draft`.

    At most `room` states are in memory. All states of the levels 0..sealed-1 are in `runs`. The states of `draft` from
    position `group_start` on are in memory, its earlier states in `groups`.
    """

    def __init__(self, folder: Folder, words: int, steps: int, room: int) -> None:
        self.levels: list[Level] = []
        self.by_steps: NDArray[np.int64] = np.zeros(steps, np.int64)
        self.count = 0
        self.folder = folder
        self.words = words
        self.step_kind = np.dtype(np.uint16 if steps <= 1 << 16 else np.uint32)
        self.known = KnownStates(words, room)
        self.runs: list[SortedRun] = []
        self.groups: list[SortedRun] = []
        self.sealed = 0
        self.group_start = 0
        self.draft: Level | None = None
        self.most_bytes = 0
        self._written = 0
        self._parents: NDArray[np.uint32] = np.empty(FLUSHED, np.uint32)
        self._steps: NDArray[np.uint32] = np.empty(FLUSHED, np.uint32)

    @property
    def bytes_used(self) -> int:
        """The memory in use, in bytes."""
        self.most_bytes = max(self.most_bytes, self.known.bytes_used)
        return self.most_bytes

    @property
    def candidates(self) -> int:
        """The number of states found for the next level (the draft), some of which may be duplicates."""
        if self.draft is None:
            return 0
        return self.group_start + self.known.count - self.known.first

    def found_by(self, first: int, steps: int) -> NDArray[np.int64]:
        """Return how many states each step discovered, by step number; the `first` initial states are not counted."""
        assert steps == len(self.by_steps)
        assert not self.levels or first == self.levels[0].count or not first
        return self.by_steps

    @property
    def firsts(self) -> Sequence[int]:
        """The number of the first state of each level, and at the end the number of all states."""
        return list(accumulate((level.count for level in self.levels), initial=0))

    def path(self, number: int) -> tuple[int, list[int]]:
        """The path to a state: the number of its initial state, and the numbers of its steps."""
        firsts = self.firsts
        depth = bisect_right(firsts, number) - 1
        position, steps = number - firsts[depth], []
        for level in reversed(self.levels[1 : depth + 1]):
            steps.append(level.steps.number_at(position))
            position = level.parents.number_at(position)
        return position, steps[::-1]

    # -------------------------------------------------------------------------------------------------- candidates

    def add(self, batch: Batch, size: int, offset: int) -> None:
        """Add to the draft of the next level those successors of a batch that are not in memory. `offset` is the
        position of the batch's first predecessor in its level. Raises Full, DiskError."""
        if self.draft is None:
            self.draft, self._written = Level.new(self.folder, self.words, self.step_kind), self.known.count
        if self.candidates + size > MOST_OF_LEVEL:
            raise Full
        hash_all, at = as_machine_code(sorted_table.hash_all), batch.at
        hash_all(at.states, self.words, at.kept, size, at.hashes)
        done = 0
        while (done := self._absorb(batch, done, size, offset)) < size:
            if self.known.count - self._written >= FLUSHED:
                self.flush()
            else:
                self._seal()

    def _absorb(self, batch: Batch, done: int, size: int, offset: int = 0) -> int:
        most, parents, steps = self._written + FLUSHED, self._parents.ctypes.data, self._steps.ctypes.data
        return self.known.absorb(batch, done, size, most, offset, parents, steps, self._written)

    def flush(self) -> None:
        """Write the new states in memory to the draft of the next level. Raises DiskError."""
        if self.draft is not None:
            states, size = self.known.states(self._written, self.known.count), self.known.count - self._written
            self.draft.append(states, self._parents[:size], self._steps[:size])
            self._written = self.known.count

    def _seal(self, is_loading: bool = False) -> None:
        """Write the visited states that are in no run as a new run, and forget the older half of the states in memory.
        If more than half are candidates, these are written as a group before. `sealed` becomes the number of levels,
        except while a resumed search fills the memory (`is_loading`)."""
        known = self.known
        self.flush()
        if not known.marks[: known.first].all():
            run = SortedRun(self.words, self.folder.column("run", np.uint64))
            for states, _, hashes in known.drain(0, known.first):
                run.append(states, hashes)
            self.runs.append(run)
        if not is_loading:
            self._set_sealed(len(self.levels))
        if known.count - known.first > known.count // 2:
            self._write_group()
        known.keep_newest(known.count // 2)
        self._written = known.count

    def _set_sealed(self, sealed: int) -> None:
        """Set `sealed`, the number of levels that are completely in runs, and delete the states of these levels. The
        newest level keeps its states, because they are still to be expanded."""
        self.sealed = sealed
        for level in self.levels[: min(sealed, len(self.levels) - 1)]:
            level.drop_states(self.folder)

    def _write_group(self) -> None:
        known, places = self.known, self.folder.column("places", np.uint32)
        group = SortedRun(self.words, self.folder.column("group", np.uint64), places)
        for states, numbers, hashes in known.drain(known.first, known.count):
            group.append(states, hashes)
            places.append(numbers + np.uint32(self.group_start))
        self.groups.append(group)
        self.group_start += known.count - known.first
        known.first = known.count

    # -------------------------------------------------------------------------------------------------- duplicates

    def close_level(self, is_stopped: Callable[[], bool]) -> bool:
        """Remove the duplicates from the draft of the next level, and make it a level if any states are left. Returns
        False, and changes nothing, if `is_stopped` says that the search has to stop."""
        self.flush()
        draft = self.draft
        if draft is None:
            return True
        level = self._distinct_among_groups(draft, is_stopped) if self.groups else self._distinct(draft, is_stopped)
        if level is None:
            return False
        if level is not draft:
            draft.drop(self.folder)
        if level.count:
            if self.levels:
                self.by_steps += level.by_steps(len(self.by_steps))
            self.levels.append(level)
            self.count += level.count
        else:
            level.drop(self.folder)
        if self.groups:
            for column in chain.from_iterable(group.columns for group in self.groups):
                self.folder.drop(column)
            self.groups.clear()
            self.sealed = len(self.levels)
        self.draft, self.group_start = None, 0
        self._set_sealed(self.sealed)
        return True

    def _distinct(self, draft: Level, is_stopped: Callable[[], bool]) -> Level | None:
        """Return the draft without duplicates (None: the search is stopped); all its states must be in memory."""
        known, first = self.known, self.known.first
        struck = 0
        regions = known.regions() if self.runs else np.zeros(0, np.uint8)
        for run in self.runs:
            struck_by_run = run.strike(known, run.blocks_in(regions), is_stopped)
            if struck_by_run is None:
                return None
            struck += struck_by_run
        level = draft
        if struck:
            level = draft.without(self.folder, lambda low, high: known.marks[first + low : first + high] != 0)
        known.first = known.count
        return level

    def _distinct_among_groups(self, draft: Level, is_stopped: Callable[[], bool]) -> Level | None:
        """Return the draft, whose states are in sorted groups on disk, without duplicates; None if the search is
        stopped. The distinct states become a run. Afterwards no state is known in memory."""
        self._write_group()
        ranges = max(1, round(draft.count / (SHARE_OF_RANGE**2 * self.known.room)))
        bounds = [ALL_HASHES * number // ranges for number in range(ranges + 1)]
        gone: NDArray[np.uint8] = np.full(-(-draft.count // 8), 0xFF, np.uint8)
        places = reserve(self.known.room, np.uint32)
        run = SortedRun(self.words, self.folder.column("run", np.uint64))
        try:
            for low, high in pairwise(bounds):
                if not self._compare_range(low, high, gone, places, run, is_stopped):
                    return None
        finally:
            # The groups have all candidates, also if the search is stopped or interrupted here.
            self.known.forget_all()
            self._written = 0
        if run.count:
            self.runs.append(run)

        def is_gone(low: int, high: int) -> NDArray[np.bool_]:
            return np.unpackbits(gone[low // 8 : -(-high // 8)], count=high - low, bitorder="little").astype(bool)

        return draft.without(self.folder, is_gone)

    def _compare_range(
        self,
        low: int,
        high: int,
        gone: NDArray[np.uint8],
        places: NDArray[np.uint32],
        run: SortedRun,
        is_stopped: Callable[[], bool],
    ) -> bool:
        """Write the new states among the candidates with hashes low..high-1 to `run`, each once, and clear their bits
        in `gone`, which has a bit for each position in the draft. Return False if the search is stopped."""
        known = self.known
        if not self._load_range(low, high, places):
            middle = (low + high) // 2
            parts = ((low, middle), (middle, high))
            return all(self._compare_range(*part, gone, places, run, is_stopped) for part in parts)
        for other in self.runs:
            if other.strike(known, iter([other.blocks_between(low, high)]), is_stopped) is None:
                return False
        for first in range(0, known.count, PIECE):
            last = min(first + PIECE, known.count)
            left = places[first:last][known.marks[first:last] == 0]
            np.bitwise_and.at(gone, left >> 3, ~(np.uint8(1) << (left & 7).astype(np.uint8)))
        for states, _, hashes in known.drain(0, known.count):
            run.append(states, hashes)
        return not is_stopped()

    def _load_range(self, low: int, high: int, places: NDArray[np.uint32]) -> bool:
        """Load the states with hashes low..high-1 from all groups into memory, and their positions in the draft into
        `places`; of equal states, only the first. Return False if there is no room for all."""
        known = self.known
        known.forget_all(low, high)
        for group in self.groups:
            assert group.places is not None
            for at, states in group.pieces(*group.blocks_between(low, high)):
                size = len(states) // self.words
                positions = group.places.part(at, size)
                hashes = hashes_of(states, self.words)
                is_in = (hashes >= np.uint64(low)) & (hashes <= np.uint64(high - 1))
                kept = np.flatnonzero(is_in).astype(np.uint32)
                batch = Batch(states, positions, positions, kept, hashes[kept])
                most, place = int(SHARE_OF_RANGE * known.room), places.ctypes.data
                done = known.absorb(batch, 0, len(kept), most, 0, place, place, 0)
                if done < len(kept):
                    return False
        return True

    # -------------------------------------------------------------------------------------------------- checkpoints

    def described(self) -> dict[str, Any]:
        """Return what a checkpoint records about the stored states, all of which must be written (see `flush`)."""
        return {
            "levels": [level.described() for level in self.levels],
            "draft": None if self.draft is None else self.draft.described(),
            "runs": [run.column.described() for run in self.runs],
            "groups": [[column.described() for column in group.columns] for group in self.groups],
            "sealed": self.sealed,
            "group_start": self.group_start,
            "by_steps": self.by_steps.tolist(),
        }

    def restore(self, description: Mapping[str, Any]) -> None:
        """Restore the states from their description, and fill the memory. Raises DamagedError, DiskError, Full."""
        words, folder = self.words, self.folder
        levels = [self._level(level) for level in description["levels"]]
        self.draft = None if description["draft"] is None else self._level(description["draft"])
        self.runs = [SortedRun(words, folder.reopened(run, np.uint64)) for run in description["runs"]]
        self.groups = [
            SortedRun(words, folder.reopened(states, np.uint64), folder.reopened(places, np.uint32))
            for states, places in description["groups"]
        ]
        folder.delete_others()
        self.sealed, self.group_start = description["sealed"], description["group_start"]
        for level in levels[self.sealed :]:
            for _, states in level.pieces():
                self._remember(states, are_candidates=False)
        self.levels, self.count = levels, sum(level.count for level in levels)
        self.by_steps[:] = description["by_steps"]
        if self.draft is not None:
            for _, states in self.draft.pieces(self.group_start):
                self._remember(states, are_candidates=True)

    def _level(self, description: Mapping[str, Any]) -> Level:
        states = None if description["states"] is None else self.folder.reopened(description["states"], np.uint64)
        parents = self.folder.reopened(description["parents"], np.uint32)
        return Level(self.words, states, parents, self.folder.reopened(description["steps"], self.step_kind))

    def _remember(self, states: NDArray[np.uint64], *, are_candidates: bool) -> None:
        size = len(states) // self.words
        kept = np.arange(size, dtype=np.uint32)
        batch = Batch(states, kept, kept, kept, hashes_of(states, self.words))
        done = 0
        while done < size:
            self._written = self.known.count
            done = self._absorb(batch, done, size)
            self._written = self.known.count
            if not are_candidates:
                self.known.first = self.known.count
            if done < size:
                self._seal(is_loading=True)
