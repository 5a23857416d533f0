"""A breadth-first search that is independent of the engines, with its own definition of the language's semantics.

In:  a `Program`, values of its configuration, a protocol, swapped actions.
Out: a `PlainSystem`: the functions of the program as CPython runs them; and a `PlainSearch`: the expected results.

This module uses nothing of models/, so that errors of the reference semantics are found as well.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from isrcheck.conformance.fuzz.program import LIBRARY, SECOND, SWITCHES, Program

Cells = tuple[int, ...]
Path = tuple[int, tuple[int, ...]]
"""The position of an initial state, and the numbers of steps."""

NOTHING_HOLDS = -1
ERROR = "in_range"
DEADLOCK = "deadlock"


class NotEnabled(Exception):
    """A step is not enabled, because a guard is false."""


class OutOfRange(Exception):
    """An index or a written value is outside its range."""


# ---------------------------------------------------------------------------------------------- names of the language


class Elements(type):
    """The type of domains: each has its elements, once a system has set their number."""

    def __iter__(cls) -> Iterator[int]:
        return iter(range(vars(cls)["number"]))

    def __len__(cls) -> int:
        return int(vars(cls)["number"])

    def __contains__(cls, number: int) -> bool:
        return number in range(vars(cls)["number"])

    def __bool__(cls) -> bool:
        return True


class Domain(metaclass=Elements):
    """The base class of domains; a size is a number, the name of an entry, or a function of the configuration."""

    size: Any
    number: int

    def __init_subclass__(cls, size: Any = 0, letters: bool = False) -> None:
        cls.size = size


class Subset:
    """The base class of parameters that are subsets of a domain."""

    of: Any

    def __init_subclass__(cls, of: Any) -> None:
        cls.of = of


def require(condition: object) -> None:
    """Guard an action. Raises NotEnabled."""
    if not condition:
        raise NotEnabled


def noted(kind: str) -> Callable[..., Any]:
    """A decorator that marks a function with a kind and options, stored in its attribute `noted`."""

    def decorator(function: Any = None, **options: Any) -> Any:
        def note(function: Any) -> Any:
            function.noted = SimpleNamespace(kind=kind, **options)
            return function

        return note if function is None else note(function)

    return decorator


def entry(default: Any, says: str, **options: Any) -> Any:
    """Declare an entry of the configuration; only its default is used."""
    return SimpleNamespace(default=default, is_truth=isinstance(default, bool))


def optional(values: Any) -> Any:
    """The range that consists of these values and NONE."""
    return (NOTHING_HOLDS, ends_of(values)[1], False)


def ends_of(values: Any) -> tuple[Any, Any, bool]:
    """The smallest and the largest value, and whether the values are truth values."""
    if isinstance(values, tuple):
        return values
    if issubclass(values, Domain):
        return 0, lambda configuration: sized(values.size, configuration) - 1, False
    return min(map(int, values)), max(map(int, values)), False


def sized(size: Any, configuration: Any) -> int:
    """The number that a size stands for; a size may depend on the configuration."""
    if isinstance(size, str):
        return int(getattr(configuration, size))
    return int(size(configuration)) if callable(size) else int(size)


class Record:
    """The base class of records; a record as a value has its parts as attributes."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


def declared_field(*over: Any, values: Any, initially: Any = 0) -> Any:
    """Declare a field. The cells of a set are an array over its domain, which comes after the field's own domains."""
    held = values.of if isinstance(values, SimpleNamespace) else values
    if isinstance(held, type) and issubclass(held, Record):
        return SimpleNamespace(ends=None, over=over, record=held, most=getattr(values, "most", None))
    if not isinstance(values, SimpleNamespace):
        return SimpleNamespace(over=over, ends=ends_of(values), initially=initially, holds="value")
    if values.most is not None:
        low, high, _ = ends_of(values.of)
        places = SimpleNamespace(size=values.most)
        return SimpleNamespace(over=(*over, places), ends=(low - 1, high, False), initially=low - 1, holds="queue")
    axis = values.of if issubclass(values.of, Domain) else SimpleNamespace(size=len(list(values.of)))
    start = set(range(99)) if initially is values.of else initially or set()
    return SimpleNamespace(over=(*over, axis), ends=(0, 1, True), initially=start, holds="set")


KINDS = ("always", "always_step", "sometimes", "always_possible")
"""The decorators of properties."""

ENDLESS = ("eventually", "leads_to", "always_eventually", "eventually_always")
"""The decorators of liveness properties, which fair_loops.py judges."""


@dataclass(frozen=True)
class PlainFairness:
    """A fairness assumption of a program."""

    actions: tuple[Any, ...]
    """The actions (none: all)."""
    each: str | tuple[str, ...] = ()
    """The parameters for each of whose values a behaviour is fair by itself."""
    is_strong: bool = False
    """Whether it is strong fairness."""
    when: Callable[..., Any] | None = None
    """The condition under which a step counts."""


WORDS: Mapping[str, Any] = {
    **dict.fromkeys(("bound", "budget", "setting", "switch"), entry),
    **{kind: noted(kind) for kind in ("action", *KINDS, *ENDLESS, "lemma")},
    **{kind: noted(kind) for kind in ("initial", "contradiction", "terminal", "constraint")},
    "Domain": Domain,
    "Subset": Subset,
    "Flag": (0, 1, True),
    "any_action": PlainFairness(()),
    "weak_fairness": lambda *actions, each=(), when=None: PlainFairness(actions, each, False, when),
    "strong_fairness": lambda *actions, each=(), when=None: PlainFairness(actions, each, True, when),
    "NONE": NOTHING_HOLDS,
    "between": lambda low, high: (low, high, False),
    "optional": optional,
    "require": require,
    "Set": lambda of: SimpleNamespace(of=of, most=None),
    "Queue": lambda of, most: SimpleNamespace(of=of, most=most),
    "Record": Record,
    "field": declared_field,
}


def executed(text: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """The names that a module defines when it runs; `names` take the place of its imports."""
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if not isinstance(node, ast.ImportFrom) or node.module == "enum"]
    found = dict(names)
    exec(compile(tree, "<plain>", "exec", dont_inherit=True), found)
    return found


def _imported(text: str, library: Mapping[str, Any]) -> dict[str, Any]:
    """What a model file imports from its library, by the names that it has there."""
    imports = [one for one in ast.parse(text).body if isinstance(one, ast.ImportFrom)]
    of_library = [one for one in imports if (one.module or "").endswith(f"_{LIBRARY}")]
    return {alias.asname or alias.name: library[alias.name] for one in of_library for alias in one.names}


# --------------------------------------------------------------------------------------------------------- the state


@dataclass(frozen=True)
class PlainField:
    """A field of the state."""

    sizes: tuple[int, ...]
    """The number of values of each index."""
    low: int
    """The least value of a cell."""
    high: int
    """The greatest value of a cell."""
    is_truth: bool
    """Whether its values are truth values."""
    first: int
    """The position of its first cell in the state."""
    holds: str = "value"
    """What an element is: a value, a set or a queue."""


class State:
    """A state with fields as attributes, as the functions of a program use it."""

    def __init__(self, system: PlainSystem, cells: Cells) -> None:
        self.__dict__.update(_system=system, _cells=list(cells))

    def __getattr__(self, name: str) -> Any:
        if name in self._system.groups:
            return PlainRecord(self, name, ())
        if name in self._system.places:
            return ArrayView(self, self._system.places[name], name, 0, 0).value()
        return getattr(self._system.configuration, name)

    def __setattr__(self, name: str, value: int) -> None:
        ArrayView(self, self._system.places[name], name, 0, 0).write(value)


class ArrayView:
    """A field with its first `depth` indices applied; `at` is the position in the state that they determine."""

    def __init__(self, state: State, place: PlainField, name: str, depth: int, at: int) -> None:
        self.state, self.place, self.name, self.depth, self.at = state, place, name, depth, at

    def _part(self, index: int) -> ArrayView:
        size = self.place.sizes[self.depth]
        if index < 0 or index >= size:
            raise OutOfRange(f"index {int(index)} of {self.name}")
        return ArrayView(self.state, self.place, self.name, self.depth + 1, self.at * size + int(index))

    def __getitem__(self, index: int) -> Any:
        return self._part(index).value()

    def __setitem__(self, index: int, value: int) -> None:
        self._part(index).write(value)

    def value(self) -> Any:
        """The value of the cell, or this view if indices are missing."""
        if self.depth < len(self.place.sizes):
            if self.depth + 1 < len(self.place.sizes) or self.place.holds == "value":
                return self
            return PlainSet(self) if self.place.holds == "set" else PlainQueue(self)
        found = self.state._cells[self.place.first + self.at]
        return found == 1 if self.place.is_truth else found

    def write(self, value: Any) -> None:
        """Write to the cell, or replace the set. Raises OutOfRange."""
        if self.depth < len(self.place.sizes):
            PlainSet(self).replace(value)
            return
        if not self.place.low <= value <= self.place.high:
            raise OutOfRange(f"{int(value)} to {self.name}")
        self.state._cells[self.place.first + self.at] = int(value)


class SetLike:
    """A set of numbers below `size` that can be compared; what it contains `now`."""

    size: int

    def now(self) -> set[int]:
        """The elements."""
        raise NotImplementedError

    def __contains__(self, element: int) -> bool:
        if element not in range(self.size):
            raise OutOfRange(f"{int(element)} as an element of a set")
        return element in self.now()

    def __iter__(self) -> Iterator[int]:
        for element in range(self.size):
            if element in self.now():
                yield element

    def __len__(self) -> int:
        return len(self.now())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SetLike) and self.now() == other.now()

    def __le__(self, other: SetLike) -> bool:
        return self.now().issubset(other.now())

    def __lt__(self, other: SetLike) -> bool:
        return self.now() < other.now()

    def __ge__(self, other: SetLike) -> bool:
        return self.now().issuperset(other.now())

    def __gt__(self, other: SetLike) -> bool:
        return self.now() > other.now()


class PlainSet(SetLike):
    """A set of a state."""

    def __init__(self, cells: ArrayView) -> None:
        self.cells = cells
        self.size = cells.place.sizes[-1]

    def now(self) -> set[int]:
        """The elements."""
        return {element for element in range(self.size) if self.cells[element]}

    def add(self, element: int) -> None:
        """Put an element into the set."""
        self.cells[element] = 1

    def discard(self, element: int) -> None:
        """Take an element out of the set."""
        self.cells[element] = 0

    def clear(self) -> None:
        """Make the set empty."""
        self.replace(set())

    def replace(self, elements: Any) -> None:
        """Make it contain these elements."""
        wanted = set(elements)
        for element in range(self.size):
            self.cells[element] = element in wanted
        for element in wanted:
            self.cells[element] = 1


class PlainQueue:
    """A queue of a state; the cells behind its last element hold a number below all elements."""

    def __init__(self, cells: ArrayView) -> None:
        self.cells = cells
        self.most = cells.place.sizes[-1]
        self.elements = [cells[place] for place in range(self.most) if cells[place] > cells.place.low]

    def keep(self) -> None:
        """Write the elements back to the state. Raises OutOfRange."""
        if len(self.elements) > self.most or any(one <= self.cells.place.low for one in self.elements):
            raise OutOfRange(f"{self.elements} in a queue of {self.most}")
        for place in range(self.most):
            self.cells[place] = self.elements[place] if place < len(self.elements) else self.cells.place.low

    def __len__(self) -> int:
        return len(self.elements)

    def __contains__(self, element: int) -> bool:
        return element in self.elements

    def __getitem__(self, place: int) -> int:
        if place not in range(len(self.elements)):
            raise OutOfRange(f"place {int(place)} of a queue")
        return int(self.elements[int(place)])

    def append(self, element: int) -> None:
        """Put an element behind the last one."""
        self.elements.append(element)
        self.keep()

    def popleft(self) -> int:
        """Take the first element out."""
        if not self.elements:
            raise OutOfRange("popleft of an empty queue")
        first = int(self.elements.pop(0))
        self.keep()
        return first

    def clear(self) -> None:
        """Take all elements out."""
        self.elements = []
        self.keep()


class PlainRecord:
    """Records of a state, with some of their indices."""

    def __init__(self, state: State, name: str, indices: tuple[int, ...]) -> None:
        self.__dict__.update(_of=(state, name, indices))

    def __getitem__(self, index: int) -> PlainRecord:
        state, name, indices = self._of
        return PlainRecord(state, name, (*indices, index))

    def __getattr__(self, part: str) -> Any:
        state, name, indices = self._of
        found = getattr(state, f"{name}.{part}")
        for index in indices:
            found = found[index]
        return found

    def __setattr__(self, part: str, value: Any) -> None:
        state, name, indices = self._of
        view = ArrayView(state, state._system.places[f"{name}.{part}"], part, 0, 0)
        for index in indices:
            view = view._part(index)
        view.write(value)

    def _queues(self) -> dict[str, Any]:
        state, name, _ = self._of
        return {part: getattr(self, part) for part in state._system.groups[name]}

    def __len__(self) -> int:
        return max(map(len, self._queues().values()))

    def append(self, record: Record) -> None:
        """Put a record behind the last one."""
        for part, queue in self._queues().items():
            queue.append(vars(record)[part])

    def popleft(self) -> None:
        """Take the first record out."""
        for queue in self._queues().values():
            queue.popleft()

    def clear(self) -> None:
        """Take all records out."""
        for queue in self._queues().values():
            queue.clear()


class Chosen(SetLike):
    """A subset as a function of a program sees it: indexed with an element, it says whether it contains the element."""

    def __init__(self, number: int, size: int) -> None:
        self.members = [number // 2**element % 2 == 1 for element in range(size)]
        self.size = size

    def now(self) -> set[int]:
        """The elements."""
        return {element for element, is_in in enumerate(self.members) if is_in}

    def __getitem__(self, element: int) -> bool:
        if element not in range(len(self.members)):
            raise OutOfRange(f"index {int(element)} of a subset")
        is_in: bool = self.members[int(element)]
        return is_in


class Taken:
    """The action of a step, as a property reads it: equal to the function of that name, in every protocol."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return bool(getattr(other, "__name__", None) == self.name)


# -------------------------------------------------------------------------------------------------------- the system


@dataclass(frozen=True)
class Step:
    """A step: the name and function of its action, and the arguments; the engines number steps in the same way."""

    number: int
    action: str
    python: Callable[..., None] | None
    parameters: tuple[str, ...]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class PlainProperty:
    """A property or lemma of the program."""

    name: str
    """Its name."""
    kind: str
    """The name of its decorator."""
    python: Callable[..., Any]
    """The function that judges it."""
    permitted: Callable[..., Any] | None
    """The function that says whether a failure is permitted."""
    applies: bool
    """Whether it is judged under this configuration."""
    parameters: int
    """The number of its parameters."""
    premise: Callable[..., Any] | None = None
    """The condition after which the other must hold, in a property of two conditions."""
    fair: Any = None
    """The fairness that it assumes; None for that of the actions."""

    @property
    def of_steps(self) -> bool:
        """Whether it is a property of transitions."""
        return self.python.__code__.co_varnames[0] == "before"

    def truth(self, states: list[State], taken: Taken | None) -> bool:
        """The value of the property. Raises OutOfRange."""
        arguments = [*states, taken][: self.parameters]
        return bool(self.python(*arguments))


class PlainSystem:
    """The transition system of a program."""

    def __init__(
        self, program: Program, values: Mapping[str, int], protocol: str | None, swaps: Mapping[str, str]
    ) -> None:
        library = executed(program.library or "", WORDS)
        base = executed(program.text, {**WORDS, **_imported(program.text, library)})
        second = executed(program.second, base) if program.second is not None else base
        entries = _declared(base.get("Configuration"), "default")
        known = {name: int(one.default) for name, one in entries.items()}
        known |= second[SWITCHES] if protocol == SECOND else {}
        known |= values
        truths = {name: bool(value) if entries[name].is_truth else int(value) for name, value in known.items()}
        self.configuration = SimpleNamespace(**truths)
        plain = self.plain = SimpleNamespace(**{name: int(value) for name, value in known.items()})
        for domain in [
            one
            for one in (*library.values(), *second.values())
            if isinstance(one, type) and issubclass(one, Domain) and one is not Domain
        ]:
            domain.number = max(0, sized(domain.size, plain))
        self.contradictions = list(_noted(base, "contradiction").values())
        self.places: dict[str, PlainField] = {}
        self.starts: dict[str, Any] = {}
        self.cells = 0
        self.groups: dict[str, list[str]] = {}
        for name, one in self._fields(base["State"]):
            sizes = tuple(sized(domain.size, plain) for domain in one.over)
            low, high, is_truth = one.ends
            self.places[name] = PlainField(
                sizes, sized(low, plain), sized(high, plain), is_truth, self.cells, one.holds
            )
            self.starts[name] = one.initially if one.holds == "set" else int(one.initially)
            self.cells += len(list(itertools.product(*map(range, sizes))))
        versions = [_noted(base, "action"), _noted(second, "action")]
        self.actions = list(dict.fromkeys([*versions[0], *versions[1]]))
        self.steps = list(self._steps(versions, plain, {SECOND: 1}.get(protocol or "", 0), swaps))
        self.properties = [self._asked(one, plain) for kind in KINDS for one in _noted(base, kind).values()]
        self.endless = [self._asked(one, plain) for kind in ENDLESS for one in _noted(base, kind).values()]
        self.constraints = list(_noted(base, "constraint").values())
        self.terminals = list(_noted(base, "terminal").values())
        self.lemmas = [self._asked(one, plain) for one in _noted(base, "lemma").values()]
        self.initial_errs = False
        try:
            given = self._starts(list(_noted(base, "initial").values()), plain)
            self.initial = [cells for cells in dict.fromkeys(given) if self.is_within(cells)]
        except OutOfRange:
            self.initial, self.initial_errs = [], True

    def _steps(self, versions: list[dict[str, Any]], plain: Any, own: int, swaps: Mapping[str, str]) -> Iterator[Step]:
        number = 0
        for action in self.actions:
            python = versions[{SECOND: 1}.get(swaps[action], 0) if action in swaps else own].get(action)
            any_version: Any = versions[0].get(action) or versions[1][action]
            names = any_version.__code__.co_varnames[1 : any_version.__code__.co_argcount]
            for arguments in _arguments(any_version, plain):
                yield Step(number, action, python, names, arguments)
                number += 1

    def _starts(self, given: list[Any], plain: Any) -> Iterator[Cells]:
        """Yield the initial states, some of them several times: those in dictionaries, or those that functions of the
        default state make. Raises OutOfRange."""
        if not given:
            yield self._start({})
        elif given[0].__code__.co_varnames[0] == "configuration":
            yield from map(self._start, given[0](plain))
        else:
            for make in given:
                for arguments in _arguments(make, plain):
                    state = State(self, self._start({}))
                    with contextlib.suppress(NotEnabled):
                        make(state, *arguments)
                        yield tuple(state._cells)

    def _fields(self, holder: Any) -> Iterator[tuple[str, Any]]:
        """The fields by name; a part of a record is a field of its own."""
        for name, one in _declared(holder, "ends").items():
            if one.ends is not None:
                yield name, one
                continue
            parts = _declared(one.record, "ends")
            self.groups[name] = list(parts)
            for part, held in parts.items():
                if one.most is None:
                    found = SimpleNamespace(**vars(held))
                else:
                    low, high, is_truth = held.ends
                    queue = SimpleNamespace(of=(low, high, is_truth), most=one.most)
                    found = declared_field(values=queue)
                found.over = (*one.over, *found.over)
                yield f"{name}.{part}", found

    def _asked(self, python: Any, plain: Any) -> PlainProperty:
        note = python.noted
        applies = getattr(note, "applies", None)
        return PlainProperty(
            python.__name__,
            note.kind,
            python,
            getattr(note, "permitted", None),
            applies is None or bool(applies(plain)),
            python.__code__.co_argcount,
            getattr(note, "when", None),
            getattr(note, "fair", None),
        )

    def _start(self, given: Mapping[str, Any]) -> Cells:
        cells: list[int] = []
        for name, place in self.places.items():
            for index in itertools.product(*map(range, place.sizes)):
                value: Any = given.get(name, self.starts[name])
                own = index if place.holds == "value" else index[:-1]
                for one in own if name in given else ():
                    value = value[one]
                cells.append(int(index[-1] in value if place.holds == "set" else value))
        return tuple(cells)

    def is_contradicted(self) -> bool:
        """Whether the program declares this configuration impossible."""
        return any(one(self.plain) for one in self.contradictions)

    def ask(self, asked: PlainProperty, states: list[Cells], action: str | None) -> bool:
        """The value of a property in a state, or on a transition with its action. Raises OutOfRange."""
        return asked.truth([State(self, cells) for cells in states], None if action is None else Taken(action))

    def take(self, cells: Cells, step: Step) -> Cells | None:
        """The state after a step; None if the step is not enabled. Raises OutOfRange, also if a constraint does so."""
        state = State(self, cells)
        try:
            if step.python is None or not self.is_within(cells):
                return None
            step.python(state, *step.arguments)
        except NotEnabled:
            return None
        after = tuple(state._cells)
        self.is_within(after)
        return after

    def is_within(self, cells: Cells) -> bool:
        """Whether every constraint is true in a state. Raises OutOfRange."""
        return all(constraint(State(self, cells)) for constraint in self.constraints)


def _arguments(python: Any, plain: Any) -> Iterator[tuple[Any, ...]]:
    """Yield all combinations of arguments for the parameters after the state."""
    choices: list[list[Any]] = []
    for name in python.__code__.co_varnames[1 : python.__code__.co_argcount]:
        domain = python.__annotations__[name]
        if issubclass(domain, Subset):
            size = sized(domain.of.size, plain)
            choices.append([Chosen(one, size) for one in range(2**size)])
        else:
            choices.append(list(range(sized(domain.size, plain))))
    yield from itertools.product(*choices)


def _declared(holder: Any, mark: str) -> dict[str, Any]:
    return {name: one for name, one in vars(holder).items() if hasattr(one, mark)} if holder is not None else {}


def _noted(names: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {name: one for name, one in names.items() if getattr(getattr(one, "noted", None), "kind", None) == kind}


# -------------------------------------------------------------------------------------------------------- the search


def order(path: Path) -> tuple[int, Path]:
    """The sort key of paths: shorter ones first, then in lexicographic order."""
    return len(path[1]), path


@dataclass
class PlainFinding:
    """The number of paths with a finding, and the first of them in order."""

    count: int = 0
    path: Path | None = None

    def note(self, path: Path) -> None:
        """Count a path; remember it if it comes before all earlier ones in this order."""
        self.count += 1
        self.path = path if self.path is None else min(self.path, path, key=order)


@dataclass
class PlainSearch:
    """The results of a search."""

    levels: list[int] = field(default_factory=list)
    """The number of new states at each depth."""
    fired: dict[str, int] = field(default_factory=dict)
    """How often each action led to a state."""
    found: dict[str, PlainFinding] = field(default_factory=dict)
    """For each property, the violations (of `always_possible`: stuck states) or the reached goals."""
    permitted: dict[str, PlainFinding] = field(default_factory=dict)
    """For each property, the permitted failures."""
    errors: PlainFinding = field(default_factory=PlainFinding)
    """All range errors: those of the next three fields."""
    erring: PlainFinding = field(default_factory=PlainFinding)
    """The range errors of steps."""
    unjudged: dict[str, PlainFinding] = field(default_factory=dict)
    """For each property, the range errors in its evaluation."""
    deadlock: PlainFinding = field(default_factory=PlainFinding)
    """The states without a step in which no terminal is true."""
    unended: PlainFinding = field(default_factory=PlainFinding)
    """The range errors in the evaluation of a terminal."""
    outside: int = 0
    """The steps to states outside the constraints, which are judged, and not kept."""
    paths: dict[Cells, Path] = field(default_factory=dict)
    """For each reached state, the first path to it."""
    is_all: bool = False
    """Whether every reachable state was expanded."""
    possible: list[str] = field(default_factory=list)
    """The names of the `always_possible` properties."""
    following: dict[Cells, set[Cells]] = field(default_factory=dict)
    """The successors of each state."""


def search(
    system: PlainSystem, most_depth: int, most_states: int, claims: list[PlainProperty] | None = None
) -> PlainSearch:
    """Search level by level, to a depth, or until a level ends with more than this many states."""
    asked = [one for one in (system.properties if claims is None else claims) if one.applies]
    result = PlainSearch(fired=dict.fromkeys(system.actions, 0))
    result.found = {one.name: PlainFinding() for one in asked}
    result.permitted = {one.name: PlainFinding() for one in asked}
    result.unjudged = {one.name: PlainFinding() for one in asked}
    result.possible = [one.name for one in asked if one.kind == "always_possible"]
    result.paths = {cells: (number, ()) for number, cells in enumerate(system.initial)}
    level = list(system.initial)
    while level:
        result.levels.append(len(level))
        for cells in level:
            for one in asked:
                if not one.of_steps:
                    _judge(result, one, [State(system, cells)], None, result.paths[cells])
        if len(result.levels) > most_depth or len(result.paths) > most_states:
            return result
        following = []
        for cells in level:
            initial, steps = result.paths[cells]
            result.following[cells] = set()
            has_step = False
            for step in system.steps:
                path = (initial, (*steps, step.number))
                try:
                    after = system.take(cells, step)
                except OutOfRange:
                    result.errors.note(path)
                    result.erring.note(path)
                    has_step = True
                    continue
                if after is None:
                    continue
                has_step = True
                result.fired[step.action] += 1
                if system.is_within(after):
                    result.following[cells].add(after)
                for one in asked:
                    if one.of_steps:
                        states = [State(system, cells), State(system, after)]
                        _judge(result, one, states, Taken(step.action), path)
                if not system.is_within(after):
                    result.outside += 1
                    for one in asked:
                        if not one.of_steps and one.name not in result.possible:
                            _judge(result, one, [State(system, after)], None, path)
                    continue
                if after not in result.paths:
                    result.paths[after] = path
                    following.append(after)
            if not has_step:
                _judge_end(result, system, cells)
        level = following
    result.is_all = True
    for one in asked:
        if one.name in result.possible:
            _judge_possible(result, one, system)
    return result


def _judge(result: PlainSearch, asked: PlainProperty, states: list[State], taken: Taken | None, path: Path) -> None:
    """Evaluate a property, and count the path as a finding or an error if it is one."""
    try:
        truth = asked.truth(states, taken)
        is_found = truth == (asked.kind == "sometimes")
        permitted = asked.permitted if is_found and asked.kind != "sometimes" else None
        is_permitted = permitted is not None and bool(permitted(states[-1]))
    except OutOfRange:
        result.errors.note(path)
        result.unjudged[asked.name].note(path)
        return
    if is_found and asked.name not in result.possible:
        (result.permitted if is_permitted else result.found)[asked.name].note(path)


def _judge_end(result: PlainSearch, system: PlainSystem, cells: Cells) -> None:
    """Count a state without a step as a deadlock, unless the program may end there."""
    state, path = State(system, cells), result.paths[cells]
    try:
        is_deadlock = not any(terminal(state) for terminal in system.terminals)
    except OutOfRange:
        result.errors.note(path)
        result.unended.note(path)
        return
    if is_deadlock:
        result.deadlock.note(path)


def _judge_possible(result: PlainSearch, asked: PlainProperty, system: PlainSystem) -> None:
    """Count the states from which no path leads to a state in which the property is true, or cannot be evaluated."""
    failing: dict[Cells, bool] = {}
    for cells in result.paths:
        state = State(system, cells)
        try:
            if not asked.truth([state], None):
                failing[cells] = asked.permitted is not None and bool(asked.permitted(state))
        except OutOfRange:
            continue
    stuck, rescued = set(failing), set(failing)
    while rescued:
        rescued = {cells for cells in stuck if result.following[cells] - stuck}
        stuck -= rescued
    for cells in stuck:
        (result.permitted if failing[cells] else result.found)[asked.name].note(result.paths[cells])
