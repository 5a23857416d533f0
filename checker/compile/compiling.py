"""Compiles the functions of a kernel, with LLVM in a process of its own if time is short.

In:  what builds the functions (checker/compile/lower.py), and the seconds that are left.
Out: object code, or OutOfTimeError.

LLVM cannot be interrupted, but a process can be ended.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from isrcheck.checker.compile import native
from isrcheck.checker.compile.staging.module import Module, module

_DEADLINE: ContextVar[float] = ContextVar("deadline", default=float("inf"))
"""The value of time.monotonic at which compilations have to end."""

SURELY = 400_000
"""Characters of assembly a second that are compiled quickly even on a slow machine; usually it is twenty times as
many."""

CHILD = """
import pickle, sys
sys.path[:], assembly, is_quick = pickle.load(sys.stdin.buffer)
from isrcheck.checker.compile.native import machine_code
sys.stdout.buffer.write(machine_code(assembly, is_quick=is_quick))
"""


class OutOfTimeError(Exception):
    """The kernel was not compiled in time."""


@contextmanager
def compiling_within(seconds: float | None) -> Iterator[None]:
    """Limit the time of all compilations in the block together (None: no limit but that of a block around it)."""
    deadline = float("inf") if seconds is None else time.monotonic() + seconds
    before = _DEADLINE.set(min(deadline, _DEADLINE.get()))
    try:
        yield
    finally:
        _DEADLINE.reset(before)


def compiled(build: Callable[[Module], None], *, is_quick: bool) -> bytes:
    """The object code of the functions that `build` builds in a module. Raises OutOfTimeError."""
    with module(_seconds_left) as built:
        build(built)
        assembly = built.assembly()
    seconds = _seconds_left()
    if seconds == float("inf") or (is_quick and len(assembly) < SURELY * seconds):
        return native.machine_code(assembly, is_quick=is_quick)
    try:
        child = subprocess.run(  # noqa: S603 - what it runs stands above
            [sys.executable, "-c", CHILD],
            input=pickle.dumps((sys.path, assembly, is_quick)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OutOfTimeError from None
    # If the process cannot be started or fails, compiling here shows the error.
    return child.stdout if child.returncode == 0 else native.machine_code(assembly, is_quick=is_quick)


def _seconds_left() -> float:
    """The seconds that are left for compilations. Raises OutOfTimeError."""
    seconds = _DEADLINE.get() - time.monotonic()
    if seconds <= 0:
        raise OutOfTimeError
    return seconds
