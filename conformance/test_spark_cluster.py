"""A standalone cluster of real processes, one of which is killed in the middle of a job, and then all."""

from __future__ import annotations

import threading
import time

import pytest

from checker.spark.everywhere import same_everywhere
from checker.spark.faults import SparkLostError, explained
from checker.spark.session import SparkOptions, spark_session
from conformance.spark_support import cluster_session, silent
from models.errors import UsageError


def while_it_runs(session, function):
    """Sums of 0..7 on four partitions, two at a time; the function is called as soon as both cores are busy."""

    def slow_sum(rows):  # inside, for the executors have no module of tests
        time.sleep(2)
        yield sum(rows)

    over = threading.Event()

    def wait():
        tracker = session.context.statusTracker()
        while not over.wait(0.05):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            if any(stage is not None and stage.numActiveTasks == 2 for stage in stages):
                function()
                return

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        return session.context.parallelize(range(8), 4).mapPartitions(slow_sum).collect()
    finally:
        over.set()
        thread.join()


def await_both(session):
    """Until both workers have given an executor."""
    end = time.monotonic() + 60
    while session.executors() < 2:
        assert time.monotonic() < end
        time.sleep(0.1)


def test_an_executor_that_is_killed_is_survived(tmp_path, cluster):
    with cluster_session(cluster, tmp_path) as session:
        await_both(session)
        assert not session.is_local
        assert len(same_everywhere(session.context)) == 1
        before = cluster.executors("worker-0")
        assert while_it_runs(session, lambda: cluster.kill_executor("worker-0")) == [1, 5, 9, 13]
        assert len(before) == 1
        assert cluster.executors("worker-0") != before
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_that_is_lost_for_good_is_one_line(tmp_path, cluster):
    def kill():
        for worker in ("worker-0", "worker-1"):
            cluster.kill_worker(worker)

    with cluster_session(cluster, tmp_path, patience=3) as session:
        await_both(session)
        began = time.monotonic()
        with pytest.raises(SparkLostError) as error, explained(session.evidence):
            while_it_runs(session, kill)
        assert time.monotonic() - began < 30
        (kept,) = tmp_path.iterdir()
        assert str(error.value) == (
            f"every executor of {cluster.master} is gone, and none came back within 3 s; all of it: {kept}"
        )
        assert "Lost executor" in kept.read_text()


def test_a_cluster_without_room_is_told_in_time(tmp_path, cluster):
    options = SparkOptions(master=cluster.master, executor_memory=1 << 40, seconds_to_start=1, fault_dir=tmp_path)
    with pytest.raises(UsageError) as error, spark_session(options, silent):
        pass
    assert str(error.value) == (
        f"--master {cluster.master}: it gave no executor within 1 s;"
        " start workers, or ask for less memory and fewer cores"
    )
