"""The fuzzer's programs whose names collide: all are accepted, they collide in every way, and they find such bugs."""

from __future__ import annotations

import ast
from collections import Counter
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
    yield from (("parameter", one.arg) for one in function.args.args)
    for node in ast.walk(function):
        match node:
            case ast.For(target=ast.Name(id=name)):
                yield "loop", name
            case ast.comprehension(target=ast.Name(id=name)):
                yield "generator", name
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield "local", name


def collisions_in(program: Program) -> set[str]:
    """The kinds of collisions in a program."""
    tree = ast.parse(program.text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    helpers = {one.name: one for one in functions if not one.decorator_list}
    constants = {target.id for one in tree.body if isinstance(one, ast.Assign) for target in one.targets}
    found = {"helper named like a builtin"} if helpers.keys() & set(BUILTINS) else set()
    found |= {"a name in two modules"} if program.library is not None else set()
    for function in functions:
        kinds: dict[str, set[str]] = {}
        for kind, name in bound_in(function):
            kinds.setdefault(name, set()).add(kind)
        found |= {f"{one} = {other}" for those in kinds.values() for one in those for other in those if one < other}
        found |= {"a variable named like a constant"} if kinds.keys() & constants else set()
        found |= {"a variable named like a helper"} if kinds.keys() & helpers.keys() else set()
        found |= {"a variable named like a domain"} if kinds.keys() & {"Node", "Role"} else set()
        found |= (
            {"a loop over a set = parameter"}
            if _set_loops(function) & {one.arg for one in function.args.args}
            else set()
        )
        found |= {"a subset named like a field"} if _subsets(function) & set(VARIABLES) else set()
        for node in ast.walk(function):
            if isinstance(node, ast.GeneratorExp):
                inner = [one for one in ast.walk(node) if isinstance(one, ast.GeneratorExp) and one is not node]
                found |= (
                    {"generators in generators"}
                    if set(_targets(node)) & {n for g in inner for n in _targets(g)}
                    else set()
                )
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in helpers:
                called = {name for _, name in bound_in(helpers[node.func.id])} - {"s"}
                found |= {"a helper's variable = its caller's"} if called & kinds.keys() else set()
    return found


def _subsets(function: ast.FunctionDef) -> set[str]:
    annotated = ((one.arg, one.annotation) for one in function.args.args)
    return {name for name, kind in annotated if isinstance(kind, ast.Name) and kind.id in ("Some", "Few")}


def _set_loops(function: ast.FunctionDef) -> set[str]:
    """The variables of the loops over a set of the state, or over a subset."""
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For)]
    sets = {"s.z", *_subsets(function)}
    return {one.target.id for one in loops if isinstance(one.target, ast.Name) and ast.unparse(one.iter) in sets}


def _targets(generator: ast.GeneratorExp) -> list[str]:
    return [part.target.id for part in generator.generators if isinstance(part.target, ast.Name)]


def test_names_collide_in_every_way(programs: list[Program]) -> None:
    assert {kind for program in programs for kind in collisions_in(program)} == {
        *("generator = parameter", "loop = parameter", "local = parameter", "local = loop", "generator = loop"),
        *("generator = local", "helper named like a builtin", "a name in two modules", "generators in generators"),
        *("a variable named like a constant", "a variable named like a helper", "a variable named like a domain"),
        *("a subset named like a field", "a loop over a set = parameter", "a helper's variable = its caller's"),
    }


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
    small = shrink(program, lambda one: "LIMIT" in (one.library or ""))
    assert small.library is not None
    assert "LIMIT" in small.library
    assert len(small.library) < len(own)


def first_difference(compared: Compare, programs: Callable[[int, int], Program], most: int) -> Difference:
    """What is found in the first of so many programs in which something is found."""
    with fresh_cache():
        differences = (one for number in range(most) for one in compared(programs(SEED, number)).differences)
        found = next(differences, None)
    assert found is not None
    assert not found.kind.startswith("refused")
    return found


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.name)
def test_each_bug_that_takes_one_name_for_another_is_found(capture: Capture) -> None:
    """As a difference, and not by an error of an engine itself."""
    with planted(capture):
        if capture.of_symmetry:
            kinds = {"a permutation of symmetric elements decides something"}
            assert first_difference(compare_symmetry, collisions, MOST_PERMUTED).kind in kinds
        else:
            programs = random_program if capture.of_sets else collisions
            kinds = {"representation", "reference: a step", "formulas"}
            assert first_difference(compare_functions, programs, MOST_COMPARED).kind in kinds


def test_without_a_bug_nothing_is_found() -> None:
    for program in (collisions(SEED, number) for number in range(30)):
        for comparison in (compare_functions, compare_symmetry):
            assert comparison(program).differences == []


def test_a_planted_bug_is_taken_out_again() -> None:
    assert len({capture.name for capture in CAPTURES}) == len(CAPTURES) > 0
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
