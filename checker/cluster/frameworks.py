"""Reads the files of Kafka Connect, MirrorMaker 2 and Kafka Streams, whose clients are Java clients.

Sources, read in August 2026, in addition to those of `libraries`: Worker (exactlyOnceSourceTaskProducerConfigs) and
ConnectUtils.ensureProperty: exactly-once source support overrides enable.idempotence and transactional.id of a file;
MirrorMakerConfig and MirrorSourceConfig (replication.factor=2 by default); StreamsConfig: unprefixed settings hold for
all clients, and with exactly-once processing, enable.idempotence, transactional.id and isolation.level of a file are
ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from isrcheck.checker.cluster.client_files import CLIENTS, ClientFile, merged, named, set_by, under, without_prefix
from isrcheck.checker.cluster.libraries import EXACTLY_ONCE_SOURCE, GUARANTEE, ClientLibrary
from isrcheck.checker.cluster.property_files import READERS, PropertiesError, Property, Section, quoted, shown
from isrcheck.checker.cluster.releases import Role, keys_of, roles_that_know


def connect_sections(file: ClientFile) -> list[Section]:
    """Read the file of a worker (producer., consumer.) or of a connector (producer.override.)."""
    lines = file.properties
    exactly_once = [
        forced
        for line in lines
        if (line.key, line.value.strip().lower()) == (EXACTLY_ONCE_SOURCE, "enabled")
        for forced in set_by(line, {"enable.idempotence": "true", "transactional.id": "of each task"})
    ]
    of_role: dict[Role, list[Property]] = {}
    for role in CLIENTS:
        own = [line for line in under(lines, f"{role.value}.") if not line.key.startswith("override.")]
        of_role[role] = merged(own, under(lines, f"{role.value}.override."))
    producer = merged(of_role[Role.PRODUCER], exactly_once, _of_framework(lines))
    section = file.section(Role.PRODUCER, producer, ClientLibrary.CONNECT)
    remarks = (*_without_effect(lines, ClientLibrary.CONNECT), *_internal_topics(lines), *_created_topics(lines))
    sections = [replace(section, remarks=remarks)]
    if of_role[Role.CONSUMER]:
        sections.append(file.section(Role.CONSUMER, of_role[Role.CONSUMER], ClientLibrary.CONNECT))
    return sections


def _of_framework(lines: Iterable[Property]) -> list[Property]:
    """Return the properties that configure the framework itself, without those that are read in another way."""
    return [
        line
        for line in lines
        if not roles_that_know(line.key) and not without_prefix(line.key) and not line.key.startswith(_READ_OTHERWISE)
    ]


_READ_OTHERWISE = ("topic.", GUARANTEE, EXACTLY_ONCE_SOURCE)


def _without_effect(lines: Iterable[Property], library: ClientLibrary) -> Iterator[str]:
    """Yield a remark for each setting that counts, but that a framework does not hand on: those of brokers and topics,
    and, in Kafka Connect, those of clients without a prefix."""
    for line in lines:
        roles, given = roles_that_know(line.key), f"{line.key}={shown(line.key, line.value.strip())}"
        if line.key not in READERS or line.key == "replication.factor":
            continue
        if roles.isdisjoint(CLIENTS):
            cure = "give it in a file of its own (--topic, --broker)"
            yield f"{line.place}: {given} is ignored by {library.value}; {cure}"
        elif library is ClientLibrary.CONNECT and len(roles) == 1:
            (role,) = roles
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


_OF_CREATED = re.compile(
    r"topic\.creation\.[^.]+\."
    r"(?P<key>replication\.factor|min\.insync\.replicas|unclean\.leader\.election\.enable)"
)


def _created_topics(lines: Iterable[Property]) -> Iterator[str]:
    """Yield a remark for each setting that counts and that a source connector gives the topics it creates (KIP-158)."""
    for line in lines:
        if (found := _OF_CREATED.fullmatch(line.key)) is not None:
            given = f"{line.key}={shown(line.key, line.value.strip())}"
            yield (
                f"{line.place}: {given} holds for topics that the connector creates, and is not in the answer; for"
                f" them, give {found['key']} in a file of its own (--topic)"
            )


_MIRRORED = re.compile(r"(?:(?P<flow>.+)\.)?(?P<role>producer|consumer)\.(?:override\.)?(?P<key>.+)")


def mirror_maker_sections(file: ClientFile) -> list[Section]:
    """Read the file of MirrorMaker 2, whose clients are those of Kafka Connect: one producer for each prefix."""
    of_flow: dict[tuple[str, Role], list[Property]] = {}
    for line in file.properties:
        if (parts := _MIRRORED.fullmatch(line.key)) is not None:
            own = of_flow.setdefault((parts["flow"] or "", Role(parts["role"])), [])
            own.append(named(line, parts["key"]))
    sections = []
    for role in CLIENTS:
        flows = [flow for flow, of_role in of_flow if of_role is role]
        if not flows and role is Role.CONSUMER:
            continue
        for flow in [flow for flow in flows if flow] or [""]:
            lines = merged(of_flow.get(("", role), []), of_flow.get((flow, role), []))
            sections.append(file.section(role, lines, ClientLibrary.CONNECT, flow))
    sections[0] = replace(sections[0], remarks=tuple(_internal_topics(file.properties)))
    factors = [
        named(line, "replication.factor")
        for line in file.properties
        if re.fullmatch(r"(?:.+->.+\.)?replication\.factor", line.key)
    ]
    if not factors:
        factors = set_by(replace(file.sign, written="MirrorMaker's default"), {"replication.factor": "2"})
    least = sorted(factors, key=lambda line: (_is_of_brokers(line), line.value.strip().zfill(5)))[:1]
    return [*sections, _own_topic(file, least, "topics that MirrorMaker creates")]


def _is_of_brokers(line: Property) -> bool:
    """Whether a property leaves the number of replicas to the brokers' default.replication.factor."""
    return line.key == "replication.factor" and line.value.strip() == "-1"


def _own_topic(file: ClientFile, lines: Sequence[Property], name: str) -> Section:
    """Return the section of the topics that a framework creates for itself."""
    left = [f"{line.written or 'replication.factor=-1'} ({line.place})" for line in lines if _is_of_brokers(line)]
    own = tuple(line for line in lines if not _is_of_brokers(line))
    return Section(Role.TOPIC, f"{file.member} ({name})", own, is_internal=True, left_to_brokers="".join(left[:1]))


_GUARANTEES = ("at_least_once", "exactly_once", "exactly_once_beta", "exactly_once_v2")
"""The values of processing.guarantee that some release of Kafka Streams has (StreamsConfig)."""


def streams_sections(file: ClientFile) -> list[Section]:
    """Read the file of Kafka Streams: its producer, its main consumer, and its own topics."""
    lines = file.properties
    remarks = list(_without_effect(lines, ClientLibrary.STREAMS))
    sections: list[Section] = []
    guarantee = [line for line in lines if line.key == GUARANTEE][-1:]
    for line in guarantee:
        if (word := line.value.strip()) not in _GUARANTEES:
            raise PropertiesError(
                f"{line.place}: {GUARANTEE}: {quoted(word)} is no guarantee of Kafka Streams; write at_least_once or"
                " exactly_once_v2"
            )
    exactly_once = [line for line in guarantee if line.value.strip() != "at_least_once"]
    for role, prefixes, forced in (
        (Role.PRODUCER, ("producer.",), {"enable.idempotence": "true", "transactional.id": "of each thread"}),
        (Role.CONSUMER, ("consumer.", "main.consumer."), {"isolation.level": "read_committed"}),
    ):
        own_keys = keys_of(role)
        shared = [line for line in lines if line.key in own_keys and roles_that_know(line.key) <= {*CLIENTS}]
        given = merged(shared, *(under(lines, prefix) for prefix in prefixes))
        by_framework = [line for sign in exactly_once for line in set_by(sign, forced)]
        for line in given:
            if any(line.key == other.key and line.value.strip() != other.value for other in by_framework):
                text = line.written or f"{line.key}={line.value.strip()}"
                remarks.append(
                    f"{line.place}: {text} is ignored by Kafka Streams, because of {by_framework[0].written}"
                )
        own = _of_framework(lines) if role is Role.PRODUCER else []
        sections.append(file.section(role, merged(given, by_framework, own), ClientLibrary.STREAMS))
    factor = [line for line in lines if line.key == "replication.factor"]
    if topic := [*factor, *under(lines, "topic.")]:
        sections.append(_own_topic(file, topic, "topics of Kafka Streams"))
    return [replace(sections[0], remarks=tuple(remarks)), *sections[1:]]
