"""The declarations of a model file: configuration, domains, state fields, actions, properties.

In:  a model file that uses these declarations.
Out: plain values, which models/language/model.py collects and every engine reads; or a DeclarationError.

Nothing here computes anything about a protocol: declarations are data, and decorated functions stay plain Python
functions.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cached_property
from types import FunctionType
from typing import Any, ClassVar

from isrcheck.models.messages import LanguageError, escaped

# ---------------------------------------------------------------------------------------------- plain numbers and words
#
# A number of a model's file is converted to a plain number, because a subclass of int can redefine every operator.


CELL_LOW, CELL_HIGH = -(1 << 31), (1 << 31) - 1
"""The widest range of one cell of a state, and of one run-time value, in every engine: 32 bits with a sign."""

BYTES_OF_CELLS = (1, 2, 4)
"""The possible numbers of bytes of a cell or a run-time value outside the visited set (see `bytes_of`)."""

LONGEST = 60
"""The longest text of a given argument, in characters."""

LONGEST_CODE = 80
"""The longest expression in a message, in characters."""

VALUES = "a domain, an IntEnum, Flag, between(low, high), optional(...)"
"""The forms in which the values of one cell are declared."""


class DeclarationError(Exception):
    """A declaration has invalid arguments: the message says what is wrong, and the cure. The loader of the model's file
    turns it into a LanguageError, with FILE:LINE."""


def plain(value: object) -> int | bool | None:
    """Return a whole number or a truth value as a plain number; None for any other object."""
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
    member, or if the enumeration is empty."""
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
    """The given argument, as text of one line."""
    text = given.__name__ if isinstance(given, type) else repr(given)
    text = text if text.isprintable() else ascii(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def not_taken(where: str, given: object, takes: str) -> DeclarationError:
    """The error for an invalid argument of a declaration; `where` is the declaration's text, such as `Set(of={})`."""
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
    """Raise DeclarationError if the values of a cell cannot include none."""
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
    """The declarations of a class, by name: first those of its base classes, unless the class redeclares them."""
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


# ------------------------------------------------------------------------------------------------- the values of a cell


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


# -------------------------------------------------------------------------------------------------------- configuration


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
    layout of states like a bound, and None permits any size.
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
    """The type of domains, whose elements depend on the configuration: only the functions of a model know them."""

    def __iter__(cls) -> Iterator[int]:
        raise DeclarationError(f"{cls.__name__} has elements only in actions and properties; use range(...) here")

    def __len__(cls) -> int:
        raise DeclarationError(f"{cls.__name__} has a size only in actions and properties; use the configuration here")

    def __bool__(cls) -> bool:
        return True


class Domain(metaclass=_Elements):
    """A finite set 0..size-1, named by a class, over which a parameter or an array index ranges.

    `class Replica(Domain, size="replicas")` declares one; `letters=True` prints its elements as a, b, c, ... In actions
    and properties, `for r in Replica` goes through its elements, and `len(Replica)` is their number. With
    `symmetric=True`, `check MODEL` visits only one of the states that differ in nothing but the names of elements; a
    model that tells the elements apart is then refused.
    """

    size: ClassVar[Size]
    letters: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False

    def __init_subclass__(cls, size: Size = 0, letters: bool = False, symmetric: bool = False) -> None:
        cls.size = checked_size("size", size)
        cls.letters = letters
        cls.symmetric = symmetric


class Subset:
    """All subsets of a domain. A parameter of this kind is indexed with an element, and is true if the subset contains
    it.

    `class ReplicaSet(Subset, of=Replica)` declares one. Its values are ordered as binary numbers whose bit i says
    whether the subset contains element i.
    """

    of: ClassVar[type[Domain]]

    def __init_subclass__(cls, of: type[Domain]) -> None:
        cls.of = of


@dataclass(frozen=True)
class LastOf:
    """The number of the last element of a domain, which depends on the configuration."""

    domain: type[Domain]

    def __call__(self, configuration: Any) -> int:
        """Return the number of the last element under `configuration`; -1 if the domain is empty."""
        return size_of(self.domain.size, configuration) - 1


def between(low: Size, high: Size) -> Values:
    """The numbers from `low` to `high`, both included."""
    return Values(checked_size("low", low), checked_size("high", high))


def optional(values: type[Domain] | Values) -> Values:
    """The given values, or NONE."""
    inner = as_values(values, "optional({})", "a domain, or numbers that start at 0")
    refuse_as_optional(inner)
    return Values(NONE, inner.high, letters=inner.letters, none=True)


def as_values(values: Any, where: str = "field(values={})", takes: str = VALUES) -> Values:
    """Convert a domain or an enumeration to the values of a cell. Raises DeclarationError for anything else, with the
    text of the declaration, `where`, and what it takes."""
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
    """What a field holds: any set of elements of a domain, or of members of an IntEnum that are numbered from 0.

    A set has one cell for each element of its domain.
    """

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
            raise DeclarationError(f"Set(of={of.__name__}): number its members 0, 1, 2, ...")
        object.__setattr__(self, "of", of)

    @cached_property
    def axis(self) -> type[Domain]:
        """The domain of the last index of a field that holds such sets; always the same one for an enumeration."""
        if issubclass(self.of, IntEnum) and self.of not in _MEMBERS:
            size = ends_of(self.of)[1] + 1
            _MEMBERS[self.of] = types.new_class(self.of.__name__, (Domain,), {"size": size})
        return self.of if issubclass(self.of, Domain) else _MEMBERS[self.of]

    values: ClassVar[Values] = Flag
    """The values of a cell."""

    @property
    def element(self) -> Values:
        """The values that an element can have."""
        return as_values(self.of)

    def __repr__(self) -> str:
        return "Set(...)"

    def cells(self, given: Any, size: int) -> list[Any]:
        """The cells of one set, given as a set of numbers. Raises ValueError."""
        if not isinstance(given, set | frozenset):
            raise ValueError("give a set, as in {0, 1}")  # noqa: TRY004 - the caller tells the user
        elements = {int.__int__(one) if isinstance(one, int) else -1 for one in given}
        if not elements <= set(range(size)):
            raise ValueError(f"give elements in 0..{size - 1}")
        return [element in elements for element in range(size)]

    def value(self, cells: Sequence[int]) -> Any:
        """The set with these cells as a value of Python's."""
        return frozenset(self.elements(cells))

    def elements(self, cells: Sequence[int]) -> list[int]:
        """The elements of a set with these cells."""
        return [element for element, is_in in enumerate(cells) if is_in]


@dataclass(frozen=True, eq=False, repr=False)
class Queue:
    """What a field holds: a queue of at most `most` elements, each one of the values `of`.

    A queue has one cell for each place, the first element in the first one; a number below all elements, the filler, is
    in the places after the last element, so equal queues have equal cells.
    """

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
        """The places of the queue."""
        return types.new_class("Place", (Domain,), {"size": self.most})

    @property
    def values(self) -> Values:
        """The values of a cell: an element, or the filler."""
        return Values(self.filler, self.element.high)

    def __repr__(self) -> str:
        return "Queue(...)"

    def cells(self, given: Any, size: int) -> list[Any]:
        """The cells of one queue, given as a list of numbers. Raises ValueError."""
        if not isinstance(given, list | tuple):
            raise ValueError("give a list, the oldest element first")  # noqa: TRY004 - the caller tells the user
        if len(given) > size:
            raise ValueError(f"give at most {size} elements of the queue")
        if any(not isinstance(one, int) or one <= self.filler for one in given):
            raise ValueError(f"give elements of the queue, which are numbers from {self.filler + 1} on")
        return [*given, *[self.filler] * (size - len(given))]

    def value(self, cells: Sequence[int]) -> Any:
        """The queue with these cells as a value of Python's."""
        return self.elements(cells)

    def elements(self, cells: Sequence[int]) -> list[int]:
        """The elements of a queue with these cells: all up to the last one that is not the filler."""
        found = list(cells)
        while found and found[-1] == self.filler:
            found.pop()
        return found


Contents = Set | Queue
"""What a field can hold in place of single values."""


class Record:
    """Fields under one name: with `broker = field(Replica, values=Broker)`, `s.broker[r].role` is a field of Broker."""


@dataclass(frozen=True, eq=False)
class Group:
    """A field that holds records, one for each index; or queues of records."""

    over: tuple[type[Domain], ...]
    record: type[Record]
    queue: Queue | None = None

    @property
    def parts(self) -> dict[str, Any]:
        """The parts by name, those of base classes first."""
        return {name: one for name, one in declared_in(self.record).items() if isinstance(one, Field | Group)}


@dataclass(frozen=True)
class Field:
    """A declared field of the state: an array indexed by the domains `over`, whose cells hold `values`. If it has
    `contents`, the last of the domains is the axis of the contents."""

    over: tuple[type[Domain], ...]
    values: Values
    initially: int
    contents: Contents | None = None
    members: frozenset[int] | None = None  # with which each set starts, if they are given one by one
    outer: int | None = None  # of a part of a record: how many indices are the record's

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


def field(*over: type[Domain], values: Any = None, initially: Any = None) -> Any:
    """Declare a field of the state: an array indexed by the domains `over`, whose elements hold one of `values`, and
    `initially` the given value (default: 0), or a set, queue or record.

    A set is empty `initially`, or contains the given numbers, as in `{0, 1}`, or the whole domain, given by its name.
    """
    for domain in over:
        if not (isinstance(domain, type) and issubclass(domain, Domain)):
            raise DeclarationError(f"a field is indexed by domains, but {shown(domain)} is none; name a domain")
    if values is None:
        raise DeclarationError("a field lacks values=; say what a cell holds, as in field(values=Flag)")
    queued = isinstance(values, Queue) and values.record is not None
    if queued or (isinstance(values, type) and issubclass(values, Record)):
        if initially is not None:
            raise DeclarationError("records have no initially=; give it to their parts")
        return Group(over, values.record, values) if queued else Group(over, values)
    if not isinstance(values, Contents):
        held = as_values(values, takes=f"{VALUES}, Set(...), Queue(...) or a Record")
        cure = "give a number, a truth value or a member of an IntEnum"
        return Field(over, held, checked_number("initially", 0 if initially is None else initially, cure))
    axes = (*over, values.axis)
    if isinstance(values, Queue):
        if initially is not None:
            raise DeclarationError("a queue is empty initially; leave initially= out, and fill it in @initial")
        return Field(axes, values.values, values.filler, values)
    if initially is None or initially is values.of:
        return Field(axes, values.values, int(initially is not None), values)
    if not isinstance(initially, set | frozenset) or any(plain(one) is None for one in initially):
        what = f"a set is initially {shown(initially)}"
        raise DeclarationError(f"{what}; give a set of numbers, or {values.of.__name__} for all")
    return Field(axes, values.values, 0, values, frozenset(map(number, initially)))


# ----------------------------------------------------------------------------------------------- actions and properties


class Kind(Enum):
    """The kind of a decorated function."""

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
"""The kinds of properties of endless behaviours: what happens eventually."""

WHOLE = (Kind.ALWAYS_POSSIBLE, *LIVENESS)
"""The kinds of properties that only a search of every reachable state judges."""

PROPERTIES = (Kind.ALWAYS, Kind.ALWAYS_STEP, Kind.SOMETIMES, *WHOLE)
"""The kinds of properties that a search judges."""

INDUCTIVE = (Kind.ALWAYS, Kind.ALWAYS_STEP, Kind.LEMMA)
"""The kinds of properties that can be proved by induction: the other kinds say that a state can be reached."""


@dataclass(frozen=True)
class Mark:
    """The information that a decorator attaches to a function, in the attribute `isrcheck`."""

    kind: Kind
    permitted: Callable[..., Any] | None = None
    applies: Callable[[Any], bool] | None = None
    shows: str | None = None
    every_length: bool = False
    when: Callable[..., Any] | None = None
    fair: Any = None


def mark_of(function: Any) -> Mark | None:
    """The mark that a decorator attached to `function`, or None."""
    try:
        mark = getattr(function, "isrcheck", None)
    except Exception:  # an object of the model's file whose attributes cannot be read
        return None
    return mark if isinstance(mark, Mark) else None


def is_marking(function: object) -> bool:
    """Whether `function` is a decorator of the language: it attaches a mark to a function and returns the function."""
    return type(function) is FunctionType and function.__code__.co_filename == _marking.__code__.co_filename


def _marking(mark: Mark) -> Callable[[Any], Any]:
    def mark_function(function: Any) -> Any:
        if mark_of(function) is not None:  # a property would silently become a lemma
            raise DeclarationError(f"{function.__name__} has two of the language's decorators; keep one")
        function.isrcheck = mark
        return function

    return mark_function


def action(function: Any = None, *, shows: str | None = None, fair: bool | str | Sequence[str] = False) -> Any:
    """An action of the protocol: guards with `require(...)`, then writes in place. Each combination of values of its
    parameters is one step.

    `shows` is the format of the printed arguments, as in `@action(shows="{leader} from {follower}")`. With `fair=True`,
    liveness properties assume that a step of the action is eventually taken if one stays possible (weak fairness);
    `fair` may also name parameters, for each of whose values this is assumed (`Fairness`).
    """
    mark = _marking(Mark(Kind.ACTION, shows=shows, fair=fair))
    return mark if function is None else mark(function)


def _property(kind: Kind) -> Callable[..., Any]:
    def decorate(
        function: Any = None,
        *,
        permitted: Callable[..., Any] | None = None,
        applies: Callable[[Any], bool] | None = None,
        every_length: bool = False,
    ) -> Any:
        if function is not None:
            return _marking(Mark(kind))(function)
        return _marking(Mark(kind, permitted, applies, every_length=every_length))

    return decorate


always = _property(Kind.ALWAYS)
"""A property of every reachable state.

`permitted` is a predicate of the state: it is true if the path contains something for which the configuration promises
nothing; a failure is then PERMITTED instead of VIOLATED. `applies` is a predicate of the configuration: if it is false,
the property is not checked and its verdict is n/a. With `every_length`, the prover looks for a proof in which all
bounds declared with `is_open` are arbitrary, such as a proof for logs of every length.
"""

always_step = _property(Kind.ALWAYS_STEP)
"""A property of every transition: its function takes `before`, `after` and, optionally, the action `taken`."""

sometimes = _property(Kind.SOMETIMES)
"""A state (or, with `before, after[, taken]`, a transition) that must be reachable; guards against a vacuous model."""

always_possible = _property(Kind.ALWAYS_POSSIBLE)
"""A state that must stay reachable: from every reachable state, some path leads to a state in which it is true.

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
        mark = _marking(Mark(kind, permitted, applies, fair=fair))
        return mark if function is None else mark(function)

    return decorate


eventually = _liveness(Kind.EVENTUALLY)
"""A state that every behaviour reaches: <>P in the notation of TLA+.

Behaviours are endless, may stutter, and are weakly fair to some steps (see below): `fair` lists them;
without it, those of the actions declared with `@action(fair=...)` count. The counterexample is a path from which a
behaviour never reaches the state: it ends in a loop, or in a state where it stays. `permitted` is evaluated in the
states of the loop in which the property is false.
"""

always_eventually = _liveness(Kind.ALWAYS_EVENTUALLY)
"""A state that every behaviour reaches again and again: []<>P. The rest is as for `eventually`."""

eventually_always = _liveness(Kind.EVENTUALLY_ALWAYS)
"""A state that every behaviour eventually reaches and never leaves again: <>[]P. The rest is as for `eventually`."""


def leads_to(
    function: Any = None,
    *,
    when: Callable[..., Any] | None = None,
    permitted: Callable[..., Any] | None = None,
    applies: Callable[[Any], bool] | None = None,
    fair: Any = None,
) -> Any:
    """A state that every behaviour reaches once the premise `when`, a function of the state, is true: when ~> P.

    The state in which the premise is true may itself be this state. The rest is as for `eventually`.
    """
    if when is None:
        name = "" if function is None else f" of {function.__name__}"
        raise DeclarationError(f"leads_to{name} has no premise; write @leads_to(when=f) with a function f of the state")
    return _marking(Mark(Kind.LEADS_TO, permitted, applies, when=when, fair=fair))


lemma = _property(Kind.LEMMA)
"""A property of every reachable state that is not promised to users, but helps to prove the promised properties.

`applies` is a predicate of the configuration: if it is false, proofs do without the lemma.
"""


def initial(function: Any) -> Any:
    """Mark a function that makes initial states, in one of two forms.

    A function of `s` is in the modelling language and follows the rules of an action: each combination of values of its
    parameters with which it is enabled makes one initial state of the default state, in which every field has its
    declared initial value. Their order is that of the arguments; a repeated state does not count again. A model may
    have several such functions, one after the other.

    A function of the configuration is plain Python outside the language, and yields dictionaries {field: value}: it is
    evaluated once. Arrays are nested lists; a missing field keeps its declared initial value.

    Every engine receives the initial states as data.
    """
    return _marking(Mark(Kind.INITIAL))(function)


def terminal(function: Any) -> Any:
    """Mark a predicate of a state: where it is true, a state without a step is an intended end, not a deadlock.

    A model may declare several predicates; one true predicate is enough. They are evaluated only in states without a
    step.
    """
    return _marking(Mark(Kind.TERMINAL))(function)


def constraint(function: Any) -> Any:
    """Mark a predicate of a state: a search goes on only from states in which it is true (TLC's CONSTRAINT).

    A model may declare several predicates; all must be true. Initial states outside the constraint are dropped.
    """
    return _marking(Mark(Kind.CONSTRAINT))(function)


def contradiction(function: Any) -> Any:
    """Mark a predicate that is true for impossible configurations; its docstring is the error message.

    The predicate is plain Python outside the modelling language, evaluated before the search starts.
    """
    return _marking(Mark(Kind.CONTRADICTION))(function)


# ------------------------------------------------------------------------------------------------------------- fairness
#
# Weak fairness says which steps are taken eventually, if they stay possible (models/fair_groups.py finds them).
#
# A behaviour is an endless sequence of states, in which each state follows from the one before by a step or is the same
# (it *stutters*). A step that leaves the state unchanged does not count as a step. A behaviour is weakly fair to a
# group of steps unless from some moment on a step of the group is possible in every state, and none of its steps is
# ever taken. In TLA+, this is WF_vars(A) for the action A that is the disjunction of the steps.


Domains = Mapping[str, Any]
"""The parameters of an action, each with its domain."""


@dataclass(frozen=True)
class WeakFairness:
    """What `fair=` of a property may contain: actions (functions or names; none: all), and the parameters for each of
    whose values a behaviour is fair separately."""

    actions: tuple[Any, ...]
    each: tuple[Any, ...] = ()


def weak_fairness(*actions: Any, each: str | Sequence[str] = ()) -> WeakFairness:
    """Declare that a step of these actions is eventually taken, if one of them stays possible: WF_vars(A \\/ B).

    `each` names parameters of the actions: fairness is then declared for each of their values separately, as in
    \\A p : WF_vars(A(p)). An action is given as its function or by its name.
    """
    if not actions:
        raise DeclarationError("weak_fairness() names no action; name one, or write any_action")
    return WeakFairness(actions, names_of(each))


any_action = WeakFairness(())
"""The steps of all actions together: WF_vars(Next). A behaviour stutters for ever only where no step is possible."""


def names_of(each: Any) -> tuple[Any, ...]:
    """The names of parameters, given as one name or several."""
    if isinstance(each, str):
        return (each,)
    return tuple(each) if isinstance(each, list | tuple) else (each,)


@dataclass(frozen=True)
class Fairness:
    """Weak fairness to a disjunction of actions, given by their names, for each value of the parameters `each`.

    Without names, the steps of all actions are meant.
    """

    actions: tuple[str, ...]
    each: tuple[str, ...] = ()


def checked(
    given: Any, where: str, names: Mapping[Any, str], actions: Mapping[str, Domains], cure: Callable[[str], str]
) -> tuple[Fairness, ...]:
    """Return the `fair=` of a property, checked. Raises LanguageError that begins with `where`.

    `names` maps the functions of actions to the names of the actions, `actions` has the parameters of each action, and
    `cure` answers an unknown name.
    """
    found = []
    for one in given if isinstance(given, list | tuple) else [given]:
        asked = one if isinstance(one, WeakFairness) else WeakFairness((one,))
        chosen: list[str] = []
        for action in asked.actions:
            name = action if isinstance(action, str) else names.get(action) if type(action) is FunctionType else None
            if name is None or name not in actions:
                called = escaped(name or getattr(action, "__name__", None) or str(action))
                raise LanguageError(f"{where}: fair= names {called}, which is no action; {cure(called)}")
            chosen.append(name)
        _refuse_parameters(asked.each, where, {name: actions[name] for name in chosen})
        found.append(Fairness(tuple(chosen), asked.each))
    return tuple(found)


def checked_of_action(given: Any, where: str, name: str, parameters: Domains) -> tuple[Fairness, ...]:
    """Return the `fair=` of an action, checked: True, or the parameters for each of whose values it is fair. Raises
    LanguageError that begins with `where`."""
    if given is False:
        return ()
    each = () if given is True else names_of(given)
    _refuse_parameters(each, where, {name: parameters})
    return (Fairness((name,), each),)


def _refuse_parameters(each: Sequence[Any], where: str, actions: Mapping[str, Domains]) -> None:
    for action, domains in actions.items():
        for name in each:
            if name not in domains:
                have = f"its parameters are {', '.join(domains)}" if domains else "it has none"
                raise LanguageError(
                    f"{where}: fair= names {escaped(str(name))}, which is no parameter of {action}; {have}"
                )
            first = next(iter(actions))
            if domains[name] is not actions[first][name]:
                raise LanguageError(
                    f"{where}: fair= is for each {name}, whose domain is not the same in {first} and {action};"
                    " give both the same domain"
                )
