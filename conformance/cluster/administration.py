"""What administrators and operators do to a partition at random. For clusters with a KRaft controller only.

In:  a `Cluster`, used through its public methods only; a source of randomness.
Out: one operation, as a run tells it; None if the one that was drawn is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError

Told = tuple[str, tuple[object, ...]]
"""The name of an operation, and its arguments."""

LARGEST_MINIMUM = 3


def administrate(cluster: Cluster, random: Random, kinds: Sequence[str]) -> Told | None:
    """Draw one of these kinds of operations (names in `OPERATIONS`), and carry it out."""
    kind = random.choice(kinds)
    try:
        return kind, OPERATIONS[kind](cluster, random)
    except ClusterError:
        return None


def _reassign(cluster: Cluster, random: Random) -> tuple[object, ...]:
    brokers = list(cluster.brokers)
    replicas = tuple(random.sample(brokers, random.randint(1, len(brokers))))
    cluster.begin_reassignment(replicas)
    return replicas


def _cancel(cluster: Cluster, random: Random) -> tuple[object, ...]:
    cluster.cancel_reassignment()
    return ()


def _change_minimum(cluster: Cluster, random: Random) -> tuple[object, ...]:
    least = random.randint(1, LARGEST_MINIMUM)
    cluster.change_min_insync_replicas(least)
    return (least,)


def _write_cluster_minimum(cluster: Cluster, random: Random) -> tuple[object, ...]:
    cluster.write_cluster_min_insync_replicas()
    return ()


def _report_directory(cluster: Cluster, random: Random) -> tuple[object, ...]:
    broker = random.choice(cluster.brokers)
    cluster.report_directory(broker)
    return (broker,)


def _fail_over(cluster: Cluster, random: Random) -> tuple[object, ...]:
    cluster.fail_over_controller()
    return ()


def _unregister(cluster: Cluster, random: Random) -> tuple[object, ...]:
    broker = random.choice([each for each in cluster.brokers if not cluster.process_of(each)] or [-1])
    cluster.unregister(broker)
    return (broker,)


def _delete_replica(cluster: Cluster, random: Random) -> tuple[object, ...]:
    broker = random.choice(cluster.brokers)
    cluster.delete_replica(broker)
    return (broker,)


OPERATIONS: dict[str, Callable[[Cluster, Random], tuple[object, ...]]] = {
    "begin reassignment": _reassign,
    "cancel reassignment": _cancel,
    "change min.insync.replicas": _change_minimum,
    "write cluster's min.insync.replicas": _write_cluster_minimum,
    "report directory": _report_directory,
    "fail over controller": _fail_over,
    "unregister": _unregister,
    "delete replica": _delete_replica,
}
"""The kinds of operations by name. Each raises `ClusterError` if it is refused."""
