"""The proxy: one listening port on loopback for each node, and the connections of clients and brokers through it.

Without rules, bytes are passed on before they are parsed. With rules, a frame is passed on when it is complete and no
rule holds it. When one side ends its stream, the proxy ends its stream to the other side. When the connection to one
side breaks, the proxy breaks the connection to the other.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from isrcheck.conformance.wire.driving.events import LOOPBACK, PortError
from isrcheck.conformance.wire.listening.standard_input import commands
from isrcheck.conformance.wire.recording.frames import Broker, Conversation, Message, Piece, Room, Splitter
from isrcheck.conformance.wire.recording.rules import Holding, Rule, Typed
from isrcheck.conformance.wire.recording.writing import Recorder, Sink

CHUNK = 64 << 10


class Watched(asyncio.StreamReader):
    """A reader of one side's stream; sets `ended` when this stream ends or breaks, even while nobody reads it."""

    def __init__(self, ended: asyncio.Event) -> None:
        super().__init__(limit=CHUNK, loop=asyncio.get_running_loop())
        self._ended = ended

    def feed_eof(self) -> None:
        """Note that the side has ended its stream."""
        self._ended.set()
        super().feed_eof()

    def set_exception(self, exc: Exception) -> None:
        """Note that the side's connection is broken."""
        self._ended.set()
        super().set_exception(exc)


@dataclass(frozen=True)
class Side:
    """One end of a connection through the proxy: the client's, or the node's."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


@dataclass(frozen=True)
class Shared:
    """Objects that all connections of a proxy share: recording, rules, printing, the count of bytes kept in memory."""

    sink: Sink
    holding: Holding
    tell: Callable[[str], None]
    room: Room = field(default_factory=Room)


class Connection:
    """A connection of a client to a node. `ended` is set when one side has ended its stream."""

    def __init__(self, node: Broker, client: Side, broker: Side, ended: asyncio.Event, shared: Shared) -> None:
        self._node = node
        self._client = client
        self._broker = broker
        self._ended = ended
        self._shared = shared
        self._conversation = Conversation(node)

    async def run(self) -> None:
        """Pass everything on until both sides have ended their streams, or the connection to a side breaks."""
        pumps = [
            asyncio.create_task(self._pump("request", self._client, self._broker)),
            asyncio.create_task(self._pump("response", self._broker, self._client)),
        ]
        try:
            await asyncio.gather(*pumps)
            for side in (self._client, self._broker):
                side.writer.close()
                await side.writer.wait_closed()  # the last bytes may still be in transit
        except OSError:
            pass  # the other side notices
        finally:
            for each in pumps:
                each.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for side in (self._client, self._broker):
                side.writer.transport.abort()

    async def _pump(self, kind: str, source: Side, target: Side) -> None:
        splitter = Splitter(self._shared.room)
        is_judged = self._shared.holding.has_rules
        try:
            while data := await source.reader.read(CHUNK):
                if not is_judged:
                    target.writer.write(data)
                for piece in splitter.feed(data):
                    message = self._message(kind, piece)
                    if is_judged:
                        if message is not None and piece.frame is not None:
                            await self._shared.holding.admit(message, piece.frame, self._ended)
                        target.writer.write(piece.data)
                    self._record(message, piece)
                await target.writer.drain()
                await self._shared.sink.drain()
        finally:
            rest = splitter.finish()
            if rest is not None:
                self._record(self._message(kind, rest), rest)
        if rest is not None and is_judged:
            target.writer.write(rest.data)
        with suppress(OSError):
            target.writer.write_eof()

    def _message(self, kind: str, piece: Piece) -> Message | None:
        """Return the message whose frame is in this piece. A frame that is not decoded gives an unknown message for its
        first piece, and None for its later pieces."""
        if piece.problem is not None:
            return self._conversation.unknown(kind)
        if piece.frame is None:
            return None
        return (
            self._conversation.request(piece.frame) if kind == "request" else self._conversation.response(piece.frame)
        )

    def _record(self, message: Message | None, piece: Piece) -> None:
        if message is None:
            return
        entry = {"kind": message.kind, **message.meta()}
        if piece.problem is not None:
            entry |= {"body": None, "undecoded": piece.problem, "size": piece.size}
            self._shared.tell(f"a {message.kind} at {self._node} is passed on undecoded: {piece.problem}")
        self._shared.sink.put(entry, piece.frame)


MOST_CONNECTIONS = 500
BACKLOG = 100


@dataclass(frozen=True)
class Node:
    """A broker or a controller: the proxy's port (0: any free one), and where the node itself listens."""

    name: Broker
    port: int
    host: str
    target: int


class Proxy:
    """The listeners of all nodes. Use it as an asynchronous context manager."""

    def __init__(self, nodes: Sequence[Node], shared: Shared) -> None:
        self._nodes = nodes
        self._shared = shared
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self.ports: dict[Broker, int] = {}

    async def __aenter__(self) -> Proxy:
        """Listen on all ports. Raises PortError if a port is not available."""
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
        """Connect to the node for a client that has connected to the proxy, and pass everything on."""
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
    """Return the operating system's reason for an error, without the sentence and the address that asyncio adds. An
    error without a number of the operating system, as for a name that cannot be resolved, gives its own text."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)


class WritingError(Exception):
    """The recording could not be written; the process that writes it has printed the reason."""


async def record(
    nodes: Sequence[Node],
    rules: Sequence[Rule],
    path: Path,
    tell: Callable[[str], None],
    answer: Callable[[str], None],
    started: Callable[[Mapping[Broker, int]], None],
    seconds: float | None,
) -> bool:
    """Pass messages on and record them until Ctrl-C, or for `seconds`. Return whether Ctrl-C ended the recording.

    `path` must not exist. `tell` takes a line for each event, `answer` a line for each faulty command, and `started`
    the proxy's port for each node. Raises PortError, FileExistsError, WritingError.
    """
    interrupted = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted.set)
    loop.add_signal_handler(signal.SIGTERM, interrupted.set)
    path.open("x").close()
    recorder = Recorder(path, time.monotonic())
    holding = Holding(rules, recorder, tell, answer)
    typed = Typed([node.name for node in nodes], holding, recorder, answer)
    try:
        # The connections end before the recorder, so messages dropped at the end are still recorded.
        async with recorder, Proxy(nodes, Shared(recorder, holding, tell)) as proxy:
            holding.start()
            with commands(typed.obey):
                started(proxy.ports)
                waiting = asyncio.create_task(interrupted.wait())
                failing = asyncio.create_task(recorder.failed())
                await asyncio.wait({waiting, failing}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                has_failed = failing.done()
                waiting.cancel()
                failing.cancel()
    except PortError:
        path.unlink()  # no message has passed
        raise
    if has_failed:
        raise WritingError
    return interrupted.is_set()
