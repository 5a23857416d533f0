"""`check published`, its first table: the figures of the five published models, and those of TLC.

In:  models/published/tlc.csv.
Out: `COMPARISON`: a row for each row of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from isrcheck.checker.analyses.comparison import Comparison, Row, lines_of
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.models import published

TABLE = Path(published.__file__).with_name("tlc.csv")
SIZES = ("replicas", "log_size", "records", "max_epoch")
PROPERTIES = ("weak_isr", "strong_isr", "leader_in_isr", "log_matching", "epoch_monotone")
FIGURES = ("distinct", "levels", *PROPERTIES)


def rows() -> Iterator[Row]:
    """Yield the rows of the table in order. A figure `52@10` means 52 violating states, the first in level 10."""
    for line in lines_of(TABLE):
        sizes = {name: int(line[name]) for name in SIZES}
        figures = {name: line[name] for name in FIGURES}
        yield Row(f"published/{line['variant']}", sizes, (line["variant"], *map(str, sizes.values())), figures, figures)


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
