"""Digests: the keys of everything that is cached or stored between runs.

A digest is SHA-256 over the meaning of a function or a declaration, as 64 hexadecimal digits; models/language/model.py
defines the meaning of a model and of an instance.

A function is represented by its routine and by the routines that it calls. So comments, docstrings, layout, the names
of locals and helpers, and the names of constants do not count; the values of constants do, wherever they are defined.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from enum import Enum, IntEnum
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from isrcheck.models.language.declarations import Domain, Entry, Field, LastOf, Subset, members_of
from isrcheck.models.language.ir.nodes import Node, Routine, Variable

SEMANTICS = 1
"""The version of the language's semantics; it is increased when the same text changes its meaning."""

NOTATION = ("span", "enumeration")
"""The fields of nodes that only say how the model's text is written, and do not count in a digest."""


def hashed(content: Any, data: bytes = b"") -> str:
    """Return SHA-256 over `content` (lists of numbers, truth values and texts) and `data`, as 64 hexadecimal digits."""
    return hashlib.sha256(json.dumps(content).encode() + b"\0" + data).hexdigest()


_digests: WeakKeyDictionary[Routine, str] = WeakKeyDictionary()


def of_routine(routine: Routine) -> str:
    """Return the digest of a function, which depends on its routine and on the routines that it calls."""
    if routine not in _digests:
        _digests[routine] = hashlib.sha256("\0".join(_words(routine)).encode()).hexdigest()
    return _digests[routine]


def _words(routine: Routine) -> list[str]:
    """Return a routine as a list of words, from which its digest is computed. A node comes before its parts; a variable
    is written as its number in the order of first appearance."""
    numbers = {variable: number for number, variable in enumerate(routine.parameters)}
    words = [json.dumps([[parameter.role.name, domain(parameter.domain)] for parameter in routine.parameters])]
    waiting: list[Any] = [routine.body]
    while waiting:
        part = waiting.pop()
        kind = part.__class__
        if kind is tuple:
            words.append(f"({len(part)}")
            waiting += part[::-1]
        elif kind is Variable:
            words.append(f"v{numbers.setdefault(part, len(numbers))}")
        elif kind is str:
            words.append(part)
        elif names := _fields_of(kind):
            words.append(kind.__name__)
            waiting += [getattr(part, name) for name in names]
        else:
            words.append(_word(part))
    return words


@cache
def _fields_of(kind: type) -> tuple[str, ...]:
    """Return the names of the fields of a class of nodes, last field first; empty if `kind` is not a class of nodes."""
    parts = fields(kind) if issubclass(kind, Node) else ()
    return tuple(part.name for part in reversed(parts) if part.name not in NOTATION)


def _word(part: object) -> str:
    match part:
        case Enum():
            return part.name
        case Routine():
            return of_routine(part)
        case type():
            assert issubclass(part, Domain)
            return json.dumps(domain(part))
    assert part is None or isinstance(part, int), part
    return str(part)


def entry(declared: Entry) -> list[Any]:
    """Return the parts of a configuration entry on which digests depend."""
    values = declared.values
    kind = _members(values) if values is not None and issubclass(values, IntEnum) else values is bool
    flags = [declared.is_bound, declared.is_budget, declared.is_open]
    return [declared.default, declared.least, declared.most, kind, *flags, declared.option]


def field(declared: Field) -> list[Any]:
    """Return the parts of a field's declaration on which digests depend."""
    values = declared.values
    ends = [_size(values.low), _size(values.high)]
    kind = None if values.names is None else _members(values.names)
    over = [domain(axis) for axis in declared.over]
    content = [over, ends, kind, values.is_flag, values.letters, values.none, declared.initially]
    if declared.contents is None:
        return content
    members = None if declared.members is None else sorted(declared.members)
    element = declared.contents.element
    names = None if element.names is None else _members(element.names)
    return [*content, declared.contents.word, names, element.is_flag, members]


def _members(kind: type[IntEnum]) -> list[Any]:
    """Return the name, the number, and the spelling (on the command line and in traces) of each member."""
    spelled = {name: str(getattr(member, "spelling", name)) for name, member in kind.__members__.items()}
    return [[name, value, spelled.get(name)] for name, value in members_of(kind).items()]


def domain(declared: type[Domain] | type[Subset] | None) -> list[Any] | None:
    """Return the parts of a domain, or of the subsets of a domain, on which digests depend."""
    if declared is None:
        return None
    if issubclass(declared, Subset):
        return ["subset", domain(declared.of)]
    return [declared.__name__, _size(declared.size), declared.letters]


def _size(size: object) -> Any:
    if isinstance(size, LastOf):
        return ["last", domain(size.domain)]
    return size if isinstance(size, int | str) else ["function"]
