"""Reads the unchanged output of `kafka-topics --describe`, `kafka-configs --describe` and `kafka-features describe`, of
Kafka 0.10 to 4.1.

In:  files that contain one or more outputs; - is standard input.
Out: a `Description`: the settings of the topic and of the brokers, with their places, and the partition from which the
     search starts, with its leader and its ISR.

Of several partitions, the one with the smallest ISR is used; of several topics, the user selects one. Lines about other
topics, users and clients, and warnings of the tools, are skipped; any other line is an error.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from isrcheck.checker.kafka_config.ignored import Ignored, WhyIgnored
from isrcheck.checker.kafka_config.versions import Evidence, Mode
from isrcheck.checker.kafka_settings.cluster_settings import Layer, Section, UnderstoodSetting, printable, quoted
from isrcheck.checker.kafka_settings.keys import FEATURES, Role
from isrcheck.checker.kafka_settings.properties_file import LINE_END, PropertiesError, Property, decode, read_text

STANDARD_INPUT = Path("standard input")

NO_LEADER = ("none", "-1")

NO_ELR = "N/A"
"""The text that newer tools print in the field Elr for brokers that do not know of eligible leader replicas."""

_REASSIGNED = "a reassignment under way is not modelled: the answer is for the replicas that are shown"
_WITHOUT_ELR = "the search starts without eligible leader replicas"
NOT_IN_THE_START: Mapping[str, str] = {
    "Adding Replicas": _REASSIGNED,
    "Removing Replicas": _REASSIGNED,
    "Elr": _WITHOUT_ELR,
    "LastKnownElr": "the search starts without a last known leader",
}
"""The fields of a partition that name brokers and that the search does not start with, each with the reason."""


@dataclass(frozen=True)
class Partition:
    """A described partition. `replicas` are broker ids, the preferred leader first; `place` is FILE:LINE.

    `left_out` are the fields in NOT_IN_THE_START that name brokers, with their values.
    """

    topic: str
    number: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    place: str
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The name of the partition in Kafka's log lines."""
        return f"{self.topic}-{self.number}"

    @property
    def brokers(self) -> tuple[int, ...]:
        """Broker ids in the order of the model's brokers: the leader, then the other replicas in assignment order."""
        return tuple(sorted(self.replicas, key=lambda broker: broker != self.leader))

    @property
    def isr_number(self) -> int:
        """The ISR as a bit set: bit r is set if the model's broker r is in the ISR."""
        return sum(1 << place for place, broker in enumerate(self.brokers) if broker in self.isr)


@dataclass(frozen=True)
class Description:
    """The described topic and brokers.

    `why_unavailable` is the reason why no search can start, or None. `evidence` is what the output shows of the
    brokers. `eligible_replicas` is the place of a line whose Elr or LastKnownElr names brokers, or None.
    """

    sections: tuple[Section, ...] = ()
    partition: Partition | None = None
    why_unavailable: str | None = None
    understood: tuple[UnderstoodSetting, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    eligible_replicas: str | None = None


def read_described(names: Sequence[str], topic: str | None = None) -> Description:
    """Read the files `names` (- is standard input) and describe the topic `topic`. Raises PropertiesError."""
    if names.count("-") > 1:
        raise PropertiesError("--describe -: standard input can be read only once; give - once")
    found = _Found()
    for name in names:
        path = STANDARD_INPUT if name == "-" else Path(name)
        text = _standard_input() if name == "-" else read_text(path)
        # A byte order mark comes from the shell that wrote the file, not from Kafka.
        _Reader(path, found).read(LINE_END.split(text.removeprefix("\ufeff")))
    return _chosen(found, topic) if names else Description()


def _standard_input() -> str:
    if sys.stdin is None:
        raise PropertiesError("--describe -: there is no standard input; give a file, or pipe the output into `check`")
    return decode(sys.stdin.buffer.read(), STANDARD_INPUT)


# --- The topic and the partition --------------------------------------------------------------------------------------


@dataclass
class _Found:
    """The contents of all outputs, before one topic is selected."""

    topics: dict[str, list[Property]] = field(default_factory=dict)
    headers: dict[str, tuple[int, str]] = field(default_factory=dict)
    partitions: list[Partition] = field(default_factory=list)
    brokers: list[tuple[str, Layer, Property]] = field(default_factory=list)
    ignored: list[tuple[str, Ignored]] = field(default_factory=list)
    topic_ids: list[str] = field(default_factory=list)
    elr_fields: list[str] = field(default_factory=list)
    known_elrs: list[str] = field(default_factory=list)
    eligible_replicas: list[str] = field(default_factory=list)


def _chosen(found: _Found, topic: str | None) -> Description:
    topic = _topic(found, topic)
    properties = list(found.topics.get(topic or "", []))
    of_topic = [partition for partition in found.partitions if partition.topic == topic]
    led = [partition for partition in of_topic if partition.leader is not None]
    partition = min(led, key=lambda one: (len(one.isr), one.number), default=None)
    if partition is not None:
        properties.append(_factor(len(partition.replicas), partition.place))
    elif of_topic:
        properties.append(_factor(len(of_topic[0].replicas), of_topic[0].place))
    elif topic in found.headers:
        properties.append(_factor(*found.headers[topic]))
    members = {(member, layer): member for member, layer, _ in found.brokers}
    sections = [
        Section(Role.BROKER, member, tuple(p for m, each, p in found.brokers if (m, each) == (member, layer)), layer)
        for member, layer in members
    ]
    ignored = [one for name, one in found.ignored if name == topic]
    if partition is not None:
        ignored += [
            Ignored(label, value, WhyIgnored.NOT_MODELLED, NOT_IN_THE_START[label], partition.place)
            for label, value in partition.left_out
        ]
    return Description(
        sections=(Section(Role.TOPIC, str(topic), tuple(properties)), *sections),
        partition=partition,
        why_unavailable=_why_unavailable(of_topic, partition),
        understood=tuple(_understood(partition, of_topic)) if partition else (),
        ignored=tuple(ignored),
        evidence=tuple(_evidence(found)),
        eligible_replicas=next(iter(found.eligible_replicas), None),
    )


def _evidence(found: _Found) -> Iterator[Evidence]:
    """Yield what the newest of the outputs shows: a TopicId since 2.8, and Elr since 3.8.

    Only KRaft brokers send ELRs (DescribeTopicPartitions); for others the tool prints N/A.
    """
    if found.eligible_replicas:
        yield Evidence(f"names replicas in Elr ({found.eligible_replicas[0]})", since="4.0", mode=Mode.KRAFT)
    elif found.known_elrs:
        yield Evidence(f"shows an Elr ({found.known_elrs[0]})", since="3.8", mode=Mode.KRAFT)
    elif found.topic_ids:
        shown, is_older = f"shows a TopicId ({found.topic_ids[0]})", not found.elr_fields
        yield Evidence(shown, "2.8", "3.7" if is_older else None, lacks=", but no Elr" if is_older else "")
    elif found.headers and not found.elr_fields:
        yield Evidence(f"shows no TopicId ({next(iter(found.headers.values()))[1]})", until="2.7")
    elif found.partitions and not found.elr_fields:
        yield Evidence(f"shows no Elr ({found.partitions[0].place})", until="3.7")


def _topic(found: _Found, topic: str | None) -> str | None:
    names = sorted({*found.topics, *(partition.topic for partition in found.partitions)})
    listed = ", ".join(map(printable, names))
    if topic is not None:
        if topic not in names:
            there = f"the described topics are {listed}" if names else "no topic is described"
            raise PropertiesError(f"--topic-name {printable(topic)}: there is no such topic; {there}")
        return topic
    if len(names) > 1:
        raise PropertiesError(f"several topics are described ({listed}); select one with --topic-name NAME")
    return names[0] if names else None


def _factor(count: int, place: str) -> Property:
    path, _, line = place.rpartition(":")
    return Property("replication.factor", str(count), Path(path), int(line))


def _why_unavailable(partitions: Sequence[Partition], chosen: Partition | None) -> str | None:
    if not partitions or chosen is not None:
        return None
    first = partitions[0]
    return (
        f"{first.name} has no leader ({first.place}), so nothing can be written or read now; "
        f"describe the partition again when a broker of its {'ELR' if _has_only_elr(first) else 'ISR'} is up"
    )


def _has_only_elr(partition: Partition) -> bool:
    return not partition.isr and "Elr" in dict(partition.left_out)


def _understood(chosen: Partition, partitions: Sequence[Partition]) -> Iterator[UnderstoodSetting]:
    value = f"leader {chosen.leader}, replicas {_ids(chosen.replicas)}, ISR {_ids(chosen.isr)}"
    among = f" (the one with the smallest ISR of {len(partitions)} partitions)" if len(partitions) > 1 else ""
    mapping = ", ".join(f"{number} is {broker}" for number, broker in enumerate(chosen.brokers))
    meaning = f"the search starts from this partition{among}; in traces, broker {mapping}"
    yield UnderstoodSetting(f"partition {printable(chosen.name)}", value, meaning, chosen.place)
    for one in partitions:
        if one.leader is None:
            value = f"leader none, replicas {_ids(one.replicas)}, ISR {_ids(one.isr)}"
            yield UnderstoodSetting(
                f"partition {printable(one.name)}", value, "unavailable now: the partition has no leader", one.place
            )


def _ids(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))


# --- Lines ------------------------------------------------------------------------------------------------------------

_LABELS = (
    *("TopicId", "Topic", "PartitionCount", "ReplicationFactor", "Configs", "MarkedForDeletion"),
    *("Partition", "Leader", "Replicas", "Isr", "Adding Replicas", "Removing Replicas", "Elr", "LastKnownElr"),
)
_LABEL = re.compile(rf"(?:^|(?<=\s))({'|'.join(_LABELS)}):")

_CONFIGS_ON_ONE_LINE = re.compile(r"Configs for (?P<whose>.+?) are(?: (?P<pairs>.*))?")
_CONFIGS_BELOW = re.compile(
    r"(?:(?:Dynamic|All) configs|Configs) for (?P<kind>[a-z-]+) (?P<name>\S+) are:|"
    r"Default configs? for (?P<kinds>[a-z-]+) in the cluster are:"
)
_CONFIG = re.compile(r"\s+(?P<key>[^\s=]+)=(?P<value>.*?) sensitive=(?:true|false) synonyms=\{.*\}\s*")
_FEATURE = re.compile(r"Feature: (?P<name>\S+)\s.*\bFinalizedVersionLevel: (?P<level>\S+)(?:\s.*)?")
_OF_TOPIC = re.compile(r"topic '(?P<name>.*)'|topics:(?P<old>.*)")
_OF_BROKER = re.compile(r"brokers? '?(?P<name>\d+)'?|brokers:(?P<old>\d+)")

# Other lines of the tools, the shell and Java, which do not describe a cluster.
_NOISE = re.compile(
    r"\s*$|[$#>] |\[|(?:Warning|WARNING|Note|NOTE|WARN|SLF4J|OpenJDK|Java HotSpot|Picked up|Use --bootstrap-server)\b"
    r"|(?:Quota|SCRAM credential) configs for "
)


_TOOLS = "kafka-topics, kafka-configs or kafka-features"
_COMMANDS = "kafka-topics --describe, kafka-configs --describe or kafka-features describe"


class _Reader:
    """Reads one file line by line; configurations belong to the last heading of kafka-configs above them."""

    def __init__(self, path: Path, found: _Found) -> None:
        self.path = path
        self.found = found
        self.line = 0
        self.heading: tuple[Role, str, Layer] | None = None
        self.has_heading = False

    def read(self, lines: Sequence[str]) -> None:
        """Read every line. Raises PropertiesError for an unknown line, and if the file describes nothing."""
        is_empty = True
        for self.line, line in enumerate(lines, start=1):
            labels = _fields(line)
            if "PartitionCount" in labels:
                self._topic(labels)
            elif "Partition" in labels:
                self._partition(labels)
            elif self._heading(line.strip()) or self._config(line) or self._feature(line.strip()):
                pass
            elif _NOISE.match(line):
                continue
            else:
                raise self._error(f"{quoted(line.strip())} is not a line of {_TOOLS}")
            is_empty = False
        if is_empty:
            raise PropertiesError(f"{self.path}: the file describes nothing; give the output of {_COMMANDS}")

    @property
    def _place(self) -> str:
        return f"{self.path}:{self.line}"

    def _error(self, what: str) -> PropertiesError:
        return PropertiesError(f"{self._place}: {what}; give the unchanged output of {_COMMANDS}")

    # kafka-topics

    def _topic(self, labels: dict[str, str]) -> None:
        self.has_heading = False
        name = self._word(labels, "Topic")
        self._number(labels, "PartitionCount", 1)
        self.found.headers[name] = self._number(labels, "ReplicationFactor", 1), self._place
        self.found.topics.setdefault(name, []).extend(self._pairs(labels.get("Configs", "")))
        if "TopicId" in labels:
            self.found.topic_ids.append(self._place)
        if labels.get("MarkedForDeletion") == "true":
            reason = "the topic is marked for deletion: the answer is for a topic that stays"
            self.found.ignored.append(
                (name, Ignored("MarkedForDeletion", "true", WhyIgnored.NOT_MODELLED, reason, self._place))
            )

    def _partition(self, labels: dict[str, str]) -> None:
        self.has_heading = False
        topic, number = self._word(labels, "Topic"), self._number(labels, "Partition", 0)
        leader = None if labels.get("Leader") in NO_LEADER else self._number(labels, "Leader", 0)
        replicas, isr = self._brokers(labels, "Replicas"), self._brokers(labels, "Isr")
        if not replicas:
            raise self._error(f"{topic}-{number} has no replicas")
        for broker in isr:
            if broker not in replicas:
                raise self._error(f"broker {broker} is in the ISR, but not a replica")
        if leader is not None and leader not in isr:
            raise self._error(f"leader {leader} is not in the ISR")
        self._elr(labels, replicas, isr)
        left_out = tuple(
            (label, labels[label]) for label in NOT_IN_THE_START if labels.get(label, NO_ELR) not in ("", NO_ELR)
        )
        new = Partition(topic, number, leader, replicas, isr, self._place, left_out)
        for old in self.found.partitions:
            if old.name == new.name and (old.leader, old.replicas, old.isr) != (leader, replicas, isr):
                raise PropertiesError(
                    f"{self._place}: {new.name} differs from its description in {old.place}; keep the later one"
                )
        self.found.topics.setdefault(topic, [])
        if all(old.name != new.name for old in self.found.partitions):
            self.found.partitions.append(new)

    def _elr(self, labels: dict[str, str], replicas: Sequence[int], isr: Sequence[int]) -> None:
        """Note whether the line has the fields of eligible leader replicas, and whether they name brokers.

        Kafka never keeps a broker in both the ISR and the ELR.
        """
        shown = [label for label in ("Elr", "LastKnownElr") if label in labels]
        known = {label: self._brokers(labels, label) for label in shown if labels[label] != NO_ELR}
        for label, brokers in known.items():
            for broker in brokers:
                if broker not in replicas:
                    raise self._error(f"broker {broker} is in {label}, but not a replica")
                if label == "Elr" and broker in isr:
                    raise self._error(f"broker {broker} is both in the ISR and in the Elr")
        if shown:
            self.found.elr_fields.append(self._place)
        if known:
            self.found.known_elrs.append(self._place)
        if any(known.values()):
            self.found.eligible_replicas.append(self._place)

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
                self.heading = Role.BROKER, f"broker {below['name']}", Layer.RUNNING
            elif below["kind"] == "topic":
                self.heading = Role.TOPIC, below["name"], Layer.FILE
                self.found.topics.setdefault(below["name"], [])
            return True
        if one := _CONFIGS_ON_ONE_LINE.fullmatch(line):
            self.has_heading = False
            if topic := _OF_TOPIC.fullmatch(one["whose"]):
                name = topic["name"] or topic["old"]
                self.found.topics.setdefault(name, []).extend(self._pairs(one["pairs"] or ""))
            elif broker := _OF_BROKER.fullmatch(one["whose"]):
                self._keep(f"broker {broker['name'] or broker['old']}", Layer.RUNNING, one["pairs"])
            elif one["whose"] == "default brokers":
                self._keep("the cluster", Layer.CLUSTER, one["pairs"])
            return True
        return False

    def _keep(self, member: str, layer: Layer, pairs: str | None) -> None:
        self.found.brokers += [(member, layer, each) for each in self._pairs(pairs or "")]

    def _config(self, line: str) -> bool:
        config = _CONFIG.fullmatch(line)
        if config is None:
            return False
        if not self.has_heading:
            raise self._error(f"{quoted(config['key'])} has no heading above it such as 'All configs for topic t are:'")
        if self.heading is not None and config["value"] != "null":  # null: not set, or a secret
            role, name, layer = self.heading
            each = Property(config["key"], config["value"], self.path, self.line)
            if role is Role.TOPIC:
                self.found.topics[name].append(each)
            else:
                self.found.brokers.append((name, layer, each))
        return True

    # kafka-features

    def _feature(self, line: str) -> bool:
        """Read the level of a feature of the cluster, of which only some matter for replication."""
        feature = _FEATURE.fullmatch(line)
        if feature is None:
            return False
        if feature["name"] in FEATURES:
            level = Property(feature["name"], feature["level"], self.path, self.line)
            self.found.brokers.append(("the cluster", Layer.CLUSTER, level))
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
    found = list(_LABEL.finditer(line))
    starts = [label.start() for label in found]
    return {
        label[1]: line[label.end() : end].strip() for label, end in zip(found, [*starts, len(line)][1:], strict=True)
    }
