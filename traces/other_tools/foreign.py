"""Traces of other tools: ITF, as Apalache and Quint write it, and the output of TLC with -dumpTrace json.

A `ForeignTrace` has its values as text, in the notation of the tool. A file with any defect is refused with a
UsageError. Nothing in a file is ever executed.

ITF is described by Apalache's ADR-015 and by the code of Quint (src/itf.ts, whose `mbt::` keys name actions and picks).
TLC's format follows from its code: {"action": [[[1, {..}], {"name": ..}, [2, {..}]], ..], "state": [[1, {..}], ..]}
(CounterExample.java, Json.java), which wrappers put into {"counterexample": ..}. Older versions, and trace expressions,
write only a list of states.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.format import files
from isrcheck.traces.format.files import ACTION, PICKS
from isrcheck.traces.lanes.table import GAP, UNCHANGED, WIDTH, Row, grid, lines_of

# --------------------------------------------------------------------------------------------------------------- values

MOST_DEPTH = 100
"""The deepest nesting of values that is accepted; genuine values are a few levels deep."""

NAME = re.compile(r"[\w:.-]+")


@dataclass(frozen=True)
class Spelling:
    """The notation of a language: the text before, between and after the elements of each kind of value."""

    truths: tuple[str, str]
    """False and true."""
    sequence: tuple[str, str]
    """Before and after the elements of a sequence."""
    pair: tuple[str, str]
    """Before and after the elements of a tuple."""
    group: tuple[str, str]
    """Before and after the elements of a set."""
    mapping: tuple[str, str, str, str]
    """Before a map, between key and value, between two entries, after the map."""
    fields: tuple[str, str, str]
    """Before a record, between name and value, after the record."""
    tagged: tuple[str, str, str]
    """Before the tag of a variant, between tag and value, after the value."""


TLA = Spelling(
    truths=("FALSE", "TRUE"),
    sequence=("<<", ">>"),
    pair=("<<", ">>"),
    group=("{", "}"),
    mapping=("(", " :> ", " @@ ", ")"),
    fields=("[", " |-> ", "]"),
    tagged=('Variant("', '", ', ")"),
)
QUINT = Spelling(
    truths=("false", "true"),
    sequence=("[", "]"),
    pair=("(", ")"),
    group=("Set(", ")"),
    mapping=("Map(", " -> ", ", ", ")"),
    fields=("{ ", ": ", " }"),
    tagged=("", "(", ")"),
)


def spell_itf(value: Any, spelling: Spelling, depth: int = 0) -> str:
    """Return a value of an ITF trace as text; a value of an unknown form is treated as a record. Raises UsageError."""
    _require(depth < MOST_DEPTH, f"nested more than {MOST_DEPTH} deep")
    inner = partial(spell_itf, spelling=spelling, depth=depth + 1)
    match value:
        case {"#bigint": digits, **others} if not others:
            _require(re.fullmatch(r"-?[0-9]+", digits if isinstance(digits, str) else ""), "not a #bigint", value)
            return str(digits)
        case {"#unserializable": text, **others} if not others:
            _require(isinstance(text, str), "not an #unserializable", value)
            return escaped(text)
        case {"#tup": parts, **others} if not others:
            return _around(spelling.pair, map(inner, _list(parts, "#tup", value)))
        case {"#set": parts, **others} if not others:
            return _around(spelling.group, map(inner, _list(parts, "#set", value)))
        case {"#map": pairs, **others} if not others:
            return _map(_list(pairs, "#map", value), spelling, inner)
        case {"tag": str(tag), **others} if set(others) <= {"value"}:
            return _variant(tag, others.get("value", {}), spelling, inner)
        case dict():
            before, between, behind = spelling.fields
            fields = ", ".join(f"{_name(name)}{between}{inner(part)}" for name, part in value.items())
            return f"{before}{fields}{behind}" if fields else f"{before}{behind}".replace("  ", "")
        case list():
            return _around(spelling.sequence, map(inner, value))
    return _plain(value, spelling)


def spell_tlc(value: Any, depth: int = 0) -> str:
    """Return a value of TLC's JSON as text. Sets and sequences look alike in this JSON: both get square brackets."""
    _require(depth < MOST_DEPTH, f"nested more than {MOST_DEPTH} deep")
    match value:
        case dict():
            before, between, behind = TLA.fields
            fields = (f"{_name(name)}{between}{spell_tlc(part, depth + 1)}" for name, part in value.items())
            return _around((before, behind), fields)
        case list():
            return _around(("[", "]"), (spell_tlc(part, depth + 1) for part in value))
    return _plain(value, TLA)


def _plain(value: Any, spelling: Spelling) -> str:
    if isinstance(value, bool):
        return spelling.truths[value]
    return escaped(json.dumps(value, ensure_ascii=False))


def _around(brackets: tuple[str, str], parts: Iterable[str]) -> str:
    return f"{brackets[0]}{', '.join(parts)}{brackets[1]}"


def _map(pairs: list[Any], spelling: Spelling, inner: Callable[[Any], str]) -> str:
    before, between, after, behind = spelling.mapping
    for pair in pairs:
        _require(isinstance(pair, list) and len(pair) == 2, "not a pair in a #map", pair)
    if not pairs and spelling is TLA:
        return "<<>>"  # the function with an empty domain, which is the empty sequence
    return f"{before}{after.join(between.join(map(inner, pair)) for pair in pairs)}{behind}"


def _variant(tag: str, value: Any, spelling: Spelling, inner: Callable[[Any], str]) -> str:
    """A variant as text; a variant without a value is its tag alone if the language allows that."""
    before, between, behind = spelling.tagged
    is_bare = value in ({}, {"#tup": []}, {"tag": "UNIT"}, {"tag": "UNIT", "value": {"#tup": []}})
    if spelling is QUINT and is_bare:
        return "()" if tag == "UNIT" else _name(tag)
    return f"{before}{_name(tag)}{between}{inner(value)}{behind}"


def _name(name: str) -> str:
    return name if NAME.fullmatch(name) else escaped(json.dumps(name, ensure_ascii=False))


def _list(value: Any, form: str, whole: Any) -> list[Any]:
    _require(isinstance(value, list), f"not a {form}", whole)
    return cast("list[Any]", value)


def _require(condition: object, problem: str, value: Any = None) -> None:
    if not condition:
        shown = "" if value is None else f": {escaped(json.dumps(value)[:60])}"
        raise UsageError(f"{problem}{shown}; the trace is damaged")


# --------------------------------------------------------------------------------------------------------------- traces

EXPECTED = (
    "not a trace in a known format: give a file that check wrote, ITF as Apalache and Quint write it (an object"
    " with `vars` and `states`), or what TLC writes with -dumpTrace json (an object with `state` and `action`)"
)


@dataclass(frozen=True)
class ForeignTrace:
    """A trace of an unknown model: the tool that wrote it, and the variables of each state as text."""

    source: str
    """The tool that wrote the trace, and the model's file."""
    variables: tuple[str, ...]
    states: tuple[Mapping[str, str], ...]
    actions: tuple[str | None, ...]
    """For each state, the action that led to it, if it is known."""
    loop: int | None
    """The state with which the trace continues after its last state."""
    back: str | None = None
    """The action that leads back to the state `loop`."""


def find(path: Path) -> ForeignTrace | None:
    """Return the trace of another tool in this file; None if isrcheck wrote it or it is not JSON. Raises UsageError."""
    with files.blaming(path):
        text = files.read_text(path)
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return None
        match document:
            case {"#meta": {"isrcheck": _}}:
                return None
        return read(document)


def read(document: Any) -> ForeignTrace:
    """Return the trace in a parsed JSON document. Raises UsageError."""
    match document:
        case {"states": list()}:
            return _read_itf(document)
        case {"state": list()} | {"counterexample": {"state": list()}}:
            return _read_tlc(document.get("counterexample", document))
        case [{}, *_]:
            states = tuple(_tlc_state(position, state) for position, state in enumerate(document))
            return ForeignTrace("TLC", _variables(states), states, (None,) * len(states), None)
    raise UsageError(EXPECTED)


def _variables(states: tuple[Mapping[str, str], ...]) -> tuple[str, ...]:
    """The names of the variables that have a value in some state, in order of appearance."""
    return tuple(dict.fromkeys(name for state in states for name in state))


# ------------------------------------------------------------------------------------------------------------------ ITF


def _read_itf(document: Mapping[str, Any]) -> ForeignTrace:
    meta = document.get("#meta")
    meta = meta if isinstance(meta, dict) else {}
    names = [*_names(document, "params"), *_names(document, "vars")]
    is_quint = str(meta.get("source", "")).endswith(".qnt") or "Quint" in str(meta.get("description", ""))
    spelling = QUINT if is_quint or ACTION in names else TLA
    states: list[Mapping[str, str]] = []
    actions: list[str | None] = []
    constants: Mapping[str, str] = {}
    for position, state in enumerate(document["states"]):
        values, action = _itf_state(position, state, spelling)
        states.append({**constants, **values})
        actions.append(action)
        if position == 0:
            constants = {name: values[name] for name in map(escaped, _names(document, "params")) if name in values}
    if not states:
        raise UsageError("it has no states; write the trace again")
    declared = [escaped(name) for name in names if name not in (ACTION, PICKS)]
    variables = tuple(dict.fromkeys([*declared, *_variables(tuple(states))]))
    return ForeignTrace(_itf_source(meta), variables, tuple(states), tuple(actions), _loop(document, len(states)))


def _names(document: Mapping[str, Any], key: str) -> list[str]:
    value = document.get(key) or []
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise UsageError(f"its {key} are not a list of names; the trace is damaged")
    return value


def _loop(document: Mapping[str, Any], states: int) -> int | None:
    loop = document.get("loop")
    if loop is None:
        return None
    if not isinstance(loop, int) or isinstance(loop, bool) or not 0 <= loop < states:
        raise UsageError(f"its loop is not the number of a state, 0..{states - 1}; the trace is damaged")
    return loop


def _itf_source(meta: Mapping[str, Any]) -> str:
    """The tool that produced the trace, and its source file, as far as the trace names them."""
    tool = re.match(r"Created by (\w{1,40})", str(meta.get("description", "")))
    parts = [tool[1] if tool else "ITF", *(str(meta[key])[:200] for key in ("source", "status") if meta.get(key))]
    return escaped(": ".join(parts[:2]) + (f" ({parts[2]})" if len(parts) > 2 else ""))


def _itf_state(position: int, state: Any, spelling: Spelling) -> tuple[dict[str, str], str | None]:
    """The values of one state, and the action that led to it."""
    if not isinstance(state, dict):
        raise UsageError(f"state {position} is not an object; the trace is damaged")
    values = {}
    for name, value in state.items():
        if name in ("#meta", ACTION, PICKS):
            continue
        with files.blaming(f"state {position}, {escaped(name)}"):
            values[escaped(name)] = spell_itf(value, spelling)
    action = state.get(ACTION)
    if not isinstance(action, str) or not action:
        return values, None
    return values, escaped(action) + _picks(state.get(PICKS), spelling)


def _picks(picks: Any, spelling: Spelling) -> str:
    """The arguments of a step as text. Quint's `picks` have the parameters of all actions. A parameter with the value
    `None` belongs to an action that the step did not take, and is left out."""
    arguments = []
    for name, value in picks.items() if isinstance(picks, dict) else ():
        match value:
            case {"tag": "None", **others} if set(others) <= {"value"}:
                continue
            case {"tag": "Some", "value": value}:
                pass
        arguments.append(f"{escaped(name)} = {spell_itf(value, spelling)}")
    return f"({', '.join(arguments)})" if arguments else ""


# ------------------------------------------------------------------------------------------------------------------ TLC


def _read_tlc(document: Mapping[str, Any]) -> ForeignTrace:
    numbered: dict[int, dict[str, str]] = {}
    for position, entry in enumerate(document["state"]):
        match entry:
            case [int(number), dict(state)]:
                if number in numbered:
                    raise UsageError(
                        f"two of its states have the number {number}: it has several traces; give a file with one trace"
                    )
                numbered[number] = _tlc_state(position, state)
            case _:
                raise UsageError(f"state {position} is not a pair of a number and an object; the trace is damaged")
    if not numbered:
        raise UsageError("it has no states; give a file of a run in which TLC found a counterexample")
    order = sorted(numbered)
    actions: dict[int, str] = {}
    loop, back = None, None
    for edge in document.get("action") or []:
        match edge:
            case [[int(before), _], dict(action), [int(after), _]] if {before, after} <= numbered.keys():
                if after > before:
                    actions.setdefault(after, _tlc_action(action))
                else:
                    loop, back = order.index(after), _tlc_action(action)
            case _:
                continue  # perhaps written by a newer version; the states are readable
    states = tuple(numbered[number] for number in order)
    return ForeignTrace("TLC", _variables(states), states, tuple(actions.get(number) for number in order), loop, back)


def _tlc_state(position: int, state: Any) -> dict[str, str]:
    if not isinstance(state, dict):
        raise UsageError(f"state {position} is not an object; the trace is damaged")
    with files.blaming(f"state {position}"):
        return {escaped(name): spell_tlc(value) for name, value in state.items()}


def _tlc_action(action: Mapping[str, Any]) -> str:
    """The name of an action, with its parameters if TLC wrote them."""
    name, parameters, values = (action.get(key) for key in ("name", "parameters", "context"))
    arguments = []
    if isinstance(parameters, list) and isinstance(values, dict):
        names = (name for name in parameters if isinstance(name, str) and name in values)
        arguments = [f"{escaped(name)} = {spell_tlc(values[name])}" for name in names]
    return escaped(str(name or "not named")) + (f"({', '.join(arguments)})" if arguments else "")


# -------------------------------------------------------------------------------------------------------------- as text

NARROWEST = 10
"""The narrowest cell, in characters."""

MOST_STEP = 40
"""The width of the step's column; longer texts continue on the next line."""


def view(foreign: ForeignTrace, full: bool = False, step: int | None = None, width: int = WIDTH) -> list[str]:
    """Return a row for each step, with the variables that changed; with `full`, every variable of every state; with
    `step`, the variables of one state. Raises UsageError if the trace has no such step."""
    last = len(foreign.states) - 1
    if step is not None and not -last - 1 <= step <= last:
        raise UsageError(f"--step {step}: no such step; the trace has the steps 0..{last}")
    heading = textwrap.wrap(f"{foreign.source}, {last} steps", max(width, NARROWEST))
    if step is not None:
        body = _state(foreign, step % (last + 1), width)
    elif full:
        body = [line for position in range(last + 1) for line in _state(foreign, position, width)]
    else:
        body = _table(foreign, width)
    return [*heading, "", *body, *_loop_lines(foreign)]


def _table(foreign: ForeignTrace, width: int) -> list[str]:
    """The table: numbers, steps and changes in three columns; every cell may continue on the next line."""
    positions = range(len(foreign.states))
    digits = len(str(len(foreign.states) - 1))
    steps = [_lines(step_of(foreign, position), min(MOST_STEP, width // 3)) for position in positions]
    column = max(len(line) for step in steps for line in step)
    room = width - digits - column - 3 * len(GAP)
    changes = [
        [line for name in changed(foreign, position) for line in _lines(_value(foreign, position, name), room)]
        for position in positions
    ]
    rows: list[Row] = [[("#".rjust(digits),), ("step",), ("changes",)]]
    rows += [[(str(i).rjust(digits),), tuple(steps[i]), tuple(changes[i]) or (UNCHANGED,)] for i in positions]
    return grid(rows)


def step_of(foreign: ForeignTrace, position: int) -> str:
    """Return the name of the step that led to a state: `initially` for state 0, `a step` for a step without a name."""
    return foreign.actions[position] or ("a step" if position else "initially")


def changed(foreign: ForeignTrace, position: int) -> list[str]:
    """Return the variables that a step changed; all of them in the first state."""
    before = foreign.states[position - 1] if position else {}
    now = foreign.states[position]
    return [name for name in foreign.variables if now.get(name) != before.get(name)]


def _value(foreign: ForeignTrace, position: int, name: str) -> str:
    return f"{name} = {foreign.states[position].get(name, '(no value)')}"


def _state(foreign: ForeignTrace, position: int, width: int) -> list[str]:
    """The lines of one state: every variable, with its previous value if the step changed it."""
    lines = _lines(f"{position}  {step_of(foreign, position)}", width - len(GAP))
    news = changed(foreign, position) if position else []
    for name in foreign.variables:
        was = f"  (was {foreign.states[position - 1].get(name, 'without a value')})" if name in news else ""
        lines += [f"   {line}" for line in _lines(_value(foreign, position, name) + was, width - len(GAP) - 3)]
    return [f"{GAP}{line}" for line in lines]


def _loop_lines(foreign: ForeignTrace) -> list[str]:
    if foreign.loop is None:
        return []
    by = f" by {foreign.back}" if foreign.back else ""
    return ["", f"loop: after step {len(foreign.states) - 1} it continues with state {foreign.loop}{by}"]


def _lines(text: str, width: int) -> list[str]:
    return lines_of(text, max(width, NARROWEST), "  ", break_on_hyphens=False) or [""]
