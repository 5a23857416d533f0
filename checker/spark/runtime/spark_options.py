"""The settings of a Spark session. Importing this module does not import Spark.

In:  nothing.
Out: `SparkOptions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SparkOptions:
    """The user's settings for a Spark session."""

    master: str | None = None  # None: as in spark-submit or spark-defaults.conf, else every core of this machine
    conf: tuple[tuple[str, str], ...] = ()
    executor_memory: int | None = None  # bytes
    driver_memory: int | None = None  # bytes; has no effect under spark-submit, whose Java runs already
    local_dir: Path | None = None  # for the scratch folder; None: the folder for temporary files
    fault_dir: Path | None = None  # for the full texts of errors; None: the folder for temporary files
    seconds_to_start: float = 60.0  # the longest wait for a first executor
    patience: float = 60.0  # seconds without any executor, after which it counts as lost
