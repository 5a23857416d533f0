"""Arrays in memory as parameters of a function: `array[place]` loads a number, and `array[place] = number` stores one.

In:  the address of an array, and numbers.
Out: instructions, inlined at that place of the function.
"""

from __future__ import annotations

from typing import ClassVar

from isrcheck.checker.compile.staging.code import Number, Value
from isrcheck.checker.compile.staging.instructions import LOAD, STORE


class Words(Value):
    """An array of 64-bit numbers."""

    __slots__ = ()

    size: ClassVar[int] = 8
    __iter__ = None  # its end is not known: Python would load numbers for ever

    def __getitem__(self, place: Number) -> Value:
        return LOAD[self.size](self + place * self.size)

    def __setitem__(self, place: Number, number: Number) -> None:
        STORE[self.size](self + place * self.size, number)


class Halves(Words):
    """An array of unsigned 32-bit numbers."""

    __slots__ = ()

    size = 4


class Bytes(Words):
    """An array of unsigned 8-bit numbers."""

    __slots__ = ()

    size = 1
