"""Reads the unchanged output of `kafka-topics --describe`, `kafka-configs --describe` and `kafka-features describe`, of
Kafka 0.10 to 4.1.

A file may contain several outputs; the file name - is standard input. Lines about users and clients, and warnings of
the tools, are skipped; any other line is an error. A last line that was cut off is left out, and reported.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from isrcheck.checker.cluster.ignored import TO_BE_DELETED, Ignored, WhyIgnored
from isrcheck.checker.cluster.property_files import (
    LINE_END,
    Layer,
    PropertiesError,
    Property,
    Section,
    decode,
    printable,
    quoted,
    read_text,
)
from isrcheck.checker.cluster.releases import FEATURES, LAST_WITH_ZOOKEEPER, Role, Version, version_of_metadata
from isrcheck.checker.cluster.versions import Evidence, Mode

NO_LEADER = ("none", "-1")

NO_ELR = "N/A"
"""The text that newer tools print in the field Elr for brokers that do not know of eligible leader replicas."""

ADDING, REMOVING = "Adding Replicas", "Removing Replicas"
"""The fields of a partition that name brokers during a reassignment (KIP-455)."""


@dataclass(frozen=True)
class Partition:
    """A partition as kafka-topics describes it. Brokers are given by their ids."""

    topic: str
    number: int
    leader: int | None
    replicas: tuple[int, ...]
    """The preferred leader first."""
    isr: tuple[int, ...]
    place: str
    """The line that describes it, as FILE:LINE."""
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
    """Everything read from the files with output of Kafka's tools; `Described` sorts it by topic and broker."""

    topics: dict[str, list[Property]] = field(default_factory=dict)
    with_settings: set[str] = field(default_factory=set)
    """The topics whose settings are shown, even if they have no settings."""
    headers: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    """For each topic the numbers of its partitions and replicas, and the place of the line that shows them."""
    partitions: dict[tuple[str, int], Partition] = field(default_factory=dict)
    brokers: dict[tuple[str, Layer], list[Property]] = field(default_factory=lambda: defaultdict(list))
    """The settings of each broker whose settings are shown; an empty list if it has none."""
    ignored: dict[str, list[Ignored]] = field(default_factory=lambda: defaultdict(list))
    """For each topic, the parts of its description that the answer ignores."""
    topic_ids: dict[str, str] = field(default_factory=dict)
    """For each topic the place of the line with its id."""
    supported: list[tuple[Version, str]] = field(default_factory=list)
    """The newest versions of metadata that brokers can read, with their places."""
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


_LABELS = """
    TopicId Topic PartitionCount ReplicationFactor Configs MarkedForDeletion
    Partition Leader Replicas Isr Adding_Replicas Removing_Replicas Elr LastKnownElr
"""
_LABEL = re.compile(rf"(?:^|(?<=\s))({'|'.join(_LABELS.split()).replace('_', ' ')}):")

# Of these lines, those about users and clients have no bearing on replication.
_CONFIGS_ON_ONE_LINE = re.compile(r"Configs for (?P<whose>.+?) are(?: (?P<pairs>.*))?")
_CONFIGS_BELOW = re.compile(
    r"(?P<which>Dynamic configs|All configs|Configs) for (?P<kind>[a-z-]+) (?P<name>\S+) are:|"
    r"Default configs? for (?P<kinds>[a-z-]+) in the cluster are:"
)
_CONFIG = re.compile(r"\s+(?P<key>[^\s=]+)=(?P<value>.*?) sensitive=(?:true|false) synonyms=\{.*\}\s*")
_FEATURE = re.compile(
    r"Feature: (?P<name>\S+)\s(?:.*\bSupportedMaxVersion: (?P<most>\S+))?"
    r".*\bFinalizedVersionLevel: (?P<level>\S+)(?:\s.*)?"
)
_OF_TOPIC = re.compile(r"topic '(?P<name>.*)'|topics:(?P<old>.*)")
_OF_BROKER = re.compile(r"brokers? '?(?P<name>\d+)'?|brokers:(?P<old>\d+)")

# Other lines of the tools, the shell and Java, which do not describe a cluster.
_NOISE = re.compile(
    r"\s*$|[$#>] |\[|(?:Warning|WARNING|Note|NOTE|WARN|SLF4J|OpenJDK|Java HotSpot|Picked up|Use --bootstrap-server)\b"
    r"|(?:Quota|SCRAM credential) configs for "
)

_TOOLS = "kafka-topics, kafka-configs or kafka-features"
_COMMANDS = "kafka-topics --describe, kafka-configs --describe or kafka-features describe"

_CUT_SETTING = re.compile(r"\s+[a-z][a-z.]*(?:=.*)?")
_FIRST_WORDS = (
    "Topic:",
    "Feature:",
    "Configs for ",
    "Dynamic configs for ",
    "All configs for ",
    "Default configs for ",
)


class Reader:
    """Reads a file line by line into `Contents`; a heading of kafka-configs names the owner of the settings below."""

    def __init__(self, path: Path, contents: Contents) -> None:
        self.path = path
        self.contents = contents
        self.line = 0
        self.heading: tuple[Role, str, Layer] | None = None
        self.has_heading = False

    def read(self, lines: Sequence[str]) -> None:
        """Read every line. Raises PropertiesError for an unknown line, or if the file does not describe anything."""
        count = len(lines)
        is_empty, is_cut = True, False
        for self.line, line in enumerate(lines, start=1):
            try:
                is_empty &= not self._read(line)
            except PropertiesError:
                # The text after the last line break is empty, unless the file ends in the middle of a line.
                if self.line < count or not self._is_beginning(line):
                    raise
                self.contents.cut.append(self._place)
                is_cut = True
        if lines and not is_cut:
            self._leave_out_the_end(lines[-1])
        if is_empty:
            state = "the file is cut off within its first line" if is_cut else "the file describes nothing"
            raise PropertiesError(f"{self.path}: {state}; give the output of {_COMMANDS}")

    def _read(self, line: str) -> bool:
        """Read a line, and return whether it describes a part of the cluster."""
        labels = _fields(line)
        if "PartitionCount" in labels:
            self._topic(labels)
        elif "Partition" in labels:
            self._partition(labels)
        elif self._heading(line.strip()) or self._config(line) or self._feature(line.strip()):
            pass
        elif _NOISE.match(line):
            return False
        else:
            raise self._error(f"{quoted(line.strip())} is not a line of {_TOOLS}")
        return True

    def _is_beginning(self, line: str) -> bool:
        """Whether an unreadable line may be the cut-off beginning of a tool's line; complete lines must precede it."""
        text = line.strip()
        starts = any(text.startswith(word) or word.startswith(text) for word in _FIRST_WORDS)
        return bool(self.contents.topics or any(self.contents.brokers.values())) and (
            starts or _CUT_SETTING.fullmatch(line) is not None
        )

    def _leave_out_the_end(self, line: str) -> None:
        """Leave out the last line if the file, which has no final line break, seems to be cut off. A partition's line
        is left out if partitions of its topic are missing, because its ISR may be incomplete. The line of a topic is
        left out if only other topics have partitions (--topics-with-overrides shows no partitions)."""
        labels = _fields(line)
        topic = labels.get("Topic", "")
        described = {name for name, _ in self.contents.partitions}
        if "PartitionCount" in labels and described and topic not in described:
            del self.contents.topics[topic], self.contents.headers[topic]
            self.contents.cut.append(self._place)
        if "Partition" not in labels or topic not in self.contents.topics:
            return
        last = self.contents.partitions[topic, int(labels["Partition"])]
        there = sum(name == topic for name, _ in self.contents.partitions)
        if topic in self.contents.headers and there < self.contents.headers[topic][0]:
            del self.contents.partitions[topic, last.number]
            self.contents.cut.append(self._place)
        elif len(last.isr) < len(last.replicas) and "Elr" not in labels:
            self.contents.doubtful.append(self._place)

    @property
    def _place(self) -> str:
        return f"{self.path}:{self.line}"

    def _error(self, problem: str) -> PropertiesError:
        return PropertiesError(f"{self._place}: {problem}; give the unchanged output of {_COMMANDS}")

    # kafka-topics

    def _topic(self, labels: dict[str, str]) -> None:
        self.has_heading = False
        name = self._word(labels, "Topic")
        partitions, replicas = self._number(labels, "PartitionCount", 1), self._number(labels, "ReplicationFactor", 1)
        settings = list(self._pairs(labels.get("Configs", "")))
        self.contents.headers[name] = partitions, replicas, self._place
        self.contents.topics.setdefault(name, []).extend(settings)
        self.contents.with_settings.add(name)
        if "TopicId" in labels:
            self.contents.topic_ids[name] = self._place
        if labels.get("MarkedForDeletion") == "true":
            marked = Ignored("MarkedForDeletion", "true", WhyIgnored.NOT_MODELLED, TO_BE_DELETED, self._place)
            self.contents.ignored[name].append(marked)

    def _partition(self, labels: dict[str, str]) -> None:
        self.has_heading = False
        topic, number = self._word(labels, "Topic"), self._number(labels, "Partition", 0)
        leader = None if labels.get("Leader") in NO_LEADER else self._number(labels, "Leader", 0)
        replicas, isr = self._brokers(labels, "Replicas"), self._brokers(labels, "Isr")
        if not replicas:
            raise self._error(f"{topic}-{number} has no replicas")
        self._refuse_strangers(isr, replicas, "the ISR")
        if leader is not None and leader not in isr:
            raise self._error(f"leader {leader} is not in the ISR")
        named, last_known = self._elr(labels, isr)
        elr, strangers = (tuple(broker for broker in named if (broker in replicas) == is_in) for is_in in (True, False))
        adding, removing = (self._brokers(labels, label) if labels.get(label) else () for label in (ADDING, REMOVING))
        self._refuse_strangers(adding, replicas, ADDING)
        self._refuse_strangers(removing, replicas, REMOVING)
        new = Partition(topic, number, leader, replicas, isr, self._place, elr, last_known, adding, removing, strangers)
        if not new.target:
            raise self._error(f"every replica of {topic}-{number} is in {REMOVING}")
        old = self.contents.partitions.get((topic, number))
        if old is not None and (old.leader, old.replicas, old.isr) != (leader, replicas, isr):
            raise PropertiesError(
                f"{self._place}: {new.name} differs from its description in {old.place}; keep the later description"
            )
        self.contents.topics.setdefault(topic, [])
        self.contents.partitions.setdefault((topic, number), new)

    def _refuse_strangers(self, brokers: Sequence[int], replicas: Sequence[int], where: str) -> None:
        for broker in brokers:
            if broker not in replicas:
                raise self._error(f"broker {broker} is in {where}, but not a replica")

    def _elr(self, labels: dict[str, str], isr: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the brokers in Elr and in LastKnownElr; record the line in `contents` if it has these fields. A broker
        in both the ISR and Elr is an error. Brokers in Elr and LastKnownElr need not be replicas."""
        shown = [label for label in ("Elr", "LastKnownElr") if label in labels]
        available = {label: self._brokers(labels, label) for label in shown if labels[label] != NO_ELR}
        for broker in available.get("Elr", ()):
            if broker in isr:
                raise self._error(f"broker {broker} is both in the ISR and in the Elr")
        if shown:
            self.contents.elr_fields.append(self._place)
        if available:
            self.contents.known_elrs.append(self._place)
        if any(available.values()):
            self.contents.eligible_replicas.append(self._place)
        return available.get("Elr", ()), available.get("LastKnownElr", ())

    def _word(self, labels: dict[str, str], label: str) -> str:
        if not labels.get(label):
            raise self._error(f"this line has no {label}")
        return labels[label]

    def _number(self, labels: dict[str, str], label: str, least: int) -> int:
        text = self._word(labels, label)
        if re.fullmatch(r"\d{1,9}", text, re.ASCII) is None or int(text) < least:
            raise self._error(f"{label} {quoted(text)} is not a whole number of at least {least}")
        return int(text)

    def _brokers(self, labels: dict[str, str], label: str) -> tuple[int, ...]:
        if label not in labels:
            raise self._error(f"this line has no {label}")
        if re.fullmatch(r"(?:\d{1,9}(?:,\d{1,9})*)?", labels[label], re.ASCII) is None:
            raise self._error(f"{label} {quoted(labels[label])} is not a list of broker ids")
        brokers = tuple(int(text) for text in labels[label].split(",") if text)
        if len(set(brokers)) < len(brokers):
            raise self._error(f"{label} {quoted(labels[label])} names a broker twice")
        return brokers

    # kafka-configs

    def _heading(self, line: str) -> bool:
        if below := _CONFIGS_BELOW.fullmatch(line):
            self.has_heading, self.heading = True, None
            if below["kinds"] == "brokers":
                self.heading = Role.BROKER, "the cluster", Layer.CLUSTER
            elif below["kind"] == "broker":
                layer = Layer.RUNNING if below["which"] == "All configs" else Layer.BROKER
                self.heading = Role.BROKER, f"broker {below['name']}", layer
                self.contents.brokers[self.heading[1], layer] += []
            elif below["kind"] == "topic":
                self.heading = Role.TOPIC, below["name"], Layer.FILE
                self.contents.topics.setdefault(below["name"], [])
                self.contents.with_settings.add(below["name"])
            return True
        if config := _CONFIGS_ON_ONE_LINE.fullmatch(line):
            self.has_heading, pairs = False, config["pairs"] or ""
            if topic := _OF_TOPIC.fullmatch(config["whose"]):
                name = topic["name"] or topic["old"]
                self.contents.topics.setdefault(name, []).extend(self._pairs(pairs))
                self.contents.with_settings.add(name)
            elif broker := _OF_BROKER.fullmatch(config["whose"]):
                self.contents.brokers[f"broker {broker['name'] or broker['old']}", Layer.BROKER] += self._pairs(pairs)
            elif config["whose"] == "default brokers":
                self.contents.brokers["the cluster", Layer.CLUSTER] += self._pairs(pairs)
            elif re.match(r"(?:default )?(?:topic|broker)s?\b", config["whose"]):
                raise self._error(f"{quoted(config['whose'])} is no name as {_TOOLS} print it")
            return True
        return False

    def _config(self, line: str) -> bool:
        config = _CONFIG.fullmatch(line)
        if config is None:
            return False
        if not self.has_heading:
            raise self._error(f"{quoted(config['key'])} has no heading above it such as 'All configs for topic t are:'")
        if self.heading is not None and config["value"] != "null":  # null: not set, or a secret
            role, name, layer = self.heading
            settings = self.contents.topics[name] if role is Role.TOPIC else self.contents.brokers[name, layer]
            settings.append(Property(config["key"], config["value"], self.path, self.line))
        return True

    # kafka-features

    def _feature(self, line: str) -> bool:
        """Read the level of a feature, if it matters for replication. Return whether the line is about a feature."""
        feature = _FEATURE.fullmatch(line)
        if feature is None:
            return False
        if feature["name"] in FEATURES:
            level = Property(feature["name"], feature["level"], self.path, self.line)
            self.contents.brokers["the cluster", Layer.CLUSTER].append(level)
        if feature["name"] == "metadata.version" and feature["most"]:
            try:
                self.contents.supported.append((version_of_metadata(feature["most"]), self._place))
            except ValueError as error:
                raise self._error(f"SupportedMaxVersion: {error}") from None
        return True

    def _pairs(self, text: str) -> list[Property]:
        """Parse KEY=VALUE,KEY=VALUE. A piece without = belongs to the previous value: cleanup.policy=compact,delete."""
        pairs: list[tuple[str, str]] = []
        for piece in text.split(",") if text.strip() else []:
            key, equals, value = piece.partition("=")
            if equals:
                pairs.append((key.strip(), value))
            elif pairs:
                pairs[-1] = pairs[-1][0], f"{pairs[-1][1]},{piece}"
            else:
                raise self._error(f"{quoted(piece)} is not KEY=VALUE")
        return [Property(key, value, self.path, self.line) for key, value in pairs]


def _fields(line: str) -> dict[str, str]:
    """Return the fields of a line of kafka-topics by label; the line may have spaces in place of tabs."""
    _, *parts = _LABEL.split(line)
    return dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))


def shows_a_cluster(path: Path) -> bool:
    """Whether a Kafka tool printed a file's first line, warnings aside. An unreadable file raises PropertiesError."""
    for line in LINE_END.split(read_text(path)):
        if _NOISE.match(line) and not _CONFIG.fullmatch(line):
            continue
        labels, text = _fields(line), line.strip()
        is_of_topics = "Topic" in labels and ("PartitionCount" in labels or "Partition" in labels)
        return is_of_topics or any(
            pattern.fullmatch(text) for pattern in (_CONFIGS_ON_ONE_LINE, _CONFIGS_BELOW, _FEATURE)
        )
    return False


FIRST_WITH_ELR_FIELDS = "3.8"
"""The first release whose kafka-topics prints Elr and LastKnownElr, and whose KRaft brokers supply their values."""

_AFTER_IT = "the answer is for the replicas after it"
_REASSIGNED = f"a reassignment under way is not modelled: {_AFTER_IT}"

STANDARD_INPUT = Path("standard input")

MOST_LISTED = 5
"""The most names in a message; further names are only counted."""


@dataclass(frozen=True)
class DescribedTopic:
    """A topic as the outputs of the tools describe it: its settings and partitions."""

    name: str
    properties: tuple[Property, ...]
    """The settings of the topic, among them replication.factor if the output shows it."""
    partitions: tuple[Partition, ...]
    """The described partitions, in the order of their numbers."""
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
    """The topics, in the order of their names, and the brokers that the outputs of the tools describe."""

    topics: tuple[DescribedTopic, ...] = ()
    brokers: tuple[Section, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    """What the output shows of the release."""
    eligible_replicas: str | None = None
    """The place of a line whose Elr or LastKnownElr names brokers, or None."""
    remarks: tuple[str, ...] = ()
    """What is missing in the output."""


def read_described(names: Sequence[str], topic: str | None = None) -> Described:
    """Read the files `names` (- is standard input); select `topic`, if given. Raises PropertiesError for a bad file."""
    if names.count("-") > 1:
        raise PropertiesError("--describe -: standard input can be read only once; give - once")
    contents = Contents()
    for name in names:
        path = STANDARD_INPUT if name == "-" else Path(name)
        if name == "-" and sys.stdin is None:
            cure = "give a file, or pipe the output into `check`"
            raise PropertiesError(f"--describe -: there is no standard input; {cure}")
        text = decode(sys.stdin.buffer.read(), path) if name == "-" else read_text(path)
        Reader(path, contents).read(LINE_END.split(text))
    return _described(contents, topic) if names else Described()


# --- Topics -----------------------------------------------------------------------------------------------------------


def _described(contents: Contents, topic: str | None) -> Described:
    partitions: dict[str, list[Partition]] = {name: [] for name in contents.topics}
    for partition in contents.partitions.values():
        partitions[partition.topic].append(partition)
    names = sorted(partitions)
    if topic is not None:
        if topic not in partitions:
            there = f"the described topics are {listed(names)}" if names else "no topic is described"
            raise PropertiesError(f"--topic-name {printable(topic)}: there is no such topic; {there}")
        names = [topic]
    return Described(
        topics=tuple(_topic(contents, name, partitions[name], contents.ignored[name]) for name in names),
        brokers=tuple(
            Section(Role.BROKER, member, tuple(settings), layer)
            for (member, layer), settings in contents.brokers.items()
        ),
        evidence=tuple(_evidence(contents)),
        eligible_replicas=next(iter(contents.eligible_replicas), None),
        remarks=tuple(_remarks(contents, {name: partitions[name] for name in names})),
    )


def _topic(
    contents: Contents, name: str, partitions: Sequence[Partition], ignored: Sequence[Ignored]
) -> DescribedTopic:
    properties = list(contents.topics[name])
    # In a topic under reassignment, some partitions have more replicas than the others, and will drop some of them.
    fewest = min(partitions, key=lambda partition: (len(partition.target), partition.number), default=None)
    if fewest is not None:
        properties.append(_factor(len(fewest.target), fewest.place))
    elif name in contents.headers:
        properties.append(_factor(*contents.headers[name][1:]))
    moving = {
        label: (value, partition.place)
        for partition in reversed(partitions)
        for label, value in partition.reassigned.items()
    }
    reassigned = [
        Ignored(label, value, WhyIgnored.NOT_MODELLED, _REASSIGNED, place)
        for label, (value, place) in sorted(moving.items())
    ]
    in_order = tuple(sorted(partitions, key=lambda partition: partition.number))
    return DescribedTopic(name, tuple(properties), in_order, (*ignored, *reassigned), contents.topic_ids.get(name))


def _factor(count: int, place: str) -> Property:
    path, _, line = place.rpartition(":")
    return Property("replication.factor", str(count), Path(path), int(line))


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
    if bare := [name for name in topics if name not in contents.with_settings]:
        yield f"no settings of {listed(bare)} are described: those of the brokers are assumed; describe whole topics"
    for name, partitions in topics.items():
        counts = sorted({len(partition.target) for partition in partitions})
        if len(counts) > 1:
            fewest = listed([partition.name for partition in partitions if len(partition.target) == counts[0]])
            yield (
                f"partitions of {printable(name)} have {counts[0]} to {counts[-1]} replicas:"
                f" the answer is for the fewest ({fewest})"
            )
    every = [partition for partitions in topics.values() for partition in partitions]
    moving = [partition for partition in every if partition.reassigned]
    if len(moving) == 1:
        only = moving[0]
        fields = ", ".join(f"{label} {value}" for label, value in only.reassigned.items())
        added = f", {len(only.adding)} of them not yet in place" if only.adding else ""
        yield (
            f"{printable(only.name)} is being reassigned ({fields}): {_AFTER_IT}, {len(only.target)};"
            f" it has {len(only.replicas)} now{added}"
        )
    elif moving:
        names = listed([partition.name for partition in moving])
        yield f"{len(moving):,} partitions are being reassigned ({names}): {_AFTER_IT}"
    if strange := [partition for partition in every if partition.strangers]:
        ids = ", ".join(map(str, strange[0].strangers))
        others = f" (the same in {len(strange) - 1:,} more)" if len(strange) > 1 else ""
        yield (
            f"brokers in the Elr of {printable(strange[0].name)} are no replicas of it: {ids}{others}; a reassignment"
            " leaves them there, and they keep the last known leader from being elected"
        )


def listed(names: Sequence[str]) -> str:
    """Return names for a message: the first ones, and the number of the others."""
    shown = ", ".join(printable(name) for name in names[:MOST_LISTED])
    return shown + (f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else "")


def _evidence(contents: Contents) -> Iterator[Evidence]:
    """Yield what the outputs show of the brokers' release: versions in kafka-features, or fields in kafka-topics.
    kafka-topics prints TopicId since 2.8 and Elr since 3.8; the newest field counts. Elr is N/A if topics are described
    by id, or if the broker sent no ELRs: only KRaft brokers (all since 4.0) send ELRs (DescribeTopicPartitions)."""
    for version, place in contents.supported:
        shown = f"supports metadata.version {version} ({place})"
        yield Evidence(shown, version.release_name, mode=Mode.KRAFT, newest=version.release_name, tool="kafka-features")
    if contents.eligible_replicas:
        yield Evidence(f"names replicas in Elr ({contents.eligible_replicas[0]})", since="4.0", mode=Mode.KRAFT)
    elif contents.known_elrs:
        yield Evidence(f"shows an Elr ({contents.known_elrs[0]})", since="3.8", mode=Mode.KRAFT)
    elif contents.elr_fields:
        shown = f"shows {NO_ELR} as Elr ({contents.elr_fields[0]})"
        unknown = Evidence(shown, until=LAST_WITH_ZOOKEEPER, needs_zookeeper_since=FIRST_WITH_ELR_FIELDS)
        yield replace(unknown, since="2.8") if contents.topic_ids else unknown
    elif contents.topic_ids:
        yield Evidence(
            f"shows a TopicId ({next(iter(contents.topic_ids.values()))})", "2.8", "3.7", lacks=", but no Elr"
        )
    elif contents.headers:
        yield Evidence(f"shows no TopicId ({next(iter(contents.headers.values()))[2]})", until="2.7")
    elif contents.partitions:
        yield Evidence(f"shows no Elr ({next(iter(contents.partitions.values())).place})", until="3.7")
