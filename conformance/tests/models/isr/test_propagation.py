"""How long brokers show an ISR that is gone: the bounds are exact, and each mistake that was avoided shows."""

from __future__ import annotations

import pytest

from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import verdicts
from isrcheck.models import registry
from isrcheck.models.run import take
from isrcheck.traces.format.certify import step_named

MODEL, _ = registry.load("isr_propagation")
QUIET = {"controller_failures": 0, "controller_writes": 0}
SHORT = {"latest_ticks": 6, "within_ticks": 7}
"""A minute of six ticks: nothing but the length of histories depends on it."""


def judged(**entries):
    found = explore(MODEL.instance("", entries), Limits(), count_all=True)
    assert found.exhausted
    return found, {one.prop.name: one.bare for one in verdicts(found)}


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("entries", "least"),
    [
        (QUIET, 25),
        (QUIET | {"latest_ticks": 6}, 7),
        (QUIET | {"latest_ticks": 6, "quiet_ticks": 1}, 7),
        ({"latest_ticks": 6, "controller_writes": 0}, 10),
        ({"latest_ticks": 6, "controller_writes": 0, "failover_ticks": 1}, 8),
        ({"latest_ticks": 6, "controller_writes": 0, "controller_failures": 2, "failover_ticks": 1}, 9),
        ({"latest_ticks": 6, "controller_failures": 0, "followers": 2}, 7),
    ],
)
def test_a_change_arrives_within_a_tick_more_than_a_minute_and_every_fail_over(entries, least):
    _, found = judged(**entries, within_ticks=least)
    assert found["changes_arrive_in_time"] == "HOLDS"
    _, found = judged(**entries, within_ticks=least - 1)
    assert found["changes_arrive_in_time"].startswith("VIOLATED at step ")


def test_what_a_configuration_cannot_reach_is_not_asked():
    _, found = judged(**QUIET, **SHORT, LATEST_AFTER_A_MINUTE=0)
    for name in ("a_burst_is_told_after_a_minute", "a_notification_waits_for_a_new_controller"):
        assert found[name] == "n/a"


def test_without_the_minute_an_isr_that_changes_all_the_time_is_never_reported():
    _, found = judged(**QUIET, **SHORT, LATEST_AFTER_A_MINUTE=0)
    for name in ("changes_arrive_in_time", "changes_are_told", "every_change_is_heard"):
        assert found[name].startswith("VIOLATED")
    assert found["nothing_is_lost"] == "HOLDS"


def test_a_controller_that_reads_before_it_deletes_loses_a_change():
    _, found = judged(latest_ticks=6, controller_writes=0, within_ticks=10, READS_AFTER_DELETING=0)
    assert found["nothing_is_lost"].startswith("VIOLATED at step ")
    _, found = judged(latest_ticks=6, controller_writes=0, within_ticks=10)
    assert found["nothing_is_lost"] == "HOLDS"


def after(instance, cells, text):
    """The state after a step, or None if the step is not enabled."""
    return take(instance, cells, step_named(instance, text))


def test_a_notification_comes_at_most_every_three_ticks_however_often_the_isr_changes():
    """The model allows no less; a history in plain Python shows that three are enough."""
    instance = MODEL.instance("", QUIET | SHORT)
    cells = instance.initial_states[0]
    has_news = instance.layouts["has_news"].offset
    written, ticks = [], 0
    for text in ["leader_changes_isr 0 0", *["thread_runs", "tick_passes"] * 3, "thread_runs"]:
        before, cells = cells[has_news], after(instance, cells, text)
        ticks += text == "tick_passes"
        if before and not cells[has_news]:
            written.append(ticks)
    assert written == [3]


def test_a_stale_version_makes_the_leader_wait_for_the_controller():
    """KAFKA-2729: a conditional write with an old version changes nothing."""
    instance = MODEL.instance("", {"controller_failures": 0, **SHORT})
    removed = after(instance, instance.initial_states[0], "controller_removes_follower 0 0")
    assert after(instance, removed, "leader_changes_isr 0 0") is None
    told = after(instance, removed, "leader_gets_leader_and_isr")
    assert after(instance, told, "leader_changes_isr 0 0") is not None
