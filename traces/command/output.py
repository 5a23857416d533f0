"""Prints errors of `trace`, and handles output that cannot be written.

In:  a message.
Out: one line on stderr. This module imports quickly.
"""

from __future__ import annotations

import os
import sys

from isrcheck.models.messages import escaped

MOST_MESSAGE = 1000
"""The longest message, in characters; a file can contain names of any length."""


def complain(message: str) -> int:
    """Print the message as one line on stderr, with unsafe characters escaped, and return the exit code 2."""
    print(f"trace: {escaped(message)[:MOST_MESSAGE]}", file=sys.stderr)
    return 2


def discard_output() -> None:
    """Send the remaining output to the null device, so that the interpreter reports no error when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
