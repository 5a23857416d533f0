"""The clusters of the atlas: what each known release does by default, with ZooKeeper and with KRaft.

In:  nothing.
Out: `ReleasedCluster`s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from isrcheck.checker.kafka_config.generation import read_generation
from isrcheck.checker.kafka_config.producer_rules import read_producer
from isrcheck.checker.kafka_config.transaction_rules import read_transactions, spelled
from isrcheck.checker.kafka_config.versions import read_versions
from isrcheck.checker.kafka_settings.cluster_settings import Section, Settings
from isrcheck.checker.kafka_settings.keys import Role
from isrcheck.checker.kafka_settings.properties_file import PropertiesError, Property
from isrcheck.checker.kafka_settings.releases import Version, releases, version_of_binaries
from isrcheck.checker.questions.case import Case

PATCHES = ("2.0.1", "2.8.1", "3.9.1", "4.0.1")
"""The patch releases that replicate otherwise than the first one of their release."""

MODES = {"ZooKeeper": ("zookeeper.connect", "localhost:2181"), "KRaft": ("process.roles", "broker")}
"""A setting of brokers that shows who keeps the metadata."""

VERIFICATION = ("transaction.partition.verification.enable", "false")


@dataclass(frozen=True)
class ReleasedCluster:
    """A release in a mode: the case of its defaults, without transactions; and what transactions it can have."""

    release: Version
    mode: str
    case: Case
    transactions: tuple[tuple[tuple[str, str], ...], ...]


@cache
def clusters() -> tuple[ReleasedCluster, ...]:
    """Every release in every mode that is modelled, oldest first."""
    versions = sorted(map(version_of_binaries, (*releases(), *PATCHES)), key=lambda one: (one.release, one.patch or 0))
    return tuple(found for one in versions for mode in MODES if (found := _cluster(one, mode)) is not None)


def _cluster(release: Version, mode: str) -> ReleasedCluster | None:
    """The cluster of a release in a mode; None if there is none, or if it is not modelled."""
    try:
        settings = _settings(MODES[mode])
        versions = read_versions(settings, release.text)
    except PropertiesError:
        return None
    generation, _ = read_generation(settings, versions)
    if generation.why_undecided is not None:
        return None
    numbering = read_producer(settings, versions).numbering
    case = Case(
        protocol=generation.protocol,
        switches=tuple(sorted(generation.switches.items())),
        numbering=tuple(sorted((name, int(value)) for name, value in numbering.items())),
    )
    return ReleasedCluster(release, mode, case, tuple(_transactions(release, mode)) if case.has_record_epochs else ())


def _transactions(release: Version, mode: str) -> list[tuple[tuple[str, str], ...]]:
    """What transactions are in this release: by default, and where leaders do not ask the coordinator."""
    found = []
    for more in ((), (VERIFICATION,)):
        settings = _settings(MODES[mode], *more)
        read = read_transactions(settings, read_versions(settings, release.text))
        if read.why_unsearched is None:
            values = {"protocol": read.protocol} | spelled(read.values)
            found.append(tuple(sorted(values.items())))
    return list(dict.fromkeys(found))


def _settings(*given: tuple[str, str]) -> Settings:
    path = Path("a broker's file")
    properties = tuple(Property(key, value, path, line) for line, (key, value) in enumerate(given, 1))
    return Settings([Section(Role.BROKER, path.name, properties)])
