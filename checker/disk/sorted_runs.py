"""Sorted runs: files of states in the order of their hashes, in which candidates are looked up.

In:  known states, which are written in the order of their hashes; later, candidates.
Out: marks on the candidates that a run holds.

A run is read from its beginning to its end, once for each level. As the table of the known states has the same order,
all lookups are in neighbouring slots. The first hash of each block is kept in memory, so that blocks in which no
candidate can lie are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.disk.files import PIECE_BYTES, Column
from isrcheck.checker.disk.known_states import REGION_BITS, KnownStates, hashes_of

BLOCK = 1 << 12
"""The states in a block."""

REGION_SHIFT = np.uint64(64 - REGION_BITS)


class SortedRun:
    """States in the order of their hashes. `firsts` has the first hash of every block; `places`, if given, is a column
    with a number for each state."""

    def __init__(self, words: int, column: Column, places: Column | None = None) -> None:
        self.words = words
        self.column = column
        self.places = places
        self._firsts: list[NDArray[np.uint64]] = []
        if column.count:
            state, starts = np.empty(words, np.uint64), range(0, column.count, BLOCK * words)
            heads: NDArray[np.uint64] = np.empty(len(starts) * words, np.uint64)
            for number, first in enumerate(starts):
                column.read(first, state)
                heads[number * words : (number + 1) * words] = state
            self._firsts.append(hashes_of(heads, words))

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
        """Append states with greater hashes than those before."""
        self._firsts.append(hashes[-self.count % BLOCK :: BLOCK].copy())
        self.column.append(states)

    def blocks_between(self, low: int, high: int) -> tuple[int, int]:
        """The blocks first..last-1 that can hold states with hashes low..high-1."""
        first = int(np.searchsorted(self.firsts, np.uint64(low), "left")) - 1
        last = len(self.firsts) if high >= 1 << 64 else int(np.searchsorted(self.firsts, np.uint64(high), "left"))
        return max(0, first), last

    def blocks_in(self, regions: NDArray[np.uint8]) -> Iterator[tuple[int, int]]:
        """Sequences of blocks, each as first..last-1, that can hold states in the marked regions of hashes."""
        heads = (self.firsts >> REGION_SHIFT).astype(np.int64)
        ends = np.append(heads[1:], (1 << REGION_BITS) - 1)
        below = np.concatenate([[0], np.cumsum(regions, dtype=np.int32)])
        is_read = np.concatenate([[False], below[ends + 1] > below[heads], [False]])
        for first, last in np.flatnonzero(is_read[1:] != is_read[:-1]).reshape(-1, 2):
            yield int(first), int(last)

    def pieces(self, first: int, last: int) -> Iterator[tuple[int, NDArray[np.uint64]]]:
        """The states in the blocks first..last-1, some at a time, each with the position of its first state. The array
        is used again."""
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
        """Mark the candidates that these blocks hold; returns how many got a mark, or None if the search is stopped."""
        struck = 0
        for first, last in blocks:
            for _, states in self.pieces(first, last):
                struck += known.strike(states)
                if is_stopped():
                    return None
        return struck
