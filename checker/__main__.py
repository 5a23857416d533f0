"""The entry point of `check`; isrcheck/commands/program.py explains how a command starts."""

from __future__ import annotations

import sys

from isrcheck.commands.program import run


def main() -> int:
    """Run `check` and return its exit code."""
    return run("check", "isrcheck.checker.cli")


if __name__ == "__main__":
    sys.exit(main())
