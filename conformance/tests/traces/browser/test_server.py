"""The server of a walk: only this machine, only with the token, only from its own pages."""

from __future__ import annotations

import base64
import errno
import socket
from collections.abc import Iterator, Mapping
from http.client import (
    FORBIDDEN,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    OK,
    REQUEST_ENTITY_TOO_LARGE,
    SEE_OTHER,
    UNSUPPORTED_MEDIA_TYPE,
)

import pytest

from conformance.tests.traces.browser.visitor import Reply, Visitor, visiting
from isrcheck.models.messages import UsageError
from isrcheck.traces.browser import server as server_module
from isrcheck.traces.browser.server import ADDRESS, Answer, Server

FORM = "application/x-www-form-urlencoded"


class Echo:
    """A site that counts what it is asked, and answers with it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get(self, name: str) -> Answer | None:
        self.asked.append(name)
        return None if name == "none" else Answer(f"<p>{name}", "default-src 'self'")

    def post(self, name: str, form: Mapping[str, str]) -> Answer | None:
        self.asked.append(f"{name} {dict(form)}")
        return Answer(location="there")


@pytest.fixture
def visitor() -> Iterator[Visitor]:
    with visiting(Echo()) as found:
        yield found


def asked(visitor: Visitor) -> list[str]:
    site = visitor.server.site
    assert isinstance(site, Echo)
    return site.asked


def content(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.text


def test_a_page_and_its_headers(visitor: Visitor) -> None:
    found = visitor.get("step-3?x=1")
    assert content(found) == (OK, "<p>step-3")
    headers = {name: value for name, value in found.headers.items() if name != "Date"}
    assert headers == {
        "Server": "isrcheck ",
        "Content-Type": "text/html; charset=utf-8",
        "Content-Length": "9",
        "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
    assert visitor.get("none").status == NOT_FOUND


def test_a_form_leads_on(visitor: Visitor) -> None:
    found = visitor.post("take", option="3", words="a b&c")
    assert (found.status, found.headers["Location"], found.text) == (SEE_OTHER, "there", "")
    assert asked(visitor) == ["take {'option': '3', 'words': 'a b&c'}"]


def test_the_server_listens_on_this_machine_only(visitor: Visitor) -> None:
    assert visitor.server.server_address[0] == ADDRESS == "127.0.0.1"
    token = visitor.server.token
    assert visitor.server.address == f"http://127.0.0.1:{visitor.server.server_port}/{token}/"
    assert len(base64.urlsafe_b64decode(token)) == 18, "random bytes"
    with visiting(Echo()) as another:
        assert another.server.token != token


@pytest.mark.parametrize(
    "path", ["/", "/step-3", "/{short}/step-3", "/{token}x/step-3", "/x{token}/", "//{token}/../x/"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_the_token_nothing_is_answered(path: str, method: str, visitor: Visitor) -> None:
    token = visitor.server.token
    body = "" if method == "POST" else None
    found = visitor.ask(method, path.format(token=token, short=token[:-1]), body)
    if path.startswith("//{token}/"):
        assert asked(visitor) == (["../x/"] if method == "GET" else []), "a name like any other, and no file"
        return
    assert (found.status, asked(visitor)) == (FORBIDDEN, [])
    assert found.text == "the address lacks the token; take the whole address that trace explore has printed\n"
    assert token not in found.text


def test_another_name_for_the_address_is_refused(visitor: Visitor) -> None:
    port = visitor.server.server_port
    for host in ("rebound.example", f"rebound.example:{port}", f"127.0.0.1:{port + 1}", "127.0.0.1", "", None):
        refusal = "this server answers only to the address that trace explore has printed\n"
        assert content(visitor.get(Host=host)) == (FORBIDDEN, refusal), host
    assert asked(visitor) == []
    assert visitor.get("here", Host=f"localhost:{port}").status == OK


def test_a_form_of_another_page_is_refused(visitor: Visitor) -> None:
    port, token = visitor.server.server_port, visitor.server.token
    foreign = ("http://evil.example", "null", f"http://127.0.0.1:{port + 1}", f"https://127.0.0.1:{port}", "")
    for origin in foreign:
        for method in ("GET", "POST"):
            found = visitor.ask(method, f"/{token}/take", "", Origin=origin, Content_Type=FORM)
            assert content(found) == (FORBIDDEN, "another page sent this; only the pages of this walk may\n"), origin
    assert asked(visitor) == []
    for origin in (f"http://127.0.0.1:{port}", f"http://localhost:{port}", None):
        assert visitor.ask("POST", f"/{token}/take", "", Origin=origin, Content_Type=FORM).status == SEE_OTHER


def test_only_a_small_form_is_read(visitor: Visitor) -> None:
    address = f"/{visitor.server.token}/take"
    for length in (None, "-1", "x", "10001", "9" * 5000, "²"):
        found = visitor.ask("POST", address, None, Content_Type=FORM, Content_Length=length)
        assert found.status == REQUEST_ENTITY_TOO_LARGE, length
    for other in ("text/plain", "multipart/form-data; boundary=x", "application/json", None):
        found = visitor.ask("POST", address, "a=b", Content_Type=other)
        assert found.status == UNSUPPORTED_MEDIA_TYPE, other
    assert asked(visitor) == []
    assert visitor.ask("PUT", address, "a=b", Content_Type=FORM).status == NOT_IMPLEMENTED


def test_a_silent_connection_holds_nobody_up(visitor: Visitor) -> None:
    """A browser opens connections ahead, and sends nothing on them."""
    with socket.create_connection((ADDRESS, visitor.server.server_port)):
        assert visitor.get("step-1").status == OK


def test_a_connection_that_breaks_says_nothing(visitor: Visitor, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_connection((ADDRESS, visitor.server.server_port)) as broken:
        host = f"127.0.0.1:{visitor.server.server_port}"
        broken.sendall(f"POST /{visitor.server.token}/x HTTP/1.0\r\nHost: {host}\r\n".encode())
        broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # a reset instead of an end
    assert visitor.get("step-1").status == OK
    assert capfd.readouterr() == ("", "")


def test_a_port_that_is_taken_or_not_permitted(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((ADDRESS, 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"^--port {port}: another program uses it; give another port, or leave"):
            Server(Echo(), port)

    def refused(*_: object) -> None:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(server_module.socketserver.TCPServer, "server_bind", refused)
    with pytest.raises(UsageError, match=r"^--port 80: Permission denied; give a port above 1023, or leave"):
        Server(Echo(), 80)
