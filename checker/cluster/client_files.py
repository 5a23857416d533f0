"""Files that configure clients: their properties, translated to the names of Kafka's Java clients, become sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from isrcheck.checker.cluster.libraries import ClientLibrary
from isrcheck.checker.cluster.property_files import Property, Section, printable, shown
from isrcheck.checker.cluster.releases import Role, roles_that_know

CLIENTS = (Role.PRODUCER, Role.CONSUMER)
OWN_FILE = "in a .properties file of a Java producer (--producer FILE)"
"""Where a message asks for the settings of a client that cannot be read."""


@dataclass(frozen=True)
class ClientFile:
    """The properties of a file whose dialect is recognised."""

    member: str
    role: Role | None
    properties: Sequence[Property]
    sign: Property
    """The first property that shows the dialect."""

    def section(self, role: Role, properties: Iterable[Property], library: ClientLibrary, name: str = "") -> Section:
        """Return the section of one client, without settings that only other clients have; `name` tells several clients
        of the file apart."""
        (other,) = {*CLIENTS} - {role}
        own = tuple(line for line in properties if roles_that_know(line.key) != {other})
        member = f"{self.member} ({name})" if name else self.member
        shown_by = f"{self.sign.place}: {printable(self.sign.key)}"
        return Section(role, member, own, library=library, shown_by=shown_by)

    def of_roles(self, properties: Sequence[Property], library: ClientLibrary) -> list[Section]:
        """Return a section for the producer, the consumer or both, as the keys or the command line say. A file that has
        keys of neither, and for example only says how to connect, is a producer's."""
        known_by = {roles_that_know(line.key) for line in properties}
        roles = [role for role in CLIENTS if role is self.role or {role} in known_by] or [Role.PRODUCER]
        return [self.section(role, properties, library) for role in roles]


def named(line: Property, key: str, value: str | None = None) -> Property:
    """Return a property with a Java client's name of its key and, if given, of its value. The property keeps the
    spelling of its file in `written`."""
    value = line.value if value is None else value
    written = line.written or f"{printable(line.key)}={shown(line.key, line.value.strip())}"
    return line if (key, value) == (line.key, line.value) else replace(line, key=key, value=value, written=written)


def under(properties: Iterable[Property], prefix: str) -> list[Property]:
    """Return the properties with a prefix, without it."""
    return [named(line, line.key.removeprefix(prefix)) for line in properties if line.key.startswith(prefix)]


def merged(*layers: Iterable[Property]) -> list[Property]:
    """Return the properties of all layers; a key of a later layer hides that of earlier layers."""
    kept: list[Property] = []
    for layer in map(list, layers):
        keys = {line.key for line in layer}
        kept = [line for line in kept if line.key not in keys] + layer
    return kept


def set_by(line: Property, values: Mapping[str, str]) -> list[Property]:
    """Return the properties that a framework sets because of a line of its file."""
    return [named(line, key, value) for key, value in values.items()]


def dotted(name: str) -> str:
    """Return a name in Kafka's form: auto.offset.reset for auto-offset-reset, autoOffsetReset and AutoOffsetReset."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", ".", name).replace("-", ".").replace("_", ".").lower()


def key_of_variable(variable: str, prefix: str = "") -> str:
    """Return the key that the images of Kafka's containers take from an environment variable (KAFKA_NODE_ID: node.id);
    empty if the variable lacks the prefix. An underscore becomes a dot, two an underscore, and three a hyphen."""
    if not variable.startswith(prefix):
        return ""
    dotted_name = variable.removeprefix(prefix).lower().replace("_", ".")
    return dotted_name.replace("...", "-").replace("..", "_")


_LAST_OF_A_PREFIX = frozenset({"producer", "consumer", "override", "kafka", "properties", "config"})
"""The last words of prefixes that frameworks put before a key: producer.acks, producer.override.acks, kafka.acks."""


def without_prefix(key: str) -> str:
    """Return the client's key in a key with a prefix (acks in spring.kafka.producer.acks); empty without a prefix."""
    if roles_that_know(key):
        return ""
    words = key.replace("-", ".").split(".")
    for start in range(1, len(words)):
        if words[start - 1] in _LAST_OF_A_PREFIX:
            tail = ".".join(words[start:])
            if not roles_that_know(tail).isdisjoint(CLIENTS):
                return tail
    return ""
