"""`check published`: compares the figures of the five published models with those of TLC.

In:  models/published/tlc.csv.
Out: our figures and TLC's for each row of the file, and whether they are equal.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.models import published
from isrcheck.models.language.model import Instance

TABLE = Path(published.__file__).with_name("tlc.csv")
SIZES = ("replicas", "log_size", "records", "max_epoch")
PROPERTIES = ("weak_isr", "strong_isr", "leader_in_isr", "log_matching", "epoch_monotone")
FIGURES = ("distinct", "levels", *PROPERTIES)


@dataclass(frozen=True)
class PublishedRow:
    """A row of tlc.csv: a model, its sizes, TLC's figures as text (`52@10`: 52 violating states, first in level 10)."""

    variant: str
    sizes: dict[str, int]
    figures: dict[str, str]

    @property
    def title(self) -> str:
        """The name of the model, and its sizes."""
        return f"{self.variant} {' '.join(map(str, self.sizes.values()))}"

    def instance(self) -> Instance:
        """Return the instance of the model for this row."""
        return published.MODEL.instance(self.variant, self.sizes)


def rows() -> Iterator[PublishedRow]:
    """Yield the rows of the table in order."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(one for one in file if not one.startswith("#")):
            sizes = {name: int(line[name]) for name in SIZES}
            yield PublishedRow(line["variant"], sizes, {name: line[name] for name in FIGURES})


def figures_of(exploration: Exploration) -> dict[str, str]:
    """Return isrcheck's figures for a search, in the notation of tlc.csv."""
    figures = {"distinct": str(exploration.distinct), "levels": str(len(exploration.levels))}
    for name in PROPERTIES:
        found = exploration.findings[name].found
        figures[name] = f"{found.count}@{found.path.depth + 1}" if found.path else "-"
    return figures


def compare(row: PublishedRow, explored: Callable[[PublishedRow], Exploration]) -> tuple[Exploration, dict[str, str]]:
    """Search the model of a row by calling `explored`; returns the result of the search and isrcheck's figures."""
    exploration = explored(row)
    return exploration, figures_of(exploration)


def line(row: PublishedRow, ours: dict[str, str]) -> list[str]:
    """Return the cells of one printed row. Each figure is `OURS = TLC'S` or `OURS != TLC'S`."""
    cells = [row.variant, *(str(row.sizes[name]) for name in SIZES)]
    for name in FIGURES:
        same = ours[name] == row.figures[name]
        cells.append(f"{ours[name]} = {row.figures[name]}" if same else f"{ours[name]} != {row.figures[name]}")
    return cells
