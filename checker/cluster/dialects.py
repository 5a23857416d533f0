"""Reads the settings of clients from the files of client libraries and frameworks, each with its own names of settings.

A file is recognised by its keys, never by its name. Its settings are translated to the names of Kafka's Java clients;
each keeps its place and the text of its file. `libraries` has the defaults that each library has of its own. A file
can configure several clients: those of Kafka Connect, Kafka Streams, MirrorMaker 2, or several factories and profiles
of Spring. Each becomes a `Section`.

What cannot belong to a known library is refused by a PropertiesError, which says what to give instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from isrcheck.checker.cluster.applications import is_of_micronaut, is_of_quarkus, micronaut_sections, quarkus_sections
from isrcheck.checker.cluster.client_files import (
    CLIENTS,
    OWN_FILE,
    ClientFile,
    dotted,
    key_of_variable,
    named,
    without_prefix,
)
from isrcheck.checker.cluster.frameworks import connect_sections, mirror_maker_sections, streams_sections
from isrcheck.checker.cluster.libraries import KEYS_OF, NAMES_OF_SARAMA, ClientLibrary
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
from isrcheck.checker.cluster.releases import Role, roles_that_know
from isrcheck.checker.cluster.spring import SPRING, spring_sections


def text_sections(role: Role | None, path: Path, text: str) -> list[Section]:
    """Read the text of a property file. Raises PropertiesError, also for keys of no known library."""
    properties = properties_of(path, text)
    # Spring separates the documents of a file by such a comment.
    breaks = [number for number, line in enumerate(LINE_END.split(text), 1) if re.match(r"[#!]---\s*$", line)]
    ends = [0, *breaks, len(text) + 1]
    documents = [[line for line in properties if begin < line.line <= end] for begin, end in pairwise(ends)]
    return client_sections(role, str(path), documents)


def client_sections(role: Role | None, member: str, documents: Sequence[Sequence[Property]]) -> list[Section]:
    """Return the sections of the documents of a file. Raises PropertiesError for keys of no known library. A file with
    the keys of Kafka's own brokers, topics and Java clients is one section."""
    documents = [[_from_environment(line) for line in document] for document in documents]
    properties = tuple(line for document in documents for line in document)
    if any(line.key.startswith(SPRING) for line in properties):
        return spring_sections(member, documents)
    _refuse_kafkajs(properties)
    for recognises, read in _DIALECTS:
        if (sign := next((line for line in properties if recognises(line)), None)) is not None:
            return read(ClientFile(member, role, properties, sign))
    _refuse_unknown(properties, role)
    return [Section(role, member, properties)]


OF_CLIENTS = ("CONNECT_", "SPRING_KAFKA_")
"""The beginnings of the environment variables that configure Kafka Connect and Spring."""


def _from_environment(line: Property) -> Property:
    """Return the property that an environment variable sets: producer.acks for CONNECT_PRODUCER_ACKS (of Confluent's
    and Debezium's images of Kafka Connect), spring.kafka.producer.acks for SPRING_KAFKA_PRODUCER_ACKS."""
    name, value = _variable(line)
    if not name.startswith(OF_CLIENTS):
        return line
    key = key_of_variable(name.removeprefix("CONNECT_"))
    return replace(line, key=key, value=value.strip("\"'"), written=f"{name}={shown(key, value)}")


def _variable(line: Property) -> tuple[str, str]:
    """Return the name and the value of the environment variable that a line sets, NAME=VALUE or export NAME=VALUE."""
    name, _, value = line.value.partition("=") if line.key == "export" else (line.key, "=", line.value)
    return name.strip(), value.strip()


def has_clients(properties: Iterable[Property]) -> bool:
    """Whether properties configure clients: by a key of a library or framework, or of Kafka's own Java clients."""
    keys = [_from_environment(line).key for line in properties]
    return any(
        (key in _OF_ANY_LIBRARY and key != "log_level")  # which any application may have
        or dotted(key) in _SIGNS
        or (_PROPERTY_OF_DOTNET.fullmatch(key) is not None and dotted(key) in _OF_ANY_LIBRARY)
        for key in keys
    )


def is_nested(properties: Iterable[Property]) -> bool:
    """Whether properties, with the names of the entries around them, are those of Spring, Quarkus, Micronaut or
    Sarama."""
    return any(
        line.key.startswith(SPRING) or is_of_quarkus(line) or is_of_micronaut(line) or _field_of_sarama(line)
        for line in properties
    )


_SIGNS = frozenset(
    {"acks", "auto.offset.reset", "bootstrap.servers", "enable.idempotence", "isolation.level", "transactional.id"}
)
"""Keys that show a Kafka client in a file that may configure anything."""


# --- Other libraries: librdkafka, Sarama, and the clients of Python ---------------------------------------------------

_OF_ANY_LIBRARY = _SIGNS.union(*KEYS_OF.values())

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


def _translated(line: Property, key: str) -> Property:
    """Return a property of another library with the Java clients' names of its key and value."""
    return named(line, key, _VALUES.get(key, {}).get(line.value.strip().lower().removeprefix("sarama.")))


_PROPERTY_OF_DOTNET = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+")


def _is_of_dotnet(line: Property) -> bool:
    """Whether a key is a property of confluent-kafka for .NET, such as BootstrapServers and EnableIdempotence."""
    key = dotted(line.key)
    is_known = not roles_that_know(key).isdisjoint(CLIENTS) or key in KEYS_OF[ClientLibrary.LIBRDKAFKA]
    return is_known and _PROPERTY_OF_DOTNET.fullmatch(line.key) is not None


def _dotnet(file: ClientFile) -> list[Section]:
    return _librdkafka(replace(file, properties=[named(line, dotted(line.key)) for line in file.properties]))


def _librdkafka(file: ClientFile) -> list[Section]:
    is_scala = any(line.key in KEYS_OF[ClientLibrary.SCALA] for line in file.properties)
    library = ClientLibrary.SCALA if is_scala else ClientLibrary.LIBRDKAFKA
    lines = []
    for line in file.properties:
        key = line.key.removeprefix("topic.") if not roles_that_know(line.key) else line.key
        key = _ALIASES.get(key, key)
        lines.append(_translated(line, key if roles_that_know(key) else line.key))
    return file.of_roles(lines, library)


def _field_of_sarama(line: Property) -> str:
    """Return the Java clients' name of a field of Sarama's Config, in any spelling (requiredAcks, required_acks) and
    perhaps within other fields; empty for another key."""
    name = re.sub("[-_]", "", line.key).lower()
    return next((key for key, field in NAMES_OF_SARAMA.items() if f".{name}".endswith(f".{field.lower()}")), "")


def _sarama(file: ClientFile) -> list[Section]:
    lines = [_translated(line, _field_of_sarama(line) or line.key) for line in file.properties]
    return file.of_roles(lines, ClientLibrary.SARAMA)


_WITH_UNDERSCORES = re.compile(r"[a-z]+(?:_[a-z0-9]+)+")
_KEYS_OF_KAFKA_PYTHON = """
    allow_auto_create_topics batch_size bootstrap_timeout_ms buffer_memory client_dns_lookup delivery_timeout_ms
    max_block_ms max_in_flight_requests_per_connection metric_reporters metrics_enabled metrics_num_samples
    metrics_sample_window_ms partition_assignment_strategy receive_buffer_bytes reconnect_backoff_max_ms
    reconnect_backoff_ms retries send_buffer_bytes socket_options ssl_cafile ssl_certfile ssl_check_hostname
    ssl_ciphers ssl_crlfile ssl_keyfile ssl_password
"""
_ONLY_IN = {
    ClientLibrary.KAFKA_PYTHON: frozenset(_KEYS_OF_KAFKA_PYTHON.split()),
    ClientLibrary.AIOKAFKA: frozenset({"max_batch_size"}),
}
"""The keys that only one of the clients of Python has."""


def _is_of_python(line: Property) -> bool:
    is_known = not roles_that_know(dotted(line.key)).isdisjoint(CLIENTS)
    return is_known and _WITH_UNDERSCORES.fullmatch(line.key) is not None


def _python(file: ClientFile) -> list[Section]:
    """Read the settings of kafka-python or aiokafka; if no key decides between them, return sections of both."""
    keys = {line.key for line in file.properties}
    decided = [library for library, own in _ONLY_IN.items() if not keys.isdisjoint(own)]
    lines = [
        _translated(line, dotted(line.key) if roles_that_know(dotted(line.key)) else line.key)
        for line in file.properties
        if line.value.strip() not in ("None", "null")
    ]
    return _read_as(decided[:1] or list(_ONLY_IN), file, lines)


def _read_as(libraries: Sequence[ClientLibrary], file: ClientFile, lines: Sequence[Property]) -> list[Section]:
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
    return _read_as(libraries, ClientFile(member, role, properties, properties[0]), properties)


def _refuse_kafkajs(properties: Sequence[Property]) -> None:
    """Refuse a configuration of KafkaJS (maxInFlightRequests; idempotent beside acks), which resembles Sarama's."""
    names = [line.key.rpartition(".")[2] for line in properties]
    if "maxInFlightRequests" in names or {"idempotent", "acks"} <= {*names}:
        sign = properties[names.index("maxInFlightRequests" if "maxInFlightRequests" in names else "idempotent")]
        raise PropertiesError(
            f"{sign.place}: {printable(sign.key)} is a setting of KafkaJS, or of another client of Node.js, whose"
            " defaults isrcheck does not know; give acks, enable.idempotence, retries and"
            f" max.in.flight.requests.per.connection {OWN_FILE}"
        )


_OF_A_FLOW = re.compile(r"[\w*.-]+->[\w*.-]+\..+")

_DIALECTS: Sequence[tuple[Callable[[Property], bool], Callable[[ClientFile], list[Section]]]] = (
    (is_of_quarkus, quarkus_sections),
    (is_of_micronaut, micronaut_sections),
    (lambda line: _OF_A_FLOW.fullmatch(line.key) is not None, mirror_maker_sections),
    (lambda line: line.key in KEYS_OF[ClientLibrary.CONNECT], connect_sections),
    (lambda line: line.key in KEYS_OF[ClientLibrary.STREAMS], streams_sections),
    (lambda line: _field_of_sarama(line) != "", _sarama),
    (lambda line: line.key in KEYS_OF[ClientLibrary.LIBRDKAFKA] | KEYS_OF[ClientLibrary.SCALA], _librdkafka),
    (_is_of_dotnet, _dotnet),
    (_is_of_python, _python),
)
"""For each dialect, how one of its properties is recognised, and its reader."""


# --- Keys of no known library -----------------------------------------------------------------------------------------

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_VARIABLES_OF_IMAGES = ("KAFKA_", "CONFLUENT_")


def _refuse_unknown(properties: Sequence[Property], role: Role | None) -> None:
    """Refuse environment variables, and settings of clients that the file attributes to no library or framework; the
    error names a key on which the answer depends, if any."""
    is_of_broker = any(roles_that_know(line.key) == {Role.BROKER} for line in properties)
    unknown = [line for line in properties if not roles_that_know(line.key)]
    meant = {line: without_prefix(line.key) or _meant(_variable(line)[0]) for line in unknown}
    for line in sorted(unknown, key=lambda line: meant[line] not in READERS):
        variable, _ = _variable(line)
        if _VARIABLE.fullmatch(variable) and (variable.startswith(_VARIABLES_OF_IMAGES) or _meant(variable)):
            example = f", as in {key}=..." if (key := _meant(variable)) else ""
            raise PropertiesError(
                f"{line.place}: {printable(variable)} is an environment variable of a container that is neither a"
                f" broker nor Kafka Connect; give its settings with their own names{example}"
            )
        if _WITH_UNDERSCORES.fullmatch(line.key) and roles_that_know(dotted(line.key)):
            raise PropertiesError(f"{line.place}: Kafka has no key {line.key}; write {dotted(line.key)}")
        if not is_of_broker and (key := without_prefix(line.key)):
            example = f"{key}={shown(key, line.value.strip()) or '...'}"
            raise PropertiesError(
                f"{line.place}: {printable(line.key)}={shown(line.key, line.value.strip())} is a setting of a client in"
                " a file of a framework, but no key shows which; give the whole file (of Kafka Connect, Kafka Streams,"
                f" Spring, ...), or give {example} and the other settings {OWN_FILE}"
            )
    if role in (None, *CLIENTS) and properties and len(unknown) == len(properties):
        whose, cure = "no client library that isrcheck knows", f"give its settings, such as acks, {OWN_FILE}"
        if role is None:
            whose = "neither Kafka nor a client library that isrcheck knows"
            cure = "correct the keys, or give the output of kafka-topics --describe or another file that"
            cure += " docs/your_cluster.md lists"
        # What is not a key can be anything, for example a line of code with a password.
        key = properties[0].key if re.fullmatch(r"[\w.-]+", properties[0].key) else "this text"
        raise PropertiesError(f"{properties[0].place}: {whose} has {key} or any other key of this file; {cure}")


def _meant(variable: str) -> str:
    """Return the Kafka key with which the name of an environment variable ends (acks in ORDERS_ACKS); empty if none."""
    words = key_of_variable(variable).split(".")
    tails = (".".join(words[start:]) for start in range(len(words)))
    return next((tail for tail in tails if roles_that_know(tail)), "")
