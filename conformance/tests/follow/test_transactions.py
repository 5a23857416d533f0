"""Recorded runs of the system of transactions are behaviours of the model; other runs are rejected with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.sampling import exhaustive
from conformance.tests.support.follow import (
    bridged,
    first_rejection,
    followed,
    lines_of,
    only_follows,
    recorded,
    table,
)
from isrcheck.conformance.cluster.configuration.bugs import TransactionBug
from isrcheck.conformance.follow.format import events as reading
from isrcheck.conformance.follow.format.events import MODELS
from isrcheck.conformance.follow.recorder.transactions import ModelGap, TransactionsPlan
from isrcheck.conformance.unseen_bugs import ALLOWED_IN_RUNS
from isrcheck.models import registry
from isrcheck.models.messages import UsageError
from isrcheck.models.transactions.generations import MODEL

pytestmark = pytest.mark.sampled

Given = dict[str, str]

SWITCHED = {
    "0.11": {"UNKNOWN_PID_ACCEPTED": "on"},
    "2.5": {"EPOCH_BUMP_BY_PRODUCER": "off"},
    "3.6": {"PRODUCER_STATE_EXPIRES_EARLY": "on"},
    "3.7": {"UNKNOWN_PID_ACCEPTED": "off", "TXN_VERIFY": "OFF"},
    "4.0": {"ONGOING_PER_EPOCH": "off"},
    "4.1": {"FENCE_RAISES_EPOCH_TWICE": "on"},
    "4.2": {"MARKER_EPOCH_STRICT": "on", "EQUAL_MARKER_EPOCH_IS_RETRY": "off"},
}
"""For each generation, switches beside its own with which runs are recorded, too."""


def events_of(text: str) -> list[dict[str, Any]]:
    return [line for line in lines_of(text) if "number" in line]


@pytest.mark.parametrize("protocol", MODEL.protocols)
def test_recorded_runs_follow_the_model(tmp_path: Path, protocol: str) -> None:
    text = recorded(TransactionsPlan(protocol, 1, events=300))
    only_follows(tmp_path, text, 300)
    taken = {line["action"] for line in events_of(text)}
    assert None not in taken
    assert len(taken) == TAKEN[protocol]


TAKEN = {"0.11": 25, "2.5": 23, "3.6": 27, "3.7": 24, "3.8": 24, "4.0": 25, "4.1": 25, "4.2": 25, "4.3": 25, "4.4": 25}
"""How many actions of the model a run of each generation has."""


@pytest.mark.parametrize("protocol", ["3.6", "4.2", *map(exhaustive, ("0.11", "2.5", "3.7", "4.0", "4.1"))])
def test_runs_with_other_switches_follow_too(tmp_path: Path, protocol: str) -> None:
    only_follows(tmp_path, recorded(TransactionsPlan(protocol, 0, events=370, given=SWITCHED[protocol])), 370)


def test_the_same_plan_gives_the_same_log_and_missing_events_are_bridged(tmp_path: Path) -> None:
    plan = TransactionsPlan("3.7", 3, events=150, missing=0.03, unseen=0.3, untold=0.3)
    text = recorded(plan)
    assert recorded(plan) == text
    bridged(tmp_path, text)


# ------------------------------------------------------------------------------------------------------------- bugs

NO_RETRY = {"EQUAL_MARKER_EPOCH_IS_RETRY": "off"}

CAUGHT_ROWS = """\
COPY_APPENDED 3.7 0 36 | leader_appends_record a at 1: it leads to log_record[1][1] = "EMPTY", but "A" was observed
OLD_COORDINATOR_NOT_FENCED 0.11 1 62
  leader_appends_late_marker 1: models/transactions/coordinator.py: its guard `is_accepted(
GUARD_SURVIVES_MARKER 3.7 4 381 | leader_appends_marker 0: it leads to verified[0] = null, but 0 was observed
RECORD_NOT_VERIFIED 3.7 0 33
  leader_appends_record a at 1: models/transactions/partition.py: its guard `not asks_before_appending(s, partition,
  transaction)
ONGOING_OF_ANY_EPOCH 4.0 0 127
  leader_appends_record b at 0: models/transactions/partition.py: its guard `not asks_before_appending(s, partition,
  transaction)
MARKER_KEEPS_NO_STATE 3.7 0 11 | leader_appends_marker 0: it leads to known_epoch[0] = 1, but null was observed
RETRIED_MARKER_REFUSED 4.2 4 20
  leader_refuses_marker 1: models/transactions/coordinator.py: its guard `not is_acknowledged_as_retry(
PENDING_TAKEN_FOR_DURABLE 3.7 0 2
  producer_adds_partition 0 adds 0: it leads to transaction_state = "EMPTY", but "ONGOING" was observed
COORDINATOR_EPOCH_KEPT 3.7 0 132
  coordinator_fails_over_after_append: it leads to coordinator_epoch = 1, but 0 was observed
FENCE_WITHOUT_NEW_EPOCH 3.7 0 8 | coordinator_times_out_transaction: it leads to pending_epoch = 1, but 0 was observed
EPOCH_NOT_RAISED_AT_END 4.2 6 10
  coordinator_handles_end_txn of producer 0: it leads to pending_epoch = 1, but 0 was observed
COMPLETE_AFTER_FIRST_MARKER 3.7 0 15
  coordinator_completes_transaction: models/transactions/coordinator.py: its guard `all(not s.in_transaction[p] or
  s.marker[p] == Marker.ANSWERED
REFUSED_MARKER_COUNTS 4.2 4 20
  leader_refuses_marker 1: it leads to marker[0] = "DROPPED", but "NOT_SENT" was observed, and 1 more
MARKER_LOST_WITH_ANSWER 3.7 0 15
  answer_to_marker_is_lost from 1: it leads to marker[1] = "SENT", but "NOT_SENT" was observed
"""
CAUGHT = {
    TransactionBug[name]: (protocol, int(seed), int(event), why)
    for (name, protocol, seed, event), why in table(CAUGHT_ROWS)
}
"""Bug -> the protocol and the seed of a run that shows it, the event that is rejected, and why."""

ALLOWED = [bug for bug in ALLOWED_IN_RUNS if isinstance(bug, TransactionBug)]


def test_every_bug_is_rejected_or_has_a_reason() -> None:
    assert {*CAUGHT, *ALLOWED} == set(TransactionBug)
    assert (len(CAUGHT), len(ALLOWED)) == (14, 1)


@pytest.mark.parametrize("bug", CAUGHT, ids=lambda bug: bug.name)
def test_a_run_with_a_bug_is_rejected(tmp_path: Path, bug: TransactionBug) -> None:
    protocol, seed, event, why = CAUGHT[bug]
    given = NO_RETRY if bug is TransactionBug.REFUSED_MARKER_COUNTS else {}
    plan = TransactionsPlan(protocol, seed, event, given, bug.name.lower())
    rejected, reason = first_rejection(tmp_path, recorded(plan))
    assert (rejected, reason[: len(why)]) == (event, why)
    only_follows(tmp_path, recorded(TransactionsPlan(protocol, seed, event, given)), event)  # it is the bug


@pytest.mark.parametrize("bug", ALLOWED, ids=lambda bug: bug.name)
def test_a_bug_that_the_model_allows_is_followed(tmp_path: Path, bug: TransactionBug) -> None:
    text = recorded(TransactionsPlan("4.2", 3, 120, bug=bug.name.lower()))
    only_follows(tmp_path, text, 120)
    assert text.replace(f', "note": "bug: {bug.name.lower()}"', "") != recorded(TransactionsPlan("4.2", 3, 120))


# ------------------------------------------------------------------------------------------------------- model gaps


ALONE = {"producers": "1", "failovers": "0"}

GAP_ROWS = """\
ADD_PARTITIONS_IS_LATE 3.7 24 353
  producer_adds_partition 0 adds 1: models/transactions/producer.py: its guard `s.phase[producer] ==
  Phase.IN_TRANSACTION` is false (s.phase[0] = ABORTING)
EPOCH_IS_ASKED_FOR_AGAIN 3.7 0 22
  transaction_log_is_replicated: it leads to phase[1] = "READY", but "INITIALISING" was observed
SECOND_LATE_END_TXN 2.5 5 43
  coordinator_handles_late_end_txn: it leads to late_end_txn = "NOTHING", but "COMMIT" was observed
SECOND_LATE_MARKER 2.5 0 121
  leader_appends_late_marker 1: it leads to late_marker[1] = "NOTHING", but "COMMIT" was observed
EMPTY_TRANSACTION_IS_ABORTED 3.7 0 57
  producer_aborts 0: models/transactions/producer.py: its guard `any(is_latest_of(s, transaction, producer) and
FENCED_PRODUCER_GOES_ON 3.7 0 22
  producer_aborts 0: models/transactions/producer.py: its guard `s.epoch[producer] == s.producer_epoch or
ANSWER_COMES_AFTER_FENCE 3.7 0 384
  producer_learns_of_commit 0: models/transactions/producer.py: its guard `was_decided(
SENT_AFTER_END 3.7 0 213
  producer_sends_record 0 to 1: models/transactions/producer.py: its guard `s.TXN_VERIFY == Verification.TV2 or
  knows_partition_as_added(
VERIFIED_WHILE_PENDING 3.7 1 222
  leader_verifies_transaction c at 1: models/transactions/partition.py: its guard `is_idle(s) and
  s.transaction_state == TransactionState.ONGOING` is false (s.pending_state = ONGOING)
ANSWER_TO_LEADER_IS_LATE 4.0 0 139
  leader_verifies_transaction b at 1: models/transactions/partition.py: its guard `is_idle(s) and
  s.transaction_state == TransactionState.ONGOING` is false (s.pending_state = PREPARE_ABORT)
ANSWER_TO_MARKER_IS_LATE 0.11 8 384
  coordinator_learns_of_marker from 0: models/transactions/coordinator.py: its guard `s.high_watermark[partition] ==
  s.log_end_offset[partition]` is false
FORGOTTEN_COPY 0.11 1 112
  leader_appends_record a at 0: models/transactions/partition.py: its guard `is_in_flight(s, partition,
  transaction)` is false (s.was_sent[0][a] = true, s.log_record[0][0] = A)
NEW_EPOCH_DESPITE_RECORD 3.6 7 127
  producer_asks_for_new_epoch 0: models/transactions/producer.py: its guard `gave_up_on_a_request(s, producer)`
STARTED_WHILE_INITIALISING 3.7 0 22
  producer_starts 2: models/transactions/producer.py: its guard `all(s.phase[i] > Phase.INITIALISING
"""
GIVEN: dict[ModelGap, Given] = {
    ModelGap.SECOND_LATE_END_TXN: {"failovers": "0", "late_requests": "20"},
    ModelGap.ANSWER_TO_MARKER_IS_LATE: ALONE,
    ModelGap.NEW_EPOCH_DESPITE_RECORD: ALONE | {"late_requests": "0"},
}
GAPS = {
    ModelGap[name]: (protocol, int(seed), int(event), why) for (name, protocol, seed, event), why in table(GAP_ROWS)
}
"""Gap -> a run in which it is allowed (with what `GIVEN` has), the event that is rejected then, and why."""


@pytest.mark.parametrize("gap", ModelGap, ids=lambda gap: gap.name)
def test_allowed_model_gaps_lead_to_rejections(tmp_path: Path, gap: ModelGap) -> None:
    """If this test fails, the model may now have the behaviour; then remove the gap from plan.py."""
    protocol, seed, event, why = GAPS[gap]
    plan = TransactionsPlan(protocol, seed, event, GIVEN.get(gap, {}), allowed=frozenset([gap]))
    rejected, reason = first_rejection(tmp_path, recorded(plan))
    assert (rejected, reason[: len(why)]) == (event, why)


# -------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "exactly_once"}, ":1: runs of exactly_once cannot be followed; "),
        ({"model": 3}, ':1: "model" is a whole number; it has to be a text'),
        ({"model": "kafka"}, ":1: there is no configuration entry expirations; "),
        ({"configuration": {"replicas": 3}}, ":1: there is no configuration entry replicas; "),
        ({"configuration": {"transactions": 4}}, ":1: A log has to hold a record and a marker for each transaction; "),
    ],
)
def test_a_header_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    header, *lines = recorded(TransactionsPlan("4.2", 1, events=3)).splitlines(keepends=True)
    with pytest.raises(UsageError) as error:
        followed(tmp_path, "".join([json.dumps(json.loads(header) | change) + "\n", *lines]))
    assert message in str(error.value)


def test_a_model_with_queues_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No followed model has any; a log would show the cells of a queue as they are stored."""
    assert all(one.contents is None for name in MODELS for one in registry.load(name)[0].fields.values())
    name = "examples/tla/lamport_mutex"
    monkeypatch.setattr(reading, "MODELS", (*MODELS, name))
    header, *lines = recorded(TransactionsPlan("4.2", 1, events=3)).splitlines(keepends=True)
    said = json.loads(header) | {"model": name}
    with pytest.raises(UsageError, match=f":1: {name} has sets or queues, which cannot be followed: "):
        followed(tmp_path, "".join([json.dumps(said) + "\n", *lines]))


def test_transactions_have_no_brokers(tmp_path: Path) -> None:
    header, line = recorded(TransactionsPlan("4.2", 1, events=1)).splitlines()
    text = f"{header}\n{json.dumps(json.loads(line) | {'broker': 0})}\n"
    with pytest.raises(UsageError, match=r':2: transactions has no brokers; set "broker" to null'):
        followed(tmp_path, text)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"protocol": "2.4"}, "transactions has no protocol 2.4; 0.11 stands for it"),
        ({"bug": "hw_off_by_one"}, "hw_off_by_one is no bug of a system that replays transactions"),
        ({"given": {"replicas": "3"}}, "transactions has no entry or switch replicas"),
        ({"missing": 1.5}, "missing=1.5: a share is between 0 and 1"),
    ],
)
def test_an_impossible_plan_is_refused(plan: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TransactionsPlan(**plan)
