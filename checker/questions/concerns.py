"""Which known failures concern a case, and which of its settings each question reads.

In:  a `Case`, a release, and the library of known failures (models/kafka/failures).
Out: the questions to ask, and the names of settings. No model is loaded for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from isrcheck.checker.kafka_settings.releases import Version
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.finding import Finding
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.questions.rules import GENERATIONS, asked_instead
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import NO_RELEASE, Failure, History, failures, named, pairs

KAFKA, LIVENESS, SCENARIOS = "kafka", "kafka_liveness", "kafka_scenarios"
TRANSACTIONS, EXACTLY_ONCE = "transactions", "exactly_once"

LOST = "acked_not_lost"
NEEDS_ALL_ACKS = (LOST, "tolerates_claimed_failures")
"""Promises about acknowledged records: there are none without acks=all."""

LOSSES = ("power_losses", "disk_losses")
"""The budgets of faults that lose data: what they break is said beside the answer."""

BESIDE_THE_CLUSTER = ("DELETION_IS_ANSWERED", "DIVERGING_ANSWER_IS_SPLIT", "FETCH_IS_SPLIT", "dropped_metadata")
"""The entries of steps that no generation has by itself: the answer to DeleteRecords, a truncation or a fetch in two
steps, metadata that a broker fails to apply. No setting of a cluster decides whether they happen, so a failure that
needs one of them is no question about a cluster; `check failures` searches it."""

GENERATION = ("protocol", "switches")
TOPIC = (*GENERATION, "acks", "replication_factor", "min_insync_replicas")
PRODUCER = ("enable_idempotence", "retries", "max_in_flight_requests", "numbering")
READ = {
    Topic.LOSS: (*TOPIC, "unclean_election", "leader_rebalance"),
    Topic.POWER: (*TOPIC, "flushes_every_message"),
    Topic.POWER_OF_ALL: (*TOPIC, "flushes_every_message"),
    Topic.DISK: TOPIC,
    Topic.DUPLICATES: (*TOPIC, *PRODUCER),
    Topic.ORDER: (*TOPIC, *PRODUCER),
    Topic.TRANSACTIONS: ("transactions",),
    Topic.WRITES: (*TOPIC, "unclean_election"),
    Topic.READS: (*TOPIC, "unclean_election"),
    Topic.SURVIVES: (*GENERATION, "replication_factor", "min_insync_replicas"),
}
"""The settings that the searches of a question read: the others make no difference."""


def is_in(failure: Failure, version: Version, case: Case | None = None) -> bool:
    """Whether a release has a failure. A failure that depends on the configuration alone is in every release.

    With a `case`, whether the release has it in this cluster: its protocol may be older, and its controller another.
    """
    if failure.since == NO_RELEASE or (failure.since and not version.has_patch(failure.since)):
        return False
    if case is not None and _lacks(case, failure):
        return False
    return not version.has_repair(failure.repaired) or (
        case is not None and _has_one_of(case, failure, failure.remains_with)
    )


def _lacks(case: Case, failure: Failure) -> bool:
    """Whether a cluster does not have what a failure needs: a generation that is new enough, or a feature."""
    first = failure.first_generation
    is_before = bool(first) and GENERATIONS.index(case.protocol) < GENERATIONS.index(first)
    return is_before or (bool(failure.needs) and not _has_one_of(case, failure, failure.needs))


def _has_one_of(case: Case, failure: Failure, entries: Sequence[str]) -> bool:
    """Whether a cluster has one of these entries: of the model `transactions`, if that shows the failure."""
    if failure.history is not None and failure.history.model == TRANSACTIONS:
        of_case = dict(case.transactions)
    else:
        of_case = {"protocol": case.protocol, **dict(case.switches), "ELR": "on" if case.has_elr else "off"}
    return any(of_case.get(name) == value for one in entries for name, value in pairs(one).items())


def defects_of(case: Case, version: Version) -> list[Question]:
    """The known failures of a release that concern the mechanisms of a case, in the order of their numbers."""
    return [
        Question(Topic.DEFECT, name=one.name) for one in failures() if is_in(one, version, case) and concerns(case, one)
    ]


def loses_data(failure: Failure) -> bool:
    """Whether a failure needs a fault that loses data (power, a disk), which Kafka alone does not survive."""
    return any(name in _entries(failure) for name in LOSSES)


def concerns(case: Case, failure: Failure) -> bool:
    """Whether a known failure is about mechanisms of the case. One that the settings alone permit is not a defect."""
    history = failure.history
    if not failure.since:
        return False
    if history is not None and history.model == TRANSACTIONS:
        return bool(case.transactions)
    if case.replication_factor == 1 and not _is_of_clients(history):
        return False  # nothing is replicated, and nobody else can be elected
    if history is None:
        return True
    entries = _entries(failure)
    if not entries.keys().isdisjoint(BESIDE_THE_CLUSTER):
        return False
    return (
        (history.property_name not in NEEDS_ALL_ACKS or case.acks == "all")
        and ("enable_idempotence" not in entries or (case.enable_idempotence and case.has_record_epochs))
        and ("transactions" not in entries or (bool(case.transactions) and case.acks == "all"))
        and ("unclean_elections" not in entries or case.unclean_election)
    )


def _is_of_clients(history: History | None) -> bool:
    """Whether a failure is of producers alone, whatever is replicated."""
    return history is not None and history.model == EXACTLY_ONCE


def is_exposed(failure: Failure, found: Finding) -> bool:
    """Whether a finding shows that the case is exposed to a failure. Where a failure breaks a promise, and the settings
    make none, it adds nothing to what they permit."""
    history = failure.history
    is_promised = found.word is not Word.PERMITTED or (history is not None and history.verdict == Word.PERMITTED.value)
    return found.fails and is_promised


def is_open(failure: Failure, found: Finding) -> bool:
    """Whether a finding leaves open if the case is exposed: also if nothing was found in fewer steps than the failure
    takes, which say nothing about it."""
    if found.word is not Word.NO_VIOLATION or failure.history is None:
        return not found.is_known
    return found.least_depth is not None and found.least_depth < failure.history.depth


def losses_to_survive(case: Case) -> range:
    """The numbers of lost brokers to ask about: up to all that have to have an acknowledged record. Without acks=all
    nothing is promised that could survive."""
    copies = min(case.min_insync_replicas, case.replication_factor) if case.acks == "all" else 0
    return range(1, copies + 1)


def _may_be_overtaken(case: Case) -> bool:
    """Whether a request that is sent again can come after a later one, and nobody notices."""
    return case.retries and case.acks != "0" and case.max_in_flight_requests > 1 and not case.enable_idempotence


def why_unasked(case: Case, question: Question) -> str:
    """Why a question is answered without a search: because no model has what is asked; empty if it takes one."""
    if question.topic is Topic.TRANSACTIONS and not case.transactions:
        return "no producer has transactions"
    if question.topic in (Topic.DUPLICATES, Topic.ORDER) and case.enable_idempotence and not case.has_record_epochs:
        return "an idempotent producer needs records in the format of 0.11"
    if question.topic is Topic.ORDER and case.replication_factor == 1 and _may_be_overtaken(case):
        return "with one replica the model refuses no request, and so none is overtaken; in Kafka one can be"
    if question.topic is not Topic.DEFECT:
        return ""
    failure = named(question.name)
    if failure.history is None:
        return failure.why_not
    return "" if concerns(case, failure) else f"not with these settings: {failure.title}"


def _entries(failure: Failure) -> dict[str, str]:
    return {} if failure.history is None else pairs(failure.history.configuration)


@cache
def read_by(question: Question) -> tuple[str, ...]:
    """The names of the settings of a `Case` that the searches of a question read."""
    if question.topic is not Topic.DEFECT:
        return READ[question.topic]
    failure = named(question.name)
    history = failure.history
    if history is None:
        return ()
    if history.model == TRANSACTIONS:
        return ("transactions",)
    if history.model not in (KAFKA, LIVENESS):
        return ()
    bounds = [history.configuration, *(one.configuration for one in failure.bounds)]
    entries = {name for text in bounds for name in pairs(text)}
    return (
        *TOPIC,
        *(["flushes_every_message"] if loses_data(failure) else []),
        *(["unclean_election"] if "unclean_elections" in entries else []),
        *(["leader_rebalance"] if "preferred_elections" in entries else []),
        *(PRODUCER if "enable_idempotence" in entries else []),
        *(["transactions"] if "transactions" in entries else []),
    )


def key_of(case: Case, question: Question) -> tuple[str, str]:
    """A question with the settings that it reads: cases with the same key have the same answer.

    The first part is the question with what belongs to a release, the second one has the values of the other settings,
    in the order of `settings_of_topic`.
    """
    case, question = asked_instead(case, question)
    read = read_by(question)
    released = (f"{name}={_spelled(getattr(case, name))}" for name in RELEASED if name in read)
    settings = (_spelled(getattr(case, name)) for name in settings_of_topic(question))
    return " | ".join((question.text, *released)), " ".join(settings)


RELEASED = (*GENERATION, "numbering", "transactions")
"""The settings that belong to a release."""


def settings_of_topic(question: Question) -> tuple[str, ...]:
    """The other settings that a question reads."""
    return tuple(name for name in read_by(question) if name not in RELEASED)


def _spelled(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(f"{name}:{one}" for name, one in value) or "-"
    return str(int(value)) if isinstance(value, bool) else str(value)
