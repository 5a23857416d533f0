"""Trace files are valid ITF: they follow the description of the format and the needs of its viewer.

The description is Apalache's ADR-015, read strictly: what it calls optional may be missing, what it does not name may
not be there, and no value has two readings. Quint's reader (src/itf.ts) takes an object with a `tag` for a variant.

The viewer is informalsystems/vscode-itf-trace-viewer (src/Trace.ts, TraceViewPanel.ts), which opens files by the ending
`.itf.json`. It reads `vars`, `states` and the description in `#meta`, and nothing else; puts the values of a state
below the names by sorting both; calls `replace` on the description; takes the keys of every value that is an object,
which null is not; and looks for `#map`, `#set` and `#tup` in the value that the variable had before.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.trace import CLASSIC, TRANSACTION, kafka, own_model, weak_isr
from conformance.tests.traces.format.test_itf import walk
from isrcheck.models import registry
from isrcheck.traces.format import files
from isrcheck.traces.format.certify import from_any_state
from isrcheck.traces.format.trace import Trace

MOST_EXACT = 2**53 - 1
FORMS = ("#bigint", "#tup", "#set", "#map", "#unserializable")


def document_of(text: str) -> Any:
    """The JSON of a file, parsed strictly: no duplicate keys, no NaN."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        assert len(set(names)) == len(names), f"a name stands twice in {names}"
        return dict(pairs)

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is no JSON")

    return json.loads(text, object_pairs_hook=once, parse_constant=refuse)


def breaches(document: Any) -> Iterator[str]:
    """The violations of the description in a document."""
    if not isinstance(document, dict):
        yield "a trace is an object"
        return
    yield from (
        f"{name} is no field of a trace" for name in document.keys() - {"#meta", "params", "vars", "states", "loop"}
    )
    yield from (f"{name} is missing" for name in {"vars", "states"} - document.keys())
    if not isinstance(document.get("#meta", {}), dict):
        yield "#meta is an object"
    variables, params, states = (document.get(name, []) for name in ("vars", "params", "states"))
    for name, names in (("vars", variables), ("params", params)):
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
            yield f"{name} is an array of strings"
        elif len(set(names)) < len(names) or any(one.startswith("#") for one in names):
            yield f"{name} are different names, and none starts with #"
    if not isinstance(states, list):
        yield "states is an array"
        return
    loop = document.get("loop", 0)
    if isinstance(loop, bool) or not isinstance(loop, int) or not 0 <= loop < max(1, len(states)):
        yield "loop is the index of a state"
    for position, state in enumerate(states):
        expected = {*variables, *(params if position == 0 else [])}
        yield from (f"state {position}: {breach}" for breach in state_breaches(state, expected, position))


def state_breaches(state: Any, expected: set[str], position: int) -> Iterator[str]:
    if not isinstance(state, dict):
        yield "a state is an object"
        return
    meta = state.get("#meta", {})
    if not isinstance(meta, dict) or meta.get("index", position) != position:
        yield "#meta is an object, and its index that of the state"
    yield from (f"{name} has no value" for name in sorted(expected - state.keys()))
    yield from (f"{name} is no variable" for name in sorted(state.keys() - expected - {"#meta"}))
    for name, value in state.items():
        if name != "#meta":
            yield from (f"{name}: {breach}" for breach in value_breaches(value))


def value_breaches(value: Any) -> Iterator[str]:
    match value:
        case bool() | str():
            return
        case int():
            if abs(value) > MOST_EXACT:
                yield f"{value} is too large for a JSON integer"
        case list():
            for one in value:
                yield from value_breaches(one)
        case {"#bigint": digits, **rest} if not rest:
            if not isinstance(digits, str) or not re.fullmatch(r"-?[0-9]+", digits, re.ASCII):
                yield f"#bigint holds {digits!r}"
        case {"#unserializable": text, **rest} if not rest:
            yield f"{text} is not serialized"
        case {"#tup": list(parts), **rest} | {"#set": list(parts), **rest} if not rest:
            if "#set" in value and len({json.dumps(one, sort_keys=True) for one in parts}) < len(parts):
                yield "an element stands twice in a #set"
            for one in parts:
                yield from value_breaches(one)
        case {"#map": list(pairs), **rest} if not rest:
            if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
                yield "a #map holds pairs"
                return
            if len({json.dumps(key, sort_keys=True) for key, _ in pairs}) < len(pairs):
                yield "a key stands twice in a #map"
            for pair in pairs:
                yield from value_breaches(pair)
        case dict():
            yield from (f"a field of a record is called {name}" for name in value if name.startswith("#"))
            if "tag" in value and value.keys() != {"tag", "value"}:
                yield "a record with a `tag` reads as a variant"
            for one in value.values():
                yield from value_breaches(one)
        case _:
            yield f"{value!r} is no expression"


def obstacles(document: Any) -> Iterator[str]:
    """The parts of a document on which the viewer fails, or which it shows in the wrong place."""
    if not isinstance(document.get("#meta", {}).get("description", ""), str):
        yield "the description is no text"
    variables, states = document["vars"], document["states"]
    for position, state in enumerate(states):
        if sorted(state.keys() & set(variables)) != sorted(variables):
            yield f"state {position}: a value for each variable, or the columns shift"
        for name in variables:
            value, before = state.get(name), states[max(0, position - 1)].get(name)
            if any(one is None for one in everything(value)):
                yield f"state {position}: {name} holds null"
            looks = isinstance(value, dict) and len(value) == 1 and value.keys() & {"#map", "#set", "#tup"}
            if looks and not isinstance(before, dict | list):
                yield f"state {position}: {name} was {before!r}, in which nothing can be looked for"
            if isinstance(value, list) and not isinstance(before, list):
                yield f"state {position}: {name} was no list"


def everything(value: Any) -> Iterator[Any]:
    """A value, and all values nested in it."""
    yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from everything(one)


def of_own_model(path: Path) -> Trace:
    return walk(registry.load_file(own_model(path)).instance(), random.Random(3), 6)


def of_model(name: str, _: Path) -> Trace:
    model, protocol = registry.load(name)
    return walk(model.instance(protocol or WALKED.get(name)), random.Random(7), 6)


def not_inductive(_: Path) -> Trace:
    found = weak_isr()
    return from_any_state(found.instance, found.states[-2], found.steps[-1], "weak_isr", found.command)


WALKED = {"kafka": "2.1", "exactly_once": "3.0", "transactions": "4.2", "kafka_liveness": "3.1"}
WALKED |= {"quorum": "kraft", "quorum_liveness": "raft", "quorum_schemes": "isr_with_elr"}
WALKED |= {"transactions_liveness": "3.6", "kafka_scenarios": "3.7", "coordinator": "4.4", "consumer_commits": "4.1"}
WALKED |= {"tier": "4.4"}

TRACES: dict[str, Callable[[Path], Trace]] = {
    "a published model": lambda _: weak_isr(),
    "kafka": lambda _: kafka(CLASSIC, "acked_not_lost"),
    "transactions": lambda _: kafka(TRANSACTION, None, None, "0.11", transactions=1),
    "subsets, letters, members and flags": of_own_model,
    "not from an initial state": not_inductive,
    **{f"a walk of {name}": partial(of_model, name) for name in registry.names()},
}


@pytest.mark.sampled
@pytest.mark.parametrize("made", TRACES.values(), ids=TRACES)
def test_a_written_trace_is_itf_and_can_be_viewed(made: Callable[[Path], Trace], tmp_path: Path) -> None:
    path = files.write(made(tmp_path), tmp_path / "out")
    assert path.name.endswith(".itf.json")
    document = document_of(path.read_text(encoding="utf-8"))
    assert document["#meta"]["format"] == "ITF"
    assert [state["#meta"] for state in document["states"]] == [{"index": i} for i in range(len(document["states"]))]
    assert list(breaches(document)) == []
    assert list(obstacles(document)) == []


# ---------------------------------------------------------------------------------------------- the test of the test


def good() -> dict[str, Any]:
    state = {
        "#meta": {"index": 0}, "N": 1, "x": {"#bigint": "5"},
        "y": [{"#set": [1, 2]}, {"#map": [["a", True]]}, {"#tup": []}, {"r": "s"}, {"tag": "T", "value": {}}],
    }  # fmt: skip
    after = {"#meta": {"index": 1}, "x": -MOST_EXACT, "y": []}
    return {"#meta": {}, "params": ["N"], "vars": ["x", "y"], "states": [state, after], "loop": 1}


def test_a_valid_document_has_no_violation() -> None:
    assert list(breaches(good())) == []
    assert list(breaches({"vars": [], "states": []})) == []
    assert list(obstacles(good())) == []


@pytest.mark.parametrize(
    ("path", "value", "breach"),
    [
        (("more",), 1, "more is no field of a trace"),
        (("vars",), ["x", "y", 1], "vars is an array of strings"),
        (("vars",), ["x", "y", "x"], "vars are different names, and none starts with #"),
        (("vars",), ["x", "y", "#z"], "vars are different names, and none starts with #"),
        (("params",), "N", "params is an array of strings"),
        (("#meta",), [], "#meta is an object"),
        (("states",), {}, "states is an array"),
        (("loop",), 2, "loop is the index of a state"),
        (("loop",), True, "loop is the index of a state"),
        (("states", 1), [], "state 1: a state is an object"),
        (("states", 1, "#meta"), {"index": 0}, "state 1: #meta is an object, and its index that of the state"),
        (("states", 1, "z"), 1, "state 1: z is no variable"),
        (("states", 1, "N"), 1, "state 1: N is no variable"),
        (("states", 0), {"N": 1, "x": 1}, "state 0: y has no value"),
        (("states", 0), {"x": 1, "y": 1}, "state 0: N has no value"),
        (("states", 0, "x"), MOST_EXACT + 1, f"state 0: x: {MOST_EXACT + 1} is too large for a JSON integer"),
        (("states", 0, "x"), 1.5, "state 0: x: 1.5 is no expression"),
        (("states", 0, "x"), None, "state 0: x: None is no expression"),
        (("states", 0, "x"), {"#bigint": 5}, "state 0: x: #bigint holds 5"),
        (("states", 0, "x"), {"#bigint": "+5"}, "state 0: x: #bigint holds '+5'"),
        (("states", 0, "x"), {"#unserializable": "Int"}, "state 0: x: Int is not serialized"),
        (("states", 0, "x"), {"#set": [1, 1]}, "state 0: x: an element stands twice in a #set"),
        (("states", 0, "x"), {"#set": 1}, "state 0: x: a field of a record is called #set"),
        (("states", 0, "x"), {"#map": [[1]]}, "state 0: x: a #map holds pairs"),
        (("states", 0, "x"), {"#map": [[1, 2], [1, 3]]}, "state 0: x: a key stands twice in a #map"),
        (("states", 0, "x"), {"#tup": [None]}, "state 0: x: None is no expression"),
        (("states", 0, "x"), {"#map": [[1, None]]}, "state 0: x: None is no expression"),
        (("states", 0, "x"), [{"#a": 1}], "state 0: x: a field of a record is called #a"),
        (("states", 0, "x"), {"r": None}, "state 0: x: None is no expression"),
        (("states", 0, "x"), {"tag": 1, "b": 2}, "state 0: x: a record with a `tag` reads as a variant"),
    ],
)
def test_each_violation_of_the_format_is_detected(path: tuple[Any, ...], value: Any, breach: str) -> None:
    document = good()
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert breach in list(breaches(document))


def test_missing_parts_are_detected() -> None:
    assert list(breaches([])) == ["a trace is an object"]
    assert sorted(breaches({})) == ["states is missing", "vars is missing"]
    for text in ('{"a": 1, "a": 2}', '{"a": NaN}'):
        with pytest.raises(AssertionError):
            document_of(text)


def test_each_obstacle_for_the_viewer_is_detected() -> None:
    document = {"#meta": {"description": "d"}, "vars": ["x"], "states": [{"x": "none"}, {"x": "a"}]}
    assert list(obstacles(document)) == []

    def after(value: Any) -> list[str]:
        changed: dict[str, Any] = copy.deepcopy(document)
        changed["states"][1] = value
        return list(obstacles(changed))

    assert after({"x": {"#set": []}}) == ["state 1: x was 'none', in which nothing can be looked for"]
    assert after({"x": [1]}) == ["state 1: x was no list"]
    assert after({"x": {"r": [None]}}) == ["state 1: x holds null"]
    assert after({}) == ["state 1: a value for each variable, or the columns shift", "state 1: x holds null"]
    assert list(obstacles({**document, "#meta": {"description": 1}})) == ["the description is no text"]
