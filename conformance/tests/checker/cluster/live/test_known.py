"""What the doctor makes of a reading: topics, partitions, settings by layer, racks, versions, and what is not known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from isrcheck.checker.cluster.cluster import Cluster, Reading
from isrcheck.checker.cluster.contents import Contents, Partition
from isrcheck.checker.cluster.formats.registry import read_clusters
from isrcheck.checker.cluster.live.known import add_snapshot
from isrcheck.checker.cluster.live.snapshot import (
    BrokerRead,
    FeatureRead,
    PartitionRead,
    QuorumRead,
    SettingRead,
    Snapshot,
    TopicRead,
)
from isrcheck.checker.cluster.property_files import PropertiesError
from isrcheck.checker.cluster.releases import Role, metadata_version_of
from isrcheck.commands.exit_codes import UndecidedError

STATIC = (SettingRead("min.insync.replicas", "2", "static"), SettingRead("process.roles", "broker", "static"))
KRAFT, ZOOKEEPER = (3, 18, 32, 46, 55, 60, 75), (3, 4, 6, 18, 32, 46, 60)
ELR = (FeatureRead("eligible.leader.replicas.version", 1), FeatureRead("metadata.version", 27))


def broker(number: int, settings: tuple[SettingRead, ...] | None = STATIC, newest: int | None = 27) -> BrokerRead:
    return BrokerRead(number, f"host{number}", 9092, f"az{number}", settings, newest)


SNAPSHOT = Snapshot(
    server="host1:9092",
    read_at="2026-11-29T01:00:00+00:00",
    cluster_id="c",
    controller=1,
    brokers=(broker(1), broker(2)),
    cluster_settings=(),
    features=ELR,
    quorum=QuorumRead(1, (1, 2, 3), (4,), ()),
    apis=KRAFT,
    topics=(TopicRead("t", (PartitionRead(0, 1, (1, 2), (1, 2), (), ()),), ()),),
    partitions_from="DescribeTopicPartitions",
    reassignments_known=True,
    unknown=(),
)


def reading(snapshot: Snapshot, version: str | None = None) -> Reading:
    contents = Contents()
    add_snapshot(snapshot, contents)
    return read_clusters([], version, known=contents)


def one(snapshot: Snapshot, version: str | None = None) -> Cluster:
    (cluster,) = reading(snapshot, version).clusters
    return cluster


def test_what_was_read_is_told() -> None:
    found = reading(replace(SNAPSHOT, unknown=("the weather: no API",)))
    assert found.remarks == (
        "read from host1:9092 at 2026-11-29T01:00:00+00:00: 2 brokers in 2 racks (az1, az2), 1 topic with 1 partition,"
        " settings of 1 topic and 2 brokers, 0 reassignments under way",
        "controllers: voters 1, 2, 3, leader 1 (host1:9092, DescribeQuorum)",
        "not known: the weather: no API",
    )
    assert found.racks == {1: "az1", 2: "az2"}


def test_a_lagging_quorum_and_brokers_without_racks_are_told() -> None:
    odd = replace(
        SNAPSHOT,
        quorum=QuorumRead(None, (1, 2), (), (2,)),
        brokers=(broker(1), replace(broker(2), rack=None)),
        reassignments_known=False,
    )
    assert reading(odd).remarks == (
        "read from host1:9092 at 2026-11-29T01:00:00+00:00: 2 brokers in 1 rack (az1), 1 without a rack,"
        " 1 topic with 1 partition, settings of 1 topic and 2 brokers",
        "controllers: voters 1, 2, no leader; 2 lag behind the leader (host1:9092, DescribeQuorum)",
    )


def test_the_value_in_effect_in_the_brokers_counts() -> None:
    found = one(SNAPSHOT).min_insync_replicas
    assert (found.value, found.source) == (2, "host1:9092, DescribeConfigs and host2:9092, DescribeConfigs")


def test_the_topic_s_own_value_comes_first() -> None:
    own = TopicRead("t", SNAPSHOT.topics[0].partitions, (SettingRead("min.insync.replicas", "1", "topic"),))
    found = one(replace(SNAPSHOT, topics=(own,))).min_insync_replicas
    assert (found.value, found.source) == (1, "host1:9092, DescribeConfigs")


def test_an_inherited_value_counts_if_no_broker_said_its_settings() -> None:
    inherited = (SettingRead("min.insync.replicas", "2", "static"),)
    topic = TopicRead("t", SNAPSHOT.topics[0].partitions, inherited)
    told, silent = (broker(1), broker(2)), (broker(1, None), broker(2, None))
    assert one(replace(SNAPSHOT, brokers=silent, topics=(topic,))).min_insync_replicas.value == 2
    other = TopicRead("t", topic.partitions, (SettingRead("min.insync.replicas", "1", "static"),))
    assert one(replace(SNAPSHOT, brokers=told, topics=(other,))).min_insync_replicas.value == 2


NO_SETTINGS = TopicRead("t", SNAPSHOT.topics[0].partitions, None)
OF_A_TOPIC = "min.insync.replicas=2\nunclean.leader.election.enable=false\nretention.ms=1\n"


@pytest.mark.parametrize(
    ("topic", "told", "files", "unread", "least"),
    [
        (NO_SETTINGS, False, {}, "topic t and of brokers", "unknown"),
        (NO_SETTINGS, True, {}, "topic t", "unknown"),
        (SNAPSHOT.topics[0], True, {}, "", "2"),
        (SNAPSHOT.topics[0], False, {}, "brokers", "unknown"),
        (NO_SETTINGS, False, {Role.TOPIC: OF_A_TOPIC}, "", "2"),
        (NO_SETTINGS, True, {Role.TOPIC: "retention.ms=1\n"}, "", "2"),
        (NO_SETTINGS, False, {Role.TOPIC: "min.insync.replicas=2\n"}, "brokers", "2"),
        (NO_SETTINGS, False, {Role.BROKER: "min.insync.replicas=2\n"}, "topic t", "unknown"),
        (NO_SETTINGS, False, {Role.BROKER: "min.insync.replicas=3\n", Role.TOPIC: "retention.ms=1\n"}, "", "3"),
        (NO_SETTINGS, False, {Role.PRODUCER: "acks=all\n"}, "topic t and of brokers", "unknown"),
    ],
)
def test_a_setting_that_decides_and_was_not_read_is_no_default(
    topic: TopicRead, told: bool, files: dict[Role, str], unread: str, least: str, tmp_path: Path
) -> None:
    """Files beside the connection can have the settings. Kafka's default would be 1."""
    brokers = (broker(1, STATIC if told else None), broker(2, STATIC if told else None))
    contents = Contents()
    features = (FeatureRead("eligible.leader.replicas.version", 0), FeatureRead("metadata.version", 27))
    add_snapshot(replace(SNAPSHOT, brokers=brokers, topics=(topic,), features=features), contents)
    given = []
    for role, text in files.items():
        given.append((role, tmp_path / role.value))
        given[-1][1].write_text(text, encoding="utf-8")
    (cluster,) = read_clusters(given, None, known=contents).clusters
    assert (cluster.unread, cluster.min_insync_replicas.text) == (unread, least)
    why = f"the settings of {unread} could not be read; add files that have them"
    assert cluster.why_unknown == (why if unread else None)


def test_topics_whose_settings_were_not_read_have_an_answer_of_their_own() -> None:
    others = tuple(replace(NO_SETTINGS, name=name) for name in ("u", "v"))
    clusters = reading(replace(SNAPSHOT, topics=(*SNAPSHOT.topics, *others))).clusters
    assert [(cluster.topics, cluster.unread) for cluster in clusters] == [(("t",), ""), (("u", "v"), "2 topics")]


def test_brokers_that_differ_are_refused_with_both_places() -> None:
    other = broker(2, (SettingRead("min.insync.replicas", "1", "broker"),))
    with pytest.raises(PropertiesError) as refused:
        reading(replace(SNAPSHOT, brokers=(broker(1), other)))
    assert str(refused.value) == (
        "host2:9092, DescribeConfigs: min.insync.replicas=1 contradicts min.insync.replicas=2 in host1:9092,"
        " DescribeConfigs; the answer is for brokers that agree in it; set one value for all, or give those of one"
        " cluster that agree in files of their own"
    )


def test_partitions_have_their_eligible_replicas_and_reassignments() -> None:
    moving = PartitionRead(3, None, (1, 2, 4), (), (2, 9), (1,), (), (4,), (1,))
    cluster = one(replace(SNAPSHOT, topics=(TopicRead("t", (moving,), ()),)))
    assert cluster.partitions == (
        Partition("t", 3, None, (1, 2, 4), (), "host1:9092, DescribeTopicPartitions", (2,), (1,), (4,), (1,), (9,)),
    )
    assert (cluster.replication_factor.value, cluster.replication_factor.source) == (
        2,
        "host1:9092, DescribeTopicPartitions",
    )


@pytest.mark.parametrize(
    ("features", "newest", "release", "has_elr"),
    [
        (ELR, 27, "4.1", True),
        ((FeatureRead("eligible.leader.replicas.version", 0), FeatureRead("metadata.version", 25)), 27, "4.1", False),
        ((FeatureRead("metadata.version", 19),), 19, "3.7", False),
        ((), None, "4.4", True),
    ],
)
def test_the_release_follows_from_the_features(
    features: tuple[FeatureRead, ...], newest: int | None, release: str, has_elr: bool
) -> None:
    brokers = (broker(1, newest=newest), broker(2, newest=newest))
    cluster = one(replace(SNAPSHOT, features=features, brokers=brokers))
    assert (str(cluster.release), cluster.generation.has_elr) == (release, has_elr)


def test_zookeeper_shows_in_a_broker_s_settings() -> None:
    """Brokers of such a cluster support levels of metadata.version, too, but the cluster has none."""
    settings = (
        SettingRead("zookeeper.connect", "z:2181", "static"),
        SettingRead("inter.broker.protocol.version", "3.6-IV2", "default"),
    )
    features = (FeatureRead("metadata.version", 0),)
    brokers = (broker(1, settings, 14), broker(2, settings, 14))
    found = reading(replace(SNAPSHOT, apis=ZOOKEEPER, features=features, quorum=None, brokers=brokers))
    assert [remark for remark in found.remarks if remark.startswith("not known")] == []
    (cluster,) = found.clusters
    assert (str(cluster.release), cluster.generation.protocol) == ("3.6", "2.8")


def test_the_oldest_of_several_releases_counts() -> None:
    found = reading(replace(SNAPSHOT, features=(), brokers=(broker(1, newest=29), broker(2))))
    release = found.clusters[0].kafka_version
    assert (str(release.value), release.source) == (
        "4.1",
        "not given: the last release whose broker 2 supports metadata.version 4.1-IV1 (host2:9092, ApiVersions)",
    )
    assert found.remarks[2] == (
        "brokers of several releases (an upgrade under way?): 2 with metadata.version up to 4.1-IV1,"
        " 1 with metadata.version up to 4.2-IV1; the answer is for the oldest"
    )


@pytest.mark.parametrize(
    ("apis", "release", "says"),
    [
        ((*range(19),), "0.10.2", "ApiVersions (host1:9092, ApiVersions), but not InitProducerId"),
        ((*range(34),), "0.11.0", "DescribeConfigs (host1:9092, ApiVersions), but not CreatePartitions"),
        ((*range(38),), "1.0", "CreatePartitions (host1:9092, ApiVersions), but not DeleteGroups"),
        ((*range(43),), "2.1", "DeleteGroups (host1:9092, ApiVersions), but not ElectLeaders"),
        ((*range(44),), "2.2", "ElectLeaders (host1:9092, ApiVersions), but not IncrementalAlterConfigs"),
        ((*range(45),), "2.3", "IncrementalAlterConfigs (host1:9092, ApiVersions), but not ListPartitionReassignments"),
        ((*range(48),), "2.5", "ListPartitionReassignments (host1:9092, ApiVersions), but not DescribeClientQuotas"),
        ((*range(50),), "2.6", "DescribeClientQuotas (host1:9092, ApiVersions), but not DescribeUserScramCredentials"),
        (
            (*range(52), 56, 57),
            "2.7",
            "DescribeUserScramCredentials (host1:9092, ApiVersions), but not DescribeCluster",
        ),
        (
            (*range(52), 56, 57, 60, 61),
            "2.8",
            "DescribeCluster (host1:9092, ApiVersions), but not DescribeTransactions",
        ),
    ],
)
def test_the_apis_bound_the_release_of_a_broker_with_zookeeper(apis: tuple[int, ...], release: str, says: str) -> None:
    """The release is the newest that fits, even if its name is in no answer."""
    brokers = (broker(1, None, None), broker(2, None, None))
    cluster = one(replace(SNAPSHOT, apis=apis, brokers=brokers, features=(), quorum=None))
    assert (str(cluster.release), cluster.has_kraft) == (release, False)
    assert cluster.kafka_version.source == f"not given: the last release whose broker answers {says}"


def test_a_newer_broker_with_an_older_protocol() -> None:
    """In an upgrade, the agreed version is that of the old release."""
    settings = (SettingRead("inter.broker.protocol.version", "1.0-IV0", "static"),)
    brokers = (broker(1, settings, None), broker(2, settings, None))
    cluster = one(replace(SNAPSHOT, apis=(*range(45),), brokers=brokers, features=(), quorum=None))
    assert (str(cluster.release), cluster.kafka_version.source) == (
        "2.3",
        "broker answers IncrementalAlterConfigs (host1:9092, ApiVersions): new in 2.3",
    )


def test_a_broker_that_answers_as_no_release_of_kafka_does() -> None:
    brokers = (broker(1, None, None), broker(2, None, None))
    strange = replace(SNAPSHOT, apis=(0, 1, 3, 18, 22, 60), brokers=brokers, features=(), quorum=None)
    with pytest.raises(UndecidedError) as unknown:
        one(strange)
    assert str(unknown.value) == (
        "the release is unknown: no release of Kafka has a broker that answers DescribeCluster (host1:9092,"
        " ApiVersions), but not DescribeConfigs; give --kafka-version"
    )
    assert str(one(strange, "2.8").release) == "2.8"


def test_a_level_of_the_future_is_not_known() -> None:
    found = reading(replace(SNAPSHOT, features=(FeatureRead("metadata.version", 99),)))
    assert found.remarks[2] == "not known: metadata.version of level 99 (host1:9092, ApiVersions)"


def test_an_older_release_than_the_brokers_is_refused() -> None:
    with pytest.raises(PropertiesError) as refused:
        reading(SNAPSHOT, "3.9")
    assert "4.1-IV1" in str(refused.value)


def test_several_topics_are_selected() -> None:
    contents = Contents()
    add_snapshot(replace(SNAPSHOT, topics=tuple(replace(SNAPSHOT.topics[0], name=name) for name in "abc")), contents)
    (cluster,) = read_clusters([], None, topics=("c", "a"), known=contents).clusters
    assert cluster.topics == ("a", "c")
    with pytest.raises(PropertiesError) as refused:
        read_clusters([], None, topics=("a", "d"), known=contents)
    assert str(refused.value) == "--topic-name d: there is no such topic; the described topics are a, b, c"


def test_a_topic_that_is_described_twice() -> None:
    contents = Contents()
    add_snapshot(SNAPSHOT, contents)
    with pytest.raises(PropertiesError) as refused:
        add_snapshot(SNAPSHOT, contents)
    assert str(refused.value) == (
        "host1:9092, DescribeTopicPartitions: topic t is described twice; give one description of it"
    )


def test_a_rack_that_contradicts_another_place() -> None:
    contents = Contents(racks={2: "az9"})
    with pytest.raises(PropertiesError) as refused:
        add_snapshot(SNAPSHOT, contents)
    assert str(refused.value) == (
        "host1:9092, Metadata: node 2 is in rack az2 here, and in rack az9 in another place; keep the place that is"
        " right"
    )


def test_files_of_clients_go_with_a_reading(tmp_path: Path) -> None:
    contents, file = Contents(), tmp_path / "producer.properties"
    file.write_text("acks=1\n", encoding="utf-8")
    add_snapshot(SNAPSHOT, contents)
    (cluster,) = read_clusters([(None, file)], None, known=contents).clusters
    assert (cluster.producer.acks.value, cluster.min_insync_replicas.value) == ("1", 2)


def test_the_levels_of_metadata_version() -> None:
    """As in MetadataVersion of Kafka 4.5."""
    levels = {1: "3.0-IV1", 2: "3.1-IV0", 7: "3.3-IV3", 8: "3.4-IV0", 19: "3.7-IV4", 21: "3.9-IV0", 25: "4.0-IV3"}
    levels |= {26: "4.1-IV0", 29: "4.2-IV1", 30: "4.3-IV0", 33: "4.4-IV2", 34: "4.5-IV0"}
    assert {level: metadata_version_of(level) for level in levels} == levels
    assert [metadata_version_of(level) for level in (-1, 0, 35)] == [None, None, None]
