"""Liveness in small models: exact lassos, corner cases of fairness, searches that cannot tell, and every viewer; lassos
in the lists, reports, tests and mutants that are made of them, and in Python."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import isrcheck
from conformance.tests.support.engine import ENDS, verdict_of
from conformance.tests.support.small_models import action, claim, define, domain, entries, model, state, write_model
from isrcheck.checker import cli
from isrcheck.checker.explicit import liveness as graph
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration, Finding, StepPath
from isrcheck.checker.results.verdict import verdicts
from isrcheck.commands.exit_codes import STUCK
from isrcheck.models import registry
from isrcheck.models.messages import UsageError
from isrcheck.traces.cli import main as trace
from isrcheck.traces.format import files
from isrcheck.traces.format.certify import certify, from_steps

MEMORY = 1 << 28

HEAD = (
    model(
        domain("Hand", 2),
        state("is_on: Flag", "count: between(0, 5)", "door[Hand]: Flag"),
    )
    + "\n"
)
"""Somebody switches a light on and off, and counts."""
BLINKS = "@action\ndef blinks(s):\n    s.is_on = not s.is_on\n\n"
COUNTS = "@action\ndef counts(s):\n    require(s.count < 2)\n    s.count += 1\n\n"
WHEN_ON = COUNTS.replace("require(s.count < 2)", "require(s.is_on)\n    require(s.count < 2)")
IDLES = "@action\ndef idles(s):\n    s.count = s.count\n\n"


@pytest.fixture
def searched(tmp_path, monkeypatch) -> Callable[..., Exploration]:
    monkeypatch.chdir(tmp_path)

    def search(text: str, *, depth: int | None = None, threads: int = 1) -> Exploration:
        instance = registry.load_file(write_model(Path("light.py"), HEAD + text + ENDS)).instance()
        exploration = explore(instance, Limits(depth, MEMORY, None, threads))
        for verdict in verdicts(exploration):
            for name, path, word in verdict.failing_paths:
                from_steps(instance, path.initial, path.steps, name, "", word, path.loop)  # certified
        return exploration

    return search


def found(exploration: Exploration) -> list[Finding]:
    return [one.found for one in exploration.findings.values()]


def live(kind: str, words: str, name: str = "p", body: str = "s.count == 2") -> str:
    return f"@{kind}({words})\ndef {name}(s):\n    return {body}\n\n"


# ------------------------------------------------------------------------------------------------------ exact histories


def test_a_premise_that_is_true_only_later(searched):
    text = BLINKS + COUNTS + "def is_one(s):\n    return s.count == 1\n\n"
    exploration = searched(text + live("leads_to", "when=is_one"))
    assert found(exploration) == [Finding(2, StepPath(0, (1,), 1))]
    assert [one.text for one in verdicts(exploration)] == ["VIOLATED at step 1 (stays there)"]
    assert found(searched(text + live("leads_to", "when=is_one, fair=[counts]"))) == [Finding()]
    exploration = searched(text + live("leads_to", "when=is_one, fair=[blinks]"))
    assert found(exploration) == [Finding(2, StepPath(0, (1, 0, 0), 1))]
    assert [one.text for one in verdicts(exploration)] == ["VIOLATED at step 3 (back to step 1)"]


FAIR_COUNTS, FAIR_BLINKS = (text.replace("@action", "@action(fair=True)") for text in (COUNTS, BLINKS))
ONCE = FAIR_BLINKS.replace("s.is_on = not s.is_on", "require(not s.is_on)\n    s.is_on = True")
EITHER = BLINKS + "@action\ndef turns(s):\n    s.count = 1 - min(s.count, 1)\n\n"
HANDS = "@action\ndef turns(s, hand: Hand):\n    s.count = 2 if hand == 1 else 1 - min(s.count, 1)\n\n"
FAIR_HANDS = HANDS.replace("@action", "@action(fair='hand')")
ENDING = "@action\ndef ending(s):\n    require(s.is_on and s.count == 1)\n    s.count = 2\n\n"
STRONG_WHEN_ON = WHEN_ON.replace("@action", "@action(fair='strong')")
IS_ON = "def is_on(s):\n    return s.is_on\n\n"
FIRST = "def is_second_at_one(s, hand: Hand):\n    return hand == 1 and s.count == 1\n\n"
NEVER = Finding()
"""No behaviour violates it."""

HISTORIES = {
    "without fairness nothing has to happen": (COUNTS + live("eventually", ""), Finding(2, StepPath(0, (), 0))),
    "a fair action happens": (FAIR_COUNTS + live("eventually", ""), NEVER),
    # Steps: 0 blinks, 1 counts. The behaviour stays where the light is off.
    "a fair action that is possible in every other state only need not happen": (
        BLINKS + WHEN_ON + live("eventually", "fair=[counts]"),
        Finding(4, StepPath(0, (), 0)),
    ),
    # Blinking goes on, and so the loop goes through a state in which counting is not possible.
    "nor in a loop through a state in which it is not possible": (
        BLINKS + WHEN_ON + live("eventually", "fair=[counts, blinks]"),
        Finding(4, StepPath(0, (0, 0), 0)),
    ),
    # The fair action is always enabled, but never leads to another state.
    "a step that changes nothing is no step": (
        IDLES + live("eventually", "fair=any_action"),
        Finding(1, StepPath(0, (), 0)),
    ),
    "beside such a step others happen": (IDLES + COUNTS + live("eventually", "fair=any_action"), NEVER),
    "a deadlock stays for ever": (
        FAIR_COUNTS.replace("< 2", "< 1") + live("eventually", ""),
        Finding(1, StepPath(0, (0,), 1)),
    ),
    "two fair actions need a loop through both": (
        EITHER + live("eventually", "fair=[blinks, turns]"),
        Finding(4, StepPath(0, (0, 0, 1, 1), 0)),
    ),
    "one step of either is enough for their disjunction": (
        EITHER + live("eventually", "fair=weak_fairness(blinks, turns)"),
        Finding(4, StepPath(0, (0, 0), 0)),
    ),
    "for an action as a whole, one hand may do everything": (
        HANDS + live("eventually", "fair=[turns]"),
        Finding(2, StepPath(0, (0, 0), 0)),
    ),
    "a property fair to each hand": (HANDS + live("eventually", "fair=weak_fairness(turns, each='hand')"), NEVER),
    "an action fair to each hand": (FAIR_HANDS + live("eventually", ""), NEVER),
    "a property without the fairness of its actions": (
        FAIR_HANDS + live("eventually", "fair=[]"),
        Finding(2, StepPath(0, (), 0)),
    ),
    "on again and again": (FAIR_BLINKS + live("always_eventually", "", body="s.is_on"), NEVER),
    "on for good": (
        FAIR_BLINKS + live("eventually_always", "", body="s.is_on"),
        Finding(2, StepPath(0, (0, 0), 0)),
    ),
    # The loop begins where the light is off already: it needs a state in which it is on, but not as the first one.
    "off for good": (
        FAIR_BLINKS + live("eventually_always", "", body="not s.is_on"),
        Finding(2, StepPath(0, (0, 0), 0)),
    ),
    "on once is on for good": (ONCE + live("eventually_always", "", body="s.is_on"), NEVER),
    "on once is not off again": (
        ONCE + live("always_eventually", "", body="not s.is_on"),
        Finding(1, StepPath(0, (0,), 1)),
    ),
    "a strongly fair action that is possible again and again is taken": (
        BLINKS + WHEN_ON + live("eventually", "fair=[strong_fairness(counts), blinks]"),
        NEVER,
    ),
    "an action declares it": (FAIR_BLINKS + STRONG_WHEN_ON + live("eventually", ""), NEVER),
    # Where the light is off, counting is not possible.
    "nothing is owed where it is not possible": (
        STRONG_WHEN_ON + live("eventually", ""),
        Finding(1, StepPath(0, (), 0)),
    ),
    # Steps: 0 blinks, 1 turns. Ending is possible where the light is on and the count is 1: only the other three states
    # can be repeated, which are a part of the component.
    "a loop may avoid the states in which it is possible": (
        EITHER + ENDING + live("eventually", "fair=[strong_fairness(ending), turns]"),
        Finding(3, StepPath(0, (1, 1), 0)),
    ),
    "a step counts only where its condition is true": (
        BLINKS + COUNTS + IS_ON + live("eventually", "fair=[weak_fairness(counts, when=is_on), blinks]"),
        Finding(4, StepPath(0, (0, 0), 0)),
    ),
    "a strongly fair step counts only where its condition is true": (
        BLINKS + COUNTS + IS_ON + live("eventually", "fair=[strong_fairness(counts, when=is_on), blinks]"),
        NEVER,
    ),
    # Steps: 0 and 1 turns with each hand. Hand 1 is owed where the count is 1, which every loop of two steps visits.
    "a condition may read the arguments of the step": (
        HANDS + FIRST + live("eventually", "fair=weak_fairness(turns, when=is_second_at_one)"),
        Finding(2, StepPath(0, (), 0)),
    ),
    "a condition of strong fairness may read the arguments of the step": (
        HANDS + FIRST + live("eventually", "fair=strong_fairness(turns, when=is_second_at_one)"),
        Finding(1, StepPath(0, (), 0)),
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", HISTORIES)
def test_the_shortest_violating_behaviour_is_found(searched, name):
    text, finding = HISTORIES[name]
    assert found(searched(text)) == [finding]


def test_a_permitted_failure(searched):
    text = BLINKS + "def is_on(s):\n    return s.is_on\n\n"
    exploration = searched(text + live("eventually", "fair=any_action, permitted=is_on"))
    # Every fair loop goes through the state in which the failure is permitted.
    assert exploration.findings["p"].found == Finding()
    assert exploration.findings["p"].permitted == Finding(2, StepPath(0, (0, 0), 0))


def test_any_number_of_threads_finds_the_same_lasso(searched):
    text = BLINKS + WHEN_ON + live("eventually", "fair=[counts, blinks]") + live("leads_to", "when=p", "q", "s.is_on")
    assert searched(text, threads=1).findings == searched(text, threads=3).findings


# -------------------------------------------------------------------------------------------- searches that cannot tell


def test_a_search_that_ends_early_is_undecided(searched, monkeypatch):
    text = COUNTS + live("eventually", "")
    says = "UNDECIDED (a verdict needs every reachable state, and 1 state was not expanded)"
    assert [one.text for one in verdicts(searched(text, depth=1))] == [says]
    monkeypatch.setattr(graph, "BYTES_OF_NODE", MEMORY)
    says = "UNDECIDED (the memory limit is reached while endless behaviours without it are looked for)"
    assert [one.text for one in verdicts(searched(text))] == [says]


def test_a_property_that_cannot_be_evaluated_is_not_said_to_hold(searched):
    counts = COUNTS.replace("@action", "@action(fair=True)").replace("< 2", "< 5")
    exploration = searched(counts + live("eventually", "", body="s.door[s.count]"))
    assert [one.text for one in verdicts(exploration)] == [
        "UNDECIDED (it cannot be evaluated at step 2)",
        "VIOLATED at step 2",
    ]
    # Nor is a premise, where the property is false.
    premise = "def asks(s):\n    return s.door[s.count]\n\n"
    exploration = searched(counts + premise + live("leads_to", "when=asks", body="s.count == 9"))
    assert next(one.text for one in verdicts(exploration)) == "UNDECIDED (it cannot be evaluated at step 2)"


# ------------------------------------------------------------------------------------------------ commands and viewers


LASSO = BLINKS + WHEN_ON + live("eventually", "fair=[counts, blinks]", "counted")


@pytest.fixture
def lasso(searched, capsys) -> Path:
    searched(LASSO)
    assert cli.main(["light.py"]) == STUCK
    last = verdict_of(capsys.readouterr().out)
    assert last == (
        "VIOLATED: counted at step 2: a fair behaviour goes on for ever without it, and never takes a step that is"
        " possible again and again: counts"
    )
    (path,) = Path("counterexamples").glob("light_counted_*.itf.json")
    return path


def test_the_viewers_show_where_it_goes_on(lasso, capsys):
    def shown(*words: str) -> str:
        assert trace([*words, "--model", "light.py"]) in (0, None)
        return capsys.readouterr().out

    show = shown("show", str(lasso))
    assert "back to step 0" in show
    assert "  Steps 1 to 2 are repeated for ever, and counted never becomes true.\n" in show
    assert "  Fair to counts: not possible in the initial state.\n" in show
    assert "  Fair to blinks: taken in step 1.\n" in show
    never = "Possible again and again, at step 1, but never taken: counts. Only strong fairness would demand it."
    assert f"  {never}\n" in show
    assert show.splitlines()[-1] == "reproduce: check light.py"
    assert "back to step 0" in shown("show", str(lasso), "--full")
    assert "back to step 0" in shown("show", str(lasso), "--step", "-1")
    shown("page", str(lasso), "--svg", "lasso.svg")
    assert 'class="arrow loop"' in Path("lasso.svg").read_text()
    shown("page", str(lasso), "--mermaid", "lasso.mmd")
    assert Path("lasso.mmd").read_text().splitlines()[-1] == "  end"


def test_json_has_the_loop(lasso, capsys):
    assert json.loads(lasso.read_text())["loop"] == 0
    assert cli.main(["light.py", "--json"]) == STUCK
    (prop,) = json.loads(capsys.readouterr().out)["runs"][0]["properties"]
    assert (prop["kind"], prop["verdict"], prop["depth"], prop["loop"]) == ("eventually", "VIOLATED", 2, 0)


def test_z3_leaves_it_open(searched, capsys):
    searched(LASSO)
    assert cli.main(["light.py", "--engine", "z3", "--bound", "3"]) == 3
    assert "Z3 does not judge eventually; use --engine local" in capsys.readouterr().out


STRONGLY = EITHER + WHEN_ON + live("eventually", "fair=[strong_fairness(turns), strong_fairness(counts), blinks]", "q")


def test_the_text_of_a_strongly_fair_lasso(searched, capsys):
    text = STRONGLY.replace("s.is_on = not s.is_on", "s.door[0] = not s.door[0]")
    searched(text)
    assert cli.main(["light.py"]) == STUCK
    capsys.readouterr()
    (path,) = Path("counterexamples").glob("light_q_*.itf.json")
    assert trace(["show", str(path), "--model", "light.py"]) in (0, None)
    assert [line for line in capsys.readouterr().out.splitlines() if "air to" in line] == [
        "  Strongly fair to turns: taken in step 3, again and again.",
        "  Fair to blinks: taken in step 1.",
        "  Strongly fair to counts: not possible in any state of the loop.",
    ]


def test_a_lasso_that_is_only_weakly_fair_is_not_certified(searched):
    """A loop in which the light blinks, and counting is possible again and again."""
    exploration = searched(BLINKS + WHEN_ON + live("eventually", "fair=[counts, blinks]"))
    (path,) = [one.path for one in found(exploration)]
    instance = searched(BLINKS + WHEN_ON + live("eventually", "fair=[strong_fairness(counts), blinks]")).instance
    says = r"its loop is not strongly fair to counts: step 1 \(blinks\) allows this step, but it is never taken"
    with pytest.raises(AssertionError, match=says):
        from_steps(instance, path.initial, path.steps, "p", "", "VIOLATED", path.loop)


def test_a_condition_that_cannot_be_evaluated_leaves_the_property_open(searched):
    condition = "def asks(s):\n    return s.door[s.count]\n\n"
    counts = COUNTS.replace("< 2", "< 5")
    exploration = searched(
        counts + condition + live("eventually", "fair=weak_fairness(counts, when=asks)", body="s.is_on")
    )
    says = "UNDECIDED (a condition of its fairness cannot be evaluated in a reachable state)"
    assert next(one.text for one in verdicts(exploration)) == says


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"loop": None}, "it has no loop"),
        ({"loop": 1}, "its last state differs from state 1, to which its loop returns"),
        ({"verdict": "PERMITTED"}, 'the loop makes counted VIOLATED, but the trace says "PERMITTED"'),
        ({"verdict": "HOLDS ON THIS PATH"}, "a lasso shows that a property is VIOLATED or PERMITTED"),
        (
            {"steps": (), "loop": 0},
            "its loop is not fair to blinks: every state of the loop allows this step, but it is never taken",
        ),
    ],
)
def test_a_false_lasso_is_not_certified(lasso, change, says):
    true = files.read(lasso, registry.load_file(Path("light.py")))
    certify(true)
    change |= {"states": true.states[:1]} if "steps" in change else {}
    with pytest.raises(UsageError, match=re.escape(says)):
        certify(replace(true, **change))


def test_a_loop_in_which_the_property_is_always_true_is_not_certified(searched):
    exploration = searched(COUNTS + live("eventually_always", "", body="s.count != 1"))
    assert found(exploration) == [Finding(1, StepPath(0, (0,), 1))]
    true = from_steps(exploration.instance, 0, [0], "p", "", "VIOLATED", 1)
    with pytest.raises(UsageError, match=r"p is true in every state of the loop$"):
        certify(replace(true, states=true.states[:1], steps=(), loop=0))


# --------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (live("eventually", "fair='blink'"), "p: fair= names blink, which is no action; did you mean blinks?"),
        (live("eventually", "fair=[5]"), "p: fair= names 5, which is no action; there are: blinks"),
        (
            live("eventually", "fair=weak_fairness(blinks, each='hand')"),
            "p: fair= names hand, which is no parameter of blinks; it has no parameters",
        ),
        (live("leads_to", ""), "leads_to has no premise; write @leads_to(when=f) with a function f of the state"),
        (live("eventually", "fair=weak_fairness()"), "weak_fairness() names no action; name an action, or write"),
        (
            "@action(fair='hand')\ndef idles(s):\n    s.count = 0\n\n",
            "idles: fair= names hand, which is no parameter of idles; it has no parameters",
        ),
        (
            "@action(fair=strong_fairness('blinks'))\ndef idles(s):\n    s.count = 0\n\n",
            "light.py:16: idles: fair= of an action names actions, but is about this action; write"
            " fair=strong_fairness(), and name parameters with each=",
        ),
        (
            "class Strength(Domain, size=2):\n    pass\n\n"
            "@action(fair='strong')\ndef idles(s, strong: Strength):\n    s.count = 0\n\n",
            "idles: fair='strong' means strong fairness, but idles has a parameter of this name; write"
            " fair=strong_fairness() or fair=weak_fairness(each='strong')",
        ),
        (
            live("eventually", "fair=strong_fairness(blinks, when=5)"),
            "p: when= of strong_fairness() is not a function of a state; give it a function of `s`, and of parameters",
        ),
        (
            "def c(s, hand: Hand):\n    return s.is_on\n\n" + live("eventually", "fair=weak_fairness(blinks, when=c)"),
            "light.py:15: c, when= of weak_fairness(), names hand, which is no parameter of blinks; it has no",
        ),
        (
            HANDS + "def c(s, hand):\n    return s.is_on\n\n" + live("eventually", "fair=weak_fairness(turns, when=c)"),
            "names the parameter hand, whose domains in turns and c differ; give the parameter the same domain in both",
        ),
        (
            "def c(s):\n    s.is_on = False\n\n" + live("eventually", "fair=weak_fairness(blinks, when=c)"),
            "light.py:15: c: when= of weak_fairness() is not a function of a state; give it a function of `s`",
        ),
    ],
)
def test_what_is_refused(searched, text, says):
    with pytest.raises(UsageError, match=re.escape(says)):
        searched(BLINKS + text)


MODEL = model(
    entries('broken = setting(False, "what was switched is taken back at any time", values=bool)'),
    state("count: between(0, 2)", "is_done: Flag"),
    define("action(fair=True)", "switches(s)", "require(s.count < 2)", "s.count += 1"),
    action("takes_back(s)", "require(s.is_done or s.broken)", "require(s.count == 1)", "s.count = 0"),
    define("action(fair=True)", "ends(s)", "require(s.count == 2)", "s.is_done = True"),
    claim("eventually", "is_switched_twice(s)", "s.count == 2"),
    claim("eventually_always", "stops_early(s)", "s.count < 2"),
    ENDS,
)
"""A lamp that is switched three times, and somebody who takes it back."""


@pytest.fixture(autouse=True)
def lamp(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_model(Path("lamp.py"), MODEL)


def test_a_list_says_where_a_lasso_goes_on(capsys):
    for switch, property_name, steps in (
        ("on", "is_switched_twice", "2, back to 0"),
        ("off", "stops_early", "3, stays"),
    ):
        assert cli.main(["lamp.py", "--set", f"broken={switch}", "--out", switch]) == STUCK
        capsys.readouterr()
        assert trace(["list", switch]) in (0, None)
        (row,) = [line for line in capsys.readouterr().out.splitlines() if f"  {property_name}  " in line]
        assert f"  VIOLATED  {steps}  " in row


def test_python_sees_the_loop():
    lasso = isrcheck.check("lamp.py", broken=True).traces["is_switched_twice"]
    stays = isrcheck.check("lamp.py").traces["stops_early"]
    assert (lasso.loop, len(lasso), lasso.states[0]) == (0, 2, lasso.states[-1])
    assert repr(lasso) == "<Trace of lamp: is_switched_twice, 2 steps, back to step 0>"
    assert (stays.loop, len(stays)) == (3, 3)
    assert repr(stays) == "<Trace of lamp: stops_early, 3 steps, stays here for ever>"
    again = isrcheck.trace(lasso.save("found"), "lamp.py")
    assert (again.loop, str(again)) == (0, str(lasso))


def test_a_test_report_shows_the_lasso(capsys):
    assert cli.main(["lamp.py", "--set", "broken=on", "--report", "report"]) == STUCK
    (suite,) = ET.parse("report/junit.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("2", "0")
    failures = {case.get("name"): case.find("failure") for case in suite.iter("testcase")}
    told = failures["is_switched_twice"]
    assert told is not None
    assert told.get("message") == "VIOLATED at step 2 (back to step 0)"
    assert "Steps 1 to 2 are repeated for ever, and is_switched_twice never becomes true." in (told.text or "")


@pytest.mark.exhaustive
def test_pytest_shows_the_lasso():
    command = [sys.executable, "-m", "pytest", "-p", "isrcheck.pytest_plugin", "-p", "no:cacheprovider", "--isrcheck"]
    done = subprocess.run([*command, "lamp.py broken=on"], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert "is_switched_twice: VIOLATED at step 2 (back to step 0)" in lines
    assert "  Steps 1 to 2 are repeated for ever, and is_switched_twice never becomes true." in lines


def test_a_mutant_that_goes_on_for_ever_is_killed(capsys):
    assert cli.main(["mutate", "lamp.py", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    killed = {one["dropped"]: one for one in found["mutants"] if one["action"] == "takes_back"}
    one = killed["s.is_done or s.broken"]
    assert (one["fate"], one["property"], one["verdict"]) == ("killed", "is_switched_twice", "VIOLATED")
    assert (one["depth"], one["steps"]) == (2, ["switches", "takes_back"])
