"""`check published`, its second table: the figures of models that others published, and those that they report.

In:  models/published/others/counts.csv.
Out: `COMPARISON`: a row for each row of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from isrcheck.checker.analyses.comparison import (
    Comparison,
    Row,
    counted_as_tlc,
    lines_of,
    printed_sizes,
    read_sizes,
)
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.verdict import Word, verdicts
from isrcheck.models.language.declarations import Kind
from isrcheck.models.published import others

TABLE = Path(others.__file__).with_name("counts.csv")
FIGURES = ("distinct", "generated", "depth", "violates", "first")
NOTHING = "-"
"""The figures `violates` and `first`, the level of the first violation, where every property holds."""


def rows() -> Iterator[Row]:
    """Yield the rows of the table in order."""
    for line in lines_of(TABLE):
        sizes = read_sizes(line["sizes"])
        reported = {name: line[name] for name in FIGURES if line[name]}
        ours = {name: line[f"our_{name}"] for name in ("generated", "depth", "first") if line[f"our_{name}"]}
        yield Row(
            f"published/others/{line['model']}",
            sizes,
            (line["model"], printed_sizes(sizes), line["figures_of"]),
            reported,
            reported | ours,
            line["source"],
            line["why"],
            line["symmetric"] == "yes",
        )


def figures_of(exploration: Exploration) -> dict[str, str]:
    """Return isrcheck's figures for a search, as TLC counts."""
    violated = {
        verdict.prop.name: exploration.findings[verdict.prop.name].found.path
        for verdict in verdicts(exploration)
        if verdict.word is Word.VIOLATED and verdict.prop.kind is not Kind.SOMETIMES
    }
    levels = [path.depth + 1 for path in violated.values() if path is not None]
    return counted_as_tlc(exploration) | {
        "violates": " ".join(violated) or NOTHING,
        "first": str(min(levels)) if levels else NOTHING,
    }


COMPARISON = Comparison(
    ("model", "sizes", "figures"),
    FIGURES,
    "generated with initial states; first: the level of the first violation; a figure alone is not published;"
    " measured: by TLC on the published files",
    lambda: rows(),
    figures_of,
    deadlock=False,  # the model files have CHECK_DEADLOCK FALSE, or TLC ran with -deadlock
)
