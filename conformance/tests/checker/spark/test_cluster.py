"""A standalone cluster of real processes: during a job, one executor is killed, and then every worker.

A search during which an executor is killed has the same counts and verdicts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.tests.checker.spark.test_search import MEMORY, asked, everything, on_spark, registered, witnesses
from conformance.tests.sampling import recorded
from conformance.tests.support.spark import SECONDS_TO_START, Cluster, cluster_session, silent
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import verdicts
from isrcheck.checker.spark import engine as carrier
from isrcheck.checker.spark.faults import SparkLostError, explained
from isrcheck.checker.spark.request import Mode
from isrcheck.checker.spark.session import SparkOptions, spark_session
from isrcheck.checker.spark.tasks import same_everywhere
from isrcheck.models.messages import UsageError


def while_it_runs(session, folder, function):
    """Sum 0..7 on four partitions, two at a time; call the function as soon as two are running."""
    folder.mkdir()
    over = threading.Event()

    def slow_sum(partition, rows):  # inside, for executors have no module of tests
        with (Path(folder) / f"{partition}").open("w"):
            time.sleep(1.5)
        yield sum(rows)

    def wait():
        while not over.wait(0.05):
            if len(list(folder.iterdir())) == 2:
                function()
                return

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        return session.context.parallelize(range(8), 4).mapPartitionsWithIndex(slow_sum).collect()
    finally:
        over.set()
        thread.join()


def await_executors(session):
    """Wait for both executors."""
    end = time.monotonic() + SECONDS_TO_START
    while session.executors() < 2:
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.recorded  # a cluster
def test_a_full_cluster_is_reported_in_time(tmp_path, cluster):
    options = SparkOptions(master=cluster.master, executor_memory=1 << 40, seconds_to_start=1, fault_dir=tmp_path)
    with pytest.raises(UsageError) as error, spark_session(options, silent):
        pass
    assert str(error.value) == (
        f"--master {cluster.master}: no executor within 1 s; start workers, or ask for less memory and fewer cores"
    )


@pytest.mark.recorded  # a cluster, and executors that are lost
def test_one_killed_executor_is_tolerated_and_the_loss_of_all_is_one_line(tmp_path, cluster):
    def kill_all():
        for worker in ("worker-0", "worker-1"):
            cluster.kill_worker(worker)

    faults = tmp_path / "faults"
    with cluster_session(cluster, faults, patience=3) as session:
        await_executors(session)
        assert not session.is_local
        assert len(same_everywhere(session.context)) == 1  # one host, and the executors have found isrcheck

        (before,) = cluster.executors("worker-0")
        sums = while_it_runs(session, tmp_path / "one", lambda: cluster.kill_executor("worker-0"))
        assert sums == [1, 5, 9, 13]
        assert before not in cluster.executors("worker-0")
        assert not faults.exists()

        began = time.monotonic()
        with pytest.raises(SparkLostError) as error, explained(session.evidence):
            while_it_runs(session, tmp_path / "all", kill_all)
        assert time.monotonic() - began < SECONDS_TO_START
        (kept,) = faults.iterdir()
        assert str(error.value) == (
            f"every executor of {cluster.master} is gone, and none came back within 3 s; full text: {kept}"
        )
        assert "Lost executor" in kept.read_text()


@pytest.fixture(scope="module")
def session_of_all(standalone, tmp_path_factory):
    """One session for all tests of this file: the worker replaces a killed executor, and the session continues."""
    standalone.start_missing_workers()
    with cluster_session(standalone, tmp_path_factory.mktemp("faults"), patience=2) as session:
        yield session


@pytest.fixture
def session(session_of_all):
    """The session, with both executors."""
    await_executors(session_of_all)
    return session_of_all


@dataclass
class Killer:
    """Kills an executor as soon as a search has found so many states."""

    cluster: Cluster
    distinct: int
    killed: Sequence[int] = ()

    def __call__(self, progress) -> None:
        if not self.killed and progress.distinct >= self.distinct:
            self.killed = self.cluster.executors("worker-0")
            self.cluster.kill_executor("worker-0")


@pytest.mark.recorded  # kills executor processes during a search
@pytest.mark.parametrize("is_kept", [recorded(True), False], ids=["checkpoints", "lineage"])
def test_one_search_survives_the_loss_of_an_executor(cluster, session, tmp_path, is_kept, monkeypatch):
    monkeypatch.setattr(carrier, "LEVELS_BETWEEN_CHECKPOINTS", 3)
    instance = registered("kafka")
    limits = Limits(5, MEMORY)
    killer = Killer(cluster, 500)
    request = asked(Mode.SEARCH, checkpoint=tmp_path / "kept" if is_kept else None)
    found, spread = on_spark(session, instance, limits, request, report=killer)
    assert killer.killed
    assert killer.killed != cluster.executors("worker-0")
    assert everything(found) == everything(explore(instance, limits))
    assert (spread.cores, spread.lost) == (2, "")
    assert spread.master == cluster.master


@pytest.mark.exhaustive  # kills executor processes during a search
def test_parts_survive_the_loss_of_an_executor(cluster, session):
    instance = registered("kafka")
    limits = Limits(9, MEMORY)
    killer = Killer(cluster, 1)
    found, spread = on_spark(session, instance, limits, asked(Mode.PARTS), report=killer)
    here = explore(instance, limits)
    assert killer.killed
    assert (found.levels, found.frontier, spread.ended) == (here.levels, here.frontier, spread.parts)
    assert witnesses(found) == witnesses(here)
    assert [verdict.bare for verdict in verdicts(found)] == [verdict.bare for verdict in verdicts(here)]


@pytest.mark.recorded  # kills executor processes during a search
def test_permanently_lost_executors_keep_the_findings(cluster, session):
    """The last test of this file: it leaves the session without executors."""
    instance = registered("kafka")

    def kill_all(progress) -> None:
        if progress.distinct >= 400:
            for worker in ("worker-0", "worker-1"):
                if worker in cluster.processes:
                    cluster.kill_worker(worker)

    found, spread = on_spark(session, instance, Limits(6, MEMORY), asked(Mode.SEARCH), report=kill_all)
    here = explore(instance, Limits(found.judged, MEMORY))
    assert found.stopped == "lost"
    assert spread.lost.startswith(f"every executor of {cluster.master} is gone, and none came back within 2 s")
    assert 3 <= found.judged < 6
    assert found.levels == here.levels
    words = {verdict.prop.name: verdict.bare for verdict in verdicts(found)}
    assert words["committed_agrees"].startswith(f"UNDECIDED (lost; nothing found to depth {found.judged}")
    assert not [word for word in words.values() if word.startswith(("HOLDS", "NO VIOLATION", "NOT REACHED"))]
