"""The entry point of `conform`; isrcheck/commands/program.py explains how a command starts."""

from __future__ import annotations

import sys

from isrcheck.commands.program import run


def main() -> int:
    """Run `conform` and return its exit code."""
    return run("conform", "isrcheck.conformance.cli")


if __name__ == "__main__":
    sys.exit(main())
