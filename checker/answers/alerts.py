"""Alerting rules of Prometheus for what `isrcheck doctor` found: which metrics to watch, and why.

In:  the answers about a cluster.
Out: the text of a YAML file (--alerts FILE), in which a finding without a metric is a comment; or objects for --json.

The names of MBeans are those of Kafka's sources (ReplicaManager, LogManager, ControllerMetadataMetrics,
QuorumControllerMetrics; KafkaController with ZooKeeper).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from isrcheck.checker.answers.answer import Answer
from isrcheck.checker.answers.questions import Question, Topic
from isrcheck.checker.answers.report import how_lost, subject
from isrcheck.checker.results.terminal import grouped


@dataclass(frozen=True)
class Alert:
    """An alert: the metric with its threshold, and the reasons for which a cluster needs it."""

    name: str
    """The name under which Prometheus shows the alert."""
    source: str
    """The MBean of Kafka that the metric comes from; or in words what the metric measures."""
    query: str
    """The value that is watched, in PromQL; {} stands for the metric of the MBean."""
    severity: str
    """`critical` or `warning`."""
    why: Callable[[Answer], str | None]
    """Returns what the alert shows about an answer's topics; None if they do not need the alert."""
    pause: str = "0m"
    """How long the condition has to hold before the alert fires (`for` in a rule of Prometheus)."""
    threshold: str = "> 0"
    """The comparison with which the alert fires."""
    since: str = ""
    """The first release with the metric; empty if every release has it."""

    @property
    def metric(self) -> str:
        """The name of the metric within its MBean; without an MBean, what the metric measures."""
        return self.source.rpartition("name=")[2]

    def is_for(self, answer: Answer) -> bool:
        """Whether the release of an answer has the metric."""
        return not self.since or answer.cluster.release.has(self.since)

    @property
    def expression(self) -> str:
        """The condition, in PromQL."""
        return f"{self.query.format(metric_of(self.source))} {self.threshold}"


def metric_of(mbean: str) -> str:
    """Return the name that the example configurations of the JMX exporter for Kafka give to the metric of an MBean."""
    return re.sub(r"\.|:type=|,name=", "_", mbean).replace("PerSec", "_total").lower()


@dataclass(frozen=True)
class Rule:
    """An alert that a cluster needs, with the reasons why."""

    alert: Alert
    findings: dict[str, list[str]]
    """Each text that says what the alert shows, with the topics and settings (`report.subject`) that it is about."""

    @property
    def summary(self) -> str:
        """Everything that the alert shows, in one line."""
        return "; ".join(self.findings)

    @property
    def description(self) -> str:
        """The topics for which the rule is there, and the MBean that its metric comes from."""
        subjects = "; or ".join(" | ".join(subjects) for subjects in self.findings.values())
        return f"For {subjects}. Source: {self.alert.source}"


MANAGER = "kafka.server:type=ReplicaManager,name="
CONTROLLER = "kafka.controller:type=KafkaController,name="
"""The beginnings of the names of MBeans: those of a broker's replicas, and those of the controller."""


def _offline(answer: Answer) -> str:
    unclean = "; the settings allow an unclean election, which loses records" if answer.case.unclean_election else ""
    return f"no replica that may lead is alive: nothing can be written or read{unclean}"


def _below(answer: Answer) -> str | None:
    case = answer.case
    if case.acks != "all" or case.min_insync_replicas < 2:
        return None
    return f"fewer than {case.min_insync_replicas} replicas are in sync: writes with acks=all are refused"


def _at(answer: Answer) -> str | None:
    case = answer.case
    if has_no_spare(answer):
        return None
    if case.min_insync_replicas < 2:
        return "the leader is the only replica in sync: if it is lost, so are the records that it acknowledges now"
    return "one more replica out of sync, and writes with acks=all are refused"


def has_no_spare(answer: Answer) -> bool:
    """Whether min.insync.replicas is the number of replicas or more, so that healthy partitions are at the minimum."""
    return answer.case.min_insync_replicas >= answer.case.replication_factor


def _unclean(answer: Answer) -> str:
    by = "the settings allow it at any time" if answer.case.unclean_election else "the settings allow it only by hand"
    return f"a replica outside the ISR was elected, and records that were acknowledged may be lost ({by})"


def _lagging(answer: Answer) -> str | None:
    if answer.case.replication_factor < 2:
        return None
    how = how_lost(answer)
    return "a replica is out of sync" + (f"; what the search found: {how}" if how else "")


def _shrinking(answer: Answer) -> str | None:
    defects = [exposure.failure.number for exposure in answer.exposed if exposure.loses_records]
    if answer.case.replication_factor < 2 or not defects:
        return None
    says = "replicas leave the ISR again and again; known defects of this release lose records then"
    return f"{says} ({', '.join(defects)})"


def _fails(answer: Answer, topic: Topic) -> bool:
    finding = answer.findings.get(Question(topic))
    return finding is not None and finding.fails


def _disk(answer: Answer) -> str | None:
    says = "a log directory is offline; one lost disk can lose acknowledged records"
    return says if _fails(answer, Topic.DISK) else None


def _restarts(answer: Answer) -> str | None:
    if not (_fails(answer, Topic.POWER) or _fails(answer, Topic.POWER_OF_ALL)):
        return None
    return (
        "brokers started within 2 minutes of each other: if they lost power, records that were not flushed can be lost"
        " (restarts by hand in such quick succession look the same; brokers that come back one by one are not noticed)"
    )


def _transactions(answer: Answer) -> str | None:
    if not answer.case.transactions:
        return None
    # ProducerStateManager.hasLateTransaction
    return (
        "transactions are open for 5 minutes longer than transaction.max.timeout.ms permits: read_committed consumers"
        " wait at them"
    )


_STARTED = f"(process_start_time_seconds and on (instance) {metric_of(f'{MANAGER}LeaderCount')})"
"""When each broker started: the processes that have the metric of a broker."""

ALERTS = (
    Alert("KafkaOfflinePartitions", f"{CONTROLLER}OfflinePartitionsCount", "max({})", "critical", _offline),
    Alert(
        "KafkaUncleanLeaderElection",
        "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
        "sum(increase({}[10m]))",
        "critical",
        _unclean,
    ),
    Alert("KafkaUnderMinIsr", f"{MANAGER}UnderMinIsrPartitionCount", "sum({})", "critical", _below, since="1.0"),
    Alert("KafkaAtMinIsr", f"{MANAGER}AtMinIsrPartitionCount", "sum({})", "warning", _at, pause="5m", since="2.3"),
    Alert(
        "KafkaUnderReplicatedPartitions",
        f"{MANAGER}UnderReplicatedPartitions",
        "sum({})",
        "warning",
        _lagging,
        pause="10m",
    ),
    Alert(
        "KafkaIsrShrinks", f"{MANAGER}IsrShrinksPerSec", "sum(increase({}[15m]))", "warning", _shrinking, pause="15m"
    ),
    Alert(
        "KafkaNoActiveController",
        f"{CONTROLLER}ActiveControllerCount",
        "sum({})",
        "critical",
        lambda answer: "no controller, or more than one, is active: without one, no leader is elected",
        pause="1m",
        threshold="!= 1",
    ),
    Alert(
        "KafkaOfflineLogDirectory",
        "kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
        "sum({})",
        "critical",
        _disk,
        since="1.0",
    ),
    Alert(
        "KafkaBrokersRestartedTogether",
        "the start time of the process, which the exporter itself provides",
        # The start times alone: a pod that is created again is a new instance, without samples from before the outage.
        f"count({_STARTED} > time() - 900 and {_STARTED} > scalar(max({_STARTED})) - 120)",
        "warning",
        _restarts,
        threshold="> 1",
    ),
    Alert(
        "KafkaLateTransactions",
        f"{MANAGER}PartitionsWithLateTransactionsCount",
        "sum({})",
        "warning",
        _transactions,
        pause="5m",
        since="3.2",
    ),
)


def rules_of(answers: Sequence[Answer]) -> list[Rule]:
    """Return the rules that a cluster needs."""
    subjects = [subject(answer.cluster) for answer in answers]
    without_spare = sorted({topic for answer in answers if has_no_spare(answer) for topic in answer.cluster.topics})
    rules = []
    for alert in ALERTS:
        found = [
            (alert.why(answer), topics)
            for answer, topics in zip(answers, subjects, strict=True)
            if alert.is_for(answer)
        ]
        findings = grouped(dict.fromkeys((why, topics) for why, topics in found if why is not None))
        if findings:
            is_at = alert.why is _at and without_spare
            rules.append(Rule(_without_topics(alert, without_spare) if is_at else alert, findings))
    return rules


def _without_topics(alert: Alert, topics: Sequence[str]) -> Alert:
    """Return the alert KafkaAtMinIsr with the metric of each partition, and without these topics."""
    names = "|".join(topics).replace(".", r"\\.")  # in a string of PromQL, a backslash is written twice
    query = f'sum({{}}{{{{topic!~"{names}"}}}})'
    return replace(alert, source="kafka.cluster:type=Partition,name=AtMinIsr", query=query)


def as_yaml(answers: Sequence[Answer]) -> str:
    """Return the text of a file of rules for Prometheus."""
    lines = [
        "# Alerting rules for Prometheus, by isrcheck doctor. Metrics have the names that the JMX exporter's example",
        "# configurations for Kafka give them. The rules sum over all brokers; with several clusters, select one.",
        *(f"# {line}" for answer in answers for line in _without_metric(answer)),
        "groups:",
        "  - name: isrcheck-doctor",
        "    rules:",
    ]
    for rule in rules_of(answers):
        lines += [
            f"      - alert: {rule.alert.name}",
            f"        expr: {_quoted(rule.alert.expression)}",
            f"        for: {rule.alert.pause}",
            "        labels:",
            f"          severity: {rule.alert.severity}",
            "        annotations:",
            f"          summary: {_quoted(rule.summary)}",
            f"          description: {_quoted(rule.description)}",
        ]
    return "\n".join(lines) + "\n"


def as_objects(answers: Sequence[Answer]) -> list[dict[str, object]]:
    """Return the rules as objects for --json, which docs/json.md describes."""
    return [
        {
            "name": rule.alert.name,
            "metric": rule.alert.source,
            "expression": rule.alert.expression,
            "threshold": rule.alert.threshold,
            "for": rule.alert.pause,
            "labels": {"severity": rule.alert.severity},
            "findings": [{"says": says, "subjects": subjects} for says, subjects in rule.findings.items()],
        }
        for rule in rules_of(answers)
    ]


def _without_metric(answer: Answer) -> Iterator[str]:
    """Yield a line for each finding that no alert shows."""
    topics = subject(answer.cluster)
    if has_no_spare(answer):
        yield f"KafkaAtMinIsr leaves out what is at the minimum also when all is well: {topics}"
    for alert in ALERTS:
        if not alert.is_for(answer) and alert.why(answer):
            yield f"No {alert.name}, whose metric {alert.metric} came with Kafka {alert.since}: {topics}"
    if any(_fails(answer, topic) for topic in (Topic.DUPLICATES, Topic.ORDER)):
        yield f"No metric of the brokers shows that records were duplicated or reordered: {topics}"
    if silent := [exposure.failure.number for exposure in answer.exposed]:
        yield f"No metric shows that a known defect ({', '.join(silent)}) has happened: {topics}"


def _quoted(text: str) -> str:
    """Return the text as a YAML scalar; {{, with which a template of Prometheus begins, becomes { {."""
    return json.dumps(text.replace("{{", "{ {"))
