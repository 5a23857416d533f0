"""Which settings an operator can change, from the smallest change to the largest.

In:  a `Case`.
Out: `Change`s in groups: those of a group are equally large.

The order: fewest settings; then those of clients before those of topics before those of brokers; then those that take
effect at once before those that need a restart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from typing import Any

from isrcheck.checker.kafka_settings.keys import Role
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.rules import WRITTEN_BY_LEADERS
from isrcheck.models.kafka.failures.catalogue import Change as KnownChange
from isrcheck.models.kafka.failures.catalogue import ChangeKind, pairs

WITH_ZOOKEEPER = (*WRITTEN_BY_LEADERS, "2.8")
"""The generations without KRaft."""

OWNERS = (Role.PRODUCER, Role.TOPIC, Role.BROKER)
"""Whose settings are changed rather than those of the next one."""

HOW = {
    (Role.PRODUCER, False): "producers, with a restart",
    (Role.TOPIC, True): "topic, at once",
    (Role.TOPIC, False): "topic, by a reassignment",
    (Role.BROKER, False): "brokers, with a restart",
}
HOW_WHILE_IN_SYNC = "topic, at once, while all replicas are in sync"
"""With eligible leader replicas a change of the minimum forgets who else may lead."""

HOW_OF_CONTROLLERS = "controllers, with a restart"
"""With KRaft the controllers act on some settings of brokers' files, and not the brokers."""

MOST_REPLICAS = 3
"""More replicas are not proposed: nothing is searched to its end with them."""


@dataclass(frozen=True)
class Setting:
    """One setting with its new value: in Kafka's words, and as the field of a `Case`. `is_of_controllers` says that
    KRaft controllers act on a broker's setting, `needs_replicas` that all replicas have to be in sync."""

    key: str
    text: str
    owner: Role
    is_dynamic: bool
    field: str
    value: Any
    is_of_controllers: bool = False
    needs_replicas: bool = False

    @property
    def spelled(self) -> str:
        """The setting as KEY=VALUE."""
        return f"{self.key}={self.text}"

    @property
    def how(self) -> str:
        """Who has to change it, and whether it takes effect at once."""
        if self.needs_replicas:
            return HOW_WHILE_IN_SYNC
        return HOW_OF_CONTROLLERS if self.is_of_controllers else HOW[self.owner, self.is_dynamic]


@dataclass(frozen=True)
class Change:
    """One setting or several that are changed together."""

    settings: tuple[Setting, ...]

    @property
    def size(self) -> tuple[int, list[int], int]:
        """How large the change is: settings, whose they are (the last one first), and how many need a restart."""
        owners = sorted((OWNERS.index(one.owner) for one in self.settings), reverse=True)
        return len(self.settings), owners, sum(not one.is_dynamic for one in self.settings)

    @property
    def spelled(self) -> str:
        """The change in Kafka's words."""
        return " and ".join(one.spelled for one in self.settings)

    @property
    def how(self) -> str:
        """Who has to change it, and whether it takes effect at once."""
        return "; ".join(dict.fromkeys(one.how for one in self.settings))

    def of(self, case: Case) -> Case:
        """The case with this change."""
        return replace(case, **{one.field: one.value for one in self.settings})


FIELDS = {
    "acks": "acks",
    "enable_idempotence": "enable_idempotence",
    "flush_interval_messages": "flushes_every_message",
    "max_in_flight_requests": "max_in_flight_requests",
    "min_insync_replicas": "min_insync_replicas",
    "preferred_elections": "leader_rebalance",
    "unclean_elections": "unclean_election",
}
"""The field of a `Case` for each entry of the model that a setting in the library of known failures changes."""


def fields_of(change: KnownChange) -> set[str]:
    """Return the fields of a `Case` that a setting of the library changes; none, if it is a repair of Kafka."""
    if change.kind is not ChangeKind.SETTING:
        return set()
    return {FIELDS[entry] for entry in pairs(change.change) if entry in FIELDS}


def groups(case: Case, most: int = 2) -> Iterator[list[Change]]:
    """Yield the changes of at most so many settings, the smallest first; those of a list are equally large."""
    settings = list(_settings(case))
    for count in range(1, most + 1):
        changes = [
            Change(some)
            for some in combinations(settings, count)
            if len({one.field for one in some}) == count and _makes_sense(case, some)
        ]
        for _, group in groupby(sorted(changes, key=lambda one: one.size), key=lambda one: one.size):
            yield list(group)


def _settings(case: Case) -> Iterator[Setting]:
    replicas = case.replication_factor
    if case.acks != "all":
        yield Setting("acks", "all", Role.PRODUCER, False, "acks", "all")
    if not case.enable_idempotence and case.has_record_epochs:
        yield Setting("enable.idempotence", "true", Role.PRODUCER, False, "enable_idempotence", True)
    if case.max_in_flight_requests > 1 and case.acks != "0":
        key = "max.in.flight.requests.per.connection"
        yield Setting(key, "1", Role.PRODUCER, False, "max_in_flight_requests", 1)
    if case.unclean_election:
        yield Setting("unclean.leader.election.enable", "false", Role.TOPIC, True, "unclean_election", False)
    for least in range(case.min_insync_replicas + 1, max(replicas, MOST_REPLICAS) + 1):
        key, field = "min.insync.replicas", "min_insync_replicas"
        yield Setting(key, str(least), Role.TOPIC, True, field, least, needs_replicas=case.has_elr)
    if not case.flushes_every_message:
        yield Setting("flush.messages", "1", Role.TOPIC, True, "flushes_every_message", True)
    for more in range(replicas + 1, MOST_REPLICAS + 1):
        yield Setting("replication.factor", str(more), Role.TOPIC, False, "replication_factor", more)
    if case.leader_rebalance:
        key, has_kraft = "auto.leader.rebalance.enable", case.protocol not in WITH_ZOOKEEPER
        yield Setting(key, "false", Role.BROKER, False, "leader_rebalance", False, is_of_controllers=has_kraft)


def _makes_sense(case: Case, settings: tuple[Setting, ...]) -> bool:
    """Whether Kafka takes the settings together, and writes with acks=all can be acknowledged."""
    changed = Change(settings).of(case)
    if changed.enable_idempotence and not case.enable_idempotence:
        return changed.acks == "all" and changed.retries
    return changed.min_insync_replicas <= changed.replication_factor
