"""What a search of every reachable state offers to those who judge properties afterwards.

In:  nothing; checker/explicit/whole_search.py implements it.
Out: the interface `Reachable`, and the error of a limit.

States are given by their numbers: their places in breadth-first order, the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Marks = NDArray[np.bool_]


class LimitError(Exception):
    """A limit of the search is reached; the text is `memory` or `time`."""


class Reachable(Protocol):
    """Every reachable state, and the steps between them.

    `count` is the number of states.
    """

    count: int

    @property
    def starts(self) -> int:
        """The number of initial states, which have the first numbers."""

    @property
    def levels(self) -> list[int]:
        """The number of states at each depth."""

    def judged(self, number: int) -> NDArray[np.uint8]:
        """The mark of each state for the property with this number (`judgement`, PREMISE). Raises LimitError."""

    def transitions(self, waiting: Numbers) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """The transitions from these states, in batches: states before, steps, and states after.

        States come in the order of `waiting`, and all transitions of a state stand in one batch, in the order of the
        steps. Raises LimitError.
        """

    def look_at_the_clock(self) -> None:
        """Report progress. Raises LimitError if the time limit is reached."""

    def refuse_memory(self, needed: int) -> None:
        """Raise LimitError if the states and `needed` more bytes are over the memory limit."""
