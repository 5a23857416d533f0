"""Finds the copies of partitions in log folders: the files of each copy, and its log, which is read batch by batch.

Reading ends before the first batch that cannot be read. A loss of power can leave such a batch at the very end of a log
if the batch was not flushed yet (`torn`); anywhere else an unreadable batch is damage.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from isrcheck.conformance.audit.findings import Finding, Grade
from isrcheck.conformance.kafka_format.log_folder import (
    SEGMENT,
    FileError,
    leader_epochs_of,
    names_in,
    offsets_of,
    opened,
    topic_id_of,
)
from isrcheck.conformance.kafka_format.record_batches import (
    READ,
    Batch,
    BatchError,
    CompressionError,
    LimitError,
    MalformedRecordsError,
    OldFormatError,
    TooLargeError,
    batches_of,
    records_of,
)
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

SNAPSHOT = re.compile(r"([0-9]{20})\.snapshot", re.ASCII)
ALWAYS_COMPACTED = {"__consumer_offsets", "__transaction_state", "__share_group_state"}
FILES_OF_A_LOG_FOLDER = {HIGH_WATERMARKS, RECOVERY_POINTS, LOG_STARTS, CLEANED, "meta.properties"}


@dataclass(frozen=True)
class Copy:
    """A broker's copy of a partition: its files, and the values of its checkpoints; None for a missing value."""

    broker: str
    partition: str
    """TOPIC-N"""
    path: Path
    segments: tuple[tuple[int, Path], ...]
    """The offset that names the file, and its path, in the order of the offsets."""
    snapshots: tuple[tuple[int, Path], ...]
    """The offset that names each snapshot of producers, and its path, in the order of the offsets."""
    high_watermark: int | None
    recovery_point: int | None
    log_start: int | None
    cleaned: int
    """The offset below which compaction may have removed records."""
    leader_epochs: tuple[tuple[int, int], ...] | None
    """The entries of leader-epoch-checkpoint: (leader epoch, start offset)."""
    topic_id: str | None


@dataclass
class Found:
    """What log folders hold: the copies of each partition, lines about what cannot be read, and remarks."""

    brokers: list[str] = field(default_factory=list)
    folders: dict[str, Path] = field(default_factory=dict)
    """The log folder of each broker, in which its checkpoints and `meta.properties` are."""
    copies: dict[str, list[Copy]] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def copies_in(folders: Sequence[Path], only: Sequence[str] = ()) -> Found:
    """The copies of all partitions in these folders; with `only`, of the named partitions. Raises UsageError."""
    folder_content = Found()
    for broker, folder in zip(_labels(folders), folders, strict=True):
        folder_content.brokers.append(broker)
        try:
            count = _add(folder_content, broker, folder, only)
        except FileError as error:
            folder_content.unreadable.append(str(error))
            continue
        if not count and not only:
            cure = "give the log folder of a broker (log.dirs), or the folder of a partition"
            folder_content.unreadable.append(f"{folder}: no folder of a partition (TOPIC-N) in it; {cure}")
    for partition in only:
        if partition not in folder_content.copies and not folder_content.unreadable:
            raise UsageError(f"--partition {partition}: no log folder has this partition; name it as TOPIC-N")
    return folder_content


def _labels(folders: Sequence[Path]) -> list[str]:
    """A name for each folder: the last part of its path, or the path if that part is not unique. Raises UsageError."""
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
    return PARTITION.fullmatch(folder.name) is not None and any(folder.glob("*.log"))


def _add(content: Found, broker: str, folder: Path, only: Sequence[str]) -> int:
    """Add the copies in `folder` to `content`; return the number of partitions in `folder`, including those not in
    `only`. Raises FileError if `folder` itself cannot be read."""
    names = names_in(folder)
    alone = _real(folder)
    if _is_partition(alone) and not FILES_OF_A_LOG_FOLDER & set(names):
        root, partitions = alone.parent, [(alone.name, folder)]
    else:
        root, partitions = folder, [(name, folder / name) for name in names if PARTITION.fullmatch(name)]
        partitions = [(name, path) for name, path in partitions if path.is_dir() or path.is_symlink()]
        moving = sum(ON_THE_WAY.fullmatch(name) is not None for name in names)
        if moving:
            content.remarks.append(
                f"{broker}: {moving} folders of partitions that are being deleted or moved: not read"
            )
    content.folders[broker] = root
    tables = {
        name: _read(content, offsets_of, root / name) or {}
        for name in (HIGH_WATERMARKS, RECOVERY_POINTS, LOG_STARTS, CLEANED)
    }
    partition_names = {name for name, _ in partitions}
    absent = sorted(set(tables[HIGH_WATERMARKS]) - partition_names)
    if absent and root == folder:
        listed = ", ".join(absent[:3]) + (f" and {len(absent) - 3} more" if len(absent) > 3 else "")
        content.remarks.append(f"{broker}: {HIGH_WATERMARKS} lists {listed}, of which there is no folder here")
    for name, path in partitions:
        if only and name not in only:
            continue
        try:
            copy = _copy(content, broker, name, path, tables)
        except FileError as error:
            content.unreadable.append(str(error))
            continue
        others = content.copies.setdefault(name, [])
        if any(_real(path) == _real(other.path) for other in others):
            raise UsageError(f"{path} is given twice; give each broker's folder once")
        others.append(copy)
    return len(partitions)


def _read(content: Found, read: Callable[[Path], Value], path: Path) -> Value | None:
    """The content of a file; None if the file is absent or cannot be read. If it cannot be read, a line about this is
    added to `content.unreadable`."""
    try:
        return read(path) if os.path.lexists(path) else None
    except FileError as error:
        content.unreadable.append(str(error))
        return None


def _copy(content: Found, broker: str, partition: str, path: Path, tables: Mapping[str, Mapping[str, int]]) -> Copy:
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
        leader_epochs=_read(content, leader_epochs_of, path / EPOCHS),
        topic_id=_read(content, topic_id_of, path / METADATA),
    )


def _numbered(pattern: re.Pattern[str], folder: Path, names: Sequence[str]) -> Iterator[tuple[int, Path]]:
    for name in names:
        match = pattern.fullmatch(name)
        if match:
            if int(match[1]) >= 1 << 63:
                raise FileError(folder / name, f"its name is no offset below {1 << 63}; copy the folder again")
            yield int(match[1]), folder / name


MOST_BYTES_OF_RECORDS = 64 << 20
"""The most bytes into which a batch is decompressed."""

MOST_EPOCHS = 100_000
"""The most changes of the leader epoch of a log."""

CURE = "what follows is not read; copy the file again, or let this broker replicate the partition anew"


@dataclass(frozen=True)
class EpochRun:
    """Successive batches of a log that have the same leader epoch."""

    epoch: int
    first: int
    last: int


class CopyLog:
    """The log of a copy. `batches` can be read once; `end` and the counts are final when all batches are read.

    `start` is the log start offset; `end` is the log end offset, or the first offset that was not read if `is_whole` is
    false. The functions in `heard` are called with each batch before `batches` yields it.
    """

    def __init__(self, copy: Copy, most: int) -> None:
        self.copy = copy
        self.broker = copy.broker
        self.start = max(copy.log_start or 0, copy.segments[0][0])
        self.end = copy.segments[0][0]
        self.last_epoch: int | None = None
        self.runs: list[EpochRun] = []
        self.batches_read = self.records_read = self.bytes_read = self.segments_read = 0
        self.compressed: Counter[str] = Counter()
        self.torn: str | None = None
        self.is_whole = True
        self.findings: list[Finding] = []
        self.heard: list[Callable[[Batch], None]] = []
        self._most = most
        self._went_back = False

    def batches(self) -> Iterator[Batch]:
        """The batches that end at or after the log start offset, in the order of their offsets."""
        reached = self.copy.segments[0][0]
        try:
            for place, (base, path) in enumerate(self.copy.segments):
                if base < reached:
                    statement = f"it is named after offset {base}, and the segment before it ends at {reached}; {CURE}"
                    raise FileError(path, statement)
                reached = base
                for batch in self._in_segment(path, place == len(self.copy.segments) - 1, base):
                    begin = batch.header.base_offset
                    if begin < reached:
                        statement = f"the batch begins at offset {begin}, and offset {reached} is due; {CURE}"
                        raise FileError(path, statement, batch.byte)
                    reached = batch.header.last_offset + 1
                    self._take(path, batch)
                    if batch.header.last_offset >= self.start:
                        yield batch
                self.segments_read += 1
                self.end = max(self.end, reached)
        except FileError as error:
            self._stop(Grade.DAMAGED, "damage", str(error))
        except _LimitReachedError:
            pass

    def _in_segment(self, path: Path, is_last: bool, base: int) -> Iterator[Batch]:
        """Yield the batches of a segment with the base offset `base`. In the last segment of a log (`is_last`), stop
        before a batch at the end that a loss of power has torn. Raises FileError."""
        with opened(path) as (file, size):
            try:
                for batch in batches_of(file, size, self._most):
                    yield batch
                    base = batch.header.last_offset + 1
            except LimitError as error:
                rest = f"{size - error.byte} bytes from offset {base} on are not checked; raise --most-bytes"
                self._stop(Grade.UNDECIDED, "limit", f"{path}: byte {error.byte}: {error.what}; {rest}")
                raise _LimitReachedError from None
            except OldFormatError as error:
                raise FileError(path, f"{error.what}; nothing from offset {base} on is checked", error.byte) from None
            except BatchError as error:
                flushed = (self.copy.recovery_point or 0) > base
                if flushed or not (is_last and error.reaches_end):
                    at = f"offset {base}" + (", below the recovery point" if flushed else "")
                    raise FileError(path, f"{error.what} (at {at}); {CURE}", error.byte) from None
                self.torn = f"{path}: byte {error.byte}: {error.what}"
                why = f"the log is torn at its end, as a loss of power leaves it; Kafka cuts it at offset {base}"
                statement = f"{self.torn}: {why}"
                self.findings.append(Finding(Grade.NOTE, "torn", statement, (self.broker,), base))

    def _take(self, path: Path, batch: Batch) -> None:
        """Count a batch, and check that its leader epoch is not lower than that of the batch before."""
        self.batches_read += 1
        self.records_read += batch.header.record_count
        self.end = max(self.end, batch.header.last_offset + 1)
        if batch.header.codec != "none":
            self.compressed[batch.header.codec] += 1
        epoch, begin = batch.header.leader_epoch, batch.header.base_offset
        if self.last_epoch is not None and epoch < self.last_epoch and not self._went_back:
            self._went_back = True  # reported once: in a file that is not a log, every batch may do it
            statement = (
                f"{self.broker}: leader epochs go back at offset {begin}, from {self.last_epoch} to {epoch}"
                f" ({path}: byte {batch.byte})"
            )
            self.findings.append(Finding(Grade.BROKEN, "epochs", statement, (self.broker,), batch.header.base_offset))
        self.last_epoch = epoch
        if self.runs and self.runs[-1].epoch == epoch:
            self.runs[-1] = EpochRun(epoch, self.runs[-1].first, batch.header.last_offset)
        elif len(self.runs) == MOST_EPOCHS:
            raise FileError(path, f"the log has more than {MOST_EPOCHS} changes of the leader epoch", batch.byte)
        else:
            self.runs.append(EpochRun(epoch, batch.header.base_offset, batch.header.last_offset))
        for hear in self.heard:
            hear(batch)

    def _stop(self, grade: Grade, check: str, statement: str) -> None:
        self.is_whole = False
        self.findings.append(Finding(grade, check, statement, (self.broker,), self.end))


class _LimitReachedError(Exception):
    """Raised if the reading of a copy ends at the limit of --most-bytes."""


class UnreadRecordsError(Exception):
    """The records of a batch are not read, because of its compression; the message says why."""


class CopiedRecord(NamedTuple):
    """A record of a copy: its offset, its value (None: a tombstone), a digest of its timestamp, key, value, headers."""

    offset: int
    value: bytes | None
    digest: bytes


def unread(batch: Batch) -> str | None:
    """Why the compression of a batch makes its records unreadable; None if the records can be read."""
    codec = batch.header.codec
    return None if codec in READ else f"compressed with {codec}, of which only the header is read"


def records_in(batch: Batch) -> Iterator[CopiedRecord]:
    """The records of a batch in the order of their offsets. Raises UnreadRecordsError, or BatchError."""
    why = unread(batch)
    if why is not None:
        raise UnreadRecordsError(why)
    try:
        for offset, _, value, timestamp_delta, content in records_of(batch.header, batch.body, MOST_BYTES_OF_RECORDS):
            # The cleaner may have rewritten the batch with another base timestamp.
            timestamp = (batch.header.base_timestamp + timestamp_delta).to_bytes(16, "big", signed=True)
            yield CopiedRecord(offset, value, hashlib.blake2b(timestamp + content, digest_size=16).digest())
    except TooLargeError:
        raise UnreadRecordsError(f"the batch has more than {MOST_BYTES_OF_RECORDS} bytes uncompressed") from None
    except (CompressionError, MalformedRecordsError):
        raise BatchError(batch.byte, "the checksum is right, but the records cannot be read") from None
