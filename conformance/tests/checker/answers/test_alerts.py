"""`isrcheck doctor --alerts FILE`: which alerting rules a cluster gets, and what happens to the file."""

from __future__ import annotations

import re
import shlex

import pytest

from conformance.tests.support.engine import checking
from isrcheck.checker import cli
from isrcheck.checker.answers.alerts import ALERTS
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
        "# No rule for AtMinIsrPartitionCount, which is above 0 also when all is well: Kafka 4.1, 2 replicas,"
        " min.insync.replicas=2, acks=all\n"
    ) in text
    text = rules("replication.factor=1\nacks=all\n")[1]
    assert names(text) & {"KafkaUnderReplicatedPartitions", "KafkaAtMinIsr", "KafkaIsrShrinks"} == set()


def test_names_follow_the_exporter():
    """Each metric is that of the MBean: domain, type and name in lower case; PerSec is a total."""
    for alert in ALERTS:
        match = re.fullmatch(r"kafka\.(\w+):type=(\w+),name=(\w+?)(PerSec)?", alert.source)
        if match is not None:
            name = "_".join(("kafka", *match.groups()[:3])).lower() + ("_total" if match[4] else "")
            assert re.search(rf"\b{name}\b", alert.expression), alert.name


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
