"""A broker's disk, which survives the end of the process; two implementations, in memory and in real files.

In:  records, truncations, checkpoints and flushes of the log.
Out: for the next process, `Stored`: the disk's content, which depends on how the last process ended. In a directory:
     segments, each named after its first offset, with one record and its checksum on each line; Kafka's checkpoint
     files with their own names and formats; and a snapshot of the state of producers, named after its offset.

A process crash keeps everything that was written (the page cache belongs to the operating system); a power loss keeps
flushed records; a disk loss keeps nothing. Checkpoint files, epoch entries and the snapshot of producers are forced to
disk when written; only the last snapshot is kept (Kafka also keeps some older snapshots). A truncation is final at once
(in Kafka a truncated tail can come back after a power loss).

In files, a truncated last line is ignored and later overwritten, as in Kafka's recovery after an unclean shutdown; any
other unreadable line is an error. Source: fact sheet, section 1.5; Kafka: LogSegment, CheckpointFile.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from isrcheck.conformance.cluster.configuration.settings import Start
from isrcheck.conformance.cluster.log.epoch_cache import EpochEntry
from isrcheck.conformance.cluster.log.producer_state import BatchMetadata, ProducerSnapshot
from isrcheck.conformance.cluster.network.records import Control, ProducerStamp, Record


class StorageError(Exception):
    """The disk cannot be written or read. The message is one line: the path, what is wrong, and what to do about it."""


@dataclass(frozen=True)
class Stored:
    """The content of a disk. `base_offset`: the offset of the first record or, in an empty log, of the next record."""

    base_offset: int = 0
    records: tuple[Record, ...] = ()
    log_start_offset: int = 0
    high_watermark: int = 0
    epoch_entries: tuple[EpochEntry, ...] = ()


class MemoryStorage:
    """A disk made of Python lists."""

    def __init__(self) -> None:
        self._base_offset = 0
        self._records: list[Record] = []
        self._epochs: tuple[EpochEntry, ...] = ()
        self._producers: ProducerSnapshot | None = None
        self.checkpointed_high_watermark = 0
        """The value in replication-offset-checkpoint; 0 before the first checkpoint."""
        self._log_start_offset = 0
        self.recovery_point = 0
        """The offset below which every record is flushed."""

    def append(self, record: Record) -> None:
        """Write one record at the end of the log."""
        self._records.append(record)

    def truncate(self, offset: int) -> None:
        """Remove every record at or above an offset."""
        del self._records[max(0, offset - self._base_offset) :]
        self.recovery_point = min(self.recovery_point, offset)

    def start_anew(self, offset: int) -> None:
        """Remove every record; the next record gets this offset."""
        self._records.clear()
        self._base_offset = self.recovery_point = offset

    def write_epochs(self, entries: Sequence[EpochEntry]) -> None:
        """Replace the content of leader-epoch-checkpoint with these entries."""
        self._epochs = tuple(entries)

    def write_producers(self, snapshot: ProducerSnapshot | None) -> None:
        """Replace the snapshot of the state of producers; None: remove it."""
        self._producers = snapshot

    def load_producers(self) -> ProducerSnapshot | None:
        """The snapshot of the state of producers; None without a snapshot."""
        return self._producers

    def checkpoint_high_watermark(self, offset: int) -> None:
        """Write this offset to replication-offset-checkpoint."""
        self.checkpointed_high_watermark = offset

    def checkpoint_log_start(self, offset: int) -> None:
        """Write this offset to log-start-offset-checkpoint."""
        self._log_start_offset = offset

    def flush(self) -> None:
        """Force every record to the disk."""
        self.recovery_point = self._base_offset + len(self._records)

    def lose_power(self, written: int = 0) -> None:
        """Lose every record that was not flushed, except those below `written`."""
        del self._records[max(self.recovery_point, written) - self._base_offset :]

    def lose_disk(self) -> None:
        """Empty the disk."""
        vars(self).update(vars(MemoryStorage()))  # an empty disk is a new one

    def load(self) -> Stored:
        """The current content of the disk."""
        start = max(self._base_offset, self._log_start_offset)
        return Stored(self._base_offset, tuple(self._records), start, self.checkpointed_high_watermark, self._epochs)


VERSION = "0"
TOPIC_PARTITION = "topic 0"
EPOCHS = "leader-epoch-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
SNAPSHOT = ".snapshot"


class FileStorage:
    """One partition in one directory. Every method raises `StorageError` if the disk fails."""

    def __init__(self, directory: Path, segment_records: int) -> None:
        """A new disk. Errors: `StorageError` if the directory cannot be created, or is not empty."""
        self._directory = directory
        self._segment_records = segment_records
        with _said_clearly(directory):
            directory.mkdir(parents=True, exist_ok=True)
            if any(directory.iterdir()):
                raise StorageError(f"{directory}: the directory is not empty; give an empty or new directory")
        self._segments: dict[int, list[int]] = {}  # by first offset: the length of each line
        self.start_anew(0)

    @property
    def checkpointed_high_watermark(self) -> int:
        """The value in replication-offset-checkpoint; 0 before the first checkpoint."""
        return self._read_offset(HIGH_WATERMARKS)

    @property
    def recovery_point(self) -> int:
        """The offset below which every record is flushed."""
        return self._read_offset(RECOVERY_POINTS)

    def append(self, record: Record) -> None:
        """Write one record at the end of the log, in a new segment if the last segment is full."""
        base = max(self._segments)
        if len(self._segments[base]) >= self._segment_records:
            base = record.offset
            self._segments[base] = []
        line = _line_of(record)
        with _said_clearly(self._segment(base)), opened(self._segment(base)) as file:
            if file.seek(0, os.SEEK_END) != sum(self._segments[base]):
                file.truncate(sum(self._segments[base]))  # the rest of a truncated line
                file.seek(0, os.SEEK_END)
            file.write(line)
        self._segments[base].append(len(line))

    def truncate(self, offset: int) -> None:
        """Remove every record at or above an offset; delete segments that become empty, except the first segment."""
        first = min(self._segments)
        for base in [each for each in self._segments if each >= offset and each != first]:
            with _said_clearly(self._segment(base)):
                self._segment(base).unlink()
            del self._segments[base]
        last = max(self._segments)
        del self._segments[last][max(0, offset - last) :]
        with _said_clearly(self._segment(last)), opened(self._segment(last)) as file:
            file.truncate(sum(self._segments[last]))
        if offset < self.recovery_point:
            self._write_offset(RECOVERY_POINTS, offset)

    def start_anew(self, offset: int) -> None:
        """Remove every record; the next record gets this offset."""
        for base in self._segments:
            with _said_clearly(self._segment(base)):
                self._segment(base).unlink()
        self._segments = {offset: []}
        with _said_clearly(self._segment(offset)):
            self._segment(offset).touch()
        self._write_offset(RECOVERY_POINTS, offset)

    def write_epochs(self, entries: Sequence[EpochEntry]) -> None:
        """Replace the content of leader-epoch-checkpoint with these entries."""
        self._write(EPOCHS, [f"{each.leader_epoch} {each.start_offset}" for each in entries])

    def write_producers(self, snapshot: ProducerSnapshot | None) -> None:
        """Replace the snapshot of the state of producers; None: remove it."""
        for path in self._directory.glob(f"*{SNAPSHOT}"):
            with _said_clearly(path):
                path.unlink()
        if snapshot is not None:
            lines = [
                f"{producer_id} {epoch} {batch.first_sequence} {batch.last_sequence} {batch.last_offset}"
                for producer_id, epoch, batch in snapshot.producers
            ]
            self._write(f"{snapshot.offset:020}{SNAPSHOT}", lines)

    def load_producers(self) -> ProducerSnapshot | None:
        """The snapshot of the state of producers; None without a snapshot."""
        for path in self._directory.glob(f"*{SNAPSHOT}"):
            rows = self._read(path.name, prefix="", columns=5)
            return ProducerSnapshot(
                int(path.stem), tuple((producer_id, at, BatchMetadata(*last)) for producer_id, at, *last in rows)
            )
        return None

    def checkpoint_high_watermark(self, offset: int) -> None:
        """Write this offset to replication-offset-checkpoint."""
        self._write_offset(HIGH_WATERMARKS, offset)

    def checkpoint_log_start(self, offset: int) -> None:
        """Write this offset to log-start-offset-checkpoint."""
        self._write_offset(LOG_STARTS, offset)

    def flush(self) -> None:
        """Force every segment to the disk, and record the recovery point."""
        for base in self._segments:
            with _said_clearly(self._segment(base)), opened(self._segment(base)) as file:
                os.fsync(file.fileno())
        last = max(self._segments)
        self._write_offset(RECOVERY_POINTS, last + len(self._segments[last]))

    def lose_power(self, written: int = 0) -> None:
        """Lose every record that was not flushed, except those below `written`."""
        self.load()
        self.truncate(max(self.recovery_point, written))

    def lose_disk(self) -> None:
        """Delete all files, and begin with an empty log."""
        for path in self._directory.iterdir():
            with _said_clearly(path):
                path.unlink()
        self._segments = {}
        self.start_anew(0)

    def load(self) -> Stored:
        """Return what is stored in the files, without changing the files."""
        paths = sorted(self._directory.glob("*.log"))
        if not paths:
            raise StorageError(f"{self._directory}: no segment in the directory; restore the files, or call lose_disk")
        records: list[Record] = []
        self._segments = {}
        base_offset = _base_of(paths[0])
        for path in paths:
            base = _base_of(path)
            if base != base_offset + len(records):
                raise StorageError(
                    f"{path}: the segment begins at offset {base}, not {base_offset + len(records)}; restore the files"
                )
            segment_records, self._segments[base] = _read_segment(path, base, is_last=path == paths[-1])
            records += segment_records
        entries = tuple(EpochEntry(*each) for each in self._read(EPOCHS, prefix="", columns=2))
        start = max(base_offset, self._read_offset(LOG_STARTS))
        return Stored(base_offset, tuple(records), start, self.checkpointed_high_watermark, entries)

    def _segment(self, base: int) -> Path:
        return self._directory / f"{base:020}.log"

    def _write_offset(self, name: str, offset: int) -> None:
        self._write(name, [f"{TOPIC_PARTITION} {offset}"])

    def _read_offset(self, name: str) -> int:
        rows = self._read(name, prefix=f"{TOPIC_PARTITION} ", columns=1)
        return rows[0][0] if rows else 0

    def _write(self, name: str, lines: Sequence[str]) -> None:
        """Write `lines` to a temporary file, force it to disk, and rename it to `name`. Kafka: CheckpointFile.write."""
        path = self._directory / name
        new = path.with_name(f"{name}.tmp")
        with _said_clearly(path):
            with new.open("w", encoding="utf-8") as file:
                file.write("\n".join([VERSION, str(len(lines)), *lines]) + "\n")
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)

    def _read(self, name: str, prefix: str, columns: int) -> list[tuple[int, ...]]:
        """Read a checkpoint file; return its entries, each as a tuple of `columns` numbers. The file has a version, the
        number of entries, and the entries; each entry begins with the text `prefix`. Kafka: CheckpointFile.read."""
        path = self._directory / name
        with _said_clearly(path):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else [VERSION, "0"]
        numbers = [each.removeprefix(prefix).split(" ") for each in lines[2:]]
        count = lines[1] if lines[1:] else "?"
        whole = lines[:1] == [VERSION] and count == str(len(numbers))
        if not whole or any(len(each) != columns or not all(map(str.isdecimal, each)) for each in numbers):
            raise StorageError(
                f"{path}: the file is damaged, or its format has another version; restore it, or call lose_disk"
            )
        return [tuple(map(int, each)) for each in numbers]


Storage = MemoryStorage | FileStorage
"""One partition on one disk."""


def lay_out(storage: Storage, start: Start, number: int, producer: int | None = None) -> None:
    """Write a broker's initial log and checkpoints. `producer`: the id of the idempotent producer of the records; None:
    the records come from a producer without idempotence."""
    end = start.log_end_offset_of(number)
    for offset, payload in enumerate(start.log[:end]):
        storage.append(Record(offset, 0, payload, None if producer is None else ProducerStamp(producer, 0, offset)))
    if end:
        storage.write_epochs([EpochEntry(0, 0)])
    storage.checkpoint_high_watermark(end)


def opened(segment: Path) -> BinaryIO:
    """Open a segment file for reading and writing; create it if it does not exist."""
    segment.touch()
    return segment.open("r+b")


@contextmanager
def _said_clearly(path: Path) -> Iterator[None]:
    """Convert an error of the operating system to a StorageError."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StorageError(f"{path}: no space left on the device; free some, or use another directory") from error
        raise StorageError(f"{path}: {error.strerror}; make the directory writable") from error


def _base_of(path: Path) -> int:
    if not path.stem.isdecimal():
        raise StorageError(f"{path}: the name of a segment has to be its first offset; remove this file")
    return int(path.stem)


def _line_of(record: Record) -> bytes:
    stamp = record.stamp
    by = [stamp.producer_id, stamp.producer_epoch, stamp.sequence, stamp.is_transactional] if stamp else None
    control = record.control.value if record.control else None
    values = [record.offset, record.leader_epoch, record.payload, by, control]
    values += [record.position, record.timestamp, record.coordinator_epoch]
    text = json.dumps(values, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _read_segment(path: Path, base: int, *, is_last: bool) -> tuple[list[Record], list[int]]:
    """The records of one segment, and the lengths of their lines; a truncated last line is ignored."""
    with _said_clearly(path):
        lines = path.read_bytes().splitlines(keepends=True)
    if lines and is_last and not lines[-1].endswith(b"\n"):
        lines.pop()
    records = [_record_of(line, path, base + index) for index, line in enumerate(lines)]
    return records, [len(line) for line in lines]


def _record_of(line: bytes, path: Path, offset: int) -> Record:
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        raise StorageError(f"{path}: the record at offset {offset} is damaged; restore the file, or call lose_disk")
    at, leader_epoch, payload, stamp, control, *rest = json.loads(text)
    if at != offset:
        raise StorageError(f"{path}: a record has offset {at}, not {offset}; restore the file, or call lose_disk")
    by = ProducerStamp(*stamp) if stamp else None
    return Record(at, leader_epoch, payload, by, Control(control) if control else None, *rest)
