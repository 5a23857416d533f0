"""The client libraries of producers and consumers: how they differ from Kafka's Java client, and their own defaults.

Sources, read in August 2026:

- Kafka Connect: Worker.baseProducerConfigs and baseConsumerConfigs; Kafka Streams: StreamsConfig
  (PRODUCER_DEFAULT_OVERRIDES, CONSUMER_DEFAULT_OVERRIDES). Both put their values into Java clients.
- Spring Cloud Stream: KafkaMessageChannelBinder.getProducerFactory, KafkaBinderConfigurationProperties.requiredAcks.
- SmallRye Reactive Messaging, the Kafka connector of Quarkus: see `applications`.
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
    SMALLRYE = "SmallRye Reactive Messaging"
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
            return f"{NAMES_OF_SARAMA.get(key, key)}={'WaitForAll' if (key, value) == ('acks', 'all') else value}"
        in_python = self in (ClientLibrary.KAFKA_PYTHON, ClientLibrary.AIOKAFKA)
        return f"{key.replace('.', '_') if in_python else key}={value}"


_WITH_JAVA_CLIENTS = (
    ClientLibrary.JAVA,
    ClientLibrary.CONNECT,
    ClientLibrary.STREAMS,
    ClientLibrary.BINDER,
    ClientLibrary.SMALLRYE,
)

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
    ClientLibrary.SMALLRYE: {"acks": "1"},
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

NAMES_OF_SARAMA = {
    "acks": "Producer.RequiredAcks",
    "enable.idempotence": "Producer.Idempotent",
    "max.in.flight.requests.per.connection": "Net.MaxOpenRequests",
    "retries": "Producer.Retry.Max",
    "transactional.id": "Producer.Transaction.ID",
    "isolation.level": "Consumer.IsolationLevel",
    "auto.offset.reset": "Consumer.Offsets.Initial",
}
"""The fields of Sarama's Config, by the Java clients' names of their settings."""

GUARANTEE = "processing.guarantee"
"""The key of Kafka Streams that makes its producers idempotent and its consumers read committed records."""

EXACTLY_ONCE_SOURCE = "exactly.once.source.support"
"""The key of a worker of Kafka Connect that makes the producers of source connectors idempotent, whatever else a file
says."""

_KEYS_OF = {
    ClientLibrary.SCALA: """
        compressed.topics key.serializer.class producer.type queue.enqueue.timeout.ms serializer.class
        serializer.encoding
    """,
    ClientLibrary.LIBRDKAFKA: """
        api.version.fallback.ms api.version.request api.version.request.timeout.ms batch.num.messages
        broker.address.family broker.address.ttl broker.version.fallback builtin.features compression.level
        consume.callback.max.messages coordinator.query.interval.ms delivery.report.only.error dr_cb dr_msg_cb
        enable.auto.offset.store enable.gapless.guarantee enable.partition.eof enable.random.seed
        enable.sasl.oauthbearer.unsecure.jwt enable.ssl.certificate.verification enabled_events error_cb
        fetch.error.backoff.ms fetch.queue.backoff.ms group.protocol.type https.ca.location https.ca.pem
        internal.termination.signal log.connection.close log.queue log.thread.name log_level max.in.flight
        message.copy.max.bytes message.send.max.retries message.timeout.ms metadata.broker.list msg_order_cmp
        oauthbearer_token_refresh_cb offset.store.method offset.store.path offset.store.sync.interval.ms open_cb
        plugin.library.paths produce.offset.report queue.buffering.backpressure.threshold queue.buffering.max.kbytes
        queue.buffering.max.messages queue.buffering.max.ms queued.max.messages.kbytes queued.min.messages
        queuing.strategy rebalance_cb receive.message.max.bytes reconnect.backoff.jitter.ms request.required.acks
        sasl.kerberos.keytab sasl.kerberos.principal sasl.mechanisms sasl.oauthbearer.client.id
        sasl.oauthbearer.client.secret sasl.oauthbearer.config sasl.oauthbearer.extensions sasl.oauthbearer.method
        sasl.password sasl.username socket.blocking.max.ms socket.keepalive.enable socket.max.fails
        socket.nagle.disable ssl.ca.certificate.stores ssl.ca.location ssl.ca.pem ssl.certificate.location
        ssl.certificate.pem ssl.crl.location ssl.curves.list ssl.engine.id ssl.engine.location ssl.key.location
        ssl.key.pem ssl.providers ssl.sigalgs.list statistics.interval.ms stats_cb sticky.partitioning.linger.ms
        topic.blacklist topic.metadata.propagation.max.ms topic.metadata.refresh.fast.cnt
        topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse
    """,
    ClientLibrary.CONNECT: """
        config.storage.replication.factor config.storage.topic connector.class
        connector.client.config.override.policy exactly.once.source.support exactly.once.support key.converter
        offset.flush.interval.ms offset.storage.file.filename offset.storage.replication.factor offset.storage.topic
        plugin.path status.storage.replication.factor status.storage.topic tasks.max value.converter
    """,
    ClientLibrary.STREAMS: """
        application.id application.server default.key.serde default.value.serde num.standby.replicas
        num.stream.threads processing.guarantee state.dir topology.optimization
    """,
}
KEYS_OF: Mapping[ClientLibrary, frozenset[str]] = {
    library: frozenset(keys.split()) for library, keys in _KEYS_OF.items()
}
"""Keys that only one library or framework has. The aliases that librdkafka shares with the old Scala producer show
librdkafka, unless another key shows Scala."""
