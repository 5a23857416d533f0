"""Records of the metadata log (`__cluster_metadata-0`) of Kafka with KRaft, and of its snapshots.

In:  the value of a record, as bytes.
Out: the record's name, and the values of its fields, by Kafka's names of the fields in lower case with underscores.

The tables below have one row for each field of the message schemas in metadata/src/main/resources/common/metadata in
Kafka's sources. All these messages are flexible: lengths are unsigned varints, and every message and every element of
a list ends with tagged fields. Only the records that the history of a partition needs have a table. Of other records,
some of which have secrets, only the name is read. Tagged fields without a row are skipped: Kafka adds optional fields
to a message in this way.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from isrcheck.checker.cluster.live.cursor import Cursor, MalformedError

FRAME_VERSION = 1
"""The version of the frame before each message. A frame has its version, the number of the message, and the version of
the message."""


class Field(NamedTuple):
    """A field of a message."""

    name: str

    kind: str
    """The type of its value: `string`, or a key of READERS. `[]` before a type stands for a list of such values, `[]`
    alone for a list of structures. `?` at the beginning: the value may be null."""

    since: int = 0
    """The first version of the message that has the field."""

    tag: int | None = None
    """The number of a tagged field."""

    default: int | tuple[()] | None = None
    """The value of a tagged field that is absent."""

    elements: tuple[Field, ...] = ()
    """The fields of each element, if the field is a list of structures."""


class Message(NamedTuple):
    """A kind of record: its name, the newest version that is known, and its fields in the order of the bytes."""

    name: str
    newest: int
    fields: tuple[Field, ...]


END_POINT = (Field("name", "string"), Field("host", "string"), Field("port", "uint16"), Field("protocol", "int16"))
FEATURE = (Field("name", "string"), Field("min_supported_version", "int16"), Field("max_supported_version", "int16"))

REGISTER_BROKER, UNREGISTER_BROKER, TOPIC, PARTITION, CONFIG, PARTITION_CHANGE = 0, 1, 2, 3, 4, 5
FENCE_BROKER, UNFENCE_BROKER, REMOVE_TOPIC, FEATURE_LEVEL, BROKER_CHANGE = 7, 8, 9, 12, 17
BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION, CLEAR_ELR = 23, 24, 25, 28

MESSAGES = {
    REGISTER_BROKER: Message(
        "RegisterBrokerRecord",
        4,
        (
            Field("broker_id", "int32"),
            Field("is_migrating_zk_broker", "bool", since=2),
            Field("incarnation_id", "uuid"),
            Field("broker_epoch", "int64"),
            Field("end_points", "[]", elements=END_POINT),
            Field("features", "[]", elements=FEATURE),
            Field("rack", "?string"),
            Field("fenced", "bool"),
            Field("in_controlled_shutdown", "bool", since=1),
        ),
    ),
    UNREGISTER_BROKER: Message(
        "UnregisterBrokerRecord", 0, (Field("broker_id", "int32"), Field("broker_epoch", "int64"))
    ),
    TOPIC: Message("TopicRecord", 0, (Field("name", "string"), Field("topic_id", "uuid"))),
    PARTITION: Message(
        "PartitionRecord",
        2,
        (
            Field("partition_id", "int32"),
            Field("topic_id", "uuid"),
            Field("replicas", "[]int32"),
            Field("isr", "[]int32"),
            Field("removing_replicas", "[]int32"),
            Field("adding_replicas", "[]int32"),
            Field("leader", "int32"),
            Field("leader_epoch", "int32"),
            Field("partition_epoch", "int32"),
            Field("directories", "[]uuid", since=1),
            Field("leader_recovery_state", "int8", tag=0, default=0),
            Field("eligible_leader_replicas", "?[]int32", since=2, tag=1),
            Field("last_known_elr", "?[]int32", since=2, tag=2),
        ),
    ),
    CONFIG: Message(
        "ConfigRecord",
        0,
        (
            Field("resource_type", "int8"),
            Field("resource_name", "string"),
            Field("name", "string"),
            Field("value", "?string"),
        ),
    ),
    PARTITION_CHANGE: Message(
        "PartitionChangeRecord",
        2,
        (
            Field("partition_id", "int32"),
            Field("topic_id", "uuid"),
            Field("isr", "?[]int32", tag=0),
            Field("leader", "int32", tag=1, default=-2),
            Field("replicas", "?[]int32", tag=2),
            Field("removing_replicas", "?[]int32", tag=3),
            Field("adding_replicas", "?[]int32", tag=4),
            Field("leader_recovery_state", "int8", tag=5, default=-1),
            Field("eligible_leader_replicas", "?[]int32", since=2, tag=6),
            Field("last_known_elr", "?[]int32", since=2, tag=7),
        ),
    ),
    FENCE_BROKER: Message("FenceBrokerRecord", 0, (Field("broker_id", "int32"), Field("broker_epoch", "int64"))),
    UNFENCE_BROKER: Message("UnfenceBrokerRecord", 0, (Field("broker_id", "int32"), Field("broker_epoch", "int64"))),
    REMOVE_TOPIC: Message("RemoveTopicRecord", 0, (Field("topic_id", "uuid"),)),
    FEATURE_LEVEL: Message("FeatureLevelRecord", 0, (Field("name", "string"), Field("feature_level", "int16"))),
    BROKER_CHANGE: Message(
        "BrokerRegistrationChangeRecord",
        3,
        (
            Field("broker_id", "int32"),
            Field("broker_epoch", "int64"),
            Field("fenced", "int8", tag=0, default=0),
            Field("in_controlled_shutdown", "int8", since=1, tag=1, default=0),
            Field("log_dirs", "?[]uuid", since=2, tag=2),
        ),
    ),
    BEGIN_TRANSACTION: Message("BeginTransactionRecord", 0, (Field("name", "?string", tag=0),)),
    END_TRANSACTION: Message("EndTransactionRecord", 0, ()),
    ABORT_TRANSACTION: Message("AbortTransactionRecord", 0, (Field("reason", "?string", tag=0),)),
    CLEAR_ELR: Message("ClearElrRecord", 0, (Field("topic_name", "string"),)),
}
"""The records that are decoded, by number. The versions 4 of RegisterBrokerRecord and 3 of
BrokerRegistrationChangeRecord, of Kafka 4.3, differ from those before in a tagged field only."""

SKIPPED = {
    10: "DelegationTokenRecord",
    11: "UserScramCredentialRecord",
    14: "ClientQuotaRecord",
    15: "ProducerIdsRecord",
    18: "AccessControlEntryRecord",
    19: "RemoveAccessControlEntryRecord",
    20: "NoOpRecord",
    21: "ZkMigrationStateRecord",
    22: "RemoveUserScramCredentialRecord",
    26: "RemoveDelegationTokenRecord",
    27: "RegisterControllerRecord",
    29: "UnregisterControllerRecord",
}
"""The names of the records whose fields are not read."""


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """A record: the number and the name of its kind, and the values of its fields, which are empty if the fields of
    this kind are not read."""

    kind: int
    name: str
    fields: Mapping[str, Any]


def record_of(value: bytes | None) -> MetadataRecord:
    """The record in the value of a record of the metadata log. Raises MalformedError."""
    cursor = Cursor(value or b"")
    frame = cursor.varint()
    if frame != FRAME_VERSION:
        raise MalformedError(f"not a record of the metadata log: its frame version is {frame}, not {FRAME_VERSION}")
    kind, version = cursor.varint(), cursor.varint()
    if kind not in MESSAGES:
        return MetadataRecord(kind, SKIPPED.get(kind, f"unknown record {kind}"), {})
    name, newest, fields = MESSAGES[kind]
    if version > newest:
        raise MalformedError(f"{name} of version {version}; the versions 0 to {newest} are known")
    try:
        values = _structure(cursor, fields, version)
    except MalformedError as error:
        raise MalformedError(f"{name}: {error}") from None
    if cursor.left:
        raise MalformedError(f"{name} of version {version} with {cursor.left} bytes after its end")
    return MetadataRecord(kind, name, values)


def _structure(cursor: Cursor, fields: tuple[Field, ...], version: int) -> dict[str, Any]:
    """Read a structure: its fields, and then its tagged fields."""
    values: dict[str, Any] = {}
    tagged: dict[int, Field] = {}
    for field in fields:
        if field.tag is not None:
            values[field.name] = field.default
            tagged[field.tag] = field
        elif version >= field.since:
            values[field.name] = _value(cursor, field, version)
    for _ in range(cursor.varint()):
        tag, size = cursor.varint(), cursor.varint()
        content = Cursor(cursor.take(size))
        if tag in tagged and version >= tagged[tag].since:
            values[tagged[tag].name] = _value(content, tagged[tag], version)
            if content.left:
                raise MalformedError(f"{content.left} bytes after the end of the tagged field {tagged[tag].name}")
    return values


def _value(cursor: Cursor, field: Field, version: int) -> Any:
    kind = field.kind.removeprefix("?")
    if not kind.startswith("[]") and kind != "string":
        return READERS[kind](cursor)
    length = cursor.length("", compact=True)
    if length is None:
        if field.kind.startswith("?"):
            return None
        raise MalformedError(f"{field.name} is null")
    if kind == "string":
        return _text(cursor.take(length))
    if field.elements:
        return tuple(_structure(cursor, field.elements, version) for _ in range(length))
    element = kind.removeprefix("[]")
    if element in FORMS:
        form = f">{length}{FORMS[element]}"
        return struct.unpack(form, cursor.take(struct.calcsize(form)))
    read = READERS[element]
    return tuple(read(cursor) for _ in range(length))


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise MalformedError("a string that is not UTF-8") from None


def _uuid(cursor: Cursor) -> str:
    """Read a UUID; return it as Kafka prints it, in Base64 for URLs without padding."""
    return base64.urlsafe_b64encode(cursor.take(16)).decode().rstrip("=")


FORMS = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q", "bool": "?"}
"""The formats of the types of fixed length in `struct`."""


def _number(form: str) -> Callable[[Cursor], int]:
    """A function that reads a number in a format of `struct`."""
    reader = struct.Struct(f">{form}")

    def read(cursor: Cursor) -> int:
        (value,) = reader.unpack(cursor.take(reader.size))
        return cast("int", value)

    return read


READERS: Mapping[str, Callable[[Cursor], int | str]] = {
    "uuid": _uuid,
    **{kind: _number(form) for kind, form in FORMS.items()},
}
"""How the types of fixed length are read."""
