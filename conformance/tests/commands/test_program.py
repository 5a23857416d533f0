"""Every command as a program: Ctrl-C at any time, closed and full streams, encodings, versions, no home directory."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support.engine import COUNTER
from conformance.tests.support.programs import HERE, PACKAGES, ran, words_of
from conformance.tests.support.trace import weak_isr
from isrcheck.checker.cli import main as check
from isrcheck.checker.resources import cache
from isrcheck.commands.program import interrupts, version
from isrcheck.conformance.cli import main as conform
from isrcheck.traces.cli import main as trace
from isrcheck.traces.format.files import write as write_trace

pytestmark = pytest.mark.sampled

VERSION = f"isrcheck {version()}\n"
COMMANDS = {
    "check": "check kafka --protocol 2.1 --bound 3",
    "trace": "trace list .",
    "conform": "conform replay --walks 3",
}
INSTANTS = 10
SECONDS_OF_PYTHON = 0.5
"""Python starts to run our code within this processor time."""

TICKS = os.sysconf("SC_CLK_TCK")
OWN = re.compile(r'File "[^"]*/(models|checker|traces|conformance)/[^"]*", line \d+, in (?!<module>)')
"""A line of a traceback in a function of ours: before the first call, Python itself handles Ctrl-C."""

COMPILING = """
import os, signal, sys
from isrcheck.checker.compile import kernel as kernels

def compiling(*arguments, **keywords):
    class Callback:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                pass
    Callback()
    return kernel_of(*arguments, **keywords)

kernel_of, kernels.kernel_of = kernels.kernel_of, compiling
"""

WRAPPED = """
import sys
from types import SimpleNamespace
from isrcheck.commands.program import run

class Interrupted:
    def __set_name__(self, owner, name):
        raise KeyboardInterrupt

def work(words, began):
    class Owner:
        field = Interrupted()
    return 0

sys.modules["work"] = SimpleNamespace(main=work)
sys.exit(run("check", "work"))
"""


def processor_seconds(process: subprocess.Popen[str]) -> float:
    """The processor time that a process has used; unlike the clock, it does not depend on other processes."""
    words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def length_of(command: list[str], folder: Path) -> float:
    """The processor time of an uninterrupted command, after a first run that compiles its kernel."""
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, env=HERE, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def interrupted(command: list[str], folder: Path, *instants: float) -> tuple[int, str]:
    """Send Ctrl-C to a command after each of these processor times; return its exit code and its errors."""
    with subprocess.Popen(
        command, cwd=folder, env=HERE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        for instant in instants:
            while process.poll() is None and processor_seconds(process) < instant:
                time.sleep(0.002)
            process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    return process.returncode, told


@pytest.mark.parametrize("name", sampled(COMMANDS, lambda name: name == "trace", last=lambda name: name == "conform"))
def test_an_interrupt_at_any_time_is_one_line(tmp_path: Path, name: str) -> None:
    command = words_of(COMMANDS[name])
    length = length_of(command, tmp_path)
    for number in range(INSTANTS):
        instant = length * number / INSTANTS
        code, told = interrupted(command, tmp_path, instant)
        if code not in (0, 130):
            assert not OWN.search(told), told
            assert instant < SECONDS_OF_PYTHON, told
            continue
        lines = told.splitlines()
        assert [line for line in lines if "compiling" not in line] in ([], lines[-1:]), told
        assert code == 0 or lines[-1].startswith(f"{name}: "), told
        assert "Traceback" not in told


def import_fails(after_ctrl_c: bool) -> None:
    """An import that fails as NumPy's does: the interrupt is swallowed, and is not the cause of the error."""
    with interrupts():
        if after_ctrl_c:
            with contextlib.suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
        raise ImportError("PyCapsule_Import could not import module datetime")


def test_an_error_of_an_interrupted_import_is_the_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt):
        import_fails(after_ctrl_c=True)
    with pytest.raises(ImportError):
        import_fails(after_ctrl_c=False)


@pytest.mark.recorded
def test_a_second_interrupt_gives_no_traceback(tmp_path: Path) -> None:
    command = words_of(COMMANDS["check"])
    length = length_of(command, tmp_path)
    for number in range(8):
        instant = length * (4 + number) / 12
        code, told = interrupted(command, tmp_path, instant, instant + 0.01)
        assert code in (0, 130)
        assert "Traceback" not in told


def test_an_interrupt_that_python_drops_in_a_callback_is_one_line(tmp_path: Path) -> None:
    code, told = interrupted(words_of(COMMANDS["check"], script=COMPILING), tmp_path)
    assert (code, told) == (130, "check: interrupted before anything was found\n")


def test_an_interrupt_while_a_class_is_made_is_one_line(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WRAPPED], cwd=tmp_path, env=HERE, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "check: interrupted\n")


@pytest.mark.parametrize("name", PACKAGES)
def test_the_version_is_printed_before_any_import(tmp_path: Path, name: str) -> None:
    script = (
        f"import sys; from {PACKAGES[name]}.__main__ import main; code = main()\n"
        "late = {'argparse', 'numpy', 'isrcheck.models.run', 'isrcheck.traces.format.files'}\n"
        "sys.exit(code or ' '.join(late & set(sys.modules)) or None)"
    )
    told = subprocess.run([sys.executable, "-c", script, "--version"], cwd=tmp_path, env=HERE, capture_output=True)
    assert (told.returncode, told.stdout, told.stderr) == (0, VERSION.encode(), b"")


@pytest.mark.parametrize(
    ("main", "words"),
    [
        (check, ["--version"]),
        (check, ["kafka", "--boud", "3", "--version"]),
        (trace, ["--version"]),
        (trace, ["show", "--version"]),
        (conform, ["--version"]),
        (conform, ["run", "--version"]),
    ],
)
def test_the_version_option_works_everywhere(
    main: Callable[[list[str]], int], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert (main(words), *capsys.readouterr()) == (0, VERSION, "")


@pytest.mark.parametrize(
    ("main", "line", "complaint"),
    [
        (trace, "show x --stpe 3", "trace: there is no option --stpe; did you mean --step?"),
        (trace, "list --bogus", "trace: unrecognized arguments: --bogus; see trace --help"),
        (trace, "explore kafka --protocol 2.1 --form x", "trace: kafka has no option --form; did you mean --from?"),
        (conform, "run --sed 3", "conform: there is no option --sed; did you mean --seed?"),
        (conform, "run 3", "conform: unrecognized arguments: 3; see conform --help"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest_one(
    main: Callable[[list[str]], int], line: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (main(line.split()), *capsys.readouterr()) == (2, "", f"{complaint}\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model that is violated, and with its counterexample, which is a trace of Kafka's."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "model.py").write_text(COUNTER)
    write_trace(weak_isr(), folder / "traces")
    return folder


PRINTING = {
    "check model.py": 12,
    "check model.py --json": 12,
    "check --help": 0,
    "trace show traces/latest": 0,
    "trace list traces": 0,
    "trace --help": 0,
    "conform replay --walks 1 --coverage": 0,
    "conform replay --walks 50 --bug ack_before_isr": 20,
    "isrcheck --help": 0,
}
"""Commands that print, each with its exit code."""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", PRINTING)
def test_closed_streams_change_no_exit_code(folder: Path, command: str, closed: str) -> None:
    assert ran(command, folder=folder, redirected=closed).code == PRINTING[command]


@pytest.mark.parametrize("command", PRINTING)
def test_a_closed_pipe_changes_no_exit_code_and_is_no_error(folder: Path, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = ran(command, folder=folder, stdout=writing)
    os.close(writing)
    assert (done.code, done.complaints) == (PRINTING[command], "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full on this system")
@pytest.mark.parametrize("command", PRINTING)
def test_a_full_device_is_one_line(folder: Path, command: str) -> None:
    done = ran(command, folder=folder, redirected="> /dev/full")
    name = command.partition(" ")[0]
    says = f"{name}: the output cannot be written: No space left on device; send it elsewhere\n"
    assert (done.code, done.complaints) == (2, says)


@pytest.mark.parametrize("command", PRINTING)
def test_output_fits_the_encoding_of_the_terminal(folder: Path, command: str) -> None:
    ascii_only = ran(command, folder=folder, PYTHONUTF8="0", PYTHONIOENCODING="ascii", LC_ALL="C")
    usual = ran(command, folder=folder, PYTHONUTF8="1")
    assert ascii_only.code == PRINTING[command]
    assert ascii_only.out.isascii()
    assert len(ascii_only.out) == len(usual.out)
    if command.startswith("trace show"):
        assert ascii_only.out == usual.out.replace("·", ".")
        assert "·" in usual.out


def test_without_a_home_the_cache_is_temporary(tmp_path: Path) -> None:
    """As in a container whose user has no entry in the user database."""
    script = (
        "import os, pathlib\n"
        "def nowhere(cls=None): raise RuntimeError('Could not determine home directory.')\n"
        "pathlib.Path.home = classmethod(nowhere)\n"
        "os.environ.pop('XDG_CACHE_HOME', None), os.environ.pop('ISRCHECK_CACHE', None)"
    )
    (tmp_path / "here").mkdir()
    command = "check examples/two_phase_commit --bound 1"
    done = ran(command, folder=tmp_path / "here", script=script, TMPDIR=str(tmp_path))
    assert (done.code, done.err.count("no home folder")) == (0, 1), done
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("isrcheck")] == []


def test_a_missing_home_is_reported_once(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("ISRCHECK_CACHE", raising=False)

    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    cache.own_folder.cache_clear()
    assert cache.cache_folder() == cache.cache_folder()
    assert stat.S_IMODE(cache.cache_folder().stat().st_mode) == stat.S_IRWXU
    assert capfd.readouterr().err.count("\n") == 1
