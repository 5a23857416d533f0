"""checker/cluster.py: whose file it is, which value decides, what the versions mean, what is ignored and why.

Every test runs in an empty directory of its own, so that the places in messages are short.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from checker.cluster import (
    Cluster,
    Ignored,
    Role,
    Setting,
    Understood,
    WhyIgnored,
    read_cluster,
    role_of,
)
from checker.kafka_keys import first_release, keys_of, roles_that_know
from checker.properties_file import PropertiesError, read_properties

SHIPPED_FILES = Path(__file__).resolve().parents[2] / "shared" / "data" / "properties"
needs_shipped_files = pytest.mark.skipif(
    not SHIPPED_FILES.is_dir(), reason="the property files that Kafka ships are not beside this clone"
)

BROKER, TOPIC, PRODUCER, CONSUMER = Role.BROKER, Role.TOPIC, Role.PRODUCER, Role.CONSUMER


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def file(name: str, *lines: str) -> Path:
    path = Path(name)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def read(*files: Path | tuple[Role, Path], version: str | None = "0.10.2") -> Cluster:
    return read_cluster([each if isinstance(each, tuple) else (None, each) for each in files], version)


def complaint(*files: Path | tuple[Role, Path], version: str | None = "0.10.2") -> str:
    with pytest.raises(PropertiesError) as refusal:
        read(*files, version=version)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def ignored(cluster: Cluster, why: WhyIgnored) -> dict[str, str]:
    return {each.key: each.reason for each in cluster.ignored if each.why is why}


# --- Whose file it is -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "keys"),
    [
        (BROKER, ["broker.id"]),
        (BROKER, ["log.dirs"]),
        (BROKER, ["num.network.threads"]),
        (BROKER, ["default.replication.factor"]),
        (BROKER, ["inter.broker.protocol.version"]),
        (BROKER, ["listener.name.internal.ssl.keystore.location"]),
        (BROKER, ["zookeeper.connect", "log.retention.hours"]),
        (BROKER, ["default.replication.factor", "min.insync.replicas", "unclean.leader.election.enable"]),
        (BROKER, ["broker.id", "log.dirs", "min.insync.replicas", "acks"]),
        (PRODUCER, ["acks"]),
        (PRODUCER, ["retries"]),
        (PRODUCER, ["linger.ms"]),
        (PRODUCER, ["batch.size"]),
        (PRODUCER, ["key.serializer"]),
        (PRODUCER, ["enable.idempotence"]),
        (PRODUCER, ["bootstrap.servers", "compression.type"]),
        (PRODUCER, ["bootstrap.servers", "acks", "linger.ms", "min.insync.replicas"]),
        (CONSUMER, ["group.id"]),
        (CONSUMER, ["auto.offset.reset"]),
        (CONSUMER, ["isolation.level"]),
        (CONSUMER, ["fetch.min.bytes"]),
        (CONSUMER, ["zookeeper.connect", "zookeeper.connection.timeout.ms", "group.id"]),
        (TOPIC, ["cleanup.policy"]),
        (TOPIC, ["retention.ms"]),
        (TOPIC, ["segment.bytes"]),
        (TOPIC, ["min.insync.replicas"]),
        (TOPIC, ["replication.factor"]),
        (TOPIC, ["unclean.leader.election.enable"]),
        (TOPIC, ["compression.type", "min.insync.replicas"]),
        (TOPIC, ["acks", "min.insync.replicas"]),
        (TOPIC, ["acks", "min.insync.replicas", "replication.factor"]),
        (TOPIC, ["acks", "min.insync.replicas", "replication.factor", "inter.broker.protocol.version"]),
        (TOPIC, ["min.insync.replicas", "a.plugins.own.key"]),
    ],
)
def test_the_keys_tell_whose_file_it_is(role: Role, keys: list[str]) -> None:
    path = file("some.properties", *(f"{key}=x" for key in keys))
    assert role_of(read_properties(path), path) is role


@pytest.mark.parametrize(
    "keys",
    [
        [],
        ["zookeeper.connect"],
        ["bootstrap.servers"],
        ["compression.type"],
        ["ssl.key.password", "sasl.mechanism"],
        ["a.plugins.own.key"],
        ["Broker.Id"],
    ],
)
def test_where_no_key_tells_the_person_is_asked(keys: list[str]) -> None:
    assert complaint(file("some.properties", *(f"{key}=x" for key in keys))) == (
        "some.properties: no key in it tells whether it is a broker's, a topic's, a producer's or a consumer's file; "
        "give it as --broker FILE, --topic FILE, --producer FILE or --consumer FILE"
    )


def test_a_told_role_goes_before_the_keys() -> None:
    cluster = read((BROKER, file("a", "min.insync.replicas=1")), (TOPIC, file("b", "min.insync.replicas=2")))
    assert cluster.min_insync_replicas == Setting(2, "b:1")
    assert ignored(cluster, WhyIgnored.OVERRIDDEN) == {
        "min.insync.replicas": "overridden by the topic's min.insync.replicas in b:1"
    }


def test_an_empty_file_with_a_told_role_leaves_the_defaults() -> None:
    assert read((TOPIC, file("topic.properties"))) == read()


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
    assert cluster == Cluster(
        kafka_version=Setting("0.10.2", "--kafka-version"),
        protocol="0.10",
        why_undecided=None,
        acks=Setting("all", "topic.properties:4"),
        min_insync_replicas=Setting(2, "topic.properties:2"),
        replication_factor=Setting(3, "topic.properties:1"),
        unclean_election=Setting(False, "topic.properties:3"),
        understood=(
            Understood("Kafka version", "0.10.2", "decides the defaults", "--kafka-version"),
            Understood(
                "inter.broker.protocol.version", "0.10.2", "the replication protocol is 0.10", "--kafka-version"
            ),
            Understood("replication.factor", "3", "brokers that hold a replica: 3", "topic.properties:1"),
            Understood(
                "min.insync.replicas", "2", "an acks=all write needs an ISR of at least 2", "topic.properties:2"
            ),
            Understood(
                "unclean.leader.election.enable", "false", "only a member of the ISR is elected", "topic.properties:3"
            ),
            Understood(
                "acks",
                "all",
                "a record is acknowledged once the whole ISR has it (taken as the producer's)",
                "topic.properties:4",
            ),
        ),
        ignored=(),
    )
    assert cluster.can_acknowledge_acks_all


def test_every_kind_of_file_gives_its_own() -> None:
    cluster = read(
        file("server.properties", "broker.id=0", "default.replication.factor=3", "unclean.leader.election.enable=TRUE"),
        file("topic.properties", "cleanup.policy=delete", "min.insync.replicas= 2 "),
        file("producer.properties", "bootstrap.servers=x", "acks=-1"),
        file("consumer.properties", "bootstrap.servers=x", "group.id=g"),
    )
    assert cluster.replication_factor == Setting(3, "server.properties:2")
    assert cluster.unclean_election == Setting(True, "server.properties:3")
    assert cluster.min_insync_replicas == Setting(2, "topic.properties:2")
    assert cluster.acks == Setting("all", "producer.properties:2")
    assert [(each.key, each.value, each.source) for each in cluster.understood] == [
        ("Kafka version", "0.10.2", "--kafka-version"),
        ("inter.broker.protocol.version", "0.10.2", "--kafka-version"),
        ("default.replication.factor", "3", "server.properties:2"),
        ("min.insync.replicas", "2", "topic.properties:2"),
        ("unclean.leader.election.enable", "TRUE", "server.properties:3"),
        ("acks", "-1", "producer.properties:2"),
    ]
    assert [(each.key, each.source) for each in cluster.ignored] == [
        ("broker.id", "server.properties:1"),
        ("cleanup.policy", "topic.properties:1"),
        ("bootstrap.servers", "producer.properties:1"),
        ("bootstrap.servers", "consumer.properties:1"),
        ("group.id", "consumer.properties:2"),
    ]


@pytest.mark.parametrize("topic_first", [True, False])
def test_the_topic_goes_before_the_broker_in_either_order(topic_first: bool) -> None:
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


def test_acks_is_the_producers_even_in_a_brokers_file() -> None:
    cluster = read((BROKER, file("server.properties", "broker.id=0", "acks=all")))
    assert cluster.acks == Setting("all", "server.properties:2")
    assert cluster.understood[-1].meaning == (
        "a record is acknowledged once the whole ISR has it (taken as the producer's)"
    )


def test_a_topics_setting_in_a_producers_file_is_the_topics() -> None:
    cluster = read(
        file("producer.properties", "acks=1", "linger.ms=5", "min.insync.replicas=2"),
        file("server.properties", "broker.id=0", "min.insync.replicas=1"),
    )
    assert cluster.min_insync_replicas == Setting(2, "producer.properties:3")


@pytest.mark.parametrize(("text", "acks"), [("all", "all"), ("-1", "all"), ("1", "1"), ("0", "0"), (" all\t", "all")])
def test_acks(text: str, acks: str) -> None:
    assert read(file("producer.properties", f"acks={text}")).acks.value == acks


@pytest.mark.parametrize(("text", "count"), [("1", 1), ("+2", 2), ("003", 3), ("2147483647", 2147483647)])
def test_counts_of_replicas(text: str, count: int) -> None:
    cluster = read(file("topic.properties", f"min.insync.replicas={text}", f"replication.factor={text}"))
    assert (cluster.min_insync_replicas.value, cluster.replication_factor.value) == (count, count)


def test_more_required_replicas_than_there_are_is_accepted_as_kafka_does() -> None:
    cluster = read(file("topic.properties", "replication.factor=2", "min.insync.replicas=3"))
    assert (cluster.min_insync_replicas.value, cluster.replication_factor.value) == (3, 2)
    assert not cluster.can_acknowledge_acks_all


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("acks=2", "acks: '2' is no acks; write all (or -1), 1 or 0"),
        ("acks=ALL", "acks: 'ALL' is no acks; write all (or -1), 1 or 0"),
        ("acks", "acks: '' is no acks; write all (or -1), 1 or 0"),
        ("acks=a\\nb\\u001bc", r"acks: 'a\nb\x1bc' is no acks; write all (or -1), 1 or 0"),
        ("acks=" + "9" * 70, "acks: '" + "9" * 60 + "...' is no acks; write all (or -1), 1 or 0"),
        *(
            (f"{key}={text}", f"{key}: '{text}' is not a whole number from 1 to 2147483647; write for example 2")
            for key in ("min.insync.replicas", "replication.factor", "default.replication.factor")
            for text in ("0", "-1", "two", "", "2.0", "1_0", "0x2", "2147483648", "9" * 60)
        ),
        (
            "unclean.leader.election.enable=yes",
            "unclean.leader.election.enable: 'yes' is neither true nor false; write one of them",
        ),
        (
            "unclean.leader.election.enable=",
            "unclean.leader.election.enable: '' is neither true nor false; write one of them",
        ),
    ],
)
def test_values_that_kafka_refuses(line: str, message: str) -> None:
    assert complaint(file("some.properties", "# one", line)) == f"some.properties:2: {message}"


# --- One key, two values ----------------------------------------------------------------------------------------------


def test_two_values_in_one_file() -> None:
    assert complaint(file("topic.properties", "min.insync.replicas=2", "", "min.insync.replicas=1")) == (
        "topic.properties:3: min.insync.replicas=1 contradicts min.insync.replicas=2 in topic.properties:1; "
        "one topic cannot have both, keep one of them"
    )


def test_two_values_in_two_files_of_one_role() -> None:
    assert complaint(file("a.properties", "acks=all"), file("b.properties", "linger.ms=1", "acks=1")) == (
        "b.properties:2: acks=1 contradicts acks=all in a.properties:1; one producer cannot have both, keep one of them"
    )


def test_two_values_of_a_key_without_bearing_are_an_error_too() -> None:
    assert complaint(file("topic.properties", "retention.ms=1", "retention.ms=2")) == (
        "topic.properties:2: retention.ms=2 contradicts retention.ms=1 in topic.properties:1; "
        "one topic cannot have both, keep one of them"
    )


def test_two_passwords_are_not_shown() -> None:
    assert complaint(file("p.properties", "acks=1", "ssl.key.password=hunter2", "ssl.key.password=hunter3")) == (
        "p.properties:3: ssl.key.password=[hidden] contradicts ssl.key.password=[hidden] in p.properties:2; "
        "one producer cannot have both, keep one of them"
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
def test_the_same_value_twice_is_fine(one: str, other: str) -> None:
    cluster = read(file("a.properties", one), file("b.properties", other))
    sources = [each.source for each in cluster.understood] + [each.source for each in cluster.ignored]
    assert "a.properties:1 and b.properties:1" in sources


def test_the_same_file_twice_is_fine() -> None:
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


# --- Versions and defaults --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["0.10.0", "0.10.1", "0.10.2", "0.10.2.1", "0.10.0-IV1", "0.10.1-IV2", "0.10"])
def test_0_10_is_modelled(version: str) -> None:
    cluster = read(version=version)
    assert cluster.kafka_version == Setting(version, "--kafka-version")
    assert (cluster.protocol, cluster.why_undecided) == ("0.10", None)
    assert cluster.acks == Setting("1", f"Kafka {version}'s default")
    assert cluster.min_insync_replicas == Setting(1, f"Kafka {version}'s default")
    assert cluster.replication_factor == Setting(1, f"Kafka {version}'s default")
    assert cluster.unclean_election == Setting(True, f"Kafka {version}'s default")


@pytest.mark.parametrize(
    ("version", "acks", "unclean_election"),
    [
        ("0.8.2", "1", True),
        ("0.9", "1", True),
        ("0.9.0.1", "1", True),
        ("0.11", "1", False),
        ("0.11.0-IV0", "1", False),
        ("1.0", "1", False),
        ("2.1", "1", False),
        ("2.1-IV2", "1", False),
        ("2.8.2", "1", False),
        ("3.0", "all", False),
        ("3.0-IV0", "all", False),
        ("3.9", "all", False),
        ("3.9.1", "all", False),
        ("4.1", "all", False),
        ("10.0", "all", False),
    ],
)
def test_other_versions_are_undecided_but_have_their_own_defaults(
    version: str, acks: str, unclean_election: bool
) -> None:
    cluster = read(version=version)
    assert cluster.protocol is None
    assert cluster.why_undecided == (
        f"the replication protocol of Kafka {version} is not modelled yet; that of 0.10 is"
    )
    assert cluster.acks == Setting(acks, f"Kafka {version}'s default")
    assert cluster.unclean_election == Setting(unclean_election, f"Kafka {version}'s default")
    assert (cluster.min_insync_replicas.value, cluster.replication_factor.value) == (1, 1)


def test_no_version_told() -> None:
    cluster = read(file("topic.properties", "min.insync.replicas=2"), version=None)
    assert cluster.kafka_version is None
    assert cluster.protocol is None
    assert cluster.why_undecided == (
        "no Kafka version was told, and the protocol and the defaults hang on it: give --kafka-version VERSION "
        "(for example 0.10.2), or inter.broker.protocol.version in a broker's file"
    )
    assert cluster.min_insync_replicas == Setting(2, "topic.properties:1")
    assert cluster.acks == Setting("1", "Kafka 0.10.2's default")
    assert [each.key for each in cluster.understood] == [
        "default.replication.factor",
        "min.insync.replicas",
        "unclean.leader.election.enable",
        "acks",
    ]


@pytest.mark.parametrize(
    ("told", "kafka_version"), [("0.10.2", "0.10.2"), ("0.10.1-IV2", "0.10.1"), ("0.10.2.1", "0.10.2")]
)
def test_the_inter_broker_protocol_version_stands_in_for_the_version(told: str, kafka_version: str) -> None:
    cluster = read(file("server.properties", "broker.id=0", f"inter.broker.protocol.version={told}"), version=None)
    assert cluster.kafka_version == Setting(kafka_version, "server.properties:2")
    assert cluster.protocol == "0.10"
    assert cluster.understood[:2] == (
        Understood("Kafka version", kafka_version, "decides the defaults", "server.properties:2"),
        Understood("inter.broker.protocol.version", told, "the replication protocol is 0.10", "server.properties:2"),
    )
    assert cluster.acks.source == f"Kafka {kafka_version}'s default"


def test_the_inter_broker_protocol_decides_the_protocol_and_the_binaries_the_defaults() -> None:
    cluster = read(file("server.properties", "inter.broker.protocol.version=0.10.2"), version="2.1")
    assert cluster.kafka_version == Setting("2.1", "--kafka-version")
    assert (cluster.protocol, cluster.why_undecided) == ("0.10", None)
    assert cluster.unclean_election == Setting(False, "Kafka 2.1's default")
    assert cluster.understood[1] == Understood(
        "inter.broker.protocol.version",
        "0.10.2",
        "the replication protocol is 0.10 (what newer binaries do differently all the same is not modelled)",
        "server.properties:1",
    )


def test_an_older_inter_broker_protocol_that_is_not_modelled() -> None:
    cluster = read(file("server.properties", "inter.broker.protocol.version=0.9.0"), version="0.10.2")
    assert cluster.protocol is None
    assert cluster.why_undecided == "the replication protocol of Kafka 0.9.0 is not modelled yet; that of 0.10 is"
    assert cluster.understood[1].meaning == "the replication protocol is not modelled yet"


@pytest.mark.parametrize(
    ("binaries", "release", "protocol"),
    [
        ("0.10.1", "0.10.1", "0.10.2"),
        ("0.10.2", "0.10.2", "0.11.0"),
        ("0.10.2.1", "0.10.2", "2.1"),
        ("0.9", "0.9", "0.10.0"),
        ("2.1-IV1", "2.1", "2.1-IV2"),
        ("3.9", "3.9", "4.0"),
        ("4.0", "4.0", "4.1"),
    ],
)
def test_a_broker_refuses_a_newer_inter_broker_protocol(binaries: str, release: str, protocol: str) -> None:
    broker = file("server.properties", f"inter.broker.protocol.version={protocol}")
    assert complaint(broker, version=binaries) == (
        f"server.properties:1: inter.broker.protocol.version: Kafka {binaries} refuses {protocol}, which is newer; "
        f"write {release} or older, or give the right --kafka-version"
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


@pytest.mark.parametrize("version", ["0.7", "0.7.2", "0.10.3", "0.12", "1.2", "2.9"])
def test_versions_that_never_were(version: str) -> None:
    reason = f"there is no Kafka {version} with replication; write a release, for example 0.10.2 or 3.9"
    assert complaint(version=version) == f"--kafka-version: {reason}"
    broker = file("server.properties", f"inter.broker.protocol.version={version}")
    assert complaint(broker, version=None) == f"server.properties:1: inter.broker.protocol.version: {reason}"


@pytest.mark.parametrize(
    ("version", "release"), [("0.10.2-IV1", "0.10.2"), ("0.9.0-IV0", "0.9.0"), ("2.1-IV3", "2.1"), ("0.10-IV0", "0.10")]
)
def test_internal_versions_that_never_were(version: str, release: str) -> None:
    reason = f"Kafka has no internal version {version}; write {release}"
    assert complaint(version=version) == f"--kafka-version: {reason}"
    broker = file("server.properties", f"inter.broker.protocol.version={version}")
    assert complaint(broker, version=None) == f"server.properties:1: inter.broker.protocol.version: {reason}"


def test_part_of_a_release_is_no_inter_broker_protocol() -> None:
    assert complaint(file("server.properties", "inter.broker.protocol.version=0.10")) == (
        "server.properties:1: inter.broker.protocol.version: Kafka refuses '0.10', which is only part of a release; "
        "write one of 0.10.0, 0.10.1, 0.10.2"
    )


# --- What is ignored, and why -----------------------------------------------------------------------------------------


def test_what_the_model_does_not_carry_yet_is_told_from_what_has_no_bearing() -> None:
    cluster = read(
        file("producer.properties", "acks=all", "retries=3", "max.in.flight.requests.per.connection=5", "linger.ms=5"),
        file(
            "topic.properties",
            "cleanup.policy=compact",
            "flush.messages=1",
            "message.format.version=0.10.2",
            "retention.ms=1000",
        ),
        file(
            "server.properties",
            "broker.id=0",
            "auto.leader.rebalance.enable=true",
            "replica.lag.time.max.ms=3000",
            "offsets.topic.replication.factor=1",
        ),
    )
    retries = "a producer's retries are not modelled yet"
    assert ignored(cluster, WhyIgnored.NOT_MODELLED) == {
        "retries": retries,
        "max.in.flight.requests.per.connection": retries,
        "cleanup.policy": "compaction is not modelled: the answer is for a log that keeps every record",
        "flush.messages": (
            "forced flushes are not modelled: a power loss may take all that was appended since the start"
        ),
        "message.format.version": (
            "record formats are not modelled: from 0.11 on they decide whether leader epochs are used"
        ),
        "auto.leader.rebalance.enable": ("preferred elections are a budget of the search, whatever this setting says"),
    }
    assert ignored(cluster, WhyIgnored.NO_BEARING) == {
        "linger.ms": "has no bearing on whether a record is kept",
        "retention.ms": "has no bearing on whether a record is kept",
        "broker.id": "has no bearing on whether a record is kept",
        "replica.lag.time.max.ms": "the model has no clock, so that its answer covers every value",
        "offsets.topic.replication.factor": "is about an internal topic, not about this one",
    }
    assert ignored(cluster, WhyIgnored.UNKNOWN) == {}


def test_a_mechanism_that_is_switched_off_is_what_the_model_assumes() -> None:
    cluster = read(
        file("producer.properties", "acks=all", "retries=0", "enable.idempotence=False"),
        file("topic.properties", "cleanup.policy=delete"),
        version="2.1",
    )
    assert ignored(cluster, WhyIgnored.ASSUMED) == {
        "retries": "is what the model assumes",
        "enable.idempotence": "is what the model assumes",
        "cleanup.policy": "is what the model assumes",
    }


def test_idempotence_and_transactions_are_named_where_kafka_has_them() -> None:
    clients = (
        file("producer.properties", "acks=all", "enable.idempotence=true", "transactional.id=t"),
        file("consumer.properties", "group.id=g", "isolation.level=read_committed"),
    )
    named = {"enable.idempotence", "transactional.id", "isolation.level"}
    assert set(ignored(read(*clients, version="0.11"), WhyIgnored.NOT_MODELLED)) == named
    assert set(ignored(read(*clients, version=None), WhyIgnored.NOT_MODELLED)) == named
    assert ignored(read(*clients, version="0.10.2"), WhyIgnored.UNKNOWN) == {
        "enable.idempotence": "Kafka 0.10.2 does not know this producer setting, which is new in 0.11.0",
        "transactional.id": "Kafka 0.10.2 does not know this producer setting, which is new in 0.11.0",
        "isolation.level": "Kafka 0.10.2 does not know this consumer setting, which is new in 0.11.0",
    }


@pytest.mark.parametrize(
    ("line", "version", "reason"),
    [
        ("a.plugins.own.key=1", "0.10.2", "Kafka 0.10.2 has no such topic setting"),
        ("a.plugins.own.key=1", None, "Kafka up to 2.1 has no such topic setting"),
        ("a.plugins.own.key=1", "3.9", "no topic setting of Kafka up to 2.1; newer settings are not listed here"),
        ("min.insync.replica=3", "0.10.2", "Kafka 0.10.2 has no such topic setting; did you mean min.insync.replicas?"),
        ("Acks=all", "0.10.2", "Kafka 0.10.2 has no such topic setting"),
        ("\\ufeffacks=all", "0.10.2", "Kafka 0.10.2 has no such topic setting"),
    ],
)
def test_keys_that_kafka_does_not_know_are_named(line: str, version: str | None, reason: str) -> None:
    (unknown,) = read((TOPIC, file("topic.properties", line)), version=version).ignored
    assert (unknown.why, unknown.reason, unknown.source) == (WhyIgnored.UNKNOWN, reason, "topic.properties:1")


def test_one_role_may_know_a_key_later_than_another() -> None:
    lines = ("broker.id=0", "sasl.jaas.config=x")
    broker = file("server.properties", *lines)
    assert ignored(read(broker, version="0.10.2"), WhyIgnored.UNKNOWN) == {
        "sasl.jaas.config": "Kafka 0.10.2 does not know this broker setting, which is new in 1.1"
    }
    assert ignored(read(broker, version="1.1"), WhyIgnored.UNKNOWN) == {}
    producer = file("producer.properties", "acks=1", lines[1])
    assert ignored(read(producer, version="0.10.2"), WhyIgnored.UNKNOWN) == {}


@pytest.mark.parametrize(
    "key",
    [
        "ssl.key.password",
        "ssl.keystore.password",
        "listener.name.internal.ssl.key.password",
        "sasl.jaas.config",
        "password.encoder.secret",
        "delegation.token.master.key",
        "ssl.keystore.pasword",
        "my.plugin.Secret",
    ],
)
def test_secrets_are_never_shown(key: str) -> None:
    cluster = read((BROKER, file("server.properties", f"{key}=hunter2")))
    assert [(each.key, each.value) for each in cluster.ignored] == [(key, "[hidden]")]
    assert "hunter2" not in repr(cluster)


def test_what_is_shown_is_one_printable_line() -> None:
    cluster = read((TOPIC, file("topic.properties", r"a\nb=x\u001b[31mred\uD83D \u00e9", "client.id=Zürich")))
    assert [(each.key, each.value) for each in cluster.ignored] == [
        (r"a\nb", r"x\x1b[31mred\ud83d é"),
        ("client.id", "Zürich"),
    ]


def test_an_ignored_property_says_all_there_is_to_say() -> None:
    (only,) = read(file("topic.properties", "segment.bytes=1")).ignored
    assert only == Ignored(
        "segment.bytes", "1", WhyIgnored.NO_BEARING, "has no bearing on whether a record is kept", "topic.properties:1"
    )


# --- The files that Kafka ships ---------------------------------------------------------------------------------------


def shipped(release: str, *names: str) -> Sequence[Path]:
    return [SHIPPED_FILES / release / f"{name}.properties" for name in names]


@needs_shipped_files
@pytest.mark.parametrize("release", ["kafka-0.10.2", "kafka-2.1", "kafka-3.9"])
@pytest.mark.parametrize(("name", "role"), [("server", BROKER), ("producer", PRODUCER), ("consumer", CONSUMER)])
def test_the_roles_of_the_files_that_kafka_ships(release: str, name: str, role: Role) -> None:
    (path,) = shipped(release, name)
    assert role_of(read_properties(path), path) is role


@needs_shipped_files
@pytest.mark.parametrize(("version", "properties"), [("0.10.2", 19), ("2.1", 22), ("3.9", 21)])
def test_the_files_that_kafka_ships_are_understood_whole(version: str, properties: int) -> None:
    cluster = read(*shipped(f"kafka-{version}", "server", "producer", "consumer"), version=version)
    assert len(cluster.ignored) == properties
    assert {each.why for each in cluster.ignored} == {WhyIgnored.NO_BEARING}


@needs_shipped_files
def test_what_kafka_0_10_2_ships_is_a_cluster_of_its_defaults() -> None:
    cluster = read(*shipped("kafka-0.10.2", "server", "producer", "consumer"))
    source = "Kafka 0.10.2's default"
    assert cluster.protocol == "0.10"
    assert (cluster.acks, cluster.min_insync_replicas) == (Setting("1", source), Setting(1, source))
    assert (cluster.replication_factor, cluster.unclean_election) == (Setting(1, source), Setting(True, source))


# --- The list of keys -------------------------------------------------------------------------------------------------


def test_how_many_keys_each_role_has() -> None:
    assert {role.value: len(keys_of(role)) for role in Role} == {
        "broker": 183,
        "topic": 26,
        "producer": 79,
        "consumer": 87,
    }


@pytest.mark.parametrize(
    ("key", "first_releases"),
    [
        ("acks", {PRODUCER: "0.10.0"}),
        ("min.insync.replicas", {BROKER: "0.10.0", TOPIC: "0.10.0"}),
        ("compression.type", {BROKER: "0.10.0", TOPIC: "0.10.0", PRODUCER: "0.10.0"}),
        ("zookeeper.connect", {BROKER: "0.10.0", CONSUMER: "0.10.0"}),
        ("min.compaction.lag.ms", {TOPIC: "0.10.1"}),
        ("metrics.recording.level", {BROKER: "0.10.2", PRODUCER: "0.11.0", CONSUMER: "0.10.2"}),
        ("enable.idempotence", {PRODUCER: "0.11.0"}),
        ("delivery.timeout.ms", {PRODUCER: "2.1"}),
        ("listener.name.internal.ssl.client.auth", {BROKER: "0.11.0"}),
        ("no.such.key", {}),
    ],
)
def test_who_knows_a_key_since_when(key: str, first_releases: dict[Role, str]) -> None:
    assert roles_that_know(key) == set(first_releases)
    assert {role: first_release(role, key) for role in roles_that_know(key)} == first_releases
