"""Traces as ITF: a written trace is read back exactly, and a foreign file is refused in one line."""

from __future__ import annotations

import functools
import json
import operator
import random
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


def content(found: Trace) -> tuple[object, ...]:
    instance = found.instance
    outcome = found.property_name, found.verdict, found.command
    configured = instance.configuration, instance.protocol.name, instance.alternatives, instance.model.digest
    return found.states, found.steps, outcome, configured


def read_back(written: Trace, model: Model | None = None) -> Trace:
    """Write a trace and read it: the same trace is read, and certified."""
    text = files.to_text(written)
    found = files.read_trace(files.parse_document(text), model)
    assert content(found) == content(written)
    assert files.to_text(found) == text
    certify(found)
    return found


@pytest.mark.exhaustive
@settings(max_examples=150, deadline=None)
@given(behaviours())
def test_every_behaviour_of_every_model_is_read_back(written: Trace) -> None:
    read_back(written)


@pytest.mark.parametrize("seed", range(20))
def test_a_trace_of_a_users_model_is_read_back(own: Model, seed: int) -> None:
    instance = own.instance(None, {"mood": seed % 2, "shelves": 1 + seed % 3})
    read_back(walk(instance, random.Random(seed), 6), own)


def test_swapped_actions_are_read_back() -> None:
    model, _ = registry.load("published")
    instance = model.instance("kip_320", {"replicas": 2}, {"become_follower": "kip_101"})
    found = read_back(walk(instance, random.Random(1), 5))
    assert found.instance.swaps == {"become_follower": "kip_101"}


def test_a_marker_is_not_a_record_letter() -> None:
    written = kafka(TRANSACTION, None, None, "2.1", transactions=1)
    read_back(written)
    document = json.loads(files.to_text(written))
    assert document["states"][-1]["log_record"] == [["a", "marker"], ["a", "marker"], ["none", "none"]]
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
    fields = ["top", "lies", "mood_of", "is_lost", "count", "last"]
    assert (document["params"], document["vars"]) == ([], [*fields, "mbt::actionTaken", "mbt::nondetPicks"])
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
        UsageError, match=r"the trace's model, the file parcels\.py, is not loaded automatically; give it: "
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


GONE = object()
"""In place of a value: the name is missing."""


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("own model", GONE, "its model is missing or not text of one line"),
        ("own model", 7, "its model is missing or not text of one line"),
        ("own model", "\x1b[2J", "its model is missing or not text of one line"),
        ("own command", "x" * 5000, "its command is missing or not text of one line"),
        ("own model", "os.path", "no model os.path; "),
        ("own model", "published/kip_1", "no model published/kip_1; there are: kafka, "),
        ("own model-digest", "0" * 64, "written with another version of model published"),
        ("own protocol", "kip_999", "published has no protocol kip_999; "),
        ("own verdict", "SAFE", "unknown verdict SAFE; the verdicts are: VIOLATED, PERMITTED, REACHED, "),
        ("own configuration", [], "its configuration is missing or not an object"),
        ("own configuration records", GONE, "its configuration and its model do not both have the entry records"),
        ("own configuration x", "1", "its configuration and its model do not both have the entry x"),
        ("own configuration records", 1, "its configuration records is missing or not text of one"),
        ("own configuration records", "two", "records=two: not a whole number"),
        ("own configuration records", "0", "records=0 is impossible"),
        ("own configuration records", "2", "its configuration was edited: it does not fit"),
        ("own swaps", {"fly": "kip_101"}, "published has no action fly; "),
        ("own swaps", {"become_follower": "kip_101"}, "its configuration was edited"),
        ("vars", GONE, "its variables are not the fields of its model"),
        ("vars", lambda names: names[::-1], "its variables are not the fields of its model"),
        ("states", [], "it has no states"),
        ("states", lambda states: [states[0], 5, *states[1:]], "state 1: not an object"),
        ("states", lambda states: states[:3] + states[4:], 'state 3: its "#meta" is not {"index": 3}; write the trace'),
        ("states 2 isr", GONE, "state 2: the field isr is missing"),
        ("states 2 color", "red", 'state 2: "color" is not a field of the model'),
        ("states 2 isr", lambda rows: rows[:1], "state 2: isr is [[false, false]]; give a list of length 2"),
        ("states 2 isr", 5, "state 2: isr is 5; give a list of length 2"),
        ("states 2 isr 1", lambda row: [*row, True], "state 2: isr is [false, "),
        ("states 2 isr 0", [0, 1], "state 2: isr cannot be 0; its values are false..true"),
        ("states 2 next_epoch", 2, "state 2: next_epoch cannot be 2; its values are 0..3"),
        ("states 2 next_epoch", number(4), "state 2: next_epoch cannot be "),
        ("states 2 next_epoch", None, "state 2: next_epoch cannot be null"),
        ("states 2 quorum_leader", "nobody", 'state 2: quorum_leader cannot be "nobody"'),
        ("states 2 quorum_leader", number(-1), "state 2: quorum_leader cannot be "),
        (f"states 0 {files.ACTION}", "leader_writes", "state 0: its first state is not reached by `init`"),
        (f"states 1 {files.ACTION}", GONE, "state 1: its mbt::actionTaken is missing"),
        (f"states 1 {files.ACTION}", "leader_write", "state 1: published has no action leader_write"),
        (f"states 1 {files.PICKS}", GONE, "state 1: the arguments of controller_elects_leader are null; give"),
        (f"states 1 {files.PICKS}", {"x": "y"}, "state 1: the arguments of controller_elects_leader are {"),
        (f"states 1 {files.PICKS} r", 0, "state 1: r cannot be 0; its domain has 2 elements"),
        (f"states 1 {files.PICKS} r", number(2), 'state 1: r cannot be {"#bigint": "2"}; its'),
    ],
)
def test_a_damaged_file_is_refused(place: str, value: Any, message: str) -> None:
    document = json.loads(files.to_text(weak_isr()))
    *path, last = (int(key) if key.isdigit() else key for key in place.replace("own", "#meta isrcheck").split())
    part = functools.reduce(operator.getitem, path, document)
    if value is GONE:
        del part[last]
    else:
        part[last] = value(part[last]) if callable(value) else value
    with pytest.raises(UsageError) as refusal:
        files.read_trace(files.parse_document(json.dumps(document)))
    assert str(refusal.value).startswith(message)
    assert "\n" not in str(refusal.value)


def test_a_configuration_with_other_bounds_is_refused_before_its_states_are_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = json.loads(files.to_text(weak_isr()))
    document["#meta"]["isrcheck"]["configuration"]["replicas"] = "1000000"
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
