"""Opens and lists what lies in a log folder: regular files and real folders only, of bounded size.

In:  paths. Out: open files, contents, names. Or FileError.

A link is refused: the copy of a log folder has none, and a link could lead to a device or out of the copy.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

MOST_ENTRIES = 100_000
"""The most entries of a folder."""

MOST_BYTES_OF_A_SMALL_FILE = 16 << 20
"""The largest checkpoint or snapshot, in bytes."""


class FileError(Exception):
    """A file that cannot be read: where (with the byte, if there is one), what is wrong, and the cure, in one line."""

    def __init__(self, path: Path, what: str, byte: int | None = None) -> None:
        super().__init__(f"{path}: " + ("" if byte is None else f"byte {byte}: ") + what)
        self.path = path
        self.byte = byte


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A regular file, opened for reading, and its size in bytes. Raises FileError, also for errors while it is read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            os.close(handle)
            raise FileError(path, "not a regular file; copy the log folder again")
        with os.fdopen(handle, "rb") as file:
            yield file, status.st_size
    except OSError as error:
        if path.is_symlink():
            raise FileError(path, "a symbolic link; put the file itself there") from None
        raise FileError(path, f"{error.strerror or error}; copy the log folder again") from None
    except ValueError as error:  # a null character in a name
        raise FileError(path, f"{error}; give another path") from None


def content_of(path: Path) -> bytes:
    """The content of a small file. Raises FileError."""
    with opened(path) as (file, _):
        content = file.read(MOST_BYTES_OF_A_SMALL_FILE + 1)
    if len(content) > MOST_BYTES_OF_A_SMALL_FILE:
        raise FileError(
            path, f"larger than {MOST_BYTES_OF_A_SMALL_FILE} bytes, too large for such a file; copy it again"
        )
    return content


def names_in(folder: Path) -> list[str]:
    """The names of the entries of a folder, sorted. Raises FileError."""
    names = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > MOST_ENTRIES:
                    raise FileError(folder, f"it has more than {MOST_ENTRIES} entries; give a folder with fewer")
    except OSError as error:
        raise FileError(folder, f"{error.strerror or error}; give the log folder of a broker") from None
    except ValueError as error:
        raise FileError(folder, f"{error}; give another path") from None
    return sorted(names)
