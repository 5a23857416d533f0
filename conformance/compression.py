"""Decompresses the records of a batch, on the wire and on a disk: with gzip, which the standard library has.

In:  the attributes of a record batch, and the bytes behind its header.
Out: the bytes of its records, or a CompressionError that names the codec.
"""

from __future__ import annotations

import zlib

MASK = 0x07
"""The bits of a batch's attributes that name its codec."""

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

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
    codec = codec_of(attributes)
    if codec == "none":
        return data
    if codec != "gzip":
        raise CompressionError(f"compressed: {codec}")
    return gunzipped(data, MOST_BYTES)


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
