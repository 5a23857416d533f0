"""The visited states of a search on disk, and the removal of duplicates when a level is complete.

In:  batches of successors, in the order of the search.
Out: levels: each state once, in the order of its discovery.

A successor is looked up in memory first (known_states.py). If it is new there, it is a candidate, and written to the
draft of the next level. When the level is complete, the sorted runs are read once, and the candidates that they hold
are removed from the draft. So every state is compared in full, and none is mistaken for another.

When the memory is full, the states that no file holds are written as a sorted run, and the older half is forgotten. If
the candidates alone fill the memory, they are written as a sorted group with their positions in the draft. Then the
groups are compared with each other and with the runs at the end of the level, one range of hashes after the other. Of
equal candidates, the one found first stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.disk.files import Folder
from isrcheck.checker.disk.known_states import KnownStates, hashes_of
from isrcheck.checker.disk.levels import MOST_OF_LEVEL, PIECE, Level, Levels
from isrcheck.checker.disk.sorted_runs import SortedRun
from isrcheck.checker.explicit.visited_set import Batch, Full, reserve

FLUSHED = 1 << 17
"""The candidates that are written to the draft at once; at least PIECE."""

SHARE_OF_RANGE = 0.7
"""The part of the memory that candidates of one range fill; the rest is for their positions."""

ALL_HASHES = 1 << 64


class StoredStates(Levels):
    """The visited states in a folder; at most `room` of them are in memory.

    The levels below `sealed` are completely in `runs`. `draft` is the level that is being found; its positions from
    `group_start` on are in memory, and earlier ones in `groups`.
    """

    def __init__(self, folder: Folder, words: int, steps: int, room: int) -> None:
        super().__init__(steps)
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
        """The states of the draft, some of which may be duplicates."""
        if self.draft is None:
            return 0
        return self.group_start + self.known.count - self.known.first

    # -------------------------------------------------------------------------------------------------- candidates

    def add(self, batch: Batch, size: int, offset: int) -> None:
        """Add the successors that a batch keeps to the draft, where they are new to memory. Raises Full, DiskError.

        `offset` is the position of the batch's first predecessor in its level.
        """
        if self.draft is None:
            self.draft, self._written = Level.new(self.folder, self.words, self.step_kind), self.known.count
        if self.candidates + size > MOST_OF_LEVEL:
            raise Full
        self.known.hashes(batch, size)
        done = 0
        while True:
            done = self._absorb(batch, done, size, offset)
            if done == size:
                return
            if self.known.count - self._written >= FLUSHED:
                self.flush()
            else:
                self._seal()

    def _absorb(self, batch: Batch, done: int, size: int, offset: int = 0) -> int:
        return self.known.absorb(
            *(batch, done, size, self._written + FLUSHED, offset),
            *(self._parents.ctypes.data, self._steps.ctypes.data, self._written),
        )

    def flush(self) -> None:
        """Write all candidates to the draft. Raises DiskError."""
        if self.draft is not None:
            size = self.known.count - self._written
            self.draft.append(
                self.known.states(self._written, self.known.count), self._parents[:size], self._steps[:size]
            )
            self._written = self.known.count

    def _seal(self, is_loading: bool = False) -> None:
        """Write what no file holds, and forget the older half of the states in memory."""
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
        """Note that runs hold the levels below `sealed`, and delete the states of those that are expanded."""
        self.sealed = sealed
        for level in self.levels[: min(sealed, len(self.levels) - 1)]:
            level.drop_states(self.folder)

    def _write_group(self) -> None:
        """Write the candidates in memory as a group."""
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
        """Remove the duplicates from the draft, and make it a level unless it is empty then.

        Returns False, and changes nothing, if `is_stopped` says that the search has to stop.
        """
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
            self.append(level)
        else:
            level.drop(self.folder)
        if self.groups:
            for group in self.groups:
                for column in group.columns:
                    self.folder.drop(column)
            self.groups.clear()
            self.sealed = len(self.levels)
        self.draft, self.group_start = None, 0
        self._set_sealed(self.sealed)
        return True

    def _distinct(self, draft: Level, is_stopped: Callable[[], bool]) -> Level | None:
        """The draft without duplicates, if all its candidates are in memory; None if the search is stopped."""
        known, first = self.known, self.known.first
        struck = 0
        regions = known.regions() if self.runs else np.zeros(0, np.uint8)
        for run in self.runs:
            found = run.strike(known, run.blocks_in(regions), is_stopped)
            if found is None:
                return None
            struck += found
        level = draft
        if struck:
            level = draft.without(self.folder, lambda low, high: known.marks[first + low : first + high] != 0)
        known.first = known.count
        return level

    def _distinct_among_groups(self, draft: Level, is_stopped: Callable[[], bool]) -> Level | None:
        """The draft without duplicates, if there are groups; None if the search is stopped.

        The distinct states become a run. Of the memory, nothing remains known.
        """
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
        """Write the distinct candidates with hashes low..high-1 to a run, and remove their bits from `gone`.

        Returns False if the search is stopped.
        """
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
        """Load the candidates with hashes low..high-1 into memory, the first of equal ones; False if there is no
        room."""
        known = self.known
        known.forget_all(low, high)
        for group in self.groups:
            assert group.places is not None
            for at, states in group.pieces(*group.blocks_between(low, high)):
                size = len(states) // self.words
                there: NDArray[np.uint32] = np.empty(size, np.uint32)
                group.places.read(at, there)
                hashes = hashes_of(states, self.words)
                is_in = (hashes >= np.uint64(low)) & (hashes <= np.uint64(high - 1))
                kept = np.flatnonzero(is_in).astype(np.uint32)
                batch = Batch(states, there, there, kept, hashes[kept])
                done = known.absorb(
                    *(batch, 0, len(kept), int(SHARE_OF_RANGE * known.room), 0),
                    *(places.ctypes.data, places.ctypes.data, 0),
                )
                if done < len(kept):
                    return False
        return True

    # -------------------------------------------------------------------------------------------------- checkpoints

    def described(self) -> dict[str, Any]:
        """Everything about the stored states that a checkpoint has to record. All candidates must be in the draft."""
        return {
            "levels": [_described(level) for level in self.levels],
            "draft": None if self.draft is None else _described(self.draft),
            "runs": [run.column.described() for run in self.runs],
            "groups": [[column.described() for column in group.columns] for group in self.groups],
            "sealed": self.sealed,
            "group_start": self.group_start,
            "by_steps": self.by_steps.tolist(),
        }

    def restore(self, there: Mapping[str, Any]) -> None:
        """Restore what `described` has returned, and fill the memory. Raises DamagedError, DiskError, Full."""
        words, folder = self.words, self.folder
        levels = [self._level(one) for one in there["levels"]]
        self.draft = None if there["draft"] is None else self._level(there["draft"])
        self.runs = [SortedRun(words, folder.reopened(one, np.uint64)) for one in there["runs"]]
        self.groups = [
            SortedRun(words, folder.reopened(states, np.uint64), folder.reopened(places, np.uint32))
            for states, places in there["groups"]
        ]
        folder.delete_others()
        self.sealed, self.group_start = there["sealed"], there["group_start"]
        for level in levels[self.sealed :]:
            for _, states in level.pieces():
                self._remember(states, are_candidates=False)
        self.levels, self.count = levels, sum(level.count for level in levels)
        self.by_steps[:] = there["by_steps"]
        if self.draft is not None:
            for _, states in self.draft.pieces(self.group_start):
                self._remember(states, are_candidates=True)

    def _level(self, there: Mapping[str, Any]) -> Level:
        states = None if there["states"] is None else self.folder.reopened(there["states"], np.uint64)
        parents = self.folder.reopened(there["parents"], np.uint32)
        return Level(self.words, states, parents, self.folder.reopened(there["steps"], self.step_kind))

    def _remember(self, states: NDArray[np.uint64], *, are_candidates: bool) -> None:
        """Take states that files hold into memory."""
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


def _described(level: Level) -> dict[str, Any]:
    return {
        "states": None if level.states is None else level.states.described(),
        "parents": level.parents.described(),
        "steps": level.steps.described(),
    }
