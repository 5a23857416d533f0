"""Decompresses LZ4 frames, which many producers send: the standard library has no LZ4.

In:  a frame as Kafka's clients write it (format 1.6.1; no dictionary), and the most bytes of its content.
Out: its content; or a ValueError for a damaged frame, an OverflowError for a longer content.

Checksums are not compared: the batch around the frame has its own. Kafka: Lz4BlockInputStream.
"""

from __future__ import annotations

import struct

MAGIC = 0x184D2204
VERSION, BLOCK_CHECKSUMS, CONTENT_SIZE, CONTENT_CHECKSUM, DICTIONARY = 0x40, 0x10, 0x08, 0x04, 0x01
VERSION_MASK = 0xC0
STORED = 1 << 31
"""The bit of a block's size that says that the block is not compressed."""

LEAST_MATCH = 4
MORE = 255
"""A length byte after which another one follows; the longest length in a token is 15."""


def decompressed(data: bytes, most: int) -> bytes:
    """The content of a frame. Raises ValueError, OverflowError."""
    try:
        magic, flags, _ = struct.unpack_from("<IBB", data)
        if magic != MAGIC or flags & VERSION_MASK != VERSION or flags & DICTIONARY:
            raise ValueError("no frame of LZ4")
        at = 6 + (8 if flags & CONTENT_SIZE else 0) + 1
        found = bytearray()
        while size := struct.unpack_from("<I", data, at)[0]:
            at += 4
            length = size & ~STORED
            block = data[at : at + length]
            if len(block) < length:
                raise ValueError("a block that is cut off")
            if size & STORED:
                found += block
            else:
                _block(block, found, most)
            if len(found) > most:
                raise OverflowError
            at += length + (4 if flags & BLOCK_CHECKSUMS else 0)
    except (struct.error, IndexError):
        raise ValueError("a frame that is cut off") from None
    return bytes(found)


def _block(block: bytes, found: bytearray, most: int) -> None:
    """Append the content of a block: bytes as they are, and copies of what was there before, in turn."""
    at = 0
    while at < len(block):
        token = block[at]
        length, at = _length(token >> 4, block, at + 1)
        if at + length > len(block):
            raise ValueError("bytes that are cut off")
        found += block[at : at + length]
        at += length
        if at == len(block):  # the last sequence has no copy
            return
        back = block[at] | block[at + 1] << 8
        length, at = _length(token & 15, block, at + 2)
        length += LEAST_MATCH
        if not 0 < back <= len(found):
            raise ValueError("a copy from before the content")
        if len(found) + length > most:
            raise OverflowError
        pattern = found[-back:][:length]
        found += (pattern * (length // back + 1))[:length]


def _length(short: int, block: bytes, at: int) -> tuple[int, int]:
    """A length of which the token has the first four bits, and the position behind it."""
    if short < 15:
        return short, at
    while True:
        byte = block[at]
        short, at = short + byte, at + 1
        if byte < MORE:
            return short, at
