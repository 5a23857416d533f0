"""Decompresses the records of a batch: with gzip, which the standard library has. The other codecs are only named.

In:  the attributes of a record batch, and the bytes behind its header.
Out: the bytes of its records, or a CompressionError that names the codec.
"""

from __future__ import annotations

import zlib

MASK = 0x07
"""The bits of a batch's attributes that name its codec."""

CODECS = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
GZIP = 1

MOST_BYTES = 16 << 20
"""The most bytes that the records of one batch may have: a few bytes can be those of a very large batch."""

GZIP_FORMAT = 16 + zlib.MAX_WBITS


class CompressionError(Exception):
    """The records of a batch cannot be decompressed."""


def decompressed(attributes: int, data: bytes) -> bytes:
    """The records of a batch with these attributes. Raises CompressionError."""
    codec = attributes & MASK
    if codec == 0:
        return data
    if codec != GZIP:
        name = CODECS.get(codec, f"codec {codec}")
        raise CompressionError(f"compressed: {name}")
    reader = zlib.decompressobj(GZIP_FORMAT)
    try:
        found = reader.decompress(data, MOST_BYTES)
    except zlib.error:
        raise CompressionError("compressed: gzip, and damaged") from None
    if reader.unconsumed_tail:
        raise CompressionError(f"compressed: gzip, with more than {MOST_BYTES >> 20} MiB")
    if not reader.eof:
        raise CompressionError("compressed: gzip, and cut")
    return found
