"""The real consumers: a new one that reads the whole log, and one with a position that reads during the trace.

In:  addresses of brokers.
Out: what the consumers have read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, TopicPartition

from isrcheck.conformance.cluster.configuration.settings import AutoOffsetReset
from isrcheck.conformance.cluster.network.messages import Isolation
from isrcheck.conformance.wire.script.real_producer import FAST

POLL = 0.2
READ_SECONDS = 10.0
RESETS: Mapping[AutoOffsetReset, str] = {
    AutoOffsetReset.EARLIEST: "earliest",
    AutoOffsetReset.LATEST: "latest",
    AutoOffsetReset.NOTHING: "error",
}


@dataclass(frozen=True)
class Reading:
    """What a new consumer has read: (offset, value) of each record; where the partition starts and ends."""

    records: tuple[tuple[int, str], ...]
    start_offset: int
    end_offset: int

    @property
    def values(self) -> list[str]:
        """The records in the order of reading."""
        return [value for _, value in self.records]


def read_all(addresses: str, topic: str, isolation: Isolation) -> Reading | None:
    """Read the whole partition with a new consumer; None if it could not. Blocks."""
    consumer = _consumer(addresses, "a new consumer", isolation, AutoOffsetReset.EARLIEST)
    try:
        partition = TopicPartition(topic, 0)
        start, end = consumer.get_watermark_offsets(partition, timeout=READ_SECONDS)
        consumer.assign([TopicPartition(topic, 0, start)])
        found: list[tuple[int, str]] = []
        for _ in range(int(READ_SECONDS / POLL)):
            message = consumer.poll(POLL)
            if message is not None and message.error() is not None:
                return Reading(tuple(found), start, end)  # the end of the partition
            if message is not None:
                found.append((message.offset() or 0, (message.value() or b"").decode()))
    except KafkaException:
        return None
    finally:
        consumer.close()
    return None


class PositionedConsumer:
    """A consumer that begins at offset 0 and stays for the whole trace; it looks for a new leader all the time."""

    def __init__(self, addresses: str, topic: str, name: str, isolation: Isolation, reset: AutoOffsetReset) -> None:
        self._consumer = _consumer(addresses, name, isolation, reset, **{"topic.metadata.refresh.interval.ms": 50})
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._read: list[tuple[int, str]] = []

    @property
    def read(self) -> list[tuple[int, str]]:
        """The offset and the value of each record that it has read so far, in order."""
        while (message := self._consumer.poll(0)) is not None:
            if message.error() is None:
                self._read.append((message.offset() or 0, (message.value() or b"").decode()))
        return self._read

    def end(self) -> None:
        """End the consumer. Blocks until the library has ended its threads."""
        self._consumer.close()


def _consumer(
    addresses: str, name: str, isolation: Isolation, reset: AutoOffsetReset, **settings: str | int
) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": addresses,
            "client.id": name,
            "group.id": name,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation.value,
            "auto.offset.reset": RESETS[reset],
            "fetch.wait.max.ms": 10,
            "fetch.error.backoff.ms": 10,
            **FAST,
            **settings,
        }
    )
