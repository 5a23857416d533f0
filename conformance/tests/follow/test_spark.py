"""`conform follow --engine spark`: the same verdicts in the same order as in one process; faults of Spark."""

from __future__ import annotations

import os
import re
import signal
import subprocess

import pytest

from conformance.tests.sampling import recorded
from conformance.tests.support.follow import (
    ASKED,
    ERR,
    OUT,
    gap_log,
    run_log,
    without_times,
)
from conformance.tests.support.programs import HERE, words_of
from conformance.tests.support.spark import EXECUTOR_MEMORY, children, command_line
from isrcheck.commands.exit_codes import DIVERGED, INTERRUPTED, VIOLATED
from isrcheck.conformance.cli import main
from isrcheck.conformance.follow import on_spark
from isrcheck.conformance.follow.format import ndjson
from isrcheck.conformance.follow.on_spark import follow_on_spark
from isrcheck.conformance.follow.verdicts import FollowRequest, follow_one
from isrcheck.models.messages import UsageError

ALL = FollowRequest("2.1", "2.1", {}, 30, 1 << 30, None)
SPARK = "--engine spark --master local[2]"


@pytest.fixture
def logs(every):
    return every


def followed(session, paths, asked=ALL):
    """The verdict on each log, by number."""
    found = {}
    follow_on_spark(session, paths, asked, found.__setitem__, lambda: None)
    return found


def followed_here(paths):
    return dict(enumerate(follow_one(path, ALL) for path in paths))


def plain(found):
    """A verdict for comparison: a verdict from an executor has lists in place of tuples."""
    return {number: on_spark.record_of(one) for number, one in found.items()}


# ------------------------------------------------------------------------------------------------------------ the same


@pytest.mark.recorded  # a session
def test_executors_find_the_same_without_reading_files(local_spark, logs, monkeypatch):
    paths = sorted(logs.iterdir())
    expected = plain(followed_here(paths))
    usual = ndjson.content_of

    def taken(path, most):
        try:
            return usual(path, most)
        finally:
            path.unlink()

    monkeypatch.setattr(on_spark, "content_of", taken)
    assert plain(followed(local_spark, paths)) == expected
    assert list(logs.iterdir()) == [logs / "b-binary.ndjson"]  # unreadable already where it might be a wire recording


@pytest.mark.recorded  # a session
def test_logs_are_sent_in_batches(local_spark, logs, monkeypatch):
    paths = sorted(logs.iterdir())
    expected = plain(followed_here(paths))
    loads = []
    usual = on_spark.follow_load
    monkeypatch.setattr(
        on_spark, "follow_load", lambda session, load, *rest: loads.append(len(load)) or usual(session, load, *rest)
    )
    monkeypatch.setattr(on_spark, "MOST_AT_ONCE", 10_000)
    assert plain(followed(local_spark, paths)) == expected
    assert (sum(loads), len(paths)) == (8, 9)  # one is unreadable, and is not sent
    assert len(loads) > 2


@pytest.mark.recorded  # a session
def test_a_log_too_large_to_send_is_reported_and_the_others_are_followed(local_spark, logs, monkeypatch):
    size = (logs / "c-bug.ndjson").stat().st_size
    monkeypatch.setattr(on_spark, "MOST_BYTES", size)
    found = followed(local_spark, [logs / "a.ndjson", logs / "c-bug.ndjson", logs / "i.ndjson"])
    assert [str(one.verdict) for _, one in sorted(found.items())] == ["FOLLOWED", "REJECTED", "UNREADABLE"]
    monkeypatch.setattr(on_spark, "MOST_BYTES", size - 1)
    found = followed(local_spark, [logs / "c-bug.ndjson"])
    assert found[0].why == (
        "logs/c-bug.ndjson: larger than 0 MiB, the largest log that is sent to an executor;"
        " follow it without --engine spark: then it is read line by line"
    )


def process(words):
    """The command as a process of its own, for in one process there is one session at a time: exit code, stdout without
    times, stderr without how far it is, the last line as it is."""
    done = subprocess.run(words_of("conform follow", *words), env=HERE, capture_output=True, text=True, check=False)
    return done.returncode, without_times(done.stdout), without_progress(done.stderr), done.stdout.splitlines()[-1]


def without_progress(err):
    return re.sub(r"^conform: \d+ s, .*\n", "", err, flags=re.MULTILINE)


@pytest.mark.exhaustive  # each starts a session
@pytest.mark.parametrize("cores", [recorded(1), 2])
def test_the_command_prints_the_same_as_without_spark(logs, cores):
    *said, last = process(["logs", *ASKED.split(), "--engine", "spark", "--master", f"local[{cores}]"])
    assert said == [20, OUT, f"starting Spark ...\n{ERR}"]
    assert re.search(rf"; [0-9.]+ s on local\[{cores}\], which took [0-9.]+ s to start$", last)


@pytest.mark.recorded  # a session and two executors
def test_a_cluster_of_two_executors_prints_the_same(cluster, logs):
    given = ["--master", cluster.master, "--spark-conf", f"spark.executor.memory={EXECUTOR_MEMORY >> 20}m"]
    *said, _ = process(["logs", *ASKED.split(), "--engine", "spark", *given])
    assert said == [20, OUT, f"starting Spark ...\n{ERR}"]


@pytest.mark.recorded  # a session of its own
def test_one_log_on_spark_gets_its_line_and_its_trace(logs):
    code, out, _, _ = process(["logs/g-kafka.ndjson", "--protocol", "0.10", "--out", "kept", *SPARK.split()])
    first, written, last = out.splitlines()
    assert code == VIOLATED
    assert first == (
        "EXPLAINED  logs/g-kafka.ndjson: a behaviour of 0.10, in 26 steps; VIOLATED acked_not_lost at step 25: PRECIOUS"
        " is lost; VIOLATED isr_is_complete at step 23: PRECIOUS is missing from the ISR; record PRECIOUS was"
        " acknowledged (line 8), and is no longer in the log (no line shows it): acked_not_lost is violated at step"
        " 25; before that: freeze broker 3 (line 14); kill -9 broker 1 (line 15); kill -9 broker 3 (line 20); not"
        " permitted: acks=all promises it, and no unclean election, loss of power or loss of a disk took place"
    )
    assert last == "1 log: 1 EXPLAINED; TIME"
    assert main(["replay", written.rpartition(" ")[2]]) == 0


# -------------------------------------------------------------------------------------------------------------- faults


def no_java(scratch):
    raise UsageError("no Java; install one")


@pytest.mark.parametrize(
    ("name", "value", "err"),
    [
        ("importlib.util.find_spec", lambda name: None, "conform: Spark needs the package pyspark, which is not inst"),
        ("isrcheck.checker.spark.session.java_home", no_java, "starting Spark ...\nconform: no Java; install one\n"),
    ],
)
def test_what_is_missing_is_one_line(logs, capsys, monkeypatch, name, value, err):
    monkeypatch.setattr(name, value)
    assert main(f"follow logs {SPARK}".split()) == 2
    said = capsys.readouterr()
    assert (said.out, said.err[: len(err)], said.err.count("\n")) == ("", err, err.count("\n") or 1)


def cut_short(folder, function):
    """The command, on two good logs and one without end, when two verdicts are there: exit code, stdout, stderr."""
    run_log(folder / "1.ndjson", 1, 20)
    run_log(folder / "2-bug.ndjson", 7, 200, "hw_off_by_one")
    gap_log(folder / "3-gap.ndjson")
    run_log(folder / "4.ndjson", 4, 20)
    words = [str(folder), "--most-states", "1000000", *SPARK.split()]
    with subprocess.Popen(
        words_of("conform follow", *words),
        env=HERE | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        lines = [running.stdout.readline() for _ in range(2)]
        try:
            function(running)
            out, err = running.communicate(timeout=120)
        finally:
            running.kill()
    return running.returncode, "".join(lines) + out, without_progress(err)


@pytest.mark.recorded  # a session of its own
def test_ctrl_c_keeps_the_findings(tmp_path):
    code, out, err = cut_short(tmp_path, lambda running: running.send_signal(signal.SIGINT))
    assert code == INTERRUPTED
    assert "Traceback" not in err
    assert "FOLLOWED, 1 REJECTED; " in out.splitlines()[-1]
    assert f"\n{tmp_path}/2-bug.ndjson:4: run 7.1 is rejected: " in out
    assert f"{tmp_path}/3-gap.ndjson" not in out
    assert " of 4 logs were not followed to their end; nothing is decided about them" in err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("conform: interrupted; ")


@pytest.mark.recorded  # a session of its own
def test_a_dying_java_is_one_line_and_the_findings_count(tmp_path):
    def kill_java(running):
        java = [pid for pid in children(running.pid) if "org.apache.spark" in command_line(pid)]
        assert len(java) == 1
        os.kill(java[0], signal.SIGKILL)

    code, out, err = cut_short(tmp_path, kill_java)
    assert code == DIVERGED  # what is rejected is rejected
    starting, lost = err.splitlines()
    assert starting == "starting Spark ..."
    assert lost.startswith("conform: the Java process of Spark ended during the job (killed by signal 9); full text: ")
    assert lost.endswith(" of 4 logs were not followed to their end; nothing is decided about them")
    assert f"\n{tmp_path}/2-bug.ndjson:4: run 7.1 is rejected: " in out
    assert "FOLLOWED, 1 REJECTED; " in out.splitlines()[-1]
