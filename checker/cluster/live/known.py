"""Turns a `Snapshot` of a running cluster into the `Contents` from which the doctor answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from isrcheck.checker.cluster.contents import Contents, Partition, listed
from isrcheck.checker.cluster.live.snapshot import BrokerRead, SettingRead, Snapshot
from isrcheck.checker.cluster.property_files import Layer, PropertiesError, Property, printable
from isrcheck.checker.cluster.racks import merged
from isrcheck.checker.cluster.releases import FEATURES, metadata_version_of
from isrcheck.checker.cluster.settings import affects_the_answer
from isrcheck.checker.cluster.versions import Evidence, Mode
from isrcheck.checker.results.terminal import counted

NEW_APIS = (
    (75, "DescribeTopicPartitions", "3.8"),
    (60, "DescribeCluster", "2.8"),
    (46, "ListPartitionReassignments", "2.4"),
)
"""APIs of brokers by their keys, each with its name and first release, newest first."""

METADATA_VERSION = "metadata.version"
CONFIGS, METADATA, QUORUM, VERSIONS = "DescribeConfigs", "Metadata", "DescribeQuorum", "ApiVersions"
KRAFT_QUORUM = 55
"""The key of DescribeQuorum, which only brokers of a KRaft cluster answer."""


def add_snapshot(snapshot: Snapshot, contents: Contents) -> None:
    """Add the facts of a snapshot to the contents. Raises PropertiesError if they contradict each other."""
    contents.remarks += [*_summary(snapshot), *(f"not known: {line}" for line in snapshot.unknown)]
    told_by = snapshot.place(METADATA)
    racks = ((broker.id, broker.rack, told_by) for broker in snapshot.brokers if broker.rack is not None)
    contents.racks = merged(contents.racks, racks)
    contents.evidence += _evidence(snapshot, contents)
    if snapshot.quorum is not None:
        quorum, shown = snapshot.quorum, snapshot.place(QUORUM)
        contents.voters |= dict.fromkeys(quorum.voters, shown)
        contents.active_controller = quorum.leader
        contents.doubts.no_leader = shown if quorum.leader is None else ""
        # A node in combined mode that lags was up as a broker.
        behind = set(quorum.behind) - {broker.id for broker in snapshot.brokers}
        contents.doubts.voters |= dict.fromkeys(behind, f"lags behind the active controller ({shown})")
    place, has_kraft = snapshot.place(VERSIONS), KRAFT_QUORUM in snapshot.apis
    cluster = [_property(each, snapshot.place(CONFIGS)) for each in snapshot.cluster_settings or ()]
    for feature in snapshot.features:
        if feature.name in FEATURES and feature.level is not None and has_kraft:
            level = metadata_version_of(feature.level) if feature.name == METADATA_VERSION else str(feature.level)
            if level is None:
                contents.remarks.append(f"not known: {feature.name} of level {feature.level} ({place})")
            else:
                cluster.append(Property(feature.name, level, Path(place), 0))
    if cluster:
        contents.brokers["the cluster", Layer.CLUSTER] += cluster
    told = [broker for broker in snapshot.brokers if broker.settings is not None]
    for broker in told:
        contents.brokers[f"broker {broker.id}", Layer.RUNNING] += [
            _property(each, snapshot.place(CONFIGS, broker)) for each in broker.settings or () if _counts(each)
        ]
    contents.has_unread_brokers = not told
    _add_topics(snapshot, contents, inherits=not told)


def _add_topics(snapshot: Snapshot, contents: Contents, *, inherits: bool) -> None:
    """Add topics and partitions. If no broker said its settings (`inherits`), what the topics inherit counts."""
    place, of_settings = snapshot.place(snapshot.partitions_from), snapshot.place(CONFIGS)
    for topic in snapshot.topics:
        if topic.name in contents.topics:
            raise PropertiesError(
                f"{place}: topic {printable(topic.name)} is described twice; give one description of it"
            )
        contents.topics[topic.name] = [
            _property(each, of_settings)
            for each in topic.settings or ()
            if each.source in ("topic", "unknown") or inherits
        ]
        (contents.unread_topics if topic.settings is None else contents.with_settings).add(topic.name)
        for each in topic.partitions:
            key = topic.name, each.number
            named, last_known = each.elr or (), each.last_known_elr or ()
            if named or last_known:
                contents.eligible_replicas.append(place)
            contents.partitions[key] = Partition(
                topic=topic.name,
                number=each.number,
                leader=each.leader,
                replicas=each.replicas,
                isr=each.isr,
                place=place,
                elr=tuple(broker for broker in named if broker in each.replicas),
                last_known_elr=last_known,
                adding=each.adding,
                removing=each.removing,
                strangers=tuple(broker for broker in named if broker not in each.replicas),
            )


def _property(setting: SettingRead, place: str) -> Property:
    return Property(setting.key, setting.value, Path(place), 0)


def _counts(setting: SettingRead) -> bool:
    """Whether a broker's setting is shown: it is set, or the answer depends on its default."""
    return setting.source != "default" or affects_the_answer(setting.key)


# --- what the brokers show of their release ---


def _evidence(snapshot: Snapshot, contents: Contents) -> Iterator[Evidence]:
    newest = {broker.newest_metadata: broker for broker in snapshot.brokers if broker.newest_metadata is not None}
    mode = Mode.KRAFT if KRAFT_QUORUM in snapshot.apis else None
    if newest:
        oldest = min(newest)
        version = metadata_version_of(oldest)
        if len(newest) > 1:
            contents.remarks.append(
                "brokers of several releases (an upgrade under way?): "
                + ", ".join(_supports(level, snapshot.brokers) for level in sorted(newest))
                + "; the answer is for the oldest"
            )
        if version:
            release = version.partition("-")[0]
            yield Evidence(
                f"supports metadata.version {version} ({snapshot.place(VERSIONS, newest[oldest])})",
                since=release,
                until=release,
                mode=mode,
                newest=release,
                tool=f"broker {newest[oldest].id}",
            )
            return
    for key, name, since in NEW_APIS:
        if key in snapshot.apis:
            yield Evidence(f"answers {name} ({snapshot.place(VERSIONS)})", since=since, mode=mode, tool="a broker")
            return


def _supports(level: int, brokers: Iterable[BrokerRead]) -> str:
    ids = [str(broker.id) for broker in brokers if broker.newest_metadata == level]
    return f"{listed(ids)} with metadata.version up to {metadata_version_of(level) or f'level {level}'}"


# --- what was read ---


def _summary(snapshot: Snapshot) -> Iterator[str]:
    """Yield a line on what was read, and one on the controllers."""
    racks = sorted({broker.rack for broker in snapshot.brokers if broker.rack is not None})
    without = sum(broker.rack is None for broker in snapshot.brokers)
    in_racks = f" in {counted(len(racks), 'rack')} ({listed(racks)})" if racks else " without racks"
    if racks and without:
        in_racks += f", {without} without a rack"
    partitions = sum(len(topic.partitions) for topic in snapshot.topics)
    settings = sum(broker.settings is not None for broker in snapshot.brokers)
    of_topics = sum(topic.settings is not None for topic in snapshot.topics)
    moving = sum(bool(each.adding or each.removing) for topic in snapshot.topics for each in topic.partitions)
    reassigned = f", {counted(moving, 'reassignment')} under way" if snapshot.reassignments_known else ""
    yield (
        f"read from {snapshot.server} at {snapshot.read_at}: {counted(len(snapshot.brokers), 'broker')}{in_racks},"
        f" {counted(len(snapshot.topics), 'topic')} with {counted(partitions, 'partition')},"
        f" settings of {counted(of_topics, 'topic')} and {counted(settings, 'broker')}{reassigned}"
    )
    if (quorum := snapshot.quorum) is not None:
        voters = listed([str(voter) for voter in quorum.voters])
        leader = "no leader" if quorum.leader is None else f"leader {quorum.leader}"
        lag = f"; {listed([str(voter) for voter in quorum.behind])} lag behind the leader" if quorum.behind else ""
        yield f"controllers: voters {voters}, {leader}{lag} ({snapshot.place(QUORUM)})"
