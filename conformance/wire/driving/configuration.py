"""The settings that the brokers of `conform serve` report: of topics and brokers, each with value, source and type.

In:  the layers in which an operator can set a value: static (the file server.properties), cluster and broker (while
     brokers run, for all of them or for one), topic; and Kafka's defaults.
Out: for a topic or a broker, the entries of a DescribeConfigs response.

The topic's value hides that of the broker, which hides that of the cluster, and so on down to static and default; an
entry has the values of all layers as its synonyms, as Kafka calls them. Kafka: ConfigHelper,
DynamicBrokerConfig, ServerTopicConfigSynonyms. Only the settings listed here are reported; Kafka has many more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from isrcheck.conformance.cluster.configuration.protocol import Switches
from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.models.messages import UsageError


class Source(IntEnum):
    """Where a value comes from, with the numbers of the wire protocol. Kafka: DescribeConfigsResponse.ConfigSource."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


class Kind(IntEnum):
    """The type of a value, with the numbers of the wire protocol. Kafka: DescribeConfigsResponse.ConfigType."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    LIST = 7
    CLASS = 8
    PASSWORD = 9


@dataclass(frozen=True)
class Key:
    """A setting of a broker."""

    kind: Kind
    default: str | None = None
    """Kafka's default; None if Kafka has none."""
    is_dynamic: bool = False
    """Whether it can be changed while the broker runs."""


LONGEST = str((1 << 63) - 1)
"""Java's Long.MAX_VALUE: the default that stands for *never*."""

BROKER_KEYS: Mapping[str, Key] = {
    "auto.create.topics.enable": Key(Kind.BOOLEAN, "true"),
    "auto.leader.rebalance.enable": Key(Kind.BOOLEAN, "true"),
    "broker.id": Key(Kind.INT, "-1"),
    "broker.rack": Key(Kind.STRING),
    "broker.session.timeout.ms": Key(Kind.INT, "9000"),
    "controlled.shutdown.enable": Key(Kind.BOOLEAN, "true"),
    "default.replication.factor": Key(Kind.INT, "1"),
    "inter.broker.protocol.version": Key(Kind.STRING),
    "log.cleanup.policy": Key(Kind.LIST, "delete", is_dynamic=True),
    "log.dir": Key(Kind.STRING, "/tmp/kafka-logs"),
    "log.dirs": Key(Kind.STRING),
    "log.flush.interval.messages": Key(Kind.LONG, LONGEST, is_dynamic=True),
    "log.flush.interval.ms": Key(Kind.LONG, is_dynamic=True),
    "log.flush.scheduler.interval.ms": Key(Kind.LONG, LONGEST),
    "log.retention.bytes": Key(Kind.LONG, "-1", is_dynamic=True),
    "log.retention.hours": Key(Kind.INT, "168"),
    "log.retention.ms": Key(Kind.LONG, is_dynamic=True),
    "log.segment.bytes": Key(Kind.INT, str(1 << 30), is_dynamic=True),
    "min.insync.replicas": Key(Kind.INT, "1", is_dynamic=True),
    "node.id": Key(Kind.INT, "-1"),
    "num.partitions": Key(Kind.INT, "1"),
    "offsets.topic.replication.factor": Key(Kind.SHORT, "3"),
    "process.roles": Key(Kind.LIST, ""),
    "replica.lag.time.max.ms": Key(Kind.LONG, "30000"),
    "replica.selector.class": Key(Kind.STRING),
    "request.timeout.ms": Key(Kind.INT, "30000"),
    "ssl.keystore.password": Key(Kind.PASSWORD, is_dynamic=True),
    "transaction.max.timeout.ms": Key(Kind.INT, "900000"),
    "transaction.partition.verification.enable": Key(Kind.BOOLEAN, "true", is_dynamic=True),
    "transaction.state.log.min.isr": Key(Kind.INT, "2"),
    "transaction.state.log.replication.factor": Key(Kind.SHORT, "3"),
    "transactional.id.expiration.ms": Key(Kind.INT, "604800000"),
    "unclean.leader.election.enable": Key(Kind.BOOLEAN, "false", is_dynamic=True),
    "zookeeper.connect": Key(Kind.STRING),
    "zookeeper.session.timeout.ms": Key(Kind.INT, "18000"),
}
"""The settings of brokers."""

INTER_BROKER_PROTOCOLS = {
    "0.11": "0.11.0-IV2",
    "2.0": "2.0-IV1",
    "2.1": "2.1-IV2",
    "2.4": "2.4-IV1",
    "2.8": "2.8-IV1",
}
"""The inter.broker.protocol.version of each release with ZooKeeper whose brokers say their settings: the newest that
the release knows (ApiVersion.latestVersion)."""

TOPIC_KEYS: Mapping[str, tuple[str, str]] = {
    "cleanup.policy": ("log.cleanup.policy", "delete"),
    "flush.messages": ("log.flush.interval.messages", LONGEST),
    "flush.ms": ("log.flush.interval.ms", LONGEST),
    "min.insync.replicas": ("min.insync.replicas", "1"),
    "retention.bytes": ("log.retention.bytes", "-1"),
    "retention.ms": ("log.retention.ms", "604800000"),
    "segment.bytes": ("log.segment.bytes", str(1 << 30)),
    "unclean.leader.election.enable": ("unclean.leader.election.enable", "false"),
}
"""For each setting of topics: the setting of brokers that holds unless the topic has its own, and Kafka's default."""

ONLY_KRAFT = frozenset({"broker.session.timeout.ms", "node.id", "process.roles"})
ONLY_ZOOKEEPER = frozenset({"inter.broker.protocol.version", "zookeeper.connect", "zookeeper.session.timeout.ms"})
"""The settings that brokers report only with KRaft, and only with ZooKeeper."""

OF_THE_CLUSTER = ("min.insync.replicas", "unclean.leader.election.enable")
"""The settings by which the served cluster acts; the cluster has one value for all brokers."""

STATIC, CLUSTER, BROKER, TOPIC = "static", "cluster", "broker:", "topic:"
PLACE = r"static|cluster|broker:[0-9]{1,4}|topic:[a-zA-Z0-9._-]{1,249}"
"""Where a setting can be made, as a user writes it."""

Layer = Mapping[str, str]
"""The settings that are made in one place."""


@dataclass(frozen=True)
class Synonym:
    """A value in one layer."""

    name: str
    value: str | None
    """None for a secret."""
    source: Source


@dataclass(frozen=True)
class Entry:
    """A setting, as a broker reports it."""

    name: str
    value: str | None
    """None for a secret, and without a value."""
    source: Source
    kind: Kind
    is_read_only: bool
    synonyms: tuple[Synonym, ...]
    """The values in all layers, the value that holds first."""

    @property
    def is_sensitive(self) -> bool:
        """Whether the value is a secret, which brokers never report."""
        return self.kind is Kind.PASSWORD


@dataclass(frozen=True)
class Configuration:
    """The settings that somebody has made, by layer."""

    static: Layer = field(default_factory=dict)
    """In the server.properties of every broker."""
    cluster: Layer = field(default_factory=dict)
    """Made for all brokers while they run."""
    broker: Mapping[int, Layer] = field(default_factory=dict)
    """Made for one broker while it runs."""
    topic: Mapping[str, Layer] = field(default_factory=dict)
    """Made for one topic."""

    def value(self, topic: str, name: str) -> str:
        """The value of one of the settings `OF_THE_CLUSTER` that holds for a topic."""
        layers = (self.topic.get(topic, {}), self.cluster, self.static)
        return next((each[name] for each in layers if name in each), TOPIC_KEYS[name][1])

    def of_topic(self, topic: str, broker: int, static: Layer, has_kraft: bool) -> tuple[Entry, ...]:
        """The settings of a topic, as this broker reports them; `static`: the broker's own settings in its file."""
        own = self.topic.get(topic, {})
        reported = _keys(has_kraft)
        entries = []
        for name, (of_broker, default) in TOPIC_KEYS.items():
            kind = reported[of_broker].kind
            synonyms = tuple(self._synonyms(of_broker, broker, static))
            if name in own:
                synonyms = (Synonym(name, own[name], Source.TOPIC), *synonyms)
            value, source = (synonyms[0].value, synonyms[0].source) if synonyms else (default, Source.DEFAULT)
            entries.append(Entry(name, value, source, kind, False, synonyms))
        return tuple(entries)

    def of_broker(self, broker: int, static: Layer, has_kraft: bool) -> tuple[Entry, ...]:
        """The settings of a broker; `static`: the broker's own settings in its file."""
        entries = []
        for name, key in _keys(has_kraft).items():
            synonyms = tuple(self._synonyms(name, broker, static))
            value, source = (synonyms[0].value, synonyms[0].source) if synonyms else (None, Source.DEFAULT)
            entries.append(Entry(name, value, source, key.kind, not key.is_dynamic, synonyms))
        return tuple(entries)

    def of_cluster(self) -> tuple[Entry, ...]:
        """The settings made for all brokers while they run."""
        source = Source.DYNAMIC_DEFAULT_BROKER
        return tuple(
            Entry(
                name,
                _shown(name, value),
                source,
                BROKER_KEYS[name].kind,
                not BROKER_KEYS[name].is_dynamic,
                (Synonym(name, _shown(name, value), source),),
            )
            for name, value in self.cluster.items()
        )

    def _synonyms(self, name: str, broker: int, static: Layer) -> Iterator[Synonym]:
        for layer, source in (
            (self.broker.get(broker, {}), Source.DYNAMIC_BROKER),
            (self.cluster, Source.DYNAMIC_DEFAULT_BROKER),
            ({**static, **self.static}, Source.STATIC_BROKER),
        ):
            if name in layer:
                yield Synonym(name, _shown(name, layer[name]), source)
        if (default := BROKER_KEYS[name].default) is not None:
            yield Synonym(name, default, Source.DEFAULT)


def configured(settings: Settings, switches: Switches) -> Configuration:
    """The settings with which a cluster began, as an operator has made them: in the file of every broker. With ELR, the
    controller has also made min.insync.replicas a setting of the cluster (KIP-966)."""
    minimum = {"min.insync.replicas": str(settings.min_insync_replicas)}
    unclean = {"unclean.leader.election.enable": "true"} if settings.unclean_leader_election_enable else {}
    return Configuration(static={**minimum, **unclean}, cluster=minimum if switches.ELR else {})


def file_of(protocol: str) -> Layer:
    """The settings in the server.properties of every broker that show its release (`protocol`) and ZooKeeper; none with
    KRaft, whose brokers say their release with the features of ApiVersions."""
    version = INTER_BROKER_PROTOCOLS.get(protocol)
    return {} if version is None else {"inter.broker.protocol.version": version, "zookeeper.connect": "localhost:2181"}


def with_settings(made: Configuration, texts: Iterable[str]) -> Configuration:
    """The settings `made`, with further settings, each written as WHERE:NAME=VALUE, such as topic:a:flush.ms=1. Raises
    UsageError if there is no such place or setting, or if the setting cannot have the value or be made there."""
    layers: dict[str, dict[str, str]] = {STATIC: {**made.static}, CLUSTER: {**made.cluster}}
    for text in texts:
        where, separator, setting = text.rpartition(":")
        name, equals, value = setting.partition("=")
        if not (separator and equals) or not re.fullmatch(PLACE, where):
            raise UsageError(
                f"--config {text}: write it as WHERE:NAME=VALUE; WHERE is {STATIC}, {CLUSTER}, broker:N or topic:NAME"
            )
        _check(text, where, name, value)
        layers.setdefault(where, {})[name] = value
    return Configuration(
        layers.pop(STATIC),
        layers.pop(CLUSTER),
        {int(where.removeprefix(BROKER)): each for where, each in layers.items() if where.startswith(BROKER)},
        {where.removeprefix(TOPIC): each for where, each in layers.items() if where.startswith(TOPIC)},
    )


def _check(text: str, where: str, name: str, value: str) -> None:
    known = TOPIC_KEYS if where.startswith(TOPIC) else BROKER_KEYS
    if name not in known:
        raise UsageError(f"--config {text}: the server does not report such a setting; it has: {', '.join(known)}")
    if where.startswith(BROKER) and name in OF_THE_CLUSTER:
        raise UsageError(f"--config {text}: the brokers share one value; make the setting at {CLUSTER}, or for a topic")
    kind = BROKER_KEYS[TOPIC_KEYS[name][0] if where.startswith(TOPIC) else name].kind
    if kind is Kind.BOOLEAN and value not in ("true", "false"):
        raise UsageError(f"--config {text}: write true or false")
    if kind in (Kind.INT, Kind.SHORT, Kind.LONG) and not re.fullmatch(r"-?[0-9]{1,19}", value):
        raise UsageError(f"--config {text}: write a whole number")
    if name == "min.insync.replicas" and int(value) < 1:
        raise UsageError(f"--config {text}: write a whole number of at least 1")


def _shown(name: str, value: str) -> str | None:
    return None if BROKER_KEYS[name].kind is Kind.PASSWORD else value


def _keys(has_kraft: bool) -> dict[str, Key]:
    """The settings that brokers of a cluster with KRaft, or with ZooKeeper, have."""
    lacking = ONLY_ZOOKEEPER if has_kraft else ONLY_KRAFT
    return {name: key for name, key in BROKER_KEYS.items() if name not in lacking}
