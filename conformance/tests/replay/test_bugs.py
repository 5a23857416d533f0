"""Every seeded bug makes the cluster diverge from the model, or has a reason why replay cannot show it.

The tests seed one bug of conformance/cluster/configuration/bugs.py at a time.
"""

from __future__ import annotations

import pytest

from conformance.tests.support import golden as golden_support
from conformance.tests.support.replay import (
    DEFAULT,
    EVERY_CLIENT,
    EVERY_FAULT,
    IDEMPOTENT,
    LOSING_RECORDS,
    READERS,
    walk_of,
)
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.replay.compare import replay
from isrcheck.conformance.replay.driver import Driver
from isrcheck.conformance.replay.walks import with_step
from isrcheck.traces.format.trace import Trace

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

MORE_ELECTIONS = {"elections": 4, "partition_changes": 8}
"""A leader that is elected again soon, so that answers about the ISR come late."""

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

SEEN = {
    Bug.HW_OFF_BY_ONE: ("2.1", DEFAULT),
    Bug.ACK_BEFORE_ISR: ("2.1", DEFAULT),
    Bug.TRUNCATION_TO_WRONG_EPOCH_END: ("2.1", EVERY_FAULT),
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
    Bug.STALE_ALTER_ISR_ANSWER_APPLIED: ("2.8", MORE_ELECTIONS),
    Bug.SECOND_ALTER_ISR_SENT: ("2.8", DEFAULT),
    Bug.DIVERGING_FETCH_COUNTS: ("2.8", DEFAULT),
    Bug.DIVERGENCE_NOT_SEEN: ("2.8", DEFAULT),
    Bug.TRUNCATES_TO_ANSWERED_OFFSET: ("2.8", DIVERGED_TWICE),
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

INVISIBLE = {
    Bug.STALE_FETCHES_COUNTED: (
        "the model takes no step for a request that is refused, so no trace asks the cluster to refuse one"
    ),
    Bug.STALE_METADATA_APPLIED: (
        "the model takes no step for an announcement that is ignored, so no trace delivers an old one"
    ),
    Bug.STALE_EPOCH_ANSWER_APPLIED: (
        "a question about epochs and its answer are one step of the model, so that no answer comes late"
    ),
    Bug.ZOMBIE_NOT_FENCED: "each producer of the model has one instance",
}
"""What a driver that takes the model's steps, and nothing else, cannot bring about."""


def is_seen(bug: Bug, trace: Trace) -> bool:
    return replay(trace, Driver(bug.name.lower())) is not None


def test_every_bug_is_listed_once():
    spoken = [*SEEN, *SEEN_BY_A_GOLDEN_TRACE, *INVISIBLE]
    assert sorted(spoken, key=lambda bug: bug.name) == sorted(Bug, key=lambda bug: bug.name)
    assert len(SEEN) + len(SEEN_BY_A_GOLDEN_TRACE) == 34


@pytest.mark.parametrize("bug", SEEN, ids=lambda bug: bug.name)
def test_a_random_walk_shows_the_bug(bug):
    protocol, values = SEEN[bug]
    assert any(is_seen(bug, walk_of(protocol, values, seed, STEPS)) for seed in range(MOST_WALKS))


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


@pytest.mark.parametrize("bug", INVISIBLE, ids=lambda bug: bug.name)
def test_a_bug_invisible_to_replay_shows_in_no_walk(bug):
    for values in (DEFAULT, EVERY_FAULT, EVERY_CLIENT, IDEMPOTENT):
        assert not any(is_seen(bug, walk_of("2.1", values, seed, STEPS)) for seed in range(20))
