"""The token of OAUTHBEARER: from a file or a token endpoint into the login; and what is said without a token."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from conformance.tests.checker.cluster.live.stub import StubCluster, served, speaking
from isrcheck.checker.cluster.live.address import read_addresses
from isrcheck.checker.cluster.live.connection import ConnectError
from isrcheck.checker.cluster.live.reader import Request, read_cluster
from isrcheck.checker.cluster.live.security import Security, read_security
from isrcheck.checker.cluster.live.snapshot import Snapshot, save
from isrcheck.commands.exit_codes import UndecidedError
from isrcheck.models.messages import UsageError

TOKEN = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.c2ln"
OAUTH = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
HANDLER = (
    "sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler\n"
)
MODULE = "sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
JAAS = f'{MODULE} clientId="al:ice" clientSecret="hunter2/" scope="a b";\n'
URL = "sasl.oauthbearer.token.endpoint.url="


@contextmanager
def endpoint(status: int, answer: str, headers: dict[str, str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Serve an endpoint; yield its URL, and the Authorization and the body of each request."""
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked.append((self.headers["Authorization"], body))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/token", asked
        server.shutdown()


GIVEN = json.dumps({"access_token": TOKEN, "token_type": "Bearer"})


def security(folder: Path, text: str, timeout: float = 5.0) -> Security:
    file = folder / "c.properties"
    file.write_text(OAUTH + text, encoding="utf-8")
    return read_security(file, timeout)


def reading(cluster: StubCluster, how: Security) -> Snapshot:
    with served(cluster):
        return read_cluster(Request(read_addresses("x", cluster.address), how, ("orders",)))


def refused(folder: Path, text: str, timeout: float = 5.0) -> str:
    with pytest.raises((UsageError, UndecidedError)) as failed:
        security(folder, text, timeout)
    return str(failed.value).replace(str(folder), "DIR")


def test_a_token_from_an_endpoint(tmp_path: Path) -> None:
    with endpoint(200, GIVEN, {}) as (url, asked):
        how = security(tmp_path, f"{HANDLER}{URL}{url}\n{JAAS}")
    basic = base64.b64encode(b"al:ice:hunter2/").decode()
    assert asked == [(f"Basic {basic}", "grant_type=client_credentials&scope=a+b")]
    snapshot = reading(StubCluster(user=("OAUTHBEARER", "", TOKEN)), how)
    assert (len(snapshot.brokers), snapshot.unknown) == (3, ())
    save(snapshot, tmp_path / "saved.json")
    for secret in (TOKEN, "hunter2"):
        assert secret not in repr(how)
        assert secret not in (tmp_path / "saved.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("names", ["client.credentials.client", "client"], ids=["kafka", "librdkafka"])
def test_the_client_may_be_in_keys_of_its_own(names: str, tmp_path: Path) -> None:
    client = f"sasl.oauthbearer.{names}.id=al:ice\nsasl.oauthbearer.{names}.secret=hunter2/\n"
    with endpoint(200, GIVEN, {}) as (url, asked):
        security(tmp_path, f"{URL}{url}\n{client}sasl.oauthbearer.header.urlencode=true\n")
    assert asked == [(f"Basic {base64.b64encode(b'al%3Aice:hunter2%2F').decode()}", "grant_type=client_credentials")]


def test_a_token_from_a_file_with_extensions(tmp_path: Path) -> None:
    (tmp_path / "the token").write_text(f"{TOKEN}\n", encoding="ascii")
    jaas = f'{MODULE} extension_logicalCluster="lkc-1" extension_identityPoolId=pool;\n'
    how = security(tmp_path, f"{URL}{(tmp_path / 'the token').as_uri()}\n{jaas}")
    extensions = "logicalCluster=lkc-1\1identityPoolId=pool\1"
    assert reading(StubCluster(user=("OAUTHBEARER", extensions, TOKEN)), how).unknown == ()


def test_a_broker_that_refuses_the_token(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(TOKEN, encoding="ascii")
    how = security(tmp_path, f"{URL}{(tmp_path / 't').as_uri()}\n")
    cluster = StubCluster(user=("OAUTHBEARER", "", "another"))
    with pytest.raises(ConnectError) as failed:
        reading(cluster, how)
    assert str(failed.value) == (
        f"{cluster.address} does not accept the token (SASL_AUTHENTICATION_FAILED); correct {tmp_path}/c.properties"
    )


@pytest.mark.parametrize(
    ("status", "answer", "headers", "says"),
    [
        (
            401,
            '{"error":"hunter2"}',
            {},
            "it answers with HTTP status 401; check the URL, and the client's id and secret",
        ),
        (
            302,
            "",
            {"Location": "http://127.0.0.1:1/elsewhere"},
            "it answers with HTTP status 302; check the URL, and the client's id and secret",
        ),
        (200, "<html>", {}, "it does not answer with JSON; check the URL"),
        (200, '{"token": "x"}', {}, "it gives no token; check the URL"),
        (200, '{"access_token": "a\\u0001b"}', {}, "it gives no token; check the URL"),
        (200, "[1]", {}, "it gives no token; check the URL"),
    ],
)
def test_an_endpoint_without_a_token(
    status: int, answer: str, headers: dict[str, str], says: str, tmp_path: Path
) -> None:
    with endpoint(status, answer, headers) as (url, _):
        complaint = refused(tmp_path, f"{URL}{url}\n{JAAS}")
    assert complaint == f"DIR/c.properties:3: sasl.oauthbearer.token.endpoint.url: {says}"


def test_an_address_that_speaks_something_else(tmp_path: Path) -> None:
    start = "DIR/c.properties:3: sasl.oauthbearer.token.endpoint.url: "
    with speaking(b"SSH-2.0-OpenSSH_9.6\r\n") as address:
        assert (
            refused(tmp_path, f"{URL}http://{address}/\n{JAAS}")
            == f"{start}it does not answer with JSON; check the URL"
        )
        assert refused(tmp_path, f"{URL}https://{address}/\n{JAAS}") == (
            f"{start}it cannot be reached (WRONG_VERSION_NUMBER); check the URL"
        )
    assert refused(tmp_path, f"{URL}http://{address}/\n{JAAS}") == (
        f"{start}it cannot be reached (Connection refused); check the URL"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "",
            ": OAUTHBEARER needs a token; add sasl.oauthbearer.token.endpoint.url=https://... and the client's id and"
            " secret, or sasl.oauthbearer.token.endpoint.url=file:///... with a file that has the token",
        ),
        (f"{URL}ftp://host/x\n", ":3: {}this is no URL of http, https or file; write it as in https://host/token"),
        (f"{URL}http://[x\n", ":3: {}this is no URL of http, https or file; write it as in https://host/token"),
        (f"{URL}host:1/t\n", ":3: {}this is no URL of http, https or file; write it as in https://host/token"),
        (
            f"{URL}file:///no/token\n",
            ":3: {}the file cannot be read (No such file or directory); name a readable file with a token",
        ),
        (
            f"{URL}http://h/t\n{MODULE};\n",
            ':3: {}the client has no id and no secret; add clientId="..." clientSecret="..." to sasl.jaas.config',
        ),
        (
            f'{URL}http://h/t\n{MODULE} clientId="x";\n',
            ':3: {}the client has no secret; add clientId="..." clientSecret="..." to sasl.jaas.config',
        ),
    ],
)
def test_a_file_without_what_a_token_needs(text: str, says: str, tmp_path: Path) -> None:
    expected = says.format("sasl.oauthbearer.token.endpoint.url: ")
    assert refused(tmp_path, text) == f"DIR/c.properties{expected}"


def test_an_endpoint_that_is_late(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as silent:  # it listens, and never accepts
        says = refused(tmp_path, f"{URL}http://127.0.0.1:{silent.server_address[1]}/\n{JAAS}", 0.1)
    assert says == (
        "DIR/c.properties:3: sasl.oauthbearer.token.endpoint.url: no answer within 0.1 s; give a longer --timeout"
    )
