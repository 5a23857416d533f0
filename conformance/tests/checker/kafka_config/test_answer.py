"""`check --config`: from property files to the verdict on that cluster, as text and as JSON."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from conformance.tests.sampling import exhaustive, sampled
from conformance.tests.support.engine import checking
from conformance.tests.support.places import SHARED
from isrcheck import models
from isrcheck.checker import cli
from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.compile.kernels import Kernels
from isrcheck.checker.compile.layout import layout_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.forms import cluster
from isrcheck.checker.kafka_config.availability import Availability
from isrcheck.checker.resources import budget
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.kafka import MODEL

EXAMPLES = Path(models.__file__).parent / "examples"
SHIPPED_FILES = SHARED / "data" / "properties"

DURABLE = """\
# a topic that is meant to keep its records
replication.factor=3
min.insync.replicas=2
unclean.leader.election.enable=false
acks=all
"""

PROMISES = (
    "offsets_ordered",
    "acked_not_lost",
    "isr_is_complete",
    "committed_agrees",
    "log_matching",
    "consistent_read",
    "no_duplicates",
    "order_preserved",
    "leader_in_isr",
    "one_leader_per_epoch",
    "high_watermark_monotonic",
)
READING = (
    "consumers_read_what_was_exposed",
    "consumers_skip_nothing",
    "lag_matches_isolation",
    "latest_does_not_go_back",
)

MAIN = "as configured"
RESENDS = "where a request is sent again"
RECOGNISED = "where an idempotent producer sends requests again"
TRANSACTIONS = "where records belong to a transaction"
CONSUMED = "where a consumer reads"
OVER_PARTITIONS = "where transactions write to two partitions (model transactions)"
POWER = "one broker loses its unflushed data (power)"
DISK = "one broker comes back with an empty disk"
MOVED = "leadership moves while the leader lives (auto.leader.rebalance.enable, on by default)"


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Run `check` in a folder with the given files; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    check = checking(cli.main, capsys)

    def run(line, **files):
        for name, text in files.items():
            path = tmp_path / f"{name}.properties"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return check(*shlex.split(line))

    return run


@pytest.fixture
def ask_json(ask):
    def run(line, **files):
        code, out, err = ask(f"{line} --json", **files)
        assert err == ""
        return code, json.loads(out)

    return run


@pytest.fixture
def unsearched(monkeypatch):
    """Compile nothing and find nothing, with --bound 0: for tests of what is understood and asked."""

    def of(kernels, instance, announce, reduction):
        def expand(*arguments):
            raise AssertionError("a test without searches takes steps")

        properties = len(instance.model.properties)
        return Kernel(layout_of(instance), expand, lambda states, first, last, *rest: last, properties, expand)

    monkeypatch.setattr(Kernels, "of", of)
    monkeypatch.setattr(cluster, "search_availability", lambda *question: Availability((), 0.0))


def found(run):
    """For each failing property: (verdict, depth, depth of the permitted failure)."""
    return {
        one["name"]: (one["verdict"], one["depth"], one["permitted_depth"])
        for one in run["properties"]
        if one["kind"] != "sometimes" and (one["trace"] or one["permitted_trace"])
    }


def asides(content):
    return {run["question"]: run["answer"] for run in content["runs"] if not run["decides"]}


def promises(content):
    """For each property of the answer: (verdict, depth)."""
    return {one["name"]: (one["verdict"], one["depth"]) for one in content["promises"]}


def available(content):
    """For each number of brokers down: (choices, writes, reads), after a check that all are decided."""
    rows = []
    for row in content["availability"]:
        writes, reads = row["writes"], row["reads"]
        assert writes["undecided"] == 0
        assert writes["choices"] == reads["choices"] if reads else True
        rows.append((writes["choices"], writes["works"], reads["works"] if reads else None))
    assert [row["brokers_down"] for row in content["availability"]] == list(range(len(rows)))
    return rows


def understood(content):
    return {one["key"]: (one["value"], one["source"]) for one in content["cluster"]["understood"]}


# -------------------------------------------------------------------------------------------------- a cluster's verdict


def test_a_durable_topic_of_0_10_loses_an_acknowledged_record_in_six_steps(ask, ask_json):
    line = "--config topic.properties --kafka-version 0.10.2 --bound 6"
    code, content = ask_json(line, topic=DURABLE)
    assert (code, content["verdict"]) == (12, "VIOLATED")
    assert set(content) == {"cluster", "runs", "promises", "availability", "verdict"}
    assert [(run["question"], run["decides"]) for run in content["runs"]] == [
        (MAIN, True),
        (POWER, False),
        (DISK, False),
        (MOVED, False),
    ]
    assert found(content["runs"][0]) == {
        "acked_not_lost": ("VIOLATED", 6, None),
        "isr_is_complete": ("VIOLATED", 5, None),
    }
    assert understood(content) == {
        "Kafka version": ("0.10.2", "--kafka-version"),
        "inter.broker.protocol.version": ("0.10.2", "--kafka-version"),
        "replication.factor": ("3", "topic.properties:2"),
        "min.insync.replicas": ("2", "topic.properties:3"),
        "unclean.leader.election.enable": ("false", "topic.properties:4"),
        "acks": ("all", "topic.properties:5"),
        "retries": ("0", "Kafka 0.10.2's default"),
        "max.in.flight.requests.per.connection": ("5", "Kafka 0.10.2's default"),
    }
    assert content["cluster"]["ignored"] == []
    assert promises(content) == dict.fromkeys(PROMISES, ("NO VIOLATION TO DEPTH", 6)) | {
        "acked_not_lost": ("VIOLATED", 6),
        "isr_is_complete": ("VIOLATED", 5),
    }
    power, disk = asides(content)[POWER], asides(content)[DISK]
    for answer in (power, disk):
        assert answer.startswith(
            "an acknowledged record can be lost, at step 5: trace show counterexamples/kafka_0.10_"
        )
    code, text, err = ask(line)
    assert (code, err) == (12, "")
    assert text.splitlines()[-1].startswith("VIOLATED: ")
    assert text.splitlines()[-1].endswith("acked_not_lost at step 6, isr_is_complete at step 5")
    assert f"  {POWER}: {power}\n" in text
    assert f"  {DISK}: {disk}\n" in text
    for name in PROMISES:
        assert re.search(rf"^  {name} ", text, re.MULTILINE)
    assert re.search(r"^ +6 +controller_fails_over", text, re.MULTILINE)
    assert "lost at step 6 by controller_fails_over" in text
    assert "not permitted: acks=all promises it" in text
    assert "  reproduce: check kafka --protocol 0.10 --bound 6\n" in text


def test_the_files_configuration_is_searched_with_the_default_budgets(unsearched, ask_json):
    _, content = ask_json("--config topic.properties --kafka-version 0.10.2 --bound 0", topic=DURABLE)
    main, power, disk, moved = content["runs"]
    settings = {name: main["configuration"][name] for name in ("replicas", "acks", "min_insync_replicas")}
    assert settings == {"replicas": "3", "acks": "all", "min_insync_replicas": "2"}
    usual = {"elections": 2, "bounces": 1, "crashes": 1, "preferred_elections": 0, "unclean_elections": 0}
    usual |= {"power_losses": 0, "disk_losses": 0, "retries": 0, "delete_records": 0, "transactions": 0}
    usual |= {"partition_changes": 0, "fencings": 0, "shutdowns": 0, "late_fetches": 0, "reassignments": 0}
    usual |= {"producer_snapshots": 0}
    assert main["faults"] == usual
    assert power["faults"] == usual | {"power_losses": 1}
    assert disk["faults"] == usual | {"disk_losses": 1}
    assert moved["faults"] == usual | {"preferred_elections": 1}


@pytest.mark.parametrize(("acks", "depth"), [("0", 1), ("1", 2)])
def test_losing_a_record_with_weaker_acks_is_permitted(ask_json, ask, acks, depth):
    line = "--config topic.properties --kafka-version 0.10.2 --bound 4"
    code, content = ask_json(line, topic=DURABLE.replace("acks=all", f"acks={acks}"))
    assert (code, content["verdict"]) == (0, "PERMITTED")
    assert found(content["runs"][0]) == {"acked_not_lost": ("PERMITTED", depth, depth)}
    assert ask(f"{line} --strict")[0] == 12
    text = ask(line)[1]
    assert f"permitted: acks={acks} does not wait for the ISR" in text
    assert text.splitlines()[-1].startswith("PERMITTED: ")


def test_unclean_election_permits_only_the_losses_that_it_causes(ask_json):
    topic = DURABLE.replace("enable=false", "enable=true")
    code, content = ask_json("--config topic.properties --kafka-version 0.10.2 --bound 6", topic=topic)
    assert code == 12
    assert content["runs"][0]["faults"]["unclean_elections"] == 1
    assert found(content["runs"][0])["isr_is_complete"] == ("VIOLATED", 5, 4)
    assert found(content["runs"][0])["acked_not_lost"] == ("VIOLATED", 6, None)


def test_one_replica_holds_and_side_questions_do_not_decide(ask, ask_json):
    line = "--config topic.properties --kafka-version 0.10.2"
    code, content = ask_json(line, topic="replication.factor=1\nacks=all\n")
    assert (code, content["verdict"]) == (0, "HOLDS")
    assert content["runs"][0]["exhausted"] is True
    assert content["runs"][0]["verdict"] in {"HOLDS", "UNREACHABLE"}
    assert all(
        answer.startswith("an acknowledged record can be lost, at step 2") for answer in asides(content).values()
    )
    lines = ask(line)[1].splitlines()
    assert lines[-1] == "HOLDS: no promise breaks in the whole state space within these bounds"
    (bounds,) = [one.strip() for one in lines if "bounds and settings" in one]
    assert bounds.startswith(
        "bounds and settings: replicas=1, records=2, log_size=2, elections=2, partition_changes=0, bounces=1, "
    )


def test_more_in_sync_replicas_than_replicas_never_acknowledge(ask, ask_json):
    line = "--config topic.properties --kafka-version 0.10.2"
    topic = DURABLE.replace("min.insync.replicas=2", "min.insync.replicas=2000000000").replace("factor=3", "factor=1")
    code, content = ask_json(line, topic=topic)
    assert (code, content["verdict"]) == (0, "HOLDS")
    assert understood(content)["min.insync.replicas"] == ("2000000000", "topic.properties:3")
    reached = {one["name"]: one["verdict"] for one in content["runs"][0]["properties"]}
    assert reached["a_write_is_acknowledged"] != "REACHED"
    text = ask(line)[1]
    assert "No acks=all write is ever acknowledged" in text
    assert "min.insync.replicas is above" in text
    assert text.splitlines()[-1] == (
        "HOLDS: no promise breaks in the whole state space within these bounds; "
        "no acks=all write can be acknowledged: min.insync.replicas=2000000000 is more than 1 replica"
    )
    # acks=1 does not ask for them.
    _, content = ask_json(line, topic=topic.replace("acks=all", "acks=1"))
    reached = {one["name"]: one["verdict"] for one in content["runs"][0]["properties"]}
    assert reached["a_write_is_acknowledged"] == "REACHED"
    text = ask(line)[1]
    assert "No acks=all write" not in text and "no acks=all write" not in text


def test_the_search_ends_soon_after_an_acknowledged_record_is_lost(ask_json, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.0)
    line = "--config topic.properties --kafka-version 0.10.2"
    code, content = ask_json(line, topic=DURABLE)
    assert (code, content["verdict"]) == (12, "VIOLATED")
    main = content["runs"][0]
    assert (main["stopped"], main["judged_to_depth"]) == ("seconds", 6)
    assert promises(content) == dict.fromkeys(PROMISES, ("UNDECIDED", None)) | {
        "acked_not_lost": ("VIOLATED", 6),
        "isr_is_complete": ("VIOLATED", 5),
    }
    # Who says how far or how long gets all of it.
    for more, judged in (("--bound 7", 7), ("--bound 7 --seconds 50", 7)):
        main = ask_json(f"{line} {more}")[1]["runs"][0]
        assert (main["stopped"], main["judged_to_depth"]) == (None, judged)


def test_a_search_from_one_of_several_initial_states():
    instance = MODEL.instance("0.10", {"replicas": 2, "min_insync_replicas": 1})
    assert len(instance.initial_states) == 2
    found = [explore(instance, Limits(depth=7), initial=initial) for initial in (0, 1)]
    assert [one.levels[0] for one in found] == [1, 1]
    lost = [one.findings["acked_not_lost"].found.path for one in found]
    assert [(witness.initial, witness.depth) for witness in lost] == [(0, 6), (1, 6)]
    both = explore(instance, Limits(depth=7))
    assert both.findings["acked_not_lost"].found.path == lost[0]


def test_reaching_the_time_limit_is_undecided(ask, ask_json, monkeypatch):
    # A slow machine begins the searches as well.
    monkeypatch.setattr(budget, "GRACE", 3600.0)
    monkeypatch.setattr(budget, "SECONDS_BETWEEN_LOOKS", 3600.0)
    line = "--config topic.properties --kafka-version 0.10.2 --seconds 1e-9"
    ask_json(line.replace("--seconds 1e-9", "--seconds 600 --bound 0"), topic=DURABLE)  # compiles
    code, content = ask_json(line)
    assert (code, content["verdict"]) == (3, "UNDECIDED")
    assert asides(content) == {
        POWER: "UNDECIDED: no acknowledged record is lost to depth 0",
        DISK: "UNDECIDED: no acknowledged record is lost to depth 0",
        MOVED: "UNDECIDED: the ISR stays complete to depth 0",
    }
    text = ask(line)[1]
    assert text.splitlines()[-1].startswith("UNDECIDED: ")
    assert "HOLDS" not in text


# ------------------------------------------------------------------------------------------------------------- versions


def test_without_a_version_the_newest_modelled_one_is_assumed_and_named_first(unsearched, ask, ask_json):
    topic = f"{DURABLE}retries=0\n"
    code, content = ask_json("--config topic.properties --bound 0", topic=topic)
    assert (code, content["verdict"]) == (0, "NO VIOLATION TO DEPTH")
    cluster = content["cluster"]
    assert (cluster["kafka_version"], cluster["protocol"], cluster["is_nearest"]) == (None, "4.1", False)
    assert understood(content)["Kafka version"] == ("4.1", "not given: the newest modelled release")
    code, text, err = ask("--config topic.properties --bound 0")
    assert (code, err) == (0, "")
    assert text.splitlines()[:4] == [
        "Generation 4.1 is taken: Kafka 4.1 (not given: the newest modelled release) with KRaft (the only mode "
        "since 4.0), with eligible leader replicas (the default of a cluster created with 4.1; give "
        "eligible.leader.replicas.version=0 if it is off)",
        "No Kafka version is given; give --kafka-version VERSION, --metadata-version VERSION, or "
        "inter.broker.protocol.version in a broker's file",
        "",
        "Understood",
    ]
    assert ask("--config topic.properties --bound 0 --kafka-version 2.1")[1].splitlines()[:3] == [
        "Generation 2.1 is taken: Kafka 2.1 (--kafka-version) with ZooKeeper (the only mode before 2.8)",
        "",
        "Understood",
    ]


@pytest.mark.parametrize(
    ("version", "protocol", "switches"),
    [
        ("0.11.0", "0.11", {"TRUNC": "KIP101", "EXPAND_EPOCH_START": "off"}),
        ("1.1", "0.11", {"TRUNC": "KIP101", "EXPAND_EPOCH_START": "off"}),
        ("2.0", "2.0", {"TRUNC": "KIP279", "EXPAND_EPOCH_START": "off", "FOLLOWER_SKIP": "SAME_LEADER"}),
        ("2.0.1", "2.0", {"TRUNC": "KIP279", "EXPAND_EPOCH_START": "on", "FOLLOWER_SKIP": "SAME_LEADER_NEXT_EPOCH",
                          "EPOCH_CACHE_ASSIGN": "REPLACE_CONFLICTING", "OUT_OF_RANGE_HALTS": "off"}),
        ("2.1", "2.1", {"TRUNC": "KIP320", "EXPAND_EPOCH_START": "on", "FOLLOWER_SKIP": "SAME_LEADER_AND_EPOCH"}),
    ],
)  # fmt: skip
def test_every_version_up_to_2_1_has_a_generation(unsearched, ask_json, version, protocol, switches):
    code, content = ask_json(f"--config topic.properties --kafka-version {version} --bound 0", topic=DURABLE)
    assert (code, content["verdict"]) == (0, "NO VIOLATION TO DEPTH")
    assert (content["cluster"]["protocol"], content["cluster"]["is_nearest"]) == (protocol, False)
    for run in content["runs"]:
        assert run["protocol"] == protocol
        assert {name: run["configuration"][name] for name in switches} == switches


def test_the_inter_broker_protocol_and_the_record_format_switch_how_followers_truncate(ask_json):
    for line, truncation in (
        ("inter.broker.protocol.version=0.10.2", "HW"),
        ("inter.broker.protocol.version=1.1", "KIP101"),
        ("inter.broker.protocol.version=2.0", "KIP279"),
        ("message.format.version=0.10.2", "HW"),
    ):
        code, content = ask_json(
            "--config topic.properties --kafka-version 2.1.1 --bound 6", topic=f"{DURABLE}{line}\nretries=0\n"
        )
        run = content["runs"][0]
        assert (run["protocol"], run["configuration"]["TRUNC"]) == ("2.1", truncation)
        # Truncating to the high watermark, a binary of 2.1 loses what 0.10 loses.
        assert code == (12 if truncation == "HW" else 0)


OF_KRAFT = "process.roles=broker\n"
OF_ZOOKEEPER = "zookeeper.connect=a:2181\n"


@pytest.mark.parametrize(
    ("version", "broker", "protocol", "switches"),
    [
        ("0.8.2", "", "0.8", {"SHRINK_RULE": "LAG_MESSAGES"}),
        ("2.6", "", "2.4", {"HW_CLAMPED_AT_TRUNCATION": "on"}),
        ("2.8.0", OF_ZOOKEEPER, "2.8", {"DIVERGING_RESP_UPDATES_STATE": "on", "HW_FROM_DIVERGING_RESP": "on"}),
        ("3.9", OF_ZOOKEEPER, "2.8", {"DIVERGING_RESP_UPDATES_STATE": "off", "HW_FROM_DIVERGING_RESP": "off",
                                      "HW_MINISR_GATE": "on", "CONTROLLER": "ZOOKEEPER"}),
        ("3.4", OF_KRAFT, "3.3", {"BROKER_STATE_CHECK": "FENCED", "EPOCH_BUMP_ON_SHRINK": "on"}),
        ("3.6", OF_KRAFT, "3.5", {"BROKER_STATE_CHECK": "BROKER_EPOCH", "EPOCH_BUMP_ON_SHRINK": "off"}),
        ("3.9", OF_KRAFT, "3.7", {"HW_MINISR_GATE": "on", "ELR": "off", "CONTROLLER": "KRAFT"}),
        ("4.0", OF_KRAFT, "3.7", {"HW_MINISR_GATE": "on", "ELR": "off"}),
        ("4.1", OF_KRAFT, "4.1", {"ELR": "on", "RESTART_BEFORE_FENCING": "off"}),
    ],
)  # fmt: skip
def test_older_and_newer_clusters_have_generations_too(unsearched, ask_json, version, broker, protocol, switches):
    code, content = ask_json(
        f"--broker server.properties --topic topic.properties --kafka-version {version} --bound 0",
        server=f"auto.create.topics.enable=false\n{broker}",
        topic=f"{DURABLE}retries=0\n",
    )
    assert (code, content["verdict"]) == (0, "NO VIOLATION TO DEPTH")
    assert (content["cluster"]["protocol"], content["cluster"]["is_nearest"]) == (protocol, False)
    for run in content["runs"]:
        assert run["protocol"] == protocol
        assert {name: run["configuration"][name] for name in switches} == switches


@pytest.mark.parametrize(
    ("version", "broker", "elections", "fencings"),
    [
        ("2.6", "", [2, 2, 2, 2, 2], 0),
        exhaustive(("3.9", OF_ZOOKEEPER, [1, 1, 2, 2, 2], 0)),
        ("3.9", OF_KRAFT, [1, 1, 2, 2, 1], 1),
    ],
)
def test_the_bounds_of_the_searches_fit_the_generation(unsearched, ask_json, version, broker, elections, fencings):
    """Since 2.8 changes of the ISR are bounded, no restart goes unnoticed, and with KRaft a session can expire."""
    _, content = ask_json(
        f"--broker server.properties --topic topic.properties --kafka-version {version} --bound 0",
        server=f"auto.create.topics.enable=false\n{broker}",
        topic=f"{DURABLE}enable.idempotence=false\n",
    )
    runs = content["runs"]
    assert [run["question"] for run in runs] == [MAIN, RESENDS, POWER, DISK, MOVED]
    assert [run["faults"]["elections"] for run in runs] == elections
    is_old = version == "2.6"
    assert [run["faults"]["partition_changes"] for run in runs] == ([0] * 5 if is_old else [3, 1, 3, 3, 3])
    assert [run["faults"]["bounces"] for run in runs] == [int(is_old)] * 5
    assert [run["faults"]["fencings"] for run in runs] == [fencings, 0, fencings, fencings, fencings]
    assert [run["configuration"]["log_size"] for run in runs] == ["2"] * 5 if is_old else ["1", "2", "1", "1", "1"]


@pytest.mark.exhaustive
def test_an_unclean_election_with_kraft_is_the_second_one(ask_json):
    """The controller first notes that there is no leader: with one election it would never happen."""
    topic = "replication.factor=2\nunclean.leader.election.enable=true\nretries=0\n"
    _, content = ask_json("--config topic.properties --kafka-version 3.9 --bound 4", topic=topic)
    assert content["runs"][0]["faults"]["elections"] == 2
    assert promises(content)["acked_not_lost"] == ("PERMITTED", 3)


@pytest.mark.exhaustive
def test_a_durable_topic_of_kafka_3_9_loses_an_acknowledged_record_in_eleven_steps(ask_json):
    """A stale metadata record cancels a pending expansion of the ISR; a living leader is fenced, and all is lost."""
    topic = f"{DURABLE}retries=0\n"
    code, content = ask_json("--config topic.properties --kafka-version 3.9 --bound 11", topic=topic)
    assert (code, content["verdict"]) == (12, "VIOLATED")
    assert found(content["runs"][0]) == {
        "acked_not_lost": ("VIOLATED", 11, None),
        "isr_is_complete": ("VIOLATED", 10, None),
        "high_watermark_within_maximal_isr": ("VIOLATED", 11, None),
    }


@pytest.mark.exhaustive
def test_a_durable_topic_with_zookeeper_keeps_its_records(ask_json):
    code, content = ask_json(
        "--broker server.properties --topic topic.properties --kafka-version 3.9 --bound 11",
        server=OF_ZOOKEEPER,
        topic=f"{DURABLE}retries=0\n",
    )
    assert (code, content["verdict"]) == (0, "NO VIOLATION TO DEPTH")
    assert promises(content)["acked_not_lost"] == ("NO VIOLATION TO DEPTH", 11)


NOT_MODELLED = "the replication protocol of Kafka 4.2 is not modelled yet; 4.1 is the newest that is"
PREVIEW = "KRaft was a preview in Kafka 3.2; 3.3 is the oldest KRaft that is modelled"


@pytest.mark.parametrize(
    ("version", "nearest", "taken", "why"),
    [exhaustive(
        ("4.2", "4.1", "Generation 4.1, the newest one modelled, is taken: Kafka 4.2 (--kafka-version)", NOT_MODELLED)
     ),
     ("3.2", "3.3", "Generation 3.3, the oldest KRaft modelled, is taken: Kafka 3.2 (--kafka-version)", PREVIEW)],
)  # fmt: skip
def test_an_unmodelled_version_is_undecided_with_the_answer_for_the_nearest(
    ask, ask_json, version, nearest, taken, why
):
    line = f"--broker server.properties --topic topic.properties --kafka-version {version} --bound 1"
    topic = f"{DURABLE}retries=0\n"
    code, content = ask_json(line, server=OF_KRAFT, topic=topic)
    assert (code, content["verdict"]) == (3, "UNDECIDED")
    assert content["why"] == why
    assert content["nearest"] == {"protocol": nearest, "verdict": "NO VIOLATION TO DEPTH"}
    assert (content["cluster"]["protocol"], content["cluster"]["is_nearest"]) == (nearest, True)
    assert [(run["question"], run["decides"], run["protocol"]) for run in content["runs"]] == [
        (MAIN, False, nearest),
        (POWER, False, nearest),
        (DISK, False, nearest),
        (MOVED, False, nearest),
    ]
    code, text, err = ask(line)
    assert (code, err) == (3, "")
    lines = text.splitlines()
    assert lines[0].startswith(f"{taken} with KRaft (process.roles=broker in server.properties:1)")
    assert lines[1:5] == [
        f"UNDECIDED for this cluster: {why}",
        f"The following answer is for the nearest generation, {nearest}",
        "",
        "Understood",
    ]
    assert lines[-2].startswith(f"For the nearest generation, {nearest}: NO VIOLATION TO DEPTH 1: ")
    assert lines[-1] == f"UNDECIDED: {why}"
    # Whatever the nearest generation does, it says nothing of this cluster.
    for acks in ("all", "1"):
        assert ask(f"{line} --bound 2 --strict", topic=topic.replace("acks=all", f"acks={acks}"))[0] == 3


def test_the_answer_uses_the_defaults_of_the_given_version(unsearched, ask_json):
    for version, nearest in (("3.9", None), ("4.2", {"protocol": "4.1", "verdict": "NO VIOLATION TO DEPTH"})):
        topic = "replication.factor=2\n"
        line = f"--config topic.properties --kafka-version {version} --bound 0"
        code, content = ask_json(line, topic=topic)
        expected = (3, "UNDECIDED") if nearest else (0, "NO VIOLATION TO DEPTH")
        assert (code, content["verdict"], content.get("nearest")) == (*expected, nearest)
        found = {key: value for key, (value, _) in understood(content).items()}
        assert (found["acks"], found["enable.idempotence"], found["retries"]) == ("all", "true", "2147483647")
        assert content["runs"][0]["configuration"]["acks"] == "all"
        assert [run["configuration"]["enable_idempotence"] for run in content["runs"][:2]] == ["off", "on"]


def test_a_metadata_version_can_be_given(unsearched, ask, ask_json):
    line = "--config topic.properties --kafka-version 3.9 --bound 0"
    _, content = ask_json(f"{line} --metadata-version 3.5", topic=f"{DURABLE}retries=0\n")
    assert understood(content)["metadata.version"] == ("3.5", "--metadata-version")
    assert content["runs"][0]["configuration"]["EPOCH_BUMP_ON_SHRINK"] == "on"
    assert ask(f"{line} --metadata-version 4.0") == (
        2,
        "",
        "check: --metadata-version: metadata.version: Kafka 3.9 refuses 4.0, which is newer; write 3.9 or older, or "
        "correct --kafka-version\n",
    )


def test_a_version_newer_than_the_listed_settings_is_reported(unsearched, ask):
    _, text, _ = ask("--config topic.properties --kafka-version 4.1 --bound 0", topic="replication.factor=1\n")
    assert "\nisrcheck does not know settings that are newer than Kafka 3.9\n" in text


# ---------------------------------------------------------------------------------------------------------- producers


def test_resends_get_their_own_search_and_count(ask, ask_json):
    line = "--config topic.properties --kafka-version 2.1 --bound 5"
    code, content = ask_json(line, topic=DURABLE)
    assert (code, content["verdict"]) == (0, "PERMITTED")
    assert [(run["question"], run["decides"]) for run in content["runs"]] == [
        (MAIN, True),
        (RESENDS, True),
        (POWER, False),
        (DISK, False),
        (MOVED, False),
    ]
    main, resends = content["runs"][:2]
    assert (main["faults"]["retries"], main["faults"]["crashes"]) == (0, 1)
    assert (resends["faults"]["retries"], resends["faults"]["crashes"]) == (1, 0)
    assert found(main) == {}
    expected = {"no_duplicates": ("PERMITTED", 2, 2), "order_preserved": ("PERMITTED", 5, 5)}
    assert found(resends) == expected
    assert promises(content) == dict.fromkeys(PROMISES, ("NO VIOLATION TO DEPTH", 5)) | {
        name: one[:2] for name, one in expected.items()
    }
    text = ask(line)[1]
    assert text.splitlines()[-1] == (
        "PERMITTED: properties fail only where this configuration makes no promise: no_duplicates at step 2, "
        f"order_preserved at step 5; not counted: {MOVED}"
    )
    assert "  reproduce: check kafka --protocol 2.1 --bound 2 --crashes 0 --retries 1\n" in text
    # One request in flight keeps the order.
    in_order = f"{DURABLE}max.in.flight.requests.per.connection=1\n"
    assert promises(ask_json(line, topic=in_order)[1])["order_preserved"] == ("NO VIOLATION TO DEPTH", 5)
    # Without retries there is nothing to be sent again.
    code, content = ask_json(line, topic=f"{DURABLE}retries=0\n")
    assert (code, content["verdict"], len(content["runs"])) == (0, "NO VIOLATION TO DEPTH", 4)


def test_more_requests_in_flight_than_the_model_distinguishes(unsearched, ask_json):
    line = "--config topic.properties --kafka-version 2.1 --bound 0"
    for told, searched in (("1", "1"), ("5", "5"), ("1000000", "5")):
        _, content = ask_json(line, topic=f"{DURABLE}max.in.flight.requests.per.connection={told}\n")
        assert understood(content)["max.in.flight.requests.per.connection"][0] == told
        assert content["runs"][0]["configuration"]["max_in_flight_requests"] == searched


def test_an_idempotent_producer_gets_a_search_of_its_own(ask, ask_json):
    """Up to 2.4 it keeps its promises; since 2.5 a leader that does not know it accepts any sequence number."""
    line = "--config topic.properties --kafka-version 2.1 --bound 5"
    topic = f"{DURABLE}enable.idempotence=true\n"
    code, content = ask_json(line, topic=topic)
    assert (code, content["verdict"]) == (0, "NO VIOLATION TO DEPTH")
    assert promises(content) == dict.fromkeys(PROMISES, ("NO VIOLATION TO DEPTH", 5))
    assert [run["question"] for run in content["runs"][:2]] == [MAIN, RECOGNISED]
    assert content["runs"][1]["configuration"]["enable_idempotence"] == "on"
    assert content["runs"][1]["configuration"]["max_in_flight_requests"] == "5"
    assert content["runs"][1]["faults"]["retries"] == 2
    assert ask(line)[1].splitlines()[-1].startswith("NO VIOLATION TO DEPTH 5: ")
    code, content = ask_json(line.replace("2.1", "2.6"), topic=topic)
    assert (code, content["verdict"]) == (12, "VIOLATED")
    assert promises(content)["order_preserved"] == ("VIOLATED", 4)
    assert content["runs"][1]["configuration"]["UNKNOWN_PID_POLICY"] == "ANY_SEQUENCE"
    one_at_a_time = f"{topic}max.in.flight.requests.per.connection=1\n"
    assert ask_json(line.replace("2.1", "2.6"), topic=one_at_a_time)[0] == 0
    # In 0.11 an idempotent producer has one request in flight, and brokers remember one batch.
    _, content = ask_json(line.replace("2.1 --bound 5", "0.11 --bound 3"), topic=topic)
    entries = content["runs"][1]["configuration"]
    assert (entries["max_in_flight_requests"], entries["remembered_batches"]) == ("1", "1")


def test_the_answer_explains_derived_defaults(unsearched, ask):
    _, text, _ = ask("--config p.properties --kafka-version 1.0 --bound 0", p="enable.idempotence=true\nlinger.ms=1\n")
    because = r"because of enable.idempotence=true in p.properties:1\)"
    assert re.search(rf"^  acks=all .* \(becomes all {because}$", text, re.MULTILINE)
    assert re.search(rf"^  retries=2147483647 .* \(becomes 2147483647 {because}$", text, re.MULTILINE)


@pytest.mark.recorded
def test_transactions_get_their_own_search(ask, ask_json):
    topic = f"{DURABLE}transactional.id=t\nisolation.level=read_committed\n"
    line = "--config topic.properties --kafka-version 2.1 --bound 3 --seconds 600"
    code, content = ask_json(line, topic=topic)
    assert (code, content["verdict"]) == (12, "VIOLATED")
    assert [run["question"] for run in content["runs"]] == [
        *(MAIN, RECOGNISED, TRANSACTIONS, CONSUMED, OVER_PARTITIONS),
        *(POWER, DISK, MOVED),
    ]
    of_kafka = [run for run in content["runs"] if run["question"] != OVER_PARTITIONS]
    assert [run["faults"]["transactions"] for run in of_kafka] == [0, 0, 1, 0, 0, 0, 0]
    assert {run["configuration"]["isolation_level"] for run in of_kafka} == {"read_committed"}
    assert understood(content)["enable.idempotence"] == (
        "true",
        "becomes true because of transactional.id=t in topic.properties:6",
    )
    # The promises of the two models are apart, and --bound counts steps of kafka only.
    none = dict.fromkeys((*PROMISES, "read_committed_is_atomic", *READING), ("NO VIOLATION TO DEPTH", 3))
    assert promises(content) == none
    log = "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=2\n"
    text = ask(line, topic=f"{topic}{log}")[1]
    assert (
        "\n  no transaction can begin: transaction.state.log.min.isr=2 is more than "
        "transaction.state.log.replication.factor=1\n"
    ) in text
    assert "\nPromises of transactions over several partitions (model transactions, generation 0.11)\n" in text
    assert text.splitlines()[-1] == (
        "VIOLATED: a promise of this configuration can break: in the model transactions: read_committed_is_atomic at "
        "step 31, no_aborted_reads at step 31, no_zombie_commits at step 33, processed_exactly_once at step 31, "
        "lso_is_not_stuck at step 12"
    )


BROKEN_BY_A_LATE_RECORD = ("read_committed_is_atomic", "no_aborted_reads", "processed_exactly_once")


@pytest.mark.parametrize(
    ("version", "more", "protocol", "failing"),
    sampled([
        ("0.11", "", "0.11", {**dict.fromkeys(BROKEN_BY_A_LATE_RECORD, 31), "no_zombie_commits": 33,
         "lso_is_not_stuck": 12}),
        ("2.8", "", "2.5", {**dict.fromkeys(BROKEN_BY_A_LATE_RECORD, 31), "no_zombie_commits": 33,
         "lso_is_not_stuck": 12}),
        ("3.6", "", "3.6", {**dict.fromkeys(BROKEN_BY_A_LATE_RECORD, 32), "no_zombie_commits": 34,
         "lso_is_not_stuck": 12}),
        ("3.9", "", "3.7", dict.fromkeys(BROKEN_BY_A_LATE_RECORD, 33)),
        ("3.9", "transaction.partition.verification.enable=false\n", "3.7", {
         **dict.fromkeys(BROKEN_BY_A_LATE_RECORD, 31), "no_zombie_commits": 33, "lso_is_not_stuck": 12}),
        ("4.1", "", "4.1", {}),
        ("4.1", "transaction.version=1\n", "3.7", dict.fromkeys(BROKEN_BY_A_LATE_RECORD, 33)),
    ], lambda one: False, last=lambda one: one[:2] not in [("3.9", ""), ("4.1", "")]),
)  # fmt: skip
def test_what_transactions_promise_in_each_release(ask_json, version, more, protocol, failing):
    line = f"--config topic.properties --kafka-version {version} --bound 1 --seconds 600"
    code, content = ask_json(line, topic=f"replication.factor=1\nacks=all\ntransactional.id=t\n{more}")
    assert code == (12 if failing else 0)
    assert content["transactions"]["protocol"] == protocol
    found = {one["name"]: (one["verdict"], one["depth"]) for one in content["transactions"]["promises"]}
    assert len(found) == 10
    assert found == dict.fromkeys(found, ("HOLDS", None)) | {
        name: ("VIOLATED", depth) for name, depth in failing.items()
    }


def test_what_is_not_searched_about_clients_is_noted(unsearched, ask):
    line = "--config topic.properties --kafka-version 4.1 --bound 0"
    topic = f"{DURABLE}transactional.id=t\ntransaction.partition.verification.enable=false\n"
    text = ask(line, topic=topic)[1]
    assert "\n  consumers are not searched: none of their settings is given (--consumer FILE)\n" in text
    assert (
        "\n  transactions over several partitions are not searched: transaction.partition.verification.enable=false "
        "beside transaction.version=2 is not modelled\n"
    ) in text
    text = ask(line, topic=f"{DURABLE}auto.offset.reset=by_duration:P1D\n")[1]
    assert "\n  consumers are not searched: auto.offset.reset=by_duration:P1D is not modelled\n" in text


# ---------------------------------------------------------------------------------------------------------- consumers

UNCLEAN = """\
replication.factor=2
min.insync.replicas=1
unclean.leader.election.enable=true
acks=all
retries=0
"""


@pytest.mark.parametrize(
    ("version", "check", "depth"),
    sampled(
        [("0.10.2", "NONE", 6), ("2.2", "NONE", 6), ("2.3", "END_OFFSET", 7), ("2.4", "END_OFFSET", 7),
         ("3.9", "END_OFFSET", 8)],
        lambda one: one[0] in ("2.2", "2.3"),
    ),
)  # fmt: skip
def test_a_consumer_gets_a_search_of_its_own(ask_json, version, check, depth):
    """After an unclean election it reads other records; since 2.3 it compares its position first (KIP-320)."""
    line = f"--config topic.properties --config c.properties --kafka-version {version} --bound 9"
    _, content = ask_json(line, topic=UNCLEAN, c="group.id=g\nauto.offset.reset=none\n")
    assert [run["question"] for run in content["runs"] if run["decides"]] == [MAIN, CONSUMED]
    entries = content["runs"][1]["configuration"]
    assert (entries["consumers"], entries["auto_offset_reset"], entries["POSITION_CHECK"]) == ("1", "none", check)
    assert content["runs"][0]["configuration"]["consumers"] == "0"
    answers = promises(content)
    assert answers["consumers_read_what_was_exposed"] == ("PERMITTED", depth)
    assert answers["consumers_skip_nothing"] == answers["lag_matches_isolation"] == ("NO VIOLATION TO DEPTH", 9)
    assert answers.get("truncation_is_detected") == (None if check == "NONE" else ("NO VIOLATION TO DEPTH", 9))


def test_without_the_file_of_a_consumer_there_is_no_search_for_one(unsearched, ask_json):
    _, content = ask_json("--config topic.properties --kafka-version 2.4 --bound 0", topic=UNCLEAN)
    assert [run["question"] for run in content["runs"] if run["decides"]] == [MAIN]
    assert not {name for name in promises(content) if name.startswith("consumers")}


def test_a_consumer_reads_from_followers_where_brokers_and_client_say_so(unsearched, ask_json):
    line = "--config topic.properties --broker b.properties --consumer c.properties --kafka-version 3.9 --bound 0"
    files = {"topic": DURABLE, "b": "replica.selector.class=x.RackAware\n", "c": "client.rack=a\n"}
    _, content = ask_json(line, **files)
    consumed = next(run for run in content["runs"] if run["question"] == CONSUMED)
    assert consumed["configuration"]["follower_fetching"] == "on"


def test_transactions_need_the_record_format_of_0_11(unsearched, ask, ask_json):
    topic = f"{DURABLE}transactional.id=t\nmessage.format.version=0.10.2\n"
    line = "--config topic.properties --kafka-version 2.1.1 --bound 0"
    _, content = ask_json(line, topic=topic)
    assert [run["question"] for run in content["runs"]] == [MAIN, RESENDS, POWER, DISK, MOVED]
    assert "\n  transactions are not searched: they need records in the format of 0.11\n" in ask(line)[1]


def test_a_combination_that_kafka_refuses_is_refused_with_position_and_cure(ask):
    topic = DURABLE.replace("acks=all", "acks=1\nenable.idempotence=true")
    for form in ("", " --json"):
        assert ask(f"--config topic.properties --kafka-version 2.1{form}", topic=topic) == (
            2,
            "",
            "check: topic.properties:5: acks=1: a producer of Kafka 2.1 refuses to start with it, because "
            "enable.idempotence=true (topic.properties:6) needs acks=all; write acks=all, or write "
            "enable.idempotence=false\n",
        )


# ------------------------------------------------------------------------------------------------------- availability


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        ({}, [(1, 1, 1), (3, 3, 3), (3, 0, 3)]),
        ({"replicas=2": "replicas=1"}, [(1, 1, 1), (3, 3, 3), (3, 3, 3)]),
        ({"replicas=2": "replicas=3"}, [(1, 1, 1), (3, 0, 3), (3, 0, 3)]),
        # What is never committed is never read.
        ({"replicas=2": "replicas=4"}, [(1, 0, None), (3, 0, None), (3, 0, None)]),
        ({"acks=all": "acks=1"}, [(1, 1, 1), (3, 3, 3), (3, 3, 3)]),
        ({"factor=3": "factor=2"}, [(1, 1, 1), (2, 0, 2)]),
        ({"factor=3": "factor=1", "replicas=2": "replicas=1"}, [(1, 1, 1)]),
    ],
)
@pytest.mark.parametrize("version", ["0.10.2", exhaustive("2.1"), exhaustive("3.0"), exhaustive("4.1")])
def test_how_many_brokers_may_be_down(ask_json, version, changes, rows):
    topic = DURABLE
    for old, new in changes.items():
        topic = topic.replace(old, new)
    _, content = ask_json(f"--config topic.properties --kafka-version {version} --bound 0", topic=topic)
    if version == "4.1" and "min.insync.replicas=4" in topic:
        rows = [(1, 1, 1), (3, 0, 3), (3, 0, 3)]  # since 3.7 it is at most the number of replicas
    assert available(content) == rows


def test_availability_is_printed_and_does_not_decide(ask):
    line = "--config topic.properties --kafka-version 2.1 --bound 0"
    code, text, _ = ask(line, topic=DURABLE)
    assert code == 0
    assert (
        "\n\nAvailability (every set of brokers that fail permanently, from all replicas in sync)\n"
        "  number of brokers down      0    1    2\n"
        "  a write is acknowledged     yes  yes  no\n"
        "  a committed record is read  yes  yes  yes\n"
    ) in text
    _, text, _ = ask(line, topic=DURABLE.replace("replicas=2", "replicas=4"))
    assert "  a write is acknowledged     no   no   no\n  a committed record is read  n/a  n/a  n/a\n" in text
    _, text, _ = ask(line, topic=DURABLE.replace("acks=all", "acks=0"))
    assert "\n  with acks=0 a producer considers every record written, whichever brokers are up\n" in text


def test_availability_is_undecided_when_time_runs_out(ask, ask_json):
    line = "--config topic.properties --kafka-version 2.1 --seconds 1e-9"
    _, content = ask_json(line, topic=DURABLE)
    assert content["availability"][2]["writes"] == {"choices": 3, "works": 0, "undecided": 3}
    assert re.search(r"^  a write is acknowledged +undecided +undecided +undecided$", ask(line)[1], re.MULTILINE)


# ---------------------------------------------------------------------------------------------------------- described

DESCRIBED = """\
Topic: t\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2
\tTopic: t\tPartition: 0\tLeader: 7\tReplicas: 5,6,7\tIsr: 5,6,7
\tTopic: t\tPartition: 1\tLeader: 6\tReplicas: 5,6,7\tIsr: 6
"""


def test_the_search_starts_from_the_described_leader_and_isr(ask, ask_json):
    files = {"d": DESCRIBED, "p": "acks=all\nretries=0\n"}
    line = "--describe d.properties --producer p.properties --kafka-version 2.1 --bound 1"
    code, content = ask_json(line, **files)
    assert (code, content["verdict"]) == (0, "NO VIOLATION TO DEPTH")
    assert content["cluster"]["partition"] == {
        "topic": "t",
        "partition": 1,
        "leader": 6,
        "replicas": [5, 6, 7],
        "isr": [6],
        "brokers": [6, 5, 7],
        "source": "d.properties:3",
    }
    main = content["runs"][0]
    assert (main["configuration"]["start_isr"], main["states_per_level"][0]) == ("1", 1)
    assert understood(content)["partition t-1"] == ("leader 6, replicas 5,6,7, ISR 6", "d.properties:3")
    # Below min.insync.replicas: a write needs a follower back in the ISR, which the leader that is down cannot let in.
    assert available(content) == [(1, 1, 1), (3, 2, 2), (3, 0, 1)]
    text = ask(line)[1]
    assert "from the ISR shown above)\n" in text
    assert re.search(r"^  a write is acknowledged +yes +2 of 3 +no$", text, re.MULTILINE)


def test_unclean_election_counts_for_availability_where_it_is_allowed(ask_json):
    described = DESCRIBED.replace("min.insync.replicas=2", "unclean.leader.election.enable=true")
    line = "--describe d.properties --producer p.properties --kafka-version 2.1 --bound 1"
    _, content = ask_json(line, d=described, p="acks=all\nretries=0\n")
    assert available(content) == [(1, 1, 1), (3, 3, 3), (3, 3, 3)]
    assert content["runs"][0]["faults"]["unclean_elections"] == 1


def test_a_partition_without_a_leader_is_unavailable(ask, ask_json):
    described = "\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 1,2\tIsr: 2\n"
    line = "--describe d.properties --kafka-version 2.1"
    code, content = ask_json(line, d=described)
    assert (code, content["verdict"], content["runs"]) == (3, "UNDECIDED", [])
    assert content["why"].startswith("t-0 has no leader (d.properties:1), so nothing can be written")
    assert ask(line)[1].splitlines()[-1] == f"UNDECIDED: {content['why']}"


def test_a_malformed_description_is_bad_input(ask):
    assert ask("--describe d.properties --kafka-version 2.1", d=DESCRIBED.replace("Isr: 6\n", "Isr: 8\n")) == (
        2,
        "",
        "check: d.properties:3: broker 8 is in the ISR, but not a replica; give the unchanged output of kafka-topics "
        "--describe, kafka-configs --describe or kafka-features describe\n",
    )
    both = DESCRIBED + DESCRIBED.replace("Topic: t", "Topic: u")
    assert ask("--describe d.properties --kafka-version 2.1", d=both) == (
        2,
        "",
        "check: several topics are described (t, u); select one with --topic-name NAME\n",
    )
    code, out, _ = ask("--describe d.properties --topic-name u --kafka-version 2.1 --bound 0", d=both)
    assert code == 0
    assert "partition u-1=leader 6" in out


def test_the_version_can_be_in_a_brokers_file(unsearched, ask_json):
    files = {"topic": DURABLE, "broker": "inter.broker.protocol.version=0.10.1-IV2\nbroker.id=1\n"}
    code, content = ask_json("--topic topic.properties --broker broker.properties --bound 0", **files)
    assert (code, content["verdict"], content["cluster"]["protocol"]) == (0, "NO VIOLATION TO DEPTH", "0.10")
    assert understood(content)["inter.broker.protocol.version"] == ("0.10.1-IV2", "broker.properties:1")


# -------------------------------------------------------------------------------------------------- what Kafka ships


def shipped(release):
    folder = SHIPPED_FILES / f"kafka-{release}"
    if not folder.is_dir():
        pytest.skip(f"the property files that Kafka {release} ships are not there: {folder}")
    return " ".join(
        f"--config {shlex.quote(str(folder / f'{name}.properties'))}" for name in ("server", "producer", "consumer")
    )


REASONS_OF_SHIPPED_FILES = {
    "no bearing on replication",
    "not modelled yet",
    "because no producer has a transactional.id",
}


def test_the_files_shipped_with_kafka_0_10_2_are_fully_understood(ask_json):
    code, content = ask_json(f"{shipped('0.10.2')} --kafka-version 0.10.2")
    assert (code, content["verdict"]) == (0, "HOLDS")
    assert {key: value for key, (value, _) in understood(content).items()} == {
        "Kafka version": "0.10.2",
        "inter.broker.protocol.version": "0.10.2",
        "default.replication.factor": "1",
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": "true",
        "acks": "1",
        "retries": "0",
        "max.in.flight.requests.per.connection": "5",
        "auto.offset.reset": "latest",
    }
    assert {one["why"] for one in content["cluster"]["ignored"]} == {"no bearing on replication", "not modelled yet"}


def test_the_files_of_2_1_are_fully_understood(ask_json):
    code, content = ask_json(f"{shipped('2.1')} --kafka-version 2.1")
    assert (code, content["verdict"]) == (0, "PERMITTED")
    assert {key: value for key, (value, _) in understood(content).items()} == {
        "Kafka version": "2.1",
        "inter.broker.protocol.version": "2.1",
        "default.replication.factor": "1",
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": "false",
        "acks": "1",
        "retries": "2147483647",
        "max.in.flight.requests.per.connection": "5",
        "enable.idempotence": "false",
        "isolation.level": "read_uncommitted",
        "auto.offset.reset": "latest",
    }
    assert {one["why"] for one in content["cluster"]["ignored"]} == REASONS_OF_SHIPPED_FILES
    holds = dict.fromkeys((*PROMISES, *READING), ("HOLDS", None))
    assert promises(content) == holds | {"no_duplicates": ("PERMITTED", 2)}
    assert available(content) == [(1, 1, 1)]


@pytest.mark.exhaustive
def test_the_files_of_3_9_are_fully_understood(ask_json):
    """They are for brokers with ZooKeeper, with one replica: what is appended is acknowledged at once."""
    for version in (" --kafka-version 3.9", ""):
        code, content = ask_json(f"{shipped('3.9')}{version}")
        assert (code, content["verdict"]) == (0, "HOLDS")
        assert (content["cluster"]["protocol"], content["cluster"]["is_nearest"]) == ("2.8", False)
        assert understood(content)["Kafka version"][0] == "3.9"
        assert understood(content)["zookeeper.connect"][0] == "localhost:2181"
        assert understood(content)["unclean.leader.election.enable"][0] == "false"
        assert understood(content)["acks"][0] == "all"
        assert understood(content)["enable.idempotence"][0] == "true"
        assert {one["why"] for one in content["cluster"]["ignored"]} == REASONS_OF_SHIPPED_FILES
        of_2_8 = (*PROMISES, "high_watermark_within_maximal_isr", *READING, "truncation_is_detected")
        assert promises(content) == dict.fromkeys(of_2_8, ("HOLDS", None))


# --------------------------------------------------------------------------------------------- what isrcheck ships


@pytest.mark.parametrize(
    ("name", "verdict", "failing", "rows"),
    [
        ("durable_topic", "PERMITTED", {"no_duplicates": 2}, [(1, 1, 1), (3, 3, 3), (3, 0, 3)]),
        ("kafka_defaults", "PERMITTED", {"acked_not_lost": 2, "no_duplicates": 2, "order_preserved": 5},
         [(1, 1, 1), (3, 3, 3), (3, 3, 3)]),
        ("low_latency_topic", "PERMITTED",
         {"offsets_ordered": 6, "acked_not_lost": 1, "isr_is_complete": 3, "committed_agrees": 5, "consistent_read": 5},
         [(1, 1, 1), (2, 2, 2)]),
    ],
)  # fmt: skip
def test_the_examples_have_the_verdicts_that_the_readme_gives(ask_json, name, verdict, failing, rows):
    """The depth suffices for all failures; the README has the results for the whole state spaces."""
    code, content = ask_json(f"--config {shlex.quote(str(EXAMPLES / f'{name}.properties'))} --bound 7")
    assert (code, content["verdict"]) == (0, verdict)
    assert {key: depth for key, (word, depth) in promises(content).items() if word == "PERMITTED"} == failing
    assert {word for word, _ in promises(content).values()} == {"PERMITTED", "NO VIOLATION TO DEPTH"}
    assert content["cluster"]["kafka_version"] == "2.1"
    assert {one["why"] for one in content["cluster"]["ignored"]} <= {"no bearing on replication"}
    assert available(content) == rows


# ----------------------------------------------------------------------------------------------------------- bad input

TOLD = "--kafka-version 0.10.2"
NO_KEY = (
    "no key decides whether this is a broker's, a topic's, a producer's or a consumer's file;"
    " give it as --broker FILE, --topic FILE, --producer FILE or --consumer FILE"
)

BAD_FILES = [
    (b"acks=2\n", "a.properties:1: acks: '2' is not a value of acks; write all (or -1), 1 or 0"),
    (b"acks=\n", "a.properties:1: acks: '' is not a value of acks; write all (or -1), 1 or 0"),
    (b"# x\nreplication.factor=0\n", "a.properties:2: replication.factor: '0' is not a whole number from 1 to"
     " 2147483647; write for example 2"),
    ("replication.factor=٣\n".encode(), "a.properties:1: replication.factor: '٣' is not a whole number from 1 to"
     " 2147483647; write for example 2"),
    (b"min.insync.replicas=two\nretention.ms=1\n", "a.properties:1: min.insync.replicas: 'two' is not a whole number"
     " from 1 to 2147483647; write for example 2"),
    (b"acks=all\nunclean.leader.election.enable=yes\n", "a.properties:2: unclean.leader.election.enable: 'yes' is"
     " neither true nor false; write true or false"),
    (b"acks=1\n\nacks=all\n", "a.properties:3: acks=all contradicts acks=1 in a.properties:1; one producer cannot have"
     " both; keep one of them"),
    (b"acks=\\u00zz\n", "a.properties:1: malformed \\uXXXX escape; write \\u and four hexadecimal digits, or \\\\ for a"
     " backslash"),
    (b"a=1\nacks=al\0l\n", "a.properties:2: not a text file (it contains NUL bytes); save it as ASCII or UTF-8 text"),
    (b"", f"a.properties: {NO_KEY}"),
    (b"# nothing\n\n", f"a.properties: {NO_KEY}"),
    (b"no.such.key=1\n", f"a.properties: {NO_KEY}"),
    (b"inter.broker.protocol.version=0.11.0\n", "a.properties:1: inter.broker.protocol.version: Kafka 0.10.2 refuses"
     " 0.11.0, which is newer; write 0.10.2 or older, or correct --kafka-version"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "says"), BAD_FILES, ids=[says[:50] for _, says in BAD_FILES])
def test_a_bad_file_gets_one_line_with_position_and_cure(ask, content, says, tmp_path):
    for form in ("", " --json"):
        assert ask(f"--config a.properties {TOLD}{form}", a=content) == (2, "", f"check: {says}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.properties"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--config b.properties", "b.properties: no such file; check the path"),
        ("--config .", ".: is a directory; give a file in it"),
        ("--config /proc/self/mem",
         "/proc/self/mem: cannot be read (Input/output error); give a readable file"),
        ("--config", "argument --config: expected one argument; see check --help"),
        ("--config a.properties --kafka-version nope",
         "--kafka-version: 'nope' is not a version of Kafka; write for example 0.10.2, 0.10.1-IV2 or 3.9"),
        ("--config a.properties --kafka-version ''",
         "--kafka-version: '' is not a version of Kafka; write for example 0.10.2, 0.10.1-IV2 or 3.9"),
        ("--config a.properties --kafka-version 0.10.9",
         "--kafka-version: Kafka 0.10.9 does not exist or has no replication; write another release, for example"
         " 0.10.2"),
        ("--config a.properties --kafka-version 7.6",
         "--kafka-version: 7.6 is no release of Kafka; Confluent Platform 7.6 contains Kafka 3.6: write 3.6"),
        ("--config a.properties --metadata-version 2.8",
         "--metadata-version: there is no metadata.version 2.8; the first one is 3.0-IV1, of Kafka 3.0 with KRaft"),
        ("kafka --config a.properties", "--config is for a cluster, kafka is a model: give only one of them"),
        ("--config a.properties --set acks=0",
         "--set does not go with --config: the files configure the cluster; leave --set out"),
        ("--config a.properties --protocol 0.10",
         "--protocol does not go with --config: the files configure the cluster; leave --protocol out"),
        ("--describe a.properties --set acks=0",
         "--set does not go with --describe: the files configure the cluster; leave --set out"),
        ("kafka --describe a.properties", "--describe is for a cluster, kafka is a model: give only one of them"),
        ("--config a.properties --topic-name t",
         "--topic-name goes with --describe FILE; leave --topic-name out, or add --describe FILE"),
        ("--kafka-version 2.1", "--kafka-version goes with --config FILE; for a model use --protocol"),
        ("kafka --metadata-version 3.9", "--metadata-version goes with --config FILE; for a model use --protocol"),
        ("--config a.properties --switch X=on",
         "--switch does not go with --config: the files configure the cluster; leave --switch out"),
    ],
)  # fmt: skip
def test_bad_arguments_get_one_line_with_the_cure(ask, line, says):
    assert ask(line, a=DURABLE) == (2, "", f"check: {says}\n")


def test_too_many_replicas_are_undecided_not_reduced(ask_json):
    code, content = ask_json(f"--config a.properties {TOLD}", a=DURABLE.replace("factor=3", "factor=8"))
    assert (code, content["verdict"]) == (3, "UNDECIDED")
    assert content["why"] == "8 replicas are more than the model supports (7)"


def test_secrets_are_not_shown(ask):
    broker = "broker.id=1\nssl.keystore.password=hunter2\nsasl.jaas.config=hunter3\nunknown.secret=hunter4\n"
    for form in ("", " --json"):
        code, out, err = ask(f"--broker a.properties {TOLD} --bound 0{form}", a=broker)
        assert code == 0
        assert "hunter" not in out + err


# --- What is said of what was not given -------------------------------------------------------------------------------


def test_an_assumed_number_of_replicas_is_reported_first(ask):
    _, out, _ = ask("--config a.properties --kafka-version 2.1 --bound 1", a="acks=all\n")
    assert out.splitlines()[1] == (
        "No replication factor is given: 1 is assumed, Kafka's default; "
        "give replication.factor, or default.replication.factor in a broker's file"
    )
    _, out, _ = ask("--config a.properties --kafka-version 2.1 --bound 1", a=DURABLE)
    assert out.splitlines()[1:3] == ["", "Understood"]


@pytest.mark.parametrize(
    ("version", "meaning"),
    [
        ("3.6", "an acks=all write needs an ISR of at least 3"),
        ("3.7", "since 3.7 at most the number of replicas: an acks=all write needs an ISR of at least 2"),
    ],
)
def test_more_required_than_existing_replicas_since_3_7(unsearched, ask_json, version, meaning):
    text = "replication.factor=2\nmin.insync.replicas=3\nacks=all\n"
    _, answer = ask_json(f"--config a.properties --kafka-version {version} --bound 0", a=text)
    assert [one["meaning"] for one in answer["cluster"]["understood"] if one["key"] == "min.insync.replicas"] == [
        meaning
    ]


def test_repairs_of_2_0_1_are_named(unsearched, ask_json):
    for version, ending in (("2.0.0", "is 2.0"), ("2.0.1", "KAFKA-7128, KAFKA-7164, KAFKA-7414, KAFKA-7415)")):
        _, answer = ask_json(f"--config a.properties --kafka-version {version} --bound 0", a=DURABLE)
        lines = {one["key"]: one["meaning"] for one in answer["cluster"]["understood"]}
        assert lines["inter.broker.protocol.version"].endswith(ending)


def test_with_acks_0_nothing_is_resent(ask_json):
    text = "replication.factor=2\nacks=0\n"
    _, answer = ask_json("--config a.properties --kafka-version 2.1 --bound 2", a=text)
    assert [run["question"] for run in answer["runs"] if run["decides"]] == [MAIN]
    lines = {one["key"]: one["meaning"] for one in answer["cluster"]["understood"]}
    assert lines["retries"] == "with acks=0 the producer learns of no failure and resends nothing"


def test_a_fault_is_not_blamed_for_a_loss_possible_without_it(ask_json):
    text = "replication.factor=3\nacks=1\n"
    _, answer = ask_json("--config a.properties --kafka-version 2.1 --bound 3", a=text)
    told = [asides(answer)[fault].split(":")[0] for fault in (POWER, DISK)]
    assert told == 2 * ["an acknowledged record can be lost without it, at step 2"]


@pytest.mark.exhaustive
def test_moving_a_live_leader_can_leave_an_incomplete_isr(ask, ask_json):
    """models/kafka/missed_demotion.md: Kafka moves leaders by default, and the verdicts are without that."""
    line = "--config a.properties --kafka-version 2.1"
    code, answer = ask_json(f"{line} --bound 10", a=f"{DURABLE}retries=0\n")
    assert (code, answer["verdict"]) == (0, "NO VIOLATION TO DEPTH")
    told = asides(answer)[MOVED]
    assert told.startswith("a member of the ISR can lack what readers saw, at step 10: trace show counterexamples/")
    _, answer = ask_json(f"{line} --bound 9")
    assert asides(answer)[MOVED] == "UNDECIDED: the ISR stays complete to depth 9"
    _, answer = ask_json("--config a.properties --kafka-version 0.10.2 --bound 6")
    assert asides(answer)[MOVED].startswith("a member of the ISR can lack what readers saw without it, at step 5: ")
    _, answer = ask_json(f"{line} --bound 1", a="replication.factor=1\nretries=0\n")
    assert MOVED not in asides(answer)


def test_the_last_line_names_kafka_defaults_outside_the_verdict(ask):
    line = "--config a.properties --kafka-version 2.1 --bound"
    code, text, _ = ask(f"{line} 10", a=f"{DURABLE}retries=0\n")
    assert code == 0
    assert text.splitlines()[-1].endswith(f" left; not counted: {MOVED}, which breaks isr_is_complete at step 10")
    assert ask(f"{line} 2")[1].splitlines()[-1].endswith(f" left; not counted: {MOVED}")
    assert "not counted" not in ask(f"{line} 2", a="replication.factor=1\nretries=0\n")[1]


def test_a_disabled_mechanism_is_not_reported_as_enabled(ask):
    text = f"{DURABLE}retries=0\nauto.leader.rebalance.enable=FALSE\n"
    _, told, _ = ask("--config a.properties --kafka-version 2.1 --bound 2", a=text)
    assert "auto.leader.rebalance.enable, on by default" not in told and "not counted" not in told
    assert "leader lives (kafka-leader-election; auto.leader.rebalance.enable is off)" in told
