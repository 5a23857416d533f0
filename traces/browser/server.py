"""A web server for one user of this machine: it answers on 127.0.0.1, until Ctrl-C.

Other users of the machine can reach the address, and so can any web page that is open in the user's browser. A request
is therefore refused (403) unless

- its path begins with the token, which only the printed address contains;
- its Host header is 127.0.0.1 or localhost with the port, so that a foreign host name (DNS rebinding) is refused;
- its Origin header, if there is one, names 127.0.0.1 or localhost, too, so that the form of another page is refused.
"""

from __future__ import annotations

import errno
import os
import secrets
import socket
import socketserver
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from isrcheck.models.messages import UsageError

ADDRESS = "127.0.0.1"

MOST_BYTES = 10_000
"""The longest form that is read, in bytes; the forms of a walk have a hundred."""

SECONDS = 30
"""How long a connection may be silent. A browser opens connections ahead, and sends nothing on them."""

HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Not `no-referrer`, with which a browser sends no Origin with a form. To other sites, nothing is sent.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class Answer:
    """The answer to a request: a page; or, in `location`, a redirection, relative to the address of the request."""

    page: str = ""
    security: str = "default-src 'none'"
    status: int = 200
    location: str = ""


class Site(Protocol):
    """Answers the requests that the server receives, in several threads at once. `name` is the part of the path after
    the token; the methods return None if there is no page of that name."""

    def get(self, name: str) -> Answer | None:
        """Answer a request for the page `name`."""

    def post(self, name: str, form: Mapping[str, str]) -> Answer | None:
        """Answer a form that a page has sent to the address `name`."""


class Server(ThreadingHTTPServer):
    """The web server of one walk; `address` is its address with the token."""

    def __init__(self, site: Site, port: int) -> None:
        """Serve `site` at `port` (0: any free port). Raises UsageError if the port is not available."""
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise UsageError(_refusal(port, error)) from None
        self.site = site
        self.token = secrets.token_urlsafe(18)
        names = [f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")]
        # A browser leaves out the default port of http.
        self.hosts = {*names, *([ADDRESS, "localhost"] if self.server_port == 80 else [])}
        self.address = f"http://{names[0]}/{self.token}/"

    def server_bind(self) -> None:
        """Bind to the address. Unlike http.server, do not look up the host name of the address."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, self.server_address[1]

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Print nothing about a connection that broke; report any other error as http.server does."""
        import sys

        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


def _refusal(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"--port {port}: another program uses it; give another port, or leave --port out for a free one"
    return f"--port {port}: {os.strerror(error.errno or 0)}; give a port above 1023, or leave --port out for a free one"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = SECONDS
    server_version = "isrcheck"
    sys_version = ""

    def do_GET(self) -> None:
        name = self._name()
        if name is not None:
            self._send(self.server.site.get(name))

    def do_POST(self) -> None:
        name = self._name()
        form = None if name is None else self._form()
        if name is not None and form is not None:
            self._send(self.server.site.post(name, form))

    def _name(self) -> str | None:
        """The path after the token; None if the request is refused."""
        origin = self.headers.get("Origin")
        path, _, name = self.path.partition("?")[0].removeprefix("/").partition("/")
        if self.headers.get("Host") not in self.server.hosts:
            self._refuse(403, "this server answers only to the address that trace explore has printed")
        elif origin is not None and origin not in {f"http://{host}" for host in self.server.hosts}:
            self._refuse(403, "another page sent this; only the pages of this walk may")
        elif not secrets.compare_digest(path.encode(), self.server.token.encode()):
            self._refuse(403, "the address lacks the token; take the whole address that trace explore has printed")
        else:
            return name
        return None

    def _form(self) -> dict[str, str] | None:
        """The fields of the form in the request; None if the form was refused."""
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()) or len(length) > 9 or int(length) > MOST_BYTES:
            self._refuse(413, f"the form has no length, or one of more than {MOST_BYTES} bytes")
            return None
        if self.headers.get_content_type() != "application/x-www-form-urlencoded":
            self._refuse(415, "the form was not sent as application/x-www-form-urlencoded")
            return None
        body = self.rfile.read(int(length)).decode("ascii", "replace")
        return dict(urllib.parse.parse_qsl(body, keep_blank_values=True))

    def _refuse(self, status: int, why: str) -> None:
        self._write(status, f"{why}\n".encode(), "text/plain", "default-src 'none'")

    def _send(self, answer: Answer | None) -> None:
        if answer is None:
            self._refuse(404, "there is no such page in this walk")
        elif answer.location:
            self._write(303, b"", "text/plain", answer.security, Location=answer.location)
        else:
            self._write(answer.status, answer.page.encode(), "text/html", answer.security)

    def _write(self, status: int, body: bytes, kind: str, security: str, **headers: str) -> None:
        self.send_response(status)
        headers |= {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Content-Security-Policy": f"{security}; frame-ancestors 'none'",
        }
        for name, value in (HEADERS | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing; http.server would print a line for each request."""
