"""A search on real executors, one of which is killed during the search: the same counts and verdicts."""

from __future__ import annotations

import time

import pytest

from conformance.tests.checker.spark.test_search import everything, registered, witnesses
from conformance.tests.sampling import recorded
from conformance.tests.support.spark import SECONDS_TO_START, cluster_session
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import verdicts
from isrcheck.checker.spark import engine as carrier
from isrcheck.checker.spark.engine import explore_on_spark
from isrcheck.checker.spark.request import Mode, SparkRequest
from isrcheck.checker.spark.session import SparkOptions

MEMORY = 1 << 28

pytestmark = pytest.mark.exhaustive  # every test kills executor processes during a search


@pytest.fixture(scope="module")
def session_of_all(standalone, tmp_path_factory):
    """One session for all tests of this file: the worker replaces a killed executor, and the session continues."""
    standalone.start_missing_workers()
    with cluster_session(standalone, tmp_path_factory.mktemp("faults"), patience=2) as session:
        yield session


@pytest.fixture
def session(session_of_all):
    """The session, with both executors."""
    end = time.monotonic() + SECONDS_TO_START
    while session_of_all.executors() < 2:
        assert time.monotonic() < end
        time.sleep(0.1)
    return session_of_all


class Killer:
    """Kills an executor as soon as a search reaches a level."""

    def __init__(self, cluster, distinct: int) -> None:
        self.cluster = cluster
        self.distinct = distinct
        self.killed: list[int] = []

    def __call__(self, progress) -> None:
        if not self.killed and progress.distinct >= self.distinct:
            self.killed = self.cluster.executors("worker-0")
            self.cluster.kill_executor("worker-0")


@pytest.mark.parametrize("is_kept", [recorded(True), False], ids=["checkpoints", "lineage"])
def test_one_search_survives_the_loss_of_an_executor(cluster, session, tmp_path, is_kept, monkeypatch):
    monkeypatch.setattr(carrier, "LEVELS_BETWEEN_CHECKPOINTS", 3)
    instance = registered("kafka")
    limits = Limits(5, MEMORY)
    killer = Killer(cluster, 500)
    kept = str(tmp_path / "kept") if is_kept else None
    how = SparkRequest(Mode.SEARCH, None, SparkOptions(), kept)
    found, spread = explore_on_spark(
        session, how, instance, limits, kernel_of(instance), count_all=False, report=killer
    )
    assert killer.killed
    assert killer.killed != cluster.executors("worker-0")
    assert everything(found) == everything(explore(instance, limits))
    assert (spread.cores, spread.lost) == (2, "")
    assert spread.master == cluster.master


def test_parts_survive_the_loss_of_an_executor(cluster, session):
    instance = registered("kafka")
    limits = Limits(9, MEMORY)
    killer = Killer(cluster, 1)
    how = SparkRequest(Mode.PARTS, None, SparkOptions(), None)
    found, spread = explore_on_spark(
        session, how, instance, limits, kernel_of(instance), count_all=False, report=killer
    )
    here = explore(instance, limits)
    assert killer.killed
    assert (found.levels, found.frontier, spread.ended) == (here.levels, here.frontier, spread.parts)
    assert witnesses(found) == witnesses(here)
    assert [verdict.bare for verdict in verdicts(found)] == [verdict.bare for verdict in verdicts(here)]


def test_permanently_lost_executors_keep_the_findings(cluster, session):
    """The last test of this file: it leaves the session without executors."""
    instance = registered("kafka")

    def kill_all(progress) -> None:
        if progress.distinct >= 400:
            for worker in ("worker-0", "worker-1"):
                if worker in cluster.processes:
                    cluster.kill_worker(worker)

    how = SparkRequest(Mode.SEARCH, None, SparkOptions(), None)
    found, spread = explore_on_spark(
        session, how, instance, Limits(6, MEMORY), kernel_of(instance), count_all=False, report=kill_all
    )
    here = explore(instance, Limits(found.judged, MEMORY))
    assert found.stopped == "lost"
    assert spread.lost.startswith(f"every executor of {cluster.master} is gone, and none came back within 2 s")
    assert 3 <= found.judged < 6
    assert found.levels == here.levels
    words = {verdict.prop.name: verdict.bare for verdict in verdicts(found)}
    assert words["committed_agrees"].startswith(f"UNDECIDED (lost; none to depth {found.judged}")
    assert not [word for word in words.values() if word.startswith(("HOLDS", "NO VIOLATION", "NOT REACHED"))]
