"""Faults in a running Spark session end in one line: provoked on two threads, or simulated with Java's messages."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.cloudpickle import register_pickle_by_value

from isrcheck.checker.spark import tasks as environment_check
from isrcheck.checker.spark.faults import LONGEST_CAUSE, Evidence, SparkLostError, explained, explanation, innermost
from isrcheck.checker.spark.tasks import difference, facts, run_job, same_everywhere
from isrcheck.models.messages import ModelError, UsageError


def line_of(session, function, kind):
    """The error line of a job that applies a function to each partition, after a check of the file that it names."""
    register_pickle_by_value(sys.modules[__name__])  # executors do not have the tests
    with pytest.raises(kind) as error, explained(session.evidence):
        session.context.parallelize(range(2), 2).mapPartitions(function).collect()
    line, mark, kept = str(error.value).partition("; full text: ")
    assert "\n" not in line
    assert Path(kept).read_text().count("\n") > 5 if mark else kept == ""
    return line


def test_an_unknown_error_shows_its_innermost_cause(local_spark):
    def wrong(rows):
        raise ValueError("no such state")

    assert line_of(local_spark, wrong, SparkLostError) == "Spark failed: ValueError: no such state"
    match = r"^Spark failed: ValueError: no such state; full text: "
    with pytest.raises(SparkLostError, match=match), explained(local_spark.evidence):
        local_spark.spark.range(2).mapInArrow(wrong, "id long").count()


def damaged(rows):
    raise ModelError("model.py:3: out of range")


def disagree(rows):
    raise AssertionError("the kernel and the reference differ")


def write(rows):
    with Path("/dev/full").open("w") as file:  # the device answers as a full disk does
        file.write("state")
    yield 1


def take(rows):
    yield bytearray(1 << 60)


def die(rows):
    os.kill(os.getpid(), signal.SIGKILL)


FULL = "the disk is full: free some space, or name a folder with more space for Spark's files"
NO_MEMORY = "Spark ran out of memory: give its processes more memory, or divide the search into more parts"
KILLED = "a Python worker ended during a task, most likely killed for lack of memory: give the worker more memory"


@pytest.mark.parametrize(
    ("work", "kind", "line"),
    [
        # Errors of isrcheck itself are raised unchanged.
        (damaged, ModelError, "model.py:3: out of range"),
        (disagree, AssertionError, "the kernel and the reference differ"),
        (write, SparkLostError, FULL),
        (take, SparkLostError, NO_MEMORY),
        (die, SparkLostError, KILLED),
    ],
)
def test_an_error_of_a_task_is_one_line(local_spark, work, kind, line):
    assert line_of(local_spark, work, kind) == line


def pose(folder: Path, monkeypatch, session, shim: str) -> None:
    """Give executors a Python that first runs this code."""
    (folder / "sitecustomize.py").write_text(shim)
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(session.context, "pythonExec", str(program))


def numbers(rows):
    return rows


def test_another_python(tmp_path, monkeypatch, local_spark):
    pose(tmp_path, monkeypatch, local_spark, (
        "import collections, sys\n"
        "Info = collections.namedtuple('Info', 'major minor micro releaselevel serial')\n"
        f"sys.version_info = Info(3, {sys.version_info.minor + 1}, 0, 'final', 0)\n"
    ))  # fmt: skip
    minor = sys.version_info.minor
    assert line_of(local_spark, numbers, UsageError) == (
        f"the executors run Python 3.{minor + 1}, and the driver runs Python 3.{minor}:"
        " give them the same version, with PYSPARK_PYTHON or a packaged environment"
    )


def test_no_python(monkeypatch, local_spark):
    monkeypatch.setattr(local_spark.context, "pythonExec", "/nowhere/python3")
    assert line_of(local_spark, numbers, UsageError) == (
        "the executors cannot start /nowhere/python3: name a Python that they have, with PYSPARK_PYTHON"
    )


MISSING = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name == "isrcheck": raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Nothing())
"""


def test_executors_without_isrcheck(tmp_path, monkeypatch, local_spark):
    pose(tmp_path, monkeypatch, local_spark, MISSING)
    assert line_of(local_spark, environment_check.hashed_modules, UsageError) == (
        "the executors have no isrcheck: install it on their machines, or give them a packaged environment"
    )
    with pytest.raises(
        UsageError, match=r"^an executor on .* has isrcheck none .No module named 'isrcheck'.*driver has"
    ):
        same_everywhere(local_spark.context)


def test_all_executors_run_the_same_code(local_spark):
    assert len(same_everywhere(local_spark.context)) == 1


def test_different_source_code_is_detected(monkeypatch, local_spark):
    ours = environment_check.source_digest()
    monkeypatch.setattr(environment_check, "source_digest", lambda: "0" * 64)
    with pytest.raises(
        UsageError, match=f"isrcheck of source {ours[:12]}, and the driver has isrcheck of source 0{{12}}: "
    ):
        same_everywhere(local_spark.context)


def test_a_difference_names_host_and_cure():
    here = facts()
    assert difference("worker-7", here, dict(here)) is None
    assert difference("worker-7", here | {"numpy": "2"}, here | {"numpy": "1"}) == (
        "an executor on worker-7 has numpy 1, and the driver has numpy 2:"
        " install the same version there, or give the executors a packaged environment"
    )
    there = here | {"processor": "s390x (big-endian)"}
    assert difference("worker-7", here, there).endswith(": exclude this host")
    without = {name: there[name] for name in there if name != "llvmlite"}
    assert "has llvmlite none" in difference("worker-7", here, without)


def test_only_errors_of_spark_are_explained(local_spark):
    for error in (ZeroDivisionError(), KeyboardInterrupt(), FileNotFoundError(), BrokenPipeError(), EOFError()):
        with pytest.raises(type(error)) as raised, explained(local_spark.evidence):
            raise error
        assert raised.value is error


def test_a_running_java_is_not_reported_as_dead(local_spark):
    with pytest.raises(SparkLostError, match=r"^Spark failed: .* does not exist"), explained(local_spark.evidence):
        local_spark.context._jvm.java.lang.System.nonsense()  # noqa: SLF001  (PySpark's only way to Java)


# ----------------------------------------------------------------------------- messages of Java, as they occurred


LOST = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times,"
    " most recent failure: Lost task 0.3 in stage 3.0 (TID 26) (10.0.0.7 executor 1): {}\n"
    "\tat org.apache.spark.X(X.scala:1)\n"
)


class Py4JJavaError(Exception):
    """A stand-in for the error of Py4J, with Java's text."""

    __module__ = "py4j.protocol"
    java_exception = None


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: worker lost",
            "a task was tried several times, and lost its executor each time (worker lost):"
            " read the executor's log (on 10.0.0.7)",
        ),
        (
            "java.io.IOException: No space left on device",
            f"{FULL} (on 10.0.0.7)",
        ),
        (
            "java.lang.OutOfMemoryError: Java heap space",
            f"{NO_MEMORY} (on 10.0.0.7)",
        ),
    ],
)
def test_errors_on_executors_name_the_host(tmp_path, said, line):
    evidence = Evidence(tmp_path / "java.log", tmp_path / "out", is_up=True)
    error = explanation(Py4JJavaError(LOST.format(said)), evidence)
    assert isinstance(error, SparkLostError)
    (kept,) = (tmp_path / "out").iterdir()
    assert str(error) == f"{line}; full text: {kept}"
    assert LOST.format(said) in kept.read_text()


def test_a_server_that_is_no_master(tmp_path):
    """Spark tries for a minute; then the reason is in its log, and the rest in its error."""
    log = tmp_path / "java.log"
    log.write_text(
        "ERROR StandaloneSchedulerBackend: Application has been killed. Reason: All masters are unresponsive!"
    )
    error = explanation(Py4JJavaError(": java.lang.IllegalStateException: SparkContext was shut down"), Evidence(log))
    assert isinstance(error, UsageError)
    assert str(error).startswith(
        "the Spark master does not answer: name the address and the port at which it accepts applications; full text"
    )
    Path(str(error).partition("full text: ")[2]).unlink()


def test_a_full_disk_leaves_the_one_line_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    evidence = Evidence(tmp_path / "java.log", tmp_path / "file", is_up=True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    says = str(explanation(Py4JJavaError("No space left on device"), evidence))
    assert says == f"{FULL}; the full text could not be stored"


def test_the_innermost_cause_is_short():
    assert innermost("x\nCaused by: org.a.B: first\n\tat c\nCaused by: org.d.E: last \n\tat f\n") == "E: last"
    assert innermost("WARNING: so\nInvalid maximum heap size: -Xmxlots\nError: Could not create the Java Virtual") == (
        "Invalid maximum heap size: -Xmxlots"
    )
    assert innermost("") == "no reason given"
    assert len(innermost(f"Caused by: a.B: {'long ' * 1000}")) <= LONGEST_CAUSE


def test_an_error_caused_by_an_interrupt_is_reported_as_interrupt(local_spark):
    """The interrupt came while a response was read: the connection cannot be used to end the session."""
    kind = pytest.importorskip("py4j.protocol").Py4JNetworkError

    def end(error):
        try:
            raise error
        finally:
            raise kind("Answer from Java side is empty")

    with pytest.raises(KeyboardInterrupt), explained(local_spark.evidence):
        end(KeyboardInterrupt())
    with pytest.raises(SparkLostError), explained(local_spark.evidence):
        end(ValueError())


def test_a_connection_that_dies_before_the_job_starts_is_of_spark(tmp_path: Path) -> None:
    """Ctrl-C can end the connection to Java between two jobs; what was found before it is kept."""

    class Context:
        def setJobGroup(self, *_: object, **__: object) -> None:  # noqa: N802 - Spark's name
            raise Py4JNetworkError("Answer from Java side is empty")

    session = SimpleNamespace(context=Context(), evidence=Evidence(tmp_path / "java.log", tmp_path, is_up=True))
    with pytest.raises(SparkLostError, match="the Java process of Spark ended during the job"):
        run_job(session, lambda: 1, lambda: None)
