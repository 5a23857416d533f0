"""Record batches as plain values, in the words of the recordings of Kafka 3.9.

In:  the bytes of a `records` field, which may be anything.
Out: a list of batches; what cannot be read is one entry with the reason and its size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isrcheck.conformance.kafka_format.record_batches import (
    HEADER,
    LENGTH_FROM,
    MAGIC,
    CompressionError,
    Header,
    MalformedRecordsError,
    records_of,
)
from isrcheck.conformance.wire.format.reading import Cursor

MOST_BYTES = 16 << 20
"""The most bytes that the records of one batch may have: a few bytes can be those of a very large batch."""


def batches_of(data: bytes, cursor: Cursor) -> list[dict[str, Any]]:
    """The batches in these bytes. `cursor` counts the values. Raises MalformedError if they are too many."""
    return list(_batches(data, cursor))


def _batches(data: bytes, counter: Cursor) -> Iterator[dict[str, Any]]:
    at = 0
    while at < len(data):
        counter.count(1)
        size = len(data) - at
        if size < HEADER.size:
            yield {"undecoded": "a batch that is cut off", "size": size}
            return
        header = Header.of(data, at)
        if header.magic != MAGIC or header.length < HEADER.size - LENGTH_FROM:
            yield {"undecoded": f"no batch of magic {MAGIC}", "size": size}
            return
        if header.size > size:
            yield {"undecoded": "a batch that is cut off", "size": size}
            return
        yield _batch(header, data[at + HEADER.size : at + header.size], counter)
        at += header.size


def _batch(header: Header, body: bytes, counter: Cursor) -> dict[str, Any]:
    batch: dict[str, Any] = {
        "base_offset": header.base_offset,
        "leader_epoch": header.leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
    }
    counter.count(max(header.record_count, 0))
    try:
        records = [
            {"offset": record.offset, "key": text_of(record.key), "value": text_of(record.value)}
            for record in records_of(header, body, MOST_BYTES)
        ]
    except (CompressionError, MalformedRecordsError) as error:
        return {**batch, "undecoded": str(error) or "its records cannot be read", "size": HEADER.size + len(body)}
    return {**batch, "records": records}


def text_of(data: bytes | None) -> Any:
    """Bytes as text if they are printable UTF-8, else as an object with hexadecimal digits."""
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"hex": data.hex()}
    return text if text.isprintable() else {"hex": data.hex()}
