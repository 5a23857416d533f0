"""Checkpoint files: a version, the number of entries, and one entry a line.

Kafka creates a checkpoint empty, and reads a file that ends before the number of its entries as one without entries
(CheckpointFile.CheckpointReadBuffer.read).

In:  the files `*-offset-checkpoint` of a log folder, and `leader-epoch-checkpoint` and `partition.metadata` of a
     partition. Out: offsets by partition; leader epochs with their start offsets; the topic id. Or FileError.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from isrcheck.conformance.audit.format.files import FileError, content_of

LARGEST = (1 << 63) - 1
CURE = "copy it again"
LONGEST_LINE = 1000
EXCERPT = 60


def offsets_of(path: Path) -> dict[str, int]:
    """The offsets of a `*-offset-checkpoint` by partition (TOPIC-N). Raises FileError."""
    found: dict[str, int] = {}
    for byte, words in _entries(path, 3):
        partition, offset = f"{words[0]}-{_number(path, byte, words[1])}", _number(path, byte, words[2])
        if partition in found:
            raise FileError(path, f"{partition} occurs twice; {CURE}", byte)
        found[partition] = offset
    return found


def leader_epochs_of(path: Path) -> tuple[tuple[int, int], ...]:
    """The entries of a `leader-epoch-checkpoint`, in its order: leader epoch, start offset. Raises FileError."""
    return tuple((_number(path, byte, words[0]), _number(path, byte, words[1])) for byte, words in _entries(path, 2))


def topic_id_of(path: Path) -> str | None:
    """The topic id that a `partition.metadata` names; None if it names none. Raises FileError."""
    for _, line in _lines(path):
        key, _, value = line.partition(":")
        if key.strip() == "topic_id":
            return value.strip()[:EXCERPT]
    return None


def _entries(path: Path, width: int) -> Iterator[tuple[int, list[str]]]:
    """The entries, with the byte at which each begins."""
    lines = list(_lines(path))
    if not lines:
        return
    (byte, version), *rest = lines
    if version.strip() != "0":
        raise FileError(path, f"no checkpoint, or of another version than 0: {version[:EXCERPT]!r}; {CURE}", byte)
    if not rest:
        return
    (byte, count), *entries = rest
    expected = _number(path, byte, count.strip())
    if expected != len(entries):
        raise FileError(path, f"it should have {expected} entries, and has {len(entries)}; {CURE}", byte)
    for byte, line in entries:
        words = line.split(" ")
        if len(words) != width:
            raise FileError(path, f"{line[:EXCERPT]!r} has not {width} words; {CURE}", byte)
        yield byte, words


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines, with the byte at which each begins."""
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
