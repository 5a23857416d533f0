"""Which min.insync.replicas counts: with eligible leader replicas that of the cluster, which hides those of brokers.

The rules are those of KAFKA-16540, seen on real clusters: controllers without the key and brokers with 2 give topics 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from isrcheck.checker.cluster.cluster import Cluster
from isrcheck.checker.cluster.formats.registry import read_clusters
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


CURE = (
    f"and is 1 unless the controllers' files had another; give the output of {SHOWS}, or a controller's file; to"
    " set it, while all replicas are in sync: kafka-configs --alter --add-config min.insync.replicas=2 --entity-type"
    " brokers --entity-default"
)
WRITTEN = "and was written from a controller's file"
UNCHANGED = f"when eligible leader replicas were turned on, and not changed since; {SHOWS} shows it"
ELR_ON, ELR_OFF = "eligible.leader.replicas.version=1\n", "eligible.leader.replicas.version=0\n"
UNLESS = "1 (1 unless a controller's file had another)"
NOT_2 = f"min.insync.replicas=1, not 2 as in f1:3: {HIDES}, {CURE}"
LACKS = f"min.insync.replicas=1, as {{0}} does not give it: {HIDES}, {WRITTEN}; {SHOWS} shows it"
HIDDEN_2 = ("min.insync.replicas=2", "f1:3", HIDES)
OVERRIDDEN_3 = [("min.insync.replicas=3", f"f{number}:3", "overridden by the broker's min.insync.replicas in d:2")
                for number in (1, 2)]  # fmt: skip


@pytest.mark.parametrize(
    ("files", "described", "version", "counts", "assumed", "hidden"),
    [
        # With eligible leader replicas a broker's value is not taken for that of the cluster, in 4.0 if they are on.
        ([BROKER + TWO], "", "4.1", UNLESS, NOT_2, [HIDDEN_2]),
        (["broker.id=1\nlog.dirs=/d\n" + TWO], "", "4.1", UNLESS, NOT_2, [HIDDEN_2]),
        ([BROKER + TWO + ELR_ON], "", "4.0", UNLESS, NOT_2, [HIDDEN_2]),
        # Without them it counts, and a controller's does not.
        ([BROKER + TWO], "", "3.9", "2 (f1:3)", None, []),
        ([BROKER + TWO], "", "4.0", "2 (f1:3)", None, []),
        ([BROKER + TWO + ELR_OFF], "", "4.1", "2 (f1:3)", None, []),
        ([BROKER, CONTROLLER + TWO], "", "3.9", "1 (Kafka 3.9's default)", None,
         [("min.insync.replicas=2", "f2:3", "only a controller's file gives it")]),
        # A controller's value counts in place of the brokers'.
        ([BROKER + TWO, CONTROLLER + THREE], "", "4.1", "3 (f2:3)",
         f"min.insync.replicas=3 for the cluster, written from f2:3 {UNCHANGED}",
         [("min.insync.replicas=2", "f1:3", "overridden by the broker's min.insync.replicas in f2:3")]),
        ([COMBINED + TWO], "", "4.1", "2 (f1:3)",
         f"min.insync.replicas=2 for the cluster, written from f1:3 {UNCHANGED}", []),
        ([COMBINED + TWO, CONTROLLER + TWO], "", "4.1", "2 (f1:3)",
         f"min.insync.replicas=2 for the cluster, written from f1:3 {UNCHANGED}", []),
        # A controller without the key gives topics 1, as was seen on real clusters.
        ([BROKER + TWO, CONTROLLER], "", "4.1", "1 (1, as f2 does not give it)", LACKS.format("f2"), [HIDDEN_2]),
        ([BROKER + TWO, COMBINED], "", "4.1", "1 (1, as f2 does not give it)", LACKS.format("f2"), [HIDDEN_2]),
        ([CONTROLLER, CONTROLLER + TWO], "", "4.1", "1 (1, as f1 does not give it)", LACKS.format("f1"),
         [("min.insync.replicas=2", "f2:3", HIDES)]),
        # A described value of the cluster decides, and the topic's own value before all others.
        ([BROKER + THREE, CONTROLLER + THREE], DEFAULT_2, "4.1", "2 (d:2)", None, OVERRIDDEN_3),
        ([BROKER + THREE, CONTROLLER + THREE], IN_EFFECT_1, "4.1", "1 (d:2)", None, OVERRIDDEN_3),
        ([], DEFAULT_2, "4.1", "2 (d:2)", None, []),
        ([BROKER], OF_ONE_2, "4.1", "2 (d:2)", None, []),
        ([BROKER + TWO, "min.insync.replicas=3\nretention.ms=1\n"], "", "4.1", "3 (f2:1)", None,
         [("min.insync.replicas=2", "f1:3", "overridden by the topic's min.insync.replicas in f2:1")]),
    ],
)  # fmt: skip
def test_which_value_counts(
    files: list[str],
    described: str,
    version: str,
    counts: str,
    assumed: str | None,
    hidden: list[tuple[str, str, str]],
) -> None:
    cluster = read(*files, described=described, version=version)
    least = cluster.min_insync_replicas
    assert f"{least.value} ({least.source})" == counts
    assert about_least(cluster) == ([assumed] if assumed else [])
    assert overridden(cluster) == hidden


@pytest.mark.parametrize(
    ("files", "described", "says"),
    [
        ([COMBINED + TWO, CONTROLLER + THREE], "",
         "f2:3: min.insync.replicas=3 contradicts min.insync.replicas=2 in f1:3: with eligible leader replicas the"
         f" value of the controller that was active counts; give the output of {SHOWS}"),
        ([], DEFAULT_2 + IN_EFFECT_1,
         "d:4: min.insync.replicas=1 contradicts min.insync.replicas=2 in d:2: with eligible leader replicas every"
         " broker has the value of the cluster; describe the cluster again"),
        ([BROKER + ELR_ON], OF_ONE_2,
         "d:2: min.insync.replicas=2 is a dynamic value of one broker, which a cluster with eligible leader replicas"
         " refuses (f1:3); describe the cluster again"),
    ],
)  # fmt: skip
def test_values_that_contradict_each_other_are_refused(files: list[str], described: str, says: str) -> None:
    with pytest.raises(PropertiesError) as refusal:
        read(*files, described=described)
    assert str(refusal.value) == says


def test_the_defaults_beside_the_value_of_the_cluster() -> None:
    assert read(described=DEFAULT_2).assumed[-1] == (
        "Kafka's defaults of the topic (no settings of its own; --topic FILE) and of brokers"
        " (unclean.leader.election.enable=false, auto.leader.rebalance.enable=true; --broker FILE)"
    )


def test_a_dynamic_value_of_one_broker_shows_that_there_are_no_eligible_leader_replicas() -> None:
    generation = read(BROKER, described=OF_ONE_2).generation
    assert (generation.switches, generation.assumes_elr) == ({"ELR": "off"}, False)
    assert generation.taken.endswith(
        ", without eligible leader replicas (min.insync.replicas=2 in d:2 is a dynamic value of one broker, which ELR"
        " would refuse)"
    )


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
    why = "KRaft controllers act on it, and none of their files gives it"
    assert overridden(cluster) == [("auto.leader.rebalance.enable=false", "f1:3", why)]
    cluster = read(BROKER + "unclean.leader.election.enable=false\n", CONTROLLER + unclean + clean, version="3.9")
    assert (cluster.unclean_election.source, cluster.leader_rebalance.source) == ("f2:3", "f2:4")


def test_without_a_controllers_file_the_worse_of_the_values_is_taken() -> None:
    cluster = read(BROKER + "auto.leader.rebalance.enable=false\n", version="3.9")
    assert cluster.leader_rebalance.value
    assert (
        "controllers with unclean.leader.election.enable=false and auto.leader.rebalance.enable=true (controllers act"
        " on these settings, and brokers do not); give a controller's file"
    ) in cluster.assumed
    assert read(BROKER + "unclean.leader.election.enable=true\n", version="3.9").unclean_election.value
    assert not read(COMBINED + "auto.leader.rebalance.enable=false\n", version="3.9").leader_rebalance.value
