"""Compares the explorer with SPIN: the same models, side by side, each search complete and on one core.

Run: python -m benchmarks.peers [ROUNDS [large]]; it needs Debian's packages `spin` and `gcc`

The Promela files beside this one write the models of CASES anew, state for state: a case fails unless both tools find
as many distinct states and as many successors. SPIN counts the initial state among its transitions, so it counts one
transition more. SPIN has no further states, because each program is one loop of d_steps in one process.

Times are processor times of user and system. SPIN's are those of the process of its compiled verifier, with its start;
ours are those of one search. Both compile beforehand. Neither looks for deadlocks. The explorer judges the properties
that are named with each case; SPIN does the same or, where the table says so, judges none. SPIN runs in breadth, like
the explorer, so that counterexamples are shortest, and in depth, which is faster and where they need not be.

SPIN's flags are the fastest of those tried that leave the search exact: -O3 for the own processor and the state vector
of 64 bytes are a little faster than -O2 and the default; -DCOLLAPSE is slower by half, and so is -DHASH64 a little.

Stateright is left out, since its crate could not be fetched where this was written, and a program that never ran
measures nothing.

With `large`, the replication model has epochs 0..3: 9,985,570 states, and more than a gigabyte for SPIN.
"""

from __future__ import annotations

import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import registry
from isrcheck.models.language.model import Instance

HERE = Path(__file__).parent
FLAGS = (
    *("-O3", "-march=native", "-DNOREDUCE", "-DSAFETY", "-DNOFAIR", "-DNOBOUNDCHECK", "-DVECTORSZ=64"),
    "-DMEMLIM=16000",
)
OPTIONS = ("-E", "-m10000")
"""No report of invalid end states; the longest path of a search in depth."""

FOUND = re.compile(r"errors: (\d+)\n +(\d+) states, stored\n(?:.*\n)*? +(\d+) transitions")


@dataclass(frozen=True)
class Case:
    """A model in both languages."""

    title: str
    """The name of the case in the table."""
    model: str
    """The name of the model, as `check` takes it."""
    protocol: str | None
    """The generation; None if the model has none."""
    values: Mapping[str, int]
    """The entries of the configuration that differ from their defaults."""
    properties: tuple[str, ...]
    """The properties that both tools judge."""
    file: str
    """The name of the Promela file beside this module."""
    defined: Mapping[str, int]
    """The macros of the Promela file."""
    slots: int
    """SPIN's option -w: the logarithm of the size of its hash table."""


@dataclass(frozen=True)
class Search:
    """A way to search with SPIN: its title, whether it judges properties, and the flags of the compiler."""

    title: str
    judges: bool
    flags: tuple[str, ...]


def two_phase_commit(managers: int, slots: int) -> Case:
    """Two-phase commit with so many resource managers."""
    return Case(
        f"two-phase commit, {managers} managers",
        "examples/two_phase_commit",
        None,
        {"resource_managers": managers},
        ("consistent",),
        "two_phase_commit.pml",
        {"MANAGERS": managers},
        slots,
    )


def kip_320(max_epoch: int, slots: int) -> Case:
    """Published KIP-320, with epochs up to this one."""
    return Case(
        f"KIP-320, 3 replicas, epochs 0..{max_epoch}",
        "published",
        "kip_320",
        {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": max_epoch},
        ("weak_isr", "strong_isr", "log_matching", "epoch_monotone"),
        "kip_320.pml",
        {"RECORDS": 2, "MAX_EPOCH": max_epoch},
        slots,
    )


CASES = (two_phase_commit(7, 20), two_phase_commit(8, 22), kip_320(2, 21))
LARGE = (kip_320(3, 24),)
SEARCHES = (
    Search("in breadth", True, ("-DBFS",)),
    Search("in breadth, judges nothing", False, ("-DBFS",)),
    Search("in depth", True, ()),
)


def missing() -> str:
    """The reason why there is nothing to compare with, or ""."""
    absent = [tool for tool in ("spin", "gcc") if shutil.which(tool) is None]
    return f"SPIN skipped: no {' and no '.join(absent)} on the path (Debian: apt install spin gcc)" if absent else ""


def verifier(case: Case, search: Search, folder: Path) -> Path:
    """Compile SPIN's verifier of a case; the path of the program."""
    folder.mkdir(parents=True)
    defined = [f"-D{name}={value}" for name, value in case.defined.items()]
    asked = ["-DPROPERTIES"] if search.judges else []
    subprocess.run(["spin", "-a", *defined, *asked, str(HERE / case.file)], cwd=folder, check=True)
    subprocess.run(["gcc", "-w", *FLAGS, *search.flags, "-o", "pan", "pan.c"], cwd=folder, check=True)
    return folder / "pan"


def processor_seconds_of_children() -> float:
    """The processor time of all programs that were run and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def spin(program: Path, case: Case) -> tuple[float, int, int]:
    """Run a verifier: its seconds, the distinct states, and the transitions. Raise ValueError unless it is complete."""
    before = processor_seconds_of_children()
    command = [str(program), *OPTIONS, f"-w{case.slots}"]
    text = subprocess.run(command, cwd=program.parent, check=True, capture_output=True, text=True).stdout
    seconds = processor_seconds_of_children() - before
    found = FOUND.search(text)
    if found is None or found[1] != "0" or "not completed" in text or "max search depth too small" in text:
        raise ValueError(f"SPIN does not search {case.title} to the end:\n{text}")
    return seconds, int(found[2]), int(found[3])


def ours(instance: Instance, kernel: Kernel, case: Case) -> tuple[float, int, int]:
    """Search with the explorer: its seconds, the distinct states, and the successors."""
    began = time.process_time()
    found = explore(instance, Limits(deadlock=False), only=case.properties, kernel=kernel)
    seconds = time.process_time() - began
    broken = [name for name, finding in found.findings.items() if finding.found.count]
    if broken or not found.exhausted:
        raise ValueError(f"the explorer does not search {case.title} to the end; violated: {broken}")
    return seconds, found.distinct, found.generated


def compare(case: Case, rounds: int, folder: Path) -> None:
    """Run both in turns, and print a line for each search of SPIN."""
    instance = registry.load(case.model)[0].instance(case.protocol, case.values)
    kernel = kernel_of(instance, is_optimized=True)
    programs = [verifier(case, search, folder / f"{case.file}{n}") for n, search in enumerate(SEARCHES)]
    _, states, successors = ours(instance, kernel, case)
    theirs: list[list[float]] = [[] for _ in SEARCHES]
    own: list[list[float]] = [[] for _ in SEARCHES]
    for _ in range(rounds):
        for number, program in enumerate(programs):
            seconds, distinct, transitions = spin(program, case)
            assert (distinct, transitions) == (states, successors + 1), f"{case.title}: SPIN finds {distinct} states"
            theirs[number].append(seconds)
            seconds, distinct, generated = ours(instance, kernel, case)
            assert (distinct, generated) == (states, successors)
            own[number].append(seconds)
    for search, one, other in zip(SEARCHES, theirs, own, strict=True):
        print(line(case, search, states, one, other), flush=True)


def line(case: Case, search: Search, states: int, theirs: Sequence[float], own: Sequence[float]) -> str:
    """A line of the table: medians of all rounds; the ratio is the median of the ratios, with the least and largest."""
    ratios = [one / other for one, other in zip(theirs, own, strict=True)]
    one, other = statistics.median(theirs), statistics.median(own)
    return (
        f"{case.title:32} {search.title:26} {states:>10,} {one:7.2f} {states / one:>10,.0f} {other:7.2f}"
        f" {states / other:>10,.0f} {statistics.median(ratios):6.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    )


def main(rounds: int = 3, large: bool = False) -> None:
    """Measure every case, and print a table; or print why there is nothing to compare with."""
    if reason := missing():
        print(reason)
        return
    version = subprocess.run(["spin", "-V"], check=True, capture_output=True, text=True).stdout.strip()
    print(f"{version}; gcc {' '.join(FLAGS)}, in breadth also -DBFS; pan {' '.join(OPTIONS)}")
    print("Stateright: left out, since no program for it could be run where this was written")
    print(
        f"{'model':32} {'search of SPIN':26} {'states':>10} {'SPIN s':>7} {'states/s':>10} {'ours s':>7}"
        f" {'states/s':>10} {'ratio':>6} (least to largest of {rounds})"
    )
    for number, case in enumerate(LARGE if large else CASES):
        with tempfile.TemporaryDirectory() as folder:
            compare(case, rounds, Path(folder) / str(number))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, "large" in sys.argv[2:])
