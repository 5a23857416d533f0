"""The entries of a configuration: bounds, budgets, settings and switches.

In:  the class `Configuration` of a model file.
Out: an `Entry` for each of its lines, as plain data.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from isrcheck.models.language.text.plain import CELL_HIGH, CELL_LOW, DeclarationError, checked_number, ends_of, shown

MOST_BY_DEFAULT = 127
"""The greatest value of a setting or budget that declares none: a narrow range keeps values in one byte."""


@dataclass(frozen=True)
class Entry:
    """One entry of a configuration.

    A `bound` determines the layout of the state (array sizes, value ranges). A `setting` or `switch` is a run-time
    value, so one compiled kernel serves all protocols and client settings with the same layout.
    """

    default: int
    says: str
    is_bound: bool
    values: type[IntEnum] | type[bool] | None
    least: int
    most: int | None
    option: str | None
    is_budget: bool = False
    is_open: bool = False
    is_switch: bool = False

    def __post_init__(self) -> None:
        for name in ("default", "least", "most"):
            value = getattr(self, name)
            value = None if value is None and name == "most" else checked_number(name, value, "give a number, as in 3")
            object.__setattr__(self, name, value)
        if self.least > self.default or (self.most is not None and self.default > self.most):
            raise DeclarationError(
                f"the default {self.default} is outside {self.least}..{self.most}; change one of them"
            )
        if not self.is_bound and not (self.least >= CELL_LOW and self.most is not None and self.most <= CELL_HIGH):
            raise DeclarationError(
                f"{self.least}..{self.most} is too wide for a setting; give a range within {CELL_LOW}..{CELL_HIGH}"
            )


def bound(
    default: int,
    says: str,
    *,
    least: int = 0,
    most: int | None = None,
    option: str | None = None,
    is_open: bool = False,
) -> Any:
    """Declare a number, from `least` to `most`, that determines array sizes or value ranges. `says` is its help text,
    and `option` its option on the command line. With `is_open`, proofs for every length leave its value unspecified,
    as they do for budgets and settings (checker/proofs/unbounded_abstraction.py)."""
    return Entry(default, says, True, None, least, most, option, is_open=is_open)


def budget(default: int, says: str, *, most: int | None = None, shapes: bool = False, option: str | None = None) -> Any:
    """Declare the largest number of faults (or rare events) of one kind on a path; every verdict lists the budgets.

    A budget is a run-time value like a setting, from 0 to `most` (None: 127); if `shapes` is true, it determines the
    layout of states like a bound, and None is any size.
    """
    most = MOST_BY_DEFAULT if most is None and not shapes else most
    return Entry(default, says, shapes, None, 0, most, option, is_budget=True, is_open=True)


def setting(
    default: int,
    says: str,
    *,
    values: type[IntEnum] | type[bool] | None = None,
    least: int = 0,
    most: int = MOST_BY_DEFAULT,
    option: str | None = None,
    shapes: bool = False,
) -> Any:
    """Declare a run-time number from `least` to `most`, or a member of `values`, which `bool` makes on or off.

    If `shapes` is true, it determines the layout of states like a bound. `says` and `option`: see `bound`.
    """
    if values is bool:
        least, most = 0, 1
    elif values is not None:
        if not isinstance(values, type) or not issubclass(values, IntEnum):
            what = f"setting(values={shown(values)}): a setting is a number or a member of an IntEnum"
            raise DeclarationError(f"{what}; give the IntEnum, or least= and most= for numbers")
        least, most = ends_of(values)
    return Entry(default, says, shapes, values, least, most, option, is_open=not shapes)


def switch(default: bool | IntEnum, says: str, *, shapes: bool = False) -> Any:
    """Declare a protocol switch (`--switch NAME=VALUE`): on or off, or a member of the enumeration of `default`.

    A switch is a run-time value, unless it `shapes` the state like a bound: then each of its values has a kernel of its
    own, without the actions and fields that only the other values need.
    """
    if isinstance(default, bool):
        return Entry(default, says, shapes, bool, 0, 1, None, is_switch=True)
    if not isinstance(default, IntEnum):
        what = f"switch({shown(default)}): a switch is on or off, or a member of an IntEnum"
        raise DeclarationError(f"{what}; give True, False or a member")
    kind = type(default)
    return Entry(default, says, shapes, kind, *ends_of(kind), None, is_switch=True)
