"""Finds the frames in a stream of bytes that comes in pieces of any size, and reads the fields that the proxy needs.

In:  the bytes that one side of a connection sends, which may be anything.
Out: `Piece`s, which together are exactly these bytes; a piece may be a complete frame. `Message`s: a frame's API,
     version, correlation id and client id. A response has only the correlation id; the rest comes from its request.

Memory is bounded: a frame of more than MOST_FRAME bytes is not kept, and all frames that are incomplete at one time
have together at most MOST_KEPT bytes. Only the fields of `Message` are read here, so that the proxy passes messages on
quickly; another process decodes the bodies (writing.py).
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kio.schema.index import api_key_map

MOST_FRAME = 16 << 20
"""The size in bytes of the longest frame that is decoded. A follower's fetch has 10 MiB at most by default."""

MOST_KEPT = 256 << 20
SIZE = 4
UNDECODED = "nothing that follows on this connection is decoded"


@dataclass(frozen=True)
class Piece:
    """A part of a stream: its bytes, and the frame if the bytes are a complete frame.

    `problem` says why a frame that begins here is not decoded; `size` is the size that the frame announces.
    """

    data: bytes
    frame: bytes | None = None
    problem: str | None = None
    size: int = 0


class Room:
    """Counts the bytes that are reserved for incomplete frames of all connections: together at most `most`."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._left = most

    def reserve(self, size: int) -> bool:
        """Reserve this many bytes and return True; return False if fewer bytes are left."""
        if size > self._left:
            return False
        self._left -= size
        return True

    def give_back(self, size: int) -> None:
        """Free bytes that were reserved."""
        self._left += size


class Splitter:
    """Splits the bytes from one side of a connection into frames: four bytes before each frame give its size."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._kept = bytearray()
        self._reserved = 0
        self._passing = 0
        self._is_lost = False

    def feed(self, data: bytes) -> Iterator[Piece]:
        """The pieces that `data` completes. The bytes of an incomplete frame are kept, unless the frame is too long."""
        self._kept += data
        while self._kept:
            if self._is_lost or self._passing:
                count = len(self._kept) if self._is_lost else min(self._passing, len(self._kept))
                self._passing = max(0, self._passing - count)
                yield Piece(self._take(count))
                continue
            if len(self._kept) < SIZE:
                return
            size = int.from_bytes(self._kept[:SIZE], "big", signed=True)
            problem = self._problem(size)
            if problem is not None:
                self._is_lost, self._passing = size < 0, SIZE + size
                yield Piece(b"", problem=problem, size=size)
                continue
            if len(self._kept) < SIZE + size:
                return
            self._free()
            whole = self._take(SIZE + size)
            yield Piece(whole, frame=whole[SIZE:], size=size)

    def finish(self) -> Piece | None:
        """The bytes of an incomplete frame at the end of the stream; None after a complete frame."""
        self._free()
        if not self._kept:
            return None
        size, got = int.from_bytes(self._kept[:SIZE], "big", signed=True), len(self._kept)
        problem = f"the connection ends after {got - SIZE} of the {size} bytes of a frame"
        if got < SIZE:
            problem, size = f"the connection ends after {got} of the {SIZE} bytes that give the size of a frame", 0
        return Piece(self._take(got), problem=problem, size=size)

    def _problem(self, size: int) -> str | None:
        """Why a frame of this size is not kept; None if the frame is kept."""
        if size < 0:
            return f"a frame of {size} bytes: {UNDECODED}"
        if size > MOST_FRAME:
            return f"a frame of {size} bytes; frames of more than {MOST_FRAME} bytes are not decoded"
        if not self._reserved:
            if not self._room.reserve(SIZE + size):
                return f"no room for a frame of {size} bytes: all incomplete frames together may have {MOST_KEPT} bytes"
            self._reserved = SIZE + size
        return None

    def _free(self) -> None:
        self._room.give_back(self._reserved)
        self._reserved = 0

    def _take(self, count: int) -> bytes:
        taken = bytes(self._kept[:count])
        del self._kept[:count]
        return taken


MOST_UNANSWERED = 10_000
"""The most requests of a connection that are remembered until their responses; a producer with acks=0 gets none."""

START = struct.Struct(">hhi")
CLIENT = struct.Struct(">h")
REMOVED = {4: "leader_and_isr", 5: "stop_replica", 6: "update_metadata", 7: "controlled_shutdown"}
"""APIs of a cluster with ZooKeeper, which kio no longer has."""

NAMES = {**REMOVED, **{int(key): name for key, name in api_key_map.items()}}
"""The names of the APIs, such as alter_partition, by their keys."""

Broker = int | str
"""The id of a broker, or the name of a controller."""


@dataclass(frozen=True)
class Message:
    """A request or a response. `key` is the API's key, or None if the header cannot be read or, for a response, if its
    request was not seen."""

    kind: str
    broker: Broker
    client: str | None
    key: int | None
    version: int | None
    correlation: int | None

    def meta(self) -> dict[str, Any]:
        """The fields of the message that are recorded, except its body."""
        return {
            "client": self.client,
            "broker": self.broker,
            "key": self.key,
            "version": self.version,
            "correlation": self.correlation,
        }


class Conversation:
    """Reads the messages of one connection; remembers the requests that are not answered yet."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._waiting: OrderedDict[int, Message] = OrderedDict()
        self._client: str | None = None

    def request(self, frame: bytes) -> Message:
        """The `Message` of a request, from the header in its frame."""
        if len(frame) < START.size:
            return self.unknown("request")
        key, version, correlation = START.unpack_from(frame)
        client = _client_of(frame)
        self._client = client
        message = Message("request", self._broker, client, key, version, correlation)
        self._waiting[correlation] = message
        if len(self._waiting) > MOST_UNANSWERED:
            self._waiting.popitem(last=False)
        return message

    def response(self, frame: bytes) -> Message:
        """The `Message` of a response, with the API and the client of the request that has the same correlation id."""
        if len(frame) < 4:
            return self.unknown("response")
        correlation = int.from_bytes(frame[:4], "big", signed=True)
        request = self._waiting.pop(correlation, None)
        if request is None:
            return Message("response", self._broker, self._client, None, None, correlation)
        return Message("response", self._broker, request.client, request.key, request.version, correlation)

    def unknown(self, kind: str) -> Message:
        """The `Message` of a frame without a readable header: only `broker` and the connection's `client` are known."""
        return Message(kind, self._broker, self._client, None, None, None)


def _client_of(frame: bytes) -> str | None:
    """The client id in a request's header, or None. All versions of the header from 1 on have it at the same place."""
    at = START.size
    if len(frame) < at + CLIENT.size:
        return None
    (length,) = CLIENT.unpack_from(frame, at)
    at += CLIENT.size
    return None if not 0 <= length <= len(frame) - at else frame[at : at + length].decode(errors="replace")
