"""Whole numbers without what their classes make of them: a subclass of int can redefine every operator.

In:  an object that a model's file names. Out: the plain number that it is.
"""

from __future__ import annotations

from enum import IntEnum


def plain(value: object) -> int | bool | None:
    """The number that an object is; None where it is no whole number and no truth value."""
    if isinstance(value, bool):
        return value
    return int.__int__(value) if issubclass(type(value), int) else None  # type: ignore[arg-type]


def number(value: int) -> int:
    """The plain number, also of a truth value. Raises TypeError where it is no whole number."""
    return int.__int__(value)


def members_of(kind: type[IntEnum]) -> dict[str, int]:
    """The members of an enumeration by name, whatever its class says when it is asked for one. Raises TypeError."""
    if not issubclass(kind, IntEnum):
        raise TypeError(f"{kind.__name__} is no IntEnum")
    members = type.__getattribute__(kind, "_member_map_")
    return {name: number(member) for name, member in members.items()}
