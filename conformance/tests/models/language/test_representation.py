"""The representation of a model's functions says what the functions say, in every model; and a misreading is caught."""

from __future__ import annotations

import ast
import operator
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.support.compared.representation import representation_differs
from isrcheck.models import registry, run
from isrcheck.models.language import interpreter
from isrcheck.models.language.interpreter import Determined
from isrcheck.models.language.ir.nodes import (
    Cell,
    Chain,
    Constant,
    Expression,
    Fold,
    Link,
    Local,
    Node,
    Operation,
    Return,
    Routine,
    Sign,
    Store,
    assigned,
    is_same,
    parts,
    rewrite,
    routines,
    visit,
)
from isrcheck.models.language.model import Instance
from isrcheck.models.language.reading import reader
from isrcheck.models.messages import ModelError
from isrcheck.models.run import Cells

STATES = 12
"""The states of each instance in which everything is compared: each step, each property."""


def instances() -> Iterator[tuple[str, str]]:
    for name in registry.names():
        model, fixed = registry.load(name)
        yield from ((name, protocol) for protocol in ([fixed] if fixed else model.protocols))


def instance_of(name: str, protocol: str) -> Instance:
    return registry.load(name)[0].instance(protocol)


def reached(instance: Instance, most: int) -> Iterator[Cells]:
    """Some states, each a random step after another, or initial."""
    chance = random.Random(instance.cells)
    waiting = list(instance.initial_states[:3])
    seen = set(waiting)
    while waiting and most:
        cells = waiting.pop(chance.randrange(len(waiting)))
        yield cells
        most -= 1
        for step in instance.steps:
            try:
                after = run.take(instance, cells, step)
            except ModelError:
                continue
            if after is not None and after not in seen:
                seen.add(after)
                waiting.append(after)


@pytest.mark.whole
@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "protocol"), list(instances()))
def test_the_representation_of_each_model_means_what_its_functions_mean(name: str, protocol: str) -> None:
    instance = instance_of(name, protocol)
    states = list(reached(instance, STATES))
    assert states
    assert [representation_differs(instance, cells) for cells in states] == [None] * len(states)


@pytest.mark.parametrize("name", ["examples/two_phase_commit", "placement", "quorum_schemes"])
def test_it_does_so_in_every_state_of_a_small_model(name: str) -> None:
    model, _ = registry.load(name)
    for protocol in model.protocols:
        instance = model.instance(protocol)
        states = list(reached(instance, 1_000))
        assert 0 < len(states) < 1_000
        assert [representation_differs(instance, cells) for cells in states] == [None] * len(states)


SCOPES = '''"""Every construct, and names that mean several things."""

from enum import IntEnum

from isrcheck.language import Domain, Flag, Subset, action, always, always_step, between, bound, field, require


class Configuration:
    n = bound(3, "places")


class Place(Domain, size="n"):
    pass


class Places(Subset, of=Place):
    pass


class Color(IntEnum):
    RED = 0
    GREEN = 1


LIMIT = 4


class State:
    color = field(Place, values=Color)
    total = field(values=between(0, 40))
    is_set = field(values=Flag)


def weight(s, x):
    x += 1
    return sum(x * y for x in range(2) for y in range(x, x + 2)) + x


def paint(s, x, chosen: Places):
    for y in range(s.n):
        if chosen[y] and y <= x:
            s.color[y] = Color.GREEN
        elif y == x - 1:
            s.color[y] = Color.RED


@action
def step(s, x: Place, chosen: Places):
    require(not s.is_set or x in (1, 2))
    require(0 <= x < s.n - 1 or chosen[x])
    y = max(x, 1) if chosen[0] else -x if s.is_set else min(x for x in range(1, 3))
    s.total = min((weight(s, x) + 2 * y) % 7 + LIMIT // 2, 40)
    paint(s, x, chosen)
    s.is_set = any(s.color[x] == Color.GREEN for x in range(s.n) if x != y)


@action
def undo(s):
    s.total -= max((x for x in range(s.n) if s.color[x] == Color.RED), default=0)
    s.is_set = all(s.color[x] for x in range(s.n))


@always
def small(s):
    return s.total <= 40 and (s.is_set or s.total >= 0)


@always_step
def paints(before, after, taken):
    return taken == step or before.total >= after.total or taken != undo
'''

REACHED, EXPRESSIONS = 69, 41
"""The reached states of that model, and the expressions of its functions that are no constants."""


@pytest.fixture
def scopes(tmp_path: Path) -> Instance:
    """A model with every construct."""
    (tmp_path / "scopes.py").write_text(SCOPES, encoding="utf-8")
    return registry.load_file(tmp_path / "scopes.py").instance("")


def routine(instance: Instance, name: str) -> Routine:
    functions = [instance.function(index).routine for index in range(len(instance.model.actions))]
    (named,) = (one for one in routines(functions) if one.name == name)
    return named


def test_every_construct_and_every_scope_means_what_it_means_to_python(scopes: Instance) -> None:
    states = list(reached(scopes, 400))
    assert len(states) == REACHED
    assert [representation_differs(scopes, cells) for cells in states] == [None] * len(states)


def test_a_name_in_a_generator_is_a_variable_of_its_own(scopes: Instance) -> None:
    """And a helper's parameter is not the caller's variable of the same name."""
    weight = routine(scopes, "weight")
    variables = [node.variable for node in visit(weight.body) if isinstance(node, Local) and node.variable.name == "x"]
    generator = next(node for node in visit(weight.body) if isinstance(node, Fold)).generators[0]
    assert len(variables) == 5
    assert [one is generator.variable for one in variables] == [False, True, True, True, False]
    assert [one is weight.parameters[1] for one in variables] == [True, False, False, False, True]
    assert assigned(weight.body) == {weight.parameters[1]}
    step = routine(scopes, "step")
    assert {one.name for one in step.parameters} == {"s", "x", "chosen"}
    assert not set(variables) & {one.variable for one in visit(step.body) if isinstance(one, Local)}


def test_each_number_of_a_chain_is_read_once(tmp_path: Path) -> None:
    """Or chains in chains would double with each level, and helpers in chains with each call."""
    nested = "before.total"
    for _ in range(12):
        nested = f"(0 <= {nested} <= 1)"
    text = SCOPES.replace("taken == step or", f"{nested} or taken == step or")
    (tmp_path / "nested.py").write_text(text, encoding="utf-8")
    (prop,) = (one for one in registry.load_file(tmp_path / "nested.py").properties if one.of_steps)
    nodes = list(visit(prop.function.routine.body))
    assert [sum(isinstance(node, kind) for node in nodes) for kind in (Chain, Link, Cell)] == [12, 24, 3]


def test_the_configuration_determines_what_uses_neither_the_state_nor_a_variable(scopes: Instance) -> None:
    determined = Determined(scopes)
    nodes = [one for name in ("step", "undo", "paint") for one in visit(routine(scopes, name).body)]
    expressions = [one for one in nodes if isinstance(one, Expression) and not isinstance(one, Constant)]
    numbers = {one.span.text: determined.number(one) for one in expressions}
    assert {text: number for text, number in numbers.items() if number is not None} == {
        "s.n": 3,
        "s.n - 1": 2,
        "LIMIT // 2": 2,
        "min(x for x in range(1, 3))": 1,
    }
    assert len(numbers) == EXPRESSIONS


TRUTHS = {
    "s.n == 3 or s.is_set": True,
    "s.is_set or s.n == 3": True,
    "s.is_set and not s.n": False,
    "not (s.is_set and s.n < 3)": True,
    "s.is_set and s.n": None,
    "small(s)": None,
    "0 and s.total": False,
    "any(s.n < 3 and s.color[x] == 1 for x in range(s.n))": False,
    "all(LIMIT > x for x in range(s.n))": True,
    "s.n and LIMIT": True,
}
"""Conditions, and what the configuration says of them."""


def test_a_part_that_decides_determines_a_condition_wherever_it_stands(tmp_path: Path) -> None:
    claims = "".join(f"\n\n@always\ndef claim_{number}(s):\n    return {one}\n" for number, one in enumerate(TRUTHS))
    (tmp_path / "truths.py").write_text(SCOPES + claims, encoding="utf-8")
    instance = registry.load_file(tmp_path / "truths.py").instance("")
    conditions = [one.function.routine.body[0] for one in instance.properties if one.name.startswith("claim")]
    determined = Determined(instance)
    assert [determined.truth(one.value) for one in conditions if isinstance(one, Return)] == list(TRUTHS.values())


MISREADINGS = {
    "at most is less": (interpreter, "SIGNS", Sign.AT_MOST, operator.lt),
    "equal is at least": (interpreter, "SIGNS", Sign.EQUAL, operator.ge),
    "a product is a sum": (interpreter, "OPERATIONS", Operation.TIMES, operator.add),
    "a remainder is a quotient": (interpreter, "OPERATIONS", Operation.MODULO, operator.floordiv),
    "less is greater": (reader, "SIGNS", ast.Lt, Sign.GREATER),
}
"""A table of the interpreter or of the reader, and what stands in it for the sake of the test."""


@pytest.mark.parametrize("says", MISREADINGS)
def test_a_misreading_is_caught(says: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    module, table, key, wrong = MISREADINGS[says]
    monkeypatch.setattr(module, table, {**getattr(module, table), key: wrong})
    scopes = request.getfixturevalue("scopes")  # is read with the wrong table
    assert any(representation_differs(scopes, cells) for cells in reached(scopes, 60))


# ------------------------------------------------------------------------------------------------------------ walking


def test_every_node_is_visited_once(scopes: Instance) -> None:
    step = routine(scopes, "step")
    nodes = list(visit(step.body))
    assert len({id(node) for node in nodes}) == len(nodes)
    assert {id(part) for node in nodes for part in parts(node)} == {id(node) for node in nodes} - set(
        map(id, step.body)
    )
    assert [one.name for one in routines([step])] == ["step", "paint", "weight"]


def test_a_rewriting_changes_what_it_names_and_keeps_the_rest(scopes: Instance) -> None:
    step = routine(scopes, "step")

    def doubled(node: Node) -> Node:
        return replace(node, value=8) if isinstance(node, Constant) and node.value == 4 else node

    changed = [rewrite(statement, doubled) for statement in step.body]
    assert [one is other for one, other in zip(changed, step.body, strict=True)] == [
        True,
        True,
        True,
        False,
        True,
        True,
    ]
    assert [node.value for node in visit(changed) if isinstance(node, Constant) and node.value in (4, 8)] == [8]


def test_two_nodes_are_the_same_if_they_say_the_same_of_the_same_variables(scopes: Instance) -> None:
    step, weight, undo = (routine(scopes, name) for name in ("step", "weight", "undo"))
    subtraction, reset = (statement for statement in undo.body if isinstance(statement, Store))
    read = [node for node in visit([subtraction.value]) if isinstance(node, Cell)]
    assert [is_same(subtraction.cell, cell) for cell in read] == [True, False]
    assert [is_same(reset.cell, cell) for cell in read] == [False, False]
    assert [is_same(one, other) for one in step.guards for other in step.guards] == [True, False, False, True]
    names = [node for node in visit(weight.body) if isinstance(node, Local) and node.variable.name == "x"]
    assert [is_same(names[0], other) for other in names] == [True, False, False, False, True]
