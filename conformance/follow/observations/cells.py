"""Reads a variable in many packed states at once, as a column of values.

In:  states as words (checker/compile/layout.py), one row each.
Out: columns of whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.layout import Layout
from isrcheck.models.language.model import Instance

Words = NDArray[np.uint64]
"""States, one row each; or one monitor per state."""

Numbers = NDArray[np.int64]
Truths = NDArray[np.bool_]


class Cells:
    """Where the variables of an instance lie in its packed states."""

    def __init__(self, instance: Instance, layout: Layout) -> None:
        self.instance = instance
        self.layout = layout

    def column(self, states: Words, name: str, *index: int) -> Numbers:
        """The value of a variable in every state."""
        place = self.instance.layouts[name]
        position = 0
        for at, size in zip(index, place.sizes, strict=True):
            assert 0 <= at < size, f"{name}{list(index)} does not exist"
            position = position * size + at
        return self.layout.column(states, place.offset + position)

    def masks(self, *names: str) -> Words:
        """A mask for packed states: it selects the bits of these variables."""
        masks = [0] * self.layout.words
        for name in names:
            place = self.instance.layouts[name]
            for bits in self.layout.bits[place.offset : place.offset + place.count]:
                masks[bits.word] |= ((1 << bits.width) - 1) << bits.shift
        return np.array(masks, np.uint64)

    def packed(self, values: Mapping[str, int]) -> Words:
        """A packed state in which all cells of each variable have the given value, and all other bits are 0."""
        words = [0] * self.layout.words
        for name, value in values.items():
            place = self.instance.layouts[name]
            for bits in self.layout.bits[place.offset : place.offset + place.count]:
                words[bits.word] |= (value - bits.low) << bits.shift
        return np.array(words, np.uint64)
