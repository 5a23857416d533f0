"""The records of a batch, uncompressed or compressed with gzip or lz4.

In:  a `Batch`. Out: `Record`; or CompressedError, or a BatchError.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from isrcheck.conformance.audit.format.batches import Batch, BatchError
from isrcheck.conformance.compression import READ, CompressionError, TooLargeError, expanded

MOST_BYTES = 64 << 20
"""The most bytes into which a batch is decompressed."""


class CompressedError(Exception):
    """The records of a batch are not read, because of its compression; the message says why."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record: its offset, its value (None: a tombstone), and a digest of its timestamp, key, value and headers."""

    offset: int
    value: bytes | None
    digest: bytes


def unread(batch: Batch) -> str | None:
    """Why the records of a batch with this compression are not read; None if they are."""
    return None if batch.codec in READ else f"compressed with {batch.codec}, of which only the header is read"


def records_of(batch: Batch) -> Iterator[Record]:
    """The records of a batch in the order of their offsets. Raises CompressedError, or BatchError."""
    body = _uncompressed(batch)
    at, before = 0, batch.base_offset - 1
    for _ in range(batch.count):
        length, at = _varint(body, at, batch)
        end = at + length
        if length < 1 or end > len(body):
            raise _malformed(batch)
        timestamp, here = _varint(body, at + 1, batch)
        delta, here = _varint(body, here, batch)
        _, here = _bytes(body, here, end, batch)
        value, here = _bytes(body, here, end, batch)
        offset = batch.base_offset + delta
        if not before < offset <= batch.last_offset:
            raise _malformed(batch)
        # The deltas count from the batch, which the cleaner may have rewritten with another base.
        start = _varint(body, _varint(body, at + 1, batch)[1], batch)[1]
        told = (batch.base_timestamp + timestamp).to_bytes(16, "big", signed=True) + body[start:end]
        yield Record(offset, value, hashlib.blake2b(told, digest_size=16).digest())
        at, before = end, offset
    if at != len(body):
        raise _malformed(batch)


def _uncompressed(batch: Batch) -> bytes:
    why = unread(batch)
    if why is not None:
        raise CompressedError(why)
    try:
        return expanded(batch.codec, batch.body, MOST_BYTES)
    except TooLargeError:
        raise CompressedError(f"it has more than {MOST_BYTES} bytes uncompressed") from None
    except CompressionError:
        raise _malformed(batch) from None


def _varint(body: bytes, at: int, batch: Batch) -> tuple[int, int]:
    """A number in zigzag code of at most ten bytes, and the byte after it."""
    found = 0
    for shift in range(0, 70, 7):
        if at >= len(body):
            break
        byte = body[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found >> 1 ^ -(found & 1), at
    raise _malformed(batch)


def _bytes(body: bytes, at: int, end: int, batch: Batch) -> tuple[bytes | None, int]:
    """Bytes with their length in front (-1: None), and the byte after them."""
    length, at = _varint(body, at, batch)
    if length < 0:
        return None, at
    if at + length > end:
        raise _malformed(batch)
    return body[at : at + length], at + length


def _malformed(batch: Batch) -> BatchError:
    return BatchError(batch.byte, "the checksum is right, but the records cannot be read")
