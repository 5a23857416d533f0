"""What the pages of the atlas show: three tables, each with the cases that its settings make.

In:  the clusters of the known releases, and the record, as a function from a case and a question to a finding.
Out: a `Sheet` for topics, for producers and for transactions.

Each question is asked where the settings that it reads are varied: what a producer's retries do makes no difference to
what an election loses, so the cases of one table do not multiply those of another.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from isrcheck.checker.atlas.cells import axes
from isrcheck.checker.atlas.clusters import ReleasedCluster
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.concerns import PRODUCER, concerns, is_in, losses_to_survive, read_by
from isrcheck.checker.questions.finding import Finding
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.models.kafka.failures.catalogue import Failure, failures

Answers = Callable[[Case, Question], Finding | None]
"""The record: the finding of a question about a case; None if it is not recorded."""


@dataclass(frozen=True)
class Column:
    """A column of answers: its topic, its heading, what it asks in full, and settings that it changes.

    The columns that decide make the answer of a row as a whole.
    """

    topic: Topic
    heading: str
    asks: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    decides: bool = False


@dataclass(frozen=True)
class Kind:
    """A table: the name of its file, its title, what it is about, the settings that vary, and its columns.

    `fails` says in a few words what is wrong where the settings permit a failure.
    """

    file: str
    title: str
    about: str
    fails: str
    settings: tuple[str, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Line:
    """A case of these releases; for each column the findings of its questions, None for one that is not recorded."""

    releases: str
    case: Case
    findings: tuple[Mapping[Question, Finding | None], ...]


@dataclass(frozen=True)
class Sheet:
    """A table with its cases, the newest releases first."""

    kind: Kind
    lines: Sequence[Line]


_DEFECTS = Column(
    Topic.DEFECT, "Known defects", "Known defects of the release to which the case is exposed", decides=True
)

TOPICS = Kind(
    "index.html",
    "Topics",
    "What a topic's settings promise about acknowledged records, with all known defects repaired; to which known"
    " defects of its release it is exposed; and whether it works while brokers are down.",
    "Can lose records",
    ("acks", "replication_factor", "min_insync_replicas", "unclean_election", "leader_rebalance"),
    (
        Column(
            Topic.LOSS, "Acknowledged records", "Can an acknowledged record be lost by these settings?", decides=True
        ),
        _DEFECTS,
        Column(Topic.POWER, "One loss of power", "One broker loses power, and what it has not flushed"),
        Column(
            Topic.POWER,
            "Power loss, all flushed",
            "One broker loses power, with log.flush.interval.messages=1",
            {"flushes_every_message": True},
        ),
        Column(Topic.POWER_OF_ALL, "Power loss of all", "All brokers lose power, and what they have not flushed"),
        Column(Topic.DISK, "One lost disk", "One broker comes back with an empty disk"),
        Column(
            Topic.SURVIVES,
            "Brokers lost",
            "How many brokers can be lost for good, while only min.insync.replicas of them are in sync?",
            decides=True,
        ),
        Column(Topic.WRITES, "Writes", "With how many brokers down is a write acknowledged?"),
        Column(Topic.READS, "Reads", "With how many brokers down is a committed record read?"),
    ),
)
PRODUCERS = Kind(
    "producers.html",
    "Producers",
    "What a producer's resends do: a record that appears twice, or records in another order than they were sent.",
    "Twice or out of order",
    (
        *("acks", "enable_idempotence", "retries", "max_in_flight_requests"),
        *("replication_factor", "min_insync_replicas"),
    ),
    (
        Column(Topic.DUPLICATES, "Duplicates", "Can a record appear twice?", decides=True),
        Column(Topic.ORDER, "Order", "Can records change their order?", decides=True),
        _DEFECTS,
    ),
)
TRANSACTIONS = Kind(
    "transactions.html",
    "Transactions",
    "What is promised about transactions over several partitions, and the known defects of their protocol.",
    "Breaks a promise",
    ("transactions", "replication_factor", "min_insync_replicas"),
    (
        Column(Topic.TRANSACTIONS, "Transactions", "Does every promise about transactions hold?", decides=True),
        _DEFECTS,
    ),
)
KINDS = (TOPICS, PRODUCERS, TRANSACTIONS)


def sheets(clusters: Sequence[ReleasedCluster], answers: Answers) -> list[Sheet]:
    """The tables, each with its lines."""
    return [Sheet(kind, list(_lines(kind, clusters, answers))) for kind in KINDS]


def _lines(kind: Kind, clusters: Sequence[ReleasedCluster], answers: Answers) -> Iterator[Line]:
    for name, cluster in _grouped(kind, clusters):
        known = _known(kind, cluster)
        every = axes(cluster)
        values = {name: every[name] for name in kind.settings}
        for chosen in itertools.product(*values.values()):
            changed: dict[str, Any] = dict(zip(values, chosen, strict=True))
            case = replace(cluster.case, **changed)
            if _is_possible(kind, case):
                yield Line(name, case, tuple(_findings(one, case, known, answers) for one in kind.columns))


def _findings(
    column: Column, case: Case, known: Sequence[Failure], answers: Answers
) -> Mapping[Question, Finding | None]:
    case = replace(case, **column.changes)
    if column.topic is Topic.DEFECT:
        asked = [_about(one) for one in known if concerns(case, one)]
    elif column.topic in (Topic.WRITES, Topic.READS):
        asked = [Question(column.topic, number) for number in range(case.replication_factor)]
    elif column.topic is Topic.SURVIVES:
        asked = [Question(column.topic, lost) for lost in losses_to_survive(case)]
    else:
        asked = [Question(column.topic)]
    return {question: answers(case, question) for question in asked}


def _known(kind: Kind, cluster: ReleasedCluster) -> list[Failure]:
    """The known failures of a release whose settings vary in a table."""
    return [one for one in failures() if is_in(one, cluster.release, cluster.case) and sheet_of(_about(one)) is kind]


def _about(failure: Failure) -> Question:
    return Question(Topic.DEFECT, name=failure.name)


@cache
def sheet_of(question: Question) -> Kind:
    """The table in which the settings vary that a question about a known failure reads."""
    read = read_by(question)
    if "transactions" in read:
        return TRANSACTIONS
    return PRODUCERS if set(PRODUCER) & set(read) else TOPICS


def _is_possible(kind: Kind, case: Case) -> bool:
    """Whether Kafka accepts the settings of a table together, a write can be acknowledged, and a resend can happen."""
    if case.min_insync_replicas > case.replication_factor:
        return False
    if kind is not PRODUCERS:
        return True
    if case.enable_idempotence:
        return case.acks == "all" and case.retries and case.has_record_epochs
    return not (case.acks == "0" and case.retries)


# ------------------------------------------------------------------------------------------------------------ releases


def _grouped(kind: Kind, clusters: Sequence[ReleasedCluster]) -> list[tuple[str, ReleasedCluster]]:
    """Releases that do the same and have the same known defects, as one: its name, and the newest one of it.

    The newest releases come first.
    """
    groups: dict[object, list[ReleasedCluster]] = {}
    for cluster in reversed(clusters):
        if kind is TRANSACTIONS and not cluster.transactions:
            continue
        known = tuple(map(_about, _known(kind, cluster)))
        case = cluster.case if kind is PRODUCERS else replace(cluster.case, numbering=())
        if kind is TRANSACTIONS:
            case = replace(case, protocol="", switches=()) if not any(map(_reads_topic, known)) else case
        groups.setdefault((case, cluster.transactions if kind is TRANSACTIONS else (), known), []).append(cluster)
    return [(_name(group, clusters), group[0]) for group in groups.values()]


def _reads_topic(question: Question) -> bool:
    return "protocol" in read_by(question)


def _name(group: Sequence[ReleasedCluster], clusters: Sequence[ReleasedCluster]) -> str:
    """The releases of a group, from the oldest to the newest, for each mode. A range leaves out no release of its mode
    between its ends, and a mode is named if releases of the range have another one as well."""
    modes: dict[str, list[str]] = {}
    is_named = False
    for mode in dict.fromkeys(one.mode for one in group):
        of_mode = [one for one in clusters if one.mode == mode]
        runs = itertools.groupby(of_mode, lambda one: any(one is other for other in group))
        chosen = [[one.release.text for one in run] for is_in_group, run in runs if is_in_group]
        modes.setdefault(", ".join(map(_range, chosen)), []).append(mode)
        others = {one.release.text for one in clusters if one.mode != mode}
        is_named = is_named or not others.isdisjoint(itertools.chain(*chosen))
    return "; ".join(f"{shown} {some[0]}" if is_named and len(some) == 1 else shown for shown, some in modes.items())


def _range(releases: Sequence[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} \u2013 {releases[-1]}"
