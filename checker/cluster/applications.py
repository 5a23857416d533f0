"""Reads the settings of Kafka clients in the configuration of an application of Quarkus or Micronaut.

Sources, read in November 2026: SmallRye Reactive Messaging, through which Quarkus uses Kafka (KafkaConnector, whose
attribute acks is 1 by default; ReactiveKafkaProducer, which gives it to the Java client like a setting of the file);
Micronaut (KafkaProducerConfiguration: what is below kafka, then what is below kafka.producers.NAME).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from isrcheck.checker.cluster.client_files import CLIENTS, ClientFile, dotted, merged, named, under
from isrcheck.checker.cluster.frameworks import streams_sections
from isrcheck.checker.cluster.libraries import ClientLibrary
from isrcheck.checker.cluster.property_files import PropertiesError, Property, Section, printable
from isrcheck.checker.cluster.releases import Role, roles_that_know

# --- Quarkus ---

_PROFILE = re.compile(r"%(?P<profiles>[\w,-]+)\.(?P<key>.+)")
_CHANNEL = re.compile(r'mp\.messaging\.(?P<direction>outgoing|incoming)\.(?P<channel>"[^"]+"|[^.]+)\.(?P<name>.+)')
_ROLES = {"outgoing": Role.PRODUCER, "incoming": Role.CONSUMER}
_CONNECTOR = "smallrye-kafka"
_OF_ALL_CHANNELS = ("kafka.", f"mp.messaging.connector.{_CONNECTOR}.")
_STREAMS, _QUARKUS_STREAMS = "kafka-streams.", "quarkus.kafka-streams."
_PRODUCTION, _OTHERS = "prod", ("dev", "test")


def is_of_quarkus(line: Property) -> bool:
    """Whether a property configures a channel of Reactive Messaging, or Kafka Streams in Quarkus."""
    return _of_profile(line)[1].key.startswith(("mp.messaging.", _STREAMS, _QUARKUS_STREAMS))


def _of_profile(line: Property) -> tuple[Sequence[str], Property]:
    """Return the profiles for which a property holds (none: for all), and the property without them: %dev.KEY."""
    found = _PROFILE.fullmatch(line.key)
    return ([], line) if found is None else (found["profiles"].split(","), named(line, found["key"]))


def quarkus_sections(file: ClientFile) -> list[Section]:
    """Read the configuration of Quarkus: each channel has a client of its own. The profiles for development are left
    out, and named in a remark."""
    profiles: dict[str, list[Property]] = {"": [], _PRODUCTION: []}
    for names, line in map(_of_profile, file.properties):
        for name in names or [""]:
            profiles.setdefault(name, []).append(line)
    # What holds for the profile prod overrides what holds for all.
    common = merged(profiles.pop(""), profiles.pop(_PRODUCTION))
    left_out = [name for name in profiles if name in _OTHERS]
    sections = _of_channels(file, common, "")
    for name, own in profiles.items():
        if name not in left_out:
            sections += _of_channels(file, merged(common, own), f"profile {printable(name)}")
    if not sections:
        raise PropertiesError(
            f"{file.sign.place}: {printable(file.sign.key)} is a setting of Quarkus, but no channel of {_CONNECTOR} is"
            " there; give the file that has the channels (mp.messaging.outgoing. ...)"
        )
    remarks = [f"{file.member}: the profile {name} is for development, and is left out" for name in left_out]
    return [replace(sections[0], remarks=(*sections[0].remarks, *remarks)), *sections[1:]]


def _of_channels(file: ClientFile, lines: Sequence[Property], profile: str) -> list[Section]:
    shared = merged(*(under(lines, prefix) for prefix in _OF_ALL_CHANNELS))
    channels: dict[tuple[Role, str], list[Property]] = {}
    for line in lines:
        if found := _CHANNEL.fullmatch(line.key):
            own = channels.setdefault((_ROLES[found["direction"]], found["channel"].strip('"')), [])
            own.append(named(line, found["name"]))
    sections = []
    for (role, channel), own in channels.items():
        if all(line.key != "connector" or line.value.strip() == _CONNECTOR for line in own):
            name = ", ".join(filter(None, (f"channel {printable(channel)}", profile)))
            sections.append(file.section(role, merged(shared, own), ClientLibrary.SMALLRYE, name))
    if streams := merged(_with_kafkas_names(under(lines, _QUARKUS_STREAMS)), under(lines, _STREAMS)):
        sections += streams_sections(replace(file, properties=streams))
    return sections


# --- Micronaut ---

_CLIENT = re.compile(r"kafka\.(?P<kind>producers|consumers|streams)\.(?P<name>[^.]+)\.(?P<key>.+)")
_KINDS = {"producers": Role.PRODUCER, "consumers": Role.CONSUMER}


def is_of_micronaut(line: Property) -> bool:
    """Whether a property configures a producer, a consumer or Kafka Streams in Micronaut."""
    return _CLIENT.fullmatch(line.key) is not None


def micronaut_sections(file: ClientFile) -> list[Section]:
    """Read the configuration of Micronaut: each named producer and consumer is a client of its own."""
    clients: dict[tuple[str, str], list[Property]] = {}
    for line in file.properties:
        if found := _CLIENT.fullmatch(line.key):
            clients.setdefault((found["kind"], found["name"]), []).append(named(line, found["key"]))
    others = [line for line in file.properties if not is_of_micronaut(line)]
    shared = [line for line in _with_kafkas_names(under(others, "kafka.")) if roles_that_know(line.key) & {*CLIENTS}]
    sections = []
    for (kind, name), own in clients.items():
        lines = merged(shared, _with_kafkas_names(own))
        client = replace(file, sign=own[0])
        if kind == "streams":
            sections += streams_sections(replace(client, member=f"{file.member} ({printable(name)})", properties=lines))
        else:
            sections.append(client.section(_KINDS[kind], lines, ClientLibrary.JAVA, printable(name)))
    return sections


def _with_kafkas_names(lines: Sequence[Property]) -> list[Property]:
    """Return properties with Kafka's names of their keys, which a framework also takes with hyphens."""
    return [line if roles_that_know(line.key) else named(line, dotted(line.key)) for line in lines]
