"""What an answer assumes: release, controller, agreed version, clients; nothing is assumed in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.tests.checker.cluster.tables import Row, each_row
from isrcheck.checker.cluster.cluster import Cluster
from isrcheck.checker.cluster.formats.registry import read_clusters
from isrcheck.checker.cluster.property_files import PropertiesError
from isrcheck.checker.cluster.releases import version_of_binaries

HEADER = "Topic: t\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
PARTITION = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3"
WITHOUT_ELR = f"{HEADER}{PARTITION}\n"
NOT_AVAILABLE = f"{HEADER}{PARTITION}\tElr: N/A\tLastKnownElr: N/A\n"
FEATURES = (
    "Feature: metadata.version\tSupportedMinVersion: 3.3-IV3\tSupportedMaxVersion: 4.1-IV1\t"
    "FinalizedVersionLevel: 3.9-IV0\tEpoch: 12\n"
    "Feature: eligible.leader.replicas.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\t"
    "FinalizedVersionLevel: 0\tEpoch: 12\n"
)


def read(*described: str, files: str = "", version: str | None = None) -> Cluster:
    """The cluster of outputs d1, d2, ..., and of a file f1."""
    for number, text in enumerate(described, start=1):
        Path(f"d{number}").write_text(text, encoding="utf-8")
    Path("f1").write_text(files, encoding="utf-8")
    names = [f"d{number + 1}" for number in range(len(described))]
    (cluster,) = read_clusters([(None, Path("f1"))] if files else [], version, names).clusters
    return cluster


# --- The release, the controller and the agreed version ---------------------------------------------------------------

ASSUMED = """
# What a release leaves open
@ 2.1
    the inter.broker.protocol.version of 2.1; give a broker's file
@ 3.2
    ZooKeeper, the inter.broker.protocol.version of 3.2; give process.roles in a broker's file if it uses KRaft, or a
     broker's file
@ 3.3
    KRaft controllers; give zookeeper.connect in a broker's file if it uses ZooKeeper
@ 3.9
    KRaft controllers, the metadata.version of 3.9; give zookeeper.connect in a broker's file if it uses ZooKeeper, or
     --metadata-version
@ 4.1
    the metadata.version of 4.1; give --metadata-version
f: process.roles=broker,controller node.id=1 @ 4.0 metadata=4.0
    producers are Java clients of Kafka 4.0, by default with acks=all, enable.idempotence=true (--producer FILE)
f: broker.id=1 zookeeper.connect=a:2181 @ 2.1
    producers are Java clients of Kafka 2.1, by default with acks=1, retries=2147483647,
     max.in.flight.requests.per.connection=5, enable.idempotence=false (--producer FILE)
# An agreed version may be older than the binaries.
f: metadata.version=3.9-IV0 min.insync.replicas=2 @ -
    Kafka 3.9 (metadata.version 3.9-IV0, f:1; the binaries may be newer); give --kafka-version
f: broker.id=1 inter.broker.protocol.version=2.4 log.dirs=/d @ -
    Kafka 2.4 (inter.broker.protocol.version 2.4, f:2; the binaries may be newer); give --kafka-version
f: broker.id=1 inter.broker.protocol.version=3.1 log.dirs=/d @ 3.1
    ZooKeeper (inter.broker.protocol.version in f:2 is not for KRaft); give process.roles in a broker's file if it uses
     KRaft
# A key for ZooKeeper shows ZooKeeper.
f: broker.id=1 log.dirs=/d zookeeper.session.timeout.ms=6000 @ -
    Kafka 3.9 (not given: the last release with ZooKeeper), ZooKeeper (zookeeper.session.timeout.ms in f:3); give
     --kafka-version, or process.roles in a broker's file if it uses KRaft
f: broker.id=1 log.dirs=/d zookeeper.connection.timeout.ms=6000 @ -
    Kafka 3.9 (not given: the last release with ZooKeeper), ZooKeeper (zookeeper.connection.timeout.ms in f:3); give
     --kafka-version, or process.roles in a broker's file if it uses KRaft
f: broker.id=1 log.dirs=/d zookeeper.set.acl=true @ 3.6
    ZooKeeper (zookeeper.set.acl in f:3); give process.roles in a broker's file if it uses KRaft
"""
"""The first line of what is assumed."""


@each_row(ASSUMED)
def test_the_first_assumption(row: Row) -> None:
    assert row.cluster().assumed[0] == row.text


ZOOKEEPER_OR_NOT = """
f: broker.id=1 log.dirs=/d zookeeper.set.acl=true @ -|3.6 => 2.8
# 4.0 has no ZooKeeper, and a broker of KRaft ignores such a key.
f: broker.id=1 log.dirs=/d zookeeper.set.acl=true @ 4.0 => 4.0
f: broker.id=1 log.dirs=/d zookeeper.set.acl=true process.roles=broker,controller @ 3.6 => 3.5
"""


@each_row(ZOOKEEPER_OR_NOT)
def test_a_key_for_zookeeper_shows_zookeeper(row: Row) -> None:
    assert row.cluster().generation.protocol == row.text


ELR = (
    "eligible leader replicas, which a cluster has that was created with 4.1 or newer, or upgraded with kafka-features"
    " upgrade --release-version; give the output of kafka-features describe, or eligible.leader.replicas.version=0 in a"
    " broker's file if they are off"
)
NEXT = "Kafka 4.5 as its source was in August 2026, before its release"
BY_HAND = (
    "somebody who elects uncleanly by hand (kafka-leader-election): KRaft controllers act on"
    " unclean.leader.election.enable=true since 3.9 (KAFKA-12670)"
)
CLIENTS = "clients of 4.0 or newer, without which transaction.version=2 has no effect"
DEFAULT_TV2 = "transaction.version=2, the default of a cluster created with 4.0; give transaction.version=0 if not"
TV2 = f"{DEFAULT_TV2}; and {CLIENTS}"
TV0 = "transaction.version=0, off with metadata.version 3.9; give transaction.version=2 if it is on"
UNCLEAN, CLEAN = (f"t: unclean.leader.election.enable={value} flush.ms=1" for value in ("true", "false"))


@pytest.mark.parametrize(
    ("files", "version", "metadata_version", "says", "is_assumed"),
    [
        # An upgrade of every feature turns ELR on, one of metadata.version alone does not (FeatureCommand).
        ("", "4.0.1", None, ELR, False),
        ("", "4.1", None, ELR, True),
        ("", "4.4", "4.4-IV2", ELR, True),
        ("", "4.4", "4.0-IV3", ELR, False),
        ("", "4.5", None, NEXT, True),
        ("", "4.4", None, NEXT, False),
        # KAFKA-12670, in 3.9.0 by its documentation (KAFKA-17412)
        *((f"b: process.roles=broker / {UNCLEAN}", version, None, BY_HAND, version < "3.9")
          for version in ("3.3", "3.8", "3.9", "4.1")),
        (f"b: process.roles=broker / {CLEAN}", "3.8", None, BY_HAND, False),
        (f"b: broker.id=1 zookeeper.connect=z:2181 / {UNCLEAN}", "3.8", None, BY_HAND, False),
        # Transactions with new epochs need newer clients and a feature.
        *(("p: acks=all transactional.id=t", version, None, TV2, True) for version in ("4.0", "4.1")),
        ("p: acks=all transactional.id=t / b: broker.id=1 transaction.version=2", "4.1", None, CLIENTS, True),
        ("p: acks=all transactional.id=t", "4.0", "3.9", TV0, True),
        ("p: acks=all transactional.id=t / b: broker.id=1 transaction.version=0", "4.1", None, "transaction", False),
        ("p: acks=all", "4.1", None, "transaction", False),
    ],
)  # fmt: skip
def test_what_is_assumed_where(
    files: str, version: str, metadata_version: str | None, says: str, *, is_assumed: bool
) -> None:
    assumed = Row(files, version, metadata_version, ()).cluster().assumed
    assert (says in assumed) is is_assumed
    assert is_assumed or not any(line.startswith(says) for line in assumed)


@pytest.mark.parametrize(
    ("producer", "says"),
    [
        ("", ", by default with acks=all, enable.idempotence=true (--producer FILE)"),
        ("p: acks=all", ", by default with enable.idempotence=true (--producer FILE)"),
        ("p: enable.idempotence=true", ", by default with acks=all (--producer FILE)"),
        ("p: linger.ms=5", ", by default with acks=all, enable.idempotence=true (--producer FILE)"),
        ("p: acks=all enable.idempotence=true", ""),
        (
            "p: acks=1",
            ", by default with retries=2147483647, max.in.flight.requests.per.connection=5 (--producer FILE)",
        ),
        ("p: acks=1 retries=0 max.in.flight.requests.per.connection=1", ""),
    ],
)
def test_the_clients_are_named_also_if_a_producers_file_is_given(producer: str, says: str) -> None:
    cluster = Row(" / ".join(filter(None, [producer, "t: min.insync.replicas=2"])), "3.9", None, ()).cluster()
    assert [line for line in cluster.assumed if line.startswith("producers ")] == [
        f"producers are Java clients of Kafka 3.9{says}"
    ]


# --- What the output of a tool shows ----------------------------------------------------------------------------------


def test_features_show_the_release_of_the_binaries() -> None:
    """4.1 with the metadata of 3.9 has the repairs of 4.1."""
    cluster = read(WITHOUT_ELR, FEATURES)
    assert cluster.release == version_of_binaries("4.1")
    assert (cluster.generation.protocol, cluster.generation.switches) == ("4.1", {"ELR": "off"})
    assert cluster.assumed[0] == (
        "Kafka 4.1 (kafka-features supports metadata.version 4.1-IV1 (d2:1): new in 4.1); give --kafka-version"
    )
    newer = FEATURES.replace("4.1-IV1", "4.6-IV0")
    assert read(WITHOUT_ELR, newer).generation.why_undecided == (
        "the replication protocol of Kafka 4.6 is not modelled yet; 4.5 is the newest that is"
    )
    on = FEATURES.replace("FinalizedVersionLevel: 3.9-IV0", "FinalizedVersionLevel: 4.1-IV1")
    assert ELR not in read(WITHOUT_ELR, on).assumed


@pytest.mark.parametrize(
    ("version", "most", "says"),
    [
        ("3.9", "4.1-IV1", "which supports metadata.version 4.1-IV1 (d1:1), new in 4.1"),
        ("4.1", "4.0-IV3", "which supports metadata.version 4.0-IV3 (d1:1), the newest of 4.0"),
    ],
)
def test_a_version_that_the_features_contradict_is_refused(version: str, most: str, says: str) -> None:
    with pytest.raises(PropertiesError) as refusal:
        read(FEATURES.replace("4.1-IV1", most), WITHOUT_ELR, version=version)
    assert str(refusal.value) == (
        f"--kafka-version: Kafka {version} contradicts kafka-features, {says}; correct --kafka-version"
    )
    # Brokers of 4.5, before its release, show the newest version for production, which is that of 4.4.
    assert read(FEATURES.replace("4.1-IV1", "4.4-IV2"), WITHOUT_ELR, version="4.5").release.text == "4.5"


def test_no_elr_available_means_zookeeper_or_an_older_broker() -> None:
    na = "kafka-topics shows N/A as Elr (d1:2)"
    cluster = read(NOT_AVAILABLE)
    assert cluster.generation.protocol == "2.8"
    assert cluster.assumed[0] == (
        f"Kafka 3.9 (not given: the last release whose {na}), ZooKeeper ({na}: KRaft brokers since 3.8 answer"
        " otherwise),"
        " the inter.broker.protocol.version of 3.9; give --kafka-version, or process.roles in a broker's file if it"
        " uses KRaft, or a broker's file"
    )
    assert read(NOT_AVAILABLE, version="3.9").generation.protocol == "2.8"
    assert read(NOT_AVAILABLE, version="3.7").generation.protocol == "3.7"
    kraft = read(NOT_AVAILABLE, files="process.roles=broker,controller\nnode.id=1\n")
    assert kraft.release == version_of_binaries("3.7")
    assert kraft.assumed[0].startswith(f"Kafka 3.7 (not given: {na}, as for KRaft brokers up to 3.7), ")


def test_no_elr_available_of_newer_kraft_brokers_is_doubted() -> None:
    says = (
        "topics were described by their ids: otherwise kafka-topics shows N/A as Elr (d1:2) only for ZooKeeper, or for"
        " brokers before 3.8; correct --kafka-version"
    )
    assert says in read(NOT_AVAILABLE, version="4.1").assumed
    assert says in read(NOT_AVAILABLE, FEATURES).assumed
    assert says not in read(NOT_AVAILABLE, version="3.7").assumed


def test_an_older_tool_does_not_date_the_brokers() -> None:
    """kafka-topics of 3.7 beside kafka-configs of brokers of 3.9, whose inter-broker protocol is their release's."""
    configs = (
        "All configs for broker 1 are:\n"
        "  inter.broker.protocol.version=3.9-IV0 sensitive=false synonyms={}\n"
        "  process.roles=broker,controller sensitive=false synonyms={}\n"
    )
    cluster = read(WITHOUT_ELR, configs)
    assert cluster.release == version_of_binaries("3.9")
    assert cluster.assumed[0] == (
        "Kafka 3.9 (inter.broker.protocol.version=3.9-IV0 in d2:2), the metadata.version of 3.9; give"
        " --kafka-version, or --metadata-version"
    )
