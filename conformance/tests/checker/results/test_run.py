"""A run is verdicts and parts: what follows from its parts, its text, and its object."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from conformance.tests.support.engine import COUNTER, none_to
from isrcheck.checker import cli
from isrcheck.checker.disk.summary import DiskSummary
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import BmcResult, Findings
from isrcheck.checker.results.run import (
    CommandResult,
    Part,
    Run,
    Z3Agreement,
    as_object,
    search_summary,
    text,
    verdict_line,
)
from isrcheck.checker.results.verdict import Word, verdicts
from isrcheck.checker.spark.request import Mode
from isrcheck.checker.spark.summary import SparkSummary
from isrcheck.models import registry

SPARK = SparkSummary(Mode.PARTS, "local[2]", 2, 2)
DISK = DiskSummary("states", 0, 1 << 20, 3, 1000, 1)


class Notes(Part):
    """What a further engine adds."""

    key: ClassVar[str] = "notes"

    def __init__(self, stopped=None, *, is_open=False, is_below=False):
        self.why, self.leaves, self.is_below_traces = stopped, is_open, is_below

    stopped = property(lambda self: self.why)
    leaves_open = property(lambda self: self.leaves)

    def lines(self, run):
        return [f"a note on {len(run.verdicts)} verdicts"]

    def undecided(self, run):
        return "a note is missing" if self.leaves else ""

    def as_object(self, run):
        return {"of": run.word.value}


@pytest.fixture
def searched(tmp_path):
    """A function that returns the run of a search of the counter, to some depth."""
    path = tmp_path / "counter.py"
    path.write_text(COUNTER, encoding="utf-8")
    instance = registry.load_file(path).instance()

    def run(depth=None, **more):
        exploration = explore(instance, Limits(depth))
        return Run(exploration, verdicts(exploration), "check counter.py", **more)

    return run


def z3(run, judged, stopped=None):
    findings = {verdict.prop.name: Findings() for verdict in run.verdicts}
    return BmcResult(run.exploration.instance, run.exploration.limits, judged, False, stopped, findings=findings)


@pytest.mark.parametrize(
    ("parts", "engine", "how", "counts_once"),
    [
        ((), "local", "breadth first", True),
        ((DISK,), "local", "breadth first", True),
        ((SPARK,), "spark", "breadth first on Spark", False),
        ((Notes(),), "local", "breadth first", True),
    ],
)
def test_the_engine_of_a_run_follows_from_its_parts(searched, parts, engine, how, counts_once):
    run = searched(1, parts=parts)
    assert (run.engine, run.counts_once) == (engine, counts_once)
    assert search_summary(run)[2].startswith(f"{how}, every behaviour of at most 1 step, ")
    assert [run.part(type(part)) for part in parts] == list(parts)
    assert run.part(Z3Agreement) is None


def test_z3_alone_or_beside_the_explorer(searched):
    run = searched(1)
    alone = replace(run, exploration=z3(run, 1))
    assert (alone.engine, replace(run, parts=(Z3Agreement(z3(run, 1)),)).engine) == ("z3", "all")
    with pytest.raises(AssertionError, match="only Z3 ran"):
        alone.explored.levels.clear()


def test_a_part_adds_its_lines_and_its_object(searched):
    before, after = (text(searched(1, parts=parts)).splitlines() for parts in ((), (Notes(),)))
    times = [number for number, line in enumerate(before) if " s: " in line]
    assert len(times) == 1
    (at,) = [number for number, line in enumerate(after) if line not in before and number not in times]
    assert after[at] == "a note on 1 verdicts"
    run = searched(1, parts=(Notes(), DISK))
    content = as_object(run)
    assert content["notes"] == {"of": "NO VIOLATION TO DEPTH"}
    assert content["disk"]["folder"] == "states"
    assert (content["proofs"], content["z3"], content["spark"], content["counterexamples"]) == (None, None, None, [])


def test_lines_stand_above_or_below_the_list_of_traces(searched):
    traces = {"stays_small": Path("some.itf.json")}
    shown = "stays_small  trace show some.itf.json --model counter.py"
    for is_below in (False, True):
        lines = text(searched(traces=traces, parts=(Notes(is_below=is_below),))).splitlines()
        assert (lines.index("a note on 1 verdicts") > lines.index(shown)) == is_below


@pytest.mark.parametrize("part", [Notes("interrupt"), Notes("seconds"), Notes(), None])
def test_ctrl_c_in_any_engine_interrupts_the_run(searched, part):
    run = searched(1, parts=() if part is None else (part,))
    assert run.is_interrupted == (part is not None and part.stopped == "interrupt")
    run.exploration.stopped = "interrupt"
    assert run.is_interrupted


def test_a_part_that_leaves_something_open_makes_no_pass(searched):
    run = searched(1, parts=(Notes(is_open=True),))
    assert (run.word, verdict_line(run)) == (Word.UNDECIDED, "UNDECIDED: a note is missing")
    # What fails, fails.
    assert searched(parts=(Notes(is_open=True),)).word is Word.VIOLATED


@pytest.mark.parametrize(
    ("judged", "stopped", "says"),
    [
        (3, None, "the engines agree on every property to depth 1"),
        (0, "seconds", "the engines agree on every property to depth 0"),
        (-1, "memory", "there is nothing to compare"),
    ],
)
def test_how_far_the_engines_agree(searched, judged, stopped, says):
    run = searched(1)
    agreement = Z3Agreement(z3(run, judged, stopped))
    assert agreement.lines(run)[1] == agreement.screen_lines(run, 120)[1] == says
    assert bool(agreement.undecided(run)) == (stopped is not None)
    assert (agreement.stopped, agreement.as_object(run)["judged_to_depth"]) == (stopped, judged)


def test_z3_that_was_cut_short_is_named_in_the_verdict(searched):
    run = searched(1)
    agreement = Z3Agreement(z3(run, 0, "seconds"))
    undecided = [replace(verdict, word=Word.UNDECIDED, note="Z3") for verdict in run.verdicts]
    run = replace(run, verdicts=undecided, parts=(agreement,))
    assert verdict_line(run) == "UNDECIDED: Z3: the time limit is reached; the engines agree to depth 0"


def test_a_command_that_found_nothing_is_undecided():
    result = CommandResult.without_answer("the time limit is reached")
    assert (result.code, result.text) == (3, "UNDECIDED: the time limit is reached")
    assert result.content == {"runs": [], "verdict": "UNDECIDED", "why": "the time limit is reached"}


def test_one_state_and_one_level(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for depth, found in enumerate(
        [
            "1 distinct state, 0 generated, 1 level (judged to depth 0; 1 state not expanded)",
            "8 distinct states, 7 generated, 2 levels (judged to depth 1; 7 states not expanded)",
        ]
    ):
        assert cli.main(["examples/two_phase_commit", "--bound", str(depth), "--details"]) == 0
        lines = capsys.readouterr().out.splitlines()
        steps = f"{depth} step{'s' * (depth != 1)}"
        assert f"search         breadth first, every behaviour of at most {steps}, from 1 initial state" in lines
        assert (found in lines, lines[-1]) == (True, none_to(depth))
