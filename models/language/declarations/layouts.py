"""Where the fields of a model lie in the cells of a state.

In:  the fields of a model, and the configuration of an instance (models/language/model.py).
Out: a `FieldLayout` for each field; and how the values of cells are spelled.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import prod

from isrcheck.models.language.declarations.declare import NONE, Field
from isrcheck.models.language.declarations.values import Values
from isrcheck.models.language.text.plain import bytes_of
from isrcheck.models.messages.errors import ModelError
from isrcheck.models.messages.printable import escaped


@dataclass(frozen=True)
class FieldLayout:
    """The position of a field in the cells of a state, and the range of its cells."""

    name: str
    offset: int
    sizes: tuple[int, ...]
    low: int
    high: int
    field: Field

    @property
    def count(self) -> int:
        """The number of cells of the field."""
        return prod(self.sizes)

    @property
    def bytes(self) -> int:
        """The number of bytes of each of its cells in a working buffer: 1, 2 or 4."""
        return bytes_of(self.low, self.high)

    def indices(self) -> Iterator[tuple[int, ...]]:
        """Every index of the field, in the order of the cells."""
        return itertools.product(*(range(size) for size in self.sizes))

    def position(self, index: Sequence[int], cells: Sequence[int] = ()) -> int:
        """The position in a state of the cell with this index. Raises ModelError if there is none; given the cells of
        the state, the message says how long a queue is."""
        offset = 0
        for depth, (size, one) in enumerate(zip(self.sizes, index, strict=True)):
            if one == size and cells and depth + 1 == len(self.sizes):
                start = self.offset + offset * size
                self._refuse_place([cells[position] for position in range(start, start + size)])
            offset = offset * size + self.index(depth, one)
        return self.offset + offset

    def _refuse_place(self, row: list[int]) -> None:
        """Raise ModelError if this row is a queue: the core looks behind its last place for what a queue lacks."""
        contents = self.field.contents
        if contents is None or contents.filler is None:
            return
        length = len(row) - row.count(contents.filler)
        if length == len(row):
            cure = "guard the step with len(...), or give it a larger most="
            raise ModelError(f"{self.name} is full with {length} elements; {cure}")
        what = f"{self.name}, whose length is {length}, has no such element"
        raise ModelError(f"{what}; test it with len(...) before it is used")

    def index(self, depth: int, index: int) -> int:
        """This index, the one after `depth` others, as a number. Raises ModelError if it is outside its domain."""
        if not 0 <= index < self.sizes[depth]:
            raise ModelError(
                f"index {int(index)} of {self.name} is outside 0..{self.sizes[depth] - 1};"
                " test the index before it is used"
            )
        return int(index)

    def cell(self, value: int) -> int:
        """What a cell holds to which this value is written. Raises ModelError if it is outside the field's range."""
        if not self.low <= value <= self.high:
            raise ModelError(
                f"{int(value)} is written to {self.name}, whose values are {self.low}..{self.high};"
                " guard the step, or widen the field"
            )
        return int(value)

    def spell(self, value: int) -> str:
        """Return a cell's value as text; of a queue, the element at its place, or - for none."""
        contents = self.field.contents
        if contents is None or contents.filler is None:
            return spell_value(self.field.values, value)
        return "-" if value == contents.filler else spell_value(contents.element, value)


def spell_value(values: Values, value: int) -> str:
    """Return a value as text: true/false, a member's name, a letter, none, or digits."""
    if values.is_flag:
        return "true" if value else "false"
    if values.names is not None:
        return spell_member(values.names(value))
    if values.none and value == NONE:
        return "none"
    return spell_element(value) if values.letters else str(value)


def spell_element(number: int) -> str:
    """Return element 0, 1, 2, ... of a lettered domain as a, b, c, ..., then r26, r27, ..."""
    return chr(ord("a") + number) if 0 <= number < 26 else f"r{number}"


def spell_member(member: IntEnum) -> str:
    """Return the spelling of an enumeration's member, or its name, without control characters."""
    return escaped(str(getattr(member, "spelling", member.name)))
