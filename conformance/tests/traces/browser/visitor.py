"""A browser without a screen for the tests of pages that are served: http.client."""

from __future__ import annotations

import http.client
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from isrcheck.traces.browser.server import ADDRESS, Server, Site


@dataclass
class Reply:
    """A status, the headers and the text of an answer."""

    status: int
    headers: Mapping[str, str]
    text: str


class Visitor:
    """Asks a server for pages, and sends forms to it, as a browser at its address does."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.origin = f"http://{ADDRESS}:{server.server_port}"

    def ask(self, method: str, path: str, body: str | None = None, **headers: str | None) -> Reply:
        """Send a request; an underscore in the name of a header is a hyphen, and None leaves the header out."""
        connection = http.client.HTTPConnection(ADDRESS, self.server.server_port, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest(method, path, skip_host="Host" in named)
        for name, value in named.items():
            if value is not None:
                connection.putheader(name, value)
        if body is not None and "Content-Length" not in named:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(None if body is None else body.encode())
        answer = connection.getresponse()
        found = Reply(answer.status, dict(answer.getheaders()), answer.read().decode())
        connection.close()
        return found

    def get(self, name: str = "", **headers: str | None) -> Reply:
        """Ask for a page of the site."""
        return self.ask("GET", f"/{self.server.token}/{name}", **headers)

    def post(self, name: str, **fields: str) -> Reply:
        """Send a form as a browser does."""
        form = {"Content_Type": "application/x-www-form-urlencoded", "Origin": self.origin}
        return self.ask("POST", f"/{self.server.token}/{name}", urllib.parse.urlencode(fields), **form)

    def follow(self, reply: Reply) -> Reply:
        """Go to where an answer leads."""
        assert reply.status == http.client.SEE_OTHER, reply.text
        return self.get(reply.headers["Location"])


@contextmanager
def visiting(site: Site) -> Iterator[Visitor]:
    """A server for the site, in a thread, and a visitor."""
    with Server(site, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Visitor(server)
        finally:
            server.shutdown()
            thread.join()
