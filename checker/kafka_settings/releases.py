"""Versions of Kafka's binaries, of its inter-broker protocol (ZooKeeper), and of its metadata (KRaft).

In:  a version as text: 0.10.2.1, 0.10.1-IV2, 3.9.
Out: a `Version`. checker/kafka_config/generation.py and keys.py define what each release does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

# Each release with replication, with its last internal version (None before 0.10): of the inter-broker protocol, or of
# metadata.version, which has the same numbers up to 3.9 and is alone since 4.0.
_LAST_INTERNAL_VERSION: dict[tuple[int, ...], int | None] = {
    (0, 8, 0): None, (0, 8, 1): None, (0, 8, 2): None, (0, 9, 0): None,
    (0, 10, 0): 1, (0, 10, 1): 2, (0, 10, 2): 0, (0, 11, 0): 2,
    (1, 0): 0, (1, 1): 0,
    (2, 0): 1, (2, 1): 2, (2, 2): 1, (2, 3): 1, (2, 4): 1, (2, 5): 0, (2, 6): 0, (2, 7): 2, (2, 8): 1,
    (3, 0): 1, (3, 1): 0, (3, 2): 0, (3, 3): 3, (3, 4): 0, (3, 5): 2, (3, 6): 2, (3, 7): 4, (3, 8): 0, (3, 9): 0,
    (4, 0): 3, (4, 1): 1, (4, 2): 1, (4, 3): 0, (4, 4): 2, (4, 5): 0,
}  # fmt: skip
_OLDEST_RELEASE, _NEWEST_RELEASE = min(_LAST_INTERNAL_VERSION), max(_LAST_INTERNAL_VERSION)
NEWEST_RELEASE, UNRELEASED = "4.4", "4.5"
"""The newest release, and the next one, known as its source was in August 2026. Its metadata.version, 4.5-IV0, was not
yet for production then: its tools show 4.4-IV2 as the newest one."""

LAST_WITH_ZOOKEEPER = "3.9"
"""The last release whose brokers can use ZooKeeper; it has the last version of the inter-broker protocol."""

_NUMBERS = 3
"""The most numbers of a release since 1.0."""

FIRST_METADATA_VERSION = "3.0-IV1"
"""The oldest metadata.version of a KRaft cluster."""

# Confluent Platform has numbers of its own. Those up to 4.1 are numbers of Kafka as well, and cannot be told apart.
_CONFLUENT_PLATFORM: dict[tuple[int, ...], tuple[int, ...]] = {
    **{(5, minor): (2, minor) for minor in range(6)},
    **{(6, minor): (2, minor + 6) for minor in range(3)},
    **{(7, minor): (3, minor) for minor in range(10)},
    **{(8, minor): (4, minor) for minor in range(2)},
}


def releases() -> list[str]:
    """Every release with replication, oldest first."""
    return [_name(numbers) for numbers in _LAST_INTERNAL_VERSION]


@dataclass(frozen=True)
class Version:
    """A version of Kafka's binaries or of its inter-broker protocol, such as 0.10.2.1, 0.10.1-IV2 or 3.9."""

    text: str = field(compare=False)
    numbers: tuple[int, ...]
    internal: int | None  # the 2 of -IV2

    def __str__(self) -> str:
        return self.text

    @property
    def release(self) -> tuple[int, ...]:
        """The version without its patch number: (0, 10, 2) for 0.10.2.1, (3, 9) for 3.9.1."""
        return self.numbers[: 3 if self.numbers[0] == 0 else 2]

    @property
    def release_name(self) -> str:
        """The release as text."""
        return _name(self.release)

    @property
    def patch(self) -> int | None:
        """The patch number, such as 1 for 2.0.1; None if the version has none."""
        return self.numbers[len(self.release)] if len(self.numbers) > len(self.release) else None

    def is_newer_than(self, other: Version) -> bool:
        """Whether this version is newer, by the numbers that both have: 0.10.2 is not newer than 0.10."""
        length = min(len(self.release), len(other.release))
        if self.release[:length] == other.release[:length] and self.internal is not None and other.internal is not None:
            return self.internal > other.internal
        return self.release[:length] > other.release[:length]

    def has(self, release: str) -> bool:
        """Whether this version is at least a release such as 2.0, or an internal version such as 2.0-IV0."""
        return not version_of_binaries(release).is_newer_than(self)

    def has_patch(self, patch: str) -> bool:
        """Whether this version is at least a patch such as 2.0.1; a missing patch number counts as 0."""
        other = version_of_binaries(patch)
        return (self.release, self.patch or 0) >= (other.release, other.patch or 0)

    def has_repair(self, repaired: Sequence[str]) -> bool:
        """Whether this version has a repair, of which `repaired` are the first releases, one for each branch, oldest
        first: it is in later patches of these branches, and in every release after the last of them."""
        last = repaired[-1] if repaired else None
        return any(
            (first == last or version_of_binaries(first).release == self.release) and self.has_patch(first)
            for first in repaired
        )


@cache
def version_of_binaries(text: str) -> Version:
    """Parse a version; 0.10 means any release 0.10.x. Raises ValueError with the reason and the cure."""
    form = re.fullmatch(r"(\d{1,4}(?:\.\d{1,4}){1,3})(?:-IV(\d{1,4}))?", text, re.ASCII)
    if form is None:
        raise ValueError(f"{text!r} is not a version of Kafka; write for example 0.10.2, 0.10.1-IV2 or 3.9")
    version = Version(text, tuple(map(int, form[1].split("."))), int(form[2]) if form[2] else None)
    if version.numbers[0] > _NEWEST_RELEASE[0]:
        raise ValueError(_why_no_release(version))
    if version.numbers[0] and len(version.numbers) > _NUMBERS:
        shorter = _name(version.numbers[:_NUMBERS])
        raise ValueError(f"Kafka {text} does not exist: since 1.0 a release has three numbers; write {shorter}")
    if version.release > _NEWEST_RELEASE:
        return version
    if not _releases_within(version):
        nearest = max((one for one in _LAST_INTERNAL_VERSION if one < version.release), default=_OLDEST_RELEASE)
        raise ValueError(
            f"Kafka {text} does not exist or has no replication; write another release, for example {_name(nearest)}"
        )
    last_internal = _LAST_INTERNAL_VERSION.get(version.release)
    if version.internal is not None and (last_internal is None or version.internal > last_internal):
        raise ValueError(f"Kafka has no internal version {text}; write {version.release_name}")
    return version


def version_of_inter_broker_protocol(text: str) -> Version:
    """Parse inter.broker.protocol.version as a broker does: the release must be complete, and the rest of the text is
    ignored. Raises ValueError with the reason and the cure."""
    version = _complete(text)
    last = version_of_binaries(LAST_WITH_ZOOKEEPER)
    if version.is_newer_than(last):
        raise ValueError(f"{text} is no version of the inter-broker protocol, which ends with {last}; write {last}")
    return version


def version_of_metadata(text: str) -> Version:
    """Parse metadata.version as kafka-features does. Raises ValueError with the reason and the cure."""
    if re.match(r"\d+\.", text, re.ASCII) is None:
        raise ValueError(f"{text!r} is no metadata.version; write for example 3.7-IV4 or 3.9")
    version = _complete(text)
    if not version.has(FIRST_METADATA_VERSION):
        raise ValueError(
            f"there is no metadata.version {text}; the first one is {FIRST_METADATA_VERSION}, of Kafka 3.0 with KRaft"
        )
    return version


def _complete(text: str) -> Version:
    """Parse a version whose release must be complete; without -IV it means the last internal version."""
    version = version_of_binaries(text)
    if version.release > _NEWEST_RELEASE:
        return version
    if version.release not in _LAST_INTERNAL_VERSION:
        whole = ", ".join(map(_name, _releases_within(version)))
        raise ValueError(f"Kafka refuses {text!r}, which is incomplete; write one of {whole}")
    internal = _LAST_INTERNAL_VERSION[version.release] if version.internal is None else version.internal
    return Version(text, version.release, internal)


def _why_no_release(version: Version) -> str:
    """Return why a number above all of Kafka's is refused, and which Kafka a distribution with this number contains."""
    kafka = _CONFLUENT_PLATFORM.get(version.release)
    if kafka is not None:
        return (
            f"{version} is no release of Kafka; Confluent Platform {version.release_name} contains Kafka "
            f"{_name(kafka)}: write {_name(kafka)}"
        )
    return (
        f"{version} is no release of Kafka, whose newest release here is {NEWEST_RELEASE}; "
        "write the release of Kafka that the distribution contains"
    )


def _releases_within(version: Version) -> list[tuple[int, ...]]:
    return [release for release in _LAST_INTERNAL_VERSION if release[: len(version.release)] == version.release]


def _name(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))
