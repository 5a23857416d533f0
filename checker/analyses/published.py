"""`check published`, its first table: the figures of the five published models, and those of TLC.

In:  models/published/tlc.csv.
Out: `COMPARISON`: a row for each row of the file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from isrcheck.checker.analyses.comparison import Comparison
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
    tlc: dict[str, str]
    why: str = ""
    symmetric: bool = False

    @property
    def title(self) -> str:
        """The name of the model, and its sizes."""
        return f"{self.variant} {' '.join(map(str, self.sizes.values()))}"

    @property
    def target(self) -> str:
        """The name of the model on the command line."""
        return f"published/{self.variant}"

    @property
    def leading(self) -> tuple[str, ...]:
        """The name of the model and its sizes, as printed cells."""
        return (self.variant, *(str(self.sizes[name]) for name in SIZES))

    @property
    def expected(self) -> dict[str, str]:
        """isrcheck has to find TLC's figures."""
        return self.tlc

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


COMPARISON = Comparison(
    ("variant", *SIZES),
    FIGURES,
    "states@level of the first violation",
    lambda: rows(),
    figures_of,
    deadlock=False,  # TLC ran with -deadlock
)
