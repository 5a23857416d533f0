"""Interrupted runs of Z3 (time, memory, user): findings are kept, and no result looks like a pass."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

from conformance.tests.support.engine import LAMPS, checking, decided, told, verdict_of
from conformance.tests.support.places import PROJECT
from isrcheck.checker import cli
from isrcheck.checker.resources.limits import Answer
from isrcheck.checker.results.verdict import Word
from isrcheck.checker.symbolic import bounded_model_checking

MAIN = "import sys; from isrcheck.checker.cli import main; sys.exit(main())"


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run `check` in a folder that holds lamps.py; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lamps.py").write_text(LAMPS)
    return checking(cli.main, capsys)


def test_z3_without_time_is_undecided(check):
    code, text, err = check("lamps.py", "--engine", "z3", "--bound", "4", "--seconds", "1e-9")
    assert (code, err) == (3, "")
    assert "HOLDS" not in text
    assert verdict_of(text).startswith("UNDECIDED: the time limit is reached")
    code, run = told(check, "lamps.py", "--engine", "z3", "--bound", "4", "--seconds", "1e-9")
    assert (code, run["stopped"], run["exhausted"], run["verdict"]) == (3, "seconds", False, "UNDECIDED")
    assert {word for _, word, _, _ in decided(run)} == {"UNDECIDED"}


@pytest.mark.parametrize("why", [Answer.SECONDS, Answer.MEMORY, Answer.UNKNOWN])
def test_findings_before_an_interrupt_of_z3_are_kept(check, monkeypatch, why):
    """Queries fail from depth 2 on: the violation at depth 1 is known, all else is undecided."""
    once = bounded_model_checking.once

    def refusing(circuit, demanded, deadline):
        demanded = list(demanded)
        is_far = len(demanded) > 4
        return (why, None) if is_far else once(circuit, demanded, deadline)

    monkeypatch.setattr(bounded_model_checking, "once", refusing)
    code, run = told(check, "lamps.py", "--engine", "z3", "--bound", "4")
    at_depth = run["judged_to_depth"]
    found = {name: (word, depth) for name, word, depth, _ in decided(run)}
    assert (code, run["stopped"]) == (12, why.value)
    assert at_depth < 4
    assert found["some_are_off"] == ("VIOLATED", 1)
    assert found["storms_stay"] == ("UNDECIDED", None)
    code, text, _ = check("lamps.py", "--engine", "z3", "--bound", "4", "--details")
    assert re.search(rf"^storms_stay +UNDECIDED \({why.value}; none to depth {at_depth}\)$", text, re.MULTILINE)
    # Beside the explorer, which was not cut: what it found stands, and what it did not find is agreed no further.
    code, text, _ = check("lamps.py", "--engine", "all", "--bound", "4", "--details")
    assert code == 12
    assert f"the engines agree on every property to depth {at_depth}" in text.splitlines()
    assert re.search(
        rf"^storms_stay +UNDECIDED \(Z3: {why.value}; both found none to depth {at_depth}\)$", text, re.MULTILINE
    )
    assert re.search(r"^calm +VIOLATED at step 3 \(PERMITTED at step 2\)", text, re.MULTILINE)
    assert "distinct states" in text


def test_a_verdict_requires_that_both_engines_finish(check, monkeypatch):
    monkeypatch.setattr(bounded_model_checking, "once", lambda *given: (Answer.MEMORY, None))
    words = ("examples/two_phase_commit", "--engine", "all", "--bound", "3")
    code, run = told(check, *words)
    assert (code, run["verdict"], run["z3"]["stopped"], run["stopped"]) == (3, "UNDECIDED", "memory", None)
    assert {one["verdict"] for one in run["properties"] if one["kind"] == "always"} == {Word.UNDECIDED.value}
    for more in ((), ("--prove",)):  # what is proved in the end leaves the states that have to be reached
        last = verdict_of(check(*words, *more)[1])
        assert last.startswith("UNDECIDED: Z3: the memory limit is reached; ")


def process(folder, *words):
    return subprocess.run(
        [sys.executable, "-P", "-c", MAIN, *words],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(PROJECT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("engine", ["z3", "all"])
def test_z3_out_of_memory_is_undecided(tmp_path, engine):
    """In a separate process, which survives and reports the findings of the explorer."""
    done = process(tmp_path, "kafka", "--protocol", "2.1", "--engine", engine, "--bound", "7", "--memory", "16M")
    assert (done.returncode, "Traceback" in done.stderr) == (3, False), done.stderr
    verdict = verdict_of(done.stdout)
    assert verdict.startswith("UNDECIDED: ")
    assert "the memory limit is reached" in verdict
    assert not re.search(r"^(HOLDS|NO VIOLATION|VIOLATED)", done.stdout, re.MULTILINE)


def test_proofs_out_of_memory_are_reported_as_such(tmp_path, monkeypatch):
    """With a kernel that is compiled already, for which the limit has no room, and without proofs that are kept."""
    monkeypatch.setenv("ISRCHECK_CACHE", str(tmp_path / "cache"))
    process(tmp_path, "kafka", "--protocol", "2.1", "--bound", "1")
    done = process(tmp_path, "kafka", "--protocol", "2.1", "--bound", "1", "--prove", "--memory", "16M")
    assert (done.returncode, "Traceback" in done.stderr) == (3, False), done.stderr
    assert "the proofs were cut short: Z3 reached the memory limit" in done.stdout


@pytest.mark.exhaustive
def test_an_interrupt_of_z3_reports_the_findings(tmp_path):
    """Progress on stderr shows when depth 7 begins; everything before is finished."""
    script = f"from isrcheck.checker.results import terminal; terminal.SECONDS_BETWEEN_LINES = 0; {MAIN}"
    sizes = "--replicas 2 --records 1 --elections 1 --crashes 0 --bound 40"
    words = [sys.executable, "-P", "-c", script, "kafka", "--protocol", "0.10", "--engine", "z3", *sizes.split()]
    environment = os.environ | {"PYTHONPATH": str(PROJECT), "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        while "Z3 at depth 7" not in started.stderr.readline():
            assert started.poll() is None
        started.send_signal(signal.SIGINT)
        out, err = started.communicate()
    assert started.returncode == 130
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "check: interrupted; this is what was found so far"
    assert re.search(r"^VIOLATED at step 6 +acked_not_lost$", out, re.MULTILINE)
    assert re.search(r"^UNDECIDED +[^:]*\blog_matching\b", out, re.MULTILINE)
    assert verdict_of(out) == "VIOLATED: acked_not_lost at step 6, isr_is_complete at step 5"
