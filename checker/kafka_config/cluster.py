"""Reads a cluster's settings from Kafka's own configuration files and tools.

In:  property files of brokers, topics, producers or consumers; the output of `kafka-topics --describe` and
     `kafka-configs --describe`, and of `kafka-features describe`; and the versions if they are given.
Out: a `Reading`: for each distinct configuration of a topic a `Cluster`, with the settings on which the safety of
replication depends, their sources, the generation, the topics and partitions that have it, and the ignored settings
with the reasons.

A topic's value takes precedence over the broker's. A setting that is not given has the default of the given version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from isrcheck.checker.kafka_config.assumed import assumptions
from isrcheck.checker.kafka_config.consumer_rules import (
    CLIENT_RACK,
    ISOLATION_LEVEL,
    OFFSET_RESET,
    REPLICA_SELECTOR,
    Consumer,
    read_consumer,
)
from isrcheck.checker.kafka_config.describe import Described, DescribedTopic, listed, read_described
from isrcheck.checker.kafka_config.describe_lines import Partition
from isrcheck.checker.kafka_config.generation import Generation, format_keys, read_generation
from isrcheck.checker.kafka_config.ignored import Ignored, Keys, read_ignored
from isrcheck.checker.kafka_config.least_isr import OF_BROKER, OF_TOPIC, LeastIsr, read_least_isr
from isrcheck.checker.kafka_config.least_isr import meaning as meaning_of_least_isr
from isrcheck.checker.kafka_config.producer_rules import (
    ACKS,
    DELIVERY_TIMEOUT,
    IDEMPOTENCE,
    IN_FLIGHT,
    RETRIES,
    TRANSACTIONAL_ID,
    Producer,
    read_producer,
)
from isrcheck.checker.kafka_config.transaction_rules import Transactions, read_transactions
from isrcheck.checker.kafka_config.versions import ELR_VERSION, Versions, read_versions
from isrcheck.checker.kafka_settings.cluster_settings import (
    OF_BROKERS,
    OF_CONTROLLERS,
    READERS,
    GivenSetting,
    Section,
    Setting,
    Settings,
    UnderstoodSetting,
    default_of,
    shown,
)
from isrcheck.checker.kafka_settings.dialects import file_section
from isrcheck.checker.kafka_settings.keys import Role, default
from isrcheck.checker.kafka_settings.releases import Version, version_of_binaries

T = TypeVar("T")

NO_REPLICAS_GIVEN = (
    "the number of the topic's replicas is not given; "
    "add the output of kafka-topics --describe, or replication.factor in a file"
)


@dataclass(frozen=True)
class Cluster:
    """The settings of a cluster, and of topics that agree in theirs, that matter for the safety of replication.

    `generation` is the modelled generation of the cluster, or the nearest one if its `why_undecided` is not None.
    `kafka_version` is None if no version is given; the newest modelled version is then assumed.
    `min_insync_replicas` is the number that counts; if `is_min_insync_limited`, the setting is above the number of
    replicas. `is_replication_given` is False if the number of replicas is only Kafka's default, which says nothing of a
    topic that was created with a number of its own. `given_roles` are the roles of which any setting is given.
    `topics` are the described topics and `partitions` theirs; both can be empty.
    `transactions` is None if the producer has none. `why_unknown` is the reason why there is no answer, or None.
    `assumed` says what the files do not tell, and what is assumed instead.
    """

    kafka_version: Setting[str] | None
    generation: Generation
    producer: Producer
    consumer: Consumer
    transactions: Transactions | None
    min_insync_replicas: Setting[int]
    is_min_insync_limited: bool
    replication_factor: Setting[int]
    is_replication_given: bool
    unclean_election: Setting[bool]
    leader_rebalance: Setting[bool]
    flushes_every_message: bool
    given_roles: frozenset[Role]
    topics: tuple[str, ...]
    partitions: tuple[Partition, ...]
    why_unknown: str | None
    understood: tuple[UnderstoodSetting, ...]
    ignored: tuple[Ignored, ...]
    assumed: tuple[str, ...]

    @property
    def release(self) -> Version:
        """The release of the brokers, given or assumed."""
        return version_of_binaries(next(one.value for one in self.understood if one.key == "Kafka version"))

    @property
    def can_acknowledge_acks_all(self) -> bool:
        """Whether an acks=all write can succeed; not so if min.insync.replicas exceeds the number of replicas."""
        return self.min_insync_replicas.value <= self.replication_factor.value


@dataclass(frozen=True)
class Reading:
    """A cluster for each distinct configuration of a topic, and remarks on what is missing in the files."""

    clusters: tuple[Cluster, ...]
    remarks: tuple[str, ...] = ()


def read_clusters(
    files: Sequence[tuple[Role | None, Path]],
    kafka_version: str | None,
    described: Sequence[str] = (),
    topic: str | None = None,
    metadata_version: str | None = None,
) -> Reading:
    """Read the configuration files of a cluster, each with its role (None: the keys of the file determine the role).

    `described` are files with the output of `--describe` (- is standard input), `topic` selects one of several topics.
    Raises PropertiesError.
    """
    description = read_described(described, topic)
    sections = [file_section(role, path) for role, path in files]
    alike: dict[tuple[tuple[str, str], ...], list[DescribedTopic]] = {}
    for one in description.topics:
        alike.setdefault(one.settings, []).append(one)
    told = (kafka_version, metadata_version)
    clusters = tuple(_cluster(sections, description, topics, told) for topics in (alike.values() or [[]]))
    remarks = _given_by_some(Settings([*sections, *description.brokers]), clusters)
    return Reading(clusters, (*description.remarks, *remarks))


def _given_by_some(settings: Settings, clusters: Sequence[Cluster]) -> Iterator[str]:
    """Say which settings that count are those of some brokers or clients only."""
    sources = {line.source for one in clusters for line in one.understood}
    for given in settings:
        others = settings.lacking(given) if given.source + given.note in sources else []
        if others:
            what = f"{given.spelled} ({given.source}) is not given for {listed(others)}"
            yield f"{what}; it is taken for every {given.file_role.value}"


def _cluster(
    files: Sequence[Section],
    description: Described,
    topics: Sequence[DescribedTopic],
    told: tuple[str | None, str | None],
) -> Cluster:
    """Return the cluster of topics that agree in their settings; without topics, that of the files."""
    of_topic = [Section(Role.TOPIC, topics[0].name, topics[0].properties)] if topics else []
    settings = Settings([*files, *of_topic, *description.brokers])
    kafka_version, metadata_version = told
    versions = read_versions(settings, kafka_version, metadata_version, description.evidence)
    generation, version_lines = read_generation(settings, versions, description.eligible_replicas)
    replication_factor, replication_factor_line = _decide(_REPLICATION_FACTOR, settings, versions)
    least = read_least_isr(
        settings, versions, has_elr=generation.has_elr, shown_default=_shown_default(topics, versions)
    )
    min_insync_replicas, min_insync_replicas_line = least.setting, least.line
    is_replication_given = settings.first(_REPLICATION_FACTOR.keys) is not None
    is_above = is_replication_given and min_insync_replicas.value > replication_factor.value
    is_limited = is_above and versions.release.has("3.7")
    if is_limited:
        # Since 3.7 Kafka limits min.insync.replicas to the number of replicas (KAFKA-15583).
        min_insync_replicas = Setting(replication_factor.value, min_insync_replicas.source)
        meaning = f"since 3.7 at most the number of replicas: {meaning_of_least_isr(replication_factor.value)}"
        min_insync_replicas_line = replace(min_insync_replicas_line, meaning=meaning)
    unclean_election, unclean_election_line = _decide(_UNCLEAN_ELECTION, settings, versions)
    record_format, ignored_formats = format_keys(settings, versions)
    decisive = [*_DECISIVE, record_format, *([(one.role, one.key)] for one in versions.decisive)]
    producer = read_producer(settings, versions)
    consumer = read_consumer(settings, versions)
    transactions = read_transactions(settings, versions) if producer.has_transactions.value else None
    if transactions:
        decisive += [((one.role, one.key),) for one in transactions.decisive]
    rebalance, rebalance_line = _decide(_REBALANCE, settings, versions)
    flush = settings.first(_FLUSH)
    flushes = flush is not None and flush.text == EVERY_MESSAGE
    if flush is not None and flushes:
        decisive.append(_FLUSH)
    return Cluster(
        kafka_version=Setting(str(versions.release), versions.binaries.source) if versions.is_given else None,
        generation=generation,
        producer=producer,
        consumer=consumer,
        transactions=transactions,
        min_insync_replicas=min_insync_replicas,
        is_min_insync_limited=is_limited,
        replication_factor=replication_factor,
        is_replication_given=is_replication_given,
        unclean_election=unclean_election,
        leader_rebalance=rebalance,
        flushes_every_message=flushes,
        given_roles=frozenset(one.role for one in settings),
        topics=tuple(one.name for one in topics),
        partitions=tuple(partition for one in topics for partition in one.partitions),
        why_unknown=None if is_replication_given else NO_REPLICAS_GIVEN,
        understood=(
            *version_lines,
            *_mode_lines(versions),
            replication_factor_line,
            min_insync_replicas_line,
            unclean_election_line,
            rebalance_line,
            *_flush_lines(flush, flushes=flushes),
            *producer.understood,
            *(transactions.understood if transactions else ()),
            *consumer.understood,
        ),
        ignored=(
            *(each for one in topics for each in one.ignored),
            *read_ignored(
                settings,
                versions,
                [*((keys, settings.first(keys)) for keys in decisive), ((OF_TOPIC, OF_BROKER), least.used)],
                {**ignored_formats, **versions.ignored},
                _hidden(settings, least),
            ),
        ),
        assumed=tuple(
            assumptions(
                settings,
                versions,
                generation,
                least,
                producer,
                transactions,
                (unclean_election_line, rebalance_line),
            )
        ),
    )


def _shown_default(topics: Sequence[DescribedTopic], versions: Versions) -> str | None:
    """Return the place of a topic's line that would show min.insync.replicas if it were not the default; else None.

    kafka-topics shows what a topic inherits from brokers, unless it reads ZooKeeper (--zookeeper, before 3.0).
    """
    can_inherit = topics and (versions.has_kraft or versions.release.has("3.0"))
    return topics[0].shows_inherited if can_inherit else None


def _hidden(settings: Settings, least: LeastIsr) -> dict[tuple[Role, str], str]:
    """Return why the given values of certain keys do not count, if the default does."""
    hidden = dict.fromkeys(((Role.BROKER, key) for key in OF_BROKERS), "only a controller's file gives it")
    if settings.controllers:
        why = "KRaft controllers act on it, and none of their files gives it"
        hidden |= dict.fromkeys(((Role.BROKER, key) for key in OF_CONTROLLERS), why)
    if least.why_not_the_brokers:
        hidden[OF_BROKER] = least.why_not_the_brokers
    return hidden


def _mode_lines(versions: Versions) -> list[UnderstoodSetting]:
    """Return the settings that show who keeps the metadata, and how; the agreed version has a line of its own."""
    mode = f"metadata is kept by {'controllers (KRaft)' if versions.has_kraft else 'ZooKeeper'}"
    lines = []
    for one in versions.decisive:
        meaning = mode
        if (one.role, one.key) == ELR_VERSION:
            meaning = f"the controllers keep {'' if one.value else 'no '}eligible leader replicas"
        if one.key != versions.protocol_key:
            lines.append(UnderstoodSetting(one.key, shown(one.key, one.text), meaning, one.source))
    return lines


@dataclass(frozen=True)
class _Rule(Generic[T]):
    """The rule for a setting: the first given key decides, else the last key's default; `meaning` explains a value."""

    keys: Keys
    meaning: Callable[[T], str]


_REPLICATION_FACTOR: _Rule[int] = _Rule(
    keys=((Role.TOPIC, "replication.factor"), (Role.BROKER, "default.replication.factor")),
    meaning="number of brokers with a replica: {}".format,
)
_UNCLEAN_ELECTION: _Rule[bool] = _Rule(
    keys=((Role.TOPIC, "unclean.leader.election.enable"), (Role.BROKER, "unclean.leader.election.enable")),
    meaning={
        True: "a replica outside the ISR can be elected if no member of the ISR is up",
        False: "only a member of the ISR can be elected",
    }.__getitem__,
)

_REBALANCE: _Rule[bool] = _Rule(
    keys=((Role.BROKER, "auto.leader.rebalance.enable"),),
    meaning={
        True: "leadership returns to the preferred replica while the leader lives",
        False: "leadership moves only if the leader fails, or by hand (kafka-leader-election)",
    }.__getitem__,
)
_FLUSH: Keys = ((Role.TOPIC, "flush.messages"), (Role.BROKER, "log.flush.interval.messages"))
EVERY_MESSAGE = "1"
"""The value of _FLUSH with which a record is on disk before it counts; larger values promise nothing."""

_DECISIVE: Sequence[Keys] = (
    _REBALANCE.keys,
    _REPLICATION_FACTOR.keys,
    _UNCLEAN_ELECTION.keys,
    *(((Role.PRODUCER, key),) for key in (ACKS, RETRIES, IN_FLIGHT, IDEMPOTENCE, TRANSACTIONAL_ID, DELIVERY_TIMEOUT)),
    *(((Role.CONSUMER, key),) for key in (ISOLATION_LEVEL, OFFSET_RESET, CLIENT_RACK)),
    ((Role.BROKER, REPLICA_SELECTOR),),
)


def _flush_lines(flush: GivenSetting | None, *, flushes: bool) -> list[UnderstoodSetting]:
    if flush is None or not flushes:
        return []
    meaning = f"every record is on disk before it counts{flush.note}"
    return [UnderstoodSetting(flush.key, flush.text, meaning, flush.source)]


def _decide(rule: _Rule[T], settings: Settings, versions: Versions) -> tuple[Setting[T], UnderstoodSetting]:
    found = settings.first(rule.keys)
    if found:
        key, text, source, note = found.key, found.text, found.source, found.note
    else:
        key = rule.keys[-1][1]
        text, source, note = default(key, versions.release), default_of(versions.release), ""
    value: T = READERS[key](text)
    return Setting(value, source), UnderstoodSetting(key, text, rule.meaning(value) + note, source)
