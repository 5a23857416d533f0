"""A search on disk finds what a search in memory finds, however little fits in memory; and it can be resumed."""

from __future__ import annotations

import errno
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.tests.sampling import exhaustive
from conformance.tests.support.engine import verdict_of
from conformance.tests.support.small_models import action, claim, domain, model, state, write_model
from isrcheck.checker.cli import main
from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.disk import engine as carrier_module
from isrcheck.checker.disk import files, stored_states
from isrcheck.checker.disk import stored_states as levels
from isrcheck.checker.disk import stored_states as sorted_runs
from isrcheck.checker.disk.engine import explore_on_disk, text_of
from isrcheck.checker.disk.request import DiskRequest
from isrcheck.checker.disk.summary import DiskSummary
from isrcheck.checker.explicit import carrier as carriers
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.reductions.find import reduction_of
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration, Findings, forecast, mean_error
from isrcheck.checker.running import session as sessions
from isrcheck.commands.exit_codes import INTERRUPTED, UNDECIDED, VIOLATED
from isrcheck.conformance.fuzz.compare import cases
from isrcheck.conformance.fuzz.program import loaded
from isrcheck.conformance.fuzz.programs import random_program
from isrcheck.models import published, registry
from isrcheck.models.language.declarations import WHOLE
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import UsageError

pytestmark = pytest.mark.sampled

SMALL = {"replicas": 3, "log_size": 2, "records": 2, "max_epoch": 1}
STATES = 39_619
"""With SMALL, as counted by the search in memory."""

STATES_OF_TWO_EPOCHS, STATES_OF_THREE_EPOCHS = 737_794, 9_985_570
"""With SMALL, and `max_epoch` 2 and 3; docs/performance.md."""

ROOM = 100_000
LIMITS = Limits(memory=1 << 30)

STOPS, FULL_DISKS = 10, 6
"""The fewest stops in the tests that stop a search at random moments, or fill the disk."""


@dataclass(frozen=True)
class Searched:
    """An instance, its kernel, and the search in memory, which counts all violations or not."""

    instance: Instance
    kernel: Kernel
    count_all: bool = True

    @cached_property
    def expected(self) -> Exploration:
        return self.in_memory()

    def in_memory(self, limits: Limits = LIMITS) -> Exploration:
        return explore(self.instance, limits, kernel=self.kernel, count_all=self.count_all)

    def on_disk(
        self, folder: Path, limits: Limits = LIMITS, report=lambda progress: None, **options: Any
    ) -> tuple[Exploration, DiskSummary]:
        """A search with memory for `room` states: a limit in bytes would depend on the tests that ran before."""
        request = DiskRequest(folder, **{"room": ROOM, **options})
        return explore_on_disk(request, self.instance, limits, self.kernel, count_all=self.count_all, report=report)


@pytest.fixture(scope="module")
def small() -> Searched:
    """Published KIP-320 with one record."""
    instance = published.MODEL.instance("kip_320", SMALL)
    return Searched(instance, kernel_of(instance))


def results(exploration: Exploration) -> dict[str, Any]:
    """The results of a search."""
    for prop in exploration.instance.model.properties:
        if prop.kind in WHOLE and prop.name in exploration.findings:
            exploration.findings[prop.name] = Findings()  # judged in memory only
    names = ("levels", "generated", "frontier", "depth", "judged", "stopped", "fired", "new", "findings")
    return {name: getattr(exploration, name) for name in names}


@pytest.fixture
def tiny_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pieces of everything, so that few thousand states need many of them."""
    monkeypatch.setattr(levels, "PIECE", 256)
    monkeypatch.setattr(stored_states, "PIECE", 256)
    monkeypatch.setattr(stored_states, "FLUSHED", 300)
    monkeypatch.setattr(sorted_runs, "BLOCK", 16)
    monkeypatch.setattr(sorted_runs, "PIECE_BYTES", 1000)


# ------------------------------------------------------------------------------------------------------------- equality


@pytest.mark.parametrize(("room", "runs"), [(50_000, 0), (20_000, 2), (1_000, 14)])
def test_it_finds_what_a_search_in_memory_finds(room: int, runs: int, tmp_path: Path, small: Searched) -> None:
    exploration, disk = small.on_disk(tmp_path / "a", room=room)
    assert (exploration.distinct, results(exploration)) == (STATES, results(small.expected))
    assert disk.runs == runs
    assert not (tmp_path / "a").exists(), "nothing is left to resume"


@pytest.mark.usefixtures("tiny_pieces")
def test_it_finds_the_same_when_everything_is_read_in_many_pieces(tmp_path: Path, small: Searched) -> None:
    exploration, _ = small.on_disk(tmp_path / "a", room=1500)
    assert results(exploration) == results(small.expected)


@pytest.mark.parametrize("bound", [0, 1, 7])
def test_it_ends_at_a_bound(bound: int, tmp_path: Path, small: Searched) -> None:
    bounded = replace(LIMITS, depth=bound)
    exploration, _ = small.on_disk(tmp_path / "a", bounded, room=200)
    assert results(exploration) == results(small.in_memory(bounded))


def test_it_ends_when_every_property_is_decided(tmp_path: Path) -> None:
    """Without `count_all`, both searches end at the same level, with the same counterexamples."""
    instance = registry.load("kafka")[0].instance("0.10", {})
    kafka, bounded = Searched(instance, kernel_of(instance), count_all=False), replace(LIMITS, depth=7)
    exploration, _ = kafka.on_disk(tmp_path / "a", bounded, room=900)
    assert results(exploration) == results(kafka.in_memory(bounded))
    assert exploration.findings["acked_not_lost"].found.path is not None


@pytest.mark.usefixtures("tiny_pieces")
@pytest.mark.parametrize("number", range(12))
def test_it_finds_the_same_in_random_programs(number: int, tmp_path: Path) -> None:
    """Programs of the whole language, some of which leave a declared range, with room for 40 states in memory."""
    program = random_program(3, number)
    with loaded(program, tmp_path) as model:
        case = next(cases(program, model))
        try:
            instance = model.instance(case.protocol, dict(case.values), dict(case.swaps))
        except UsageError:
            return
        searched, bounded = Searched(instance, kernel_of(instance)), replace(LIMITS, depth=6)
        expected = searched.in_memory(bounded)
        if 1 < expected.distinct < 20_000:
            exploration, _ = searched.on_disk(tmp_path / "a", bounded, room=40)
            assert results(exploration) == results(expected)


# ----------------------------------------------------------------------------------------------------------- reductions


@pytest.fixture(scope="module")
def alike() -> Searched:
    """Published KIP-320 with all replicas alike, and a kernel with symmetry."""
    instance = published.MODEL.instance("kip_320", {**SMALL, "max_epoch": 2})
    kernel = kernel_of(instance, reduction=reduction_of(instance, symmetry=True)[0])
    return Searched(instance, kernel, count_all=False)


@pytest.mark.parametrize("room", [exhaustive(200_000), 1_500])
def test_it_finds_what_a_search_in_memory_finds_with_symmetry(room: int, tmp_path: Path, alike: Searched) -> None:
    """Also the counterexamples are the same, which plain Python has taken with real replicas."""
    exploration, disk = alike.on_disk(tmp_path / "a", room=room)
    assert alike.expected.distinct < 0.2 * STATES_OF_TWO_EPOCHS
    assert (results(exploration), exploration.reduction) == (results(alike.expected), alike.expected.reduction)
    assert (disk.runs > 0) == (room == 1_500)


def test_a_search_with_symmetry_can_be_resumed(tmp_path: Path, alike: Searched) -> None:
    every_state = replace(alike, kernel=kernel_of(alike.instance))
    alike.on_disk(tmp_path / "a", replace(LIMITS, depth=9), room=1_500)
    where = f"--resume {tmp_path / 'a'}: the checkpoint belongs to another search: reduction symmetry: one state"
    with pytest.raises(UsageError, match=re.escape(where)):
        every_state.on_disk(tmp_path / "a", is_resumed=True)
    exploration, disk = alike.on_disk(tmp_path / "a", is_resumed=True, room=1_500)
    assert (results(exploration), disk.resumed_at) == (results(alike.expected), 9)
    # A search of every state continues as such, also if the command does not ask for it again.
    every_state.on_disk(tmp_path / "b", replace(LIMITS, depth=3))
    bounded = replace(LIMITS, depth=6)
    exploration, _ = alike.on_disk(tmp_path / "b", bounded, is_resumed=True)
    assert results(exploration) == results(every_state.in_memory(bounded))


BURSTING = model(
    '"""Tanks that are alike, and burst."""\n',
    domain("Tank", "3, symmetric=True"),
    state("level[Tank]: between(0, {most})"),
    action("fills(s, tank: Tank)", "s.level[tank] += 1"),
    claim("always", "is_low(s)", "all(s.level[tank] < 9 for tank in Tank)"),
)


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_search_with_symmetry_in_which_a_value_leaves_its_range(
    interrupted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both searches visit 35 orbits of 125 states. After Ctrl-C, what was found is reported, and the rest later."""
    write_model(tmp_path / "bursting.py", BURSTING.format(most=4))
    monkeypatch.chdir(tmp_path)
    disk = ["--disk", "d"]
    if interrupted:
        with monkeypatch.context() as patched:
            expand, levels = carrier_module.DiskCarrier.expand, iter(range(8))

            def ended(self: carrier_module.DiskCarrier, first: int, last: int) -> None:
                if next(levels, None) is None:
                    raise KeyboardInterrupt
                expand(self, first, last)

            patched.setattr(carrier_module.DiskCarrier, "expand", ended)
            assert main(["bursting.py", "--no-deadlock", *disk]) == INTERRUPTED
        assert re.search(r"^VIOLATED at step 5 +in_range$", capsys.readouterr().out, re.MULTILINE)
        disk = ["--resume", "d"]
    objects = []
    for options in ([], disk):
        assert main(["bursting.py", "--no-deadlock", "--json", *options]) == VIOLATED
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        objects.append({name: run[name] for name in ("distinct", "levels", "generated", "reduction", "command")})
    assert objects[0] == objects[1]
    assert (objects[0]["distinct"], objects[0]["reduction"]) == (
        35,
        "symmetry: one state of each orbit of 6 permutations (Tank 0, 1, 2)",
    )


def test_a_search_that_is_resumed_clears_what_it_has_cleared_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other limits could change how many first states are looked at, and so which cells are worth clearing."""
    monkeypatch.chdir(tmp_path)
    words = ["examples/two_phase_commit", "--json"]
    assert main([*words, "--bound", "3", "--disk", "d"]) == 0
    one = np.zeros((1, registry.load("examples/two_phase_commit")[0].instance().cells), np.int64)
    monkeypatch.setattr(sessions, "first_states", lambda *_: one)
    capsys.readouterr()
    assert main([*words, "--resume", "d"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["distinct"], run["reduction"][:11]) == (99, "dead cells:")


def test_the_command_has_symmetry_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["examples/two_phase_commit", "--resource-managers", "5", "--symmetry", "--disk", "d", "--json"]
    assert main(words) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["distinct"], run["command"]) == (83, "check examples/two_phase_commit --resource-managers 5 --symmetry")
    assert "120 permutations" in run["reduction"] and "dead cells" in run["reduction"]


# ----------------------------------------------------------------------------------------------------- stop and resume


def forked(work: Callable[[], object]) -> int:
    """The signal, or else the exit code, with which a copy of this process ends that does some work."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def kill_before_operation(number: int) -> None:
    """Let this process be killed before its operation of this number on files, some in the middle of a write."""
    left = number

    def killing(operation: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                if operation is write:
                    write(arguments[0], arguments[1][: len(arguments[1]) // 2], *arguments[2:])
                os.kill(os.getpid(), signal.SIGKILL)
            return operation(*arguments)

        return wrapped

    write = files.write_all
    files.write_all = killing(write)
    for name in ("sync", "delete"):
        setattr(files.Column, name, killing(getattr(files.Column, name)))


@pytest.mark.usefixtures("tiny_pieces")
def test_a_search_that_is_killed_can_be_resumed(
    tmp_path: Path, small: Searched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed eight times, before or in the middle of operations on files: the counts and paths are the same."""
    monkeypatch.setattr(carrier_module, "SHARE_FOR_CHECKPOINTS", 1e9)
    chance, folder = random.Random(7), tmp_path / "a"
    search = partial(small.on_disk, folder, room=1500, minutes=0.01 / 60)

    def killed(number: int) -> None:
        kill_before_operation(number)
        is_resumed = (folder / files.CHECKPOINT).exists()
        if not is_resumed:
            for file in folder.glob("*-*"):
                file.unlink()
        search(is_resumed=is_resumed)

    for _ in range(8):
        assert forked(partial(killed, chance.randint(50, 400))) == -signal.SIGKILL
    depth = len(json.loads((folder / files.CHECKPOINT).read_text())["state"]["stored"]["levels"]) - 1
    assert depth > 3
    exploration, disk = search(is_resumed=True)
    assert (disk.resumed_at, results(exploration)) == (depth, results(small.expected))


def test_a_search_can_be_resumed_again_and_again(
    tmp_path: Path, small: Searched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock stops it in the middle of levels, of checks, and of the removal of duplicates."""
    stops, looks = random.Random(3), 0

    def is_out_of_time(self: carrier_module.DiskCarrier) -> bool:
        nonlocal looks
        looks -= 1
        if looks == 0:
            self.context.result.stopped = "seconds"
        return looks == 0

    monkeypatch.setattr(carrier_module.DiskCarrier, "is_out_of_time", is_out_of_time)
    for rounds in itertools.count():
        looks = stops.randint(2, 30) + 2 * rounds  # the removal of duplicates begins anew each time
        exploration, disk = small.on_disk(tmp_path / "a", is_resumed=rounds > 0, room=1000)
        if exploration.stopped is None:
            break
        assert exploration.stopped == "seconds", disk.lost
        assert exploration.levels == small.expected.levels[: len(exploration.levels)]
    assert rounds >= STOPS
    assert results(exploration) == results(small.expected)


def test_a_search_to_a_bound_can_be_resumed_with_a_greater_one(tmp_path: Path, small: Searched) -> None:
    for bound in (3, 5, 9):
        exploration, _ = small.on_disk(tmp_path / "a", replace(LIMITS, depth=bound), is_resumed=bound > 3)
        assert exploration.levels == small.expected.levels[: bound + 1]
    with pytest.raises(
        UsageError, match=r"^--resume .*/a: the search has already reached depth 9; give a greater --bound than 8$"
    ):
        small.on_disk(tmp_path / "a", replace(LIMITS, depth=8), is_resumed=True)
    exploration, disk = small.on_disk(tmp_path / "a", is_resumed=True)
    assert (disk.resumed_at, results(exploration)) == (9, results(small.expected))


def test_an_interrupted_search_can_be_resumed(tmp_path: Path, small: Searched, monkeypatch) -> None:
    """Ctrl-C in the middle of a level takes effect where everything is consistent."""

    def interrupt(_progress: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(carriers, "SECONDS_BETWEEN_REPORTS", 0.05)
    exploration, disk = small.on_disk(tmp_path / "a", report=interrupt, room=1000)
    assert (exploration.stopped, disk.lost) == ("interrupt", "")
    assert exploration.levels == small.expected.levels[: len(exploration.levels)]
    exploration, _ = small.on_disk(tmp_path / "a", is_resumed=True, room=700)
    assert results(exploration) == results(small.expected)


LARGE = "published/kip_320 --replicas 3 --set records=2 --set max_epoch={} --continue --json"


@pytest.mark.exhaustive
def test_a_command_that_is_killed_eight_times_counts_the_same(tmp_path: Path) -> None:
    """`check` is killed with signal 9 at random moments, and resumed: the object of --json is the same in the end."""
    words = LARGE.format(2).split()
    command = [sys.executable, "-m", "isrcheck.checker", *words, "--out", str(tmp_path / "traces")]
    whole = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)["runs"][0]
    assert whole["distinct"] == STATES_OF_TWO_EPOCHS
    chance, folder = random.Random(11), tmp_path / "a"
    on = ["--memory", "400M", "--checkpoint-minutes", "0.002"]
    for _ in range(8):
        where = "--resume" if (folder / files.CHECKPOINT).exists() else "--disk"
        if where == "--disk":
            shutil.rmtree(folder, ignore_errors=True)
        with subprocess.Popen([*command, *on, where, str(folder)], stdout=subprocess.DEVNULL) as child:
            deadline = time.monotonic() + chance.uniform(0.3, 2.5)
            while child.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)
            child.kill()
    where = "--resume" if (folder / files.CHECKPOINT).exists() else "--disk"
    ended = subprocess.run([*command, *on, where, str(folder)], capture_output=True, check=False)
    resumed = json.loads(ended.stdout)["runs"][0]
    keys = ("distinct", "generated", "states_per_level", "actions", "exhausted", "verdict")
    assert {key: resumed[key] for key in keys} == {key: whole[key] for key in keys}
    assert [(one["name"], one["verdict"], one["violating"]) for one in resumed["properties"]] == [
        (one["name"], one["verdict"], one["violating"]) for one in whole["properties"]
    ]


BETWEEN = """
import resource, subprocess, sys
with open(sys.argv[1], "w") as out:
    subprocess.run(sys.argv[2:], stdout=out)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.recorded
def test_the_whole_process_obeys_the_memory_limit(tmp_path: Path) -> None:
    """10 million states in 300 MB: the peak of the resident memory, with the interpreter and all buffers."""
    words = LARGE.format(3).split()
    on = ["--memory", "300M", "--disk", str(tmp_path / "a"), "--out", str(tmp_path / "traces")]
    # A small process in between: the peak memory of a child is at least that of its parent at its start.
    between = [sys.executable, "-c", BETWEEN, str(tmp_path / "out")]
    command = [sys.executable, "-m", "isrcheck.checker", *words, *on]
    done = subprocess.run([*between, *command], capture_output=True, check=True)
    run = json.loads((tmp_path / "out").read_text())["runs"][0]
    assert run["distinct"] == STATES_OF_THREE_EPOCHS
    assert run["disk"]["runs"] > 0
    assert int(done.stdout) <= 300 << 10


# ----------------------------------------------------------------------------------------------------------- full disks


def test_a_full_disk_ends_the_search_and_loses_nothing(tmp_path: Path, small: Searched) -> None:
    """The system refuses files above 40 kB; without this limit, the search continues."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, hard))
    try:
        exploration, disk = small.on_disk(tmp_path / "a", room=1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert exploration.stopped == "disk"
    assert exploration.findings["leader_in_isr"].found.path is not None
    assert exploration.levels == small.expected.levels[: len(exploration.levels)]
    assert len(exploration.levels) > 5
    name = disk.lost.partition(":")[0]
    cure = f"make room or repair the disk, then go on with --resume {tmp_path / 'a'}"
    assert disk.lost == f"{name}: {os.strerror(errno.EFBIG)}; {cure}"
    exploration, _ = small.on_disk(tmp_path / "a", is_resumed=True, room=1000)
    assert results(exploration) == results(small.expected)


def fill_disk(monkeypatch: pytest.MonkeyPatch, writes: Iterator[int]) -> None:
    """Let the disk be full in the middle of a write, after these numbers of writes."""
    write, left = files.write_all, next(writes)

    def refusing(number: int, content: memoryview, at: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            left = next(writes, 0)
            write(number, content[: len(content) // 3], at)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(number, content, at)

    monkeypatch.setattr(files, "write_all", refusing)


def test_the_command_says_in_one_line_that_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is violated so far: the exit code says that it is undecided. Then there is room again."""
    monkeypatch.chdir(tmp_path)
    fill_disk(monkeypatch, iter([30]))
    words = ["examples/two_phase_commit", "--resource-managers", "5"]
    assert main([*words, "--disk", "d"]) == UNDECIDED
    out, err = capsys.readouterr()
    assert verdict_of(out).startswith("UNDECIDED: the disk is full or has failed; ")
    cure = "make room or repair the disk, then go on with --resume d"
    assert re.fullmatch(rf"check: d/[\w.-]+: No space left on device; {cure}", err.splitlines()[-1])
    assert main([*words, "--resume", "d", "--details"]) == 0
    assert "1,299 distinct states" in capsys.readouterr().out


@pytest.mark.usefixtures("tiny_pieces")
def test_a_disk_may_be_full_at_any_write(tmp_path: Path, small: Searched, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(5)
    fill_disk(monkeypatch, iter(lambda: chance.randint(60, 400), None))
    for rounds in itertools.count():
        exploration, disk = small.on_disk(tmp_path / "a", is_resumed=rounds > 0, room=1500)
        if exploration.stopped is None:
            break
        assert exploration.stopped == "disk"
        assert "No space left on device" in disk.lost
    assert rounds >= FULL_DISKS
    assert results(exploration) == results(small.expected)


# ---------------------------------------------------------------------------------------------- refused and damaged


@pytest.fixture
def stopped(tmp_path: Path, small: Searched) -> Path:
    """The folder of a search that has a bound."""
    small.on_disk(tmp_path / "a", replace(LIMITS, depth=9), room=400)
    return tmp_path / "a"


def test_a_damaged_file_is_refused(stopped: Path, small: Searched) -> None:
    """Every file of states and the checkpoint, with one changed bit, cut short, and missing."""
    for file in sorted(stopped.iterdir()):
        content = file.read_bytes()
        if not content or file.name == files.LOCK:
            continue
        flipped = bytearray(content)
        flipped[len(content) // 2] ^= 4
        for damaged in (bytes(flipped), content[:-1], None):
            file.unlink()
            if damaged is not None:
                file.write_bytes(damaged)
            elif file.name == files.CHECKPOINT:
                file.write_bytes(b"[" * 100_000)
            with pytest.raises(UsageError) as refused:
                small.on_disk(stopped, is_resumed=True)
            where = f"--resume {stopped}: the file {file.name} is missing or damaged"
            assert str(refused.value) == f"{where}; begin again in a new folder with --disk"
            file.write_bytes(content)
    exploration, _ = small.on_disk(stopped, is_resumed=True)
    assert exploration.distinct == STATES


def change(folder: Path, change: Callable[[Any], None], *, is_sealed: bool) -> None:
    """Change the state in a checkpoint, with a digest of the new content or not."""
    checkpoint = folder / files.CHECKPOINT
    content = json.loads(checkpoint.read_text())
    change(content["state"])
    checkpoint.write_text(text_of(content["question"], content["state"]) if is_sealed else json.dumps(content))


def counts_more(state: Any) -> None:
    state["result"][1] += 1


def names_a_foreign_file(state: Any) -> None:
    state["stored"]["levels"][-1]["states"] = {"name": "../states-1", "size": 16, "crc": 0}


@pytest.mark.parametrize(("damage", "is_sealed"), [(counts_more, False), (names_a_foreign_file, True)])
def test_a_changed_checkpoint_is_refused(
    damage: Callable[[Any], None], is_sealed: bool, stopped: Path, small: Searched, tmp_path: Path
) -> None:
    """One that somebody has made must not let a search open files outside its folder."""
    (tmp_path / "states-1").write_bytes(b"x" * 64)
    change(stopped, damage, is_sealed=is_sealed)
    with pytest.raises(UsageError, match=r"checkpoint\.json is missing or damaged"):
        small.on_disk(stopped, is_resumed=True)
    assert (tmp_path / "states-1").read_bytes() == b"x" * 64


def test_a_checkpoint_of_another_search_is_refused(
    stopped: Path, small: Searched, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = f"--resume {stopped}: the checkpoint belongs to another search: "
    cure = "; repeat the command that began it, or name a new folder with --disk"

    def differs(instance: Instance = small.instance, limits: Limits = LIMITS, *, count_all: bool = True) -> str:
        with pytest.raises(UsageError) as refused:
            Searched(instance, kernel_of(instance), count_all).on_disk(stopped, limits, is_resumed=True)
        says = str(refused.value)
        assert says.startswith(start) and says.endswith(cure)
        return says.removeprefix(start).removesuffix(cure)

    instance, commit = published.MODEL.instance, registry.load("examples/two_phase_commit")[0].instance()
    assert differs(instance("kip_320", {**SMALL, "records": 3})) == "configuration records=2 there, 3 here"
    assert differs(instance("kip_279", SMALL)) == "protocol kip_320 there, kip_279 here"
    swapped = instance("kip_320", SMALL, {"leader_expands_isr": "kip_279"})
    assert differs(swapped) == "swapped actions leader_expands_isr=none there, kip_279 here"
    assert differs(commit) == "model published there, examples/two_phase_commit here"
    assert differs(count_all=False) == "properties differs"
    assert differs(limits=replace(LIMITS, deadlock=False)) == "deadlock judged there, left out here"
    monkeypatch.setattr("isrcheck.checker.disk.engine.engine_digest", lambda: "0")
    assert differs() == "version of isrcheck differs"


@pytest.mark.usefixtures("tiny_pieces")
@pytest.mark.parametrize("operation", [exhaustive(1), 2, exhaustive(3), exhaustive(5), 8])
def test_a_search_that_is_killed_before_its_first_checkpoint_begins_again(
    operation: int, tmp_path: Path, small: Searched
) -> None:
    folder = tmp_path / "a"

    def work() -> None:
        kill_before_operation(operation)
        small.on_disk(folder, room=1500)

    assert forked(work) == -signal.SIGKILL
    assert not (folder / files.CHECKPOINT).exists()
    exploration, _ = small.on_disk(folder, room=1500)
    assert results(exploration) == results(small.expected)
    assert not folder.exists()


@pytest.mark.parametrize("lock", [None, b"", b"mine", files.OURS + b"x"])
def test_files_in_a_folder_that_no_search_has_begun_are_not_deleted(
    lock: bytes | None, tmp_path: Path, small: Searched
) -> None:
    """Also if they have the names of our files."""
    (tmp_path / "run-000001").write_text("mine")
    if lock is not None:
        (tmp_path / files.LOCK).write_bytes(lock)
    there = sorted(tmp_path.iterdir())
    for _ in range(2):
        with pytest.raises(UsageError, match=r"the folder holds other files \(run-000001\); name a new folder"):
            small.on_disk(tmp_path)
    assert sorted(tmp_path.iterdir()) == there
    assert (tmp_path / "run-000001").read_text() == "mine"


def test_other_files_beside_an_unfinished_beginning_are_not_deleted(tmp_path: Path, small: Searched) -> None:
    (tmp_path / files.LOCK).write_bytes(files.OURS)
    (tmp_path / "states-000001").write_bytes(b"half a")
    for name in ("letter.txt", "run-of-mine", "checkpoint.json.partial.old"):
        (tmp_path / name).write_text("mine")
        with pytest.raises(UsageError, match=rf"the folder holds other files \({re.escape(name)}\)"):
            small.on_disk(tmp_path)
        assert (tmp_path / name).read_text() == "mine"
        (tmp_path / name).unlink()
    (tmp_path / "run-000003").mkdir()
    with pytest.raises(UsageError, match="the folder holds other files"):
        small.on_disk(tmp_path)
    (tmp_path / "run-000003").rmdir()
    exploration, _ = small.on_disk(tmp_path)
    assert exploration.distinct == STATES


def test_a_folder_is_used_by_one_search(stopped: Path, small: Searched) -> None:
    folder = files.Folder.of(DiskRequest(stopped, is_resumed=True))
    with pytest.raises(UsageError, match="another search uses this folder"):
        small.on_disk(stopped, is_resumed=True)
    folder.close()


def test_too_little_memory_is_refused(tmp_path: Path, small: Searched) -> None:
    with pytest.raises(
        UsageError, match=r"^--memory: with --disk the limit is for the whole process, which needs \d+M"
    ):
        small.on_disk(tmp_path / "a", Limits(memory=16 << 20), room=None)


# ------------------------------------------------------------------------------------------------------------ forecasts


@pytest.mark.parametrize(
    ("levels_so_far", "expected"),
    [
        ([1000, 2000], None),  # two levels are too few
        ([1000, 2000, 4000], 4000 * 2),  # it grows twofold
        ([1000, 2000, 3000], 3000 * 1.5**2 / 2),  # from twofold to one and a half
        ([1, 1, 2000], 2000 * 2000 * 1.5),  # at most so much faster than before
        ([1, 2, 999], None),  # so few states say nothing
        ([1, 0, 2000], None),
    ],
)
def test_forecasts_follow_the_growth_of_levels(levels_so_far: list[int], expected: float | None) -> None:
    assert forecast(levels_so_far) == expected


def test_the_mean_error_of_forecasts() -> None:
    assert mean_error([1, 2, 3, 4]) is None
    assert mean_error([1000, 2000, 4000, 8000, 12_000]) == (pytest.approx((0 + 4000 / 12_000) / 2), 2)


def test_forecasts_of_a_real_search_are_good(small: Searched) -> None:
    levels = small.expected.levels
    error = mean_error(levels)
    assert error is not None and error[0] < 0.15
    assert error[1] == sum(forecast(levels[:number]) is not None for number in range(len(levels)))
