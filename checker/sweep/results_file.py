"""The file of a sweep's results, from which the same command resumes an interrupted sweep.

In:  the description of a sweep as plain data; the result (record) of each search when it ends.
Out: the results that an earlier run of exactly this sweep stored; a line of JSON for each new result.

The first line describes the sweep, and the digest of this line is a part of the file's name: a sweep with another
model, other values or other limits has another file. Every other line has a result, and a digest of the result together
with the first line, so a line from the file of another sweep is never used. A file that is damaged, or that isrcheck
did not write, is refused and left unchanged; only an incomplete last line is removed.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from isrcheck.checker.resources.cache import engine_digest
from isrcheck.checker.results.exploration import PlainData as PlainData
from isrcheck.checker.sweep.searches import Case, Sweep
from isrcheck.models.messages import UsageError

CURE = "move it away, or give another folder with --out DIR"


def described(sweep: Sweep, cases: Sequence[Case]) -> dict[str, Any]:
    """Return the first line of a sweep's file: everything on which the results of the sweep's searches depend."""
    return {
        "isrcheck": "sweep",
        "model": sweep.target,
        "digest": sweep.model.digest,
        "engine": engine_digest()[:16],
        "vary": {axis.key: list(axis.values) for axis in sweep.axes},
        "limits": asdict(cases[0].limits),
        "cases": _digest([asdict(case) for case in cases]),
    }


class ResultsFile:
    """The results file of one sweep. `done` has the results of an earlier run, by `Case.position`; `failure` is the
    message of the first write error, which does not end the command. Raises UsageError if the file is unusable."""

    def __init__(self, folder: Path, sweep: dict[str, Any], positions: Collection[int]) -> None:
        header = json.dumps(sweep).encode() + b"\n"
        self._header = header.decode()
        self.path = folder / f"sweep_{hashlib.sha256(header).hexdigest()[:12]}.jsonl"
        self.done: dict[int, PlainData] = {}
        self.failure = ""
        self._file = self._opened(folder)
        try:
            self._read(header, positions)
        except BaseException:
            self._file.close()
            raise

    def _opened(self, folder: Path) -> BinaryIO:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            number = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        except OSError as error:
            why = "the file is a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise UsageError(f"{self.path}: results cannot be written to this file: {why}; {CURE}") from None
        file = os.fdopen(number, "r+b", buffering=0)
        if not stat.S_ISREG(os.fstat(number).st_mode):
            file.close()
            raise UsageError(f"{self.path}: not a regular file; {CURE}")
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise UsageError(
                f"{self.path}: the same sweep is running; wait until it ends, or give another folder with --out DIR"
            ) from None
        except OSError:
            pass  # a file system without locks
        return file

    def _read(self, header: bytes, positions: Collection[int]) -> None:
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        if not whole and header.startswith(content):
            self._file.seek(0)
            self._file.truncate()
            self._write(header)
            return
        lines = content[:whole].splitlines(keepends=True)
        if not lines or lines[0] != header:
            raise UsageError(f"{self.path}:1: the file does not contain results of this sweep; {CURE}")
        for number, line in enumerate(lines[1:], 2):
            position, record = self._checked(number, line)
            if position not in positions or position in self.done:
                raise self._damaged(number)
            self.done[position] = record
        self._file.seek(whole)
        self._file.truncate()

    def _checked(self, number: int, line: bytes) -> tuple[int, PlainData]:
        try:
            written = json.loads(line)
            digest = written.pop("digest")
            position, record = written["position"], written["record"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self._damaged(number) from None
        if digest != self._digest(written) or type(position) is not int or not isinstance(record, dict):
            raise self._damaged(number)
        return position, record

    def _digest(self, written: object) -> str:
        return _digest([self._header, written])

    def _damaged(self, number: int) -> UsageError:
        return UsageError(f"{self.path}:{number}: damaged; delete the file to search again, or {CURE}")

    def keep(self, position: int, name: str, record: PlainData) -> None:
        """Append `record`, the result of the search at `position`, to the file; a write error sets `failure`."""
        written = {"position": position, "configuration": name, "record": record}
        self._write(json.dumps({**written, "digest": self._digest(written)}).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        if self.failure:
            return
        end = self._file.tell()
        try:
            written = self._file.write(line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file.fileno())
        except OSError as error:
            self.failure = f"{self.path}: results could not be written: {error.strerror}; make room, or {CURE}"
            with suppress(OSError):
                self._file.seek(end)
                self._file.truncate()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _digest(written: object) -> str:
    return hashlib.sha256(json.dumps(written, sort_keys=True).encode()).hexdigest()[:16]
