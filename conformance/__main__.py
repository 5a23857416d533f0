"""Starts the command `conform`; see models/start.py."""

from __future__ import annotations

import sys

from isrcheck.models.start import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> int:
    """Run `conform` and return its exit code."""
    return run("conform", _load)


def _load(began: float) -> Callable[[], int]:
    from isrcheck.conformance.cli import main as command  # imported here, because the import takes a second

    return lambda: command(None, began)


if __name__ == "__main__":
    sys.exit(main())
