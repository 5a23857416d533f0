"""Which domains may be permuted: what tells elements apart is refused with its place; what is not refused, is right."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from conformance.tests.checker.reductions.random_models import HEAD, model_text
from conformance.tests.sampling import exhaustive
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.reductions.find import symmetry_of
from isrcheck.checker.reductions.reduction import Block, Reduction, Symmetry
from isrcheck.checker.reductions.sorts import Sort, Sorts
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import registry, run
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import LanguageError, ModelError, UsageError
from isrcheck.models.registry import load_file

ACT = "\n\n@action\ndef act(s, n: Node, m: Node, k: Key):\n    require(s.up[n])\n    {}\n"
PROPERTY = "\n\n@always\ndef fine(s):\n    return {}\n"


def sorts_of(folder: Path, text: str) -> Sorts:
    path = folder / "model.py"
    path.write_text(HEAD.format(nodes=3, keys=2) + text, encoding="utf-8")
    return Sorts(load_file(path).instance())


LINE = HEAD.count("\n") + 6
"""The line of what stands in the action."""


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("s.level[n] = min(n, 2)", "`min(n, 2)` orders elements"),
        ("s.up[n] = n < m", "`n < m` orders elements"),
        (
            "s.total = max((x for x in Node if s.up[x]), default=0)",
            "`max((x for x in Node if s.up[x]), default=0)` orders elements",
        ),
        ("s.up[n] = s.owner >= 0", "`s.owner >= 0` orders elements"),
        ("s.total = n + 1", "`n + 1` is arithmetic with an element"),
        ("s.total = sum(x for x in range(s.nodes) if s.up[x])", "a sum of elements"),
        ("s.owner = 1 if s.total > 2 else s.total + 1", "`s.total + 1` uses a computed number as an element"),
        ("s.owner = first_up(s)", "returns from a loop over elements: which one comes first decides"),
        (
            "for x in range(s.nodes):\n        if s.up[x]:\n            s.owner = x",
            "the order of this loop's elements decides what owner becomes",
        ),
        (
            "for x in range(s.nodes):\n        s.total = s.level[x]",
            "the order of this loop's elements decides what total becomes",
        ),
        (
            "last = 0\n    for x in range(s.nodes):\n        last = s.level[x]\n    s.level[n] = last",
            "the order of this loop's elements decides what last becomes",
        ),
        (
            "for x in range(s.nodes):\n        s.up[x] = not s.up[n]",
            "the order of this loop's elements decides what up becomes",
        ),
        (
            "for x in range(s.nodes):\n        s.total += s.level[x]",
            "the order of this loop's elements decides what total becomes",
        ),
        (
            "for m in range(s.nodes):\n        s.up[m] = True\n    s.owner = m",
            "after this loop, `m` is the last element",
        ),
        ("s.up[n] = any(s.up[x] for x in range(1, s.nodes))", "a loop over 1..2, a part of Node"),
        (
            "for x in range(s.nodes):\n        require(s.up[x])\n    s.up[n] = False",
            "`require` in a loop: the first element decides; write require(all(...))",
        ),
        (
            "s.up[n] = any(s.knows[a][b] for a in range(s.nodes) for b in range(s.nodes) if a < b)",
            "`a < b` orders elements",
        ),
        (  # `2 and 1` is 1, and `1 and 2` is 2
            "s.up[n] = any((s.level[a] and s.level[b]) == 2 for a in range(3) for b in range(3) if a < b)",
            "`a < b` orders elements",
        ),
    ],
)
def test_what_tells_elements_apart_is_named(statement: str, reason: str, tmp_path: Path) -> None:
    sorts = sorts_of(tmp_path, ACT.format(statement))
    ((domain, said),) = [(one.__name__, why) for one, why in sorts.asymmetric.items()]
    assert domain == "Node"
    assert said.startswith(str(tmp_path / "model.py"))
    assert said.endswith(reason)
    place = int(said.split(":")[1])
    assert LINE <= place <= LINE + 3 or "first_up" in statement
    assert [one.name for one in sorts.symmetric] == ["Key"]


@pytest.mark.parametrize(
    ("statement", "fixed"),
    [
        ("s.owner = n", []),
        ("s.owner = NONE", []),
        ("s.owner = 2", [2]),
        ("s.up[n] = s.owner == 0 or s.follows[n] == 1", [0, 1]),
        ("s.up[0] = s.up[1]", [0, 1]),
        ("s.up[n] = not s.owner", [0]),
        ("for x in range(s.nodes):\n        s.up[x] = x == n", []),
        ("for x in range(s.nodes):\n        s.total += 1", []),
        ("for x in range(s.nodes):\n        if s.up[x]:\n            s.total = 0", []),
        ("for x in range(s.nodes):\n        copy_row(s, x, x)", []),
        ("low = 2\n    for x in range(s.nodes):\n        low = min(low, s.level[x])\n    s.level[n] = low", []),
        ("s.total = max(s.level[x] for x in Node) + min((s.level[x] for x in Node if s.up[x]), default=1)", []),
        ("s.total = s.total + 1", []),
        ("s.up[n] = all(s.level[a] == s.level[b] for a in range(3) for b in range(3) if a < b)", []),
        ("s.up[n] = any(not (s.level[a] and s.level[b]) for a in range(3) for b in range(3) if a < b)", []),
        ("if s.pick == 1:\n        s.owner = first_up(s)", []),
        ("s.owner = first_up(s) if s.pick == 1 and s.up[n] else n", []),
    ],
)
def test_what_treats_elements_alike_is_symmetric(statement: str, fixed: list[int], tmp_path: Path) -> None:
    sorts = sorts_of(tmp_path, ACT.format(statement))
    assert sorts.asymmetric == {}
    assert [(one.name, one.size, sorted(one.fixed)) for one in sorts.symmetric] == [("Node", 3, fixed), ("Key", 2, [])]


@pytest.mark.parametrize(
    "judge",
    [
        "@always\ndef judge(s):\n    return s.owner\n",
        "@always\ndef judge(s):\n    return s.owner if s.up[1] else NONE\n",
        "@always(permitted=allowed)\ndef judge(s):\n    return s.total == 0\n",
    ],
)
def test_what_judges_a_state_tells_element_0_from_the_others(judge: str, tmp_path: Path) -> None:
    """Only the truth of its result counts, and 0 is false: element 0 breaks `return s.owner`, said to hold."""
    allowed = "\n\ndef allowed(s):\n    return s.owner\n"
    sorts = sorts_of(tmp_path, ACT.format("s.owner = n") + allowed + "\n\n" + judge)
    assert [0 in one.fixed for one in sorts.symmetric if one.name == "Node"] == [True]


def test_the_value_of_an_or_is_the_number_that_decides(tmp_path: Path) -> None:
    """`s.pick or 2` names element 2, not 1: with 1 kept in its place, one of two different steps was left out."""
    text = "\n\n@action\ndef rises(s, n: Node):\n    require(s.total == 0)\n    s.total = 1\n    s.up[n] = True\n"
    text += "\n\n@action\ndef asks(s):\n    require(s.total == 1)\n    s.total = 2 if s.up[s.pick or 2] else 3\n"
    text += "".join(f"\n\n@always\ndef never_{number}(s):\n    return s.total != {number}\n" for number in (2, 3))
    instance = sorts_of(tmp_path, text).instance
    symmetry = symmetry_of(instance)
    assert symmetry is not None
    assert [block.elements for block in symmetry.blocks if block.name == "Node"] == [(0, 1)]
    kernel = kernel_of(instance, reduction=Reduction(symmetry))
    paths = [explore(instance, Limits(), kernel=kernel).findings[f"never_{number}"].found.path for number in (2, 3)]
    assert [path is not None and path.depth for path in paths] == [2, 2]


def test_domains_whose_elements_meet_have_one_sort(tmp_path: Path) -> None:
    text = ACT.format("s.up[n] = False") + PROPERTY
    sorts = sorts_of(tmp_path, text.format("all(s.up[x] or s.has[0][x] for x in range(2))"))
    assert [one.__name__ for one in sorts.asymmetric] == ["Node", "Key"]
    assert "elements of domains of different sizes are compared: Node with 3, Key with 2" in str(sorts.asymmetric)


def test_the_replicas_of_kafka_and_of_the_published_models_are_symmetric() -> None:
    for name, order, replicas in (("kafka", 2, (1, 2)), ("published", 6, (0, 1, 2))):
        model = registry.load(name)[0]
        for protocol in {"kafka": ("0.10", "2.8", "4.1")}.get(name, model.protocols):
            found = symmetry_of(model.instance(protocol))
            assert found is not None
            assert (found.order, [block.elements for block in found.blocks]) == (order, [replicas]), protocol


def test_no_symmetry_at_all_is_explained() -> None:
    with pytest.raises(
        UsageError, match=r"--symmetry: transactions has no two elements that can be exchanged \(.*: in"
    ):
        symmetry_of(registry.load("transactions")[0].instance("3.7"))


def test_a_declared_domain_that_is_ordered_is_refused(tmp_path: Path) -> None:
    text = HEAD.replace('size="nodes"', 'size="nodes", symmetric=True') + ACT.format("s.up[n] = n < m")
    path = tmp_path / "model.py"
    path.write_text(text.format(nodes=3, keys=2), encoding="utf-8")
    with pytest.raises(LanguageError, match=rf"{LINE}: in act: `n < m` orders elements; so .* Node are not"):
        symmetry_of(load_file(path).instance(), declared=True)


# ------------------------------------------------------------------------------------------------------- random models


@pytest.mark.parametrize("part", [0, *map(exhaustive, range(1, 30))])
def test_steps_and_properties_of_random_models_respect_the_permutations(part: int, tmp_path: Path) -> None:
    """In random states, not only in reachable ones; a constant is kept, and what may differ is refused."""
    found = 0
    for number in range(8):
        chance = random.Random(f"{part}/{number}")
        path = tmp_path / f"model_{number}.py"
        path.write_text(model_text(chance, 0.05), encoding="utf-8")
        instance = load_file(path).instance()
        sorts = Sorts(instance).symmetric
        if any(one.size - len(one.fixed) > 1 for one in sorts):
            found += 1
            compare(instance, sorts, chance)
    assert found > 3


def compare(instance: Instance, sorts: list[Sort], chance: random.Random) -> None:
    blocks = tuple(Block(number, one.name, tuple(set(range(one.size)) - one.fixed)) for number, one in enumerate(sorts))
    known = symmetry_of(instance)
    assert known is not None
    symmetry = Symmetry(blocks, known.sizes, known.cells, known.arguments, frozenset(), frozenset())
    layouts = [layout for layout in instance.layouts.values() for _ in range(layout.count)]
    for _ in range(8):
        state = tuple(chance.randint(layout.low, layout.high) for layout in layouts)
        images = chance.choice(symmetry.all_permutations)
        other = symmetry.permuted(state, images)
        for step in chance.sample(instance.steps, 20):
            there = instance.step(symmetry.step(instance, step.number, images))
            try:
                after = run.take(instance, state, step)
                expected = None if after is None else symmetry.permuted(after, images)
                assert run.take(instance, other, there) == expected
            except ModelError:
                continue
        for prop in instance.properties:
            assert run.holds(instance, prop, state) == run.holds(instance, prop, other)
