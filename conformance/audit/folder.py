"""Finds the partitions in log folders, with what the checkpoints of the folders say about them.

In:  the paths of log folders of brokers, or of folders of single partitions.
Out: `Copy`: one broker's copy of a partition, whose log is not read yet; lines about what cannot be read.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from isrcheck.conformance.audit.format.checkpoints import leader_epochs_of, offsets_of, topic_id_of
from isrcheck.conformance.audit.format.files import FileError, names_in
from isrcheck.models.messages import UsageError

Value = TypeVar("Value")

HIGH_WATERMARKS = "replication-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANED = "cleaner-offset-checkpoint"
EPOCHS = "leader-epoch-checkpoint"
METADATA = "partition.metadata"

PARTITION = re.compile(r"[A-Za-z0-9._-]{1,249}-(?:0|[1-9][0-9]{0,9})", re.ASCII)
"""The name of a partition's folder: TOPIC-N, in the characters that Kafka allows."""

ON_THE_WAY = re.compile(r".*\.[0-9a-f]{32}-(?:delete|future|stray)", re.ASCII)
"""The name of a folder that is being deleted or moved."""

SEGMENT = re.compile(r"([0-9]{20})\.log", re.ASCII)
SNAPSHOT = re.compile(r"([0-9]{20})\.snapshot", re.ASCII)
ALWAYS_COMPACTED = {"__consumer_offsets", "__transaction_state", "__share_group_state"}
FILES_OF_A_LOG_FOLDER = {HIGH_WATERMARKS, RECOVERY_POINTS, LOG_STARTS, CLEANED, "meta.properties"}


@dataclass(frozen=True)
class Copy:
    """A broker's copy of a partition: its files, and what the checkpoints say (None: nothing).

    `segments` and `snapshots` are pairs of the offset that names the file, and its path, in the order of the offsets.
    Offsets below `cleaned` may have been removed by compaction.
    """

    broker: str
    partition: str
    path: Path
    segments: tuple[tuple[int, Path], ...]
    snapshots: tuple[tuple[int, Path], ...]
    high_watermark: int | None
    recovery_point: int | None
    log_start: int | None
    cleaned: int
    leader_epochs: tuple[tuple[int, int], ...] | None
    topic_id: str | None


@dataclass
class Found:
    """What log folders hold: the copies of each partition, lines about what cannot be read, and remarks."""

    brokers: list[str] = field(default_factory=list)
    copies: dict[str, list[Copy]] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def copies_in(folders: Sequence[Path], only: Sequence[str] = ()) -> Found:
    """The copies of partitions in these folders, or of only these partitions. Raises UsageError."""
    found = Found()
    for broker, folder in zip(_labels(folders), folders, strict=True):
        found.brokers.append(broker)
        try:
            count = _add(found, broker, folder, only)
        except FileError as error:
            found.unreadable.append(str(error))
            continue
        if not count and not only:
            cure = "give the log folder of a broker (log.dirs), or the folder of a partition"
            found.unreadable.append(f"{folder}: no folder of a partition (TOPIC-N) in it; {cure}")
    for partition in only:
        if partition not in found.copies and not found.unreadable:
            raise UsageError(f"--partition {partition}: no folder has it; name one of them as TOPIC-N")
    return found


def _labels(folders: Sequence[Path]) -> list[str]:
    """A name for each folder: its last part, or the whole path if two have the same. Raises UsageError."""
    roots = [_real(path) for path in folders]
    for path, root in zip(folders, roots, strict=True):
        if roots.count(root) > 1:
            raise UsageError(f"{path} is given twice; give each broker's folder once")
    roots = [path.parent if _is_partition(path) else path for path in roots]
    shared = Counter(path.name for path in roots)
    return [root.name if shared[root.name] == 1 else str(path) for root, path in zip(roots, folders, strict=True)]


def _real(path: Path) -> Path:
    """The path without links; unlike Path.resolve, it does not fail for links in a circle."""
    try:
        return Path(os.path.realpath(path))
    except ValueError as error:  # a null character in a name
        raise UsageError(f"{path}: {error}; give another path") from None


def _is_partition(folder: Path) -> bool:
    """Whether a folder is that of one partition."""
    return PARTITION.fullmatch(folder.name) is not None and any(folder.glob("*.log"))


def _add(found: Found, broker: str, folder: Path, only: Sequence[str]) -> int:
    """Add the copies in a folder; return their number. Raises FileError if the folder itself cannot be read."""
    names = names_in(folder)
    alone = _real(folder)
    if _is_partition(alone) and not FILES_OF_A_LOG_FOLDER & set(names):
        root, partitions = alone.parent, [(alone.name, folder)]
    else:
        root, partitions = folder, [(name, folder / name) for name in names if PARTITION.fullmatch(name)]
        partitions = [(name, path) for name, path in partitions if path.is_dir() or path.is_symlink()]
        moving = sum(ON_THE_WAY.fullmatch(name) is not None for name in names)
        if moving:
            found.remarks.append(f"{broker}: {moving} folders of partitions that are being deleted or moved: not read")
    tables = {name: _table(found, root / name) for name in (HIGH_WATERMARKS, RECOVERY_POINTS, LOG_STARTS, CLEANED)}
    there = {name for name, _ in partitions}
    absent = sorted(set(tables[HIGH_WATERMARKS]) - there)
    if absent and root == folder:
        listed = ", ".join(absent[:3]) + (f" and {len(absent) - 3} more" if len(absent) > 3 else "")
        found.remarks.append(f"{broker}: {HIGH_WATERMARKS} lists {listed}, of which there is no folder here")
    for name, path in partitions:
        if only and name not in only:
            continue
        try:
            copy = _copy(found, broker, name, path, tables)
        except FileError as error:
            found.unreadable.append(str(error))
            continue
        others = found.copies.setdefault(name, [])
        if any(_real(path) == _real(other.path) for other in others):
            raise UsageError(f"{path} is given twice; give each broker's folder once")
        others.append(copy)
    return len(partitions)


def _table(found: Found, path: Path) -> Mapping[str, int]:
    """The entries of a checkpoint; none if it is absent or cannot be read."""
    return _read(found, offsets_of, path) or {}


def _read(found: Found, read: Callable[[Path], Value], path: Path) -> Value | None:
    """The content of a file; None if it is absent or, with a line about it, if it cannot be read."""
    try:
        return read(path) if os.path.lexists(path) else None
    except FileError as error:
        found.unreadable.append(str(error))
        return None


def _copy(found: Found, broker: str, partition: str, path: Path, tables: Mapping[str, Mapping[str, int]]) -> Copy:
    if path.is_symlink():
        raise FileError(path, "a symbolic link; put the folder itself there")
    names = names_in(path)
    segments = tuple(_numbered(SEGMENT, path, names))
    if not segments:
        raise FileError(path, "no segment (*.log) in it; copy the folder again")
    is_compacted = partition.rpartition("-")[0] in ALWAYS_COMPACTED
    return Copy(
        broker=broker,
        partition=partition,
        path=path,
        segments=segments,
        snapshots=tuple(_numbered(SNAPSHOT, path, names)),
        high_watermark=tables[HIGH_WATERMARKS].get(partition),
        recovery_point=tables[RECOVERY_POINTS].get(partition),
        log_start=tables[LOG_STARTS].get(partition),
        cleaned=1 << 63 if is_compacted else tables[CLEANED].get(partition, 0),
        leader_epochs=_read(found, leader_epochs_of, path / EPOCHS),
        topic_id=_read(found, topic_id_of, path / METADATA),
    )


def _numbered(pattern: re.Pattern[str], folder: Path, names: Sequence[str]) -> Iterator[tuple[int, Path]]:
    for name in names:
        match = pattern.fullmatch(name)
        if match:
            if int(match[1]) >= 1 << 63:
                raise FileError(folder / name, f"an offset is less than {1 << 63}; copy the folder again")
            yield int(match[1]), folder / name
