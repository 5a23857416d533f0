"""What a comparison of isrcheck's figures with TLC's consists of: rows, each a model of a certain size.

In:  nothing; published.py, other_models.py and tla_examples.py beside this file read the recorded figures.
Out: `Comparison` and `Row`, and the printed cells of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.models.language.model import Instance


class Row(Protocol):
    """A model of a certain size, TLC's figures for it, and those that isrcheck has to find, all as text by name.

    The two differ where a reason is recorded: `why` is the reason, or empty. TLC's figures lack those that nobody has
    published. `leading` are the first printed cells.
    """

    @property
    def title(self) -> str:
        """The name of the model, and its sizes."""

    @property
    def target(self) -> str:
        """The name of the model on the command line."""

    @property
    def leading(self) -> tuple[str, ...]:
        """The printed cells before the figures."""

    @property
    def tlc(self) -> Mapping[str, str]:
        """TLC's figures."""

    @property
    def expected(self) -> Mapping[str, str]:
        """The figures that isrcheck has to find."""

    @property
    def symmetric(self) -> bool:
        """Whether TLC visited one state of each orbit, and so counted orbits."""

    @property
    def why(self) -> str:
        """Why the two differ; empty where they are equal."""

    def instance(self) -> Instance:
        """Return the instance of the model."""


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
