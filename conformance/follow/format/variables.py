"""The notation for variables of a model in a log: `high_watermark[1]` is 3, `fetch[2][0]` is "PARKED"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from isrcheck.conformance.follow.format.ndjson import UnreadableError
from isrcheck.models.language import NONE
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.messages import nearest
from isrcheck.models.run import Cells

Value = int | bool | str | None | list["Value"]
"""The JSON form of a variable or of a part of it."""

Observed = tuple[tuple[int, Cells], ...]
"""An observation of a state: positions of cells, each with the values observed from that cell on."""

KEY = re.compile(r"([a-z_]+)((?:\[[0-9]{1,4}\])*)", re.ASCII)


@dataclass(frozen=True)
class Part:
    """What a key in a log names: a variable of the model or, as in `log_record[1]`, a part of one. `start` is the
    position of its first cell in a state; `sizes` tells how many values each index has that the key leaves out."""

    layout: FieldLayout
    start: int
    sizes: tuple[int, ...]

    @cached_property
    def members(self) -> Mapping[str, int]:
        """The members of the variable's enumeration, name to value; empty if the variable is not an enumeration."""
        names = self.layout.field.values.names
        return {} if names is None else {member.name: int(member) for member in names}

    @cached_property
    def read_cell(self) -> Callable[[object], int | None]:
        """A function that turns a single value in a log into the model's number for it (None: the value is invalid)."""
        values, low, high, members = self.layout.field.values, self.layout.low, self.layout.high, self.members
        if values.is_flag:
            return lambda value: int(value) if isinstance(value, bool) else None
        if values.names is not None:
            return lambda value: members.get(value) if isinstance(value, str) else None

        def read(value: object) -> int | None:
            if type(value) is int:  # JSON's true is not the number 1
                return value if max(0, low) <= value <= high else None
            return NONE if value is None and values.none else None

        return read

    def spell_cell(self, value: int) -> Value:
        """The value of one cell as a log spells it: true or false, the name of a member, null for none, or a number."""
        values = self.layout.field.values
        if values.is_flag:
            return bool(value)
        if values.names is not None:
            return values.names(value).name
        return None if values.none and value == NONE else value

    def spell(self, cells: Sequence[int]) -> Value:
        """The cells of the part as a log spells them: one value, or nested lists with the lengths in `sizes`."""
        return self._nested(self.sizes, [self.spell_cell(cell) for cell in cells])

    def _nested(self, sizes: Sequence[int], values: list[Value]) -> Value:
        if not sizes:
            return values[0]
        each = prod(sizes[1:])
        return [self._nested(sizes[1:], values[i * each : (i + 1) * each]) for i in range(sizes[0])]

    def read(self, value: object) -> Cells:
        """The values of the part's cells, from one value or nested lists in a log. Raises UnreadableError."""
        read_cell, cells = self.read_cell, []
        for value_of_cell in self._flat(value, self.sizes):
            cell = read_cell(value_of_cell)
            if cell is None:
                raise UnreadableError(f"{_shown(value_of_cell)}, but its values are {self._range()}")
            cells.append(cell)
        return tuple(cells)

    def _flat(self, value: object, sizes: Sequence[int]) -> Sequence[object]:
        if not sizes:
            return (value,)
        if not isinstance(value, list) or len(value) != sizes[0]:
            raise UnreadableError(f"{_shown(value)}, but has to be a list of {sizes[0]} values")
        return value if len(sizes) == 1 else [cell for part in value for cell in self._flat(part, sizes[1:])]

    def _range(self) -> str:
        values, low, high = self.layout.field.values, self.layout.low, self.layout.high
        if values.is_flag:
            return "true or false"
        if values.names is not None:
            return " or ".join(f'"{name}"' for name in self.members)
        return f"{max(0, low)}..{high}{' or null' if values.none else ''}"


class Variables:
    """The variables of an instance of the model, and their parts, found by their keys in a log."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._parts: dict[str, Part] = {}

    def part(self, key: str) -> Part:
        """The variable, or part of a variable, with this key. Raises UnreadableError."""
        if key not in self._parts:
            self._parts[key] = self._find(key)
        return self._parts[key]

    def _find(self, key: str) -> Part:
        match, layouts = KEY.fullmatch(key), self._instance.layouts
        if match is None or match[1] not in layouts:
            name = key.partition("[")[0]
            raise UnreadableError(f"the model has no variable {_shown(name)}; {nearest(name[:100], layouts)}")
        layout = layouts[match[1]]
        indices = [int(index) for index in re.findall("[0-9]+", match[2])]
        if len(indices) > len(layout.sizes) or any(i >= size for i, size in zip(indices, layout.sizes, strict=False)):
            sizes = "".join(f"[0..{size - 1}]" for size in layout.sizes)
            raise UnreadableError(f"{key} does not exist: the model has {layout.name}{sizes}; see the configuration")
        start, sizes_left = layout.offset, layout.sizes
        for index in indices:
            sizes_left = sizes_left[1:]
            start += index * prod(sizes_left)
        return Part(layout, start, sizes_left)

    def read(self, state: Mapping[str, object]) -> Observed:
        """Return the observation in `state`, which maps keys of variables to values. Raises UnreadableError."""
        observed = []
        for key, value in state.items():
            part = self.part(key)
            try:
                observed.append((part.start, part.read(value)))
            except UnreadableError as error:
                raise UnreadableError(f"{key} is {error}; correct the value, or the configuration") from None
        return tuple(observed)

    def key_at(self, position: int) -> str:
        """The key of the cell at a position of the state, such as `log_record[1][0]`."""
        for layout in self._instance.layouts.values():
            if layout.offset <= position < layout.offset + layout.count:
                index = next(index for at, index in enumerate(layout.indices()) if at == position - layout.offset)
                return layout.name + "".join(f"[{number}]" for number in index)
        raise IndexError(position)

    def differences(self, cells: Cells, observed: Observed) -> Iterator[tuple[str, Value, Value]]:
        """For each cell in which a state and an observation differ: its key, the state's value, the observed value."""
        for start, values in observed:
            for position, value in enumerate(values, start):
                if cells[position] != value:
                    key = self.key_at(position)
                    part = self.part(key)
                    yield key, part.spell_cell(cells[position]), part.spell_cell(value)


def agrees(cells: Cells, observed: Observed) -> bool:
    """Whether a state of the model has all the observed values."""
    for start, values in observed:  # noqa: SIM110 - a loop, because logs are long
        if cells[start : start + len(values)] != values:
            return False
    return True


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
