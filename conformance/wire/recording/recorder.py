"""Hands what passes to the process that writes it.

In:  entries, with frames or without.
Out: bytes on the standard input of `writing.py`.

The proxy waits only when MOST_AHEAD bytes are not yet taken: memory is bounded, and nothing is left out.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from isrcheck.conformance.wire.recording.writing import packed

MOST_AHEAD = 64 << 20
DIGITS = 4


class Sink(Protocol):
    """Takes entries."""

    def put(self, entry: Mapping[str, Any], frame: bytes | None = None) -> None:
        """Take an entry, and give it the present time."""

    async def drain(self) -> None:
        """Wait until there is room for more."""


class Recorder:
    """A process that writes one recording. Use it as an asynchronous context manager."""

    def __init__(self, path: Path, began: float) -> None:
        """`path` is an existing file; `began` is the start by time.monotonic()."""
        self._path = path
        self._began = began
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Recorder:
        """Start the process, in a session of its own: Ctrl-C must not end it before it has written everything."""
        words = ("-m", "isrcheck.conformance.wire.recording.writing", str(self._path.absolute()))
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, *words, stdin=asyncio.subprocess.PIPE, start_new_session=True
        )
        assert self._process.stdin is not None
        self._process.stdin.transport.set_write_buffer_limits(high=MOST_AHEAD)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Wait until everything is written."""
        assert self._process is not None and self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
            await self._process.stdin.wait_closed()
        await self._process.wait()

    async def failed(self) -> int:
        """Wait until the process ends by itself; returns its exit code."""
        assert self._process is not None
        return await self._process.wait()

    def put(self, entry: Mapping[str, Any], frame: bytes | None = None) -> None:
        """Take an entry, and give it the present time."""
        assert self._process is not None and self._process.stdin is not None
        timed = {"t": round(time.monotonic() - self._began, DIGITS), **entry}
        self._process.stdin.write(packed(timed, frame))

    async def drain(self) -> None:
        """Wait until there is room for more. After a failure there always is: the command ends then."""
        assert self._process is not None and self._process.stdin is not None
        with suppress(OSError):
            await self._process.stdin.drain()
