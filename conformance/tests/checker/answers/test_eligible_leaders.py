"""What the doctor tells operators of clusters with eligible leader replicas, and of coordinators' topics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.checker.answers.expert import OnlyRecorded
from isrcheck.checker.answers.answer import Answer, Exposure, groups
from isrcheck.checker.answers.examining import Asking, examine
from isrcheck.checker.answers.findings import without_search
from isrcheck.checker.answers.questions import Case
from isrcheck.checker.answers.report import OPERATIONS, answer_lines, as_object, now_of, operator_rows
from isrcheck.checker.cluster.formats.registry import read_clusters
from isrcheck.checker.cluster.releases import Role
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import named

DURABLE = "min.insync.replicas=2\nreplication.factor=3\n"
HEADER = "Topic: t\tTopicId: x\tPartitionCount: {}\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
LINE = "\tTopic: t\tPartition: {}\tLeader: 1\tReplicas: {}\tIsr: 1\tElr: {}\tLastKnownElr: \n"


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def answer(version: str = "4.4", described: str = "", **files: str) -> Answer:
    """The answer for a topic, without a search."""
    roles = {"producer": Role.PRODUCER, "consumer": Role.CONSUMER, "broker": Role.BROKER, "topic": Role.TOPIC}
    if not described:
        files.setdefault("topic", DURABLE)
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("describe").write_text(described, encoding="utf-8")
    reading = read_clusters([(roles[name], Path(name)) for name in files], version, ["describe"] if described else [])
    (cluster,) = reading.clusters
    return examine(cluster, Asking(OnlyRecorded()))


@pytest.mark.parametrize(
    ("version", "broker", "is_told"),
    [
        ("3.9", "", False),
        ("4.0.1", "", False),
        ("4.0.1", "eligible.leader.replicas.version=1\n", True),
        ("4.1.1", "", True),
        ("4.2", "", True),
        ("4.3", "", True),
        ("4.4", "", True),
        ("4.4", "eligible.leader.replicas.version=0\n", False),
    ],
)
def test_acts_that_endanger_eligible_leader_replicas_are_told(version: str, broker: str, *, is_told: bool) -> None:
    found = answer(version, broker=f"process.roles=broker\n{broker}")
    assert list(operator_rows(found.case, found.cluster)) == ([("Beware", OPERATIONS)] if is_told else [])
    lines = answer_lines(found, now_of([found.cluster]), details=False)
    assert sum("a reassignment to fewer replicas" in line for line in lines) == is_told
    assert found.why_undecidable is None, "every one of these releases is modelled"


def in_json(found: Answer) -> dict[str, Any]:
    """The answer as --json has it."""
    (content,) = as_object([found], now_of([found.cluster]), ())["answers"]
    return content


def test_acts_that_endanger_eligible_leader_replicas_are_in_the_object() -> None:
    assert in_json(answer("4.4"))["beware"] == [OPERATIONS]
    assert in_json(answer("3.9"))["beware"] == []
    text = HEADER.format(2) + LINE.format(0, "1", "") + LINE.format(1, "1,2,3", "")
    operations, unequal = in_json(answer(described=text))["beware"]
    assert (operations, unequal.partition(":")[0]) == (OPERATIONS, "t-1")


def test_one_replica_has_no_eligible_leaders() -> None:
    found = answer(topic="replication.factor=1\n")
    assert list(operator_rows(found.case, found.cluster)) == []


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [("1", "1,2,3", "t-1"), ("1,2", "1,2,3", ""), ("1,2,3", "1", ""), ("1,2,3", "1,2,3", "")],
)
def test_a_small_partition_0_takes_the_protection_of_the_others(first: str, second: str, names: str) -> None:
    """The controller compares the ISR of every partition with min(min.insync.replicas, replicas of partition 0)."""
    text = HEADER.format(2) + LINE.format(0, first, "") + LINE.format(1, second, "")
    found = answer(described=text)
    told = [says for label, says in operator_rows(found.case, found.cluster) if not label]
    expected = (
        f"{names}: partition 0 has fewer replicas than min.insync.replicas; the controller replaces"
        " min.insync.replicas by that number of replicas for the whole topic, and keeps no eligible leaders of a"
        " partition whose leader still waits for more replicas"
    )
    assert told == ([expected] if names else [])


def rows(found: Answer, *exposures: Exposure) -> list[str]:
    """The short answer with these defects, without the lines that say nothing of coordinators."""
    lines = answer_lines(replace(found, exposures=exposures), now_of([found.cluster]), details=False)
    return [line.strip() for line in lines if "__" in line]


def test_one_copy_of_the_offsets_of_groups_is_told_to_those_who_have_a_consumer() -> None:
    one, consumer = "offsets.topic.replication.factor=1\n", "isolation.level=read_committed\n"
    says = "offsets.topic.replication.factor=1 lets one broker have the only copy of what groups committed"
    for files, expected in (
        ({"broker": one, "consumer": consumer}, [["Groups", says]]),
        ({"broker": one}, []),
        ({"broker": one.replace("1", "3"), "consumer": consumer}, []),
    ):
        found = answer(producer="acks=all\n", **files)
        lines = answer_lines(found, now_of([found.cluster]), details=False)
        assert [line.split(maxsplit=1) for line in lines if "Groups" in line] == expected


def test_defects_that_lose_records_are_told_of_coordinators_topics() -> None:
    finding = replace(without_search(Word.VIOLATED, ""), property_name="acked_not_lost")
    lost = Exposure(named("missed_demotion"), finding, is_of_disks=False)
    harmless = Exposure(named("stale_record"), replace(finding, property_name="isr_is_complete"), is_of_disks=False)
    found = answer(producer="acks=all\ntransactional.id=t\n", consumer="isolation.level=read_committed\n")
    assert rows(found) == rows(found, harmless) == []
    assert rows(found, lost, harmless) == [
        "Transactions  defect 8.24 can lose records of __transaction_state too: a transaction is undone after its"
        " client heard that it is committed",
        "Groups        defect 8.24 can lose records of __consumer_offsets too: offsets go back after the group heard"
        " that they are committed",
    ]
    assert rows(answer(producer="acks=all\n"), lost) == []
    assert in_json(found)["coordinators"] == {}
    told = in_json(replace(found, exposures=(lost, harmless)))["coordinators"]
    assert {name: says.partition(" can lose ")[2].partition(" too:")[0] for name, says in told.items()} == {
        "transactions": "records of __transaction_state",
        "groups": "records of __consumer_offsets",
    }


def test_without_eligible_leaders_their_defects_are_gone() -> None:
    """No setting of a topic, a producer or a broker avoids them; the library has searched them without the feature."""
    finding = replace(without_search(Word.VIOLATED, ""), property_name="acked_not_lost")
    exposures = [
        Exposure(named(name), finding, is_of_disks=False)
        for name in ("removed_replica_is_elected_empty", "unregistered_broker_stays_eligible")
    ]
    found = replace(answer(), exposures=exposures)
    lines = answer_lines(found, now_of([found.cluster]), details=False)
    avoiding = [line.strip().partition("; ")[0] for line in lines if "avoid" in line]
    assert avoiding == [
        "avoid it with eligible.leader.replicas.version=0, which permits failure 8.10: the last member of the ISR loses"
        " power, and is elected",
        "no single setting avoids it",
    ]


def test_the_minimum_is_changed_while_all_replicas_are_in_sync() -> None:
    """With eligible leader replicas a change of it forgets who may lead."""
    for case, how in (
        (Case("4.3"), "topic, at once, while all replicas are in sync"),
        (Case("4.3", (("ELR", "off"),)), "topic, at once"),
        (Case("3.7"), "topic, at once"),
    ):
        changes = [one for group in groups(case, 1) for one in group if one.spelled == "min.insync.replicas=2"]
        assert [one.how for one in changes] == [how]
