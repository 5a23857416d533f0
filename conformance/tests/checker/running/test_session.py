"""A session runs engines within one budget, and writes traces; whatever ends early says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.support.engine import COUNTER
from isrcheck.checker.proofs.proof_cache import solver_version
from isrcheck.checker.resources.limits import Budget, Limits
from isrcheck.checker.results.causes import Causes
from isrcheck.checker.results.exploration import Exploration
from isrcheck.checker.results.run import Z3Agreement, as_object
from isrcheck.checker.results.verdict import Word
from isrcheck.checker.running.proofs import Proving
from isrcheck.checker.running.session import AskedReduction, CutShortError, SearchSession
from isrcheck.checker.running.trace_writer import TraceWriter
from isrcheck.models import registry


@pytest.fixture
def instance(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("counter.py").write_text(COUNTER, encoding="utf-8")
    return registry.load_file(Path("counter.py")).instance()


def session_of(limits=None, interrupts=(), seconds=None):
    limits = limits or Limits()
    return SearchSession(limits, Budget(seconds, limits.memory), list(interrupts))


def test_a_run_has_its_verdicts_its_traces_and_the_command_that_repeats_it(instance):
    traces = TraceWriter(Path("out"))
    run = session_of().run(
        instance, "counter.py", traces, limits=Limits(3), reduction=AskedReduction(words=" --no-reduction")
    )
    assert (run.word, run.command) == (Word.VIOLATED, "check counter.py --bound 3 --no-reduction")
    assert (run.parts, run.engine, list(run.traces), list(run.histories)) == ((), "local", *[["stays_small"]] * 2)
    assert run.traces["stays_small"].is_file()
    assert run.histories["stays_small"] is traces.shortest["stays_small"]
    assert run.show(run.traces["stays_small"]).endswith(" --model counter.py")


def test_only_the_named_properties_are_judged(instance):
    run = session_of().run(instance, "counter.py", TraceWriter(None), limits=Limits(), only=["nothing"])
    assert [verdict.word for verdict in run.verdicts] == [Word.NOT_APPLICABLE]
    assert run.traces == {}


def test_without_time_nothing_is_searched_and_nothing_passes(instance):
    session = session_of(seconds=1e-9)
    run = session.run(instance, "counter.py", TraceWriter(None), limits=Limits())
    assert (run.word, run.exploration.stopped, run.exploration.judged) == (Word.UNDECIDED, "seconds", 0)
    with pytest.raises(CutShortError, match="the time limit is reached"):
        session.explore_whole(instance, Limits())


def test_further_engines_do_not_work_on_a_search_that_did_not_begin(instance):
    session = session_of()
    run = session.run(instance, "counter.py", TraceWriter(None), limits=Limits())
    run = replace(run, exploration=Exploration.without_beginning(instance, Limits(), "memory"))
    for further in (
        session.compare_with_z3(run),
        session.prove(run, TraceWriter(None)),
        session.find_distinct_causes(run, 2, "counter.py", TraceWriter(None)),
    ):
        assert further is run


def test_ctrl_c_before_a_search_is_not_lost(instance):
    with pytest.raises(KeyboardInterrupt):
        session_of(interrupts=[2]).explore(instance, Limits())


def test_each_further_engine_adds_a_part_and_its_words_to_the_command(instance):
    traces, session = TraceWriter(Path("out")), session_of(Limits(3))
    run = session.run(instance, "counter.py", traces, limits=session.limits, keep_states=True)
    run = session.compare_with_z3(run)
    run = session.prove(run, traces)
    assert [type(part) for part in run.parts] == [Z3Agreement, Proving]
    assert run.command == "check counter.py --bound 3 --engine all --prove"
    causes = session.find_distinct_causes(run, 2, "counter.py", traces)
    assert causes.command == "check counter.py --bound 3 --counterexamples 2"
    (of_failure,) = causes.part(Causes).of_failures
    # The shortest counterexample has its file already.
    assert [example.path for example in of_failure.found] == [run.traces["stays_small"]]
    assert [one["property"] for one in as_object(causes)["counterexamples"]] == ["stays_small"]


def test_z3_alone(instance):
    run = session_of(Limits(3)).run_z3(instance, "counter.py", TraceWriter(None))
    assert (run.engine, run.word, run.command) == ("z3", Word.VIOLATED, "check counter.py --bound 3 --engine z3")
    assert run.exploration.solver == f"Z3 {solver_version()}"


# ------------------------------------------------------------------------------------------------------- trace files


def test_a_trace_that_cannot_be_written_is_said_once_and_is_kept_in_memory(instance):
    Path("out").write_text("no folder", encoding="utf-8")
    traces = TraceWriter(Path("out"))
    for _ in range(2):
        run = session_of().run(instance, "counter.py", traces, limits=Limits())
        assert (run.traces, list(run.histories)) == ({}, ["stays_small"])
    assert traces.failure.startswith("out: ")


def test_without_a_folder_no_file_is_written(instance):
    traces = TraceWriter(None)
    session_of().run(instance, "counter.py", traces, limits=Limits())
    assert (traces.failure, list(Path().iterdir())) == ("", [Path("counter.py")])
    assert traces.shortest["stays_small"].length == 2
