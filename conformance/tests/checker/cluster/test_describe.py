"""Parses the output of kafka-topics --describe, kafka-configs --describe and kafka-features describe.

The lines have the format that the tools of these releases print, tabs included.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.tests.checker.cluster.tables import understood
from isrcheck.checker.cluster.cluster import NO_REPLICAS_GIVEN, Cluster, Reading
from isrcheck.checker.cluster.contents import Partition
from isrcheck.checker.cluster.formats.registry import read_clusters
from isrcheck.checker.cluster.generation import Generation
from isrcheck.checker.cluster.ignored import WhyIgnored
from isrcheck.checker.cluster.property_files import PropertiesError
from isrcheck.checker.cluster.releases import Role
from isrcheck.checker.cluster.settings import Setting

TO_2_3 = (
    "Topic:t\tPartitionCount:1\tReplicationFactor:3\tConfigs:min.insync.replicas=2,cleanup.policy=compact,delete\n"
    "\tTopic: t\tPartition: 0\tLeader: 2\tReplicas: 1,2,3\tIsr: 2,3\n"
)
SINCE_2_4 = TO_2_3.replace("Topic:t\tPartitionCount:1\tReplicationFactor:3\tConfigs:", "Topic: t\tPartitionCount: 1\t"
                           "ReplicationFactor: 3\tConfigs: ")  # fmt: skip
SINCE_2_8 = SINCE_2_4.replace("Topic: t\tPartitionC", "Topic: t\tTopicId: 2Wz1sSgYTGaQ4pmf5V9Zhw\tPartitionC")
WITH_ELR = SINCE_2_8.replace("Isr: 2,3\n", "Isr: 2,3\tElr: 1\tLastKnownElr: \n")
EMPTY_ELR = WITH_ELR.replace("Elr: 1", "Elr: ")
WITHOUT_ELR = SINCE_2_8.replace("Isr: 2,3\n", "Isr: 2,3\tElr: N/A\tLastKnownElr: N/A\n")
WITH_SPACES = SINCE_2_8.replace("\t", "    ")


def read(*texts: str, version: str | None = "2.1", topic: str | None = None, broker: str = "") -> Cluster:
    (cluster,) = read_all(*texts, version=version, topic=topic, broker=broker).clusters
    return cluster


def read_all(*texts: str, version: str | None = "2.1", topic: str | None = None, broker: str = "") -> Reading:
    names = [f"{number}.txt" for number in range(1, len(texts) + 1)]
    for name, text in zip(names, texts, strict=True):
        Path(name).write_text(text, encoding="utf-8")
    files: list[tuple[Role | None, Path]] = []
    if broker:
        Path("server.properties").write_text(broker, encoding="utf-8")
        files.append((Role.BROKER, Path("server.properties")))
    return read_clusters(files, version, names, () if topic is None else (topic,))


def complaint(*texts: str, version: str | None = "2.1", topic: str | None = None, broker: str = "") -> str:
    return refused(lambda: read_all(*texts, version=version, topic=topic, broker=broker))


def refused(reading: Callable[[], object]) -> str:
    with pytest.raises(PropertiesError) as refusal:
        reading()
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def ignored_of(cluster: Cluster) -> list[str]:
    """The ignored settings and their places."""
    return [f"{setting.key}={setting.value} ({setting.source})" for setting in cluster.ignored]


def partition(number: int, leader: str, isr: str, topic: str = "t", replicas: str = "1,2,3") -> str:
    return f"\tTopic: {topic}\tPartition: {number}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {isr}\n"


# --- kafka-topics -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [TO_2_3, SINCE_2_4, SINCE_2_8, EMPTY_ELR, WITHOUT_ELR, WITH_SPACES, TO_2_3.replace("\n", "\r\n")],
    ids=["to 2.3", "since 2.4", "since 2.8", "3.8 with ELR", "3.8 without ELR", "spaces", "carriage returns"],
)
def test_a_topic_with_one_partition(text: str) -> None:
    cluster = read(text, version="3.9")
    assert cluster.topics == ("t",)
    assert cluster.partitions == (Partition("t", 0, 2, (1, 2, 3), (2, 3), "1.txt:2"),)
    assert cluster.why_unknown is None
    assert cluster.replication_factor == Setting(3, "1.txt:2")
    assert cluster.min_insync_replicas == Setting(2, "1.txt:1")
    assert ignored_of(cluster) == ["cleanup.policy=compact,delete (1.txt:1)"]
    assert cluster.ignored[0].why is WhyIgnored.NOT_MODELLED


OF_T = "Topic: t\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: "
CONFIGS_OF_T = (
    " configs for topic t are:\n"
    "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete,"
    " DEFAULT_CONFIG:log.cleanup.policy=delete}\n"
    "  min.insync.replicas=2 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:min.insync.replicas=2,"
    " STATIC_BROKER_CONFIG:min.insync.replicas=1, DEFAULT_CONFIG:min.insync.replicas=1}\n"
    "  follower.replication.throttled.replicas= sensitive=false synonyms={}\n"
)
LEAST_2, LEAST_3 = (f"  min.insync.replicas={least} sensitive=false synonyms={{}}\n" for least in (2, 3))
OF_CONFIGS = ["cleanup.policy=compact,delete", "follower.replication.throttled.replicas="]


@pytest.mark.parametrize(
    ("text", "least", "ignored"),
    [
        (f"{OF_T}\n{partition(0, '1', '1,2,3')}", "1 (Kafka 2.1's default)", []),
        (f"{OF_T}min.insync.replicas=3\n{partition(0, '1', '1,2,3')}", "3 (1.txt:1)", []),
        (f"{OF_T}a.b=1,min.insync.replicas=2\n{partition(0, '1', '1,2,3')}", "2 (1.txt:1)", ["a.b=1"]),
        # kafka-configs of 0.10.0, and since 0.10.1 with --zookeeper
        ("Configs for topics:t are min.insync.replicas=2,retention.ms=1\n", "2 (1.txt:1)", ["retention.ms=1"]),
        ("Configs for topic 't' are min.insync.replicas=2,retention.ms=1\n", "2 (1.txt:1)", ["retention.ms=1"]),
        ("Configs for topic 't' are \n", "1 (Kafka 2.1's default)", []),
        ("Configs for topic 't' are\n", "1 (Kafka 2.1's default)", []),
        ("Dynamic configs for topic t are:\n", "1 (Kafka 2.1's default)", []),
        (f"Dynamic{CONFIGS_OF_T}", "2 (1.txt:3)", OF_CONFIGS),
        (f"All{CONFIGS_OF_T}", "2 (1.txt:3)", OF_CONFIGS),
        # A broker's value overrides that of the cluster.
        (f"Dynamic configs for broker 1 are:\n{LEAST_2}Default configs for brokers in the cluster are:\n{LEAST_3}",
         "2 (1.txt:2)", ["min.insync.replicas=3"]),
    ],
)  # fmt: skip
def test_the_settings_of_a_topic(text: str, least: str, ignored: list[str]) -> None:
    cluster = read(text)
    assert f"{cluster.min_insync_replicas.value} ({cluster.min_insync_replicas.source})" == least
    assert [f"{one.key}={one.value}" for one in cluster.ignored] == ignored


def test_a_description_with_only_the_topics_line_or_only_partition_lines() -> None:
    """--under-replicated-partitions prints only the latter."""
    cluster = read(TO_2_3.splitlines()[0])
    assert (cluster.topics, cluster.partitions, cluster.why_unknown) == (("t",), (), None)
    assert cluster.replication_factor == Setting(3, "1.txt:1")
    cluster = read(partition(4, "3", "3"))
    assert cluster.partitions == (Partition("t", 4, 3, (1, 2, 3), (3,), "1.txt:1"),)
    assert cluster.replication_factor == Setting(3, "1.txt:1")


def test_settings_that_partition_lines_do_not_show_are_missed() -> None:
    """min.insync.replicas=1 would be an answer for another topic."""
    lines = partition(4, "3", "3") + partition(0, "1", "1").replace("Topic: t", "Topic: u")
    says = "no settings of {} are described: those of the brokers are assumed; describe whole topics"
    assert read_all(lines).remarks == (says.format("t, u"),)
    for settings in ("Configs for topic 't' are ", "Dynamic configs for topic t are:"):
        assert read_all(lines, f"{settings}\n").remarks == (says.format("u"),)


@pytest.mark.parametrize("nothing", ["Dynamic configs for broker 2 are:\n", "Configs for broker 2 are \n"])
def test_a_dynamic_setting_of_one_broker_alone_is_told(nothing: str) -> None:
    flushed = "Dynamic configs for broker 1 are:\n  log.flush.interval.messages=1 sensitive=false synonyms={}\n"
    says = "log.flush.interval.messages=1 (2.txt:2) is not given for broker 2; it is taken for every broker"
    assert read_all(TO_2_3, flushed + nothing).remarks == (says,)
    assert read_all(TO_2_3, flushed + nothing, broker="log.flush.interval.messages=1\n").remarks == ()
    assert read_all(TO_2_3, flushed).remarks == ()


def test_all_partitions_are_read_in_the_order_of_their_numbers() -> None:
    lines = [partition(1, "2", "2,3"), partition(0, "1", "1,2,3"), partition(3, "none", "1"), partition(2, "-1", "")]
    cluster = read("Topic:t\tPartitionCount:4\tReplicationFactor:3\tConfigs:\n" + "".join(lines))
    expected = [(0, 1, (1, 2, 3)), (1, 2, (2, 3)), (2, None, ()), (3, None, (1,))]
    assert [(one.number, one.leader, one.isr) for one in cluster.partitions] == expected


def test_the_partitions_without_a_reassignment_have_the_topics_number_of_replicas() -> None:
    moving = partition(0, "1", "1,2,3", replicas="1,2,3,4").replace("\n", "\tAdding Replicas: 4\tRemoving Replicas: \n")
    cluster = read(moving + partition(1, "1", "1,2,3"))
    assert cluster.replication_factor == Setting(3, "1.txt:2")
    assert ignored_of(cluster) == ["Adding Replicas=4 (1.txt:1)"]


def test_unmodelled_settings_are_named() -> None:
    text = (
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \tMarkedForDeletion: true\n"
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 4,1,2,3\tIsr: 1,2,3\tAdding Replicas: 4\tRemoving Replicas: 3\n"
    )
    cluster = read(text)
    (only,) = cluster.partitions
    assert (only.replicas, only.isr) == ((4, 1, 2, 3), (1, 2, 3))
    assert only.target == (4, 1, 2)
    assert cluster.replication_factor.value == 3
    deleted = "the topic is marked for deletion: the answer is for a topic that stays"
    reassigned = "a reassignment under way is not modelled: the answer is for the replicas after it"
    assert dict(zip(ignored_of(cluster), (setting.reason for setting in cluster.ignored), strict=True)) == {
        "MarkedForDeletion=true (1.txt:1)": deleted,
        "Adding Replicas=4 (1.txt:2)": reassigned,
        "Removing Replicas=3 (1.txt:2)": reassigned,
    }
    assert {setting.why for setting in cluster.ignored} == {WhyIgnored.NOT_MODELLED}


def test_a_coordinators_topic_with_one_replica_is_told_if_the_answer_is_for_another_topic() -> None:
    """Clients of all topics depend on it; if the answer is for every topic, it has an answer of its own."""
    offsets = partition(0, "1", "1", topic="__consumer_offsets", replicas="1")
    log = partition(0, "1", "1,2", topic="__transaction_state", replicas="1,2")
    text = partition(0, "1", "1,2,3") + offsets + log
    says = "__consumer_offsets has 1 replica: the loss of one broker loses offsets that groups have committed"
    assert [remark for remark in read_all(text, topic="t").remarks if "__" in remark][-1:] == [says]
    assert says not in read_all(text).remarks


def test_the_offline_replicas_of_confluents_tool_are_read_over_but_not_its_observers() -> None:
    """Confluent's kafka-topics has further columns; observers are replicas that do not join the ISR."""
    line = partition(0, "1", "1,2,3")
    assert read(line.replace("\n", "\tOffline: \n")).partitions == read(line).partitions
    assert read(line.replace("\n", "\tOffline: 3\n")).partitions == read(line).partitions
    with pytest.raises(PropertiesError, match=r"1\.txt:1: Offline '3\\tLiveObservers: 4' is not a list of broker ids"):
        read(line.replace("\n", "\tOffline: 3\tLiveObservers: 4\n"))


REASSIGNED = "the answer is for the replicas after it"


@pytest.mark.parametrize(
    ("fields", "count", "says"),
    [
        ("Adding Replicas: 4,5,6\tRemoving Replicas: 1,2,3", 3,
         "t-0 is being reassigned (Adding Replicas 4,5,6, Removing Replicas 1,2,3): {}, 3;"
         " it has 6 now, 3 of them not yet in place"),
        ("Adding Replicas: 4,5,6\tRemoving Replicas: ", 6, "t-0 is being reassigned (Adding Replicas 4,5,6): {}, 6;"
         " it has 6 now, 3 of them not yet in place"),
        ("Adding Replicas: \tRemoving Replicas: 2,3,4,5,6", 1,
         "t-0 is being reassigned (Removing Replicas 2,3,4,5,6): {}, 1;"
         " it has 6 now"),
        ("Adding Replicas: \tRemoving Replicas: ", 6, None),
    ],
)  # fmt: skip
def test_a_reassignment_counts_the_replicas_after_it(fields: str, count: int, says: str | None) -> None:
    """With four of six brokers down, nothing is acknowledged: three of the six leave, or are not there yet."""
    line = partition(0, "1", "1,2,3", replicas="1,2,3,4,5,6").replace("\n", f"\t{fields}\n")
    reading = read_all(TO_2_3.splitlines()[0] + "\n" + line)
    assert reading.clusters[0].replication_factor == Setting(count, "1.txt:2")
    assert reading.remarks == ((says.format(REASSIGNED),) if says else ())


def test_several_reassignments_are_told_in_one_line() -> None:
    moving = "\tAdding Replicas: 4\tRemoving Replicas: 1\n"
    lines = [partition(number, "2", "2,3", replicas="1,2,3,4").replace("\n", moving) for number in range(7)]
    reading = read_all("Topic: t\tPartitionCount: 7\tReplicationFactor: 3\tConfigs: \n" + "".join(lines))
    assert reading.remarks == (f"7 partitions are being reassigned (t-0, t-1, t-2, t-3, t-4 and 2 more): {REASSIGNED}",)


@pytest.mark.parametrize(
    ("text", "release", "mode", "source"),
    [
        (TO_2_3, "2.7", "ZooKeeper", "the last release whose kafka-topics shows no TopicId (1.txt:1)"),
        (SINCE_2_4, "2.7", "ZooKeeper", "the last release whose kafka-topics shows no TopicId (1.txt:1)"),
        (SINCE_2_8, "3.7", "KRaft", "the last release whose kafka-topics shows a TopicId (1.txt:1), but no Elr"),
        (partition(0, "1", "1,2"), "3.7", "KRaft", "the last release whose kafka-topics shows no Elr (1.txt:1)"),
        (WITHOUT_ELR, "3.9", "ZooKeeper", "the last release whose kafka-topics shows N/A as Elr (1.txt:2)"),
        (EMPTY_ELR, "4.4", "KRaft", "the newest release"),
        (WITH_ELR, "4.4", "KRaft", "the newest release"),
        ("Configs for topic 't' are ", "4.4", "KRaft", "the newest release"),
    ],
)
def test_the_output_of_a_tool_bounds_the_assumed_release(text: str, release: str, mode: str, source: str) -> None:
    cluster = read(text, version=None)
    assert not cluster.is_version_given
    assert f": Kafka {release} (not given: {source}) with {mode} (" in cluster.generation.taken
    assert cluster.generation.why_undecided is None


def test_the_newest_of_several_tools_counts() -> None:
    other = SINCE_2_4.replace("Topic: t", "Topic: u")
    taken = read(SINCE_2_8, other, version=None, topic="u").generation.taken
    assert "Kafka 3.7 (not given: the last release whose kafka-topics shows a TopicId (1.txt:1), but no Elr)" in taken


def test_a_zookeeper_broker_may_be_described_by_a_tool_of_any_release() -> None:
    for text, release in ((SINCE_2_8, "3.7"), (WITHOUT_ELR, "3.9"), (SINCE_2_4, "2.7")):
        taken = read(text, version=None, broker="broker.id=1\nzookeeper.connect=a:2181\n").generation.taken
        assert taken.startswith("Generation 2.8 is taken with HW_FROM_DIVERGING_RESP=off")
        assert f"Kafka {release} (not given" in taken
        assert " with ZooKeeper (" in taken


def test_eligible_leader_replicas_are_on_only_if_brokers_are_named() -> None:
    """A broker of 3.8 or newer with KRaft answers with an empty ELR, also if it keeps none."""
    on = Generation("4.0", {"ELR": "on"}, None)
    cluster = read(WITH_ELR, version="4.0.1")
    assert cluster.generation == on
    assert cluster.generation.taken.endswith(", with eligible leader replicas (Elr names replicas in 1.txt:2)")
    assert [(one.elr, one.last_known_elr) for one in cluster.partitions] == [((1,), ())]
    only_last_known = read(EMPTY_ELR.replace("LastKnownElr: ", "LastKnownElr: 3"), version="4.0.1")
    assert only_last_known.generation == on
    assert [(one.elr, one.last_known_elr) for one in only_last_known.partitions] == [((), (3,))]
    for text in (EMPTY_ELR, WITHOUT_ELR):
        assert read(text, version="4.0.1").generation == Generation("4.0", {}, None)
        assert read(text, version="4.1").generation == Generation("4.1", {}, None)
    assert "with KRaft (kafka-topics shows an Elr (1.txt:2))" in read(EMPTY_ELR, version="3.9").generation.taken
    # The tool prints N/A for brokers of any age.
    older = WITHOUT_ELR.replace("\tTopicId: 2Wz1sSgYTGaQ4pmf5V9Zhw", "")
    assert read(older, version="2.1").generation.protocol == "2.1"


CONTRADICTS = "--kafka-version: Kafka {} contradicts kafka-topics, which {}; correct --kafka-version"
NO_NUMBER = "is not a whole number from 1 to 2147483647; write for example 2"


@pytest.mark.parametrize(
    ("texts", "version", "broker", "says"),
    [
        ([SINCE_2_8], "2.1", "", CONTRADICTS.format("2.1", "shows a TopicId (1.txt:1), new in 2.8")),
        ([EMPTY_ELR], "3.7", "", CONTRADICTS.format("3.7", "shows an Elr (1.txt:2), new in 3.8")),
        ([WITH_ELR], "3.9", "", CONTRADICTS.format("3.9", "names replicas in Elr (1.txt:2), new in 4.0")),
        ([EMPTY_ELR], None, "zookeeper.connect=a:2181", "server.properties:1: zookeeper.connect=a:2181 contradicts"
         " KRaft (kafka-topics shows an Elr (1.txt:2)): either ZooKeeper or KRaft controllers keep the metadata of a"
         " cluster; leave one of them out"),
        ([WITH_ELR], None, "eligible.leader.replicas.version=0", "server.properties:1:"
         " eligible.leader.replicas.version=0 contradicts Elr in 1.txt:2, which names replicas; correct one of them"),
        ([WITH_ELR], None, "metadata.version=3.9", "1.txt:2: Elr names replicas, which needs metadata.version 4.0-IV1"
         " or newer, but it is 3.9 (server.properties:1); correct one of them"),
        ([partition(0, "1", "1,2"), partition(0, "1", "1")], "2.1", "",
         "2.txt:1: t-0 differs from its description in 1.txt:1; keep the later description"),
        ([TO_2_3.replace("replicas=2", "replicas=0")], "2.1", "", f"1.txt:1: min.insync.replicas: '0' {NO_NUMBER}"),
    ],
)  # fmt: skip
def test_an_output_that_contradicts_something_is_refused(
    texts: list[str], version: str | None, broker: str, says: str
) -> None:
    assert complaint(*texts, version=version, broker=broker) == says


def test_a_removed_replica_may_be_left_in_the_elr() -> None:
    """Seen on a real cluster after a reassignment to one replica; it was refused as a malformed line."""
    line = "\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 0\tIsr: \tElr: 1,2\tLastKnownElr: 0\n"
    reading = read_all(SINCE_2_8.splitlines()[0] + "\n" + line, version="4.1")
    (only,) = reading.clusters[0].partitions
    assert (only.elr, only.strangers, only.last_known_elr) == ((), (1, 2), (0,))
    left = "a reassignment leaves them there, and they keep the last known leader from being elected"
    assert reading.remarks == (f"brokers in the Elr of t-0 are no replicas of it: 1, 2; {left}",)
    several = read_all(SINCE_2_8.splitlines()[0].replace("1\t", "2\t", 1) + "\n" + line + line.replace("n: 0", "n: 1"),
                       version="4.1")  # fmt: skip
    assert several.remarks == ("brokers in the Elr of t-0 are no replicas of it: 1, 2 (the same in 1 more); " + left,)


def test_each_partition_has_its_own_elr() -> None:
    cluster = read(WITH_ELR + partition(1, "3", "3"), version="4.1")
    assert [one.elr for one in cluster.partitions] == [(1,), ()]
    assert cluster.generation.taken.endswith(", with eligible leader replicas (Elr names replicas in 1.txt:2)")
    assert "Elr" not in [one.key for one in cluster.ignored]


# --- Several topics ---------------------------------------------------------------------------------------------------


def test_topics_with_the_same_settings_are_one_cluster() -> None:
    other = TO_2_3.replace("Topic:t", "Topic:u").replace("Topic: t", "Topic: u")
    different = other.replace("Topic:u", "Topic:v").replace("Topic: u", "Topic: v").replace("=2,", "=3,")
    for reading in (read_all(TO_2_3 + other + different), read_all(different, TO_2_3, other)):
        assert [one.topics for one in reading.clusters] == [("t", "u"), ("v",)]
        assert [one.min_insync_replicas.value for one in reading.clusters] == [2, 3]
        assert [[part.name for part in one.partitions] for one in reading.clusters] == [["t-0", "u-0"], ["v-0"]]
        assert reading.remarks == ()


def test_one_of_several_topics_can_be_chosen() -> None:
    other = TO_2_3.replace("Topic:t", "Topic:u").replace("Topic: t", "Topic: u").replace("=2,", "=3,")
    chosen = read(TO_2_3 + other, topic="u")
    assert [one.place for one in chosen.partitions] == ["1.txt:4"]
    assert chosen.min_insync_replicas == Setting(3, "1.txt:3")
    missing = "--topic-name v: there is no such topic; "
    assert complaint(TO_2_3 + other, topic="v") == f"{missing}the described topics are t, u"
    assert complaint("Configs for brokers '0' are a=b", topic="v") == (
        f"{missing}no topic is described; add the output of kafka-topics --describe"
    )


def test_a_list_of_many_topics_is_short() -> None:
    texts = [TO_2_3.replace("Topic:t", f"Topic:{name}").replace("Topic: t", f"Topic: {name}") for name in "tuvwxyz"]
    assert complaint("".join(texts), topic="a").endswith("the described topics are t, u, v, w, x and 2 more")


# --- A description that is cut off ------------------------------------------------------------------------------------

TWO = (
    "Topic: t\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
    + partition(0, "1", "1,2,3")
    + partition(1, "2", "1,2,3")
)


@pytest.mark.parametrize("kept", range(TWO.index("\n") + 1, len(TWO)))
def test_a_description_that_is_cut_off_is_read_as_far_as_it_is_whole(kept: int) -> None:
    """Wherever it is cut off, no partition has another ISR than it has, or the answer says that it may have."""
    reading = read_all(TWO[:kept])
    (cluster,) = reading.clusters
    whole = TWO[:kept].count("\n") - 1
    is_all = kept >= len(TWO) - 1
    if TWO[:kept].endswith("Isr: 1,2") and whole == 1:
        assert [one.isr for one in cluster.partitions] == [(1, 2, 3), (1, 2)]
        may = "1.txt:3: the file ends without a line break; if it was cut off, the ISR of this line has more brokers"
        assert reading.remarks == (may,)
        return
    assert [one.isr for one in cluster.partitions] == [(1, 2, 3)] * (2 if is_all else whole)
    place = f"1.txt:{whole + 2}: the description is cut off in this line, which is left out; describe the cluster again"
    is_cut = not TWO[:kept].endswith("\n") and not is_all
    # A line that has only blanks so far says nothing.
    assert place in reading.remarks or not is_cut or not TWO[:kept].rpartition("\n")[2].strip()
    assert ("1 of 2 partitions of t are described" in reading.remarks) == (len(cluster.partitions) == 1)


NEXT = "Topic: u\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=12\n"


@pytest.mark.parametrize("kept", range(1, len(NEXT)))
def test_a_topic_whose_line_is_cut_off_is_left_out(kept: int) -> None:
    """Whatever is whole in its settings: a number may have had more digits."""
    reading = read_all(TWO + NEXT[:kept])
    assert [cluster.topics for cluster in reading.clusters] == [("t",)]
    assert reading.remarks == (
        "1.txt:4: the description is cut off in this line, which is left out; describe the cluster again",
    )


def test_topics_without_partitions_are_whole() -> None:
    """kafka-topics --describe --topics-with-overrides."""
    only = NEXT.removesuffix("\n").replace("12", "2")
    (cluster,) = read_all(only).clusters
    assert cluster.min_insync_replicas.value == 2


# --- kafka-configs ----------------------------------------------------------------------------------------------------


def test_both_tools_in_one_file_or_in_two() -> None:
    configs = (
        "All configs for topic t are:\n"
        "  unclean.leader.election.enable=true sensitive=false synonyms={DEFAULT_CONFIG:a=b}\n"
        "  min.insync.replicas=2 sensitive=false synonyms={}\n"
    )
    for cluster, line in ((read(TO_2_3 + configs), "1.txt:4"), (read(TO_2_3, configs), "2.txt:2")):
        assert cluster.unclean_election == Setting(True, line)
        assert len(cluster.partitions) == 1
    assert cluster.min_insync_replicas == Setting(2, "1.txt:1 and 2.txt:3")
    assert complaint(TO_2_3, configs.replace("replicas=2", "replicas=3")) == (
        "2.txt:3: min.insync.replicas=3 contradicts min.insync.replicas=2 in 1.txt:1; "
        "one topic cannot have both; keep one of them"
    )


@pytest.mark.parametrize(
    "text",
    [
        "Configs for brokers '1' are min.insync.replicas=2\n",
        f"Configs for broker 1 are:\n{LEAST_2}",
        f"Dynamic configs for broker 1 are:\n{LEAST_2}",
        f"All configs for broker 1 are:\n{LEAST_2}",
        f"Default config for brokers in the cluster are:\n{LEAST_2}",
        f"Default configs for brokers in the cluster are:\n{LEAST_2}",
        "Configs for default brokers are min.insync.replicas=2\n",
    ],
)
def test_configs_of_brokers_override_their_files(text: str) -> None:
    cluster = read(text, broker="broker.id=1\nmin.insync.replicas=1\n")
    place = f"1.txt:{len(text.splitlines())}"
    assert cluster.min_insync_replicas == Setting(2, place)
    (reason,) = [one.reason for one in cluster.ignored if one.source == "server.properties:2"]
    assert reason == f"overridden by the broker's min.insync.replicas in {place}"
    # The topic's own goes before.
    assert read(text, TO_2_3.replace("=2,", "=3,")).min_insync_replicas == Setting(3, "2.txt:1")


def test_brokers_may_differ_in_irrelevant_settings() -> None:
    text = "".join(
        f"All configs for broker {broker} are:\n"
        f"  node.id={broker} sensitive=false synonyms={{}}\n"
        f"  num.io.threads={broker} sensitive=false synonyms={{}}\n"
        "  min.insync.replicas=2 sensitive=false synonyms={}\n"
        for broker in (1, 2)
    )
    cluster = read(text, version="3.9")
    assert cluster.min_insync_replicas.source == "1.txt:4 and 1.txt:8"
    assert [line.partition(" ")[0] for line in ignored_of(cluster)] == [
        *("node.id=1", "num.io.threads=1", "node.id=2", "num.io.threads=2")
    ]
    cure = (
        "the answer is for brokers that agree in it; set one value for all, or give those of one cluster that agree in"
        " files of their own"
    )
    last = text.rindex("replicas=2")
    says = f"1.txt:8: min.insync.replicas=1 contradicts min.insync.replicas=2 in 1.txt:4; {cure}"
    assert complaint(text[:last] + "replicas=1" + text[last + 10 :]) == says
    key = "log.flush.interval.messages"
    says = f"1.txt:7: {key}=2 contradicts {key}=1 in 1.txt:3; {cure}"
    assert complaint(text.replace("num.io.threads", key)) == says


def test_the_inter_broker_protocol_determines_the_version() -> None:
    text = "All configs for broker 1 are:\n  inter.broker.protocol.version=2.0-IV1 sensitive=false synonyms={}\n"
    version = read(text, version=None).kafka_version
    assert (version.value.text, version.source) == ("2.0", "1.txt:2")


def test_secrets_unset_values_users_and_warnings_are_ignored() -> None:
    text = (
        "$ kafka-configs.sh --describe --zookeeper z:2181\n"
        "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.\n"
        "Use --bootstrap-server instead to specify a broker to connect to.\n"
        "[2021-03-04 05:06:07,891] WARN something (org.apache.kafka)\n"
        "OpenJDK 64-Bit Server VM warning: something\n"
        "\n"
        "Configs for user-principal 'min.insync.replicas' are SCRAM-SHA-256=salt,iterations=4096\n"
        "Configs for client-id 'c' are producer_byte_rate=1\n"
        "Quota configs for user-principal 'u' are producer_byte_rate=1.0\n"
        "SCRAM credential configs for user-principal 'u' are SCRAM-SHA-256=iterations=8192\n"
        "Dynamic configs for client-metric m are:\n"
        "  metrics=x sensitive=false synonyms={}\n"
        "Dynamic configs for broker 1 are:\n"
        "  ssl.keystore.password=null sensitive=true synonyms={DYNAMIC_BROKER_CONFIG:ssl.keystore.password=null}\n"
        "  sasl.jaas.config=hunter2 sensitive=true synonyms={}\n"
        "  min.insync.replicas=null sensitive=false synonyms={}\n"
    )
    cluster = read(text)
    assert cluster.min_insync_replicas == Setting(1, "Kafka 2.1's default")
    assert ignored_of(cluster) == ["sasl.jaas.config=[hidden] (1.txt:15)"]
    assert "hunter2" not in repr(cluster)


# --- Standard input ---------------------------------------------------------------------------------------------------


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TO_2_3.encode())))
    (cluster,) = read_clusters([], "2.1", ["-"]).clusters
    assert cluster.partitions == (Partition("t", 0, 2, (1, 2, 3), (2, 3), "standard input:2"),)
    assert cluster.replication_factor == Setting(3, "standard input:2")
    says = "--describe -: standard input can be read only once; give - once"
    assert refused(lambda: read_clusters([], "2.1", ["-", "-"])) == says
    monkeypatch.setattr(sys, "stdin", None)
    says = "--describe -: there is no standard input; give a file, or pipe the output into `check`"
    assert refused(lambda: read_clusters([], "2.1", ["-"])) == says


# --- Malformed text ---------------------------------------------------------------------------------------------------

COMMANDS = "kafka-topics --describe, kafka-configs --describe or kafka-features describe"
UNCHANGED = f"; give the unchanged output of {COMMANDS}"


NO_LINE = "is not a line of kafka-topics, kafka-configs or kafka-features"
TOPIC_LINE, PARTITION_LINE = "Topic: t\tPartitionCount: ", "\tTopic: t\tPartition: 0\tLeader: "
CONFIG = "  a.b=1 sensitive=false synonyms={}\n"
NO_HEADING = "'a.b' has no heading above it such as 'All configs for topic t are:'"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("hello there\n", 1, f"'hello there' {NO_LINE}"),
        (TO_2_3 + "acks=all\n", 3, f"'acks=all' {NO_LINE}"),
        ("Topic t doesn't exist!\n", 1, f"'Topic t doesn't exist!' {NO_LINE}"),
        (f"{TOPIC_LINE}1\tConfigs: \n", 1, "this line has no ReplicationFactor"),
        (f"{TOPIC_LINE}x\tReplicationFactor: 3\n", 1, "PartitionCount 'x' is not a whole number of at least 1"),
        (f"{TOPIC_LINE}1\tReplicationFactor: 0\n", 1, "ReplicationFactor '0' is not a whole number of at least 1"),
        (f"{TOPIC_LINE}1\tReplicationFactor: 3\tConfigs: delete\n", 1, "'delete' is not KEY=VALUE"),
        ("\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n", 1, "this line has no Topic"),
        ("\n" + PARTITION_LINE.replace("0", "zero") + "1\tReplicas: 1\tIsr: 1\n", 2,
         "Partition 'zero' is not a whole number of at least 0"),
        ("\tTopic: t\tPartition: 0\tReplicas: 1\tIsr: 1\n", 1, "this line has no Leader"),
        (f"{PARTITION_LINE}-2\tReplicas: 1\tIsr: 1\n", 1, "Leader '-2' is not a whole number of at least 0"),
        (f"{PARTITION_LINE}1\tIsr: 1\n", 1, "this line has no Replicas"),
        (f"{PARTITION_LINE}none\tReplicas: \tIsr: \n", 1, "t-0 has no replicas"),
        (f"{PARTITION_LINE}1\tReplicas: 1,2\n", 1, "this line has no Isr"),
        (f"{PARTITION_LINE}1\tReplicas: 1,2\tIsr: 1 2\n", 1, "Isr '1 2' is not a list of broker ids"),
        (f"{PARTITION_LINE}1\tReplicas: 1,1\tIsr: 1\n", 1, "Replicas '1,1' names a broker twice"),
        (f"{PARTITION_LINE}1\tReplicas: 1,2\tIsr: 1,3\n", 1, "broker 3 is in the ISR, but not a replica"),
        (f"{PARTITION_LINE}1\tReplicas: 1,2\tIsr: 2\n", 1, "leader 1 is not in the ISR"),
        (TO_2_3.replace("Isr: 2,3", "Isr: 2,3\tAdding Replicas: 7"), 2,
         "broker 7 is in Adding Replicas, but not a replica"),
        (TO_2_3.replace("Isr: 2,3", "Isr: 2,3\tRemoving Replicas: 1,2,3"), 2,
         "every replica of t-0 is in Removing Replicas"),
        (WITH_ELR.replace("Elr: 1", "Elr: one"), 2, "Elr 'one' is not a list of broker ids"),
        (WITH_ELR.replace("Elr: 1", "Elr: 3"), 2, "broker 3 is both in the ISR and in the Elr"),
        (CONFIG, 1, NO_HEADING),
        (TO_2_3 + CONFIG, 3, NO_HEADING),
        # A line that ends in its middle is an error if lines follow, or if no line is whole.
        (TWO.replace("\tIsr: 1,2,3\n\tTopic", "\n\tTopic"), 2, "this line has no Isr"),
        (f"{TOPIC_LINE}2\t", 1, "this line has no ReplicationFactor"),
        # The settings of an unknown topic or broker are not taken for those of a client, which are left out.
        *(
            (f"Configs for {whose} are unclean.leader.election.enable=true,retention.ms=1\n", 1,
             f"'{whose}' is not a name as kafka-topics, kafka-configs or kafka-features print it")
            for whose in ("topic t", "topics t", "broker 1.5", "default topics", "brokers default")
        ),
    ],
)  # fmt: skip
def test_malformed_text_gets_the_line_and_the_cure(text: str, line: int, what: str) -> None:
    assert complaint(text) == f"1.txt:{line}: {what}{UNCHANGED}"


@pytest.mark.parametrize("text", ["", "\n\n", "Warning: nothing\n"])
def test_nothing_described(text: str) -> None:
    assert complaint(text) == f"1.txt: the file describes nothing; give the output of {COMMANDS}"


def test_one_partition_described_twice() -> None:
    once = partition(0, "1", "1,2")
    assert read(once + once).partitions == (Partition("t", 0, 1, (1, 2, 3), (1, 2), "1.txt:1"),)


@pytest.mark.parametrize(
    ("name", "says"),
    [("none.txt", "none.txt: no such file; check the path"), (".", ".: is a directory; give a file in it")],
)
def test_files_that_cannot_be_read(name: str, says: str) -> None:
    assert refused(lambda: read_clusters([], "2.1", [name])) == says


# --- What the output does not show -----------------------------------------------------------------------------------


def test_settings_without_the_number_of_replicas_are_no_cluster_to_be_searched() -> None:
    """kafka-configs does not print the number, and the broker's default does not apply to existing topics."""
    text = "Configs for topic 't' are min.insync.replicas=2\n"
    cluster = read(text)
    assert cluster.why_unknown == NO_REPLICAS_GIVEN
    assert not cluster.is_replication_given
    assert read(text, TO_2_3).why_unknown is None
    assert read(text, broker="default.replication.factor=3\n").why_unknown is None


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_byte_order_mark_is_ignored(encoding: str) -> None:
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    Path("topics.txt").write_bytes(mark + TO_2_3.encode(encoding))
    (cluster,) = read_clusters([], "2.1", ["topics.txt"]).clusters
    assert cluster.replication_factor.value == 3


def test_a_running_brokers_rebalancing_setting_overrides_its_file() -> None:
    running = "All configs for broker 1 are:\n  auto.leader.rebalance.enable={} sensitive=false synonyms={{}}\n"
    file = "broker.id=1\nauto.leader.rebalance.enable={}\n"
    assert read(running.format("true"), broker=file.format("false")).leader_rebalance.value
    assert not read(running.format("false"), broker=file.format("true")).leader_rebalance.value


# --- kafka-features ---------------------------------------------------------------------------------------------------

FEATURES = (
    "Feature: eligible.leader.replicas.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\t"
    "FinalizedVersionLevel: 0\tEpoch: 12\n"
    "Feature: kraft.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\tFinalizedVersionLevel: 1\tEpoch: 12\n"
    "Feature: metadata.version\tSupportedMinVersion: 3.3-IV3\tSupportedMaxVersion: 4.1-IV1\t"
    "FinalizedVersionLevel: 3.5-IV2\tEpoch: 12\n"
)


def test_the_features_of_a_cluster_decide_its_generation() -> None:
    cluster = read(TO_2_3, FEATURES, version="4.1")
    switches = {"EPOCH_BUMP_ON_SHRINK": "on", "ELR": "off"}
    assert cluster.generation == Generation("4.1", switches, None)
    assert understood(cluster)[1:3] == [
        "metadata.version=3.5-IV2 (2.txt:3): the replication protocol is 4.1",
        "eligible.leader.replicas.version=0 (2.txt:1): the controllers keep no eligible leader replicas",
    ]
    assert cluster.generation.taken.endswith(
        ", without eligible leader replicas (eligible.leader.replicas.version=0 in 2.txt:1)"
    )
    raised = FEATURES.replace("FinalizedVersionLevel: 0", "FinalizedVersionLevel: 1").replace("3.5-IV2", "4.1-IV1")
    assert read(TO_2_3, raised, version="4.1").generation == Generation("4.1", {}, None)


def test_the_features_of_a_cluster_decide_the_generation_of_its_transactions() -> None:
    level = "Feature: transaction.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 2\tFinalizedVersionLevel: {}\t"
    features = FEATURES.replace("3.5-IV2", "4.1-IV1") + level + "Epoch: 12\n"
    for number, protocol in ((0, "3.8"), (1, "3.8"), (2, "4.1")):
        cluster = read(TO_2_3, features.format(number), version="4.1", broker="transactional.id=t")
        assert cluster.transactions is not None
        assert cluster.transactions.entries["protocol"] == protocol
    plain = read(TO_2_3, features.format(2), version="4.1")
    assert {one.key: one.why for one in plain.ignored}["transaction.version"] is WhyIgnored.NO_TRANSACTIONS
