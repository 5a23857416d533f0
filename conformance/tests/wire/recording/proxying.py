"""Shared by the tests of the proxy: one that runs in a thread, and nodes to put behind it."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from conformance.tests.wire.in_thread import in_thread
from conformance.tests.wire.serving import SECONDS
from isrcheck.conformance.wire.recording.proxy import Node, Proxy, Shared
from isrcheck.conformance.wire.recording.rules import Holding, Rule, Typed
from isrcheck.conformance.wire.recording.writing import line_of

HOST = "127.0.0.1"


class Lines:
    """A sink that keeps the lines that a recording would have, without numbers and times."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.entries: list[tuple[Mapping[str, Any], bytes | None]] = []

    def put(self, entry: Mapping[str, Any], frame: bytes | None = None) -> None:
        self.entries.append((entry, frame))
        self.lines.append(line_of(entry, frame))

    async def drain(self) -> None:
        """There always is room."""

    def kinds(self) -> list[str]:
        return [one["kind"] for one in self.lines]


class Passing:
    """A proxy that runs in another thread."""

    def __init__(self, proxy: Proxy, typed: Typed, sink: Lines, told: list[str], loop: Any) -> None:
        self.ports = dict(proxy.ports)
        self.sink = sink
        self.told = told
        self._typed = typed
        self._loop = loop

    def say(self, line: str) -> None:
        """Carry out a command of the person who runs the proxy."""

        async def said() -> None:
            self._typed.obey(line)

        asyncio.run_coroutine_threadsafe(said(), self._loop).result(SECONDS)

    def connect(self, name: int | str = 1) -> socket.socket:
        return socket.create_connection((HOST, self.ports[name]), SECONDS)


@contextmanager
def passing(targets: Mapping[int | str, int], rules: Sequence[Rule] = ()) -> Iterator[Passing]:
    """A proxy before the nodes that listen on these ports."""
    sink, told = Lines(), list[str]()
    nodes = [Node(name, 0, HOST, port) for name, port in targets.items()]

    @asynccontextmanager
    async def opened() -> AsyncIterator[Passing]:
        holding = Holding(rules, sink, told.append)
        async with Proxy(nodes, Shared(sink, holding, told.append)) as proxy:
            holding.start()
            typed = Typed(targets, holding, sink, told.append)
            yield Passing(proxy, typed, sink, told, asyncio.get_running_loop())

    with in_thread(opened, SECONDS) as proxied:
        yield proxied


@contextmanager
def node(talk: Callable[[socket.socket], None]) -> Iterator[int]:
    """A node that talks with each of its connections, in threads; yields its port."""
    server = socket.create_server((HOST, 0))
    threads: list[threading.Thread] = []

    def served(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(SECONDS)
            talk(connection)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                threads.append(threading.Thread(target=served, args=(connection,)))
                threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        accepting.join(SECONDS)
        for each in threads:
            each.join(SECONDS)


def echo(connection: socket.socket) -> None:
    """Send everything back."""
    while data := connection.recv(1 << 16):
        connection.sendall(data)


def answer(connection: socket.socket) -> None:
    """Answer each request with its correlation id and nothing else, like a Heartbeat of version 0 without an error."""
    while (size := connection.recv(4, socket.MSG_WAITALL)) and len(size) == 4:
        frame = connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        connection.sendall(framed(frame[4:8] + b"\0\0"))


def framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def heartbeat(correlation: int, client: str) -> bytes:
    """A Heartbeat of version 0."""
    strings = b"".join(struct.pack(">h", len(one)) + one.encode() for one in (client,))
    body = struct.pack(">h1sih1s", 1, b"g", 7, 1, b"m")
    return framed(struct.pack(">hhi", 12, 0, correlation) + strings + body)


def ask(connection: socket.socket, correlation: int, client: str) -> None:
    connection.sendall(heartbeat(correlation, client))


def answered(connection: socket.socket, timeout: float = SECONDS) -> int | None:
    """The correlation id of the next response; None if none comes in time."""
    connection.settimeout(timeout)
    try:
        found = connection.recv(10, socket.MSG_WAITALL)
    except TimeoutError:
        return None
    return int.from_bytes(found[4:8], "big") if len(found) == 10 else None


def soon(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"not within {SECONDS} s"
        time.sleep(0.002)
