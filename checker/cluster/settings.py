"""The settings of a cluster, with their roles and places, from property files and the output of Kafka's tools.

The user states the role of a file (broker, topic, producer, consumer), or its keys determine the role. A key that only
one role has belongs to that role in every file (`acks` is always the producer's), so that one file can hold a topic's
settings and its producers' `acks`. It is an error if a key has two values in one role, with two exceptions: values in
different files are allowed if each broker or client has its own value (broker.id, client.id, ...), or if the answer
does not depend on the key (num.io.threads). Dynamic settings of brokers take precedence over their files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from isrcheck.checker.cluster.libraries import ClientLibrary
from isrcheck.checker.cluster.property_files import (
    READERS,
    Layer,
    PropertiesError,
    Property,
    Section,
    printable,
    quoted,
    shown,
)
from isrcheck.checker.cluster.releases import OF_ONE_MEMBER, Role, Version, knows, roles_that_know

T = TypeVar("T")

WHAT_JAVA_TRIMS = "".join(map(chr, range(33)))
"""The characters that Java's String.trim removes; Kafka trims every value."""

OF_CONTROLLERS = frozenset({"auto.leader.rebalance.enable", "unclean.leader.election.enable"})
"""Keys of brokers on which the controllers of a KRaft cluster act: the files of other processes do not count."""

OF_BROKERS = frozenset({"log.flush.interval.messages", "min.insync.replicas", "replica.selector.class"})
"""Keys of brokers on which only brokers act, unless a cluster has eligible leader replicas (min.insync.replicas)."""

_READ_AS_TEXT = """
    controller.quorum.bootstrap.servers controller.quorum.voters flush.messages log.flush.interval.messages
    replica.selector.class zookeeper.connect zookeeper.metadata.migration.enable
"""
READ_AS_TEXT = frozenset(_READ_AS_TEXT.split())
"""Further keys that affect the answer, by a certain value or because they are given; their values are read as text."""


def affects_the_answer(key: str) -> bool:
    """Whether the answer depends on a key."""
    return key in READERS or key in READ_AS_TEXT


VERSIONS = ("inter.broker.protocol.version", "metadata.version")
"""The keys that say which version a cluster has agreed on."""

# Of Kafka's configuration providers, of a shell, and of templates: ${env:ACKS}, {{ acks }}.
_PLACEHOLDER = re.compile(r"\$\{.*\}|\{\{.*\}\}")
_DEFAULT = "'s default"
_OWNERS_OF_DEFAULTS = ("Kafka ", *(library.value for library in ClientLibrary))


@dataclass(frozen=True)
class Setting(Generic[T]):
    """A value in effect, given or by default. A setting that the report shows also has a key, a text and a meaning."""

    value: T
    source: str
    """FILE:LINE, an option, or a default of Kafka."""
    key: str = field(default="", compare=False)
    text: str = field(default="", compare=False)
    """The value as it was written: one line, and no secret."""
    meaning: str = field(default="", compare=False)
    """What the value means for replication."""

    @property
    def is_default(self) -> bool:
        """Whether the value is a default of a release or of a client library."""
        return _DEFAULT in self.source and self.source.startswith(_OWNERS_OF_DEFAULTS)

    def means(self, meaning: str) -> Setting[T]:
        """Return this setting with `meaning` before its old meaning, which may be the remark `GivenSetting.note`."""
        return replace(self, meaning=meaning + self.meaning)


@dataclass(frozen=True)
class GivenSetting:
    """A value that files or outputs give for a key."""

    role: Role
    """The role that the key configures."""
    key: str
    text: str
    """The value as it was written."""
    value: Any
    """What the reader of the key returns for the text (property_files.READERS)."""
    places: tuple[str, ...]
    """Each place that gives this value, as FILE:LINE."""
    file_role: Role
    """The role of the file."""
    layer: Layer
    members: tuple[str, ...]
    """The brokers, topics or clients that have this value."""
    library: ClientLibrary | None = None
    """The client library of the file, if it shows one."""
    written: str = ""
    """The setting as its file has it, if a client library has another name or value for it; else empty."""

    @property
    def source(self) -> str:
        """The places that give this value, as text."""
        return " and ".join(dict.fromkeys(self.places))

    @property
    def spelled(self) -> str:
        """The setting as KEY=VALUE, as its file has it, on one line and without secrets."""
        return self.written or f"{printable(self.key)}={shown(self.key, self.text)}"

    @property
    def note(self) -> str:
        """A remark if a file of another role gives the key, or if the file has another name for it; otherwise empty."""
        taken = "" if self.role is self.file_role else f" (taken as the {self.role.value}'s)"
        return f"{taken} ({self.written})" if self.written else taken

    @property
    def in_effect(self) -> Setting[Any]:
        """This value as a `Setting`, whose meaning is only the remark `note` until `Setting.means` completes it."""
        return Setting(self.value, self.source, self.key, shown(self.key, self.text), self.note)


# A role, a key and a layer, and the member if each member of the role has its own value.
_Holder = tuple[Role, str, Layer, str | None]


class Settings:
    """All given settings of a cluster. Raises PropertiesError if two settings contradict each other. `controllers` are
    the files of processes that are controllers; `brokers_alone` are the files in which process.roles is only broker."""

    def __init__(self, sections: Iterable[Section]) -> None:
        self._given: dict[_Holder, GivenSetting] = {}
        self._members: dict[tuple[Role, Layer], list[str]] = {}
        self.controllers: list[str] = []
        self.brokers_alone: list[str] = []
        self._libraries: dict[Role, tuple[ClientLibrary, str]] = {}
        for section in sections:
            file_role = section.role or role_of(section.properties, section.member)
            if section.library is not None:
                self._libraries[file_role] = section.library, section.shown_by
            layer = self._layer(section)
            self._members.setdefault((file_role, layer), []).append(section.member)
            for line in section.properties:
                new = replace(_given(line, file_role, layer, section.member), library=section.library)
                holder = new.role, new.key, new.layer, section.member if self._is_own(new) else None
                self._given[holder] = _agreeing(self._given[holder], new) if holder in self._given else new

    def _layer(self, section: Section) -> Layer:
        """Return the `Layer` of a section; its process.roles may add its member to `controllers` or `brokers_alone`."""
        roles = next((line.value for line in section.properties if line.key == "process.roles"), "")
        is_broker, is_controller = "broker" in roles, "controller" in roles
        if is_controller:
            self.controllers.append(section.member)
        elif is_broker:
            self.brokers_alone.append(section.member)
        return Layer.CONTROLLER if is_controller and not is_broker else section.layer

    def _is_own(self, new: GivenSetting) -> bool:
        """Whether brokers or clients may differ in a key: each has its own (client.id), or no answer depends on it."""
        if new.key in OF_ONE_MEMBER:
            return True
        if affects_the_answer(new.key):
            return False
        shared = self._given.get((new.role, new.key, new.layer, None))
        return shared is not None and shared.value != new.value and new.members[0] not in shared.members

    def lacking(self, setting: GivenSetting) -> list[str]:
        """Return the members (brokers, clients) that lack `setting`; empty if a lower `Layer` gives the same value."""
        values = self.every(setting.role, setting.key)
        is_below = any(other.layer < setting.layer and other.value == setting.value for other in values)
        if setting.key in OF_ONE_MEMBER or is_below:
            return []
        return [member for member in self._members[setting.file_role, setting.layer] if member not in setting.members]

    def library(self, role: Role) -> tuple[ClientLibrary, str]:
        """Return the library of the producers or of the consumers, and the setting that shows it, with its place. If no
        file shows a library, return Kafka's Java client and an empty text."""
        return self._libraries.get(role, (ClientLibrary.JAVA, ""))

    def __iter__(self) -> Iterator[GivenSetting]:
        return iter(self._given.values())

    def every(self, role: Role, key: str) -> list[GivenSetting]:
        """Return all given values of a key, from all layers, brokers, topics and clients."""
        return [setting for setting in self if (setting.role, setting.key) == (role, key)]

    def get(self, role: Role, key: str) -> GivenSetting | None:
        """Return the setting in effect for a key: the first value in the highest layer; None if the key is not given.
        In KRaft, controllers' files decide what controllers do, and brokers' files what brokers do. If no file is a
        controller's, a broker's value counts for controllers only if it is true, which is the worse case."""
        values = self.every(role, key)
        if key in OF_CONTROLLERS and self.controllers:
            values = [given for given in values if given.layer is Layer.CLUSTER or self.is_of_controllers(given)]
        elif key in OF_CONTROLLERS:
            values = [given for given in values if given.value or not {*given.members} <= {*self.brokers_alone}]
        elif key in OF_BROKERS:
            values = [given for given in values if given.layer is not Layer.CONTROLLER]
        return max(values, key=lambda given: given.layer, default=None)

    def has_members(self, role: Role) -> bool:
        """Whether files or outputs show settings of single brokers or clients, not only defaults of the cluster."""
        return any(file_role is role and layer is not Layer.CLUSTER for file_role, layer in self._members)

    def is_of_controllers(self, setting: GivenSetting) -> bool:
        """Whether a given setting comes from the file of a controller."""
        return not {*setting.members}.isdisjoint(self.controllers)

    def first(self, keys: Sequence[tuple[Role, str]]) -> GivenSetting | None:
        """Return the setting in effect for the first of these keys that is given; None if no key is given."""
        return next((setting for role, key in keys if (setting := self.get(role, key))), None)


# --- The role of a file -----------------------------------------------------------------------------------------------

_ROLES_BY_PRECEDENCE = (Role.TOPIC, Role.BROKER, Role.PRODUCER, Role.CONSUMER)


def role_of(properties: Sequence[Property], path: Path | str) -> Role:
    """Return the role that has most of a file's keys. If several roles tie, one key must decide: a key that only one
    role has, or a key that only topics and brokers have (the file is then a topic's). Raises PropertiesError if no key
    decides."""
    known_by = [roles_that_know(line.key) for line in properties]
    count = {role: sum(role in roles for roles in known_by) for role in _ROLES_BY_PRECEDENCE}
    best = [role for role in _ROLES_BY_PRECEDENCE if count[role] == max(count.values())]
    if len(best) > 1 and not any(len(roles) == 1 or roles == {Role.TOPIC, Role.BROKER} for roles in known_by):
        raise PropertiesError(
            f"{path}: no key decides whether this is a broker's, a topic's, a producer's or a consumer's file; "
            "give it as --broker FILE, --topic FILE, --producer FILE or --consumer FILE"
        )
    return best[0]


def _role_of_key(key: str, file_role: Role) -> Role:
    """Return the file's role if that role has the key, or if no role has it; otherwise a role that has the key."""
    roles = roles_that_know(key)
    if file_role in roles or not roles:
        return file_role
    return next(role for role in _ROLES_BY_PRECEDENCE if role in roles)


def _given(line: Property, file_role: Role, layer: Layer, member: str) -> GivenSetting:
    text = line.value.strip(WHAT_JAVA_TRIMS)
    try:
        value = READERS.get(line.key, str)(text)
    except ValueError as error:
        why = f"{quoted(text)} is a placeholder; write its value" if _PLACEHOLDER.search(text) else str(error)
        raise PropertiesError(f"{line.place}: {line.written.partition('=')[0] or line.key}: {why}") from None
    role = _role_of_key(line.key, file_role)
    return GivenSetting(role, line.key, text, value, (line.place,), file_role, layer, (member,), written=line.written)


def _agreeing(old: GivenSetting, new: GivenSetting) -> GivenSetting:
    if old.value != new.value and new.key in VERSIONS:
        raise PropertiesError(
            f"{new.source}: the files mix versions: {new.spelled} here and {shown(old.key, old.text)} in {old.source};"
            " give the files of one version"
        )
    if old.value != new.value:
        role = new.role.value
        why = f"one {role} cannot have both; keep one of them"
        if new.members[0] not in old.members:
            why = (
                f"the answer is for {role}s that agree in it; set one value for all, or give those of one cluster that"
                " agree in files of their own"
            )
        raise PropertiesError(f"{new.source}: {new.spelled} contradicts {old.spelled} in {old.source}; {why}")
    return replace(old, places=old.places + new.places, members=old.members + new.members)


@dataclass(frozen=True)
class RoleSettings:
    """The settings of one role in one Kafka release: those that are given, and the defaults of the release."""

    settings: Settings
    release: Version
    role: Role

    @property
    def library(self) -> ClientLibrary:
        """The client library of this role; Kafka's own for brokers and topics."""
        return self.settings.library(self.role)[0]

    def knows(self, key: str) -> bool:
        """Whether the role has this key in this release."""
        return knows(self.release, self.role, key)

    def given(self, key: str) -> GivenSetting | None:
        """Return the given setting of a key; None if it is not given, or if this release does not have the key."""
        return self.settings.get(self.role, key) if self.knows(key) else None

    def setting(self, key: str) -> Setting[Any]:
        """Return the value of a key: the given value, else the default of the release."""
        return given.in_effect if (given := self.given(key)) else self.default(key)

    @property
    def default_of_library(self) -> str:
        """The text that names a default of the client library as the source of a value."""
        return f"{self.library.value}{_DEFAULT}"

    def default(self, key: str) -> Setting[Any]:
        """Return the default of a key in this release, or in the library of the client."""
        text, whose = self.library.default(key, self.release)
        return Setting(READERS[key](text), f"{whose}{_DEFAULT}", key, text)


MOST_IN_FLIGHT_SEARCHED = 5
"""The most requests in flight of a search: more make no difference for its few records."""

MODELLED: Mapping[str, tuple[str, Callable[[Any], int]]] = {
    "replication.factor": ("replicas", int),
    "unclean.leader.election.enable": ("unclean_elections", int),
    "max.in.flight.requests.per.connection": (
        "max_in_flight_requests",
        lambda requests: min(requests, MOST_IN_FLIGHT_SEARCHED),
    ),
}
"""The model's configuration entry for each of these Kafka keys, with the conversion of the value. If Kafka allows
unclean elections, the model allows one."""
