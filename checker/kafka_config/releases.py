"""Versions of Kafka's binaries and of its inter-broker protocol.

In:  a version as text: 0.10.2.1, 0.10.1-IV2, 3.9.
Out: a `Version`. checker/kafka_config/generation.py and keys.py define what each release does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Each release with replication, with its last internal version of the inter-broker protocol (None before 0.10).
_LAST_INTERNAL_VERSION: dict[tuple[int, ...], int | None] = {
    (0, 8, 0): None, (0, 8, 1): None, (0, 8, 2): None, (0, 9, 0): None,
    (0, 10, 0): 1, (0, 10, 1): 2, (0, 10, 2): 0, (0, 11, 0): 2,
    (1, 0): 0, (1, 1): 0,
    (2, 0): 1, (2, 1): 2, (2, 2): 1, (2, 3): 1, (2, 4): 1, (2, 5): 0, (2, 6): 0, (2, 7): 2, (2, 8): 1,
    (3, 0): 1, (3, 1): 0, (3, 2): 0, (3, 3): 3, (3, 4): 0, (3, 5): 2, (3, 6): 2, (3, 7): 4, (3, 8): 0, (3, 9): 0,
}  # fmt: skip
_NEWEST_RELEASE = max(_LAST_INTERNAL_VERSION)


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


def version_of_binaries(text: str) -> Version:
    """Parse a version; 0.10 means any release 0.10.x. Raises ValueError with the reason and the cure."""
    form = re.fullmatch(r"(\d{1,4}(?:\.\d{1,4}){1,3})(?:-IV(\d{1,4}))?", text, re.ASCII)
    if form is None:
        raise ValueError(f"{text!r} is not a version of Kafka; write for example 0.10.2, 0.10.1-IV2 or 3.9")
    version = Version(text, tuple(map(int, form[1].split("."))), int(form[2]) if form[2] else None)
    if version.release > _NEWEST_RELEASE:
        return version
    if not _releases_within(version):
        raise ValueError(
            f"Kafka {text} does not exist or has no replication; write another release, for example 0.10.2 or 3.9"
        )
    last_internal = _LAST_INTERNAL_VERSION.get(version.release)
    if version.internal is not None and (last_internal is None or version.internal > last_internal):
        raise ValueError(f"Kafka has no internal version {text}; write {version.release_name}")
    return version


def version_of_inter_broker_protocol(text: str) -> Version:
    """Parse inter.broker.protocol.version as a broker does: the release must be complete, and the rest of the text is
    ignored. Raises ValueError with the reason and the cure."""
    version = version_of_binaries(text)
    if version.release > _NEWEST_RELEASE:
        return version
    if version.release not in _LAST_INTERNAL_VERSION:
        whole = ", ".join(map(_name, _releases_within(version)))
        raise ValueError(f"Kafka refuses {text!r}, which is incomplete; write one of {whole}")
    internal = _LAST_INTERNAL_VERSION[version.release] if version.internal is None else version.internal
    return Version(text, version.release, internal)


def _releases_within(version: Version) -> list[tuple[int, ...]]:
    return [release for release in _LAST_INTERNAL_VERSION if release[: len(version.release)] == version.release]


def _name(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))
