"""Readers of option values: numbers, memory sizes, times, folders, names.

In:  the option and its text. Out: the value; UsageError if the text is not valid.
"""

from __future__ import annotations

from pathlib import Path

from isrcheck.checker.command.console import parse_memory
from isrcheck.checker.resources.limits import MOST_THREADS
from isrcheck.models.messages import UsageError, escaped

MOST_DIGITS = 9
MOST_WEIGHT = 10_000
MOST_SEED = (1 << 64) - 1


def count(option: str, text: str) -> int:
    """Read a whole number of at least 1. Raises UsageError."""
    if not _is_number(text) or int(text) == 0:
        raise UsageError(f"{option} {text}: not a whole number of at least 1")
    return int(text)


def steps(option: str, text: str) -> int:
    """Read a number of steps, which may be 0. Raises UsageError."""
    if not _is_number(text):
        raise UsageError(f"{option} {text}: not a number of steps; give 0 or more")
    return int(text)


def seed(option: str, text: str) -> int:
    """Read a seed, a number of 64 bits without a sign. Raises UsageError."""
    if not (text.isdecimal() and text.isascii() and len(text) <= len(str(MOST_SEED))) or int(text) > MOST_SEED:
        raise UsageError(f"{option} {text}: not a seed; give 0 to {MOST_SEED}")
    return int(text)


def depth(option: str, text: str) -> int:
    """Read a depth from 0 to 9999. Raises UsageError."""
    if not _is_number(text) or len(text) > 4:
        raise UsageError(f"{option} {text}: not a depth; give 0 to 9999")
    return int(text)


def memory(_option: str, text: str) -> int:
    """Read a memory size; returns bytes. Raises UsageError."""
    return parse_memory(text)


def seconds(option: str, text: str) -> float:
    """Read a time above 0, in seconds. Raises UsageError."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise UsageError(f"{option} {text}: not a time; give a number of seconds above 0")
    return found


def minutes(option: str, text: str) -> float:
    """Read a time above 0, in minutes. Raises UsageError."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise UsageError(f"{option} {text}: not a time; give a number of minutes above 0")
    return found


def threads(option: str, text: str) -> int:
    """Read a number of threads. Raises UsageError."""
    if not _is_number(text[:MOST_DIGITS]) or not 1 <= int(text[:MOST_DIGITS]) <= MOST_THREADS:
        raise UsageError(f"{option} {text}: not a number of threads; give 1 to {MOST_THREADS}")
    return int(text)


def weight(option: str, text: str) -> tuple[str, int]:
    """Read the name of an action and its weight. Raises UsageError."""
    action, _, number = text.partition("=")
    if not action or not _is_number(number) or not 1 <= int(number) <= MOST_WEIGHT:
        raise UsageError(f"{option} {text}: write it as ACTION=N, with N from 1 to {MOST_WEIGHT:,}")
    return action, int(number)


def path(_option: str, text: str) -> Path:
    """Return the path of a file or folder, which need not exist."""
    return Path(text)


def folder(option: str, text: str) -> Path:
    """Return the path of a folder, which need not exist. Raises UsageError if the path is not a folder."""
    found = Path(text)
    if found.exists() and not found.is_dir():
        raise UsageError(f"{text}: not a folder; name a folder with {option} DIR")
    return found


def name(option: str, text: str) -> str:
    """Return a name. Raises UsageError if the name is empty."""
    if not text:
        raise UsageError(f"{option} needs a name; give a name, or leave {option} out")
    return text


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= MOST_DIGITS


KINDS = ("can-lose", "defects", "unknown")
"""The kinds of answers for a cluster with which a command can fail."""


def kinds_of_answers(option: str, text: str) -> frozenset[str]:
    """Read kinds of answers, separated by commas. Raises UsageError."""
    kinds = text.split(",")
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"{option} {escaped(text)}: {escaped(kind)!r} is none of {', '.join(KINDS)}")
    return frozenset(kinds)
