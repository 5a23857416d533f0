"""The fuzzer's programs whose names collide: all are accepted, they collide in every way, and they find such bugs."""

from __future__ import annotations

import ast
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from isrcheck.checker.reductions.find import symmetry_of
from isrcheck.conformance.fuzz.campaign import COLLISIONS, SYMMETRIES, Compare, fresh_cache, small_with_collisions
from isrcheck.conformance.fuzz.collisions.captures import CAPTURES, Capture, planted
from isrcheck.conformance.fuzz.collisions.programs import collisions
from isrcheck.conformance.fuzz.collisions.writer import BUILTINS, VARIABLES
from isrcheck.conformance.fuzz.compare import Difference, compare, compare_functions, compare_symmetry
from isrcheck.conformance.fuzz.plain_search import PlainSystem
from isrcheck.conformance.fuzz.program import LIBRARY, Program, beside, loaded, read_program
from isrcheck.conformance.fuzz.programs import random_program
from isrcheck.conformance.fuzz.shrink import shrink
from isrcheck.models.messages import UsageError

SEED = 1
MANY = 200
MOST_PERMUTED, MOST_COMPARED = 150, 35
"""The programs among which each bug has to be found: a bug in symmetry, and any other bug."""


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return [collisions(SEED, number) for number in range(MANY)]


def bound_in(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """How names get values in a function: (kind, name)."""
    yield from (("parameter", argument.arg) for argument in function.args.args)
    for node in ast.walk(function):
        match node:
            case ast.For(target=ast.Name(id=name)):
                yield "loop", name
            case ast.comprehension(target=ast.Name(id=name)):
                yield "generator", name
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield "local", name


def collisions_in(program: Program) -> Iterator[str]:
    """The kinds of collisions in a program."""
    tree = ast.parse(program.text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    helpers = {function.name: function for function in functions if not function.decorator_list}
    constants = {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets}
    named = {"constant": constants, "helper": helpers.keys(), "domain": {"Node", "Role"}}
    if helpers.keys() & set(BUILTINS):
        yield "helper named like a builtin"
    if program.library is not None:
        yield "a name in two modules"
    for function in functions:
        kinds: dict[str, set[str]] = defaultdict(set)
        for kind, name in bound_in(function):
            kinds[name].add(kind)
        for of_name in kinds.values():
            yield from (f"{kind} = {other}" for kind, other in itertools.combinations(sorted(of_name), 2))
        yield from (f"a variable named like a {thing}" for thing, names in named.items() if kinds.keys() & names)
        if _set_loops(function) & {argument.arg for argument in function.args.args}:
            yield "a loop over a set = parameter"
        if _subsets(function) & set(VARIABLES):
            yield "a subset named like a field"
        for node in ast.walk(function):
            match node:
                case ast.GeneratorExp():
                    inner = [each for each in ast.walk(node) if isinstance(each, ast.GeneratorExp) and each is not node]
                    if set(_targets(node)) & {name for generator in inner for name in _targets(generator)}:
                        yield "generators in generators"
                case ast.Call(func=ast.Name(id=name)) if name in helpers:
                    if ({variable for _, variable in bound_in(helpers[name])} - {"s"}) & kinds.keys():
                        yield "a helper's variable = its caller's"


def _subsets(function: ast.FunctionDef) -> set[str]:
    annotated = ((argument.arg, argument.annotation) for argument in function.args.args)
    return {name for name, kind in annotated if isinstance(kind, ast.Name) and kind.id in ("Some", "Few")}


def _set_loops(function: ast.FunctionDef) -> set[str]:
    """The variables of the loops over a set of the state, or over a subset."""
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For)]
    sets = {"s.z", *_subsets(function)}
    return {loop.target.id for loop in loops if isinstance(loop.target, ast.Name) and ast.unparse(loop.iter) in sets}


def _targets(generator: ast.GeneratorExp) -> list[str]:
    return [part.target.id for part in generator.generators if isinstance(part.target, ast.Name)]


def test_names_collide_in_every_way(programs: list[Program]) -> None:
    assert {kind for program in programs for kind in collisions_in(program)} == {
        "generator = parameter",
        "loop = parameter",
        "local = parameter",
        "local = loop",
        "generator = loop",
        "generator = local",
        "helper named like a builtin",
        "a name in two modules",
        "generators in generators",
        "a variable named like a constant",
        "a variable named like a helper",
        "a variable named like a domain",
        "a subset named like a field",
        "a loop over a set = parameter",
        "a helper's variable = its caller's",
    }


@pytest.mark.sampled
def test_all_are_accepted_and_many_have_elements_that_can_be_exchanged(programs: list[Program], tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for program in programs:
        with loaded(program, tmp_path) as model:
            try:
                counts["pairs"] += bool(symmetry_of(model.instance()).unordered)
                counts["symmetric"] += 1
            except UsageError:
                counts["asymmetric"] += 1
    assert counts["symmetric"] + counts["asymmetric"] == MANY
    assert counts["symmetric"] >= 0.3 * MANY
    assert counts["asymmetric"] >= 0.3 * MANY
    assert counts["pairs"] >= 0.1 * MANY


def test_a_seed_determines_the_programs(programs: list[Program]) -> None:
    assert [collisions(SEED, number) for number in range(10)] == programs[:10]
    assert len({program.text for program in programs}) == MANY


def test_a_library_has_names_of_its_own(tmp_path: Path) -> None:
    """What a helper names is what its own module says, also in the plain search; saved programs keep their library."""
    own = "from isrcheck.language import action, between, field, always\nLIMIT = {0}\ndef limit(s):\n    return LIMIT\n"
    rest = (
        "class State:\n    x = field(values=between(0, 3))\n"
        "@action\ndef step(s):\n    s.x = limit(s) + limit_library(s)\n@always\ndef claim(s):\n    return s.x != 3\n"
    )
    text = f"{own.format(1)}from two_library import limit as limit_library\n{rest}"
    program = Program("two", text, library=own.format(2))
    assert program.save(tmp_path) == tmp_path / "two.py"
    assert beside(tmp_path / "two.py", LIBRARY).read_text() == own.format(2)
    assert read_program(tmp_path / "two.py") == program
    system = PlainSystem(program, {}, None, {})
    assert system.take((0,), system.steps[0]) == (3,)
    assert not system.ask(system.properties[0], [(3,)], None)
    small = shrink(program, lambda smaller: "LIMIT" in (smaller.library or ""))
    assert small.library is not None and "LIMIT" in small.library and len(small.library) < len(own)


def first_difference(compared: Compare, programs: Callable[[int, int], Program], most: int) -> Difference:
    """The first difference in so many programs."""
    with fresh_cache():
        difference = next(each for number in range(most) for each in compared(programs(SEED, number)).differences)
    assert not difference.kind.startswith("refused")
    return difference


PERMUTED, MEANT = (
    {"a permutation of symmetric elements decides something"},
    {"representation", "reference: a step", "formulas"},
)
"""The kinds of differences by which such bugs show themselves."""


@pytest.mark.whole
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.name)
def test_each_bug_that_takes_one_name_for_another_is_found(capture: Capture) -> None:
    """As a difference, and not by an error of an engine itself."""
    if capture.of_symmetry:
        search, kinds = (compare_symmetry, collisions, MOST_PERMUTED), PERMUTED
    else:
        search, kinds = (compare_functions, random_program if capture.of_sets else collisions, MOST_COMPARED), MEANT
    with planted(capture):
        assert first_difference(*search).kind in kinds


@pytest.mark.sampled
def test_without_a_bug_nothing_is_found() -> None:
    for program in (collisions(SEED, number) for number in range(30)):
        assert compare_functions(program).differences == compare_symmetry(program).differences == []


def test_a_planted_bug_is_taken_out_again() -> None:
    assert CAPTURES
    for capture in CAPTURES:
        holder, name = capture.place
        correct = vars(holder)[name]
        with planted(capture):
            assert vars(holder)[name] is not correct
        assert vars(holder)[name] is correct


def test_the_fuzzer_compares_them_in_each_round() -> None:
    some = list(small_with_collisions(SEED, 1))
    assert [compared for _, compared in some] == [compare] * COLLISIONS + [compare_symmetry] * SYMMETRIES
    assert [program for program, _ in some] == [collisions(SEED, number) for number in range(24, 48)]
