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
from unittest.mock import ANY

import pytest

from conformance.tests.checker.answers.fake import LOST_WITH_ACKS_1, MISSED_DEMOTION, finding, saying, usual
from conformance.tests.support.engine import checking
from isrcheck.checker import cli
from isrcheck.checker.answers.answer import MOST_REPLICAS
from isrcheck.checker.answers.answerers import budgets_of
from isrcheck.checker.answers.examining import in_words
from isrcheck.checker.answers.findings import without_search
from isrcheck.checker.answers.questions import Question, Topic
from isrcheck.checker.results.verdict import Word
from isrcheck.checker.running.marked_folder import MarkedFolder
from isrcheck.commands.exit_codes import INTERRUPTED, SAFE, UNDECIDED, USAGE, VIOLATED
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.messages import UsageError

DURABLE = "replication.factor=3\nmin.insync.replicas=2\nacks=all\n"
UNSEARCHED = "8.7e A response in flight carries records of the next epoch"
UNLESS = " unless 2 brokers are lost or all lose power"
KEEPS = f"Keeps its promises within these bounds,{UNLESS}"
ONE_DEFECT = f"Keeps its promises, but for 1 known defect of this release, and{UNLESS}"
CAN_LOSE = "Can lose acknowledged records"
UNDECIDED_DEFECTS = "Cannot tell, because exposure to known defects of this release is undecided"
CANNOT_BE_SEARCHED = "known defects of this release that cannot be searched"
ZOOKEEPER = "zookeeper.connect=z:2181\n"
DURABLE_3_9 = "--config t --broker b --kafka-version 3.9"
ONLY_TOPIC_3_9 = "--config t --kafka-version 3.9"
BROKER = "broker.id=1\nauto.leader.rebalance.enable=false\n"
LOST = finding(Word.VIOLATED, MISSED_DEMOTION)
REFUSED_BY_MODEL = UsageError("the model refuses it")


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
    lines: dict[str, list[str]] = {}
    label = ""
    for line in text.splitlines()[1:]:
        if not line.strip():
            break
        head = line[2:].split("  ")[0] if not line.startswith("   ") else ""
        label = head or label
        lines.setdefault(label, []).append(line[2 + len(head) :].strip())
    return lines


def describe(topic: str, count: int, *, configs: str = "", leader: str = "1", isr: str = "1,2,3") -> str:
    lines = [f"Topic: {topic}\tTopicId: x\tPartitionCount: {count}\tReplicationFactor: 3\tConfigs: {configs}\n"]
    lines += [
        f"\tTopic: {topic}\tPartition: {number}\tLeader: {leader}\tReplicas: 1,2,3\tIsr: {isr}\tElr: \tLastKnownElr: \n"
        for number in range(count)
    ]
    return "".join(lines)


# ----------------------------------------------------------------------------------------------------- what is answered


def row(line, *, rule=usual, code=SAFE, first=ANY, files=None, lacks="", asks=True, **labels):
    """A row of the table: a command and the rule of its answers; its exit code, its first line, and all lines of some
    labels (None: it has no such label). Its text does not have `lacks`; with `asks` false no question is asked."""
    files = {"t": DURABLE, "b": BROKER} if files is None else files
    return pytest.param(line, rule, code, first, files, lacks, asks, labels, id=f"{line} {first} {','.join(labels)}")


def without_writes(case, question):
    if question.topic is Topic.WRITES and case.acks == "all" and case.min_insync_replicas == 1:
        return finding(Word.UNREACHABLE)
    is_safe = question.topic is Topic.LOSS and case.acks == "all"
    return finding(Word.HOLDS) if is_safe else usual(case, question)


def refused_with_three(case, question):
    is_refused = question.name in ("stale_record", "missed_demotion") and case.min_insync_replicas == 3
    if is_refused or question.name == "stale_diverging_response":
        raise REFUSED_BY_MODEL
    return usual(case, question)


def refused(case, question):
    raise REFUSED_BY_MODEL


def lost_disk_before_the_broker_is_back(case, question):
    if question.name == "rebooted_follower_joins_the_isr":
        return finding(Word.NOT_APPLICABLE)
    return finding(Word.PERMITTED) if question.topic is Topic.DISK else usual(case, question)


def stale_by_rebalancing(case, question):
    return LOST if question.name == "stale_diverging_response" and case.leader_rebalance else finding(Word.HOLDS)


def lost_below_three(case, question):
    if question.topic in (Topic.WRITES, Topic.SURVIVES):
        return usual(case, question)
    return finding(Word.PERMITTED if question.topic is Topic.LOSS and case.min_insync_replicas < 3 else Word.HOLDS)


def of_format(version: str) -> dict[str, str]:
    return {"t": f"{DURABLE}message.format.version={version}\nunclean.leader.election.enable=false\n", "b": BROKER}


def of_replicas(count: int, least: int, acks: str = "all") -> dict[str, str]:
    return {"t": f"replication.factor={count}\nmin.insync.replicas={least}\nacks={acks}\n", "b": BROKER}


TRUNCATES = saying(LOST, "truncation_to_high_watermark")
OF_8_7B = saying(LOST, "high_watermark_of_a_diverging_response")
HOLDS = finding(Word.HOLDS)
OPEN = finding(Word.UNDECIDED, stopped="seconds", judged=9)
OUT_OF_TIME = "the time limit is reached; nothing was found to depth 9"
OF_8_7D = "searched to depth 14 only, and its known history takes 23 steps"
BROKERS = (
    "all in sync, with 0, 1, 2 down, a write is acknowledged: yes, yes, no; a committed record is read: yes, yes, yes"
)
ONE_LOST = "at worst, with 2 replicas in sync: a committed record survives the loss of 1 broker"
NO_MARKER = (
    "no promise breaks, searched to the end, but for known defects of this release: 8.17d A late copy of a marker ends"
    " the next transaction"
)
LATE_MARKER = saying(LOST, "late_marker_ends_the_next_transaction", otherwise=finding(Word.HOLDS))
ONLY_COPY = (
    "{} lets one broker have the only copy of what committed: the searches assume that the coordinators' log"
    " (__transaction_state) loses"
)
NO_TOPIC_SETTING = "Kafka 3.9 has no such topic setting; did you mean min.insync.replicas?"
ELR_ASSUMED = (
    "eligible leader replicas, which a cluster has that was created with 4.1 or newer, or upgraded with kafka-features"
    " upgrade --release-version; give the output of kafka-features describe, or eligible.leader.replicas.version=0 in a"
    " broker's file if they are off"
)
JAVA_3_9 = (
    "producers are Java clients of Kafka 3.9, by default with retries=2147483647,"
    " max.in.flight.requests.per.connection=5 (--producer FILE)"
)
NO_REPLICAS = (
    "Cannot tell, because the number of the topic's replicas is not given; add the output of kafka-topics --describe,"
    " or replication.factor in a file"
)
MOVING = (
    "Topic: a\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 6\tConfigs: min.insync.replicas=2\n"
    "\tTopic: a\tPartition: 0\tLeader: 1\tReplicas: 4,5,6,1,2,3\tIsr: 1,2,3\tAdding Replicas: 4,5,6"
    "\tRemoving Replicas: 1,2,3\tElr: \tLastKnownElr: \n"
)
UNEQUAL = (
    "Topic: a\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=1\n"
    "\tTopic: a\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1\n"
    "\tTopic: a\tPartition: 1\tLeader: 2\tReplicas: 2,3\tIsr: 2,3\n"
)
CUT = describe("a", 3)[: describe("a", 3).rindex("\tReplicas")]
ACKS_ALL = {"p": "acks=all\n"}
ELRS = (
    ("Elr: 3\tLastKnownElr: ", "a broker of its ELR (3) is up"),
    ("Elr: \tLastKnownElr: 2", "its last known leader (2) is up, or an unclean election is allowed"),
    ("Elr: 7,8\tLastKnownElr: 2", "an unclean election is made by hand (kafka-leader-election), as its ELR names only"
     " brokers that are no replicas (7, 8)"),
    ("Elr: \tLastKnownElr: ", "an unclean election is allowed, as no broker is in its ISR or ELR"),
)  # fmt: skip
WITHOUT_LEADER = describe("a", 1, leader="none", isr="")


@pytest.mark.parametrize(
    ("line", "rule", "code", "first", "files", "lacks", "asks", "labels"),
    [
        row(DURABLE_3_9, first=KEEPS, lacks="Defect"),
        row(ONLY_TOPIC_3_9, code=VIOLATED, first=ONE_DEFECT,
            Searched=["no acknowledged record is lost, searched to the end: a broker crashes"],
            Brokers=[BROKERS, ONE_LOST],
            Defect=["8.24 A leader that misses its own demotion acknowledges what others have truncated",
                    "takes 3 elections (1 preferred), 3 late messages, in 11 steps",
                    "avoid it with min.insync.replicas=3 (topic, at once; no write with 1 broker down) or"
                    " auto.leader.rebalance.enable=false (controllers, with a restart)"]),
        row(DURABLE_3_9, rule=saying(finding(Word.NO_VIOLATION, judged=24), Topic.LOSS), first=KEEPS,
            Searched=["no acknowledged record is lost, searched to depth 24: a broker crashes"],
            Source=["recorded, searched, but not everything to the end (--details), on 2026-11-24; --fresh searches"
                    " again"]),
        # Of four replicas the searches of 8.7d and 8.25 end too early: a first line with one defect alone hides both.
        row(ONLY_TOPIC_3_9, code=VIOLATED, first=f"{ONE_DEFECT}; 2 more undecided",
            rule=saying(finding(Word.NO_VIOLATION, judged=10), "stale_diverging_response", "stale_record"),
            Undecided=[f"8.7d, 8.25: {OF_8_7D.replace('14', '10')}"]),
        # Fewer steps than a failure takes say nothing about it.
        row(DURABLE_3_9, rule=lambda case, question: finding(Word.NO_VIOLATION, judged=14), code=UNDECIDED,
            first=f"{UNDECIDED_DEFECTS} (8.7d): {OF_8_7D}",
            Undecided=["8.7d An old answer truncates a follower that has joined the ISR (KAFKA-18991; repaired in"
                       f" 3.9.1): {OF_8_7D}"]),
        # What is undecided never reads like a pass.
        row(DURABLE_3_9, rule=saying(OPEN, Topic.LOSS, otherwise=HOLDS), code=UNDECIDED, lacks="Keeps",
            first=f"Cannot tell, because {OUT_OF_TIME}"),
        row(DURABLE_3_9, rule=saying(OPEN, Topic.DEFECT, otherwise=HOLDS), code=UNDECIDED, lacks="Keeps",
            first=f"{UNDECIDED_DEFECTS} (8.7d, 8.22b, 8.22c, 8.22d, 8.24, 8.25, 12.8): {OUT_OF_TIME}"),
        row(DURABLE_3_9, rule=saying(OPEN, Topic.ORDER, otherwise=HOLDS), code=UNDECIDED, lacks="Keeps",
            first=f"Cannot tell, because what clients are promised about order is undecided: {OUT_OF_TIME}"),
        row(DURABLE_3_9, rule=saying(OPEN, Topic.SURVIVES), code=UNDECIDED,
            first=f"Cannot tell, because how many brokers can be lost is undecided: {OUT_OF_TIME}"),
        row(DURABLE_3_9, rule=saying(finding(Word.VIOLATED), Topic.ORDER, otherwise=HOLDS), code=UNDECIDED,
            first="Cannot tell, because acked_not_lost can fail, which no known defect of this release explains"),
        # What the model refuses is no pass; a change with which a failure cannot be searched avoids nothing.
        row(ONLY_TOPIC_3_9, rule=refused_with_three, code=VIOLATED,
            Unknown=[f"{CANNOT_BE_SEARCHED}: {UNSEARCHED}, 8.7d An old answer truncates a follower that has joined the"
                     " ISR"],
            Defect=[ANY, ANY, "avoid it with auto.leader.rebalance.enable=false (controllers, with a restart)"]),
        row(ONLY_TOPIC_3_9, rule=refused, code=UNDECIDED,
            first="Cannot tell, because the model refuses it"),
        # Where an old record format keeps a repair from working, the advice is not an upgrade to it.
        row("--config t --broker b --kafka-version 2.3", rule=TRUNCATES, code=ANY, files=of_format("0.10.2"),
            Defect=["8.1 A follower truncates to its high watermark", ANY,
                    "Only an upgrade helps: the record is lost even with acks=all and min.insync.replicas equal to the"
                    " number of replicas. From 0.11 on, the brokers need inter.broker.protocol.version=0.11.0 and the"
                    " topic message.format.version=0.11.0; otherwise followers truncate as before."]),
        row("--config t --broker b --kafka-version 0.10.2", rule=TRUNCATES, code=ANY, files=of_format("0.10.2"),
            Defect=["8.1 A follower truncates to its high watermark", ANY,
                    "no single setting avoids it; repaired in 0.11"]),
        # The nearest release with a repair: 8.7a is repaired in 2.7.2, 2.8.1 and 3.0.
        *(row(f"--config t --broker b --kafka-version {release}", rule=saying(LOST, "diverging_fetch_counts"), code=ANY,
              Defect=[ANY, ANY, f"no single setting avoids it; repaired in {repaired}"])
          for release, repaired in (("2.7", "2.7.2"), ("2.8", "2.8.1"), ("2.8.0", "2.8.1"))),
        # 8.7d: a patch release repairs it, and an operator finds it under the number of its report.
        *(row(f"--config t --broker b --kafka-version {release} --details", rule=stale_by_rebalancing, code=ANY,
              files={"t": DURABLE, "b": f"broker.id=1\n{controller}"},
              Defect=[ANY, ANY, f"avoid it with auto.leader.rebalance.enable=false ({whose}, with a restart); repaired"
                      f" in {repaired}", "known as KAFKA-18991", "advice: Upgrade to 3.9.1, 4.0.1 or 4.1."])
          for release, controller, whose, repaired in (("3.9", "", "controllers", "3.9.1"),
                                                       ("4.0", "", "controllers", "4.0.1"),
                                                       ("2.8", ZOOKEEPER, "brokers", "3.9.1"))),
        # Every setting that avoids 8.7b costs availability; none is needed if consumers read from leaders only.
        row("--config t --broker b --kafka-version 3.3 --details", rule=OF_8_7B, code=ANY,
            Defect=[ANY, ANY, ANY, "known as KAFKA-14704", "advice: Upgrade to 3.4.1 or 3.5; until then let consumers"
                    " read from the leader only (no replica.selector.class)."]),
        row("--config t --broker b --kafka-version 3.3", rule=OF_8_7B, code=ANY, lacks="advice:"),
        # A topic to which no write is acknowledged is broken; acks=1 asks for no ISR.
        row("--config t --broker b --kafka-version 3.6", code=VIOLATED, files=of_replicas(2, 3),
            first="Broken: no acks=all write can be acknowledged, because min.insync.replicas=3 is more than 2"
            " replicas",
            Change=["min.insync.replicas=2 or less, or more replicas"]),
        row("--config t --broker b --kafka-version 3.7", files=of_replicas(2, 3), first=KEEPS, Change=None),
        row("--config t --broker b --kafka-version 3.6", files=of_replicas(2, 3, "1"), first=CAN_LOSE),
        # A loss that the settings do not allow is a broken promise.
        row(DURABLE_3_9, rule=saying(LOST, Topic.LOSS), code=VIOLATED, first=CAN_LOSE,
            lacks="your settings allow this", Change=["no change of one or two settings prevents it"]),
        # Without writes nothing is lost, and nothing is gained.
        row(ONLY_TOPIC_3_9, rule=without_writes, files=of_replicas(3, 1, "1"), first=CAN_LOSE,
            Change=["acks=all and min.insync.replicas=2 (producers, with a restart; topic, at once): then no loss is"
                    " found, searched to the end", ANY, ANY]),
        row("--config t --broker b --kafka-version 3.6", rule=lost_below_three, files=of_replicas(2, 1),
            Change=["min.insync.replicas=3 and replication.factor=3 (topic, at once; topic, by a reassignment): then no"
                    " loss is found, searched to the end", ANY]),
        # Power and disks
        row(DURABLE_3_9, rule=saying(finding(Word.PERMITTED), "last_replica_standing"), first=KEEPS,
            Power=[ANY, ANY, "but known defects of this release lose one then: 8.10 The last member of the ISR loses"
                   " power, and is elected with a shorter log"]),
        row(DURABLE_3_9, rule=lost_disk_before_the_broker_is_back, files={"t": DURABLE, "b": ZOOKEEPER}, code=ANY,
            Disk=["of one broker: can lose an acknowledged record; this release does not claim to survive it",
                  "known defects that are not searched: 8.9 A follower that has lost its disk joins the ISR by a"
                  " request from before the loss"],
            Unknown=[f"{CANNOT_BE_SEARCHED}: {UNSEARCHED}"]),
        row(DURABLE_3_9, rule=saying(finding(Word.PERMITTED), Topic.POWER),
            first="Keeps its promises within these bounds, unless 2 brokers are lost or one loses power",
            Power=["of one broker: can lose an acknowledged record; this release does not claim to survive it",
                   "of all brokers: can lose an acknowledged record; no release claims to survive it (8.14)"]),
        # 8.17d needs a fault that the question has not; one copy of the coordinators' log promises less.
        *(row("--config t --broker b --kafka-version 4.1", rule=LATE_MARKER, code=ANY,
              files={"t": f"{DURABLE}transactional.id=t\n", "b": f"{BROKER}{line}\n"},
              Transactions=[NO_MARKER, *([f"{ONLY_COPY.format(line)} nothing"] if line else [])])
          for line in ("", "transaction.state.log.min.isr=1", "transaction.state.log.replication.factor=1")),
        # With a smaller minimum fewer brokers can be lost: the ISR may have shrunk to the leader.
        row(DURABLE_3_9, files=of_replicas(3, 1),
            first=f"{CAN_LOSE}: min.insync.replicas=1 lets one broker have the only copy",
            Brokers=["at worst, with 1 replica in sync: a committed record survives the loss of no broker"]),
        row(DURABLE_3_9, files=of_replicas(3, 2), first=KEEPS, Brokers=[BROKERS, ONE_LOST]),
        row(DURABLE_3_9, files=of_replicas(3, 3), first=KEEPS.replace("2", "3"),
            Brokers=[ANY, "at worst, with 3 replicas in sync: a committed record survives the loss of 2 brokers"]),
        # Which partitions work now, and what is described
        row("--describe topics --broker b --producer p --kafka-version 2.4", code=ANY,
            files={"topics": UNEQUAL, "b": BROKER, **ACKS_ALL},
            Now=["a-0 has one replica in sync: new records are acknowledged with one copy"],
            Files=["partitions of a have 2 to 3 replicas: the answer is for the fewest (a-1)"]),
        row("--describe topics --producer p --kafka-version 3.9", code=VIOLATED, files={"topics": MOVING, **ACKS_ALL},
            Files=["a-0 is being reassigned (Adding Replicas 4,5,6, Removing Replicas 1,2,3): the answer is for the"
                   " replicas after it, 3; it has 6 now, 3 of them not yet in place"],
            For=["topic a, Kafka 3.9, 3 replicas, min.insync.replicas=2, acks=all"], Brokers=[BROKERS, ONE_LOST]),
        row("--describe topics --kafka-version 3.9", code=ANY, files={"topics": CUT},
            Files=["topics:4: the description is cut off in this line, which is left out; describe the cluster again",
                   "2 of 3 partitions of a are described"]),
        *(row("--describe topics --kafka-version 4.1", code=ANY,
              files={"topics": WITHOUT_LEADER.replace("Elr: \tLastKnownElr: ", elr)},
              Now=[f"a-0 has no leader: nothing can be written or read until {until}"])
          for elr, until in ELRS),
        row("--describe topics --kafka-version 4.1", code=ANY,
            files={"topics": WITHOUT_LEADER.replace("LastKnownElr: ", "LastKnownElr: 2")
                   + describe("b", 1, leader="none", isr="").replace("Elr: \t", "Elr: 3\t")},
            Now=["2 partitions have no leader (a-0, b-0): nothing can be written or read until a broker of their ISR or"
                 " ELR or, if both are empty, their last known leader is up"]),
        row("doctor topics t --kafka-version 3.9", first=CAN_LOSE,
            files={"topics": describe("a", 2), "t": "acks=1\nlinger.ms=1\n"},
            For=["topic a, Kafka 3.9, 3 replicas, min.insync.replicas=1, acks=1"]),
        *(row("doctor topics t --kafka-version 3.9", first=CAN_LOSE,
              files={"topics": describe("a", 1).encode(encoding), "t": "acks=1\n".encode(encoding)})
          for encoding in ("utf-8-sig", "utf-16")),
        # What the answer leaves out is named, also without details.
        row(ONLY_TOPIC_3_9, code=ANY,
            files={"t": "replication.factor=3\nmin.insync.replica=2\nretention.m=1\n"},
            Ignored=[f"min.insync.replica=2 (t:2): {NO_TOPIC_SETTING}",
                     "1 setting unknown to this Kafka: retention.m"]),
        row(ONLY_TOPIC_3_9, code=ANY,
            files={"t": "replication.factor=3\ncleanup.policy=compact\nretention.ms=1\na.b=1\nlocal.retention.byte=1"},
            Ignored=["cleanup.policy=compact (t:2): compaction is not modelled: the answer is for a log that keeps"
                     " every record", "2 settings unknown to this Kafka: a.b, local.retention.byte"]),
        row(ONLY_TOPIC_3_9, code=ANY, files={"t": "cleanup.policy=delete\nflush.ms=7\n"}, Ignored=None),
        row("--config t --kafka-version 4.0", code=ANY, files={"t": "replication.factor=2\nmin.insync.replicas=3\n"},
            For=["Kafka 4.0, 2 replicas, min.insync.replicas=3 (counts as 2, the number of replicas), acks=all"]),
        # What is assumed
        row("--config t", code=ANY, files={"t": "min.insync.replicas=2\ncleanup.policy=delete\n"},
            Assumed=["Kafka 4.4 (not given: the newest release), the metadata.version of 4.4; give --kafka-version, or"
                     " --metadata-version", ELR_ASSUMED,
                     "producers are Java clients of Kafka 4.4, by default with acks=all, enable.idempotence=true"
                     " (--producer FILE)",
                     "Kafka's defaults of brokers (unclean.leader.election.enable=false,"
                     " auto.leader.rebalance.enable=true; --broker FILE)"]),
        row("--config p --kafka-version 3.9", code=ANY, files={"p": "acks=1\nlinger.ms=5\n"},
            Assumed=[ANY, JAVA_3_9, "Kafka's defaults of the topic (min.insync.replicas=1; --topic FILE) and of brokers"
                     " (unclean.leader.election.enable=false, auto.leader.rebalance.enable=true; --broker FILE)"]),
        *(row(f"--topic t --broker b --kafka-version {release}", code=ANY, lacks=ELR_ASSUMED,
              files={"t": "min.insync.replicas=2\n", "b": lines})
          for release, lines in (("4.1", "eligible.leader.replicas.version=0\n"),
                                 ("4.1", "eligible.leader.replicas.version=1\n"), ("4.0", BROKER))),
        # Kafka's default, one replica, says nothing of a topic that was created with three: with one, 4.1 would keep
        # every promise, and 2.8 would be broken.
        *(row(f"--topic t --producer p {broker and '--broker b'} --kafka-version {release}", code=UNDECIDED, asks=False,
              files={"t": "min.insync.replicas=2\n", "b": broker, **ACKS_ALL}, first=NO_REPLICAS,
              For=[f"Kafka {release}, an unknown number of replicas, min.insync.replicas=2, acks=all"])
          for release in ("2.8", "4.1") for broker in ("", "auto.leader.rebalance.enable=false\n")),
        row("--consumer c --kafka-version 3.9", code=UNDECIDED, asks=False,
            files={"c": "group.id=g\nisolation.level=read_committed\n"},
            first="Cannot tell, because a consumer's settings alone decide nothing about records; give the topic's and"
            " the producers' files"),
        row(ONLY_TOPIC_3_9, code=UNDECIDED, asks=False,
            files={"t": f"replication.factor={MOST_REPLICAS + 2}\nacks=all\n"},
            first=f"Cannot tell, because {MOST_REPLICAS + 2} replicas are more than the model supports"
            f" ({MOST_REPLICAS})"),
        # A release that is not modelled has the answer of the nearest.
        row("--config t --broker b --kafka-version 4.6", code=UNDECIDED, files={"t": DURABLE, "b": "node.id=1\n"},
            first="Cannot tell, because the replication protocol of Kafka 4.6 is not modelled yet; 4.5 is the newest"
            " that is", Nearest=[f"generation 4.3 is the nearest: {ONE_DEFECT}"]),
    ],
)  # fmt: skip
def test_what_the_answer_says(ask, fake, line, rule, code, first, files, lacks, asks, labels):
    fake.rule = rule
    exit_code, text, err = ask(line, **files)
    assert (exit_code, text.splitlines()[0], err) == (code, first, "")
    lines = labelled(text)
    assert {label: lines.get(label) for label in labels} == labels
    assert not lacks or lacks not in text
    assert asks or not fake.asked


def test_settings_that_allow_a_loss(ask):
    code, text, err = ask(DURABLE_3_9, t=DURABLE.replace("all", "1"), b=BROKER)
    assert (code, err) == (SAFE, "")
    assert text.splitlines()[0] == CAN_LOSE
    assert labelled(text) == {
        "For": ["Kafka 3.9, 3 replicas, min.insync.replicas=2, acks=1"],
        "Assumed": [
            "KRaft controllers, the metadata.version of 3.9; give zookeeper.connect in a broker's file if it uses"
            " ZooKeeper, or --metadata-version",
            JAVA_3_9,
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
        "Unknown": [f"{CANNOT_BE_SEARCHED}: {UNSEARCHED}"],
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
    fake.rule = saying(without_search(Word.NOT_APPLICABLE, "no model has it"), Topic.ORDER)
    _, text, _ = ask(f"{DURABLE_3_9} --details", t=DURABLE, b=BROKER)
    assert labelled(text)["Resends"] == ["order not searched: no model has it"]
    assert [line.split() for line in text.splitlines() if line.startswith("  order ")] == [["order", "n/a", "-", "-"]]


@pytest.mark.parametrize("text", ["crashes=-1", "crashes=128"])
def test_a_budget_out_of_its_range_is_refused(text):
    with pytest.raises(UsageError, match="crashes"):
        budgets_of([text])


def test_the_most_replicas_are_those_of_the_model():
    assert MODEL.entries["replicas"].most == MOST_REPLICAS


def test_defects_that_lose_records_come_first(ask, fake):
    """8.22b and 8.22c have the smaller numbers, and break other promises."""

    def rule(case, question):
        if question.topic is not Topic.DEFECT:
            return finding(Word.HOLDS)
        return LOST if question.name == "missed_demotion" else replace(LOST, property_name="no_duplicates")

    fake.rule = rule
    _, text, _ = ask("--topic t --producer p --kafka-version 4.0", t=DURABLE, **ACKS_ALL)
    defects = [line.split()[0] for line in labelled(text)["Defect"]]
    assert defects[0] == "8.24"
    assert {"8.22b", "8.22c"} <= set(defects[1:])


@pytest.mark.parametrize(("producer", "is_asked"), [("acks=all\n", True), ("request.required.acks=-1\n", False)])
def test_defects_of_kafkas_own_producer_are_not_those_of_other_libraries(ask, fake, producer, is_asked):
    ask("--topic t --producer p --kafka-version 3.9", t=DURABLE.replace("acks=all\n", ""), p=producer)
    assert ("buffer_is_reused_in_flight" in {question.name for _, question in fake.asked}) is is_asked


def test_the_progress_speaks_of_known_defects_by_number():
    assert in_words(Question(Topic.DEFECT, name="missed_demotion")) == "known defect 8.24"
    assert in_words(Question(Topic.WRITES, 1)) == "writes with 1 broker down"
    assert in_words(Question(Topic.LOSS)) == "lost records"
    assert in_words(Question(Topic.ORDER)) == "order"


def test_fifteen_lines_are_enough(ask, fake):
    fake.rule = saying(LOST, Topic.DEFECT, otherwise=finding(Word.HOLDS))
    code, text, _ = ask("--config t --kafka-version 1.0", t=f"{DURABLE}enable.idempotence=true\n")
    lines = text.splitlines()
    assert code == VIOLATED
    assert lines[0].startswith("Keeps its promises, but for ")
    assert len(lines) <= 16 + len(labelled(text)["Assumed"])
    assert any("more known defects (" in line for line in lines)
    _, details, _ = ask("--config t --kafka-version 1.0 --details")
    assert len(labelled(details)["Defect"]) > len(labelled(text)["Defect"])


def test_defects_without_a_line_of_their_own_have_their_label(ask, fake, monkeypatch):
    """Otherwise their numbers read like a part of the line above them."""
    monkeypatch.setattr("isrcheck.checker.answers.report.MOST_LINES", 8)
    fake.rule = saying(LOST, Topic.DEFECT)
    _, text, _ = ask("--topic t --producer p --kafka-version 4.1", t=DURABLE, **ACKS_ALL)
    assert labelled(text)["Defect"] == [
        "15 known defects (8.22b, 8.22c, 8.22d, 8.24, 8.25, 8.27, 8.28, 8.29, 8.31, 8.32, 8.33, 8.35, 8.36, 8.44,"
        " 12.8); --details shows all"
    ]


def test_a_misspelt_setting_is_named_above_a_table(ask):
    """With min.insync.replicas=1, its default, the answer is for another topic than the file's author has in mind."""
    described = "".join(
        f"Topic: {name}\tPartitionCount: 1\tReplicationFactor: {count}\tConfigs: \n" for name, count in ("u3", "v2")
    )
    _, text, _ = ask("--describe d --topic t --kafka-version 3.9", d=described, t="min.insync.replica=2\n")
    assert text.splitlines()[2:3] == [f"  Ignored: min.insync.replica=2 (t:1): {NO_TOPIC_SETTING}"]


def test_no_defects_are_left_out_where_there_are_none(ask, fake):
    """Lines about ignored settings can fill the room for defects; "and 0 more known defects ()" was printed then."""
    fake.rule = lambda case, question: finding(Word.HOLDS)
    ignored = ["cleanup.policy=compact", "log.cleanup.policy=compact", "remote.storage.enable=true"]
    ignored += [f"min.insync.replica{letter}=2" for letter in "abcdefgh"]
    _, text, _ = ask("--config t --kafka-version 3.9", t="\n".join(["replication.factor=3", *ignored]))
    assert [line.split()[0] for line in labelled(text)["Ignored"]] == ignored
    assert "more known defects" not in text


def test_standard_input_is_a_description(ask, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(describe("a", 2).encode())))
    _, text, _ = ask("doctor - t --kafka-version 3.9", t="acks=all\nlinger.ms=1\n")
    assert labelled(text)["For"] == ["topic a, Kafka 3.9, 3 replicas, min.insync.replicas=1, acks=all"]


def test_the_object_of_the_nearest_release(ask_json):
    _, content = ask_json("--config t --broker b --kafka-version 4.6", t=DURABLE, b="node.id=1\n")
    assert (content["kind"], content["verdict"]) == ("unknown", "UNDECIDED")
    assert content["answers"][0]["nearest"] == "defects"


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
    assert ask("--config t --broker b --kafka-version 4.1 --fail-on can-lose")[0] == VIOLATED
    assert ask("--config t --broker b --kafka-version 4.1 --strict")[0] == VIOLATED
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


# ----------------------------------------------------------------------------------------- exit codes, time and Ctrl-C


@pytest.mark.parametrize(
    ("acks", "broker", "words", "rule", "code"),
    [
        ("1", BROKER, "--fail-on can-lose", usual, VIOLATED),
        ("1", BROKER, "--fail-on defects,unknown", usual, SAFE),
        ("1", BROKER, "--strict", usual, VIOLATED),
        ("1", "broker.id=1\n", "--fail-on defects", usual, SAFE),
        ("all", "broker.id=1\n", "--fail-on can-lose", usual, SAFE),
        ("all", "broker.id=1\n", "--fail-on defects", usual, VIOLATED),
        ("all", BROKER, "--fail-on can-lose,defects,unknown", usual, SAFE),
        ("all", BROKER, "--fail-on unknown", lambda case, question: OPEN, UNDECIDED),
        ("all", BROKER, "--fail-on can-lose", lambda case, question: OPEN, SAFE),
    ],
)
def test_what_fails_a_build(ask, fake, acks, broker, words, rule, code):
    fake.rule = rule
    assert ask(f"{DURABLE_3_9} {words}", t=DURABLE.replace("all", acks), b=broker)[0] == code


def test_ctrl_c_says_what_is_known(ask, fake):
    fake.most = 1
    code, text, err = ask(DURABLE_3_9, t=DURABLE, b=BROKER)
    assert code == INTERRUPTED
    assert "interrupted; this is what was found so far" in err
    assert text.splitlines()[0].startswith(UNDECIDED_DEFECTS)
    assert labelled(text)["Searched"] == ["no acknowledged record is lost, searched to the end: a broker crashes"]
    fake.most = 0
    code, text, _ = ask(DURABLE_3_9)
    assert (code, text.splitlines()[0]) == (INTERRUPTED, "Cannot tell, because it was interrupted")


def test_the_time_of_an_answer_is_shared_by_its_questions(ask, fake, monkeypatch):
    """The first question gets about half of the time, and none more than what is left."""
    seconds, slept = 1000, [0.0]
    monotonic = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + slept[0])
    answer = fake.answer

    def sleeping(case, question, limits):
        slept[0] += limits.seconds
        return answer(case, question, limits)

    fake.answer = sleeping
    code, text, _ = ask(f"{DURABLE_3_9} --seconds {seconds}", t=DURABLE, b=BROKER)
    assert code in (SAFE, UNDECIDED)
    assert sum(fake.seconds) <= seconds
    assert 0.2 * seconds < fake.seconds[0] < 0.6 * seconds
    assert text


# ------------------------------------------------------------------------------------------------------ a whole cluster


def test_the_table_counts_declared_partitions_and_says_where_their_number_is_unknown(ask, ask_json):
    topic = "kind: KafkaTopic\napiVersion: kafka.strimzi.io/v1\nmetadata: {name: NAME}\nspec: SPEC\n---\n"
    declared = topic.replace("NAME", "a").replace("SPEC", "{partitions: 12}")
    unknown = topic.replace("NAME", "b").replace("SPEC", "{config: {min.insync.replicas: 2}}")
    code, text, _ = ask("--describe t.yaml --kafka-version 3.9", t_yaml=declared + unknown)
    assert code == UNDECIDED
    lines = text.splitlines()
    assert "  2 topics with ? partitions, 2 distinct cases, Kafka 3.9 (--kafka-version)" in lines
    assert [re.search(r" {2}1 +(\S+)  replicas=\?", line)[1] for line in lines if "replicas=?" in line] == ["12", "?"]
    _, content = ask_json("--describe t.yaml --kafka-version 3.9", t_yaml=declared + unknown)
    assert [one["partitions"] for one in content["answers"]] == [12, None]


def test_each_distinct_case_is_answered_once_the_worst_first(ask, fake, ask_json):
    topics = (
        describe("orders", 3, configs="min.insync.replicas=2")
        + describe("payments", 2, configs="min.insync.replicas=2")
        + describe("logs", 4, configs="min.insync.replicas=3,retention.ms=5")
        + describe("metrics", 1, configs="min.insync.replicas=2,retention.ms=7")
    )
    code, text, _ = ask("--describe topics --producer p --kafka-version 3.9", topics=topics, **ACKS_ALL)
    assert code == VIOLATED
    lines = text.splitlines()
    assert lines[0] == ONE_DEFECT
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
    assert text.splitlines()[0] == KEEPS.replace("2", "3")
    assert labelled(text)["For"][0].startswith("topic logs, Kafka 3.9, ")


def test_of_equally_bad_cases_the_one_with_most_defects_comes_first(ask, fake):
    """With min.insync.replicas=1 nine partitions have one defect; with 2 one partition has all of them."""

    def rule(case, question):
        if question.topic is not Topic.DEFECT:
            return finding(Word.HOLDS)
        is_shown = case.min_insync_replicas == 2 or question.name == "missed_demotion"
        return LOST if is_shown else finding(Word.HOLDS)

    fake.rule = rule
    topics = describe("many", 9, configs="min.insync.replicas=1")
    topics += describe("few", 1, configs="min.insync.replicas=2")
    _, text, _ = ask("--describe topics --producer p --kafka-version 3.9", topics=topics, **ACKS_ALL)
    assert [line.split()[-1] for line in text.splitlines()[5:7]] == ["few", "many"]


def test_brokers_that_would_be_elected_uncleanly_are_to_be_kept_down(ask):
    topics = describe("a", 1, leader="none", isr="2", configs="unclean.leader.election.enable=true")
    others = "the other replicas can be elected as soon as one of them is up, and lack records: keep them down"
    of_two = topics + describe("b", 1, leader="none", isr="2")
    text = ask("--describe topics --kafka-version 3.9", topics=of_two)[1]
    assert f"ISR or ELR is up; with unclean.leader.election.enable=true, {others}" in text
    text = ask("--describe topics --kafka-version 3.9", topics=topics)[1]
    one = (
        "(2) is up; with unclean.leader.election.enable=true, brokers 1, 3 can be elected as soon as one of them is up"
    )
    assert one in text


def test_what_shows_that_no_controller_is_active_is_said_first(ask, ask_json):
    quorum = "ClusterId: c\nLeaderId: -1\nMaxFollowerLag: 9\nMaxFollowerLagTimeMs: 90000\nCurrentVoters: [1,2,3]\n"
    doubts = ["no controller is active (q:2)", "one of the voters lags by 90 s (q:4)"]
    files = {"topics": describe("a", 1), "q": quorum}
    lines = ask("--describe topics --describe q --kafka-version 3.9", **files)[1].splitlines()
    assert [line.split("Now")[1].strip() for line in lines if line.startswith("  Now ")] == doubts
    assert ask_json("--describe topics --describe q --kafka-version 3.9")[1]["now"]["of_controllers"] == doubts


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
    now = {"without_leader": ["a-0"], "below_min_isr": ["b-0", "b-1"], "under_replicated": ["c-0"]}
    assert content["now"] == now | {"of_controllers": []}
    _, alone, _ = ask("--describe topics --kafka-version 3.9 --topic-name a")
    assert [f"  Now: {line}" for line in labelled(alone)["Now"]] == text.splitlines()[2:3]


SECONDS, SECONDS_WITH_PLUGINS, ONE_SCREEN = 30, 12, 15
"""The most processor seconds for a large cluster, and for one with hundreds of unknown keys; the most lines of an
answer about a cluster."""


@pytest.mark.sampled
def test_ten_thousand_partitions_take_seconds(ask):
    topics = "".join(
        describe(f"topic{number}", 10, configs=f"min.insync.replicas={1 + number % 3},retention.ms={number}")
        for number in range(1000)
    )
    began = time.process_time()
    _, text, _ = ask("--describe topics --kafka-version 3.9", topics=topics)
    assert "  1,000 topics with 10,000 partitions, 3 distinct cases, Kafka 3.9 (--kafka-version)" in text
    assert time.process_time() - began < SECONDS
    assert len(text.splitlines()) < ONE_SCREEN


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
    assert time.process_time() - began < SECONDS_WITH_PLUGINS


@pytest.mark.parametrize("name", ["\x1b[31mred", "a\u202eb", "<script>alert(1)</script>", "a\x07"])
def test_hostile_names_are_text(ask, ask_json, name):
    code, text, err = ask("--describe topics --kafka-version 3.9 --report DIR", topics=describe(name, 1))
    assert code in (SAFE, VIOLATED)
    assert not {"\x1b", "\u202e", "\x07"} & set(text + err)
    page = Path("DIR/index.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert not {"\x1b", "\u202e", "\x07"} & set(page)
    assert ask_json("--describe topics --kafka-version 3.9")[1]["answers"][0]["topics"] == [name]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--config none.properties", "none.properties: no such file; check the path"),
        ("--config t kafka", "--config is for a cluster, kafka is a model: give only one of them"),
        ("--config t --topic-name a",
         "--topic-name goes with --describe FILE; leave --topic-name out, or add --describe FILE"),
        ("doctor t --topic-name a",
         "--topic-name a: there is no such topic; no topic is described; add the output of kafka-topics --describe"),
        ("published --details", "--details goes with the matrix, one model or a cluster; leave --details out"),
        ("--config t --engine z3",
         "--engine z3 does not go with --config; name a model, as in: check kafka --engine z3"),
        ("--config t --fail-on loss", "--fail-on loss: 'loss' is not one of can-lose, defects, unknown"),
        ("doctor", "doctor needs a file, as in: isrcheck doctor server.properties topics.txt"),
        ("doctor t --no-such 3", "--no-such is no option of doctor; see isrcheck doctor --help"),
        ("--broker a --broker b", "b:2: the files mix versions: inter.broker.protocol.version=2.4 here and 2.1 in a:2;"
         " give the files of one version"),
    ],
)  # fmt: skip
def test_bad_arguments_get_one_line_with_the_cure(ask, line, says):
    of_versions = {name: f"broker.id=1\ninter.broker.protocol.version={number}\n" for name, number in
                   (("a", "2.1"), ("b", "2.4"))}  # fmt: skip
    assert ask(line, t=DURABLE, **of_versions) == (USAGE, "", f"check: {says}\n")


def test_secrets_are_not_shown(ask):
    _, text, _ = ask("--config t --details", t=f"{DURABLE}ssl.key.password=hunter2\n")
    assert "hunter2" not in text
    assert "[hidden]" in text or "ssl.key.password" in text


# ----------------------------------------------------------------------------------------------------- details and json


def test_details_name_what_was_understood_ignored_and_found(ask, tmp_path):
    code, text, _ = ask("--config t --kafka-version 3.9 --details", t=f"{DURABLE}cleanup.policy=compact\n")
    assert code == VIOLATED
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


def test_details_say_which_generation_was_searched(ask):
    """What no known defect of 1.0 explains is searched in 2.4; with the fake, all searches are those of 3.7."""
    _, text, _ = ask("--config t --kafka-version 1.0 --details", t=DURABLE)
    assert "Searched (all but the known defects: in a generation in which these are repaired)" in text.splitlines()
    _, text, _ = ask("--config t --kafka-version 3.9 --details")
    assert "Searched" in text.splitlines()
    assert "  a broker crashes  kafka 3.7  to the end  1,234 states" in text.splitlines()


def test_a_quick_answer_writes_no_trace(ask, tmp_path):
    ask("--config t --kafka-version 3.9", t=DURABLE)
    assert not (tmp_path / "counterexamples").exists()


@pytest.mark.parametrize(("acks", "code"), [("all", VIOLATED), ("1", SAFE)])
def test_the_answer_stands_if_its_traces_cannot_be_written(ask, tmp_path, acks, code):
    line = f"{DURABLE_3_9} --details"
    written, whole, _ = ask(line, t=DURABLE.replace("all", acks), b="broker.id=1\n")
    (tmp_path / "file").write_text("")
    unwritten, text, err = ask(f"{line} --out file/in")
    assert (written, unwritten) == (code, code)
    assert text.splitlines() == [line for line in whole.splitlines() if "trace show" not in line][:-1]
    assert err == (
        "check: file/in: the trace cannot be written: Not a directory; make room or give another folder with --out DIR;"
        " the answer stands\n"
    )


def test_the_answer_comes_without_a_report_if_the_disk_is_full(ask, monkeypatch, tmp_path):
    def put(self, folder, files):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))

    monkeypatch.setattr(MarkedFolder, "put", put)
    code, text, err = ask("--config t --kafka-version 3.9 --report DIR", t=DURABLE)
    assert (code, text.splitlines()[0]) == (VIOLATED, ONE_DEFECT)
    why = "check: DIR: No space left on device; give another folder with --report DIR"
    assert err == f"{why}; the answer comes without a report\n"
    # Any other form, and a folder that is not ours, are bad input as before.
    code, out, err = ask("kafka --protocol 0.10 --bound 1 --report DIR")
    assert (code, out, err) == (USAGE, "", f"{why}\n")
    (tmp_path / "DIR" / "notes").write_text("mine")
    code, out, _ = ask("--config t --kafka-version 3.9 --report DIR")
    assert (code, out) == (USAGE, "")


def test_the_answer_stands_if_its_report_cannot_be_written(ask, monkeypatch):
    writes = iter([None, OSError(errno.ENOSPC, "No space left")])

    def put(self, folder, files):
        if (error := next(writes)) is not None:
            raise error

    monkeypatch.setattr(MarkedFolder, "put", put)
    code, _, err = ask("--config t --kafka-version 3.9 --report DIR", t=DURABLE)
    assert code == VIOLATED
    assert err == (
        "check: DIR: the report cannot be written: No space left; make room, or give another folder with --report DIR;"
        " the answer stands\n"
    )


def test_a_report_names_what_each_trace_shows(ask, fake):
    fake.rule = saying(LOST, "missed_demotion", "stale_record")
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
    history.description_of.cache_clear()
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
    assert [content[key] for key in ("headline", "kind", "verdict")] == [CAN_LOSE, "can-lose", "PERMITTED"]
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
    avoided_by = [one["change"] for one in defects["8.24"]["avoided_by"]]
    assert avoided_by == ["min.insync.replicas=3", "auto.leader.rebalance.enable=false"]
    assert defects["8.10"]["needs_a_disk"] is True
