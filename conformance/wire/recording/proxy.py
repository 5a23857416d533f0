"""The proxy: one listening port on loopback for each node, and the connections through it.

In:  connections of clients, and of brokers as clients of each other and of controllers.
Out: a connection to the node for each of them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from isrcheck.conformance.wire.driving.events import LOOPBACK
from isrcheck.conformance.wire.recording.connection import CHUNK, Connection, Shared, Side, Watched
from isrcheck.conformance.wire.recording.messages import Broker

MOST_CONNECTIONS = 500
BACKLOG = 100


@dataclass(frozen=True)
class Node:
    """A broker or a controller: the proxy's port (0: any free one), and where the node itself listens."""

    name: Broker
    port: int
    host: str
    target: int


class PortError(OSError):
    """A port that cannot be had; the message is one line."""


class Proxy:
    """The listeners of all nodes. Use it as an asynchronous context manager."""

    def __init__(self, nodes: Sequence[Node], shared: Shared) -> None:
        self._nodes = nodes
        self._shared = shared
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self.ports: dict[Broker, int] = {}

    async def __aenter__(self) -> Proxy:
        """Listen on all ports. Raises PortError if one cannot be had."""
        try:
            for node in self._nodes:
                await self._listen(node)
        except PortError:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close every port and every connection."""
        for each in self._servers:
            each.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await asyncio.sleep(0)  # the transports of aborted connections close their sockets

    async def _listen(self, node: Node) -> None:
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(partial(self._accept, node), LOOPBACK, node.port, backlog=BACKLOG)
        except OSError as error:
            raise PortError(f"{LOOPBACK}:{node.port}: {_reason(error)}") from None
        self._servers.append(server)
        self.ports[node.name] = server.sockets[0].getsockname()[1]

    def _accept(self, node: Node) -> asyncio.StreamReaderProtocol:
        """What asyncio asks for at each new connection."""
        ended = asyncio.Event()
        return asyncio.StreamReaderProtocol(Watched(ended), partial(self._begin, node, ended))

    def _begin(
        self, node: Node, ended: asyncio.Event, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if len(self._connections) >= MOST_CONNECTIONS:
            self._shared.tell(f"{node.name}: a connection is closed: there are {MOST_CONNECTIONS} already")
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve(node, ended, Side(reader, writer)))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, node: Node, ended: asyncio.Event, client: Side) -> None:
        """Connect to the node, as the client has connected to the proxy, and pass everything on."""
        try:
            broker = await _connect(node, ended)
        except OSError as error:
            reason = _reason(error)
            self._shared.sink.put({"kind": "fault", "what": "refused", "broker": node.name, "text": reason})
            self._shared.tell(f"{node.name} refuses a connection: {reason}")
            client.writer.transport.abort()
            return
        except asyncio.CancelledError:
            client.writer.transport.abort()
            raise
        await Connection(node.name, client, broker, ended, self._shared).run()


async def _connect(node: Node, ended: asyncio.Event) -> Side:
    reader = Watched(ended)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_connection(
        lambda: asyncio.StreamReaderProtocol(reader), node.host, node.target
    )
    transport.set_write_buffer_limits(high=CHUNK)
    return Side(reader, asyncio.StreamWriter(transport, protocol, reader, loop))


def _reason(error: OSError) -> str:
    """What asyncio wraps into a sentence with the address; a name that cannot be resolved has no such number."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)
