"""The console of a command: memory sizes, Ctrl-C, the encoding of the output streams, closed pipes.

In:  signals, and the texts of options. Out: numbers of bytes, a list of received signals, prepared output streams.
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

from isrcheck.models.messages import UsageError

LEAST_MEMORY = 16 << 20
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_memory(text: str) -> int:
    """Parse a memory size such as `8G`, `512M` or `1.5GiB`; returns bytes. Raises UsageError."""
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
    """Within this context, Ctrl-C raises KeyboardInterrupt and appends the signal's number to the yielded list. The
    list is needed because Python drops an exception that is raised in a callback from LLVM, and because NumPy
    reports an interrupted import as an ImportError of its own."""
    seen: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread; only that thread receives signals
        yield seen
        return
    try:
        yield seen
    except ImportError as error:
        if seen:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)
        seen.clear()


def prepare_streams() -> None:
    """Replace closed output streams with the null device, and characters that a stream cannot encode with `?`."""
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
    """Discard all further output, after the reader of stdout closed the pipe. The exit code does not change."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)
