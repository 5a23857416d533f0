"""What Spark, Py4J and PySpark raise, as one line that says what, where and the cure.

In:  an exception, and what a session knows of itself (`Evidence`).
Out: a UsageError (the set-up is wrong: nothing was searched) or a SparkLostError (something was lost while it ran: what
     was found so far counts, and is undecided); the whole text of Java in a file that the line names.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


class SparkLostError(Exception):
    """Spark lost something in the middle of a search: a disk, memory, executors, itself. Undecided: exit code 3."""


@dataclass
class Evidence:
    """What is known of a session when something goes wrong."""

    log: Path
    """What Java and the workers of a local master printed."""

    folder: Path | None = None
    """Where the whole text of a fault is kept; None: the folder for temporary files."""

    java: subprocess.Popen[bytes] | None = None
    is_up: bool = False
    lost: str | None = None
    """Why the session itself gave the cluster up, if it did."""


@contextlib.contextmanager
def explained(evidence: Evidence) -> Iterator[None]:
    """Errors of Spark that are raised in the block become a UsageError or a SparkLostError."""
    yield
