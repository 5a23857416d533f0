"""How a command talks to the person who typed it: progress, one-line errors, sizes, broken pipes.

In:  what a command has to say. Out: stderr and stdout; nothing about models.
"""

from __future__ import annotations

import codecs
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from isrcheck.models.messages.errors import UsageError

LEAST_MEMORY = 16 << 20
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_memory(text: str) -> int:
    """Bytes out of `8G`, `512M`, `1.5GiB`. Raises UsageError."""
    stripped = text.strip().upper().removesuffix("IB").removesuffix("B")
    unit = stripped[-1:] if stripped[-1:] in "KMGT" else ""
    try:
        count = int(float(stripped.removesuffix(unit)) * UNITS[unit])
    except (ValueError, OverflowError):
        raise UsageError(f"--memory {text}: not a size; write it as 512M or 8G") from None
    if count < LEAST_MEMORY:
        raise UsageError(f"--memory {text}: a search needs at least {LEAST_MEMORY >> 20}M")
    return count


@contextmanager
def interrupts() -> Iterator[list[int]]:
    """Ctrl-C raises KeyboardInterrupt, and is also noted in the list that is given: Python drops an exception that is
    raised while LLVM calls it back."""
    seen: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread, which alone is told of signals
        yield seen
        return
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)
        seen.clear()


def prepare_streams() -> None:
    """Output that nobody takes goes nowhere, and signs that a terminal does not have become others."""
    codecs.register_error("isrcheck", lambda error: (_plain(error), _end(error)))
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for as long as we run
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="isrcheck")


def _plain(error: UnicodeError) -> str:
    assert isinstance(error, UnicodeEncodeError)
    return "".join("." if sign == "\u00b7" else "?" for sign in error.object[error.start : error.end])


def _end(error: UnicodeError) -> int:
    assert isinstance(error, UnicodeEncodeError)
    return error.end


def give_up_stdout() -> None:
    """The reader of our output is gone: nothing more is printed, and the exit code stays what it was."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)
