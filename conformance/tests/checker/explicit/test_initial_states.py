"""Initial states made by generators: compiled code and plain Python make the same ones, in the same order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from isrcheck.checker.explicit import initial_states
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.explicit.initial_states import generate_initial_states
from isrcheck.checker.resources.limits import Budget, Limits, Spent
from isrcheck.checker.running.session import enumerate_initial_states
from isrcheck.checker.symbolic.bounded_model_checking import ask_to_depth
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import LanguageError, ModelError, UsageError
from isrcheck.models.registry import load_file

MEMORY = 1 << 28

CLUSTERS = '''\
"""A leader that moves within its ISR."""

from isrcheck.language import Domain, Flag, Subset, action, always, between, bound, field, initial, require, sometimes


class Configuration:
    replicas = bound(3, "replicas", least=0, option="--replicas")
    values = bound(5, "different values", least=0, option="--values")


class Replica(Domain, size="replicas"):
    pass


class ReplicaSet(Subset, of=Replica):
    pass


class Value(Domain, size="values"):
    pass


class State:
    leader = field(values=between(0, 9))
    isr = field(Replica, values=Flag)
    offset = field(values=between(-5, 70000), initially=-5)
    one = field(values=between(0, 200000))
    other = field(values=between(0, 200000))
    third = field(values=between(0, 200000))


def is_in_order(one, other):
    return one <= other


@initial
def any_start(s, leader: Replica, isr: ReplicaSet, one: Value, other: Value, third: Value):
    """Any leader in any ISR."""
    require(isr[leader])
    require(is_in_order(one, other))
    require(third == 0 or s.offset == -5)
    s.leader = leader
    for replica in range(s.replicas):
        s.isr[replica] = isr[replica]
    s.one = one
    s.other = other
    s.third = min(third, 3)
    s.offset = one + other


@initial
def old_start(s, one: Value):
    s.one = min(one, 3)


@initial
def only_start(s):
    s.leader = 9


@action
def leader_moves(s, replica: Replica):
    require(s.isr[replica] and s.leader != replica)
    s.leader = replica


@always
def leader_is_in_isr(s):
    return s.offset == -5 or s.isr[s.leader]


@sometimes
def last_leads(s):
    return s.leader == 2 and s.one == 1
'''


@pytest.fixture
def instance_of(tmp_path: Path) -> Callable[..., Instance]:
    def build(text: str = CLUSTERS, **values: int) -> Instance:
        path = tmp_path / "clusters.py"
        path.write_text(text, encoding="utf-8")
        return load_file(path).instance(None, values)

    return build


@pytest.mark.parametrize(("work", "room"), [(1 << 22, 1 << 14), (7, 3), (50, 1)])
def test_compiled_generators_agree_with_plain_python(
    work: int, room: int, instance_of: Callable[..., Instance], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if a call of the compiled function ends after little work, or for want of room."""
    monkeypatch.setattr(initial_states, "WORK", work)
    monkeypatch.setattr(initial_states, "ROOM", room)
    for values in ({}, {"replicas": 1, "values": 7}, {"replicas": 0}, {"values": 0}):
        plain, compiled = instance_of(**values), instance_of(**values)
        found = generate_initial_states(compiled, MEMORY, lambda count, size: None)
        assert found.packed == plain.initial_states.packed
        assert compiled.initial_states is found and len(set(found)) == len(found)
        assert compiled.digest == plain.digest
    assert len(instance_of().initial_states) == 12 * 15 * 4 + 4 + 1


def test_generators_come_in_order_and_states_once(instance_of: Callable[..., Instance]) -> None:
    states = instance_of(replicas=1, values=2).initial_states
    assert list(states) == [
        *((0, 1, one + other, one, other, third) for one, other in ((0, 0), (0, 1), (1, 1)) for third in (0, 1)),
        *((0, 0, -5, one, 0, 0) for one in (0, 1)),
        (9, 0, -5, 0, 0, 0),
    ]


def test_every_engine_starts_from_them(instance_of: Callable[..., Instance]) -> None:
    limits = Limits(2, MEMORY)
    text = CLUSTERS.replace("s.offset == -5 or s.isr[s.leader]", "s.leader != 2 or s.one != 1 or s.third != 2")
    plain, compiled = instance_of(text), instance_of(text)
    enumerate_initial_states(compiled, Budget(None, MEMORY))
    found = [explore(one, limits, count_all=True) for one in (plain, compiled)]
    assert found[0].levels == found[1].levels == [725]
    paths = [one.findings["leader_is_in_isr"].found.path for one in (*found, ask_to_depth(compiled, limits))]
    assert paths[0] == paths[1] == paths[2]
    assert paths[0] is not None and paths[0].steps == ()
    assert compiled.initial_states[paths[0].initial] == (2, 0, 0, 1, 2, 1, 1, 2)


def test_more_combinations_than_there_can_be_steps(instance_of: Callable[..., Instance]) -> None:
    """A guard in an outer loop spares 8 * 10^12 combinations the work."""
    text = CLUSTERS.replace("    require(is_in_order(one, other))", "    require(one == 7)\n    require(other == one)")
    instance = instance_of(text, values=20_000)
    assert len(generate_initial_states(instance, MEMORY, lambda count, size: None)) == 12 * 4 + 4 + 1


LATE = "any_start 0 {0} 0 0 4: 12 is written to leader, whose values are 0..9; guard the step, or widen the field"
LEAVES = {
    "late": ("s.leader = leader\n", "s.leader = leader + third + third + third\n", LATE),
    "hoisted": (
        "    require(isr[leader])",
        "    require(isr[leader + (1 if leader == 2 else 0)])",
        "any_start 2 {} 0 0 0: index 3 of a subset is outside 0..2; test it before it is used",
    ),
}


@pytest.mark.parametrize("name", LEAVES)
def test_a_generator_that_leaves_a_range(name: str, instance_of: Callable[..., Instance]) -> None:
    """Both say the same: which generator, which arguments, which value."""
    old, new, says = LEAVES[name]
    said = []
    for find in (lambda one: generate_initial_states(one, MEMORY, lambda count, size: None), Instance.enumerated):
        with pytest.raises(ModelError) as refusal:
            find(instance_of(CLUSTERS.replace(old, new)), *([lambda count, size: None] * (find is Instance.enumerated)))
        said.append(str(refusal.value))
    assert said[0] == said[1]
    assert says in said[0]


def test_a_generator_that_is_never_enabled(instance_of: Callable[..., Instance]) -> None:
    text = CLUSTERS.replace("    require(isr[leader])", "    require(leader > 2)")
    text = text.replace("    s.one = min(one, 3)", "    require(one < 0)").replace(
        "    s.leader = 9", "    require(False)"
    )
    for instance in (instance_of(text), instance_of(text)):
        with pytest.raises(ModelError) as refusal:
            enumerate_initial_states(instance, Budget(None, MEMORY))
        assert str(refusal.value) == (
            "clusters: this configuration has no initial state; make @initial enabled for some arguments"
        )


def test_refused_generators(instance_of: Callable[..., Instance]) -> None:
    both = CLUSTERS.replace("def only_start(s):\n    s.leader = 9", "def only_start(configuration):\n    yield {}")
    with pytest.raises(
        LanguageError, match="several @initial functions, of the configuration and of a state; keep one form"
    ):
        instance_of(both)
    with pytest.raises(LanguageError, match="parameter one has no domain"):
        instance_of(CLUSTERS.replace("def old_start(s, one: Value)", "def old_start(s, one)"))
    with pytest.raises(
        UsageError, match=r"any_start has more than 2\*\*60 combinations of arguments; use smaller bounds"
    ):
        assert instance_of(values=1 << 30).layouts
    outside = CLUSTERS.replace("between(-5, 70000), initially=-5", "between(1, 70000)")
    with pytest.raises(ModelError, match=r"offset starts with 0; give a value in 1\.\.70000"):
        assert instance_of(outside).initial_states


@pytest.mark.parametrize(("seconds", "memory", "why"), [(0.2, 1 << 33, "seconds"), (None, 4 << 20, "memory")])
def test_limits_end_the_enumeration(
    seconds: float | None, memory: int, why: str, instance_of: Callable[..., Instance]
) -> None:
    """No search starts from only some of the initial states."""
    instance = instance_of(values=2_000)
    with pytest.raises(Spent) as spent:
        enumerate_initial_states(instance, Budget(seconds, memory))
    assert spent.value.why == why
    assert not instance.is_enumerated
