"""A proof requires that the absence of errors is proved or searched to the end. Regressions of wrong proofs and wrong
claims of exhaustive search: each model once exposed a mistake in an engine."""

from __future__ import annotations

import re
import sys

import pytest

from conformance.tests.support.engine import checking, instance_of, joined, none_to, proofs_of, proving, verdict_of
from conformance.tests.support.small_models import action, claim, define, domain, entries, model, state, write_model
from isrcheck.checker import cli
from isrcheck.checker.proofs import induction, proof_cache, prove
from isrcheck.checker.proofs.budget_independence import independent_budgets
from isrcheck.checker.resources.limits import Answer, Limits
from isrcheck.checker.results.exploration import Exploration, Finding, Findings
from isrcheck.checker.results.proofs import Phase
from isrcheck.checker.results.verdict import differences, verdicts
from isrcheck.checker.symbolic import bounded_model_checking
from isrcheck.checker.symbolic.bounded_model_checking import ask_to_depth
from isrcheck.commands.exit_codes import VIOLATED
from isrcheck.models.messages import UsageError


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    return proving(cli.main, tmp_path, monkeypatch, capsys)


@pytest.fixture
def check_model(tmp_path, monkeypatch, capsys):
    """Run `check model.py` on the text of a model; it looks for no proof."""
    monkeypatch.chdir(tmp_path)
    run = checking(cli.main, capsys)
    return lambda text, *words: run(write_model(tmp_path / "model.py", text).name, *words)


# ---------------------------------------------------------------------------------------------------- for every length

OPEN_ARRAY = model(
    entries('log_size = bound(2, "size", least=1, is_open=True)'),
    domain("Offset", '"log_size"'),
    state("a[Offset]: between(0, 10)"),
    action("up(s, o: Offset)", "require(s.a[o] < 10)", "s.a[o] += 1"),
    claim("always(every_length=True)", "small(s)", "all(s.a[o] <= 5 for o in range(s.log_size))"),
)


def test_a_step_that_writes_only_to_an_open_array_is_checked(check):
    code, found, proofs = proofs_of(check, OPEN_ARRAY, "--bound", "3")
    assert (code, found, proofs["proved"]) == (3, {"small": "NO VIOLATION TO DEPTH"}, [])


BEHIND_AN_ERROR = model(
    domain("Place", 5),
    state("x: between(0, 10)", "a[Place]: Flag"),
    action("up(s)", "require(s.x < 10)", "s.x += 1"),
    claim("always(every_length=True)", "all_off(s)", "all(not s.a[p] for p in range(5))"),
    claim("always(every_length=True)", "off(s)", "not s.a[s.x]"),
    claim("always(every_length=True)", "not_seven(s)", "s.x != 7"),
)


def test_nothing_is_proved_beyond_a_state_in_which_a_claim_errs(check):
    """`off` errs at x=5: assuming its truth there would exclude all later states."""
    code, found, proofs = proofs_of(check, BEHIND_AN_ERROR, "--bound", "3")
    assert (code, found["off"], found["not_seven"]) == (3, "NO VIOLATION TO DEPTH", "NO VIOLATION TO DEPTH")
    assert found["in_range"] == "NO VIOLATION TO DEPTH"
    assert [one["property"] for one in proofs["proved"]] == ["all_off"]  # for every length
    reasons = {one["property"]: one["why"] for one in proofs["not_proved"]}
    assert reasons == dict.fromkeys(("off", "not_seven", "in_range"), "a step violates it")


def test_an_erring_property_is_not_proved_by_k_induction(check):
    text = BEHIND_AN_ERROR.replace("(every_length=True)", "").replace("s.x != 7", "s.x <= 10")
    code, found, proofs = proofs_of(check, text, "--bound", "3")
    assert (code, found["off"]) == (3, "NO VIOLATION TO DEPTH")
    assert proofs["proved"] == []


NO_SMALL_NUMBERS = model(
    entries('k = setting(3, "k", most=3)', 'faults = budget(0, "faults")'),
    state("f: Flag", 'left: between(0, "faults")'),
    action("count_down(s)", "require(s.k == s.left)", "s.left -= 1"),
    claim("always(every_length=True)", "not_two(s)", "s.left != 2 or s.f"),
)


def test_a_counterexample_with_numbers_outside_the_bounds(check):
    """Small numbers are tried first; if no answer has small numbers, the first answer is shown."""
    code, found, proofs = proofs_of(check, NO_SMALL_NUMBERS)
    assert (code, found) == (0, {"not_two": "PROVED"})
    (lost,) = (one for one in proofs["not_proved"] if one["property"] == "not_two")
    assert (lost["every_length"], lost["step"]) == (True, "count_down")
    assert "left 3 -> 2" in joined(check(NO_SMALL_NUMBERS)[1])


NO_SLICE = model(
    entries('n = bound(2, "size", least=1, is_open=True)'),
    domain("N", '"n"'),
    state("x: between(0, 3)", "a[N]: between(0, 1)"),
    action("up(s, i: N)", "require(s.x < 3 and sum(s.a[j] for j in range(s.n)) < 5)", "s.x += 1"),
    claim("always(every_length=True)", "low(s)", "s.x <= 3"),
)


def test_a_model_without_an_abstraction_is_proved_within_its_bounds(check):
    code, found, proofs = proofs_of(check, NO_SLICE)
    assert (code, found) == (0, {"low": "PROVED"})
    (lost,) = proofs["not_proved"]
    assert lost["why"].startswith("the unbounded abstraction cannot be built: ")
    says = "up has a sum over an open (unbounded) domain, which a proof for every length does not support"
    assert lost["why"].endswith(f"model.py:15: {says}")


# ------------------------------------------------------------------------------------------------------- within bounds

ORDER = model(
    domain("Place", 2),
    state("x: between(0, 2)", "y: between(0, 2)", "a[Place]: Flag"),
    action("first(s)", "require(s.x == 0)", "s.x = 1"),
    action("second(s)", "require(s.y == 0)", "s.y = 2"),
    claim("always_step", "fine(before, after, taken)", "taken != first or not before.a[before.y]"),
)


@pytest.mark.parametrize("engine", ["local", "z3", "all"])
def test_an_error_of_a_step_property_is_found_in_any_order_of_the_last_two_steps(check_model, engine):
    code, out, err = check_model(ORDER, "--bound", "3", "--engine", engine)
    assert code == VIOLATED, err
    assert "fine: index 2 of a is outside 0..1; test the index before it is used (step 2)\n" in out


LEMMA_LEAVES = model(
    domain("Place", 3),
    state("x: between(0, 5)", "a[Place]: Flag"),
    action("up(s)", "require(s.x < 2 or s.x == 3)", "s.x += 1"),
    claim("lemma", "off(s)", "s.x == 3 or not s.a[s.x]"),
    claim("always", "low(s)", "s.x < 5"),
)


def test_a_lemma_that_errs_after_a_step_is_reported_as_erring_and_a_false_one_as_false(check):
    code, out, err = check(LEMMA_LEAVES)
    assert (code, err) == (0, "")
    assert "lemma off is not inductive: a step violates it: up, after which" in joined(out)
    assert "index 4 of a is outside 0..2" in joined(out)
    text = LEMMA_LEAVES.replace("s.x == 3 or not s.a[s.x]", "s.x < 2")
    assert "lemma off is false: in a state that the explorer reaches at depth 2" in joined(check(text)[1])


MANY_STARTS = model(
    domain("Number", 64),
    state("x: Number", "y: between(0, 127)"),
    define("initial", "anywhere(s, x: Number)", "s.x = x"),
    action("rises(s)", "require(s.y < 127)", "s.y += 1"),
    claim("lemma", "early(s)", "s.y < 100 and (s.x != 1 or s.y > 0)"),
    claim("always", "low(s)", "s.y < 128"),
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

CRASHES = model(
    entries('crashes = budget(1, "crashes", option="--crashes")'),
    state('crashes_left: between(0, "crashes")', "x: between(0, 9)"),
    define("initial", "start(configuration)", 'yield {"crashes_left": configuration.crashes}'),
    action("crash(s)", "require(s.crashes_left > 0)", "require(s.x < 9)", "s.crashes_left -= 1", "s.x = s.x"),
    claim("always", "few(s)", "s.x <= 5"),
)


@pytest.mark.parametrize(
    ("old", "new", "is_free"),
    [
        ("s.x = s.x", "s.x = s.x", True),
        ("s.x = s.x", "s.x = 9 if s.crashes_left > 0 else 0", False),  # asked again after it was taken away
        ("s.x = s.x", "for t in range(2):\n        s.x = 0\n        s.crashes_left -= 1", False),
        ("s.x = s.x", "s.crashes_left -= 1", False),
        ("between(0, 9))\n\n@initial", 'between(0, "crashes"))\n\n@initial', False),  # a range that grows with it
        ("def crash(s):", "def crash(s, t: Time):", False),  # a domain that does
    ],
)
def test_a_budget_is_unlimited_only_if_nothing_else_depends_on_it(tmp_path, old, new, is_free):
    assert old in CRASHES
    text = CRASHES.replace(old, new).replace(
        "class State", 'class Time(Domain, size="crashes"):\n    pass\n\nclass State'
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

FIVE = model(
    "LIMIT = 5\n",
    state("x: between(0, 9)"),
    action("up(s)", "require(s.x < LIMIT)", "s.x += 1"),
    claim("always", "low(s)", "s.x <= 3"),
    claim("always_step", "grows(before, after)", "before.x < after.x"),
)


def test_an_imported_constant_is_part_of_the_proof_key(check, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    for limit, code, word in (("3", 0, "PROVED"), ("6", 3, "NO VIOLATION TO DEPTH")):
        for name in [name for name in sys.modules if name.startswith("elsewhere")]:
            monkeypatch.delitem(sys.modules, name)
        write_model(tmp_path / "elsewhere" / "constants.py", f"LIMIT = {limit}\n")
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        text = FIVE.replace("LIMIT = 5", "from elsewhere.constants import LIMIT")
        got, found, _ = proofs_of(check, text, "--bound", "2")
        assert (got, found["low"]) == (code, word)


def test_a_goal_that_timed_out_is_tried_again(check, tmp_path, monkeypatch):
    instance = instance_of(tmp_path, FIVE.replace("5", "3"))
    preserved = prove.preserved
    with monkeypatch.context() as patched:
        patched.setattr(
            prove,
            "preserved",
            lambda system, claim, *rest: Answer.SECONDS if claim == "grows" else preserved(system, claim, *rest),
        )
        proofs = proof_cache.proved(instance, instance.properties, Phase.WITHIN_BOUNDS)
    assert (proofs.stopped, list(proofs.proofs)) == ("seconds", ["low", "in_range"])
    proofs = proof_cache.proved(instance, instance.properties, Phase.WITHIN_BOUNDS)
    assert (proofs.is_kept, proofs.stopped, sorted(proofs.proofs)) == (False, None, ["grows", "in_range", "low"])


# ------------------------------------------------------------------------------------------------------------ agreement


def test_an_exhaustive_search_covers_every_depth(tmp_path):
    """A faulty explorer that loses a state claims exhaustion after three levels; Z3 finds a deeper violation."""
    instance = instance_of(tmp_path, FIVE)
    unrolled = ask_to_depth(instance, Limits(depth=4), only=["low"])
    never = {"low": Findings(Finding(), Finding())}
    lost = Exploration(instance, Limits(), levels=[1, 1, 1], depth=2, judged=2, findings=never)
    assert lost.exhausted
    assert differences(lost, unrolled) == ["low: found by the explorer never; by Z3 at step 4, steps 0 0 0 0"]


def test_a_violation_is_kept_if_time_runs_out_before_the_least_path(tmp_path, monkeypatch):
    """One query for each depth finds the violation at depth 4; the next one, for the least path, has no answer."""
    once, depths = bounded_model_checking.once, iter(range(4 + 1))

    def in_time(*given):
        return (Answer.SECONDS, None) if next(depths, None) is None else once(*given)

    monkeypatch.setattr(bounded_model_checking, "once", in_time)
    unrolled = ask_to_depth(instance_of(tmp_path, FIVE), Limits(depth=6), only=["low"])
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
def test_unsearched_depths_are_not_reported_as_searched(check_model, words, last):
    text = FIVE[: FIVE.index("@always")] + "@sometimes\ndef high(s):\n    return s.x == 3\n"
    code, out, _ = check_model(text, *words)
    assert (code, verdict_of(out)) == (0, last)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("@always\ndef low(s):\n    return s.x <= 9\n", "low is defined twice; rename one\n"),
        *(
            (f"{name} = 5\n", f"model.py:1: `{name}` is not a class; write it as `class {name}:`\n")
            for name in ("Configuration", "State")
        ),
    ],
)
def test_what_is_declared_twice_or_as_no_class_is_refused(check_model, more, said):
    code, out, err = check_model(f"{FIVE}\n\n{more}")
    assert (code, out, err.endswith(said)) == (2, "", True), err


LOST = (
    "model.py:{}: low has a decorator of the language, but is no function of the loaded module;"
    " define it once, outside any block, class or function"
)


@pytest.mark.parametrize(
    ("around", "said"),
    [
        ("if True:\n    {}\nlow_again = 0\nif True:\n    {}\n", LOST),
        ("{}\nlow = 0\n", LOST),
        ("class Promises:\n    {}\n", LOST),
        ("@lemma\n{}\n", "model.py:{}: low has two of the language's decorators; keep one"),
    ],
)
def test_no_property_is_lost(check_model, around, said):
    """A property that is overwritten or not found would be dropped silently, and its violation not reported."""
    indent = "    " if "    {}" in around else ""
    promises = [f"@always\n{indent}def low(s):\n{indent}    return s.x <= {limit}" for limit in (1, 9)]
    code, out, err = check_model(FIVE[: FIVE.index("@always")] + around.format(*promises))
    assert (code, out) == (2, "")
    assert said.format("LINE") in re.sub(r":[0-9]+:", ":LINE:", err)


COUNTER = model(
    state("left: between(0, 7), initially=7"),
    action("somebody_takes_one(s)", "s.left -= 1"),
    claim("always", "never_below(s)", "s.left >= 0"),
)


def established(proofs):
    """The way in which each premise was established."""
    return {one["premise"]: one["established"] for one in proofs["premises"]}


def why_not(proofs):
    return {one["property"]: (one["why"], one["step"]) for one in proofs["not_proved"]}


OPEN = {"in_range": "NO VIOLATION TO DEPTH"}
RESTS = ("its proof rests on in_range, which is not proved", None)


def test_a_range_error_beyond_the_bound_leaves_everything_unproved(check):
    """The step writes -1 after 7 steps; in the states without this error, the property holds."""
    code, found, proofs = proofs_of(check, COUNTER, "--bound", "6")
    assert (code, found) == (3, OPEN | {"never_below": "NO VIOLATION TO DEPTH"})
    assert (proofs["proved"], proofs["premises"]) == ([], [])
    assert why_not(proofs) == {"in_range": ("a step violates it", "somebody_takes_one"), "never_below": RESTS}
    code, out, _ = check(COUNTER, "--bound", "6")
    assert (code, verdict_of(out)) == (3, none_to(6) + "; not proved: never_below, in_range")
    assert "-1 is written to left, whose values are 0..7; guard the step, or widen the field's range" in joined(out)
    text = COUNTER.replace("    s.left -= 1", "    require(s.left > 0)\n    s.left -= 1")
    code, found, proofs = proofs_of(check, text, "--bound", "3")
    assert (code, found) == (0, {"never_below": "PROVED"})
    assert established(proofs) == {"in_range": "proved", "initial states": "checked"}


BY_LEMMA = COUNTER.replace("    s.left -= 1", "    require(s.turn == 0)\n    s.left -= 1\n    s.turn = 1").replace(
    "initially=7)", "initially=1)\n    turn = field(values=between(0, 2))"
)


def test_the_premise_is_proved_with_lemmas_or_by_exhaustive_search(check):
    """`left` decreases once: an exhaustive search finds that, an induction needs a lemma."""
    told = BY_LEMMA + "\n\n@lemma\ndef one_is_left(s):\n    return s.turn == 1 or s.left > 0\n"
    for text, words, how in ((told, ("--bound", "0"), "proved"), (BY_LEMMA, (), "proved")):
        code, found, proofs = proofs_of(check, text, *words)
        assert (code, found, established(proofs)["in_range"]) == (0, {"never_below": "PROVED"}, how)


SEARCHED = model(
    state("a: between(0, 9)", "b: between(0, 9)", "c: between(0, 9), initially=3"),
    action("three_move(s)", "require(s.a < 6)", "s.a += 2", "s.b += 1"),
    action("it_falls(s)", "require(s.a == 6 and s.b != 3 or s.a == 9 - 2)", "s.c -= 5"),
    claim("always", "fine(s)", "s.c >= 0"),
)


def test_an_exhaustive_search_establishes_the_premise(check):
    code, found, proofs = proofs_of(check, SEARCHED)
    assert (code, found, established(proofs)["in_range"]) == (0, {"fine": "PROVED"}, "searched")
    code, found, proofs = proofs_of(check, SEARCHED, "--bound", "2")
    assert (code, found, proofs["proved"]) == (3, OPEN | {"fine": "NO VIOLATION TO DEPTH"}, [])


PROPERTY_ERRS = model(
    domain("Place", 9),
    state("at: between(0, 9)", "is_marked[Place]: Flag"),
    action("walker_walks(s)", "require(s.at < 9)", "s.at += 1"),
    claim("always", "within(s)", "s.at <= 9"),
)


@pytest.mark.parametrize(
    "erring",
    [
        "@sometimes\ndef is_there(s):\n    return s.is_marked[s.at]\n",
        "@always_step\ndef moves_on(before, after):\n    return not before.is_marked[after.at]\n",
        "def is_excused(s):\n    return not s.is_marked[s.at]\n\n"
        "@always(permitted=is_excused)\ndef is_low(s):\n    return s.at <= 4\n",
    ],
    ids=["sometimes", "always_step", "permitted"],
)
def test_a_property_that_errs_somewhere_leaves_everything_unproved(check, erring):
    code, _, proofs = proofs_of(check, PROPERTY_ERRS + "\n\n" + erring, "--bound", "3")
    assert (code, proofs["proved"]) == (3, [])
    assert why_not(proofs)["within"] == RESTS
    assert why_not(proofs)["in_range"][0] == "a step violates it"


@pytest.mark.sampled
def test_no_unlimited_faults_are_claimed_if_the_premise_depends_on_them(check):
    """With one fault the lemma keeps the step in range; it reads the budget, so it does not hold for more faults."""
    text = model(
        entries('faults = budget(1, "faults")'),
        state("faults_left: between(0, 127)", "seen: between(0, 1)"),
        define("initial", "start(configuration)", 'yield {"faults_left": configuration.faults}'),
        action("it_fails(s)", "require(s.faults_left > 0)", "s.faults_left -= 1", "s.seen += 1"),
        claim("always", "fine(s)", "s.seen <= 1"),
        claim("lemma", "each_is_seen(s)", "s.faults_left + s.seen <= 1"),
    )
    code, found, proofs = proofs_of(check, text)
    (proof,) = proofs["proved"]
    assert (code, found, proof["scope"]) == (0, {"fine": "PROVED"}, "at any depth, with faults=1")


# ------------------------------------------------------------------------------- what was found stands beside a refusal

OVER_WHAT_IS_OPEN = model(
    entries('log_size = bound(2, "size", least=1, is_open=True)'),
    domain("Offset", '"log_size"'),
    state("log[Offset]: between(0, 3)", "turns: between(0, 9)"),
    action("clock_turns(s)", "require(s.turns < 9)", "s.turns += 1"),
    claim("always", "early(s)", "s.turns < 3"),
    claim("always(every_length=True)", "low(s)", "s.turns <= 9"),
    claim(
        "always_step(every_length=True)",
        "nothing_is_written(before, after)",
        "sum(before.log[o] for o in range(before.log_size)) == sum(after.log[o] for o in range(after.log_size))",
    ),
)


def test_a_property_outside_the_abstraction_costs_no_verdict(check):
    code, found, proofs = proofs_of(check, OVER_WHAT_IS_OPEN, "--bound", "5")
    assert (code, found["early"], found["nothing_is_written"]) == (12, "VIOLATED", "PROVED")
    (lost,) = proofs["not_proved"]
    assert lost["property"] == "nothing_is_written"
    assert lost["why"].startswith("the unbounded abstraction cannot evaluate it: ")
    assert "has a sum over an open (unbounded) domain" in lost["why"]


def test_the_explorers_findings_are_kept_if_nothing_can_be_proved(check, monkeypatch):
    """Simulates a model that the prover refuses."""

    def refused(*given, **more):
        raise UsageError("model.py:1: in early: refused; use --engine local")

    monkeypatch.setattr(prove, "TransitionRelation", refused)
    monkeypatch.setattr(induction, "TransitionRelation", refused)
    text = OVER_WHAT_IS_OPEN[: OVER_WHAT_IS_OPEN.index("@always(every")]
    code, out, _ = check(text, "--bound", "5")
    assert (code, verdict_of(out)) == (12, "VIOLATED: early at step 3")
    code, out, _ = check(text, "--bound", "2")
    assert code == 3
    assert "Z3 cannot check this model: model.py:1: in early: refused; use --engine local" in joined(out)


# ----------------------------------------------------------------------------------------------------- for every length


def test_nothing_is_proved_for_every_length_if_a_fixed_range_may_be_left(check):
    code, _, proofs = proofs_of(check, COUNTER.replace("@always", "@always(every_length=True)"), "--bound", "6")
    assert (code, proofs["proved"]) == (3, [])
    rests = "its proof rests on in_range for every length, which is not proved"
    assert [(one["property"], one["why"]) for one in proofs["not_proved"] if one["every_length"]] == [
        ("never_below", rests),
        ("in_range", "a step violates it"),
    ]


HIDDEN = model(
    entries('n = bound(2, "size", least=1, is_open=True)'),
    domain("Place", '"n"'),
    domain("Node", 3),
    state("a[Place]: between(0, 9)", "b[Node, Place]: between(0, 9)", "at: between(0, 5)", 'ends: between(0, "n")'),
    action("walker_walks(s)", "require(s.at < 5)", "s.at += 1"),
    action("somebody_acts(s, p: Place)", "require(s.at == 5)", "{}"),
    claim("always(every_length=True)", "low(s)", "s.at <= 5"),
)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "erring",
    [
        "s.a[p] = 10",  # a value of fixed range, to an array that the slice does not have
        "s.b[s.at][p] = 1",  # an index of fixed size, of such an array
        "for q in range(s.n):\n        s.b[s.at][q] = 1",  # in a loop that leaves nothing behind
        "for q in range(s.n):\n        s.a[q] = s.at + s.at",
        "require(all(s.b[s.at][q] == 0 for q in range(s.n)))\n    s.at = 0",  # in a fold over what is open
        "for q in range(s.n):\n        s.at += 1",  # in a round of a loop
    ],
)
def test_an_error_outside_the_abstraction_leaves_everything_unproved(check, erring):
    code, _, proofs = proofs_of(check, HIDDEN.format(erring), "--bound", "4")
    assert (code, proofs["proved"]) == (3, [])
    assert {lost["property"] for lost in proofs["not_proved"] if lost["every_length"]} == {"low", "in_range"}


@pytest.mark.parametrize("kept", ["s.a[p] = 9", "s.b[2][p] = 1", "for q in range(s.n):\n        s.b[2][q] = s.at"])
def test_without_errors_a_property_is_proved_for_every_length(check, kept):
    code, found, proofs = proofs_of(check, HIDDEN.format(kept), "--bound", "1")
    assert (code, found, [proof["every_length"] for proof in proofs["proved"]]) == (0, {"low": "PROVED"}, [True])
    assert established(proofs)["every length"] == "proved"


def test_a_step_that_leaves_an_open_range_is_not_overlooked(check):
    """The abstraction lets `ends` exceed its range, so the proof succeeds; the premise is another goal, and fails."""
    text = HIDDEN.format("s.at = 0\n    s.ends += 1")
    code, found, proofs = proofs_of(check, text, "--bound", "3")
    assert (code, found) == (3, OPEN | {"low": "PROVED"})
    assert established(proofs)["in_range"] == "open"


WITHOUT_A_STEP = model(
    entries('rounds = bound(2, "rounds")'),
    domain("Node", 2),
    state("x: between(0, 3)", "y: between(0, 2)", "z: between(-1, 2)", "is_on: Flag", "is_lit[Node, Node]: Flag"),
    action(
        "somebody_adds(s, p: Node)",
        "require(s.z < s.is_on or p == s.x)",
        "for turn in range(s.rounds):",
        "    s.is_on = s.is_lit[p][min(s.x, 1)]",
        "s.z += s.rounds",
    ),
    claim(
        "always_step",
        "stays_lit(before, after)",
        "before.y <= before.is_on or after.is_lit[after.y][after.x] or before.x <= after.x",
    ),
)


def test_the_premise_can_be_violated_by_a_step_without_successor(check):
    """An erring step has no successor, so no state after it is reported."""
    code, found, proofs = proofs_of(check, WITHOUT_A_STEP, "--bound", "0")
    assert (code, found) == (3, OPEN | {"stays_lit": "NO VIOLATION TO DEPTH"})
    assert {one["property"] for one in proofs["not_proved"]} == {"in_range", "stays_lit"}
