"""`check --prove` without a proof: the step that prevents it, its trace, and the explorer's verdict."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace

import pytest

from conformance.tests.support.engine import ALL_THE_WATER, JUGS, instance_of, joined, proofs_of, proving, verdict_of
from isrcheck.checker import cli
from isrcheck.checker.results.proofs import Proof, Proofs
from isrcheck.checker.results.verdict import Verdict, Word, with_proofs
from isrcheck.checker.running import session
from isrcheck.models import registry
from isrcheck.models.messages import UsageError
from isrcheck.traces.cli import main as trace
from isrcheck.traces.format.certify import certify
from isrcheck.traces.format.files import read
from isrcheck.traces.format.trace import HOLDS, NOT_INDUCTIVE, PERMITTED, VIOLATED


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    return proving(cli.main, tmp_path, monkeypatch, capsys)


# ---------------------------------------------------------------------------------------------------------- not proved


def test_a_property_that_is_not_inductive_is_not_proved(check, capsys):
    code, out, err = check(JUGS)
    assert (code, err) == (3, "")
    assert re.search(r"^HOLDS \(not proved\) +right_stays_low$", out, re.MULTILINE)
    told = (
        "right_stays_low: not proved: a step violates it: somebody_pours_right, from a state that the explorer does not"
    )
    assert f"{told} reach (an exhaustive search within these bounds); a lemma has to exclude that state" in joined(out)
    assert verdict_of(out).endswith("; not proved: right_stays_low")
    shown = re.search(r"trace show \S+ --model model\.py", joined(out))
    assert shown is not None
    assert trace(shlex.split(shown[0])[1:]) == 0
    view = capsys.readouterr().out
    assert re.search(r"^ +0  from this state ", view, re.MULTILINE)
    assert re.search(r"^ +1  somebody_pours_right ", view, re.MULTILINE)
    assert "NOT INDUCTIVE at step 1: right_stays_low: The right jug stays low." in view
    assert "may be unreachable" in view
    assert "right_stays_low is false" in view
    assert view.splitlines()[-1] == "reproduce: check model.py --prove"
    assert trace(["list"]) == 0
    assert re.search(
        r"model_right_stays_low_not-inductive_\w+_1\.itf\.json .* NOT INDUCTIVE +1 ", capsys.readouterr().out
    )


def test_the_depth_of_the_explorer_is_reported(check):
    _, out, _ = check(JUGS, "--bound", "2")
    told = (
        "the explorer does not reach (these bounds searched to depth 2); the state is reached later, or a lemma has to"
    )
    assert f"{told} exclude it" in joined(out)
    assert re.search(r"^NO VIOLATION TO DEPTH 2 \(not proved\) +right_stays_low$", out, re.MULTILINE)


def test_the_json_object_agrees(check):
    code, _, proofs = proofs_of(check, JUGS)
    assert code == 3
    assert set(proofs) == {"solver", "seconds", "stopped", "proved", "premises", "not_proved"}
    assert proofs["solver"].startswith("Z3 ")
    (one,) = proofs["not_proved"]
    file = one.pop("trace")
    assert one == {
        "property": "right_stays_low",
        "kind": "always",
        "every_length": False,
        "why": "a step violates it",
        "step": "somebody_pours_right",
        "reached_at_depth": None,
    }
    assert file.startswith("counterexamples/model_right_stays_low_not-inductive_")


def test_a_lemma_violated_in_a_reachable_state_is_false(check):
    wrong = "@lemma\ndef left_is_never_low(s):\n    return s.left >= 3\n"
    code, out, _ = check(JUGS + ALL_THE_WATER + wrong)
    assert code == 0
    assert "lemma left_is_never_low is false: in a state that the explorer reaches at depth 2" in joined(out)
    _, _, proofs = proofs_of(check, JUGS + ALL_THE_WATER + wrong)
    (lost,) = proofs["not_proved"]
    assert (lost["property"], lost["kind"], lost["reached_at_depth"]) == ("left_is_never_low", "lemma", 1)
    # Nothing rests on a lemma that was lost.
    assert [one["lemmas"] for one in proofs["proved"]] == [["no_water_is_lost"]]


def test_a_lemma_false_in_an_initial_state_is_dropped_and_never_a_premise(check):
    code, out, _ = check(JUGS + "@lemma\ndef right_is_empty(s):\n    return s.right == 0 and s.left < 8\n")
    assert code == 3
    assert "lemma right_is_empty is false: in an initial state" in joined(out)
    assert re.search(r"^HOLDS \(not proved\) +right_stays_low$", out, re.MULTILINE)


def test_an_undeclared_lemma_is_not_used(check):
    off = ALL_THE_WATER.replace("@lemma", "@lemma(applies=lambda configuration: configuration.limit > 8)")
    assert proofs_of(check, JUGS + off)[0] == 3
    assert proofs_of(check, JUGS + off, "--limit", "9")[0] == 0


def test_the_absence_of_range_errors_is_a_proved_or_searched_premise(check):
    text = JUGS.replace("    require(s.right < 20)\n", "")
    nothing = "no step and no property leaves its declared range in a reachable state"
    proved = f"premise in_range (proved): {nothing}: proved by induction, with no_water_is_lost"
    assert proved in joined(check(text + ALL_THE_WATER)[1])
    weaker = text + ALL_THE_WATER.replace("== 8", "< 30")
    code, out, _ = check(weaker, "--limit", "20")
    assert (code, "PROVED: at any depth" in joined(out)) == (0, True)
    assert f"premise in_range (searched): {nothing}: an exhaustive search visited all 9 of them" in joined(out)
    code, out, _ = check(weaker, "--limit", "20", "--bound", "3")
    assert (code, "PROVED" in out) == (3, False)
    assert "in_range: not proved: a step violates it: somebody_pours_right, which leaves its range:" in joined(out)
    assert "right_stays_low: not proved: it rests on in_range, which is not proved" in joined(out)


# ------------------------------------------------------------------------------------------ traces that need no start


def counterexample(check, tmp_path):
    check(JUGS)
    (path,) = (tmp_path / "counterexamples").glob("*not-inductive*")
    return read(path, registry.load_file(tmp_path / "model.py"))


def with_cell(states, at, cell, value):
    changed = [list(cells) for cells in states]
    changed[at][cell] = value
    return tuple(map(tuple, changed))


def test_a_counterexample_to_induction_is_certified_unless_tampered_with(check, tmp_path):
    found = counterexample(check, tmp_path)
    (left, right), after = found.states
    assert (right, after, found.verdict) == (8, (left - 1, 9), NOT_INDUCTIVE)
    certify(found)
    other = next(step for step in found.instance.steps if step.action == "somebody_pours_left")
    lower = replace(found, states=((left, 4), (left - 1, 5)))
    for tampered, says in [
        (replace(found, verdict=VIOLATED), "not an initial state"),
        (replace(found, verdict=PERMITTED), "not an initial state"),
        (replace(found, verdict=HOLDS), "not an initial state"),
        (replace(found, steps=(other,)), "leads to another state|is not enabled"),
        (replace(found, states=with_cell(found.states, 1, 0, left)), "leads to another state"),
        (replace(found, states=with_cell(found.states, 0, 0, 21)), "outside 0..20"),
        (replace(found, states=((left, 9), (left - 1, 10))), "by the last step alone"),
        (lower, "by the last step alone"),
        (replace(found, states=found.states[:1], steps=()), "by the last step alone"),
        (replace(found, property_name=None), "a property without a verdict"),
    ]:
        with pytest.raises(UsageError, match=says):
            certify(tampered)


def test_an_unreached_goal_is_no_counterexample(check, tmp_path):
    found = counterexample(check, tmp_path)
    model = JUGS + "@sometimes\ndef right_is_high(s):\n    return s.right != 9\n"
    with pytest.raises(UsageError, match="by the last step alone"):
        certify(replace(found, instance=instance_of(tmp_path, model), property_name="right_is_high"))


def test_an_unwritable_folder_does_not_prevent_the_report(check, tmp_path):
    (tmp_path / "file").write_text("mine")
    code, out, err = check(JUGS, "--out", "file/below")
    assert (code, err.count("\n")) == (2, 1)
    assert "--out DIR" in err
    assert "right_stays_low: not proved: a step violates it" in joined(out)
    assert re.search(r"^    right 8 -> 9$", out, re.MULTILINE)


# ---------------------------------------------------------------------------------------------- beside the explorer


def test_an_unproved_property_beside_a_violated_one_exits_12(check):
    more = "@always\ndef left_stays(s):\n    return s.left >= 2\n"
    code, found, proofs = proofs_of(check, JUGS + more)
    assert (code, found) == (12, {"right_stays_low": "HOLDS", "left_stays": "VIOLATED"})
    assert {one["property"] for one in proofs["not_proved"]} == {"right_stays_low"}


def test_a_property_with_permitted_failures_need_not_be_proved(check):
    text = JUGS.replace("setting(0", "setting(1")
    assert check(text + ALL_THE_WATER, "--limit", "6")[0] == 0
    assert check(text + ALL_THE_WATER, "--limit", "6", "--strict")[0] == 12
    assert proofs_of(check, text + ALL_THE_WATER, "--limit", "6")[1] == {"right_stays_low": "PERMITTED"}


def test_a_proof_needs_no_search(check):
    """The search ended early, which does not matter after a proof."""
    code, found, _ = proofs_of(check, JUGS + ALL_THE_WATER, "--bound", "0")
    assert (code, found) == (0, {"right_stays_low": "PROVED"})
    reached = "@sometimes\ndef right_is_full(s):\n    return s.right == 8\n"
    code, found, _ = proofs_of(check, JUGS + ALL_THE_WATER + reached, "--bound", "1")
    assert (code, found["right_stays_low"]) == (0, "PROVED")
    assert found["right_is_full"] == "NOT REACHED TO DEPTH"


def test_proofs_beside_both_engines(check):
    code, out, _ = check(JUGS + ALL_THE_WATER, "--engine", "all", "--bound", "3")
    assert code == 0
    assert "the engines agree on every property to depth 3" in out.splitlines()
    assert "right_stays_low: PROVED" in joined(out)
    _, out, _ = check(JUGS, "--engine", "all", "--bound", "3", "--json")
    assert json.loads(out)["runs"][0]["command"] == "check model.py --bound 3 --engine all --prove"


def proof(instance, name):
    (prop,) = (prop for prop in instance.properties if prop.name == name)
    return Proof(prop, (), False, 1, 0.0)


@pytest.mark.parametrize("words", [(), ("--engine", "all", "--bound", "5")], ids=str)
def test_a_proof_that_contradicts_the_search_exits_70(check, monkeypatch, words):
    def wrongly(instance, *given, **more):
        return Proofs({"right_stays_low": proof(instance, "right_stays_low")})

    monkeypatch.setattr(session, "proved", wrongly)
    code, _, err = check(JUGS, "--limit", "6", *words)
    assert (code, err.count("\n")) == (70, 1)
    assert "right_stays_low is proved, and the search found it VIOLATED at step 3" in err


@pytest.mark.parametrize("word", list(Word))
def test_only_properties_left_open_by_the_search_are_proved(tmp_path, word):
    instance = instance_of(tmp_path, JUGS)
    verdict = Verdict(instance.properties[0], word)
    found = Proofs({"right_stays_low": proof(instance, "right_stays_low")})
    if word in (Word.HOLDS, Word.NO_VIOLATION, Word.UNDECIDED):
        assert with_proofs([verdict], found)[0].word is Word.PROVED
    else:
        with pytest.raises(AssertionError, match="right_stays_low is proved, and the search found it"):
            with_proofs([verdict], found)


def test_a_failing_property_is_never_a_hypothesis(check):
    """A property that the search found violated must not be used in proofs of others."""
    more = "@always\ndef left_stays(s):\n    return s.left >= 2 and s.left + s.right == 8\n"
    _, found, _ = proofs_of(check, JUGS + more)
    assert found == {"right_stays_low": "HOLDS", "left_stays": "VIOLATED"}
