"""Snapshots of producer state, version 1: what a broker knows of each producer below an offset, which names the file.

In:  a file `<offset>.snapshot`. Out: `Producer` by producer id. Or FileError.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from isrcheck.conformance.audit.format.crc import crc32c
from isrcheck.conformance.audit.format.files import FileError, content_of

START = struct.Struct(">hIi")
"""Version, CRC-32C of what follows it, number of entries."""

CRC_FROM = 6
ENTRY = struct.Struct(">qhiqiqiq")
"""Producer id and epoch, last sequence, last offset, its distance to the batch's first, timestamp, coordinator epoch,
first offset of the open transaction."""

VERSION = 1
CURE = "copy it again"


@dataclass(frozen=True, slots=True)
class Producer:
    """What is known of a producer: its epoch, the sequence number and offset of its last record, and the first offset
    of its open transaction. -1: none."""

    epoch: int
    last_sequence: int
    last_offset: int
    open_transaction: int


def producers_of(path: Path) -> dict[int, Producer]:
    """The producers of a snapshot by producer id. Raises FileError."""
    content = content_of(path)
    if len(content) < START.size:
        raise FileError(path, f"it has {len(content)} of at least {START.size} bytes; {CURE}", len(content))
    version, crc, count = START.unpack_from(content)
    if version != VERSION:
        raise FileError(path, f"a snapshot of version {version}; version {VERSION} is read", 0)
    found = crc32c(content[CRC_FROM:])
    if found != crc:
        raise FileError(path, f"it says CRC {crc:08x}, and its bytes have {found:08x}; {CURE}", 2)
    if len(content) != START.size + count * ENTRY.size:
        raise FileError(path, f"{count} entries do not fit its {len(content)} bytes; {CURE}", CRC_FROM)
    producers = {}
    for producer, epoch, sequence, offset, _, _, _, first in ENTRY.iter_unpack(content[START.size :]):
        producers[producer] = Producer(epoch, sequence, offset, first)
    return producers
