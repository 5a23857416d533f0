"""The listeners: one port per broker, and the connections of clients.

Each connection handles one request at a time, as in Kafka. If a frame is not a request, only its own connection is
closed, and one line reports this. A broker that is down has no listener, and a frozen broker does not answer.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from isrcheck.checker.cluster.live.cursor import MalformedError
from isrcheck.conformance.wire.driving.backend import Backend, Disconnected, Groups, Membership
from isrcheck.conformance.wire.driving.configuration import file_of
from isrcheck.conformance.wire.driving.events import LOOPBACK, PortError
from isrcheck.conformance.wire.format.protocol import Api, Request, decode, encode, versions_of
from isrcheck.conformance.wire.requests import admin, cluster, data, groups, transactions
from isrcheck.conformance.wire.requests.groups import heartbeat, join_group, leave_group, sync_group

MOST_REQUEST = 4 << 20
"""The size in bytes of the longest request that is accepted."""

MOST_CONNECTIONS = 100
DEFECT = "this is a defect of the server"
TICK = 0.01
"""The most seconds after which the cluster is brought up to date."""

Kept = TypeVar("Kept")
Handler = Callable[[Backend, int, Request], Awaitable[Any]]


class Server:
    """The server of the brokers of one cluster: their ports and connections. It is an asynchronous context manager."""

    def __init__(self, backend: Backend, protocol: str, host: str = LOOPBACK, port: int = 0) -> None:
        """`port`: the port of broker 0; the other brokers have the next ports. 0: the system chooses all ports."""
        self.backend = backend
        self._host = host
        self._port = port
        self._protocol = protocol
        self._versions = versions_of(protocol)
        self._sockets: dict[int, socket.socket] = {}
        self._listening: dict[int, tuple[str, int]] = {}
        self._processes: dict[int, int] = {}
        self._connections: dict[int, set[asyncio.Task[None]]] = {each: set() for each in backend.cluster.brokers}
        self.ticking: asyncio.Task[None] | None = None
        kept, members = Groups(), Membership()
        self.handlers: dict[Api, Handler] = {
            Api.PRODUCE: data.produce,
            Api.FETCH: data.fetch,
            Api.LIST_OFFSETS: data.list_offsets,
            Api.OFFSET_FOR_LEADER_EPOCH: data.offset_for_leader_epoch,
            Api.METADATA: cluster.metadata,
            Api.FIND_COORDINATOR: cluster.find_coordinator,
            Api.INIT_PRODUCER_ID: transactions.init_producer_id,
            Api.ADD_PARTITIONS_TO_TXN: transactions.add_partitions,
            Api.ADD_OFFSETS_TO_TXN: transactions.add_offsets,
            Api.TXN_OFFSET_COMMIT: _with(kept, groups.txn_offset_commit),
            Api.END_TXN: _with(kept, transactions.end_transaction),
            Api.OFFSET_COMMIT: _with(kept, groups.offset_commit),
            Api.OFFSET_FETCH: _with(kept, groups.offset_fetch),
            Api.JOIN_GROUP: _with(members, join_group),
            Api.SYNC_GROUP: _with(members, sync_group),
            Api.HEARTBEAT: _with(members, heartbeat),
            Api.LEAVE_GROUP: _with(members, leave_group),
            Api.LIST_GROUPS: _with((kept, members), admin.list_groups),
            Api.DESCRIBE_GROUPS: _with((kept, members), admin.describe_groups),
            Api.DESCRIBE_CLUSTER: admin.describe_cluster,
            Api.DESCRIBE_CONFIGS: _with(file_of(protocol), admin.describe_configs),
            Api.DESCRIBE_TOPIC_PARTITIONS: admin.describe_topic_partitions,
            Api.DESCRIBE_QUORUM: admin.describe_quorum,
            Api.LIST_PARTITION_REASSIGNMENTS: admin.list_partition_reassignments,
        }

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers, for `bootstrap.servers`."""
        return ",".join(f"{host}:{port}" for host, port in self.backend.addresses.values())

    async def __aenter__(self) -> Server:
        """Listen on all ports. Raises PortError if a port is not available."""
        try:
            for broker in self.backend.cluster.brokers:
                port = self._port + broker if self._port else 0
                self._sockets[broker] = _bound(self._host, port)
        except PortError:
            self._close_sockets()
            raise
        self._listening = {broker: each.getsockname()[:2] for broker, each in self._sockets.items()}
        self.backend.addresses = self._listening
        await self.follow()
        self.ticking = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all connections and ports. Raises the error, if any, that ended the task that drives the cluster."""
        ticking = self.ticking
        assert ticking is not None
        ticking.cancel()
        for broker, each in self._sockets.items():
            asyncio.get_running_loop().remove_reader(each)
            await self._end_connections(broker)
        self._close_sockets()
        await asyncio.sleep(0)  # the transports of aborted connections close their sockets
        with suppress(asyncio.CancelledError):
            await ticking

    def advertise(self, ports: Mapping[int, int]) -> None:
        """Tell clients the `ports` of a proxy (by broker) instead of the ports on which the brokers listen."""
        self.backend.addresses = {broker: (host, ports[broker]) for broker, (host, _) in self._listening.items()}

    async def follow(self) -> None:
        """Open and close ports and connections as the brokers' processes start and end.

        When a process ends, its connections end, and its port refuses connections until the broker's next process runs.
        """
        self.backend.follow()
        loop = asyncio.get_running_loop()
        for broker in self.backend.cluster.brokers:
            process, former = self.backend.cluster.process_of(broker), self._processes.get(broker, 0)
            if process == former:
                continue
            self._processes[broker] = process
            if former:
                loop.remove_reader(self._sockets[broker])
                self._sockets[broker].close()
                self._sockets[broker] = _bound(*self._listening[broker])  # so that no other process gets the port
            if process:
                self._sockets[broker].listen(MOST_CONNECTIONS)
                loop.add_reader(self._sockets[broker], self._accept, broker)
            if former:
                await self._end_connections(broker)

    async def _end_connections(self, broker: int) -> None:
        connections = list(self._connections[broker])
        for each in connections:
            each.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    def _close_sockets(self) -> None:
        for each in self._sockets.values():
            each.close()
        self._sockets.clear()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            self.backend.pump.run()
            await self.follow()  # a follower may have halted (0.8 to 2.0)

    def _accept(self, broker: int) -> None:
        """Take a new connection. (asyncio's own servers may lose a connection that comes while they are closing.)"""
        try:
            connection, _ = self._sockets[broker].accept()
        except OSError:  # the client has disconnected
            return
        if sum(map(len, self._connections.values())) >= MOST_CONNECTIONS:
            self.backend.tell(f"broker {broker} closes a connection: there are {MOST_CONNECTIONS} already")
            connection.close()
            return
        connection.setblocking(False)
        task = asyncio.create_task(self._serve(broker, connection))
        self._connections[broker].add(task)
        task.add_done_callback(partial(self._ended, broker, connection))

    def _ended(self, broker: int, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._connections[broker].discard(task)
        connection.close()

    async def _serve(self, broker: int, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection)
        try:
            while (frame := await _frame(reader)) is not None:
                await self._answer(broker, frame, writer)
            writer.close()
            await writer.wait_closed()  # the last answer may still be in transit
        except MalformedError as error:
            self.backend.tell(f"broker {broker} closes a connection: {error}")
        except (Disconnected, ConnectionError):
            pass  # the client notices
        except Exception as error:  # one request must not end the others
            self.backend.tell(f"broker {broker} closes a connection: {DEFECT}: {type(error).__name__}: {error}")
        finally:
            writer.transport.abort()

    async def _answer(self, broker: int, frame: bytes, writer: asyncio.StreamWriter) -> None:
        request = decode(frame, self._versions)
        while self.backend.cluster.is_frozen(broker):
            await asyncio.sleep(TICK)
        if request.api is Api.API_VERSIONS:
            response = cluster.api_versions(self.backend, self._versions, self._protocol, request)
        else:
            response = await self.handlers[request.api](self.backend, broker, request)
        if response is not None:
            writer.write(encode(request, response))
            await writer.drain()


def _with(kept: Kept, handler: Callable[[Backend, Kept, int, Request], Awaitable[Any]]) -> Handler:
    return lambda backend, broker, request: handler(backend, kept, broker, request)


async def _frame(reader: asyncio.StreamReader) -> bytes | None:
    """The next frame of a connection; None at the end of the connection. Raises MalformedError."""
    try:
        size = int.from_bytes(await reader.readexactly(4), "big", signed=True)
        if not 0 < size <= MOST_REQUEST:
            raise MalformedError(f"a frame of {size} bytes; a frame may have 1 to {MOST_REQUEST}")
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError as error:
        if error.partial or error.expected != 4:
            raise MalformedError(
                f"the client closed the connection after {len(error.partial)} of {error.expected} bytes of a frame"
            ) from None
        return None


def _bound(host: str, port: int) -> socket.socket:
    """A socket that is bound to the port, and does not listen yet. Raises PortError."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.setblocking(False)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise PortError(f"{host}:{port}: {error.strerror}") from None
    except OverflowError:
        bound.close()
        raise PortError(f"{host}:{port}: a broker's port would be above 65535, the last port") from None
    return bound
