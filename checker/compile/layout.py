"""The layout of a state in memory: as bytes in a working buffer, and packed into 64-bit words in the visited set.

In:  an `Instance` (models/language/model.py).
Out: a `Layout`: the bytes of a working buffer, and for every cell the word and the bits that it is packed into.

A working buffer holds an error word (8 bytes, non-zero once an index or a value has left its range), one byte per
run-time setting, one byte per action (the alternative that the protocol uses, -1 for none), and one signed byte per
cell. The cells come last, 8-byte aligned, so that they can be copied without the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isrcheck.models.language.model import Instance

ERROR_BYTES = 8
WORD_BITS = 64
ABSENT = -1
"""The number that stands for "no alternative": the protocol lacks the action."""


@dataclass(frozen=True)
class Bits:
    """Where one cell is packed: word, lowest bit, number of bits. Its value is stored as value - low."""

    word: int
    shift: int
    width: int
    low: int
    byte: int


@dataclass(frozen=True)
class Layout:
    """The bytes and bits of a state, the same for all configurations with the same ranges and array sizes."""

    settings: tuple[str, ...]
    slots: int
    cells: int
    bits: tuple[Bits, ...]
    words: int

    @property
    def first_choice(self) -> int:
        """The byte that holds the alternative of action 0."""
        return ERROR_BYTES + len(self.settings)

    @property
    def first_cell(self) -> int:
        """The byte of cell 0."""
        return -(-(self.first_choice + self.slots) // 8) * 8

    @property
    def size(self) -> int:
        """The bytes of a working buffer: a multiple of 8, with room for an 8-byte load that starts at any cell."""
        return self.first_cell + -(-(self.cells + 7) // 8) * 8

    def buffer(self, instance: Instance) -> NDArray[np.int8]:
        """A working buffer with the run-time settings of an instance that has this layout."""
        buffer = np.zeros(self.size, np.int8)
        values = dict(instance.configuration.items())
        for position, name in enumerate(self.settings):
            buffer[ERROR_BYTES + position] = values[name]
        for position, choice in enumerate(instance.alternatives):
            buffer[self.first_choice + position] = ABSENT if choice is None else choice
        return buffer

    def pack(self, cells: Sequence[int]) -> NDArray[np.uint64]:
        """The packed words of one state."""
        words = [0] * self.words
        for bits, value in zip(self.bits, cells, strict=True):
            words[bits.word] |= (value - bits.low) << bits.shift
        return np.array(words, np.uint64)

    def pack_rows(self, states: NDArray[np.int8]) -> NDArray[np.uint64]:
        """The packed words of several states, one state per row."""
        words = np.zeros((len(states), self.words), np.uint64)
        for position, bits in enumerate(self.bits):
            words[:, bits.word] |= (states[:, position].astype(np.int64) - bits.low).astype(np.uint64) << np.uint64(
                bits.shift
            )
        return words

    def unpack(self, words: Sequence[int]) -> tuple[int, ...]:
        """The cells of one packed state."""
        return tuple((int(words[bits.word]) >> bits.shift & (1 << bits.width) - 1) + bits.low for bits in self.bits)

    def column(self, states: NDArray[np.uint64], position: int) -> NDArray[np.int64]:
        """The value of one cell in each of the packed states, one per row."""
        bits = self.bits[position]
        found = (states[:, bits.word] >> np.uint64(bits.shift)) & np.uint64((1 << bits.width) - 1)
        return found.astype(np.int64) + bits.low


def layout_of(instance: Instance) -> Layout:
    """The layout for an instance: each cell takes the bits that its range needs, within one word."""
    entries = instance.model.entries
    settings = tuple(name for name, entry in entries.items() if not entry.is_bound)
    draft = Layout(settings, len(instance.model.actions), instance.cells, (), 0)
    bits: list[Bits] = []
    word, used = 0, 0
    for place in instance.layouts.values():
        width = (place.high - place.low).bit_length()
        for _ in range(place.count):
            if used + width > WORD_BITS:
                word, used = word + 1, 0
            bits.append(Bits(word, used, width, place.low, draft.first_cell + len(bits)))
            used += width
    return Layout(settings, len(instance.model.actions), instance.cells, tuple(bits), word + 1)
