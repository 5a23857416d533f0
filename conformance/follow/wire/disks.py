"""Reads what the brokers left on their disks: the folders broker<i>/ beside a wire recording.

In:  a folder with broker<i>/TOPIC-0/*.log (segments, format of 0.11 and later) and checkpoints.
Out: a `DiskContent` for each broker. Every defect is one UsageError with the file, and the byte for a segment.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from isrcheck.conformance.follow.format.ndjson import content_of
from isrcheck.conformance.follow.wire.sessions import spelled
from isrcheck.conformance.kafka_format.record_batches import (
    HEADER,
    MAGIC,
    CompressionError,
    Header,
    MalformedRecordsError,
    records_of,
)
from isrcheck.models.messages.errors import UsageError

MOST_BYTES = 16 << 20
"""The largest file that is read, and the most bytes into which a batch is decompressed."""

MOST_BROKERS = 100


@dataclass(frozen=True)
class DiskContent:
    """A broker's log, as values and leader epochs from the first offset on; and its checkpointed high watermark."""

    broker: int
    log: tuple[tuple[str, int], ...]
    checkpoint: int | None


def disks_in(
    folder: Path, topic: str | None, index: int = 0, first: int = 0, topic_id: str | None = None
) -> Iterator[DiskContent]:
    """The contents of all broker<i>/ in a folder, by number, without the records before the first offset.

    A topic whose name is not known is found by its id. Raises UsageError.
    """
    found = {}
    try:
        for path in folder.iterdir():
            named = re.fullmatch(r"broker([0-9]{1,9})", path.name)
            if named and path.is_dir():
                found[int(named[1])] = path
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; give a folder that can be read") from None
    if len(found) > MOST_BROKERS:
        raise UsageError(f"{folder}: more than {MOST_BROKERS} folders of brokers; leave out those without a replica")
    for broker, path in sorted(found.items()):
        name = _name_in(path, index, topic_id) if topic is None else topic
        partition = path / f"{name}-{index}"
        if name is not None and partition.is_dir():
            segments = sorted(partition.glob("*.log"))
            if not segments:
                raise UsageError(f"{partition}: no segment (*.log) in it; copy the folder again, or leave it out")
            log = tuple(record for segment in segments for record in _records(segment, _read(segment)))
            yield DiskContent(broker, _checked(partition, log, first), _checkpoint(path, name, index))


def _name_in(broker: Path, index: int, topic_id: str | None) -> str | None:
    """The name of the topic with this id by the `partition.metadata` of a broker's partitions; None: it has none."""
    try:
        spelled_id = base64.urlsafe_b64encode(uuid.UUID(topic_id).bytes).decode().rstrip("=") if topic_id else None
    except ValueError:
        return None
    for path in sorted(broker.glob(f"*-{index}/partition.metadata")):
        if spelled_id is not None and f"topic_id: {spelled_id}" in _read(path).decode(errors="replace").splitlines():
            return path.parent.name.removesuffix(f"-{index}")
    return None


def _checked(partition: Path, log: tuple[tuple[int, str, int], ...], first: int) -> tuple[tuple[str, int], ...]:
    begins = log[0][0] if log else first
    for position, (offset, _, _) in enumerate(log, min(begins, first)):
        if offset != position:
            what = f"the record at position {position - min(begins, first)} has offset {offset}"
            where = "at 0" if not first else f"at {first} or before"
            raise UsageError(f"{partition}: {what}; only logs that begin {where} and have no gaps can be followed")
    return tuple((value, epoch) for offset, value, epoch in log if offset >= first)


def _read(path: Path) -> bytes:
    content = content_of(path, MOST_BYTES)
    if content is None:
        raise UsageError(f"{path}: larger than {MOST_BYTES >> 20} MiB; give a shorter recording")
    return content


def _records(path: Path, data: bytes) -> Iterator[tuple[int, str, int]]:
    """Offset, value and leader epoch of each record in a segment; a batch that was cut at the end is not read."""
    at = 0
    while len(data) - at >= HEADER.size:
        header = Header.of(data, at)
        if not header.base_offset and not header.length:  # preallocated space
            return
        is_dense = 0 <= header.record_count == header.last_offset_delta + 1
        if header.magic != MAGIC or header.size < HEADER.size or not is_dense or header.base_offset < 0:
            raise UsageError(f"{path}: byte {at} begins no record batch of format 2; give a segment of 0.11 or later")
        if at + header.size > len(data):
            return
        try:
            for record in records_of(header, data[at + HEADER.size : at + header.size], MOST_BYTES):
                text = None if record.value is None else record.value.decode(errors="replace")
                yield record.offset, spelled(record.offset, text, is_control=header.is_control), header.leader_epoch
        except CompressionError as error:
            raise UsageError(f"{path}: the batch at byte {at} is {error}; record with gzip, lz4 or none") from None
        except MalformedRecordsError:
            raise UsageError(f"{path}: a record of the batch at byte {at} is damaged; copy the segment again") from None
        at += header.size


def _checkpoint(broker: Path, topic: str, index: int) -> int | None:
    """The high watermark in a broker's checkpoint, or None without an entry. Raises UsageError."""
    path = broker / "replication-offset-checkpoint"
    if not path.is_file():
        return None
    for number, line in enumerate(_read(path).decode(errors="replace").splitlines(), 1):
        words = line.split(" ")
        if number > 2 and words[:2] == [topic, str(index)]:
            if len(words) == 3 and words[2].isascii() and words[2].isdecimal() and len(words[2]) < 10:
                return int(words[2])
            raise UsageError(f"{path}:{number}: no offset in {line[:60]!r}; copy the file again")
    return None
