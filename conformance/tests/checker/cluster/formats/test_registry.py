"""Each file is read by the format that recognises it; any other file is refused by what it is."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.tests.checker.cluster.formats.files import described, refused, settings, topics
from isrcheck.checker.cluster.formats.registry import read_clusters, read_files
from isrcheck.checker.cluster.property_files import PropertiesError
from isrcheck.checker.cluster.releases import Role

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: kafka
data:
  server.properties: |
    node.id=1
    broker.rack=az1

    min.insync.replicas=2
  log4j.properties: |
    log4j.rootLogger=INFO
  start.sh: |
    exec kafka
"""
CONFLUENT_OPERATOR = """\
apiVersion: platform.confluent.io/v1beta1
kind: Kafka
metadata: {name: kafka}
spec:
  replicas: 3
  image: {application: 'confluentinc/cp-server:7.6.0'}
  dependencies: {kRaftController: {clusterRef: {name: kraft}}}
  configOverrides:
    server:
    - min.insync.replicas=2
---
apiVersion: platform.confluent.io/v1beta1
kind: KafkaTopic
metadata: {name: orders}
spec: {replicas: 3, partitionCount: 4, configs: {min.insync.replicas: "2"}}
"""


def test_a_property_file_in_a_config_map() -> None:
    found = described(CONFIG_MAP)
    assert settings(found) == {
        "server.properties in the ConfigMap kafka": {
            "node.id": "1 (7)",
            "broker.rack": "az1 (8)",
            "min.insync.replicas": "2 (10)",
        }
    }
    assert found.racks == {1: "az1"}
    assert found.remarks == (
        "f1:6: entries of the ConfigMap kafka without known settings of Kafka are left out: log4j.properties, start.sh",
    )


APPLICATION = """\
spring:
  kafka:
    producer:
      acks: 1
---
spring:
  kafka:
    consumer:
      isolation-level: read_committed
"""
CLIENTS = '{"app": {"producer": {"bootstrap.servers": "k:9092", "acks": 1}}}'


def test_yaml_and_json_of_clients_in_a_config_map() -> None:
    indented = "".join(f"    {line}\n" for line in APPLICATION.splitlines())
    found = described(f"{CONFIG_MAP}  application.yml: |\n{indented}  app.json: '{CLIENTS}'\n  bad.yaml: '{{'\n")
    lines = [line for section in found.sections for line in section.properties]
    assert [(line.key, line.value, line.place) for line in lines if line.key in ("acks", "isolation.level")] == [
        ("acks", "1", "f1:19"),
        ("isolation.level", "read_committed", "f1:24"),
        *[("acks", "1", "f1:25")] * 2,  # of the Java client and of librdkafka
    ]
    assert found.remarks[0].endswith("are left out: log4j.properties, start.sh, bad.yaml")
    quoted = APPLICATION.replace("\n", "\\n")
    alone = described(f'kind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  application.yaml: "{quoted}"\n')
    assert {section.member for section in alone.sections} == {"application.yaml in the ConfigMap a"}
    assert alone.sections[0].properties[0].place == "f1:4"


def test_a_config_map_without_settings_of_kafka_is_refused_with_the_names_of_its_entries() -> None:
    assert refused("kind: ConfigMap\ndata:\n  notes.txt: hello\n") == (
        f"f1: has a ConfigMap with notes.txt, in which isrcheck knows no description of Kafka; give {EXTRACT}, or a"
        " file that docs/your_cluster.md lists"
    )


def test_resources_of_the_operator_of_confluent() -> None:
    found = described(CONFLUENT_OPERATOR)
    assert settings(found) == {
        "the Kafka resource kafka": {"min.insync.replicas": "2 (10)", "process.roles": "broker (5)"}
    }
    assert topics(found) == {"orders": {"min.insync.replicas": "2 (15)", "replication.factor": "3 (15)"}}
    assert found.remarks == (
        "f1:5: the settings that Confluent for Kubernetes adds to the Kafka resource kafka are not known; give the"
        " output of kafka-configs --describe --all",
    )


def test_a_topic_of_another_cluster_of_the_operator_of_confluent_is_refused() -> None:
    text = CONFLUENT_OPERATOR.replace("partitionCount", "kafkaClusterRef: {name: NAME}, partitionCount")
    assert [*topics(described(text.replace("NAME", "kafka")))] == ["orders"]
    assert refused(text.replace("NAME", "b")).startswith("f1:15: the cluster b is another than kafka in f1:1, and")


def test_the_operator_of_confluent_says_whether_the_cluster_has_zookeeper() -> None:
    has_kraft = "{kRaftController: {clusterRef: {name: kraft}}}"
    found = described(CONFLUENT_OPERATOR.replace(has_kraft, "{zookeeper: {endpoint: 'zk:2181'}}"))
    assert settings(found)["the Kafka resource kafka"]["zookeeper.connect"] == "zk:2181 (7)"


@pytest.mark.parametrize("key", ["log_level", "compression-level", "plugin-path"])
def test_a_key_that_any_application_may_have_shows_no_client(key: str) -> None:
    assert "in which isrcheck knows no description of Kafka" in refused(f"app:\n  {key}: 1\n")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("f{}.yml", "min.insync.replicas: 2\nacks: all\n"),
        ("f{}", '{"min.insync.replicas": "2",\n "acks": "all"}'),
    ],
)
def test_settings_with_kafkas_names_as_yaml_or_json(name: str, text: str) -> None:
    found = described(text, name=name)
    assert settings(found) == {name.format(1): {"min.insync.replicas": "2 (1)", "acks": "all (2)"}}


def test_a_key_that_kafka_does_not_know_needs_a_role() -> None:
    text = '{"min.insync.replicas": 2, "a.plugins.key": "x"}'
    assert "in which isrcheck knows no description of Kafka" in refused(text)
    assert [*settings(described(text, role=Role.BROKER))["f1"]] == ["min.insync.replicas", "a.plugins.key"]


def test_racks_of_property_files_are_known() -> None:
    assert described("broker.id=4\nbroker.rack=az1\n", "node.id=5\nbroker.rack=az2\n", "node.id=6\n").racks == {
        4: "az1",
        5: "az2",
    }


SERVICE = "apiVersion: v1\nkind: Service\nspec:\n  ports: []\n"
EXTRACT = "kafka-topics --describe, and kafka-configs --describe --all --entity-type brokers"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{SERVICE}---\n{SERVICE}---\nkind: Secret\n",
            "has resources of Kubernetes (Service, Secret), in which isrcheck knows no description of Kafka; give the"
            " output of kubectl get kafka,kafkanodepool,kafkatopic,statefulset,configmap -o yaml, or a file that"
            " docs/your_cluster.md lists",
        ),
        (
            "a:\n  b: 1\n",
            f"is YAML or JSON (a), in which isrcheck knows no description of Kafka; give {EXTRACT}, or a file that"
            " docs/your_cluster.md lists",
        ),
        (
            "[1, 2]",
            f"is YAML or JSON (a list), in which isrcheck knows no description of Kafka; give {EXTRACT}, or a file that"
            " docs/your_cluster.md lists",
        ),
        (
            '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}',
            "is an assignment for kafka-reassign-partitions; give kafka-topics --describe",
        ),
        (
            '{"AWSTemplateFormatVersion": "2010-09-09", "Resources": {}}',
            "is a template of CloudFormation; give aws kafka describe-configuration-revision",
        ),
    ],
    ids=["kubernetes", "yaml", "list", "assignment", "cloudformation"],
)
def test_documents_without_a_known_format_are_refused_by_what_they_are(text: str, message: str) -> None:
    assert refused(text) == f"f1: {message}"


def test_documents_that_are_left_out_are_named() -> None:
    found = described(CONFIG_MAP + "---\nkind: Service\n---\nkind: Secret\n---\nx: 1\n")
    assert found.remarks[1:] == (
        "f1: documents without a known format are left out: Service (line 16), Secret (line 18), a document (line 20)",
    )


def test_a_file_that_gives_nothing_is_told() -> None:
    found = described("image:\n  repository: bitnami/kafka\n")
    assert found.remarks == ("f1: nothing in it counts for the answer",)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("<configuration>\n", "XML"),
        ("[producer]\nacks=1\n", "a file with sections (INI or TOML)"),
        ("akka.kafka.producer {\n  kafka-clients {\n    acks = 1\n  }\n}\n", "a file with nested braces (HOCON)"),
    ],
)
def test_another_shape_of_file_is_refused_by_name(text: str, shape: str) -> None:
    assert refused(text, role=Role.PRODUCER) == (
        f"f1: is {shape}, which isrcheck does not read; give its settings as KEY=VALUE lines of a .properties file,"
        " with the names of Kafka's brokers, topics and Java clients"
    )


CODE = (
    "code; give the settings of its clients, such as acks, as KEY=VALUE lines of a .properties file (--producer FILE)"
)
LOG = f"a log; give {EXTRACT}, or read its history with `conform metadata`"
RPK = "a table of rpk; give the output of rpk topic describe TOPIC... --format json"
STATE = "give the .tf files with the values in them, or the output of terraform show -no-color"
NAMES = "a list of names, such as the output of kafka-topics --list; give the output of kafka-topics --describe"
ERROR = (
    "an error message of a command, not its output; correct the command (Kafka's tools need --bootstrap-server, and"
    " often --command-config), run it again, and give what it prints"
)
STRANGE = {
    "[2026-11-29 08:00:00,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n": LOG,
    "2026-11-29T08:00:00.000Z INFO started\n": LOG,
    "Error while executing topic command : Timed out waiting for a node assignment. Call: describeTopics\n"
    "[2026-11-29 08:00:00,000] ERROR org.apache.kafka.common.errors.TimeoutException: Timed out\n": ERROR,
    "[2026-11-29 08:00:00,000] WARN [AdminClient clientId=adminclient-1] Connection to node -1 failed\n": ERROR,
    "bash: kafka-topics: command not found\n": ERROR,
    "__consumer_offsets\norders\naudit.v1\n": NAMES,
    "NAME    PARTITIONS  REPLICAS\norders  3           3\n": RPK,
    "SUMMARY\n=======\nNAME        orders\n\nCONFIGS\n=======\nmin.insync.replicas 1 DEFAULT\n": RPK,
    "GROUP  TOPIC  PARTITION  CURRENT-OFFSET\ng orders 0 5\n": (
        f"the output of kafka-consumer-groups, which shows no replicas; give {EXTRACT}"
    ),
    "package app;\n\nimport org.apache.kafka.clients.producer.*;\n": CODE,
    'props.put(ProducerConfig.ACKS_CONFIG, "1");\nprops.put("sasl.password","hunter2");\n': CODE,
    'package main\nfunc main(){ c := kafka.ConfigMap{"acks":"1","sasl.password":"hunter2"} }\n': CODE,
    'from kafka import KafkaProducer\np = KafkaProducer(acks=1, sasl_plain_password="hunter2")\n': CODE,
    "import os\ntry:\n  import kafka\nexcept ImportError:\n  pass\n": CODE,
    "// a\nconst { Kafka } = require('kafkajs')\n": CODE,
    'rd_kafka_conf_set(conf, "acks", "1", errstr, sizeof(errstr));\n': CODE,
    '  # kafka_topic.logs will be created\n  + resource "kafka_topic" "logs" {\n      + partitions = 1\n    }\n': (
        f"the output of terraform plan; {STATE}"
    ),
    '{"resource": {"kafka_topic": {"x": {"replication_factor": 3}}}}': f"Terraform in JSON; {STATE}",
    "[kafka_broker]\nk1 broker_id=1\n[kafka_broker:vars]\nkafka_min_insync_replicas=1\n": (
        "an inventory of Ansible in INI; give the output of ansible-inventory -i FILE --list -y"
    ),
}
"""Texts that isrcheck does not read, and what is said of each."""


@pytest.mark.parametrize(("text", "says"), STRANGE.items())
@pytest.mark.parametrize("role", [None, Role.BROKER, Role.PRODUCER])
def test_a_strange_text_is_refused_by_what_it_is_whatever_its_role(text: str, says: str, role: Role | None) -> None:
    assert refused(text, role=role) == f"f1: is {says}"


def test_variables_of_terraform_are_refused_by_name() -> None:
    says = f"f1.tfvars: is a file of variables of Terraform; {STATE}"
    assert refused("min_isr = 2\nreplication_factor = 3\n", name="f{}.tfvars") == says


def test_an_empty_file_needs_a_role() -> None:
    instead = (
        f"give {EXTRACT}, or say whose settings all have their defaults (--broker FILE, --topic FILE, --producer FILE)"
    )
    assert refused("\n") == f"f1: is empty; {instead}"
    assert refused("# a\n  ! b\n") == f"f1: is empty: it has only comments; {instead}"
    assert settings(described("# a\n", role=Role.BROKER)) == {"f1": {}}


@pytest.mark.parametrize(
    "text",
    [
        "retriable.exceptions=org.apache.kafka.common.errors.TimeoutException\nacks=1\n",
        'sasl.jaas.config=\\\n  org.apache.kafka.common.security.plain.PlainLoginModule required \\\n  user="a";\n'
        "acks=1\n",
        "query=SELECT now();\nacks=1\n",
        "acks\n",
        "import.path=x\nclass=y\nacks=1\n",
    ],
)
def test_a_property_file_is_no_strange_text(text: str) -> None:
    assert settings(described(text))["f1"]["acks"]


@pytest.mark.parametrize("line", ["{% if key %}", "  {{ settings }}"])
def test_a_template_of_a_property_file_is_refused(line: str) -> None:
    assert refused(f"acks=all\n{line}\nx=1\n") == f"f1: is a template ('{line.strip()}'); give what it renders"


def test_a_gigabyte_of_yaml_is_refused_without_being_read() -> None:
    """The rest of the file is a hole, which would be refused as no text if it were read."""
    with Path("f1").open("wb") as file:
        file.write(b"a:\n" + b"- 1\n" * 2**14)
        file.truncate(2**30)
    with pytest.raises(PropertiesError, match=r"^f1: is YAML, JSON or HCL of more than 64 MiB; give a part of it$"):
        read_files([(None, Path("f1"))])


TOO_LONG = (
    "longer than any property file of Kafka, and in no other format that isrcheck knows; give a file that"
    " docs/your_cluster.md lists"
)


LONGER = "values, which no description of Kafka has; give a file that docs/your_cluster.md lists"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "repeated", "count", "says"),
    [
        ("one_line", "a b ", 2**19 + 1, f"one_line: is a text of more than 2 MiB, {TOO_LONG}"),
        ("lines", "a b c\n", 2**19, f"lines: is a text of more than 2 MiB, {TOO_LONG}"),
        ("keys", "broker.id=1\n", 10_001, f"keys:10001: is a file of more than 10,000 settings, {TOO_LONG}"),
        ("numbers.yml", "- 1\n", 100_001, f"numbers.yml:100001: a list of more than 100,000 {LONGER}"),
        ("keys.yml", "k: 1\n", 100_001, f"keys.yml:100001: a mapping of more than 100,000 {LONGER}"),
    ],
)
def test_a_text_longer_than_any_real_file_is_refused_before_it_is_read(
    name: str, repeated: str, count: int, says: str
) -> None:
    """A text of a few MB would otherwise take gigabytes or minutes before it is refused."""
    assert refused(repeated * count, name=name) == says


def test_standard_input_has_any_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONFIG_MAP.encode())))
    assert read_files([(None, Path("-"))]).racks == {1: "az1"}
    with pytest.raises(PropertiesError, match=r"standard input can be read only once"):
        read_files([(None, Path("-"))], ["-"])


def test_a_text_on_standard_input_without_a_known_format_must_be_output_of_a_tool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"min.insync.replicas=2\n")))
    with pytest.raises(
        PropertiesError, match=r"standard input:1: 'min.insync.replicas=2' is not a line of kafka-topics"
    ):
        read_files([(None, Path("-"))])


SECRET = "hunter2"
HOSTILE = (
    f'mp:\n  messaging:\n    outgoing:\n      a:\n        acks: ["{SECRET}"]\n',
    f"kafka:\n  producers:\n    a: {{acks: 2, sasl.jaas.config: {SECRET}}}\n",
    "kafka:\n  producers:\n    a: {acks: '${ACKS}'}\n",
    "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnect\nspec: {config: {producer.acks: '{{ acks }}'}}\n",
    "apiVersion: kafka.strimzi.io/v1\nkind: KafkaMirrorMaker2\nspec:\n  mirrors:\n"
    "  - sourceConnector: {config: {producer.override.acks: {a: 1}}}\n",
    "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnect\nspec: " + "[" * 200,
    "spring.cloud.stream.binders: &a\n  x: &b {environment: " + "{y: " * 120 + "1" + "}" * 120 + "}\n",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_files_of_applications_are_refused_in_one_line_without_their_secrets(text: str) -> None:
    Path("application.yml").write_text(text)
    with pytest.raises(PropertiesError) as refusal:
        read_clusters([(None, Path("application.yml"))], "4.1")
    message = str(refusal.value)
    assert "\n" not in message
    assert message.startswith("application.yml:")
    assert not message.startswith("application.yml: is YAML or JSON (")


@pytest.mark.sampled
def test_the_output_of_kafkas_tools_needs_no_other_format() -> None:
    Path("topics.txt").write_text("Topic: a PartitionCount: 1 ReplicationFactor: 1 Configs:\n")
    script = """
import sys
from pathlib import Path
from isrcheck.checker.cluster.formats.registry import read_clusters
read_clusters([(None, Path("topics.txt"))], "4.1")
print(*sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("isrcheck.checker.cluster.formats.")))
print(*{"yaml", "hcl2", "lark", "isrcheck.checker.cluster.dialects"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["describe format registry shape tree", ""]


def test_a_property_file_of_an_application_in_a_config_map() -> None:
    text = CONFIG_MAP.replace("server.", "application.").replace("node.id=1", "spring.kafka.producer.acks=1")
    (section,) = described(
        text.replace("    broker.rack=az1\n", "").replace("    min.insync.replicas=2\n", "")
    ).sections
    assert [(line.key, line.value, line.line) for line in section.properties] == [("acks", "1", 7)]
    assert section.member == "application.properties in the ConfigMap kafka"
