"""Environment variables of Kafka's containers: Compose files, workloads of Kubernetes, and .env files."""

from __future__ import annotations

import json

import pytest

from conformance.tests.checker.cluster.formats.files import described, refused, release, settings
from isrcheck.checker.cluster.formats.environment import key_of
from isrcheck.checker.cluster.libraries import ClientLibrary
from isrcheck.checker.cluster.property_files import PropertiesError
from isrcheck.checker.cluster.releases import release_of_confluent

COMPOSE = """\
x-kafka: &kafka
  image: apache/kafka:4.1.0
  environment: &common
    KAFKA_PROCESS_ROLES: broker,controller
    KAFKA_MIN_INSYNC_REPLICAS: 2
    KAFKA_DEFAULT_REPLICATION_FACTOR: "3"
    KAFKA_HEAP_OPTS: -Xmx1g
    CLUSTER_ID: 4L6g3nShT-eMCtK--X86sw
services:
  kafka-1:
    <<: *kafka
    environment:
      <<: *common
      KAFKA_NODE_ID: 1
  kafka-2:
    <<: *kafka
    environment:
      <<: *common
      KAFKA_NODE_ID: 2
  ui:
    image: provectuslabs/kafka-ui
    environment:
      KAFKA_CLUSTERS_0_NAME: local
  database:
    image: postgres
    environment:
      POSTGRES_PASSWORD: hunter2
"""
TWO_CLUSTERS = """\
services:
  kafka-a:
    image: apache/kafka:4.1.0
    environment: {KAFKA_NODE_ID: 1, KAFKA_CONTROLLER_QUORUM_VOTERS: "1@kafka-a:9093"}
  kafka-b:
    image: apache/kafka:4.1.0
    environment: {KAFKA_NODE_ID: 1, KAFKA_CONTROLLER_QUORUM_VOTERS: "1@kafka-b:9093"}
"""
IN_LISTS = """\
services:
  kafka:
    image: docker.io/bitnami/kafka:3.6.0-debian-12-r0
    env_file: more.env
    environment:
      - KAFKA_CFG_PROCESS_ROLES=broker,controller
      - KAFKA_CFG_MIN_INSYNC_REPLICAS=2
      - KAFKA_CLIENT_PASSWORDS=hunter2
      - KAFKA_CFG_LOG_DIRS
"""
STATEFUL_SET = """\
apiVersion: v1
kind: Service
metadata: {name: kafka}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: kafka
spec:
  template:
    spec:
      containers:
        - name: exporter
          image: danielqsj/kafka-exporter
        - name: kafka
          image: confluentinc/cp-kafka:7.6.1
          envFrom: [{configMapRef: {name: more}}]
          env:
            - name: KAFKA_NODE_ID
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
            - name: KAFKA_PROCESS_ROLES
              value: broker,controller
            - name: KAFKA_MIN_INSYNC_REPLICAS
              value: "2"
          volumeMounts:
            - {name: data, mountPath: /var/lib/kafka/data}
            - {name: certificates, mountPath: /etc/kafka/secrets}
      volumes:
        - name: data
          emptyDir: {}
        - name: certificates
          emptyDir: {}
"""


@pytest.mark.parametrize(
    ("variable", "prefix", "key"),
    [
        ("KAFKA_MIN_INSYNC_REPLICAS", "KAFKA_", "min.insync.replicas"),
        ("KAFKA_CFG_NODE_ID", "KAFKA_CFG_", "node.id"),
        ("KAFKA_LISTENER_NAME_A___B_X__Y", "KAFKA_", "listener.name.a-b.x_y"),
        ("KAFKA_HEAP_OPTS", "KAFKA_", ""),
        ("CLUSTER_ID", "KAFKA_", ""),
        ("KAFKA_BROKER_ID", "KAFKA_CFG_", ""),
    ],
)
def test_a_variable_sets_a_key_as_the_scripts_of_the_images_do(variable: str, prefix: str, key: str) -> None:
    assert key_of(variable, prefix) == key


@pytest.mark.parametrize(
    ("version", "kafka"),
    [
        ("3.3", "0.11.0"),
        ("4.1.0", "1.1"),
        ("5.5.1", "2.5"),
        ("6.0", "2.6"),
        ("6.2.15", "2.8"),
        ("7.0.1", "3.0"),
        ("7.9.0", "3.9"),
        ("8.0", "4.0"),
        ("8.4.0", "4.4"),
        ("8.5", ""),
        ("9", ""),
    ],
)
def test_the_confluent_platform_has_a_release_of_kafka(version: str, kafka: str) -> None:
    assert release_of_confluent(version) == kafka


def test_the_brokers_of_a_compose_file_share_what_an_anchor_gives_them() -> None:
    found = described(COMPOSE)
    shared = {
        "process.roles": "broker,controller (4)",
        "min.insync.replicas": "2 (5)",
        "default.replication.factor": "3 (6)",
    }
    assert settings(found) == {
        "the service kafka-1": {**shared, "node.id": "1 (14)"},
        "the service kafka-2": {**shared, "node.id": "2 (19)"},
    }
    assert release(found) == "4.1.0 (f1:2)"
    assert found.remarks == (
        "f1: containers that seem to be clients of Kafka are not read (the service ui); give their own files",
    )


def test_two_clusters_in_a_compose_file_are_refused() -> None:
    assert refused(TWO_CLUSTERS) == (
        "f1:7: controller.quorum.voters is '1@kafka-b:9093', but '1@kafka-a:9093' in f1:4; give each cluster in a file"
        " of its own, or correct the voters if this is one cluster"
    )


def test_variables_in_a_list_and_those_of_the_image_of_bitnami() -> None:
    found = described(IN_LISTS)
    assert settings(found) == {
        "the service kafka": {"process.roles": "broker,controller (6)", "min.insync.replicas": "2 (7)"}
    }
    assert release(found) == "3.6.0 (f1:3)"
    assert found.remarks == (
        "f1:4: the variables in the env_file of the service kafka are not read; give that file as well",
    )


def test_a_workload_of_kubernetes() -> None:
    found = described(STATEFUL_SET)
    assert settings(found) == {
        "the StatefulSet kafka": {"process.roles": "broker,controller (22)", "min.insync.replicas": "2 (24)"}
    }
    assert release(found) == "3.6 (f1:16)"
    assert found.remarks == (
        "f1:17: variables that come from other resources (envFrom) are not known; give the output of `kubectl exec POD"
        " -- env` as a file",
        "f1:29: the volume data is an emptyDir, so each restart of a pod loses its disk: the line Disk of the answer"
        " says what a lost disk does to your topics",
        "f1: documents without a known format are left out: Service (line 1)",
    )


def test_a_value_from_a_secret_that_counts_is_refused() -> None:
    text = STATEFUL_SET.replace('value: "2"', "valueFrom: {secretKeyRef: {name: s, key: k}}")
    assert refused(text) == (
        "f1:24: min.insync.replicas is from secretKeyRef, so its value is unknown; write the value, or give what the"
        " running cluster has (kafka-configs --describe --all)"
    )


def test_the_output_of_docker_inspect() -> None:
    brokers = {"Image": "apache/kafka:3.9.0", "Env": ["PATH=/bin", "KAFKA_NODE_ID=1", "KAFKA_MIN_INSYNC_REPLICAS=2"]}
    others = {"Image": "postgres", "Env": ["POSTGRES_PASSWORD=hunter2"]}
    found = described(json.dumps([{"Name": "/kafka-1", "Config": brokers}, {"Name": "/db", "Config": others}]))
    assert settings(found) == {"the container kafka-1": {"node.id": "1 (1)", "min.insync.replicas": "2 (1)"}}
    assert release(found) == "3.9.0 (f1:1)"


@pytest.mark.parametrize("prefix", ["KAFKA_", "KAFKA_CFG_"])
def test_a_file_of_variables(prefix: str) -> None:
    text = f"# ours\nexport {prefix}NODE_ID=1\n{prefix}MIN_INSYNC_REPLICAS='2'\nCLUSTER_ID=x\n\nPASSWORD=hunter2\n"
    assert settings(described(text)) == {"f1": {"node.id": "1 (2)", "min.insync.replicas": "2 (3)"}}


def test_a_variable_that_the_shell_fills_in_is_refused_if_it_counts() -> None:
    text = "KAFKA_NODE_ID=${ID}\nKAFKA_MIN_INSYNC_REPLICAS=${MIN_ISR:-2}\n"
    assert refused(text) == (
        "f1:2: min.insync.replicas is filled in from ${MIN_ISR:-2}, so its value is unknown; write the value, or give"
        " what the running cluster has (kafka-configs --describe --all)"
    )


@pytest.mark.parametrize("text", ["KAFKA_BOOTSTRAP_SERVERS=a:9092\n", "acks=all\nKAFKA_MIN_INSYNC_REPLICAS=2\n"])
def test_variables_of_clients_and_other_settings_are_no_file_of_a_broker(text: str) -> None:
    with pytest.raises(PropertiesError, match="environment variable"):
        described(text)


CLIENTS = """\
kind: Deployment
metadata: {name: app}
spec:
  template:
    spec:
      containers:
      - name: worker
        env:
        - {name: CONNECT_CONFIG_STORAGE_TOPIC, value: configs}
        - {name: CONNECT_PRODUCER_ACKS, value: "1"}
      - name: app
        env:
        - {name: SPRING_KAFKA_PRODUCER_RETRIES, value: "3"}
        - {name: SPRING_KAFKA_SSL_KEY_PASSWORD, valueFrom: {secretKeyRef: {name: a}}}
"""


def test_containers_of_kafka_connect_and_spring_are_clients() -> None:
    worker, app = described(CLIENTS).sections
    assert worker.library is ClientLibrary.CONNECT
    assert [(line.key, line.value, line.line) for line in (*worker.properties, *app.properties)] == [
        ("acks", "1", 10),
        ("config.storage.topic", "configs", 9),
        ("retries", "3", 13),
    ]
    assert worker.member == app.member == "the Deployment app"


def test_an_unknown_variable_of_a_client_that_counts_is_refused() -> None:
    unknown = CLIENTS.replace('value: "1"', "valueFrom: {configMapKeyRef: {name: a}}")
    assert refused(unknown).startswith("f1:10: CONNECT_PRODUCER_ACKS is from configMapKeyRef, so its value is unknown")


@pytest.mark.parametrize(
    ("image", "found"),
    [
        ("wurstmeister/kafka:2.13-2.8.1", "2.8.1 (f1:3)"),
        ("wurstmeister/kafka:latest", ""),
        ("confluentinc/cp-enterprise-kafka:5.4.3", "2.4 (f1:3)"),
    ],
)
def test_the_release_in_the_tag_of_an_image(image: str, found: str) -> None:
    text = f"services:\n  kafka:\n    image: {image}\n    environment: [KAFKA_BROKER_ID=1]\n"
    assert release(described(text)) == found


def test_a_tag_without_a_known_release_is_told() -> None:
    text = COMPOSE.replace("apache/kafka:4.1.0", "confluentinc/cp-kafka:9.1.0")
    says = "f1:2: the tag 9.1.0 names no release of Kafka that isrcheck knows; give --kafka-version"
    found = described(text)
    assert (release(found), says in found.remarks) == ("", True)
