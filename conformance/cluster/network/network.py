"""Messages in flight, and virtual time. Nothing moves by itself: the driver delivers or drops messages, and moves time.

A response, or metadata, belongs to an open connection and is for one *process* of a broker: if it reaches a later
process of that broker, it is lost, as with TCP.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.network.messages import Payload


class Clock:
    """Milliseconds since the start of the run."""

    def __init__(self) -> None:
        self.now = 0
        """The time in milliseconds."""

    def advance(self, milliseconds: int) -> None:
        """Advance the time. Errors: ValueError for a negative amount."""
        if milliseconds < 0:
            raise ValueError(f"time cannot be advanced by {milliseconds} ms; give 0 or more")
        self.now += milliseconds


Node = int | str
"""A broker's number, `"controller"`, or the name of a client."""

CONTROLLER = "controller"


@dataclass(frozen=True)
class Message:
    """One message in flight."""

    number: int
    """The number of the message, counted from 0 over all messages of a run."""
    source: Node
    destination: Node
    payload: Payload
    in_reply_to: int | None = None
    """The number of the request, in a response."""
    source_process: int = 0
    """The number of the sending process of a broker, from 1; 0: any process."""
    destination_process: int = 0
    """Like `source_process`."""

    def __str__(self) -> str:
        return f"#{self.number} {self.source} -> {self.destination}: {self.payload}"


class Network:
    """All messages in flight, by number."""

    def __init__(self) -> None:
        self._in_flight: dict[int, Message] = {}
        self._sent = 0

    @property
    def in_flight(self) -> tuple[Message, ...]:
        """Every message in flight, in order of sending."""
        return tuple(self._in_flight.values())

    @property
    def sent(self) -> int:
        """The number of messages sent so far, which is the number of the next message."""
        return self._sent

    def send(
        self,
        source: Node,
        destination: Node,
        payload: Payload,
        *,
        source_process: int = 0,
        destination_process: int = 0,
        in_reply_to: int | None = None,
    ) -> int:
        """Put a message in flight; returns its number."""
        number = self._sent
        self._sent += 1
        self._in_flight[number] = Message(
            number, source, destination, payload, in_reply_to, source_process, destination_process
        )
        return number

    def reply(self, request: Message, payload: Payload, process: int) -> int:
        """Answer a request on its connection; return the response's number. `process`: the answering process."""
        return self.send(
            request.destination,
            request.source,
            payload,
            source_process=process,
            destination_process=request.source_process,
            in_reply_to=request.number,
        )

    def look(self, number: int) -> Message:
        """The message in flight with this number. Errors: `ClusterError` if no such message is in flight."""
        if number not in self._in_flight:
            raise ClusterError(f"no message #{number} is in flight; in flight are {sorted(self._in_flight)}")
        return self._in_flight[number]

    def take(self, number: int) -> Message:
        """Remove the message with this number from the network. Errors: `ClusterError` if it is not in flight."""
        message = self.look(number)
        del self._in_flight[number]
        return message

    def carries(self, request: int) -> bool:
        """Whether a request or the response to it is in flight."""
        return any(request in (each.number, each.in_reply_to) for each in self._in_flight.values())
