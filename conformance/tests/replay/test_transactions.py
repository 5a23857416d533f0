"""Traces of `transactions` on the cluster's system of transactions: two implementations that share no code agree."""

from __future__ import annotations

from functools import cache

import pytest

from conformance.tests.support import golden
from conformance.tests.support.replay import must_agree, steps_in
from isrcheck.conformance.cluster.configuration.bugs import TransactionBug
from isrcheck.conformance.implemented import UntimelyError
from isrcheck.conformance.replay.compare import replay
from isrcheck.conformance.replay.on_cluster import OnCluster
from isrcheck.conformance.replay.walks import walk
from isrcheck.models.messages import UsageError
from isrcheck.models.run import State
from isrcheck.models.transactions.generations import MODEL
from isrcheck.models.transactions.values import TransactionState
from isrcheck.traces.format.certify import behaviour
from isrcheck.traces.format.trace import Trace

EVERY_FAULT = {"failovers": 2, "timeouts": 1, "late_markers": 2, "late_requests": 2}
WALKS, STEPS = 10, 60

CONFIGURATIONS = {
    "0.11": {"expirations": 2},
    "2.5": {},
    "3.6": {"PRODUCER_STATE_EXPIRES_EARLY": 1, "expirations": 1},
    "3.7": {"UNKNOWN_PID_ACCEPTED": 0},
    "4.0": {"ONGOING_PER_EPOCH": 0},
    "4.1": {"timeouts": 2},
    "3.8": {"MARKER_ANSWERS_CHECK_EPOCH": 0, "late_answers": 2},
    "4.2": {"EQUAL_MARKER_EPOCH_IS_RETRY": 0},
    "4.3": {"producer_epochs": 1, "late_answers": 1},
    "4.4": {"producer_epochs": 2},
}
"""For each generation, a configuration beside its own in which walks are taken, too."""

TAKEN = {"0.11": 26, "2.5": 26, "3.6": 29, "3.7": 26, "3.8": 27, "4.0": 27, "4.1": 27, "4.2": 28, "4.3": 28, "4.4": 27}
"""How many actions these walks take."""

LATE_RECORD = "late_record_joins_the_next_transaction"
OLD_MARKER, STUCK = "marker_of_an_older_coordinator", "marker_is_refused_for_ever"
NOT_ASKED = "the partition's leader does not ask the coordinator"

SEEN: dict[TransactionBug, tuple[str | tuple[str, int], int, str]] = {
    TransactionBug.COPY_APPENDED: (LATE_RECORD, 24, "log_record"),
    TransactionBug.OLD_COORDINATOR_NOT_FENCED: (OLD_MARKER, 12, "known_coordinator_epoch"),
    TransactionBug.GUARD_SURVIVES_MARKER: (("3.7", 6), 15, "verified"),
    TransactionBug.RECORD_NOT_VERIFIED: (LATE_RECORD, 21, NOT_ASKED),
    TransactionBug.ONGOING_OF_ANY_EPOCH: (("4.2", 14), 21, "log_record"),
    TransactionBug.MARKER_KEEPS_NO_STATE: (LATE_RECORD, 11, "known_epoch"),
    TransactionBug.RETRIED_MARKER_REFUSED: (("4.2", 0), 35, "marker"),
    TransactionBug.PENDING_TAKEN_FOR_DURABLE: (LATE_RECORD, 2, "transaction_state"),
    TransactionBug.MARKERS_NOT_RESUMED: (OLD_MARKER, 11, "marker"),
    TransactionBug.COORDINATOR_EPOCH_KEPT: (OLD_MARKER, 10, "coordinator_epoch"),
    TransactionBug.FENCE_WITHOUT_NEW_EPOCH: (("3.7", 0), 17, "pending_epoch"),
    TransactionBug.EPOCH_NOT_RAISED_AT_END: (STUCK, 6, "pending_epoch"),
    TransactionBug.COMPLETE_AFTER_FIRST_MARKER: ("late_end_txn_ends_the_next_transaction", 25, "pending_state"),
    TransactionBug.REFUSED_MARKER_COUNTS: ("refused_marker_cancels_the_others", 15, "marker"),
    TransactionBug.MARKER_LOST_WITH_ANSWER: (STUCK, 10, "marker"),
}
"""Where each bug is seen: a golden trace, or a walk (generation, seed); the step, and the variable or the refusal."""

GOLDEN = sorted(path.stem.removeprefix("transactions_") for path in golden.FOLDER.glob("transactions_*.txt"))


@cache
def golden_trace(name: str) -> Trace:
    return golden.derive(golden.read((golden.FOLDER / f"transactions_{name}.txt").read_text(encoding="utf-8")))


@cache
def walk_of(protocol: str, seed: int) -> Trace:
    return walk(MODEL.instance(protocol, EVERY_FAULT), seed, STEPS)


@pytest.mark.parametrize("name", GOLDEN)
def test_the_system_agrees_with_a_golden_trace(name: str) -> None:
    must_agree(golden_trace(name), OnCluster())


@pytest.mark.sampled
@pytest.mark.parametrize("protocol", MODEL.protocols)
def test_the_system_agrees_with_random_walks(protocol: str) -> None:
    other = MODEL.instance(protocol, EVERY_FAULT | CONFIGURATIONS[protocol])
    walks = [walk(other, seed, STEPS) for seed in range(WALKS)] + [walk_of(protocol, seed) for seed in range(WALKS)]
    for trace in walks:
        must_agree(trace, OnCluster())
    taken = {step.action for trace in walks for step in trace.steps}
    assert len(taken) == TAKEN[protocol]
    assert {"producer_commits", "producer_learns_of_abort", "coordinator_fails_over_after_append"} <= taken


@pytest.mark.parametrize("bug", TransactionBug, ids=lambda bug: bug.name)
def test_a_seeded_bug_is_seen(bug: TransactionBug) -> None:
    where, position, what = SEEN[bug]
    trace = golden_trace(where) if isinstance(where, str) else walk_of(*where)
    divergence = replay(trace, OnCluster(bug.name.lower()))
    assert divergence is not None
    assert (divergence.position, divergence.variable or divergence.why) == (position, what)


EARLY = tuple(
    steps_in(
        "producer_begins_transaction 0; producer_adds_partition 0 adds 0; transaction_log_is_replicated;"
        " producer_aborts 0; end_txn_is_sent_again of producer 0; coordinator_handles_end_txn of producer 0;"
        " transaction_log_is_replicated; coordinator_sends_marker to 0; leader_appends_marker 0;"
        " coordinator_learns_of_marker from 0; coordinator_completes_transaction;"
        " transaction_log_is_replicated; producer_learns_of_abort 0; producer_begins_transaction 0;"
        " producer_adds_partition 0 adds 0; transaction_log_is_replicated; coordinator_handles_late_end_txn;"
        " producer_aborts 0; transaction_log_is_replicated"
    )
)
"""The late copy of an EndTxn aborts the next transaction, and then its producer aborts it, too."""
COMPLETES = tuple(
    steps_in(
        "coordinator_sends_marker to 0; leader_appends_marker 0; coordinator_learns_of_marker from 0;"
        " coordinator_completes_transaction; transaction_log_is_replicated"
    )
)


@pytest.mark.parametrize("steps", [EARLY, EARLY + COMPLETES], ids=["at once", "when it is complete"])
def test_a_producer_whose_transaction_was_ended_by_another_request_learns_of_it_later(steps: tuple[str, ...]) -> None:
    instance = MODEL.instance("3.6", {"producers": 1, "failovers": 0, "late_requests": 1})
    spelled = [golden.read_step(instance, step) for step in (*steps, "producer_learns_of_abort 0")]
    trace = behaviour(instance, 0, spelled, None, "", None)
    if steps == EARLY:
        with pytest.raises(UntimelyError, match=r"^in step 20, producer 0 learns of an outcome .* CONCURRENT_TRANS"):
            replay(trace, OnCluster())
    else:
        must_agree(trace, OnCluster())


FENCED = (
    *steps_in(
        "producer_begins_transaction 0; producer_adds_partition 0 adds 0; transaction_log_is_replicated;"
        " producer_sends_record 0 to 0; producer_aborts 0; coordinator_handles_end_txn of producer 0;"
        " transaction_log_is_replicated"
    ),
    *COMPLETES,
    *steps_in("producer_learns_of_abort 0; producer_asks_for_new_epoch 0"),
)
"""A producer that gave up a record asks for a new epoch; its request is under way."""

SUCCESSOR = ("coordinator_handles_init_producer_id of producer 1", "transaction_log_is_replicated")
BEGINS = ("producer_begins_transaction 1", "producer_adds_partition 1 adds 0", "transaction_log_is_replicated")
FENCE = "coordinator_handles_init_producer_id of producer 0"


@pytest.mark.parametrize("steps", [BEGINS, ()], ids=["ongoing", "over"])
def test_a_fenced_producer_that_asks_for_an_epoch_aborts_an_ongoing_transaction(steps: tuple[str, ...]) -> None:
    """prepareInitProducerIdTransit compares the epoch only if no transaction is ongoing."""
    instance = MODEL.instance("2.5", {"failovers": 0})
    # The other instance starts before the first one asks: it starts only while nobody else waits for an epoch.
    before = (*FENCED[:-1], "producer_starts 1", FENCED[-1], *SUCCESSOR, *steps)
    spelled = [golden.read_step(instance, step) for step in (*before, FENCE)]
    if not steps:
        with pytest.raises(UsageError, match=r"^step 18 .* is not enabled: its guard `not is_over\(s\) or "):
            behaviour(instance, 0, spelled, None, "", None)
        return
    trace = behaviour(instance, 0, spelled, None, "", None)
    must_agree(trace, OnCluster())
    assert State(instance, trace.states[-1]).pending_state == TransactionState.PREPARE_ABORT
