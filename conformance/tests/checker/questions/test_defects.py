"""Which known failures a case is exposed to."""

from __future__ import annotations

import pytest

from conformance.tests.sampling import exhaustive, recorded
from isrcheck.checker.kafka_settings.releases import version_of_binaries
from isrcheck.checker.outcome.verdict import Word
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.concerns import KAFKA, LIVENESS, TRANSACTIONS, defects_of, loses_data, named
from isrcheck.checker.questions.defects import bounds_for, searches_of_defect
from isrcheck.checker.questions.finding import Source
from isrcheck.checker.questions.generations import mistakes
from isrcheck.checker.questions.history import trace_of
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.models.kafka.failures.catalogue import NO_RELEASE, Failure, failures, pairs

DURABLE = {"min_insync_replicas": 2}
TWO = {"replication_factor": 2, "min_insync_replicas": 1}
KIP_360 = (("CLIENT_BUMPS_EPOCH", 1), ("PRODUCER_STATE_KEPT", 1), ("UNKNOWN_PID_POLICY", 1), ("remembered_batches", 5))


def names(case: Case, release: str) -> list[str]:
    return [one.name for one in defects_of(case, version_of_binaries(release))]


def exposed(ask, case: Case, name: str):
    return ask(case, Question(Topic.DEFECT, name=name))


def test_the_failures_of_a_release_are_those_of_the_mechanisms_in_use():
    assert names(Case("4.1", **DURABLE), "4.1") == [
        "unknown_producer_out_of_order",
        "duplicate_in_a_new_epoch",
        "snapshot_forgets_batches",
        "missed_demotion",
        "stale_record",
        "new_incarnation",
    ]
    assert names(Case("4.1", acks="1", enable_idempotence=False), "4.1") == []
    assert "truncation_is_not_noticed" in names(Case("4.1", unclean_election=True), "4.1")
    with_transactions = names(Case("2.4", transactions=(("protocol", "0.11"),), **DURABLE), "2.4.0")
    assert "late_record_reopens_the_transaction" in with_transactions
    assert not any(one.startswith("late_record") for one in names(Case("2.4", **DURABLE), "2.4.0"))


def test_failures_that_need_a_loss_of_data_are_said_beside():
    beside = [name for name in names(Case("3.7", **DURABLE), "3.9") if loses_data(named(name))]
    assert beside == ["power_loss_within_an_epoch", "last_replica_standing"]


def test_every_failure_has_bounds_where_it_is_asked_or_is_known_to_have_none():
    """The bounds of a failure in the other families: without them the answer says so."""
    families = {"2.4": "2.6", "2.8": "3.9", "3.5": "3.5", "3.7": "3.9", "4.1": "4.1"}
    unknown = set()
    for protocol, release in families.items():
        case = Case(protocol, unclean_election=True, transactions=(("protocol", "2.5"),), **DURABLE)
        for question in defects_of(case, version_of_binaries(release)):
            failure = named(question.name)
            if failure.history is not None and failure.history.model == KAFKA and not bounds_for(failure, protocol):
                unknown.add((protocol, failure.name))
    assert unknown == {
        ("2.4", "last_replica_standing"),
        ("2.8", "last_replica_standing"),
        ("2.8", "stale_record"),
        ("3.5", "stale_diverging_response"),
        ("3.7", "stale_diverging_response"),
    }
    found = searches_of_defect(Case("3.7", **DURABLE), "stale_diverging_response")
    assert found == "its bounds in generation 3.7 are not known"


def test_what_no_model_expresses_is_said(ask):
    found = exposed(ask, Case("2.1"), "fetch_session_without_epoch")
    assert found.word is Word.NOT_APPLICABLE
    assert found.note.startswith("the model has no fetch sessions")


def test_without_rebalancing_a_missed_demotion_does_not_happen(ask):
    found = exposed(ask, Case("2.1", **DURABLE), "missed_demotion")
    assert (found.word, found.depth, found.source) == (Word.VIOLATED, 11, Source.SEARCHED)
    assert trace_of(found.history).length == 11
    still = exposed(ask, Case("2.1", leader_rebalance=False, **DURABLE), "missed_demotion")
    assert [(part.word.value, part.reach) for part in still.parts] == [("HOLDS", "to the end")]


def test_a_stale_record_is_found_in_4_1(ask):
    found = exposed(ask, Case("4.1", **DURABLE), "stale_record")
    assert (found.word, found.depth) == (Word.VIOLATED, 12)


@pytest.mark.parametrize(
    ("protocol", "settings", "name", "word", "depth"),
    [
        recorded(("3.7", DURABLE, "missed_demotion", Word.VIOLATED, 12)),
        recorded(("4.1", DURABLE, "missed_demotion", Word.VIOLATED, 12)),
        recorded(("3.7", DURABLE | {"leader_rebalance": False}, "missed_demotion", Word.HOLDS, None)),
        recorded(("2.8", DURABLE, "missed_demotion", Word.VIOLATED, 12)),
        recorded(("3.7", DURABLE, "stale_record", Word.VIOLATED, 12)),
        recorded(("3.7", {"min_insync_replicas": 3}, "stale_record", Word.HOLDS, None)),
        exhaustive(("2.8", TWO | {"numbering": KIP_360}, "snapshot_forgets_batches", Word.VIOLATED, 8)),
        exhaustive(("3.3", TWO, "snapshot_forgets_batches", Word.VIOLATED, 7)),
        exhaustive(("3.7", TWO | {"unclean_election": True}, "truncation_is_not_noticed", Word.VIOLATED, 14)),
        exhaustive(("2.8", TWO | {"unclean_election": True}, "truncation_is_not_noticed", Word.VIOLATED, 10)),
        exhaustive(("2.4", TWO | {"numbering": KIP_360}, "unknown_producer_out_of_order", Word.VIOLATED, 4)),
        exhaustive(("2.4", TWO | {"numbering": KIP_360}, "duplicate_in_a_new_epoch", Word.VIOLATED, 8)),
        recorded(("2.8", DURABLE, "power_loss_within_an_epoch", Word.PERMITTED, 15)),
        recorded(("2.8", DURABLE, "high_watermark_of_a_diverging_response", Word.VIOLATED, 11)),
    ],
)
def test_failures_in_other_generations(ask, protocol, settings, name, word, depth):
    found = exposed(ask, Case(protocol, **settings), name)
    assert (found.word, found.depth) == (word, depth)


def own_case(failure: Failure) -> Case:
    """The case that the history of a failure is about."""
    history = failure.history
    assert history is not None
    entries = pairs(history.configuration)
    own = {one.switch for one in mistakes(failure.name)}
    transactions = ()
    if history.model == TRANSACTIONS or "transactions" in entries:
        transactions = (("protocol", history.protocol if history.model == TRANSACTIONS else "2.5"),)
    return Case(
        "2.8" if history.model not in (KAFKA, LIVENESS) else history.protocol,
        tuple(sorted((name, text) for name, text in entries.items() if name in own)),
        replication_factor=int(entries.get("replicas", 3)),
        min_insync_replicas=int(entries.get("min_insync_replicas", 2)),
        unclean_election="unclean_elections" in entries,
        enable_idempotence=entries.get("enable_idempotence") == "on",
        transactions=transactions,
    )


SHORTER = {"stale_diverging_response": 21}
"""Without the other mistakes of its generation, this failure is found two steps earlier."""


@pytest.mark.parametrize(
    "name", [recorded(one.name) for one in failures() if one.history and one.since not in ("", NO_RELEASE)]
)
def test_every_failure_is_found_in_its_own_generation_alone(ask, name):
    failure = named(name)
    found = exposed(ask, own_case(failure), name)
    assert found.word.value == failure.history.verdict
    assert found.depth == SHORTER.get(name, failure.history.depth)
