"""States: a state is a list of numbers, the cells of the model's fields.

`FieldLayout` says which cells belong to a field. `State` is the object `s` through which the functions of a model read
and write cells in CPython. `InitialStates` holds the initial states of a model as bytes.
"""

from __future__ import annotations

import itertools
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby
from math import prod
from operator import itemgetter
from typing import Any, Protocol, overload

from isrcheck.models.language.declarations import NONE, Contents, Domain, Field, Group, Values, bytes_of, plain, shown
from isrcheck.models.messages import ModelError, escaped

# -------------------------------------------------------------------------------------------------------------- layouts


@dataclass(frozen=True)
class FieldLayout:
    """The position of a field among the cells of a state, and the range of values of the field's cells."""

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
        """The size in bytes (1, 2 or 4) of each cell of the field while an engine computes with it."""
        return bytes_of(self.low, self.high)

    def indices(self) -> Iterator[tuple[int, ...]]:
        """Yield the indices of every cell of the field, in the order of the cells."""
        return itertools.product(*(range(size) for size in self.sizes))

    def position(self, index: Sequence[int], cells: Sequence[int] = ()) -> int:
        """Return the position, among all cells of a state, of the field's cell with these indices. Raises ModelError if
        there is no such cell. With the state's `cells`, the error for an index just after a queue gives its length."""
        offset = 0
        for depth, (size, axis_index) in enumerate(zip(self.sizes, index, strict=True)):
            if axis_index == size and cells and depth + 1 == len(self.sizes):
                start = self.offset + offset * size
                self._refuse_place([cells[position] for position in range(start, start + size)])
            offset = offset * size + self.index(depth, axis_index)
        return self.offset + offset

    def _refuse_place(self, row: list[int]) -> None:
        """Raise ModelError for the index after the last cell of a queue, whose cells are `row`. The message says that
        the queue is full or, if it is not, what its length is. Do nothing if the field holds no queues."""
        contents = self.field.contents
        if contents is None or contents.filler is None:
            return
        length = len(row) - row.count(contents.filler)
        if length == len(row):
            cure = "guard the step with len(...), or give the queue a larger most="
            raise ModelError(f"{self.name} is full with {length} elements; {cure}")
        what = f"the length of {self.name} is {length}, and an element beyond this length is used"
        raise ModelError(f"{what}; test the index with len(...) before it is used")

    def index(self, depth: int, index: int) -> int:
        """Return the index at position `depth` as an `int`. Raises ModelError if the index is outside its domain."""
        if not 0 <= index < self.sizes[depth]:
            what = f"index {int(index)} of {self.name} is outside 0..{self.sizes[depth] - 1}"
            raise ModelError(f"{what}; test the index before it is used")
        return int(index)

    def cell(self, value: int) -> int:
        """Return `value` as the `int` that a cell of the field stores. Raises ModelError for a value outside the
        field's range."""
        if not self.low <= value <= self.high:
            what = f"{int(value)} is written to {self.name}, whose values are {self.low}..{self.high}"
            raise ModelError(f"{what}; guard the step, or widen the field's range")
        return int(value)

    def spell(self, value: int) -> str:
        """Return a cell's value as text; for a cell of a queue, the element at this place, or `-` if the place is
        empty."""
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
    """Return element 0, 1, 2, ... of a domain with `letters=True` as a, b, c, ..., then r26, r27, ..."""
    return chr(ord("a") + number) if 0 <= number < 26 else f"r{number}"


def spell_member(member: IntEnum) -> str:
    """Return the attribute `spelling` of an enumeration's member, or else its name, without control characters."""
    return escaped(str(getattr(member, "spelling", member.name)))


# ------------------------------------------------------------------------------------------------------- initial states
#
# They are read one by one as the model yields them, and stored as bytes. A dictionary of the usual form (numbers, and
# nested lists of numbers) is read by functions that are built once for the fields. Any other dictionary is read cell by
# cell, which also reports its faults. Each dictionary is read before the model yields the next one, so a model may
# change a dictionary and yield it again.


Cells = tuple[int, ...]
"""One state: the cells of all fields, in order of declaration."""

Watch = Callable[[int, int], None]
"""A function that is called from time to time with the number of initial states so far and their size in bytes."""

STATES_AT_ONCE = 4096
"""The number of states whose cells are compared with their ranges in one go."""

BYTES_OF_KNOWN = 150
"""The memory in bytes that the recognition of duplicates takes per state, without the cells: a bytes object and an
entry of a set."""

LISTS = (list, tuple)


CODES = {1: "b", 2: "h", 4: "i"}
"""The codes of the modules `struct` and `array` for a signed number, by the number's size in bytes."""


@dataclass(eq=False)
class InitialStates(Sequence[Cells]):
    """The initial states of a model. `packed` holds the cells of all states, one signed number of `size` bytes each."""

    packed: bytes
    count_of_states: int
    cells: int
    size: int = 1

    def __len__(self) -> int:
        return self.count_of_states

    @overload
    def __getitem__(self, number: int) -> Cells: ...

    @overload
    def __getitem__(self, number: slice) -> tuple[Cells, ...]: ...

    def __getitem__(self, number: int | slice) -> Cells | tuple[Cells, ...]:
        numbers = range(self.count_of_states)
        if isinstance(number, slice):
            return tuple(self[each] for each in numbers[number])
        row = self.cells * self.size
        at = numbers[number] * row
        return tuple(array(CODES[self.size], self.packed[at : at + row]))

    def __iter__(self) -> Iterator[Cells]:
        return map(self.__getitem__, range(self.count_of_states))

    def column(self, cell: int) -> Sequence[int]:
        """Return the values of one cell in all states, in the order of the states."""
        if self.size == 1:
            return self.packed[cell :: self.cells]
        return array(CODES[self.size], self.packed)[cell :: self.cells]

    def index(self, cells: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the number of the state with these cells, among the states numbered `start` to `stop` - 1. Raises
        ValueError if none of these states has the cells."""
        numbers = range(self.count_of_states)[start:stop]
        try:
            row = array(CODES[self.size], cells).tobytes()
        except (OverflowError, TypeError):
            row = b""
        size = self.cells * self.size
        if len(row) == size and numbers:
            if not row:
                return numbers.start
            end, at = numbers.stop * size, self.packed.find(row, numbers.start * size)
            while 0 <= at < end:
                number, rest = divmod(at, size)
                if not rest:
                    return number
                at = self.packed.find(row, at + 1)
        raise ValueError(f"{cells} is not an initial state")

    def __contains__(self, cells: object) -> bool:
        try:
            self.index(cells)
        except ValueError:
            return False
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(other) == len(self) and all(map(tuple.__eq__, self, other))

    def __hash__(self) -> int:
        return hash((self.packed, self.count_of_states))


class UnusualError(Exception):
    """Raised for an initial state that is not a dictionary of numbers and nested lists of numbers, or lacks the
    expected sizes. The state is then read cell by cell."""


Reader = Callable[[Any], bytes]


def _list_reader(sizes: Sequence[int], code: str) -> Reader:
    """Return a function that packs a nested list of numbers into bytes. The lists must have exactly these sizes."""
    if len(sizes) == 1:
        pack = struct.Struct(f"{sizes[0]}{code}").pack

        def read_numbers(value: Any) -> bytes:
            if type(value) not in LISTS:
                raise UnusualError
            return pack(*value)

        return read_numbers
    size, inner = sizes[0], _list_reader(sizes[1:], code)

    def read_lists(value: Any) -> bytes:
        if type(value) not in LISTS or len(value) != size:
            raise UnusualError
        return b"".join(map(inner, value))

    return read_lists


def _field_reader(layout: FieldLayout, code: str, usual: Any) -> Reader:
    read, name = _list_reader(layout.sizes, code), layout.name
    if layout.field.contents is None:
        return lambda dictionary: read(dictionary[name])
    started = read(usual)

    def read_started(dictionary: Any) -> bytes:
        if dictionary[name] is not usual:
            raise UnusualError
        return started

    return read_started


def _numbers_reader(names: Sequence[str], code: str) -> Reader:
    """Return a function that packs the named fields, which follow one another and have one cell each, into bytes."""
    pack, values_of = struct.Struct(f"{len(names)}{code}").pack, itemgetter(*names)
    if len(names) == 1:
        return lambda dictionary: pack(values_of(dictionary))
    return lambda dictionary: pack(*values_of(dictionary))


class Enumeration:
    """Reads the initial states that a model yields, and packs them into bytes without repetition."""

    def __init__(self, place_of: Callable[[str], str], layouts: Mapping[str, FieldLayout]) -> None:
        self.place_of = place_of
        """Returns FILE:LINE of the code that gives a field its initial value, for the field's name."""
        self.layouts = layouts
        self.cells = sum(layout.count for layout in layouts.values())
        self.size = max((layout.bytes for layout in layouts.values()), default=1)
        code = CODES[self.size]
        self.usual = {name: layout.field.start(layout.sizes) for name, layout in layouts.items()}
        self.readers: list[Reader] = []
        for is_number, group in groupby(layouts.values(), key=lambda layout: not layout.sizes):
            if is_number:
                self.readers.append(_numbers_reader([layout.name for layout in group], code))
            else:
                self.readers += [_field_reader(layout, code, self.usual[layout.name]) for layout in group]
        self.ranges = [(layout.low, layout.high) for layout in layouts.values() for _ in range(layout.count)]
        self.outside = [_bytes_outside(*ends) for ends in self.ranges] if self.size == 1 else []

    def states(self, dictionaries: Iterable[Any], watch: Watch) -> InitialStates:
        """Return the states that the dictionaries {field: value} describe, without repetition, and call `watch` with
        the progress. Raises ModelError for an invalid state."""
        seen_rows: set[bytes] = set()
        packed, new = bytearray(), list[bytes]()
        for number, dictionary in enumerate(dictionaries, 1):
            try:
                row = self._quick(dictionary)
            except (UnusualError, struct.error, TypeError):
                row = self._slow(dictionary, new)
            if row not in seen_rows:
                seen_rows.add(row)
                new.append(row)
            if not number % STATES_AT_ONCE:
                packed += self._in_range(new)
                new.clear()
                watch(len(seen_rows), 2 * len(packed) + BYTES_OF_KNOWN * len(seen_rows))
        packed += self._in_range(new)
        return InitialStates(bytes(packed), len(seen_rows), self.cells, self.size)

    def default(self) -> Cells:
        """Return the state with all declared initial values. Raises ModelError if a value is outside its range."""
        return InitialStates(self._read({}), 1, self.cells, self.size)[0]

    def cells_of(self, states: Iterable[Cells], watch: Watch) -> InitialStates:
        """Return the given states in packed form, without repetition, and call `watch` with the progress."""
        code, rows = CODES[self.size], dict[bytes, None]()
        for number, cells in enumerate(states, 1):
            rows[array(code, cells).tobytes()] = None
            if not number % STATES_AT_ONCE:
                watch(len(rows), (self.cells * self.size + BYTES_OF_KNOWN) * len(rows))
        return InitialStates(b"".join(rows), len(rows), self.cells, self.size)

    def _quick(self, dictionary: Any) -> bytes:
        """Return the packed cells of a state that is a dictionary of numbers and nested lists of numbers; ranges are
        checked later. Raises UnusualError for a state of another form."""
        whole = self.usual | dictionary if type(dictionary) is dict else ()
        if len(whole) != len(self.usual):
            raise UnusualError
        return b"".join([read(whole) for read in self.readers])

    def _in_range(self, states: Sequence[bytes]) -> bytes:
        together = b"".join(states)
        initial_states = InitialStates(together, len(states), self.cells, self.size)
        if states and not self._are_in_range(initial_states):
            for cells in initial_states:
                for layout in self.layouts.values():
                    self._ranged(layout, cells[layout.offset : layout.offset + layout.count])
        return together

    def _are_in_range(self, states: InitialStates) -> bool:
        if self.size == 1:  # quickly: no column contains a byte outside its range
            columns = zip(map(states.column, range(self.cells)), self.outside, strict=True)
            return all(len(bytes(column).translate(None, outside)) == len(column) for column, outside in columns)
        ranges = zip(map(states.column, range(self.cells)), self.ranges, strict=True)
        return all(low <= min(column) and max(column) <= high for column, (low, high) in ranges)

    # ----------------------------------------------------------------------------------------------------- cell by cell

    def _slow(self, dictionary: Any, before: Sequence[bytes]) -> bytes:
        """Return the packed cells of a state, read cell by cell. Raises ModelError for the first invalid state, which
        can be an earlier state: the ranges of the states `before` have not been checked yet."""
        try:
            return self._read(dictionary)
        except ModelError:
            self._in_range(before)
            raise

    def _read(self, dictionary: Any) -> bytes:
        if not isinstance(dictionary, Mapping):
            what = f"an initial state is {escaped(repr(dictionary))}, not a dictionary"
            raise ModelError(f"{self.place_of('')}: {what}; yield a dictionary {{field: value}}")
        unknown = sorted(
            shown(one) if isinstance(one, type) else str(one) for one in set(dictionary) - set(self.layouts)
        )
        if unknown:
            what = (
                f"{escaped(', '.join(unknown))}, but the model has no such field; there are: {', '.join(self.layouts)}"
            )
            parts = [name for name in self.layouts if name.startswith(f"{unknown[0]}.")]
            if parts:
                what = f"{unknown[0]}, which is a record; give its parts: {', '.join(parts)}"
            raise ModelError(f"{self.place_of('')}: initial states set {what}")
        cells = [NONE] * self.cells
        for name, layout in self.layouts.items():
            contents = layout.field.contents if name in dictionary else None
            values = self._flat(name, dictionary.get(name, self.usual[name]), layout.sizes, contents)
            self._ranged(layout, values)
            cells[layout.offset : layout.offset + layout.count] = [int.__int__(value) for value in values]
        self._refuse_halves(cells)
        return array(CODES[self.size], cells).tobytes()

    def _refuse_halves(self, cells: Sequence[int]) -> None:
        """Raise ModelError if the parts of a queue of records have different lengths."""
        first: dict[str, tuple[str, list[bool]]] = {}
        for name, layout in self.layouts.items():
            contents, over = layout.field.contents, layout.field.over
            if contents is None or contents.filler is None or layout.field.outer != len(over):
                continue
            used = [cell != contents.filler for cell in cells[layout.offset : layout.offset + layout.count]]
            other, expected = first.setdefault(name.partition(".")[0], (name, used))
            if used != expected:
                what = f"{escaped(other)} and {escaped(name)} differ in initial length"
                raise ModelError(f"{self.place_of(name)}: {what}; give the queues of all parts the same length")

    def _ranged(self, layout: FieldLayout, values: Sequence[Any]) -> None:
        for index, value in zip(layout.indices(), values, strict=True):
            cell = plain(value)
            if cell is None or not layout.low <= cell <= layout.high:
                what = f"{escaped(layout.name)}{''.join(f'[{i}]' for i in index)} is initially {escaped(repr(value))}"
                contents = layout.field.contents
                low = layout.low if contents is None or contents.filler is None else contents.filler + 1
                raise ModelError(f"{self.place_of(layout.name)}: {what}; give a value in {low}..{layout.high}")

    def _flat(self, name: str, value: Any, sizes: Sequence[int], contents: Contents | None) -> list[Any]:
        """Return the cells in `value`, a nested list with exactly these sizes, for the field `name`. If `contents` is
        not None, the innermost values are sets or queues. Raises ModelError for a value of another form."""
        if not sizes:
            return [value]
        if contents is not None and len(sizes) == 1:
            try:
                return contents.cells(value, sizes[0])
            except ValueError as error:
                what = f"{escaped(name)} is initially {escaped(repr(value))}"
                raise ModelError(f"{self.place_of(name)}: {what}; {error}") from None
        if not isinstance(value, Sequence) or len(value) != sizes[0]:
            what = f"{escaped(name)} is initially {escaped(repr(value))}"
            raise ModelError(f"{self.place_of(name)}: {what}; give a list of length {sizes[0]}")
        return [cell for row in value for cell in self._flat(name, row, sizes[1:], contents)]


def _bytes_outside(low: int, high: int) -> bytes:
    """Return all bytes that, read as signed numbers, are outside low..high."""
    return bytes(set(range(256)) - {value & 255 for value in range(low, high + 1)})


class Meanings(Protocol):
    """The part of `Instance` that a `State` needs in order to look up the names in a model's functions: fields,
    records, entries of the configuration, and domains."""

    @property
    def layouts(self) -> Mapping[str, FieldLayout]:
        """The layout of each field, by the field's name."""

    @property
    def groups(self) -> Mapping[str, Group]:
        """The fields that hold records, by name."""

    def setting(self, name: str) -> int | bool:
        """Return the value of an entry of the configuration. Raises NoEntryError for an unknown entry."""

    def size_of(self, domain: type[Domain]) -> int:
        """Return the number of elements of a domain."""


class State:
    """The object `s` in the functions of a model: its attributes are the fields and the configuration entries. The use
    of an index outside a field, and the assignment of a value outside the field's range, raise ModelError."""

    __slots__ = ("_cells", "_instance")
    _cells: list[int]
    _instance: Meanings

    def __init__(self, instance: Meanings, cells: Sequence[int]) -> None:
        object.__setattr__(self, "_instance", instance)
        object.__setattr__(self, "_cells", list(cells))

    def __getattr__(self, name: str) -> Any:
        layout = self._instance.layouts.get(name)
        if layout is None:
            group = self._instance.groups.get(name)
            return self._instance.setting(name) if group is None else RecordView(self, name, tuple(group.parts))
        return _part(self._cells, layout, layout.offset, 0)

    def __setattr__(self, name: str, value: Any) -> None:
        layout = self._instance.layouts[name]
        if layout.sizes:
            _part(self._cells, layout, layout.offset, 0).become(value)
        else:
            self._cells[layout.offset] = layout.cell(value)

    @property
    def cells(self) -> Cells:
        """The contents of the state's cells, as numbers."""
        return tuple(self._cells)


def parts_of(state: State) -> tuple[Meanings, list[int]]:
    """Return the instance of a state, and the list of the state's cells; changes of the list change the state. This is
    a function and not a method, because the attributes of a state are the names of the model's fields."""
    return state._instance, state._cells  # noqa: SLF001


@dataclass(slots=True, eq=False, repr=False)
class _ArrayView:
    """The array of a field, or the part of it that the first indices select, such as `s.epoch` in `s.epoch[r]`."""

    _cells: list[int]
    _layout: FieldLayout
    _offset: int
    _depth: int

    def _at(self, index: int) -> int:
        offset = self._layout.index(self._depth, index)
        for size in self._layout.sizes[self._depth + 1 :]:
            offset *= size
        return self._offset + offset

    def __getitem__(self, index: int) -> Any:
        return _part(self._cells, self._layout, self._at(index), self._depth + 1)

    def __setitem__(self, index: int, value: Any) -> None:
        offset, depth = self._at(index), self._depth + 1
        if depth < len(self._layout.sizes):
            _part(self._cells, self._layout, offset, depth).become(value)
        else:
            self._cells[offset] = self._layout.cell(value)


def _part(cells: list[int], layout: FieldLayout, offset: int, depth: int) -> Any:
    """Return what a field holds after its first `depth` indices: a value, a set, a queue, or an array of these."""
    if depth == len(layout.sizes):
        return _load(cells, layout, offset)
    row = _ArrayView(cells, layout, offset, depth)
    contents = layout.field.contents
    if contents is None or depth + 1 < len(layout.sizes):
        return row
    if contents.filler is None:
        return SetView(row, layout.sizes[-1])
    return QueueView(row, layout.sizes[-1], contents.filler, layout.name)


def _load(cells: list[int], layout: FieldLayout, offset: int) -> int | bool:
    value = cells[offset]
    return bool(value) if layout.field.values.is_flag else value


# ------------------------------------------------------------------------------------------------------ sets and queues
#
# A `SetView` behaves like Python's own set, and a `QueueView` like a deque. Both have a row of cells: `row[i]` reads
# one, `row[i] = value` writes one, with all checks of ranges. A `Members` is a subset that is a parameter. The
# operations are those of models/language/ir/lowering.py, in the same order: an iteration reads each cell when it
# reaches it.


@dataclass(slots=True, eq=False, repr=False)
class SetView(AbstractSet[int]):
    """A set of numbers in 0..size-1 in a state. Cell `row[i]` is true if the set has i. Sets compare as in Python."""

    row: Any
    size: int

    def __getitem__(self, element: int) -> Any:
        return self.row[element]

    def __contains__(self, element: Any) -> bool:
        return bool(self[element])

    def __iter__(self) -> Iterator[int]:
        return (element for element in range(self.size) if self[element])

    def __len__(self) -> int:
        return sum(1 for element in range(self.size) if self[element])

    def add(self, element: int) -> None:
        """Put an element into the set."""
        self.row[element] = True

    def discard(self, element: int) -> None:
        """Take an element out of the set. A missing element is ignored."""
        self.row[element] = False

    def clear(self) -> None:
        """Take all elements out of the set."""
        self.become(())

    def become(self, elements: Iterable[int]) -> None:
        """Replace the elements of the set by the elements of another set, or by the given numbers."""
        if isinstance(elements, SetView):
            for element in range(self.size):
                self.row[element] = elements[element]
            return
        for element in range(self.size):
            self.row[element] = False
        for element in elements:
            self.row[element] = True


@dataclass(slots=True, eq=False, repr=False)
class QueueView:
    """A queue of at most `size` numbers in a state. Cell `row[i]` holds the element with index i; the cells after the
    last element hold `filler`, a number below all elements."""

    row: Any
    size: int
    filler: int
    name: str

    def __len__(self) -> int:
        return sum(1 for place in range(self.size) if self.row[place] != self.filler)

    def __getitem__(self, place: int) -> Any:
        if not 0 <= place < self.size or self.row[place] == self.filler:
            what = f"index {int(place)} of {self.name} is outside the queue, whose length is {len(self)}"
            raise ModelError(f"{what}; test the index with len(...) before it is used")
        return self.row[place]

    def __contains__(self, element: int) -> bool:
        return element != self.filler and any(self.row[place] == element for place in range(self.size))

    def append(self, element: int) -> None:
        """Append an element to the queue. Raises ModelError if the queue is full or cannot hold the element."""
        length = len(self)
        if length == self.size:
            what = f"append to {self.name}, which is full with {length} elements"
            raise ModelError(f"{what}; guard the step with len(...), or give the queue a larger most=")
        if element == self.filler:
            what = f"{int(element)} is appended to {self.name}, whose elements can only be greater"
            raise ModelError(f"{what}; guard the step")
        self.row[length] = element

    def popleft(self) -> Any:
        """Take the first element out of the queue, and return it."""
        if self.row[0] == self.filler:
            raise ModelError(f"popleft of {self.name}, which is empty; guard the step with len(...)")
        first = self.row[0]
        for place in range(self.size - 1):
            self.row[place] = self.row[place + 1]
        self.row[self.size - 1] = self.filler
        return first

    def clear(self) -> None:
        """Take all elements out of the queue."""
        for place in range(self.size):
            self.row[place] = self.filler


class Members(SetView):
    """A subset that is an argument of an action: `chosen[x]` and `x in chosen` are true if x is in the subset."""

    __slots__ = ()

    def __init__(self, flags: Iterable[bool]) -> None:
        row = tuple(flags)
        super().__init__(row, len(row))

    def __getitem__(self, element: Any) -> Any:
        if not 0 <= element < self.size:
            what = f"index {element} of a subset is outside 0..{self.size - 1}"
            raise ModelError(f"{what}; test the index before it is used")
        return self.row[element]


# -------------------------------------------------------------------------------------------------------------- records
#
# The attribute `broker.role` of a state is the part `role` of the records `broker`: `s.broker[r].role` is
# `s.broker.role[r]`. A queue of records changes the queues of all parts at once.


class RecordView:
    """A field of records, or of queues of records, after any number of indices, such as `s.broker[r]` in
    `s.broker[r].role`. `parts` has the names of the parts of each record."""

    __slots__ = ("_indices", "_name", "_parts", "_state")
    _state: Any
    _name: str
    _parts: Sequence[str]
    _indices: tuple[int, ...]

    def __init__(self, state: Any, name: str, parts: Sequence[str], indices: tuple[int, ...] = ()) -> None:
        for attribute, value in (("_state", state), ("_name", name), ("_parts", parts), ("_indices", indices)):
            object.__setattr__(self, attribute, value)

    def __getitem__(self, index: int) -> RecordView:
        return RecordView(self._state, self._name, self._parts, (*self._indices, index))

    def __getattr__(self, part: str) -> Any:
        value = getattr(self._state, f"{self._name}.{part}")
        for index in self._indices:
            value = value[index]
        return value

    def __setattr__(self, part: str, value: Any) -> None:
        if not self._indices:
            setattr(self._state, f"{self._name}.{part}", value)
            return
        place = getattr(self._state, f"{self._name}.{part}")
        for index in self._indices[:-1]:
            place = place[index]
        place[self._indices[-1]] = value

    # ---------------------------------------------------------------------------------------------- queues of records

    def __len__(self) -> int:
        return len(getattr(self, self._parts[0]))

    def append(self, record: Any) -> None:
        """Append a record to the queue."""
        for part in self._parts:
            getattr(self, part).append(getattr(record, part))

    def popleft(self) -> None:
        """Take the oldest record out of the queue."""
        for part in self._parts:
            getattr(self, part).popleft()

    def clear(self) -> None:
        """Take every record out of the queue."""
        for part in self._parts:
            getattr(self, part).clear()
