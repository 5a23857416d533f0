"""Reads a cluster of the stub: every fact with its place, and a line for each fact that could not be read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kio.schema.errors import ErrorCode

from conformance.tests.checker.cluster.live.stub import ALL, Part, StubCluster, served
from isrcheck.checker.cluster.live.address import Address, read_addresses
from isrcheck.checker.cluster.live.connection import Api, NoAnswerError
from isrcheck.checker.cluster.live.reader import Request, read_cluster
from isrcheck.checker.cluster.live.security import Security
from isrcheck.checker.cluster.live.snapshot import (
    FeatureRead,
    PartitionRead,
    QuorumRead,
    SettingRead,
    Snapshot,
    TopicRead,
)
from isrcheck.checker.cluster.property_files import PropertiesError

WITHOUT_ELR = {api: versions for api, versions in ALL.items() if api is not Api.DESCRIBE_TOPIC_PARTITIONS}


def reading(cluster: StubCluster, *topics: str, timeout: float = 10.0) -> Snapshot:
    with served(cluster):
        return read_cluster(Request(read_addresses("x", cluster.address), Security(), topics, timeout))


def test_every_fact_is_read() -> None:
    cluster = StubCluster(
        topics={
            "orders": [Part(elr=(3,), last_known_elr=None, isr=(1, 2)), Part(leader=-1, isr=(), last_known_elr=(2,))],
            "logs": [Part(replicas=(1, 2, 4), isr=(1, 2), adding=(4,), removing=(1,))],
        },
        racks={1: "az1", 2: None},
        topic_configs={"orders": {"min.insync.replicas": ("2", "topic"), "retention.ms": ("1", "topic")}},
        broker_configs={"min.insync.replicas": ("1", "static"), "ssl.key.password": (None, "static")},
        cluster_configs={"min.insync.replicas": ("2", "cluster")},
    )
    snapshot = reading(cluster)
    assert snapshot.topics == (
        TopicRead("logs", (PartitionRead(0, 1, (1, 2, 4), (1, 2), (), (), (), (4,), (1,)),), ()),
        TopicRead(
            "orders",
            (
                PartitionRead(0, 1, (1, 2, 3), (1, 2), (3,), None),
                PartitionRead(1, None, (1, 2, 3), (), (), (2,)),
            ),
            (SettingRead("min.insync.replicas", "2", "topic"),),
        ),
    )
    settings = (SettingRead("min.insync.replicas", "1", "static"),)
    assert [(broker.id, broker.port, broker.rack) for broker in snapshot.brokers] == [
        (1, cluster.ports[1], "az1"),
        (2, cluster.ports[2], None),
    ]
    assert {(broker.settings, broker.newest_metadata) for broker in snapshot.brokers} == {(settings, 27)}
    assert snapshot.cluster_settings == (SettingRead("min.insync.replicas", "2", "cluster"),)
    assert snapshot.features == (
        FeatureRead("eligible.leader.replicas.version", 1),
        FeatureRead("metadata.version", 27),
        FeatureRead("transaction.version", 2),
    )
    assert snapshot.quorum == QuorumRead(1, (1, 2, 3), (), (3,))
    assert (snapshot.server, snapshot.cluster_id, snapshot.controller) == (cluster.address, "the-cluster", 1)
    assert (snapshot.partitions_from, snapshot.reassignments_known) == ("DescribeTopicPartitions", True)
    assert snapshot.unknown == ()


def test_only_describing_requests_are_sent() -> None:
    cluster = StubCluster()
    reading(cluster)
    assert {api for _, api, _ in cluster.asked} == set(ALL) - {Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE}


def test_the_pages_of_an_answer_are_put_together() -> None:
    topics = {f"t{number}": [Part() for _ in range(5)] for number in range(4)}
    cluster = StubCluster(topics=topics, page=3)
    snapshot = reading(cluster)
    assert [(topic.name, [each.number for each in topic.partitions]) for topic in snapshot.topics] == [
        (name, [0, 1, 2, 3, 4]) for name in sorted(topics)
    ]
    assert sum(api is Api.DESCRIBE_TOPIC_PARTITIONS for _, api, _ in cluster.asked) == 7


def test_only_the_named_topics_are_read() -> None:
    cluster = StubCluster(topics={"a": [Part()], "b": [Part()], "c": [Part()]}, page=1)
    assert [topic.name for topic in reading(cluster, "a", "c").topics] == ["a", "c"]


@pytest.mark.parametrize("apis", [ALL, WITHOUT_ELR])
def test_a_topic_that_is_not_there(apis: dict[Api, tuple[int, int]]) -> None:
    cluster = StubCluster(apis=apis)
    with pytest.raises(PropertiesError) as refused:
        reading(cluster, "invoices")
    assert str(refused.value) == f"--topic-name invoices: there is no such topic at {cluster.address}"


def test_a_broker_before_eligible_leader_replicas() -> None:
    cluster = StubCluster(apis=WITHOUT_ELR)
    snapshot = reading(cluster)
    assert snapshot.topics[0].partitions == (PartitionRead(0, 1, (1, 2, 3), (1, 2, 3), None, None),)
    assert snapshot.partitions_from == "Metadata"
    assert snapshot.unknown == (
        f"eligible leader replicas: {cluster.address} does not answer DescribeTopicPartitions: it is too old, or its"
        " cluster has ZooKeeper",
    )


def test_an_old_broker_with_zookeeper() -> None:
    cluster = StubCluster(
        apis={Api.METADATA: (0, 1), Api.API_VERSIONS: (0, 0), Api.DESCRIBE_CONFIGS: (0, 0)},
        finalized={},
        supported={},
        topic_configs={"orders": {"min.insync.replicas": ("2", "topic"), "flush.ms": ("9", "default")}},
        broker_configs={"min.insync.replicas": ("1", "static"), "ssl.key.password": (None, "static")},
    )
    snapshot = reading(cluster)
    assert [topic.settings for topic in snapshot.topics] == [
        (SettingRead("min.insync.replicas", "2", "topic"), SettingRead("flush.ms", "9", "default"))
    ]
    assert {broker.settings for broker in snapshot.brokers} == {(SettingRead("min.insync.replicas", "1", "static"),)}
    assert snapshot.cluster_settings == ()
    assert (snapshot.features, snapshot.quorum, snapshot.apis) == ((), None, (3, 18, 32))
    assert snapshot.unknown == (
        f"reassignments under way: {cluster.address} does not answer ListPartitionReassignments: it is too old, or its"
        " cluster has ZooKeeper",
    )


def test_a_broker_before_it_said_its_settings() -> None:
    cluster = StubCluster(apis={Api.METADATA: (0, 1), Api.API_VERSIONS: (0, 0)}, finalized={}, supported={})
    snapshot = reading(cluster)
    assert [topic.settings for topic in snapshot.topics] == [None]
    says = f"{cluster.address} does not answer"
    assert snapshot.unknown == (
        f"reassignments under way: {says} ListPartitionReassignments: it is too old, or its cluster has ZooKeeper",
        f"settings of topics: {says} DescribeConfigs",
        *(
            f"settings of broker {broker}: 127.0.0.1:{cluster.ports[broker]} does not answer DescribeConfigs"
            for broker in (1, 2, 3)
        ),
        f"dynamic settings of the whole cluster: {says} DescribeConfigs",
    )


def test_what_a_client_may_not_ask_is_unknown() -> None:
    cluster = StubCluster(
        errors={
            Api.DESCRIBE_CONFIGS: ErrorCode.cluster_authorization_failed,
            Api.DESCRIBE_QUORUM: ErrorCode.cluster_authorization_failed,
            Api.LIST_PARTITION_REASSIGNMENTS: ErrorCode.cluster_authorization_failed,
        }
    )
    snapshot = reading(cluster)
    assert [topic.settings for topic in snapshot.topics] == [None]
    assert {broker.settings for broker in snapshot.brokers} == {None}
    assert (snapshot.cluster_settings, snapshot.quorum, snapshot.reassignments_known) == (None, None, False)
    assert snapshot.unknown == (
        f"reassignments under way: CLUSTER_AUTHORIZATION_FAILED from {cluster.address}",
        "settings of topic orders: CLUSTER_AUTHORIZATION_FAILED",
        "settings of broker 1, 2, 3: CLUSTER_AUTHORIZATION_FAILED",
        "dynamic settings of the whole cluster: CLUSTER_AUTHORIZATION_FAILED",
        "controllers and voters: CLUSTER_AUTHORIZATION_FAILED",
    )


def test_a_broker_that_does_not_answer_costs_only_its_own_settings() -> None:
    cluster = StubCluster(silent={(2, Api.DESCRIBE_CONFIGS)})
    snapshot = reading(cluster, timeout=0.2)
    assert [broker.settings is None for broker in snapshot.brokers] == [False, True, False]
    place = f"127.0.0.1:{cluster.ports[2]}"
    assert snapshot.unknown == (
        f"settings of broker 2: {place}: no answer to DescribeConfigs within 0.2 s; give a longer --timeout",
    )


def test_many_brokers_without_answers_are_few_lines() -> None:
    """The brokers advertise names that the client cannot reach, each a different name."""
    racks: dict[int, str | None] = dict.fromkeys(range(1, 10))
    cluster = StubCluster(racks=racks, silent={(broker, Api.API_VERSIONS) for broker in range(2, 10)})
    snapshot = reading(cluster, timeout=0.2)
    assert [says.partition(": ")[0] for says in snapshot.unknown] == [
        *(f"settings of broker {broker}" for broker in range(2, 7)),
        "settings of broker 7, 8, 9",
    ]


def test_a_late_answer_is_not_taken_for_that_of_the_next_request() -> None:
    """After a request without an answer, the next request has a new connection."""
    cluster = StubCluster(silent={(1, Api.DESCRIBE_QUORUM)})
    snapshot = reading(cluster, timeout=0.2)
    says = (
        f"controllers and voters: {cluster.address}: no answer to DescribeQuorum within 0.2 s; give a longer --timeout"
    )
    assert snapshot.unknown == (says,)
    asked = [api for broker, api, _ in cluster.asked if broker == 1]
    assert asked[-3:] == [Api.DESCRIBE_QUORUM, Api.API_VERSIONS, Api.METADATA]


def test_without_the_brokers_there_is_no_reading() -> None:
    cluster = StubCluster(silent={(1, Api.METADATA)})
    with pytest.raises(NoAnswerError) as failed:
        reading(cluster, timeout=0.1)
    assert str(failed.value) == f"{cluster.address}: no answer to Metadata within 0.1 s; give a longer --timeout"


def test_the_next_address_is_asked() -> None:
    cluster = StubCluster()
    with served(cluster):
        addresses = read_addresses("x", f"127.0.0.1:1,{cluster.address}")
        assert read_cluster(Request(addresses, Security())).server == cluster.address


def test_every_address_is_named_if_none_answers() -> None:
    cluster = StubCluster(silent={(broker, Api.API_VERSIONS) for broker in (1, 2, 3)})
    with served(cluster):
        first, *others = (f"127.0.0.1:{cluster.ports[broker]}" for broker in (1, 2, 3))
        with pytest.raises(NoAnswerError) as failed:
            read_cluster(Request(read_addresses("x", ",".join([first, *others])), Security(), timeout=0.1))
    assert str(failed.value) == (
        f"{first}: no answer to ApiVersions within 0.1 s; check the port, or give a longer --timeout;"
        f" {', '.join(others)} cannot be used either"
    )


def test_a_cluster_that_changes_while_it_is_read() -> None:
    """Between the partitions and their settings, a topic is deleted and a broker stops."""
    cluster = StubCluster(topics={"orders": [Part()], "gone": [Part()]})

    def change(api: Api) -> None:
        if api is Api.DESCRIBE_CONFIGS:
            cluster.topics.pop("gone", None)
        if api is Api.DESCRIBE_QUORUM:
            cluster.racks = {1: "az1", 2: "az2"}

    cluster.begins = change
    snapshot = reading(cluster)
    assert [(topic.name, topic.settings) for topic in snapshot.topics] == [("gone", None), ("orders", ())]
    assert snapshot.unknown == (
        "settings of topic gone: UNKNOWN_TOPIC_OR_PARTITION",
        "the cluster changed while it was read: broker 3 stopped; read it again",
    )


def test_no_secret_is_read() -> None:
    """Also a value that a broker does not mark as sensitive is left out, if its key looks like a secret's."""
    cluster = StubCluster(
        broker_configs={"plugin.password": ("hunter2", "static"), "num.io.threads": ("8", "static")},
        topic_configs={"orders": {"cleanup.policy": (None, "topic")}},
    )
    snapshot = reading(cluster)
    assert snapshot.brokers[0].settings == (SettingRead("num.io.threads", "8", "static"),)
    assert snapshot.topics[0].settings == ()
    assert "hunter2" not in repr(snapshot)


def test_a_feature_on_which_the_cluster_has_not_agreed_is_off() -> None:
    snapshot = reading(StubCluster(finalized={"metadata.version": 27}))
    assert snapshot.features == (
        FeatureRead("eligible.leader.replicas.version", 0),
        FeatureRead("metadata.version", 27),
        FeatureRead("transaction.version", 0),
    )


def test_the_place_of_a_fact() -> None:
    snapshot = replace(reading(StubCluster()), server="b:9092")
    broker = replace(snapshot.brokers[0], host="c", port=9093)
    assert snapshot.place("Metadata") == "b:9092, Metadata"
    assert snapshot.place("DescribeConfigs", broker) == "c:9093, DescribeConfigs"


def test_addresses() -> None:
    assert read_addresses("--x", "a:1, [::1]:65535") == (Address("a", 1), Address("::1", 65535))
    assert str(Address("::1", 9092)) == "[::1]:9092"
