"""Many states as a table: one array for each variable, with one row for each state.

In:  packed states, or a table.
Out: a table, or packed states.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.layout import Layout
from isrcheck.conformance.follow.paths.cells import Words
from isrcheck.models.language.model import Instance

Cube = NDArray[np.int16]
"""The values of a variable: the first axis is the state, the others are the indices of the variable."""


class Table:
    """States that can be changed, all at once."""

    def __init__(self, instance: Instance, layout: Layout, states: Words) -> None:
        self.instance = instance
        self.layout = layout
        self.rows = len(states)
        self._cubes: dict[str, Cube] = {}
        for name, place in instance.layouts.items():
            cube = np.empty((self.rows, place.count), np.int16)
            for at in range(place.count):
                cube[:, at] = layout.column(states, place.offset + at)
            self._cubes[name] = cube.reshape(self.rows, *place.sizes)

    def __getitem__(self, name: str) -> Cube:
        return self._cubes[name]

    def __setitem__(self, name: str, cube: Cube) -> None:
        assert cube.shape == self._cubes[name].shape, name
        self._cubes[name] = cube.astype(np.int16)

    def has(self, name: str) -> bool:
        """Whether the instance has cells of this variable."""
        return name in self._cubes and self._cubes[name].size > 0

    def packed(self) -> Words:
        """The states, packed. A value outside its range is an error of the caller."""
        words: Words = np.zeros((self.rows, self.layout.words), np.uint64)
        for name, place in self.instance.layouts.items():
            cube = self._cubes[name].reshape(self.rows, place.count)
            assert not cube.size or (place.low <= cube.min() and cube.max() <= place.high), f"{name} leaves its range"
            for at in range(place.count):
                bits = self.layout.bits[place.offset + at]
                value = (cube[:, at].astype(np.int64) - bits.low).astype(np.uint64)
                words[:, bits.word] |= value << np.uint64(bits.shift)
        return words
