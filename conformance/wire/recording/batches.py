"""Record batches as plain values, in the words of the recordings of Kafka 3.9.

In:  the bytes of a `records` field, which may be anything.
Out: a list of batches; what cannot be read is one entry with the reason and its size.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from isrcheck.conformance.compression import CompressionError, decompressed
from isrcheck.conformance.wire.format.reading import Cursor, MalformedError

START = struct.Struct(">qiib")
"""Base offset, length of the rest, leader epoch, magic."""

REST = struct.Struct(">IhiqqqhiI")
"""Checksum, attributes, last offset delta, two timestamps, producer id and epoch, base sequence, number of records."""

BEFORE_LENGTH = 12
MAGIC = 2
TRANSACTIONAL, CONTROL = 0x10, 0x20
MOST_VARLONG_BYTES = 10


def batches_of(data: bytes, cursor: Cursor) -> list[dict[str, Any]]:
    """The batches in these bytes. `cursor` counts the values. Raises MalformedError if they are too many."""
    return list(_batches(data, cursor))


def _batches(data: bytes, counter: Cursor) -> Iterator[dict[str, Any]]:
    at = 0
    while at < len(data):
        counter.count(1)
        left = len(data) - at
        if left < START.size:
            yield {"undecoded": "a batch that is cut off", "size": left}
            return
        base_offset, length, leader_epoch, magic = START.unpack_from(data, at)
        end = at + BEFORE_LENGTH + length
        if magic != MAGIC or length < START.size + REST.size - BEFORE_LENGTH:
            yield {"undecoded": f"no batch of magic {MAGIC}", "size": left}
            return
        if end > len(data):
            yield {"undecoded": "a batch that is cut off", "size": left}
            return
        yield _batch(base_offset, leader_epoch, data[at + START.size : end], counter)
        at = end


def _batch(base_offset: int, leader_epoch: int, data: bytes, counter: Cursor) -> dict[str, Any]:
    _, attributes, _, _, _, producer_id, producer_epoch, base_sequence, count = REST.unpack_from(data)
    found: dict[str, Any] = {
        "base_offset": base_offset,
        "leader_epoch": leader_epoch,
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
        "base_sequence": base_sequence,
        "transactional": bool(attributes & TRANSACTIONAL),
        "control": bool(attributes & CONTROL),
    }
    counter.count(count)
    try:
        cursor = Cursor(decompressed(attributes, data[REST.size :]))
        return {**found, "records": [_record(cursor, base_offset) for _ in range(count)]}
    except (CompressionError, MalformedError) as error:
        return {**found, "undecoded": str(error), "size": len(data)}


def _record(cursor: Cursor, base_offset: int) -> dict[str, Any]:
    inner = Cursor(cursor.take(_varlong(cursor)))
    inner.take(1)  # attributes
    _varlong(inner)  # timestamp
    offset = base_offset + _varlong(inner)
    key, value = (None if length < 0 else inner.take(length) for length in _lengths(inner))
    return {"offset": offset, "key": text_of(key), "value": text_of(value)}


def _lengths(cursor: Cursor) -> Iterator[int]:
    """The length of the key, and after it is taken that of the value."""
    yield _varlong(cursor)
    yield _varlong(cursor)


def text_of(data: bytes | None) -> Any:
    """Bytes as text if they are printable UTF-8, else as an object with hexadecimal digits."""
    if data is None:
        return None
    try:
        found = data.decode()
    except UnicodeDecodeError:
        return {"hex": data.hex()}
    return found if found.isprintable() else {"hex": data.hex()}


def _varlong(cursor: Cursor) -> int:
    """A signed integer of variable length, in zigzag."""
    found = 0
    for index in range(MOST_VARLONG_BYTES):
        (byte,) = cursor.take(1)
        found |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1)
    raise MalformedError(f"an integer of more than {MOST_VARLONG_BYTES} bytes")
