"""The key of a kernel: all that its code depends on, and nothing else; what has the same key uses the same kernel."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

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
from conformance.tests.test_architecture import graph
from isrcheck.checker.compile import machine_code
from isrcheck.checker.compile.generators import GeneratorCode
from isrcheck.checker.compile.kernel import Kernels, generators_key, kernel_key
from isrcheck.checker.compile.kernel_code import KernelCode
from isrcheck.checker.compile.layout import layout_of
from isrcheck.checker.compile.staging import new_module
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.reductions.find import reduction_of
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.checker.resources.cache import modules_of
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import registry
from isrcheck.models.language.model import Instance
from isrcheck.models.language.mutants import mutants
from isrcheck.models.registry import load_file

MODEL = model(
    '"""Guests of several houses go in and out."""\n',
    "STRIDE = 1\n",
    entries(
        'guests = bound(2, "guests", least=1, most=4)',
        'most = bound(3, "the greatest count", least=1, most=6)',
        'limit = bound(3, "what a guest counts to", least=1, most=6)',
        'patience = setting(5, "when counting ends", least=1, most=6)',
        'pace = setting(2, "what is late", least=1, most=6)',
        'turns = setting(2, "turns", least=1, most=6)',
    ),
    domain("Guest", '"guests"'),
    domain("Pace", '"pace"'),
    domain("Turn", '"turns"'),
    block("Group(Subset, of=Guest)", "pass"),
    state('count[Guest]: between(0, "most")', "inside[Guest]: Flag"),
    helper("may_go(s, guest)", "s.count[guest] < s.limit and s.count[guest] < s.patience"),
    define("initial", "begin(s, guest: Guest)", "s.inside[guest] = True"),
    action("goes(s, guest: Guest)", "require(may_go(s, guest))", "s.count[guest] += STRIDE"),
    action(
        "gather(s, group: Group)",
        "require(all(group[guest] or s.inside[guest] for guest in range(len(Guest))))",
        "for guest in range(len(Guest)):",
        "    s.inside[guest] = False",
    ),
    action("turns_round(s, turn: Turn)", "require(s.count[0] == turn)", "s.count[0] = 0"),
    helper("is_late(s)", "s.count[0] == len(Pace)"),
    claim("always", "few(s)", "s.count[0] < 3"),
    claim("always(permitted=is_late)", "small(s)", "all(count_of(s, guest) < 3 for guest in range(len(Guest)))"),
    helper("count_of(s, guest)", "s.count[guest]"),
)


def instance_of(folder: Path, *changes: tuple[str, str], **values: int) -> Instance:
    text = MODEL
    for old, new in changes:
        assert text.count(old) >= 1
        text = text.replace(old, new)
    folder.mkdir()
    return load_file(write_model(folder / "house.py", text)).instance("", values)


def code_of(instance: Instance, reduction: Reduction | None = None, builder: type[KernelCode] = KernelCode) -> str:
    with new_module() as built:
        reductions = [] if builder is GeneratorCode else [reduction]
        builder(built, instance, layout_of(instance), *reductions).build()
        return built.assembly()


CHANGES: dict[str, tuple[tuple[str, str], ...]] = {
    "a helper": (("and s.count[guest] < s.patience", "and s.count[guest] <= s.patience"),),
    "a helper of a property": (("return s.count[guest]\n", "return s.count[guest] + 0\n"),),
    "what is permitted": (("== len(Pace)", "!= len(Pace)"),),
    "a constant": (("STRIDE = 1", "STRIDE = 2"),),
    "the range of a field": (('between(0, "most")', "between(0, 7)"),),
    "the kind of a field": (("values=Flag", "values=between(0, 1)"),),
    "the kind of a setting": (('5, "when counting ends", least=1, most=6', 'True, "whether it counts", values=bool'),),
    "the width of a setting": (('"when counting ends", least=1, most=6', '"when counting ends", least=1, most=600'),),
    "the kind of a property": (("@always\ndef few", "@sometimes\ndef few"),),
    "a premise": (("@always\ndef few", "@leads_to(when=is_late)\ndef few"),),
    "an action less": (("@action\ndef goes", "def goes"),),
    "the size of a domain": (('class Guest(Domain, size="guests")', 'class Guest(Domain, size="most")'),),
}
"""What changes the code."""

SAME: dict[str, tuple[tuple[str, str], ...]] = {
    "a comment": (("\n\ndef is_late", "\n\n# late\ndef is_late"),),
    "the default of a setting": (("setting(5,", "setting(4,"),),
    "the documentation": (("    return s.count[0] == len", '    """Late."""\n    return s.count[0] == len'),),
}
"""What does not."""

COMPILED_IN = {"guests": 3, "most": 4, "limit": 2, "pace": 3, "turns": 3}
"""Other values of bounds, and of settings on which the size of a domain depends."""


TWO_DOMAINS = model(
    "from visitors_of_a_house import Guest as Visitor\n",
    entries('guests = bound(2, "guests", least=1, most=4)', 'visitors = bound(3, "visitors", least=1, most=4)'),
    domain("Guest", "lambda configuration: configuration.guests"),
    state("count: between(0, 9)"),
    action("grow(s)", "s.count = len(Guest) + len(Visitor)"),
    claim("always", "small(s)", "s.count < len({domain})"),
)

LIBRARY = """
from isrcheck.language import Domain

class Guest(Domain, size=lambda configuration: configuration.visitors):
    pass
"""


def test_two_domains_of_one_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their sizes are functions, of which a digest says only that they are functions."""
    monkeypatch.syspath_prepend(tmp_path)
    write_model(tmp_path / "visitors_of_a_house.py", LIBRARY)
    instances = [
        load_file(write_model(tmp_path / f"{domain}.py", TWO_DOMAINS.format(domain=domain))).instance()
        for domain in ("Guest", "Visitor")
    ]
    assert [instance.sizes for instance in instances] == [(2, 3), (2, 3)]
    assert len(set(map(code_of, instances))) == 2
    assert len({kernel_key(instance, None) for instance in instances}) == 2


DECLARED = '5, "when counting ends", least=1, most=6'

PAIRS = {
    **{name: ((), {}, changes, {}, False) for name, changes in CHANGES.items()},
    **{name: ((), {}, changes, {}, True) for name, changes in SAME.items()},
    **{f"the number {name}": ((), {}, (), {name: value}, False) for name, value in COMPILED_IN.items()},
    "the value of a setting": ((), {"patience": 1}, (), {"patience": 6}, True),
    "whether a setting is a truth value": (
        ((DECLARED, '1, "when counting ends", least=0, most=1'),),
        {},
        ((DECLARED, 'True, "when counting ends", values=bool'),),
        {},
        False,
    ),
}
"""Changes of the text and values of two instances, and whether they have the same code."""


@pytest.mark.sampled
@pytest.mark.parametrize("name", PAIRS)
def test_instances_with_the_same_code_have_the_same_key(tmp_path: Path, name: str) -> None:
    changes, values, other_changes, other_values, are_same = PAIRS[name]
    one = instance_of(tmp_path / "one", *changes, **values)
    other = instance_of(tmp_path / "other", *other_changes, **other_values)
    assert (code_of(one) == code_of(other)) == are_same
    assert (kernel_key(one, None) == kernel_key(other, None)) == are_same


def test_the_key_of_generators_has_the_generators_in_it(tmp_path: Path) -> None:
    instances = [
        instance_of(tmp_path / "first"),
        instance_of(tmp_path / "guarded", ("    s.inside[guest] = True", "    s.inside[guest] = guest < 1")),
        instance_of(tmp_path / "wider", guests=3),
        instance_of(tmp_path / "another action", ("STRIDE = 1", "STRIDE = 2")),
    ]
    codes = [code_of(each, builder=GeneratorCode) for each in instances]
    for texts in (codes, list(map(generators_key, instances))):
        assert texts[0] == texts[3] and len(set(texts)) == 3


def test_absent_actions_are_in_the_key() -> None:
    model, _ = registry.load("published")
    instances = [model.instance(name) for name in model.protocols]
    keys = [kernel_key(each, None) for each in instances]
    codes = [code_of(each) for each in instances]
    assert len(set(codes)) > 1
    assert [[one == other for other in keys] for one in keys] == [[one == other for other in codes] for one in codes]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "protocol", "values"), [("examples/two_phase_commit", None, {}), ("published", "kip_320", {"replicas": 3})]
)
def test_a_reduction_is_in_the_key(name: str, protocol: str | None, values: dict[str, int]) -> None:
    """In one, dead cells are cleared; in the other, a comparison only spares the second look at a pair."""
    instance = registry.load(name)[0].instance(protocol, values)
    whole, _ = reduction_of(instance, symmetry=True)
    assert whole is not None and whole.symmetry is not None
    assert bool(whole.dead) != bool(whole.symmetry.unordered)
    less = replace(whole, symmetry=replace(whole.symmetry, unordered=frozenset()), dead=())
    reductions = [None, whole, less]
    assert len({kernel_key(instance, each) for each in reductions}) == 3
    assert len({code_of(instance, each) for each in reductions}) == 3


def test_every_mutant_has_a_key_of_its_own() -> None:
    """A mutant has the name and the digest of its model."""
    instance = registry.load("examples/two_phase_commit")[0].instance(None)
    model = instance.model
    keys = [kernel_key(instance, None)]
    for slot, declared in enumerate(model.actions):
        for mutant in mutants(declared.alternatives[0]):
            actions = list(model.actions)
            actions[slot] = replace(declared, alternatives=(mutant.function,))
            keys.append(kernel_key(replace(instance, model=replace(model, actions=tuple(actions))), None))
    assert len(keys) == len(set(keys)) == 10


@pytest.mark.exhaustive
def test_the_code_that_builds_kernels_is_in_the_name_of_a_cache_file() -> None:
    """Every file of the product that takes part in building a kernel, as the imports show."""
    hashed = {
        name
        for package, deep in machine_code.FOLDERS.items()
        for name, _ in modules_of(package, resources.files(package), deep)
    }
    files, waiting = set[str](), ["checker/compile/kernel_code.py", "checker/compile/generators.py"]
    while waiting:
        file = waiting.pop()
        if file not in files:
            files.add(file)
            waiting += graph()[file]
    assert {file for file in files if f"isrcheck/{file}" not in hashed} == {
        "checker/resources/cache.py",  # what keeps the code
        "models/messages/__init__.py",  # what becomes of mistakes in a model
        "models/run.py",  # the type of a state
    }


COUNTS = model(
    '"""A count goes up."""\n',
    entries(
        'most = setting(2, "the greatest count, and the steps of a stride", least=1, most=6)',
        'limit = setting(5, "when counting ends", least=1, most=6)',
    ),
    domain("Stride", '"most"'),
    state("count: between(0, {range})"),
    action("counts(s)", "require(s.count < s.limit)", "s.count += {stride}"),
    claim("always", "small(s)", "s.count < 5"),
)
"""A range, or a number of the text, that is a run-time setting."""


def counting(folder, **parts):
    return load_file(write_model(folder / "counting.py", COUNTS.format(**parts)))


def searched(kernels, model, **values):
    instance = model.instance("", values)
    result = explore(instance, Limits(deadlock=False), kernel=kernels.of(instance), count_all=True)
    paths = {name: findings.found.path for name, findings in result.findings.items()}
    return result.distinct, {name: path and path.depth for name, path in paths.items()}


@pytest.mark.parametrize("values", [(3, 2), (2, 3)])
def test_a_range_or_size_that_is_a_setting_has_a_kernel_for_each_value(tmp_path, values):
    """Ranges up to 2 and 3 take as many bits."""
    ranges, sizes = Kernels(), Kernels()
    for most in values:
        model = counting(tmp_path, range='"most"', stride="1")
        assert searched(ranges, model, most=most) == (most + 1, {"small": None, "in_range": most + 1})
        model, strides = counting(tmp_path, range="9", stride="len(Stride)"), -(-5 // most)
        assert searched(sizes, model, most=most) == (1 + strides, {"small": strides})


def test_another_value_of_a_setting_that_no_range_needs_has_the_same_kernel(tmp_path):
    model = counting(tmp_path, range="9", stride="1")
    kernels = Kernels()
    instances = [model.instance("", {"limit": limit}) for limit in (2, 6)]
    assert kernels.of(instances[0]) is kernels.of(instances[1])
    assert searched(kernels, model, limit=2) == (3, {"small": None})
    assert searched(kernels, model, limit=6) == (7, {"small": 5})
