"""What each release of Kafka has: its versions, its configuration keys, and the defaults that changed.

In:  nothing; read off the configuration definitions of the releases (keys: 0.10.0 to 2.1, old Scala clients included).
Out: facts, for checker/cluster.py. What a key means for replication is not said here.

`replication.factor` is no setting of a running topic: it is given when the topic is created, and stands here with the
topic's settings because that is where a person writes it down. Keys that a later release dropped are still listed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

# Each release with replication, and its last internal version of the inter-broker protocol (none before 0.10).
_LAST_INTERNAL_VERSION: dict[tuple[int, ...], int | None] = {
    (0, 8, 0): None, (0, 8, 1): None, (0, 8, 2): None, (0, 9, 0): None,
    (0, 10, 0): 1, (0, 10, 1): 2, (0, 10, 2): 0, (0, 11, 0): 2,
    (1, 0): 0, (1, 1): 0,
    (2, 0): 1, (2, 1): 2, (2, 2): 1, (2, 3): 1, (2, 4): 1, (2, 5): 0, (2, 6): 0, (2, 7): 2, (2, 8): 1,
    (3, 0): 1, (3, 1): 0, (3, 2): 0, (3, 3): 3, (3, 4): 0, (3, 5): 2, (3, 6): 2, (3, 7): 4, (3, 8): 0, (3, 9): 0,
}  # fmt: skip
_NEWEST_RELEASE = max(_LAST_INTERNAL_VERSION)

# key -> (first release, default), newest first.
_DEFAULTS: dict[str, tuple[tuple[str, str], ...]] = {
    "acks": (("3.0", "all"), ("0.8.0", "1")),
    "min.insync.replicas": (("0.8.0", "1"),),
    "default.replication.factor": (("0.8.0", "1"),),
    "unclean.leader.election.enable": (("0.11.0", "false"), ("0.8.0", "true")),
}


@dataclass(frozen=True)
class Version:
    """A version of Kafka's binaries or of its inter-broker protocol: 0.10.2.1, 0.10.1-IV2, 3.9."""

    text: str = field(compare=False)
    numbers: tuple[int, ...]
    internal: int | None  # the 2 of -IV2

    def __str__(self) -> str:
        return self.text

    @property
    def release(self) -> tuple[int, ...]:
        """What decides about protocol and defaults: the 0.10.2 of 0.10.2.1, the 3.9 of 3.9.1."""
        return self.numbers[: 3 if self.numbers[0] == 0 else 2]

    @property
    def release_name(self) -> str:
        """The release, as people write it."""
        return _name(self.release)

    def is_newer_than(self, other: Version) -> bool:
        """As far as both are told: neither 0.10.2 nor 0.10.2-IV0 is newer than 0.10."""
        told = min(len(self.release), len(other.release))
        if self.release[:told] == other.release[:told] and self.internal is not None and other.internal is not None:
            return self.internal > other.internal
        return self.release[:told] > other.release[:told]

    def has(self, release: str) -> bool:
        """Whether what came with a release is in this version."""
        return not version_of_binaries(release).is_newer_than(self)


def version_of_binaries(text: str) -> Version:
    """Reads a version; ValueError says what is wrong with it. 0.10 stands for any release 0.10.x."""
    form = re.fullmatch(r"(\d{1,4}(?:\.\d{1,4}){1,3})(?:-IV(\d{1,4}))?", text, re.ASCII)
    if form is None:
        raise ValueError(f"{text!r} is not a version of Kafka; write for example 0.10.2, 0.10.1-IV2 or 3.9")
    version = Version(text, tuple(map(int, form[1].split("."))), int(form[2]) if form[2] else None)
    if version.release > _NEWEST_RELEASE:
        return version
    if not _releases_within(version):
        raise ValueError(f"there is no Kafka {text} with replication; write a release, for example 0.10.2 or 3.9")
    last_internal = _LAST_INTERNAL_VERSION.get(version.release)
    if version.internal is not None and (last_internal is None or version.internal > last_internal):
        raise ValueError(f"Kafka has no internal version {text}; write {version.release_name}")
    return version


def version_of_inter_broker_protocol(text: str) -> Version:
    """Reads it as a broker does: what follows the release is dropped, and part of a release is not enough."""
    version = version_of_binaries(text)
    if version.release > _NEWEST_RELEASE:
        return version
    if version.release not in _LAST_INTERNAL_VERSION:
        whole = ", ".join(map(_name, _releases_within(version)))
        raise ValueError(f"Kafka refuses {text!r}, which is only part of a release; write one of {whole}")
    internal = _LAST_INTERNAL_VERSION[version.release] if version.internal is None else version.internal
    return Version(text, version.release, internal)


def _releases_within(version: Version) -> list[tuple[int, ...]]:
    return [release for release in _LAST_INTERNAL_VERSION if release[: len(version.release)] == version.release]


def _name(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))


def default(key: str, version: Version) -> str:
    """What a setting is where nobody sets it."""
    return next(value for release, value in _DEFAULTS[key] if version.has(release))


class Role(Enum):
    """Who reads a configuration."""

    BROKER = "broker"
    TOPIC = "topic"
    PRODUCER = "producer"
    CONSUMER = "consumer"


# Shared by brokers, producers and consumers, and by the two kinds of clients.
_SSL_AND_KERBEROS = """
    sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.service.name
    sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
    ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.key.password
    ssl.keymanager.algorithm ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider
    ssl.trustmanager.algorithm ssl.truststore.location ssl.truststore.password ssl.truststore.type
"""
_CLIENT = f"""
    bootstrap.servers client.id connections.max.idle.ms interceptor.classes metadata.max.age.ms metric.reporters
    metrics.num.samples metrics.sample.window.ms receive.buffer.bytes reconnect.backoff.ms request.timeout.ms
    retry.backoff.ms sasl.mechanism security.protocol send.buffer.bytes {_SSL_AND_KERBEROS}
"""
_SASL_LOGIN = """
    sasl.client.callback.handler.class sasl.login.callback.handler.class sasl.login.class
    sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
    sasl.login.refresh.window.jitter
"""

# Release by release, oldest first, the keys that are new in it; the first row has all that are older too.
_NEW_KEYS: dict[str, dict[Role, str]] = {
    "0.10.0": {
        Role.BROKER: f"""
            advertised.host.name advertised.listeners advertised.port authorizer.class.name auto.create.topics.enable
            auto.leader.rebalance.enable background.threads broker.id broker.id.generation.enable broker.rack
            compression.type connections.max.idle.ms controlled.shutdown.enable controlled.shutdown.max.retries
            controlled.shutdown.retry.backoff.ms controller.socket.timeout.ms default.replication.factor
            delete.topic.enable fetch.purgatory.purge.interval.requests group.max.session.timeout.ms
            group.min.session.timeout.ms host.name inter.broker.protocol.version kafka.metrics.polling.interval.secs
            kafka.metrics.reporters leader.imbalance.check.interval.seconds leader.imbalance.per.broker.percentage
            listeners log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size log.cleaner.delete.retention.ms
            log.cleaner.enable log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size
            log.cleaner.io.max.bytes.per.second log.cleaner.min.cleanable.ratio log.cleaner.threads log.cleanup.policy
            log.dir log.dirs log.flush.interval.messages log.flush.interval.ms log.flush.offset.checkpoint.interval.ms
            log.flush.scheduler.interval.ms log.index.interval.bytes log.index.size.max.bytes
            log.message.format.version log.message.timestamp.difference.max.ms log.message.timestamp.type
            log.preallocate log.retention.bytes log.retention.check.interval.ms log.retention.hours
            log.retention.minutes log.retention.ms log.roll.hours log.roll.jitter.hours log.roll.jitter.ms log.roll.ms
            log.segment.bytes log.segment.delete.delay.ms max.connections.per.ip max.connections.per.ip.overrides
            message.max.bytes metric.reporters metrics.num.samples metrics.sample.window.ms min.insync.replicas
            num.io.threads num.network.threads num.partitions num.recovery.threads.per.data.dir num.replica.fetchers
            offset.metadata.max.bytes offsets.commit.required.acks offsets.commit.timeout.ms offsets.load.buffer.size
            offsets.retention.check.interval.ms offsets.retention.minutes offsets.topic.compression.codec
            offsets.topic.num.partitions offsets.topic.replication.factor offsets.topic.segment.bytes port
            principal.builder.class producer.purgatory.purge.interval.requests queued.max.requests
            quota.consumer.default quota.producer.default quota.window.num quota.window.size.seconds
            replica.fetch.backoff.ms replica.fetch.max.bytes replica.fetch.min.bytes replica.fetch.wait.max.ms
            replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms replica.socket.receive.buffer.bytes
            replica.socket.timeout.ms request.timeout.ms reserved.broker.max.id sasl.enabled.mechanisms
            sasl.kerberos.principal.to.local.rules sasl.mechanism.inter.broker.protocol
            security.inter.broker.protocol socket.receive.buffer.bytes socket.request.max.bytes
            socket.send.buffer.bytes ssl.client.auth unclean.leader.election.enable zookeeper.connect
            zookeeper.connection.timeout.ms zookeeper.session.timeout.ms zookeeper.set.acl zookeeper.sync.time.ms
            {_SSL_AND_KERBEROS}
        """,
        Role.TOPIC: """
            cleanup.policy compression.type delete.retention.ms file.delete.delay.ms flush.messages flush.ms
            index.interval.bytes max.message.bytes message.format.version message.timestamp.difference.max.ms
            message.timestamp.type min.cleanable.dirty.ratio min.insync.replicas preallocate replication.factor
            retention.bytes retention.ms segment.bytes segment.index.bytes segment.jitter.ms segment.ms
            unclean.leader.election.enable
        """,
        Role.PRODUCER: f"""
            acks batch.num.messages batch.size block.on.buffer.full buffer.memory compressed.topics compression.codec
            compression.type key.serializer key.serializer.class linger.ms max.block.ms
            max.in.flight.requests.per.connection max.request.size message.send.max.retries metadata.broker.list
            metadata.fetch.timeout.ms partitioner.class producer.type queue.buffering.max.messages
            queue.buffering.max.ms queue.enqueue.timeout.ms request.required.acks retries serializer.class
            serializer.encoding timeout.ms topic.metadata.refresh.interval.ms value.serializer {_CLIENT}
        """,
        Role.CONSUMER: f"""
            auto.commit.enable auto.commit.interval.ms auto.offset.reset check.crcs consumer.id consumer.timeout.ms
            dual.commit.enabled enable.auto.commit exclude.internal.topics fetch.max.wait.ms fetch.message.max.bytes
            fetch.min.bytes fetch.wait.max.ms group.id heartbeat.interval.ms key.deserializer
            max.partition.fetch.bytes max.poll.records num.consumer.fetchers offsets.channel.backoff.ms
            offsets.channel.socket.timeout.ms offsets.commit.max.retries offsets.storage
            partition.assignment.strategy queued.max.message.chunks rebalance.backoff.ms rebalance.max.retries
            refresh.leader.backoff.ms session.timeout.ms socket.receive.buffer.bytes socket.timeout.ms
            value.deserializer zookeeper.connect zookeeper.connection.timeout.ms zookeeper.session.timeout.ms
            zookeeper.sync.time.ms {_CLIENT}
        """,
    },
    "0.10.1": {
        Role.BROKER: """
            log.cleaner.min.compaction.lag.ms replica.fetch.response.max.bytes replication.quota.window.num
            replication.quota.window.size.seconds ssl.secure.random.implementation
        """,
        Role.TOPIC: """
            follower.replication.throttled.replicas leader.replication.throttled.replicas min.compaction.lag.ms
        """,
        Role.PRODUCER: "ssl.secure.random.implementation",
        Role.CONSUMER: "fetch.max.bytes max.poll.interval.ms ssl.secure.random.implementation",
    },
    "0.10.2": {
        Role.BROKER: """
            create.topic.policy.class.name inter.broker.listener.name listener.security.protocol.map
            metrics.recording.level
        """,
        Role.PRODUCER: "sasl.jaas.config",
        Role.CONSUMER: "internal.leave.group.on.close metrics.recording.level sasl.jaas.config",
    },
    "0.11.0": {
        Role.BROKER: """
            alter.config.policy.class.name delete.records.purgatory.purge.interval.requests
            group.initial.rebalance.delay.ms log.flush.start.offset.checkpoint.interval.ms
            transaction.abort.timed.out.transaction.cleanup.interval.ms transaction.max.timeout.ms
            transaction.remove.expired.transaction.cleanup.interval.ms transaction.state.log.load.buffer.size
            transaction.state.log.min.isr transaction.state.log.num.partitions
            transaction.state.log.replication.factor transaction.state.log.segment.bytes
            transactional.id.expiration.ms
        """,
        Role.PRODUCER: """
            enable.idempotence metrics.recording.level reconnect.backoff.max.ms transaction.timeout.ms transactional.id
        """,
        Role.CONSUMER: "isolation.level reconnect.backoff.max.ms",
    },
    "1.0": {Role.BROKER: "queued.max.request.bytes"},
    "1.1": {
        Role.BROKER: """
            alter.log.dirs.replication.quota.window.num alter.log.dirs.replication.quota.window.size.seconds
            delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms delegation.token.master.key
            delegation.token.max.lifetime.ms num.replica.alter.log.dirs.threads password.encoder.cipher.algorithm
            password.encoder.iterations password.encoder.key.length password.encoder.keyfactory.algorithm
            password.encoder.old.secret password.encoder.secret sasl.jaas.config zookeeper.max.in.flight.requests
        """,
    },
    "2.0": {
        Role.BROKER: f"""
            client.quota.callback.class log.message.downconversion.enable sasl.server.callback.handler.class
            {_SASL_LOGIN}
        """,
        Role.TOPIC: "message.downconversion.enable",
        Role.PRODUCER: _SASL_LOGIN,
        Role.CONSUMER: f"default.api.timeout.ms {_SASL_LOGIN}",
    },
    "2.1": {
        Role.BROKER: "connection.failed.authentication.delay.ms",
        Role.PRODUCER: "client.dns.lookup delivery.timeout.ms",
        Role.CONSUMER: "client.dns.lookup",
    },
}

NEWEST_LISTED_RELEASE = list(_NEW_KEYS)[-1]

_FIRST_RELEASE: dict[Role, dict[str, str]] = {
    role: {key: release for release, new in _NEW_KEYS.items() for key in new.get(role, "").split()} for role in Role
}

# Every broker, and every client, has its own: two files of one role rightly differ in these.
OF_ONE_MEMBER = frozenset(
    {
        "advertised.host.name",
        "advertised.listeners",
        "advertised.port",
        "broker.id",
        "broker.rack",
        "client.id",
        "consumer.id",
        "group.id",
        "host.name",
        "listeners",
        "log.dir",
        "log.dirs",
        "port",
        "ssl.key.password",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "transactional.id",
    }
)


def keys_of(role: Role) -> frozenset[str]:
    """Every key that a role has, in any release listed here."""
    return frozenset(_FIRST_RELEASE[role])


def first_release(role: Role, key: str) -> str | None:
    """The first release in which a role has a key; None if it has no such key."""
    if role is Role.BROKER and key.startswith("listener.name."):
        return "0.11.0"  # one listener's own value of some other key
    return _FIRST_RELEASE[role].get(key)


def roles_that_know(key: str) -> frozenset[Role]:
    """Whose configuration has this key."""
    return frozenset(role for role in Role if first_release(role, key))
