"""What can stand behind an option of `check`: numbers, sizes of memory, times, folders.

In:  the option and the text that a person typed behind it. Out: its value; UsageError where it has none.
"""

from __future__ import annotations

from pathlib import Path

from isrcheck.checker.command.console import parse_memory
from isrcheck.checker.resources.limits import MOST_THREADS
from isrcheck.models.messages.errors import UsageError

MOST_DIGITS = 9


def count(option: str, text: str) -> int:
    """How many of something, at least one. Raises UsageError."""
    if not _is_number(text) or int(text) == 0:
        raise UsageError(f"{option} {text}: not a whole number of at least 1")
    return int(text)


def steps(option: str, text: str) -> int:
    """A number of steps, 0 included. Raises UsageError."""
    if not _is_number(text):
        raise UsageError(f"{option} {text}: not a number of steps; give 0 or more")
    return int(text)


def depth(option: str, text: str) -> int:
    """A depth of at most four digits. Raises UsageError."""
    if not _is_number(text) or len(text) > 4:
        raise UsageError(f"{option} {text}: not a depth; give 0 to 9999")
    return int(text)


def memory(_option: str, text: str) -> int:
    """Bytes. Raises UsageError."""
    return parse_memory(text)


def seconds(option: str, text: str) -> float:
    """A time above 0. Raises UsageError."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise UsageError(f"{option} {text}: not a time; give a number of seconds above 0")
    return found


def threads(option: str, text: str) -> int:
    """How many threads. Raises UsageError."""
    if not _is_number(text[:MOST_DIGITS]) or not 1 <= int(text[:MOST_DIGITS]) <= MOST_THREADS:
        raise UsageError(f"{option} {text}: not a number of threads; give 1 to {MOST_THREADS}")
    return int(text)


def path(_option: str, text: str) -> Path:
    """A file or a folder, which may be there or not."""
    return Path(text)


def folder(_option: str, text: str) -> Path:
    """A folder, which may not be there yet. Raises UsageError where something else has its name."""
    found = Path(text)
    if found.exists() and not found.is_dir():
        raise UsageError(f"{text}: not a folder; name another one with --out DIR")
    return found


def name(option: str, text: str) -> str:
    """A name, which is not empty. Raises UsageError."""
    if not text:
        raise UsageError(f"{option} needs a name; give one, or leave {option} out")
    return text


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= MOST_DIGITS
