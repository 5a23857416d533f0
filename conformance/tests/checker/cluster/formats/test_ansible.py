"""Variables of Ansible: cp-ansible's inventories and group_vars, and roles with a variable for each setting."""

from __future__ import annotations

from conformance.tests.checker.cluster.formats.files import described, refused, release, settings
from isrcheck.checker.cluster.versions import Evidence, Mode

INVENTORY = """\
all:
  vars:
    ansible_connection: ssh
    confluent_package_version: 7.6.1
    ssl_keystore_store_password: hunter2
    kafka_broker_custom_properties:
      min.insync.replicas: 2
      default.replication.factor: 3
kafka_controller:
  vars:
    kafka_controller_custom_properties:
      unclean.leader.election.enable: false
  hosts:
    c1: {}
kafka_broker:
  hosts:
    b1:
      broker_id: 1
      kafka_broker_custom_properties:
        broker.rack: az1
    b2:
      broker_id: 2
      kafka_broker_custom_properties:
        broker.rack: az2
        min.insync.replicas: 2
"""

ONE = "f1:14: the number of voting controllers is 1: the loss of 1 leaves the cluster without an active controller"


def test_an_inventory_of_the_confluent_platform() -> None:
    found = described(INVENTORY)
    assert settings(found) == {
        "the variables in f1:3 (broker)": {"min.insync.replicas": "2 (7)", "default.replication.factor": "3 (8)"},
        "the variables in f1:11 (controller)": {
            "unclean.leader.election.enable": "false (12)",
            "process.roles": "controller (12)",
        },
        "the variables in f1:22 (broker)": {"min.insync.replicas": "2 (25)"},
    }
    assert found.racks == {1: "az1", 2: "az2"}
    assert release(found) == "3.6 (f1:4)"
    assert found.evidence == (Evidence("has controllers (f1:14)", mode=Mode.KRAFT, tool="the inventory"),)
    assert found.remarks == (ONE,)


def test_racks_of_two_inventories_must_agree() -> None:
    assert refused(INVENTORY, INVENTORY.replace("az2", "az9")) == (
        "f2:24: node 2 is in rack az9 here, and in rack az2 in another place; keep the place that is right"
    )


def test_hosts_of_zookeeper_keep_the_metadata() -> None:
    text = "all:\n  vars:\n    kafka_version: 3.4.0\nzookeeper:\n  hosts:\n    z1:\n    z2:\nkafka_broker:\n  vars:\n"
    found = described(f"{text}    kafka_broker:\n      properties:\n        min.insync.replicas: 2\n")
    assert settings(found) == {
        "the inventory": {"zookeeper.connect": "z1,z2 (6)"},
        "the variables in f1:10 (broker)": {"min.insync.replicas": "2 (12)"},
    }
    assert release(found) == "3.4.0 (f1:3)"


def test_a_variable_for_each_setting() -> None:
    text = "---\nkafka_min_insync_replicas: 2\nkafka_unclean_leader_election_enable: no\nkafka_user: kafka\n"
    assert settings(described(text)) == {
        "the variables in f1:2": {"min.insync.replicas": "2 (2)", "unclean.leader.election.enable": "false (3)"}
    }


def test_a_release_that_is_not_known_is_told() -> None:
    found = described(INVENTORY.replace("7.6.1", "'{{ version }}'"))
    assert found.release is None
    assert found.remarks == (
        "f1:4: confluent_package_version={{ version }} names no release of Kafka that isrcheck knows; give"
        " --kafka-version",
        ONE,
    )


def test_an_encrypted_value_is_refused_if_it_counts() -> None:
    text = "---\nkafka_min_insync_replicas: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6134\n"
    assert refused(text) == (
        "f1:2: min.insync.replicas is a value with the tag !vault, so its value is unknown; write the value, or give"
        " what the running cluster has (kafka-configs --describe --all)"
    )


def test_an_inventory_without_settings_shows_who_keeps_the_metadata() -> None:
    hosts = "  hosts:\n    a: {}\n    b: {}\n    c: {}\n"
    found = described(f"kafka_controller:\n{hosts}kafka_broker:\n{hosts}")
    assert found.sections == ()
    assert found.evidence == (Evidence("has controllers (f1:3)", mode=Mode.KRAFT, tool="the inventory"),)
    assert found.remarks == ()
