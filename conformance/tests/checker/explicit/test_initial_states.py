"""Initial states made by generators: compiled code, plain Python and Z3 make the same ones, in the same order."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.tests.checker.spark.test_search import asked, everything, on_spark
from conformance.tests.support.small_models import (
    action,
    block,
    claim,
    define,
    domain,
    entries,
    helper,
    model,
    state,
    write_model,
)
from isrcheck.checker.explicit import initial_states
from isrcheck.checker.explicit.carrier import SingleThread
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.explicit.initial_states import generate_initial_states
from isrcheck.checker.proofs.prove import BaseCase, prove
from isrcheck.checker.resources.limits import Answer, Budget, FormulaBudget, Limits, Spent
from isrcheck.checker.results.exploration import StepPath
from isrcheck.checker.results.proofs import Phase
from isrcheck.checker.running.session import enumerate_initial_states
from isrcheck.checker.spark.request import Mode
from isrcheck.checker.symbolic.and_inverter_graph import AndInverterGraph
from isrcheck.checker.symbolic.bounded_model_checking import ask_to_depth
from isrcheck.checker.symbolic.evaluator import Evaluator
from isrcheck.checker.symbolic.finite_integers import FiniteArithmetic
from isrcheck.checker.symbolic.solver import Solver
from isrcheck.checker.symbolic.transition_relation import initial_choice
from isrcheck.commands.exit_codes import INTERRUPTED, SAFE, VIOLATED
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import InitialStates
from isrcheck.models.messages import LanguageError, ModelError, UsageError
from isrcheck.models.registry import load_file

pytestmark = pytest.mark.sampled

MEMORY = 1 << 28

CLUSTERS = model(
    '"""A leader that moves within its ISR."""\n',
    entries(
        'replicas = bound(3, "replicas", least=0, option="--replicas")',
        'values = bound(5, "different values", least=0, option="--values")',
    ),
    domain("Replica", '"replicas"'),
    block("ReplicaSet(Subset, of=Replica)", "pass"),
    domain("Value", '"values"'),
    state(
        "leader: between(0, 9)",
        "isr[Replica]: Flag",
        "offset: between(-5, 70000), initially=-5",
        "one: between(0, 200000)",
        "other: between(0, 200000)",
        "third: between(0, 200000)",
    ),
    helper("is_in_order(one, other)", "one <= other"),
    define(
        "initial",
        "any_start(s, leader: Replica, isr: ReplicaSet, one: Value, other: Value, third: Value)",
        '"""Any leader in any ISR."""',
        "require(isr[leader])",
        "require(is_in_order(one, other))",
        "require(third == 0 or s.offset == -5)",
        "s.leader = leader",
        "for replica in range(s.replicas):",
        "    s.isr[replica] = isr[replica]",
        "s.one = one",
        "s.other = other",
        "s.third = min(third, 3)",
        "s.offset = one + other",
    ),
    define("initial", "old_start(s, one: Value)", "s.one = min(one, 3)"),
    define("initial", "only_start(s)", "s.leader = 9"),
    action(
        "leader_moves(s, replica: Replica)", "require(s.isr[replica] and s.leader != replica)", "s.leader = replica"
    ),
    claim("always", "leader_is_in_isr(s)", "s.offset == -5 or s.isr[s.leader]"),
    claim("sometimes", "last_leads(s)", "s.leader == 2 and s.one == 1"),
)

STARTS = 12 * 15 * 4 + 4 + 1
"""A leader in an ISR, an ordered pair of values, and a third value; what the other two generators add."""

Build = Callable[..., Instance]


@pytest.fixture
def instance_of(tmp_path: Path) -> Build:
    def build(text: str = CLUSTERS, **values: int) -> Instance:
        return load_file(write_model(tmp_path / "clusters.py", text)).instance(None, values)

    return build


def generated(instance: Instance) -> InitialStates:
    """The initial states by compiled code."""
    return generate_initial_states(instance, MEMORY, lambda count, size: None)


@pytest.mark.parametrize(("work", "room"), [(1 << 22, 1 << 14), (7, 3), (50, 1)])
def test_compiled_generators_agree_with_plain_python(
    work: int, room: int, instance_of: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if a call of the compiled function ends after little work, or for want of room."""
    monkeypatch.setattr(initial_states, "WORK", work)
    monkeypatch.setattr(initial_states, "ROOM", room)
    for values in ({}, {"replicas": 1, "values": 7}, {"replicas": 0}, {"values": 0}):
        plain, compiled = instance_of(**values), instance_of(**values)
        found = generated(compiled)
        assert found.packed == plain.initial_states.packed
        assert compiled.initial_states is found and len(set(found)) == len(found)
        assert compiled.digest == plain.digest
    assert len(instance_of().initial_states) == STARTS


def test_generators_come_in_order_and_states_once(instance_of: Build) -> None:
    states = instance_of(replicas=1, values=2).initial_states
    assert list(states) == [
        *((0, 1, one + other, one, other, third) for one, other in ((0, 0), (0, 1), (1, 1)) for third in (0, 1)),
        *((0, 0, -5, one, 0, 0) for one in (0, 1)),
        (9, 0, -5, 0, 0, 0),
    ]


def test_every_engine_starts_from_them(instance_of: Build) -> None:
    limits = Limits(2, MEMORY)
    text = CLUSTERS.replace("s.offset == -5 or s.isr[s.leader]", "s.leader != 2 or s.one != 1 or s.third != 2")
    plain, compiled = instance_of(text), instance_of(text)
    enumerate_initial_states(compiled, Budget(None, MEMORY))
    explored = [explore(instance, limits, count_all=True) for instance in (plain, compiled)]
    assert explored[0].levels == explored[1].levels == [STARTS]
    results = *explored, ask_to_depth(compiled, limits)
    paths = [result.findings["leader_is_in_isr"].found.path for result in results]
    assert paths[0] == paths[1] == paths[2]
    assert paths[0] is not None and paths[0].steps == ()
    assert compiled.initial_states[paths[0].initial] == (2, 0, 0, 1, 2, 1, 1, 2)


def test_more_combinations_than_there_can_be_steps(instance_of: Build) -> None:
    """A guard in an outer loop spares 8 * 10^12 combinations the work."""
    text = CLUSTERS.replace("    require(is_in_order(one, other))", "    require(one == 7)\n    require(other == one)")
    instance = instance_of(text, values=20_000)
    assert len(generated(instance)) == 12 * 4 + 4 + 1


LATE = (
    "any_start 0 {0} 0 0 4: 12 is written to leader, whose values are 0..9; guard the step, or widen the field's range"
)
LEAVES = {
    "late": ("s.leader = leader\n", "s.leader = leader + third + third + third\n", LATE),
    "hoisted": (
        "    require(isr[leader])",
        "    require(isr[leader + (1 if leader == 2 else 0)])",
        "any_start 2 {} 0 0 0: index 3 of a subset is outside 0..2; test the index before it is used",
    ),
}


@pytest.mark.parametrize("name", LEAVES)
def test_a_generator_that_leaves_a_range(name: str, instance_of: Build) -> None:
    """Both say the same: which generator, which arguments, which value."""
    old, new, says = LEAVES[name]
    messages = []
    for states_of in (generated, lambda instance: instance.initial_states):
        with pytest.raises(ModelError) as refusal:
            states_of(instance_of(CLUSTERS.replace(old, new)))
        messages.append(str(refusal.value))
    assert messages[0] == messages[1]
    assert says in messages[0]


def test_a_generator_that_is_never_enabled(instance_of: Build) -> None:
    text = CLUSTERS.replace("    require(isr[leader])", "    require(leader > 2)")
    text = text.replace("    s.one = min(one, 3)", "    require(one < 0)").replace(
        "    s.leader = 9", "    require(False)"
    )
    says = "this configuration has no initial state; let an @initial function have true guards for some arguments"
    with pytest.raises(ModelError, match=f"^clusters: {says}$"):
        enumerate_initial_states(instance_of(text), Budget(None, MEMORY))


def test_refused_generators(instance_of: Build) -> None:
    both = CLUSTERS.replace("def only_start(s):\n    s.leader = 9", "def only_start(configuration):\n    yield {}")
    with pytest.raises(
        LanguageError,
        match="there are several @initial functions, some of the configuration and some of the state `s`;",
    ):
        instance_of(both)
    with pytest.raises(LanguageError, match="the parameter one of an action has no domain"):
        instance_of(CLUSTERS.replace("def old_start(s, one: Value)", "def old_start(s, one)"))
    with pytest.raises(
        UsageError, match=r"any_start has more than 2\*\*60 combinations of arguments; use smaller bounds"
    ):
        assert instance_of(values=1 << 30).layouts
    outside = CLUSTERS.replace("between(-5, 70000), initially=-5", "between(1, 70000)")
    with pytest.raises(ModelError, match=r"offset is initially 0; give a value in 1\.\.70000"):
        assert instance_of(outside).initial_states


@pytest.mark.parametrize(("seconds", "memory", "why"), [(0.2, 1 << 33, "seconds"), (None, 4 << 20, "memory")])
def test_limits_end_the_enumeration(seconds: float | None, memory: int, why: str, instance_of: Build) -> None:
    """No search starts from only some of the initial states."""
    instance = instance_of(values=2_000)
    with pytest.raises(Spent) as spent:
        enumerate_initial_states(instance, Budget(seconds, memory))
    assert spent.value.why == why
    assert not instance.is_enumerated


LIMITED = f"{CLUSTERS}\n\n@constraint\ndef is_small(s):\n    return s.one + s.other < 3 or s.leader == 9\n"
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
def test_the_formula_has_all_states_in_order(text: str, values: dict[str, int], instance_of: Build) -> None:
    instance = instance_of(text, **values)
    found = numbers_in(instance)
    firsts = list(dict.fromkeys(found))
    assert firsts == list(range(len(instance.initial_states)))
    assert len(found) >= len(firsts)  # several combinations of arguments can make the same state


def test_wide_domains_are_in_order_too(instance_of: Build) -> None:
    """With 70 values, a parameter is a binary number."""
    few = "require(one > 66 and other >= one and third == 0)"
    text = CLUSTERS.replace("require(is_in_order(one, other))", few).replace(
        "s.one = min(one, 3)", "require(one == 68)"
    )
    instance = instance_of(text, replicas=1, values=70)
    generated(instance)
    assert numbers_in(instance) == list(range(8))
    assert list(instance.initial_states)[:3] == [(0, 1, 134, 67, 67, 0), (0, 1, 135, 67, 68, 0), (0, 1, 136, 67, 69, 0)]


@pytest.mark.parametrize("text", [CLUSTERS, LIMITED], ids=["free", "constraint"])
@pytest.mark.parametrize("broken", ["s.one != 1 or s.other != 1", "s.leader != 9", "s.offset != 1 or s.isr[0]"])
def test_z3_finds_the_least_path_of_the_explorer(text: str, broken: str, instance_of: Build) -> None:
    text = text.replace("s.offset == -5 or s.isr[s.leader]", broken)
    here = explore(instance_of(text, replicas=2, values=3), Limits(3, MEMORY))
    there = ask_to_depth(instance_of(text, replicas=2, values=3), Limits(3, MEMORY))
    assert here.findings["leader_is_in_isr"].found.path == there.findings["leader_is_in_isr"].found.path is not None
    assert here.findings["deadlock"].found.path == there.findings["deadlock"].found.path


# ------------------------------------------------------------------------------------------------------------- proofs

CLIMB = model(
    '"""Somebody climbs from any of very many places."""\n',
    entries('places = bound(100, "places to begin at, in each direction", least=1, option="--places")'),
    domain("Place", '"places"'),
    state("east: between(0, 999)", "north: between(0, 999)", "height: between(0, 999)"),
    define(
        "initial",
        "anywhere(s, east: Place, north: Place, height: Place)",
        "require(east <= north)",
        "s.east = east",
        "s.north = north",
        "s.height = height",
    ),
    action("climbs(s)", "require(s.height < 120)", "s.height += 1"),
    claim("always", "is_northern(s)", "s.east <= s.north"),
    claim("always", "begins_in_the_south(s)", "s.north < {north}"),
)


@pytest.fixture
def climb(tmp_path, check):
    """Runs `check` on the model; returns the exit code, the verdict and the depth of each property."""

    def run(*words: str, north: int = 99) -> tuple[int, dict]:
        write_model(tmp_path / "climb.py", CLIMB.format(north=north))
        code, out, _ = check("climb.py", *words, "--no-deadlock", "--json")
        (run,) = json.loads(out)["runs"]
        return code, {prop["name"]: (prop["verdict"], prop["depth"]) for prop in run["properties"]}

    return run


@pytest.mark.parametrize("places", ["20", "100"])
def test_claims_are_proved_of_all_initial_states_at_once(climb, places: str) -> None:
    """Of 505,000 states with 100 places, and of 4,200 with 20."""
    both = dict.fromkeys(("is_northern", "begins_in_the_south"), ("PROVED", None))
    assert climb("--places", places, "--bound", "1", "--prove", north=int(places)) == (SAFE, both)


def test_a_claim_that_is_false_in_one_initial_state_is_not_proved(climb) -> None:
    one = {"is_northern": ("PROVED", None), "begins_in_the_south": ("VIOLATED", 0)}
    assert climb("--places", "30", "--bound", "0", "--prove", north=29) == (VIOLATED, one)


def test_a_claim_is_asked_of_every_initial_state(tmp_path) -> None:
    """It is false in one of 4,495 states only, and a claim that leaves a range in one of them cannot be evaluated."""
    at = ("class State:", "class State:\n    at = field(Place, values=Place)")
    claims = ("s.east <= s.north", "s.east != 29 or s.height != 7"), ("s.north < 29", "s.height < 30")
    outside = ("s.height < 30", "s.at[s.height + (1 if s.east == 3 else 0)] == 0")

    def judged(*changes: tuple[str, str]) -> list[bool]:
        text = functools.reduce(lambda text, change: text.replace(*change), changes, CLIMB.format(north=29))
        instance = load_file(write_model(tmp_path / f"climbs_{len(changes)}.py", text)).instance(None, {"places": 30})
        base = BaseCase(instance, FormulaBudget(), float("inf"))
        return [base.holds(prop) for prop in reversed(instance.properties)]

    assert judged(claims[0], at) == [False, False]
    assert judged(claims[1]) == [True, True]
    with pytest.raises(ModelError, match=r"begins_in_the_south: index 30 of at is outside 0\.\.29"):
        judged(at, claims[1], outside)


HIDDEN = model(
    '"""A door that is open in a few of very many initial states."""\n',
    domain("Place", 60),
    state("east: between(0, 59)", "north: between(0, 59)", "is_open: Flag", "is_inside: Flag"),
    define(
        "initial", "anywhere(s, east: Place, north: Place)", "s.east = east", "s.north = north", "s.is_open = {opened}"
    ),
    action("enters(s)", "require(s.is_open)", "s.is_inside = True"),
    claim("always", "stays_outside(s)", "not s.is_inside"),
)


@pytest.mark.parametrize(("opened", "is_proved"), [("False", True), ("east == 59", False)])
def test_a_proposed_lemma_has_to_be_true_in_every_initial_state(tmp_path, opened: str, is_proved: bool) -> None:
    """That the door is never open proves the property, and is true in all states of the sample."""
    instance = load_file(write_model(tmp_path / "hidden.py", HIDDEN.format(opened=opened))).instance()
    sample = instance.initial_states[:1000]
    assert not any(cells[2] for cells in sample)
    proofs = prove(instance, instance.properties, list(Phase)[-1], sample=sample)
    assert ("stays_outside" in proofs.proofs) == is_proved
    if is_proved:
        assert proofs.proofs["stays_outside"].lemmas == ("never is_open",)


def test_z3_asks_about_half_a_million_initial_states(climb) -> None:
    verdicts = {"is_northern": ("NO VIOLATION TO DEPTH", 1), "begins_in_the_south": ("VIOLATED", 0)}
    assert climb("--engine", "z3", "--bound", "1") == (VIOLATED, verdicts)


# ---------------------------------------------------------------------------------------------------- other engines


@pytest.mark.parametrize("mode", [Mode.PARTS, pytest.param(Mode.SEARCH, marks=pytest.mark.exhaustive)])
def test_spark_starts_from_compiled_initial_states(local_spark, mode: Mode, instance_of: Build) -> None:
    instance, limits = instance_of(replicas=2, values=3), Limits(None, MEMORY)
    generated(instance)
    found, _ = on_spark(local_spark, instance, limits, asked(mode), count_all=True)
    here = explore(instance_of(replicas=2, values=3), limits, count_all=True)
    assert (found.levels, found.exhausted) == (here.levels, True)
    assert {name: one.found.path for name, one in found.findings.items()} == {
        name: one.found.path for name, one in here.findings.items()
    }
    if mode is Mode.SEARCH:
        assert everything(found) == everything(here)


def press(*_: object) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_during_the_enumeration_ends_the_command(tmp_path, check, monkeypatch) -> None:
    write_model(tmp_path / "climb.py", CLIMB.format(north=99))
    monkeypatch.setattr(Budget, "look", press)
    code, out, err = check("climb.py")
    assert (code, out, err.splitlines()[-1]) == (INTERRUPTED, "", "check: interrupted before anything was found")


def test_ctrl_c_during_the_search_keeps_its_findings(instance_of: Build, monkeypatch) -> None:
    instance = instance_of(CLUSTERS.replace("s.offset == -5 or s.isr[s.leader]", "s.leader != 9"))
    generated(instance)
    monkeypatch.setattr(SingleThread, "expand", press)
    found = explore(instance, Limits(None, MEMORY), count_all=True)
    assert (found.stopped, found.levels, found.judged) == ("interrupt", [STARTS], 0)
    assert found.findings["leader_is_in_isr"].found.path == StepPath(STARTS - 1, ())
