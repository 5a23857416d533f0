"""The entry point of `check`; models/start.py explains how a command starts."""

from __future__ import annotations

import sys

from isrcheck.models.start import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> int:
    """Run `check` and return its exit code."""
    return run("check", _load)


def _load(began: float) -> Callable[[], int]:
    from isrcheck.checker.cli import main as command  # imported here because the import takes a second

    return lambda: command(None, began)


if __name__ == "__main__":
    sys.exit(main())
