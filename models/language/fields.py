"""The fields of a state: single values, arrays, sets and queues.

In:  domains, the values of a cell, and what a field holds: one value, a `Set` or a `Queue`.
Out: `Field`: an array of cells. The last index of a set says which element a cell is about, and the cell whether the
     set contains it; the last index of a queue is the place of an element.

So every engine knows only arrays. models/language/core/containers.py writes the operations of sets and queues as reads
and writes of cells; models/language/core/views.py is what CPython sees.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, ClassVar

from isrcheck.models.language.declare import Domain, Flag, Values, as_values
from isrcheck.models.language.text.plain import members_of, plain


@dataclass(frozen=True, eq=False)
class Set:
    """What a field holds: any set of elements of a domain, or of members of an IntEnum that are numbered from 0."""

    of: type[Domain] | type[IntEnum]
    text: ClassVar[str] = "{{{}}}"
    """The format of a set as text, given its elements."""

    def __init__(self, *, of: type[Domain] | type[IntEnum]) -> None:
        if not isinstance(of, type) or not issubclass(of, Domain | IntEnum):
            raise TypeError(f"Set(of=...) takes a domain or an IntEnum, but {of!r} is neither")
        if issubclass(of, IntEnum) and set(members_of(of).values()) != set(range(len(members_of(of)))):
            raise TypeError(f"Set(of={of.__name__}): number its members 0, 1, 2, ...")
        object.__setattr__(self, "of", of)

    @cached_property
    def axis(self) -> type[Domain]:
        """The domain of the last index of a field that holds such sets."""
        return self.of if issubclass(self.of, Domain) else members_domain(self.of)

    @property
    def values(self) -> Values:
        """The values of a cell."""
        return Flag

    @property
    def element(self) -> Values:
        """The values that an element can have."""
        return as_values(self.of)

    def cells(self, given: Any, size: int) -> list[Any]:
        """The cells of one set, given as a set of numbers. Raises ValueError."""
        if not isinstance(given, set | frozenset):
            raise ValueError("give a set, as in {0, 1}")  # noqa: TRY004 - the caller tells the user
        elements = {plain(one) for one in given}
        if not elements <= set(range(size)):
            raise ValueError(f"give elements in 0..{size - 1}")
        return [element in elements for element in range(size)]

    def value(self, cells: Sequence[int]) -> frozenset[int]:
        """The set with these cells as a value of Python's."""
        return frozenset(self.elements(cells))

    def elements(self, cells: Sequence[int]) -> list[int]:
        """The elements of a set with these cells."""
        return [element for element, is_in in enumerate(cells) if is_in]


_MEMBERS: dict[type[IntEnum], type[Domain]] = {}


def members_domain(kind: type[IntEnum]) -> type[Domain]:
    """The domain whose elements are the members of an enumeration; always the same one."""
    if kind not in _MEMBERS:
        _MEMBERS[kind] = types.new_class(kind.__name__, (Domain,), {"size": len(members_of(kind))})
    return _MEMBERS[kind]


Contents = Set
"""What a field can hold besides single values."""


@dataclass(frozen=True)
class Field:
    """A declared field of the state: an array indexed by the domains `over` (without domains: a single cell), whose
    cells hold `values`. If it has `contents`, the last of the domains is the axis of the contents."""

    over: tuple[type[Domain], ...]
    values: Values
    initially: int
    contents: Contents | None = None
    members: frozenset[int] | None = None
    """The elements with which each set starts, if they are given one by one."""

    @property
    def own(self) -> tuple[type[Domain], ...]:
        """The domains of the indices that a model writes; each such index has one value, set or queue."""
        return self.over if self.contents is None else self.over[:-1]

    def start(self, sizes: Sequence[int]) -> Any:
        """The initial value of the field, or of a part of it with these sizes, as nested lists of numbers."""
        if len(sizes) > 1:
            return [self.start(sizes[1:])] * sizes[0]
        if not sizes:
            return self.initially
        if self.members is not None and self.contents is not None:
            return [element in self.members for element in range(sizes[0])]
        return [self.initially] * sizes[0]


def field(*over: type[Domain], values: type[Domain] | type[IntEnum] | Values | Contents, initially: Any = None) -> Any:
    """Declare a field of the state: an array indexed by the domains `over`, whose elements hold one of `values`, and
    `initially` the given value (0 if none is given).

    With `values=Set(of=...)`, each element is a set, which is empty `initially`, or the set that is given: numbers, as
    in `{0, 1}`, or the whole domain, by its name.
    """
    for domain in over:
        if not (isinstance(domain, type) and issubclass(domain, Domain)):
            raise TypeError(f"a field is indexed by domains, but {domain!r} is not a domain")
    if not isinstance(values, Set):
        return Field(over, as_values(values), int(initially or 0))
    axes = (*over, values.axis)
    if initially is None or initially is values.of:
        return Field(axes, values.values, int(initially is not None), values)
    if not isinstance(initially, set | frozenset) or any(plain(one) is None for one in initially):
        raise TypeError(f"a set is initially {initially!r}; give a set of numbers, or {values.of.__name__} for all")
    return Field(axes, values.values, 0, values, frozenset(int.__int__(one) for one in initially))
