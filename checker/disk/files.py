"""The files of a search on disk: append-only columns of numbers in one folder, with checksums.

A checkpoint records the size and the checksum of each file. If a run crashes later, bytes beyond the recorded size are
cut off when the search is resumed. A file that a checkpoint names is deleted only after a later checkpoint, which does
not name it, is on disk.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.disk.request import DiskRequest
from isrcheck.models.messages import UsageError

LOCK = "lock"
OURS = b"isrcheck search on disk\n"
"""The content of the lock of a folder that held nothing else when a search began in it."""

CHECKPOINT = "checkpoint.json"
PARTIAL = ".partial"
PIECE_BYTES = 1 << 22
"""The bytes that are read at once."""


class DiskError(Exception):
    """A file cannot be written or read; the message says which file, why, and the cure."""


class DamagedError(Exception):
    """A file that a checkpoint names is missing or differs from its description; the message is the file's name."""


class Folder:
    """The folder of one search, locked while it is open. `used` is the size of its columns in bytes, `most` the
    greatest `used` so far. Raises UsageError if the folder cannot be written, or if another process uses it."""

    def __init__(self, path: Path, option: str) -> None:
        self.path = path
        self.used = 0
        self.most = 0
        self.next_number = 0
        self.columns: dict[str, Column] = {}
        self.obsolete: list[Column] = []
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._has_made_lock = not (path / LOCK).exists()
            self._lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise UsageError(f"{option} {path}: {error.strerror}; name a folder that you can write to") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise UsageError(f"{option} {path}: another search uses this folder; name a different folder") from None

    @classmethod
    def of(cls, options: DiskRequest) -> Folder:
        """Open a request's folder: with --resume it must exist; with --disk, `begin` prepares it. Raises UsageError."""
        where = f"{options.option} {options.folder}"
        if options.is_resumed and not options.folder.is_dir():
            raise UsageError(f"{where}: there is no such folder; begin the search with --disk {options.folder}")
        folder = cls(options.folder, options.option)
        try:
            if not options.is_resumed:
                folder.begin(where)
        except BaseException:
            folder.leave()
            raise
        return folder

    def begin(self, where: str) -> None:
        """Mark the folder as that of a search, and delete the files of an earlier search that has no checkpoint.

        Raises UsageError if the folder holds any other files.
        """
        if (self.path / CHECKPOINT).exists():
            raise UsageError(
                f"{where}: the folder holds an earlier search; go on with --resume {self.path}, or name a new folder"
            )
        is_ours = os.pread(self._lock, len(OURS) + 1, 0) == OURS
        files = sorted(self.path.iterdir())
        others = [file.name for file in files if file.name != LOCK and not (is_ours and _is_of_search(file))]
        if others:
            raise UsageError(f"{where}: the folder holds other files ({others[0]}); name a new folder")
        try:
            self.delete_others()
            write_all(self._lock, memoryview(OURS), 0)
        except OSError as error:
            raise UsageError(f"{self.path}: {error.strerror}; name a folder that you can write to") from None

    def failed(self, name: str, error: OSError) -> DiskError:
        """The error for a file that could not be written or read."""
        return DiskError(
            f"{self.path / name}: {error.strerror}; make room or repair the disk, then go on with --resume {self.path}"
        )

    def grow(self, size: int) -> None:
        """Add to `used` the number of bytes that were written (negative: deleted)."""
        self.used += size
        self.most = max(self.most, self.used)

    def column(self, content: str, kind: Any) -> Column:
        """Make a new, empty column; its file is named by its content (one of KINDS) and a number."""
        self.next_number += 1
        return Column(self, f"{content}-{self.next_number:06}", np.dtype(kind))

    def reopened(self, description: Mapping[str, Any], kind: Any) -> Column:
        """Open the column that a description (`Column.described`) in a checkpoint names. Raises DamagedError if the
        file differs from the description."""
        name = description["name"]
        if not _is_column(name):
            raise DamagedError(CHECKPOINT)
        try:
            column = Column(self, name, np.dtype(kind), description["size"], description["crc"])
            is_whole = column.is_whole()
        except (DiskError, OSError):
            is_whole = False
        if not is_whole:
            raise DamagedError(name)
        self.next_number = max(self.next_number, int(name.partition("-")[2]))
        return column

    def drop(self, column: Column) -> None:
        """Delete a column: at once, or, if the last checkpoint names the column, after the next checkpoint."""
        if column.is_in_checkpoint:
            self.obsolete.append(column)
            del self.columns[column.name]
        else:
            column.delete()

    def write_checkpoint(self, text: str) -> None:
        """Make all files durable, replace the checkpoint, and delete the files that only earlier checkpoints name."""
        name = CHECKPOINT + PARTIAL
        try:
            for column in self.columns.values():
                column.sync()
            with _opened(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
                write_all(file, memoryview(text.encode()), 0)
                os.fsync(file)
            (self.path / name).replace(self.path / CHECKPOINT)
            with _opened(self.path, os.O_RDONLY) as folder:
                os.fsync(folder)
        except OSError as error:
            raise self.failed(CHECKPOINT, error) from None
        for column in self.columns.values():
            column.is_in_checkpoint = True
        for column in self.obsolete:
            column.delete()
        self.obsolete.clear()

    def read_checkpoint(self) -> str | None:
        """The text of the checkpoint; None if the folder has no checkpoint."""
        try:
            return (self.path / CHECKPOINT).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.failed(CHECKPOINT, error) from None

    def delete_others(self) -> None:
        """Delete the files that no checkpoint names: an interrupted run wrote them after the last checkpoint."""
        for file in self.path.iterdir():
            if _is_of_search(file) and file.name not in self.columns:
                file.unlink(missing_ok=True)

    def empty(self) -> None:
        """Delete the checkpoint and every file of the search. Raises OSError."""
        (self.path / CHECKPOINT).unlink(missing_ok=True)
        for column in [*self.columns.values(), *self.obsolete]:
            column.delete()
        self.obsolete.clear()
        self.delete_others()

    def clear(self) -> None:
        """Delete all files of the search, and the folder if nothing else is in it."""
        with contextlib.suppress(OSError):
            self.empty()
            (self.path / LOCK).unlink(missing_ok=True)
            self.path.rmdir()

    def leave(self) -> None:
        """Release a folder in which no search began; delete the lock file, if this run made it."""
        if self._has_made_lock:
            with contextlib.suppress(OSError):
                (self.path / LOCK).unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Close all files, and release the folder."""
        for column in [*self.columns.values(), *self.obsolete]:
            column.close()
        os.close(self._lock)


class Column:
    """A file with `count` numbers of the same type, in the order in which they were appended. If a `size` in bytes is
    given, the file is that of an earlier run and must exist; otherwise it is new."""

    def __init__(self, folder: Folder, name: str, kind: np.dtype[Any], size: int | None = None, crc: int = 0) -> None:
        self.folder = folder
        self.name = name
        self.kind = kind
        self.crc = crc
        self.size = size or 0
        self.is_in_checkpoint = self._is_synced = size is not None
        how = os.O_RDWR | os.O_NOFOLLOW | (os.O_CREAT | os.O_EXCL if size is None else 0)
        try:
            self._number = os.open(folder.path / name, how, 0o600)
        except OSError as error:
            raise folder.failed(name, error) from None
        folder.columns[name] = self
        folder.grow(self.size)

    @property
    def count(self) -> int:
        """The number of numbers in the column."""
        return self.size // self.kind.itemsize

    def described(self) -> dict[str, Any]:
        """The name, size and checksum of the column, for a checkpoint."""
        return {"name": self.name, "size": self.size, "crc": self.crc}

    def append(self, numbers: NDArray[Any]) -> None:
        """Append numbers. Raises DiskError; the column is then as it was."""
        if not len(numbers):
            return
        content = np.ascontiguousarray(numbers, self.kind).data.cast("B")
        try:
            write_all(self._number, content, self.size)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._number, self.size)
            raise self.folder.failed(self.name, error) from None
        self.crc = zlib.crc32(content, self.crc)
        self.size += len(content)
        self._is_synced = False
        self.folder.grow(len(content))

    def read(self, first: int, numbers: NDArray[Any]) -> None:
        """Fill an array with the numbers from position `first` on. Raises DiskError."""
        unread = numbers.data.cast("B")
        at = first * self.kind.itemsize
        try:
            while len(unread):
                size = os.preadv(self._number, [unread], at)
                if size == 0:
                    raise OSError(0, "the file is shorter than when it was written")
                unread, at = unread[size:], at + size
        except OSError as error:
            raise self.folder.failed(self.name, error) from None

    def part(self, first: int, count: int) -> NDArray[Any]:
        """Return `count` numbers, from position `first` on. Raises DiskError."""
        numbers = np.empty(count, self.kind)
        self.read(first, numbers)
        return numbers

    def number_at(self, position: int) -> int:
        """The number at a position."""
        return int(self.part(position, 1)[0])

    def is_whole(self) -> bool:
        """Whether the file has the recorded size and checksum; bytes beyond that size are cut off."""
        crc, at, piece = 0, 0, np.empty(PIECE_BYTES, np.uint8)
        if os.fstat(self._number).st_size < self.size:
            return False
        while at < self.size:
            part = piece[: min(PIECE_BYTES, self.size - at)]
            if os.preadv(self._number, [part.data], at) != len(part):
                return False
            crc = zlib.crc32(part.data, crc)
            at += len(part)
        os.ftruncate(self._number, self.size)
        return crc == self.crc

    def sync(self) -> None:
        """Wait until the whole file is on disk (fsync). Raises OSError."""
        if not self._is_synced:
            os.fdatasync(self._number)
            self._is_synced = True

    def delete(self) -> None:
        """Delete the file."""
        self.close()
        self.folder.columns.pop(self.name, None)
        self.folder.grow(-self.size)
        with contextlib.suppress(OSError):
            (self.folder.path / self.name).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file."""
        if self._number >= 0:
            os.close(self._number)
            self._number = -1


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    number = os.open(path, flags, 0o600)
    try:
        yield number
    finally:
        os.close(number)


def write_all(number: int, content: memoryview, at: int) -> None:
    """Write the whole content into an open file, from byte `at` on. Raises OSError."""
    done = 0
    while done < len(content):
        done += os.pwrite(number, content[done:], at + done)


KINDS = ("states", "parents", "steps", "run", "group", "places")
"""The kinds of content of columns; the name of a file is its kind and a number."""


def _is_column(name: str) -> bool:
    content, _, number = name.partition("-")
    return content in KINDS and number.isdecimal()


def _is_of_search(file: Path) -> bool:
    """Whether a file belongs to a search, by its name: a column, or a checkpoint that is only partly written."""
    is_named = _is_column(file.name) or file.name == CHECKPOINT + PARTIAL
    return is_named and file.is_file() and not file.is_symlink()
