"""The states that a search starts from: the initial states, or the frontier of another search.

In:  an instance, or the states themselves.
Out: `Starts`: for each state a number, and a row with the values of its cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.layout import KINDS
from isrcheck.models.language.model import Instance
from isrcheck.models.run import Cells


@dataclass(frozen=True)
class Start:
    """A state that a search starts from; `number`, such as the position of an initial state, identifies it in paths."""

    number: int
    cells: Cells


class Starts(Sequence[Start]):
    """The states that a search starts from: their numbers, and their cells, one state per row."""

    def __init__(self, numbers: Sequence[int], cells: NDArray[np.signedinteger[Any]]) -> None:
        self.numbers = numbers
        self.cells = cells

    @classmethod
    def initial(cls, instance: Instance) -> Starts:
        """The initial states of an instance."""
        states = instance.initial_states
        cells = np.frombuffer(states.packed, KINDS[states.size]).reshape(len(states), instance.cells)
        return cls(range(len(states)), cells)

    @classmethod
    def of(cls, starts: Sequence[Start], cells: int) -> Starts:
        """The given states, each with `cells` cells."""
        rows = np.array([start.cells for start in starts], np.int32).reshape(len(starts), cells)
        return cls([start.number for start in starts], rows)

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, position: int) -> Start: ...

    @overload
    def __getitem__(self, position: slice) -> Starts: ...

    def __getitem__(self, position: int | slice) -> Start | Starts:
        if isinstance(position, slice):
            return Starts(self.numbers[position], self.cells[position])
        return Start(self.numbers[position], tuple(self.cells[position].tolist()))
