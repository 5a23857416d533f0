"""One connection through the proxy: a client on one side, a node of the cluster on the other.

In:  the bytes of both sides.
Out: the same bytes on the other side, in order; entries for the recording.

Without rules, bytes are passed on before they are looked at. With rules, a frame is passed on when it is complete and
admitted. When one side ends its bytes, the other is told; when one side breaks, so does the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from isrcheck.conformance.wire.recording.frames import Piece, Room, Splitter
from isrcheck.conformance.wire.recording.holding import Holding
from isrcheck.conformance.wire.recording.messages import Broker, Conversation, Message
from isrcheck.conformance.wire.recording.recorder import Sink

CHUNK = 64 << 10


class Watched(asyncio.StreamReader):
    """A reader that tells when its side has ended, even if nobody reads it at the moment."""

    def __init__(self, ended: asyncio.Event) -> None:
        super().__init__(limit=CHUNK, loop=asyncio.get_running_loop())
        self._ended = ended

    def feed_eof(self) -> None:
        """The side sends no more."""
        self._ended.set()
        super().feed_eof()

    def set_exception(self, exc: Exception) -> None:
        """The side is broken."""
        self._ended.set()
        super().set_exception(exc)


@dataclass(frozen=True)
class Side:
    """One end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


@dataclass(frozen=True)
class Shared:
    """What all connections of a proxy share."""

    sink: Sink
    holding: Holding
    tell: Callable[[str], None]
    room: Room = field(default_factory=Room)


class Connection:
    """A connection of a client to a node. `ended` is set when one side sends no more."""

    def __init__(self, node: Broker, client: Side, broker: Side, ended: asyncio.Event, shared: Shared) -> None:
        self._node = node
        self._client = client
        self._broker = broker
        self._ended = ended
        self._shared = shared
        self._conversation = Conversation(node)

    async def run(self) -> None:
        """Pass everything on until both sides have ended, or one is broken."""
        pumps = [
            asyncio.create_task(self._pump("request", self._client, self._broker)),
            asyncio.create_task(self._pump("response", self._broker, self._client)),
        ]
        try:
            await asyncio.gather(*pumps)
            for side in (self._client, self._broker):
                side.writer.close()
                await side.writer.wait_closed()  # the last bytes may still be on their way
        except OSError:
            pass  # the other side notices
        finally:
            for each in pumps:
                each.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for side in (self._client, self._broker):
                side.writer.transport.abort()

    async def _pump(self, kind: str, source: Side, target: Side) -> None:
        """Pass on the bytes of one direction."""
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
        """What a piece is; None if it is the middle of something that is not decoded."""
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
