"""Connections that fail, each with a line that says where, why, and the cure; and TLS and SASL that work."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from conformance.tests.checker.cluster.live.stub import ALL, TLS, StubCluster, served, speaking
from isrcheck.checker.cluster.live.address import read_addresses
from isrcheck.checker.cluster.live.connection import Api, ConnectError, NoAnswerError
from isrcheck.checker.cluster.live.reader import Request, read_cluster
from isrcheck.checker.cluster.live.sasl import Login
from isrcheck.checker.cluster.live.security import read_security

PLAIN, SCRAM = ("PLAIN", "alice", "pa=,ss"), ("SCRAM-SHA-512", "al,i=ce", "secret")
HIDDEN = ("topics that the user may not describe: Kafka does not mention them",)
TRUSTED = f"ssl.truststore.type=PEM\nssl.truststore.location={TLS / 'ca.pem'}\n"


def jaas(user: str, password: str) -> str:
    return f'sasl.jaas.config=org.apache.kafka.X required username="{user}" password="{password}";\n'


def client(folder: Path, text: str) -> Path:
    file = folder / "client.properties"
    file.write_text(text, encoding="utf-8")
    return file


def problem(address: str, file: Path | None = None, timeout: float = 5.0) -> str:
    with pytest.raises((ConnectError, NoAnswerError)) as failed:
        read_cluster(Request(read_addresses("x", address), read_security(file), (), timeout))
    return str(failed.value)


@pytest.mark.sampled
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("tls", [False, True])
def test_a_user_is_logged_in(mechanism: str, tls: bool, tmp_path: Path) -> None:
    cluster = StubCluster(user=(mechanism, "al,i=ce", 'pa"s=,s'), tls=tls)
    text = f"security.protocol={'SASL_SSL' if tls else 'SASL_PLAINTEXT'}\nsasl.mechanism={mechanism}\n"
    with served(cluster):
        file = client(tmp_path, text + TRUSTED + jaas("al,i=ce", r"pa\\\"s=,s"))
        snapshot = read_cluster(Request(read_addresses("x", cluster.address), read_security(file)))
    assert (len(snapshot.brokers), snapshot.unknown) == (3, HIDDEN)


def test_librdkafka_s_names_work_too(tmp_path: Path) -> None:
    cluster = StubCluster(user=PLAIN, tls=True)
    text = (
        f"security.protocol=sasl_ssl\nssl.ca.location={TLS / 'ca.pem'}\n"
        "sasl.mechanisms=PLAIN\nsasl.username=alice\nsasl.password=pa=,ss\n"
    )
    with served(cluster):
        security = read_security(client(tmp_path, text))
        assert read_cluster(Request(read_addresses("x", cluster.address), security)).unknown == HIDDEN
        assert read_cluster(Request(read_addresses("x", cluster.address), security, ("orders",))).unknown == ()


def test_a_wrong_password(tmp_path: Path) -> None:
    for user in (PLAIN, SCRAM):
        text = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={user[0]}\n" + jaas(user[1], "wrong-password")
        with served(StubCluster(user=user)) as cluster:
            file = client(tmp_path, text)
            assert problem(cluster.address, file) == (
                f"{cluster.address} does not accept the user or the password (SASL_AUTHENTICATION_FAILED);"
                f" correct {file}"
            )


def test_a_user_at_a_port_that_asks_for_none(tmp_path: Path) -> None:
    text = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n" + jaas("a", "b")
    with served(StubCluster()) as cluster:
        file = client(tmp_path, text)
        assert problem(cluster.address, file) == (
            f"{cluster.address}: this port asks for no user; correct the port, or security.protocol in {file}"
        )


def test_a_mechanism_that_the_broker_does_not_have(tmp_path: Path) -> None:
    text = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n" + jaas("a", "b")
    with served(StubCluster(user=SCRAM)) as cluster:
        file = client(tmp_path, text)
        assert problem(cluster.address, file) == (
            f"{cluster.address} has no sasl.mechanism PLAIN (SCRAM-SHA-512); correct {file}"
        )


def test_a_server_that_does_not_know_the_password() -> None:
    """It sends a signature that does not come from the password: whoever listens there is not the broker."""
    messages = Login("SCRAM-SHA-256", "alice", "secret").messages()
    nonce = next(messages).decode().partition("r=")[2]
    messages.send(f"r={nonce}x,s=c2FsdA==,i=4096".encode())
    with pytest.raises(Exception, match="does not prove that it knows the password"):
        messages.send(b"v=AAAA")


@pytest.mark.parametrize("answer", ["r={}x,s=c2FsdA==,i=999999999", "r=other,s=c2FsdA==,i=4096", "r={}x,i=1", "e=no"])
def test_a_bad_answer_to_the_first_message(answer: str) -> None:
    messages = Login("SCRAM-SHA-256", "alice", "secret").messages()
    nonce = next(messages).decode().partition("r=")[2]
    with pytest.raises(Exception, match="first message has"):
        messages.send(answer.format(nonce).encode())


def test_a_certificate_that_nobody_trusts(tmp_path: Path) -> None:
    with served(StubCluster(tls=True)) as cluster:
        file = client(tmp_path, "security.protocol=SSL\n")
        assert problem(cluster.address, file) == (
            f"{cluster.address}: its certificate is not trusted (self-signed certificate);"
            f" give the certificate of its authority as ssl.truststore.location (PEM) in {file}"
        )


def test_a_certificate_of_another_host(tmp_path: Path) -> None:
    with served(StubCluster(tls=True)) as cluster:
        address = cluster.address.replace("127.0.0.1", "127.1")
        text = "security.protocol=SSL\n" + TRUSTED
        file = client(tmp_path, text)
        assert problem(address, file) == (
            f"{address}: its certificate is not trusted (Hostname mismatch, certificate is not valid for '127.1'.);"
            f" connect by a name in the certificate, or set ssl.endpoint.identification.algorithm to nothing in {file}"
        )
        security = read_security(client(tmp_path, text + "ssl.endpoint.identification.algorithm=\n"))
        assert read_cluster(Request(read_addresses("x", address), security)).unknown == ()


def http() -> AbstractContextManager[str]:
    return speaking(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def alert() -> AbstractContextManager[str]:
    return speaking(b"\x15\x03\x03\x00\x02\x02\x46")


def garbage() -> AbstractContextManager[str]:
    return speaking(b"SSH-2.0-OpenSSH_9.6\r\n")


def short() -> AbstractContextManager[str]:
    return speaking(b"\x00\x00\x00\x06\x00\x00\x00\x01\x00\x00")


def closed() -> AbstractContextManager[str]:
    return speaking(b"")


@pytest.mark.parametrize(
    ("port", "says"),
    [
        (http, "{}: this port speaks HTTP, not Kafka's protocol; give a broker's listener"),
        (
            alert,
            "{}: this port speaks TLS; give --command-config FILE with security.protocol=SSL or SASL_SSL",
        ),
        (garbage, "{}: its answer is not of Kafka's protocol; check the port"),
        (
            short,
            "{}: its answer is not of Kafka's protocol (the frame gives a length of 1, but has only 0 bytes left);"
            " check the port",
        ),
        (
            closed,
            "{} closed the connection instead of answering ApiVersions; check the port, and security.protocol in"
            " --command-config FILE",
        ),
    ],
)
def test_a_port_that_speaks_something_else(port: Callable[[], AbstractContextManager[str]], says: str) -> None:
    with port() as address:
        assert problem(address) == says.format(address)


def test_a_port_without_tls(tmp_path: Path) -> None:
    file = client(tmp_path, "security.protocol=SSL\n")
    with http() as address:
        assert problem(address, file) == (
            f"{address}: no TLS connection (WRONG_VERSION_NUMBER); check the port, and security.protocol in {file}"
        )


def test_a_broker_that_asks_for_a_user() -> None:
    with served(StubCluster(user=PLAIN)) as cluster:
        assert problem(cluster.address) == (
            f"{cluster.address} closed the connection instead of answering Metadata; if it asks for a user, give"
            " --command-config FILE with security.protocol=SASL_..."
        )


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert problem(f"127.0.0.1:{port}") == (
        f"127.0.0.1:{port}: cannot connect (Connection refused); check that a broker listens there"
    )


def test_a_port_that_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert problem(address, timeout=0.1) == (
            f"{address}: no answer to ApiVersions within 0.1 s; check the port, or give a longer --timeout"
        )


def test_a_host_that_is_not_there() -> None:
    assert problem("no-such-host.invalid:9092").startswith(
        "no-such-host.invalid:9092: there is no host no-such-host.invalid ("
    )


def test_a_broker_before_1_0_cannot_log_in(tmp_path: Path) -> None:
    apis = {api: versions for api, versions in ALL.items() if api is not Api.SASL_AUTHENTICATE}
    text = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n" + jaas("a", "b")
    with served(StubCluster(user=PLAIN, apis=apis)) as cluster:
        assert problem(cluster.address, client(tmp_path, text)) == (
            f"{cluster.address} lacks SaslHandshake or SaslAuthenticate, the APIs of a login since 1.0; correct the"
            f" port, or security.protocol in {tmp_path / 'client.properties'}"
        )
