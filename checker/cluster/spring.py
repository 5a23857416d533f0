"""Reads the settings of Kafka clients in the configuration of a Spring application.

Sources, read in August 2026: Spring Boot's KafkaProperties (buildProducerProperties: `properties.*` overrides the named
settings, and a client's settings override the common ones); the Kafka binder of Spring Cloud Stream
(KafkaMessageChannelBinder.getProducerFactory: what Spring Boot has, then the binder's, then the binding's settings).
Names in brackets, with and without a dot before them, and names without them are the same (spring-boot issues 13506 and
23390; MapBinder).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from isrcheck.checker.cluster.client_files import CLIENTS, OWN_FILE, ClientFile, dotted, merged, named
from isrcheck.checker.cluster.frameworks import streams_sections
from isrcheck.checker.cluster.libraries import ClientLibrary
from isrcheck.checker.cluster.property_files import READERS, PropertiesError, Property, Section, printable
from isrcheck.checker.cluster.releases import Role, roles_that_know

SPRING = ("spring.kafka.", "spring.cloud.stream.kafka.", "spring.cloud.stream.binders.")
_PROFILE = ("spring.config.activate.on-profile", "spring.config.activate.onProfile", "spring.profiles")

_BINDER = re.compile(
    r"spring\.cloud\.stream\.kafka\.(?:binder\.(?:transaction\.(?=producer\.))?|bindings\.(?P<binding>[^.]+)\.)"
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
_OF_NAMED_BINDER = re.compile(
    r"spring\.cloud\.stream\.binders\.(?P<binder>[^.]+)\.(?:(?P<type>type)|environment\.(?P<name>.+))"
)
_BINDER_OF_BINDING = re.compile(r"spring\.cloud\.stream\.bindings\.(?P<binding>[^.]+)\.binder")
_KAFKA_BINDERS = ("kafka", "kstream", "ktable", "globalktable")
_SPRING_NAMES = {"transaction.id.prefix": "transactional.id", "transaction.transaction.id.prefix": "transactional.id"}


@dataclass
class _Factory:
    """The settings of one factory of Spring, in the order in which they override each other."""

    sign: Property
    layers: dict[tuple[str, bool], list[Property]] = field(default_factory=dict)
    """By the role (producer, consumer, streams, or empty for all clients), and whether Kafka's own name is given."""

    def lines(self, role: str) -> list[Property]:
        """The settings of a role."""
        return merged(*(self.layers.get(layer, []) for layer in (("", False), ("", True), (role, False), (role, True))))


def spring_sections(member: str, documents: Sequence[Sequence[Property]]) -> list[Section]:
    """Read the configuration of a Spring application: each profile, factory and binding has clients of its own."""
    profiles: dict[str, list[Property]] = {"": []}
    for document in ([named(line, _without_brackets(line.key)) for line in lines] for lines in documents):
        profile = next((line.value.strip() for line in document if line.key in _PROFILE), "")
        profiles[profile] = _overridden(profiles.get(profile, []), document)
    sections: list[Section] = []
    for profile, own in profiles.items():
        lines = _overridden(profiles[""], own) if profile else own
        for binder, of_binder in _of_binders(lines).items():
            words = [f"profile {printable(profile)}"] if profile else []
            words += [f"binder {printable(binder)}"] if binder else []
            sections += _of_lines(member, of_binder, binder, words)
    if not sections:
        sign = next(line for document in documents for line in document if line.key.startswith(SPRING))
        raise PropertiesError(
            f"{sign.place}: {printable(sign.key)} is a setting of Spring, but no producer or consumer is known to use"
            f" it; give acks=... and the other settings {OWN_FILE}"
        )
    return sections


def _without_brackets(key: str) -> str:
    """Return a key without brackets around names: properties.acks for properties[acks] and properties.[acks]."""
    return re.sub(r"\.?\[(?!\d+\])([^\]]+)\]", r".\1", key)


def _overridden(lines: Sequence[Property], by: Sequence[Property]) -> list[Property]:
    """Return lines with those of another document, which override them, whatever the spelling: autoOffsetReset and
    auto-offset-reset are the same."""
    later = {dotted(line.key) for line in by}
    return [*(line for line in lines if dotted(line.key) not in later), *by]


def _of_binders(lines: Sequence[Property]) -> dict[str, Sequence[Property]]:
    """Return what holds for each named binder: the lines of the file, without those of the bindings of other binders,
    and then its own environment. The name is empty for what belongs to no named binder."""
    binders: dict[str, list[Property]] = {}
    bindings: dict[str, str] = {}
    others, default = [], ""
    for line in lines:
        if found := _OF_NAMED_BINDER.fullmatch(line.key):
            own = binders.setdefault(found["binder"], [])
            own.append(named(line, found["name"] or "type"))
        elif found := _BINDER_OF_BINDING.fullmatch(line.key):
            bindings[found["binding"]] = line.value.strip()
        elif dotted(line.key) == "spring.cloud.stream.default.binder":
            default = line.value.strip()
        else:
            others.append(line)
    if not binders:
        return {"": lines}
    default = default or (next(iter(binders)) if len(binders) == 1 else "")
    of_binders: dict[str, Sequence[Property]] = {"": [line for line in others if not line.key.startswith(_OF_BINDER)]}
    for name, own in binders.items():
        if all(line.key != "type" or line.value.strip() in _KAFKA_BINDERS for line in own):
            of_others = {
                line
                for line in others
                if (binding := _BINDER.fullmatch(line.key)) is not None
                and binding["binding"]
                and bindings.get(binding["binding"], default) != name
            }
            of_binders[name] = merged((line for line in others if line not in of_others), own)
    return of_binders


def _of_lines(member: str, lines: Sequence[Property], binder: str, words: Sequence[str]) -> Iterator[Section]:
    """Yield the sections of the factories in some lines; `words` tell these lines from others of the file."""
    factories = _factories(lines)
    if binder:
        factories.setdefault(_OF_BINDER, _Factory(lines[-1]))
    common = factories.get(_OF_BINDER)
    for name, factory in factories.items():
        if name.startswith(_OF_BINDER):
            bases = [factories[_OF_SPRING]] if _OF_SPRING in factories else []
            bases += [common] if common and factory is not common else []
            library = ClientLibrary.BINDER
        elif binder:
            continue  # the factories outside the binders are read once, by themselves
        else:
            bases, library = [], ClientLibrary.JAVA
        told = [*words, printable(name)] if name != _OF_SPRING and len(factories) > 1 else words
        yield from _of_factory(ClientFile(member, None, lines, factory.sign), factory, bases, library, ", ".join(told))


def _of_factory(
    file: ClientFile, factory: _Factory, bases: Sequence[_Factory], library: ClientLibrary, name: str
) -> Iterator[Section]:
    given = {role for role, _ in factory.layers}
    if "streams" in given:
        member = f"{file.member} ({name})" if name else file.member
        yield from streams_sections(replace(file, member=member, properties=factory.lines("streams")))
    for role in CLIENTS:
        if role.value in given or (role is Role.PRODUCER and "streams" not in given):
            lines = merged(*(base.lines(role.value) for base in bases), factory.lines(role.value))
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
        key = parts["name"] if raw else dotted(parts["name"])
        if binder is not None and key == "required.acks":
            key, role = "acks", "producer"
        value = re.sub("-", "_", line.value.strip()).lower() if key == "isolation.level" else line.value
        if role in ("producer", "consumer") and key in READERS and roles_that_know(key) & {*CLIENTS}:
            counts.add(name)
        factory = factories.setdefault(name, _Factory(line))
        factory.layers.setdefault((role, raw), []).append(named(line, _SPRING_NAMES.get(key, key), value))
    return {name: factory for name, factory in factories.items() if name in counts}
