"""`conform serve`: addresses, limits, bad input, Ctrl-C."""

import signal
import socket
import subprocess
import sys
from contextlib import ExitStack

import pytest

from conformance.tests.support.places import PROJECT
from isrcheck.commands.exit_codes import DONE, INTERRUPTED, USAGE
from isrcheck.conformance.cli import main as conform
from isrcheck.conformance.wire.driving.pump import Pump

AT_LEAST_1 = "write a whole number of at least 1"


def test_it_prints_where_it_listens_and_stops_after_the_given_time(capfd):
    assert conform(["serve", "--seconds", "0.01", "--replicas", "2", "--topic", "mine"]) == DONE
    out, errors = capfd.readouterr()
    first, second = out.splitlines()
    addresses = first.removeprefix("bootstrap.servers=").split(",")
    assert [one.rpartition(":")[0] for one in addresses] == ["127.0.0.1"] * 2
    assert (second, errors) == ("topic mine, 1 partition, 2 replicas", "")


def test_it_says_which_further_topics_it_serves(capfd):
    words = ["--protocol", "4.1", "--replicas", "6", "--racks", "3", "--topics", "20", "--partitions", "4"]
    assert conform(["serve", "--seconds", "0.01", *words]) == DONE
    assert capfd.readouterr().out.splitlines()[1:] == [
        "topic topic, 1 partition, 6 replicas",
        "20 further topics without records, with 4 partitions each",
    ]


def test_it_advertises_the_ports_of_a_proxy(capfd):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["--replicas", "1", "--port", str(port), "--advertise", "7000"]
    assert conform(["serve", "--seconds", "0.01", *words]) == DONE
    assert capfd.readouterr().out.splitlines()[0] == "bootstrap.servers=127.0.0.1:7000"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["--protocol", "9"],
            "there is no generation 9; the generations are:"
            " 0.8, 0.10, 0.11, 2.0, 2.1, 2.4, 2.8, 3.3, 3.5, 3.7, 4.0, 4.1, 4.3",
        ),
        (
            ["--topics", "20000"],
            "--topics 20000 --partitions 10: too many; give at most 100000 partitions together",
        ),
        (
            ["--config", "flush.ms=1"],
            "--config flush.ms=1: write it as WHERE:NAME=VALUE; WHERE is static, cluster, broker:N or topic:NAME",
        ),
        (
            ["--config", "topic:a:retention=1"],
            "--config topic:a:retention=1: the server does not report such a setting; it has: cleanup.policy,"
            " flush.messages, flush.ms, min.insync.replicas, retention.bytes, retention.ms, segment.bytes,"
            " unclean.leader.election.enable",
        ),
        (
            ["--config", "broker:1:min.insync.replicas=1"],
            "--config broker:1:min.insync.replicas=1: the brokers share one value; make the setting at cluster, or"
            " for a topic",
        ),
        (["--config", "cluster:min.insync.replicas=0"], f"--config cluster:min.insync.replicas=0: {AT_LEAST_1}"),
        (["--config", "static:num.partitions=many"], "--config static:num.partitions=many: write a whole number"),
        (
            ["--config", "topic:a:unclean.leader.election.enable=yes"],
            "--config topic:a:unclean.leader.election.enable=yes: write true or false",
        ),
        (["--switch", "TRUNC"], "--switch TRUNC: not a name with a value; write it as --switch NAME=VALUE"),
        (["--switch", "TRUNC=X"], "TRUNC cannot be X; its values are: HW, KIP101, KIP279, KIP320, ON_FETCH"),
        (["--port", "70000"], "--port 70000: no such port; give one from 1 to 65532, or 0"),
        (["--port", "-1"], "--port -1: no such port; give one from 1 to 65532, or 0"),
        (["--replicas", "50"], "--replicas 50: too many; give at most 9 brokers"),
        (
            ["--port", "9", "--advertise", "-1"],
            "--advertise -1: no such port; give one from 1 to 65532, or leave it out",
        ),
        (["--advertise", "9"], "--advertise needs --port: the proxy has to know where the brokers listen"),
        (
            ["--trace", "x", "--port", "9", "--advertise", "9"],
            "--advertise is for a proxy, but a trace is played without a proxy; leave --advertise out",
        ),
        (["--host", "0.0.0.0"], "--host 0.0.0.0: clients cannot connect to it; give an address of this machine"),
        (["--host", "0"], "--host 0: clients cannot connect to it; give an address of this machine"),
        (["--host", ""], "--host : clients cannot connect to it; give an address of this machine"),
        (
            ["--host", "192.0.2.1"],
            "192.0.2.1:0: Cannot assign requested address; choose another address with --port or --host",
        ),
        (
            ["--trace", "nothing.json"],
            "nothing.json: cannot be read: No such file or directory; list the traces with: trace list",
        ),
    ],
)
def test_bad_input_is_one_line(words, line, capfd):
    assert conform(["serve", "--seconds", "0.01", *words]) == USAGE
    assert capfd.readouterr() == ("", f"conform: {line}\n")


def test_a_taken_port_is_one_line(capfd):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert conform(["serve", "--port", str(port)]) == USAGE
        line = f"127.0.0.1:{port}: Address already in use; choose another address with --port or --host"
        assert capfd.readouterr() == ("", f"conform: {line}\n")


@pytest.mark.parametrize(
    ("package", "words", "line"),
    [
        ("kio", [], "serve needs kio, which is not installed: pip install 'isrcheck[wire]'"),
        (
            "confluent_kafka",
            ["--trace", "any"],
            "--trace needs confluent-kafka, which is not installed: pip install confluent-kafka",
        ),
    ],
)
def test_a_missing_package_is_one_line_with_the_cure(package, words, line, monkeypatch, capfd):
    for name in [each for each in sys.modules if each.partition(".")[0] == package or "conformance.wire" in each]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert conform(["serve", *words]) == USAGE
    assert capfd.readouterr() == ("", f"conform: {line}\n")


def test_a_defect_of_the_cluster_ends_the_server(monkeypatch, capfd):
    def run(pump):
        raise AssertionError("this is a defect of the cluster")

    monkeypatch.setattr(Pump, "run", run)
    with pytest.raises(AssertionError, match="this is a defect of the cluster"):
        conform(["serve", "--seconds", "10"])
    assert capfd.readouterr().out.startswith("bootstrap.servers=")


@pytest.mark.sampled
def test_ctrl_c_ends_it_cleanly():
    """In a process of its own, whose standard input gives commands."""
    words = [sys.executable, "-X", "dev", "-m", "isrcheck.conformance", "serve", "--verbose"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, cwd=PROJECT, text=True, **pipes) as running, ExitStack() as ending:
        ending.callback(running.kill)
        assert running.stdout.readline().startswith("bootstrap.servers=127.0.0.1:")
        assert running.stdout.readline() == "topic topic, 1 partition, 3 replicas\n"
        running.stdin.write("crash 2\nnon")  # a line that arrives in two pieces
        running.stdin.flush()
        assert running.stdout.readline() == "crash 2\n"
        running.stdin.write("sense\ncrash 7\n")
        running.stdin.flush()
        assert running.stdout.readline() == (
            "nonsense: no such command; the commands are: crash N, stop N, restart N, freeze N, thaw N, elect N,"
            " min-isr N, reassign N N ..., lose answer, deny or allow one of: Describe Topic, Describe Cluster,"
            " DescribeConfigs Topic, DescribeConfigs Cluster\n"
        )
        assert running.stdout.readline() == "there is no broker 7; the brokers are [0, 1, 2]\n"
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=10)
    assert (running.returncode, out, errors) == (INTERRUPTED, "", "conform: interrupted\n")
