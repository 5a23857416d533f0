"""What a comparison of isrcheck's figures with TLC's consists of: rows, each a model of a certain size.

In:  nothing; published.py, other_models.py and tla_examples.py beside this file read the recorded figures.
Out: `Comparison` and `Row`, the printed cells of a row, and what the files of recorded figures have in common.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.models import registry
from isrcheck.models.language.model import Instance


@dataclass(frozen=True)
class Row:
    """A model of a certain size, TLC's figures for it, and those that isrcheck has to find, all as text by name.

    The two differ where a reason is recorded: `why` is the reason, or empty. TLC's figures lack those that nobody has
    published. `target` is the name of the model on the command line, `leading` are the first printed cells, and
    `source` is where the figures stand. If `symmetric`, TLC visited one state of each orbit, and so counted orbits.
    """

    target: str
    sizes: Mapping[str, int]
    leading: tuple[str, ...]
    tlc: Mapping[str, str]
    expected: Mapping[str, str]
    source: str = ""
    why: str = ""
    symmetric: bool = False

    @property
    def title(self) -> str:
        """The name of the model, and its sizes."""
        return f"{self.target} {printed_sizes(self.sizes)}"

    def instance(self) -> Instance:
        """Return the instance of the model."""
        model, protocol = registry.load(self.target)
        return model.instance(protocol or "", self.sizes)


@dataclass(frozen=True)
class Comparison:
    """A table of recorded figures. `header` names the leading cells, `figures` the figures; `means` explains them.

    `rows` reads the rows, and `figures_of` takes the figures from the result of a search. `deadlock` says whether TLC
    looked for states without a step.
    """

    header: tuple[str, ...]
    figures: tuple[str, ...]
    means: str
    rows: Callable[[], Iterable[Row]]
    figures_of: Callable[[Exploration], dict[str, str]]
    deadlock: bool = True

    def line(self, row: Row, ours: Mapping[str, str]) -> list[str]:
        """Return the cells of one printed row. Each figure is `OURS = TLC'S` or `OURS != TLC'S`; ours alone if TLC's is
        not published."""
        return [*row.leading, *(_cell(ours[name], row.tlc.get(name)) for name in self.figures)]


def equals_published(row: Row, ours: Mapping[str, str]) -> bool:
    """Whether our figures equal all of TLC's that are published."""
    return all(ours[name] == figure for name, figure in row.tlc.items())


def _cell(ours: str, published: str | None) -> str:
    return ours if published is None else f"{ours} {'=' if ours == published else '!='} {published}"


def lines_of(file: Path) -> Iterator[dict[str, str]]:
    """Yield the lines of a file of recorded figures, as text by column; `#` begins a comment. Raises OSError."""
    with file.open(encoding="utf-8", newline="") as opened:
        yield from csv.DictReader(one for one in opened if not one.startswith("#"))


def read_sizes(text: str) -> dict[str, int]:
    """Read sizes as they stand in a file: `replicas=3 records=2`."""
    return {name: int(value) for name, value in (pair.split("=") for pair in text.split())}


def printed_sizes(sizes: Mapping[str, int]) -> str:
    """Return sizes as they stand in a file."""
    return " ".join(f"{name}={value}" for name, value in sizes.items())


def counted_as_tlc(exploration: Exploration) -> dict[str, str]:
    """Return the distinct and generated states of a search, and its depth.

    TLC counts initial states as generated, and the first level as depth 1; so do these figures.
    """
    return {
        "distinct": str(exploration.distinct),
        "generated": str(exploration.generated_with_initial),
        "depth": str(len(exploration.levels)),
    }
