"""Record batches of magic 2, the format of 0.11 and later (KIP-98): their headers, their records, their compression.

Neither the base offset nor the leader epoch is covered by the checksum. Older formats (magic 0 and 1) are not read.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from crc32c import crc32c
from lz4.frame import LZ4FrameDecompressor

HEADER = struct.Struct(">qiibIhiqqqhii")
"""The fields of `BatchHeader`."""

LENGTH_FROM = 12
"""The byte from which on the length counts."""

MAGIC_AT, MAGIC = 16, 2
CRC_FROM = 21
"""The byte from which on the checksum counts."""

LONGEST = 100 << 20
"""The longest batch in bytes, a hundred times the default of max.message.bytes."""

LARGEST_OFFSET = (1 << 63) - 1
COMPRESSION, TRANSACTIONAL, CONTROL = 0x07, 0x10, 0x20
"""Bits of the attributes: the number of a codec, and two flags."""

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
READ = {"none", "gzip", "lz4"}
"""The codecs whose records are read."""

GZIP_FORMAT = 16 + zlib.MAX_WBITS
CHUNK = 1 << 20


class BatchError(Exception):
    """A batch cannot be read: the byte where it begins, the defect, and whether the batch is the last in its file."""

    def __init__(self, byte: int, what: str, *, reaches_end: bool = False) -> None:
        super().__init__(what)
        self.byte = byte
        self.what = what
        self.reaches_end = reaches_end


class OldFormatError(BatchError):
    """A batch in a format that is not read: of magic 0 or 1, or newer than 2."""


class LimitError(BatchError):
    """A batch lies beyond the limit on the bytes that are read of one file."""


class CompressionError(Exception):
    """The records of a batch cannot be decompressed."""


class TooLargeError(CompressionError):
    """The decompressed records would exceed the allowed number of bytes."""


class MalformedRecordsError(Exception):
    """The bytes of a batch are not records as its header describes them."""


class BatchHeader(NamedTuple):
    """The header of a batch; `length` counts the bytes of the batch after the field itself, times are in ms."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @classmethod
    def of(cls, data: bytes, byte: int = 0) -> BatchHeader:
        """The header that begins at index `byte` of `data`; `data` must have HEADER.size bytes from there on."""
        return cls._make(HEADER.unpack_from(data, byte))

    @property
    def size(self) -> int:
        """The size of the whole batch in bytes."""
        return LENGTH_FROM + self.length

    @property
    def last_offset(self) -> int:
        """The offset of the last record, also if compaction has removed it."""
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> str:
        """The name of the codec with which the records are compressed."""
        number = self.attributes & COMPRESSION
        return CODECS[number] if number < len(CODECS) else f"codec {number}"

    @property
    def is_control(self) -> bool:
        """Whether the batch holds a marker of a transaction, or of the metadata log, and no records of a client."""
        return bool(self.attributes & CONTROL)

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; -1 if records have none. Sequence numbers wrap around at 2**31."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) % (1 << 31)


class Record(NamedTuple):
    """A record: its offset, its key and value (None: absent), its distance in milliseconds from the batch's base
    timestamp, and the bytes of key, value and headers as they are in the batch."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_delta: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of a segment: the byte where it begins, its header, the bytes of its records, and a digest.

    The digest covers what the checksum covers: two batches of equal offsets, epochs and digests are equal.
    """

    byte: int
    header: BatchHeader
    body: bytes
    digest: bytes


def batches_of(file: BinaryIO, size: int, most: int) -> Iterator[Batch]:
    """The batches of a segment that has `size` bytes, of which at most `most` are read. Raises BatchError.

    At most one batch is in memory at a time.
    """
    byte = 0
    while byte < size:
        head = file.read(HEADER.size)
        _check_start(file, head, byte, size)
        header = BatchHeader.of(head)
        end = byte + header.size
        if end > size:
            raise BatchError(
                byte, f"the file has only {size - byte} of the {header.size} bytes of this batch", reaches_end=True
            )
        if end > most:
            raise LimitError(byte, f"only {most} bytes of a file are read")
        body = file.read(end - byte - HEADER.size)
        if len(body) < end - byte - HEADER.size:
            raise BatchError(byte, "the file has become shorter while it was read", reaches_end=True)
        yield _batch(byte, header, head[CRC_FROM:], body, end == size)
        byte = end


def _check_start(file: BinaryIO, head: bytes, byte: int, size: int) -> None:
    """Raise BatchError unless `head`, the first bytes of a batch, has the right magic, and a length within bounds."""
    if len(head) < LENGTH_FROM or (len(head) < HEADER.size and not any(head)):
        raise BatchError(
            byte,
            f"the file has only {len(head)} bytes of this batch, which needs at least {HEADER.size}",
            reaches_end=True,
        )
    length = int.from_bytes(head[8:12], "big", signed=True)
    if not any(head) and _only_zeros(file):
        raise BatchError(byte, f"only zeros from here to the end, {size - byte} bytes", reaches_end=True)
    if len(head) > MAGIC_AT and head[MAGIC_AT] != MAGIC:
        magic = head[MAGIC_AT]
        if magic < MAGIC:
            raise OldFormatError(byte, f"a batch of message format {magic}, from before Kafka 0.11, is not read")
        raise OldFormatError(byte, f"not a record batch, or a batch of the unknown message format {magic}")
    if length < HEADER.size - LENGTH_FROM:
        raise BatchError(
            byte,
            f"a batch says that its length is {length}; the length of a batch is at least {HEADER.size - LENGTH_FROM}",
        )
    if length > LONGEST:
        raise BatchError(
            byte, f"a batch says that its length is {length}; only batches of up to {LONGEST} bytes are read"
        )
    if len(head) < HEADER.size:
        whole = LENGTH_FROM + length
        raise BatchError(byte, f"the file has only {len(head)} of the {whole} bytes of this batch", reaches_end=True)


def _only_zeros(file: BinaryIO) -> bool:
    return not any(any(chunk) for chunk in iter(lambda: file.read(CHUNK), b""))


def _batch(byte: int, header: BatchHeader, covered: bytes, body: bytes, is_last: bool) -> Batch:
    """Check a batch and return it; `covered` is the part of its header that the checksum covers. Raises BatchError."""
    crc = crc32c(body, crc32c(covered))
    if crc != header.crc:
        defect = f"the batch says CRC {header.crc:08x}, but its bytes have {crc:08x}"
        raise BatchError(byte, defect, reaches_end=is_last)
    base, delta, count = header.base_offset, header.last_offset_delta, header.record_count
    if base < 0 or delta < 0 or base + delta >= LARGEST_OFFSET or not 0 <= count <= delta + 1:
        raise BatchError(byte, f"a batch cannot have {count} records from offset {base} to offset {base + delta}")
    digest = hashlib.blake2b(covered, digest_size=16)
    digest.update(body)
    return Batch(byte, header, body, digest.digest())


def records_of(header: BatchHeader, body: bytes, most: int) -> Iterator[Record]:
    """The records of a batch in the order of their offsets. At most `most` bytes are decompressed.

    Raises CompressionError, MalformedRecordsError.
    """
    body = expanded(header.codec, body, most)
    at, before = 0, header.base_offset - 1
    for _ in range(header.record_count):
        length, at = _varint(body, at)
        end = at + length
        if length < 1 or end > len(body):
            raise MalformedRecordsError
        timestamp_delta, start = _varint(body, at + 1)  # after the attributes
        offset_delta, start = _varint(body, start)
        key, here = _bytes(body, start, end)
        value, here = _bytes(body, here, end)
        offset = header.base_offset + offset_delta
        if not before < offset <= header.last_offset:
            raise MalformedRecordsError
        yield Record(offset, key, value, timestamp_delta, body[start:end])
        at, before = end, offset
    if at != len(body):
        raise MalformedRecordsError


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """Return the number at index `at` of `body`, a zigzag varint of at most ten bytes, and the index after it."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(body):
            break
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number >> 1 ^ -(number & 1), at
    raise MalformedRecordsError


def _bytes(body: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    """Return the byte string whose length is coded at index `at` (None if below 0), and the index after the string."""
    length, at = _varint(body, at)
    if length < 0:
        return None, at
    if at + length > end:
        raise MalformedRecordsError
    return body[at : at + length], at + length


def expanded(codec: str, data: bytes, most: int) -> bytes:
    """The decompressed bytes, at most `most`. Raises CompressionError, TooLargeError."""
    if codec == "none":
        return data
    if codec not in READ:
        raise CompressionError(f"compressed: {codec}")
    reader = zlib.decompressobj(GZIP_FORMAT) if codec == "gzip" else LZ4FrameDecompressor()
    try:
        content: bytes = reader.decompress(data, most + 1)
    except (zlib.error, RuntimeError, EOFError):
        raise CompressionError(f"compressed: {codec}, and damaged") from None
    if len(content) > most:
        raise TooLargeError(f"compressed: {codec}, and more than {most >> 20} MiB when decompressed")
    if not reader.eof:
        raise CompressionError(f"compressed: {codec}, and cut off")
    return content
