"""The real producers: each sends records, and maybe in a transaction.

In:  addresses of brokers; records, one after the other.
Out: what the callbacks were told.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from isrcheck.conformance.cluster.network.records import Control

FAST = {
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 10,
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 20,
    "topic.metadata.refresh.fast.interval.ms": 10,
    "log_level": 0,  # the library says nothing on stderr
}
"""Short times for every client, and silence."""


SILENT = logging.getLogger(__name__)
SILENT.disabled = True
"""Takes what the library would print on stderr in any case: errors after which a producer sends nothing more."""


@dataclass(frozen=True)
class Told:
    """What a producer's callback was told about its record: an error, or the offset, which acks=0 does not tell."""

    error: str | None
    offset: int | None

    def __str__(self) -> str:
        if self.error is not None:
            return f"not delivered: {self.error}"
        return "delivered" if self.offset is None else f"delivered at offset {self.offset}"


class RealProducer:
    """A producer of confluent-kafka. It puts each record in a batch of its own."""

    def __init__(self, addresses: str, topic: str, settings: Mapping[str, str | int | bool]) -> None:
        """`settings` are those of the library that the trace decides: acks, enable.idempotence, transactional.id."""
        given = {"bootstrap.servers": addresses, "linger.ms": 0, "batch.num.messages": 1, **FAST, **settings}
        self._producer = Producer({**given, "logger": SILENT})
        self._topic = topic
        self._told: dict[str, Told] = {}
        self.sent: list[str] = []

    @property
    def told(self) -> Mapping[str, Told]:
        """What the callbacks were told so far, by record."""
        self._poll()
        return self._told

    def is_told(self, value: str) -> bool:
        """Whether a callback was told about this record."""
        return value in self.told

    def send(self, value: str) -> None:
        """Send a record. Raises KafkaException if the producer does not take it."""
        self.sent.append(value)
        self._producer.produce(self._topic, value, partition=0, on_delivery=self._note)

    def begin_transaction(self, seconds: float) -> None:
        """Get the producer's id, and begin its transaction. Blocks. Raises KafkaException."""
        self._producer.init_transactions(seconds)
        self._producer.begin_transaction()

    def end_transaction(self, control: Control, seconds: float) -> None:
        """Commit or abort the transaction. Blocks. Raises KafkaException."""
        if control is Control.COMMIT:
            self._producer.commit_transaction(seconds)
        else:
            self._producer.abort_transaction(seconds)

    def end(self) -> None:
        """Give up the records that are still on their way. Blocks until the library has ended its threads."""
        self._producer.purge()
        self._poll()
        del self._producer  # close() would first wait for the abort of a transaction that is still open

    def _poll(self) -> None:
        with suppress(KafkaException):  # an error after which it sends nothing more; its records are told of it, too
            self._producer.poll(0)

    def _note(self, error: KafkaError | None, message: Message) -> None:
        value, offset = (message.value() or b"").decode(), message.offset()
        told = Told(None if error is None else error.str(), offset if offset is not None and offset >= 0 else None)
        self._told.setdefault(value, told)
