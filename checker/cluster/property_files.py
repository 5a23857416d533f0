"""Reads property files exactly as Kafka does, with java.util.Properties.load(InputStream), and refuses other files.

A file must have the keys of Kafka's own brokers, topics and Java clients; another file is refused by a PropertiesError
that says whose file it is, and what to give instead. Values are validated as in Kafka, and printed without secrets.

There are three deliberate differences from Java. A byte order mark at the beginning is dropped: some editors insert it,
and Java would read it as a part of the first key. All values of a repeated key are returned: Java silently uses the
last one, but the caller should decide. Valid UTF-8 is read as UTF-8, while Java reads each byte as a latin-1 character:
Kafka's keys and the values that matter are ASCII, which both encodings share, and a client.id or a path appears as its
author wrote it. Text that is not valid UTF-8 is read as latin-1.

Other clients have other names and other defaults: librdkafka is not idempotent by default, and has up to 1,000,000
requests in flight; the producers of Kafka Connect are not idempotent by default, either. A file with even one key that
only these clients have is refused, because the defaults of Java clients would be wrong for the settings that it lacks.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from pathlib import Path
from typing import Any

from isrcheck.checker.cluster.releases import (
    Role,
    roles_that_know,
    version_of_inter_broker_protocol,
    version_of_metadata,
)
from isrcheck.models.messages import UsageError

# Java's line ends and white space; str.splitlines and str.strip accept more characters.
LINE_END = re.compile(r"\r\n|\r|\n")
WHITE_SPACE = " \t\f"

KEY_AND_VALUE = re.compile(r"(?P<key>(?:[^\\=: \t\f]|\\.)*)[ \t\f]*(?:[=:][ \t\f]*)?(?P<value>.*)", re.DOTALL)
ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
NAMED_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertiesError(UsageError, ValueError):
    """A file cannot be read or is contradictory; the message says in one line what is wrong, where, and the cure."""


@dataclass(frozen=True)
class Property:
    """A key and its value, with escapes resolved, and the physical line (from 1) on which the key begins."""

    key: str
    value: str
    path: Path
    line: int
    """The line; 0 if `path` is the whole place, as that of an answer of a running broker."""

    @property
    def place(self) -> str:
        """The place of the property, as FILE:LINE."""
        return f"{self.path}:{self.line}" if self.line else str(self.path)


def read_properties(path: Path) -> list[Property]:
    """Return the properties of a file, in file order. Raises PropertiesError for a file that Kafka could not read."""
    properties = []
    for line, text in _logical_lines(read_text(path)):
        parts = KEY_AND_VALUE.fullmatch(text)
        assert parts is not None, "the pattern matches every line that is not continued"
        key, value = (_without_escapes(parts[name], path, line) for name in ("key", "value"))
        properties.append(Property(key, value, path, line))
    return properties


def read_text(path: Path) -> str:
    """Return the text of a file. Raises PropertiesError if the file cannot be read."""
    try:
        return decode(path.read_bytes(), path)
    except FileNotFoundError:
        raise PropertiesError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise PropertiesError(f"{path}: is a directory; give a file in it") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise PropertiesError(f"{path}: cannot be read ({reason}); give a readable file") from None


def decode(content: bytes, path: Path) -> str:
    """Decode bytes as UTF-8, or else as latin-1; as UTF-16, if a byte order mark says so (as PowerShell writes a file).
    Raises PropertiesError, which names `path`, if there are NUL bytes."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and len(content) % 2 == 0:
        return content.decode("utf-16", "replace").replace("\0", "\ufffd")
    while content.startswith(codecs.BOM_UTF8):
        content = content.removeprefix(codecs.BOM_UTF8)
    if b"\0" in content:
        line = len(LINE_END.findall(content[: content.index(b"\0")].decode("latin-1"))) + 1
        raise PropertiesError(f"{path}:{line}: not a text file (it contains NUL bytes); save it as ASCII or UTF-8 text")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the logical lines except blank lines and comments, each with the number of its first physical line."""
    numbered = enumerate(LINE_END.split(text), start=1)
    for line_number, line in numbered:
        logical_line = line.lstrip(WHITE_SPACE)
        # A single backslash counts as blank. (At the end of a file, some versions of Java read an empty key.)
        if logical_line in ("", "\\") or logical_line[0] in "#!":
            continue
        parts = [logical_line]
        # An odd number of backslashes continues a line; an even number are escaped backslashes.
        while (len(parts[-1]) - len(parts[-1].rstrip("\\"))) % 2:
            # A blank continuation line ends the logical line; a continuation that starts with # is not a comment.
            _, continuation = next(numbered, (0, ""))
            parts[-1] = parts[-1][:-1]
            parts.append(continuation.lstrip(WHITE_SPACE))
        yield line_number, "".join(parts)


def _without_escapes(text: str, path: Path, line_number: int) -> str:
    def character(escape: re.Match[str]) -> str:
        name = escape[1]
        if name == "u":  # without four hexadecimal digits; the text is not shown, as it may be a password
            raise PropertiesError(
                rf"{path}:{line_number}: malformed \uXXXX escape; write \u and four hexadecimal digits, "
                r"or \\ for a backslash"
            )
        return chr(int(name[1:], 16)) if len(name) > 1 else NAMED_ESCAPES.get(name, name)

    # Java strings are UTF-16: two escapes that form a surrogate pair are one character.
    return ESCAPE.sub(character, text).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


# --- Values: read and validated as Kafka does, and printed without secrets --------------------------------------------

MOST = 2**31 - 1
"""The largest value of a Java int."""


# Deliberately too cautious: the value of a misspelt password key is still a password.
_SECRET = re.compile(r"pas+w|pass|pwd|secret|jaas|credential|token|\.key$", re.IGNORECASE)


def shown(key: str, value: str) -> str:
    """Return a value on one line; a secret becomes [hidden], as in Kafka's logs."""
    return "[hidden]" if _SECRET.search(key) else printable(value)


def printable(text: str) -> str:
    """Return text on one line, with control characters escaped."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def quoted(text: str) -> str:
    """Return text for a message: printable, in quotes, at most 60 characters."""
    return f"'{printable(text if len(text) <= 60 else text[:60] + '...')}'"


BY_DURATION = "by_duration:"
"""The beginning of a value of auto.offset.reset that is a duration (KIP-1106)."""


def _one_of(values: Mapping[str, Any], otherwise: str, *, any_case: bool = False) -> Callable[[str], Any]:
    """Return a reader that turns a word into its value; `otherwise` is the message for other words, with the cure."""

    def read(text: str) -> Any:
        word = text.lower() if any_case else text
        if word not in values:
            raise ValueError(f"{quoted(text)} {otherwise}")
        return values[word]

    return read


def _whole(least: int, example: int) -> Callable[[str], int]:
    """Return a reader of whole numbers, from `least` to the greatest Java int; `example` is for the message."""

    def read(text: str) -> int:
        if re.fullmatch(r"[+-]?0*\d{1,10}", text, re.ASCII) is None or not least <= int(text) <= MOST:
            message = f"{quoted(text)} is not a whole number from {least} to {MOST}; write for example {example}"
            raise ValueError(message)
        return int(text)

    return read


def _read_offset_reset(text: str) -> str:
    """Read `auto.offset.reset`, which must be in lower case; smallest and largest are of the old Scala consumer."""
    if text not in ("earliest", "latest", "none", "smallest", "largest") and not text.startswith(BY_DURATION):
        raise ValueError(f"{quoted(text)} is not a policy for offsets; write earliest, latest or none")
    return text


def _read_transactional_id(text: str) -> str:
    if not text:
        raise ValueError("Kafka refuses an empty value; write a name, or leave the key out")
    return text


def _read_process_roles(text: str) -> frozenset[str]:
    """Read the roles of a process in a KRaft cluster; an empty text, as with ZooKeeper, has no roles."""
    roles = [role.strip() for role in text.split(",")] if text else []
    if not {*roles} <= {"broker", "controller"} or len(roles) > len({*roles}):
        raise ValueError(f"{quoted(text)} is no list of process roles; write broker, controller or broker,controller")
    return frozenset(roles)


_true_or_false = _one_of(
    {"true": True, "false": False}, "is neither true nor false; write true or false", any_case=True
)
_times, _count = _whole(0, 0), _whole(1, 2)

READERS: Mapping[str, Callable[[str], Any]] = {
    "acks": _one_of(
        {"all": "all", "-1": "all", "0": "0", "1": "1"}, "is not a value of acks; write all (or -1), 1 or 0"
    ),
    "retries": _times,
    "max.in.flight.requests.per.connection": _whole(1, 5),
    "enable.idempotence": _true_or_false,
    "transactional.id": _read_transactional_id,
    "isolation.level": _one_of(
        {level: level for level in ("read_committed", "read_uncommitted")},
        "is not an isolation level; write read_committed or read_uncommitted",
    ),
    "auto.offset.reset": _read_offset_reset,
    "transaction.timeout.ms": _whole(0, 60000),  # a coordinator refuses 0
    "transaction.max.timeout.ms": _whole(1, 900000),
    "transaction.state.log.min.isr": _count,
    "transaction.state.log.replication.factor": _count,
    "transaction.partition.verification.enable": _true_or_false,
    "transaction.version": _one_of(
        {"0": 0, "1": 1, "2": 2}, "is not 0, 1 or 2; write 2 if transactions end with a new epoch, or 0"
    ),
    "delivery.timeout.ms": _times,
    "linger.ms": _times,
    "request.timeout.ms": _times,
    "min.insync.replicas": _count,
    "replication.factor": _count,
    "default.replication.factor": _count,
    "unclean.leader.election.enable": _true_or_false,
    "auto.leader.rebalance.enable": _true_or_false,
    "inter.broker.protocol.version": version_of_inter_broker_protocol,
    "log.message.format.version": version_of_inter_broker_protocol,
    "message.format.version": version_of_inter_broker_protocol,
    "metadata.version": version_of_metadata,
    "process.roles": _read_process_roles,
    "eligible.leader.replicas.version": _one_of(
        {"0": 0, "1": 1}, "is neither 0 nor 1; write 1 if the feature is on, or 0"
    ),
}
"""The reader of each key that affects the answer; the values of other keys are not interpreted."""


class Layer(IntEnum):
    """Where a setting comes from; if several layers have a key, the highest layer takes precedence."""

    CONTROLLER = 0
    """The file of a process that is only a controller."""
    FILE = 1
    """Any other file."""
    CLUSTER = 2
    """A dynamic default of the cluster."""
    BROKER = 3
    """A dynamic value of one broker."""
    RUNNING = 4
    """The value in effect in a running broker."""


@dataclass(frozen=True)
class Section:
    """The settings of one broker, topic or client (`member`). If `role` is None, the keys determine the role."""

    role: Role | None
    member: str
    properties: tuple[Property, ...]
    layer: Layer = Layer.FILE


# --- Other dialects ----

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
"""For each dialect (the settings of another client or framework), the defaults that differ from a Java client's, or the
consequences of its settings."""

_SPRING = ("spring.kafka.", "spring.cloud.stream.kafka.")
_LAST_OF_A_PREFIX = frozenset({"producer", "consumer", "override", "kafka", "properties", "config"})
"""The last words of prefixes that frameworks put before a key: producer.acks, producer.override.acks, kafka.acks."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_VARIABLES_OF_IMAGES = ("KAFKA_", "CONNECT_", "CONFLUENT_", "SPRING_KAFKA_")
_WITH_UNDERSCORES = re.compile(r"[a-z]+(?:_[a-z0-9]+)+")

_CLIENTS = {Role.PRODUCER, Role.CONSUMER}
_OWN_FILE = "in a .properties file of a Java producer (--producer FILE)"
_FRAMEWORK = "a client in a file of Kafka Connect, Kafka Streams or another framework"
_NOT_READ = "which isrcheck does not read yet"


def file_section(role: Role | None, path: Path) -> Section:
    """Read a property file. Raises PropertiesError, also if it is YAML or the like, or a file of another client."""
    _refuse_shape(path, read_text(path))
    properties = tuple(read_properties(path))
    _refuse_dialect(properties, role)
    return Section(role, str(path), properties)


def without_prefix(key: str) -> str:
    """Return the client's key in a key with a prefix (acks in spring.kafka.producer.acks); empty without a prefix."""
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
    """Refuse a file that is XML, YAML, JSON or the like: its nested entries would be read as other keys."""
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
    """Whether a file is YAML: it begins with ---, or a key without a value has a nested entry in the next line."""

    def is_part(following: str, line: str) -> bool:
        depth, own = (len(text) - len(text.lstrip(" ")) for text in (following, line))
        return depth > own or following.lstrip().startswith("- ")

    begins = bool(lines) and re.match(r"---\s*$", lines[0]) is not None
    return begins or any(
        _YAML_BEGINS.fullmatch(line) and is_part(following, line) for line, following in pairwise(lines)
    )


# --- The keys ---------------------------------------------------------------------------------------------------------


def _refuse_dialect(properties: Sequence[Property], role: Role | None) -> None:
    """Refuse a file of another client, container or framework; the error names a key that the answer reads, if any."""
    of_dialect = [line for line in properties if line.key in _DIALECT_OF]
    if of_dialect:
        counts = next((line for line in properties if _of_java(line) in READERS), None)
        shown_by = counts if counts is not None and counts in of_dialect else of_dialect[0]
        raise _refusal(shown_by, _DIALECT_OF[shown_by.key], counts)
    is_of_broker = any(roles_that_know(line.key) == {Role.BROKER} for line in properties)
    # First the keys that represent a key on which the answer depends.
    meant = [without_prefix(line.key) or _of_variable(_variable(line)) for line in properties]
    for _, line in sorted(zip(meant, properties, strict=True), key=lambda pair: pair[0] not in READERS):
        if roles_that_know(line.key):
            continue
        if variable := _variable(line):
            example = f", as in {key}=..." if (key := _of_variable(variable)) else ""
            raise PropertiesError(
                f"{line.place}: {printable(variable)} is an environment variable of a container, {_NOT_READ}; give its"
                f" settings with their own names{example}"
            )
        if _WITH_UNDERSCORES.fullmatch(line.key) and roles_that_know(dotted := line.key.replace("_", ".")):
            raise PropertiesError(
                f"{line.place}: {line.key} is spelt as in a client of Python, {_NOT_READ}, and which has other defaults"
                f" (kafka-python: acks=1, retries=0); write {dotted}, and give acks, retries and enable.idempotence"
            )
        if line.key.startswith(_SPRING) or (not is_of_broker and without_prefix(line.key)):
            whose = "Spring" if line.key.startswith(_SPRING) else _FRAMEWORK
            key = without_prefix(line.key) or "acks"
            example = _spelled(key, line.value if key in line.key.replace("-", ".") else "")
            raise PropertiesError(
                f"{line.place}: {printable(line.key)}={shown(line.key, line.value.strip())} is a setting of {whose},"
                f" {_NOT_READ}; give {example} and the other settings {_OWN_FILE}"
            )
    if role in _CLIENTS and properties and not any(roles_that_know(line.key) for line in properties):
        raise PropertiesError(
            f"{properties[0].place}: Kafka's Java clients have neither {printable(properties[0].key)} nor any other key"
            f" of this file; give its settings, such as acks, {_OWN_FILE}"
        )


def _of_java(line: Property) -> str:
    """The Java clients' name for a setting of another client or framework; empty if they have no such setting."""
    return _SAME_AS.get(line.key) or without_prefix(line.key)


def _refusal(line: Property, dialect: str, counts: Property | None) -> PropertiesError:
    """The error for a file of another client, as `line` shows; `counts` is a line that affects the answer, or None."""
    given = f"{printable(line.key)}={shown(line.key, line.value.strip())}"
    same = _spelled("acks", "") if counts is None else _spelled(_of_java(counts), counts.value)
    if counts is not None and counts is not line:
        same = f"{same} for {printable(counts.key)} ({counts.place})"
    return PropertiesError(
        f"{line.place}: {given} is a setting of {dialect}, {_NOT_READ}; give {same} and the other settings {_OWN_FILE}:"
        f" its defaults differ ({_DEFAULTS[dialect]})"
    )


def _spelled(key: str, value: str) -> str:
    return f"{key}={shown(key, value.strip())}" if value.strip() else f"{key}=..."


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
