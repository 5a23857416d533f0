"""Reads traces of other tools: ITF, as Apalache and Quint write it, and the output of TLC with -dumpTrace json.

In:  the text of a file from any source.
Out: a `ForeignTrace`, all of it text; every defect of a file is one UsageError. Nothing in a file is ever executed.

ITF is described by Apalache's ADR-015 and by the code of Quint (src/itf.ts, whose `mbt::` keys name actions and picks).
TLC's format follows from its code: {"action": [[[1, {..}], {"name": ..}, [2, {..}]], ..], "state": [[1, {..}], ..]}
(CounterExample.java, Json.java), which wrappers put into {"counterexample": ..}. Older versions, and trace expressions,
write only a list of states.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.format import folder
from isrcheck.traces.format.itf import ACTION, PICKS
from isrcheck.traces.other_tools.values import QUINT, TLA, Spelling, spell_itf, spell_tlc

EXPECTED = (
    "not a trace in a known format: give a file that check wrote, ITF as Apalache and Quint write it (an object"
    " with `vars` and `states`), or what TLC writes with -dumpTrace json (an object with `state` and `action`)"
)


@dataclass(frozen=True)
class ForeignTrace:
    """A trace of an unknown model: the tool that wrote it, and the variables of each state as text.

    `actions` holds, for each state, the action that led to it, if known. A trace with a `loop` continues after its last
    state with the state of that number, by the action `back`.
    """

    source: str
    variables: tuple[str, ...]
    states: tuple[Mapping[str, str], ...]
    actions: tuple[str | None, ...]
    loop: int | None
    back: str | None = None


def find(path: Path) -> ForeignTrace | None:
    """Return the trace of another tool in this file; None if isrcheck wrote it or it is not JSON. Raises UsageError."""
    try:
        text = folder.read_text(path)
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return None if _is_ours(document) else read(document)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _is_ours(document: Any) -> bool:
    meta = document.get("#meta") if isinstance(document, dict) else None
    return isinstance(meta, dict) and "isrcheck" in meta


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
    """The names that have a value in some state, in order of appearance."""
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
    known = [escaped(name) for name in names if name not in (ACTION, PICKS)]
    variables = tuple(dict.fromkeys([*known, *_variables(tuple(states))]))
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
    """The tool and the file that produced the trace, if it names them."""
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
        try:
            values[escaped(name)] = spell_itf(value, spelling)
        except UsageError as error:
            raise UsageError(f"state {position}, {escaped(name)}: {error}") from None
    action = state.get(ACTION)
    if not isinstance(action, str) or not action:
        return values, None
    return values, escaped(action) + _picks(state.get(PICKS), spelling)


def _picks(picks: Any, spelling: Spelling) -> str:
    """The arguments of the action. Quint lists those (`picks`) of all actions; those of other actions are None."""
    found = []
    for name, value in picks.items() if isinstance(picks, dict) else ():
        match value:
            case {"tag": "None", **rest} if set(rest) <= {"value"}:
                continue
            case {"tag": "Some", "value": picked}:
                found.append(f"{escaped(name)} = {spell_itf(picked, spelling)}")
            case _:
                found.append(f"{escaped(name)} = {spell_itf(value, spelling)}")
    return f"({', '.join(found)})" if found else ""


# ------------------------------------------------------------------------------------------------------------------ TLC


def _read_tlc(found: Mapping[str, Any]) -> ForeignTrace:
    numbered: dict[int, dict[str, str]] = {}
    for position, one in enumerate(found["state"]):
        match one:
            case [int(number), dict(state)]:
                if number in numbered:
                    raise UsageError(f"it has two states {number}, so several traces; give a file with one trace")
                numbered[number] = _tlc_state(position, state)
            case _:
                raise UsageError(f"state {position} is not a pair of a number and an object; the trace is damaged")
    if not numbered:
        raise UsageError("it has no states; give a file of a run in which TLC found a counterexample")
    order = sorted(numbered)
    actions: dict[int, str] = {}
    loop, back = None, None
    for edge in found.get("action") or []:
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
    try:
        return {escaped(name): spell_tlc(value) for name, value in state.items()}
    except UsageError as error:
        raise UsageError(f"state {position}: {error}") from None


def _tlc_action(action: Mapping[str, Any]) -> str:
    """The name of an action, with its parameters if TLC wrote them."""
    name, names, values = (action.get(key) for key in ("name", "parameters", "context"))
    told = []
    if isinstance(names, list) and isinstance(values, dict):
        told = [f"{escaped(one)} = {spell_tlc(values[one])}" for one in names if isinstance(one, str) and one in values]
    return escaped(str(name or "not named")) + (f"({', '.join(told)})" if told else "")
