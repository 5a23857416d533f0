"""Which known failures concern a case, and which of its settings each question reads.

In:  a `Case`, a release, and the library of known failures (models/kafka/failures).
Out: the questions to ask, and the names of settings. No model is loaded for it.
"""

from __future__ import annotations

from functools import cache

from isrcheck.checker.kafka_settings.releases import Version, version_of_binaries
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.questions.rules import asked_instead
from isrcheck.models.kafka.failures.catalogue import NO_RELEASE, Failure, failures, pairs

KAFKA, LIVENESS, TRANSACTIONS = "kafka", "kafka_liveness", "transactions"

LOST = "acked_not_lost"
NEEDS_ALL_ACKS = (LOST, "tolerates_claimed_failures")
"""Promises about acknowledged records: there are none without acks=all."""

LOSSES = ("power_losses", "disk_losses")
"""The budgets of faults that lose data: what they break is said beside the answer."""

GENERATION = ("protocol", "switches")
TOPIC = (*GENERATION, "acks", "replication_factor", "min_insync_replicas")
PRODUCER = ("enable_idempotence", "retries", "max_in_flight_requests", "numbering")
READ = {
    Topic.LOSS: (*TOPIC, "unclean_election", "leader_rebalance"),
    Topic.POWER: (*TOPIC, "flushes_every_message"),
    Topic.DISK: TOPIC,
    Topic.DUPLICATES: (*TOPIC, *PRODUCER),
    Topic.ORDER: (*TOPIC, *PRODUCER),
    Topic.TRANSACTIONS: ("transactions",),
    Topic.WRITES: (*TOPIC, "unclean_election"),
    Topic.READS: (*TOPIC, "unclean_election"),
}
"""The settings that the searches of a question read: the others make no difference."""


@cache
def named(name: str) -> Failure:
    """The known failure with this name. Raises StopIteration if there is none."""
    return next(one for one in failures() if one.name == name)


def is_in(failure: Failure, version: Version) -> bool:
    """Whether a release has a failure. A failure that depends on the configuration alone is in every release."""
    if failure.since == NO_RELEASE or (failure.since and not version.has_patch(failure.since)):
        return False
    return not any(_has_repair(version, release, failure.repaired[-1]) for release in failure.repaired)


def _has_repair(version: Version, release: str, last: str) -> bool:
    """Whether the repair of a release is in a version: of the same branch, or of any later one if it is the last."""
    is_of_branch = release == last or version_of_binaries(release).release == version.release
    return is_of_branch and version.has_patch(release)


def defects_of(case: Case, version: Version) -> list[Question]:
    """The known failures of a release that concern the mechanisms of a case, in the order of their numbers."""
    return [Question(Topic.DEFECT, name=one.name) for one in failures() if is_in(one, version) and concerns(case, one)]


def loses_data(failure: Failure) -> bool:
    """Whether a failure needs a fault that loses data (power, a disk), which Kafka alone does not survive."""
    return any(name in _entries(failure) for name in LOSSES)


def concerns(case: Case, failure: Failure) -> bool:
    """Whether a known failure is about mechanisms of the case. One that the settings alone permit is not a defect."""
    history = failure.history
    if not failure.since:
        return False
    if history is None:
        return True
    if history.model == TRANSACTIONS:
        return bool(case.transactions)
    entries = _entries(failure)
    return (
        (history.property_name not in NEEDS_ALL_ACKS or case.acks == "all")
        and ("enable_idempotence" not in entries or (case.enable_idempotence and case.has_record_epochs))
        and ("transactions" not in entries or (bool(case.transactions) and case.acks == "all"))
        and ("unclean_elections" not in entries or case.unclean_election)
    )


def _entries(failure: Failure) -> dict[str, str]:
    return {} if failure.history is None else pairs(failure.history.configuration)


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


def key_of(case: Case, question: Question) -> str:
    """A question with the settings that it reads, as one line: cases with the same line have the same answer."""
    case, question = asked_instead(case, question)
    settings = (f"{name}={_spelled(getattr(case, name))}" for name in sorted(read_by(question)))
    return " ".join((question.text.replace(" ", "_"), *settings))


def _spelled(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(f"{name}:{one}" for name, one in value) or "-"
    return str(int(value)) if isinstance(value, bool) else str(value)
