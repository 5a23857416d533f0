"""The layout of a state in memory: as bytes in a working buffer, and packed into 64-bit words in the visited set.

A working buffer holds an error word (8 bytes, non-zero once an index or a value has left its range), the run-time
settings, one byte per action (the alternative that the protocol uses, -1 for none), and the cells. Each setting and
each cell is a signed number of 1, 2 or 4 bytes, as its declared range needs, aligned to its size. The cells come last,
8-byte aligned, so that they can be copied without the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.models.language.declarations import bytes_of
from isrcheck.models.language.model import Instance

ERROR_BYTES = 8
WORD_BITS = 64
ABSENT = -1
"""The number that stands for "no alternative": the protocol lacks the action."""

LANES = 8
"""Cells that are packed or unpacked together: a vector size that suits every processor; 64 bits of narrow cells."""

KINDS: dict[int, type[np.signedinteger[Any]]] = {1: np.int8, 2: np.int16, 4: np.int32}
"""The types of cells by their number of bytes."""


@dataclass(frozen=True)
class Bits:
    """Where one cell is stored. A packed state stores the cell's value minus `low`, in `width` bits of word number
    `word`, from bit `shift` on. A working buffer stores the value, in `bytes` bytes from byte number `byte` on."""

    word: int
    shift: int
    width: int
    low: int
    byte: int
    bytes: int


@dataclass(frozen=True)
class SettingPlace:
    """Where one run-time setting is in a working buffer: its first byte, and its number of bytes."""

    name: str
    byte: int
    bytes: int


@dataclass(frozen=True)
class Layout:
    """Where states store cells and settings. Configurations with equal ranges and array sizes share a layout."""

    settings: tuple[SettingPlace, ...]
    slots: int
    bits: tuple[Bits, ...]
    words: int

    @property
    def first_choice(self) -> int:
        """The byte at which the alternatives begin: one byte per action says which alternative the protocol uses."""
        return max((place.byte + place.bytes for place in self.settings), default=ERROR_BYTES)

    @property
    def first_cell(self) -> int:
        """The byte at which the cells begin."""
        return _aligned(self.first_choice + self.slots, 8)

    @property
    def size(self) -> int:
        """The number of bytes of a working buffer: a multiple of 8; LANES cells can be loaded beginning at any cell."""
        end = max((bits.byte + bits.bytes for bits in self.bits), default=self.first_cell)
        widest = max((bits.bytes for bits in self.bits), default=1)
        return _aligned(end + (LANES - 1) * widest, 8)

    @property
    def kind(self) -> type[np.signedinteger[Any]]:
        """The type of an array that holds the cells of states, one state per row."""
        return KINDS[max((bits.bytes for bits in self.bits), default=1)]

    def setting(self, name: str) -> SettingPlace:
        """The place of a run-time setting."""
        return next(place for place in self.settings if place.name == name)

    def buffer(self, instance: Instance, cells: Sequence[int] = ()) -> NDArray[np.int8]:
        """A working buffer with an instance's run-time settings, and with the values `cells` (if empty: zeros)."""
        buffer = np.zeros(self.size, np.int8)
        values = dict(instance.configuration.items())
        for place in self.settings:
            buffer[place.byte : place.byte + place.bytes].view(KINDS[place.bytes])[:] = values[place.name]
        for position, choice in enumerate(instance.alternatives):
            buffer[self.first_choice + position] = ABSENT if choice is None else choice
        for bits, value in zip(self.bits if cells else (), cells, strict=True):
            buffer[bits.byte : bits.byte + bits.bytes].view(KINDS[bits.bytes])[:] = value
        return buffer

    def pack(self, cells: Sequence[int]) -> NDArray[np.uint64]:
        """The packed words of one state."""
        return self.pack_rows(np.array([cells], np.int64)).ravel()

    def pack_rows(self, states: NDArray[np.signedinteger[Any]]) -> NDArray[np.uint64]:
        """The packed words of several states, one state per row."""
        words = np.zeros((len(states), self.words), np.uint64)
        for position, bits in enumerate(self.bits):
            values = (states[:, position].astype(np.int64) - bits.low).astype(np.uint64)
            words[:, bits.word] |= values << np.uint64(bits.shift)
        return words

    def unpack(self, words: Iterable[int]) -> tuple[int, ...]:
        """The cells of one packed state."""
        numbers = list(map(int, words))  # once for each word: the cells of a word are many
        return tuple((numbers[bits.word] >> bits.shift & (1 << bits.width) - 1) + bits.low for bits in self.bits)

    def unpack_rows(self, words: NDArray[np.uint64]) -> NDArray[np.signedinteger[Any]]:
        """The cells of several packed states, one state per row."""
        cells = np.empty((len(words), len(self.bits)), self.kind)
        for position in range(len(self.bits)):
            cells[:, position] = self.column(words, position)
        return cells

    def column(self, states: NDArray[np.uint64], position: int) -> NDArray[np.int64]:
        """The value of one cell in each of the packed states, one per row."""
        bits = self.bits[position]
        values = (states[:, bits.word] >> np.uint64(bits.shift)) & np.uint64((1 << bits.width) - 1)
        return values.astype(np.int64) + bits.low


def layout_of(instance: Instance) -> Layout:
    """The layout for an instance: each cell takes the bits that its range needs, within one word."""
    settings: list[SettingPlace] = []
    byte = ERROR_BYTES
    for name, entry in instance.model.entries.items():
        if not entry.is_bound:
            assert entry.most is not None, "a run-time setting needs a greatest value"
            size = bytes_of(entry.least, entry.most)
            byte = _aligned(byte, size)
            settings.append(SettingPlace(name, byte, size))
            byte += size
    draft = Layout(tuple(settings), len(instance.model.actions), (), 0)
    bits: list[Bits] = []
    word, used, byte = 0, 0, draft.first_cell
    for place in instance.layouts.values():
        width = (place.high - place.low).bit_length()
        byte = _aligned(byte, place.bytes)
        for _ in range(place.count):
            if used + width > WORD_BITS:
                word, used = word + 1, 0
            bits.append(Bits(word, used, width, place.low, byte, place.bytes))
            used += width
            byte += place.bytes
    return replace(draft, bits=tuple(bits), words=word + 1)


def _aligned(byte: int, size: int) -> int:
    return -(-byte // size) * size
