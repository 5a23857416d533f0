"""The settings of a cluster, with their roles and places, from property files and the output of Kafka's tools.

In:  `Section`s: a property file each, or a part of the `--describe` output (checker/kafka_config/describe.py).
Out: `Settings`: the values of each key for each role, with their places; of several values, the one in effect.

The user states the role of a file, or its keys determine it. A key that only one role has belongs to that role in every
file (`acks` is always the producer's), so that one file can hold a topic's settings and its producers' `acks`.
Two values of one key in one role are an error, unless each broker or client has its own value (broker.id, client.id,
...) and the values are in different files. Dynamic settings of brokers take precedence over their files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Generic, TypeVar

from isrcheck.checker.kafka_config.keys import OF_ONE_MEMBER, Role, roles_that_know
from isrcheck.checker.kafka_config.properties_file import PropertiesError, Property, read_properties
from isrcheck.checker.kafka_config.values import READERS, WHAT_JAVA_TRIMS, printable, shown

T = TypeVar("T")


class Layer(IntEnum):
    """The origin of a setting: a file, a dynamic cluster default, a running broker; the last one takes precedence."""

    FILE = 0
    CLUSTER = 1
    RUNNING = 2


@dataclass(frozen=True)
class Section:
    """The settings of one broker, topic or client, named `member`. If `role` is None, the keys determine the role."""

    role: Role | None
    member: str
    properties: tuple[Property, ...]
    layer: Layer = Layer.FILE


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


@dataclass(frozen=True)
class GivenSetting:
    """A given value of a key of `role`, with all places that give it; `file_role` is the role of the file itself."""

    role: Role
    key: str
    text: str
    value: object
    places: tuple[str, ...]
    file_role: Role
    layer: Layer

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
    """All given settings of a cluster. Raises PropertiesError if two of them contradict each other."""

    def __init__(self, sections: Iterable[Section]) -> None:
        self._given: dict[_Holder, GivenSetting] = {}
        for section in sections:
            file_role = section.role or role_of(section.properties, section.member)
            for each in section.properties:
                new = _given(each, file_role, section.layer)
                # Dynamic settings may differ between brokers, if the answer does not depend on them.
                is_own = new.key in OF_ONE_MEMBER or (new.layer is Layer.RUNNING and new.key not in READERS)
                holder = new.role, new.key, new.layer, section.member if is_own else None
                self._given[holder] = _agreeing(self._given[holder], new) if holder in self._given else new

    def __iter__(self) -> Iterator[GivenSetting]:
        return iter(self._given.values())

    def get(self, role: Role, key: str) -> GivenSetting | None:
        """Return the setting in effect for a key, or None. If members have different values, the first one counts."""
        found = [each for each in self if each.role is role and each.key == key]
        return max(found, key=lambda each: each.layer, default=None)

    def first(self, keys: Sequence[tuple[Role, str]]) -> GivenSetting | None:
        """Return the setting in effect for the first of these keys that is given; None if no key is given."""
        return next((found for role, key in keys if (found := self.get(role, key))), None)


def file_section(role: Role | None, path: Path) -> Section:
    """Read a property file as a section. Raises PropertiesError."""
    return Section(role, str(path), tuple(read_properties(path)))


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
        raise PropertiesError(f"{each.place}: {each.key}: {error}") from None
    role = _role_of_key(each.key, file_role)
    return GivenSetting(role, each.key, text, value, (each.place,), file_role, layer)


def _agreeing(old: GivenSetting, new: GivenSetting) -> GivenSetting:
    if old.value != new.value:
        raise PropertiesError(
            f"{new.source}: {new.spelled} contradicts {old.spelled} in {old.source}; "
            f"one {new.role.value} cannot have both; keep one of them"
        )
    return replace(old, places=old.places + new.places)
