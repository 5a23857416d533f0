"""`check published`, its second table: the figures of models that others published, and those that they report.

In:  models/published/others/counts.csv.
Out: `COMPARISON`: a row for each row of the file.

TLC counts initial states as generated, and the first level as depth 1; so do the figures here.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from isrcheck.checker.analyses.comparison import Comparison
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.verdict import Word, verdicts
from isrcheck.models import registry
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.model import Instance
from isrcheck.models.published import others

TABLE = Path(others.__file__).with_name("counts.csv")
FIGURES = ("distinct", "generated", "depth", "violates", "first")
NOTHING = "-"
"""The figures `violates` and `first`, the level of the first violation, where every property holds."""


@dataclass(frozen=True)
class OtherRow:
    """A row of counts.csv: a model, its sizes, the reported figures, and the figures that we expect."""

    target: str
    sizes: dict[str, int]
    symmetric: bool
    figures_of: str
    source: str
    tlc: dict[str, str]
    expected: dict[str, str]
    why: str

    @property
    def title(self) -> str:
        """The name of the model, and its sizes."""
        return " ".join((self.target, *(f"{name}={value}" for name, value in self.sizes.items())))

    @property
    def leading(self) -> tuple[str, ...]:
        """The name of the model, its sizes, and whose figures these are, as printed cells."""
        sizes = " ".join(f"{name}={value}" for name, value in self.sizes.items())
        return (self.target.removeprefix("published/others/"), sizes, self.figures_of)

    def instance(self) -> Instance:
        """Return the instance of the model for this row."""
        return registry.load(self.target)[0].instance("", self.sizes)


def rows() -> Iterator[OtherRow]:
    """Yield the rows of the table in order."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(one for one in file if not one.startswith("#")):
            sizes = dict(pair.split("=") for pair in line["sizes"].split())
            reported = {name: line[name] for name in FIGURES if line[name]}
            ours = {name: line[f"our_{name}"] for name in ("generated", "depth", "first") if line[f"our_{name}"]}
            yield OtherRow(
                f"published/others/{line['model']}",
                {name: int(value) for name, value in sizes.items()},
                line["symmetric"] == "yes",
                line["figures_of"],
                line["source"],
                reported,
                reported | ours,
                line["why"],
            )


def figures_of(exploration: Exploration) -> dict[str, str]:
    """Return isrcheck's figures for a search, as TLC counts."""
    violated = {
        verdict.prop.name: exploration.findings[verdict.prop.name].found.path
        for verdict in verdicts(exploration)
        if verdict.word is Word.VIOLATED and verdict.prop.kind is not Kind.SOMETIMES
    }
    levels = [path.depth + 1 for path in violated.values() if path is not None]
    return {
        "distinct": str(exploration.distinct),
        "generated": str(sum(exploration.levels[:1]) + exploration.generated),
        "depth": str(len(exploration.levels)),
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
