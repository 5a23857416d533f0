"""Initial states made by generators, read by Z3: the same states, in the same order, however many there are."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from conformance.tests.checker.explicit.test_initial_states import CLUSTERS, MEMORY, instance_of  # noqa: F401
from conformance.tests.checker.spark.test_search import asked, everything, on_spark
from conformance.tests.support.engine import checking
from isrcheck.checker import cli
from isrcheck.checker.explicit.carrier import SingleThread
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.explicit.initial_states import generate_initial_states
from isrcheck.checker.proofs.prove import BaseCase, prove
from isrcheck.checker.resources.limits import Answer, Budget, FormulaBudget, Limits
from isrcheck.checker.results.exploration import StepPath
from isrcheck.checker.results.proofs import Phase
from isrcheck.checker.spark.request import Mode
from isrcheck.checker.symbolic.and_inverter_graph import AndInverterGraph
from isrcheck.checker.symbolic.bounded_model_checking import ask_to_depth
from isrcheck.checker.symbolic.evaluator import Evaluator
from isrcheck.checker.symbolic.finite_integers import FiniteArithmetic
from isrcheck.checker.symbolic.solver import Solver
from isrcheck.checker.symbolic.transition_relation import initial_choice
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import ModelError
from isrcheck.models.registry import load_file

Build = Callable[..., Instance]

LIMITED = CLUSTERS + (
    "\n\nfrom isrcheck.language import constraint\n\n\n"
    "@constraint\ndef is_small(s):\n    return s.one + s.other < 3 or s.leader == 9\n"
)
"""The same clusters, some of which are outside a constraint, as are some of their successors."""


def numbers_in(instance: Instance) -> list[int]:
    """The numbers of all states that the formula allows, in the order of its decisions."""
    circuit = AndInverterGraph()
    evaluator = Evaluator(instance, circuit, FiniteArithmetic(circuit))
    choice = initial_choice(instance, evaluator)
    solver = Solver(circuit)
    solver.add(choice.condition)
    found = {}
    while solver.check() is Answer.YES:
        values = solver.values()
        decided = [next(at for at, one in enumerate(options) if values.holds(one)) for options in choice.places]
        found[tuple(decided)] = choice.number(values.holds)
        solver.add(-circuit.all(options[at] for options, at in zip(choice.places, decided, strict=True)))
    return [found[decided] for decided in sorted(found)]


SIZES = [{"replicas": 2, "values": 2}, {"replicas": 3, "values": 1}, {"replicas": 0}]


@pytest.mark.parametrize("values", SIZES)
@pytest.mark.parametrize("text", [CLUSTERS, LIMITED], ids=["free", "constraint"])
def test_the_formula_has_all_states_in_order(text: str, values: dict[str, int], instance_of: Build) -> None:  # noqa: F811
    instance = instance_of(text, **values)
    found = numbers_in(instance)
    firsts = list(dict.fromkeys(found))
    assert firsts == list(range(len(instance.initial_states)))
    assert len(found) >= len(firsts)  # several combinations of arguments can make the same state


def test_wide_domains_are_in_order_too(instance_of: Build) -> None:  # noqa: F811
    """With 70 values, a parameter is a binary number."""
    few = "require(one > 66 and other >= one and third == 0)"
    text = CLUSTERS.replace("require(is_in_order(one, other))", few).replace(
        "s.one = min(one, 3)", "require(one == 68)"
    )
    instance = instance_of(text, replicas=1, values=70)
    generate_initial_states(instance, MEMORY, lambda count, size: None)
    assert numbers_in(instance) == list(range(8))
    assert list(instance.initial_states)[:3] == [(0, 1, 134, 67, 67, 0), (0, 1, 135, 67, 68, 0), (0, 1, 136, 67, 69, 0)]


@pytest.mark.parametrize("text", [CLUSTERS, LIMITED], ids=["free", "constraint"])
@pytest.mark.parametrize("broken", ["s.one != 1 or s.other != 1", "s.leader != 9", "s.offset != 1 or s.isr[0]"])
def test_z3_finds_the_least_path_of_the_explorer(text: str, broken: str, instance_of: Build) -> None:  # noqa: F811
    text = text.replace("s.offset == -5 or s.isr[s.leader]", broken)
    here = explore(instance_of(text, replicas=2, values=3), Limits(3, MEMORY))
    there = ask_to_depth(instance_of(text, replicas=2, values=3), Limits(3, MEMORY))
    assert here.findings["leader_is_in_isr"].found.path == there.findings["leader_is_in_isr"].found.path is not None
    assert here.findings["deadlock"].found.path == there.findings["deadlock"].found.path


# ------------------------------------------------------------------------------------------------------------- proofs

CLIMB = '''"""Somebody climbs from any of very many places."""

from isrcheck.language import Domain, action, always, between, bound, field, initial, require


class Configuration:
    places = bound(100, "places to begin at, in each direction", least=1, option="--places")


class Place(Domain, size="places"):
    pass


class State:
    east = field(values=between(0, 999))
    north = field(values=between(0, 999))
    height = field(values=between(0, 999))


@initial
def anywhere(s, east: Place, north: Place, height: Place):
    require(east <= north)
    s.east = east
    s.north = north
    s.height = height


@action
def climbs(s):
    require(s.height < 120)
    s.height += 1


@always
def is_northern(s):
    return s.east <= s.north


@always
def begins_in_the_south(s):
    return s.north < {north}
'''


@pytest.fixture
def climb(tmp_path, monkeypatch, capsys):
    """Runs `check` on the model; returns the exit code and the object."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, north: int = 99) -> tuple[int, dict]:
        (tmp_path / "climb.py").write_text(CLIMB.format(north=north), encoding="utf-8")
        code, out, _ = checking(cli.main, capsys)("climb.py", *words, "--no-deadlock", "--json")
        (found,) = json.loads(out)["runs"]
        return code, {one["name"]: one for one in found["properties"]} | {"premises": found.get("premises")}

    return run


@pytest.mark.parametrize("places", ["20", "100"])
def test_claims_are_proved_of_all_initial_states_at_once(climb, places: str) -> None:
    """Of 505,000 states with 100 places, and of 4,200 with 20."""
    code, found = climb("--places", places, "--bound", "1", "--prove", north=int(places))
    assert (code, found["is_northern"]["verdict"]) == (0, "PROVED")
    assert found["begins_in_the_south"]["verdict"] == "PROVED"


def test_a_claim_that_is_false_in_one_initial_state_is_not_proved(climb) -> None:
    code, found = climb("--places", "30", "--bound", "0", "--prove", north=29)
    assert (code, found["is_northern"]["verdict"], found["begins_in_the_south"]["verdict"]) == (
        12,
        "PROVED",
        "VIOLATED",
    )


def test_a_claim_is_asked_of_every_initial_state(tmp_path) -> None:
    """It is false in one of 4,495 states only, and a claim that leaves a range in one of them cannot be evaluated."""
    text = CLIMB.format(north=29).replace("s.east <= s.north", "s.east != 29 or s.height != 7")
    (tmp_path / "climb.py").write_text(
        text.replace("class State:", "class State:\n    at = field(Place, values=Place)")
    )
    instance = load_file(tmp_path / "climb.py").instance(None, {"places": 30})
    base = BaseCase(instance, FormulaBudget(float("inf")), float("inf"))
    assert [base.holds(prop) for prop in instance.properties] == [False, False]
    text = text.replace("s.east != 29 or s.height != 7", "s.east <= s.north").replace("s.north < 29", "s.height < 30")
    (tmp_path / "climbs.py").write_text(text)
    instance = load_file(tmp_path / "climbs.py").instance(None, {"places": 30})
    base = BaseCase(instance, FormulaBudget(float("inf")), float("inf"))
    assert [base.holds(prop) for prop in instance.properties] == [True, True]
    text = text.replace("class State:", "class State:\n    at = field(Place, values=Place)")
    (tmp_path / "errs.py").write_text(text.replace("s.height < 30", "s.at[s.height + (1 if s.east == 3 else 0)] == 0"))
    instance = load_file(tmp_path / "errs.py").instance(None, {"places": 30})
    with pytest.raises(ModelError, match=r"begins_in_the_south: index 30 of at is outside 0\.\.29"):
        BaseCase(instance, FormulaBudget(float("inf")), float("inf")).holds(instance.properties[1])


HIDDEN = '''"""A door that is open in a few of very many initial states."""

from isrcheck.language import Domain, Flag, action, always, between, field, initial, require


class Place(Domain, size=60):
    pass


class State:
    east = field(values=between(0, 59))
    north = field(values=between(0, 59))
    is_open = field(values=Flag)
    is_inside = field(values=Flag)


@initial
def anywhere(s, east: Place, north: Place):
    s.east = east
    s.north = north
    s.is_open = {opened}


@action
def enters(s):
    require(s.is_open)
    s.is_inside = True


@always
def stays_outside(s):
    return not s.is_inside
'''


@pytest.mark.parametrize(("opened", "is_proved"), [("False", True), ("east == 59", False)])
def test_a_proposed_lemma_has_to_be_true_in_every_initial_state(tmp_path, opened: str, is_proved: bool) -> None:
    """That the door is never open proves the property, and is true in all states of the sample."""
    (tmp_path / "hidden.py").write_text(HIDDEN.format(opened=opened))
    instance = load_file(tmp_path / "hidden.py").instance()
    sample = instance.initial_states[:1000]
    assert not any(cells[2] for cells in sample)
    proofs = prove(instance, instance.properties, list(Phase)[-1], sample=sample)
    assert ("stays_outside" in proofs.proofs) == is_proved
    if is_proved:
        assert proofs.proofs["stays_outside"].lemmas == ("never is_open",)


def test_z3_asks_about_half_a_million_initial_states(climb) -> None:
    """The path begins in the least of the states in which the property is false: (0, 99, 0)."""
    code, found = climb("--engine", "z3", "--bound", "1")
    assert (code, found["is_northern"]["verdict"]) == (12, "NO VIOLATION TO DEPTH")
    assert (found["begins_in_the_south"]["verdict"], found["begins_in_the_south"]["depth"]) == ("VIOLATED", 0)


# ---------------------------------------------------------------------------------------------------- other engines


@pytest.mark.parametrize("mode", [Mode.PARTS, pytest.param(Mode.SEARCH, marks=pytest.mark.exhaustive)])
def test_spark_starts_from_compiled_initial_states(local_spark, mode: Mode, instance_of: Build) -> None:  # noqa: F811
    instance, limits = instance_of(replicas=2, values=3), Limits(None, MEMORY)
    generate_initial_states(instance, MEMORY, lambda count, size: None)
    found, _ = on_spark(local_spark, instance, limits, asked(mode), count_all=True)
    here = explore(instance_of(replicas=2, values=3), limits, count_all=True)
    assert (found.levels, found.exhausted) == (here.levels, True)
    assert {name: one.found.path for name, one in found.findings.items()} == {
        name: one.found.path for name, one in here.findings.items()
    }
    if mode is Mode.SEARCH:
        assert everything(found) == everything(here)


def test_ctrl_c_during_the_enumeration_ends_the_command(climb, tmp_path, monkeypatch, capsys) -> None:
    def press(self: Budget, size: int = 0) -> None:
        raise KeyboardInterrupt

    (tmp_path / "climb.py").write_text(CLIMB.format(north=99), encoding="utf-8")
    monkeypatch.setattr(Budget, "look", press)
    code, out, err = checking(cli.main, capsys)("climb.py")
    assert (code, out, err.splitlines()[-1]) == (130, "", "check: interrupted before anything was found")


def test_ctrl_c_during_the_search_keeps_what_was_found(instance_of: Build, monkeypatch) -> None:  # noqa: F811
    def press(*given: object) -> None:
        raise KeyboardInterrupt

    instance = instance_of(CLUSTERS.replace("s.offset == -5 or s.isr[s.leader]", "s.leader != 9"))
    generate_initial_states(instance, MEMORY, lambda count, size: None)
    monkeypatch.setattr(SingleThread, "expand", press)
    found = explore(instance, Limits(None, MEMORY), count_all=True)
    assert (found.stopped, found.levels, found.judged) == ("interrupt", [725], 0)
    assert found.findings["leader_is_in_isr"].found.path == StepPath(724, ())
