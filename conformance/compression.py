"""Decompresses the records of a batch, on the wire and on a disk: with gzip, which the standard library has, or lz4.

In:  the attributes of a record batch, and the bytes behind its header.
Out: the bytes of its records, or a CompressionError that names the codec.
"""

from __future__ import annotations

import zlib

from isrcheck.conformance import lz4

MASK = 0x07
"""The bits of a batch's attributes that name its codec."""

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
READ = {"none", "gzip", "lz4"}
"""The codecs whose records are read."""

MOST_BYTES = 16 << 20
"""The most bytes that the records of one batch may have: a few bytes can be those of a very large batch."""

GZIP_FORMAT = 16 + zlib.MAX_WBITS


class CompressionError(Exception):
    """The records of a batch cannot be decompressed."""


class TooLargeError(CompressionError):
    """They would be more bytes than are allowed."""


def codec_of(attributes: int) -> str:
    """The name of the codec of a batch with these attributes."""
    kind = attributes & MASK
    return CODECS[kind] if kind < len(CODECS) else f"codec {kind}"


def decompressed(attributes: int, data: bytes) -> bytes:
    """The records of a batch with these attributes. Raises CompressionError."""
    return expanded(codec_of(attributes), data, MOST_BYTES)


def expanded(codec: str, data: bytes, most: int) -> bytes:
    """What this codec has compressed, at most `most` bytes. Raises CompressionError, TooLargeError."""
    if codec == "none":
        return data
    if codec == "gzip":
        return gunzipped(data, most)
    if codec != "lz4":
        raise CompressionError(f"compressed: {codec}")
    try:
        return lz4.decompressed(data, most)
    except ValueError as error:
        raise CompressionError(f"compressed: lz4, and damaged: {error}") from None
    except OverflowError:
        raise TooLargeError(f"compressed: lz4, with more than {most >> 20} MiB") from None


def gunzipped(data: bytes, most: int) -> bytes:
    """The content of a gzip stream of at most `most` bytes of content. Raises CompressionError, TooLargeError."""
    reader = zlib.decompressobj(GZIP_FORMAT)
    try:
        found = reader.decompress(data, most)
    except zlib.error:
        raise CompressionError("compressed: gzip, and damaged") from None
    if reader.unconsumed_tail:
        raise TooLargeError(f"compressed: gzip, with more than {most >> 20} MiB")
    if not reader.eof:
        raise CompressionError("compressed: gzip, and cut")
    return found
