"""Converts numbers to plain numbers: a subclass of int can redefine every operator.

In:  an object that a model's file names.
Out: the plain number.
"""

from __future__ import annotations

from enum import IntEnum


def plain(value: object) -> int | bool | None:
    """The plain value of a whole number or a truth value; None for any other object."""
    if isinstance(value, bool):
        return value
    return int.__int__(value) if issubclass(type(value), int) else None  # type: ignore[arg-type]


def number(value: int) -> int:
    """The plain number, also of a truth value. Raises TypeError for any other object."""
    return int.__int__(value)


def members_of(kind: type[IntEnum]) -> dict[str, int]:
    """The members of an enumeration by name, read without calling its methods. Raises TypeError."""
    if not issubclass(kind, IntEnum):
        raise TypeError(f"{kind.__name__} is not an IntEnum")
    members = type.__getattribute__(kind, "_member_map_")
    return {name: number(member) for name, member in members.items()}
