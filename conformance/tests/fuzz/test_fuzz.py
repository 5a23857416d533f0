"""The fuzzer: its programs cover the language, its search is correct, it detects and shrinks bugs."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.tests.support.constructs import BEFORE, ROWS, framed, kinds_in, kinds_of, routines_of
from conformance.tests.support.shapes import shapes
from isrcheck.checker.compile.kernel_code import Lowering
from isrcheck.checker.compile.staging import Value
from isrcheck.checker.explicit import liveness as fair_loops
from isrcheck.checker.reductions import find as dead
from isrcheck.conformance.fuzz.__main__ import main
from isrcheck.conformance.fuzz.campaign import fresh_cache, run
from isrcheck.conformance.fuzz.collisions.programs import collisions
from isrcheck.conformance.fuzz.compare import compare, compare_dead_cells, plain_search
from isrcheck.conformance.fuzz.endless.fair_loops import MOST_TRIED, FairLoops
from isrcheck.conformance.fuzz.mutation import BUGS, ROOT, spoiled
from isrcheck.conformance.fuzz.plain_search import ENDLESS, PlainProperty, PlainSystem, search
from isrcheck.conformance.fuzz.program import Program, loaded
from isrcheck.conformance.fuzz.programs import FEW_STATES, random_program
from isrcheck.conformance.fuzz.roles.programs import roles
from isrcheck.conformance.fuzz.shrink import shrink
from isrcheck.models import language
from isrcheck.models.language.ir.nodes import Expression, Negative, Statement
from isrcheck.models.registry import load_file

pytestmark = pytest.mark.sampled

SEED = 1
MANY = 44

COUNTER = '''\
"""A counter that starts anew."""

from isrcheck.language import action, always, between, field, require


class State:
    count = field(values=between(0, 3))


@action
def count_goes_on(s):
    require(s.count < 3)
    s.count += 1


@action
def count_starts_anew(s):
    require(s.count >= 2)
    s.count = 0


@always
def is_small(s):
    return s.count < 3
'''


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return [random_program(SEED, number) for number in range(MANY)]


@pytest.fixture(scope="module")
def all_programs(programs: list[Program]) -> list[Program]:
    """With those whose names collide."""
    return [*programs, *(collisions(SEED, number) for number in range(MANY))]


# ---------------------------------------------------------------------------------------------------------- programs


def test_programs_use_every_construct_of_the_language(all_programs: list[Program]) -> None:
    used = {shape for program in all_programs for shape in shapes(program.text)}
    needed = {example: shapes(f"{BEFORE}{framed(example, construct.place)}") for construct, example in ROWS}
    assert {example: wanted - used for example, wanted in needed.items() if wanted - used} == {}
    around = shapes(BEFORE)
    assert [example for example, wanted in needed.items() if not wanted - around] == []


def test_programs_become_every_node_of_the_representation(all_programs: list[Program], tmp_path: Path) -> None:
    used = set()
    for program in all_programs:
        with loaded(program, tmp_path) as model:
            used |= {kind for routine in routines_of(model) for kind in kinds_in(routine)}
    assert kinds_of(Expression, Statement) - used == set()


def nodes(programs: list[Program]) -> Iterator[ast.AST]:
    for program in programs:
        for text in (program.text, program.second or ""):
            yield from ast.walk(ast.parse(text))


def test_programs_use_every_name_of_the_language_and_every_option_of_a_declaration(programs: list[Program]) -> None:
    names = {node.id for node in nodes(programs) if isinstance(node, ast.Name)}
    options = {node.arg for node in nodes(programs) if isinstance(node, ast.keyword)}
    of_functions = {"shows", "permitted", "applies", "every_length", "fair", "each", "when"}
    of_entries = {"least", "most", "option", "is_open", "shapes", "values"}
    assert set(language.__all__) <= names
    assert of_functions | of_entries | {"size", "letters", "of", "initially"} <= options


def test_programs_have_the_intended_mixture(programs: list[Program], tmp_path: Path) -> None:
    """All are accepted; most have more than a few states, some leave a declared range, some have a second protocol,
    which may have sets, queues and records as well."""
    counts: Counter[str] = Counter()
    for program in programs:
        with loaded(program, tmp_path) as model:
            counts["second"] += program.second is not None
            counts["own"] += "def change_of_its_own" in (program.second or "")
            counts["records"] += ".record" in (program.second or "")
            system = PlainSystem(program, {}, program.protocols[0], {})
            if not system.initial:  # a constraint excludes every initial state
                counts["none"] += 1
                continue
            plain = search(system, 6, 300)
            assert model.instance(program.protocols[0]).initial_states
            counts["states"] += sum(plain.levels) > FEW_STATES
            counts["errors"] += plain.errors.count > 0
    assert counts["none"] <= 0.05 * MANY
    assert counts["states"] >= 0.7 * MANY
    assert 0.1 * MANY <= counts["errors"] <= 0.4 * MANY
    assert counts["second"] >= 0.1 * MANY
    assert min(counts["own"], counts["records"]) >= 0.05 * MANY


def test_a_seed_determines_the_programs(programs: list[Program]) -> None:
    assert [random_program(SEED, number) for number in range(10)] == programs[:10]
    assert len({program.text for program in programs}) == MANY
    assert random_program(SEED + 1, 0).text != programs[0].text


# ---------------------------------------------------------------------------------------------------- the plain search


TLCS_STATES = 288
"""The states of two-phase commit with three resource managers, as TLC counts them."""


def test_the_plain_search_finds_the_figures_of_two_phase_commit() -> None:
    text = (ROOT / "models/examples/two_phase_commit.py").read_text(encoding="utf-8")
    plain = search(PlainSystem(Program("two_phase_commit", text), {}, None, {}), 100, 1000)
    assert (plain.is_all, sum(plain.levels)) == (True, 288)
    depths = {name: finding.path and len(finding.path[1]) for name, finding in plain.found.items()}
    assert depths == {"consistent": None, "all_commit": 10, "all_abort": 3}


@pytest.mark.parametrize(
    ("text", "errors"),
    [(COUNTER, (0, None)), (COUNTER.replace("    require(s.count < 3)\n", ""), (1, (0, (0, 0, 0, 0))))],
    ids=["least path", "continues after an error"],
)
def test_the_plain_search_of_a_counter(text: str, errors: tuple[int, object]) -> None:
    plain = search(PlainSystem(Program("counter", text), {}, None, {}), 100, 1000)
    assert (plain.errors.count, plain.errors.path) == errors
    assert plain.levels == [1, 1, 1, 1]
    assert plain.found["is_small"].path == (0, (0, 0, 0))
    assert plain.fired == {"count_goes_on": 3, "count_starts_anew": 2}


# -------------------------------------------------------------------------------------------------- runs and failures


@pytest.mark.recorded
def test_all_engines_agree_on_a_few_programs(tmp_path: Path) -> None:
    campaign = run(SEED, tmp_path, programs=10)
    assert campaign.line.endswith("no differences")
    assert (campaign.programs, campaign.failures, list(tmp_path.iterdir())) == (10, [], [])
    assert campaign.states > campaign.programs
    assert campaign.proofs > 0


SHRUNK = 12
"""The lines of a program with an import, a state of one field, and a property."""


@pytest.mark.exhaustive
def test_a_bug_is_detected_shrunk_and_reproduced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lowering that forgets minus signs: the failure is a few lines, and one command shows it."""
    program = Program("counter", COUNTER.replace("s.count < 3\n", "-s.count > 0 - 3 or s.count == -1\n"))
    value = Lowering.value

    def forgets(self: Lowering, expression: Expression) -> Value:
        return value(self, expression.operand if isinstance(expression, Negative) else expression)

    with fresh_cache():
        assert compare(program).differences == []
    monkeypatch.setattr(Lowering, "value", forgets)
    with fresh_cache():
        (difference,) = compare(program).differences
        assert difference.kind.startswith("explorer on 1 threads")
        small = shrink(program, lambda smaller: difference.kind in [each.kind for each in compare(smaller).differences])
    assert len(small.text.splitlines()) == SHRUNK
    assert small.text.endswith("return -True > 0\n")
    path = small.save(tmp_path)
    assert main(["--again", str(path)]) == 1
    assert difference.kind in capsys.readouterr().out
    monkeypatch.undo()
    assert main(["--again", str(path)]) == 0


def judged_by_networkx(program: Program) -> Iterator[tuple[PlainProperty, FairLoops]]:
    """The liveness properties of a program that are judged, if its plain search reaches every state."""
    system = PlainSystem(program, {}, program.protocols[0], {})
    plain = plain_search(system) if system.initial and not system.constraints else None
    if plain is not None and plain.is_all:
        judges = [(prop, FairLoops(system, plain, prop)) for prop in system.endless]
        yield from ((prop, judge) for prop, judge in judges if len(judge.strong) <= MOST_TRIED)


def test_liveness_of_random_programs_holds_and_fails(programs: list[Program]) -> None:
    """Of each kind, with and without fairness, there are violations, permitted failures, and properties that hold."""
    kinds: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for program in programs:
        for prop, judge in judged_by_networkx(program):
            kinds[prop.kind] += 1
            outcomes["violated"] += bool(judge.loops.violating)
            outcomes["violated under strong fairness"] += bool(judge.loops.violating) and bool(judge.strong)
            outcomes["with a condition"] += any(group.when is not None for group in judge.groups)
            outcomes["permitted"] += bool(judge.loops.permitted)
            outcomes["holds by fairness"] += not judge.loops.violating and bool(judge.fails) and bool(judge.groups)
    assert kinds.keys() == set(ENDLESS)
    assert min(kinds.values()) >= 2
    assert min(outcomes.values()) > 0 and outcomes.total() >= 10


LAMP = (
    COUNTER.replace("always, between", "between, eventually")
    .partition("@always")[0]
    .replace("require(s.count < 3)", "require(s.count < 1)")
    .replace("@action\ndef count_goes_on", "@action(fair=True)\ndef count_goes_on")
    + """@eventually
def is_three(s):
    return s.count == 3
"""
)


def test_a_bug_in_the_search_for_loops_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that forgets fairness finds a behaviour that stays where it is; the judge does not."""
    program = Program("lamp", LAMP.replace("s.count == 3", "s.count == 1"))
    with fresh_cache():
        assert compare(program).differences == []
        monkeypatch.setattr(fair_loops, "groups_of", lambda instance, prop: ())
        (difference,) = compare(program).differences
    assert difference.kind == "explorer on 1 threads: eventually repeats"
    assert difference.details == "('is_three', 1) instead of ('is_three', 0)"


def test_a_loop_that_begins_later_than_it_could_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counter goes 0, 1, 2, 0, and never stays: every loop has all three states, and one begins in the first."""
    text = COUNTER.replace("require(s.count < 3)", "require(s.count < 2)").replace(
        "return s.count < 3", "return s.count < 2"
    )
    text = text.replace("always, between", "any_action, between, eventually_always")
    program = Program("counter", text.replace("@always", "@eventually_always(fair=any_action)"))
    first = fair_loops.FairLoops.first
    with fresh_cache():
        assert compare(program).differences == []
        monkeypatch.setattr(fair_loops.FairLoops, "first", lambda self, marks: 1 + first(self, marks))
        (difference,) = compare(program).differences
    assert difference.kind == "explorer on 1 threads: a lasso of eventually_always"
    assert "its loop begins at step 1 instead of 0" in difference.details


def test_a_cell_that_is_not_dead_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here, cells that the step does not write anew count as dead."""
    some = [roles(SEED, number) for number in range(16)]
    assert [compare_dead_cells(program).differences for program in some] == [[]] * 16
    monkeypatch.setattr(dead.Guard, "left", lambda *given: frozenset())
    kinds = [difference.kind for program in some for difference in compare_dead_cells(program).differences]
    assert set(kinds) == {"a dead cell decides something"}


def test_a_program_that_is_refused_is_a_failure() -> None:
    (difference,) = compare(Program("counter", COUNTER.replace("s.count < 3", "s.count ** 2 < 3"))).differences
    assert difference.kind.startswith("refused")


def test_an_unreadable_program_is_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--again", str(tmp_path / "nothing.py")]) == 2
    assert "not a program that can be read" in capsys.readouterr().err


def test_the_files_of_a_program_are_a_model(tmp_path: Path) -> None:
    assert load_file(Program("counter", COUNTER).save(tmp_path)).name == "counter"


# ------------------------------------------------------------------------------------------------------------- the bugs


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_text_of_every_bug_occurs_in_its_file(bug) -> None:
    ast.parse(spoiled(bug, ROOT))


def test_the_bugs_cover_enough_files() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 30
    assert len({bug.file for bug in BUGS}) >= len(BUGS) / 3
