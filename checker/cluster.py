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
from typing import Generic, TypeVar

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
    NO_BEARING = "no bearing on replication"
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
    given = _Given()
    for told_role, path in files:
        properties = read_properties(path)
        file_role = told_role or role_of(properties, path)
        for each in properties:
            given.add(each, file_role)
    return _cluster(given, _versions(given, kafka_version))


def role_of(properties: Sequence[Property], path: Path) -> Role:
    """Whose file this is: the role that has most of its keys, the topic before the broker where they draw.

    Only a key that one role alone has tells, or one that only a topic and its broker have.
    """
    known_by = [roles_that_know(each.key) for each in properties]
    if not any(len(roles) == 1 or roles == {Role.TOPIC, Role.BROKER} for roles in known_by):
        raise PropertiesError(
            f"{path}: no key in it tells whether it is a broker's, a topic's, a producer's or a consumer's file; "
            "give it as --broker FILE, --topic FILE, --producer FILE or --consumer FILE"
        )
    return max(_ROLES_BY_PRECEDENCE, key=lambda role: sum(role in roles for roles in known_by))


_ROLES_BY_PRECEDENCE = (Role.TOPIC, Role.BROKER, Role.PRODUCER, Role.CONSUMER)


def _role_of_key(key: str, file_role: Role) -> Role:
    """A key that the file's role does not have is the first other role's that has it."""
    roles = roles_that_know(key)
    if file_role in roles or not roles:
        return file_role
    return next(role for role in _ROLES_BY_PRECEDENCE if role in roles)
