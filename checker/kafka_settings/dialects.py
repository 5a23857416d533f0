"""Files that spell Kafka's settings in another way: they are refused by name, and never taken for a Java client's.

In:  the path of a file, and its role, if the user gives it.
Out: a `Section`, if the file has the keys of Kafka's own brokers, topics and Java clients; otherwise a PropertiesError
     that says whose file it is, and what to give instead.

Other clients have other names and other defaults: librdkafka is not idempotent by default, and has up to 1,000,000
requests in flight; the producers of Kafka Connect are not idempotent by default, either. So one key that only they have
is enough: what their file does not give would be taken for the default of a Java client.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from isrcheck.checker.kafka_settings.cluster_settings import READERS, Section, printable, shown
from isrcheck.checker.kafka_settings.keys import Role, roles_that_know
from isrcheck.checker.kafka_settings.properties_file import (
    LINE_END,
    PropertiesError,
    Property,
    read_properties,
    read_text,
)

_LIBRDKAFKA = "librdkafka"
_LIBRDKAFKA_OR_SCALA = "librdkafka, or of the old Scala producer"
_CONNECT, _STREAMS, _MIRROR_MAKER = "Kafka Connect", "Kafka Streams", "MirrorMaker"

_KEYS = {
    _LIBRDKAFKA: """
        api.version.fallback.ms api.version.request api.version.request.timeout.ms broker.address.family
        broker.address.ttl broker.version.fallback builtin.features delivery.report.only.error dr_cb
        dr_msg_cb enable.auto.offset.store enable.gapless.guarantee enable.partition.eof
        enable.ssl.certificate.verification enable.sparse.connections error_cb fetch.error.backoff.ms
        internal.termination.signal log.connection.close log.queue log.thread.name
        log_level max.in.flight message.copy.max.bytes message.timeout.ms msg_order_cmp oauthbearer_token_refresh_cb
        offset.store.method offset.store.path open_cb plugin.library.paths produce.offset.report
        queue.buffering.backpressure.threshold queue.buffering.max.kbytes queued.max.messages.kbytes
        queued.min.messages queuing.strategy rebalance_cb receive.message.max.bytes sasl.kerberos.keytab
        sasl.kerberos.principal sasl.mechanisms sasl.password sasl.username socket.blocking.max.ms socket_cb
        socket.keepalive.enable socket.max.fails socket.nagle.disable ssl.ca.location ssl.ca.pem
        ssl.certificate.location ssl.certificate.pem ssl.crl.location ssl.curves.list
        ssl.key.location ssl.key.pem ssl.sigalgs.list statistics.interval.ms sticky.partitioning.linger.ms stats_cb
        topic.blacklist topic.metadata.propagation.max.ms topic.metadata.refresh.fast.cnt
        topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.sparse
    """,
    _LIBRDKAFKA_OR_SCALA: """
        batch.num.messages message.send.max.retries metadata.broker.list producer.type queue.buffering.max.messages
        queue.buffering.max.ms queue.enqueue.timeout.ms request.required.acks serializer.class
        topic.metadata.refresh.interval.ms
    """,
    _CONNECT: """
        config.storage.replication.factor config.storage.topic connector.class
        connector.client.config.override.policy exactly.once.source.support exactly.once.support key.converter
        offset.flush.interval.ms offset.storage.file.filename offset.storage.replication.factor offset.storage.topic
        plugin.path status.storage.replication.factor status.storage.topic tasks.max value.converter
    """,
    _STREAMS: """
        application.id application.server default.key.serde default.value.serde num.standby.replicas
        num.stream.threads processing.guarantee state.dir topology.optimization
    """,
    _MIRROR_MAKER: "clusters replication.policy.class emit.checkpoints.enabled sync.topic.configs.enabled",
}
_DIALECT_OF = {key: dialect for dialect, keys in _KEYS.items() for key in keys.split()}

_SAME_AS = {
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "message.timeout.ms": "delivery.timeout.ms",
    "metadata.broker.list": "bootstrap.servers",
}
"""The Java clients' names of settings."""

_DEFAULTS = {
    _LIBRDKAFKA: "enable.idempotence=false and max.in.flight.requests.per.connection=1000000",
    _LIBRDKAFKA_OR_SCALA: "those of librdkafka are enable.idempotence=false and"
    " max.in.flight.requests.per.connection=1000000",
    _CONNECT: "acks=all, enable.idempotence=false and max.in.flight.requests.per.connection=1",
    _STREAMS: "with processing.guarantee=exactly_once_v2 a transactional.id and acks=all",
    _MIRROR_MAKER: "those of Kafka Connect",
}
"""The defaults of a dialect that differ from those of Java clients, or what a setting of it entails."""

_SPRING = ("spring.kafka.", "spring.cloud.stream.kafka.")
_LAST_OF_A_PREFIX = frozenset({"producer", "consumer", "override", "kafka", "properties", "config"})
"""Words before a client's setting, in files of frameworks: producer.acks, producer.override.acks, kafka.acks."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_VARIABLES_OF_IMAGES = ("KAFKA_", "CONNECT_", "CONFLUENT_", "SPRING_KAFKA_")
_WITH_UNDERSCORES = re.compile(r"[a-z]+(?:_[a-z0-9]+)+")

_CLIENTS = {Role.PRODUCER, Role.CONSUMER}
_OWN_FILE = "in a .properties file of a Java producer (--producer FILE)"
_NOT_READ = "which isrcheck does not read yet"


def file_section(role: Role | None, path: Path) -> Section:
    """Read a property file as a section. Raises PropertiesError, also for another shape of file or another dialect."""
    _refuse_shape(path, read_text(path))
    properties = tuple(read_properties(path))
    _refuse_dialect(properties, role)
    return Section(role, str(path), properties)


def without_prefix(key: str) -> str:
    """Return the client's setting in a key such as producer.acks or spring.kafka.producer.acks; empty if none is."""
    if roles_that_know(key):
        return ""
    words = key.replace("-", ".").split(".")
    for start in range(1, len(words)):
        if words[start - 1] in _LAST_OF_A_PREFIX and roles_that_know(tail := ".".join(words[start:])) & _CLIENTS:
            return tail
    return ""


# --- The shape --------------------------------------------------------------------------------------------------------

_YAML_NAMES = (".yml", ".yaml")
_YAML_BEGINS = re.compile(r"---\s*$|[ \t]*- [\w.\"'-]+|[ \t]*[\w.\"'/-]+:[ \t]*$")
_SECTION = re.compile(r"\[[\w .:\"'-]+\]\s*$")
_BRACE = re.compile(r"(?:.*[\w\"'=:][ \t]*)?\{\s*$")


def _refuse_shape(path: Path, text: str) -> None:
    """Refuse a file that is no property file: what is nested there would be read as other keys."""
    lines = [line for line in LINE_END.split(text) if line.strip() and line.lstrip()[0] not in "#!"]
    first = lines[0].strip() if lines else ""
    shape = ""
    if first.startswith("<"):
        shape = "XML"
    elif _SECTION.match(first) and not first.startswith(('["', "['")):
        shape = "a file with sections (INI or TOML)"
    elif first[:1] in ("{", "["):
        shape = "JSON"
    elif path.suffix.lower() in _YAML_NAMES or _is_yaml(lines):
        shape = "YAML"
    elif any(_BRACE.fullmatch(line) for line in lines):
        shape = "a file with nested braces (HOCON)"
    if shape:
        raise PropertiesError(
            f"{path}: is {shape}, {_NOT_READ}; give its settings as KEY=VALUE lines of a .properties file, with the"
            " names of Kafka's brokers, topics and Java clients"
        )


def _is_yaml(lines: Sequence[str]) -> bool:
    """Whether a line has a key without a value, and the next one is a part of it; or the file begins as YAML does."""
    if lines and re.match(r"---\s*$", lines[0]):
        return True
    for line, following in pairwise(lines):
        is_deeper = len(following) - len(following.lstrip(" ")) > len(line) - len(line.lstrip(" "))
        if _YAML_BEGINS.fullmatch(line) and (is_deeper or following.lstrip().startswith("- ")):
            return True
    return False


# --- The keys ---------------------------------------------------------------------------------------------------------


def _refuse_dialect(properties: Sequence[Property], role: Role | None) -> None:
    """Refuse a file by the first key that shows whose it is; of a container or a framework, by one that counts."""
    of_dialect = [one for one in properties if one.key in _DIALECT_OF]
    if of_dialect:
        counts = next((one for one in properties if _of_java(one) in READERS), None)
        shown_by = counts if counts is not None and counts in of_dialect else of_dialect[0]
        raise _refusal(shown_by, _DIALECT_OF[shown_by.key], counts)
    is_of_broker = any(roles_that_know(one.key) == {Role.BROKER} for one in properties)
    for one in sorted(properties, key=lambda one: _meant(one) not in READERS):
        if roles_that_know(one.key):
            continue
        if variable := _variable(one):
            raise PropertiesError(
                f"{one.place}: {printable(variable)} is an environment variable of a container, {_NOT_READ}; give its"
                f" settings with their own names{_for_example(_of_variable(variable))}"
            )
        if _WITH_UNDERSCORES.fullmatch(one.key) and roles_that_know(dotted := one.key.replace("_", ".")):
            raise PropertiesError(
                f"{one.place}: {one.key} is spelt as in a client of Python, {_NOT_READ}, and which has other defaults"
                f" (kafka-python: acks=1, retries=0); write {dotted}, and give acks, retries and enable.idempotence"
            )
        if one.key.startswith(_SPRING) or (not is_of_broker and without_prefix(one.key)):
            raise _with_prefix(one)
    if role in _CLIENTS and properties and not any(roles_that_know(one.key) for one in properties):
        raise PropertiesError(
            f"{properties[0].place}: {printable(properties[0].key)} and all other keys of this file are none of Kafka's"
            f" Java clients; give what counts, such as acks, {_OWN_FILE}"
        )


def _meant(one: Property) -> str:
    """The key of Kafka that a variable or a longer key stands for."""
    return without_prefix(one.key) or _of_variable(_variable(one))


def _of_java(one: Property) -> str:
    """The Java clients' name of a setting of another client or framework; empty if there is none."""
    return _SAME_AS.get(one.key) or without_prefix(one.key)


def _refusal(one: Property, dialect: str, counts: Property | None) -> PropertiesError:
    """Refuse a file by one of its settings; `counts` is a setting on which the answer depends."""
    given = f"{printable(one.key)}={shown(one.key, one.value.strip())}"
    same = _spelled("acks", "") if counts is None else _spelled(_of_java(counts), counts.value)
    if counts is not None and counts is not one:
        same = f"{same} for {printable(counts.key)} ({counts.place})"
    return PropertiesError(
        f"{one.place}: {given} is a setting of {dialect}, {_NOT_READ}; give {same} and what else counts {_OWN_FILE}:"
        f" its defaults differ ({_DEFAULTS[dialect]})"
    )


def _with_prefix(one: Property) -> PropertiesError:
    is_of_spring = one.key.startswith(_SPRING)
    whose = "Spring" if is_of_spring else "a client in a file of Kafka Connect, Kafka Streams or another framework"
    key = without_prefix(one.key) or "acks"
    given = f"{printable(one.key)}={shown(one.key, one.value.strip())}"
    example = _spelled(key, one.value if key in one.key.replace("-", ".") else "")
    return PropertiesError(
        f"{one.place}: {given} is a setting of {whose}, {_NOT_READ}; give {example} and what else counts {_OWN_FILE}"
    )


def _spelled(key: str, value: str) -> str:
    return f"{key}={shown(key, value.strip())}" if value.strip() else f"{key}=..."


def _variable(one: Property) -> str:
    """The name of an environment variable, as in a file of a container: KAFKA_MIN_INSYNC_REPLICAS; else empty."""
    name = one.value.partition("=")[0].strip() if one.key == "export" else one.key
    if _VARIABLE.fullmatch(name) is None:
        return ""
    return name if name.startswith(_VARIABLES_OF_IMAGES) or _of_variable(name) else ""


def _of_variable(name: str) -> str:
    """The key of Kafka that a variable stands for; empty if there is none."""
    words = name.lower().split("_")
    tails = (".".join(words[start:]) for start in range(len(words)))
    return next((tail for tail in tails if roles_that_know(tail)), "")


def _for_example(key: str) -> str:
    return f", as in {key}=..." if key else ""
