"""The cells of the atlas: each question with every combination of the settings that it reads.

In:  the clusters of the known releases.
Out: `Cell`s, the most important first. Cases that a rule answers by the same search share a cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from isrcheck.checker.atlas.clusters import ReleasedCluster, clusters
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.concerns import defects_of, key_of, read_by, why_unasked
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.questions.rules import asked_instead

MOST_REPLICAS = 5
RECENT = ("4.1", "3.7", "3.5", "3.3", "2.8")
"""The generations that are searched first."""

USUAL_REPLICAS = 3
FIRST = {Topic.LOSS: 0, Topic.DEFECT: 1}

SIMPLE = (Topic.LOSS, Topic.POWER, Topic.DISK, Topic.DUPLICATES, Topic.ORDER)
WITH_NUMBER = (Topic.WRITES, Topic.READS)


@dataclass(frozen=True)
class Cell:
    """A question about a case; `key` names the settings that it reads."""

    key: tuple[str, str]
    case: Case
    question: Question

    @property
    def order(self) -> tuple[bool, int, int, int]:
        """The sort key: three replicas first, then the gravest questions, then recent generations."""
        replicas = self.case.replication_factor
        place = RECENT.index(self.case.protocol) if self.case.protocol in RECENT else len(RECENT)
        return replicas > USUAL_REPLICAS, USUAL_REPLICAS - replicas, FIRST.get(self.question.topic, len(FIRST)), place


def cells() -> list[Cell]:
    """All cells, the most important first."""
    found = {cell.key: cell for cluster in clusters() for cell in _of_cluster(cluster)}
    return sorted(found.values(), key=lambda cell: cell.order)


def _of_cluster(cluster: ReleasedCluster) -> Iterator[Cell]:
    for topic in SIMPLE:
        yield from _varied(cluster, Question(topic))
    for topic, number in itertools.product(WITH_NUMBER, range(MOST_REPLICAS)):
        yield from _varied(cluster, Question(topic, number))
    for each in cluster.transactions:
        yield _cell(replace(cluster.case, transactions=each), Question(Topic.TRANSACTIONS))
    transactions = next(iter(cluster.transactions), ())
    widest = replace(cluster.case, unclean_election=True, transactions=transactions)
    for question in defects_of(widest, cluster.release):
        yield from _varied(cluster, question)


def _varied(cluster: ReleasedCluster, question: Question) -> Iterator[Cell]:
    """The question with every combination of the settings that it reads."""
    read = read_by(question)
    values = {name: found for name, found in _values(cluster).items() if name in read}
    for chosen in itertools.product(*values.values()):
        changed: dict[str, Any] = dict(zip(values, chosen, strict=True))
        case = replace(cluster.case, **changed)
        if _is_possible(case, question) and not why_unasked(case, question):
            yield _cell(case, question)


def _values(cluster: ReleasedCluster) -> dict[str, tuple[Any, ...]]:
    either = (False, True)
    in_flight = (1,) if dict(cluster.case.numbering)["remembered_batches"] == 1 else (1, 5)
    return {
        "acks": ("all", "1", "0"),
        "replication_factor": tuple(range(1, MOST_REPLICAS + 1)),
        "min_insync_replicas": tuple(range(1, MOST_REPLICAS + 1)),
        "unclean_election": either,
        "leader_rebalance": either,
        "flushes_every_message": either,
        "enable_idempotence": either,
        "retries": either,
        "max_in_flight_requests": in_flight,
        "transactions": ((), *cluster.transactions),
    }


def _is_possible(case: Case, question: Question) -> bool:
    """Whether Kafka accepts the settings together, and whether the question makes sense for them."""
    if case.min_insync_replicas > case.replication_factor or question.number >= case.replication_factor:
        return False
    if case.retries and case.acks == "0" and "retries" in read_by(question):
        return False
    return not (
        "enable_idempotence" in read_by(question)
        and case.enable_idempotence
        and not (case.acks == "all" and case.retries and case.has_record_epochs)
    )


def _cell(case: Case, question: Question) -> Cell:
    case, question = asked_instead(case, question)
    return Cell(key_of(case, question), case, question)
