"""From property files to a cluster: roles of files, precedence of values, releases, Kafka's defaults and refusals, and
ignored entries with their reasons.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.checker.cluster.tables import Row, each_row, rows, understood
from conformance.tests.support.places import SHARED
from isrcheck.checker.cluster.cluster import Cluster
from isrcheck.checker.cluster.formats.registry import read_clusters
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


def read(files: str = "", version: str | None = "0.10.2", metadata_version: str | None = None) -> Cluster:
    return Row(files, version, metadata_version, ()).cluster()


def complaint(files: str = "", version: str | None = "0.10.2", metadata_version: str | None = None) -> str:
    return Row(files, version, metadata_version, ()).complaint()


def ignored(cluster: Cluster, why: WhyIgnored) -> dict[str, str]:
    return {each.key: each.reason for each in cluster.ignored if each.why is why}


def written(*lines: str, name: str = "some.properties") -> Path:
    """A file with lines that have white space or unusual characters."""
    Path(name).write_text("\n".join(lines), encoding="utf-8")
    return Path(name)


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
    path = written(*(f"{key}=x" for key in keys.split()))
    assert role_of(read_properties(path), path) is role


UNTELLING = """
    zookeeper.connect; bootstrap.servers; compression.type; ssl.key.password sasl.mechanism
"""


@pytest.mark.parametrize("keys", UNTELLING.split(";"))
def test_a_file_without_a_telling_key_needs_a_given_role(keys: str) -> None:
    assert complaint(f"some.properties: {' '.join(f'{key}=x' for key in keys.split())}") == (
        "some.properties: no key decides whether this is a broker's, a topic's, a producer's or a consumer's file; "
        "give it as --broker FILE, --topic FILE, --producer FILE or --consumer FILE"
    )


def test_an_empty_file_with_a_given_role_leaves_the_defaults() -> None:
    """It says that the topic has no settings of its own, which is no assumption then."""
    cluster, none = read("--topic topic.properties:"), read()
    assert replace(cluster, assumed=none.assumed) == none
    assert understood(cluster) == understood(none)
    assert none.assumed[-1] == (
        "Kafka's defaults of the topic (min.insync.replicas=1; --topic FILE) and of brokers"
        " (unclean.leader.election.enable=true, auto.leader.rebalance.enable=true; --broker FILE)"
    )
    assert cluster.assumed[-1] == (
        "Kafka's defaults of brokers (min.insync.replicas=1, unclean.leader.election.enable=true,"
        " auto.leader.rebalance.enable=true; --broker FILE)"
    )


# --- What files say ---------------------------------------------------------------------------------------------------

SAID = """
# --- Which value counts
--broker a: min.insync.replicas=1 / --topic b: min.insync.replicas=2 @ 0.10.2
    min.insync.replicas=2 (b:1): an acks=all write needs an ISR of at least 2
    OVERRIDDEN min.insync.replicas: overridden by the topic's min.insync.replicas in b:1
server.properties: broker.id=0 default.replication.factor=1 min.insync.replicas=1 unclean.leader.election.enable=true
/ topic.properties: replication.factor=3 min.insync.replicas=2 unclean.leader.election.enable=false @ 0.10.2
    replication.factor=3 (topic.properties:1): number of brokers with a replica: 3
    min.insync.replicas=2 (topic.properties:2): an acks=all write needs an ISR of at least 2
    unclean.leader.election.enable=false (topic.properties:3): only a member of the ISR can be elected
    OVERRIDDEN default.replication.factor: overridden by the topic's replication.factor in topic.properties:1
    OVERRIDDEN min.insync.replicas: overridden by the topic's min.insync.replicas in topic.properties:2
    OVERRIDDEN unclean.leader.election.enable: overridden by the topic's unclean.leader.election.enable in
     topic.properties:3
topic.properties: replication.factor=3 min.insync.replicas=2
/ server.properties: broker.id=0 default.replication.factor=1 min.insync.replicas=1 @ 0.10.2
    replication.factor=3 (topic.properties:1): number of brokers with a replica: 3
    min.insync.replicas=2 (topic.properties:2): an acks=all write needs an ISR of at least 2
    OVERRIDDEN default.replication.factor: overridden by the topic's replication.factor in topic.properties:1
    OVERRIDDEN min.insync.replicas: overridden by the topic's min.insync.replicas in topic.properties:2
--broker server.properties: broker.id=0 acks=all @ 0.10.2
    acks=all (server.properties:2): a record is acknowledged once the whole ISR has it (taken as the producer's)
producer.properties: acks=1 linger.ms=5 min.insync.replicas=2
/ server.properties: broker.id=0 min.insync.replicas=1 @ 2.1
    min.insync.replicas=2 (producer.properties:3): an acks=all write needs an ISR of at least 2 (taken as the topic's)
producer.properties: acks=all @ 0.10.2
    acks=all (producer.properties:1): a record is acknowledged once the whole ISR has it
producer.properties: acks=-1 @ 0.10.2
    acks=-1 (producer.properties:1): a record is acknowledged once the whole ISR has it
producer.properties: acks=1 @ 0.10.2
    acks=1 (producer.properties:1): the leader acknowledges a record without waiting for followers
producer.properties: acks=0 @ 0.10.2
    acks=0 (producer.properties:1): the producer waits for no acknowledgement
    retries=0 (Kafka 0.10.2's default): a failed request is not sent again
t.properties: replication.factor=2 min.insync.replicas=3 @ 3.6
    min.insync.replicas=3 (t.properties:2): an acks=all write needs an ISR of at least 3
# Since 3.7 the required replicas are limited to the existing ones (KAFKA-15583).
t.properties: replication.factor=2 min.insync.replicas=3 @ 3.7
    min.insync.replicas=3 (t.properties:2): since 3.7 at most the number of replicas: an acks=all write needs an ISR of
     at least 2
server.properties: broker.id=0 compression.type=producer / producer.properties: acks=1 compression.type=lz4 @ 0.10.2
    NO_BEARING broker.id: has no bearing on replication
    NO_BEARING compression.type: has no bearing on replication
    NO_BEARING compression.type: has no bearing on replication
b: broker.id=1 @ 2.1
    auto.leader.rebalance.enable=true (Kafka 2.1's default): leadership returns to the preferred replica while the
     leader lives
b: broker.id=1 auto.leader.rebalance.enable=true @ 2.1
    auto.leader.rebalance.enable=true (b:2): leadership returns to the preferred replica while the leader lives
b: broker.id=1 auto.leader.rebalance.enable=False @ 2.1
    auto.leader.rebalance.enable=False (b:2): leadership moves only if the leader fails, or by hand
     (kafka-leader-election)
# --- Patches
@ 2.0|2.8|3.0|3.1|3.9|4.0 => Kafka version=VERSION (--kafka-version): decides the defaults; taken as VERSION.0
@ 4.1|2.0.1|2.1 => Kafka version=VERSION (--kafka-version): decides the defaults
# --- Who keeps the metadata
server.properties: process.roles=broker,controller node.id=1 controller.quorum.voters=1@a:9093
/ b.properties: controller.listener.names=CONTROLLER broker.session.timeout.ms=9000 broker.heartbeat.interval.ms=2000
/ c.properties: controller.quorum.election.timeout.ms=1000 inter.broker.protocol.version=3.3 @ 3.9
    metadata.version=3.9 (--kafka-version): the replication protocol is 3.7
    process.roles=broker,controller (server.properties:1): metadata is kept by controllers (KRaft)
    controller.quorum.voters=1@a:9093 (server.properties:3): metadata is kept by controllers (KRaft)
    NOT_MODELLED broker.session.timeout.ms: time is not modelled: the answer covers every value
    NOT_MODELLED broker.heartbeat.interval.ms: time is not modelled: the answer covers every value
    NOT_MODELLED controller.quorum.election.timeout.ms: time is not modelled: the answer covers every value
    NO_BEARING node.id: has no bearing on replication
    NO_BEARING controller.listener.names: has no bearing on replication
    NO_BEARING inter.broker.protocol.version: a KRaft cluster has metadata.version instead
# --- The release, if only the inter-broker protocol is given
server.properties: broker.id=0 inter.broker.protocol.version=0.10.1-IV2 @ -
    Kafka version=0.10.1 (server.properties:2): decides the defaults
    inter.broker.protocol.version=0.10.1-IV2 (server.properties:2): the replication protocol is 0.10
    acks=1 (Kafka 0.10.1's default): the leader acknowledges a record without waiting for followers
server.properties: broker.id=0 inter.broker.protocol.version=2.5 @ -
    Kafka version=2.5 (server.properties:2): decides the defaults
    inter.broker.protocol.version=2.5 (server.properties:2): the replication protocol is 2.4
# --- Truncation, which the inter-broker protocol decides
server.properties: inter.broker.protocol.version=0.10.2 @ 2.1
    inter.broker.protocol.version=0.10.2 (server.properties:1): the replication protocol is 2.1, but followers truncate
     to the high watermark
server.properties: inter.broker.protocol.version=0.11.0 @ 2.1
    inter.broker.protocol.version=0.11.0 (server.properties:1): the replication protocol is 2.1, but followers
     reconcile by leader epochs as in 0.11 (KIP-101)
server.properties: inter.broker.protocol.version=2.0-IV0 @ 2.1
    inter.broker.protocol.version=2.0-IV0 (server.properties:1): the replication protocol is 2.1, but followers
     reconcile by leader epochs as in 2.0 (KIP-279), without fencing
server.properties: inter.broker.protocol.version=2.1-IV2 @ 2.1
    inter.broker.protocol.version=2.1-IV2 (server.properties:1): the replication protocol is 2.1
# --- The format of the records
--topic t.properties: message.format.version=0.10.2 @ 2.1.1
    message.format.version=0.10.2 (t.properties:1): records have no leader epochs: followers truncate to the high
     watermark
--topic t.properties: log.message.format.version=0.9.0 @ 2.0.0
    log.message.format.version=0.9.0 (t.properties:1): records have no leader epochs: followers truncate to the high
     watermark (taken as the broker's)
--topic t.properties: message.format.version=0.11.0 @ 2.1
    message.format.version=0.11.0 (t.properties:1): records have leader epochs
--topic t.properties: message.format.version=0.9.0 @ 0.10.2
    message.format.version=0.9.0 (t.properties:1): records have no leader epochs, which came with 0.11
topic.properties: message.format.version=0.10.2
/ server.properties: broker.id=0 log.message.format.version=0.11.0 @ 2.1.1
    message.format.version=0.10.2 (topic.properties:1): records have no leader epochs: followers truncate to the high
     watermark
    OVERRIDDEN log.message.format.version: overridden by the topic's message.format.version in topic.properties:1
topic.properties: message.format.version=2.1 / server.properties: broker.id=0 inter.broker.protocol.version=1.1 @ 2.1.1
    NO_BEARING message.format.version: Kafka ignores it: newer than inter.broker.protocol.version 1.1
    NO_BEARING broker.id: has no bearing on replication
topic.properties: message.format.version=0.10.2 @ 3.0
    NO_BEARING message.format.version: Kafka ignores it since 3.0: every record has the newest format
# --- Clients
p.properties: acks=all retries=3 max.in.flight.requests.per.connection=1 transactional.id=t
/ c.properties: group.id=g isolation.level=read_committed @ 2.1
    retries=3 (p.properties:2): a failed request is sent again (two resends are searched)
    max.in.flight.requests.per.connection=1 (p.properties:3): one request at a time
    enable.idempotence=true (becomes true because of transactional.id=t in p.properties:4): a leader recognises a
     resend by its sequence number
    transactional.id=t (p.properties:4): records belong to transactions
    isolation.level=read_committed (c.properties:2): consumers read up to the last stable offset
    auto.offset.reset=latest (Kafka 2.1's default): a consumer whose position does not exist continues at the end of
     the log
p.properties: acks=all retries=0 @ 2.1
    retries=0 (p.properties:2): a failed request is not sent again
    enable.idempotence=false (Kafka 2.1's default): a leader appends a resend as a new record
    isolation.level=read_uncommitted (Kafka 2.1's default): consumers read up to the high watermark
x.properties: transactional.id=t transaction.timeout.ms=900001 transaction.max.timeout.ms=900001 @ 3.9
    transaction.timeout.ms=900001 (x.properties:2): a longer transaction is aborted; the model has no clock, and
     searches no such time-out
    transaction.max.timeout.ms=900001 (x.properties:3): the most that transaction.timeout.ms may be (taken as the
     broker's)
x.properties: acks=all transaction.timeout.ms=900001 @ 3.9
    NO_TRANSACTIONS transaction.timeout.ms: concerns transactions only
x.properties: transactional.id=t transaction.state.log.replication.factor=1 transaction.state.log.min.isr=2 @ 3.6
    transaction.state.log.min.isr=2 (x.properties:3): a step of a transaction needs 2 of them in sync: no transaction
     can begin
x.properties: transactional.id=t transaction.state.log.replication.factor=1 transaction.state.log.min.isr=2 @ 3.7
    transaction.state.log.min.isr=2 (x.properties:3): a step of a transaction needs 1 of them in sync
p.properties: acks=all partitioner.class=x partitioner.ignore.keys=true @ 3.9
    PARTITIONS partitioner.class: chooses a record's partition; Kafka promises no order across partitions
    PARTITIONS partitioner.ignore.keys: chooses a record's partition; Kafka promises no order across partitions
# --- What is ignored, and why
producer.properties: acks=all linger.ms=5 / topic.properties: cleanup.policy=compact flush.messages=2 retention.ms=1000
/ server.properties: broker.id=0 auto.leader.rebalance.enable=true replica.lag.time.max.ms=3000
/ b2.properties: broker.id=1 offsets.topic.replication.factor=1 offsets.retention.minutes=1 @ 0.10.2
    NOT_MODELLED cleanup.policy: compaction is not modelled: the answer is for a log that keeps every record
    NOT_MODELLED flush.messages: only a flush after every record is modelled: a power loss can lose everything appended
     since the start
    NOT_MODELLED retention.ms: retention is not modelled: the answer is for records that are not deleted yet
    NOT_MODELLED replica.lag.time.max.ms: time is not modelled: the answer covers every value
    NOT_MODELLED offsets.topic.replication.factor: the topic of consumer offsets, which has its own replicas, is not
     modelled
    NO_BEARING linger.ms: has no bearing on replication
    NO_BEARING broker.id: has no bearing on replication
    NO_BEARING broker.id: has no bearing on replication
    NO_BEARING offsets.retention.minutes: concerns an internal topic, not this one
    UNKNOWN -
--broker b: broker.session.timeout.ms=1 @ 3.9
    NOT_MODELLED broker.session.timeout.ms: time is not modelled: the answer covers every value
--broker b: zookeeper.metadata.migration.enable=1 @ 3.9
    NOT_MODELLED zookeeper.metadata.migration.enable: a migration to KRaft is not modelled
--broker b: zookeeper.session.timeout.ms=1 offsets.commit.required.acks=1 log.retention.hours=1 @ 2.1
    NOT_MODELLED zookeeper.session.timeout.ms: time is not modelled: the answer covers every value
    NOT_MODELLED offsets.commit.required.acks: the topic of consumer offsets, which has its own replicas, is not
     modelled
    NOT_MODELLED log.retention.hours: retention is not modelled: the answer is for records that are not deleted yet
    NO_BEARING -
--broker b: leader.imbalance.per.broker.percentage=1 @ 2.1
    NOT_MODELLED leader.imbalance.per.broker.percentage: the model has no clock: with auto.leader.rebalance.enable
     leadership can move at any time
server.properties: broker.id=1 log.local.retention.ms=5 connections.max.reauth.ms=1 @ 2.1
    Kafka version=2.1 (--kafka-version): decides the defaults
    UNKNOWN log.local.retention.ms: Kafka 2.1 does not know this broker setting, which is new in 3.6
    UNKNOWN connections.max.reauth.ms: Kafka 2.1 does not know this broker setting, which is new in 2.2
topic.properties: cleanup.policy=delete remote.storage.enable=true / server.properties: process.roles=broker node.id=1
/ b: broker.id=1 replica.selector.class=x eligible.leader.replicas.enable=true
/ c: broker.id=2 transaction.partition.verification.enable=true @ 3.9
    replica.selector.class=x (b:2): consumers read from the leader: no client.rack is given
    NOT_MODELLED remote.storage.enable: tiered storage is not modelled: the answer is for a log on the brokers' own
     disks
    NOT_MODELLED eligible.leader.replicas.enable: eligible leader replicas before 4.0 are not modelled
    NO_TRANSACTIONS transaction.partition.verification.enable: concerns transactions only
    NO_BEARING node.id: has no bearing on replication
    NO_BEARING broker.id: has no bearing on replication
    NO_BEARING broker.id: has no bearing on replication
topic.properties: cleanup.policy=delete flush.ms=9223372036854775807 @ 2.1
    ASSUMED cleanup.policy: is what the model assumes
    ASSUMED flush.ms: is what the model assumes
producer.properties: acks=all enable.idempotence=true transactional.id=t
/ consumer.properties: group.id=g isolation.level=read_committed @ 0.10.2
    acks=all (producer.properties:1): a record is acknowledged once the whole ISR has it
    UNKNOWN enable.idempotence: Kafka 0.10.2 does not know this producer setting, which is new in 0.11.0
    UNKNOWN transactional.id: Kafka 0.10.2 does not know this producer setting, which is new in 0.11.0
    UNKNOWN isolation.level: Kafka 0.10.2 does not know this consumer setting, which is new in 0.11.0
producer.properties: acks=all enable.idempotence=true transactional.id=t
/ consumer.properties: group.id=g isolation.level=read_committed @ 0.11|-
    UNKNOWN -
# A release that is older than the lists has the keys of their first release.
topic.properties: min.insync.replicas=2 retention.ms=1 @ 0.9
    UNKNOWN -
    NOT_MODELLED retention.ms: retention is not modelled: the answer is for records that are not deleted yet
server.properties: broker.id=0 sasl.jaas.config=x @ 0.10.2
    UNKNOWN sasl.jaas.config: Kafka 0.10.2 does not know this broker setting, which is new in 1.1
server.properties: broker.id=0 sasl.jaas.config=x / producer.properties: acks=1 sasl.jaas.config=x @ 1.1 => UNKNOWN -
producer.properties: acks=1 sasl.jaas.config=x @ 0.10.2 => UNKNOWN -
--topic t: a.plugins.own.key=1 @ 0.10.2|3.9 => UNKNOWN a.plugins.own.key: Kafka VERSION has no such topic setting
--topic t: a.plugins.own.key=1 @ - => UNKNOWN a.plugins.own.key: Kafka up to 3.9 has no such topic setting
--topic t: a.plugins.own.key=1 @ 4.0
    UNKNOWN a.plugins.own.key: not a topic setting of Kafka up to 3.9; isrcheck does not know newer settings
--topic t: min.insync.replica=3 @ -
    UNKNOWN min.insync.replica: Kafka up to 3.9 has no such topic setting; did you mean min.insync.replicas?
--topic t: min.insync.replica=3 @ 0.10.2
    UNKNOWN min.insync.replica: Kafka 0.10.2 has no such topic setting; did you mean min.insync.replicas?
--topic t: remote.storage.enable=true @ 2.1
    UNKNOWN remote.storage.enable: Kafka 2.1 does not know this topic setting, which is new in 3.0
--topic t: Acks=all @ 0.10.2 => UNKNOWN Acks: Kafka 0.10.2 has no such topic setting; did you mean acks?
--topic t: \\ufeffacks=all @ 0.10.2 => UNKNOWN \\ufeffacks: Kafka 0.10.2 has no such topic setting; did you mean acks?
"""


@each_row(SAID)
def test_what_counts_and_what_is_ignored(row: Row) -> None:
    """The settings that count are among those understood; of an ignored kind all that are ignored are listed."""
    cluster = row.cluster()
    kinds = {entry.split()[0] for entry in row.says} & {why.name for why in WhyIgnored}
    of_kinds = [entry for entry in row.says if entry.split()[0] in kinds]
    assert [line for line in understood(cluster) if line in row.says] == [
        entry for entry in row.says if entry not in of_kinds
    ]
    ignored = [f"{each.why.name} {each.key}: {each.reason}" for each in cluster.ignored if each.why.name in kinds]
    assert sorted(ignored) == sorted(entry for entry in of_kinds if not entry.endswith(" -"))


def test_a_topic_with_its_producers_acks_in_one_file() -> None:
    cluster = read(
        "t.properties: replication.factor=3 min.insync.replicas=2 unclean.leader.election.enable=false acks=all"
    )
    assert cluster.generation == Generation("0.10", {}, None)
    assert (cluster.topics, cluster.partitions, cluster.why_unknown, cluster.ignored) == ((), (), None, ())
    usual = "(Kafka 0.10.2's default)"
    assert understood(cluster) == [
        "Kafka version=0.10.2 (--kafka-version): decides the defaults",
        "inter.broker.protocol.version=0.10.2 (--kafka-version): the replication protocol is 0.10",
        "replication.factor=3 (t.properties:1): number of brokers with a replica: 3",
        "min.insync.replicas=2 (t.properties:2): an acks=all write needs an ISR of at least 2",
        "unclean.leader.election.enable=false (t.properties:3): only a member of the ISR can be elected",
        "auto.leader.rebalance.enable=true"
        f" {usual}: leadership returns to the preferred replica while the leader lives",
        "acks=all (t.properties:4): a record is acknowledged once the whole ISR has it (taken as the producer's)",
        f"retries=0 {usual}: a failed request is not sent again",
        f"max.in.flight.requests.per.connection=5 {usual}: up to 5 requests of a producer at a time",
    ]


def test_every_role_contributes_its_settings() -> None:
    written("cleanup.policy=delete", "min.insync.replicas= 2 ", name="topic.properties")
    files = "server.properties topic.properties producer.properties consumer.properties"
    for name, *lines in (
        ("server.properties", "broker.id=0", "default.replication.factor=3", "unclean.leader.election.enable=TRUE"),
        ("producer.properties", "bootstrap.servers=x", "acks= all\t"),
        ("consumer.properties", "bootstrap.servers=x", "group.id=g"),
    ):
        written(*lines, name=name)
    server, *clients = map(Path, files.split())
    (cluster,) = read_clusters(
        [(None, path) for path in (server, Path("topic.properties"), *clients)], "0.10.2"
    ).clusters
    assert (cluster.unclean_election.value, cluster.min_insync_replicas.value) == (True, 2)
    assert cluster.producer.acks.value == "all"
    assert [(each.key, each.text, each.source) for each in cluster.understood] == [
        ("Kafka version", "0.10.2", "--kafka-version"),
        ("inter.broker.protocol.version", "0.10.2", "--kafka-version"),
        ("default.replication.factor", "3", "server.properties:2"),
        ("min.insync.replicas", "2", "topic.properties:2"),
        ("unclean.leader.election.enable", "TRUE", "server.properties:3"),
        ("auto.leader.rebalance.enable", "true", "Kafka 0.10.2's default"),
        ("acks", "all", "producer.properties:2"),
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


@pytest.mark.parametrize(("text", "count"), [("1", 1), ("+2", 2), ("003", 3), ("2147483647", 2147483647)])
def test_counts_of_replicas(text: str, count: int) -> None:
    cluster = read(f"topic.properties: min.insync.replicas={text} replication.factor={text}")
    assert (cluster.min_insync_replicas.value, cluster.replication_factor.value) == (count, count)


# --- What is refused --------------------------------------------------------------------------------------------------

NO_ACKS = "is not a value of acks; write all (or -1), 1 or 0"
NO_COUNT = "is not a whole number from 1 to 2147483647; write for example 2"
NO_TRUTH = "is neither true nor false; write true or false"
NOT_FROM_0 = "is not a whole number from 0 to 2147483647; write for example 0"
NO_POLICY = "is not a policy for offsets; write earliest, latest or none"
NO_ROLES = "is no list of process roles; write broker, controller or broker,controller"
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
        ("max.in.flight.requests.per.connection=0", NO_COUNT.replace("example 2", "example 5")),
        ("isolation.level=READ_COMMITTED", "is not an isolation level; write read_committed or read_uncommitted"),
        ("auto.offset.reset=Latest", NO_POLICY),
        ("auto.offset.reset=", NO_POLICY),
        ("transaction.timeout.ms=-1", NOT_FROM_0.replace("example 0", "example 60000")),
        ("transaction.max.timeout.ms=0", NO_COUNT.replace("example 2", "example 900000")),
        ("transaction.version=3", "is not 0, 1 or 2; write 2 if transactions end with a new epoch, or 0"),
        ("transaction.partition.verification.enable=yes", NO_TRUTH),
        ("eligible.leader.replicas.version=yes", "is neither 0 nor 1; write 1 if the feature is on, or 0"),
        ("process.roles=broker,brooker", NO_ROLES),
        ("process.roles=broker,broker", NO_ROLES),
        ("metadata.version=21", "is no metadata.version; write for example 3.7-IV4 or 3.9"),
    ],
)
def test_values_that_kafka_refuses(line: str, why: str) -> None:
    key, _, text = line.partition("=")
    assert refused_line(line) == f"{key}: '{text}' {why}"


def refused_line(line: str) -> str:
    """Why a file is refused for its second line."""
    with pytest.raises(PropertiesError) as refusal:
        read_clusters([(None, written("# one", line))], "0.10.2")
    return str(refusal.value).removeprefix("some.properties:2: ")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("acks", f"acks: '' {NO_ACKS}"),
        ("acks=a\\nb\\u001bc", rf"acks: 'a\nb\x1bc' {NO_ACKS}"),
        ("acks=" + "9" * 70, f"acks: '{'9' * 60}...' {NO_ACKS}"),
        ("transactional.id=", "transactional.id: Kafka refuses an empty value; write a name, or leave the key out"),
        ("message.format.version=0.10",
         "message.format.version: Kafka refuses '0.10', which is incomplete; write one of 0.10.0, 0.10.1, 0.10.2"),
    ],
)  # fmt: skip
def test_a_refused_value_is_shown_on_one_short_line(line: str, message: str) -> None:
    assert refused_line(line) == message


REFUSED = """
# --- An overridden value must be valid as well
topic.properties: min.insync.replicas=2 / server.properties: broker.id=0 min.insync.replicas=none @ 0.10.2
    server.properties:2: min.insync.replicas: 'none' is not a whole number from 1 to 2147483647; write for example 2
# --- Two values of one key
topic.properties: min.insync.replicas=2 min.insync.replicas=1 @ 0.10.2
    topic.properties:2: min.insync.replicas=1 contradicts min.insync.replicas=2 in topic.properties:1; one topic cannot
     have both; keep one of them
topic.properties: retention.ms=1 retention.ms=2 @ 0.10.2
    topic.properties:2: retention.ms=2 contradicts retention.ms=1 in topic.properties:1; one topic cannot have both;
     keep one of them
a.properties: acks=all / b.properties: linger.ms=1 acks=1 @ 0.10.2
    b.properties:2: acks=1 contradicts acks=all in a.properties:1; the answer is for producers that agree in it; set
     one value for all, or give those of one cluster that agree in files of their own
b1.properties: broker.id=1 num.io.threads=8 / b2.properties: broker.id=2 num.io.threads=8 num.io.threads=16 @ 3.9
    b2.properties:3: num.io.threads=16 contradicts num.io.threads=8 in b1.properties:2 and b2.properties:2; one broker
     cannot have both; keep one of them
b1: log.flush.interval.messages=1 broker.id=1 / b2: log.flush.interval.messages=9 broker.id=1 @ 3.9
    b2:1: log.flush.interval.messages=9 contradicts log.flush.interval.messages=1 in b1:1; the answer is for brokers
     that agree in it; set one value for all, or give those of one cluster that agree in files of their own
b1: broker.id=1 default.replication.factor=3 / b2: broker.id=2 default.replication.factor=2 @ 0.10.2
    b2:2: default.replication.factor=2 contradicts default.replication.factor=3 in b1:2; the answer is for brokers that
     agree in it; set one value for all, or give those of one cluster that agree in files of their own
b1: broker.id=1 broker.id=2 @ 0.10.2
    b1:2: broker.id=2 contradicts broker.id=1 in b1:1; one broker cannot have both; keep one of them
p.properties: acks=1 ssl.key.password=hunter2 ssl.key.password=hunter3 @ 0.10.2
    p.properties:3: ssl.key.password=[hidden] contradicts ssl.key.password=[hidden] in p.properties:2; one producer
     cannot have both; keep one of them
# --- Modes and versions that contradict each other
--broker b: process.roles=broker zookeeper.connect=a:2181 @ 3.9
    b:2: zookeeper.connect=a:2181 contradicts KRaft (process.roles=broker in b:1): either ZooKeeper or KRaft
     controllers keep the metadata of a cluster; leave one of them out
--broker b: zookeeper.connect=a:2181 @ - metadata=3.6
    b:1: zookeeper.connect=a:2181 contradicts KRaft (--metadata-version): either ZooKeeper or KRaft controllers keep
     the metadata of a cluster; leave one of them out
--broker b: zookeeper.connect=a:2181 @ 4.0
    --kafka-version: Kafka 4.0 contradicts ZooKeeper (zookeeper.connect=a:2181 in b:1): 3.9 is the last release with
     ZooKeeper; correct --kafka-version, or leave out what says ZooKeeper
--broker b: process.roles=broker @ 2.7
    --kafka-version: Kafka 2.7 contradicts KRaft (process.roles=broker in b:1): KRaft came with 2.8; correct
     --kafka-version, or leave out what says KRaft
--broker b: process.roles=broker inter.broker.protocol.version=2.8 @ 3.9
    b:2: inter.broker.protocol.version: a KRaft broker refuses 2.8, which is older than 3.0-IV1; leave it out, and give
     --metadata-version if you know it
--broker b: process.roles=broker inter.broker.protocol.version=3.7 @ 3.6
    b:2: inter.broker.protocol.version: Kafka 3.6 refuses 3.7, which is newer; write 3.6 or older, or correct
     --kafka-version
--broker b: process.roles=broker @ 3.5 metadata=3.6-IV0
    --metadata-version: metadata.version: Kafka 3.5 refuses 3.6-IV0, which is newer; write 3.5 or older, or correct
     --kafka-version
--broker b: process.roles=broker metadata.version=3.4 @ 3.5 metadata=3.5
    b:2: metadata.version=3.4 contradicts --metadata-version 3.5; a cluster has one metadata.version: keep one of them
--broker b: process.roles=broker @ 4.0 metadata=3.2
    --metadata-version: metadata.version: Kafka 4.0 refuses 3.2, which is older than 3.3-IV3; raise metadata.version,
     or correct --kafka-version
--broker b: process.roles=broker @ - metadata=2.8
    --metadata-version: there is no metadata.version 2.8; the first one is 3.0-IV1, of Kafka 3.0 with KRaft
--broker b: process.roles=broker @ - metadata=3.6-IV9
    --metadata-version: Kafka has no internal version 3.6-IV9; write 3.6
--broker b: process.roles=broker eligible.leader.replicas.version=1 @ 3.9
    b:2: eligible.leader.replicas.version=1 needs metadata.version 4.0-IV1 or newer, but it is 3.9 (--kafka-version);
     correct one of them
--broker b: process.roles=broker zookeeper.connect=a:2181 zookeeper.metadata.migration.enable=true @ 4.1
    --kafka-version: Kafka 4.1 contradicts zookeeper.metadata.migration.enable=true in b:3: 3.9 is the last release
     with ZooKeeper; correct --kafka-version, or leave that setting out
server.properties: broker.id=1 inter.broker.protocol.version=4.0 @ -
    server.properties:2: inter.broker.protocol.version: 4.0 is no version of the inter-broker protocol; the last one is
     3.9: write 3.9
server.properties: inter.broker.protocol.version=0.10 @ 0.10.2
    server.properties:1: inter.broker.protocol.version: Kafka refuses '0.10', which is incomplete; write one of 0.10.0,
     0.10.1, 0.10.2
b: process.roles=broker @ 4.4 metadata=4.4-IV3
    --metadata-version: Kafka has no internal version 4.4-IV3; write 4.4
b: process.roles=broker @ 4.2 metadata=4.3-IV0
    --metadata-version: metadata.version: Kafka 4.2 refuses 4.3-IV0, which is newer; write 4.2 or older, or correct
     --kafka-version
b: process.roles=broker eligible.leader.replicas.version=2 @ 4.4
    b:2: eligible.leader.replicas.version: '2' is neither 0 nor 1; write 1 if the feature is on, or 0
b: process.roles=broker eligible.leader.replicas.version=1 @ 4.4 metadata=4.0-IV0
    b:2: eligible.leader.replicas.version=1 needs metadata.version 4.0-IV1 or newer, but it is 4.0-IV0
     (--metadata-version); correct one of them
b: process.roles=broker transaction.version=2 @ 3.9
    b:2: transaction.version=2 needs Kafka 4.0 or newer, but it is 3.9 (--kafka-version); correct one of them
b: process.roles=broker transaction.version=3 @ 4.4
    b:2: transaction.version: '3' is not 0, 1 or 2; write 2 if transactions end with a new epoch, or 0
b: process.roles=broker eligible.leader.replicas.version=1 zookeeper.connect=a:2181 @ -
    b:3: zookeeper.connect=a:2181 contradicts KRaft (process.roles=broker in b:1): either ZooKeeper or KRaft
     controllers keep the metadata of a cluster; leave one of them out
b: broker.id=1 zookeeper.connect=a:2181 eligible.leader.replicas.version=1 @ 3.9
    b:2: zookeeper.connect=a:2181 contradicts KRaft (eligible.leader.replicas.version=1 in b:3): either ZooKeeper or
     KRaft controllers keep the metadata of a cluster; leave one of them out
# --- Numbers of distributions
@ 4.1.1.1
    --kafka-version: Kafka 4.1.1.1 does not exist: since 1.0 a release has three numbers; write 4.1.1
@ 7.6|7.6.1 => --kafka-version: VERSION is no release of Kafka; Confluent Platform 7.6 contains Kafka 3.6: write 3.6
@ 5.0 => --kafka-version: 5.0 is no release of Kafka; Confluent Platform 5.0 contains Kafka 2.0: write 2.0
@ 5.5 => --kafka-version: 5.5 is no release of Kafka; Confluent Platform 5.5 contains Kafka 2.5: write 2.5
@ 6.2 => --kafka-version: 6.2 is no release of Kafka; Confluent Platform 6.2 contains Kafka 2.8: write 2.8
@ 8.1.0 => --kafka-version: 8.1.0 is no release of Kafka; Confluent Platform 8.1 contains Kafka 4.1: write 4.1
@ 8.4 => --kafka-version: 8.4 is no release of Kafka; Confluent Platform 8.4 contains Kafka 4.4: write 4.4
@ 10.0
    --kafka-version: 10.0 is no release of Kafka, whose newest release here is 4.4; write the release of Kafka that the
     distribution contains
# --- Consumers and transactions
c: auto.offset.reset=smallest @ 2.0
    c:1: auto.offset.reset=smallest: a consumer of Kafka 2.0 refuses to start with it, because only the old consumers
     before 2.0 knew that value; write auto.offset.reset=earliest
c: auto.offset.reset=by_duration:P1D @ 3.9
    c:1: auto.offset.reset=by_duration:P1D: a consumer of Kafka 3.9 refuses to start with it, because by_duration: came
     with 4.0; write earliest, latest or none
x: transactional.id=t transaction.timeout.ms=900001 @ 3.9
    x:2: transaction.timeout.ms=900001: a coordinator of Kafka 3.9 refuses the producer (INVALID_TRANSACTION_TIMEOUT),
     because transaction.timeout.ms=900001 is not between 1 and transaction.max.timeout.ms=900000; write
     transaction.timeout.ms=900000 or less, or raise transaction.max.timeout.ms
x: transactional.id=t transaction.timeout.ms=0 @ 3.9
    x:2: transaction.timeout.ms=0: a coordinator of Kafka 3.9 refuses the producer (INVALID_TRANSACTION_TIMEOUT),
     because transaction.timeout.ms=0 is not between 1 and transaction.max.timeout.ms=900000; write
     transaction.timeout.ms=900000
--producer x: transactional.id=t transaction.max.timeout.ms=59999 @ 3.9
    x:2: transaction.max.timeout.ms=59999: a coordinator of Kafka 3.9 refuses the producer
     (INVALID_TRANSACTION_TIMEOUT), because transaction.timeout.ms=60000 is not between 1 and
     transaction.max.timeout.ms=59999; write transaction.timeout.ms=59999 or less, or raise transaction.max.timeout.ms
"""


@each_row(REFUSED)
def test_what_no_cluster_can_have_is_refused_in_one_line(row: Row) -> None:
    assert row.complaint() == row.text


REFUSED_PRODUCERS = """
p: transactional.id=t enable.idempotence=FALSE @ 0.11|0.11.0.3|1.0|1.1|2.0|2.1|2.8|3.0.0|3.1.0|3.0.1|3.1.1|3.2|3.9|4.1
    2: transactional.id=t (p:1) needs enable.idempotence=true; write enable.idempotence=true, or leave transactional.id
     out
p: enable.idempotence=true acks=0 @ 1.0|1.1|2.0|2.1|2.8|3.0.0|3.1.0|3.0.1|3.1.1|3.2|3.9|4.1
    2: enable.idempotence=true (p:1) needs acks=all; write acks=all, or write enable.idempotence=false
p: enable.idempotence=true acks=1 @ 0.11|0.11.0.3|1.0|1.1|2.0|2.1|2.8|3.0.0|3.1.0|3.0.1|3.1.1|3.2|3.9|4.1
    2: enable.idempotence=true (p:1) needs acks=all; write acks=all, or write enable.idempotence=false
p: enable.idempotence=true retries=0 @ 0.11|0.11.0.3|1.0|1.1|2.0|2.1|2.8|3.0.0|3.1.0|3.0.1|3.1.1|3.2|3.9|4.1
    2: enable.idempotence=true (p:1) needs retries above 0; leave retries out, or write enable.idempotence=false
p: enable.idempotence=true max.in.flight.requests.per.connection=6 @ 1.0|1.1|2.0|2.1|2.8|3.0.0|3.1.0|3.0.1|3.2|3.9|4.1
    2: enable.idempotence=true (p:1) needs max.in.flight.requests.per.connection of at most 5; write
     max.in.flight.requests.per.connection=5, or write enable.idempotence=false
p: enable.idempotence=true max.in.flight.requests.per.connection=2 @ 0.11|0.11.0.3
    2: enable.idempotence=true (p:1) needs max.in.flight.requests.per.connection=1; write
     max.in.flight.requests.per.connection=1, or write enable.idempotence=false
p: enable.idempotence=true max.in.flight.requests.per.connection=6 @ 0.11|0.11.0.3
    2: enable.idempotence=true (p:1) needs max.in.flight.requests.per.connection=1; write
     max.in.flight.requests.per.connection=1, or write enable.idempotence=false
p: transactional.id=t acks=1 @ 0.11|0.11.0.3|1.0|1.1|2.0|2.1|2.8|3.0.0|3.1.0
    2: transactional.id=t (p:1), which enables idempotence, needs acks=all; write acks=all, or leave transactional.id
     out
p: transactional.id=t acks=1 @ 3.0.1|3.1.1|3.2|3.9|4.1
    2: it disables idempotence, which transactional.id=t (p:1) needs; write acks=all, or leave transactional.id out
p: transactional.id=t retries=0 @ 3.0.1|3.1.1|3.2|3.9|4.1
    2: it disables idempotence, which transactional.id=t (p:1) needs; leave retries out, or leave transactional.id out
p: transactional.id=t max.in.flight.requests.per.connection=6 @ 3.0.1|3.1.1|3.2|3.9
    2: it disables idempotence, which transactional.id=t (p:1) needs; write max.in.flight.requests.per.connection=5, or
     leave transactional.id out
# Since 4.0 too many requests in flight are refused before another setting disables idempotence (KAFKA-17927).
p: max.in.flight.requests.per.connection=6 acks=1 retries=0 @ 4.0|4.1
    1: enable.idempotence=true (Kafka VERSION's default) needs max.in.flight.requests.per.connection of at most 5;
     write max.in.flight.requests.per.connection=5, or write enable.idempotence=false
p: max.in.flight.requests.per.connection=6 @ 4.0|4.1
    1: enable.idempotence=true (Kafka VERSION's default) needs max.in.flight.requests.per.connection of at most 5;
     write max.in.flight.requests.per.connection=5, or write enable.idempotence=false
p: max.in.flight.requests.per.connection=6 transactional.id=t @ 4.0|4.1
    1: enable.idempotence=true (Kafka VERSION's default) needs max.in.flight.requests.per.connection of at most 5;
     write max.in.flight.requests.per.connection=5
# A delivery timeout covers one request. The default of linger.ms is 5 since 4.0 (KIP-1030).
p: delivery.timeout.ms=29999 @ 2.1
    1: it has to be at least linger.ms + request.timeout.ms, 0 + 30000; write delivery.timeout.ms=30000 or more
p: delivery.timeout.ms=30004 linger.ms=5 @ 2.1
    1: it has to be at least linger.ms + request.timeout.ms, 5 + 30000; write delivery.timeout.ms=30005 or more
p: delivery.timeout.ms=30000 @ 4.0
    1: it has to be at least linger.ms + request.timeout.ms, 5 + 30000; write delivery.timeout.ms=30005 or more
p: delivery.timeout.ms=30000 linger.ms=1 @ 4.1
    1: it has to be at least linger.ms + request.timeout.ms, 1 + 30000; write delivery.timeout.ms=30001 or more
p: delivery.timeout.ms=1005 linger.ms=6 request.timeout.ms=1000 @ 3.9
    1: it has to be at least linger.ms + request.timeout.ms, 6 + 1000; write delivery.timeout.ms=1006 or more
"""
"""For each producer the line for which Kafka refuses it, the reason, and the cure."""


@each_row(REFUSED_PRODUCERS)
def test_producers_that_refuse_to_start(row: Row) -> None:
    number, _, why = row.text.partition(": ")
    line = row.files.split()[int(number)]
    assert replace(row, files=f"--producer {row.files}").complaint() == (
        f"p:{number}: {line}: a producer of Kafka {row.version} refuses to start with it, because {why}"
    )


@pytest.mark.parametrize(
    "version", ["", "abc", "3", "v3.9", "3.9-rc1", "2.11-0.10.2.1", "0.10.2.", "0.10.2.1.5", "0.10.2-IV", "٣.٩", " 3.9"]
)
def test_ill_formed_versions(version: str) -> None:
    cure = f"{version!r} is not a version of Kafka; write for example 0.10.2, 0.10.1-IV2 or 3.9"
    assert complaint(version=version) == f"--kafka-version: {cure}"


NOT_THERE = "Kafka {} does not exist or has no replication; write another release, for example {}"
NO_INTERNAL = "Kafka has no internal version {}; write {}"


@pytest.mark.parametrize(
    ("version", "cure", "says"),
    [
        *((version, cure, NOT_THERE) for version, cure in (
            ("0.7", "0.8.0"), ("0.7.2", "0.8.0"), ("0.10.3", "0.10.2"), ("0.12", "0.11.0"), ("1.2", "1.1"),
            ("2.9", "2.8"), ("3.10", "3.9"))),
        *((version, cure, NO_INTERNAL) for version, cure in (
            ("0.10.2-IV1", "0.10.2"), ("0.9.0-IV0", "0.9.0"), ("2.1-IV3", "2.1"), ("0.10-IV0", "0.10"))),
    ],
)  # fmt: skip
def test_nonexistent_versions(version: str, cure: str, says: str) -> None:
    assert complaint(version=version) == f"--kafka-version: {says.format(version, cure)}"
    of_broker = complaint(f"server.properties: inter.broker.protocol.version={version}", version=None)
    assert of_broker == f"server.properties:1: inter.broker.protocol.version: {says.format(version, cure)}"


# --- Several brokers and clients --------------------------------------------------------------------------------------


def test_brokers_and_clients_may_differ_in_what_no_answer_depends_on() -> None:
    """A cluster of unequal machines, or of several producers, is one cluster."""
    cluster = read(
        "b1: broker.id=1 num.io.threads=8 min.insync.replicas=2 default.replication.factor=3"
        " / b2: broker.id=2 num.io.threads=16 min.insync.replicas=2 default.replication.factor=3"
        " / p1: acks=all batch.size=1 / p2: acks=all batch.size=2",
        "3.9",
    )
    assert cluster.min_insync_replicas.source == "b1:3 and b2:3"
    assert cluster.replication_factor.source == "b1:4 and b2:4"
    values = " ".join(f"{each.key}={each.value}" for each in cluster.ignored)
    assert values == "broker.id=1 num.io.threads=8 broker.id=2 num.io.threads=16 batch.size=1 batch.size=2"


def test_a_setting_of_some_brokers_alone_is_reported() -> None:
    """Of another broker the default may be in effect: with that, min.insync.replicas=2 would promise too much."""
    one = "b1: broker.id=1 min.insync.replicas=2 num.io.threads=8 log.dirs=/a"
    two = "b2: broker.id=2 num.io.threads=8 log.dirs=/b"
    says = "min.insync.replicas=2 (b1:2) is not given for b2; it is taken for every broker"
    of_topic = "t: min.insync.replicas=2 cleanup.policy=delete"
    for files, remarks in (
        (f"{one} / {two}", (says,)),
        (f"{two} / {one}", (says,)),
        (f"{one} / {two} min.insync.replicas=2", ()),
        (f"{one} / {two} / {of_topic}", ()),
        # Each of two files gives the roles of its own process, so neither lacks those of the other.
        ("b1: process.roles=broker,controller node.id=1 / b2: process.roles=broker,controller node.id=2", ()),
    ):
        assert Row(files, "3.9", None, ()).read().remarks == remarks


def test_an_internal_topic_with_one_replica_is_reported_if_other_topics_have_more() -> None:
    """Kafka's own server.properties has these factors. Answers about groups and transactions speak of them anyway."""
    broker = "b: process.roles=broker node.id=1 offsets.topic.replication.factor=1 transaction.state.log.min.isr=1"
    broker += " transaction.state.log.replication.factor=1 share.coordinator.state.topic.replication.factor=1"
    offsets = (
        "b:3: offsets.topic.replication.factor=1: one lost broker loses the committed offsets of groups"
        " (__consumer_offsets)"
    )
    states = (
        "b:5: transaction.state.log.replication.factor=1: one lost broker loses the states of transactions"
        " (__transaction_state)"
    )
    share = (
        "b:6: share.coordinator.state.topic.replication.factor=1: one lost broker loses the positions of share groups"
        " (__share_group_state)"
    )
    for files, remarks in (
        (f"{broker} / t: replication.factor=3 min.insync.replicas=2", (offsets, states, share)),
        (f"{broker} / t: replication.factor=1 min.insync.replicas=1", ()),
        (f"{broker} / t: min.insync.replicas=2", ()),
        (
            f"{broker} / t: replication.factor=3 cleanup.policy=delete / c: group.id=g isolation.level=read_committed",
            (states, share),
        ),
        (f"{broker} / t: replication.factor=3 cleanup.policy=delete / p: transactional.id=a", (offsets, share)),
        ("b: broker.id=1 offsets.topic.replication.factor=3 / t: replication.factor=3 cleanup.policy=delete", ()),
    ):
        assert Row(files, "4.2", None, ()).read().remarks == remarks


def test_an_internal_topic_that_is_described_has_the_replicas_of_its_description() -> None:
    Path("d").write_text(
        "Topic: __consumer_offsets PartitionCount: 1 ReplicationFactor: 3 Configs: min.insync.replicas=2\n"
        "  Topic: __consumer_offsets Partition: 0 Leader: 1 Replicas: 1,2,3 Isr: 1,2,3\n",
        encoding="utf-8",
    )
    Path("b").write_text("broker.id=1\noffsets.topic.replication.factor=1\n", encoding="utf-8")
    assert read_clusters([(None, Path("b"))], "3.9", ["d"]).remarks == ()


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
    files = [(None, written(line, name=name)) for name, line in (("a.properties", one), ("b.properties", other))]
    (cluster,) = read_clusters(files, "0.10.2").clusters
    assert "a.properties:1 and b.properties:1" in [each.source for each in (*cluster.understood, *cluster.ignored)]


def test_the_same_file_twice_is_accepted() -> None:
    once, twice = read("t: min.insync.replicas=2"), read("t: min.insync.replicas=2 / t: min.insync.replicas=2")
    assert (once, understood(once)) == (twice, understood(twice))


# --- Versions, generations and defaults -------------------------------------------------------------------------------

GENERATIONS = """
@ 0.8.2 => 0.8
@ 0.9|0.9.0.1|0.10.0|0.10.1|0.10.2|0.10.2.1|0.10.0-IV1|0.10.1-IV2|0.10 => 0.10
@ 0.11|0.11.0|0.11.0.3|1.0|1.0.2|1.1|1.1.1 => 0.11
@ 2.0|2.0.0|2.0-IV1 => 2.0
@ 2.0.1
    2.0 EPOCH_AT_BECOME_LEADER=on EPOCH_CACHE_ASSIGN=REPLACE_CONFLICTING EPOCH_BELOW_FIRST_ENTRY=FIRST_START_OFFSET
     EXPAND_EPOCH_START=on FOLLOWER_SKIP=SAME_LEADER_NEXT_EPOCH OUT_OF_RANGE_HALTS=off
@ 2.1|2.1.0|2.1.1|2.1-IV2|2.2|2.3.1 => 2.1
@ 2.4|2.6.3 => 2.4
@ 2.7 => 2.8 HW_FROM_DIVERGING_RESP=off
@ 2.8 => 2.8 DIVERGING_RESP_UPDATES_STATE=on
@ 3.0|3.2 => 2.8
# Without a sign of the mode, a release has the mode of the first production release on.
@ 3.3 => 3.3
@ 3.9 => 3.7
@ 4.1 => 4.1
@ 4.4 => 4.3
b: broker.id=1 zookeeper.connect=a:2181 @ 2.8.0 => 2.8 DIVERGING_RESP_UPDATES_STATE=on
b: broker.id=1 zookeeper.connect=a:2181 @ 2.8.1|3.4 => 2.8
b: broker.id=1 zookeeper.connect=a:2181 @ 3.5|3.6.2 => 2.8 HW_FROM_DIVERGING_RESP=off
b: broker.id=1 zookeeper.connect=a:2181 @ 3.7|3.9|- => 2.8 HW_FROM_DIVERGING_RESP=off HW_MINISR_GATE=on
# KAFKA-18991 is in 3.9.1, 4.0.1 and 4.1.
b: broker.id=1 zookeeper.connect=a:2181 @ 3.9.1
    2.8 HW_FROM_DIVERGING_RESP=off HW_MINISR_GATE=on RESPONSE_EPOCH_MATCHED=on
# Empty roles are those of no KRaft cluster.
b: broker.id=1 process.roles= zookeeper.connect=a:2181 @ 3.9 => 2.8 HW_FROM_DIVERGING_RESP=off HW_MINISR_GATE=on
b: broker.id=1 process.roles=broker @ 2.8|3.2.3
    3.3: KRaft was a preview in Kafka VERSION; 3.3 is the oldest KRaft that is modelled
b: broker.id=1 process.roles=broker @ 3.3|3.4.1 => 3.3
b: broker.id=1 process.roles=broker @ 3.5 => 3.5
b: broker.id=1 process.roles=broker @ 3.6 => 3.5 EPOCH_BUMP_ON_SHRINK=off
b: broker.id=1 process.roles=broker @ 3.7 => 3.7
b: broker.id=1 process.roles=broker @ 3.9.1 => 3.7 RESPONSE_EPOCH_MATCHED=on
b: broker.id=1 process.roles=broker @ 4.0 => 4.0 RESPONSE_EPOCH_MATCHED=off
b: broker.id=1 process.roles=broker @ 4.0.1 => 4.0
b: broker.id=1 process.roles=broker @ 4.1|4.1.1|4.2 => 4.1
b: broker.id=1 process.roles=broker @ 4.3|4.4.1|4.5 => 4.3
b: broker.id=1 process.roles=broker @ 4.6
    4.3: the replication protocol of Kafka 4.6 is not modelled yet; 4.5 is the newest that is
# Processes of a cluster have roles of their own.
b: process.roles=broker / c: process.roles=controller @ 3.9 => 3.7
# --- The metadata version decides what the controller does
@ - metadata=3.3 => 3.3
@ - metadata=3.6-IV0 => 3.5 EPOCH_BUMP_ON_SHRINK=off
@ 3.6 metadata=3.5-IV2 => 3.5
@ 3.6 metadata=3.5-IV1 => 3.5
@ 3.6 metadata=3.5-IV0 => 3.5 BROKER_STATE_CHECK=FENCED
@ 3.9 metadata=3.6 => 3.7
@ 3.9 metadata=3.5 => 3.7 EPOCH_BUMP_ON_SHRINK=on
@ 3.9 metadata=3.4 => 3.7 BROKER_STATE_CHECK=FENCED EPOCH_BUMP_ON_SHRINK=on
@ 4.1 metadata=4.0-IV3 => 4.1 ELR=off
@ 4.1 metadata=4.1-IV0 => 4.1
@ 4.1 metadata=3.3 => 4.1 BROKER_STATE_CHECK=FENCED EPOCH_BUMP_ON_SHRINK=on ELR=off
# --- A feature decides on eligible leader replicas
b: node.id=1 eligible.leader.replicas.version=1 @ 4.0.1 => 4.0 ELR=on
b: node.id=1 eligible.leader.replicas.version=0 @ 4.0.1 => 4.0
b: node.id=1 eligible.leader.replicas.version=1 @ 4.1|4.3 => VERSION
b: node.id=1 eligible.leader.replicas.version=0 @ 4.1|4.3 => VERSION ELR=off
# --- Migrations: before 3.4 no broker migrates
b: zookeeper.connect=a:2181 controller.quorum.voters=1@a:9093 zookeeper.metadata.migration.enable=true @ 3.9|-
    2.8 HW_FROM_DIVERGING_RESP=off HW_MINISR_GATE=on: zookeeper.metadata.migration.enable=true (b:3): a migration to
     KRaft is not modelled
b: zookeeper.connect=a:2181 process.roles=broker zookeeper.metadata.migration.enable=true @ 3.9|-
    3.7: zookeeper.metadata.migration.enable=true (b:3): a migration to KRaft is not modelled
b: zookeeper.connect=a:2181 process.roles=broker zookeeper.metadata.migration.enable=true @ 3.3 => 3.3
# --- An older inter-broker protocol keeps the ISR in ZooKeeper
b: broker.id=1 inter.broker.protocol.version=2.6 @ 2.7|3.6 => 2.4 EPOCH_ENTRY_AT_END_DROPPED=on
b: broker.id=1 inter.broker.protocol.version=2.7-IV1 @ 2.7 => 2.4 EPOCH_ENTRY_AT_END_DROPPED=on
b: broker.id=1 inter.broker.protocol.version=2.7-IV2 @ 2.7 => 2.8 HW_FROM_DIVERGING_RESP=off
b: broker.id=1 inter.broker.protocol.version=2.7 @ 2.8.1 => 2.8
b: broker.id=1 inter.broker.protocol.version=2.0 @ 3.9
    2.4 EPOCH_ENTRY_AT_END_DROPPED=on HW_MINISR_GATE=on TRUNC=KIP279
b: broker.id=1 inter.broker.protocol.version=2.7-IV1 @ 2.8.1
    2.4 EPOCH_ENTRY_AT_END_DROPPED=on: inter.broker.protocol.version 2.7-IV1, truncation on fetch without
     AlterPartition, is not modelled
b: broker.id=1 inter.broker.protocol.version=2.0 @ 2.6 => 2.4 TRUNC=KIP279
# --- It decides how followers truncate, and the binaries all else
b: inter.broker.protocol.version=0.10.2 @ 2.1 => 2.1 TRUNC=HW
b: inter.broker.protocol.version=0.11.0-IV1 @ 2.1 => 2.1 TRUNC=HW
b: inter.broker.protocol.version=0.11.0 @ 2.1 => 2.1 TRUNC=KIP101
b: inter.broker.protocol.version=1.1 @ 2.1 => 2.1 TRUNC=KIP101
b: inter.broker.protocol.version=2.0-IV0 @ 2.1 => 2.1 TRUNC=KIP279
b: inter.broker.protocol.version=2.1-IV1 @ 2.1 => 2.1 TRUNC=KIP279
b: inter.broker.protocol.version=2.1-IV2 @ 2.1 => 2.1
b: inter.broker.protocol.version=2.1 @ 2.1.1 => 2.1
b: inter.broker.protocol.version=1.0 @ 2.0 => 2.0 TRUNC=KIP101
b: inter.broker.protocol.version=2.0 @ 2.0 => 2.0
b: inter.broker.protocol.version=0.11.0-IV0 @ 1.1 => 0.11 TRUNC=HW
b: inter.broker.protocol.version=0.11.0-IV2 @ 1.1 => 0.11
b: inter.broker.protocol.version=0.9.0 @ 0.10.2 => 0.10
# Without a version, it stands in for it.
b: broker.id=0 inter.broker.protocol.version=0.10.2.1 @ - => 0.10
b: broker.id=0 inter.broker.protocol.version=1.1 @ - => 0.11
b: broker.id=0 inter.broker.protocol.version=2.1-IV2 @ - => 2.1
b: broker.id=0 inter.broker.protocol.version=2.5 @ - => 2.4
b: broker.id=0 inter.broker.protocol.version=3.4 @ - => 2.8
# --- Records without leader epochs are truncated to the high watermark
--topic t: message.format.version=0.10.2 @ 2.1.1 => 2.1 TRUNC=HW
--topic t: log.message.format.version=0.9.0 @ 2.0.0 => 2.0 TRUNC=HW
--topic t: message.format.version=0.10.0-IV1 @ 1.1.1 => 0.11 TRUNC=HW
--topic t: message.format.version=0.10.2 @ 1.0.2|0.11.0.3 => 0.11 TRUNC=HW
--topic t: message.format.version=0.11.0 @ 2.1 => 2.1
--topic t: message.format.version=0.9.0 @ 0.10.2 => 0.10
# With the inter-broker protocol of 0.10 the format changes nothing.
--topic t: message.format.version=0.10.2 inter.broker.protocol.version=0.10.2 @ 2.1 => 2.1 TRUNC=HW
t: message.format.version=2.1 / b: broker.id=0 inter.broker.protocol.version=1.1 @ 2.1.1 => 2.1 TRUNC=KIP101
t: message.format.version=0.10.2 @ 3.0 => 2.8
t: message.format.version=0.10.2 @ 2.6 => 2.4 TRUNC=HW
t: message.format.version=0.10.2 @ 2.8.1
    2.8: message.format.version=0.10.2: truncation on fetch without leader epochs is not modelled
t: message.format.version=0.10.2 @ 0.11.0.2|0.11|1.0.1|1.1.0|1.1
    0.11 TRUNC=HW: with message.format.version=0.10.2 a leader of Kafka VERSION answers with its log end offset
     (KAFKA-6857), which is not modelled
t: message.format.version=0.10.2 @ 2.1.0|2.1
    2.1 TRUNC=HW: with message.format.version=0.10.2 a leader of Kafka VERSION still records its leader epoch
     (KAFKA-7897), which is not modelled
t: message.format.version=0.10.2 @ 2.0.1
    2.0 EPOCH_AT_BECOME_LEADER=on EPOCH_CACHE_ASSIGN=REPLACE_CONFLICTING EPOCH_BELOW_FIRST_ENTRY=FIRST_START_OFFSET
     EXPAND_EPOCH_START=on FOLLOWER_SKIP=SAME_LEADER_NEXT_EPOCH OUT_OF_RANGE_HALTS=off TRUNC=HW: with
     message.format.version=0.10.2 a leader of Kafka 2.0.1 still records its leader epoch (KAFKA-7897), which is not
     modelled
"""
"""For each cluster its generation, the switches in which it differs from it, and why it is not modelled."""


@each_row(GENERATIONS)
def test_the_generation_of_a_cluster_with_its_switches(row: Row) -> None:
    cluster = row.cluster()
    switches, _, why = row.text.partition(": ")
    protocol, *values = switches.split()
    assert cluster.generation == Generation(protocol, dict(pair.split("=") for pair in values), why or None)
    agreed = cluster.understood[1]
    says = "not modelled; the nearest generation" if why else "the replication protocol"
    assert agreed.key in ("metadata.version", "inter.broker.protocol.version")
    if "message.format" not in why:  # whose line says it
        assert agreed.meaning.startswith(f"{says} is {protocol}")


OF_METADATA = [row for row in rows(GENERATIONS) if row.metadata_version]


@pytest.mark.parametrize("row", OF_METADATA, ids=str)
def test_a_metadata_version_counts_in_a_file_as_on_the_command_line(row: Row) -> None:
    given = row.cluster()
    assert (given.understood[1].key, given.understood[1].text) == ("metadata.version", row.metadata_version)
    assert given.is_version_given
    in_file = read(f"server.properties: node.id=1 metadata.version={row.metadata_version}", row.version)
    assert in_file.generation == given.generation
    assert in_file.ignored[1:] == ()


@pytest.mark.parametrize("release", STAND_INS)
def test_the_model_names_the_same_generation_for_a_release(release: str) -> None:
    """`check kafka --protocol 3.0` says which generation stands for 3.0."""
    major = int(release.partition(".")[0])
    zookeeper, kraft = (
        read(f"server.properties: broker.id=1 {mode}", release).generation.protocol if is_possible else ""
        for mode, is_possible in (("zookeeper.connect=a:2181", major < 4), ("process.roles=broker", major > 2))
    )
    says = f"{zookeeper} stands for it with ZooKeeper, {kraft} with KRaft" if zookeeper and kraft else ""
    assert STAND_INS[release].startswith(says or f"{zookeeper or kraft} stands for it")


DEFAULTS = """
@ 0.8.2|0.9|0.9.0.1|0.10.0|0.10.1|0.10.2|0.10.2.1|0.10.0-IV1|0.10.1-IV2|0.10
    acks=1 unclean=true retries=0 idempotence=false
@ 0.11|0.11.0|0.11.0.3|1.0|1.0.2|1.1|1.1.1|2.0|2.0.0|2.0-IV1 => acks=1 unclean=false retries=0 idempotence=false
@ 2.1|2.1.0|2.1.1|2.1-IV2|2.2|2.8.2 => acks=1 unclean=false retries=2147483647 idempotence=false
@ 3.0|3.0-IV0|3.1.0 => acks=all unclean=false retries=2147483647 idempotence=false, true, has no effect (KAFKA-13598)
@ 3.0.1|3.1.1|3.2|3.9|3.9.1|4.1|4.3 => acks=all unclean=false retries=2147483647 idempotence=true
"""


@each_row(DEFAULTS)
def test_each_version_has_its_own_defaults(row: Row) -> None:
    cluster, usual = row.cluster(), f"Kafka {row.version}'s default"
    producer = cluster.producer
    defaults = (cluster.unclean_election, producer.acks, producer.retries, producer.in_flight)
    assert {setting.source for setting in (*defaults, cluster.replication_factor)} == {usual}
    note = producer.is_idempotent.source.removeprefix(usual)
    assert row.text == (
        f"acks={producer.acks.value} unclean={str(cluster.unclean_election.value).lower()}"
        f" retries={producer.retries.value} idempotence={str(producer.is_idempotent.value).lower()}{note}"
    )
    assert (cluster.min_insync_replicas.value, cluster.replication_factor.value, producer.in_flight.value) == (1, 1, 5)
    assert cluster.consumer.isolation_level == Setting("read_uncommitted", usual)
    assert (str(cluster.release), cluster.kafka_version.source) == (row.version, "--kafka-version")
    keys = {setting.key for setting in cluster.understood}
    has_clients_of_0_11 = not row.version.startswith(("0.8", "0.9", "0.10")) if row.version else False
    assert ({"enable.idempotence", "isolation.level"} <= keys) is has_clients_of_0_11


TAKEN = """
b: min.insync.replicas=2 replication.factor=3 @ -
    Generation 4.3 is taken: Kafka 4.4 (not given: the newest release) with KRaft (the only mode since 4.0), with
     eligible leader replicas (the default of a cluster created with 4.1 or newer; give
     eligible.leader.replicas.version=0 if it is off)
b: broker.id=1 zookeeper.connect=a:2181 @ -
    Generation 2.8 is taken with HW_FROM_DIVERGING_RESP=off, HW_MINISR_GATE=on: Kafka 3.9 (not given: the last release
     with ZooKeeper) with ZooKeeper (zookeeper.connect=a:2181 in b:2)
b: process.roles=broker inter.broker.protocol.version=3.3 @ -
    Generation 3.7 is taken: Kafka 3.9 (not given: the last release that knows inter.broker.protocol.version (b:2))
     with KRaft (process.roles=broker in b:1)
@ 2.1 => Generation 2.1 is taken: Kafka 2.1 (--kafka-version) with ZooKeeper (the only mode before 2.8)
@ 3.2 => Generation 2.8 is taken: Kafka 3.2 (--kafka-version) with ZooKeeper (assumed: KRaft was a preview before 3.3)
@ 3.4
    Generation 3.3 is taken: Kafka 3.4 (--kafka-version) with KRaft (assumed: give zookeeper.connect in a broker's file
     if it uses ZooKeeper)
--broker b: inter.broker.protocol.version=3.4 @ 3.4
    Generation 2.8 is taken: Kafka 3.4 (--kafka-version) with ZooKeeper (inter.broker.protocol.version in b:1 is not
     for KRaft)
--broker b: process.roles=broker @ 3.6
    Generation 3.5 is taken with EPOCH_BUMP_ON_SHRINK=off: Kafka 3.6 (--kafka-version) with KRaft (process.roles=broker
     in b:1)
--broker b: process.roles=broker @ 3.1.2
    Generation 3.3, the oldest KRaft modelled, is taken: Kafka 3.1.2 (--kafka-version) with KRaft (process.roles=broker
     in b:1)
@ 4.0
    Generation 4.0 is taken with RESPONSE_EPOCH_MATCHED=off: Kafka 4.0 (--kafka-version) with KRaft (the only mode
     since 4.0), without eligible leader replicas (off by default before 4.1-IV0)
--broker b: eligible.leader.replicas.version=0 @ 4.6
    Generation 4.3, the newest one modelled, is taken with ELR=off: Kafka 4.6 (--kafka-version) with KRaft
     (eligible.leader.replicas.version=0 in b:1), without eligible leader replicas (eligible.leader.replicas.version=0
     in b:1)
"""


@each_row(TAKEN)
def test_the_first_line_says_which_generation_is_taken_and_why(row: Row) -> None:
    cluster = row.cluster()
    assert cluster.generation.taken == row.text
    assert cluster.is_version_given is (row.version is not None)


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
    cluster = read(f"server.properties: node.id=1 {line}", version)
    assert f"with KRaft ({line} in server.properties:2)" in cluster.generation.taken
    assert cluster.generation.protocol in ("3.3", "3.7", "4.0", "4.3")


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
    broker = f"b: log.message.format.version={record_format} inter.broker.protocol.version={agreed}"
    if not is_refused:
        read(broker, version)
        return
    assert complaint(broker, version) == (
        f"b:1: log.message.format.version={record_format}: a broker of Kafka {version} refuses to start with it,"
        f" because inter.broker.protocol.version is {agreed} (b:2); write log.message.format.version={agreed}, or raise"
        " inter.broker.protocol.version"
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
    assert complaint(f"b: inter.broker.protocol.version={protocol}", binaries) == (
        f"b:1: inter.broker.protocol.version: Kafka {binaries} refuses {protocol}, which is newer; write {release} or"
        " older, or correct --kafka-version"
    )


@pytest.mark.parametrize(
    ("binaries", "protocol"),
    [("0.10", "0.10.2"), ("0.10.2.1", "0.10.2"), ("0.10.0", "0.10.0-IV1"), ("2.1-IV2", "2.1"), ("3.9.1", "3.9")],
)
def test_a_broker_accepts_its_own_inter_broker_protocol(binaries: str, protocol: str) -> None:
    assert read(f"b: inter.broker.protocol.version={protocol}", binaries).is_version_given


# --- What Kafka makes of a producer's settings ------------------------------------------------------------------------

PRODUCERS = """
# --- Settings that are not given, of a producer that asks for idempotence
p: enable.idempotence=true @ 0.11|0.11.0.3
    acks=all (becomes all because of enable.idempotence=true in p:1)
    retries=2147483647 (becomes 2147483647 because of enable.idempotence=true in p:1)
    in_flight=1 (becomes 1 because of enable.idempotence=true in p:1)
    is_idempotent=True (p:1)
p: transactional.id=t @ 0.11|0.11.0.3
    acks=all (becomes all because of transactional.id=t in p:1)
    retries=2147483647 (becomes 2147483647 because of transactional.id=t in p:1)
    in_flight=1 (becomes 1 because of transactional.id=t in p:1)
    is_idempotent=True (becomes true because of transactional.id=t in p:1)
p: transactional.id=t @ 1.0|1.1|2.0
    acks=all (becomes all because of transactional.id=t in p:1)
    retries=2147483647 (becomes 2147483647 because of transactional.id=t in p:1)
    in_flight=5 (Kafka VERSION's default)
    is_idempotent=True (becomes true because of transactional.id=t in p:1)
p: enable.idempotence=true @ 2.1|2.8
    acks=all (becomes all because of enable.idempotence=true in p:1)
    retries=2147483647 (Kafka VERSION's default)
    in_flight=5 (Kafka VERSION's default)
    is_idempotent=True (p:1)
p: transactional.id=t @ 3.0.0|3.1.0
    acks=all (Kafka VERSION's default)
    retries=2147483647 (Kafka VERSION's default)
    in_flight=5 (Kafka VERSION's default)
    is_idempotent=True (becomes true because of transactional.id=t in p:1)
# --- Idempotence by default, which gives way to other settings
--producer p: @ 3.0.1|3.1.1|3.2|3.9|4.1
    acks=all (Kafka VERSION's default)
    retries=2147483647 (Kafka VERSION's default)
    in_flight=5 (Kafka VERSION's default)
    is_idempotent=True (Kafka VERSION's default)
p: transactional.id=t @ 3.0.1|3.1.1|3.2|3.9|4.1
    acks=all (Kafka VERSION's default)
    is_idempotent=True (Kafka VERSION's default)
p: acks=1 @ 3.0.1|3.1.1|3.2|3.9|4.1
    acks=1 (p:1)
    is_idempotent=False (disabled because of acks=1 in p:1)
p: retries=0 @ 3.0.1|3.1.1|3.2|3.9|4.1
    retries=0 (p:1)
    is_idempotent=False (disabled because of retries=0 in p:1)
p: max.in.flight.requests.per.connection=6 @ 3.0.1|3.1.1|3.2|3.9
    in_flight=6 (p:1)
    is_idempotent=False (disabled because of max.in.flight.requests.per.connection=6 in p:1)
p: enable.idempotence=false acks=1 max.in.flight.requests.per.connection=6 @ 3.0.1|3.9|4.0|4.1
    acks=1 (p:2)
    in_flight=6 (p:3)
    is_idempotent=False (p:1)
# --- Settings that agree with idempotence
p: enable.idempotence=true acks=-1 retries=1 max.in.flight.requests.per.connection=1 @ 0.11|2.1|3.9
    acks=all (p:2)
    retries=1 (p:3)
    in_flight=1 (p:4)
    is_idempotent=True (p:1)
# --- Before 0.11 no producer is idempotent
p: enable.idempotence=true transactional.id=t acks=1 @ 0.10.2
    acks=1 (p:3)
    is_idempotent=False (Kafka 0.10.2's default)
"""


@each_row(PRODUCERS)
def test_the_settings_in_effect_for_a_producer(row: Row) -> None:
    producer = row.cluster().producer
    names = [entry.partition("=")[0] for entry in row.says]
    settings = [getattr(producer, name) for name in names]
    assert tuple(f"{name}={one.value} ({one.source})" for name, one in zip(names, settings, strict=True)) == row.says
    assert producer.has_transactions is ("transactional.id" in row.files and row.version != "0.10.2")


@pytest.mark.parametrize(
    ("lines", "version"),
    [
        ("delivery.timeout.ms=30000", "2.1"),
        ("delivery.timeout.ms=30005 linger.ms=5", "2.1"),
        ("delivery.timeout.ms=30005", "4.0"),
        ("delivery.timeout.ms=1006 linger.ms=6 request.timeout.ms=1000", "3.9"),
    ],
)
def test_a_delivery_timeout_that_covers_one_request_is_accepted(lines: str, version: str) -> None:
    (meaning,) = [one.meaning for one in read(f"p: {lines}", version).understood if one.key == "delivery.timeout.ms"]
    assert meaning == "limits the resends of a record; the model has no clock, so any resend can be the last"
    # Before 2.1 there is no such setting.
    assert set(ignored(read(f"p: {lines}", "2.0"), WhyIgnored.UNKNOWN)) == {"delivery.timeout.ms"}


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
    consumer = read(f"--consumer c: {line}", version).consumer
    assert (consumer.offset_reset.value, consumer.is_given) == (policy, True)
    assert (consumer.why_unsearched is None) is not policy.startswith("by_duration")


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
    cluster = read(f"--broker b: {broker} / --consumer c: {client}", version)
    assert cluster.consumer.reads_followers is reads
    for setting in cluster.understood:
        if setting.key in ("replica.selector.class", "client.rack"):
            expected = "consumers may read from followers" if reads else "consumers read from the leader"
            assert setting.meaning.startswith(expected)


OF_TRANSACTIONS = """
x: transactional.id=t @ 0.11|2.4.1 => 0.11
x: transactional.id=t @ 2.5|3.5 => 2.5
x: transactional.id=t @ 3.6|3.7 => VERSION
x: transactional.id=t @ 3.8|3.9 => 3.8
# A fence raises the epoch twice in 4.0.0 alone (KAFKA-19367).
x: transactional.id=t @ 4.0|4.0.0 => 4.0
x: transactional.id=t @ 4.0.1|4.1.1 => 4.1
x: transactional.id=t @ 4.2 => 4.2
x: transactional.id=t transaction.version=0 @ 4.0 => 3.8
x: transactional.id=t transaction.partition.verification.enable=false @ 3.9 => 3.8 TXN_VERIFY=OFF
x: transactional.id=t @ 4.1 metadata=3.9 => 3.8
x: transactional.id=t transaction.version=1 @ 4.1|4.4 => 3.8
x: transactional.id=t transaction.version=2 @ 4.1 metadata=3.9 => 4.1
x: transactional.id=t transaction.partition.verification.enable=false @ 4.1
    4.1: transaction.partition.verification.enable=false beside transaction.version=2 is not modelled
# Since 3.7 Kafka limits the required replicas of the coordinators' log to the existing ones.
x: transactional.id=t transaction.state.log.replication.factor=1 transaction.state.log.min.isr=2 @ 3.6
    3.6, none begins: transaction.state.log.min.isr=2 is more than transaction.state.log.replication.factor=1
x: transactional.id=t transaction.state.log.replication.factor=1 transaction.state.log.min.isr=2 @ 3.7 => 3.7
"""


@each_row(OF_TRANSACTIONS)
def test_the_generation_of_transactions(row: Row) -> None:
    transactions = row.cluster().transactions
    assert transactions is not None
    entries = " ".join(f"{name}={value}" for name, value in transactions.entries.items())
    why = f": {transactions.why_unsearched}" if transactions.why_unsearched else ""
    why += f", none begins: {transactions.why_none_begins}" if transactions.why_none_begins else ""
    assert f"{entries}{why}" == f"protocol={row.text}"


@pytest.mark.parametrize(
    ("topic", "broker", "source"),
    [
        ("flush.messages=1", "broker.id=1", "t:1"),
        ("retention.ms=1", "log.flush.interval.messages=1", "b:1"),
        ("flush.messages=2", "log.flush.interval.messages=1", None),
        ("retention.ms=1", "broker.id=1", None),
    ],
)
def test_a_flush_after_every_record_counts(topic: str, broker: str, source: str | None) -> None:
    cluster = read(f"t: {topic} / b: {broker}", "3.9")
    assert cluster.flushes_every_message is (source is not None)
    sources = [one.source for one in cluster.understood if one.meaning == "every record is on disk before it counts"]
    assert sources == ([source] if source else [])
    assert "flush" not in " ".join(one.key for one in cluster.ignored) or source is None


# --- What is ignored --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "version", "meant"),
    [
        ("min.insync.replica=3", "3.9", "min.insync.replicas"),
        ("min.insync.replica=3", "4.1", "min.insync.replicas"),
        ("unclean.leader.election.enabled=true", "4.1", "unclean.leader.election.enable"),
        ("Acks=1", "3.9", "acks"),
        ("min-insync-replicas=1", "3.9", "min.insync.replicas"),
        ("retires=0", "3.9", "retries"),
        ("broker.id=1 producer.acks=1", "3.9", "acks"),
        ("broker.id=1 confluent.reporter.producer.acks=1", "3.9", ""),
        ("ack=1", "3.9", "acks"),
        ("retention.m=1", "3.9", ""),  # no answer depends on retention.ms
        ("remote.storage.enable=true", "2.1", ""),  # a setting of a later release
        ("a.plugins.own.key=1", "3.9", ""),
    ],
)
def test_a_misspelt_setting_on_which_the_answer_depends_is_told_apart(lines: str, version: str, meant: str) -> None:
    *_, one = read(f"--topic t: {lines}", version).ignored
    assert one.meant == meant
    if meant and meant != "acks":
        assert one.reason.endswith(f"; did you mean {meant}?")


SECRETS = """
    ssl.key.password ssl.keystore.password listener.name.internal.ssl.key.password sasl.jaas.config
    password.encoder.secret delegation.token.master.key ssl.keystore.pasword my.plugin.Secret
"""


@pytest.mark.parametrize("key", SECRETS.split())
def test_secrets_are_never_shown(key: str) -> None:
    cluster = read(f"--broker b: {key}=hunter2")
    assert [(each.key, each.value) for each in cluster.ignored] == [(key, "[hidden]")]
    assert "hunter2" not in repr(cluster)


def test_a_shown_value_is_one_printable_line() -> None:
    path = written(r"a\nb=x\u001b[31mred\uD83D \u00e9", "client.id=Zürich", r"transactional.id=a\u001bt")
    (cluster,) = read_clusters([(TOPIC, path)], "3.9").clusters
    assert [(each.key, each.value) for each in cluster.ignored] == [
        (r"a\nb", r"x\x1b[31mred\ud83d é"),
        ("client.id", "Zürich"),
    ]
    assert r"transactional.id=a\x1bt (some.properties:3): records belong to transactions (taken as the producer's)" in (
        understood(cluster)
    )


def test_an_ignored_property_is_reported_in_full() -> None:
    (only,) = read("t: segment.bytes=1").ignored
    assert only == Ignored("segment.bytes", "1", WhyIgnored.NO_BEARING, "has no bearing on replication", "t:1")


# --- The files that Kafka ships ---------------------------------------------------------------------------------------

RETENTION = "retention is not modelled: the answer is for records that are not deleted yet"
OFFSETS_TOPIC = "the topic of consumer offsets, which has its own replicas, is not modelled"


@needs_shipped_files
@pytest.mark.parametrize("release", ["kafka-0.10.2", "kafka-2.1", "kafka-3.9"])
@pytest.mark.parametrize(("name", "role"), [("server", BROKER), ("producer", PRODUCER), ("consumer", CONSUMER)])
def test_the_roles_of_the_files_shipped_with_kafka(release: str, name: str, role: Role) -> None:
    path = SHIPPED_FILES / release / f"{name}.properties"
    assert role_of(read_properties(path), path) is role


@needs_shipped_files
@pytest.mark.parametrize("version", ["0.10.2", "2.1", "3.9"])
def test_the_files_shipped_with_kafka_are_fully_understood(version: str) -> None:
    folder = SHIPPED_FILES / f"kafka-{version}"
    paths = [folder / f"{name}.properties" for name in ("server", "producer", "consumer")]
    (cluster,) = read_clusters([(None, path) for path in paths], version).clusters
    count = sum(len(read_properties(path)) for path in paths)
    used = {place for setting in cluster.understood for place in setting.source.split(" and ") if place[0] == "/"}
    assert len(cluster.ignored) == count - len(used)
    offsets_topic = {} if version == "0.10.2" else {"offsets.topic.replication.factor": OFFSETS_TOPIC}
    assert ignored(cluster, WhyIgnored.NOT_MODELLED) == {"log.retention.hours": RETENTION, **offsets_topic}
    assert set(ignored(cluster, WhyIgnored.NO_TRANSACTIONS)) == (
        set() if version == "0.10.2" else {"transaction.state.log.min.isr", "transaction.state.log.replication.factor"}
    )
    if version == "0.10.2":
        assert cluster.generation == Generation("0.10", {}, None)
        assert {*understood(read())} <= {*understood(cluster)}


# --- The list of keys -------------------------------------------------------------------------------------------------


def test_the_number_of_keys_of_each_role() -> None:
    """As many as ConfigDefs of Kafka 0.10.0 to 3.9 and of the old Scala clients have, with three features."""
    counts = {BROKER: 349, TOPIC: 37, PRODUCER: 113, CONSUMER: 119}
    assert {role: len(keys_of(role)) for role in Role} == counts


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
