"""The declarations of a model file: configuration, domains, state fields, actions, properties.

In:  a model file that uses these declarations.
Out: plain values, which `models/language/model.py` collects and every engine reads.

Nothing here computes anything about a protocol: declarations are data, and decorated functions stay plain Python
functions.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cached_property
from types import FunctionType
from typing import Any, ClassVar

from isrcheck.models.language.declarations.contents import QueueCells, SetCells
from isrcheck.models.language.declarations.values import Flag, Size, Values
from isrcheck.models.language.text.plain import (
    VALUES,
    DeclarationError,
    all_named,
    checked_number,
    checked_size,
    declared_in,
    ends_of,
    filler_below,
    not_taken,
    number,
    plain,
    refuse_as_optional,
    shown,
    size_of,
)

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
class Set(SetCells):
    """What a field holds: any set of elements of a domain, or of members of an IntEnum that are numbered from 0."""

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


@dataclass(frozen=True, eq=False, repr=False)
class Queue(QueueCells):
    """What a field holds: a queue of at most `most` elements, each one of the values `of`."""

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


Contents = Set | Queue
"""What a field can hold besides single values."""


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
    `initially` the given value (0 if none is given), or a set, queue or record.

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
            raise DeclarationError(f"{function.__name__} has two of the language's decorators; keep one")
        function.isrcheck = mark
        return function

    return mark_function


def action(function: Any = None, *, shows: str | None = None, fair: bool | str | Sequence[str] = False) -> Any:
    """An action of the protocol: guards with `require(...)`, then writes in place. Each combination of values of its
    parameters is one step.

    `shows` is the format of the printed arguments, as in `@action(shows="{leader} from {follower}")`. With `fair=True`,
    liveness properties assume that a step of the action is taken at last if one stays possible (weak fairness); `fair`
    may also name parameters, for each of whose values this is assumed (models/language/declarations/fairness.py).
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

Behaviours are endless, may stutter, and are weakly fair to some steps (fairness.py): `fair` lists them;
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
