"""What the proxy itself reads of a frame: the API, its version, the correlation id and the client id.

In:  frames of one connection.
Out: `Message`, in which a response has the API and the client of its request.

It reads no more, so that a message is passed on quickly; bodies are decoded by another process (writing.py).
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from kio.schema.index import api_key_map

MOST_UNANSWERED = 10_000
"""Requests of a connection whose responses are awaited; a producer with acks=0 gets none."""

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
    """A request or a response. `key` is None if the frame has no header, or answers no request that was seen."""

    kind: str
    broker: Broker
    client: str | None
    key: int | None
    version: int | None
    correlation: int | None

    def meta(self) -> dict[str, Any]:
        """What is recorded of it beside its body."""
        return {
            "client": self.client,
            "broker": self.broker,
            "key": self.key,
            "version": self.version,
            "correlation": self.correlation,
        }


class Conversation:
    """The messages of one connection: remembers the requests that are not answered yet."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._waiting: OrderedDict[int, Message] = OrderedDict()
        self._client: str | None = None

    def request(self, frame: bytes) -> Message:
        """The header of a request."""
        if len(frame) < START.size:
            return self.unknown("request")
        key, version, correlation = START.unpack_from(frame)
        client = _client_of(frame)
        self._client = client
        found = Message("request", self._broker, client, key, version, correlation)
        self._waiting[correlation] = found
        if len(self._waiting) > MOST_UNANSWERED:
            self._waiting.popitem(last=False)
        return found

    def response(self, frame: bytes) -> Message:
        """The header of a response: it answers the request with its correlation id."""
        if len(frame) < 4:
            return self.unknown("response")
        correlation = int.from_bytes(frame[:4], "big", signed=True)
        asked = self._waiting.pop(correlation, None)
        if asked is None:
            return Message("response", self._broker, self._client, None, None, correlation)
        return Message("response", self._broker, asked.client, asked.key, asked.version, correlation)

    def unknown(self, kind: str) -> Message:
        """A frame of which nothing is known but its connection."""
        return Message(kind, self._broker, self._client, None, None, None)


def _client_of(frame: bytes) -> str | None:
    """The client id: the same bytes in all versions of the header but the first, which has none."""
    at = START.size
    if len(frame) < at + CLIENT.size:
        return None
    (length,) = CLIENT.unpack_from(frame, at)
    at += CLIENT.size
    return None if not 0 <= length <= len(frame) - at else frame[at : at + length].decode(errors="replace")
