"""The user's request for a search on Spark.

In:  nothing.
Out: a `SparkRequest`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from isrcheck.checker.spark.runtime.spark_options import SparkOptions

ENGINE = "spark"


class Mode(StrEnum):
    """How the work is divided: each part of the initial states on its own, or one search by all executors."""

    PARTS = "parts"
    SEARCH = "search"


@dataclass(frozen=True)
class SparkRequest:
    """The options of a search on Spark: mode, split depth (None: chosen by the search), session, checkpoint folder."""

    mode: Mode
    split_depth: int | None
    session: SparkOptions
    checkpoint: str | None

    @property
    def words(self) -> str:
        """The options with which a printed command repeats this search on any Spark."""
        split = "" if self.split_depth is None else f" --split-depth {self.split_depth}"
        return f" --engine {ENGINE}{split}{' --spark-mode search' if self.mode is Mode.SEARCH else ''}"
