"""Which min.insync.replicas counts: with eligible leader replicas that of the cluster, which hides those of brokers.

The rules are those of KAFKA-16540, seen on real clusters: controllers without the key and brokers with 2 give topics 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from isrcheck.checker.cluster.cluster import Cluster, read_clusters
from isrcheck.checker.cluster.ignored import WhyIgnored
from isrcheck.checker.cluster.property_files import PropertiesError

BROKER = "process.roles=broker\nnode.id=1\n"
CONTROLLER = "process.roles=controller\nnode.id=9\n"
COMBINED = "process.roles=broker,controller\nnode.id=1\n"
LEAST = "min.insync.replicas={}\n"
TWO, THREE = LEAST.format(2), LEAST.format(3)
DEFAULT_2 = (
    "Default configs for brokers in the cluster are:\n"
    "  min.insync.replicas=2 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.replicas=2}\n"
)
OF_ONE_2 = (
    "Dynamic configs for broker 1 are:\n"
    "  min.insync.replicas=2 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:min.insync.replicas=2}\n"
)
IN_EFFECT_1 = (
    "All configs for broker 1 are:\n"
    "  min.insync.replicas=1 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.replicas=1,"
    " STATIC_BROKER_CONFIG:min.insync.replicas=2}\n"
)
SHOWS = "kafka-configs --describe --entity-type brokers --entity-default"
HIDES = "with eligible leader replicas the value of the cluster counts, which hides those of brokers"


def read(*files: str, described: str = "", version: str | None = "4.1") -> Cluster:
    names = []
    for number, text in enumerate(files, start=1):
        names.append((None, Path(f"f{number}")))
        Path(f"f{number}").write_text(text, encoding="utf-8")
    Path("d").write_text(described, encoding="utf-8")
    (found,) = read_clusters(names, version, ["d"] if described else []).clusters
    return found


def about_least(cluster: Cluster) -> list[str]:
    return [one for one in cluster.assumed if one.startswith("min.insync.replicas")]


def overridden(cluster: Cluster) -> Sequence[tuple[str, str, str]]:
    return [
        (f"{one.key}={one.value}", one.source, one.reason)
        for one in cluster.ignored
        if one.why is WhyIgnored.OVERRIDDEN
    ]


def test_a_brokers_value_is_not_taken_for_that_of_the_cluster() -> None:
    for file in (BROKER + TWO, "broker.id=1\nlog.dirs=/d\n" + TWO):
        cluster = read(file)
        assert (cluster.min_insync_replicas.value, cluster.min_insync_replicas.source) == (
            1,
            "1 unless a controller's file had another",
        )
        assert about_least(cluster) == [
            f"min.insync.replicas=1, not 2 as in f1:3: {HIDES}, and is 1 unless the controllers' files had another;"
            f" give the output of {SHOWS}, or a controller's file; to set it, while all replicas are in sync:"
            " kafka-configs --alter --add-config min.insync.replicas=2 --entity-type brokers --entity-default"
        ]
        assert overridden(cluster) == [("min.insync.replicas=2", "f1:3", HIDES)]


def test_without_eligible_leader_replicas_a_brokers_value_counts() -> None:
    for version, more in (("3.9", ""), ("4.0", ""), ("4.1", "eligible.leader.replicas.version=0\n")):
        cluster = read(BROKER + TWO + more, version=version)
        assert (cluster.min_insync_replicas.value, cluster.min_insync_replicas.source) == (2, "f1:3")
        assert about_least(cluster) == overridden(cluster) == []


def test_a_controllers_value_counts_in_place_of_the_brokers() -> None:
    cluster = read(BROKER + TWO, CONTROLLER + THREE)
    assert (cluster.min_insync_replicas.value, cluster.min_insync_replicas.source) == (3, "f2:3")
    assert about_least(cluster) == [
        "min.insync.replicas=3 for the cluster, written from f2:3 when eligible leader replicas were turned on, and not"
        f" changed since; {SHOWS} shows it"
    ]
    assert overridden(cluster) == [
        ("min.insync.replicas=2", "f1:3", "overridden by the broker's min.insync.replicas in f2:3")
    ]
    both = read(COMBINED + TWO)
    assert (both.min_insync_replicas.value, both.min_insync_replicas.source) == (2, "f1:3")
    assert about_least(both) == [about_least(cluster)[0].replace("=3 for", "=2 for").replace("f2:3", "f1:3")]


def test_a_controller_without_the_key_gives_topics_1() -> None:
    """This was seen on real clusters: brokers with 2, controllers without it."""
    for files in ((BROKER + TWO, CONTROLLER), (BROKER + TWO, COMBINED), (CONTROLLER, CONTROLLER + TWO)):
        cluster = read(*files)
        (lacks,) = [f"f{at}" for at, one in enumerate(files, start=1) if "controller" in one and "min." not in one]
        assert cluster.min_insync_replicas.value == 1
        assert about_least(cluster) == [
            f"min.insync.replicas=1, as {lacks} does not give it: {HIDES}, and was written from a controller's file;"
            f" {SHOWS} shows it"
        ]


def test_a_controllers_value_does_not_count_without_eligible_leader_replicas() -> None:
    cluster = read(BROKER, CONTROLLER + TWO, version="3.9")
    assert (cluster.min_insync_replicas.value, cluster.min_insync_replicas.source) == (1, "Kafka 3.9's default")
    assert overridden(cluster) == [("min.insync.replicas=2", "f2:3", "only a controller's file gives it")]


def test_controllers_that_disagree_are_refused() -> None:
    with pytest.raises(PropertiesError) as refusal:
        read(COMBINED + TWO, CONTROLLER + THREE)
    assert str(refusal.value) == (
        "f2:3: min.insync.replicas=3 contradicts min.insync.replicas=2 in f1:3: with eligible leader replicas that of"
        f" the controller counts that was active; give the output of {SHOWS}"
    )


@pytest.mark.parametrize(("described", "value"), [(DEFAULT_2, 2), (IN_EFFECT_1, 1)])
def test_a_described_value_of_the_cluster_decides(described: str, value: int) -> None:
    cluster = read(BROKER + THREE, CONTROLLER + THREE, described=described)
    assert (cluster.min_insync_replicas.value, cluster.min_insync_replicas.source) == (value, "d:2")
    assert about_least(cluster) == []
    assert [one[:2] for one in overridden(cluster)] == [
        ("min.insync.replicas=3", "f1:3"),
        ("min.insync.replicas=3", "f2:3"),
    ]


def test_only_the_value_of_the_cluster_is_described() -> None:
    cluster = read(described=DEFAULT_2)
    assert cluster.min_insync_replicas.value == 2
    assert cluster.assumed[-1] == (
        "Kafka's defaults of the topic (no settings of its own; --topic FILE) and of brokers"
        " (unclean.leader.election.enable=false, auto.leader.rebalance.enable=true; --broker FILE)"
    )


def test_the_feature_alone_turns_them_on() -> None:
    """Also in 4.0, where it is off by default."""
    cluster = read(BROKER + TWO + "eligible.leader.replicas.version=1\n", version="4.0")
    assert (cluster.min_insync_replicas.value, len(about_least(cluster))) == (1, 1)


def test_values_of_running_brokers_that_contradict_that_of_the_cluster_are_refused() -> None:
    with pytest.raises(PropertiesError) as refusal:
        read(described=DEFAULT_2 + IN_EFFECT_1)
    assert str(refusal.value) == (
        "d:4: min.insync.replicas=1 contradicts min.insync.replicas=2 in d:2: with eligible leader replicas the value"
        " of the cluster is that of every broker; describe the cluster again"
    )


def test_a_dynamic_value_of_one_broker_shows_that_there_are_no_eligible_leader_replicas() -> None:
    cluster = read(BROKER, described=OF_ONE_2)
    assert (cluster.generation.switches, cluster.generation.assumes_elr) == ({"ELR": "off"}, False)
    assert (cluster.min_insync_replicas.value, cluster.min_insync_replicas.source) == (2, "d:2")
    assert cluster.generation.taken.endswith(
        ", without eligible leader replicas (min.insync.replicas=2 in d:2 is a dynamic value of one broker, which ELR"
        " would refuse)"
    )
    with pytest.raises(PropertiesError) as refusal:
        read(BROKER + "eligible.leader.replicas.version=1\n", described=OF_ONE_2)
    assert str(refusal.value) == (
        "d:2: min.insync.replicas=2 is a dynamic value of one broker, which a cluster with eligible leader replicas"
        " refuses (f1:3); describe the cluster again"
    )


def test_the_topics_own_value_takes_precedence() -> None:
    cluster = read(BROKER + TWO, "min.insync.replicas=3\nretention.ms=1\n")
    assert (cluster.min_insync_replicas.value, cluster.min_insync_replicas.source) == (3, "f2:1")
    assert about_least(cluster) == []


@pytest.mark.parametrize("version", ["3.9", "4.1"])
def test_a_described_topic_shows_what_it_inherits(version: str) -> None:
    """kafka-topics prints the settings of brokers as well: if it prints no minimum, it is 1, whatever a file says."""
    topic = (
        "Topic: t\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: {}\n"
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\tElr: \tLastKnownElr: \n"
    )
    cluster = read(COMBINED + TWO, described=topic.format("segment.bytes=1"), version=version)
    assert (cluster.min_insync_replicas.value, cluster.min_insync_replicas.source) == (1, "d:1 shows no other value")
    assert overridden(cluster) == [
        ("min.insync.replicas=2", "f1:3", "kafka-topics shows the values of brokers as well, and none in d:1")
    ]
    assert about_least(cluster) == [
        "min.insync.replicas=1, not 2 as in f1:3: kafka-topics shows what a topic inherits from brokers, and shows no"
        " value"
    ]
    assert about_least(read(COMBINED, described=topic.format(""), version=version)) == []
    cluster = read(COMBINED + TWO, described=topic.format("min.insync.replicas=3"), version=version)
    assert (cluster.min_insync_replicas.value, cluster.min_insync_replicas.source) == (3, "d:1")


def test_with_zookeeper_a_tool_may_show_only_the_topics_own_settings() -> None:
    """kafka-topics --zookeeper, up to 2.8."""
    topic = "Topic: t\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n"
    broker = "broker.id=1\nzookeeper.connect=a:2181\n" + TWO
    assert read(broker, described=topic, version="2.8").min_insync_replicas.value == 2
    assert read(broker, described=topic, version="3.0").min_insync_replicas.value == 1


# --- Elections, on which controllers act ------------------------------------------------------------------------------


def test_the_controllers_files_decide_about_elections() -> None:
    unclean, clean = "unclean.leader.election.enable=true\n", "auto.leader.rebalance.enable=false\n"
    cluster = read(BROKER + clean, CONTROLLER + unclean, version="3.9")
    assert (cluster.unclean_election.value, cluster.leader_rebalance.value) == (True, True)
    assert overridden(cluster) == [
        (
            "auto.leader.rebalance.enable=false",
            "f1:3",
            "KRaft controllers act on it, and none of their files gives it",
        )
    ]
    cluster = read(BROKER + "unclean.leader.election.enable=false\n", CONTROLLER + unclean + clean, version="3.9")
    assert (cluster.unclean_election.source, cluster.leader_rebalance.source) == ("f2:3", "f2:4")


def test_without_a_controllers_file_the_worse_of_the_values_is_taken() -> None:
    cluster = read(BROKER + "auto.leader.rebalance.enable=false\n", version="3.9")
    assert cluster.leader_rebalance.value
    assert (
        "controllers with unclean.leader.election.enable=false and auto.leader.rebalance.enable=true, on which they"
        " act, and not brokers; give a controller's file"
    ) in cluster.assumed
    assert read(BROKER + "unclean.leader.election.enable=true\n", version="3.9").unclean_election.value
    assert not read(COMBINED + "auto.leader.rebalance.enable=false\n", version="3.9").leader_rebalance.value
