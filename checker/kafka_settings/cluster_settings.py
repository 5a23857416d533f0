"""The settings of a cluster, with their roles and places, from property files and the output of Kafka's tools.

In:  `Section`s: a property file each, or a part of the `--describe` output (checker/kafka_config/describe.py).
Out: `Settings`: the values of each key for each role, with their places; of several values, the one in effect.

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
from enum import IntEnum
from pathlib import Path
from typing import Any, Generic, TypeVar

from isrcheck.checker.kafka_settings.keys import OF_ONE_MEMBER, Role, roles_that_know
from isrcheck.checker.kafka_settings.properties_file import PropertiesError, Property
from isrcheck.checker.kafka_settings.releases import version_of_inter_broker_protocol, version_of_metadata

T = TypeVar("T")

# --- Values: read and validated as Kafka does, and printed without secrets --------------------------------------------

WHAT_JAVA_TRIMS = "".join(map(chr, range(33)))
"""The characters that Java's String.trim removes; Kafka trims every value."""

MOST = 2**31 - 1
"""The largest value of a Java int."""


def read_acks(text: str) -> str:
    """Read `acks`; -1 means all."""
    if text not in ("all", "-1", "0", "1"):
        raise ValueError(f"{quoted(text)} is not a value of acks; write all (or -1), 1 or 0")
    return "all" if text == "-1" else text


def read_true_or_false(text: str) -> bool:
    """Read a boolean setting, in upper or lower case."""
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{quoted(text)} is neither true nor false; write true or false")
    return text.lower() == "true"


def read_isolation_level(text: str) -> str:
    """Read `isolation.level`, which must be in lower case."""
    if text not in ("read_committed", "read_uncommitted"):
        raise ValueError(f"{quoted(text)} is not an isolation level; write read_committed or read_uncommitted")
    return text


BY_DURATION = "by_duration:"
"""How a value of auto.offset.reset begins that names a duration (KIP-1106)."""


def read_offset_reset(text: str) -> str:
    """Read `auto.offset.reset`, which must be in lower case; smallest and largest are words of the old consumer."""
    if text not in ("earliest", "latest", "none", "smallest", "largest") and not text.startswith(BY_DURATION):
        raise ValueError(f"{quoted(text)} is not a policy for offsets; write earliest, latest or none")
    return text


def read_transactional_id(text: str) -> str:
    """Read `transactional.id`, which must not be empty."""
    if not text:
        raise ValueError("Kafka refuses an empty value; write a name, or leave the key out")
    return text


def read_count(text: str) -> int:
    """Read a count, at least 1."""
    return _whole(text, 1, "write for example 2")


def read_requests(text: str) -> int:
    """Read a number of requests, at least 1."""
    return _whole(text, 1, "write for example 5")


def read_times(text: str) -> int:
    """Read a number of retries or of milliseconds, at least 0."""
    return _whole(text, 0, "write for example 0")


def read_transaction_timeout(text: str) -> int:
    """Read `transaction.timeout.ms`; a coordinator refuses 0."""
    return _whole(text, 0, "write for example 60000")


def read_most_transaction_timeout(text: str) -> int:
    """Read `transaction.max.timeout.ms`, at least 1."""
    return _whole(text, 1, "write for example 900000")


def read_feature_level(text: str) -> int:
    """Read the level of a feature that is off (0) or on (1)."""
    if text not in ("0", "1"):
        raise ValueError(f"{quoted(text)} is neither 0 nor 1; write 1 if the feature is on, or 0")
    return int(text)


def read_transaction_version(text: str) -> int:
    """Read the level of the feature `transaction.version`."""
    if text not in ("0", "1", "2"):
        raise ValueError(f"{quoted(text)} is none of 0, 1 and 2; write 2 if transactions end with a new epoch, or 0")
    return int(text)


def read_process_roles(text: str) -> frozenset[str]:
    """Read the roles of a process in a KRaft cluster; none, in a cluster with ZooKeeper."""
    roles = [role.strip() for role in text.split(",")] if text else []
    if not {*roles} <= {"broker", "controller"} or len(roles) > len({*roles}):
        raise ValueError(f"{quoted(text)} names no roles of a process; write broker, controller or broker,controller")
    return frozenset(roles)


def _whole(text: str, least: int, cure: str) -> int:
    if re.fullmatch(r"[+-]?0*\d{1,10}", text, re.ASCII) is None or not least <= int(text) <= MOST:
        raise ValueError(f"{quoted(text)} is not a whole number from {least} to {MOST}; {cure}")
    return int(text)


READERS: Mapping[str, Callable[[str], Any]] = {
    "acks": read_acks,
    "retries": read_times,
    "max.in.flight.requests.per.connection": read_requests,
    "enable.idempotence": read_true_or_false,
    "transactional.id": read_transactional_id,
    "isolation.level": read_isolation_level,
    "auto.offset.reset": read_offset_reset,
    "transaction.timeout.ms": read_transaction_timeout,
    "transaction.max.timeout.ms": read_most_transaction_timeout,
    "transaction.state.log.min.isr": read_count,
    "transaction.state.log.replication.factor": read_count,
    "transaction.partition.verification.enable": read_true_or_false,
    "transaction.version": read_transaction_version,
    "delivery.timeout.ms": read_times,
    "linger.ms": read_times,
    "request.timeout.ms": read_times,
    "min.insync.replicas": read_count,
    "replication.factor": read_count,
    "default.replication.factor": read_count,
    "unclean.leader.election.enable": read_true_or_false,
    "auto.leader.rebalance.enable": read_true_or_false,
    "inter.broker.protocol.version": version_of_inter_broker_protocol,
    "log.message.format.version": version_of_inter_broker_protocol,
    "message.format.version": version_of_inter_broker_protocol,
    "metadata.version": version_of_metadata,
    "process.roles": read_process_roles,
    "eligible.leader.replicas.version": read_feature_level,
}
"""The reader of each key that affects the answer; the values of other keys are not interpreted."""

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
"""Keys that affect the answer as well, by one value of theirs or because they are given."""


VERSIONS = ("inter.broker.protocol.version", "metadata.version")
"""The keys that say which version a cluster has agreed on."""

# Deliberately too cautious: the value of a misspelt password key is still a password.
_SECRET = re.compile(r"pas+w|pass|pwd|secret|jaas|credential|token|\.key$", re.IGNORECASE)


# Of Kafka's configuration providers, of a shell, and of templates: ${env:ACKS}, {{ acks }}.
_PLACEHOLDER = re.compile(r"\$\{.*\}|\{\{.*\}\}")


def shown(key: str, value: str) -> str:
    """Return a value on one line; a secret becomes [hidden], as in Kafka's logs."""
    return "[hidden]" if _SECRET.search(key) else printable(value)


def printable(text: str) -> str:
    """Return text on one line, with control characters escaped."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def quoted(text: str) -> str:
    """Return text for a message: printable, in quotes, at most 60 characters."""
    return f"'{printable(text if len(text) <= 60 else text[:60] + '...')}'"


# --- Settings ---------------------------------------------------------------------------------------------------------


class Layer(IntEnum):
    """The origin of a setting; the last one takes precedence.

    The file of a process that is only a controller, any other file, a dynamic default of the cluster, a dynamic value
    of one broker, the value in effect in a running broker.
    """

    CONTROLLER = 0
    FILE = 1
    CLUSTER = 2
    BROKER = 3
    RUNNING = 4


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
        """Whether a broker or client has a value of its own: it may differ from others in what no answer depends on."""
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

        In KRaft a broker's file does not decide what the controllers act on, nor a controller's file what brokers do.
        Without a controller's file, its value counts only if it is the worse one.
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
