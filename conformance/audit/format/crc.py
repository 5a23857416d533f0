"""CRC-32C (Castagnoli), the checksum of record batches and of producer snapshots.

In:  bytes. Out: the checksum.

Short inputs go through a table, byte by byte. Long ones are cut into lanes of equal length, whose checksums numpy
computes side by side and then joins: a checksum is linear, so that of two lanes in a row is the first, moved over as
many zero bytes as the second is long, xor the second.
"""

from __future__ import annotations

from functools import cache

import numpy as np

POLYNOMIAL = 0x82F63B78
"""The polynomial with its bits reversed."""

ALL_ONES = 0xFFFFFFFF
LANE = 32
"""Bytes of a lane."""

SHORT = 1024
"""Bytes up to which the plain loop is as fast."""


def _entry(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
    return value


TABLE = tuple(map(_entry, range(256)))
LANES_TABLE = np.array(TABLE, dtype=np.uint32)


def crc32c(data: bytes | memoryview) -> int:
    """The CRC-32C of these bytes."""
    if len(data) <= SHORT:
        return _plain(data, ALL_ONES) ^ ALL_ONES
    lanes = 1 << (len(data) // LANE).bit_length() - 1  # a power of two, so that they join in pairs
    whole = lanes * LANE
    columns = np.frombuffer(data, dtype=np.uint8, count=whole).reshape(lanes, LANE)
    found = np.zeros(lanes, dtype=np.uint32)
    found[0] = ALL_ONES
    for column in range(LANE):
        found = LANES_TABLE[(found ^ columns[:, column]) & 0xFF] ^ (found >> 8)
    level = 0
    while len(found) > 1:
        found = _moved(found[0::2], level) ^ found[1::2]
        level += 1
    rest = memoryview(data)[whole:]
    if len(rest) <= SHORT:
        return _plain(rest, int(found[0])) ^ ALL_ONES
    return _joined(int(found[0]) ^ ALL_ONES, crc32c(rest), len(rest))


def _plain(data: bytes | memoryview, crc: int) -> int:
    table = TABLE
    for byte in bytes(data):
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc


def _joined(first: int, second: int, length: int) -> int:
    """The checksum of two inputs in a row, of which the second has this length in bytes."""
    matrix, square = _IDENTITY, _OVER_A_BYTE
    while length:
        if length & 1:
            matrix = _product(square, matrix)
        square = _product(square, square)
        length >>= 1
    return _applied(matrix, first) ^ second


Matrix = tuple[int, ...]
"""A linear map of 32 bits: the image of each bit."""

_IDENTITY: Matrix = tuple(1 << bit for bit in range(32))
_OVER_A_BYTE: Matrix = tuple(TABLE[(1 << bit) & 0xFF] ^ (1 << bit) >> 8 for bit in range(32))


def _applied(matrix: Matrix, value: int) -> int:
    found = 0
    for image in matrix:
        if not value:
            break
        if value & 1:
            found ^= image
        value >>= 1
    return found


def _product(second: Matrix, first: Matrix) -> Matrix:
    return tuple(_applied(second, image) for image in first)


@cache
def _tables(level: int) -> tuple[np.ndarray, ...]:
    """For each of the four bytes of a checksum, its images when it moves over LANE * 2**level zero bytes."""
    matrix = _OVER_A_BYTE
    for _ in range(LANE.bit_length() - 1 + level):
        matrix = _product(matrix, matrix)
    return tuple(
        np.array([_applied(matrix, byte << shift) for byte in range(256)], dtype=np.uint32) for shift in (0, 8, 16, 24)
    )


def _moved(crcs: np.ndarray, level: int) -> np.ndarray:
    found = np.zeros(len(crcs), dtype=np.uint32)
    for place, table in enumerate(_tables(level)):
        found ^= table[crcs >> np.uint32(8 * place) & np.uint32(0xFF)]
    return found
