"""Reads the settings of clients from the files of client libraries and frameworks, each with its own names of settings.

A file is recognised by its keys, never by its name. Its settings are translated to the names of Kafka's Java clients;
each keeps its place and the text of its file. `libraries` has the defaults that each library has of its own. A file
can configure several clients: those of Kafka Connect, Kafka Streams, MirrorMaker 2, or several factories and profiles
of Spring. Each becomes a `Section`.

What cannot belong to a known library is refused by a PropertiesError, which says what to give instead.

Sources, read in August 2026, in addition to those of `libraries`: Spring Boot's KafkaProperties
(buildProducerProperties: `properties.*` overrides the named settings, and a client's settings override the common
ones); MirrorMakerConfig and MirrorSourceConfig (replication.factor=2 by default); StreamsConfig (with exactly-once
processing, enable.idempotence, transactional.id and isolation.level of a file are ignored; unprefixed settings hold for
all clients); Worker (exactlyOnceSourceTaskProducerConfigs).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from isrcheck.checker.cluster.libraries import ClientLibrary
from isrcheck.checker.cluster.property_files import (
    LINE_END,
    READERS,
    PropertiesError,
    Property,
    Section,
    printable,
    properties_of,
    shown,
)
from isrcheck.checker.cluster.releases import Role, keys_of, roles_that_know

_CLIENTS = (Role.PRODUCER, Role.CONSUMER)
_OWN_FILE = "in a .properties file of a Java producer (--producer FILE)"


def text_sections(role: Role | None, path: Path, text: str) -> list[Section]:
    """Read the text of a property file. Raises PropertiesError, also for keys that nobody is known to have."""
    # Spring separates the documents of a file by such a comment.
    breaks = [number for number, line in enumerate(LINE_END.split(text), 1) if re.match(r"[#!]---\s*$", line)]
    properties = properties_of(path, text)
    ends = [0, *breaks, len(text) + 1]
    documents = [[line for line in properties if begin < line.line <= end] for begin, end in pairwise(ends)]
    return client_sections(role, str(path), documents)


def client_sections(role: Role | None, member: str, documents: Sequence[Sequence[Property]]) -> list[Section]:
    """Return the sections of the documents of a file. Raises PropertiesError for keys that nobody is known to have. A
    file with the keys of Kafka's own brokers, topics and Java clients is one section."""
    documents = [[_from_environment(line) for line in document] for document in documents]
    properties = tuple(line for document in documents for line in document)
    if any(line.key.startswith(_SPRING) for line in properties):
        return _spring(member, documents)
    for recognises, read in _DIALECTS:
        if (sign := next((line for line in properties if recognises(line)), None)) is not None:
            return read(_File(member, role, properties, sign))
    _refuse_unknown(properties, role)
    return [Section(role, member, properties)]


_OF_IMAGES = ("CONNECT_", "SPRING_KAFKA_")


def _from_environment(line: Property) -> Property:
    """Return the property that an environment variable sets: producer.acks for CONNECT_PRODUCER_ACKS (of Confluent's
    and Debezium's images of Kafka Connect), spring.kafka.producer.acks for SPRING_KAFKA_PRODUCER_ACKS."""
    name = line.value.partition("=")[0].strip() if line.key == "export" else line.key
    if not name.startswith(_OF_IMAGES):
        return line
    value = line.value.partition("=")[2] if line.key == "export" else line.value
    key = name.removeprefix("CONNECT_").lower().replace("_", ".")
    written = f"{name}={shown(key, value.strip())}"
    return replace(line, key=key, value=value.strip().strip("\"'"), written=written)


def has_clients(properties: Iterable[Property]) -> bool:
    """Whether properties configure clients: by a key of a library or framework, or of Kafka's own Java clients."""
    keys = [_from_environment(line).key for line in properties]
    return any(not _OF_ANY_LIBRARY.isdisjoint((key, _dotted(key))) for key in keys)


def is_nested(properties: Iterable[Property]) -> bool:
    """Whether properties, with the names of the entries around them, are those of Spring or Sarama."""
    return any(line.key.startswith(_SPRING) or _field_of_sarama(line) for line in properties)


_SIGNS = frozenset(
    {"acks", "auto.offset.reset", "bootstrap.servers", "enable.idempotence", "isolation.level", "transactional.id"}
)
"""Keys that show a Kafka client in a file that may configure anything."""


@dataclass(frozen=True)
class _File:
    """The properties of a file whose dialect is recognised."""

    member: str
    role: Role | None
    properties: Sequence[Property]
    sign: Property
    """The first property that shows the dialect."""

    def section(self, role: Role, properties: Iterable[Property], library: ClientLibrary, name: str = "") -> Section:
        """Return the section of one client; `name` tells several clients of the file apart."""
        member = f"{self.member} ({name})" if name else self.member
        return Section(role, member, tuple(properties), library=library, shown_by=_shown_by(self.sign))

    def of_roles(self, properties: Sequence[Property], library: ClientLibrary) -> list[Section]:
        """Return a section for the producer, the consumer or both, as the keys or the command line say. A file with
        neither, such as one of connections only, is a producer's."""
        known_by = {line: roles_that_know(line.key) for line in properties}
        roles = [role for role in _CLIENTS if role is self.role or {role} in known_by.values()] or [Role.PRODUCER]
        sections = []
        for role in roles:
            others = {frozenset({other}) for other in _CLIENTS if other is not role}
            sections.append(self.section(role, (line for line in properties if known_by[line] not in others), library))
        return sections


def _shown_by(sign: Property) -> str:
    return f"{sign.place}: {printable(sign.key)}"


def _named(line: Property, key: str, value: str | None = None) -> Property:
    """Return a property with a Java client's name, and perhaps value, which remembers how its file spells it."""
    value = line.value if value is None else value
    written = line.written or f"{printable(line.key)}={shown(line.key, line.value.strip())}"
    return line if (key, value) == (line.key, line.value) else replace(line, key=key, value=value, written=written)


def _under(properties: Iterable[Property], prefix: str) -> list[Property]:
    """Return the properties with a prefix, without it."""
    return [_named(line, line.key.removeprefix(prefix)) for line in properties if line.key.startswith(prefix)]


def _merged(*layers: Iterable[Property]) -> list[Property]:
    """Return the properties of all layers; a key of a later layer hides that of earlier layers."""
    merged: list[Property] = []
    for layer in map(list, layers):
        keys = {line.key for line in layer}
        merged = [line for line in merged if line.key not in keys] + layer
    return merged


def _set_by(line: Property, **values: str) -> list[Property]:
    """Return properties that a framework sets because of a line of its file; `_` in a name stands for a dot."""
    return [_named(line, key.replace("_", "."), value) for key, value in values.items()]


# --- Kafka Connect, MirrorMaker 2, Kafka Streams ----------------------------------------------------------------------


def _connect(file: _File, library: ClientLibrary = ClientLibrary.CONNECT) -> list[Section]:
    """Read the file of a worker (producer., consumer.) or of a connector (producer.override.)."""
    lines = file.properties
    exactly_once = [
        forced
        for line in lines
        if (line.key, line.value.strip().lower()) == ("exactly.once.source.support", "enabled")
        for forced in _set_by(line, enable_idempotence="true", transactional_id="of each task")
    ]
    of_role: dict[Role, list[Property]] = {}
    for role in _CLIENTS:
        own = [line for line in _under(lines, f"{role.value}.") if not line.key.startswith("override.")]
        of_role[role] = _merged(own, _under(lines, f"{role.value}.override."))
    producer = _merged(of_role[Role.PRODUCER], exactly_once, _of_framework(lines))
    section = file.section(Role.PRODUCER, producer, library)
    sections = [replace(section, remarks=(*_misplaced(lines), *_internal_topics(lines)))]
    if of_role[Role.CONSUMER]:
        sections.append(file.section(Role.CONSUMER, of_role[Role.CONSUMER], library))
    return sections


def _of_framework(lines: Iterable[Property]) -> list[Property]:
    """Return the properties that configure the framework itself, without those that are read in another way."""
    return [
        line
        for line in lines
        if not roles_that_know(line.key) and not without_prefix(line.key) and not line.key.startswith(_READ_OTHERWISE)
    ]


_READ_OTHERWISE = ("topic.", "processing.guarantee", "exactly.once.source.support")


def _misplaced(lines: Iterable[Property]) -> Iterator[str]:
    """Yield a remark for each setting of clients that lacks the prefix without which Kafka Connect ignores it."""
    for line in lines:
        roles = roles_that_know(line.key)
        if line.key in READERS and len(roles) == 1 and (role := next(iter(roles))) in _CLIENTS:
            given = f"{line.key}={shown(line.key, line.value.strip())}"
            yield f"{line.place}: {given} does not reach the clients of Kafka Connect; write {role.value}.{line.key}"


_INTERNAL_TOPICS = {
    "offset.storage.replication.factor": "the offsets of source connectors",
    "config.storage.replication.factor": "the configurations of connectors",
    "status.storage.replication.factor": "the states of connectors",
    "offset-syncs.topic.replication.factor": "the translation of offsets",
    "checkpoints.topic.replication.factor": "the offsets of consumer groups",
    "heartbeats.topic.replication.factor": "the heartbeats",
}
"""The replication factors of the internal topics of Kafka Connect and MirrorMaker 2 (by default 3), and what each
keeps."""


def _internal_topics(lines: Iterable[Property]) -> Iterator[str]:
    """Yield a remark for each internal topic whose records are lost with one or two brokers."""
    for line in lines:
        if line.key in _INTERNAL_TOPICS and (factor := line.value.strip()) in ("1", "2"):
            brokers = "one lost broker loses" if factor == "1" else "two lost brokers lose"
            yield f"{line.place}: {line.key}={factor}: {brokers} {_INTERNAL_TOPICS[line.key]}"


_MIRRORED = re.compile(r"(?:(?P<flow>.+)\.)?(?P<role>producer|consumer)\.(?:override\.)?(?P<key>.+)")


def _mirror_maker(file: _File) -> list[Section]:
    """Read the file of MirrorMaker 2, whose clients are those of Kafka Connect: one producer for each prefix."""
    of_flow: dict[tuple[str, Role], list[Property]] = {}
    for line in file.properties:
        if (parts := _MIRRORED.fullmatch(line.key)) is not None:
            own = of_flow.setdefault((parts["flow"] or "", Role(parts["role"])), [])
            own.append(_named(line, parts["key"]))
    sections = []
    for role in _CLIENTS:
        flows = [flow for flow, of_role in of_flow if of_role is role and flow] or [""]
        for flow in flows if role is Role.PRODUCER or (flows[0], role) in of_flow else ():
            lines = _merged(of_flow.get(("", role), []), of_flow.get((flow, role), []))
            sections.append(file.section(role, lines, ClientLibrary.CONNECT, flow))
    sections[0] = replace(sections[0], remarks=tuple(_internal_topics(file.properties)))
    factors = [
        _named(line, "replication.factor")
        for line in file.properties
        if re.fullmatch(r"(?:.+->.+\.)?replication\.factor", line.key)
    ]
    least = min(factors, key=lambda line: line.value.strip().zfill(5), default=None)
    topic = [least] if least else _set_by(replace(file.sign, written="MirrorMaker's default"), replication_factor="2")
    return [*sections, _own_topic(file, topic, "topics that MirrorMaker creates")]


def _own_topic(file: _File, lines: Iterable[Property], name: str) -> Section:
    return Section(Role.TOPIC, f"{file.member} ({name})", tuple(lines), is_internal=True)


def _streams(file: _File, library: ClientLibrary = ClientLibrary.STREAMS) -> list[Section]:
    """Read the file of Kafka Streams: its producer, its main consumer, and its own topics."""
    lines = file.properties
    remarks: list[str] = []
    sections: list[Section] = []
    guarantee = [line for line in lines if line.key == "processing.guarantee"]
    exactly_once = [line for line in guarantee if line.value.strip().startswith("exactly_once")][-1:]
    for role, prefixes, forced in (
        (Role.PRODUCER, ("producer.",), {"enable_idempotence": "true", "transactional_id": "of each thread"}),
        (Role.CONSUMER, ("consumer.", "main.consumer."), {"isolation_level": "read_committed"}),
    ):
        own_keys = keys_of(role)
        shared = [line for line in lines if line.key in own_keys and roles_that_know(line.key) <= {*_CLIENTS}]
        given = _merged(shared, *(_under(lines, prefix) for prefix in prefixes))
        by_framework = [line for sign in exactly_once for line in _set_by(sign, **forced)]
        for line in given:
            if any(line.key == other.key and line.value.strip() != other.value for other in by_framework):
                text = line.written or f"{line.key}={line.value.strip()}"
                remarks.append(
                    f"{line.place}: {text} is ignored by Kafka Streams, because of {by_framework[0].written}"
                )
        own = _of_framework(lines) if role is Role.PRODUCER else []
        sections.append(file.section(role, _merged(given, by_framework, own), library))
    factor = [line for line in lines if line.key == "replication.factor" and line.value.strip() != "-1"]
    if topic := [*factor, *_under(lines, "topic.")]:
        sections.append(_own_topic(file, topic, "topics of Kafka Streams"))
    return [replace(sections[0], remarks=tuple(remarks)), *sections[1:]]


# --- Spring -----------------------------------------------------------------------------------------------------------

_SPRING = ("spring.kafka.", "spring.cloud.stream.kafka.")
_PROFILE = ("spring.config.activate.on-profile", "spring.config.activate.onProfile", "spring.profiles")

_BINDER = re.compile(
    r"spring\.cloud\.stream\.kafka\.(?:binder\.|bindings\.(?P<binding>[^.]+)\.)"
    r"(?:(?P<role>producer|consumer)(?:\.configuration|-?[pP]roperties)\.|(?P<shared>configuration)\.)?(?P<name>.+)"
)
_BOOT = re.compile(
    r"(?P<factory>spring\.kafka)\.(?:(?P<role>producer|consumer|streams|admin)\.)?(?P<raw>properties\.)?(?P<name>.+)"
)
_OF_STREAMS = re.compile(
    r"(?P<factory>spring\.cloud\.stream\.kafka)\.(?P<role>streams)\.binder\.(?P<raw>configuration\.)?(?P<name>.+)"
)
_OWN_FACTORY = re.compile(
    r"(?P<factory>(?!spring\.).+)\.(?P<role>producer|consumer)\.(?P<raw>properties\.)?(?P<name>.+)"
)
_FACTORIES = (_BOOT, _OF_STREAMS, _OWN_FACTORY)
_SPRING_NAMES = {"transaction.id.prefix": "transactional.id", "transaction.transaction.id.prefix": "transactional.id"}


@dataclass
class _Factory:
    """The settings of one factory of Spring, in the order in which they override each other."""

    sign: Property
    layers: dict[tuple[str, bool], list[Property]] = field(default_factory=dict)
    """By the role (producer, consumer, streams, or empty for all clients), and whether Kafka's own name is given."""

    def lines(self, role: str) -> list[Property]:
        """The settings of a role."""
        return _merged(
            *(self.layers.get(layer, []) for layer in (("", False), ("", True), (role, False), (role, True)))
        )


def _spring(member: str, documents: Sequence[Sequence[Property]]) -> list[Section]:
    """Read the configuration of a Spring application: each profile, factory and binding has clients of its own."""
    profiles: dict[str, list[Property]] = {"": []}
    for document in documents:
        profile = next((line.value.strip() for line in document if line.key in _PROFILE), "")
        profiles[profile] = _merged(profiles.get(profile, []), document)
    sections: list[Section] = []
    for profile, own in profiles.items():
        lines = _merged(profiles[""], own) if profile else own
        factories = _factories(lines)
        binder = factories.get(_OF_BINDER)
        for name, factory in factories.items():
            if name.startswith(_OF_BINDER):
                bases = [factories[base] for base in (_OF_SPRING,) if base in factories]
                bases += [binder] if binder and factory is not binder else []
                library = ClientLibrary.BINDER
            else:
                bases, library = [], ClientLibrary.JAVA
            words = [f"profile {printable(profile)}"] if profile else []
            words += [printable(name)] if name != _OF_SPRING and len(factories) > 1 else []
            sections += _of_factory(_File(member, None, lines, factory.sign), factory, bases, library, ", ".join(words))
    if not sections:
        sign = next(line for document in documents for line in document if line.key.startswith(_SPRING))
        raise PropertiesError(
            f"{sign.place}: {printable(sign.key)} is a setting of Spring, but no producer or consumer is known to use"
            f" it; give acks=... and the other settings {_OWN_FILE}"
        )
    return sections


def _of_factory(
    file: _File, factory: _Factory, bases: Sequence[_Factory], library: ClientLibrary, name: str
) -> Iterator[Section]:
    if streams := factory.lines("streams"):
        of_streams = _File(f"{file.member} ({name})" if name else file.member, None, streams, factory.sign)
        if any(role == "streams" for role, _ in factory.layers):
            yield from _streams(of_streams)
    for role in _CLIENTS:
        own = any(of_role == role.value for of_role, _ in factory.layers)
        only_streams = any(of_role == "streams" for of_role, _ in factory.layers)
        if own or (role is Role.PRODUCER and not only_streams):
            lines = _merged(*(base.lines(role.value) for base in bases), factory.lines(role.value))
            yield file.section(role, lines, library, name)


_OF_SPRING, _OF_BINDER = "spring.kafka", "spring.cloud.stream.kafka"


def _factories(lines: Sequence[Property]) -> dict[str, _Factory]:
    """Return the factories by name. One outside spring.kafka counts if it has a setting on which the answer depends."""
    factories: dict[str, _Factory] = {}
    counts = {_OF_SPRING}
    for line in lines:
        binder = _BINDER.fullmatch(line.key)
        parts = binder or next((parts for form in _FACTORIES if (parts := form.fullmatch(line.key))), None)
        if parts is None:
            continue
        if binder is not None:
            name = f"{_OF_BINDER} {parts['binding']}" if parts["binding"] else _OF_BINDER
            raw, role = bool(parts["role"] or parts["shared"]), parts["role"] or ""
            counts.add(name)
        else:
            name, raw, role = parts["factory"], bool(parts["raw"]), parts["role"] or ""
            counts |= {name} if role == "streams" else set()
        key = parts["name"].strip("[]") if raw else _dotted(parts["name"])
        if binder is not None and key == "required.acks":
            key, role = "acks", "producer"
        value = re.sub("-", "_", line.value.strip()).lower() if key == "isolation.level" else line.value
        if role in ("producer", "consumer") and key in READERS and roles_that_know(key) & {*_CLIENTS}:
            counts.add(name)
        factory = factories.setdefault(name, _Factory(line))
        factory.layers.setdefault((role, raw), []).append(_named(line, _SPRING_NAMES.get(key, key), value))
    return {name: factory for name, factory in factories.items() if name in counts}


def _dotted(name: str) -> str:
    """Return a name in Kafka's form: auto.offset.reset for auto-offset-reset, autoOffsetReset and AutoOffsetReset."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", ".", name).replace("-", ".").replace("_", ".").lower()


# --- Other libraries: librdkafka, Sarama, and the clients of Python ---------------------------------------------------

_KEYS = {
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
"""Keys that only one library or framework has. The aliases that librdkafka shares with the old Scala producer show
librdkafka, unless another key shows Scala."""
_ONLY = {library: frozenset(keys.split()) for library, keys in _KEYS.items()}
_OF_ANY_LIBRARY = _SIGNS.union(*_ONLY.values())

_ALIASES = {
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "message.timeout.ms": "delivery.timeout.ms",
    "queue.buffering.max.ms": "linger.ms",
}
"""The Java clients' names of settings of librdkafka (the aliases in its CONFIGURATION.md) and of the Scala producer."""

_SPELLINGS = {
    "acks": {"all": "all waitforall", "1": "waitforlocal local leader", "0": "noresponse none"},
    "isolation.level": {"read_committed": "readcommitted 1", "read_uncommitted": "readuncommitted 0"},
    "auto.offset.reset": {
        "earliest": "earliest smallest beginning offsetoldest oldest -2",
        "latest": "latest largest end offsetnewest newest -1",
        "none": "error",
    },
    "enable.idempotence": {"true": "1 t", "false": "0 f"},
}
_VALUES = {
    key: {word: value for value, words in values.items() for word in words.split()}
    for key, values in _SPELLINGS.items()
}
"""The Java clients' names of values that other libraries spell in their own ways, in small letters."""


def is_key_of(library: ClientLibrary, key: str) -> bool:
    """Whether only this library has a key."""
    return key in _ONLY.get(library, ())


def _translated(line: Property, key: str) -> Property:
    """Return a property of another library with the Java clients' names of its key and value."""
    return _named(line, key, _VALUES.get(key, {}).get(line.value.strip().lower().removeprefix("sarama.")))


_PROPERTY_OF_DOTNET = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+")


def _is_of_dotnet(line: Property) -> bool:
    """Whether a key is a property of confluent-kafka for .NET, such as BootstrapServers and EnableIdempotence."""
    key = _dotted(line.key)
    is_known = not roles_that_know(key).isdisjoint(_CLIENTS) or key in _ONLY[ClientLibrary.LIBRDKAFKA]
    return is_known and _PROPERTY_OF_DOTNET.fullmatch(line.key) is not None


def _dotnet(file: _File) -> list[Section]:
    return _librdkafka(replace(file, properties=[_named(line, _dotted(line.key)) for line in file.properties]))


def _librdkafka(file: _File) -> list[Section]:
    is_scala = any(line.key in _ONLY[ClientLibrary.SCALA] for line in file.properties)
    library = ClientLibrary.SCALA if is_scala else ClientLibrary.LIBRDKAFKA
    lines = []
    for line in file.properties:
        key = line.key.removeprefix("topic.") if not roles_that_know(line.key) else line.key
        key = _ALIASES.get(key, key)
        lines.append(_translated(line, key if roles_that_know(key) else line.key))
    return file.of_roles(lines, library)


_FIELDS_OF_SARAMA = {
    "producer.requiredacks": "acks",
    "producer.retry.max": "retries",
    "producer.idempotent": "enable.idempotence",
    "producer.transaction.id": "transactional.id",
    "net.maxopenrequests": "max.in.flight.requests.per.connection",
    "consumer.isolationlevel": "isolation.level",
    "consumer.offsets.initial": "auto.offset.reset",
}


def _field_of_sarama(line: Property) -> str:
    """Return the Java clients' name of a field of Sarama's Config, in any spelling (requiredAcks, required_acks); else
    nothing. The field may be within other fields."""
    name = re.sub("[-_]", "", line.key).lower()
    fields = (key for end, key in _FIELDS_OF_SARAMA.items() if name == end or name.endswith(f".{end}"))
    return next(fields, "")


def _sarama(file: _File) -> list[Section]:
    lines = [_translated(line, _field_of_sarama(line) or line.key) for line in file.properties]
    return file.of_roles(lines, ClientLibrary.SARAMA)


_WITH_UNDERSCORES = re.compile(r"[a-z]+(?:_[a-z0-9]+)+")
_ONLY_KAFKA_PYTHON = """
    allow_auto_create_topics batch_size bootstrap_timeout_ms buffer_memory client_dns_lookup delivery_timeout_ms
    max_block_ms max_in_flight_requests_per_connection metric_reporters metrics_enabled metrics_num_samples
    metrics_sample_window_ms partition_assignment_strategy receive_buffer_bytes reconnect_backoff_max_ms
    reconnect_backoff_ms retries send_buffer_bytes socket_options ssl_cafile ssl_certfile ssl_check_hostname
    ssl_ciphers ssl_crlfile ssl_keyfile ssl_password
"""
_ONLY_AIOKAFKA = "max_batch_size"


def _is_of_python(line: Property) -> bool:
    dotted = line.key.replace("_", ".")
    return _WITH_UNDERSCORES.fullmatch(line.key) is not None and not roles_that_know(dotted).isdisjoint(_CLIENTS)


def _python(file: _File) -> list[Section]:
    """Read the settings of kafka-python or aiokafka; if no key decides between them, return sections of both."""
    keys = {line.key for line in file.properties}
    libraries = list(_OF_PYTHON)
    if not keys.isdisjoint(_ONLY_KAFKA_PYTHON.split()):
        libraries.remove(ClientLibrary.AIOKAFKA)
    elif not keys.isdisjoint(_ONLY_AIOKAFKA.split()):
        libraries.remove(ClientLibrary.KAFKA_PYTHON)
    lines = [
        _translated(line, dotted if roles_that_know(dotted := line.key.replace("_", ".")) else line.key)
        for line in file.properties
        if line.value.strip() not in ("None", "null")
    ]
    return _read_as(libraries, file, lines)


_OF_PYTHON = (ClientLibrary.KAFKA_PYTHON, ClientLibrary.AIOKAFKA)


def _read_as(libraries: Sequence[ClientLibrary], file: _File, lines: Sequence[Property]) -> list[Section]:
    """Return the sections of a file that can be of any of these libraries."""
    many = len(libraries) > 1
    members = {library: f"{file.member} (read as {library.value})" if many else file.member for library in libraries}
    return [
        replace(section, member=members[library]) for library in libraries for section in file.of_roles(lines, library)
    ]


def sections_of_any_library(role: Role | None, member: str, properties: Sequence[Property]) -> list[Section]:
    """Return the sections of settings whose names librdkafka shares with the Java client, if nothing decides between
    the two: in JSON, as clients of Python, Go and Node.js have it, and in YAML."""
    libraries = (ClientLibrary.JAVA, ClientLibrary.LIBRDKAFKA)
    return _read_as(libraries, _File(member, role, properties, properties[0]), properties)


_OF_A_FLOW = re.compile(r"[\w*.-]+->[\w*.-]+\..+")

_DIALECTS: Sequence[tuple[Callable[[Property], bool], Callable[[_File], list[Section]]]] = (
    (lambda line: _OF_A_FLOW.fullmatch(line.key) is not None, _mirror_maker),
    (lambda line: line.key in _ONLY[ClientLibrary.CONNECT], _connect),
    (lambda line: line.key in _ONLY[ClientLibrary.STREAMS], _streams),
    (lambda line: _field_of_sarama(line) != "", _sarama),
    (lambda line: line.key in _ONLY[ClientLibrary.LIBRDKAFKA] | _ONLY[ClientLibrary.SCALA], _librdkafka),
    (_is_of_dotnet, _dotnet),
    (_is_of_python, _python),
)
"""For each dialect, how one of its properties is recognised, and its reader."""


# --- Keys that nobody is known to have --------------------------------------------------------------------------------

_LAST_OF_A_PREFIX = frozenset({"producer", "consumer", "override", "kafka", "properties", "config"})
"""The last words of prefixes that frameworks put before a key: producer.acks, producer.override.acks, kafka.acks."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_VARIABLES_OF_IMAGES = ("KAFKA_", "CONFLUENT_")


def without_prefix(key: str) -> str:
    """Return the client's key in a key with a prefix (acks in spring.kafka.producer.acks); empty without a prefix."""
    if roles_that_know(key):
        return ""
    words = key.replace("-", ".").split(".")
    for start in range(1, len(words)):
        if words[start - 1] in _LAST_OF_A_PREFIX:
            tail = ".".join(words[start:])
            if not roles_that_know(tail).isdisjoint(_CLIENTS):
                return tail
    return ""


def _refuse_unknown(properties: Sequence[Property], role: Role | None) -> None:
    """Refuse environment variables, and settings of clients that the file attributes to no library or framework; the
    error names a key on which the answer depends, if any."""
    is_of_broker = any(roles_that_know(line.key) == {Role.BROKER} for line in properties)
    meant = [without_prefix(line.key) or _of_variable(_variable(line)) for line in properties]
    for _, line in sorted(zip(meant, properties, strict=True), key=lambda pair: pair[0] not in READERS):
        if roles_that_know(line.key):
            continue
        if variable := _variable(line):
            example = f", as in {key}=..." if (key := _of_variable(variable)) else ""
            raise PropertiesError(
                f"{line.place}: {printable(variable)} is an environment variable of a container, which isrcheck does"
                f" not read yet; give its settings with their own names{example}"
            )
        if _WITH_UNDERSCORES.fullmatch(line.key) and roles_that_know(dotted := line.key.replace("_", ".")):
            raise PropertiesError(f"{line.place}: Kafka has no key {line.key}; write {dotted}")
        if not is_of_broker and (key := without_prefix(line.key)):
            example = f"{key}={shown(key, line.value.strip()) or '...'}"
            raise PropertiesError(
                f"{line.place}: {printable(line.key)}={shown(line.key, line.value.strip())} is a setting of a client in"
                " a file of a framework, but no key shows which; give the whole file (of Kafka Connect, Kafka Streams,"
                f" Spring, ...), or give {example} and the other settings {_OWN_FILE}"
            )
    if role in _CLIENTS and properties and not any(roles_that_know(line.key) for line in properties):
        raise PropertiesError(
            f"{properties[0].place}: no client library that isrcheck knows has {printable(properties[0].key)} or any"
            f" other key of this file; give its settings, such as acks, {_OWN_FILE}"
        )


def _variable(line: Property) -> str:
    """The environment variable that a line sets, as in a container's file: KAFKA_MIN_INSYNC_REPLICAS; empty if none."""
    name = line.value.partition("=")[0].strip() if line.key == "export" else line.key
    if _VARIABLE.fullmatch(name) is None:
        return ""
    return name if name.startswith(_VARIABLES_OF_IMAGES) or _of_variable(name) else ""


def _of_variable(name: str) -> str:
    """The Kafka key that an environment variable sets; empty if it sets none."""
    words = name.lower().split("_")
    tails = (".".join(words[start:]) for start in range(len(words)))
    return next((tail for tail in tails if roles_that_know(tail)), "")
