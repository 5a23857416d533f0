"""Reads the settings of Kafka clients in YAML and JSON: of Spring, Kafka Connect, and the client libraries.

The values of a document become properties, with the names of the entries around them: `spring.kafka.producer.acks`.
If the whole is the file of a framework, `dialects` reads it at once, all documents together, because a document of
Spring can be a profile that changes the others. Otherwise each group of entries that configures a client is read by
itself, wherever it is: in the `config` of a connector, or in the `producer` of an application.
"""

from __future__ import annotations

from collections.abc import Iterator

from isrcheck.checker.cluster.contents import Contents
from isrcheck.checker.cluster.dialects import client_sections, has_clients, is_nested, sections_of_any_library
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.tree import Tree
from isrcheck.checker.cluster.property_files import Property, printable
from isrcheck.checker.cluster.releases import Role


def _recognises(part: Part) -> bool:
    return is_nested(_flat(part.tree)) or any(_groups(part.tree))


def _read(part: Part, contents: Contents) -> None:
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


CLIENTS = Format("settings of Kafka clients (Spring, Kafka Connect, librdkafka, Sarama, ...)", _recognises, _read)
