"""The settings of a cluster, with their roles and places, from property files and the output of Kafka's tools.

In:  `Section`s: a property file each, or a part of the `--describe` output (checker/cluster/describe.py).
Out: `Settings`: the values of each key for each role, with their places; of several values, the one in effect.
     `RoleSettings`: those of one role in one release, with the defaults of the release.

The user states the role of a file, or its keys determine it. A key that only one role has belongs to that role in every
file (`acks` is always the producer's), so that one file can hold a topic's settings and its producers' `acks`.
Two values of one key in one role are an error, unless the values are in different files, and each broker or client has
its own value (broker.id, client.id, ...), or the answer does not depend on it (num.io.threads). Dynamic settings of
brokers take precedence over their files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

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
from isrcheck.checker.cluster.releases import (
    OF_ONE_MEMBER,
    Role,
    Version,
    default,
    knows,
    roles_that_know,
)

T = TypeVar("T")

WHAT_JAVA_TRIMS = "".join(map(chr, range(33)))
"""The characters that Java's String.trim removes; Kafka trims every value."""

PROCESS_ROLES = "process.roles"

OF_CONTROLLERS = frozenset({"auto.leader.rebalance.enable", "unclean.leader.election.enable"})
"""Keys of brokers on which the controllers of a KRaft cluster act: the files of other processes do not count."""

OF_BROKERS = frozenset({"log.flush.interval.messages", "min.insync.replicas", "replica.selector.class"})
"""Keys of brokers on which only brokers act, unless a cluster has eligible leader replicas (min.insync.replicas)."""

READ_AS_TEXT = frozenset(
    {
        "controller.quorum.bootstrap.servers",
        "controller.quorum.voters",
        "flush.messages",
        "log.flush.interval.messages",
        "replica.selector.class",
        "zookeeper.connect",
        "zookeeper.metadata.migration.enable",
    }
)
"""Keys that also affect the answer, by one of their values or because they are given."""


VERSIONS = ("inter.broker.protocol.version", "metadata.version")
"""The keys that say which version a cluster has agreed on."""

# Of Kafka's configuration providers, of a shell, and of templates: ${env:ACKS}, {{ acks }}.
_PLACEHOLDER = re.compile(r"\$\{.*\}|\{\{.*\}\}")


@dataclass(frozen=True)
class Setting(Generic[T]):
    """A value in effect, and its source as text: FILE:LINE, an option, or a default of Kafka."""

    value: T
    source: str


@dataclass(frozen=True)
class UnderstoodSetting:
    """A setting that the answer uses: its key and value, its meaning for replication, and its source."""

    key: str
    value: str
    meaning: str
    source: str

    @property
    def is_default(self) -> bool:
        """Whether the value is a default of a release."""
        return self.source.startswith("Kafka ") and default_of("") in self.source


def default_of(release: object) -> str:
    """Return the source of a default."""
    return f"{f'Kafka {release}' if release else ''}'s default"


@dataclass(frozen=True)
class GivenSetting:
    """A given value of a key of `role`, with all places that give it; `file_role` is the role of the file itself, and
    `members` are the brokers, topics or clients that have it."""

    role: Role
    key: str
    text: str
    value: object
    places: tuple[str, ...]
    file_role: Role
    layer: Layer
    members: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The places that give this value, as text."""
        return " and ".join(dict.fromkeys(self.places))

    @property
    def spelled(self) -> str:
        """The setting as KEY=VALUE, on one line and without secrets."""
        return f"{printable(self.key)}={shown(self.key, self.text)}"

    @property
    def note(self) -> str:
        """A remark if the file that gives the key is a file of another role; otherwise empty."""
        return "" if self.role is self.file_role else f" (taken as the {self.role.value}'s)"


# A role, a key and a layer, and the member if each member of the role has its own value.
_Holder = tuple[Role, str, Layer, str | None]


class Settings:
    """All given settings of a cluster. Raises PropertiesError if two of them contradict each other.

    `controllers` are the files of processes that are controllers, `brokers_alone` those of processes that say that they
    are only brokers.
    """

    def __init__(self, sections: Iterable[Section]) -> None:
        self._given: dict[_Holder, GivenSetting] = {}
        self._members: dict[tuple[Role, Layer], list[str]] = {}
        self.controllers: list[str] = []
        self.brokers_alone: list[str] = []
        for section in sections:
            file_role = section.role or role_of(section.properties, section.member)
            layer = self._layer(section)
            self._members.setdefault((file_role, layer), []).append(section.member)
            for each in section.properties:
                new = replace(_given(each, file_role, layer), members=(section.member,))
                holder = new.role, new.key, new.layer, section.member if self._is_own(new) else None
                self._given[holder] = _agreeing(self._given[holder], new) if holder in self._given else new

    def _layer(self, section: Section) -> Layer:
        """The layer of a section, after noting the roles of its process."""
        roles = next((one.value for one in section.properties if one.key == PROCESS_ROLES), "")
        is_broker, is_controller = "broker" in roles, "controller" in roles
        if is_controller:
            self.controllers.append(section.member)
        elif is_broker:
            self.brokers_alone.append(section.member)
        return Layer.CONTROLLER if is_controller and not is_broker else section.layer

    def _is_own(self, new: GivenSetting) -> bool:
        """Whether each broker or client has a value of its own: they may differ where no answer depends on it."""
        if new.key in OF_ONE_MEMBER:
            return True
        if new.key in READERS or new.key in READ_AS_TEXT:
            return False
        shared = self._given.get((new.role, new.key, new.layer, None))
        return shared is not None and shared.value != new.value and new.members[0] not in shared.members

    def lacking(self, setting: GivenSetting) -> list[str]:
        """The brokers or clients that lack a setting that others of their kind give, and have it in no layer below."""
        below = [each for each in self if (each.role, each.key) == (setting.role, setting.key)]
        if setting.key in OF_ONE_MEMBER or any(
            each.layer < setting.layer and each.value == setting.value for each in below
        ):
            return []
        return [one for one in self._members[setting.file_role, setting.layer] if one not in setting.members]

    def __iter__(self) -> Iterator[GivenSetting]:
        return iter(self._given.values())

    def get(self, role: Role, key: str) -> GivenSetting | None:
        """Return the setting in effect for a key, or None. If members have different values, the first one counts.

        In KRaft a broker's file does not decide the controllers' actions, and a controller's file not the brokers'.
        Without a controller's file, a broker's value counts only if it is the worse value.
        """
        found = [each for each in self if each.role is role and each.key == key]
        if key in OF_CONTROLLERS and self.controllers:
            found = [each for each in found if each.layer is Layer.CLUSTER or self.is_of_controllers(each)]
        elif key in OF_CONTROLLERS:
            found = [each for each in found if each.value or not {*each.members} <= {*self.brokers_alone}]
        elif key in OF_BROKERS:
            found = [each for each in found if each.layer is not Layer.CONTROLLER]
        return max(found, key=lambda each: each.layer, default=None)

    def has_members(self, role: Role) -> bool:
        """Whether files or outputs show the settings of members of a role, and not only those of the whole cluster."""
        return any(each is role and layer is not Layer.CLUSTER for each, layer in self._members)

    def is_of_controllers(self, setting: GivenSetting) -> bool:
        """Whether the file of a controller gives a setting."""
        return any(one in self.controllers for one in setting.members)

    def of_controllers(self, role: Role, key: str) -> list[GivenSetting]:
        """The values of a key in the files of controllers; in an agreeing cluster at most one."""
        return [each for each in self if (each.role, each.key) == (role, key) and self.is_of_controllers(each)]

    def of_one_broker(self, role: Role, key: str) -> GivenSetting | None:
        """Return a dynamic value of one broker alone, or None; eligible leader replicas permit none."""
        return next((one for one in self if (one.role, one.key) == (role, key) and one.layer is Layer.BROKER), None)

    def first(self, keys: Sequence[tuple[Role, str]]) -> GivenSetting | None:
        """Return the setting in effect for the first of these keys that is given; None if no key is given."""
        return next((found for role, key in keys if (found := self.get(role, key))), None)


# --- The role of a file -----------------------------------------------------------------------------------------------

_ROLES_BY_PRECEDENCE = (Role.TOPIC, Role.BROKER, Role.PRODUCER, Role.CONSUMER)


def role_of(properties: Sequence[Property], path: Path | str) -> Role:
    """Return the role that has most of a file's keys.

    If several roles have equally many of the keys, one key must decide: a key that only one role has, or a key that
    only topics and brokers have (the file is then a topic's). Raises PropertiesError if no key decides.
    """
    known_by = [roles_that_know(each.key) for each in properties]
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


def _given(each: Property, file_role: Role, layer: Layer) -> GivenSetting:
    text = each.value.strip(WHAT_JAVA_TRIMS)
    try:
        value = READERS.get(each.key, str)(text)
    except ValueError as error:
        why = f"{quoted(text)} is a placeholder; write its value" if _PLACEHOLDER.search(text) else str(error)
        raise PropertiesError(f"{each.place}: {each.key}: {why}") from None
    role = _role_of_key(each.key, file_role)
    return GivenSetting(role, each.key, text, value, (each.place,), file_role, layer)


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
            why = f"the answer is for {role}s that agree in it; give those that do"
        raise PropertiesError(f"{new.source}: {new.spelled} contradicts {old.spelled} in {old.source}; {why}")
    return replace(old, places=old.places + new.places, members=old.members + new.members)


class RoleSettings:
    """The given settings of one role, read as one Kafka release reads them."""

    def __init__(self, settings: Settings, release: Version, role: Role) -> None:
        self.settings = settings
        self.release = release
        self.role = role

    def knows(self, key: str) -> bool:
        """Whether this release has the key."""
        return knows(self.release, self.role, key)

    def given(self, key: str) -> GivenSetting | None:
        """Return the given setting of a key; None if it is not given, or if this release does not have the key."""
        return self.settings.get(self.role, key) if self.knows(key) else None

    def setting(self, key: str) -> Setting[Any]:
        """Return the value of a key: the given value, else the default of the release."""
        if found := self.given(key):
            return Setting(found.value, found.source)
        return Setting(READERS[key](default(key, self.release)), default_of(self.release))

    def line(self, key: str, setting: Setting[Any], meaning: str) -> UnderstoodSetting:
        """Return a setting with its meaning for the report; a given value is shown as it was written."""
        given = self.given(key)
        is_as_written = given is not None and setting.source == given.source
        text = given.text if given and is_as_written else str(setting.value)
        if isinstance(setting.value, bool) and not is_as_written:
            text = text.lower()
        return UnderstoodSetting(key, text, meaning + (given.note if given and is_as_written else ""), setting.source)


MOST_IN_FLIGHT_SEARCHED = 5
"""A search uses at most this many requests in flight: more make no difference for its few records."""

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
