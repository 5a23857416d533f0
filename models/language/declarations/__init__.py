"""The declarations of a model file: configuration, domains, state fields, actions, properties.

Declarations are plain values, which models/language/model.py collects and every engine reads. Nothing here computes
anything about a protocol, and decorated functions stay plain Python functions.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cached_property
from types import FunctionType
from typing import Any, ClassVar

__all__ = [
    "NONE",
    "Domain",
    "Flag",
    "Queue",
    "Record",
    "Set",
    "Subset",
    "action",
    "always",
    "always_eventually",
    "always_possible",
    "always_step",
    "any_action",
    "between",
    "bound",
    "budget",
    "constraint",
    "contradiction",
    "eventually",
    "eventually_always",
    "field",
    "initial",
    "leads_to",
    "lemma",
    "optional",
    "require",
    "setting",
    "sometimes",
    "strong_fairness",
    "switch",
    "terminal",
    "weak_fairness",
]
"""The names that a model file imports. The other names of this module are for the code that reads declarations."""

# ---------------------------------------------------------------------------------------------- plain numbers and words
#
# A number of a model's file is converted to a plain number, because a subclass of int can redefine every operator.


CELL_LOW, CELL_HIGH = -(1 << 31), (1 << 31) - 1
"""The widest range of a cell of a state, and of a value that is passed at run time, in every engine: 32 bits with a
sign."""

BYTES_OF_CELLS = (1, 2, 4)
"""The possible sizes in bytes of a cell or a run-time value outside the set of visited states (see `bytes_of`)."""

LONGEST = 60
"""The most characters of an argument that a message shows."""

LONGEST_CODE = 80
"""The most characters of an expression that a message shows."""

VALUES = "a domain, an IntEnum, Flag, between(low, high), optional(...)"
"""The forms in which the values of one cell are declared."""


class DeclarationError(Exception):
    """Raised for a declaration with invalid arguments; the message says what is wrong, then the cure. The loader of the
    model's file turns this error into a LanguageError, with FILE:LINE."""


def plain(value: object) -> int | bool | None:
    """Return a whole number (or member of an IntEnum) as an `int`, a truth value unchanged; None for other values."""
    if isinstance(value, bool):
        return value
    return int.__int__(value) if issubclass(type(value), int) else None  # type: ignore[arg-type]


def number(value: int) -> int:
    """Return a whole number, a member of an IntEnum or a truth value as an `int`. Raises TypeError for other values."""
    return int.__int__(value)


def members_of(kind: type[IntEnum]) -> dict[str, int]:
    """Return the members of an enumeration by name, without calling its methods; two names may mean one number."""
    members = type.__getattribute__(kind, "_member_map_")
    return {name: number(member) for name, member in members.items()}


def ends_of(values: type[IntEnum]) -> tuple[int, int]:
    """Return the least and the greatest number of an enumeration. Raises DeclarationError if a number between the two
    has no member, or if the enumeration is empty."""
    numbers = set(members_of(values).values())
    if not numbers:
        raise DeclarationError(f"{values.__name__} has no members; give it at least one")
    low, high = min(numbers), max(numbers)
    if numbers != set(range(low, high + 1)):
        what = f"{values.__name__} has no member for some number in {low}..{high}"
        raise DeclarationError(f"{what}; number its members without gaps")
    return low, high


def bytes_of(low: int, high: int) -> int:
    """Return the smallest size in bytes (1, 2 or 4) of a signed number that can hold every value in low..high."""
    return next(size for size in BYTES_OF_CELLS if -(1 << 8 * size - 1) <= low and high < 1 << 8 * size - 1)


def size_of(size: int | str | Callable[[Any], int], configuration: Any) -> int:
    """Return the value of a size that is a number, the name of an entry, or a function of the configuration."""
    if isinstance(size, str):
        return int(getattr(configuration, size))
    return number(size) if isinstance(size, int) else int(size(configuration))


def shortened(text: str) -> str:
    """Return the text in one line; of a text longer than LONGEST_CODE, the middle is left out."""
    text = " ".join(text.split())
    half = LONGEST_CODE // 2 - 3
    return text if len(text) <= LONGEST_CODE else f"{text[:half]} ... {text[-half:]}"


# --------------------------------------------------------------------------------------------------------- declarations


def shown(argument: object) -> str:
    """Return an argument of a declaration as text of one line, for messages."""
    text = argument.__name__ if isinstance(argument, type) else repr(argument)
    text = text if text.isprintable() else ascii(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def not_taken(where: str, argument: object, takes: str) -> DeclarationError:
    """Return the error for an invalid argument of a declaration. `where` is the declaration with `{}` in place of the
    argument, as in `Set(of={})`; `takes` describes the valid arguments."""
    what, cure = " is not possible", f"give {takes}"
    example = getattr(argument, "example", None)  # of a set or queue, or of the class
    if isinstance(example, str) and isinstance(argument, type):
        what, cure = f": {argument.__name__} lacks its elements", f"write it as in {example}"
    elif isinstance(example, str):
        word = type(argument).__name__.lower()
        what, cure = f": a {word} is no single value", f"index the field, as in field(Node, values={argument!r})"
        if where.startswith("optional"):
            what, cure = f": a {word} can be empty instead", "leave optional(...) out"
    elif isinstance(argument, type) and isinstance(vars(argument).get("of"), type):
        what = f": {argument.__name__} is a Subset, which only a parameter can be"
        cure = f"write field(values=Set(of={vars(argument)['of'].__name__}))"
    return DeclarationError(f"{where.format(shown(argument))}{what}; {cure}")


def all_named(kind: Any, unnamed: Sequence[object], **named: object) -> None:
    """Raise DeclarationError if the declaration of a set or queue (`kind`) has arguments without a name (`unnamed`), or
    if one of the `named` arguments is missing (None)."""
    lacking = [name for name, argument in named.items() if argument is None]
    if unnamed or lacking:
        parts = [*map(shown, unnamed), *(f"{name}={shown(named[name])}" for name in named if name not in lacking)]
        lacks = f" lacks {lacking[0]}=" if lacking else " has an argument without a name"
        raise DeclarationError(f"{kind.__name__}({', '.join(parts)}){lacks}; write it as in {kind.example}")


def refuse_as_optional(values: Any) -> None:
    """Raise DeclarationError for values to which `optional(...)` cannot add NONE (-1), such as truth values."""
    what, cure = "", "use an IntEnum with a member that means 'none'"
    if values.names is not None:
        what, cure = "takes no IntEnum", f"give {values.names.__name__} a member that means 'none'"
    elif values.is_flag:
        what = "takes no Flag"
    elif values.none:
        what, cure = "contains another optional(...)", "write it once"
    elif values.low != 0:
        what, cure = f"takes numbers that start at 0, not at {shown(values.low)}", "start them at 0"
    if what:
        raise DeclarationError(f"optional(...) {what}; {cure}")


def filler_below(element: Any) -> int:
    """Return the filler, which marks an empty place of a queue: the least value of an element, minus 1. Raises
    DeclarationError if the least value is not a constant, or if the filler takes more than 32 bits."""
    low = plain(element.low)
    if low is None:
        what = f"Queue(of={element}): the values do not begin with a number"
        raise DeclarationError(f"{what}; declare the values of an element as in between(0, 5)")
    if low <= CELL_LOW:
        what = f"Queue(of={element}): a queue needs a number below its elements for empty places"
        raise DeclarationError(f"{what}; let the elements begin at {CELL_LOW + 1} or above")
    return low - 1


def declared_in(holder: type) -> dict[str, Any]:
    """Return the attributes of a class by name, those of base classes first. An attribute replaces the attribute of the
    same name in a base class."""
    return {name: value for kind in reversed(holder.__mro__) for name, value in vars(kind).items()}


def checked_size(name: str, size: Any, least: int | None = None) -> Any:
    """Return `size` unchanged if it is a `Size`: a number of at least `least`, an entry's name, or a function. Raises
    DeclarationError for other arguments; the message calls the argument `name`."""
    constant = plain(size)
    if constant is None and not isinstance(size, str) and (isinstance(size, type) or not callable(size)):
        cure = "give a whole number, the name of a configuration entry, or a function of the configuration"
        raise DeclarationError(f"{name}={shown(size)} is no number; {cure}")
    if constant is not None and least is not None and constant < least:
        raise DeclarationError(f"{name}={constant} is too small; give {name}= at least {least}")
    return size


def checked_number(name: str, value: Any, cure: str) -> int:
    """Return a whole number or a truth value as an `int`. For any other `value`, raises DeclarationError, which names
    the argument (`name`) and ends with `cure`."""
    plain_number = plain(value)
    if plain_number is None:
        raise DeclarationError(f"{name}={shown(value)} is no whole number; {cure}")
    return int(plain_number)


# ------------------------------------------------------------------------------------------------- the values of a cell


Size = int | str | Callable[[Any], int]
"""A number in a declaration: a constant, the name of a configuration entry, or a function of the configuration."""


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
        if self.names is not None:
            return self.names.__name__
        if self.is_flag or self.none:
            return "Flag" if self.is_flag else "optional(...)"
        return f"between({', '.join('...' if callable(end) else repr(end) for end in (self.low, self.high))})"


Flag = Values(0, 1, is_flag=True)
"""The values of a Boolean field."""


# -------------------------------------------------------------------------------------------------------- configuration


MOST_BY_DEFAULT = 127
"""The greatest value of a setting or budget that does not declare one. A narrow range keeps values in one byte."""


@dataclass(frozen=True)
class Entry:
    """The declaration of one entry of a configuration."""

    default: int
    says: str
    """The help text of the entry."""
    is_bound: bool
    """Whether the entry determines the layout of states (sizes of arrays, ranges of values). Every other entry is a
    run-time value, so one compiled kernel serves all protocols and client settings with the same layout."""
    values: type[IntEnum] | type[bool] | None
    """The enumeration of the entry's values, or `bool` for on and off; None if the entry is a number."""
    least: int
    most: int | None
    """The greatest value; None if there is no greatest value."""
    option: str | None
    """The option of the entry on the command line, such as `--replicas`; None if it has no option."""
    is_budget: bool = False
    is_open: bool = False
    """Whether proofs for every length leave the entry's value unspecified."""
    is_switch: bool = False

    def __post_init__(self) -> None:
        for name in ("default", "least", "most"):
            value = getattr(self, name)
            value = None if value is None and name == "most" else checked_number(name, value, "give a number, as in 3")
            object.__setattr__(self, name, value)
        if self.least > self.default or (self.most is not None and self.default > self.most):
            what = f"the default {self.default} is outside {self.least}..{self.most}"
            raise DeclarationError(f"{what}; change the default or the range")
        if not self.is_bound and not (self.least >= CELL_LOW and self.most is not None and self.most <= CELL_HIGH):
            what = f"{self.least}..{self.most} is too wide for a setting"
            raise DeclarationError(f"{what}; give a range within {CELL_LOW}..{CELL_HIGH}")


def bound(
    default: int,
    says: str,
    *,
    least: int = 0,
    most: int | None = None,
    option: str | None = None,
    is_open: bool = False,
) -> Any:
    """Declare a number, from `least` to `most`, that determines sizes of arrays or ranges of values. `says` is the help
    text, and `option` the option on the command line. A proof "for every length" covers all values of budgets and
    settings and, if `is_open` is true, all values of this bound (checker/proofs/unbounded_abstraction.py)."""
    return Entry(default, says, True, None, least, most, option, is_open=is_open)


def budget(default: int, says: str, *, most: int | None = None, shapes: bool = False, option: str | None = None) -> Any:
    """Declare the largest number of faults (or rare events) of one kind on a path; every verdict lists the budgets. A
    budget is a run-time value like a setting, from 0 to `most` (127 if `most` is None). If `shapes` is true, the budget
    determines the layout of states like a bound, and `most=None` permits any size."""
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
    """Declare an entry that is set at run time: a number from `least` to `most`, or a member of the enumeration
    `values`; with `values=bool`, on or off. If `shapes` is true, the setting determines the layout of states like a
    bound. `says` and `option` are as for `bound`."""
    if values is bool:
        least, most = 0, 1
    elif values is not None:
        if not isinstance(values, type) or not issubclass(values, IntEnum):
            what = f"setting(values={shown(values)}): a setting is a number or a member of an IntEnum"
            raise DeclarationError(f"{what}; give values= an IntEnum, or leave values= out and give least= and most=")
        least, most = ends_of(values)
    return Entry(default, says, shapes, values, least, most, option, is_open=not shapes)


def switch(default: bool | IntEnum, says: str, *, shapes: bool = False) -> Any:
    """Declare a protocol switch (`--switch NAME=VALUE`): on or off, or a member of the enumeration of `default`. A
    switch is a run-time value, unless `shapes` is true: then it determines the layout of states like a bound, and the
    model is compiled anew for each value of the switch, without the actions and fields that this value never uses."""
    if isinstance(default, bool):
        return Entry(default, says, shapes, bool, 0, 1, None, is_switch=True)
    if not isinstance(default, IntEnum):
        what = f"switch({shown(default)}): a switch is on or off, or a member of an IntEnum"
        raise DeclarationError(f"{what}; give True, False or a member of an IntEnum")
    kind = type(default)
    return Entry(default, says, shapes, kind, *ends_of(kind), None, is_switch=True)


NONE = -1
"""The value of an empty `optional(...)` field or configuration entry."""


class Disabled(Exception):
    """Raised by `require` in plain CPython: the step is not enabled in this state."""


def require(condition: object) -> None:
    """Guard an action: if `condition` is false, the step is not enabled. Guards come before the first write."""
    if not condition:
        raise Disabled


# -------------------------------------------------------------------------------------------------------------- domains


class _Elements(type):
    """The metaclass of all domains. The elements of a domain depend on the configuration, so a model's file can iterate
    over a domain only in actions and properties, and not while the file is loaded."""

    def __iter__(cls) -> Iterator[int]:
        raise DeclarationError(f"{cls.__name__} has elements only in actions and properties; use range(...) here")

    def __len__(cls) -> int:
        raise DeclarationError(f"{cls.__name__} has a size only in actions and properties; use its configuration entry")

    def __bool__(cls) -> bool:
        return True


class Domain(metaclass=_Elements):
    """A finite set 0..size-1, named by a class, over which a parameter or an array index ranges.

    `class Replica(Domain, size="replicas")` declares a domain; `letters=True` prints its elements as a, b, c, ... In
    actions and properties, `for r in Replica` goes through its elements, and `len(Replica)` is their number. With
    `symmetric=True`, `check MODEL` visits one state of each group of states that are equal up to a renaming of the
    elements (TLC's SYMMETRY); a model whose functions treat two elements differently is refused.
    """

    size: ClassVar[Size]
    letters: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False

    def __init_subclass__(cls, size: Size = 0, letters: bool = False, symmetric: bool = False) -> None:
        cls.size = checked_size("size", size)
        cls.letters = letters
        cls.symmetric = symmetric


class Subset:
    """All subsets of a domain. A parameter that is a subset is indexed with an element: `chosen[element]` is true if
    the subset contains the element.

    `class ReplicaSet(Subset, of=Replica)` declares the subsets of Replica. The subsets are ordered as binary numbers
    whose bit i says whether the subset contains element i.
    """

    of: ClassVar[type[Domain]]

    def __init_subclass__(cls, of: type[Domain]) -> None:
        cls.of = of


@dataclass(frozen=True)
class LastOf:
    """A function of the configuration that returns the number of a domain's last element. It serves as the upper end of
    a range of values."""

    domain: type[Domain]

    def __call__(self, configuration: Any) -> int:
        """Return the number of the last element under `configuration`; -1 if the domain is empty."""
        return size_of(self.domain.size, configuration) - 1


def between(low: Size, high: Size) -> Values:
    """Declare that a cell holds a number from `low` to `high`, both included."""
    return Values(checked_size("low", low), checked_size("high", high))


def optional(values: type[Domain] | Values) -> Values:
    """Declare that a cell holds one of `values`, or NONE."""
    inner = as_values(values, "optional({})", "a domain, or numbers that start at 0")
    refuse_as_optional(inner)
    return Values(NONE, inner.high, letters=inner.letters, none=True)


def as_values(values: Any, where: str = "field(values={})", takes: str = VALUES) -> Values:
    """Return `values` (a domain, an enumeration or `Values`), with which a cell is declared, as `Values`. Raises
    DeclarationError for any other argument; `where` and `takes` are as for `not_taken`."""
    if isinstance(values, Values):
        return values
    if isinstance(values, type) and issubclass(values, Domain):
        return Values(0, LastOf(values), letters=values.letters)
    if isinstance(values, type) and issubclass(values, IntEnum):
        return Values(*ends_of(values), names=values)
    raise not_taken(where, values, takes)


# ---------------------------------------------------------------------------------------------------------------- state


_MEMBERS: dict[type[IntEnum], type[Domain]] = {}


@dataclass(frozen=True, eq=False, repr=False)
class Set:
    """A field's contents: a set of elements of a domain, or of members of an IntEnum that are numbered from 0. A set
    has one cell for each element of its domain."""

    word: ClassVar[str] = "set"
    example: ClassVar[str] = "Set(of=Node)"
    """An example of a declaration in a model's file."""
    text: ClassVar[str] = "{{{}}}"
    """The format of a set as text, given its elements."""
    filler: ClassVar[int | None] = None
    of: type[Domain] | type[IntEnum]

    def __init__(self, *unnamed: object, of: Any = None) -> None:
        all_named(Set, unnamed, of=of)
        if not isinstance(of, type) or not issubclass(of, Domain | IntEnum):
            raise not_taken("Set(of={})", of, "a domain or an IntEnum, as in: class Number(Domain, size=4)")
        if issubclass(of, IntEnum) and ends_of(of)[0] != 0:
            raise DeclarationError(f"Set(of={of.__name__}): the least member is not 0; number the members 0, 1, 2, ...")
        object.__setattr__(self, "of", of)

    @cached_property
    def axis(self) -> type[Domain]:
        """The domain of the elements, over which the last index of a field of sets ranges. All sets of members of one
        enumeration share one domain."""
        if issubclass(self.of, IntEnum) and self.of not in _MEMBERS:
            size = ends_of(self.of)[1] + 1
            _MEMBERS[self.of] = types.new_class(self.of.__name__, (Domain,), {"size": size})
        return self.of if issubclass(self.of, Domain) else _MEMBERS[self.of]

    values: ClassVar[Values] = Flag
    """The values of each of a set's cells."""

    @property
    def element(self) -> Values:
        """The values that an element of the set can have."""
        return as_values(self.of)

    def __repr__(self) -> str:
        return "Set(...)"

    def cells(self, members: Any, size: int) -> list[Any]:
        """Return a Python set of numbers as `size` cells: cell i is true if the set contains i. Raises ValueError if
        `members` is no set, or has an element outside 0..size-1."""
        if not isinstance(members, set | frozenset):
            raise ValueError("give a set, as in {0, 1}")  # noqa: TRY004 - the caller tells the user
        elements = {int.__int__(member) if isinstance(member, int) else -1 for member in members}
        if not elements <= set(range(size)):
            raise ValueError(f"give elements in 0..{size - 1}")
        return [element in elements for element in range(size)]

    def value(self, cells: Sequence[int]) -> Any:
        """Return the set whose cells are given, as a frozenset of numbers."""
        return frozenset(self.elements(cells))

    def elements(self, cells: Sequence[int]) -> list[int]:
        """Return the elements of the set whose cells are given, in ascending order."""
        return [element for element, is_in in enumerate(cells) if is_in]


@dataclass(frozen=True, eq=False, repr=False)
class Queue:
    """A field's contents: a queue of at most `most` elements, each of which has one of the values `of`. A queue has one
    cell for each place; place 0 has the oldest element. The places after the last element hold the filler, a number
    below all elements, so equal queues have equal cells."""

    word: ClassVar[str] = "queue"
    example: ClassVar[str] = "Queue(of=Node, most=3)"
    text: ClassVar[str] = "[{}]"
    filler: int
    element: Values
    most: Size
    record: type[Record] | None = None

    def __init__(self, *unnamed: object, of: Any = None, most: Any = None) -> None:
        all_named(Queue, unnamed, of=of, most=most)
        checked_size("most", most, least=1)
        record = of if isinstance(of, type) and issubclass(of, Record) else None
        element = Flag if record else as_values(of, "Queue(of={})", f"{VALUES} or a Record")
        filler = filler_below(element)
        for name, value in (("most", most), ("record", record), ("element", element), ("filler", filler)):
            object.__setattr__(self, name, value)

    @cached_property
    def axis(self) -> type[Domain]:
        """The domain of the queue's places (0 is the first), over which the last index of a field of queues ranges."""
        return types.new_class("Place", (Domain,), {"size": self.most})

    @property
    def values(self) -> Values:
        """The values that a cell of the queue can hold: those of an element, and the filler."""
        return Values(self.filler, self.element.high)

    def __repr__(self) -> str:
        return "Queue(...)"

    def cells(self, elements: Any, size: int) -> list[Any]:
        """Return the elements, oldest first, followed by fillers up to `size` cells. Raises ValueError if `elements` is
        no list, is longer than `size`, or contains a value that no element can have."""
        if not isinstance(elements, list | tuple):
            raise ValueError("give a list, the oldest element first")  # noqa: TRY004 - the caller tells the user
        if len(elements) > size:
            raise ValueError(f"give at most {size} elements of the queue")
        if any(not isinstance(element, int) or element <= self.filler for element in elements):
            raise ValueError(f"give elements of the queue, which are whole numbers of at least {self.filler + 1}")
        return [*elements, *[self.filler] * (size - len(elements))]

    def value(self, cells: Sequence[int]) -> Any:
        """Return the queue whose cells are given, as a list with the oldest element first."""
        return self.elements(cells)

    def elements(self, cells: Sequence[int]) -> list[int]:
        """Return the elements of the queue whose cells are given: the cells without the fillers at the end."""
        elements = list(cells)
        while elements and elements[-1] == self.filler:
            elements.pop()
        return elements


Contents = Set | Queue
"""The contents that a field can hold in place of single values."""


class Record:
    """The base class of groups of fields. With `class Broker(Record)` and `broker = field(Replica, values=Broker)`,
    `s.broker[r].role` is the field `role` of broker r."""


@dataclass(frozen=True, eq=False)
class Group:
    """A declared field that holds a record, or a queue of records, for each combination of elements of `over`."""

    over: tuple[type[Domain], ...]
    record: type[Record]
    queue: Queue | None = None

    @property
    def parts(self) -> dict[str, Any]:
        """The declared fields of the record by name, those of its base classes first."""
        return {name: part for name, part in declared_in(self.record).items() if isinstance(part, Field | Group)}


@dataclass(frozen=True)
class Field:
    """A declared field of the state: an array indexed by the domains `over`, whose cells hold `values`."""

    over: tuple[type[Domain], ...]
    values: Values
    initially: int
    contents: Contents | None = None
    """The sets or queues that the field holds; None for single values. With contents, the last of the domains is their
    axis."""
    members: frozenset[int] | None = None
    """The members of each set in the initial state, if the declaration lists them."""
    outer: int | None = None
    """For a part of a record, the number of indices that belong to the record; None for any other field."""

    @property
    def own(self) -> tuple[type[Domain], ...]:
        """The domains of the indices that a model's text writes, as in `s.isr[p]`: all domains in `over`; a set or
        queue leaves out the last domain, which numbers its cells."""
        return self.over if self.contents is None else self.over[:-1]

    def start(self, sizes: Sequence[int]) -> Any:
        """Return the field's initial value as nested lists of numbers. `sizes` has the length of each dimension. If
        `sizes` has only the lengths of the last dimensions, return the initial value of one part of the array."""
        if len(sizes) > 1:
            return [self.start(sizes[1:])] * sizes[0]
        if not sizes:
            return self.initially
        if self.members is not None and self.contents is not None:
            return [element in self.members for element in range(sizes[0])]
        return [self.initially] * sizes[0]


def field(*over: type[Domain], values: Any = None, initially: Any = None) -> Any:
    """Declare a field of the state: an array indexed by the domains `over` (without domains, a single element). Each
    element is one of `values`, or a set, a queue or a record.

    `initially` is the initial value of every element, 0 by default. A set is empty by default; for a set, `initially`
    is a set of numbers, as in `{0, 1}`, or the domain, which stands for all its elements.
    """
    for domain in over:
        if not (isinstance(domain, type) and issubclass(domain, Domain)):
            raise DeclarationError(f"a field is indexed by domains, but {shown(domain)} is no domain; name a domain")
    if values is None:
        raise DeclarationError("a field lacks values=; declare the values of its cells, as in field(values=Flag)")
    queued = isinstance(values, Queue) and values.record is not None
    if queued or (isinstance(values, type) and issubclass(values, Record)):
        if initially is not None:
            raise DeclarationError("a field of records takes no initially=; give initially= to the parts of the record")
        return Group(over, values.record, values) if queued else Group(over, values)
    if not isinstance(values, Contents):
        held = as_values(values, takes=f"{VALUES}, Set(...), Queue(...) or a Record")
        cure = "give a number, a truth value or a member of an IntEnum"
        return Field(over, held, checked_number("initially", 0 if initially is None else initially, cure))
    axes = (*over, values.axis)
    if isinstance(values, Queue):
        if initially is not None:
            raise DeclarationError("a queue is empty initially; leave initially= out, and fill the queue in @initial")
        return Field(axes, values.values, values.filler, values)
    if initially is None or initially is values.of:
        return Field(axes, values.values, int(initially is not None), values)
    if not isinstance(initially, set | frozenset) or any(plain(member) is None for member in initially):
        what = f"a set is initially {shown(initially)}"
        raise DeclarationError(f"{what}; give initially= a set of numbers, or {values.of.__name__} for all elements")
    return Field(axes, values.values, 0, values, frozenset(map(number, initially)))


# ----------------------------------------------------------------------------------------------- actions and properties


class Kind(Enum):
    """The decorators of the language. A decorated function has the mark of exactly one decorator."""

    ACTION = "action"
    ALWAYS = "always"
    ALWAYS_STEP = "always_step"
    ALWAYS_POSSIBLE = "always_possible"
    SOMETIMES = "sometimes"
    INITIAL = "initial"
    CONTRADICTION = "contradiction"
    LEMMA = "lemma"
    EVENTUALLY = "eventually"
    LEADS_TO = "leads_to"
    ALWAYS_EVENTUALLY = "always_eventually"
    EVENTUALLY_ALWAYS = "eventually_always"
    TERMINAL = "terminal"
    CONSTRAINT = "constraint"


LIVENESS = (Kind.EVENTUALLY, Kind.LEADS_TO, Kind.ALWAYS_EVENTUALLY, Kind.EVENTUALLY_ALWAYS)
"""The kinds of properties that say what happens eventually; they are about endless behaviours."""

WHOLE = (Kind.ALWAYS_POSSIBLE, *LIVENESS)
"""The kinds of properties on which only a search of every reachable state gives a verdict."""

PROPERTIES = (Kind.ALWAYS, Kind.ALWAYS_STEP, Kind.SOMETIMES, *WHOLE)
"""The kinds of properties on which a search gives a verdict."""

INDUCTIVE = (Kind.ALWAYS, Kind.ALWAYS_STEP, Kind.LEMMA)
"""The kinds of properties that can be proved by induction: the other kinds say that a state can be reached."""


@dataclass(frozen=True)
class Mark:
    """What a decorator attaches to the decorated function, as its attribute `isrcheck`: which decorator it is, and the
    decorator's arguments."""

    kind: Kind
    permitted: Callable[..., Any] | None = None
    applies: Callable[[Any], bool] | None = None
    shows: str | None = None
    """For an action, the format in which its arguments are printed."""
    every_length: bool = False
    """Whether proofs of the property leave the open bounds arbitrary, such as the length of a log."""
    when: Callable[..., Any] | None = None
    """For `leads_to`, the premise."""
    fair: Any = None


def mark_of(function: Any) -> Mark | None:
    """Return the mark that a decorator attached to `function`; None if the function has no decorator."""
    try:
        mark = getattr(function, "isrcheck", None)
    except Exception:  # an object of the model's file whose attributes cannot be read
        return None
    return mark if isinstance(mark, Mark) else None


def is_marking(function: object) -> bool:
    """Whether `function` is a decorator of the language, such as `@always`, with or without its arguments."""
    return type(function) is FunctionType and function.__code__.co_filename == _marked.__code__.co_filename


def _marked(function: Any, mark: Mark) -> Any:
    """Attach the mark to the function and return the function. If `function` is None, as for a decorator with
    arguments, return a decorator that attaches the mark."""
    if function is None:
        return lambda function: _marked(function, mark)
    if mark_of(function) is not None:  # a property would silently become a lemma
        raise DeclarationError(f"{function.__name__} has two of the language's decorators; keep one")
    function.isrcheck = mark
    return function


def action(
    function: Any = None, *, shows: str | None = None, fair: bool | str | Sequence[str] | DeclaredFairness = False
) -> Any:
    """Mark an action of the protocol: a function with guards, `require(...)`, and then writes to the state. Each
    combination of values of its parameters is one step.

    `shows` is the format of the printed arguments, as in `@action(shows="{leader} from {follower}")`. With `fair=True`,
    liveness properties assume weak fairness: if steps of the action stay possible, one of these steps is eventually
    taken. If `fair` names parameters of the action, weak fairness is assumed for each of their values separately. With
    `fair="strong"`, strong fairness is assumed: if steps of the action are possible again and again, one of these steps
    is taken again and again. `weak_fairness(...)` and `strong_fairness(...)`, without an action, say more.
    """
    return _marked(function, Mark(Kind.ACTION, shows=shows, fair=fair))


def _property(kind: Kind) -> Callable[..., Any]:
    def decorate(
        function: Any = None,
        *,
        permitted: Callable[..., Any] | None = None,
        applies: Callable[[Any], bool] | None = None,
        every_length: bool = False,
    ) -> Any:
        return _marked(function, Mark(kind, permitted, applies, every_length=every_length))

    return decorate


always = _property(Kind.ALWAYS)
"""Mark a property that must be true in every reachable state.

`permitted` is a predicate of the state. Where it is true, the configuration does not promise the property, and a
failure is PERMITTED instead of VIOLATED. `applies` is a predicate of the configuration: if it is false, the property is
not checked and its verdict is n/a. With `every_length`, the prover looks for a proof in which all bounds declared with
`is_open` are arbitrary, such as a proof for logs of every length.
"""

always_step = _property(Kind.ALWAYS_STEP)
"""Mark a property that must be true of every transition. Its function takes the states `before` and `after` and,
optionally, the action `taken`."""

sometimes = _property(Kind.SOMETIMES)
"""Mark a predicate that must be true in some reachable state (or, with `before, after[, taken]`, of some transition).
It guards against a model in which nothing happens."""

always_possible = _property(Kind.ALWAYS_POSSIBLE)
"""Mark a predicate that must stay possible: from every reachable state, some path leads to a state in which it is true.

In the notation of CTL this is AG EF p. It fails in each state from which no path leads to such a state; the path to the
first of these stuck states is the counterexample. `permitted` is evaluated in the stuck state, as for `always`.
"""


def _liveness(kind: Kind) -> Callable[..., Any]:
    def decorate(
        function: Any = None,
        *,
        permitted: Callable[..., Any] | None = None,
        applies: Callable[[Any], bool] | None = None,
        fair: Any = None,
    ) -> Any:
        return _marked(function, Mark(kind, permitted, applies, fair=fair))

    return decorate


eventually = _liveness(Kind.EVENTUALLY)
"""Mark a predicate that every behaviour makes true at some point: <>P in the notation of TLA+.

Behaviours are endless, may stutter, and are fair to some steps (see below): `fair` lists them;
without it, those of the actions declared with `@action(fair=...)` count. The counterexample is a path from which a
behaviour never reaches the state: it ends in a loop, or in a state where it stays. `permitted` is evaluated in the
states of the loop in which the property is false.
"""

always_eventually = _liveness(Kind.ALWAYS_EVENTUALLY)
"""Mark a predicate P that every behaviour makes true again and again: []<>P. The arguments are as for `eventually`."""

eventually_always = _liveness(Kind.EVENTUALLY_ALWAYS)
"""Mark a predicate P that every behaviour eventually makes true for ever: <>[]P; the arguments are as for
`eventually`."""


def leads_to(
    function: Any = None,
    *,
    when: Callable[..., Any] | None = None,
    permitted: Callable[..., Any] | None = None,
    applies: Callable[[Any], bool] | None = None,
    fair: Any = None,
) -> Any:
    """Mark a predicate P that becomes true after each state in which the premise `when`, a function of the state, is
    true: `when ~> P` in TLA+. P may be true already in the state of the premise. Fairness, counterexample and
    `permitted` are as for `eventually`."""
    if when is None:
        name = "" if function is None else f" of {function.__name__}"
        raise DeclarationError(f"leads_to{name} has no premise; write @leads_to(when=f) with a function f of the state")
    return _marked(function, Mark(Kind.LEADS_TO, permitted, applies, when=when, fair=fair))


lemma = _property(Kind.LEMMA)
"""Mark a lemma: a property of every reachable state that is not promised to users, but helps to prove the promised
properties.

`applies` is a predicate of the configuration: if it is false, proofs do not use the lemma.
"""


def initial(function: Any) -> Any:
    """Mark a function that makes initial states, in one of two forms.

    A function of `s` is in the modelling language and follows the rules of an action. It starts from the default state,
    in which every field has its declared initial value, and makes one initial state for each combination of arguments
    for which its guards are true, in the order of the arguments. A repeated state does not count again. A model may
    have several of these functions; their initial states follow one another.

    A function of the configuration is plain Python outside the language, and yields dictionaries {field: value}: it is
    evaluated once. Arrays are nested lists; a missing field keeps its declared initial value.

    Every engine receives the initial states as data.
    """
    return _marked(function, Mark(Kind.INITIAL))


def terminal(function: Any) -> Any:
    """Mark a predicate of a state: where it is true, a state without a step is an intended end, not a deadlock. A model
    may declare several predicates; one true predicate is enough. They are evaluated only in states without a step."""
    return _marked(function, Mark(Kind.TERMINAL))


def constraint(function: Any) -> Any:
    """Mark a predicate of a state: a search goes on only from states in which it is true (TLC's CONSTRAINT). A model
    may declare several predicates; all must be true. An initial state in which one predicate is false is dropped."""
    return _marked(function, Mark(Kind.CONSTRAINT))


def contradiction(function: Any) -> Any:
    """Mark a predicate that is true for impossible configurations; its docstring is the error message. The predicate is
    plain Python outside the modelling language, evaluated before the search starts."""
    return _marked(function, Mark(Kind.CONTRADICTION))


# ------------------------------------------------------------------------------------------------------------- fairness
#
# Fairness says which steps are taken eventually, if they stay possible (weak fairness), or if they are possible again
# and again (strong fairness). models/fair_groups.py finds these steps.
#
# A behaviour is an endless sequence of states. Each state follows from the state before it by a step, or equals it (the
# behaviour *stutters*); a step that leaves the state unchanged does not count. A behaviour is unfair to a group of
# steps if, from some moment on, a step of the group is possible in every state but none is ever taken; otherwise it is
# weakly fair to the group. In TLA+, this is WF_vars(A) for the action A that is the disjunction of the steps. It is
# strongly fair to the group, SF_vars(A), if it takes steps of the group for ever, or if from some moment on no step of
# the group is possible.
#
# With a condition, only steps from states in which it is true belong to the group: WF_vars(c /\ A).


@dataclass(frozen=True)
class DeclaredFairness:
    """A fairness assumption as a model's file declares it. The loader turns it into a `Fairness`
    (models/language/fairness.py)."""

    actions: tuple[Any, ...]
    """The actions, each a function or a name. Without actions, it is about all actions or, if an action has it as
    `fair=`, about this action."""
    each: tuple[Any, ...] = ()
    """The parameters for whose values fairness is assumed separately."""
    is_strong: bool = False
    """Whether the fairness is strong."""
    when: Callable[..., Any] | None = None
    """The condition in which a step counts: a function of the state and of parameters of the actions; None if every
    step counts."""


def weak_fairness(
    *actions: Any, each: str | Sequence[str] = (), when: Callable[..., Any] | None = None
) -> DeclaredFairness:
    """Declare that a step of these actions is eventually taken if such steps stay possible: WF_vars(A \\/ B). `each`
    names parameters of the actions: fairness is then declared for each of their values separately, as in \\A p :
    WF_vars(A(p)). An action is given as its function or by its name; `@action(fair=weak_fairness(...))` names none.

    `when` is a function of the state and, if it names them, of parameters of the actions: only a step from a state in
    which it is true counts as possible or as taken, as in WF_vars(c /\\ A)."""
    return DeclaredFairness(actions, names_of(each), when=when)


def strong_fairness(
    *actions: Any, each: str | Sequence[str] = (), when: Callable[..., Any] | None = None
) -> DeclaredFairness:
    """Declare that steps of these actions are taken again and again if such steps are possible again and again:
    SF_vars(A \\/ B). The arguments are as for `weak_fairness`."""
    return DeclaredFairness(actions, names_of(each), True, when)


any_action = DeclaredFairness(())
"""The steps of all actions together: WF_vars(Next). A behaviour stutters for ever only where no step is possible."""


def names_of(each: Any) -> tuple[Any, ...]:
    """Return `each`, one name of a parameter or a list of such names, as a tuple."""
    if isinstance(each, str):
        return (each,)
    return tuple(each) if isinstance(each, list | tuple) else (each,)
