"""From property files to a cluster: roles of files, precedence of values, releases, Kafka's defaults and refusals, and
ignored entries with their reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.support.places import SHARED
from isrcheck.checker.cluster.clients import Producer
from isrcheck.checker.cluster.cluster import Cluster, read_clusters
from isrcheck.checker.cluster.generation import Generation
from isrcheck.checker.cluster.ignored import Ignored, WhyIgnored
from isrcheck.checker.cluster.property_files import PropertiesError, read_properties
from isrcheck.checker.cluster.releases import Role, first_release, keys_of, roles_that_know
from isrcheck.checker.cluster.settings import Setting, role_of
from isrcheck.models.kafka.generations import STAND_INS

SHIPPED_FILES = SHARED / "data" / "properties"
needs_shipped_files = pytest.mark.skipif(
    not SHIPPED_FILES.is_dir(), reason="the property files that Kafka ships are not beside this clone"
)

BROKER, TOPIC, PRODUCER, CONSUMER = Role.BROKER, Role.TOPIC, Role.PRODUCER, Role.CONSUMER


def file(name: str, *lines: str) -> Path:
    path = Path(name)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def read(
    *files: Path | tuple[Role, Path], version: str | None = "0.10.2", metadata_version: str | None = None
) -> Cluster:
    roles = [each if isinstance(each, tuple) else (None, each) for each in files]
    (found,) = read_clusters(roles, version, metadata_version=metadata_version).clusters
    return found


def complaint(
    *files: Path | tuple[Role, Path], version: str | None = "0.10.2", metadata_version: str | None = None
) -> str:
    with pytest.raises(PropertiesError) as refusal:
        read(*files, version=version, metadata_version=metadata_version)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def meaning(cluster: Cluster, key: str) -> str:
    (found,) = [each.meaning for each in cluster.understood if each.key == key]
    return found


def understood(cluster: Cluster) -> list[str]:
    """The settings that count, each on one line: KEY=VALUE (SOURCE): MEANING."""
    return [f"{each.key}={each.value} ({each.source}): {each.meaning}" for each in cluster.understood]


def ignored(cluster: Cluster, why: WhyIgnored) -> dict[str, str]:
    return {each.key: each.reason for each in cluster.ignored if each.why is why}


# --- Whose file it is -------------------------------------------------------------------------------------------------


FILES_OF_ROLES = {
    BROKER: """
        broker.id; log.dirs; num.network.threads; default.replication.factor; inter.broker.protocol.version;
        listener.name.internal.ssl.keystore.location; zookeeper.connect log.retention.hours;
        default.replication.factor min.insync.replicas unclean.leader.election.enable;
        broker.id log.dirs min.insync.replicas acks
    """,
    PRODUCER: """
        acks; retries; linger.ms; batch.size; key.serializer; enable.idempotence; bootstrap.servers compression.type;
        bootstrap.servers acks linger.ms min.insync.replicas
    """,
    CONSUMER: """
        group.id; auto.offset.reset; isolation.level; fetch.min.bytes;
        zookeeper.connect zookeeper.connection.timeout.ms group.id
    """,
    TOPIC: """
        cleanup.policy; retention.ms; segment.bytes; min.insync.replicas; replication.factor;
        unclean.leader.election.enable; compression.type min.insync.replicas; acks min.insync.replicas;
        acks min.insync.replicas replication.factor;
        acks min.insync.replicas replication.factor inter.broker.protocol.version;
        min.insync.replicas a.plugins.own.key
    """,
}
"""The keys of files, which a semicolon separates, by the role that they determine."""


@pytest.mark.parametrize(
    ("role", "keys"), [(role, keys) for role, text in FILES_OF_ROLES.items() for keys in text.split(";")]
)
def test_the_keys_determine_the_role_of_a_file(role: Role, keys: str) -> None:
    path = file("some.properties", *(f"{key}=x" for key in keys.split()))
    assert role_of(read_properties(path), path) is role


UNTELLING = """
    ; zookeeper.connect; bootstrap.servers; compression.type; ssl.key.password sasl.mechanism; a.plugins.own.key;
    Broker.Id
"""


@pytest.mark.parametrize("keys", UNTELLING.split(";"))
def test_a_file_without_a_telling_key_needs_a_given_role(keys: str) -> None:
    assert complaint(file("some.properties", *(f"{key}=x" for key in keys.split()))) == (
        "some.properties: no key decides whether this is a broker's, a topic's, a producer's or a consumer's file; "
        "give it as --broker FILE, --topic FILE, --producer FILE or --consumer FILE"
    )


def test_a_given_role_takes_precedence_over_the_keys() -> None:
    cluster = read((BROKER, file("a", "min.insync.replicas=1")), (TOPIC, file("b", "min.insync.replicas=2")))
    assert cluster.min_insync_replicas == Setting(2, "b:1")
    assert ignored(cluster, WhyIgnored.OVERRIDDEN) == {
        "min.insync.replicas": "overridden by the topic's min.insync.replicas in b:1"
    }


def test_an_empty_file_with_a_given_role_leaves_the_defaults() -> None:
    """It says that the topic has no settings of its own, which is no assumption then."""
    cluster, none = read((TOPIC, file("topic.properties"))), read()
    assert replace(cluster, assumed=none.assumed) == none
    assert none.assumed[-1] == (
        "Kafka's defaults of the topic (min.insync.replicas=1; --topic FILE) and of brokers"
        " (unclean.leader.election.enable=true, auto.leader.rebalance.enable=true; --broker FILE)"
    )
    assert cluster.assumed[-1] == (
        "Kafka's defaults of brokers (min.insync.replicas=1, unclean.leader.election.enable=true,"
        " auto.leader.rebalance.enable=true; --broker FILE)"
    )


# --- Which value decides ----------------------------------------------------------------------------------------------


def test_a_topic_with_its_producers_acks_in_one_file() -> None:
    topic = file(
        "topic.properties",
        "replication.factor=3",
        "min.insync.replicas=2",
        "unclean.leader.election.enable=false",
        "acks=all",
    )
    cluster = read(topic)
    assert cluster.kafka_version == Setting("0.10.2", "--kafka-version")
    assert cluster.generation == Generation("0.10", {}, None)
    assert cluster.replication_factor == Setting(3, "topic.properties:1")
    assert cluster.min_insync_replicas == Setting(2, "topic.properties:2")
    assert cluster.unclean_election == Setting(False, "topic.properties:3")
    assert cluster.producer.acks == Setting("all", "topic.properties:4")
    assert (cluster.topics, cluster.partitions, cluster.why_unknown, cluster.ignored) == ((), (), None, ())
    usual = "(Kafka 0.10.2's default)"
    assert understood(cluster) == [
        "Kafka version=0.10.2 (--kafka-version): decides the defaults",
        "inter.broker.protocol.version=0.10.2 (--kafka-version): the replication protocol is 0.10",
        "replication.factor=3 (topic.properties:1): number of brokers with a replica: 3",
        "min.insync.replicas=2 (topic.properties:2): an acks=all write needs an ISR of at least 2",
        "unclean.leader.election.enable=false (topic.properties:3): only a member of the ISR can be elected",
        "auto.leader.rebalance.enable=true"
        f" {usual}: leadership returns to the preferred replica while the leader lives",
        "acks=all (topic.properties:4): a record is acknowledged once the whole ISR has it (taken as the producer's)",
        f"retries=0 {usual}: a failed request is not sent again",
        f"max.in.flight.requests.per.connection=5 {usual}: up to 5 requests of a producer at a time",
    ]
    assert cluster.can_acknowledge_acks_all


def test_every_role_contributes_its_settings() -> None:
    cluster = read(
        file("server.properties", "broker.id=0", "default.replication.factor=3", "unclean.leader.election.enable=TRUE"),
        file("topic.properties", "cleanup.policy=delete", "min.insync.replicas= 2 "),
        file("producer.properties", "bootstrap.servers=x", "acks=-1"),
        file("consumer.properties", "bootstrap.servers=x", "group.id=g"),
    )
    assert cluster.replication_factor == Setting(3, "server.properties:2")
    assert cluster.unclean_election == Setting(True, "server.properties:3")
    assert cluster.min_insync_replicas == Setting(2, "topic.properties:2")
    assert cluster.producer.acks == Setting("all", "producer.properties:2")
    assert [(each.key, each.value, each.source) for each in cluster.understood] == [
        ("Kafka version", "0.10.2", "--kafka-version"),
        ("inter.broker.protocol.version", "0.10.2", "--kafka-version"),
        ("default.replication.factor", "3", "server.properties:2"),
        ("min.insync.replicas", "2", "topic.properties:2"),
        ("unclean.leader.election.enable", "TRUE", "server.properties:3"),
        ("auto.leader.rebalance.enable", "true", "Kafka 0.10.2's default"),
        ("acks", "-1", "producer.properties:2"),
        ("retries", "0", "Kafka 0.10.2's default"),
        ("max.in.flight.requests.per.connection", "5", "Kafka 0.10.2's default"),
        ("auto.offset.reset", "latest", "Kafka 0.10.2's default"),
    ]
    assert [(each.key, each.source) for each in cluster.ignored] == [
        ("broker.id", "server.properties:1"),
        ("cleanup.policy", "topic.properties:1"),
        ("bootstrap.servers", "producer.properties:1"),
        ("bootstrap.servers", "consumer.properties:1"),
        ("group.id", "consumer.properties:2"),
    ]


@pytest.mark.parametrize("topic_first", [True, False])
def test_topic_settings_override_the_brokers_in_either_order(topic_first: bool) -> None:
    broker = file(
        "server.properties",
        "broker.id=0",
        "default.replication.factor=1",
        "min.insync.replicas=1",
        "unclean.leader.election.enable=true",
    )
    topic = file(
        "topic.properties", "replication.factor=3", "min.insync.replicas=2", "unclean.leader.election.enable=false"
    )
    cluster = read(topic, broker) if topic_first else read(broker, topic)
    assert cluster.replication_factor == Setting(3, "topic.properties:1")
    assert cluster.min_insync_replicas == Setting(2, "topic.properties:2")
    assert cluster.unclean_election == Setting(False, "topic.properties:3")
    assert ignored(cluster, WhyIgnored.OVERRIDDEN) == {
        "default.replication.factor": "overridden by the topic's replication.factor in topic.properties:1",
        "min.insync.replicas": "overridden by the topic's min.insync.replicas in topic.properties:2",
        "unclean.leader.election.enable": (
            "overridden by the topic's unclean.leader.election.enable in topic.properties:3"
        ),
    }


def test_an_overridden_value_must_be_valid_all_the_same() -> None:
    broker = file("server.properties", "broker.id=0", "min.insync.replicas=none")
    assert complaint(file("topic.properties", "min.insync.replicas=2"), broker).startswith(
        "server.properties:2: min.insync.replicas: 'none'"
    )


def test_acks_belongs_to_the_producer_even_in_a_brokers_file() -> None:
    cluster = read((BROKER, file("server.properties", "broker.id=0", "acks=all")))
    assert cluster.producer.acks == Setting("all", "server.properties:2")
    assert meaning(cluster, "acks") == "a record is acknowledged once the whole ISR has it (taken as the producer's)"


def test_a_topic_setting_in_a_producers_file_applies_to_the_topic() -> None:
    cluster = read(
        file("producer.properties", "acks=1", "linger.ms=5", "min.insync.replicas=2"),
        file("server.properties", "broker.id=0", "min.insync.replicas=1"),
    )
    assert cluster.min_insync_replicas == Setting(2, "producer.properties:3")


@pytest.mark.parametrize(("text", "acks"), [("all", "all"), ("-1", "all"), ("1", "1"), ("0", "0"), (" all\t", "all")])
def test_acks(text: str, acks: str) -> None:
    assert read(file("producer.properties", f"acks={text}")).producer.acks.value == acks


@pytest.mark.parametrize(("text", "count"), [("1", 1), ("+2", 2), ("003", 3), ("2147483647", 2147483647)])
def test_counts_of_replicas(text: str, count: int) -> None:
    cluster = read(file("topic.properties", f"min.insync.replicas={text}", f"replication.factor={text}"))
    assert (cluster.min_insync_replicas.value, cluster.replication_factor.value) == (count, count)


def test_more_required_than_existing_replicas_are_accepted_as_in_kafka() -> None:
    cluster = read(file("topic.properties", "replication.factor=2", "min.insync.replicas=3"))
    assert (cluster.min_insync_replicas.value, cluster.replication_factor.value) == (3, 2)
    assert not cluster.can_acknowledge_acks_all


NO_ACKS = "is not a value of acks; write all (or -1), 1 or 0"
NO_COUNT = "is not a whole number from 1 to 2147483647; write for example 2"
NO_TRUTH = "is neither true nor false; write true or false"
NOT_FROM_0 = "is not a whole number from 0 to 2147483647; write for example 0"
COUNTS = ("min.insync.replicas", "replication.factor", "default.replication.factor")
NO_COUNTS = ("0", "-1", "two", "", "2.0", "1_0", "0x2", "2147483648", "9" * 60)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("acks=2", NO_ACKS),
        ("acks=${env:ACKS}", "is a placeholder; write its value"),
        ("min.insync.replicas={{ isr }}", "is a placeholder; write its value"),
        ("acks=ALL", NO_ACKS),
        ("acks=", NO_ACKS),
        *((f"{key}={text}", NO_COUNT) for key in COUNTS for text in NO_COUNTS),
        ("unclean.leader.election.enable=yes", NO_TRUTH),
        ("unclean.leader.election.enable=", NO_TRUTH),
        ("enable.idempotence=on", NO_TRUTH),
        ("retries=-1", NOT_FROM_0),
        ("retries=2147483648", NOT_FROM_0),
        ("delivery.timeout.ms=2m", NOT_FROM_0),
        (
            "max.in.flight.requests.per.connection=0",
            "is not a whole number from 1 to 2147483647; write for example 5",
        ),
        (
            "isolation.level=READ_COMMITTED",
            "is not an isolation level; write read_committed or read_uncommitted",
        ),
        ("auto.offset.reset=Latest", "is not a policy for offsets; write earliest, latest or none"),
        ("auto.offset.reset=", "is not a policy for offsets; write earliest, latest or none"),
        ("transaction.timeout.ms=-1", "is not a whole number from 0 to 2147483647; write for example 60000"),
        ("transaction.max.timeout.ms=0", "is not a whole number from 1 to 2147483647; write for example 900000"),
        ("transaction.version=3", "is none of 0, 1 and 2; write 2 if transactions end with a new epoch, or 0"),
        ("transaction.partition.verification.enable=yes", NO_TRUTH),
        ("eligible.leader.replicas.version=yes", "is neither 0 nor 1; write 1 if the feature is on, or 0"),
        (
            "process.roles=broker,brooker",
            "names no roles of a process; write broker, controller or broker,controller",
        ),
        ("process.roles=broker,broker", "names no roles of a process; write broker, controller or broker,controller"),
        ("metadata.version=21", "is no metadata.version; write for example 3.7-IV4 or 3.9"),
    ],
)
def test_values_that_kafka_refuses(line: str, why: str) -> None:
    key, _, text = line.partition("=")
    assert complaint(file("some.properties", "# one", line)) == f"some.properties:2: {key}: '{text}' {why}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("acks", f"acks: '' {NO_ACKS}"),
        ("acks=a\\nb\\u001bc", rf"acks: 'a\nb\x1bc' {NO_ACKS}"),
        ("acks=" + "9" * 70, f"acks: '{'9' * 60}...' {NO_ACKS}"),
        ("transactional.id=", "transactional.id: Kafka refuses an empty value; write a name, or leave the key out"),
        (
            "message.format.version=0.10",
            "message.format.version: Kafka refuses '0.10', which is incomplete; write one of 0.10.0, 0.10.1, 0.10.2",
        ),
    ],
)
def test_a_refused_value_is_shown_on_one_short_line(line: str, message: str) -> None:
    assert complaint(file("some.properties", "# one", line)) == f"some.properties:2: {message}"


# --- One key, two values ----------------------------------------------------------------------------------------------


def test_two_values_in_one_file() -> None:
    assert complaint(file("topic.properties", "min.insync.replicas=2", "", "min.insync.replicas=1")) == (
        "topic.properties:3: min.insync.replicas=1 contradicts min.insync.replicas=2 in topic.properties:1; "
        "one topic cannot have both; keep one of them"
    )


def test_two_values_in_two_files_of_one_role() -> None:
    assert complaint(file("a.properties", "acks=all"), file("b.properties", "linger.ms=1", "acks=1")) == (
        "b.properties:2: acks=1 contradicts acks=all in a.properties:1; the answer is for producers that agree in it;"
        " give those that do"
    )


def test_brokers_and_clients_may_differ_in_what_no_answer_depends_on() -> None:
    """A cluster of unequal machines, or of several producers, is one cluster."""
    one = file("b1.properties", "broker.id=1", "num.io.threads=8", "min.insync.replicas=2")
    two = file("b2.properties", "broker.id=2", "num.io.threads=16", "min.insync.replicas=2")
    first = file("p1.properties", "acks=all", "batch.size=1")
    second = file("p2.properties", "acks=all", "batch.size=2")
    cluster = read(one, two, first, second, version="3.9")
    assert cluster.min_insync_replicas.source == "b1.properties:3 and b2.properties:3"
    assert [(each.key, each.value) for each in cluster.ignored if each.key in ("num.io.threads", "batch.size")] == [
        ("num.io.threads", "8"),
        ("num.io.threads", "16"),
        ("batch.size", "1"),
        ("batch.size", "2"),
    ]
    twice = file("b2.properties", "broker.id=2", "num.io.threads=8", "num.io.threads=16")
    assert complaint(one, twice) == (
        "b2.properties:3: num.io.threads=16 contradicts num.io.threads=8 in b1.properties:2 and b2.properties:2;"
        " one broker cannot have both; keep one of them"
    )
    flushes = [file(f"{value}.properties", f"log.flush.interval.messages={value}", "broker.id=1") for value in (1, 9)]
    assert complaint(*flushes) == (
        "9.properties:1: log.flush.interval.messages=9 contradicts log.flush.interval.messages=1 in 1.properties:1;"
        " the answer is for brokers that agree in it; give those that do"
    )


def test_a_setting_of_some_brokers_alone_is_told() -> None:
    """Of another broker the default may be in effect: with that, min.insync.replicas=2 would promise too much."""
    one = file("b1.properties", "broker.id=1", "min.insync.replicas=2", "num.io.threads=8", "log.dirs=/a")
    two = file("b2.properties", "broker.id=2", "num.io.threads=8", "log.dirs=/b")
    says = "min.insync.replicas=2 (b1.properties:2) is not given for b2.properties; it is taken for every broker"
    for files in ((one, two), (two, one)):
        assert read_clusters([(None, path) for path in files], "3.9").remarks == (says,)
    three = file("b2.properties", "broker.id=2", "num.io.threads=8", "min.insync.replicas=2")
    assert read_clusters([(None, one), (None, three)], "3.9").remarks == ()
    overridden = [
        (None, one),
        (None, two),
        (None, file("t.properties", "min.insync.replicas=2", "cleanup.policy=delete")),
    ]
    assert read_clusters(overridden, "3.9").remarks == ()


def test_the_roles_of_several_processes_are_their_own() -> None:
    """Each of two files gives its own, so neither lacks that of the other."""
    both = ("process.roles=broker,controller", "log.dirs=/d")
    files = [(None, file(name, *both, f"node.id={name[-1]}")) for name in ("b1", "b2")]
    assert read_clusters(files, "3.9").remarks == ()


def test_two_values_of_an_irrelevant_key_are_an_error_too() -> None:
    assert complaint(file("topic.properties", "retention.ms=1", "retention.ms=2")) == (
        "topic.properties:2: retention.ms=2 contradicts retention.ms=1 in topic.properties:1; "
        "one topic cannot have both; keep one of them"
    )


def test_two_passwords_are_not_shown() -> None:
    assert complaint(file("p.properties", "acks=1", "ssl.key.password=hunter2", "ssl.key.password=hunter3")) == (
        "p.properties:3: ssl.key.password=[hidden] contradicts ssl.key.password=[hidden] in p.properties:2; "
        "one producer cannot have both; keep one of them"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("acks=all", "acks=-1"),
        ("min.insync.replicas=2", "min.insync.replicas = 02 "),
        ("unclean.leader.election.enable=true", "unclean.leader.election.enable=TRUE"),
        ("inter.broker.protocol.version=0.10.2", "inter.broker.protocol.version=0.10.2-IV0"),
        ("retention.ms=1", "retention.ms=1 "),
    ],
)
def test_the_same_value_twice_is_accepted(one: str, other: str) -> None:
    cluster = read(file("a.properties", one), file("b.properties", other))
    sources = [each.source for each in cluster.understood] + [each.source for each in cluster.ignored]
    assert "a.properties:1 and b.properties:1" in sources


def test_the_same_file_twice_is_accepted() -> None:
    topic = file("topic.properties", "min.insync.replicas=2")
    assert read(topic, topic) == read(topic)


def test_one_key_of_two_roles_may_have_two_values() -> None:
    cluster = read(
        file("server.properties", "broker.id=0", "compression.type=producer"),
        file("producer.properties", "acks=1", "compression.type=lz4"),
    )
    assert [(each.key, each.value) for each in cluster.ignored] == [
        ("broker.id", "0"),
        ("compression.type", "producer"),
        ("compression.type", "lz4"),
    ]


def test_every_broker_has_its_own_id_but_all_have_one_default_replication_factor() -> None:
    def broker(broker_id: int, replication_factor: int) -> Path:
        return file(
            f"server-{broker_id}.properties",
            f"broker.id={broker_id}",
            f"log.dirs=/data/{broker_id}",
            f"default.replication.factor={replication_factor}",
        )

    cluster = read(broker(1, 3), broker(2, 3))
    assert cluster.replication_factor.source == "server-1.properties:3 and server-2.properties:3"
    assert [(each.key, each.value) for each in cluster.ignored] == [
        ("broker.id", "1"),
        ("log.dirs", "/data/1"),
        ("broker.id", "2"),
        ("log.dirs", "/data/2"),
    ]
    assert complaint(broker(1, 3), broker(2, 2)).startswith(
        "server-2.properties:3: default.replication.factor=2 contra"
    )
    assert complaint(file("server.properties", "broker.id=1", "broker.id=2")).startswith(
        "server.properties:2: broker.id=2 contradicts broker.id=1"
    )


# --- Versions, generations and defaults -------------------------------------------------------------------------------

OLD_FORMAT = "records have no leader epochs: followers truncate to the high watermark"


def not_modelled(version: str) -> str:
    return f"the replication protocol of Kafka {version} is not modelled yet; 4.5 is the newest that is"


def preview(version: str) -> str:
    return f"KRaft was a preview in Kafka {version}; 3.3 is the oldest KRaft that is modelled"


NO_DIVERGING_HW = {"HW_FROM_DIVERGING_RESP": "off"}
GATE = {"HW_MINISR_GATE": "on"}


@pytest.mark.parametrize(
    ("version", "protocol"),
    [
        *(
            (version, "0.10")
            for version in ("0.10.0", "0.10.1", "0.10.2", "0.10.2.1", "0.10.0-IV1", "0.10.1-IV2", "0.10")
        ),
        *((version, "0.11") for version in ("0.11", "0.11.0", "0.11.0.3", "1.0", "1.0.2", "1.1", "1.1.1")),
        *((version, "2.0") for version in ("2.0", "2.0.0", "2.0-IV1")),
        *((version, "2.1") for version in ("2.1", "2.1.0", "2.1.1", "2.1-IV2")),
    ],
)
def test_0_10_to_2_1_are_modelled(version: str, protocol: str) -> None:
    cluster = read(version=version)
    source = f"Kafka {version}'s default"
    assert cluster.kafka_version == Setting(version, "--kafka-version")
    assert cluster.generation == Generation(protocol, {}, None)
    assert cluster.producer.acks == Setting("1", source)
    assert cluster.min_insync_replicas == Setting(1, source)
    assert cluster.replication_factor == Setting(1, source)
    assert cluster.unclean_election == Setting(protocol == "0.10", source)
    assert cluster.producer.retries == Setting(2147483647 if protocol == "2.1" else 0, source)
    assert cluster.producer.in_flight == Setting(5, source)
    assert cluster.producer.is_idempotent == Setting(False, source)
    assert cluster.consumer.isolation_level == Setting("read_uncommitted", source)
    keys = [each.key for each in cluster.understood]
    assert ("enable.idempotence" in keys, "isolation.level" in keys) == (
        (False, False) if protocol == "0.10" else (True, True)
    )


def test_2_0_1_has_most_of_2_1() -> None:
    cluster = read(version="2.0.1")
    assert cluster.generation == Generation(
        "2.0",
        {
            "EPOCH_AT_BECOME_LEADER": "on",
            "EPOCH_CACHE_ASSIGN": "REPLACE_CONFLICTING",
            "EPOCH_BELOW_FIRST_ENTRY": "FIRST_START_OFFSET",
            "EXPAND_EPOCH_START": "on",
            "FOLLOWER_SKIP": "SAME_LEADER_NEXT_EPOCH",
            "OUT_OF_RANGE_HALTS": "off",
        },
        None,
    )


@pytest.mark.parametrize("version", ["2.0", "2.8", "3.0", "3.1", "3.9", "4.0"])
def test_a_release_without_a_patch_number_is_its_first_patch(version: str) -> None:
    assert meaning(read(version=version), "Kafka version") == f"decides the defaults; taken as {version}.0"


@pytest.mark.parametrize("version", ["4.1", "2.0.1", "2.1"])
def test_where_the_patch_decides_nothing_none_is_named(version: str) -> None:
    assert meaning(read(version=version), "Kafka version") == "decides the defaults"


ZOOKEEPER = "zookeeper.connect=a:2181"
KRAFT = "process.roles=broker"
MATCHED = {"RESPONSE_EPOCH_MATCHED": "on"}
"""KAFKA-18991, in 3.9.1, 4.0.1 and 4.1."""
WITHOUT_ELR = {"ELR": "off"}
MIGRATES = "zookeeper.metadata.migration.enable=true"


@pytest.mark.parametrize(
    ("version", "mode", "generation"),
    [
        ("0.8.2", None, Generation("0.8", {}, None)),
        ("0.9", None, Generation("0.10", {}, None)),
        ("0.9.0.1", None, Generation("0.10", {}, None)),
        ("2.2", None, Generation("2.1", {}, None)),
        ("2.3.1", None, Generation("2.1", {}, None)),
        ("2.4", None, Generation("2.4", {}, None)),
        ("2.6.3", None, Generation("2.4", {}, None)),
        ("2.7", None, Generation("2.8", NO_DIVERGING_HW, None)),
        ("2.8", None, Generation("2.8", {"DIVERGING_RESP_UPDATES_STATE": "on"}, None)),
        ("2.8.0", ZOOKEEPER, Generation("2.8", {"DIVERGING_RESP_UPDATES_STATE": "on"}, None)),
        ("2.8.1", ZOOKEEPER, Generation("2.8", {}, None)),
        ("3.0", None, Generation("2.8", {}, None)),
        ("3.2", None, Generation("2.8", {}, None)),
        ("3.4", ZOOKEEPER, Generation("2.8", {}, None)),
        ("3.5", ZOOKEEPER, Generation("2.8", NO_DIVERGING_HW, None)),
        ("3.6.2", ZOOKEEPER, Generation("2.8", NO_DIVERGING_HW, None)),
        ("3.7", ZOOKEEPER, Generation("2.8", NO_DIVERGING_HW | GATE, None)),
        ("3.9", ZOOKEEPER, Generation("2.8", NO_DIVERGING_HW | GATE, None)),
        ("3.9.1", ZOOKEEPER, Generation("2.8", NO_DIVERGING_HW | GATE | MATCHED, None)),
        ("2.8", KRAFT, Generation("3.3", {}, preview("2.8"))),
        ("3.2.3", KRAFT, Generation("3.3", {}, preview("3.2.3"))),
        ("3.3", KRAFT, Generation("3.3", {}, None)),
        ("3.4.1", KRAFT, Generation("3.3", {}, None)),
        ("3.5", KRAFT, Generation("3.5", {}, None)),
        ("3.6", KRAFT, Generation("3.5", {"EPOCH_BUMP_ON_SHRINK": "off"}, None)),
        ("3.7", KRAFT, Generation("3.7", {}, None)),
        ("3.9.1", KRAFT, Generation("3.7", MATCHED, None)),
        ("4.0", KRAFT, Generation("4.0", {"RESPONSE_EPOCH_MATCHED": "off"}, None)),
        ("4.0.1", KRAFT, Generation("4.0", {}, None)),
        ("4.1", KRAFT, Generation("4.1", {}, None)),
        ("4.1.1", KRAFT, Generation("4.1", {}, None)),
        ("4.2", KRAFT, Generation("4.1", {}, None)),
        ("4.3", KRAFT, Generation("4.3", {}, None)),
        ("4.4.1", KRAFT, Generation("4.3", {}, None)),
        ("4.5", KRAFT, Generation("4.3", {}, None)),
        ("4.6", KRAFT, Generation("4.3", {}, not_modelled("4.6"))),
        # Without a sign of the mode, it is that of the first production release on.
        ("3.3", None, Generation("3.3", {}, None)),
        ("3.9", None, Generation("3.7", {}, None)),
        ("4.1", None, Generation("4.1", {}, None)),
        ("4.4", None, Generation("4.3", {}, None)),
    ],
)
def test_each_release_has_a_generation_with_its_switches(
    version: str, mode: str | None, generation: Generation
) -> None:
    files = [] if mode is None else [file("server.properties", "broker.id=1", mode)]
    cluster = read(*files, version=version)
    assert cluster.generation == generation
    has_kraft = mode is KRAFT or (mode is None and version >= "3.3")
    says = meaning(cluster, "metadata.version" if has_kraft else "inter.broker.protocol.version")
    told = "not modelled; the nearest generation" if generation.why_undecided else "the replication protocol"
    assert says.startswith(f"{told} is {generation.protocol}")


@pytest.mark.parametrize("release", STAND_INS)
def test_the_model_names_the_same_generation_for_a_release(release: str) -> None:
    """`check kafka --protocol 3.0` says which generation stands for 3.0."""
    major = int(release.partition(".")[0])
    zookeeper, kraft = (
        read(file("server.properties", "broker.id=1", mode), version=release).generation.protocol if is_possible else ""
        for mode, is_possible in ((ZOOKEEPER, major < 4), (KRAFT, major > 2))
    )
    says = f"{zookeeper} stands for it with ZooKeeper, {kraft} with KRaft" if zookeeper and kraft else ""
    assert STAND_INS[release].startswith(says or f"{zookeeper or kraft} stands for it")


@pytest.mark.parametrize(
    ("versions", "acks", "unclean_election", "retries", "is_idempotent"),
    [
        ("0.8.2 0.9 0.9.0.1", "1", True, 0, False),
        ("2.2 2.8.2", "1", False, 2147483647, False),
        ("3.0 3.0-IV0 3.1.0", "all", False, 2147483647, False),
        ("3.0.1 3.1.1 3.2 3.9 3.9.1 4.1 4.3", "all", False, 2147483647, True),
    ],
)
def test_each_version_has_its_own_defaults(
    versions: str, acks: str, unclean_election: bool, retries: int, is_idempotent: bool
) -> None:
    for version in versions.split():
        cluster, usual = read(version=version), f"Kafka {version}'s default"
        assert cluster.producer.acks == Setting(acks, usual)
        assert cluster.producer.retries == Setting(retries, usual)
        assert cluster.producer.is_idempotent.value is is_idempotent, version
        assert cluster.unclean_election == Setting(unclean_election, usual)
        assert (cluster.min_insync_replicas.value, cluster.replication_factor.value) == (1, 1), version


def test_from_3_0_to_3_1_0_the_default_of_idempotence_has_no_effect() -> None:
    for version in ("3.0", "3.1.0"):
        source = f"Kafka {version}'s default, true, has no effect (KAFKA-13598)"
        assert read(version=version).producer.is_idempotent == Setting(False, source)


def test_no_version_given() -> None:
    cluster = read(file("topic.properties", "min.insync.replicas=2", "replication.factor=3"), version=None)
    assert cluster.kafka_version is None
    assert cluster.generation == Generation("4.3", {}, None)
    assert cluster.min_insync_replicas == Setting(2, "topic.properties:1")
    assert cluster.producer.acks == Setting("all", "Kafka 4.4's default")
    source = "not given: the newest release"
    elr = "the default of a cluster created with 4.1 or newer; give eligible.leader.replicas.version=0 if it is off"
    assert understood(cluster)[:2] == [
        f"Kafka version=4.4 ({source}): decides the defaults",
        f"metadata.version=4.4 ({source}): the replication protocol is 4.3",
    ]
    assert cluster.generation.taken == (
        f"Generation 4.3 is taken: Kafka 4.4 ({source}) with KRaft (the only mode since 4.0), "
        f"with eligible leader replicas ({elr})"
    )


def test_without_a_version_a_cluster_with_zookeeper_is_of_the_last_release_with_it() -> None:
    cluster = read(file("server.properties", "broker.id=1", ZOOKEEPER), version=None)
    assert cluster.kafka_version is None
    assert cluster.generation == Generation("2.8", NO_DIVERGING_HW | GATE, None)
    assert cluster.generation.taken == (
        "Generation 2.8 is taken with HW_FROM_DIVERGING_RESP=off, HW_MINISR_GATE=on: Kafka 3.9 (not given: the last "
        f"release with ZooKeeper) with ZooKeeper ({ZOOKEEPER} in server.properties:2)"
    )


@pytest.mark.parametrize(
    ("version", "mode", "taken"),
    [
        ("2.1", None, "Generation 2.1 is taken: Kafka 2.1 (--kafka-version) with ZooKeeper (the only mode before"
         " 2.8)"),
        ("3.2", None, "Generation 2.8 is taken: Kafka 3.2 (--kafka-version) with ZooKeeper (assumed: KRaft was a"
         " preview before 3.3)"),
        ("3.4", None, "Generation 3.3 is taken: Kafka 3.4 (--kafka-version) with KRaft (assumed: give"
         " zookeeper.connect in a broker's file if it uses ZooKeeper)"),
        ("3.4", "inter.broker.protocol.version=3.4", "Generation 2.8 is taken: Kafka 3.4 (--kafka-version) with"
         " ZooKeeper (inter.broker.protocol.version in server.properties:1 is not for KRaft)"),
        ("3.6", KRAFT, "Generation 3.5 is taken with EPOCH_BUMP_ON_SHRINK=off: Kafka 3.6 (--kafka-version) with"
         " KRaft"
         " (process.roles=broker in server.properties:1)"),
        ("3.1.2", KRAFT, "Generation 3.3, the oldest KRaft modelled, is taken: Kafka 3.1.2 (--kafka-version) with"
         " KRaft (process.roles=broker in server.properties:1)"),
        ("4.0", None, "Generation 4.0 is taken with RESPONSE_EPOCH_MATCHED=off: Kafka 4.0 (--kafka-version) with"
         " KRaft (the only mode since 4.0),"
         " without eligible leader replicas (off by default before 4.1-IV0)"),
        ("4.6", "eligible.leader.replicas.version=0", "Generation 4.3, the newest one modelled, is taken with"
         " ELR=off: Kafka 4.6"
         " (--kafka-version) with KRaft (eligible.leader.replicas.version=0 in server.properties:1), without eligible"
         " leader replicas (eligible.leader.replicas.version=0 in server.properties:1)"),
    ],
)  # fmt: skip
def test_the_first_line_says_which_generation_is_taken_and_why(version: str, mode: str | None, taken: str) -> None:
    files = [(BROKER, file("server.properties", mode))] if mode else []
    assert read(*files, version=version).generation.taken == taken


# --- KRaft, and its metadata version ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "metadata_version", "generation"),
    [
        (None, "3.3", Generation("3.3", {}, None)),
        (None, "3.6-IV0", Generation("3.5", {"EPOCH_BUMP_ON_SHRINK": "off"}, None)),
        ("3.6", "3.5-IV2", Generation("3.5", {}, None)),
        ("3.6", "3.5-IV1", Generation("3.5", {}, None)),
        ("3.6", "3.5-IV0", Generation("3.5", {"BROKER_STATE_CHECK": "FENCED"}, None)),
        ("3.9", "3.6", Generation("3.7", {}, None)),
        ("3.9", "3.5", Generation("3.7", {"EPOCH_BUMP_ON_SHRINK": "on"}, None)),
        ("3.9", "3.4", Generation("3.7", {"BROKER_STATE_CHECK": "FENCED", "EPOCH_BUMP_ON_SHRINK": "on"}, None)),
        ("4.1", "4.0-IV3", Generation("4.1", WITHOUT_ELR, None)),
        ("4.1", "4.1-IV0", Generation("4.1", {}, None)),
        (
            "4.1",
            "3.3",
            Generation("4.1", WITHOUT_ELR | {"BROKER_STATE_CHECK": "FENCED", "EPOCH_BUMP_ON_SHRINK": "on"}, None),
        ),
    ],
)
def test_the_metadata_version_decides_what_the_controller_does(
    version: str | None, metadata_version: str, generation: Generation
) -> None:
    given = read(version=version, metadata_version=metadata_version)
    assert given.generation == generation
    assert (given.understood[1].key, given.understood[1].value) == ("metadata.version", metadata_version)
    assert given.kafka_version is not None
    in_file = read(file("server.properties", "node.id=1", f"metadata.version={metadata_version}"), version=version)
    assert in_file.generation == generation
    assert in_file.ignored[1:] == ()


@pytest.mark.parametrize(
    ("version", "level", "differs"),
    [
        ("4.0.1", 1, {"ELR": "on"}),
        ("4.0.1", 0, {}),
        *((version, level, {} if level else WITHOUT_ELR) for version in ("4.1", "4.3") for level in (0, 1)),
    ],
)
def test_a_feature_decides_on_eligible_leader_replicas(version: str, level: int, differs: dict[str, str]) -> None:
    cluster = read(file("server.properties", "node.id=1", f"eligible.leader.replicas.version={level}"), version=version)
    assert cluster.generation == Generation(version[:3], differs, None)


def test_kraft_keys_are_understood() -> None:
    lines = (
        "process.roles=broker,controller",
        "node.id=1",
        "controller.quorum.voters=1@a:9093",
        "controller.listener.names=CONTROLLER",
        "broker.session.timeout.ms=9000",
        "broker.heartbeat.interval.ms=2000",
        "controller.quorum.election.timeout.ms=1000",
        "inter.broker.protocol.version=3.3",
    )
    cluster = read(file("server.properties", *lines), version="3.9")
    assert cluster.generation == Generation("3.7", {}, None)
    assert understood(cluster)[2:4] == [
        "process.roles=broker,controller (server.properties:1): metadata is kept by controllers (KRaft)",
        "controller.quorum.voters=1@a:9093 (server.properties:3): metadata is kept by controllers (KRaft)",
    ]
    assert ignored(cluster, WhyIgnored.NOT_MODELLED) == dict.fromkeys(
        ("broker.session.timeout.ms", "broker.heartbeat.interval.ms", "controller.quorum.election.timeout.ms"),
        "time is not modelled: the answer covers every value",
    )
    assert ignored(cluster, WhyIgnored.NO_BEARING) == {
        "node.id": "has no bearing on replication",
        "controller.listener.names": "has no bearing on replication",
        "inter.broker.protocol.version": "a KRaft cluster has metadata.version instead",
    }


@pytest.mark.parametrize(
    ("lines", "version", "metadata_version", "says"),
    [
        ((KRAFT, ZOOKEEPER), "3.9", None, "server.properties:2: zookeeper.connect=a:2181 contradicts KRaft"
         " (process.roles=broker in server.properties:1): either ZooKeeper or KRaft"
         " controllers keep the metadata of a cluster; leave one of"
         " them out"),
        ((ZOOKEEPER,), None, "3.6", "server.properties:1: zookeeper.connect=a:2181 contradicts KRaft"
         " (--metadata-version): either ZooKeeper or KRaft controllers keep"
         " the metadata of a cluster; leave one of them out"),
        ((ZOOKEEPER,), "4.0", None, "--kafka-version: Kafka 4.0 contradicts ZooKeeper (zookeeper.connect=a:2181 in"
         " server.properties:1): 3.9 is the last release with ZooKeeper; correct --kafka-version, or leave the other"
         " out"),
        ((KRAFT,), "2.7", None, "--kafka-version: Kafka 2.7 contradicts KRaft (process.roles=broker in"
         " server.properties:1): KRaft came with 2.8; correct --kafka-version, or leave the other out"),
        ((KRAFT, "inter.broker.protocol.version=2.8"), "3.9", None, "server.properties:2:"
         " inter.broker.protocol.version: a"
         " KRaft broker refuses 2.8, which is older than 3.0-IV1; leave it out, and give --metadata-version if you"
         " know it"),
        ((KRAFT, "inter.broker.protocol.version=3.7"), "3.6", None, "server.properties:2:"
         " inter.broker.protocol.version:"
         " Kafka 3.6 refuses 3.7, which is newer; write 3.6 or older, or correct --kafka-version"),
        ((KRAFT,), "3.5", "3.6-IV0", "--metadata-version: metadata.version: Kafka 3.5 refuses 3.6-IV0, which is"
         " newer; write"
         " 3.5 or older, or correct --kafka-version"),
        ((KRAFT, "metadata.version=3.4"), "3.5", "3.5", "server.properties:2: metadata.version=3.4 contradicts"
         " --metadata-version 3.5; a cluster has one metadata.version: keep one of them"),
        ((KRAFT,), "4.0", "3.2", "--metadata-version: metadata.version: Kafka 4.0 refuses 3.2, which is older than"
         " 3.3-IV3;"
         " raise metadata.version, or correct --kafka-version"),
        ((KRAFT,), None, "2.8", "--metadata-version: there is no metadata.version 2.8; the first one is 3.0-IV1, of"
         " Kafka"
         " 3.0 with KRaft"),
        ((KRAFT,), None, "3.6-IV9", "--metadata-version: Kafka has no internal version 3.6-IV9; write 3.6"),
        ((KRAFT, "eligible.leader.replicas.version=1"), "3.9", None, "server.properties:2:"
         " eligible.leader.replicas.version=1"
         " needs metadata.version 4.0-IV1 or newer, but it is 3.9 (--kafka-version); correct one of them"),
        ((KRAFT, ZOOKEEPER, MIGRATES), "4.1", None, "--kafka-version: Kafka 4.1 contradicts"
         " zookeeper.metadata.migration.enable=true in server.properties:3: 3.9 is the last release with ZooKeeper;"
         " correct --kafka-version, or leave the other out"),
    ],
)  # fmt: skip
def test_contradictory_modes_and_versions_are_refused(
    lines: tuple[str, ...], version: str | None, metadata_version: str | None, says: str
) -> None:
    path = file("server.properties", *lines)
    assert complaint((BROKER, path), version=version, metadata_version=metadata_version) == says


@pytest.mark.parametrize("version", ["3.9", None])
@pytest.mark.parametrize(("roles", "protocol"), [("", "2.8"), ("process.roles=broker", "3.7")])
def test_a_migration_is_not_modelled(roles: str, protocol: str, version: str | None) -> None:
    lines = (ZOOKEEPER, "controller.quorum.voters=1@a:9093", roles, MIGRATES)
    cluster = read(file("server.properties", *lines), version=version)
    assert cluster.generation.protocol == protocol
    assert ": Kafka 3.9 (" in cluster.generation.taken
    assert cluster.generation.why_undecided == (
        "zookeeper.metadata.migration.enable=true (server.properties:4): a migration to KRaft is not modelled"
    )


def test_before_3_4_no_broker_migrates() -> None:
    lines = (ZOOKEEPER, "controller.quorum.voters=1@a:9093", KRAFT, MIGRATES)
    assert read(file("server.properties", *lines), version="3.3").generation == Generation("3.3", {}, None)


def test_a_key_that_ended_with_zookeeper_bounds_the_assumed_release() -> None:
    path = file("server.properties", KRAFT, "inter.broker.protocol.version=3.3")
    assert read(path, version=None).generation.taken == (
        "Generation 3.7 is taken: Kafka 3.9 (not given: the last release that knows inter.broker.protocol.version"
        " (server.properties:2)) with KRaft (process.roles=broker in server.properties:1)"
    )


def test_processes_of_a_cluster_have_roles_of_their_own() -> None:
    files = [file(f"{roles}.properties", f"process.roles={roles}") for roles in ("broker", "controller")]
    assert read(*files, version="3.9").generation == Generation("3.7", {}, None)


@pytest.mark.parametrize(
    ("binaries", "agreed", "generation"),
    [
        ("2.7", "2.6", Generation("2.4", {"EPOCH_ENTRY_AT_END_DROPPED": "on"}, None)),
        ("2.7", "2.7-IV1", Generation("2.4", {"EPOCH_ENTRY_AT_END_DROPPED": "on"}, None)),
        ("2.7", "2.7-IV2", Generation("2.8", NO_DIVERGING_HW, None)),
        ("2.8.1", "2.7", Generation("2.8", {}, None)),
        ("3.6", "2.6", Generation("2.4", {"EPOCH_ENTRY_AT_END_DROPPED": "on"}, None)),
        ("3.9", "2.0", Generation("2.4", {"EPOCH_ENTRY_AT_END_DROPPED": "on", **GATE, "TRUNC": "KIP279"}, None)),
        ("2.8.1", "2.7-IV1", Generation("2.4", {"EPOCH_ENTRY_AT_END_DROPPED": "on"}, "inter.broker.protocol.version"
         " 2.7-IV1, truncation on fetch without AlterPartition, is not modelled")),
        ("2.6", "2.0", Generation("2.4", {"TRUNC": "KIP279"}, None)),
    ],
)  # fmt: skip
def test_an_older_inter_broker_protocol_keeps_the_isr_in_zookeeper(
    binaries: str, agreed: str, generation: Generation
) -> None:
    path = file("server.properties", "broker.id=1", f"inter.broker.protocol.version={agreed}")
    assert read(path, version=binaries).generation == generation


@pytest.mark.parametrize(
    ("told", "kafka_version", "protocol"),
    [
        ("0.10.2", "0.10.2", "0.10"),
        ("0.10.1-IV2", "0.10.1", "0.10"),
        ("0.10.2.1", "0.10.2", "0.10"),
        ("1.1", "1.1", "0.11"),
        ("2.1-IV2", "2.1", "2.1"),
        ("2.5", "2.5", "2.4"),
        ("3.4", "3.4", "2.8"),
    ],
)
def test_the_inter_broker_protocol_version_stands_in_for_the_version(
    told: str, kafka_version: str, protocol: str
) -> None:
    cluster = read(file("server.properties", "broker.id=0", f"inter.broker.protocol.version={told}"), version=None)
    assert cluster.kafka_version == Setting(kafka_version, "server.properties:2")
    assert cluster.generation == Generation(protocol, {}, None)
    says = f"the replication protocol is {protocol}"
    assert understood(cluster)[:2] == [
        f"Kafka version={kafka_version} (server.properties:2): decides the defaults",
        f"inter.broker.protocol.version={told} (server.properties:2): {says}",
    ]
    assert cluster.producer.acks.source == f"Kafka {kafka_version}'s default"


@pytest.mark.parametrize(
    ("binaries", "agreed", "protocol", "truncation", "says"),
    [
        ("2.1", "0.10.2", "2.1", "HW", ", but followers truncate to the high watermark"),
        ("2.1", "0.11.0-IV1", "2.1", "HW", ", but followers truncate to the high watermark"),
        ("2.1", "0.11.0", "2.1", "KIP101", ", but followers reconcile by leader epochs as in 0.11 (KIP-101)"),
        ("2.1", "1.1", "2.1", "KIP101", ", but followers reconcile by leader epochs as in 0.11 (KIP-101)"),
        ("2.1", "2.0-IV0", "2.1", "KIP279",
         ", but followers reconcile by leader epochs as in 2.0 (KIP-279), without fencing"),
        ("2.1", "2.1-IV1", "2.1", "KIP279",
         ", but followers reconcile by leader epochs as in 2.0 (KIP-279), without fencing"),
        ("2.1", "2.1-IV2", "2.1", None, ""),
        ("2.1.1", "2.1", "2.1", None, ""),
        ("2.0", "1.0", "2.0", "KIP101", ", but followers reconcile by leader epochs as in 0.11 (KIP-101)"),
        ("2.0", "2.0", "2.0", None, ""),
        ("1.1", "0.11.0-IV0", "0.11", "HW", ", but followers truncate to the high watermark"),
        ("1.1", "0.11.0-IV2", "0.11", None, ""),
        ("0.10.2", "0.9.0", "0.10", None, ""),
    ],
)  # fmt: skip
def test_the_inter_broker_protocol_decides_how_followers_truncate_and_the_binaries_all_else(
    binaries: str, agreed: str, protocol: str, truncation: str | None, says: str
) -> None:
    cluster = read(file("server.properties", f"inter.broker.protocol.version={agreed}"), version=binaries)
    assert cluster.kafka_version == Setting(binaries, "--kafka-version")
    assert cluster.generation == Generation(protocol, {"TRUNC": truncation} if truncation else {}, None)
    assert understood(cluster)[1] == (
        f"inter.broker.protocol.version={agreed} (server.properties:1): the replication protocol is {protocol}{says}"
    )


# --- The format of the records ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "lines", "generation", "key", "says"),
    [
        ("2.1.1", ("message.format.version=0.10.2",), Generation("2.1", {"TRUNC": "HW"}, None),
         "message.format.version", OLD_FORMAT),
        ("2.0.0", ("log.message.format.version=0.9.0",), Generation("2.0", {"TRUNC": "HW"}, None),
         "log.message.format.version", f"{OLD_FORMAT} (taken as the broker's)"),
        ("1.1.1", ("message.format.version=0.10.0-IV1",), Generation("0.11", {"TRUNC": "HW"}, None),
         "message.format.version", OLD_FORMAT),
        ("1.0.2", ("message.format.version=0.10.2",), Generation("0.11", {"TRUNC": "HW"}, None),
         "message.format.version", OLD_FORMAT),
        ("0.11.0.3", ("message.format.version=0.10.2",), Generation("0.11", {"TRUNC": "HW"}, None),
         "message.format.version", OLD_FORMAT),
        ("2.1", ("message.format.version=0.11.0",), Generation("2.1", {}, None),
         "message.format.version", "records have leader epochs"),
        ("0.10.2", ("message.format.version=0.9.0",), Generation("0.10", {}, None),
         "message.format.version", "records have no leader epochs, which came with 0.11"),
        # With the inter-broker protocol of 0.10 the format decides nothing more.
        ("2.1", ("message.format.version=0.10.2", "inter.broker.protocol.version=0.10.2"),
         Generation("2.1", {"TRUNC": "HW"}, None), "message.format.version", OLD_FORMAT),
    ],
)  # fmt: skip
def test_records_without_leader_epochs_are_truncated_to_the_high_watermark(
    version: str, lines: tuple[str, ...], generation: Generation, key: str, says: str
) -> None:
    cluster = read((TOPIC, file("topic.properties", *lines)), version=version)
    assert cluster.generation == generation
    assert meaning(cluster, key) == says


ANSWERS, RECORDS = "answers with its log end offset (KAFKA-6857)", "still records its leader epoch (KAFKA-7897)"


@pytest.mark.parametrize(
    ("version", "why"),
    [
        *((version, ANSWERS) for version in ("0.11.0.2", "0.11", "1.0.1", "1.1.0", "1.1")),
        *((version, RECORDS) for version in ("2.0.1", "2.1.0", "2.1")),
    ],
)
def test_releases_that_treat_such_records_differently_are_undecided(version: str, why: str) -> None:
    cluster = read(file("topic.properties", "message.format.version=0.10.2"), version=version)
    assert cluster.generation.switches["TRUNC"] == "HW"
    assert cluster.generation.why_undecided == (
        f"with message.format.version=0.10.2 a leader of Kafka {version} {why}, which is not modelled"
    )


def test_the_effective_record_format() -> None:
    topic = file("topic.properties", "message.format.version=0.10.2")
    broker = file("server.properties", "broker.id=0", "log.message.format.version=0.11.0")
    cluster = read(topic, broker, version="2.1.1")
    assert cluster.generation.switches == {"TRUNC": "HW"}
    assert ignored(cluster, WhyIgnored.OVERRIDDEN) == {
        "log.message.format.version": "overridden by the topic's message.format.version in topic.properties:1"
    }
    newer = file("topic.properties", "message.format.version=2.1")
    older = file("server.properties", "broker.id=0", "inter.broker.protocol.version=1.1")
    cluster = read(newer, older, version="2.1.1")
    assert cluster.generation.switches == {"TRUNC": "KIP101"}
    assert ignored(cluster, WhyIgnored.NO_BEARING)["message.format.version"] == (
        "Kafka ignores it: newer than inter.broker.protocol.version 1.1"
    )
    cluster = read(topic, version="3.0")
    assert cluster.generation == Generation("2.8", {}, None)
    assert ignored(cluster, WhyIgnored.NO_BEARING) == {
        "message.format.version": "Kafka ignores it since 3.0: every record has the newest format"
    }


def test_records_without_leader_epochs_are_not_modelled_with_truncation_on_fetch() -> None:
    topic = file("topic.properties", "message.format.version=0.10.2")
    assert read(topic, version="2.8.1").generation == Generation(
        "2.8", {}, "message.format.version=0.10.2: truncation on fetch without leader epochs is not modelled"
    )
    assert read(topic, version="2.6").generation == Generation("2.4", {"TRUNC": "HW"}, None)


@pytest.mark.parametrize(
    ("version", "agreed", "record_format", "is_refused"),
    [
        ("0.10.2", "0.10.0", "0.10.1", True),
        ("1.0", "0.11.0", "1.0", True),
        ("1.0", "1.0", "0.11.0", False),
        ("1.1", "0.11.0", "1.0", False),  # the same record version
        ("1.1", "0.10.2", "0.11.0", True),
        ("2.1", "0.10.2", "2.1", True),
        ("2.1", "0.9.0", "0.10.0", True),
        ("2.1", "0.11.0", "2.1", False),
    ],
)
def test_a_broker_refuses_a_format_that_its_protocol_cannot_carry(
    version: str, agreed: str, record_format: str, is_refused: bool
) -> None:
    broker = file(
        "server.properties", f"log.message.format.version={record_format}", f"inter.broker.protocol.version={agreed}"
    )
    if not is_refused:
        read(broker, version=version)
        return
    assert complaint(broker, version=version) == (
        f"server.properties:1: log.message.format.version={record_format}: a broker of Kafka {version} refuses to "
        f"start with it, because inter.broker.protocol.version is {agreed} (server.properties:2); "
        f"write log.message.format.version={agreed}, or raise inter.broker.protocol.version"
    )


@pytest.mark.parametrize(
    ("binaries", "release", "protocol"),
    [
        ("0.10.1", "0.10.1", "0.10.2"),
        ("0.10.2", "0.10.2", "0.11.0"),
        ("0.10.2.1", "0.10.2", "2.1"),
        ("0.9", "0.9", "0.10.0"),
        ("2.1-IV1", "2.1", "2.1-IV2"),
        ("3.8", "3.8", "3.9"),
    ],
)
def test_a_broker_refuses_a_newer_inter_broker_protocol(binaries: str, release: str, protocol: str) -> None:
    broker = file("server.properties", f"inter.broker.protocol.version={protocol}")
    assert complaint(broker, version=binaries) == (
        f"server.properties:1: inter.broker.protocol.version: Kafka {binaries} refuses {protocol}, which is newer; "
        f"write {release} or older, or correct --kafka-version"
    )


@pytest.mark.parametrize(
    ("binaries", "protocol"),
    [("0.10", "0.10.2"), ("0.10.2.1", "0.10.2"), ("0.10.0", "0.10.0-IV1"), ("2.1-IV2", "2.1"), ("3.9.1", "3.9")],
)
def test_a_broker_accepts_its_own_inter_broker_protocol(binaries: str, protocol: str) -> None:
    read(file("server.properties", f"inter.broker.protocol.version={protocol}"), version=binaries)


@pytest.mark.parametrize(
    "version", ["", "abc", "3", "v3.9", "3.9-rc1", "2.11-0.10.2.1", "0.10.2.", "0.10.2.1.5", "0.10.2-IV", "٣.٩", " 3.9"]
)
def test_ill_formed_versions(version: str) -> None:
    cure = f"{version!r} is not a version of Kafka; write for example 0.10.2, 0.10.1-IV2 or 3.9"
    assert complaint(version=version) == f"--kafka-version: {cure}"


@pytest.mark.parametrize(
    ("version", "nearest"),
    [("0.7", "0.8.0"), ("0.7.2", "0.8.0"), ("0.10.3", "0.10.2"), ("0.12", "0.11.0"), ("1.2", "1.1"), ("2.9", "2.8"),
     ("3.10", "3.9")],
)  # fmt: skip
def test_nonexistent_versions(version: str, nearest: str) -> None:
    reason = f"Kafka {version} does not exist or has no replication; write another release, for example {nearest}"
    assert complaint(version=version) == f"--kafka-version: {reason}"
    broker = file("server.properties", f"inter.broker.protocol.version={version}")
    assert complaint(broker, version=None) == f"server.properties:1: inter.broker.protocol.version: {reason}"


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("7.6", "7.6 is no release of Kafka; Confluent Platform 7.6 contains Kafka 3.6: write 3.6"),
        ("7.6.1", "7.6.1 is no release of Kafka; Confluent Platform 7.6 contains Kafka 3.6: write 3.6"),
        ("5.0", "5.0 is no release of Kafka; Confluent Platform 5.0 contains Kafka 2.0: write 2.0"),
        ("5.5", "5.5 is no release of Kafka; Confluent Platform 5.5 contains Kafka 2.5: write 2.5"),
        ("6.2", "6.2 is no release of Kafka; Confluent Platform 6.2 contains Kafka 2.8: write 2.8"),
        ("8.1.0", "8.1.0 is no release of Kafka; Confluent Platform 8.1 contains Kafka 4.1: write 4.1"),
        ("10.0", "10.0 is no release of Kafka, whose newest release here is 4.4; write the release of Kafka that the"
         " distribution contains"),
    ],
)  # fmt: skip
def test_numbers_of_distributions_are_refused(version: str, says: str) -> None:
    assert complaint(version=version) == f"--kafka-version: {says}"


def test_there_is_no_inter_broker_protocol_since_4_0() -> None:
    assert complaint(file("server.properties", "broker.id=1", "inter.broker.protocol.version=4.0"), version=None) == (
        "server.properties:2: inter.broker.protocol.version: 4.0 is no version of the inter-broker protocol, which"
        " ends "
        "with 3.9; write 3.9"
    )


@pytest.mark.parametrize(
    ("version", "release"), [("0.10.2-IV1", "0.10.2"), ("0.9.0-IV0", "0.9.0"), ("2.1-IV3", "2.1"), ("0.10-IV0", "0.10")]
)
def test_nonexistent_internal_versions(version: str, release: str) -> None:
    reason = f"Kafka has no internal version {version}; write {release}"
    assert complaint(version=version) == f"--kafka-version: {reason}"
    broker = file("server.properties", f"inter.broker.protocol.version={version}")
    assert complaint(broker, version=None) == f"server.properties:1: inter.broker.protocol.version: {reason}"


def test_part_of_a_release_is_no_inter_broker_protocol() -> None:
    assert complaint(file("server.properties", "inter.broker.protocol.version=0.10")) == (
        "server.properties:1: inter.broker.protocol.version: Kafka refuses '0.10', which is incomplete; "
        "write one of 0.10.0, 0.10.1, 0.10.2"
    )


# --- What Kafka makes of a producer's settings ------------------------------------------------------------------------

FIRST, MIDDLE, LATE = (
    ("0.11", "0.11.0.3"),
    ("1.0", "1.1", "2.0", "2.1", "2.8", "3.0.0", "3.1.0"),
    ("3.0.1", "3.1.1", "3.2", "3.9", "4.1"),
)
IDEMPOTENT, TRANSACTIONAL = "enable.idempotence=true", "transactional.id=t"


def producer(*lines: str, version: str) -> Producer:
    return read((PRODUCER, file("p.properties", *lines)), version=version).producer


def refused(*lines: str, version: str) -> str:
    text = complaint((PRODUCER, file("p.properties", *lines)), version=version)
    place, _, rest = text.partition(f": a producer of Kafka {version} refuses to start with it, because ")
    assert rest, text
    return f"{place} | {rest}"


@pytest.mark.parametrize("version", [*FIRST, *MIDDLE])
@pytest.mark.parametrize("asked", [IDEMPOTENT, TRANSACTIONAL])
def test_unset_keys_of_an_idempotent_producer_get_derived_defaults(version: str, asked: str) -> None:
    found = producer(asked, version=version)
    because, usual = f"because of {asked} in p.properties:1", f"Kafka {version}'s default"
    is_old = not version.startswith("3")
    has_retries = version in ("2.1", "2.8", "3.0.0", "3.1.0")
    assert found.acks == Setting("all", f"becomes all {because}" if is_old else usual)
    assert found.retries == Setting(2147483647, usual if has_retries else f"becomes 2147483647 {because}")
    assert found.in_flight == (Setting(1, f"becomes 1 {because}") if version in FIRST else Setting(5, usual))
    assert found.is_idempotent == Setting(True, "p.properties:1" if asked == IDEMPOTENT else f"becomes true {because}")
    assert found.has_transactions.value is (asked == TRANSACTIONAL)


@pytest.mark.parametrize("version", LATE)
def test_later_producers_are_idempotent_by_default(version: str) -> None:
    usual = f"Kafka {version}'s default"
    found = producer(version=version)
    assert found.is_idempotent == Setting(True, usual)
    assert (found.acks, found.retries, found.in_flight) == (
        Setting("all", usual),
        Setting(2147483647, usual),
        Setting(5, usual),
    )
    assert producer("enable.idempotence=false", "acks=1", version=version).is_idempotent.value is False
    assert producer(TRANSACTIONAL, version=version).is_idempotent == Setting(True, usual)


@pytest.mark.parametrize(
    ("line", "need", "cure"),
    [
        ("acks=0", "acks=all", "write acks=all"),
        ("acks=1", "acks=all", "write acks=all"),
        ("retries=0", "retries above 0", "leave retries out"),
        ("max.in.flight.requests.per.connection=6", "max.in.flight.requests.per.connection of at most 5",
         "write max.in.flight.requests.per.connection=5"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", [*MIDDLE, *LATE])
def test_settings_incompatible_with_idempotence_are_refused(version: str, line: str, need: str, cure: str) -> None:
    assert refused(IDEMPOTENT, line, version=version) == (
        f"p.properties:2: {line} | enable.idempotence=true (p.properties:1) needs {need}; "
        f"{cure}, or write enable.idempotence=false"
    )


@pytest.mark.parametrize("version", FIRST)
def test_the_first_idempotent_producers_allow_one_request_in_flight(version: str) -> None:
    for count in (2, 5, 6):
        line = f"max.in.flight.requests.per.connection={count}"
        assert refused(IDEMPOTENT, line, version=version) == (
            f"p.properties:2: {line} | enable.idempotence=true (p.properties:1) needs "
            "max.in.flight.requests.per.connection=1; write max.in.flight.requests.per.connection=1, "
            "or write enable.idempotence=false"
        )
    assert producer(IDEMPOTENT, "max.in.flight.requests.per.connection=1", version=version).in_flight.value == 1
    assert refused(IDEMPOTENT, "acks=1", version=version).startswith("p.properties:2: acks=1 | ")
    assert refused(IDEMPOTENT, "retries=0", version=version).startswith("p.properties:2: retries=0 | ")


@pytest.mark.parametrize("version", [*FIRST, *MIDDLE])
def test_a_transactional_id_enables_idempotence_and_its_requirements(version: str) -> None:
    assert refused(TRANSACTIONAL, "acks=1", version=version) == (
        "p.properties:2: acks=1 | transactional.id=t (p.properties:1), which enables idempotence, needs acks=all; "
        "write acks=all, or leave transactional.id out"
    )


@pytest.mark.parametrize("version", LATE)
@pytest.mark.parametrize(
    ("line", "cure"),
    [
        ("acks=1", "write acks=all"),
        ("retries=0", "leave retries out"),
        ("max.in.flight.requests.per.connection=6", "write max.in.flight.requests.per.connection=5"),
    ],
)
def test_default_idempotence_yields_to_other_settings(version: str, line: str, cure: str) -> None:
    if version == "4.1" and line.startswith("max.in.flight"):
        version = "3.9"  # since 4.0 it is refused
    assert producer(line, version=version).is_idempotent == Setting(
        False, f"disabled because of {line} in p.properties:1"
    )
    assert refused(TRANSACTIONAL, line, version=version) == (
        f"p.properties:2: {line} | it disables idempotence, which transactional.id=t (p.properties:1) needs; "
        f"{cure}, or leave transactional.id out"
    )


@pytest.mark.parametrize("more", [(), ("acks=1",), ("retries=0",), (TRANSACTIONAL,)])
@pytest.mark.parametrize("version", ["4.0", "4.1"])
def test_since_4_0_too_many_requests_in_flight_are_refused(version: str, more: tuple[str, ...]) -> None:
    """KAFKA-17927: the bound is checked before another setting disables idempotence."""
    line = "max.in.flight.requests.per.connection=6"
    assert refused(line, *more, version=version) == (
        f"p.properties:1: {line} | enable.idempotence=true (Kafka {version}'s default) needs"
        " max.in.flight.requests.per.connection of at most 5; write max.in.flight.requests.per.connection=5"
        + ("" if TRANSACTIONAL in more else ", or write enable.idempotence=false")
    )
    assert producer(line, "enable.idempotence=false", version=version).is_idempotent.value is False


@pytest.mark.parametrize("version", [*FIRST, *MIDDLE, *LATE])
def test_a_transactional_id_without_idempotence_is_refused(version: str) -> None:
    assert refused(TRANSACTIONAL, "enable.idempotence=FALSE", version=version) == (
        "p.properties:2: enable.idempotence=FALSE | transactional.id=t (p.properties:1) needs enable.idempotence=true; "
        "write enable.idempotence=true, or leave transactional.id out"
    )


@pytest.mark.parametrize("version", ["0.11", "2.1", "3.9"])
def test_settings_compatible_with_idempotence(version: str) -> None:
    found = producer(IDEMPOTENT, "acks=-1", "retries=1", "max.in.flight.requests.per.connection=1", version=version)
    assert (found.acks.value, found.retries.value, found.in_flight.value) == ("all", 1, 1)


def test_before_0_11_there_is_no_idempotence() -> None:
    cluster = read((PRODUCER, file("p.properties", IDEMPOTENT, TRANSACTIONAL, "acks=1")), version="0.10.2")
    assert cluster.producer.is_idempotent.value is False
    assert cluster.producer.has_transactions.value is False
    assert cluster.producer.acks.value == "1"
    assert set(ignored(cluster, WhyIgnored.UNKNOWN)) == {"enable.idempotence", "transactional.id"}


@pytest.mark.parametrize(
    ("lines", "version", "least"),
    [
        (("delivery.timeout.ms=29999",), "2.1", "0 + 30000"),
        (("delivery.timeout.ms=30004", "linger.ms=5"), "2.1", "5 + 30000"),
        (("delivery.timeout.ms=30000",), "4.0", "5 + 30000"),  # the default of linger.ms is 5 since 4.0 (KIP-1030)
        (("delivery.timeout.ms=30000", "linger.ms=1"), "4.1", "1 + 30000"),
        (("delivery.timeout.ms=1005", "linger.ms=6", "request.timeout.ms=1000"), "3.9", "6 + 1000"),
    ],
)
def test_a_delivery_timeout_covers_one_request(lines: tuple[str, ...], version: str, least: str) -> None:
    total = sum(map(int, least.split(" + ")))
    assert refused(*lines, version=version) == (
        f"p.properties:1: {lines[0]} | it has to be at least linger.ms + request.timeout.ms, {least}; "
        f"write delivery.timeout.ms={total} or more"
    )
    enough = (f"delivery.timeout.ms={total}", *lines[1:])
    cluster = read((PRODUCER, file("p.properties", *enough)), version=version)
    assert meaning(cluster, "delivery.timeout.ms") == (
        "limits the resends of a record; the model has no clock, so any resend can be the last"
    )
    # Before 2.1 there is no such setting.
    older = read((PRODUCER, file("p.properties", *lines)), version="2.0")
    assert set(ignored(older, WhyIgnored.UNKNOWN)) == {"delivery.timeout.ms"}


def test_the_meaning_of_producer_and_consumer_settings() -> None:
    cluster = read(
        file("p.properties", "acks=all", "retries=3", "max.in.flight.requests.per.connection=1", TRANSACTIONAL),
        file("c.properties", "group.id=g", "isolation.level=read_committed"),
        version="2.1",
    )
    assert meaning(cluster, "retries") == "a failed request is sent again (two resends are searched)"
    assert meaning(cluster, "max.in.flight.requests.per.connection") == "one request at a time"
    assert meaning(cluster, "enable.idempotence") == "a leader recognises a resend by its sequence number"
    assert meaning(cluster, "transactional.id") == "records belong to transactions"
    assert meaning(cluster, "isolation.level") == "consumers read up to the last stable offset"
    assert cluster.consumer.isolation_level == Setting("read_committed", "c.properties:2")
    plain = read(file("p.properties", "acks=all", "retries=0"), version="2.1")
    assert meaning(plain, "retries") == "a failed request is not sent again"
    assert meaning(plain, "isolation.level") == "consumers read up to the high watermark"


@pytest.mark.parametrize(
    ("line", "version", "policy"),
    [
        ("group.id=g", "2.1", "latest"),
        ("auto.offset.reset=earliest", "2.1", "earliest"),
        ("auto.offset.reset=none", "4.1", "none"),
        ("auto.offset.reset=smallest", "1.1", "earliest"),
        ("auto.offset.reset=largest", "0.8.2", "latest"),
        ("auto.offset.reset=by_duration:P1D", "4.0", "by_duration:P1D"),
    ],
)
def test_where_a_consumer_continues(line: str, version: str, policy: str) -> None:
    consumer = read((CONSUMER, file("c.properties", line)), version=version).consumer
    assert (consumer.offset_reset.value, consumer.is_given) == (policy, True)
    assert (consumer.why_unsearched is None) is not policy.startswith("by_duration")


@pytest.mark.parametrize(
    ("line", "version", "says"),
    [
        ("auto.offset.reset=smallest", "2.0", "auto.offset.reset=smallest: a consumer of Kafka 2.0 refuses to start "
         "with it, because only the old consumers before 2.0 knew that value; write auto.offset.reset=earliest"),
        ("auto.offset.reset=by_duration:P1D", "3.9", "auto.offset.reset=by_duration:P1D: a consumer of Kafka 3.9 "
         "refuses to start with it, because by_duration: came with 4.0; write earliest, latest or none"),
    ],
)  # fmt: skip
def test_a_consumer_that_kafka_refuses(line: str, version: str, says: str) -> None:
    assert complaint((CONSUMER, file("c.properties", line)), version=version) == f"c.properties:1: {says}"


RACK_AWARE = "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector"
OF_THE_LEADER = "replica.selector.class=org.apache.kafka.common.replica.LeaderSelector"


@pytest.mark.parametrize(
    ("broker", "client", "version", "reads"),
    [
        *((RACK_AWARE, "client.rack=a", version, True) for version in ("2.4", "4.1")),
        (RACK_AWARE, "client.rack=a", "2.3", False),
        (RACK_AWARE, "client.rack=", "2.4", False),
        (RACK_AWARE, "group.id=g", "2.4", False),
        (OF_THE_LEADER, "client.rack=a", "2.4", False),
        ("replica.selector.class=", "client.rack=a", "2.4", False),
        ("broker.id=0", "client.rack=a", "2.4", False),
    ],
)
def test_consumers_read_from_followers_if_brokers_and_clients_say_so(
    broker: str, client: str, version: str, reads: bool
) -> None:
    cluster = read((BROKER, file("b.properties", broker)), (CONSUMER, file("c.properties", client)), version=version)
    assert cluster.consumer.reads_followers is reads
    for one in cluster.understood:
        if one.key in ("replica.selector.class", "client.rack"):
            expected = "consumers may read from followers" if reads else "consumers read from the leader"
            assert one.meaning.startswith(expected)


def transactional(*lines: str, version: str, metadata_version: str | None = None) -> Cluster:
    return read(file("x.properties", TRANSACTIONAL, *lines), version=version, metadata_version=metadata_version)


OF_TRANSACTIONS = {
    "0.11": "0.11 2.4.1",
    "2.5": "2.5 3.5",
    "3.6": "3.6",
    "3.7": "3.7",
    "3.8": "3.9",
    "4.0": "4.0",
    "4.1": "4.0.1",
    "4.2": "4.2",
}
"""For each generation of the model `transactions` releases that have it by default."""


@pytest.mark.parametrize(
    ("lines", "version", "metadata_version", "protocol", "values"),
    [
        *(
            ((), release, None, protocol, {})
            for protocol, those in OF_TRANSACTIONS.items()
            for release in those.split()
        ),
        (("transaction.partition.verification.enable=false",), "3.9", None, "3.8", {"TXN_VERIFY": 0}),
        ((), "4.1", "3.9", "3.8", {}),
        (("transaction.version=1",), "4.1", None, "3.8", {}),
        (("transaction.version=2",), "4.1", "3.9", "4.1", {}),
    ],
)
def test_the_generation_of_transactions(
    lines: tuple[str, ...], version: str, metadata_version: str | None, protocol: str, values: dict[str, int]
) -> None:
    found = transactional(*lines, version=version, metadata_version=metadata_version).transactions
    assert found is not None
    assert (found.protocol, found.values, found.why_unsearched) == (protocol, values, None)


def test_what_is_not_known_of_transactions_is_not_searched() -> None:
    found = transactional("transaction.partition.verification.enable=false", version="4.1").transactions
    assert found is not None
    assert found.why_unsearched == (
        "transaction.partition.verification.enable=false beside transaction.version=2 is not modelled"
    )


TIMEOUT_REFUSED = "a coordinator of Kafka 3.9 refuses the producer (INVALID_TRANSACTION_TIMEOUT), because"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["transaction.timeout.ms=900001"], f"2: transaction.timeout.ms=900001: {TIMEOUT_REFUSED} "
         "transaction.timeout.ms=900001 is not between 1 and transaction.max.timeout.ms=900000; write "
         "transaction.timeout.ms=900000 or less, or raise transaction.max.timeout.ms"),
        (["transaction.timeout.ms=0"], f"2: transaction.timeout.ms=0: {TIMEOUT_REFUSED} transaction.timeout.ms=0 is "
         "not between 1 and transaction.max.timeout.ms=900000; write transaction.timeout.ms=900000"),
        (["transaction.max.timeout.ms=59999"], f"2: transaction.max.timeout.ms=59999: {TIMEOUT_REFUSED} "
         "transaction.timeout.ms=60000 is not between 1 and transaction.max.timeout.ms=59999; write "
         "transaction.timeout.ms=59999 or less, or raise transaction.max.timeout.ms"),
    ],
)  # fmt: skip
def test_transactions_that_kafka_refuses(lines: list[str], says: str) -> None:
    path = file("x.properties", TRANSACTIONAL, *lines)
    assert complaint((PRODUCER, path), version="3.9") == f"x.properties:{says}"


def test_a_timeout_within_the_limit_is_accepted_and_needs_a_transactional_id() -> None:
    found = transactional("transaction.timeout.ms=900001", "transaction.max.timeout.ms=900001", version="3.9")
    most = "the most that transaction.timeout.ms may be (taken as the broker's)"
    assert meaning(found, "transaction.max.timeout.ms") == most
    plain = read(file("x.properties", "acks=all", "transaction.timeout.ms=900001"), version="3.9")
    assert plain.transactions is None
    assert ignored(plain, WhyIgnored.NO_TRANSACTIONS) == {"transaction.timeout.ms": "concerns transactions only"}


@pytest.mark.parametrize(("version", "begins"), [("3.6", False), ("3.7", True)])
def test_a_log_of_transactions_with_too_few_replicas(version: str, begins: bool) -> None:
    """Since 3.7 Kafka limits the required replicas to the existing ones."""
    found = transactional(
        "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=2", version=version
    )
    assert found.transactions is not None
    why = "transaction.state.log.min.isr=2 is more than transaction.state.log.replication.factor=1"
    assert found.transactions.why_none_begins == (None if begins else why)
    needed = "a step of a transaction needs 1 of them in sync"
    if not begins:
        needed = "a step of a transaction needs 2 of them in sync: no transaction can begin"
    assert meaning(found, "transaction.state.log.min.isr") == needed


def test_partitioners_are_about_several_partitions() -> None:
    cluster = read(
        file("p.properties", "acks=all", "partitioner.class=x", "partitioner.ignore.keys=true"), version="3.9"
    )
    reason = "chooses a record's partition; Kafka promises no order across partitions"
    assert ignored(cluster, WhyIgnored.PARTITIONS) == dict.fromkeys(
        ("partitioner.class", "partitioner.ignore.keys"), reason
    )


def test_since_3_7_required_replicas_are_limited_to_existing_ones() -> None:
    lines = ("replication.factor=2", "min.insync.replicas=3")
    assert read(file("t.properties", *lines), version="3.6").min_insync_replicas.value == 3
    assert read(file("t.properties", *lines), version="3.7").min_insync_replicas == Setting(2, "t.properties:2")


# --- What is ignored, and why -----------------------------------------------------------------------------------------

NO_CLOCK = "time is not modelled: the answer covers every value"
RETENTION = "retention is not modelled: the answer is for records that are not deleted yet"
OFFSETS_TOPIC = "the topic of consumer offsets, which has its own replicas, is not modelled"


def test_unmodelled_settings_are_distinguished_from_irrelevant_ones() -> None:
    cluster = read(
        file("producer.properties", "acks=all", "linger.ms=5"),
        file("topic.properties", "cleanup.policy=compact", "flush.messages=2", "retention.ms=1000"),
        file(
            "server.properties",
            "broker.id=0",
            "auto.leader.rebalance.enable=true",
            "replica.lag.time.max.ms=3000",
            "offsets.topic.replication.factor=1",
            "offsets.retention.minutes=1",
        ),
    )
    assert ignored(cluster, WhyIgnored.NOT_MODELLED) == {
        "cleanup.policy": "compaction is not modelled: the answer is for a log that keeps every record",
        "flush.messages": (
            "only a flush after every record is modelled: a power loss can lose everything appended since the start"
        ),
        "retention.ms": RETENTION,
        "replica.lag.time.max.ms": NO_CLOCK,
        "offsets.topic.replication.factor": OFFSETS_TOPIC,
    }
    assert ignored(cluster, WhyIgnored.NO_BEARING) == {
        "linger.ms": "has no bearing on replication",
        "broker.id": "has no bearing on replication",
        "offsets.retention.minutes": "concerns an internal topic, not this one",
    }
    assert ignored(cluster, WhyIgnored.UNKNOWN) == {}


@pytest.mark.parametrize(
    ("key", "version", "reason"),
    [
        ("broker.session.timeout.ms", "3.9", NO_CLOCK),
        ("zookeeper.metadata.migration.enable", "3.9", "a migration to KRaft is not modelled"),
        ("replica.lag.time.max.ms", "2.1", NO_CLOCK),
        ("zookeeper.session.timeout.ms", "2.1", NO_CLOCK),
        ("offsets.topic.replication.factor", "2.1", OFFSETS_TOPIC),
        ("offsets.commit.required.acks", "2.1", OFFSETS_TOPIC),
        ("log.retention.hours", "2.1", RETENTION),
        ("leader.imbalance.per.broker.percentage", "2.1", "the model has no clock: with auto.leader.rebalance.enable "
         "leadership can move at any time"),
    ],
)  # fmt: skip
def test_settings_that_affect_replication_are_not_called_irrelevant(key: str, version: str, reason: str) -> None:
    (only,) = read((BROKER, file("server.properties", f"{key}=1")), version=version).ignored
    assert (only.key, only.why, only.reason) == (key, WhyIgnored.NOT_MODELLED, reason)


def test_settings_of_newer_releases_do_not_contradict_a_given_version() -> None:
    newer = file("server.properties", "broker.id=1", "log.local.retention.ms=5", "connections.max.reauth.ms=1")
    assert read(newer, version="2.1").kafka_version == Setting("2.1", "--kafka-version")
    assert ignored(read(newer, version="2.1"), WhyIgnored.UNKNOWN) == {
        "log.local.retention.ms": "Kafka 2.1 does not know this broker setting, which is new in 3.6",
        "connections.max.reauth.ms": "Kafka 2.1 does not know this broker setting, which is new in 2.2",
    }


@pytest.mark.parametrize(
    "line",
    [
        "process.roles=broker,controller",
        "controller.quorum.voters=1@a:9093",
        "controller.quorum.bootstrap.servers=a:9093",
        "metadata.version=3.9",
        "eligible.leader.replicas.version=0",
    ],
)
@pytest.mark.parametrize("version", [None, "3.3", "3.9", "4.0"])
def test_a_cluster_without_zookeeper_is_never_taken_for_one_with_zookeeper(line: str, version: str | None) -> None:
    if line == "metadata.version=3.9" and version == "3.3":
        line = "metadata.version=3.3"
    cluster = read(file("server.properties", "node.id=1", line), version=version)
    assert f"with KRaft ({line} in server.properties:2)" in cluster.generation.taken
    assert cluster.generation.protocol in ("3.3", "3.7", "4.0", "4.3")


def test_no_process_roles_is_a_cluster_with_zookeeper() -> None:
    cluster = read(file("server.properties", "broker.id=1", "process.roles=", ZOOKEEPER), version="3.9")
    assert cluster.generation == Generation("2.8", NO_DIVERGING_HW | GATE, None)


@pytest.mark.parametrize(("lines", "moves"), [((), True), (("=true",), True), (("=False",), False)])
def test_leadership_moves_automatically_unless_disabled(lines: tuple[str, ...], moves: bool) -> None:
    settings = [f"auto.leader.rebalance.enable{value}" for value in lines]
    cluster = read(file("server.properties", "broker.id=1", *settings), version="2.1")
    assert cluster.leader_rebalance.value is moves
    assert meaning(cluster, "auto.leader.rebalance.enable") == (
        "leadership returns to the preferred replica while the leader lives"
        if moves
        else "leadership moves only if the leader fails, or by hand (kafka-leader-election)"
    )


@pytest.mark.parametrize(
    ("topic", "broker", "source"),
    [
        ("flush.messages=1", "broker.id=1", "topic.properties:1"),
        ("retention.ms=1", "log.flush.interval.messages=1", "server.properties:1"),
        ("flush.messages=2", "log.flush.interval.messages=1", None),
        ("retention.ms=1", "broker.id=1", None),
    ],
)
def test_a_flush_after_every_record_counts(topic: str, broker: str, source: str | None) -> None:
    cluster = read(file("topic.properties", topic), file("server.properties", broker), version="3.9")
    assert cluster.flushes_every_message is (source is not None)
    lines = [one.source for one in cluster.understood if one.meaning == "every record is on disk before it counts"]
    assert lines == ([source] if source else [])
    assert "flush" not in " ".join(one.key for one in cluster.ignored) or source is None


def test_mechanisms_of_newer_releases_are_named() -> None:
    cluster = read(
        file("topic.properties", "cleanup.policy=delete", "remote.storage.enable=true"),
        file(
            "server.properties",
            "process.roles=broker",
            "node.id=1",
            "replica.selector.class=x",
            "eligible.leader.replicas.enable=true",
            "transaction.partition.verification.enable=true",
        ),
        version="3.9",
    )
    assert ignored(cluster, WhyIgnored.NOT_MODELLED) == {
        "remote.storage.enable": "tiered storage is not modelled: the answer is for a log on the brokers' own disks",
        "eligible.leader.replicas.enable": "eligible leader replicas before 4.0 are not modelled",
    }
    assert meaning(cluster, "replica.selector.class") == "consumers read from the leader: no client.rack is given"
    assert ignored(cluster, WhyIgnored.NO_TRANSACTIONS) == {
        "transaction.partition.verification.enable": "concerns transactions only"
    }
    assert set(ignored(cluster, WhyIgnored.NO_BEARING)) == {"node.id"}


def test_a_disabled_mechanism_matches_the_models_assumption() -> None:
    cluster = read(
        file("topic.properties", "cleanup.policy=delete", "flush.ms=9223372036854775807"),
        version="2.1",
    )
    assert ignored(cluster, WhyIgnored.ASSUMED) == {
        "cleanup.policy": "is what the model assumes",
        "flush.ms": "is what the model assumes",
    }


def test_idempotence_and_transactions_are_unknown_before_0_11() -> None:
    clients = (
        file("producer.properties", "acks=all", "enable.idempotence=true", "transactional.id=t"),
        file("consumer.properties", "group.id=g", "isolation.level=read_committed"),
    )
    assert ignored(read(*clients, version="0.11"), WhyIgnored.UNKNOWN) == {}
    assert ignored(read(*clients, version=None), WhyIgnored.UNKNOWN) == {}
    assert ignored(read(*clients, version="0.10.2"), WhyIgnored.UNKNOWN) == {
        "enable.idempotence": "Kafka 0.10.2 does not know this producer setting, which is new in 0.11.0",
        "transactional.id": "Kafka 0.10.2 does not know this producer setting, which is new in 0.11.0",
        "isolation.level": "Kafka 0.10.2 does not know this consumer setting, which is new in 0.11.0",
    }


def test_releases_older_than_the_list_know_what_its_first_release_knows() -> None:
    cluster = read(file("topic.properties", "min.insync.replicas=2", "retention.ms=1"), version="0.9")
    assert ignored(cluster, WhyIgnored.UNKNOWN) == {}
    assert ignored(cluster, WhyIgnored.NOT_MODELLED) == {"retention.ms": RETENTION}


@pytest.mark.parametrize(
    ("line", "version", "reason"),
    [
        ("a.plugins.own.key=1", "0.10.2", "Kafka 0.10.2 has no such topic setting"),
        ("a.plugins.own.key=1", None, "Kafka up to 3.9 has no such topic setting"),
        ("min.insync.replica=3", None, "Kafka up to 3.9 has no such topic setting; did you mean min.insync.replicas?"),
        ("a.plugins.own.key=1", "3.9", "Kafka 3.9 has no such topic setting"),
        ("a.plugins.own.key=1", "4.0", "not a topic setting of Kafka up to 3.9; isrcheck does not know newer settings"),
        ("remote.storage.enable=true", "2.1", "Kafka 2.1 does not know this topic setting, which is new in 3.0"),
        ("min.insync.replica=3", "0.10.2", "Kafka 0.10.2 has no such topic setting; did you mean min.insync.replicas?"),
        ("Acks=all", "0.10.2", "Kafka 0.10.2 has no such topic setting; did you mean acks?"),
        ("\\ufeffacks=all", "0.10.2", "Kafka 0.10.2 has no such topic setting; did you mean acks?"),
    ],
)
def test_keys_that_kafka_does_not_know_are_named(line: str, version: str | None, reason: str) -> None:
    (unknown,) = read((TOPIC, file("topic.properties", line)), version=version).ignored
    assert (unknown.why, unknown.reason, unknown.source) == (WhyIgnored.UNKNOWN, reason, "topic.properties:1")


@pytest.mark.parametrize(
    ("line", "version", "meant"),
    [
        ("min.insync.replica=3", "3.9", "min.insync.replicas"),
        ("min.insync.replica=3", "4.1", "min.insync.replicas"),
        ("unclean.leader.election.enabled=true", "4.1", "unclean.leader.election.enable"),
        ("Acks=1", "3.9", "acks"),
        ("min-insync-replicas=1", "3.9", "min.insync.replicas"),
        ("retires=0", "3.9", "retries"),
        ("broker.id=1\nproducer.acks=1", "3.9", "acks"),
        ("broker.id=1\nconfluent.reporter.producer.acks=1", "3.9", ""),
        ("ack=1", "3.9", "acks"),
        ("retention.m=1", "3.9", ""),  # no answer depends on retention.ms
        ("remote.storage.enable=true", "2.1", ""),  # a setting of a later release
        ("a.plugins.own.key=1", "3.9", ""),
    ],
)
def test_a_misspelt_setting_on_which_the_answer_depends_is_told_apart(line: str, version: str, meant: str) -> None:
    *_, one = read((TOPIC, file("topic.properties", line)), version=version).ignored
    assert one.meant == meant
    if meant and meant != "acks":
        assert one.reason.endswith(f"; did you mean {meant}?")


def test_one_role_may_know_a_key_later_than_another() -> None:
    lines = ("broker.id=0", "sasl.jaas.config=x")
    broker = file("server.properties", *lines)
    assert ignored(read(broker, version="0.10.2"), WhyIgnored.UNKNOWN) == {
        "sasl.jaas.config": "Kafka 0.10.2 does not know this broker setting, which is new in 1.1"
    }
    assert ignored(read(broker, version="1.1"), WhyIgnored.UNKNOWN) == {}
    producer = file("producer.properties", "acks=1", lines[1])
    assert ignored(read(producer, version="0.10.2"), WhyIgnored.UNKNOWN) == {}


SECRETS = """
    ssl.key.password ssl.keystore.password listener.name.internal.ssl.key.password sasl.jaas.config
    password.encoder.secret delegation.token.master.key ssl.keystore.pasword my.plugin.Secret
"""


@pytest.mark.parametrize("key", SECRETS.split())
def test_secrets_are_never_shown(key: str) -> None:
    cluster = read((BROKER, file("server.properties", f"{key}=hunter2")))
    assert [(each.key, each.value) for each in cluster.ignored] == [(key, "[hidden]")]
    assert "hunter2" not in repr(cluster)


def test_a_shown_value_is_one_printable_line() -> None:
    cluster = read((TOPIC, file("topic.properties", r"a\nb=x\u001b[31mred\uD83D \u00e9", "client.id=Zürich")))
    assert [(each.key, each.value) for each in cluster.ignored] == [
        (r"a\nb", r"x\x1b[31mred\ud83d é"),
        ("client.id", "Zürich"),
    ]


def test_an_ignored_property_is_reported_in_full() -> None:
    (only,) = read(file("topic.properties", "segment.bytes=1")).ignored
    assert only == Ignored(
        "segment.bytes", "1", WhyIgnored.NO_BEARING, "has no bearing on replication", "topic.properties:1"
    )


# --- The files that Kafka ships ---------------------------------------------------------------------------------------


def shipped(release: str, *names: str) -> Sequence[Path]:
    return [SHIPPED_FILES / release / f"{name}.properties" for name in names]


@needs_shipped_files
@pytest.mark.parametrize("release", ["kafka-0.10.2", "kafka-2.1", "kafka-3.9"])
@pytest.mark.parametrize(("name", "role"), [("server", BROKER), ("producer", PRODUCER), ("consumer", CONSUMER)])
def test_the_roles_of_the_files_shipped_with_kafka(release: str, name: str, role: Role) -> None:
    (path,) = shipped(release, name)
    assert role_of(read_properties(path), path) is role


@needs_shipped_files
@pytest.mark.parametrize(("version", "properties"), [("0.10.2", 19), ("2.1", 22), ("3.9", 20)])
def test_the_files_shipped_with_kafka_are_fully_understood(version: str, properties: int) -> None:
    cluster = read(*shipped(f"kafka-{version}", "server", "producer", "consumer"), version=version)
    assert len(cluster.ignored) == properties
    offsets_topic = {} if version == "0.10.2" else {"offsets.topic.replication.factor": OFFSETS_TOPIC}
    assert ignored(cluster, WhyIgnored.NOT_MODELLED) == {"log.retention.hours": RETENTION, **offsets_topic}
    assert set(ignored(cluster, WhyIgnored.NO_TRANSACTIONS)) == (
        set() if version == "0.10.2" else {"transaction.state.log.min.isr", "transaction.state.log.replication.factor"}
    )


@needs_shipped_files
def test_the_files_shipped_with_kafka_0_10_2_give_a_cluster_of_defaults() -> None:
    cluster = read(*shipped("kafka-0.10.2", "server", "producer", "consumer"))
    source = "Kafka 0.10.2's default"
    assert cluster.generation == Generation("0.10", {}, None)
    assert (cluster.producer.acks, cluster.min_insync_replicas) == (Setting("1", source), Setting(1, source))
    assert (cluster.replication_factor, cluster.unclean_election) == (Setting(1, source), Setting(True, source))


# --- The list of keys -------------------------------------------------------------------------------------------------


def test_the_number_of_keys_of_each_role() -> None:
    assert {role.value: len(keys_of(role)) for role in Role} == {
        "broker": 349,
        "topic": 37,
        "producer": 113,
        "consumer": 119,
    }


ONE_ROLE = {
    (BROKER, "0.11.0"): "listener.name.internal.ssl.client.auth",
    (BROKER, "1.1"): "max.incremental.fetch.session.cache.slots",
    (BROKER, "2.4"): "replica.selector.class",
    (BROKER, "2.8"): "process.roles node.id controller.quorum.voters controller.listener.names",
    (BROKER, "3.7"): "eligible.leader.replicas.enable",
    (BROKER, "3.8"): "controller.quorum.bootstrap.servers",
    (TOPIC, "0.10.1"): "min.compaction.lag.ms",
    (TOPIC, "2.3"): "max.compaction.lag.ms",
    (TOPIC, "3.9"): "remote.log.copy.disable",
    (PRODUCER, "0.10.0"): "acks",
    (PRODUCER, "0.11.0"): "enable.idempotence",
    (PRODUCER, "2.1"): "delivery.timeout.ms",
    (CONSUMER, "2.3"): "group.instance.id",
}


@pytest.mark.parametrize(
    ("key", "first_releases"),
    [
        *((key, {role: release}) for (role, release), keys in ONE_ROLE.items() for key in keys.split()),
        ("min.insync.replicas", {BROKER: "0.10.0", TOPIC: "0.10.0"}),
        ("compression.type", {BROKER: "0.10.0", TOPIC: "0.10.0", PRODUCER: "0.10.0"}),
        ("zookeeper.connect", {BROKER: "0.10.0", CONSUMER: "0.10.0"}),
        ("metrics.recording.level", {BROKER: "0.10.2", PRODUCER: "0.11.0", CONSUMER: "0.10.2"}),
        ("no.such.key", {}),
    ],
)
def test_the_roles_and_first_release_of_a_key(key: str, first_releases: dict[Role, str]) -> None:
    assert roles_that_know(key) == set(first_releases)
    assert {role: first_release(role, key) for role in roles_that_know(key)} == first_releases
