"""Where a wire recording ends: the shutdown of all brokers that an experiment ends with, and that no line announces.

In:  the messages and happenings of a recording, in order, with those of observations.ndjson at their times.
Out: the line of the first of these shutdowns.

A shutdown is not the end if anything shows that the cluster goes on after it: a producer that writes or is told
something, a client that reads, a fault, a broker that registers, or a broker that keeps sending heartbeats. Then it is
a fault like any other.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from isrcheck.conformance.follow.format.ndjson import get
from isrcheck.conformance.follow.recorded.lines import FaultKind
from isrcheck.conformance.follow.wire.lines.messages import Happening, Message, is_number

END = "end"
"""The remark with which an experimenter ends a recording."""

FAULTS = tuple(kind.value for kind in FaultKind)

LATE_HEARTBEATS = 1
"""Heartbeats that a broker may still send before it asks to be shut down, too. It sends one in two seconds."""


class Ending:
    """The end of a recording, as far as it is read. `_away` are brokers that have asked to be shut down, or are told to
    be, and did not come back: they ask again and again.
    """

    def __init__(self) -> None:
        self._at: int | None = None
        self._is_told = False
        self._away: set[int] = set()
        self._heartbeats: Counter[int] = Counter()

    @property
    def at(self) -> int | None:
        """The line from which on the brokers are shut down at the end; None: they are not."""
        return None if self._heartbeats and not self._is_told else self._at

    def hear(self, line: Happening) -> None:
        """Note what a person did or saw."""
        broker: Any = line.keys.get("broker")
        if line.what in FAULTS:
            self._goes_on()
            if is_number(broker):
                self._returns(broker)
                if line.what == FaultKind.STOP.value:
                    self._away.add(broker)
        elif line.what.startswith("client_") or line.what in ("acked", "send"):
            self._goes_on()
        elif line.what == END and not self._is_told:
            self._at, self._is_told = self._at or line.number, True

    def see(self, line: Message) -> None:
        """Note what a message shows. Raises UnreadableError."""
        if line.api == "Produce" or (line.api == "BrokerRegistration" and line.is_request):
            self._goes_on()
            self._returns(line.body.get("broker_id"))
        elif line.api == "BrokerHeartbeat" and line.is_request and line.body:
            broker: int = get(line.body, "broker_id", int)
            if shuts_down(line):
                self._asks(line.number, broker)
            elif self._at is not None and broker not in self._away:
                self._heartbeats[broker] += 1
                if self._heartbeats[broker] > LATE_HEARTBEATS:
                    self._goes_on()

    def _asks(self, number: int, broker: int) -> None:
        if broker not in self._away:
            self._at = self._at or number
        self._away.add(broker)
        del self._heartbeats[broker]

    def _goes_on(self) -> None:
        self._at, self._is_told = None, False
        self._heartbeats.clear()

    def _returns(self, broker: object) -> None:
        if isinstance(broker, int):
            self._away.discard(broker)


def shuts_down(line: Message) -> bool:
    """Whether a broker asks with this message to be shut down."""
    return line.api == "BrokerHeartbeat" and line.is_request and line.body.get("want_shut_down") is True
