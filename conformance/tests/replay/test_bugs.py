"""Every seeded bug makes the cluster diverge from the model, or has a reason why replay cannot show it.

The tests seed one bug of conformance/cluster/configuration/bugs.py at a time.
"""

from __future__ import annotations

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support import golden as golden_support
from conformance.tests.support.replay import (
    DEFAULT,
    EVERY_CLIENT,
    EVERY_FAULT,
    IDEMPOTENT,
    LOSING_RECORDS,
    READERS,
    SESSIONS,
    instance_of,
    steps_in,
    trace_of,
    walk_of,
)
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.replay.compare import replay
from isrcheck.conformance.replay.driver import Driver
from isrcheck.conformance.replay.walks import with_step
from isrcheck.conformance.unseen_bugs import NEEDS, NEVER_IN_REPLAY, OF_ADMINISTRATORS, told, unmet
from isrcheck.models import registry
from isrcheck.traces.format.trace import Trace

pytestmark = pytest.mark.sampled

STEPS = 30
MOST_WALKS = 120

TRUNCATED_READER = {
    "replicas": 2,
    "records": 3,
    "log_size": 3,
    "acks": 1,
    "min_insync_replicas": 1,
    "elections": 3,
    "unclean_elections": 1,
    "crashes": 2,
    "bounces": 0,
    "consumers": 1,
}
"""A consumer of a log that often loses its end."""

DIVERGED_TWICE = {
    "replicas": 2,
    "records": 4,
    "log_size": 3,
    "acks": 1,
    "min_insync_replicas": 1,
    "elections": 5,
    "partition_changes": 12,
    "unclean_elections": 3,
    "crashes": 4,
}
"""Two logs that have written in turns, so that neither has all epochs of the other."""

FENCED = {"fencings": 3, "partition_changes": 12, "elections": 6, "crashes": 3}
"""Living brokers that are fenced, and others that restart."""

REASSIGNED = {"reassignments": 1, "partition_changes": 10, "elections": 6, "crashes": 2}
"""A replica that is removed."""

SEEN = {
    Bug.HW_OFF_BY_ONE: ("2.1", DEFAULT),
    Bug.ACK_BEFORE_ISR: ("2.1", DEFAULT),
    Bug.TRUNCATION_TO_WRONG_EPOCH_END: ("2.1", DEFAULT),
    Bug.REMOTE_OFFSET_IS_MAXIMUM: ("0.10", EVERY_FAULT),
    Bug.EXPANSION_WITHOUT_HIGH_WATERMARK: ("2.1", DEFAULT),
    Bug.RESPONSE_HW_AFTER_FETCH: ("2.1", EVERY_CLIENT),
    Bug.EPOCH_CACHE_NOT_TRUNCATED: ("2.1", DEFAULT),
    Bug.HW_NOT_RECOMPUTED_AFTER_SHRINK: ("2.1", EVERY_FAULT),
    Bug.MIN_ISR_NOT_CHECKED: ("2.1", DEFAULT),
    Bug.FETCHER_NOT_CLEARED: ("2.1", DEFAULT),
    Bug.CHECKPOINT_AHEAD: ("2.1", EVERY_FAULT),
    Bug.LEADER_TRUNCATES_ON_ELECTION: ("2.1", DEFAULT),
    Bug.REMOTE_OFFSETS_NOT_RESET: ("2.1", DEFAULT),
    Bug.PARKED_FETCH_UPDATES: ("2.1", DEFAULT),
    Bug.ISR_WRITE_UNCONDITIONAL: ("2.1", DEFAULT),
    Bug.OPEN_TRANSACTION_READ: ("2.1", EVERY_CLIENT),
    Bug.ISR_KEEPS_DEAD_FOLLOWER: ("2.1", DEFAULT),
    Bug.ABORT_NOT_INDEXED: ("2.1", EVERY_CLIENT),
    Bug.PRODUCERS_NOT_REPLICATED: ("2.1", EVERY_CLIENT),
    Bug.ISR_NOT_MAXIMAL: ("2.8", DEFAULT),
    Bug.SECOND_ALTER_ISR_SENT: ("2.8", DEFAULT),
    Bug.DIVERGING_FETCH_COUNTS: ("2.8", DEFAULT),
    Bug.DIVERGENCE_NOT_SEEN: ("2.8", DEFAULT),
    Bug.TRUNCATES_TO_ANSWERED_OFFSET: ("2.8", DIVERGED_TWICE),
    Bug.FENCED_BROKER_ELIGIBLE: ("3.3", DEFAULT),
    Bug.PARTITION_EPOCH_NOT_COMPARED: ("3.3", DEFAULT),
    Bug.INELIGIBLE_CHANGE_KEPT: ("3.3", DEFAULT),
    Bug.REMOVAL_KEEPS_LEADER_EPOCH: ("3.7", REASSIGNED),
    Bug.HIGH_WATERMARK_GATE_MISSING: ("3.7", FENCED),
    Bug.UNCLEAN_BROKER_KEEPS_ELIGIBILITY: ("4.1", SESSIONS),
    Bug.LAST_KNOWN_LEADER_TOO_EARLY: ("4.1", SESSIONS),
    Bug.DUPLICATE_APPENDED: ("2.4", IDEMPOTENT),
    Bug.DUPLICATE_WINDOW_OF_ONE: ("2.4", IDEMPOTENT),
    Bug.SNAPSHOT_NOT_TRUNCATED: ("2.4", IDEMPOTENT),
    Bug.OUT_OF_ORDER_ACCEPTED: ("2.4", LOSING_RECORDS),
    Bug.EPOCH_NOT_RENUMBERED: ("2.4", LOSING_RECORDS),
    Bug.FOLLOWER_SHOWS_LOG_END: ("2.4", READERS),
    Bug.LAG_BY_HIGH_WATERMARK: ("2.4", READERS),
    Bug.POSITION_NOT_VALIDATED: ("2.4", TRUNCATED_READER),
}
"""Seen by a random walk of this protocol in this configuration."""

SEEN_BY_A_GOLDEN_TRACE = {
    Bug.EXPANSION_WITHOUT_EPOCH_START: ("kafka_isr_expansion_against_a_lagging_high_watermark", "leader_handles_fetch"),
}
"""Too rare for random walks: seen by what is left of this history under the protocol that repaired it, in this step."""

SEEN_BY_A_HISTORY = {
    Bug.NEW_MINIMUM_KEEPS_ELR: ("kafka_changed_minimum_forgets_who_may_lead", 3, "controller_partition_epoch"),
    Bug.REASSIGNMENT_COMPLETES_EARLY: ("kafka_cancelled_reassignment_leaves_a_stranger", 7, "controller_leader"),
    Bug.CANCEL_KEEPS_ISR: ("kafka_cancelled_reassignment_leaves_a_stranger", 8, "controller_isr"),
    Bug.REMOVED_REPLICA_KEEPS_LOG: ("kafka_removed_replica_is_elected_empty", 2, "log_record"),
}
"""Seen by a golden trace, in this step and this variable."""

SHRINKS_AND_EXPANDS = tuple(
    steps_in(
        "leader_handles_fetch 0 from 1; producer_appends at 0; leader_handles_fetch 0 from 2;"
        " follower_applies_response 2 from 0; leader_handles_fetch 0 from 2;"
        " leader_shrinks_isr 0 by {1}; controller_handles_alter_partition of 0;"
        " leader_hears_answer 0; leader_answers_parked_fetch 0 to 1;"
        " follower_applies_response 1 from 0; leader_handles_fetch 0 from 1"
    )
)
"""Broker 1 leaves the ISR, and the leader asks for it to come back."""

SEEN_BY_STEPS = {
    # The leader is elected again, in a later epoch, before it hears that its earlier change of the ISR is granted.
    Bug.STALE_ALTER_ISR_ANSWER_APPLIED: (
        "2.8",
        {"elections": 4, "partition_changes": 8},
        steps_in(
            "controller_fails_over to 2; broker_becomes_leader 2 in epoch 1; broker_crashes 1;"
            " producer_appends at 2; broker_becomes_follower 0 in epoch 1; leader_handles_fetch 2 from 0;"
            " controller_handles_alter_partition of 2; controller_removes_dead_follower 1;"
            " broker_becomes_follower 0 in epoch 2; broker_becomes_leader 2 in epoch 2;"
            " broker_restarts 1 checkpoint 0; leader_hears_answer 2"
        ),
    ),
    # A record of the metadata log arrives after the answers to two later requests.
    Bug.OLD_RECORD_APPLIED: (
        "3.7",
        {},
        [
            *SHRINKS_AND_EXPANDS,
            "controller_handles_alter_partition of 0",
            "leader_hears_answer 0",
            "broker_applies_metadata 0 of partition epoch 1",
        ],
    ),
    # The broker that is to join has restarted meanwhile.
    Bug.BROKER_EPOCH_NOT_COMPARED: (
        "3.7",
        {},
        [
            *SHRINKS_AND_EXPANDS,
            *steps_in(
                "broker_crashes 1; broker_restarts 1 checkpoint 0; controller_unfences_broker 1;"
                " controller_handles_alter_partition of 0"
            ),
        ],
    ),
    Bug.MIN_ISR_OF_ALL_BROKERS: (
        "4.3",
        {"reassignments": 1},
        [
            "controller_begins_reassignment to {0}",
            "broker_applies_metadata 0 of partition epoch 1",
            "producer_appends at 0",
        ],
    ),
    Bug.NEW_MINIMUM_NOT_READ: (
        "4.3",
        {"min_isr_changes": 1},
        steps_in(
            "operator_changes_min_insync_replicas to 3; broker_reads_configuration 0; broker_crashes 1;"
            " controller_fences_broker 1; broker_applies_metadata 0 of partition epoch 1; producer_is_refused at 0"
        ),
    ),
}
"""Seen in the last of these steps."""


def is_seen(bug: Bug, trace: Trace) -> bool:
    return replay(trace, Driver(bug.name.lower())) is not None


def test_every_bug_is_listed_once():
    spoken = [*SEEN, *SEEN_BY_A_GOLDEN_TRACE, *SEEN_BY_A_HISTORY, *SEEN_BY_STEPS, *NEVER_IN_REPLAY]
    assert sorted(spoken, key=lambda bug: bug.name) == sorted(Bug, key=lambda bug: bug.name)


@pytest.mark.parametrize("bug", SEEN, ids=lambda bug: bug.name)
def test_a_random_walk_shows_the_bug(bug):
    protocol, values = SEEN[bug]
    walks = (walk_of(protocol, values, seed, STEPS) for seed in range(MOST_WALKS))
    shown = next(walk for walk in walks if is_seen(bug, walk))
    assert replay(shown, Driver()) is None


@pytest.mark.parametrize("bug", SEEN_BY_A_GOLDEN_TRACE, ids=lambda bug: bug.name)
def test_a_golden_trace_under_its_repair_shows_the_bug(bug):
    """The trace is taken under the repaired protocol, as far as its steps are possible."""
    name, action = SEEN_BY_A_GOLDEN_TRACE[bug]
    golden = golden_support.read((golden_support.FOLDER / f"{name}.txt").read_text(encoding="utf-8"))
    instance = golden_support.repaired(golden, golden_support.repairs(golden)[0])
    trace = Trace(instance, (instance.initial_states[int(golden.header.get("start", "0"))],), (), None, None, "")
    for text in golden.steps:
        longer = with_step(trace, golden_support.read_step(instance, text))
        if longer is None:
            break
        trace = longer
    assert replay(trace, Driver()) is None
    divergence = replay(trace, Driver(bug.name.lower()))
    assert divergence is not None
    assert divergence.variable == "controller_isr"
    assert trace.steps[divergence.position - 1].action == action


@pytest.mark.parametrize("bug", SEEN_BY_A_HISTORY, ids=lambda bug: bug.name)
def test_a_golden_trace_shows_the_bug(bug):
    name, position, variable = SEEN_BY_A_HISTORY[bug]
    trace = golden_support.derive(golden_support.read((golden_support.FOLDER / f"{name}.txt").read_text("utf-8")))
    assert replay(trace, Driver()) is None
    divergence = replay(trace, Driver(bug.name.lower()))
    assert divergence is not None
    assert (divergence.position, divergence.variable) == (position, variable)


@pytest.mark.parametrize("bug", SEEN_BY_STEPS, ids=lambda bug: bug.name)
def test_steps_show_the_bug(bug):
    protocol, values, steps = SEEN_BY_STEPS[bug]
    trace = trace_of(steps, protocol, **values)
    assert replay(trace, Driver()) is None
    divergence = replay(trace, Driver(bug.name.lower()))
    assert divergence is not None
    assert divergence.position == len(steps)


@pytest.mark.parametrize(
    "bug", [bug for bug in NEVER_IN_REPLAY if bug not in OF_ADMINISTRATORS], ids=lambda bug: bug.name
)
def test_a_bug_invisible_to_replay_shows_in_no_walk(bug):
    for values in (DEFAULT, EVERY_FAULT, EVERY_CLIENT, IDEMPOTENT):
        assert not any(is_seen(bug, walk_of("2.1", values, seed, STEPS)) for seed in range(20))


OTHERS = {
    "2.1": DEFAULT,
    "0.10": EVERY_FAULT,
    "2.8": EVERY_CLIENT,
    "2.4": {"acks": 1, "min_insync_replicas": 1, "elections": 0, "bounces": 0, "crashes": 0},
}
"""Configurations of which each lacks something that a bug needs."""


def configuration_of(protocol, values):
    return instance_of(protocol, tuple(values.items())).configuration


@pytest.mark.parametrize("bug", SEEN, ids=lambda bug: bug.name)
def test_a_configuration_that_shows_a_bug_has_what_the_bug_needs(bug):
    protocol, values = SEEN[bug]
    assert unmet(bug, configuration_of(protocol, values)) is None


@pytest.mark.parametrize(
    "bug",
    sampled(
        [bug for bug in NEEDS if isinstance(bug, Bug)],
        lambda bug: bug in list(NEEDS)[::6],
        last=lambda bug: bug not in list(NEEDS)[::3],
    ),
    ids=lambda bug: bug.name,
)
def test_a_bug_shows_in_no_walk_that_lacks_what_it_needs(bug):
    lacking = [
        (protocol, values) for protocol, values in OTHERS.items() if unmet(bug, configuration_of(protocol, values))
    ]
    assert lacking
    for protocol, values in lacking:
        assert not any(is_seen(bug, walk_of(protocol, values, seed, STEPS)) for seed in range(20))


def test_what_cannot_show_is_told_by_what_is_missing():
    needy = {**IDEMPOTENT, **READERS, "retries": 0}
    first, never, *others = told("kafka", configuration_of("2.4", needy), NEVER_IN_REPLAY, "replay")
    assert first == "29 of 55 seeded bugs (--bug) cannot show here:"
    assert never.startswith("  never in replay: stale_fetches_counted, stale_metadata_applied, ")
    assert "  without retries: duplicate_appended, duplicate_window_of_one" in others
    fully = {"late_markers": 1}
    of_transactions = registry.load("transactions")[0].instance("4.2", fully).configuration
    assert told("transactions", of_transactions, {}, "replay") == []
