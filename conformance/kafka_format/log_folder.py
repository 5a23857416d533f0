"""The files of a broker's log folder: the names of segments, checkpoints, and snapshots of producer state.

Only regular files and real folders of bounded size are read. A link is refused: the copy of a log folder has none, and
a link could lead to a device or out of the copy.

A checkpoint has a version, the number of its entries, and one entry a line. Kafka creates it as an empty file. If the
file ends before the line with the number, Kafka reads no entries (CheckpointFile.CheckpointReadBuffer.read).
"""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from crc32c import crc32c

SEGMENT = re.compile(r"([0-9]{20})\.log", re.ASCII)
"""The name of a segment of a log: the offset at which it begins."""

MOST_ENTRIES = 100_000
"""The most entries of a folder."""

MOST_BYTES_OF_A_SMALL_FILE = 16 << 20
"""The largest checkpoint or snapshot, in bytes."""


class FileError(Exception):
    """A file cannot be read; the message gives path, byte (if any), defect and cure in one line."""

    def __init__(self, path: Path, defect: str, byte: int | None = None) -> None:
        super().__init__(f"{path}: " + ("" if byte is None else f"byte {byte}: ") + defect)
        self.path = path
        self.byte = byte


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """Yields a regular file, open for reading, and its size in bytes. An OSError in the context becomes a FileError."""
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
    """The content of a checkpoint or a snapshot. Raises FileError, also for a file of more than 16 MiB."""
    with opened(path) as (file, _):
        content = file.read(MOST_BYTES_OF_A_SMALL_FILE + 1)
    if len(content) > MOST_BYTES_OF_A_SMALL_FILE:
        raise FileError(
            path, f"larger than {MOST_BYTES_OF_A_SMALL_FILE} bytes, too large for a checkpoint or snapshot; {CURE}"
        )
    return content


def names_in(folder: Path) -> list[str]:
    """The names of the entries of a folder, sorted. Raises FileError."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, MOST_ENTRIES + 1)]
    except OSError as error:
        raise FileError(folder, f"{error.strerror or error}; give the log folder of a broker") from None
    except ValueError as error:
        raise FileError(folder, f"{error}; give another path") from None
    if len(names) > MOST_ENTRIES:
        raise FileError(folder, f"it has more than {MOST_ENTRIES} entries; give a folder with fewer")
    return sorted(names)


LARGEST = (1 << 63) - 1
CURE = "copy it again"
LONGEST_LINE = 1000
EXCERPT = 60


def offsets_of(path: Path) -> dict[str, int]:
    """The offsets of a `*-offset-checkpoint` by partition (TOPIC-N). Raises FileError."""
    offsets: dict[str, int] = {}
    for byte, words in _entries(path, 3):
        partition, offset = f"{words[0]}-{_number(path, byte, words[1])}", _number(path, byte, words[2])
        if partition in offsets:
            raise FileError(path, f"{partition} occurs twice; {CURE}", byte)
        offsets[partition] = offset
    return offsets


def leader_epochs_of(path: Path) -> tuple[tuple[int, int], ...]:
    """The entries of a `leader-epoch-checkpoint`, in the file's order: leader epoch, start offset. Raises FileError."""
    return tuple((_number(path, byte, words[0]), _number(path, byte, words[1])) for byte, words in _entries(path, 2))


def topic_id_of(path: Path) -> str | None:
    """The topic id that a `partition.metadata` names; None if it names none. Raises FileError."""
    for _, line in _lines(path):
        key, _, value = line.partition(":")
        if key.strip() == "topic_id":
            return value.strip()[:EXCERPT]
    return None


def broker_id_of(path: Path) -> int | None:
    """The id of the broker that a `meta.properties` names (`node.id` with KRaft, `broker.id` with ZooKeeper); None if
    it names none. Raises FileError."""
    for byte, line in _lines(path):
        key, _, value = line.partition("=")
        if key.strip() in ("node.id", "broker.id"):
            return _number(path, byte, value.strip())
    return None


def _entries(path: Path, width: int) -> Iterator[tuple[int, list[str]]]:
    """For each entry of a checkpoint: the byte at which it begins, and its `width` words. Raises FileError."""
    lines = list(_lines(path))
    if not lines:
        return
    (byte, version), *after_version = lines
    if version.strip() != "0":
        raise FileError(
            path, f"it does not begin with 0, the version of a checkpoint, but with {version[:EXCERPT]!r}; {CURE}", byte
        )
    if not after_version:
        return
    (byte, count), *entries = after_version
    expected = _number(path, byte, count.strip())
    if expected != len(entries):
        raise FileError(path, f"it should have {expected} entries, and has {len(entries)}; {CURE}", byte)
    for byte, line in entries:
        words = line.split(" ")
        if len(words) != width:
            raise FileError(path, f"the line {line[:EXCERPT]!r} does not have {width} words; {CURE}", byte)
        yield byte, words


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file, each with the byte at which it begins. Raises FileError."""
    byte = 0
    for line in content_of(path).splitlines(keepends=True):
        if len(line) > LONGEST_LINE:
            raise FileError(path, f"a line of more than {LONGEST_LINE} bytes; {CURE}", byte)
        try:
            yield byte, line.decode("ascii").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise FileError(path, f"not text; {CURE}", byte + error.start) from None
        byte += len(line)


def _number(path: Path, byte: int, word: str) -> int:
    if not word.isdecimal() or len(word) > len(str(LARGEST)) or int(word) > LARGEST:
        raise FileError(path, f"{word[:EXCERPT]!r} is not a number from 0 to {LARGEST}; {CURE}", byte)
    return int(word)


START = struct.Struct(">hIi")
"""Version, CRC-32C of what follows it, number of entries."""

CRC_FROM = 6
ENTRY = struct.Struct(">qhiqiqiq")
"""Producer id and epoch, last sequence, last offset, its distance to the batch's first, timestamp, coordinator epoch,
first offset of the open transaction."""

VERSION = 1


@dataclass(frozen=True, slots=True)
class Producer:
    """What a broker knows of a producer: its epoch, the sequence number and offset of its last record, and the first
    offset of its open transaction. A value that does not exist is -1."""

    epoch: int
    last_sequence: int
    last_offset: int
    open_transaction: int


def producers_of(path: Path) -> dict[int, Producer]:
    """The producers of a snapshot (`<offset>.snapshot`, version 1) by producer id. Raises FileError."""
    content = content_of(path)
    if len(content) < START.size:
        raise FileError(
            path, f"it has {len(content)} bytes, and a snapshot has at least {START.size}; {CURE}", len(content)
        )
    version, crc, count = START.unpack_from(content)
    if version != VERSION:
        raise FileError(path, f"a snapshot of version {version}; only version {VERSION} can be read", 0)
    actual = crc32c(content[CRC_FROM:])
    if actual != crc:
        raise FileError(path, f"its header says CRC {crc:08x}, but its bytes have {actual:08x}; {CURE}", 2)
    if len(content) != START.size + count * ENTRY.size:
        raise FileError(path, f"its {len(content)} bytes do not fit {count} entries; {CURE}", CRC_FROM)
    return {
        producer: Producer(epoch, sequence, offset, first)
        for producer, epoch, sequence, offset, _, _, _, first in ENTRY.iter_unpack(content[START.size :])
    }
