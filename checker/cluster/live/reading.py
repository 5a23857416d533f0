"""Reads requests and responses from bytes, by kio's schemas.

In:  the bytes of one frame, which may be anything.
Out: kio's dataclasses, with times as whole milliseconds and errors as numbers; or MalformedError.

kio has readers of its own. They are not used, because kio 0.6 allocates as much memory as a length in the frame
announces, and a frame of twelve bytes can end the process. Here no length may exceed what is left of the frame.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import cache, partial
from operator import methodcaller
from typing import Any, get_args, get_origin, get_type_hints

from isrcheck.checker.cluster.live.cursor import Cursor, MalformedError

INTEGERS = {
    "int8": ">b",
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "int64": ">q",
    "error_code": ">h",
    "timedelta_i32": ">i",
    "timedelta_i64": ">q",
    "datetime_i64": ">q",
}
HEADER = "RequestHeader"

Read = Callable[[Cursor], Any]


def read(schema: Any, cursor: Cursor) -> Any:
    """Read one entity of kio's schema. Raises MalformedError."""
    untagged, tagged, absent = _readers(schema)
    values = {**absent, **{name: reader(cursor) for name, reader in untagged}}
    if schema.__flexible__:
        values.update(_tagged_fields(cursor, tagged))
    return schema(**values)


@cache
def _readers(schema: Any) -> tuple[tuple[tuple[str, Read], ...], dict[int, tuple[str, Read]], dict[str, None]]:
    """Return how to read a schema's fields: the fields without a tag, in order, each with its name and a function that
    reads it; the tagged fields, by tag; and the tagged fields without a default in kio, which are null if absent."""
    hints = get_type_hints(schema)
    # The header's only string is never compact.
    compact = schema.__flexible__ and schema.__name__ != HEADER
    untagged, tagged = [], {}
    absent: dict[str, None] = {}
    for each in fields(schema):
        named_reader = each.name, _reader(hints[each.name], each.metadata.get("kafka_type"), compact)
        if "tag" in each.metadata:
            tagged[each.metadata["tag"]] = named_reader
            if each.default is MISSING and each.default_factory is MISSING:
                absent[each.name] = None
        else:
            untagged.append(named_reader)
    return tuple(untagged), tagged, absent


def _reader(hint: Any, kind: str | None, compact: bool) -> Read:
    nullable = type(None) in get_args(hint)
    if nullable:
        (hint,) = (each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is tuple:
        element = _reader(get_args(hint)[0], kind, compact)
        return partial(_array, element=element, compact=compact, nullable=nullable)
    if kind is None:
        return partial(_nullable_entity if nullable else read, hint)
    if kind in INTEGERS:
        return methodcaller("integer", INTEGERS[kind])
    if kind == "bool":
        return lambda cursor: cursor.integer(">b") != 0
    if kind == "float64":
        return lambda cursor: struct.unpack(">d", cursor.take(8))[0]
    if kind == "uuid":
        return _uuid
    if kind == "string":
        return partial(_string, compact=compact, nullable=nullable)
    if kind in ("bytes", "records"):
        return partial(_bytes, form=">i", compact=compact, nullable=nullable)
    raise AssertionError(f"no reader for {kind}: this is a defect")


def _nullable_entity(schema: Any, cursor: Cursor) -> Any:
    """Read an entity that may be null: if the byte before the entity is negative, return None."""
    return None if cursor.integer(">b") < 0 else read(schema, cursor)


def _uuid(cursor: Cursor) -> uuid.UUID | None:
    """Read a UUID; None if all its bytes are zero."""
    value = uuid.UUID(bytes=cursor.take(16))
    return value if value.int else None


def _string(cursor: Cursor, compact: bool, nullable: bool) -> str | None:
    data = _bytes(cursor, ">h", compact, nullable)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        raise MalformedError("a string that is not UTF-8") from None


def _bytes(cursor: Cursor, form: str, compact: bool, nullable: bool) -> bytes | None:
    length = cursor.length(form, compact=compact)
    if length is None and not nullable:
        raise MalformedError("null in a field that must have a value")
    return None if length is None else cursor.take(length)


def _array(cursor: Cursor, element: Read, compact: bool, nullable: bool) -> tuple[Any, ...] | None:
    length = cursor.length(">i", compact=compact)
    if length is None and not nullable:
        raise MalformedError("null in a field that must have a list")
    if length is None:
        return None
    cursor.count(length)
    return tuple(element(cursor) for _ in range(length))


def _tagged_fields(cursor: Cursor, readers: dict[int, tuple[str, Read]]) -> dict[str, Any]:
    """The tagged fields that are present, by name: absent fields keep their defaults, unknown fields are skipped."""
    values = {}
    for _ in range(cursor.varint()):
        tag, size = cursor.varint(), cursor.varint()
        left = cursor.left
        if tag not in readers:
            cursor.take(size)
            continue
        if size > left:
            raise MalformedError(f"the frame gives a length of {size}, but has only {left} bytes left")
        name, reader = readers[tag]
        values[name] = reader(cursor)
        if left - cursor.left != size:
            raise MalformedError(f"a tagged field has {left - cursor.left} bytes, but announces {size}")
    return values
