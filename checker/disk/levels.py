"""The levels of a search on disk: states in order of discovery, each with its predecessor and its step.

In:  states, predecessors and steps, as they are found.
Out: the same again, by level; and the path to a state.

A predecessor is given by its position in the level before. The states of a level are deleted once they are expanded and
a sorted run holds them; predecessors and steps stay, for paths.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.disk.files import Column, Folder

MOST_OF_LEVEL = (1 << 32) - 1
"""The most candidates in a level: positions are stored as 32-bit numbers."""

PIECE = 1 << 16
"""The states that are read at once."""


@dataclass
class Level:
    """The columns of a level; `states` is None when they are deleted."""

    words: int
    states: Column | None
    parents: Column
    steps: Column

    @classmethod
    def new(cls, folder: Folder, words: int, step_kind: Any) -> Level:
        """An empty level."""
        return cls(
            words,
            folder.column("states", np.uint64),
            folder.column("parents", np.uint32),
            folder.column("steps", step_kind),
        )

    @property
    def count(self) -> int:
        """The number of states."""
        return self.parents.count

    @property
    def columns(self) -> list[Column]:
        """All columns that are not deleted."""
        return [*([] if self.states is None else [self.states]), self.parents, self.steps]

    def append(self, states: NDArray[np.uint64], parents: NDArray[Any], steps: NDArray[Any]) -> None:
        """Append states with their predecessors and steps. Raises DiskError; all columns are then equally long."""
        assert self.states is not None
        self.states.append(states)
        self.steps.append(steps)
        self.parents.append(parents)

    def pieces(self, first: int = 0) -> Iterator[tuple[int, NDArray[np.uint64]]]:
        """The states from position `first` on, some at a time, with the position of the first. The array is used
        again."""
        assert self.states is not None
        buffer: NDArray[np.uint64] = np.empty(min(PIECE, self.count) * self.words, np.uint64)
        for at in range(first, self.count, PIECE):
            states = buffer[: (min(at + PIECE, self.count) - at) * self.words]
            self.states.read(at * self.words, states)
            yield at, states

    def without(self, folder: Folder, is_gone: Callable[[int, int], NDArray[np.bool_]]) -> Level:
        """A copy without the states for which `is_gone` (given positions first..last-1) says so."""
        kept = Level.new(folder, self.words, self.steps.kind)
        for at, states in self.pieces():
            size = len(states) // self.words
            rest = ~is_gone(at, at + size)
            parents: NDArray[Any] = np.empty(size, self.parents.kind)
            steps: NDArray[Any] = np.empty(size, self.steps.kind)
            self.parents.read(at, parents)
            self.steps.read(at, steps)
            kept.append(states.reshape(-1, self.words)[rest].ravel(), parents[rest], steps[rest])
        return kept

    def by_steps(self, steps: int) -> NDArray[np.int64]:
        """For each step, how many states of the level it discovered."""
        found: NDArray[np.int64] = np.zeros(steps, np.int64)
        for at in range(0, self.count, PIECE):
            part: NDArray[Any] = np.empty(min(PIECE, self.count - at), self.steps.kind)
            self.steps.read(at, part)
            found += np.bincount(part, minlength=steps)
        return found

    def drop(self, folder: Folder) -> None:
        """Delete all columns."""
        for column in self.columns:
            folder.drop(column)

    def drop_states(self, folder: Folder) -> None:
        """Delete the states, and keep predecessors and steps."""
        if self.states is not None:
            folder.drop(self.states)
            self.states = None


class Levels:
    """The levels that are complete: `count` states in all, and paths to them."""

    def __init__(self, steps: int) -> None:
        self.levels: list[Level] = []
        self.by_steps: NDArray[np.int64] = np.zeros(steps, np.int64)
        self.count = 0

    def append(self, level: Level) -> None:
        """Add a level, with all its states."""
        if self.levels:
            self.by_steps += level.by_steps(len(self.by_steps))
        self.levels.append(level)
        self.count += level.count

    def found_by(self, first: int, steps: int) -> NDArray[np.int64]:
        """For each step, how many states it discovered; the `first` states to start from do not count."""
        assert steps == len(self.by_steps)
        assert not self.levels or first == self.levels[0].count or not first
        return self.by_steps

    @property
    def firsts(self) -> Sequence[int]:
        """The number of the first state of each level, and the count of all."""
        return list(accumulate((level.count for level in self.levels), initial=0))

    def path(self, number: int) -> tuple[int, list[int]]:
        """The path to a state: the number of its initial state, and the numbers of its steps."""
        firsts = self.firsts
        depth = bisect_right(firsts, number) - 1
        position, steps = number - firsts[depth], []
        for level in reversed(self.levels[1 : depth + 1]):
            steps.append(level.steps.one(position))
            position = level.parents.one(position)
        return position, steps[::-1]
