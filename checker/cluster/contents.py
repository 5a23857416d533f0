"""What is known of a cluster's topics, brokers and clients, whichever files or connections showed it.

Each reader of a format (`describe` for the output of Kafka's tools) adds to one `Contents`; `described` sorts the
contents by topic and broker, and adds remarks on what is missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from isrcheck.checker.cluster.ignored import Ignored, WhyIgnored
from isrcheck.checker.cluster.property_files import Layer, PropertiesError, Property, Section, printable
from isrcheck.checker.cluster.racks import racks_of
from isrcheck.checker.cluster.releases import LAST_WITH_ZOOKEEPER, Role, Version, version_of_binaries
from isrcheck.checker.cluster.settings import Setting
from isrcheck.checker.cluster.versions import Evidence, Mode
from isrcheck.checker.cluster.voters import Doubts, voters_of
from isrcheck.checker.results.terminal import grouped

NO_ELR = "N/A"
"""The text that newer tools print in the field Elr for brokers that do not know of eligible leader replicas."""

ADDING, REMOVING = "Adding Replicas", "Removing Replicas"
"""The fields of a partition that name brokers during a reassignment (KIP-455)."""


FOR_ONE_KIND = ": the answer is for the "
"""The text after which a remark says which of several kinds of partitions an answer about settings is for. It is left
out of an answer about each partition."""
_AFTER_IT = f"{FOR_ONE_KIND}replicas after it"
_REASSIGNED = f"a reassignment under way is not modelled{_AFTER_IT}"

_DESCRIBE = "add the output of kafka-topics --describe"

COORDINATORS = {
    "__consumer_offsets": "offsets that groups have committed",
    "__transaction_state": "transactions that were reported as committed",
}
"""The topics of coordinators, on which clients of all topics depend, and what is lost with their records."""

MOST_LISTED = 5
"""The most names in a message; further names are only counted."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition as kafka-topics describes it. Brokers are given by their ids."""

    topic: str
    number: int
    leader: int | None
    replicas: tuple[int, ...]
    """The preferred leader first."""
    isr: tuple[int, ...]
    place: str
    """The line that describes it, as FILE:LINE; or the broker and the API, as HOST:PORT, API."""
    elr: tuple[int, ...] = ()
    """The eligible leader replicas. This field and the next are also empty if the tool does not show them."""
    last_known_elr: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    """The replicas that a running reassignment adds; the next field has the replicas that it removes."""
    removing: tuple[int, ...] = ()
    strangers: tuple[int, ...] = ()
    """Brokers in the ELR that are not replicas: a reassignment removed them."""

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas that the partition has after its reassignment, if one is under way."""
        if not self.removing:
            return self.replicas
        return tuple(replica for replica in self.replicas if replica not in self.removing)

    @property
    def reassigned(self) -> Mapping[str, str]:
        """The fields Adding Replicas and Removing Replicas, by label, as kafka-topics prints them, unless empty."""
        fields = {ADDING: self.adding, REMOVING: self.removing}
        return {label: ",".join(map(str, brokers)) for label, brokers in fields.items() if brokers}

    @property
    def name(self) -> str:
        """The name of the partition as in Kafka's log lines: TOPIC-NUMBER."""
        return f"{self.topic}-{self.number}"


@dataclass
class Contents:
    """Everything that the readers found in files, in output of Kafka's tools or in a running cluster; `described` sorts
    it by topic and broker."""

    topics: dict[str, list[Property]] = field(default_factory=dict)
    with_settings: set[str] = field(default_factory=set)
    """The topics whose settings are shown, even if they have no settings."""
    headers: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    """For each topic the numbers of its partitions and replicas (0 if unknown), and the place that shows them."""
    partitions: dict[tuple[str, int], Partition] = field(default_factory=dict)
    brokers: dict[tuple[str, Layer], list[Property]] = field(default_factory=lambda: defaultdict(list))
    """The settings of each broker whose settings are shown; an empty list if it has none."""
    ignored: dict[str, list[Ignored]] = field(default_factory=lambda: defaultdict(list))
    """For each topic, the parts of its description that the answer ignores."""
    topic_ids: dict[str, str] = field(default_factory=dict)
    """For each topic the place of the line with its id."""
    supported: list[tuple[Version, str]] = field(default_factory=list)
    """The newest versions of metadata that brokers can read, with their places."""
    evidence: list[Evidence] = field(default_factory=list)
    """What running brokers show of their release; it replaces what outputs of tools show."""
    elr_fields: list[str] = field(default_factory=list)
    """The places of lines with a field of eligible leader replicas."""
    known_elrs: list[str] = field(default_factory=list)
    """The places of the lines with a field of eligible leader replicas that is not N/A."""
    eligible_replicas: list[str] = field(default_factory=list)
    """The places of the lines with a field of eligible leader replicas that names brokers."""
    cut: list[str] = field(default_factory=list)
    """The places of incomplete lines."""
    doubtful: list[str] = field(default_factory=list)
    """The places of lines at the end of a file that may be incomplete."""
    sections: list[Section] = field(default_factory=list)
    """The settings of brokers and clients that files of other formats give."""
    racks: dict[int, str] = field(default_factory=dict)
    """The rack of each broker whose rack is known, by broker id."""
    bare_topics: list[str] = field(default_factory=list)
    """The places of the lines of kafka-topics that show a topic without its id."""
    bare_partitions: list[str] = field(default_factory=list)
    """The places of the lines of kafka-topics that show a partition without fields of eligible leader replicas."""
    signs: list[Evidence] = field(default_factory=list)
    """What files of other formats show of the release and the mode (ZooKeeper or KRaft)."""
    releases: list[tuple[str, str]] = field(default_factory=list)
    """The releases of the brokers that files name (4.1.0), with their places."""
    voters: dict[int, str] = field(default_factory=dict)
    """The places of the controllers that vote, by their ids."""
    controller_pools: list[Sequence[int]] = field(default_factory=list)
    """The node pools of Strimzi with controllers: the ids of their nodes, if these are shown."""
    active_controller: int | None = None
    doubts: Doubts = field(default_factory=Doubts)
    ephemeral: dict[str, frozenset[int]] = field(default_factory=dict)
    """The places of storage that a broker loses if it restarts, each with its brokers; nobody if they are not shown."""
    unread_topics: set[str] = field(default_factory=set)
    """The topics of a running cluster whose settings could not be read."""
    has_unread_brokers: bool = False
    """Whether no broker of a running cluster said its settings."""
    cluster: tuple[str, str] = ("", "")
    """The name of the cluster to which resources of Kubernetes belong, as NAME or NAMESPACE/NAME, and the place of a
    resource that shows it; empty texts if none does."""
    remarks: list[str] = field(default_factory=list)
    """What the readers left out, or could not know."""

    def add_cluster(self, name: str, place: str) -> None:
        """Add the cluster to which a resource belongs, unless the name is empty. Raises PropertiesError if an earlier
        resource belongs to another cluster."""
        known, place_known = self.cluster
        have_namespaces = "/" in known and "/" in name
        is_same = known == name if have_namespaces else known.rpartition("/")[2] == name.rpartition("/")[2]
        if name and known and not is_same:
            raise PropertiesError(several_clusters(known, place_known, name, place))
        if len(name) > len(known):  # the name with its namespace
            self.cluster = name, place

    def add_topic(
        self, name: str, settings: Sequence[Property] | None, partitions: int, replicas: int, place: str
    ) -> None:
        """Add a topic that a file of another format than kafka-topics declares. `settings` is None if the file cannot
        show them; 0 partitions or replicas are unknown. Raises PropertiesError if a topic is declared twice."""
        if name in self.headers or (settings is not None and name in self.with_settings):
            raise PropertiesError(f"{place}: topic {printable(name)} is described twice; keep one description")
        self.topics.setdefault(name, [])
        if settings is not None:
            self.settings_of_topic(name).extend(settings)
        self.headers[name] = partitions, replicas, place

    def settings_of_topic(self, name: str) -> list[Property]:
        """Return the list of a topic's settings, to which the reader of an output that shows them can add."""
        self.with_settings.add(name)
        return self.topics.setdefault(name, [])

    def add_partition(self, new: Partition) -> None:
        """Add a partition. Raises PropertiesError if another description of it differs."""
        old = self.partitions.setdefault((new.topic, new.number), new)
        if (old.leader, old.replicas, old.isr) != (new.leader, new.replicas, new.isr):
            raise PropertiesError(
                f"{new.place}: {printable(new.name)} differs from its description in {old.place}; keep the later"
                " description"
            )
        self.topics.setdefault(new.topic, [])


@dataclass(frozen=True)
class DescribedTopic:
    """A topic as the outputs of the tools describe it: its settings and partitions."""

    name: str
    properties: tuple[Property, ...]
    """The settings of the topic, among them replication.factor if the output shows it."""
    partitions: tuple[Partition, ...]
    """The described partitions, in the order of their numbers."""
    partition_count: int
    """The number of described or declared partitions; 0 if it is unknown."""
    ignored: tuple[Ignored, ...]
    """What the answer leaves out of the description."""
    shows_inherited: str | None = None
    """The place of a line that also shows the settings that the topic inherits from brokers, or None."""

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """The settings without the places that give them: topics that agree in their settings share an answer."""
        return tuple((line.key, line.value) for line in self.properties)


@dataclass(frozen=True)
class Described:
    """What is known of a cluster: the topics, in the order of their names, and the settings of brokers and clients."""

    topics: tuple[DescribedTopic, ...] = ()
    sections: tuple[Section, ...] = ()
    """The settings of brokers and clients."""
    evidence: tuple[Evidence, ...] = ()
    """What the output shows of the release."""
    eligible_replicas: str | None = None
    """The place of a line whose Elr or LastKnownElr names brokers, or None."""
    remarks: tuple[str, ...] = ()
    """What is missing in the input, and what the readers left out of it."""
    racks: Mapping[int, str] = field(default_factory=dict)
    """The rack of each broker whose rack is known, by broker id."""
    release: Setting[Version] | None = None
    """The release of the brokers that the files name, or None."""
    voters: Sequence[int] = ()
    """The ids of the controllers that vote, if a file shows them."""
    active_controller: int | None = None
    doubts: Doubts = field(default_factory=Doubts)
    ephemeral: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """As in `Contents`."""
    unread_topics: frozenset[str] = frozenset()
    """The topics of a running cluster whose settings could not be read, and which no file gives."""
    has_unread_brokers: bool = False
    """Whether no broker of a running cluster said its settings."""


def described(contents: Contents, topics: Sequence[str] = ()) -> Described:
    """Sort the contents by topic; select `topics`, if given. Raises PropertiesError if one of them is not described."""
    by_topic = grouped((partition.topic, partition) for partition in contents.partitions.values())
    names = sorted(contents.topics)
    for topic in topics:
        if topic not in contents.topics:
            there = f"the described topics are {listed(names)}" if names else f"no topic is described; {_DESCRIBE}"
            raise PropertiesError(f"--topic-name {printable(topic)}: there is no such topic; {there}")
    partitions = {name: by_topic.get(name, []) for name in names if not topics or name in topics}
    of_brokers = [
        Section(Role.BROKER, member, tuple(settings), layer) for (member, layer), settings in contents.brokers.items()
    ]
    sections = *contents.sections, *of_brokers
    return Described(
        topics=tuple(_topic(contents, name, of_topic) for name, of_topic in partitions.items()),
        sections=sections,
        evidence=tuple(_evidence(contents)),
        eligible_replicas=next(iter(contents.eligible_replicas), None),
        remarks=(*contents.remarks, *_remarks(contents, partitions)),
        racks=racks_of(sections, contents.racks),
        release=_release(contents),
        voters=voters_of(sections, contents.voters or _of_pools(contents)),
        active_controller=contents.active_controller,
        doubts=contents.doubts,
        ephemeral=contents.ephemeral,
        unread_topics=frozenset(contents.unread_topics - contents.with_settings),
        has_unread_brokers=contents.has_unread_brokers,
    )


def _of_pools(contents: Contents) -> set[int]:
    """Return the voters of a cluster of Strimzi, which are all its controllers (KafkaBrokerConfigurationBuilder); none
    if a pool does not show its ids."""
    pools = contents.controller_pools
    return {voter for ids in pools for voter in ids} if all(pools) else set()


def _release(contents: Contents) -> Setting[Version] | None:
    """Return the release that the files name. Raises PropertiesError if they name several, or none of Kafka."""
    found: Setting[Version] | None = None
    for text, place in contents.releases:
        try:
            new = Setting(version_of_binaries(text), place)
        except ValueError as error:
            raise PropertiesError(f"{place}: {error}") from None
        found = found or new
        if found.value != new.value:
            raise PropertiesError(
                f"{place}: the files mix versions: Kafka {new.value} here, and {found.value} in {found.source}; give"
                " the files of one version"
            )
    return found


def _topic(contents: Contents, name: str, partitions: Sequence[Partition]) -> DescribedTopic:
    properties = list(contents.topics[name])
    # In a topic under reassignment, some partitions have more replicas than the others, and will drop some of them.
    fewest = min(partitions, key=lambda partition: (len(partition.target), partition.number), default=None)
    if fewest is not None:
        properties.append(_factor(len(fewest.target), fewest.place))
    elif name in contents.headers and contents.headers[name][1]:
        properties.append(_factor(*contents.headers[name][1:]))
    first_moving = {
        label: Ignored(label, value, WhyIgnored.NOT_MODELLED, _REASSIGNED, partition.place)
        for partition in reversed(partitions)
        for label, value in partition.reassigned.items()
    }
    ignored = *contents.ignored[name], *(first_moving[label] for label in sorted(first_moving))
    in_order = tuple(sorted(partitions, key=lambda partition: partition.number))
    count = len(partitions) or contents.headers.get(name, (0,))[0]
    return DescribedTopic(name, tuple(properties), in_order, count, ignored, contents.topic_ids.get(name))


def _factor(count: int, place: str) -> Property:
    return Property("replication.factor", str(count), Path(place), 0)


def _remarks(contents: Contents, topics: Mapping[str, Sequence[Partition]]) -> Iterator[str]:
    """Yield remarks on missing output, on partitions with different numbers of replicas, and on reassignments."""
    for place in contents.cut:
        yield f"{place}: the description is cut off in this line, which is left out; describe the cluster again"
    for place in contents.doubtful:
        yield f"{place}: the file ends without a line break; if it was cut off, the ISR of this line has more brokers"
    fewer = {
        name: (len(partitions), contents.headers[name][0])
        for name, partitions in topics.items()
        if name in contents.headers and 0 < len(partitions) < contents.headers[name][0]
    }
    if fewer:
        name, (count, whole) = next(iter(fewer.items()))
        others = f", and fewer than all of {len(fewer) - 1} other topics" if len(fewer) > 1 else ""
        yield f"{count} of {whole} partitions of {printable(name)} are described{others}"
    without_remark = contents.with_settings | contents.unread_topics
    if bare := [name for name in topics if name not in without_remark]:
        yield f"no settings of {listed(bare)} are described: those of the brokers are assumed; describe whole topics"
    for name, partitions in topics.items():
        counts = sorted({len(partition.target) for partition in partitions})
        if len(counts) > 1:
            fewest = listed([partition.name for partition in partitions if len(partition.target) == counts[0]])
            yield (
                f"partitions of {printable(name)} have {counts[0]} to {counts[-1]} replicas"
                f"{FOR_ONE_KIND}fewest ({fewest})"
            )
    for (topic, number), partition in contents.partitions.items():
        if topic not in topics and topic in COORDINATORS and number == 0 and len(partition.target) == 1:
            yield f"{topic} has 1 replica: the loss of one broker loses {COORDINATORS[topic]}"
    every = [partition for partitions in topics.values() for partition in partitions]
    moving = [partition for partition in every if partition.reassigned]
    if len(moving) == 1:
        only = moving[0]
        fields = ", ".join(f"{label} {value}" for label, value in only.reassigned.items())
        added = f", {len(only.adding)} of them not yet in place" if only.adding else ""
        yield (
            f"{printable(only.name)} is being reassigned ({fields}){_AFTER_IT}, {len(only.target)};"
            f" it has {len(only.replicas)} now{added}"
        )
    elif moving:
        names = listed([partition.name for partition in moving])
        yield f"{len(moving):,} partitions are being reassigned ({names}){_AFTER_IT}"
    if strange := [partition for partition in every if partition.strangers]:
        ids = ", ".join(map(str, strange[0].strangers))
        others = f" (the same in {len(strange) - 1:,} more)" if len(strange) > 1 else ""
        yield (
            f"brokers in the Elr of {printable(strange[0].name)} are no replicas of it: {ids}{others}; a reassignment"
            " leaves them there, and they keep the last known leader from being elected"
        )


def several_clusters(one: str, place: str, other: str, place_of_other: str) -> str:
    """Return the message for files that describe two clusters."""
    return (
        f"{place_of_other}: the cluster {printable(other)} is another than {printable(one)} in {place}, and an answer"
        " is for one cluster: give the description of each cluster in files of its own, and ask about one at a time"
    )


def listed(names: Sequence[str]) -> str:
    """Return names for a message: the first ones, and the number of the others."""
    shown = ", ".join(printable(name) for name in names[:MOST_LISTED])
    return shown + (f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else "")


def _evidence(contents: Contents) -> Iterator[Evidence]:
    """Yield what the outputs show of the brokers' release: versions in kafka-features, or fields in kafka-topics.
    kafka-topics prints TopicId since 2.8 and Elr since 3.8; the newest field counts. Elr is N/A if topics are described
    by id, or if the broker sent no ELRs: only KRaft brokers since 3.8 send ELRs (DescribeTopicPartitions)."""
    if contents.evidence:
        yield from (*contents.evidence, *contents.signs)
        return
    for version, place in contents.supported:
        shown = f"supports metadata.version {version} ({place})"
        yield Evidence(shown, version.release_name, mode=Mode.KRAFT, newest=version.release_name, tool="kafka-features")
    if contents.eligible_replicas:
        yield Evidence(f"names replicas in Elr ({contents.eligible_replicas[0]})", since="4.0", mode=Mode.KRAFT)
    elif contents.known_elrs:
        yield Evidence(f"shows an Elr ({contents.known_elrs[0]})", since="3.8", mode=Mode.KRAFT)
    elif contents.elr_fields:
        shown = f"shows {NO_ELR} as Elr ({contents.elr_fields[0]})"
        unknown = Evidence(shown, until=LAST_WITH_ZOOKEEPER, needs_zookeeper_since="3.8")
        yield replace(unknown, since="2.8") if contents.topic_ids else unknown
    elif contents.topic_ids:
        first = next(iter(contents.topic_ids.values()))
        yield Evidence(f"shows a TopicId ({first})", "2.8", "3.7", lacks=", but no Elr")
    elif contents.bare_topics:
        yield Evidence(f"shows no TopicId ({contents.bare_topics[0]})", until="2.7")
    elif contents.bare_partitions:
        yield Evidence(f"shows no Elr ({contents.bare_partitions[0]})", until="3.7")
    yield from contents.signs
