"""Programs whose names collide: all engines, with and without reductions, find what plain Python does.

Each was a false verdict: HOLDS or PROVED where plain Python has a violation, or a violation that it does not confirm.
`isrcheck.conformance.fuzz.plain_search` is plain Python that uses nothing of the product; the fuzzer makes many more
such programs (conformance/fuzz/collisions).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.tests.support.small_models import action, block, claim, define, domain, entries, helper, model, state
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.proofs.prove import prove
from isrcheck.checker.reductions.find import reduction_of
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import BmcResult, Exploration
from isrcheck.checker.results.proofs import Phase
from isrcheck.checker.symbolic.bounded_model_checking import ask_to_depth
from isrcheck.conformance.fuzz.plain_search import PlainSystem, search
from isrcheck.conformance.fuzz.program import Program, loaded
from isrcheck.models import run
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells

MEMORY = 1 << 26

HEAD = """
from enum import IntEnum
from isrcheck.language import Domain, Flag, Set, Subset, action, always, between, bound, field, require
class Node(Domain, size={nodes}):
    pass
"""

Depths = dict[str, int | None]
"""For each property the depth at which it is violated; None: it holds."""


@dataclass(frozen=True)
class Case:
    """A program, the depths of its violations, and its number of states; `why` its nodes cannot be exchanged, if so."""

    name: str
    text: str
    depths: Depths
    states: int
    why: str = ""
    nodes: int = 3
    library: str | None = None

    @property
    def program(self) -> Program:
        head = HEAD.format(nodes=self.nodes)
        return Program(self.name, head + self.text, library=None if self.library is None else head + self.library)


FILLED = model(
    state("f[Node]: between(0, 2)", "last: between(0, 2)", "is_over: Flag"),
    action("fills(s, x: Node)", "require(not s.is_over and s.f[x] < {most})", "s.f[x] += 1"),
)
"""Nodes are filled, until an action looks at them; what it sees must not depend on their order."""

SEES = model(
    claim("always", "is_not_zero(s)", "not s.is_over or s.last != 0 or sum(s.f[n] for n in Node) != {sum}"),
    claim("always", "is_not_one(s)", "not s.is_over or s.last != 1 or sum(s.f[n] for n in Node) != {sum}"),
)


def seen(looks: str, most: int, total: int) -> str:
    """A program in which an action looks at nodes of whose numbers the sum is `total`."""
    return FILLED.format(most=most) + looks + SEES.format(sum=total)


LOOP_OVER_A_SET = model(
    state("z: Set(of=Node)", "last: between(0, 2)"),
    define("", "last_of(s, x)", "for x in s.z:", "    pass", "return x"),
    action("fills(s, y: Node)", "s.z.add(y)"),
    action("looks(s, x: Node)", "require(x != 2)", "{looks}"),
    claim("always", "is_not_one_unless_a_member(s)", "s.last != 1 or 1 in s.z"),
    claim("always", "is_not_two_unless_a_member(s)", "s.last != 2 or 2 in s.z"),
)
MEMBERS: Depths = {"is_not_one_unless_a_member": 1, "is_not_two_unless_a_member": None}

CASES = (
    Case(
        "a_loop_over_a_set_reuses_a_parameter",
        LOOP_OVER_A_SET.format(looks="for x in s.z:\n        pass\n    s.last = x"),
        MEMBERS,
        20,
    ),
    Case(
        "a_loop_over_a_set_reuses_a_parameter_of_a_helper",
        LOOP_OVER_A_SET.format(looks="s.last = last_of(s, x)"),
        MEMBERS,
        20,
    ),
    Case(
        "a_loop_over_a_subset_reuses_a_parameter",
        model(
            block("Some(Subset, of=Node)", "pass"),
            state("last: between(0, 2)", "is_over: Flag"),
            action(
                "looks(s, some: Some, x: Node)",
                "require(not s.is_over and not (0 in some) and not (1 in some))",
                "for x in some:",
                "    pass",
                "s.last = x",
                "s.is_over = True",
            ),
            claim("always", "is_two(s)", "not s.is_over or s.last == 2"),
        ),
        {"is_two": 1},
        4,
        "the order of this loop's elements decides what x becomes",
    ),
    Case(
        "an_inlined_helper_has_a_variable_of_its_caller",
        """
class State:
    k = field(Node, Node, values=Flag)
    links = field(values=between(0, 3))
def both(s, a, b, y):
    return any(s.k[a][z] and s.k[b][y] for z in Node)
@action
def links(s, x: Node, y: Node):
    require(s.links < 3 and not s.k[x][y])
    s.k[x][y] = True
    s.links += 1
@always
def claim(s):
    return s.links < 3 or all(any(both(s, a, b, z) for a in Node for b in Node if a < b) for z in Node)
""",
        {"claim": 3},
        15,
        "`a < b` orders elements",
        nodes=2,
    ),
    Case(
        "two_modules_have_an_enumeration_of_one_name",
        model(
            "from two_modules_have_an_enumeration_of_one_name_library import is_x\n",
            block("Role(IntEnum)", "X = 1", "Y = 0"),
            state("role[Node]: Role", "is_over: Flag"),
            helper("is_own_x(s, n)", "s.role[n] == Role.X"),
            action("turns(s, x: Node)", "require(not s.is_over)", "s.role[x] = 1", "s.is_over = True"),
            claim(
                "always",
                "claim(s)",
                "not s.is_over or any(is_own_x(s, a) and is_x(s, b) for a in Node for b in Node if a < b)",
            ),
        ),
        {"claim": 1},
        4,
        "`a < b` orders elements",
        library="""
class Role(IntEnum):
    X = 0
    Y = 1
def is_x(s, n):
    return s.role[n] == Role.X
""",
    ),
    Case(
        "two_modules_have_a_domain_of_one_name",
        """
from two_modules_have_a_domain_of_one_name_library import is_full
class State:
    f = field(Node, values=between(0, 3))
    is_over = field(values=Flag)
def is_own_full(s, n):
    return s.f[n] == sum(1 for x in Node)
@action
def fills(s, x: Node, y: Node):
    require(not s.is_over and x != y)
    s.f[x] = 2
    s.f[y] = 3
    s.is_over = True
@always
def claim(s):
    return not s.is_over or any(is_own_full(s, a) and is_full(s, b) for a in Node for b in Node if a < b)
""",
        {"claim": 1},
        7,
        "`a < b` orders elements",
        library="""
class Node(Domain, size=2):
    pass
def is_full(s, n):
    return s.f[n] == sum(1 for x in Node)
""",
    ),
    Case(
        "a_generator_has_the_name_of_a_parameter",
        model(
            state("f[Node]: Flag", "g[Node]: Flag", "is_over: Flag"),
            helper("some(s, x)", "any(s.f[x] for x in Node)"),
            action("sets(s, x: Node)", "require(not any(s.g[n] for n in Node))", "s.g[x] = True"),
            action(
                "spreads(s)",
                "require(not s.is_over)",
                "for r in Node:",
                "    s.f[r] = s.g[r] or some(s, r)",
                "s.is_over = True",
            ),
            claim("always", "is_not_everywhere(s)", "not all(s.f[n] for n in Node)"),
            claim("always", "is_not_once(s)", "sum(1 for n in Node if s.f[n]) != 1"),
        ),
        {"is_not_everywhere": 2, "is_not_once": 2},
        11,
        "the order of this loop's elements decides what f becomes",
    ),
    Case(
        "a_helper_has_the_name_of_a_builtin",
        seen(
            """
def max(x, y):
    return y
@action
def looks(s):
    require(not s.is_over)
    x = 0
    for r in Node:
        x = max(x, s.f[r])
    s.last = x
    s.is_over = True
""",
            1,
            1,
        ),
        {"is_not_zero": 2, "is_not_one": 2},
        16,
        "the order of this loop's elements decides what x becomes",
    ),
    Case(
        "a_loop_reuses_a_local_inside_a_loop_over_nodes",
        seen(
            """
@action
def looks(s):
    require(not s.is_over)
    x = 0
    for r in Node:
        for x in range(s.f[r]):
            pass
    s.last = x
    s.is_over = True
""",
            2,
            3,
        ),
        {"is_not_zero": 4, "is_not_one": 4},
        18,
        "the order of this loop's elements decides what x becomes",
        nodes=2,
    ),
    Case(
        "a_loop_reuses_a_parameter_before_it_is_written",
        seen(
            """
class One(Domain, size=1):
    pass
@action
def looks(s, x: One):
    require(not s.is_over)
    for r in Node:
        for x in range(s.f[r]):
            pass
        s.last = x
    s.is_over = True
""",
            2,
            3,
        ),
        {"is_not_zero": 4, "is_not_one": 4},
        18,
        "the order of this loop's elements decides what",
        nodes=2,
    ),
    Case(
        "a_loop_in_a_helper_reuses_its_parameter",
        seen(
            model(
                domain("One", 1),
                define("", "puts(s, r, x)", "for x in range(s.f[r]):", "    pass", "s.last = x"),
                action(
                    "looks(s, x: One)",
                    "require(not s.is_over)",
                    "for r in Node:",
                    "    puts(s, r, x)",
                    "s.is_over = True",
                ),
            ),
            2,
            3,
        ),
        {"is_not_zero": 4, "is_not_one": 4},
        18,
        "the order of this loop's elements decides what last becomes",
        nodes=2,
    ),
    Case(
        "a_member_of_an_enumeration_has_the_name_of_an_entry",
        model(
            entries('most = bound(3, "a bound", least=1)'),
            block("Limit(IntEnum)", "most = 2"),
            state("total: between(0, 3)"),
            action("adds(s)", "require(s.total == 0)", "for x in range(Limit.most):", "    s.total += 1"),
            claim("always", "claim(s)", "s.total != 2"),
        ),
        {"claim": 1},
        2,
    ),
    Case(
        "a_subset_has_the_name_of_a_field",
        model(
            domain("Small", 2),
            block("Few(Subset, of=Small)", "pass"),
            state("z: Set(of=Node)", "total: between(0, 3)"),
            action("fills(s)", "s.z.add(2)"),
            action("counts(s, z: Few)", "require(s.total == 0)", "s.total = len(z) + len(s.z)"),
            claim("always", "claim(s)", "s.total != 3"),
        ),
        {"claim": 2},
        7,
    ),
)


def by_search(found: Exploration | BmcResult, names: Depths) -> Depths:
    assert "in_range" not in found.findings
    paths = {name: found.findings[name].found.path for name in names}
    return {name: None if path is None else path.depth for name, path in paths.items()}


def by_plain_python(program: Program) -> tuple[Depths, int]:
    found = search(PlainSystem(program, {}, None, {}), 100, 10_000)
    assert found.is_all
    assert not found.errors.count
    paths = {name: one.path for name, one in found.found.items()}
    return {name: None if path is None else len(path[1]) for name, path in paths.items()}, len(found.paths)


def by_reference(instance: Instance) -> Depths:
    """A search with isrcheck.models.run alone."""
    level: set[Cells] = set(instance.initial_states)
    seen, depths = set(level), dict.fromkeys((prop.name for prop in instance.properties), None)
    found: Depths = dict(depths)
    for depth in itertools.count():
        for prop in instance.properties:
            if found[prop.name] is None and not all(run.holds(instance, prop, cells) for cells in level):
                found[prop.name] = depth
        level = {after for cells in level for _, after in run.successors(instance, cells)} - seen
        seen |= level
        if not level:
            return found
    raise AssertionError


def engines(instance: Instance, names: Depths) -> Iterator[tuple[str, Callable[[], Depths]]]:
    """Each engine, as a function that returns the depths that it finds."""

    def explored(reduction: Reduction | None) -> Depths:
        kernel = kernel_of(instance, reduction=reduction)
        return by_search(explore(instance, Limits(None, MEMORY), count_all=True, kernel=kernel), names)

    def reduced() -> Depths:
        return explored(reduction_of(instance, symmetry=False)[0])

    def symmetric() -> Depths:
        try:
            return explored(reduction_of(instance, symmetry=True)[0])
        except UsageError:  # no two elements can be exchanged
            return explored(None)

    yield "the reference", lambda: by_reference(instance)
    yield "the explorer", lambda: explored(None)
    yield "the explorer that clears dead cells", reduced
    yield "the explorer with symmetry", symmetric
    yield "Z3", lambda: by_search(ask_to_depth(instance, Limits(4)), names)


@pytest.mark.whole
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_engine_finds_what_plain_python_does(case: Case, tmp_path: Path) -> None:
    assert by_plain_python(case.program) == (case.depths, case.states)
    with loaded(case.program, tmp_path) as model:
        found = {name: ask() for name, ask in engines(model.instance(), case.depths)}
    assert found == dict.fromkeys(found, case.depths)
    assert len(found) == 5


@pytest.mark.whole
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_is_proved_that_plain_python_refutes(case: Case, tmp_path: Path) -> None:
    with loaded(case.program, tmp_path) as model:
        instance = model.instance()
        proofs = [prove(instance, instance.properties, phase, seconds=2.0).proofs for phase in Phase]
    assert not {name for found in proofs for name in found} & {name for name, depth in case.depths.items() if depth}


@pytest.mark.parametrize("case", [one for one in CASES if one.why], ids=lambda case: case.name)
def test_what_tells_nodes_apart_is_named(case: Case, tmp_path: Path) -> None:
    with loaded(case.program, tmp_path) as model, pytest.raises(UsageError) as refusal:
        reduction_of(model.instance(), symmetry=True)
    assert case.why in str(refusal.value)
