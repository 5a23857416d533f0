"""A standalone cluster of real processes: during a job, one executor is killed, and then every worker."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from conformance.tests.support.spark import cluster_session, silent
from isrcheck.checker.spark.faults import SparkLostError, explained
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


@pytest.mark.recorded  # a cluster
def test_a_full_cluster_is_reported_in_time(tmp_path, cluster):
    options = SparkOptions(master=cluster.master, executor_memory=1 << 40, seconds_to_start=1, fault_dir=tmp_path)
    with pytest.raises(UsageError) as error, spark_session(options, silent):
        pass
    assert str(error.value) == (
        f"--master {cluster.master}: no executor within 1 s; start workers, or ask for less memory and fewer cores"
    )


@pytest.mark.exhaustive  # a cluster, and executors that are lost
def test_one_killed_executor_is_tolerated_and_the_loss_of_all_is_one_line(tmp_path, cluster):
    def kill_all():
        for worker in ("worker-0", "worker-1"):
            cluster.kill_worker(worker)

    faults = tmp_path / "faults"
    with cluster_session(cluster, faults, patience=3) as session:
        end = time.monotonic() + 60
        while session.executors() < 2:
            assert time.monotonic() < end
            time.sleep(0.1)
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
        assert time.monotonic() - began < 30
        (kept,) = faults.iterdir()
        assert str(error.value) == (
            f"every executor of {cluster.master} is gone, and none came back within 3 s; full text: {kept}"
        )
        assert "Lost executor" in kept.read_text()
