"""Reads an expression that a user typed about one state, such as `s.leader == 0`.

The expression can use the state `s`, and the helpers, numbers, enumerations and domains that the model's files define.
It becomes a `Function` of `s`. For an invalid expression, a LanguageError names the fault and its column.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from types import FunctionType
from typing import Any

from isrcheck.models.language.declarations import Domain, Kind, mark_of
from isrcheck.models.language.model import Instance
from isrcheck.models.language.reading.reader import Function, with_callees
from isrcheck.models.language.reading.typed_expression import read_typed


def read_expression(instance: Instance, text: str) -> Function:
    """Return a function of the state `s` whose value is that of the expression `text`. Raises LanguageError if `text`
    is not an expression of the modelling language."""
    return read_typed(text, instance.model.reader, *_names(instance))


def _names(instance: Instance) -> tuple[dict[str, Any], set[str]]:
    """Return the names that a typed expression can use, with their values: helpers, whole numbers, enumerations and
    domains of the model's files. Also return the ambiguous names, which the expression cannot use, because two files
    of the instance's protocol give them different values."""
    model = instance.model
    used = [function for index in range(len(model.actions)) if (function := instance.function(index)) is not None]
    used += [prop.function for prop in (*model.properties, *model.lemmas)]
    used += [*model.terminals, *model.constraints]
    others = [function for action in model.actions for function in action.alternatives]
    offered: dict[str, Any] = {}
    ambiguous: set[str] = set()
    for name, value in _globals(instance, used):
        if offered.setdefault(name, value) is not value and offered[name] != value:
            ambiguous.add(name)
    for name, value in _globals(instance, others):
        offered.setdefault(name, value)
    return {name: value for name, value in offered.items() if name not in ambiguous}, ambiguous


def _globals(instance: Instance, functions: list[Function]) -> Iterator[tuple[str, Any]]:
    """Yield the global names, with their values, in the files of the functions and of all functions that they call."""
    read: set[int] = set()
    for function in with_callees(functions):
        names = function.names
        if id(names) not in read:
            read.add(id(names))
            yield from ((name, value) for name, value in list(names.items()) if _is_offered(instance, value))


def _is_offered(instance: Instance, value: object) -> bool:
    if type(value) is FunctionType:
        mark = mark_of(value)
        is_declared = mark is not None and mark.kind in (Kind.ACTION, Kind.INITIAL, Kind.CONTRADICTION)
        return value.__code__.co_filename in instance.model.sources and not is_declared
    if isinstance(value, type) and issubclass(value, Domain):
        return value is not Domain
    return isinstance(value, int) or (isinstance(value, type) and issubclass(value, IntEnum) and len(value) > 0)
