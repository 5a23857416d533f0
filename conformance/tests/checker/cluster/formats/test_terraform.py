"""Resources of Terraform: Amazon MSK, the Kafka provider (Mongey/kafka) and the Confluent provider."""

from __future__ import annotations

import pytest

from conformance.tests.checker.cluster.formats.files import described, refused, release, settings, topics

pytestmark = pytest.mark.sampled  # the first file of HCL compiles the grammar of python-hcl2, which takes seconds

MSK = """\
variable "zones" {
  default = 3
}

resource "aws_msk_configuration" "this" {
  kafka_versions = ["3.6.0"]
  name           = "prod"

  server_properties = <<-PROPERTIES
    # ours
    auto.create.topics.enable = false
    min.insync.replicas=2
  PROPERTIES
}

resource "aws_msk_cluster" "main" {
  cluster_name           = "main"
  kafka_version          = "3.6.0"
  number_of_broker_nodes = 3

  broker_node_group_info {
    instance_type  = "kafka.m5.large"
    client_subnets = [aws_subnet.a.id, aws_subnet.b.id]
  }

  configuration_info {
    arn      = aws_msk_configuration.this.arn
    revision = aws_msk_configuration.this.latest_revision
  }
}
"""
TOPIC = """\
resource "kafka_topic" "orders" {
  name               = "systemd_logs" # of machines
  replication_factor = 2
  partitions         = 100

  config = {
    "min.insync.replicas" = "2"
    "retention.ms"        = var.days * 24 * 3600000
    compression.type      = "zstd"
  }
}
"""
CONFLUENT = """\
resource "confluent_kafka_topic" "orders" {
  kafka_cluster {
    id = confluent_kafka_cluster.standard.id
  }
  topic_name       = "orders"
  partitions_count = 4
  config = {
    "cleanup.policy" = "delete"
  }
  credentials {
    key    = confluent_api_key.manager.id
    secret = "hunter2"
  }
}
"""


def test_an_msk_configuration_with_the_defaults_of_amazon() -> None:
    found = described(MSK)
    assert settings(found) == {
        "the MSK configuration this": {
            "auto.create.topics.enable": "false (11)",
            "min.insync.replicas": "2 (12)",
            "default.replication.factor": "2 (9)",
            "unclean.leader.election.enable": "true (9)",
            "auto.leader.rebalance.enable": "true (9)",
        }
    }
    assert release(found) == "3.6.0 (f1:6)"
    assert found.remarks == (
        "f1:9: not given, so Amazon MSK's own defaults for standard brokers in 2 availability zones are assumed:"
        " default.replication.factor=2, unclean.leader.election.enable=true, auto.leader.rebalance.enable=true",
    )


def test_without_a_known_number_of_zones_three_are_assumed() -> None:
    found = described(MSK.replace("[aws_subnet.a.id, aws_subnet.b.id]", "var.subnets"))
    assert found.remarks == (
        "f1:9: not given, so Amazon MSK's own defaults for standard brokers in 3 availability zones (assumed) are"
        " assumed: default.replication.factor=3, unclean.leader.election.enable=true,"
        " auto.leader.rebalance.enable=true",
    )


def test_a_topic_of_the_kafka_provider() -> None:
    found = described(TOPIC)
    assert topics(found) == {
        "systemd_logs": {
            "min.insync.replicas": "2 (7)",
            "compression.type": "zstd (9)",
            "replication.factor": "2 (3)",
        }
    }
    assert found.remarks == ()


def test_a_topic_of_confluent_cloud() -> None:
    found = described(CONFLUENT)
    assert topics(found) == {
        "orders": {"cleanup.policy": "delete (8)", "min.insync.replicas": "2 (5)", "replication.factor": "3 (5)"}
    }
    assert found.remarks == (
        "f1:1: assumed: Confluent Cloud keeps 3 replicas of every topic, and sets min.insync.replicas=2 if it is not"
        " given",
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '= "2"',
            "= var.min_isr",
            "f1:7: min.insync.replicas is the expression var.min_isr, so its value is unknown; write the value, or give"
            " what the running cluster has (kafka-configs --describe --all)",
        ),
        (
            '= "2"',
            '= "${var.min_isr}"',
            "f1:7: min.insync.replicas is a text with expressions, so its value is unknown; write the value, or give"
            " what the running cluster has (kafka-configs --describe --all)",
        ),
        ("= 100\n", "= = 100\n", "f1:4: is not HCL from here on; correct it there"),
    ],
)
def test_an_expression_that_counts_and_bad_syntax_are_refused(old: str, new: str, message: str) -> None:
    assert refused(TOPIC.replace(old, new)) == message


@pytest.mark.parametrize(
    ("written", "line", "unknown"),
    [
        ("config = var.config", 7, "the expression var.config"),
        (
            'config = merge(local.c, {"min.insync.replicas" = "2"})',
            7,
            'the expression merge(local.c, {"min.insync.replicas" = "2"})',
        ),
        ('dynamic "config" {\n  for_each = x\n  content {}\n}', 7, "a block (dynamic config)"),
        ('config = {\n  (var.key) = "1"\n}', 7, "a map with the key (var.key)"),
        ('config = {\n  "min.${var.key}" = "1"\n}', 7, 'a map with the key "min.${var.key}"'),
    ],
)
def test_settings_that_are_an_expression_are_refused_and_never_replaced_by_defaults(
    written: str, line: int, unknown: str
) -> None:
    message = (
        f"f1:{line}: the settings here are {unknown}, so they are unknown; write them, or give what the running cluster"
        " has (kafka-configs --describe --all)"
    )
    head = 'resource "RESOURCE" "t" {\n  name = "a"\n  topic_name = "a"\n  replication_factor = 3\n\n\n'
    for resource in ("kafka_topic", "confluent_kafka_topic", "aws_msk_topic"):
        of_msk = {"config =": "configs =", '"config"': '"configs"', "dynamic config": "dynamic configs"}
        own, expected = written, message
        for old, new in of_msk.items() if resource == "aws_msk_topic" else ():
            own, expected = own.replace(old, new), expected.replace(old, new)
        assert refused(f"{head.replace('RESOURCE', resource)}  {own}\n}}\n") == expected


def test_a_topic_of_msk_has_its_settings_in_the_argument_of_jsonencode() -> None:
    text = TOPIC.replace('"kafka_topic"', '"aws_msk_topic"').replace("config = {", "configs = jsonencode({")
    assert topics(described(text.replace("\n  }\n", "\n  })\n")))["systemd_logs"] == {
        "min.insync.replicas": "2 (7)",
        "compression.type": "zstd (9)",
        "replication.factor": "2 (3)",
    }


def test_a_cluster_whose_configuration_is_in_a_dynamic_block_does_not_get_the_defaults_of_msk() -> None:
    block = '  dynamic "configuration_info" {\n    for_each = x\n    content {}\n  }\n  broker_node'
    assert settings(described(CLUSTER.replace("  broker_node", block, 1))) == {}


def test_unknown_names_and_numbers_of_replicas_are_told() -> None:
    text = TOPIC.replace('"systemd_logs"', "each.key").replace("= 2", "= var.replicas")
    found = described(text.replace("  name ", "  for_each = toset(var.topics)\n  name "))
    assert topics(found)["orders"] == {"min.insync.replicas": "2 (8)", "compression.type": "zstd (10)"}
    assert found.remarks == (
        "f1:3: name of orders is the expression each.key: unknown",
        "f1:4: replication_factor of orders is the expression var.replicas: unknown",
        "f1:2: orders stands for several topics (for_each); the answer is for their common settings",
    )


def test_server_properties_that_are_an_expression_are_refused() -> None:
    text = 'resource "aws_msk_configuration" "this" {\n  server_properties = file("server.properties")\n}\n'
    assert refused(text) == (
        'f1:2: server_properties is the expression file("server.properties"), so its settings are unknown; give what'
        " the running cluster has (aws kafka describe-configuration-revision)"
    )


def test_expressions_and_directives_in_server_properties_are_refused_if_they_count() -> None:
    assert refused(MSK.replace("replicas=2", "replicas=${var.isr}")) == (
        "f1:12: min.insync.replicas is filled in from ${var.isr}, so its value is unknown; write the value, or give"
        " what the running cluster has (kafka-configs --describe --all)"
    )
    assert settings(described(MSK.replace("= false", "= ${var.create}")))["the MSK configuration this"].keys() == {
        *("min.insync.replicas", "default.replication.factor"),
        *("unclean.leader.election.enable", "auto.leader.rebalance.enable"),
    }
    assert refused(MSK.replace("# ours", "%{ if var.x }")) == (
        "f1:9: server_properties is a text with expressions, so its settings are unknown; give what the running cluster"
        " has (aws kafka describe-configuration-revision)"
    )


def test_escapes_of_a_text_are_resolved() -> None:
    text = MSK.replace("<<-PROPERTIES", '"a=\\\\nb\\nmin.insync.replicas=2\\nx=$${y}"').split("    # ours")[0] + "}\n"
    assert settings(described(text))["the MSK configuration this"]["a"] == "\nb (9)"
    assert settings(described(text))["the MSK configuration this"]["min.insync.replicas"] == "2 (9)"


def test_terraform_without_kafka_is_refused() -> None:
    assert refused('resource "aws_s3_bucket" "b" {\n  bucket = "b"\n}\n') == (
        "f1: is Terraform without a resource that describes Kafka (aws_msk_configuration, aws_msk_cluster, kafka_topic,"
        " confluent_kafka_topic); give the file that has them"
    )


MODULE = """\
module "msk" {
  source                     = "terraform-aws-modules/msk-kafka-cluster/aws"
  kafka_version              = "3.5.1"
  broker_node_client_subnets = ["subnet-1", "subnet-2", "subnet-3"]
  configuration_server_properties = {
    "min.insync.replicas"            = 1
    "unclean.leader.election.enable" = false
    "auto.leader.rebalance.enable"   = true
  }
}
"""


def test_the_module_for_msk_clusters() -> None:
    found = described(MODULE)
    assert settings(found) == {
        "the module msk": {
            "min.insync.replicas": "1 (6)",
            "unclean.leader.election.enable": "false (7)",
            "auto.leader.rebalance.enable": "true (8)",
            "default.replication.factor": "3 (5)",
        }
    }
    assert release(found) == "3.5.1 (f1:3)"
    assert found.remarks == (
        "f1:5: not given, so Amazon MSK's own defaults for standard brokers in 3 availability zones are assumed:"
        " default.replication.factor=3",
    )


CLUSTER = """\
resource "aws_msk_cluster" "main" {
  kafka_version = "3.8.x"
  broker_node_group_info {
    instance_type  = "express.m7g.large"
    client_subnets = ["a", "b", "c"]
  }
}
"""


def test_a_cluster_without_a_configuration_has_the_defaults_of_amazon() -> None:
    found = described(CLUSTER)
    assert settings(found) == {
        "the MSK cluster main": {"default.replication.factor": "3 (1)", "min.insync.replicas": "2 (1)"}
    }
    assert release(found) == "3.8 (f1:2)"
    assert found.remarks == (
        "f1:1: not given, so Amazon MSK's own defaults for Express brokers are assumed: default.replication.factor=3,"
        " min.insync.replicas=2",
    )
    standard = described(CLUSTER.replace("express.", "kafka."))
    assert settings(standard)["the MSK cluster main"]["unclean.leader.election.enable"] == "true (1)"


def test_a_cluster_whose_configuration_is_elsewhere_is_told() -> None:
    found = described(
        CLUSTER.replace("  broker_node", "  configuration_info {\n    arn = var.arn\n  }\n  broker_node", 1)
    )
    assert settings(found) == {}
    assert found.remarks == ("f1:1: the configuration of this cluster is not in f1; give the file that has it",)


@pytest.mark.parametrize(("text", "first"), [(MSK, "this in f1:5"), (CLUSTER, "main in f1:1"), (MODULE, "msk in f1:1")])
def test_two_clusters_of_msk_are_refused(text: str, first: str) -> None:
    other = text.replace('"this"', '"other"').replace('"main"', '"other"').replace('"msk"', '"other"')
    assert refused(f"{text}{other}").partition(": ")[2] == (
        f"the cluster other is another than {first}, and an answer is for one cluster: give the description of each"
        " cluster in files of its own, and ask about one at a time"
    )


def test_a_module_without_settings_has_the_defaults_of_msk() -> None:
    module = 'module "msk" {\n  source = "terraform-aws-modules/msk-kafka-cluster/aws"\n  kafka_version = "3.9.x"\n}\n'
    found = described(module)
    assert settings(found)["the module msk"]["unclean.leader.election.enable"] == "true (1)"
    assert release(found) == "3.9 (f1:3)"
    assert "is Terraform without a resource" in refused(module.replace("/aws", "/aws//modules/serverless"))
