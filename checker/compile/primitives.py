"""The operations on memory and on unsigned numbers that a module of compiled functions may call, in plain Python.

In:  addresses, and signed 64-bit numbers.
Out: what the instruction of the same name does (checker/compile/staging/instructions.py).

A function that calls only these and its own module's functions means the same to Python and to the processor, as long
as its sums stay within 64 bits.
"""

from __future__ import annotations

import ctypes

UNSIGNED = (1 << 64) - 1


def load_word(address: int) -> int:
    """The 64-bit number at `address`."""
    return ctypes.c_int64.from_address(address).value


def load_half(address: int) -> int:
    """The unsigned 32-bit number at `address`."""
    return ctypes.c_uint32.from_address(address).value


def load_byte(address: int) -> int:
    """The unsigned 8-bit number at `address`."""
    return ctypes.c_uint8.from_address(address).value


def store_word(address: int, value: int) -> None:
    """Store a 64-bit number at `address`."""
    ctypes.c_int64.from_address(address).value = value


def store_half(address: int, value: int) -> None:
    """Store a 32-bit number at `address`."""
    ctypes.c_uint32.from_address(address).value = value


def store_quarter(address: int, value: int) -> None:
    """Store a 16-bit number at `address`."""
    ctypes.c_uint16.from_address(address).value = value


def store_byte(address: int, value: int) -> None:
    """Store an 8-bit number at `address`."""
    ctypes.c_uint8.from_address(address).value = value


def prefetch(address: int) -> None:
    """Fetch the cache line of `address`, which will be needed soon. The address need not be valid."""


def product(left: int, right: int) -> int:
    """The lowest 64 bits of a product."""
    return ctypes.c_int64(left * right).value


def unsigned_shift(value: int, bits: int) -> int:
    """An unsigned number, shifted to the right by 0..63 bits."""
    return ctypes.c_int64((value & UNSIGNED) >> bits).value


def unsigned_remainder(left: int, right: int) -> int:
    """The remainder of an unsigned division."""
    return ctypes.c_int64((left & UNSIGNED) % (right & UNSIGNED)).value


def unsigned_less(left: int, right: int) -> bool:
    """Whether one unsigned number is less than another."""
    return (left & UNSIGNED) < (right & UNSIGNED)
