"""The client libraries of producers and consumers: how they differ from Kafka's Java client, and their own defaults.

Sources, read in August 2026:

- Kafka Connect: Worker.baseProducerConfigs and baseConsumerConfigs; Kafka Streams: StreamsConfig
  (PRODUCER_DEFAULT_OVERRIDES, CONSUMER_DEFAULT_OVERRIDES). Both put their values into Java clients.
- Spring Cloud Stream: KafkaMessageChannelBinder.getProducerFactory, KafkaBinderConfigurationProperties.requiredAcks.
- librdkafka 2.x: CONFIGURATION.md; rd_kafka_conf_finalize in src/rdkafka_conf.c (idempotence). confluent-kafka for
  Python, Go and .NET, kcat and node-rdkafka are clients of it.
- Sarama: NewConfig and Config.Validate in config.go.
- kafka-python: DEFAULT_CONFIG and __init__ of KafkaProducer in kafka/producer/kafka.py (2.0.2, 2.2.0, 3.0.0).
- aiokafka: AIOKafkaProducer.__init__ in aiokafka/producer/producer.py. It has no `retries` and no limit of requests:
  its Sender sends again until request_timeout_ms, and has one request in flight to a broker.
- The old Scala producer, which Kafka 2.0 removed: kafka.producer.ProducerConfig and SyncProducerConfig of 0.10.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from isrcheck.checker.cluster.releases import Version, default


class ClientLibrary(Enum):
    """A client library, or a framework with Java clients whose defaults it changes; the value is its name."""

    JAVA = "the Java client"
    CONNECT = "Kafka Connect"
    STREAMS = "Kafka Streams"
    BINDER = "Spring Cloud Stream"
    LIBRDKAFKA = "librdkafka"
    SARAMA = "Sarama"
    KAFKA_PYTHON = "kafka-python"
    AIOKAFKA = "aiokafka"
    SCALA = "the old Scala producer"

    @property
    def has_java_clients(self) -> bool:
        """Whether the clients are Kafka's own Java clients, so that the rules of a release of Kafka hold for them."""
        return self in _WITH_JAVA_CLIENTS

    def default(self, key: str, release: Version) -> tuple[str, str]:
        """Return the default of a key, and the name of what has this default: the library, or a release of Kafka."""
        by_release = _DEFAULTS[self].get(key, ())
        if isinstance(by_release, str):
            return by_release, self.value
        own = next((value for since, value in by_release if release.has(since)), None)
        return (default(key, release), f"Kafka {release}") if own is None else (own, self.value)

    def spelled(self, key: str, value: str) -> str:
        """Return a setting with the library's own name and value for it, as a cure names it."""
        if self is ClientLibrary.SARAMA:
            return f"{_NAMES_OF_SARAMA.get(key, key)}={'WaitForAll' if (key, value) == ('acks', 'all') else value}"
        in_python = self in (ClientLibrary.KAFKA_PYTHON, ClientLibrary.AIOKAFKA)
        return f"{key.replace('.', '_') if in_python else key}={value}"


_WITH_JAVA_CLIENTS = (ClientLibrary.JAVA, ClientLibrary.CONNECT, ClientLibrary.STREAMS, ClientLibrary.BINDER)

_INFINITE = "2147483647"

_DEFAULTS: Mapping[ClientLibrary, Mapping[str, str | tuple[tuple[str, str], ...]]] = {
    ClientLibrary.JAVA: {},
    ClientLibrary.CONNECT: {
        "acks": "all",
        "enable.idempotence": "false",
        "max.in.flight.requests.per.connection": "1",
        "retries": _INFINITE,
        "delivery.timeout.ms": _INFINITE,
        "auto.offset.reset": "earliest",
    },
    ClientLibrary.STREAMS: {
        "linger.ms": "100",
        "retries": (("2.1", _INFINITE), ("1.0", "10")),
        "auto.offset.reset": "earliest",
    },
    ClientLibrary.BINDER: {"acks": "1", "retries": "0"},
    ClientLibrary.LIBRDKAFKA: {
        "acks": "all",
        "enable.idempotence": "false",
        "max.in.flight.requests.per.connection": "1000000",
        "retries": _INFINITE,
        "isolation.level": "read_committed",
        "auto.offset.reset": "latest",
    },
    ClientLibrary.SARAMA: {
        "acks": "1",
        "enable.idempotence": "false",
        "max.in.flight.requests.per.connection": "5",
        "retries": "3",
    },
    ClientLibrary.KAFKA_PYTHON: {
        "acks": "all",
        "enable.idempotence": "true",
        "max.in.flight.requests.per.connection": "5",
        "retries": _INFINITE,
    },
    ClientLibrary.AIOKAFKA: {
        "acks": "1",
        "enable.idempotence": "false",
        "max.in.flight.requests.per.connection": "1",
        "retries": _INFINITE,
    },
    ClientLibrary.SCALA: {
        "acks": "0",
        "enable.idempotence": "false",
        "max.in.flight.requests.per.connection": "1",
        "retries": "3",
    },
}
"""The defaults that a library has of its own: one value, or the values since certain releases of Kafka, newest first.
For other keys the default is that of the Java client."""

OLDER_DEFAULTS: Mapping[ClientLibrary, Mapping[str, str]] = {
    ClientLibrary.LIBRDKAFKA: {"acks": "acks=1 before 1.0", "retries": "retries=2 before 1.5.2"},
    ClientLibrary.KAFKA_PYTHON: {
        "acks": "acks=1 before 3.0",
        "enable.idempotence": "enable_idempotence=false before 3.0",
        "retries": "retries=0 before 2.2",
    },
}
"""Defaults that older versions of a library have, by key, as text: a file does not show the version of the library."""

_NAMES_OF_SARAMA = {
    "acks": "Producer.RequiredAcks",
    "enable.idempotence": "Producer.Idempotent",
    "max.in.flight.requests.per.connection": "Net.MaxOpenRequests",
    "retries": "Producer.Retry.Max",
    "transactional.id": "Producer.Transaction.ID",
}
