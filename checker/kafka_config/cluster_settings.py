"""What a person gave: settings with their owners and places, gathered from files and from what Kafka's tools print.

In:  `Section`s: a property file each, or a part of what `--describe` prints (checker/kafka_config/describe.py).
Out: `Settings`: what is said about each key of each role, where, and which of several values counts.

Whose file it is, the person tells, or its keys do. A key that one role alone has is that role's wherever it stands
(`acks` is always the producer's), so that one file may hold a topic's settings and its producers' `acks`.
One key with two values in one role is an error, unless every broker or client has its own value of it (broker.id,
client.id, ...) and the values stand in different files. What brokers were told while they run goes before their files.
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
    """How a setting reached its owner; what comes later here goes before."""

    FILE = 0
    CLUSTER = 1
    RUNNING = 2


@dataclass(frozen=True)
class Section:
    """Settings of one owner. `member` tells one broker or client from the others; the keys tell a role that is None."""

    role: Role | None
    member: str
    properties: tuple[Property, ...]
    layer: Layer = Layer.FILE


@dataclass(frozen=True)
class Setting(Generic[T]):
    """A value that decides something, and where it comes from: FILE:LINE, an option, or a default of Kafka's."""

    value: T
    source: str


@dataclass(frozen=True)
class UnderstoodSetting:
    """One thing that was understood: a setting in Kafka's words, what it means for replication, where it comes from."""

    key: str
    value: str
    meaning: str
    source: str


@dataclass(frozen=True)
class GivenSetting:
    """What is said about one key of one role, perhaps in several places but with one value."""

    role: Role
    key: str
    text: str
    value: object
    places: tuple[str, ...]
    file_role: Role
    layer: Layer

    @property
    def source(self) -> str:
        """Every place that says so."""
        return " and ".join(dict.fromkeys(self.places))

    @property
    def spelled(self) -> str:
        """KEY=VALUE, fit to be shown."""
        return f"{printable(self.key)}={shown(self.key, self.text)}"

    @property
    def note(self) -> str:
        """What to add where the key stands in a file of another role."""
        return "" if self.role is self.file_role else f" (taken as the {self.role.value}'s)"


# A role and its key, how it got there, and whose it is where every member of the role has its own.
_Holder = tuple[Role, str, Layer, str | None]


class Settings:
    """Everything that was given."""

    def __init__(self, sections: Iterable[Section]) -> None:
        self._given: dict[_Holder, GivenSetting] = {}
        for section in sections:
            file_role = section.role or role_of(section.properties, section.member)
            for each in section.properties:
                new = _given(each, file_role, section.layer)
                # What brokers were told while they run may differ from one to the next, if it decides nothing.
                is_own = new.key in OF_ONE_MEMBER or (new.layer is Layer.RUNNING and new.key not in READERS)
                holder = new.role, new.key, new.layer, section.member if is_own else None
                self._given[holder] = _agreeing(self._given[holder], new) if holder in self._given else new

    def __iter__(self) -> Iterator[GivenSetting]:
        return iter(self._given.values())

    def get(self, role: Role, key: str) -> GivenSetting | None:
        """What counts of a key; of several members the first."""
        found = [each for each in self if each.role is role and each.key == key]
        return max(found, key=lambda each: each.layer, default=None)

    def first(self, keys: Sequence[tuple[Role, str]]) -> GivenSetting | None:
        """What counts of several keys: the first that is given."""
        return next((found for role, key in keys if (found := self.get(role, key))), None)


def file_section(role: Role | None, path: Path) -> Section:
    """A property file as a section."""
    return Section(role, str(path), tuple(read_properties(path)))


# --- Whose file, whose key --------------------------------------------------------------------------------------------

_ROLES_BY_PRECEDENCE = (Role.TOPIC, Role.BROKER, Role.PRODUCER, Role.CONSUMER)


def role_of(properties: Sequence[Property], path: Path | str) -> Role:
    """Whose file this is: the role that has the most of its keys.

    Where several have as many, a key must tell: one that a single role has, or that only a topic and its broker have
    (which makes it the topic's, unless other keys are the broker's).
    """
    known_by = [roles_that_know(each.key) for each in properties]
    count = {role: sum(role in roles for roles in known_by) for role in _ROLES_BY_PRECEDENCE}
    best = [role for role in _ROLES_BY_PRECEDENCE if count[role] == max(count.values())]
    if len(best) > 1 and not any(len(roles) == 1 or roles == {Role.TOPIC, Role.BROKER} for roles in known_by):
        raise PropertiesError(
            f"{path}: no key in it tells whether it is a broker's, a topic's, a producer's or a consumer's file; "
            "give it as --broker FILE, --topic FILE, --producer FILE or --consumer FILE"
        )
    return best[0]


def _role_of_key(key: str, file_role: Role) -> Role:
    """The file's role, unless only others have the key."""
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
            f"one {new.role.value} cannot have both, keep one of them"
        )
    return replace(old, places=old.places + new.places)
