"""Reads the clusters that `conform serve` serves: the releases' APIs, crashes, permissions, reassignments, settings."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from conformance.tests.wire.serving import TOPIC, Running, running
from isrcheck.checker.cluster.cluster import Reading
from isrcheck.checker.cluster.contents import Contents
from isrcheck.checker.cluster.formats.registry import read_clusters
from isrcheck.checker.cluster.live.address import read_addresses
from isrcheck.checker.cluster.live.known import add_snapshot
from isrcheck.checker.cluster.live.reader import Request, read_cluster
from isrcheck.checker.cluster.live.security import Security
from isrcheck.checker.cluster.live.snapshot import PartitionRead, Snapshot
from isrcheck.conformance.wire.driving.topics import Surroundings


def reading(server: Running) -> Snapshot:
    return read_cluster(Request(read_addresses("x", server.bootstrap), Security()))


def clusters_of(snapshot: Snapshot) -> Reading:
    contents = Contents()
    add_snapshot(snapshot, contents)
    return read_clusters([], None, known=contents)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("protocol", "release", "unknown"),
    [
        ("4.3", "4.3", []),
        ("4.1", "4.1", []),
        ("4.0", "4.0", []),
        ("3.7", None, ["eligible leader replicas: "]),
        ("3.3", None, ["eligible leader replicas: "]),
        ("2.8", "2.8", []),
        ("2.4", "2.4", []),
        ("2.1", "2.1", ["reassignments under way: "]),
        ("2.0", "2.0", ["reassignments under way: "]),
        ("0.11", "0.11.0", ["reassignments under way: "]),
    ],
)
def test_every_generation_is_read(protocol: str, release: str | None, unknown: list[str]) -> None:
    with running(protocol, min_insync_replicas=2) as server:
        snapshot = reading(server)
    assert [says for says, begins in zip(snapshot.unknown, unknown, strict=True) if not says.startswith(begins)] == []
    assert [(topic.name, len(topic.partitions)) for topic in snapshot.topics] == [(TOPIC, 1)]
    (cluster,) = clusters_of(snapshot).clusters
    assert (cluster.min_insync_replicas.value, cluster.replication_factor.value) == (2, 3)
    assert release in (None, cluster.release.release_name)
    assert cluster.generation.protocol == protocol or release is None


@pytest.mark.parametrize("protocol", ["0.8", "0.10"])
def test_an_old_broker_does_not_say_its_settings(protocol: str) -> None:
    with running(protocol) as server:
        snapshot = reading(server)
    (cluster,) = clusters_of(snapshot).clusters
    assert (cluster.generation.protocol, cluster.unread) == ("0.10", "topic topic and of brokers")
    assert (str(cluster.release), cluster.has_kraft) == ("0.10.2", False)
    assert cluster.kafka_version.source == (
        f"not given: the last release whose broker answers ApiVersions ({snapshot.server}, ApiVersions), but not"
        " InitProducerId"
    )
    assert [says.partition(":")[0] for says in snapshot.unknown] == [
        "reassignments under way",
        "settings of topics",
        "settings of broker 0",
        "settings of broker 1",
        "settings of broker 2",
        "dynamic settings of the whole cluster",
    ]


def test_a_crash_and_eligible_replicas() -> None:
    with running("4.1", min_insync_replicas=2) as server:
        server.do("crash 2", "crash 1")
        snapshot = reading(server)
    ((only,),) = (topic.partitions for topic in snapshot.topics)
    assert only == PartitionRead(0, 0, (0, 1, 2), (0,), (1,), (), (1, 2))
    assert [broker.id for broker in snapshot.brokers] == [0]


def test_a_client_without_permissions() -> None:
    with running("4.1", around=Surroundings(topics=2, racks=3)) as server:
        server.do("deny Describe Cluster", "deny DescribeConfigs Topic")
        snapshot = reading(server)
    assert {broker.id: broker.rack for broker in snapshot.brokers} == {0: "rack-0", 1: "rack-1", 2: "rack-2"}
    begins = [
        "reassignments under way: ",
        "settings of 3 topics: TOPIC_AUTHORIZATION_FAILED; allow DescribeConfigs on topics (kafka-acls --add"
        " --allow-principal User:NAME --operation DescribeConfigs --topic '*')",
        "controllers and voters: CLUSTER_AUTHORIZATION_FAILED",
    ]
    assert [says[: len(start)] for says, start in zip(snapshot.unknown, begins, strict=True)] == begins


@pytest.mark.sampled
def test_librdkafka_s_own_brokers() -> None:
    """A client of librdkafka can serve a cluster, which answers few APIs: the rest is not known."""
    client = Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": 2, "log_level": 0})
    brokers = client.list_topics(timeout=10).brokers
    client.list_topics("orders", timeout=10)  # creates it
    address = ",".join(f"{broker.host}:{broker.port}" for broker in brokers.values())
    snapshot = read_cluster(Request(read_addresses("x", address), Security()))
    assert [broker.id for broker in snapshot.brokers] == [1, 2]
    assert [(topic.name, topic.settings) for topic in snapshot.topics] == [("orders", None)]
    assert {len(each.replicas) for each in snapshot.topics[0].partitions} == {2}
    assert [says.partition(":")[0] for says in snapshot.unknown] == [
        "reassignments under way",
        "settings of topics",
        "settings of broker 1",
        "settings of broker 2",
        "dynamic settings of the whole cluster",
    ]
