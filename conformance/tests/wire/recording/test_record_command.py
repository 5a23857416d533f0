"""`conform record`: addresses, files, bad input, Ctrl-C."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress

import pytest

from conformance.tests.support.places import PROJECT
from conformance.tests.wire.recording.proxying import HOST, answer, answered, ask, node, soon
from conformance.tests.wire.serving import SECONDS
from isrcheck.commands.exit_codes import DONE, INTERRUPTED, USAGE
from isrcheck.conformance.cli import main as conform
from isrcheck.conformance.wire.recording.rules import COMMANDS, FAULT_COMMANDS

pytestmark = pytest.mark.sampled

SHAPE = "write NAME=PORT:HOST:PORT, such as 1=29501:localhost:9092"


@contextmanager
def recording(port, *words, most=2**20):
    """The command in a process of its own, whose files may have `most` bytes; and the first lines that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "isrcheck.conformance", "record", "--node", f"1=0:{HOST}:{port}", *words],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    assert process.stdout is not None
    told = []
    while not told or not told[-1].startswith("recording: "):
        told.append(process.stdout.readline()[:-1])
    try:
        yield process, told, int(told[-3].partition(":")[2].partition(",")[0])
    finally:
        process.kill()
        process.communicate()


def test_a_recording_is_written_until_ctrl_c(tmp_path):
    script = tmp_path / "script.txt"
    script.write_text("hold heartbeat from client slow until released", encoding="utf-8")
    out = tmp_path / "out"
    with (
        node(answer) as port,
        recording(port, "-o", str(out), "--script", str(script)) as (process, told, proxy),
    ):
        with socket.create_connection((HOST, proxy), SECONDS) as one, socket.create_connection((HOST, proxy)) as two:
            ask(one, 1, "me")
            assert answered(one) == 1
            ask(two, 2, "slow")
            told.append(process.stdout.readline()[:-1])
            process.stdin.write("release 1\n")
            process.stdin.flush()
            assert answered(two) == 2
            ask(two, 3, "me")
            assert answered(two) == 3
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: also to the process that writes
        output, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, errors) == (INTERRUPTED, "conform: interrupted\n")
    assert [*told, *output.splitlines()] == [
        "line 1 begins: hold heartbeat from client slow until released",
        f"broker 1 must advertise 127.0.0.1:{proxy}, and is expected at 127.0.0.1:{port}",
        f"type what you do to the nodes: {FAULT_COMMANDS}, note TEXT",
        f"recording: {out}/wire.ndjson",
        "line 1 holds a request of slow at 1",
        "line 1 ends, and releases 1",
    ]
    lines = [json.loads(one) for one in (out / "wire.ndjson").read_text(encoding="utf-8").splitlines()]
    assert [one["n"] for one in lines] == list(range(9))
    assert [one["t"] for one in lines] == sorted(one["t"] for one in lines)
    kinds = [(one["kind"], one.get("what"), one.get("correlation")) for one in lines]
    assert kinds == [
        ("fault", "hold", None),
        ("request", None, 1),
        ("response", None, 1),
        ("held", "request", 2),
        ("fault", "release", None),
        ("request", None, 2),
        ("response", None, 2),
        ("request", None, 3),
        ("response", None, 3),
    ]
    assert list(lines[1]) == ["n", "t", "kind", "client", "broker", "api", "version", "correlation", "body"]


def test_a_person_types_faults_and_is_answered_also_without_verbose(tmp_path):
    with node(answer) as port, recording(port, "-o", str(tmp_path)) as (process, _, _):
        process.stdin.write("kill 1\nkill 1\nkil 1\n")
        process.stdin.flush()
        soon(lambda: (tmp_path / "wire.ndjson").read_text(encoding="utf-8").count("\n") == 1)
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=SECONDS)
    line = json.loads((tmp_path / "wire.ndjson").read_text(encoding="utf-8"))
    assert [line[key] for key in ("kind", "what", "broker")] == ["fault", "kill -9", 1]
    assert output.splitlines() == [
        "kill -9 1: it is killed; not written",
        f"kil 1: no such command; the commands are: {COMMANDS}",
    ]


def test_a_killed_proxy_leaves_whole_lines(tmp_path):
    with node(answer) as port, recording(port, "-o", str(tmp_path)) as (process, _, proxy):
        with socket.create_connection((HOST, proxy), SECONDS) as connection:
            for number in range(50):
                ask(connection, number, "me")
                assert answered(connection) == number
        path = tmp_path / "wire.ndjson"
        process.kill()
        process.wait(SECONDS)
        soon(lambda: path.read_text(encoding="utf-8").count("\n") >= 99)
    text = path.read_text(encoding="utf-8")
    # The proxy passes a response on before it records it: the last one may have been passed on only.
    assert [json.loads(one)["n"] for one in text.splitlines()] in (list(range(99)), list(range(100)))
    assert text.endswith("\n")


def test_a_recording_that_cannot_be_written_ends_the_command(tmp_path):
    with node(answer) as port, recording(port, "-o", str(tmp_path), most=1000) as (process, _, proxy):
        with socket.create_connection((HOST, proxy), SECONDS) as connection, suppress(OSError):
            for number in range(50):
                ask(connection, number, "me")
                answered(connection)
        output, errors = process.communicate(timeout=SECONDS)
    line = f"conform: {tmp_path}/wire.ndjson: File too large; make room, or write elsewhere\n"
    assert (process.returncode, output, errors) == (USAGE, "", line)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--node", "1"], f"--node 1: {SHAPE}"),
        (["--node", "1=5:h"], f"--node 1=5:h: {SHAPE}"),
        (
            ["--node", "x=5:h:6"],
            "--node x=5:h:6: 'x' is no name of a node; write a broker's id, controller, or controller-ID",
        ),
        (["--node", "1=70000:h:6"], f"--node 1=70000:h:6: 70000 is no port; {SHAPE}"),
        (["--node", "1=5:h:0"], f"--node 1=5:h:0: 0 is no port; {SHAPE}"),
        (["--node", "1=0:h:6", "--node", "1=0:h:7"], "--node 1: given twice; give each node once"),
        (["--node", "1=5:h:6", "--node", "2=5:h:7"], "--node 2: node 1 has port 5, too; give each its own"),
        (
            ["--node", "1=0:h:6", "--script", "none.txt"],
            "none.txt: cannot be read: No such file or directory; name a file with one rule a line",
        ),
        (["--node", "1=0:h:6", "--seconds", "0"], None),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(words, line, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert conform(["record", *words, "-o", "out"]) == USAGE
    out, errors = capfd.readouterr()
    assert (out, errors.count("\n")) == ("", 1)
    assert line is None or errors == f"conform: {line}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_bad_rule_is_one_line_and_nothing_is_written(capfd, tmp_path):
    script = tmp_path / "script.txt"
    script.write_text("# first\nhold fetsh until released\n", encoding="utf-8")
    words = ["record", "--node", "1=0:h:6", "-o", str(tmp_path / "out"), "--script", str(script)]
    assert conform(words) == USAGE
    assert capfd.readouterr() == ("", f"conform: {script}:2: fetsh: no such API; did you mean fetch?\n")
    assert list(tmp_path.iterdir()) == [script]


def test_a_taken_port_is_one_line_and_leaves_no_file(capfd, tmp_path):
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        assert conform(["record", "--node", f"1={port}:h:6", "-o", str(tmp_path)]) == USAGE
        line = f"conform: 127.0.0.1:{port}: Address already in use; choose a different port with --node\n"
        assert capfd.readouterr() == ("", line)
    assert list(tmp_path.iterdir()) == []


def test_a_recording_is_never_overwritten(capfd, tmp_path):
    path = tmp_path / "wire.ndjson"
    path.write_text("kept", encoding="utf-8")
    assert conform(["record", "--node", "1=0:h:6", "-o", str(tmp_path), "--seconds", "0.01"]) == USAGE
    line = f"conform: {path} exists already and is kept; choose a different folder with -o\n"
    assert (capfd.readouterr(), path.read_text(encoding="utf-8")) == (("", line), "kept")


def test_it_stops_after_the_given_time(tmp_path):
    assert conform(["record", "--node", "1=0:h:6", "-o", str(tmp_path), "--seconds", "0.01"]) == DONE
    assert (tmp_path / "wire.ndjson").read_text(encoding="utf-8") == ""


def test_a_missing_package_is_one_line_with_the_cure(monkeypatch, capfd):
    for name in [each for each in sys.modules if each.partition(".")[0] == "kio" or "conformance.wire" in each]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kio", None)
    assert conform(["record", "--node", "1=0:h:6", "-o", "out"]) == USAGE
    line = "conform: record needs kio, which is not installed: pip install 'isrcheck[wire]'\n"
    assert capfd.readouterr() == ("", line)
