"""The user's request for a search on Spark.

In:  nothing.
Out: a `SparkRequest`.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.checker.spark.runtime.spark_options import SparkOptions
from isrcheck.checker.spark.summary import Mode

ENGINE = "spark"


@dataclass(frozen=True)
class SparkRequest:
    """How a search is divided (and at which depth, if given), on which Spark, and where its checkpoints are."""

    mode: Mode
    split_depth: int | None
    session: SparkOptions
    checkpoint: str | None

    @property
    def words(self) -> str:
        """The end of a command that asks the same question of any Spark."""
        split = "" if self.split_depth is None else f" --split-depth {self.split_depth}"
        return f" --engine {ENGINE}{split}{' --spark-mode search' if self.mode is Mode.SEARCH else ''}"
