"""Converts numbers to plain numbers, because a subclass of int can redefine every operator.

In:  an object that a model's file names.
Out: the plain number.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

CELL_LOW, CELL_HIGH = -(1 << 31), (1 << 31) - 1
"""The widest range of one cell of a state, and of one run-time value, in every engine: 32 bits with a sign."""

BYTES_OF_CELLS = (1, 2, 4)
"""The possible numbers of bytes of a cell or a run-time value outside the visited set (see `bytes_of`)."""


def plain(value: object) -> int | bool | None:
    """Return a whole number or a truth value as a plain one; None for any other object."""
    if isinstance(value, bool):
        return value
    return int.__int__(value) if issubclass(type(value), int) else None  # type: ignore[arg-type]


def number(value: int) -> int:
    """Return a whole number or a truth value as a plain number. Raises TypeError for any other object."""
    return int.__int__(value)


def members_of(kind: type[IntEnum]) -> dict[str, int]:
    """Return the members of an enumeration by name, without calling its methods. Raises TypeError."""
    if not issubclass(kind, IntEnum):
        raise TypeError(f"{kind.__name__} is not an IntEnum")
    members = type.__getattribute__(kind, "_member_map_")
    return {name: number(member) for name, member in members.items()}


def ends_of(values: type[IntEnum]) -> tuple[int, int]:
    """The least and the greatest number of an enumeration. Raises TypeError if a number between them has no member."""
    numbers = set(members_of(values).values())
    low, high = min(numbers), max(numbers)
    if numbers != set(range(low, high + 1)):
        raise TypeError(
            f"{values.__name__} has no member for some number in {low}..{high}; number its members without gaps"
        )
    return low, high


def bytes_of(low: int, high: int) -> int:
    """The least number of bytes, 1, 2 or 4, in which a signed number holds every value of low..high."""
    return next(size for size in BYTES_OF_CELLS if -(1 << 8 * size - 1) <= low and high < 1 << 8 * size - 1)


def size_of(size: int | str | Callable[[Any], int], configuration: Any) -> int:
    """The value of `size` under `configuration`."""
    if isinstance(size, str):
        return int(getattr(configuration, size))
    return number(size) if isinstance(size, int) else int(size(configuration))
