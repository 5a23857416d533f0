"""Kafka's releases: their versions, configuration keys and defaults.

There are versions of the binaries, of the inter-broker protocol (ZooKeeper) and of the metadata (KRaft). The tables of
keys follow the configuration definitions of Kafka 0.10.0 to 3.9, with the old Scala clients.

`replication.factor` is a parameter of topic creation, not a topic setting. It is listed with the topic settings because
users write it there. Keys that a later release removed are still listed. `metadata.version`,
`eligible.leader.replicas.version` and `transaction.version` are features of a KRaft cluster (kafka-features); they are
listed with the broker settings, for the same reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache

# Each release with replication, with its last internal version (None before 0.10): of the inter-broker protocol, or of
# metadata.version, which has the same numbers up to 3.9 and is alone since 4.0.
_LAST_INTERNAL_VERSION: dict[tuple[int, ...], int | None] = {
    (0, 8, 0): None, (0, 8, 1): None, (0, 8, 2): None, (0, 9, 0): None,
    (0, 10, 0): 1, (0, 10, 1): 2, (0, 10, 2): 0, (0, 11, 0): 2,
    (1, 0): 0, (1, 1): 0,
    (2, 0): 1, (2, 1): 2, (2, 2): 1, (2, 3): 1, (2, 4): 1, (2, 5): 0, (2, 6): 0, (2, 7): 2, (2, 8): 1,
    (3, 0): 1, (3, 1): 0, (3, 2): 0, (3, 3): 3, (3, 4): 0, (3, 5): 2, (3, 6): 2, (3, 7): 4, (3, 8): 0, (3, 9): 0,
    (4, 0): 3, (4, 1): 1, (4, 2): 1, (4, 3): 0, (4, 4): 2, (4, 5): 0,
}  # fmt: skip
_OLDEST_RELEASE, _NEWEST_RELEASE = min(_LAST_INTERNAL_VERSION), max(_LAST_INTERNAL_VERSION)
NEWEST_RELEASE, UNRELEASED = "4.4", "4.5"
"""The newest release, and the next one, according to its source in August 2026. Its metadata.version, 4.5-IV0, was not
yet for production then: its tools show 4.4-IV2 as the newest version."""

LAST_WITH_ZOOKEEPER = "3.9"
"""The last release whose brokers can use ZooKeeper; the inter-broker protocol has no version after it."""

FIRST_METADATA_VERSION = "3.0-IV1"
"""The oldest metadata.version of a KRaft cluster."""

_CHANGED_METADATA = """
    3.0-IV1 3.2-IV0 3.3-IV1 3.3-IV2 3.3-IV3 3.4-IV0 3.5-IV2 3.6-IV1 3.6-IV2 3.7-IV0 3.7-IV2 4.0-IV1 4.3-IV0 4.4-IV1
    4.4-IV2
"""
CHANGED_METADATA = _CHANGED_METADATA.split()
"""The metadata versions that changed the records of the metadata (MetadataVersion.didMetadataChange), oldest first.
Controllers refuse to lower metadata.version below any of them, also as an unsafe downgrade (FeatureControlManager)."""

_CONFLUENT_PLATFORM = {
    "3.0": "0.10.0", "3.1": "0.10.1", "3.2": "0.10.2", "3.3": "0.11.0", "4.0": "1.0", "4.1": "1.1",
    **{f"5.{minor}": f"2.{minor}" for minor in range(6)},
    **{f"6.{minor}": f"2.{minor + 6}" for minor in range(3)},
    **{f"7.{minor}": f"3.{minor}" for minor in range(10)},
    **{f"8.{minor}": f"4.{minor}" for minor in range(5)},
}  # fmt: skip
"""The release of Kafka in each release of the Confluent Platform, by its page on interoperability, and since 6.0 by the
branches of confluentinc/kafka. The numbers of the platform up to 4.1 are also numbers of Kafka."""


def release_of_confluent(version: str) -> str:
    """Return the release of Kafka in a release of the Confluent Platform (7.6.1 has 3.6); empty if it is not known."""
    return _CONFLUENT_PLATFORM.get(".".join(version.split(".")[:2]), "")


def releases() -> list[str]:
    """Every Kafka release with replication (0.8.0 and later), oldest first."""
    return [_name(numbers) for numbers in _LAST_INTERNAL_VERSION]


@dataclass(frozen=True)
class Version:
    """A version of Kafka's binaries or of its inter-broker protocol, such as 0.10.2.1, 0.10.1-IV2 or 3.9."""

    text: str = field(compare=False)
    numbers: tuple[int, ...]
    internal: int | None  # the 2 of -IV2

    def __str__(self) -> str:
        return self.text

    @property
    def release(self) -> tuple[int, ...]:
        """The version without its patch number: (0, 10, 2) for 0.10.2.1, (3, 9) for 3.9.1."""
        return self.numbers[: 3 if self.numbers[0] == 0 else 2]

    @property
    def release_name(self) -> str:
        """The release as text."""
        return _name(self.release)

    @property
    def patch(self) -> int | None:
        """The patch number, such as 1 for 2.0.1; None if the version has none."""
        return self.numbers[len(self.release)] if len(self.numbers) > len(self.release) else None

    def is_newer_than(self, other: Version) -> bool:
        """Whether this version is newer, by the leading numbers that both have: 0.10.2 is not newer than 0.10."""
        length = min(len(self.release), len(other.release))
        if self.release[:length] == other.release[:length] and self.internal is not None and other.internal is not None:
            return self.internal > other.internal
        return self.release[:length] > other.release[:length]

    def has(self, release: str) -> bool:
        """Whether this version is not older than `release`, such as 2.0 or the internal version 2.0-IV0."""
        return not version_of_binaries(release).is_newer_than(self)

    def has_patch(self, patch: str) -> bool:
        """Whether this version is at least a patch such as 2.0.1; a missing patch number counts as 0."""
        other = version_of_binaries(patch)
        return (self.release, self.patch or 0) >= (other.release, other.patch or 0)

    def has_repair(self, repaired: Sequence[str]) -> bool:
        """Whether this version has a repair. `repaired` has the first release with the repair in each branch, oldest
        first. Later patches of these branches have the repair too, and so does every release after the last one."""
        last = repaired[-1] if repaired else None
        return any(
            (first == last or version_of_binaries(first).release == self.release) and self.has_patch(first)
            for first in repaired
        )

    def is_affected(self, since: str, repaired: Sequence[str]) -> bool:
        """Whether a failure affects this version: it is at least `since` (if given) and has no repair by `repaired`."""
        return (not since or self.has_patch(since)) and not self.has_repair(repaired)


@cache
def version_of_binaries(text: str) -> Version:
    """Parse a version; 0.10 means any release 0.10.x. Raises ValueError with the reason and the cure."""
    form = re.fullmatch(r"(\d{1,4}(?:\.\d{1,4}){1,3})(?:-IV(\d{1,4}))?", text, re.ASCII)
    if form is None:
        raise ValueError(f"{text!r} is not a version of Kafka; write for example 0.10.2, 0.10.1-IV2 or 3.9")
    version = Version(text, tuple(map(int, form[1].split("."))), int(form[2]) if form[2] else None)
    if version.numbers[0] > _NEWEST_RELEASE[0]:
        raise ValueError(_why_no_release(version))
    if version.numbers[0] and len(version.numbers) > 3:
        shorter = _name(version.numbers[:3])
        raise ValueError(f"Kafka {text} does not exist: since 1.0 a release has three numbers; write {shorter}")
    if version.release > _NEWEST_RELEASE:
        return version
    if not _releases_within(version):
        older = (release for release in _LAST_INTERNAL_VERSION if release < version.release)
        nearest = max(older, default=_OLDEST_RELEASE)
        raise ValueError(
            f"Kafka {text} does not exist or has no replication; write another release, for example {_name(nearest)}"
        )
    last_internal = _LAST_INTERNAL_VERSION.get(version.release)
    if version.internal is not None and (last_internal is None or version.internal > last_internal):
        raise ValueError(f"Kafka has no internal version {text}; write {version.release_name}")
    return version


def version_of_inter_broker_protocol(text: str) -> Version:
    """Parse inter.broker.protocol.version as a broker does. Raises ValueError with the reason and the cure. The text
    must name a whole release (0.10.2, not 0.10); a patch number is ignored."""
    version = _complete(text)
    last = version_of_binaries(LAST_WITH_ZOOKEEPER)
    if version.is_newer_than(last):
        raise ValueError(f"{text} is no version of the inter-broker protocol; the last one is {last}: write {last}")
    return version


def version_of_metadata(text: str) -> Version:
    """Parse metadata.version as kafka-features does. Raises ValueError with the reason and the cure."""
    if re.match(r"\d+\.", text, re.ASCII) is None:
        raise ValueError(f"{text!r} is no metadata.version; write for example 3.7-IV4 or 3.9")
    version = _complete(text)
    if not version.has(FIRST_METADATA_VERSION):
        raise ValueError(
            f"there is no metadata.version {text}; the first one is {FIRST_METADATA_VERSION}, of Kafka 3.0 with KRaft"
        )
    return version


def metadata_version_of(level: int) -> str | None:
    """Return the version with a feature level of metadata.version, such as 4.1-IV0 for 26; None if no version has this
    level. The levels count all versions since 3.0-IV1, which has level 1 (MetadataVersion)."""
    first = (3, 0)
    texts = [
        f"{_name(numbers)}-IV{internal}"
        for numbers, last in _LAST_INTERNAL_VERSION.items()
        if numbers >= first
        for internal in range(1 if numbers == first else 0, (last or 0) + 1)
    ]
    return texts[level - 1] if 1 <= level <= len(texts) else None


def _complete(text: str) -> Version:
    """Parse a version that names a whole release (0.10.2, not 0.10); without -IV, use its last internal version."""
    version = version_of_binaries(text)
    if version.release > _NEWEST_RELEASE:
        return version
    if version.release not in _LAST_INTERNAL_VERSION:
        whole = ", ".join(map(_name, _releases_within(version)))
        raise ValueError(f"Kafka refuses {text!r}, which is incomplete; write one of {whole}")
    internal = _LAST_INTERNAL_VERSION[version.release] if version.internal is None else version.internal
    return Version(text, version.release, internal)


def _why_no_release(version: Version) -> str:
    """Return the message for a version above all Kafka releases; for Confluent Platform, it names the Kafka release."""
    if kafka := release_of_confluent(version.text):
        platform = version.release_name
        return f"{version} is no release of Kafka; Confluent Platform {platform} contains Kafka {kafka}: write {kafka}"
    return (
        f"{version} is no release of Kafka, whose newest release here is {NEWEST_RELEASE}; "
        "write the release of Kafka that the distribution contains"
    )


def _releases_within(version: Version) -> list[tuple[int, ...]]:
    return [release for release in _LAST_INTERNAL_VERSION if release[: len(version.release)] == version.release]


def _name(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))


# --- Keys and defaults ------------------------------------------------------------------------------------------------

# key -> (first release, default), newest first.
_DEFAULTS: dict[str, tuple[tuple[str, str], ...]] = {
    "acks": (("3.0", "all"), ("0.8.0", "1")),
    "min.insync.replicas": (("0.8.0", "1"),),
    "default.replication.factor": (("0.8.0", "1"),),
    "unclean.leader.election.enable": (("0.11.0", "false"), ("0.8.0", "true")),
    "auto.leader.rebalance.enable": (("0.8.0", "true"),),
    "retries": (("2.1", "2147483647"), ("0.8.0", "0")),
    "max.in.flight.requests.per.connection": (("0.8.0", "5"),),
    "enable.idempotence": (("3.0", "true"), ("0.8.0", "false")),
    "isolation.level": (("0.8.0", "read_uncommitted"),),
    "auto.offset.reset": (("0.8.0", "latest"),),
    "transaction.timeout.ms": (("0.8.0", "60000"),),
    "transaction.max.timeout.ms": (("0.8.0", "900000"),),
    "transaction.state.log.min.isr": (("0.8.0", "2"),),
    "transaction.state.log.replication.factor": (("0.8.0", "3"),),
    "transaction.partition.verification.enable": (("0.8.0", "true"),),
    "delivery.timeout.ms": (("0.8.0", "120000"),),
    "linger.ms": (("4.0", "5"), ("0.8.0", "0")),
    "request.timeout.ms": (("0.8.0", "30000"),),
}
"""The defaults by key and first release. A release without a key behaves as if the key had the listed default."""


def default(key: str, version: Version) -> str:
    """Return the default of a key in a version of Kafka."""
    return next(value for release, value in _DEFAULTS[key] if version.has(release))


class Role(Enum):
    """What a setting configures: a broker, a topic, a producer or a consumer."""

    BROKER = "broker"
    TOPIC = "topic"
    PRODUCER = "producer"
    CONSUMER = "consumer"


# The new keys of each release and its roles, oldest first; the first release includes all older keys.
_NEW_KEYS = """
0.10.0 broker,topic,producer: compression.type
0.10.0 broker,producer,consumer: connections.max.idle.ms metric.reporters metrics.num.samples metrics.sample.window.ms
    request.timeout.ms sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.service.name
    sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor ssl.cipher.suites ssl.enabled.protocols
    ssl.endpoint.identification.algorithm ssl.key.password ssl.keymanager.algorithm ssl.keystore.location
    ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider ssl.trustmanager.algorithm ssl.truststore.location
    ssl.truststore.password ssl.truststore.type
0.10.0 broker,topic: min.insync.replicas unclean.leader.election.enable
0.10.0 broker,consumer: socket.receive.buffer.bytes zookeeper.connect zookeeper.connection.timeout.ms
    zookeeper.session.timeout.ms zookeeper.sync.time.ms
0.10.0 producer,consumer: bootstrap.servers client.id interceptor.classes metadata.max.age.ms receive.buffer.bytes
    reconnect.backoff.ms retry.backoff.ms sasl.mechanism security.protocol send.buffer.bytes
0.10.0 broker: advertised.host.name advertised.listeners advertised.port authorizer.class.name auto.create.topics.enable
    auto.leader.rebalance.enable background.threads broker.id broker.id.generation.enable broker.rack
    controlled.shutdown.enable controlled.shutdown.max.retries controlled.shutdown.retry.backoff.ms
    controller.socket.timeout.ms default.replication.factor delete.topic.enable fetch.purgatory.purge.interval.requests
    group.max.session.timeout.ms group.min.session.timeout.ms host.name inter.broker.protocol.version
    kafka.metrics.polling.interval.secs kafka.metrics.reporters leader.imbalance.check.interval.seconds
    leader.imbalance.per.broker.percentage listeners log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size
    log.cleaner.delete.retention.ms log.cleaner.enable log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size
    log.cleaner.io.max.bytes.per.second log.cleaner.min.cleanable.ratio log.cleaner.threads log.cleanup.policy log.dir
    log.dirs log.flush.interval.messages log.flush.interval.ms log.flush.offset.checkpoint.interval.ms
    log.flush.scheduler.interval.ms log.index.interval.bytes log.index.size.max.bytes log.message.format.version
    log.message.timestamp.difference.max.ms log.message.timestamp.type log.preallocate log.retention.bytes
    log.retention.check.interval.ms log.retention.hours log.retention.minutes log.retention.ms log.roll.hours
    log.roll.jitter.hours log.roll.jitter.ms log.roll.ms log.segment.bytes log.segment.delete.delay.ms
    max.connections.per.ip max.connections.per.ip.overrides message.max.bytes num.io.threads num.network.threads
    num.partitions num.recovery.threads.per.data.dir num.replica.fetchers offset.metadata.max.bytes
    offsets.commit.required.acks offsets.commit.timeout.ms offsets.load.buffer.size offsets.retention.check.interval.ms
    offsets.retention.minutes offsets.topic.compression.codec offsets.topic.num.partitions
    offsets.topic.replication.factor offsets.topic.segment.bytes port principal.builder.class
    producer.purgatory.purge.interval.requests queued.max.requests quota.consumer.default quota.producer.default
    quota.window.num quota.window.size.seconds replica.fetch.backoff.ms replica.fetch.max.bytes replica.fetch.min.bytes
    replica.fetch.wait.max.ms replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms
    replica.socket.receive.buffer.bytes replica.socket.timeout.ms reserved.broker.max.id sasl.enabled.mechanisms
    sasl.kerberos.principal.to.local.rules sasl.mechanism.inter.broker.protocol security.inter.broker.protocol
    socket.request.max.bytes socket.send.buffer.bytes ssl.client.auth zookeeper.set.acl
0.10.0 topic: cleanup.policy delete.retention.ms file.delete.delay.ms flush.messages flush.ms index.interval.bytes
    max.message.bytes message.format.version message.timestamp.difference.max.ms message.timestamp.type
    min.cleanable.dirty.ratio preallocate replication.factor retention.bytes retention.ms segment.bytes
    segment.index.bytes segment.jitter.ms segment.ms
0.10.0 producer: acks batch.num.messages batch.size block.on.buffer.full buffer.memory compressed.topics
    compression.codec key.serializer key.serializer.class linger.ms max.block.ms max.in.flight.requests.per.connection
    max.request.size message.send.max.retries metadata.broker.list metadata.fetch.timeout.ms partitioner.class
    producer.type queue.buffering.max.messages queue.buffering.max.ms queue.enqueue.timeout.ms request.required.acks
    retries serializer.class serializer.encoding timeout.ms topic.metadata.refresh.interval.ms value.serializer
0.10.0 consumer: auto.commit.enable auto.commit.interval.ms auto.offset.reset check.crcs consumer.id consumer.timeout.ms
    dual.commit.enabled enable.auto.commit exclude.internal.topics fetch.max.wait.ms fetch.message.max.bytes
    fetch.min.bytes fetch.wait.max.ms group.id heartbeat.interval.ms key.deserializer max.partition.fetch.bytes
    max.poll.records num.consumer.fetchers offsets.channel.backoff.ms offsets.channel.socket.timeout.ms
    offsets.commit.max.retries offsets.storage partition.assignment.strategy queued.max.message.chunks
    rebalance.backoff.ms rebalance.max.retries refresh.leader.backoff.ms session.timeout.ms socket.timeout.ms
    value.deserializer
0.10.1 broker,producer,consumer: ssl.secure.random.implementation
0.10.1 broker: follower.replication.throttled.rate leader.replication.throttled.rate log.cleaner.min.compaction.lag.ms
    replica.fetch.response.max.bytes replication.quota.window.num replication.quota.window.size.seconds
0.10.1 topic: follower.replication.throttled.replicas leader.replication.throttled.replicas min.compaction.lag.ms
0.10.1 consumer: fetch.max.bytes max.poll.interval.ms
0.10.2 broker,consumer: metrics.recording.level
0.10.2 producer,consumer: sasl.jaas.config
0.10.2 broker: create.topic.policy.class.name inter.broker.listener.name listener.security.protocol.map
0.10.2 consumer: internal.leave.group.on.close
0.11.0 producer,consumer: reconnect.backoff.max.ms
0.11.0 broker: alter.config.policy.class.name delete.records.purgatory.purge.interval.requests
    group.initial.rebalance.delay.ms log.flush.start.offset.checkpoint.interval.ms
    transaction.abort.timed.out.transaction.cleanup.interval.ms transaction.max.timeout.ms
    transaction.remove.expired.transaction.cleanup.interval.ms transaction.state.log.load.buffer.size
    transaction.state.log.min.isr transaction.state.log.num.partitions transaction.state.log.replication.factor
    transaction.state.log.segment.bytes transactional.id.expiration.ms
0.11.0 producer: enable.idempotence metrics.recording.level transaction.timeout.ms transactional.id
0.11.0 consumer: isolation.level
1.0 broker: queued.max.request.bytes
1.1 broker: alter.log.dirs.replication.quota.window.num alter.log.dirs.replication.quota.window.size.seconds
    delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms delegation.token.master.key
    delegation.token.max.lifetime.ms max.incremental.fetch.session.cache.slots num.replica.alter.log.dirs.threads
    password.encoder.cipher.algorithm password.encoder.iterations password.encoder.key.length
    password.encoder.keyfactory.algorithm password.encoder.old.secret password.encoder.secret
    replica.alter.log.dirs.io.max.bytes.per.second sasl.jaas.config zookeeper.max.in.flight.requests
2.0 broker,producer,consumer: sasl.client.callback.handler.class sasl.login.callback.handler.class sasl.login.class
    sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
    sasl.login.refresh.window.jitter
2.0 broker: client.quota.callback.class log.message.downconversion.enable sasl.server.callback.handler.class
2.0 topic: message.downconversion.enable
2.0 consumer: default.api.timeout.ms
2.1 producer,consumer: client.dns.lookup
2.1 broker: connection.failed.authentication.delay.ms
2.1 producer: delivery.timeout.ms
2.2 broker: connections.max.reauth.ms control.plane.listener.name group.max.size ssl.principal.mapping.rules
2.3 broker: log.cleaner.max.compaction.lag.ms max.connections
2.3 topic: max.compaction.lag.ms
2.3 consumer: allow.auto.create.topics client.rack group.instance.id
2.4 broker,producer,consumer: security.providers
2.4 broker: replica.selector.class
2.5 broker: fetch.max.bytes zookeeper.clientCnxnSocket zookeeper.ssl.cipher.suites zookeeper.ssl.client.enable
    zookeeper.ssl.crl.enable zookeeper.ssl.enabled.protocols zookeeper.ssl.endpoint.identification.algorithm
    zookeeper.ssl.keystore.location zookeeper.ssl.keystore.password zookeeper.ssl.keystore.type
    zookeeper.ssl.ocsp.enable zookeeper.ssl.protocol zookeeper.ssl.truststore.location zookeeper.ssl.truststore.password
    zookeeper.ssl.truststore.type
2.5 producer: metadata.max.idle.ms
2.6 broker,producer,consumer: ssl.engine.factory.class
2.6 producer: internal.auto.downgrade.txn.commit
2.6 consumer: internal.throw.on.fetch.stable.offset.unsupported
2.7 broker,producer,consumer: socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
    ssl.keystore.certificate.chain ssl.keystore.key ssl.truststore.certificates
2.7 broker: controller.quota.window.num controller.quota.window.size.seconds max.connection.creation.rate
    quorum.election.backoff.max.ms quorum.election.timeout.ms quorum.fetch.timeout.ms quorum.request.timeout.ms
    quorum.retry.backoff.ms quorum.voters
2.8 broker: broker.heartbeat.interval.ms broker.session.timeout.ms controller.listener.names
    controller.quorum.append.linger.ms controller.quorum.election.backoff.max.ms controller.quorum.election.timeout.ms
    controller.quorum.fetch.timeout.ms controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms
    controller.quorum.voters delegation.token.secret.key initial.broker.registration.timeout.ms metadata.log.dir node.id
    process.roles sasl.mechanism.controller.protocol
3.0 broker: metadata.log.max.record.bytes.between.snapshots metadata.log.segment.bytes metadata.log.segment.min.bytes
    metadata.log.segment.ms metadata.max.retention.bytes metadata.max.retention.ms
    remote.log.index.file.cache.total.size.bytes remote.log.manager.task.interval.ms
    remote.log.manager.task.retry.backoff.max.ms remote.log.manager.task.retry.backoff.ms
    remote.log.manager.task.retry.jitter remote.log.manager.thread.pool.size remote.log.metadata.manager.class.name
    remote.log.metadata.manager.class.path remote.log.metadata.manager.impl.prefix
    remote.log.metadata.manager.listener.name remote.log.reader.max.pending.tasks remote.log.reader.threads
    remote.log.storage.manager.class.name remote.log.storage.manager.class.path remote.log.storage.manager.impl.prefix
    remote.log.storage.system.enable
3.0 topic: local.retention.bytes local.retention.ms remote.storage.enable
3.1 broker,producer,consumer: sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.retry.backoff.max.ms
    sasl.login.retry.backoff.ms sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
    sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.refresh.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
    sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
    sasl.oauthbearer.token.endpoint.url
3.2 broker: socket.listen.backlog.size
3.3 broker: early.start.listeners metadata.max.idle.interval.ms sasl.server.max.receive.size
3.3 producer: partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.ignore.keys
3.4 broker,producer,consumer: auto.include.jmx.reporter
3.4 broker: metadata.log.max.snapshot.interval.ms producer.id.expiration.check.interval.ms producer.id.expiration.ms
    zookeeper.metadata.migration.enable
3.5 broker: group.consumer.assignors group.consumer.heartbeat.interval.ms group.consumer.max.heartbeat.interval.ms
    group.consumer.max.session.timeout.ms group.consumer.max.size group.consumer.min.heartbeat.interval.ms
    group.consumer.min.session.timeout.ms group.consumer.session.timeout.ms group.coordinator.new.enable
    group.coordinator.threads server.max.startup.time.ms unstable.api.versions.enable
3.6 broker: log.local.retention.bytes log.local.retention.ms log.message.timestamp.after.max.ms
    log.message.timestamp.before.max.ms remote.log.metadata.custom.metadata.max.bytes
    transaction.partition.verification.enable
3.6 topic: message.timestamp.after.max.ms message.timestamp.before.max.ms
3.7 producer,consumer: enable.metrics.push retry.backoff.max.ms
3.7 broker: eligible.leader.replicas.enable group.coordinator.rebalance.protocols ssl.allow.dn.changes
    ssl.allow.san.changes telemetry.max.bytes unstable.metadata.versions.enable
    zookeeper.metadata.migration.min.batch.size
3.7 consumer: group.protocol group.remote.assignor
3.8 broker,topic,producer: compression.gzip.level compression.lz4.level compression.zstd.level
3.8 producer,consumer: metadata.recovery.strategy
3.8 broker: controller.quorum.bootstrap.servers group.consumer.migration.policy group.coordinator.append.linger.ms
    log.dir.failure.timeout.ms log.initial.task.delay.ms max.request.partition.size.limit remote.fetch.max.wait.ms
    remote.log.manager.copier.thread.pool.size remote.log.manager.copy.max.bytes.per.second
    remote.log.manager.copy.quota.window.num remote.log.manager.copy.quota.window.size.seconds
    remote.log.manager.expiration.thread.pool.size remote.log.manager.fetch.max.bytes.per.second
    remote.log.manager.fetch.quota.window.num remote.log.manager.fetch.quota.window.size.seconds
    unstable.feature.versions.enable
3.9 broker,producer,consumer: sasl.oauthbearer.header.urlencode
3.9 broker: group.share.delivery.count.limit group.share.enable group.share.heartbeat.interval.ms group.share.max.groups
    group.share.max.heartbeat.interval.ms group.share.max.record.lock.duration.ms group.share.max.session.timeout.ms
    group.share.max.size group.share.min.heartbeat.interval.ms group.share.min.record.lock.duration.ms
    group.share.min.session.timeout.ms group.share.partition.max.record.locks group.share.record.lock.duration.ms
    group.share.session.timeout.ms unclean.leader.election.interval.ms
3.9 topic: remote.log.copy.disable remote.log.delete.on.disable
"""


def _read_new_keys() -> dict[Role, dict[str, str]]:
    """Return, for each role, its keys, each with the first release that has it."""
    first: dict[Role, dict[str, str]] = {role: {} for role in Role}
    for line in re.sub(r"\n +", " ", _NEW_KEYS).strip().splitlines():
        about, _, keys = line.partition(": ")
        release, _, roles = about.partition(" ")
        for role in roles.split(","):
            first[Role(role)] |= dict.fromkeys(keys.split(), release)
    return first


FEATURES = {"metadata.version": "3.0", "eligible.leader.replicas.version": "4.0", "transaction.version": "4.0"}
"""The features of a KRaft cluster that matter for replication, each with its first release."""

OLDEST_LISTED_RELEASE, NEWEST_LISTED_RELEASE = "0.10.0", "3.9"

_FIRST_RELEASE = _read_new_keys()
_FIRST_RELEASE[Role.BROKER] |= FEATURES

_OF_ONE_MEMBER = """
        advertised.host.name advertised.listeners advertised.port broker.id broker.rack client.id client.rack
        consumer.id group.id host.name listeners log.dir log.dirs metadata.log.dir node.id port process.roles
        ssl.key.password ssl.keystore.location ssl.keystore.password transactional.id
"""
OF_ONE_MEMBER = frozenset(_OF_ONE_MEMBER.split())
"""Keys with a value of its own for each broker or client: two files of one role may differ in them."""


def keys_of(role: Role) -> frozenset[str]:
    """Return every key of a role, in any of the listed releases."""
    return frozenset(_FIRST_RELEASE[role])


def first_release(role: Role, key: str) -> str | None:
    """Return the first release in which a role has a key; None if no release has the key."""
    if role is Role.BROKER and key.startswith("listener.name."):
        return "0.11.0"  # a key of brokers, but for one listener only
    return _FIRST_RELEASE[role].get(key)


def roles_that_know(key: str) -> frozenset[Role]:
    """Return the roles that have this key in some release."""
    return frozenset(role for role in Role if first_release(role, key))


def knows(version: Version, role: Role, key: str) -> bool:
    """Whether this version has a key of a role. Every version is assumed to have the keys of the oldest release."""
    since = first_release(role, key)
    return since is not None and (since == OLDEST_LISTED_RELEASE or version.has(since))
