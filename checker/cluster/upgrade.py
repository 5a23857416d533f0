"""The two sides that `isrcheck doctor` compares: of two sets of files (--compare-with FILE), or of one set before and
after the brokers have another release (--compare RELEASE).

With --compare, only the binaries of the brokers change. The metadata.version of a KRaft cluster stays until
`kafka-features upgrade` raises it, and with it stay the features that follow from it. With ZooKeeper,
inter.broker.protocol.version stays if a file gives it; otherwise its default is the release of the binaries. Clients
keep their release and its defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from isrcheck.checker.cluster.cluster import Reading, clusters_of, versions_of
from isrcheck.checker.cluster.contents import Described, listed
from isrcheck.checker.cluster.generation import FIRST_ELR, features_off
from isrcheck.checker.cluster.property_files import PropertiesError
from isrcheck.checker.cluster.releases import CHANGED_METADATA, FIRST_METADATA_VERSION, LAST_WITH_ZOOKEEPER, Version
from isrcheck.checker.cluster.settings import Setting
from isrcheck.checker.cluster.versions import (
    ASSUMED,
    ELR_VERSION,
    FIRST_WITH_KRAFT,
    FIRST_WITHOUT_ZOOKEEPER,
    METADATA_VERSION_GIVEN,
    OLDEST_METADATA_OF_4_0,
    Evidence,
    Mode,
    Versions,
)
from isrcheck.checker.results.terminal import grouped

COMPARE, COMPARE_WITH = "--compare", "--compare-with"


@dataclass(frozen=True)
class Sides:
    """The two sides of a comparison: the readings of a cluster before and after a change."""

    was: Version
    """The release before."""
    becomes: Version
    """The release after."""
    before: Reading
    after: Reading
    assumed: tuple[str, ...]
    """What is assumed about the change of the release, a line each."""
    features_off: tuple[str, ...]
    """What the new release has, but only once features are raised, a line each."""
    is_of_files: bool = False
    """Whether each side has its own files (--compare-with)."""

    @property
    def kind(self) -> str:
        """What is changed: the files; or the release, by an upgrade, a downgrade, or none."""
        if self.is_of_files:
            return "files"
        if not self.becomes.has_patch(str(self.was)):
            return "downgrade"
        return "upgrade" if not self.was.has_patch(str(self.becomes)) else "none"

    @property
    def pairs(self) -> dict[tuple[int, int], tuple[str, ...]]:
        """The topics of each pair of configurations, by the positions of both in their readings. A side that describes
        no topic has one configuration, with which every topic of the other side is compared."""
        old, new = map(_positions, (self.before, self.after))
        topics = old.keys() & new.keys() if old and new else old.keys() | new.keys() or {""}
        pairs = grouped(((old.get(topic, 0), new.get(topic, 0)), topic) for topic in sorted(topics))
        return {pair: tuple(filter(None, names)) for pair, names in sorted(pairs.items())}

    @property
    def alone(self) -> tuple[list[str], list[str]]:
        """The topics that only the files before describe, and those that only the files after describe. If a side
        describes no topic at all, both lists are empty."""
        old, new = (_positions(reading).keys() for reading in (self.before, self.after))
        return (sorted(old - new), sorted(new - old)) if old and new else ([], [])


def _positions(reading: Reading) -> dict[str, int]:
    """Return for each described topic the position of its configuration."""
    return {topic: position for position, cluster in enumerate(reading.clusters) for topic in cluster.topics}


def of_files(before: Reading, after: Reading) -> Sides:
    """Return the sides of a comparison of two sets of files. Raises PropertiesError if no topic is on both sides."""
    was, becomes = (reading.clusters[0].release for reading in (before, after))
    sides = Sides(was, becomes, before, after, (), (), is_of_files=True)
    if not sides.pairs:
        old, new = map(listed, sides.alone)
        raise PropertiesError(
            f"{COMPARE_WITH}: no topic is on both sides: before the change there are {old}; after it, {new}"
        )
    return sides


def upgraded(
    description: Described, kafka_version: str | None, metadata_version: str | None, release: Version
) -> Sides:
    """Return the described cluster before and after its brokers get the `release`; the other versions are those of the
    command line. Raises PropertiesError if brokers of the release would not start in this cluster."""
    versions = versions_of(description, kafka_version, metadata_version)
    _refuse(versions, release)
    before = clusters_of(description, kafka_version, metadata_version)
    # What outputs show of the release holds only before the upgrade.
    shown = Evidence(f"had {versions.mode.value.value} ({versions.mode.source})", mode=versions.mode.value, tool="it")
    new = replace(description, evidence=(shown,), release=Setting(release, COMPARE))
    agreed = None
    if versions.has_kraft:
        agreed = release.release_name if _is_lowered(versions, release) else str(versions.protocol.value)
    after = clusters_of(new, None, agreed, versions)
    off = dict.fromkeys(feature for cluster in after.clusters for feature in features_off(cluster.generation))
    assumed = [*_assumed(versions, release)]
    if _is_lowered(versions, release) and any(cluster.generation.has_elr for cluster in before.clusters):
        assumed.append(
            f"{ELR_VERSION[1]} stays 1, as it needs only metadata.version {FIRST_ELR}; kafka-features downgrade"
            " --release-version would lower it too"
        )
    return Sides(versions.release, release, before, after, tuple(assumed), tuple(off))


def _is_assumed(versions: Versions) -> bool:
    """Whether the agreed version is only assumed, as that of the binaries."""
    return versions.protocol is versions.binaries


def _is_lowered(versions: Versions, release: Version) -> bool:
    """Whether the agreed version has to be lowered before brokers of the release can start."""
    return versions.protocol.value.is_newer_than(release)


def _refuse(versions: Versions, release: Version) -> None:
    """Raise PropertiesError if brokers of the release would not start in this cluster."""
    agreed, mode = versions.protocol, versions.mode
    key, why = f"{versions.protocol_key} {agreed.value} ({agreed.source})", ""
    changes = [one for one in CHANGED_METADATA if agreed.value.has(one) and not release.has(one)]
    if mode.value is Mode.ZOOKEEPER and release.has(FIRST_WITHOUT_ZOOKEEPER):
        why = (
            f"the cluster has ZooKeeper ({mode.source}), and {LAST_WITH_ZOOKEEPER} is the last release with ZooKeeper;"
            f" migrate to KRaft first, or compare with {LAST_WITH_ZOOKEEPER} or older"
        )
    elif versions.has_kraft and not release.has(FIRST_WITH_KRAFT):
        why = f"the cluster has KRaft controllers ({mode.source}), which came with {FIRST_WITH_KRAFT}"
    elif versions.has_kraft and changes:
        why = f"{key} is newer, and Kafka refuses to lower it below {changes[-1]}, which changed the metadata's records"
        if _is_assumed(versions):
            why += f"; if the cluster has an older one, give {METADATA_VERSION_GIVEN}"
        if mode.source.startswith(ASSUMED):
            why += f"; {mode.source.removeprefix(ASSUMED)}"
    elif _is_lowered(versions, release) and not _is_assumed(versions):
        why = f"{key} is newer; lower it first, and give the lower one"
    elif versions.has_kraft and release.has(FIRST_WITHOUT_ZOOKEEPER) and not agreed.value.has(OLDEST_METADATA_OF_4_0):
        why = f"{key} is older than {OLDEST_METADATA_OF_4_0}; raise it first, and give {METADATA_VERSION_GIVEN}"
    if why:
        raise PropertiesError(f"{COMPARE} {release}: brokers of Kafka {release} do not start: {why}")
    if versions.has_kraft and not agreed.value.has(FIRST_METADATA_VERSION):
        raise PropertiesError(
            f"{COMPARE} {release}: KRaft was a preview without a metadata.version in Kafka {agreed.value}, so that"
            " nothing can be said about an upgrade"
        )


def _assumed(versions: Versions, release: Version) -> Iterator[str]:
    agreed, key = versions.protocol.value, versions.protocol_key
    yield f"only the brokers become Kafka {release}, all of them; clients stay what they are"
    if _is_lowered(versions, release) and versions.has_kraft:
        yield f"{key} was lowered to that of {release} before (kafka-features downgrade), as brokers need it"
    elif versions.has_kraft:
        whose = f"that of {agreed}" if _is_assumed(versions) else str(agreed)
        yield f"{key} stays {whose}, as an upgrade of the binaries does not raise it (kafka-features upgrade does)"
    elif _is_assumed(versions):
        yield f"{key} becomes that of {release}, its default, as no file gives it"
    else:
        yield f"{key} stays {agreed} ({versions.protocol.source})"
