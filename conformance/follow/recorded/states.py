"""Reads a variable in many packed states at once, as a column of values.

In:  states as words (checker/compile/layout.py), one row each.
Out: columns of whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.layout import Layout
from isrcheck.models.language.model import Instance

Words = NDArray[np.uint64]
"""States, one row each; or one monitor per state."""

Numbers = NDArray[np.int64]
Truths = NDArray[np.bool_]

Variable = tuple[str, *tuple[int, ...]]
"""A variable: the name of a field, and its indices."""


class Cells:
    """Where the variables of an instance lie in its packed states."""

    def __init__(self, instance: Instance, layout: Layout) -> None:
        self.instance = instance
        self.layout = layout

    def column(self, states: Words, name: str, *index: int) -> Numbers:
        """The value of a variable in every state."""
        return self.layout.column(states, self.place(name, *index))

    def masks(self, *names: str) -> Words:
        """A mask for packed states: it selects the bits of these variables."""
        masks = [0] * self.layout.words
        for name in names:
            place = self.instance.layouts[name]
            for bits in self.layout.bits[place.offset : place.offset + place.count]:
                masks[bits.word] |= ((1 << bits.width) - 1) << bits.shift
        return np.array(masks, np.uint64)

    def place(self, name: str, *index: int) -> int:
        """The number of the cell that holds a variable."""
        place = self.instance.layouts[name]
        position = 0
        for at, size in zip(index, place.sizes, strict=True):
            assert 0 <= at < size, f"{name}{list(index)} does not exist"
            position = position * size + at
        return place.offset + position

    def mask(self, variables: Iterable[Variable]) -> Words:
        """A mask for packed states: it selects the bits of these variables."""
        return self.pattern(dict.fromkeys(variables))[0]

    def pattern(self, values: Mapping[Variable, int | None]) -> tuple[Words, Words]:
        """A mask of these variables, and their bits in a packed state in which they have these values (None: 0)."""
        masks, words = [0] * self.layout.words, [0] * self.layout.words
        for (name, *index), value in values.items():
            bits = self.layout.bits[self.place(name, *index)]
            masks[bits.word] |= ((1 << bits.width) - 1) << bits.shift
            words[bits.word] |= 0 if value is None else (value - bits.low) << bits.shift
        return np.array(masks, np.uint64), np.array(words, np.uint64)

    def packed(self, values: Mapping[str, int]) -> Words:
        """A packed state in which all cells of each variable have the given value, and all other bits are 0."""
        words = [0] * self.layout.words
        for name, value in values.items():
            place = self.instance.layouts[name]
            for bits in self.layout.bits[place.offset : place.offset + place.count]:
                words[bits.word] |= (value - bits.low) << bits.shift
        return np.array(words, np.uint64)
