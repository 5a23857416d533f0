"""Reads commands from standard input, one a line, while a server or a proxy runs."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST_LINE = 1_000

Obey = Callable[[str], None]
"""A function that carries out the command in one line, or reports what is wrong with it."""


@contextmanager
def commands(obey: Obey) -> Iterator[None]:
    """Within this context, give each line of standard input to `obey` when it comes, in the running asyncio loop."""
    loop = asyncio.get_running_loop()
    try:
        number = sys.stdin.fileno()
        loop.add_reader(number, _Lines(loop, number, obey).read)
    except (ValueError, OSError):  # closed, replaced, or a file, which is not a source of events
        yield
        return
    try:
        yield
    finally:
        loop.remove_reader(number)


class _Lines:
    """The lines of standard input, which arrive in pieces of any length."""

    def __init__(self, loop: asyncio.AbstractEventLoop, number: int, obey: Obey) -> None:
        self._loop = loop
        self._number = number
        self._obey = obey
        self._rest = ""

    def read(self) -> None:
        """Give every complete line to `obey`, and at the end of the input also the last line."""
        if os.isatty(self._number) and os.tcgetpgrp(self._number) != os.getpgrp():
            return  # in the background: reading would stop this process
        data = os.read(self._number, LONGEST_LINE)
        lines = (self._rest + data.decode(errors="replace")).split("\n")
        self._rest = "" if not data or len(lines[-1]) > LONGEST_LINE else lines.pop()
        if not data:
            self._loop.remove_reader(self._number)
        for line in lines:
            self._obey(line)
