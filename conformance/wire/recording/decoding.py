"""Bodies of requests and responses, and the record batches in them, as plain values.

In:  the API, its version, and a frame, which may be anything.
Out: values for JSON. A body has the names of Kafka's fields (kio's schemas); a batch has the field names of the
     recordings of Kafka 3.9. A batch that cannot be read becomes an entry with the reason and the size. If the body
     cannot be read: UndecodedError with the reason.

Times are seconds, as in the recordings of Kafka 3.9, and errors have names. A UUID of zeros is null.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from kio.index import UnknownAPIKey, UnknownEntity, load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode

from isrcheck.checker.cluster.live.cursor import Cursor, MalformedError
from isrcheck.checker.cluster.live.reading import read
from isrcheck.conformance.kafka_format.record_batches import (
    HEADER,
    LENGTH_FROM,
    MAGIC,
    BatchHeader,
    CompressionError,
    MalformedRecordsError,
    records_of,
)
from isrcheck.conformance.wire.recording.frames import NAMES

MOST_BYTES = 16 << 20
"""The most bytes that the records of one batch may have: a few bytes can be those of a very large batch."""


def batches_of(data: bytes, cursor: Cursor) -> list[dict[str, Any]]:
    """The record batches in some bytes, as values for JSON. `cursor` counts batches and records. Raises
    MalformedError if there are too many."""
    return list(_batches(data, cursor))


def _batches(data: bytes, counter: Cursor) -> Iterator[dict[str, Any]]:
    at = 0
    while at < len(data):
        counter.count(1)
        size = len(data) - at
        if size < HEADER.size:
            yield {"undecoded": "a batch that is cut off", "size": size}
            return
        header = BatchHeader.of(data, at)
        if header.magic != MAGIC or header.length < HEADER.size - LENGTH_FROM:
            yield {"undecoded": f"no batch of magic {MAGIC}", "size": size}
            return
        if header.size > size:
            yield {"undecoded": "a batch that is cut off", "size": size}
            return
        yield _batch(header, data[at + HEADER.size : at + header.size], counter)
        at += header.size


def _batch(header: BatchHeader, body: bytes, counter: Cursor) -> dict[str, Any]:
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
    """The bytes `data` as text if they are printable UTF-8, else as {"hex": hexadecimal digits}; None for None."""
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"hex": data.hex()}
    return text if text.isprintable() else {"hex": data.hex()}


MOST_VALUES = 500_000
"""The most values in one body that are decoded: a small frame can announce a long list of the smallest entities."""

API_VERSIONS = 18
SECRET = {33, 36, 38, 39, 40, 41, 44, 51, 58}
"""APIs whose bodies have passwords, tokens or configurations: AlterConfigs, SaslAuthenticate, the four of delegation
tokens, IncrementalAlterConfigs, AlterUserScramCredentials, and Envelope, which contains other requests."""

TIMES = ("timedelta_i32", "timedelta_i64", "datetime_i64")
ERRORS = {int(each): each.name for each in ErrorCode}


class UndecodedError(Exception):
    """A frame that cannot be decoded; the message is the reason."""


def name_of(key: int) -> str:
    """Kafka's name of an API, such as AlterPartition; an unknown API is named by its key."""
    return "".join(part.capitalize() for part in NAMES[key].split("_")) if key in NAMES else f"api {key}"


def body_of(kind: str, key: int, version: int, frame: bytes) -> Any:
    """The body of a request or a response, as values for JSON. Raises UndecodedError."""
    if key in SECRET:
        raise UndecodedError(f"{name_of(key)} may contain secrets")
    try:
        return _body(kind, key, version, frame)
    except UndecodedError as error:
        if (kind, key) != ("response", API_VERSIONS) or version == 0:
            raise
        try:
            return _body(kind, key, 0, frame)  # KIP-511: the answer to a version that the broker does not have
        except UndecodedError:
            raise error from None


def _body(kind: str, key: int, version: int, frame: bytes) -> Any:
    schema = _schema(kind, key, version)
    cursor = Bounded(frame)
    try:
        read(schema.__header_schema__, cursor)
        body = plain(read(schema, cursor), cursor)
    except MalformedError as error:
        raise UndecodedError(str(error)) from None
    if cursor.left:
        raise UndecodedError(f"{cursor.left} bytes after the end of {name_of(key)}, version {version}")
    return body


@cache
def _schema(kind: str, key: int, version: int) -> Any:
    try:
        return (load_request_schema if kind == "request" else load_response_schema)(key, version)
    except (UnknownAPIKey, UnknownEntity):
        raise UndecodedError(f"kio has no {kind} of {name_of(key)} in version {version}") from None


class Bounded(Cursor):
    """A cursor that refuses a frame whose lists have together more than MOST_VALUES elements."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._values = 0

    def count(self, values: int) -> None:
        """Count elements of a list. Raises MalformedError if there are too many."""
        self._values += values
        if self._values > MOST_VALUES:
            raise MalformedError(f"more than {MOST_VALUES} values")


def plain(entity: Any, cursor: Cursor) -> dict[str, Any]:
    """An instance of one of kio's dataclasses, as an object for JSON. `cursor` counts the batches and records in it."""
    schema: Any = type(entity)
    return {name: _plain(getattr(entity, name), kind, cursor) for name, kind in _kinds(schema)}


@cache
def _kinds(schema: Any) -> tuple[tuple[str, str | None], ...]:
    return tuple((each.name, each.metadata.get("kafka_type")) for each in fields(schema))


def _plain(value: Any, kind: str | None, cursor: Cursor) -> Any:
    if is_dataclass(value):
        return plain(value, cursor)
    if isinstance(value, tuple):
        return [_plain(each, kind, cursor) for each in value]
    if kind == "records":
        return None if value is None else batches_of(value, cursor)
    if kind in TIMES:
        return _seconds(value)
    if kind == "error_code":
        return ERRORS.get(value, value)
    if isinstance(value, bytes):
        return text_of(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _seconds(value: Any) -> float | None:
    """A time in seconds; None for -1. `value` is in milliseconds or, for an absent tagged field, kio's timedelta."""
    if value is None or value == -1:
        return None
    return value / 1000 if isinstance(value, int) else float(value.total_seconds())
