"""The words that a model file is written in: configuration, domains, state fields, actions, properties.

In:  a model file that uses these names.
Out: plain declarations, collected by `models/language/model.py` and read by every engine.

Nothing here computes anything about a protocol: a declaration is data, and the decorated functions stay the plain
Python functions that they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum
from types import FunctionType
from typing import Any, ClassVar

from isrcheck.models.language.text.plain import members_of, number

CELL_LOW, CELL_HIGH = -128, 127
"""What one cell of a state, and one run-time value, can hold in every engine."""

NONE = -1
"""The value of an `optional(...)` field or entry that holds nothing."""

Size = int | str | Callable[[Any], int]
"""A number known once the configuration is: itself, the name of a configuration entry, or a function of it."""


class Disabled(Exception):
    """Raised by `require` in plain CPython: the step is not enabled in this state."""


def require(condition: object) -> None:
    """Guard an action: where `condition` is false the step does not exist. Guards come before the first write."""
    if not condition:
        raise Disabled


# ---------------------------------------------------------------------------------------------------- configuration


@dataclass(frozen=True)
class Entry:
    """One entry of a configuration.

    A `bound` shapes the state (array sizes, value ranges); a `setting` or `switch` is a run-time value, so that one
    compiled kernel serves every protocol and client setting of one shape.
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

    def __post_init__(self) -> None:
        for name in ("default", "least", "most"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else number(value))
        if self.least > self.default or (self.most is not None and self.default > self.most):
            raise ValueError(f"its default {self.default} is outside {self.least}..{self.most}")
        if not self.is_bound and not (self.least >= CELL_LOW and self.most is not None and self.most <= CELL_HIGH):
            raise ValueError(f"{self.least}..{self.most} is too wide: a setting holds {CELL_LOW}..{CELL_HIGH}")


def bound(
    default: int,
    says: str,
    *,
    least: int = 0,
    most: int | None = None,
    option: str | None = None,
    is_open: bool = False,
) -> Any:
    """A number that shapes the state, from `least` to `most`; `option` is its own flag on the command line.

    One that is open is left open by proofs for every length, as budgets and settings are
    (checker/proofs/unbounded_abstraction.py).
    """
    return Entry(default, says, True, None, least, most, option, is_open=is_open)


def budget(default: int, says: str, *, shapes: bool = False, option: str | None = None) -> Any:
    """How many faults (or rare events) of a kind a history may have; every verdict lists them.

    A run-time value like a setting, unless it `shapes` the state like a bound.
    """
    return Entry(default, says, shapes, None, 0, None if shapes else 127, option, is_budget=True, is_open=True)


def setting(
    default: int,
    says: str,
    *,
    values: type[IntEnum] | None = None,
    least: int = 0,
    most: int = 127,
    option: str | None = None,
) -> Any:
    """A run-time number, or a name out of `values`."""
    if values is not None:
        least, most = _ends(values)
    return Entry(default, says, False, values, least, most, option, is_open=True)


def switch(default: bool | IntEnum, says: str) -> Any:
    """A protocol switch: on/off, or a name out of the enumeration of its default. Set by `--switch NAME=VALUE`."""
    if isinstance(default, bool):
        return Entry(default, says, False, bool, 0, 1, None)
    kind = type(default)
    return Entry(default, says, False, kind, *_ends(kind), None)


def _ends(values: type[IntEnum]) -> tuple[int, int]:
    """The least and the greatest value of an enumeration, every number between which has a name."""
    numbers = set(members_of(values).values())
    low, high = min(numbers), max(numbers)
    if numbers != set(range(low, high + 1)):
        raise TypeError(f"{values.__name__} leaves numbers out between {low} and {high}; number its members one by one")
    return low, high


# ---------------------------------------------------------------------------------------------------------- domains


class Domain:
    """A finite set 0..size-1, named by a class, over which a parameter or an array index ranges.

    `class Replica(Domain, size="replicas")` declares one; `letters=True` prints its elements as a, b, c, ...
    """

    size: ClassVar[Size]
    letters: ClassVar[bool] = False

    def __init_subclass__(cls, size: Size = 0, letters: bool = False) -> None:
        cls.size = size
        cls.letters = letters


class Subset:
    """All subsets of a domain: a parameter of this kind is indexed with an element and says whether it is in.

    `class ReplicaSet(Subset, of=Replica)` declares one. Its values are ordered as binary numbers whose bit i says
    whether element i is in.
    """

    of: ClassVar[type[Domain]]

    def __init_subclass__(cls, of: type[Domain]) -> None:
        cls.of = of


@dataclass(frozen=True)
class LastOf:
    """The last element of a domain, known once the configuration is."""

    domain: type[Domain]

    def __call__(self, configuration: Any) -> int:
        """Its number; -1 where the domain is empty."""
        return size_of(self.domain.size, configuration) - 1


@dataclass(frozen=True)
class Values:
    """The values that one cell of a field can take: low..high, or the members of an enumeration, or a truth value."""

    low: Size
    high: Size
    names: type[IntEnum] | None = None
    is_flag: bool = False
    letters: bool = False
    none: bool = False


Flag = Values(0, 1, is_flag=True)
"""The values of a field that is true or false."""


def between(low: Size, high: Size) -> Values:
    """The numbers low..high, both included."""
    return Values(low, high)


def optional(values: type[Domain] | Values) -> Values:
    """The given values, or NONE."""
    inner = as_values(values)
    if inner.names is not None:
        raise TypeError(f"optional() takes no IntEnum: give {inner.names.__name__} a member that stands for nothing")
    if inner.is_flag:
        raise TypeError("optional() takes no Flag: use an IntEnum with a member that stands for nothing")
    if inner.none:
        raise TypeError("optional() of what is optional already; write it once")
    if inner.low != 0:
        raise TypeError(f"optional() takes a domain or numbers that start at 0, and these start at {inner.low}")
    return Values(NONE, inner.high, letters=inner.letters, none=True)


def as_values(values: type[Domain] | type[IntEnum] | Values) -> Values:
    """Read a domain or an enumeration as the values of a cell."""
    if isinstance(values, Values):
        return values
    if issubclass(values, Domain):
        return Values(0, LastOf(values), letters=values.letters)
    return Values(*_ends(values), names=values)


def size_of(size: Size, configuration: Any) -> int:
    """The number that `size` stands for under `configuration`."""
    if isinstance(size, str):
        return int(getattr(configuration, size))
    return number(size) if isinstance(size, int) else int(size(configuration))


# ------------------------------------------------------------------------------------------------------------ state


@dataclass(frozen=True)
class Field:
    """One declared field of the state: an array over `over` (none: a single cell) whose cells take `values`."""

    over: tuple[type[Domain], ...]
    values: Values
    initially: int


def field(*over: type[Domain], values: type[Domain] | type[IntEnum] | Values, initially: int | bool = 0) -> Any:
    """Declare a field of the state: the domains of its indices, its values, and what every cell starts with."""
    for domain in over:
        if not (isinstance(domain, type) and issubclass(domain, Domain)):
            raise TypeError(f"a field is indexed by domains, and {domain!r} is none")
    return Field(over, as_values(values), int(initially))


# -------------------------------------------------------------------------------------------- actions and properties


class Kind(Enum):
    """What a decorated function is."""

    ACTION = "action"
    ALWAYS = "always"
    ALWAYS_STEP = "always_step"
    SOMETIMES = "sometimes"
    INITIAL = "initial"
    CONTRADICTION = "contradiction"
    LEMMA = "lemma"


@dataclass(frozen=True)
class Mark:
    """What a decorator notes on a function, under the attribute `isrcheck`."""

    kind: Kind
    permitted: Callable[..., Any] | None = None
    applies: Callable[[Any], bool] | None = None
    shows: str | None = None
    every_length: bool = False


def mark_of(function: Any) -> Mark | None:
    """The note that a decorator left on `function`, or None."""
    try:
        mark = getattr(function, "isrcheck", None)
    except Exception:  # an object of the model's file that does not like to be asked
        return None
    return mark if isinstance(mark, Mark) else None


def is_marking(function: object) -> bool:
    """Whether this is a decorator of the language, which notes something on a function and gives it back."""
    return type(function) is FunctionType and function.__code__.co_filename == _marking.__code__.co_filename


def _marking(mark: Mark) -> Callable[[Any], Any]:
    def mark_function(function: Any) -> Any:
        if mark_of(function) is not None:  # a promise would become a lemma, and nobody told
            raise TypeError(f"{function.__name__} has two decorators of the language; keep one")
        function.isrcheck = mark
        return function

    return mark_function


def action(function: Any = None, *, shows: str | None = None) -> Any:
    """A step of the protocol: `require(...)` guards first, then writes in place. Its parameters are its choices.

    `shows` says how its arguments are printed, as in `@action(shows="{leader} from {follower}")`.
    """
    mark = _marking(Mark(Kind.ACTION, shows=shows))
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

`permitted` is a function of the state: where it is true, the history has used something for which the configuration
promises nothing, and a failure is PERMITTED rather than VIOLATED. `applies` is a function of the configuration: where
it is false the mechanism is off, and the verdict is n/a. With `every_length` a proof is looked for that leaves open how
much there is of everything that is_open: a proof for logs of every length.
"""

always_step = _property(Kind.ALWAYS_STEP)
"""A property of every transition: a function of `before`, `after` and, if it asks for it, the action `taken`."""

sometimes = _property(Kind.SOMETIMES)
"""A state (or, with `before, after[, taken]`, a transition) that must be reachable: guards against a vacuous model."""


lemma = _property(Kind.LEMMA)
"""A property of every reachable state that nobody is promised, and that helps to prove those that somebody is.

`applies` is a function of the configuration: where it is false, the lemma is not claimed.
"""


def initial(function: Any) -> Any:
    """The initial states: a function of the configuration that yields one dictionary {field: value} per state.

    Plain Python, outside the closed language: it is enumerated once and given to every engine as data. Arrays are
    nested lists; a field that is left out keeps what its declaration says.
    """
    return _marking(Mark(Kind.INITIAL))(function)


def contradiction(function: Any) -> Any:
    """A question about a configuration that is impossible where the answer is yes: its docstring says why.

    Plain Python, outside the closed language; asked before anything is explored.
    """
    return _marking(Mark(Kind.CONTRADICTION))(function)
