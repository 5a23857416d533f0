"""CRC-32C (Castagnoli), the checksum of record batches and of producer snapshots.

In:  bytes. Out: the checksum.

Short inputs go through a table, byte by byte. Long ones are cut into lanes of equal length, whose checksums numpy
computes side by side and then joins in pairs. A checksum that starts at zero is linear: that of two lanes in a row is
that of the first, moved over as many zero bytes as the second has, xor that of the second; and zeros in front do not
change it. A checksum that starts at ones is one that starts at zero, of the input with its first four bytes inverted.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

POLYNOMIAL = 0x82F63B78
"""The polynomial with its bits reversed."""

ALL_ONES = 0xFFFFFFFF
LANE = 32
"""Bytes of a lane."""

SHORT = 4096
"""Bytes up to which the plain loop is as fast."""


def _entry(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
    return value


TABLE = tuple(map(_entry, range(256)))
LANES_TABLE = np.array(TABLE, dtype=np.uint32)


def crc32c(data: bytes) -> int:
    """The CRC-32C of these bytes."""
    if len(data) <= SHORT:
        return _plain(data)
    padded = np.zeros(-(-len(data) // LANE) * LANE, dtype=np.uint8)
    padded[-len(data) :] = np.frombuffer(data, dtype=np.uint8)
    padded[-len(data) :][:4] ^= 0xFF
    columns = np.ascontiguousarray(padded.reshape(-1, LANE).T)
    found = np.zeros(columns.shape[1], dtype=np.uint32)
    for column in columns:
        found = LANES_TABLE[(found ^ column) & 0xFF] ^ (found >> 8)
    level = 0
    while len(found) > 1:
        if len(found) % 2:
            found = np.concatenate((np.zeros(1, dtype=np.uint32), found))
        found = _moved(found[0::2], level) ^ found[1::2]
        level += 1
    return int(found[0]) ^ ALL_ONES


def _plain(data: bytes) -> int:
    crc, table = ALL_ONES, TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ ALL_ONES


Matrix = tuple[int, ...]
"""A linear map of 32 bits: the image of each bit."""

_OVER_A_BYTE: Matrix = tuple(TABLE[(1 << bit) & 0xFF] ^ (1 << bit) >> 8 for bit in range(32))


def _applied(matrix: Matrix, value: int) -> int:
    found = 0
    for bit, image in enumerate(matrix):
        found ^= image if value >> bit & 1 else 0
    return found


@cache
def _tables(level: int) -> tuple[Words, ...]:
    """For each of the four bytes of a checksum, its images when it moves over LANE * 2**level zero bytes."""
    matrix = _OVER_A_BYTE
    for _ in range(LANE.bit_length() - 1 + level):
        matrix = tuple(_applied(matrix, image) for image in matrix)
    return tuple(
        np.array([_applied(matrix, byte << shift) for byte in range(256)], dtype=np.uint32) for shift in (0, 8, 16, 24)
    )


def _moved(crcs: Words, level: int) -> Words:
    found = np.zeros(len(crcs), dtype=np.uint32)
    for place, table in enumerate(_tables(level)):
        found ^= table[crcs >> np.uint32(8 * place) & np.uint32(0xFF)]
    return found
