"""`isrcheck doctor --bootstrap-server ...`, once and with --watch, against the stub of brokers."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from jsonschema import validate
from kio.schema.errors import ErrorCode

from conformance.tests.checker.cluster.live.stub import Api, Part, StubCluster, served, speaking
from conformance.tests.docs.json_reference import SCHEMA
from conformance.tests.support.places import PROJECT
from isrcheck.checker.answers.answer import Kind
from isrcheck.checker.answers.watch import Metrics, Risk, Watched, risk_of
from isrcheck.checker.cli import main as check
from isrcheck.checker.cluster.contents import Partition
from isrcheck.checker.cluster.live.address import Address
from isrcheck.commands.exit_codes import INTERRUPTED, UNDECIDED, USAGE, VIOLATED
from isrcheck.models.messages import UsageError

AT = "2026-11-29T01:00:00+00:00"


def partition(isr: tuple[int, ...], leader: int | None = 1, replicas: tuple[int, ...] = (1, 2, 3)) -> Partition:
    return Partition("t", 0, leader, replicas, isr, "here")


@pytest.mark.parametrize(
    ("isr", "leader", "least", "state"),
    [
        ((1, 2, 3), 1, 2, None),
        ((1, 2), 1, 2, "at_min_isr"),
        ((1,), 1, 2, "under_min_isr"),
        ((1,), None, 2, "without_leader"),
        ((1, 2), 1, 1, "under_replicated"),
        ((1,), 1, 1, "at_min_isr"),
        ((1, 2, 3), 1, 5, "at_min_isr"),
    ],
)
def test_a_partition_counts_by_its_gravest_state(
    isr: tuple[int, ...], leader: int | None, least: int, state: str | None
) -> None:
    expected = Risk(1) if state is None else Risk(1, **{state: 1})
    assert risk_of([partition(isr, leader)], least) == expected


def test_a_reassignment_counts_its_target() -> None:
    moving = Partition("t", 0, 2, (1, 2, 3), (2, 3), "here", adding=(3,), removing=(1,))
    assert risk_of([moving], 1) == Risk(1)


def test_the_text_of_a_reading_has_the_worst_topics() -> None:
    topics = {f"t{number:02}": Risk(9, at_min_isr=number) for number in range(12)} | {"x": Risk(2, 1, 1)}
    lines = list(Watched(AT, 1, 12, "Can lose", topics=topics).lines())
    at = "at min.insync.replicas (one more loss away from refused writes, or from having no leader)"
    assert lines == [
        f"{AT}  Can lose; 68 partitions at risk now",
        "  x: 1 without a leader; 1 under min.insync.replicas (writes with acks=all are refused)",
        *(f"  t{number:02}: {number} {at}" for number in range(11, 2, -1)),
        "  and 2 more topics",
    ]


def test_metrics_in_prometheus_format() -> None:
    watched = Watched(AT, 1.5, 12, "Can lose", kinds={Kind.CAN_LOSE: 3}, topics={'a"\\': Risk(4, 1, 2)}, unknown=5)
    lines = [line for line in watched.metrics().splitlines() if not line.startswith("# ")]
    assert lines == [
        "isrcheck_up 1",
        "isrcheck_reading_seconds 1.5",
        "isrcheck_reading_timestamp_seconds 1795914000",
        "isrcheck_exit_code 12",
        'isrcheck_topics{kind="broken"} 0',
        'isrcheck_topics{kind="can-lose"} 3',
        'isrcheck_topics{kind="defects"} 0',
        'isrcheck_topics{kind="unknown"} 0',
        'isrcheck_topics{kind="keeps"} 0',
        "isrcheck_unknown_facts 5",
        r'isrcheck_partitions{topic="a\"\\"} 4',
        r'isrcheck_partitions_without_leader{topic="a\"\\"} 1',
        r'isrcheck_partitions_under_min_isr{topic="a\"\\"} 2',
        r'isrcheck_partitions_at_min_isr{topic="a\"\\"} 0',
        r'isrcheck_partitions_under_replicated{topic="a\"\\"} 0',
    ]
    names = {line.partition(" ")[0].partition("{")[0] for line in lines}
    assert {line.split()[2] for line in watched.metrics().splitlines() if line.startswith("# HELP ")} == names
    assert {line.split()[2] for line in watched.metrics().splitlines() if line.startswith("# TYPE ")} == names


def test_metrics_of_a_failed_reading_invent_nothing() -> None:
    failed = Watched(AT, 2, UNDECIDED, "Unknown: no answer", is_read=False)
    validate(failed.as_object(), {"$ref": "#/$defs/watched", "$defs": SCHEMA["$defs"]})
    assert list(failed.lines()) == [f"{AT}  Unknown: no answer"]
    lines = [line for line in failed.metrics().splitlines() if not line.startswith("# ")]
    assert lines == [
        "isrcheck_up 0",
        "isrcheck_reading_seconds 2",
        "isrcheck_reading_timestamp_seconds 1795914000",
        "isrcheck_exit_code 3",
    ]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def test_the_server_of_metrics() -> None:
    port = free_port()
    with Metrics(Address("127.0.0.1", port)) as metrics:
        metrics.text = "isrcheck_up 1\n"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert (answer.read(), answer.headers["Content-Type"]) == (
                b"isrcheck_up 1\n",
                "text/plain; version=0.0.4; charset=utf-8",
            )
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/other")
        with pytest.raises(UsageError) as taken:
            Metrics(Address("127.0.0.1", port))
    assert str(taken.value) == f"--metrics-port 127.0.0.1:{port}: Address already in use; give another port"


# --- the command ---


@pytest.mark.sampled
def test_an_answer_for_a_running_cluster_and_again_from_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.json"
    cluster = StubCluster(topics={"orders": [Part(), Part(isr=(1, 2))], "logs": [Part(leader=-1, isr=(), elr=(2,))]})
    with served(cluster):
        assert check(["doctor", "--bootstrap-server", cluster.address, "--save", str(file)]) == VIOLATED
        live = capsys.readouterr()
        words = ["doctor", "--bootstrap-server", cluster.address, "--save", str(file)]
        assert check(words) == USAGE
        assert capsys.readouterr().err == (
            f"check: --save {file}: the file exists; give another name, or replace the file with --force\n"
        )
        assert check([*words, "--force", "--topic-name", "orders"]) == VIOLATED
        capsys.readouterr()
        assert check(words[:3]) == VIOLATED
    again = capsys.readouterr()
    assert "2 topics with 3 partitions, settings of 2 topics and 3 brokers" in live.out
    assert "logs-0 has no leader: nothing can be written or read until a broker of its ELR (2) is up" in live.out
    assert "min.insync.replicas=2" in live.out
    assert check(["doctor", str(file), "--json"]) == VIOLATED
    content = json.loads(capsys.readouterr().out)
    assert [answer["topics"] for answer in content["answers"]] == [["orders"]]
    assert again.out.splitlines()[0] == live.out.splitlines()[0]


def test_a_saved_file_gives_the_same_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cluster.json"
    with served(StubCluster()) as cluster:
        check(["doctor", "--bootstrap-server", cluster.address, "--save", str(file)])
    live = capsys.readouterr()
    for words in (["doctor", str(file)], ["--describe", str(file)], ["doctor", "--describe", str(file)]):
        check(words)
        assert capsys.readouterr() == live
    assert live.err == ""


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_password_is_refused_without_being_shown(
    mechanism: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "client.properties"
    login = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.username=alice\n"
    file.write_text(f"{login}sasl.password=wr0ng\n", encoding="utf-8")
    with served(StubCluster(user=(mechanism, "alice", "right"))) as cluster:
        words = ["doctor", "--bootstrap-server", cluster.address, "--command-config", str(file)]
        assert check(words) == USAGE
        told = capsys.readouterr()
        assert (told.out, told.err) == (
            "",
            f"check: {cluster.address} does not accept the user or the password (SASL_AUTHENTICATION_FAILED);"
            f" correct {file}\n",
        )
        file.write_text(f"{login}sasl.password=right\n", encoding="utf-8")
        assert check(words) == VIOLATED


def test_settings_without_effect_in_the_client_s_file_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=other:9092\nacks=1\nsecurity.protocol=PLAINTEXT\n", encoding="utf-8")
    with served(StubCluster()) as cluster:
        check(["doctor", "--bootstrap-server", cluster.address, "--command-config", str(file)])
    told = capsys.readouterr().out
    assert (
        f"{file}: only security.protocol, ssl.* and sasl.* count in the file of --command-config, so bootstrap.servers,"
        " acks have no effect; give the settings of a producer in another file\n"
    ) in told
    assert "min.insync.replicas=2, acks=all\n" in told


UNREAD = "the settings of topic orders and of brokers could not be read; add files that have them"


@pytest.mark.parametrize("silent", [False, True])
def test_settings_that_could_not_be_read_leave_the_answer_open(
    silent: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    denied = {} if silent else {Api.DESCRIBE_CONFIGS: ErrorCode.cluster_authorization_failed}
    cluster = StubCluster(errors=denied)
    if silent:
        cluster.silent |= {(broker, Api.DESCRIBE_CONFIGS) for broker in cluster.racks}
    with served(cluster):
        words = ["doctor", "--bootstrap-server", cluster.address, "--timeout", "0.1"]
        assert check(words) == UNDECIDED
        told = capsys.readouterr().out
        assert check([*words, "--lose", "1"]) == UNDECIDED
        assert capsys.readouterr().err == f"check: --lose: {UNREAD}\n"
    assert told.splitlines()[0] == f"Cannot tell, because {UNREAD}"
    assert "For      topic orders, Kafka 4.1, 3 replicas, min.insync.replicas=unknown, acks=all" in told


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--bootstrap-server", "broker"], "--bootstrap-server broker: not HOST:PORT; write it as in"),
        (["--bootstrap-server", "b:99999"], "--bootstrap-server b:99999: not HOST:PORT; write it as in"),
        (
            ["--bootstrap-server", "b:1", "--topic", "topic-1"],
            "--topic topic-1: no such file; to select a topic, use --topic-name topic-1",
        ),
        (["--timeout", "3"], "--timeout goes with --bootstrap-server HOST:PORT; add that option"),
        (["--command-config", "x"], "--command-config goes with --bootstrap-server HOST:PORT; add that option"),
        (["f", "--watch", "3"], "--watch goes with --bootstrap-server HOST:PORT; add that option"),
        (
            ["--bootstrap-server", "b:1", "--force"],
            "--force has no effect without --alerts FILE or --save FILE; leave --force out",
        ),
        (["--bootstrap-server", "b:1", "--save", "/no/x"], "--save /no/x: there is no folder /no; create the folder"),
        (
            ["--bootstrap-server", "b:1", "--watch", "1", "--details"],
            "--details goes with a single reading; leave out --details, --watch and --metrics-port",
        ),
        (
            ["--bootstrap-server", "b:1", "--watch", "1", "--alerts", "a.yml"],
            "--alerts goes with a single reading; leave out --alerts, --watch and --metrics-port",
        ),
        (
            ["--bootstrap-server", "b:1", "--metrics-port", "9404", "--alerts", "a.yml"],
            "--alerts goes with a single reading; leave out --alerts, --watch and --metrics-port",
        ),
        (
            ["--bootstrap-server", "b:1", "--watch", "1", "--roll"],
            "--roll goes with a single reading; leave out --watch and --metrics-port",
        ),
        (["--bootstrap-server", "b:1", "--metrics-port", "0"], "--metrics-port 127.0.0.1:0: not HOST:PORT; write it"),
        (["--bootstrap-server", "b:1", "--watch", "0"], "--watch 0: not a time; give a number of seconds above 0"),
    ],
)
def test_options_that_do_not_go_together(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(["doctor", *words]) == USAGE
    assert capsys.readouterr().err.startswith(f"check: {says}")


def test_the_options_are_the_doctor_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(["kafka", "--protocol", "2.1", "--bootstrap-server", "b:1"]) == USAGE
    assert capsys.readouterr().err == (
        "check: --bootstrap-server goes with doctor, as in: isrcheck doctor --bootstrap-server ...\n"
    )


def test_a_cluster_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    with speaking(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        assert check(["doctor", "--bootstrap-server", address]) == USAGE
    assert capsys.readouterr().err == (
        f"check: {address}: this port speaks HTTP, not Kafka's protocol; give a broker's listener\n"
    )
    with served(StubCluster(silent={(1, Api.METADATA)})) as cluster:
        assert check(["doctor", "--bootstrap-server", cluster.address, "--timeout", "0.1"]) == UNDECIDED
    assert capsys.readouterr().err == (
        f"check: {cluster.address}: no answer to Metadata within 0.1 s; give a longer --timeout\n"
    )


def test_without_kio_the_command_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [
        name for name in sys.modules if name.partition(".")[0] == "kio" or name.endswith("cluster.live.reader")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "isrcheck.checker.cluster.live.connection", raising=False)
    monkeypatch.setitem(sys.modules, "kio", None)
    assert check(["doctor", "--bootstrap-server", "b:1"]) == USAGE
    assert capsys.readouterr().err == (
        "check: --bootstrap-server needs kio, which is not installed: pip install 'isrcheck[wire]'\n"
    )


def test_answers_from_files_import_neither_kio_nor_tls() -> None:
    """Their import would make every answer slower."""
    code = "import sys, isrcheck.checker.answers.doctor; print({'kio', 'ssl', 'http.server'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@contextmanager
def watching(cluster: StubCluster, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "isrcheck", "doctor", "--bootstrap-server", cluster.address, *words]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.sampled
def test_watching_until_ctrl_c() -> None:
    """The second reading shows what changed, the third fails, and Ctrl-C ends the command between two readings."""
    cluster, port = StubCluster(topics={"t": [Part()]}), free_port()
    words = ["--watch", "0.01", "--timeout", "0.2", "--metrics-port", str(port)]
    with served(cluster), watching(cluster, *words) as process:
        assert process.stdout is not None
        assert "; 0 partitions at risk now" in process.stdout.readline()
        cluster.topics["t"][0].isr = (1,)
        risky = "  t: 1 under min.insync.replicas (writes with acks=all are refused)\n"
        while process.stdout.readline() != risky:
            pass
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert b'isrcheck_partitions_under_min_isr{topic="t"} 1\n' in answer.read()
        cluster.silent.add((1, Api.METADATA))
        while "Unknown: " not in (line := process.stdout.readline()):
            pass
        assert line.endswith(
            f"Unknown: {cluster.address}: no answer to Metadata within 0.2 s; give a longer --timeout\n"
        )
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == INTERRUPTED
    assert err.startswith("check: interrupted after ")
    assert err.count("\n") == 1


@pytest.mark.sampled
def test_the_metrics_of_settings_that_could_not_be_read() -> None:
    """A slow API must not look like a topic that can lose records, nor like a missed min.insync.replicas."""
    cluster, port = StubCluster(topics={"t": [Part(isr=(1,))]}), free_port()
    cluster.errors[Api.DESCRIBE_CONFIGS] = ErrorCode.cluster_authorization_failed
    with served(cluster), watching(cluster, "--watch", "30", "--metrics-port", str(port)) as process:
        assert process.stdout is not None
        assert "Cannot tell, because the settings of topic t and of brokers could" in process.stdout.readline()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert [values[f'isrcheck_topics{{kind="{kind}"}}'] for kind in ("can-lose", "unknown")] == ["0", "1"]
    assert values["isrcheck_exit_code"] == str(UNDECIDED)
    states = ("under_min_isr", "at_min_isr", "under_replicated")
    assert [values[f'isrcheck_partitions_{state}{{topic="t"}}'] for state in states] == ["0", "0", "1"]


@pytest.mark.sampled
def test_watching_ends_when_its_reader_has_gone() -> None:
    """As in `isrcheck doctor ... --watch 1 | head -1`; the exit code is that of the last reading."""
    with served(StubCluster()) as cluster, watching(cluster, "--watch", "0.01") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "; 0 partitions at risk now" in process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=20) == VIOLATED
        assert process.stderr.read() == ""


@pytest.mark.sampled
def test_watching_as_json() -> None:
    with (
        served(StubCluster(topics={"t": [Part(isr=(1, 2))]})) as cluster,
        watching(cluster, "--watch", "30", "--json") as process,
    ):
        assert process.stdout is not None
        line = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        assert process.communicate() == ("", "check: interrupted after 1 reading\n")
    validate(line, {"$ref": "#/$defs/watched", "$defs": SCHEMA["$defs"]})
    assert (line["is_read"], line["exit_code"], line["headline"].partition(",")[0]) == (True, 12, "Keeps its promises")
    assert line["topics"] == {
        "t": {"partitions": 1, "without_leader": 0, "under_min_isr": 0, "at_min_isr": 1, "under_replicated": 0}
    }
