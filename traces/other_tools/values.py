"""Prints the values in traces of other tools, in the notation of those tools.

In:  a value as JSON: ITF's (Apalache's ADR-015, and Quint's variants), or TLC's.
Out: one line of text without control characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from isrcheck.models.messages import UsageError, escaped

MOST_DEPTH = 100
"""The deepest nesting of values that is accepted; genuine values are a few levels deep."""

NAME = re.compile(r"[\w:.-]+")


@dataclass(frozen=True)
class Spelling:
    """The notation of a language: the text before, between and after the elements of a value."""

    truths: tuple[str, str]
    sequence: tuple[str, str]
    pair: tuple[str, str]
    group: tuple[str, str]
    mapping: tuple[str, str, str, str]
    fields: tuple[str, str, str]
    tagged: tuple[str, str, str]


TLA = Spelling(
    ("FALSE", "TRUE"),
    ("<<", ">>"),
    ("<<", ">>"),
    ("{", "}"),
    ("(", " :> ", " @@ ", ")"),
    ("[", " |-> ", "]"),
    ('Variant("', '", ', ")"),
)
QUINT = Spelling(
    ("false", "true"),
    ("[", "]"),
    ("(", ")"),
    ("Set(", ")"),
    ("Map(", " -> ", ", ", ")"),
    ("{ ", ": ", " }"),
    ("", "(", ")"),
)


def spell_itf(value: Any, spelling: Spelling, depth: int = 0) -> str:
    """Return a value of an ITF trace as text; an unknown form is read as a record. Raises UsageError."""
    _require(depth < MOST_DEPTH, f"nested more than {MOST_DEPTH} deep")

    def inner(one: Any) -> str:
        return spell_itf(one, spelling, depth + 1)

    match value:
        case {"#bigint": digits, **rest} if not rest:
            _require(
                isinstance(digits, str) and re.fullmatch(r"-?[0-9]+", digits, re.ASCII) is not None,
                "not a #bigint",
                value,
            )
            return str(digits)
        case {"#unserializable": text, **rest} if not rest:
            _require(isinstance(text, str), "not an #unserializable", value)
            return escaped(text)
        case {"#tup": parts, **rest} if not rest:
            return _around(spelling.pair, map(inner, _list(parts, "#tup", value)))
        case {"#set": parts, **rest} if not rest:
            return _around(spelling.group, map(inner, _list(parts, "#set", value)))
        case {"#map": pairs, **rest} if not rest:
            return _map(_list(pairs, "#map", value), spelling, depth)
        case {"tag": str(tag), **rest} if set(rest) <= {"value"}:
            return _variant(tag, rest.get("value", {}), spelling, depth)
        case dict():
            before, between, behind = spelling.fields
            parts = ", ".join(f"{_name(name)}{between}{inner(one)}" for name, one in value.items())
            return f"{before}{parts}{behind}" if parts else f"{before}{behind}".replace("  ", "")
        case list():
            return _around(spelling.sequence, map(inner, value))
    return _plain(value, spelling)


def spell_tlc(value: Any, depth: int = 0) -> str:
    """Return a value of TLC's JSON as text. The JSON does not distinguish sets from sequences: both get square
    brackets."""
    _require(depth < MOST_DEPTH, f"nested more than {MOST_DEPTH} deep")
    match value:
        case dict():
            before, between, behind = TLA.fields
            parts = (f"{_name(name)}{between}{spell_tlc(one, depth + 1)}" for name, one in value.items())
            return f"{before}{', '.join(parts)}{behind}"
        case list():
            return _around(("[", "]"), (spell_tlc(one, depth + 1) for one in value))
    return _plain(value, TLA)


def _plain(value: Any, spelling: Spelling) -> str:
    if isinstance(value, bool):
        return spelling.truths[value]
    return escaped(json.dumps(value, ensure_ascii=False))


def _around(brackets: tuple[str, str], parts: Iterable[str]) -> str:
    return f"{brackets[0]}{', '.join(parts)}{brackets[1]}"


def _map(pairs: list[Any], spelling: Spelling, depth: int) -> str:
    before, between, after, behind = spelling.mapping
    parts = []
    for pair in pairs:
        _require(isinstance(pair, list) and len(pair) == 2, "not a pair in a #map", pair)
        key, one = (spell_itf(part, spelling, depth + 1) for part in pair)
        parts.append(f"{key}{between}{one}")
    if not parts and spelling is TLA:
        return "<<>>"  # the function with an empty domain, which is the empty sequence
    return f"{before}{after.join(parts)}{behind}"


def _variant(tag: str, value: Any, spelling: Spelling, depth: int) -> str:
    """A variant as text; a variant without a value is its tag alone if the language allows that."""
    before, between, behind = spelling.tagged
    is_bare = value in ({}, {"#tup": []}, {"tag": "UNIT"}, {"tag": "UNIT", "value": {"#tup": []}})
    if spelling is QUINT and is_bare:
        return "()" if tag == "UNIT" else _name(tag)
    return f"{before}{_name(tag)}{between}{spell_itf(value, spelling, depth + 1)}{behind}"


def _name(name: str) -> str:
    return name if NAME.fullmatch(name) else escaped(json.dumps(name, ensure_ascii=False))


def _list(value: Any, form: str, whole: Any) -> list[Any]:
    _require(isinstance(value, list), f"not a {form}", whole)
    found: list[Any] = value
    return found


def _require(is_fine: bool, what: str, value: Any = None) -> None:
    if not is_fine:
        shown = "" if value is None else f": {escaped(json.dumps(value)[:60])}"
        raise UsageError(f"{what}{shown}; the trace is damaged")
