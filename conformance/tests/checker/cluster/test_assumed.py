"""What an answer assumes: release, controller, agreed version, clients; nothing is assumed in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck.checker.cluster.cluster import Cluster, read_clusters
from isrcheck.checker.cluster.property_files import PropertiesError
from isrcheck.checker.cluster.releases import version_of_binaries

HEADER = "Topic: t\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
PARTITION = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3"
WITHOUT_ELR, WITH_ELR = f"{HEADER}{PARTITION}\n", f"{HEADER}{PARTITION}\tElr: \tLastKnownElr: \n"
NOT_AVAILABLE = f"{HEADER}{PARTITION}\tElr: N/A\tLastKnownElr: N/A\n"
FEATURES = (
    "Feature: metadata.version\tSupportedMinVersion: 3.3-IV3\tSupportedMaxVersion: 4.1-IV1\t"
    "FinalizedVersionLevel: 3.9-IV0\tEpoch: 12\n"
    "Feature: eligible.leader.replicas.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\t"
    "FinalizedVersionLevel: 0\tEpoch: 12\n"
)
PRODUCER = "acks=all\nenable.idempotence=true\n"
ZOOKEEPER_INSTEAD = "zookeeper.connect in a broker's file if it uses ZooKeeper"


def read(
    *files: str, described: tuple[str, ...] = (), version: str | None = None, metadata_version: str | None = None
) -> Cluster:
    for number, text in enumerate(files, start=1):
        Path(f"f{number}").write_text(text, encoding="utf-8")
    for number, text in enumerate(described, start=1):
        Path(f"d{number}").write_text(text, encoding="utf-8")
    names = [(None, Path(f"f{number + 1}")) for number in range(len(files))]
    told = [f"d{number + 1}" for number in range(len(described))]
    (found,) = read_clusters(names, version, told, metadata_version=metadata_version).clusters
    return found


# --- The release, the controller and the agreed version ---------------------------------------------------------------


def test_features_show_the_release_of_the_binaries() -> None:
    """4.1 with the metadata of 3.9 has the repairs of 4.1."""
    cluster = read(PRODUCER, described=(WITHOUT_ELR, FEATURES))
    assert cluster.release == version_of_binaries("4.1")
    assert (cluster.generation.protocol, cluster.generation.switches) == ("4.1", {"ELR": "off"})
    assert cluster.assumed[0] == (
        "Kafka 4.1 (kafka-features supports metadata.version 4.1-IV1 (d2:1): new in 4.1); give --kafka-version"
    )
    newer = FEATURES.replace("4.1-IV1", "4.6-IV0")
    assert read(described=(WITHOUT_ELR, newer)).generation.why_undecided == (
        "the replication protocol of Kafka 4.6 is not modelled yet; 4.5 is the newest that is"
    )


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("3.9", "which supports metadata.version 4.1-IV1 (d1:1), new in 4.1"),
        ("4.1", "which supports metadata.version 4.0-IV3 (d1:1), the newest of 4.0"),
    ],
)
def test_a_version_that_the_features_contradict_is_refused(version: str, says: str) -> None:
    most = "4.1-IV1" if version == "3.9" else "4.0-IV3"
    with pytest.raises(PropertiesError) as refusal:
        read(described=(FEATURES.replace("4.1-IV1", most), WITHOUT_ELR), version=version)
    assert str(refusal.value) == (
        f"--kafka-version: Kafka {version} contradicts kafka-features, {says}; correct --kafka-version"
    )
    # Brokers of 4.5, before its release, show the newest version for production, which is that of 4.4.
    assert read(described=(FEATURES.replace("4.1-IV1", "4.4-IV2"), WITHOUT_ELR), version="4.5").release.text == "4.5"


def test_an_agreed_version_may_be_older_than_the_binaries() -> None:
    cluster = read("metadata.version=3.9-IV0\nmin.insync.replicas=2\n")
    assert cluster.assumed[0] == (
        "Kafka 3.9 (metadata.version 3.9-IV0, f1:1; the binaries may be newer); give --kafka-version"
    )
    cluster = read("broker.id=1\ninter.broker.protocol.version=2.4\nlog.dirs=/d\n")
    assert cluster.assumed[0] == (
        "Kafka 2.4 (inter.broker.protocol.version 2.4, f1:2; the binaries may be newer); give --kafka-version"
    )
    cluster = read("broker.id=1\ninter.broker.protocol.version=3.1\nlog.dirs=/d\n", version="3.1")
    assert cluster.assumed[0] == (
        "ZooKeeper (inter.broker.protocol.version in f1:2 is not for KRaft); give process.roles in a broker's file if"
        " it uses KRaft"
    )


def test_a_key_for_zookeeper_shows_zookeeper() -> None:
    for key in ("zookeeper.session.timeout.ms", "zookeeper.connection.timeout.ms", "zookeeper.set.acl"):
        file = f"broker.id=1\nlog.dirs=/d\n{key}=6000\n"
        cluster = read(file)
        assert cluster.generation.protocol == "2.8"
        assert cluster.assumed[0] == (
            f"Kafka 3.9 (not given: the last release with ZooKeeper), ZooKeeper ({key} in f1:3);"
            " give --kafka-version, or process.roles in a broker's file if it uses KRaft"
        )
        assert read(file, version="3.6").generation.protocol == "2.8"
        # 4.0 has no ZooKeeper, and a broker of KRaft ignores such a key.
        assert read(file, version="4.0").generation.protocol == "4.0"
        assert read(f"{file}process.roles=broker,controller\n", version="3.6").generation.protocol == "3.5"


def test_what_a_release_leaves_open_is_told() -> None:
    for version, says in (
        ("2.1", "the inter.broker.protocol.version of 2.1; give a broker's file"),
        ("3.2", "ZooKeeper, the inter.broker.protocol.version of 3.2; give process.roles in a broker's file if it uses"
         " KRaft, or a broker's file"),
        ("3.3", f"KRaft controllers; give {ZOOKEEPER_INSTEAD}"),
        ("3.9", f"KRaft controllers, the metadata.version of 3.9; give {ZOOKEEPER_INSTEAD}, or --metadata-version"),
        ("4.1", "the metadata.version of 4.1; give --metadata-version"),
    ):  # fmt: skip
        assert read(version=version).assumed[0] == says
    files = "process.roles=broker,controller\nnode.id=1\n"
    clients = "producers are Java clients of Kafka 4.0, by default with acks=all, enable.idempotence=true"
    cluster = read(files, version="4.0", metadata_version="4.0")
    assert cluster.assumed[0] == f"{clients} (--producer FILE)"
    cluster = read("broker.id=1\nzookeeper.connect=a:2181\n", version="2.1")
    assert cluster.assumed[0].startswith("producers are ")


def test_a_release_that_is_not_there_yet_is_told() -> None:
    says = "Kafka 4.5 as its source was in August 2026, before its release"
    assert says in read(PRODUCER, version="4.5").assumed
    assert says not in read(PRODUCER, version="4.4").assumed


def test_how_a_cluster_came_to_eligible_leader_replicas_is_told() -> None:
    """An upgrade of every feature turns them on, one of metadata.version alone does not (FeatureCommand)."""
    says = (
        "eligible leader replicas, which a cluster has that was created with 4.1 or newer, or upgraded with"
        " kafka-features upgrade --release-version; give the output of kafka-features describe, or"
        " eligible.leader.replicas.version=0 in a broker's file if they are off"
    )
    for version, metadata_version, is_assumed in (
        ("4.0.1", None, False),
        ("4.1", None, True),
        ("4.4", "4.4-IV2", True),
        ("4.4", "4.0-IV3", False),
    ):
        assert (says in read(version=version, metadata_version=metadata_version).assumed) is is_assumed
    features = FEATURES.replace("FinalizedVersionLevel: 3.9-IV0", "FinalizedVersionLevel: 4.1-IV1")
    assert says not in read(described=(WITHOUT_ELR, features)).assumed


# --- What the output of a tool shows ----------------------------------------------------------------------------------


def test_no_elr_available_means_zookeeper_or_an_older_broker() -> None:
    na = "kafka-topics shows N/A as Elr (d1:2)"
    cluster = read(PRODUCER, described=(NOT_AVAILABLE,))
    assert cluster.generation.protocol == "2.8"
    assert cluster.assumed[0] == (
        f"Kafka 3.9 (not given: the last release whose {na}), ZooKeeper ({na}: KRaft brokers since 3.8 answer"
        " otherwise),"
        " the inter.broker.protocol.version of 3.9; give --kafka-version, or process.roles in a broker's file if it"
        " uses KRaft, or a broker's file"
    )
    assert read(PRODUCER, described=(NOT_AVAILABLE,), version="3.9").generation.protocol == "2.8"
    assert read(PRODUCER, described=(NOT_AVAILABLE,), version="3.7").generation.protocol == "3.7"
    kraft = read("process.roles=broker,controller\nnode.id=1\n", described=(NOT_AVAILABLE,))
    assert kraft.release == version_of_binaries("3.7")
    assert kraft.assumed[0].startswith(f"Kafka 3.7 (not given: {na}, as for KRaft brokers up to 3.7), ")


def test_no_elr_available_of_newer_kraft_brokers_is_told() -> None:
    says = (
        "topics were described by their ids: otherwise kafka-topics shows N/A as Elr (d1:2) only for ZooKeeper, or for"
        " brokers before 3.8; correct --kafka-version"
    )
    assert says in read(described=(NOT_AVAILABLE,), version="4.1").assumed
    assert says in read(described=(NOT_AVAILABLE, FEATURES)).assumed
    assert says not in read(described=(NOT_AVAILABLE,), version="3.7").assumed


def test_an_older_tool_does_not_date_the_brokers() -> None:
    """kafka-topics of 3.7 beside kafka-configs of brokers of 3.9, whose inter-broker protocol is their release's."""
    configs = (
        "All configs for broker 1 are:\n"
        "  inter.broker.protocol.version=3.9-IV0 sensitive=false synonyms={}\n"
        "  process.roles=broker,controller sensitive=false synonyms={}\n"
    )
    cluster = read(described=(WITHOUT_ELR, configs))
    assert cluster.release == version_of_binaries("3.9")
    assert cluster.assumed[0] == (
        "Kafka 3.9 (inter.broker.protocol.version=3.9-IV0 in d2:2), the metadata.version of 3.9; give"
        " --kafka-version, or --metadata-version"
    )


@pytest.mark.parametrize(("version", "controller", "is_by_hand"), [
    ("3.3", "process.roles=broker\n", True),
    ("3.8", "process.roles=broker\n", True),
    ("3.9", "process.roles=broker\n", False),
    ("4.1", "process.roles=broker\n", False),
    ("3.8", "broker.id=1\nzookeeper.connect=z:2181\n", False),
])  # fmt: skip
def test_unclean_elections_before_kraft_makes_them_are_told(version: str, controller: str, *, is_by_hand: bool) -> None:
    """KAFKA-12670, in 3.9.0 by its documentation (KAFKA-17412)."""
    says = (
        "somebody who elects uncleanly by hand (kafka-leader-election): KRaft controllers act on"
        " unclean.leader.election.enable=true since 3.9 (KAFKA-12670)"
    )
    unclean, clean = (
        read(controller, f"unclean.leader.election.enable={value}\nflush.ms=1\n", version=version).assumed
        for value in ("true", "false")
    )
    assert (says in unclean, says in clean) == (is_by_hand, False)


# --- Clients ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("producer", "says"),
    [
        ("", ", by default with acks=all, enable.idempotence=true (--producer FILE)"),
        ("acks=all\n", ", by default with enable.idempotence=true (--producer FILE)"),
        ("enable.idempotence=true\n", ", by default with acks=all (--producer FILE)"),
        ("linger.ms=5\n", ", by default with acks=all, enable.idempotence=true (--producer FILE)"),
        (PRODUCER, ""),
        ("acks=1\n", ", by default with retries=2147483647, max.in.flight.requests.per.connection=5 (--producer FILE)"),
        ("acks=1\nretries=0\nmax.in.flight.requests.per.connection=1\n", ""),
    ],
)
def test_the_clients_are_told_also_if_a_producers_file_is_given(producer: str, says: str) -> None:
    cluster = read(*([producer] if producer else []), "min.insync.replicas=2\n", version="3.9")
    assert [one for one in cluster.assumed if one.startswith("producers ")] == [
        f"producers are Java clients of Kafka 3.9{says}"
    ]


def test_transactions_need_newer_clients_and_a_feature() -> None:
    clients = "clients of 4.0 or newer, without which transaction.version=2 has no effect"
    assumed = "transaction.version=2, the default of a cluster created with 4.0; give transaction.version=0 if not"
    for version in ("4.0", "4.1"):
        assert f"{assumed}; and {clients}" in read("acks=all\ntransactional.id=t\n", version=version).assumed
    assert clients in read("acks=all\ntransactional.id=t\n", "transaction.version=2\n", version="4.1").assumed
    older = read("acks=all\ntransactional.id=t\n", version="4.0", metadata_version="3.9")
    assert (
        "transaction.version=0, off with metadata.version 3.9; give transaction.version=2 if it is on" in older.assumed
    )
    for files in (("acks=all\ntransactional.id=t\n", "transaction.version=0\n"), ("acks=all\n",)):
        assert not any("transaction" in one for one in read(*files, version="4.1").assumed)
