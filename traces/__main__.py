"""Starts the command `trace`; see models/start.py."""

from __future__ import annotations

import sys

from isrcheck.models.start import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> int:
    """Run `trace`, and return its exit code."""
    return run("trace", _load)


def _load(_began: float) -> Callable[[], int]:
    from isrcheck.traces.cli import main as command  # imported here, because the import takes a second

    return lambda: command(None)


if __name__ == "__main__":
    sys.exit(main())
