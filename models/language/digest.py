"""Digests of models and instances: the keys of everything that is cached or stored between runs.

In:  a `Model` or an `Instance`.
Out: SHA-256 over everything that its meaning depends on, as 64 hexadecimal digits.

A function is represented by its syntax tree, by the values of the constants that it names, wherever they are defined,
and by the functions that it calls. Plain Python (`@initial`, `@contradiction`, `applies=`, sizes that are functions)
may use anything; for a model with any plain Python, the syntax trees of all its files are included. Comments,
docstrings and the layout of the text are not.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from isrcheck.models.language.declare import Domain, Field, LastOf, Subset
from isrcheck.models.language.entries import Entry
from isrcheck.models.language.syntax import Function
from isrcheck.models.language.text.plain import members_of
from isrcheck.models.language.reading.source_text import text_of

if TYPE_CHECKING:
    from isrcheck.models.language.model import Action, Instance, Model, Property

SEMANTICS = 1
"""The version of the language's semantics; it is increased when the same text changes its meaning."""

NO_MEANING = ("kind", "type_comment")
"""The fields of syntax tree nodes that describe only the notation."""


def of_model(model: Model) -> str:
    """Return the digest of a model."""
    functions = _Functions()
    content = [
        ["language", SEMANTICS],
        ["model", model.name],
        ["entries", [[name, *_entry(entry)] for name, entry in model.entries.items()]],
        ["fields", [[name, *_field(declared)] for name, declared in model.fields.items()]],
        [
            "actions",
            [
                [action.name, action.shows, list(map(functions.digest, action.alternatives)), *_fair(action)]
                for action in model.actions
            ],
        ],
        ["properties", [_property(functions, prop) for prop in model.properties]],
        ["lemmas", [_property(functions, prop) for prop in model.lemmas]],
        ["protocols", [[one.name, dict(one.switches), one.alternatives] for one in model.protocols.values()]],
        ["start", model.start is not None, len(model.contradictions), *map(functions.digest, model.generators)],
    ]
    if model.terminals:
        content.append(["terminals", list(map(functions.digest, model.terminals))])
    if model.constraints:
        content.append(["constraints", list(map(functions.digest, model.constraints))])
    if _has_plain_python(model):
        content.append(["files", sorted([path, _file(file)] for file, path in model.sources.items())])
    return _hashed(map(repr, content))


def of_instance(instance: Instance) -> str:
    """Return the digest of an instance, from the model's digest, the configuration and the initial states."""
    content = [
        ["model", instance.model.digest],
        ["choices", instance.alternatives, sorted(instance.swaps.items())],
        ["configuration", list(instance.configuration.items())],
        ["places", [(one.name, one.offset, one.sizes, one.low, one.high) for one in instance.layouts.values()]],
        ["steps", instance.first_steps],
        ["properties", [prop.name for prop in instance.properties]],
        ["lemmas", [prop.name for prop in instance.lemmas]],
    ]
    # What generators make is determined by their text, and may be many millions of states.
    return _hashed(map(repr, [*content, *(() if instance.model.generators else instance.initial_states)]))


def _hashed(parts: Iterable[str]) -> str:
    content = hashlib.sha256()
    for part in parts:
        content.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return content.hexdigest()


# --------------------------------------------------------------------------------------------------------- declarations


def _entry(entry: Entry) -> list[Any]:
    values = entry.values
    kind = _members(values) if values is not None and issubclass(values, IntEnum) else values is bool
    return [entry.default, entry.least, entry.most, kind, entry.is_bound, entry.is_budget, entry.is_open, entry.option]


def _field(declared: Field) -> list[Any]:
    values = declared.values
    ends = [_size(values.low), _size(values.high)]
    kind = _members(values.names) if values.names is not None else None
    over = [_domain(domain) for domain in declared.over]
    content = [over, ends, kind, values.is_flag, values.letters, values.none, declared.initially]
    if declared.contents is None:
        return content
    members = None if declared.members is None else sorted(declared.members)
    element = declared.contents.element
    names = None if element.names is None else _members(element.names)
    return [*content, declared.contents.word, names, element.is_flag, members]


def _members(kind: type[IntEnum]) -> list[Any]:
    """The members of an enumeration, and their spelling on the command line and in traces."""
    spelled = {name: str(getattr(member, "spelling", name)) for name, member in kind.__members__.items()}
    return [[name, value, spelled.get(name)] for name, value in members_of(kind).items()]


def _domain(domain: type[Domain] | type[Subset] | None) -> list[Any] | None:
    if domain is None:
        return None
    if issubclass(domain, Subset):
        return ["subset", _domain(domain.of)]
    return [domain.__name__, _size(domain.size), domain.letters]


def _size(size: object) -> Any:
    """A representation of a size: a number, the name of an entry, the last element of a domain, or any function."""
    if isinstance(size, LastOf):
        return ["last", _domain(size.domain)]
    return size if isinstance(size, int | str) else ["function"]


def _property(functions: _Functions, prop: Property) -> list[Any]:
    permitted = None if prop.permitted is None else functions.digest(prop.permitted)
    applies = prop.applies is not None
    liveness: list[Any] = [] if prop.premise is None else ["when", functions.digest(prop.premise)]
    liveness += [] if prop.fair is None else ["fair", [[one.actions, one.each] for one in prop.fair]]
    content = [prop.name, prop.kind.value, functions.digest(prop.function), permitted, applies, prop.every_length]
    return [*content, *liveness]


def _fair(action: Action) -> list[Any]:
    """What the alternatives of an action declare with `fair=`; empty if none declares anything."""
    given = [False if one.mark is None else one.mark.fair for one in action.alternatives]
    return [["fair", repr(given)]] if any(given) else []


def _has_plain_python(model: Model) -> bool:
    return bool(
        model.start is not None
        or model.contradictions
        or any(prop.applies is not None for prop in (*model.properties, *model.lemmas))
        or any(_is_function(size) for size in _sizes(model))
    )


def _is_function(size: object) -> bool:
    return callable(size) and not isinstance(size, LastOf)


def _sizes(model: Model) -> Iterator[object]:
    for declared in model.fields.values():
        for size in (declared.values.low, declared.values.high):
            yield size.domain.size if isinstance(size, LastOf) else size
        yield from (domain.size for domain in declared.over)
    yield from (domain.size for domain in model.domains)
    for arguments in (*(one.parameters for one in model.actions), *(one.arguments for one in model.generators)):
        for domain in (parameter.domain for parameter in arguments):
            if domain is not None:
                yield (domain.of if issubclass(domain, Subset) else domain).size


# ------------------------------------------------------------------------------------------------------------ functions


class _Functions:
    """The digests of functions, each computed once."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def digest(self, function: Function) -> str:
        """Return the digest of a function's text, the meaning of its names, and the functions that it calls."""
        if id(function) not in self._known:
            callees = {name: self.digest(callee) for name, callee in sorted(function.functions.items())}
            meaning = [
                [(parameter.name, _domain(parameter.domain)) for parameter in function.parameters],
                sorted((name, repr(value)) for name, value in function.constants.items()),
                sorted(function.actions.items()),
                sorted((name, _domain(domain)) for name, domain in function.domains.items()),
                callees,
            ]
            self._known[id(function)] = _hashed([*map(spelled, function.body), repr(meaning)])
        return self._known[id(function)]


def _file(file: str) -> str:
    try:
        return _hashed([spelled(text_of(file).tree)])
    except OSError:
        return "no source"


def spelled(tree: ast.AST) -> str:
    """Return a syntax tree as text, the same in all Python versions that parse the tree alike.

    `ast.dump` omits different attributes in different versions, and recurses as deep as the tree.
    """
    parts: list[str] = []
    waiting: list[object] = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.AST):
            parts.append(type(one).__name__)
            for name in one._fields:
                value = getattr(one, name, None)
                if value is not None and value != [] and name not in NO_MEANING:
                    parts.append(name)
                    waiting.append(value)
            parts.append(";")
        elif isinstance(one, list):
            kept = [each for each in one if not _is_text(each)]
            parts.append(f"{len(kept)}")
            waiting += kept
        else:
            parts.append(repr(one))
    return " ".join(parts)


def _is_text(node: object) -> bool:
    """Whether a statement is only a string: a docstring, or a string without effect."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
