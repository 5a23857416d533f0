"""Who leaves the ISR by each rule: whoever lacks many records, or whoever has been behind for long."""

from __future__ import annotations

import pytest

from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.outcome.verdict import verdicts
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import registry

MODEL, _ = registry.load("isr_by_lag")
MESSAGES, TIME = 0, 1
SLOW = {"least_writes": 2, "fetch_size": 1}


def judged(**entries):
    found = explore(MODEL.instance("", entries), Limits(), count_all=True)
    assert found.exhausted
    return {one.prop.name: one.bare for one in verdicts(found)}


@pytest.mark.parametrize(
    ("burst", "limit", "stays"),
    [(4, 8, True), (4, 7, False), (2, 4, True), (2, 3, False), (1, 2, True), (1, 1, False)],
)
def test_by_messages_two_bursts_between_fetches_decide(burst, limit, stays):
    """Before and after a fetch there is room for a burst each."""
    found = judged(SHRINK_RULE=MESSAGES, burst=burst, lag_max_messages=limit)
    assert (found["a_follower_that_keeps_up_stays"] == "HOLDS") == stays
    assert (found["the_isr_does_not_flap"] == "HOLDS") == stays


@pytest.mark.parametrize("burst", [1, 4, 8])
def test_by_time_no_burst_removes_a_follower_that_keeps_up(burst):
    found = judged(SHRINK_RULE=TIME, burst=burst, fetch_size=8, most_behind=16)
    assert found["a_follower_that_keeps_up_stays"] == "HOLDS"
    assert found["the_isr_does_not_flap"] == "HOLDS"


@pytest.mark.parametrize("rule", [MESSAGES, TIME])
def test_a_slow_follower_leaves_and_stays_out_by_both_rules(rule):
    found = judged(SHRINK_RULE=rule, **SLOW)
    assert found["a_slow_follower_leaves"].startswith("REACHED at step ")
    assert found["a_slow_follower_stays_out"] == "HOLDS"


def test_a_follower_that_stops_leaves_if_anything_is_written():
    found = judged(SHRINK_RULE=TIME, stops=1)
    assert found["a_slow_follower_leaves"] == "REACHED at step 16"
