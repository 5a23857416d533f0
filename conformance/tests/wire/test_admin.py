"""What `conform serve` tells administrators: real clients (AdminClient) and kio ask, in several releases."""

from datetime import timedelta

import pytest
from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType
from kio.index import load_payload_module
from kio.schema.errors import ErrorCode
from kio.static.constants import EntityType

from conformance.tests.wire.asking import ask
from conformance.tests.wire.serving import SECONDS, TOPIC, producer, read, running, send, until
from isrcheck.conformance.cluster.configuration.protocol import GENERATIONS
from isrcheck.conformance.cluster.configuration.settings import Settings, Start
from isrcheck.conformance.wire.driving.configuration import LONGEST, Configuration, Source, configured, with_settings
from isrcheck.conformance.wire.driving.topics import Surroundings
from isrcheck.conformance.wire.format.protocol import Api

EVERY_KRAFT = [name for name, switches in GENERATIONS.items() if switches.has_kraft]
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4


def admin(server):
    return AdminClient({"bootstrap.servers": server.bootstrap, "log_level": 0})


def partitions_of(server, broker=0, limit=2_000, cursor=None, names=()):
    """Topics with their partitions, as one DescribeTopicPartitions response has them; and the cursor."""
    parts = load_payload_module(Api.DESCRIBE_TOPIC_PARTITIONS, 0, EntityType.request)
    answer = ask(
        server.addresses[broker],
        Api.DESCRIBE_TOPIC_PARTITIONS,
        0,
        topics=tuple(parts.TopicRequest(name=each) for each in names),
        response_partition_limit=limit,
        cursor=cursor and parts.Cursor(topic_name=cursor.topic_name, partition_index=cursor.partition_index),
    )
    return answer.topics, answer.next_cursor


def states(server, broker):
    """(leader, ISR, ELR, last known ELR, offline replicas) of every partition, by topic and index."""
    topics, cursor = partitions_of(server, broker)
    assert cursor is None
    return {
        (topic.name, each.partition_index): (
            each.leader_id,
            each.isr_nodes,
            each.eligible_leader_replicas,
            each.last_known_elr,
            each.offline_replicas,
        )
        for topic in topics
        for each in topic.partitions
    }


def settings_of(server, broker, kind, name, *keys, version=4, synonyms=True):
    """The error and, by name, the settings of a resource in a DescribeConfigs response."""
    parts = load_payload_module(Api.DESCRIBE_CONFIGS, version, EntityType.request)
    resource = parts.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys or None)
    later = {"include_documentation": False} if version >= 3 else {}
    answer = ask(
        server.addresses[broker],
        Api.DESCRIBE_CONFIGS,
        version,
        resources=(resource,),
        include_synonyms=synonyms,
        **later,
    )
    (result,) = answer.results
    return result.error_code, {each.name: each for each in result.configs}


def sources(setting):
    return [(each.name, each.value, Source(each.source)) for each in setting.synonyms]


# -------------------------------------------------------------------------------------------------- a real AdminClient


@pytest.mark.parametrize("protocol", ["2.8", "4.1"])
def test_an_admin_client_sees_brokers_racks_and_the_true_isr(protocol):
    with running(protocol, around=Surroundings(topics=2, partitions=3, racks=2)) as server:
        client = admin(server)
        described = client.describe_cluster().result(SECONDS)
        assert (described.cluster_id, described.controller.id) == ("isrcheck", 0)
        assert [(each.id, each.rack) for each in described.nodes] == [(0, "rack-0"), (1, "rack-1"), (2, "rack-0")]
        assert {each: len(topic.partitions) for each, topic in client.list_topics(timeout=SECONDS).topics.items()} == {
            TOPIC: 1,
            f"{TOPIC}-1": 3,
            f"{TOPIC}-2": 3,
        }
        server.do("crash 2")
        until(lambda: "ISR 0 1" in server.lines)
        (partition,) = client.list_topics(TOPIC, timeout=SECONDS).topics[TOPIC].partitions.values()
        assert (partition.leader, partition.replicas, partition.isrs) == (0, [0, 1, 2], [0, 1])
        (partition,) = client.describe_topics(TopicCollection([TOPIC]))[TOPIC].result(SECONDS).partitions
        assert [each.id for each in partition.isr] == [0, 1]
        assert [each.id for each in client.describe_cluster().result(SECONDS).nodes] == [0, 1]


def test_an_admin_client_sees_settings_and_groups():
    with running("4.1") as server, producer(server) as found:
        client = admin(server)
        resources = [ConfigResource(ResourceType.TOPIC, TOPIC), ConfigResource(ResourceType.BROKER, "1")]
        topic, broker = (client.describe_configs([each])[each].result(SECONDS) for each in resources)
        minimum = topic["min.insync.replicas"]
        assert (minimum.value, minimum.source) == ("2", Source.DYNAMIC_DEFAULT_BROKER)
        assert (broker["broker.id"].value, broker["broker.id"].is_read_only) == ("1", True)
        assert (broker["ssl.keystore.password"].value, broker["ssl.keystore.password"].is_sensitive) == (None, True)
        send(found, "a")
        read(server)
        assert client.list_consumer_groups().result(SECONDS).valid == []


@pytest.mark.sampled
@pytest.mark.parametrize("protocol", EVERY_KRAFT)
def test_a_cluster_with_kraft_serves_clients_in_real_time(protocol):
    with running(protocol) as server, producer(server) as found:
        assert send(found, "a") == [(None, 0)]
        server.do("crash 0")
        assert send(found, "b") == [(None, 1)]
        server.do("restart 0")
        until(lambda: "ISR 0 1 2" in server.lines)
        assert read(server) == [(0, "a"), (1, "b")]


# ------------------------------------------------------------------------------------------------- versions, features


def features(server, version):
    answer = ask(server.addresses[0], Api.API_VERSIONS, version, client_software_name="t", client_software_version="1")
    supported = {each.name: (each.min_version, each.max_version) for each in answer.supported_features}
    return supported, {each.name: each.max_version_level for each in answer.finalized_features}


def test_features_are_those_of_the_release():
    with running("4.1") as server:
        metadata = {"metadata.version": (7, 27)}
        finalized = {"eligible.leader.replicas.version": 1, "kraft.version": 1, "metadata.version": 27}
        since_0 = {"eligible.leader.replicas.version": (0, 1), "kraft.version": (0, 1), "transaction.version": (0, 2)}
        assert features(server, 3) == (metadata, finalized)
        assert features(server, 4) == ({**metadata, **since_0}, finalized)
    with running("4.0") as server:
        assert features(server, 4)[1] == {"kraft.version": 1, "metadata.version": 25}
    with running("3.5") as server:
        assert features(server, 3) == ({"metadata.version": (1, 11)}, {"metadata.version": 11})
    with running("2.8") as server:
        assert features(server, 3) == ({}, {})


@pytest.mark.parametrize(
    ("protocol", "lacking"),
    [
        ("0.10", {Api.DESCRIBE_CONFIGS, Api.LIST_PARTITION_REASSIGNMENTS, Api.DESCRIBE_CLUSTER, Api.DESCRIBE_QUORUM}),
        ("2.1", {Api.LIST_PARTITION_REASSIGNMENTS, Api.DESCRIBE_CLUSTER, Api.DESCRIBE_QUORUM}),
        ("2.4", {Api.DESCRIBE_CLUSTER, Api.DESCRIBE_QUORUM}),
        ("2.8", {Api.DESCRIBE_QUORUM}),
        ("3.7", set()),
        ("4.0", {None}),
    ],
)
def test_an_old_broker_lacks_apis(protocol, lacking):
    asked = {Api.DESCRIBE_CONFIGS, Api.LIST_PARTITION_REASSIGNMENTS, Api.DESCRIBE_CLUSTER, Api.DESCRIBE_QUORUM}
    with running(protocol) as server:
        answer = ask(server.addresses[0], Api.API_VERSIONS, 0)
    keys = {each.api_key for each in answer.api_keys}
    has_partitions = Api.DESCRIBE_TOPIC_PARTITIONS in keys
    assert (asked - keys, has_partitions) == (lacking - {None}, None in lacking)


# --------------------------------------------------------------------------------------------------- leaders, ISR, ELR


@pytest.mark.sampled
def test_eligible_leader_replicas_and_the_last_known_leader():
    """With min.insync.replicas 2: whoever leaves an ISR of two is eligible, but not after a crash and a restart."""
    with running("4.1", around=Surroundings(topics=1, partitions=1)) as server:
        further = (f"{TOPIC}-1", 0)  # its replicas are 1, 2, 0
        assert states(server, 1)[further] == (1, (0, 1, 2), (), (), ())
        server.do("crash 2")
        assert states(server, 1) == {
            (TOPIC, 0): (0, (0, 1), (), (), (2,)),
            further: (1, (0, 1), (), (), (2,)),
        }
        server.do("crash 0")
        assert states(server, 1) == {
            (TOPIC, 0): (1, (1,), (0,), (), (0, 2)),
            further: (1, (1,), (0,), (), (2, 0)),
        }
        server.do("restart 2")
        until(lambda: states(server, 1)[TOPIC, 0][1] == (1, 2))
        assert states(server, 1)[further] == (1, (1, 2), (), (), (0,))
        server.do("crash 2", "crash 1", "restart 0")
        until(lambda: 0 in server.call(server.server.backend.active))
        assert states(server, 0) == {
            (TOPIC, 0): (-1, (), (1, 2), (1,), (1, 2)),
            further: (-1, (), (1, 2), (1,), (1, 2)),
        }
        server.do("restart 2")  # after a crash, so that it is no longer eligible
        until(lambda: 2 in server.call(server.server.backend.active))
        assert states(server, 0) == {
            (TOPIC, 0): (-1, (), (1,), (1,), (1,)),
            further: (-1, (), (1,), (1,), (1,)),
        }


@pytest.mark.sampled
def test_a_controlled_shutdown_keeps_a_broker_eligible():
    with running("4.1", around=Surroundings(topics=1, partitions=1), min_insync_replicas=3) as server:
        server.do("stop 2")
        until(lambda: server.call(lambda: server.server.backend.cluster.process_of(2)) == 0)
        until(lambda: states(server, 0)[TOPIC, 0] == (0, (0, 1), (2,), (), (2,)))
        assert states(server, 0)[f"{TOPIC}-1", 0] == (1, (0, 1), (2,), (), (2,))
        server.do("restart 2")
        until(lambda: states(server, 0)[TOPIC, 0] == (0, (0, 1, 2), (), (), ()))
        assert states(server, 0)[f"{TOPIC}-1", 0] == (1, (0, 1, 2), (), (), ())


@pytest.mark.sampled
def test_an_unclean_election_takes_an_active_broker():
    around = Surroundings(topics=1, partitions=1)
    with running("4.0", around=around, unclean_leader_election_enable=True) as server:
        server.do("crash 2", "crash 0", "crash 1", "restart 2")
        until(lambda: states(server, 2)[TOPIC, 0][0] == 2)
        assert states(server, 2)[f"{TOPIC}-1", 0] == (2, (2,), (), (), (1, 0))


def test_without_elr_the_last_member_stays_in_the_isr():
    with running("2.8", around=Surroundings(topics=1, partitions=1)) as server:
        server.do("crash 2", "crash 1")
        topics = admin(server).list_topics(timeout=SECONDS).topics
        for name in (TOPIC, f"{TOPIC}-1"):
            assert (topics[name].partitions[0].leader, topics[name].partitions[0].isrs) == (0, [0])
        server.do("restart 2", "crash 0")
        partition = admin(server).list_topics(f"{TOPIC}-1", timeout=SECONDS).topics[f"{TOPIC}-1"].partitions[0]
        assert (partition.leader, partition.isrs) == (2, [2])


def test_topic_partitions_come_in_pages():
    with running("4.1", around=Surroundings(topics=2, partitions=3)) as server:
        pages, cursor = [], None
        while True:
            topics, cursor = partitions_of(server, limit=2, cursor=cursor)
            pages.append([(topic.name, each.partition_index) for topic in topics for each in topic.partitions])
            if cursor is None:
                break
        first, second = f"{TOPIC}-1", f"{TOPIC}-2"
        assert pages == [
            [(TOPIC, 0), (first, 0)],
            [(first, 1), (first, 2)],
            [(second, 0), (second, 1)],
            [(second, 2)],
        ]
        topics, _ = partitions_of(server, names=("other", TOPIC))
        assert [(each.name, each.error_code) for each in topics] == [
            ("other", ErrorCode.unknown_topic_or_partition),
            (TOPIC, ErrorCode.none),
        ]


def test_a_fenced_broker_is_described_if_asked_for():
    with running("4.1") as server:
        server.do("crash 2")
        for with_fenced, expected in ((False, [(0, False), (1, False)]), (True, [(0, False), (1, False), (2, True)])):
            answer = ask(
                server.addresses[0],
                Api.DESCRIBE_CLUSTER,
                2,
                include_cluster_authorized_operations=False,
                include_fenced_brokers=with_fenced,
            )
            assert [(each.broker_id, each.is_fenced) for each in answer.brokers] == expected


def reassignments(server):
    answer = ask(server.addresses[0], Api.LIST_PARTITION_REASSIGNMENTS, 0, timeout=timedelta(seconds=1), topics=None)
    return answer.error_code, [
        (topic.name, each.replicas, each.adding_replicas, each.removing_replicas)
        for topic in answer.topics
        for each in topic.partitions
    ]


def test_a_reassignment_lasts_until_the_added_replica_is_in_sync():
    with running("4.1", start=Start(replicas=4, assignment=(0, 1, 2))) as server:
        assert reassignments(server) == (ErrorCode.none, [])
        server.do("crash 3", "reassign 0 1 3")
        assert reassignments(server) == (ErrorCode.none, [(TOPIC, (0, 1, 3, 2), (3,), (2,))])
        server.do("restart 3")
        until(lambda: reassignments(server) == (ErrorCode.none, []))
        assert partitions_of(server)[0][0].partitions[0].replica_nodes == (0, 1, 3)


# -------------------------------------------------------------------------------------------------------------- quorum


def quorum(server):
    parts = load_payload_module(Api.DESCRIBE_QUORUM, 2, EntityType.request)
    topic = parts.TopicData(topic_name="__cluster_metadata", partitions=(parts.PartitionData(partition_index=0),))
    return ask(server.addresses[0], Api.DESCRIBE_QUORUM, 2, topics=(topic,))


def test_the_quorum_has_constant_voters_and_the_brokers_as_observers():
    with running("4.1") as server:
        server.do("crash 2")
        answer = quorum(server)
        (partition,) = answer.topics[0].partitions
        assert (partition.leader_id, partition.leader_epoch) == (1000, 1)
        end = partition.high_watermark
        assert [(each.replica_id, each.log_end_offset) for each in partition.current_voters] == [
            (1000, end),
            (1001, end),
            (1002, end),
        ]
        assert [(each.replica_id, each.log_end_offset) for each in partition.observers] == [(0, end), (1, end)]
        assert [each.node_id for each in answer.nodes] == [1000, 1001, 1002]


# ------------------------------------------------------------------------------------------------------------ settings

MADE = Configuration(
    static={"min.insync.replicas": "2", "log.flush.interval.messages": "7", "ssl.keystore.password": "secret"},
    cluster={"min.insync.replicas": "3", "log.flush.interval.messages": "5"},
    broker={1: {"log.flush.interval.messages": "4"}},
    topic={TOPIC: {"min.insync.replicas": "1"}},
)


def test_a_setting_names_every_layer_in_which_it_is_made():
    with running("2.8", around=Surroundings(topics=1, configuration=MADE)) as server:
        code, of_topic = settings_of(server, 1, TOPIC_RESOURCE, TOPIC)
        assert code is ErrorCode.none
        minimum = "min.insync.replicas"
        assert (of_topic[minimum].value, of_topic[minimum].config_source) == ("1", Source.TOPIC)
        assert sources(of_topic[minimum]) == [
            (minimum, "1", Source.TOPIC),
            (minimum, "3", Source.DYNAMIC_DEFAULT_BROKER),
            (minimum, "2", Source.STATIC_BROKER),
            (minimum, "1", Source.DEFAULT),
        ]
        flush = "log.flush.interval.messages"
        assert sources(of_topic["flush.messages"]) == [
            (flush, "4", Source.DYNAMIC_BROKER),
            (flush, "5", Source.DYNAMIC_DEFAULT_BROKER),
            (flush, "7", Source.STATIC_BROKER),
            (flush, LONGEST, Source.DEFAULT),
        ]
        assert (of_topic["flush.ms"].value, of_topic["flush.ms"].config_source, of_topic["flush.ms"].synonyms) == (
            LONGEST,
            Source.DEFAULT,
            (),
        )
        _, of_broker = settings_of(server, 0, BROKER_RESOURCE, "0")
        assert (of_broker[flush].value, of_broker[flush].config_source) == ("5", Source.DYNAMIC_DEFAULT_BROKER)
        assert (of_broker[flush].read_only, of_broker["broker.id"].read_only) == (False, True)
        assert of_broker["auto.leader.rebalance.enable"].value == "false"
        password = of_broker["ssl.keystore.password"]
        assert (password.value, password.is_sensitive, sources(password)) == (
            None,
            True,
            [("ssl.keystore.password", None, Source.STATIC_BROKER)],
        )
        _, of_cluster = settings_of(server, 0, BROKER_RESOURCE, "")
        assert {name: each.value for name, each in of_cluster.items()} == {minimum: "3", flush: "5"}


def test_settings_made_with_config_come_on_top_of_those_of_the_cluster():
    texts = ["cluster:min.insync.replicas=3", "topic:a:min.insync.replicas=1", "broker:1:log.segment.bytes=9"]
    without_elr, with_elr = (configured(Settings(), GENERATIONS[name]) for name in ("4.0", "4.1"))
    assert (without_elr.cluster, with_elr.cluster) == ({}, {"min.insync.replicas": "2"})
    made = with_settings(with_elr, texts)
    assert [made.value(each, "min.insync.replicas") for each in ("a", "b")] == ["1", "3"]
    assert (made.static, made.broker) == ({"min.insync.replicas": "2"}, {1: {"log.segment.bytes": "9"}})


def test_only_the_settings_asked_for_come_and_synonyms_only_if_asked_for():
    with running("2.8", around=Surroundings(configuration=MADE)) as server:
        _, found = settings_of(server, 0, TOPIC_RESOURCE, TOPIC, "flush.messages", version=1, synonyms=False)
        assert [(name, each.value, each.synonyms) for name, each in found.items()] == [("flush.messages", "5", ())]


def test_a_broker_describes_only_itself():
    with running("2.8") as server:
        assert settings_of(server, 0, BROKER_RESOURCE, "1") == (ErrorCode.invalid_request, {})
        assert settings_of(server, 0, TOPIC_RESOURCE, "other") == (ErrorCode.unknown_topic_or_partition, {})
        assert settings_of(server, 0, 99, "other") == (ErrorCode.invalid_request, {})


def test_a_changed_minimum_is_a_setting_of_the_topic():
    with running("4.1") as server:
        server.do("min-isr 3")
        _, found = settings_of(server, 0, TOPIC_RESOURCE, TOPIC, "min.insync.replicas")
        setting = found["min.insync.replicas"]
        assert (setting.value, setting.config_source) == ("3", Source.TOPIC)


def test_brokers_have_the_settings_of_their_kind_of_controller():
    for protocol, has, lacks in (
        ("2.8", "zookeeper.session.timeout.ms", "process.roles"),
        ("4.1", "process.roles", "zookeeper.session.timeout.ms"),
    ):
        with running(protocol) as server:
            _, found = settings_of(server, 0, BROKER_RESOURCE, "0")
            assert (has in found, lacks in found) == (True, False)


# --------------------------------------------------------------------------------------------- what is not answered


def test_a_user_without_permission_is_refused_by_each_api():
    with running("4.1") as server:
        server.do("deny Describe Cluster")
        assert reassignments(server) == (ErrorCode.cluster_authorization_failed, [])
        assert (quorum(server).error_code, quorum(server).topics) == (ErrorCode.cluster_authorization_failed, ())
        server.do("allow Describe Cluster", "deny DescribeConfigs Cluster")
        assert reassignments(server) == (ErrorCode.none, [])
        assert settings_of(server, 0, BROKER_RESOURCE, "0") == (ErrorCode.cluster_authorization_failed, {})
        assert settings_of(server, 0, TOPIC_RESOURCE, TOPIC)[0] is ErrorCode.none
        server.do("allow DescribeConfigs Cluster", "deny DescribeConfigs Topic", "deny Describe Topic")
        assert settings_of(server, 0, TOPIC_RESOURCE, TOPIC) == (ErrorCode.topic_authorization_failed, {})
        assert partitions_of(server) == ((), None)
        ((refused,), _) = partitions_of(server, names=(TOPIC,))
        assert (refused.error_code, refused.partitions) == (ErrorCode.topic_authorization_failed, ())
        client = admin(server)
        assert client.list_topics(timeout=SECONDS).topics == {}
        with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
            client.describe_topics(TopicCollection([TOPIC]))[TOPIC].result(SECONDS)
