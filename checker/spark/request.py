"""What a person may ask of a search on Spark.

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
    """How a search is divided (at which depth, where that was said), on which Spark, where it can be taken up again."""

    mode: Mode
    split_depth: int | None
    session: SparkOptions
    checkpoint: str | None

    @property
    def words(self) -> str:
        """What asks the same question of any Spark, as the end of a command."""
        split = "" if self.split_depth is None else f" --split-depth {self.split_depth}"
        return f" --engine {ENGINE}{split}{' --spark-mode search' if self.mode is Mode.SEARCH else ''}"
