"""Interrupted runs of Z3 (time, memory, user): findings are kept, and no result looks like a pass. Limits on time and
memory hold while formulas are built, measured from outside."""

from __future__ import annotations

import mmap
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.tests.sampling import exhaustive, recorded
from conformance.tests.support.engine import LAMPS, checking, decided, told, verdict_of
from conformance.tests.support.places import PROJECT
from conformance.tests.support.small_models import write_model
from isrcheck.checker import cli
from isrcheck.checker.outcome.verdict import Word
from isrcheck.checker.resources.limits import Answer, FormulaBudget, Memory, UndecidedError, resident
from isrcheck.checker.symbolic import bounded_model_checking
from isrcheck.checker.symbolic.and_inverter_graph import AndInverterGraph

MAIN = "import sys; from isrcheck.checker.cli import main; sys.exit(main())"


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run `check` in a folder that holds lamps.py; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "lamps.py", LAMPS)
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
    script = f"from isrcheck.checker.session import progress; progress.SECONDS_BETWEEN_LINES = 0; {MAIN}"
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


WIDE = '''\
"""A sum over many wide cells."""

class Cell(Domain, size=80):
    pass

class State:
    load = field(Cell, values=between(0, 100))

@action
def worker_takes(s, c: Cell):
    require(s.load[c] < 100)
    s.load[c] += 1

@always
def bounded(s):
    return sum(s.load[c] for c in range(80)) <= 7000
'''

CHECK = "import sys; from isrcheck.checker.cli import main; sys.exit(main(sys.argv[1:]))"
MEASURE = (
    "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=2);"
    "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)
LATE = 2
ABOVE = 250 << 20


def measured(folder: Path, *words: str) -> tuple[int, float, int]:
    """Run `check`; return the exit code, the seconds, and the peak memory in bytes."""
    began = time.monotonic()
    command = [sys.executable, "-c", MEASURE, sys.executable, "-c", CHECK, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    code, kilobytes = map(int, done.stdout.split())
    return code, time.monotonic() - began, kilobytes << 10


@pytest.fixture
def start(tmp_path: Path) -> float:
    """The seconds for the start, compilation, and a trivial query."""
    write_model(tmp_path / "wide.py", WIDE)
    small = WIDE.replace("80", "2")
    write_model(tmp_path / "small.py", small)
    measured(tmp_path, "wide.py", "--bound", "1")
    return measured(tmp_path, "small.py", "--engine", "z3", "--bound", "0")[1]


SEVEN_REPLICAS = ("kafka", "--protocol", "2.1", "--set", "replicas=7")


@pytest.mark.parametrize(
    ("words", "seconds", "memory"),
    [
        exhaustive((("wide.py", "--engine", "z3", "--bound", "40", "--seconds", "4"), 4, None)),
        exhaustive((("wide.py", "--prove", "--bound", "1", "--seconds", "3", "--memory", "300M"), 3, 300 << 20)),
        recorded((("wide.py", "--engine", "z3", "--bound", "3", "--memory", "200M"), None, 200 << 20)),
        recorded(((*SEVEN_REPLICAS, "--engine", "z3", "--bound", "2", "--seconds", "2"), 2, None)),
    ],
)
def test_a_limit_ends_the_construction_of_formulas(tmp_path, start, words, seconds, memory):
    code, took, held = measured(tmp_path, *words)
    assert code == 3
    assert seconds is None or took <= start + seconds + LATE
    assert memory is None or held <= memory + ABOVE


def fill(circuit: AndInverterGraph) -> None:
    """Create nodes in an endless loop."""
    while True:
        circuit.both(circuit.variable(), circuit.variable())


def test_a_circuit_respects_its_deadline():
    circuit = AndInverterGraph(FormulaBudget(time.monotonic() + 0.2))
    began = time.monotonic()
    with pytest.raises(UndecidedError, match="seconds"):
        fill(circuit)
    assert time.monotonic() - began <= 0.7


def test_a_circuit_respects_its_memory_limit(monkeypatch):
    monkeypatch.setattr(Memory, "most", Memory.most)
    monkeypatch.setattr(Memory, "most_resident", Memory.most_resident)
    before = resident()
    Memory.limit(30 << 20)
    circuit = AndInverterGraph()
    with pytest.raises(UndecidedError, match="memory"):
        fill(circuit)
    assert resident() - before <= 60 << 20


def test_the_measured_memory_is_that_of_this_process():
    before = resident()
    # New memory: a bytearray may get memory that the process has used before.
    with mmap.mmap(-1, 50 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as held:
        held.write(b"x" * len(held))
        assert resident() - before >= len(held) - (1 << 20)
