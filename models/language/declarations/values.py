"""The values of one cell of a field.

In:  the least and the greatest number, each perhaps as a function of the configuration.
Out: `Values`, plain data, which every engine reads; `Flag` are those of a truth value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

Size = int | str | Callable[[Any], int]
"""A number: a constant, the name of a configuration entry, or a function that takes the configuration."""


@dataclass(frozen=True, repr=False)
class Values:
    """The values that one cell of a field can hold: low..high, the members of an enumeration, or truth values."""

    low: Size
    high: Size
    names: type[IntEnum] | None = None
    is_flag: bool = False
    letters: bool = False
    none: bool = False

    def __repr__(self) -> str:
        """The values as a model declares them."""
        if self.names is not None:
            return self.names.__name__
        if self.is_flag or self.none:
            return "Flag" if self.is_flag else "optional(...)"
        return f"between({', '.join('...' if callable(end) else repr(end) for end in (self.low, self.high))})"


Flag = Values(0, 1, is_flag=True)
"""The values of a Boolean field."""
