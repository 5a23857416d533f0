"""Builds segments and snapshots of a metadata log, from records of a real Kafka or new ones; runs `conform metadata`.

A recording of the wire has the records of the metadata log as a Kafka 4.5 in development sent them. Its batches are
built anew, because a recording has neither their times nor their checksums.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from conformance.tests.audit.building import CONTROL, crc, varint
from conformance.tests.support.places import RECORDINGS
from isrcheck.conformance.cli import main

REAL = RECORDINGS / "kafka-4.5"
METADATA_TOPIC = "00000000-0000-0000-0000-000000000001"
SEGMENT = f"{0:020}.log"
MILLISECONDS = 1_790_000_000_000


class Kept(NamedTuple):
    """A record: its offset, the epoch of the controller, whether it is a control record, and its value."""

    offset: int
    epoch: int
    is_control: bool
    value: bytes


def real(name: str) -> list[Kept]:
    """The records of the metadata log in a recording, each once."""
    found = {}
    for line in (REAL / name / "wire.ndjson").read_text().splitlines():
        keys = json.loads(line)
        if keys["kind"] == "response" and keys.get("api") == "Fetch" and keys["body"]:
            for batch in fetched(keys["body"]):
                for record in batch.get("records", ()):
                    value = record["value"]
                    data = bytes.fromhex(value["hex"]) if isinstance(value, dict) else value.encode()
                    found[record["offset"]] = Kept(record["offset"], batch["leader_epoch"], batch["control"], data)
    return [found[offset] for offset in sorted(found)]


def fetched(body: Any) -> Iterator[Any]:
    for topic in body.get("responses", ()):
        if topic["topic_id"] == METADATA_TOPIC:
            for partition in topic["partitions"]:
                yield from partition["records"]


def batch(records: Sequence[Kept], milliseconds: int = MILLISECONDS) -> bytes:
    """A batch of consecutive records of one kind."""
    first, body = records[0], b""
    for record in records:
        told = b"\0" + varint(7) + varint(record.offset - first.offset) + varint(-1)
        told += varint(len(record.value)) + record.value + varint(0)
        body += varint(len(told)) + told
    attributes, last = CONTROL if first.is_control else 0, len(records) - 1
    numbers = (attributes, last, milliseconds, milliseconds, -1, -1, -1, len(records))
    covered = struct.pack(">hiqqqhii", *numbers) + body
    rest = struct.pack(">ibI", first.epoch, 2, crc(covered)) + covered
    return struct.pack(">qi", first.offset, len(rest)) + rest


def batches(records: Sequence[Kept]) -> list[bytes]:
    """Batches of at most ten records, and of one epoch and kind each."""

    def place(one: tuple[int, Kept]) -> tuple[int, bool, int, int]:
        index, record = one
        return record.epoch, record.is_control, record.offset // 10, record.offset - index

    return [batch([record for _, record in group]) for _, group in groupby(enumerate(records), place)]


def folder(path: Path, records: Sequence[Kept]) -> Path:
    """A folder __cluster_metadata-0 with these records in one segment."""
    place = path / "__cluster_metadata-0"
    place.mkdir(parents=True)
    (place / f"{records[0].offset:020}.log").write_bytes(b"".join(batches(records)))
    return place


def snapshot(place: Path, offset: int, values: Sequence[bytes], epoch: int = 1, *, footer: bool = True) -> Path:
    """A snapshot of the state before `offset`: a header, the records, and a footer."""
    control = Kept(0, epoch, True, b"\0\0\0\0")
    records = [control, *(Kept(number, epoch, False, value) for number, value in enumerate(values, 1))]
    records += [Kept(len(records), epoch, True, b"\0\0\0\0")] if footer else []
    path = place / f"{offset:020}-{epoch:010}.checkpoint"
    path.write_bytes(b"".join(batches(records)))
    return path


# ------------------------------------------------------------------------------------------------------- new records


def unsigned(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def text(value: str) -> bytes:
    return unsigned(len(value.encode()) + 1) + value.encode()


def brokers(*ids: int) -> bytes:
    return unsigned(len(ids) + 1) + b"".join(struct.pack(">i", one) for one in ids)


def topic_id(name: str) -> bytes:
    """Sixteen bytes that stand for a topic."""
    return name.encode().ljust(16, b".")


def spelled_id(name: str) -> str:
    return base64.urlsafe_b64encode(topic_id(name)).decode().rstrip("=")


def tagged(fields: dict[int, bytes]) -> bytes:
    return unsigned(len(fields)) + b"".join(
        unsigned(tag) + unsigned(len(fields[tag])) + fields[tag] for tag in sorted(fields)
    )


def message(kind: int, version: int, body: bytes, fields: dict[int, bytes] | None = None) -> bytes:
    return unsigned(1) + unsigned(kind) + unsigned(version) + body + tagged(fields or {})


def topic(name: str) -> bytes:
    return message(2, 0, text(name) + topic_id(name))


def partition(name: str, number: int, *replicas: int, partition_epoch: int = 0, leader_epoch: int = 0) -> bytes:
    """A PartitionRecord of version 0, in which all replicas are in the ISR and the first is the leader."""
    body = struct.pack(">i", number) + topic_id(name) + brokers(*replicas) * 2 + brokers() * 2
    return message(3, 0, body + struct.pack(">iii", replicas[0], leader_epoch, partition_epoch))


def change(name: str, number: int, **fields: tuple[int, ...] | int) -> bytes:
    """A PartitionChangeRecord of version 2."""
    tags = {"isr": 0, "leader": 1, "replicas": 2, "removing": 3, "adding": 4, "elr": 6, "last_known_elr": 7}
    forms = {
        tags[key]: struct.pack(">i", value) if isinstance(value, int) else brokers(*value)
        for key, value in fields.items()
    }
    return message(5, 2, struct.pack(">i", number) + topic_id(name), forms)


def records(*values: bytes, start: int = 0, epoch: int = 1) -> list[Kept]:
    return [Kept(offset, epoch, False, value) for offset, value in enumerate(values, start)]


# ------------------------------------------------------------------------------------------------------- the command


class Told(NamedTuple):
    """What a command told: its exit code, its output, and its errors."""

    code: int
    out: str
    errors: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def states(self) -> list[tuple[Any, ...]]:
        """Of the first partition: offset, leader, leader epoch, partition epoch, ISR and ELR of each state."""
        keys = ("offset", "leader", "leader_epoch", "partition_epoch", "isr", "elr")
        return [tuple(state[key] for key in keys) for state in self.json["partitions"][0]["states"]]


def metadata(capsys, *words: object) -> Told:
    """Run `conform metadata`."""
    capsys.readouterr()
    code = main(["metadata", *map(str, words)])
    out, errors = capsys.readouterr()
    assert "Traceback" not in errors
    return Told(code, out, errors)
