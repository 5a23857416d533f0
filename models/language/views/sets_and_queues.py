"""Sets and queues as the functions of a model see them in CPython: views of the cells of a state.

In:  a row of cells: `row[i]` reads one, `row[i] = value` writes one, with all checks of ranges.
Out: `SetView`, which behaves like Python's own set, and `QueueView`, which behaves like a deque; a `Members` is a
     subset that is a parameter.

The operations are those of models/language/ir/lowering.py, in the same order: an iteration reads each cell when it
comes to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from isrcheck.models.messages.errors import ModelError


class SetView:
    """A set of the numbers 0..size-1; cell i of its row says whether it contains i."""

    __slots__ = ("row", "size")
    row: Any
    size: int

    def __init__(self, row: Any, size: int) -> None:
        self.row = row
        self.size = size

    def __getitem__(self, element: int) -> Any:
        return self.row[element]

    def __contains__(self, element: int) -> bool:
        return bool(self[element])

    def __iter__(self) -> Iterator[int]:
        return (element for element in range(self.size) if self[element])

    def __len__(self) -> int:
        return sum(1 for element in range(self.size) if self[element])

    def __le__(self, other: SetView) -> bool:
        return _is_part(self, other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SetView) and all(self[element] == other[element] for element in range(self.size))

    def __lt__(self, other: SetView) -> bool:
        return _is_part(self, other) and self != other

    def __ge__(self, other: SetView) -> bool:
        return _is_part(other, self)

    def __gt__(self, other: SetView) -> bool:
        return _is_part(other, self) and self != other

    __hash__ = None  # type: ignore[assignment]

    def add(self, element: int) -> None:
        """Put an element into the set."""
        self.row[element] = True

    def discard(self, element: int) -> None:
        """Take an element out of the set, if it is in it."""
        self.row[element] = False

    def clear(self) -> None:
        """Take all elements out of the set."""
        self.become(())

    def become(self, given: Iterable[int]) -> None:
        """Take over the elements of another set."""
        if isinstance(given, SetView):
            for element in range(self.size):
                self.row[element] = given[element]
            return
        for element in range(self.size):
            self.row[element] = False
        for element in given:
            self.row[element] = True


class QueueView:
    """A queue of at most `size` numbers; the cells behind its last element hold the filler, which is below them all."""

    __slots__ = ("filler", "name", "row", "size")

    def __init__(self, row: Any, size: int, filler: int, name: str) -> None:
        self.row = row
        self.size = size
        self.filler = filler
        self.name = name

    def __len__(self) -> int:
        return sum(1 for place in range(self.size) if self.row[place] != self.filler)

    def __getitem__(self, place: int) -> Any:
        if not 0 <= place < self.size or self.row[place] == self.filler:
            raise ModelError(
                f"index {int(place)} of {self.name} is outside the queue, whose length is {len(self)};"
                f" test it with len(...) before it is used"
            )
        return self.row[place]

    def __contains__(self, element: int) -> bool:
        return element != self.filler and any(self.row[place] == element for place in range(self.size))

    def append(self, element: int) -> None:
        """Put an element behind the last one."""
        length = len(self)
        if length == self.size:
            raise ModelError(
                f"append to {self.name}, which is full with {length} elements; guard the step with len(...), or give"
                " it a larger most="
            )
        if element == self.filler:
            raise ModelError(f"{int(element)} is appended to {self.name}, which has greater elements; guard the step")
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


def _is_part(one: SetView, other: SetView) -> bool:
    """Whether all elements of one set are in the other."""
    return all(one[element] <= other[element] for element in range(one.size))


class Members(SetView):
    """A subset that is a parameter: `chosen[element]` says whether it contains an element, as `in` does."""

    __slots__ = ()

    def __init__(self, flags: Iterable[bool]) -> None:
        row = tuple(flags)
        super().__init__(row, len(row))

    def __getitem__(self, element: Any) -> Any:
        if not 0 <= element < self.size:
            raise ModelError(f"index {element} of a subset is outside 0..{self.size - 1}; test it before it is used")
        return self.row[element]
