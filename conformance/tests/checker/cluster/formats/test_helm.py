"""Values of Helm charts: those of Bitnami's kafka before and since version 24, and those of cp-helm-charts."""

from __future__ import annotations

import pytest

from conformance.tests.checker.cluster.formats.files import described, refused, release, settings, topics
from isrcheck.checker.cluster.cluster import versions_of
from isrcheck.checker.cluster.versions import Mode

SINCE_24 = """\
image:
  registry: docker.io
  repository: bitnami/kafka
  tag: 3.6.0-debian-12-r0
extraConfig: |
  # ours
  min.insync.replicas=2
  default.replication.factor=3
controller:
  replicaCount: 3
  persistence:
    enabled: false
broker:
  replicaCount: 3
  extraConfig: |-
    min.insync.replicas=1
sasl:
  client:
    passwords: hunter2
provisioning:
  enabled: true
  topics:
    - name: orders
      partitions: 6
      replicationFactor: 3
      config:
        min.insync.replicas: 2
    - name: small
"""
SINCE_31 = """\
overrideConfiguration:
  min.insync.replicas: 2
config:
  min.insync.replicas: 1
  default.replication.factor: 3
controller:
  controllerOnly: true
broker:
  replicaCount: 0
"""
TO_23 = """\
replicaCount: 3
defaultReplicationFactor: 3
interBrokerProtocolVersion: ""
extraEnvVars:
  - name: KAFKA_CFG_MIN_INSYNC_REPLICAS
    value: "2"
"""
CONFLUENT = """\
cp-kafka:
  enabled: true
  brokers: 3
  image: confluentinc/cp-server
  imageTag: 6.1.0
  configurationOverrides:
    "min.insync.replicas": 2
    "default.replication.factor": 3
"""
LOST = "so each restart of a pod loses its disk: the line Disk of the answer says what a lost disk does to your topics"


def test_controllers_and_brokers_have_the_common_settings_and_their_own() -> None:
    found = described(SINCE_24)
    assert settings(found) == {
        "the values of controllers": {
            "min.insync.replicas": "2 (7)",
            "default.replication.factor": "3 (8)",
            "process.roles": "controller,broker (10)",
        },
        "the values of brokers": {
            "min.insync.replicas": "1 (16)",
            "default.replication.factor": "3 (8)",
            "process.roles": "broker (14)",
        },
    }
    assert topics(found) == {
        "orders": {"min.insync.replicas": "2 (27)", "replication.factor": "3 (25)"},
        "small": {"replication.factor": "1 (28)"},
    }
    assert release(found) == "3.6.0 (f1:4)"
    assert found.remarks == (
        f"f1:12: the storage of controllers is not persistent, {LOST}",
        "f1:28: assumed: small has 1 replica, the chart's default of provisioning.replicationFactor",
    )


def test_an_override_counts_more_than_a_configuration() -> None:
    assert settings(described(SINCE_31)) == {
        "the values of controllers": {
            "min.insync.replicas": "2 (2)",
            "default.replication.factor": "3 (5)",
            "process.roles": "controller (7)",
        }
    }


def test_values_with_names_of_their_own_and_variables() -> None:
    assert settings(described(TO_23)) == {
        "the values of the chart": {"default.replication.factor": "3 (2)", "min.insync.replicas": "2 (6)"}
    }


def test_values_below_the_name_of_a_chart() -> None:
    found = described(CONFLUENT)
    assert settings(found) == {
        "the values of the chart": {"min.insync.replicas": "2 (7)", "default.replication.factor": "3 (8)"}
    }
    assert release(found) == "2.7 (f1:5)"


WITH_ZOOKEEPER = """\
defaultReplicationFactor: 3
config: |-
  min.insync.replicas=2
zookeeper: {enabled: true}
image: {tag: 2.8.1-debian-10-r0}
"""


def test_a_tag_without_a_repository_is_one_of_the_default_image() -> None:
    umbrella = "kafka:\n" + "".join(f"  {line}\n" for line in WITH_ZOOKEEPER.splitlines())
    for text, line in ((WITH_ZOOKEEPER, 5), (umbrella, 6)):
        found = described(text, name="f{}.yaml")
        assert release(found) == f"2.8.1 (f1.yaml:{line})"
        assert found.remarks == (
            f"f1.yaml:{line}: assumed: the tag is one of the chart's default image, bitnami/kafka",
        )
        versions = versions_of(found, None)
        assert (versions.mode.value, versions.assumed) == (Mode.ZOOKEEPER, ())
    found = described(CONFLUENT.replace("  image: confluentinc/cp-server\n", ""))
    assert release(found) == "2.7 (f1:4)"
    assert found.remarks == (
        "f1:4: assumed: the tag is one of the chart's default image, confluentinc/cp-enterprise-kafka",
    )


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ("zookeeper: {enabled: true}", 29),
        ("externalZookeeper: {servers: [zookeeper]}", 29),
        ("kraft: {enabled: false}", 29),
        ("kraft: {enabled: true}\nzookeeper: {enabled: true}", 0),
        ("zookeeper: {enabled: false}\nexternalZookeeper: {servers: []}", 0),
    ],
)
def test_the_values_tell_whether_there_is_zookeeper(values: str, line: int) -> None:
    found = described(f"{SINCE_24}{values}\n")
    assert [(one.mode, one.shown) for one in found.evidence] == (
        [(Mode.ZOOKEEPER, f"use ZooKeeper (f1:{line})")] if line else []
    )
    of_brokers = "the values of the chart" if line else "the values of brokers"
    assert settings(found)[of_brokers]["min.insync.replicas"] == "1 (16)"


def test_a_template_is_refused_if_it_counts() -> None:
    assert refused(SINCE_31.replace("replicas: 2", "replicas: '{{ .Values.isr }}'")) == (
        "f1:2: min.insync.replicas is a template, so its value is unknown; write the value, or give what the running"
        " cluster has (kafka-configs --describe --all)"
    )


@pytest.mark.parametrize("text", ["replicaCount: 3\nimage:\n  repository: nginx\n", "config:\n  color: red\n"])
def test_values_of_another_chart_are_refused(text: str) -> None:
    assert "in which isrcheck knows no description of Kafka" in refused(text)
