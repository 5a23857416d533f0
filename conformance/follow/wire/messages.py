"""Reads the lines of a wire recording: requests, responses, and faults.

A proxy between brokers and clients writes these lines. Every defect raises UsageError with file and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from isrcheck.conformance.follow.format.ndjson import (
    UnreadableError,
    bad_line,
    get,
    lines_of,
    objects_of,
    parsed,
)
from isrcheck.conformance.follow.recorded.faults import fault_in

Value = TypeVar("Value")

NOTE = "note"
"""The kind of a remark that a person types while `conform record` runs."""

FILE = "wire.ndjson"
"""The name of a wire recording in its folder."""

MESSAGES = ("request", "response", "held", "dropped")
"""The kinds of lines that only wire recordings have."""

MOST_LINES = 1_000_000
"""The longest recording, in lines."""

BACKWARDS = 1.0
"""Seconds by which a line may be older than the line before it: several threads write them."""

MOST_FAULTS_FIRST = 1_000
"""The number of lines in which a wire recording is recognised: its first ones can be faults, as elsewhere."""


@dataclass(frozen=True)
class Message:
    """A request or response at the proxy."""

    number: int
    n: int
    t: float
    is_request: bool

    is_held: bool
    """The proxy keeps it for now, and forwards it later, or never."""

    client: str

    broker: int | None
    """The broker addressed, or None for a controller."""

    api: str
    """Empty if the recorder could not read the header."""

    correlation: int

    body: Mapping[str, Any]
    """The content, with Kafka's own names; empty if it is not decoded."""

    undecoded: bool = False
    """The recorder could not decode the message."""

    @property
    def exchange(self) -> tuple[str, int | None, int]:
        """Client, broker and correlation id, which a request and its response have in common."""
        return self.client, self.broker, self.correlation


@dataclass(frozen=True)
class Happening:
    """A line that the experimenter or a client wrote about its own acts or observations."""

    number: int
    n: int
    t: float
    what: str
    keys: Mapping[str, Any]


def is_wire(path: Path, content: bytes | None = None) -> bool:
    """Whether a file is a wire recording: after any faults, its first line is a message or comes from a client."""
    for number, line in lines_of(path, content):
        try:
            keys = parsed(line)
        except UnreadableError:
            return False
        kind = keys.get("kind")
        if kind != "fault":
            return kind in MESSAGES
        if keys.get("what") in ("client_result", "client_read"):
            return True
        if number == MOST_FAULTS_FIRST:
            break
    return False


def wire_lines(path: Path, content: bytes | None = None) -> Iterator[Message | Happening]:
    """The lines of a wire recording, in order. Raises UsageError."""
    before, latest = -1, float("-inf")
    for number, keys in objects_of(path, content):
        if number > MOST_LINES:
            raise bad_line(path, number, f"more than {MOST_LINES:,} lines; give a shorter recording")
        try:
            line = _line(number, keys)
        except UnreadableError as error:
            raise bad_line(path, number, error) from None
        if line is None:
            continue
        if line.n <= before:
            raise bad_line(path, number, f"n is {line.n} after {before}; put the lines in the order of n")
        if line.t < latest - BACKWARDS:
            defect = f"t is {line.t} after {latest}: the lines are out of order, or of two recordings"
            raise bad_line(path, number, f"{defect}; give one recording as the proxy wrote it")
        before, latest = line.n, max(latest, line.t)
        yield line


def _line(number: int, keys: Mapping[str, Any]) -> Message | Happening | None:
    kind, n, t = get(keys, "kind", str), get(keys, "n", int), keys.get("t")
    if isinstance(t, bool) or not isinstance(t, int | float):
        raise UnreadableError('"t" has to be the seconds since the start; give it')
    if kind == "fault":
        return _happening(number, n, t, keys)
    if kind not in MESSAGES:
        kinds = ", ".join((*MESSAGES, "fault"))
        raise UnreadableError(f"unknown kind {kind[:40]!r}; a recording of the wire has: {kinds}")
    if kind == "dropped":
        return None
    broker = keys.get("broker")
    if not isinstance(broker, str) and not is_number(broker):
        raise UnreadableError('"broker" has to be the number of a broker, or name a controller; give it')
    is_request = (keys.get("what", keys.get("direction")) if kind == "held" else kind) == "request"
    body = keys.get("body")
    if body is not None and not isinstance(body, dict):
        raise UnreadableError('"body" has to be an object; give the decoded message')
    undecoded = body is None and keys.get("undecoded") is not None
    client = _header(keys, "client", str, "", undecoded=undecoded)
    api = _header(keys, "api", str, "", undecoded=undecoded)
    correlation = _header(keys, "correlation", int, -1, undecoded=undecoded)
    at = broker if isinstance(broker, int) else None
    return Message(number, n, t, is_request, kind == "held", client, at, api, correlation, body or {}, undecoded)


def _happening(number: int, n: int, t: float, keys: Mapping[str, Any]) -> Happening:
    """The line of a person or a client as a `Happening`. A note that names a fault of a broker becomes this fault."""
    what, text = get(keys, "what", str), keys.get("text")
    fault = fault_in(text) if what == NOTE and isinstance(text, str) else None
    if fault is None:
        return Happening(number, n, t, what, keys)
    return Happening(number, n, t, fault[0].value, {**keys, "what": fault[0].value, "broker": fault[1]})


def _header(keys: Mapping[str, Any], key: str, kind: type[Value], unknown: Value, *, undecoded: bool) -> Value:
    """A field of a message's header; `unknown` if the client has no name, or the message could not be decoded."""
    if keys.get(key) is None and key in keys and (undecoded or key == "client"):
        return unknown
    value: Value = get(keys, key, kind)
    return value


def is_number(value: Any) -> bool:
    """Whether a value is a whole number, 0 or more, of at most 63 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def listed(body: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The objects in a list of the body; empty if the key is missing or null. Raises UnreadableError."""
    objects = body.get(key)
    if objects is None:
        return []
    if not isinstance(objects, list) or not all(isinstance(entry, dict) for entry in objects):
        raise UnreadableError(f'"{key}" has to be a list of objects; give the decoded message')
    return objects


def numbers(body: Mapping[str, Any], key: str) -> tuple[int, ...]:
    """The numbers in a list of the body. Raises UnreadableError."""
    values = body.get(key)
    if not isinstance(values, list) or not all(map(is_number, values)):
        raise UnreadableError(f'"{key}" has to be a list of numbers; give the decoded message')
    return tuple(values)
