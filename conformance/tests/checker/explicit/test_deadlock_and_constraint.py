"""`@constraint`: every engine prunes as TLC does, and judges the successors outside. `deadlock`: every engine finds the
states without a step, unless `@terminal` says that the model may end there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.tests.support.engine import HOLDS, none_to, verdict_of
from conformance.tests.support.small_models import action, claim, define, domain, model, state, write_model
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Finding, StepPath
from isrcheck.checker.symbolic.bounded_model_checking import ask_to_depth
from isrcheck.commands.exit_codes import DEADLOCKED, SAFE, VIOLATED
from isrcheck.models import registry, run
from isrcheck.models.language.model import DEADLOCK, Instance
from isrcheck.models.messages import LanguageError, ModelError, UsageError
from isrcheck.traces.cli import main as trace
from isrcheck.traces.format import files
from isrcheck.traces.format.certify import behaviour, from_steps

COUNTERS = model(
    '"""Two counters, searched while both are at most {small}."""\n',
    domain("Counter", 2),
    state("count[Counter]: between(0, 5)"),
    define("initial", "starts(configuration)", 'yield {{"count": [4, 0]}}', "yield {{}}", 'yield {{"count": [1, 0]}}'),
    action("counts(s, counter: Counter)", "require(s.count[counter] < 5)", "s.count[counter] += 1"),
    action("rests(s)", "require(s.count[0] == s.count[1])"),
    claim("always", "stays_low(s)", "s.count[0] + s.count[1] <= {most}"),
    claim("always_step", "goes_slowly(before, after)", "after.count[1] - before.count[1] < {step}"),
    claim("constraint", "first_is_small(s)", "s.count[0] <= {small}"),
    claim("constraint", "second_is_small(s)", "s.count[1] <= {small}"),
)


Written = Callable[..., Instance]


def writer(name: str, usual: str, **defaults: object) -> Callable[..., Written]:
    """A fixture that writes a model to a new working folder."""

    @pytest.fixture
    def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
        monkeypatch.chdir(tmp_path)

        def write(text: str = usual, **values: object) -> Instance:
            return registry.load_file(write_model(tmp_path / name, text.format(**(defaults | values)))).instance()

        return write

    return model


counters = writer("counters.py", COUNTERS, most=4, small=2, step=2)


@pytest.mark.parametrize("threads", [1, 2])
def test_successors_outside_are_generated_and_judged_but_not_kept(counters, threads: int) -> None:
    """Nine states are within. (2, 0), (2, 1), (0, 2) and (1, 2) have one successor outside, and (2, 2) has two."""
    instance = counters()
    assert tuple(instance.initial_states) == ((0, 0), (1, 0))
    found = explore(instance, Limits(threads=threads), count_all=True)
    assert (found.distinct, found.generated, found.outside, found.exhausted) == (9, 21, 6, True)
    assert found.levels == [2, 3, 3, 1]
    # Both steps from (2, 2) lead to a sum of 5, on the path of the second initial state.
    assert found.findings["stays_low"].found == Finding(2, StepPath(1, (0, 1, 1, 0)))


@pytest.mark.parametrize(("most", "path"), [(2, (1, (0, 0))), (3, (1, (0, 1, 0))), (4, (1, (0, 1, 1, 0)))])
def test_the_counterexample_is_the_least_of_those_within_and_outside(counters, most: int, path) -> None:
    """With a sum of 2, the step to (3, 0), which is outside, comes before the one to (2, 1), which is within."""
    expected = StepPath(*path)
    instance = counters(most=most)
    for found in (explore(instance, Limits()), explore(instance, Limits(threads=2)), ask_to_depth(instance, Limits(6))):
        assert found.findings["stays_low"].found.path == expected
    trace = from_steps(instance, expected.initial, expected.steps, "stays_low", "check", "VIOLATED")
    assert all(run.is_within(instance, cells) for cells in trace.states[:-1])


def test_a_step_to_a_state_outside_is_judged(counters) -> None:
    instance = counters(most=9, step=1)
    for found in (explore(instance, Limits(), count_all=True), ask_to_depth(instance, Limits(6))):
        assert found.findings["goes_slowly"].found.path == StepPath(0, (1,))
    # It can be raised in each of the nine states within, in three of them to a state outside.
    assert explore(instance, Limits(), count_all=True).findings["goes_slowly"].found.count == 9


def test_no_step_is_taken_from_a_state_outside(counters) -> None:
    instance = counters()
    assert list(run.successors(instance, (3, 0))) == []
    with pytest.raises(
        UsageError, match=r"step 3 \(counts 1\) is not enabled: the state before it is outside the constr"
    ):
        behaviour(instance, 1, [instance.step(0), instance.step(0), instance.step(1)], None, "")


def test_a_state_with_successors_outside_only_is_no_deadlock(counters) -> None:
    instance = counters(COUNTERS.replace("return s.count[0] <= {small}", "return s.count[0] + s.count[1] <= 1"))
    found = explore(instance, Limits(), count_all=True)
    assert (found.distinct, found.outside, "deadlock" in found.findings) == (3, 4, False)
    assert "deadlock" not in ask_to_depth(instance, Limits(5)).findings


def test_a_constraint_that_leaves_a_declared_range_is_an_error_of_the_step(counters) -> None:
    instance = counters(COUNTERS.replace("return s.count[1] <= {small}", "return s.count[s.count[1]] <= {small}"))
    found = explore(instance, Limits(), count_all=True)
    assert found.findings["in_range"].found.path == StepPath(0, (1, 1))
    assert found.findings["in_range"].erred == found.findings["in_range"].found
    assert ask_to_depth(instance, Limits(5)).findings["in_range"].found.path == StepPath(0, (1, 1))
    assert explore(instance, Limits(threads=2), count_all=True).findings == found.findings


def test_engines_agree_and_reports_say_what_was_left_out(counters, check) -> None:
    counters()
    code, out, _ = check("counters.py", "--engine", "all", "--bound", "6", "--details")
    assert (code, verdict_of(out)) == (VIOLATED, "VIOLATED: stays_low at step 4")
    assert "no state is left to expand; 6 steps to states outside the constraint)" in out
    assert "; 23 generated with the initial states\n" in out
    code, out, _ = check("counters.py", "--json")
    (found,) = json.loads(out)["runs"]
    assert [found[key] for key in ("distinct", "generated", "generated_with_initial", "outside")] == [9, 21, 23, 6]


def test_proofs_assume_the_constraint_before_a_step(counters, check) -> None:
    """A sum of 5 is exceeded only from states outside, so that induction needs the constraint."""
    counters(most=5)
    code, out, _ = check("counters.py", "--prove", "--details")
    assert code == SAFE
    assert "stays_low    PROVED" in out
    counters(COUNTERS.partition("@constraint")[0], most=5)
    code, out, _ = check("counters.py", "--prove", "--no-deadlock")
    assert code == VIOLATED


def test_a_constraint_that_excludes_every_initial_state_is_refused(counters, check) -> None:
    instance = counters(small=-1)
    with pytest.raises(ModelError):
        len(instance.initial_states)
    code, out, err = check("counters.py")
    says = (
        "counters.py:35: @constraint first_is_small, second_is_small excludes every initial state;"
        " weaken the constraint, or let @initial make a state that satisfies it\n"
    )
    assert (code, out, err.endswith(says), err.count("\n")) == (2, "", True, 1)


def test_several_counterexamples_are_refused(counters, check) -> None:
    counters()
    code, _, err = check("counters.py", "--counterexamples", "3")
    assert (code, err) == (
        2,
        "check: --counterexamples does not go with a @constraint, which counters has: causes outside the constraint are"
        " not compared; leave --counterexamples out\n",
    )


# ---------------------------------------------------------------------------------------------- TLC's ACTION_CONSTRAINT

GUARDED = model(
    '"""Two counters of which none may run ahead: TLC\'s ACTION_CONSTRAINT x\' <= y + 1 and y\' <= x, as guards."""\n',
    state("x: between(0, 4)", "y: between(0, 4)"),
    action("x_grows(s)", "require(s.x < 4)", "require(s.x + 1 <= min(s.y, 2))", "s.x += 1"),
    action("y_grows(s)", "require(s.y < 4)", "require(s.y + 1 <= min(s.x + 1, 2))", "s.y += 1"),
)
STOPPED = "\n" + claim("terminal", "only_the_constraint_stops(s)", "s.x < 4 or s.y < 4")


NO_STEP = "no step is enabled there, and no @terminal is true"
NO_PROPERTY = "n/a: the model has no property; every state that can be reached within these bounds was searched"


@pytest.mark.parametrize(
    ("text", "code", "last"),
    [(GUARDED, DEADLOCKED, f"VIOLATED: deadlock at step 4: {NO_STEP}"), (GUARDED + STOPPED, SAFE, NO_PROPERTY)],
)
def test_a_guard_in_place_of_an_action_constraint_needs_a_terminal(tmp_path, check, text, code, last) -> None:
    write_model(tmp_path / "guarded.py", text)
    assert (check("guarded.py")[0], verdict_of(check("guarded.py")[1])) == (code, last)


TANKS = model(
    '"""Somebody fills two tanks, and may fill the second one only while the first one is low."""\n',
    domain("Tank", 2),
    state("level[Tank]: between(0, 3)"),
    action(
        "fills(s, tank: Tank)",
        "require(s.level[tank] < 3)",
        "require(tank == 0 or s.level[0] < 2)",
        "s.level[tank] += 1",
    ),
    claim("always", "stays_low(s)", "s.level[0] <= {most}"),
    claim("terminal", "second_is_full(s)", "s.level[1] == {full}"),
)
"""The second tank can no longer be filled once the first one is full: deadlocks are (3, 0), (3, 1) and (3, 2)."""


tanks = writer("tanks.py", TANKS, most=3, full="3")

FIRST = StepPath(0, (0, 0, 0))


@pytest.mark.parametrize("threads", [1, 2])
def test_states_without_a_step_are_counted_and_the_least_path_is_found(tanks, threads: int) -> None:
    instance = tanks()
    found = explore(instance, Limits(threads=threads), count_all=True)
    assert (found.distinct, found.generated, found.exhausted) == (16, 18, True)
    assert found.findings["deadlock"].found == Finding(3, FIRST)
    first = explore(instance, Limits(threads=threads))
    assert first.findings["deadlock"].found == Finding(1, FIRST)


def test_the_reference_agrees_in_every_state(tanks) -> None:
    instance = tanks()
    levels = [(a, b) for a in range(4) for b in range(4)]
    assert [one for one in levels if not run.holds(instance, DEADLOCK, one)] == [(3, 0), (3, 1), (3, 2)]


def test_a_state_at_the_bound_is_not_judged(tanks, check) -> None:
    instance = tanks()
    assert "deadlock" not in explore(instance, Limits(3)).findings
    assert "deadlock" in explore(instance, Limits(4)).findings
    assert "deadlock" not in ask_to_depth(instance, Limits(3)).findings
    code, out, _ = check("tanks.py", "--bound", "3")
    assert (code, verdict_of(out)) == (0, none_to(3))


@pytest.mark.parametrize("words", ["", "--threads 2", "--continue", "--engine z3 --bound 4", "--engine all --bound 9"])
def test_check_reports_a_certified_trace(tanks, check, capsys, words: str) -> None:
    tanks()
    code, out, _ = check("tanks.py", *words.split())
    assert code == DEADLOCKED
    assert re.search(r"^VIOLATED at step 3 +deadlock$", out, re.MULTILINE)
    assert verdict_of(out) == f"VIOLATED: deadlock at step 3: {NO_STEP}"
    assert files.recheck(Path("counterexamples/latest"), Path("tanks.py")).is_possible
    assert trace(["show", "counterexamples/latest", "--model", "tanks.py"]) == 0
    shown = capsys.readouterr().out
    assert shown.endswith(
        """\
VIOLATED at step 3: deadlock: A state has a step, or the model declares that it may end there (`@terminal`).
some step is enabled is false
  second_is_full is false
    s.level[1] == 3 is false
      s.level[1] = 0
reproduce: check tanks.py --bound 4
"""
    )


@pytest.mark.parametrize(("words", "more"), [((), ""), (("--continue",), ", deadlock at step 3")])
def test_a_search_that_is_decided_does_not_go_on_for_deadlocks(tanks, check, words, more) -> None:
    """With --continue, the deadlock comes after the other violation."""
    tanks(most=1)
    code, out, _ = check("tanks.py", *words)
    assert (code, verdict_of(out)) == (VIOLATED, f"VIOLATED: stays_low at step 2{more}")


def test_deadlocks_can_be_left_out(tanks, check) -> None:
    tanks()
    code, out, _ = check("tanks.py", "--no-deadlock")
    assert (code, verdict_of(out)) == (0, HOLDS)
    assert "from 1 initial state; deadlocks are not reported\n" in out
    code, out, _ = check("tanks.py", "--no-deadlock", "--json")
    (found,) = json.loads(out)["runs"]
    assert (code, [one["name"] for one in found["properties"]]) == (0, ["stays_low"])
    assert found["command"] == "check tanks.py --no-deadlock"


def test_where_the_model_may_end_there_is_no_deadlock(tanks) -> None:
    instance = tanks(TANKS.replace("return s.level[1] == {full}", "return True"))
    assert "deadlock" not in explore(instance, Limits()).findings
    assert "deadlock" not in ask_to_depth(instance, Limits(9)).findings


def test_one_of_several_terminals_is_enough(tanks) -> None:
    more = "\n\n@terminal\ndef first_is_full(s):\n    return s.level[0] == 3 and s.level[1] < 2\n"
    found = explore(tanks(TANKS + more), Limits(), count_all=True).findings["deadlock"].found
    assert found == Finding(1, StepPath(0, (0, 1, 1, 0, 0)))


def test_a_step_to_the_same_state_is_a_step(tanks) -> None:
    rests = "\n\n@action\ndef rests(s):\n    require(s.level[0] == 3)\n    s.level[0] = 3\n"
    assert "deadlock" not in explore(tanks(TANKS + rests), Limits(), count_all=True).findings


def test_a_step_that_leaves_a_declared_range_is_a_step(tanks) -> None:
    bursts = "\n\n@action\ndef bursts(s):\n    require(s.level[0] == 3)\n    s.level[0] += 1\n"
    instance = tanks(TANKS + bursts)
    assert set(explore(instance, Limits(), count_all=True).findings) == {"stays_low", "in_range"}
    assert set(ask_to_depth(instance, Limits(9)).findings) == {"stays_low", "in_range"}


def test_a_terminal_that_leaves_a_declared_range_violates_in_range(tanks, check) -> None:
    """In (3, 0), (3, 1) and (3, 2) it uses the index 3; it is evaluated in no state that has a step."""
    instance = tanks(full="3 or s.level[s.level[0]] == 0")
    for found in (explore(instance, Limits()), explore(instance, Limits(threads=2)), ask_to_depth(instance, Limits(9))):
        assert found.findings["in_range"].found == Finding(1, FIRST)
        assert "deadlock" not in found.findings or found.findings["deadlock"].found.path is None
    assert explore(instance, Limits(), count_all=True).findings["in_range"].found == Finding(3, FIRST)
    code, out, _ = check("tanks.py", "--engine", "all", "--bound", "9")
    assert (code, verdict_of(out)) == (VIOLATED, "VIOLATED: in_range at step 3")
    assert "tanks.py:22: second_is_full: index 3 of level is outside 0..1" in " ".join(out.split())


@pytest.mark.parametrize("damage", [("== {full}", "<= {full}"), ("s.level[0] < 2", "s.level[0] < 4")])
def test_a_trace_is_rechecked_against_a_changed_model(tanks, check, damage: tuple[str, str]) -> None:
    tanks()
    check("tanks.py")
    tanks(TANKS.replace(*damage))
    rechecked = files.recheck(Path("counterexamples/latest"), Path("tanks.py"))
    assert not rechecked.is_possible and "deadlock is no longer VIOLATED after them" in rechecked.says


def test_a_predicate_of_the_language_returns_a_truth_value(tanks) -> None:
    with pytest.raises(LanguageError, match=r"in second_is_full: the property returns nothing; return a truth value"):
        tanks(TANKS.replace("    return s.level[1] == {full}", "    pass"))
    says = r"in second_is_full: the parameters are \(s, tank\); write them as \(s\)"
    with pytest.raises(LanguageError, match=says):
        tanks(TANKS.replace("def second_is_full(s)", "def second_is_full(s, tank)"))
