"""Models, read from the Python modules that declare them, and instances: models with a configuration.

A `Model` is made of Python modules in the modelling language: one module, or a base and variants that replace or add
actions. A declaration or function that is not in the language is refused. Every engine works on an `Instance`, a model
with a configuration and a protocol. An instance has the cells of a state, the steps, and the properties that apply.
"""

from __future__ import annotations

import inspect
import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from math import prod
from pathlib import Path
from string import Formatter
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

from isrcheck.models.language.declarations import (
    CELL_HIGH,
    CELL_LOW,
    PROPERTIES,
    WHOLE,
    Contents,
    DeclarationError,
    Disabled,
    Domain,
    Entry,
    Field,
    Group,
    Kind,
    LastOf,
    Mark,
    Queue,
    Record,
    Set,
    Subset,
    always,
    declared_in,
    mark_of,
    number,
    shown,
    size_of,
)
from isrcheck.models.language.fairness import Fairness, checked, checked_of_action
from isrcheck.models.language.intervals import Interval, Intervals
from isrcheck.models.language.ir import digest
from isrcheck.models.language.ir.nodes import Role, Size, Variable, visit
from isrcheck.models.language.reading.reader import Function, Reader, Vocabulary, is_of_the_language, with_names
from isrcheck.models.language.reading.source import place_in, place_of, raised_at, sources_of, text_of
from isrcheck.models.language.states import (
    Cells,
    Enumeration,
    FieldLayout,
    InitialStates,
    Members,
    State,
    Watch,
    spell_element,
    spell_member,
)
from isrcheck.models.messages import LanguageError, ModelError, UsageError, escaped, escaped_lines, nearest

MOST_STEPS = 1 << 20
"""The largest number of different steps of a model under one configuration."""

MOST_BITS_OF_ARGUMENTS = 60
"""The most bits of a number that stands for a combination of arguments of a generator of initial states."""

MOST_CONDITIONS = 62
"""The most conditions of fairness of a model: each is a bit of a number."""

RESERVED = ("cells", "items")
"""The names that a model cannot declare, because states and configurations use them. A model cannot declare names that
start with an underscore either."""

CHANGES_OF_QUEUES = ("append", "popleft", "clear")
"""The names that a part of a record cannot have, because they are methods of queues of records."""

IMPLICIT_PROPERTIES = ("in_range", "deadlock")
"""The names of the properties that every model has without declaring them (see the end of this file)."""


# -------------------------------------------------------------------------------------------------------- configuration


class NoEntryError(ModelError, AttributeError):
    """Raised when a model reads a configuration entry that it does not declare."""


@contextmanager
def author_errors(path: str, what: str) -> Iterator[None]:
    """Within this context, an exception of plain Python code in the model's file becomes a ModelError. The message has
    path and line, what failed (`what`, such as "initial states"), and the exception's message."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        reason = escaped(" ".join(str(error).split()))
        kind = "" if isinstance(error, UsageError | DeclarationError) else f"{type(error).__name__}: "
        raise ModelError(f"{path}:{raised_at(path, error)}: {what}: {kind}{reason}") from None


def run_plain_python(path: str, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a plain Python function of the model's file and return its result. An exception of the function becomes a
    ModelError, as in `author_errors`."""
    with author_errors(path, what):
        return function(*arguments)


class Configuration:
    """One immutable configuration, with an attribute for every entry that the model declares."""

    __slots__ = ("_values",)
    _values: Mapping[str, int]

    def __init__(self, values: Mapping[str, int]) -> None:
        plain = {name: number(value) for name, value in values.items()}
        object.__setattr__(self, "_values", MappingProxyType(plain))

    def __getattr__(self, name: str) -> int:
        try:
            return self._values[name]
        except KeyError:
            raise NoEntryError(f"the configuration has no {name}; {nearest(name, self._values)}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a configuration is immutable")

    def items(self) -> Iterator[tuple[str, int]]:
        """Return the names of the entries with their values, in the order of declaration."""
        return iter(self._values.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and dict(self._values) == dict(other._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return f"Configuration({', '.join(f'{name}={value}' for name, value in self._values.items())})"


def spell(entry: Entry, value: int) -> str:
    """Return the text of an entry's value, as the command line and reports write it."""
    if entry.values is bool:
        return "on" if value else "off"
    if entry.values is not None:
        return spell_member(entry.values(value))
    return str(value)


def parse(name: str, entry: Entry, text: str) -> int:
    """Return the value of the configuration entry `name` that is written as `text`, such as 1 for "on". Raises
    UsageError if `text` cannot be read as a value of this entry."""
    text = text.strip()
    if entry.values is bool:
        truth = {"on": 1, "true": 1, "1": 1, "off": 0, "false": 0, "0": 0}
        if text.lower() not in truth:
            raise UsageError(f"{name}={text}: not a switch value; write on or off")
        return truth[text.lower()]
    if entry.values is not None and issubclass(entry.values, IntEnum):
        members = {spell_member(member).lower(): number(member) for member in entry.values}
        if text.lower() in members:
            return members[text.lower()]
        if text not in map(str, members.values()):
            raise UsageError(f"{name}={text}: no such value; there are: {', '.join(map(spell_member, entry.values))}")
        return int(text)
    if not re.fullmatch(r"-?(0|[1-9][0-9]{0,9})", text):
        raise UsageError(f"{name}={text[:40]}: not a whole number")
    return int(text)


def refuse_out_of_range(name: str, entry: Entry, value: int) -> None:
    """Raise UsageError if the value is outside the range that the entry with this name declares."""
    if value < entry.least or (entry.most is not None and value > entry.most):
        most = "any size" if entry.most is None else str(entry.most)
        raise UsageError(f"{name}={value} is impossible: it ranges from {entry.least} to {most} ({entry.says})")


# ---------------------------------------------------------------------------------------------------------------- model


@dataclass(frozen=True)
class Property:
    """A property of a model: its predicate (`function`), the states in which a failure is permitted, and the
    configurations to which it applies."""

    name: str
    kind: Kind
    function: Function
    permitted: Function | None
    applies: Callable[[Any], bool] | None
    every_length: bool = False
    premise: Function | None = None
    """For `leads_to`, the premise: after a state in which it is true, the property must become true."""
    fair: tuple[Fairness, ...] | None = None
    """The fairness that a liveness property assumes; None if it assumes the fairness that the actions declare."""

    @property
    def of_steps(self) -> bool:
        """Whether the property is about transitions rather than states."""
        return len(self.function.routine.states) == 2

    @property
    def meaning(self) -> list[Any]:
        """The parts of the property on which the digest of a model depends."""
        arguments = [
            None if predicate is None else digest.of_routine(predicate.routine)
            for predicate in (self.permitted, self.premise)
        ]
        fair = None if self.fair is None else [[each.actions, each.each, *each.meaning] for each in self.fair]
        meaning = digest.of_routine(self.function.routine)
        return [self.name, self.kind.value, meaning, arguments, self.applies is not None, self.every_length, fair]


@dataclass(frozen=True)
class Action:
    """One action of a model. Each protocol uses one function of `alternatives` for it, or lacks the action."""

    name: str
    alternatives: tuple[Function, ...]

    @property
    def parameters(self) -> tuple[Variable, ...]:
        """The parameters of the action without the state. Each combination of their values is one step."""
        return self.alternatives[0].arguments

    @property
    def domains(self) -> dict[str, type[Domain] | type[Subset] | None]:
        """The domain of each parameter, by the parameter's name."""
        return {parameter.name: parameter.domain for parameter in self.parameters}

    @property
    def shows(self) -> str | None:
        """The format in which a step's arguments are printed; None if they are printed one after the other."""
        mark = self.alternatives[0].mark
        return mark.shows if mark is not None else None

    def fairness(self, function: Function, reader: Reader) -> tuple[Fairness, ...]:
        """Return the fairness that one of the alternatives declares. Raises LanguageError."""
        fair = False if function.mark is None else function.mark.fair
        return checked_of_action(fair, f"{function.path}:{function.line}: {self.name}", reader, self.name, self.domains)

    def meaning(self, reader: Reader) -> list[Any]:
        """Return the parts of the action on which the digest of a model depends. They include the names of the
        parameters, because traces show these names."""
        fair: list[Any] = []
        for function in self.alternatives:
            value = False if function.mark is None else function.mark.fair
            declared = self.fairness(function, reader)
            fair.append(value if isinstance(value, bool) else [*declared[0].each, *declared[0].meaning])
        routines = [digest.of_routine(function.routine) for function in self.alternatives]
        return [self.name, self.shows, list(self.domains), routines, fair]


@dataclass(frozen=True)
class Protocol:
    """One variant of a model, such as a release: its values of switches and, for each action of the model, the number
    of the alternative function that the variant uses (None if the variant lacks the action)."""

    name: str
    says: str
    switches: Mapping[str, int]
    alternatives: tuple[int | None, ...]


@dataclass(frozen=True, repr=False)
class Model:
    """All declarations of a model, after they have been checked."""

    name: str
    documentation: str
    path: str
    entries: Mapping[str, Entry]
    fields: Mapping[str, Field]
    actions: tuple[Action, ...]
    properties: tuple[Property, ...]
    lemmas: tuple[Property, ...]
    start: Callable[[Configuration], Iterable[Mapping[str, Any]]] | None
    contradictions: tuple[Callable[[Configuration], bool], ...]
    protocols: Mapping[str, Protocol]
    sources: Mapping[str, str]
    """The model's files, each with the path by which an import finds it."""
    reader: Reader = field(repr=False)
    """The reader of the model's functions, which keeps the values of the global names in their modules."""
    stand_ins: Mapping[str, str]
    """For each release without a protocol of its own, a message that says which protocol stands for it."""
    generators: tuple[Function, ...] = ()
    """The functions that make the initial states out of the default state; without such functions, `start` yields the
    initial states."""
    terminals: tuple[Function, ...] = ()
    """Predicates of a state: where one is true, a state without a step is not a deadlock."""
    constraints: tuple[Function, ...] = ()
    """Predicates of a state: steps are taken only from states in which all of them are true."""
    groups: Mapping[str, Group] = field(default_factory=dict)
    """The fields that hold records; each part of a record is a field of its own in `fields`."""

    def __repr__(self) -> str:
        protocols = f", protocols {', '.join(self.protocols)}" if len(self.protocols) > 1 else ""
        return f"<Model {self.name}: {len(self.actions)} actions, {len(self.properties)} properties{protocols}>"

    @cached_property
    def digest(self) -> str:
        """SHA-256 over everything on which the model's meaning depends, as 64 hexadecimal digits. Plain Python code
        (`@initial`, `@contradiction`, `applies=`, sizes that are functions) may call any code of the model's files; so
        if a model has plain Python code, the digest includes the syntax trees of all its files."""
        predicates = (self.generators, self.terminals, self.constraints)
        content: list[Any] = [
            digest.SEMANTICS,
            self.name,
            [[name, *digest.entry(entry)] for name, entry in self.entries.items()],
            [[name, *digest.field(declared)] for name, declared in self.fields.items()],
            [action.meaning(self.reader) for action in self.actions],
            [[prop.meaning for prop in properties] for properties in (self.properties, self.lemmas)],
            [
                [protocol.name, sorted(protocol.switches.items()), protocol.alternatives]
                for protocol in self.protocols.values()
            ],
            [[digest.of_routine(function.routine) for function in functions] for functions in predicates],
            [self.start is not None, len(self.contradictions)],
        ]
        if self._has_plain_python:
            content.append(sorted([path, _digest_of_file(file)] for file, path in self.sources.items()))
        return digest.hashed(content)

    @property
    def _has_plain_python(self) -> bool:
        if self.start is not None or self.contradictions:
            return True
        sizes: list[object] = [domain.size for domain in self.domains]
        for declared in self.fields.values():
            ends = (declared.values.low, declared.values.high)
            sizes += [end.domain.size if isinstance(end, LastOf) else end for end in ends]
            sizes += [domain.size for domain in declared.over]
        starting = (*(action.parameters for action in self.actions), *(start.arguments for start in self.generators))
        for parameter in itertools.chain(*starting):
            assert parameter.domain is not None
            sizes.append(_elements_of(parameter.domain).size)
        properties = (*self.properties, *self.lemmas)
        return any(prop.applies is not None for prop in properties) or any(map(callable, sizes))

    def place_of_start(self, field_name: str) -> str:
        """Return FILE:LINE of a field's initial value: of the `@initial` function, else of the field's declaration."""
        if self.start is None:
            return self.place_of(field_name)
        return place_of(self.start, self.path, getattr(self.start, "__name__", ""))

    @cached_property
    def domains(self) -> tuple[type[Domain], ...]:
        """The domains whose sizes the model's functions use, as in a loop over a domain, without repetition."""
        nodes = (node for function in self.reader.everything() for node in visit(function.routine.body))
        return tuple(dict.fromkeys(node.domain for node in nodes if isinstance(node, Size)))

    @cached_property
    def conditions(self) -> Mapping[Function, frozenset[str]]:
        """The conditions of all declared fairness (`when=`), each with the names of the actions to which it belongs."""
        declared = [each for prop in self.properties for each in prop.fair or ()]
        for action in self.actions:
            declared += [each for function in action.alternatives for each in action.fairness(function, self.reader)]
        conditions: dict[Function, frozenset[str]] = {}
        for fairness in declared:
            if fairness.condition is not None:
                of_others = conditions.get(fairness.condition, frozenset())
                conditions[fairness.condition] = of_others.union(fairness.actions)
        return conditions

    @cached_property
    def small(self) -> list[tuple[Sequence[int], Sequence[Interval]]]:
        """The cases that need no further check, because an `Instance` has found that no number becomes too large in
        them. A case consists of the sizes of the domains and the ranges of the fields and configuration entries."""
        return []

    def place_of(self, field_name: str) -> str:
        """Return FILE:LINE of the declaration of a field, or of a part of a record."""
        name, _, part = field_name.partition(".")
        if part:
            return place_in(self.path, self.groups[name].record.__name__, part)
        return place_in(self.path, "State", name)

    def protocol(self, name: str | None) -> Protocol:
        """Return the protocol with this name; for None, the only protocol of the model. Raises UsageError if there is
        no protocol of this name, or if `name` is None and the model has several protocols."""
        if name is None:
            if len(self.protocols) != 1:
                raise UsageError(f"{self.name} needs --protocol; there are: {', '.join(self.protocols)}")
            return next(iter(self.protocols.values()))
        if name not in self.protocols:
            if len(self.protocols) == 1:
                raise UsageError(f"{self.name} has no protocol {name}: it has only one protocol; leave --protocol out")
            what = f"{self.name} has no protocol {name}"
            raise UsageError(f"{what}; {self._stand_in(name) or nearest(name, self.protocols)}")
        return self.protocols[name]

    def _stand_in(self, name: str) -> str:
        """Return a message that names the protocol to use for `name`, a release without a protocol (`3.8`) or a patch
        release (`3.7.1`), such as `3.7 stands for it`; empty if there is no protocol to use."""
        release = name.rpartition(".")[0]
        of_patch = f"{release} stands for it" if self.stand_ins and release in self.protocols else ""
        return self.stand_ins.get(name) or self.stand_ins.get(release) or of_patch

    def _refuse_of_another_protocol(self, chosen: Protocol, name: str, value: int) -> None:
        """Raise UsageError if `value` is not the value that the protocol `chosen` gives to the switch `name`. This is
        checked only for a switch that determines the layout of states and whose value differs between protocols."""
        entry = self.entries[name]
        if not (entry.is_bound and entry.values is not None):
            return
        values = {key: protocol.switches.get(name, entry.default) for key, protocol in self.protocols.items()}
        if len(set(values.values())) > 1 and value != values[chosen.name]:
            others = [key for key, other in values.items() if other == value]
            there = f"choose --protocol {' or '.join(others)}" if others else "no protocol has this value"
            raise UsageError(f"{name}={spell(entry, value)} is not the value of protocol {chosen.name}; {there}")

    def instance(
        self,
        protocol: str | None = None,
        values: Mapping[str, int] | None = None,
        swaps: Mapping[str, str] | None = None,
    ) -> Instance:
        """Return the model with a protocol and a configuration; an entry without a value in `values` keeps its default.
        `swaps` maps the name of an action to another protocol, whose version of the action is used. Raises UsageError
        if a name is unknown or a value is impossible."""
        chosen = self.protocol(protocol)
        configured = {name: entry.default for name, entry in self.entries.items()} | dict(chosen.switches)
        for name, value in (values or {}).items():
            if name not in self.entries:
                raise UsageError(f"{self.name} has no configuration entry {name}; {nearest(name, self.entries)}")
            refuse_out_of_range(name, self.entries[name], value)
            self._refuse_of_another_protocol(chosen, name, value)
            configured[name] = value
        alternatives = list(chosen.alternatives)
        names = [action.name for action in self.actions]
        for action, origin in (swaps or {}).items():
            if action not in names:
                raise UsageError(f"{self.name} has no action {action}; {nearest(action, names)}")
            for name, entry in self.entries.items():
                if entry.is_bound and entry.values is not None:
                    value = self.protocol(origin).switches.get(name, entry.default)
                    self._refuse_of_another_protocol(chosen, name, value)
            alternatives[names.index(action)] = self.protocol(origin).alternatives[names.index(action)]
        configuration = Configuration(configured)
        for contradicts in self.contradictions:
            if self.refuses(contradicts, configuration):
                raise UsageError(" ".join((inspect.getdoc(contradicts) or contradicts.__name__).split()))
        return Instance(self, chosen, configuration, tuple(alternatives), dict(swaps or {}))

    def refuses(self, contradicts: Callable[[Any], bool], configuration: Any) -> bool:
        """Whether `contradicts`, one of the model's `@contradiction` functions, refuses the configuration."""
        return bool(run_plain_python(self.path, f"contradiction {contradicts.__name__}", contradicts, configuration))


def _digest_of_file(file: str) -> str:
    try:
        return text_of(file).digest
    except OSError:
        return "no source"


def _elements_of(domain: type[Domain] | type[Subset]) -> type[Domain]:
    return domain.of if issubclass(domain, Subset) else domain


def _declared(module: ModuleType, name: str, kind: Any) -> dict[str, Any]:
    holder = vars(module).get(name)
    if holder is None:
        return {}
    path = inspect.getsourcefile(module) or module.__name__
    if not isinstance(holder, type):
        raise LanguageError(f"{path}:1: `{name}` is not a class; write it as `class {name}:`")
    declared = declared_in(holder)
    for key, value in declared.items():
        if isinstance(value, Contents) or (isinstance(value, type) and issubclass(value, Record)):
            what = f"`{escaped(key)}` is declared as the values of a field, not as a field"
            raise LanguageError(f"{place_in(path, name, key)}: {what}; write {key} = field(values={shown(value)})")
    return {key: value for key, value in declared.items() if isinstance(value, kind)}


def _marked(modules: Sequence[ModuleType], *kinds: Kind) -> dict[str, Any]:
    """Return, by name, the objects in `modules` whose decorator is one of `kinds`, in the order of modules and lines.
    If there are several modules, imported objects are left out, because the modules import from each other."""
    marked = {}
    for module in modules:
        for name, value in vars(module).items():
            mark = mark_of(value)
            if mark is None or mark.kind not in kinds:
                continue
            if len(modules) == 1 or getattr(value, "__module__", None) == module.__name__:
                marked[name] = value
    return marked


def _functions(modules: Sequence[ModuleType], *kinds: Kind) -> dict[str, FunctionType]:
    functions = _marked(modules, *kinds)
    for name, value in functions.items():
        where = place_of(value, inspect.getsourcefile(modules[0]) or modules[0].__name__, name)
        if type(value) is not FunctionType:
            what = f"{where}: {escaped(name)} is a {escaped(type(value).__name__)}, not a function"
            raise LanguageError(f"{what}; write a plain `def`, and leave the decorator out")
        if name in IMPLICIT_PROPERTIES:
            raise LanguageError(f"{where}: the property `{name}` is built into every model; choose another name")
    return functions


def _no_name_twice(modules: Iterable[ModuleType]) -> None:
    """Raise LanguageError for two definitions with one name: Python would silently drop the first."""
    for module in modules:
        path = inspect.getsourcefile(module)
        if path is None:
            continue
        names: set[str] = set()
        for defined, line in text_of(path).definitions:
            if defined in names:
                raise LanguageError(f"{path}:{line}: {defined} is defined twice; rename one")
            names.add(defined)


def _nothing_lost(modules: Iterable[ModuleType]) -> None:
    """Raise LanguageError for a function that has a decorator of the language but is no global of the loaded module,
    because the function was defined in a class or replaced."""
    for module in modules:
        path = inspect.getsourcefile(module)
        if path is None:
            continue
        codes = [getattr(value, "__code__", None) for value in vars(module).values() if mark_of(value) is not None]
        there = {(code.co_name, code.co_firstlineno) for code in codes if isinstance(code, CodeType)}
        for place, definition in text_of(path).functions.items():
            is_declared = any(is_of_the_language(decorator, vars(module)) for decorator in definition.decorator_list)
            if is_declared and place not in there:
                raise LanguageError(
                    f"{path}:{definition.lineno}: {definition.name} has a decorator of the language, but is no"
                    " function of the loaded module; define it once, outside any block, class or function"
                )


def assemble(
    name: str,
    base: ModuleType | Sequence[ModuleType],
    variants: Mapping[str, tuple[ModuleType | Sequence[ModuleType] | None, Mapping[str, Any]]] | None = None,
    stand_ins: Mapping[str, str] = MappingProxyType({}),
) -> Model:
    """Return the model that the modules in `base` and `variants` declare.

    The first module of the base declares `Configuration` and `State`; actions, properties and initial states are
    numbered in the order of the modules. `variants` maps each protocol to its own modules (one, several, or None),
    which may redefine or add actions, and its values of configuration entries. `stand_ins` maps a release without a
    protocol to a message that names the protocol to use. Raises LanguageError if a function is not in the language.
    """
    bases = [base] if isinstance(base, ModuleType) else list(base)
    path = inspect.getsourcefile(bases[0]) or bases[0].__name__
    entries = _declared(bases[0], "Configuration", Entry)
    declared_in_state = _declared(bases[0], "State", Field | Group)
    fields = _flattened(path, declared_in_state)
    groups = {key: group for key, group in declared_in_state.items() if isinstance(group, Group)}
    if not fields:
        raise LanguageError(f"{path}:1: no `class State:` with fields; declare the state, see docs/language.md")
    for field_name in declared_in_state:
        if field_name in entries:
            raise LanguageError(f"{path}:1: `{field_name}` is both a field and a configuration entry; rename one")
    for declared_name in (*declared_in_state, *entries):
        if declared_name in (*RESERVED, *IMPLICIT_PROPERTIES) or declared_name.startswith("_"):
            raise LanguageError(f"{path}:1: `{declared_name}` is reserved by the language; choose another name")
    versions = {
        protocol: (_modules_of(own), values) for protocol, (own, values) in (variants or {"": (None, {})}).items()
    }
    modules = list(dict.fromkeys(module for own, _ in versions.values() for module in own))
    _no_name_twice([*bases, *modules])
    common = _functions(bases, Kind.ACTION)
    origins: dict[str, list[FunctionType]] = {}
    for functions in (common, *(_functions(own, Kind.ACTION) for own, _ in versions.values())):
        for action_name, python in functions.items():
            alternatives = origins.setdefault(action_name, [])
            if python not in alternatives:
                alternatives.append(python)
    if not origins:
        raise LanguageError(f"{path}:1: no @action; a model needs at least one")
    _one_name_each(origins)
    owners = {python: action_name for action_name, alternatives in origins.items() for python in alternatives}
    reader = Reader(
        Vocabulary(
            {field_name: len(declared.over) for field_name, declared in fields.items()},
            {entry_name: entry.is_bound for entry_name, entry in entries.items()},
            owners,
            {
                field_name: (declared.contents, len(declared.own))
                for field_name, declared in fields.items()
                if declared.contents is not None
            },
            groups,
        )
    )
    actions = tuple(
        Action(action_name, tuple(reader.read(python) for python in originals))
        for action_name, originals in origins.items()
    )
    for action in actions:
        _same_parameters(action)
        _shown_parameters(action)
        for function in action.alternatives:
            action.fairness(function, reader)
    properties = tuple(
        _property(reader, property_name, python, actions)
        for property_name, python in _functions(bases, *PROPERTIES).items()
    )
    lemmas = tuple(_property(reader, lemma, python, actions) for lemma, python in _functions(bases, Kind.LEMMA).items())
    marked = list(_marked(bases, Kind.INITIAL).values())
    generators = tuple(reader.read(python) for python in marked if _is_generator(python))
    starts = [start for start in marked if not _is_generator(start)]
    if len(starts) + bool(generators) > 1:
        what = ", some of the configuration and some of the state `s`; keep one form" if generators else "; keep one"
        raise LanguageError(f"{path}:1: there are several @initial functions{what}")
    terminals = tuple(map(reader.read, _functions(bases, Kind.TERMINAL).values()))
    constraints = tuple(map(reader.read, _functions(bases, Kind.CONSTRAINT).values()))
    _nothing_lost([*bases, *modules])
    protocols = {}
    for protocol, (own_modules, switches) in versions.items():
        own = _functions(own_modules, Kind.ACTION)
        versions_of_actions = {name: own.get(name) or common.get(name) for name in origins}
        chosen = tuple(
            None if python is None else origins[name].index(python) for name, python in versions_of_actions.items()
        )
        unknown = set(switches) - set(entries)
        if unknown:
            what = f"protocol {protocol} sets {', '.join(sorted(unknown))}, which the model does not declare"
            raise ModelError(f"{path}: {what}; declare them as switches")
        values = {switch_name: number(value) for switch_name, value in switches.items()}
        says = inspect.getdoc(own_modules[0] if len(own_modules) == 1 else bases[0]) or ""
        protocols[protocol] = Protocol(protocol, escaped_lines(says), values, chosen)
    sources = {path, *(inspect.getsourcefile(module) or "" for module in (*bases, *modules))}
    sources |= {function.path for function in reader.everything()}
    model = Model(
        name,
        escaped_lines(inspect.getdoc(bases[0]) or ""),
        path,
        entries,
        fields,
        actions,
        properties,
        lemmas,
        starts[0] if starts else None,
        tuple(_marked(bases, Kind.CONTRADICTION).values()),
        protocols,
        sources_of(source for source in sources if Path(source).is_file()),
        reader,
        stand_ins,
        generators,
        terminals,
        constraints,
        groups,
    )
    if len(model.conditions) > MOST_CONDITIONS:
        what = f"{path}:1: fairness has {len(model.conditions)} different conditions (when=)"
        raise LanguageError(f"{what}, more than {MOST_CONDITIONS}; let several groups share a condition")
    return model


def _flattened(path: str, declared: Mapping[str, Field | Group]) -> dict[str, Field]:
    """Return the fields of a state by name. A field that holds records becomes several fields: one for each part of the
    record, with the name `FIELD.PART`."""
    fields: dict[str, Field] = {}
    for name, group in declared.items():
        if isinstance(group, Field):
            fields[name] = group
            continue
        record = group.record.__name__
        if not group.parts:
            where = place_of(group.record, path, record)
            raise LanguageError(f"{where}: {record} has no parts; declare them as in: role = field(values=Role)")
        for part, held in group.parts.items():
            where = f"{place_in(path, record, part)}: {record}"
            if part.startswith("_") or part in CHANGES_OF_QUEUES:
                raise LanguageError(f"{where}: `{part}` is reserved by the language; choose another name")
            if isinstance(held, Group):
                raise LanguageError(f"{where}: the part `{part}` is a record; declare the fields of that record here")
            if group.queue is None:
                fields[f"{name}.{part}"] = replace(held, over=(*group.over, *held.over), outer=len(group.over))
            elif held.over:
                what = f"the part `{part}` is no single value, which a queue needs"
                raise LanguageError(f"{where}: {what}; give the part no index, and no set or queue as its values")
            elif not isinstance(held.values.low, int):
                what = f"the values of the part `{part}` begin with no number, which a queue needs"
                raise LanguageError(f"{where}: {what}; write between(0, ...)")
            elif held.initially != 0:
                what = f"the part `{part}` has initially=, but a queue is empty at first"
                raise LanguageError(f"{where}: {what}; leave initially= out, or give the queue `{name}` another Record")
            else:
                queue = _queue_of_part(where, held, group.queue)
                over = (*group.over, group.queue.axis)
                fields[f"{name}.{part}"] = Field(over, queue.values, queue.filler, queue, None, len(over))
    return fields


def _queue_of_part(where: str, part: Field, of_records: Queue) -> Queue:
    """Return the queue for one part of a record: it holds this part of each record of `of_records`, in order."""
    try:
        queue = Queue(of=part.values, most=of_records.most)
    except DeclarationError as error:
        raise LanguageError(f"{where}: {error}") from None
    vars(queue)["axis"] = of_records.axis
    return queue


def _is_generator(start: Any) -> bool:
    """Whether an `@initial` function is in the modelling language and not plain Python: its first parameter is `s`."""
    return type(start) is FunctionType and start.__code__.co_varnames[: start.__code__.co_argcount][:1] == ("s",)


def _modules_of(modules: ModuleType | Sequence[ModuleType] | None) -> tuple[ModuleType, ...]:
    return (modules,) if isinstance(modules, ModuleType) else tuple(modules or ())


def _one_name_each(origins: Mapping[str, Sequence[FunctionType]]) -> None:
    names: dict[FunctionType, str] = {}
    for name, alternatives in origins.items():
        for python in alternatives:
            other = names.setdefault(python, name)
            if other != name:
                code = python.__code__
                what = f"{code.co_filename}:{code.co_firstlineno}: an action has two names, {other} and {name}"
                raise LanguageError(f"{what}; keep one")


def _same_parameters(action: Action) -> None:
    first = action.alternatives[0]
    for other in action.alternatives[1:]:
        if [p.domain for p in other.arguments] != [p.domain for p in first.arguments]:
            what = f"{other.path}:{other.line}: {action.name} has other parameters than at {first.path}:{first.line}"
            raise LanguageError(f"{what}; give all versions of an action the same parameters")


def _shown_parameters(action: Action) -> None:
    names = [parameter.name for parameter in action.parameters]
    try:
        shown = [name for _, name, _, _ in Formatter().parse(action.shows or "") if name is not None]
        if set(shown) == set(names):
            (action.shows or "").format(**dict.fromkeys(names, "a"))
    except (ValueError, TypeError):
        shown = [repr(action.shows)]
    if action.shows is not None and set(shown) != set(names):
        first = action.alternatives[0]
        cure = f"name every parameter: {', '.join(names)}" if names else "the action has no parameters: remove `shows`"
        what = f"{first.path}:{first.line}: `shows` of {action.name} names {', '.join(shown) or 'nothing'}"
        raise LanguageError(f"{what}; {cure}")


def _question(reader: Reader, name: str, function: Function, what: str, predicate: Any) -> Function | None:
    if predicate is None:
        return None
    read = reader.read(predicate) if type(predicate) is FunctionType else None
    is_question = read is not None and read.routine.returns_value and not read.routine.writes
    if read is None or not is_question or [p.name for p in read.parameters] != ["s"]:
        where = read or function
        raise LanguageError(
            f"{where.path}:{where.line}: {name} has a {what}= that is not a function of one state;"
            f" give {what}= a function of `s` that returns a truth value"
        )
    return read


def _property(reader: Reader, name: str, python: FunctionType, actions: Sequence[Action]) -> Property:
    mark = mark_of(python)
    assert isinstance(mark, Mark)
    function = reader.read(python)
    permitted = _question(reader, name, function, "permitted", mark.permitted)
    premise = _question(reader, name, function, "when", mark.when)
    if mark.applies is not None and not callable(mark.applies):
        what = f"{name} has an applies= that is not a function"
        raise LanguageError(f"{function.path}:{function.line}: {what}; give applies= a function of the configuration")
    if mark.every_length and mark.kind in WHOLE:
        raise LanguageError(
            f"{function.path}:{function.line}: {name} is @{mark.kind.value}, which only a search decides, not a proof;"
            " leave every_length= out"
        )
    fair = None
    if mark.fair is not None:
        where = f"{function.path}:{function.line}: {name}"
        domains = {action.name: action.domains for action in actions}
        fair = checked(mark.fair, where, reader, domains, lambda action: nearest(action, domains))
    return Property(name, mark.kind, function, permitted, mark.applies, mark.every_length, premise, fair)


# ------------------------------------------------------------------------------------------------------------- instance


def _fault(declared: Field, sizes: Sequence[int], low: int, high: int) -> str:
    """Return why a field cannot have these sizes and this range, and what to change; empty if the field is possible."""
    if isinstance(declared.contents, Queue) and sizes[-1] < 1:
        return f"holds queues of at most {sizes[-1]} elements; give most= at least 1"
    if any(size < 0 for size in sizes):
        return f"has an index of size {min(sizes)}; give each of its domains a size of at least 0"
    if isinstance(declared.contents, Set) and sizes[-1] < 1:
        kind = declared.contents.of.__name__
        return f"holds sets of {kind}, which has no element; give {kind} at least one"
    strange = sorted(member for member in declared.members or () if not sizes or not 0 <= member < sizes[-1])
    if strange:
        return f"is initially a set with {strange[0]}; give elements in 0..{sizes[-1] - 1}"
    return f"has no values ({low}..{high}); give it a range that is not empty" if low > high else ""


def _lie_within(ranges: Iterable[Interval], wider: Iterable[Interval]) -> bool:
    return all(low <= first and last <= high for (first, last), (low, high) in zip(ranges, wider, strict=True))


@dataclass(frozen=True)
class ArgumentRange:
    """A parameter of an action, and the number of elements of the parameter's domain under a configuration. The values
    of the parameter have ordinals, which count from 0."""

    parameter: Variable
    elements: int

    @property
    def is_subset(self) -> bool:
        """Whether the values are subsets."""
        return self.parameter.role is Role.SUBSET

    @property
    def count(self) -> int:
        """The number of values of the parameter."""
        return 1 << self.elements if self.is_subset else self.elements

    def argument(self, ordinal: int) -> int | Members:
        """Return the value with this ordinal as the action's function receives it: a number, or a subset."""
        if self.is_subset:
            return Members(bool(ordinal >> element & 1) for element in range(self.elements))
        return ordinal

    def spell(self, ordinal: int) -> str:
        """Return the value with this ordinal as text, as in `2`, `a` or `{0,2}`."""
        domain = self.parameter.domain
        assert domain is not None
        if issubclass(domain, Subset):
            members = [element for element in range(self.elements) if ordinal >> element & 1]
            return "{" + ",".join(_element(domain.of, member) for member in members) + "}"
        return _element(domain, ordinal)


def _element(domain: type[Domain], number: int) -> str:
    return spell_element(number) if domain.letters else str(number)


@dataclass(frozen=True)
class Step:
    """One step: its number among all steps, the index and the name of its action, and the ordinals of its arguments
    (the numbers of the chosen values, from 0)."""

    number: int
    action_index: int
    action: str
    ordinals: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Instance:
    """A model under a configuration: the transition system that the engines explore."""

    model: Model
    protocol: Protocol
    configuration: Configuration
    alternatives: tuple[int | None, ...]
    swaps: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        protocol = f"/{self.protocol.name}" if self.protocol.name else ""
        entries, usual = self.model.entries, self.protocol.switches
        changed = [
            f"{name}={spell(entries[name], value)}"
            for name, value in self.configuration.items()
            if value != usual.get(name, entries[name].default)
        ]
        changed += [f"{action} of {other}" for action, other in self.swaps.items()]
        return f"<Instance of {self.model.name}{protocol}: {', '.join(changed) or 'default configuration'}>"

    def _repr_pretty_(self, printer: Any, _is_cycle: bool) -> None:
        """Print the instance with `printer`; IPython and Hypothesis call this method to show an instance."""
        printer.text(repr(self))

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the model's digest, the configuration, and everything that the configuration determines (layout,
        steps, initial states, properties), as 64 hexadecimal digits."""
        content = [
            self.model.digest,
            [self.alternatives, sorted(self.swaps.items())],
            list(self.configuration.items()),
            [[place.name, place.offset, place.sizes, place.low, place.high] for place in self.layouts.values()],
            self.first_steps,
            [[prop.name for prop in properties] for properties in (self.properties, self.lemmas)],
        ]
        # The states that generators make are determined by their text, and can be many millions.
        is_listed = not self.model.generators
        return digest.hashed(content, self.initial_states.packed if is_listed else b"")

    @cached_property
    def layouts(self) -> Mapping[str, FieldLayout]:
        """The layout of each field by name. Raises ModelError or UsageError if a size or a range is impossible."""
        layouts = {}
        offset = 0
        for name, declared in self.model.fields.items():
            sizes = tuple(self._size(domain.size, f"field {name}") for domain in declared.over)
            low = self._size(declared.values.low, f"field {name}")
            high = self._size(declared.values.high, f"field {name}")
            fault = _fault(declared, sizes, low, high)
            if fault:
                raise ModelError(f"{self.model.place_of(name)}: field {name} {fault}")
            if low < CELL_LOW or high > CELL_HIGH:
                what = f"field {name} would hold {low}..{high}: a cell holds {CELL_LOW}..{CELL_HIGH}"
                raise UsageError(f"{what}; use smaller bounds")
            layouts[name] = FieldLayout(name, offset, sizes, low, high, declared)
            offset += prod(sizes)
        self._refuse_large_numbers(layouts)
        return layouts

    def _refuse_large_numbers(self, layouts: Mapping[str, FieldLayout]) -> None:
        # A kernel serves all values of settings and switches, and all choices of actions, so all are checked.
        model = self.model
        named: dict[str, Interval] = {name: (layout.low, layout.high) for name, layout in layouts.items()}
        for name, entry in model.entries.items():
            value = getattr(self.configuration, name)
            named[name] = (value, value) if entry.is_bound or entry.most is None else (entry.least, entry.most)
        ranges_of_all = (*self.argument_ranges, *self.generator_ranges)
        sizes = *(each.elements for arguments in ranges_of_all for each in arguments), *self.sizes
        # Numbers that stay in range for wider intervals do so for these.
        if any(sizes == checked_sizes and _lie_within(named.values(), wider) for checked_sizes, wider in model.small):
            return
        intervals = Intervals(named, self.size_of)
        of_actions = zip((action.alternatives for action in model.actions), self.argument_ranges, strict=True)
        of_generators = zip(((generator,) for generator in model.generators), self.generator_ranges, strict=True)
        for functions, arguments in (*of_actions, *of_generators):
            if all(each.count for each in arguments):  # without an element there is no step
                ranges = [None if each.is_subset else (0, each.elements - 1) for each in arguments]
                for function in functions:
                    intervals.of_call(function.routine, [None, *ranges])
        properties = (*model.properties, *model.lemmas)
        predicates = [function for prop in properties for function in (prop.function, prop.permitted, prop.premise)]
        for predicate in (*predicates, *model.terminals, *model.constraints):
            if predicate is not None:
                intervals.of_call(predicate.routine, [None] * len(predicate.parameters))
        for condition in model.conditions:
            arguments = self._ranges(condition.arguments)
            if all(each.count for each in arguments):
                ranges = [None if each.is_subset else (0, each.elements - 1) for each in arguments]
                intervals.of_call(condition.routine, [None, *ranges])
        model.small.append((sizes, tuple(named.values())))

    @property
    def groups(self) -> Mapping[str, Group]:
        """The fields that hold records, by name. Each part of a record has a layout of its own, `FIELD.PART`."""
        return self.model.groups

    def setting(self, name: str) -> int | bool:
        """Return the value of a configuration entry, as True or False for an entry that is on or off. Raises
        NoEntryError for an unknown entry."""
        value = getattr(self.configuration, name)
        return bool(value) if self.model.entries[name].values is bool else value

    @cached_property
    def cells(self) -> int:
        """The number of cells of a state."""
        return sum(layout.count for layout in self.layouts.values())

    @cached_property
    def argument_ranges(self) -> tuple[tuple[ArgumentRange, ...], ...]:
        """For each action, its parameters, with the sizes of their domains under this configuration."""
        return tuple(self._ranges(action.parameters) for action in self.model.actions)

    @cached_property
    def generator_ranges(self) -> tuple[tuple[ArgumentRange, ...], ...]:
        """For each `@initial` function of the language, its parameters, with the sizes of their domains. Raises
        UsageError if there are too many combinations of arguments."""
        ranges = []
        for function in self.model.generators:
            ranges.append(self._ranges(function.arguments))
            bits = sum(each.elements if each.is_subset else (each.elements or 1).bit_length() for each in ranges[-1])
            if bits > MOST_BITS_OF_ARGUMENTS:
                raise UsageError(
                    f"{function.path}:{function.line}: {function.name} has more than 2**{MOST_BITS_OF_ARGUMENTS}"
                    " combinations of arguments; use smaller bounds"
                )
        return tuple(ranges)

    def _ranges(self, parameters: Iterable[Variable]) -> tuple[ArgumentRange, ...]:
        ranges = []
        for parameter in parameters:
            assert parameter.domain is not None
            ranges.append(ArgumentRange(parameter, self.size_of(_elements_of(parameter.domain))))
        return tuple(ranges)

    def size_of(self, domain: type[Domain]) -> int:
        """Return the number of elements of a domain."""
        return max(0, self._size(domain.size, f"domain {domain.__name__}"))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the model's `domains`, in the same order."""
        return tuple(self.size_of(domain) for domain in self.model.domains)

    def python(self, function: Function) -> Callable[..., Any]:
        """Return the function that CPython runs for `function`; its globals define the domains it uses, as ranges."""
        if not function.needs_sizes:
            return function.python
        if function not in self._python:
            names: dict[str, Any] = {name: range(self.size_of(domain)) for name, domain in function.domains.items()}
            names |= {name: self.python(callee) for name, callee in function.functions.items()}
            self._python[function] = with_names(function.python, names)
        return self._python[function]

    @cached_property
    def _python(self) -> dict[Function, Callable[..., Any]]:
        return {}

    def _size(self, size: Any, what: str) -> int:
        number: int = run_plain_python(self.model.path, what, size_of, size, self.configuration)
        return number

    @cached_property
    def first_steps(self) -> tuple[int, ...]:
        """For each action, the number of its first step; the last entry is the count of all steps. Raises UsageError
        for too many steps."""
        counts = [prod(each.count for each in arguments) for arguments in self.argument_ranges]
        if sum(counts) > MOST_STEPS:
            raise UsageError(f"{self.model.name} has {sum(counts)} steps, more than {MOST_STEPS}; use smaller bounds")
        return tuple(itertools.accumulate(counts, initial=0))

    def function(self, action_index: int) -> Function | None:
        """Return the function of an action under this protocol, or None if the protocol lacks the action."""
        chosen = self.alternatives[action_index]
        return None if chosen is None else self.model.actions[action_index].alternatives[chosen]

    def step(self, number: int) -> Step:
        """Return the step with this number. Steps are numbered from 0: action by action in the order of declaration,
        and for each action in the lexicographic order of its arguments."""
        index = bisect_right(self.first_steps, number) - 1
        combination = number - self.first_steps[index]
        ordinals: list[int] = []
        for argument in reversed(self.argument_ranges[index]):
            combination, ordinal = divmod(combination, argument.count)
            ordinals.insert(0, ordinal)
        return Step(number, index, self.model.actions[index].name, tuple(ordinals))

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Every step of the protocol, in the order of the steps' numbers; other protocols may have further actions."""
        return tuple(
            step
            for step in map(self.step, range(self.first_steps[-1]))
            if self.alternatives[step.action_index] is not None
        )

    def number(self, action: str, ordinals: Sequence[int]) -> int:
        """Return the number of the step with this action and these arguments. Raises UsageError for an unknown step."""
        names = [action.name for action in self.model.actions]
        if action not in names:
            raise UsageError(f"{self.model.name} has no action {action}; {nearest(action, names)}")
        index = names.index(action)
        ranges = self.argument_ranges[index]
        if len(ordinals) != len(ranges):
            raise UsageError(f"{action} takes {len(ranges)} arguments, not {len(ordinals)}")
        number = 0
        for argument, ordinal in zip(ranges, ordinals, strict=True):
            if not 0 <= ordinal < argument.count:
                raise UsageError(f"{action}: {argument.parameter.name}={ordinal} is outside 0..{argument.count - 1}")
            number = number * argument.count + ordinal
        return self.first_steps[index] + number

    def spell_step(self, step: Step) -> str:
        """Return a step as one line of a trace: the action's name and its arguments."""
        ranges = self.argument_ranges[step.action_index]
        arguments = {c.parameter.name: c.spell(o) for c, o in zip(ranges, step.ordinals, strict=True)}
        shows = self.model.actions[step.action_index].shows
        return " ".join([step.action, *([escaped(shows).format(**arguments)] if shows else arguments.values())])

    @cached_property
    def properties(self) -> tuple[Property, ...]:
        """The properties that apply under this configuration."""
        return tuple(prop for prop in self.model.properties if self._applies(prop))

    @cached_property
    def lemmas(self) -> tuple[Property, ...]:
        """The lemmas that apply under this configuration."""
        return tuple(lemma for lemma in self.model.lemmas if self._applies(lemma))

    def _applies(self, prop: Property) -> bool:
        return prop.applies is None or bool(
            run_plain_python(self.model.path, f"{prop.name} applies", prop.applies, self.configuration)
        )

    @cached_property
    def initial_states(self) -> InitialStates:
        """The cells of every initial state, in the order in which the model yields them, without repetition."""
        return self.enumerated(lambda count, size: None)

    @property
    def is_enumerated(self) -> bool:
        """Whether the initial states have been computed."""
        return "initial_states" in vars(self)

    def like(self, other: Instance) -> Instance:
        """Copy the initial states of `other` if they are computed; return self. `other` may differ only in actions."""
        if other.is_enumerated:
            vars(self)["initial_states"] = other.initial_states
        return self

    def enumerated(self, watch: Watch) -> InitialStates:
        """Return the initial states. The first call computes them and, meanwhile, calls `watch` with the number of
        states so far and their size in bytes. Raises ModelError if a state is invalid or if there is no state."""
        if self.is_enumerated:
            return self.initial_states
        enumeration = Enumeration(self.model.place_of_start, self.layouts)
        if self.model.generators:
            return self.start_from(enumeration.cells_of(self._generated(enumeration.default()), watch))
        return self.start_from(enumeration.states(self._given(), watch))

    def start_from(self, states: InitialStates) -> InitialStates:
        """Make the states in `states` that satisfy the model's constraints the initial states of this instance, and
        return these initial states. Raises ModelError if no state satisfies the constraints."""
        if not states:
            raise ModelError(
                f"{self.model.name}: this configuration has no initial state; let an @initial function"
                f" {'have true guards for some arguments' if self.model.generators else 'yield a state'}"
            )
        if self.model.constraints:
            states = self._within(states)
        vars(self)["initial_states"] = states
        return states

    def _within(self, states: InitialStates) -> InitialStates:
        size = len(states.packed) // len(states)
        kept = [number for number, cells in enumerate(states) if self.is_within(cells)]
        if not kept:
            first = self.model.constraints[0]
            names = ", ".join(constraint.name for constraint in self.model.constraints)
            what = f"{first.path}:{first.line}: @constraint {names} excludes every initial state"
            raise ModelError(f"{what}; weaken the constraint, or let @initial make a state that satisfies it")
        packed = b"".join(states.packed[number * size : (number + 1) * size] for number in kept)
        return InitialStates(packed, len(kept), self.cells, states.size)

    def is_within(self, cells: Cells) -> bool:
        """Whether every constraint of the model is true in this state. Raises ModelError if the evaluation fails."""
        for constraint in self.model.constraints:
            try:
                if not self.python(constraint)(State(self, cells)):
                    return False
            except ModelError as error:
                raise ModelError(f"{constraint.path}:{constraint.line}: {constraint.name}: {error}") from None
        return True

    def _generated(self, default: Cells) -> Iterator[Cells]:
        """Yield the initial states that the `@initial` functions of the language make, function by function, in the
        order of the arguments; repeated states are included. Raises ModelError, as `generated_by` does."""
        for generator, ranges in enumerate(self.generator_ranges):
            for ordinals in itertools.product(*(range(each.count) for each in ranges)):
                cells = self.generated_by(default, generator, ordinals)
                if cells is not None:
                    yield cells

    def generated_by(self, default: Cells, number: int, ordinals: Sequence[int]) -> Cells | None:
        """Return the state that `@initial` function `number` makes from `default`, called with these arguments; None if
        a guard is false. Raises ModelError, with function and arguments, if a value or an index leaves its range."""
        function, state = self.model.generators[number], State(self, default)
        arguments = list(zip(self.generator_ranges[number], ordinals, strict=True))
        try:
            self.python(function)(state, *(each.argument(ordinal) for each, ordinal in arguments))
        except Disabled:
            return None
        except ModelError as error:
            says = " ".join([function.name, *(each.spell(ordinal) for each, ordinal in arguments)])
            raise ModelError(f"{function.path}:{function.line}: {says}: {error}") from None
        return state.cells

    def _given(self) -> Iterator[Any]:
        if self.model.start is None:
            yield {}
            return
        with author_errors(self.model.path, "initial states"):
            yield from self.model.start(self.configuration)


# -------------------------------------------------------------------------------------------------- implicit properties
#
# No value leaves its declared range, and no state is a deadlock. The functions are never called. An error of a step or
# a property in a reachable state violates `in_range`. A state without a step violates `deadlock`, unless the model says
# that it may end there; a step that leaves a declared range, and a step to the same state, count as steps.
# models/run.py defines both.


@always
def in_range(s: Any) -> bool:  # noqa: ARG001 - never called
    """No value or index leaves its declared range.

    No step writes a value outside the range of its field, or uses an index outside a field or a subset; and no
    property, evaluated in a reachable state or transition, uses such an index.
    """
    return True


@always
def deadlock(s: Any) -> bool:  # noqa: ARG001 - never called
    """A state has a step, or the model declares that it may end there (`@terminal`)."""
    return True


def _implicit(function: Any) -> Property:
    mark = mark_of(function)
    assert mark is not None
    reader = Reader(Vocabulary({}, {}, {}))
    return Property(function.__name__, mark.kind, reader.read(function), None, None, mark.every_length)


IN_RANGE = _implicit(in_range)
"""The property that no value leaves its declared range."""

DEADLOCK = _implicit(deadlock)
"""The property that no state without a step is reachable, except where the model may end."""
