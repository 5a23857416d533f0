"""Compiles the source text of a kernel, in a process of its own if time is short.

In:  the source text (checker/compile/lower.py), the `Layout`, and the seconds that are left.
Out: object code, or OutOfTimeError.

LLVM cannot be interrupted, but a process can be ended.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

from isrcheck.checker.compile import native, packing
from isrcheck.checker.compile.layout import Layout
from isrcheck.checker.compile.staging import instructions

PARAMETERS = {"expand": 12, "check": 6, "reduce": 3}
"""The number of integer parameters of each exported function; each returns an integer."""

OPERATIONS = (
    *("element", "failed"),
    *("load_word", "load_half", "load_quarter", "load_byte"),
    *("store_word", "store_half", "store_quarter", "store_byte"),
)

_DEADLINE: ContextVar[float] = ContextVar("deadline", default=float("inf"))
"""The value of time.monotonic at which compilations have to end."""

SURELY = 10_000
"""Characters of text a second that are compiled quickly even on a slow machine; usually it is twenty times as many."""

CHILD = """
import pickle, sys
sys.path[:], text, layout, is_quick, exported = pickle.load(sys.stdin.buffer)
from isrcheck.checker.compile.compiling import code_of
sys.stdout.buffer.write(code_of(text, layout, is_quick, exported))
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


def compiled(
    text: str, layout: Layout, *, is_quick: bool, exported: Mapping[str, int] = MappingProxyType(PARAMETERS)
) -> bytes:
    """The object code of a kernel, or of a text with other exported functions. Raises OutOfTimeError."""
    seconds = _DEADLINE.get() - time.monotonic()
    if seconds == float("inf") or (is_quick and len(text) < SURELY * seconds):
        return code_of(text, layout, is_quick, exported)
    if seconds <= 0:
        raise OutOfTimeError
    try:
        child = subprocess.run(  # noqa: S603 - what it runs stands above
            [sys.executable, "-c", CHILD],
            input=pickle.dumps((sys.path, text, layout, is_quick, dict(exported))),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OutOfTimeError from None
    # If the process cannot be started or fails, compiling here shows the error.
    return child.stdout if child.returncode == 0 else code_of(text, layout, is_quick, exported)


def code_of(text: str, layout: Layout, is_quick: bool, exported: Iterable[str]) -> bytes:
    """The object code of a kernel, compiled in this process."""
    operations = {name: getattr(instructions, name) for name in OPERATIONS}
    bits = {1: "", 2: "16", 4: "32"}
    operations |= {f"read{bits[size]}": operation for size, operation in instructions.READ.items()}
    operations |= {f"write{bits[size]}": operation for size, operation in instructions.WRITE.items()}
    operations |= {
        "pack": packing.packer(layout),
        "pack_least": packing.least_packer(layout),
        "unpack": packing.unpacker(layout),
        "copy": packing.copier(layout),
    }
    return native.object_code(text, operations, exported, is_quick=is_quick)
