"""Limits apply to a whole command: it exceeds them by at most two seconds and 250 MB. The memory limit of a container
is found for both versions of control groups, at any nesting depth."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support.engine import verdict_of
from conformance.tests.support.small_models import action, block, claim, define, entries, model, state, write_model
from isrcheck.checker.compile import kernel as kernels
from isrcheck.checker.compile import machine_code as native
from isrcheck.checker.compile.kernel_code import CarefulCode
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Budget, Limits, Spent, machine_memory
from isrcheck.checker.simulation.walks import SimulationRequest, simulate
from isrcheck.models import registry
from isrcheck.models.language.model import Instance

pytestmark = pytest.mark.sampled

M = 1 << 20
V2 = "29 23 0:26 {top} {mounted} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "34 25 0:29 {top} {mounted} rw,nosuid - cgroup cgroup rw,memory\n"
CPU = "35 25 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"


def machine(root: Path, groups: str, mounts: str, limits: Mapping[str, object]) -> Path:
    texts = {"proc/self/cgroup": groups, "proc/self/mountinfo": mounts}
    for name, text in (texts | {name: f"{limit}\n" for name, limit in limits.items()}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


CGROUP = V2.format(top="/", mounted="/sys/fs/cgroup")
IN_DOCKER = V2.format(top="/docker/x", mounted="/sys/fs/cgroup")
OLDER = V1.format(top="/", mounted="/sys/fs/cgroup/memory")
UNIFIED = V2.format(top="/", mounted="/sys/fs/cgroup/unified")
SPACED = V2.format(top="/", mounted="/sys/fs/c\\040group")
WITHOUT_LIMIT = "9223372036854771712"

CASES = {
    "own group": ("0::/a/b\n", CGROUP, {"a/b/memory.max": 64 * M, "a/memory.max": "max"}, 64),
    "group around it": ("0::/a/b/c\n", CGROUP, {"a/b/c/memory.max": 64 * M, "a/memory.max": 32 * M}, 32),
    "inside a container": ("0::/\n", CGROUP, {"memory.max": 48 * M}, 48),
    "mounted from the container's group on": (
        "0::/docker/x/inner\n",
        IN_DOCKER,
        {"memory.max": 48 * M, "inner/memory.max": 40 * M},
        40,
    ),
    "outside of what is mounted": ("0::/elsewhere\n", IN_DOCKER, {"memory.max": 48 * M}, 48),
    "the older kind": (
        "5:cpu,cpuacct:/a\n4:memory:/a/b\n",
        CPU + OLDER,
        {
            "memory/a/b/memory.limit_in_bytes": WITHOUT_LIMIT,
            "memory/a/memory.limit_in_bytes": 32 * M,
            "memory/memory.limit_in_bytes": 96 * M,
        },
        32,
    ),
    "both kinds": (
        "4:memory:/a\n0::/a\n",
        OLDER + UNIFIED,
        {"memory/a/memory.limit_in_bytes": 24 * M, "unified/a/memory.max": "max"},
        24,
    ),
    "a space in the path": ("0::/a b\n", SPACED, {"../c group/a b/memory.max": 64 * M}, 64),
}
"""The group of the process, what is mounted, the limits of files in sys/fs/cgroup, and the least limit in MiB."""


@pytest.mark.parametrize("case", CASES)
def test_the_smallest_limit_applies(tmp_path: Path, case: str) -> None:
    groups, mounts, limits, megabytes = CASES[case]
    files = {f"sys/fs/cgroup/{name}": limit for name, limit in limits.items()}
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    assert machine_memory(machine(tmp_path, groups, mounts, files)) == megabytes * M


@pytest.mark.parametrize(
    ("groups", "mounts"), [("", ""), ("0::/a\n", ""), ("nonsense", "nonsense - \n - \n"), ("0::/a\n", "1 - cgroup2\n")]
)
def test_without_a_limit_the_machines_memory_applies(tmp_path: Path, groups: str, mounts: str) -> None:
    assert machine_memory(machine(tmp_path, groups, mounts, {})) == machine_memory(tmp_path / "empty") > 256 * M


SECONDS = 1
STATES_A_SECOND = 200_000
"""Few enough for a slow machine."""

LATE = 2.0
ABOVE = 250 << 20

TEXT = model(
    '"""Initial states that take for ever."""\n',
    "import itertools\n",
    entries('how = setting(0, "which way", most=4)'),
    block(
        "State",
        "x = field(values=between(0, 9))",
        "wide = [field(values=between(0, 127)) for _ in range(4)]",
        "a, b, c, d = wide",
        "del wide",
    ),
    define(
        "initial",
        "begins(configuration)",
        "hoard = []",
        "while configuration.how == 0:",
        '    yield {"x": 1}',
        "while configuration.how == 1:",
        "    try:",
        "        hoard.clear()",
        "    except Exception:",
        "        pass",
        "while configuration.how == 2:",
        "    hoard.append([0] * 1000)",
        "if configuration.how == 3:",
        "    for a, b, c, d in itertools.product(range(128), repeat=4):",
        '        yield {"a": a, "b": b, "c": c, "d": d}',
        'yield {"x": 0}',
    ),
    action("step(s)", "require(s.x < 9)", "s.x += 1"),
    claim("always", "fine(s)", "s.x >= 0"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_model(tmp_path / "slow.py", TEXT)
    return tmp_path


MEASURE = """
import resource, subprocess, sys
with open(sys.argv[1], "w") as out:
    done = subprocess.run(sys.argv[2:], stdout=out)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
"""A small process in between: the peak memory of a child is at least that of its parent at its start."""


def process(folder: Path, words: str) -> tuple[int, str, float, int]:
    """Run a command in a separate process; return the exit code, the output, the seconds and the peak memory.

    Time in which the process waits for the processor does not count. A command that proves gets a cache of its own:
    proofs that another command has kept take no time and no memory.
    """
    environment = os.environ | ({"ISRCHECK_CACHE": str(folder / "cache")} if "--prove" in words else {})
    command = [sys.executable, "-m", "isrcheck.checker", *words.split()]
    measure = [sys.executable, "-c", MEASURE, str(folder / "out"), *command]
    done = subprocess.run(measure, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    code, seconds, kibibytes = done.stdout.split()
    return int(code), (folder / "out").read_text(), float(seconds), int(kibibytes) << 10


FORMS = [
    *(f"slow.py --set how={how}" for how in (0, 1, 3)),
    "slow.py --set how=0 --engine z3 --bound 3",
    "slow.py --set how=1 --engine all --bound 3",
    "slow.py --set how=1 --prove",
    "slow.py --set how=1 --counterexamples 2",
    "slow.py --set how=0 --threads 2",
    "mutate slow.py --set how=1",
    "graph slow.py --set how=1 -o x.html",
    "sweep slow.py --vary how=1,0",
    "kafka --protocol 2.1",
    "kafka --protocol 2.1 --prove",
    "sweep kafka --vary min.insync.replicas=1,2,3 --vary bounces=3,4",
    "published",
    "mutate kafka --protocol 2.1",
    "--config topic.properties --kafka-version 2.1 --fresh",
]


SHORTER = {"published": 0.5}
"""Forms that a fast machine completes in little more than `SECONDS` get less: all fifty rows took 1.7 s there."""


FIRST = FORMS[::3]
"""The forms that `make test` runs."""


@pytest.mark.parametrize("form", sampled(FORMS, lambda form: form in FIRST))
def test_the_time_limit_covers_the_whole_command(folder: Path, form: str) -> None:
    seconds = SHORTER.get(form, SECONDS)
    (folder / "topic.properties").write_text("replication.factor=3\nmin.insync.replicas=2\nacks=all\nretries=3\n")
    code, text, took, _ = process(folder, f"{form} --seconds {seconds}")
    assert (code, took < seconds + LATE) == (3, True), (code, took, text)
    assert "UNDECIDED" in text or "undecided" in text or "Cannot tell" in text


@pytest.mark.parametrize("how", [2, 3])
def test_the_memory_limit_covers_the_initial_states(folder: Path, how: int) -> None:
    code, text, _, used = process(folder, f"slow.py --set how={how} --memory 200M")
    assert (code, used < (200 << 20) + ABOVE) == (3, True), (code, used, text)
    assert "\n\nUNDECIDED: the memory limit is reached; nothing was searched\n" in text


def test_no_search_starts_from_only_some_initial_states(folder: Path) -> None:
    code, text, _, _ = process(folder, f"slow.py --set how=3 --seconds {SECONDS} --json")
    (run,) = json.loads(text)["runs"]
    assert (code, run["distinct"], run["judged_to_depth"], run["stopped"]) == (3, 0, -1, "seconds")


def test_many_initial_states_are_built_quickly_and_their_time_is_reported(folder: Path) -> None:
    instance = registry.load_file(folder / "slow.py").instance(None, {"how": 3})
    reports: list[tuple[int, float]] = []

    class EnoughError(Exception):
        pass

    def watch(count: int, size: int) -> None:
        reports.append((count, time.thread_time()))
        assert size > 5 * count
        if count > 600_000:
            raise EnoughError

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(EnoughError):
        instance.enumerated(watch)
    (first, began), (last, ended) = reports[0], reports[-1]
    assert (last - first) / (ended - began) > STATES_A_SECOND
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10
    assert not instance.is_enumerated


def test_the_remaining_budget_decreases_to_zero() -> None:
    budget = Budget(5, 1 << 30, time.monotonic() - 3)
    assert budget.left == pytest.approx(2, abs=0.5)
    assert budget.limits(Limits(seconds=1)).seconds == 1
    assert budget.limits(Limits(depth=3)) == Limits(3, seconds=pytest.approx(2, abs=0.5))
    assert Budget(5, 1 << 30, time.monotonic() - 9).left == 0
    assert Budget(None, 1 << 30).left is None
    with pytest.raises(Spent, match="memory"):
        budget.look(1 << 31)


def test_a_limit_ends_no_finalizer() -> None:
    """Python ignores an exception in a finalizer: the limit ends the code after it, and nothing is printed."""
    ended: list[str] = []

    class Slow:
        def __del__(self) -> None:
            began = time.monotonic()
            while time.monotonic() < began + 0.4:
                pass
            ended.append("finalizer")

    def collect_and_go_on() -> None:
        with Budget(0.2, sys.maxsize).kept():
            held = [Slow()]
            held.clear()
            while True:
                pass

    with pytest.raises(Spent, match="seconds"):
        collect_and_go_on()
    assert ended == ["finalizer"]


def test_after_a_stage_within_a_stage_the_outer_one_is_watched_again() -> None:
    budget = Budget(0.3, sys.maxsize)

    def stages() -> None:
        with budget.kept():
            with budget.kept():
                pass
            ends = time.monotonic() + 5
            while time.monotonic() < ends:
                pass

    with pytest.raises(Spent, match="seconds"):
        stages()


LEAVES = model('"""A number that leaves its range."""\n', state("x: between(0, 9)"), action("grows(s)", "s.x += 1"))


@pytest.fixture
def leaving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Instance, kernels.Kernel]:
    """An instance that leaves its range, and its kernel; the careful kernel is ready to be compiled after 2.1 s."""
    monkeypatch.setenv("ISRCHECK_CACHE", str(tmp_path / "cache"))
    instance = registry.load_file(write_model(tmp_path / "leaves.py", LEAVES)).instance()
    quick = kernels.kernel_of(instance)
    for threads in (1, 2):  # this compiles what every search needs
        explore(instance, Limits(2, 1 << 28, None, threads), kernel=quick)
    simulate(instance, quick, SimulationRequest(1, 2, 0))
    build = CarefulCode.build

    def late(code: CarefulCode) -> None:
        time.sleep(2.1)
        build(code)

    monkeypatch.setattr(CarefulCode, "build", late)
    monkeypatch.setattr(native, "machine_code", lambda *_, **__: pytest.fail("it is compiled without a limit"))
    return instance, quick


@pytest.mark.parametrize("threads", [1, 2])
def test_a_kernel_that_is_compiled_in_the_middle_of_a_search_keeps_the_limit(leaving, threads: int) -> None:
    instance, quick = leaving
    found = explore(instance, Limits(None, 1 << 28, 2, threads), kernel=quick)
    assert (found.stopped, found.judged) == ("seconds", 9)


def test_a_kernel_that_is_compiled_in_the_middle_of_a_walk_keeps_the_limit(leaving) -> None:
    found = simulate(*leaving, SimulationRequest(10, 30, 0), time.monotonic() + 2)
    assert (found.stopped, found.walks) == ("seconds", 0)


@pytest.mark.recorded
def test_proofs_get_the_memory_that_the_search_leaves(folder: Path) -> None:
    """The states stay in memory during the proofs, which may use only the rest of the limit."""
    code, text, _, used = process(folder, "kafka --protocol 2.1 --bound 16 --prove --memory 200M")
    assert (code, used < (200 << 20) + ABOVE) == (3, True), (code, used, text)
    assert "UNDECIDED" in verdict_of(text)
