"""Random runs in which administrators reassign the partition, change the minimum, unregister brokers, and so on."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from conformance.tests.support.histories import cluster_of
from isrcheck.conformance.cluster.acts import OPERATIONS, Act, payloads
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.scheduler import Chances, Scheduler

KEPT = [name for name in OPERATIONS if name != "delete replica"]
"""The operations that delete nothing that was not copied before, as far as the controller knows."""


FEW = 10
"""A run has to acknowledge more records than this to show anything."""


def run_of(protocol: str, seed: int, operations: Collection[str]) -> tuple[Cluster, set[str]]:
    """A cluster after a run, and the names of what was done; the record of the partition is checked after each act."""
    cluster = cluster_of(
        f"{protocol} replicas=4 assignment=012 replica_fetch_backoff_ms=1000 replica_fetch_wait_max_ms=500"
    )

    def check(act: Act) -> None:
        now = cluster.metadata_log()[-1].partition
        assert now.isr | now.adding | now.removing <= set(now.replicas), act
        assert now.leader is None or now.leader in now.isr, act
        assert not now.isr & now.elr, act

    chances = Chances(
        crash_interval=15_000,
        election_interval=0,
        session_interval=20_000,
        shutdown_interval=15_000,
        operation_interval=800,
        operations=tuple(operations),
    )
    scheduler = Scheduler(cluster, seed, chances, check)
    scheduler.run(8_000)
    return cluster, {act.name for act in scheduler.acts}


@pytest.mark.sampled
@pytest.mark.parametrize("protocol", ["3.3", "3.7", "4.0 ELR=on", "4.1", "4.3"])
def test_the_record_of_the_partition_is_consistent(protocol: str) -> None:
    done = set().union(*(run_of(protocol, seed, OPERATIONS)[1] for seed in range(4)))
    assert done >= set(OPERATIONS)


@pytest.mark.parametrize("seed", range(4))
def test_without_elr_no_acknowledged_record_is_lost(seed: int) -> None:
    cluster, _ = run_of("4.3 ELR=off", seed, KEPT)
    acknowledged = {each.payload for each in cluster.observe().acknowledged}
    assert len(acknowledged) > FEW
    assert all(acknowledged <= set(payloads(cluster, broker)) for broker in cluster.controller_metadata().isr)
