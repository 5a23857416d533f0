"""Traces of Apalache, Quint and TLC are shown unchanged; any other file is refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.trace import weak_isr
from conformance.tests.traces.test_cli import complaint, shown
from isrcheck.models.messages import UsageError
from isrcheck.traces.format import files
from isrcheck.traces.other_tools import foreign
from isrcheck.traces.other_tools.foreign import EXPECTED, QUINT, TLA, ForeignTrace, spell_itf, spell_tlc, view

NONE = {"tag": "None", "value": {"#tup": []}}


def number(value: int) -> dict[str, str]:
    return {"#bigint": str(value)}


def some(value: Any) -> dict[str, Any]:
    return {"tag": "Some", "value": value}


def bank() -> dict[str, Any]:
    """The output of `quint run --mbt --out-itf`; it lists the variables of `mbt::` anywhere, some twice."""

    def state(index: int, action: str, alice: int, last: Any = NONE, **picks: Any) -> dict[str, Any]:
        return {
            "#meta": {"index": index},
            "balances": {"#map": [["alice", number(alice)], ["bob", number(0)]]},
            "last": last,
            "mbt::actionTaken": action,
            "mbt::nondetPicks": {"amount": NONE, "who": NONE, **picks},
        }

    deposit = {"who": "alice", "amount": number(5), "seen": {"#set": [{"#tup": ["alice", True]}]}}
    return {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "source": "bank.qnt",
            "status": "violation",
            "description": "Created by Quint on Wed Nov 01 2023 10:00:00 GMT+0100",
            "timestamp": 1698829200000,
        },
        "vars": ["balances", "mbt::actionTaken", "mbt::nondetPicks", "last", "mbt::actionTaken"],
        "states": [
            state(0, "init", 0),
            state(1, "deposit", 5, some(deposit), amount=some(number(5)), who=some("alice")),
            state(2, "withdraw", -1, amount=some(number(6))),
        ],
    }


def cannibals() -> dict[str, Any]:
    """The output of Apalache, after the example of ADR-015, with a parameter and a loop."""

    def state(index: int, bank: str, east: list[str], **more: Any) -> dict[str, Any]:
        who = {"#map": [["E", {"#set": east}], ["W", {"#set": []}]]}
        return {"#meta": {"index": index}, "bank_of_boat": bank, "who_is_on_bank": who, **more}

    return {
        "#meta": {
            "format": "ITF",
            "source": "Cannibals.tla",
            "description": "Created by Apalache on Wed Dec 22 09:18:50 CET 2021",
        },
        "params": ["Missionaries"],
        "vars": ["bank_of_boat", "who_is_on_bank"],
        "states": [
            state(0, "E", ["c1_OF_PERSON", "m1_OF_PERSON"], Missionaries={"#set": ["m1_OF_PERSON"]}),
            state(1, "W", ["c1_OF_PERSON"]),
            state(2, "E", ["c1_OF_PERSON", "m1_OF_PERSON"]),
        ],
        "loop": 1,
    }


def jugs(loop: bool = False) -> dict[str, Any]:
    """The output of `tlc -dumpTrace json` on DieHard; newer versions add parameters, and a lasso has a back edge."""
    states = [[1, {"small": 0, "big": 0}], [2, {"small": 0, "big": 5}], [3, {"small": 3, "big": 2}]]
    place = {"beginLine": 68, "beginColumn": 18, "endLine": 69, "endColumn": 37, "module": "DieHard"}
    pour = {"name": "Pour", "location": place, "parameters": ["from"], "context": {"from": "big", "hidden": 1}}
    actions = [[states[0], {"name": "FillBigJug", "location": place}, states[1]], [states[1], pour, states[2]]]
    if loop:
        actions.append([states[2], {"name": "EmptySmallJug", "location": place}, states[1]])
    return {"action": actions, "state": states}


def test_quint() -> None:
    assert view(foreign.read(bank())) == [
        "Quint: bank.qnt (violation), 2 steps",
        "",
        "  #  step                                changes",
        '  0  init                                balances = Map("alice" -> 0, "bob" -> 0)',
        "                                         last = None",
        '  1  deposit(amount = 5, who = "alice")  balances = Map("alice" -> 5, "bob" -> 0)',
        '                                         last = Some({ who: "alice", amount: 5, seen: Set(("alice", true)) })',
        '  2  withdraw(amount = 6)                balances = Map("alice" -> -1, "bob" -> 0)',
        "                                         last = None",
    ]


def test_quint_is_recognised_by_its_actions_too() -> None:
    nameless = {**bank(), "#meta": {}}
    assert view(foreign.read(nameless)) == ["ITF, 2 steps", *view(foreign.read(bank()))[1:]]


def test_apalache() -> None:
    found = foreign.read(cannibals())
    assert found.variables == ("Missionaries", "bank_of_boat", "who_is_on_bank")
    assert found.actions == (None, None, None)
    assert view(found) == [
        "Apalache: Cannibals.tla, 2 steps",
        "",
        "  #  step       changes",
        '  0  initially  Missionaries = {"m1_OF_PERSON"}',
        '                bank_of_boat = "E"',
        '                who_is_on_bank = ("E" :> {"c1_OF_PERSON", "m1_OF_PERSON"} @@ "W" :> {})',
        '  1  a step     bank_of_boat = "W"',
        '                who_is_on_bank = ("E" :> {"c1_OF_PERSON"} @@ "W" :> {})',
        '  2  a step     bank_of_boat = "E"',
        '                who_is_on_bank = ("E" :> {"c1_OF_PERSON", "m1_OF_PERSON"} @@ "W" :> {})',
        "",
        "loop: after step 2 it continues with state 1",
    ]


def test_tlc() -> None:
    expected = ForeignTrace(
        "TLC",
        ("small", "big"),
        ({"small": "0", "big": "0"}, {"small": "0", "big": "5"}, {"small": "3", "big": "2"}),
        (None, "FillBigJug", 'Pour(from = "big")'),
        None,
    )
    assert foreign.read(jugs()) == expected
    assert foreign.read({"counterexample": jugs(), "version": 2}) == expected
    # Sets have no order in JSON; the numbers of the states do.
    turned = {key: list(reversed(value)) for key, value in jugs().items()}
    assert foreign.read({**turned, "console": False}) == expected
    found = foreign.read(jugs(loop=True))
    assert (found.loop, found.back) == (1, "EmptySmallJug")
    assert view(found)[-1] == "loop: after step 2 it continues with state 1 by EmptySmallJug"
    stutters = jugs()
    stutters["action"].append([stutters["state"][2], {"name": "Stutter"}, stutters["state"][2]])
    assert (foreign.read(stutters).loop, foreign.read(stutters).back) == (2, "Stutter")
    alone = foreign.read([state for _, state in jugs()["state"]])
    assert (alone.states, alone.actions) == (expected.states, (None, None, None))


def test_one_full_state_with_its_former_values() -> None:
    found = foreign.read(jugs())
    assert view(found, step=-1) == view(found, step=2)
    assert view(found, step=2) == [
        "TLC, 2 steps",
        "",
        '  2  Pour(from = "big")',
        "     small = 3  (was 0)",
        "     big = 2  (was 5)",
    ]
    assert view(found, full=True)[2:6] == ["  0  initially", "     small = 0", "     big = 0", "  1  FillBigJug"]
    for step in (3, -4):
        with pytest.raises(UsageError, match=f"^--step {step}: no such step; the trace has the steps 0..2$"):
            view(found, step=step)


@pytest.mark.parametrize("width", [1, 20, 33, 80, 200])
def test_every_width_works_and_no_character_is_lost(width: int) -> None:
    found = foreign.read(bank())
    for lines, narrowest in ((view(found, width=width), 29), (view(found, full=True, width=width), 46)):
        assert max(map(len, lines)) <= max(width, narrowest)
        letters = "".join("".join(lines).split())
        assert letters.count("balances=") == len(found.states)


@pytest.mark.parametrize(
    ("value", "tla", "quint"),
    [
        (True, "TRUE", "true"),
        ("a", '"a"', '"a"'),
        (7, "7", "7"),
        ({"#bigint": "-123456789012345678901"}, "-123456789012345678901", "-123456789012345678901"),
        ([], "<<>>", "[]"),
        ([1, [2]], "<<1, <<2>>>>", "[1, [2]]"),
        ({"#tup": [1, "b"]}, '<<1, "b">>', '(1, "b")'),
        ({"#set": [1, 2]}, "{1, 2}", "Set(1, 2)"),
        ({"#map": []}, "<<>>", "Map()"),
        ({"#map": [[1, 2], [3, {"#set": []}]]}, "(1 :> 2 @@ 3 :> {})", "Map(1 -> 2, 3 -> Set())"),
        ({"#unserializable": "Int"}, "Int", "Int"),
        ({"a": 1, "b c": 2}, '[a |-> 1, "b c" |-> 2]', '{ a: 1, "b c": 2 }'),
        ({}, "[]", "{}"),
        ({"tag": "Some", "value": 3}, 'Variant("Some", 3)', "Some(3)"),
        ({"tag": "None", "value": {"#tup": []}}, 'Variant("None", <<>>)', "None"),
        ({"tag": "None", "value": {}}, 'Variant("None", [])', "None"),
        ({"tag": "UNIT"}, 'Variant("UNIT", [])', "()"),
        (
            {"tag": "a", "value": 1, "more": 2},
            '[tag |-> "a", value |-> 1, more |-> 2]',
            '{ tag: "a", value: 1, more: 2 }',
        ),
        ({"#new": [1]}, '["#new" |-> <<1>>]', '{ "#new": [1] }'),
        (None, "null", "null"),
        ("a\x1b[2J\u202eb\n\x9b", '"a\\u001b[2J\\u202eb\\n\\x9b"', '"a\\u001b[2J\\u202eb\\n\\x9b"'),
    ],
)
def test_values_of_itf(value: Any, tla: str, quint: str) -> None:
    assert spell_itf(value, TLA) == tla
    assert spell_itf(value, QUINT) == quint


def test_values_of_tlc() -> None:
    assert spell_tlc({"a": [1, {"0": False}], "b": "m1"}) == '[a |-> [1, [0 |-> FALSE]], b |-> "m1"]'


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"#bigint": 5}, 'not a #bigint: {"#bigint": 5}'),
        ({"#bigint": "5x"}, 'not a #bigint: {"#bigint": "5x"}'),
        ({"#set": {}}, 'not a #set: {"#set": {}}'),
        ({"#tup": 1}, 'not a #tup: {"#tup": 1}'),
        ({"#map": [[1]]}, "not a pair in a #map: [1]"),
        ({"#unserializable": 1}, 'not an #unserializable: {"#unserializable": 1}'),
    ],
)
def test_damaged_values_are_named(value: Any, reason: str) -> None:
    document = {"vars": ["x"], "states": [{"x": 0}, {"x": [value]}]}
    with pytest.raises(UsageError) as caught:
        foreign.read(document)
    assert str(caught.value) == f"state 1, x: {reason}; the trace is damaged"


@pytest.mark.parametrize("around", [lambda value: [value], lambda value: {"x": value}])
def test_endlessly_nested_values(around: Callable[[Any], Any]) -> None:
    value: Any = 0
    for _ in range(500):
        value = around(value)
    with pytest.raises(UsageError, match="nested more than 100 deep"):
        foreign.read({"vars": ["x"], "states": [{"x": value}]})
    with pytest.raises(UsageError, match="nested more than 100 deep"):
        foreign.read([{"x": value}])


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({}, EXPECTED),
        ([], EXPECTED),
        ("text", EXPECTED),
        ({"states": {}}, EXPECTED),
        ({"vars": ["x"], "states": []}, "it has no states; write the trace again"),
        ({"vars": "x", "states": [{}]}, "its vars are not a list of names; the trace is damaged"),
        ({"vars": [], "params": [1], "states": [{}]}, "its params are not a list of names; the trace is damaged"),
        ({"vars": ["x"], "states": [{"x": 1}, 2]}, "state 1 is not an object; the trace is damaged"),
        ({"states": [{}], "loop": 1}, "its loop is not the number of a state, 0..0; the trace is damaged"),
        ({"states": [{}], "loop": False}, "its loop is not the number of a state, 0..0; the trace is damaged"),
        ({"state": []}, "it has no states; give a file of a run in which TLC found a counterexample"),
        ({"state": [{"x": 1}]}, "state 0 is not a pair of a number and an object; the trace is damaged"),
        ([{"x": 1}, 2], "state 1 is not an object; the trace is damaged"),
        (
            {"state": [[1, {"x": 1}], [1, {"x": 2}]]},
            "two of its states have the number 1: it has several traces; give a file with one trace",
        ),
    ],
)
def test_a_file_that_is_no_trace_is_one_line(
    document: Any, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps(document))
    assert complaint(capsys, "show", path) == f"{path}: {reason}"


def test_additions_of_newer_versions_do_not_hide_the_rest() -> None:
    document = {"version": 9, "states": [{"x": 1, "#new": 2}, {"x": 1, "y": 2}], "more": [1]}
    found = foreign.read(document)
    assert found.variables == ("x", "#new", "y")
    assert found.states == ({"x": "1", "#new": "2"}, {"x": "1", "y": "2"})
    assert view(found)[2:] == [
        "  #  step       changes",
        "  0  initially  x = 1",
        "                #new = 2",
        "  1  a step     #new = (no value)",
        "                y = 2",
    ]
    assert foreign.read({**jugs(), "action": [["of", "another", "form"], 3]}).actions == (None, None, None)


def test_text_of_a_file_is_escaped_for_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2J\u202e\n"
    itf = {
        "#meta": {"source": evil, "description": "Created by " + evil, "status": evil},
        "params": [evil + "p"],
        "vars": [evil],
        "states": [
            {evil: {evil: evil}, evil + "p": {"#unserializable": evil}},
            {evil: {"tag": evil, "value": 1}, "mbt::actionTaken": evil, "mbt::nondetPicks": {evil: evil}},
        ],
    }
    tlc = {
        "state": [[1, {evil: {evil: evil}}], [2, {}]],
        "action": [[[1, {}], {"name": evil, "parameters": [evil], "context": {evil: evil}}, [2, {}]]],
    }
    path = tmp_path / "evil.json"
    for document in (itf, tlc, [{evil: evil}]):
        path.write_text(json.dumps(document))
        for option in ([], ["--full"]):
            out = shown(capsys, "show", path, *option)
            assert out.replace("\n", "").isprintable()
            assert "\\x1b[2J" in out


def test_trace_show_selects_the_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bank.itf.json"
    path.write_text(json.dumps(bank()))
    assert shown(capsys, "show", path) == "\n".join(view(foreign.read(bank()))) + "\n"
    assert complaint(capsys, "show", path, "--model", "mine.py") == (
        f"{path}: --model does not work on a trace of another tool; leave --model out"
    )
    ours = files.write(weak_isr(), tmp_path)
    assert foreign.find(ours) is None
    ours.write_text(ours.read_text().replace('"isrcheck": {', '"isrcheck": [], "x": {'))
    assert complaint(capsys, "show", ours).startswith(
        f"{ours}: an ITF trace of another tool: it names no isrcheck model"
    )
