"""From Kafka's own property files to what the checker needs to know about a cluster.

In:  property files, each a broker's, a topic's, a producer's or a consumer's, and the Kafka version if it was told.
Out: a Cluster: the settings on which the safety of replication hangs, each with the place it comes from, the protocol
     generation, and what was ignored and why; for checker/cli.py, which turns it into a model configuration.

Whose file it is, the person tells, or its keys do. A key that one role alone has is that role's wherever it stands
(`acks` is always the producer's), so that one file may hold a topic's settings and its producers' `acks`.
The topic's value goes before the broker's. One key with two values in one role is an error, unless every broker or
client has its own value of it (broker.id, client.id, ...) and the values stand in different files.

Two versions matter: that of the binaries (`--kafka-version`) decides the defaults, `inter.broker.protocol.version` the
replication protocol. Where one is not told, the other stands in for it. What newer binaries do differently
whatever their inter-broker protocol is not modelled.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Generic, TypeVar

from checker.kafka_keys import (
    NEWEST_LISTED_RELEASE,
    OF_ONE_MEMBER,
    Role,
    Version,
    default,
    first_release,
    keys_of,
    roles_that_know,
    version_of_binaries,
    version_of_inter_broker_protocol,
)
from checker.properties_file import PropertiesError, Property, read_properties

__all__ = ["Cluster", "Ignored", "Role", "Setting", "Understood", "WhyIgnored", "read_cluster", "role_of"]

NEWEST_MODELLED_RELEASE = "0.10.2"

T = TypeVar("T")


@dataclass(frozen=True)
class Setting(Generic[T]):
    """A value that decides something, and where it comes from: FILE:LINE, an option, or a default of Kafka's."""

    value: T
    source: str


@dataclass(frozen=True)
class Understood:
    """One thing that was understood: a setting in Kafka's words, what it means for replication, where it comes from."""

    key: str
    value: str
    meaning: str
    source: str


class WhyIgnored(Enum):
    """Why a property of the files bears nothing on the verdict."""

    NO_BEARING = "no bearing on replication"
    ASSUMED = "what the model assumes"
    NOT_MODELLED = "not modelled yet"
    OVERRIDDEN = "overridden"
    UNKNOWN = "unknown to this Kafka"


@dataclass(frozen=True)
class Ignored:
    """A property that the verdict does not rest on. Its value is fit to be shown: on one line, and no secret."""

    key: str
    value: str
    why: WhyIgnored
    reason: str
    source: str


@dataclass(frozen=True)
class Cluster:
    """A cluster, as far as the safety of its replication goes.

    `protocol` is the modelled generation that it speaks; where that is None, `why_undecided` says why in one sentence.
    `kafka_version` is None if no version was told; the defaults are then those of NEWEST_MODELLED_RELEASE.
    """

    kafka_version: Setting[str] | None
    protocol: str | None
    why_undecided: str | None
    acks: Setting[str]
    min_insync_replicas: Setting[int]
    replication_factor: Setting[int]
    unclean_election: Setting[bool]
    understood: tuple[Understood, ...]
    ignored: tuple[Ignored, ...]

    @property
    def can_acknowledge_acks_all(self) -> bool:
        """Kafka accepts that more replicas are required than there are; no acks=all write then ever succeeds."""
        return self.min_insync_replicas.value <= self.replication_factor.value


def read_cluster(files: Sequence[tuple[Role | None, Path]], kafka_version: str | None) -> Cluster:
    """Reads the files, each with its role or with None where its keys are to tell it, and puts the cluster together."""
    given = _gather(files)
    binaries, protocol = _versions(given, kafka_version)
    acks, acks_line = _decide(_ACKS, given, binaries)
    min_insync_replicas, min_insync_replicas_line = _decide(_MIN_INSYNC_REPLICAS, given, binaries)
    replication_factor, replication_factor_line = _decide(_REPLICATION_FACTOR, given, binaries)
    unclean_election, unclean_election_line = _decide(_UNCLEAN_ELECTION, given, binaries)
    return Cluster(
        kafka_version=Setting(str(binaries.value), binaries.source) if binaries else None,
        protocol=_generation(protocol),
        why_undecided=_why_undecided(protocol),
        acks=acks,
        min_insync_replicas=min_insync_replicas,
        replication_factor=replication_factor,
        unclean_election=unclean_election,
        understood=(
            *_version_lines(binaries, protocol),
            replication_factor_line,
            min_insync_replicas_line,
            unclean_election_line,
            acks_line,
        ),
        ignored=tuple(_ignored(each, given, binaries) for each in given.values() if not _is_used(each, given)),
    )


# --- Whose file, whose key --------------------------------------------------------------------------------------------

_ROLES_BY_PRECEDENCE = (Role.TOPIC, Role.BROKER, Role.PRODUCER, Role.CONSUMER)


def role_of(properties: Sequence[Property], path: Path) -> Role:
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


# A role and its key; with the file where every member of the role has its own value.
_Holder = tuple[Role, str, Path | None]

_INTER_BROKER_PROTOCOL_VERSION: _Holder = (Role.BROKER, "inter.broker.protocol.version", None)


@dataclass(frozen=True)
class _Given:
    """What the files say about one key of one role, perhaps in several places but with one value."""

    role: Role
    key: str
    text: str
    value: object
    places: tuple[str, ...]
    file_role: Role

    @property
    def source(self) -> str:
        return " and ".join(dict.fromkeys(self.places))


def _gather(files: Sequence[tuple[Role | None, Path]]) -> dict[_Holder, _Given]:
    given: dict[_Holder, _Given] = {}
    for told_role, path in files:
        properties = read_properties(path)
        file_role = told_role or role_of(properties, path)
        for each in properties:
            new = _given(each, file_role)
            holder = new.role, new.key, path if new.key in OF_ONE_MEMBER else None
            given[holder] = _agreeing(given[holder], new) if holder in given else new
    return given


def _given(each: Property, file_role: Role) -> _Given:
    text = each.value.strip(_WHAT_JAVA_TRIMS)
    try:
        value = _READERS.get(each.key, str)(text)
    except ValueError as error:
        raise PropertiesError(f"{each.place}: {each.key}: {error}") from None
    return _Given(_role_of_key(each.key, file_role), each.key, text, value, (each.place,), file_role)


def _agreeing(old: _Given, new: _Given) -> _Given:
    if old.value != new.value:
        key, one, other = _printable(new.key), _shown(new.key, new.text), _shown(old.key, old.text)
        raise PropertiesError(
            f"{new.source}: {key}={one} contradicts {key}={other} in {old.source}; "
            f"one {new.role.value} cannot have both, keep one of them"
        )
    return replace(old, places=old.places + new.places)


# --- Versions ---------------------------------------------------------------------------------------------------------


def _versions(
    given: Mapping[_Holder, _Given], kafka_version: str | None
) -> tuple[Setting[Version] | None, Setting[Version] | None]:
    """The version of the binaries and that of the protocol between brokers; either stands in for the other."""
    binaries = protocol = None
    if kafka_version is not None:
        try:
            binaries = Setting(version_of_binaries(kafka_version), "--kafka-version")
        except ValueError as error:
            raise PropertiesError(f"--kafka-version: {error}") from None
    if found := given.get(_INTER_BROKER_PROTOCOL_VERSION):
        protocol = Setting(version_of_inter_broker_protocol(found.text), found.source)
    if binaries and protocol and protocol.value.is_newer_than(binaries.value):
        raise PropertiesError(
            f"{protocol.source}: inter.broker.protocol.version: Kafka {binaries.value} refuses {protocol.value}, "
            f"which is newer; write {binaries.value.release_name} or older, or give the right --kafka-version"
        )
    if binaries:
        return binaries, protocol or binaries
    if protocol:
        return Setting(version_of_binaries(protocol.value.release_name), protocol.source), protocol
    return None, None


def _generation(version: Setting[Version] | None) -> str | None:
    """The modelled generation of the replication protocol that goes with a version."""
    return "0.10" if version and version.value.release[:2] == (0, 10) else None


def _why_undecided(protocol: Setting[Version] | None) -> str | None:
    if protocol is None:
        return (
            "no Kafka version was told, and the protocol and the defaults hang on it: give --kafka-version VERSION "
            f"(for example {NEWEST_MODELLED_RELEASE}), or inter.broker.protocol.version in a broker's file"
        )
    if _generation(protocol) is None:
        return f"the replication protocol of Kafka {protocol.value} is not modelled yet; that of 0.10 is"
    return None


def _version_lines(binaries: Setting[Version] | None, protocol: Setting[Version] | None) -> tuple[Understood, ...]:
    if binaries is None or protocol is None:
        return ()
    meaning = f"the replication protocol is {_generation(protocol) or 'not modelled yet'}"
    if _generation(protocol) and not _generation(binaries):
        meaning += " (what newer binaries do differently all the same is not modelled)"
    return (
        Understood("Kafka version", str(binaries.value), "decides the defaults", binaries.source),
        Understood("inter.broker.protocol.version", str(protocol.value), meaning, protocol.source),
    )


# --- What is understood: values are validated as Kafka does -----------------------------------------------------------

_WHAT_JAVA_TRIMS = "".join(map(chr, range(33)))  # String.trim


def _acks(text: str) -> str:
    if text not in ("all", "-1", "0", "1"):
        raise ValueError(f"{_quoted(text)} is no acks; write all (or -1), 1 or 0")
    return "all" if text == "-1" else text


def _count_of_replicas(text: str) -> int:
    if re.fullmatch(r"[+-]?0*\d{1,10}", text, re.ASCII) is None or not 1 <= int(text) < 2**31:
        raise ValueError(f"{_quoted(text)} is not a whole number from 1 to 2147483647; write for example 2")
    return int(text)


def _true_or_false(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{_quoted(text)} is neither true nor false; write one of them")
    return text.lower() == "true"


@dataclass(frozen=True)
class _Rule(Generic[T]):
    """How a setting comes about: the first of its keys that is given decides, else the default of the last one."""

    keys: tuple[tuple[Role, str], ...]
    read: Callable[[str], T]
    meaning: Callable[[T], str]


_ACKS = _Rule(
    keys=((Role.PRODUCER, "acks"),),
    read=_acks,
    meaning={
        "0": "the producer waits for nobody",
        "1": "the leader alone acknowledges",
        "all": "a record is acknowledged once the whole ISR has it",
    }.__getitem__,
)
_MIN_INSYNC_REPLICAS = _Rule(
    keys=((Role.TOPIC, "min.insync.replicas"), (Role.BROKER, "min.insync.replicas")),
    read=_count_of_replicas,
    meaning="an acks=all write needs an ISR of at least {}".format,
)
_REPLICATION_FACTOR = _Rule(
    keys=((Role.TOPIC, "replication.factor"), (Role.BROKER, "default.replication.factor")),
    read=_count_of_replicas,
    meaning="brokers that hold a replica: {}".format,
)
_UNCLEAN_ELECTION = _Rule(
    keys=((Role.TOPIC, "unclean.leader.election.enable"), (Role.BROKER, "unclean.leader.election.enable")),
    read=_true_or_false,
    meaning={
        True: "a replica outside the ISR may be elected when no member of it runs",
        False: "only a member of the ISR is elected",
    }.__getitem__,
)

_RULES: tuple[_Rule[Any], ...] = (_ACKS, _MIN_INSYNC_REPLICAS, _REPLICATION_FACTOR, _UNCLEAN_ELECTION)
_READERS: Mapping[str, Callable[[str], object]] = {
    "inter.broker.protocol.version": version_of_inter_broker_protocol,
    **{key: rule.read for rule in _RULES for _, key in rule.keys},
}


def _deciding(rule: _Rule[T], given: Mapping[_Holder, _Given]) -> _Given | None:
    return next((given[role, key, None] for role, key in rule.keys if (role, key, None) in given), None)


def _decide(
    rule: _Rule[T], given: Mapping[_Holder, _Given], binaries: Setting[Version] | None
) -> tuple[Setting[T], Understood]:
    found = _deciding(rule, given)
    if found:
        key, text, source = found.key, found.text, found.source
        misplaced = "" if found.role is found.file_role else f" (taken as the {found.role.value}'s)"
    else:
        version = binaries.value if binaries else version_of_binaries(NEWEST_MODELLED_RELEASE)
        key = rule.keys[-1][1]
        text, source, misplaced = default(key, version), f"Kafka {version}'s default", ""
    value = rule.read(text)
    return Setting(value, source), Understood(key, text, rule.meaning(value) + misplaced, source)


# --- What is ignored, and why -----------------------------------------------------------------------------------------

# Settings that could change the answer, and whose mechanism the model does not carry yet.
_RETRIES = "a producer's retries are not modelled yet"
_TRANSACTIONS = "idempotence and transactions are not modelled yet"
_COMPACTION = "compaction is not modelled: the answer is for a log that keeps every record"
_FLUSH = "forced flushes are not modelled: a power loss may take all that was appended since the start"
_RECORD_FORMAT = "record formats are not modelled: from 0.11 on they decide whether leader epochs are used"
_OLD_PRODUCER = "the old Scala producer is not modelled; give the acks of the Java producer"
_NOT_MODELLED: Mapping[str, str] = {
    "retries": _RETRIES,
    "max.in.flight.requests.per.connection": _RETRIES,
    "enable.idempotence": _TRANSACTIONS,
    "transactional.id": _TRANSACTIONS,
    "isolation.level": _TRANSACTIONS,
    "cleanup.policy": _COMPACTION,
    "log.cleanup.policy": _COMPACTION,
    "flush.messages": _FLUSH,
    "flush.ms": _FLUSH,
    "log.flush.interval.messages": _FLUSH,
    "log.flush.interval.ms": _FLUSH,
    "message.format.version": _RECORD_FORMAT,
    "log.message.format.version": _RECORD_FORMAT,
    "auto.leader.rebalance.enable": "preferred elections are a budget of the search, whatever this setting says",
    "controlled.shutdown.enable": "a controlled shutdown is not modelled as a step of its own",
    "message.send.max.retries": _OLD_PRODUCER,
    "producer.type": _OLD_PRODUCER,
    "request.required.acks": _OLD_PRODUCER,
}

# Where such a setting switches its mechanism off, the model is exact.
_ASSUMED: Mapping[str, str] = {
    "retries": "0",
    "max.in.flight.requests.per.connection": "1",
    "enable.idempotence": "false",
    "isolation.level": "read_uncommitted",
    "cleanup.policy": "delete",
    "log.cleanup.policy": "delete",
    "flush.messages": "9223372036854775807",
    "flush.ms": "9223372036854775807",
    "log.flush.interval.messages": "9223372036854775807",
    "log.flush.interval.ms": "9223372036854775807",
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.enable": "false",
}

_TIMES = frozenset(
    {
        "replica.fetch.backoff.ms",
        "replica.fetch.wait.max.ms",
        "replica.high.watermark.checkpoint.interval.ms",
        "replica.lag.time.max.ms",
        "request.timeout.ms",
        "zookeeper.session.timeout.ms",
    }
)

_INTERNAL_TOPICS = ("offsets.", "transaction.state.log.")


def _is_used(each: _Given, given: Mapping[_Holder, _Given]) -> bool:
    return each is given.get(_INTER_BROKER_PROTOCOL_VERSION) or any(each is _deciding(rule, given) for rule in _RULES)


def _ignored(each: _Given, given: Mapping[_Holder, _Given], binaries: Setting[Version] | None) -> Ignored:
    why, reason = _why_ignored(each, given, binaries)
    return Ignored(_printable(each.key), _shown(each.key, each.text), why, reason, each.source)


def _why_ignored(
    each: _Given, given: Mapping[_Holder, _Given], binaries: Setting[Version] | None
) -> tuple[WhyIgnored, str]:
    for rule in _RULES:
        if (each.role, each.key) in rule.keys and (winner := _deciding(rule, given)):
            return WhyIgnored.OVERRIDDEN, f"overridden by the {winner.role.value}'s {winner.key} in {winner.source}"
    since = first_release(each.role, each.key)
    if since is None or (binaries and not binaries.value.has(since)):
        return WhyIgnored.UNKNOWN, _why_unknown(each, since, binaries)
    if _ASSUMED.get(each.key) == each.text.lower():
        return WhyIgnored.ASSUMED, "is what the model assumes"
    if each.key in _NOT_MODELLED:
        return WhyIgnored.NOT_MODELLED, _NOT_MODELLED[each.key]
    if each.key in _TIMES:
        return WhyIgnored.NO_BEARING, "the model has no clock, so that its answer covers every value"
    if each.key.startswith(_INTERNAL_TOPICS):
        return WhyIgnored.NO_BEARING, "is about an internal topic, not about this one"
    return WhyIgnored.NO_BEARING, "has no bearing on whether a record is kept"


def _why_unknown(each: _Given, since: str | None, binaries: Setting[Version] | None) -> str:
    newest_listed = version_of_binaries(NEWEST_LISTED_RELEASE)
    version = binaries.value if binaries else newest_listed
    if since:
        return f"Kafka {version} does not know this {each.role.value} setting, which is new in {since}"
    if version.is_newer_than(newest_listed):
        return f"no {each.role.value} setting of Kafka up to {newest_listed}; newer settings are not listed here"
    alike = difflib.get_close_matches(each.key, sorted({key for role in Role for key in keys_of(role)}), 1, cutoff=0.9)
    hint = f"; did you mean {alike[0]}?" if alike else ""
    return f"Kafka {version if binaries else f'up to {version}'} has no such {each.role.value} setting{hint}"


# --- Showing values ---------------------------------------------------------------------------------------------------

# Over-cautious on purpose: a password under a misspelt key is a password still.
_SECRET = re.compile(r"pas+w|pass|pwd|secret|jaas|credential|token|\.key$", re.IGNORECASE)


def _shown(key: str, value: str) -> str:
    """Kafka itself prints a password as [hidden]."""
    return "[hidden]" if _SECRET.search(key) else _printable(value)


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def _quoted(text: str) -> str:
    return f"'{_printable(text if len(text) <= 60 else text[:60] + '...')}'"
