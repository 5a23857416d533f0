"""What can stand behind an option of `check`: numbers, sizes of memory, times.

In:  the text that a person typed. Out: its value; UsageError where it has none.
"""

from __future__ import annotations

from isrcheck.checker.command.console import parse_memory
from isrcheck.checker.explicit.shards import MOST_SHARDS
from isrcheck.checker.resources.machine_memory import machine_memory
from isrcheck.models.messages.errors import UsageError

MOST_DIGITS = 9


def count(option: str, text: str | None) -> int | None:
    """How many of something, at least one. Raises UsageError."""
    if text is None:
        return None
    if not text.isdecimal() or not text.isascii() or len(text) > MOST_DIGITS or int(text) == 0:
        raise UsageError(f"{option} {text}: not a number; give 1 or more")
    return int(text)


def whole(option: str, text: str | None) -> int | None:
    """A number of steps, 0 included. Raises UsageError."""
    if text is None:
        return None
    if not text.isdecimal() or not text.isascii() or len(text) > MOST_DIGITS:
        raise UsageError(f"{option} {text}: not a number of steps; give 0 or more")
    return int(text)


def memory(text: str | None) -> int:
    """Bytes; without a word half of what this machine has. Raises UsageError."""
    return machine_memory() // 2 if text is None else parse_memory(text)


def seconds(text: str | None) -> float | None:
    """A time above 0. Raises UsageError."""
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"--seconds {text}: not a time; give a number of seconds above 0")
    return seconds


def threads(text: str | None) -> int:
    """How many threads; without a word one. Raises UsageError."""
    if text is None:
        return 1
    if not text.isdecimal() or not text.isascii() or not 1 <= int(text[:MOST_DIGITS]) <= MOST_SHARDS:
        raise UsageError(f"--threads {text}: not a number of threads; give 1 to {MOST_SHARDS}")
    return int(text)
