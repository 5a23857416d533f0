"""The cells of the atlas: a cell is a question about one combination of the settings on which its answer depends.

There are cells for every combination of these settings in every known release, and for the usual combinations in every
release that still has an old metadata.version after an upgrade. Combinations share a cell if, by a rule
(checker/answers/questions.py), one search answers for all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from isrcheck.checker.answers.questions import (
    Case,
    Question,
    Topic,
    asked_instead,
    defects_of,
    key_of,
    losses_to_survive,
    read_by,
    why_unasked,
)
from isrcheck.checker.cluster.clients import read_producer, read_transactions
from isrcheck.checker.cluster.generation import read_generation
from isrcheck.checker.cluster.property_files import PropertiesError, Property, Section
from isrcheck.checker.cluster.releases import Role, Version, releases, version_of_binaries
from isrcheck.checker.cluster.settings import Settings
from isrcheck.checker.cluster.versions import read_versions

PATCHES = ("2.0.1", "2.8.1", "3.9.1", "4.0.1")
"""The patch releases whose replication differs from that of the first patch of their release."""

MODES = {"ZooKeeper": ("zookeeper.connect", "localhost:2181"), "KRaft": ("process.roles", "broker")}
"""A setting of brokers that shows who keeps the metadata."""

VERIFICATION = ("transaction.partition.verification.enable", "false")


@dataclass(frozen=True)
class ReleasedCluster:
    """A release in a mode (ZooKeeper or KRaft): its default settings, and how its transactions may be configured."""

    release: Version
    mode: str
    case: Case
    transactions: tuple[tuple[tuple[str, str], ...], ...]
    is_upgraded: bool = False
    """Whether the metadata.version, and the features that follow from it, are still those of an older release."""


@cache
def clusters() -> tuple[ReleasedCluster, ...]:
    """Return every release that is modelled, in every mode (ZooKeeper, KRaft), oldest first."""
    versions = sorted(
        map(version_of_binaries, (*releases(), *PATCHES)), key=lambda version: (version.release, version.patch or 0)
    )
    return tuple(cluster for version in versions for mode in MODES if (cluster := _cluster(version, mode)) is not None)


OLD_METADATA = ("3.3-IV3", "3.5-IV2", "3.6-IV2")
"""A metadata.version before each one on which replication depends: 3.5-IV1 (fetches with broker epochs), 3.6-IV0 (no
leader epoch for a smaller ISR), 4.0-IV1 (eligible leader replicas)."""


@cache
def upgraded() -> tuple[ReleasedCluster, ...]:
    """Return the clusters with KRaft that have a new release, but still an old metadata.version, each kind once."""
    kinds = {cluster.case for cluster in clusters()}
    every: dict[Case, ReleasedCluster] = {}
    for cluster, metadata in itertools.product(clusters(), OLD_METADATA):
        old = _cluster(cluster.release, "KRaft", metadata) if cluster.mode == "KRaft" else None
        if old is not None and old.case not in kinds:
            every.setdefault(old.case, old)
    return tuple(every.values())


def _cluster(release: Version, mode: str, metadata: str | None = None) -> ReleasedCluster | None:
    """The cluster of a release in a mode, with the given metadata.version or its own; None if the release does not have
    the mode, refuses the metadata.version, or is not modelled."""
    try:
        settings = _settings(MODES[mode])
        versions = read_versions(settings, release.text, metadata)
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
    transactions = tuple(_transactions(release, mode, metadata)) if case.has_record_epochs else ()
    return ReleasedCluster(release, mode, case, transactions, is_upgraded=metadata is not None)


def _transactions(release: Version, mode: str, metadata: str | None) -> list[tuple[tuple[str, str], ...]]:
    """Return the distinct configurations of `transactions` for a release: the default, and with verification off."""
    every = (_settings(MODES[mode]), _settings(MODES[mode], VERIFICATION))
    possible = [read_transactions(settings, read_versions(settings, release.text, metadata)) for settings in every]
    searched = [transactions.entries for transactions in possible if transactions.why_unsearched is None]
    return list(dict.fromkeys(tuple(sorted(entries.items())) for entries in searched))


def _settings(*lines: tuple[str, str]) -> Settings:
    path = Path("a broker's file")
    properties = tuple(Property(key, value, path, number) for number, (key, value) in enumerate(lines, 1))
    return Settings([Section(Role.BROKER, path.name, properties)])


# --- Cells ---

MOST_REPLICAS = 5
RECENT = ("4.1", "4.3", "4.0", "3.7", "3.5", "3.3", "2.8")
"""The generations that are searched first; 4.1 and 4.3 differ only in acts of operators."""

USUAL_REPLICAS = 3
FIRST = {Topic.LOSS: 0, Topic.DEFECT: 1}

SIMPLE = (Topic.LOSS, Topic.POWER, Topic.POWER_OF_ALL, Topic.DISK, Topic.DUPLICATES, Topic.ORDER)
OF_BROKERS = (Topic.WRITES, Topic.READS)


@dataclass(frozen=True)
class Cell:
    """A question about a case (its settings); `key` names the question and the values of the settings it reads."""

    key: tuple[str, str]
    case: Case
    question: Question

    @property
    def order(self) -> tuple[bool, int, int, int, int]:
        """The key by which cells are sorted, the most important cell first. Cells with at most 3 replicas precede the
        others. Within both groups the order is: fewer unusual settings, more replicas, generation (in the order of
        RECENT, then the others), question (LOSS, DEFECT, then the others)."""
        case, replicas = self.case, self.case.replication_factor
        place = RECENT.index(case.protocol) if case.protocol in RECENT else len(RECENT)
        topic = FIRST.get(self.question.topic, len(FIRST))
        return replicas > USUAL_REPLICAS, self.unusual, USUAL_REPLICAS - replicas, place, topic

    @property
    def unusual(self) -> int:
        """How many of the settings that the question reads differ from those of a usual topic and producer."""
        case, read = self.case, read_by(self.question)
        return sum(
            name in read and is_unusual
            for name, is_unusual in (
                ("acks", case.acks == "0"),
                ("replication_factor", case.replication_factor != USUAL_REPLICAS),
                ("min_insync_replicas", case.min_insync_replicas >= case.replication_factor > 1),
                ("unclean_election", case.unclean_election),
                ("leader_rebalance", not case.leader_rebalance),
                ("flushes_every_message", case.flushes_every_message),
                ("retries", not case.retries),
                ("max_in_flight_requests", case.max_in_flight_requests == 1),
            )
        )


@cache
def cells() -> tuple[Cell, ...]:
    """All cells, the most important first."""
    every = (*clusters(), *upgraded())
    # Releases that replicate alike have the same cells.
    distinct = {
        (cluster.case, cluster.transactions, question): cluster for cluster in every for question in _questions(cluster)
    }
    by_key = {cell.key: cell for (*_, question), cluster in distinct.items() for cell in _varied(cluster, question)}
    for cluster in every:
        for transactions in cluster.transactions:
            cell = _cell(replace(cluster.case, transactions=transactions), Question(Topic.TRANSACTIONS))
            by_key[cell.key] = cell
    return tuple(sorted(by_key.values(), key=lambda cell: cell.order))


def _questions(cluster: ReleasedCluster) -> Iterator[Question]:
    """Yield the questions about a release, without the question TRANSACTIONS, which `cells` adds."""
    yield from map(Question, SIMPLE)
    yield from itertools.starmap(Question, itertools.product(OF_BROKERS, range(MOST_REPLICAS)))
    yield from (Question(Topic.SURVIVES, lost) for lost in range(1, MOST_REPLICAS + 1))
    transactions = next(iter(cluster.transactions), ())
    yield from defects_of(replace(cluster.case, unclean_election=True, transactions=transactions), cluster.release)


def _varied(cluster: ReleasedCluster, question: Question) -> Iterator[Cell]:
    """Yield a cell of the question for every combination of the settings that the question reads."""
    every = axes(cluster) | {"transactions": ((), *cluster.transactions)}
    read = [name for name in every if name in read_by(question)]
    for case in combinations(cluster.case, {name: every[name] for name in read}):
        if _is_possible(case, question) and not why_unasked(case, question):
            cell = _cell(case, question)
            # An upgraded cluster is like this only for a while: the usual settings and changes of one setting suffice.
            if not cluster.is_upgraded or cell.unusual <= 1:
                yield cell


def combinations(case: Case, values: Mapping[str, Sequence[Any]]) -> Iterator[Case]:
    """Yield a copy of the case for every combination of the `values`, which are listed by setting."""
    for chosen in itertools.product(*values.values()):
        yield replace(case, **dict[str, Any](zip(values, chosen, strict=True)))


def axes(cluster: ReleasedCluster) -> dict[str, tuple[Any, ...]]:
    """Return the settings that vary in the atlas, each with its values in this release."""
    either = (True, False)
    in_flight = (1,) if dict(cluster.case.numbering)["remembered_batches"] == 1 else (1, 5)
    return {
        "acks": ("all", "1", "0"),
        "replication_factor": (USUAL_REPLICAS,) if cluster.is_upgraded else tuple(range(1, MOST_REPLICAS + 1)),
        "min_insync_replicas": tuple(range(1, MOST_REPLICAS + 1)),
        "unclean_election": either,
        "leader_rebalance": either,
        "flushes_every_message": either,
        "enable_idempotence": either,
        "retries": either,
        "max_in_flight_requests": in_flight,
        "transactions": cluster.transactions,
    }


def _is_possible(case: Case, question: Question) -> bool:
    """Whether Kafka accepts the settings together, and the question makes sense with them."""
    if case.min_insync_replicas > case.replication_factor:
        return False
    if question.topic is Topic.SURVIVES:
        return question.number in losses_to_survive(case)
    if question.number >= case.replication_factor:
        return False
    if case.retries and case.acks == "0" and "retries" in read_by(question):
        return False
    is_idempotent = case.enable_idempotence and "enable_idempotence" in read_by(question)
    return not is_idempotent or (case.acks == "all" and case.retries and case.has_record_epochs)


def _cell(case: Case, question: Question) -> Cell:
    case, question = asked_instead(case, question)
    return Cell(key_of(case, question), case, question)
