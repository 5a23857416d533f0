"""Cells that a search sets to one value in every state that it keeps.

In:  what checker/reductions/dead.py finds.
Out: `Clearing`s, as plain data; what they do to a state; which ones pay; and what a report says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isrcheck.models.run import Cells


@dataclass(frozen=True)
class Clearing:
    """Cells of a field, by their positions, with the value that each of them gets: always, or while the cell at the
    position `guard` has one of `values`, which `where` says in words."""

    field: str
    cells: tuple[tuple[int, int], ...]
    where: str = ""
    guard: int | None = None
    values: tuple[int, ...] = ()


def cleared(clearings: Sequence[Clearing], cells: Cells) -> Cells:
    """The state with its dead cells cleared."""
    after = list(cells)
    for one in clearings:
        if one.guard is None or after[one.guard] in one.values:
            for position, value in one.cells:
                after[position] = value
    return tuple(after)


def worthwhile(clearings: Sequence[Clearing], states: NDArray[np.int64]) -> tuple[Clearing, ...]:
    """The clearings without which these states, one per row, would be more."""
    # A state is told apart by one number: a sum of its cells with random weights.
    weights = np.random.default_rng(0).integers(1 << 62, size=states.shape[1])

    def count(chosen: Sequence[Clearing]) -> int:
        rows = states.copy()
        for one in chosen:
            here = slice(None) if one.guard is None else np.isin(rows[:, one.guard], one.values)
            for position, value in one.cells:
                rows[here, position] = value
        return len(np.unique(rows @ weights))

    left = tuple(clearings)
    fewest = count(left)
    if fewest == count(()):
        return ()
    for field, where in dict.fromkeys((one.field, one.where) for one in clearings):
        others = tuple(one for one in left if (one.field, one.where) != (field, where))
        if count(others) == fewest:
            left = others
    return left


def says(clearings: Sequence[Clearing]) -> str:
    """The cells in words: the fields, those together that are dead in the same states."""
    fields: dict[str, list[str]] = {}
    for one in clearings:
        known = fields.setdefault(one.where, [])
        if one.field not in known:
            known.append(one.field)
    return "; ".join(f"{', '.join(names)}{' where ' * bool(where)}{where}" for where, names in fields.items())
