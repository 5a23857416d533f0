"""Reads the unchanged output of `kafka-topics --describe`, `kafka-configs --describe`, `kafka-features describe` (Kafka
0.10 to 4.1), and the brokers with their racks in the output of `kafka-broker-api-versions` (to 4.4).

A file may contain several outputs; the file name - is standard input. Lines about users and clients, and warnings of
the tools, are skipped; any other line is an error. A last line that was cut off is left out, and reported.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from isrcheck.checker.cluster.contents import ADDING, NO_ELR, REMOVING, Contents, Partition
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.ignored import TO_BE_DELETED, Ignored, WhyIgnored
from isrcheck.checker.cluster.property_files import LINE_END, Layer, PropertiesError, Property, quoted
from isrcheck.checker.cluster.racks import merged
from isrcheck.checker.cluster.releases import FEATURES, version_of_metadata
from isrcheck.commands.declarations import MOST_DIGITS

NO_LEADER = ("none", "-1")

_LABELS = """
    TopicId Topic PartitionCount ReplicationFactor Configs MarkedForDeletion
    Partition Leader Replicas Isr Adding_Replicas Removing_Replicas Elr LastKnownElr Offline
"""
_NAMES = frozenset(label.replace("_", " ") for label in _LABELS.split())
_LABEL = re.compile(rf"(?:^|(?<=\s))({'|'.join(_NAMES)}):")

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
# Node.toString; `isFenced` since 4.0. Below a node, BrokerApiVersionsCommand prints the versions of each request.
_NODE = re.compile(r"\S+:\d+ \(id: (?P<id>\d+) rack: (?P<rack>.+?)(?: isFenced: (?:true|false))?\) -> (?:\(|ERROR: .*)")
_API_VERSIONS = re.compile(r"\w+\(\d+\): (?:\d+(?: to \d+)?|UNSUPPORTED)(?: \[[^]]*\])?,?|\)")
_BROKER_IDS = re.compile(r"(?:\d{1,9}(?:,\d{1,9})*)?", re.ASCII)
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
    """Reads a file line by line into `Contents`. A heading of kafka-configs names the owner of the settings below."""

    def __init__(self, path: Path, contents: Contents) -> None:
        self.path = path
        self.contents = contents
        self.line = 0
        self.below: list[Property] | None = None
        """The settings of the owner that the last heading names; None if the lines above have no heading."""

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
        labels, text = _fields(line), line.strip()
        if "PartitionCount" in labels:
            self._topic(labels)
        elif "Partition" in labels:
            self._partition(labels)
        elif below := _CONFIGS_BELOW.fullmatch(text):
            self._heading(below)
        elif configs := _CONFIGS_ON_ONE_LINE.fullmatch(text):
            self._configs(configs)
        elif config := _CONFIG.fullmatch(line):
            self._config(config)
        elif feature := _FEATURE.fullmatch(text):
            self._feature(feature)
        elif node := _NODE.fullmatch(text):
            self._node(node)
        elif _NOISE.match(line):
            return False
        elif _API_VERSIONS.fullmatch(text) is None:
            raise self._error(f"{quoted(text)} is not a line of {_TOOLS}")
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
        self.below = None
        name = self._word(labels, "Topic")
        partitions, replicas = self._number(labels, "PartitionCount", 1), self._number(labels, "ReplicationFactor", 1)
        settings = list(self._pairs(labels.get("Configs", "")))
        self.contents.headers[name] = partitions, replicas, self._place
        self.contents.settings_of_topic(name).extend(settings)
        if "TopicId" in labels:
            self.contents.topic_ids[name] = self._place
        else:
            self.contents.bare_topics.append(self._place)
        if labels.get("MarkedForDeletion") == "true":
            marked = Ignored("MarkedForDeletion", "true", WhyIgnored.NOT_MODELLED, TO_BE_DELETED, self._place)
            self.contents.ignored[name].append(marked)

    def _partition(self, labels: dict[str, str]) -> None:
        self.below = None
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
        if "Offline" in labels:  # printed by Confluent's kafka-topics; a further column, as of observers, is refused
            self._brokers(labels, "Offline")
        new = Partition(topic, number, leader, replicas, isr, self._place, elr, last_known, adding, removing, strangers)
        if not new.target:
            raise self._error(f"every replica of {topic}-{number} is in {REMOVING}")
        self.contents.add_partition(new)

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
        # Only the first place is printed, and a cluster can have a million partitions.
        shown_in = self.contents.elr_fields if shown else self.contents.bare_partitions
        if not shown_in:
            shown_in.append(self._place)
        if available and not self.contents.known_elrs:
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
        if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS) or int(text) < least:
            raise self._error(f"{label} {quoted(text)} is not a whole number of at least {least}")
        return int(text)

    def _brokers(self, labels: dict[str, str], label: str) -> tuple[int, ...]:
        if label not in labels:
            raise self._error(f"this line has no {label}")
        try:
            return _broker_ids(labels[label])
        except ValueError as error:
            raise self._error(f"{label} {quoted(labels[label])} {error}") from None

    # kafka-configs

    def _heading(self, heading: re.Match[str]) -> None:
        """Read a heading: the settings below it are those of its owner."""
        if heading["kinds"] == "brokers":
            self.below = self.contents.brokers["the cluster", Layer.CLUSTER]
        elif heading["kind"] == "broker":
            layer = Layer.RUNNING if heading["which"] == "All configs" else Layer.BROKER
            self.below = self.contents.brokers[f"broker {heading['name']}", layer]
        elif heading["kind"] == "topic":
            self.below = self.contents.settings_of_topic(heading["name"])
        else:
            self.below = []  # settings of users and clients do not count

    def _configs(self, configs: re.Match[str]) -> None:
        """Read an owner and its settings on one line."""
        self.below, pairs, whose = None, configs["pairs"] or "", configs["whose"]
        if topic := _OF_TOPIC.fullmatch(whose):
            self.contents.settings_of_topic(topic["name"] or topic["old"]).extend(self._pairs(pairs))
        elif broker := _OF_BROKER.fullmatch(whose):
            self.contents.brokers[f"broker {broker['name'] or broker['old']}", Layer.BROKER] += self._pairs(pairs)
        elif whose == "default brokers":
            self.contents.brokers["the cluster", Layer.CLUSTER] += self._pairs(pairs)
        elif re.match(r"(?:default )?(?:topic|broker)s?\b", whose):
            raise self._error(f"{quoted(whose)} is not a name as {_TOOLS} print it")

    def _config(self, config: re.Match[str]) -> None:
        """Read a setting below a heading."""
        if self.below is None:
            raise self._error(f"{quoted(config['key'])} has no heading above it such as 'All configs for topic t are:'")
        if config["value"] != "null":  # null: not set, or a secret
            self.below.append(Property(config["key"], config["value"], self.path, self.line))

    # kafka-features

    def _feature(self, feature: re.Match[str]) -> None:
        """Read the level of a feature, if it matters for replication."""
        if feature["name"] in FEATURES:
            level = Property(feature["name"], feature["level"], self.path, self.line)
            self.contents.brokers["the cluster", Layer.CLUSTER].append(level)
        if feature["name"] == "metadata.version" and feature["most"]:
            try:
                self.contents.supported.append((version_of_metadata(feature["most"]), self._place))
            except ValueError as error:
                raise self._error(f"SupportedMaxVersion: {error}") from None

    # kafka-broker-api-versions

    def _node(self, node: re.Match[str]) -> None:
        """Read the rack of a broker, if it has one."""
        if node["rack"] != "null":
            self.contents.racks = merged(self.contents.racks, [(int(node["id"]), node["rack"], self._place)])

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


@lru_cache(maxsize=1 << 16)  # large clusters repeat the same lists
def _broker_ids(text: str) -> tuple[int, ...]:
    """Return the ids in a list such as 1,2,3. Raises ValueError if the text is no such list, or repeats an id."""
    if _BROKER_IDS.fullmatch(text) is None:
        raise ValueError("is not a list of broker ids")
    brokers = tuple(int(broker) for broker in text.split(",") if broker)
    if len(set(brokers)) < len(brokers):
        raise ValueError("names a broker twice")
    return brokers


def _fields(line: str) -> dict[str, str]:
    """Return the fields of a line of kafka-topics by label; the line may have spaces in place of tabs."""
    fields = {}
    for text in line.strip().split("\t"):  # much faster than the pattern, which also finds labels behind spaces
        label, colon, value = text.partition(":")
        value = value.strip()
        if label not in _NAMES or not colon or " " in value:
            break
        fields[label] = value
    else:
        return fields
    _, *parts = _LABEL.split(line)
    return dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))


def _shows_a_cluster(part: Part) -> bool:
    """Whether a Kafka tool printed the first line of a text, warnings aside."""
    for line in part.head:
        if _NOISE.match(line) and not _CONFIG.fullmatch(line):
            continue
        labels, text = _fields(line), line.strip()
        is_of_topics = "Topic" in labels and ("PartitionCount" in labels or "Partition" in labels)
        return is_of_topics or any(
            pattern.fullmatch(text) for pattern in (_CONFIGS_ON_ONE_LINE, _CONFIGS_BELOW, _FEATURE, _NODE)
        )
    return False


def _read(part: Part, contents: Contents) -> None:
    # None of the many objects is garbage: looking for some takes a fifth of the time.
    gc.disable()
    try:
        Reader(part.path, contents).read(LINE_END.split(part.text))
    finally:
        gc.enable()


KAFKA_TOOLS = Format(f"the output of {_COMMANDS}", _shows_a_cluster, _read)
