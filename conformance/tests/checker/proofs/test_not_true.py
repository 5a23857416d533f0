"""Regressions of wrong proofs and wrong claims of exhaustive search: each model once exposed a mistake in an engine."""

from __future__ import annotations

import re
import sys

import pytest

from conformance.tests.support.engine import checking, instance_of, joined, proofs_of, proving, verdict_of
from isrcheck.checker import cli
from isrcheck.checker.proofs import proof_cache, prove
from isrcheck.checker.proofs.budget_independence import independent_budgets
from isrcheck.checker.resources.limits import Answer, Limits, UndecidedError
from isrcheck.checker.results.exploration import Exploration, Finding, Findings
from isrcheck.checker.results.proofs import Phase
from isrcheck.checker.results.verdict import differences, verdicts
from isrcheck.checker.symbolic import bounded_model_checking
from isrcheck.checker.symbolic.bounded_model_checking import ask_to_depth


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    return proving(cli.main, tmp_path, monkeypatch, capsys)


START = """\
from isrcheck.language import Domain, Flag, action, always, always_step, between, bound, budget, field, initial, lemma
from isrcheck.language import require, setting, sometimes


"""

# ---------------------------------------------------------------------------------------------------- for every length

OPEN_ARRAY = (
    START
    + """\
class Configuration:
    log_size = bound(2, "size", least=1, is_open=True)


class Offset(Domain, size="log_size"):
    pass


class State:
    a = field(Offset, values=between(0, 10))


@action
def up(s, o: Offset):
    require(s.a[o] < 10)
    s.a[o] += 1


@always(every_length=True)
def small(s):
    return all(s.a[o] <= 5 for o in range(s.log_size))
"""
)


def test_a_step_that_writes_only_to_an_open_array_is_checked(check):
    code, found, proofs = proofs_of(check, OPEN_ARRAY, "--bound", "3")
    assert (code, found, proofs["proved"]) == (3, {"small": "NO VIOLATION TO DEPTH"}, [])


BEHIND_AN_ERROR = (
    START
    + """\
class Place(Domain, size=5):
    pass


class State:
    x = field(values=between(0, 10))
    a = field(Place, values=Flag)


@action
def up(s):
    require(s.x < 10)
    s.x += 1


@always(every_length=True)
def all_off(s):
    return all(not s.a[p] for p in range(5))


@always(every_length=True)
def off(s):
    return not s.a[s.x]


@always(every_length=True)
def not_seven(s):
    return s.x != 7
"""
)


def test_nothing_is_proved_beyond_a_state_in_which_a_claim_errs(check):
    """`off` errs at x=5: assuming its truth there would exclude all later states."""
    code, found, proofs = proofs_of(check, BEHIND_AN_ERROR, "--bound", "3")
    assert (code, found["off"], found["not_seven"]) == (3, "NO VIOLATION TO DEPTH", "NO VIOLATION TO DEPTH")
    assert found["in_range"] == "NO VIOLATION TO DEPTH"
    assert [one["property"] for one in proofs["proved"]] == ["all_off"]  # for every length
    assert {one["property"]: one["why"] for one in proofs["not_proved"]} == {
        "off": "a step violates it",
        "not_seven": "a step violates it",
        "in_range": "a step violates it",
    }


def test_an_erring_property_is_not_proved_by_k_induction(check):
    text = BEHIND_AN_ERROR.replace("(every_length=True)", "").replace("s.x != 7", "s.x <= 10")
    code, found, proofs = proofs_of(check, text, "--bound", "3")
    assert (code, found["off"]) == (3, "NO VIOLATION TO DEPTH")
    assert proofs["proved"] == []


NO_SMALL_NUMBERS = (
    START
    + """\
class Configuration:
    k = setting(3, "k", most=3)
    faults = budget(0, "faults")


class State:
    f = field(values=Flag)
    left = field(values=between(0, "faults"))


@action
def count_down(s):
    require(s.k == s.left)
    s.left -= 1


@always(every_length=True)
def not_two(s):
    return s.left != 2 or s.f
"""
)


def test_a_counterexample_with_numbers_outside_the_bounds(check):
    """Small numbers are tried first; if there are none, the earlier answer is shown."""
    code, found, proofs = proofs_of(check, NO_SMALL_NUMBERS)
    assert (code, found) == (0, {"not_two": "PROVED"})
    (lost,) = (one for one in proofs["not_proved"] if one["property"] == "not_two")
    assert (lost["every_length"], lost["step"]) == (True, "count_down")
    assert "left 3 -> 2" in joined(check(NO_SMALL_NUMBERS)[1])


NO_SLICE = (
    START
    + """\
class Configuration:
    n = bound(2, "size", least=1, is_open=True)


class N(Domain, size="n"):
    pass


class State:
    x = field(values=between(0, 3))
    a = field(N, values=between(0, 1))


@action
def up(s, i: N):
    require(s.x < 3 and sum(s.a[j] for j in range(s.n)) < 5)
    s.x += 1


@always(every_length=True)
def low(s):
    return s.x <= 3
"""
)


def test_a_model_without_an_abstraction_is_proved_within_its_bounds(check):
    code, found, proofs = proofs_of(check, NO_SLICE)
    assert (code, found) == (0, {"low": "PROVED"})
    (lost,) = proofs["not_proved"]
    assert lost["why"].startswith("the unbounded abstraction cannot be built: ")
    assert lost["why"].endswith("model.py:20: in up: a sum over an open (unbounded) domain")


# ------------------------------------------------------------------------------------------------------- within bounds

ORDER = (
    START
    + """\
class Place(Domain, size=2):
    pass


class State:
    x = field(values=between(0, 2))
    y = field(values=between(0, 2))
    a = field(Place, values=Flag)


@action
def first(s):
    require(s.x == 0)
    s.x = 1


@action
def second(s):
    require(s.y == 0)
    s.y = 2


@always_step
def fine(before, after, taken):
    return taken != first or not before.a[before.y]
"""
)


@pytest.mark.parametrize("engine", ["local", "z3", "all"])
def test_an_error_of_a_step_property_is_found_in_any_order_of_the_last_two_steps(tmp_path, monkeypatch, capsys, engine):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(ORDER)
    code, out, err = checking(cli.main, capsys)("model.py", "--bound", "3", "--engine", engine)
    assert code == 12, err
    assert "fine: index 2 of a is outside 0..1; test the index before it is used (step 2)\n" in out


LEMMA_LEAVES = (
    START
    + """\
class Place(Domain, size=3):
    pass


class State:
    x = field(values=between(0, 5))
    a = field(Place, values=Flag)


@action
def up(s):
    require(s.x < 2 or s.x == 3)
    s.x += 1


@lemma
def off(s):
    return s.x == 3 or not s.a[s.x]


@always
def low(s):
    return s.x < 5
"""
)


def test_a_lemma_that_errs_after_a_step_is_reported_as_erring(check):
    code, out, err = check(LEMMA_LEAVES)
    assert (code, err) == (0, "")
    assert "lemma off is not inductive: a step violates it: up, after which" in joined(out)
    assert "index 4 of a is outside 0..2" in joined(out)


def test_a_false_lemma_is_reported_as_false(check):
    text = LEMMA_LEAVES.replace("s.x == 3 or not s.a[s.x]", "s.x < 2")
    assert "lemma off is false: in a state that the explorer reaches at depth 2" in joined(check(text)[1])


MANY_STARTS = (
    START
    + """\
class Number(Domain, size=64):
    pass


class State:
    x = field(values=Number)
    y = field(values=between(0, 127))


@initial
def anywhere(s, x: Number):
    s.x = x


@action
def rises(s):
    require(s.y < 127)
    s.y += 1


@lemma
def early(s):
    return s.y < 100 and (s.x != 1 or s.y > 0)


@always
def low(s):
    return s.y < 128
"""
)


def test_a_lemma_that_is_false_in_one_of_many_initial_states_is_false_there(check):
    """Of the visited states, only a sample is asked for one in which the lemma is false."""
    code, out, _ = check(MANY_STARTS, "--no-deadlock")
    assert code == 0
    assert "lemma early is false: in an initial state" in joined(out)


def test_a_failure_one_step_beyond_the_bound_is_reported_with_its_depth(check):
    text = LEMMA_LEAVES.replace("s.x < 5", "s.x < 2").replace("s.x == 3 or not s.a[s.x]", "s.x <= 5")
    code, out, _ = check(text, "--bound", "1")
    assert code == 3
    told = "low: not proved: a step violates it: up, from a state that the explorer reaches at depth 1"
    assert f"{told}: a real failure at step 2;" in joined(out)


# ----------------------------------------------------------------------------------------------- budgets without limit

CRASHES = (
    START
    + """\
class Configuration:
    crashes = budget(1, "crashes", option="--crashes")


class State:
    crashes_left = field(values=between(0, "crashes"))
    x = field(values=between(0, 9))


@initial
def start(configuration):
    yield {"crashes_left": configuration.crashes}


@action
def crash(s):
    require(s.crashes_left > 0)
    require(s.x < 9)
    s.crashes_left -= 1
    s.x = s.x


@always
def few(s):
    return s.x <= 5
"""
)


@pytest.mark.parametrize(
    ("old", "new", "is_free"),
    [
        ("s.x = s.x", "s.x = s.x", True),
        ("s.x = s.x", "s.x = 9 if s.crashes_left > 0 else 0", False),  # asked again after it was taken away
        ("s.x = s.x", "for t in range(2):\n        s.x = 0\n        s.crashes_left -= 1", False),
        ("s.x = s.x", "s.crashes_left -= 1", False),
        ("between(0, 9))\n\n\n@initial", 'between(0, "crashes"))\n\n\n@initial', False),  # a range that grows with it
        ("def crash(s):", "def crash(s, t: Time):", False),  # a domain that does
    ],
)
def test_a_budget_is_unlimited_only_if_nothing_else_depends_on_it(tmp_path, old, new, is_free):
    assert old in CRASHES
    text = CRASHES.replace(old, new).replace(
        "class State", 'class Time(Domain, size="crashes"):\n    pass\n\n\nclass State'
    )
    instance = instance_of(tmp_path, text)
    assert (independent_budgets(instance, instance.properties) == ["crashes"]) == is_free


def test_a_k_induction_proof_holds_for_the_given_budget(check):
    """With one crash, no path shows the effects of two crashes."""
    text = CRASHES.replace("s.x = s.x", "s.x += 1").replace("s.x <= 5", "s.x != 2")
    code, found, proofs = proofs_of(check, text)
    assert (code, found) == (0, {"few": "PROVED"})
    (proof,) = proofs["proved"]
    assert (proof["k"], proof["scope"]) == (2, "at any depth, with crashes=1")


# ------------------------------------------------------------------------------------------------------ what was kept

CONSTANT = (
    START.replace("\n\n\n", "\nfrom elsewhere.constants import LIMIT\n\n\n", 1)
    + """\
class State:
    x = field(values=between(0, 9))


@action
def up(s):
    require(s.x < LIMIT)
    s.x += 1


@always
def low(s):
    return s.x <= 3


@always_step
def grows(before, after):
    return before.x < after.x
"""
)


def test_an_imported_constant_is_part_of_the_proof_key(check, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    for limit, code, word in (("3", 0, "PROVED"), ("6", 3, "NO VIOLATION TO DEPTH")):
        for name in [name for name in sys.modules if name.startswith("elsewhere")]:
            monkeypatch.delitem(sys.modules, name)
        (tmp_path / "elsewhere" / "constants.py").write_text(f"LIMIT = {limit}\n")
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        got, found, _ = proofs_of(check, CONSTANT, "--bound", "2")
        assert (got, found["low"]) == (code, word)


def test_a_goal_that_timed_out_is_tried_again(check, tmp_path, monkeypatch):
    instance = instance_of(tmp_path, CONSTANT.replace("from elsewhere.constants import LIMIT\n", "\nLIMIT = 3\n"))
    kept = prove._kept
    with monkeypatch.context() as patched:
        patched.setattr(
            prove,
            "_kept",
            lambda system, claim, *rest: Answer.SECONDS if claim == "grows" else kept(system, claim, *rest),
        )
        found = proof_cache.proved(instance, instance.properties, Phase.WITHIN_BOUNDS)
    assert (found.stopped, list(found.proofs)) == ("seconds", ["low", "in_range"])
    found = proof_cache.proved(instance, instance.properties, Phase.WITHIN_BOUNDS)
    assert (found.is_kept, found.stopped, sorted(found.proofs)) == (False, None, ["grows", "in_range", "low"])


# ------------------------------------------------------------------------------------------------------------ agreement


def five(tmp_path):
    return instance_of(tmp_path, CONSTANT.replace("from elsewhere.constants import LIMIT\n", "\nLIMIT = 5\n"))


def test_an_exhaustive_search_covers_every_depth(tmp_path):
    """A faulty explorer that loses a state claims exhaustion after three levels; Z3 finds a deeper violation."""
    instance = five(tmp_path)
    unrolled = ask_to_depth(instance, Limits(depth=4), only=["low"])
    lost = Exploration(
        instance, Limits(), levels=[1, 1, 1], depth=2, judged=2, findings={"low": Findings(Finding(), Finding())}
    )
    assert lost.exhausted
    assert differences(lost, unrolled) == ["low: found by the explorer never; by Z3 at step 4, steps 0 0 0 0"]


def test_a_violation_is_kept_if_time_runs_out_before_the_least_path(tmp_path, monkeypatch):
    def late(*given):
        raise UndecidedError(Answer.SECONDS)

    monkeypatch.setattr(bounded_model_checking._BoundedModelChecker, "_least", late)
    unrolled = ask_to_depth(five(tmp_path), Limits(depth=6), only=["low"])
    assert [verdict.text for verdict in verdicts(unrolled)] == ["VIOLATED at step 4", "n/a"]
    assert unrolled.stopped == "seconds"


# ----------------------------------------------------------------------------------------------------- the last line


NOT_REACHED = "NOT REACHED TO DEPTH 2: high: no behaviour of at most 2 steps reaches it; longer ones were not searched"


@pytest.mark.parametrize(
    ("words", "last"),
    [
        (("--bound", "2"), NOT_REACHED),
        (("--bound", "3"), "REACHED: every `sometimes` property was reached; not every state was searched"),
        (("--bound", "2", "--engine", "z3"), NOT_REACHED),
    ],
)
def test_unsearched_depths_are_not_reported_as_searched(tmp_path, monkeypatch, capsys, words, last):
    monkeypatch.chdir(tmp_path)
    text = CONSTANT.replace("from elsewhere.constants import LIMIT\n", "\nLIMIT = 5\n")
    (tmp_path / "model.py").write_text(
        text[: text.index("@always")] + "@sometimes\ndef high(s):\n    return s.x == 3\n"
    )
    code, out, _ = checking(cli.main, capsys)("model.py", *words)
    assert (code, verdict_of(out)) == (0, last)


def test_two_properties_of_one_name_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = CONSTANT.replace("from elsewhere.constants import LIMIT\n", "\nLIMIT = 5\n")
    (tmp_path / "model.py").write_text(text + "\n\n@always\ndef low(s):\n    return s.x <= 9\n")
    code, out, err = checking(cli.main, capsys)("model.py")
    assert (code, out) == (2, "")
    assert err.endswith("low is defined twice; rename one\n")


LOST = "model.py:{}: low is declared but not in the module; declare it once, outside any block, class or function"


@pytest.mark.parametrize(
    ("around", "said"),
    [
        ("if True:\n    {}\nlow_again = 0\nif True:\n    {}\n", LOST),
        ("{}\nlow = 0\n", LOST),
        ("class Promises:\n    {}\n", LOST),
        (
            "@lemma\n{}\n",
            "model.py:{}: low has two of the language's decorators; keep one",
        ),
    ],
)
def test_no_property_is_lost(tmp_path, monkeypatch, capsys, around, said):
    """A property that is overwritten or not found would be dropped silently, and its violation not reported."""
    monkeypatch.chdir(tmp_path)
    text = START + "class State:\n    x = field(values=between(0, 3))\n\n\n"
    text += "@action\ndef rise(s):\n    require(s.x < 3)\n    s.x += 1\n\n\n"
    indent = "    " if "    {}" in around else ""
    promises = [f"@always\n{indent}def low(s):\n{indent}    return s.x <= {limit}" for limit in (1, 9)]
    (tmp_path / "model.py").write_text(text + around.format(*promises))
    code, out, err = checking(cli.main, capsys)("model.py")
    assert (code, out) == (2, "")
    assert said.format("LINE") in re.sub(r":[0-9]+:", ":LINE:", err)


@pytest.mark.parametrize("name", ["Configuration", "State"])
def test_a_declaration_that_is_no_class_is_refused(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    text = CONSTANT.replace("from elsewhere.constants import LIMIT\n", "\nLIMIT = 5\n")
    (tmp_path / "model.py").write_text(f"{text}\n\n{name} = 5\n")
    code, out, err = checking(cli.main, capsys)("model.py")
    assert (code, out) == (2, "")
    assert err.endswith(f"model.py:1: `{name}` is not a class; write it as `class {name}:`\n")
