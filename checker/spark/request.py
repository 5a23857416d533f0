"""The user's request for a search on Spark, and the Spark session's settings. This module does not import Spark."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


@dataclass(frozen=True)
class SparkOptions:
    """The user's settings for a Spark session."""

    master: str | None = None
    """Spark's master; None: that of spark-submit or spark-defaults.conf, or else every core of this machine."""
    conf: tuple[tuple[str, str], ...] = ()
    executor_memory: int | None = None
    """The memory of each executor, in bytes."""
    driver_memory: int | None = None
    """The memory of the driver, in bytes; it has no effect under spark-submit, whose Java already runs."""
    local_dir: Path | None = None
    """The folder in which the session makes its scratch folder; None: the folder for temporary files."""
    fault_dir: Path | None = None
    """The folder for the full texts of errors; None: the folder for temporary files."""
    seconds_to_start: float = 60.0
    """The longest wait for the first executor, in seconds."""
    patience: float = 60.0
    """The seconds without any executor after which Spark counts as lost."""


ENGINE = "spark"


class Mode(StrEnum):
    """How the work is divided: one search for each part of the initial states, or one search by all executors."""

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
        """The options of this search, without the master, for a command with which the user can repeat the search."""
        split = "" if self.split_depth is None else f" --split-depth {self.split_depth}"
        return f" --engine {ENGINE}{split}{' --spark-mode search' if self.mode is Mode.SEARCH else ''}"
