"""What a model's file gives, as plain numbers and in plain words.

In:  an object that a model's file names, or that stands in one of its declarations.
Out: the plain number, because a subclass of int can redefine every operator; or a DeclarationError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

CELL_LOW, CELL_HIGH = -(1 << 31), (1 << 31) - 1
"""The widest range of one cell of a state, and of one run-time value, in every engine: 32 bits with a sign."""

BYTES_OF_CELLS = (1, 2, 4)
"""The possible numbers of bytes of a cell or a run-time value outside the visited set (see `bytes_of`)."""

LONGEST = 60
"""The longest text of what is given, in characters."""

LONGEST_CODE = 80
"""The longest expression in a message, in characters."""

VALUES = "a domain, an IntEnum, Flag, between(low, high), optional(...)"
"""What gives the values of one cell."""


class DeclarationError(Exception):
    """A declaration is given what it does not take: the message says what is wrong, and the cure. Who loads the model's
    file makes it a LanguageError, with FILE:LINE."""


def plain(value: object) -> int | bool | None:
    """Return a whole number or a truth value as a plain one; None for any other object."""
    if isinstance(value, bool):
        return value
    return int.__int__(value) if issubclass(type(value), int) else None  # type: ignore[arg-type]


def number(value: int) -> int:
    """Return a whole number or a truth value as a plain number. Raises TypeError for any other object."""
    return int.__int__(value)


def members_of(kind: type[IntEnum]) -> dict[str, int]:
    """Return the members of an enumeration by name, without calling its methods; two names may mean one number."""
    members = type.__getattribute__(kind, "_member_map_")
    return {name: number(member) for name, member in members.items()}


def ends_of(values: type[IntEnum]) -> tuple[int, int]:
    """The least and the greatest number of an enumeration. Raises DeclarationError if a number between them has no
    member, or if there is none."""
    numbers = set(members_of(values).values())
    if not numbers:
        raise DeclarationError(f"{values.__name__} has no members; give it at least one")
    low, high = min(numbers), max(numbers)
    if numbers != set(range(low, high + 1)):
        what = f"{values.__name__} has no member for some number in {low}..{high}"
        raise DeclarationError(f"{what}; number its members without gaps")
    return low, high


def bytes_of(low: int, high: int) -> int:
    """The least number of bytes, 1, 2 or 4, in which a signed number holds every value of low..high."""
    return next(size for size in BYTES_OF_CELLS if -(1 << 8 * size - 1) <= low and high < 1 << 8 * size - 1)


def size_of(size: int | str | Callable[[Any], int], configuration: Any) -> int:
    """The value of `size` under `configuration`."""
    if isinstance(size, str):
        return int(getattr(configuration, size))
    return number(size) if isinstance(size, int) else int(size(configuration))


def shortened(text: str) -> str:
    """A text in one line, shortened in the middle if it is long."""
    text = " ".join(text.split())
    half = LONGEST_CODE // 2 - 3
    return text if len(text) <= LONGEST_CODE else f"{text[:half]} ... {text[-half:]}"


# --------------------------------------------------------------------------------------------------------- declarations


def shown(given: object) -> str:
    """What is given, as text of one line."""
    text = given.__name__ if isinstance(given, type) else repr(given)
    text = text if text.isprintable() else ascii(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def not_taken(where: str, given: object, takes: str) -> DeclarationError:
    """The error that a declaration is given what it does not take; `where` is its text, such as `Set(of={})`."""
    what, cure = " is not possible", f"give {takes}"
    example = getattr(given, "example", None)  # of a set or queue, or of the class
    if isinstance(example, str) and isinstance(given, type):
        what, cure = f": {given.__name__} lacks its elements", f"write it as in {example}"
    elif isinstance(example, str):
        word = type(given).__name__.lower()
        what, cure = f": a {word} is no single value", f"index the field instead, as in field(Node, values={given!r})"
        if where.startswith("optional"):
            what, cure = f": a {word} can be empty instead", "leave optional(...) out"
    elif isinstance(given, type) and isinstance(vars(given).get("of"), type):
        what = f": {given.__name__} is a Subset, which only a parameter can be"
        cure = f"write field(values=Set(of={vars(given)['of'].__name__}))"
    return DeclarationError(f"{where.format(shown(given))}{what}; {cure}")


def all_named(kind: Any, given: Sequence[object], **named: object) -> None:
    """Raise DeclarationError if a `kind` of contents is `given` something without a name, or lacks what is `named`."""
    lacking = [name for name, one in named.items() if one is None]
    if given or lacking:
        parts = [*map(shown, given), *(f"{name}={shown(one)}" for name, one in named.items() if one is not None)]
        lacks = f" lacks {lacking[0]}=" if lacking else ""
        raise DeclarationError(f"{kind.__name__}({', '.join(parts)}){lacks}; write it as in {kind.example}")


def refuse_as_optional(values: Any) -> None:
    """Raise DeclarationError if the values of a cell cannot be none as well."""
    what, cure = "", "use an IntEnum with a member that means 'none'"
    if values.names is not None:
        what, cure = "takes no IntEnum", f"give {values.names.__name__} a member that means 'none'"
    elif values.is_flag:
        what = "takes no Flag"
    elif values.none:
        what, cure = "is written twice", "write it once"
    elif values.low != 0:
        what, cure = f"takes numbers that start at 0, not at {shown(values.low)}", "start them at 0"
    if what:
        raise DeclarationError(f"optional(...) {what}; {cure}")


def filler_below(element: Any) -> int:
    """The number below all values that an element of a queue can have. Raises DeclarationError if there is none."""
    low = plain(element.low)
    if low is None:
        raise DeclarationError(f"Queue(of={element}): let its values begin with a number, as in between(0, 5)")
    if low <= CELL_LOW:
        what = f"Queue(of={element}): a queue needs a number below its elements"
        raise DeclarationError(f"{what}; let them begin at {CELL_LOW + 1} or above")
    return low - 1


def declared_in(holder: type) -> dict[str, Any]:
    """What a class declares, by name: first what its base classes declare, unless it is declared anew."""
    return {name: one for kind in reversed(holder.__mro__) for name, one in vars(kind).items()}


def checked_size(name: str, given: Any, least: int | None = None) -> Any:
    """A number of a declaration, which may depend on the configuration. Raises DeclarationError for anything else."""
    found = plain(given)
    if found is None and not isinstance(given, str) and (isinstance(given, type) or not callable(given)):
        cure = "give a whole number, the name of a configuration entry, or a function of the configuration"
        raise DeclarationError(f"{name}={shown(given)} is no number; {cure}")
    if found is not None and least is not None and found < least:
        raise DeclarationError(f"{name}={found} is too small; give {name}= at least {least}")
    return given


def checked_number(name: str, given: Any, cure: str) -> int:
    """A whole number or a truth value of a declaration, as a plain number. Raises DeclarationError."""
    found = plain(given)
    if found is None:
        raise DeclarationError(f"{name}={shown(given)} is no whole number; {cure}")
    return int(found)
