"""What goes wrong in a session that is up ends in one line: provoked on two threads, or in the words of Java."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from isrcheck.checker.spark.runtime import environment_check
from isrcheck.checker.spark.runtime.environment_check import difference, facts, same_everywhere
from isrcheck.checker.spark.runtime.faults import Evidence, SparkLostError, explained, explanation, innermost
from isrcheck.models.messages.errors import ModelError, UsageError


def line_of(session, function, kind):
    """What a job that applies a function to each partition ends with; the file that it names is there."""
    with pytest.raises(kind) as error, explained(session.evidence):
        session.context.parallelize(range(2), 2).mapPartitions(function).collect()
    line, mark, kept = str(error.value).partition("; all of it: ")
    assert "\n" not in line
    assert Path(kept).read_text().count("\n") > 5 if mark else kept == ""
    return line


def test_an_unknown_error_tells_its_innermost_cause(local_spark):
    def wrong(rows):
        raise ValueError("no such state")

    assert line_of(local_spark, wrong, SparkLostError) == "Spark failed: ValueError: no such state"
    match = r"^Spark failed: ValueError: no such state; all of it: "
    with pytest.raises(SparkLostError, match=match), explained(local_spark.evidence):
        local_spark.spark.range(2).mapInArrow(wrong, "id long").count()


def test_an_error_of_ours_stays_what_it_is(local_spark):
    def damaged(rows):
        raise ModelError("model.py:3: out of range")

    def disagree(rows):
        raise AssertionError("the kernel and the reference differ")

    assert line_of(local_spark, damaged, ModelError) == "model.py:3: out of range"
    assert line_of(local_spark, disagree, AssertionError) == "the kernel and the reference differ"


def test_a_full_disk(local_spark):
    def write(rows):
        with Path("/dev/full").open("w") as file:  # the device answers as a full disk does
            file.write("state")
        yield 1

    assert line_of(local_spark, write, SparkLostError) == (
        "the disk is full: free some space, or name a folder with more space for Spark's files"
    )


def test_memory_that_is_not_there(local_spark):
    def take(rows):
        yield bytearray(1 << 60)

    assert line_of(local_spark, take, SparkLostError) == (
        "Spark ran out of memory: give its processes more, or divide the search into more parts"
    )


def test_a_worker_that_is_killed(local_spark):
    def die(rows):
        os.kill(os.getpid(), signal.SIGKILL)

    assert line_of(local_spark, die, SparkLostError) == (
        "a Python worker ended during its work, most likely killed for lack of memory: leave it more memory"
    )


def pose(folder: Path, monkeypatch, session, shim: str) -> None:
    """Executors get a Python that runs this before anything else."""
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
        f"the executors run Python 3.{minor + 1}, and this is Python 3.{minor}:"
        " give them the same, with PYSPARK_PYTHON or a packaged environment"
    )


def test_no_python(monkeypatch, local_spark):
    monkeypatch.setattr(local_spark.context, "pythonExec", "/nowhere/python3")
    assert line_of(local_spark, numbers, UsageError) == (
        "the executors cannot start /nowhere/python3: name a Python that is there, with PYSPARK_PYTHON"
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
        "the executors have no isrcheck: install it there, or give them a packaged environment"
    )
    with pytest.raises(
        UsageError, match=r"^an executor on .* has isrcheck none .No module named 'isrcheck'.*driver has"
    ):
        same_everywhere(local_spark.context)


def test_what_runs_everywhere_is_the_same(local_spark):
    assert len(same_everywhere(local_spark.context)) == 1


def test_another_source_is_told_apart(monkeypatch, local_spark):
    ours = environment_check.source_digest()
    monkeypatch.setattr(environment_check, "source_digest", lambda: "0" * 64)
    with pytest.raises(UsageError, match=f"has isrcheck of source {ours[:12]}, and the driver has of source 0{{12}}: "):
        same_everywhere(local_spark.context)


def test_a_difference_names_host_and_cure():
    here = facts()
    assert difference("worker-7", here, dict(here)) is None
    assert difference("worker-7", here | {"numpy": "2"}, here | {"numpy": "1"}) == (
        "an executor on worker-7 has numpy 1, and the driver has 2:"
        " install the same there, or give the executors a packaged environment"
    )
    there = here | {"processor": "s390x (big-endian)"}
    assert difference("worker-7", here, there).endswith(": leave this host out")
    without = {name: there[name] for name in there if name != "llvmlite"}
    assert "has llvmlite none" in difference("worker-7", here, without)


def test_nothing_but_errors_of_spark_is_explained(local_spark):
    for error in (
        ZeroDivisionError("mine"),
        KeyboardInterrupt(),
        FileNotFoundError("mine"),
        BrokenPipeError(),
        EOFError(),
    ):
        with pytest.raises(type(error)) as raised, explained(local_spark.evidence):
            raise error
        assert raised.value is error


def test_a_java_that_is_there_is_not_said_to_have_died(local_spark):
    with pytest.raises(SparkLostError, match=r"^Spark failed: .* does not exist"), explained(local_spark.evidence):
        local_spark.context._jvm.java.lang.System.nonsense()


# ------------------------------------------------------------------------------------- what Java says, as it was met


LOST = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times,"
    " most recent failure: Lost task 0.3 in stage 3.0 (TID 26) (10.0.0.7 executor 1): {}\n"
    "\tat org.apache.spark.X(X.scala:1)\n"
)


class Py4JJavaError(Exception):
    """As Py4J raises it, with a text of Java."""

    __module__ = "py4j.protocol"
    java_exception = None


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: worker lost",
            "executors were lost in every attempt that Spark makes (worker lost) (on 10.0.0.7)",
        ),
        (
            "java.io.IOException: No space left on device",
            "the disk is full: free some space, or name a folder with more space for Spark's files (on 10.0.0.7)",
        ),
        (
            "java.lang.OutOfMemoryError: Java heap space",
            "Spark ran out of memory: give its processes more, or divide the search into more parts (on 10.0.0.7)",
        ),
    ],
)
def test_what_java_says_of_executors_names_their_host(tmp_path, said, line):
    evidence = Evidence(tmp_path / "java.log", tmp_path / "out", is_up=True)
    error = explanation(Py4JJavaError(LOST.format(said)), evidence)
    assert isinstance(error, SparkLostError)
    (kept,) = (tmp_path / "out").iterdir()
    assert str(error) == f"{line}; all of it: {kept}"
    assert LOST.format(said) in kept.read_text()


def test_what_answers_but_is_no_master(tmp_path):
    """Spark tries for a minute: that is what it then says, the reason in its log and the rest as an error."""
    log = tmp_path / "java.log"
    log.write_text(
        "ERROR StandaloneSchedulerBackend: Application has been killed. Reason: All masters are unresponsive!"
    )
    error = explanation(Py4JJavaError(": java.lang.IllegalStateException: SparkContext was shut down"), Evidence(log))
    assert isinstance(error, UsageError)
    assert str(error).startswith(
        "no Spark master answers there: name the address and the port at which it accepts applications; all of it"
    )
    Path(str(error).partition("all of it: ")[2]).unlink()


def test_where_there_is_no_room_for_the_text_the_line_remains(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    evidence = Evidence(tmp_path / "java.log", tmp_path / "file", is_up=True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    assert str(explanation(Py4JJavaError("No space left on device"), evidence)) == (
        "the disk is full: free some space, or name a folder with more space for Spark's files;"
        " the full text could not be stored"
    )


def test_the_innermost_cause_is_short():
    assert innermost("x\nCaused by: org.a.B: first\n\tat c\nCaused by: org.d.E: last \n\tat f\n") == "E: last"
    assert innermost("WARNING: so\nInvalid maximum heap size: -Xmxlots\nError: Could not create the Java Virtual") == (
        "Invalid maximum heap size: -Xmxlots"
    )
    assert innermost("") == "it does not say why"
    assert len(innermost(f"Caused by: a.B: {'long ' * 1000}")) <= 300


def test_what_an_interrupt_breaks_is_the_interrupt(local_spark):
    """It came while an answer was read: the session cannot be ended by further questions on that connection."""
    kind = pytest.importorskip("py4j.protocol").Py4JNetworkError

    def end(asked):
        try:
            raise asked
        finally:
            raise kind("Answer from Java side is empty")

    with pytest.raises(KeyboardInterrupt), explained(local_spark.evidence):
        end(KeyboardInterrupt())
    with pytest.raises(SparkLostError), explained(local_spark.evidence):
        end(ValueError())
