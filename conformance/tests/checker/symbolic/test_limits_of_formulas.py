"""Limits on time and memory hold while formulas are built, measured from outside."""

from __future__ import annotations

import mmap
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.tests.sampling import exhaustive, recorded
from isrcheck.checker.resources.limits import FormulaBudget, Memory, UndecidedError, resident
from isrcheck.checker.symbolic.and_inverter_graph import AndInverterGraph

WIDE = '''\
"""A sum over many wide cells."""

from isrcheck.language import Domain, action, always, between, field, require


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
    (tmp_path / "wide.py").write_text(WIDE)
    small = WIDE.replace("80", "2")
    (tmp_path / "small.py").write_text(small)
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
