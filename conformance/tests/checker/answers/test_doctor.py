"""`check --config`, `--describe` and `isrcheck doctor`: from Kafka's files to the answer, with answers by a fake."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.checker.answers.fake import LOST_WITH_ACKS_1, MISSED_DEMOTION, Fake, finding, usual
from conformance.tests.support.engine import checking
from isrcheck.checker import cli
from isrcheck.checker.answers import doctor
from isrcheck.checker.answers.answer import MOST_REPLICAS
from isrcheck.checker.answers.doctor import budgets_of, in_words
from isrcheck.checker.answers.findings import inexpressible
from isrcheck.checker.answers.questions import Question, Topic
from isrcheck.checker.reports import folder as reports
from isrcheck.checker.results.verdict import Word
from isrcheck.checker.running.marked_folder import MarkedFolder
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.messages import UsageError

DURABLE = "replication.factor=3\nmin.insync.replicas=2\nacks=all\n"
UNSEARCHED = "8.7e A response in flight carries records of the next epoch"
UNLESS = " unless 2 brokers are lost or all lose power"
ZOOKEEPER = "zookeeper.connect=z:2181\n"
DURABLE_3_9 = "--config t --broker b --kafka-version 3.9"
BROKER = "broker.id=1\nauto.leader.rebalance.enable=false\n"


@pytest.fixture
def fake(monkeypatch):
    one = Fake()
    monkeypatch.setattr(doctor, "answerer_of", lambda options, opening, left: one)
    return one


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys, fake):
    """Run `check` in a folder with the given files; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    check = checking(cli.main, capsys)

    def run(line, **files):
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (tmp_path / name.replace("_", ".")).write_bytes(data)
        return check(*shlex.split(line))

    return run


@pytest.fixture
def ask_json(ask):
    def run(line, **files):
        code, out, err = ask(f"{line} --json", **files)
        assert err == ""
        return code, json.loads(out)

    return run


def labelled(text: str) -> dict[str, list[str]]:
    """The lines after the first one by their labels; a line without one belongs to the label above it."""
    found: dict[str, list[str]] = {}
    label = ""
    for line in text.splitlines()[1:]:
        if not line.strip():
            break
        head = line[2:].split("  ")[0] if not line.startswith("   ") else ""
        label = head or label
        found.setdefault(label, []).append(line[2 + len(head) :].strip())
    return found


# ------------------------------------------------------------------------------------------------------------ one topic


def test_settings_that_allow_a_loss(ask):
    code, text, err = ask("--config t --kafka-version 3.9 --broker b", t=DURABLE.replace("all", "1"), b=BROKER)
    assert (code, err) == (0, "")
    assert text.splitlines()[0] == "Can lose acknowledged records"
    assert labelled(text) == {
        "For": ["Kafka 3.9, 3 replicas, min.insync.replicas=2, acks=1"],
        "Assumed": [
            "KRaft controllers, the metadata.version of 3.9; give zookeeper.connect in a broker's file if it uses"
            " ZooKeeper, or --metadata-version",
            "producers are Java clients of Kafka 3.9, by default with retries=2147483647,"
            " max.in.flight.requests.per.connection=5 (--producer FILE)",
        ],
        "How": [
            "An acknowledged record is lost: the leader fails before broker 1 has it; your settings allow this (acks=1)"
        ],
        "Takes": ["1 crash, 1 election, in 3 steps"],
        "Change": [
            "acks=all (producers, with a restart): then no loss is found, searched to the end",
            "costs writes with 0, 1, 2 brokers down: yes, yes, yes before, yes, yes, no after",
            "known defects of this release that may lose a record then: 8.7d, 8.24, 8.25",
        ],
        "Power": [
            "of one broker: loses no acknowledged record, searched to the end",
            "of all brokers: can lose an acknowledged record; no release claims to survive it (8.14)",
        ],
        "Disk": ["of one broker: loses no acknowledged record, searched to the end"],
        "Resends": ["a record can appear twice; your settings allow this"],
        "Source": ["recorded, searched to the end on 2026-11-24; --fresh searches again"],
        "Unknown": [f"known defects of this release that cannot be searched: {UNSEARCHED}"],
    }
    assert "PERMITTED" not in text


@pytest.mark.parametrize(
    ("release", "settings", "change", "numbers"),
    [
        ("2.3", "acks=1", "acks=all", "8.24"),
        ("4.1", "acks=1", "acks=all", "8.24, 8.25, 8.27, 8.29, 8.31, 8.33, 8.35, 8.44"),
        ("4.1", "acks=all\nunclean.leader.election.enable=true", "unclean.leader.election.enable=false", None),
    ],
)
def test_a_change_says_which_known_defects_matter_with_it(ask, fake, release, settings, change, numbers):
    """With acks=1 the defects that lose an acknowledged record break no promise; with acks=all they do."""
    is_lost = {"acks=all": lambda case: case.acks != "all"}.get(change, lambda case: case.unclean_election)

    def rule(case, question):
        if question.topic is Topic.LOSS and is_lost(case):
            return finding(Word.PERMITTED, LOST_WITH_ACKS_1)
        return finding(Word.HOLDS) if question.topic is Topic.LOSS else usual(case, question)

    fake.rule = rule
    topic = f"replication.factor=3\nmin.insync.replicas=2\n{settings}\n"
    _, text, _ = ask(f"--config t --kafka-version {release}", t=topic)
    lines = labelled(text)["Change"]
    assert lines[0].startswith(f"{change} (")
    says = [line for line in lines if line.startswith("known defects")]
    assert says == ([f"known defects of this release that may lose a record then: {numbers}"] if numbers else [])


def test_a_question_that_is_not_searched_says_why(ask, fake):
    fake.says(inexpressible("no model has it"), Topic.ORDER)
    _, text, _ = ask("--config t --kafka-version 3.9 --broker b --details", t=DURABLE, b=BROKER)
    assert labelled(text)["Resends"] == ["order not searched: no model has it"]
    assert [line.split() for line in text.splitlines() if line.startswith("  order ")] == [["order", "n/a", "-", "-"]]


def test_a_known_defect_of_the_release(ask):
    code, text, _ = ask("--config t --kafka-version 3.9", t=DURABLE)
    assert code == 12
    assert text.splitlines()[0] == f"Keeps its promises, but for 1 known defect of this release, and{UNLESS}"
    found = labelled(text)
    assert found["Searched"] == ["no acknowledged record is lost, searched to the end: a broker crashes"]
    assert found["Brokers"] == [
        "all in sync, with 0, 1, 2 down, a write is acknowledged: yes, yes, no;"
        " a committed record is read: yes, yes, yes",
        "at worst, with 2 replicas in sync: a committed record survives the loss of 1 broker",
    ]
    assert found["Defect"] == [
        "8.24 A leader that misses its own demotion acknowledges what others have truncated",
        "takes 3 elections (1 preferred), 3 late messages, in 11 steps",
        "avoid it with min.insync.replicas=3 (topic, at once; no write with 1 broker down)"
        " or auto.leader.rebalance.enable=false (controllers, with a restart)",
    ]


def test_the_first_line_counts_the_defects_that_no_search_decided(ask, fake):
    """Of four replicas the searches of 8.7d and 8.25 end too early: a first line with one defect alone hides both."""

    fake.says(finding(Word.NO_VIOLATION, judged=10), "stale_diverging_response", "stale_record")
    code, text, _ = ask("--config t --kafka-version 3.9", t=DURABLE)
    assert code == 12
    assert (
        text.splitlines()[0]
        == f"Keeps its promises, but for 1 known defect of this release, and{UNLESS}; 2 more undecided"
    )
    why = "searched to depth 10 only, and its known history takes 23 steps"
    assert labelled(text)["Undecided"] == [f"8.7d, 8.25: {why}"]


@pytest.mark.parametrize(
    ("format_version", "release", "says"),
    [
        ("0.10.2", "2.3", "Nothing but an upgrade helps: the record is lost with acks=all and min.insync.replicas equal"
         " to the number of replicas. From 0.11 on, the brokers need inter.broker.protocol.version=0.11.0 and the topic"
         " message.format.version=0.11.0, or followers truncate as before."),
        ("0.10.2", "0.10.2", "no single setting avoids it; repaired in 0.11"),
    ],
)  # fmt: skip
def test_a_release_that_has_a_repair_is_not_told_to_upgrade_to_it(ask, fake, format_version, release, says):
    """Where an old record format keeps the repair from working, the advice says what is to be done."""

    fake.says(finding(Word.VIOLATED, MISSED_DEMOTION), "truncation_to_high_watermark")
    topic = f"{DURABLE}message.format.version={format_version}\nunclean.leader.election.enable=false\n"
    _, text, _ = ask(f"--config t --broker b --kafka-version {release}", t=topic, b=BROKER)
    defect = labelled(text)["Defect"]
    assert defect[0] == "8.1 A follower truncates to its high watermark"
    assert defect[2] == says


def test_nothing_is_found(ask):
    code, text, _ = ask(DURABLE_3_9, t=DURABLE, b=BROKER)
    assert (code, text.splitlines()[0]) == (0, f"Keeps its promises within these bounds,{UNLESS}")
    assert "Defect" not in text


def test_what_was_searched_to_a_depth_says_so(ask, fake):
    fake.says(finding(Word.NO_VIOLATION, judged=24), Topic.LOSS)
    code, text, _ = ask(DURABLE_3_9, t=DURABLE, b=BROKER)
    assert (code, text.splitlines()[0]) == (0, f"Keeps its promises within these bounds,{UNLESS}")
    assert labelled(text)["Searched"] == ["no acknowledged record is lost, searched to depth 24: a broker crashes"]
    assert labelled(text)["Source"] == [
        "recorded, searched, but not everything to the end (--details), on 2026-11-24; --fresh searches again"
    ]


def test_fewer_steps_than_a_failure_takes_say_nothing_about_it(ask, fake):
    fake.rule = lambda case, question: finding(Word.NO_VIOLATION, judged=14)
    code, text, _ = ask(DURABLE_3_9, t=DURABLE, b=BROKER)
    assert code == 3
    why = "searched to depth 14 only, and its known history takes 23 steps"
    assert text.splitlines()[0] == (
        f"Cannot tell, because exposure to known defects of this release is undecided (8.7d): {why}"
    )
    shown = "8.7d An old answer truncates a follower that has joined the ISR (KAFKA-18991; repaired in 3.9.1)"
    assert labelled(text)["Undecided"] == [f"{shown}: {why}"]


def test_a_change_after_which_nothing_is_written_is_no_advice(ask, fake):
    """Without writes nothing is lost."""
    fake.rule = lambda case, question: (
        finding(Word.UNREACHABLE)
        if question.topic is Topic.WRITES and case.acks == "all" and case.min_insync_replicas == 1
        else finding(Word.HOLDS)
        if question.topic is Topic.LOSS and case.acks == "all"
        else usual(case, question)
    )
    _, text, _ = ask("--config t --kafka-version 3.9", t=DURABLE.replace("all", "1").replace("=2", "=1"))
    assert labelled(text)["Change"][0].startswith("acks=all and min.insync.replicas=2 (")


@pytest.mark.parametrize("text", ["crashes=-1", "crashes=128"])
def test_a_budget_out_of_its_range_is_refused(text):
    with pytest.raises(UsageError, match="crashes"):
        budgets_of([text])


def test_a_topic_without_acknowledgements_is_broken(ask, fake):
    for version, code, line in (
        (
            "3.6",
            12,
            "Broken: no acks=all write can be acknowledged, because min.insync.replicas=3 is more than 2 replicas",
        ),
        ("3.7", 0, f"Keeps its promises within these bounds,{UNLESS}"),
    ):
        topic = DURABLE.replace("replicas=2", "replicas=3").replace("factor=3", "factor=2")
        got, text, _ = ask(f"--config t --broker b --kafka-version {version}", t=topic, b=BROKER)
        assert (got, text.splitlines()[0]) == (code, line)
        assert ("Change" in labelled(text)) == (code == 12)
    # acks=1 asks for no ISR.
    got, text, _ = ask("--config t --broker b --kafka-version 3.6", t=topic.replace("all", "1"), b=BROKER)
    assert (got, text.splitlines()[0]) == (0, "Can lose acknowledged records")


def test_a_loss_that_the_settings_do_not_allow_is_a_broken_promise(ask, fake):
    fake.says(finding(Word.VIOLATED, MISSED_DEMOTION), Topic.LOSS)
    code, text, _ = ask(DURABLE_3_9, t=DURABLE, b=BROKER)
    assert (code, text.splitlines()[0]) == (12, "Can lose acknowledged records")
    assert "your settings allow this" not in text
    assert labelled(text)["Change"] == ["no one or two settings prevent it"]


@pytest.mark.parametrize(
    ("topic", "line"),
    [
        (Topic.LOSS, "Cannot tell, because the time limit is reached; nothing was found to depth 9"),
        (
            Topic.DEFECT,
            "Cannot tell, because exposure to known defects of this release is undecided"
            " (8.7d, 8.22b, 8.22c, 8.22d, 8.24, 8.25, 12.8): the time limit is reached; nothing was found to "
            "depth 9",
        ),
        (
            Topic.ORDER,
            "Cannot tell, because what clients are promised about order is undecided: the time limit is reached;"
            " nothing was found to depth 9",
        ),
    ],
)
def test_what_is_undecided_never_reads_like_a_pass(ask, fake, topic, line):
    fake.says(finding(Word.UNDECIDED, stopped="seconds", judged=9), topic, otherwise=finding(Word.HOLDS))
    code, text, _ = ask(DURABLE_3_9, t=DURABLE, b=BROKER)
    assert (code, text.splitlines()[0]) == (3, line)
    assert "Keeps" not in text


def test_a_promise_that_no_known_defect_explains(ask, fake):
    fake.rule = lambda case, question: finding(Word.VIOLATED if question.topic is Topic.ORDER else Word.HOLDS)
    code, text, _ = ask(DURABLE_3_9, t=DURABLE, b=BROKER)
    assert code == 3
    assert text.splitlines()[0].startswith(
        "Cannot tell, because acked_not_lost can fail, which no known defect of this"
    )


def test_what_the_model_refuses_is_no_pass(ask, fake):
    """A known failure that cannot be searched is named; a change with which it cannot be searched avoids nothing."""

    def rule(case, question):
        if question.name in ("stale_record", "missed_demotion") and case.min_insync_replicas == 3:
            raise UsageError("the model refuses it")
        if question.name == "stale_diverging_response":
            raise UsageError("the model refuses it")
        return usual(case, question)

    fake.rule = rule
    _, text, _ = ask("--config t --kafka-version 3.9", t=DURABLE)
    assert labelled(text)["Unknown"] == [
        f"known defects of this release that cannot be searched: {UNSEARCHED},"
        " 8.7d An old answer truncates a follower that has joined the ISR"
    ]
    avoids = "avoid it with auto.leader.rebalance.enable=false (controllers, with a restart)"
    assert labelled(text)["Defect"][-1] == avoids
    fake.rule = lambda case, question: (_ for _ in ()).throw(UsageError("the model refuses it"))
    code, text, _ = ask("--config t --kafka-version 3.9")
    assert (code, text.splitlines()[0]) == (3, "Cannot tell, because the model refuses it")


def test_defects_that_need_a_disk_are_said_beside(ask, fake):
    fake.says(finding(Word.PERMITTED), "last_replica_standing")
    code, text, _ = ask(DURABLE_3_9, t=DURABLE, b=BROKER)
    assert (code, text.splitlines()[0]) == (0, f"Keeps its promises within these bounds,{UNLESS}")
    assert "8.10 The last member of the ISR loses power, and is elected with a shorter log" in text


def test_a_loss_of_a_disk_that_cannot_be_searched_is_said_beside_the_others(ask, fake):
    """8.9 with ZooKeeper: the model judges a lost disk before the broker is back."""

    def rule(case, question):
        if question.name == "rebooted_follower_joins_the_isr":
            return finding(Word.NOT_APPLICABLE)
        return finding(Word.PERMITTED) if question.topic is Topic.DISK else usual(case, question)

    fake.rule = rule
    broker = "zookeeper.connect=z:2181\n"
    _, text, _ = ask(DURABLE_3_9, t=DURABLE, b=broker)
    assert labelled(text)["Disk"] == [
        "of one broker: can lose an acknowledged record; this release does not claim to survive it",
        "known defects that are not searched: 8.9 A follower that has lost its disk joins the ISR by a request from"
        " before",
    ]
    assert labelled(text)["Unknown"] == [f"known defects of this release that cannot be searched: {UNSEARCHED}"]


@pytest.mark.parametrize(("release", "repaired"), [("2.7", "2.7.2"), ("2.8", "2.8.1"), ("2.8.0", "2.8.1")])
def test_the_nearest_release_with_a_repair_is_named(ask, fake, release, repaired):
    """8.7a is repaired in 2.7.2, 2.8.1 and 3.0."""

    fake.says(finding(Word.VIOLATED, MISSED_DEMOTION), "diverging_fetch_counts")
    _, text, _ = ask(f"--config t --broker b --kafka-version {release}", t=DURABLE, b=BROKER)
    assert labelled(text)["Defect"][2] == f"no single setting avoids it; repaired in {repaired}"


@pytest.mark.parametrize(
    ("release", "controller", "whose", "repaired"),
    [("3.9", "", "controllers", "3.9.1"), ("4.0", "", "controllers", "4.0.1"), ("2.8", ZOOKEEPER, "brokers", "3.9.1")],
)
def test_a_repair_is_named_beside_a_setting(ask, fake, release, controller, whose, repaired):
    """8.7d: a patch release repairs it, and an operator finds it under the number of its report."""

    def rule(case, question):
        is_shown = question.name == "stale_diverging_response" and case.leader_rebalance
        return finding(Word.VIOLATED, MISSED_DEMOTION) if is_shown else finding(Word.HOLDS)

    fake.rule = rule
    _, text, _ = ask(
        f"--config t --broker b --kafka-version {release} --details", t=DURABLE, b=f"broker.id=1\n{controller}"
    )
    assert labelled(text)["Defect"][2:] == [
        f"avoid it with auto.leader.rebalance.enable=false ({whose}, with a restart); repaired in {repaired}",
        "known as KAFKA-18991",
        "advice: Upgrade to 3.9.1, 4.0.1 or 4.1.",
    ]


def test_what_transactions_do_not_keep_is_said_beside_what_was_searched(ask, fake):
    """8.17d needs a fault that the question has not; the searches take the coordinators' log to lose nothing."""

    fake.says(
        finding(Word.VIOLATED, MISSED_DEMOTION), "late_marker_ends_the_next_transaction", otherwise=finding(Word.HOLDS)
    )
    topic = f"{DURABLE}transactional.id=t\n"
    for line, only_copy in (
        ("", None),
        ("transaction.state.log.min.isr=1", "transaction.state.log.min.isr=1"),
        ("transaction.state.log.replication.factor=1", "transaction.state.log.replication.factor=1"),
    ):
        _, text, _ = ask("--config t --broker b --kafka-version 4.1", t=topic, b=f"{BROKER}{line}\n")
        first, *more = labelled(text)["Transactions"]
        assert first == (
            "no promise breaks, searched to the end, but for known defects of this release:"
            " 8.17d A late copy of a marker ends the next transaction"
        )
        log = "the searches take the coordinators' log to lose nothing"
        says = f"{only_copy} lets one broker have the only copy of what committed: {log}"
        assert more == ([] if only_copy is None else [says])


def test_partitions_with_one_copy_now_and_with_fewer_replicas_are_named(ask):
    topics = (
        "Topic: a\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=1\n"
        "\tTopic: a\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1\n"
        "\tTopic: a\tPartition: 1\tLeader: 2\tReplicas: 2,3\tIsr: 2,3\n"
    )
    _, text, _ = ask(
        "--describe topics --broker b --producer p --kafka-version 2.4", topics=topics, b=BROKER, p="acks=all\n"
    )
    found = labelled(text)
    assert found["Now"] == ["a-0 has one replica in sync: new records are acknowledged with one copy"]
    assert found["Files"] == ["partitions of a have 2 to 3 replicas: the answer is for the fewest (a-1)"]


def test_defects_that_lose_records_come_first(ask, fake):
    """8.22b and 8.22c have the smaller numbers, and break other promises."""

    def rule(case, question):
        if question.topic is not Topic.DEFECT:
            return finding(Word.HOLDS)
        found = finding(Word.VIOLATED, MISSED_DEMOTION)
        return found if question.name == "missed_demotion" else replace(found, property_name="no_duplicates")

    fake.rule = rule
    _, text, _ = ask("--topic t --producer p --kafka-version 4.0", t=DURABLE, p="acks=all\n")
    defects = [line.split()[0] for line in labelled(text)["Defect"]]
    assert defects[0] == "8.24"
    assert {"8.22b", "8.22c"} <= set(defects[1:])


def test_the_progress_speaks_of_known_defects_by_number():
    assert in_words(Question(Topic.DEFECT, name="missed_demotion")) == "known defect 8.24"
    assert in_words(Question(Topic.WRITES, 1)) == "writes with 1 broker down"
    assert in_words(Question(Topic.LOSS)) == "lost records"
    assert in_words(Question(Topic.ORDER)) == "order"


def test_fifteen_lines_are_enough(ask, fake):
    fake.says(finding(Word.VIOLATED, MISSED_DEMOTION), Topic.DEFECT, otherwise=finding(Word.HOLDS))
    code, text, _ = ask("--config t --kafka-version 1.0", t=f"{DURABLE}enable.idempotence=true\n")
    lines = text.splitlines()
    assert code == 12
    assert lines[0].startswith("Keeps its promises, but for ")
    assert len(lines) <= 16 + len(labelled(text)["Assumed"])
    assert any("more known defects (" in line for line in lines)
    assert len(ask("--config t --kafka-version 1.0 --details")[1].splitlines()) > 60


def test_defects_without_a_line_of_their_own_have_their_label(ask, fake, monkeypatch):
    """Else their number reads like a part of the line above it."""
    monkeypatch.setattr("isrcheck.checker.answers.report.MOST_LINES", 8)
    fake.says(finding(Word.VIOLATED, MISSED_DEMOTION), Topic.DEFECT)
    _, text, _ = ask("--topic t --producer p --kafka-version 4.1", t=DURABLE, p="acks=all\n")
    assert labelled(text)["Defect"] == [
        "15 known defects (8.22b, 8.22c, 8.22d, 8.24, 8.25, 8.27, 8.28, 8.29, 8.31, 8.32, 8.33, 8.35, 8.36, 8.44,"
        " 12.8); --details shows all"
    ]


# ------------------------------------------------------------------------------------------- what the files do not tell


ELR_ASSUMED = (
    "eligible leader replicas, which a cluster has that was created with 4.1 or newer, or upgraded with kafka-features"
    " upgrade --release-version; give the output of kafka-features describe, or eligible.leader.replicas.version=0 in a"
    " broker's file if they are off"
)


def test_eligible_leader_replicas_are_assumed_only_if_nothing_is_said_of_them(ask):
    _, text, _ = ask("--config t --kafka-version 4.1", t="min.insync.replicas=2\n")
    assert ELR_ASSUMED in labelled(text)["Assumed"]
    for value in (0, 1):
        files = {"t": "min.insync.replicas=2\n", "b": f"eligible.leader.replicas.version={value}\n"}
        _, text, _ = ask("--topic t --broker b --kafka-version 4.1", **files)
        assert ELR_ASSUMED not in labelled(text)["Assumed"]
    _, text, _ = ask("--config t --kafka-version 4.0", t="min.insync.replicas=2\n")
    assert ELR_ASSUMED not in labelled(text)["Assumed"]


def test_a_misspelt_setting_is_named_without_details(ask):
    """With min.insync.replicas=1, its default, the answer is for another topic than the file's author has in mind."""
    misspelt = "Kafka 3.9 has no such topic setting; did you mean min.insync.replicas?"
    _, text, _ = ask("--config t --kafka-version 3.9", t="replication.factor=3\nmin.insync.replica=2\nretention.m=1\n")
    assert labelled(text)["Ignored"] == [
        f"min.insync.replica=2 (t:2): {misspelt}",
        "1 setting unknown to this Kafka: retention.m",
    ]
    described = "".join(
        f"Topic: {name}\tPartitionCount: 1\tReplicationFactor: {count}\tConfigs: \n" for name, count in ("u3", "v2")
    )
    _, text, _ = ask("--describe d --topic t --kafka-version 3.9", d=described, t="min.insync.replica=2\n")
    assert text.splitlines()[2:3] == [f"  Ignored: min.insync.replica=2 (t:1): {misspelt}"]


def test_what_the_answer_leaves_out_is_named_without_details(ask):
    _, text, _ = ask(
        "--config t --kafka-version 3.9",
        t="replication.factor=3\ncleanup.policy=compact\nretention.ms=1\na.b=1\nlocal.retention.byte=1\n",
    )
    assert labelled(text)["Ignored"] == [
        "cleanup.policy=compact (t:2): compaction is not modelled: the answer is for a log that keeps every record",
        "2 settings unknown to this Kafka: a.b, local.retention.byte",
    ]
    assert "Ignored" not in labelled(ask("--config t --kafka-version 3.9", t="cleanup.policy=delete\nflush.ms=7\n")[1])


def test_a_reassignment_is_told_with_what_the_answer_is_about(ask):
    """Of six replicas three leave: with three brokers down nothing is written."""
    topics = (
        "Topic: a\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 6\tConfigs: min.insync.replicas=2\n"
        "\tTopic: a\tPartition: 0\tLeader: 1\tReplicas: 4,5,6,1,2,3\tIsr: 1,2,3\tAdding Replicas: 4,5,6"
        "\tRemoving Replicas: 1,2,3\tElr: \tLastKnownElr: \n"
    )
    _, text, _ = ask("--describe topics --producer p --kafka-version 3.9", topics=topics, p="acks=all\n")
    assert labelled(text)["Files"] == [
        "a-0 is being reassigned (Adding Replicas 4,5,6, Removing Replicas 1,2,3):"
        " the answer is for the replicas after it, 3; it has 6 now, 3 of them not yet in place"
    ]
    assert labelled(text)["For"] == ["topic a, Kafka 3.9, 3 replicas, min.insync.replicas=2, acks=all"]
    assert labelled(text)["Brokers"] == [
        "all in sync, with 0, 1, 2 down, a write is acknowledged: yes, yes, no;"
        " a committed record is read: yes, yes, yes",
        "at worst, with 2 replicas in sync: a committed record survives the loss of 1 broker",
    ]


def test_no_defects_are_left_out_where_there_are_none(ask, fake):
    """Lines about ignored settings can fill the room for defects; "and 0 more known defects ()" was said then."""
    fake.rule = lambda case, question: finding(Word.HOLDS)
    mechanisms = "cleanup.policy=compact\nlog.cleanup.policy=compact\nremote.storage.enable=true\n"
    typos = "".join(f"min.insync.replica{letter}=2\n" for letter in "abcdefgh")
    _, text, _ = ask("--config t --kafka-version 3.9", t=f"replication.factor=3\n{mechanisms}{typos}")
    assert len(labelled(text)["Ignored"]) == 11
    assert "more known defects" not in text


def test_a_minimum_above_the_replicas_says_what_it_counts_as(ask):
    _, text, _ = ask("--config t --kafka-version 4.0", t="replication.factor=2\nmin.insync.replicas=3\n")
    assert labelled(text)["For"] == [
        "Kafka 4.0, 2 replicas, min.insync.replicas=3 (counts as 2, the number of replicas), acks=all"
    ]


def test_a_single_file_says_what_it_lacks(ask):
    _, text, _ = ask("--config t", t="min.insync.replicas=2\ncleanup.policy=delete\n")
    assert labelled(text)["Assumed"] == [
        "Kafka 4.4 (not given: the newest release), the metadata.version of 4.4; give --kafka-version,"
        " or --metadata-version",
        ELR_ASSUMED,
        "producers are Java clients of Kafka 4.4, by default with acks=all, enable.idempotence=true (--producer FILE)",
        "Kafka's defaults of brokers (unclean.leader.election.enable=false, auto.leader.rebalance.enable=true;"
        " --broker FILE)",
    ]
    _, text, _ = ask("--config p --kafka-version 3.9", p="acks=1\nlinger.ms=5\n")
    assert labelled(text)["Assumed"][1:] == [
        "producers are Java clients of Kafka 3.9, by default with retries=2147483647,"
        " max.in.flight.requests.per.connection=5 (--producer FILE)",
        "Kafka's defaults of the topic (min.insync.replicas=1; --topic FILE) and of brokers"
        " (unclean.leader.election.enable=false, auto.leader.rebalance.enable=true; --broker FILE)",
    ]


@pytest.mark.parametrize("release", ["2.8", "4.1"])
@pytest.mark.parametrize("broker", ["", "auto.leader.rebalance.enable=false\n"])
def test_a_topic_whose_replicas_are_not_given_has_no_answer(ask, fake, release, broker):
    """Kafka's default, one replica, says nothing of a topic that was created with three: with one, 4.1 would keep every
    promise, and 2.8 would be broken."""
    files = {"t": "min.insync.replicas=2\n", "p": "acks=all\n"} | ({"b": broker} if broker else {})
    given = f"--topic t --producer p {'--broker b' if broker else ''} --kafka-version {release}"
    code, text, _ = ask(given, **files)
    assert code == 3
    assert text.splitlines()[0] == (
        "Cannot tell, because the number of the topic's replicas is not given;"
        " add the output of kafka-topics --describe, or replication.factor in a file"
    )
    assert labelled(text)["For"] == [f"Kafka {release}, an unknown number of replicas, min.insync.replicas=2, acks=all"]
    assert fake.asked == []


def test_a_consumers_file_alone_decides_nothing(ask, fake):
    code, text, _ = ask("--consumer c --kafka-version 3.9", c="group.id=g\nisolation.level=read_committed\n")
    assert code == 3
    assert text.splitlines()[0] == (
        "Cannot tell, because a consumer's settings alone decide nothing about records;"
        " give the topic's and the producers' files"
    )
    assert fake.asked == []


def test_more_replicas_than_the_model_has_are_not_searched(ask, fake):
    assert MODEL.entries["replicas"].most == MOST_REPLICAS
    code, text, _ = ask("--config t --kafka-version 3.9", t="replication.factor=9\nacks=all\n")
    assert (code, text.splitlines()[0]) == (3, "Cannot tell, because 9 replicas are more than the model supports (7)")
    assert fake.asked == []


def test_standard_input_is_a_description(ask, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(describe("a", 2).encode())))
    _, text, _ = ask("doctor - t --kafka-version 3.9", t="acks=all\nlinger.ms=1\n")
    assert labelled(text)["For"] == ["topic a, Kafka 3.9, 3 replicas, min.insync.replicas=1, acks=all"]


def test_a_release_that_is_not_modelled_has_the_answer_of_the_nearest(ask, ask_json):
    code, text, _ = ask("--config t --broker b --kafka-version 4.6", t=DURABLE, b="node.id=1\n")
    assert code == 3
    assert text.splitlines()[0] == (
        "Cannot tell, because the replication protocol of Kafka 4.6 is not modelled yet; 4.5 is the newest that is"
    )
    assert labelled(text)["Nearest"] == [
        f"generation 4.3 is the nearest: Keeps its promises, but for 1 known defect of this release, and{UNLESS}"
    ]
    _, content = ask_json("--config t --broker b --kafka-version 4.6")
    assert (content["kind"], content["verdict"], content["answers"][0]["nearest"]) == (
        "unknown",
        "UNDECIDED",
        "defects",
    )


# ----------------------------------------------------------------------------------------------------- what to change


def test_one_replica_can_lose_everything_with_one_broker(ask, ask_json):
    """Nothing is found by crashes and elections; the loss of the only copy counts, and comes first in a table."""
    topic = "replication.factor=1\nacks=all\n"
    code, text, _ = ask("--config t --broker b --kafka-version 4.1", t=topic, b=BROKER)
    assert (code, text.splitlines()[0]) == (0, "Can lose acknowledged records: the only replica has the only copy")
    lines = labelled(text)
    assert lines["How"] == [
        "An acknowledged record is lost: the only replica is lost for good, and nobody else has it;"
        " your settings allow this"
    ]
    assert lines["Takes"] == ["1 lost broker"]
    assert lines["Brokers"] == ["with 1 down, no write is acknowledged, and no record is read"]
    assert lines["Change"][0].startswith("min.insync.replicas=2 and replication.factor=2 (topic, at once, while ")
    assert ask("--config t --broker b --kafka-version 4.1 --fail-on can-lose")[0] == 12
    assert ask("--config t --broker b --kafka-version 4.1 --strict")[0] == 12
    code, content = ask_json("--config t --broker b --kafka-version 4.1")
    assert (code, content["kind"], content["verdict"]) == (0, "can-lose", "PERMITTED")
    (answer,) = content["answers"]
    assert (answer["tolerated_losses_of_brokers"], answer["is_allowed"]) == (0, True)
    assert answer["how"] == "An acknowledged record is lost: the only replica is lost for good, and nobody else has it"


@pytest.mark.parametrize("acks", ["0", "1"])
def test_one_replica_can_lose_everything_whatever_acks_is(ask_json, fake, acks):
    """Without acks=all nobody asks how many lost brokers a record survives; the only copy is the only copy."""

    def rule(case, question):
        is_alone = case.replication_factor == 1 and question.topic is Topic.LOSS
        return finding(Word.HOLDS) if is_alone else usual(case, question)

    fake.rule = rule
    _, content = ask_json(
        "--config t --broker b --kafka-version 2.8", t=f"replication.factor=1\nacks={acks}\n", b=BROKER
    )
    assert content["headline"] == "Can lose acknowledged records: the only replica has the only copy"
    assert (content["kind"], content["verdict"]) == ("can-lose", "PERMITTED")
    assert content["answers"][0]["tolerated_losses_of_brokers"] == 0
    assert content["answers"][0]["changes"] == [], "one replica stays one copy, whatever else is changed"


def test_a_minimum_of_one_is_worse_than_two(ask):
    """The ISR may have shrunk to the leader, which then acknowledges alone."""
    for least, first, worst in (
        (1, "Can lose acknowledged records: min.insync.replicas=1 lets one broker have the only copy", "no broker"),
        (2, f"Keeps its promises within these bounds,{UNLESS}", "1 broker"),
        (3, f"Keeps its promises within these bounds,{UNLESS.replace('2', '3')}", "2 brokers"),
    ):
        topic = f"replication.factor=3\nmin.insync.replicas={least}\nacks=all\n"
        _, text, _ = ask(DURABLE_3_9, t=topic, b=BROKER)
        assert text.splitlines()[0] == first
        replicas = "1 replica" if least == 1 else f"{least} replicas"
        says = f"at worst, with {replicas} in sync: a committed record survives the loss of {worst}"
        assert labelled(text)["Brokers"][-1] == says


def test_how_many_brokers_can_be_lost_has_to_be_known(ask, fake):
    fake.says(finding(Word.UNDECIDED, stopped="seconds"), Topic.SURVIVES)
    code, text, _ = ask(DURABLE_3_9, t=DURABLE, b=BROKER)
    first = "Cannot tell, because how many brokers can be lost is undecided: the time limit is reached"
    assert (code, text.splitlines()[0]) == (3, f"{first}; nothing was found to depth 20")


def test_the_loss_of_power_of_one_broker_comes_before_that_of_all(ask, fake):
    fake.says(finding(Word.PERMITTED), Topic.POWER)
    _, text, _ = ask(DURABLE_3_9, t=DURABLE, b=BROKER)
    assert (
        text.splitlines()[0] == "Keeps its promises within these bounds, unless 2 brokers are lost or one loses power"
    )
    assert labelled(text)["Power"] == [
        "of one broker: can lose an acknowledged record; this release does not claim to survive it",
        "of all brokers: can lose an acknowledged record; no release claims to survive it (8.14)",
    ]


def test_the_smallest_change_comes_first_and_ties_are_all_shown(ask, fake):
    """Clients before topics before brokers, at once before a restart, one setting before two."""

    def rule(case, question):
        if question.topic is not Topic.LOSS:
            return usual(case, question)
        is_safe = case.acks == "all" and (case.min_insync_replicas >= 3 or not case.unclean_election)
        return finding(Word.HOLDS) if is_safe else finding(Word.PERMITTED, LOST_WITH_ACKS_1)

    fake.rule = rule
    topic = "replication.factor=3\nmin.insync.replicas=2\nunclean.leader.election.enable=true\nacks=1\n"
    _, text, _ = ask(DURABLE_3_9, t=topic, b=BROKER)
    assert [line for line in labelled(text)["Change"] if not line.startswith(("costs", "known defects"))] == [
        "acks=all and unclean.leader.election.enable=false (producers, with a restart; topic, at once):"
        " then no loss is found, searched to the end",
        "acks=all and min.insync.replicas=3 (producers, with a restart; topic, at once):"
        " then no loss is found, searched to the end",
    ]
    asked = [(case, question) for case, question in fake.asked if question.topic is Topic.LOSS]
    assert len(asked) == len(set(asked))


def test_min_insync_replicas_above_the_replicas_is_no_advice(ask, fake):
    fake.rule = lambda case, question: (
        usual(case, question)
        if question.topic in (Topic.WRITES, Topic.SURVIVES)
        else finding(Word.PERMITTED if question.topic is Topic.LOSS and case.min_insync_replicas < 3 else Word.HOLDS)
    )
    _, text, _ = ask("--config t --broker b --kafka-version 3.6", t="replication.factor=2\nacks=all\n", b=BROKER)
    assert labelled(text)["Change"][0].startswith(
        "min.insync.replicas=3 and replication.factor=3 (topic, at once; topic, by a reassignment)"
    )


# ----------------------------------------------------------------------------------------- exit codes, time and Ctrl-C


@pytest.mark.parametrize(
    ("acks", "broker", "fail_on", "code"),
    [
        ("1", BROKER, "can-lose", 12),
        ("1", BROKER, "defects,unknown", 0),
        ("all", "broker.id=1\n", "can-lose", 0),
        ("all", "broker.id=1\n", "defects", 12),
        ("1", "broker.id=1\n", "defects", 0),
        ("all", BROKER, "can-lose,defects,unknown", 0),
    ],
)
def test_fail_on(ask, acks, broker, fail_on, code):
    line = f"--config t --broker b --kafka-version 3.9 --fail-on {fail_on}"
    assert ask(line, t=DURABLE.replace("all", acks), b=broker)[0] == code


def test_fail_on_unknown_and_strict(ask, fake):
    assert ask("--config t --strict --broker b --kafka-version 3.9", t=DURABLE.replace("all", "1"), b=BROKER)[0] == 12
    fake.rule = lambda case, question: finding(Word.UNDECIDED, stopped="seconds", judged=9)
    for fail_on, code in (("unknown", 3), ("can-lose", 0)):
        assert ask(f"--config t --broker b --kafka-version 3.9 --fail-on {fail_on}")[0] == code
    code, _, err = ask("--config t --fail-on loss")
    assert (code, err) == (2, "check: --fail-on loss: 'loss' is not one of can-lose, defects, unknown\n")


def test_ctrl_c_says_what_is_known(ask, fake):
    fake.most = 1
    code, text, err = ask(DURABLE_3_9, t=DURABLE, b=BROKER)
    assert code == 130
    assert "interrupted; this is what was found so far" in err
    assert text.splitlines()[0].startswith(
        "Cannot tell, because exposure to known defects of this release is undecided"
    )
    assert labelled(text)["Searched"] == ["no acknowledged record is lost, searched to the end: a broker crashes"]
    fake.most = 0
    code, text, _ = ask(DURABLE_3_9)
    assert (code, text.splitlines()[0]) == (130, "Cannot tell, because it was interrupted")


def test_the_time_of_an_answer_is_shared_by_its_questions(ask, fake, monkeypatch):
    """The first question gets about half of the time, and none more than what is left."""
    slept = [0.0]
    monotonic = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + slept[0])
    answer = fake.answer

    def sleeping(case, question, limits):
        slept[0] += limits.seconds
        return answer(case, question, limits)

    fake.answer = sleeping
    code, text, _ = ask("--config t --broker b --kafka-version 3.9 --seconds 1000", t=DURABLE, b=BROKER)
    assert code in (0, 3)
    assert sum(fake.seconds) <= 1000
    assert 200 < fake.seconds[0] < 600
    assert text


# ------------------------------------------------------------------------------------------------------ a whole cluster


def describe(topic: str, count: int, *, configs: str = "", leader: str = "1", isr: str = "1,2,3") -> str:
    lines = [f"Topic: {topic}\tTopicId: x\tPartitionCount: {count}\tReplicationFactor: 3\tConfigs: {configs}\n"]
    lines += [
        f"\tTopic: {topic}\tPartition: {number}\tLeader: {leader}\tReplicas: 1,2,3\tIsr: {isr}\tElr: \tLastKnownElr: \n"
        for number in range(count)
    ]
    return "".join(lines)


def test_each_distinct_case_is_answered_once_the_worst_first(ask, fake, ask_json):
    topics = (
        describe("orders", 3, configs="min.insync.replicas=2")
        + describe("payments", 2, configs="min.insync.replicas=2")
        + describe("logs", 4, configs="min.insync.replicas=3,retention.ms=5")
        + describe("metrics", 1, configs="min.insync.replicas=2,retention.ms=7")
    )
    code, text, _ = ask("--describe topics --producer p --kafka-version 3.9", topics=topics, p="acks=all\n")
    assert code == 12
    lines = text.splitlines()
    assert lines[0] == f"Keeps its promises, but for 1 known defect of this release, and{UNLESS}"
    assert lines[2] == "  4 topics with 10 partitions, 2 distinct cases, Kafka 3.9 (--kafka-version)"
    assert [" ".join(line.split()) for line in lines[4:7]] == [
        "answer topics partitions settings change which",
        f"Keeps its promises, but for 1 known defect of this release, and{UNLESS} 3 6 replicas=3 min.insync=2 acks=all"
        " min.insync.replicas=3 or auto.leader.rebalance.enable=false metrics, orders, payments",
        f"Keeps its promises within these bounds,{UNLESS.replace('2', '3')} 1 4 replicas=3 min.insync=3 acks=all"
        " - (searched to the end) logs",
    ]
    assert lines[8:-2] == [
        "  Assumed: the metadata.version of 3.9; give --metadata-version",
        "  Assumed: producers are Java clients of Kafka 3.9, by default with enable.idempotence=true (--producer FILE)",
        "  Assumed: Kafka's defaults of brokers (unclean.leader.election.enable=false,"
        " auto.leader.rebalance.enable=true; --broker FILE)",
    ]
    assert sum(question.topic is Topic.LOSS for _, question in fake.asked) == 2
    _, content = ask_json("--describe topics --producer p --kafka-version 3.9")
    assert [(one["kind"], one["topics"], one["partitions"]) for one in content["answers"]] == [
        ("defects", ["metrics", "orders", "payments"], 6),
        ("keeps", ["logs"], 4),
    ]
    _, text, _ = ask("--describe topics --producer p --kafka-version 3.9 --topic-name logs")
    assert text.splitlines()[0] == f"Keeps its promises within these bounds,{UNLESS.replace('2', '3')}"
    assert labelled(text)["For"][0].startswith("topic logs, Kafka 3.9, ")


def test_of_equally_bad_cases_the_one_with_most_defects_comes_first(ask, fake):
    """With min.insync.replicas=1 nine partitions have one defect; with 2 one partition has all of them."""

    def rule(case, question):
        if question.topic is not Topic.DEFECT:
            return finding(Word.HOLDS)
        is_shown = case.min_insync_replicas == 2 or question.name == "missed_demotion"
        return finding(Word.VIOLATED, MISSED_DEMOTION) if is_shown else finding(Word.HOLDS)

    fake.rule = rule
    topics = describe("many", 9, configs="min.insync.replicas=1")
    topics += describe("few", 1, configs="min.insync.replicas=2")
    _, text, _ = ask("--describe topics --producer p --kafka-version 3.9", topics=topics, p="acks=all\n")
    assert [line.split()[-1] for line in text.splitlines()[5:7]] == ["few", "many"]


def test_what_partitions_cannot_do_now_is_said_first(ask, ask_json):
    topics = (
        describe("a", 1, leader="none", isr="2")
        + describe("b", 2, isr="1", configs="min.insync.replicas=2")
        + describe("c", 1, isr="1,2", configs="min.insync.replicas=2")
    )
    _, text, _ = ask("--describe topics --kafka-version 3.9", topics=topics)
    assert text.splitlines()[2:5] == [
        "  Now: a-0 has no leader: nothing can be written or read until a broker of its ISR (2) is up",
        "  Now: 2 partitions have an ISR below min.insync.replicas (b-0, b-1): writes with acks=all are refused",
        "  Now: not every replica is in sync: 1 partition more (c-0)",
    ]
    _, content = ask_json("--describe topics --kafka-version 3.9")
    assert content["now"] == {
        "without_leader": ["a-0"],
        "below_min_isr": ["b-0", "b-1"],
        "under_replicated": ["c-0"],
    }
    _, text, _ = ask("--describe topics --kafka-version 3.9 --topic-name a")
    assert labelled(text)["Now"] == [
        "a-0 has no leader: nothing can be written or read until a broker of its ISR (2) is up"
    ]


@pytest.mark.parametrize(
    ("elr", "until"),
    [
        ("Elr: 3\tLastKnownElr: ", "a broker of its ELR (3) is up"),
        ("Elr: \tLastKnownElr: 2", "its last known leader (2) is up, or an unclean election is allowed"),
        (
            "Elr: 7,8\tLastKnownElr: 2",
            "an unclean election is made by hand (kafka-leader-election), as its ELR names only"
            " brokers that are no replicas (7, 8)",
        ),
        ("Elr: \tLastKnownElr: ", "an unclean election is allowed, as no broker is in its ISR or ELR"),
    ],
)
def test_the_elr_says_who_can_lead(ask, elr, until):
    topics = describe("a", 1, leader="none", isr="").replace("Elr: \tLastKnownElr: ", elr)
    _, text, _ = ask("--describe topics --kafka-version 4.1", topics=topics)
    assert labelled(text)["Now"] == [f"a-0 has no leader: nothing can be written or read until {until}"]


def test_ten_thousand_partitions_take_seconds(ask):
    topics = "".join(
        describe(f"topic{number}", 10, configs=f"min.insync.replicas={1 + number % 3},retention.ms={number}")
        for number in range(1000)
    )
    began = time.process_time()
    _, text, _ = ask("--describe topics --kafka-version 3.9", topics=topics)
    assert "  1,000 topics with 10,000 partitions, 3 distinct cases, Kafka 3.9 (--kafka-version)" in text
    assert time.process_time() - began < 30
    assert len(text.splitlines()) < 15


# ------------------------------------------------------------------------------------------------------------ bad input


def test_the_settings_of_plugins_are_compared_with_kafkas_once(ask):
    """A broker of a distribution has hundreds of keys that Kafka does not know, and topics differ in theirs."""
    plugins = "".join(
        f"  plugin.setting.number.{key}=1 sensitive=false synonyms={{DEFAULT_CONFIG:plugin.setting.number.{key}=1}}\n"
        for key in range(200)
    )
    topics = "".join(
        f"Topic: t{number}\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: retention.ms={number}\n"
        for number in range(60)
    )
    described = f"{topics}All configs for broker 1 are:\n{plugins}"
    began = time.process_time()
    ask("--describe d --kafka-version 3.9", d=described)
    assert time.process_time() - began < 12


def test_files_of_both_kinds_are_told_apart(ask):
    _, text, _ = ask("doctor topics t --kafka-version 3.9", topics=describe("a", 2), t="acks=1\nlinger.ms=1\n")
    assert text.splitlines()[0] == "Can lose acknowledged records"
    assert labelled(text)["For"] == ["topic a, Kafka 3.9, 3 replicas, min.insync.replicas=1, acks=1"]
    code, _, err = ask("doctor")
    assert (code, err) == (2, "check: doctor needs a file, as in: isrcheck doctor server.properties topics.txt\n")
    code, _, err = ask("doctor t --topic-name a")
    assert (code, err) == (
        2,
        "check: --topic-name goes with --describe FILE; leave --topic-name out, or add --describe FILE\n",
    )
    code, _, err = ask("doctor t --no-such 3")
    assert (code, err) == (2, "check: --no-such is no option of doctor; see isrcheck doctor --help\n")


def test_a_byte_order_mark_is_skipped_in_both_kinds_of_files(ask):
    for encoding in ("utf-8-sig", "utf-16"):
        code, text, err = ask(
            "doctor topics t --kafka-version 3.9",
            topics=describe("a", 1).encode(encoding),
            t="acks=1\n".encode(encoding),
        )
        assert (code, err) == (0, "")
        assert text.splitlines()[0] == "Can lose acknowledged records"


def test_mixed_versions_are_named(ask):
    line = "--broker a --broker b"
    files = {
        name: f"broker.id=1\ninter.broker.protocol.version={version}\n"
        for name, version in (("a", "2.1"), ("b", "2.4"))
    }
    code, out, err = ask(line, **files)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err == (
        "check: b:2: the files mix versions: inter.broker.protocol.version=2.4 here and 2.1 in a:2;"
        " give the files of one version\n"
    )


def test_a_description_that_is_cut_off_is_answered_for_what_is_whole(ask):
    whole = describe("a", 3)
    _, text, _ = ask("--describe topics --kafka-version 3.9", topics=whole[: whole.rindex("\tReplicas")])
    assert labelled(text)["Files"] == [
        "topics:4: the description is cut off in this line, which is left out; describe the cluster again",
        "2 of 3 partitions of a are described",
    ]


@pytest.mark.parametrize("name", ["\x1b[31mred", "a\u202eb", "<script>alert(1)</script>", "a\x07"])
def test_hostile_names_are_text(ask, ask_json, name):
    code, text, err = ask("--describe topics --kafka-version 3.9 --report DIR", topics=describe(name, 1))
    assert code in (0, 12)
    assert not {"\x1b", "\u202e", "\x07"} & set(text + err)
    page = Path("DIR/index.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert not {"\x1b", "\u202e", "\x07"} & set(page)
    assert ask_json("--describe topics --kafka-version 3.9")[1]["answers"][0]["topics"] == [name]


def test_bad_arguments_get_one_line_with_the_cure(ask):
    for line, says in (
        ("--config none.properties", "none.properties: no such file; check the path"),
        ("--config t kafka", "--config is for a cluster, kafka is a model: give only one of them"),
        (
            "--config t --topic-name a",
            "--topic-name goes with --describe FILE; leave --topic-name out, or add --describe",
        ),
        ("published --details", "--details goes with the matrix, one model or a cluster; leave --details out"),
        (
            "--config t --engine z3",
            "--engine z3 does not go with --config; name a model, as in: check kafka --engine z3",
        ),
    ):
        code, out, err = ask(line, t=DURABLE)
        assert (code, out) == (2, "")
        assert err.startswith(f"check: {says}")
        assert err.count("\n") == 1


def test_secrets_are_not_shown(ask):
    _, text, _ = ask("--config t --details", t=f"{DURABLE}ssl.key.password=hunter2\n")
    assert "hunter2" not in text
    assert "[hidden]" in text or "ssl.key.password" in text


# ----------------------------------------------------------------------------------------------------- details and json


def test_details_name_what_was_understood_ignored_and_found(ask, tmp_path):
    code, text, _ = ask("--config t --kafka-version 3.9 --details", t=f"{DURABLE}cleanup.policy=compact\n")
    assert code == 12
    for line in (
        "Generation 3.7 is taken: Kafka 3.9 (--kafka-version) with KRaft",
        "  min.insync.replicas=2 ",
        "Ignored, not modelled yet:",
        "  8.24 missed_demotion ",
        "Known defects of this release that cannot be searched",
    ):
        assert f"\n{line}" in text
    (line,) = [line for line in text.splitlines() if line.startswith("trace show ")]
    command, _, shows = line.partition("  # ")
    assert Path(tmp_path, command.split()[-1]).is_file()
    assert shows == "8.24 A leader that misses its own demotion acknowledges what others have truncated"


def test_details_have_the_advice_of_a_defect(ask, fake):
    """Every single setting that avoids 8.7b costs availability; none is needed if consumers read from leaders only."""

    fake.says(finding(Word.VIOLATED, MISSED_DEMOTION), "high_watermark_of_a_diverging_response")
    _, text, _ = ask("--config t --broker b --kafka-version 3.3 --details", t=DURABLE, b=BROKER)
    assert labelled(text)["Defect"][3] == "known as KAFKA-14704"
    assert labelled(text)["Defect"][4] == (
        "advice: Upgrade to 3.4.1 or 3.5; until then let consumers read from the leader only"
        " (no replica.selector.class)."
    )
    assert "advice:" not in ask("--config t --broker b --kafka-version 3.3")[1]


def test_details_say_which_generation_was_searched(ask):
    """What no known defect of 1.0 explains is searched in 2.4; with the fake, all searches are those of 3.7."""
    _, text, _ = ask("--config t --kafka-version 1.0 --details", t=DURABLE)
    assert ("Searched (all but the known defects: in a generation in which these are repaired)") in text.splitlines()
    _, text, _ = ask("--config t --kafka-version 3.9 --details")
    assert "Searched" in text.splitlines()
    assert "  a broker crashes  kafka 3.7  to the end  1,234 states" in text.splitlines()


def test_a_quick_answer_writes_no_trace(ask, tmp_path):
    ask("--config t --kafka-version 3.9", t=DURABLE)
    assert not (tmp_path / "counterexamples").exists()


@pytest.mark.parametrize(("acks", "code"), [("all", 12), ("1", 0)])
def test_the_answer_stands_if_its_traces_cannot_be_written(ask, tmp_path, acks, code):
    whole = ask(
        "--config t --broker b --kafka-version 3.9 --details", t=DURABLE.replace("all", acks), b="broker.id=1\n"
    )
    assert whole[0] == code
    (tmp_path / "file").write_text("")
    found = ask("--config t --broker b --kafka-version 3.9 --details --out file/in")
    assert found[0] == code
    assert found[1].splitlines() == [line for line in whole[1].splitlines() if "trace show" not in line][:-1]
    assert found[2] == (
        "check: file/in: the trace cannot be written: Not a directory; make room or give another folder with --out DIR;"
        " the answer stands\n"
    )


def test_the_answer_comes_without_a_report_if_the_disk_is_full(ask, monkeypatch, tmp_path):
    def put(folder, files):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))

    monkeypatch.setattr(MarkedFolder, "put", lambda self, folder, files: put(folder, files))
    code, text, err = ask("--config t --kafka-version 3.9 --report DIR", t=DURABLE)
    first = f"Keeps its promises, but for 1 known defect of this release, and{UNLESS}"
    assert (code, text.splitlines()[0]) == (12, first)
    why = "check: DIR: No space left on device; give another folder with --report DIR"
    assert err == f"{why}; the answer comes without a report\n"
    # Any other form, and a folder that is not ours, are bad input as before.
    code, out, err = ask("kafka --protocol 0.10 --bound 1 --report DIR")
    assert (code, out, err) == (2, "", f"{why}\n")
    (tmp_path / "DIR" / "notes").write_text("mine")
    code, out, _ = ask("--config t --kafka-version 3.9 --report DIR")
    assert (code, out) == (2, "")


def test_the_answer_stands_if_its_report_cannot_be_written(ask, monkeypatch):
    monkeypatch.setattr(reports, "_files", lambda folder, report: (_ for _ in ()).throw(OSError(28, "No space left")))
    monkeypatch.setattr(reports, "begin", lambda folder, command: None)
    code, _, err = ask("--config t --kafka-version 3.9 --report DIR", t=DURABLE)
    assert code == 12
    assert err == (
        "check: DIR: the report cannot be written: No space left; make room, or give another folder with --report DIR;"
        " the answer stands\n"
    )


def test_a_report_names_what_each_trace_shows(ask, fake):
    def rule(case, question):
        is_shown = question.topic is Topic.DEFECT and question.name in ("missed_demotion", "stale_record")
        return finding(Word.VIOLATED, MISSED_DEMOTION) if is_shown else usual(case, question)

    fake.rule = rule
    ask("--config t --kafka-version 3.9 --report DIR", t=DURABLE)
    page = Path("DIR/index.html").read_text(encoding="utf-8")
    title = (
        "8.24 A leader that misses its own demotion acknowledges what others have truncated;"
        " 8.25 A stale metadata record cancels a pending expansion of the ISR"
    )
    assert re.findall(r'<p>VIOLATED: <a href="traces/[\w.]+\.html">(.*?)</a>', page) == [title]


def test_what_a_history_tells_is_kept(ask, monkeypatch):
    from isrcheck.checker.answers import findings as history

    first = ask("--config t --kafka-version 3.9", t=DURABLE)
    history.told.cache_clear()
    monkeypatch.setattr(history, "trace_of", None)
    assert ask("--config t --kafka-version 3.9") == first


def test_what_is_asked_was_expected(ask, fake):
    """Only the loss of a disk, and brokers that are down after a change, are searched when they are asked."""
    ask("--config t --kafka-version 3.9", t=DURABLE)
    alone = {(case, question.topic) for case, question in fake.asked if (case, question) not in fake.expected}
    (first, _), *_ = fake.asked
    assert {topic for case, topic in alone if case == first} == {Topic.DISK}
    assert {topic for case, topic in alone if case != first} == {Topic.WRITES, Topic.READS}
    assert set(fake.expected) <= set(fake.asked)
    assert fake.is_closed


def test_the_object_of_json(ask_json):
    _, content = ask_json("--config t --kafka-version 3.9", t=DURABLE.replace("all", "1"))
    assert (content["headline"], content["kind"], content["verdict"]) == (
        "Can lose acknowledged records",
        "can-lose",
        "PERMITTED",
    )
    (answer,) = content["answers"]
    assert answer["is_allowed"] is True
    assert answer["how"] == "An acknowledged record is lost: the leader fails before broker 1 has it"
    assert [one["change"] for one in answer["changes"]] == ["acks=all"]
    assert answer["findings"]["loss"]["needs"] == {"crashes": 1, "elections": 1}
    assert answer["availability"][2] == {"brokers_down": 2, "writes": "yes", "reads": "yes"}
    _, content = ask_json("--config t --kafka-version 3.9", t=DURABLE)
    (answer,) = content["answers"]
    assert (content["kind"], answer["changes"]) == ("defects", [])
    defects = {one["number"]: one for one in answer["defects"]}
    assert [one["change"] for one in defects["8.24"]["avoided_by"]] == [
        "min.insync.replicas=3",
        "auto.leader.rebalance.enable=false",
    ]
    assert defects["8.10"]["needs_a_disk"] is True
