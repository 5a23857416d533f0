"""Writes wire.ndjson: decodes the proxy's entries in a separate process, so that the proxy does not wait for decoding.

In:  entries, with frames or without. The process reads them from standard input, in the form that `packed` makes; its
     only argument is the path of the file.
Out: one line of JSON for each entry; at the first failure one line on stderr, and exit code 2.

The proxy waits only when this process still has to read more than MOST_AHEAD bytes, so the proxy's memory is bounded
and no entry is left out. When the input ends, every entry that arrived is in the file, even if the proxy was killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TextIO

from isrcheck.conformance.wire.recording.decoding import UndecodedError, body_of, name_of

MOST_AHEAD = 64 << 20
DIGITS = 4


class Sink(Protocol):
    """An object that takes the entries of a recording, such as `Recorder`."""

    def put(self, entry: Mapping[str, Any], frame: bytes | None = None) -> None:
        """Take an entry, and give it the present time."""

    async def drain(self) -> None:
        """Wait until there is room for more entries."""


class Recorder:
    """A process that writes one recording. Use it as an asynchronous context manager."""

    def __init__(self, path: Path, began: float) -> None:
        """`path` is an existing file; `began` is the time.monotonic() at the start of the recording."""
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
        """Wait until the process ends by itself, as after a failed write; return its exit code."""
        assert self._process is not None
        return await self._process.wait()

    def put(self, entry: Mapping[str, Any], frame: bytes | None = None) -> None:
        """Take an entry, and give it the present time."""
        assert self._process is not None and self._process.stdin is not None
        timed = {"t": round(time.monotonic() - self._began, DIGITS), **entry}
        self._process.stdin.write(packed(timed, frame))

    async def drain(self) -> None:
        """Wait until there is room for more entries; return at once if the process has ended (see `failed`)."""
        assert self._process is not None and self._process.stdin is not None
        with suppress(OSError):
            await self._process.stdin.drain()


LENGTHS = struct.Struct(">II")
DEFECT = "this is a defect of the decoder"
NICE = 10
"""The niceness of this process: how much it yields to the proxy if both share cores."""

TOLD = ("request", "response")


def packed(entry: Mapping[str, Any], frame: bytes | None) -> bytes:
    """An entry as bytes: the lengths of its JSON and of its frame, then the JSON and the frame."""
    head = json.dumps({**entry, "has_frame": frame is not None}).encode()
    return LENGTHS.pack(len(head), len(frame or b"")) + head + (frame or b"")


def line_of(entry: Mapping[str, Any], frame: bytes | None) -> dict[str, Any]:
    """The line of an entry: its fields, its API's name, and the decoded frame, or the reason why it is not decoded."""
    line = {name: value for name, value in entry.items() if name not in ("key", "of")}
    key, version = entry.get("key"), entry.get("version")
    if "key" in entry:
        line = {
            **{name: value for name, value in line.items() if name not in ("version", "correlation")},
            "api": None if key is None else name_of(key),
            **{name: line[name] for name in ("version", "correlation")},
        }
    if frame is None:
        return line
    if key is None or version is None:
        is_short = entry["correlation"] is None
        reason = "it is shorter than a header" if is_short else "it answers no request that was seen on this connection"
        return {**line, "body": None, "undecoded": reason, "size": len(frame)}
    kind = entry["kind"] if entry["kind"] in TOLD else entry["what"]
    try:
        return {**line, "body": body_of(kind, key, version, frame)}
    except UndecodedError as error:
        reason = str(error)
    except Exception as error:  # one frame must not end the recording
        reason = f"{DEFECT}: {type(error).__name__}: {error}"
    return {**line, "body": None, "undecoded": reason, "size": len(frame)}


class Lines:
    """Writes the lines of one recording, numbered from 0."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._number = 0

    def write(self, entry: Mapping[str, Any], frame: bytes | None) -> None:
        """Write the line of an entry, and flush the file. Raises OSError."""
        line = {"n": self._number, **line_of(entry, frame)}
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()
        self._number += 1


def main(path: str, entries: BinaryIO) -> int:
    """Append all entries to a file. Return the exit code."""
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            lines = Lines(file)
            while len(lengths := entries.read(LENGTHS.size)) == LENGTHS.size:
                head_size, size = LENGTHS.unpack(lengths)
                head, frame = entries.read(head_size), entries.read(size)
                if len(head) + len(frame) < head_size + size:
                    break  # the proxy was killed
                entry = json.loads(head)
                lines.write(entry, frame if entry.pop("has_frame") else None)
    except OSError as error:
        print(f"conform: {path}: {error.strerror}; make room, or write elsewhere", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    os.nice(NICE)
    sys.exit(main(sys.argv[1], sys.stdin.buffer))
