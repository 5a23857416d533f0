"""Record batches, in the format of 0.11 and later.

As in Kafka, a broker keeps the bytes of a producer's batch, and writes only the base offset and the leader epoch into
them. In the cluster, the first record of the batch has these bytes as its payload, one character for each byte. Any
other payload is a text, the value of a record without a key. Compressed batches are refused.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from crc32c import crc32c
from kio.records.schema import NewRecordBatch
from kio.records.schema import Record as KafkaRecord
from kio.records.writers import write_new_batch
from kio.schema.errors import ErrorCode
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

from isrcheck.conformance.cluster.network.records import Control, ProducerStamp, Record
from isrcheck.conformance.kafka_format.record_batches import (
    CONTROL,
    CRC_FROM,
    HEADER,
    MAGIC,
    MAGIC_AT,
    TRANSACTIONAL,
    BatchHeader,
    MalformedRecordsError,
    records_of,
)

START = struct.Struct(">qii")
"""Offset, length of the rest, leader epoch: neither the offset nor the leader epoch is covered by the checksum."""

CONTROL_TYPES = {Control.ABORT: 0, Control.COMMIT: 1}
BYTES = "latin-1"
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
"""The time of records that no client sent."""


class BatchError(Exception):
    """A batch that the server refuses, with the error code for its producer."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


@dataclass(frozen=True)
class Batch:
    """A producer's batch: its bytes as text, how many records it has, its producer id, epoch and sequence number
    (`stamp`), and the values of its records as text."""

    payload: str
    records: int
    stamp: ProducerStamp | None
    values: tuple[str, ...]


def batch_of(data: bytes | None) -> Batch:
    """Read the only batch of a produce request. Raises BatchError."""
    if data is None or len(data) < HEADER.size or data[MAGIC_AT] != MAGIC:
        raise BatchError(ErrorCode.corrupt_message)
    header = BatchHeader.of(data)
    if header.codec != "none":
        raise BatchError(ErrorCode.unsupported_compression_type)
    batch = data[: header.size]
    try:
        records = tuple(records_of(header, batch[HEADER.size :], len(batch)))
    except MalformedRecordsError:
        raise BatchError(ErrorCode.corrupt_message) from None
    if not HEADER.size <= header.size == len(batch) or crc32c(batch[CRC_FROM:]) != header.crc:
        raise BatchError(ErrorCode.corrupt_message)
    count = len(records)
    if len(data) != header.size or header.is_control or not count or header.last_offset_delta != count - 1:
        raise BatchError(ErrorCode.invalid_record)
    stamp = None
    if header.producer_id >= 0:
        stamp = ProducerStamp(header.producer_id, header.producer_epoch, header.base_sequence, header.is_transactional)
    values = tuple((record.value or b"").decode(errors="replace") for record in records)
    return Batch(data.decode(BYTES), count, stamp, values)


def bytes_of(records: Sequence[Record], most: int) -> bytes:
    """The bytes of the batches with these records: the first batch, and further batches up to `most` bytes in all.

    A batch whose last records were truncated is left out: Kafka would have removed the whole batch (records.py).
    """
    data = b""
    for batch in _batches(records):
        if data and len(data) + len(batch) > most:
            break
        data += batch
    return data


def _batches(records: Sequence[Record]) -> Iterator[bytes]:
    at = 0
    while at < len(records):
        first = records[at]
        end = at + 1
        while end < len(records) and records[end].position:
            end += 1
        if first.position == 0:
            data = _bytes_of_batch(first, end - at)
            if data is not None:
                yield data
        at = end


def _bytes_of_batch(first: Record, count: int) -> bytes | None:
    """The bytes of the batch that begins with the record `first`; None if the log no longer holds all records of this
    batch. `count`: how many of the batch's records the log holds."""
    payload = first.payload.encode(BYTES, "replace")
    if first.control is None and len(payload) >= HEADER.size and payload[MAGIC_AT] == MAGIC:
        (_, length, _), (last,) = START.unpack_from(payload), struct.unpack_from(">i", payload, 23)
        return START.pack(first.offset, length, first.leader_epoch) + payload[START.size :] if last < count else None
    return _new_batch(first)


def _new_batch(record: Record) -> bytes:
    """The bytes of a new batch for a marker, or for a record whose payload is a text."""
    stamp = record.stamp
    attributes = TRANSACTIONAL if stamp and stamp.is_transactional else 0
    key, value = None, record.payload.encode()
    if record.control is not None:
        attributes |= CONTROL
        key, value = struct.pack(">hh", 0, CONTROL_TYPES[record.control]), struct.pack(">hi", 0, 0)
    kafka_record = KafkaRecord(
        attributes=i8(0),
        timestamp=TZAwareMicros.parse(LONG_AGO),
        offset=i64(record.offset),
        key=key,
        value=value,
        headers=(),
    )
    batch = NewRecordBatch(
        producer_id=i64(stamp.producer_id if stamp else -1),
        producer_epoch=i16(stamp.producer_epoch if stamp else -1),
        partition_leader_epoch=i32(record.leader_epoch),
        base_sequence=i32(stamp.sequence if stamp else -1),
        records=(kafka_record,),
        attributes=i16(attributes),
    )
    with io.BytesIO() as buffer:
        write_new_batch(buffer, batch)
        return buffer.getvalue()
