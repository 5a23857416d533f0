"""The words that a kernel counts in: what stands where.

In:  how many properties the model has.
Out: positions in the array of 64-bit words that a kernel writes its results to.

An entry is three words: how many, and the state and the step of the first (-1: no step). A property has three entries,
one after the other: where it is found (broken, or reached), where its failure is permitted, and where asking it leaves
the declaration. Behind the properties come an entry for steps that leave the declaration, and the status: the state at
which the kernel stopped, how many successors it made, and whether the model left its declaration there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ENTRY = 3
FOUND, PERMITTED, ERRED = 0, ENTRY, 2 * ENTRY
STRIDE = 3 * ENTRY
"""The words of one property."""


def place(number: int, entry: int = FOUND) -> int:
    """Where an entry of a property begins."""
    return STRIDE * number + entry


def of_steps(properties: int) -> int:
    """Where the entry of the steps that leave the declaration begins."""
    return STRIDE * properties


def status(properties: int) -> int:
    """Where the status begins; the entries end there."""
    return of_steps(properties) + ENTRY


def errors(properties: int) -> list[int]:
    """Where the entries begin that count what leaves the declaration."""
    return [*(place(number, ERRED) for number in range(properties)), of_steps(properties)]


def new(properties: int) -> NDArray[np.int64]:
    """The words of a model with so many properties, all zero."""
    return np.zeros(status(properties) + ENTRY, np.int64)
