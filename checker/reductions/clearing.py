"""Cells that a search sets to one value in every state that it keeps.

In:  what checker/reductions/dead.py finds.
Out: `Clearing`s, as plain data; what they do to a state, in Python and as the text of a kernel; and what a report says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.reductions.canonical import VALUES, CellPlace, pieces
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


def clear_text(clearings: Sequence[Clearing], places: Sequence[CellPlace]) -> str:
    """The text of `clear_dead(state)`, which does the same in a working buffer."""
    lines = ["def clear_dead(state):"]
    groups: dict[tuple[int | None, tuple[int, ...]], dict[int, int]] = {}
    for one in clearings:
        groups.setdefault((one.guard, one.values), {}).update(one.cells)
    for (guard, values), cells in groups.items():
        indent = "    "
        if guard is not None:
            place = places[guard]
            shown = "".join(f"{value}, " for value in values)
            lines.append(f"    if {VALUES[place.bytes][0]}(state, {place.byte}) in ({shown}):")
            indent = "        "
        lines += (f"{indent}{one}" for one in _stores(cells, places))
    return "\n".join([*lines, "    return"])


def _stores(cells: dict[int, int], places: Sequence[CellPlace]) -> Iterator[str]:
    """The lines that store these values: neighbours in one run of bytes, in as few pieces as possible."""
    runs: list[tuple[int, bytearray]] = []
    for cell, value in sorted(cells.items()):
        place = places[cell]
        stored = value.to_bytes(place.bytes, "little", signed=True)
        if runs and runs[-1][0] + len(runs[-1][1]) == place.byte:
            runs[-1][1].extend(stored)
        else:
            runs.append((place.byte, bytearray(stored)))
    for first, run in runs:
        for offset, size, kind in pieces(len(run)):
            number = int.from_bytes(run[offset : offset + size], "little", signed=True)
            yield f"store_{kind}(state + {first + offset}, {number})"
