"""Reads settings in YAML and JSON that have Kafka's own names, or those of client libraries and frameworks.

They are the entries of a document for brokers or topics, files in a `ConfigMap` of Kubernetes, or the entries of
clients. Those become properties, with the names of the entries around them: `spring.kafka.producer.acks`. If the whole
is the file of a framework, `dialects` reads all its documents at once, because a document of Spring can be a profile
that changes the others. Otherwise each group of entries that configures a client is read by itself, wherever it is: in
the `config` of a connector, or in the `producer` of an application.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from isrcheck.checker.cluster.contents import Contents, listed
from isrcheck.checker.cluster.dialects import client_sections, has_clients, is_nested, sections_of_any_library
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.tree import Tree
from isrcheck.checker.cluster.formats.values import settings_of, text_of_properties
from isrcheck.checker.cluster.property_files import PropertiesError, Property, Section, printable
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


# --- files in a ConfigMap ---


def _files(part: Part) -> Mapping[str, Sequence[Section]]:
    """Return the sections of each entry of a ConfigMap, by its name; none of an entry that is not a property file or a
    YAML or JSON document of Kafka or of its clients."""
    if part.tree.text_at("kind") != "ConfigMap":
        return {}
    of_map = f"in the ConfigMap {part.tree.text_at('metadata', 'name')}"
    entries = part.tree.at("data").entries
    return {name: _sections_of_file(name, value, part.role, f"{name} {of_map}") for name, value in entries.items()}


def _sections_of_file(name: str, value: Tree, role: Role | None, member: str) -> Sequence[Section]:
    is_text = value.is_block or "\n" in (value.text or "")
    if is_text and name.endswith((".properties", ".config", ".conf", ".cfg")):
        settings = text_of_properties(value)
        if any(roles_that_know(one.key) for one in settings) or has_clients(settings) or is_nested(settings):
            return client_sections(role, member, [settings])
    elif value.text and name.endswith((".yml", ".yaml", ".json")):
        trees = _trees(value)
        return [section for tree in trees for section in _sections_of_clients(tree, trees, role, member)]
    return []


def _trees(value: Tree) -> Sequence[Tree]:
    """Return the documents in the text of a value, with their places in the file around it; none if it has another
    format."""
    from isrcheck.checker.cluster.formats.documents import read_trees  # here, for most files need no parser of YAML

    try:
        trees = read_trees(value.path, "\n" * value.line + (value.text or ""))  # the text begins in the line below
    except PropertiesError:
        return ()
    return trees if value.is_block else [_moved(tree, value.line) for tree in trees]


def _moved(tree: Tree, line: int) -> Tree:
    """Return a document whose values are all in one line of the file around it, as a text in quotes."""
    entries = {name: _moved(entry, line) for name, entry in tree.entries.items()}
    return replace(tree, line=line, items=tuple(_moved(item, line) for item in tree.items), entries=entries)


def _read_files(part: Part, contents: Contents) -> None:
    files = _files(part)
    for sections in files.values():
        contents.sections += sections
    if left_out := [name for name, sections in files.items() if not sections]:
        contents.remarks.append(
            f"{part.tree.at('data').place}: entries of the ConfigMap {printable(part.tree.text_at('metadata', 'name'))}"
            f" without known settings of Kafka are left out: {listed(left_out)}"
        )


# --- entries for clients ---


def _read_clients(part: Part, contents: Contents) -> None:
    documents: Sequence[Tree] = [part.tree]
    if is_nested(_flat(part.tree)):
        from isrcheck.checker.cluster.formats.documents import read_trees  # here, as above

        documents = read_trees(part.path, part.text)
    contents.sections += _sections_of_clients(part.tree, documents, part.role, str(part.path))


def _sections_of_clients(tree: Tree, documents: Sequence[Tree], role: Role | None, member: str) -> Sequence[Section]:
    """Return the sections of one of the documents of a file; if the whole is the file of a framework, those of all
    documents for the first of its documents, and none for the others."""
    own = _flat(tree)
    if is_nested(own):
        flat = [_flat(document) for document in documents]
        is_first = own == next((document for document in flat if is_nested(document)), own)
        return client_sections(role, member, flat) if is_first else []
    found: list[Section] = []
    for name, group in _groups(tree):
        of_group = f"{member} ({printable(name)})" if name else member
        own_role = role or _role_of(name)
        sections = client_sections(own_role, of_group, [group])
        is_decided = all(section.library is not None for section in sections)
        found += sections if is_decided else sections_of_any_library(own_role, of_group, group)
    return found


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


CONFIG_MAPS = Format(
    "a ConfigMap with files of brokers or clients", lambda part: any(_files(part).values()), _read_files
)
SERVERS = Format("settings of brokers or topics as YAML or JSON", _has_settings, _read_settings)
CLIENTS = Format(
    "settings of Kafka clients (Spring, Kafka Connect, librdkafka, Sarama, ...)",
    lambda part: is_nested(_flat(part.tree)) or any(_groups(part.tree)),
    _read_clients,
)
