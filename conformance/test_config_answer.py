"""`check --config`: from property files to the verdict for that cluster, for its operator and for scripts."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from checker import cli

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "properties"

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
    "leader_in_isr",
    "one_leader_per_epoch",
    "high_watermark_monotonic",
)

POWER = "one broker loses its unflushed data (power)"
DISK = "one broker comes back with an empty disk"


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """`check` in a folder that holds the given files: gives the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(line, **files):
        for name, text in files.items():
            path = tmp_path / f"{name}.properties"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        code = cli.main(shlex.split(line))
        out, err = capsys.readouterr()
        return code, out, "".join(one for one in err.splitlines(True) if not one.startswith("compiling "))

    return run


@pytest.fixture
def ask_json(ask):
    def run(line, **files):
        code, out, err = ask(f"{line} --json", **files)
        assert err == ""
        return code, json.loads(out)

    return run


def found(run):
    """Property -> (verdict, depth, depth of what is permitted) of what fails."""
    return {
        one["name"]: (one["verdict"], one["depth"], one["permitted_depth"])
        for one in run["properties"]
        if one["kind"] != "sometimes" and (one["trace"] or one["permitted_trace"])
    }


def asides(content):
    return {run["question"]: run["answer"] for run in content["runs"] if not run["decides"]}


def understood(content):
    return {one["key"]: (one["value"], one["source"]) for one in content["cluster"]["understood"]}


# -------------------------------------------------------------------------------------------------- a cluster's verdict


def test_a_durable_topic_of_0_10_loses_an_acknowledged_record_in_six_steps(ask, ask_json):
    line = "--config topic.properties --kafka-version 0.10.2 --bound 6"
    code, content = ask_json(line, topic=DURABLE)
    assert (code, content["verdict"]) == (12, "VIOLATED")
    assert set(content) == {"cluster", "runs", "verdict"}
    assert [(run["question"], run["decides"]) for run in content["runs"]] == [
        ("as configured", True),
        (POWER, False),
        (DISK, False),
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
    }
    assert content["cluster"]["ignored"] == []
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


def test_the_searched_configuration_is_the_one_of_the_files_with_the_default_budgets(ask_json):
    _, content = ask_json("--config topic.properties --kafka-version 0.10.2 --bound 1", topic=DURABLE)
    main, power, disk = content["runs"]
    settings = {name: main["configuration"][name] for name in ("replicas", "acks", "min_insync_replicas")}
    assert settings == {"replicas": "3", "acks": "all", "min_insync_replicas": "2"}
    usual = {"elections": 2, "bounces": 1, "crashes": 1, "preferred_elections": 0, "unclean_elections": 0}
    assert main["faults"] == usual | {"power_losses": 0, "disk_losses": 0}
    assert power["faults"] == usual | {"power_losses": 1, "disk_losses": 0}
    assert disk["faults"] == usual | {"power_losses": 0, "disk_losses": 1}


@pytest.mark.parametrize(("acks", "depth"), [("0", 1), ("1", 2)])
def test_weaker_acks_lose_a_record_and_that_is_permitted(ask_json, ask, acks, depth):
    line = "--config topic.properties --kafka-version 0.10.2 --bound 4"
    code, content = ask_json(line, topic=DURABLE.replace("acks=all", f"acks={acks}"))
    assert (code, content["verdict"]) == (0, "PERMITTED")
    assert found(content["runs"][0]) == {"acked_not_lost": ("PERMITTED", depth, depth)}
    assert ask(f"{line} --strict")[0] == 12
    text = ask(line)[1]
    assert f"permitted: acks={acks} does not wait for the ISR" in text
    assert text.splitlines()[-1].startswith("PERMITTED: ")


def test_unclean_election_permits_what_it_does_and_not_what_happens_without_it(ask_json):
    topic = DURABLE.replace("enable=false", "enable=true")
    code, content = ask_json("--config topic.properties --kafka-version 0.10.2 --bound 6", topic=topic)
    assert code == 12
    assert content["runs"][0]["faults"]["unclean_elections"] == 1
    assert found(content["runs"][0])["isr_is_complete"] == ("VIOLATED", 5, 4)
    assert found(content["runs"][0])["acked_not_lost"] == ("VIOLATED", 6, None)


def test_one_replica_holds_and_the_questions_on_the_side_do_not_decide(ask, ask_json):
    line = "--config topic.properties --kafka-version 0.10.2"
    code, content = ask_json(line, topic="replication.factor=1\nacks=all\n")
    assert (code, content["verdict"]) == (0, "HOLDS")
    assert content["runs"][0]["exhausted"] is True
    assert content["runs"][0]["verdict"] in {"HOLDS", "UNREACHABLE"}
    assert all(
        answer.startswith("an acknowledged record can be lost, at step 2") for answer in asides(content).values()
    )
    assert ask(line)[1].splitlines()[-1] == (
        "HOLDS: nothing that is promised breaks, in the whole state space of these bounds"
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
    # acks=1 does not ask for them.
    _, content = ask_json(line, topic=topic.replace("acks=all", "acks=1"))
    reached = {one["name"]: one["verdict"] for one in content["runs"][0]["properties"]}
    assert reached["a_write_is_acknowledged"] == "REACHED"
    assert "No acks=all write" not in ask(line)[1]


def test_time_that_is_used_up_is_undecided(ask, ask_json):
    line = "--config topic.properties --kafka-version 0.10.2 --seconds 1e-9"
    code, content = ask_json(line, topic=DURABLE)
    assert (code, content["verdict"]) == (3, "UNDECIDED")
    assert asides(content) == {
        POWER: "UNDECIDED: no acknowledged record is lost to depth 0",
        DISK: "UNDECIDED: no acknowledged record is lost to depth 0",
    }
    text = ask(line)[1]
    assert text.splitlines()[-1].startswith("UNDECIDED: ")
    assert "HOLDS" not in text


# ------------------------------------------------------------------------------------------------------------- versions


def test_without_a_version_it_is_undecided_and_says_how_to_tell_it(ask, ask_json):
    code, content = ask_json("--config topic.properties", topic=DURABLE)
    assert (code, content["verdict"], content["runs"]) == (3, "UNDECIDED", [])
    assert set(content) == {"cluster", "runs", "verdict", "why"}
    assert "--kafka-version" in content["why"]
    assert "inter.broker.protocol.version" in content["why"]
    code, text, err = ask("--config topic.properties")
    assert (code, err) == (3, "")
    assert text.splitlines()[-1] == f"UNDECIDED: {content['why']}"


@pytest.mark.parametrize("version", ["0.11.0", "1.0", "2.1", "2.8", "3.9"])
def test_a_later_version_is_undecided_and_says_why(ask_json, version):
    code, content = ask_json(f"--config topic.properties --kafka-version {version}", topic=DURABLE)
    assert (code, content["verdict"], content["runs"]) == (3, "UNDECIDED", [])
    assert content["why"] == f"the replication protocol of Kafka {version} is not modelled yet; that of 0.10 is"


def test_the_version_can_stand_in_a_brokers_file(ask_json):
    files = {"topic": DURABLE, "broker": "inter.broker.protocol.version=0.10.1-IV2\nbroker.id=1\n"}
    code, content = ask_json("--topic topic.properties --broker broker.properties --bound 1", **files)
    assert (code, content["verdict"], content["cluster"]["protocol"]) == (0, "NO VIOLATION TO DEPTH", "0.10")
    assert understood(content)["inter.broker.protocol.version"] == ("0.10.1-IV2", "broker.properties:1")


# -------------------------------------------------------------------------------------------------- what Kafka ships


def shipped(release):
    folder = SHARED / f"kafka-{release}"
    if not folder.is_dir():
        pytest.skip(f"the property files that Kafka {release} ships are not there: {folder}")
    return " ".join(
        f"--config {shlex.quote(str(folder / f'{name}.properties'))}" for name in ("server", "producer", "consumer")
    )


def test_the_files_that_kafka_0_10_2_ships_are_understood_whole(ask_json):
    code, content = ask_json(f"{shipped('0.10.2')} --kafka-version 0.10.2")
    assert (code, content["verdict"]) == (0, "HOLDS")
    assert {key: value for key, (value, _) in understood(content).items()} == {
        "Kafka version": "0.10.2",
        "inter.broker.protocol.version": "0.10.2",
        "default.replication.factor": "1",
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": "true",
        "acks": "1",
    }
    assert {one["why"] for one in content["cluster"]["ignored"]} == {"no bearing on replication"}


@pytest.mark.parametrize("release", ["2.1", "3.9"])
def test_the_files_of_later_releases_are_read_and_undecided(ask_json, release):
    code, content = ask_json(f"{shipped(release)} --kafka-version {release}")
    assert (code, content["verdict"]) == (3, "UNDECIDED")
    assert understood(content)["unclean.leader.election.enable"][0] == "false"
    assert understood(content)["acks"][0] == {"2.1": "1", "3.9": "all"}[release]


# ----------------------------------------------------------------------------------------------------------- bad input

TOLD = "--kafka-version 0.10.2"
NO_KEY = (
    "no key in it tells whether it is a broker's, a topic's, a producer's or a consumer's file;"
    " give it as --broker FILE, --topic FILE, --producer FILE or --consumer FILE"
)

BAD_FILES = [
    (b"acks=2\n", "a.properties:1: acks: '2' is no acks; write all (or -1), 1 or 0"),
    (b"acks=\n", "a.properties:1: acks: '' is no acks; write all (or -1), 1 or 0"),
    (b"# x\nreplication.factor=0\n", "a.properties:2: replication.factor: '0' is not a whole number from 1 to"
     " 2147483647; write for example 2"),
    ("replication.factor=٣\n".encode(), "a.properties:1: replication.factor: '٣' is not a whole number from 1 to"
     " 2147483647; write for example 2"),
    (b"min.insync.replicas=two\nretention.ms=1\n", "a.properties:1: min.insync.replicas: 'two' is not a whole number"
     " from 1 to 2147483647; write for example 2"),
    (b"acks=all\nunclean.leader.election.enable=yes\n", "a.properties:2: unclean.leader.election.enable: 'yes' is"
     " neither true nor false; write one of them"),
    (b"acks=1\n\nacks=all\n", "a.properties:3: acks=all contradicts acks=1 in a.properties:1; one producer cannot have"
     " both, keep one of them"),
    (b"acks=\\u00zz\n", "a.properties:1: malformed \\uXXXX escape; write \\u and four hexadecimal digits, or \\\\ for a"
     " backslash"),
    (b"a=1\nacks=al\0l\n", "a.properties:2: not a text file (it has NUL bytes); save it as plain ASCII or UTF-8 text"),
    (b"", f"a.properties: {NO_KEY}"),
    (b"# nothing\n\n", f"a.properties: {NO_KEY}"),
    (b"no.such.key=1\n", f"a.properties: {NO_KEY}"),
    (b"inter.broker.protocol.version=0.11.0\n", "a.properties:1: inter.broker.protocol.version: Kafka 0.10.2 refuses"
     " 0.11.0, which is newer; write 0.10.2 or older, or give the right --kafka-version"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "says"), BAD_FILES, ids=[says[:50] for _, says in BAD_FILES])
def test_a_bad_file_gets_one_line_with_place_and_cure(ask, content, says, tmp_path):
    for form in ("", " --json"):
        assert ask(f"--config a.properties {TOLD}{form}", a=content) == (2, "", f"check: {says}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.properties"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--config b.properties", "b.properties: no such file; check the path"),
        ("--config .", ".: this is a directory; name the property file in it"),
        ("--config /proc/self/mem",
         "/proc/self/mem: cannot be read (Input/output error); give a file that you may read"),
        ("--config", "argument --config: expected one argument; see check --help"),
        ("--config a.properties --kafka-version nope",
         "--kafka-version: 'nope' is not a version of Kafka; write for example 0.10.2, 0.10.1-IV2 or 3.9"),
        ("--config a.properties --kafka-version ''",
         "--kafka-version: '' is not a version of Kafka; write for example 0.10.2, 0.10.1-IV2 or 3.9"),
        ("--config a.properties --kafka-version 0.10.9",
         "--kafka-version: there is no Kafka 0.10.9 with replication; write a release, for example 0.10.2 or 3.9"),
        ("kafka --config a.properties", "--config asks about a cluster, kafka names a model: give one of them"),
        ("--config a.properties --set acks=0",
         "--set does not go with --config: the files say how the cluster is configured"),
        ("--config a.properties --protocol 0.10",
         "--protocol does not go with --config: the files say how the cluster is configured"),
        ("--config a.properties --switch X=on",
         "--switch does not go with --config: the files say how the cluster is configured"),
    ],
)  # fmt: skip
def test_bad_words_get_one_line_with_the_cure(ask, line, says):
    assert ask(line, a=DURABLE) == (2, "", f"check: {says}\n")


def test_too_many_replicas_are_undecided_not_cut_down(ask_json):
    code, content = ask_json(f"--config a.properties {TOLD}", a=DURABLE.replace("factor=3", "factor=8"))
    assert (code, content["verdict"]) == (3, "UNDECIDED")
    assert content["why"] == "8 replicas are more than the model takes (7)"


def test_secrets_are_not_shown(ask):
    broker = "broker.id=1\nssl.keystore.password=hunter2\nsasl.jaas.config=hunter3\nunknown.secret=hunter4\n"
    for form in ("", " --json"):
        code, out, err = ask(f"--broker a.properties {TOLD} --bound 0{form}", a=broker)
        assert code == 0
        assert "hunter" not in out + err
