"""The declarations of a model file: configuration, domains, state fields, actions, properties.

In:  a model file that uses these declarations.
Out: plain values, which `models/language/model.py` collects and every engine reads.

Nothing here computes anything about a protocol: declarations are data, and decorated functions stay plain Python
functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from types import FunctionType
from typing import Any, ClassVar

from isrcheck.models.language.text.plain import members_of, number

CELL_LOW, CELL_HIGH = -(1 << 31), (1 << 31) - 1
"""The widest range of one cell of a state, and of one run-time value, in every engine: 32 bits with a sign."""

BYTES_OF_CELLS = (1, 2, 4)
"""The possible numbers of bytes of a cell or a run-time value outside the visited set (see `bytes_of`)."""

NONE = -1
"""The value of an empty `optional(...)` field or configuration entry."""

MOST_BY_DEFAULT = 127
"""The greatest value of a setting or budget that declares none: a narrow range keeps values in one byte."""

Size = int | str | Callable[[Any], int]
"""A number: a constant, the name of a configuration entry, or a function that takes the configuration."""


class Disabled(Exception):
    """Raised by `require` in plain CPython: the step is not enabled in this state."""


def require(condition: object) -> None:
    """Guard an action: if `condition` is false, the step is not enabled. Guards come before the first write."""
    if not condition:
        raise Disabled


# -------------------------------------------------------------------------------------------------------- configuration


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

    def __post_init__(self) -> None:
        for name in ("default", "least", "most"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else number(value))
        if self.least > self.default or (self.most is not None and self.default > self.most):
            raise ValueError(f"the default {self.default} is outside {self.least}..{self.most}; change one of them")
        if not self.is_bound and not (self.least >= CELL_LOW and self.most is not None and self.most <= CELL_HIGH):
            raise ValueError(
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
        least, most = _ends(values)
    return Entry(default, says, shapes, values, least, most, option, is_open=not shapes)


def switch(default: bool | IntEnum, says: str, *, shapes: bool = False) -> Any:
    """Declare a protocol switch (`--switch NAME=VALUE`): on or off, or a member of the enumeration of `default`.

    A switch is a run-time value, unless it `shapes` the state like a bound: then each of its values has a kernel of its
    own, without the actions and fields that only the other values need.
    """
    if isinstance(default, bool):
        return Entry(default, says, shapes, bool, 0, 1, None)
    kind = type(default)
    return Entry(default, says, shapes, kind, *_ends(kind), None)


def _ends(values: type[IntEnum]) -> tuple[int, int]:
    """The least and the greatest number of an enumeration. Raises TypeError if a number between them has no member."""
    numbers = set(members_of(values).values())
    low, high = min(numbers), max(numbers)
    if numbers != set(range(low, high + 1)):
        raise TypeError(
            f"{values.__name__} has no member for some number in {low}..{high}; number its members without gaps"
        )
    return low, high


# -------------------------------------------------------------------------------------------------------------- domains


class _Elements(type):
    """The type of domains, whose elements depend on the configuration: only the functions of a model know them."""

    def __iter__(cls) -> Iterator[int]:
        raise TypeError(f"{cls.__name__} has elements only in actions and properties; use range(...) here")

    def __len__(cls) -> int:
        raise TypeError(f"{cls.__name__} has a size only in actions and properties; use the configuration here")

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
        cls.size = size
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


@dataclass(frozen=True)
class Values:
    """The values that one cell of a field can hold: low..high, the members of an enumeration, or truth values."""

    low: Size
    high: Size
    names: type[IntEnum] | None = None
    is_flag: bool = False
    letters: bool = False
    none: bool = False


Flag = Values(0, 1, is_flag=True)
"""The values of a Boolean field."""


def between(low: Size, high: Size) -> Values:
    """The numbers from `low` to `high`, both included."""
    return Values(low, high)


def optional(values: type[Domain] | Values) -> Values:
    """The given values, or NONE."""
    inner = as_values(values)
    if inner.names is not None:
        raise TypeError(f"optional() takes no IntEnum: give {inner.names.__name__} a member that means 'none'")
    if inner.is_flag:
        raise TypeError("optional() takes no Flag: use an IntEnum with a member that means 'none'")
    if inner.none:
        raise TypeError("optional(optional(...)) is not allowed; write optional(...) once")
    if inner.low != 0:
        raise TypeError(f"optional() takes a domain or numbers that start at 0, not at {inner.low}; start them at 0")
    return Values(NONE, inner.high, letters=inner.letters, none=True)


def as_values(values: type[Domain] | type[IntEnum] | Values) -> Values:
    """Convert a domain or an enumeration to the values of a cell."""
    if isinstance(values, Values):
        return values
    if issubclass(values, Domain):
        return Values(0, LastOf(values), letters=values.letters)
    return Values(*_ends(values), names=values)


def size_of(size: Size, configuration: Any) -> int:
    """The value of `size` under `configuration`."""
    if isinstance(size, str):
        return int(getattr(configuration, size))
    return number(size) if isinstance(size, int) else int(size(configuration))


def bytes_of(low: int, high: int) -> int:
    """The least number of bytes, 1, 2 or 4, in which a signed number holds every value of low..high."""
    return next(size for size in BYTES_OF_CELLS if -(1 << 8 * size - 1) <= low and high < 1 << 8 * size - 1)


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
"""The kinds of properties of endless behaviours: what happens at last."""

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
            raise TypeError(f"{function.__name__} has two of the language's decorators; keep one")
        function.isrcheck = mark
        return function

    return mark_function


def action(function: Any = None, *, shows: str | None = None, fair: bool | str | Sequence[str] = False) -> Any:
    """An action of the protocol: guards with `require(...)`, then writes in place. Each combination of values of its
    parameters is one step.

    `shows` is the format of the printed arguments, as in `@action(shows="{leader} from {follower}")`. With `fair=True`,
    liveness properties assume that a step of the action is taken at last if one stays possible (weak fairness); `fair`
    may also name parameters, for each of whose values this is assumed (models/language/fairness.py).
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
first of these stuck states is the counterexample. `permitted` is asked in the stuck state, as for `always`.
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

Behaviours are endless, may stutter, and are weakly fair to some steps (models/language/fairness.py): `fair` lists them;
without it, those of the actions declared with `@action(fair=...)` count. The counterexample is a path from which a
behaviour never reaches the state: it ends in a loop, or in a state where it stays. `permitted` is asked in the states
of the loop in which the property is false.
"""

always_eventually = _liveness(Kind.ALWAYS_EVENTUALLY)
"""A state that every behaviour reaches again and again: []<>P. The rest is as for `eventually`."""

eventually_always = _liveness(Kind.EVENTUALLY_ALWAYS)
"""A state that every behaviour reaches at last and never leaves again: <>[]P. The rest is as for `eventually`."""


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
        raise TypeError(f"leads_to{name} has no premise; write @leads_to(when=f) with a function f of the state")
    return _marking(Mark(Kind.LEADS_TO, permitted, applies, when=when, fair=fair))


lemma = _property(Kind.LEMMA)
"""A property of every reachable state that is not promised to users, but helps to prove the promised properties.

`applies` is a predicate of the configuration: if it is false, proofs do without the lemma.
"""


def initial(function: Any) -> Any:
    """Mark a function that makes initial states, in one of two forms.

    A function of `s` is in the modelling language and follows the rules of an action: each combination of values of its
    parameters with which it is enabled makes one initial state of the default state, in which every field has its
    declared initial value. Their order is that of the arguments; a state that was made before does not count again. A
    model may have several such functions, one after the other.

    A function of the configuration is plain Python outside the language, and yields dictionaries {field: value}: it is
    evaluated once. Arrays are nested lists; a missing field keeps its declared initial value.

    Every engine receives the initial states as data.
    """
    return _marking(Mark(Kind.INITIAL))(function)


def terminal(function: Any) -> Any:
    """Mark a predicate of a state: where it is true, a state without a step is an intended end, not a deadlock.

    A model may declare several; one that is true is enough. It is evaluated only in states without a step.
    """
    return _marking(Mark(Kind.TERMINAL))(function)


def constraint(function: Any) -> Any:
    """Mark a predicate of a state: a search goes on only from states in which it is true (TLC's CONSTRAINT).

    A model may declare several; all of them must be true. Initial states outside are dropped.
    """
    return _marking(Mark(Kind.CONSTRAINT))(function)


def contradiction(function: Any) -> Any:
    """Mark a predicate that is true for impossible configurations; its docstring is the error message.

    The predicate is plain Python outside the modelling language, evaluated before the search starts.
    """
    return _marking(Mark(Kind.CONTRADICTION))(function)
