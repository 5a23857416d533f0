"""The real clients: producers that send one record each, and a consumer that reads the whole log.

In:  addresses of brokers.
Out: what the clients were told, what the consumer read.

Each record has a producer of its own, because a broker handles one request of a connection at a time, and in the model
several records can wait for their acknowledgement at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

POLL = 0.2
READ_SECONDS = 10.0
QUIET = {"log_level": 0}
"""The library says nothing on stderr."""


@dataclass(frozen=True)
class Told:
    """What a producer's callback was told about its record: an error, or the offset, which acks=0 does not tell."""

    error: str | None
    offset: int | None

    def __str__(self) -> str:
        if self.error is not None:
            return f"not delivered: {self.error}"
        return "delivered" if self.offset is None else f"delivered at offset {self.offset}"


class RecordProducer:
    """A producer of confluent-kafka that has sent one record."""

    def __init__(self, addresses: str, topic: str, value: str, acks: str) -> None:
        settings = {
            "bootstrap.servers": addresses,
            "acks": acks,
            "enable.idempotence": False,
            "linger.ms": 0,
            "retry.backoff.ms": 10,
            "retry.backoff.max.ms": 10,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 20,
            **QUIET,
        }
        self._producer = Producer(settings)
        self._told: Told | None = None
        self._producer.produce(topic, value, partition=0, on_delivery=self._note)

    @property
    def told(self) -> Told | None:
        """What the callback was told; None if it was not called yet."""
        self._producer.poll(0)
        return self._told

    def end(self) -> None:
        """Give the record up if it is still on its way. Blocks until the library has ended its threads."""
        self._producer.purge()
        self._producer.poll(0)
        self._producer.close()

    def _note(self, error: object, message: Message) -> None:
        if self._told is None:
            offset = message.offset()
            self._told = Told(
                None if error is None else str(error), offset if offset is not None and offset >= 0 else None
            )


@dataclass(frozen=True)
class Reading:
    """What a new consumer has read: (offset, value) of each record; where the partition starts and ends."""

    records: tuple[tuple[int, str], ...]
    start_offset: int
    end_offset: int


def read_all(addresses: str, topic: str) -> Reading | None:
    """Read the whole partition with a new consumer; None if it could not. Blocks."""
    consumer = Consumer(
        {
            "bootstrap.servers": addresses,
            "group.id": "a new consumer",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
            "fetch.wait.max.ms": 10,
            "auto.offset.reset": "earliest",
            **QUIET,
        }
    )
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
