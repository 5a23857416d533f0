"""`in_range`: every engine finds the steps that leave a declared range, as a naive search does."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from conformance.tests.checker.explicit.test_search import Naive, assert_same
from conformance.tests.checker.symbolic.test_bounded_model_checking import same_findings
from conformance.tests.sampling import sampled
from conformance.tests.support.small_models import (
    action,
    block,
    claim,
    define,
    domain,
    helper,
    model,
    state,
    write_model,
)
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import StepPath
from isrcheck.commands.exit_codes import USAGE, VIOLATED
from isrcheck.models import registry
from isrcheck.models.language.model import Instance
from isrcheck.traces.cli import main as trace
from isrcheck.traces.format import files

pytestmark = pytest.mark.sampled

MODEL = model(
    '"""Two jugs, and somebody who does not look."""\n',
    domain("Jug", 2),
    block("Jugs(Subset, of=Jug)", "pass"),
    state("level[Jug]: between(0, 3)", "poured: between(0, 3)", "is_dry: Flag"),
    define("initial", "starts(configuration)", "yield {{}}", 'yield {{"level": [1, 0]}}'),
    helper("at(s, place)", "s.level[place]"),
    action("fills(s, jug: Jug)", "{guard}", "{body}"),
    action("dries(s, jugs: Jugs)", "require({subset})", "s.is_dry = True"),
    helper("is_excused(s)", "{permitted}"),
    claim("always(permitted=is_excused)", "stays_low(s)", "{state}"),
    claim("always_step", "goes_up(before, after)", "{step}"),
    claim("sometimes", "is_full(s)", "{sometimes}"),
    claim("terminal", "may_end(s)", "True"),
)

SOUND = {
    "guard": "require(s.level[jug] < 3 and s.poured < 3)",
    "body": "s.level[jug] += 1\n    s.poured += 1",
    "subset": "not s.is_dry and jugs[0] and s.poured > 1",
    "permitted": "s.is_dry",
    "state": "s.level[0] < 3",
    "step": "after.poured >= before.poured",
    "sometimes": "s.level[1] == 3",
}

WASTES = "require(s.poured < 3)"
"""A guard that lets somebody pour into a jug that is full."""

ERRING = {
    "a write": {"guard": "require(s.level[jug] < 3)"},
    "an index in a guard": {"guard": "require(s.level[s.poured] < 3 and s.poured < 3)"},
    "an index in a body": {"body": "s.level[s.poured] += 1\n    s.poured += 1"},
    "an index in a helper": {"guard": "require(at(s, jug + s.poured) < 3 and s.poured < 3)"},
    "a guard before one that is false": {"guard": "require(s.level[s.poured + 1] < 3)\n    require(s.poured < 1)"},
    "a guard before a false one": {"guard": "require(s.level[jug + s.poured] < 3)\n    require(s.poured < 1)"},
    "a condition before a false one": {"guard": "require(at(s, jug + s.poured) < 3 and s.poured < 1)"},
    "a subset": {"subset": "not s.is_dry and jugs[s.poured]"},
    "a property of states": {"state": "s.level[s.poured] < 3"},
    "a property of an initial state": {"state": "s.level[s.level[0] + 1] < 3"},
    "a property of steps": {"step": "after.level[before.poured] < 3"},
    "a permission": {"state": "s.level[0] < 2", "permitted": "s.level[s.poured] == 0"},
    "what has to be reachable": {"sometimes": "s.level[s.poured + 1] == 3"},
    "a step beside a violation": {"state": "s.level[0] < 2", "guard": WASTES},
    "a step behind a violation": {"state": "s.level[0] < 1", "step": "after.poured < 2", "guard": WASTES},
    "a step and properties at one length": {
        "guard": "require(s.level[jug + s.poured - 1] < 3 or s.poured > 0)",
        "state": "s.level[s.poured + s.level[1]] < 3",
        "step": "after.level[after.poured] < 3",
    },
    "a step where all is decided by it": {"guard": WASTES, "sometimes": "s.poured == 2", "step": "after.poured < 2"},
    "everything": {
        "guard": "require(s.level[s.poured] < 3)",
        "body": "s.poured += 1\n    s.level[jug] += 1",
        "subset": "not s.is_dry and jugs[s.poured]",
        "state": "s.level[s.poured] < 3",
        "step": "after.level[before.poured] < 3",
        "sometimes": "s.level[s.poured] == 3",
    },
}


def text_of(**parts: str) -> str:
    return MODEL.format(**(SOUND | parts))


def instance_of(tmp_path: Path, text: str, name: str = "jugs.py") -> Instance:
    return registry.load_file(write_model(tmp_path / name, text)).instance()


def same_everywhere(instance: Instance, depth: int | None, *, count_all: bool = False) -> Naive:
    """Assert that the explorer, on one and several threads, and Z3 agree with the naive search."""
    naive = Naive(instance, depth, count_all).search()
    for threads in (1, 2):
        assert_same(explore(instance, Limits(depth, threads=threads), count_all=count_all), naive)
    if depth is not None and not count_all:
        same_findings(instance, depth)
    return naive


@pytest.mark.parametrize("depth", sampled([0, 1, 2, 3, 6], lambda depth: depth in (1, 6)))
@pytest.mark.parametrize("parts", ERRING.values(), ids=ERRING)
def test_every_engine_finds_what_a_naive_search_finds(tmp_path: Path, parts: dict[str, str], depth: int) -> None:
    same_everywhere(instance_of(tmp_path, text_of(**parts)), depth)


@pytest.mark.parametrize("parts", ERRING.values(), ids=ERRING)
def test_with_continue_every_error_is_counted(tmp_path: Path, parts: dict[str, str]) -> None:
    naive = same_everywhere(instance_of(tmp_path, text_of(**parts)), None, count_all=True)
    assert "in_range" in naive.findings


def test_a_model_that_stays_in_range_has_no_in_range_verdict(tmp_path: Path) -> None:
    naive = same_everywhere(instance_of(tmp_path, text_of()), 6)
    assert "in_range" not in naive.findings


BELOW = model(
    "MOST = 3\n", helper("is_below(s, most)", "s.poured < most and all(s.level[jug] < most for jug in range(2))")
)


def test_a_helper_of_a_guard_gets_a_constant(tmp_path: Path) -> None:
    text = text_of(guard="require(is_below(s, MOST))").replace("def at(", f"{BELOW}def at(")
    assert "in_range" not in same_everywhere(instance_of(tmp_path, text), 6).findings


FRAGMENTS = {
    part: [text, *dict.fromkeys(parts[part] for parts in ERRING.values() if part in parts)]
    for part, text in SOUND.items()
}


@pytest.mark.parametrize("seed", range(12))
def test_every_engine_finds_the_same_in_random_models(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    parts = {part: chance.choice(texts) for part, texts in FRAGMENTS.items()}
    instance = instance_of(tmp_path, text_of(**parts))
    same_everywhere(instance, chance.choice([2, 3, 4]))
    same_everywhere(instance, None, count_all=True)


# ------------------------------------------------------------------------------------------------------------- reports

COUNTDOWN = model(
    '"""A counter that is taken down too far."""\n',
    state("left: between(0, 2), initially=2"),
    action("takes(s)", "s.left -= 1"),
    claim("always", "small(s)", "s.left < 3"),
)

SAYS = "takes: -1 is written to left, whose values are 0..2; guard the step, or widen the field's range"


@pytest.fixture
def folder_of_one(tmp_path: Path) -> Path:
    write_model(tmp_path / "countdown.py", COUNTDOWN)
    return tmp_path


@pytest.mark.parametrize("words", ["", "--threads 2", "--continue", "--engine z3 --bound 5", "--engine all --bound 5"])
def test_check_reports_the_error_and_writes_a_trace(folder_of_one: Path, check, words: str) -> None:
    code, out, _ = check("countdown.py", *words.split())
    assert code == VIOLATED
    assert re.search(r"^VIOLATED at step 3 +in_range$", out, re.MULTILINE)
    assert f"\n  {folder_of_one}/countdown.py:9: {SAYS} (step 3)\n" in out
    assert "\n\nVIOLATED: in_range at step 3\n\n" in out
    (file,) = (folder_of_one / "counterexamples").glob("*.itf.json")
    history = files.read(file, registry.load_file(folder_of_one / "countdown.py"))
    assert (len(history.states), history.length, history.verdict) == (3, 3, "VIOLATED")
    assert files.recheck(file, folder_of_one / "countdown.py").is_possible


def test_the_view_shows_the_erring_step(folder_of_one: Path, check, capsys) -> None:
    check("countdown.py")
    assert trace(["show", "counterexamples/latest", "--model", "countdown.py"]) == 0
    shown = capsys.readouterr().out.replace(f"{folder_of_one}/", "").replace("\n      ", " ")
    assert shown == (
        f"""\
countdown, default configuration

  #  step       global
  0  initially  left 2
  1  takes      left 1
  2  takes      left 0
  3  takes      ·

VIOLATED at step 3: in_range: No value or index leaves its declared range.
  countdown.py:9: {SAYS}
reproduce: check countdown.py --bound 3
"""
    )


OTHER_VERDICT = 'it ends with an error of a step or a property, but its verdict is not "in_range VIOLATED"'

DAMAGED = {
    "it does not name the step or the property that causes its error": lambda meta: meta.pop("error"),
    "its error is ": lambda meta: meta["error"].update(message="countdown.py:9: takes: all is well"),
    "in_range is not broken at step 2 (takes)": lambda meta: meta["error"].update(step=None),
    "the step of its error: ": lambda meta: meta["error"]["step"].update({"mbt::actionTaken": "gives"}),
    OTHER_VERDICT: lambda meta: meta.update(property="small"),
    "its error has no message": lambda meta: meta.update(error="takes"),
}
"""The message about a trace; what damages it."""


@pytest.mark.parametrize(("says", "damage"), DAMAGED.items(), ids=DAMAGED)
def test_a_damaged_trace_of_an_error_is_refused(folder_of_one: Path, check, capsys, says: str, damage) -> None:
    check("countdown.py")
    document = json.loads((folder_of_one / "counterexamples/latest").read_text())
    damage(document["#meta"]["isrcheck"])
    (folder_of_one / "damaged.itf.json").write_text(json.dumps(document))
    assert trace(["show", "damaged.itf.json", "--model", "countdown.py"]) == USAGE
    assert f"damaged.itf.json: {says}" in capsys.readouterr().err


ASSIGNED = model(
    '"""A loop that goes one further than its range."""\n',
    domain("Lamp", 3),
    state("lit[Lamp]: Flag", "beside: Flag"),
    action("lights(s)", "for lamp in range(3):", "    lamp = lamp + 1", "    s.lit[lamp] = True"),
    claim("always", "nothing_beside(s)", "not s.beside"),
)


def test_an_assigned_loop_variable_is_checked_as_an_index(tmp_path: Path) -> None:
    found = explore(instance_of(tmp_path, ASSIGNED), Limits(1))
    assert found.findings["in_range"].found.path == StepPath(0, (0,))
    assert found.levels == [1]


NO_STEPS = model(
    '"""A domain without an element leaves an action without a step."""\n',
    domain("Nobody", 0),
    state("lit: Flag"),
    action("lights(s, who: Nobody)", "s.lit = True"),
    claim("always", "dark(s)", "not s.lit"),
    claim("terminal", "may_end(s)", "True"),
)


def test_a_model_without_a_step_is_searched_by_any_number_of_threads(tmp_path: Path) -> None:
    for threads in (1, 2):
        found = explore(instance_of(tmp_path, NO_STEPS), Limits(threads=threads), count_all=True)
        assert (found.levels, found.exhausted, found.new) == ([1], True, [0])
