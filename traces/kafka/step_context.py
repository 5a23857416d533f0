"""One step of Kafka's replication as the functions see it that find its messages: arguments, lanes, states.

In:  a step of Kafka's model, and the states before and after it.
Out: a `StepContext`, which makes arrows and marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from isrcheck.models.language.declarations import NONE
from isrcheck.models.run import State
from isrcheck.traces.lanes.scene import NOTE, REQUEST, Arrow, Mark

Events = Iterator[Arrow | Mark]


@dataclass(frozen=True)
class LaneNumbers:
    """The number of each lane: first the controller, then brokers, producers and readers."""

    replicas: int
    transactions: int

    controller: int = 0

    def broker(self, r: int) -> int:
        """The lane of a broker."""
        return 1 + r

    @property
    def producer(self) -> int:
        """The lane of the producer outside transactions."""
        return 1 + self.replicas

    def transaction(self, transaction: int) -> int:
        """The lane of a transaction: of its producer, and of the coordinator that ends the transaction."""
        return self.producer + 1 + transaction

    def sender(self, s: State, record: int) -> int:
        """The lane of the producer that sent a record."""
        transaction = s.transaction_of[record]
        return self.producer if transaction == NONE else self.transaction(transaction)

    @property
    def readers(self) -> int:
        """The lane of the readers of all committed records."""
        return self.producer + 1 + self.transactions

    @property
    def transaction_readers(self) -> int:
        """The lane of read_committed readers, if there are transactions."""
        return self.readers + 1


class UnknownArgumentError(AttributeError):
    """Raised if an action with a known name has other arguments than this package expects."""


@dataclass(frozen=True)
class StepContext:
    """One step: its arguments by name, and the states before and after it."""

    lanes: LaneNumbers
    before: State
    after: State
    arguments: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        """An argument of the step."""
        if name not in self.arguments:
            raise UnknownArgumentError(name)
        return self.arguments[name]

    def to_broker(self, source: int, r: int, text: str, kind: str = REQUEST) -> Arrow:
        """Add a message from a lane to a broker."""
        return Arrow(source, self.lanes.broker(r), text, kind)

    def to_controller(self, r: int, text: str, kind: str = REQUEST) -> Arrow:
        """Add a message from a broker to the controller."""
        return Arrow(self.lanes.broker(r), self.lanes.controller, text, kind)

    def from_controller(self, r: int, text: str, kind: str = REQUEST) -> Arrow:
        """Add a message from the controller to a broker."""
        return Arrow(self.lanes.controller, self.lanes.broker(r), text, kind)

    def between(self, source: int, target: int, text: str, kind: str = REQUEST) -> Arrow:
        """Add a message from one broker to another."""
        return Arrow(self.lanes.broker(source), self.lanes.broker(target), text, kind)

    def befalls(self, r: int, text: str, kind: str = NOTE) -> Mark:
        """Add an event at a broker."""
        return Mark(self.lanes.broker(r), text, kind)


MessageFinder = Callable[[StepContext], Events]
"""Finds the messages of one action."""
