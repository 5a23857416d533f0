"""Premises of proofs: a proof requires that the absence of errors is proved or searched to the end."""

from __future__ import annotations

import pytest

from conformance.tests.support.engine import joined, none_to, proofs_of, proving, verdict_of
from isrcheck.checker import cli
from isrcheck.checker.proofs import induction, prove
from isrcheck.models.messages import UsageError

START = """\
from isrcheck.language import Domain, Flag, action, always, always_step, between, bound, budget, field, initial, lemma
from isrcheck.language import require, setting, sometimes


"""

COUNTER = (
    START
    + """\
class State:
    left = field(values=between(0, 7), initially=7)


@action
def somebody_takes_one(s):
    s.left -= 1


@always
def never_below(s):
    return s.left >= 0
"""
)


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    return proving(cli.main, tmp_path, monkeypatch, capsys)


def established(proofs):
    """The way in which each premise was established."""
    return {one["premise"]: one["established"] for one in proofs["premises"]}


def why_not(proofs):
    return {one["property"]: (one["why"], one["step"]) for one in proofs["not_proved"]}


OPEN = {"in_range": "NO VIOLATION TO DEPTH"}
RESTS = ("it rests on in_range, which is not proved", None)


def test_a_range_error_beyond_the_bound_leaves_everything_unproved(check):
    """The step writes -1 after 7 steps; in the states without this error, the property holds."""
    code, found, proofs = proofs_of(check, COUNTER, "--bound", "6")
    assert (code, found, proofs["proved"], proofs["premises"]) == (
        3,
        OPEN | {"never_below": "NO VIOLATION TO DEPTH"},
        [],
        [],
    )
    assert why_not(proofs) == {"in_range": ("a step violates it", "somebody_takes_one"), "never_below": RESTS}
    code, out, _ = check(COUNTER, "--bound", "6")
    assert (code, verdict_of(out)) == (
        3,
        none_to(6) + "; not proved: never_below, in_range",
    )
    assert "-1 is written to left, whose values are 0..7; guard the step, or widen the field" in joined(out)


def test_with_its_guard_the_step_stays_in_range_and_the_property_is_proved(check):
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


SEARCHED = (
    START
    + """\
class State:
    a = field(values=between(0, 9))
    b = field(values=between(0, 9))
    c = field(values=between(0, 9), initially=3)


@action
def three_move(s):
    require(s.a < 6)
    s.a += 2
    s.b += 1


@action
def it_falls(s):
    require(s.a == 6 and s.b != 3 or s.a == 9 - 2)
    s.c -= 5


@always
def fine(s):
    return s.c >= 0
"""
)


def test_an_exhaustive_search_establishes_the_premise(check):
    code, found, proofs = proofs_of(check, SEARCHED)
    assert (code, found, established(proofs)["in_range"]) == (0, {"fine": "PROVED"}, "searched")
    code, found, proofs = proofs_of(check, SEARCHED, "--bound", "2")
    assert (code, found, proofs["proved"]) == (3, OPEN | {"fine": "NO VIOLATION TO DEPTH"}, [])


PROPERTY_ERRS = (
    START
    + """\
class Place(Domain, size=9):
    pass


class State:
    at = field(values=between(0, 9))
    is_marked = field(Place, values=Flag)


@action
def walker_walks(s):
    require(s.at < 9)
    s.at += 1


@always
def within(s):
    return s.at <= 9
"""
)


@pytest.mark.parametrize(
    "erring",
    [
        "@sometimes\ndef is_there(s):\n    return s.is_marked[s.at]\n",
        "@always_step\ndef moves_on(before, after):\n    return not before.is_marked[after.at]\n",
        "def is_excused(s):\n    return not s.is_marked[s.at]\n\n\n"
        "@always(permitted=is_excused)\ndef is_low(s):\n    return s.at <= 4\n",
    ],
    ids=["sometimes", "always_step", "permitted"],
)
def test_a_property_that_errs_somewhere_leaves_everything_unproved(check, erring):
    code, _, proofs = proofs_of(check, PROPERTY_ERRS + "\n\n" + erring, "--bound", "3")
    assert (code, proofs["proved"]) == (3, [])
    assert why_not(proofs)["within"] == RESTS
    assert why_not(proofs)["in_range"][0] == "a step violates it"


def test_no_unlimited_faults_are_claimed_if_the_premise_depends_on_them(check):
    """With one fault the lemma keeps the step in range; it reads the budget, so it does not hold for more faults."""
    text = (
        START
        + """\
class Configuration:
    faults = budget(1, "faults")


class State:
    faults_left = field(values=between(0, 127))
    seen = field(values=between(0, 1))


@initial
def start(configuration):
    yield {"faults_left": configuration.faults}


@action
def it_fails(s):
    require(s.faults_left > 0)
    s.faults_left -= 1
    s.seen += 1


@always
def fine(s):
    return s.seen <= 1


@lemma
def each_is_seen(s):
    return s.faults_left + s.seen <= 1
"""
    )
    code, found, proofs = proofs_of(check, text)
    (proof,) = proofs["proved"]
    assert (code, found, proof["scope"]) == (0, {"fine": "PROVED"}, "at any depth, with faults=1")


# ------------------------------------------------------------------------------- what was found stands beside a refusal

OVER_WHAT_IS_OPEN = (
    START
    + """\
class Configuration:
    log_size = bound(2, "size", least=1, is_open=True)


class Offset(Domain, size="log_size"):
    pass


class State:
    log = field(Offset, values=between(0, 3))
    turns = field(values=between(0, 9))


@action
def clock_turns(s):
    require(s.turns < 9)
    s.turns += 1


@always
def early(s):
    return s.turns < 3


@always(every_length=True)
def low(s):
    return s.turns <= 9


@always_step(every_length=True)
def nothing_is_written(before, after):
    return sum(before.log[o] for o in range(before.log_size)) == sum(after.log[o] for o in range(after.log_size))
"""
)


def test_a_property_outside_the_abstraction_costs_no_verdict(check):
    code, found, proofs = proofs_of(check, OVER_WHAT_IS_OPEN, "--bound", "5")
    assert (code, found["early"], found["nothing_is_written"]) == (12, "VIOLATED", "PROVED")
    (lost,) = proofs["not_proved"]
    assert lost["property"] == "nothing_is_written"
    assert lost["why"].startswith("the unbounded abstraction cannot evaluate it: ")
    assert lost["why"].endswith("a sum over an open (unbounded) domain")


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
    rests = "it rests on in_range for every length, which is not proved"
    assert [(one["property"], one["why"]) for one in proofs["not_proved"] if one["every_length"]] == [
        ("never_below", rests),
        ("in_range", "a step violates it"),
    ]


HIDDEN = (
    START
    + """\
class Configuration:
    n = bound(2, "size", least=1, is_open=True)


class Place(Domain, size="n"):
    pass


class Node(Domain, size=3):
    pass


class State:
    a = field(Place, values=between(0, 9))
    b = field(Node, Place, values=between(0, 9))
    at = field(values=between(0, 5))
    ends = field(values=between(0, "n"))


@action
def walker_walks(s):
    require(s.at < 5)
    s.at += 1


@action
def somebody_acts(s, p: Place):
    require(s.at == 5)
    {}


@always(every_length=True)
def low(s):
    return s.at <= 5
"""
)


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
    assert {one["property"] for one in proofs["not_proved"] if one["every_length"]} == {"low", "in_range"}


@pytest.mark.parametrize("kept", ["s.a[p] = 9", "s.b[2][p] = 1", "for q in range(s.n):\n        s.b[2][q] = s.at"])
def test_without_errors_a_property_is_proved_for_every_length(check, kept):
    code, found, proofs = proofs_of(check, HIDDEN.format(kept), "--bound", "1")
    assert (code, found, [one["every_length"] for one in proofs["proved"]]) == (0, {"low": "PROVED"}, [True])
    assert established(proofs)["every length"] == "proved"


def test_a_step_that_leaves_an_open_range_is_not_overlooked(check):
    """The abstraction lets `ends` exceed its range, so the proof succeeds; the premise is another goal, and fails."""
    text = HIDDEN.format("s.at = 0\n    s.ends += 1")
    code, found, proofs = proofs_of(check, text, "--bound", "3")
    assert (code, found) == (3, OPEN | {"low": "PROVED"})
    assert established(proofs)["in_range"] == "open"


WITHOUT_A_STEP = (
    START
    + """\
class Configuration:
    rounds = bound(2, "rounds")


class Node(Domain, size=2):
    pass


class State:
    x = field(values=between(0, 3))
    y = field(values=between(0, 2))
    z = field(values=between(-1, 2))
    is_on = field(values=Flag)
    is_lit = field(Node, Node, values=Flag)


@action
def somebody_adds(s, p: Node):
    require(s.z < s.is_on or p == s.x)
    for turn in range(s.rounds):
        s.is_on = s.is_lit[p][min(s.x, 1)]
    s.z += s.rounds


@always_step
def stays_lit(before, after):
    return before.y <= before.is_on or after.is_lit[after.y][after.x] or before.x <= after.x
"""
)


def test_the_premise_can_be_violated_by_a_step_without_successor(check):
    """An erring step has no successor, so no state after it is reported."""
    code, found, proofs = proofs_of(check, WITHOUT_A_STEP, "--bound", "0")
    assert (code, found) == (3, OPEN | {"stays_lit": "NO VIOLATION TO DEPTH"})
    assert {one["property"] for one in proofs["not_proved"]} == {"in_range", "stays_lit"}
