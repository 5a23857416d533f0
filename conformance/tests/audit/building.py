"""Builds log folders of brokers, and runs `conform audit` on them.

Checksums come from a loop over bits, which shares nothing with the product's.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence
from pathlib import Path

NOBODY = (-1, -1, -1)
TRANSACTIONAL, CONTROL, GZIP, ZSTD = 0x10, 0x20, 1, 4
PARTITION = "t-0"


def crc(data: bytes) -> int:
    found = 0xFFFFFFFF
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = found >> 1 ^ (0x82F63B78 if found & 1 else 0)
    return found ^ 0xFFFFFFFF


def varint(number: int) -> bytes:
    rest = (number << 1) ^ (number >> 63)
    found = b""
    while rest > 0x7F:
        found += bytes([rest & 0x7F | 0x80])
        rest >>= 7
    return found + bytes([rest])


def record(delta: int, value: str | None, timestamp: int = 0) -> bytes:
    told = None if value is None else value.encode()
    body = b"\0" + varint(timestamp) + varint(delta) + varint(-1)
    body += varint(-1) if told is None else varint(len(told)) + told
    body += varint(0)
    return varint(len(body)) + body


def batch(
    base: int,
    values: Sequence[str | None],
    epoch: int = 0,
    *,
    deltas: Sequence[int] | None = None,
    last_delta: int | None = None,
    producer: tuple[int, int, int] = NOBODY,
    attributes: int = 0,
    magic: int = 2,
    body: bytes | None = None,
    count: int | None = None,
) -> bytes:
    """A record batch. `producer` is its id, epoch and base sequence; `deltas` are the offsets of the records in it."""
    deltas = range(len(values)) if deltas is None else deltas
    if body is None:
        body = b"".join(record(delta, value) for delta, value in zip(deltas, values, strict=True))
    if attributes & 7 == GZIP:
        body = gzip.compress(body, mtime=0)
    last = len(values) - 1 if last_delta is None else last_delta
    number = len(values) if count is None else count
    covered = struct.pack(">hiqqqhii", attributes, last, 1000, 1000, *producer, number) + body
    rest = struct.pack(">ibI", epoch, magic, crc(covered)) + covered
    return struct.pack(">qi", base, len(rest)) + rest


def batches(*epochs: int, start: int = 0, values: str = "m") -> list[bytes]:
    """One batch of one record for each of these leader epochs, with the values m0, m1, ... after their offsets."""
    return [batch(offset, [f"{values}{offset}"], epoch) for offset, epoch in enumerate(epochs, start)]


def snapshot(*producers: tuple[int, int, int, int, int]) -> bytes:
    """A snapshot of producer state: for each producer its id, epoch, last sequence, last offset, open transaction."""
    rest = struct.pack(">i", len(producers))
    for one, epoch, sequence, offset, first in producers:
        rest += struct.pack(">qhiqiqiq", one, epoch, sequence, offset, 0, 1000, -1, first)
    return struct.pack(">hI", 1, crc(rest)) + rest


def checkpoint(**partitions: int) -> str:
    """An offset checkpoint; a partition t-0 is written as t_0."""
    lines = [f"{name.rpartition('_')[0]} {name.rpartition('_')[2]} {offset}\n" for name, offset in partitions.items()]
    return f"0\n{len(lines)}\n" + "".join(lines)


def broker(
    folder: Path,
    log: Sequence[bytes],
    *,
    high_watermark: int | None = 0,
    recovery_point: int | None = 0,
    log_start: int | None = None,
    cleaned: int | None = None,
    epochs: Sequence[tuple[int, int]] | None = ((0, 0),),
    snapshots: dict[int, bytes] | None = None,
    name: str = PARTITION,
    segments: dict[int, Sequence[bytes]] | None = None,
) -> Path:
    """Write the log folder of a broker with one partition."""
    partition = folder / name
    partition.mkdir(parents=True)
    for base, content in (segments or {0: log}).items():
        (partition / f"{base:020}.log").write_bytes(b"".join(content))
    for base, data in (snapshots or {}).items():
        (partition / f"{base:020}.snapshot").write_bytes(data)
    if epochs is not None:
        lines = "".join(f"{epoch} {start}\n" for epoch, start in epochs)
        (partition / "leader-epoch-checkpoint").write_text(f"0\n{len(epochs)}\n{lines}")
    for file, offset in {
        "replication-offset-checkpoint": high_watermark,
        "recovery-point-offset-checkpoint": recovery_point,
        "log-start-offset-checkpoint": log_start,
        "cleaner-offset-checkpoint": cleaned,
    }.items():
        if offset is not None:
            (folder / file).write_text(checkpoint(**{name.replace("-", "_"): offset}))
    return folder
