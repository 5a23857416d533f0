"""Files of other clients and shapes are refused: what they lack must not be taken for a Java client's default."""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck.checker.cluster.property_files import PropertiesError, file_section, read_properties, without_prefix
from isrcheck.checker.cluster.releases import Role

OWN = "in a .properties file of a Java producer (--producer FILE)"
OF_LIBRDKAFKA = "enable.idempotence=false and max.in.flight.requests.per.connection=1000000"
SCALA = (
    f"librdkafka, or of the old Scala producer, which isrcheck does not read yet; give {{}} and what else counts {OWN}"
)
FRAMEWORK = "a client in a file of Kafka Connect, Kafka Streams or another framework, which isrcheck does not read yet"


def refusal(text: str, name: str = "f", role: Role | None = None) -> str:
    Path(name).write_text(text, encoding="utf-8")
    with pytest.raises(PropertiesError) as refused:
        file_section(role, Path(name))
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "bootstrap.servers=a:9092\nrequest.required.acks=1\n",
            f"f:2: request.required.acks=1 is a setting of {SCALA.format('acks=1')}: its defaults differ (those of"
            f" librdkafka are {OF_LIBRDKAFKA})",
        ),
        (
            "message.send.max.retries=3\n",
            f"f:1: message.send.max.retries=3 is a setting of {SCALA.format('retries=3')}: its defaults differ (those"
            f" of librdkafka are {OF_LIBRDKAFKA})",
        ),
        (
            "acks=all\nstatistics.interval.ms=60000\n",
            "f:2: statistics.interval.ms=60000 is a setting of librdkafka, which isrcheck does not read yet; give"
            f" acks=... and what else counts {OWN}: its defaults differ ({OF_LIBRDKAFKA})",
        ),
        (
            "max.in.flight=1000000\n",
            "f:1: max.in.flight=1000000 is a setting of librdkafka, which isrcheck does not read yet; give"
            f" max.in.flight.requests.per.connection=1000000 and what else counts {OWN}: its defaults differ"
            f" ({OF_LIBRDKAFKA})",
        ),
        (
            "acks=all\nsasl.password=hunter2\n",
            "f:2: sasl.password=[hidden] is a setting of librdkafka, which isrcheck does not read yet; give acks=..."
            f" and what else counts {OWN}: its defaults differ ({OF_LIBRDKAFKA})",
        ),
        (
            "bootstrap.servers=a:9092\nkey.converter=x\nproducer.acks=1\n",
            "f:2: key.converter=x is a setting of Kafka Connect, which isrcheck does not read yet; give acks=1 for"
            f" producer.acks (f:3) and what else counts {OWN}: its defaults differ (acks=all,"
            " enable.idempotence=false and max.in.flight.requests.per.connection=1)",
        ),
        (
            "processing.guarantee=exactly_once_v2\n",
            "f:1: processing.guarantee=exactly_once_v2 is a setting of Kafka Streams, which isrcheck does not read yet;"
            f" give acks=... and what else counts {OWN}: its defaults differ (with"
            " processing.guarantee=exactly_once_v2 a transactional.id and acks=all)",
        ),
        (
            "clusters = A, B\nA->B.enabled = true\n",
            "f:1: clusters=A, B is a setting of MirrorMaker, which isrcheck does not read yet; give acks=... and what"
            f" else counts {OWN}: its defaults differ (those of Kafka Connect)",
        ),
        (
            "producer.acks=1\n",
            f"f:1: producer.acks=1 is a setting of {FRAMEWORK}; give acks=1 and what else counts {OWN}",
        ),
        (
            "producer.override.acks=0\n",
            f"f:1: producer.override.acks=0 is a setting of {FRAMEWORK}; give acks=0 and what else counts {OWN}",
        ),
        ("kafka.acks=1\n", f"f:1: kafka.acks=1 is a setting of {FRAMEWORK}; give acks=1 and what else counts {OWN}"),
        (
            "A.producer.retries=0\n",
            f"f:1: A.producer.retries=0 is a setting of {FRAMEWORK}; give retries=0 and what else counts {OWN}",
        ),
        (
            "server.port=80\nspring.kafka.producer.acks=1\n",
            "f:2: spring.kafka.producer.acks=1 is a setting of Spring, which isrcheck does not read yet; give acks=1"
            f" and what else counts {OWN}",
        ),
        (
            "spring.kafka.producer.properties.enable.idempotence=false\n",
            "f:1: spring.kafka.producer.properties.enable.idempotence=false is a setting of Spring, which isrcheck does"
            f" not read yet; give enable.idempotence=false and what else counts {OWN}",
        ),
        (
            "spring.kafka.bootstrap-servers=a:9092\n",
            "f:1: spring.kafka.bootstrap-servers=a:9092 is a setting of Spring, which isrcheck does not read yet; give"
            f" bootstrap.servers=a:9092 and what else counts {OWN}",
        ),
        (
            "KAFKA_MIN_INSYNC_REPLICAS=2\n",
            "f:1: KAFKA_MIN_INSYNC_REPLICAS is an environment variable of a container, which isrcheck does not read"
            " yet; give its settings with their own names, as in min.insync.replicas=...",
        ),
        (
            "export KAFKA_CFG_UNCLEAN_LEADER_ELECTION_ENABLE=true\n",
            "f:1: KAFKA_CFG_UNCLEAN_LEADER_ELECTION_ENABLE is an environment variable of a container, which isrcheck"
            " does"
            " not read yet; give its settings with their own names, as in unclean.leader.election.enable=...",
        ),
        (
            "KAFKA_NODE_ID=1\nKAFKA_MIN_INSYNC_REPLICAS=2\n",
            "f:2: KAFKA_MIN_INSYNC_REPLICAS is an environment variable of a container, which isrcheck does not read"
            " yet; give its settings with their own names, as in min.insync.replicas=...",
        ),
        (
            "spring.kafka.bootstrap-servers=a:9092\nspring.kafka.producer.acks=1\n",
            "f:2: spring.kafka.producer.acks=1 is a setting of Spring, which isrcheck does not read yet; give acks=1"
            f" and what else counts {OWN}",
        ),
        (
            "KAFKA_HEAP_OPTS=-Xmx1g\n",
            "f:1: KAFKA_HEAP_OPTS is an environment variable of a container, which isrcheck does not read yet; give its"
            " settings with their own names",
        ),
        (
            "ACKS=1\n",
            "f:1: ACKS is an environment variable of a container, which isrcheck does not read yet; give its settings"
            " with their own names, as in acks=...",
        ),
        (
            "acks=1\nenable_idempotence=true\n",
            "f:2: enable_idempotence is spelt as in a client of Python, which isrcheck does not read yet, and which has"
            " other defaults (kafka-python: acks=1, retries=0); write enable.idempotence, and give acks, retries and"
            " enable.idempotence",
        ),
    ],
)
def test_another_dialect_is_refused_by_name(text: str, says: str) -> None:
    assert refusal(text) == says
    assert refusal(text, role=Role.PRODUCER) == says


def test_a_clients_file_without_any_key_of_kafka_is_refused() -> None:
    """Whatever it says would be ignored, and the defaults of a Java client asserted."""
    text = "Producer.RequiredAcks=1\nProducer.Retry.Max=3\n"
    for role in (Role.PRODUCER, Role.CONSUMER):
        assert refusal(text, role=role) == (
            "f:1: Producer.RequiredAcks and all other keys of this file are none of Kafka's Java clients; give what"
            f" counts, such as acks, {OWN}"
        )
    Path("f").write_text(f"{text}acks=1\n")
    assert len(file_section(Role.PRODUCER, Path("f")).properties) == 3
    Path("f").write_text("")
    assert file_section(Role.PRODUCER, Path("f")).properties == ()


@pytest.mark.parametrize(
    ("name", "text", "shape"),
    [
        ("f", '{"acks": "1"}', "JSON"),
        ("f", ' \n[{"name": "acks"}]', "JSON"),
        ("f.yaml", "acks: 1\n", "YAML"),
        ("f.YML", "acks: 1\n", "YAML"),
        ("f", "spring:\n  kafka:\n    producer:\n      acks: 1\n", "YAML"),
        ("f", "# of a pod\nenvironment:\n- KAFKA_MIN_INSYNC_REPLICAS=2\n", "YAML"),
        ("f", "---\nacks: 1\n", "YAML"),
        ("f", "<configuration>\n", "XML"),
        ("f", "[producer]\nacks=1\n", "a file with sections (INI or TOML)"),
        ("f", "akka.kafka.producer {\n  kafka-clients {\n    acks = 1\n  }\n}\n", "a file with nested braces (HOCON)"),
    ],
)
def test_another_shape_of_file_is_refused_by_name(name: str, text: str, shape: str) -> None:
    assert refusal(text, name, Role.PRODUCER) == (
        f"{name}: is {shape}, which isrcheck does not read yet; give its settings as KEY=VALUE lines of a .properties"
        " file, with the names of Kafka's brokers, topics and Java clients"
    )


@pytest.mark.parametrize(
    "text",
    [
        "acks: all\nmin.insync.replicas: 2\n",  # a colon is a separator of property files
        "listeners:\nbroker.id: 1\n",
        "  acks=all\n    retries=3\n",
        "broker.id=1\nproducer.purgatory.purge.interval.requests=1\nproducer.id.expiration.ms=5\nconsumer.id=x\n",
        "broker.id=1\nconfluent.metrics.producer.acks=1\n",  # a plugin of a broker has clients of its own
        "acks=all\nmy.interceptor.producer.name=x\n",
        "listener.name.internal.sasl.jaas.config=x {\\\n}\n",
        "",
    ],
)
def test_property_files_of_kafka_are_read(text: str) -> None:
    Path("f").write_text(text, encoding="utf-8")
    assert file_section(None, Path("f")).properties == tuple(read_properties(Path("f")))


def test_the_setting_of_a_client_in_a_longer_key() -> None:
    assert without_prefix("producer.override.enable.idempotence") == "enable.idempotence"
    assert without_prefix("spring.kafka.producer.bootstrap-servers") == "bootstrap.servers"
    assert without_prefix("confluent.license.topic.replication.factor") == ""
    assert without_prefix("producer.id.expiration.ms") == ""
