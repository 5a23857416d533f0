"""The files of client libraries and frameworks: how each is recognised, its defaults, its aliases, and what it refuses.

Each expectation follows from the sources that libraries.py, frameworks.py and spring.py of checker/cluster name. The
last tests are of files with several clients, of which the weakest counts, and of files that no known library can have.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck.checker.cluster.client_files import without_prefix
from isrcheck.checker.cluster.cluster import Cluster, Reading
from isrcheck.checker.cluster.dialects import client_sections, text_sections
from isrcheck.checker.cluster.formats.registry import read_clusters
from isrcheck.checker.cluster.libraries import ClientLibrary
from isrcheck.checker.cluster.property_files import PropertiesError, Property, properties_of
from isrcheck.checker.cluster.releases import Role, version_of_binaries


def reading(text: str, name: str = "f", version: str = "3.9", role: Role | None = None) -> Reading:
    Path(name).write_text(text, encoding="utf-8")
    return read_clusters([(role, Path(name))], version)


def cluster(text: str, name: str = "f", version: str = "3.9", role: Role | None = None) -> Cluster:
    (only,) = reading(text, name, version, role).clusters
    return only


def refusal(text: str, name: str = "f", version: str = "3.9", role: Role | None = None) -> str:
    with pytest.raises(PropertiesError) as refused:
        reading(text, name, version, role)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def in_effect(read: Cluster) -> str:
    """The settings of the producer, each as its value and where it comes from."""
    producer = read.producer
    settings = (producer.acks, producer.retries, producer.in_flight, producer.is_idempotent)
    return " | ".join(f"{setting.text} {setting.source}" for setting in settings)


def assumed(read: Cluster) -> str:
    """What is assumed about the producers."""
    (line,) = (line for line in read.assumed if line.startswith("producers "))
    return line


MANY = "2147483647"

# --- The defaults and rules of each library ---------------------------------------------------------------------------

LIBRARIES = """
librdkafka: bootstrap.servers=a:9092 statistics.interval.ms=60000
    all DEFAULT | MANY DEFAULT | 1000000 DEFAULT | false DEFAULT
librdkafka: request.required.acks=-1 message.send.max.retries=3 max.in.flight=7 metadata.broker.list=a
    -1 f:1 | 3 f:2 | 7 f:3 | false DEFAULT
librdkafka: topic.request.required.acks=1 batch.num.messages=5
    1 f:1 | MANY DEFAULT | 1000000 DEFAULT | false DEFAULT
librdkafka: sasl.mechanisms=PLAIN enable.idempotence=1
    all DEFAULT | MANY DEFAULT | 5 becomes 5 because of enable.idempotence=1 in f:2 | true f:2
librdkafka: sasl.username=u transactional.id=t
    all DEFAULT | MANY DEFAULT | 5 becomes 5 because of transactional.id=t in f:2 |
    true becomes true because of transactional.id=t in f:2
the old Scala producer: serializer.class=x metadata.broker.list=a
    0 DEFAULT | 3 DEFAULT | 1 DEFAULT | false DEFAULT
the old Scala producer: producer.type=async request.required.acks=1 message.send.max.retries=9
    1 f:2 | 9 f:3 | 1 DEFAULT | false DEFAULT
Sarama: Producer.Retry.Max=5
    1 DEFAULT | 5 f:1 | 5 DEFAULT | false DEFAULT
Sarama: Producer.RequiredAcks=sarama.WaitForAll Producer.Idempotent=true Net.MaxOpenRequests=1
    all f:1 | 3 DEFAULT | 1 f:3 | true f:2
Sarama: kafka.producer.required_acks=NoResponse
    0 f:1 | 3 DEFAULT | 5 DEFAULT | false DEFAULT
kafka-python: bootstrap_servers=a batch_size=16384
    all DEFAULT | MANY DEFAULT | 5 DEFAULT | true DEFAULT
kafka-python: bootstrap_servers=a retries=0
    all DEFAULT | 0 f:2 | 5 DEFAULT | false disabled because of retries=0 in f:2
kafka-python: acks=all max_in_flight_requests_per_connection=10 enable_idempotence=None
    all f:1 | MANY DEFAULT | 10 f:2 | false disabled because of max_in_flight_requests_per_connection=10 in f:2
aiokafka: bootstrap_servers=a max_batch_size=16384
    1 DEFAULT | MANY DEFAULT | 1 DEFAULT | false DEFAULT
aiokafka: max_batch_size=16384 enable_idempotence=True
    all becomes all because of enable_idempotence=True in f:2 | MANY DEFAULT | 1 DEFAULT | True f:2
aiokafka: max_batch_size=16384 enable_idempotence=False transactional_id=t
    all becomes all because of transactional_id=t in f:3 | MANY DEFAULT | 1 DEFAULT |
    true becomes true because of transactional_id=t in f:3
Kafka Connect: key.converter=x bootstrap.servers=a
    all DEFAULT | MANY DEFAULT | 1 DEFAULT | false DEFAULT
Kafka Connect: key.converter=x producer.acks=1 producer.override.acks=0 producer.retries=4
    0 f:3 | 4 f:4 | 1 DEFAULT | false DEFAULT
Kafka Connect: connector.class=x producer.override.enable.idempotence=true
    all DEFAULT | MANY DEFAULT | 1 DEFAULT | true f:2
Kafka Connect: key.converter=x exactly.once.source.support=enabled
    all DEFAULT | MANY DEFAULT | 1 DEFAULT | true f:2
Kafka Streams: application.id=x acks=all producer.acks=1
    1 f:3 | MANY DEFAULT | 5 Kafka 3.9's default | false disabled because of producer.acks=1 in f:3
Kafka Streams: application.id=x processing.guarantee=exactly_once_v2 producer.enable.idempotence=false
    all Kafka 3.9's default | MANY DEFAULT | 5 Kafka 3.9's default | true f:2
Spring Cloud Stream: spring.cloud.stream.kafka.binder.brokers=a
    1 DEFAULT | 0 DEFAULT | 5 Kafka 3.9's default | false disabled because of retries=0 (DEFAULT)
Spring Cloud Stream: spring.cloud.stream.kafka.binder.requiredAcks=all
    all f:1 | 0 DEFAULT | 5 Kafka 3.9's default | false disabled because of retries=0 (DEFAULT)
"""


def table(text: str) -> list[tuple[str, str]]:
    """The rows of a table: the settings of a file, and what is said about it in the indented lines below."""
    rows: list[tuple[str, str]] = []
    for line in text.strip().splitlines():
        if line.startswith(" "):
            rows[-1] = rows[-1][0], f"{rows[-1][1]} {line.strip()}".strip()
        else:
            rows.append((line, ""))
    return rows


@pytest.mark.parametrize(("row", "says"), table(LIBRARIES))
def test_each_library_has_its_own_names_defaults_and_rules(row: str, says: str) -> None:
    library, _, settings = row.partition(": ")
    read = cluster(settings.replace(" ", "\n"))
    assert in_effect(read) == says.replace("MANY", MANY).replace("DEFAULT", f"{library}'s default")
    assert read.producer.library is ClientLibrary(library)


REFUSED = """
metadata.broker.list=a enable.idempotence=true acks=1
    f:3: acks=1: a producer of librdkafka refuses to start with it, because enable.idempotence=true (f:2) needs
    acks=all; write acks=all, or write enable.idempotence=false
statistics.interval.ms=1 transactional.id=t max.in.flight=6
    f:3: max.in.flight=6: a producer of librdkafka refuses to start with it, because transactional.id=t (f:2), which
    enables idempotence, needs max.in.flight.requests.per.connection of at most 5; write
    max.in.flight.requests.per.connection=5, or leave transactional.id out
statistics.interval.ms=1 transactional.id=t enable.idempotence=false
    f:3: enable.idempotence=false: a producer of librdkafka refuses to start with it, because transactional.id=t (f:2)
    needs enable.idempotence=true; write enable.idempotence=true, or leave transactional.id out
Producer.Idempotent=true Net.MaxOpenRequests=1
    f:1: Producer.RequiredAcks=1, Sarama's default: a producer of Sarama refuses to start with it, because
    Producer.Idempotent=true (f:1) needs Producer.RequiredAcks=WaitForAll; write Producer.RequiredAcks=WaitForAll, or
    write Producer.Idempotent=false
Producer.Idempotent=true Producer.RequiredAcks=WaitForAll
    f:1: Net.MaxOpenRequests=5, Sarama's default: a producer of Sarama refuses to start with it, because
    Producer.Idempotent=true (f:1) needs Net.MaxOpenRequests=1; write Net.MaxOpenRequests=1, or write
    Producer.Idempotent=false
Producer.Transaction.ID=t Producer.RequiredAcks=-1
    f:1: Producer.Transaction.ID=t: a producer of Sarama refuses to start with it, because Producer.Transaction.ID=t
    (f:1) needs Producer.Idempotent=true; write Producer.Idempotent=true, or leave Producer.Transaction.ID out
batch_size=1 enable_idempotence=True acks=1
    f:3: acks=1: a producer of kafka-python refuses to start with it, because enable_idempotence=True (f:2) needs
    acks=all; write acks=all, or write enable_idempotence=false
key.converter=x producer.transactional.id=t
    f:2: producer.transactional.id=t: a producer of Kafka Connect refuses to start with it, because
    producer.transactional.id=t (f:2) needs enable.idempotence=true; write producer.enable.idempotence=true, or leave
    producer.transactional.id out
key.converter=x exactly.once.source.support=enabled producer.acks=1
    f:3: producer.acks=1: a producer of Kafka Connect refuses to start with it, because
    exactly.once.source.support=enabled (f:2) needs acks=all; write producer.acks=all, or write
    exactly.once.source.support=disabled
connector.class=x producer.override.enable.idempotence=true producer.override.max.in.flight.requests.per.connection=6
    f:3: producer.override.max.in.flight.requests.per.connection=6: a producer of Kafka Connect refuses to start with
    it, because producer.override.enable.idempotence=true (f:2) needs max.in.flight.requests.per.connection of at most
    5; write producer.override.max.in.flight.requests.per.connection=5, or write
    producer.override.enable.idempotence=false
application.id=x processing.guarantee=exactly_once_v2 producer.acks=1
    f:3: producer.acks=1: a producer of Kafka Streams refuses to start with it, because
    processing.guarantee=exactly_once_v2 (f:2) needs acks=all; write producer.acks=all, or leave
    processing.guarantee=exactly_once_v2 out
spring.cloud.stream.kafka.binder.requiredAcks=all spring.cloud.stream.kafka.binder.configuration.enable.idempotence=true
    f:2: retries=0, Spring Cloud Stream's default: a producer of Spring Cloud Stream refuses to start with it, because
    spring.cloud.stream.kafka.binder.configuration.enable.idempotence=true (f:2) needs retries above 0; write
    retries=2147483647, or write spring.cloud.stream.kafka.binder.configuration.enable.idempotence=false
statistics.interval.ms=1 request.required.acks=2
    f:2: request.required.acks: '2' is not a value of acks; write all (or -1), 1 or 0
"""


@pytest.mark.parametrize(("settings", "says"), table(REFUSED))
def test_what_a_library_refuses(settings: str, says: str) -> None:
    assert refusal(settings.replace(" ", "\n")) == says


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "statistics.interval.ms=1",
            "producers are those of librdkafka (f:1: statistics.interval.ms), by default with acks=all,"
            f" retries={MANY}, max.in.flight.requests.per.connection=1000000, enable.idempotence=false (older versions:"
            " acks=1 before 1.0, retries=2 before 1.5.2) (--producer FILE); resends are numbered as by the Java client",
        ),
        (
            "statistics.interval.ms=1\nacks=all\nenable.idempotence=true",
            "producers are those of librdkafka (f:1: statistics.interval.ms); resends are numbered as by the Java"
            " client",
        ),
        (
            "batch_size=1",
            "producers are those of kafka-python (f:1: batch_size), by default with acks=all, enable.idempotence=true"
            " (older versions: acks=1 before 3.0, enable_idempotence=false before 3.0) (--producer FILE); resends are"
            " numbered as by the Java client",
        ),
        (
            "key.converter=x",
            "producers are those of Kafka Connect (f:1: key.converter), Java clients of Kafka 3.9, by default with"
            f" acks=all, retries={MANY}, max.in.flight.requests.per.connection=1, enable.idempotence=false"
            " (--producer FILE)",
        ),
        (
            "spring.kafka.bootstrap-servers=a:9092",
            "producers are Java clients of Kafka 3.9, by default with acks=all, enable.idempotence=true"
            " (--producer FILE)",
        ),
    ],
)
def test_the_library_and_its_defaults_are_told(text: str, says: str) -> None:
    assert assumed(cluster(text)) == says


def test_a_setting_with_another_name_is_shown_as_its_file_has_it() -> None:
    read = cluster(
        "request.required.acks=-1\nsasl.mechanisms=PLAIN\nsasl.username=u\nsasl.password=hunter2\nbatch.num.messages=5\n"
    )
    (acks,) = (setting for setting in read.understood if setting.key == "acks")
    assert acks.meaning == "a record is acknowledged once the whole ISR has it (request.required.acks=-1)"
    assert [(one.key, one.value, one.reason) for one in read.ignored] == [
        ("sasl.mechanisms", "PLAIN", "is a setting of librdkafka without bearing on replication"),
        ("sasl.username", "u", "is a setting of librdkafka without bearing on replication"),
        ("sasl.password", "[hidden]", "is a setting of librdkafka without bearing on replication"),
        ("batch.num.messages", "5", "has no bearing on replication"),
    ]


def test_a_misspelt_setting_of_another_library_is_told_apart() -> None:
    *_, one = cluster("statistics.interval.ms=1\nenable.idempotance=true").ignored
    assert (one.key, one.meant) == ("enable.idempotance", "enable.idempotence")


@pytest.mark.parametrize(
    ("text", "level", "reset"),
    [
        ("group.id=g\nstatistics.interval.ms=1", "read_committed", "latest"),
        ("group.id=g\nstatistics.interval.ms=1\nauto.offset.reset=beginning", "read_committed", "earliest"),
        ("Consumer.IsolationLevel=ReadCommitted\nConsumer.Offsets.Initial=OffsetOldest", "read_committed", "earliest"),
        ("Consumer.IsolationLevel=0", "read_uncommitted", "latest"),
        ("group_id=g\nauto_offset_reset=earliest", "read_uncommitted", "earliest"),
        ("key.converter=x\nconsumer.max.poll.records=5", "read_uncommitted", "earliest"),
        ("application.id=x", "read_uncommitted", "earliest"),
        ("application.id=x\nprocessing.guarantee=exactly_once", "read_committed", "earliest"),
        ("application.id=x\nconsumer.auto.offset.reset=none\nmain.consumer.auto.offset.reset=latest",
         "read_uncommitted", "latest"),
        ("spring.kafka.consumer.isolation-level=READ_COMMITTED\nspring.kafka.consumer.autoOffsetReset=earliest",
         "read_committed", "earliest"),
    ],
)  # fmt: skip
def test_consumers_have_their_librarys_defaults(text: str, level: str, reset: str) -> None:
    consumer = cluster(text).consumer
    assert (consumer.isolation_level.value, consumer.offset_reset.value) == (level, reset)


def test_streams_had_its_own_retries_before_2_1() -> None:
    assert cluster("application.id=x", version="2.0").producer.retries.value == 10
    assert cluster("application.id=x", version="2.1").producer.retries.value == 2147483647


def test_a_role_on_the_command_line_counts() -> None:
    (section,) = text_sections(Role.CONSUMER, Path("f"), "statistics.interval.ms=1")
    assert section.role is Role.CONSUMER
    (section,) = text_sections(None, Path("f"), "statistics.interval.ms=1")
    assert section.role is Role.PRODUCER


# --- Frameworks: several clients, and topics of their own -------------------------------------------------------------


def test_kafka_connect_names_what_does_not_reach_its_clients_and_its_internal_topics() -> None:
    read = reading(
        "group.id=connect\nkey.converter=x\nacks=0\nproducer.acks=all\n"
        "offset.storage.replication.factor=1\nconfig.storage.replication.factor=3\nstatus.storage.replication.factor=2\n"
    )
    assert read.remarks == (
        "f:3: acks=0 does not reach the clients of Kafka Connect; write producer.acks",
        "f:5: offset.storage.replication.factor=1: one lost broker loses the offsets of source connectors",
        "f:7: status.storage.replication.factor=2: two lost brokers lose the states of connectors",
    )
    assert read.clusters[0].producer.acks.text == "all"


def test_what_a_connector_gives_the_topics_that_it_creates_is_told() -> None:
    read = reading(
        "connector.class=x\nproducer.override.acks=all\ntopic.creation.default.replication.factor=2\n"
        "topic.creation.default.partitions=1\ntopic.creation.logs.min.insync.replicas=1\n"
    )
    assert read.remarks == tuple(
        f"{given} holds for topics that the connector creates, and is not in the answer; for them, give {key} in a file"
        " of its own (--topic)"
        for given, key in (
            ("f:3: topic.creation.default.replication.factor=2", "replication.factor"),
            ("f:5: topic.creation.logs.min.insync.replicas=1", "min.insync.replicas"),
        )
    )


def test_each_setting_of_a_connector_is_read_once() -> None:
    read = cluster("connector.class=x\nproducer.override.acks=1\nproducer.override.linger.ms=5\n")
    assert read.producer.acks.source == "f:2"
    assert [one.key for one in read.ignored] == ["producer.override.linger.ms", "connector.class"]


STREAMS = "application.id=x\nreplication.factor=3\ntopic.min.insync.replicas=2\n"


def test_the_topics_of_kafka_streams_count_if_no_other_topic_is_given() -> None:
    read = reading(STREAMS)
    (only,) = read.clusters
    assert (only.replication_factor.text, only.min_insync_replicas.text) == ("3", "2")
    assert read.remarks == ("f (topics of Kafka Streams): these topics are those that the answer is for",)
    Path("t").write_text("replication.factor=1\nmin.insync.replicas=1\n")
    read = read_clusters([(None, Path("f")), (None, Path("t"))], "3.9")
    assert read.clusters[0].replication_factor.text == "1"
    assert read.remarks == ("f (topics of Kafka Streams): these topics are left out, as other topics are given",)


def test_streams_leaves_the_factor_to_the_brokers() -> None:
    Path("b").write_text("broker.id=1\ndefault.replication.factor=3\n")
    Path("f").write_text("application.id=x\nreplication.factor=-1\n")
    (only,) = read_clusters([(None, Path("f")), (None, Path("b"))], "3.9").clusters
    assert (only.replication_factor.text, only.replication_factor.source) == ("3", "b:2")
    Path("s").write_text("broker.id=1\n")
    asks = " leaves the number of replicas to the brokers; add a broker's file with default.replication.factor, or the"
    asks += " output of kafka-topics --describe"
    (only,) = read_clusters([(None, Path("f")), (None, Path("s"))], "3.9").clusters
    assert only.why_unknown == f"replication.factor=-1 (f:2){asks}"
    mirrored = cluster("A->B.enabled=true\nA->B.replication.factor=-1\n").why_unknown
    assert mirrored == f"A->B.replication.factor=-1 (f:2){asks}"


def test_streams_refuses_a_guarantee_that_4_0_removed_and_one_that_no_release_has() -> None:
    text = "application.id=x\nprocessing.guarantee="
    assert cluster(f"{text}exactly_once\n", version="3.9").producer.has_transactions
    assert cluster(f"{text}exactly_once_v2\n", version="4.0").producer.has_transactions
    for removed in ("exactly_once", "exactly_once_beta"):
        assert refusal(f"{text}{removed}\n", version="4.0") == (
            f"f:2: processing.guarantee={removed}: a producer of Kafka Streams refuses to start with it, because 4.0"
            " removed this value (KAFKA-16331); write processing.guarantee=exactly_once_v2, which Kafka Streams has"
            " since 3.0"
        )
    assert refusal(f"{text}exactly-once\n") == (
        "f:2: processing.guarantee: 'exactly-once' is no guarantee of Kafka Streams; write at_least_once or"
        " exactly_once_v2"
    )


def test_streams_says_which_setting_it_ignores() -> None:
    text = "application.id=x\nprocessing.guarantee=exactly_once_v2\nconsumer.isolation.level=read_uncommitted\n"
    assert reading(text).remarks == (
        "f:3: consumer.isolation.level=read_uncommitted is ignored by Kafka Streams, because of"
        " processing.guarantee=exactly_once_v2",
    )
    assert cluster(text).producer.has_transactions


@pytest.mark.parametrize(("sign", "name"), [("application.id", "Streams"), ("key.converter", "Connect")])
def test_frameworks_do_not_hand_on_settings_of_topics(sign: str, name: str) -> None:
    assert reading(f"{sign}=x\nmin.insync.replicas=2\n").remarks == (
        f"f:2: min.insync.replicas=2 is ignored by Kafka {name}; give it in a file of its own (--topic, --broker)",
    )


MIRROR_MAKER = """\
clusters = A, B
A->B.enabled = true
A->B.producer.acks = 1
B.producer.acks = all
producer.retries = 5
offset-syncs.topic.replication.factor = 1
"""


def test_mirror_maker_has_a_producer_for_each_prefix_and_the_factor_of_mirrored_topics() -> None:
    read = reading(MIRROR_MAKER)
    (only,) = read.clusters
    assert in_effect(only) == "1 f:3 | 5 f:5 | 1 Kafka Connect's default | false Kafka Connect's default"
    assert only.replication_factor.text == "2"
    rest = "enable.idempotence=false, retries=5, max.in.flight.requests.per.connection=1"
    assert read.remarks == (
        "f:6: offset-syncs.topic.replication.factor=1: one lost broker loses the translation of offsets",
        "f (topics that MirrorMaker creates): these topics are those that the answer is for",
        f"f (A->B): the answer is for this producer, the weakest of 2 (acks=1, {rest}); the others are f (B): acks=all,"
        f" {rest}",
    )
    assert cluster(f"{MIRROR_MAKER}A->B.replication.factor=3\n").replication_factor.text == "3"


SPRING = """\
spring.kafka.bootstrap-servers=a:9092
spring.kafka.producer.acks=all
spring.kafka.producer.retries=5
spring.kafka.producer.properties.retries=3
spring.kafka.properties.enable.idempotence=false
"""


def test_spring_properties_override_its_named_settings() -> None:
    idempotence = "Kafka 3.9's default | false f:5"
    assert in_effect(cluster(SPRING)) == f"all f:2 | 3 f:4 | 5 {idempotence}"
    assert in_effect(cluster(SPRING, "application.yml")) == in_effect(cluster(SPRING)).replace("f:", "application.yml:")
    assert reading(SPRING).remarks == ()


@pytest.mark.parametrize(
    "prefix",
    [
        "spring.kafka.properties",
        "spring.kafka.producer.properties",
        "spring.cloud.stream.kafka.binder.configuration",
        "spring.cloud.stream.kafka.bindings[orders-out-0].producer.configuration",
    ],
)
@pytest.mark.parametrize("form", ["[{}]", ".[{}]", ".{}"])
def test_a_key_of_spring_in_brackets_is_the_key_without_them(prefix: str, form: str) -> None:
    lines = [prefix + form.format("acks") + "=0", prefix + form.format("enable.idempotence") + "=false"]
    producer = cluster("\n".join(lines)).producer
    assert (producer.acks.text, producer.acks.source) == ("0", "f:1")
    assert producer.acks.meaning.endswith(f" ({lines[0]})")
    assert (producer.is_idempotent.text, producer.is_idempotent.source) == ("false", "f:2")


@pytest.mark.parametrize(
    ("key", "same"),
    [
        ("producer.properties[acks]", "producer.properties.acks"),
        ("producer.properties.acks", "producer.properties.[acks]"),
        ("consumer.auto-offset-reset", "consumer.autoOffsetReset"),
    ],
)
def test_a_profile_of_spring_overrides_a_key_in_any_spelling(key: str, same: str) -> None:
    default, own = ("earliest", "latest") if "offset" in key else ("0", "1")
    documents = f"spring.kafka.{key}={default}", f"spring.config.activate.on-profile=a\nspring.kafka.{same}={own}"
    given = [
        line.value
        for section in text_sections(None, Path("f"), "\n#---\n".join(documents))
        for line in section.properties
        if line.key in ("acks", "auto.offset.reset")
    ]
    assert given == [default, own]


def test_the_weakest_of_the_profiles_and_factories_of_spring_counts() -> None:
    read = reading(f"{SPRING}orders.kafka.producer.acks=1\n#---\nspring.config.activate.on-profile=dev\n"
                   "spring.kafka.producer.acks=0\n")  # fmt: skip
    more = "enable.idempotence=false, retries=3, max.in.flight.requests.per.connection=5"
    own = "acks=1, enable.idempotence=false, retries=2147483647, max.in.flight.requests.per.connection=5"
    assert read.remarks == (
        f"f (profile dev): the answer is for this producer, the weakest of 4 (acks=0, {more}); the others are"
        f" f (orders.kafka): {own}; f (profile dev, orders.kafka): {own}; f: acks=all, {more}",
    )
    assert in_effect(read.clusters[0]) == "0 f:9 | 3 f:4 | 5 Kafka 3.9's default | false f:5"


def test_a_yaml_file_of_spring_with_documents() -> None:
    text = """\
spring:
  kafka:
    producer:
      transaction-id-prefix: tx-
      properties:
        "[enable.idempotence]": true
---
spring:
  config.activate.on-profile: dev
  kafka.producer.acks: 1
"""
    assert refusal(text, "a.yml") == (
        "a.yml:10: spring.kafka.producer.acks=1: a producer of Kafka 3.9 refuses to start with it, because"
        " spring.kafka.producer.properties.[enable.idempotence]=true (a.yml:6) needs acks=all; write"
        " spring.kafka.producer.acks=all, or write enable.idempotence=false"
    )
    read = cluster(text.replace("acks: 1", "acks: all"), "a.yml")
    assert read.producer.has_transactions
    assert read.producer.is_idempotent.source == "a.yml:6"


def test_a_binding_of_spring_cloud_stream_inherits_from_the_binder_and_from_spring_boot() -> None:
    text = """\
spring:
  kafka.producer.properties.retries: 7
  cloud.stream.kafka:
    binder:
      producer-properties:
        acks: all
    bindings:
      orders-out-0:
        producer.configuration:
          acks: 1
"""
    read = reading(text, "a.yml")
    binding = "spring.cloud.stream.kafka.bindings.orders-out-0.producer.configuration.acks=1"
    assert in_effect(read.clusters[0]) == (
        f"1 a.yml:10 | 7 a.yml:2 | 5 Kafka 3.9's default | false disabled because of {binding} in a.yml:10"
    )
    assert read.remarks[0].startswith(
        "a.yml (spring.cloud.stream.kafka orders-out-0): the answer is for this producer, the weakest of 3 (acks=1,"
    )


BINDERS = """\
spring.cloud.stream:
  bindings:
    orders-out-0: {binder: near}
    audit-out-0: {binder: far}
  kafka.bindings:
    audit-out-0.producer.configuration.acks: 0
  binders:
    near:
      type: kafka
      environment.spring.cloud.stream.kafka.binder.required-acks: all
    far:
      type: kafka
      environment.spring.kafka.producer.retries: 7
    other:
      type: rabbit
      environment.spring.rabbitmq.host: a
"""


def test_each_named_binder_of_spring_cloud_stream_has_its_own_environment_and_bindings() -> None:
    read = reading(BINDERS, "application.yml")
    assert read.remarks == (
        "application.yml (binder far, spring.cloud.stream.kafka audit-out-0): the answer is for this producer, the"
        " weakest of 3 (acks=0, enable.idempotence=false, retries=7, max.in.flight.requests.per.connection=5); the"
        " others are application.yml (binder far, spring.cloud.stream.kafka): acks=1, enable.idempotence=false,"
        " retries=7, max.in.flight.requests.per.connection=5; application.yml (binder near): acks=all,"
        " enable.idempotence=false, retries=0, max.in.flight.requests.per.connection=5",
    )


def test_the_producer_of_a_transactional_binder_has_its_own_settings() -> None:
    prefix = "spring.cloud.stream.kafka.binder."
    text = f"{prefix}transaction.transaction-id-prefix=t\n{prefix}required-acks=all\n"
    assert "retries=0, Spring Cloud Stream's default" in refusal(text)
    read = cluster(text + f"{prefix}transaction.producer.configuration.retries=9\n")
    assert in_effect(read) == "all f:2 | 9 f:3 | 5 Kafka 3.9's default | true Kafka 3.9's default"


QUARKUS = """\
kafka.bootstrap.servers=a:9092
kafka.retries=9
mp.messaging.connector.smallrye-kafka.max.in.flight.requests.per.connection=2
mp.messaging.outgoing."order.s".connector=smallrye-kafka
mp.messaging.outgoing."order.s".acks=0
%prod.mp.messaging.outgoing."order.s".acks=all
%dev.mp.messaging.outgoing."order.s".acks=1
mp.messaging.outgoing.mail.connector=smallrye-amqp
mp.messaging.incoming.orders.isolation.level=read_committed
"""


def test_a_channel_of_quarkus_has_what_holds_for_all_channels_and_for_production() -> None:
    read = reading(QUARKUS, "application.properties")
    assert in_effect(read.clusters[0]) == (
        "all application.properties:6 | 9 application.properties:2 | 2 application.properties:3 |"
        " true Kafka 3.9's default"
    )
    assert read.clusters[0].consumer is not None
    assert read.clusters[0].consumer.isolation_level.value == "read_committed"
    assert read.remarks == ("application.properties: the profile dev is for development, and is left out",)


def test_smallrye_acknowledges_with_the_leader_alone_which_disables_idempotence() -> None:
    read = cluster("mp:\n  messaging:\n    outgoing:\n      a:\n        topic: t\n", "application.yml")
    assert in_effect(read) == (
        f"1 SmallRye Reactive Messaging's default | {MANY} Kafka 3.9's default | 5 Kafka 3.9's default |"
        " false disabled because of acks=1 (SmallRye Reactive Messaging's default)"
    )
    assert cluster(
        "quarkus.kafka-streams.application-id=a\nkafka-streams.processing.guarantee=exactly_once_v2\n"
    ).producer.has_transactions


def test_a_file_of_quarkus_without_a_channel_of_kafka_is_refused() -> None:
    assert refusal("mp.messaging.outgoing.mail.connector=smallrye-amqp\n") == (
        "f:1: mp.messaging.outgoing.mail.connector is a setting of Quarkus, but no channel of smallrye-kafka is there;"
        " give the file that has the channels (mp.messaging.outgoing. ...)"
    )


MICRONAUT = """\
kafka:
  bootstrap.servers: a:9092
  acks: all
  producers:
    default: {retries: 3}
    fast: {acks: 0, key-serializer: x}
  consumers:
    group: {isolation-level: read_committed}
  streams:
    count: {application.id: c, processing.guarantee: exactly_once_v2}
"""


def test_micronaut_has_named_producers_and_consumers_and_streams() -> None:
    read = reading(MICRONAUT, "application.yml")
    (remark,) = read.remarks
    assert remark == (
        "application.yml (fast): the answer is for this producer, the weakest of 3 (acks=0, enable.idempotence=false,"
        f" retries={MANY}, max.in.flight.requests.per.connection=5); the others are application.yml (count): acks=all,"
        " enable.idempotence=true, transactions; application.yml (default): acks=all, enable.idempotence=true"
    )
    assert in_effect(read.clusters[0]).startswith("0 application.yml:6 | ")


@pytest.mark.parametrize("prefix", ["spring.kafka.streams.", "spring.cloud.stream.kafka.streams.binder."])
def test_streams_of_spring(prefix: str) -> None:
    raw = "properties" if prefix.startswith("spring.kafka") else "configuration"
    read = cluster(f"{prefix}applicationId=x\n{prefix}{raw}.processing.guarantee=exactly_once_v2\n")
    assert read.producer.library is ClientLibrary.STREAMS
    assert in_effect(read).endswith("| true f:2")


def test_settings_of_spring_that_reach_no_client_are_refused() -> None:
    assert refusal("spring.cloud.stream.kafka.default.x=1") == (
        "f:1: spring.cloud.stream.kafka.default.x is a setting of Spring, but no producer or consumer is known to use"
        f" it; give acks=... and the other settings {OWN}"
    )


# --- YAML and JSON ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "library", "says"),
    [
        ('{"config": {"connector.class": "x", "producer.override.acks": 1}}', "Kafka Connect", "1 f:1 | MANY DEFAULT |"
         " 1 DEFAULT | false DEFAULT"),
        ('{"Kafka": {"BootstrapServers": "a", "Acks": "Leader", "MessageSendMaxRetries": 2}}', "librdkafka",
         "1 f:1 | 2 f:1 | 1000000 DEFAULT | false DEFAULT"),
        ('{"bootstrap_servers": ["a:1", "b:1"], "retries": 3}', "kafka-python",
         "all DEFAULT | 3 f:1 | 5 DEFAULT | true DEFAULT"),
        ("kafka:\n  producer:\n    requiredAcks: -1\n  net:\n    maxOpenRequests: 1\n", "Sarama",
         "-1 f:3 | 3 DEFAULT | 1 f:5 | false DEFAULT"),
        ("kafka:\n  producer:\n    message.timeout.ms: 1\n    acks: 0\n  other:\n    x: 1\n", "librdkafka",
         "0 f:4 | MANY DEFAULT | 1000000 DEFAULT | false DEFAULT"),
        ("services:\n  c:\n    environment:\n      CONNECT_KEY_CONVERTER: x\n      CONNECT_PRODUCER_ACKS: 1\n",
         "Kafka Connect", "1 f:5 | MANY DEFAULT | 1 DEFAULT | false DEFAULT"),
        ('{"bootstrap.servers": "a", "acks": "all"}', "librdkafka",
         "all f:1 | MANY DEFAULT | 1000000 DEFAULT | false DEFAULT"),
    ],
)  # fmt: skip
def test_clients_in_yaml_and_json(text: str, library: str, says: str) -> None:
    read = cluster(text)
    assert in_effect(read) == says.replace("MANY", MANY).replace("DEFAULT", f"{library}'s default")
    assert read.producer.library is ClientLibrary(library)


def test_environment_variables_of_connect_and_spring() -> None:
    rest = f"{MANY} Kafka Connect's default | 1 Kafka Connect's default | false Kafka Connect's default"
    assert in_effect(cluster('CONNECT_KEY_CONVERTER=x\nCONNECT_PRODUCER_ACKS="1"\n')) == f"1 f:2 | {rest}"
    read = cluster("export SPRING_KAFKA_PRODUCER_ACKS=1\n")
    assert read.producer.acks.meaning.endswith(" (SPRING_KAFKA_PRODUCER_ACKS=1)")


def test_names_that_two_libraries_share_are_read_as_both() -> None:
    java = "acks=all, enable.idempotence=true"
    rest = f"retries={MANY}, max.in.flight.requests.per.connection"
    assert reading('{"bootstrap.servers": "a"}').remarks == (
        "f (read as librdkafka): the answer is for this producer, the weakest of 2 (acks=all,"
        f" enable.idempotence=false, {rest}=1000000); the others are f (read as the Java client): {java}",
    )
    assert reading("bootstrap_servers=a").remarks == (
        "f (read as aiokafka): the answer is for this producer, the weakest of 2 (acks=1, enable.idempotence=false,"
        f" {rest}=1); the others are f (read as kafka-python): {java}",
    )


def test_producers_of_several_files_with_different_libraries() -> None:
    Path("java").write_text("acks=all\nlinger.ms=5\n")
    Path("c").write_text("request.required.acks=1\nlinger.ms=10\n")
    read = read_clusters([(Role.PRODUCER, Path("java")), (None, Path("c"))], "3.9")
    assert in_effect(read.clusters[0]) == (
        f"1 c:1 | {MANY} librdkafka's default | 1000000 librdkafka's default | false librdkafka's default"
    )
    assert read.remarks == (
        f"c: the answer is for this producer, the weakest of 2 (acks=1, enable.idempotence=false, retries={MANY},"
        " max.in.flight.requests.per.connection=1000000); the others are java: acks=all, enable.idempotence=true",
    )


# --- What nobody is known to have -------------------------------------------------------------------------------------

OWN = "in a .properties file of a Java producer (--producer FILE)"


@pytest.mark.parametrize(
    ("text", "example"),
    [
        ("producer.acks=1", "acks=1"),
        ("producer.override.acks=0", "acks=0"),
        ("kafka.acks=1", "acks=1"),
        ("A.producer.retries=0", "retries=0"),
    ],
)
def test_a_prefix_without_its_framework_is_refused(text: str, example: str) -> None:
    says = (
        f"f:1: {text} is a setting of a client in a file of a framework, but no key shows which; give the whole file"
        f" (of Kafka Connect, Kafka Streams, Spring, ...), or give {example} and the other settings {OWN}"
    )
    assert refusal(text) == refusal(text, role=Role.PRODUCER) == says


def test_a_clients_file_without_any_known_key_is_refused() -> None:
    """Whatever it says would be ignored, and the defaults of a Java client asserted."""
    for role in (Role.PRODUCER, Role.CONSUMER):
        assert refusal("x.y=1\nz=3\n", role=role) == (
            "f:1: no client library that isrcheck knows has x.y or any other key of this file; give its settings, such"
            f" as acks, {OWN}"
        )
    assert text_sections(Role.PRODUCER, Path("f"), "")[0].properties == ()


@pytest.mark.parametrize(("text", "key"), [("a.plugins.own.key=x", "a.plugins.own.key"), ("a(hunter2", "this text")])
def test_a_file_of_unknown_keys_is_refused_without_a_role(text: str, key: str) -> None:
    assert refusal(text) == (
        f"f:1: neither Kafka nor a client library that isrcheck knows has {key} or any other key of this file; correct"
        " the keys, or give the output of kafka-topics --describe or another file that docs/your_cluster.md lists"
    )
    assert text_sections(Role.BROKER, Path("f"), text)[0].role is Role.BROKER


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ('{"brokers": ["k:9092"], "producer": {"acks": -1, "idempotent": true}}', "producer.idempotent"),
        ('{"bootstrap.servers": "k", "producer": {"idempotent": false, "maxInFlightRequests": 1}}',
         "producer.maxInFlightRequests"),
        ('{"acks": 1, "maxInFlightRequests": 1}', "maxInFlightRequests"),
    ],
)  # fmt: skip
def test_a_configuration_of_kafkajs_is_not_read_as_saramas(text: str, sign: str) -> None:
    assert refusal(text) == (
        f"f:1: {sign} is a setting of KafkaJS, or of another client of Node.js, whose defaults isrcheck does not know;"
        f" give acks, enable.idempotence, retries and max.in.flight.requests.per.connection {OWN}"
    )


def test_underscores_in_a_key_of_brokers_are_refused() -> None:
    assert refusal("min_insync_replicas=2") == "f:1: Kafka has no key min_insync_replicas; write min.insync.replicas"


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
def test_property_files_of_kafka_are_read_as_they_are(text: str) -> None:
    (section,) = text_sections(None, Path("f"), text)
    assert section.properties == tuple(properties_of(Path("f"), text))
    assert section.library is None


def test_the_setting_of_a_client_in_a_longer_key() -> None:
    assert without_prefix("producer.override.enable.idempotence") == "enable.idempotence"
    assert without_prefix("spring.kafka.producer.bootstrap-servers") == "bootstrap.servers"
    assert without_prefix("confluent.license.topic.replication.factor") == ""
    assert without_prefix("producer.id.expiration.ms") == ""


def test_every_library_has_defaults_that_kafka_can_read() -> None:
    """Each default is a text that the reader of its key accepts, for an old release and a new one."""
    for library in ClientLibrary:
        for release in ("0.11.0", "3.9"):
            default, whose = library.default("acks", version_of_binaries(release))
            (section,) = client_sections(None, "f", [[Property("acks", default, Path("f"), 1)]])
            assert section.properties[0].value in ("all", "1", "0")
            assert whose in (library.value, f"Kafka {release}")
