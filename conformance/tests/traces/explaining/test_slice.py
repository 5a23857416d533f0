"""Slices of traces: the removed steps, the unchanged failure, and the output of the command."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from conformance.tests.support.small_models import write_model
from conformance.tests.support.trace import CLASSIC, COMMITTED, kafka, own_model, trace, weak_isr
from conformance.tests.traces.test_cli import shown
from isrcheck.models import registry, run
from isrcheck.models.language.model import Instance, Model
from isrcheck.models.messages import UsageError
from isrcheck.traces.explaining import slicing
from isrcheck.traces.format import files
from isrcheck.traces.format.certify import behaviour, from_any_state, judgements
from isrcheck.traces.format.files import configuration_digest
from isrcheck.traces.format.trace import HOLDS, PERMITTED, REACHED, VIOLATED, Trace, property_of
from isrcheck.traces.format.why_false import why_broken

OVERWRITTEN = """
class Configuration:
    values = bound(5, "values")

class Value(Domain, size="values"):
    pass

class State:
    value = field(values=between(0, 9))
    other = field(values=between(0, 9))

@action
def hand_sets(s, value: Value):
    s.value = value

@action
def hand_copies(s):
    s.other = s.value

@always
def never_three(s):
    return s.other != 3
"""


def longer() -> Trace:
    """The loss of KIP-101, with two steps of an uninvolved broker."""
    return kafka([*COMMITTED, "leader_handles_fetch 0 from 2", "broker_crashes 2", *CLASSIC[4:]], "acked_not_lost")


def random_walk(instance: Instance, name: str, verdict: str, seed: int) -> Trace:
    """Random steps until the property fails, at most 60."""
    chance, prop = random.Random(seed), property_of(instance, name)
    states, steps = [instance.initial_states[0]], []
    while len(steps) < 60 and judgements(instance, prop, states[-2:], steps[-1:])[-1] is None:
        step, after = chance.choice(list(run.successors(instance, states[-1])))
        states.append(after)
        steps.append(step)
    return behaviour(instance, 0, steps, name, "check kafka", verdict)


def spelled(found: Trace) -> list[str]:
    return [found.instance.spell_step(step) for step in found.steps]


# ---------------------------------------------------------------------------------------------------- what is left out


def test_steps_outside_the_causal_cone_are_removed() -> None:
    found = slicing.slice_of(longer(), "again")
    assert (found.left_out, found.outside, found.is_minimal) == ((5, 6), frozenset({5}), True)
    assert spelled(found.trace) == list(CLASSIC)
    assert (found.trace.property_name, found.trace.verdict) == ("acked_not_lost", VIOLATED)
    assert found.trace.command == "again"


def test_a_shortest_counterexample_is_unchanged() -> None:
    for given in (kafka(CLASSIC, "acked_not_lost"), weak_isr()):
        found = slicing.slice_of(given, "again")
        assert (found.left_out, found.outside, found.trace.steps) == ((), frozenset(), given.steps)


def test_the_cone_follows_reads_to_the_last_write(tmp_path: Path) -> None:
    instance = registry.load_file(write_model(tmp_path / "overwritten.py", OVERWRITTEN)).instance()
    steps = ["hand_sets 4", "hand_copies", "hand_sets 2", "hand_sets 3", "hand_copies"]
    given = trace(instance, steps, "never_three")
    assert slicing.causal_cone(given) == (3, 4)
    found = slicing.slice_of(given, "again")
    assert (found.left_out, found.outside) == ((1, 2, 3), frozenset({1, 2, 3}))
    assert spelled(found.trace) == ["hand_sets 3", "hand_copies"]


def test_irrelevant_reads_are_found_by_trial(own: Model) -> None:
    # Shelving parcel b counts on with what shelving parcel a has counted.
    given = trace(own.instance(), ["clerk_shelves {a} 0", "clerk_shelves {b} 1"], "either")
    assert slicing.causal_cone(given) == (0, 1)
    found = slicing.slice_of(given, "again")
    assert (found.left_out, found.outside) == ((1,), frozenset())
    assert spelled(found.trace) == ["clerk_shelves {b} 1"]


def test_a_property_of_transitions_needs_its_transition(own: Model) -> None:
    found = trace(own.instance(), ["clerk_shelves {a} 0"], "count_stays")
    assert slicing.causal_cone(found) == (0,)
    assert slicing.slice_of(found, "again").left_out == ()


def test_reached_goals_are_sliced_and_interdependent_steps_kept(own: Model) -> None:
    steps = ["clerk_shelves {a} 0", "clerk_loses a", "clerk_shelves {a,b,c} 1"]
    found = slicing.slice_of(trace(own.instance(), steps, "full", REACHED), "again")
    assert spelled(found.trace) == ["clerk_shelves {a,b,c} 1"]
    assert (found.left_out, found.trace.verdict) == ((1, 2), REACHED)


WALKS = [(0, 17, 9, 3), (1, 14, 14, 5), (3, 7, 6, 3), (5, 7, 6, 3), (6, 3, 2, 2)]
"""Of random histories: the seed, the number of steps, those inside the causal cone, and those that are left."""


@pytest.mark.parametrize(("seed", "length", "inside", "left"), WALKS)
def test_random_histories(seed: int, length: int, inside: int, left: int) -> None:
    instance = registry.load("kafka")[0].instance("0.10", {"acks": 1, "unclean_elections": 1})
    given = random_walk(instance, "acked_not_lost", PERMITTED, seed)
    found = slicing.slice_of(given, "again")
    assert (given.length, len(slicing.causal_cone(given)), found.trace.length) == (length, inside, left)
    assert length - len(found.outside) == inside
    # No single step can be spared: what is left is its own slice.
    assert slicing.slice_of(found.trace, "again").left_out == ()
    kept = [step for number, step in enumerate(given.steps, 1) if number not in found.left_out]
    assert found.trace.steps == tuple(kept)


def test_a_failure_with_another_cause_is_no_slice(own: Model) -> None:
    # Without step 1 there are two parcels, of which another part of the property does not approve.
    given = trace(own.instance(), ["clerk_shelves {a} 0", "clerk_shelves {b,c} 1"], "all_three")
    assert slicing.slice_of(given, "again").left_out == ()
    other = trace(own.instance(), ["clerk_shelves {b,c} 1"], "all_three")
    assert [why_broken(one).deeper[0].source for one in (given, other)] == [
        "s.count > 5",
        "s.count != 2 or s.last != NONE",
    ]


def test_a_slice_that_takes_too_long_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slicing, "MOST_TAKEN", 3)
    found = slicing.slice_of(longer(), "again")
    assert not found.is_minimal
    assert slicing.tell(longer(), found)[-1] == (
        "the time limit ended the slicing: more steps may be removable; slice the result again"
    )
    shortest = kafka(CLASSIC, "acked_not_lost")
    assert slicing.tell(shortest, slicing.slice_of(shortest, "")) == [
        "no removable step among 6 was found before the time limit; nothing is written"
    ]


# --------------------------------------------------------------------------------------------------------- the command

SLICED = """\
kafka/0.10, default configuration

removed from 8 steps:
  5  leader_handles_fetch 0 from 2  outside the causal cone
  6  broker_crashes 2               not needed for the failure

remaining: 6 steps, which end in acked_not_lost VIOLATED for the same cause; certified
see it: trace show out/kafka_0.10_acked_not_lost_{digest}_1.itf.json
"""


NOTHING = "none of the 6 steps can be removed, nor any two of them; nothing is written\n"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = files.write(longer(), Path("counterexamples"))
    digest = configuration_digest(longer().instance)
    for _ in range(2):  # the second time there is nothing new to write
        assert shown(capsys, "slice", path, "--out", "out") == SLICED.format(digest=digest)
    (written,) = files.files(Path("out"))
    found = files.read(written)
    assert spelled(found) == list(CLASSIC)
    assert found.command == f"check something --bound 8 && trace slice {path}"
    # Without --out it lies beside the trace, under the next free name.
    before = path.read_text()
    shown(capsys, "slice", path)
    assert [file.name for file in files.files(Path("counterexamples"))] == [
        f"kafka_0.10_acked_not_lost_{digest}_{number}.itf.json" for number in (1, 2)
    ]
    assert path.read_text() == before
    assert shown(capsys, "slice", written, "--out", "again") == NOTHING
    assert not Path("again").exists()


def test_a_users_model_and_a_path_with_spaces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own_model(tmp_path)
    model = registry.load_file(Path("parcels.py"))
    given = trace(model.instance(), ["clerk_shelves {a} 0", "clerk_shelves {b} 1"], "either")
    path = files.write(given, Path("my traces"))
    out = shown(capsys, "slice", path, "--model", "parcels.py", "--out", "out")
    (written,) = files.files(Path("out"))
    assert out.splitlines()[-1] == f"see it: trace show {written} --model parcels.py"
    assert files.read(written, model).command == (
        f"check something --bound 8 && trace slice '{path}' --model parcels.py"
    )


def test_traces_that_cannot_be_sliced(own: Model) -> None:
    def refusal(given: Trace) -> str:
        with pytest.raises(UsageError) as error:
            slicing.slice_of(given, "")
        return str(error.value)

    cure = "give a trace that is VIOLATED, PERMITTED or REACHED"
    instance = own.instance()
    assert refusal(trace(instance, [], "either", HOLDS)) == (
        f"either HOLDS ON THIS PATH: this verdict does not result from the steps; {cure}"
    )
    assert refusal(trace(instance, [], None)) == f"a behaviour without a failing property; {cure}"
    step = instance.step(instance.number("clerk_shelves", (1, 0)))
    assert refusal(from_any_state(instance, instance.initial_states[0], step, "count_stays", "x")) == (
        f"count_stays NOT INDUCTIVE: this verdict does not result from the steps; {cure}"
    )


def test_a_path_that_no_command_can_name() -> None:
    found = longer()
    with pytest.raises(UsageError) as error:
        slicing.command_of(found, Path("a\nb"), None)
    assert str(error.value) == r"'a\nb' cannot be part of the command that reproduces the slice; rename the file"
    assert slicing.command_of(found, Path("a b"), Path("m.py")) == (
        "check something --bound 8 && trace slice 'a b' --model m.py"
    )
