"""`check examples/tla`: the figures of public TLA+ examples, and those that TLC reports for them.

In:  models/examples/tla/counts.csv.
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
from isrcheck.models.examples import tla
from isrcheck.models.language.model import Instance

TABLE = Path(tla.__file__).with_name("counts.csv")
FIGURES = ("distinct", "generated", "depth", "result")
SUCCESS = "success"
GOOD = (Word.HOLDS, Word.REACHED, Word.NOT_APPLICABLE)


@dataclass(frozen=True)
class ExampleRow:
    """A row of counts.csv: a model, its sizes, TLC's figures for the model file, and the figures that we expect."""

    target: str
    sizes: dict[str, int]
    source: str
    tlc: dict[str, str]
    expected: dict[str, str]
    why: str
    symmetric: bool = False

    @property
    def title(self) -> str:
        """The name of the model, and its sizes."""
        return " ".join((self.target, *(f"{name}={value}" for name, value in self.sizes.items())))

    @property
    def leading(self) -> tuple[str, ...]:
        """The name of the model and the model file, as printed cells."""
        return (self.target.removeprefix("examples/"), self.source.rpartition("/")[2])

    def instance(self) -> Instance:
        """Return the instance of the model for this row."""
        return registry.load(self.target)[0].instance("", self.sizes)


def rows() -> Iterator[ExampleRow]:
    """Yield the rows of the table in order."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(one for one in file if not one.startswith("#")):
            sizes = dict(pair.split("=") for pair in line["sizes"].split())
            tlc = {name: line[name] for name in FIGURES}
            ours = {name: line[f"our_{name}"] for name in ("generated", "depth") if line[f"our_{name}"]}
            yield ExampleRow(
                f"examples/{line['model']}",
                {name: int(value) for name, value in sizes.items()},
                line["source"],
                tlc,
                tlc | ours,
                line["why"],
            )


def figures_of(exploration: Exploration) -> dict[str, str]:
    """Return isrcheck's figures for a search, as TLC counts."""
    failed = [verdict.prop.name for verdict in verdicts(exploration) if verdict.word not in GOOD]
    return {
        "distinct": str(exploration.distinct),
        "generated": str(sum(exploration.levels[:1]) + exploration.generated),
        "depth": str(len(exploration.levels)),
        "result": " ".join(failed) or SUCCESS,
    }


COMPARISON = Comparison(("model", "model file"), FIGURES, "generated with initial states", lambda: rows(), figures_of)
