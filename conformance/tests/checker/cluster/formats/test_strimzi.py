"""Resources of Strimzi, in the shapes of its own examples."""

from __future__ import annotations

import pytest

from conformance.tests.checker.cluster.formats.files import described, refused, release, settings, topics

KAFKA = """\
apiVersion: kafka.strimzi.io/v1
kind: Kafka
metadata:
  name: my-cluster
spec:
  kafka:
    version: 4.1.0
    metadataVersion: 4.1-IV1
    listeners:
      - name: plain
        port: 9092
        type: internal
        tls: false
    config:
      offsets.topic.replication.factor: 3
      default.replication.factor: 3
      min.insync.replicas: 2
  entityOperator:
    topicOperator: {}
"""
WITH_ZOOKEEPER = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: Kafka
metadata:
  name: old
spec:
  kafka:
    version: 3.6.0
    replicas: 3
    rack:
      topologyKey: topology.kubernetes.io/zone
    config:
      min.insync.replicas: 2
    storage:
      type: jbod
      volumes:
      - id: 0
        type: persistent-claim
      - id: 1
        type: ephemeral
  zookeeper:
    replicas: 3
"""
POOL = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaNodePool
metadata:
  name: controller
  labels:
    strimzi.io/cluster: my-cluster
spec:
  replicas: 4
  roles:
    - controller
  storage:
    type: ephemeral
"""
TOPIC = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata:
  name: my-topic
spec:
  topicName: Orders_1
  partitions: 6
  replicas: 3
  config:
    min.insync.replicas: 2
    retention.ms: 7200000
"""
LOST = "so each restart of a pod loses its disk: the line Disk of the answer says what a lost disk does to your topics"


def test_the_settings_of_a_kafka_resource_are_those_of_brokers_and_controllers() -> None:
    found = described(KAFKA)
    assert settings(found) == {
        "the Kafka resource my-cluster": {
            "offsets.topic.replication.factor": "3 (15)",
            "default.replication.factor": "3 (16)",
            "min.insync.replicas": "2 (17)",
            "process.roles": "broker,controller (7)",
            "metadata.version": "4.1-IV1 (8)",
        }
    }
    assert release(found) == "4.1.0 (f1:7)"
    assert found.remarks == ()


def test_a_resource_with_zookeeper_racks_and_a_volume_that_is_lost() -> None:
    found = described(WITH_ZOOKEEPER)
    assert settings(found)["the Kafka resource old"] == {
        "min.insync.replicas": "2 (12)",
        "zookeeper.connect": "old-zookeeper-client:2181 (21)",
    }
    assert found.remarks == (
        f"f1:19: the storage of the Kafka resource old is ephemeral, {LOST}",
        "f1:10: the racks of brokers are those of the label topology.kubernetes.io/zone; which broker is in which rack"
        " only the running cluster shows",
    )


def test_the_annotation_of_kraft_counts_more_than_a_left_over_zookeeper() -> None:
    text = WITH_ZOOKEEPER.replace("  name: old\n", "  name: old\n  annotations:\n    strimzi.io/kraft: enabled\n")
    assert settings(described(text))["the Kafka resource old"]["process.roles"] == "broker,controller (9)"


def test_a_pool_of_controllers_with_disks_that_are_lost() -> None:
    found = described(f"{KAFKA}---\n{POOL}")
    assert found.remarks == (
        f"f1:32: the storage of the node pool controller is ephemeral, {LOST}",
        "f1:28: the node pool controller has 4 controllers: 3 would survive as many losses",
    )


RUNNING = """\
status:
  clusterId: x
  nodeIds:
  - 0
  - 4
  roles:
  - controller
"""
"""What kubectl shows of a pool beside its specification: KafkaNodePoolStatus."""


def test_the_voters_are_the_nodes_of_the_pools_of_controllers_of_a_running_cluster() -> None:
    dual = POOL.replace("- controller", "- broker").replace("name: controller", "name: dual")
    dual += RUNNING.replace("- 0", "- 7").replace("- 4", "- 5")  # became a pool of controllers: spec.roles is not yet
    brokers = POOL.replace("- controller", "- broker") + RUNNING.replace("- controller", "- broker")
    assert described(f"{POOL}{RUNNING}---\n{dual}---\n{brokers}").voters == [0, 4, 5, 7]
    assert described(f"{POOL}{RUNNING.replace('roles', 'others')}").voters == [0, 4]


@pytest.mark.parametrize(
    "pools",
    [
        POOL,
        f"{POOL}{RUNNING}---\n{POOL.replace('name: controller', 'name: other')}",
        f"{POOL}{RUNNING.replace('- 4', '- x')}",
    ],
    ids=["no status", "a pool without status", "no ids"],
)
def test_no_voters_are_invented(pools: str) -> None:
    assert described(pools).voters == []


def test_a_topic_has_the_name_replicas_and_settings_of_its_specification() -> None:
    found = described(TOPIC)
    assert topics(found) == {
        "Orders_1": {"min.insync.replicas": "2 (10)", "retention.ms": "7200000 (11)", "replication.factor": "3 (8)"}
    }
    assert found.remarks == ()


def test_topics_of_kubectl_are_members_of_a_list() -> None:
    listed = "apiVersion: v1\nkind: List\nitems:\n- " + TOPIC.replace("\n", "\n  ")
    assert [*topics(described(listed))] == ["Orders_1"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "min.insync.replicas: 2",
            "min.insync.replicas: ${MIN_ISR}",
            "f1:10: min.insync.replicas is filled in from ${MIN_ISR}, so its value is unknown; write the value, or give"
            " what the running cluster has (kafka-configs --describe --all)",
        ),
        ("replicas: 3", "replicas: three", "f1:8: replicas 'three' is not a whole number of at least 1; correct it"),
    ],
)
def test_a_value_that_counts_and_is_unknown_is_refused(old: str, new: str, message: str) -> None:
    assert refused(TOPIC.replace(old, new)) == message


def test_a_template_in_place_of_all_settings_is_refused() -> None:
    assert refused(TOPIC.split("  config:")[0] + "  config: '{{ .Values.config }}'\n") == (
        "f1:9: the settings here are a template, so they are unknown; write them, or give what the running cluster has"
        " (kafka-configs --describe --all)"
    )


def test_an_unknown_value_that_does_not_count_is_left_out() -> None:
    found = described(TOPIC.replace("7200000", "'{{ .Values.retention }}'"))
    assert topics(found)["Orders_1"] == {"min.insync.replicas": "2 (10)", "replication.factor": "3 (8)"}


def test_an_unknown_number_of_replicas_is_told() -> None:
    found = described(TOPIC.replace("replicas: 3", "replicas: ${RF}"))
    assert topics(found)["Orders_1"].get("replication.factor") is None
    assert found.remarks == (
        "f1:8: the number of replicas of Orders_1 is filled in from ${RF}; that of the brokers is taken",
    )


def test_a_topic_that_is_declared_twice_and_a_resource_without_kafka_are_refused() -> None:
    assert refused(TOPIC, TOPIC) == "f2:8: topic Orders_1 is described twice; keep one description"
    text = "apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nspec: {}\n"
    assert refused(text) == "f1:1: this Kafka resource has no spec.kafka; give the whole resource"


def test_two_releases_are_refused() -> None:
    assert refused(KAFKA, WITH_ZOOKEEPER.replace("name: old", "name: my-cluster")) == (
        "f2:7: the files mix versions: Kafka 3.6.0 here, and 4.1.0 in f1:7; give the files of one version"
    )


ONLY_ONE = (
    "and an answer is for one cluster: give the description of each cluster in files of its own, and ask about one at a"
    " time"
)


def test_resources_of_two_clusters_are_refused() -> None:
    labelled = TOPIC.replace("  name: my-topic", "  name: my-topic\n  labels:\n    strimzi.io/cluster: CLUSTER")
    second = KAFKA.replace("my-cluster", "second").replace("      min.insync.replicas: 2\n", "")
    of_second = labelled.replace("CLUSTER", "second")
    assert refused(f"{KAFKA}---\n{second}---\n{of_second}") == (
        f"f1:24: the cluster second is another than my-cluster in f1:4, {ONLY_ONE}"
    )
    assert refused(KAFKA, of_second) == f"f2:6: the cluster second is another than my-cluster in f1:4, {ONLY_ONE}"
    assert refused(of_second, POOL) == f"f2:6: the cluster my-cluster is another than second in f1:6, {ONLY_ONE}"
    assert [*topics(described(KAFKA, POOL, labelled.replace("CLUSTER", "my-cluster")))] == ["Orders_1"]


def test_clusters_with_one_name_in_two_namespaces_are_refused() -> None:
    first = KAFKA.replace("my-cluster", "my-cluster\n  namespace: first")
    assert [*settings(described(POOL, first))] == ["the Kafka resource my-cluster"]
    assert refused(POOL, first, first.replace("namespace: first", "namespace: second")) == (
        f"f3:4: the cluster second/my-cluster is another than first/my-cluster in f2:4, {ONLY_ONE}"
    )


CONNECT = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnect
metadata: {name: c}
spec:
  config:
    config.storage.replication.factor: 1
    producer.acks: 1
    consumer.isolation.level: read_committed
"""
MIRROR = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaMirrorMaker2
metadata: {name: m}
spec:
  connectCluster: b
  clusters:
  - {alias: a, config: {producer.acks: 0}}
  - {alias: b, config: {producer.acks: 1, producer.linger.ms: 5}}
  mirrors:
  - sourceCluster: a
    targetCluster: b
    sourceConnector:
      config:
        replication.factor: FACTOR
        offset-syncs.topic.replication.factor: 2
        producer.override.acks: all
"""
MIRROR_OF_V1 = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaMirrorMaker2
metadata: {name: m}
spec:
  target: {alias: b, config: {producer.acks: 1}}
  mirrors:
  - source: {alias: a}
    sourceConnector: {config: {}}
"""


def test_kafka_connect_is_read_as_the_file_of_a_worker() -> None:
    found = described(CONNECT)
    assert settings(found) == {"the KafkaConnect resource c": {"isolation.level": "read_committed (8)"}}
    producer, consumer = found.sections
    assert [(line.key, line.value) for line in producer.properties] == [
        ("acks", "1"),
        ("config.storage.replication.factor", "1"),
    ]
    assert producer.shown_by == consumer.shown_by == "f1:2: kind: KafkaConnect"
    assert producer.remarks == (
        "f1:6: config.storage.replication.factor=1: one lost broker loses the configurations of connectors",
    )


@pytest.mark.parametrize(("factor", "topic"), [("3", {"replication.factor": "3 (14)"}), ("-1", {})])
def test_mirror_maker_writes_with_the_workers_of_the_target_and_its_source_connector(
    factor: str, topic: dict[str, str]
) -> None:
    found = described(MIRROR.replace("FACTOR", factor))
    assert settings(found) == {
        "the KafkaMirrorMaker2 resource m (a->b)": {"linger.ms": "5 (8)", "acks": "all (16)"},
        "the KafkaMirrorMaker2 resource m (topics that MirrorMaker creates)": topic,
    }
    assert found.sections[0].remarks == (
        "f1:15: offset-syncs.topic.replication.factor=2: two lost brokers lose the translation of offsets",
    )


def test_mirror_maker_of_version_1_and_its_default_factor() -> None:
    assert settings(described(MIRROR_OF_V1)) == {
        "the KafkaMirrorMaker2 resource m (a->b)": {"acks": "1 (5)"},
        "the KafkaMirrorMaker2 resource m (topics that MirrorMaker creates)": {"replication.factor": "2 (2)"},
    }


def test_a_bridge_has_java_clients() -> None:
    of_group = "apiVersion: kafka.strimzi.io/v1\nkind: KafkaBridge\n"
    found = described(of_group + "metadata: {name: b}\nspec: {producer: {config: {acks: 1}}}\n")
    assert settings(found) == {"the KafkaBridge resource b": {"acks": "1 (4)"}}
    assert found.sections[0].library is None
