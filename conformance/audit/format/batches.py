"""Record batches of magic 2, the format of 0.11 and later, read one after the other from a segment.

In:  an open segment. Out: `Batch`, in the order of the file; or a BatchError with the byte.

At most one batch is in memory. Neither the base offset nor the leader epoch is covered by the checksum. Older formats
(magic 0 and 1) are not read.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from isrcheck.conformance.audit.format.crc import crc32c
from isrcheck.conformance.compression import codec_of

HEADER = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length of what follows it, leader epoch, magic, CRC, attributes, last offset delta, base and maximal
timestamp, producer id and epoch, base sequence, number of records."""

LENGTH_FROM = 12
"""The byte from which on the length counts."""

MAGIC_AT, MAGIC = 16, 2
CRC_FROM = 21
"""The byte from which on the checksum counts."""

LONGEST = 100 << 20
"""The longest batch in bytes, a hundred times the default of max.message.bytes."""

LARGEST_OFFSET = (1 << 63) - 1
TRANSACTIONAL, CONTROL = 0x10, 0x20
CHUNK = 1 << 20


class BatchError(Exception):
    """A batch that cannot be read: its byte in the file, what is wrong, and whether the file has nothing after it."""

    def __init__(self, byte: int, what: str, *, reaches_end: bool = False) -> None:
        super().__init__(what)
        self.byte = byte
        self.what = what
        self.reaches_end = reaches_end


class OldFormatError(BatchError):
    """A batch of magic 0 or 1, or of a newer magic than 2."""


class LimitError(BatchError):
    """A batch that ends after the bytes that may be read of a file."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A record batch: its byte in the segment, what its header says, the bytes of its records, a digest of the whole.

    The digest covers what the checksum covers: two batches of equal offsets, epochs and digests are equal.
    """

    byte: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    base_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int
    body: bytes
    digest: bytes

    @property
    def codec(self) -> str:
        """The name of the compression."""
        return codec_of(self.attributes)

    @property
    def is_control(self) -> bool:
        """Whether it holds a marker of a transaction, or of the metadata log, and no records of a client."""
        return bool(self.attributes & CONTROL)

    @property
    def is_transactional(self) -> bool:
        """Whether it belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def last_sequence(self) -> int:
        """The sequence number of its last record; -1 without one. Sequence numbers wrap around at 2**31."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset - self.base_offset) % (1 << 31)


def batches_of(file: BinaryIO, size: int, most: int) -> Iterator[Batch]:
    """The batches of a segment of this size in bytes, of which at most `most` bytes are read. Raises BatchError."""
    byte = 0
    while byte < size:
        head = file.read(HEADER.size)
        _check_start(file, head, byte, size)
        fields = HEADER.unpack(head)
        end = byte + LENGTH_FROM + fields[1]
        if end > size:
            here, whole = size - byte, LENGTH_FROM + fields[1]
            raise BatchError(byte, f"the batch has {here} of its {whole} bytes", reaches_end=True)
        if end > most:
            raise LimitError(byte, f"only {most} bytes of a file are read")
        body = file.read(end - byte - HEADER.size)
        if len(body) < end - byte - HEADER.size:
            raise BatchError(byte, "the file has become shorter while it was read", reaches_end=True)
        yield _batch(byte, head, body, end == size)
        byte = end


def _check_start(file: BinaryIO, head: bytes, byte: int, size: int) -> None:
    """Check length and magic, so that only a batch of the right format and of a bounded size is read."""
    if len(head) < LENGTH_FROM or (len(head) < HEADER.size and not any(head)):
        raise BatchError(byte, f"the batch has {len(head)} of at least {HEADER.size} bytes", reaches_end=True)
    length = int.from_bytes(head[8:12], "big", signed=True)
    if not any(head) and _only_zeros(file):
        raise BatchError(byte, f"only zeros from here to the end, {size - byte} bytes", reaches_end=True)
    if len(head) > MAGIC_AT and head[MAGIC_AT] != MAGIC:
        magic = head[MAGIC_AT]
        if magic < MAGIC:
            raise OldFormatError(byte, f"message format {magic}, of before Kafka 0.11, is not read")
        raise OldFormatError(byte, f"no record batch, or of the unknown message format {magic}")
    if length < HEADER.size - LENGTH_FROM:
        raise BatchError(byte, f"a batch cannot have a length of {length}; it has at least {HEADER.size - LENGTH_FROM}")
    if length > LONGEST:
        raise BatchError(byte, f"a batch with a length of {length}: batches of up to {LONGEST} bytes are read")
    if len(head) < HEADER.size:
        whole = LENGTH_FROM + length
        raise BatchError(byte, f"the batch has {len(head)} of its {whole} bytes", reaches_end=True)


def _only_zeros(file: BinaryIO) -> bool:
    return not any(any(chunk) for chunk in iter(lambda: file.read(CHUNK), b""))


def _batch(byte: int, head: bytes, body: bytes, is_last: bool) -> Batch:
    fields = HEADER.unpack(head)
    (base, _, epoch, _, crc, attributes, delta, timestamp, _, producer, producer_epoch, sequence, count) = fields
    covered = head[CRC_FROM:] + body
    found = crc32c(covered)
    if found != crc:
        raise BatchError(byte, f"the batch says CRC {crc:08x}, and its bytes have {found:08x}", reaches_end=is_last)
    if base < 0 or delta < 0 or base + delta >= LARGEST_OFFSET or not 0 <= count <= delta + 1:
        raise BatchError(byte, f"{count} records from offset {base} to offset {base + delta} make no batch")
    digest = hashlib.blake2b(covered, digest_size=16).digest()
    last = base + delta
    return Batch(
        byte, base, last, epoch, attributes, timestamp, producer, producer_epoch, sequence, count, body, digest
    )
