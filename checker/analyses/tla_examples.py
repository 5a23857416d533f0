"""`check examples/tla`: the figures of public TLA+ examples, and those that TLC reports for them.

In:  models/examples/tla/counts.csv.
Out: `COMPARISON`: a row for each row of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from isrcheck.checker.analyses.comparison import Comparison, Row, counted_as_tlc, lines_of, read_sizes
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.verdict import Word, verdicts
from isrcheck.models.examples import tla

TABLE = Path(tla.__file__).with_name("counts.csv")
FIGURES = ("distinct", "generated", "depth", "result")
SUCCESS = "success"
GOOD = (Word.HOLDS, Word.REACHED, Word.NOT_APPLICABLE)


def rows() -> Iterator[Row]:
    """Yield the rows of the table in order."""
    for line in lines_of(TABLE):
        tlc = {name: line[name] for name in FIGURES}
        ours = {name: line[f"our_{name}"] for name in ("generated", "depth") if line[f"our_{name}"]}
        yield Row(
            f"examples/{line['model']}",
            read_sizes(line["sizes"]),
            (line["model"], line["source"].rpartition("/")[2]),
            tlc,
            tlc | ours,
            line["source"],
            line["why"],
        )


def figures_of(exploration: Exploration) -> dict[str, str]:
    """Return isrcheck's figures for a search, as TLC counts."""
    failed = [verdict.prop.name for verdict in verdicts(exploration) if verdict.word not in GOOD]
    return counted_as_tlc(exploration) | {"result": " ".join(failed) or SUCCESS}


COMPARISON = Comparison(("model", "model file"), FIGURES, "generated with initial states", lambda: rows(), figures_of)
