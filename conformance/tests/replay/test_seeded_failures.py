"""Each known failure as a seeded bug: a cluster with the mistake, and the model with its repair, do not agree.

The history of a failure is taken under its repair, as far as its steps are possible; a cluster with the repair agrees.
A cluster with the mistake diverges; or the step in which the mistake shows is one that the repaired model excludes, and
then the cluster, which takes it (test_failures.py), is rejected when it is followed.
"""

from __future__ import annotations

import pytest

from conformance.tests.support.golden import read_step
from isrcheck.conformance.implemented import MissingMechanismError, switches_of
from isrcheck.conformance.replay import driver
from isrcheck.conformance.replay.compare import replay
from isrcheck.conformance.replay.driver import Driver
from isrcheck.conformance.replay.walks import with_step
from isrcheck.models.kafka.failures.catalogue import ChangeKind, History, failures
from isrcheck.models.language.model import Instance
from isrcheck.traces.format.trace import Trace

SEEDED = {
    one.name: (one.history, change.change)
    for one in failures()
    if one.history is not None and one.history.model == "kafka"
    for change in reversed(one.changes)
    if change.kind is ChangeKind.REPAIR
}
"""The failures that Kafka repaired, or may repair, with the first of the repairs."""

EXCLUDED = {
    "power_loss_within_an_epoch": "broker_restarts 0 checkpoint 0",
    "fetches_are_not_fenced": "leader_handles_fetch 0 from 2",
    "high_watermark_of_a_diverging_response": "follower_takes_high_watermark_first 0 from 1",
    "stale_diverging_response": "follower_applies_response 1 from 0",
    "late_fetch_of_an_earlier_process": "leader_handles_late_fetch of 2 at 0",
    "stale_high_watermark_after_fail_over": "consumer_is_out_of_range 0 at 1",
    "numbers_from_zero": "producer_begins_from_zero after the answer of 0 to b",
    "unregistered_broker_stays_eligible": "controller_unregisters_broker 1",
    "reported_directory_empties_the_elr": "broker_reports_directory 0",
    "restart_before_fencing": "broker_restarts 0 checkpoint 0",
}
"""Where the repaired model excludes the step that shows the mistake: the step."""

DIVERGES = {
    "truncation_to_high_watermark": (5, "log_record"),
    "fast_fail_over": (9, "log_record"),
    "become_follower_is_skipped": (12, "is_truncating"),
    "expansion_against_a_lagging_high_watermark": (7, "controller_isr"),
    "diverging_fetch_counts": (5, "remote_log_end_offset"),
    "high_watermark_over_the_committed_isr": (5, "high_watermark"),
    "rebooted_follower_joins_the_isr": (12, "controller_isr"),
    "last_replica_standing": (7, "eligible_leader_replicas"),
    "out_of_range_after_an_unclean_election": (7, "is_truncating"),
    "epoch_entry_at_the_log_end": (14, "epoch_cache"),
    "missed_demotion": (8, "high_watermark"),
    "stale_record": (10, "high_watermark"),
    "new_incarnation": (7, "controller_epoch"),
    "truncation_is_not_noticed": (10, "consumed_epoch"),
    "epoch_below_the_first_entry": (10, "log_record"),
    "removed_replica_is_elected_empty": (1, "eligible_leader_replicas"),
    "stranger_keeps_the_leader_out": (2, "eligible_leader_replicas"),
    "leaderless_partition_takes_back_a_stranger": (1, "eligible_leader_replicas"),
    "reassignment_through_an_eligible_stranger": (7, "eligible_leader_replicas"),
    "cancelled_reassignment_leaves_a_stranger": (8, "eligible_leader_replicas"),
    "replica_is_removed_below_the_minimum": (1, "eligible_leader_replicas"),
    "deleted_folder_counts_as_clean": (2, "stopped_by"),
    "minimum_of_partition_0": (6, "eligible_leader_replicas"),
    "last_known_leader_is_down": (3, "controller_leader"),
}
"""Where a cluster with the mistake diverges from the repaired model: after which step, and in which variable."""

ALONE = {"out_of_range_after_an_unclean_election": ("TRUNC", "HW")}
"""A failure whose repair came together with others: the switch that brings back the mistake alone."""

LACKING = {
    "unknown_producer_out_of_order": "UNKNOWN_PID_POLICY=ANY_UNLESS_EMPTY",
    "duplicate_in_a_new_epoch": "UNKNOWN_PID_POLICY=ANY_UNLESS_EMPTY",
    "changed_minimum_forgets_who_may_lead": "CHANGED_MIN_ISR_ERASES=ELR",
    "raised_minimum_overtakes_the_leader": "RAISED_MIN_ISR_AWAITS_BROKERS=on",
    "deleted_records_come_back": "EXPAND_LOG_START=on and DELETION_AWAITS_ELIGIBLE=on",
    "fetch_counts_in_the_next_epoch": "FETCH_COUNTED_IN_ITS_EPOCH=on",
}
"""The cluster does not have their repair, which no release has either."""


def under(history: History, change: str) -> tuple[Trace, list[str]]:
    """The history under a repair, as far as its steps are possible, and the steps that are not."""
    instance = history.changed(change)
    trace, excluded = Trace(instance, (instance.initial_states[history.start],), (), None, None, ""), []
    for text in history.steps:
        longer = with_step(trace, read_step(instance, text)) if has_step(instance, text) else None
        if longer is None:
            excluded.append(text)
        else:
            trace = longer
    return trace, excluded


def has_step(instance: Instance, text: str) -> bool:
    return any(instance.spell_step(step) == text for step in instance.steps if step.action == text.split()[0])


def test_every_repaired_failure_is_listed_once():
    assert sorted([*EXCLUDED, *DIVERGES, *LACKING]) == sorted(SEEDED)


@pytest.mark.parametrize("name", DIVERGES)
def test_a_cluster_with_the_mistake_diverges_from_the_repaired_model(name, monkeypatch):
    history, change = SEEDED[name]
    trace, _ = under(history, change)
    assert replay(trace, Driver()) is None
    mistaken = switches_of(history.instance)
    if name in ALONE:
        mistaken = switches_of(trace.instance).with_switch(*ALONE[name])
    monkeypatch.setattr(driver, "switches_of", lambda instance: mistaken)
    divergence = replay(trace, Driver())
    assert divergence is not None
    assert (divergence.position, divergence.variable) == DIVERGES[name]


@pytest.mark.parametrize("name", EXCLUDED)
def test_the_repaired_model_excludes_the_step_that_shows_the_mistake(name):
    history, change = SEEDED[name]
    trace, excluded = under(history, change)
    assert replay(trace, Driver()) is None
    assert excluded[0] == EXCLUDED[name]


@pytest.mark.parametrize("name", LACKING)
def test_the_cluster_lacks_a_repair_that_no_release_has(name):
    history, change = SEEDED[name]
    with pytest.raises(MissingMechanismError, match=LACKING[name]):
        switches_of(history.changed(change))
