"""Reads a cluster's settings from Kafka's own configuration files, and from the output of its tools.

A topic's value takes precedence over the broker's. A setting that is not given has the default of the release. Every
assumption that replaces a missing fact is listed. Which min.insync.replicas counts: without eligible leader replicas
(ELR, KIP-966) each broker reads the topic's value, else its own. With ELR there is always a value for the whole
cluster, which takes precedence over the brokers' files: when ELR is turned on, Kafka copies this value from the static
file of the active controller, or sets 1 if the file has no value (ActivationRecordsGenerator,
ConfigurationControlManager). With ELR, Kafka refuses a dynamic value for a single broker (KAFKA-16540).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from isrcheck.checker.cluster.clients import (
    CLIENT_KEYS,
    LOG_REPLICAS,
    Consumer,
    Producer,
    Transactions,
    read_consumer,
    read_producer,
    read_transactions,
    weakest_clients,
)
from isrcheck.checker.cluster.contents import Described, DescribedTopic, Partition, listed
from isrcheck.checker.cluster.generation import Generation, format_keys, read_generation
from isrcheck.checker.cluster.ignored import Ignored, Keys, read_ignored
from isrcheck.checker.cluster.libraries import OLDER_DEFAULTS, ClientLibrary
from isrcheck.checker.cluster.property_files import Layer, PropertiesError, Section, printable
from isrcheck.checker.cluster.releases import UNRELEASED, Role, Version
from isrcheck.checker.cluster.settings import (
    OF_BROKERS,
    OF_CONTROLLERS,
    GivenSetting,
    RoleSettings,
    Setting,
    Settings,
    role_of,
)
from isrcheck.checker.cluster.versions import ELR_VERSION, Versions, read_versions
from isrcheck.checker.cluster.voters import Doubts
from isrcheck.checker.results.terminal import grouped

UNREAD = "unknown"
"""What the report shows in place of a value that could not be read."""

NO_REPLICAS_GIVEN = (
    "the number of the topic's replicas is not given; "
    "add the output of kafka-topics --describe, or replication.factor in a file"
)


@dataclass(frozen=True)
class Cluster:
    """The settings of a cluster that affect the safety of replication; all topics in `topics` have these settings."""

    kafka_version: Setting[Version]
    """The release of the brokers, given or assumed."""
    is_version_given: bool
    generation: Generation
    """The modelled generation, or the nearest one if its `why_undecided` is not None."""
    has_kraft: bool
    """Whether controllers (KRaft) keep the metadata, and not ZooKeeper; shown or assumed."""
    producer: Producer
    consumer: Consumer
    transactions: Transactions | None
    """The settings that count for transactions; None if the producer has no transactional.id."""
    min_insync_replicas: Setting[int]
    is_min_insync_limited: bool
    """Whether min.insync.replicas is set above the number of replicas, and counts as that number."""
    replication_factor: Setting[int]
    is_replication_given: bool
    """False if the number of replicas is only Kafka's default: a topic may have been created with another number."""
    left_to_brokers: str
    """The setting of a framework, with its place, that leaves the number to the brokers; empty if none does."""
    unclean_election: Setting[bool]
    leader_rebalance: Setting[bool]
    flushes_every_message: bool
    given_roles: frozenset[Role]
    """The roles (broker, topic, ...) of which the files give any setting."""
    topics: tuple[str, ...]
    """The described topics; can be empty, as can the `partitions`."""
    partitions: tuple[Partition, ...]
    partition_count: int | None
    """The number of partitions of the topics, described one by one or not; None if that of a topic is unknown."""
    understood: tuple[Setting[Any], ...]
    """The settings that the report shows."""
    ignored: tuple[Ignored, ...]
    assumed: tuple[str, ...]
    """A line for each fact that the files do not give, with the assumption that is made instead."""
    unread: str = ""
    """Whose settings could not be read from a running cluster and are in no file, although the answer depends on them:
    "topic orders and of brokers". Their values here are Kafka's defaults. Empty if nothing is missing."""

    @property
    def release(self) -> Version:
        """The release of the brokers, given or assumed."""
        return self.kafka_version.value

    @property
    def why_unknown(self) -> str | None:
        """Why the files allow no answer; None if they allow an answer."""
        if self.unread:
            return f"the settings of {self.unread} could not be read; add files that have them"
        if self.is_replication_given:
            return None
        if self.left_to_brokers:
            return (
                f"{self.left_to_brokers} leaves the number of replicas to the brokers; add a broker's file with"
                " default.replication.factor, or the output of kafka-topics --describe"
            )
        return NO_REPLICAS_GIVEN


@dataclass(frozen=True)
class Reading:
    """The files as read: a `Cluster` for each distinct configuration of a topic, and remarks on what the files lack."""

    clusters: tuple[Cluster, ...]
    remarks: tuple[str, ...] = ()
    racks: Mapping[int, str] = field(default_factory=dict)
    """The rack of each broker whose rack is known, by broker id."""
    voters: Sequence[int] = ()
    """The ids of the controllers that vote, if a file shows them."""
    active_controller: int | None = None
    doubts: Doubts = field(default_factory=Doubts)
    ephemeral: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """The places of storage that a broker loses if it restarts, each with its brokers; nobody if they are not shown."""


def versions_of(description: Described, kafka_version: str | None, metadata_version: str | None = None) -> Versions:
    """Return the versions of the brokers that the files describe; the given versions are those of the command line.
    Raises PropertiesError if settings contradict each other."""
    # A client library does not show the version of a cluster.
    settings = Settings(section for section in _counted(description)[0] if section.library is None)
    return read_versions(settings, kafka_version, metadata_version, description.evidence, description.release)


def clusters_of(
    description: Described,
    kafka_version: str | None,
    metadata_version: str | None = None,
    before: Versions | None = None,
) -> Reading:
    """Return a `Cluster` for each distinct configuration of the described topics, or one if no topic is described. The
    versions are those of the command line. If the brokers are upgraded, `before` has the versions before the upgrade:
    the clients keep them, and the outputs describe brokers that have them. Raises PropertiesError if settings
    contradict each other."""
    unread = description.unread_topics
    alike = grouped(((topic.settings, topic.name in unread), topic) for topic in description.topics)
    versions = (kafka_version, metadata_version)
    sections, of_files = _counted(description)
    sections, of_clients = weakest_clients(sections, before or versions_of(description, *versions))
    clusters = tuple(_cluster(sections, description, topics, versions, before) for topics in (alike.values() or [[]]))
    of_settings = _given_by_some(Settings(sections), clusters)
    of_internal_topics = _internal_topics(Settings(sections), clusters)
    remarks = *description.remarks, *of_files, *of_clients, *of_settings, *of_internal_topics
    return Reading(
        clusters,
        remarks,
        description.racks,
        description.voters,
        description.active_controller,
        description.doubts,
        description.ephemeral,
    )


def _counted(description: Described) -> tuple[list[Section], list[str]]:
    """Return the sections that count, and the remarks of the readers. The topics that a framework creates for itself
    count only if no other topic is given."""
    remarks = [remark for section in description.sections for remark in section.remarks]
    internal = [section for section in description.sections if section.is_internal]
    others = [section for section in description.sections if not section.is_internal]
    has_topic = bool(description.topics) or any(
        (section.role or role_of(section.properties, section.member)) is Role.TOPIC for section in others
    )
    if internal:
        says = "are left out, as other topics are given" if has_topic else "are those that the answer is for"
        remarks.append(f"{internal[0].member}: these topics {says}")
    return (others if has_topic else [*others, *internal[:1]]), remarks


def _given_by_some(settings: Settings, clusters: Sequence[Cluster]) -> Iterator[str]:
    """Yield a remark for each setting that counts but is only in some of the files of brokers or clients."""
    sources = {setting.source for cluster in clusters for setting in cluster.understood}
    for given in settings:
        if given.source + given.note in sources and (others := settings.lacking(given)):
            yield (
                f"{given.spelled} ({given.source}) is not given for {listed(others)};"
                f" it is taken for every {given.file_role.value}"
            )


_INTERNAL_TOPICS = {
    "offsets.topic.replication.factor": ("__consumer_offsets", "the committed offsets of groups"),
    LOG_REPLICAS: ("__transaction_state", "the states of transactions"),
    "share.coordinator.state.topic.replication.factor": ("__share_group_state", "the positions of share groups"),
}
"""The settings of brokers for the replicas of an internal topic, with the topic and what it keeps."""


def _internal_topics(settings: Settings, clusters: Sequence[Cluster]) -> Iterator[str]:
    """Yield a remark for each internal topic that brokers create with one replica although other topics have more,
    unless an output describes the topic, or the answer itself speaks of it (for consumers and for transactions)."""
    said = {topic for cluster in clusters for topic in cluster.topics}
    if any(Role.CONSUMER in cluster.given_roles for cluster in clusters):
        said.add("__consumer_offsets")
    if any(cluster.transactions is not None for cluster in clusters):
        said.add("__transaction_state")
    if not any(cluster.is_replication_given and cluster.replication_factor.value > 1 for cluster in clusters):
        return
    for given in settings:
        topic, keeps = _INTERNAL_TOPICS.get(given.key, ("", ""))
        if topic and topic not in said and given.text == "1":
            yield f"{given.source}: {given.spelled}: one lost broker loses {keeps} ({topic})"


def _cluster(
    sections: Sequence[Section],
    description: Described,
    topics: Sequence[DescribedTopic],
    given_versions: tuple[str | None, str | None],
    before: Versions | None,
) -> Cluster:
    """Return the `Cluster` for topics that agree in their settings; without topics, the `Cluster` of the files. For
    `before` see `clusters_of`."""
    of_topic = [Section(Role.TOPIC, topics[0].name, topics[0].properties)] if topics else []
    settings = Settings([*sections, *of_topic])
    versions = read_versions(settings, *given_versions, description.evidence, description.release)
    if before is not None:
        versions = replace(versions, assumed=())  # said of the versions before
    generation, version_lines = read_generation(settings, versions, description.eligible_replicas, before)
    before = before or versions
    replication_factor = _decide(_REPLICATION_FACTOR, settings, versions)
    least = read_least_isr(settings, versions, has_elr=generation.has_elr, shown_default=_shown_default(topics, before))
    unread = _unread(sections, settings, description, topics)
    if unread and (least.used is None or least.used.role is not Role.TOPIC):
        least = replace(least, setting=replace(least.setting, text=UNREAD, source="could not be read", meaning=""))
    min_insync_replicas = least.setting
    is_replication_given = settings.first(_REPLICATION_FACTOR.keys) is not None
    is_above = is_replication_given and min_insync_replicas.value > replication_factor.value
    is_limited = is_above and versions.release.has("3.7") and not unread
    if is_limited:
        # Since 3.7 Kafka limits min.insync.replicas to the number of replicas (KAFKA-15583).
        meaning = f"since 3.7 at most the number of replicas: {_least_isr_means(replication_factor.value)}"
        min_insync_replicas = replace(min_insync_replicas, value=replication_factor.value, meaning=meaning)
    unclean_election, rebalance = (_decide(rule, settings, versions) for rule in (_UNCLEAN_ELECTION, _REBALANCE))
    # Sequence numbers are handled by both sides; what the brokers do with them is decisive.
    producer = replace(read_producer(settings, before), numbering=read_producer(settings, versions).numbering)
    consumer = read_consumer(settings, before)
    transactions = read_transactions(settings, versions) if producer.has_transactions else None
    flush = settings.first(_FLUSH)
    flushes = [flush] if flush is not None and flush.text == "1" else []
    record_format, ignored_formats = format_keys(settings, versions)
    reasons = {**ignored_formats, **versions.ignored}
    decisive = [*_DECISIVE, record_format, *([_FLUSH] if flushes else [])]
    winners = {key: settings.first(keys) for keys in decisive for key in keys}
    of_versions = [*versions.decisive, *(transactions.decisive if transactions else ())]
    winners |= {(given.role, given.key): given for given in of_versions}
    winners |= dict.fromkeys((OF_TOPIC, OF_BROKER), least.used)
    return Cluster(
        kafka_version=versions.binaries,
        is_version_given=versions.is_given,
        generation=generation,
        has_kraft=versions.has_kraft,
        producer=producer,
        consumer=consumer,
        transactions=transactions,
        min_insync_replicas=min_insync_replicas,
        is_min_insync_limited=is_limited,
        replication_factor=replication_factor,
        is_replication_given=is_replication_given,
        left_to_brokers=next((section.left_to_brokers for section in sections if section.left_to_brokers), ""),
        unclean_election=unclean_election,
        leader_rebalance=rebalance,
        flushes_every_message=bool(flushes),
        given_roles=frozenset(setting.role for setting in settings),
        topics=tuple(topic.name for topic in topics),
        partitions=tuple(partition for topic in topics for partition in topic.partitions),
        partition_count=sum(counts) if all(counts := [topic.partition_count for topic in topics]) else None,
        understood=(
            *version_lines,
            *_mode_lines(versions),
            replication_factor,
            min_insync_replicas,
            unclean_election,
            rebalance,
            *(given.in_effect.means("every record is on disk before it counts") for given in flushes),
            *producer.understood,
            *(transactions.understood if transactions else ()),
            *consumer.understood,
        ),
        ignored=(
            *(ignored for topic in topics for ignored in topic.ignored),
            *read_ignored(settings, versions, winners, reasons, _hidden(settings, least)),
        ),
        assumed=(
            *_assumptions(settings, versions, generation, least, (unclean_election, rebalance)),
            *([transactions.assumed] if transactions and transactions.assumed else []),
            _clients(producer, before),
            *([] if unread else _defaults(settings, least, (unclean_election, rebalance))),
        ),
        unread=unread,
    )


def _unread(
    sections: Sequence[Section], settings: Settings, description: Described, topics: Sequence[DescribedTopic]
) -> str:
    """Return `Cluster.unread`. `sections` are the files, `settings` also has the settings of the topics."""
    unread = []
    is_any = any(topic.name in description.unread_topics for topic in topics)
    if is_any and not Settings(sections).has_members(Role.TOPIC):
        unread.append(f"topic {printable(topics[0].name)}" if len(topics) == 1 else f"{len(topics):,} topics")
    decided = all(settings.first(keys) for keys in ((OF_TOPIC, OF_BROKER), _UNCLEAN_ELECTION.keys))
    if description.has_unread_brokers and not decided and not settings.has_members(Role.BROKER):
        unread.append("brokers")
    return " and of ".join(unread)


def _shown_default(topics: Sequence[DescribedTopic], versions: Versions) -> str | None:
    """Return the place of the topic's kafka-topics line, if the line shows values inherited from brokers; else None. If
    the line then shows no min.insync.replicas, the default is in effect. Before 3.0, kafka-topics does not show
    inherited values if it reads ZooKeeper (--zookeeper)."""
    can_inherit = topics and (versions.has_kraft or versions.release.has("3.0"))
    return topics[0].shows_inherited if can_inherit else None


def _hidden(settings: Settings, least: LeastIsr) -> dict[tuple[Role, str], str]:
    """Return, for certain keys of brokers, the reason why the default applies although a file gives a value."""
    hidden = dict.fromkeys(((Role.BROKER, key) for key in OF_BROKERS), "only a controller's file gives it")
    if settings.controllers:
        why = "KRaft controllers act on it, and none of their files gives it"
        hidden |= dict.fromkeys(((Role.BROKER, key) for key in OF_CONTROLLERS), why)
    if least.why_not_the_brokers:
        hidden[OF_BROKER] = least.why_not_the_brokers
    return hidden


def _mode_lines(versions: Versions) -> Iterator[Setting[Any]]:
    """Yield the settings that show ZooKeeper or KRaft, except inter.broker.protocol.version and metadata.version."""
    mode = f"metadata is kept by {'controllers (KRaft)' if versions.has_kraft else 'ZooKeeper'}"
    for given in versions.decisive:
        meaning = mode
        if (given.role, given.key) == ELR_VERSION:
            meaning = f"the controllers keep {'' if given.value else 'no '}eligible leader replicas"
        if given.key != versions.protocol_key:
            yield replace(given.in_effect, meaning=meaning)


@dataclass(frozen=True)
class _Rule:
    """The keys of a setting, in order of precedence, and what its values mean. The default is that of the last key."""

    keys: Keys
    meaning: Callable[[Any], str]


_REPLICATION_FACTOR = _Rule(
    keys=((Role.TOPIC, "replication.factor"), (Role.BROKER, "default.replication.factor")),
    meaning="number of brokers with a replica: {}".format,
)
_UNCLEAN_ELECTION = _Rule(
    keys=((Role.TOPIC, "unclean.leader.election.enable"), (Role.BROKER, "unclean.leader.election.enable")),
    meaning={
        True: "a replica outside the ISR can be elected if no member of the ISR is up",
        False: "only a member of the ISR can be elected",
    }.__getitem__,
)
_REBALANCE = _Rule(
    keys=((Role.BROKER, "auto.leader.rebalance.enable"),),
    meaning={
        True: "leadership returns to the preferred replica while the leader lives",
        False: "leadership moves only if the leader fails, or by hand (kafka-leader-election)",
    }.__getitem__,
)
_FLUSH: Keys = ((Role.TOPIC, "flush.messages"), (Role.BROKER, "log.flush.interval.messages"))
"""If one of these keys is 1, a record is on disk before it counts; greater values promise nothing."""

_DECISIVE: Sequence[Keys] = (
    _REBALANCE.keys,
    _REPLICATION_FACTOR.keys,
    _UNCLEAN_ELECTION.keys,
    *((key,) for key in CLIENT_KEYS),
)


def _decide(rule: _Rule, settings: Settings, versions: Versions) -> Setting[Any]:
    role, key = rule.keys[-1]
    given = settings.first(rule.keys)
    setting = given.in_effect if given else RoleSettings(settings, versions.release, role).setting(key)
    return setting.means(rule.meaning(setting.value))


LEAST_ISR = "min.insync.replicas"
OF_TOPIC, OF_BROKER = (Role.TOPIC, LEAST_ISR), (Role.BROKER, LEAST_ISR)

_SHOWS_IT = "kafka-configs --describe --entity-type brokers --entity-default"


@dataclass(frozen=True)
class LeastIsr:
    """The value of min.insync.replicas that counts, and where it comes from."""

    setting: Setting[int]
    used: GivenSetting | None = None
    """The given setting that decides the value; None if the value is a default."""
    assumed: str = ""
    """What is assumed about the value; empty if nothing is."""
    why_not_the_brokers: str = ""
    """If the value is a default, the reason why the values of brokers do not count; empty if no broker has a value."""


def read_least_isr(settings: Settings, versions: Versions, *, has_elr: bool, shown_default: str | None) -> LeastIsr:
    """Return the min.insync.replicas that counts. `shown_default` is the line of kafka-topics that would show a value
    other than the default; None if no line would. Raises PropertiesError if values contradict each other."""
    if (of_topic := settings.get(*OF_TOPIC)) is not None:
        return _given(of_topic)
    if shown_default is not None:
        return _of_described_topic(settings, versions, shown_default)
    if has_elr:
        return _of_cluster(settings, versions)
    of_brokers = settings.get(*OF_BROKER)
    return _given(of_brokers) if of_brokers is not None else _of_default(settings, versions)


def _least_isr_means(value: int) -> str:
    return f"an acks=all write needs an ISR of at least {value}"


def _of_described_topic(settings: Settings, versions: Versions, place: str) -> LeastIsr:
    """Return the default of min.insync.replicas: kafka-topics would show any other value, even an inherited one."""
    why = f"kafka-topics shows the values of brokers as well, and none in {place}"
    assumed = ""
    if other := next((setting for setting in settings.every(*OF_BROKER) if setting.value != 1), None):
        inherits = "kafka-topics shows what a topic inherits from brokers, and shows no value"
        assumed = f"{LEAST_ISR}=1, not {other.text} as in {other.source}: {inherits}"
    return _of_default(settings, versions, f"{place} shows no other value", assumed, why)


def _of_cluster(settings: Settings, versions: Versions) -> LeastIsr:
    """Return the min.insync.replicas of the whole cluster, which with ELR takes precedence over the brokers' files."""
    by_layer = {setting.layer: setting for setting in settings.every(*OF_BROKER)}
    dynamic, running = by_layer.get(Layer.CLUSTER), by_layer.get(Layer.RUNNING)
    if dynamic and running and dynamic.value != running.value:
        raise PropertiesError(
            f"{running.source}: {running.spelled} contradicts {dynamic.spelled} in {dynamic.source}: with eligible "
            "leader replicas every broker has the value of the cluster; describe the cluster again"
        )
    if (shown := dynamic or running) is not None:
        return _given(shown)
    hides = "with eligible leader replicas the value of the cluster counts, which hides those of brokers"
    if settings.controllers:
        return _of_controllers(settings, versions, hides)
    of_brokers = by_layer.get(Layer.FILE)
    if of_brokers is None:
        return _of_default(settings, versions)
    other = f", not {of_brokers.text} as in {of_brokers.source}" if of_brokers.value != 1 else ""
    assumed = (
        f"{LEAST_ISR}=1{other}: {hides}, and is 1 unless the controllers' files had another; give the output of "
        f"{_SHOWS_IT}, or a controller's file; to set it, while all replicas are in sync: kafka-configs --alter"
        f" --add-config {LEAST_ISR}=2 --entity-type brokers --entity-default"
    )
    return _of_default(settings, versions, "1 unless a controller's file had another", assumed, hides)


def _of_controllers(settings: Settings, versions: Versions, hides: str) -> LeastIsr:
    """Return the min.insync.replicas that the active controller wrote for the cluster; any controller can be active."""
    given = [setting for setting in settings.every(*OF_BROKER) if settings.is_of_controllers(setting)]
    if other := next((setting for setting in given if setting.value != given[0].value), None):
        raise PropertiesError(
            f"{other.source}: {other.spelled} contradicts {given[0].spelled} in {given[0].source}: with eligible leader"
            f" replicas the value of the controller that was active counts; give the output of {_SHOWS_IT}"
        )
    if lacking := [path for path in settings.controllers if not any(path in setting.members for setting in given)]:
        says = f"{lacking[0]} does not give it"
        assumed = f"{LEAST_ISR}=1, as {says}: {hides}, and was written from a controller's file; {_SHOWS_IT} shows it"
        return _of_default(settings, versions, f"1, as {says}", assumed, hides)
    setting = given[0]
    assumed = (
        f"{LEAST_ISR}={setting.text} for the cluster, written from {setting.source} when eligible leader replicas were"
        f" turned on, and not changed since; {_SHOWS_IT} shows it"
    )
    return _given(setting, assumed)


def _given(given: GivenSetting, assumed: str = "") -> LeastIsr:
    return LeastIsr(given.in_effect.means(_least_isr_means(given.value)), given, assumed)


def _of_default(
    settings: Settings, versions: Versions, source: str = "", assumed: str = "", why_not_the_brokers: str = ""
) -> LeastIsr:
    usual = RoleSettings(settings, versions.release, Role.BROKER).default(LEAST_ISR)
    setting = replace(usual, source=source or usual.source).means(_least_isr_means(usual.value))
    return LeastIsr(setting, None, assumed, why_not_the_brokers)


_ELR = (
    "eligible leader replicas, which a cluster has that was created with 4.1 or newer, or upgraded with kafka-features"
    " upgrade --release-version; give the output of kafka-features describe, or eligible.leader.replicas.version=0 in a"
    " broker's file if they are off"
)
_BY_HAND = (
    "somebody who elects uncleanly by hand (kafka-leader-election): KRaft controllers act on"
    " unclean.leader.election.enable=true since 3.9 (KAFKA-12670)"
)


def _assumptions(
    settings: Settings,
    versions: Versions,
    generation: Generation,
    least: LeastIsr,
    of_brokers: tuple[Setting[bool], ...],
) -> Iterator[str]:
    """Yield a line for each assumption about brokers and controllers; `of_brokers` are the settings for unclean
    elections and leader rebalancing."""
    yield from versions.assumed
    if versions.release.release_name == UNRELEASED:
        yield f"Kafka {UNRELEASED} as its source was in August 2026, before its release"
    if generation.assumes_elr:
        yield _ELR
    if least.assumed:
        yield least.assumed
    values = [f"{setting.key}={setting.text}" for setting in of_brokers]
    if settings.brokers_alone and not settings.controllers:
        act = "controllers act on these settings, and brokers do not"
        yield f"controllers with {' and '.join(values)} ({act}); give a controller's file"
    is_unclean = "unclean.leader.election.enable=true" in values
    if is_unclean and versions.has_kraft and not versions.release.has("3.9"):
        yield _BY_HAND


def _clients(producer: Producer, versions: Versions) -> str:
    """Return as text which clients the producers are assumed to be, and the defaults that they are assumed to have.
    Property files do not say which release or kind of client reads them, and other clients have other defaults."""
    library, defaults = producer.library, producer.defaults
    whose = f"are Java clients of Kafka {versions.release}"
    if library is not ClientLibrary.JAVA:
        whose = f"are those of {library.value} ({producer.shown_by})"
        whose += f", Java clients of Kafka {versions.release}" if library.has_java_clients else ""
    texts = {setting.key: f"{setting.key}={setting.text}" for setting in defaults}
    older = [was for key, was in OLDER_DEFAULTS.get(library, {}).items() if key in texts]
    before = f" (older versions: {', '.join(older)})" if older else ""
    by_default = f", by default with {', '.join(texts.values())}{before} (--producer FILE)" if defaults else ""
    resends = "" if library.has_java_clients else "; resends are numbered as by the Java client"
    return f"producers {whose}{by_default}{resends}"


def _defaults(settings: Settings, least: LeastIsr, of_brokers: tuple[Setting[bool], ...]) -> Iterator[str]:
    """Yield a line on the kinds of files that are missing (topic, broker), with the defaults assumed instead."""
    has_topic, has_brokers = (settings.has_members(role) for role in (Role.TOPIC, Role.BROKER))
    is_default = least.used is None and not least.why_not_the_brokers and not least.assumed
    minimum = f"{LEAST_ISR}={least.setting.text}" if is_default else ""
    lacking = []
    if not has_topic:
        own = minimum if minimum and not has_brokers else "no settings of its own"
        lacking.append(f"the topic ({own}; --topic FILE)")
    if not has_brokers:
        values = [minimum] if minimum and has_topic else []
        values += [f"{setting.key}={setting.text}" for setting in of_brokers if setting.is_default]
        lacking.append(f"brokers ({', '.join(values) or 'no other settings'}; --broker FILE)")
    if lacking:
        yield f"Kafka's defaults of {' and of '.join(lacking)}"
