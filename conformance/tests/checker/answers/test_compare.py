"""`isrcheck doctor --compare RELEASE` and `--compare-with FILE`: what a change fixes, brings and leaves, by a fake."""

from __future__ import annotations

import itertools
import json
import shlex

import pytest

from conformance.tests.checker.answers.fake import finding, saying
from conformance.tests.checker.cluster.live.stub import StubCluster, served
from conformance.tests.support.engine import checking
from isrcheck.checker import cli
from isrcheck.checker.answers.questions import Topic
from isrcheck.checker.results.verdict import Word
from isrcheck.commands.exit_codes import SAFE, UNDECIDED, USAGE, VIOLATED
from isrcheck.models.kafka.failures.catalogue import During, failures

DURABLE = "replication.factor=3\nmin.insync.replicas=2\nacks=all\n"
OTHER = "replication.factor=3\nmin.insync.replicas=2\n"
WITH_ZOOKEEPER = "broker.id=1\nzookeeper.connect=z:2181\n"
STAYS = "metadata.version stays {}, as an upgrade of the binaries does not raise it (kafka-features upgrade does)"
ELR_OFF = (
    "eligible leader replicas (KIP-966): need metadata.version 4.0-IV1 and eligible.leader.replicas.version=1, which"
    " kafka-features upgrade --release-version raises together"
)


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys, fake):
    """Compare in a folder with the given files: return the exit code, and the object or the message."""
    monkeypatch.chdir(tmp_path)
    check = checking(cli.main, capsys)

    def run(line, **files):
        for name, content in files.items():
            (tmp_path / name).write_text(content, encoding="utf-8")
        code, out, err = check("doctor", *shlex.split(line), "--json")
        return code, json.loads(out) if out else err

    return run


def listed(compared: dict, outcome: str) -> list[str]:
    """The dangers of the only configuration with this outcome, of defects only the numbers."""
    (pair,) = compared["configurations"]
    return [one["says"].split()[0] if one["label"] == "Defect" else one["says"] for one in pair[outcome]]


def states(compared: dict) -> dict[str, tuple[str, str]]:
    """The states before and after of what is unchanged in the only configuration, by its first word if a defect."""
    (pair,) = compared["configurations"]
    unchanged = zip(listed(compared, "unchanged"), pair["unchanged"], strict=True)
    return {says: (one["before"], one["after"]) for says, one in unchanged}


UNCHANGED = [
    "8.24",
    "a loss of power of all brokers can lose an acknowledged record",
    "with 2 brokers down, not every write is acknowledged",
    "the loss of 2 brokers can lose a committed record",
]


def test_text(tmp_path, monkeypatch, capsys, fake):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").write_text(DURABLE, encoding="utf-8")
    check = checking(cli.main, capsys)
    code, out, err = check("doctor", "t", "--kafka-version", "3.9", "--metadata-version", "3.9", "--compare", "4.1")
    assert (code, err) == (VIOLATED, "")
    assert out.splitlines() == [
        "After an upgrade from Kafka 3.9 to 4.1: 0 fixed, 0 new, 1 undecided, 4 unchanged",
        "  Assumed    only the brokers become Kafka 4.1, all of them; clients stay what they are",
        f"  Assumed    {STAYS.format('3.9')}",
        "  Assumed    producers are Java clients of Kafka 3.9, by default with enable.idempotence=true"
        " (--producer FILE)",
        "  Assumed    Kafka's defaults of brokers (unclean.leader.election.enable=false,"
        " auto.leader.rebalance.enable=true; --broker FILE)",
        f"  Stays off  {ELR_OFF}",
        "",
        "Kafka 3.9, 3 replicas, min.insync.replicas=2, acks=all",
        "  Before     Keeps its promises, but for 1 known defect of this release, and unless 2 brokers are lost or all"
        " lose power",
        "  After      Keeps its promises, but for 1 known defect of this release, and unless 2 brokers are lost or all"
        " lose power",
        "  Undecided  Defect: 8.7e A response in flight carries records of the next epoch (undecided before, absent"
        " after)",
        "  Unchanged  Defect: 8.24 A leader that misses its own demotion acknowledges what others have truncated",
        "             Power: a loss of power of all brokers can lose an acknowledged record",
        "             Brokers: with 2 brokers down, not every write is acknowledged",
        "             Brokers: the loss of 2 brokers can lose a committed record",
    ]


@pytest.mark.parametrize(
    ("line", "fixed", "new"),
    [("--kafka-version 3.7 --compare 3.9.1", ["8.7d"], []), ("--kafka-version 3.9.1 --compare 3.7", [], ["8.7d"])],
)
def test_a_defect_that_a_release_repairs(ask, fake, line, fixed, new):
    fake.rule = saying(finding(Word.VIOLATED), "stale_diverging_response")
    code, out = ask(f"t {line}", t=DURABLE)
    assert (code, listed(out, "fixed"), listed(out, "new"), listed(out, "unchanged")) == (
        VIOLATED,
        fixed,
        new,
        UNCHANGED,
    )


def test_metadata_version_stays(ask, fake):
    _, out = ask("t --kafka-version 3.7 --compare 4.3", t=DURABLE)
    assert out["assumed"][1] == STAYS.format("that of 3.7")
    assert out["stays_off"] == [ELR_OFF]
    cases = list(dict.fromkeys(dict(case.switches).get("ELR") for case, _ in fake.asked if case.protocol == "4.3"))
    assert cases == ["off"]


def test_older_features_stay_off_together(ask):
    _, out = ask("t --kafka-version 3.4 --compare 4.3", t=DURABLE)
    assert [line.split(":")[0] for line in out["stays_off"]] == [
        "a fetch carries the broker's epoch (KIP-903)",
        "a smaller ISR begins no new leader epoch (KAFKA-15021)",
        "eligible leader replicas (KIP-966)",
    ]


@pytest.mark.parametrize("given", ["--metadata-version 4.1", ""])
def test_eligible_leader_replicas_stay_on(ask, fake, given):
    _, out = ask(f"t --kafka-version 4.1 {given} --compare 4.3", t=DURABLE)
    assert out["stays_off"] == []
    assert {dict(case.switches).get("ELR") for case, _ in fake.asked if case.protocol == "4.3"} == {None}


def test_defaults_of_brokers_change_and_those_of_clients_stay(ask, fake):
    code, out = ask("t b --kafka-version 0.10.2 --compare 3.9", t=OTHER, b=WITH_ZOOKEEPER)
    (pair,) = out["configurations"]
    assert pair["defaults"] == [{"key": "unclean.leader.election.enable", "before": "true", "after": "false"}]
    assert "unclean.leader.election.enable" not in {one["key"] for one in pair["settings"]}
    assert {case.acks for case, question in fake.asked if question.topic is Topic.POWER} == {"1"}
    assert out["assumed"][1] == "inter.broker.protocol.version becomes that of 3.9, its default, as no file gives it"
    assert (code, out["change"], out["from_release"], out["to_release"]) == (SAFE, "upgrade", "0.10.2", "3.9")


def test_a_known_failure_of_clients_stays_with_their_release(ask, fake):
    fake.rule = saying(finding(Word.VIOLATED), "buffer_is_reused_in_flight")
    _, upgrade = ask("t --kafka-version 3.7 --compare 4.3", t=DURABLE)
    _, downgrade = ask("t --kafka-version 4.3 --metadata-version 3.7 --compare 3.7", t=DURABLE)
    assert "12.8" in listed(upgrade, "unchanged")
    assert "12.8" not in listed(downgrade, "new")


def test_inter_broker_protocol_version_stays_if_a_file_gives_it(ask):
    broker = WITH_ZOOKEEPER + "inter.broker.protocol.version=2.4\n"
    _, out = ask("t b --kafka-version 2.4 --compare 3.9", t=DURABLE, b=broker)
    assert out["assumed"][1] == "inter.broker.protocol.version stays 2.4 (b:3)"


def test_zookeeper_that_is_only_assumed_stays(ask, fake):
    _, out = ask("t --kafka-version 2.7 --compare 3.9", t=DURABLE)
    assert {case.protocol for case, _ in fake.asked} == {"2.8"}
    assert out["change"] == "upgrade"


def test_a_downgrade_is_said_and_lowers_an_assumed_metadata_version(ask):
    _, out = ask("t --kafka-version 4.2 --compare 4.1", t=DURABLE)
    assert out["headline"].startswith("After a downgrade from Kafka 4.2 to 4.1: ")
    assert out["assumed"][1] == (
        "metadata.version was lowered to that of 4.1 before (kafka-features downgrade), as brokers need it"
    )


def test_eligible_leader_replicas_stay_on_in_a_downgrade_that_their_feature_permits(ask, fake):
    """Level 1 of the feature needs metadata.version 4.0-IV1, although only 4.1-IV0 enables it in new clusters."""
    _, out = ask("t --kafka-version 4.1 --compare 4.0", t=DURABLE)
    assert out["assumed"][2] == (
        "eligible.leader.replicas.version stays 1, as it needs only metadata.version 4.0-IV1; kafka-features downgrade"
        " --release-version would lower it too"
    )
    assert {dict(case.switches).get("ELR") for case, _ in fake.asked if case.protocol == "4.0"} == {"on"}
    assert out["stays_off"] == []


def test_no_eligible_leader_replicas_stay_off_in_a_downgrade(ask, fake):
    files = {"t": DURABLE, "b": "eligible.leader.replicas.version=0\n"}
    _, out = ask("t b --kafka-version 4.1 --compare 4.0", **files)
    assert "eligible.leader.replicas.version stays" not in " ".join(out["assumed"])
    assert {dict(case.switches).get("ELR") for case, _ in fake.asked if case.protocol == "4.0"} == {None}


def test_the_metadata_versions_below_which_kafka_lowers_nothing(ask):
    """Every pair of neighbouring releases since 3.3, by MetadataVersion.didMetadataChange."""
    every = ["3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"]
    refused = [
        new
        for old, new in itertools.pairwise(every)
        if ask(f"t --kafka-version {new} --metadata-version {new} --compare {old}", t=DURABLE)[1].find(
            "refuses to lower"
        )
        > 0
    ]
    assert refused == ["3.4", "3.5", "3.6", "3.7", "4.0", "4.3", "4.4"]


def test_nothing_is_searched_for_a_broken_side(ask):
    """Kafka 3.6 refuses every write, as min.insync.replicas is above the number of replicas; 3.7 does not."""
    files = {"t": "replication.factor=2\nmin.insync.replicas=3\nacks=all\n"}
    broken, others = (
        "no acks=all write can be acknowledged",
        "what else can go wrong is not searched while no acks=all write can be acknowledged",
    )
    _, out = ask("t --kafka-version 3.6 --metadata-version 3.6 --compare 3.7", **files)
    assert out["headline"] == "After an upgrade from Kafka 3.6 to 3.7: 1 fixed, 0 new, 1 undecided, 0 unchanged"
    (pair,) = out["configurations"]
    assert pair["fixed"] == [{"label": "Broken", "says": broken, "before": "present", "after": "absent"}]
    assert pair["undecided"] == [{"label": "Broken", "says": others, "before": "undecided", "after": "present"}]
    _, out = ask("t --kafka-version 3.5 --metadata-version 3.5 --compare 3.6", **files)
    assert (listed(out, "unchanged"), listed(out, "undecided")) == ([broken], [others])


def test_what_is_assumed_of_the_mode_is_said_once(ask):
    _, out = ask("t --kafka-version 2.8 --compare 3.9", t=DURABLE)
    assert [line for line in out["assumed"] if "ZooKeeper" in line] == [
        "ZooKeeper, the inter.broker.protocol.version of 2.8; give process.roles in a broker's file if it uses KRaft,"
        " or a broker's file"
    ]


def test_the_same_release(ask):
    _, out = ask("t --kafka-version 3.7 --compare 3.7", t=DURABLE)
    assert out["headline"] == "Kafka 3.7 is the release that the cluster has: 0 fixed, 0 new, 1 undecided, 4 unchanged"
    assert out["change"] == "none"


def test_a_release_that_is_not_modelled(ask):
    code, out = ask("t --kafka-version 4.3 --compare 4.6", t=DURABLE)
    (pair,) = out["configurations"]
    assert code == UNDECIDED
    assert pair["after"]["headline"].startswith("Cannot tell, because the replication protocol of Kafka 4.6")


def test_each_configuration_is_compared_and_the_worst_is_first(ask):
    topics = "".join(
        f"Topic: {name}\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas={least}\n"
        f"\tTopic: {name}\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
        for name, least in (("a", 2), ("b", 1), ("c", 2))
    )
    _, out = ask("topics --kafka-version 3.7 --compare 3.9", topics=topics)
    assert [(pair["topics"], pair["after"]["kind"]) for pair in out["configurations"]] == [
        (["b"], "can-lose"),
        (["a", "c"], "defects"),
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--compare x", "--compare x: 'x' is not a version of Kafka; write for example 0.10.2, 0.10.1-IV2 or 3.9"),
        (
            "b --kafka-version 3.7 --compare 4.0",
            "--compare 4.0: brokers of Kafka 4.0 do not start: the cluster has ZooKeeper (zookeeper.connect=z:2181 in"
            " b:2), and 3.9 is the last release with ZooKeeper; migrate to KRaft first, or compare with 3.9 or older",
        ),
        (
            "--kafka-version 3.7 --metadata-version 3.7 --compare 2.7",
            "--compare 2.7: brokers of Kafka 2.7 do not start: the cluster has KRaft controllers (--metadata-version),"
            " which came with 2.8",
        ),
        (
            "--kafka-version 4.1 --metadata-version 4.1 --compare 3.9",
            "--compare 3.9: brokers of Kafka 3.9 do not start: metadata.version 4.1 (--metadata-version) is newer,"
            " and Kafka refuses to lower it below 4.0-IV1, which changed the metadata's records",
        ),
        (
            "--kafka-version 4.4 --compare 4.3",
            "--compare 4.3: brokers of Kafka 4.3 do not start: metadata.version 4.4 (--kafka-version) is newer, and"
            " Kafka refuses to lower it below 4.4-IV2, which changed the metadata's records; if the cluster has an"
            " older one, give --metadata-version",
        ),
        (
            "--kafka-version 3.9 --compare 2.8",
            "--compare 2.8: brokers of Kafka 2.8 do not start: metadata.version 3.9 (--kafka-version) is newer, and"
            " Kafka refuses to lower it below 3.7-IV2, which changed the metadata's records; if the cluster has an"
            " older one, give --metadata-version; give zookeeper.connect in a broker's file if it uses ZooKeeper",
        ),
        (
            "--kafka-version 4.2 --metadata-version 4.2 --compare 4.1",
            "--compare 4.1: brokers of Kafka 4.1 do not start: metadata.version 4.2 (--metadata-version) is newer;"
            " lower it first, and give the lower one",
        ),
        (
            "--kafka-version 3.3 --metadata-version 3.2 --compare 4.0",
            "--compare 4.0: brokers of Kafka 4.0 do not start: metadata.version 3.2 (--metadata-version) is older than"
            " 3.3-IV3; raise it first, and give --metadata-version",
        ),
        ("--compare 3.9 --alerts a.yml", "--alerts does not go with --compare; leave one of them out"),
        ("--compare 3.9 --restart-all", "--compare does not go with --restart-all; leave one of them out"),
    ],
)
def test_contradictions_are_one_line(ask, line, says):
    code, err = ask(f"t {line}", t=DURABLE, b=WITH_ZOOKEEPER)
    assert (code, err.strip()) == (USAGE, f"check: {says}")


# --- --compare-with FILE ---

ONE_IN_SYNC = DURABLE.replace("replicas=2", "replicas=1")


def described(**least: int) -> str:
    """Output of kafka-topics for topics with three replicas, each with its min.insync.replicas."""
    return "".join(
        f"Topic: {name}\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas={number}\n"
        f"\tTopic: {name}\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
        for name, number in least.items()
    )


def test_two_sets_of_files_as_text(tmp_path, monkeypatch, capsys, fake):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").write_text(DURABLE, encoding="utf-8")
    (tmp_path / "after").write_text(ONE_IN_SYNC, encoding="utf-8")
    code, out, err = checking(cli.main, capsys)("doctor", "t", "--kafka-version", "3.7", "--compare-with", "after")
    assert (code, err) == (VIOLATED, "")
    assert out.splitlines()[0] == "With the files of --compare-with: 1 fixed, 2 new, 1 undecided, 3 unchanged"
    assert [line.rstrip() for line in out.splitlines() if "becomes" in line] == [
        "  Setting    min.insync.replicas=2 becomes 1"
    ]


def test_two_sets_of_files(ask):
    code, out = ask("t --kafka-version 3.7 --compare-with after", t=DURABLE, after=ONE_IN_SYNC)
    (pair,) = out["configurations"]
    assert (code, out["change"], out["from_release"], out["to_release"]) == (VIOLATED, "files", "3.7", "3.7")
    assert listed(out, "fixed") == ["with 2 brokers down, not every write is acknowledged"]
    assert listed(out, "new") == [
        "an acknowledged record can be lost",
        "the loss of 1 broker can lose a committed record",
    ]
    assert states(out)["the loss of 2 brokers can lose a committed record"] == ("present", "permitted")
    assert pair["settings"] == [{"key": "min.insync.replicas", "before": "2", "after": "1"}]


def test_a_loss_that_the_settings_permit_is_not_a_fixed_defect(ask):
    """With acks=1, no search asks for known defects that lose acknowledged records, for the settings lose them."""
    _, out = ask("t --kafka-version 3.7 --compare-with after", t=DURABLE, after=DURABLE.replace("all", "1"))
    assert listed(out, "fixed") == ["with 2 brokers down, not every write is acknowledged"]
    assert "an acknowledged record can be lost" in listed(out, "new")
    assert states(out)["8.24"] == ("present", "permitted")
    assert states(out)["the loss of 2 brokers can lose a committed record"] == ("present", "permitted")


def test_a_loss_that_the_settings_permitted_is_not_a_new_defect(ask):
    _, out = ask("t --kafka-version 3.7 --compare-with after", t=DURABLE.replace("all", "1"), after=DURABLE)
    assert "an acknowledged record can be lost" in listed(out, "fixed")
    assert states(out)["8.24"] == ("permitted", "present")
    assert listed(out, "new") == ["with 2 brokers down, not every write is acknowledged"]


def test_the_second_files_replace_the_first_ones(ask):
    files = {"t": DURABLE, "b": "unclean.leader.election.enable=true\n", "after": DURABLE}
    _, out = ask("t b --kafka-version 3.7 --compare-with after", **files)
    _, both = ask("t b --kafka-version 3.7 --compare-with after --compare-with b", **files)
    (pair,), (same,) = out["configurations"], both["configurations"]
    unclean = {"key": "unclean.leader.election.enable", "before": "true", "after": "false"}
    assert (pair["settings"], same["settings"]) == ([unclean], [])
    assert "after: Kafka's defaults of brokers (unclean.leader.election.enable=false" in " ".join(out["assumed"])


def test_a_running_cluster_is_compared_with_a_saved_reading(ask):
    two_in_sync = StubCluster()
    with served(two_in_sync):
        ask(f"--bootstrap-server {two_in_sync.address} --save two.json")
    with served(StubCluster(broker_configs={"min.insync.replicas": ("1", "static")})) as cluster:
        _, out = ask(f"--bootstrap-server {cluster.address} --save one.json --compare-with two.json")
    (pair,) = out["configurations"]
    assert pair["topics"] == ["orders"]
    assert pair["settings"] == [{"key": "min.insync.replicas", "before": "1", "after": "2"}]
    assert [one["number"] for one in pair["while_changing"]] == ["8.32", "8.35"]
    assert ask("one.json --compare-with two.json")[1] == out


def test_a_setting_that_one_side_leaves_to_its_default(ask):
    """It is listed as a setting, not among the defaults; what both sides leave to the same default is not listed."""
    after = DURABLE.replace("min.insync.replicas=2\n", "")
    _, out = ask("t --kafka-version 3.7 --compare-with after", t=DURABLE, after=after)
    (pair,) = out["configurations"]
    assert pair["settings"] == [{"key": "min.insync.replicas", "before": "2", "after": "1"}]
    assert pair["defaults"] == []
    of_one_side = [line for line in out["assumed"] if line.startswith(("before: ", "after: "))]
    assert len(of_one_side) == 2
    assert of_one_side[0].startswith("before: Kafka's defaults of brokers (unclean.leader.election.enable=false, auto")
    assert of_one_side[1].startswith("after: Kafka's defaults of brokers (min.insync.replicas=1, unclean.leader")


def test_topics_are_compared_by_name_and_those_of_one_side_are_named(ask):
    files = {"t": described(a=2, b=2, old=2), "after": described(b=2, a=1, new=1)}
    _, out = ask("t --kafka-version 3.7 --compare-with after", **files)
    assert (out["only_before"], out["only_after"]) == (["old"], ["new"])
    assert [(pair["topics"], len(pair["new"])) for pair in out["configurations"]] == [(["a"], 2), (["b"], 0)]


def test_files_without_topics_are_compared_with_every_topic(ask):
    _, out = ask("t --kafka-version 3.7 --compare-with after", t=described(a=2, b=1), after=DURABLE)
    assert (out["only_before"], out["only_after"]) == ([], [])
    assert sorted(pair["topics"] for pair in out["configurations"]) == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--compare-with gone", "gone: no such file; check the path"),
        (
            "--compare-with after --compare 4.1",
            "--compare-with does not go with --compare; give one of them",
        ),
        ("--compare-with after --alerts a.yml", "--alerts does not go with --compare-with; leave one of them out"),
        ("--compare-with after --restart-all", "--compare-with does not go with --restart-all; leave one of them out"),
        (
            "--kafka-version 3.7 --compare-with after",
            "--compare-with: no topic is on both sides: before the change there are a; after it, b",
        ),
    ],
)
def test_bad_second_files_are_one_line(ask, line, says):
    code, err = ask(f"t {line}", t=described(a=2), after=described(b=2))
    assert (code, err.strip()) == (USAGE, f"check: {says}")


def test_details_show_what_is_behind_each_danger(tmp_path, monkeypatch, capsys, fake):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").write_text(DURABLE, encoding="utf-8")
    check = checking(cli.main, capsys)
    _, out, _ = check("doctor", "t", "--kafka-version", "3.7", "--compare", "3.9", "--details")
    lines = out.splitlines()
    start = lines.index("Defect: 8.24 A leader that misses its own demotion acknowledges what others have truncated")
    assert lines[start + 1 : start + 4] == [
        "  before and after: VIOLATED at step 11, searched to the end, recorded 2026-11-24",
        "    a broker crashes  kafka 3.7  to the end  1,234 states",
        "    1  producer_appends at 0",
    ]
    assert "   11  follower_reconciles 2 with 1" in lines


WITHOUT_ELR = "eligible.leader.replicas.version=0\n"


@pytest.mark.parametrize(
    ("release", "files", "numbers"),
    [
        ("4.1", "t --compare-with after", ["8.32"]),
        ("4.1", "after --compare-with t", ["8.32", "8.35"]),
        ("4.1", "t --compare-with t", []),
        ("4.1", "after b --compare-with t --compare-with b", []),
        ("3.9", "after --compare-with t", []),
    ],
)
def test_failures_of_a_change_of_the_minimum_itself(ask, release, files, numbers):
    first, *rest = files.split(" ", 1)
    content = {"t": DURABLE, "after": ONE_IN_SYNC, "b": WITHOUT_ELR}
    _, out = ask(f"{first} {rest[0]} --kafka-version {release}", **content)
    (pair,) = out["configurations"]
    assert [one["number"] for one in pair["while_changing"]] == numbers


def test_every_failure_of_a_change_of_the_minimum_says_which_changes_have_it():
    """A history in which an operator changes the minimum is one of a change, and its conditions name this change."""
    during = {
        failure.number: failure.during
        for failure in failures()
        if failure.history and any(step.startswith("operator_changes_min_insync") for step in failure.history.steps)
    }
    assert during == {"8.32": During.CHANGED_MINIMUM, "8.35": During.RAISED_MINIMUM}
    for failure in failures():
        assert (failure.number in during) == (failure.during is not None)
        if failure.during is not None:
            assert failure.during.value in " ".join(failure.report["conditions"])
