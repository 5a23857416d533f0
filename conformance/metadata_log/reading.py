"""Finds and reads the files of a metadata log: segments, snapshots, and recordings of the wire.

Folders are copies of one metadata log; the records of all copies come merged, in the order of their offsets. A file
that is damaged is read up to the damage; a record that cannot be read is left out. A complaint about either names the
file and the byte, and the rest is still read: what one copy lacks, another may have.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from isrcheck.checker.cluster.live.cursor import MalformedError
from isrcheck.conformance.follow.format.ndjson import objects_of
from isrcheck.conformance.kafka_format.log_folder import SEGMENT, FileError, names_in, opened
from isrcheck.conformance.kafka_format.metadata_records import record_of
from isrcheck.conformance.kafka_format.record_batches import (
    HEADER,
    MAGIC,
    MAGIC_AT,
    Batch,
    BatchError,
    CompressionError,
    MalformedRecordsError,
    batches_of,
    records_of,
)
from isrcheck.conformance.metadata_log.history import History, Logged, Snapshot
from isrcheck.models.messages import UsageError

FOLDER = "__cluster_metadata-0"
METADATA_TOPIC = "00000000-0000-0000-0000-000000000001"
"""The topic id of the metadata log."""

WIRE = "wire.ndjson"
SNAPSHOT = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint", re.ASCII)
TEXT = re.compile(r"(?!kafka-request|log-cleaner|kafka-authorizer).*\.log(\.[0-9-]+)?", re.ASCII)
"""The names of text logs in a folder: server.log, state-change.log, controller.log, and those that were rolled over."""

MOST_BYTES = 1 << 31
"""The most bytes that are read of a segment, or of a snapshot: Kafka's segments have less."""

MOST_DEFECTS = 5
"""The most complaints about single records of a file."""

CURE = "copy it again"

Item = Logged | Snapshot
"""What the files of a metadata log have: records, and snapshots of the state at an offset."""


@dataclass
class Files:
    """The files that were found: the segments and recordings of each copy of the metadata log, its snapshots, and text
    logs; and lines about what cannot be read."""

    copies: list[list[Path]] = field(default_factory=list)
    snapshots: list[Path] = field(default_factory=list)
    texts: list[Path] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    @property
    def number(self) -> int:
        """The number of files."""
        return sum(map(len, self.copies)) + len(self.snapshots) + len(self.texts)


def files_in(paths: Sequence[Path]) -> Files:
    """The files in folders, and the files that are named; the content of a file decides what it is."""
    files = Files()
    for path in paths:
        try:
            if path.is_dir():
                _add_folder(files, path)
            else:
                _add_file(files, path)
        except FileError as error:
            files.unreadable.append(str(error))
    return files


def _add_folder(files: Files, folder: Path) -> None:
    names = names_in(folder)
    if FOLDER in names:
        _add_folder(files, folder / FOLDER)
    segments = [folder / name for name in names if SEGMENT.fullmatch(name)]
    snapshots = [folder / name for name in names if SNAPSHOT.fullmatch(name)]
    texts = [folder / name for name in names if TEXT.fullmatch(name) and not SEGMENT.fullmatch(name)]
    recordings = [folder / WIRE] if WIRE in names else []
    if not (segments or snapshots or texts or recordings or FOLDER in names):
        raise FileError(
            folder, f"no metadata log in it; give the folder {FOLDER} (metadata.log.dir), or the folder of server.log"
        )
    files.copies += [copy for copy in (segments, recordings) if copy]
    files.snapshots += snapshots
    files.texts += texts


def _add_file(files: Files, path: Path) -> None:
    with opened(path) as (file, _):
        start = file.read(HEADER.size)
    if SNAPSHOT.fullmatch(path.name):
        files.snapshots.append(path)
    elif path.suffix == ".checkpoint":
        raise FileError(path, "a snapshot is named OFFSET-EPOCH.checkpoint, with 20 and 10 digits; give it its name")
    elif path.name == WIRE or SEGMENT.fullmatch(path.name) or (len(start) > MAGIC_AT and start[MAGIC_AT] == MAGIC):
        files.copies.append([path])
    else:
        files.texts.append(path)


def items_of(files: Files, complain: Callable[[str], object]) -> Iterator[Item]:
    """The records and snapshots of all copies in the order of their offsets, a snapshot before the record at its
    offset, and newer epochs first. `complain` is called with a line about each thing that cannot be read."""
    logs: list[Iterable[Item]] = [_log(paths, complain) for paths in files.copies]
    snapshots = sorted((item for path in files.snapshots for item in _snapshot(path, complain)), key=_order)
    yield from heapq.merge(*logs, snapshots, key=_order)


def history_of(files: Files, is_wanted: Callable[[str, int], bool], complain: Callable[[str], object]) -> History:
    """The history that the records and snapshots of all copies tell of the wanted partitions, not yet closed."""
    history = History(is_wanted)
    for item in items_of(files, complain):
        if isinstance(item, Snapshot):
            history.load(item)
        else:
            history.take(item)
    return history


def _order(item: Item) -> tuple[int, bool, int]:
    return item.offset, isinstance(item, Logged), -item.epoch


def _log(paths: Sequence[Path], complain: Callable[[str], object]) -> Iterator[Logged]:
    for path in paths:
        yield from _recorded(path) if path.name == WIRE else _records(path, complain)


def _snapshot(path: Path, complain: Callable[[str], object]) -> Iterator[Snapshot]:
    """The snapshot in a file; none, if a part of it cannot be read, because what it lacks would count as deleted."""
    match = SNAPSHOT.fullmatch(path.name)
    assert match, path
    defects: list[str] = []
    records = tuple(_records(path, defects.append))
    if not defects and (not records or records[-1].record is not None):
        # A snapshot ends with a control record, its footer.
        defects.append(f"{path}: the snapshot is cut off: it has no footer; {CURE}")
    for defect in defects:
        complain(defect)
    if not defects:
        yield Snapshot(int(match[1]), int(match[2]), str(path), records)


def _records(path: Path, complain: Callable[[str], object]) -> Iterator[Logged]:
    """The records of a segment or a snapshot, up to a batch that cannot be read."""
    defects = 0

    def tell(defect: str) -> None:
        nonlocal defects
        defects += 1
        if defects <= MOST_DEFECTS:
            complain(defect)

    try:
        with opened(path) as (file, size):
            for batch in batches_of(file, size, MOST_BYTES):
                yield from _batch(path, batch, tell)
        if defects > MOST_DEFECTS:
            complain(f"{path}: {defects - MOST_DEFECTS:,} more records that cannot be read")
    except FileError as error:
        complain(str(error))
    except BatchError as error:
        complain(f"{path}: byte {error.byte}: {error.what}; {CURE}")


def _batch(path: Path, batch: Batch, complain: Callable[[str], object]) -> Iterator[Logged]:
    header = batch.header
    try:
        for record in records_of(header, batch.body, MOST_BYTES):
            time = time_of(header.base_timestamp + record.timestamp_delta)
            value = record.value or b""
            try:
                told = None if header.is_control else record_of(value)
            except MalformedError as error:
                complain(f"{path}: byte {batch.byte}: the record at offset {record.offset}: {error}")
                continue
            yield Logged(record.offset, header.leader_epoch, time, str(path), told, value)
    except CompressionError as error:
        complain(f"{path}: byte {batch.byte}: {error}; Kafka does not compress its metadata log")
    except MalformedRecordsError:
        complain(f"{path}: byte {batch.byte}: the bytes of this batch are not records; {CURE}")


@lru_cache(maxsize=1024)
def time_of(milliseconds: int) -> str:
    """A time of Kafka in UTC; `?` if the number is out of range."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return "?"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03}"


def _recorded(path: Path) -> Iterator[Logged]:
    """The records that brokers and controllers fetched from the metadata log in a recording of the wire, in the order
    of their offsets, each once. Their times count from the start of the recording. Raises UsageError."""
    by_offset: dict[tuple[int, int], Logged] = {}
    for number, keys in objects_of(path):
        body = keys.get("body")
        if keys.get("kind") == "response" and keys.get("api") == "Fetch" and isinstance(body, dict):
            try:
                for batch in _fetched(body):
                    for logged in _of_batch(f"{path}:{number}", keys.get("t"), batch):
                        by_offset.setdefault((logged.offset, -logged.epoch), logged)
            except (AttributeError, KeyError, TypeError, ValueError, MalformedError) as error:
                raise UsageError(f"{path}:{number}: not records of the metadata log: {error}") from None
    yield from (by_offset[key] for key in sorted(by_offset))


def _fetched(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The batches of the metadata log in the body of a Fetch response."""
    for topic in body.get("responses") or ():
        if topic.get("topic_id") == METADATA_TOPIC:
            for partition in topic.get("partitions") or ():
                yield from partition.get("records") or ()


def _of_batch(source: str, t: object, batch: dict[str, Any]) -> Iterator[Logged]:
    time = f"{t:.3f} s" if isinstance(t, (int, float)) else "?"
    for record in batch.get("records") or ():
        value = record["value"]
        content = bytes.fromhex(value["hex"]) if isinstance(value, dict) else (value or "").encode()
        told = None if batch["control"] else record_of(content)
        yield Logged(int(record["offset"]), int(batch["leader_epoch"]), time, source, told, content)
