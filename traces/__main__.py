"""The entry point of `trace`; isrcheck/commands/program.py explains how a command starts."""

from __future__ import annotations

import sys

from isrcheck.commands.program import run


def main() -> int:
    """Run `trace` and return its exit code."""
    return run("trace", "isrcheck.traces.cli")


if __name__ == "__main__":
    sys.exit(main())
