"""The alerting rules that a cluster gets, as a file (--alerts FILE) and in --json.

They are compared with what has to read them: the expressions with a parser of PromQL, the names of metrics with the
rules of the exporters, the file with the format of Prometheus' rules.
"""

from __future__ import annotations

import json
import re
import shlex

import promql_parser as promql
import pytest
import yaml

from conformance.tests.support.engine import checking
from isrcheck.checker import cli
from isrcheck.checker.answers.alerts import ALERTS, MANAGER
from isrcheck.commands.exit_codes import USAGE, VIOLATED

DURABLE = "replication.factor=3\nmin.insync.replicas=2\nacks=all\n"
ALWAYS = {"KafkaOfflinePartitions", "KafkaUncleanLeaderElection", "KafkaNoActiveController"}
REPLICATED = ALWAYS | {"KafkaUnderReplicatedPartitions", "KafkaAtMinIsr"}
OF_FAULTS = {"KafkaOfflineLogDirectory", "KafkaBrokersRestartedTogether"}


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Run `check doctor` on the file `t` with this content; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    check = checking(cli.main, capsys)

    def run(content, words="--alerts alerts.yml"):
        (tmp_path / "t").write_text(content, encoding="utf-8")
        return check("doctor", "t", "--kafka-version", "4.1", *shlex.split(words))

    return run


@pytest.fixture
def rules(ask, tmp_path):
    """Return the file of rules for this content."""

    def run(content, words=""):
        code, out, err = ask(content, f"--alerts alerts.yml --force {words}")
        assert (out.splitlines()[-1], err) == ("alerts.yml: alerting rules for Prometheus", "")
        return code, (tmp_path / "alerts.yml").read_text(encoding="utf-8")

    return run


def names(text):
    return set(re.findall(r"- alert: (\w+)", text))


def annotation(text, alert, name):
    return re.search(rf'alert: {alert}\n(?:(?!      - ).*\n)*? +{name}: "(.*)"', text)[1]


def test_a_rule_in_full(rules):
    code, text = rules(DURABLE)
    assert code == VIOLATED  # by known defects, as without --alerts
    at = text.index("      - alert: KafkaUnderMinIsr")
    assert text[at : text.index("      - alert:", at + 1)] == (
        "      - alert: KafkaUnderMinIsr\n"
        '        expr: "sum(kafka_server_replicamanager_underminisrpartitioncount) > 0"\n'
        "        for: 0m\n"
        "        labels:\n"
        "          severity: critical\n"
        "        annotations:\n"
        '          summary: "fewer than 2 replicas are in sync: writes with acks=all are refused"\n'
        '          description: "For Kafka 4.1, 3 replicas, min.insync.replicas=2, acks=all. Source:'
        ' kafka.server:type=ReplicaManager,name=UnderMinIsrPartitionCount"\n'
    )
    assert text.splitlines()[2].startswith("# No metric shows that a known defect (8.24, ")
    assert text.splitlines()[3:6] == ["groups:", "  - name: isrcheck-doctor", "    rules:"]


def test_the_settings_choose_the_rules(rules):
    assert names(rules(DURABLE)[1]) >= REPLICATED | {"KafkaUnderMinIsr"}
    assert "KafkaUnderMinIsr" not in names(rules("replication.factor=3\nmin.insync.replicas=1\nacks=all\n")[1])
    assert "KafkaUnderMinIsr" not in names(rules("replication.factor=3\nmin.insync.replicas=2\nacks=1\n")[1])
    assert "KafkaLateTransactions" not in names(rules(DURABLE)[1])
    assert "KafkaLateTransactions" in names(rules(f"{DURABLE}transactional.id=a\n")[1])


def test_what_an_alert_says_depends_on_the_settings(rules):
    one = rules("replication.factor=3\nmin.insync.replicas=1\nacks=all\nunclean.leader.election.enable=true\n")[1]
    assert annotation(one, "KafkaAtMinIsr", "summary") == (
        "the leader is the only replica in sync: if it is lost, so are the records that it acknowledges now"
    )
    assert annotation(one, "KafkaUncleanLeaderElection", "summary").endswith("(the settings allow it at any time)")
    two = rules(DURABLE)[1]
    assert annotation(two, "KafkaAtMinIsr", "summary") == (
        "one more replica out of sync, and writes with acks=all are refused"
    )
    assert annotation(two, "KafkaUncleanLeaderElection", "summary").endswith("(the settings allow it only by hand)")


def test_no_rule_that_always_fires(rules):
    text = rules("replication.factor=2\nmin.insync.replicas=2\nacks=all\n")[1]
    assert "KafkaAtMinIsr" not in names(text)
    assert (
        "# KafkaAtMinIsr leaves out what is at the minimum also when all is well: Kafka 4.1, 2 replicas,"
        " min.insync.replicas=2, acks=all\n"
    ) in text
    text = rules("replication.factor=1\nacks=all\n")[1]
    assert names(text) & {"KafkaUnderReplicatedPartitions", "KafkaAtMinIsr", "KafkaIsrShrinks"} == set()


def described(name, replicas):
    """Output of kafka-topics for a topic with 1 partition and min.insync.replicas=2."""
    return (
        f"Topic: {name}\tPartitionCount: 1\tReplicationFactor: {len(replicas) // 2 + 1}\t"
        "Configs: min.insync.replicas=2\n"
        f"\tTopic: {name}\tPartition: 0\tLeader: 1\tReplicas: {replicas}\tIsr: {replicas}\n"
    )


def test_topics_without_a_spare_replica_are_left_out_of_the_minimum_alone(rules):
    """The metric of each partition watches the other topics."""
    text = rules(described("a.b", "1,2") + described("c", "1,2,3") + described("d", "1,2"))[1]
    (rule,) = [one for one in yaml.safe_load(text)["groups"][0]["rules"] if one["alert"] == "KafkaAtMinIsr"]
    assert rule["expr"] == 'sum(kafka_cluster_partition_atminisr{topic!~"a\\\\.b|d"}) > 0'
    assert metrics(promql.parse(rule["expr"])) == {
        exported("kafka.cluster:type=Partition,name=AtMinIsr,topic=c,partition=0")
    }
    assert rule["annotations"]["description"].endswith("Source: kafka.cluster:type=Partition,name=AtMinIsr")
    assert "# KafkaAtMinIsr leaves out what is at the minimum also when all is well: " in text


@pytest.mark.parametrize(
    ("release", "lacking"),
    [
        ("0.11.0.3", {"KafkaUnderMinIsr": "1.0", "KafkaOfflineLogDirectory": "1.0"}),
        ("1.0.2", {"KafkaAtMinIsr": "2.3", "KafkaLateTransactions": "3.2"}),
        ("2.2.2", {"KafkaAtMinIsr": "2.3", "KafkaLateTransactions": "3.2"}),
        ("2.3.0", {"KafkaLateTransactions": "3.2"}),
        ("3.1.0", {"KafkaLateTransactions": "3.2"}),
        ("3.2.0", {}),
    ],
)
def test_no_rule_for_a_metric_that_the_release_lacks(rules, release, lacking):
    """The releases are those of Kafka's tags without and with the metric."""
    text = rules(f"{DURABLE}transactional.id=a\n", f"--kafka-version {release}")[1]
    said = dict(re.findall(r"# No (\w+), whose metric \w+ came with Kafka ([\d.]+): ", text))
    assert lacking.items() <= said.items()
    assert said.keys() & names(text) == set()
    assert said.keys() | names(text) >= REPLICATED | {"KafkaUnderMinIsr", "KafkaLateTransactions"}


def test_late_transactions_are_those_of_producer_state_manager(rules):
    text = rules(f"{DURABLE}transactional.id=a\n")[1]
    assert annotation(text, "KafkaLateTransactions", "summary") == (
        "transactions are open for 5 minutes longer than transaction.max.timeout.ms permits: read_committed consumers"
        " wait at them"
    )


MBEANS = {
    # org.apache.kafka.controller.metrics.ControllerMetadataMetrics; kafka.controller.KafkaController with ZooKeeper
    "kafka.controller:type=KafkaController,name=OfflinePartitionsCount": "Value",
    "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec": "Count",
    # org.apache.kafka.controller.metrics.QuorumControllerMetrics; kafka.controller.KafkaController with ZooKeeper
    "kafka.controller:type=KafkaController,name=ActiveControllerCount": "Value",
    # kafka.server.ReplicaManager
    "kafka.server:type=ReplicaManager,name=UnderMinIsrPartitionCount": "Value",
    "kafka.server:type=ReplicaManager,name=AtMinIsrPartitionCount": "Value",
    "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions": "Value",
    "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec": "Count",
    "kafka.server:type=ReplicaManager,name=PartitionsWithLateTransactionsCount": "Value",
    "kafka.server:type=ReplicaManager,name=LeaderCount": "Value",
    # kafka.cluster.Partition
    "kafka.cluster:type=Partition,name=AtMinIsr,topic=c,partition=0": "Value",
    # kafka.log.LogManager
    "kafka.log:type=LogManager,name=OfflineLogDirectoryCount": "Value",
}
"""MBeans of Kafka, below the class that registers them, with the attribute that is exported: that of a gauge is Value,
that of a meter is Count."""

EXPORTER = (
    (r"kafka.(\w+)<type=(.+), name=(.+), (.+)=(.+), (.+)=(.+)><>Value", r"kafka_\1_\2_\3"),
    (r"kafka.(\w+)<type=(.+), name=(.+)PerSec\w*><>Count", r"kafka_\1_\2_\3_total"),
    (r"kafka.(\w+)<type=(.+), name=(.+)><>Value", r"kafka_\1_\2_\3"),
)
"""The rules that apply to these MBeans, with lowercaseOutputName, in each of: prometheus/jmx_exporter,
examples/kafka-2_0_0.yml and kafka-kraft-3_0_0.yml; strimzi-kafka-operator, examples/metrics/kafka-metrics.yaml."""


def exported(mbean):
    """The name under which the exporter has an MBean."""
    text = f"{mbean.replace(':', '<').replace(',', ', ')}><>{MBEANS[mbean]}"
    return next(re.sub(rule, name, text).lower() for rule, name in EXPORTER if re.fullmatch(rule, text))


def metrics(expression):
    """The names of the metrics in a parsed expression."""
    match expression:
        case promql.VectorSelector(name=name):
            return {name}
        case promql.MatrixSelector(vector_selector=inner) | promql.AggregateExpr(expr=inner):
            return metrics(inner)
        case promql.BinaryExpr(lhs=left, rhs=right):
            return metrics(left) | metrics(right)
        case promql.Call(args=arguments):
            return set().union(*map(metrics, arguments))
        case promql.ParenExpr(expr=inner):
            return metrics(inner)
        case promql.NumberLiteral():
            return set()


def test_every_metric_is_one_that_the_exporters_have():
    names = {exported(mbean) for mbean in MBEANS}
    for alert in ALERTS:
        used = metrics(promql.parse(alert.expression))
        if alert.source in MBEANS:
            assert used == {exported(alert.source)}
        else:
            assert used == {"process_start_time_seconds", exported(f"{MANAGER}LeaderCount")}
            assert used - names == {"process_start_time_seconds"}  # of the exporter's agent, which is in the process


def test_every_expression_compares_a_value_with_its_threshold():
    for alert in ALERTS:
        match promql.parse(alert.expression):
            case promql.BinaryExpr(op=sign, lhs=promql.AggregateExpr(), rhs=promql.NumberLiteral(val=number)):
                assert f"{sign} {number:g}" == alert.threshold
            case other:
                pytest.fail(f"{alert.name}: {other}")


def test_a_restart_of_several_brokers_is_seen_without_samples_from_before_it(rules):
    """After a long outage, and of new pods, Prometheus has no earlier sample; an orderly roll is no common restart."""
    text = rules(DURABLE)[1]
    (alert,) = [alert for alert in ALERTS if alert.name == "KafkaBrokersRestartedTogether"]
    started = "(process_start_time_seconds and on (instance) kafka_server_replicamanager_leadercount)"
    assert alert.expression == (f"count({started} > time() - 900 and {started} > scalar(max({started})) - 120) > 1")
    assert alert.severity == "warning"
    assert annotation(text, alert.name, "summary") == (
        "brokers started within 2 minutes of each other: if they lost power, records that were not flushed can be lost"
        " (restarts by hand in such quick succession look the same; brokers that come back one by one are not noticed)"
    )


def test_the_file_has_the_format_of_prometheus(rules):
    """As promtool checks it: https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules"""
    for content in (DURABLE, f"{DURABLE}transactional.id=a\n", "replication.factor=1\nacks=all\n"):
        file = yaml.safe_load(rules(content)[1])
        (group,) = file["groups"]
        assert (file.keys(), group.keys(), group["name"]) == ({"groups"}, {"name", "rules"}, "isrcheck-doctor")
        assert len({rule["alert"] for rule in group["rules"]}) == len(group["rules"])
        for rule in group["rules"]:
            assert list(rule) == ["alert", "expr", "for", "labels", "annotations"]
            promql.parse(rule["expr"])
            assert re.fullmatch(r"\d+m", rule["for"])
            assert rule["labels"]["severity"] in ("critical", "warning")
            assert list(rule["annotations"]) == ["summary", "description"]
            assert all(isinstance(text, str) and "{{" not in text for text in rule["annotations"].values())


@pytest.mark.parametrize("words", ["doctor t", "--config t"])
def test_the_rules_are_in_json_too(rules, tmp_path, capsys, words):
    alerts = yaml.safe_load(rules(DURABLE)[1])["groups"][0]["rules"]
    assert cli.main([*words.split(), "--kafka-version", "4.1", "--json"]) == VIOLATED
    found = {alert["name"]: alert for alert in json.loads(capsys.readouterr().out)["alerts"]}
    assert [(name, alert["expression"]) for name, alert in found.items()] == [
        (rule["alert"], rule["expr"]) for rule in alerts
    ]
    assert found["KafkaUnderMinIsr"] == {
        "name": "KafkaUnderMinIsr",
        "metric": "kafka.server:type=ReplicaManager,name=UnderMinIsrPartitionCount",
        "expression": "sum(kafka_server_replicamanager_underminisrpartitioncount) > 0",
        "threshold": "> 0",
        "for": "0m",
        "labels": {"severity": "critical"},
        "findings": [
            {
                "says": "fewer than 2 replicas are in sync: writes with acks=all are refused",
                "subjects": ["Kafka 4.1, 3 replicas, min.insync.replicas=2, acks=all"],
            }
        ],
    }


def test_the_file_goes_with_the_doctor_s_answer(ask):
    words = "--alerts alerts.yml --lose broker:1"
    assert ask(DURABLE, words) == (USAGE, "", "check: --alerts does not go with --lose; leave one of them out\n")


def test_an_existing_file_stays(ask, tmp_path):
    (tmp_path / "alerts.yml").write_text("mine", encoding="utf-8")
    complaint = "check: --alerts alerts.yml: the file exists; give another name, or replace the file with --force\n"
    assert ask(DURABLE) == (USAGE, "", complaint)
    assert (tmp_path / "alerts.yml").read_text(encoding="utf-8") == "mine"
    assert ask(DURABLE, "--alerts alerts.yml --force")[0] == VIOLATED
    assert (tmp_path / "alerts.yml").read_text(encoding="utf-8") != "mine"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--force", "--force has no effect without --alerts FILE or --save FILE; leave --force out"),
        ("--alerts none/a.yml", "--alerts none/a.yml: there is no folder none; create the folder first"),
        ("--alerts .", "--alerts .: not a regular file; give another name"),
    ],
)
def test_words_that_make_no_sense(ask, words, complaint):
    assert ask(DURABLE, words) == (USAGE, "", f"check: {complaint}\n")


def test_every_alert_has_its_finding(rules):
    """Power losses and disks of a release that does not claim to survive them, and defects of a release."""
    _, text = rules(f"{DURABLE}", "--kafka-version 2.1")
    assert names(text) >= OF_FAULTS
    assert "# No metric shows that a known defect (" in text
