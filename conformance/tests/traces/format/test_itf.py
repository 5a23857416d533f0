"""Traces as ITF: a written trace is read back exactly, and a foreign file is refused in one line."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conformance.tests.support.trace import COMMAND, TRANSACTION, kafka, trace, weak_isr
from isrcheck.models import registry, run
from isrcheck.models.language.declarations import Entry
from isrcheck.models.language.model import Instance, Model
from isrcheck.models.messages import UsageError
from isrcheck.traces.format import files
from isrcheck.traces.format.certify import certify
from isrcheck.traces.format.trace import Trace


def walk(instance: Instance, chance: random.Random, most: int) -> Trace:
    """A random walk: at each state, the first enabled step in random order."""
    states = [chance.choice(instance.initial_states)]
    steps = []
    for _ in range(most):
        for step in chance.sample(instance.steps, len(instance.steps)):
            after = run.take(instance, states[-1], step)
            if after is not None:
                states.append(after)
                steps.append(step)
                break
    return Trace(instance, tuple(states), tuple(steps), None, None, COMMAND)


@st.composite
def behaviours(draw: st.DrawFn) -> Trace:
    model, protocol = registry.load(draw(st.sampled_from(registry.names())))
    protocol = protocol or draw(st.sampled_from(sorted(model.protocols)))
    values = {
        name: draw(st.integers(max(entry.least, 0), max(entry.least, 0) + 2) | st.just(entry.default))
        for name, entry in model.entries.items()
        if entry.is_bound or entry.most is None or entry.most > 2
    }
    values |= {n: draw(st.integers(e.least, e.most or 0)) for n, e in model.entries.items() if n not in values}
    try:
        instance = model.instance(protocol, values)
        assume(instance.initial_states)
    except UsageError:
        assume(False)
    return walk(instance, random.Random(draw(st.integers(0, 1 << 32))), draw(st.integers(0, 8)))


def same(one: Trace, other: Trace) -> None:
    def content(found: Trace) -> tuple[object, ...]:
        model = found.instance
        about = found.property_name, found.verdict, found.command
        return found.states, found.steps, about, model.configuration, model.protocol.name, model.alternatives

    assert content(one) == content(other)
    assert one.instance.model.digest == other.instance.model.digest


@pytest.mark.exhaustive
@settings(max_examples=150, deadline=None)
@given(behaviours())
def test_every_behaviour_of_every_model_is_read_back(written: Trace) -> None:
    text = files.to_text(written)
    found = files.read_trace(files.parse_document(text))
    same(found, written)
    certify(found)
    assert files.to_text(found) == text


@pytest.mark.parametrize("seed", range(20))
def test_a_trace_of_a_users_model_is_read_back(own: Model, seed: int) -> None:
    instance = own.instance(None, {"mood": seed % 2, "shelves": 1 + seed % 3})
    written = walk(instance, random.Random(seed), 6)
    found = files.read_trace(files.parse_document(files.to_text(written)), own)
    same(found, written)
    certify(found)


def test_swapped_actions_are_read_back() -> None:
    model, _ = registry.load("published")
    instance = model.instance("kip_320", {"replicas": 2}, {"become_follower": "kip_101"})
    written = walk(instance, random.Random(1), 5)
    found = files.read_trace(files.parse_document(files.to_text(written)))
    same(found, written)
    assert found.instance.swaps == {"become_follower": "kip_101"}


def test_a_marker_is_not_a_record_letter() -> None:
    written = kafka(TRANSACTION, None, None, "2.1", transactions=1)
    text = files.to_text(written)
    document = json.loads(text)
    assert document["states"][-1]["log_record"] == [["a", "marker"], ["a", "marker"], ["none", "none"]]
    same(files.read_trace(document), written)
    document["states"][-1]["log_record"][2][0] = "c"
    with pytest.raises(UsageError, match=r'log_record cannot be "c"; its values are none\.\.marker'):
        files.read_trace(document)
    document["states"][-1]["log_record"][2][0] = "marker"
    with pytest.raises(UsageError, match=r"log_record\[2\]\[0\] is none, but the trace says marker"):
        certify(files.read_trace(document))


def number(value: int) -> dict[str, str]:
    return {"#bigint": str(value)}


def test_the_values_are_those_of_itf(own: Model) -> None:
    written = trace(own.instance(), ["clerk_shelves {a,c} 1", "clerk_loses a"], "nothing_is_lost")
    document = json.loads(files.to_text(written))
    assert document["params"] == []
    assert document["vars"] == [
        "top",
        "lies",
        "mood_of",
        "is_lost",
        "count",
        "last",
        "mbt::actionTaken",
        "mbt::nondetPicks",
    ]
    assert document["states"] == [
        {
            "#meta": {"index": 0},
            "mbt::actionTaken": "init",
            "mbt::nondetPicks": {},
            "top": ["none", "none"],
            "lies": [[False, False], [False, False], [False, False]],
            "mood_of": ["CALM", "CALM"],
            "is_lost": [False, False, False],
            "count": number(0),
            "last": "none",
        },
        {
            "#meta": {"index": 1},
            "mbt::actionTaken": "clerk_shelves",
            "mbt::nondetPicks": {"chosen": {"#set": ["a", "c"]}, "shelf": number(1)},
            "top": ["none", "c"],
            "lies": [[False, True], [False, False], [False, True]],
            "mood_of": ["CALM", "BUSY"],
            "is_lost": [False, False, False],
            "count": number(2),
            "last": "none",
        },
        {
            "#meta": {"index": 2},
            "mbt::actionTaken": "clerk_loses",
            "mbt::nondetPicks": {"parcel": "a"},
            "top": ["none", "c"],
            "lies": [[False, False], [False, False], [False, True]],
            "mood_of": ["CALM", "BUSY"],
            "is_lost": [True, False, False],
            "count": number(2),
            "last": number(2),
        },
    ]


def test_a_file_names_its_origin() -> None:
    written = weak_isr()
    meta = json.loads(files.to_text(written))["#meta"]
    version = meta["isrcheck"].pop("version")
    assert isinstance(version, str)
    assert meta == {
        "format": "ITF",
        "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
        "source": "published: models/published/replication.py",
        "description": "published/truncate_to_high_watermark, 8 steps: weak_isr VIOLATED",
        "status": "violation",
        "isrcheck": {
            "model": "published",
            "model-digest": written.instance.model.digest,
            "model-file": None,
            "protocol": "truncate_to_high_watermark",
            "configuration": {"replicas": "2", "log_size": "1", "records": "1", "max_epoch": "2"},
            "configuration-digest": "6f5877bf",
            "swaps": {},
            "property": "weak_isr",
            "verdict": "VIOLATED",
            "command": COMMAND,
        },
    }


def test_a_reached_state_is_an_example(own: Model) -> None:
    reached = trace(own.instance(), ["clerk_shelves {a,b,c} 0"], "full")
    assert (reached.verdict, json.loads(files.to_text(reached))["#meta"]["status"]) == ("REACHED", "example")


def test_a_model_file_is_named_but_never_loaded(own: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(own.path).parent)
    document = files.parse_document(files.to_text(walk(own.instance(), random.Random(0), 1)))
    assert document["#meta"]["isrcheck"]["model-file"] == "parcels.py"
    assert document["#meta"]["source"] == "parcels: parcels.py"
    with pytest.raises(
        UsageError, match=r"its model is the file parcels\.py, which is not loaded automatically; give it: "
    ):
        files.read_trace(document)


# ------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON (Expecting value: line 1 column 1 (char 0)): damaged or truncated"),
        ('{"states": [', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"states": [], "n": ' + "9" * 5000 + "}", "not JSON"),
        ("[]", "not an ITF trace: it has no list of states"),
        ("5", "not an ITF trace"),
        ('{"states": {}}', "not an ITF trace"),
        ('{"states": []}', "an ITF trace of another tool"),
        ('{"#meta": 3, "states": []}', "an ITF trace of another tool"),
        ('{"#meta": {"format": "ITF"}, "vars": ["x"], "states": [{"x": 1}]}', "an ITF trace of another tool"),
        ('{"#meta": {"isrcheck": []}, "states": []}', "an ITF trace of another tool"),
    ],
)
def test_a_file_that_is_no_trace_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        files.parse_document(text)
    assert str(refusal.value).startswith(message)


Change = Callable[[dict[str, Any]], object]


def own_meta(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["#meta"]["isrcheck"]
    return found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: own_meta(d).pop("model"), "its model is missing or not text of one line"),
        (lambda d: own_meta(d).update(model=7), "its model is missing or not text of one line"),
        (lambda d: own_meta(d).update(model="\x1b[2J"), "its model is missing or not text of one line"),
        (lambda d: own_meta(d).update(command="x" * 5000), "its command is missing or not text of one line"),
        (lambda d: own_meta(d).update(model="os.path"), "no model os.path; "),
        (lambda d: own_meta(d).update(model="published/kip_1"), "no model published/kip_1; there are: kafka, "),
        (lambda d: own_meta(d).update({"model-digest": "0" * 64}), "written with another version of model published"),
        (lambda d: own_meta(d).update(protocol="kip_999"), "published has no protocol kip_999; "),
        (
            lambda d: own_meta(d).update(verdict="SAFE"),
            "unknown verdict SAFE; there are: VIOLATED, PERMITTED, REACHED, ",
        ),
        (lambda d: own_meta(d).update(configuration=[]), "its configuration is missing or not an object"),
        (lambda d: own_meta(d)["configuration"].pop("records"), "its configuration and its model differ in records"),
        (lambda d: own_meta(d)["configuration"].update(x="1"), "its configuration and its model differ in x"),
        (
            lambda d: own_meta(d)["configuration"].update(records=1),
            "its configuration records is missing or not text of one",
        ),
        (lambda d: own_meta(d)["configuration"].update(records="two"), "records=two: not a whole number"),
        (lambda d: own_meta(d)["configuration"].update(records="0"), "records=0 is impossible"),
        (lambda d: own_meta(d)["configuration"].update(records="2"), "its configuration was edited: it does not fit"),
        (lambda d: own_meta(d).update(swaps={"fly": "kip_101"}), "published has no action fly; "),
        (lambda d: own_meta(d).update(swaps={"become_follower": "kip_101"}), "its configuration was edited"),
        (lambda d: d.pop("vars"), "its variables are not the fields of its model"),
        (lambda d: d["vars"].reverse(), "its variables are not the fields of its model"),
        (lambda d: d["states"].clear(), "it has no states"),
        (lambda d: d["states"].insert(1, 5), "state 1: not an object"),
        (lambda d: d["states"].pop(3), 'state 3: its "#meta" is not {"index": 3}; write the trace again'),
        (lambda d: d["states"][2].pop("isr"), "state 2: the field isr is missing"),
        (lambda d: d["states"][2].update(color="red"), 'state 2: "color" is not a field of the model'),
        (lambda d: d["states"][2]["isr"].pop(), "state 2: isr is [[false, false]]; give a list of length 2"),
        (lambda d: d["states"][2].update(isr=5), "state 2: isr is 5; give a list of length 2"),
        (lambda d: d["states"][2]["isr"][1].append(True), "state 2: isr is [false, "),
        (
            lambda d: d["states"][2]["isr"].__setitem__(0, [0, 1]),
            "state 2: isr cannot be 0; its values are false..true",
        ),
        (lambda d: d["states"][2].update(next_epoch=2), "state 2: next_epoch cannot be 2; its values are 0..3"),
        (lambda d: d["states"][2].update(next_epoch={"#bigint": "4"}), "state 2: next_epoch cannot be "),
        (lambda d: d["states"][2].update(next_epoch=None), "state 2: next_epoch cannot be null"),
        (lambda d: d["states"][2].update(quorum_leader="nobody"), 'state 2: quorum_leader cannot be "nobody"'),
        (lambda d: d["states"][2].update(quorum_leader={"#bigint": "-1"}), "state 2: quorum_leader cannot be "),
        (
            lambda d: d["states"][0].update({files.ACTION: "leader_writes"}),
            "state 0: its first state is not reached by `init`",
        ),
        (lambda d: d["states"][1].pop(files.ACTION), "state 1: its mbt::actionTaken is missing"),
        (
            lambda d: d["states"][1].update({files.ACTION: "leader_write"}),
            "state 1: published has no action leader_write",
        ),
        (
            lambda d: d["states"][1].pop(files.PICKS),
            "state 1: the arguments of controller_elects_leader are null; give",
        ),
        (
            lambda d: d["states"][1].update({files.PICKS: {"x": "y"}}),
            "state 1: the arguments of controller_elects_leader are {",
        ),
        (lambda d: d["states"][1][files.PICKS].update(r=0), "state 1: r cannot be 0; its domain has 2 elements"),
        (
            lambda d: d["states"][1][files.PICKS].update(r={"#bigint": "2"}),
            'state 1: r cannot be {"#bigint": "2"}; its',
        ),
    ],
)
def test_a_damaged_file_is_refused(change: Change, message: str) -> None:
    document = json.loads(files.to_text(weak_isr()))
    change(document)
    with pytest.raises(UsageError) as refusal:
        files.read_trace(files.parse_document(json.dumps(document)))
    assert str(refusal.value).startswith(message)
    assert "\n" not in str(refusal.value)


def test_a_configuration_with_other_bounds_is_refused_before_its_states_are_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = json.loads(files.to_text(weak_isr()))
    own_meta(document)["configuration"]["replicas"] = "1000000"
    monkeypatch.setattr(files, "configuration_digest", lambda instance: "6f5877bf")
    with pytest.raises(
        UsageError, match=r"field isr|log_record is .*; give a list of length 1000000|field .* would hold"
    ):
        files.read_trace(document)


def test_entries_know_their_limits() -> None:
    # A setting without a largest value would let `behaviours` above draw nothing for it.
    for name in registry.names():
        for entry in registry.load(name)[0].entries.values():
            assert isinstance(entry, Entry)
            assert entry.is_bound or entry.most is not None
