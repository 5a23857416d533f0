"""Reads the unchanged output of `kafka-topics --describe`, `kafka-configs --describe` and `kafka-features describe`, of
Kafka 0.10 to 4.1.

In:  files that contain one or more outputs; - is standard input.
Out: `Described`: the topics with their settings and partitions, the settings of the brokers, and what shows the
release.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from isrcheck.checker.kafka_config.describe_lines import (
    NO_ELR,
    Found,
    Partition,
    Reader,
    is_described,
)
from isrcheck.checker.kafka_config.ignored import Ignored, WhyIgnored
from isrcheck.checker.kafka_config.versions import Evidence, Mode
from isrcheck.checker.kafka_settings.cluster_settings import Section, printable
from isrcheck.checker.kafka_settings.keys import Role
from isrcheck.checker.kafka_settings.properties_file import LINE_END, PropertiesError, Property, decode, read_text
from isrcheck.checker.kafka_settings.releases import LAST_WITH_ZOOKEEPER

FIRST_WITH_ELR_FIELDS = "3.8"
"""The first release whose kafka-topics has the fields Elr and LastKnownElr, and whose KRaft brokers answer them."""

_AFTER_IT = "the answer is for the replicas after it"
_REASSIGNED = f"a reassignment under way is not modelled: {_AFTER_IT}"

STANDARD_INPUT = Path("standard input")

MOST_LISTED = 5
"""Names in a message; the rest is counted."""


@dataclass(frozen=True)
class DescribedTopic:
    """A topic: its settings, among them replication.factor if the output shows it, and its partitions, by number.

    `ignored` is what the answer leaves out of the description. `shows_inherited` is the place of a line that shows the
    settings with those that the topic inherits from brokers, or None.
    """

    name: str
    properties: tuple[Property, ...]
    partitions: tuple[Partition, ...]
    ignored: tuple[Ignored, ...]
    shows_inherited: str | None = None

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """The settings without their places: topics that agree in them share an answer."""
        return tuple((one.key, one.value) for one in self.properties)


@dataclass(frozen=True)
class Described:
    """All topics, in the order of their names, and the brokers.

    `evidence` is what the output shows of the release. `eligible_replicas` is the place of a line whose Elr or
    LastKnownElr names brokers, or None. `remarks` says what is missing in the output.
    """

    topics: tuple[DescribedTopic, ...] = ()
    brokers: tuple[Section, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    eligible_replicas: str | None = None
    remarks: tuple[str, ...] = ()


def read_described(names: Sequence[str], topic: str | None = None) -> Described:
    """Read the files `names` (- is standard input); only the topic `topic`, if one is named. Raises PropertiesError."""
    if names.count("-") > 1:
        raise PropertiesError("--describe -: standard input can be read only once; give - once")
    found = Found()
    for name in names:
        path = STANDARD_INPUT if name == "-" else Path(name)
        text = _standard_input() if name == "-" else read_text(path)
        Reader(path, found).read(LINE_END.split(text))
    return _described(found, topic) if names else Described()


def shows_a_cluster(path: Path) -> bool:
    """Whether a file has the output of one of Kafka's tools, and is no property file. Raises PropertiesError."""
    return is_described(LINE_END.split(read_text(path)))


def _standard_input() -> str:
    if sys.stdin is None:
        raise PropertiesError("--describe -: there is no standard input; give a file, or pipe the output into `check`")
    return decode(sys.stdin.buffer.read(), STANDARD_INPUT)


# --- Topics -----------------------------------------------------------------------------------------------------------


def _described(found: Found, topic: str | None) -> Described:
    partitions: dict[str, list[Partition]] = {name: [] for name in found.topics}
    for one in found.partitions.values():
        partitions[one.topic].append(one)
    names = sorted(partitions)
    if topic is not None:
        if topic not in partitions:
            there = f"the described topics are {listed(names)}" if names else "no topic is described"
            raise PropertiesError(f"--topic-name {printable(topic)}: there is no such topic; {there}")
        names = [topic]
    members = dict.fromkeys([*((member, layer) for member, layer, _ in found.brokers), *sorted(found.members)])
    ignored: dict[str, list[Ignored]] = {}
    for name, each in found.ignored:
        ignored.setdefault(name, []).append(each)
    return Described(
        topics=tuple(_topic(found, name, partitions[name], ignored.get(name, ())) for name in names),
        brokers=tuple(
            Section(
                Role.BROKER, member, tuple(p for m, each, p in found.brokers if (m, each) == (member, layer)), layer
            )
            for member, layer in members
        ),
        evidence=tuple(_evidence(found)),
        eligible_replicas=next(iter(found.eligible_replicas), None),
        remarks=(
            *_remarks(found, {name: len(partitions[name]) for name in names}),
            *_unequal(partitions, names),
            *_moving(partitions, names),
            *_strange(partitions, names),
        ),
    )


def _topic(found: Found, name: str, partitions: Sequence[Partition], ignored: Sequence[Ignored]) -> DescribedTopic:
    properties = list(found.topics[name])
    # Of a topic that is being reassigned, some partitions have more replicas than the others, and leave some of them.
    fewest = min(partitions, key=lambda one: (len(one.target), one.number), default=None)
    if fewest is not None:
        properties.append(_factor(len(fewest.target), fewest.place))
    elif name in found.headers:
        properties.append(_factor(*found.headers[name][1:]))
    moving = {label: (value, one.place) for one in reversed(partitions) for label, value in one.reassigned.items()}
    reassigned = [
        Ignored(label, value, WhyIgnored.NOT_MODELLED, _REASSIGNED, place)
        for label, (value, place) in sorted(moving.items())
    ]
    in_order = tuple(sorted(partitions, key=lambda one: one.number))
    return DescribedTopic(name, tuple(properties), in_order, (*ignored, *reassigned), found.topic_ids.get(name))


def _factor(count: int, place: str) -> Property:
    path, _, line = place.rpartition(":")
    return Property("replication.factor", str(count), Path(path), int(line))


def _remarks(found: Found, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield what is missing in the output: `counts` are the partitions that are described of each topic."""
    for place in found.cut:
        yield f"{place}: the description is cut off in this line, which is left out; describe the cluster again"
    for place in found.doubtful:
        yield f"{place}: the file ends without a line break; if it was cut off, the ISR of this line has more brokers"
    fewer = {
        name: (count, found.headers[name][0])
        for name, count in counts.items()
        if name in found.headers and 0 < count < found.headers[name][0]
    }
    if fewer:
        name, (count, whole) = next(iter(fewer.items()))
        more = f", and fewer than all of {len(fewer) - 1} other topics" if len(fewer) > 1 else ""
        yield f"{count} of {whole} partitions of {printable(name)} are described{more}"
    if bare := [name for name in counts if name not in found.with_settings]:
        yield f"no settings of {listed(bare)} are described: those of the brokers are assumed; describe whole topics"


def _unequal(partitions: Mapping[str, Sequence[Partition]], names: Sequence[str]) -> Iterator[str]:
    """Say which topics have partitions with different numbers of replicas, and what the answer is about."""
    for name in names:
        counts = sorted({len(one.target) for one in partitions[name]})
        if len(counts) > 1:
            fewest = listed([one.name for one in partitions[name] if len(one.target) == counts[0]])
            yield (
                f"partitions of {printable(name)} have {counts[0]} to {counts[-1]} replicas:"
                f" the answer is for the fewest ({fewest})"
            )


def _moving(partitions: Mapping[str, Sequence[Partition]], names: Sequence[str]) -> Iterator[str]:
    """Say which partitions are being reassigned, and what the answer is about."""
    moving = [one for name in names for one in partitions[name] if one.reassigned]
    if len(moving) == 1:
        one = moving[0]
        fields = ", ".join(f"{label} {value}" for label, value in one.reassigned.items())
        yield f"{printable(one.name)} is being reassigned ({fields}): {_AFTER_IT}, {len(one.target)}; {_now(one)}"
    elif moving:
        partitions_named = listed([one.name for one in moving])
        yield f"{len(moving):,} partitions are being reassigned ({partitions_named}): {_AFTER_IT}"


def _strange(partitions: Mapping[str, Sequence[Partition]], names: Sequence[str]) -> Iterator[str]:
    """Say which partitions have brokers in their ELR that are no replicas of them."""
    strange = [one for name in names for one in partitions[name] if one.strangers]
    if strange:
        ids = ", ".join(map(str, strange[0].strangers))
        more = f" (the same in {len(strange) - 1:,} more)" if len(strange) > 1 else ""
        yield (
            f"brokers in the Elr of {printable(strange[0].name)} are no replicas of it: {ids}{more}; a reassignment"
            " leaves them there, and they keep the last known leader from being elected"
        )


def _now(one: Partition) -> str:
    """Say how many replicas a partition has during a reassignment, and how many of them are being added."""
    added = f", {len(one.adding)} of them not yet in place" if one.adding else ""
    return f"it has {len(one.replicas)} now{added}"


def listed(names: Sequence[str]) -> str:
    """Return names for a message: the first ones, and the number of the others."""
    shown = ", ".join(printable(name) for name in names[:MOST_LISTED])
    return shown + (f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else "")


def _evidence(found: Found) -> Iterator[Evidence]:
    """Yield what kafka-features shows, and the newest of the other outputs: a TopicId since 2.8, and Elr since 3.8.

    Only KRaft brokers send ELRs (DescribeTopicPartitions), and every broker of 4.0 or newer is one of them; for others
    the tool prints N/A. (It also does if topics are described by their ids.)
    """
    for version, place in found.supported:
        shown = f"supports metadata.version {version} ({place})"
        yield Evidence(shown, version.release_name, mode=Mode.KRAFT, newest=version.release_name, tool="kafka-features")
    if found.eligible_replicas:
        yield Evidence(f"names replicas in Elr ({found.eligible_replicas[0]})", since="4.0", mode=Mode.KRAFT)
    elif found.known_elrs:
        yield Evidence(f"shows an Elr ({found.known_elrs[0]})", since="3.8", mode=Mode.KRAFT)
    elif found.elr_fields:
        shown = f"shows {NO_ELR} as Elr ({found.elr_fields[0]})"
        unknown = Evidence(shown, until=LAST_WITH_ZOOKEEPER, needs_zookeeper_since=FIRST_WITH_ELR_FIELDS)
        yield replace(unknown, since="2.8") if found.topic_ids else unknown
    elif found.topic_ids:
        yield Evidence(f"shows a TopicId ({next(iter(found.topic_ids.values()))})", "2.8", "3.7", lacks=", but no Elr")
    elif found.headers:
        yield Evidence(f"shows no TopicId ({next(iter(found.headers.values()))[2]})", until="2.7")
    elif found.partitions:
        yield Evidence(f"shows no Elr ({next(iter(found.partitions.values())).place})", until="3.7")
