"""Reads settings in YAML and JSON that have Kafka's own names, or those of client libraries and frameworks.

They are the entries of a document for brokers or topics, property files in a `ConfigMap` of Kubernetes, or the entries
of clients. Those become properties, with the names of the entries around them: `spring.kafka.producer.acks`. If the
whole is the file of a framework, `dialects` reads all its documents at once, because a document of Spring can be a
profile that changes the others. Otherwise each group of entries that configures a client is read by itself, wherever it
is: in the `config` of a connector, or in the `producer` of an application.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isrcheck.checker.cluster.contents import Contents
from isrcheck.checker.cluster.dialects import client_sections, has_clients, is_nested, sections_of_any_library
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.tree import Tree
from isrcheck.checker.cluster.formats.values import settings_of, text_of_properties
from isrcheck.checker.cluster.property_files import Property, Section, printable
from isrcheck.checker.cluster.releases import Role, roles_that_know

# --- entries for brokers and topics ---

_OF_SERVERS = {Role.BROKER, Role.TOPIC}


def _has_settings(part: Part) -> bool:
    """Whether the entries have keys of brokers or topics, and none that Kafka does not know, such as application.id of
    Kafka Streams, unless the command line says that the file is a broker's or a topic's."""
    known = [roles_that_know(key) for key in part.tree.entries]
    return any(roles and roles <= _OF_SERVERS for roles in known) and (all(known) or part.role in _OF_SERVERS)


def _read_settings(part: Part, contents: Contents) -> None:
    contents.sections.append(Section(part.role, str(part.path), tuple(settings_of(part.tree))))


# --- property files in a ConfigMap ---


def _property_files(part: Part) -> Iterator[tuple[str, Sequence[Property]]]:
    """Yield the entries of a ConfigMap that are property files of Kafka or of its clients, each with its name."""
    if part.tree.text_at("kind") != "ConfigMap":
        return
    for name, value in part.tree.at("data").entries.items():
        is_text = value.is_block or "\n" in (value.text or "")
        if is_text and name.endswith((".properties", ".config", ".conf", ".cfg")):
            settings = text_of_properties(value)
            if any(roles_that_know(one.key) for one in settings) or has_clients(settings) or is_nested(settings):
                yield name, settings


def _read_property_files(part: Part, contents: Contents) -> None:
    map_name = part.tree.text_at("metadata", "name")
    for name, settings in _property_files(part):
        contents.sections += client_sections(part.role, f"{name} in the ConfigMap {map_name}", [settings])


# --- entries for clients ---


def _read_clients(part: Part, contents: Contents) -> None:
    own = _flat(part.tree)
    if is_nested(own):
        from isrcheck.checker.cluster.formats.documents import read_trees  # here, for most files need no parser of YAML

        documents = [_flat(tree) for tree in read_trees(part.path, part.text)]
        if own == next((document for document in documents if is_nested(document)), own):
            contents.sections += client_sections(part.role, str(part.path), documents)
        return
    for name, group in _groups(part.tree):
        member = f"{part.path} ({printable(name)})" if name else str(part.path)
        role = part.role or _role_of(name)
        sections = client_sections(role, member, [group])
        is_decided = all(section.library is not None for section in sections)
        contents.sections += sections if is_decided else sections_of_any_library(role, member, group)


def _role_of(name: str) -> Role | None:
    """Return the role that the name of a group of entries shows: kafka.producer, orderConsumer."""
    last = name.rpartition(".")[2].lower()
    return next((role for role in (Role.PRODUCER, Role.CONSUMER) if role.value in last), None)


def _flat(tree: Tree, name: str = "") -> list[Property]:
    """Return the values of a document, with the names of the entries around them; those of a list have its name."""
    if tree.unknown and tree.text is None:
        return []
    if tree.entries:
        parts = ((f"{name}.{key}" if name else key, entry) for key, entry in tree.entries.items())
        return [line for key, entry in parts for line in _flat(entry, key)]
    if tree.items:
        texts = [item.text for item in tree.items if item.text is not None]
        return [Property(name, ",".join(texts), tree.path, tree.line)] if texts else []
    return [] if tree.text is None else [Property(name, tree.text, tree.path, tree.line)]


def _groups(tree: Tree, name: str = "") -> Iterator[tuple[str, list[Property]]]:
    """Yield each group of entries that configures a client, with its name."""
    own = [line for key, entry in tree.entries.items() if not entry.entries for line in _flat(entry, key)]
    if has_clients(own):
        yield name, own
        return
    for key, entry in tree.entries.items():
        yield from _groups(entry, f"{name}.{key}" if name else key)
    for item in tree.items:
        yield from _groups(item, name)


CONFIG_MAPS = Format("a ConfigMap with a property file", lambda part: any(_property_files(part)), _read_property_files)
SERVERS = Format("settings of brokers or topics as YAML or JSON", _has_settings, _read_settings)
CLIENTS = Format(
    "settings of Kafka clients (Spring, Kafka Connect, librdkafka, Sarama, ...)",
    lambda part: is_nested(_flat(part.tree)) or any(_groups(part.tree)),
    _read_clients,
)
