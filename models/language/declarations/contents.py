"""How sets and queues are stored in the cells of a state, and what they are in Python.

In:  a row of cells; or a value of Python's.
Out: the elements; or the cells.

A set has one cell for each element of its domain. A queue has one cell for each place, the first element in the first
one; a number below all elements, the filler, is in the places behind the last element, so equal queues are equal cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar


class SetCells:
    """The cells of a set."""

    word: ClassVar[str] = "set"
    example: ClassVar[str] = "Set(of=Node)"
    """How a model's file declares one."""
    text: ClassVar[str] = "{{{}}}"
    """The format of a set as text, given its elements."""
    filler: ClassVar[int | None] = None

    def __repr__(self) -> str:
        return "Set(...)"

    def cells(self, given: Any, size: int) -> list[Any]:
        """The cells of one set, given as a set of numbers. Raises ValueError."""
        if not isinstance(given, set | frozenset):
            raise ValueError("give a set, as in {0, 1}")  # noqa: TRY004 - the caller tells the user
        elements = {int.__int__(one) if isinstance(one, int) else -1 for one in given}
        if not elements <= set(range(size)):
            raise ValueError(f"give elements in 0..{size - 1}")
        return [element in elements for element in range(size)]

    def value(self, cells: Sequence[int]) -> Any:
        """The set with these cells as a value of Python's."""
        return frozenset(self.elements(cells))

    def elements(self, cells: Sequence[int]) -> list[int]:
        """The elements of a set with these cells."""
        return [element for element, is_in in enumerate(cells) if is_in]


class QueueCells:
    """The cells of a queue."""

    word: ClassVar[str] = "queue"
    example: ClassVar[str] = "Queue(of=Node, most=3)"
    text: ClassVar[str] = "[{}]"
    filler: int

    def __repr__(self) -> str:
        return "Queue(...)"

    def cells(self, given: Any, size: int) -> list[Any]:
        """The cells of one queue, given as a list of numbers. Raises ValueError."""
        if not isinstance(given, list | tuple):
            raise ValueError("give a list, the oldest element first")  # noqa: TRY004 - the caller tells the user
        if len(given) > size:
            raise ValueError(f"give at most {size} elements of the queue")
        if any(not isinstance(one, int) or one <= self.filler for one in given):
            raise ValueError(f"give elements of the queue, which are numbers from {self.filler + 1} on")
        return [*given, *[self.filler] * (size - len(given))]

    def value(self, cells: Sequence[int]) -> Any:
        """The queue with these cells as a value of Python's."""
        return self.elements(cells)

    def elements(self, cells: Sequence[int]) -> list[int]:
        """The elements of a queue with these cells: all before the last that is none."""
        found = list(cells)
        while found and found[-1] == self.filler:
            found.pop()
        return found
