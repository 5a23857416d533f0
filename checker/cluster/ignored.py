"""The settings that the answer ignores, with the reasons: no given setting is ignored silently.

If a setting has several values, the values that do not count are ignored as well.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache

from isrcheck.checker.cluster.client_files import without_prefix
from isrcheck.checker.cluster.clients import BROKERS_KEYS_OF_TRANSACTIONS, TIMEOUT
from isrcheck.checker.cluster.libraries import KEYS_OF
from isrcheck.checker.cluster.property_files import READERS, Layer, printable, shown
from isrcheck.checker.cluster.releases import (
    NEWEST_LISTED_RELEASE,
    OF_ONE_MEMBER,
    Role,
    first_release,
    keys_of,
    knows,
    roles_that_know,
    version_of_binaries,
)
from isrcheck.checker.cluster.settings import GivenSetting, Settings
from isrcheck.checker.cluster.versions import Versions


class WhyIgnored(Enum):
    """The reason why the verdict does not depend on a setting."""

    NO_BEARING = "no bearing on replication"
    ASSUMED = "what the model assumes"
    NOT_MODELLED = "not modelled yet"
    NO_TRANSACTIONS = "because no producer has a transactional.id"
    PARTITIONS = "because the answer is for one partition"
    OVERRIDDEN = "overridden"
    UNKNOWN = "unknown to this Kafka"


@dataclass(frozen=True)
class Ignored:
    """A setting on which the verdict does not depend."""

    key: str
    value: str
    """Safe to print: one line, and no secret."""
    why: WhyIgnored
    reason: str
    source: str
    meant: str = ""
    """The setting that is probably misspelt, if the verdict depends on it, such as min.insync.replicas; else empty."""

    @property
    def line(self) -> str:
        """The setting, its place, and why it is ignored."""
        return f"{self.key}={self.value} ({self.source}): {self.reason}"

    @property
    def may_matter(self) -> bool:
        """Whether ignoring the setting may make the answer wrong: it is probably misspelt, or it is not modelled."""
        return bool(self.meant) or (self.why is WhyIgnored.NOT_MODELLED and self.reason in _MAY_MATTER)


Keys = Sequence[tuple[Role, str]]
"""Several keys for one setting; the first key that is given takes effect."""

# Settings that could change the answer, but whose mechanism is not modelled yet.
_COMPACTION = "compaction is not modelled: the answer is for a log that keeps every record"
_TIERED = "tiered storage is not modelled: the answer is for a log on the brokers' own disks"
_ELR_PREVIEW = "eligible leader replicas before 4.0 are not modelled"
TO_BE_DELETED = "the topic is marked for deletion: the answer is for a topic that stays"
_MAY_MATTER = frozenset({_COMPACTION, _TIERED, _ELR_PREVIEW, TO_BE_DELETED})
_KEYS_NOT_MODELLED = {
    _COMPACTION: "cleanup.policy log.cleanup.policy",
    "only a flush after every record is modelled: a power loss can lose everything appended since the start": """
        flush.messages flush.ms log.flush.interval.messages log.flush.interval.ms
    """,
    _TIERED: "remote.storage.enable remote.log.storage.system.enable",
    _ELR_PREVIEW: "eligible.leader.replicas.enable",
    "a migration to KRaft is not modelled": "zookeeper.metadata.migration.enable",
    "the model has no clock: with auto.leader.rebalance.enable leadership can move at any time": """
        leader.imbalance.check.interval.seconds leader.imbalance.per.broker.percentage
    """,
    "a controlled shutdown is not modelled as a separate step": """
        controlled.shutdown.enable controlled.shutdown.max.retries controlled.shutdown.retry.backoff.ms
    """,
    "the topic of consumer offsets, which has its own replicas, is not modelled": """
        offsets.commit.required.acks offsets.topic.replication.factor
    """,
    "committed offsets are not modelled: a consumer starts at offset 0, and keeps its position": """
        auto.commit.enable auto.commit.interval.ms enable.auto.commit
    """,
    "time is not modelled: a leader that has forgotten an idle producer no longer recognises its resends": """
        producer.id.expiration.ms
    """,
    "time is not modelled: a coordinator that has forgotten an idle transactional.id does not fence its producers "
    "(before 3.4 leaders forget idle producers by this time, too)": "transactional.id.expiration.ms",
    "retention is not modelled: the answer is for records that are not deleted yet": """
        local.retention.bytes local.retention.ms log.local.retention.bytes log.local.retention.ms log.retention.bytes
        log.retention.hours log.retention.minutes log.retention.ms retention.bytes retention.ms
    """,
    "time is not modelled: the answer covers every value": """
        broker.heartbeat.interval.ms broker.session.timeout.ms controller.quorum.election.backoff.max.ms
        controller.quorum.election.timeout.ms controller.quorum.fetch.timeout.ms controller.quorum.request.timeout.ms
        log.flush.offset.checkpoint.interval.ms log.flush.start.offset.checkpoint.interval.ms replica.fetch.backoff.ms
        replica.fetch.wait.max.ms replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms
        replica.socket.timeout.ms request.timeout.ms retry.backoff.max.ms retry.backoff.ms
        unclean.leader.election.interval.ms zookeeper.session.timeout.ms
    """,
}
_NOT_MODELLED = {key: why for why, keys in _KEYS_NOT_MODELLED.items() for key in keys.split()}

_VALUES_ASSUMED = {
    "delete": "cleanup.policy log.cleanup.policy",
    "9223372036854775807": "flush.messages flush.ms log.flush.interval.messages log.flush.interval.ms",
    "false": """
        remote.storage.enable remote.log.storage.system.enable eligible.leader.replicas.enable
        zookeeper.metadata.migration.enable controlled.shutdown.enable
    """,
    "-1": "log.retention.bytes log.retention.ms retention.bytes retention.ms",
}
_ASSUMED = {key: value for value, keys in _VALUES_ASSUMED.items() for key in keys.split()}
"""The value of each of these keys that turns its mechanism off: with this value the model is exact."""


def read_ignored(
    settings: Settings,
    versions: Versions,
    winners: Mapping[tuple[Role, str], GivenSetting | None],
    reasons: Mapping[tuple[Role, str], str],
    hidden: Mapping[tuple[Role, str], str],
) -> Iterator[Ignored]:
    """Yield the given settings that the answer ignores. `winners` has the setting in effect for each key that counts.
    `reasons` says, for certain keys, why they have no effect on the answer; `hidden` says, for certain keys, why the
    default applies although a file gives a value."""
    for given in settings:
        key = given.role, given.key
        winner = winners.get(key) if knows(versions.release, *key) else None
        if winner is not None and _is_used(given, winner):
            continue
        if key in reasons:
            why, reason = WhyIgnored.NO_BEARING, reasons[key]
        elif winner is None and key in hidden:
            why, reason = WhyIgnored.OVERRIDDEN, hidden[key]
        else:
            why, reason = _why_ignored(given, versions, winner)
        meant = _meant(given.key) if why is WhyIgnored.UNKNOWN else ""
        counts = meant if meant in READERS else ""
        key_of_file = given.written.partition("=")[0] or printable(given.key)
        yield Ignored(key_of_file, shown(given.key, given.text), why, reason, given.source, counts)


def _is_used(given: GivenSetting, winner: GivenSetting) -> bool:
    """Whether a setting counts: it has the winner's key and layer, or the winner's value in a controller's file."""
    if (given.role, given.key) != (winner.role, winner.key):
        return False
    is_beside = given.layer is Layer.CONTROLLER and winner.layer is Layer.FILE
    return given.layer is winner.layer or (is_beside and (given.value == winner.value or given.key in OF_ONE_MEMBER))


def _why_ignored(given: GivenSetting, versions: Versions, winner: GivenSetting | None) -> tuple[WhyIgnored, str]:
    if winner is not None:
        return WhyIgnored.OVERRIDDEN, f"overridden by the {winner.role.value}'s {winner.key} in {winner.source}"
    if given.library is not None and not roles_that_know(given.key):
        is_of_framework = given.library.has_java_clients and not given.written
        if is_of_framework or given.key in KEYS_OF.get(given.library, ()) or not _meant(given.key):
            return WhyIgnored.NO_BEARING, f"is a setting of {given.library.value} without bearing on replication"
    if not knows(versions.release, given.role, given.key):
        return WhyIgnored.UNKNOWN, _why_unknown(given, versions)
    if _ASSUMED.get(given.key) == given.text.lower():
        return WhyIgnored.ASSUMED, "is what the model assumes"
    if given.key in (TIMEOUT, *BROKERS_KEYS_OF_TRANSACTIONS):
        return WhyIgnored.NO_TRANSACTIONS, "concerns transactions only"
    if given.key.startswith("partitioner."):
        return WhyIgnored.PARTITIONS, "chooses a record's partition; Kafka promises no order across partitions"
    if given.key in _NOT_MODELLED:
        return WhyIgnored.NOT_MODELLED, _NOT_MODELLED[given.key]
    if given.key.startswith(("offsets.", "transaction.state.log.")):
        return WhyIgnored.NO_BEARING, "concerns an internal topic, not this one"
    return WhyIgnored.NO_BEARING, "has no bearing on replication"


def _why_unknown(given: GivenSetting, versions: Versions) -> str:
    release, newest, role = versions.release, version_of_binaries(NEWEST_LISTED_RELEASE), given.role.value
    if since := first_release(given.role, given.key):
        return f"Kafka {release} does not know this {role} setting, which is new in {since}"
    hint = f"; did you mean {meant}?" if (meant := _meant(given.key)) else ""
    if versions.is_given and release.is_newer_than(newest):
        return f"not a {role} setting of Kafka up to {newest}; isrcheck does not know newer settings{hint}"
    return f"Kafka {release if versions.is_given else f'up to {newest}'} has no such {role} setting{hint}"


@cache
def _meant(key: str) -> str:
    """Return the Kafka key that a misspelt key probably means; empty if no key is similar, or if the key is correct.
    Typing errors, capitals, other separators, and a prefix of a client (producer., consumer.) are recognised."""
    names = sorted({name for role in Role for name in keys_of(role)})
    if key in names:
        return ""
    plain = re.sub(r"[_-]", ".", key.lower())
    like = difflib.get_close_matches(plain, names, 1, cutoff=0.9) or difflib.get_close_matches(plain, READERS, 1, 0.8)
    # A plugin of a broker may have a client of its own, with settings such as confluent.reporter.producer.acks.
    of_client = without_prefix(plain) if plain.startswith(("producer.", "consumer.")) else ""
    return plain if plain in names else of_client or next(iter(like), "")
