"""The symbolic semantics agrees with CPython in every state; products, quotients and remainders are those of Python.

Hypothesis draws a model, its bounds and a configuration; the formulas are built once and compared with the reference
in the states of a random walk and in random states, in all of them at once.
"""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given, reject, seed
from hypothesis import strategies as st

from conformance.tests.checker.compile.test_kernel import (
    OF_FORMULAS,
    choices,
    drawn,
    family_of,
    possible_choices,
    protocols_of,
    shapes_of,
)
from conformance.tests.models.language.test_language import (
    FAILS,
    HELPERS,
    MEANINGS,
    PRELUDE,
    PROPERTIES,
    action,
    base_and_variant,
    in_range,
    only,
    whole,
    write,
)
from conformance.tests.sampling import recorded, sampled
from conformance.tests.support.compared.symbolic import Compared, compare_all, states_of
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph
from isrcheck.checker.symbolic.finite_integers import BinaryInteger, FiniteArithmetic
from isrcheck.checker.symbolic.transition_relation import TransitionRelation
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, assemble
from isrcheck.models.messages import UsageError
from isrcheck.testing import legal_values

# ----------------------------------------------------------------------------------------------- every model, any wish

EXAMPLES, LEAST_ANSWERS, LEAST_SUCCESSORS = OF_FORMULAS

OF_EACH_SHAPE = 16
"""How many configurations are drawn at least for all protocols of kafka with the same shapes."""

SHARES = {
    "kafka": 4,
    "exactly_once": 2,
    "transactions": 2,
    "examples/tla/bcast_byz": 4,
    "examples/tla/paxos": 4,
    "published/others/kip_966": 10,
    "published/others/voting": 4,
}
"""`make test` compares this part of the configurations of the models that take longest."""

LATER = {"published/kip_279", "published/kip_320", "published/kip_320_first_try", "exactly_once", "transactions"}
"""Relatives of `published/kip_101` and of `kafka`, which `make test` compares."""

NAMES = [name for name in registry.names() if not name.endswith(("_liveness", "_scenarios"))]
"""All models but those that have the state and the actions of others."""

LEAVING_A_RANGE = {"kafka", "exactly_once", "transactions", "quorum", "quorum_schemes", "tier", "coordinator"}
LEAVING_A_RANGE |= {"consumer_commits", "published/others/kip_966"}
LEAVING_A_RANGE |= {"examples/tla/barriers", "examples/tla/coffee_can", "examples/tla/lamport_mutex"}
LEAVING_A_RANGE |= {"examples/tla/alternating_bit", "examples/tla/elevator"}
"""Models that leave a declared range in random states, which need not be reachable.

A leader of Kafka or of KIP-966 can be NONE where an action indexes with it, and sequence numbers, epochs, clocks and
counts can be too large; below the end of a log there may be no record, and it may start locally within a segment; a
coordinator's log can be full, and a consumer can poll without a position. The parts of messages can be queues of
different lengths, and a person in an elevator can call one. The other models guard every index, and all that they
count.
"""

Wish = tuple[str, dict[str, int], dict[str, str]]
"""A protocol, values of entries, and swapped actions."""


@st.composite
def wishes(draw: st.DrawFn, name: str, protocol: str) -> Wish:
    """Random bounds, run-time values and swaps for a protocol; half of the draws keep the protocol's switches.

    Values that contradict the others are left out.
    """
    model, _ = registry.load(name)
    kept = model.protocol(protocol).switches if draw(st.booleans(), label="keeps its switches") else {}
    wanted = {}
    for entry_name, entry in model.entries.items():
        if entry_name not in kept:
            room = 2 if entry.is_bound else 3
            most = entry.least + room if entry.most is None else min(entry.most, entry.least + room)
            wanted[entry_name] = draw(st.integers(entry.least, most), label=entry_name)
    swaps = {}
    if len(model.protocols) > 1:
        others = sorted(one for one in model.protocols if shapes_of(name, one) == shapes_of(name, protocol))
        actions = draw(st.sets(st.sampled_from([one.name for one in model.actions]), max_size=3), label="swapped")
        swaps = {one: draw(st.sampled_from(others), label=one) for one in sorted(actions)}
    return protocol, legal_values(model, protocol, {}, wanted, swaps), swaps


def instance_of(name: str, wish: Wish) -> Instance:
    """The instance for a draw; contradictory configurations are drawn again."""
    try:
        instance = registry.load(name)[0].instance(*wish)
        assert instance.initial_states
    except UsageError:
        reject()
    return instance


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "share"),
    [
        *sampled([(name, SHARES.get(name, 1)) for name in NAMES], lambda one: one[0] not in LATER),
        *(recorded((name, 1)) for name in SHARES),
    ],
)
def test_formulas_and_reference_agree(name: str, share: int) -> None:
    compared = Compared()
    chosen: set[tuple[str, str, int]] = set()

    def agree(wish: Wish, number: int) -> None:
        nonlocal compared
        instance, chance = instance_of(name, wish), random.Random(number)
        compared += compare_all(instance, states_of(instance, chance, walked=50, anywhere=10))
        chosen.update(choices(name, instance))

    for protocol in protocols_of(name):
        alike = sum(shapes_of(name, one) == shapes_of(name, protocol) for one in protocols_of(name))
        draws = drawn(max(EXAMPLES[family_of(name)], OF_EACH_SHAPE // alike) // share)
        # Each protocol has a seed of its own: its draws are others than those of the protocols before it.
        draws(seed(protocol)(given(wishes(name, protocol), st.integers(0, 1 << 32))(agree)))()
    assert compared.answers >= LEAST_ANSWERS[family_of(name)] // share**2  # what is drawn first is small
    assert compared.successors >= LEAST_SUCCESSORS[family_of(name)] // share**2
    assert (compared.failures > 0) == (name in LEAVING_A_RANGE)
    # Not for all shapes: that would take many more draws, as for kernels.
    assert share > 1 or {one[1:] for one in chosen} >= {one[1:] for one in possible_choices(name)}


LEAST_IN_ALL = 20_000


def test_more_than_twenty_thousand_comparisons_are_made() -> None:
    assert sum(LEAST_SUCCESSORS[family_of(name)] for name in registry.names()) >= LEAST_IN_ALL
    assert {family_of(name) for name in registry.names()} == set(EXAMPLES) == set(LEAST_ANSWERS)


# ------------------------------------------------------------------------------------------------- one meaning for all

TRAPS = {
    # An index out of range counts exactly where Python asks for it.
    "branch not taken": "if s.f:\n        s.y[3] = 1\n    s.g = s.f",
    "branches within branches": (
        "if s.f:\n        if s.g:\n            s.y[s.x[node]] = 0\n        else:\n            s.y[s.x[node] - 1] = 0"
        "\n    elif s.g:\n        s.y[-s.x[node]] = 0"
    ),
    "or behind and": "s.f = s.x[node] >= 0 and (s.x[node] > 2 or s.y[s.x[node]] == 1) or s.g",
    "chain of cells": "s.f = 0 <= s.x[node] < 3 == s.m > s.y[s.x[node]]",
    "least of indices": "s.y[min(max(s.x[node], 0), 2)] += 1",
    "index in an index": "s.f = s.y[s.y[s.y[0]]] == 1\n    s.g = s.z[s.y[0]][s.y[s.x[node]]]",
    "guard between": "require(s.y[s.x[0]] < 2)\n    require(s.f)\n    s.y[s.x[1]] = 0",
    "guard in a branch": "if s.f:\n        require(s.g)\n    elif s.g:\n        require(s.y[0] == 1)\n    s.y[1] = 0",
    "guard in a loop": (
        "for i in range(s.m):\n        if s.y[i] == 1:\n            require(s.z[0][i])\n    s.f = not s.f"
    ),
    "guard before what fails": "require(s.f)\n    s.y[s.x[0]] = 0",
    "helper that may fail": "s.f = at(s, s.x[node]) == 1 if s.g else at(s, 0) == 2",
    "helper that nothing can reach": "s.x[node] = 1 if s.g and not s.g and at(s, 0) + 1 > 0 else 0",
    "helper nobody asks": "s.f = False and at(s, 7) == 1 or True or at(s, 8) == 1",
    # What is written has to be in range only where it is written.
    "value above in a branch": "if s.y[0] < 2:\n        s.y[0] += 1\n    else:\n        s.y[0] -= 2",
    "value above in a loop": "for i in range(s.m):\n        if s.y[i] == 2 and s.f:\n            s.y[i] += 1",
    "number into a flag": "s.f = s.x[node]",
    "sum into a flag": "s.f = s.f + s.g",
    # Values and truth.
    "and of numbers in a sum": "s.x[node] = (s.y[0] and s.y[1]) + (s.y[2] or s.f) - 1",
    "flags as numbers": "s.x[node] = s.f - (s.y[0] > 1) + (not s.g)\n    s.y[0] = s.f < s.g",
    "flag equals number": "s.f = s.f == s.y[0]\n    s.g = s.y[1] != s.g",
    "greatest of mixed": "s.x[node] = max(s.f, s.y[0] - 1, s.x[node], -1) - min(s.g, s.y[1])",
    "flags that differ": "s.f = s.f != s.g\n    s.z[0][0] = (s.f == s.g) != (s.y[0] > 1)",
    "minus a comparison": "s.x[node] = -(s.y[0] == 2)",
    # Locals.
    "local of one branch": "a = 0\n    if s.f:\n        a = s.y[0]\n        b = a\n    s.y[1] = a",
    "local of either branch": "if s.f:\n        a = s.y[0]\n    else:\n        a = 1\n    s.y[1] = a",
    "local and cell": "a = s.y[0]\n    s.y[0] = 0\n    if s.f:\n        a += s.y[0]\n    s.y[1] = a",
    "loop variable afterwards": "i = 0\n    for i in range(s.m):\n        pass\n    s.y[0] = i",
    "loop variable assigned": "for i in range(s.n):\n        i = i + s.f\n        s.y[i] = 0",
    # Writes that see each other.
    "cell with a symbolic index": "s.y[s.y[0]] -= s.y[0] - 1\n    s.y[s.y[1]] = s.y[s.y[2]]",
    "two indices that meet": "s.z[s.y[0] and 1][s.y[1]] = True\n    s.z[0][s.y[2]] = not s.z[1][s.y[1]]",
    "write seen by the next round": "for i in range(s.m - 1):\n        s.y[i + 1] = min(2, s.y[i] + s.f)",
    "helper that writes": "if s.f:\n        bump(s, s.y[0], 1)\n    bump(s, s.y[1], s.f)",
    # Returns.
    "return within a loop": "s.y[0] = late(s, s.y[1])",
    "return within loops": "s.x[node] = nested(s)",
    "return before what fails": "s.f = careful(s, s.x[node]) > 0",
    "local after a return": "s.y[0] = partial(s)",
    # Folds.
    "filters guard the element": "s.f = all(s.y[i + 1] > 0 for i in range(s.m) if i + 1 < s.m if s.y[i] > 0)",
    "filter guards the next": (
        "s.f = any(s.f for i in range(4) if i < s.m if s.y[i] == 1)"
        "\n    s.g = any(s.z[i][s.x[i]] for i in range(s.n) if 0 <= s.x[i] < 3 if s.y[s.x[i]] == 1)"
    ),
    "filter of the first range": "s.f = any(s.z[i][j] for i in range(s.n) if s.x[i] >= 0 for j in range(3))",
    "fold that ends early": "s.f = any(s.y[i - 1] == 2 if i > 1 else s.y[i] == 1 for i in range(4))",
    "all that ends early": "s.f = all(s.y[i] > 0 for i in range(4))",
    "any in a filter": "s.y[0] = sum(1 for i in range(s.n) if any(s.z[i][j] for j in range(s.m) if j != s.y[1]))",
    "sum of two ranges": "s.y[0] = sum(s.z[i][j] for i in range(s.n) for j in range(s.m) if i != j)",
    "sum of values": "s.x[node] = sum(s.y[i] - s.f for i in range(s.m) if s.y[i] != 1) - 1",
    # Subsets.
    "subset in a fold": "s.f = all(some[i] for i in range(s.m) if s.y[i] > 0)",
    "subset with a symbolic index": "s.f = some[s.y[0]] and not some[s.x[node]]",
}
"""What MEANINGS (test_language.py) does not ask, in the same way."""

TRAPS_THAT_FAIL = {"branch not taken", "branches within branches", "index in an index", "guard between"}
TRAPS_THAT_FAIL |= {"guard before what fails", "helper that may fail", "value above in a loop", "number into a flag"}
TRAPS_THAT_FAIL |= {"sum into a flag", "sum of values", "cell with a symbolic index", "helper that writes"}
TRAPS_THAT_FAIL |= {"all that ends early", "subset with a symbolic index", "least of indices", "sum of two ranges"}
"""Those that leave the declaration in some of the states."""

TRAP_HELPERS = """
def at(s, i):
    return s.y[i]

def bump(s, i, by):
    s.y[i] += by
    if s.g:
        s.y[i] -= by

def late(s, least):
    for i in range(s.m):
        if s.y[i] > least:
            return i
    return least

def nested(s):
    for i in range(s.n):
        for j in range(s.m):
            if s.z[i][j]:
                return i + j
        if s.f:
            return NONE
    return 0

def careful(s, i):
    if i < 0:
        return 0
    if i > 2:
        return 1
    a = s.y[i]
    return a

def partial(s):
    a = s.y[0]
    if s.f:
        a = s.y[1]
        if s.g:
            return a
        a = s.y[2]
    return a

"""


def model_of(folder: Path, helpers: str, bodies: list[str]) -> Instance:
    """One model with an action for each body."""
    body = helpers
    for number, code in enumerate(bodies):
        more = ", some: Places" if "some" in code else ""
        body += action(code, parameters=f"s, node: Node{more}").replace("def act(", f"def act_{number}(") + "\n\n"
    return whole(write(folder, body))


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("helpers", "bodies", "failing"),
    [(HELPERS, MEANINGS, FAILS), (TRAP_HELPERS, TRAPS, TRAPS_THAT_FAIL)],
    ids=["meanings", "traps"],
)
def test_a_line_means_the_same_to_python_and_to_the_formulas(
    tmp_path: Path, helpers: str, bodies: dict[str, str], failing: set[str]
) -> None:
    instance = model_of(tmp_path, helpers, list(bodies.values()))
    states = list(in_range(instance))
    compared = {name: compare_all(only(instance, f"act_{number}"), states) for number, name in enumerate(bodies)}
    assert {name for name, one in compared.items() if one.failures} >= failing
    assert {name for name, one in compared.items() if not one.successors} <= failing


MORE_PROPERTIES = (
    PROPERTIES
    + """

def flag_is_set(s):
    return s.f and s.y[s.y[0]] > 0

@always_step(permitted=flag_is_set)
def flag_never_changes(before, after):
    return before.f == after.f

@lemma
def numbers_are_small(s):
    return sum(s.y[i] for i in range(s.m)) < 4
"""
)


def test_properties_mean_the_same_to_python_and_to_the_formulas(tmp_path: Path) -> None:
    path = write(tmp_path, MORE_PROPERTIES, prelude=PRELUDE.replace(" setting,", " lemma, setting,", 1))
    instance = whole(path)
    assert [lemma.name for lemma in instance.lemmas] == ["numbers_are_small"]
    compared = compare_all(instance, in_range(instance))
    assert (compared.successors, compared.failures) == (1056, 0)


def test_an_index_out_of_range_in_a_property_fails_in_both(tmp_path: Path) -> None:
    text = "@always\ndef p(s):\n    return s.f or s.y[s.x[0]] == 0\n"
    text += "def excused(s):\n    return s.y[s.x[1]] == 0\n\n@always(permitted=excused)\ndef q(s):\n    return s.g\n"
    compared = compare_all(whole(write(tmp_path, text)), in_range(whole(write(tmp_path, text))))
    assert 100 < compared.failures < 400


@pytest.mark.parametrize("size", [0, 1])
def test_empty_and_singleton_domains(tmp_path: Path, size: int) -> None:
    body = (
        action("require(s.x[node] < 3)", "s.x[node] += 1")
        + action("require(some[0])", "s.f = s.x[0] == 0", parameters="s, some: Nodes, node: Node").replace(
            " act(", " more("
        )
        + "@always\ndef p(s):\n    return all(s.x[i] == 0 for i in range(s.n)) == any(True for i in range(s.n))\n"
        + "@always\ndef q(s):\n    return sum(s.z[i][0] for i in range(s.n)) < s.n\n"
    )
    instance = registry.load_file(write(tmp_path, body)).instance(None, {"n": size})
    compared = compare_all(instance, in_range(instance))
    assert (compared.failures, compared.answers) == (0, 400 * (len(instance.steps) + 2))


def test_a_guard_is_not_evaluated_without_a_step(tmp_path: Path) -> None:
    """The guard's index is out of range, but the action has no possible arguments."""
    path = write(tmp_path, action("require(s.y[s.y[0] + 3] == 0)", parameters="s, place: Place, some: Node"))
    instance = only(registry.load_file(path).instance(None, {"n": 0}), "act")
    assert compare_all(instance, in_range(instance)) == Compared(0, 0, 0)


def test_a_swapped_action_may_rename_its_parameters(tmp_path: Path) -> None:
    body = (
        "@action\ndef act(s, place: Node, node: Place):\n"
        "    require(place == 0)\n    require(s.y[node] == 1)\n    s.x[node] = place\n"
    )
    base, swap, _ = base_and_variant(tmp_path, body)
    model = assemble("mine", base, {"plain": (None, {}), "swapped": (swap, {})})
    for protocol in model.protocols:
        instance = model.instance(protocol)
        compared = compare_all(instance, in_range(instance))
        assert (compared.successors, compared.failures) == {"plain": (2800, 0), "swapped": (648, 130)}[protocol]


def test_an_action_that_a_protocol_lacks_is_never_taken(tmp_path: Path) -> None:
    instance = only(whole(write(tmp_path, PROPERTIES)), "act")
    assert {one.step.action for one in TransitionRelation(instance).transitions} == {"act"}
    compared = compare_all(instance, in_range(instance))
    assert 0 < compared.successors < 800


def of_bits(number: int, width: int) -> BinaryInteger:
    """A number whose bits are known; operations on it take every step of those on unknown bits."""
    return BinaryInteger(tuple(TRUE if number >> at & 1 else FALSE for at in range(width)))


def test_products_quotients_and_remainders_of_binary_integers() -> None:
    arithmetic = FiniteArithmetic(AndInverterGraph())
    numbers = (-300, -128, -37, -8, -7, -1, 0, 1, 2, 7, 8, 255, 256, 299)
    for one, other in itertools.product(numbers, numbers):
        assert arithmetic.multiply(of_bits(one, 12), of_bits(other, 10)) == one * other
        if other > 0:
            assert arithmetic.quotient(of_bits(one, 12), of_bits(other, 10)) == one // other
            assert arithmetic.remainder(of_bits(one, 12), other) == one % other
